"""
A folder of Karmada's files as a fleet repo: the whole of the conversion, without touching a disk.

Clusters come first, because policies ask for them; then policies, in the order in which Karmada lets them govern; then manifests, each on
the shelf that the policy which governs it asks for; then overrides, some of which are worked out on these manifests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from gitplacer.documents import Document
from gitplacer.importers.fleetrepo import FleetRepo, opened
from gitplacer.importers.foreign import group_and_kind
from gitplacer.importers.karmada.clusters import write_clusters
from gitplacer.importers.karmada.others import tell, write_quotas
from gitplacer.importers.karmada.overriding import Overriding, in_order, overrides, read_overriding
from gitplacer.importers.karmada.policies import Governing, Made, Making, by_strength
from gitplacer.importers.karmada.selecting import KnownThings
from gitplacer.importers.overlaps import ranked
from gitplacer.importers.report import Imported, Outcome
from gitplacer.importers.shelves import DEFAULT, NAMESPACES, Rule, Thing, shelve, things_in
from gitplacer.importers.variables import Variables
from gitplacer.importers.writing import Names, valid_name
from gitplacer.model.workload import api_group
from gitplacer.plaintext import few

_KARMADA = "karmada.io"
_PROPAGATION = ("PropagationPolicy", "ClusterPropagationPolicy")
_OVERRIDE = ("OverridePolicy", "ClusterOverridePolicy")
_CLAIMS = (
    ("clusterpropagationpolicy.karmada.io/name", ""),
    ("propagationpolicy.karmada.io/name", "propagationpolicy.karmada.io/namespace"),
)
"""Keys of labels and annotations by which Karmada remembers which policy governs an object: its name, its namespace."""


def imported(files: Mapping[str, bytes], variables: Variables, now: datetime, namespace: str = "") -> Imported:
    """
    A fleet repo of what files by path hold, and what became of each of them. `namespace` is for objects that say none, `now` when the
    state of Clusters was exported. Raises Rejected where a variable has no value.
    """
    read = opened("Karmada", _KARMADA, "clusters.cluster.karmada.io", files, variables)
    repo, by_kind, manifests = read.repo, read.theirs, read.manifests
    given, namespace = [namespace] if namespace else [], namespace or DEFAULT
    known, coarse = write_clusters(by_kind["Cluster"], repo, now)
    making = Making(known, repo.notes, namespace, _classes(manifests), coarse)
    made = _named(_policies(making, [one for kind in _PROPAGATION for one in by_kind[kind]], repo), repo)
    namespaced = {
        (api_group(version), kind) for one in made if one.origin.namespace for version, kind in one.selection.kinds
    }
    things = things_in(manifests, given, repo.notes, repo.problems, namespaced)
    governing = Governing(made)
    _claims(governing, things, repo)
    shelved = shelve(read.files, things, governing.rule, repo.notes, marks=_KARMADA)
    repo.files |= shelved.files
    _write(made, repo)
    _folders(governing, shelved.folders, repo)
    found = [read_overriding(one, known, namespace, repo.notes) for kind in _OVERRIDE for one in by_kind[kind]]
    repo.problems += [problem for one in found if isinstance(one, list) for problem in one]
    _overrides([one for one in found if isinstance(one, Overriding)], things, repo)
    namespaces = {path.split("/")[1] for path in repo.files if path.startswith("workloads/")}
    write_quotas(by_kind["FederatedResourceQuota"], namespaces, namespace, repo)
    for kind, documents in by_kind.items():
        if kind not in (*_PROPAGATION, *_OVERRIDE, "Cluster", "FederatedResourceQuota"):
            for document in documents:
                tell(document, kind, repo.notes)
    return repo.done()


def _classes(manifests: Sequence[Document]) -> dict[str, int]:
    """The values of PriorityClasses by name."""
    found: dict[str, int] = {}
    for document in manifests:
        if group_and_kind(document) == ("scheduling.k8s.io", "PriorityClass"):
            name, value = document.cursor().mapping("metadata").text("name"), document.cursor().integer("value")
            if name and value is not None:
                found[name] = value
    return found


def _policies(making: Making, documents: Sequence[Document], repo: FleetRepo) -> list[Made]:
    """Every policy in our words; of two with one name the last, as when one is applied after the other."""
    found: dict[tuple[str, str, str], list[Made]] = {}
    for document in documents:
        made = making.made(document)
        if made and not isinstance(made[0], Made):
            repo.problems += [one for one in made if not isinstance(one, Made)]
            continue
        parts = [one for one in made if isinstance(one, Made)]
        if not parts:
            repo.notes.add(
                Outcome.NO_EQUAL,
                document,
                ("spec",),
                "it takes no object that it may take, so there is no policy of it",
                "see the lines about its resourceSelectors",
            )
            continue
        origin = parts[0].origin
        key = (origin.kind, origin.namespace, origin.name)
        if key in found:
            where = document.locate()
            what = f"{origin} is at {where} too, and the last that is applied counts"
            repo.notes.add(Outcome.CHOSEN, found[key][0].origin.document, (), what, "keep one")
        found[key] = parts
    return [one for parts in found.values() for one in parts]


def _named(made: Sequence[Made], repo: FleetRepo) -> list[Made]:
    """Policies with the names they get, the weakest first."""
    titles: dict[int, str] = {}
    names = Names()
    found = []
    for one in made:
        if id(one.origin) not in titles:
            titles[id(one.origin)] = names.unique(valid_name(one.origin.name, "policy"))
        title = titles[id(one.origin)]
        found.append(replace(one, name=repo.policies.unique(title), origin=replace(one.origin, title=title)))
    return by_strength(found)


def _write(made: Sequence[Made], repo: FleetRepo) -> None:
    """Writes policies with the precedences that keep their order, and says where some overlap."""
    for one, rank in zip(made, ranked([one.select for one in made]), strict=True):
        origin = one.origin
        over = [made[index] for index in rank.over if made[index].origin != origin]
        first = {"select": one.spec["select"], **({"precedence": rank.precedence} if rank.precedence else {})}
        spec = {**first, **{key: value for key, value in one.spec.items() if key != "select"}}
        comment = f"Imported from the {origin} at {origin.document.locate()}."
        own = {"labels": origin.metadata.labels, "annotations": origin.metadata.annotations}
        if repo.own("policies", "PlacementPolicy", one.name, spec, origin.document, comment, **own) is None:
            continue
        repo.notes.about(Outcome.CONVERTED, origin.root, None, f"{origin}: policies/{one.name}.yaml")
        if over:
            others = few(list(dict.fromkeys(str(other.origin) for other in over)))
            what = f"{one.name} comes before {others}, by Karmada's order: precedence {rank.precedence}"
            repo.notes.about(Outcome.CONVERTED, origin.root.mapping("spec"), None, what)
            if not origin.preempts and any(other.origin.priority < origin.priority for other in over):
                what = f"in Karmada what {others} took first stays with it, because preemption is not Always; here {one.name} governs it"
                repo.notes.about(Outcome.CHANGED, origin.root.mapping("spec"), "priority", what)


def _folders(
    governing: Governing, folders: Mapping[str, tuple[Rule | None, tuple[Thing, ...]]], repo: FleetRepo
) -> None:
    """A policy for each folder of the platform that not one of ours governs whole."""
    for folder, (rule, things) in folders.items():
        if rule is None:
            why = "namespaces go to every cluster, as in Karmada, so that they are there before anything in them"
            everywhere = {"tolerations": [{"operator": "Exists"}], "placement": {"copies": "All"}}
            repo.folder(folder, NAMESPACES, everywhere, things[0].document, why)
            continue
        ours = [found for thing in things if (found := governing.of(thing)) is not None]
        if len({one.name for one in ours}) > 1:
            first = next((one for one in ours if one.everywhere), ours[0])
            spec = {key: value for key, value in first.spec.items() if key in ("clusters", "placement", "tolerations")}
            why = f"{first.origin} became several policies, and one group has one"
            repo.folder(folder, f"{rule.name[:54]}-platform", spec, things[0].document, why)


def _claims(governing: Governing, things: Sequence[Thing], repo: FleetRepo) -> None:
    """A line where Karmada had given an object to another policy than its order says."""
    for thing in things:
        known = {**thing.labels, **thing.annotations}
        for name_key, namespace_key in _CLAIMS:
            claimed = known.get(name_key)
            if claimed is None:
                continue
            found = governing.of(thing)
            namespace = known.get(namespace_key, "") if namespace_key else ""
            if found is not None and (found.origin.name, found.origin.namespace) == (claimed, namespace):
                continue
            theirs = f"{namespace}/{claimed}" if namespace else claimed
            ours = str(found.origin) if found is not None else "no policy here"
            what = f"Karmada let {theirs} govern {thing}, which {ours} takes by its order"
            repo.notes.add(
                Outcome.CHANGED,
                thing.document,
                ("metadata",),
                what,
                "give the one that should govern it a higher `precedence`",
            )


def _overrides(policies: Sequence[Overriding], things: Sequence[Thing], repo: FleetRepo) -> None:
    names = Names()
    count = 0
    known = KnownThings(things)
    for policy, part in in_order(policies):
        for one in overrides(policy, part, known.taken(part), repo.notes):
            name = names.unique(f"{count:05d}-{valid_name(one.name, 'override')}"[:60].strip("-"))
            count += 1
            document = policy.root.document
            comment = (
                f"Imported from the {policy} at {document.locate(one.reader.path)}. Overrides are applied by name."
            )
            own = {"labels": policy.metadata.labels, "annotations": policy.metadata.annotations}
            if repo.own("overrides", "OverridePolicy", name, one.spec, document, comment, **own) is not None:
                repo.notes.about(Outcome.CONVERTED, one.reader, None, f"{policy}: overrides/{name}.yaml")

"""
A folder of OCM's files as a fleet repo: the whole of the conversion, without touching a disk.

Clusters and sets come first, then Placements, then what goes by them: the manifests inside ManifestWorkReplicaSets and ManifestWorks, each of
which becomes a file that one policy governs by its path, and plain manifests that are labelled with the name of a Placement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import Document, pointer
from gitplacer.importers.fleetrepo import FleetRepo, opened
from gitplacer.importers.ocm.clusters import Known, read_sets, write_clusters
from gitplacer.importers.ocm.placements import LABEL, Placement, ScoreNames, asked_claims, read_placement
from gitplacer.importers.ocm.scores import write_scores
from gitplacer.importers.ocm.works import Difference, Work, joined, read_work
from gitplacer.importers.report import Imported, Notes, Outcome
from gitplacer.importers.selectors import ForeignMetadata
from gitplacer.importers.shelves import DEFAULT, NAMESPACES, Rule, Thing, shelve, things_in
from gitplacer.importers.variables import Variables
from gitplacer.importers.writing import Names, file_name, valid_name
from gitplacer.plaintext import few
from gitplacer.problems import nearest

_OCM = "open-cluster-management.io"
_ONCE = frozenset({"Job", "CronJob", "RayJob", "RayCronJob"})
"""Kinds of which two copies would run the same thing twice."""
_WORKS = ("ManifestWorkReplicaSet", "ManifestWork")
_READ = ("ManagedCluster", "ManagedClusterSet", "ManagedClusterSetBinding", "Placement", "AddOnPlacementScore", *_WORKS)


class _Policy(Struct, frozen=True):
    """A policy of ours on its way, and the documents of the manifests that it governs; without any it takes what is labelled."""

    name: str
    spec: Mapping[str, Any]
    document: Document
    origin: str
    file: str = ""
    manifests: frozenset[int] = frozenset()
    label: str = ""
    namespace: str = ""
    metadata: ForeignMetadata = field(default_factory=ForeignMetadata)


def imported(files: Mapping[str, bytes], variables: Variables, now: datetime, namespace: str = "") -> Imported:
    """
    A fleet repo of what files by path hold, and what became of each of them. `namespace` is for objects that say none, `now` when the
    state of clusters was exported. Raises Rejected where a variable has no value.
    """
    read = opened("OCM", _OCM, "managedclusters", files, variables)
    repo, by_kind, manifests = read.repo, read.theirs, read.manifests
    given, namespace = [namespace] if namespace else [], namespace or DEFAULT
    known = write_clusters(by_kind["ManagedCluster"], asked_claims(by_kind["Placement"]), repo, now)
    known = read_sets(by_kind["ManagedClusterSet"], by_kind["ManagedClusterSetBinding"], known, repo)
    called = ScoreNames()
    placements = _placements(by_kind["Placement"], known, namespace, called, repo)
    write_scores(by_kind["AddOnPlacementScore"], called, repo)
    names = Names()
    for path in dict.fromkeys(document.file for document in manifests):
        names.unique(file_name(path)[0])  # a work's policy takes its file by name, in whatever namespace
    every = [
        one for kind in _WORKS for document in by_kind[kind] if (one := read_work(document, names, namespace, repo))
    ]
    works, differences = joined(every, repo.notes)
    inside = [one for work in works for one in work.manifests]
    things = things_in([*inside, *manifests], given, repo.notes, repo.problems)
    policies = _policies(works, placements, things, known, repo)
    rules = _rules(policies, things)
    shelved = shelve(
        [*(one.foreign for one in works), *read.files],
        things,
        lambda one: rules.get(id(one.document)),
        repo.notes,
        {id(document): one.file for one in works for document in one.manifests},
    )
    repo.files |= shelved.files
    places = defaultdict[str, list[str]](list)
    for path in repo.files:
        if path.startswith("workloads/"):
            places[path.rpartition("/")[2]].append(path)
    for policy in policies:
        _write(policy, places, repo)
    _overrides(differences, repo)
    by_name = {one.name: one for one in policies}
    for folder, (rule, found) in shelved.folders.items():
        _folder(folder, by_name.get(rule.name) if rule is not None else None, found, repo)
    for kind, documents in by_kind.items():
        for document in documents if kind not in _READ else ():
            _tell(document, kind, repo.notes)
    return repo.done()


def _placements(
    documents: Iterable[Document], known: Known, namespace: str, called: ScoreNames, repo: FleetRepo
) -> dict[tuple[str, str], Placement]:
    """Every Placement by namespace and name; of two the last, as when one is applied after the other."""
    found: dict[tuple[str, str], Placement] = {}
    for document in documents:
        placement = read_placement(document, known, namespace, called, repo.notes)
        if isinstance(placement, list):
            repo.problems += placement
            continue
        key = (placement.namespace, placement.name)
        if key in found:
            what = f"{placement} is at {document.locate()} too, and the last that is applied counts"
            repo.notes.add(Outcome.CHOSEN, found[key].document, (), what, "keep one")
        found[key] = placement
    return found


def _policies(
    works: Sequence[Work],
    placements: Mapping[tuple[str, str], Placement],
    things: Sequence[Thing],
    known: Known,
    repo: FleetRepo,
) -> list[_Policy]:
    """A policy for each work, and one for each Placement that no work names."""
    made: list[_Policy] = []
    used: set[tuple[str, str]] = set()
    once = {id(thing.document) for thing in things if thing.kind in _ONCE}
    for work in works:
        spec = _spec_of(work, placements, known, repo)
        used |= {(work.namespace, name) for name in work.placements}
        if spec is None:
            continue
        inside = frozenset(map(id, work.manifests))
        if inside & once and spec["placement"].get("copies", 1) != 1:
            what = "OCM would run its jobs on each cluster; here they run once"
            todo = "if each cluster is to run one, write one for each, under a name of its own"
            repo.notes.about(Outcome.CHANGED, work.root, None, what, todo)
            rest = {key: value for key, value in spec["placement"].items() if key not in ("copies", "topologySpread")}
            spec = {**spec, "placement": rest}
        name = repo.policies.unique(work.file)
        made.append(_Policy(name, spec, work.root.document, str(work), work.file, inside))
    for key, placement in sorted(placements.items()):
        if key in used:
            continue
        name = repo.policies.unique(valid_name(placement.name, "placement"))
        what = f"no ManifestWorkReplicaSet names it, so nobody says what goes by it: policies/{name}.yaml takes what has the label {LABEL}: {placement.name}"
        repo.notes.about(
            Outcome.CHOSEN,
            placement.root,
            None,
            what,
            f"label these objects, or write `select` into policies/{name}.yaml",
        )
        made.append(
            _Policy(
                name,
                placement.spec,
                placement.document,
                str(placement),
                label=placement.name,
                namespace=placement.namespace,
                metadata=placement.metadata,
            )
        )
    return made


def _spec_of(
    work: Work, placements: Mapping[tuple[str, str], Placement], known: Known, repo: FleetRepo
) -> dict[str, Any] | None:
    """All of a policy's spec but `select`; None where nobody says where the work goes."""
    if work.clusters:
        for name in work.clusters if known.labels else ():
            if name not in known.labels:
                what, todo = f"there is no ManagedCluster {name}", "write one, or let it be: it waits until then"
                repo.notes.about(Outcome.NO_EQUAL, work.root, "metadata", what, todo)
        several = {"copies": "All"} if len(work.clusters) > 1 else {}
        return {
            "clusters": {"names": [*work.clusters]},
            "tolerations": [{"operator": "Exists"}],  # only Placements look at taints
            "placement": {**several, "admission": "Immediate"},
        }
    spec = work.root.mapping("spec")
    found = [placements[work.namespace, name] for name in work.placements if (work.namespace, name) in placements]
    for name in work.placements:
        if (work.namespace, name) not in placements:
            what = f"there is no Placement {work.namespace}/{name}"
            repo.notes.about(Outcome.NO_EQUAL, spec, "placementRefs", what, "import it too, or write a policy")
    if not found:
        return None
    if len(found) > 1:
        what = f"it goes by {len(found)} Placements, and a group has one policy: the first counts"
        repo.notes.about(
            Outcome.CHANGED, spec, "placementRefs", what, "write a policy that takes the clusters of all of them"
        )
    return dict(found[0].spec)


def _rules(policies: Sequence[_Policy], things: Sequence[Thing]) -> dict[int, Rule]:
    """Which policy governs which thing. What makes no pods goes with its policy, wherever that is."""
    inside = {document: one for one in reversed(policies) for document in one.manifests}
    labelled = {
        (one.label, space): one for one in reversed(policies) if one.label for space in (one.namespace, "")
    }  # what has no namespace may go by a Placement of any
    mine: dict[str, list[Thing]] = defaultdict(list)
    for thing in things:
        found = inside.get(id(thing.document)) or labelled.get((thing.labels.get(LABEL, ""), thing.namespace))
        if found is not None:
            mine[found.name].append(thing)
    rules: dict[int, Rule] = {}
    for one in policies:
        of_it = mine[one.name]
        everywhere = one.spec["placement"].get("copies") == "All" or not any(thing.sized for thing in of_it)
        folder = one.file if sum(not thing.for_platform for thing in of_it) > 1 else ""
        rules |= {id(thing.document): Rule(one.name, everywhere, folder) for thing in of_it}
    return rules


def _write(one: _Policy, places: Mapping[str, Sequence[str]], repo: FleetRepo) -> None:
    """
    Writes a policy. `places` are the paths of workloads by the names of their files. A work of several manifests is a folder, in which all are one group:
    a work goes whole.
    """
    if one.file:
        there = places.get(f"{one.file}.yaml", ())
        if not there:
            return  # all of it is in a folder of the platform, whose policy takes it by path
        folders = {path.split("/")[1] for path in there if path.split("/")[2:-1] == [one.file]}
        _tell_parts(one, sorted(folders), repo)
        path = f"workloads/*/{one.file}/**" if folders else f"workloads/*/{one.file}.yaml"
        spec = {"select": {"paths": [path]}, **({"groupBy": {"directory": True}} if folders else {}), **one.spec}
    else:
        labelled = {"namespaces": [one.namespace], "labelSelector": {"matchLabels": {LABEL: one.label}}}
        spec = {"select": labelled, **one.spec}
    where = one.document.locate()
    comment = f"Imported from the {one.origin} at {where}."
    own = {"labels": one.metadata.labels, "annotations": one.metadata.annotations}
    if repo.own("policies", "PlacementPolicy", one.name, spec, one.document, comment, **own) is not None:
        repo.notes.add(Outcome.CONVERTED, one.document, (), f"{one.origin}: policies/{one.name}.yaml")


def _overrides(differences: Iterable[Difference], repo: FleetRepo) -> None:
    """An OverridePolicy for each object that is another on some cluster."""
    names = Names()
    for one in differences:
        value = one.document.value
        kind, metadata = value["kind"], value["metadata"]
        space = {"namespaces": [metadata["namespace"]]} if metadata.get("namespace") else {}
        done = [
            {"path": pointer(edit.path), "op": edit.op, **({} if edit.op == "remove" else {"value": edit.value})}
            for edit in one.edits
        ]
        spec = {
            "select": {**space, "kinds": [kind], "names": [metadata["name"]]},
            "clusters": {"names": [one.cluster]},
            "overrides": done,
        }
        name = names.unique(valid_name(f"{one.work.file}-{metadata['name']}-{one.cluster}", "override"))
        comment = f"As it is in the ManifestWork for {one.cluster} at {one.document.locate()}."
        if repo.own("overrides", "OverridePolicy", name, spec, one.document, comment) is not None:
            what = f"what {kind} {metadata['name']} has otherwise on {one.cluster}: overrides/{name}.yaml"
            repo.notes.add(Outcome.CONVERTED, one.document, (), what)


def _tell_parts(one: _Policy, namespaces: Sequence[str], repo: FleetRepo) -> None:
    """A line where parts of a work may part: each namespace of it is a group, and a group goes by itself."""
    if len(namespaces) > 1 and not _is_sent_everywhere(one):
        what = f"{one.origin} has manifests for {few(namespaces)}, each of which is a group here, and may go to another cluster"
        todo = "name the cluster in `clusters`, if they have to be together"
        repo.notes.add(Outcome.CHANGED, one.document, (), what, todo)


def _is_sent_everywhere(one: _Policy) -> bool:
    """Whether there is but one choice of clusters."""
    return one.spec["placement"].get("copies") == "All" or len(one.spec.get("clusters", {}).get("names", ())) == 1


def _folder(folder: str, one: _Policy | None, things: Sequence[Thing], repo: FleetRepo) -> None:
    """Folders of the platform are governed by path, because works are."""
    if one is None:
        spec: dict[str, Any] = {"tolerations": [{"operator": "Exists"}], "placement": {"copies": "All"}}
        repo.folder(
            folder,
            NAMESPACES,
            spec,
            things[0].document,
            "namespaces go to every cluster, so that they are there before anything in them",
        )
        return
    why = f"what has no namespace, or is nothing without its policy, goes to {folder}/, which is one group"
    if one.manifests and not _is_sent_everywhere(one):
        why += " and may go to another cluster than the rest"
    repo.folder(folder, f"{one.name[:54]}-platform", one.spec, things[0].document, why)


def _tell(document: Document, kind: str, notes: Notes) -> None:
    """A line for an object of OCM's that nothing is made of."""
    if kind == "PlacementDecision":
        decisions = document.cursor().mapping("status").items("decisions")
        names = ", ".join(item.text("clusterName") for item in decisions) or "no cluster"
        notes.add(
            Outcome.LEFT_OUT, document, (), f"OCM's record: it took {names}; the first plan says where things go here"
        )
    else:
        what = f"OCM's {kind} has no equal here"
        misspelt = kind.casefold() in {one.casefold() for one in _READ}
        todo = nearest(kind, _READ) if misspelt else "see docs/from-ocm.md for what does its work"
        notes.add(Outcome.NO_EQUAL, document, ("kind",), what, todo)

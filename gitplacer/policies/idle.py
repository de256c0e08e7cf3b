"""
Policies, and parts of them, that govern nothing.

Some can never: their own conditions contradict each other, or all they select is selected by one that comes first. That is proved
from the selections alone, for every object that there could be. Others govern nothing in this source as it is; that is counted, and
said in other words, because a policy may well be there before its first app. Nothing of it is wrong enough to hold anything, so it
is told to whoever tests policies, and not in every pass. What is meant to be so, the policy may allow, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitplacer.documents import Document, Path
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.nearlabels import near_label
from gitplacer.kinds.policy import OverridePolicy, PlacementPolicy
from gitplacer.kinds.selectors import ClusterSelector, ObjectSelector
from gitplacer.plaintext import few
from gitplacer.policies.governing import Governing
from gitplacer.policies.implication import implies, never_selects
from gitplacer.policies.selection import POLICY_ANNOTATION, selects
from gitplacer.problems import Problem, Severity, meant, nearest
from gitplacer.source.allowances import not_allowed
from gitplacer.source.files import Memo, read_documents
from gitplacer.source.manifests import SourceObject
from gitplacer.source.namedclusters import unknown_names
from gitplacer.source.reading import Source

_AHEAD = "it may be there for what is still to come; otherwise correct its selection, or remove it"


def idle_policies(source: Source, memo: Memo) -> list[Problem]:
    """Everything that is idle among the policies of a source, sorted."""
    own = source.own
    texts = _Texts(source, memo)
    governed = _governed(source)
    clusters = {name: item for name, item in own.clusters.items() if item.spec.role == "Workload"}
    found: list[Problem] = []
    for policy in own.policies:
        document = texts.of(policy)
        told = [*_about_selection(policy, document, source, governed), *_about_clusters(policy, document, clusters)]
        found += not_allowed(told, policy.metadata.annotations)
    for override in own.overrides:
        told = [*_about_override(override, texts.of(override), source, clusters)]
        found += not_allowed(told, override.metadata.annotations)
    return sorted(set(found))


class _Texts:
    """Where each policy stands."""

    def __init__(self, source: Source, memo: Memo) -> None:
        places = {place.file for key, place in source.own.places.items() if "Policy/" in key}
        reading = read_documents(source.tree, sorted(path for path in places if path in source.tree), memo)
        self._known = {
            (item.document.value.get("kind"), item.document.value["metadata"]["name"]): item.document
            for items in reading.documents.values()
            for item in items
            if isinstance(item.document.value.get("metadata"), dict) and "name" in item.document.value["metadata"]
        }

    def of(self, policy: PlacementPolicy | OverridePolicy) -> Document:
        return self._known[policy.kind, policy.name]


def _governed(source: Source) -> Mapping[str, Sequence[SourceObject]]:
    """The objects that each policy governs."""
    found: dict[str, list[SourceObject]] = {policy.name: [] for policy in source.own.policies}
    governed = Governing(source)
    for item in source.objects:
        governor = governed(item).policy
        if governor is not None:
            found[governor.name].append(item)
    return found


def _about_selection(
    policy: PlacementPolicy, document: Document, source: Source, governed: Mapping[str, Sequence[SourceObject]]
) -> Iterator[Problem]:
    if governed[policy.name]:
        return
    path: Path = ("spec", "select")
    if never_selects(policy.spec.select):
        message = f"policy {policy.name} can never select anything: its conditions contradict each other"
        yield _warning(document, "PolicySelectsNothing", message, "correct the conditions", path)
        return
    first = first_shadow(policy, source.own.policies)
    if first is not None:
        place = source.own.places[f"PlacementPolicy/{first.name}"]
        if first.spec.precedence > policy.spec.precedence:
            message = (
                f"policy {policy.name} is shadowed: {first.name} ({place}) selects all that it selects, and comes first"
            )
            hint = f"give it a precedence above {first.spec.precedence}, or remove it"
        else:
            message = f"policy {policy.name} is shadowed: {first.name} ({place}) selects all that it selects, with equal precedence"
            hint = f"give one of them a higher precedence than {first.spec.precedence}"
        hint += f"; only an object that names it in the annotation {POLICY_ANNOTATION} is governed by it"
        yield _warning(document, "PolicyShadowed", message, hint, path)
        return
    selected = [item for item in source.objects if selects(policy.spec.select, item, source.namespace_labels)]
    if not selected:
        yield _warning(
            document,
            "PolicySelectsNothing",
            f"policy {policy.name} selects nothing that is in the source",
            _ahead(policy.spec.select, source),
            path,
        )
        return
    ours = set(map(id, selected))
    names = sorted(name for name, items in governed.items() if any(id(item) in ours for item in items))
    count = f"{len(selected)} object{'s' if len(selected) != 1 else ''}"
    others = f"governed by {few(names)}" if names else "governed by none, because policies contend for them"
    message = f"policy {policy.name} governs nothing: it selects {count}, all {others}"
    yield _warning(document, "PolicyShadowed", message, "give it a higher precedence, or narrow the others", path)


def first_shadow(policy: PlacementPolicy, policies: Iterable[PlacementPolicy]) -> PlacementPolicy | None:
    """
    A policy which, it is proved, stands before another for everything that the other selects: only by name can an object still
    choose it. One of equal precedence does too, because then neither governs.
    """
    return next(
        (
            other
            for other in sorted(policies, key=lambda other: (-other.spec.precedence, other.name))
            if other.name != policy.name
            and other.spec.precedence >= policy.spec.precedence
            and implies(policy.spec.select, other.spec.select)
        ),
        None,
    )


def _about_clusters(policy: PlacementPolicy, document: Document, clusters: Mapping[str, Cluster]) -> Iterator[Problem]:
    if not clusters:
        return
    chosen = policy.spec.clusters
    eligible = {name: item for name, item in clusters.items() if chosen.unmet(item.labels()) is None}
    if not eligible:
        message = f"policy {policy.name} may place nothing: no Workload cluster is selected by its `clusters`"
        hint = _hint(chosen, clusters)
        yield _warning(document, "SelectsNoCluster", message, hint, ("spec", "clusters"))
        return
    yield from unknown_names(f"policy {policy.name}", chosen, document, clusters, ("spec", "clusters"))
    for index, term in enumerate(policy.spec.placement.order):
        path: Path = ("spec", "placement", "order", index)
        if any(term.unmet(item.labels()) is None for item in eligible.values()):
            whose = f"term {index + 1} of the order of policy {policy.name}"
            yield from unknown_names(whose, term, document, clusters, path)
            continue
        elsewhere = sorted(name for name, item in clusters.items() if term.unmet(item.labels()) is None)
        if elsewhere:
            message = f"term {index + 1} of the order of policy {policy.name} selects {few(elsewhere)}, which its `clusters` leave out"
            yield _warning(document, "SelectsNoCluster", message, "let them agree", path)
        else:
            message = f"term {index + 1} of the order of policy {policy.name} selects no cluster"
            yield _warning(document, "SelectsNoCluster", message, _hint(term, clusters), path)


def _about_override(
    policy: OverridePolicy, document: Document, source: Source, clusters: Mapping[str, Cluster]
) -> Iterator[Problem]:
    select = policy.spec.select
    if never_selects(select):
        message = f"override {policy.name} can never touch anything: its conditions contradict each other"
        yield _warning(document, "OverrideTouchesNothing", message, "correct the conditions", ("spec", "select"))
    elif not any(selects(select, item, source.namespace_labels) for item in source.objects):
        message = f"override {policy.name} touches nothing that is in the source"
        yield _warning(document, "OverrideTouchesNothing", message, _ahead(select, source), ("spec", "select"))
    if clusters and all(policy.spec.clusters.unmet(item.labels()) is not None for item in clusters.values()):
        message = f"override {policy.name} is for no cluster of the fleet"
        hint = _hint(policy.spec.clusters, clusters)
        yield _warning(document, "SelectsNoCluster", message, hint, ("spec", "clusters"))
    elif clusters:
        yield from unknown_names(
            f"override {policy.name}", policy.spec.clusters, document, clusters, ("spec", "clusters")
        )


def _hint(chosen: ClusterSelector, clusters: Mapping[str, Cluster]) -> str:
    missing = [name for name in chosen.names or () if name not in clusters]
    if missing:
        return nearest(missing[0], clusters)
    labels = chosen.model_copy(update={"names": None}).requirements()
    return near_label(labels, (item.labels() for item in clusters.values())) or "correct the labels, or add the cluster"


def _ahead(select: ObjectSelector, source: Source) -> str:
    """A name in a selection that is near one in the source, or that it may be there for what is to come."""
    namespaces = {item.identity.namespace for item in source.objects}
    kinds = {item.identity.kind for item in source.objects}
    for asked, known in ((select.namespaces, namespaces), (select.kinds, kinds)):
        for word in asked or ():
            if word not in known and (hint := meant(word, known)):
                return f"nothing is in {word}; {hint}" if known is namespaces else f"nothing is a {word}; {hint}"
    return near_label(select.label_selector.requirements(), (item.labels for item in source.objects)) or _AHEAD


def _warning(document: Document, code: str, message: str, hint: str, path: Path) -> Problem:
    return document.problem(code, message, hint, path=path, key=True, severity=Severity.WARNING)

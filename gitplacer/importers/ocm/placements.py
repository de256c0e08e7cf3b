"""
OCM's Placements in our words: which clusters are meant, how many of them, and which of them rather than others.

A Placement takes clusters of the sets that its namespace is bound to, that meet any of its predicates, and whose taints it tolerates; of
these so many as it says, by score. It does not look at what is free, so what it places is placed whatever the room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitplacer.documents import Document
from gitplacer.importers.clusterselectors import cluster_selector, named, taken
from gitplacer.importers.hubclusters import SNAPSHOT
from gitplacer.importers.ocm.clusters import EFFECTS, SET_LABEL, Known
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import ForeignObject, read_metadata, read_selector, read_values
from gitplacer.importers.writing import Names, valid_name
from gitplacer.model.labels import Requirement
from gitplacer.problems import Problem, nearest

LABEL = "cluster.open-cluster-management.io/placement"
"""By which OCM marks the decisions of a Placement; here, objects that go by it and that no ManifestWorkReplicaSet has."""
_FROZEN = "cluster.open-cluster-management.io/experimental-scheduling-disable"
_BUILT_IN: Mapping[str, str] = {"ResourceAllocatableCPU": "cpu", "ResourceAllocatableMemory": "memory"}
_STEERS = ("Steady", "Balance")


class Placement(ForeignObject, frozen=True):
    """A Placement as it is here: all of a policy's spec but `select` and `precedence`. `wanted` is the number of clusters, 0 for all."""

    spec: Mapping[str, Any]
    wanted: int

    def __str__(self) -> str:
        return f"Placement {self.namespace}/{self.name}"


def asked_claims(documents: Iterable[Document]) -> frozenset[str]:
    """The names of all claims that Placements ask for."""
    found: set[str] = set()
    for document in documents:
        spec = document.cursor().mapping("spec")
        for predicate in spec.items("predicates"):
            selector = predicate.mapping("requiredClusterSelector").mapping("claimSelector")
            found.update(item.text("key") for item in selector.items("matchExpressions"))
        for item in spec.mapping("spreadPolicy").items("spreadConstraints"):
            if item.text("topologyKeyType") == "Claim":
                found.add(item.text("topologyKey"))
    return frozenset(found)


def read_placement(
    document: Document, known: Known, default: str, called: ScoreNames, notes: Notes
) -> Placement | list[Problem]:
    """The Placement in a document, or what is wrong with it."""
    root = Reader.of(document)
    metadata = read_metadata(root, notes, kept=True)
    namespace = root.mapping("metadata").text("namespace") or default
    spec = root.mapping("spec")
    clusters = _clusters(spec, namespace, known, notes)
    wanted = spec.integer("numberOfClusters")
    if wanted is not None and not 0 <= wanted <= 1_000_000:
        spec.report(
            "InvalidValue", f"{wanted} is no number of clusters", "leave it out for all", key="numberOfClusters"
        )
    if wanted == 0:
        notes.about(Outcome.CHOSEN, spec, "numberOfClusters", "0 is taken for no cluster")
        clusters = {"names": []}
    tolerations = [_toleration(item, notes) for item in spec.items("tolerations")]
    chosen = _chosen(spec, wanted or 0, called, notes)
    _results(root, spec, metadata.annotations, notes)
    notes.unread(root)
    if root.problems:
        return root.problems
    made = {
        **({"clusters": clusters} if clusters else {}),
        **({"tolerations": tolerations} if tolerations else {}),
        "placement": chosen,
    }
    return Placement(root, metadata, namespace, made, wanted or 0)


def _clusters(spec: Reader, namespace: str, known: Known, notes: Notes) -> dict[str, object]:
    """Which clusters are meant: those of its sets that meet any of its predicates."""
    sets = _sets(spec, namespace, known, notes)
    alternatives = [one for item in spec.items("predicates") if (one := _predicate(item, notes)) is not None]
    if spec.items("predicates") and not alternatives:
        return {"names": []}
    if len(alternatives) < 2:
        return cluster_selector([*sets, *(alternatives[0] if alternatives else ())])
    names = sorted({name for one in alternatives for name in taken(known.labels, [*sets, *one])})
    what = "predicates are alternatives, and `clusters` has one set of conditions: the names of the clusters that meet any of them now"
    notes.about(
        Outcome.CHANGED,
        spec,
        "predicates",
        what,
        "change the names when clusters come or go, or give such clusters one label",
    )
    return cluster_selector([named(names)])


def _sets(spec: Reader, namespace: str, known: Known, notes: Notes) -> list[Requirement]:
    """The conditions of the sets that it uses."""
    said = read_values(spec, "clusterSets")
    bound = known.bound.get(namespace, frozenset())
    if not known.bound:
        if not said:
            what = (
                "no ManagedClusterSetBinding is among the files, so all clusters are taken for those of its namespace"
            )
            notes.about(
                Outcome.CHOSEN, spec, None, what, "write the sets' label into `clusters`, or import the bindings too"
            )
            return []
        what = "no ManagedClusterSetBinding is among the files, so its namespace is taken for bound to these sets"
        notes.about(Outcome.CHOSEN, spec, "clusterSets", what)
        used = list(said)
    else:
        used = sorted(bound & {*said} if said else bound)
        for name in said:
            if name not in bound:
                what = f"no ManagedClusterSetBinding here binds namespace {namespace} to the set {name}, so none of its clusters is taken"
                notes.about(Outcome.CHOSEN, spec, "clusterSets", what, "import the binding too, if there is one")
    conditions = [known.set(name) for name in used]
    if () in conditions:
        return []
    if len(conditions) == 1:
        return list(conditions[0])
    if all(len(one) == 1 and one[0].key == SET_LABEL for one in conditions) and conditions:
        return [Requirement(SET_LABEL, "In", tuple(name for one in conditions for name in one[0].values))]
    if used:
        what = f"the sets {', '.join(used)} are chosen in different ways: the names of the clusters that are in one now"
        notes.about(
            Outcome.CHANGED, spec, "clusterSets" if said else None, what, "change the names when clusters come or go"
        )
    return [named(sorted({member for name in used for member in known.members(name)}))]


def _predicate(reader: Reader, notes: Notes) -> tuple[Requirement, ...] | None:
    """The conditions of a predicate; None where it cannot be said, so that it takes no cluster rather than too many."""
    selector = reader.mapping("requiredClusterSelector")
    found = (
        list(read_selector(selector.mapping("labelSelector")).requirements()) if selector.has("labelSelector") else []
    )
    if selector.has("claimSelector"):
        claims = read_selector(selector.mapping("claimSelector")).requirements()
        found += claims
        if claims:
            what = "claims that Placements ask for are labels of Clusters here"
            notes.about(Outcome.CHANGED, selector, "claimSelector", what)
    if selector.has("celSelector"):
        selector.value("celSelector")
        what = "conditions in CEL are not read, so this predicate takes no cluster"
        notes.about(
            Outcome.NO_EQUAL,
            selector,
            "celSelector",
            what,
            "label the clusters that it takes, and write the label into `clusters`",
        )
        return None
    return tuple(found)


def _toleration(reader: Reader, notes: Notes) -> dict[str, str]:
    found = {key: reader.text(key) for key in ("key", "operator", "value", "effect")}
    effect = found["effect"]
    if effect and effect not in EFFECTS:
        reader.report("InvalidValue", f'unknown effect "{effect}"', nearest(effect, EFFECTS), key="effect")
    if reader.integer("tolerationSeconds") is not None:
        what = "a toleration has no end here"
        notes.about(
            Outcome.NO_EQUAL,
            reader,
            "tolerationSeconds",
            what,
            "set `lostAfter` in fleet.yaml, or a cluster's `state: Draining`",
        )
    return {key: value for key, value in (found | {"effect": EFFECTS.get(effect, "")}).items() if value}


def _chosen(spec: Reader, wanted: int, called: ScoreNames, notes: Notes) -> dict[str, Any]:
    """How many clusters, spread how, and by which scores."""
    spread = _spread(spec, wanted, notes)
    scores = _scores(spec, wanted, called, notes)
    where = "numberOfClusters" if spec.has("numberOfClusters") else None
    if not wanted:
        notes.about(Outcome.CONVERTED, spec, where, "all clusters that it takes, whatever the room: `copies: All`")
        return {"copies": "All", "admission": "Immediate"}
    what = f"{wanted} of the clusters that it takes, whatever the room: OCM does not look at what is free"
    todo = "take `admission` out, and a group waits until there is room for all of it"
    notes.about(Outcome.CONVERTED, spec, where, what, todo)
    return {
        **({"type": "Scored", "scores": scores} if scores else {}),
        **({"copies": wanted} if wanted > 1 else {}),
        "admission": "Immediate",
        **({"topologySpread": spread} if spread else {}),
    }


def _spread(spec: Reader, wanted: int, notes: Notes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item in spec.mapping("spreadPolicy").items("spreadConstraints") if spec.has("spreadPolicy") else ():
        key, skew = item.text("topologyKey"), item.integer("maxSkew")
        kind, otherwise = item.text("topologyKeyType"), item.text("whenUnsatisfiable")
        if kind not in ("", "Label", "Claim"):
            item.report(
                "InvalidValue",
                f'unknown topologyKeyType "{kind}"',
                nearest(kind, ("Label", "Claim")),
                key="topologyKeyType",
            )
        if wanted < 2:
            what = "one cluster or all of them: there is nothing to spread"
            notes.about(Outcome.LEFT_OUT, item, None, what)
        elif otherwise != "DoNotSchedule":
            what = "a spread that is only wished for cannot be said; here one is kept or not written"
            notes.about(
                Outcome.NO_EQUAL,
                item,
                "whenUnsatisfiable" if otherwise else None,
                what,
                "write `topologySpread` if copies may wait for it",
            )
        elif any(one["topologyKey"] == key for one in found):
            notes.about(Outcome.CHOSEN, item, None, f"{key} is there twice, and the first counts", "keep one")
        else:
            found.append({"topologyKey": key, "maxSkew": skew or 1})
            notes.about(Outcome.CONVERTED, item, None, f"`topologySpread` over {key}")
    return found


def _scores(spec: Reader, wanted: int, called: ScoreNames, notes: Notes) -> list[dict[str, Any]]:
    """The terms of a `type: Scored`."""
    if not spec.has("prioritizerPolicy"):
        return []
    policy = spec.mapping("prioritizerPolicy")
    mode = policy.text("mode")
    if mode not in ("", "Additive", "Exact"):
        policy.report("InvalidValue", f'unknown mode "{mode}"', nearest(mode, ("Additive", "Exact")), key="mode")
    elif mode != "Exact":
        what = "besides what is written OCM keeps what is placed (Steady) and evens clusters out (Balance); here nothing moves for a score, and room decides between equals"
        notes.about(Outcome.CHANGED, policy, "mode" if mode else None, what)
    else:
        what = "only what is written counts in OCM, which moves things for it; here nothing moves for a score"
        notes.about(Outcome.CHANGED, policy, "mode", what)
    found: list[dict[str, Any]] = []
    for item in policy.items("configurations"):
        term = _term(item, called, notes)
        weight = item.integer("weight")
        weight = 1 if weight is None else weight
        if not -10 <= weight <= 10:
            item.report("InvalidValue", f"weight {weight} is not from -10 to 10", key="weight")
        elif term and weight and not wanted:
            notes.about(Outcome.LEFT_OUT, item, None, "all clusters are taken, so no score decides")
        elif term and weight:
            found.append({**term, "weight": weight})
            of_nodes = "; what no snapshot shows nodes of offers 0" if "allocatable" in term else ""
            notes.about(Outcome.CONVERTED, item, None, f"a term of `scores`{of_nodes}", SNAPSHOT if of_nodes else "")
        elif not weight:
            notes.about(Outcome.LEFT_OUT, item, "weight", "a weight of 0 counts nothing")
    return found


def _term(reader: Reader, called: ScoreNames, notes: Notes) -> dict[str, str]:
    where = reader.mapping("scoreCoordinate")
    kind, built_in = where.text("type"), where.text("builtIn")
    if kind == "AddOn":
        add_on = where.mapping("addOn")
        return {"name": called(add_on.text("resourceName"), add_on.text("scoreName"))}
    if built_in in _BUILT_IN:
        return {"allocatable": _BUILT_IN[built_in]}
    if built_in in _STEERS:
        what = (
            "nothing moves for a score here"
            if built_in == "Steady"
            else "clusters are not evened out by number; room decides between equals"
        )
        notes.about(Outcome.CHANGED, where, "builtIn", f"{built_in}: {what}")
        return {}
    where.report(
        "InvalidValue",
        f'unknown score "{built_in or kind}"',
        nearest(built_in, (*_BUILT_IN, *_STEERS)),
        key="builtIn" if built_in else None,
    )
    return {}


class ScoreNames:
    """What the ClusterScores of each score of an AddOnPlacementScore are called: never two alike, though names here are shorter and lower case."""

    def __init__(self) -> None:
        self._names = Names()
        self._given: dict[tuple[str, str], str] = {}

    def __call__(self, resource: str, score: str) -> str:
        key = (resource, score)
        if key not in self._given:
            self._given[key] = self._names.unique(valid_name(f"{resource}-{score}", "score"))
        return self._given[key]


def _results(root: Reader, spec: Reader, annotations: Mapping[str, str], notes: Notes) -> None:
    """Lines for what a Placement says of its result, and what OCM has made of it."""
    if spec.has("decisionStrategy"):
        spec.value("decisionStrategy")
        what = "groups of decisions are for rollouts, and there is one plan here"
        notes.about(
            Outcome.NO_EQUAL,
            spec,
            "decisionStrategy",
            what,
            "let a promoter go from cluster to cluster: docs/engines.md",
        )
    if spec.has("sortBy"):
        spec.value("sortBy")
        notes.about(Outcome.NO_EQUAL, spec, "sortBy", "candidates are sorted by name in every plan")
    if spec.has("scoreRateLimit"):
        spec.value("scoreRateLimit")
        notes.about(Outcome.LEFT_OUT, spec, "scoreRateLimit", "scores are files here, and change by a commit")
    if annotations.get(_FROZEN) == "true":
        what = "its decisions are frozen; here what runs stays, and what is new is placed"
        notes.about(
            Outcome.CHANGED,
            root.mapping("metadata"),
            "annotations",
            what,
            "`gitplacer.dev/relocation: Never` holds a group where it is",
        )
    if root.has("status"):
        root.value("status")
        notes.about(Outcome.LEFT_OUT, root, "status", "what OCM found out")

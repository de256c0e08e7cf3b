"""
PropagationPolicies and ClusterPropagationPolicies in our words.

One of Karmada's becomes several of ours where it takes objects in ways that cannot be one selection, or of which some may be divided and
others may not. All get a place in one order, which is Karmada's.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.documents import Document
from gitplacer.importers.clusterselectors import cluster_selector, taken
from gitplacer.importers.karmada.affinities import Known, read_affinity
from gitplacer.importers.karmada.failover import read_failover
from gitplacer.importers.karmada.selecting import Selection, merged, read_selections
from gitplacer.importers.karmada.spreading import Spread, placement, read_spread
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import ForeignObject, read_metadata
from gitplacer.importers.shelves import Rule, Thing
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.model.labels import Requirement
from gitplacer.problems import Problem, nearest

_ONCE = frozenset({"Job", "CronJob", "RayJob", "RayCronJob"})
"""Kinds of which two copies would run the same thing twice."""
_PODLESS = ("v1", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "networking.k8s.io", "gateway.networking.k8s.io")
"""API groups, and the core's version, whose objects have no replicas to divide."""
_KUBERNETES = "KubePriorityClass"
_DEFAULT_SCHEDULER = "default-scheduler"
_OWN_TAINTS = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable", "cluster.karmada.io/terminating")
"""Taints that Karmada's controllers set, by what they hear of a cluster."""


class Made(Struct, frozen=True):
    """A policy of ours on its way: what it was made of, and the spec without `precedence`. `name` is set when all are known."""

    origin: Propagation
    selection: Selection
    spec: Mapping[str, Any]
    name: str = ""

    @property
    def select(self) -> ObjectSelector:
        return ObjectSelector.model_validate(self.spec["select"], by_alias=True)

    @property
    def everywhere(self) -> bool:
        return bool(self.spec.get("placement", {}).get("copies") == "All")

    @property
    def rule(self) -> Rule:
        return Rule(self.origin.title, self.everywhere)

    @property
    def strength(self) -> tuple[bool, int, int]:
        """The weakest first; of those that are equal, the name that is first in the alphabet is the strongest."""
        return bool(self.origin.namespace), self.origin.priority, self.selection.precision


class Propagation(ForeignObject, frozen=True):
    """A policy of Karmada's. `title` is a name that no other one of the import has."""

    kind: str
    priority: int = 0
    preempts: bool = False
    title: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def _is_gang(spec: Mapping[str, Any]) -> bool:
    """Whether a policy of ours asks for room, so that pods that wait may move what it governs."""
    return bool(spec.get("placement", {}).get("admission") != "Immediate")


class Making(Struct, frozen=True):
    """What all policies of an import share. `classes` are the values of PriorityClasses; `coarse` says that some snapshot is a hub's."""

    known: Known
    notes: Notes
    namespace: str
    classes: Mapping[str, int] = field(default_factory=dict)
    coarse: bool = False

    def made(self, document: Document) -> list[Made] | list[Problem]:
        """What a policy becomes, or what is wrong with it. A field that is not known is a line, and nothing else."""
        notes, root = self.notes, Reader.of(document)
        metadata = read_metadata(root, notes, kept=True)
        kind = root.text("kind")
        namespace = (
            (root.mapping("metadata").text("namespace") or self.namespace) if kind == "PropagationPolicy" else ""
        )
        spec = root.mapping("spec")
        selections = read_selections(spec, namespace, notes)
        if not spec.items("resourceSelectors"):
            spec.report("MissingField", '"resourceSelectors" has no entry', "Karmada refuses a policy without one")
        origin = Propagation(root, metadata, namespace, kind, spec.integer("priority") or 0, self._behaviour(spec))
        place = spec.mapping("placement")
        affinities = self._affinities(place)
        spread = read_spread(place, self.known, notes)
        shared = self._shared(spec, place)
        specs = list(self._parts(selections, lambda kinds: self._spec(kinds, place, affinities, spread)))
        gangs = [_is_gang(made) for _, made in specs]
        relocation = read_failover(spec, any(gangs), not all(gangs), notes)
        if root.has("status"):
            root.value("status")
            notes.about(Outcome.LEFT_OUT, root, "status", "what Karmada found out")
        notes.unread(root)
        if root.problems:
            return root.problems
        return [
            Made(
                origin,
                part,
                {"select": part.select(), **made, **({"relocation": relocation} if gang else {}), **shared},
            )
            for (part, made), gang in zip(specs, gangs, strict=True)
        ]

    def _parts(
        self, selections: Sequence[Selection], spec_of: Callable[[Sequence[tuple[str, str]]], dict[str, Any]]
    ) -> Iterator[tuple[Selection, dict[str, Any]]]:
        """Selections that are placed alike, as few as possible, and how each is placed."""
        by_class: dict[str, list[Selection]] = {}
        for one in selections:
            by_class.setdefault(_class(one.kinds[0]), []).append(one)
        alike: list[tuple[dict[str, Any], list[Selection]]] = []
        for found in by_class.values():
            spec = spec_of([one.kinds[0] for one in found])
            same = next((others for other, others in alike if other == spec), None)
            if same is None:
                alike.append((spec, found))
            else:
                same += found
        for spec, found in alike:
            yield from ((part, spec) for part in merged(found))

    def _affinities(self, place: Reader) -> list[tuple[Requirement, ...]]:
        """Whose conditions come first; one without conditions where nothing is said."""
        notes = self.notes
        if place.has("clusterAffinity"):
            found = [read_affinity(place.mapping("clusterAffinity"), self.known, notes)]
            if place.has("clusterAffinities"):
                place.report(
                    "InvalidValue",
                    "clusterAffinity and clusterAffinities exclude each other",
                    "keep one",
                    key="clusterAffinities",
                )
            return found
        groups: list[tuple[Requirement, ...]] = []
        for item in place.items("clusterAffinities"):
            item.text("affinityName")
            groups.append(read_affinity(item, self.known, notes))
            for more in item.items("overflowAffinities"):
                if "affinityName" in more.fields:
                    more.text("affinityName")
                groups.append(read_affinity(more, self.known, notes))
                what = "Karmada lets replicas overflow to these clusters; here a group that finds no room before goes there whole"
                notes.about(Outcome.CHANGED, more, None, what)
        return groups or [()]

    def _spec(
        self,
        kinds: Sequence[tuple[str, str]],
        place: Reader,
        affinities: Sequence[tuple[Requirement, ...]],
        spread: Spread,
    ) -> dict[str, Any]:
        names, class_ = list(dict.fromkeys(kind for _, kind in kinds)), _class(kinds[0])
        if len(affinities) > 1:
            clusters: dict[str, Any] = {}
            chosen = self._ordered(place, affinities, spread)
        else:
            clusters = cluster_selector(affinities[0])
            how = replace(spread, divided=False) if class_ == "podless" else spread
            chosen = placement(how, names, class_ == "once", self.known, affinities[0], self.notes)
        if self.coarse and _is_gang({"placement": chosen}):
            chosen = {**chosen, "accept": "TightFit"}
            what = "of some clusters only totals or sizes of nodes are known, where no more than a tight fit can be said: `accept: TightFit`"
            self.notes.about(
                Outcome.CHOSEN, place, None, what, "take it out when clusters have snapshots: docs/snapshots.md"
            )
        return {
            **({"clusters": clusters} if clusters else {}),
            **({"placement": chosen} if chosen else {}),
        }

    def _ordered(self, place: Reader, affinities: Sequence[tuple[Requirement, ...]], spread: Spread) -> dict[str, Any]:
        """One cluster, by an order of groups. Karmada takes the next group only when there is no cluster in one."""
        order = [cluster_selector(one) for one in affinities]
        sizes = [len(taken(self.known.labels, one)) for one in affinities]
        where = "clusterAffinities"
        for one in spread.constraints:
            what = "with an order of clusters it is on one of them"
            if one.least > 1:
                self.notes.about(Outcome.NO_EQUAL, one.reader, None, what, "write `copies` and `topologySpread`")
            elif one is not spread.clusters or one.most != 1:
                self.notes.about(Outcome.LEFT_OUT, one.reader, None, what)
        if spread.divided:
            what = "Karmada divides within the first group that takes it; here it goes whole to the first cluster with room, in this order"
            self.notes.about(Outcome.CHANGED, place, where, what)
            return {"type": "Ordered", "order": order}
        if spread.most == 1:
            what = "groups of clusters in order, one cluster with room: `type: Ordered`"
            self.notes.about(Outcome.CONVERTED, place, where, what)
            return {"type": "Ordered", "order": order}
        if any(size > 1 for size in sizes):
            what = "Karmada puts a copy on each cluster of the first group that has one; here one copy goes to the first cluster in this order"
            self.notes.about(
                Outcome.CHANGED,
                place,
                where,
                what,
                "write a policy with `copies: All` for a group of which each cluster should have one",
            )
        else:
            what = "one cluster after the other, whatever the room: `type: Ordered` and `admission: Immediate`"
            self.notes.about(Outcome.CONVERTED, place, where, what)
        return {"type": "Ordered", "order": order, "admission": "Immediate"}

    def _shared(self, spec: Reader, place: Reader) -> dict[str, Any]:
        """What is the same for all that a policy takes: tolerations and priority."""
        found: dict[str, Any] = {}
        tolerations = [one for item in place.items("clusterTolerations") if (one := self._toleration(item))]
        if tolerations:
            found["tolerations"] = tolerations
        if spec.has("schedulePriority"):
            wanted = spec.mapping("schedulePriority")
            source, name = wanted.text("priorityClassSource"), wanted.text("priorityClassName")
            if source not in ("", _KUBERNETES):
                what = f"who goes first is not read from a {source}"
                self.notes.about(Outcome.NO_EQUAL, wanted, "priorityClassSource", what, "write a number as `priority`")
            elif name in self.classes:
                found["priority"] = self.classes[name]
                what = f"the value of PriorityClass {name}: `priority: {self.classes[name]}`"
                self.notes.about(Outcome.CONVERTED, wanted, None, what)
            else:
                what = f"PriorityClass {name} is not among the files, so who goes first is not known"
                self.notes.about(
                    Outcome.NO_EQUAL, wanted, None, what, "write its value as `priority`, or import its file too"
                )
        if place.has("workloadAffinity"):
            place.value("workloadAffinity")
            what = "groups are placed by room, not beside or away from each other"
            self.notes.about(
                Outcome.NO_EQUAL, place, "workloadAffinity", what, "let policies with other `clusters` govern them"
            )
        return found

    def _toleration(self, reader: Reader) -> dict[str, str]:
        found = {key: reader.text(key) for key in ("key", "operator", "value", "effect")}
        seconds = reader.integer("tolerationSeconds")
        if found["key"] in _OWN_TAINTS:
            what = f"{found['key']} is a taint that Karmada's controllers set; here a cluster is Lost or stale"
            self.notes.about(Outcome.LEFT_OUT, reader, None, what)
            return {}
        if seconds is not None:
            what = "a toleration has no end here"
            self.notes.about(
                Outcome.NO_EQUAL,
                reader,
                "tolerationSeconds",
                what,
                "set the cluster's `state: Draining` when its apps are to go",
            )
        return {key: value for key, value in found.items() if value}

    def _behaviour(self, spec: Reader) -> bool:
        """Lines for what a policy says besides where. True where it takes objects from others."""
        notes = self.notes
        preempts = spec.text("preemption") == "Always"
        if preempts:
            notes.about(
                Outcome.CONVERTED,
                spec,
                "preemption",
                "of several policies the one of the highest precedence always governs",
            )
        elif spec.has("preemption"):
            spec.text("preemption")
            what = "in Karmada a policy that has an object keeps it; here the one of the highest precedence governs"
            notes.about(Outcome.CHANGED, spec, "preemption", what)
        deps = [key for key in ("propagateDeps", "association") if spec.has(key)]
        if any(spec.boolean(key) for key in deps):
            what = "what an app refers to always goes with it, and Services and the like that select its pods too"
            notes.about(Outcome.CONVERTED, spec, deps[0], what)
        else:
            what = "no propagateDeps: here what an app refers to goes with it all the same"
            notes.about(Outcome.CHANGED, spec, deps[0] if deps else None, what)
        if spec.has("dependentOverrides"):
            what = f"overrides {', '.join(spec.texts('dependentOverrides'))}: all that there are count in each pass"
            notes.about(Outcome.CONVERTED, spec, "dependentOverrides", what)
        if spec.text("schedulerName") not in ("", _DEFAULT_SCHEDULER):
            what = f"the scheduler {spec.text('schedulerName')} does not decide here"
            notes.about(
                Outcome.NO_EQUAL, spec, "schedulerName", what, "say by `clusters` and `placement` what it decides"
            )
        self._switches(spec)
        return preempts

    def _switches(self, spec: Reader) -> None:
        notes = self.notes
        resolution = spec.text("conflictResolution")
        if resolution and resolution not in ("Abort", "Overwrite"):
            hint = nearest(resolution, ("Abort", "Overwrite"))
            spec.report("InvalidValue", f'unknown conflictResolution "{resolution}"', hint, key="conflictResolution")
        elif resolution:
            does = "takes over" if resolution == "Overwrite" else "leaves"
            what = f"Karmada {does} what is in the cluster already; here Argo CD or Flux applies over it"
            outcome = Outcome.CONVERTED if resolution == "Overwrite" else Outcome.CHANGED
            notes.about(outcome, spec, "conflictResolution", what)
        if spec.text("activationPreference"):
            what = "an edit of a policy counts in the next pass, not with the next edit of an object"
            notes.about(
                Outcome.CHANGED,
                spec,
                "activationPreference",
                what,
                "read what it does first: gitplacer plan, docs/pull-request.md",
            )
        if spec.has("suspension"):
            suspension = spec.mapping("suspension")
            suspension.boolean("dispatching")
            on = (
                suspension.mapping("dispatchingOnClusters").texts("clusterNames")
                if suspension.has("dispatchingOnClusters")
                else ()
            )
            what = f"it is suspended{' on ' + ', '.join(on) if on else ''}; a policy cannot be suspended here"
            todo = (
                f"`state: Cordoned` for {', '.join(on)} lets nothing new go there"
                if on
                else "suspend each group: gitplacer suspend GROUP"
            )
            notes.about(Outcome.NO_EQUAL, spec, "suspension", what, todo)
        if spec.boolean("preserveResourcesOnDeletion"):
            what = "what is removed from the source is removed from its clusters"
            notes.about(
                Outcome.NO_EQUAL,
                spec,
                "preserveResourcesOnDeletion",
                what,
                "before you remove a file, tell the engine not to prune what is in it",
            )


def _class(kind: tuple[str, str]) -> str:
    """Whether objects of a kind run once, can be divided, or have nothing to divide."""
    version, name = kind
    if name in _ONCE:
        return "once"
    group = version.partition("/")[0]
    return "podless" if group in _PODLESS and name not in ("Pod", "ReplicationController") else "divisible"


class Governing:
    """
    The policy that Karmada would let govern an object, of those given weakest first. They are found by namespace, kind and name, so that
    thousands of them are not asked one by one.
    """

    def __init__(self, made: Sequence[Made]) -> None:
        self._found: dict[tuple[str, tuple[object, str], str], list[tuple[int, Made]]] = defaultdict(list)
        for rank, one in enumerate(reversed(made)):
            for kind in one.selection.kinds:
                for name in one.selection.names or ("",):
                    self._found[one.origin.namespace, kind, name].append((rank, one))

    def of(self, thing: Thing) -> Made | None:
        kind = (thing.document.parsed.says[0], thing.kind)
        lists = [
            self._found[key]
            for key in itertools.product(dict.fromkeys((thing.namespace, "")), (kind,), (thing.name, ""))
            if key in self._found
        ]
        possible = heapq.merge(*lists, key=lambda each: each[0])
        return next((one for _, one in possible if one.selection.takes(thing)), None)

    def rule(self, thing: Thing) -> Rule | None:
        found = self.of(thing)
        return found.rule if found is not None else None


def by_strength(made: Sequence[Made]) -> list[Made]:
    """Karmada's order, the weakest first."""
    last_first = sorted(made, key=lambda one: (one.origin.name, one.origin.title), reverse=True)
    return sorted(last_first, key=lambda one: one.strength)

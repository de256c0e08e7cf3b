"""
The nodes of one cluster as columns.

One int64 column for each resource that anybody offers or asks for, the same for all clusters, so that a question
about a thousand nodes is one numpy expression. Labels and taints are interned as shapes: a filter is asked once for
each pair of pod shape and node shape, never once for each node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.machines import NodeType
from gitplacer.kinds.nodecolumns import Column, NodeColumns
from gitplacer.machines import Catalogue, MachineType
from gitplacer.model.decision import Reason, Tally
from gitplacer.model.labels import Labels, Taint
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.scheduler.filters import asks_for_a_name, obstacle
from gitplacer.scheduler.objects import HOSTNAME, PODS
from gitplacer.scheduler.objects import Node as NodeShape

Amounts = np.ndarray[Any, np.dtype[np.int64]]
Counts = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Indexes = np.ndarray[Any, np.dtype[np.intp]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

Value = TypeVar("Value")

MOST_MACHINES = 100_000
"""Of one type, where nothing bounds them nearer."""
DEFAULT_PODS = 110
"""Pods per node where nothing is said: the kubelet's own default (--max-pods)."""
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""How the taints begin that Kubernetes puts on a node for what it is in now, such as a cordon or pressure on its memory."""


class Columns:
    """The resources of a fleet, in a fixed order: which column is which."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names: tuple[str, ...] = (PODS, *sorted(set(names) - {PODS}))
        self._index = {name: index for index, name in enumerate(self.names)}
        self.devices: Mask = np.array(["/" in name for name in self.names])
        self._asked: dict[PodShape, Amounts] = {}
        self._rows: dict[Resources, Amounts] = {}
        self._offered: dict[Resources, Amounts] = {}

    @staticmethod
    def of(snapshots: Collection[CapacitySnapshot], clusters: Iterable[Cluster], gangs: Iterable[Gang]) -> Columns:
        """All resources that nodes offer or pods ask for."""
        shown = {alike.allocatable for s in snapshots for alike in NodeColumns.of(s.nodes).alike.values}
        offered = {name for allocatable in shown for name in allocatable}
        types = {name for c in clusters for t in _node_types(c) for name in t.allocatable or ()}
        types |= {name for s in snapshots for group in s.node_groups for name in group.allocatable or ()}
        asked = {name for gang in gangs for pods in gang for name in pods.shape.requests}
        return Columns(offered | types | asked)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int | None:
        """Which column a resource is; None for one that nobody offers or asks for."""
        return self._index.get(name)

    def offered(self, allocatable: Resources) -> Amounts:
        """A node's allocatable as a row. Do not write to it."""
        if allocatable not in self._offered:
            row = self.row(allocatable).copy()
            if PODS not in allocatable:
                row[0] = DEFAULT_PODS
            self._offered[allocatable] = row
        return self._offered[allocatable]

    def row(self, resources: Resources) -> Amounts:
        """Amounts as a row; resources that nobody offers or asks for are dropped. Do not write to it."""
        known = self._rows.get(resources)
        if known is None:
            known = np.zeros(len(self.names), dtype=np.int64)
            for name, value in resources.items():
                if name in self._index:
                    known[self._index[name]] = value
            self._rows[resources] = known
        return known

    def asked(self, pod: PodShape) -> Amounts:
        """A pod's request as a row, its own slot included. Do not write to it."""
        row = self._asked.get(pod)
        if row is None:
            row = self._asked[pod] = self.row(pod.requests).copy()
            row[0] += 1
        return row

    def resources(self, row: Sequence[int] | Amounts) -> Resources:
        return Resources({name: int(value) for name, value in zip(self.names, row, strict=True)})


def _node_types(cluster: Cluster) -> tuple[NodeType, ...]:
    return cluster.spec.autoscaler.node_types if cluster.spec.autoscaler else ()


class Machine(NamedTuple):
    """One node, or one that an autoscaler has been counted on to add (`type`)."""

    name: str
    shape: int
    type: str = ""


class Nodes:
    """The static side of one cluster: what its nodes are and offer. What is free on them is the ledger's."""

    def __init__(
        self, cluster: Cluster, snapshot: CapacitySnapshot, columns: Columns, now: datetime | None = None
    ) -> None:
        self.columns = columns
        self.machines: list[Machine] = []
        self.index: dict[str, int] = {}
        self.catalogue = Catalogue.of(cluster, snapshot, now)
        self.types: dict[str, MachineType] = {t.key: t for t in self.catalogue.types}
        self._shapes: list[NodeShape] = []
        self._shape_index: dict[NodeShape, int] = {}
        self._hosts: dict[str, str] = {}
        self._obstacles: dict[tuple[PodShape, int, str], tuple[Reason, str] | None] = {}
        self._masks: dict[PodShape, Mask] = {}
        self._answers: dict[int, Mask] = {}
        """By which object the judge answers with, what that says of each node here."""
        self._same: dict[bytes, Mask] = {}
        self._judge: tuple[Callable[[PodShape], Mask | None], np.ndarray[Any, np.dtype[np.intp]]] | None = None
        seen = NodeColumns.of(snapshot.nodes)
        counts = np.array([alike.count for alike in seen.alike], dtype=np.intp)
        shapes = list(self._shapes_of(seen))
        for name, count, shape in zip(seen.names, counts.tolist(), shapes, strict=True):
            for each in (name,) if count == 1 else _numbered(name, count):
                self.index[each] = len(self.machines)
                self.machines.append(Machine(each, shape))
        self.allocatable: Amounts = np.repeat(
            _rows(seen.alike, lambda a: columns.offered(a.allocatable), columns), counts, axis=0
        )
        self.used: Amounts = np.repeat(_rows(seen.used, columns.row, columns), counts, axis=0)
        self.shape_of = np.repeat(np.array(shapes, dtype=np.intp), counts)
        self.type_shape = {key: self._interned(dict(t.labels), t.taints, False, True) for key, t in self.types.items()}
        self.type_row = {
            key: np.maximum(columns.offered(t.allocatable) - columns.row(t.overhead), 0)
            for key, t in self.types.items()
        }

    def _shapes_of(self, seen: NodeColumns) -> Iterator[int]:
        """The number of the shape of each node. Most nodes are like another but for their host name: they are told by what is cheap to compare."""
        taints = [tuple(field.taint() for field in alike.taints) for alike in seen.alike.values]
        host_at = [keys.index(HOSTNAME) if HOSTNAME in keys else -1 for keys in seen.keys.values]
        known: dict[tuple[int, int, tuple[str, ...]], int] = {}
        for name, values, which, whose in zip(seen.names, seen.labels, seen.alike.rows, seen.keys.rows, strict=True):
            at, rest = host_at[whose], values
            if at >= 0:
                rest = values[:at] + values[at + 1 :]
                if values[at] != name and seen.alike.values[which].count == 1:
                    self._hosts[name] = values[at]
            key = which, whose, rest
            if key not in known:
                labels, alike = dict(zip(seen.keys.values[whose], values, strict=True)), seen.alike.values[which]
                known[key] = self._interned(labels, taints[which], alike.unschedulable, alike.ready)
            yield known[key]

    def offered(self) -> dict[str, float]:
        """What all nodes offer, those that can be added included."""
        total = self.allocatable.sum(axis=0, dtype=np.float64)
        left = self.catalogue.left({}, to_placed=True)
        for key, row in self.type_row.items():
            more = [left[limit] // amount for limit, amount in self.types[key].draws]
            total = total + row * float(min([MOST_MACHINES, *more]) if more else 0)
        return dict(zip(self.columns.names, total.tolist(), strict=True))

    def _interned(self, labels: Labels, taints: tuple[Taint, ...], unschedulable: bool, ready: bool) -> int:
        kept = tuple(sorted((key, value) for key, value in labels.items() if key != HOSTNAME))
        shape = NodeShape(name="", labels=kept, taints=taints, unschedulable=unschedulable, ready=ready)
        if shape not in self._shape_index:
            self._shape_index[shape] = len(self._shapes)
            self._shapes.append(shape)
        return self._shape_index[shape]

    def shape_for(self, labels: Labels, taints: tuple[Taint, ...]) -> int:
        """The number of the shape of a fresh node with such labels and taints."""
        return self._interned(labels, taints, False, True)

    @property
    def shapes(self) -> Sequence[NodeShape]:
        """The shapes that `shape_of` numbers, and those of the types that can be added."""
        return self._shapes

    @cached_property
    def sorts(self) -> Sequence[tuple[int, int]]:
        """Of real nodes that are of one shape and offer the same, one by number, and how many there are."""
        table = np.column_stack([self.shape_of, self.allocatable])
        _, numbers, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
        return tuple(zip(numbers.tolist(), counts.tolist(), strict=True))

    @cached_property
    def label_keys(self) -> frozenset[str]:
        """The keys of all labels that some real node has; each has its host's name."""
        shapes = {machine.shape for machine in self.machines}
        return frozenset(
            {HOSTNAME for _ in shapes} | {key for shape in shapes for key, _ in self._shapes[shape].labels}
        )

    @cached_property
    def type_label_keys(self) -> frozenset[str]:
        """The keys of all labels that some node has that can be added."""
        return frozenset({HOSTNAME for _ in self.types} | {key for t in self.types.values() for key, _ in t.labels})

    def obstacle(self, pod: PodShape, shape: int, name: str = "") -> tuple[Reason, str] | None:
        """What keeps a pod off nodes of a shape, apart from room. `name` only where the pod asks for one."""
        key = (pod, shape, name)
        if key not in self._obstacles:
            self._obstacles[key] = obstacle(pod, self._node(shape, name))
        return self._obstacles[key]

    def lasting(self, shape: int, name: str = "") -> NodeShape:
        """A node of a shape as it is when what passes has passed."""
        return lasting(self._node(shape, name))

    def _node(self, shape: int, name: str) -> NodeShape:
        """A node of a shape; with a name also the labels that it alone has."""
        node = self._shapes[shape]
        if not name:
            return node
        return replace(node, name=name, labels=(*node.labels, (HOSTNAME, self._hosts.get(name, name))))

    def judged_by(self, judge: Callable[[PodShape], Mask | None], numbers: Sequence[int]) -> None:
        """
        Leave it to `judge`, which does it once for all clusters, to say which shapes of nodes take a pod that asks for no node by name. It has numbers
        for all shapes that it knows; `numbers` are those of the shapes here, in order. Equal answers have to be the same object.
        """
        self._judge, self._answers = (judge, np.array(numbers, dtype=np.intp)), {}

    def admits(self, pod: PodShape) -> Mask:
        """For each real node, whether a pod may be there, apart from room. Do not write to it."""
        known = self._masks.get(pod)
        if known is None:
            known = self._masks[pod] = self._admits(pod)
        return known

    def _admits(self, pod: PodShape) -> Mask:
        if self._judge is not None:
            judge, numbers = self._judge
            said = judge(pod)
            if said is not None:
                if id(said) not in self._answers:
                    self._answers[id(said)] = self._of_each(said[numbers])
                return self._answers[id(said)]
        if asks_for_a_name(pod):
            return np.array([self.obstacle(pod, m.shape, m.name) is None for m in self.machines], dtype=np.bool_)
        # Not by what is remembered of each shape: thousands of pods are asked about that nobody will explain.
        return self._of_each(np.array([obstacle(pod, shape) is None for shape in self._shapes], dtype=np.bool_))

    def _of_each(self, by_shape: Mask) -> Mask:
        """What is said of each shape of nodes, of each real node: one object, of which there are few for thousands of pods."""
        key = by_shape.tobytes()
        if key not in self._same:
            self._same[key] = by_shape[self.shape_of]
        return self._same[key]

    def type_admits(self, pod: PodShape, type_name: str) -> bool:
        """Whether a pod may be on a new node of a type. A pod that asks for a node by name never is."""
        return not asks_for_a_name(pod) and self.obstacle(pod, self.type_shape[type_name]) is None

    def useful_types(self, gang: Gang) -> Collection[str]:
        """
        The types of machines of which a new one takes a pod of a gang; all, to tell of, where none does. Others are not added for it: with them on
        offer, pods that have to be spread would see a zone, or a node, that never comes and in which none of them could be.
        """
        shapes = {pods.shape for pods in gang if pods.count}
        return [key for key in self.types if any(self._is_taken_by(shape, key) for shape in shapes)] or self.types

    def may_ever_take(self, pod: PodShape) -> bool:
        """
        Whether a pod could be on some node if all were empty and each sort that there is, or that may be added, were there as often as one likes. True where
        nobody can tell: of a pod that cares which node it is.
        """
        if asks_for_a_name(pod) or any(self._is_taken_by(pod, key) for key in self.types):
            return True
        fits = (self.columns.asked(pod) <= self.allocatable).all(axis=1)
        return bool((fits & self.admits(pod)).any())

    def _is_taken_by(self, pod: PodShape, key: str) -> bool:
        """Whether a new machine of a type takes a pod."""
        return self.would_take(pod, self.type_shape[key], self.type_row[key])

    def would_take(self, pod: PodShape, shape: int, amounts: Amounts) -> bool:
        """Whether a new machine of a shape, which has so much to give, takes a pod; it never takes one that asks for a node by name."""
        has_room = bool((self.columns.asked(pod) <= amounts).all())
        return has_room and not asks_for_a_name(pod) and self.obstacle(pod, shape) is None

    def addable(self, keys: Sequence[str], most: int, limits: Mapping[str, int]) -> list[str]:
        """Machines that may be added together: in turn one of each type, up to so many of each, as far as limits go."""
        left, found = dict(limits), list[str]()
        for _ in range(most):
            for key in keys:
                draws = self.types[key].draws
                if all(left[limit] >= amount for limit, amount in draws):
                    found.append(key)
                    for limit, amount in draws:
                        left[limit] -= amount
        return found

    def on_each(self, gang: Gang) -> Gang:
        """A gang whose pods that run on every node are counted: one for each node that admits them."""
        if not any(pods.per_node for pods in gang):
            return gang
        return tuple(one for pods in gang for one in (self._one_each(pods) if pods.per_node else (pods,)))

    def _one_each(self, pods: PodSet) -> Iterator[PodSet]:
        """As the DaemonSet controller does, which gives each pod its node."""
        for machine in self.machines:
            if self.obstacle(pods.shape, machine.shape, machine.name) is None:
                yield replace(pods, count=1, shape=replace(pods.shape, node_name=machine.name), per_node=False)

    def sort_of(self, machine: int) -> tuple[str, float | None] | None:
        """The type and price of a node, None for one that no autoscaler can add."""
        return self._sorts[self.machines[machine].shape]

    @cached_property
    def _sorts(self) -> list[tuple[str, float | None] | None]:
        types = [self.catalogue.type_of(dict(shape.labels)) for shape in self._shapes]
        return [None if type_ is None else (type_.name, type_.price_per_hour) for type_ in types]

    @cached_property
    def seen(self) -> Counter[str]:
        """How many nodes there are of each type that an autoscaler can add."""
        return Counter(sort[0] for i in range(len(self.machines)) if (sort := self.sort_of(i)) is not None)

    def refusals(self, pod: PodShape) -> Counter[tuple[Reason, str]]:
        """Why the real nodes that a pod may not be on refuse it, and how many of them for each reason."""
        counted: Counter[tuple[Reason, str]] = Counter()
        if asks_for_a_name(pod):
            counted.update(found for m in self.machines if (found := self.obstacle(pod, m.shape, m.name)))
            return counted
        for shape, count in enumerate(np.bincount(self.shape_of, minlength=len(self._shapes)).tolist()):
            found = self.obstacle(pod, shape) if count else None
            if found is not None:
                counted[found] += count
        return counted


def lasting(node: NodeShape) -> NodeShape:
    """A node without what passes by itself: one that is cordoned, or not ready, may take pods again."""
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(_PASSING))
    return replace(node, taints=taints, unschedulable=False, ready=True)


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}[{i}]" for i in range(count)]


def _rows(column: Column[Value], row: Callable[[Value], Amounts], columns: Columns) -> Amounts:
    """Row by row the amounts of what is in a column."""
    values = np.array([row(value) for value in column.values], dtype=np.int64).reshape(-1, len(columns))
    rows: Amounts = values[np.asarray(column.rows)]
    return rows


def tallied(counted: Counter[tuple[Reason, str]]) -> tuple[Tally, ...]:
    """Refusals, most frequent first."""
    return tuple(Tally(reason, subject, n) for (reason, subject), n in sorted(counted.items(), key=_frequent_first))


def _frequent_first(item: tuple[tuple[Reason, str], int]) -> tuple[int, str, str]:
    (reason, subject), count = item
    return -count, reason.value, subject

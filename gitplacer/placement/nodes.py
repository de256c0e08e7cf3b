"""
The nodes of one cluster as columns.

One int64 column for each resource that anybody offers or asks for, the same for all clusters, so that a question
about a thousand nodes is one numpy expression. Labels and taints are interned as shapes: a filter is asked once for
each pair of pod shape and node shape, never once for each node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gitplacer.kinds.capacity import CapacitySnapshot, Node
from gitplacer.kinds.fleet import Cluster, NodeType
from gitplacer.model.decision import Reason, Tally
from gitplacer.model.labels import Labels, Taint
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodShape
from gitplacer.placement.filters import HOSTNAME, NodeShape, asks_for_a_name, obstacle

Amounts = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

PODS = "pods"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
DEFAULT_PODS = 110
"""Pods per node where nothing is said: the kubelet's own default (--max-pods)."""


class Columns:
    """The resources of a fleet, in a fixed order: which column is which."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names: tuple[str, ...] = (PODS, *sorted(set(names) - {PODS}))
        self._index = {name: index for index, name in enumerate(self.names)}
        self.devices: Mask = np.array(["/" in name for name in self.names])
        self._asked: dict[PodShape, Amounts] = {}
        self._rows: dict[Resources, Amounts] = {}

    @staticmethod
    def of(snapshots: Iterable[CapacitySnapshot], clusters: Iterable[Cluster], gangs: Iterable[Gang]) -> Columns:
        """All resources that nodes offer or pods ask for."""
        offered = {name for s in snapshots for node in s.nodes for name in node.allocatable}
        types = {name for c in clusters for t in _node_types(c) for name in t.allocatable}
        asked = {name for gang in gangs for pods in gang for name in pods.shape.requests}
        return Columns(offered | types | asked)

    def __len__(self) -> int:
        return len(self.names)

    def offered(self, allocatable: Resources) -> Amounts:
        """A node's allocatable as a row of its own."""
        row = self.row(allocatable).copy()
        if PODS not in allocatable:
            row[0] = DEFAULT_PODS
        return row

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
        if pod not in self._asked:
            row = self.row(pod.requests).copy()
            row[0] += 1
            self._asked[pod] = row
        return self._asked[pod]

    def resources(self, row: Sequence[int] | Amounts) -> Resources:
        return Resources({name: int(value) for name, value in zip(self.names, row, strict=True)})


def _node_types(cluster: Cluster) -> tuple[NodeType, ...]:
    return cluster.spec.autoscaler.node_types if cluster.spec.autoscaler else ()


@dataclass(frozen=True, slots=True)
class Machine:
    """One node, or one that an autoscaler has been counted on to add (`type`)."""

    name: str
    shape: int
    type: str = ""


class Nodes:
    """The static side of one cluster: what its nodes are and offer. What is free on them is the ledger's."""

    def __init__(self, cluster: Cluster, snapshot: CapacitySnapshot, columns: Columns) -> None:
        self.columns = columns
        self.machines: list[Machine] = []
        self.index: dict[str, int] = {}
        self.types: dict[str, NodeType] = {t.name: t for t in _node_types(cluster)}
        self.existing: Counter[str] = Counter()
        self._shapes: list[NodeShape] = []
        self._shape_index: dict[NodeShape, int] = {}
        self._obstacles: dict[tuple[PodShape, int, str], tuple[Reason, str] | None] = {}
        self._masks: dict[PodShape, Mask] = {}
        rows, used = [], []
        for node in snapshot.nodes:
            shape = self._interned(node.labels, node.taint_values(), node.unschedulable, node.ready)
            row, in_use = columns.offered(node.allocatable), columns.row(node.used)
            for name in _names(node):
                self.index[name] = len(self.machines)
                self.machines.append(Machine(name, shape))
                rows.append(row)
                used.append(in_use)
            self.existing[node.labels.get(INSTANCE_TYPE, "")] += node.count
        empty = np.zeros((0, len(columns)), dtype=np.int64)
        self.allocatable: Amounts = np.array(rows) if rows else empty
        self.used: Amounts = np.array(used) if used else empty
        self.shape_of = np.array([machine.shape for machine in self.machines], dtype=np.intp)
        place = {"topology.kubernetes.io/region": cluster.spec.region, "topology.kubernetes.io/zone": cluster.spec.zone}
        derived = {key: value for key, value in place.items() if value is not None}
        self.type_shape = {
            name: self._interned(
                {**derived, **t.labels, INSTANCE_TYPE: name}, tuple(f.taint() for f in t.taints), False, True
            )
            for name, t in self.types.items()
        }
        self.type_row = {name: columns.offered(t.allocatable) for name, t in self.types.items()}

    def offered(self) -> dict[str, float]:
        """What all nodes offer, those that can be added included."""
        total = self.allocatable.sum(axis=0, dtype=np.float64)
        for name, row in self.type_row.items():
            total = total + row * float(max(0, self.types[name].max - self.existing[name]))
        return dict(zip(self.columns.names, total.tolist(), strict=True))

    def _interned(self, labels: Labels, taints: tuple[Taint, ...], unschedulable: bool, ready: bool) -> int:
        kept = tuple(sorted((key, value) for key, value in labels.items() if key != HOSTNAME))
        shape = NodeShape(kept, taints, unschedulable, ready)
        if shape not in self._shape_index:
            self._shape_index[shape] = len(self._shapes)
            self._shapes.append(shape)
        return self._shape_index[shape]

    def obstacle(self, pod: PodShape, shape: int, name: str = "") -> tuple[Reason, str] | None:
        """What keeps a pod off nodes of a shape, apart from room. `name` only where the pod asks for one."""
        key = (pod, shape, name)
        if key not in self._obstacles:
            node = self._shapes[shape]
            if name:
                labels = (*node.labels, (HOSTNAME, name))
                node = NodeShape(labels, node.taints, node.unschedulable, node.ready, name)
            self._obstacles[key] = obstacle(pod, node)
        return self._obstacles[key]

    def admits(self, pod: PodShape) -> Mask:
        """For each real node, whether a pod may be there, apart from room."""
        if pod not in self._masks:
            if asks_for_a_name(pod):
                self._masks[pod] = np.array(
                    [self.obstacle(pod, m.shape, m.name) is None for m in self.machines], dtype=np.bool_
                )
            else:
                by_shape = np.array([self.obstacle(pod, i) is None for i in range(len(self._shapes))], dtype=np.bool_)
                self._masks[pod] = by_shape[self.shape_of]
        return self._masks[pod]

    def type_admits(self, pod: PodShape, type_name: str) -> bool:
        """Whether a pod may be on a new node of a type. A pod that asks for a node by name never is."""
        return not asks_for_a_name(pod) and self.obstacle(pod, self.type_shape[type_name]) is None

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


def _names(node: Node) -> list[str]:
    return [node.name] if node.count == 1 else [f"{node.name}[{i}]" for i in range(node.count)]


def tallied(counted: Counter[tuple[Reason, str]]) -> tuple[Tally, ...]:
    """Refusals, most frequent first."""
    return tuple(Tally(reason, subject, n) for (reason, subject), n in sorted(counted.items(), key=_frequent_first))


def _frequent_first(item: tuple[tuple[Reason, str], int]) -> tuple[int, str, str]:
    (reason, subject), count = item
    return -count, reason.value, subject

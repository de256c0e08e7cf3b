"""
A cluster as every gang finds it: its nodes, what runs on them, and what both are to the filters. Worked out once, where several gangs are
tried on one cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from gitplacer.model.decision import Reason
from gitplacer.model.labels import untolerated
from gitplacer.model.podrules import HostPort
from gitplacer.model.resources import Resources
from gitplacer.scheduler.filters import asks_for_a_name, node_affinity, node_selector, obstacle
from gitplacer.scheduler.neighbours import Indexes, Ints, Kin, Mask, Placed, Topology, asked_by, asked_of, kin
from gitplacer.scheduler.objects import HOSTNAME, PODS, Node, Pod
from gitplacer.scheduler.reading import ClusterObjects

FAR = 2**61
"""Amounts are clamped to this, so that sums of a few stay within int64."""

EXACT = 2**52
"""Amounts below this, and sums of them, are the same as floats, and a hundred times as much is still an int64."""

Obstacle = tuple[Reason, str]


class Site:
    """
    `placed` are the pods that run, each with the index of its node, and `held` those for which there is only room kept (see `holding`); `used` what is used of cpu and memory on each node, and then what
    scores count as used of both. Rows of `offered` and `free` are nodes, columns `columns`.
    """

    def __init__(self, cluster: ClusterObjects) -> None:
        self.nodes: tuple[Node, ...] = cluster.nodes
        self.namespaces = cluster.namespaces
        number = {node.name: i for i, node in enumerate(self.nodes)}
        self.placed: list[Placed] = [
            (number[pod.node_name], pod) for pod in cluster.pods if not pod.finished and pod.node_name in number
        ]
        self.held: tuple[Placed, ...] = ()
        self.topology = Topology(self.nodes)
        self._flawed = {node for node, pod in self.placed if pod.flaw}
        self._shape_of, self._examples = self._shapes()
        self._obstacles: dict[tuple[object, ...], tuple[list[Obstacle | None], Indexes]] = {}
        self._masks: dict[tuple[object, ...], Mask] = {}
        self.softly_tainted = any(taint.effect == "PreferNoSchedule" for node in self.nodes for taint in node.taints)
        names = {name for n in self.nodes for name in (*n.allocatable, *n.used)}
        names |= {name for _, pod in self.placed for name in pod.requests}
        self.columns: tuple[str, ...] = (PODS, *sorted(names - {PODS}))
        self.used: list[tuple[int, int, int, int]]
        self.offered: Ints
        self.free: Ints
        self._count()
        self._ports: dict[int, list[HostPort]] = {}
        for node, pod in self.placed:
            if pod.ports:
                self._ports.setdefault(node, []).extend(pod.ports)

    def _count(self) -> None:
        offered = [[n.allocatable.get(name, 0) for name in self.columns] for n in self.nodes]
        free = [
            [have - n.used.get(name, 0) for have, name in zip(row, self.columns, strict=True)]
            for row, n in zip(offered, self.nodes, strict=True)
        ]
        used = [[n.used.get("cpu", 0), n.used.get("memory", 0)] * 2 for n in self.nodes]
        for i, pod in self.placed:
            free[i][0] -= 1
            for column, name in enumerate(self.columns[1:], 1):
                free[i][column] -= pod.requests.get(name, 0)
            adds = (pod.requests.get("cpu", 0), pod.requests.get("memory", 0), pod.scored_cpu, pod.scored_memory)
            used[i] = [have + add for have, add in zip(used[i], adds, strict=True)]
        self.used = [(cpu, memory, scored, more) for cpu, memory, scored, more in used]
        shape = len(self.nodes), len(self.columns)
        self.offered = np.array(offered, dtype=np.int64).reshape(shape)
        clamped = [[max(-FAR, min(FAR, amount)) for amount in row] for row in free]
        self.free = np.array(clamped, dtype=np.int64).reshape(shape)

    @cached_property
    def running(self) -> tuple[Kin, ...]:
        """The pods that run, those that are one object together."""
        return kin(self.placed)

    @cached_property
    def amounts(self) -> list[tuple[int, ...]]:
        """What each node offers of cpu and memory, and what is used of both, as `used` has it."""
        there = [(n.allocatable.get("cpu", 0), n.allocatable.get("memory", 0)) for n in self.nodes]
        return [(*offers, *used) for offers, used in zip(there, self.used, strict=True)]

    @cached_property
    def usage(self) -> Ints:
        """Of each node a number for these, equal where they are."""
        numbers: dict[tuple[int, ...], int] = {}
        return np.array([numbers.setdefault(row, len(numbers)) for row in self.amounts], dtype=np.int64)

    @cached_property
    def small_amounts(self) -> Ints | None:
        """The same amounts as a table, where they are such that floats hold them."""
        if not all(abs(amount) < EXACT for row in self.amounts for amount in row):
            return None
        return np.array(self.amounts, dtype=np.int64).reshape(len(self.nodes), 6)

    def beside(self, more: Sequence[Placed], used: Mapping[int, Resources]) -> Site:
        """The same with more pods that run, and with more used of some nodes by pods that nobody lists."""
        twin = copy.copy(self)
        twin.placed = [*self.placed, *more]
        for known in ("running", "amounts", "usage", "small_amounts"):
            twin.__dict__.pop(known, None)
        twin.used, twin.free = list(self.used), self.free.copy()
        for node, pod in more:
            twin._use(node, pod.requests, 1, pod.scored_cpu, pod.scored_memory)
        for node, amounts in used.items():
            twin._use(node, amounts, amounts.get(PODS, 0), amounts.get("cpu", 0), amounts.get("memory", 0))
        twin._ports = {node: list(ports) for node, ports in self._ports.items()}
        for node, pod in more:
            if pod.ports:
                twin._ports.setdefault(node, []).extend(pod.ports)
        return twin

    def holding(self, pods: Sequence[Pod]) -> Site:
        """
        The same with room held for pods that are not on their nodes yet. On its own node filters see what one asks for, its ports, and whom it or the
        other keeps off; scores, and rules about pods on other nodes, see nothing of it before it is there.
        """
        number = {node.name: i for i, node in enumerate(self.nodes)}
        twin = copy.copy(self)
        twin.free = self.free.copy()
        twin._ports = {node: list(ports) for node, ports in self._ports.items()}
        for pod in pods:
            if (node := number.get(pod.nominated)) is not None:
                twin.held = (*twin.held, (node, pod))
                twin._hold(node, pod.requests, 1)
                twin._ports.setdefault(node, []).extend(pod.ports)
        return twin

    def _hold(self, node: int, amounts: Resources, slots: int) -> None:
        less = (slots, *(amounts.get(name, 0) for name in self.columns[1:]))
        left = (have - amount for have, amount in zip(self.free[node].tolist(), less, strict=True))
        self.free[node] = [max(-FAR, min(FAR, amount)) for amount in left]

    def _use(self, node: int, amounts: Resources, slots: int, scored_cpu: int, scored_memory: int) -> None:
        self._hold(node, amounts, slots)
        cpu, memory, scored, more = self.used[node]
        self.used[node] = (
            cpu + amounts.get("cpu", 0), memory + amounts.get("memory", 0), scored + scored_cpu, more + scored_memory
        )  # fmt: skip

    def table(self, amounts: Ints, columns: Sequence[str]) -> Ints:
        """Of `offered` or `free` the columns of some resources; of one that nobody here knows there is nothing."""
        index = {name: i for i, name in enumerate(self.columns)}
        found = np.zeros((len(self.nodes), len(columns)), dtype=np.int64)
        for column, name in enumerate(columns):
            if name in index:
                found[:, column] = amounts[:, index[name]]
        return found

    def _shapes(self) -> tuple[Indexes, list[int]]:
        """Of each node the number of its shape, as far as a pod can tell that asks for no name; and of each shape a node."""
        numbers: dict[object, int] = {}
        examples: list[int] = []
        found = []
        for i, node in enumerate(self.nodes):
            labels = tuple(pair for pair in node.labels if pair[0] != HOSTNAME)
            shape = (labels, node.taints, node.unschedulable, node.ready, node.flaw, i in self._flawed)
            if shape not in numbers:
                numbers[shape] = len(examples)
                examples.append(i)
            found.append(numbers[shape])
        return np.array(found, dtype=np.intp), examples

    def _found(self, pod: Pod) -> tuple[list[Obstacle | None], Indexes]:
        """What shapes of nodes have against a pod by itself, and of each node which of these is its own."""
        by_name = asks_for_a_name(pod)
        key = (pod.node_name, pod.node_selector, pod.affinity, pod.volume_nodes, pod.tolerations)
        if key not in self._obstacles:
            asked = range(len(self.nodes)) if by_name else self._examples
            found = [
                (Reason.NODE_UNREADABLE, "a pod on it cannot be read")
                if i in self._flawed
                else obstacle(pod, self.nodes[i])
                for i in asked
            ]
            self._obstacles[key] = found, np.arange(len(self.nodes), dtype=np.intp) if by_name else self._shape_of
        return self._obstacles[key]

    def obstacle(self, pod: Pod, node: int) -> Obstacle | None:
        """What a node has against a pod by itself."""
        found, which = self._found(pod)
        return found[int(which[node])]

    def admits(self, pod: Pod) -> Mask:
        """The nodes that have nothing against a pod by itself."""
        found, which = self._found(pod)
        mask: Mask = np.array([one is None for one in found], dtype=np.bool_)[which]
        return mask

    def kept_off(self, pod: Pod) -> Mask:
        """The nodes where room is held for one with which a pod must not share them."""
        found = np.zeros(len(self.nodes), dtype=np.bool_)
        for node, other in self.held:
            labels = dict(self.nodes[node].labels)
            mine = (term for term in pod.pod_anti_affinity if asked_by(term, other, self.namespaces))
            others = (term for term in other.pod_anti_affinity if asked_of(term, pod, self.namespaces))
            found[node] |= any(term.topology_key in labels for term in (*mine, *others))
        return found

    def counted(self, pod: Pod, affinity: bool, taints: bool) -> Mask:
        """The nodes that a spread constraint counts for a pod."""
        if not (affinity or taints):
            return np.ones(len(self.nodes), dtype=np.bool_)
        key = (pod.node_selector, pod.affinity, pod.tolerations, affinity, taints)
        if key not in self._masks:
            found = [
                not (affinity and (node_selector(pod, node) or node_affinity(pod, node)))
                and not (taints and untolerated(node.taints, pod.tolerations))
                for node in self.nodes
            ]
            self._masks[key] = np.array(found, dtype=np.bool_)
        return self._masks[key]

    @property
    def ports(self) -> Mapping[int, Sequence[HostPort]]:
        """The host ports that are taken, by node."""
        return self._ports

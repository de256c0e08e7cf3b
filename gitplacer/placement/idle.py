"""
Pods of which there are none yet, and whether a cluster could ever run one.

A worker group at zero asks for no room, and none is kept for it: its app goes where its head fits, which may be a cluster without a
single GPU. When Ray's autoscaler, or a person, then wants the first worker, it waits for ever. So of clusters that are liked equally
those come first that could run one (`choice`), and where none of these takes the app, that is told (`stranded`). No cluster is
refused: an app whose head runs is worth more than one that waits, and a manifest often names workers that nobody will ask for.

A DaemonSet of an app is alike: it has a pod on each node that admits it, and fits wherever there is none.

"Ever" is on the nodes of the snapshot if they were empty, and on all machines that can be added. What passes by itself is held against
no node: a cordon, that it is not ready, what other pods use, and that its provider has no more of its kind just now.

Thousands of clusters have a few sorts of nodes each. `NodeSorts` has the sorts of all in one table, and is asked once for pods of a shape; why
a cluster could not run them is found out only where somebody is told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.placement.autoscalers.exact import Offer, Question, cheapest
from gitplacer.placement.autoscalers.limits import in_the_way
from gitplacer.placement.nodeclasses import NodeClasses
from gitplacer.placement.nodes import MOST_MACHINES, Amounts, Counts, Indexes, Mask, Nodes, lasting, tallied
from gitplacer.scheduler.filters import asks_for_a_name, obstacle
from gitplacer.scheduler.gangs import slice_key
from gitplacer.scheduler.objects import PODS, Node
from gitplacer.workloads.facts import ObjectFacts, Reserve


class Idle(Struct, frozen=True):
    """Pods of which there are none, and may be some: `hosts` at a time, which belong together."""

    shape: PodShape
    hosts: int = 1

    def pool_key(self, slice_topology: str) -> str:
        """The label of nodes that all hosts have in common; '' if they need none."""
        return slice_key(PodSet("", self.hosts, self.shape, self.hosts), slice_topology)


def idle_in(facts: Iterable[ObjectFacts], reserve: Reserve) -> tuple[Idle, ...]:
    """All such pods of some objects, those that are alike once; mostly there are none."""
    roles = (role for found in facts for role in found.roles if role.idles(reserve))
    return tuple(dict.fromkeys(Idle(role.shape, role.slice_size) for role in roles))


# whether


class NodeSorts:
    """
    What some clusters could ever run, each by its index. Their nodes have the same columns. `topologies` are the labels that hosts of one
    replica have in common on each, and of those that are not `known` nobody knows the nodes one by one: they could run anything.
    """

    def __init__(self, nodes: Sequence[Nodes], topologies: Sequence[str], known: Sequence[bool]) -> None:
        self._nodes, self._topologies = nodes, topologies
        self._unknown: Mask = ~np.array(known, dtype=np.bool_)
        numbers: dict[Node, int] = {}
        sorts = [(index, *sort) for index, each in enumerate(nodes) if known[index] for sort in _sorts(each)]
        self._cluster: Indexes = np.array([index for index, *_ in sorts], dtype=np.intp)
        self._shape: Indexes = np.array(
            [numbers.setdefault(shape, len(numbers)) for _, shape, *_ in sorts], dtype=np.intp
        )
        self._machines: Counts = np.array([count for *_, count in sorts], dtype=np.int64)
        columns = len(nodes[0].columns) if nodes else 0
        self._row: Amounts = np.array([row for *_, row, _ in sorts], dtype=np.int64).reshape(len(sorts), columns)
        self._classes = NodeClasses(list(numbers))
        self._could: dict[Idle, Mask] = {}
        self._everywhere: Mask = np.ones(len(nodes), dtype=np.bool_)

    def could_run(self, idle: Idle) -> Mask:
        """For each cluster, whether it could. Do not write to it."""
        if idle not in self._could:
            self._could[idle] = self._find(idle)
        return self._could[idle]

    def could_run_all(self, some: Iterable[Idle]) -> Mask:
        """For each cluster, whether it could run each of some sorts, by themselves. Do not write to it."""
        found = [self.could_run(idle) for idle in some]
        together: Mask = np.logical_and.reduce(found) if len(found) > 1 else found[0] if found else self._everywhere
        return together

    def _find(self, idle: Idle) -> Mask:
        found = self._unknown.copy()
        if asks_for_a_name(idle.shape) or any(idle.pool_key(topology) for topology in {*self._topologies}):
            for index in np.flatnonzero(~found).tolist():
                found[index] = in_vain(self._nodes[index], idle, self._topologies[index]) is None
        elif self._nodes and _has_columns(self._nodes[0], idle.shape):
            seats = _seats(self._row, self._nodes[0].columns.asked(idle.shape), idle.hosts)
            seats *= np.minimum(self._machines, idle.hosts) * self._classes.admits(idle.shape)[self._shape]
            found |= np.bincount(self._cluster, seats, len(found)) >= idle.hosts
            for index in np.flatnonzero(found & ~self._unknown).tolist() if idle.hosts > 1 else ():
                if _share_limits(self._nodes[index]):  # each type was taken alone
                    found[index] = in_vain(self._nodes[index], idle, self._topologies[index]) is None
        return found


def _sorts(nodes: Nodes) -> Iterator[tuple[Node, Amounts, int]]:
    """The sorts of nodes of a cluster, as they are when what passes has passed: what one offers, and how many there are or may be."""
    for number, count in nodes.sorts:
        yield nodes.lasting(nodes.machines[number].shape), nodes.allocatable[number], count
    for key, most in _may_be_added(nodes).items():
        yield nodes.lasting(nodes.type_shape[key]), nodes.type_row[key], most


def _may_be_added(nodes: Nodes) -> dict[str, int]:
    """How many machines of each type may be added to those that are there, by key."""
    left = nodes.catalogue.left({}, to_placed=True)
    types = nodes.types.items()
    return {key: min([MOST_MACHINES, *(left[limit] // n for limit, n in type_.draws)]) for key, type_ in types}


def _share_limits(nodes: Nodes) -> bool:
    """Whether several types of machine that may be added count against one limit, as those of a node pool do."""
    names = [name for type_ in nodes.types.values() for name, _ in type_.draws]
    return len(set(names)) < len(names)


def _seats_added(nodes: Nodes, seats: Mapping[str, int], wanted: int) -> int:
    """
    How many of some pods machines hold that may be added together, no more counted than are wanted. `seats` is how many one machine holds of each
    type, by key. Limits count for all types together: that each could come without the others says nothing.
    """
    left = nodes.catalogue.left({}, to_placed=True)
    offers = tuple(Offer(key, 1, (each,), (True,), nodes.types[key].draws) for key, each in sorted(seats.items()))
    alone = _may_be_added(nodes)
    fewest = min(wanted, max((alone[key] * each for key, each in seats.items()), default=0))
    most = min(wanted, sum(alone[key] * each for key, each in seats.items()))
    while fewest < most:
        middle = (fewest + most + 1) // 2
        may = cheapest(Question(((1,),), (middle,), (), offers, left)) is not None
        fewest, most = (middle, most) if may else (fewest, middle - 1)
    return fewest


def _has_columns(nodes: Nodes, pod: PodShape) -> bool:
    """Whether somebody offers, or asks for, all that a pod asks for. What has no column no node has."""
    return all(nodes.columns.index(name) is not None for name, amount in pod.requests.items() if amount)


def _seats(offered: Amounts, row: Amounts, most: int) -> Counts:
    """How many pods that ask for so much each machine takes if it is empty, no more counted than are wanted."""
    asked = np.flatnonzero(row)
    seats: Counts = (offered[:, asked] // row[asked]).min(axis=1)
    return np.clip(seats, 0, most, out=seats)


# why not


def in_vain(nodes: Nodes, idle: Idle, slice_topology: str = "") -> Finding | None:
    """
    Why some pods that belong together could never run on a cluster, whatever else runs there; None if they could. It has a `tally` over all
    nodes that are there, and the `limits` that keep machines from being added which would do.
    """
    key, pod, named = idle.pool_key(slice_topology), idle.shape, asks_for_a_name(idle.shape)
    row, is_known = nodes.columns.asked(pod), _has_columns(nodes, pod)
    refused, together = _weighed(_places(nodes, named), idle, key)
    added: dict[str, dict[str, int]] = defaultdict(dict)
    for type_key in nodes.types if is_known else ():
        if nodes.type_admits(pod, type_key):
            # Machines of one type are in one pool where nobody says otherwise.
            pool = dict(nodes.shapes[nodes.type_shape[type_key]].labels).get(key, type_key) if key else ""
            added[pool][type_key] = int(_seats(nodes.type_row[type_key][None, :], row, idle.hosts)[0])
    for pool, seats in added.items():
        together[pool] += _seats_added(nodes, seats, idle.hosts)
    found = _never(idle, len(nodes.machines), refused, together)
    if found is None or not is_known:
        return found
    return replace(found, limits=in_the_way(nodes, pod, row, nodes.catalogue.left({}, to_placed=True)))


def in_vain_on(nodes: Sequence[Node], idle: Idle, slice_topology: str = "") -> Finding | None:
    """
    The same of nodes beside which nobody knows of machines that can be added. Of one that cannot be read nobody knows what it could run.
    """
    if any(node.flaw for node in nodes):
        return None
    places = ((lasting(node), node.allocatable, 1) for node in nodes)
    return _never(idle, len(nodes), *_weighed(places, idle, idle.pool_key(slice_topology)))


_Place = tuple[Node, Mapping[str, int], int]
"""A node as it is when what passes has passed, what it offers, and how many such there are."""


def _places(nodes: Nodes, named: bool) -> Iterator[_Place]:
    for number, count in ((number, 1) for number in range(len(nodes.machines))) if named else nodes.sorts:
        machine, offered = nodes.machines[number], nodes.allocatable[number].tolist()
        there = nodes.lasting(machine.shape, machine.name if named else "")
        yield there, dict(zip(nodes.columns.names, offered, strict=True)), count


def _weighed(places: Iterable[_Place], idle: Idle, key: str) -> tuple[Counter[tuple[Reason, str]], Counter[str]]:
    """How many nodes refuse a pod and why, and how many of those that belong together each pool of nodes takes."""
    refused, together = Counter[tuple[Reason, str]](), Counter[str]()
    asks = {**idle.shape.requests, PODS: idle.shape.requests.get(PODS, 0) + 1}
    for node, offered, count in places:
        refusal = obstacle(idle.shape, node) or _scarcity(asks, offered)
        pool = dict(node.labels).get(key, "") if key else ""
        if refusal is None and (pool or not key):
            seats = min(offered.get(name, 0) // amount for name, amount in asks.items() if amount)
            together[pool] += min(seats, idle.hosts) * count
        refused[
            refusal or ((Reason.INSUFFICIENT_CAPACITY, "") if pool or not key else (Reason.MISSING_TOPOLOGY_KEY, key))
        ] += count
    return refused, together


def _never(idle: Idle, nodes: int, refused: Counter[tuple[Reason, str]], together: Counter[str]) -> Finding | None:
    seats = max(together.values(), default=0)
    if seats >= idle.hosts:
        return None
    return Finding(code=Reason.EXCEEDS_CLUSTER, placed=seats, wanted=idle.hosts, nodes=nodes, tally=tallied(refused))


def _scarcity(asks: Mapping[str, int], offered: Mapping[str, int]) -> tuple[Reason, str] | None:
    """Of what a node offers least for one pod, devices before others; None where it has room for one."""
    scarce, most = "", 0.0
    for name, amount in sorted(asks.items()):
        has = offered.get(name, 0)
        lacks = (amount - has) / amount + 10.0 * ("/" in name) if amount > has else 0.0
        if lacks > most:
            scarce, most = name, lacks
    return (Reason.INSUFFICIENT_CAPACITY, scarce) if scarce else None

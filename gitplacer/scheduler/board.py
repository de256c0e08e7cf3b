"""
One cluster and one gang, worked out once: classes of pods, sorts of nodes, rules, and what each node state takes.

Identical pods are one class and identical nodes one sort, so what a filter or a score says is kept per class and *load*
(a sort of node with so many pods of each class on it) and looked up ever after. A board never changes what it says;
`Bound` is where pods are bound, one by one, and taken away again.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.podrules import varies
from gitplacer.model.resources import Resources
from gitplacer.scheduler.crowding import certain
from gitplacer.scheduler.filters import (
    disliked_taints,
    ports_conflict,
    prefers,
)
from gitplacer.scheduler.neighbours import (
    Counter,
    Ints,
    Mask,
    Neighbourhood,
    Rules,
    allowed,
    asked_by,
    asked_of,
    may_select,
)
from gitplacer.scheduler.objects import PODS, Namespaces, Node, Pod
from gitplacer.scheduler.site import FAR, Site

ResourceScore = Literal["spread", "pack", "pack devices"]
RESOURCE_SCORES: tuple[ResourceScore, ...] = ("spread", "pack", "pack devices")
"""LeastAllocated, the default; MostAllocated; MostAllocated with devices, which weigh more than cpu and memory."""
DEVICE_WEIGHT = 5
NO_ROOM = -(2**40)
"""Less than any score."""
_UNKNOWN = 2**40
"""Stands for a score that nobody has asked for yet: more than any, so that the highest of some tells whether it is among them."""
_NOWHERE: dict[ResourceScore, int] = dict.fromkeys(RESOURCE_SCORES, NO_ROOM)


class Sort(Struct, frozen=True):
    """
    Nodes that are the same to every class but for topology: what is free and what is offered (a number per column), what scores count as used
    and as there (cpu, memory), which classes they admit, and which of these find a port taken.
    """

    free: tuple[int, ...]
    offered: tuple[int, ...]
    capacity: tuple[int, int]
    used: tuple[int, int]
    scored: tuple[int, int]
    admits: tuple[bool, ...]


class Board:
    """
    See the module. `classes[class_of[i]]` is pod i of the gang; rows of `admitted` are classes, columns nodes. `names` is what to call each pod, if not by
    its own name; a class is called by its first.
    """

    def __init__(self, site: Site, gang: Sequence[Pod], names: Sequence[str] = ()) -> None:
        self.site = site
        self.nodes: tuple[Node, ...] = site.nodes
        self.gang = tuple(gang)
        self.classes, self.class_of = _classes(
            self.gang, [*(pod for pod, _ in site.running), *(pod for _, pod in site.held)], site.namespaces
        )
        called = dict(zip(reversed(self.class_of), reversed(names or [pod.name for pod in self.gang]), strict=True))
        self.names: tuple[str, ...] = tuple(called[k] for k in range(len(self.classes)))
        self.counts: tuple[int, ...] = tuple(count for _, count in sorted(Tally(self.class_of).items()))
        self.columns: tuple[str, ...] = (PODS, *sorted({name for pod in self.classes for name in pod.requests}))
        self.asks: tuple[tuple[int, ...], ...] = tuple(
            (1, *(min(pod.requests.get(name, 0), FAR) for name in self.columns[1:])) for pod in self.classes
        )
        self.neighbourhood = Neighbourhood(site.topology, site.running, self.classes, site.namespaces, site.counted)
        self.counters: list[Counter] = self.neighbourhood.counters
        self.rules: tuple[Rules, ...] = self.neighbourhood.rules
        self.adds = tuple(self.neighbourhood.adds(k) for k in range(len(self.classes)))
        self.keyed = tuple(self.neighbourhood.keys_needed(pod) for pod in self.classes)
        self.taken = self._taken_ports()
        self.admitted: Mask = self._admitted()
        self.clash = tuple(
            tuple(ports_conflict(mine.ports, other.ports) for other in self.classes) for mine in self.classes
        )
        self.dislikes = tuple(self._scores(pod, disliked_taints, site.softly_tainted) for pod in self.classes)
        self.likes = tuple(self._scores(pod, prefers, bool(pod.preferred_nodes)) for pod in self.classes)
        self.free_on: Ints = site.table(site.free, self.columns)
        """What is free on each node (row) of each column."""
        self.offered_on: Ints = site.table(site.offered, self.columns)
        """What it offers."""
        self.start: Ints
        """The load that each node starts with; `_examples` has of each a node that does."""
        self._examples, self.start = self._alike()
        self.static: tuple[bool, ...] = tuple(rules.is_static for rules in self.rules)
        """Of each class, whether nothing but a node itself decides whether it takes a pod of it."""
        self.loads_are_all: bool = all(
            static and not (rules.preferred or rules.soft)
            for static, rules in zip(self.static, self.rules, strict=True)
        ) and not any(row is not None for row in (*self.likes, *self.dislikes))
        """Whether filters and scores see nothing of a node but its load, so that nodes of one load are alike."""

    # -- how it is made -------------------------------------------------------------------------------------------

    def _taken_ports(self) -> tuple[Mask, ...]:
        """For each class, the nodes on which something that runs has one of its ports."""
        found = []
        for pod in self.classes:
            mask = np.zeros(len(self.nodes), dtype=np.bool_)
            for node, ports in self.site.ports.items() if pod.ports else ():
                mask[node] = ports_conflict(pod.ports, ports)
            found.append(mask)
        return tuple(found)

    def _admitted(self) -> Mask:
        rows = [
            self.site.admits(pod)
            & self.keyed[k]
            & ~self.taken[k]
            & ~self.neighbourhood.refused[k]
            & ~self.site.kept_off(pod)
            for k, pod in enumerate(self.classes)
        ]
        return np.array(rows, dtype=np.bool_).reshape(len(self.classes), len(self.nodes))

    def _scores(self, pod: Pod, score: Any, matters: bool) -> Ints | None:
        """A score that a node by itself has for a pod; None where it is the same for all."""
        if not matters:
            return None
        found = np.array([score(pod, node) for node in self.nodes], dtype=np.int64)
        return found if found.any() else None

    def _alike(self) -> tuple[Ints, Ints]:
        """A node of each sort, and the sort of each node."""
        admitted = self.admitted.T.astype(np.int64)
        rows = np.concatenate([self.free_on, self.offered_on, self.site.usage[:, None], admitted], axis=1)
        numbers: dict[bytes, int] = {}
        which = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
        return np.unique(which, return_index=True)[1], np.array(which, dtype=np.int64)

    @cached_property
    def places(self) -> Ints:
        """How many pods of each class (row) each node takes if no others come."""
        return _places(self.free_on, self.admitted, self.asks, self.clash)

    @cached_property
    def loads(self) -> Loads:
        """The loads that nodes come to have, those that they start with first. Whoever plays in arrays needs none."""
        nodes, loads = self._examples, Loads(self.classes, self.columns, self.asks, self.clash)
        amounts = (self.site.amounts[node] for node in nodes.tolist())
        tables = (self.free_on[nodes].tolist(), self.offered_on[nodes].tolist(), self.admitted[:, nodes].T.tolist())
        sorts = [
            Sort(tuple(free), tuple(offered), there[:2], there[2:4], there[4:], tuple(admits))
            for free, offered, admits, there in zip(*tables, amounts, strict=True)
        ]
        loads.starting(sorts, self.places[:, nodes])
        return loads

    @cached_property
    def free_in_all(self) -> tuple[int, ...]:
        """What is free on all nodes together, of each column."""
        return tuple(sum(column) for column in np.maximum(self.free_on, 0).T.tolist())

    # -- what it says ---------------------------------------------------------------------------------------------

    @property
    def orderless(self) -> bool:
        """Whether pods that may be there together may have come in any order."""
        return not any(rules.needs_order for rules in self.rules)

    def bound(self) -> Bound:
        """The board with none of the gang bound."""
        return Bound(self)

    def never_crowded(self, may_wait: frozenset[int] = frozenset()) -> bool:
        """Whether it is proved that no order and no choice leaves a pod out, of classes other than those that may wait."""
        musts = [k for k in range(len(self.classes)) if k not in may_wait]
        if not all(self.static[k] for k in musts):
            return False
        sure = certain(self.places, np.array(self.asks), np.array(self.counts), self.free_on, np.array(self.clash))
        return bool(sure[musts].all())

    def free(self, node: int) -> Resources:
        """What is free on a node, of the resources that the gang asks for."""
        row = self.free_on[node].tolist()
        return Resources({name: max(0, amount) for name, amount in zip(self.columns, row, strict=True)})


class Loads:
    """
    Every load that was met, by number, with what it says to each class: whether there is room for one more pod and how many
    there would be room for if no others came, and the scores that rest on resources. Most scores are never asked for, so each is
    worked out when it is.
    """

    def __init__(
        self,
        classes: Sequence[Pod],
        columns: Sequence[str],
        asks: Sequence[Sequence[int]],
        clash: Sequence[Sequence[bool]],
    ) -> None:
        self._devices = tuple("/" in name for name in columns)
        self._asks = asks
        self._adds = tuple(
            (pod.requests.get("cpu", 0), pod.requests.get("memory", 0), pod.scored_cpu, pod.scored_memory)
            for pod in classes
        )
        self._asked = tuple(tuple((c, amount) for c, amount in enumerate(ask) if amount > 0) for ask in asks)
        self._clash = clash
        self._tight = tuple(any(row) for row in clash)
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        """By the load that a node started with, and the pods that have come since."""
        self._sorts: tuple[Sort, ...] = ()
        """Of the loads that nodes start with; each of the others `began` as one of these."""
        self._began: list[int] = []
        self._on: list[tuple[int, ...]] = []
        self._free: list[tuple[int, ...]] = []
        self._used: list[tuple[int, ...]] = []
        """What is used of cpu and memory on each load, and then what scores count as used of both; `_adds` is that of one pod more."""
        self._next: list[list[int]] = []
        size = 256
        self.room: Ints = np.zeros((len(classes), size), dtype=np.int64)
        """How many pods of a class (row) a load (column) takes if no others come."""
        self._scores: dict[ResourceScore, Ints] = {
            name: np.full((len(classes), size), _UNKNOWN, dtype=np.int64) for name in RESOURCE_SCORES
        }

    def __len__(self) -> int:
        return len(self._on)

    def starting(self, sorts: Sequence[Sort], room: Ints) -> None:
        """Number the loads of different sorts of nodes with nothing of the gang on them, which have such `room`, before there are others."""
        self._sorts, nothing = tuple(sorts), (0,) * len(self._asks)
        for number, sort in enumerate(sorts):
            self._add(number, nothing, sort.free, (*sort.used, *sort.scored))
        self.room[:, : len(sorts)] = room

    def free(self, load: int) -> tuple[int, ...]:
        return self._free[load]

    def after(self, load: int, k: int) -> int:
        """The load with one more pod of class k, whether or not there is room."""
        known = self._next[load][k]
        if known < 0:
            on, began = self._on[load], self._began[load]
            more = (*on[:k], on[k] + 1, *on[k + 1 :])
            number = self._numbers.get((began, more))
            if number is None:
                free = tuple(have - ask for have, ask in zip(self._free[load], self._asks[k], strict=True))
                used = tuple(have + add for have, add in zip(self._used[load], self._adds[k], strict=True))
                number = self._numbers[began, more] = self._add(began, more, free, used)
                self.room[:, number] = [self._room(self._sorts[began], more, free, j) for j in range(len(self._asks))]
            known = self._next[load][k] = number
        return known

    def _add(self, began: int, on: tuple[int, ...], free: tuple[int, ...], used: tuple[int, ...]) -> int:
        """The number of a load that is new; somebody else sees to it how many pods it takes."""
        number = len(self)
        self._began.append(began)
        self._on.append(on)
        self._free.append(free)
        self._used.append(used)
        self._next.append([-1] * len(self._asks))
        while number >= self.room.shape[1]:
            self.room = _doubled(self.room, 0)
            self._scores = {name: _doubled(table, _UNKNOWN) for name, table in self._scores.items()}
        return number

    def scored(self, score: ResourceScore, k: int, loads: Ints) -> Ints:
        """What resources are worth by a score to a pod of class k on each of some loads; NO_ROOM where it has none."""
        found: Ints = self._scores[score][k].take(loads)
        if np.maximum.reduce(found, initial=NO_ROOM) == _UNKNOWN:
            self._score(k, loads[found == _UNKNOWN].tolist())
            found = self._scores[score][k].take(loads)
        return found

    def scores(self, score: ResourceScore, k: int, loads: Ints) -> list[int]:
        """The same as a list, which is faster where there are few."""
        found: list[int] = self._scores[score][k].take(loads).tolist()
        if _UNKNOWN in found:
            self._score(k, (load for load, worth in zip(loads.tolist(), found, strict=True) if worth == _UNKNOWN))
            found = self._scores[score][k].take(loads).tolist()
        return found

    def _score(self, k: int, loads: Iterable[int]) -> None:
        for load in set(loads):
            found = self._resource_scores(load, k) if self.room[k, load] else _NOWHERE
            for name, each in found.items():
                self._scores[name][k, load] = each

    def _room(self, sort: Sort, on: tuple[int, ...], free: tuple[int, ...], k: int) -> int:
        """
        NodeResourcesFit and NodePorts: a slot for the pod, and room for each resource that it asks more than none of.
        Source: kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go (fitsRequest).
        """
        if not sort.admits[k]:
            return 0
        if self._tight[k]:
            clash = self._clash[k]
            if any(count and clash[j] for j, count in enumerate(on)):
                return 0
        room = min([free[c] // amount for c, amount in self._asked[k]])
        if room <= 0:
            return 0
        return 1 if self._tight[k] and self._clash[k][k] else room

    def _resource_scores(self, load: int, k: int) -> dict[ResourceScore, int]:
        """
        What NodeResourcesFit scores, by strategy, plus NodeResourcesBalancedAllocation, once a pod of class k is there too.
        A device counts only for pods that ask for it.
        Source: kubernetes pkg/scheduler/framework/plugins/noderesources (least_allocated.go, most_allocated.go,
        balanced_allocation.go, resource_allocation.go).
        """
        sort, adds = self._sorts[self._began[load]], self._adds[k]
        now = [have + add for have, add in zip(self._used[load], adds, strict=True)]
        least = most = weights = 0
        fractions = []
        for capacity, real, weighed in zip(sort.capacity, now[:2], now[2:], strict=True):
            if capacity:
                weights += 1
                least += 0 if weighed > capacity else (capacity - weighed) * 100 // capacity
                most += min(weighed, capacity) * 100 // capacity
                fractions.append(min(1.0, real / capacity))
        devices, of_devices = most, weights
        for c, amount in self._asked[k]:
            if self._devices[c] and sort.offered[c]:
                taken = sort.offered[c] - self._free[load][c] + amount
                devices += DEVICE_WEIGHT * (min(taken, sort.offered[c]) * 100 // sort.offered[c])
                of_devices += DEVICE_WEIGHT
        deviation = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
        asks = adds[0] or adds[1]
        balanced = int((1 - deviation) * 100) if asks else 0  # for a pod that asks for neither it is left out
        return {
            "spread": least // max(1, weights) + balanced,
            "pack": most // max(1, weights) + balanced,
            "pack devices": devices // max(1, of_devices) + balanced,
        }


def _places(free: Ints, admits: Mask, asks: Sequence[Sequence[int]], clash: Sequence[Sequence[bool]]) -> Ints:
    """As `Loads._room` says it of nodes with nothing of the gang on them, a class in each row: of so much free (a node in each row), if they are admitted."""
    found = np.zeros(admits.shape, dtype=np.int64)
    for k, ask in enumerate(asks):
        room = np.min([free[:, c] // amount for c, amount in enumerate(ask) if amount > 0], axis=0)
        found[k] = np.where(admits[k], np.clip(room, 0, 1 if clash[k][k] else FAR), 0)
    return found


def _doubled(table: Ints, fill: int) -> Ints:
    return np.concatenate([table, np.full_like(table, fill)], axis=1)


class Bound:
    """
    A board with some of the gang bound to nodes: each node's load and each counter's numbers. Pods are bound and unbound in
    any order; the filters are asked with `allows`.
    """

    __slots__ = ("_begun", "board", "counts", "load")

    def __init__(self, board: Board) -> None:
        self.board = board
        self._begun = False
        self.load: Ints = board.start.copy()
        self.counts: list[Ints] = [counter.base.copy() for counter in board.counters]

    def bind(self, k: int, node: int) -> None:
        """Bind one pod of class k."""
        board, self._begun = self.board, True
        self.load[node] = board.loads.after(int(self.load[node]), k)
        self._count(k, node, 1)

    def unbind(self, k: int, node: int, before: int) -> None:
        """Take it away again; `before` is the load that the node had."""
        self.load[node] = before
        self._count(k, node, -1)

    def _count(self, k: int, node: int, sign: int) -> None:
        for i, weight in self.board.adds[k]:
            counter = self.board.counters[i]
            if counter.counted[node]:
                self.counts[i][counter.of[node]] += sign * weight

    def room(self, k: int) -> Ints:
        """How many pods of class k each node has room for, whatever other nodes hold. Do not write to it."""
        if not self._begun:  # so that who only wants to know how it begins does not number all loads
            first: Ints = self.board.places[k]
            return first
        found: Ints = self.board.loads.room[k][self.load]
        return found

    def free(self) -> Ints:
        """What is free on each node (row) of each column. Do not write to it."""
        loads = self.board.loads
        return np.array([loads.free(load) for load in self.load.tolist()]) if self._begun else self.board.free_on

    def allows(self, k: int) -> Mask:
        """The nodes that pass every filter for a pod of class k now."""
        mask: Mask = self.room(k) > 0
        if not self.board.static[k]:
            others = allowed(self.board.rules[k], self.board.counters, self.counts)
            if others is not None:
                mask &= others
        return mask


def _bare(pod: Pod) -> Pod:
    """A pod without what makes no difference; many have none of it."""
    where = pod.namespace if pod.spread else ""
    if not pod.name and pod.namespace == where and not pod.labels and not pod.claims:
        return pod
    return replace(pod, name="", namespace=where, labels=(), claims=())


def _classes(
    gang: Sequence[Pod], living: Sequence[Pod], namespaces: Namespaces
) -> tuple[tuple[Pod, ...], tuple[int, ...]]:
    """
    One pod of each class, and the class of each pod of the gang. Labels and namespace make a difference only where some
    selector sees one.
    """
    asking = (*gang, *(pod for pod in living if pod.pod_affinity or pod.pod_anti_affinity or pod.preferred_pods))
    spreads = {(c.selector, pod.namespace) for pod in gang for c in pod.spread}
    terms = {
        term
        for pod in asking
        for term in (*pod.pod_affinity, *pod.pod_anti_affinity, *(term for _, term in pod.preferred_pods))
    }
    ordered_spreads = sorted(spreads, key=repr)
    ordered_terms = sorted(terms, key=repr)
    unsure = [term for term in ordered_terms if any(varies(value) for value in term.selector.values)]
    numbers: dict[tuple[object, ...], int] = {}
    found: list[Pod] = []
    class_of: list[int] = []
    met: dict[int, int] = {}
    for pod in gang:
        if id(pod) in met:  # many pods of a gang are one object
            class_of.append(met[id(pod)])
            continue
        labels = dict(pod.labels)
        seen = (
            *(pod.namespace == where and selector.matches(labels) for selector, where in ordered_spreads),
            *(asked_by(term, pod, namespaces) for term in ordered_terms),
            *(asked_of(term, pod, namespaces) for term in ordered_terms),
            *(may_select(term, pod) for term in unsure),
        )
        key = (_bare(pod), seen)
        if key not in numbers:
            numbers[key] = len(found)
            found.append(pod)
        met[id(pod)] = numbers[key]
        class_of.append(numbers[key])
    return tuple(found), tuple(class_of)

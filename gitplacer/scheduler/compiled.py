"""
Runs of the scheduler in machine code: what `simulation.simulate` says, of the scores that kube-scheduler has.

Thousands of runs are played for gangs that crowd a cluster, and nearly all of a run is arithmetic on a few integers for each node. Numba
(`gitplacer[fast]`) compiles it; where it is not installed, or where little is played, the plain version does the same. The two are
held equal by a law (tests/test_compiled.py), so that nobody can tell from a plan which of them it was.

Room and scores of a class on a node are worked out when they are first asked for, and again after a pod was bound there; those of
nodes as they are at the beginning are kept for the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from gitplacer.scheduler.board import DEVICE_WEIGHT, RESOURCE_SCORES, Board
from gitplacer.scheduler.compiledneighbours import allowed, count_pod, near_of
from gitplacer.scheduler.compiledscores import besides, tastes_of
from gitplacer.scheduler.machinecode import compiled
from gitplacer.scheduler.simulation import ALL_NODES, Profile, Run, Ties, looked_at
from gitplacer.scheduler.site import EXACT

_TIES: tuple[Ties, ...] = ("first", "last", "drawn", "harm")
_UNKNOWN = -1

Array = np.ndarray[Any, Any]


class Machine:
    """One board, laid out in arrays. `made_for` says for which boards there is one."""

    def __init__(self, board: Board) -> None:
        assert board.site.small_amounts is not None
        self._start, self._free, self._offered = board.start, board.free_on, board.offered_on
        self._amounts = board.site.small_amounts
        self._admits = np.ascontiguousarray(board.admitted)
        self._asks = _ints(board.asks)
        self._adds = _ints(
            [
                (pod.requests.get("cpu", 0), pod.requests.get("memory", 0), pod.scored_cpu, pod.scored_memory)
                for pod in board.classes
            ]
        )
        self._clash = np.array(board.clash, dtype=np.bool_)
        self._devices = np.array(["/" in name for name in board.columns])
        self._looked_at = looked_at(len(board.nodes))
        self._alike = board.loads_are_all
        self._near, self._tastes = near_of(board), tastes_of(board)
        self._orderless = board.orderless
        self._room = np.full(self._admits.shape, _UNKNOWN, dtype=np.int64)
        self._worth = np.full((len(RESOURCE_SCORES), *self._admits.shape), _UNKNOWN, dtype=np.int64)
        """What was found out of nodes with nothing bound, by each score: most runs ask it again."""

    @staticmethod
    def made_for(board: Board) -> bool:
        """Whether all its amounts are numbers that floats hold as they are."""
        of_nodes = board.site.small_amounts
        if of_nodes is None or not len(board.nodes):
            return False
        most = max(int(np.abs(table).max(initial=0)) for table in (board.free_on, board.offered_on, of_nodes))
        asked = (
            a
            for pod, row in zip(board.classes, board.asks, strict=True)
            for a in (*row, pod.scored_cpu, pod.scored_memory)
        )
        return most + len(board.gang) * max(asked) < EXACT

    def run(
        self, order: Sequence[int], profile: Profile, *, whole: bool = True, may_wait: frozenset[int] = frozenset()
    ) -> Run:
        """As `simulate`, of the scores that kube-scheduler has."""
        classes = np.array(order, dtype=np.int64)
        waits = np.zeros(len(self._asks), dtype=np.bool_)
        waits[list(may_wait)] = True
        score = RESOURCE_SCORES.index(profile.score)
        pods, nodes, left, by_luck = _run(
            self._start, self._free.copy(), self._offered, self._amounts.copy(), self._admits, self._asks, self._adds,
            self._clash, self._devices, classes, waits, whole and self._orderless, self._looked_at,
            score, _TIES.index(profile.ties), profile.seed, profile.late, self._room, self._worth[score], self._alike,
            self._near._replace(counts=self._near.counts.copy()), self._tastes,
        )  # fmt: skip
        bound = tuple((order[i], node) for i, node in zip(pods.tolist(), nodes.tolist(), strict=True))
        return Run(bound, tuple(order[i] for i in left.tolist() if order[i] not in may_wait), by_luck)


def _ints(rows: Sequence[Sequence[int]]) -> Array:
    return np.array(rows, dtype=np.int64)


# what is compiled: plain loops over integers, with no object of ours in them

_compiled = numba.njit


@compiled
def _run(
    start, free, offered, amounts, admits, asks, adds, clash, devices, order, waits, final, looked_at, score, ties, seed, late,
    first_room, first_worth, alike, near, tastes,
):  # fmt: skip
    """
    Bind pods in order, and those that find no node again after the others, as long as any does; if it is `final` that one finds none, the run ends there, unless it
    may wait. So many of the last nodes are `late`: they come when no pod finds another. Returns which pods were bound, in turn, and to which nodes, those that were left out, and whether luck decided; `free`,
    `amounts` and the counts of `near` are written to. `first_room` and `first_worth` are what is known of nodes with nothing bound, by this score; more is added.
    `alike`: nodes of one load are.
    """
    nodes, classes = len(start), len(asks)
    on = np.zeros((nodes, classes), dtype=np.int64)
    touched = np.zeros(nodes, dtype=np.bool_)
    room, worth = first_room.copy(), first_worth.copy()
    remaining = np.zeros(classes, dtype=np.int64)
    for k in order:
        remaining[k] += 1
    feasible = np.empty(nodes, dtype=np.int64)
    lets, more = np.ones(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.int64)
    drawn, begin = _sown(seed), 0
    if nodes > ALL_NODES and seed:
        drawn = _next(drawn)
        begin = _share(drawn, nodes)
    by_luck = nodes >= ALL_NODES
    pods, went = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    pending, bound = np.arange(len(order)), 0
    while len(pending):
        waiting = 0
        for i in pending:
            k = order[i]
            allowed(k, near, lets)
            count = 0
            for n in range(nodes - late):
                if room[k, n] == _UNKNOWN:
                    room[k, n] = _room(n, k, -1, free, admits, asks, clash, on)
                    if not touched[n]:
                        first_room[k, n] = room[k, n]
                if room[k, n] > 0 and lets[n]:
                    feasible[count] = n
                    count += 1
            if count == 0:
                if not final or late > 0:
                    pending[waiting] = i
                    waiting += 1
                elif not waits[k]:
                    return pods[:bound], went[:bound], np.array([i]), by_luck
                continue
            if count > looked_at:
                begin = _window(feasible, count, looked_at, begin) % nodes
                count = looked_at
            besides(k, near, tastes, feasible, count, more)
            highest = _UNKNOWN
            for f in range(count):
                n = feasible[f]
                if worth[k, n] == _UNKNOWN:
                    worth[k, n] = _worth(n, k, score, free, offered, amounts, asks, adds, devices)
                    if not touched[n]:
                        first_worth[k, n] = worth[k, n]
                highest = max(highest, worth[k, n] + more[f])
            best = 0
            for f in range(count):  # those of the highest score, at the beginning of `feasible`
                if worth[k, feasible[f]] + more[f] == highest:
                    feasible[best] = feasible[f]
                    best += 1
            chosen = 0
            if best > 1:
                if not by_luck:
                    by_luck = not alike or _differ(feasible, best, start, on)
                if ties == 1:
                    chosen = best - 1
                elif ties == 2:
                    drawn = _next(drawn)
                    chosen = _share(drawn, best)
                elif ties == 3:
                    chosen = _most_harmful(feasible, best, k, remaining, room, start, free, admits, asks, clash, on)
            n = feasible[chosen]
            for c in range(asks.shape[1]):
                free[n, c] -= asks[k, c]
            for a in range(4):
                amounts[n, 2 + a] += adds[k, a]
            count_pod(k, n, near)
            on[n, k] += 1
            touched[n] = True
            remaining[k] -= 1
            room[:, n] = _UNKNOWN
            worth[:, n] = _UNKNOWN
            pods[bound], went[bound] = i, n
            bound += 1
        if waiting == len(pending):
            if late == 0:
                break
            late = 0
        pending = pending[:waiting].copy()
    return pods[:bound], went[:bound], pending, by_luck


@_compiled
def _sown(seed):
    mixed = seed * 2654435761 % 2**32
    mixed = (mixed ^ (mixed >> 16)) * 73244475 % 2**32
    return mixed ^ (mixed >> 16)


@_compiled
def _next(drawn):
    return (drawn * 1664525 + 1013904223) % 2**32


@_compiled
def _share(drawn, below):
    return (drawn >> 8) * below >> 24


@_compiled
def _window(feasible, count, wanted, begin):
    """Keep so many feasible nodes from a node on, around the end if need be, in order; says where the next search begins."""
    first = 0
    while first < count and feasible[first] < begin:
        first += 1
    last = feasible[(first + wanted - 1) % count]
    tail = min(count - first, wanted)
    head = wanted - tail
    for f in range(tail):
        feasible[head + f] = feasible[first + f]
    return last + 1


@_compiled
def _room(n, k, more, free, admits, asks, clash, on):
    """How many pods of class k a node takes, after one more of class `more` unless that is negative."""
    if not admits[k, n]:
        return 0
    for j in range(len(asks)):
        if clash[k, j] and (on[n, j] > 0 or j == more):
            return 0
    room = EXACT
    for c in range(asks.shape[1]):
        if asks[k, c] > 0:
            have = free[n, c] - (asks[more, c] if more >= 0 else 0)
            room = min(room, have // asks[k, c])
    if room <= 0:
        return 0
    return 1 if clash[k, k] else room


@_compiled
def _worth(n, k, score, free, offered, amounts, asks, adds, devices):
    """What resources are worth to a pod of class k on a node that has room for it, by one of `RESOURCE_SCORES`."""
    least, most, weights, deviation = 0, 0, 0, 0.0
    for r in range(2):
        capacity, real, weighed = amounts[n, r], amounts[n, 2 + r] + adds[k, r], amounts[n, 4 + r] + adds[k, 2 + r]
        if capacity:
            weights += 1
            least += 0 if weighed > capacity else (capacity - weighed) * 100 // capacity
            most += min(weighed, capacity) * 100 // capacity
            deviation = min(1.0, real / capacity) - deviation
    deviation = abs(deviation / 2) if weights == 2 else 0.0
    balanced = int((1 - deviation) * 100) if adds[k, 0] or adds[k, 1] else 0
    if score == 0:
        return least // max(1, weights) + balanced
    if score == 2:
        for c in range(asks.shape[1]):
            if devices[c] and asks[k, c] > 0 and offered[n, c]:
                taken = offered[n, c] - free[n, c] + asks[k, c]
                most += DEVICE_WEIGHT * (min(taken, offered[n, c]) * 100 // offered[n, c])
                weights += DEVICE_WEIGHT
    return most // max(1, weights) + balanced


@_compiled
def _same_load(a, b, start, on):
    if start[a] != start[b]:
        return False
    for k in range(on.shape[1]):  # noqa: SIM110 - `all` of a generator cannot be compiled
        if on[a, k] != on[b, k]:
            return False
    return True


@_compiled
def _differ(some, count, start, on):
    for i in range(1, count):  # noqa: SIM110
        if not _same_load(some[0], some[i], start, on):
            return True
    return False


@_compiled
def _most_harmful(best, count, k, remaining, room, start, free, admits, asks, clash, on):
    """Of some nodes the first where the pods still to come lose the largest share of their room."""
    classes, nodes = room.shape
    weight = np.zeros(classes)
    for j in range(classes):
        if remaining[j] and j != k:
            there = 0
            for n in range(nodes):
                if room[j, n] == _UNKNOWN:
                    room[j, n] = _room(n, j, -1, free, admits, asks, clash, on)
                there += room[j, n]
            weight[j] = 1 / (1 + max(0, there - remaining[j]))
    worst, most, harm = 0, -1.0, 0.0
    for i in range(count):
        n = best[i]
        if i == 0 or not _same_load(n, best[i - 1], start, on):
            harm = 0.0
            for j in range(classes):
                if remaining[j] and j != k:
                    harm += weight[j] * (room[j, n] - _room(n, j, k, free, admits, asks, clash, on))
        if harm > most:
            worst, most = i, harm
    return worst

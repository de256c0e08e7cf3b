"""
What kube-scheduler would do: pods one after the other, each to a node of the highest score, none ever moved again.

Given are an order of pods and a profile: which scores count, and who wins a tie. kube-scheduler breaks ties by chance; here a
tie goes to the first or last node, to a number drawn from a seed, or to the node where it does most harm to the pods that
are still to come, so that a run can be repeated. A pod that finds no node waits, and is tried again after the others, as a
pod that a scheduling event wakes up.
Source: kubernetes 1.34 pkg/scheduler (schedule_one.go: prioritizeNodes, selectHost), the default plugins and their weights in
pkg/scheduler/apis/config/v1/default_plugins.go. ImageLocality is left out: nobody knows which images nodes have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from gitplacer.scheduler.board import NO_ROOM, RESOURCE_SCORES, Board, Bound, ResourceScore
from gitplacer.scheduler.neighbours import Indexes, Ints, Mask

Ties = Literal["first", "last", "drawn", "harm"]
Score = Literal["spread", "pack", "pack devices", "first", "fullest", "emptiest", "gentle"]

TAINTS, NODE_AFFINITY, SPREAD, POD_AFFINITY = 3, 2, 2, 2
"""Weights of the default plugins; those that score resources have 1."""

ALL_NODES = 100
"""Below this many feasible nodes the scheduler looks at all of them (minFeasibleNodesToFind)."""


class Profile(Struct, frozen=True):
    """
    How nodes are chosen: `score` is `spread` (LeastAllocated, the default), `pack` (MostAllocated) or `pack devices` (the same
    with a weight of 5 for devices), each with the other default plugins; or a heuristic. Ties go by `ties`, drawn with `seed`, which is also where the search for feasible nodes begins on large clusters.
    So many of the last nodes are `late`: they come for pods that have found no other.
    """

    score: Score = "spread"
    ties: Ties = "first"
    seed: int = 0
    late: int = 0

    def __str__(self) -> str:
        scores = {
            "spread": "LeastAllocated",
            "pack": "MostAllocated",
            "pack devices": "MostAllocated (devices weigh more)",
        }
        return scores.get(self.score, self.score)


class Run(Struct, frozen=True):
    """
    Where pods went, as (class, node) in the order in which they were bound, and the classes of those left out. `by_luck`: a tie
    was broken between nodes that are not alike, so that the same order and score with other ties may end otherwise.
    """

    bound: tuple[tuple[int, int], ...]
    left: tuple[int, ...]
    by_luck: bool


def simulate(
    board: Board,
    order: Sequence[int],
    profile: Profile,
    *,
    whole: bool = True,
    may_wait: frozenset[int] = frozenset(),
) -> Run:
    """
    Place a pod of each class in `order`, in that order. `whole`: stop as soon as it is known that not all will be placed;
    then `left` is the class of the pod that was not. Pods of classes that `may_wait` take places like any other, and are
    not in `left`.
    """
    state = board.bound()
    chooser = Chooser(board, state, profile, order)
    bound: list[tuple[int, int]] = []
    pending = list(order)
    while pending:
        waiting = []
        final = board.orderless and whole and not chooser.late
        for k in pending:
            node = chooser.choose(k)
            if node is None:
                if final and k not in may_wait:
                    return Run(tuple(bound), (k,), chooser.by_luck)
                if not final:
                    waiting.append(k)
                continue
            state.bind(k, node)
            chooser.remaining[k] -= 1
            bound.append((k, node))
        if len(waiting) == len(pending) and chooser.late:
            chooser.late = 0
        elif len(waiting) == len(pending):
            return Run(tuple(bound), tuple(k for k in waiting if k not in may_wait), chooser.by_luck)
        pending = waiting
    return Run(tuple(bound), (), chooser.by_luck)


def harms(board: Board, state: Bound, k: int, remaining: Sequence[int], loads: Iterable[int]) -> dict[int, float]:
    """
    For each load, what a pod of class k there would do to the pods of other classes that are still to come: the places that
    each loses, weighed by how few it has to spare.
    """
    others = [j for j, wanted in enumerate(remaining) if wanted and j != k]
    before = list(loads)
    after = [board.loads.after(load, k) for load in before]
    room = board.loads.room
    there = room[:, state.load].sum(axis=1).tolist()
    weights = [1 / (1 + max(0, there[j] - remaining[j])) for j in others]
    lost = (room[:, before] - room[:, after])[others].T.tolist()
    return {load: _weighed(weights, row) for load, row in zip(before, lost, strict=True)}


def _weighed(weights: Sequence[float], places: Sequence[int]) -> float:
    """The sum of places, added up one by one: `sum` does it in another way in later versions of Python, and rounds otherwise."""
    total = 0.0
    for weight, each in zip(weights, places, strict=True):
        total += weight * each
    return total


def looked_at(nodes: int) -> int:
    """
    After how many feasible nodes the scheduler stops looking on a cluster of so many nodes (numFeasibleNodesToFind: 50 % less 1 %
    for each 125 nodes, at least 5 % and 100 nodes).
    """
    return nodes if nodes < ALL_NODES else max(ALL_NODES, nodes * max(5, 50 - nodes // 125) // 100)


def sown(seed: int) -> int:
    """
    Where the numbers drawn from a seed begin. The generator is linear: without the high bits mixed in, the first numbers of neighbouring seeds would be
    much the same, and ten draws one.
    """
    mixed = seed * 2654435761 % 2**32
    mixed = (mixed ^ (mixed >> 16)) * 73244475 % 2**32
    return mixed ^ (mixed >> 16)


class Chooser:
    """
    Picks nodes for one run; `remaining` are the pods of each class that are still to come, this one included. `late` are so many of the
    last nodes that are not there yet. `by_luck` is as in `Run`: nodes of one load are alike where nothing but loads counts, and then it is all the same which of them a pod gets.
    """

    def __init__(self, board: Board, state: Bound, profile: Profile, order: Sequence[int]) -> None:
        self._board = board
        self._state = state
        self._profile = profile
        self.late = profile.late
        self._drawn = sown(profile.seed)
        self._from = self._draw(len(board.nodes)) if len(board.nodes) > ALL_NODES and profile.seed else 0
        self.remaining = [0] * len(board.classes)
        for k in order:
            self.remaining[k] += 1
        plain = board.loads_are_all and len(board.nodes) < ALL_NODES
        self._only_loads = next((score for score in RESOURCE_SCORES if plain and score == profile.score), None)
        self.by_luck = len(board.nodes) >= ALL_NODES  # where the search for nodes begins is drawn too

    def choose(self, k: int) -> int | None:
        """The node for the next pod of class k, None if no node passes its filters."""
        if self._only_loads is not None:
            return self._choose_by_load(self._only_loads, k)
        feasible = self._state.allows(k).nonzero()[0]
        if self.late:
            feasible = feasible[feasible < len(self._board.nodes) - self.late]
        if len(feasible) == 0:
            return None
        if len(feasible) == 1:
            return int(feasible[0])
        feasible = self._looked_at(feasible)
        best = self.best(k, feasible)
        return int(best[0]) if len(best) == 1 else self._by_luck(k, best)

    def _choose_by_load(self, score: ResourceScore, k: int) -> int | None:
        """The same where loads are all that counts: one look at the resources of each node tells filters and scores."""
        worth = self._board.loads.scores(score, k, self._state.load)
        if self.late:
            worth = worth[: max(0, len(worth) - self.late)]
        highest = max(worth, default=NO_ROOM)
        if highest == NO_ROOM:
            return None
        if worth.count(highest) == 1:
            return worth.index(highest)
        return self._by_luck(k, np.array([node for node, each in enumerate(worth) if each == highest]))

    def _by_luck(self, k: int, best: Indexes) -> int:
        """One of several nodes of the highest score."""
        if not self.by_luck:
            loads = self._state.load[best]
            self.by_luck = not self._board.loads_are_all or bool((loads != loads[0]).any())
        return int(best[self._pick(k, best)])

    def _looked_at(self, feasible: Indexes) -> Indexes:
        """On large clusters the scheduler stops looking when it has found enough nodes, and goes on from there for the next pod."""
        number = len(self._board.nodes)
        wanted = looked_at(number)
        if len(feasible) <= wanted:
            return feasible
        begin = int(np.searchsorted(feasible, self._from))
        found = np.concatenate([feasible[begin:], feasible[:begin]])[:wanted]
        self._from = (int(found[-1]) + 1) % number
        found.sort()
        return found

    def best(self, k: int, feasible: Indexes) -> Indexes:
        """Of the nodes that pass the filters, those of the highest score: one of them it will be."""
        loads = self._state.load[feasible]
        table = self._board.loads
        scores: np.ndarray[Any, Any]
        match self._profile.score:
            case "spread" | "pack" | "pack devices" as score:
                scores = table.scored(score, k, loads) + self._other_scores(k, feasible)
            case "first":
                return feasible[:1]
            case "fullest":
                scores = -table.room[k][loads]
            case "emptiest":
                scores = table.room[k][loads]
            case "gentle":
                harm = harms(self._board, self._state, k, self.remaining, set(loads.tolist()))
                scores = np.array([-harm[load] for load in loads.tolist()])
        best: Indexes = feasible[scores == np.maximum.reduce(scores)]
        return best

    def _pick(self, k: int, best: Indexes) -> int:
        match self._profile.ties:
            case "first":
                return 0
            case "last":
                return len(best) - 1
            case "drawn":
                return self._draw(len(best))
        return self._most_harmful(k, best)

    def _most_harmful(self, k: int, best: Indexes) -> int:
        """The node where the pods still to come lose the largest share of their room."""
        loads = self._state.load[best].tolist()
        harm = harms(self._board, self._state, k, self.remaining, set(loads))
        return max(range(len(loads)), key=lambda i: (harm[loads[i]], -i))

    def _draw(self, below: int) -> int:
        """A number from the seed (a linear congruential generator; its high bits)."""
        self._drawn = (self._drawn * 1664525 + 1013904223) % 2**32
        return (self._drawn >> 8) * below >> 24

    # -- scores besides resources ---------------------------------------------------------------------------------

    def _other_scores(self, k: int, feasible: Indexes) -> Ints | int:
        board = self._board
        total: Ints | int = 0
        if (dislikes := board.dislikes[k]) is not None:
            total = total + TAINTS * (100 - _scaled(dislikes[feasible]))
        if (likes := board.likes[k]) is not None:
            total = total + NODE_AFFINITY * _scaled(likes[feasible])
        rules = board.rules[k]
        if rules.soft:
            total = total + SPREAD * self._spread(k, feasible)
        if rules.preferred:
            total = total + POD_AFFINITY * self._preferred(k, feasible)
        return total

    def _spread(self, k: int, feasible: Indexes) -> Ints:
        """PodTopologySpread: fewer pods in the domain are better, a constraint over few domains weighs less."""
        board, rules = self._board, self._board.rules[k]
        assert rules.soft_nodes is not None
        keyed: Mask = rules.soft_nodes[feasible]
        if not keyed.any():
            return np.zeros(len(feasible), dtype=np.int64)
        raw = np.zeros(len(feasible))
        for soft in rules.soft:
            counter = board.counters[soft.counter]
            of = counter.of[feasible]
            size = int(keyed.sum()) if soft.by_node else len(np.unique(of[keyed]))
            raw += self._state.counts[soft.counter][of] * math.log(size + 2) + (soft.max_skew - 1)
        scores = np.floor(raw + 0.5).astype(np.int64)
        highest, lowest = int(scores[keyed].max()), int(scores[keyed].min())
        if highest == 0:
            return np.where(keyed, 100, 0)
        return np.where(keyed, 100 * (highest + lowest - scores) // highest, 0)

    def _preferred(self, k: int, feasible: Indexes) -> Ints:
        """InterPodAffinity: the weights of all preferred terms on a node's domains, from 0 for the lowest to 100."""
        board = self._board
        raw = np.zeros(len(feasible), dtype=np.int64)
        for i in board.rules[k].preferred:
            of = board.counters[i].of[feasible]
            raw += np.where(of >= 0, self._state.counts[i][of], 0)
        low, high = int(raw.min()), int(raw.max())
        if high == low:
            return np.zeros(len(feasible), dtype=np.int64)
        return (100.0 * ((raw - low) / (high - low))).astype(np.int64)


def _scaled(raw: Ints) -> Ints:
    """The largest becomes 100 (DefaultNormalizeScore)."""
    highest = int(raw.max())
    return raw * 100 // highest if highest else raw * 0

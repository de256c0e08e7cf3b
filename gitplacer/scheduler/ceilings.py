"""
How many pods of a class will find places at most, whatever order they come in and wherever they go: the room of nodes, and what rules about other pods
leave of it.

A search that knows no better goes through thousands of states before it gives up: that a zone without room keeps a spread gang out of all others, or that
each pod needs a node of its own, shows at once. Pods are only added, so numbers in domains only grow; from what they may grow to at most follows what is
never allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gitplacer.scheduler.board import Board, Bound
from gitplacer.scheduler.neighbours import Counter, Ints, SpreadRule


def crowded(board: Board, state: Bound, left: Sequence[int]) -> bool:
    """Whether there are too few places for what is left of some class, if so many pods of each class are; binding more never makes places."""
    rooms = {k: np.minimum(state.room(k), count) for k, count in enumerate(left) if count}
    if any(int(room.sum()) < left[k] for k, room in rooms.items()):
        return True
    ruled = [k for k in rooms if not board.static[k]]
    if any(_places(board, state, left, rooms, k) < left[k] for k in ruled):
        return True
    shared = {i for k in ruled for i in board.rules[k].company}
    return any(not _hold_all(board, i, state, left, rooms) for i in sorted(shared))


def _places(board: Board, state: Bound, left: Sequence[int], rooms: Mapping[int, Ints], k: int) -> int:
    """For how many pods of a class its rules leave places at most."""
    rules, counters = board.rules[k], board.counters
    found = [left[k]]
    for rule in rules.spread:
        found.append(_spread(rule, counters[rule.counter], state.counts[rule.counter], left, rooms, k))
    for i in rules.anti:
        found.append(_apart(counters[i], state.counts[i], rooms, k))
    for i in rules.company:
        found.append(_together(board, i, state.counts[i], left, rooms, k))
    return min(found)


def _spread(
    rule: SpreadRule, counter: Counter, counts: Ints, left: Sequence[int], rooms: Mapping[int, Ints], k: int
) -> int:
    """
    No domain gets more pods than `max_skew` beyond the least that any has, and none of these gets more than there is room for on it. Nodes that take
    a pod of the class are counted: what its affinity or taints keep it off is all that may not be.
    """
    lowest = 0
    if not rule.too_few:
        most = counts.copy()
        for j, room in rooms.items():
            if counter.adds[j]:
                here = _by_domain(counter, np.where(counter.counted, room, 0))
                most += counter.adds[j] * np.minimum(here, left[j])
        lowest = int(most[rule.domains].min())
    may: Ints = np.maximum(lowest + rule.max_skew - rule.itself - counts + 1, 0)
    if not counter.adds[k]:
        return int((_by_domain(counter, rooms[k]) * (may > 0)).sum())
    return int(np.minimum(_by_domain(counter, rooms[k]), may).sum())


def _apart(counter: Counter, counts: Ints, rooms: Mapping[int, Ints], k: int) -> int:
    """In a domain where there is one already there is no place; in others there is one, if pods of the class keep each other off."""
    room = rooms[k]
    outside = int(room[counter.of < 0].sum())
    here = np.where(counts == 0, _by_domain(counter, room), 0)
    return outside + int((np.minimum(here, 1) if counter.adds[k] else here).sum())


def _hold_all(board: Board, i: int, state: Bound, left: Sequence[int], rooms: Mapping[int, Ints]) -> bool:
    """
    Whether some domain may have room for all that is left of the classes that ask for each other's company, or those where somebody is together. They
    share its nodes, of which none takes more pods in all than if each asked the least that any does.
    """
    counter, counts = board.counters[i], state.counts[i]
    minding = [k for k in rooms if i in board.rules[k].company]
    if any(counter.adds[k] for k in rooms if k not in minding):
        return True
    least = np.min([board.asks[k] for k in minding], axis=0)
    asked = np.flatnonzero(least)
    in_all: Ints = (state.free()[:, asked] // least[asked]).min(axis=1)
    in_all = np.minimum(np.maximum(in_all, 0), np.sum([rooms[k] for k in minding], axis=0))
    here, wanted = _by_domain(counter, in_all), sum(left[k] for k in minding)
    if counts.any():
        return int(here[counts > 0].sum()) >= wanted
    able = [here >= wanted, *(_by_domain(counter, rooms[k]) >= left[k] for k in minding)]
    return bool(np.logical_and.reduce(able).any())


def _together(board: Board, i: int, counts: Ints, left: Sequence[int], rooms: Mapping[int, Ints], k: int) -> int:
    """
    Places are where somebody is whom the class asks for. Where nobody else may come who is asked for and minds it not, that is in the domains where one
    is already, or, if none is anywhere, in the one where the first goes.
    """
    counter = board.counters[i]
    if any(counter.adds[j] and i not in board.rules[j].company for j in rooms):
        return left[k]
    here = _by_domain(counter, rooms[k])
    return int(here[counts > 0].sum()) if counts.any() else int(here.max(initial=0))


def _by_domain(counter: Counter, room: Ints) -> Ints:
    """The room of nodes by their domain."""
    inside = counter.of >= 0
    return np.bincount(counter.of[inside], room[inside], len(counter.base)).astype(np.int64)

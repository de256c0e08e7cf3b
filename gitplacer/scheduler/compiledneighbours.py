"""
Rules about other nodes in machine code: what `neighbours.allowed` says, and the score of preferred terms, on the same counters. Held equal by the law of
whole runs (tests/test_compiled.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from gitplacer.scheduler.board import Board
from gitplacer.scheduler.machinecode import compiled
from gitplacer.scheduler.neighbours import Rules

Array = np.ndarray[Any, Any]


class Near(NamedTuple):
    """
    The counters of a board (rows), and the rules of its classes about them. `counts` are pods by domain, which a run writes to; `domains` is that of each node, -1
    where it is in none; a pod of class k adds `adds[k]` where a node is `counted`.

    Of each class some rows, in one array, and where they begin in it: `anti`, where nothing may be; `affinity`, where something has to be, or nothing anywhere if
    it `may_start`; `preferred`, which are added up. Of a spread rule the counter, how much more than the fewest it may be, how
    much a pod adds itself, and whether the fewest count as 0; `fewest_of` are the domains that it is the fewest of.
    """

    counts: Array
    domains: Array
    counted: Array
    adds: Array
    anti: Array
    anti_from: Array
    affinity: Array
    affinity_from: Array
    may_start: Array
    beside: Array
    beside_from: Array
    preferred: Array
    preferred_from: Array
    spread: Array
    spread_from: Array
    fewest_of: Array
    fewest_from: Array


def near_of(board: Board) -> Near:
    """The rules of a board, with nothing of its gang bound."""
    row = rows_of(board)
    counters = [board.counters[i] for i in row]
    counts = np.zeros((len(row), max((len(counter.base) for counter in counters), default=0)), dtype=np.int64)
    for number, counter in enumerate(counters):
        counts[number, : len(counter.base)] = counter.base

    def rows(of: Callable[[Rules], Iterable[int]]) -> tuple[Array, Array]:
        return _stretches([[row[i] for i in of(rules)] for rules in board.rules])

    anti, affinity, preferred = rows(lambda r: r.anti), rows(lambda r: r.affinity), rows(lambda r: r.preferred)
    spread = [each for rules in board.rules for each in rules.spread]
    return Near(
        counts,
        np.array([counter.of for counter in counters], dtype=np.int64).reshape(len(row), len(board.nodes)),
        np.array([counter.counted for counter in counters], dtype=np.bool_).reshape(len(row), len(board.nodes)),
        np.array([counter.adds for counter in counters], dtype=np.int64).reshape(len(row), len(board.classes)).T.copy(),
        *anti,
        *affinity,
        np.array([rules.first_may_start for rules in board.rules], dtype=np.bool_),
        *rows(lambda r: r.beside),
        *preferred,
        np.array([[row[r.counter], r.max_skew, r.itself, r.too_few] for r in spread], dtype=np.int64).reshape(-1, 4),
        starts(len(rules.spread) for rules in board.rules),
        *_stretches([each.domains.tolist() for each in spread]),
    )


def rows_of(board: Board) -> dict[int, int]:
    """The counters of a board that some rule asks, in order, each with its row."""
    return {i: row for row, i in enumerate(sorted({i for rules in board.rules for i in _asked(rules)}))}


def _asked(rules: Rules) -> Iterable[int]:
    spread = (*(each.counter for each in rules.spread), *(each.counter for each in rules.soft))
    return (*rules.anti, *rules.company, *rules.preferred, *spread)


def _stretches(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Some rows one behind the other, and where each begins and the last one ends."""
    return np.array([each for row in rows for each in row], dtype=np.int64), starts(map(len, rows))


def starts(lengths: Iterable[int]) -> Array:
    """Where stretches begin that are so long, one behind the other, and where the last one ends."""
    return np.array([0, *accumulate(lengths)], dtype=np.int64)


@compiled
def allowed(k, near, mask):
    """Write to `mask` on which nodes the rules of a class let a pod of it, apart from labels that nodes lack."""
    nodes = len(mask)
    mask[:] = True
    for r in range(near.spread_from[k], near.spread_from[k + 1]):
        c, most = near.spread[r, 0], near.spread[r, 1] - near.spread[r, 2]
        if not near.spread[r, 3]:
            domains = near.fewest_of[near.fewest_from[r] : near.fewest_from[r + 1]]
            fewest = near.counts[c, domains[0]]
            for d in domains:
                fewest = min(fewest, near.counts[c, d])
            most += fewest
        for n in range(nodes):
            mask[n] &= near.domains[c, n] < 0 or near.counts[c, near.domains[c, n]] <= most
    wanted = near.affinity[near.affinity_from[k] : near.affinity_from[k + 1]]
    if len(wanted):
        somewhere = False
        for c in wanted:
            somewhere |= near.counts[c].any()
        if somewhere:
            for c in wanted:
                for n in range(nodes):
                    mask[n] &= near.domains[c, n] >= 0 and near.counts[c, near.domains[c, n]] > 0
        elif not near.may_start[k]:
            mask[:] = False
    for c in near.beside[near.beside_from[k] : near.beside_from[k + 1]]:
        if near.counts[c].any():
            for n in range(nodes):
                mask[n] &= near.domains[c, n] >= 0 and near.counts[c, near.domains[c, n]] > 0
    for c in near.anti[near.anti_from[k] : near.anti_from[k + 1]]:
        for n in range(nodes):
            mask[n] &= near.domains[c, n] < 0 or near.counts[c, near.domains[c, n]] == 0


@compiled
def prefer(k, near, some, count, found):
    """Write to `found`, for the first of some nodes, what preferred terms are worth to a pod of a class, from 0 for the least to 100."""
    found[:count] = 0
    terms = near.preferred[near.preferred_from[k] : near.preferred_from[k + 1]]
    if not len(terms):
        return
    for c in terms:
        for f in range(count):
            if near.domains[c, some[f]] >= 0:
                found[f] += near.counts[c, near.domains[c, some[f]]]
    low, high = found[:count].min(), found[:count].max()
    for f in range(count):
        found[f] = 0 if high == low else int(100.0 * ((found[f] - low) / (high - low)))


@compiled
def count_pod(k, n, near):
    """A pod of a class is bound to a node."""
    for c in range(len(near.counts)):
        if near.adds[k, c] and near.counted[c, n]:
            near.counts[c, near.domains[c, n]] += near.adds[k, c]

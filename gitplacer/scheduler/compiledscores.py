"""
Scores of nodes besides those that rest on resources, in machine code: what `simulation.Chooser` adds up of taints, node affinity, spreading
and preferred terms. Held equal node by node (tests/test_compiled_scores.py), and by the law of whole runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gitplacer.scheduler.board import Board
from gitplacer.scheduler.compiledneighbours import prefer, rows_of, starts
from gitplacer.scheduler.machinecode import compiled
from gitplacer.scheduler.neighbours import Ints
from gitplacer.scheduler.simulation import NODE_AFFINITY, POD_AFFINITY, SPREAD, TAINTS

Array = np.ndarray[Any, Any]


class Tastes(NamedTuple):
    """
    What classes (rows) think of nodes (columns) as these are, `dislikes` and `likes`, for classes that have some; and how they are to be spread if it can be: of each
    such constraint the counter, its `maxSkew` less 1 and whether each node is a domain by itself, in one array, and where those of a class begin in it, for nodes
    that have all `keyed` labels. `logs` are the logarithms of 2 and more, by whoever plays the plain way, as others may round otherwise.
    """

    dislikes: Array
    has_dislikes: Array
    likes: Array
    has_likes: Array
    soft: Array
    soft_from: Array
    keyed: Array
    logs: Array


def tastes_of(board: Board) -> Tastes:
    """Those of the classes of a board."""
    row, rules, nodes = rows_of(board), board.rules, len(board.nodes)
    soft = [(row[each.counter], each.max_skew - 1, each.by_node) for some in rules for each in some.soft]
    keyed = [np.ones(nodes) if some.soft_nodes is None else some.soft_nodes for some in rules if soft]
    return Tastes(
        *_scores(board.dislikes, nodes),
        *_scores(board.likes, nodes),
        np.array(soft, dtype=np.int64).reshape(-1, 3),
        starts(len(some.soft) for some in rules),
        np.array(keyed, dtype=np.bool_).reshape(-1, nodes),
        np.array([math.log(size + 2) for size in range(nodes + 1 if soft else 0)]),
    )


def _scores(of_each: Sequence[Ints | None], nodes: int) -> tuple[Array, Array]:
    """Scores as rows, with nothing but 0 where there are none, and where there are some."""
    none = np.zeros(nodes, dtype=np.int64)
    rows = np.array([none if row is None else row for row in of_each], dtype=np.int64)
    return rows, np.array([row is not None for row in of_each], dtype=np.bool_)


@compiled
def besides(k, near, tastes, some, count, found):
    """Write to `found` what the first of some nodes are worth to a pod of class k besides their resources."""
    prefer(k, near, some, count, found)
    for f in range(count):
        found[f] *= POD_AFFINITY
    if tastes.has_dislikes[k]:
        for f in range(count):
            found[f] += TAINTS * 100
        _scale(tastes.dislikes[k], -TAINTS, some, count, found)
    if tastes.has_likes[k]:
        _scale(tastes.likes[k], NODE_AFFINITY, some, count, found)
    if tastes.soft_from[k] < tastes.soft_from[k + 1]:
        _spread(k, near, tastes, some, count, found)


@compiled
def _scale(row, weight, some, count, found):
    """Add a score with a weight, of which the largest of these nodes becomes 100."""
    highest = 0
    for f in range(count):
        highest = max(highest, row[some[f]])
    for f in range(count if highest else 0):
        found[f] += weight * (row[some[f]] * 100 // highest)


@compiled
def _spread(k, near, tastes, some, count, found):
    """Add what it is worth that few pods are near a node, of what is counted near it."""
    keyed = 0
    for f in range(count):
        keyed += tastes.keyed[k, some[f]]
    raw = np.zeros(count)
    for r in range(tastes.soft_from[k], tastes.soft_from[k + 1]):
        c, more, by_node = tastes.soft[r, 0], tastes.soft[r, 1], tastes.soft[r, 2]
        weight = tastes.logs[keyed if by_node else _domains(k, near.domains[c], tastes.keyed, some, count)]
        for f in range(count):
            if tastes.keyed[k, some[f]]:
                raw[f] += near.counts[c, near.domains[c, some[f]]] * weight + more
    highest, lowest = -1, -1
    for f in range(count):
        if tastes.keyed[k, some[f]]:
            raw[f] = math.floor(raw[f] + 0.5)
            highest = max(highest, int(raw[f]))
            lowest = int(raw[f]) if lowest < 0 else min(lowest, int(raw[f]))
    for f in range(count):
        if tastes.keyed[k, some[f]]:
            found[f] += SPREAD * (100 * (highest + lowest - int(raw[f])) // highest if highest else 100)


@compiled
def _domains(k, domains, keyed, some, count):
    """In how many domains some nodes are that have all labels."""
    met = np.zeros(len(domains) + 1, dtype=np.bool_)
    number = 0
    for f in range(count):
        n = some[f]
        if keyed[k, n] and not met[domains[n]]:
            met[domains[n]] = True
            number += 1
    return number

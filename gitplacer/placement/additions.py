"""
What autoscalers may add to the clusters of a fleet, as one table: which clusters may come to have room for a gang, without a closer look at any.

A row is a type of machine of one cluster. Types that draw on the same limit are bounded together: their machines take no more pods of a shape than the best
of them takes for what it draws, times what is left. With those that are promised already, and the places that there are, that may be fewer than a gang has
pods of the shape; or all there is and may be added comes to less than the gang asks for. Then it does not fit, whichever machines come.

To look for machines takes milliseconds for each gang and cluster, much longer where pods mind each other, and mostly in vain: most groups wait because no
autoscaler has what they ask for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gitplacer.model.workload import Gang, PodShape, Roster
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodeclasses import NodeClasses
from gitplacer.placement.nodes import Amounts, Columns, Floats, Indexes, Mask
from gitplacer.placement.survey import MOST, Survey
from gitplacer.scheduler.filters import asks_for_a_name
from gitplacer.scheduler.objects import Node as NodeShape

_UNBOUNDED = 2.0**31
"""Machines of a type that no limit bounds."""


class _Bound(NamedTuple):
    """Types of one cluster that a limit bounds together, by what one machine draws on it; '' is the limit of one that nothing bounds."""

    limit: str
    draws: Mapping[str, int]

    def left(self, left: Mapping[str, int]) -> float:
        """How much there is to draw on. Where all draw the same, what is too little for a whole machine does not count."""
        if not self.limit:
            return _UNBOUNDED
        most, amount = left[self.limit], max(self.draws.values())
        return float(most - most % amount if min(self.draws.values()) == amount else most)


def _bounds(ledger: Ledger) -> list[_Bound]:
    """The types that may be added to a cluster, each with the limit that lets fewest of it come now."""
    left, shared, free = ledger.left_to_add(), dict[str, dict[str, int]](), list[_Bound]()
    for key, type_ in ledger.nodes.types.items():
        if type_.draws:
            limit, amount = min(type_.draws, key=lambda draw: (left[draw[0]] // draw[1], draw))
            shared.setdefault(limit, {})[key] = amount
        else:
            free.append(_Bound("", {key: 1}))
    return [*(_Bound(limit, draws) for limit, draws in shared.items()), *free]


class Additions:
    """Clusters are numbered as their ledgers came. Whoever writes to a ledger tells `update`."""

    def __init__(self, ledgers: Sequence[Ledger], columns: Columns) -> None:
        self._columns = columns
        self._bounds = [_bounds(ledger) for ledger in ledgers]
        self._begins: Indexes = _begins(len(bound.draws) for bounds in self._bounds for bound in bounds)
        """The row with which each bound begins."""
        self._starts = _begins(len(bounds) for bounds in self._bounds).tolist()
        """The bound with which each cluster begins."""
        self._cluster_of: Indexes = np.repeat(np.arange(len(ledgers)), np.diff(self._starts))
        self._cluster_of_row: Indexes = np.repeat(self._cluster_of, np.diff(self._begins))
        types = [
            (ledger.nodes, b, key)
            for ledger, bounds in zip(ledgers, self._bounds, strict=True)
            for b in bounds
            for key in b.draws
        ]
        numbers: dict[NodeShape, int] = {}
        shapes = [nodes.shapes[nodes.type_shape[key]] for nodes, _, key in types]
        self._class_of: Indexes = np.array([numbers.setdefault(shape, len(numbers)) for shape in shapes], dtype=np.intp)
        self._classes = NodeClasses(list(numbers))
        rows = np.array([nodes.type_row[key] for nodes, _, key in types], dtype=np.int64)
        self._machines = rows.reshape(len(types), len(columns))
        self._draws: Floats = np.array([bound.draws[key] for _, bound, key in types], dtype=np.float64)
        self._left: Floats = np.zeros(len(self._begins) - 1)
        """By bound, how much there is to draw on."""
        self._promised = np.zeros_like(self._machines)
        """By row, what is free of machines that are promised, in all."""
        self._totals: Floats = np.zeros((len(ledgers), len(columns)))
        self._fits: dict[PodShape, Floats] = {}
        """By shape, how many of its pods one machine of each row takes."""
        for number, ledger in enumerate(ledgers):
            self.update(number, ledger)

    def copy(self) -> Additions:
        """A table that can be updated without touching this one."""
        twin = copy.copy(self)
        twin._left, twin._promised, twin._totals = self._left.copy(), self._promised.copy(), self._totals.copy()
        return twin

    def update(self, number: int, ledger: Ledger) -> None:
        """Take over what may be added to a cluster now, and what is promised of it: nothing where it takes nothing new."""
        bounds, here = self._bounds[number], slice(self._starts[number], self._starts[number + 1])
        if not bounds:
            return
        rows, left, promised = self._rows_of(here), ledger.left_to_add(), ledger.free_of_promised()
        self._left[here] = [0 if ledger.closed else bound.left(left) for bound in bounds]
        self._promised[rows] = [promised[key] for bound in bounds for key in bound.draws]
        most = self._of_best(self._machines[rows].T.astype(np.float64), here)
        self._totals[number] = most.sum(axis=1) + self._promised[rows].sum(axis=0)

    def may_have_room(self, gang: Gang, asked: Indexes, survey: Survey) -> Mask:
        """
        Which of some clusters, by number, may have room for a gang on machines that are there, as a survey says, and such as are added; the others
        surely have none.
        """
        counts = Roster.of(gang).counts
        need = survey.need(counts)
        open_: Mask = np.all((survey.totals[asked] + self._totals[asked] >= need) | (need == 0), axis=1)
        for shape, count in counts.items():
            left = np.flatnonzero(open_)
            if count and len(left) and not asks_for_a_name(shape):  # which no machine has that is yet to come
                open_[left] = survey.places(shape, asked[left]) + self.places(shape)[asked[left]] >= min(count, MOST)
        return open_

    def places(self, shape: PodShape) -> Floats:
        """How many pods of a shape machines take at most that may be added, by number of a cluster. In floats: there may be any number."""
        row, admits = self._columns.asked(shape), self._classes.admits(shape)[self._class_of]
        asked = np.flatnonzero(row)
        if shape not in self._fits:
            self._fits[shape] = _fits(self._machines[:, asked], row[asked], admits)
        added = self._of_best(self._fits[shape], slice(0, len(self._left)))
        promised = _fits(self._promised[:, asked], row[asked], admits)
        of_bounds = np.bincount(self._cluster_of, added, len(self._totals))
        return (of_bounds + np.bincount(self._cluster_of_row, promised, len(self._totals))).astype(np.float64)

    def _of_best(self, of_one: Floats, bounds: slice) -> Floats:
        """By bound, what machines come to at most that may still be added under some, if one of each row comes to so much."""
        rows = self._rows_of(bounds)
        best: Floats = np.maximum.reduceat(of_one / self._draws[rows], self._begins[bounds] - rows.start, axis=-1)
        return best * self._left[bounds]

    def _rows_of(self, bounds: slice) -> slice:
        return slice(int(self._begins[bounds.start]), int(self._begins[bounds.stop]))


def _begins(sizes: Iterable[int]) -> Indexes:
    """Where parts of such sizes begin that stand one after another, and where the last one ends."""
    return np.cumsum([0, *sizes]).astype(np.intp)


def _fits(rows: Amounts, asked: Amounts, admits: Mask) -> Floats:
    """How many pods that ask so much each row has enough for, where it admits them."""
    fits: Floats = np.where(admits, np.maximum(rows // asked, 0).min(axis=1), 0).astype(np.float64)
    return fits

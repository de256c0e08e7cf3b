"""
The pods that may come to a room, shape by shape: what `scheduler.crowding` says of classes, said of shapes of pods.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gitplacer.model.workload import PodShape
from gitplacer.placement.arrivals import Arrivals, Table
from gitplacer.placement.nodes import Indexes
from gitplacer.placement.ownrules import keep_apart
from gitplacer.placement.pack import Room
from gitplacer.scheduler.crowding import Coming, Crowd, Ints

MOST_KNOWN = 32
"""Shapes of pods that are known on a cluster beside twice those that are to come there, before all are forgotten."""


class ShapeCrowd:
    """
    The shapes of pods that were asked about in a room, as classes of a crowd; on all machines, or on those of some `rows`. `own`: as pods with rules come to
    it, of which some keep others of the same shape off their node.
    """

    def __init__(self, room: Room, rows: Indexes | None = None, *, own: bool = False) -> None:
        self._room = room
        self._rows = rows
        self._own = own
        self._numbers: dict[PodShape, int] = {}
        self._shapes: list[PodShape] = []
        self._crowd = Crowd(np.maximum(room.free if rows is None else room.free[rows], 0))
        self._known: tuple[tuple[PodShape, ...], Ints] = (), np.zeros(0, dtype=np.int64)
        """Those of whom was asked last that they come, and their numbers."""

    def __len__(self) -> int:
        return len(self._numbers)

    def _number(self, shape: PodShape) -> int:
        known = self._numbers.get(shape)
        if known is None:
            admitted = self._room.admits(shape)
            admitted = admitted if self._rows is None else admitted[self._rows]
            alone = {"most": 1} if self._own and keep_apart(shape) else {}
            known = self._crowd.admit(admitted, self._room.nodes.columns.asked(shape), **alone)
            self._numbers[shape] = known
            self._shapes.append(shape)
        return known

    def _coming(self, table: Table, lucky: bool) -> Coming:
        known, numbers = self._known
        if known is not table.shapes:
            more = table.shapes[len(known) :] if table.shapes[: len(known)] == known else table.shapes
            kept = numbers[: len(table.shapes) - len(more)]  # mostly some have come, behind those that were there
            numbers = np.concatenate([kept, np.array([self._number(shape) for shape in more], dtype=np.int64)])
            self._known = table.shapes, numbers
        return Coming(numbers, table.counts, table.musts[lucky])

    def near(self, own: Mapping[PodShape, int], table: Table) -> tuple[PodShape, ...]:
        """The shapes of those that are to come, or more of which come, that share a node with one of these, or with one that does."""
        numbers, more = self._asked(own)
        classes = self._coming(table, False).beside(numbers, more, False).classes
        return tuple(self._shapes[k] for k in classes[self._crowd.near(numbers, classes)].tolist())

    def sure(self, own: Mapping[PodShape, int], table: Table, lucky: bool) -> bool:
        """Whether all are sure to find a node, those that are coming and so many more of each shape, as in `Crowd.sure`."""
        coming = self._coming(table, lucky)
        return self._crowd.sure(coming, *self._asked(own), lucky)

    def hold(self, own: Mapping[PodShape, int], table: Table, most: Mapping[PodShape, int]) -> bool:
        """
        Whether pods of some shapes are sure to find a node, as far as they must, if as many of each come here as they are at `most`, and all others that are
        coming and so many more.
        """
        coming = self._coming(table, False)
        counts, needed = coming.counts.copy(), np.zeros(len(coming.needed), dtype=np.bool_)
        for shape, number in most.items():
            if shape in table.places:
                at = table.places[shape]
                counts[at], needed[at] = number, coming.needed[at]
        mine = [self._number(shape) for shape in most if shape in own]
        none, must = np.zeros(len(mine), dtype=np.int64), np.ones(len(mine), dtype=np.bool_)
        classes = np.append(coming.classes, np.array(mine, dtype=np.int64))
        asked = Coming(classes, np.append(counts, none), np.append(needed, must))
        return self._crowd.sure(asked, *self._asked({shape: most.get(shape, own[shape]) for shape in own}), True)

    def unsure(self, own: Mapping[PodShape, int], table: Table) -> int | None:
        """
        Which is the first shape, as an index, of which so many more pods that come without the others of these are not `sure` to find a node; the
        number of shapes if it takes all of them; None if they are sure together.
        """
        coming, crowd = self._coming(table, False), self._crowd
        number, count = np.array([self._number(next(iter(own)))]), np.array([next(iter(own.values()))])
        if not crowd.sure(coming, number, count, False):  # mostly; then nothing has to be known of the others
            return 0
        return crowd.unsure(coming, *self._asked(own), begin=1) if len(own) > 1 else None

    def _asked(self, own: Mapping[PodShape, int]) -> tuple[Indexes, Ints]:
        return np.array([self._number(shape) for shape in own], dtype=np.int64), np.array(list(own.values()))


def known_of(coming: Arrivals) -> int:
    """As many shapes as may be known where so many are to come, before all are forgotten."""
    return MOST_KNOWN + 2 * len(coming.counts)

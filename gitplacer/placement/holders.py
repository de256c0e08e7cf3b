"""
Which groups hold anything on a cluster, so far in a round: those that are there and have not run to their end, and those that room is kept for.

Sums over them are kept up to date by asking what has changed since the last question.
"""

from __future__ import annotations

from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass


class Holders:
    """The groups that hold something, for one object that keeps sums over them."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._reservations = -1
        self._kept: frozenset[tuple[str, str]] = frozenset()
        self._moves = 0
        self._recounted = 0
        self._proceeding = 0

    def changed(self) -> list[tuple[str, str]]:
        """(group, cluster) of all that may count otherwise than when this was asked last: at first, of all that are anywhere."""
        here, reservations = self._occupancy.here, self._occupancy.reservations
        found: list[tuple[str, str]] = []
        if self._reservations != reservations.changes:
            if self._reservations < 0:
                for there in (here.items(), self._pass.snapshot.bystanders.items()):
                    found += [(group_id, name) for name, ids in there for group_id in ids]
            kept = frozenset((group_id, name) for name, ids in reservations.kept().items() for group_id in ids)
            found += sorted(kept ^ self._kept)
            self._kept, self._reservations = kept, reservations.changes
        found += here.changes[self._moves :] + self._pass.recounted[self._recounted :]
        self._moves, self._recounted = len(here.changes), len(self._pass.recounted)
        if len(self._pass.proceeding) != self._proceeding:
            found += [*self._pass.proceeding][self._proceeding :]
            self._proceeding = len(self._pass.proceeding)
        return list(dict.fromkeys(found))

    def counts(self, group_id: str, name: str) -> bool:
        """Whether a group holds anything on a cluster."""
        there = group_id in self._occupancy.here.on(name) or group_id in self._pass.bystanders(name)
        return (there or (group_id, name) in self._kept) and not self._has_finished(group_id, name)

    def _has_finished(self, group_id: str, name: str) -> bool:
        books = self._pass.books
        return name in books and self._occupancy.has_finished(books[name], group_id, name)

"""
What was changed on nodes of the fleet, in order: so that whoever counted them counts again only what has changed since.

It has a bound. Where so many changes were made since somebody last looked that the first of them are forgotten, everything is counted again.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from gitplacer.placement.nodes import Amounts, Counts, Indexes

LEAST = 2**16
"""Changes that are remembered in a fleet of any size."""


def most_of(nodes: int) -> int:
    """How many changes are remembered of a fleet: to go through more than that takes longer than to count its nodes."""
    return max(LEAST, nodes // 2)


class Changes(NamedTuple):
    """Nodes that were changed, by row of the fleet and number of their cluster: what was free on each before, by resource, and after."""

    rows: Indexes
    clusters: Indexes
    before: Amounts
    after: Amounts


class Journal:
    """`end` is how many changes there were ever, and `most` how many are remembered. Amounts are in columns by node, as a survey has them."""

    def __init__(self, columns: int, most: int = LEAST) -> None:
        self.end = 0
        self._most = most
        self._forgotten = 0
        self._rows: Indexes = np.empty(64, dtype=np.intp)
        self._clusters: Indexes = np.empty(64, dtype=np.intp)
        self._before: Amounts = np.empty((64, columns), dtype=np.int64)
        self._after: Amounts = np.empty((64, columns), dtype=np.int64)

    def copy(self) -> Journal:
        """One that can be written to without touching this one."""
        twin = copy.copy(self)
        used = slice(self.end - self._forgotten)
        twin._rows, twin._clusters = self._rows[used].copy(), self._clusters[used].copy()
        twin._before, twin._after = self._before[used].copy(), self._after[used].copy()
        return twin

    def note(self, cluster: int, rows: Indexes, before: Amounts, after: Amounts) -> None:
        """Nodes of one cluster are changed, `before` and `after` by node."""
        if self.end - self._forgotten + len(rows) > self._most:
            self._forgotten = self.end
        if len(rows) > self._most:
            self.end = self._forgotten = self.end + len(rows)
            return
        start = self.end - self._forgotten
        stop = start + len(rows)
        if stop > len(self._rows):
            more = max(stop, 2 * len(self._rows)) - start
            self._rows = _longer(self._rows[:start], more)
            self._clusters = _longer(self._clusters[:start], more)
            self._before, self._after = _longer(self._before[:start], more), _longer(self._after[:start], more)
        self._rows[start:stop], self._clusters[start:stop] = rows, cluster
        self._before[start:stop], self._after[start:stop] = before, after
        self.end += len(rows)

    @property
    def none(self) -> Changes:
        """No changes."""
        return Changes(self._rows[:0], self._clusters[:0], self._before[:0], self._after[:0])

    def since(self, then: int) -> Changes | None:
        """All changes after so many; None if some of these are forgotten."""
        if then < self._forgotten:
            return None
        some = slice(then - self._forgotten, self.end - self._forgotten)
        return Changes(self._rows[some], self._clusters[some], self._before[some], self._after[some])


def _longer(table: Counts, more: int) -> Counts:
    return np.concatenate([table, np.empty((more, *table.shape[1:]), dtype=table.dtype)])

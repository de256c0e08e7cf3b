"""
New machines one after another: for each kind of pod the type that costs least for each pod it takes.

That is quick and usually best, and what it costs is the bound that the exact search has to beat. It misses where one
larger machine would hold what several kinds of pods leave over.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gitplacer.model.workload import PodShape
from gitplacer.placement.nodes import Amounts, Indexes, Mask, Nodes

MOST_OPENED = 5000
"""Machines for one gang. Who wants more has made a mistake, or should ask for larger ones."""


class Opened:
    """Machines that one attempt would have an autoscaler add. `left` is what is left of each limit."""

    def __init__(self, nodes: Nodes, left: Mapping[str, int]) -> None:
        self._nodes = nodes
        self._free: Amounts = np.zeros((0, len(nodes.columns)), dtype=np.int64)
        """A row for each machine, and rows for some that may come."""
        self._numbers: dict[str, int] = {}
        self._type_of: Indexes = np.zeros(0, dtype=np.intp)
        """Of each machine, the number of its type."""
        self._offers = sorted(nodes.types)
        self._offered: Amounts = np.array([nodes.type_row[key] for key in self._offers], dtype=np.int64)
        self._offered = self._offered.reshape(-1, len(nodes.columns))
        self.left = dict(left)
        self.types: list[str] = []

    def place(self, pod: PodShape, row: Amounts, wanted: int) -> tuple[list[tuple[int, int]], int]:
        """
        Put pods on machines opened before, then on new ones, cheapest first. Which machine got how many, and how many
        pods are left over.
        """
        asked = np.flatnonzero(row)
        placed = self._on_opened(pod, row, asked, wanted)
        wanted -= sum(count for _, count in placed)
        while wanted:
            cheapest = self._cheapest(pod, row, asked, wanted)
            if cheapest is None:
                break
            fits = _most(self._nodes.type_row[cheapest], row, asked)
            for _ in range(min(self._may_open(cheapest, wanted), max(1, wanted // fits))):
                for limit, amount in self._nodes.types[cheapest].draws:
                    self.left[limit] -= amount
                count, index = min(wanted, fits), len(self.types)
                self._add(cheapest)
                self._free[index] -= row * count
                placed.append((index, count))
                wanted -= count
        return placed, wanted

    def _on_opened(self, pod: PodShape, row: Amounts, asked: Indexes, wanted: int) -> list[tuple[int, int]]:
        """Put pods on machines in the order in which these were opened; all are looked at in one step, as there may be thousands."""
        if not (wanted and self.types):
            return []
        free = self._free[: len(self.types)]
        able = np.where(self._admitting(pod), np.clip((free[:, asked] // row[asked]).min(axis=1), 0, None), 0)
        before = np.cumsum(able) - able
        counts = np.clip(wanted - before, 0, able)
        machines = np.flatnonzero(counts)
        free[machines] -= counts[machines, None] * row
        return list(zip(machines.tolist(), counts[machines].tolist(), strict=True))

    def _add(self, key: str) -> None:
        index = len(self.types)
        if index == len(self._free):
            self._free = np.pad(self._free, ((0, 8 + index), (0, 0)))
            self._type_of = np.pad(self._type_of, (0, 8 + index))
        self._free[index] = self._nodes.type_row[key]
        self._type_of[index] = self._numbers.setdefault(key, len(self._numbers))
        self.types.append(key)

    def _admitting(self, pod: PodShape) -> Mask:
        """Of each machine, whether it admits a pod."""
        admits: Mask = np.array([self._nodes.type_admits(pod, key) for key in self._numbers], dtype=np.bool_)
        return admits[self._type_of[: len(self.types)]]

    def free_for(self, pod: PodShape) -> Amounts:
        """What is left on those of the machines that admit a pod, a row for each."""
        return self._free[: len(self.types)][self._admitting(pod)]

    def _may_open(self, key: str, most: int) -> int:
        return self._nodes.types[key].how_many(self.left, min(most, MOST_OPENED - len(self.types)))

    def _cheapest(self, pod: PodShape, row: Amounts, asked: Indexes, wanted: int) -> str | None:
        """
        The type that costs least for each pod it takes; a type without a price comes after those with one. What is equal in that is weighed by
        the share of it that would lie idle.
        """
        takes = np.minimum((self._offered[:, asked] // row[asked]).min(axis=1), wanted).tolist()
        found: list[tuple[tuple[float, ...], int]] = []
        for index, (key, fits) in enumerate(zip(self._offers, takes, strict=True)):
            if fits <= 0 or self._may_open(key, 1) <= 0 or not self._nodes.type_admits(pod, key):
                continue
            type_ = self._nodes.types[key]
            price = (1.0, 0.0) if type_.price_per_hour is None else (0.0, type_.price_per_hour / fits)
            found.append(((float(type_.demotion), *price), index))
        if not found:
            return None
        least = min(rank for rank, _ in found)
        tied = [index for rank, index in found if rank == least]
        best = tied[0] if len(tied) == 1 else min(tied, key=lambda index: self._idle(index, row, takes[index]))
        return self._offers[best]

    def _idle(self, index: int, row: Amounts, fits: int) -> float:
        """The share of a type that would lie idle with so many pods on it."""
        offered = self._offered[index]
        return float(1 - (row * fits / np.maximum(offered, 1))[offered > 0].mean())


def _most(free: Amounts, row: Amounts, asked: Indexes) -> int:
    return max(0, int((free[asked] // row[asked]).min()))

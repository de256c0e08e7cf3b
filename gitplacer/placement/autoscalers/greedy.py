"""
New machines one after another: for each kind of pod the type that costs least for each pod it takes.

That is quick and usually best, and what it costs is the bound that the exact search has to beat. It misses where one
larger machine would hold what several kinds of pods leave over.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gitplacer.model.workload import PodShape
from gitplacer.placement.nodes import Amounts, Nodes

MOST_OPENED = 5000
"""Machines for one gang. Who wants more has made a mistake, or should ask for larger ones."""


class Opened:
    """Machines that one attempt would have an autoscaler add. `left` is what is left of each limit."""

    def __init__(self, nodes: Nodes, left: Mapping[str, int]) -> None:
        self._nodes = nodes
        self._free: list[Amounts] = []
        self.left = dict(left)
        self.types: list[str] = []

    def place(self, pod: PodShape, row: Amounts, wanted: int) -> tuple[list[tuple[int, int]], int]:
        """
        Put pods on machines opened before, then on new ones, cheapest first. Which machine got how many, and how many
        pods are left over.
        """
        placed: list[tuple[int, int]] = []
        asked = np.flatnonzero(row)
        for index, key in enumerate(self.types):
            if wanted and self._nodes.type_admits(pod, key):
                wanted -= self._put(placed, index, row, min(wanted, _most(self._free[index], row, asked)))
        while wanted:
            cheapest = self._cheapest(pod, row, wanted)
            if cheapest is None:
                break
            fits = _most(self._nodes.type_row[cheapest], row, asked)
            for _ in range(min(self._may_open(cheapest, wanted), max(1, wanted // fits))):
                for limit, amount in self._nodes.types[cheapest].draws:
                    self.left[limit] -= amount
                self.types.append(cheapest)
                self._free.append(self._nodes.type_row[cheapest].copy())
                wanted -= self._put(placed, len(self.types) - 1, row, min(wanted, fits))
        return placed, wanted

    def free_for(self, pod: PodShape) -> Amounts:
        """What is left on those of the machines that admit a pod, a row for each."""
        rows = [row for key, row in zip(self.types, self._free, strict=True) if self._nodes.type_admits(pod, key)]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self._nodes.columns))

    def _may_open(self, key: str, most: int) -> int:
        return self._nodes.types[key].how_many(self.left, min(most, MOST_OPENED - len(self.types)))

    def _put(self, placed: list[tuple[int, int]], index: int, row: Amounts, count: int) -> int:
        if count:
            self._free[index] -= row * count
            placed.append((index, count))
        return count

    def _cheapest(self, pod: PodShape, row: Amounts, wanted: int) -> str | None:
        """
        The type that costs least for each pod it takes; a type without a price comes after those with one, and is
        weighed by the share of it that would lie idle.
        """
        nodes, asked = self._nodes, np.flatnonzero(row)
        best: tuple[tuple[float, ...], str] | None = None
        for key, type_ in sorted(nodes.types.items()):
            fits = min(wanted, _most(nodes.type_row[key], row, asked))
            if fits <= 0 or self._may_open(key, 1) <= 0 or not nodes.type_admits(pod, key):
                continue
            price, offered = type_.price_per_hour, nodes.type_row[key]
            idle = float(1 - (row * fits / np.maximum(offered, 1))[offered > 0].mean())
            weighed = (0.0, price / fits, idle) if price is not None else (1.0, idle, 0.0)
            rank = (float(type_.demotion), *weighed)
            if best is None or (rank, key) < best:
                best = (rank, key)
        return None if best is None else best[1]


def _most(free: Amounts, row: Amounts, asked: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> int:
    return max(0, int((free[asked] // row[asked]).min()))

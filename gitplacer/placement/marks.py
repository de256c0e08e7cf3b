"""
Marks on clusters, for very many kinds of things: a table of bits with a row for each kind and a column for each cluster, since most kinds are
marked on a few clusters only, and a fleet has thousands of both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np

from gitplacer.placement.nodes import Indexes, Mask

Kind = TypeVar("Kind", bound=Hashable)
Bits = np.ndarray[Any, np.dtype[np.uint8]]

NO_BITS: Bits = np.zeros(0, dtype=np.uint8)


class Marks(Generic[Kind]):
    """`clusters` is how many there are; each is told by its number."""

    def __init__(self, clusters: int) -> None:
        self._rows: dict[Kind, int] = {}
        self._bits: Bits = np.zeros((0, (clusters + 7) // 8), dtype=np.uint8)

    def copy(self) -> Marks[Kind]:
        """Others that can be written to without touching these."""
        twin = Marks[Kind](0)
        twin._rows, twin._bits = dict(self._rows), self._bits[: len(self._rows)].copy()
        return twin

    def add(self, kind: Kind, number: int) -> None:
        """Mark a cluster for a kind."""
        row = self._rows.setdefault(kind, len(self._rows))
        if row == len(self._bits):
            self._bits = np.concatenate(
                [self._bits, np.zeros((max(16, row // 2), self._bits.shape[1]), dtype=np.uint8)]
            )
        self._bits[row, number >> 3] |= 1 << (number & 7)

    def has(self, kind: Kind, number: int) -> bool:
        """Whether a cluster is marked for a kind."""
        row = self._rows.get(kind)
        return row is not None and bool(self._bits[row, number >> 3] >> (number & 7) & 1)

    def of(self, kind: Kind) -> Bits:
        """The marks for a kind, eight clusters to a byte, that of the lowest number in the lowest bit; empty if there are none. Do not write to it."""
        row = self._rows.get(kind)
        return NO_BITS if row is None else self._bits[row]

    def among(self, kind: Kind, asked: Indexes) -> Mask:
        """Which of some clusters are marked for a kind."""
        bits = self.of(kind)
        if not len(bits):
            return np.zeros(len(asked), dtype=np.bool_)
        found: Mask = (bits[asked >> 3] >> (asked & 7) & 1).astype(np.bool_)
        return found

    def clear(self, numbers: Iterable[int]) -> None:
        """Take all marks from some clusters."""
        for number in numbers:
            self._bits[: len(self._rows), number >> 3] &= 0xFF ^ (1 << (number & 7))

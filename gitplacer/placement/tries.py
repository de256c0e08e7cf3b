"""
What came of looking for room, in one round: what was tried in vain, and what was not tried any more.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from gitplacer.model.decision import Finding
from gitplacer.placement.nodes import Indexes

MOST_TRIED = 12
"""Clusters on which one group is tried in every order, where that has no proof; on others that are as likely it is not placed."""


class Tries:
    """
    By group: on which clusters it would find room, but not in every order, and why; on which of these it was tried in
    every order; and which clusters were passed over, because it had been tried enough and has no proof there.
    """

    def __init__(self) -> None:
        self.tight: dict[str, dict[str, Finding]] = defaultdict(dict)
        self.refused: dict[str, set[str]] = defaultdict(set)
        self._passed_over: dict[str, int] = defaultdict(int)
        """One bit for each cluster by number: there are very many of some groups."""

    def pass_over(self, group_id: str, number: int) -> None:
        """Note that a cluster, by index, is not looked at for a group."""
        self._passed_over[group_id] |= 1 << number

    def pass_all_over(self, group_id: str, numbers: Indexes) -> None:
        """Note that some clusters, by index, are not looked at for a group."""
        if len(numbers):
            found = np.zeros(int(numbers.max()) + 1, dtype=np.bool_)
            found[numbers] = True
            self._passed_over[group_id] |= int.from_bytes(np.packbits(found, bitorder="little").tobytes(), "little")

    def absolve(self, group_id: str, name: str) -> None:
        """Forget that a cluster refused a group: it took it after all, when it asked for less."""
        self.tight[group_id].pop(name, None)
        self.refused[group_id].discard(name)

    def is_passed_over(self, group_id: str, number: int | None) -> bool:
        """Whether a cluster, by index, was not looked at for a group; never of None."""
        return number is not None and bool(self._passed_over.get(group_id, 0) >> number & 1)

    def is_tried_enough(self, group_id: str) -> bool:
        """Whether a group was refused so often that it is not tried on any further cluster."""
        return len(self.refused[group_id]) >= MOST_TRIED

"""
Where groups sit on large clusters, kept in the cache from one process to the next.

What is kept is told by a digest of all that it follows from, our code included, and is never needed. There are a few places for each cluster of a fleet,
so that it does not grow with every pass: passes of one kind ask for the same in the same order, and find it where the last has put it.
"""

from __future__ import annotations

from collections import defaultdict

from gitplacer.passes.quiet import digest_of
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.seating import Seats
from gitplacer.source.files import Memo

PLACES = 4
"""For each cluster: as many ways to fill it are kept. A plan asks for one or two."""


class KeptSeats(Seats):
    """Among the texts of a memo, at the places of a fleet. For one pass or plan."""

    def __init__(self, memo: Memo, fleet: str) -> None:
        """`fleet` tells it from others that share the cache, such as the place where its bases are kept."""
        self._memo = memo
        self._fleet = fleet
        self._asked: dict[str, list[str]] = defaultdict(list)
        """By cluster, what was asked for, in order."""

    def recall(self, cluster: str, digest: str) -> bytes | None:
        if digest not in self._asked[cluster]:
            self._asked[cluster].append(digest)
        kept = self._memo.recall_texts([self._place(cluster, number) for number in range(PLACES)])
        begin = digest.encode()
        return next((text[len(begin) :] for text in kept.values() if text.startswith(begin)), None)

    def remember(self, cluster: str, digest: str, text: bytes) -> None:
        number = self._asked[cluster].index(digest)
        if number < PLACES:
            self._memo.remember_text(self._place(cluster, number), digest.encode() + text)

    def _place(self, cluster: str, number: int) -> str:
        return digest_of("seats", self._fleet, cluster, number)


def ledgers_beside(memo: Memo, fleet: str) -> LedgerCache:
    """Ledgers for a pass or a plan that find in a memo where groups sit."""
    return LedgerCache(KeptSeats(memo, fleet))

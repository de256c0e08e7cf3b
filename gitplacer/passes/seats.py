"""
Where groups sit on large clusters, kept in the cache from one process to the next.

What is kept is told by a digest of all that it follows from, our code included, and is never needed; the cache lets go of the oldest.
"""

from __future__ import annotations

from gitplacer.passes.quiet import digest_of
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.seating import Seats
from gitplacer.source.files import Memo


class KeptSeats(Seats):
    """Among the texts of a memo."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo

    def recall(self, digest: str) -> bytes | None:
        return self._memo.recall_text(digest_of("seats", digest))

    def remember(self, digest: str, text: bytes) -> None:
        self._memo.remember_text(digest_of("seats", digest), text)


def ledgers_beside(memo: Memo) -> LedgerCache:
    """Ledgers for a pass, or for one after another, that find in a memo where groups sit."""
    return LedgerCache(KeptSeats(memo))

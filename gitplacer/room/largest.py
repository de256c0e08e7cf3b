"""
The largest gang that still fits a cluster.

A gang fits as placement says it: whole, and whatever order its pods come in, beside everything that was promised room. What is
more fits where more fits, so the number is found by doubling and halving.
"""

from __future__ import annotations

from collections.abc import Callable

from gitplacer.model.room import Largest
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.pack import Packing, pack
from gitplacer.room.asking import Tried

MOST = 4096
"""Pods of one gang."""
_MOST_TRIED = 40


def largest(ledger: Ledger, tried: Tried) -> Largest:
    """How many pods of a gang a cluster takes as its ledger stands."""
    now = _most(lambda count: _fits(ledger, tried, count))
    if not ledger.nodes.types:
        return Largest(now=now, bounded=now >= MOST)
    added = max(now, _most(lambda count: _fits_added(ledger, tried, count)))
    return Largest(now=now, added=added, bounded=added >= MOST)


def _fits(ledger: Ledger, tried: Tried, count: int) -> bool:
    gang = tried.gang(count)
    return isinstance(ledger.fit(gang, scale_up=False), Packing) and ledger.tight(gang) is None


def _fits_added(ledger: Ledger, tried: Tried, count: int) -> bool:
    gang = tried.gang(count)
    if any(pods.shape.minds_others for pods in gang):
        return isinstance(ledger.fit(gang, scale_up=True), Packing)
    return isinstance(pack(ledger.room(), gang, scale_up=True, exact=False), Packing)


def _most(fits: Callable[[int], bool]) -> int:
    """The largest number up to MOST that fits, where smaller ones fit too; 0 if not even one does."""
    low, high = 0, 1
    while high <= MOST and fits(high):
        low, high = high, high * 2
    if low >= MOST:
        return MOST
    high = min(high, MOST + 1)
    for _ in range(_MOST_TRIED):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

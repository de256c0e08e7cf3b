"""
What one machine takes at most of several kinds of pods.

A pattern says how many pods of each kind are on a machine. Only maximal ones are worth a look: whoever has a machine loses
nothing by filling it. Cut down to what is still wanted, the maximal patterns of the whole gang hold all maximal patterns
of any rest of it, so they are worked out once for each machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Vector: TypeAlias = tuple[int, ...]
"""A number for each kind of pod, or for each resource."""


MOST_KINDS = 64
"""Kinds of pods in a pattern. Of twice as many, the patterns of one machine are more than all steps of a search."""


class OutOfSteps(Exception):
    """A search came to its bound."""


class Steps:
    """Work that may still be done, in counted steps, so that the same question always gets the same answer."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, count: int = 1) -> None:
        """Raises OutOfSteps where there are no more."""
        self.left -= count
        if self.left < 0:
            raise OutOfSteps


def maximal(room: Vector, asks: Sequence[Vector], admits: Sequence[bool], wanted: Vector, steps: Steps) -> list[Vector]:
    """
    Every pattern that fits a machine and to which no pod can be added, sorted. `room` and each of `asks` are amounts of
    the same resources; a kind of pod that is not admitted, or not wanted any more, has none. Raises OutOfSteps where these are
    more patterns than steps, and for more than MOST_KINDS, before it begins.
    """
    if len(asks) > MOST_KINDS:
        raise OutOfSteps
    found: list[Vector] = []

    def fill(kind: int, free: Vector, pattern: Vector) -> None:
        steps.take()
        if kind == len(asks):
            if not any(admits[k] and pattern[k] < wanted[k] and _times(free, asks[k]) for k in range(len(asks))):
                found.append(pattern)
            return
        most = min(wanted[kind], _times(free, asks[kind])) if admits[kind] else 0
        last = not any(admits[kind + 1 :])
        for count in (most,) if last else range(most, -1, -1):
            rest = tuple(have - ask * count for have, ask in zip(free, asks[kind], strict=True))
            fill(kind + 1, rest, (*pattern, count))

    fill(0, room, ())
    return sorted(found, reverse=True)


def _times(free: Vector, ask: Vector) -> int:
    """How often a request fits. Every pod asks for something: at least for its slot."""
    return max(0, min(have // one for have, one in zip(free, ask, strict=True) if one))


def cut(pattern: Vector, wanted: Vector) -> Vector:
    """A pattern without what is not wanted."""
    return tuple(map(min, pattern, wanted))


def least(vectors: Iterable[Vector], steps: Steps) -> list[Vector]:
    """Those to which no other is smaller or equal in every place, sorted."""
    kept: list[Vector] = []
    for vector in sorted(set(vectors), key=lambda v: (sum(v), v)):
        steps.take(1 + len(kept) // 8)
        if not any(all(a <= b for a, b in zip(other, vector, strict=True)) for other in kept):
            kept.append(vector)
    return kept

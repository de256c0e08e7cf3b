"""
What becomes of groups when something is otherwise, as data.

Everything here is plain values, so that it goes from one process to another as it is.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct

from gitplacer.model.resources import Resources
from gitplacer.problems import Problem


class Fate(enum.StrEnum):
    """What becomes of one group. Worst first."""

    STRANDED = "Stranded"  # it had its place, and no cluster has room for it now
    HELD = "Held"  # it may not go elsewhere by itself: it may run on, or somebody has to consent
    LESS = "Less"  # some of its copies or shares are left; the others find no room
    MOVES = "Moves"  # its room is elsewhere
    WAITS = "Waits"  # it is new, and finds no room
    REMOVED = "Removed"
    CHANGED = "Changed"  # it stays, and other manifests of it are written
    PLACED = "Placed"  # it is new, or has waited, and finds room


LOSES = (Fate.STRANDED, Fate.HELD, Fate.LESS)
"""Those who do not survive with all they had."""


class GroupFate(Struct, frozen=True, kw_only=True):
    """
    One group that a supposition concerns. `serves`: it runs until somebody stops it; others are jobs, which end. `before` and
    `after` are clusters, `code` and `why` the reason; `later`: guards or a freeze hold it back for a while, and what is said
    here is what comes then.
    """

    group: str
    fate: Fate
    serves: bool
    policy: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    code: str
    why: str
    later: bool = False
    refused: tuple[tuple[str, str, str], ...] = ()


class Left(Struct, frozen=True, kw_only=True):
    """
    What is free in a fleet: over all clusters that take something, and for each resource that any of them offers the cluster that
    has most of it free, and how much.
    """

    total: Resources
    most: Mapping[str, tuple[str, int]]


class Supposed(Struct, frozen=True, kw_only=True):
    """
    What a supposition comes to: the groups that it concerns, by id; all others are as they are without it. `clusters` are those
    it takes out of service; `waiting` how many groups wait whatever is supposed; `left` what is free then, where it was asked for;
    `problems` the errors that there are not without it.
    """

    title: str
    clusters: tuple[str, ...] = ()
    fates: tuple[GroupFate, ...] = ()
    waiting: int = 0
    left: Left | None = None
    problems: tuple[Problem, ...] = ()

    def count(self, *fates: Fate, serves: bool | None = None) -> int:
        """How many groups have one of these fates; `serves`: only those that serve, or only jobs."""
        return sum(f.fate in fates and serves in (None, f.serves) for f in self.fates)

    @property
    def badness(self) -> tuple[int, ...]:
        """What is worse is more: services that are stranded, then jobs, then what is held, thinned out, and moved at all."""
        return (
            self.count(Fate.STRANDED, serves=True),
            self.count(Fate.STRANDED),
            self.count(Fate.LESS),
            self.count(Fate.HELD, serves=True),
            self.count(Fate.HELD),
            len(self.fates),
        )


class Given(Struct, frozen=True, kw_only=True):
    """What all suppositions of a sweep are on top of, in words that are safe to print, and the errors that it brings itself."""

    title: str
    problems: tuple[Problem, ...] = ()


def worst_first(found: tuple[Supposed, ...]) -> tuple[Supposed, ...]:
    """The worst first; equals by title."""
    return tuple(sorted(found, key=lambda item: (tuple(-number for number in item.badness), item.title)))

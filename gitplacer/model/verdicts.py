"""
Of which groups a plan keeps what it has to say of every cluster.

That is asked of each group and each cluster, and takes far longer than to decide. Whoever writes a plan needs none of it, a reviewer
reads it of groups that wait, and only programs want all. In a large fleet nobody can wait for that, so there it is kept of the first groups
alone. What is decided is the same.
"""

from __future__ import annotations

import sys

from msgspec import Struct
from msgspec.structs import replace


class Verdicts(Struct, frozen=True):
    """
    Whose candidates are kept: those of `every` group, of those that are `waiting` or have nowhere to go, of `groups` by id; not of those
    that are waiting `but` are not asked about, nor, if `new`, of those that waited when their records were written. `outgrown`: whether groups
    that stay find room where they are, which is told wherever anything is. `unspread`: those alone of the waiting for which clusters have room that they
    do not get, since their copies are to be spread. `most` bounds how many pairs of a group and a cluster are asked: as
    many groups as come to no more are asked about, but `groups` always, in the order in which they are decided, where those that wait come as their turn is.
    """

    every: bool = False
    waiting: bool = False
    groups: frozenset[str] = frozenset()
    but: frozenset[str] = frozenset()
    new: bool = False
    outgrown: bool = False
    unspread: bool = False
    resting: bool = True
    most: int = sys.maxsize

    def __bool__(self) -> bool:
        """Whether anybody reads the plan, and not only what comes of it."""
        return self.every or self.waiting or bool(self.groups) or self.outgrown

    def are_kept(self, group: str, *, waits: bool, waited: bool, unspread: bool = False) -> bool:
        """
        Whether they are kept of a group, which waits for room or not, and did or not when its record was written, or waits only so that its
        copies are spread.
        """
        if group in self.groups or (self.unspread and unspread):
            return True
        if waits and group in self.but:
            return False
        return self.every or (self.waiting and waits and not (self.new and waited))


MOST_READ = 10_000
"""Pairs that a person waits for: some seconds, and more than anybody reads."""
EVERY = Verdicts(every=True)
OF_MANY = Verdicts(every=True, most=10 * MOST_READ)
"""As far as a program waits for it, which may ask for every one."""
OF_MANY_MOVED = replace(OF_MANY, resting=False)
"""The same where nobody is told of those that stay."""
OF_ALL_WAITING = Verdicts(waiting=True)
OF_WAITING = replace(OF_ALL_WAITING, most=MOST_READ)
OUTGROWN = Verdicts(outgrown=True)
OF_UNSPREAD = Verdicts(unspread=True)
NONE = Verdicts()


def verdicts_of(asked: Verdicts | bool) -> Verdicts:
    """True is short for those of every group, False for none."""
    if isinstance(asked, Verdicts):
        return asked
    return EVERY if asked else NONE

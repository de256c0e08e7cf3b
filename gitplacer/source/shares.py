"""
How many files, objects and bytes one owner may have among the workloads.

Whoever may write to some paths may fill them, and everybody waits while that is read and placed. So the files of one owner count up to
a bound, in the order of their paths; those behind it are not used, what was placed of them stays, and nobody else notices.
In a fleet without Tenants all workload files have one owner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from gitplacer.problems import Location, Problem


class Share(Struct, frozen=True):
    """So much of each."""

    files: int
    objects: int
    size: int

    def __add__(self, other: Share) -> Share:
        return Share(self.files + other.files, self.objects + other.objects, self.size + other.size)

    def within(self, most: Share) -> bool:
        return self.files <= most.files and self.objects <= most.objects and self.size <= most.size


MOST = Share(files=20_000, objects=50_000, size=128 * 1024 * 1024)
"""Of one owner. Ten thousand apps are as many files, twice as many objects and 14 MiB; `python -m benchmarks.hostile` reads as much."""


def over_share(files: Iterable[tuple[str, str, Share]], most: Share = MOST) -> dict[str, list[str]]:
    """The files with which an owner has more than one may, by owner. Each file comes with its owner and what it is, sorted by path."""
    taken: dict[str, Share] = {}
    over: dict[str, list[str]] = defaultdict(list)
    for path, owner, share in files:
        whole = taken.get(owner, Share(0, 0, 0)) + share
        if owner not in over and whole.within(most):
            taken[owner] = whole
        else:
            over[owner].append(path)
    return over


def share_problems(over: dict[str, list[str]]) -> Iterator[Problem]:
    """One problem for each owner, at the first file that is not used."""
    bounds = f"{MOST.files:,} files, {MOST.objects:,} objects or {MOST.size >> 20:,} MiB"
    for owner, paths in over.items():
        whose = f"tenant {owner} has" if owner else "there are"
        message = f"{whose} more than {bounds} among the workloads; {_not_used(len(paths) - 1)}"
        yield Problem(Location(paths[0]), "TooManyFiles", message, "remove what is not needed, or split the fleet")


def _not_used(others: int) -> str:
    if not others:
        return "this file is not used"
    return f"this and {others:,} {'files' if others > 1 else 'file'} after it are not used"

"""
Who has to leave so that a group of higher priority fits.

Given are clusters, on each the groups that may be sent away, and a question that somebody else answers: would the group fit
there without these? The answer is the cluster and the groups whose leaving does least harm: the fewest, then those of the
lowest priority, then those that hold the fewest devices, then the least cpu, then those on the cluster that the policy
likes best, then those that came last, then by name. Whole groups only, and none that could have stayed: without any one of
them the rest would not be enough.

Sets are tried by size over all clusters, so the first that is enough is of the fewest. Where a cluster has more sets of a size
than may be tried, it is searched greedily instead: candidates are taken, least harm first, until it is enough, then
those are spared that can be, most harm first. That finds a set in which nobody is superfluous, and may miss a smaller one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

SITES = 16
"""Clusters looked at, the policy's favourites first."""
SETS = 128
"""Sets of one size tried on one cluster; where there are more, the search is greedy."""
TRIALS = 2000
"""Questions asked in all before every further search is greedy."""

Enough = Callable[[frozenset[str]], bool]
"""Whether the group would fit without these groups. Asking changes nothing."""

_LATEST = datetime.max.replace(tzinfo=UTC)


class Displaceable(Struct, frozen=True, kw_only=True):
    """A placed group that may be sent away, and what its leaving would cost."""

    group: str
    priority: int
    devices: int
    cpu: int
    since: datetime


class Site(Struct, frozen=True, kw_only=True):
    """A cluster, how early the policy takes it, and who may be sent away from it."""

    cluster: str
    preference: int
    candidates: tuple[Displaceable, ...]
    enough: Enough


_Harm = tuple[int, tuple[int, ...], int, int, int, tuple[timedelta, ...], tuple[str, ...], str]


def _harm(site: Site, leaving: Sequence[Displaceable]) -> _Harm:
    return (
        len(leaving),
        tuple(sorted((one.priority for one in leaving), reverse=True)),
        sum(one.devices for one in leaving),
        sum(one.cpu for one in leaving),
        site.preference,
        tuple(sorted(_LATEST - one.since for one in leaving)),
        tuple(sorted(one.group for one in leaving)),
        site.cluster,
    )


def least_harm(sites: Iterable[Site]) -> tuple[str, tuple[str, ...]] | None:
    """The cluster on which room is made and the groups that leave it, sorted; None if no set of candidates is enough."""
    search = _Search()
    able = [s for s in sites if s.candidates and search.enough(s, s.candidates)]
    largest = max((len(site.candidates) for site in able), default=0)
    greedy: dict[str, tuple[Displaceable, ...]] = {}
    for size in range(1, largest + 1):
        found = []
        for site in able:
            if site.cluster not in greedy and search.may_try_all(site, size):
                leaving = search.of_size(site, size)
            else:
                if site.cluster not in greedy:
                    greedy[site.cluster] = search.greedily(site)
                leaving = greedy[site.cluster] if len(greedy[site.cluster]) <= size else None
            if leaving is not None:
                found.append((_harm(site, leaving), site.cluster, leaving))
        if found:
            _, cluster, leaving = min(found, key=lambda one: one[0])
            return cluster, tuple(sorted(one.group for one in leaving))
    return None


class _Search:
    """Asks, and counts how often."""

    def __init__(self) -> None:
        self._left = TRIALS

    def enough(self, site: Site, leaving: Iterable[Displaceable]) -> bool:
        self._left -= 1
        return site.enough(frozenset(one.group for one in leaving))

    def may_try_all(self, site: Site, size: int) -> bool:
        return math.comb(len(site.candidates), size) <= min(SETS, self._left)

    def of_size(self, site: Site, size: int) -> tuple[Displaceable, ...] | None:
        """The set of a size that does least harm, of all that are enough."""
        sets = sorted(itertools.combinations(site.candidates, size), key=lambda some: _harm(site, some))
        return next((some for some in sets if self.enough(site, some)), None)

    def greedily(self, site: Site) -> tuple[Displaceable, ...]:
        """A set that is enough, and not without any one of its groups."""
        line = sorted(
            site.candidates, key=lambda one: (one.priority, -one.devices, -one.cpu, _LATEST - one.since, one.group)
        )
        few, many = 0, len(line)  # the first `many` are enough, the first `few` are not
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if self.enough(site, line[:middle]) else (middle, many)
        leaving = line[:many]
        spared = True
        while spared:
            spared = False
            for one in sorted(leaving, key=lambda one: _harm(site, [one]), reverse=True):
                rest = [other for other in leaving if other is not one]
                if rest and self.enough(site, rest):
                    leaving, spared = rest, True
        return tuple(leaving)

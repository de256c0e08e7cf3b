"""
Whose turn it is: the order in which waiting groups look for room.

Higher priority is always first. Among equals, whoever has waited for an hour or more comes first, the longest first; but each further
group of one holder counts as if it had come a day later, so that a thousand groups that one holder lets wait are not before the first of
another. The others take turns by dominant resource fairness: next is a group of the holder whose largest share of anything that
the fleet offers is smallest, so that a holder who runs much does not take what is left from one who runs little. Within one
holder the longest waiting is first, then the name.

An aged group is ahead of all its equals whatever they hold, but for those that come less than so many days after it as groups of its own
holder are before it: so nobody's small groups overtake it for ever. That it also finds room is the matter of `reservations`. Nothing here is remembered but `waitingSince`, which stands in the record.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

PATIENCE = timedelta(hours=1)
"""After waiting so long a group is before all others of its priority."""
APART = timedelta(days=1)
"""By so much each group that has waited long counts as later than the one before it of the same holder."""


class Waiting(Struct, frozen=True, kw_only=True):
    """A group that looks for room."""

    group: str
    holder: str
    priority: int
    since: datetime

    def is_aged(self, now: datetime) -> bool:
        """Whether it has waited so long that it is before all others of its priority."""
        return now - self.since >= PATIENCE


class Shares:
    """What each holder has of all that is offered; `take` counts more, `dominant` tells the largest share."""

    def __init__(self, offered: Mapping[str, float]) -> None:
        self._offered = offered
        self._held: dict[str, dict[str, int]] = defaultdict(dict)

    def take(self, who: str, amounts: Mapping[str, int]) -> None:
        """Count what a holder has more."""
        held = self._held[who]
        for name, amount in amounts.items():
            held[name] = held.get(name, 0) + amount

    def dominant(self, who: str) -> float:
        """The largest share over resources. Of what nobody offers nobody has a share. Equal ratios give equal floats."""
        held = self._held.get(who, {})
        return max(
            (amount / self._offered[name] for name, amount in held.items() if self._offered.get(name)), default=0.0
        )


def turns(waiting: Iterable[Waiting], now: datetime, shares: Callable[[], Shares]) -> Iterator[Waiting]:
    """
    Everybody who waits, one after another. Between two turns the caller counts what the first one took into the shares, which
    are asked for only where two holders compete.
    """
    by_priority = sorted(waiting, key=lambda w: (-w.priority, w.since, w.group))
    for _, equals in itertools.groupby(by_priority, key=lambda w: w.priority):
        line = list(equals)
        yield from _by_age([w for w in line if w.is_aged(now)])
        yield from _by_share([w for w in line if not w.is_aged(now)], shares)


def _by_age(line: Iterable[Waiting]) -> list[Waiting]:
    """Those who have waited long, given with the longest waiting first, as their turn comes."""
    before: Counter[str] = Counter()
    places: list[tuple[datetime, Waiting]] = []
    for one in line:
        places.append((one.since + before[one.holder] * APART, one))
        before[one.holder] += 1
    return [one for _, one in sorted(places, key=lambda place: (place[0], place[1].since, place[1].group))]


def _by_share(line: Iterable[Waiting], shares: Callable[[], Shares]) -> Iterator[Waiting]:
    lines: dict[str, deque[Waiting]] = defaultdict(deque)
    for one in line:
        lines[one.holder].append(one)
    if len(lines) < 2:
        yield from itertools.chain.from_iterable(lines.values())
        return
    counted = shares()

    def place(who: str) -> tuple[float, datetime, str, str]:
        first = lines[who][0]
        return counted.dominant(who), first.since, first.group, who

    heads = [place(who) for who in lines]
    heapq.heapify(heads)
    while heads:
        # A turn changes the share of nobody but its holder, so the places of the others stand.
        *_, who = heapq.heappop(heads)
        yield lines[who].popleft()
        if lines[who]:
            heapq.heappush(heads, place(who))

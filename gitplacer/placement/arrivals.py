"""
The pods that were promised room on a cluster and are not seen there yet: group by group, and added up.

A busy cluster has hundreds of them, and is asked about each gang that comes next; so the sums are kept, and not made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from gitplacer.model.workload import Gang, PodSet, PodShape, Roster
from gitplacer.placement.ownrules import meet, own_rules
from gitplacer.scheduler.crowding import Ints, Mask


class Coming(Struct, frozen=True):
    """
    Pods of a group that were promised room and are not seen yet; `sure`: in every order; `lucky`: which its policy does not ask
    for, so that it may lose that certainty to others of whom the same is true.
    """

    group: str
    gang: Gang
    sure: bool
    lucky: bool = False

    def must(self, lucky: bool) -> bool:
        """Whether none of its pods may be left out for the sake of a gang, one that is placed by luck or another."""
        return self.sure and not (lucky and self.lucky)


Musts = Mapping[bool, Mapping[PodShape, int]]
"""By whether a gang is placed by luck, how many groups have pods of each shape that may not be left out for its sake."""


class Table(NamedTuple):
    """
    The shapes of pods that are to come, how many there are of each, and by whether a gang is placed by luck which of them may not be left out
    for its sake. It stands for as long as nobody else comes or goes. Do not write to it.
    """

    shapes: tuple[PodShape, ...]
    places: Mapping[PodShape, int]
    """Where each stands."""
    counts: Ints
    musts: Mapping[bool, Mask]

    def changed(self, some: Iterable[PodShape], counts: Mapping[PodShape, int], musts: Musts) -> Table:
        """The same shapes, of some of which there are other numbers now, and behind them those that are new."""
        shapes, places = self.shapes, self.places
        new = [shape for shape in some if shape not in places]
        if new:
            shapes, places = (*shapes, *new), {**places, **{shape: len(places) + i for i, shape in enumerate(new)}}
        more = np.zeros(len(new), dtype=np.int64)
        numbers = np.append(self.counts, more)
        found = {lucky: np.append(mask, more.astype(np.bool_)) for lucky, mask in self.musts.items()}
        for shape in some:
            place = places[shape]
            numbers[place] = counts[shape]
            for lucky, mask in found.items():
                mask[place] = shape in musts[lucky]
        return Table(shapes, places, numbers, found)


class Arrivals:
    """`pods` is how many there are, and `repels` whether some keep others away by rules of their own."""

    def __init__(self, ruled: Callable[[PodSet], bool]) -> None:
        """`ruled` tells whether rules about other pods hold for some."""
        self._is_ruled = ruled
        self._groups: dict[str, Coming] = {}
        self._counts: Counter[PodShape] = Counter()
        self._musts: dict[bool, Counter[PodShape]] = {False: Counter(), True: Counter()}
        self._ruled: dict[bool, Counter[PodShape]] = {False: Counter(), True: Counter()}
        self._promised = {False: 0, True: 0}
        self._repelling = 0
        self._minded: dict[str, Gang] = {}
        """By group, those that have rules, or that some rule of the fleet looks at."""
        self._unchecked: list[str] = []
        self._meeting: set[str] = set()
        """The groups of which a rule may be about others that come, as far as that was asked; a rule of another may be about them."""
        self._table: Table | None = None
        self._outdated: dict[PodShape, None] = {}
        """The shapes of which the table does not tell the truth any more, in the order in which they came."""
        self.pods = 0

    def copy(self) -> Arrivals:
        """Others that can be written to without touching these."""
        twin = Arrivals(self._is_ruled)
        twin._groups, twin._counts = dict(self._groups), Counter(self._counts)
        twin._musts = {lucky: Counter(found) for lucky, found in self._musts.items()}
        twin._ruled = {lucky: Counter(found) for lucky, found in self._ruled.items()}
        twin._promised, twin._repelling = dict(self._promised), self._repelling
        twin._minded, twin._unchecked, twin._meeting = dict(self._minded), list(self._unchecked), set(self._meeting)
        twin._table, twin._outdated = self._table, dict(self._outdated)
        twin.pods = self.pods
        return twin

    def __iter__(self) -> Iterator[Coming]:
        return iter(self._groups.values())

    def add(self, coming: Coming) -> None:
        """More that come; of a group that was there already these instead."""
        self._count(self._groups.get(coming.group), -1)
        self._groups[coming.group] = coming
        self._count(coming, 1)
        self._forget(coming.group)
        roster = Roster.of(coming.gang)
        if roster.may_mind or roster.is_looked_at:
            self._minded[coming.group] = roster
            self._unchecked.append(coming.group)

    def remove(self, group: str) -> None:
        """A group does not come any more, or has come."""
        self._count(self._groups.pop(group, None), -1)
        self._forget(group)

    def _forget(self, group: str) -> None:
        if self._minded.pop(group, None) is None:
            return
        self._unchecked = [other for other in self._unchecked if other != group]
        if self._meeting:  # perhaps some met this one alone
            self._unchecked, self._meeting = list(self._minded), set()

    @property
    def minded(self) -> Iterable[Gang]:
        """Those gangs among them that have rules, or that some rule of the fleet looks at."""
        return self._minded.values()

    def keep_to_themselves(self, gang: Gang) -> bool:
        """Whether no rule of theirs, nor of a gang that comes too, may be about any but the own pods, as `ownrules` says it."""
        if own_rules(gang) is None:
            return False
        while self._unchecked:
            group = self._unchecked.pop()
            mine = self._minded[group]
            if own_rules(mine) is None or any(meet(mine, each) for name, each in self._minded.items() if name != group):
                self._meeting.add(group)
        return not self._meeting and not any(meet(gang, each) for each in self._minded.values())

    @property
    def counts(self) -> Mapping[PodShape, int]:
        """How many pods of each shape. Do not write to it."""
        return self._counts

    @property
    def table(self) -> Table:
        """All of them, for who asks much before others come."""
        if self._table is None or self._outdated:
            self._table, self._outdated = self._renewed(), {}
        return self._table

    def _renewed(self) -> Table:
        before = self._table
        if before is not None and all(each in self._counts for each in self._outdated):
            return before.changed(self._outdated, self._counts, self._musts)
        shapes = tuple(self._counts)
        return Table(
            shapes,
            {shape: place for place, shape in enumerate(shapes)},
            np.array([self._counts[shape] for shape in shapes], dtype=np.int64),
            {
                lucky: np.array([shape in found for shape in shapes], dtype=np.bool_)
                for lucky, found in self._musts.items()
            },
        )

    def must(self, lucky: bool) -> bool:
        """Whether some of them may not be left out for the sake of a gang; `lucky`: of one that is placed by luck."""
        return self._promised[lucky] > 0

    def ruled(self, lucky: bool) -> Set[PodShape]:
        """The shapes of those for which rules about other pods hold."""
        return self._ruled[lucky].keys()

    @property
    def repels(self) -> bool:
        return self._repelling > 0

    def _count(self, coming: Coming | None, sign: int) -> None:
        if coming is None:
            return
        promised = [lucky for lucky in (False, True) if coming.must(lucky)]
        for lucky in promised:
            self._promised[lucky] += sign
        roster = Roster.of(coming.gang)
        for shape, count in roster.counts.items():
            self.pods += sign * count
            _change(self._counts, shape, sign * count)
            self._outdated[shape] = None
            for lucky in promised:
                _change(self._musts[lucky], shape, sign)
        for pods in roster if roster.may_mind else ():
            self._repelling += sign * bool(pods.shape.pod_anti_affinity)
            for lucky in promised if self._is_ruled(pods) else ():
                _change(self._ruled[lucky], pods.shape, sign)


def _change(counts: Counter[PodShape], shape: PodShape, by: int) -> None:
    count = counts.get(shape, 0) + by
    if count:
        counts[shape] = count
    else:
        del counts[shape]

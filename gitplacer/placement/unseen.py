"""
Sums of what groups ask of a cluster's quota and its snapshot does not count yet, kept up to date while a round goes on.

What a snapshot counts as used is gone already from what it says is left. So of a group that runs there only that is added up which the snapshot does
not count yet, and whether there is enough for one more group is asked beside the sums of all others. `kueuequota` and `namespacequota` share this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, TypeVar

from gitplacer.model.resources import NOTHING, Resources
from gitplacer.placement.holders import Holders
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass

Of = TypeVar("Of")
"""Of what it is taken."""


class Unseen(Generic[Of]):
    """What is taken on some clusters (`there`); `found` tells of a group on one of them what is not seen. On others there is nothing to count."""

    def __init__(
        self,
        shared: Pass,
        occupancy: Occupancy,
        there: Collection[str],
        found: Callable[[str, str], Mapping[Of, Resources]],
    ) -> None:
        self._holders = Holders(shared, occupancy)
        self._there, self._found = there, found
        self._known: dict[tuple[str, str], Mapping[Of, Resources]] = {}
        self._taken: dict[tuple[str, str], Mapping[Of, Resources]] = {}
        """What counts of each group on each cluster."""
        self._sums: dict[str, dict[Of, Resources]] = defaultdict(dict)
        """The same added up for each cluster."""

    def asked(self, group_id: str, name: str) -> Mapping[Of, Resources]:
        """What a group takes on a cluster for pods that are not seen there."""
        self._catch_up()
        return self._asked(group_id, name)

    def asked_together(self, ids: Collection[str], name: str) -> Mapping[Of, Resources]:
        """The same of several groups."""
        if len(ids) == 1:
            return self.asked(next(iter(ids)), name)
        self._catch_up()
        found: dict[Of, Resources] = {}
        for group_id in ids:
            for of, amounts in self._asked(group_id, name).items():
                found[of] = found.get(of, NOTHING) + amounts
        return found

    def of_others(self, ids: Collection[str], name: str, of: Of, beside: Collection[str] = ()) -> Resources:
        """What all others take there of one thing, where some (`beside`) take what they ask for."""
        self._catch_up()
        own = (self._taken.get((group_id, name)) for group_id in (*ids, *beside))
        taken = [each[of] for each in own if each is not None and of in each]
        sum_ = self._sums[name].get(of, NOTHING)
        sum_ = _less(sum_, taken) if taken else sum_
        return sum_ + self.asked_together(beside, name).get(of, NOTHING) if beside else sum_

    def by_others(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> dict[Of, Resources]:
        """The same of everything."""
        self._catch_up()
        known = {*self._sums[name], *(self.asked_together(beside, name) if beside else ())}
        return {of: self.of_others(ids, name, of, beside) for of in known}

    def by_all(self, name: str) -> Mapping[Of, Resources]:
        """What is taken on a cluster."""
        self._catch_up()
        return self._sums[name]

    def _catch_up(self) -> None:
        for group_id, name in self._holders.changed():
            self._known.pop((group_id, name), None)
            if name in self._there:
                self._count(group_id, name)

    def _count(self, group_id: str, name: str) -> None:
        before = self._taken.pop((group_id, name), {})
        counts = self._holders.counts(group_id, name)
        now = self._asked(group_id, name) if counts else {}
        if now:
            self._taken[group_id, name] = now
        sums = self._sums[name]
        for of in {*before, *now}:
            sums[of] = _less(sums.get(of, NOTHING) + now.get(of, NOTHING), [before.get(of, NOTHING)])

    def _asked(self, group_id: str, name: str) -> Mapping[Of, Resources]:
        if (group_id, name) not in self._known:
            self._known[group_id, name] = self._found(group_id, name)
        return self._known[group_id, name]


def _less(amounts: Resources, taken: Iterable[Resources]) -> Resources:
    """Amounts without those that are among them."""
    left = dict(amounts)
    for each in taken:
        for resource, amount in each.items():
            left[resource] -= amount
    return Resources(left)

"""
Whether there is quota for an edit of running pods, in Kueue's queues or in the ResourceQuotas of namespaces.

What runs is used already, so an edit asks for what it adds. That is held against what is left, beside all that is promised to the groups on the
cluster; of several edits that add something, the first by priority and name gets it. An edit that adds nothing is never refused, however little is left.
How much an edit adds is the business of a `Demand`: `kueuedemand` or `namespacedemand`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.placement.onepass import Pass
from gitplacer.placement.overlaps import Overlap
from gitplacer.placement.updating import MemberUpdate
from gitplacer.source.manifests import SourceObject

Of = TypeVar("Of")
"""Of what it is taken."""
Why = TypeVar("Why")
"""Why it is refused."""


class Growth(Struct, Generic[Of, Why], frozen=True):
    """What a group takes as it is deployed, and as it is edited; `refused`: why the edited pods are not let in, whatever is left."""

    before: Mapping[Of, Resources]
    after: Mapping[Of, Resources]
    refused: Why | None = None

    @property
    def more(self) -> Iterator[tuple[Of, str, int]]:
        """Of what the edit takes more, and how much it takes of that."""
        for of, amounts in self.after.items():
            before = self.before.get(of, NOTHING)
            yield from ((of, each, wanted) for each, wanted in amounts.items() if wanted > before.get(each, 0))


class Demand(Protocol[Of, Why]):
    """What groups ask of one sort of quota, on the clusters that have any (`there`)."""

    @property
    def there(self) -> Collection[str]: ...

    def concerns(self, group: Group, name: str) -> bool:
        """Whether a group may take any of it."""

    def parts(self, group: Group, name: str) -> Sequence[SourceObject]:
        """The objects of a group that may take any."""

    def taken(self, group_id: str, name: str) -> Mapping[Of, Resources]:
        """What a group takes on a cluster."""

    def growth(self, group_id: str, name: str, updates: Sequence[MemberUpdate]) -> Growth[Of, Why]:
        """What it takes there before and after some edits, and what is added to it."""

    def exceeded(self, name: str, growth: Growth[Of, Why], promised: Mapping[Of, Resources]) -> Why | None:
        """Why too little is left of what an edit takes more, beside all that is promised, to its own group too; None if it does."""


class Growths(Generic[Of, Why]):
    """The edits of a pass. `has_finished` says of a group on a cluster whether it holds nothing any more."""

    def __init__(self, shared: Pass, demand: Demand[Of, Why], has_finished: Callable[[str, str], bool]) -> None:
        self._pass, self._demand, self._has_finished = shared, demand, has_finished
        self._refusals: dict[str, Mapping[str, Why]] = {}

    def refusal(self, group_id: str, name: str) -> Why | None:
        """Why what the edit of a group takes on a cluster is not let in there, or objects that are added to it; None if it is."""
        if name not in self._demand.there:
            return None
        if name not in self._refusals:
            self._refusals[name] = self._judged(name)
        return self._refusals[name].get(group_id)

    def adds(self, group_id: str, name: str) -> bool:
        """Whether a group that is on a cluster gets more objects there, where that counts, and none of it is edited."""
        group = _changing(self._pass, group_id, name) if name in self._demand.there else None
        if group is None or not self._demand.concerns(group, name) or self._pass.overlap(group_id, name) is not None:
            return False
        record = self._pass.record(group_id)
        known = {member.identity for member in record.members} if record is not None else set()
        return any(member.identity not in known for member in self._demand.parts(group, name))

    def _judged(self, name: str) -> dict[str, Why]:
        """The edits that are refused on a cluster, with why."""
        promised: dict[Of, Resources] = defaultdict(lambda: NOTHING)
        edits: list[tuple[Group, Growth[Of, Why], bool]] = []
        for group_id in self._recorded_on.get(name, ()):
            if self._has_finished(group_id, name):
                continue
            overlap, adds = overlap_of(self._pass, self._demand, group_id, name), self.adds(group_id, name)
            if adds or (overlap is not None and overlap.updates):
                growth = self._demand.growth(group_id, name, overlap.updates if overlap is not None else ())
                goes_on = adds or (group_id, name) in self._pass.proceeding
                edits.append((self._pass.groups[group_id], growth, goes_on))
                taken = growth.before
            else:
                taken = self._demand.taken(group_id, name)
            for of, amounts in taken.items():
                promised[of] += amounts
        found: dict[str, Why] = {}
        for group, growth, goes_on in sorted(edits, key=lambda edit: (-edit[0].priority, edit[0].id)):
            refused = growth.refused or self._demand.exceeded(name, growth, promised)
            if refused:
                found[group.id] = refused
            for of, each, wanted in growth.more if goes_on or not refused else ():
                promised[of] += {each: wanted - growth.before.get(of, NOTHING).get(each, 0)}
        return found

    @cached_property
    def _recorded_on(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        there = frozenset(self._demand.there)
        for group_id, names in self._pass.recorded.items():
            for name in there.intersection(names):
                found[name].append(group_id)
        return found


def overlap_of(shared: Pass, demand: Demand[Of, Why], group_id: str, name: str) -> Overlap | None:
    """The old and new pods of a group on a cluster, where they count."""
    group = _changing(shared, group_id, name)
    return shared.overlap(group_id, name) if group is not None and demand.concerns(group, name) else None


def _changing(shared: Pass, group_id: str, name: str) -> Group | None:
    """A group that is on a cluster, and may get other pods there."""
    group = shared.groups.get(group_id)
    if group is None or group_id in shared.held or name not in shared.recorded.get(group_id, ()):
        return None
    return None if (group_id, name) in shared.roles else group

"""
Whether edits of what runs on a cluster may take what they take more of something that it has only so much of: quota of its namespaces, and of
Kueue's queues.

What runs is used already, so an edit takes what it adds. It is held against what is left beside all that is promised to those who are there; of
several that grow, whoever comes first by priority and name gets it. One that asks for no more than before is never refused, however little is left.
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


class Takings(Protocol[Of, Why]):
    """What knows what groups take for pods that are not counted yet, on the clusters that are `there`."""

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

    def __init__(self, shared: Pass, takings: Takings[Of, Why], has_finished: Callable[[str, str], bool]) -> None:
        self._pass, self._takings, self._has_finished = shared, takings, has_finished
        self._refusals: dict[str, Mapping[str, Why]] = {}

    def refusal(self, group_id: str, name: str) -> Why | None:
        """Why what the edit of a group takes on a cluster is not let in there, or objects that are added to it; None if it is."""
        if name not in self._takings.there:
            return None
        if name not in self._refusals:
            self._refusals[name] = self._judged(name)
        return self._refusals[name].get(group_id)

    def adds(self, group_id: str, name: str) -> bool:
        """Whether a group that is on a cluster gets more objects there, where that counts, and none of it is edited."""
        group = _changing(self._pass, group_id, name) if name in self._takings.there else None
        if group is None or not self._takings.concerns(group, name) or self._pass.overlap(group_id, name) is not None:
            return False
        record = self._pass.record(group_id)
        known = {member.identity for member in record.members} if record is not None else set()
        return any(member.identity not in known for member in self._takings.parts(group, name))

    def _judged(self, name: str) -> dict[str, Why]:
        """The edits that are refused on a cluster, with why."""
        promised: dict[Of, Resources] = defaultdict(lambda: NOTHING)
        edits: list[tuple[Group, Growth[Of, Why], bool]] = []
        for group_id in self._recorded_on.get(name, ()):
            if self._has_finished(group_id, name):
                continue
            overlap, adds = overlap_of(self._pass, self._takings, group_id, name), self.adds(group_id, name)
            if adds or (overlap is not None and overlap.updates):
                growth = self._takings.growth(group_id, name, overlap.updates if overlap is not None else ())
                goes_on = adds or (group_id, name) in self._pass.proceeding
                edits.append((self._pass.groups[group_id], growth, goes_on))
                taken = growth.before
            else:
                taken = self._takings.taken(group_id, name)
            for of, amounts in taken.items():
                promised[of] += amounts
        found: dict[str, Why] = {}
        for group, growth, goes_on in sorted(edits, key=lambda edit: (-edit[0].priority, edit[0].id)):
            refused = growth.refused or self._takings.exceeded(name, growth, promised)
            if refused:
                found[group.id] = refused
            for of, each, wanted in growth.more if goes_on or not refused else ():
                promised[of] += {each: wanted - growth.before.get(of, NOTHING).get(each, 0)}
        return found

    @cached_property
    def _recorded_on(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        there = frozenset(self._takings.there)
        for group_id, names in self._pass.recorded.items():
            for name in there.intersection(names):
                found[name].append(group_id)
        return found


def overlap_of(shared: Pass, takings: Takings[Of, Why], group_id: str, name: str) -> Overlap | None:
    """The old and new pods of a group on a cluster, where they count."""
    group = _changing(shared, group_id, name)
    return shared.overlap(group_id, name) if group is not None and takings.concerns(group, name) else None


def _changing(shared: Pass, group_id: str, name: str) -> Group | None:
    """A group that is on a cluster, and may get other pods there."""
    group = shared.groups.get(group_id)
    if group is None or group_id in shared.held or name not in shared.recorded.get(group_id, ()):
        return None
    return None if (group_id, name) in shared.roles else group

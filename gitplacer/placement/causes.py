"""
Why a group should leave a cluster that it is on: a trigger says so, or somebody sends it elsewhere.

Triggers know of no room and no other group. What they ask of these (whether nodes are on their way, whether pods that wait would find one
after all) is looked up here, and only if they ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.machines import LimitKind
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.consents import Consents
from gitplacer.placement.occupancy import Occupancy, Placements
from gitplacer.placement.onepass import Pass
from gitplacer.placement.pack import Packing
from gitplacer.relocation.triggers import Standing, trigger

Triggers = Mapping[str, Finding]
"""For each cluster that a group should leave, why."""


class Causes:
    """As everything is in one round."""

    def __init__(self, shared: Pass, placements: Placements, occupancy: Occupancy, consents: Consents) -> None:
        self._pass = shared
        self._placements = placements
        self._occupancy = occupancy
        self._consents = consents

    def triggers(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """For each cluster that a group is on and should leave, why."""
        here = self._placements.get(group.id, ())
        found = {name: why for name in here if (why := self.trigger(group, policy, name)) is not None}
        return found or self._sent(group, policy)

    def still_stands(self, group: Group, policy: PlacementPolicy, clusters: Iterable[str]) -> bool:
        """Whether there is still a reason to leave any of some clusters."""
        return any(self.trigger(group, policy, name) is not None for name in clusters)

    def trigger(self, group: Group, policy: PlacementPolicy, name: str) -> Finding | None:
        """Why a group should leave a cluster, whatever anybody consents to."""
        return trigger(self._standing(group, policy, name))

    def _standing(self, group: Group, policy: PlacementPolicy, name: str) -> Standing:
        cluster = self._pass.clusters.get(name)
        record = self._pass.records[group.id]
        recorded = record.id if record is not None else group.id
        stirs = (recorded, name) in self._pass.stirring
        return Standing(
            snapshot=self._pass.snapshot,
            group=group,
            policy=policy,
            name=name,
            cluster=cluster,
            entry=self._pass.entry(group.id, name) if stirs else None,
            recorded=recorded,
            unmet=self._pass.entrance.may_not_stay(group, policy, cluster) if cluster is not None else None,
            silent_since=self._pass.silent.get(name),
            nodes_come=partial(self._nodes_come, name),
            fits_now=partial(self._fits_now, group, name),
        )

    def _nodes_come(self, name: str) -> bool:
        """Whether machines are on their way to a cluster, by its snapshot, and can be had."""
        limits = self._occupancy.books[name].nodes.catalogue.limits.values()
        exhausted = {limit.subject for limit in limits if limit.kind == LimitKind.EXHAUSTED}
        return any(limit.coming and limit.subject not in exhausted for limit in limits)

    def _fits_now(self, group: Group, name: str, roles: Counter[str]) -> bool:
        """Whether so many pods of each role of a group would find a node, beside its others and all that are promised one."""
        waiting, others = _parted(self._pass.gang_on(group.id, name), roles)
        if self._pass.overlap(group.id, name) is not None:
            others = self._pass.held_on(group.id, name)
        ledger = self._occupancy.books[name].copy()
        ledger.release(group.id)
        ledger.reserve_placed(group.id, others, finished=False, scale_up=False)
        return isinstance(ledger.fit(waiting, scale_up=False), Packing)

    def _sent(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """The cluster that a group should leave because somebody says so, and has said where to."""
        here = self._placements.get(group.id, ())
        consent, to = self._consents.sending_on(group, here)
        if consent is None or not to or not here or not self._pass.recorded.get(group.id):
            return {}  # what is placed in this pass has no files yet that could move
        record = self._pass.records[group.id]
        last = record.moves[-1] if record is not None and record.moves else None
        came = [name for name in here if last is not None and name in last.to]
        returns = came if consent.approval.spec.action == "Return" else []
        worst = max(returns or here, key=lambda name: (self._pass.preference(policy, name), name))
        return {worst: Finding(code=Reason.MOVE_APPROVED, subject=consent.approval.name)}


def _parted(gang: Gang, roles: Counter[str]) -> tuple[Gang, Gang]:
    """So many pods of each role of a gang, and the others."""
    left = Counter(roles)
    some, others = [], []
    for pods in gang:
        count = min(pods.count, left[pods.role])
        left[pods.role] -= count
        if count:
            some.append(replace(pods, count=count))
        if pods.count > count:
            others.append(replace(pods, count=pods.count - count))
    return tuple(some), tuple(others)

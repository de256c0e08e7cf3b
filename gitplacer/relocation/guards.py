"""
How many groups may begin to move in a time, and when none may.

What has moved is counted from the records, which remember each relocation for a day; a group that is gone from the source takes its
relocations with it. A guard stops only moves of its own sort: evacuations are not counted among other relocations, nor the
other way round. Nor does it stop a tenant because of others: whoever has not had a fair share of it may move, so that all together
are at most twice as many, or one each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta

from gitplacer.kinds import calendar
from gitplacer.kinds.fleet import MoveGuard, fair_share
from gitplacer.model.decision import Reason
from gitplacer.relocation.triggers import EVACUATIONS
from gitplacer.snapshot import Snapshot


def frozen_until(snapshot: Snapshot, reason: Reason) -> datetime | None:
    """Until when nothing begins to move for a reason; None if something may."""
    ends = [
        calendar.window(freeze.schedule, freeze.duration, freeze.time_zone, snapshot.now)
        for freeze in snapshot.source.own.fleet.spec.guards.freeze
        if reason not in freeze.allow
    ]
    return max((end for end in ends if end is not None), default=None)


class Tally:
    """The moves that have begun, those of this pass included: `begin` counts one more."""

    def __init__(self, snapshot: Snapshot, gone: Collection[str] = ()) -> None:
        """`gone` are the groups whose records go in this pass."""
        guards = snapshot.source.own.fleet.spec.guards
        self._guards = {True: guards.evacuations, False: guards.relocations}
        self._begun: set[str] = set()
        self._count: Counter[bool] = Counter()
        self._own: Counter[tuple[bool, str]] = Counter()
        self._snapshot, self._owners = snapshot, len(snapshot.source.tenancy.tenants)
        for record in snapshot.records.values():
            for moved in record.moves or () if record.id not in gone else ():
                evacuates = moved.reason in EVACUATIONS
                if snapshot.now - moved.at < timedelta(seconds=self._guards[evacuates].per):
                    self._count[evacuates] += 1
                    self._own[evacuates, snapshot.owner(record)] += 1

    def reached(self, group_id: str, reason: Reason) -> MoveGuard | None:
        """The guard that stops one more move for a reason, if one does."""
        evacuates = reason in EVACUATIONS
        guard = self._guards[evacuates]
        if guard.exceed == "Allow" or group_id in self._begun or self._count[evacuates] < guard.max:
            return None
        is_fair = self._own[evacuates, self._owner(group_id)] < fair_share(guard.max, self._owners)
        return None if is_fair else guard

    def begin(self, group_id: str, reason: Reason) -> None:
        """Count a move that begins in this pass, once."""
        if group_id not in self._begun:
            self._begun.add(group_id)
            self._count[reason in EVACUATIONS] += 1
            self._own[reason in EVACUATIONS, self._owner(group_id)] += 1

    def _owner(self, group_id: str) -> str:
        group = self._snapshot.groups.get(group_id)
        return group.tenant.name if group is not None and group.tenant is not None else ""

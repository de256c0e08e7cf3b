"""
How many groups may begin to move or be removed in a time, and when none may.

What has moved is counted from the records, which remember each relocation for a day; a group that is gone from the source takes its
relocations with it. A guard stops only moves of its own sort: evacuations are not counted among other relocations, nor the
other way round.

The record of a group that is removed goes with it, so removals are counted from a file beside the records, which a pass that removes
something writes. Groups that the source does not have any more are held all together: a source of which a quarter is missing was
truncated, rendered by a broken job or edited by mistake, and a part of a mistake is no better than all of it. Which part should it be?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from gitplacer.kinds import calendar
from gitplacer.kinds.fields import duration_text
from gitplacer.kinds.fleet import MoveGuard
from gitplacer.kinds.record import PlacementRecord
from gitplacer.kinds.removals import Removal
from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.triggers import EVACUATIONS
from gitplacer.snapshot import REMOVALS_FILE, Snapshot
from gitplacer.source.consent import consent_to
from gitplacer.source.manifests import WORKLOADS


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
        for record in snapshot.records.values():
            for moved in record.moves or () if record.id not in gone else ():
                evacuates = moved.reason in EVACUATIONS
                if snapshot.now - moved.at < timedelta(seconds=self._guards[evacuates].per):
                    self._count[evacuates] += 1

    def reached(self, group_id: str, reason: Reason) -> MoveGuard | None:
        """The guard that stops one more move for a reason, if one does."""
        evacuates = reason in EVACUATIONS
        guard = self._guards[evacuates]
        if guard.exceed == "Allow" or group_id in self._begun or self._count[evacuates] < guard.max:
            return None
        return guard

    def begin(self, group_id: str, reason: Reason) -> None:
        """Count a move that begins in this pass, once."""
        if group_id not in self._begun:
            self._begun.add(group_id)
            self._count[reason in EVACUATIONS] += 1


def held_removals(snapshot: Snapshot, going: Iterable[PlacementRecord]) -> dict[str, Finding]:
    """Of records that would go because the source has no such group those that stay by the guard on removals, with why."""
    guard = snapshot.source.own.fleet.spec.guards.removals
    counted = sorted(record.id for record in going if is_counted(snapshot, record))
    if not counted:
        return {}
    if snapshot.removed is None:
        return dict.fromkeys(counted, Finding(code=Reason.FOREIGN_CHANGE, subject=REMOVALS_FILE))
    lately = sum(removal.groups for removal in lately_removed(snapshot))
    groups = sum(group.unit == WORKLOADS for group in snapshot.groups.values())
    most = guard.most(groups + len(counted) + lately)
    wanted = lately + len(counted)
    if wanted <= most:
        return {}
    stay = counted[max(0, most - lately) :] if guard.exceed == "Throttle" else counted
    return dict.fromkeys(
        stay, Finding(code=Reason.TOO_MANY_REMOVALS, subject=duration_text(guard.per), placed=most, wanted=wanted)
    )


def is_counted(snapshot: Snapshot, record: PlacementRecord) -> bool:
    """
    Whether the removal of a group counts: of one that is deployed or has run, of which an object is nowhere in the source any more, and to
    whose removal nobody has consented. What only changes groups is not removed, and platform objects are asked for one by one.
    """
    if snapshot.source.own.fleet.spec.guards.removals.exceed == "Allow" or record.is_platform:
        return False
    there = snapshot.source.identities
    lost = any(member.identity not in there for member in record.members if member.only != "Remote")
    return lost and bool(record.clusters or record.finished) and not _may_go(snapshot, record)


def _may_go(snapshot: Snapshot, record: PlacementRecord) -> bool:
    """Whether somebody has consented to the removal of a group."""
    approvals, used = snapshot.source.own.approvals, record.approvals or ()
    return any(
        consent_to(approvals, record.id, action, snapshot.now, carried_out=used) is not None
        for action in ("Remove", "Exceed")
    )


def lately_removed(snapshot: Snapshot) -> tuple[Removal, ...]:
    """The removals that still count, as far as they are known."""
    per = timedelta(seconds=snapshot.source.own.fleet.spec.guards.removals.per)
    return tuple(removal for removal in snapshot.removed or () if snapshot.now - removal.at < per)

"""
How many groups may begin to move or be removed in a time, and when none may.

What has moved is counted from the records, which remember each relocation for a day; a group that is gone from the source takes its
relocations with it. A guard stops only moves of its own sort: evacuations are not counted among other relocations, nor the
other way round. Nor does it stop a tenant because of others: whoever has not had a fair share of it may move, so that all together
are at most twice as many, or one each.

The record of a group that is removed goes with it, so removals are counted from a file beside the records, which a pass that removes
something writes. Groups that the source does not have any more are held all together: a source of which a quarter is missing was
truncated, rendered by a broken job or edited by mistake, and a part of a mistake is no better than all of it. Which part should it be?

Tenants are looked at one by one, because whoever may remove all that is his must not thereby hold what others remove. Who loses more
than the guard lets go of as many groups as he has is held, and nobody else for it. Who loses a quarter or a single group, and has others
left, loses that whatever others lose. All those between count together. So of a source that lost a quarter of everything at least one tenant is held.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from gitplacer.kept import REMOVALS_FILE
from gitplacer.kinds import calendar
from gitplacer.kinds.fields import duration_text
from gitplacer.kinds.fleet import MoveGuard, RemovalGuard, fair_share
from gitplacer.kinds.record import PlacementRecord
from gitplacer.kinds.removals import Removal
from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.triggers import EVACUATIONS
from gitplacer.snapshot import Snapshot
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


def held_removals(snapshot: Snapshot, going: Iterable[PlacementRecord]) -> dict[str, Finding]:
    """Of records that would go because the source has no such group those that stay by the guard on removals, with why."""
    guard = snapshot.source.own.fleet.spec.guards.removals
    counted = sorted(record.id for record in going if is_counted(snapshot, record))
    if not counted:
        return {}
    if snapshot.removed is None:
        return dict.fromkeys(counted, Finding(code=Reason.FOREIGN_CHANGE, subject=REMOVALS_FILE))
    records = snapshot.records
    gone: dict[str, list[str]] = defaultdict(list)
    for record_id in counted:
        gone[snapshot.owner(records[record_id])].append(record_id)
    lately: Counter[str] = Counter()
    for removal in lately_removed(snapshot):
        lately[removal.tenant or ""] += removal.groups
    left = Counter(
        group.tenant.name if group.tenant else "" for group in snapshot.groups.values() if group.unit == WORKLOADS
    )
    owners = len(snapshot.source.tenancy.tenants)
    held: dict[str, Finding] = {}
    together: list[str] = []
    for owner in sorted({*gone, *lately}):
        wanted = lately[owner] + len(gone[owner])
        most = guard.most(left[owner] + wanted)
        if wanted > most:
            whose = f", of tenant {owner}" if owner and owners > 1 else ""
            held |= _held(guard, gone[owner], lately[owner], most, whose)
        elif wanted > guard.own(left[owner] + wanted, owners) or not left[owner]:
            together.append(owner)
    going_together = sorted(record_id for owner in together for record_id in gone[owner])
    before = sum(lately[owner] for owner in together)
    most = guard.most(left.total() + len(counted) + lately.total())
    if before + len(going_together) > most:
        held |= _held(guard, going_together, before, most, "")
    return held


def _held(guard: RemovalGuard, going: Sequence[str], lately: int, most: int, whose: str) -> dict[str, Finding]:
    """Those of some groups that stay, where more go than may."""
    stay = going[max(0, most - lately) :] if guard.exceed == "Throttle" else going
    subject = duration_text(guard.per) + whose
    finding = Finding(code=Reason.TOO_MANY_REMOVALS, subject=subject, placed=most, wanted=lately + len(going))
    return dict.fromkeys(stay, finding)


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

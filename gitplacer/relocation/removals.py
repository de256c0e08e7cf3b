"""
How many groups may be removed in a time because the source does not have them any more.

The record of a group that is removed goes with it, so removals are counted from a file beside the records, which a pass that removes
something writes. Groups that the source does not have any more are held all together: a source of which a quarter is missing was
truncated, rendered by a broken job or edited by mistake, and a part of a mistake is no better than all of it. Which part should it be?

Tenants are looked at one by one, because a Tenant that removes all its groups must not thereby hold what others remove. One that loses more than the
guard would let go of a fleet of its size is held, and no other for it. One that loses a quarter of its groups or a single one, and has others left, loses
them whatever others lose. All those between count together. So of a source that lost a quarter of everything at least one Tenant is held.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta

from gitplacer.kept import REMOVALS_FILE
from gitplacer.kinds.fields import duration_text
from gitplacer.kinds.fleet import RemovalGuard
from gitplacer.kinds.record import PlacementRecord
from gitplacer.kinds.removals import Removal
from gitplacer.model.decision import Finding, Reason
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import consent_to
from gitplacer.source.manifests import WORKLOADS


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

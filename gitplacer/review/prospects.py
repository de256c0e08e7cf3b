"""
What could still change a plan between the review and the merge.

A plan is computed again after the merge, from what is so then. Here is what is known now to become different by itself, with its
time: snapshots that grow old, freezes that begin or end, consent that expires, waits that end; and what stands in the way
already: changes of others, groups that are first when room gets free, and how much another branch may take. Facts only: nothing
is guessed about what people will do.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from gitplacer.accounts import Freshness, freshness
from gitplacer.explain import PlanView
from gitplacer.kinds import calendar
from gitplacer.model.decision import Action, Decision, Reason
from gitplacer.relocation.guards import frozen_until
from gitplacer.review.room import Headroom

SOON = timedelta(days=7)
"""What happens later than that is not told: the plan will be a new one by then."""
OLD = timedelta(hours=1)
"""A snapshot without a `maxAge` that is older than that is named."""

_UNTIL = (Reason.COOLING_DOWN, Reason.BACKING_OFF)


class Prospect(enum.StrEnum):
    """What may change a plan."""

    BEHIND = "Behind"  # the base has commits that the change lacks
    CONNECTS_ELSEWHERE = "ConnectsElsewhere"  # a field of the Fleet, what it says before the change and after it
    SNAPSHOT_EXPIRES = "SnapshotExpires"
    SNAPSHOT_OLD = "SnapshotOld"
    FREEZE_ENDS = "FreezeEnds"
    FREEZE_BEGINS = "FreezeBegins"
    APPROVAL_EXPIRES = "ApprovalExpires"
    WAIT_ENDS = "WaitEnds"  # a cooldown, or a hold after a relocation that was taken back
    FOREIGN_CHANGES = "ForeignChanges"
    FIRST_IN_LINE = "FirstInLine"  # others wait longer, or are more important
    LITTLE_ROOM = "LittleRoom"  # what a branch that is merged first may take


class Outlook(Struct, frozen=True, kw_only=True):
    """One fact. `names` are clusters, groups, Approvals, or what the fact is about; `at` is when it happens or, of a snapshot, when it was taken."""

    prospect: Prospect
    names: tuple[str, ...] = ()
    at: datetime | None = None
    room: Headroom | None = None


def outlooks(view: PlanView, decisions: Sequence[Decision], rooms: Iterable[Headroom]) -> tuple[Outlook, ...]:
    """What may change a plan for some of its groups, those of which a review is; what is near comes first."""
    found = [
        *_snapshots(view, decisions),
        *_freezes(view, decisions),
        *_approvals(view, decisions),
        *_waits(decisions),
        *_foreign(view),
        *_first_in_line(view, decisions),
        *_little_room(rooms),
    ]
    order = {prospect: rank for rank, prospect in enumerate(Prospect)}
    return tuple(sorted(found, key=lambda each: (order[each.prospect], each.at or view.snapshot.now, each.names)))


def _gains(decision: Decision) -> bool:
    """Whether a cluster takes something that it did not have."""
    return bool(set(decision.after) - set(decision.before)) or decision.action in (Action.EXTEND, Action.UPDATE)


def _snapshots(view: PlanView, decisions: Sequence[Decision]) -> Iterator[Outlook]:
    """Of the clusters that take something."""
    now = view.snapshot.now
    names = {name for decision in decisions if _gains(decision) for name in decision.after}
    for name in sorted(names & view.clusters.keys()):
        cluster, snapshot = view.clusters[name], view.snapshot.capacity.get(name)
        if snapshot is None or freshness(view, cluster) is not Freshness.CURRENT:
            continue
        if cluster.spec.max_age is not None:
            ends = snapshot.observed_at + timedelta(seconds=cluster.spec.max_age)
            if ends - now <= SOON:
                yield Outlook(prospect=Prospect.SNAPSHOT_EXPIRES, names=(name,), at=ends)
        elif now - snapshot.observed_at > OLD:
            yield Outlook(prospect=Prospect.SNAPSHOT_OLD, names=(name,), at=snapshot.observed_at)


def _freezes(view: PlanView, decisions: Sequence[Decision]) -> Iterator[Outlook]:
    """Freezes that hold something now, and those that would hold a move that begins in this pass."""
    now = view.snapshot.now
    held: dict[datetime, list[str]] = {}
    moves: list[tuple[str, Reason]] = []
    for decision in decisions:
        if decision.finding.code is Reason.FROZEN:
            trigger = decision.finding.subject.partition(" ")[0]
            ends = frozen_until(view.snapshot, Reason(trigger)) if trigger in list(Reason) else None
            if ends is not None:
                held.setdefault(ends, []).append(decision.group)
        elif decision.action is Action.RELOCATE and decision.moving is None:
            moves.append((decision.group, decision.finding.code))
    for ends, groups in held.items():
        yield Outlook(prospect=Prospect.FREEZE_ENDS, names=tuple(groups), at=ends)
    for freeze in view.snapshot.source.own.fleet.spec.guards.freeze:
        stopped = tuple(group for group, reason in moves if reason not in freeze.allow)
        begins = calendar.next_beginning(freeze.schedule, freeze.time_zone, now) if stopped else None
        if begins is not None and begins - now <= SOON:
            yield Outlook(prospect=Prospect.FREEZE_BEGINS, names=stopped, at=begins)


def _approvals(view: PlanView, decisions: Sequence[Decision]) -> Iterator[Outlook]:
    """Consent to what happens to these groups, while it holds and has not counted yet."""
    now, approvals = view.snapshot.now, view.snapshot.source.own.approvals
    awaited: set[str] = set()
    for decision in decisions if approvals else ():
        record = view.record(decision)
        used = record.approvals or () if record is not None else ()
        awaited.update(item.identity for item in approvals.about(decision.group) if item.identity not in used)
    for consent in approvals:
        ends = consent.approval.spec.expires
        if not consent.holds(now) or consent.is_to_another_plan or ends - now > SOON:
            continue
        if consent.identity in awaited:
            yield Outlook(prospect=Prospect.APPROVAL_EXPIRES, names=(consent.approval.name,), at=ends)


def _waits(decisions: Sequence[Decision]) -> Iterator[Outlook]:
    for decision in decisions:
        until = decision.finding.subject.rpartition(" ")[2] if decision.finding.code in _UNTIL else ""
        try:
            at = datetime.fromisoformat(until.replace("Z", "+00:00"))
        except ValueError:
            continue
        yield Outlook(prospect=Prospect.WAIT_ENDS, names=(decision.group,), at=at)


def _foreign(view: PlanView) -> Iterator[Outlook]:
    if view.snapshot.foreign_paths:
        yield Outlook(prospect=Prospect.FOREIGN_CHANGES, names=tuple(sorted(view.snapshot.foreign_paths)))


def _first_in_line(view: PlanView, decisions: Sequence[Decision]) -> Iterator[Outlook]:
    """Groups that wait and are not among these: what gets free before the merge is theirs first."""
    ours = {decision.group for decision in decisions}
    if not any(decision.action in (Action.PLACE, Action.WAIT, Action.EXTEND) for decision in decisions):
        return
    waiting = tuple(d.group for d in view.plan.decisions if d.action is Action.WAIT and d.group not in ours)
    if waiting:
        yield Outlook(prospect=Prospect.FIRST_IN_LINE, names=waiting)


def _little_room(rooms: Iterable[Headroom]) -> Iterator[Outlook]:
    """The cluster with the least left of what these groups ask for."""
    least = min(rooms, key=lambda room: (room.free / room.offered, room.cluster, room.resource), default=None)
    if least is not None:
        yield Outlook(prospect=Prospect.LITTLE_ROOM, names=(least.cluster,), room=least)

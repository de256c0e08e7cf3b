"""
Whether a change may be merged without a second look.

Three answers. A change fails if it brings an error: what it says cannot be carried out. It needs a look if something of it waits,
moves, stops, or is held; that may be exactly what is wanted, and a person has to say so. It passes otherwise. Only what happens
because of the change counts; without a base to compare with, everything does.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from msgspec import Struct

from gitplacer.model.decision import Action, Reason
from gitplacer.problems import Problem, Severity
from gitplacer.review.clusters import ClusterChange
from gitplacer.review.connections import Reconnection
from gitplacer.review.downtime import Downtime
from gitplacer.review.rows import Row

_NO_ROOM = (Reason.UPGRADE_DOES_NOT_FIT, Reason.OUTGROWN, Reason.PODS_MAY_WAIT)


class Check(enum.StrEnum):
    """The state of a check on a pull request."""

    PASS = "Pass"
    LOOK = "NeedsALook"
    FAIL = "Fail"


class Worry(enum.StrEnum):
    """Why a change does not simply pass. Severe to mild."""

    ERRORS = "Errors"
    CONNECTS_ELSEWHERE = "ConnectsElsewhere"  # the Fleet names another repo, branch or directory
    ENDS = "Ends"
    GAP = "Gap"
    DOUBLE_RUN = "DoubleRun"
    PREEMPTED = "Preempted"
    WAITS = "Waits"
    HELD = "Held"
    REMOVED = "Removed"  # a copy of it, or what had run to its end
    NO_ROOM = "NoRoom"  # it stays or goes where not all its pods have room
    RELOCATED = "Relocated"
    CLUSTER = "Cluster"  # a cluster takes nothing new any more, or is gone


class Concern(Struct, frozen=True):
    """A worry and the groups, clusters or fields that it is about, sorted; of errors, how many there are."""

    worry: Worry
    names: tuple[str, ...]
    count: int


def concerns(
    rows: Iterable[Row],
    problems: Iterable[Problem],
    clusters: Iterable[ClusterChange],
    connections: Iterable[Reconnection] = (),
) -> tuple[Concern, ...]:
    """What of a change needs a look, severe to mild. A group is counted once, under the most severe."""
    less = [change.cluster for change in clusters if change.takes_less]
    found: dict[Worry, list[str]] = {Worry.CLUSTER: less} if less else {}
    if fields := [each.field for each in connections]:
        found[Worry.CONNECTS_ELSEWHERE] = fields
    for row in rows:
        worry = _worry(row) if row.is_ours else None
        if worry is not None:
            found.setdefault(worry, []).append(row.group)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    told = [Concern(Worry.ERRORS, (), errors)] if errors else []
    return (*told, *(Concern(worry, tuple(found[worry]), len(found[worry])) for worry in Worry if worry in found))


def state(found: Sequence[Concern]) -> Check:
    """The state of the check that such concerns lead to."""
    if any(concern.worry is Worry.ERRORS for concern in found):
        return Check.FAIL
    return Check.LOOK if found else Check.PASS


def _worry(row: Row) -> Worry | None:
    decision = row.decision
    by_downtime = {Downtime.ENDS: Worry.ENDS, Downtime.GAP: Worry.GAP, Downtime.DOUBLE_RUN: Worry.DOUBLE_RUN}
    if decision.action is Action.PREEMPT:
        return Worry.PREEMPTED
    if row.downtime in by_downtime:
        return by_downtime[row.downtime]
    if row.waits:
        return Worry.WAITS
    if decision.action is Action.HOLD:
        return Worry.HELD
    if decision.action is Action.REMOVE:
        return Worry.REMOVED if decision.before else None  # one that waited leaves nothing
    if decision.finding.code in _NO_ROOM or any(f.code in _NO_ROOM for f in decision.reasons.values()):
        return Worry.NO_ROOM
    return Worry.RELOCATED if decision.action is Action.RELOCATE else None

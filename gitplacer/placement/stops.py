"""
Why a group stays on a cluster that it should leave: its policy, its history, a freeze, or a guard.

Each is a finding whose subject is the reason to leave, so that both are told. A group that somebody sends away has consent already; a cluster that
was lost is left at once; and what must not run twice stays, whoever says otherwise, for as long as it may have started.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.placement.consents import Consents
from gitplacer.placement.onepass import Pass
from gitplacer.placement.sightings import Sightings
from gitplacer.relocation.triggers import DECLARED, mode_of


class Stops:
    """The same for all rounds of a pass, but that guards count the moves that begin in it."""

    def __init__(self, shared: Pass, consents: Consents, sightings: Sightings) -> None:
        self._pass = shared
        self._consents = consents
        self._sightings = sightings

    def stop(self, group: Group, policy: PlacementPolicy, cluster: str, why: Finding) -> Finding | None:
        """Why a group must stay on a cluster that it should leave, or None."""
        mode, sent = mode_of(policy, why.code), self._is_sent(group, why)
        if group.never_relocates or (mode == "Never" and not sent):
            return Finding(code=Reason.NEVER_RELOCATED, subject=why.code)
        if self._may_not_restart(group, policy, cluster) or cluster in self._sightings.ended(group):
            return Finding(code=Reason.MAY_HAVE_STARTED, subject=why.code)
        if sent:
            return None
        later = self._too_early(group, policy, why)
        if later is not None:
            return later
        if mode == "Manual" and group.id not in self._pass.agreed and self._consents.to(group, "Move") is None:
            return Finding(code=Reason.AWAITS_APPROVAL, subject=why.code)
        return None

    def _is_sent(self, group: Group, why: Finding) -> bool:
        """Whether somebody says that a group moves, and where to: it goes there and nowhere else, and another reason to leave is none to stay."""
        here = self._pass.recorded.get(group.id, ())
        return why.code is Reason.MOVE_APPROVED or bool(self._consents.sending_on(group, here)[1])

    def is_guarded(self, group: Group, why: Reason) -> bool:
        """Whether so many have moved lately that one more may not, for a reason, unless somebody consents to that."""
        return self._pass.tally.reached(group.id, why) is not None and self._consents.to(group, "Exceed") is None

    def _may_not_restart(self, group: Group, policy: PlacementPolicy, cluster: str) -> bool:
        """
        Whether what may have started on a cluster stays there. If the cluster is merely silent it does, whatever the policy says: nobody would see
        that it is gone before the cluster is heard of again, so that it could start nowhere else, and where it runs on it would end for nothing.
        """
        quiet = cluster in self._pass.silent and not self._pass.is_gone(cluster)
        stays = quiet or policy.spec.relocation.running_jobs == "Never"
        return stays and self._sightings.may_have_started(group, cluster)

    def _too_early(self, group: Group, policy: PlacementPolicy, why: Finding) -> Finding | None:
        """What a group waits for before it may move, with the time at which that is over."""
        record, now = self._pass.records[group.id], self._pass.snapshot.now
        until = self._pass.backing_off.get(group.id) or (record.hold_until if record is not None else None)
        # A revert holds where the group may be; where it may not, nobody has agreed to leave it.
        reverted = why.code is Reason.NOT_ELIGIBLE and group.id in self._pass.snapshot.reverted
        if until is not None and now < until and why.code is not Reason.CLUSTER_LOST and not reverted:
            return _until(Reason.BACKING_OFF, why, until)
        moved = record.moved_at if record is not None else None
        cool = moved + timedelta(seconds=policy.spec.relocation.cooldown) if moved is not None else None
        if why.code not in DECLARED and cool is not None and now < cool:
            return _until(Reason.COOLING_DOWN, why, cool)
        thaws = self._pass.thaws(why.code)
        if thaws is not None and self._consents.to(group, "Exceed") is None:
            return _until(Reason.FROZEN, why, thaws)
        return None


def _until(code: Reason, why: Finding, at: datetime) -> Finding:
    return Finding(code=code, subject=f"{why.code} {at:%Y-%m-%dT%H:%M:%SZ}")

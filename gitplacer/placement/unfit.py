"""
What becomes of an edit for which there is too little room where its app runs.

It is known before the merge, because the plan sees the edit before the cluster does. The policy chooses: the app moves with the
edit, if a cluster has room for one copy of the new manifest; the old manifest stays; or the edit goes on and its pods wait. A move
is made as any other, by whoever moves groups; here is only whether there is a reason for one, and what is said if there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.model.decision import Action, Decision, Finding, Reason, UpdateAsks
from gitplacer.placement.choice import Choice
from gitplacer.placement.departures import Departures
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.overlaps import Overlap
from gitplacer.placement.sidebyside import Fit, Judged
from gitplacer.placement.updating import OVERLAPPING, How, named_roles
from gitplacer.policies import DIVIDING

_CODES: Mapping[Fit, Reason] = {
    Fit.FITS: Reason.UPGRADE_FITS,
    Fit.SCALE_UP: Reason.UPGRADE_BY_SCALE_UP,
    Fit.LUCKY: Reason.UPGRADE_TIGHT,
    Fit.SHORT: Reason.UPGRADE_DOES_NOT_FIT,
    Fit.UNKNOWN: Reason.UPGRADE_NOT_JUDGED,
}
_NOT_LET_IN = (Reason.LIMIT_RANGE, Reason.QUOTA_EXCEEDED)
_NOT_JUDGED = Judged(Fit.UNKNOWN, Finding(code=Reason.NO_SNAPSHOT))


class Unfit:
    """The edits of one round. The ledgers are opened only if there are any."""

    def __init__(self, shared: Pass, occupancy: Occupancy, choice: Choice, departures: Departures) -> None:
        self._pass = shared
        self._departures = departures
        self._occupancy = occupancy
        self._choice = choice

    def decide(self, group: Group) -> Decision | None:
        """What becomes of a group's edit, if it finds too little room on some cluster; None where it may go on as it is."""
        assert group.policy is not None
        unfit = dict(self._in_the_way(group))
        if not unfit:
            return None
        if group.policy.spec.update.if_not_fit == "Hold":
            return self._held(group, next(iter(unfit.values())))
        why = self._may_not_move(group, unfit)
        if why is None:
            decision = self._departures.leave(group, group.policy, unfit)
            if decision.action is not Action.HOLD or decision.move is not None:
                return decision
            # Whoever lets one app use several clusters asks here: first another cluster, then some more of them, then it waits.
            why = decision.finding.code
            self._pass.proposing[group.id] = decision.proposed
        self._let_go_on(group, unfit, why)
        return None

    def incomplete(self, group: Group) -> Decision | None:
        """The same for one of which copies are missing: it is held back or goes on, and looks for room as it did."""
        unfit = dict(self._in_the_way(group))
        if not unfit:
            return None
        if group.policy is not None and group.policy.spec.update.if_not_fit == "Hold":
            return self._held(group, next(iter(unfit.values())))
        self._let_go_on(group, unfit, Reason.NOWHERE_TO_GO)
        return None

    def along_with(self, group: Group, decision: Decision) -> Decision:
        """
        A decision about a group that moves, or should for other reasons: where its files are made what the source says, its edit is
        held back, or goes on there.
        """
        written = decision.action is not Action.HOLD or decision.updated_in_place
        if not written or group.policy is None:
            return decision
        there = set(decision.files_after) - decision.frozen
        unfit = {name: why for name, why in self._in_the_way(group) if name in there}
        if unfit and decision.updated_in_place and group.policy.spec.update.if_not_fit == "Hold":
            return replace(decision, updated_in_place=False)
        self._let_go_on(group, unfit, Reason.NOWHERE_TO_GO)
        return decision

    def finding(self, group: Group, here: Sequence[str]) -> Finding | None:
        """What is to be said of an edit for which there is room, or of which that is not known."""
        for name in here:
            overlap = self._edited(group, name)
            asks = overlap.main if overlap else None
            if overlap is None or asks is None:
                continue
            judged = self._judged(group, name)
            told = asks.how in (How.NEW_CLUSTER, How.IN_STEPS) or judged.fit is not Fit.FITS
            if told and not (judged.fit is Fit.SHORT and not (asks.waits or judged.alone)):
                why = self._pass.proceeding.get((group.id, name))
                return _finding(name, overlap, judged, why.value if why else "")
        return None

    def _in_the_way(self, group: Group) -> Iterator[tuple[str, Finding]]:
        """The clusters on which an edit of a group does not fit, with why; for one that is to be held, where nobody knows."""
        assert group.policy is not None
        holds = group.policy.spec.update.if_not_fit == "Hold"
        gang = group.policy.spec.placement.admission == "Gang"
        for name in self._occupancy.placements.get(group.id, ()):
            overlap = self._edited(group, name)
            if overlap is None or overlap.main is None or not gang or (group.id, name) in self._pass.proceeding:
                continue
            judged = self._judged(group, name)
            short = judged.fit is Fit.SHORT and (overlap.waits or judged.alone)
            grows = overlap.waits or overlap.replaces or overlap.refused or overlap.objects
            if short or (holds and grows and judged.fit is Fit.UNKNOWN):
                yield name, _finding(name, overlap, judged)

    def _edited(self, group: Group, cluster: str) -> Overlap | None:
        """What a group holds on a cluster where it was before this pass, if its files change there."""
        if cluster not in self._pass.recorded.get(group.id, ()):
            return None
        overlap = self._pass.overlap(group.id, cluster)
        return overlap if overlap is not None and overlap.updates else None

    def _judged(self, group: Group, cluster: str) -> Judged:
        self._occupancy.open()  # which is what finds out
        return self._occupancy.judged.get((group.id, cluster), _NOT_JUDGED)

    def _may_not_move(self, group: Group, unfit: Mapping[str, Finding]) -> Reason | None:
        """
        Why a group does not move because of an edit, whatever other clusters have. Where only its objects are to take more it stays: a claim that
        is to be larger is made anew elsewhere, without what is in it.
        """
        assert group.policy is not None
        if group.policy.spec.update.if_not_fit == "Proceed":
            return Reason.KEPT
        placement = group.policy.spec.placement
        if all(why.update is not None and why.update.objects for why in unfit.values()):
            return Reason.NEVER_RELOCATED
        if group.never_relocates or placement.copies == "All" or placement.type in DIVIDING:
            return Reason.NEVER_RELOCATED
        return None

    def _let_go_on(self, group: Group, unfit: Iterable[str], why: Reason) -> None:
        """The edit is written where the group is. Its pods will wait there, so that nothing new may be promised."""
        for name in unfit:
            self._pass.proceeding[group.id, name] = why
            if name in self._occupancy.books:
                self._occupancy.books.replace(name, self._occupancy.reservations.for_others(name))

    def _held(self, group: Group, finding: Finding) -> Decision:
        assert group.policy is not None
        here = self._occupancy.placements[group.id]
        record = self._pass.records[group.id]
        return Decision(
            group=group.id, policy=group.policy.name, action=Action.HOLD, before=here, after=here,
            finding=replace(finding, code=Reason.UPDATE_HELD), candidates=self._choice.evaluation.kept_candidates(group, here),
            waiting_since=record.waiting_since if record else None,
        )  # fmt: skip


def _finding(cluster: str, overlap: Overlap, judged: Judged, stays: str = "") -> Finding:
    asks = overlap.main
    assert asks is not None
    code, how, pods = _CODES[judged.fit], asks.how, named_roles(asks.beside)
    if judged.alone:
        how, pods = How.IN_PLACE, ()
    if judged.fit is Fit.SHORT and how not in OVERLAPPING:
        code = Reason.OUTGROWN
    refused = judged.finding.subject if judged.finding.code in _NOT_LET_IN else ""
    update = UpdateAsks(
        cluster=cluster, how=how.value, pods=pods, where=asks.where, stays=stays, refused=refused, objects=asks.objects
    )
    return replace(judged.finding, code=code, subject="", update=update)

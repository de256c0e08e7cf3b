"""
What Approvals say of a group that has a place: that it may move, where to, and which guards do not hold it.

One that was carried out says nothing any more. An Approval that sends a group to a cluster is a reason to leave and a consent at once; so is one
that sends it back, as long as it is known from where it came.
"""

from __future__ import annotations

from collections.abc import Container

from gitplacer.grouping import Group
from gitplacer.kinds.approval import ApprovedAction
from gitplacer.placement.onepass import Pass
from gitplacer.source.consent import Consent, consent_to

_NOBODY = (None, "")
"""Nobody sends the group anywhere."""


class Consents:
    """The same for all rounds of a pass."""

    def __init__(self, shared: Pass) -> None:
        self._pass = shared
        self._approvals = shared.snapshot.source.own.approvals

    def to(self, group: Group, action: ApprovedAction) -> Consent | None:
        """The consent to something, if there is one that is not used."""
        record = self._pass.records[group.id]
        used = record.approvals or () if record is not None else ()
        if not self._approvals:
            return None
        return consent_to(self._approvals, group.id, action, self._pass.snapshot.now, carried_out=used)

    def sending(self, group: Group) -> tuple[Consent | None, str]:
        """The Approval that sends a group somewhere, and where to."""
        move = self.to(group, "Move")
        if move is not None and move.approval.spec.to in self._pass.clusters:
            return move, str(move.approval.spec.to)
        record = self._pass.records[group.id]
        back = self.to(group, "Return")
        if back is not None and record is not None and record.moves:
            there = [name for name in record.moves[-1].source if name in self._pass.clusters]
            return (back, there[0]) if len(there) == 1 else _NOBODY
        return _NOBODY

    def sent_to(self, group: Group) -> str:
        """The cluster that an Approval sends a group to; empty where there is none."""
        return self.sending(group)[1]

    def sending_on(self, group: Group, here: Container[str]) -> tuple[Consent | None, str]:
        """The same, where that is not done already: who is there may leave for elsewhere."""
        consent, to = self.sending(group)
        return _NOBODY if to in here else (consent, to)

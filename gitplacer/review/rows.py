"""
One group of a plan as a reviewer reads it: what becomes of it, what its users notice, what is left, what it costs.
"""

from __future__ import annotations

from msgspec import Struct

from gitplacer.comparison import Because
from gitplacer.explain import PlanView, is_worth_telling
from gitplacer.model.decision import Action, Decision
from gitplacer.problems import Location
from gitplacer.review.downtime import Downtime
from gitplacer.review.room import Headroom


class Row(Struct, frozen=True, kw_only=True):
    """
    One group. `because` is None where there is no base to compare with. `without` is what would become of it without the change,
    where it would neither stay as it is nor end in the same place; `cost` the difference in an hour, None if nobody knows.
    """

    decision: Decision
    because: Because | None
    downtime: Downtime
    headroom: Headroom | None = None
    cost: float | None = None
    manifest: Location | None = None
    policy: Location | None = None
    without: Decision | None = None

    @property
    def group(self) -> str:
        return self.decision.group

    @property
    def is_ours(self) -> bool:
        """Whether a reviewer answers for it: it happens because of the change, or there is no telling."""
        return self.because is not Because.ANYWAY

    @property
    def waits(self) -> bool:
        """Whether it waits for room, or some of its copies do."""
        return self.decision.action is Action.WAIT or (
            self.decision.waiting_since is not None and self.decision.action is not Action.HOLD
        )


def is_told(decision: Decision, because: Because | None) -> bool:
    """Whether a review shows a group: something becomes of it, or it stays only because of the change."""
    return is_worth_telling(decision) or because is Because.CHANGE


def manifest_of(decision: Decision, view: PlanView) -> Location | None:
    """Where the first of a group's sized objects, or the first object, stands in the source."""
    group = view.group(decision)
    members = (group.sized or group.members) if group is not None else ()
    return members[0].document.locate() if members else None

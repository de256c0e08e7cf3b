"""
When the next turn is due, and whether it makes a pass or only looks.

Three things make it due: a hint, the time to look whether a branch has moved, and the time to make a pass whatever has moved, because
decisions wait for times as well: a freeze ends, a cooldown is over, a snapshot becomes too old. Hints that come in quick succession
are one pass: the first is followed at once, and what comes within the batching window after a turn has begun waits for its end.

Behind a whole pass that has published something a fourth is due at once, unless a hint waits: a pass that settles. It finds the fleet at rest,
which the passes after it need to plan no more than a part. It is nobody's wish, so it puts off no hint but by the time that it takes, and
what it publishes itself is left to the next pass that is due: a fleet that is never at rest is not planned without end.

Times are seconds of a clock that never jumps. Nothing here asks one.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

SOON = 5.0
"""Seconds."""


class Pace(Struct, frozen=True, kw_only=True):
    """
    Seconds between looks (`interval`), at most between passes (`full`), and at least between the beginnings of two turns that were
    hinted at (`batch`).
    """

    interval: float = 60.0
    full: float = 300.0
    batch: float = 2.0


class Due(Struct, frozen=True, kw_only=True):
    """
    What is due when: the next look, the next pass, the pass that settles (`settle_at`), the beginning of the last turn but that one, and before
    which time no hint is followed (`not_before`).
    """

    look_at: float = 0.0
    pass_at: float = 0.0
    settle_at: float = math.inf
    began: float = -math.inf
    not_before: float = -math.inf

    def next_turn(self, hinted_at: float | None, pace: Pace) -> float:
        """When the next turn begins, if a hint has waited since `hinted_at`, or none does."""
        by_itself = min(self.look_at, self.pass_at)
        if hinted_at is None:
            return min(by_itself, self.settle_at)
        return min(by_itself, max(hinted_at, self.began + pace.batch, self.not_before))

    def makes_pass(self, now: float, *, hinted: bool) -> bool:
        """Whether a turn that begins now makes a pass without looking first."""
        return hinted or now >= min(self.pass_at, self.settle_at)

    def settled(self) -> Due:
        """The same with nothing to settle any more."""
        return replace(self, settle_at=math.inf)

    def settles(self, now: float) -> bool:
        """Whether a turn that begins now, and that no hint has asked for, is there to settle what was published."""
        return self.settle_at <= now < self.pass_at


NEVER = Due(look_at=math.inf, pass_at=math.inf, not_before=math.inf)
"""What is due for a replica that does not work: nothing, and no hint is followed."""


def after_pass(
    pace: Pace, *, began: float, now: float, delay: float, hurries: bool, stretch: float, unsettled: bool = False
) -> Due:
    """
    What is due after a pass. `delay` is the backoff, 0 after one that went well; `hurries` is whether a hint or a branch that has moved cuts
    it short. `stretch` is about 1, and keeps the looks of many controllers apart. `unsettled` is whether another pass is to settle what this one has
    published.
    """
    look_at = now + pace.interval * stretch
    if not delay:
        due = Due(look_at=look_at, pass_at=now + pace.full * stretch, settle_at=now, began=began)
        return due if unsettled else due.settled()
    retry_at = now + delay
    return Due(
        look_at=look_at if hurries else retry_at,
        pass_at=retry_at,
        began=began,
        not_before=-math.inf if hurries else retry_at,
    )


def after_look(before: Due, pace: Pace, *, began: float, now: float, stretch: float, hinted: bool = False) -> Due:
    """
    What is due after a look that found nothing moved. If a hint (`hinted`) had said that something has, it is looked again soon: servers
    tell of a push before each of their machines knows it. What is to be settled still is: the hint may have been of our own push.
    """
    wait = min(pace.interval, SOON) if hinted else pace.interval * stretch
    return replace(before, look_at=now + wait, began=began)

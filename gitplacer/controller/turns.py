"""
How a turn of the controller ends, and how long it waits before it tries again.

Five outcomes are enough to act on. Published, Unchanged and Held are ends of passes that went well: something landed, nothing was
to do, or nothing was to do but something is held. Retry will pass by itself. Stalled will not: a person must act, and is told what on.

How long to wait depends on what is wrong. A lost race is over in a moment, so it is tried again at once, and never by all who lost at the same
time. A host that is down is asked less and less often. A host that says "too often" is not asked before the wait is over,
whatever else happens. What a person must change is looked at as often as anything else, and tried again as soon as it has moved; the wait is
only for what nobody can see moving, such as a permission.

Everything in here is a value or a function of values; the randomness comes from whoever asks.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from gitplacer.hydrate import Hydration
from gitplacer.problems import Problem


class Outcome(enum.StrEnum):
    """How a turn ended."""

    PUBLISHED = "Published"
    UNCHANGED = "Unchanged"
    HELD = "Held"
    RETRY = "Retry"
    STALLED = "Stalled"


class Fault(enum.StrEnum):
    """What went wrong in a turn."""

    LOST_RACE = "LostRace"
    UNREACHABLE = "Unreachable"
    RATE_LIMITED = "RateLimited"
    DAMAGED_CACHE = "DamagedCache"
    DISK_FULL = "DiskFull"
    CLOCK_BEHIND = "ClockBehind"
    UNEXPECTED = "Unexpected"
    SOURCE_REWOUND = "SourceRewound"
    REJECTED_SOURCE = "RejectedSource"
    PUSH_REFUSED = "PushRefused"
    ACCESS_DENIED = "AccessDenied"
    MISCONFIGURED = "Misconfigured"
    DEPLOYMENT_REWOUND = "DeploymentRewound"
    DEPLOYMENT_LOST = "DeploymentLost"


class Rule(Struct, frozen=True, kw_only=True):
    """
    What a fault comes to: the outcome, seconds to wait the first time and at most, and whether a hint or a change that is seen cuts the wait
    short. Each wait is up to twice as long as the one before.
    """

    outcome: Outcome
    first: float
    most: float
    hurries: bool = True


RULES: Mapping[Fault, Rule] = {
    Fault.LOST_RACE: Rule(outcome=Outcome.RETRY, first=1, most=30),
    Fault.UNREACHABLE: Rule(outcome=Outcome.RETRY, first=5, most=300),
    Fault.RATE_LIMITED: Rule(outcome=Outcome.RETRY, first=60, most=900, hurries=False),
    Fault.DAMAGED_CACHE: Rule(outcome=Outcome.RETRY, first=2, most=600),
    Fault.DISK_FULL: Rule(outcome=Outcome.RETRY, first=30, most=600, hurries=False),
    Fault.CLOCK_BEHIND: Rule(outcome=Outcome.RETRY, first=30, most=300, hurries=False),
    Fault.UNEXPECTED: Rule(outcome=Outcome.RETRY, first=10, most=600),
    Fault.SOURCE_REWOUND: Rule(outcome=Outcome.HELD, first=60, most=600),
    Fault.REJECTED_SOURCE: Rule(outcome=Outcome.STALLED, first=120, most=900),
    Fault.PUSH_REFUSED: Rule(outcome=Outcome.STALLED, first=30, most=900),
    Fault.ACCESS_DENIED: Rule(outcome=Outcome.STALLED, first=30, most=900),
    Fault.MISCONFIGURED: Rule(outcome=Outcome.STALLED, first=30, most=900),
    Fault.DEPLOYMENT_REWOUND: Rule(outcome=Outcome.STALLED, first=60, most=600),
    Fault.DEPLOYMENT_LOST: Rule(outcome=Outcome.STALLED, first=60, most=600),
}
_MOST_DOUBLINGS = 16


class Backoff(Struct, frozen=True):
    """What went wrong last, and how often in a row. Empty after a turn that went well."""

    fault: Fault | None = None
    times: int = 0


def backed_off(before: Backoff, fault: Fault | None, draw: float) -> tuple[Backoff, float]:
    """
    What to remember after a turn, and the seconds to wait; 0 where nothing went wrong. `draw` is from 0 to 1, and takes up to half off the
    wait, so that those who failed together do not come back together.
    """
    if fault is None:
        return Backoff(), 0.0
    times = before.times + 1 if fault is before.fault else 1
    rule = RULES[fault]
    longest = min(rule.most, rule.first * 2 ** min(times - 1, _MOST_DOUBLINGS))
    return Backoff(fault, times), longest * (1 - draw / 2)


class Turn(Struct, frozen=True, kw_only=True):
    """
    One turn of the controller, as observers are told of it when it has ended.

    `woken` are the reasons for it, the first that were given. `source` is the commit that was read and `tip` that of the deployment branch after
    the turn, None where the turn did not get so far. `started` is by the wall clock, `seconds` by one that never jumps, and
    `next_at` is when the controller looks again if nobody gives it a hint.

    A turn that only looked, and found that nothing has moved, is a look (`is_look`): it repeats what stands, with Unchanged for what was
    Published. `hydration` is what a pass came to, None for a look and where something went wrong. `fault` says what, `message` and `hint` say it to a person, and `problems` are those that stop a run.
    A pass that planned nothing or a part of the fleet, because it only had to write some manifests again, has no hydration either: `rewrote` is the subject of
    its commit, `standing` who is held and waits in words, and `problems` what is wrong. All else stands as the last whole pass has left it.

    `notes` are what a person should know of a turn that went well. `again` counts how often the same fault has come in a row. `settles` is whether
    the turn was there only to settle what the one before had published.
    """

    number: int
    woken: tuple[str, ...]
    outcome: Outcome
    started: datetime
    seconds: float
    next_at: datetime
    fault: Fault | None = None
    again: int = 0
    message: str = ""
    hint: str = ""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    source: str | None = None
    tip: str | None = None
    hydration: Hydration | None = None
    is_look: bool = False
    rewrote: str = ""
    standing: str = ""
    settles: bool = False

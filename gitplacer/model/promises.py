"""A promise of capacity that was made when a group was placed, and what became of it."""

from __future__ import annotations

import enum
from datetime import datetime

from msgspec import Struct


class Kept(enum.StrEnum):
    """Whether a group was ready within the time in which it was to be."""

    READY = "Ready"  # a snapshot of that time shows it ready
    LATE = "Late"  # one of a later time does, and one from when it was due shows otherwise
    NOT_READY = "NotReady"  # one from when it was due, or later, shows otherwise, and none shows it ready
    NOT_KNOWN = "NotKnown"  # no snapshot tells


class Why(enum.StrEnum):
    """Why a group was not ready when it was due, or why nobody knows."""

    PENDING_PODS = "PendingPods"
    NOT_APPLIED = "NotApplied"  # the cluster had not applied the commit
    NOT_SHOWN = "NotShown"  # it had, and showed nothing of the group
    FAILED = "Failed"
    UNREADY = "Unready"  # all its pods had nodes
    NOT_YET = "NotYet"  # the time is not over
    LEFT = "Left"  # it went before anybody could see
    SUSPENDED = "Suspended"  # somebody wanted it so
    NOT_OBSERVED = "NotObserved"  # nobody looked when it was due


class Promise(Struct, frozen=True, kw_only=True):
    """
    A group that was placed on a cluster, at a time, with the code of what was said of its room there. `ready_at` is the time of the
    first snapshot that shows it ready; `detail` is what the snapshot says of its pods, or the code of why it left.
    """

    group: str
    cluster: str
    policy: str
    code: str
    at: datetime
    commit: str
    kept: Kept
    why: Why | None = None
    detail: str = ""
    ready_at: datetime | None = None

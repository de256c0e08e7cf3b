"""
A fleet as a page shows it: values alone, so that what is shown can be made by hand, taken away from, or packed.

Nothing here is safe to show yet: names and sentences are as manifests have them. `columns` makes every one of them harmless on its
way out.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from gitplacer.model.resources import NOTHING, Resources
from gitplacer.problems import Problem


class Presence(enum.StrEnum):
    """What a pod of a group is to a node."""

    RUNNING = "Running"  # the snapshot shows it, and it stays
    EXPECTED = "Expected"  # it is placed there and not seen yet
    COMING = "Coming"  # the next pass places it there
    LEAVING = "Leaving"  # the snapshot shows it, and its group is not placed there any more


class Seat(Struct, frozen=True):
    """`count` pods of one role of a group on one node, each of the same requests. `group` may be one that nobody knows."""

    group: str
    role: str
    count: int
    requests: Resources
    presence: Presence


class NodeFacts(Struct, frozen=True, kw_only=True):
    """
    One node, or `count` that are the same and empty of groups. `used` is what pods of others use; `kept` is taken by nobody and
    given to nobody: it is kept for a group that waits, or pods that have no room yet will take it. `type` is what an
    autoscaler has to add; then there is no such node yet.
    """

    name: str
    count: int = 1
    type: str = ""
    allocatable: Resources
    used: Resources = NOTHING
    kept: Resources = NOTHING
    ready: bool = True
    cordoned: bool = False
    seats: tuple[Seat, ...] = ()


class ClusterFacts(Struct, frozen=True, kw_only=True):
    """
    One cluster. `free` is what is left after the pass; `state` is Active, Cordoned, Draining, Lost, Waking, Standby or Management.
    Some of its room is kept for the groups of `claimants`; where it is `closed`, none is given to anybody.
    """

    name: str
    state: str
    freshness: str
    observed_at: datetime | None = None
    where: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    offered: Resources = NOTHING
    foreign: Resources = NOTHING
    free: Resources = NOTHING
    claimants: tuple[str, ...] = ()
    closed: bool = False
    nodes: tuple[NodeFacts, ...] = ()


class Pods(Struct, frozen=True):
    """`count` pods of one role, each with these requests."""

    role: str
    count: int
    requests: Resources


class Verdict(Struct, frozen=True):
    """One cluster's verdict on a group; `nodes` tells why nodes refused, if they were asked."""

    cluster: str
    verdict: str
    code: str
    text: str
    nodes: str = ""


class Sighting(Struct, frozen=True):
    """What a snapshot reports of a group on a cluster. `pending` tells of its pods that wait for nodes."""

    cluster: str
    phase: str
    ready: bool
    pending: str = ""


class GroupFacts(Struct, frozen=True, kw_only=True):
    """
    One group: what happens to it and why. `before` and `after` are clusters; `sentence` is read after its name. `verdicts` are the
    nearest ones, and `counts` counts all, by verdict and code. `members` are (kind, namespace/name, file).
    """

    name: str
    action: str
    code: str
    sentence: str
    policy: str = ""
    policy_at: str = ""
    priority: int = 0
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    since: datetime | None = None
    moved_at: datetime | None = None
    waiting_since: datetime | None = None
    cost: str = ""
    blocked_by: tuple[str, ...] = ()
    pods: tuple[Pods, ...] = ()
    members: tuple[tuple[str, str, str], ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    seen: tuple[Sighting, ...] = ()


class EventKind(enum.StrEnum):
    """What a commit of the deployment branch is."""

    RELOCATION = "Relocation"
    PASS = "Pass"  # everything else of a pass
    BY_HAND = "ByHand"  # nobody but a person, or another program, made it


class Event(Struct, frozen=True, kw_only=True):
    """One commit of the deployment branch. A relocation has its group, the clusters it leaves and comes to, and the code of why."""

    commit: str
    at: datetime
    kind: EventKind
    subject: str
    why: str = ""
    group: str = ""
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()
    code: str = ""
    phase: str = ""


class History(Struct, frozen=True, kw_only=True):
    """The latest events, newest first. `is_whole` is false where older ones were left out."""

    events: tuple[Event, ...] = ()
    is_whole: bool = True


class FleetFacts(Struct, frozen=True, kw_only=True):
    """
    All that a page tells. `placed` is false where nothing is placed yet; `redacted` where nodes and numbers were taken out.
    Clusters and groups are sorted by name.
    """

    fleet: str
    now: datetime
    version: str
    source: str | None = None
    capacity: str | None = None
    deployment: str | None = None
    redacted: bool = False
    clusters: tuple[ClusterFacts, ...] = ()
    groups: tuple[GroupFacts, ...] = ()
    history: History = field(default_factory=History)
    problems: tuple[Problem, ...] = ()

"""
What was decided, and why, as data.

Sentences come late: here a reason is a code and the numbers behind it, which somebody else can check. `explain/`
alone turns them into words.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodShape


class Action(enum.StrEnum):
    """What a pass does with a group."""

    PLACE = "Place"
    KEEP = "Keep"
    UPDATE = "Update"
    RELOCATE = "Relocate"
    EXTEND = "Extend"
    REMOVE = "Remove"
    PREEMPT = "Preempt"
    WAIT = "Wait"
    HOLD = "Hold"


class Reason(enum.StrEnum):
    """Why: of a decision about a group, or of a verdict on a cluster. Mild to severe."""

    # a cluster takes the group
    FITS = "Fits"
    ROOM = "Room"  # all pods can be placed; whether in every order was not tried, because another cluster was taken
    TIGHT_FIT = "TightFit"  # all pods can be placed, and an order was found that leaves one out
    FITS_BY_SCALE_UP = "FitsByScaleUp"
    SPANS = "Spans"  # no cluster takes it alone, and several of one mesh do together
    PODS_MAY_WAIT = "PodsMayWait"  # admitted whatever the room, and there is not enough
    PLATFORM = "Platform"  # platform objects go where their policy says
    KUEUE_ADMITS = "KueueAdmits"  # Kueue there starts it on one of the clusters that are nominated, when one has quota
    NOMINATED = "Nominated"  # Kueue may start it there
    ADOPTED = "Adopted"  # it ran there before gitplacer came, and nobody asked whether it fits
    # a group stays as it is
    KEPT = "Kept"
    UPDATED = "Updated"
    DIVIDED = "Divided"  # its replicas are divided anew
    OUTGROWN = "Outgrown"  # it stays, and not all its pods find room where it is
    CLUSTER_AWAKE = "ClusterAwake"  # its cluster has come, and its files with it
    FINISHED = "Finished"  # its jobs have run to their end
    MOVING = "Moving"  # a relocation is going on, and waits for evidence
    # an edit of a group that runs
    UPGRADE_FITS = "UpgradeFits"  # old and new pods fit together where it runs
    UPGRADE_BY_SCALE_UP = "UpgradeByScaleUp"  # they do with machines that can be added
    UPGRADE_TIGHT = "UpgradeTight"  # they do, but not in every order
    UPGRADE_NOT_JUDGED = "UpgradeNotJudged"  # no current snapshot tells
    UPGRADE_DOES_NOT_FIT = "UpgradeDoesNotFit"
    UPDATE_HELD = "UpdateHeld"  # it is not written, because it would not fit
    SOURCE_REMOVED = "SourceRemoved"
    COPY_NOT_WANTED = "CopyNotWanted"  # fewer copies, or a cluster that is no longer eligible for one
    # a group has to leave where it is
    NOT_ELIGIBLE = "NotEligible"
    CLUSTER_DRAINING = "ClusterDraining"
    CLUSTER_LOST = "ClusterLost"
    PENDING_PODS = "PendingPods"  # pods of it wait for nodes for too long
    PREFERRED_AVAILABLE = "PreferredAvailable"  # a cluster that its policy likes better has room
    MOVE_APPROVED = "MoveApproved"  # somebody sends it elsewhere, by an Approval
    PREEMPTED_BY = "PreemptedBy"  # it makes room for a group of higher priority
    # a cluster is not considered
    MANAGEMENT_CLUSTER = "ManagementCluster"
    CLUSTER_NOT_SELECTED = "ClusterNotSelected"
    NOT_THE_TENANTS = "NotTheTenants"
    NOT_IN_ORDER = "NotInOrder"
    NO_SHARE = "NoShare"  # in a division its weight is 0
    LEFT_TO_KUEUE = "LeftToKueue"  # only the cluster whose Kueue dispatches it has it
    NOT_NOMINATED = "NotNominated"  # Kueue takes no more clusters, or could not call this one
    OTHER_CLUSTER_WISHED = "OtherClusterWished"
    NO_DOMAIN = "NoDomain"  # it lacks a label over whose values the policy spreads copies
    UNTOLERATED_CLUSTER_TAINT = "UntoleratedClusterTaint"
    CLUSTER_CORDONED = "ClusterCordoned"
    API_NOT_SERVED = "APINotServed"
    FEATURE_NOT_SERVED = (
        "FeatureNotServed"  # its KubeRay, or what it is equipped with, cannot do what an object asks for
    )
    QUEUE_MISSING = "QueueMissing"  # Kueue there has no such LocalQueue
    QUEUE_STOPPED = "QueueStopped"  # its queue there lets nothing in
    NO_SNAPSHOT = "NoSnapshot"
    BROKEN_SNAPSHOT = "BrokenSnapshot"
    STALE_SNAPSHOT = "StaleSnapshot"
    DOUBTED_SNAPSHOT = "DoubtedSnapshot"  # its newest one is not believed
    NODES_NOT_KNOWN = "NodesNotKnown"  # a hub tells of it, and knows totals at most
    UNKNOWN_CLUSTER = "UnknownCluster"
    CANNOT_WAKE = "CannotWake"  # it sleeps, and is not called
    LEFTOVER_THERE = "LeftoverThere"  # it was lost, and what it had then is not known to be gone
    LEFT_BEFORE = "LeftBefore"  # the group left it within the last day, or did not become ready there
    COPIES_SPREAD = "CopiesSpread"  # it has room, and the copies are spread over other domains
    # its nodes do not take the pods
    NODE_NOT_READY = "NodeNotReady"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NAME_MISMATCH = "NodeNameMismatch"
    NODE_SELECTOR_MISMATCH = "NodeSelectorMismatch"
    NODE_AFFINITY_MISMATCH = "NodeAffinityMismatch"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    NODE_UNREADABLE = "NodeUnreadable"  # nobody knows what it has, or what a pod on it uses
    MISSING_TOPOLOGY_KEY = "MissingTopologyKey"  # it lacks the label that a rule about other pods goes by
    VOLUME_NODE_MISMATCH = "VolumeNodeMismatch"  # one of its volumes cannot be reached from there
    # other pods do not let them in
    HOST_PORT_TAKEN = "HostPortTaken"
    TOPOLOGY_SPREAD = "TopologySpread"
    POD_AFFINITY = "PodAffinity"  # or anti-affinity, the pod's own or that of another
    # what they need besides nodes is not there, or not theirs
    MISSING_CLAIM = "MissingClaim"
    VOLUME_NOT_BOUND = "VolumeNotBound"  # the claim has no volume, and none is on its way
    VOLUME_IN_USE = "VolumeInUse"  # one pod at a time may have it, and another does
    VOLUME_NOT_MADE_YET = "VolumeNotMadeYet"  # nobody knows from which nodes it will be reached
    MISSING_RUNTIME_CLASS = "MissingRuntimeClass"
    RUNTIME_CLASS_CONFLICT = "RuntimeClassConflict"  # it and the pods ask for different nodes, or overhead
    MISSING_PRIORITY_CLASS = "MissingPriorityClass"
    PRIORITY_CLASS_CONFLICT = "PriorityClassConflict"  # the pods say another priority than their class
    LIMIT_RANGE = "LimitRangeViolated"
    QUOTA_EXCEEDED = "QuotaExceeded"  # a ResourceQuota of their namespace lets in fewer of the pods
    NODE_NOMINATED = "NodeNominated"  # fits only where room is held for a pod that is about to come
    # there is not enough
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"  # fits this cluster when empty: wait, or free some
    QUEUE_QUOTA = "QueueQuota"  # Kueue there has less quota left than its queued objects ask for
    NODE_GROUP_EXHAUSTED = "NodeGroupExhausted"  # would fit if its provider had the machines: wait, or raise the quota
    EXCEEDS_CLUSTER = "ExceedsCluster"  # more than the empty cluster holds: waiting will not help
    SEARCH_BOUND = "SearchBound"  # the search for a placement ran out of steps: there may be one
    INVALID_POD = "InvalidPod"  # it cannot be read
    RESERVED_FOR = "ReservedFor"  # there is room, and it is for a group that is before this one
    # a group waits
    NO_ELIGIBLE_CLUSTER = "NoEligibleCluster"
    NO_NOMINEE = "NoNominee"  # it is left to Kueue, and there is no cluster on which that could start it
    NO_CLUSTER_FITS = "NoClusterFits"
    NO_MESH_FITS = "NoMeshFits"  # neither does one alone, nor do the clusters of a mesh together
    CANNOT_SPAN = "CannotSpan"  # no cluster fits, and something that spanning needs is missing
    BUDGET_EXCEEDED = "BudgetExceeded"  # the machines that it needs cost more than its policy has left in an hour
    TENANT_QUOTA = "TenantQuota"  # it asks for more than its tenant's quota has left
    TOO_FEW_DOMAINS = (
        "TooFewDomains"  # there is room, but not in as many regions, or other domains, as its policy wants
    )
    COPIES_WAIT = "CopiesWait"  # some copies are placed, others wait
    SPREAD_WAITS = "SpreadWaits"  # the same, and there is room only where they may not go without breaking the spread
    CLUSTER_WAKING = "ClusterWaking"  # its room is kept, and its files are written when the cluster is there
    SHARES_WAIT = "SharesWait"  # of what is divided some replicas run, others wait
    WAITS_FOR_PREEMPTED = "WaitsForPreempted"  # others have made room for it, and are not gone yet
    ROOM_RESERVED = "RoomReserved"  # it has waited long, and a cluster's room is kept for it
    # a group is held
    NOWHERE_TO_GO = "NowhereToGo"  # it should leave, and no other cluster takes it
    MAY_HAVE_STARTED = "MayHaveStarted"  # moving it might run it twice
    JOINS_FINISHED = "JoinsFinished"  # its jobs have run to their end, and something joined it that has not
    AWAITS_APPROVAL = "AwaitsApproval"  # its policy lets it move only with consent
    COOLING_DOWN = "CoolingDown"  # it has moved a short while ago
    BACKING_OFF = "BackingOff"  # a relocation of it was taken back a short while ago
    GUARD_REACHED = "GuardReached"  # so many groups have moved already in so short a time
    FROZEN = "Frozen"  # nothing begins to move now
    NOT_READY_ELSEWHERE = "NotReadyElsewhere"  # its copy goes when another is ready
    NEVER_RELOCATED = "NeverRelocated"  # its policy or an annotation says so
    REMOVAL_NEEDS_APPROVAL = "RemovalNeedsApproval"
    TOO_MANY_REMOVALS = "TooManyRemovals"  # so many groups are gone from the source in so short a time
    FOREIGN_CHANGE = "ForeignChange"
    REVERT_REFUSED = "RevertRefused"  # its move was reverted, and it may have started where it had gone
    NO_POLICY = "NoPolicy"
    BROKEN_POLICY = "BrokenPolicy"
    UNREADABLE_SOURCE = "UnreadableSource"
    UNDECLARED_KIND = "UndeclaredKind"  # a member became pods by a WorkloadKind that is gone
    BROKEN_RECORD = "BrokenRecord"
    HAS_PROBLEMS = "HasProblems"
    HELD_TOGETHER = "HeldTogether"  # it exchanges members with a group that is held


ClusterRole = Literal["Copy", "Home", "Remote"]
"""What a cluster has of a group: all of it, or the head's side or further workers of a Ray app that spans several."""


class Verdict(enum.StrEnum):
    """What a cluster was in a decision: chosen, possible, or out of the question."""

    CHOSEN = "Chosen"
    FEASIBLE = "Feasible"
    REJECTED = "Rejected"


class Tally(Struct, frozen=True):
    """How many nodes refuse a pod for one reason; `subject` is the taint, selector or resource."""

    reason: Reason
    subject: str
    nodes: int


class NewNodes(Struct, frozen=True):
    """Machines an autoscaler must add: how many of a type, and the price of one in an hour if it is known."""

    type: str
    count: int
    price_per_hour: float | None = None
    spot: bool = False


class Seat(Struct, frozen=True):
    """
    `count` pods of one shape on one node. Where an autoscaler has to add the node, `type` is what it is and `node` is its
    number among those that have to be added.
    """

    pod: PodShape
    count: int
    node: str
    type: str = ""


class ScaleUpLimit(Struct, frozen=True, order=True):
    """
    Why no more machines come: `kind` is one of `gitplacer.machines.LimitKind`, `subject` the node group, type or pool. For a
    limit, `most` of `resource` is reached; for a group that is exhausted, `code` says why, and `until` when it ends.
    """

    kind: str
    subject: str
    resource: str = ""
    most: int = 0
    code: str = ""
    until: str = ""


class Spending(Struct, frozen=True, kw_only=True):
    """
    The budget of a policy, or of a `tenant`, in an hour, what the machines of its groups cost already, and what one more group would add: None
    if the price of a machine that it needs is not known.
    """

    budget: float
    spent: float
    more: float | None
    tenant: str = ""


class QueueAsks(Struct, frozen=True):
    """
    A ClusterQueue or Cohort (`kind`) of Kueue on a cluster that has too little of a resource left: what a group `asks` of it, what is
    `promised` to others there that are not seen yet, and what is `left` before both. None: it has no quota for that at all.
    """

    kind: str
    name: str
    resource: str
    asks: int
    promised: int
    left: int | None


class UpdateAsks(Struct, frozen=True, kw_only=True):
    """
    What an edit of a group asks for on a cluster where it runs: `pods` of each role beside those that are there. `how` is one of
    `gitplacer.placement.updating.How`; `where` is the edited line. `stays` is the code for why the group does not move, though
    there is too little room. `refused`: why the API server does not take the pods, in words. `objects`: it asks for no pods, but for more of
    what quotas have.
    """

    cluster: str
    how: str
    pods: tuple[tuple[str, int], ...]
    where: str = ""
    stays: str = ""
    refused: str = ""
    objects: bool = False


class Weighed(NamedTuple):
    """One term of a score: what is weighed, its weight, and the number."""

    title: str
    weight: int
    value: int


class Score(Struct, frozen=True):
    """What a cluster scored under a policy that weighs scores: the sum of its terms, each times its weight."""

    total: int
    terms: tuple[Weighed, ...]


class Finding(Struct, frozen=True, kw_only=True):
    """
    A reason and the numbers behind it. `subject` names what it is about: a cluster, a policy, a taint, a requirement,
    members. For a role that did not fit: `placed` of `wanted` pods, what they were `short` of, and a `tally` over
    all nodes that adds up to `nodes`. `limits` are what kept an autoscaler from adding what is short. `update` is the edit
    that it is about, and `score` what a cluster scored if that makes the order.
    """

    code: Reason
    subject: str = ""
    role: str = ""
    placed: int = 0
    wanted: int = 0
    short: Resources = NOTHING
    nodes: int = 0
    tally: tuple[Tally, ...] = ()
    new_nodes: tuple[NewNodes, ...] = ()
    limits: tuple[ScaleUpLimit, ...] = ()
    spending: Spending | None = None
    queue: QueueAsks | None = None
    update: UpdateAsks | None = None
    score: Score | None = None


class Candidate(Struct, frozen=True):
    """One cluster's verdict in one decision. `more`: of one that has some of a divided group, what one replica more would lack there, if it waits."""

    cluster: str
    verdict: Verdict
    finding: Finding
    more: Finding | None = None


class Claim(Struct, frozen=True, kw_only=True):
    """
    Room on a cluster that is kept for a group which waits: because the `displaced` groups, sorted, had to leave for it, or,
    where there are none, because it has waited long.
    """

    cluster: str
    displaced: tuple[str, ...]


class Dispatched(Struct, frozen=True, kw_only=True):
    """
    A group that is left to Kueue: `manager` has it, waiting in `queue`, and Kueue there starts it on one of those that are `nominated`,
    which are in order of preference. `policy` left it to Kueue.
    """

    policy: str
    manager: str
    queue: str
    nominated: tuple[str, ...]


class Strategy(enum.StrEnum):
    """How a relocation goes on."""

    RECREATE = "Recreate"
    SURGE = "Surge"
    REMOVE_FIRST = "RemoveFirst"


class Phase(enum.StrEnum):
    """What one pass does of a relocation that takes several."""

    ADD = "Add"  # the new copy comes, the old one stays
    REMOVE = "Remove"  # the old copy goes, the new one is ready
    ABORT = "Abort"  # the new copy goes, it did not become ready
    LEAVE = "Leave"  # the old copy goes, to come back elsewhere
    ARRIVE = "Arrive"  # the new copy comes, the old one is gone


MoveState = Literal["Placed", "Adding", "Removing"]
"""Of a group on a cluster: its files are there to stay, its room is there and it is not ready or on its way, or it is not gone."""


class Move(Struct, frozen=True, kw_only=True):
    """
    A relocation that takes several passes: from `sources` to `targets`, clusters in order of their names. `since` is the
    pass that began it, and `adds` tells whether the targets come for it: copies that are there anyway are only waited for. `ready_at` and `gone_at` are the times of the first snapshots that showed all new copies ready or all old
    ones gone, if one did.
    """

    strategy: Strategy
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    reason: Reason
    since: datetime
    adds: bool = True
    ready_at: datetime | None = None
    gone_at: datetime | None = None

    def state(self, cluster: str) -> MoveState:
        """What happens to the group on a cluster."""
        if cluster in self.targets and self.adds:
            return "Adding"
        return "Removing" if cluster in self.sources and self.strategy is Strategy.REMOVE_FIRST else "Placed"

    @property
    def without_files(self) -> frozenset[str]:
        """The clusters that hold room for the group and do not have its files while this goes on."""
        return frozenset((*self.sources, *self.targets)) if self.strategy is Strategy.REMOVE_FIRST else frozenset()


def action_of(before: Iterable[str], after: Iterable[str]) -> Action:
    """What going from some clusters to others is."""
    added, dropped = set(after) - set(before), set(before) - set(after)
    if added and dropped:
        return Action.RELOCATE
    if added:
        return Action.PLACE
    return Action.REMOVE if dropped else Action.KEEP


def as_kept(decision: Decision) -> Decision:
    """That of the same group if it simply stays where it was, and nothing is expected of it."""
    return Decision(
        group=decision.group, policy=decision.policy, action=Action.KEEP, before=decision.before, after=decision.before,
        finding=Finding(code=Reason.KEPT),
    )  # fmt: skip


def simply_stays(decision: Decision) -> bool:
    """Whether a group is on its clusters, all of it on each, and nothing is expected of it, whatever is told of that or of its end."""
    stays = as_kept(decision)
    return bool(decision.before) and replace(decision, finding=stays.finding, ended={}) == stays


def with_files(clusters: tuple[str, ...], move: Move | None) -> tuple[str, ...]:
    """Of the clusters that hold room for a group those that have its files."""
    return clusters if move is None else tuple(name for name in clusters if name not in move.without_files)


class Ending(Struct, frozen=True):
    """How a job ended, `Succeeded` or `Failed`, and the time of the snapshot that showed it first."""

    phase: str
    at: datetime


class Decision(Struct, frozen=True, kw_only=True):
    """
    What happens to one group. `before` and `after` are the clusters that hold room for it, sorted: those that have its files and,
    while it is between two, those that it leaves and goes to.

    `candidates` is every cluster of the fleet, sorted by name, when they were asked for. `reasons` tells for each
    cluster of `after` why it is there, and `besides` of further clusters that it should leave why it does, or why it stays. A hold is of the group's files too, unless it is `updated_in_place`: then only
    its leaving is held, and `writes` tells whether its files change where it is. A group that waits may have a `claim` to room. `counts` are those of its objects on clusters of `after`
    where they are not as their manifests say, `roles` what clusters of `after` have of a group that spans several, and `dispatch` who
    starts it if not the clusters of `after`; the plan fills these in.
    """

    group: str
    policy: str
    action: Action
    before: tuple[str, ...]
    after: tuple[str, ...]
    finding: Finding
    reasons: Mapping[str, Finding] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    waiting_since: datetime | None = None
    blocked_by: tuple[str, ...] = ()
    updated_in_place: bool = False
    writes: bool = False
    unstarted: Mapping[str, datetime] = field(default_factory=dict)
    claim: Claim | None = None
    roles: Mapping[str, ClusterRole] = field(default_factory=dict)
    moving: Move | None = None
    move: Move | None = None
    phase: Phase | None = None
    frozen: frozenset[str] = frozenset()
    proposed: tuple[str, ...] = ()
    refused: Mapping[str, Finding] = field(default_factory=dict)
    besides: Mapping[str, Finding] = field(default_factory=dict)
    hold_until: datetime | None = None
    consent: str = ""
    finished: Ending | None = None
    ended: Mapping[str, datetime] = field(default_factory=dict)
    pending: Mapping[str, datetime] = field(default_factory=dict)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    dispatch: Dispatched | None = None

    @property
    def waits_in_part(self) -> bool:
        """Whether it is on some cluster, and waits for room for other copies, or for more of its replicas."""
        waits = self.waiting_since is not None and self.action is not Action.HOLD
        return waits and bool(self.after) and self.finding.code is not Reason.CLUSTER_WAKING

    def counts_on(self, cluster: str) -> Counts:
        """The counts of its objects on a cluster."""
        return self.counts.get(cluster, AS_WRITTEN)

    def role_on(self, cluster: str) -> ClusterRole:
        """What a cluster has of it."""
        return self.roles.get(cluster, "Copy")

    @property
    def home(self) -> str | None:
        """The cluster with the head of a group that spans several."""
        return next((name for name, role in self.roles.items() if role == "Home"), None)

    def state(self, cluster: str) -> MoveState:
        """What happens to the group on a cluster after the pass."""
        return self.move.state(cluster) if self.move is not None else "Placed"

    @property
    def files_before(self) -> tuple[str, ...]:
        """The clusters that have its files before the pass."""
        return with_files(self.before, self.moving)

    @property
    def files_after(self) -> tuple[str, ...]:
        """The clusters that have its files after the pass."""
        return with_files(self.after, self.move)

    @property
    def cost_per_hour(self) -> float | None:
        """The price of the machines that must be added for it, if all prices are known and there are any."""
        nodes = [n for finding in self.reasons.values() for n in finding.new_nodes]
        if not nodes or any(n.price_per_hour is None for n in nodes):
            return None
        return sum(n.count * (n.price_per_hour or 0.0) for n in nodes)

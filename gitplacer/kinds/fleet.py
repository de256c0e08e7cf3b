"""The kinds Fleet and Cluster: where things are, and what clusters there are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds import calendar
from gitplacer.kinds.chart import Chart
from gitplacer.kinds.fields import (
    FOLDER,
    LONGEST_PATTERN,
    Boolean,
    Bounds,
    DnsLabel,
    Folder,
    Integer,
    Matching,
    Model,
    NumberOrShare,
    OwnKind,
    PathGlob,
    Period,
    Seconds,
    Word,
)
from gitplacer.kinds.machines import Autoscaler
from gitplacer.kinds.profile import Profile
from gitplacer.kinds.selectors import ClusterMetadata, Metadata, Override, TaintField
from gitplacer.kinds.standby import Clone, Standby
from gitplacer.model.labels import NAME_KEY, Taint

_HOST = r"([A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])"
_USER = r"[A-Za-z0-9_][A-Za-z0-9._+-]*@"
Url = Annotated[
    str,
    Matching(
        rf"^((https:/{{2}}|ssh:/{{2}}({_USER})?){_HOST}(:[0-9]{{1,5}})?/[^?#\s\x00-\x1f\x7f-\x9f]*"
        rf"|{_USER}{_HOST}:/?[^-/:\s\x00-\x1f\x7f-\x9f][^:\s\x00-\x1f\x7f-\x9f]*)$",
        "must be an https:// or ssh:// address, or user@host:path, without a password, a user name for https, ? and #; a path is given on the command line",
    ),
]
# What git takes for a branch, less what it takes for something else too: HEAD, and the full name of a ref.
_BRANCH = r"^(?!HEAD$|refs/)[A-Za-z0-9_]([A-Za-z0-9_-]|/(?![/.])|\.(?!\.|/|lock(/|$)))*"
Branch = Annotated[
    str,
    Matching(
        rf"{_BRANCH}(?<![/.])$", "must be the name of a Git branch, without refs/heads/ before it, and not HEAD", 200
    ),
]
Root = Annotated[
    str,
    Matching(
        rf"^(?!(placements|moving|fleet|guards)(/|$))(?!(.*/)?flux-system(/|$)){FOLDER}",
        "must be a relative directory, and not placements, moving, fleet, guards or flux-system, which hold other things",
    ),
]
PublicKey = Annotated[
    str,
    Matching(
        r"^((sk-)?(ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]{16,}={0,3}( [^\x00-\x1f]*)?"
        r"|-----BEGIN PGP PUBLIC KEY BLOCK-----\n[\x0a\x20-\x7e]+)$",
        'must be a public key: an SSH key as it stands in a file such as id_ed25519.pub, "ssh-ed25519 AAAA…", or an armoured OpenPGP block',
        50_000,
    ),
]


class NamespaceFromPath(Model):
    """Where an object without a namespace takes it from."""

    from_path: Annotated[
        str,
        Matching(
            r"^(?!([^\x00-\x1f\\]*/)?\.{0,2}(/|$))([^\x00-\x1f\\{}]*/)?\{namespace\}(/[^\x00-\x1f\\{}]*)?$",
            "must be a relative path pattern with one folder called {namespace}",
            LONGEST_PATTERN,
        ),
    ] = "workloads/{namespace}/**"
    """A path pattern in which `{namespace}` stands for one folder, the namespace."""


class SourceSettings(Model):
    """Which files of the source are workloads."""

    include: tuple[PathGlob, ...] = ("workloads/**",)
    """Files that hold workloads."""
    exclude: tuple[PathGlob, ...] = ()
    """Files that don't, though `include` matches them. Of a symbolic link or a submodule that one of these patterns matches, or all below which it
    would match, it is not told that nothing behind it is read."""
    namespaces: NamespaceFromPath = NamespaceFromPath()
    """Where an object without a namespace takes it from."""
    signers: Annotated[tuple[PublicKey, ...], Field(min_length=1)] | None = None
    """Who may sign commits of the source: public SSH or OpenPGP keys. A commit counts if it, and every commit that came with it since the
    one that the last pass was made from, is signed by one of those that were listed before it. Absent means that every commit counts."""


class HydratorSettings(Model):
    """How far the contract of Argo CD's hydrator is kept, which promoters build on. `hydrator.metadata` is always written."""

    notes: Boolean = False
    """Whether the tip also gets a Git note (`refs/notes/hydrator.metadata`) with the commit of the fleet repo that it is from."""


class DeploymentSettings(Model):
    """The repo that Argo CD or Flux syncs."""

    url: Url | None = None
    """Its address (https or ssh). `--deployment` overrides it."""
    branch: Branch = "main"
    """The branch that is written, and that the engines sync."""
    root: Root = "clusters"
    """The directory that holds one directory per cluster."""
    hydrator: HydratorSettings = HydratorSettings()
    """What promoters need to know."""
    proposed: Boolean = False
    """Whether `<branch>-next` is written instead, from which a promoter merges into `branch`. The engines sync `branch`."""

    @property
    def written(self) -> str:
        """The branch that passes are computed from and land on."""
        return f"{self.branch}-next" if self.proposed else self.branch


class Jumps(Model):
    """How much a cluster may grow or shrink from one snapshot to the next before it takes a second one to believe it."""

    factor: Annotated[Integer, Field(ge=2, le=1000)] = 3
    """More than so many times as much, or less than that part of it, is a jump: of the nodes, of a resource that all of them offer, or
    of one that a single node offers."""
    nodes: Annotated[Integer, Field(ge=0, le=100_000)] = 10
    """While no more nodes than this come or go, neither their number nor what all of them offer is judged; nor is it where the Cluster
    has an autoscaler or a standby."""
    believed_after: Seconds = 600
    """A jump is believed once snapshots have said the same for so long."""


Writer = Annotated[
    str,
    Matching(
        r"^(\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$",
        "must be the name of a Cluster, or * for every cluster that is not named",
    ),
]


SnapshotBranch = Annotated[
    str,
    Matching(
        rf"{_BRANCH}((?<![.])\{{cluster\}}|(?<![/.]))$",
        "must be the name of a Git branch, or of one for each cluster, which ends with {cluster}: capacity/{cluster}",
        200,
    ),
]


class CapacitySettings(Model):
    """Where capacity snapshots are. Always read at the tip of the branch, or of the branches."""

    model_config = ConfigDict(
        json_schema_extra={"if": {"required": ["writers"]}, "then": {"required": ["branch"]}},
    )

    url: Url | None = None
    """The repo that holds them; absent means the source repo."""
    branch: SnapshotBranch | None = None
    """The branch, or with `{cluster}` at its end one for each cluster, from which only the cluster's own snapshot is read. Absent
    means the default branch."""
    path: Folder = "capacity"
    """The directory in it."""
    writers: dict[Writer, Annotated[tuple[PublicKey, ...], Field(min_length=1)]] | None = None
    """Who may speak for which cluster: public SSH or OpenPGP keys, by cluster. A commit that changes a cluster's snapshot and is signed by
    none of them is not believed. Absent means that whoever can push is believed."""
    jumps: Jumps = Jumps()
    """When a cluster is not believed to have changed so much. Held against the history of a branch of snapshots; files beside the source
    are believed."""

    @model_validator(mode="after")
    def _writers_have_a_branch(self) -> Self:
        if self.writers is not None and self.branch is None:
            raise ValueError("has writers and no branch: give snapshots a branch of their own")
        return self


class PlatformSettings(Model):
    """Trusted objects, also cluster-scoped ones: KubeRay, its CRDs, namespaces."""

    paths: tuple[PathGlob, ...] = ("platform/**",)
    """Files that hold them. Each directory is one group."""
    charts: tuple[Chart, ...] = ()
    """Helm charts that clusters get through their engine."""


Exceed = Literal["Throttle", "Hold", "Allow"]


class MoveGuard(Model):
    """How many groups may begin to move in a time, and what happens to those beyond."""

    max: Annotated[Integer, Field(ge=0)] = 10
    """So many groups. Where these are others', a Tenant may still move its fair part of so many, and at least one."""
    per: Period = 3600
    """In so long a time."""
    exceed: Exceed = "Throttle"
    """Throttle lets the others move later, Hold lets them wait for an Approval with `action: Exceed`, Allow lets them move."""


class EvacuationGuard(MoveGuard):
    """The same for groups that leave clusters which are draining or lost."""

    exceed: Exceed = "Allow"
    """Throttle lets the others move later, Hold lets them wait for an Approval with `action: Exceed`, Allow lets them move."""


class RemovalGuard(Model):
    """How many groups may be removed in a time because the source does not have them any more, and what happens to those beyond."""

    max: NumberOrShare = "25%"
    """So many groups, or such a share of all groups of workloads: those of the source and those that would be removed. A share never
    holds back fewer than five groups. Where there are Tenants each is held by what it loses itself."""
    of: Literal["groups"] = "groups"
    """What the share is of."""
    per: Seconds = 3600
    """In so long a time."""
    exceed: Exceed = "Hold"
    """Hold keeps all of them, because a source of which so much is missing is not believed in part; they go with an Approval
    (`action: Remove` or `Exceed`). Throttle removes as many as may be removed now, and the others later. Allow removes all."""

    def most(self, groups: int) -> int:
        """How many of so many groups may go."""
        if isinstance(self.max, int):
            return self.max
        return max(_NEVER_HELD, groups * int(self.max.removesuffix("%")) // 100)

    def own(self, groups: int, owners: int) -> int:
        """How many of its groups one of several owners may lose whatever others lose."""
        if isinstance(self.max, int):
            return fair_share(self.max, owners)
        return max(1, groups * int(self.max.removesuffix("%")) // 100)


def fair_share(most: int, owners: int) -> int:
    """What each of several may always have of what they may have together: at least one, unless nobody may have any."""
    return max(1, most // max(1, owners)) if most else 0


_NEVER_HELD = 4
"""So many removals are an ordinary day's work, however small the fleet."""

MoveReason = Literal["NotEligible", "ClusterDraining", "ClusterLost", "PendingPods", "PreferredAvailable"]


class Freeze(Model):
    """A time that comes again and again, in which nothing begins to move."""

    schedule: Annotated[
        str,
        Matching(
            r"^[0-9*/,A-Za-z-]+( +[0-9*/,A-Za-z#-]+){4}$",
            'must be a cron schedule of five fields such as "0 18 * * 5"',
            100,
        ),
    ]
    """When it begins, as cron has it."""
    duration: Period
    """How long it lasts."""
    time_zone: Annotated[
        str,
        Matching(r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}$", "must be the name of a time zone such as Europe/Berlin"),
    ] = "UTC"
    """The time zone of the schedule, by its name in the IANA database."""
    allow: tuple[MoveReason, ...] = ()
    """Reasons for which groups move all the same."""

    @model_validator(mode="after")
    def _comes_at_some_time(self) -> Self:
        try:
            calendar.window(self.schedule, self.duration, self.time_zone, datetime(2026, 1, 1, tzinfo=UTC))
        except ValueError as error:
            raise ValueError(str(error)) from None
        return self


class Guards(Model):
    """Limits on what moves or goes in a time. They stop only what they concern."""

    relocations: MoveGuard = MoveGuard()
    """Moves for any other reason than evacuation."""
    evacuations: EvacuationGuard = EvacuationGuard()
    """Moves away from clusters that are draining or lost."""
    removals: RemovalGuard = RemovalGuard()
    """Removals of groups that are gone from the source."""
    freeze: tuple[Freeze, ...] = ()
    """Times in which nothing begins to move but what somebody has consented to. What has begun goes on."""


class DecisionSettings(Model):
    """Where other tools read which clusters each group is on."""

    into: DnsLabel
    """The cluster whose platform directory gets a PlacementDecision (multicluster.x-k8s.io) for each group of workloads: usually a
    Management cluster. It needs the kind's CRD, and Argo CD or Flux has to sync it."""
    profiles: DnsLabel = "default"
    """The namespace of the ClusterProfiles on it. They have the names of the Clusters, or those of their annotations
    `gitplacer.dev/cluster-profile`."""


class FleetSpec(Model):
    """What holds for the whole fleet."""

    source: SourceSettings = SourceSettings()
    """Which files of the source are workloads."""
    deployment: DeploymentSettings = DeploymentSettings()
    """The repo that is written."""
    capacity: CapacitySettings = CapacitySettings()
    """Where capacity snapshots are."""
    engine: Literal["argocd", "flux"] = "argocd"
    """What syncs the deployment repo to the clusters."""
    platform: PlatformSettings = PlatformSettings()
    """Trusted objects."""
    system_namespace: DnsLabel = "gitplacer"
    """The namespace of the sentinel ConfigMaps."""
    lost_after: Period | None = None
    """A cluster whose snapshot is older than this counts as lost. Absent: only one whose state says so. Silence is not believed
    while more clusters are silent than not."""
    guards: Guards = Guards()
    """How much may move or go."""
    clone: Clone | None = None
    """Clusters that are made when they are needed. Absent means none."""
    decisions: DecisionSettings | None = None
    """Tell other tools which clusters each group is on. Absent means that nobody is told."""


class Fleet(OwnKind):
    """The fleet: where workloads are read and placements are written. A source has exactly one."""

    kind: Literal["Fleet"]
    metadata: Metadata
    spec: FleetSpec


class ClusterLimits(Model):
    """
    The most that a cluster may say of itself. A snapshot that says more is not believed. What is absent is not limited.
    """

    total: Bounds = {}
    """The most that all its nodes offer together: cpu, memory, devices, or `nodes`, their number. What an autoscaler may add is
    limited by its `maxNodes`."""
    per_node: Bounds = {}
    """The most that one node offers, or one machine of a node group."""
    node_groups: Literal["Reported", "Declared"] = "Reported"
    """Declared counts a node group only where the autoscaler's `nodeTypes` describe it, and no price but theirs."""


class ClusterSpec(Model):
    """What is known and wanted of a cluster."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"role": {"const": "Management"}}, "required": ["role"]},
            "then": {"not": {"required": ["standby"]}},
        }
    )

    role: Literal["Workload", "Management"] = "Workload"
    """A Management cluster never takes workloads."""
    provider: Word | None = None
    """Who runs it: aws, gce, azure, openstack … becomes the label `gitplacer.dev/provider`."""
    region: Word | None = None
    """Becomes the label `topology.kubernetes.io/region`."""
    zone: Word | None = None
    """Becomes the label `topology.kubernetes.io/zone`."""
    kubernetes_version: (
        Annotated[str, Matching(r"^[0-9]+\.[0-9]+(\.[0-9]+)?$", 'must be a version in quotes such as "1.31"')] | None
    ) = None
    """Becomes the label `gitplacer.dev/kubernetes-version`."""
    state: Literal["Active", "Cordoned", "Draining", "Lost"] = "Active"
    """Cordoned takes nothing new; from Draining and Lost everything moves away."""
    max_age: Period | None = None
    """Older snapshots are stale: nothing new is placed on them. Absent means never."""
    taints: tuple[TaintField, ...] = ()
    """Cluster taints, tolerated by policies."""
    limits: ClusterLimits = ClusterLimits()
    """What its snapshots may say at most."""
    autoscaler: Autoscaler | None = None
    """What adds nodes. Absent means that the cluster is static."""
    standby: Standby | None = None
    """When it goes to sleep for want of work, and what it has when it is awake. Absent means that it never does."""
    mesh: Word | None = None
    """The Cilium Cluster Mesh that it belongs to, under any name. Clusters of one mesh can share one Ray app."""
    profile: Profile = Profile()
    """What it can do besides offering room. What its snapshot found fills the gaps."""
    overrides: tuple[Override, ...] = ()
    """Changes to every object rendered for this cluster that has the field."""

    @model_validator(mode="after")
    def _who_manages_does_not_sleep(self) -> Self:
        if self.role == "Management" and self.standby is not None:
            raise ValueError("a Management cluster has no standby: it takes no workloads, so it would always be idle")
        return self


class Cluster(OwnKind):
    """One Kubernetes cluster of the fleet."""

    kind: Literal["Cluster"]
    metadata: ClusterMetadata
    spec: ClusterSpec

    @property
    def name(self) -> str:
        return self.metadata.name

    def labels(self) -> dict[str, str]:
        """The labels policies select by: its own, and the derived ones, which win."""
        derived = {
            NAME_KEY: self.metadata.name,
            "topology.kubernetes.io/region": self.spec.region,
            "topology.kubernetes.io/zone": self.spec.zone,
            "gitplacer.dev/provider": self.spec.provider,
            "gitplacer.dev/kubernetes-version": self.spec.kubernetes_version,
        }
        return {**self.metadata.labels, **{key: value for key, value in derived.items() if value is not None}}

    def taints(self) -> tuple[Taint, ...]:
        return tuple(field.taint() for field in self.spec.taints)


def synced(spec: FleetSpec, clusters: Iterable[Cluster], managers: Iterable[str] = ()) -> list[str]:
    """
    The clusters that have a directory from the start, sorted: those for workloads, those that others are rendered into, the one where
    decisions are told, and the `managers` to whose Kueue policies leave their groups.
    """
    known = {cluster.name: cluster for cluster in clusters}
    standby = [cluster.spec.standby for cluster in known.values()]
    targets = {each.manifests.render_into for each in standby if each is not None and each.manifests is not None}
    targets |= {*managers, *([spec.decisions.into] if spec.decisions is not None else [])}
    return sorted(name for name, c in known.items() if c.spec.role == "Workload" or name in targets)

"""
The kind Placement: the record of one group in the deployment repo.

It is what a later pass needs to remember: where the group is, since when, which files of the source it came
from and under which names they were written. Nothing in it changes by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, field_serializer

from gitplacer.kinds.fields import Amounts, DnsLabel, Instant, Integer, Matching, Model, OwnKind
from gitplacer.model.counts import Count, Counts, Part
from gitplacer.model.decision import ClusterRole
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Identity

Number = Annotated[Integer, Field(ge=0, lt=2**31)]

RECORDS = "placements"
"""The directory of the records in the deployment repo."""

BETWEEN = "moving"
"""The directory of groups that have left a cluster and are on no other yet; nothing syncs it."""

SHARED = "_shared"
"""The directory, in that of a namespace, of what several groups need."""


WrittenFile = Annotated[
    str,
    Matching(
        r"^(?!([^\x00-\x1f\\]*/)?(\.|/|$|[Gg][Ii][Tt]~1[. ]*(/|$)))[^\x00-\x1f\x7f\\]+$",
        'must be a path below the unit, without empty, hidden or ".." parts',
    ),
]
"""Whoever may change a record must not thereby have files written where no file of a group is: outside of its cluster, or where git has its own."""


class RecordMetadata(Model):
    """The group's id, in two parts."""

    name: Annotated[str, Matching(r"^[A-Za-z0-9][-A-Za-z0-9_.]*$", "must be the name of a group")]
    """The group's name."""
    namespace: Annotated[str, Matching(r"^(_cluster|[a-z0-9][-a-z0-9]*)$", "must be a namespace or _cluster")]
    """Its namespace; `_cluster` for platform objects without one."""


class RecordMember(Model):
    """One object of the group."""

    api_version: str
    """As its manifest says."""
    kind: str
    """As its manifest says."""
    namespace: str = ""
    """Its namespace; empty for a cluster-scoped object."""
    name: str
    """Its name."""
    source: str
    """The file of the source it came from."""
    file: WrittenFile
    """The file it was written to, below the unit (`workloads/` or `platform/`) of each cluster."""
    declared: Literal[True] | None = None
    """Whether a WorkloadKind told that it becomes pods: without one nobody would know, and it is kept."""
    only: Literal["Home", "Remote"] | None = None
    """On which clusters of a group that spans several it is: where the head is, or where further workers are; of one that is left to
    Kueue what Home has is on the manager. Absent: on all."""

    @property
    def identity(self) -> Identity:
        return Identity(self.api_version.rpartition("/")[0], self.kind, self.namespace, self.name)

    @property
    def is_shared(self) -> bool:
        return f"/{SHARED}/" in self.file


class RecordPods(Model):
    """Pods that ran when an update was merged."""

    role: Annotated[str, Field(min_length=1)]
    """`head`, `worker/<groupName>` or `pod`."""
    count: Annotated[Integer, Field(ge=1)]
    """How many."""
    requests: Amounts = NOTHING
    """What each of them asks for."""

    @field_serializer("requests")
    def _as_quantities(self, requests: Resources) -> dict[str, str]:
        return requests.rendered()


class RecordUpdate(Model):
    """An update that was merged and is not seen to be done. Until then the old pods hold their room beside the new ones."""

    kind: str
    """The kind of the object that is updated."""
    name: str
    """Its name."""
    how: Literal["NewCluster", "InSteps", "Rolling", "InPlace"]
    """Whether a full second Ray cluster comes beside the first one, one that grows as the first shrinks, pods are replaced
    one after another, some more of them at a time than are to be, or larger pods get the places of those that have ended."""
    pods: tuple[RecordPods, ...] = ()
    """The pods that run on beside the new ones, or before them."""
    since: Instant
    """The pass that merged it."""
    epoch: Annotated[Integer, Field(ge=1)]
    """The epoch of the workloads unit with it: snapshots of that or a later one tell how far it is."""
    generation: Integer | None = None
    """The generation that the operator had seen before, if a snapshot told."""
    applied_at: Instant | None = None
    """The time of the first snapshot that showed it applied and no more than one Ray cluster. A later one has to show that
    too before the room is given to others."""


class RecordCount(Model):
    """How many replicas one role of an object has on a cluster. What is absent is as the manifest says."""

    role: str
    """The role: `pod`, or `worker/<groupName>` of a Ray cluster, whose replicas have all hosts of a slice."""
    replicas: Number | None = None
    """How many."""
    minimum: Number | None = None
    """How many it may be scaled down to."""
    maximum: Number | None = None
    """How many it may be scaled up to."""


class RecordCounts(Model):
    """The counts of one object of the group."""

    api_group: str = ""
    """Its API group."""
    kind: str
    """Its kind."""
    namespace: str = ""
    """Its namespace; empty for a cluster-scoped object."""
    name: str
    """Its name."""
    roles: tuple[RecordCount, ...]
    """Each role whose count is not as the manifest says."""

    @property
    def identity(self) -> Identity:
        return Identity(self.api_group, self.kind, self.namespace, self.name)


class RecordCluster(Model):
    """One cluster that has the group."""

    name: DnsLabel
    """The cluster."""
    role: ClusterRole = "Copy"
    """What the cluster has of it: all of it; or, of a Ray app that spans several clusters, the head and the workers that fit
    there (Home), or further workers (Remote)."""
    state: Literal["Placed", "Waking", "Adding", "Removing"] = "Placed"
    """What happens to it there: Waking has its room, and its files come when the cluster is there; Adding has its room and, unless
    another is Removing, its files; Removing has no files any more, and the group is not known to be gone from it."""
    since: Instant
    """The pass that put it there, or that took its files away."""
    epoch: Annotated[Integer, Field(ge=1)]
    """The epoch of the unit that first had it."""
    reason: str | None = None
    """The code of the finding by which the cluster was taken, unless that was `Fits`: what takes luck or machines is no certainty
    for others to respect."""
    counts: tuple[RecordCounts, ...] | None = None
    """What objects have other counts there than in their manifests, because the group is divided. Absent: none has."""
    unstarted_at: Instant | None = None
    """The time of a snapshot that showed that its job, which should leave, had not started. A later one has to show it too
    before the job may start elsewhere."""
    pending_at: Instant | None = None
    """The time of the first snapshot that showed that its pods have waited for a node for too long, as every one after it has. A
    later one has to show it too before the group moves for that."""
    updates: tuple[RecordUpdate, ...] | None = None
    """Updates that were merged and are not seen to be done there."""
    ended_at: Instant | None = None
    """The time of a snapshot that showed that its job had run to its end. A later one has to show it too."""

    def known_counts(self) -> Counts:
        """The counts as a value."""
        return Counts.of(
            {
                Part(item.identity, role.role): Count(role.replicas, role.minimum, role.maximum)
                for item in self.counts or ()
                for role in item.roles
            }
        )


class RecordMove(Model):
    """A relocation that takes several passes, as far as it has come."""

    strategy: Literal["Surge", "RemoveFirst"]
    """How it goes on."""
    source: Annotated[tuple[DnsLabel, ...], Field(alias="from")]
    """The clusters that it leaves."""
    to: tuple[DnsLabel, ...] = ()
    """The clusters that it goes to; none while it looks for another, because the one it had in view will not do."""
    reason: str
    """The code of the reason for it."""
    since: Instant
    """The pass that began it."""
    ready_at: Instant | None = None
    """The time of the first snapshots that showed the new copies ready, and none after it showed otherwise."""
    gone_at: Instant | None = None
    """The time of the first snapshots that showed the old copies gone."""


class RecordMoved(Model):
    """A relocation of the last days."""

    at: Instant
    """The pass that began it."""
    source: Annotated[tuple[DnsLabel, ...], Field(alias="from")]
    """The clusters that it left."""
    to: tuple[DnsLabel, ...]
    """The clusters that it went to."""
    reason: str
    """The code of the reason for it."""
    aborted: Literal[True] | None = None
    """Whether it was taken back, because the new copy did not become ready in time."""
    epochs: dict[str, int] | None = None
    """Of clusters that were lost: the epoch that they have to reach before anything new goes there, because what was left there
    may run until then."""
    lost_at: Instant | None = None
    """The pass in which they were lost, where that was after the one that began it."""


class RecordFinished(Model):
    """The end of a job. It is never started again."""

    phase: Literal["Succeeded", "Failed"]
    """How it ended."""
    at: Instant
    """The time of the snapshot that showed it first."""


def recorded_counts(counts: Counts) -> tuple[RecordCounts, ...] | None:
    """Counts as a record has them; None where all is as the manifests say."""
    found: dict[Identity, list[RecordCount]] = {}
    for (identity, role), (replicas, minimum, maximum) in counts:
        one = RecordCount(role=role, replicas=replicas, minimum=minimum, maximum=maximum)
        found.setdefault(identity, []).append(one)
    return tuple(RecordCounts(**key._asdict(), roles=tuple(roles)) for key, roles in found.items()) or None


class RecordClaim(Model):
    """Room on a cluster that is kept for a group which waits, until it is really free."""

    cluster: DnsLabel
    """The cluster."""
    displaced: tuple[str, ...] = ()
    """The groups that had to leave; they do not come back to the cluster while the claim stands. Empty where the group has waited
    long, and room is kept for it until what was there and ends by itself has ended."""
    since: Instant
    """The pass that made the claim."""
    epoch: Annotated[Integer, Field(ge=1)]
    """The epoch of the workloads unit then: a snapshot of it, or of a later one, tells whether those who left are gone."""


class RecordDispatch(Model):
    """To whom it is left where the group starts."""

    policy: str
    """The policy that left it to Kueue, after which what Kueue is told is called."""
    manager: DnsLabel
    """The cluster whose Kueue starts it elsewhere. It has all of the group."""
    queue: str
    """The LocalQueue that its Ray object waits in."""
    nominated: tuple[DnsLabel, ...] = ()
    """The clusters on which Kueue may start it, in order of preference. They have its namespace, and all of it but the Ray object."""


class PlacementRecord(OwnKind):
    """Where a group is and why. Written by gitplacer; not synced to clusters."""

    kind: Literal["Placement"]
    metadata: RecordMetadata
    policy: str
    """The policy that governs it."""
    members: tuple[RecordMember, ...] = ()
    """Its objects."""
    clusters: tuple[RecordCluster, ...] = ()
    """Where it is; empty while it waits."""
    waiting_since: Instant | None = None
    """Since when it waits for room for all its copies."""
    claim: RecordClaim | None = None
    """Room that is kept for it while it waits."""
    moved_at: Instant | None = None
    """Its last relocation: when it began or, if it took several passes, when it ended."""
    move: RecordMove | None = None
    """The relocation that is going on."""
    moves: tuple[RecordMoved, ...] | None = None
    """Its last relocation, those of the last day, and older ones from lost clusters on which something may be left; the oldest
    first."""
    hold_until: Instant | None = None
    """Until then it does not move by itself, because its last relocation was taken back or reverted."""
    approvals: tuple[str, ...] | None = None
    """Approvals that were carried out for it and have not expired, each as its name and a digest of what it consents to. Each
    counts once."""
    dispatch: RecordDispatch | None = None
    """To whom it is left where it starts. Absent: to nobody."""
    finished: RecordFinished | None = None
    """The end of its jobs, once two snapshots have shown it."""
    reason: str
    """The code of the decision that put it where it is, or lets it wait."""

    @property
    def id(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def having(self) -> tuple[tuple[str, ClusterRole], ...]:
        """The clusters that have files of it, each with which: of one that is left to Kueue also those that are nominated."""
        there = tuple((entry.name, entry.role) for entry in self.clusters)
        return (
            there if self.dispatch is None else dispatched_over(there, self.dispatch.manager, self.dispatch.nominated)
        )

    @property
    def is_platform(self) -> bool:
        """Whether its files are in the platform units: those of workloads are in the group's own directory, or shared."""
        return bool(self.members) and not any(m.is_shared or m.file.startswith(f"{self.id}/") for m in self.members)


def dispatched_over(
    clusters: Iterable[tuple[str, ClusterRole]], manager: str, nominated: Iterable[str]
) -> tuple[tuple[str, ClusterRole], ...]:
    """What clusters have of a group that is left to Kueue: the manager all, as `Home`, those that are nominated the rest, as `Remote`."""
    there = {name: "Home" if name == manager else role for name, role in clusters}
    return tuple({**dict.fromkeys(nominated, "Remote"), **there}.items())  # type: ignore[arg-type]

"""
What a snapshot proves about something that may run.

A job that was started must not be started again elsewhere, and a copy that serves must not go before another does. A snapshot
says something about a placement only if it is later than it: its `applied` epoch has reached the record's or, where no epoch is
reported, it was observed later than the change plus a grace for the sync. And it must be fresh: what was so long ago may not be
so any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from gitplacer.belief import Doubted
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.record import RecordClaim, RecordCluster, RecordUpdate
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM

SYNC_GRACE = timedelta(minutes=5)
"""How long Argo CD or Flux may take to apply a commit, where the snapshot does not tell (their polls take 3 minutes)."""


def is_stale(cluster: Cluster, snapshot: CapacitySnapshot, now: datetime) -> bool:
    """Whether a snapshot is older than its cluster's `maxAge` allows, or counts only because a later one is not believed."""
    max_age = cluster.spec.max_age
    return isinstance(snapshot, Doubted) or (
        max_age is not None and now - snapshot.observed_at > timedelta(seconds=max_age)
    )


def speaks_of(snapshot: CapacitySnapshot, entry: RecordCluster | RecordClaim | RecordUpdate, unit: str) -> bool:
    """Whether a snapshot was taken after the cluster applied what the record's entry says."""
    return reaches(snapshot, entry.epoch, entry.since, unit)


def reaches(snapshot: CapacitySnapshot, epoch: int, since: datetime, unit: str) -> bool:
    """
    Whether a snapshot was taken after the cluster applied a change that was made at a time and gave its unit an epoch. One from a hub
    never tells: it shows no groups, which must not be taken for their being gone.
    """
    if snapshot.coarse:
        return False
    if snapshot.applied is not None:
        applied = snapshot.applied.platform if unit == PLATFORM else snapshot.applied.workloads
        return applied >= epoch and snapshot.observed_at > since
    return snapshot.observed_at > since + SYNC_GRACE


class Seen(Struct, frozen=True):
    """What the snapshot of a cluster says to a question, and the time it was taken."""

    at: datetime
    yes: bool


def testimony(snapshot: Snapshot, entry: RecordCluster, unit: str) -> CapacitySnapshot | None:
    """The capacity snapshot of a record's entry, if it is fresh and from after the entry was made; None if there is none."""
    capacity, cluster = snapshot.capacity.get(entry.name), snapshot.source.own.clusters.get(entry.name)
    if capacity is None or cluster is None or not speaks_of(capacity, entry, unit):
        return None
    if is_stale(cluster, capacity, snapshot.now) or capacity.observed_at > snapshot.now + SYNC_GRACE:
        return None
    return capacity


def seen_ready(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> Seen | None:
    """Whether a group is ready where the record put it; None if nobody knows. One that is not shown at all is not ready."""
    capacity = testimony(snapshot, entry, unit)
    if capacity is None:
        return None
    there = capacity.running(group_id)
    return Seen(capacity.observed_at, there is not None and there.ready)


def seen_gone(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> Seen | None:
    """Whether nothing of a group is left where the record's entry says that its files were removed; None if nobody knows."""
    capacity = testimony(snapshot, entry, unit) if entry.state == "Removing" else None
    return None if capacity is None else Seen(capacity.observed_at, capacity.running(group_id) is None)


def seen_nothing(snapshot: Snapshot, name: str, entry: RecordCluster, group_id: str) -> Seen | None:
    """
    Whether nothing of a group is left on a cluster where somebody else may have started it, long enough after its manager's entry, which says
    that its files were removed; None if nobody knows. No epoch tells: what runs there was not in Git.
    """
    capacity, cluster = snapshot.capacity.get(name), snapshot.source.own.clusters.get(name)
    if capacity is None or cluster is None or capacity.coarse or is_stale(cluster, capacity, snapshot.now):
        return None
    late = entry.since + SYNC_GRACE < capacity.observed_at <= snapshot.now + SYNC_GRACE
    return Seen(capacity.observed_at, capacity.running(group_id) is None) if late else None


def all_gone(first: Seen, others: Iterable[Seen | None]) -> Seen | None:
    """Whether a group is gone by all of some sightings, and the time of the earliest; None if one is missing."""
    at = first.at
    for other in others:
        if other is None or not other.yes:
            return other
        at = min(at, other.at)
    return Seen(at, yes=True)


class Pending(Struct, frozen=True):
    """Pods of a group that have been waiting for a node: how many of each role, how long the first has, and when they were seen."""

    roles: Counter[str]
    waited: timedelta
    at: datetime


def seen_pending(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> Pending | None:
    """
    The pods of a group that wait for a node where the record put it, by the time of the snapshot; None if there are none, or nobody
    knows. What was pending before the group came there was another's.
    """
    capacity = testimony(snapshot, entry, unit)
    there = capacity.running(group_id) if capacity is not None else None
    if capacity is None or there is None:
        return None
    waiting = [pod for pod in there.pods if pod.node is None and pod.pending_since is not None]
    if not waiting:
        return None
    since = max(min(pod.pending_since for pod in waiting if pod.pending_since is not None), entry.since)
    return Pending(Counter(pod.role for pod in waiting), capacity.observed_at - since, capacity.observed_at)


def seen_ended(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> tuple[datetime, str] | None:
    """
    When the snapshot was taken that shows that a group has run to its end where the record put it, and how. It may be as old as it
    likes: what has ended has ended.
    """
    capacity = snapshot.capacity.get(entry.name)
    if capacity is None or not speaks_of(capacity, entry, unit) or capacity.observed_at > snapshot.now + SYNC_GRACE:
        return None
    there = capacity.running(group_id)
    ended = there is not None and there.phase in ("Succeeded", "Failed")
    return (capacity.observed_at, str(there.phase)) if ended and there is not None else None


def seen_unstarted(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> datetime | None:
    """
    The time of the capacity snapshot, if it shows that a job has not started where the record put it. Only a fresh one from
    after that does, which shows the group pending and nothing of it submitted: one that does not show it at all may come
    from before it was applied or from after it was done.
    """
    capacity = testimony(snapshot, entry, unit)
    there = capacity.running(group_id) if capacity is not None else None
    if capacity is None or there is None or there.phase != "Pending":
        return None
    submitted = any(pod.role == "submitter" and pod.node is not None for pod in there.pods)
    return None if submitted else capacity.observed_at


def may_have_started(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> bool:
    """
    Whether a job may have started where the record put it. A start elsewhere cannot be taken back, so it takes two snapshots
    to prove that it has not: the one that the record remembers, and a later one.
    """
    if entry.state == "Waking":
        return False  # it was never written there
    seen = seen_unstarted(snapshot, entry, group_id, unit)
    return seen is None or entry.unstarted_at is None or seen <= entry.unstarted_at

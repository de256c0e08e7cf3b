"""
What a snapshot proves about something that may run.

A job that was started must not be started again elsewhere. A snapshot says something about a placement only if it
is later than it: its `applied` epoch has reached the record's or, where no epoch is reported, it was observed
later than the change plus a grace for the sync.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.record import RecordClaim, RecordCluster
from gitplacer.placement.eligibility import is_stale
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM

SYNC_GRACE = timedelta(minutes=5)
"""How long Argo CD or Flux may take to apply a commit, where the snapshot does not tell (their polls take 3 minutes)."""


def speaks_of(snapshot: CapacitySnapshot, entry: RecordCluster | RecordClaim, unit: str) -> bool:
    """Whether a snapshot was taken after the cluster applied what the record's entry says."""
    if snapshot.applied is not None:
        applied = snapshot.applied.platform if unit == PLATFORM else snapshot.applied.workloads
        return applied >= entry.epoch and snapshot.observed_at >= entry.since
    return snapshot.observed_at > entry.since + SYNC_GRACE


def seen_unstarted(snapshot: Snapshot, entry: RecordCluster, group_id: str, unit: str) -> datetime | None:
    """
    The time of the capacity snapshot, if it shows that a job has not started where the record put it. Only a fresh one from
    after that does, which shows the group pending and nothing of it submitted: one that does not show it at all may come
    from before it was applied or from after it was done.
    """
    capacity, cluster = snapshot.capacity.get(entry.name), snapshot.source.own.clusters.get(entry.name)
    if capacity is None or cluster is None or not speaks_of(capacity, entry, unit):
        return None
    if is_stale(cluster, capacity, snapshot.now) or capacity.observed_at > snapshot.now + SYNC_GRACE:
        return None
    running = next((group for group in capacity.groups if group.name == group_id), None)
    if running is None or running.phase != "Pending":
        return None
    submitted = any(pod.role == "submitter" and pod.node is not None for pod in running.pods)
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

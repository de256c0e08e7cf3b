"""
What a snapshot proves about something that may run.

A job that was started must not be started again elsewhere. A snapshot says something about a placement only if it
is later than it: its `applied` epoch has reached the record's or, where no epoch is reported, it was observed
later than the change plus a grace for the sync.
"""

from __future__ import annotations

from datetime import timedelta

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.record import RecordCluster
from gitplacer.source.manifests import PLATFORM

SYNC_GRACE = timedelta(minutes=5)
"""How long Argo CD or Flux may take to apply a commit, where the snapshot does not tell (their polls take 3 minutes)."""


def speaks_of(snapshot: CapacitySnapshot, entry: RecordCluster, unit: str) -> bool:
    """Whether a snapshot was taken after the cluster applied what the record's entry says."""
    if snapshot.applied is not None:
        applied = snapshot.applied.platform if unit == PLATFORM else snapshot.applied.workloads
        return applied >= entry.epoch
    return snapshot.observed_at > entry.since + SYNC_GRACE


def may_have_started(snapshot: CapacitySnapshot | None, entry: RecordCluster, group_id: str, unit: str) -> bool:
    """
    Whether a job may have started where the record put it. Only a later snapshot that shows the group pending, or
    not at all, proves that it has not.
    """
    if snapshot is None or not speaks_of(snapshot, entry, unit):
        return True
    running = next((group for group in snapshot.groups if group.name == group_id), None)
    return running is not None and running.phase != "Pending"

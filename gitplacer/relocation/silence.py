"""
Which clusters are lost without anybody having said so: those that have been silent for too long.

A cluster that nobody hears of may be gone, or the network to it, or whoever writes its snapshots. If most clusters are silent,
it is the last: then silence says nothing, and nothing moves for it. A snapshot that is there and cannot be read, or is not believed, is no silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from gitplacer.belief import Doubted
from gitplacer.model.decision import Finding, Reason
from gitplacer.snapshot import Snapshot


def silent_clusters(snapshot: Snapshot) -> Mapping[str, datetime]:
    """The clusters that count as lost because they are silent, with the time since when they are."""
    after = snapshot.source.own.fleet.spec.lost_after
    if after is None:
        return {}
    heard = {
        name: capacity.observed_at
        for name, capacity in snapshot.capacity.items()
        if snapshot.source.own.clusters[name].spec.role == "Workload"
    }
    silent = {
        name: at
        for name, at in sorted(heard.items())
        if snapshot.now - at > timedelta(seconds=after) and not isinstance(snapshot.capacity[name], Doubted)
    }
    return silent if 2 * len(silent) <= len(heard) else {}


def fell_silent(since: datetime, leaves: str = "") -> Finding:
    """
    That a cluster is silent since a time. `leaves` names it to somebody who is on it; whoever would come to it knows which is meant.

    The subject is `<cluster> silent since <time>`, or `silent since <time>`.
    """
    return Finding(code=Reason.CLUSTER_LOST, subject=f"{leaves} silent since {since:%Y-%m-%dT%H:%M:%SZ}".lstrip())

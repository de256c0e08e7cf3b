"""The cluster is lost: its state says so, or it has been silent for too long."""

from __future__ import annotations

from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.silence import fell_silent
from gitplacer.relocation.triggers.standing import Standing


def trigger(standing: Standing) -> Finding | None:
    """The subject is the cluster and, where only silence says so, since when: `<cluster> silent since <time>`."""
    if standing.cluster is not None and standing.cluster.spec.state == "Lost":
        return Finding(code=Reason.CLUSTER_LOST, subject=standing.name)
    if standing.silent_since is not None:
        return fell_silent(standing.silent_since, standing.name)
    return None

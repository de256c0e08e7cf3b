"""The cluster is gone from the source."""

from __future__ import annotations

from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.triggers.standing import Standing


def trigger(standing: Standing) -> Finding | None:
    """Nobody syncs to a cluster that the fleet does not have."""
    return Finding(code=Reason.CLUSTER_LOST, subject=standing.name) if standing.cluster is None else None

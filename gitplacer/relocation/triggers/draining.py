"""The cluster is being drained."""

from __future__ import annotations

from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.triggers.standing import Standing


def trigger(standing: Standing) -> Finding | None:
    """What its state says."""
    draining = standing.cluster is not None and standing.cluster.spec.state == "Draining"
    return Finding(code=Reason.CLUSTER_DRAINING, subject=standing.name) if draining else None

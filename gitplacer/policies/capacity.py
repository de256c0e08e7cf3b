"""Capacity: any eligible cluster with room; the planner's tie-breaks decide."""

from __future__ import annotations

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementSettings


def preference(settings: PlacementSettings, cluster: Cluster) -> int | None:
    """All clusters are alike."""
    return 0

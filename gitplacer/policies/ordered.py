"""Ordered: clusters in the order of a list of selectors; one that none of them selects is never taken."""

from __future__ import annotations

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementSettings


def preference(settings: PlacementSettings, cluster: Cluster) -> int | None:
    """The index of the first selector that takes the cluster."""
    labels = cluster.labels()
    for index, selector in enumerate(settings.order):
        if selector.unmet(labels) is None:
            return index
    return None

"""
Cheapest: any eligible cluster; where machines have to be added, the one on which these cost least.

Capacity that is there is paid for already, so a cluster with room now costs nothing. A cluster of which a price is not known
comes after those of which all are.
"""

from __future__ import annotations

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementSettings


def preference(settings: PlacementSettings, cluster: Cluster) -> int | None:
    """All clusters are alike until machines have to be added; what these cost is known when the gang was packed."""
    return 0

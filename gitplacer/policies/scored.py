"""
Scored: any eligible cluster, the highest sum of weighted scores first.

What a cluster scores is known to the planner, which has the ClusterScores and the snapshots; here is only the sum. A score says which
cluster is liked, never which may be used: room, eligibility and the promises to others come before it, and what runs is not moved for it.
"""

from __future__ import annotations

from collections.abc import Callable

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementSettings
from gitplacer.kinds.scores import ScoreTerm


def preference(settings: PlacementSettings, cluster: Cluster) -> int | None:
    """All clusters are alike until their scores are known."""
    return 0


def total(settings: PlacementSettings, value: Callable[[ScoreTerm], int]) -> int:
    """The sum of a cluster's scores, each times its weight."""
    return sum(term.weight * value(term) for term in settings.scores)

"""
Whether Kueue's queues on a cluster have quota left for a group, beside all that was promised to others so far in this round.

What a snapshot shows as reserved is gone from what its queues have left. So of a group that is there only those pods count that the
snapshot does not show on a node: for these nothing may be reserved yet. Where something is reserved already and has no pods so far, it
counts twice until they are seen, which keeps others waiting and promises nobody what is not there. What edits ask for counts as far as they are
written.
"""

from __future__ import annotations

from collections.abc import Collection

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import Resources
from gitplacer.placement.kueue import Promised, exceeded
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.unseen import Unseen
from gitplacer.placement.weakly import weakly


class KueueQuotas:
    """Kueue's queues on all clusters. Where a snapshot tells of none there is nothing to count."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._there = occupancy.kueue_demand.there
        self._unseen = Unseen(shared, occupancy, self._there, weakly(self._taken))

    def refused(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> Finding | None:
        """
        Why some groups may not be on a cluster together, or not with what they ask for there now, where some others `beside` them are promised
        what they ask for; None if Kueue's queues there have enough left.
        """
        if name not in self._there:
            return None
        asked = self._unseen.asked_together(ids, name)
        if not asked:
            return None
        over = exceeded(self._pass.snapshot.capacity[name], self._unseen.by_others(ids, name, beside), asked)
        return None if over is None else Finding(code=Reason.QUEUE_QUOTA, queue=over)

    def promised(self, name: str) -> dict[str, Resources]:
        """What is promised of each ClusterQueue of a cluster, and not seen yet."""
        return {queue: amounts for queue, amounts in sorted(self._unseen.by_all(name).items()) if amounts}

    def _taken(self, group_id: str, name: str) -> Promised:
        return self._occupancy.kueue_demand.taken(
            group_id, name, edited=not self._occupancy.is_held_back(group_id, name)
        )

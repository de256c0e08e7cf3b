"""
What groups were promised of Kueue's queues and is not seen yet, over a round as far as it has come.

What a snapshot shows as reserved is gone from what its queues have left. So of a group that is there only those pods count that the
snapshot does not show on a node: for these nothing may be reserved yet. Where something is reserved already and has no pods so far, it
counts twice until they are seen, which keeps others waiting and promises nobody what is not there.

Kueue counts pod templates as they are written, and not the containers that controllers add to them: what nodes must have room for may
be more. What is refused here is never let in there, so never more is counted than Kueue does.
"""

from __future__ import annotations

from collections.abc import Collection

from gitplacer.grouping import AS_DESIRED, Group
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodSet
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.onsite import objects_on
from gitplacer.placement.queued import Waits, beyond, cluster_queue, waits_in
from gitplacer.placement.unseen import Unseen
from gitplacer.scheduler.objects import PODS


class Queues:
    """Kueue's queues on all clusters. Where a snapshot tells of none there is nothing to count."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._there = {name for name, snapshot in shared.snapshot.capacity.items() if snapshot.queues}
        self._unseen = Unseen(shared, occupancy, self._there, _Missing(shared).of)

    def refused(self, group: Group, name: str) -> Finding | None:
        """Why a group may not be on a cluster, or not with what it asks for there now; None if Kueue's queues there have enough left."""
        return self.refused_together((group.id,), name)

    def refused_together(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> Finding | None:
        """The same of several groups, where some others are promised what they ask for."""
        if name not in self._there:
            return None
        asked = self._unseen.asked_together(ids, name)
        if not asked:
            return None
        over = beyond(self._pass.snapshot.capacity[name], self._unseen.by_others(ids, name, beside), asked)
        return None if over is None else Finding(code=Reason.QUEUE_QUOTA, queue=over)

    def promised(self, name: str) -> dict[str, Resources]:
        """What is promised of each ClusterQueue of a cluster, and not seen yet."""
        return {queue: amounts for queue, amounts in sorted(self._unseen.by_all(name).items()) if amounts}


class _Missing:
    """What groups ask of queues, for whoever adds it up."""

    def __init__(self, shared: Pass) -> None:
        self._pass = shared

    def of(self, group_id: str, name: str) -> dict[str, Resources]:
        """
        What a group asks of each ClusterQueue of a cluster for pods that are not seen there. A pod that is seen is one of those that its queue has let in,
        whether Kueue counted all of its role or fewer.
        """
        group = self._pass.groups.get(group_id)
        objects = objects_on(self._pass, group_id, name, self._pass.snapshot.variants.facts_there)
        found = [(self._queue_of(waits_in(group, space, facts), name), facts) for space, facts in objects]
        if not any(queue for queue, _ in found):
            return {}
        books = self._pass.books[name]
        reserve, with_peak = AS_DESIRED if group is None else group.reserves
        sets: list[PodSet] = []
        asked: list[tuple[str, int, Resources]] = []
        for queue, facts in found:
            queued = facts.queued_for(reserve, with_peak=with_peak)
            for pods, (number, requests) in zip(facts.gang_for(reserve, with_peak=with_peak), queued, strict=True):
                each = (pods,) if queue else books.on_each_node((pods,))
                sets += each
                asked += [(queue, number, requests)] * len(each)
        missing: dict[str, Resources] = {}
        unseen = books.not_seen(group_id, tuple(sets))
        for (queue, number, requests), there, left in zip(asked, sets, unseen, strict=True):
            count = max(0, number - (there.count - left.count))
            if queue and count:
                missing[queue] = missing.get(queue, NOTHING) + requests * count + {PODS: count}
        return missing

    def _queue_of(self, waits: Waits | None, name: str) -> str:
        return "" if waits is None else cluster_queue(waits, self._pass.snapshot.capacity[name])

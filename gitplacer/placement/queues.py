"""
What groups were promised of Kueue's queues and is not seen yet, over a round as far as it has come.

What a snapshot shows as reserved is gone from what its queues have left. So of a group that is there only those pods count that the
snapshot does not show on a node: for these nothing may be reserved yet. Where something is reserved already and has no pods so far, it
counts twice until they are seen, which keeps others waiting and promises nobody what is not there.

Kueue counts pod templates as they are written, and not the containers that controllers add to them: what nodes must have room for may
be more. What is refused here is never let in there, so never more is counted than Kueue does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from gitplacer.grouping import AS_DESIRED, Group
from gitplacer.model.counts import AS_WRITTEN
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodSet
from gitplacer.placement.holders import Holders
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.queued import Waits, beyond, cluster_queue, waits_in
from gitplacer.scheduler.objects import PODS
from gitplacer.workloads.facts import ObjectFacts


class Queues:
    """Kueue's queues on all clusters. Where a snapshot tells of none there is nothing to count."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._holders = Holders(shared, occupancy)
        self._there = {name for name, snapshot in shared.snapshot.capacity.items() if snapshot.queues}
        self._known: dict[tuple[str, str], dict[str, Resources]] = {}
        self._taken: dict[tuple[str, str], dict[str, Resources]] = {}
        """What counts of each group on each cluster, by ClusterQueue."""
        self._sums: dict[str, dict[str, Resources]] = defaultdict(dict)
        """The same added up for each cluster."""

    def refused(self, group: Group, name: str) -> Finding | None:
        """Why a group may not be on a cluster, or not with what it asks for there now; None if Kueue's queues there have enough left."""
        return self.refused_together((group.id,), name)

    def refused_together(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> Finding | None:
        """The same of several groups, where some others are promised what they ask for."""
        if name not in self._there:
            return None
        self._catch_up()
        asked = self._missing_together(ids, name)
        if not asked:
            return None
        own = [self._taken.get((group_id, name), {}) for group_id in (*ids, *beside)]
        promised = {q: _less(sum_, [each.get(q, NOTHING) for each in own]) for q, sum_ in self._sums[name].items()}
        for queue, amounts in self._missing_together(beside, name).items():
            promised[queue] = promised.get(queue, NOTHING) + amounts
        over = beyond(self._pass.snapshot.capacity[name], promised, asked)
        return None if over is None else Finding(code=Reason.QUEUE_QUOTA, queue=over)

    def promised(self, name: str) -> dict[str, Resources]:
        """What is promised of each ClusterQueue of a cluster, and not seen yet."""
        self._catch_up()
        return {queue: amounts for queue, amounts in sorted(self._sums[name].items()) if amounts}

    def _catch_up(self) -> None:
        for group_id, name in self._holders.changed():
            self._known.pop((group_id, name), None)
            if name in self._there:
                self._count(group_id, name)

    def _count(self, group_id: str, name: str) -> None:
        before = self._taken.pop((group_id, name), {})
        counts = self._holders.counts(group_id, name)
        now = self._missing(group_id, name) if counts else {}
        if now:
            self._taken[group_id, name] = now
        sums = self._sums[name]
        for queue in {*before, *now}:
            sums[queue] = _less(sums.get(queue, NOTHING) + now.get(queue, NOTHING), [before.get(queue, NOTHING)])

    def _missing_together(self, ids: Collection[str], name: str) -> dict[str, Resources]:
        found: dict[str, Resources] = {}
        for group_id in ids:
            for queue, amounts in self._missing(group_id, name).items():
                found[queue] = found.get(queue, NOTHING) + amounts
        return found

    def _missing(self, group_id: str, name: str) -> dict[str, Resources]:
        """What a group asks of each ClusterQueue of a cluster for pods that are not seen there."""
        if (group_id, name) not in self._known:
            self._known[group_id, name] = self._found_missing(group_id, name)
        return self._known[group_id, name]

    def _found_missing(self, group_id: str, name: str) -> dict[str, Resources]:
        """A pod that is seen is one of those that its queue has let in, whether Kueue counted all of its role or fewer."""
        found = [(self._queue_of(waits, name), facts) for waits, facts in self._objects(group_id, name)]
        if not any(queue for queue, _ in found):
            return {}
        group, books = self._pass.groups.get(group_id), self._pass.books[name]
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

    def _objects(self, group_id: str, name: str) -> Iterator[tuple[Waits | None, ObjectFacts]]:
        """The objects of a group on a cluster, with the queue that each waits in: as they are deployed where it is held or gone."""
        group, cluster = self._pass.groups.get(group_id), self._pass.clusters.get(name)
        record = self._pass.record(group_id)
        if cluster is None or self._pass.roles.get((group_id, name)) == "Remote":
            return
        found: Iterable[tuple[str, ObjectFacts]] = ()
        if group is not None and group_id not in self._pass.held:
            counts, there = (
                self._pass.counts.get((group_id, name), AS_WRITTEN),
                self._pass.snapshot.variants.facts_there,
            )
            found = ((m.identity.namespace, there(m, cluster, counts)) for m in group.members)
        elif record is not None:
            deployed = self._pass.snapshot.deployed.objects(record, name)
            found = ((identity.namespace, facts) for identity, facts in deployed.items())
        for namespace, facts in found:
            yield waits_in(group, namespace, facts), facts


def _less(amounts: Resources, taken: Iterable[Resources]) -> Resources:
    """Amounts without those that are among them."""
    left = dict(amounts)
    for each in taken:
        for resource, amount in each.items():
            left[resource] -= amount
    return Resources(left)

"""
How much quota each group asks of Kueue's queues: for pods that no snapshot shows yet, and for what an edit of running pods adds.

Kueue gives quota to an object as it is. It stops one that runs and is edited, other pods or a few more, and lets it in again only with quota
for all of it; one that is scaled while it runs (an elastic job) goes on, and its new pods wait. In both cases what it had is its own for that. So an
edit asks for what the object is to have, less what it has: of what runs, the pods that the snapshot shows.

Kueue counts pod templates as they are written, and not the containers that controllers add to them: what nodes must have room for may
be more. What is refused here is never let in there, so never more is counted than Kueue does.
Source: ensureOneWorkload in kubernetes-sigs/kueue, pkg/controller/jobframework/reconciler.go; pkg/workloadslicing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitplacer.grouping import AS_DESIRED, Group
from gitplacer.model.counts import AS_WRITTEN
from gitplacer.model.decision import QueueAsks
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodSet
from gitplacer.placement.growths import Growth, overlap_of
from gitplacer.placement.kueue import Promised, cluster_queue, exceeded, waits_in
from gitplacer.placement.onepass import Pass
from gitplacer.placement.onsite import objects_on
from gitplacer.placement.updating import How, MemberUpdate
from gitplacer.scheduler.objects import PODS
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import ObjectFacts


class _Lot(NamedTuple):
    """
    Pods of an object: the ClusterQueue that counts them, how many it counts and what of each, and how many of these are let in, as pods of them are
    seen.
    """

    queue: str
    number: int
    requests: Resources
    let_in: int


class KueueDemand:
    """What the groups of a pass ask of Kueue, on the clusters whose snapshots tell of its queues (`there`)."""

    def __init__(self, shared: Pass) -> None:
        self._pass = shared
        self.there = frozenset(name for name, snapshot in shared.snapshot.capacity.items() if snapshot.queues)
        self._growths: dict[tuple[str, str], Growth[str, QueueAsks]] = {}

    def taken(self, group_id: str, name: str, *, edited: bool = True) -> Promised:
        """
        What a group asks of each ClusterQueue of a cluster for pods that are not seen there; one that is not `edited` yet, as it is deployed. A pod
        that is seen is one of those that its queue has let in, whether Kueue counted all of its role or fewer.
        """
        overlap = overlap_of(self._pass, self, group_id, name)
        if overlap is not None and overlap.updates:
            growth = self.growth(group_id, name, overlap.updates)
            return growth.after if edited else growth.before
        group, there = self._pass.groups.get(group_id), self._pass.snapshot.variants.facts_there
        objects = ((identity.namespace, facts) for identity, facts in objects_on(self._pass, group_id, name, there))
        return _missing(self._lots(group_id, name, group, objects))

    def concerns(self, group: Group, name: str) -> bool:
        """Whether Kueue starts a group on a cluster where it is, rather than choose another one for it."""
        return group.id not in self._pass.nominations.left

    def parts(self, group: Group, name: str) -> Sequence[SourceObject]:
        return group.sized

    # edits

    def growth(self, group_id: str, name: str, updates: Sequence[MemberUpdate]) -> Growth[str, QueueAsks]:
        """What a group asks for there as it is deployed, and as it is edited."""
        key = group_id, name
        if key not in self._growths:
            shared, group, record = self._pass, self._pass.groups[group_id], self._pass.record(group_id)
            deployed = shared.snapshot.deployed.objects(record, name) if record is not None else {}
            stays = {update.identity for update in updates if update.how is How.NOTHING}
            variants, cluster = shared.snapshot.variants, shared.clusters[name]
            counts = shared.counts.get((group_id, name), AS_WRITTEN)
            before = self._lots(group_id, name, group, [(i.namespace, facts) for i, facts in deployed.items()])
            wanted: list[tuple[str, ObjectFacts]] = []
            for member in group.members:
                was = deployed.get(member.identity) if member.identity in stays else None
                wanted.append((member.identity.namespace, was or variants.facts_there(member, cluster, counts)))
            after = self._lots(group_id, name, group, wanted)
            has, asks = _added((lot, lot.let_in) for lot in before), _added((lot, lot.number) for lot in after)
            self._growths[key] = Growth(_missing(before), _less(asks, has))
        return self._growths[key]

    def exceeded(self, name: str, growth: Growth[str, QueueAsks], promised: Promised) -> QueueAsks | None:
        """What a queue of a cluster, or its cohort, has too little left of."""
        others = {queue: _without(amounts, growth.before.get(queue, NOTHING)) for queue, amounts in promised.items()}
        asked: dict[str, Resources] = {}
        for queue, resource, wanted in growth.more:
            asked[queue] = asked.get(queue, NOTHING) + {resource: wanted}
        return exceeded(self._pass.snapshot.capacity[name], others, asked)

    # pods

    def _lots(
        self, group_id: str, name: str, group: Group | None, objects: Iterable[tuple[str, ObjectFacts]]
    ) -> list[_Lot]:
        """The pods of some objects of a group, those that wait in no queue among them, as these may be the ones that are seen."""
        found = [(self._queue_of(group, namespace, facts, name), facts) for namespace, facts in objects]
        if not any(queue for queue, _ in found):
            return []
        books = self._pass.books[name]
        reserve, with_peak = AS_DESIRED if group is None else group.reserves
        sets: list[PodSet] = []
        counted: list[tuple[str, int, Resources]] = []
        for queue, facts in found:
            queued = facts.queued_for(reserve, with_peak=with_peak)
            for pods, (number, requests) in zip(facts.gang_for(reserve, with_peak=with_peak), queued, strict=True):
                each = (pods,) if queue else books.nodes.on_each((pods,))
                sets += each
                counted += [(queue, number, requests)] * len(each)
        unseen = books.shown.not_seen(group_id, tuple(sets), back=True)
        return [
            _Lot(queue, number, requests, min(number, pods.count - left.count))
            for (queue, number, requests), pods, left in zip(counted, sets, unseen, strict=True)
        ]

    def _queue_of(self, group: Group | None, namespace: str, facts: ObjectFacts, name: str) -> str:
        waits = waits_in(group, namespace, facts)
        return "" if waits is None else cluster_queue(waits, self._pass.snapshot.capacity[name])


def _missing(lots: Iterable[_Lot]) -> dict[str, Resources]:
    """What queues are to give for pods that they have not let in."""
    return _added((lot, lot.number - lot.let_in) for lot in lots)


def _added(lots: Iterable[tuple[_Lot, int]]) -> dict[str, Resources]:
    """What so many pods of each lot ask of their queues."""
    found: dict[str, Resources] = {}
    for lot, count in lots:
        if lot.queue and count:
            found[lot.queue] = found.get(lot.queue, NOTHING) + lot.requests * count + {PODS: count}
    return found


def _less(amounts: Mapping[str, Resources], has: Mapping[str, Resources]) -> dict[str, Resources]:
    """What is asked of each queue beyond what it has given."""
    return {queue: _without(asked, has.get(queue, NOTHING)) for queue, asked in sorted(amounts.items())}


def _without(amounts: Resources, some: Resources) -> Resources:
    return Resources({name: more for name, amount in amounts.items() if (more := amount - some.get(name, 0)) > 0})

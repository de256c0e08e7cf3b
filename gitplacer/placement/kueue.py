"""
The rules of Kueue on one cluster: which queue an object waits in, and whether a queue and its cohorts have quota left for what is asked.

Here is arithmetic on a snapshot alone. How much each group asks is worked out by `kueuedemand`, and held against it for all of them by `kueuequota`.

An object that names a LocalQueue gets no pods before its ClusterQueue has quota for all of them. So a group with such an object goes
only where that LocalQueue is, and where as much is left as it asks for, beside those that were promised a place there.

What a queue takes beyond what is its own comes from its cohort, so it is counted there too: two queues that may both borrow the same
quota are not promised it twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.queues import ClusterQueue, LocalQueue, Share
from gitplacer.model.decision import Finding, QueueAsks, Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Identity
from gitplacer.scheduler.objects import PODS
from gitplacer.workloads.facts import ObjectFacts

KUEUE = "kueue.x-k8s.io"


class LocalQueueRef(Struct, frozen=True, order=True):
    """
    A LocalQueue that an object waits in, `<namespace>/<name>`. `leads_to` is its ClusterQueue where the group brings the LocalQueue along, ''
    where the cluster has to have it.
    """

    local_queue: str
    leads_to: str = ""


def waits_in(group: Group | None, namespace: str, facts: ObjectFacts) -> LocalQueueRef | None:
    """The queue that an object waits in, None for one that waits in none; `group` is what it is of, where that stands in the source."""
    for reference in facts.needs:
        if (reference.api_group, reference.kind) == (KUEUE, "LocalQueue"):
            return LocalQueueRef(
                f"{namespace}/{reference.name}", _brought(group, namespace, reference.name) if group else ""
            )
    return None


def _brought(group: Group, namespace: str, name: str) -> str:
    sought = Identity(KUEUE, "LocalQueue", namespace, name)
    found = (item.document for item in (*group.members, *group.shared) if item.identity == sought)
    return next((document.cursor().mapping("spec").text("clusterQueue") for document in found), "")


def no_queue(asked: Iterable[LocalQueueRef], snapshot: CapacitySnapshot) -> Finding | None:
    """Why what waits in some queues would wait for ever on a cluster, or None. A snapshot without queues says nothing."""
    if snapshot.queues is None:
        return None
    for waits in asked:
        local, queue = _resolved(waits, snapshot)
        if queue is None:
            missing = f"ClusterQueue {waits.leads_to}" if waits.leads_to else f"LocalQueue {waits.local_queue}"
            return Finding(code=Reason.QUEUE_MISSING, subject=missing)
        if local is not None and local.stopped:
            return Finding(code=Reason.QUEUE_STOPPED, subject=f"LocalQueue {local.name} ({local.stopped})")
        if queue.stopped:
            return Finding(code=Reason.QUEUE_STOPPED, subject=f"ClusterQueue {queue.name} ({queue.stopped})")
    return None


def cluster_queue(waits: LocalQueueRef, snapshot: CapacitySnapshot) -> str:
    """The ClusterQueue behind a queue on a cluster, '' where there is none."""
    queue = _resolved(waits, snapshot)[1]
    return queue.name if queue is not None else ""


def _resolved(waits: LocalQueueRef, snapshot: CapacitySnapshot) -> tuple[LocalQueue | None, ClusterQueue | None]:
    for queue in snapshot.queues or ():
        for local in queue.local_queues:
            if local.name == waits.local_queue:
                return local, queue
    return None, next((queue for queue in snapshot.queues or () if queue.name == waits.leads_to), None)


Promised = Mapping[str, Resources]
"""What was promised of each ClusterQueue, and is not reserved yet."""


def exceeded(snapshot: CapacitySnapshot, promised: Promised, asked: Promised) -> QueueAsks | None:
    """The first queue or cohort that has not as much left as is asked for, beside what was promised of it; None if all have."""
    both = {name: promised.get(name, NOTHING) + asked.get(name, NOTHING) for name in {*promised, *asked}}
    queues = {queue.name: queue for queue in snapshot.queues or ()}
    for name, amounts in sorted(asked.items()):
        queue = queues[name]
        for resource in sorted(amounts):
            if resource not in queue.covers:
                if resource == PODS:
                    continue  # they are counted where there is quota for them, and there only
                return QueueAsks("ClusterQueue", name, resource, amounts[resource], 0, None)
            before, after = _flows(snapshot, promised, resource), _flows(snapshot, both, resource)
            for kind, share in _upwards(queue, snapshot):
                key = kind, share.name
                more, left = after.get(key, 0) - before.get(key, 0), share.left.get(resource, 0)
                if more and after[key] > left:
                    return QueueAsks(kind, share.name, resource, more, before.get(key, 0), left)
    return None


def taken_of_shares(snapshot: CapacitySnapshot, promised: Promised) -> Iterator[tuple[str, Share, Resources]]:
    """Each ClusterQueue and Cohort of a snapshot by its kind, with what is promised of what it has left. Sorted by name."""
    resources = sorted({resource for amounts in promised.values() for resource in amounts})
    flows = {resource: _flows(snapshot, promised, resource) for resource in resources}
    kinds: tuple[tuple[str, Iterable[Share]], ...] = (
        ("ClusterQueue", snapshot.queues or ()),
        ("Cohort", snapshot.cohorts),
    )
    for kind, shares in kinds:
        for share in sorted(shares, key=lambda share: share.name):
            yield kind, share, Resources({r: flow.get((kind, share.name), 0) for r, flow in flows.items()})


def _upwards(queue: ClusterQueue, snapshot: CapacitySnapshot) -> Iterable[tuple[str, Share]]:
    """A queue, and the cohorts around it."""
    cohorts = {cohort.name: cohort for cohort in snapshot.cohorts}
    found: dict[tuple[str, str], Share] = {("ClusterQueue", queue.name): queue}
    around = cohorts.get(queue.cohort or "")
    while around is not None and ("Cohort", around.name) not in found:
        found["Cohort", around.name] = around
        around = cohorts.get(around.cohort or "")
    return [(kind, share) for (kind, _), share in found.items()]


def _flows(snapshot: CapacitySnapshot, promised: Promised, resource: str) -> dict[tuple[str, str], int]:
    """How much of a resource is taken through each queue and cohort: what is beyond one's own comes from the cohort around."""
    taken: dict[tuple[str, str], int] = defaultdict(int)
    for queue in snapshot.queues or ():
        through = promised.get(queue.name, NOTHING).get(resource, 0)
        for kind, share in _upwards(queue, snapshot):
            if not through:
                break
            key, own = (kind, share.name), share.own.get(resource, 0)
            before = taken[key]
            taken[key] += through
            through = max(0, taken[key] - own) - max(0, before - own)
    return taken

"""
An update that was merged and is not seen to be done.

From the merge on the source and the deployment repo know the new manifest alone, while the old pods run on. So the record keeps
which pods those were, and their room is not sold until a snapshot shows that the update is over. No snapshot says so in words;
this is what is taken for it, all of it from a time when the cluster had the new files:

- no more Ray clusters than there are to be, by their heads, or no more pods than a rolled out workload has; where pods end before others get
  their places, none that asks for what only the old ones asked for;
- no pod of it is pending, and its operator has looked at a later generation, where snapshots tell that;
- and either every pod asks for what only the new ones ask for, or a second, later snapshot shows the same. Just after the sync
  there is but the old Ray cluster too.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup, RunningPod
from gitplacer.kinds.record import RecordPods, RecordUpdate
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.updating import How
from gitplacer.relocation.evidence import speaks_of
from gitplacer.source.manifests import WORKLOADS


class Phase(enum.Enum):
    """How far an update is, as a snapshot shows it."""

    UNSEEN = "unseen"  # every pod that is shown may be an old one
    BOTH = "both"  # old and new pods are shown
    ONE = "one"  # there is one Ray cluster, and nobody knows yet whether the old one or the new one
    DONE = "done"


def phase(update: RecordUpdate, capacity: CapacitySnapshot | None, group_id: str, now_wanted: Gang) -> Phase:
    """How far an update of a group is. `now_wanted` are the pods of the group when it is done."""
    if capacity is None or not speaks_of(capacity, update, WORKLOADS):
        return Phase.UNSEEN
    there = capacity.running(group_id)
    pods = there.pods if there else ()
    if there is not None and not _looked_at(update, there):
        return Phase.UNSEEN
    if How(update.how) is How.IN_PLACE:
        both = any((pod.role, pod.requests) in _asked_before(update, now_wanted) for pod in pods)
    elif How(update.how) is How.ROLLING:
        # A workload that is ready has all its pods, and more of them are then what an autoscaler added.
        both = there is not None and not there.ready and _exceed(pods, now_wanted, _roles(update))
    else:
        both = _exceed(pods, now_wanted, {"head"})
    if both:
        return Phase.BOTH
    return _one(update, capacity, pods, now_wanted)


def _one(update: RecordUpdate, capacity: CapacitySnapshot, pods: Iterable[RunningPod], now_wanted: Gang) -> Phase:
    own = [pod for pod in pods if pod.role in _roles(update) | {one.role for one in now_wanted}]
    if any(pod.node is None for pod in own):
        return Phase.ONE
    old, new = _asked_by(update), {(one.role, one.shape.requests) for one in now_wanted}
    if own and all((pod.role, pod.requests) in new - old for pod in own):
        return Phase.DONE
    later = update.applied_at is not None and capacity.observed_at > update.applied_at
    return Phase.DONE if later else Phase.ONE


def _asked_by(update: RecordUpdate) -> set[tuple[str, Resources]]:
    """What the old pods of each role ask for."""
    return {(one.role, one.requests) for one in update.pods}


def _asked_before(update: RecordUpdate, now_wanted: Gang) -> set[tuple[str, Resources]]:
    """What they alone ask for, and no new one does."""
    return _asked_by(update) - {(one.role, one.shape.requests) for one in now_wanted}


def _looked_at(update: RecordUpdate, there: RunningGroup) -> bool:
    """Whether the operator may have seen the new manifest: it has, if it has seen a generation that is new."""
    before, now = update.generation, there.observed_generation
    return before is None or now is None or now > before


def noted(update: RecordUpdate, found: Phase, capacity: CapacitySnapshot | None) -> RecordUpdate | None:
    """An update as the record keeps it: with the first snapshot that may show it done; None when it is."""
    if found is Phase.DONE:
        return None
    if found is Phase.ONE and update.applied_at is None and capacity is not None:
        return update.model_copy(update={"applied_at": capacity.observed_at})
    if found is Phase.BOTH and update.applied_at is not None:
        return update.model_copy(update={"applied_at": None})
    return update


def old_pods(updates: Iterable[RecordUpdate], now_wanted: Gang) -> Gang:
    """
    The pods that run on, as a record remembers them. Where they may be is what the new ones of their role say, which
    is soon enough: they are on their nodes already.
    """
    shapes = {pods.role: pods for pods in now_wanted}
    found = []
    for update in updates:
        for pods in update.pods:
            like = shapes.get(pods.role)
            base = PodSet(pods.role, pods.count, PodShape()) if like is None else replace(like, count=pods.count)
            found.append(replace(base, shape=replace(base.shape, requests=pods.requests, node_name="")))
    return tuple(found)


def remembered(gang: Gang) -> tuple[RecordPods, ...]:
    """Pods as a record remembers them, equal ones counted together."""
    counts: dict[tuple[str, Resources], int] = {}
    for pods in gang:
        key = pods.role, pods.shape.requests
        counts[key] = counts.get(key, 0) + pods.count
    return tuple(
        RecordPods.model_validate({"role": role, "count": count, "requests": requests.rendered()})
        for (role, requests), count in counts.items()
        if count
    )


def running_group(capacity: CapacitySnapshot | None, group_id: str) -> RunningGroup | None:
    """What a snapshot shows of a group, if there is one."""
    return None if capacity is None else capacity.running(group_id)


def _roles(update: RecordUpdate) -> set[str]:
    return {pods.role for pods in update.pods}


def _exceed(pods: Iterable[RunningPod], wanted: Gang, roles: set[str]) -> bool:
    """Whether more pods of some role are shown than there are to be."""
    seen, most = Counter(pod.role for pod in pods), Counter[str]()
    for one in wanted:
        most[one.role] += one.count
    return any(seen[role] > most[role] for role in roles)

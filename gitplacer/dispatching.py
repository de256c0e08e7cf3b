"""
Ray objects that are left to Kueue: what is edited in one, and what of its group goes where.

With MultiKueue one cluster, the manager, has the Ray object, and Kueue there starts a copy of it on a worker cluster that has quota. For
that the object waits in a queue, by its label, and says in `managedBy` that KubeRay is to leave it alone on the manager; KubeRay knows
that field from 1.3 on, in a RayService from 1.6. Both are edits of ours, unless the manifest says them itself. MultiKueue copies nothing
but the object, so its namespace and all else of the group are on every cluster on which it may start.

Sources: the documentation of Kueue on MultiKueue and KubeRay; `SyncJob` in pkg/controller/jobs/rayjob/rayjob_multikueue_adapter.go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitplacer.documents import Edit
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Identity
from gitplacer.multikueue import MOST
from gitplacer.policies.allowing import closed, not_liked, not_selected, preference
from gitplacer.problems import Location, Problem, Severity
from gitplacer.rules.managedby import MULTIKUEUE
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads import QUEUE
from gitplacer.workloads.facts import at

_STARTED = frozenset({("ray.io", "RayCluster"), ("ray.io", "RayJob"), ("ray.io", "RayService")})
"""What MultiKueue starts elsewhere, of what KubeRay knows."""

_QUEUE = ("metadata", "labels", QUEUE)
_MANAGED_BY = ("spec", "managedBy")

Queues = Mapping[Identity, Mapping[str, str]]
"""Each Ray object that is left to Kueue, with the LocalQueue that it waits in by the cluster whose Kueue it is left to."""


def is_started(identity: Identity) -> bool:
    """Whether an object is such as MultiKueue starts on another cluster."""
    return identity[:2] in _STARTED


def started(group: Group) -> tuple[SourceObject, ...]:
    """The objects of a group that MultiKueue starts elsewhere, if it is left to it; everything else goes along."""
    return tuple(member for member in group.members if is_started(member.identity))


def is_started_by_kuberay(record: PlacementRecord, manager: str) -> bool:
    """
    Whether a group is on a manager as on any other cluster, because it came there before its policy left it to Kueue. KubeRay goes on with
    what it has started, and nobody may write `managedBy` into that.
    """
    there = any(entry.name == manager for entry in record.clusters)
    return there and record.dispatch is None and (record.move is None or manager not in record.move.to)


def queues(groups: Iterable[Group], records: Iterable[PlacementRecord]) -> Queues:
    """
    What is left to Kueue by a policy, or was by one that has changed: who waits in a queue waits there for as long as the manager has
    it, since whoever took `managedBy` away would have KubeRay start it on the manager.
    """
    found: dict[Identity, dict[str, str]] = {}
    records = list(records)
    for group in groups:
        settings = group.policy.spec.placement.multi_kueue if group.policy is not None else None
        for member in started(group) if settings is not None and group.unit == WORKLOADS else ():
            assert settings is not None
            found.setdefault(member.identity, {})[settings.manager] = settings.queue
    for record in records:
        for recorded in record.members:
            for manager in [name for name in found.get(recorded.identity, ()) if is_started_by_kuberay(record, name)]:
                del found[recorded.identity][manager]
        for recorded in record.members if record.dispatch is not None else ():
            if record.dispatch is not None and recorded.only == "Home":
                found.setdefault(recorded.identity, {})[record.dispatch.manager] = record.dispatch.queue
    return found


def managers(policies: Iterable[PlacementPolicy]) -> frozenset[str]:
    """The clusters to whose Kueue policies leave their groups."""
    found = (policy.spec.placement.multi_kueue for policy in policies)
    return frozenset(settings.manager for settings in found if settings is not None)


def not_nominated(policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
    """Why a policy that leaves its groups to Kueue does not nominate a cluster, whatever the group, or None."""
    settings = policy.spec.placement.multi_kueue
    if settings is not None and cluster.name == settings.manager:
        return Finding(code=Reason.NOT_NOMINATED, subject="it is the manager")
    barred = not_selected(policy, cluster) or not_liked(policy, cluster) or closed(cluster)
    if barred is None and cluster.spec.standby is not None:
        return Finding(code=Reason.NOT_NOMINATED, subject="it may sleep, and Kueue cannot wake it")
    return barred


Listed = Mapping[tuple[str, str], tuple[str, ...]]
"""By manager and policy, the clusters that Kueue there is told of, in order of preference."""


def listed(
    policies: Iterable[PlacementPolicy], clusters: Mapping[str, Cluster], records: Iterable[PlacementRecord]
) -> Listed:
    """
    The clusters that each manager is told of for each policy: those that the policy nominates, and those on which a group may have been
    started that has not ended. Such a one stays until it is declared lost or gone, whatever the policy says now: Kueue looks no
    more at a cluster that is not listed, and would start what runs there once more elsewhere (`readGroup` and `reconcileGroup` in
    pkg/controller/admissionchecks/multikueue/workload.go). At most so many as Kueue takes, those that have to stay first.
    """
    by_name = {policy.name: policy for policy in policies}
    kept: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for record in records:
        left = record.dispatch
        if left is not None and record.finished is None and any(e.name == left.manager for e in record.clusters):
            there = (name for name in left.nominated if name in clusters and clusters[name].spec.state != "Lost")
            kept[left.manager, left.policy].update(dict.fromkeys(there))
    fresh: dict[tuple[str, str], list[str]] = {}
    for policy in by_name.values():
        settings = policy.spec.placement.multi_kueue
        if settings is not None and settings.manager in clusters:
            open_ = [name for name, cluster in clusters.items() if not_nominated(policy, cluster) is None]
            fresh[settings.manager, policy.name] = open_
    found = {}
    for key in sorted({*kept, *fresh}):
        stay, policy_ = kept[key], by_name.get(key[1])
        names = [*stay, *(name for name in _ordered(fresh.get(key, ()), policy_, clusters) if name not in stay)]
        found[key] = tuple(_ordered(names[:MOST], policy_, clusters))
    return {key: names for key, names in found.items() if names}


def _ordered(names: Iterable[str], policy: PlacementPolicy | None, clusters: Mapping[str, Cluster]) -> list[str]:
    """Clusters as a policy likes them, then by name; last those that it does not like any more. Without a policy as they are."""
    if policy is None:
        return list(names)

    def rank(name: str) -> tuple[bool, int, str]:
        liked = preference(policy, clusters[name])
        return liked is None, liked or 0, name

    return sorted(names, key=rank)


def too_many_problems(
    policies: Iterable[PlacementPolicy], clusters: Mapping[str, Cluster], places: Mapping[str, Location]
) -> Iterator[Problem]:
    """Which policies nominate more clusters than Kueue takes."""
    for policy in policies:
        if policy.spec.placement.multi_kueue is None:
            continue
        open_ = sum(not_nominated(policy, cluster) is None for cluster in clusters.values())
        if open_ > MOST:
            message = f"it allows {open_} clusters, and Kueue takes {MOST}: the first {MOST} in its order are nominated"
            hint = "let spec.clusters select fewer, or divide what it governs between two policies"
            place = places[f"PlacementPolicy/{policy.name}"]
            yield Problem(place, "DispatchTooMany", message, hint, severity=Severity.WARNING)


def edits(value: Mapping[str, Any], queue: str) -> tuple[Edit, ...]:
    """What makes an object wait in a queue of the manager, and KubeRay leave it alone there."""
    found = []
    if at(value, _QUEUE) != queue:
        found.append(Edit(_QUEUE, "add", queue))
    if at(value, _MANAGED_BY) != MULTIKUEUE:
        found.append(Edit(_MANAGED_BY, "add", MULTIKUEUE))
    return tuple(found)


def contradictions(value: Mapping[str, Any], queue: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """What an object says against waiting in a queue of the manager, each as its path and its value."""
    for path, right in ((_QUEUE, queue), (_MANAGED_BY, MULTIKUEUE)):
        found = at(value, path)
        if found not in (None, right):
            yield path, str(found)

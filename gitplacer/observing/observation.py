"""
All that was seen of a cluster, as a CapacitySnapshot.

Every pod that holds room is counted once: in the group that a record puts it in, or as used on its node. A pod of others for which
others are preempted holds room on the node where it is made, as kube-scheduler has it, but no more than there is: those that leave still hold theirs. One of a
DaemonSet that has not come to its node yet, and fits there, holds its room as well: on a node that has just joined that is all of them. Others that wait hold nothing. A node with a pod whose size cannot be read takes nothing new. The same facts give the same snapshot, whatever order they came in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.kinds.capacity import (
    Applied,
    BoundVolume,
    CapacitySnapshot,
    Phase,
    RunningGroup,
    RunningPod,
)
from gitplacer.kinds.listedpods import NamespaceLabels
from gitplacer.kinds.machines import NodeGroup
from gitplacer.kinds.selectors import ClusterMetadata
from gitplacer.model.labels import NAME_KEY
from gitplacer.model.podrules import PodTerm
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Identity
from gitplacer.observing.listing import listed_pods
from gitplacer.observing.nodes import NodeSeen, folded
from gitplacer.observing.owners import RAY, Following, Owners, role_of
from gitplacer.observing.placed import Placed
from gitplacer.observing.pods import PodSeen
from gitplacer.observing.states import UNKNOWN, State, together
from gitplacer.scheduler.arriving import with_room
from gitplacer.scheduler.objects import HOSTNAME, PODS


class Seen(Struct):
    """
    What was seen. `states` are those of objects that records name, `owners` the controllers of objects that are no pods. `joined` are
    objects of groups that records tell without naming them.
    `equipment` has fields of a CapacitySnapshot as they are; what nobody looked at is not among them. `asked` are further rules by
    which pods of others are listed. `tolerates_extended`: nodes show that pods get tolerations for the devices they ask for.
    """

    nodes: list[NodeSeen] = field(default_factory=list)
    pods: list[PodSeen] = field(default_factory=list)
    states: dict[Identity, State] = field(default_factory=dict)
    owners: dict[Identity, Identity | None] = field(default_factory=dict)
    joined: dict[Identity, str] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    applied: Applied | None = None
    volumes: tuple[BoundVolume, ...] = ()
    node_groups: tuple[NodeGroup, ...] = ()
    asked: tuple[PodTerm, ...] = ()
    tolerates_extended: bool = False
    equipment: dict[str, Any] = field(default_factory=dict)


def observation(seen: Seen, placed: Placed, *, cluster: str, now: datetime) -> CapacitySnapshot:
    """The snapshot of a cluster, as it was seen from a time on."""
    placed = replace(placed, groups={**placed.groups, **seen.joined})
    ours, others = _split(seen.pods, placed, seen.owners)
    groups = tuple(_groups(ours, seen.states, placed))
    nodes = _trusted(seen.nodes, seen.pods)
    offers = {node.name: node.allocatable for node in nodes}
    others = _arriving(others, seen.pods, offers)
    rules = {term for pods in ours.values() for pod in pods for term in (*pod.rules.asks, *pod.rules.repels)}
    listed = listed_pods(others, {*rules, *seen.asked}, seen.namespaces)
    named = {pod.node for pods in ours.values() for pod in pods if pod.node} | _by_volumes(seen.volumes)
    return CapacitySnapshot(
        api_version="gitplacer.dev/v1alpha1",
        kind="CapacitySnapshot",
        metadata=ClusterMetadata(name=cluster),
        observed_at=now,
        applied=seen.applied,
        nodes=folded(nodes, _used(others, offers), listed, named),
        node_groups=tuple(sorted(seen.node_groups, key=lambda group: group.name)),
        groups=groups,
        namespaces=tuple(
            NamespaceLabels(name=name, labels={key: labels[key] for key in sorted(labels) if key != NAME_KEY})
            for name, labels in sorted(seen.namespaces.items())
        ),
        volumes=tuple(sorted(seen.volumes, key=lambda volume: volume.claim)),
        **seen.equipment,
    )


def _split(
    pods: Sequence[PodSeen], placed: Placed, owners: Owners
) -> tuple[dict[Identity, list[PodSeen]], list[PodSeen]]:
    """Pods of placed objects, by object; and those of others that are on a node or have one in view."""
    following = Following(placed, owners)
    by_identity = _that_own(pods) if placed.groups else {}
    ours: dict[Identity, list[PodSeen]] = defaultdict(list)
    others = []
    for pod in pods:
        found = following.placed_object(pod, by_identity) if placed.groups else None
        if found is not None:
            ours[found].append(pod)
        elif pod.node or pod.nominated or pod.pinned:
            others.append(pod)
    return ours, others


def _arriving(others: list[PodSeen], pods: Iterable[PodSeen], offers: Mapping[str, Resources]) -> list[PodSeen]:
    """
    The pods of others, where those that may go to one node alone, and fit there now, are nominated there; those that do not fit are stuck
    and hold nothing.
    """
    found = [pod for pod in others if pod.node or pod.nominated]
    waiting = sorted(
        (pod for pod in others if not (pod.node or pod.nominated or _is_stuck(pod))),
        key=lambda pod: (pod.namespace, pod.name),
    )
    if not waiting:
        return found
    used = _used((pod for pod in pods if pod.node or pod.nominated), offers)
    left = {pod.pinned: dict(offers.get(pod.pinned, NOTHING)) for pod in waiting}
    for node, free in left.items():
        for name, amount in used.get(node, NOTHING).items():
            free[name] = free.get(name, 0) - amount
    fit = with_room(((pod.pinned, pod.requests) for pod in waiting), left)
    return found + [replace(pod, nominated=pod.pinned) for pod, fits in zip(waiting, fit, strict=True) if fits]


def _is_stuck(pod: PodSeen) -> bool:
    """Whether a scheduler has said that something else than room keeps a pod from its node. Of other nodes it says NodeAffinity."""
    return any(
        code and code not in ("NodeAffinity", "Unschedulable") and not code.startswith("Insufficient ")
        for code in pod.reason.split(", ")
    )


def _that_own(pods: Iterable[PodSeen]) -> dict[Identity, PodSeen]:
    """Pods that may own others, as the leader of a LeaderWorkerSet does."""
    return {pod.identity: pod for pod in pods}


def _trusted(nodes: Sequence[NodeSeen], pods: Iterable[PodSeen]) -> list[NodeSeen]:
    """The nodes, of which none is ready that cannot be read, or that has a pod of which nobody knows what it holds."""
    unknown = {pod.node or pod.nominated for pod in pods if pod.flaw}
    return [replace(node, ready=node.ready and not (node.flaw or node.name in unknown)) for node in nodes]


def _used(others: Iterable[PodSeen], offers: Mapping[str, Resources]) -> dict[str, Resources]:
    """What pods use of each node, their slots among it."""
    totals: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    held: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in others:
        total = totals[pod.node] if pod.node else held[pod.nominated]
        total[PODS] += 1
        for name, amount in pod.requests.items():
            total[name] += amount
    for node, amounts in held.items():
        offered = offers.get(node, NOTHING)
        for name, amount in amounts.items():
            used = totals[node][name]
            totals[node][name] = max(used, min(used + amount, offered.get(name, 0)))
    return {
        node: Resources({name: amount for name, amount in total.items() if amount}) for node, total in totals.items()
    }


def _groups(
    ours: Mapping[Identity, Collection[PodSeen]], states: Mapping[Identity, State], placed: Placed
) -> Iterable[RunningGroup]:
    members: dict[str, set[Identity]] = defaultdict(set)
    for identity in (*states, *ours):
        if identity in placed.groups:
            members[placed.groups[identity]].add(identity)
    for name, identities in sorted(members.items()):
        state = together(
            _with_pods(identity, states.get(identity, UNKNOWN), ours.get(identity, ())) for identity in identities
        )
        pods = sorted(
            (_running(pod, identity) for identity in identities for pod in ours.get(identity, ())), key=_pod_order
        )
        yield RunningGroup(
            name=name, phase=state.phase, ready=state.ready, observed_generation=state.observed, pods=tuple(pods)
        )


def _with_pods(identity: Identity, state: State, pods: Collection[PodSeen]) -> State:
    """
    A job of another kind than Ray's may have begun as soon as one of its pods has a node. Of a RayJob its status tells: nothing is
    submitted while it is `Pending`. What has no status is as far as its pods are.
    """
    bound = any(pod.node for pod in pods)
    if state.phase == "Pending" and bound and identity.api_group != RAY:
        return State("Running", False, state.observed)
    if state.phase == "Unknown" and pods:
        phase: Phase = "Running" if bound else "Pending"
        return State(phase, state.ready, state.observed)
    return state


def _running(pod: PodSeen, placed: Identity) -> RunningPod:
    return RunningPod(
        role=role_of(pod, placed),
        node=pod.node or None,
        requests=pod.requests.rendered(),  # type: ignore[arg-type]
        pending_since=None if pod.node else pod.since,
        reason=None if pod.node else pod.reason or None,
        terminating=pod.terminating,
    )


def _pod_order(pod: RunningPod) -> tuple[object, ...]:
    since = pod.pending_since.isoformat() if pod.pending_since is not None else ""
    return pod.role, pod.node or "", since, pod.reason or "", tuple(pod.requests.items()), pod.terminating


def _by_volumes(volumes: Iterable[BoundVolume]) -> set[str]:
    """Nodes that volumes name."""
    return {
        value
        for volume in volumes
        for term in volume.node_affinity
        for requirement in term.requirements()
        if requirement.key == HOSTNAME
        for value in requirement.values
    }

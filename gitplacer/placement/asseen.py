"""
A cluster as its snapshot shows it, in the words of the scheduler: nodes with what is used of them, the pods of our groups that
run, and the pods that others have to mind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.model.labels import NAME_KEY
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.nodes import DEFAULT_PODS, Nodes
from gitplacer.scheduler import ClusterObjects, Node, Pod
from gitplacer.scheduler.filters import obstacle
from gitplacer.scheduler.objects import HOSTNAME, NO_NAMESPACES, PODS, Namespaces, NamespacesByName

UNKNOWN_SIZE = "a pod on it is of unknown size"


def as_seen(
    nodes: Nodes,
    snapshot: CapacitySnapshot,
    gang_of: Callable[[str], Gang],
    described: Namespaces = NO_NAMESPACES,
) -> ClusterObjects:
    """
    `gang_of` gives the pods of a group as its manifests say, () for one that nobody knows any more. `described` are the labels that namespaces
    have once groups have come to them, beside those that they have now.
    """
    running = (pod for group in snapshot.groups for pod in _running(group, nodes, gang_of(group.name)))
    return ClusterObjects(
        tuple(_nodes(nodes, snapshot)),
        (*_listed(snapshot), *running),
        _namespaces(snapshot, described),
    )


def _namespaces(snapshot: CapacitySnapshot, described: Namespaces) -> Namespaces:
    found = NamespacesByName({n.name: {NAME_KEY: n.name, **n.labels} for n in snapshot.namespaces})
    return NamespacesByName({**found, **{name: {**found[name], **labels} for name, labels in described.items()}})


def _nodes(nodes: Nodes, snapshot: CapacitySnapshot) -> Iterator[Node]:
    """One for each machine, in their order."""
    machines = iter(nodes.machines)
    for written in snapshot.nodes:
        listed = {PODS: -len(written.pods)} if written.pods else {}  # they have their slots as pods
        offered = written.allocatable if PODS in written.allocatable else written.allocatable + {PODS: DEFAULT_PODS}
        used = written.used + listed
        for machine in (next(machines) for _ in range(written.count)):
            shape = nodes.shapes[machine.shape]
            hostname = written.labels.get(HOSTNAME, machine.name) if written.count == 1 else machine.name
            yield replace(
                shape,
                name=machine.name,
                labels=tuple(sorted((*shape.labels, (HOSTNAME, hostname)))),
                allocatable=offered,
                used=used,
            )


def to_come(nodes: Nodes, type_key: str, number: int) -> Node:
    """A machine that is not there yet, as it will be; one that was given back, without a type, takes nothing."""
    name = f"new-{number}"
    if not type_key:
        return Node(name=name)
    shape = nodes.shapes[nodes.type_shape[type_key]]
    labels = tuple(sorted((*shape.labels, (HOSTNAME, name))))
    return replace(shape, name=name, labels=labels, allocatable=nodes.columns.resources(nodes.type_row[type_key]))


def _listed(snapshot: CapacitySnapshot) -> Iterator[Pod]:
    columns = NodeColumns.of(snapshot.nodes)
    for row, pods in columns.pods.items():
        for number, pod in enumerate(pods):
            yield Pod(
                name=f"{columns.names[row]}/{number}",
                namespace=pod.namespace,
                labels=tuple(sorted(pod.labels.items())),
                node_name=columns.names[row],
                ports=pod.ports(),
                pod_anti_affinity=pod.terms(),
                terminating=pod.terminating,
            )


def _running(group: RunningGroup, nodes: Nodes, gang: Gang) -> Iterator[Pod]:
    """
    The pods of a group that are on a node. What its manifests no longer tell is known by its size alone. Sets of one role that ask the same may differ in
    where they may be, and go by that, or in labels only, as two Ray clusters of a RayService do: what more is shown than the first has is of the next.
    """
    left = [pods.count for pods in gang]
    for number, pod in enumerate(group.pods):
        if pod.node is None or pod.node not in nodes.index:
            continue
        found = like(gang, pod.role, pod.requests)
        name = f"{group.name}/{number}"
        if found is None:
            yield Pod(name=name, requests=pod.requests, node_name=pod.node, flaw="" if pod.requests else UNKNOWN_SIZE)
        else:
            asked = found.role, found.shape.requests
            alike = [at for at, each in enumerate(gang) if (each.role, each.shape.requests) == asked]
            chosen = meant_for(nodes, pod.node, gang, [at for at in alike if left[at]] or alike)
            found = gang[chosen]
            left[chosen] = max(0, left[chosen] - 1)
            sized = {"requests": pod.requests} if pod.requests else {}
            now = {"node_name": pod.node, "terminating": pod.terminating}
            yield Pod.of(found.shape, name, found.namespace, found.labels, **{**sized, **now})


def like(gang: Gang, role: str, requests: Resources) -> PodSet | None:
    """The pods of a gang that one of a role is like: those that ask the same, else the largest; None if the role is not there."""
    able = [pods for pods in gang if pods.role == role]
    same = [pods for pods in able if pods.shape.requests == requests]
    return same[0] if same else max(able, key=lambda pods: by_size(pods.shape), default=None)


def meant_for(nodes: Nodes, node: str, gang: Gang, alike: Sequence[int]) -> int:
    """
    Which of some sets of a gang, at least one, a pod on a node is of that tells of none: the first of those that may be there, once what passes has passed,
    and on the fewest nodes besides.
    """
    if len(alike) == 1:
        return alike[0]
    machine = nodes.machines[nodes.index[node]]
    there = nodes.lasting(machine.shape, machine.name)
    able = [at for at in alike if obstacle(gang[at].shape, there) is None] or alike
    return min(able, key=lambda at: int(nodes.admits(gang[at].shape).sum()))


def by_size(shape: PodShape) -> tuple[int, int, int]:
    """Devices, then cpu, then memory."""
    devices = sum(amount for name, amount in shape.requests.items() if "/" in name)
    return devices, shape.requests.get("cpu", 0), shape.requests.get("memory", 0)

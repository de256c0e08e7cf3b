"""
Pods that wait for the only node that they may go to, as each pod of a DaemonSet does: on a node that has just joined that is all of them.

Nobody has to make room for one that fits there, and kube-scheduler takes those first that wait already. So it holds its room as one does for which
others are preempted: against pods that do not outrank it. One that its node refuses, or that finds no room there, is stuck and holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from gitplacer.model.resources import Resources
from gitplacer.scheduler.filters import obstacle
from gitplacer.scheduler.objects import PODS, Node, Pod
from gitplacer.scheduler.reading import ClusterObjects


def pinned(pod: Pod) -> str:
    """The node that a pod's affinity names, as the controller of DaemonSets has it; '' where it names none or several."""
    named = {
        tuple(name for each in term.fields if each.operator == "In" for name in each.values)
        for term in pod.affinity or ()
    }
    only = named.pop() if len(named) == 1 else ()
    return only[0] if len(only) == 1 else ""


def with_arriving(cluster: ClusterObjects) -> ClusterObjects:
    """A cluster in which the pods that are about to come to a node are nominated there."""
    nodes = {node.name: node for node in cluster.nodes}
    arriving = {
        index: nodes[name]
        for index, pod in enumerate(cluster.pods)
        if not (pod.node_name or pod.nominated or pod.finished or pod.terminating or pod.flaw)
        and (name := pinned(pod)) in nodes
        and obstacle(pod, nodes[name]) is None
    }
    if not arriving:
        return cluster
    left = _left({node.name: node for node in arriving.values()}, cluster.pods)
    pods = list(cluster.pods)
    in_turn = sorted(arriving, key=lambda at: (-pods[at].priority, pods[at].namespace, pods[at].name))
    fit = with_room(((arriving[index].name, pods[index].requests) for index in in_turn), left)
    for index, fits in zip(in_turn, fit, strict=True):
        if fits:
            pods[index] = replace(pods[index], nominated=arriving[index].name)
    return replace(cluster, pods=tuple(pods))


def with_room(waiting: Iterable[tuple[str, Resources]], left: Mapping[str, dict[str, int]]) -> list[bool]:
    """
    Of pods that wait, each for one node, whether there is room for what they ask for beside those before them. What nodes have `left` is less by those.
    """
    found = []
    for node, requests in waiting:
        free, asked = left.get(node, {}), {PODS: 1, **requests}
        fits = all(amount <= free.get(name, 0) for name, amount in asked.items())
        for name, amount in asked.items() if fits else ():
            free[name] -= amount
        found.append(fits)
    return found


def _left(nodes: dict[str, Node], pods: Sequence[Pod]) -> dict[str, dict[str, int]]:
    """What some nodes have left."""
    left = {name: dict(node.allocatable) for name, node in nodes.items()}
    for pod in pods:
        free = left.get(pod.node_name or pod.nominated)
        if free is not None and not pod.finished:
            for name, amount in {PODS: 1, **pod.requests}.items():
                free[name] = free.get(name, 0) - amount
    return left

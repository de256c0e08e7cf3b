"""
kube-scheduler's node filters that do not count: node name, readiness, cordon, selector, affinity, taints.

Each takes a pod and a node's shape and says what is in the way, in the order in which people should hear it.
Source: kubernetes pkg/scheduler/framework/plugins (nodename, nodeunschedulable, nodeaffinity, tainttoleration).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitplacer.model.decision import Reason
from gitplacer.model.labels import Taint, untolerated
from gitplacer.model.workload import PodShape

HOSTNAME = "kubernetes.io/hostname"
_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What the filters look at. Nodes of equal shape are judged once; `name` is '' where no filter asks for it."""

    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    unschedulable: bool = False
    ready: bool = True
    name: str = ""


Filter = Callable[[PodShape, NodeShape], str | None]
"""What is in the way, in words of the manifest or the node; None if nothing is."""


def node_ready(pod: PodShape, node: NodeShape) -> str | None:
    """A node that is not ready may never be again; we do not count on it."""
    return None if node.ready else "not ready"


def node_name(pod: PodShape, node: NodeShape) -> str | None:
    return None if pod.node_name in ("", node.name) else f"nodeName={pod.node_name}"


def node_schedulable(pod: PodShape, node: NodeShape) -> str | None:
    if node.unschedulable and untolerated((_CORDON,), pod.tolerations):
        return "cordoned"
    return None


def node_selector(pod: PodShape, node: NodeShape) -> str | None:
    labels = dict(node.labels)
    return next((f"{key}={value}" for key, value in pod.node_selector if labels.get(key) != value), None)


def node_affinity(pod: PodShape, node: NodeShape) -> str | None:
    labels = dict(node.labels)
    if pod.affinity is None or any(term.matches(labels, node.name) for term in pod.affinity):
        return None
    return " or ".join(map(str, pod.affinity))


def taints_tolerated(pod: PodShape, node: NodeShape) -> str | None:
    taint = untolerated(node.taints, pod.tolerations)
    return None if taint is None else str(taint)


FILTERS: tuple[tuple[Reason, Filter], ...] = (
    (Reason.NODE_NOT_READY, node_ready),
    (Reason.NODE_NAME_MISMATCH, node_name),
    (Reason.NODE_SELECTOR_MISMATCH, node_selector),
    (Reason.NODE_AFFINITY_MISMATCH, node_affinity),
    (Reason.NODE_UNSCHEDULABLE, node_schedulable),
    (Reason.UNTOLERATED_TAINT, taints_tolerated),
)


def obstacle(pod: PodShape, node: NodeShape) -> tuple[Reason, str] | None:
    """The first thing that keeps a pod off a node, or None."""
    for reason, check in FILTERS:
        found = check(pod, node)
        if found is not None:
            return reason, found
    return None


def asks_for_a_name(pod: PodShape) -> bool:
    """Whether a pod cares which node it is, so that nodes of equal labels differ for it."""
    if pod.node_name or any(key == HOSTNAME for key, _ in pod.node_selector):
        return True
    return any(term.fields or any(r.key == HOSTNAME for r in term.labels) for term in pod.affinity or ())


def label_keys(pod: PodShape) -> tuple[str, ...]:
    """
    The labels that a pod looks at on a node, sorted. Unless it asks for a name, nodes that agree in these, in taints, cordon
    and readiness are the same to every filter.
    """
    keys = {key for key, _ in pod.node_selector}
    return tuple(sorted(keys.union(r.key for term in pod.affinity or () for r in term.labels)))

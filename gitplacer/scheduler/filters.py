"""
The filters that look at one pod and one node, and at what runs there: kube-scheduler's rules, one function each.

Rules about other nodes (topology spread, pod affinity) are in `neighbours`; room is counted in `loads`. Each filter here says
what is in the way, in words of the manifest or the node, or None; `FILTERS` has them in the order in which people should
hear it.
Source: kubernetes 1.34 pkg/scheduler/framework/plugins: nodeunschedulable, nodename, tainttoleration, nodeaffinity, nodeports,
volumebinding, volumezone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitplacer.model.decision import Reason
from gitplacer.model.labels import Taint, untolerated
from gitplacer.model.podrules import HostPort
from gitplacer.model.workload import PodShape
from gitplacer.scheduler.objects import HOSTNAME, Node

CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")

Filter = Callable[[PodShape, Node], str | None]


def node_readable(pod: PodShape, node: Node) -> str | None:
    """Not one of the scheduler's: a node that cannot be read takes nothing new."""
    return node.flaw or None


def node_ready(pod: PodShape, node: Node) -> str | None:
    """Not one of the scheduler's: a node that is not ready may never be again, and is not counted on."""
    return None if node.ready else "not ready"


def node_unschedulable(pod: PodShape, node: Node) -> str | None:
    """A cordoned node takes pods that tolerate the cordon."""
    return "cordoned" if node.unschedulable and untolerated((CORDON,), pod.tolerations) else None


def node_name(pod: PodShape, node: Node) -> str | None:
    return f"nodeName={pod.node_name}" if pod.node_name not in ("", node.name) else None


def taint_toleration(pod: PodShape, node: Node) -> str | None:
    """Each NoSchedule and NoExecute taint must be tolerated; for how long does not matter here."""
    taint = untolerated(node.taints, pod.tolerations)
    return None if taint is None else str(taint)


def node_selector(pod: PodShape, node: Node) -> str | None:
    labels = dict(node.labels)
    return next((f"{key}={value}" for key, value in pod.node_selector if labels.get(key) != value), None)


def node_affinity(pod: PodShape, node: Node) -> str | None:
    """One of the terms of required node affinity."""
    labels = dict(node.labels)
    if pod.affinity is None or any(term.matches(labels, node.name) for term in pod.affinity):
        return None
    return " or ".join(map(str, pod.affinity))


def volume_affinity(pod: PodShape, node: Node) -> str | None:
    """Each of the pod's volumes must be reached from the node."""
    if not pod.volume_nodes:
        return None
    labels = dict(node.labels)
    missed = (terms for terms in pod.volume_nodes if not any(term.matches(labels, node.name) for term in terms))
    return next((" or ".join(map(str, terms)) or "any node" for terms in missed), None)


def prefers(pod: PodShape, node: Node) -> int:
    """
    The weight of the preferred node affinity terms that match; one without requirements weighs nothing
    (component-helpers nodeaffinity, NewPreferredSchedulingTerms).
    """
    labels = dict(node.labels)
    return sum(weight for weight, term in pod.preferred_nodes if term.matches(labels, node.name))


def disliked_taints(pod: PodShape, node: Node) -> int:
    """How many PreferNoSchedule taints the pod does not tolerate."""
    tolerations = [t for t in pod.tolerations if t.effect in ("", "PreferNoSchedule")]
    return sum(
        taint.effect == "PreferNoSchedule" and not any(t.tolerates(taint) for t in tolerations) for taint in node.taints
    )


def ports_conflict(mine: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """NodePorts: whether a pod wants a port that is taken."""
    held = tuple(taken)
    return any(port.conflicts(other) for port in mine for other in held)


FILTERS: tuple[tuple[Reason, Filter], ...] = (
    (Reason.NODE_UNREADABLE, node_readable),
    (Reason.NODE_NOT_READY, node_ready),
    (Reason.NODE_NAME_MISMATCH, node_name),
    (Reason.NODE_SELECTOR_MISMATCH, node_selector),
    (Reason.NODE_AFFINITY_MISMATCH, node_affinity),
    (Reason.VOLUME_NODE_MISMATCH, volume_affinity),
    (Reason.NODE_UNSCHEDULABLE, node_unschedulable),
    (Reason.UNTOLERATED_TAINT, taint_toleration),
)
"""Each with the code of what it refuses."""


def obstacle(pod: PodShape, node: Node) -> tuple[Reason, str] | None:
    """The first thing about a node that keeps a pod off it, or None."""
    for reason, check in FILTERS:
        found = check(pod, node)
        if found is not None:
            return reason, found
    return None


def asks_for_a_name(pod: PodShape) -> bool:
    """Whether a pod cares which node it is, so that nodes of otherwise equal labels differ for it."""
    if pod.node_name or any(key == HOSTNAME for key, _ in pod.node_selector):
        return True
    terms = (
        *(pod.affinity or ()),
        *(term for _, term in pod.preferred_nodes),
        *(term for terms in pod.volume_nodes for term in terms),
    )
    return any(term.fields or any(r.key == HOSTNAME for r in term.labels) for term in terms)


def label_keys(pod: PodShape) -> tuple[str, ...]:
    """
    The labels that a pod looks at on a node, sorted. Unless it asks for a name, nodes that agree in these, in taints, cordon
    and readiness are the same to every filter.
    """
    terms = (*(pod.affinity or ()), *(term for terms in pod.volume_nodes for term in terms))
    return tuple(sorted({key for key, _ in pod.node_selector}.union(r.key for term in terms for r in term.labels)))

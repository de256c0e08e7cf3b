"""
A pod of a live cluster as a small record: what it holds of its node, who owns it, and what others have to mind of it.

A hundred thousand of them are kept at the same time, so what many have in common is kept once (`Recall`), and everything that no
snapshot needs is let go of at once. What a pod asks for is read as `fit` reads it (`scheduler.reading`): its effective request, with
init containers, overhead, requests of the pod as a whole and the larger size while it is resized.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from gitplacer.documents import Cursor
from gitplacer.model.podrules import HostPort, LabelPairs, PodTerm
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Identity
from gitplacer.observing.pending import reason_of
from gitplacer.observing.times import instant
from gitplacer.scheduler.arriving import pinned
from gitplacer.scheduler.objects import Pod
from gitplacer.scheduler.reading import cursor_of, read_existing

NODE_TYPE = "ray.io/node-type"
RAY_CLUSTER = "ray.io/cluster"


class Rules(Struct, frozen=True):
    """
    What a pod says about other pods and its node's ports. `repels` is its required anti-affinity; `asks` are the pods that it
    looks at in any other way, be it affinity or spreading.
    """

    repels: tuple[PodTerm, ...] = ()
    ports: tuple[HostPort, ...] = ()
    asks: tuple[PodTerm, ...] = ()


NO_RULES = Rules()


class PodSeen(Struct, frozen=True):
    """
    A pod that holds room, or waits for some. `owner` is its controller, in the pod's namespace. `node` is '' while it is
    pending, `since` and `reason` tell of that, and `nominated` is the node where room is being made for it, and `pinned`
    the only one that it may go to, as each pod of a DaemonSet has one. `flaw` says why its size cannot be
    known, '' if it is. `terminating`: it is being deleted.
    """

    namespace: str
    name: str
    owner: Identity | None
    node: str
    requests: Resources
    labels: LabelPairs
    rules: Rules = NO_RULES
    since: datetime | None = None
    reason: str = ""
    nominated: str = ""
    pinned: str = ""
    flaw: str = ""
    terminating: bool = False

    @property
    def identity(self) -> Identity:
        return Identity("", "Pod", self.namespace, self.name)

    def label(self, key: str) -> str:
        return next((value for name, value in self.labels if name == key), "")


class Recall:
    """Equal values kept once."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, value: Any) -> Any:
        return self._known.setdefault(value, value)


def read_pod(value: Mapping[str, Any], recall: Recall) -> PodSeen | None:
    """A v1.Pod; None for one that has ended, which holds nothing any more."""
    pod = read_existing(value)
    if pod.finished:
        return None
    root = cursor_of(value)
    since, reason = (None, "") if pod.node_name else _pending(root)
    labels = tuple((sys.intern(key), sys.intern(text)) for key, text in pod.labels)
    return PodSeen(
        namespace=sys.intern(pod.namespace),
        name=pod.name,
        owner=recall(owner_of(root.mapping("metadata"), pod.namespace)),
        node=sys.intern(pod.node_name),
        requests=recall(pod.requests) if pod.requests else NOTHING,
        labels=recall(labels),
        rules=recall(_rules(pod)),
        since=since,
        reason=sys.intern(reason),
        nominated="" if pod.node_name else sys.intern(pod.nominated),
        pinned="" if pod.node_name else sys.intern(pinned(pod)),
        flaw=pod.flaw,
        terminating=pod.terminating,
    )


def owner_of(metadata: Cursor, namespace: str) -> Identity | None:
    """The controller of an object, or its only owner. Owners are in the namespace of what they own."""
    owners = metadata.items("ownerReferences")
    controllers = [item for item in owners if item.boolean("controller")] or (owners if len(owners) == 1 else [])
    if not controllers:
        return None
    item = controllers[0]
    group = item.text("apiVersion").rpartition("/")[0]
    return Identity(sys.intern(group), sys.intern(item.text("kind")), sys.intern(namespace), item.text("name"))


def _rules(pod: Pod) -> Rules:
    asks = tuple(_asks(pod))
    if not (pod.pod_anti_affinity or pod.ports or asks):
        return NO_RULES
    return Rules(pod.pod_anti_affinity, pod.ports, asks)


def _asks(pod: Pod) -> Iterator[PodTerm]:
    yield from pod.pod_affinity
    for _, term in pod.preferred_pods:
        yield term
    for constraint in pod.spread:
        yield PodTerm(constraint.topology_key, constraint.selector, (pod.namespace,))


def _pending(root: Cursor) -> tuple[datetime | None, str]:
    """Since when a pod waits for a node, and why, as codes. One that no scheduler has looked at waits since it was made."""
    created = instant(root.mapping("metadata").text("creationTimestamp"))
    for item in root.mapping("status").items("conditions"):
        if item.text("type") == "PodScheduled" and item.text("status") == "False":
            return instant(item.text("lastTransitionTime")) or created, reason_of(
                item.text("reason"), item.text("message")
            )
    return created, ""

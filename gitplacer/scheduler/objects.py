"""
Nodes and pods as kube-scheduler sees them: frozen values, without what it never looks at.

Everything that a filter or a score asks for is a field here, and nothing else, so that two pods of equal fields are one
pod to the scheduler. Amounts are in the grain of `model.quantity.amount`.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from gitplacer.model.labels import NAME_KEY, Labels, Taint
from gitplacer.model.podrules import LabelPairs
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodShape, PodVolumeClaim

HOSTNAME = "kubernetes.io/hostname"
PODS = "pods"


class Pod(PodShape, frozen=True, kw_only=True):
    """
    A pod by name: its shape, whose rules are filled in for its namespace and labels. `claims` are its volume claims, by the names
    that they have in its namespace; `nominated` is the node for which it preempts others, or to which it is about to come, and waits. `flaw` says why its size
    or its place cannot be known; '' if they are.
    """

    name: str
    namespace: str = "default"
    labels: LabelPairs = ()
    finished: bool = False
    terminating: bool = False
    claims: tuple[PodVolumeClaim, ...] = ()
    priority: int = 0
    nominated: str = ""
    flaw: str = ""

    @staticmethod
    def of(shape: PodShape, name: str, namespace: str, labels: LabelPairs, **fields: Any) -> Pod:
        """A pod of a shape in its place. `fields` win over those of the shape."""
        values = asdict(shape)
        values["spread"] = tuple(c.of(labels) for c in shape.spread)
        values["pod_affinity"] = tuple(t.of(namespace, labels) for t in shape.pod_affinity)
        values["pod_anti_affinity"] = tuple(t.of(namespace, labels) for t in shape.pod_anti_affinity)
        values["preferred_pods"] = tuple((weight, t.of(namespace, labels)) for weight, t in shape.preferred_pods)
        return Pod(**{**values, "name": name, "namespace": namespace, "labels": labels, **fields})


class Node(Struct, frozen=True, kw_only=True):
    """
    A node. `allocatable` has `pods`; a resource it lacks is none at all. `used` is what pods use of it that nobody lists, their
    slots too. `ready` False: it is not counted on. `doubtful`: it says that it is not ready, or does not know, and has no
    taint that says so too, so that a scheduler would still use it. `flaw` says why it takes nothing new; '' if it does.
    """

    name: str
    labels: LabelPairs = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Resources = NOTHING
    used: Resources = NOTHING
    ready: bool = True
    doubtful: bool = False
    flaw: str = ""


Namespaces = Mapping[str, Labels]
"""The labels of each namespace that is known."""
NO_NAMESPACES: Namespaces = {}


class NamespacesByName(UserDict[str, Labels]):
    """
    The namespaces of a real cluster. By the time a pod is scheduled its namespace is there, so one that nobody listed yet, because it
    comes with the pod, has its name for a label.
    """

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Labels:
        return {NAME_KEY: name}

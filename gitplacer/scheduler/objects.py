"""
Nodes and pods as kube-scheduler sees them: frozen values, without what it never looks at.

Everything that a filter or a score asks for is a field here, and nothing else, so that two pods of equal fields are one
pod to the scheduler. Amounts are in the grain of `model.quantity.amount`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitplacer.model.labels import Labels, Requirement, Taint, Toleration
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import NodeTerm

HOSTNAME = "kubernetes.io/hostname"
PODS = "pods"
LabelPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Selector:
    """
    A label selector. `requirements` None is a null selector, which matches nothing; an empty one matches everything
    (apimachinery, LabelSelectorAsSelector).
    """

    requirements: tuple[Requirement, ...] | None = None

    @property
    def is_empty(self) -> bool:
        return self.requirements == ()

    def matches(self, labels: Labels) -> bool:
        return self.requirements is not None and all(r.matches(labels) for r in self.requirements)

    def narrowed(self, more: Iterable[Requirement]) -> Selector:
        """This selector with further requirements; a null one becomes these alone."""
        added = tuple(more)
        return Selector((*(self.requirements or ()), *added)) if added else self


NOTHING_SELECTED = Selector()


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One of `topologySpreadConstraints`; `selector` has its matchLabelKeys merged in. `hard` is DoNotSchedule."""

    topology_key: str
    max_skew: int
    selector: Selector
    hard: bool = True
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False


@dataclass(frozen=True, slots=True)
class PodTerm:
    """
    One term of pod affinity or anti-affinity; `selector` has matchLabelKeys and mismatchLabelKeys merged in, and
    `namespaces` the pod's own where the term names none.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector = NOTHING_SELECTED


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port that a pod takes on its node. `ip` 0.0.0.0 is every address."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"

    def conflicts(self, other: HostPort) -> bool:
        """Whether two pods with these ports cannot share a node (kube-scheduler's HostPortInfo.CheckConflict)."""
        if self.port != other.port or self.protocol != other.protocol:
            return False
        return self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """
    A pod. `requests` is the effective request without the pod's own slot; `scored_cpu` and `scored_memory` are the same
    with the scheduler's stand-ins for containers that ask for none. `preferred_pods` weighs anti-affinity below zero.
    `flaw` says why its size or its place cannot be known; '' if they are.
    """

    name: str
    namespace: str = "default"
    labels: LabelPairs = ()
    requests: Resources = NOTHING
    scored_cpu: int = 0
    scored_memory: int = 0
    node_name: str = ""
    node_selector: LabelPairs = ()
    affinity: tuple[NodeTerm, ...] | None = None
    preferred_nodes: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    preferred_pods: tuple[tuple[int, PodTerm], ...] = ()
    finished: bool = False
    terminating: bool = False
    flaw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """
    A node. `allocatable` has `pods`; a resource it lacks is none at all. `doubtful`: it says that it is not ready, or
    does not know, and has no taint that says so too. `flaw` says why it takes nothing new; '' if it does.
    """

    name: str
    labels: LabelPairs = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Resources = NOTHING
    doubtful: bool = False
    flaw: str = ""


Namespaces = Mapping[str, Labels]
"""The labels of each namespace that is known."""

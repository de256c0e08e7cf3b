"""
What is placed: objects, the pods they become, and gangs of pods.

A PodShape is all that a scheduler may look at; two pods of equal shape are interchangeable, which is what makes
counting fast and exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.labels import Labels, Requirement, Toleration
from gitplacer.model.podrules import HostPort, LabelPairs, PodTerm, SpreadConstraint
from gitplacer.model.resources import NOTHING, Resources


class Identity(NamedTuple):
    """
    What makes a Kubernetes object the same object: API group (without version), kind, namespace, name.

    `namespace` is '' for a cluster-scoped object.
    """

    api_group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


def api_group(api_version: str) -> str:
    """The group of an apiVersion: 'apps/v1' → 'apps', 'v1' → ''."""
    return api_version.rpartition("/")[0]


class NodeTerm(Struct, frozen=True):
    """One term of required node affinity: all its requirements must hold. A term with none matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels, name: str) -> bool:
        """Whether a node of such labels and name is one that the term means."""
        if not self.labels and not self.fields:
            return False
        fields = {"metadata.name": name}
        return all(r.matches(labels) for r in self.labels) and all(r.matches(fields) for r in self.fields)

    def __str__(self) -> str:
        return " and ".join(str(r) for r in (*self.labels, *self.fields)) or "nothing"


class ClaimSpec(Struct, frozen=True):
    """
    What a volume claim asks for. `storage_class` None means the cluster's default, '' a volume without a class; `size` is in
    bytes; `selector` chooses among volumes that are there; `volume` is one that the claim names itself.
    """

    storage_class: str | None = None
    size: int = 0
    modes: tuple[str, ...] = ()
    block: bool = False
    selector: tuple[Requirement, ...] = ()
    volume: str = ""


ClaimOf = Literal["namespace", "set", "pod"]


class PodVolumeClaim(Struct, frozen=True):
    """
    A volume claim by which a pod has a volume: one of its `namespace`, which exists by itself; that which a `set` makes for each
    of its pods, numbered from `first`, and keeps; or one that is made with each `pod` and goes with it. `spec` is that of a claim that is
    made.
    """

    name: str
    of: ClaimOf = "namespace"
    spec: ClaimSpec | None = None
    first: int = 0


class Named(Struct, frozen=True):
    """
    What a pod names that its cluster has to know when it is created: volume claims, its priority and preemption policy, its runtime
    class. `gated`: it has scheduling gates; `ends`: it has a deadline, so that quotas count it as terminating.
    """

    claims: tuple[PodVolumeClaim, ...] = ()
    priority_class: str = ""
    priority: int | None = None
    preemption: str = ""
    runtime_class: str = ""
    gated: bool = False
    ends: bool = False


NO_NAMES = Named()


class PodShape(Struct, frozen=True, cache_hash=True):
    """
    What kube-scheduler sees of a pod, but for its name, namespace and labels. `requests` is the effective request
    (Kubernetes' PodRequests), without the pod's own slot; `scored_cpu` and `scored_memory` are the same with the scheduler's
    stand-ins for containers that ask for none. `affinity` None means no required node affinity, otherwise its terms are
    alternatives. `preferred_pods` weighs anti-affinity below zero. `volume_nodes` is what its volumes ask of a node: of
    each, one of the terms.
    """

    requests: Resources = NOTHING
    node_selector: LabelPairs = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    scored_cpu: int = 0
    scored_memory: int = 0
    preferred_nodes: tuple[tuple[int, NodeTerm], ...] = ()
    ports: tuple[HostPort, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    preferred_pods: tuple[tuple[int, PodTerm], ...] = ()
    volume_nodes: tuple[tuple[NodeTerm, ...], ...] = ()

    @property
    def minds_others(self) -> bool:
        """Whether where it may be depends on where other pods are, for more than room."""
        return bool(self.ports or self.pod_affinity or self.pod_anti_affinity or any(c.hard for c in self.spread))

    @property
    def looks_at_pods(self) -> bool:
        """Whether a filter or a score asks which pods, by their labels, are where."""
        return bool(self.spread or self.pod_affinity or self.pod_anti_affinity or self.preferred_pods)

    @property
    def rules(self) -> tuple[SpreadConstraint | PodTerm, ...]:
        """All that it says of other pods, required or preferred."""
        return (*self.spread, *self.pod_affinity, *self.pod_anti_affinity, *(term for _, term in self.preferred_pods))

    @property
    def required_rules(self) -> tuple[SpreadConstraint | PodTerm, ...]:
        """All that other pods can keep it off a node by."""
        return (*(each for each in self.spread if each.hard), *self.pod_affinity, *self.pod_anti_affinity)


class PodSet(Struct, frozen=True):
    """
    `count` identical pods in one role: `head`, `worker/<groupName>`, `submitter`, or `pod`.

    `slice_size` pods each are one slice, whose hosts sit in one topology domain. `per_node`: one on each node that admits
    it, whatever the count. `namespace` and `labels` are what rules of other pods go by; '' and () where nobody asks. `claims`
    are its volume claims until somebody has looked where they let it be.
    """

    role: str
    count: int
    shape: PodShape
    slice_size: int = 1
    per_node: bool = False
    namespace: str = ""
    labels: LabelPairs = ()
    claims: tuple[PodVolumeClaim, ...] = ()


Gang = tuple[PodSet, ...]
"""All pods of one placement unit, in the order their controllers create them. Roles may repeat across members."""

Sort = tuple[PodShape, str, LabelPairs, int]
"""What pods are to everybody else: their shape, the namespace and labels by which rules find them, and how many belong together."""

Sorts = frozenset[tuple[Sort, int]]
"""The pods of a gang, each sort with their number, whatever role they have."""


class Roster(Gang):
    """
    A gang that is asked about on many clusters. What follows from its pods alone is worked out once; it equals the same gang that is a
    plain tuple.
    """

    @staticmethod
    def of(gang: Gang) -> Roster:
        """A gang as one of these; one that is one already keeps what was worked out."""
        return gang if isinstance(gang, Roster) else Roster(gang)

    @cached_property
    def counts(self) -> Mapping[PodShape, int]:
        """How many pods of each shape there are. Do not write to it."""
        counts: dict[PodShape, int] = {}
        for pods in self:
            counts[pods.shape] = counts.get(pods.shape, 0) + pods.count
        return counts

    @cached_property
    def present(self) -> Mapping[PodShape, int]:
        """The same for shapes of which there are some."""
        return {shape: count for shape, count in self.counts.items() if count}

    @cached_property
    def requests(self) -> Resources:
        """What all pods ask for together."""
        total: dict[str, int] = {}
        for pods in self:
            for name, value in pods.shape.requests.items():
                total[name] = total.get(name, 0) + value * pods.count
        return Resources(total)

    @cached_property
    def sorts(self) -> Sorts:
        """The pods, whatever role they have."""
        counts: Counter[Sort] = Counter()
        for pods in self:
            counts[pods.shape, pods.namespace, pods.labels, pods.slice_size] += pods.count
        return frozenset(counts.items())

    @cached_property
    def may_mind(self) -> bool:
        """Whether some rule about other pods may hold for some of these."""
        return any(pods.shape.minds_others or pods.slice_size > 1 for pods in self)

    @cached_property
    def per_node(self) -> bool:
        """Whether some are one on each node that admits them."""
        return any(pods.per_node for pods in self)

    @cached_property
    def is_looked_at(self) -> bool:
        """Whether some rule of the fleet looks at some of these; others have neither namespace nor labels here."""
        return any(pods.labels or pods.namespace for pods in self)

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Strings hash differently in the next process.
        return Roster, (tuple(self),)


def unlabelled(gang: Gang) -> Gang:
    """A gang without what only rules of other pods go by."""
    return tuple(replace(pods, namespace="", labels=()) if pods.namespace or pods.labels else pods for pods in gang)


def total_requests(gang: Gang) -> Resources:
    """The sum over all pods."""
    return Roster.of(gang).requests

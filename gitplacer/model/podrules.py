"""
What a pod says about other pods, and about its node's ports: the rules that make one placement depend on another.

As they are written, rules may speak of the pod's own namespace and labels (`matchLabelKeys`, a term without namespaces). So that
pods of many apps can share what was written, that is filled in late: `of` gives a rule as a pod in a namespace has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gitplacer.model.labels import Labels, Requirement

LabelPairs = tuple[tuple[str, str], ...]
"""Labels, sorted."""


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
    """One of `topologySpreadConstraints`. `hard` is DoNotSchedule; `match_keys` are its matchLabelKeys."""

    topology_key: str
    max_skew: int
    selector: Selector
    hard: bool = True
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    match_keys: tuple[str, ...] = ()

    def of(self, labels: LabelPairs) -> SpreadConstraint:
        """As a pod with these labels has it: with its own values for the `match_keys`."""
        if not self.match_keys:
            return self
        return replace(self, selector=self.selector.narrowed(_like(self.match_keys, "In", labels)), match_keys=())


@dataclass(frozen=True, slots=True)
class PodTerm:
    """
    One term of pod affinity or anti-affinity. `own_namespace`: it names none, and so means that of its pod. `match_keys` and
    `mismatch_keys` are its matchLabelKeys and mismatchLabelKeys.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector = NOTHING_SELECTED
    own_namespace: bool = False
    match_keys: tuple[str, ...] = ()
    mismatch_keys: tuple[str, ...] = ()

    def of(self, namespace: str, labels: LabelPairs) -> PodTerm:
        """
        As a pod in this namespace with these labels has it. A null selector matches nothing, whatever matchLabelKeys say: the
        API server merges them only into a selector that is there.
        """
        if not (self.own_namespace or self.match_keys or self.mismatch_keys):
            return self
        selector = self.selector
        if selector.requirements is not None:
            like = (*_like(self.match_keys, "In", labels), *_like(self.mismatch_keys, "NotIn", labels))
            selector = selector.narrowed(like)
        namespaces = (namespace,) if self.own_namespace else self.namespaces
        return PodTerm(self.topology_key, selector, namespaces, self.namespace_selector)


def _like(keys: tuple[str, ...], operator: str, labels: LabelPairs) -> tuple[Requirement, ...]:
    """What label keys stand for: the values that the pod has for those of them that it has."""
    own = dict(labels)
    return tuple(Requirement(key, operator, (own[key],)) for key in keys if key in own)


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


_SOMEWHERE = " ?/"


def untold(kind: str, name: str) -> str:
    """
    The value of a label that is a name which a controller makes up: that of an object and something random. It has characters
    that no label has in a cluster, so it equals no real value, and that of no other object. So rules about the key alone, and
    about pods like the own or unlike them, are right without knowing it.
    """
    return f"{kind}{_SOMEWHERE}{name}-?????"


def in_namespace(labels: LabelPairs, namespace: str) -> LabelPairs:
    """The labels of a pod in its namespace: what is made up for an object is not what is for its namesakes elsewhere."""
    if not any(_SOMEWHERE in value for _, value in labels):
        return labels
    return tuple((key, value.replace(_SOMEWHERE, f" {namespace}/")) for key, value in labels)

"""
What a pod says about other pods, and about its node's ports: the rules that make one placement depend on another.

As they are written, rules may speak of the pod's own namespace and labels (`matchLabelKeys`, a term without namespaces). So that
pods of many apps can share what was written, that is filled in late: `of` gives a rule as a pod in a namespace has it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Container, Iterable

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.labels import Labels, Requirement

LabelPairs = tuple[tuple[str, str], ...]
"""Labels, sorted."""


class Selector(Struct, frozen=True):
    """
    A label selector. `requirements` None is a null selector, which matches nothing; an empty one matches everything
    (apimachinery, LabelSelectorAsSelector).
    """

    requirements: tuple[Requirement, ...] | None = None

    @property
    def is_empty(self) -> bool:
        return self.requirements == ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels that it names."""
        return tuple(requirement.key for requirement in self.requirements or ())

    @property
    def values(self) -> tuple[str, ...]:
        """The values that it names."""
        return tuple(value for requirement in self.requirements or () for value in requirement.values)

    def matches(self, labels: Labels) -> bool:
        return self.requirements is not None and all(r.matches(labels) for r in self.requirements)

    def narrowed(self, more: Iterable[Requirement]) -> Selector:
        """This selector with further requirements; a null one becomes these alone."""
        added = tuple(more)
        return Selector((*(self.requirements or ()), *added)) if added else self


NOTHING_SELECTED = Selector()


class SpreadConstraint(Struct, frozen=True):
    """One of `topologySpreadConstraints`. `hard` is DoNotSchedule; `match_keys` are its matchLabelKeys."""

    topology_key: str
    max_skew: int
    selector: Selector
    hard: bool = True
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    match_keys: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels that it names."""
        return (*self.selector.keys, *self.match_keys)

    def of(self, labels: LabelPairs) -> SpreadConstraint:
        """As a pod with these labels has it: with its own values for the `match_keys`."""
        if not self.match_keys:
            return self
        return replace(self, selector=self.selector.narrowed(_like(self.match_keys, "In", labels)), match_keys=())


class PodTerm(Struct, frozen=True):
    """
    One term of pod affinity or anti-affinity. `own_namespace`: it names none, and so means that of its pod. `match_keys` and
    `mismatch_keys` are its matchLabelKeys and mismatchLabelKeys. `by_itself`: it stands for another rule than pod affinity, so
    it is met by whom it selects, whatever other terms of the pod say, and no score counts it.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector = NOTHING_SELECTED
    own_namespace: bool = False
    match_keys: tuple[str, ...] = ()
    mismatch_keys: tuple[str, ...] = ()
    by_itself: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels of pods that it names."""
        return (*self.selector.keys, *self.match_keys, *self.mismatch_keys)

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
        return PodTerm(self.topology_key, selector, namespaces, self.namespace_selector, by_itself=self.by_itself)


def _like(keys: tuple[str, ...], operator: str, labels: LabelPairs) -> tuple[Requirement, ...]:
    """What label keys stand for: the values that the pod has for those of them that it has."""
    own = dict(labels)
    return tuple(Requirement(key, operator, (own[key],)) for key in keys if key in own)


class HostPort(Struct, frozen=True):
    """A port that a pod takes on its node. `ip` 0.0.0.0 is every address."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"

    def conflicts(self, other: HostPort) -> bool:
        """Whether two pods with these ports cannot share a node (kube-scheduler's HostPortInfo.CheckConflict)."""
        if self.port != other.port or self.protocol != other.protocol:
            return False
        return self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip)


_SOMEWHERE, _MADE_UP = " ?/", "-?????"


def untold(kind: str, name: str) -> str:
    """
    The value of a label that is a name which a controller makes up: that of an object and something random. It has characters
    that no label has in a cluster, so it equals no real value, and that of no other object. So rules about the key alone, and
    about pods like the own or unlike them, are right without knowing it.
    """
    return f"{kind}{_SOMEWHERE}{name}{_MADE_UP}"


def untold_in(labels: LabelPairs) -> frozenset[str]:
    """The labels with such a value."""
    return frozenset(key for key, value in labels if _MADE_UP in value)


def of_another(labels: LabelPairs) -> LabelPairs:
    """The labels of a pod of a second object beside the first, made for the same one: each has a name of its own."""
    return tuple((key, value.replace(_MADE_UP, f"{_MADE_UP}+")) for key, value in labels)


_REPLICA, _HOST, _NUMBER = " <replica>", " <host>", " <from "
_COUNTED = re.compile(rf"(.*){_NUMBER}([0-9]{{1,10}})>", re.DOTALL)
EACH_HOST = f"0{_HOST}"
"""The value of a label that counts the hosts of a replica, from 0."""


def each_number(before: str = "", first: int = 0) -> str:
    """The value of a label that counts the replicas of a set of pods from the first one's number; `before` stands before each."""
    return f"{before}{_NUMBER}{first}>"


EACH_REPLICA = each_number()
"""The value of a label that counts the replicas of a set of pods, from 0."""


def each_replica(name: str) -> str:
    """The value of a label that is a name which a controller makes up for each replica of a set of pods."""
    return f"{name}{_REPLICA}"


def varies(value: str) -> bool:
    """Whether it stands for a value that each replica, or each host of one, has for itself."""
    return _REPLICA in value or _HOST in value or _NUMBER in value


def vary(labels: LabelPairs) -> bool:
    """Whether some of the labels of a set of pods vary within it."""
    return any(varies(value) for _, value in labels)


def kinship(labels: LabelPairs, hosts: int) -> int:
    """How many pods in a row have the same labels, where so many `hosts` are one replica; 0 for all of them."""
    values = [value for _, value in labels if varies(value)]
    return (1 if EACH_HOST in values else hosts) if values else 0


def of_one(labels: LabelPairs, number: int, hosts: int) -> LabelPairs:
    """The labels of the pod of a set that has this number from 0, where so many `hosts` in a row are one replica."""
    if not vary(labels):
        return labels
    replica, host = divmod(number, hosts)
    return tuple((key, _value_of_one(value, replica, host)) for key, value in labels)


def _value_of_one(value: str, replica: int, host: int) -> str:
    counted = _COUNTED.fullmatch(value)
    if counted:
        return f"{counted[1]}{int(counted[2]) + replica}"
    return str(host) if value == EACH_HOST else value.replace(_REPLICA, f" {replica}")


def filed_under(value: str) -> str:
    """Under what a label's value is filed, so that one that stands for several is found by each of these."""
    if value == EACH_HOST:
        return _NUMBER
    counted = _COUNTED.fullmatch(value)
    return f"{counted[1]}{_NUMBER}" if counted else value


def filings(value: str) -> tuple[str, str]:
    """Under what a label's value may be filed: it, or what stands for it and others."""
    return value, f"{value.rstrip(string.digits)}{_NUMBER}"


def may_match(requirements: Iterable[Requirement], labels: Labels) -> bool:
    """Whether a pod of a set with these labels may be what all requirements are about, where it is not known which of the set it is."""
    return all(
        r.matches(labels) or (r.operator == "In" and may_be_one(labels.get(r.key), r.values)) for r in requirements
    )


def may_be_one(value: str | None, values: tuple[str, ...]) -> bool:
    """Whether the value of a label, or one for which it stands, may be one of some others."""
    return value is not None and any(_may_be(value, each) or _may_be(each, value) for each in values)


def _may_be(value: str, known: str) -> bool:
    """Whether a value that stands for several may stand for this one."""
    if not varies(value):
        return False
    if value == EACH_HOST or _COUNTED.fullmatch(value):
        return filings(known)[1] == filed_under(value) and known[-1:].isdigit()
    return known.startswith(value.replace(_REPLICA, " "))


def alike(labels: LabelPairs, looked_at: Container[str]) -> LabelPairs:
    """The labels without those that vary within a set of pods and that nobody looks at."""
    if all(key in looked_at or not varies(value) for key, value in labels):
        return labels
    return tuple((key, value) for key, value in labels if key in looked_at or not varies(value))


def in_namespace(labels: LabelPairs, namespace: str) -> LabelPairs:
    """The labels of a pod in its namespace: what is made up for an object is not what is for its namesakes elsewhere."""
    if not any(_SOMEWHERE in value for _, value in labels):
        return labels
    return tuple((key, value.replace(_SOMEWHERE, f" {namespace}/")) for key, value in labels)

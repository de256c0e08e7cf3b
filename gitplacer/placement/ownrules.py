"""
Rules of pods about none but pods like themselves: one of them on each node, as many in each zone, all in one zone.

What comes of most rules about other pods only a trial tells. Of these there can be a proof (`ownproof`).
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from msgspec import Struct

from gitplacer.model.podrules import NOTHING_SELECTED, LabelPairs, PodTerm, Selector, SpreadConstraint, may_match, vary
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.scheduler import Pod
from gitplacer.scheduler.filters import ports_conflict
from gitplacer.scheduler.objects import HOSTNAME

Kind = tuple[PodShape, str, LabelPairs]
"""What pods are to rules: their shape, namespace and labels."""


class Own(Struct, frozen=True):
    """
    So many pods that have such rules, and one of them; `region` is the rule by which some domains of nodes matter to them: that they are spread over
    these, or have to stay together.
    """

    pod: Pod
    shape: PodShape
    count: int
    region: SpreadConstraint | PodTerm | None = None

    @property
    def key(self) -> str:
        """The label of nodes by which the domains are told; '' if they do not matter."""
        return self.region.topology_key if self.region else ""

    def most_in_one(self, domains: int) -> int:
        """
        How many of them are in one domain at most, if there are so many. Pods that are spread come where there are at most `max_skew` more than in any
        other then; so if c are in one, c - max_skew are in each of the others.
        """
        if not isinstance(self.region, SpreadConstraint):
            return self.count
        skew = self.region.max_skew
        return min(self.count, (self.count - skew) // domains + skew)


def keep_apart(shape: PodShape) -> bool:
    """Whether pods of a shape that have such rules keep each other off their nodes."""
    return bool(shape.ports or shape.pod_anti_affinity)


@lru_cache(maxsize=4096)
def own_rules(gang: Gang) -> tuple[Own, ...] | None:
    """Those pods of a gang that have rules; None if some have a rule that is of another kind or about others, or need not be about themselves."""
    there = [pods for pods in gang if pods.count]
    if any(pods.slice_size > 1 for pods in there):
        return None
    counts: Counter[Kind] = Counter()
    for pods in there:
        counts[kind_of(pods)] += pods.count
    found = []
    for kind, count in counts.items():
        if kind[0].minds_others:
            own = _own(one_of(*kind), kind[0], count)
            if own is None or any(regards(own, one_of(*other)) for other in counts if other != kind):
                return None
            found.append(own)
    return tuple(found) if len({own.shape for own in found}) == len(found) else None


def _own(pod: Pod, shape: PodShape, count: int) -> Own | None:
    terms, hard = (*pod.pod_affinity, *pod.pod_anti_affinity), [each for each in pod.spread if each.hard]
    if vary(pod.labels) or any(term.namespace_selector != NOTHING_SELECTED for term in terms):
        return None
    if any(term.topology_key != HOSTNAME for term in pod.pod_anti_affinity):
        return None
    about_itself = all(_selects(term.selector, term.namespaces, pod, exactly=True) for term in terms) and all(
        _selects(each.selector, (pod.namespace,), pod, exactly=True) and not each.selector.is_empty for each in hard
    )
    regions: list[SpreadConstraint | PodTerm] = [*hard, *pod.pod_affinity]
    if not about_itself or len(regions) > 1 or any(each.topology_key == HOSTNAME for each in regions):
        return None
    return Own(pod, shape, count, regions[0] if regions else None)


def meet(one: Gang, other: Gang) -> bool:
    """Whether some rule of one gang may be about pods of the other; or whether there are rules of other kinds."""
    mine, theirs = own_rules(one), own_rules(other)
    if mine is None or theirs is None:
        return True
    return _are_about(mine, other) or _are_about(theirs, one)


def _are_about(rules: tuple[Own, ...], gang: Gang) -> bool:
    """Pods of one shape are counted together, so that two gangs may not both have it."""
    return any(
        own.shape == pods.shape or regards(own, one_of(*kind_of(pods)))
        for own in rules
        for pods in gang
        if pods.count and (pods.namespace or pods.labels or pods.shape.ports)
    )


def regards(own: Own, other: Pod) -> bool:
    """Whether a rule of some pods may be about another pod, or both want a port of their node."""
    pod = own.pod
    if any(
        _selects(term.selector, term.namespaces, other) for term in (*pod.pod_affinity, *pod.pod_anti_affinity)
    ) or any(_selects(each.selector, (pod.namespace,), other) for each in pod.spread if each.hard):
        return True
    return bool(pod.ports and other.ports) and ports_conflict(pod.ports, other.ports)


def _selects(selector: Selector, namespaces: tuple[str, ...], pod: Pod, *, exactly: bool = False) -> bool:
    """Whether a selector may find a pod; `exactly`: whether it does."""
    if selector.requirements is None or pod.namespace not in namespaces:
        return False
    labels = dict(pod.labels)
    return selector.matches(labels) if exactly else may_match(selector.requirements, labels)


def kind_of(pods: PodSet) -> Kind:
    return pods.shape, pods.namespace, pods.labels


@lru_cache(maxsize=16384)
def one_of(shape: PodShape, namespace: str, labels: LabelPairs) -> Pod:
    """A pod of a set without a name; many gangs have pods of the same kind, and trials have them many times."""
    return Pod.of(shape, "", namespace, labels)

"""
Rules about other nodes: topology spread constraints, pod affinity and anti-affinity, and what scores make of them.

All of them count pods in topology domains, so each becomes a `Counter`: a number per domain, which goes up when a pod of
certain classes is bound to a counted node. What a rule says of all nodes is then one numpy expression over its counters.
Source: kubernetes 1.34 pkg/scheduler/framework/plugins/podtopologyspread and interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from gitplacer.model.labels import Labels
from gitplacer.model.podrules import PodTerm, Selector, may_match
from gitplacer.scheduler.objects import Namespaces, Node, Pod

Ints = np.ndarray[Any, np.dtype[np.int64]]
Indexes = np.ndarray[Any, np.dtype[np.intp]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

Placed = tuple[int, Pod]
"""A pod that runs, with the index of its node."""
Kin = tuple[Pod, Indexes]
"""Pods that run and are one object, many times, with the index of the node of each: what a rule says of one holds for all."""


def kin(placed: Iterable[Placed]) -> tuple[Kin, ...]:
    """Pods that run, those that are one object together."""
    nodes: dict[int, tuple[Pod, list[int]]] = {}
    for node, pod in placed:
        nodes.setdefault(id(pod), (pod, []))[1].append(node)
    return tuple((pod, np.array(where, dtype=np.intp)) for pod, where in nodes.values())


def asked_by(term: PodTerm, pod: Pod, namespaces: Namespaces) -> bool:
    """Whether a term of a pod that is to be scheduled selects a pod: its namespaceSelector chooses among known ones."""
    return _chosen_by(term, pod, namespaces) and term.selector.matches(dict(pod.labels))


def _chosen_by(term: PodTerm, pod: Pod, namespaces: Namespaces) -> bool:
    chooser = term.namespace_selector
    return (
        pod.namespace in term.namespaces
        or chooser.is_empty
        or (pod.namespace in namespaces and chooser.matches(namespaces[pod.namespace]))
    )


def asked_of(term: PodTerm, pod: Pod, namespaces: Namespaces) -> bool:
    """
    Whether a term of a pod that runs selects a pod that is to be scheduled: an unknown namespace has no labels, which
    some selectors match.
    """
    return _chosen_of(term, pod, namespaces) and term.selector.matches(dict(pod.labels))


def _chosen_of(term: PodTerm, pod: Pod, namespaces: Namespaces) -> bool:
    labels: Labels = namespaces.get(pod.namespace, {})
    return pod.namespace in term.namespaces or term.namespace_selector.matches(labels)


def may_select(term: PodTerm, pod: Pod) -> bool:
    """
    Whether the selector of a term may be about a pod, also where it is not known which of its set the one or the other is. What may be
    kept off a node by anti-affinity is promised none.
    """
    return term.selector.requirements is not None and may_match(term.selector.requirements, dict(pod.labels))


def may_keep_off(term: PodTerm, pod: Pod, namespaces: Namespaces) -> bool:
    """Whether an anti-affinity term of a pod that runs may be about one that is to be scheduled."""
    return _chosen_of(term, pod, namespaces) and may_select(term, pod)


def counted_by_spread(selector: Selector, namespace: str, pod: Pod) -> bool:
    """Spread counts living pods of the same namespace; an empty selector counts none."""
    return (
        not selector.is_empty
        and not pod.terminating
        and pod.namespace == namespace
        and selector.matches(dict(pod.labels))
    )


class Topology:
    """The domains that nodes are in, by topology key: each node's domain as a number, -1 where it has no such label."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._labels = [dict(node.labels) for node in nodes]
        self._known: dict[str, tuple[Indexes, int]] = {}

    def of(self, key: str) -> tuple[Indexes, int]:
        """The domain of each node, and how many domains there are."""
        if key not in self._known:
            numbers: dict[str, int] = {}
            found = [
                -1 if (value := labels.get(key)) is None else numbers.setdefault(value, len(numbers))
                for labels in self._labels
            ]
            self._known[key] = np.array(found, dtype=np.intp), len(numbers)
        return self._known[key]

    def has(self, keys: Iterable[str]) -> Mask:
        """The nodes that have all of the labels."""
        mask = np.ones(len(self._labels), dtype=np.bool_)
        for key in keys:
            mask &= self.of(key)[0] >= 0
        return mask


class Counter(Struct, frozen=True, eq=False):
    """
    Pods counted by topology domain. `of` is each node's domain, `base` what runs there already; a pod of class k on a node
    that is `counted` adds `adds[k]`.
    """

    key: str
    of: Indexes
    counted: Mask
    base: Ints
    adds: tuple[int, ...]


class SpreadRule(Struct, frozen=True):
    """A DoNotSchedule constraint of one class. `domains` are those that count for the minimum; it is 0 if `too_few`."""

    counter: int
    max_skew: int
    itself: int
    domains: Indexes
    too_few: bool


class SoftSpread(Struct, frozen=True):
    """A ScheduleAnyway constraint of one class; `by_node`: each node is a domain by itself."""

    counter: int
    max_skew: int
    by_node: bool


class Rules(Struct, frozen=True):
    """
    What other nodes have to do with one class. Numbers are of counters; `soft_nodes` have all labels of `soft` constraints. `beside` are those of
    terms that stand by themselves: each is met where somebody is whom it selects, and anywhere as long as nobody is.
    """

    spread: tuple[SpreadRule, ...] = ()
    soft: tuple[SoftSpread, ...] = ()
    soft_nodes: Mask | None = None
    affinity: tuple[int, ...] = ()
    first_may_start: bool = False
    beside: tuple[int, ...] = ()
    anti: tuple[int, ...] = ()
    preferred: tuple[int, ...] = ()

    @property
    def is_static(self) -> bool:
        """Whether nothing but a node itself decides whether it takes a pod of this class."""
        return not (self.spread or self.company or self.anti)

    @property
    def needs_order(self) -> bool:
        """Whether a set of pods that may be there together may yet have come in the wrong order."""
        return bool(self.spread or self.company)

    @property
    def company(self) -> tuple[int, ...]:
        """The counters of all those whom it has to be near."""
        return (*self.affinity, *self.beside)


class Neighbourhood:
    """Counters and rules for the classes of a gang, made once; equal counters are one."""

    def __init__(
        self,
        topology: Topology,
        running: Sequence[Kin],
        classes: Sequence[Pod],
        namespaces: Namespaces,
        admits: Callable[[Pod, bool, bool], Mask],
    ) -> None:
        """`admits(pod, affinity, taints)` are the nodes that a pod's node affinity and tolerations let it on."""
        self.topology = topology
        self.counters: list[Counter] = []
        self._index: dict[tuple[object, ...], int] = {}
        self._running = running
        self._classes = classes
        self._namespaces = namespaces
        self._admits = admits
        self._attached = [(pod, nodes) for pod, nodes in running if pod.pod_affinity or pod.preferred_pods]
        self._repelling = [(pod, nodes) for pod, nodes in running if pod.pod_anti_affinity]
        self.refused: list[Mask] = []
        """For each class, the nodes that the pods which run there keep it off for good, by its anti-affinity or theirs."""
        if self._attached or self._repelling or any(pod.looks_at_pods for pod in classes):
            self.rules = tuple(self._rules(pod) for pod in classes)
        else:
            every, nowhere = topology.has(()), np.zeros(len(topology.of("")[0]), dtype=np.bool_)
            self.refused = [nowhere] * len(classes)
            self.rules = (Rules(soft_nodes=every, first_may_start=True),) * len(classes)
        del self._admits  # it is a method of who keeps us, and we would keep each other for ever

    def keys_needed(self, pod: Pod) -> Mask:
        """The nodes that have every label without which the pod's constraints refuse a node."""
        return self.topology.has(_keys_needed(pod))

    def key_missing(self, pod: Pod, node: int) -> str:
        """The first of these labels that a node has not; '' where it has all."""
        return next((key for key in sorted(_keys_needed(pod)) if self.topology.of(key)[0][node] < 0), "")

    def adds(self, k: int) -> tuple[tuple[int, int], ...]:
        """The counters that a pod of class k adds to, and how much."""
        return tuple((i, counter.adds[k]) for i, counter in enumerate(self.counters) if counter.adds[k])

    def _rules(self, pod: Pod) -> Rules:
        repelled = tuple(dict.fromkeys((*self._anti(pod), *self._repelled(pod))))
        refused = np.zeros(len(self.topology.of("")[0]), dtype=np.bool_)
        for i in repelled:
            of, base = self.counters[i].of, self.counters[i].base
            refused |= (of >= 0) & (base[of] > 0)
        self.refused.append(refused)
        return Rules(
            spread=tuple(self._spread(pod)),
            soft=tuple(self._soft(pod)),
            soft_nodes=self.topology.has({c.topology_key for c in pod.spread if not c.hard}),
            affinity=self._affinity(pod),
            first_may_start=all(
                asked_by(term, pod, self._namespaces) for term in pod.pod_affinity if not term.by_itself
            ),
            beside=tuple(self._beside(pod)),
            anti=tuple(i for i in repelled if any(self.counters[i].adds)),
            preferred=tuple(i for i in self._preferred(pod) if self._matters(i)),
        )

    def _matters(self, i: int) -> bool:
        return any(self.counters[i].adds) or bool(self.counters[i].base.any())

    def _spread(self, pod: Pod) -> Iterable[SpreadRule]:
        hard = [c for c in pod.spread if c.hard]
        keyed = self.topology.has({c.topology_key for c in hard})
        for c in hard:
            counted = keyed & self._admits(pod, c.honours_affinity, c.honours_taints)
            index = self._counter(
                c.topology_key,
                lambda other, c=c: int(counted_by_spread(c.selector, pod.namespace, other)),  # type: ignore[misc]
                counted,
            )
            domains = np.unique(self.counters[index].of[counted])
            itself = int(c.selector.matches(dict(pod.labels)))
            yield SpreadRule(index, c.max_skew, itself, domains, len(domains) < max(1, c.min_domains))

    def _soft(self, pod: Pod) -> Iterable[SoftSpread]:
        soft = [c for c in pod.spread if not c.hard]
        keyed = self.topology.has({c.topology_key for c in soft})
        for c in soft:
            by_node = c.topology_key == "kubernetes.io/hostname"
            counted = keyed & self._admits(pod, c.honours_affinity and not by_node, c.honours_taints and not by_node)
            index = self._counter(
                c.topology_key,
                lambda other, c=c: int(counted_by_spread(c.selector, pod.namespace, other)),  # type: ignore[misc]
                counted,
            )
            yield SoftSpread(index, c.max_skew, by_node)

    def _affinity(self, pod: Pod) -> tuple[int, ...]:
        """Counters of the pods that all terms select, but for those that stand by themselves."""
        terms = [term for term in pod.pod_affinity if not term.by_itself]

        def selected(other: Pod) -> int:
            return int(all(asked_by(term, other, self._namespaces) for term in terms))

        return tuple(self._counter(term.topology_key, selected) for term in terms)

    def _beside(self, pod: Pod) -> Iterable[int]:
        for term in pod.pod_affinity:
            if term.by_itself:
                yield self._counter(
                    term.topology_key,
                    lambda other, term=term: int(asked_by(term, other, self._namespaces)),  # type: ignore[misc]
                )

    def _anti(self, pod: Pod) -> Iterable[int]:
        for term in pod.pod_anti_affinity:
            yield self._counter(
                term.topology_key,
                lambda other, term=term: int(  # type: ignore[misc]
                    _chosen_by(term, other, self._namespaces) and may_select(term, other)
                ),
            )

    def _repelled(self, pod: Pod) -> Iterable[int]:
        """Counters of the pods whose own anti-affinity selects this one."""
        repelling = (*(other for other, _ in self._repelling), *self._classes)
        for key in sorted({term.topology_key for other in repelling for term in other.pod_anti_affinity}):

            def repels(other: Pod, key: str = key) -> int:
                terms = (term for term in other.pod_anti_affinity if term.topology_key == key)
                return int(any(may_keep_off(term, pod, self._namespaces) for term in terms))

            yield self._counter(key, repels, among=self._repelling)

    def _preferred(self, pod: Pod) -> Iterable[int]:
        """Counters of the weights that preferred terms, the pod's and the others', put on domains for this pod."""
        others = (*(other for other, _ in self._attached), *self._classes)
        own = {term.topology_key for _, term in pod.preferred_pods}
        theirs = {
            term.topology_key
            for other in others
            for term in (*_scored(other), *(term for _, term in other.preferred_pods))
        }
        for key in sorted(own | theirs):

            def weight(other: Pod, key: str = key) -> int:
                mine = sum(
                    w for w, term in pod.preferred_pods
                    if term.topology_key == key and asked_by(term, other, self._namespaces)
                )  # fmt: skip
                weighed = [*other.preferred_pods, *((1, term) for term in _scored(other))]
                return mine + sum(
                    w for w, term in weighed if term.topology_key == key and asked_of(term, pod, self._namespaces)
                )

            yield self._counter(key, weight, among=self._running if key in own else self._attached)

    def _counter(
        self,
        key: str,
        weigh: Callable[[Pod], int],
        counted: Mask | None = None,
        among: Sequence[Kin] | None = None,
    ) -> int:
        of, size = self.topology.of(key)
        mask = of >= 0 if counted is None else counted & (of >= 0)
        base = np.zeros(max(size, 1), dtype=np.int64)  # a key that no node has is never asked for
        for pod, nodes in self._running if among is None else among:
            if found := weigh(pod):
                np.add.at(base, of[nodes[mask[nodes]]], found)
        adds = tuple(weigh(pod) for pod in self._classes)
        identity = (key, mask.tobytes(), base.tobytes(), adds)
        if identity not in self._index:
            self._index[identity] = len(self.counters)
            self.counters.append(Counter(key, of, mask, base, adds))
        return self._index[identity]


def _keys_needed(pod: Pod) -> set[str]:
    """The labels without which a node is refused by the constraints of a pod."""
    return {*(c.topology_key for c in pod.spread if c.hard), *(t.topology_key for t in pod.pod_affinity)}


def _scored(pod: Pod) -> Iterable[PodTerm]:
    """The required terms by which a pod draws others to it."""
    return (term for term in pod.pod_affinity if not term.by_itself)


def allowed_by_spread(rule: SpreadRule, counters: Sequence[Counter], counts: Sequence[Ints]) -> Mask:
    """The nodes on which one spread constraint lets a pod."""
    here = counts[rule.counter]
    lowest = 0 if rule.too_few else int(here[rule.domains].min())
    fine: Mask = here[counters[rule.counter].of] + rule.itself - lowest <= rule.max_skew
    return fine


def allowed(rules: Rules, counters: Sequence[Counter], counts: Sequence[Ints]) -> Mask | None:
    """
    The nodes on which a pod's rules about others let it, apart from labels that they lack; None is all of them.
    `counts` are the counters' present numbers.
    """
    mask: Mask | None = None
    for rule in rules.spread:
        fine = allowed_by_spread(rule, counters, counts)
        mask = fine if mask is None else mask & fine
    if rules.affinity:
        if any(counts[i].any() for i in rules.affinity):
            for i in rules.affinity:
                fine = counts[i][counters[i].of] > 0
                mask = fine if mask is None else mask & fine
        elif not rules.first_may_start:
            return np.zeros(len(counters[rules.affinity[0]].of), dtype=np.bool_)
    for i in rules.beside:
        if counts[i].any():
            fine = counts[i][counters[i].of] > 0
            mask = fine if mask is None else mask & fine
    for i in rules.anti:
        if counts[i].any():
            of = counters[i].of
            fine = (of < 0) | (counts[i][of] == 0)
            mask = fine if mask is None else mask & fine
    return mask

"""
Whose labels matter: the selectors of a fleet that look at pods.

Pods of different apps have different labels, and hardly any rule looks at them. Where none does, two pods of one shape are the
same to a scheduler; then their labels are left out, so that gangs of equal shape are equal and are judged once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.model.podrules import LabelPairs, Selector, SpreadConstraint, alike, in_namespace, varies
from gitplacer.model.workload import Gang, PodSet, PodShape


class Onlookers:
    """The selectors of spread constraints, pod affinity and anti-affinity, of gangs and of what runs."""

    def __init__(self, gangs: Iterable[Gang], snapshots: Iterable[CapacitySnapshot]) -> None:
        shapes: set[PodShape] = set()
        found: set[Selector] = set()
        for pods in (pods for gang in gangs for pods in gang if pods.shape.looks_at_pods):
            shapes.add(pods.shape)
            found.update(_selectors(pods))
        listed = (pods for s in snapshots for pods in NodeColumns.of(s.nodes).pods.values())
        found |= {term.selector for pods in listed for pod in pods for term in pod.terms()}
        self._keys = {key for selector in found for key in selector.keys}
        self._keys.update(key for shape in shapes for rule in shape.rules for key in rule.keys)
        """The labels that some rule names."""
        self._by_label: dict[tuple[str, str], list[Selector]] = defaultdict(list)
        self._others: list[Selector] = []
        for selector in found:
            self._file(selector)
        self._everyone = any(selector.matches({}) for selector in found)
        self._any = bool(found)

    def _file(self, selector: Selector) -> None:
        """Under the labels of which a pod must have one for the selector to match."""
        for requirement in selector.requirements or ():
            if requirement.operator == "In":
                for value in requirement.values:
                    self._by_label[requirement.key, value].append(selector)
                return
        self._others.append(selector)

    def seen(self, gang: Gang, namespace: str) -> Gang:
        """A gang whose pods have a namespace and labels where a rule may look at them, and neither where none does."""
        return tuple(self._seen(pods, namespace) for pods in gang)

    def _seen(self, pods: PodSet, namespace: str) -> PodSet:
        if self._any and (self._everyone or pods.shape.looks_at_pods or self._sees(pods.labels)):
            return replace(pods, namespace=namespace, labels=in_namespace(alike(pods.labels, self._keys), namespace))
        return replace(pods, namespace="", labels=()) if pods.labels or pods.namespace else pods

    def _sees(self, labels: LabelPairs) -> bool:
        own = dict(labels)
        if any(key in self._keys and varies(value) for key, value in labels):
            return True  # a rule may be about some of them, whatever it says of the others
        filed = (selector for pair in labels for selector in self._by_label.get(pair, ()))
        return any(selector.matches(own) for selector in filed) or any(s.matches(own) for s in self._others)


def _selectors(pods: PodSet) -> Iterator[Selector]:
    for rule in pods.shape.rules:
        if isinstance(rule, SpreadConstraint):
            yield rule.of(pods.labels).selector
            continue
        # Whom `mismatchLabelKeys` leave out is not known before namespaces are: a cluster of the same name elsewhere is another.
        told = replace(rule, mismatch_keys=()) if rule.mismatch_keys else rule
        yield told.of("", pods.labels).selector

"""
What workload objects refer to among each other: by name, by a Service that KubeRay makes, or by labels of pods or Services.

Objects are told by their places in a list of all. A large fleet asks this of every object, so they are found by what they are called
and by their labels. Thousands of selectors may each match thousands of objects, so what they match is a mask: a number that has one bit for
each object of the namespace that has pods, or Services.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import LabelPairs, filed_under, filings, may_be_one, varies
from gitplacer.model.workload import Identity
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import LabelSelector, Reference

RAY_KINDS = ("RayCluster", "RayService", "RayJob")
"""What others refer to comes first."""
_FEW = 64
"""Masks of fewer objects are made again each time: there may be as many of them as objects, each as long as all are many."""


class Links:
    """
    `sized_in` are the places of the objects that have pods, by namespace, in the order of the bits of masks; `serving_in` are those of the objects that are
    Services, or of which some are made.
    """

    def __init__(self, objects: Sequence[SourceObject]) -> None:
        self._objects = objects
        self._by_identity = {
            **{_made(item, made): index for index, item in enumerate(objects) for made in item.facts.provides},
            **{item.identity: index for index, item in enumerate(objects)},
        }
        self.sized_in: dict[str, list[int]] = defaultdict(list)
        self.serving_in: dict[str, list[int]] = defaultdict(list)
        for index, item in enumerate(objects):
            if item.facts.sized:
                self.sized_in[item.identity.namespace].append(index)
            if item.facts.services:
                self.serving_in[item.identity.namespace].append(index)
        self._pods = _Shelf(self.sized_in, lambda index: [pods.labels for pods in objects[index].facts.pods])
        self._services = _Shelf(self.serving_in, lambda index: objects[index].facts.services)

    def order(self, key: Callable[[int], tuple[int, int]]) -> None:
        """Order the objects of each namespace by `key`, and the bits of masks with them."""
        for indexes in self.sized_in.values():
            indexes.sort(key=key)
        self._pods.clear()

    def targets(self, index: int, references: Iterable[Reference]) -> list[int]:
        """The objects that some references of an object are to, as far as they are in its namespace."""
        namespace = self._objects[index].identity.namespace
        found = []
        for reference in references:
            if reference.namespace in ("", namespace) and not reference.cluster_scoped:
                identity = Identity(reference.api_group, reference.kind, namespace, reference.name)
                if (target := self._by_identity.get(identity)) is not None:
                    found.append(target)
                elif reference.kind == "Service" and not reference.api_group:
                    found += self._ray_behind(namespace, reference.name)
        return found

    def _ray_behind(self, namespace: str, service: str) -> list[int]:
        """The Ray object for which KubeRay makes a Service of this name (<name>-head-svc, <name>-serve-svc)."""
        for suffix in ("-head-svc", "-serve-svc"):
            for kind in RAY_KINDS if service.endswith(suffix) else ():
                identity = Identity("ray.io", kind, namespace, service.removesuffix(suffix))
                if identity in self._by_identity:
                    return [self._by_identity[identity]]
        return []

    def selected(self, index: int) -> int:
        """The mask of the sized objects some of whose pods an object selects; none where it looks beyond its namespace."""
        return self._matched(index, self._objects[index].facts.selects, self._pods)

    def picked(self, index: int) -> int:
        """The same of the objects in `serving_in` some of whose Services it picks."""
        return self._matched(index, self._objects[index].facts.picks, self._services)

    def _matched(self, index: int, selectors: Iterable[LabelSelector], shelf: _Shelf) -> int:
        item = self._objects[index]
        if any(name != item.identity.namespace for name in item.facts.looks_at):
            return 0
        found = 0
        for selector in selectors:
            found |= shelf.matched(item.identity.namespace, selector)
        return found


class _Shelf:
    """The objects of namespaces, at their places, by the labels of what each of them has: its pods, or its Services."""

    def __init__(self, places: Mapping[str, Sequence[int]], labels: Callable[[int], Sequence[LabelPairs]]) -> None:
        self._places, self._labels = places, labels
        self._labelled: dict[str, list[_Labelled]] = {}
        self._matching: dict[tuple[str, LabelSelector], int] = {}

    def clear(self) -> None:
        """The order of places is another."""
        self._labelled.clear()
        self._matching.clear()

    def matched(self, namespace: str, selector: LabelSelector) -> int:
        """The mask of the objects of a namespace of which a selector matches something."""
        key = (namespace, selector)
        if key not in self._matching:
            self._matching[key] = self._found(*key)
        return self._matching[key]

    def _found(self, namespace: str, selector: LabelSelector) -> int:
        if namespace not in self._labelled:
            self._labelled[namespace] = self._by_labels(namespace)
        found = 0
        for labelled in self._labelled[namespace]:
            matched = labelled.every
            for requirement in selector:
                matched &= labelled.meeting(requirement)
            found |= matched
        return found

    def _by_labels(self, namespace: str) -> list[_Labelled]:
        """The first pod or Service that each object has, the second …, since one has to match all of a selector."""
        found: list[_Labelled] = []
        for bit, index in enumerate(self._places.get(namespace, ())):
            for place, labels in enumerate(self._labels(index)):
                if place == len(found):
                    found.append(_Labelled())
                found[place].add(bit, labels)
        return found


class _Labelled:
    """Objects by the labels of one of their pods or Services each."""

    def __init__(self) -> None:
        self._every: list[int] = []
        self._having: dict[str | tuple[str, str], list[int]] = defaultdict(list)
        self._varying: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._known: dict[str | tuple[str, str], int] = {}

    def add(self, bit: int, labels: Iterable[tuple[str, str]]) -> None:
        """Add the next object."""
        self._every.append(bit)
        for label in labels:
            self._having[label].append(bit)
            self._having[label[0]].append(bit)
            if varies(label[1]):
                self._varying[label[0], filed_under(label[1])].add(label[1])

    @cached_property
    def every(self) -> int:
        return mask_of(self._every)

    def meeting(self, requirement: Requirement) -> int:
        """The mask of those that meet a requirement of a label selector, or of which one pod may (`podrules.may_match`)."""
        match requirement.operator:
            case "In":
                return self._valued(requirement) | self._perhaps_valued(requirement)
            case "NotIn":
                return self.every & ~self._valued(requirement)
            case "Exists":
                return self._mask(requirement.key)
            case "DoesNotExist":
                return self.every & ~self._mask(requirement.key)
        raise ValueError(f"unknown operator {requirement.operator}")

    def _valued(self, requirement: Requirement) -> int:
        found = 0
        for value in requirement.values:
            found |= self._mask((requirement.key, value))
        return found

    def _perhaps_valued(self, requirement: Requirement) -> int:
        found = 0
        filed = {filing for value in requirement.values for filing in filings(value)}
        for value in sorted({v for filing in filed for v in self._varying.get((requirement.key, filing), ())}):
            if may_be_one(value, requirement.values):
                found |= self._mask((requirement.key, value))
        return found

    def _mask(self, label: str | tuple[str, str]) -> int:
        having = self._having.get(label, ())
        if len(having) < _FEW:
            return mask_of(having)
        if label not in self._known:
            self._known[label] = mask_of(having)
        return self._known[label]


def mask_of(bits: Sequence[int]) -> int:
    """The mask of some bits, in ascending order."""
    if len(bits) < 2:
        return 1 << bits[0] if bits else 0
    found = bytearray(bits[-1] // 8 + 1)
    for bit in bits:
        found[bit // 8] |= 1 << bit % 8
    return int.from_bytes(found, "little")


def bits_of(mask: int) -> Iterator[int]:
    """The bits of a mask, in ascending order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _made(item: SourceObject, made: Reference) -> Identity:
    """Who the object is that something in a cluster makes of this one."""
    return Identity(made.api_group, made.kind, item.identity.namespace, made.name)

"""
What workload objects refer to among each other: by name, by a Service that KubeRay makes, or by labels of pods.

Objects are told by their places in a list of all. A large fleet asks this of every object, so they are found by what they are called
and, where a selector names one, by a label and its value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitplacer.model.podrules import COUNTED, may_match
from gitplacer.model.workload import Identity
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import LabelSelector, Reference

RAY_KINDS = ("RayCluster", "RayService", "RayJob")
"""What others refer to comes first."""


class Links:
    """`sized_in` are the places of the objects that have pods, by namespace."""

    def __init__(self, objects: Sequence[SourceObject]) -> None:
        self._objects = objects
        self._by_identity = {
            **{_made(item, made): index for index, item in enumerate(objects) for made in item.facts.provides},
            **{item.identity: index for index, item in enumerate(objects)},
        }
        self.sized_in: dict[str, list[int]] = defaultdict(list)
        for index, item in enumerate(objects):
            if item.facts.sized:
                self.sized_in[item.identity.namespace].append(index)
        self._selected: dict[tuple[str, tuple[LabelSelector, ...]], Sequence[int]] = {}
        """What was found for selectors in a namespace: many may have the same."""
        self._pod_labels: dict[int, Sequence[Mapping[str, str]]] = {}
        self._labelled: dict[tuple[str, str, str], set[int]] = defaultdict(set)
        for namespace, indexes in self.sized_in.items():
            for index in indexes:
                for pods in objects[index].facts.pods:
                    for key, value in pods.labels:
                        self._labelled[namespace, key, value].add(index)

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

    def selected(self, index: int) -> Sequence[int]:
        """The sized objects some of whose pods an object selects."""
        item = self._objects[index]
        namespace = item.identity.namespace
        key = namespace, item.facts.selects
        if key not in self._selected:
            self._selected[key] = list(self._selected_by(*key))
        return self._selected[key]

    def _labels_of(self, index: int) -> Sequence[Mapping[str, str]]:
        """Those of the pods of an object."""
        if index not in self._pod_labels:
            self._pod_labels[index] = [dict(pods.labels) for pods in self._objects[index].facts.pods]
        return self._pod_labels[index]

    def _selected_by(self, namespace: str, selectors: Iterable[LabelSelector]) -> Iterator[int]:
        for selector in selectors:
            exact = next((r for r in selector if r.operator == "In" and len(r.values) == 1), None)
            possible = self.sized_in[namespace]
            if exact is not None:
                values = (exact.values[0], *COUNTED)
                possible = sorted({t for v in values for t in self._labelled.get((namespace, exact.key, v), ())})
            for target in possible:
                if any(may_match(selector, labels) for labels in self._labels_of(target)):
                    yield target


def _made(item: SourceObject, made: Reference) -> Identity:
    """Who the object is that something in a cluster makes of this one."""
    return Identity(made.api_group, made.kind, item.identity.namespace, made.name)

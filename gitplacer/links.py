"""
What workload objects refer to among each other: by name, by a Service that KubeRay makes, or by labels of pods.

Objects are told by their places in a list of all. A large fleet asks this of every object, so they are found by what they are called
and, where a selector names one, by a label and its value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gitplacer.model.workload import Identity
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import Reference

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

    def selected(self, index: int) -> list[int]:
        """The sized objects some of whose pods an object selects."""
        item = self._objects[index]
        namespace = item.identity.namespace
        found = []
        for selector in item.facts.selects:
            exact = next((r for r in selector if r.operator == "In" and len(r.values) == 1), None)
            possible = self.sized_in[namespace]
            if exact is not None:
                possible = sorted(self._labelled.get((namespace, exact.key, exact.values[0]), ()))
            found += [
                target
                for target in possible
                if any(all(r.matches(dict(p.labels)) for r in selector) for p in self._objects[target].facts.pods)
            ]
        return found


def _made(item: SourceObject, made: Reference) -> Identity:
    """Who the object is that something in a cluster makes of this one."""
    return Identity(made.api_group, made.kind, item.identity.namespace, made.name)

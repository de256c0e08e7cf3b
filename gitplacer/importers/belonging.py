"""
What is nothing without an app: the ConfigMap that it mounts, the Service that selects its pods, the autoscaler that points at it.

Such a manifest goes where its app goes. This is for imports, which have to know it before there is a source that could be grouped; what
is not sure here is decided there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gitplacer.model.labels import Requirement

if TYPE_CHECKING:
    from gitplacer.importers.shelves import Thing


_ByLabel = defaultdict[tuple[str, str, str], list[Mapping[str, str]]]
"""Labels of pods or Services, by namespace and each label."""


class Apps:
    """Some apps, by what they need and by the labels of their pods and of the Services that are made of them."""

    def __init__(self, apps: Iterable[Thing]) -> None:
        self._known: set[tuple[str, str, str, str]] = set()
        self._pods: _ByLabel = defaultdict(list)
        self._services: _ByLabel = defaultdict(list)
        for app in apps:
            space = app.namespace
            self._known.add((app.group, app.kind, space, app.name))
            self._known.update((one.api_group, one.kind, space, one.name) for one in app.facts.needs)
            for pods in app.facts.pods:
                _file(self._pods, space, dict(pods.labels))
            for labels in app.facts.services:
                _file(self._services, space, dict(labels))

    def have(self, thing: Thing) -> bool:
        """Whether one of them needs it, or whether it selects pods of one, picks a Service of one or points at one."""
        space = thing.namespace
        return (
            thing.identity in self._known
            or any((one.api_group, one.kind, space, one.name) in self._known for one in thing.facts.points_at)
            or any(_matches(selector, space, self._pods) for selector in thing.facts.selects)
            or any(_matches(selector, space, self._services) for selector in thing.facts.picks)
        )


def _file(those: _ByLabel, namespace: str, labels: Mapping[str, str]) -> None:
    for key, value in labels.items():
        those[namespace, key, value].append(labels)


def _matches(selector: tuple[Requirement, ...], namespace: str, those: _ByLabel) -> bool:
    exact = next((one for one in selector if one.operator == "In" and len(one.values) == 1), None)
    if exact is None:
        return False
    possible = those.get((namespace, exact.key, exact.values[0]), ())
    return any(all(one.matches(labels) for one in selector) for labels in possible)

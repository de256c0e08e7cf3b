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


class Apps:
    """Some apps, by what they need and by the labels of their pods."""

    def __init__(self, apps: Iterable[Thing]) -> None:
        self._known: set[tuple[str, str, str, str]] = set()
        self._pods: dict[tuple[str, str, str], list[Mapping[str, str]]] = defaultdict(list)
        for app in apps:
            space = app.namespace
            self._known.add((app.group, app.kind, space, app.name))
            self._known.update((one.api_group, one.kind, space, one.name) for one in app.facts.needs)
            for pods in app.facts.pods:
                labels = dict(pods.labels)
                for key, value in labels.items():
                    self._pods[space, key, value].append(labels)

    def have(self, thing: Thing) -> bool:
        """Whether one of them needs it, or whether it selects pods of one or points at one."""
        space = thing.namespace
        return (
            thing.identity in self._known
            or any((one.api_group, one.kind, space, one.name) in self._known for one in thing.facts.points_at)
            or any(self._selected(space, tuple(selector)) for selector in thing.facts.selects)
        )

    def _selected(self, namespace: str, selector: tuple[Requirement, ...]) -> bool:
        exact = next((one for one in selector if one.operator == "In" and len(one.values) == 1), None)
        if exact is None:
            return False
        possible = self._pods.get((namespace, exact.key, exact.values[0]), ())
        return any(all(one.matches(labels) for one in selector) for labels in possible)

"""
Which of many selections may select an object, told from one condition of each that asks for something exact.

A fleet may have a policy for each team or each app, and nearly all of them are about other objects than a given one. So each is written down under
the one of its conditions that the fewest others share: a namespace, a name, a kind, a label, a folder. `selection.selects` is the rule, and says yes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from gitplacer import pathglob
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.policies.selection import NamespaceLabels
from gitplacer.source.manifests import SourceObject
from gitplacer.source.territory import folders_of

Thing = TypeVar("Thing")
_Key = tuple[str, ...]
"""A field, and a value that it asks for."""
_FEW = 8
"""So many are asked one by one: it takes no longer."""


class Shortlist(Generic[Thing]):
    """Some things with their selections, in order."""

    def __init__(self, things: Iterable[tuple[ObjectSelector, Thing]], namespace_labels: NamespaceLabels) -> None:
        selections, self._things = list[ObjectSelector](), list[Thing]()
        for select, thing in things:
            selections.append(select)
            self._things.append(thing)
        self._namespace_labels = namespace_labels
        self._anywhere: list[int] = []
        self._by_key: dict[_Key, list[int]] = defaultdict(list)
        conditions = [list(_exact(select)) for select in selections]
        shared = Counter(key for of_one in conditions for keys in of_one for key in keys)
        for place, of_one in enumerate(conditions):
            rarest = min(of_one, key=lambda keys: sum(shared[key] for key in keys), default=None)
            if rarest is None:
                self._anywhere.append(place)
            for key in rarest or ():
                self._by_key[key].append(place)

    def of(self, item: SourceObject) -> Sequence[Thing]:
        """Those whose selection may select an object, in order; the others surely do not."""
        if len(self._things) <= _FEW:
            return self._things
        places = set(self._anywhere).union(*(self._by_key.get(key, ()) for key in self._keys(item)))
        return [self._things[place] for place in sorted(places)]

    def _keys(self, item: SourceObject) -> Iterator[_Key]:
        namespace = item.identity.namespace
        yield "kind", item.identity.kind
        yield "name", item.identity.name
        yield "namespace", namespace
        yield from (("label", *pair) for pair in item.labels.items())
        if namespace:
            yield from (("namespace label", *pair) for pair in self._namespace_labels(namespace).items())
        yield from (("path", place) for place in (item.path, *folders_of(item.path)))


def _exact(select: ObjectSelector) -> Iterator[set[_Key]]:
    """The conditions of a selection that ask for one of some values: each of them holds for what is selected."""
    for field, patterns in (("kind", select.kinds), ("name", select.names), ("namespace", select.namespaces)):
        if patterns is not None and all(map(pathglob.is_plain, patterns)):
            yield {(field, pattern) for pattern in patterns}
    if select.paths is not None:
        places = {_place(pattern) for pattern in select.paths}
        if all(places):
            yield {("path", place) for place in places}
    for field, selector in (("label", select.label_selector), ("namespace label", select.namespace_selector)):
        for requirement in selector.requirements():
            if requirement.operator == "In":
                yield {(field, requirement.key, value) for value in requirement.values}


def _place(pattern: str) -> str:
    """The file that a pattern of paths means, or the folder, with a slash, in which all is that it matches; '' where that may be anywhere."""
    return pattern if pathglob.beginning(pattern) == pattern else pathglob.fixed_folder(pattern)

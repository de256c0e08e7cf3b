"""
Which of many selections may select an object, told from one condition of each that asks for something certain.

A fleet may have a policy for each team or each app, and nearly all of them are about other objects than a given one. So each is written down under
the one of its conditions that the fewest others share: a kind, a name, a namespace or a path, or a part of one that a pattern wants; or a label.
`selection.selects` is the rule, and says yes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from gitplacer.globparts import KnownParts, Part, of_name, of_path
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.model.labels import Labels
from gitplacer.policies.selection import NamespaceLabels
from gitplacer.source.manifests import SourceObject

Thing = TypeVar("Thing")
_Key = tuple[str, Part | tuple[str, ...]]
"""A field, and what it is to have: a part of a text, or a label."""
_FEW = 4
"""So many are asked one by one: it takes no longer."""
_TEXTS = ("kind", "name", "namespace", "path")
"""Fields that patterns are held against."""


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
        self._known: dict[str, KnownParts] = {}
        if len(self._things) > _FEW:
            self._write_down(selections)

    def of(self, item: SourceObject) -> Sequence[Thing]:
        """Those whose selection may select an object, in order; the others surely do not."""
        if len(self._things) <= _FEW:
            return self._things
        places = set(self._anywhere).union(*(self._by_key.get(key, ()) for key in self._keys(item)))
        return [self._things[place] for place in sorted(places)]

    def _write_down(self, selections: Sequence[ObjectSelector]) -> None:
        conditions = [list(_certain(select)) for select in selections]
        shared = Counter(key for of_one in conditions for options in of_one for keys in options for key in keys)
        parts: dict[str, set[Part]] = {field: set() for field in _TEXTS}
        for place, of_one in enumerate(conditions):
            rarest = [{min(keys, key=shared.__getitem__) for keys in options} for options in of_one]
            if not rarest:
                self._anywhere.append(place)
            for key in min(rarest, key=lambda keys: sum(shared[key] for key in keys), default=()):
                self._by_key[key].append(place)
                field, wanted = key
                if isinstance(wanted, Part):
                    parts[field].add(wanted)
        self._known = {field: KnownParts(some) for field, some in parts.items() if some}

    def _keys(self, item: SourceObject) -> Iterator[_Key]:
        identity = item.identity
        for field, text in zip(_TEXTS, (identity.kind, identity.name, identity.namespace, item.path), strict=True):
            if field in self._known:
                yield from ((field, part) for part in self._known[field].of(text))
        yield from (("label", some) for some in _of_labels(item.labels))
        if identity.namespace:
            yield from (("namespace label", some) for some in _of_labels(self._namespace_labels(identity.namespace)))


def _of_labels(labels: Labels) -> Iterator[tuple[str, ...]]:
    """What a selector may ask for that such labels meet: some key, or a key with its value."""
    for key, value in labels.items():
        yield (key,)
        yield key, value


def _certain(select: ObjectSelector) -> Iterator[list[list[_Key]]]:
    """
    The conditions of a selection that ask for something certain, each as its options: all that is selected has, of one option at least, every key.
    """
    for field, patterns, parts in (
        ("kind", select.kinds, of_name),
        ("name", select.names, of_name),
        ("namespace", select.namespaces, of_name),
        ("path", select.paths, of_path),
    ):
        if patterns is not None:
            options: list[list[_Key]] = [[(field, part) for part in parts(pattern)] for pattern in patterns]
            if all(options):
                yield options
    for field, selector in (("label", select.label_selector), ("namespace label", select.namespace_selector)):
        for requirement in selector.requirements():
            if requirement.operator == "In":
                yield [[(field, (requirement.key, value))] for value in requirement.values]
            elif requirement.operator == "Exists":
                yield [[(field, (requirement.key,))]]

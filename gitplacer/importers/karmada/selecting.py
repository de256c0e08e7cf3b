"""
Karmada's `resourceSelectors`: which objects a policy takes, and how precisely.

Of several policies that take one object the namespaced ones come first; then the higher priority, then the one that takes it by name before
the one that takes it by label before the one that takes all of a kind, then the name that is first in the alphabet.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import read_selector, selector_of, written
from gitplacer.importers.shelves import Thing
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.model.labels import Requirement
from gitplacer.model.workload import api_group
from gitplacer.source.apigroups import is_cluster_scoped

BY_NAME, BY_LABEL, BY_KIND = 3, 2, 1
"""How precisely an object is taken: Karmada's implicit priority."""
_WILD = frozenset("*?[]!")


class Selection(Struct, frozen=True):
    """Objects that are taken alike. `kinds` are with their apiVersion; no names and no labels take all; no namespace takes every one."""

    kinds: tuple[tuple[str, str], ...]
    namespace: str = ""
    names: tuple[str, ...] = ()
    labels: tuple[Requirement, ...] = ()
    by_label: bool = False

    @property
    def precision(self) -> int:
        return BY_NAME if self.names else BY_LABEL if self.by_label else BY_KIND

    def takes(self, thing: Thing) -> bool:
        """As Karmada decides it."""
        if self.kinds and (thing.document.parsed.says[0], thing.kind) not in self.kinds:
            return False
        if self.namespace and thing.namespace != self.namespace:
            return False
        if self.names:
            return thing.name in self.names
        return all(one.matches(thing.labels) for one in self.labels)

    def select(self) -> dict[str, Any]:
        """The `select` of our policy."""
        kinds = list(dict.fromkeys(kind for _, kind in self.kinds))
        return {
            **({"namespaces": [self.namespace]} if self.namespace else {}),
            **({"labelSelector": written(selector_of(self.labels))} if self.labels and not self.names else {}),
            **({"kinds": kinds} if kinds else {}),
            **({"names": list(self.names)} if self.names else {}),
        }


class KnownThings:
    """Manifests, of which selections take some; found by kind, name and namespace."""

    def __init__(self, things: Sequence[Thing]) -> None:
        self._things = things
        self._found: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for index, thing in enumerate(things):
            kind = (thing.document.parsed.says[0], thing.kind)
            for key in {*itertools.product((kind,), (thing.name, ""), (thing.namespace, ""))}:
                self._found[key].append(index)

    def taken(self, selection: Selection) -> list[Thing]:
        """Those that a selection takes, in their order."""
        keys = itertools.product(selection.kinds, selection.names or ("",), (selection.namespace,))
        some = {index for key in keys for index in self._found.get(key, ())}
        possible = sorted(some) if selection.kinds else range(len(self._things))
        return [self._things[index] for index in possible if selection.takes(self._things[index])]


def read_selections(spec: Reader, namespace: str, notes: Notes) -> list[Selection]:
    """The selectors of a policy, one by one. `namespace` is the policy's own, '' for one of the cluster."""
    return [one for item in spec.items("resourceSelectors") if (one := _selection(item, namespace, notes)) is not None]


def _selection(reader: Reader, namespace: str, notes: Notes) -> Selection | None:
    version, kind = reader.text("apiVersion"), reader.text("kind")
    own, name = reader.text("namespace"), reader.text("name")
    for field, said in (("apiVersion", version), ("kind", kind)):
        if not said:
            reader.report("MissingField", f'"{field}" is missing', "say which kind of object is meant")
    for field, said in (("kind", kind), ("namespace", own), ("name", name)):
        if _WILD & {*said}:
            reader.report("InvalidValue", f"{said} is no {field}", "write one, without wildcards", key=field)
            return None
    elsewhere = bool(namespace and own and own != namespace)
    if elsewhere or (namespace and is_cluster_scoped(api_group(version), kind)):
        whose, todo = (f"object of {own}", "in that namespace") if elsewhere else (kind, "of the cluster")
        what = f"a PropagationPolicy and an OverridePolicy take objects of their own namespace, so this one takes no {whose}"
        notes.about(Outcome.NO_EQUAL, reader, "namespace" if elsewhere else "kind", what, f"write a policy {todo}")
        if reader.has("labelSelector"):
            read_selector(reader.mapping("labelSelector"))
        return None
    labels: tuple[Requirement, ...] = ()
    by_label = reader.has("labelSelector")
    if by_label:
        labels = read_selector(reader.mapping("labelSelector")).requirements()
        if name:
            notes.about(Outcome.LEFT_OUT, reader, "labelSelector", "where a name is given Karmada does not look at it")
    if not (version and kind):
        return None
    found = Selection(((version, kind),), own or namespace, (name,) if name else (), () if name else labels, by_label)
    try:
        ObjectSelector.model_validate(found.select(), by_alias=True)
    except ValueError:
        reader.report(
            "InvalidValue",
            "what it names cannot be the kind, namespace or name of an object",
            "write it as `kubectl get` prints it",
        )
        return None
    return found


def merged(selections: Iterable[Selection]) -> list[Selection]:
    """The same, as few as possible: those that differ in nothing but the kind are one, then those that differ in nothing but the name."""
    by_rest: dict[Selection, list[Selection]] = {}
    for one in dict.fromkeys(selections):
        by_rest.setdefault(replace(one, kinds=()), []).append(one)
    kinds = [
        replace(rest, kinds=tuple(dict.fromkeys(kind for one in found for kind in one.kinds)))
        for rest, found in by_rest.items()
    ]
    by_kinds: dict[tuple[bool, Selection], list[Selection]] = {}
    for one in kinds:
        by_kinds.setdefault((bool(one.names), replace(one, names=())), []).append(one)
    return [
        replace(found[0], names=tuple(dict.fromkeys(name for one in found for name in one.names)))
        for found in by_kinds.values()
    ]

"""
Policies on their way to a file, and which of them places which manifest.

Nova's selection is asked here, not ours: a policy takes what has no namespace whatever its namespaceSelector says. Of several the strongest
counts, in the order that their precedences will have.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from gitplacer.importers.nova.policies import SchedulePolicy
from gitplacer.importers.nova.vocabulary import names_in
from gitplacer.importers.shelves import Rule, Thing
from gitplacer.importers.writing import own_file
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.model.labels import NAME_KEY, Labels, Requirement

_ANYWHERE = ""
"""Stands for every namespace."""


class Made(Struct, frozen=True):
    """A policy of ours: its spec without `precedence`, what it was made of, and what it selects in Nova's sense."""

    name: str
    spec: dict[str, Any]
    origin: SchedulePolicy | None
    alternative: tuple[Requirement, ...] = ()
    pinned: Thing | None = None

    @property
    def select(self) -> ObjectSelector:
        return ObjectSelector.model_validate(self.spec["select"], by_alias=True)

    def file(self, precedence: int = 0) -> bytes:
        """The file of the PlacementPolicy."""
        document = self.origin.document if self.origin is not None else self.pinned.document if self.pinned else None
        what = f"SchedulePolicy {self.origin.name}" if self.origin is not None else "annotation"
        where = f" at {document.locate()}" if document is not None else ""
        first = {"select": self.spec["select"], **({"precedence": precedence} if precedence else {})}
        comments = (f"Imported from the {what}{where}.",)
        more = (
            {}
            if self.origin is None
            else {"labels": self.origin.metadata.labels, "annotations": self.origin.metadata.annotations}
        )
        return own_file("PlacementPolicy", self.name, {**first, **self.spec}, comments=comments, **more)

    @property
    def rule(self) -> Rule:
        copied = self.spec.get("placement", {}).get("copies") == "All"
        return Rule(self.name, copied or (self.pinned is not None and not self.pinned.sized))

    @property
    def named_namespaces(self) -> tuple[str, ...]:
        """The namespaces that it can select at all; none where its selector does not name them."""
        return names_in(self.origin.namespaces) or () if self.origin is not None else ()

    @property
    def asked(self) -> tuple[tuple[str, str], ...]:
        """Labels of which it asks for one; none where it asks for no label with its value."""
        first = next((one for one in self.alternative if one.operator == "In"), None)
        return tuple((first.key, value) for value in first.values) if first is not None else ()

    @property
    def spreads(self) -> bool:
        return self.origin is not None and self.origin.spread is not None

    def asks_alike(self, other: Made) -> bool:
        """Whether both ask for a label of the same key, or one of them for none."""
        mine, theirs = ({one.key for one in each.alternative} for each in (self, other))
        return not mine or not theirs or bool(mine & theirs)

    def takes(self, thing: Thing, namespace_labels: Labels) -> bool:
        """Whether Nova would place the thing by it: what has no namespace is taken whatever the namespaceSelector says."""
        if self.origin is None:
            return self.pinned is thing
        if thing.namespace and not all(one.matches(namespace_labels) for one in self.origin.namespaces):
            return False
        return all(one.matches(thing.labels) for one in self.alternative)


def by_strength(made: Sequence[Made]) -> list[Made]:
    """The weakest first: those of every namespace before those of some, then by number of conditions, then in order of their files."""

    def strength(one: Made) -> tuple[bool, int]:
        assert one.origin is not None
        return bool(one.origin.namespaces), len(one.alternative)

    return sorted(made, key=strength)


class Governed:
    """
    Which policy places which manifest: the strongest of those that take it. Policies are found by namespace and by one label that they ask for, so
    that thousands of them are not asked one by one.
    """

    def __init__(self, by_strength: Sequence[Made], things: Sequence[Thing]) -> None:
        self._labels: dict[str, Labels] = {
            thing.name: {**thing.labels, NAME_KEY: thing.name} for thing in things if thing.is_namespace
        }
        self._pinned = {id(one.pinned): one for one in by_strength if one.pinned is not None}
        of_nova = [(rank, one) for rank, one in enumerate(reversed(by_strength)) if one.origin is not None]
        self._found: dict[tuple[str | None, tuple[str, str] | None], list[tuple[int, Made]]] = defaultdict(list)
        for rank, one in of_nova:
            for label in one.asked or (None,):
                for space in (*(one.named_namespaces or (_ANYWHERE,)), None):
                    self._found[space, label].append((rank, one))

    def of(self, thing: Thing) -> Made | None:
        if id(thing) in self._pinned:
            return self._pinned[id(thing)]
        labels = self._labels.get(thing.namespace, {NAME_KEY: thing.namespace})
        spaces = (thing.namespace, _ANYWHERE) if thing.namespace else (None,)  # what has none may be selected by any
        lists = [
            self._found[space, label]
            for space in spaces
            for label in (*thing.labels.items(), None)
            if (space, label) in self._found
        ]
        possible = heapq.merge(*lists, key=lambda each: each[0])
        return next((one for _, one in possible if one.takes(thing, labels)), None)

    def rule(self, thing: Thing) -> Rule | None:
        found = self.of(thing)
        return found.rule if found is not None else None

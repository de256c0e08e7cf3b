"""The policy that governs each object of a source, among those alone that may select it."""

from __future__ import annotations

from gitplacer.policies.selection import Governed, governing
from gitplacer.policies.shortlist import Shortlist
from gitplacer.source.manifests import SourceObject
from gitplacer.source.reading import Source


class Governing:
    """The governing policy of each object, asked for once."""

    def __init__(self, source: Source) -> None:
        self._own, self._labels, self._tenancy = source.own, source.namespace_labels, source.tenancy
        self._policies = Shortlist(((policy.spec.select, policy) for policy in source.own.policies), self._labels)
        self._known: dict[int, Governed] = {}

    def __call__(self, item: SourceObject) -> Governed:
        if id(item) not in self._known:
            found = governing(item, self._policies.of(item), self._own.broken_policies, self._labels, self._tenancy)
            self._known[id(item)] = found
        return self._known[id(item)]

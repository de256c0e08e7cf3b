"""
Which clusters a selector selects, told from their labels.

Thousands of clusters have the same few values of a label, and hundreds of tenants and policies select by them. So it is written down once who
has which value, and a selector takes from that whom it selects; no cluster is asked by itself. `LabelSelector.unmet` is the rule, and says why not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.selectors import LabelSelector
from gitplacer.model.labels import Requirement

_NONE: frozenset[str] = frozenset()


class Selecting:
    """Some clusters by their labels, own and derived."""

    def __init__(self, clusters: Iterable[Cluster]) -> None:
        having: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        names = []
        for cluster in clusters:
            names.append(cluster.name)
            for key, value in cluster.labels().items():
                having[key][value].add(cluster.name)
        self._all = frozenset(names)
        self._having = {
            key: {value: frozenset(some) for value, some in values.items()} for key, values in having.items()
        }
        self._labelled: dict[str, frozenset[str]] = {}

    def selected(self, selector: LabelSelector) -> frozenset[str]:
        """The names of those that meet all of its conditions."""
        found = self._all
        for requirement in selector.requirements():
            found = self._meeting(found, requirement)
        return found

    def _meeting(self, some: frozenset[str], requirement: Requirement) -> frozenset[str]:
        key, values = requirement.key, requirement.values
        match requirement.operator:
            case "In":
                return some & self._with_one_of(key, values)
            case "NotIn":
                return some - self._with_one_of(key, values)
            case "Exists":
                return some & self._with(key)
            case "DoesNotExist":
                return some - self._with(key)
        raise ValueError(f"clusters are not selected by {requirement.operator}")

    def _with_one_of(self, key: str, values: tuple[str, ...]) -> frozenset[str]:
        having = self._having.get(key, {})
        return _NONE.union(*(having.get(value, _NONE) for value in values))

    def _with(self, key: str) -> frozenset[str]:
        if key not in self._labelled:
            self._labelled[key] = _NONE.union(*self._having.get(key, {}).values())
        return self._labelled[key]

"""
Which OverridePolicies are about a cluster, and which about an object.

There may be one for each object that differs somewhere, so they are looked up by the names that they give, and those alone are held against an object or a
cluster which give its name, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import OverridePolicy
from gitplacer.policies.selection import NamespaceLabels, selects
from gitplacer.source.manifests import SourceObject

_WILDCARDS = frozenset("*?[")


class _ByName:
    """Policies by the names that they ask for, if any; each of them in its place."""

    def __init__(
        self, policies: Sequence[OverridePolicy], names: Callable[[OverridePolicy], Iterable[str] | None]
    ) -> None:
        self._policies = policies
        self._named: dict[str, list[int]] = {}
        self._unnamed: list[int] = []
        for place, policy in enumerate(policies):
            wanted = names(policy)
            if wanted is None:
                self._unnamed.append(place)
            for name in dict.fromkeys(wanted or ()):
                self._named.setdefault(name, []).append(place)

    def may_mean(self, name: str) -> Iterable[OverridePolicy]:
        """Those that ask for a name, or for none, in order."""
        return (self._policies[place] for place in sorted((*self._named.get(name, ()), *self._unnamed)))


class Overrides:
    """The OverridePolicies of a fleet, in the order in which they are applied. Answers are remembered."""

    def __init__(self, policies: Sequence[OverridePolicy], namespace_labels: NamespaceLabels) -> None:
        self._namespace_labels = namespace_labels
        self._by_cluster = _ByName(policies, lambda policy: policy.spec.clusters.names)
        self._by_object = _ByName(policies, _plain_names)
        self._on: dict[str, tuple[OverridePolicy, ...]] = {}
        self._of: dict[int, frozenset[str]] = {}

    def on(self, cluster: Cluster) -> tuple[OverridePolicy, ...]:
        """Those that select a cluster."""
        if cluster.name not in self._on:
            labels, likely = cluster.labels(), self._by_cluster.may_mean(cluster.name)
            self._on[cluster.name] = tuple(policy for policy in likely if policy.spec.clusters.unmet(labels) is None)
        return self._on[cluster.name]

    def of(self, item: SourceObject) -> frozenset[str]:
        """The names of those that select an object, which has to be kept as long as this is."""
        if id(item) not in self._of:
            likely = self._by_object.may_mean(item.identity.name)
            chosen = (p.name for p in likely if selects(p.spec.select, item, self._namespace_labels))
            self._of[id(item)] = frozenset(chosen)
        return self._of[id(item)]


def names_objects(policy: OverridePolicy) -> bool:
    """Whether a policy asks for objects by their names, and not by patterns of these."""
    return _plain_names(policy) is not None


def _plain_names(policy: OverridePolicy) -> tuple[str, ...] | None:
    """The names of objects that a policy asks for; None where it asks for none, or by patterns."""
    names = policy.spec.select.names
    return None if names is None or any(not _WILDCARDS.isdisjoint(name) for name in names) else names

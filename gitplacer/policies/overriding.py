"""
Which OverridePolicies are about a cluster, and which about an object.

There may be one for each object that differs somewhere, so those alone are held against a cluster which give its name, or none, and against an object
which may select it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from gitplacer import pathglob
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import OverridePolicy
from gitplacer.policies.selection import NamespaceLabels, selects
from gitplacer.policies.shortlist import Shortlist
from gitplacer.source.manifests import SourceObject


class _ByCluster:
    """Policies by the names of clusters that they ask for, if any; each of them in its place."""

    def __init__(self, policies: Sequence[OverridePolicy]) -> None:
        self._policies = policies
        self._named: dict[str, list[int]] = {}
        self._unnamed: list[int] = []
        for place, policy in enumerate(policies):
            wanted = policy.spec.clusters.names
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
        self._by_cluster = _ByCluster(policies)
        self._by_object = Shortlist(((policy.spec.select, policy) for policy in policies), namespace_labels)
        self._on: dict[str, Mapping[str, OverridePolicy]] = {}
        self._selecting: dict[int, Mapping[str, OverridePolicy]] = {}

    def on(self, cluster: Cluster) -> Collection[OverridePolicy]:
        """Those that select a cluster."""
        return self._known_on(cluster).values()

    def of(self, item: SourceObject) -> Set[str]:
        """The names of those that select an object, which has to be kept as long as this is."""
        return self._known_of(item).keys()

    def about(self, item: SourceObject, cluster: Cluster) -> Iterator[OverridePolicy]:
        """Those that select both: as many are asked as the object has."""
        there = self._known_on(cluster)
        return (policy for name, policy in self._known_of(item).items() if name in there)

    def _known_on(self, cluster: Cluster) -> Mapping[str, OverridePolicy]:
        if cluster.name not in self._on:
            labels, likely = cluster.labels(), self._by_cluster.may_mean(cluster.name)
            self._on[cluster.name] = {p.name: p for p in likely if p.spec.clusters.unmet(labels) is None}
        return self._on[cluster.name]

    def _known_of(self, item: SourceObject) -> Mapping[str, OverridePolicy]:
        if id(item) not in self._selecting:
            likely, labels = self._by_object.of(item), self._namespace_labels
            self._selecting[id(item)] = {p.name: p for p in likely if selects(p.spec.select, item, labels)}
        return self._selecting[id(item)]


def names_objects(policy: OverridePolicy) -> bool:
    """Whether a policy asks for objects by their names, and not by patterns of these."""
    names = policy.spec.select.names
    return names is not None and all(map(pathglob.is_plain, names))

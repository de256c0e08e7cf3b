"""
What the source brings to clusters that changes what their API servers do to pods, besides the pods themselves.

A LimitRange, a ResourceQuota or a PriorityClass may be deployed beside the apps that meet it, and no snapshot tells of it before it is
there. So it counts where it may come: what is promised room holds when it has come. It goes with its group, and so counts on each
cluster that the group's policy takes; which of them gets it is not waited for, because others are placed at the same time. What counts is
the object as overrides make it there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.selectors import Override
from gitplacer.model.workload import Identity
from gitplacer.policies.allowing import not_liked, not_selected
from gitplacer.profiles import Coming
from gitplacer.source.manifests import SourceObject
from gitplacer.source.reading import Source
from gitplacer.variants import Overridden
from gitplacer.workloads.facts import ObjectFacts
from gitplacer.workloads.limitranges import LimitItem
from gitplacer.workloads.priorityclasses import PriorityClass
from gitplacer.workloads.quotas import Quota


def coming(source: Source, groups: Iterable[Group]) -> Callable[[Cluster], Coming]:
    """What comes to each cluster of a source whose objects are in these groups."""
    rules = _placed(groups)
    overridden = _AsOverridden(source, [item for _, own in rules.values() for item in own])
    known: dict[tuple[object, ...], Coming] = {}

    def on(cluster: Cluster) -> Coming:
        names = tuple(name for name, (policy, _) in rules.items() if _takes(policy, cluster))
        items = [item for name in names for item in rules[name][1]]
        key = names, overridden.sort(items, cluster)
        if key not in known:
            known[key] = _together([(item.identity, overridden.facts(item, cluster)) for item in items])
        return known[key]

    return on


class _AsOverridden:
    """Some objects as overrides make them on clusters. These are many, and what is overridden on most is something else."""

    def __init__(self, source: Source, items: Sequence[SourceObject]) -> None:
        self._overridden = Overridden(source)
        self._items = items
        self._policies = frozenset(name for item in items for name in self._overridden.policies.of(item))
        self._about_some: dict[tuple[str, str], bool] = {}

    def sort(self, items: Iterable[SourceObject], cluster: Cluster) -> tuple[tuple[str, ...], ...]:
        """What of some of the objects clusters have in common where they are the same: by what each is overridden, () where none is."""
        if not self._is_any(cluster):
            return ()
        return tuple(tuple(name for name, _ in self._overridden.by(item, cluster)) for item in items)

    def facts(self, item: SourceObject, cluster: Cluster) -> ObjectFacts:
        return self._overridden.facts(item, cluster) if self._is_any(cluster) else item.facts

    def _is_any(self, cluster: Cluster) -> bool:
        """Whether anything on a cluster overrides any of the objects."""
        named = self._policies and any(p.name in self._policies for p in self._overridden.policies.on(cluster))
        return bool(named) or any(map(self._is_about_some, cluster.spec.overrides))

    def _is_about_some(self, override: Override) -> bool:
        key = override.op, override.path
        if key not in self._about_some:
            self._about_some[key] = any(self._overridden.is_about(item, override) for item in self._items)
        return self._about_some[key]


def _takes(policy: PlacementPolicy, cluster: Cluster) -> bool:
    return not_selected(policy, cluster) is None and not_liked(policy, cluster) is None


def _placed(groups: Iterable[Group]) -> dict[str, tuple[PlacementPolicy, list[SourceObject]]]:
    """What counts of all that is placed, by the policy by which it is."""
    found: dict[str, tuple[PlacementPolicy, list[SourceObject]]] = {}
    for group in groups:
        own = [item for item in group.members if _counts(item)]
        if own and group.policy is not None:
            found.setdefault(group.policy.name, (group.policy, []))[1].extend(own)
    return found


def _counts(item: SourceObject) -> bool:
    facts = item.facts
    return bool(facts.limits) or facts.quota is not None or facts.priority_class is not None


def _together(items: Iterable[tuple[Identity, ObjectFacts]]) -> Coming:
    classes: list[PriorityClass] = []
    limits: dict[str, list[tuple[str, LimitItem]]] = defaultdict(list)
    quotas: dict[str, list[Quota]] = defaultdict(list)
    for identity, facts in items:
        limits[identity.namespace].extend((identity.name, each) for each in facts.limits)
        if facts.quota is not None:
            quotas[identity.namespace].append(facts.quota)
        if facts.priority_class is not None:
            classes.append(facts.priority_class)
    return Coming(
        tuple(classes),
        {namespace: tuple(found) for namespace, found in limits.items() if found},
        {namespace: tuple(found) for namespace, found in quotas.items()},
    )

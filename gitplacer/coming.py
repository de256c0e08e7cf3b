"""
What the source brings to clusters that changes what their API servers do to pods, besides the pods themselves.

A LimitRange, a ResourceQuota or a PriorityClass may be deployed beside the apps that meet it, and no snapshot tells of it before it is
there. So it counts where it may come: what is promised room holds when it has come. The first two go with their group, and so count on each
cluster that the group's policy takes; which of them gets it is not waited for, because others of the namespace are placed at the same time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.policies.allowing import not_liked, not_selected
from gitplacer.profiles import Coming
from gitplacer.source.manifests import SourceObject
from gitplacer.source.reading import Source
from gitplacer.workloads import priorityclasses
from gitplacer.workloads.limitranges import LimitItem
from gitplacer.workloads.priorityclasses import PriorityClass
from gitplacer.workloads.quotas import Quota


def coming(source: Source, groups: Iterable[Group]) -> Callable[[Cluster], Coming]:
    """What comes to each cluster of a source whose objects are in these groups."""
    key = priorityclasses.API_GROUP, priorityclasses.KIND
    classes = tuple(priorityclasses.read(i.document.cursor()) for i in source.objects if i.identity[:2] == key)
    rules = _of_namespaces(groups)
    known: dict[tuple[str, ...], Coming] = {}

    def on(cluster: Cluster) -> Coming:
        names = tuple(name for name, (policy, _) in rules.items() if _takes(policy, cluster))
        if names not in known:
            known[names] = _together(classes, [item for name in names for item in rules[name][1]])
        return known[names]

    return on


def _takes(policy: PlacementPolicy, cluster: Cluster) -> bool:
    return not_selected(policy, cluster) is None and not_liked(policy, cluster) is None


def _of_namespaces(groups: Iterable[Group]) -> dict[str, tuple[PlacementPolicy, list[SourceObject]]]:
    """The LimitRanges and ResourceQuotas that are placed, by the policy by which they are."""
    found: dict[str, tuple[PlacementPolicy, list[SourceObject]]] = {}
    for group in groups:
        own = [item for item in group.members if item.facts.limits or item.facts.quota is not None]
        if own and group.policy is not None:
            found.setdefault(group.policy.name, (group.policy, []))[1].extend(own)
    return found


def _together(classes: tuple[PriorityClass, ...], items: Iterable[SourceObject]) -> Coming:
    limits: dict[str, list[tuple[str, LimitItem]]] = defaultdict(list)
    quotas: dict[str, list[Quota]] = defaultdict(list)
    for item in items:
        namespace, name = item.identity.namespace, item.identity.name
        limits[namespace].extend((name, each) for each in item.facts.limits)
        if item.facts.quota is not None:
            quotas[namespace].append(item.facts.quota)
    return Coming(
        classes,
        {namespace: tuple(found) for namespace, found in limits.items() if found},
        {namespace: tuple(found) for namespace, found in quotas.items()},
    )

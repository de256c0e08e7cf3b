"""
What the source brings to clusters that changes what their API servers do to pods, besides the pods themselves.

A LimitRange or a PriorityClass may be deployed beside the apps that meet it, and no snapshot tells of it before it is there. So it counts
where it may come: what is promised room holds when it has come. A LimitRange goes with its group, and so counts on each cluster that the
group's policy takes; which of them gets it is not waited for, because others of the namespace are placed at the same time.
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


def coming(source: Source, groups: Iterable[Group]) -> Callable[[Cluster], Coming]:
    """What comes to each cluster of a source whose objects are in these groups."""
    key = priorityclasses.API_GROUP, priorityclasses.KIND
    classes = tuple(priorityclasses.read(i.document.cursor()) for i in source.objects if i.identity[:2] == key)
    ranges = _limit_ranges(groups)
    known: dict[tuple[str, ...], Coming] = {}

    def on(cluster: Cluster) -> Coming:
        names = tuple(name for name, (policy, _) in ranges.items() if _takes(policy, cluster))
        if names not in known:
            known[names] = Coming(classes, _by_namespace(item for name in names for item in ranges[name][1]))
        return known[names]

    return on


def _takes(policy: PlacementPolicy, cluster: Cluster) -> bool:
    return not_selected(policy, cluster) is None and not_liked(policy, cluster) is None


def _limit_ranges(groups: Iterable[Group]) -> dict[str, tuple[PlacementPolicy, list[SourceObject]]]:
    """The LimitRanges that are placed, by the policy by which they are."""
    found: dict[str, tuple[PlacementPolicy, list[SourceObject]]] = {}
    for group in groups:
        own = [item for item in group.members if item.facts.limits]
        if own and group.policy is not None:
            found.setdefault(group.policy.name, (group.policy, []))[1].extend(own)
    return found


def _by_namespace(ranges: Iterable[SourceObject]) -> dict[str, tuple[tuple[str, LimitItem], ...]]:
    found: dict[str, list[tuple[str, LimitItem]]] = defaultdict(list)
    for item in ranges:
        found[item.identity.namespace].extend((item.identity.name, each) for each in item.facts.limits)
    return {namespace: tuple(items) for namespace, items in found.items()}

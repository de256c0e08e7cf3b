"""What a check may look at (the source, what clusters can do, where a group may go), and how it tells what it found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from gitplacer.dispatching import Queues, not_nominated
from gitplacer.documents import Path
from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.workload import Identity
from gitplacer.policies.allowing import not_liked, not_selected
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem
from gitplacer.profiles import ClusterProfile
from gitplacer.source.manifests import PLATFORM, SourceObject
from gitplacer.source.reading import Source
from gitplacer.variants import Variants
from gitplacer.workloads.facts import ObjectFacts

_NAME: Path = ("metadata", "name")

Claims = frozenset[tuple[str, str]]
"""PersistentVolumeClaims by namespace and name."""


class Brought(Struct, frozen=True):
    """Where the platform brings an object by a policy: to clusters that it allows, or is on them already."""

    policy: str
    clusters: frozenset[str]


class Known(Struct, frozen=True, dict=True):
    """The source, the profile of each cluster, what is left to Kueue, the groups by id, and the records of what is deployed."""

    source: Source
    profiles: Mapping[str, ClusterProfile]
    queues: Queues
    groups: Mapping[str, Group]
    records: Mapping[str, PlacementRecord]

    def eligible(self, group: Group) -> tuple[str, ...]:
        """The clusters that a group's policy allows, whatever their state and room, sorted."""
        if group.policy is None:
            return ()
        name = group.policy.name
        if name not in self._eligible:
            selector, weights = group.policy.spec.clusters, group.policy.spec.placement.weights
            self._eligible[name] = tuple(
                cluster.name
                for cluster in self.source.own.clusters.values()
                if cluster.spec.role == "Workload" and selector.unmet(cluster.labels()) is None
                if not (weights and not weights.get(cluster.name))
            )
        return self._eligible[name]

    def nominated(self, policy: PlacementPolicy) -> tuple[str, ...]:
        """The clusters that a policy nominates which leaves it to Kueue where its groups start, sorted."""
        if policy.name not in self._nominated:
            clusters = self.source.own.clusters.values()
            self._nominated[policy.name] = tuple(c.name for c in clusters if not_nominated(policy, c) is None)
        return self._nominated[policy.name]

    @cached_property
    def _nominated(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _eligible(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def variants(self) -> Variants:
        """What objects are on each cluster."""
        return Variants(self.source, self.profiles, self.queues)

    def facts(self, member: SourceObject, cluster: str) -> ObjectFacts:
        """What an object is on a cluster."""
        return self.variants.facts(member, self.source.own.clusters[cluster])

    @cached_property
    def provided(self) -> frozenset[Identity]:
        """Objects of the source, and those that something in a cluster makes of one of them."""
        return self.source.identities | {made for item in self.source.objects for made in _made_of(item)}

    @cached_property
    def by_platform(self) -> Mapping[Identity, Brought]:
        """
        The objects of which it is known to which clusters they come without regard to who needs them: those of platform groups, and what is
        made of these. All others travel with who needs them.
        """
        found = {}
        for group in self.groups.values():
            if group.unit == PLATFORM and group.policy is not None:
                there = Brought(group.policy.name, self._spread(group, group.policy))
                found.update({each: there for item in group.members for each in (item.identity, *_made_of(item))})
        travelling = (item for item in self.source.objects if item.unit != PLATFORM) if found else ()
        made = {each for item in travelling for each in _made_of(item)}
        return {identity: there for identity, there in found.items() if identity not in made}

    def _spread(self, group: Group, policy: PlacementPolicy) -> frozenset[str]:
        """The clusters on which a platform group is, and those to which it comes. Of several to which few copies may come nobody knows yet which get one."""
        clusters, copies = self.source.own.clusters, policy.spec.placement.copies
        record = self.records.get(group.id)
        here = frozenset(entry.name for entry in record.clusters) if record is not None else frozenset()
        allowed = {n for n, c in clusters.items() if not (not_selected(policy, c) or not_liked(policy, c))}
        return here | allowed if copies == "All" or copies >= len(here | allowed) else here

    @cached_property
    def claims_for_one_pod(self) -> Claims:
        """The PersistentVolumeClaims of the source that one pod at a time may have."""
        return self._claims(lambda modes: "ReadWriteOncePod" in modes)

    @cached_property
    def claims_for_one_node(self) -> Claims:
        """Those that pods of one node at a time may have."""
        return self._claims(lambda modes: modes == ("ReadWriteOnce",))

    def _claims(self, mean: Callable[[tuple[str, ...]], bool]) -> Claims:
        return frozenset(
            (item.identity.namespace, item.identity.name)
            for item in self.source.objects
            if item.facts.volume is not None and mean(item.facts.volume.modes)
        )

    @cached_property
    def services(self) -> Mapping[tuple[str, str], SourceObject]:
        """The Services of the source by namespace and name."""
        return {
            (item.identity.namespace, item.identity.name): item
            for item in self.source.objects
            if (item.identity.api_group, item.identity.kind) == ("", "Service")
        }

    @cached_property
    def namesakes(self) -> Mapping[tuple[str, str], tuple[SourceObject, ...]]:
        """Sized objects by namespace and name."""
        found: dict[tuple[str, str], list[SourceObject]] = defaultdict(list)
        for item in self.source.objects:
            if item.facts.sized:
                found[item.identity.namespace, item.identity.name].append(item)
        return {key: tuple(items) for key, items in found.items()}


def _made_of(item: SourceObject) -> Iterator[Identity]:
    """What something in a cluster makes of an object."""
    return (Identity(m.api_group, m.kind, item.identity.namespace, m.name) for m in item.facts.provides)


Told = tuple[SourceObject, Problem]
"""A problem, and the object that it is about and that may allow it."""


def tell(member: SourceObject, code: str, message: str, hint: str, path: Path = _NAME, *, key: bool = False) -> Told:
    """A problem of an object, as severe as the table of codes says."""
    return member, member.document.problem(code, message, hint, path=path, key=key, severity=CODES[code].severity)

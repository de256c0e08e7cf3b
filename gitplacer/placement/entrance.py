"""
Which clusters take a group, whatever room they have: what its policy, its tenant, the state of each cluster and what it serves have to say.

There are thousands of clusters and groups, and few sorts of either: policies, tenants, APIs and demands are few each, and many together. So each
is asked about once, equal answers are one object, and a group is told the clusters that all of them leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, partial

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.selectors import ClusterSelector
from gitplacer.model.decision import Finding, Reason
from gitplacer.placement.eligibility import (
    ClusterNeeds,
    api_not_served,
    asked_by,
    custom_apis,
    may_not_enter,
    may_not_stay,
    not_served,
    not_the_policys,
    refused,
    without_domain,
)
from gitplacer.placement.kueue import no_queue
from gitplacer.placement.nomination import Nominations
from gitplacer.placement.rosters import Rosters
from gitplacer.policies.allowing import closed
from gitplacer.policies.selecting import Selecting
from gitplacer.relocation.silence import fell_silent
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.variants import AS_USUAL, Sort

_ANY = ClusterSelector()


class Names(tuple[str, ...]):
    """Names of clusters, of which there may be thousands, the same for thousands of groups: what is known of them is looked up by their hash."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


class Entrance:
    """
    `silent` are the clusters that are lost by their silence, each since when, and `leftovers` those that may still run what they had when they
    were lost.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        rosters: Rosters,
        nominations: Nominations,
        silent: Mapping[str, datetime],
        leftovers: frozenset[str],
    ) -> None:
        self._snapshot = snapshot
        self._clusters = snapshot.source.own.clusters
        self._rosters = rosters
        self._nominations = nominations
        self._silent = silent
        self._leftovers = leftovers
        self._places = {name: place for place, name in enumerate(self._clusters)}
        self._stay: dict[tuple[str, str | None, str, str], Finding | None] = {}
        self._asked: dict[tuple[str, Sort], ClusterNeeds] = {}
        self._having: dict[tuple[str, int], frozenset[str]] = {}
        self._same_clusters: dict[frozenset[str], frozenset[str]] = {}
        """As with names: sets of thousands of them are compared for each sort of what is asked, and not for each group."""
        self._watching: dict[tuple[str, ...], frozenset[str]] = {}
        self._same_asked: dict[ClusterNeeds, ClusterNeeds] = {}
        self._not_served: dict[tuple[int, str], Finding | None] = {}
        self._may_enter: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._same_names: dict[Names, Names] = {}
        """Equal ones are one object: thousands of names are compared for each tenant, and not for each group."""
        self._open: dict[tuple[object, ...], frozenset[str]] = {}

    def may_not_stay(self, group: Group, policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
        """Why a group may not even be where it is already, or None."""
        if group.id in self._nominations.left:  # most fleets have none: this is asked for each tenant and cluster
            left = self._nominations.settings(group)
            if left is not None or self._nominations.is_managed_on(group, cluster.name):
                manager = left.manager if left is not None else ""
                stays = cluster.name == manager and not self._nominations.is_started_on(group, manager)
                return None if stays else Finding(code=Reason.LEFT_TO_KUEUE, subject=manager)
        tenant = group.tenant
        key = (policy.name, group.wished_cluster, tenant.name if tenant is not None else "", cluster.name)
        if key not in self._stay:
            self._stay[key] = may_not_stay(group, policy, cluster)
        return self._stay[key]

    def may_not_enter(self, group: Group, policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
        """Why a cluster does not take a group that is not there yet, or None."""
        if group.id in self._nominations.left and self._nominations.settings(group) is not None:
            return self.may_not_stay(group, policy, cluster) or self._may_not_manage(group, cluster)
        return (
            self.may_not_stay(group, policy, cluster)
            or without_domain(policy, cluster)
            or self._takes_nothing_new(group, cluster)
            or self._cannot_serve(group.unit, self._asked_on(group, cluster), cluster)
        )

    def _takes_nothing_new(self, group: Group, cluster: Cluster) -> Finding | None:
        """What there is against a cluster whatever a group asks for, but for its APIs: its state, and that of its snapshot."""
        s = self._snapshot
        return (
            may_not_enter(group, cluster, s.capacity, s.broken_capacity, self._silent, s.now)
            or self._not_back_yet(group, cluster)
            or self._cannot_wake(group, cluster)
        )

    def _may_not_manage(self, group: Group, cluster: Cluster) -> Finding | None:
        """Why a cluster does not take a group that is left to Kueue there: it needs no room, and no snapshot that promises any."""
        return (
            closed(cluster)
            or self._not_back_yet(group, cluster)
            or self.cannot(group, cluster)
            or (None if self._nominations.nominated(group) else Finding(code=Reason.NO_NOMINEE))
        )

    def cannot(self, group: Group, cluster: Cluster) -> Finding | None:
        """What a cluster is known to lack that a group asks for besides room, or None."""
        capacity = self._snapshot.capacity.get(cluster.name)
        unserved = api_not_served(group, capacity) if capacity is not None else None
        return unserved or self._cannot_serve(group.unit, self._asked_on(group, cluster), cluster)

    def _cannot_serve(self, unit: str, asked: ClusterNeeds, cluster: Cluster) -> Finding | None:
        """What a group of a unit asks of a cluster, besides room, that it does not have."""
        return (
            self._feature_not_served(unit, asked, cluster)
            or refused(unit, asked)
            or self._no_queue(unit, asked, cluster)
        )

    def _no_queue(self, unit: str, asked: ClusterNeeds, cluster: Cluster) -> Finding | None:
        """Why what a group has in queues of Kueue would not be let in on a cluster, or None."""
        if unit == PLATFORM:
            return None
        seen = self._snapshot.capacity.get(cluster.name)
        return no_queue(asked.queues, seen) if asked.queues and seen is not None else None

    def _cannot_wake(self, group: Group, cluster: Cluster) -> Finding | None:
        """Why a cluster that is not awake is not called for a group, or None."""
        why = self._snapshot.cannot_wake(cluster.name) if group.unit == WORKLOADS else None
        return None if why is None else Finding(code=Reason.CANNOT_WAKE, subject=why)

    def _not_back_yet(self, group: Group, cluster: Cluster) -> Finding | None:
        """Why nothing new goes to a cluster that is lost by its silence, or was lost and may still run what it had then."""
        if group.unit == PLATFORM:
            return None
        if cluster.name in self._silent:
            return fell_silent(self._silent[cluster.name])
        return Finding(code=Reason.LEFTOVER_THERE) if cluster.name in self._leftovers else None

    def may_enter(self, group: Group, policy: PlacementPolicy) -> tuple[str, ...]:
        """The clusters that take a group under a policy, in order. For groups that ask the same it is worked out once."""
        if not self._clusters or group.id in self._nominations.left:
            return tuple(c.name for c in self._clusters.values() if self.may_not_enter(group, policy, c) is None)
        admission = group.policy.spec.placement.admission if group.policy is not None else "Gang"
        # Policies, tenants, APIs and demands are few each, and many together: so each is asked about once, and not all with all.
        of_unit = group.unit, admission, custom_apis(group)
        serving, wished = self._serving(group), group.wished_cluster
        key = policy.name, group.tenant.name if group.tenant is not None else "", of_unit, serving, wished
        known = self._may_enter.get(key)
        if known is None:
            found = serving.intersection(
                self._where_none(("policy", policy.name), partial(not_the_policys, policy), policy.spec.clusters),
                self._where_none(("open", *of_unit), partial(self._takes_nothing_new, group)),
                self._allowed(group),
            )
            if wished is not None:
                found &= {wished}
            names = Names(sorted(found, key=self._places.__getitem__))
            known = self._may_enter[key] = self._same_names.setdefault(names, names)
        return known

    def _where_none(
        self, key: tuple[object, ...], against: Callable[[Cluster], Finding | None], selector: ClusterSelector = _ANY
    ) -> frozenset[str]:
        """The clusters that are selected and against which there is nothing; `key` is all of a group that this depends on."""
        if key not in self._open:
            selected = self._selecting.selected(selector)
            found = frozenset(name for name in selected if against(self._clusters[name]) is None)
            self._open[key] = self._same_clusters.setdefault(found, found)
        return self._open[key]

    def selected(self, group: Group, policy: PlacementPolicy) -> frozenset[str]:
        """The clusters that a policy selects, and that the tenant of a group may use."""
        return self._selecting.selected(policy.spec.clusters) & self._allowed(group)

    def _allowed(self, group: Group) -> frozenset[str]:
        return self._selecting.selected(group.tenant.spec.clusters if group.tenant is not None else _ANY)

    @cached_property
    def _selecting(self) -> Selecting:
        return Selecting(self._clusters.values())

    def _serving(self, group: Group) -> frozenset[str]:
        """The clusters that have what a group asks of them besides room; of clusters that are alike it asks the same."""
        variants, usual = self._snapshot.variants, self._asked_as(group, AS_USUAL, None)
        alone, whole = variants.alone(group), self._have(group.unit, usual)
        found = whole
        parts: list[tuple[frozenset[str], str]] = []
        for likeness in sorted(variants.concerned(group)):
            example = next((name for name in self._rosters.alike[likeness] if name not in alone), None)
            if example is not None:
                names = self._alike[likeness]
                parts.append((names.difference(alone) if alone else names, example))
        parts += [(frozenset((name,)), name) for name in alone]
        for names, example in parts:
            asked = self._asked_on(group, self._clusters[example])
            if asked is not usual:
                found = (found - names) | (names & self._have(group.unit, asked))
        return found if found is whole else self._same_clusters.setdefault(found, found)

    def _have(self, unit: str, asked: ClusterNeeds) -> frozenset[str]:
        """The clusters that have what a group of a unit asks for."""
        known = self._having.get((unit, id(asked)))  # equal ones are one object, as below
        if known is None:
            key = ("serves", unit, asked.demands, asked.queues, asked.refused, self._watched(asked.namespaces))
            known = self._having[unit, id(asked)] = self._where_none(key, partial(self._cannot_serve, unit, asked))
        return known

    @cached_property
    def _alike(self) -> Mapping[int, frozenset[str]]:
        """By what clusters have in common the names of all that have it."""
        return {likeness: frozenset(names) for likeness, names in self._rosters.alike.items()}

    def _watched(self, namespaces: tuple[str, ...]) -> frozenset[str]:
        """The clusters, of those whose KubeRay does not look at all namespaces, where it looks at some."""
        if namespaces not in self._watching:
            profiles = self._snapshot.profiles
            found = (c for c in self._watching_some if all(profiles[c].watches(name) for name in namespaces))
            self._watching[namespaces] = frozenset(found)
        return self._watching[namespaces]

    @cached_property
    def _watching_some(self) -> tuple[str, ...]:
        return tuple(name for name, profile in self._snapshot.profiles.items() if profile.kuberay.watch_namespaces)

    def _feature_not_served(self, unit: str, asked: ClusterNeeds, cluster: Cluster) -> Finding | None:
        """Platform objects are what lets a cluster serve anything, so it is not asked for them."""
        profile = self._snapshot.profiles[cluster.name]
        if unit == PLATFORM or profile.is_blank:
            return None
        key = (id(asked), cluster.name)  # equal ones are one object, so that they are compared once and not per cluster
        if key not in self._not_served:
            self._not_served[key] = not_served(asked, profile)
        return self._not_served[key]

    def _asked_on(self, group: Group, cluster: Cluster) -> ClusterNeeds:
        """What a group asks of a cluster, after overrides."""
        return self._asked_as(group, self._snapshot.variants.sort(group, cluster), cluster)

    def _asked_as(self, group: Group, sort: Sort, cluster: Cluster | None) -> ClusterNeeds:
        """What a group asks of a sort of clusters, such as one of them; where it is as usual, none needs to be known."""
        key = (group.id, sort)
        if key not in self._asked:
            variants, edited = self._snapshot.variants, None
            if cluster is not None and (
                self._snapshot.profiles[cluster.name].refuses_pods
                or any(variants.edits(member, cluster) for member in group.members)
            ):
                edited = cluster
            facts = (m.facts if edited is None else variants.facts(m, edited) for m in group.members)
            asked = asked_by(group, facts)
            self._asked[key] = self._same_asked.setdefault(asked, asked)
        return self._asked[key]

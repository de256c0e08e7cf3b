"""
The pods of groups: as their manifests say, and as they are on each cluster.

What a group is on a cluster depends on overrides and profiles, on its counts there, on its role where it spans several, and on what is deployed
where it is held. Thousands of clusters have a few sets of overrides and profiles: on those that are alike a group is worked out once. Equal gangs are one
object, and equal shapes in them too, so that they are compared once.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.decision import ClusterRole
from gitplacer.model.workload import Gang, PodShape, Roster
from gitplacer.placement.onlookers import Onlookers
from gitplacer.placement.overlaps import Overlaps
from gitplacer.snapshot import Snapshot
from gitplacer.variants import Sort


class _Made(Struct):
    """The pods of a group on clusters that are alike; `roster`: with the labels that anybody looks at, once somebody has asked for that."""

    gang: Gang
    roster: Roster | None = None

    @property
    def has_volumes(self) -> bool:
        return any(pods.claims for pods in self.gang)


class Rosters:
    """
    `records` are all that there are, by the id of the group that each speaks of now, and `held` the groups that stay as they are deployed.
    `counts` and `roles` say what a group is on a cluster as far as a pass has come: they are written to by whoever gives them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        records: Mapping[str, PlacementRecord],
        held: Container[str],
        counts: Mapping[tuple[str, str], Counts],
        roles: Mapping[tuple[str, str], ClusterRole],
        overlaps: Overlaps,
    ) -> None:
        self._snapshot = snapshot
        self._records = records
        self._held = held
        self._counts = counts
        self._roles = roles
        self._overlaps = overlaps
        self._same: dict[Gang, Roster] = {}
        self._shapes: dict[PodShape, PodShape] = {}
        self._made: dict[tuple[str, Sort, Counts], _Made] = {}
        self._bound: dict[tuple[str, str, Counts], _Made] = {}
        """The same on single clusters, of groups with volumes."""
        self._anywhere: dict[str, Roster | None] = {}
        self._counted = {group_id for group_id, _ in counts}
        """The groups that have, or had in this pass, other counts somewhere than they are written with."""
        self._written = {group_id: group.gang for group_id, group in snapshot.groups.items()}
        self._written |= {g: self.deployed(r, g) for g, r in records.items() if not self._is_planned(g)}
        self.written: Mapping[str, Roster] = {g: self.known(g, gang) for g, gang in self._written.items()}
        """The pods of each group as its manifests say, or as it is deployed where it is held so or gone."""

    def recounted(self, group_id: str) -> None:
        """Somebody has given a group other counts on a cluster."""
        self._counted.add(group_id)

    def all(self) -> Iterator[Gang]:
        """
        The pods of all groups, wherever they may be others than in the source: on some clusters, or while an update runs; and those of who stands by.
        """
        yield from self._written.values()
        for there in self._snapshot.bystanders.values():
            yield from (bystander.holds.gang for bystander in there.values())
        for group in self._snapshot.groups.values() if self._differing else ():
            yield from self._elsewhere(group)
        yield from (self._as_written(*place) for place in (*self._counts, *self._roles) if place[1] in self._differing)
        for overlap in self._overlaps.all.values():
            yield from (overlap.base, overlap.beside)

    def _elsewhere(self, group: Group) -> Iterator[Gang]:
        """The pods of a group on the clusters where they may be others than in the source."""
        record = self._records.get(group.id)
        if self._is_planned(group.id):
            yield from (made.gang for made in self._wherever(group))
        elif record is not None:
            yield from (self.deployed(record, group.id, c.name) for c in record.clusters if c.name in self._differing)

    def _wherever(self, group: Group) -> Iterator[_Made]:
        """What a group is on clusters that differ, as far as it is the same on all that are alike; with volumes it is asked about on each that binds some."""
        names, _ = self._examples(group, self.alike, self._snapshot.source.own.clusters)
        found = [self._make(group, self._snapshot.source.own.clusters[name], AS_WRITTEN) for name in names]
        yield from found
        if any(pods.claims for gang in (self._written[group.id], *(made.gang for made in found)) for pods in gang):
            yield from (self._make(group, cluster, AS_WRITTEN) for cluster in self._binding)

    def _make(self, group: Group, cluster: Cluster, counts: Counts) -> _Made:
        """What a group with some counts is on a cluster."""
        variants = self._snapshot.variants
        key = group.id, variants.sort(group, cluster), counts
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = _Made(variants.gang(group, cluster, counts))
        if not made.has_volumes:
            return made
        bound = self._bound.get((group.id, cluster.name, counts))
        if bound is None:
            bound = self._bound[group.id, cluster.name, counts] = _Made(variants.gang(group, cluster, counts))
        return bound

    def _examples(
        self, group: Group, alike: Mapping[int, Sequence[str]], names: Container[str]
    ) -> tuple[list[str], bool]:
        """
        Of some clusters, by what they have in common, one each of those on which a group may be another than it is written; and whether it is as
        written on any.
        """
        concerned, alone = self._snapshot.variants.concerned(group), self._snapshot.variants.alone(group)
        found, as_written = [name for name in alone if name in names], False
        for likeness, there in alike.items():
            example = next((name for name in there if name not in alone), None)
            if example is not None and likeness in concerned:
                found.append(example)
            as_written = as_written or (example is not None and likeness not in concerned)
        return found, as_written

    @cached_property
    def alike(self) -> Mapping[int, Sequence[str]]:
        """The names of all clusters, by what they have in common."""
        return self._by_likeness(self._snapshot.source.own.clusters)

    @cached_property
    def _alike_shown(self) -> Mapping[int, Sequence[str]]:
        """The same of those that have a snapshot."""
        return self._by_likeness(self._snapshot.capacity)

    def _by_likeness(self, names: Iterable[str]) -> Mapping[int, Sequence[str]]:
        clusters, found = self._snapshot.source.own.clusters, dict[int, list[str]]()
        for name in names:
            found.setdefault(self._snapshot.variants.likeness(clusters[name]), []).append(name)
        return found

    @cached_property
    def _binding(self) -> Sequence[Cluster]:
        """The clusters on which some volumes are not in reach of all nodes."""
        clusters, profiles = self._snapshot.source.own.clusters.values(), self._snapshot.profiles
        return [cluster for cluster in clusters if profiles[cluster.name].binds_volumes]

    @cached_property
    def _onlookers(self) -> Onlookers:
        return Onlookers(self.all(), self._snapshot.capacity.values())

    @cached_property
    def _differing(self) -> frozenset[str]:
        """The clusters on which some object may have other pods than it is written with."""
        clusters = self._snapshot.source.own.clusters.values()
        return frozenset(c.name for c in clusters if self._snapshot.variants.any_on(c))

    def known(self, group_id: str, gang: Gang) -> Roster:
        """A gang with the labels that anybody looks at, as the one object that is equal to it."""
        return self.one(self._onlookers.seen(gang, group_id.partition("/")[0]))

    def one(self, gang: Gang) -> Roster:
        """The one object that equals a gang."""
        found = gang if isinstance(gang, Roster) else self._same.get(gang)
        if found is None:
            sets = (replace(pods, shape=self._shapes.setdefault(pods.shape, pods.shape)) for pods in gang)
            found = self._same[gang] = Roster(sets)
        return found

    def on(self, group_id: str, name: str) -> Roster:
        """The pods of a group on a cluster, with the labels that anybody looks at. Those that run on every node are not counted yet."""
        if self._is_planned(group_id) and (group_id, name) not in self._roles:
            counts = self._counts.get((group_id, name), AS_WRITTEN)
            if not counts and name not in self._differing:
                return self.written[group_id]
            cluster = self._snapshot.source.own.clusters.get(name)
            if cluster is not None:
                return self._roster(group_id, self._make(self._snapshot.groups[group_id], cluster, counts))
        return self.known(group_id, self._as_written(group_id, name))

    def _roster(self, group_id: str, made: _Made) -> Roster:
        if made.roster is None:
            made.roster = self.known(group_id, made.gang)
        return made.roster

    def seen_on(self, group_id: str, name: str) -> Gang:
        """The pods that a cluster may show of a group: old ones and new ones, while an update is judged or runs."""
        bystander = self._snapshot.bystanders.get(name, {}).get(group_id)
        if bystander is not None:
            return bystander.holds.gang
        overlap = self._overlaps.on(group_id, name)
        return self.on(group_id, name) if overlap is None else self.known(group_id, (*overlap.base, *overlap.beside))

    def anywhere(self, group_id: str) -> Roster | None:
        """The gang that a group is on every cluster that has a snapshot; None if it is not the same on all, or that is not known without a look at each."""
        written = self.written.get(group_id)
        if written is None or written.per_node or group_id in self._counted or not self._is_planned(group_id):
            return None
        if not self._differing:
            return written
        if group_id not in self._anywhere:
            found = self._all_of(self._snapshot.groups[group_id])
            self._anywhere[group_id] = found.popitem()[1] if len(found) == 1 else None
        return self._anywhere[group_id]

    def typical(self, group_id: str) -> Roster:
        """The pods by which clusters are put in order for a group: those that it has on every cluster, or else as it is written."""
        found = self.anywhere(group_id)
        return self.written[group_id] if found is None else found

    def _all_of(self, group: Group) -> dict[int, Roster]:
        """All that a group is on clusters that have a snapshot, by the object that each is."""
        clusters = self._snapshot.source.own.clusters
        names, as_written = self._examples(group, self._alike_shown, self._snapshot.capacity)
        there = [self._roster(group.id, self._make(group, clusters[name], AS_WRITTEN)) for name in names]
        if as_written:
            there.append(self.written[group.id])
        if self._binding and any(pods.claims for roster in there for pods in roster):
            seen = (cluster for cluster in self._binding if cluster.name in self._snapshot.capacity)
            there += [self._roster(group.id, self._make(group, cluster, AS_WRITTEN)) for cluster in seen]
        return {id(roster): roster for roster in there}

    def _is_planned(self, group_id: str) -> bool:
        """
        Whether a group is what its manifests say, but for what clusters make of it: unless it is gone, or held as it is deployed. One that is held
        and deployed nowhere is nothing else.
        """
        record = self._records.get(group_id)
        is_deployed = record is not None and bool(record.clusters or record.move)
        return group_id in self._snapshot.groups and not (is_deployed and group_id in self._held)

    def home(self, group_id: str) -> Cluster | None:
        """The cluster with the head of a group that spans several."""
        clusters = self._snapshot.source.own.clusters
        names = (name for (other, name), role in self._roles.items() if other == group_id and role == "Home")
        return next((clusters[name] for name in sorted(names) if name in clusters), None)

    def _as_written(self, group_id: str, name: str) -> Gang:
        """The pods of a group on a cluster: after overrides, unless the group is held as it is deployed."""
        snapshot = self._snapshot
        group, cluster = snapshot.groups.get(group_id), snapshot.source.own.clusters.get(name)
        if group is None or not self._is_planned(group_id):
            record = self._records.get(group_id)
            return self._written.get(group_id, ()) if record is None else self.deployed(record, group_id, name)
        counts = self._counts.get((group_id, name), AS_WRITTEN)
        if cluster is not None and self._roles.get((group_id, name)) == "Remote":
            home = self.home(group_id)
            return () if home is None else snapshot.spans.gang(group, home, cluster, counts)
        if cluster is None or not (counts or name in self._differing):
            return self._written.get(group_id, ())
        return snapshot.variants.gang(group, cluster, counts)

    def deployed(self, record: PlacementRecord, group_id: str, name: str | None = None) -> Gang:
        """The pods of what is deployed of a group that is held or gone, on a cluster or on the first that has it."""
        group = self._snapshot.groups.get(group_id)
        return self._snapshot.deployed.gang(record, group.policy if group else None, name)

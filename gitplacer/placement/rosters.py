"""
The pods of groups: as their manifests say, and as they are on each cluster.

What a group is on a cluster depends on overrides and profiles, on its counts there, on its role where it spans several, and on what is deployed
where it is held. Equal gangs are one object, and equal shapes in them too, so that they are compared once.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.decision import ClusterRole
from gitplacer.model.workload import Gang, PodShape, Roster
from gitplacer.placement.onlookers import Onlookers
from gitplacer.placement.overlaps import Overlaps
from gitplacer.snapshot import Snapshot


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
        self._counted = {group_id for group_id, _ in counts}
        """The groups that have, or had in this pass, other counts somewhere than they are written with."""
        self._written = {group_id: group.gang for group_id, group in snapshot.groups.items()}
        self._written |= {g: self.deployed(r, g) for g, r in records.items() if g in held or g not in snapshot.groups}
        self.written: Mapping[str, Roster] = {g: self.known(g, gang) for g, gang in self._written.items()}
        """The pods of each group as its manifests say, or as it is deployed where it is held or gone."""

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
        yield from (self._as_written(g, name) for name in sorted(self._differing) for g in self._snapshot.groups)
        for overlap in self._overlaps.all.values():
            yield from (overlap.base, overlap.beside)

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
        gang = self._as_written(group_id, name)
        written = self.written.get(group_id)
        return written if written is not None and gang is self._written.get(group_id) else self.known(group_id, gang)

    def seen_on(self, group_id: str, name: str) -> Gang:
        """The pods that a cluster may show of a group: old ones and new ones, while an update is judged or runs."""
        bystander = self._snapshot.bystanders.get(name, {}).get(group_id)
        if bystander is not None:
            return bystander.holds.gang
        overlap = self._overlaps.on(group_id, name)
        return self.on(group_id, name) if overlap is None else self.known(group_id, (*overlap.base, *overlap.beside))

    def anywhere(self, group_id: str) -> Roster | None:
        """The gang that a group is on every cluster; None if that is not known without a look at each."""
        written = self.written.get(group_id)
        if written is None or self._differing or written.per_node or not self._is_planned(group_id):
            return None
        return None if group_id in self._counted else written

    def _is_planned(self, group_id: str) -> bool:
        """Whether a group is what its manifests say, but for what clusters make of it."""
        return group_id in self._snapshot.groups and group_id not in self._held

    def by_gang(self, group_id: str, names: Sequence[str]) -> Iterable[tuple[Roster, list[str]]]:
        """The gangs that a group is on some clusters, each with those on which it is that one. Nothing of it runs on every node."""
        written = self.written[group_id]
        found = {id(written): (written, list[str]())}
        for name in names:
            plain = self._is_planned(group_id) and name not in self._differing and (group_id, name) not in self._counts
            gang = written if plain else self.on(group_id, name)
            found.setdefault(id(gang), (gang, []))[1].append(name)
        return found.values()

    def home(self, group_id: str) -> Cluster | None:
        """The cluster with the head of a group that spans several."""
        clusters = self._snapshot.source.own.clusters
        names = (name for (other, name), role in self._roles.items() if other == group_id and role == "Home")
        return next((clusters[name] for name in sorted(names) if name in clusters), None)

    def _as_written(self, group_id: str, name: str) -> Gang:
        """The pods of a group on a cluster: after overrides, unless the group is held as it is deployed."""
        snapshot = self._snapshot
        group, cluster = snapshot.groups.get(group_id), snapshot.source.own.clusters.get(name)
        if group is None or group_id in self._held:
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

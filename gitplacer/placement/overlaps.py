"""
What groups hold while old pods and new ones run side by side: in the pass that judges an edit, and until it is seen to be done.

In both the question is the same. What runs is as it was deployed, and the pods beside have to find room with that in
place; so an overlap is what runs (`base`) and what comes on top (`beside`). Only groups of which a file would change are
looked at, and those whose record tells of an update.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.record import PlacementRecord, RecordCluster, RecordUpdate
from gitplacer.model.workload import Gang, Identity, PodShape
from gitplacer.placement.kueue import cluster_queue, waits_in
from gitplacer.placement.underway import Phase, noted, old_pods, phase, remembered, running_group
from gitplacer.placement.updating import (
    OVERLAPPING,
    Edits,
    How,
    MemberUpdate,
    ObjectThere,
    Places,
    member_update,
    object_update,
    places_left,
    pods_beside,
    pods_last,
)
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM
from gitplacer.workloads.facts import ObjectFacts, Reserve


class Overlap(Struct, frozen=True):
    """
    What a group holds on a cluster. `shown`: pods beside may be among those that the snapshot shows. `updates` are the edits of
    this pass; () for what was merged before. `places` are left to pods beside by some that go first. `last` are the old pods that run yet when the
    last of larger new ones comes; None where no larger ones come one after another.
    """

    base: Gang
    beside: Gang
    shown: bool
    updates: tuple[MemberUpdate, ...]
    places: Places = ()
    last: Gang | None = None

    @property
    def main(self) -> MemberUpdate | None:
        """The edit that is told of: one that asks for most."""
        order = (How.NEW_CLUSTER, How.IN_STEPS, How.ROLLING, How.IN_PLACE)
        asking = (update for update in self.updates if update.asks)
        return min(asking, key=lambda u: (not u.waits, order.index(u.how), u.identity), default=None)

    @property
    def waits(self) -> bool:
        """Whether an edit cannot end before all pods beside have room."""
        return any(update.waits and update.beside for update in self.updates)

    @property
    def refused(self) -> str:
        """Why the API server does not take the pods that an edit asks for; '' if nothing is known against them."""
        asking = (update for update in self.updates if update.asks)
        return next((update.refused for update in asking if update.refused), "")

    @property
    def objects(self) -> bool:
        """Whether an edit makes objects without pods take more of quotas."""
        return any(update.objects for update in self.updates)

    @property
    def replaces(self) -> bool:
        """Whether pods that run are replaced by larger ones."""
        return any(update.replaces for update in self.updates)


class Overlaps:
    """`held` are groups whose files stay as they are; answers are remembered."""

    def __init__(self, snapshot: Snapshot, edits: Edits, held: Container[str] = ()) -> None:
        self._snapshot = snapshot
        self._edits = edits
        self._held = held
        self._known: dict[tuple[str, str], Overlap | None] = {}

    @cached_property
    def all(self) -> dict[tuple[str, str], Overlap]:
        """Group and cluster to every overlap there is."""
        places = (
            (group.id, entry.name)
            for group in self._snapshot.groups.values()
            if (record := self._snapshot.predecessor(group)) is not None
            for entry in record.clusters
        )
        return {place: overlap for place in places if (overlap := self.on(*place)) is not None}

    def on(self, group_id: str, cluster: str) -> Overlap | None:
        """The overlap of a group on a cluster; None where it holds what its manifests say."""
        key = (group_id, cluster)
        if key not in self._known:
            self._known[key] = self._find(group_id, cluster)
        return self._known[key]

    def merged(self, group: Group, cluster: str, entry: RecordCluster, epoch: int) -> tuple[RecordUpdate, ...] | None:
        """
        The updates of a group on a cluster as its record tells of them after this pass, in which it is written there. `epoch` is
        that which the commit gives to the cluster's unit.
        """
        place = self._place(group.id, cluster)
        if place is None:
            return None
        capacity = self._snapshot.capacity.get(cluster)
        kept: dict[tuple[str, str], RecordUpdate] = {}
        for update in entry.updates or ():
            still = noted(update, phase(update, capacity, group.id, place.gang), capacity)
            if still is not None:
                kept[update.kind, update.name] = still
        running = running_group(capacity, group.id)
        for new in self._updates(place):
            key = (new.identity.kind, new.identity.name)
            if new.overlaps:
                # Where pods have to end first, those of an earlier update that run yet are among those that do.
                earlier = old_pods([kept[key]], new.stays) if key in kept and new.how in OVERLAPPING else ()
                kept[key] = RecordUpdate.model_validate(
                    {
                        "kind": key[0], "name": key[1], "how": new.how.value, "epoch": epoch,
                        "pods": remembered((*new.stays, *earlier)), "since": self._snapshot.now,
                        "generation": running.observed_generation if running else None,
                    }
                )  # fmt: skip
        return tuple(kept[key] for key in sorted(kept)) or None

    def _find(self, group_id: str, cluster: str) -> Overlap | None:
        place = self._place(group_id, cluster)
        if place is None:
            return None
        made = {update.identity: update for update in self._updates(place)}
        if place.frozen:
            return self._as_deployed(place) if place.facts else None
        if not made and not place.entry.updates:
            return None
        running = list(self._running(place))
        base, beside, places, last = list[Gang](), list[Gang](), list[tuple[PodShape, int]](), list[Gang]()
        for identity, facts in place.facts.items():
            whole = facts.gang_for(place.reserve, with_peak=place.with_peak)
            own = [update for update, _ in running if (update.kind, update.name) == (identity.kind, identity.name)]
            if identity in made and made[identity].how is not How.NOTHING:
                base.append(made[identity].stays)
                beside.append(made[identity].beside)
                places += made[identity].places
                left = made[identity].last
                last += [] if left is None else [left]
            elif own:
                how, old = How(own[0].how), old_pods(own, whole)
                beside.append(pods_beside(how, old, facts, place.reserve))
                places += places_left(how, old, facts, place.reserve)
                left = () if how is How.IN_PLACE else pods_last(how, old, facts, place.reserve)
                last += [] if left is None else [left]
            else:
                base.append(whole)
        base.append(old_pods([update for update, _ in running], place.gang))
        found = tuple(pods for gang in beside for pods in gang)
        updates = tuple(made.values())
        if not running and not any(update.asks for update in updates):
            return None
        shown = not updates and all(seen is Phase.BOTH for _, seen in running)
        # Where room for the surge is kept at all times it is more than an old pod takes.
        left = () if place.with_peak else tuple(pods for gang in last for pods in gang)
        whole = tuple(pods for gang in base for pods in gang)
        return Overlap(whole, found, shown, updates, tuple(places), left if last else None)

    def _as_deployed(self, place: _Place) -> Overlap:
        """What a group holds on a cluster that it leaves by and by, whatever was edited meanwhile."""
        whole = tuple(
            pods for facts in place.facts.values() for pods in facts.gang_for(place.reserve, with_peak=place.with_peak)
        )
        return Overlap((*old_pods([update for update, _ in self._running(place)], whole), *whole), (), False, ())

    def _running(self, place: _Place) -> Iterator[tuple[RecordUpdate, Phase]]:
        """The updates that were merged before and are not known to be done, and how far each is."""
        capacity = self._snapshot.capacity.get(place.cluster.name)
        for update in place.entry.updates or ():
            found = phase(update, capacity, place.group.id, place.gang)
            if found is not Phase.DONE:
                yield update, found

    def _updates(self, place: _Place) -> Sequence[MemberUpdate]:
        """What the edits of a group come to on a cluster where it is."""
        if place.held or place.frozen:
            return ()
        name, s = place.cluster.name, self._snapshot
        quotas = s.profiles[name].quotas
        edits = [
            each
            for each in self._edits(place.group, name)
            if each.member.facts.sized or each.member.identity.namespace in quotas
        ]
        if not edits:
            return ()
        deployed = s.deployed.objects(place.record, name)
        running = running_group(s.capacity.get(name), place.group.id)
        found: list[MemberUpdate] = []
        for each in edits:
            identity = each.member.identity
            if identity in deployed and identity in place.facts:
                old, new = deployed[identity], place.facts[identity]
                asked = ObjectThere(
                    old=old,
                    new=new,
                    profile=s.profiles[name],
                    reserve=place.reserve,
                    declared=s.source.declarations.kinds,
                    running=running,
                    queues=(place.queue(identity.namespace, old), place.queue(identity.namespace, new)),
                )
                update = member_update(each, asked) if each.member.facts.sized else object_update(each, asked)
                found += [update] if update is not None else []
        return tuple(found)

    def _place(self, group_id: str, cluster: str) -> _Place | None:
        """A group where it was before this pass; None where there is nothing to update."""
        s = self._snapshot
        group, there = s.groups.get(group_id), s.source.own.clusters.get(cluster)
        if group is None or there is None or group.policy is None or group.unit == PLATFORM:
            return None
        record = s.predecessor(group)
        entry = next((each for each in record.clusters if each.name == cluster), None) if record else None
        if record is None or entry is None or (entry.updates and not s.tells_of(record, group)):
            return None
        frozen = record.move is not None and cluster in record.move.source
        return _Place(s, group, there, record, entry, group_id in self._held, frozen)


class _Place(Struct, frozen=True, dict=True):
    """
    A group on a cluster where it was before this pass; `held`: its files stay as they are everywhere, `frozen`: there, because it
    is moving away.
    """

    snapshot: Snapshot
    group: Group
    cluster: Cluster
    record: PlacementRecord
    entry: RecordCluster
    held: bool
    frozen: bool

    @cached_property
    def facts(self) -> dict[Identity, ObjectFacts]:
        """What each of its objects is there."""
        if self.held or self.frozen:
            return self.snapshot.deployed.objects(self.record, self.cluster.name)
        variants = self.snapshot.variants
        counts = self.entry.known_counts()
        return {member.identity: variants.facts_there(member, self.cluster, counts) for member in self.group.members}

    @property
    def reserve(self) -> Reserve:
        assert self.group.policy is not None
        return self.group.policy.spec.placement.reserve

    @property
    def with_peak(self) -> bool:
        assert self.group.policy is not None
        return self.group.policy.spec.update.reserve_peak

    def queue(self, namespace: str, facts: ObjectFacts) -> str:
        """The ClusterQueue that an object waits in there, '' where none is known."""
        capacity = self.snapshot.capacity.get(self.cluster.name)
        if capacity is None or not capacity.queues:
            return ""
        waits = waits_in(self.group, namespace, facts)
        return "" if waits is None else cluster_queue(waits, capacity)

    @property
    def gang(self) -> Gang:
        """The pods that there are to be when all updates are done."""
        return tuple(pods for facts in self.facts.values() for pods in facts.gang_for(self.reserve, with_peak=False))

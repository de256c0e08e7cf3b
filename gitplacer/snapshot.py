"""
Everything a decision may use, read and checked: the fleet, its groups, its capacity, and what is placed already.

Trees go in; a Snapshot comes out, or Rejected with every problem found. What could not be read is never
mistaken for what is not there: files, records (`kept`) and capacity (`reported`) that are broken are named, so that whoever decides
leaves alone what depends on them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gitplacer import checks, standby
from gitplacer.asleep import as_counted, held_states, states_now
from gitplacer.clones import with_clones, without_a_model
from gitplacer.coming import coming
from gitplacer.deployed import Deployed, DeployedFiles
from gitplacer.dispatching import queues, too_many_problems
from gitplacer.grouping import Group, group_objects
from gitplacer.heard import heard
from gitplacer.inputs import Inputs
from gitplacer.kept import REMOVALS_FILE, read_records, read_removals, read_states
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.record import PlacementRecord, RecordCluster, RecordMember
from gitplacer.kinds.removals import Removal
from gitplacer.kinds.standby import Standby
from gitplacer.kinds.tenant import Tenant
from gitplacer.known import Known
from gitplacer.machines import Catalogue
from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.model.bystander import Bystander
from gitplacer.model.workload import Identity
from gitplacer.problems import Location, Problem, Rejected, Severity
from gitplacer.profiles import ClusterProfile
from gitplacer.reported import read_capacity
from gitplacer.source import blindspots
from gitplacer.source.consent import consent_problems
from gitplacer.source.files import Memo
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.source.reading import Source, read_source
from gitplacer.source.scores import score_problems
from gitplacer.spanning import Spans
from gitplacer.tree import Tree
from gitplacer.units import Units, epochs_written
from gitplacer.variants import Variants

NOTHING_BY_HAND: Mapping[str, Any] = MappingProxyType({})
NOBODY_STANDS_BY: Mapping[str, Mapping[str, Bystander]] = MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """The inputs of a pass: what a decision may use, by the names of clusters and the ids of groups."""

    source: Source
    groups: Mapping[str, Group]
    capacity: Mapping[str, CapacitySnapshot]
    """What counts: of a cluster that sleeps or wakes, what it has when it is awake."""
    broken_capacity: frozenset[str]
    """Clusters whose snapshot cannot be used."""
    profiles: Mapping[str, ClusterProfile]
    """What each cluster can do."""
    variants: Variants
    """What objects are on each cluster."""
    records: Mapping[str, PlacementRecord]
    """As they are to be understood after what people did by hand (`heard`)."""
    broken_records: frozenset[str]
    """Groups whose record cannot be read."""
    deployment: Tree
    """The deployment tree, which `deployed_files` reads."""
    foreign_paths: frozenset[str]
    """Paths of the deployment repo that somebody else has changed since our last commit."""
    reverted: Mapping[str, RevertedMove]
    """Relocations of ours that somebody has reverted."""
    merged: Mapping[str, MergedMove]
    """Relocations that we proposed and somebody has merged."""
    now: datetime
    problems: tuple[Problem, ...]
    reported: Mapping[str, CapacitySnapshot]
    """What clusters reported, as far as it is believed."""
    epochs: Mapping[tuple[str, str], int]
    """The greatest epoch that was ever written to each sync unit, (cluster, unit), of the deployment repo."""
    states: Mapping[str, ClusterState]
    """The states of clusters that may sleep, as this pass finds them."""
    left_states: Mapping[str, ClusterState]
    """The same as the deployment repo has them."""
    held_states: Mapping[str, str]
    """Clusters whose state stays as it is, each with why."""
    removed: tuple[Removal, ...] | None
    """The removals that the deployment repo remembers; None where somebody else has changed that."""
    bystanders: Mapping[str, Mapping[str, Bystander]]
    """By cluster and id, groups that stay there and of which nothing else is known."""
    deployed_files: DeployedFiles = field(compare=False)

    def standby_of(self, cluster: str) -> Standby | None:
        """The standby of a cluster, None for one that never sleeps."""
        found = self.source.own.clusters.get(cluster)
        return found.spec.standby if found is not None else None

    def is_awake(self, cluster: str) -> bool:
        """Whether a cluster neither sleeps nor wakes."""
        return cluster not in self.states or self.states[cluster].state == "Active"

    def is_there(self, cluster: str) -> bool:
        """Whether there is a cluster that files can be written for."""
        sleeps, state = self.standby_of(cluster), self.states.get(cluster)
        return sleeps is None or state is None or standby.is_there(sleeps, state)

    def defers(self, group: Group, cluster: str) -> bool:
        """Whether a group's files are not written for a cluster yet, because there is no such cluster now."""
        sleeps = self.standby_of(cluster)
        if sleeps is None or self.is_there(cluster) or group.unit == PLATFORM:
            return False
        record = self.predecessor(group)
        placed = record is not None and any(e.name == cluster and e.state == "Placed" for e in record.clusters)
        return not placed and not standby.ignores(sleeps, group.namespace)

    def has_given_up(self, entry: RecordCluster) -> bool:
        """Whether a group waited for a cluster that did not come."""
        state = self.states.get(entry.name)
        return entry.state == "Waking" and state is not None and standby.is_given_up(state, self.now)

    def cannot_wake(self, cluster: str) -> str | None:
        """Why a cluster that is not awake takes nothing new, None where it is or can be called."""
        state = self.states.get(cluster)
        if cluster in self.held_states and (state is None or state.state != "Active"):
            return self.held_states[cluster]
        if state is None or not standby.is_given_up(state, self.now):
            return None
        return f"it did not come when it was called, and is left alone until {state.retry_at:%Y-%m-%dT%H:%M:%SZ}"

    def predecessor(self, group: Group) -> PlacementRecord | None:
        """
        The record of a group: its own, or one that its members stand in, best under an id that no group has any more.

        Stickiness follows the identity of what runs, so renaming or splitting a group moves nothing.
        """
        if group.id in self.records:
            return self.records[group.id]
        deciding = group.sized or group.members
        found = {record.id: record for m in deciding for record, _ in self.standing.get(m.identity, ())}
        return min(found.values(), key=lambda r: (r.id in self.groups, r.finished is not None, r.id), default=None)

    def tenant(self, record: PlacementRecord) -> Tenant | None:
        """Whose a recorded group is, by the files that it was made from."""
        if record.is_platform:
            return None
        tenancy = self.source.tenancy
        return next((owner for m in record.members if (owner := tenancy.owner(m.source)) is not None), None)

    def owner(self, record: PlacementRecord) -> str:
        """The name of the Tenant whose a recorded group is; '' where it is nobody's."""
        tenant = self.tenant(record)
        return tenant.name if tenant is not None else ""

    @cached_property
    def standing(self) -> Mapping[Identity, tuple[tuple[PlacementRecord, RecordMember], ...]]:
        """Each object that is deployed somewhere, or has run to its end, with the records that say so."""
        found: dict[Identity, list[tuple[PlacementRecord, RecordMember]]] = defaultdict(list)
        for record in self.records.values():
            for member in record.members if record.clusters or record.finished is not None else ():
                found[member.identity].append((record, member))
        return {identity: tuple(places) for identity, places in found.items()}

    def tells_of(self, record: PlacementRecord, group: Group) -> bool:
        """
        Whether what clusters report since the record was written is about this group: under this id, and with all the
        jobs it has. Otherwise its entries begin anew, so that only later snapshots count as evidence.
        """
        recorded = {member.identity for member in record.members}
        return record.id == group.id and all(m.identity in recorded for m in group.singletons)

    def deployed_clusters(self, group_id: str) -> tuple[str, ...]:
        """The clusters whose directories hold files of a group, for when its record cannot be read."""
        root = self.source.own.fleet.spec.deployment.root + "/"
        inside = f"/{WORKLOADS}/{group_id}/"
        return tuple(
            sorted({p[len(root) :].partition("/")[0] for p in self.deployment if p.startswith(root) and inside in p})
        )

    @cached_property
    def adrift(self) -> Mapping[Identity, str]:
        """
        The files of objects that are in no group and have something so wrong with them that this may be why: what cannot be read of a
        Service, an Ingress or a monitor may be whom it is for.
        """
        faulty = {item.identity: item.path for item in self.source.objects if item.held}
        for group in self.groups.values() if faulty else ():
            for member in (*group.members, *group.shared):
                faulty.pop(member.identity, None)
        return faulty

    @cached_property
    def spans(self) -> Spans:
        """What groups are that span clusters."""
        return Spans(self.source, self.variants, self.profiles)

    @cached_property
    def deployed(self) -> Deployed:
        """What is deployed, as gangs."""
        return Deployed(self.deployed_files, self.source, self.profiles)


def read_snapshot(
    *,
    source: Tree,
    capacity: Tree,
    deployment: Tree,
    foreign_paths: frozenset[str],
    now: datetime,
    memo: Memo,
    reverted: Mapping[str, RevertedMove] = NOTHING_BY_HAND,
    merged: Mapping[str, MergedMove] = NOTHING_BY_HAND,
    new_clones: Mapping[str, str] = MappingProxyType({}),
    asleep: Collection[str] = (),
    trusted: FleetSpec | None = None,
    bystanders: Mapping[str, Mapping[str, Bystander]] = NOBODY_STANDS_BY,
) -> Snapshot:
    """
    Read all inputs. `capacity` holds the snapshot files at its top; `new_clones` are clusters that this pass makes, each with the
    one that it is like, and `asleep` are some that it has put to sleep. `trusted` is what counts instead of what the source's Fleet
    says. `bystanders` are groups of which the trees tell nothing.

    Raises Rejected as `read_source` does. Paths in problems about capacity begin with the Fleet's capacity path,
    those about records with `placements/`.
    """
    read = read_source(source, memo, trusted)
    problems = [*read.problems]
    left_states, broken_states = read_states(deployment, memo, problems)
    models = {name: state.clone_of for name, state in left_states.items() if state.clone_of is not None}
    models |= new_clones
    read = with_clones(read, models)

    written_records, broken_records = read_records(deployment, memo, problems)
    grouping = group_objects(read, _running_members(written_records))
    problems += grouping.problems
    records = heard(written_records, reverted, merged, _cooldowns(read))

    units = Units(deployment, read.own.fleet.spec.deployment.root)
    epochs = epochs_written(units, records.values(), reverted.values())
    reported, broken_reports = read_capacity(capacity, read, epochs, now, memo, problems)
    held = held_states(read, left_states, broken_states, deployment, foreign_paths, problems)
    states = states_now(read, reported, left_states, broken_states, models, now)
    states |= {name: standby.put_to_sleep(states[name], now) for name in asleep if name in states}
    counted, broken_capacity = as_counted(read, reported, broken_reports, states, now)
    profiles = _profiles(read, counted, grouping.groups.values())
    problems.extend(_types_not_counted(read, counted, now))

    known = Known(read, profiles, queues(grouping.groups.values(), records.values()), grouping.groups, records)
    groups = checks.checked(known, grouping.groups, problems)
    lost_models = without_a_model(read, left_states, written_records)
    if lost_models:
        raise Rejected({*problems, *lost_models})
    problems.extend(_about_own_objects(read, groups.keys() | broken_records, records, now))
    removed = None if REMOVALS_FILE in foreign_paths else read_removals(deployment, memo, problems)
    lost_clusters = _clusters_missing(read, records, source)
    if lost_clusters:
        raise Rejected({*problems, *lost_clusters})
    return Snapshot(
        source=read,
        groups=groups,
        capacity=counted,
        broken_capacity=broken_capacity,
        profiles=profiles,
        variants=known.variants,
        records=records,
        broken_records=broken_records,
        deployment=deployment,
        foreign_paths=foreign_paths,
        reverted=reverted,
        merged=merged,
        now=now,
        problems=tuple(sorted(set(problems))),
        reported=reported,
        epochs=epochs,
        states=states,
        left_states=left_states,
        held_states=held,
        removed=removed,
        bystanders=dict(bystanders),  # which is sent to other processes
        deployed_files=DeployedFiles(deployment, memo),
    )


def snapshot_of(
    inputs: Inputs,
    memo: Memo,
    *,
    new_clones: Mapping[str, str] = MappingProxyType({}),
    asleep: Collection[str] = (),
    bystanders: Mapping[str, Mapping[str, Bystander]] = NOBODY_STANDS_BY,
) -> Snapshot:
    """`read_snapshot` of the inputs of a pass. Raises Rejected."""
    return read_snapshot(
        source=inputs.source,
        capacity=inputs.capacity,
        deployment=inputs.deployment,
        foreign_paths=frozenset(inputs.foreign),
        reverted=inputs.reverted,
        merged=inputs.merged,
        now=inputs.now,
        memo=memo,
        new_clones=new_clones,
        asleep=asleep,
        trusted=inputs.trusted,
        bystanders=bystanders,
    )


def _types_not_counted(source: Source, capacity: Mapping[str, CapacitySnapshot], now: datetime) -> Iterable[Problem]:
    """Node types of which nothing can be added for want of a word; said only where there is a snapshot that might have it."""
    for name, snapshot in capacity.items():
        cluster = source.own.clusters[name]
        if cluster.spec.autoscaler is not None:
            for type_name, why in Catalogue.of(cluster, snapshot, now).not_counted(cluster.spec.autoscaler):
                message = f"node type {type_name} of cluster {name} {why}; none of them is counted on"
                hint = "write what is missing into the Cluster's nodeTypes"
                location = source.own.places[f"Cluster/{name}"]
                yield Problem(location, "NodeTypeNotCounted", message, hint, severity=Severity.WARNING)


def _running_members(records: Mapping[str, PlacementRecord]) -> set[Identity]:
    """The objects of groups that are deployed somewhere, those of the platform not among them."""
    running = (record for record in records.values() if record.clusters and not record.is_platform)
    return {member.identity for record in running for member in record.members}


def _cooldowns(source: Source) -> dict[str, timedelta]:
    """How long a group is left alone after a relocation, by policy."""
    return {policy.name: timedelta(seconds=policy.spec.relocation.cooldown) for policy in source.own.policies}


def _profiles(
    source: Source, capacity: Mapping[str, CapacitySnapshot], groups: Collection[Group]
) -> dict[str, ClusterProfile]:
    """What each cluster can do, by what it shows and what the source brings to it."""
    comes_to = coming(source, groups)
    return {
        name: ClusterProfile.of(cluster, capacity.get(name), comes_to(cluster))
        for name, cluster in source.own.clusters.items()
    }


def _about_own_objects(
    source: Source, group_ids: Set[str], records: Mapping[str, PlacementRecord], now: datetime
) -> Iterator[Problem]:
    """What is wrong with Approvals, policies and scores, beside the groups and clusters that there are."""
    own = source.own
    carried_out = {record.id: record.approvals or () for record in records.values()}
    yield from consent_problems(own.approvals, own.clusters, group_ids | carried_out.keys(), carried_out, now)
    yield from too_many_problems(own.policies, own.clusters, own.places)
    yield from score_problems(own.scores, own.policies, own.clusters, now)


def _clusters_missing(source: Source, records: Mapping[str, PlacementRecord], tree: Tree) -> list[Problem]:
    """The files that may have held a Cluster which has groups and is nowhere in the source."""
    missing = {entry.name for record in records.values() for entry in record.clusters} - source.own.clusters.keys()
    suspects = {path: name for name in sorted(missing) for path in source.may_have_held(name)}
    return [_cluster_missing(path, name, tree) for path, name in suspects.items()]


def _cluster_missing(path: str, cluster: str, source: Tree) -> Problem:
    missing = f"cluster {cluster} has groups and is nowhere in the source"
    if source.entries[path].is_text:
        message, hint = (
            f"{missing}; this file may have described it",
            "mend the file; to give the cluster up, remove it",
        )
    else:
        message = f"{missing}; it may have been described here, where nobody looks"
        hint = blindspots.HINT
    return Problem(Location(path), "ClusterMissing", message, hint)

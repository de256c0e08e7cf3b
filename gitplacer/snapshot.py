"""
Everything a decision may use, read and checked: the fleet, its groups, its capacity, and what is placed already.

Trees go in; a Snapshot comes out, or Rejected with every problem found. What could not be read is never
mistaken for what is not there: files, records and capacity that are broken are named, so that whoever decides
leaves alone what depends on them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from gitplacer import checks, standby
from gitplacer.belief import (
    DOUBTED,
    EARLIER,
    NODES,
    Gist,
    doubt_of,
    doubted,
    is_from_the_future,
    jump,
    never_written,
)
from gitplacer.clones import with_clones, without_a_model
from gitplacer.deployed import Deployed, DeployedFiles
from gitplacer.dispatching import queues, too_many_problems
from gitplacer.documents import Document
from gitplacer.grouping import Group, group_objects
from gitplacer.heard import heard
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.clusterstate import CLUSTER_STATES, ClusterState
from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.parse import is_own, misplaced, parse_own
from gitplacer.kinds.record import RECORDS, PlacementRecord, RecordCluster, RecordMember
from gitplacer.kinds.removals import GUARDS, REMOVALS, Removal, Removals
from gitplacer.kinds.standby import Standby
from gitplacer.kinds.tenant import Tenant
from gitplacer.known import Known
from gitplacer.machines import Catalogue
from gitplacer.model import quantity
from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.model.workload import Identity
from gitplacer.plausible import beyond_limits, implausible
from gitplacer.problems import Location, Problem, Rejected, Severity, meant
from gitplacer.profiles import ClusterProfile
from gitplacer.source.consent import consent_problems
from gitplacer.source.files import MAX_SNAPSHOT, READ_ENDINGS, Memo, Reading, read_documents
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.source.reading import Source, read_source
from gitplacer.source.scores import score_problems
from gitplacer.source.standby import STANDBY_FOLDER
from gitplacer.spanning import Spans
from gitplacer.tree import Tree
from gitplacer.units import Units, epochs_written
from gitplacer.variants import Variants

_Kind = TypeVar("_Kind", bound=Model)

REMOVALS_FILE = f"{GUARDS}/{REMOVALS}.yaml"
"""Where the deployment repo remembers removals."""

NOTHING_BY_HAND: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """
    The inputs of a pass.

    `deployment` is the deployment tree, and `deployed_files` reads it.
    `broken_capacity` are clusters whose snapshot cannot be used; `profiles` is what each cluster can do
    and `variants` what objects are there; `broken_records` are ids of groups whose record
    cannot be read; `foreign_paths` are paths of the deployment repo that somebody else changed since our last
    commit; `reverted` and `merged` are, by group, what somebody did with relocations of ours.

    `capacity` is what counts: of a cluster that sleeps or wakes what it has when it is awake. `reported` is what was reported.
    `epochs` is the greatest that was ever written to each sync unit, (cluster, unit), of the deployment repo.
    `states` are those of clusters that may sleep, as this pass finds them, and `left_states` those that the deployment repo has;
    `held_states` are clusters whose state stays as it is, each with why. `removed` are the removals that the deployment repo remembers; None
    where somebody else changed that.
    """

    source: Source
    groups: Mapping[str, Group]
    capacity: Mapping[str, CapacitySnapshot]
    broken_capacity: frozenset[str]
    profiles: Mapping[str, ClusterProfile]
    variants: Variants
    records: Mapping[str, PlacementRecord]
    broken_records: frozenset[str]
    deployment: Tree
    foreign_paths: frozenset[str]
    reverted: Mapping[str, RevertedMove]
    merged: Mapping[str, MergedMove]
    now: datetime
    problems: tuple[Problem, ...]
    reported: Mapping[str, CapacitySnapshot]
    epochs: Mapping[tuple[str, str], int]
    states: Mapping[str, ClusterState]
    left_states: Mapping[str, ClusterState]
    held_states: Mapping[str, str]
    removed: tuple[Removal, ...] | None
    deployed_files: DeployedFiles = field(compare=False)

    def may_sleep(self, cluster: str) -> Standby | None:
        """The standby of a cluster, None for one that never sleeps."""
        found = self.source.own.clusters.get(cluster)
        return found.spec.standby if found is not None else None

    def is_awake(self, cluster: str) -> bool:
        """Whether a cluster neither sleeps nor wakes."""
        return cluster not in self.states or self.states[cluster].state == "Active"

    def is_there(self, cluster: str) -> bool:
        """Whether there is a cluster that files can be written for."""
        sleeps, state = self.may_sleep(cluster), self.states.get(cluster)
        return sleeps is None or state is None or standby.is_there(sleeps, state)

    def defers(self, group: Group, cluster: str) -> bool:
        """Whether a group's files are not written for a cluster yet, because there is no such cluster now."""
        sleeps = self.may_sleep(cluster)
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
) -> Snapshot:
    """
    Read all inputs. `capacity` holds the snapshot files at its top; `new_clones` are clusters that this pass makes, each with the
    one that it is like, and `asleep` are some that it has put to sleep. `trusted` is what counts instead of what the source's Fleet
    says.

    Raises Rejected as `read_source` does. Paths in problems about capacity begin with the Fleet's capacity path,
    those about records with `placements/`.
    """
    read = read_source(source, memo, trusted)
    problems = [*read.problems]
    left_states, broken_states = _read_states(deployment, memo, problems)
    models = {name: state.clone_of for name, state in left_states.items() if state.clone_of is not None}
    read = with_clones(read, {**models, **new_clones})
    records, broken_records = read_records(deployment, memo, problems)
    running = (record for record in records.values() if record.clusters and not record.is_platform)
    grouping = group_objects(read, {member.identity for record in running for member in record.members})
    problems += grouping.problems
    cooldowns = {policy.name: timedelta(seconds=policy.spec.relocation.cooldown) for policy in read.own.policies}
    as_heard = heard(records, reverted, merged, cooldowns)
    units = Units(deployment, read.own.fleet.spec.deployment.root)
    epochs = epochs_written(units, as_heard.values(), reverted.values())
    reported, broken_reports = _read_capacity(capacity, read, epochs, now, memo, problems)
    held = _held_states(read, left_states, broken_states, deployment, foreign_paths, problems)
    states = _states(read, reported, left_states, broken_states, {**models, **new_clones}, now)
    states |= {name: standby.put_to_sleep(states[name], now) for name in asleep if name in states}
    capacities, broken_capacity = _as_counted(read, reported, broken_reports, states, now)
    profiles = {name: ClusterProfile.of(cluster, capacities.get(name)) for name, cluster in read.own.clusters.items()}
    problems.extend(_types_not_counted(read, capacities, now))
    known = Known(read, profiles, queues(grouping.groups.values(), as_heard.values()))
    groups = checks.checked(known, grouping.groups, problems)
    lost_models = without_a_model(read, left_states, records)
    if lost_models:
        raise Rejected({*problems, *lost_models})
    carried_out = {record.id: record.approvals or () for record in records.values()}
    known_ids = groups.keys() | carried_out.keys() | broken_records
    problems.extend(consent_problems(read.own.approvals, read.own.clusters, known_ids, carried_out, now))
    problems.extend(too_many_problems(read.own.policies, read.own.clusters, read.own.places))
    problems.extend(score_problems(read.own.scores, read.own.policies, read.own.clusters, now))
    records = as_heard
    removed = None if REMOVALS_FILE in foreign_paths else _read_removals(deployment, memo, problems)
    missing = {entry.name for record in records.values() for entry in record.clusters} - read.own.clusters.keys()
    suspects = {path: name for name in sorted(missing) for path in read.may_have_held(name)}
    if suspects:
        raise Rejected({*problems, *(_cluster_missing(path, name) for path, name in suspects.items())})
    return Snapshot(
        source=read,
        groups=groups,
        capacity=capacities,
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
        deployed_files=DeployedFiles(deployment, memo),
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


def _cluster_missing(path: str, cluster: str) -> Problem:
    message = f"cluster {cluster} has groups and is nowhere in the source; this file may have described it"
    hint = "mend the file; to give the cluster up, remove it"
    return Problem(Location(path), "ClusterMissing", message, hint)


def _read_capacity(
    tree: Tree,
    source: Source,
    epochs: Mapping[tuple[str, str], int],
    now: datetime,
    memo: Memo,
    problems: list[Problem],
) -> tuple[dict[str, CapacitySnapshot], frozenset[str]]:
    """
    What clusters reported, as far as it is believed, and the clusters of which nothing is. Where the newest snapshot of one is not
    believed and an earlier one is there, that one counts on. `epochs` are the greatest that were ever written.
    """
    folder = source.own.fleet.spec.capacity.path + "/"
    parts: dict[str, list[str]] = {part: [] for part in ("", EARLIER, DOUBTED)}
    for path in tree:
        part = path.partition("/")[0]
        parts[part if part in parts and "/" in path else ""].append(path)
    newest, broken = _read_snapshots(tree, parts[""], source, memo, problems)
    earlier = {
        name: found
        for name, (_, found) in _read_snapshots(tree, parts[EARLIER], source, memo, [])[0].items()
        if never_written(found, epochs) is None and beyond_limits(found, source.own.clusters[name].spec.limits) is None
    }
    doubts = {_stem(path): tree.read(path) for path in parts[DOUBTED] if tree.entries[path].is_text}
    believed: dict[str, CapacitySnapshot] = {}
    for name in sorted(source.own.clusters.keys() & (newest.keys() | broken | doubts.keys())):
        before, after = earlier.get(name), None
        if name in newest:
            document, after = newest[name]
            flaw = _beyond_belief(document, after, before, source, epochs, now)
            if flaw is not None:
                problems.append(flaw)
                after = None
        if name in doubts:
            problems.append(Problem(Location(f"{folder}{name}.yaml"), *doubt_of(doubts[name])))
        if after is not None and name not in doubts:
            believed[name] = after
        elif after is not None or before is not None:
            believed[name] = doubted(after or before)  # type: ignore[arg-type]
    return believed, frozenset((broken | newest.keys() | doubts.keys()) - believed.keys())


def _read_snapshots(
    tree: Tree, paths: Iterable[str], source: Source, memo: Memo, problems: list[Problem]
) -> tuple[dict[str, tuple[Document, CapacitySnapshot]], frozenset[str]]:
    """The snapshots in some files, by cluster, and the clusters whose files have one that cannot be used."""
    folder = source.own.fleet.spec.capacity.path + "/"
    wanted = [path for path in paths if path.endswith(READ_ENDINGS)]
    reading = read_documents(tree, wanted, memo, folder=folder, max_bytes=MAX_SNAPSHOT)
    problems.extend(reading.problems)
    found: dict[str, tuple[Document, CapacitySnapshot]] = {}
    broken = {_stem(path) for path in reading.broken}
    for path, item in _single_objects(CapacitySnapshot, reading, folder, problems):
        if item is None:
            broken.add(_stem(path))
            continue
        document, parsed = item
        if parsed.name != _stem(path):
            message = f"the snapshot of {parsed.name} is in a file called {_stem(path)}"
            hint = "a cluster testifies only about itself: name the file after it"
            problems.append(document.problem("SnapshotName", message, hint, path=("metadata", "name")))
            broken.add(_stem(path))  # the other one's own file counts: nobody else can take its word away
        elif parsed.name not in source.own.clusters:
            message = f"there is no Cluster {parsed.name} in the source"
            hint = meant(parsed.name, source.own.clusters)
            problems.append(
                document.problem("UnknownCluster", message, hint, path=("metadata", "name"), severity=Severity.WARNING)
            )
        elif parsed.name in found:
            problems.append(document.problem("DuplicateName", f"{parsed.name} has two snapshots", "remove one"))
            broken.add(parsed.name)
        else:
            found[parsed.name] = document, parsed
            flaws = list(implausible(parsed, document))
            problems.extend(flaws)
            if any(problem.severity is Severity.ERROR for problem in flaws):
                broken.add(parsed.name)
    return {name: item for name, item in sorted(found.items()) if name not in broken}, frozenset(broken)


def single_snapshot(tree: Tree, path: str, memo: Memo) -> tuple[CapacitySnapshot, tuple[Problem, ...]]:
    """
    The snapshot in one file, whatever that is called, and what is to be told of it. Raises Rejected where it cannot be used, with
    everything that is wrong with it.
    """
    reading = read_documents(tree, [path], memo, max_bytes=MAX_SNAPSHOT)
    problems = [*reading.problems]
    for _, item in _single_objects(CapacitySnapshot, reading, "", problems, "`gitplacer snapshot -o FILE` writes one"):
        if item is not None:
            document, parsed = item
            problems.extend(implausible(parsed, document))
            if not any(problem.severity is Severity.ERROR for problem in problems):
                return parsed, tuple(problems)
    raise Rejected(set(problems))


def _beyond_belief(
    document: Document,
    found: CapacitySnapshot,
    before: CapacitySnapshot | None,
    source: Source,
    epochs: Mapping[tuple[str, str], int],
    now: datetime,
) -> Problem | None:
    """Why a snapshot is not believed, held against the clock, what was ever written, its Cluster, and the one before it."""
    if is_from_the_future(found.observed_at, now):
        message = f"was taken at {found.observed_at:%Y-%m-%dT%H:%M:%SZ}, and it is {now:%Y-%m-%dT%H:%M:%SZ}"
        return document.problem(
            "SnapshotFromFuture", message, "set the clock of whoever writes it", path=("observedAt",)
        )
    lie = never_written(found, epochs)
    if lie is not None:
        unit, said, written = lie
        message = f"says that epoch {said} of {unit} is applied, and none beyond {written} was ever written"
        hint = "if the deployment branch was turned back, wait until the cluster has synced it; else find out who writes the snapshot"
        return document.problem("EpochNeverWritten", message, hint, path=("applied", unit))
    jumps, cluster = source.own.fleet.spec.capacity.jumps, source.own.clusters[found.name]
    beyond = beyond_limits(found, cluster.spec.limits)
    if beyond is not None:
        path, more = beyond
        hint = "if it is true, raise the Cluster's limits; if not, find out who writes the snapshot"
        return document.problem("SnapshotBeyondLimits", f"says that {more}", hint, path=path, key=True)
    leap = jump(Gist.of(before), Gist.of(found), jumps, cluster) if before is not None else None
    if before is None or leap is None:
        return None
    was, has = (
        f"{n} nodes" if leap.what == NODES else quantity.render(leap.what, n) for n in (leap.before, leap.after)
    )
    whose = f"node {leap.node}" if leap.node else found.name
    what = "" if leap.what == NODES else f" {leap.what}"
    message = f"{whose} has {has}{what}, and had {was} at {before.observed_at:%Y-%m-%dT%H:%M:%SZ}"
    hint = "it is believed when later snapshots say the same; if it is wrong, look at whoever writes it"
    return document.problem("SnapshotJump", message, hint, path=("nodes",), key=True)


def read_records(tree: Tree, memo: Memo, problems: list[Problem]) -> tuple[dict[str, PlacementRecord], frozenset[str]]:
    """The records of a deployment tree, and the ids of those that cannot be read. What is wrong is added to `problems`."""
    misnamed = "RecordName", "the record of {} is in a file called {}"
    return _read_named(PlacementRecord, tree, RECORDS, lambda record: record.id, misnamed, memo, problems)


def _read_states(tree: Tree, memo: Memo, problems: list[Problem]) -> tuple[dict[str, ClusterState], frozenset[str]]:
    """The states of clusters in the deployment repo, and the clusters whose state cannot be read."""
    misnamed = "StateName", "the state of cluster {} is in a file called {}"
    return _read_named(ClusterState, tree, CLUSTER_STATES, lambda state: state.name, misnamed, memo, problems)


def _read_removals(tree: Tree, memo: Memo, problems: list[Problem]) -> tuple[Removal, ...] | None:
    """What the deployment repo remembers of removals, None where that cannot be read."""
    if REMOVALS_FILE not in tree:
        return ()
    reading = read_documents(tree, [REMOVALS_FILE], memo)
    problems.extend(reading.problems)
    for _, item in _single_objects(Removals, reading, "", problems):
        if item is not None:
            return item[1].removed
    return None


def _read_named(
    kind: type[_Kind],
    tree: Tree,
    directory: str,
    name_of: Callable[[_Kind], str],
    misnamed: tuple[str, str],
    memo: Memo,
    problems: list[Problem],
) -> tuple[dict[str, _Kind], frozenset[str]]:
    """
    What we keep in a directory of the deployment repo, sorted by the names of its files, and the names of those that cannot be
    read. `misnamed` is the code and message about an object in a file that is called otherwise.
    """
    folder, below = directory + "/", tree.under(directory)
    reading = read_documents(below, [path for path in below if path.endswith(".yaml")], memo, folder=folder)
    problems.extend(reading.problems)
    broken = {path.removesuffix(".yaml") for path in reading.broken}
    found: dict[str, _Kind] = {}
    for path, item in _single_objects(kind, reading, folder, problems):
        name = path.removesuffix(".yaml")
        if item is None:
            broken.add(name)
            continue
        document, parsed = item
        if name_of(parsed) == name:
            found[name] = parsed
        else:
            broken.add(name)
            code, message = misnamed
            said = message.format(name_of(parsed), name)
            problems.append(document.problem(code, said, "restore it from the history", path=("metadata",)))
    return dict(sorted(found.items())), frozenset(broken)


def _states(
    source: Source,
    reported: Mapping[str, CapacitySnapshot],
    left: Mapping[str, ClusterState],
    broken: frozenset[str],
    models: Mapping[str, str],
    now: datetime,
) -> dict[str, ClusterState]:
    """The state of each cluster that may sleep, as this pass finds it. Of one whose file is broken nobody knows it."""
    found = {}
    for name, cluster in source.own.clusters.items():
        sleeps = cluster.spec.standby
        if sleeps is None or name in broken:
            continue
        state = left.get(name) or standby.begun(cluster, reported.get(name), now, models.get(name))
        manager = sleeps.manifests.render_into if sleeps.manifests is not None else ""
        found[name] = standby.settled(sleeps, state, reported.get(name), reported.get(manager), now)
    return found


def _held_states(
    source: Source,
    left: Mapping[str, ClusterState],
    broken: frozenset[str],
    deployment: Tree,
    foreign_paths: frozenset[str],
    problems: list[Problem],
) -> dict[str, str]:
    """Clusters whose state stays as it is, each with why. What somebody else changed is named."""
    root = source.own.fleet.spec.deployment.root
    found = dict.fromkeys(sorted(source.sleeping.faulty), "its standby manifests have problems")
    found |= {name: f"{CLUSTER_STATES}/{name}.yaml cannot be read" for name in sorted(broken)}
    for name, cluster in source.own.clusters.items():
        if cluster.spec.standby is None or name in found:
            continue
        rendered = left[name].manifests if name in left else None
        ours = (
            {f"{root}/{rendered.into}/{PLATFORM}/{file}" for file in rendered.files} if rendered is not None else set()
        )
        changed = sorted(foreign_paths & {f"{CLUSTER_STATES}/{name}.yaml", *ours})
        changed += [path for path in _in_the_way(name, source, deployment) if path not in ours]
        for path in changed:
            message = f"somebody else wrote this file; cluster {name} stays as it is"
            problems.append(Problem(Location(path), "StandbyChanged", message, "undo that, or remove the file"))
            found[name] = f"somebody else changed {path}"
    return found


def _in_the_way(name: str, source: Source, deployment: Tree) -> list[str]:
    """Files of others where the manifests of a cluster would be written."""
    manifests = source.sleeping.manifests.get(name)
    if manifests is None:
        return []
    folder = f"{source.own.fleet.spec.deployment.root}/{manifests.into}/{PLATFORM}/{STANDBY_FOLDER}/{name}/"
    wanted = {folder + item.name for item in (*manifests.active, *manifests.standby)}
    return sorted(path for path in wanted if path in deployment)


def _as_counted(
    source: Source,
    reported: Mapping[str, CapacitySnapshot],
    broken: frozenset[str],
    states: Mapping[str, ClusterState],
    now: datetime,
) -> tuple[dict[str, CapacitySnapshot], frozenset[str]]:
    """What counts as the capacity of each cluster, and the clusters of which nothing counts."""
    counted, unusable = dict(reported), set(broken)
    for name, state in states.items():
        if state.state != "Active":
            awake = standby.as_awake(source.own.clusters[name], reported.get(name), now)
            counted.pop(name, None)
            if awake is not None:
                counted[name] = awake
                unusable.discard(name)
    return dict(sorted(counted.items())), frozenset(unusable)


def _single_objects(
    kind: type[_Kind], reading: Reading, folder: str, problems: list[Problem], hint: str = ""
) -> Iterable[tuple[str, tuple[Document, _Kind] | None]]:
    """
    The one object of each file, with its document; None for a file without one of the kind, or with several. `hint` says what
    to do, where that is not to keep what is there elsewhere.
    """
    for path, items in sorted(reading.documents.items()):
        if path in reading.broken:
            continue
        if len(items) != 1:
            has = f"holds {len(items)} documents" if items else "holds no document"
            said = f"{has}, and must hold exactly one: a {kind.__name__}"
            apart = "give each a file of its own" if items else ""
            problems.append(Problem(Location(folder + path), "NotOneDocument", said, hint or apart))
            yield path, None
            continue
        document = items[0].document
        parsed = _parse_as(kind, document, problems, hint or "move it elsewhere")
        yield path, None if parsed is None else (document, parsed)


def _parse_as(kind: type[_Kind], document: Document, problems: list[Problem], hint: str) -> _Kind | None:
    parsed = parse_own(document) if is_own(document) else None
    if isinstance(parsed, kind):
        return parsed
    if isinstance(parsed, list):
        problems.extend(parsed)
    else:
        problems.append(misplaced(document, kind.__name__, hint))
    return None


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]

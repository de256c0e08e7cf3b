"""
The deployment tree while a pass changes it, one group after another.

Only what records and sentinels show to be ours is written or removed; every other file is out of reach, because
nothing here can name it. What changes in a unit counts its epoch up; what does not change is not written.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Literal

from gitplacer.announcements import FOLDER, MARK, announcements
from gitplacer.charts import FOLDER as CHARTS
from gitplacer.charts import MARK as CHART_MARK
from gitplacer.charts import chart_file, charts_on, release
from gitplacer.dispatching import is_started, listed, managers
from gitplacer.documents import Document, parse
from gitplacer.grouping import Group
from gitplacer.kinds.clusterstate import CLUSTER_STATES, RenderedManifests
from gitplacer.kinds.fleet import synced
from gitplacer.kinds.record import (
    BETWEEN,
    RECORDS,
    PlacementRecord,
    RecordMember,
    dispatched_over,
)
from gitplacer.kinds.removals import Removal
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.decision import Action, ClusterRole, Decision, Finding, Phase, Reason
from gitplacer.multikueue import FOLDER as MULTIKUEUE_FOLDER
from gitplacer.multikueue import MARK as MULTIKUEUE_MARK
from gitplacer.multikueue import config, config_file, policy_of
from gitplacer.placement.holds import consent_to_removal
from gitplacer.placement.overlaps import Overlaps
from gitplacer.placement.ties import held_with, ties
from gitplacer.placement.updating import Edited
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.problems import Location, Problem, Rejected, Severity
from gitplacer.records import Records, written_on
from gitplacer.relocation.guards import is_counted, lately_removed
from gitplacer.render import (
    FileNames,
    Placed,
    Renderer,
    Rendering,
    namespace_file,
    namespace_manifest,
    needed_namespaces,
    record_file,
    removals_file,
    sentinel,
    state_file,
)
from gitplacer.sleepers import Sleepers
from gitplacer.snapshot import REMOVALS_FILE, Snapshot
from gitplacer.source.files import Memo
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS, SourceObject, identity_of
from gitplacer.source.workloadkinds import is_declared
from gitplacer.tree import Changes, Content, Tree
from gitplacer.units import METADATA, UNITS, Units, unit_of
from gitplacer.updates import Updates

_TOLD = {
    "DecisionNotOurs": "which clusters the group is on",
    "DispatchNotOurs": "which clusters are nominated",
}
"""What is not told where somebody else's file is in the way, by the problem that there is then."""


def refuse_foreign_root(snapshot: Snapshot, deployment: Tree) -> None:
    """Raise Rejected if what would be written over belongs to somebody else: to Flux, a hydrator, or a person."""
    fleet = snapshot.source.own.fleet
    root = fleet.spec.deployment.root + "/"
    place = snapshot.source.own.places[f"Fleet/{fleet.metadata.name}"]
    messages = set()
    units = Units(deployment, fleet.spec.deployment.root)
    for path in deployment:
        if path.startswith(root) and "/flux-system/" in path:
            messages.add(f"{root} of the deployment repo holds {path}: Flux was bootstrapped into it")
        unit = units.of(path)
        if unit is not None and unit[0] in snapshot.source.own.clusters and unit not in units.sentinels:
            messages.add(f"{root}{unit[0]}/{unit[1]}/ of the deployment repo holds files and no {SENTINEL} of ours")
    if METADATA in deployment and not units.sentinels:
        messages.add(
            f"the deployment branch has a {METADATA} and nothing of ours below {root}: another fleet or hydrator writes it"
        )
    own = "a branch" if METADATA in deployment and not units.sentinels else "a root or a branch"
    hint = f"give gitplacer {own} of its own (spec.deployment of the Fleet)"
    if messages:
        raise Rejected({*snapshot.problems, *(Problem(place, "NotOurs", message, hint) for message in messages)})


def _hold(decision: Decision, finding: Finding) -> Decision:
    """A decision that was possible but for its files, as a hold."""
    blocked = tuple(finding.subject.split(", "))
    held = replace(decision, action=Action.HOLD, after=decision.before, finding=finding, reasons={}, claim=None)
    return replace(held, blocked_by=blocked, updated_in_place=False)


class Layout:
    """`apply` decisions, then `take_changes` for a commit of them; `tree` is the outcome so far."""

    def __init__(self, snapshot: Snapshot, source: Tree, memo: Memo) -> None:
        own = snapshot.source.own
        deployment = snapshot.deployment
        self.problems: list[Problem] = []
        self.updated: set[str] = set()
        """Groups whose files on some cluster were changed."""
        self.started: set[str] = set()
        """Clusters whose directories were begun."""
        self.snapshot = self._snapshot = snapshot
        self._clusters = own.clusters
        self._spec = own.fleet.spec
        self._before = deployment
        self._units = Units(deployment, own.fleet.spec.deployment.root)
        self._epochs = dict(snapshot.epochs)
        self._ids = {path: entry.oid for path, entry in deployment.entries.items()}
        self._all: dict[str, bytes | None] = {}
        self._pending: dict[str, bytes | None] = {}
        self._touched: set[tuple[str, str]] = set()
        self._count_on(snapshot)
        self._renderer = Renderer(snapshot.source, snapshot.variants, snapshot.spans, source, memo)
        self._updates = Updates(snapshot)
        self._renderings: dict[tuple[str, str, Counts], Rendering] = {}
        self._sleep = Sleepers(snapshot.source.sleeping, source)
        self._kept: set[str] = set()
        self._recorded = dict(snapshot.records)
        """The record of each group as it is now."""
        self._names = FileNames(own.fleet.spec)
        self._placed: dict[str, tuple[Placed, ...]] = {}
        self._claimed: dict[str, set[str]] = {}
        self._claims: dict[str, set[str]] = defaultdict(set)
        for record in snapshot.records.values():
            unit = unit_of(record)
            for member in record.members:
                self._names.keep(unit, member)
            self._claim(record.id, unit, record.members, record.having, _between(record))
        self._ours = frozenset(self._claims)
        self._told = snapshot.reverted.keys() | snapshot.merged.keys()
        """Groups whose records are not as they stand in the files."""

    def _count_on(self, snapshot: Snapshot) -> None:
        """A revert changes what units hold, and turns their epochs back: they go on from those that were reached."""
        for move in snapshot.reverted.values():
            for cluster, unit_name, epoch in move.epochs:
                unit = cluster, unit_name
                if cluster in self._clusters and self._epochs.get(unit, 0) <= epoch:
                    self._epochs[unit] = epoch
                    self._touched.add(unit)

    def fork(self) -> Layout:
        """The tree as it is now, to try something on it. Nothing may be pending."""
        assert not self._pending
        twin = copy.copy(self)
        kept = (
            "_epochs", "_ids", "_all", "_pending", "_touched", "_kept", "_recorded", "problems", "updated", "started",
        )  # fmt: skip
        for name in kept:
            setattr(twin, name, copy.copy(getattr(self, name)))
        twin._claimed = {group_id: set(paths) for group_id, paths in self._claimed.items()}
        twin._claims = defaultdict(set, {path: set(groups) for path, groups in self._claims.items()})
        return twin

    def feasible(self, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions, with holds where a file that one needs cannot be made or would replace somebody else's."""
        self._foresee(
            (group, name, decision.counts_on(name))
            for decision in decisions
            if decision.action is not Action.HOLD and (group := self._snapshot.groups.get(decision.group)) is not None
            for name in decision.after
            if name in self._clusters and decision.role_on(name) != "Remote"
            if (group.id, name, decision.counts_on(name)) not in self._renderings
        )
        tested = [self._feasible(decision) for decision in decisions]
        stopped = [new.group for new, old in zip(tested, decisions, strict=True) if new is not old]
        together = held_with(ties(self._snapshot), stopped) if stopped else {}
        return [
            _hold(d, together[d.group]) if d.group in together and d.action is not Action.HOLD else d for d in tested
        ]

    def _feasible(self, decision: Decision) -> Decision:
        group = self._snapshot.groups.get(decision.group)
        if group is None or (decision.action is Action.HOLD and not decision.updated_in_place):
            return decision
        # Nobody should have to leave for a group that could not be rendered there.
        claimed = (decision.claim.cluster,) if decision.claim and decision.claim.displaced else ()
        gone = [name for name in decision.after if name not in self._clusters]
        if gone and group.unit == WORKLOADS and self._has_new_files(group):
            return _hold(decision, Finding(code=Reason.UNKNOWN_CLUSTER, subject=", ".join(gone)))
        problems: set[Problem] = set()
        foreign = set()
        left = decision.move.sources if decision.move is not None and decision.phase is not Phase.ADD else ()
        for name in (*decision.after, *claimed):
            if name in self._clusters and name not in left and name not in decision.frozen:
                rendering = self._rendered(group, decision, name)
                problems.update(rendering.problems)
                foreign |= self._not_ours(name, rendering)
                foreign |= self._in_the_way(self._wanted(group, decision, name, rendering))
                if name in decision.files_before:
                    problems.update(self._told_of_updates(group, name, rendering))
        if decision.finding.code is Reason.UPGRADE_DOES_NOT_FIT:
            # What could not be written where it runs does not move it either: whether it would fit there depends on who else comes.
            for name in set(decision.files_before) - set(decision.after) & self._clusters.keys():
                told = self._told_of_updates(group, name, self._rendering(group, name, decision.counts_on(name)))
                problems.update(problem for problem in told if problem.severity is Severity.ERROR)
        for name in decision.dispatch.nominated if decision.dispatch is not None else ():
            rendering = self._renderer.render_beside(group, self._files_of(group), self._clusters[name])
            problems.update(rendering.problems)
            foreign |= self._not_ours(name, rendering)
            foreign |= self._in_the_way(self._wanted(group, decision, name, rendering))
        for name in {*decision.after, *decision.files_before}:
            foreign |= {path for unit in UNITS if (path := self._units.replaced_sentinel(name, unit)) is not None}
        record = self._snapshot.predecessor(group)
        if decision.phase is Phase.LEAVE and record is not None:
            between = {f"{BETWEEN}/{member.file}" for member in record.members}
            foreign |= {path for path in between if path in self._ids and path not in self._ours}
        if foreign:
            return _hold(decision, Finding(code=Reason.FOREIGN_CHANGE, subject=", ".join(sorted(foreign))))
        self.problems.extend(problems)
        if any(problem.severity is Severity.ERROR for problem in problems):
            subject = ", ".join(sorted({p.code for p in problems if p.severity is Severity.ERROR}))
            held = _hold(decision, Finding(code=Reason.HAS_PROBLEMS, subject=subject))
            return replace(
                held,
                blocked_by=tuple(sorted(f"{p.code} {p.location}" for p in problems if p.severity is Severity.ERROR)),
            )
        return decision

    def _rendered(self, group: Group, decision: Decision, cluster: str) -> Rendering:
        """The files of a group on a cluster, as a decision will have them."""
        counts, home = decision.counts_on(cluster), decision.home
        if decision.role_on(cluster) == "Remote" and home is not None and home in self._clusters:
            there, head, placed = self._clusters[cluster], self._clusters[home], self._files_of(group)
            return self._renderer.render_remote(group, placed, there, head, counts, self._remote_file(group).file)
        return self._rendering(group, cluster, counts)

    def _remote_file(self, group: Group) -> RecordMember:
        """What is made for the remote clusters of a group, as a member of it."""
        app = self._snapshot.spans.app(group)
        assert app is not None  # only a Ray app spans clusters
        source = f"{app.path}#remote-workers"
        file = self._names.remote(group, self._snapshot.predecessor(group), source)
        return RecordMember(
            api_version="apps/v1",
            kind="Deployment",
            namespace=app.identity.namespace,
            name=app.identity.name,
            source=source,
            file=file,
            only="Remote",
        )

    def _has_new_files(self, group: Group) -> bool:
        """Whether it has files that its record does not know: they could not be written for a cluster that is gone."""
        record = self._snapshot.predecessor(group)
        known = {(member.identity, member.file) for member in record.members} if record else set()
        return any((placed.member.identity, placed.file) not in known for placed in self._files_of(group))

    def _rendering(self, group: Group, cluster: str, counts: Counts) -> Rendering:
        """The files of a group on a cluster with some counts."""
        key = (group.id, cluster, counts)
        if key not in self._renderings:
            placed = self._files_of(group)
            self._renderings[key] = self._renderer.render(group, placed, self._clusters[cluster], counts)
        return self._renderings[key]

    def foresee(self) -> None:
        """Look up together what will be asked for of each group, one by one, where it is; a pass that looks at one only does without."""
        self._foresee(
            (group, entry.name, entry.known_counts())
            for group in self._snapshot.groups.values()
            if group.policy is not None and (record := self._snapshot.predecessor(group)) is not None
            for entry in record.clusters
            if entry.name in self._clusters and entry.role != "Remote"
        )

    def _foresee(self, places: Iterable[tuple[Group, str, Counts]]) -> None:
        """The same of groups on clusters with some counts. What is only foreseen takes no name for its files."""
        names = self._names.copy()
        self._renderer.foresee(
            (group, names.place(group, self._snapshot.predecessor(group)), self._clusters[name], counts)
            for group, name, counts in places
        )

    def edits(self, group: Group, cluster: str) -> tuple[Edited, ...]:
        """
        The objects of a group that would change on a cluster where it is, as they are deployed and as they would be with the
        counts that they have there: how many there are to be is for whoever divides.
        """
        if cluster not in self._clusters:
            return ()
        record = self._snapshot.predecessor(group)
        entry = next((e for e in record.clusters if e.name == cluster), None) if record is not None else None
        if entry is not None and entry.role == "Remote":
            return ()  # it has nothing of the source, and its workers come and go as they are needed
        counts = entry.known_counts() if entry is not None else AS_WRITTEN
        rendering = self._rendering(group, cluster, counts)
        return tuple(
            edited
            for members, path, written in self._replaced(group, cluster, rendering)
            for edited in self._updates.edited(members, path, written)
        )

    def _told_of_updates(self, group: Group, cluster: str, rendering: Rendering) -> Iterator[Problem]:
        """What replacing the group's files on a cluster where it is would do."""
        for members, path, written in self._replaced(group, cluster, rendering):
            yield from self._updates.problems(group, cluster, members, path, written)

    def _replaced(
        self, group: Group, cluster: str, rendering: Rendering
    ) -> Iterator[tuple[list[SourceObject], str, bytes]]:
        """The files of a group that would replace others on a cluster: whose they are, where, and with what."""
        for key, content in rendering.files.items():
            path = self._units.path(cluster, *key)
            deployed = self._before.entries.get(path)
            if deployed is not None and deployed.is_text and deployed.oid != content.oid:
                members = [item.member for item in self._files_of(group) if (item.unit, item.file) == key]
                yield members, path, content.read()

    def _not_ours(self, cluster: str, rendering: Rendering) -> set[str]:
        """Paths that a rendering would write over files that no record speaks of."""
        paths = {self._units.path(cluster, *key): content for key, content in rendering.files.items()}
        return {
            path
            for path, content in paths.items()
            if path not in self._ours and self._ids.get(path, content.oid) != content.oid
            if not self._units.is_namespace_file(path)
        }

    def _wanted(self, group: Group, decision: Decision, cluster: str, rendering: Rendering) -> Iterator[str]:
        """Every path that has to be a file for a group to be on a cluster."""
        yield f"{RECORDS}/{group.id}.yaml"
        yield from (self._units.path(cluster, *key) for key in rendering.files)
        yield from (self._units.sentinel_path(cluster, unit) for unit in {unit for unit, _ in rendering.files})
        for namespace in needed_namespaces(group):
            yield self._units.path(cluster, PLATFORM, namespace_file(namespace))
        move = decision.move
        if move is not None and move.without_files:
            yield from (f"{BETWEEN}/{item.file}" for item in self._files_of(group))

    def _in_the_way(self, paths: Iterable[str]) -> set[str]:
        """What keeps paths that are not there from becoming files: a folder of that name, or a file or link where a folder is to be."""
        found = set()
        for path in paths:
            if path not in self._before:
                if path in self._folders_before:
                    found.add(f"{path}/")
                found.update(folder for folder in _folders_of(path) if folder in self._before)
        return found

    @cached_property
    def _folders_before(self) -> frozenset[str]:
        """The folders of the deployment tree as it was; nothing of ours makes one of a name that a file of ours has."""
        folders: set[str] = set()
        for path in self._before:
            for folder in _folders_of(path):
                if folder in folders:
                    break
                folders.add(folder)
        return frozenset(folders)

    def rank(self, decision: Decision) -> tuple[bool, int]:
        """
        When a decision is applied: one with a claim after those who leave for it, which have a lower priority, because the
        claim tells the epoch in which they are gone.
        """
        group = self._snapshot.groups.get(decision.group)
        return decision.claim is not None, group.priority if group else 0

    def apply(self, decision: Decision) -> None:
        """
        Make the files of one group what its decision says. A held group's files are left alone, unless only its
        leaving is held: then it is updated where it is.
        """
        if decision.action is Action.HOLD and not decision.updated_in_place:
            return
        earlier = len(self._pending)
        group = self._snapshot.groups.get(decision.group)
        record = self._snapshot.predecessor(group) if group else self._snapshot.records[decision.group]
        members = self._write_members(group, decision) if group and decision.after else ()
        standing = record.members if record is not None else ()
        between = self._put_between(decision, standing)
        if between or (decision.finished is not None and not decision.after):
            members = standing
        having: Sequence[tuple[str, ClusterRole]] = [(name, decision.role_on(name)) for name in decision.files_after]
        if decision.dispatch is not None:
            having = dispatched_over(having, decision.dispatch.manager, decision.dispatch.nominated)
        self._claim(decision.group, group.unit if group else WORKLOADS, members, having, between)
        if decision.frozen:
            now = {member.file for member in members}
            members = (*members, *(member for member in standing if member.file not in now))
            self._claim_more(decision.group, standing, decision.frozen)
        if record is not None:
            left = group is None or record.id not in self._snapshot.groups
            if left and record.id != decision.group:
                self._claim(record.id, WORKLOADS, (), ())
            members = (*members, *self._remove_stale(record, members))
            if left:
                self._remove(f"{RECORDS}/{record.id}.yaml")
                self._recorded.pop(record.id, None)
            consent = consent_to_removal(self._snapshot, record) if record.is_platform else None
            if consent is not None and {m.file for m in record.members} - {m.file for m in members}:
                decision = replace(decision, consent=consent.identity)
        if group is not None:
            new = self._records().after(group, decision, record, members)
            self._recorded[group.id] = new
            if new != record or group.id in self._told:
                self._write(f"{RECORDS}/{group.id}.yaml", record_file(new))
        new_paths = islice(reversed(self._pending), len(self._pending) - earlier)  # a path once pending keeps its place
        if any(self._units.of(path) for path in new_paths):
            self.updated.add(decision.group)

    def _put_between(self, decision: Decision, members: Sequence[RecordMember]) -> set[str]:
        """
        Take a group that is between two clusters to where nothing syncs it, as it was deployed. Returns its paths there; none for
        one that is not between two.
        """
        move = decision.move
        if move is None or not move.without_files:
            return set()
        paths = {}
        for member in members:
            if not member.is_shared:
                there = (self._units.path(name, WORKLOADS, member.file) for name in move.sources)
                paths[f"{BETWEEN}/{member.file}"] = next((path for path in there if path in self._ids), None)
        for path, origin in paths.items():
            if origin is not None and path not in self._ids:
                self._put(path, Content(self._ids[origin], partial(self._read, origin)))
        return set(paths)

    def _read(self, path: str) -> bytes:
        """A file as it is after all changes so far."""
        data = self._all.get(path) if path not in self._pending else self._pending[path]
        return data if data is not None else self._before.read(path)

    def ensure_units(self) -> None:
        """Every workload cluster has both units from the start, so that an engine finds its path."""
        for name in synced(self._spec, self._clusters.values(), managers(self._snapshot.source.own.policies)):
            if self._tells_of_clash(self._units.sentinel_path(name, unit) for unit in UNITS):
                continue
            self._ensure_namespace(name, self._spec.system_namespace)
            self._touched.update((name, unit) for unit in UNITS if (name, unit) not in self._epochs)
            if not any((name, unit) in self._units.sentinels for unit in UNITS):
                self.started.add(name)

    def _tells_of_clash(self, paths: Iterable[str]) -> bool:
        """Whether something keeps paths that belong to no group from becoming files, which is told."""
        clashes = self._in_the_way(paths)
        self.problems.extend(_clash(path) for path in sorted(clashes))
        return bool(clashes)

    def ensure_charts(self) -> None:
        """
        With Flux, each cluster's own installs its charts. One that nobody wants any more stays: with its HelmRelease an operator would
        go, and finalizers of what it made would wait for it for ever. Somebody else's file of that name stays as well.
        """
        there, within = defaultdict(list), f"/{PLATFORM}/{CHARTS}/"
        for path in sorted(path for path in self._ids if within in path):
            there[path.rpartition(within)[0] + within].append(path)
        for cluster in self._clusters.values():
            folder = self._units.path(cluster.name, PLATFORM, f"{CHARTS}/")
            charts = charts_on(self._spec, cluster) if self._spec.engine == "flux" else ()
            wanted = {self._units.path(cluster.name, PLATFORM, chart_file(chart)): chart for chart in charts}
            for path, chart in wanted.items():
                if self._tells_of_clash([path]):
                    continue
                if path in self._ids and (
                    path in self._snapshot.foreign_paths or not self._is_marked(path, CHART_MARK)
                ):
                    self.problems.append(_chart_problem("ChartNotOurs", path, chart.name))
                    continue
                self._ensure_namespace(cluster.name, chart.namespace)
                self._write(path, release(chart))
            for path in (p for p in there[folder] if p not in wanted and self._is_marked(p, CHART_MARK)):
                self.problems.append(_chart_problem("ChartLeftOver", path, path[len(folder) :].removesuffix(".yaml")))

    def _is_marked(self, path: str, mark: bytes) -> bool:
        """Whether a file is one of ours, which begins with such a line, and not of a platform group."""
        written = self._before.entries.get(path)
        is_file = path in self._pending or written is None or written.is_text
        return not self._claims[path] and is_file and self._read(path).startswith(mark)

    # what other tools are told

    def announce(self, group_id: str) -> None:
        """Tell which clusters a group is on, in the commit in which that is another."""
        record = self._recorded.get(group_id)
        settings = self._spec.decisions
        if record is not None and settings is not None and settings.into in self._clusters:
            self._tell(settings.into, announcements(self._spec, self._clusters, record))

    def announce_all(self) -> None:
        """The same of every group; of those that are gone, and where nobody is to be told any more, nothing is said."""
        settings = self._spec.decisions
        if settings is not None and settings.into not in self._clusters:
            return  # a misspelt name is no reason to take back what others act on
        wanted: dict[str, bytes] = {}
        for record in self._recorded.values() if settings is not None else ():
            wanted |= announcements(self._spec, self._clusters, record)
        here = self._units.path(settings.into, PLATFORM, "") if settings is not None else ""
        for path in self._told_in(FOLDER):
            if not (here and path.startswith(here) and path[len(here) :] in wanted) and self._is_marked(path, MARK):
                self._remove(path)
        if settings is not None:
            self._tell(settings.into, wanted)

    def tell_managers(self) -> None:
        """
        Tell Kueue on each manager which clusters are nominated. Of a policy that is not there any more nothing is said, unless it may only be
        unreadable, or names a manager that there is not.
        """
        own = self._snapshot.source.own
        unknown = {
            policy.name
            for policy in own.policies
            if (left := policy.spec.placement.multi_kueue) is not None and left.manager not in self._clusters
        }
        unread = bool(own.broken_policies or self._snapshot.source.broken_files)
        wanted: dict[str, tuple[str, str, bytes]] = {}
        for (manager, policy), names in listed(own.policies, self._clusters, self._recorded.values()).items():
            if manager in self._clusters:
                file = config_file(policy)
                wanted[self._units.path(manager, PLATFORM, file)] = manager, file, config(policy, names)
        for path in self._told_in(MULTIKUEUE_FOLDER):
            kept = unread or policy_of(path) in unknown or path in wanted
            if not kept and self._is_marked(path, MULTIKUEUE_MARK):
                self._remove(path)
        for manager, file, data in wanted.values():
            self._tell(manager, {file: data}, MULTIKUEUE_MARK, "DispatchNotOurs")

    def _told_in(self, folder: str) -> list[str]:
        """The files in a folder of platform units, in which something is told."""
        within = f"/{PLATFORM}/{folder}/"
        return sorted(path for path in self._ids if within in path and self._units.of(path) is not None)

    def _tell(
        self, into: str, files: Mapping[str, bytes], mark: bytes = MARK, not_ours: str = "DecisionNotOurs"
    ) -> None:
        """Write what is told into the platform unit of a cluster, files that begin with a mark; of another's there the problem is told."""
        for file, data in sorted(files.items()):
            path = self._units.path(into, PLATFORM, file)
            if self._tells_of_clash([path]):
                continue
            if path in self._ids and (path in self._snapshot.foreign_paths or not self._is_marked(path, mark)):
                message = f"somebody else wrote it, so nobody is told there {_TOLD[not_ours]}"
                hint = "take the change back; or remove the file, and it is made anew"
                self.problems.append(Problem(Location(path), not_ours, message, hint, severity=Severity.WARNING))
                continue
            self._write(path, data)

    # clusters that may sleep

    def keep_cluster(self, outcome: ClusterOutcome) -> None:
        """Write the state of a cluster that may sleep, and the manifests that its owner acts on. Once for each."""
        name, state = outcome.cluster, outcome.after
        if name in self._kept:
            return
        self._kept.add(name)
        known = outcome.before.manifests if outcome.before is not None else None
        wanted = self._sleep.files(name, asleep=state.state == "Standby")
        place = f"{CLUSTER_STATES}/{name}.yaml"
        rows = [] if wanted is None else [self._units.path(wanted[0], PLATFORM, file) for file in wanted[1]]
        if self._tells_of_clash([place, *rows]):
            return
        rendered = known if wanted is None else self._manifests(wanted[0], wanted[1], known)
        state = state.model_copy(update={"manifests": rendered})
        if state != outcome.before:
            self._write(place, state_file(state))

    def _manifests(self, into: str, files: Mapping[str, Content], known: RenderedManifests | None) -> RenderedManifests:
        """Make the manifests of a cluster in the directory of another what they should be."""
        same = known is not None and known.into == into
        before = len(self._pending)
        for file in known.files if known is not None and same else ():
            if file not in files:
                self._remove(self._units.path(into, PLATFORM, file))
        for file, content in files.items():
            self._put(self._units.path(into, PLATFORM, file), content)
        changed = not same or len(self._pending) != before
        epoch = self._epoch_of_commit(into, PLATFORM) if changed or known is None else known.epoch
        return RenderedManifests(into=into, epoch=epoch, files=tuple(sorted(files)))

    def remember_removals(self, decisions: Iterable[Decision]) -> None:
        """Write down how many groups go, for the guard that counts them in later passes."""
        gone = [d.group for d in decisions if d.action is Action.REMOVE and d.finding.code is Reason.SOURCE_REMOVED]
        going = (self._snapshot.records[group_id] for group_id in gone)
        counted = Counter(self._snapshot.owner(record) for record in going if is_counted(self._snapshot, record))
        if counted:
            now = self._snapshot.now
            more = [Removal(at=now, groups=count, tenant=owner or None) for owner, count in sorted(counted.items())]
            self._write(REMOVALS_FILE, removals_file((*lately_removed(self._snapshot), *more)))

    def leave_clusters(self) -> None:
        """
        Tell of manifests that stay though nobody wants them: with them their cluster would go, and nobody has said that it may.
        The state of a cluster that has none any more is forgotten.
        """
        for name, state in self._snapshot.left_states.items():
            sleeps, rendered = self._snapshot.may_sleep(name), state.manifests
            into = sleeps.manifests.render_into if sleeps is not None and sleeps.manifests is not None else None
            paths = [self._units.path(rendered.into, PLATFORM, file) for file in rendered.files] if rendered else []
            left = [path for path in paths if path in self._ids]
            if left and rendered is not None and rendered.into != into:
                self.problems.append(_left_over(name, left[0]))
            elif sleeps is None and not left:
                self._remove(f"{CLUSTER_STATES}/{name}.yaml")

    def take_changes(self, metadata: bytes | None) -> Changes:
        """
        What has changed since this was last asked, with the epochs of the units concerned counted up. `metadata`
        is written too, if anything changes at all.
        """
        for cluster, unit in sorted(self._touched):
            epoch = self._epochs.get((cluster, unit), 0) + 1
            self._epochs[cluster, unit] = epoch
            self._write(self._units.sentinel_path(cluster, unit), sentinel(self._spec, cluster, unit, epoch))
        if self._pending and metadata is not None and not self._tells_of_clash([METADATA]):
            self._write(METADATA, metadata)
        written = {path: data for path, data in sorted(self._pending.items()) if data is not None}
        removed = frozenset(path for path, data in self._pending.items() if data is None)
        self._all.update(self._pending)
        self._pending.clear()
        self._touched.clear()
        return Changes(written, removed)

    def tree(self) -> Tree:
        """The deployment tree after all changes taken so far."""
        written = {path: data for path, data in self._all.items() if data is not None}
        return self._before.apply(Changes(written, frozenset(self._all.keys() - written.keys())))

    # files

    def _write(self, path: str, data: bytes) -> None:
        self._put(path, Content.of(data))

    def _put(self, path: str, content: Content) -> None:
        if self._ids.get(path) != content.oid:
            self._ids[path] = content.oid
            self._pending[path] = content.read()
            self._touch(path)

    def _remove(self, path: str) -> None:
        if path in self._ids:
            del self._ids[path]
            self._pending[path] = None
            self._touch(path)

    def _touch(self, path: str) -> None:
        unit = self._units.of(path)
        if unit is not None:
            self._touched.add(unit)

    def _files_of(self, group: Group) -> tuple[Placed, ...]:
        if group.id not in self._placed:
            self._placed[group.id] = self._names.place(group, self._snapshot.predecessor(group))
        return self._placed[group.id]

    def _write_members(self, group: Group, decision: Decision) -> tuple[RecordMember, ...]:
        placed = self._files_of(group)
        members = tuple(
            RecordMember(
                api_version=item.member.api_version,
                kind=item.member.identity.kind,
                namespace=item.member.identity.namespace,
                name=item.member.identity.name,
                source=item.member.path,
                file=item.file,
                declared=is_declared(item.member) or None,
                only=self._only(group, item, decision),
            )
            for item in placed
        )
        if decision.roles:
            members = (*members, self._remote_file(group))
        for name in written_on(decision):
            if name not in self._clusters:
                continue  # a group that could not leave a cluster that is gone keeps the files it has there
            if self._snapshot.defers(group, name):
                continue
            self._put_files(group, name, self._rendered(group, decision, name))
        for name in decision.dispatch.nominated if decision.dispatch is not None else ():
            self._put_files(group, name, self._renderer.render_beside(group, placed, self._clusters[name]))
        return members

    def _put_files(self, group: Group, cluster: str, rendering: Rendering) -> None:
        """Write the files of a group on a cluster, and the namespaces that they need."""
        for (unit, file), content in rendering.files.items():
            self._put(self._units.path(cluster, unit, file), content)
        for namespace in needed_namespaces(group):
            self._ensure_namespace(cluster, namespace)

    def _only(self, group: Group, item: Placed, decision: Decision) -> Literal["Home"] | None:
        """Whether an object of a group is only where the head is of one that spans clusters, or Kueue of one that is left to it."""
        if decision.dispatch is not None:
            return "Home" if is_started(item.member.identity) else None
        home = self._clusters.get(decision.home or "")
        return "Home" if home is not None and self._snapshot.spans.stays_home(group, item.member, home) else None

    def _ensure_namespace(self, cluster: str, namespace: str) -> None:
        """A namespace is made once for each cluster, and never removed with a workload."""
        path = self._units.path(cluster, PLATFORM, namespace_file(namespace))
        described = self._snapshot.source.namespaces.get(namespace)
        if path in self._snapshot.foreign_paths and path in self._ids:
            return  # somebody changed it by hand; it is there, which is all that is needed
        if self._tells_of_clash([path]):
            return
        if described is not None and not described.held:
            self._write(path, described.document.source())
        elif path not in self._ids:
            self._write(path, namespace_manifest(namespace))

    def _claim(
        self,
        group_id: str,
        unit: str,
        members: Iterable[RecordMember],
        clusters: Iterable[tuple[str, ClusterRole]],
        between: Iterable[str] = (),
    ) -> None:
        """
        Note which files a group has now, in place of those it had, on clusters and by what these have of it. A file goes when
        nobody has it any more.
        """
        for path in self._claimed.pop(group_id, set()):
            self._claims[path].discard(group_id)
        self._claimed[group_id] = {
            self._units.path(cluster, unit, member.file)
            for cluster, role in clusters
            for member in members
            if member.only in (None, role)
        }
        self._claimed[group_id].update(between)
        for path in self._claimed[group_id]:
            self._claims[path].add(group_id)

    def _claim_more(self, group_id: str, members: Iterable[RecordMember], clusters: Iterable[str]) -> None:
        """Note that a group has further files on some clusters: what it had there stays."""
        more = {self._units.path(name, WORKLOADS, member.file) for name in clusters for member in members}
        self._claimed[group_id] |= more
        for path in more:
            self._claims[path].add(group_id)

    def _remove_stale(self, record: PlacementRecord, members: Sequence[RecordMember]) -> list[RecordMember]:
        """
        Remove what the record says was written and is not wanted any more. Returns the members that stay although
        nobody wants them: removing a platform object needs an Approval.
        """
        unit = unit_of(record)
        if unit == PLATFORM and consent_to_removal(self._snapshot, record) is None:
            return self._keep_platform(record, members)
        for name, _ in record.having:
            for member in record.members:
                path = self._units.path(name, unit, member.file)
                if not self._claims[path]:
                    self._remove(path)
        for path in _between(record):
            if not self._claims[path]:
                self._remove(path)
        return []

    def _keep_platform(self, record: PlacementRecord, members: Sequence[RecordMember]) -> list[RecordMember]:
        now = {member.identity: member.file for member in members}
        files = {member.file for member in members}
        left = {
            member.file for member in record.members if now.get(member.identity, member.file) != member.file
        } - files
        kept = []
        for member in record.members:
            if member.identity in now or member.kind == "Namespace":
                continue
            rewritten = member.file in files or member.file in left
            stays = self._kept_apart(record, member) if rewritten else self._if_there(record, member)
            if stays is not None:
                kept.append(stays)
                self.problems.append(
                    Problem(
                        Location(f"{RECORDS}/{record.id}.yaml"),
                        "RemovalNeedsApproval",
                        f"{member.kind} {member.name} is no longer in {member.source.partition('#')[0]}, and stays on "
                        "the clusters",
                        "put it back, or consent with an Approval (`action: Remove`)",
                        Severity.WARNING,
                    )
                )
        for file in left:
            for entry in record.clusters:
                self._remove(self._units.path(entry.name, PLATFORM, file))
        return kept

    def _if_there(self, record: PlacementRecord, member: RecordMember) -> RecordMember | None:
        """A member whose file nobody has removed by hand."""
        paths = [self._units.path(entry.name, PLATFORM, member.file) for entry in record.clusters]
        return member if any(path in self._ids for path in paths) else None

    def _kept_apart(self, record: PlacementRecord, member: RecordMember) -> RecordMember | None:
        """A member whose file goes on without it, or goes: as it was deployed, in a file of its own."""
        source = f"{member.source.partition('#')[0]}#{member.identity}"
        file = self._names.free(PLATFORM, member.file, source)
        found = False
        for entry in record.clusters:
            path = self._units.path(entry.name, PLATFORM, member.file)
            data = self._before.read(path) if path in self._before else b""
            for index, item in enumerate(parse(data).documents):
                if identity_of(item.value) == member.identity:
                    text = Document(path, item, index, partial(bytes, data)).source()
                    self._write(self._units.path(entry.name, PLATFORM, file), text)
                    found = True
        return member.model_copy(update={"file": file, "source": source}) if found else None

    def _records(self) -> Records:
        # Kept by us, what has methods of ours would keep us, and the whole pass with us, until garbage is collected.
        overlaps = Overlaps(self._snapshot, self.edits)
        return Records(self._snapshot, overlaps, self._epoch_of_commit, self._last_epoch)

    def _last_epoch(self, cluster: str, unit: str) -> int:
        """The epoch that a unit has without the commit now being made."""
        return max(1, self._epochs.get((cluster, unit), 0))

    def _epoch_of_commit(self, cluster: str, unit: str) -> int:
        """The epoch that the commit now being made will give a unit."""
        return max(1, self._epochs.get((cluster, unit), 0) + ((cluster, unit) in self._touched))


def _folders_of(path: str) -> Iterator[str]:
    """The folders that a path is in, the innermost first."""
    while (path := path.rpartition("/")[0]) != "":
        yield path


def _clash(path: str) -> Problem:
    what = (
        "a folder is in the deployment repo where a file is"
        if path.endswith("/")
        else "it is in the deployment repo where a folder is"
    )
    hint = "move it away there; what does not need the name goes on"
    return Problem(Location(path.rstrip("/")), "NameTaken", f"{what} to be written", hint)


def _left_over(cluster: str, path: str) -> Problem:
    message = f"it belongs to cluster {cluster}, which is not kept by it any more, and stays"
    hint = "remove it by hand when nothing of the cluster is needed any more"
    return Problem(Location(path), "StandbyLeftOver", message, hint, severity=Severity.WARNING)


def _chart_problem(code: str, path: str, chart: str) -> Problem:
    message, hint = {
        "ChartLeftOver": (
            f"no entry of spec.platform.charts gives {chart} to this cluster any more, and it stays",
            "remove the file by hand when nothing on the cluster needs it any more",
        ),
        "ChartNotOurs": (
            f"somebody else wrote it, so {chart} is not installed or changed there",
            "take the change back; or remove the file, and it is made from spec.platform.charts",
        ),
    }[code]
    return Problem(Location(path), code, message, hint, severity=Severity.WARNING)


def _between(record: PlacementRecord) -> set[str]:
    """The paths that a group has which is between two clusters."""
    if record.move is None or record.move.strategy != "RemoveFirst":
        return set()
    return {f"{BETWEEN}/{member.file}" for member in record.members if not member.is_shared}

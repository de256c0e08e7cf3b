"""
Decisions carried out on the deployment tree, one group after another, and what a pass does there beside them.

For each group its files are made what its decision says, its record is written, and what it had and needs no more is
removed; all of that is in one commit. What belongs to no group (units, charts, states of clusters, what other tools are
told) comes after the groups, from the records as they are then.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kept import REMOVALS_FILE
from gitplacer.kinds.record import RECORDS, PlacementRecord, RecordMember, dispatched_over
from gitplacer.kinds.removals import Removal
from gitplacer.layout.beginnings import begin_units, ensure_namespace
from gitplacer.layout.between import put_between
from gitplacer.layout.chartfiles import ensure_charts
from gitplacer.layout.draft import Draft
from gitplacer.layout.groupfiles import GroupFiles
from gitplacer.layout.leftovers import Leftovers
from gitplacer.layout.marked import MarkedFiles
from gitplacer.layout.needs import Needs
from gitplacer.layout.obstacles import Obstacles
from gitplacer.layout.replacements import Replacements
from gitplacer.layout.standbyfiles import keep_cluster, leave_clusters
from gitplacer.layout.tellings import Tellings
from gitplacer.model.decision import Action, ClusterRole, Decision, Reason
from gitplacer.placement.holds import consent_to_removal
from gitplacer.placement.overlaps import Overlaps
from gitplacer.placement.updating import Edited
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.problems import Problem
from gitplacer.records import Records, written_on
from gitplacer.relocation.removals import is_counted, lately_removed
from gitplacer.render import Rendering, needed_namespaces, record_file, removals_file
from gitplacer.sleepers import Sleepers
from gitplacer.snapshot import Snapshot
from gitplacer.source.files import Memo
from gitplacer.source.manifests import WORKLOADS
from gitplacer.tree import Changes, Tree


class Layout:
    """`apply` decisions, then `take_changes` for a commit of them; `tree` is the outcome so far."""

    def __init__(self, snapshot: Snapshot, source: Tree, memo: Memo) -> None:
        self.snapshot = snapshot
        self.updated: set[str] = set()
        """Groups whose files on some cluster were changed."""
        self.started: set[str] = set()
        """Clusters whose directories were begun."""
        self._clusters = snapshot.source.own.clusters
        self._draft = Draft(snapshot)
        self._needs = Needs(snapshot, self._draft.units)
        self._files = GroupFiles(snapshot, source, memo)
        self._replacements = Replacements(snapshot, self._draft.units, self._files)
        self._sleepers = Sleepers(snapshot.source.sleeping, source)
        self._kept: set[str] = set()
        """Clusters that may sleep whose states were written."""
        self._recorded = dict(snapshot.records)
        """The record of each group as it is now."""
        self._told = snapshot.reverted.keys() | snapshot.merged.keys()
        """Groups whose records are not as they stand in the files."""

    def fork(self) -> Layout:
        """The tree as it is now, to try something on it; what was rendered is shared. Nothing may be pending."""
        twin = copy.copy(self)
        twin._draft = self._draft.fork()
        twin._needs = self._needs.copy()
        twin._recorded = dict(self._recorded)
        twin.updated, twin.started, twin._kept = set(self.updated), set(self.started), set(self._kept)
        return twin

    @property
    def problems(self) -> list[Problem]:
        """The problems of files found so far."""
        return self._draft.problems

    def take_changes(self, metadata: bytes | None) -> Changes:
        """The changes since this was last called, for a commit of their own. `metadata` is written if there are any."""
        return self._draft.take_changes(metadata)

    def tree(self) -> Tree:
        """The deployment tree after all changes taken so far."""
        return self._draft.tree()

    # before anything is written

    def foresee(self) -> None:
        """Look up together what will be asked for of each group, one by one, where it is."""
        self._files.foresee()

    def edits(self, group: Group, cluster: str) -> tuple[Edited, ...]:
        """The objects of a group that would change on a cluster where it is."""
        return self._replacements.edits(group, cluster)

    def feasible(self, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions, with holds where a file that one needs cannot be made or would replace somebody else's."""
        obstacles = Obstacles(self.snapshot, self._draft, self._needs, self._files, self._replacements)
        return obstacles.feasible(decisions)

    # groups

    def rank(self, decision: Decision) -> tuple[bool, int]:
        """
        What decisions are sorted by before they are applied: those without a claim first, each part from the lowest
        priority on. A claim tells the epoch in which the groups that leave for it are gone, so these have to be written
        before it.
        """
        group = self.snapshot.groups.get(decision.group)
        return decision.claim is not None, group.priority if group else 0

    def apply(self, decision: Decision) -> None:
        """
        Make the files of one group what its decision says. A held group's files are left alone, unless only its
        leaving is held: then it is updated where it is.
        """
        if decision.action is Action.HOLD and not decision.updated_in_place:
            return
        earlier = self._draft.pending
        group = self.snapshot.groups.get(decision.group)
        record = self.snapshot.predecessor(group) if group else self.snapshot.records[decision.group]
        standing = record.members if record is not None else ()
        members = self._write_members(group, decision) if group and decision.after else ()
        between = put_between(self._draft, decision, standing)
        if between or (decision.finished is not None and not decision.after):
            members = standing
        self._needs.note(decision.group, group.unit if group else WORKLOADS, members, _having(decision), between)
        if decision.frozen:
            now = {member.file for member in members}
            members = (*members, *(member for member in standing if member.file not in now))
            self._needs.note_more(decision.group, standing, decision.frozen)
        if record is not None:
            members = (*members, *self._leave(decision.group, record, members))
            decision = self._with_consent(decision, record, members)
        if group is not None:
            self._remember(group, decision, record, members)
        if self._draft.has_changed_units(since=earlier):
            self.updated.add(decision.group)

    def _write_members(self, group: Group, decision: Decision) -> tuple[RecordMember, ...]:
        members = self._files.members(group, decision)
        for name in written_on(decision):
            if name not in self._clusters:
                continue  # a group that could not leave a cluster that is gone keeps the files it has there
            if self.snapshot.defers(group, name):
                continue
            self._put_files(group, name, self._files.on(group, decision, name))
        for name in decision.dispatch.nominated if decision.dispatch is not None else ():
            self._put_files(group, name, self._files.beside(group, name))
        return members

    def _put_files(self, group: Group, cluster: str, rendering: Rendering) -> None:
        """Write the files of a group on a cluster, and the namespaces that they need."""
        for (unit, file), content in rendering.files.items():
            self._draft.put(self._draft.units.path(cluster, unit, file), content)
        for namespace in needed_namespaces(group):
            ensure_namespace(self.snapshot, self._draft, cluster, namespace)

    def _leave(self, group_id: str, record: PlacementRecord, members: Sequence[RecordMember]) -> list[RecordMember]:
        """
        Remove what a group had and does not want any more, and its record if the group is gone or has another id now.
        Returns the members that stay nevertheless.
        """
        left = record.id not in self.snapshot.groups
        if left and record.id != group_id:
            self._needs.forget(record.id)
        stay = Leftovers(self.snapshot, self._draft, self._needs, self._files.names).clear(record, members)
        if left:
            self._draft.remove(f"{RECORDS}/{record.id}.yaml")
            self._recorded.pop(record.id, None)
        return stay

    def _with_consent(self, decision: Decision, record: PlacementRecord, members: Sequence[RecordMember]) -> Decision:
        """The decision with the Approval by which platform objects go, if any do."""
        consent = consent_to_removal(self.snapshot, record) if record.is_platform else None
        if consent is not None and {m.file for m in record.members} - {m.file for m in members}:
            return replace(decision, consent=consent.identity)
        return decision

    def _remember(
        self, group: Group, decision: Decision, record: PlacementRecord | None, members: Sequence[RecordMember]
    ) -> None:
        """Write the record of a group, if it has changed."""
        overlaps = Overlaps(self.snapshot, self._replacements.edits)
        records = Records(self.snapshot, overlaps, self._draft.epoch_of_commit, self._draft.last_epoch)
        new = records.after(group, decision, record, members)
        self._recorded[group.id] = new
        if new != record or group.id in self._told:
            self._draft.write(f"{RECORDS}/{group.id}.yaml", record_file(new))

    # what is no group's

    def ensure_units(self) -> None:
        """Every workload cluster has both units from the start, so that an engine finds its path."""
        self.started.update(begin_units(self.snapshot, self._draft))

    def ensure_charts(self) -> None:
        """With Flux, each cluster's own installs its charts."""
        ensure_charts(self.snapshot, self._draft, self._marked())

    def announce(self, group_id: str) -> None:
        """Tell other tools which clusters a group is on, in the commit in which that changes."""
        record = self._recorded.get(group_id)
        if record is not None:
            self._tellings().announce(record)

    def announce_all(self) -> None:
        """Tell other tools which clusters every group is on, and remove what was told of groups that are gone."""
        self._tellings().announce_all(self._recorded.values())

    def tell_managers(self) -> None:
        """Tell Kueue on each manager which clusters are nominated."""
        self._tellings().nominate(self._recorded.values())

    def _tellings(self) -> Tellings:
        return Tellings(self.snapshot, self._draft, self._marked())

    def _marked(self) -> MarkedFiles:
        return MarkedFiles(self.snapshot, self._draft, self._needs)

    def keep_cluster(self, outcome: ClusterOutcome) -> None:
        """Write the state of a cluster that may sleep, and the manifests that its owner acts on. Once for each."""
        if outcome.cluster not in self._kept:
            self._kept.add(outcome.cluster)
            keep_cluster(self._draft, self._sleepers, outcome)

    def leave_clusters(self) -> None:
        """
        Report standby manifests that stay though no Cluster wants them, and forget the states of clusters of which
        nothing is left.
        """
        leave_clusters(self.snapshot, self._draft)

    def remember_removals(self, decisions: Iterable[Decision]) -> None:
        """Write down how many groups are removed, for the guard that counts them in later passes."""
        gone = [d.group for d in decisions if d.action is Action.REMOVE and d.finding.code is Reason.SOURCE_REMOVED]
        going = (self.snapshot.records[group_id] for group_id in gone)
        counted = Counter(self.snapshot.owner(record) for record in going if is_counted(self.snapshot, record))
        if counted:
            now = self.snapshot.now
            more = [Removal(at=now, groups=count, tenant=owner or None) for owner, count in sorted(counted.items())]
            self._draft.write(REMOVALS_FILE, removals_file((*lately_removed(self.snapshot), *more)))


def _having(decision: Decision) -> Sequence[tuple[str, ClusterRole]]:
    """The clusters that have files of a group after a decision, and which part of it."""
    having: Sequence[tuple[str, ClusterRole]] = [(name, decision.role_on(name)) for name in decision.files_after]
    if decision.dispatch is None:
        return having
    return dispatched_over(having, decision.dispatch.manager, decision.dispatch.nominated)

"""
What stops a decision that is possible but for its files, found before any of them is touched.

A file cannot be made from the manifest, or would replace somebody else's, or has no place because a folder is there: then the group is
held where it is, and so are those that only go together with it. An error of an update keeps the deployed files as well; a warning
is told and stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.record import RECORDS
from gitplacer.layout.between import path_between
from gitplacer.layout.draft import Draft
from gitplacer.layout.groupfiles import GroupFiles
from gitplacer.layout.needs import Needs
from gitplacer.layout.replacements import Replacements
from gitplacer.model.decision import Action, Decision, Finding, Phase, Reason
from gitplacer.placement.ties import held_with, ties
from gitplacer.problems import Problem, Severity
from gitplacer.render import Rendering, namespace_file, needed_namespaces
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.units import UNITS

Written = tuple[str, Rendering]
"""A cluster, and the files that a group is to have there."""


class Obstacles:
    """Asks of every decision what writing it would meet. What is wrong with files it tells the draft."""

    def __init__(
        self, snapshot: Snapshot, draft: Draft, needs: Needs, files: GroupFiles, replacements: Replacements
    ) -> None:
        self._snapshot = snapshot
        self._clusters = snapshot.source.own.clusters
        self._draft = draft
        self._units = draft.units
        self._needs = needs
        self._files = files
        self._replacements = replacements

    def feasible(self, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions, with holds where a file that one needs cannot be made or would replace somebody else's."""
        self._files.foresee_where(decisions)
        tested = [self._tested(decision) for decision in decisions]
        stopped = [new.group for new, old in zip(tested, decisions, strict=True) if new is not old]
        together = held_with(ties(self._snapshot), stopped) if stopped else {}
        return [
            _hold(d, together[d.group]) if d.group in together and d.action is not Action.HOLD else d for d in tested
        ]

    def _tested(self, decision: Decision) -> Decision:
        group = self._snapshot.groups.get(decision.group)
        if group is None or (decision.action is Action.HOLD and not decision.updated_in_place):
            return decision
        gone = [name for name in decision.after if name not in self._clusters]
        if gone and group.unit == WORKLOADS and self._files.has_new(group):
            return _hold(decision, Finding(code=Reason.UNKNOWN_CLUSTER, subject=", ".join(gone)))
        written, beside = [*self._written(group, decision)], [*self._beside(group, decision)]
        foreign = self._foreign(group, decision, [*written, *beside])
        if foreign:
            return _hold(decision, Finding(code=Reason.FOREIGN_CHANGE, subject=", ".join(sorted(foreign))))
        problems = {problem for _, rendering in (*written, *beside) for problem in rendering.problems}
        problems.update(self._of_updates(group, decision, written))
        self._draft.problems.extend(problems)
        errors = [problem for problem in problems if problem.severity is Severity.ERROR]
        return _hold_with(decision, errors) if errors else decision

    # what would be written

    def _written(self, group: Group, decision: Decision) -> Iterator[Written]:
        """The files of a group on the clusters where they are made what the source says."""
        # Nobody should have to leave for a group that could not be rendered there.
        claimed = (decision.claim.cluster,) if decision.claim and decision.claim.displaced else ()
        left = decision.move.sources if decision.move is not None and decision.phase is not Phase.ADD else ()
        for name in dict.fromkeys((*decision.after, *claimed)):
            if name in self._clusters and name not in left and name not in decision.frozen:
                yield name, self._files.on(group, decision, name)

    def _beside(self, group: Group, decision: Decision) -> Iterator[Written]:
        """The same on the clusters that are nominated."""
        for name in decision.dispatch.nominated if decision.dispatch is not None else ():
            yield name, self._files.beside(group, name)

    def _wanted(self, group: Group, decision: Decision, cluster: str, rendering: Rendering) -> Iterator[str]:
        """Every path that has to be a file for a group to be on a cluster."""
        yield f"{RECORDS}/{group.id}.yaml"
        yield from (self._units.path(cluster, *key) for key in rendering.files)
        yield from (self._units.sentinel_path(cluster, unit) for unit in {unit for unit, _ in rendering.files})
        for namespace in needed_namespaces(group):
            yield self._units.path(cluster, PLATFORM, namespace_file(namespace))
        move = decision.move
        if move is not None and move.without_files:
            yield from (path_between(item.file) for item in self._files.placed(group))

    # what is in the way

    def _foreign(self, group: Group, decision: Decision, written: Iterable[Written]) -> set[str]:
        """The paths at which something is in a decision's way that is not ours."""
        found = set()
        for name, rendering in written:
            found |= self._not_ours(name, rendering)
            found |= self._draft.in_the_way(self._wanted(group, decision, name, rendering))
        for name in {*decision.after, *decision.files_before}:
            found |= {path for unit in UNITS if (path := self._units.replaced_sentinel(name, unit)) is not None}
        record = self._snapshot.predecessor(group)
        if decision.phase is Phase.LEAVE and record is not None:
            between = {path_between(member.file) for member in record.members}
            found |= {path for path in between if path in self._draft.oids and path not in self._needs.at_first}
        return found

    def _not_ours(self, cluster: str, rendering: Rendering) -> set[str]:
        """Paths that a rendering would write over files that no record speaks of."""
        paths = {self._units.path(cluster, *key): content for key, content in rendering.files.items()}
        return {
            path
            for path, content in paths.items()
            if path not in self._needs.at_first and self._draft.oids.get(path, content.oid) != content.oid
            if not self._units.is_namespace_file(path)
        }

    # what it would do

    def _of_updates(self, group: Group, decision: Decision, written: Iterable[Written]) -> Iterator[Problem]:
        """What is to be said of files that replace others where the group is."""
        for name, rendering in written:
            if name in decision.files_before:
                yield from self._replacements.problems(group, name, rendering)
        if decision.finding.code is Reason.UPGRADE_DOES_NOT_FIT:
            # What could not be written where it runs does not move it either: whether it would fit there depends on who else comes.
            for name in (set(decision.files_before) - set(decision.after)) & self._clusters.keys():
                rendering = self._files.with_counts(group, name, decision.counts_on(name))
                told = self._replacements.problems(group, name, rendering)
                yield from (problem for problem in told if problem.severity is Severity.ERROR)


def _hold(decision: Decision, finding: Finding) -> Decision:
    """A decision that was possible but for its files, as a hold."""
    blocked = tuple(finding.subject.split(", "))
    held = replace(decision, action=Action.HOLD, after=decision.before, finding=finding, reasons={}, claim=None)
    return replace(held, blocked_by=blocked, updated_in_place=False)


def _hold_with(decision: Decision, errors: Iterable[Problem]) -> Decision:
    """The same for what is wrong with the files themselves: blocked by each problem, with its place."""
    subject = ", ".join(sorted({problem.code for problem in errors}))
    held = _hold(decision, Finding(code=Reason.HAS_PROBLEMS, subject=subject))
    return replace(held, blocked_by=tuple(sorted(f"{problem.code} {problem.location}" for problem in errors)))

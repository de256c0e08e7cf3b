"""
What of a fleet at rest may be written again without planning, should its text be edited.

A pass that found nothing to do has seen every group where it is to be. Of those that simply stay, and are nothing but files on their clusters,
this takes down which files are made of which, and how (`rewriting.Rewritable`). Who moves, waits, is held, divided, shared or watched has none:
what an edit means to them is for planning to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from gitplacer.belief import hangs_on_epochs
from gitplacer.explain import cluster_change, sentence
from gitplacer.grouping import Group
from gitplacer.hydrate import Hydration, told_apart
from gitplacer.inputs import Inputs
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action, Decision, as_kept
from gitplacer.policies.overriding import Overrides
from gitplacer.render import Renderer
from gitplacer.rewriting import Place, Rewritable
from gitplacer.source.consent import bound_to_plans
from gitplacer.source.files import NoMemo
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.units import Units


def rewritables(inputs: Inputs, hydration: Hydration) -> Mapping[str, Rewritable]:
    """
    By path, the source files that may be written again, of a pass which found nothing to do; none where others have a hand in the
    deployment repo, or where what a cluster says could be believed as soon as there is one epoch more.
    """
    if hydration.steps or hydration.proposals or inputs.foreign or inputs.reverted or inputs.merged:
        return {}
    if any(cluster_change(outcome) for outcome in hydration.view.sleepers):
        return {}
    if hangs_on_epochs({p.code for p in hydration.problems}, inputs.capacity):
        return {}
    reader = _Reader(hydration)
    return {path: found for decision in hydration.view.plan.decisions for path, found in reader.files_of(decision)}


class _Reader:
    """Takes down what the files of groups come to."""

    def __init__(self, hydration: Hydration) -> None:
        self._view, self._snapshot = hydration.view, hydration.snapshot
        source = self._snapshot.source
        self._approvals = source.own.approvals
        self._bound = frozenset(bound_to_plans(self._approvals, self._snapshot.now))
        self._clusters = source.own.clusters
        self._overriding = any(cluster.spec.overrides for cluster in self._clusters.values())
        self._overrides = Overrides(source.own.overrides, source.namespace_labels)
        self._units = Units(self._snapshot.deployment, source.own.fleet.spec.deployment.root)
        self._renderer = Renderer(source, self._snapshot.variants, self._snapshot.spans, source.tree, NoMemo())

    def files_of(self, decision: Decision) -> Iterator[tuple[str, Rewritable]]:
        """The files of a group that may be written again, by path."""
        group, record = self._snapshot.groups.get(decision.group), self._snapshot.records.get(decision.group)
        if group is None or not self._bound.isdisjoint(self._approvals.about(group.id)):
            return
        if _is_nowhere(decision, group):
            yield from ((path, Rewritable(group.id, "", ())) for path, _ in self._own_files(group))
            return
        if record is None or not _simply_stays(decision, group, record):
            return
        if any(name not in self._clusters for name in decision.after):
            return
        said = sentence(told_apart(decision, {group.id}), self._view)
        names = {member.source: member.file for member in reversed(record.members) if not member.is_shared}
        for path, members in self._own_files(group):
            if path in names:
                places = tuple(self._place(name, names[path], members) for name in decision.after)
                yield path, Rewritable(group.id, said, places, self._is_plain(members))

    def _own_files(self, group: Group) -> Iterator[tuple[str, list[SourceObject]]]:
        """The source files of which every object is the group's alone, with these."""
        by_path: dict[str, list[SourceObject]] = defaultdict(list)
        for member in group.members:
            by_path[member.path].append(member)
        for path, members in by_path.items():
            whole = len(members) == self._snapshot.source.document_counts[path]
            if whole and not any(member.is_namespace for member in members):
                yield path, members

    def _is_plain(self, members: list[SourceObject]) -> bool:
        """Whether no override looks at a file on any cluster: a cluster's own do, where an object has the field."""
        return not self._overriding and not any(map(self._overrides.of, members))

    def _place(self, cluster: str, file: str, members: list[SourceObject]) -> Place:
        there = self._clusters[cluster]
        return Place(
            path=self._units.path(cluster, WORKLOADS, file),
            cluster=cluster,
            unit=WORKLOADS,
            sentinel=self._units.sentinel_path(cluster, WORKLOADS),
            epoch=self._snapshot.epochs.get((cluster, WORKLOADS), 0),
            edits=tuple((m.document.index, tuple(self._renderer.edits(m, there))) for m in members),
        )


def _is_nowhere(decision: Decision, group: Group) -> bool:
    """Whether a group waits, or is held, and nothing of it is deployed, so that none of its files is written."""
    waits = decision.action in (Action.WAIT, Action.HOLD) and not decision.updated_in_place
    return waits and group.unit == WORKLOADS and not decision.before and not decision.after and not decision.frozen


def _simply_stays(decision: Decision, group: Group, record: PlacementRecord) -> bool:
    """Whether a group is on its clusters, all of it on each, and nothing is expected of it."""
    if not decision.before or group.unit != WORKLOADS or replace(decision, candidates=()) != as_kept(decision):
        return False
    names = tuple(sorted(entry.name for entry in record.clusters))
    plain = all(e.state == "Placed" and not e.updates and not e.counts and e.role == "Copy" for e in record.clusters)
    return plain and names == decision.before and record.move is None and record.claim is None

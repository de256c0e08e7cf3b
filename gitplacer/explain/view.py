"""A plan with everything that is told about it."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.counts import AS_WRITTEN, Part
from gitplacer.model.decision import (
    Action,
    Decision,
)
from gitplacer.model.workload import Gang, PodSet, unlabelled
from gitplacer.placement.pack import merged
from gitplacer.placement.plan import Plan
from gitplacer.placement.updating import Edits, no_edits
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.plaintext import few, printable
from gitplacer.snapshot import Snapshot
from gitplacer.tree import Tree


class PlanView(Struct, frozen=True, kw_only=True):
    """
    A plan with everything that is told about it. `source_commit` is None for a work tree as it lies, and
    `deployment_commit` where nothing is placed yet; `changed_files` has for each cluster the paths that would change; `sleepers`
    are the clusters that may sleep. `tree` is the deployment tree after the pass, and `edits` tells what it would change of groups
    where they are. `snapshots` is what is said of when capacity was taken, where the view has a part of the clusters only.
    """

    snapshot: Snapshot
    plan: Plan
    source_commit: str | None
    capacity_tree: str | None
    deployment_commit: str | None
    version: str
    changed_files: Mapping[str, tuple[str, ...]]
    tree: Tree
    edits: Edits = no_edits
    sleepers: tuple[ClusterOutcome, ...] = ()
    snapshots: str | None = None

    @property
    def clusters(self) -> Mapping[str, Cluster]:
        return self.snapshot.source.own.clusters

    @property
    def size(self) -> int:
        """How much work one more plan of the fleet is: its groups times its clusters, at least 1. The snapshot may not have all of the groups."""
        return max(1, len(self.plan.decisions) * len(self.clusters))

    def decision(self, group_id: str) -> Decision:
        """Raises NoSuchGroup."""
        decisions = self.plan.decisions
        at = bisect_left(decisions, group_id, key=attrgetter("group"))
        if at == len(decisions) or decisions[at].group != group_id:
            raise NoSuchGroup(group_id, [d.group for d in decisions])
        return decisions[at]

    def group(self, decision: Decision) -> Group | None:
        """The group as the source has it; None where only a record of it is left."""
        return self.snapshot.groups.get(decision.group)

    def record(self, decision: Decision) -> PlacementRecord | None:
        """The record that stands in the deployment repo, also under the id that the group had before."""
        group = self.group(decision)
        return self.snapshot.predecessor(group) if group else self.snapshot.records.get(decision.group)

    def policy(self, decision: Decision) -> PlacementPolicy | None:
        """The policy that governs a group, if it can be read."""
        return next((p for p in self.snapshot.source.own.policies if p.name == decision.policy), None)

    def gang(self, decision: Decision, cluster: Cluster | None = None) -> Gang:
        """
        The pods of one copy, on a cluster or as they are written, equal ones counted together; those deployed, where the
        source does not count.
        """
        group = self.group(decision)
        record = self.record(decision) if group is None or decision.action is Action.HOLD else None
        if record is not None and record.clusters:
            policy = group.policy if group else None
            return merged(unlabelled(self.snapshot.deployed.gang(record, policy, cluster.name if cluster else None)))
        if group is not None and decision.roles:
            return self._spanning_gang(group, decision, cluster)
        counts = decision.counts_on(cluster.name) if cluster is not None else AS_WRITTEN
        if group is not None and cluster is not None and (counts or self.snapshot.variants.any_on(cluster)):
            return merged(unlabelled(self.snapshot.variants.gang(group, cluster, counts)))
        return merged(unlabelled(group.gang if group else ()))

    def _spanning_gang(self, group: Group, decision: Decision, cluster: Cluster | None) -> Gang:
        """The pods of a group that spans clusters: those on one of them, or all."""
        home = self.clusters.get(decision.home or "")
        clusters = [self.clusters[name] for name in decision.roles if name in self.clusters]
        found: list[PodSet] = []
        for each in clusters if cluster is None else [cluster]:
            counts = decision.counts_on(each.name)
            if decision.role_on(each.name) == "Remote":
                found += () if home is None else self.snapshot.spans.gang(group, home, each, counts)
            else:
                found += self.snapshot.variants.gang(group, each, counts)
        return merged(unlabelled(tuple(found)))

    def overridden(self, decision: Decision, part: Part) -> dict[str, int]:
        """The clusters on which an override gives a count of a group another number than its share, with that number."""
        group = self.group(decision)
        member = next((m for m in group.members if m.identity == part.object), None) if group is not None else None
        found = {}
        for name, counts in decision.counts.items() if member is not None else ():
            share, cluster = counts.get(part).replicas, self.clusters.get(name)
            if cluster is not None and share is not None and member is not None:
                there = self.snapshot.variants.replicas(member, cluster, counts).get(part.role, share)
                if there != share:
                    found[name] = there
        return found

    def main_cluster(self, decision: Decision) -> Cluster | None:
        """
        The cluster whose pods are told of a group: the first that will have it, or has it; none for a group that spans clusters,
        of which all are told, nor for one that is left to Kueue, which has no pods where it is.
        """
        if decision.roles or decision.dispatch is not None:
            return None
        names = (*decision.after, *decision.before)
        return next((self.clusters[name] for name in names if name in self.clusters), None)

    def members(self, decision: Decision) -> list[tuple[str, str, str, str, str]]:
        """(apiVersion, kind, namespace, name, path in the source) of a group's objects, those it shares last."""
        group, record = self.group(decision), self.record(decision)
        if group is not None:
            return [(m.api_version, *m.identity[1:], m.path) for m in (*group.members, *group.shared)]
        return [(m.api_version, m.kind, m.namespace, m.name, m.source) for m in record.members] if record else []


def refuse_unknown(group_id: str, snapshot: Snapshot) -> None:
    """Raise the NoSuchGroup of a group that no plan of what was read can have, before there is one."""
    groups, records = snapshot.groups, snapshot.records
    if group_id not in groups and group_id not in records:
        renamed = {record.id for group in groups.values() if (record := snapshot.predecessor(group)) is not None}
        raise NoSuchGroup(group_id, sorted(groups.keys() | (records.keys() - renamed)))


class NoSuchGroup(LookupError):
    """There is no group of this id in the plan; `hint` names those whose ids are nearest."""

    def __init__(self, group_id: str, known: Sequence[str]) -> None:
        self.hint = _nearest_groups(group_id, known)
        super().__init__(f'there is no group "{printable(group_id)}"')


def _nearest_groups(group_id: str, known: Sequence[str]) -> str:
    name = group_id.rpartition("/")[2].casefold()
    same_name = [other for other in known if name and other.rpartition("/")[2].casefold() == name]
    near = same_name or difflib.get_close_matches(group_id, known, n=3, cutoff=0.5)
    near = near or [other for other in known if name and name in other.casefold()]
    if near:
        return f"did you mean {few([printable(other) for other in near])}?"
    return "`gitplacer status` lists all groups" if known else "this fleet has no groups"

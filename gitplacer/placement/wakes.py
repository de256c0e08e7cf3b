"""
Clusters that sleep, seen from the plan: who keeps one awake, who wakes one, and what waits until it is there.

A group that goes to a cluster which only sleeps is written there at once, and both are one commit. Where all of a cluster is gone,
the plan keeps the group's room and nothing else: its files come when the cluster has shown itself, and until then it stays where
it was, because a copy that is not there yet is no reason to remove one that runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gitplacer import standby
from gitplacer.grouping import NO_NAMESPACE
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action, Decision, Finding, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.evidence import speaks_of
from gitplacer.placement.ledger import has_finished
from gitplacer.placement.rounds import action_of
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM, WORKLOADS


def as_written(snapshot: Snapshot, decision: Decision) -> Decision:
    """A decision with what cannot be done yet put off, and what was put off done when its cluster is there."""
    group = snapshot.groups.get(decision.group)
    record = snapshot.predecessor(group) if group is not None else None
    if (
        group is None
        or decision.action is Action.PREEMPT
        or (decision.action is Action.HOLD and not decision.updated_in_place)
    ):
        return decision
    waking = {entry.name for entry in record.clusters if entry.state == "Waking"} if record is not None else set()
    coming = tuple(name for name in decision.after if snapshot.defers(group, name))
    had = tuple(name for name in decision.before if name not in waking)
    if coming:
        stays = set(decision.before) - set(decision.after) - waking
        after = tuple(sorted({*decision.after, *stays}))
        has = tuple(name for name in after if name not in coming)
        action = action_of(had, has) if has else Action.WAIT
        since = record.waiting_since if record is not None else None
        finding = Finding(code=Reason.CLUSTER_WAKING, subject=", ".join(coming))
        return replace(decision, action=action, after=after, finding=finding, waiting_since=since or snapshot.now)
    came = tuple(name for name in decision.after if name in waking)
    if not came or decision.action is Action.HOLD:
        return decision
    action = action_of(had, decision.after)
    finding = Finding(code=Reason.CLUSTER_AWAKE, subject=", ".join(came))
    kept = decision.finding if action is Action.RELOCATE else finding
    return replace(decision, action=action, before=had, finding=kept)


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """
    What a pass does with a cluster that may sleep: its state so far, None for one that is new, and from now on; `groups` are
    those that keep it awake.
    """

    cluster: str
    before: ClusterState | None
    after: ClusterState
    groups: tuple[str, ...] = ()

    @property
    def wakes(self) -> bool:
        """Whether it is called by this pass."""
        return self.after.state == "Waking" and (self.before is None or self.before.state == "Standby")

    @property
    def sleeps(self) -> bool:
        """Whether it goes to sleep by this pass."""
        return self.after.state == "Standby" and (self.before is None or self.before.state != "Standby")

    @property
    def came(self) -> bool:
        """Whether this pass found that it has come."""
        return self.after.state == "Active" and self.before is not None and self.before.state != "Active"


def outcomes(snapshot: Snapshot, decisions: Iterable[Decision]) -> tuple[ClusterOutcome, ...]:
    """The clusters that may sleep and whose state may change, sorted, each with its state after these decisions."""
    keeping: dict[str, set[str]] = {name: set() for name in snapshot.states}
    for decision in decisions:
        for name in {*decision.after, *((decision.claim.cluster,) if decision.claim is not None else ())}:
            if name in keeping and _keeps_awake(snapshot, decision, name):
                keeping[name].add(decision.group)
    found = []
    for name, state in sorted(snapshot.states.items()):
        sleeps = snapshot.may_sleep(name)
        if sleeps is None or name in snapshot.held_states:
            continue
        groups = tuple(sorted(keeping[name] | set(_leaving(snapshot, name, state))))
        after = standby.advanced(sleeps, state, busy=bool(groups), now=snapshot.now)
        found.append(ClusterOutcome(name, snapshot.left_states.get(name), after, groups))
    return tuple(found)


def _keeps_awake(snapshot: Snapshot, decision: Decision, name: str) -> bool:
    """Whether a group that is to be on a cluster, or waits for room there, consumes anything on it."""
    sleeps = snapshot.may_sleep(name)
    if sleeps is None or standby.ignores(sleeps, decision.group.partition("/")[0]):
        return False
    record = _record(snapshot, decision.group)
    group = snapshot.groups.get(decision.group)
    if group.unit == PLATFORM if group is not None else record is not None and record.is_platform:
        return False
    gang = _gang(snapshot, decision, record, name)
    return any(pods.count or pods.per_node for pods in gang) and not _is_done(snapshot, decision.group, record, name)


def _record(snapshot: Snapshot, group_id: str) -> PlacementRecord | None:
    group = snapshot.groups.get(group_id)
    return snapshot.predecessor(group) if group is not None else snapshot.records.get(group_id)


def _gang(snapshot: Snapshot, decision: Decision, record: PlacementRecord | None, name: str) -> Gang:
    """The pods of a group on a cluster: as deployed where it is held or gone from the source, else as the source has it there."""
    group, cluster = snapshot.groups.get(decision.group), snapshot.source.own.clusters.get(name)
    held = decision.action is Action.HOLD and not decision.updated_in_place
    if record is not None and (group is None or held):
        policy = group.policy if group is not None else None
        deployed = snapshot.deployed.gang(record, policy, name)
        if deployed or group is None:
            return deployed
    if group is None:
        return ()
    if cluster is not None and snapshot.variants.any_on(cluster):
        return snapshot.variants.gang(group, cluster)
    return group.gang


def _is_done(snapshot: Snapshot, group_id: str, record: PlacementRecord | None, name: str) -> bool:
    """Whether a group on a cluster has come to its end, so that it consumes nothing any more."""
    group, seen = snapshot.groups.get(group_id), snapshot.reported.get(name)
    entry = next((c for c in record.clusters if c.name == name), None) if record is not None else None
    if group is None or not group.sized or seen is None or entry is None or not snapshot.is_awake(name):
        return False
    running = next((found for found in seen.groups if found.name == group_id), None)
    ends = all(member.facts.releases_when_finished for member in group.sized)
    return ends and has_finished(running) and speaks_of(seen, entry, WORKLOADS)


def _leaving(snapshot: Snapshot, name: str, state: ClusterState) -> Iterator[str]:
    """Groups that have left a cluster and that its snapshot still shows: nothing is put to sleep under what runs."""
    seen, sleeps = snapshot.reported.get(name), snapshot.may_sleep(name)
    if state.state != "Active" or seen is None or sleeps is None:
        return
    for running in seen.groups:
        group, namespace = snapshot.groups.get(running.name), running.name.partition("/")[0]
        if group is not None and (group.unit == PLATFORM or _is_recorded(snapshot, running.name, name)):
            continue  # asked about as one that is there
        if namespace != NO_NAMESPACE and not standby.ignores(sleeps, namespace) and not has_finished(running):
            yield running.name


def _is_recorded(snapshot: Snapshot, group_id: str, name: str) -> bool:
    record = _record(snapshot, group_id)
    return record is not None and any(entry.name == name for entry in record.clusters)


def woken_for(outcome_of: Mapping[str, ClusterOutcome], decision: Decision) -> list[str]:
    """The clusters that a decision's group wakes, sorted."""
    return sorted(name for name in decision.after if name in outcome_of and outcome_of[name].wakes)

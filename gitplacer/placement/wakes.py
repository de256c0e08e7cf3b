"""
Clusters that sleep, seen from the plan: who keeps one awake, who wakes one, and what waits until it is there.

A group that goes to a cluster which only sleeps is written there at once, and both are one commit. Where all of a cluster is gone,
the plan keeps the group's room and nothing else: its files come when the cluster has shown itself, and until then it stays where
it was, because a copy that is not there yet is no reason to remove one that runs. Only what moves by RemoveFirst, and is nowhere
for a while anyway, leaves at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gitplacer import standby
from gitplacer.grouping import NO_NAMESPACE, Group
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action, Decision, Finding, Reason, action_of
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import has_finished
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM


def as_written(snapshot: Snapshot, decision: Decision) -> Decision:
    """A decision with what cannot be done yet put off, and what was put off done when its cluster is there."""
    group = snapshot.groups.get(decision.group)
    record = snapshot.predecessor(group) if group is not None else None
    is_held = decision.action is Action.HOLD and not decision.updated_in_place
    if group is None or is_held or decision.action is Action.PREEMPT or decision.finished is not None:
        return decision
    if decision.move is not None or decision.moving is not None:
        return decision  # it goes on step by step anyway, and a cluster that is not there is not ready
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
        entries = record.clusters if record is not None else ()
        counts = {entry.name: entry.known_counts() for entry in entries if entry.name in stays and entry.counts}
        return replace(
            decision, action=action, after=after, finding=finding, waiting_since=since or snapshot.now,
            counts={**decision.counts, **counts},
        )  # fmt: skip
    came = tuple(name for name in decision.after if name in waking)
    given_up = waking & (set(decision.before) - set(decision.after))
    if decision.action is Action.HOLD or not decision.after or not (came or given_up):
        return decision
    action, finding = action_of(had, decision.after), decision.finding
    if came and action is not Action.RELOCATE:
        finding = Finding(code=Reason.CLUSTER_AWAKE, subject=", ".join(came))
    elif action is Action.PLACE and decision.reasons:
        finding = decision.reasons[min(decision.reasons)]
    return replace(decision, action=action, before=had, finding=finding)


class ClusterOutcome(Struct, frozen=True):
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


def outcomes(
    snapshot: Snapshot, decisions: Iterable[Decision], wanted: Collection[str] = ()
) -> tuple[ClusterOutcome, ...]:
    """
    The clusters that may sleep and whose state may change, sorted, each with its state after these decisions. Those that are
    `wanted` are not put to sleep.
    """
    keeping: dict[str, set[str]] = {name: set() for name in snapshot.states}
    staying: dict[str, set[str]] = {name: set() for name in snapshot.states}
    for decision in decisions:
        for name in decision.after:
            if name in staying:
                staying[name].add(decision.group)
        for name in {*decision.after, *((decision.claim.cluster,) if decision.claim is not None else ())}:
            if name in keeping and _keeps_awake(snapshot, decision, name):
                keeping[name].add(decision.group)
    found = []
    for name, state in sorted(snapshot.states.items()):
        sleeps = snapshot.standby_of(name)
        if sleeps is None or name in snapshot.held_states:
            continue
        groups = tuple(sorted(keeping[name] | set(_leaving(snapshot, name, state, staying[name]))))
        after = standby.advanced(sleeps, state, busy=bool(groups), now=snapshot.now)
        if name in wanted and after.state == "Standby":
            after = state
        found.append(ClusterOutcome(name, snapshot.left_states.get(name), after, groups))
    return tuple(found)


def _keeps_awake(snapshot: Snapshot, decision: Decision, name: str) -> bool:
    """Whether a group that is to be on a cluster, or waits for room there, consumes anything on it."""
    sleeps = snapshot.standby_of(name)
    if sleeps is None or standby.ignores(sleeps, decision.group.partition("/")[0]):
        return False
    record = _record(snapshot, decision.group)
    group = snapshot.groups.get(decision.group)
    if group.unit == PLATFORM if group is not None else record is not None and record.is_platform:
        return False
    gang = _gang(snapshot, decision, record, name)
    return any(pods.count or pods.per_node for pods in gang) and not _is_done(group, decision, record)


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
    counts = decision.counts_on(name)
    if cluster is not None and (counts or snapshot.variants.any_on(cluster)):
        return snapshot.variants.gang(group, cluster, counts)
    return group.gang


def _is_done(group: Group | None, decision: Decision, record: PlacementRecord | None) -> bool:
    """Whether a group has come to its end for good and holds nothing any more."""
    ended = decision.finished is not None or (record is not None and record.finished is not None)
    return ended and group is not None and all(member.facts.releases_when_finished for member in group.sized)


def _leaving(snapshot: Snapshot, name: str, state: ClusterState, staying: Collection[str]) -> Iterator[str]:
    """
    Groups that have left a cluster, or leave it now, and that its snapshot still shows: nothing is put to sleep under what runs.
    `staying` are those that are there after this pass.
    """
    seen, sleeps = snapshot.reported.get(name), snapshot.standby_of(name)
    if state.state != "Active" or seen is None or sleeps is None:
        return
    for running in seen.groups:
        group, namespace = snapshot.groups.get(running.name), running.name.partition("/")[0]
        if group is not None and (group.unit == PLATFORM or running.name in staying):
            continue  # asked about as one that is there
        if namespace != NO_NAMESPACE and not standby.ignores(sleeps, namespace) and not has_finished(running):
            yield running.name


def cleared(snapshot: Snapshot, decisions: Iterable[Decision], found: Iterable[ClusterOutcome]) -> list[Decision]:
    """
    The decisions, with jobs that are done gone from the clusters that are deleted by this pass. Their files would start them again
    when such a cluster comes back; that they are done stays in their records.
    """
    deleted = {
        o.cluster
        for o in found
        if o.sleeps and (s := snapshot.standby_of(o.cluster)) is not None and s.mode == "Delete"
    }
    out = []
    for decision in decisions:
        after = tuple(name for name in decision.after if name not in deleted)
        if decision.finished is None or after == decision.after:
            out.append(decision)
        else:
            out.append(replace(decision, action=action_of(decision.before, after), after=after))
    return out


def woken_for(outcome_of: Mapping[str, ClusterOutcome], decision: Decision) -> list[str]:
    """The clusters that a decision's group wakes, sorted."""
    return sorted(name for name in decision.after if name in outcome_of and outcome_of[name].wakes)

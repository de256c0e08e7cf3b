"""
`gitplacer status`: the fleet at a glance, as it is and not as it will be.

Where groups are is what the deployment repo says; what their pods do is what the snapshots say, at their time. Free is
what a snapshot leaves on the cluster's nodes, less what groups hold there that do not show yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE, PlanView, amount_text, cluster_count, computed_from, rfc3339, why
from gitplacer.formats.planjson import FORMAT_VERSION, inputs_value
from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.decision import Action, Decision
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger, has_finished
from gitplacer.placement.nodes import Columns
from gitplacer.plaintext import aligned, few, printable
from gitplacer.relocation.evidence import is_stale


@dataclass(frozen=True, slots=True)
class _Standing:
    """One cluster: how good its snapshot is, what its nodes offer and what of it is free, and the groups it has."""

    cluster: Cluster
    snapshot: CapacitySnapshot | None
    freshness: str
    free: Resources
    offered: Resources
    groups: int

    @property
    def nodes(self) -> int:
        return sum(node.count for node in self.snapshot.nodes) if self.snapshot else 0

    @property
    def not_ready(self) -> int:
        return sum(node.count for node in self.snapshot.nodes if not node.ready) if self.snapshot else 0


def status_json(view: PlanView) -> dict[str, Any]:
    """The document of `status --format json`."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Status",
        "formatVersion": FORMAT_VERSION,
        "inputs": inputs_value(view),
        "clusters": [
            {
                "cluster": s.cluster.name,
                "role": s.cluster.spec.role,
                "state": s.cluster.spec.state,
                "standby": _standby_value(view.snapshot.states.get(s.cluster.name)),
                "snapshot": s.freshness,
                "observedAt": rfc3339(told.observed_at)
                if (told := view.snapshot.reported.get(s.cluster.name))
                else None,
                "nodes": s.nodes,
                "notReady": s.not_ready,
                "free": s.free.rendered(),
                "allocatable": s.offered.rendered(),
                "groups": s.groups,
            }
            for s in _standings(view)
        ],
        "groups": [
            {
                "group": d.group,
                "policy": d.policy,
                "clusters": [_copy(name, d, view) for name in d.before],
                "waitingSince": rfc3339(d.waiting_since) if d.waiting_since else None,
                "next": {"action": str(d.action), "to": list(d.files_after), "code": str(d.finding.code)},
            }
            for d in view.plan.decisions
        ],
    }


def _standby_value(state: ClusterState | None) -> dict[str, Any] | None:
    """Whether a cluster that may sleep is awake; None for one that never sleeps."""
    if state is None:
        return None
    idle = state.idle_since
    return {
        "state": state.state,
        "since": rfc3339(state.since),
        "idleSince": rfc3339(idle) if idle is not None else None,
    }


def _copy(cluster: str, decision: Decision, view: PlanView) -> dict[str, Any]:
    record = view.record(decision)
    running = _running(cluster, decision, view)
    entry = next((e for e in record.clusters if e.name == cluster), None) if record else None
    return {
        "cluster": cluster,
        "state": _state(decision, cluster),
        "since": rfc3339(entry.since) if entry else None,
        "phase": running.phase if running else "Unknown",
        "ready": running.ready if running else False,
        "pending": [
            {"role": role, "count": count, "since": since or None, "reason": reason or None}
            for (role, since, reason), count in _pending(running).items()
        ],
    }


def status_text(view: PlanView) -> str:
    """Clusters, groups where they are, and groups that are nowhere, as lines."""
    standings = _standings(view)
    lines = []
    if standings:
        head = ("Cluster", "State", "Snapshot", "Nodes", "Free cpu", "Free memory", "Free devices", "Groups")
        lines += aligned([head, *(_cluster_row(s, view.snapshot.states.get(s.cluster.name)) for s in standings)], "")
    placed = [d for d in view.plan.decisions if d.before]
    if placed:
        lines += ["", "Placed", *_placed_lines(placed, view)]
    nowhere = [d for d in view.plan.decisions if not d.before and d.action is not Action.REMOVE]
    if nowhere:
        lines += ["", "Not placed", *aligned([_waiting_row(d, view) for d in nowhere])]
    return "\n".join([*lines, *([""] if lines else []), *computed_from(view)]) + "\n"


def _cluster_row(standing: _Standing, sleeping: ClusterState | None) -> tuple[str, ...]:
    cluster, snapshot = standing.cluster, standing.snapshot
    state: str = cluster.spec.state if cluster.spec.role == "Workload" else cluster.spec.role
    if sleeping is not None and sleeping.state != "Active":
        state = sleeping.state if state == "Active" else f"{state}, {sleeping.state}"
        seen = "when awake"
    else:
        seen = rfc3339(snapshot.observed_at) if snapshot else "–"
    if standing.freshness != "Current" and cluster.spec.role == "Workload":
        seen += f" ({standing.freshness.lower()})"
    nodes = f"{standing.nodes}{f' ({standing.not_ready} not ready)' if standing.not_ready else ''}"
    devices = [_part(name, standing) + f" {name}" for name in standing.offered if "/" in name]
    numbers = (nodes, _part("cpu", standing), _part("memory", standing), ", ".join(devices) or "–")
    return cluster.name, state, seen, *(numbers if snapshot else ("–",) * 4), str(standing.groups)


def _part(name: str, standing: _Standing) -> str:
    free, offered = standing.free.get(name, 0), standing.offered.get(name, 0)
    return f"{amount_text(name, free)} of {amount_text(name, offered)}"


def _placed_lines(decisions: list[Decision], view: PlanView) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    below: list[list[str]] = []
    for decision in decisions:
        for cluster in decision.before:
            running = _running(cluster, decision, view)
            ready = "ready" if running and running.ready else "not ready"
            state = f"{running.phase}, {ready}" if running else "not reported yet"
            state = f"{_ON_THE_WAY.get(_state(decision, cluster), '')}{state}"
            rows.append((printable(decision.group), cluster, state))
            below.append([
                printable(f"      pending: {count} × {role}{f' since {since}' if since else ''}"
                          f"{f': {reason}' if reason else ''}", LONGEST_SENTENCE)
                for (role, since, reason), count in _pending(running).items()
            ])  # fmt: skip
    for line, pending in zip(aligned(rows), below, strict=True):
        yield line
        yield from pending


_ON_THE_WAY = {"Adding": "coming; ", "Removing": "leaving; "}


def _state(decision: Decision, cluster: str) -> str:
    """What happens to a group on a cluster before the pass."""
    return decision.moving.state(cluster) if decision.moving is not None else "Placed"


def _waiting_row(decision: Decision, view: PlanView) -> tuple[str, ...]:
    since = f"since {rfc3339(decision.waiting_since)}" if decision.waiting_since else ""
    if decision.after:
        said = f"goes to {few(decision.after)} with the next pass"
    else:
        count = cluster_count(decision) if decision.action is Action.WAIT else ""
        said = f"{why(decision, view)}{f': {count}' if count else ''}"
    state = {Action.WAIT: "waits", Action.HOLD: "held"}.get(decision.action, "new")
    return printable(decision.group), state, since, printable(said, LONGEST_SENTENCE)


def _running(cluster: str, decision: Decision, view: PlanView) -> RunningGroup | None:
    """What a cluster's snapshot reports of a group, which may still run under the id of its record."""
    snapshot, record = view.snapshot.capacity.get(cluster), view.record(decision)
    ids = {decision.group, record.id if record else decision.group}
    return next((group for group in snapshot.groups if group.name in ids), None) if snapshot else None


def _pending(running: RunningGroup | None) -> Counter[tuple[str, str, str]]:
    """Pods that wait for a node, counted by role, since when, and why."""
    return Counter(
        (pod.role, rfc3339(pod.pending_since) if pod.pending_since else "", pod.reason or "")
        for pod in (running.pods if running else ())
        if pod.node is None
    )


def _standings(view: PlanView) -> list[_Standing]:
    """Every cluster of the fleet, sorted by name."""
    snapshot = view.snapshot
    gangs = {
        (d.group, name): view.gang(d, view.clusters[name])
        for d in view.plan.decisions
        for name in d.before
        if name in view.clusters
    }
    columns = Columns.of(snapshot.capacity.values(), view.clusters.values(), gangs.values())
    standings = []
    for name, cluster in sorted(view.clusters.items()):
        seen = snapshot.capacity.get(name)
        free, offered, freshness = NOTHING, NOTHING, "Unusable" if name in snapshot.broken_capacity else "Missing"
        if seen is not None:
            ledger = _ledger(cluster, seen, columns, gangs, view)
            free, offered = columns.resources(ledger.totals()), columns.resources(ledger.nodes.allocatable.sum(axis=0))
            freshness = "Stale" if is_stale(cluster, seen, snapshot.now) else "Current"
        groups = sum(name in d.before for d in view.plan.decisions)
        standings.append(_Standing(cluster, seen, freshness, free, offered, groups))
    return standings


def _ledger(
    cluster: Cluster, seen: CapacitySnapshot, columns: Columns, gangs: Mapping[tuple[str, str], Gang], view: PlanView
) -> Ledger:
    """A cluster's ledger with everything reserved that is placed there."""
    ledger = Ledger(cluster, seen, columns, lambda group_id: gangs.get((group_id, cluster.name), ()))
    for decision in view.plan.decisions:
        if cluster.name not in decision.before:
            continue
        group = view.group(decision)
        releases = group is not None and all(m.facts.releases_when_finished for m in group.sized)
        finished = releases and has_finished(ledger.running(decision.group))
        policy = view.policy(decision)
        scale_up = policy is None or policy.spec.placement.scale_up == "IfNeeded"
        gang = ledger.on_each_node(gangs[decision.group, cluster.name])
        ledger.reserve_placed(decision.group, gang, finished=finished, scale_up=scale_up)
    return ledger

"""
`gitplacer status`: the fleet at a glance, as it is and not as it will be.

Where groups are is what the deployment repo says; what their pods do is what the snapshots say, at their time. Free is
what a snapshot leaves on the cluster's nodes, less what groups hold there that do not show yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gitplacer.accounts import Account, Accounts
from gitplacer.explain import LONGEST_SENTENCE, PlanView, amount_text, computed_from, rfc3339, why
from gitplacer.formats.planjson import FORMAT_VERSION, inputs_value
from gitplacer.kinds.capacity import RunningGroup
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.record import RecordCluster
from gitplacer.model.decision import Action, Decision
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.plaintext import aligned, few, printable


def status_json(view: PlanView, ledgers: LedgerCache | None = None) -> dict[str, Any]:
    """The document of `status --format json`. `ledgers` are those that the plan was made with, and save opening them again."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Status",
        "formatVersion": FORMAT_VERSION,
        "inputs": inputs_value(view),
        "clusters": [
            {
                "cluster": a.cluster.name,
                "role": a.cluster.spec.role,
                "state": a.cluster.spec.state,
                "silentSince": rfc3339(a.silent_since) if a.silent_since is not None else None,
                "standby": _standby_value(view.snapshot.states.get(a.cluster.name)),
                "snapshot": a.freshness,
                "observedAt": rfc3339(told.observed_at)
                if (told := view.snapshot.reported.get(a.cluster.name))
                else None,
                "nodes": a.nodes(),
                "notReady": a.nodes(ready=False),
                "free": a.free_before.rendered(),
                "allocatable": a.offered.rendered(),
                "groups": len(a.before),
            }
            for a in Accounts(view, ledgers)
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
    running, entry = _running(cluster, decision, view), _entry(decision, cluster, view)
    return {
        "cluster": cluster,
        "state": _state(decision, cluster, view),
        "since": rfc3339(entry.since) if entry else None,
        "phase": running.phase if running else "Unknown",
        "ready": running.ready if running else False,
        "pending": [
            {"role": role, "count": count, "since": since or None, "reason": reason or None}
            for (role, since, reason), count in _pending(running).items()
        ],
    }


def status_text(view: PlanView, ledgers: LedgerCache | None = None) -> str:
    """Clusters, groups where they are, and groups that are nowhere, as lines. `ledgers` are as above."""
    accounts = list(Accounts(view, ledgers))
    lines = []
    if accounts:
        head = ("Cluster", "State", "Snapshot", "Nodes", "Free cpu", "Free memory", "Free devices", "Groups")
        lines += aligned([head, *(_cluster_row(a, view.snapshot.states.get(a.cluster.name)) for a in accounts)], "")
    placed = [d for d in view.plan.decisions if _is_there(d, view)]
    if placed:
        lines += ["", "Placed", *_placed_lines(placed, view)]
    nowhere = [d for d in view.plan.decisions if not _is_there(d, view) and d.action is not Action.REMOVE]
    if nowhere:
        lines += ["", "Not placed", *aligned([_waiting_row(d, view) for d in nowhere])]
    partly = [d for d in placed if d.waits_in_part]
    if partly:
        lines += ["", "Waits in part", *aligned([_partly_row(d, view) for d in partly])]
    return "\n".join([*lines, *([""] if lines else []), *computed_from(view)]) + "\n"


def _cluster_row(account: Account, sleeping: ClusterState | None) -> tuple[str, ...]:
    cluster, snapshot = account.cluster, account.snapshot
    state: str = cluster.spec.state if cluster.spec.role == "Workload" else cluster.spec.role
    if account.silent_since is not None:
        state = f"{state}, silent: lost"
    if sleeping is not None and sleeping.state != "Active":
        state = sleeping.state if state == "Active" else f"{state}, {sleeping.state}"
        seen = "when awake"
    else:
        seen = rfc3339(snapshot.observed_at) if snapshot else "–"
    if account.freshness not in ("Current", "Asleep") and cluster.spec.role == "Workload":
        seen += f" ({account.freshness.lower()})"
    not_ready = account.nodes(ready=False)
    nodes = f"{account.nodes()}{f' ({not_ready} not ready)' if not_ready else ''}"
    devices = [_part(name, account) + f" {name}" for name in account.offered if "/" in name]
    numbers = (nodes, _part("cpu", account), _part("memory", account), ", ".join(devices) or "–")
    return cluster.name, state, seen, *(numbers if snapshot else ("–",) * 4), str(len(account.before))


def _part(name: str, account: Account) -> str:
    free, offered = account.free_before.get(name, 0), account.offered.get(name, 0)
    return f"{amount_text(name, free)} of {amount_text(name, offered)}"


def _placed_lines(decisions: list[Decision], view: PlanView) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    below: list[list[str]] = []
    for decision in decisions:
        group = view.group(decision)
        unseen = "has no pods" if group is not None and not group.sized else "not reported yet"
        for cluster in decision.before:
            running = _running(cluster, decision, view)
            ready = "ready" if running and running.ready else "not ready"
            told = f"{running.phase}, {ready}" if running else unseen
            state = _state(decision, cluster, view)
            said = _WAKING if state == "Waking" else f"{_ON_THE_WAY.get(state, '')}{told}"
            rows.append((printable(decision.group), cluster, said))
            below.append([
                printable(f"      pending: {count} × {role}{f' since {since}' if since else ''}"
                          f"{f': {reason}' if reason else ''}", LONGEST_SENTENCE)
                for (role, since, reason), count in _pending(running).items()
            ])  # fmt: skip
    for line, pending in zip(aligned(rows), below, strict=True):
        yield line
        yield from pending


_ON_THE_WAY = {"Adding": "coming; ", "Removing": "leaving; "}


_WAKING = "comes when it is awake"


def _state(decision: Decision, cluster: str, view: PlanView) -> str:
    """What happens to a group on a cluster before the pass."""
    if decision.moving is not None:
        return decision.moving.state(cluster)
    entry = _entry(decision, cluster, view)
    return "Waking" if entry is not None and entry.state == "Waking" else "Placed"


def _is_there(decision: Decision, view: PlanView) -> bool:
    """Whether a group is on a cluster, and not only expected by one that is being woken."""
    return any(_state(decision, name, view) != "Waking" for name in decision.before)


def _entry(decision: Decision, cluster: str, view: PlanView) -> RecordCluster | None:
    """What the record says of a group on a cluster."""
    record = view.record(decision)
    return next((e for e in record.clusters if e.name == cluster), None) if record else None


def _partly_row(decision: Decision, view: PlanView) -> tuple[str, ...]:
    return printable(decision.group), _since(decision), printable(why(decision, view), LONGEST_SENTENCE)


def _since(decision: Decision) -> str:
    return f"since {rfc3339(decision.waiting_since)}" if decision.waiting_since else ""


def _waiting_row(decision: Decision, view: PlanView) -> tuple[str, ...]:
    goes = decision.after and decision.action is not Action.WAIT
    said = f"goes to {few(decision.after)} with the next pass" if goes else why(decision, view)
    state = {Action.WAIT: "waits", Action.HOLD: "held"}.get(decision.action, "new")
    return printable(decision.group), state, _since(decision), printable(said, LONGEST_SENTENCE)


def _running(cluster: str, decision: Decision, view: PlanView) -> RunningGroup | None:
    """What a cluster's snapshot reports of a group, which may still run under the id of its record."""
    snapshot, record = view.snapshot.capacity.get(cluster), view.record(decision)
    if snapshot is None:
        return None
    return snapshot.running(decision.group) or (snapshot.running(record.id) if record else None)


def _pending(running: RunningGroup | None) -> Counter[tuple[str, str, str]]:
    """Pods that wait for a node, counted by role, since when, and why."""
    return Counter(
        (pod.role, rfc3339(pod.pending_since) if pod.pending_since else "", pod.reason or "")
        for pod in (running.pods if running else ())
        if pod.node is None
    )

"""
From a plan to what a page tells of it.

The map of a cluster is the planner's ledger as the pass leaves it: what the snapshot shows, and what was promised. Both take room,
so both are drawn. What is neither taken nor free is drawn too, so that a node never has more room than the planner saw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from gitplacer.accounts import Account, Accounts
from gitplacer.explain import PlanView, place, rfc3339, sentence, shortlist, tally_text, verdict_counts, verdict_text
from gitplacer.kinds.capacity import CapacitySnapshot, Node, RunningGroup
from gitplacer.model.decision import Candidate, Decision
from gitplacer.model.decision import Seat as Promised
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Gang
from gitplacer.placement.asseen import like
from gitplacer.placement.ledger import Ledger
from gitplacer.plaintext import few
from gitplacer.report.facts import (
    ClusterFacts,
    FleetFacts,
    GroupFacts,
    History,
    NodeFacts,
    Pods,
    Presence,
    Seat,
    Sighting,
    Verdict,
)


def gathered(view: PlanView, history: History) -> FleetFacts:
    """All that a page tells of a plan made with candidates, and of what happened before."""
    fleet = _Fleet(view)
    return FleetFacts(
        fleet=view.snapshot.source.own.fleet.metadata.name,
        now=view.snapshot.now,
        version=view.version,
        source=view.source_commit,
        capacity=view.capacity_tree,
        deployment=view.deployment_commit,
        clusters=tuple(fleet.clusters()),
        groups=tuple(fleet.groups()),
        history=history,
        problems=view.snapshot.problems,
    )


class _Fleet:
    def __init__(self, view: PlanView) -> None:
        self._view = view
        self._accounts = Accounts(view)
        self._decisions = {decision.group: decision for decision in view.plan.decisions}
        self._now_called = {
            record.id: decision.group
            for decision in view.plan.decisions
            if (record := view.record(decision)) is not None and record.id != decision.group
        }
        """Groups of another id than before, which snapshots know by the former."""
        self._running = {
            (name, self._now_called.get(group.name, group.name)): group
            for name, snapshot in view.snapshot.capacity.items()
            for group in snapshot.groups
        }
        claims: dict[str, list[str]] = defaultdict(list)
        for decision in view.plan.decisions:
            if decision.claim is not None:
                claims[decision.claim.cluster].append(decision.group)
        self._claimants = {name: tuple(claiming) for name, claiming in claims.items()}
        self._verdicts: dict[tuple[str, str, Candidate], Verdict] = {}

    # clusters

    def clusters(self) -> Iterator[ClusterFacts]:
        for account in self._accounts:
            cluster = account.cluster
            yield ClusterFacts(
                name=cluster.name,
                state=self._state(account),
                freshness=str(account.freshness),
                observed_at=account.snapshot.observed_at if account.snapshot is not None else None,
                where=place(self._view, "Cluster", cluster.name),
                labels=dict(sorted(cluster.labels().items())),
                offered=account.offered,
                foreign=account.foreign,
                free=account.free_after,
                claimants=self._claimants.get(cluster.name, ()),
                closed=cluster.name in self._accounts.after and self._accounts.after[cluster.name].closed,
                nodes=tuple(self._nodes(account)),
            )

    def _state(self, account: Account) -> str:
        spec, standby = account.cluster.spec, self._view.snapshot.states.get(account.cluster.name)
        if spec.role != "Workload":
            return spec.role
        return standby.state if standby is not None and spec.state == "Active" else spec.state

    def _nodes(self, account: Account) -> Iterator[NodeFacts]:
        """The nodes that are there, alike ones without groups together, then those that have to be added."""
        name, snapshot = account.cluster.name, account.snapshot
        if snapshot is None:
            return
        ledger = self._accounts.after[name]
        here, new = self._seats(name, snapshot, ledger)
        columns, free = ledger.columns, ledger.free_on_nodes()
        number = 0
        for node in snapshot.nodes:
            alike = []
            for machine in ledger.nodes.machines[number : number + node.count]:
                seats = here.get(machine.name, [])
                taken = sum((columns.row(seat.requests) * seat.count for seat in seats), columns.row(node.used))
                left = columns.row(node.allocatable) - taken - free[number]
                kept = columns.resources([max(0, int(value)) if column else 0 for column, value in enumerate(left)])
                if seats or kept:
                    yield _node(node, machine.name, 1, kept, seats)
                else:
                    alike.append(machine.name)
                number += 1
            if alike:
                yield _node(node, alike[0] if len(alike) == 1 else node.name, len(alike), NOTHING, [])
        for added, (type_key, seats) in new.items():
            allocatable = columns.resources(ledger.nodes.type_row[type_key])
            named = ledger.sort(type_key)[0]
            yield NodeFacts(name=f"{named} {added}", type=named, allocatable=allocatable, seats=tuple(seats))

    def _seats(
        self, cluster: str, snapshot: CapacitySnapshot, ledger: Ledger
    ) -> tuple[Mapping[str, list[Seat]], Mapping[int, tuple[str, list[Seat]]]]:
        """Who sits on each node, by its name, and on each machine that has to be added, by its number, with its type."""
        counted: Counter[tuple[str, str, str, Resources, Presence]] = Counter()
        for group in snapshot.groups:
            group_id = self._now_called.get(group.name, group.name)
            gang = self._gang(group_id, cluster)
            stays = group_id in self._decisions and cluster in self._decisions[group_id].after
            presence = Presence.RUNNING if stays else Presence.LEAVING
            for pod in group.pods:
                if pod.node is not None:
                    known = None if pod.requests else like(gang, pod.role, pod.requests)
                    requests = known.shape.requests if known is not None else pod.requests
                    counted[pod.node, group_id, pod.role, requests, presence] += 1
        here: dict[str, list[Seat]] = defaultdict(list)
        for (node, group_id, role, requests, presence), count in counted.items():
            here[node].append(Seat(group_id, role, count, requests, presence))
        added: dict[int, tuple[str, list[Seat]]] = {}
        for group_id, promised in ledger.promised().items():
            for role, seat in promised:
                made = self._promised(group_id, cluster, role, seat)
                if seat.type:
                    added.setdefault(int(seat.node), (seat.type, []))[1].append(made)
                else:
                    here[seat.node].append(made)
        new = {number + 1: added[key] for number, key in enumerate(sorted(added))}
        return here, new

    def _promised(self, group_id: str, cluster: str, role: str, seat: Promised) -> Seat:
        decision = self._decisions.get(group_id)
        presence = Presence.COMING
        if decision is not None and cluster in decision.before:
            presence = Presence.EXPECTED
        return Seat(group_id, role, seat.count, seat.pod.requests, presence)

    def _gang(self, group_id: str, cluster: str) -> Gang:
        decision = self._decisions.get(group_id)
        return self._view.gang(decision, self._view.clusters.get(cluster)) if decision is not None else ()

    # groups

    def groups(self) -> Iterator[GroupFacts]:
        for decision in self._view.plan.decisions:
            record, group = self._view.record(decision), self._view.snapshot.groups.get(decision.group)
            cost = decision.cost_per_hour
            yield GroupFacts(
                name=decision.group,
                action=str(decision.action),
                code=str(decision.finding.code),
                sentence=sentence(decision, self._view),
                policy=decision.policy,
                policy_at=place(self._view, "PlacementPolicy", decision.policy),
                priority=group.priority if group is not None else 0,
                before=decision.before,
                after=decision.after,
                since=min((entry.since for entry in record.clusters), default=None) if record else None,
                moved_at=record.moved_at if record else None,
                waiting_since=decision.waiting_since,
                cost="" if cost is None else f"{cost:.2f}",
                blocked_by=decision.blocked_by,
                pods=_pods(self._view.gang(decision, self._view.main_cluster(decision))),
                members=tuple(
                    (kind, f"{namespace}/{name}" if namespace else name, path)
                    for _, kind, namespace, name, path in self._view.members(decision)
                ),
                verdicts=tuple(self._verdict(candidate, decision) for candidate in shortlist(decision.candidates)),
                counts=tuple(verdict_counts(decision.candidates).items()),
                seen=tuple(self._sightings(decision)),
            )

    def _verdict(self, candidate: Candidate, decision: Decision) -> Verdict:
        """What is said of a finding depends on the policy and the cluster, and many groups have the same."""
        key = (decision.policy, candidate.cluster, candidate)
        if key not in self._verdicts:
            finding = candidate.finding
            nodes = few([tally_text(tally, finding.nodes) for tally in finding.tally], most=10)
            text = verdict_text(candidate, decision, self._view)
            self._verdicts[key] = Verdict(candidate.cluster, str(candidate.verdict), str(finding.code), text, nodes)
        return self._verdicts[key]

    def _sightings(self, decision: Decision) -> Iterator[Sighting]:
        for name in sorted({*decision.before, *decision.after}):
            group = self._running.get((name, decision.group))
            if group is not None:
                yield Sighting(name, group.phase, group.ready, _pending(group))


def _node(node: Node, name: str, count: int, kept: Resources, seats: list[Seat]) -> NodeFacts:
    return NodeFacts(
        name=name, count=count, allocatable=node.allocatable, used=node.used, kept=kept,
        ready=node.ready, cordoned=node.unschedulable, seats=tuple(seats),
    )  # fmt: skip


def _pods(gang: Gang) -> tuple[Pods, ...]:
    """Pods of one role that ask for the same, together."""
    counts: Counter[tuple[str, Resources]] = Counter()
    for pods in gang:
        counts[pods.role, pods.shape.requests] += pods.count
    return tuple(Pods(role, count, requests) for (role, requests), count in counts.items())


def _pending(group: RunningGroup) -> str:
    """The pods that wait for nodes: how many of which role, since when, and why."""
    counted = Counter((p.role, p.pending_since, p.reason or "") for p in group.pods if p.node is None)
    said = [
        f"{count} × {role} pending{f' since {rfc3339(since)}' if since else ''}{f': {reason}' if reason else ''}"
        for (role, since, reason), count in counted.items()
    ]
    return few(said, most=5)

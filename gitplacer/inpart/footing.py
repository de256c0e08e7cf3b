"""
What has to be known of a fleet at rest to plan a part of it.

It is taken down when the whole has been planned, and kept with what became of each group. A fleet in which what happens to one group may
depend on all others, wherever they are, has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from gitplacer.belief import hangs_on_epochs
from gitplacer.commits import who_waits
from gitplacer.explain import PlanView, said_of_snapshots
from gitplacer.inpart.standing import Standing
from gitplacer.inputs import Inputs
from gitplacer.model.bystander import Bystander
from gitplacer.model.workload import total_requests
from gitplacer.placement.bystanders import bystanders
from gitplacer.placement.division import divides
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.relocation.silence import silent_clusters
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import bound_to_plans
from gitplacer.source.manifests import PLATFORM


class Footing(Struct, frozen=True):
    """
    `files` are the source files of each group, those that it shares included, sorted, and `platform` the groups that are on every cluster.
    `clusters` are by name the source file of each cluster that has none but clusters in it. `left` is what the quota of a tenant leaves
    it, by name, of each resource that it limits. `snapshots` is what is said of when capacity was taken. `unread` are files that could not be read, and
    in which words count all the same, and `contested` the clusters where room is kept for somebody who waits, or where groups are seen that are not to
    be there. `waiting` are those who wait, by id, with what commits say of them, and `standing` those who may stand by while others are planned.
    `limited` are by namespace the source files with its LimitRanges and ResourceQuotas, which count for all in it. `by_room`: whether a group that comes to a cluster matters
    to those there only by the room that it takes, since none may send others away, nobody has consented to anything, and no other tool is told where
    groups are. `silent` are the clusters that count as lost because nobody hears of them, which
    is so only while most others are heard of.
    """

    files: Mapping[str, tuple[str, ...]]
    platform: frozenset[str]
    clusters: Mapping[str, str]
    left: Mapping[str, Mapping[str, int]]
    snapshots: str
    unread: frozenset[str]
    contested: frozenset[str]
    waiting: Mapping[str, str]
    standing: Standing
    limited: Mapping[str, frozenset[str]]
    by_room: bool
    silent: frozenset[str]


def footing_of(inputs: Inputs, view: PlanView, ledgers: LedgerCache | None = None) -> Footing | None:
    """
    That of a plan in which nothing happens, made with some `ledgers`; None where a part of the fleet does not stand for itself.
    """
    snapshot = view.snapshot
    if inputs.foreign or inputs.reverted or inputs.merged or inputs.uncounted or not _is_plain(snapshot):
        return None
    if hangs_on_epochs({problem.code for problem in snapshot.problems}, inputs.capacity):
        return None
    if any(divides(group) for group in snapshot.groups.values()):
        return None
    files = {g.id: tuple(sorted({m.path for m in (*g.members, *g.shared)})) for g in snapshot.groups.values()}
    platform = frozenset(group.id for group in snapshot.groups.values() if group.unit == PLATFORM)
    unread = snapshot.source.broken_files
    said = said_of_snapshots(view)
    return Footing(
        files, platform, _cluster_files(snapshot), _left(view), said, unread, _contested(view), who_waits(view),
        Standing.of(standing_in(view, ledgers)), _limited(snapshot), _is_by_room(snapshot),
        frozenset(silent_clusters(snapshot)),
    )  # fmt: skip


def standing_in(view: PlanView, ledgers: LedgerCache | None = None) -> Mapping[str, Mapping[str, Bystander]]:
    """The groups that may be bystanders, by cluster and id; not those without room for all their pods, which may find some when others are planned."""
    outgrown = view.plan.outgrown or frozenset()
    return bystanders(view.snapshot, view.plan.decisions, view.edits, but=outgrown, ledgers=ledgers)


def _is_plain(snapshot: Snapshot) -> bool:
    """Whether nothing but room on clusters, quotas and what groups are made of decides where they are, and nobody has consented to one plan."""
    own = snapshot.source.own
    specs = [policy.spec for policy in own.policies]
    return (
        own.fleet.spec.clone is None
        and not snapshot.states
        and not snapshot.broken_records
        and not any(capacity.queues for capacity in snapshot.capacity.values())
        and not any(spec.relocation.when.preferred_available != "Never" for spec in specs)
        and not any(spec.placement.span != "Never" or spec.budget_per_hour is not None for spec in specs)
        and not any(tenant.spec.budget_per_hour is not None for tenant in snapshot.source.tenancy.tenants)
        and not any(r.move or r.dispatch for r in snapshot.records.values())
        and not bound_to_plans(own.approvals, snapshot.now)
    )


def _limited(snapshot: Snapshot) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for item in snapshot.source.objects:
        if item.facts.limits or item.facts.quota is not None:
            found[item.identity.namespace].add(item.path)
    return {namespace: frozenset(files) for namespace, files in found.items()}


def _is_by_room(snapshot: Snapshot) -> bool:
    own = snapshot.source.own
    displaces = any(policy.spec.preempts != "Never" for policy in own.policies)
    return not displaces and not own.approvals and own.fleet.spec.decisions is None


def _cluster_files(snapshot: Snapshot) -> dict[str, str]:
    places = snapshot.source.own.places
    clusters = {name: places[f"Cluster/{name}"].file for name in snapshot.source.own.clusters}
    number: dict[str, int] = defaultdict(int)
    for file in clusters.values():
        number[file] += 1
    counts = snapshot.source.document_counts
    return {name: file for name, file in clusters.items() if counts.get(file) == number[file]}


def _contested(view: PlanView) -> frozenset[str]:
    there = {(decision.group, name) for decision in view.plan.decisions for name in decision.after}
    shown = ((group.name, name) for name, capacity in view.snapshot.capacity.items() for group in capacity.groups)
    claimed = (decision.claim.cluster for decision in view.plan.decisions if decision.claim is not None)
    return frozenset({*claimed, *(name for group, name in shown if (group, name) not in there)})


def _left(view: PlanView) -> dict[str, dict[str, int]]:
    """What tenants' quotas leave, beside all that is deployed."""
    quotas = {t.name: t.spec.quota for t in view.snapshot.source.tenancy.tenants if t.spec.quota}
    left = {name: dict(quota) for name, quota in quotas.items()}
    for decision in view.plan.decisions if quotas else ():
        group, record = view.group(decision), view.record(decision)
        tenant = group.tenant if group is not None else view.snapshot.tenant(record) if record is not None else None
        if tenant is None or tenant.name not in left:
            continue
        for name in decision.after:
            asked = total_requests(view.gang(decision, view.clusters.get(name)))
            for resource in left[tenant.name]:
                left[tenant.name][resource] -= asked.get(resource, 0)
    return left

"""
Which groups may be bystanders: they stay where they are, and the others on their clusters can be planned without reading their manifests.

Nothing of such a group matters to the others but the room that it holds, since when, and its priority: no update of it runs, it has no pod on every node,
no Tenant's quota on a cluster counts it, and ResourceQuotas count all of it already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from gitplacer.kinds.record import PlacementRecord, RecordCluster
from gitplacer.model.bystander import Bystander, Seated
from gitplacer.model.decision import Decision, simply_stays
from gitplacer.model.workload import Roster
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.namespacequota import NamespaceQuotas
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.updating import Edits
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.units import Units


def bystanders(
    snapshot: Snapshot,
    decisions: Collection[Decision],
    edits: Edits,
    *,
    but: Collection[str],
    ledgers: LedgerCache | None = None,
) -> dict[str, dict[str, Bystander]]:
    """
    By cluster and id those who may stand by where nothing happens, with those who do so already; `but` are groups that may not. `ledgers` only
    save work.
    """
    shared = Pass(snapshot, {}, edits, ledgers=ledgers)
    occupancy = Occupancy(shared, {decision.group: decision.after for decision in decisions}, {})
    quotas = NamespaceQuotas(shared, occupancy)
    found = {
        name: {group_id: one for group_id, one in there.items() if group_id not in but}
        for name, there in snapshot.bystanders.items()
    }
    epochs = Units(snapshot.deployment, snapshot.source.own.fleet.spec.deployment.root).epochs
    for group_id, record in _plain(shared, decisions, but):
        for entry in record.clusters:
            name, epoch = entry.name, epochs.get((entry.name, WORKLOADS), 0)
            if quotas.counts(group_id, name):
                continue
            if name in snapshot.capacity and _is_plain_there(shared, group_id, entry, epoch):
                found.setdefault(name, {})[group_id] = occupancy.as_bystander(group_id, name)
    return {name: _seated(there, occupancy.seats(name)) for name, there in found.items()}


def _seated(there: Mapping[str, Bystander], seats: Mapping[str, Seated]) -> dict[str, Bystander]:
    return {group_id: one._replace(seat=seats.get(group_id)) for group_id, one in there.items()}


def _is_plain_there(shared: Pass, group_id: str, entry: RecordCluster, epoch: int) -> bool:
    """
    Whether a group holds what its manifests say and no more, and its record does not know of a later epoch of the unit than `epoch`, which its
    sentinel has: such is remembered by records alone.
    """
    return not entry.updates and entry.epoch <= epoch and not Roster.of(shared.gangs[group_id]).per_node


def _plain(shared: Pass, decisions: Iterable[Decision], but: Collection[str]) -> Iterator[tuple[str, PlacementRecord]]:
    """Groups that simply stay, each with its record, of which no other group and no limit on a cluster has to know."""
    for decision in decisions:
        group, record = shared.groups.get(decision.group), shared.records.get(decision.group)
        if group is None or record is None or group.unit == PLATFORM or group.id in but or group.id in shared.ties:
            continue
        is_counted = group.tenant is not None and bool(group.tenant.spec.cluster_quota)
        if simply_stays(decision) and not decision.ended and not is_counted:
            yield group.id, record

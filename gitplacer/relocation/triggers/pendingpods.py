"""
Pods of the group have been waiting for a node for too long.

One snapshot may be wrong about it, and leaving is not taken back. So it takes two: the one that the record remembers, and a later one.

The clock stops while machines come: then waiting is what was promised, though not for ever. And it runs twice as long where the pods would find a node
by all that is known, because the next look of the scheduler may end it; if it does not, something else keeps them out that no
snapshot tells, and another cluster may be free of it.
"""

from __future__ import annotations

from datetime import timedelta

from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import RecordCluster
from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.evidence import Pending, seen_pending
from gitplacer.relocation.triggers.standing import Standing
from gitplacer.snapshot import Snapshot

_FOR_MACHINES = 4
"""So many times as long as for others is waited for machines that were asked for."""


def trigger(standing: Standing) -> Finding | None:
    """The subject is the cluster; `wanted` and `role` tell how many pods wait, and of which role most."""
    entry = standing.entry
    if entry is None or entry.pending_at is None:
        return None
    pending = waiting_too_long(standing.snapshot, standing.policy, entry, standing.recorded, standing.group.unit)
    if pending is None or pending.at <= entry.pending_at:
        return None
    patience = timedelta(seconds=standing.policy.spec.relocation.pending_for)
    if pending.waited < _FOR_MACHINES * patience and standing.nodes_come():
        return None
    if pending.waited < 2 * patience and standing.fits_now(pending.roles):
        return None
    role, _ = min(pending.roles.items(), key=lambda item: (-item[1], item[0]))
    return Finding(code=Reason.PENDING_PODS, subject=standing.name, role=role, wanted=pending.roles.total())


def waiting_too_long(
    snapshot: Snapshot, policy: PlacementPolicy, entry: RecordCluster, recorded: str, unit: str
) -> Pending | None:
    """The pods of a group that have waited for a node for `pendingFor` or longer, by one snapshot, if it may move for them."""
    relocation, placement = policy.spec.relocation, policy.spec.placement
    if relocation.when.pending_pods == "Never" or placement.admission == "Immediate":
        return None
    if placement.copies == "All":
        return None  # there is no other cluster for it: a copy that went would be wanted back where it was
    pending = seen_pending(snapshot, entry, recorded, unit)
    if pending is None or pending.waited < timedelta(seconds=relocation.pending_for):
        return None
    return pending

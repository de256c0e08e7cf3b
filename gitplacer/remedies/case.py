"""
One group that waits, in the plan that leaves it waiting: what those who look for a change ask about it.

The planner's ledgers after that plan say quickly what would probably be enough. They do not say what would surely be: with a
change others may go elsewhere too, or take the new room first.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from gitplacer.accounts import Accounts
from gitplacer.explain import PlanView
from gitplacer.grouping import Group
from gitplacer.hydrate import Hydration, Inputs
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.machines import MachineType
from gitplacer.model.decision import Action, Candidate, Decision, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.eligibility import may_not_stay
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Amounts
from gitplacer.placement.pack import Packing, Room, pack
from gitplacer.policies import DIVIDING
from gitplacer.snapshot import Snapshot

PLENTY = 2**40
"""More machines, or units of what a limit counts, than anybody has."""
_LIKE = "like"
_CLOSED = frozenset({
    Reason.MANAGEMENT_CLUSTER, Reason.CLUSTER_NOT_SELECTED, Reason.NOT_THE_TENANTS, Reason.NOT_IN_ORDER,
    Reason.UNTOLERATED_CLUSTER_TAINT, Reason.CLUSTER_CORDONED, Reason.API_NOT_SERVED, Reason.CLUSTER_DRAINING, Reason.CLUSTER_LOST,
})  # fmt: skip
"""Why a cluster takes nothing of a group, whatever its nodes are."""
_QUOTAS = frozenset({Reason.TENANT_QUOTA, Reason.QUEUE_QUOTA, Reason.QUOTA_EXCEEDED})
"""Why a cluster with room does not take a group, which more of it does not change."""


@dataclass(frozen=True)
class Case:
    """`books` are opened when they are first asked for, which takes about as long as planning."""

    inputs: Inputs
    view: PlanView
    group: Group
    policy: PlacementPolicy
    accounts: Accounts = field(compare=False)

    @staticmethod
    def of(inputs: Inputs, hydration: Hydration, group_id: str, accounts: Accounts | None = None) -> Case | None:
        """The case of a group; None for one that does not wait for room, or that nothing of the source governs."""
        view = hydration.view
        decision = view.decision(group_id)
        group = view.group(decision)
        if group is None or group.policy is None or not waits(decision):
            return None
        return Case(inputs, view, group, group.policy, accounts or Accounts(view))

    @property
    def decision(self) -> Decision:
        return self.view.decision(self.group.id)

    @property
    def snapshot(self) -> Snapshot:
        return self.view.snapshot

    @property
    def clusters(self) -> dict[str, Cluster]:
        """Those that may take workloads, by name."""
        found = self.view.clusters
        return {name: found[name] for name in sorted(found) if found[name].spec.role == "Workload"}

    @property
    def books(self) -> Books:
        """The ledgers after the plan."""
        return self.accounts.after

    @cached_property
    def candidates(self) -> dict[str, Candidate]:
        """What the plan says of each cluster."""
        return {candidate.cluster: candidate for candidate in self.decision.candidates}

    @property
    def scales(self) -> bool:
        """Whether the policy counts on machines that can be added."""
        return self.policy.spec.placement.scale_up != "Never"

    def is_allowed(self, cluster: Cluster) -> bool:
        """Whether the group may be on a cluster at all."""
        return may_not_stay(self.group, self.policy, cluster) is None

    def is_over_quota(self, name: str) -> bool:
        """Whether it is for a quota that a cluster does not take the group."""
        candidate = self.candidates.get(name)
        return candidate is not None and candidate.finding.code in _QUOTAS

    def gang_on(self, name: str) -> Gang:
        """The pods of one copy on a cluster that has a ledger."""
        return self.books[name].nodes.on_each(self.snapshot.variants.gang(self.group, self.view.clusters[name]))

    def fits(self, name: str, *, scale_up: bool | None = None) -> bool:
        """Whether the group finds room on a cluster after the plan, whatever else keeps it away."""
        if name not in self.books:
            return False
        ways = (False, True) if (self.scales if scale_up is None else scale_up) else (False,)
        gang = self.gang_on(name)
        return any(isinstance(self.books.fit(gang, name, scale_up=way), Packing) for way in ways)

    @cached_property
    def needs_other_clusters(self) -> bool:
        """
        Whether none of the clusters that are open to the group ever takes it, whatever room there comes to be, so that nothing can be enough
        but to open another. It takes the plan's verdict on every cluster to say so.
        """
        placement = self.policy.spec.placement
        if placement.admission == "Immediate" or placement.span != "Never" or placement.type in DIVIDING:
            return False
        return self.candidates.keys() >= self.view.clusters.keys() and all(
            map(self._keeps_out, self.candidates.values())
        )

    def _keeps_out(self, candidate: Candidate) -> bool:
        """Whether a cluster is closed to the group, or has no room for it and never will."""
        if candidate.finding.code in _CLOSED:
            return True
        return bool(candidate.finding.wanted) and self.never_takes(candidate.cluster)

    def never_takes(self, name: str) -> bool:
        """
        Whether some pod of the group can be on none of the nodes that a cluster has or may be given, though they be empty and as many as one
        likes: for their labels, their taints or their size.
        """
        if name not in self.books:
            return False
        ledger, gang = self.books[name], self.gang_on(name)
        return ledger.has_no_slices(gang, added=True) or not all(
            ledger.nodes.may_ever_take(pods.shape) for pods in gang if pods.count
        )

    def would_take(self, name: str) -> bool:
        """Whether a cluster would take the group after the plan if nothing else kept it away: for its room, or whatever the room."""
        at_once = self.policy.spec.placement.admission == "Immediate" and name in self.books
        return at_once or self.fits(name)


def waits(decision: Decision) -> bool:
    """Whether a group, or some copy of it, waits for room that nobody is making for it, or should leave and has nowhere to go."""
    if decision.action is Action.HOLD:
        return decision.finding.code is Reason.NOWHERE_TO_GO
    if decision.finding.code is Reason.WAITS_FOR_PREEMPTED:
        return False
    return decision.action is Action.WAIT or decision.waiting_since is not None


def is_placed(decision: Decision) -> bool:
    """Whether a plan places a group, with all its copies."""
    return decision.action not in (Action.WAIT, Action.HOLD) and bool(decision.after) and decision.waiting_since is None


def more_like(ledger: Ledger, machine: int, fresh: Amounts, gang: Gang) -> int | None:
    """
    How many more nodes like one of a cluster a gang needs there beside what is free; None where no number will do, as where none of its pods
    can be on one. `fresh` is what a new one has to give.
    """
    shape = ledger.nodes.machines[machine].shape
    if not any(ledger.nodes.would_take(pods.shape, shape, fresh) for pods in gang if pods.count):
        return None
    nodes = copy.copy(ledger.nodes)
    nodes.types = {_LIKE: MachineType(key=_LIKE, name=_LIKE, labels=(), allocatable=ledger.columns.resources(fresh))}
    nodes.type_shape = {_LIKE: shape}
    nodes.type_row = {_LIKE: np.maximum(fresh, 0)}
    found = pack(Room(nodes, ledger.free_on_nodes(), (), {}), gang, scale_up=True, exact=False)
    return len(found.opened) if isinstance(found, Packing) else None


def without_limits(ledger: Ledger, gang: Gang, keys: Collection[str]) -> Counter[str] | None:
    """How much of some limits a gang would draw on a cluster, if there were plenty of them; None where that is not enough."""
    room = ledger.room()
    freed = Room(room.nodes, room.free, room.promised, {**room.left, **dict.fromkeys(keys, PLENTY)})
    found = pack(freed, gang, scale_up=True, exact=False)
    if not isinstance(found, Packing):
        return None
    drawn: Counter[str] = Counter()
    for opened in found.opened:
        drawn.update({limit: amount for limit, amount in room.nodes.types[opened].draws if limit in keys})
    return drawn


def fewer(gang: Gang, role: str, by: int, each: int) -> Gang:
    """A gang with so many replicas of a role less, of `each` pods."""
    left, found = by * each, []
    for pods in gang:
        taken = min(left, pods.count) if pods.role == role else 0
        left -= taken
        found.append(replace(pods, count=pods.count - taken))
    return tuple(found)


def plain(value: Any) -> str:
    """A value of a manifest as somebody would write it on one line; '' for none."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(plain(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {plain(item)}' for key, item in value.items())}}}"
    return "" if value is None else str(value)

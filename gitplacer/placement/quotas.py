"""
What a group may still have: the quota of its Tenant, what Kueue's queues and the ResourceQuotas of its namespaces have
left, and the budgets of its policy and its Tenant for machines that autoscalers add.

It is asked before a cluster is taken, and remembers for groups that wait what they would have exceeded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from types import MappingProxyType

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.budget import Budgets
from gitplacer.placement.kueuequota import KueueQuotas
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.namespacequota import NamespaceQuotas
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.pack import Packing
from gitplacer.placement.tenantquota import TenantQuotas
from gitplacer.placement.weakly import weakly


class Quotas:
    """
    `leaving` are the clusters that a group gives up for where it goes. `over_budget` is what a group that waits would
    have cost too much, `unpaid` the clusters where nothing but that was in its way, and `over_quota` what it would take
    beyond its Tenant's quota.
    """

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._tenants = TenantQuotas(shared, occupancy)
        self._kueue = KueueQuotas(shared, occupancy)
        self._namespaces = NamespaceQuotas(shared, occupancy)
        self.over_budget: dict[str, Finding] = {}
        self.unpaid: dict[str, set[str]] = defaultdict(set)
        self.over_quota: dict[str, Finding] = {}
        self.leaving: dict[str, tuple[str, ...]] = {}

    @property
    def _books(self) -> Books:
        return self._occupancy.books

    def within_quota(self, group: Group, name: str) -> bool:
        """
        Whether the quota of a group's Tenant, Kueue's queues and the ResourceQuotas of its namespaces let it have what
        it asks for on a cluster. An exceeded Tenant quota is noted in `over_quota`.
        """
        over = self._tenants.exceeded(group, name, self._books, leaving=self.leaving.get(group.id, ()))
        if over is not None:
            self.over_quota.setdefault(group.id, over)
        return over is None and self._refused(group, name) is None

    def exceeded(self, group: Group, name: str, leaving: Sequence[str]) -> Finding | None:
        """
        The quota that a group would exceed on a cluster, its Tenant's or one there, if it gave up the clusters
        `leaving`; None if none.
        """
        over = self._tenants.exceeded(group, name, self._books, leaving=leaving)
        return over or self._refused(group, name)

    def _refused(self, group: Group, name: str) -> Finding | None:
        """The queue of Kueue or the ResourceQuota of a cluster that has too little left for a group."""
        return self._kueue.refused((group.id,), name) or self._namespaces.refused((group.id,), name)

    @cached_property
    def _budgets(self) -> Budgets:
        return Budgets(self._books, weakly(self._governing))

    @cached_property
    def _tenants_budgets(self) -> Budgets:
        return Budgets(self._books, weakly(self._owning), of_tenants=True)

    def _owning(self, group_id: str) -> str:
        tenant = self._pass.tenant(group_id)
        return tenant.name if tenant is not None else ""

    def _governing(self, group_id: str) -> str:
        """The policy of a group, or that of the record where the group is gone."""
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        if group is not None and group.policy is not None:
            return group.policy.name
        return record.policy if record is not None else ""

    def affordable(
        self,
        group: Group,
        policy: PlacementPolicy,
        name: str,
        packing: Packing,
        left: Sequence[str],
        scale_up: bool,
        gang: Gang | None = None,
        ended: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> Packing | Finding:
        """
        A packing on a cluster that the budgets of the policy and of the tenant allow, or why not. `left` are clusters that the group
        gives up, and `ended` those that others do.
        """
        payers = self.payers(group, policy)
        if not payers:
            return packing
        asked = self._pass.gang_on(group.id, name) if gang is None else gang
        without = partial(self._books[name].fit_without, asked, scale_up=scale_up)
        instead = {**ended, group.id: left}
        paid: Packing | Finding = packing
        for budgets, payer, budget in (
            *payers,
            *payers[:-1],
        ):  # what the last one chose must suit those before it as well
            assert isinstance(paid, Packing)
            paid = budgets.affordable(payer, budget, name, paid, instead, without)
            if isinstance(paid, Finding):
                break
        return paid

    def is_payable(
        self,
        group: Group,
        policy: PlacementPolicy,
        name: str,
        then: Ledger,
        packing: Packing,
        ending: datetime | None = None,
    ) -> bool:
        """
        Whether the budgets pay for a packing on a cluster whose ledger will be `then`. What groups cost now that came
        before `ending`, and end by themselves, is given back by then.
        """
        payers = self.payers(group, policy)
        if not payers:
            return True
        ended: dict[str, list[str]] = defaultdict(list)
        if ending is not None:
            for cluster in {c for budgets, payer, _ in payers for c in budgets.paid_on(payer)}:
                for group_id in self._occupancy.ending(cluster, ending):
                    ended[group_id].append(cluster)
        now = self._books[name]
        self._books.replace(name, then)
        left = self._occupancy.placements.get(group.id, ())
        paid = self.affordable(group, policy, name, packing, left, may_scale_up(policy), ended=ended)
        self._books.replace(name, now)
        return isinstance(paid, Packing)

    def payers(self, group: Group, policy: PlacementPolicy) -> list[tuple[Budgets, str, float]]:
        """Whose budgets must allow the machines of a group: its policy's and its tenant's, as far as there are any."""
        tenant, found = group.tenant, list[tuple[Budgets, str, float]]()
        if policy.spec.budget_per_hour is not None:
            found.append((self._budgets, policy.name, policy.spec.budget_per_hour))
        if tenant is not None and tenant.spec.budget_per_hour is not None:
            found.append((self._tenants_budgets, tenant.name, tenant.spec.budget_per_hour))
        return found

"""
What a plan costs: the difference each group makes in an hour, and how much of its budget each policy uses.

A group costs the machines that have to be added for it. It saves those that an autoscaler added, that it leaves, and on which
no other group has a pod: an autoscaler takes such a machine away, unless its node group must not become smaller. Machines that
are there anyway make no difference, and where one price is not known nobody knows the sum.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from msgspec import Struct

from gitplacer.accounts import Accounts
from gitplacer.explain import PlanView
from gitplacer.model.decision import Decision
from gitplacer.placement.autoscalers.cost import total
from gitplacer.placement.budget import Budgets
from gitplacer.placement.ledger import Ledger


class BudgetUse(Struct, frozen=True, kw_only=True):
    """The budget of a policy in an hour, and what its groups use of it before the pass and after it."""

    policy: str
    budget: float
    before: float
    after: float

    @property
    def left(self) -> float:
        """What is left after the pass; below nothing where prices or the budget have changed under what runs."""
        return self.budget - self.after


class Costs:
    """What decisions add to the costs in an hour. Who is on which machine is looked up once for each cluster."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._users: dict[str, Mapping[int, Collection[str]]] = {}

    def difference(self, decision: Decision) -> float | None:
        """What a decision adds to the costs in an hour, less what it saves; None if a price is not known."""
        new = any(finding.new_nodes for finding in decision.reasons.values())
        added = decision.cost_per_hour if new else 0.0
        left = sorted(set(decision.before) - set(decision.after))
        saved = [self._saved(decision.group, name) for name in left if name in self._accounts.before]
        if added is None or None in saved:
            return None
        return added - sum(amount for amount in saved if amount is not None)

    def _saved(self, group_id: str, name: str) -> float | None:
        """What the machines cost that a group leaves on a cluster, and that nobody else uses."""
        before = self._accounts.before[name]
        real = [machine for machine in sorted(before.machines_of(group_id)) if machine < len(before.nodes.machines)]
        sorts = {machine: sort for machine in real if (sort := before.added(machine)) is not None}
        if not sorts:
            return 0.0
        users = self._used_by(name)
        gone = Counter(sort for machine, sort in sorts.items() if not set(users[machine]) - {group_id})
        return total((price, _may_go(before, type_, count)) for (type_, price), count in gone.items())

    def _used_by(self, name: str) -> Mapping[int, Collection[str]]:
        """The groups that have each machine of a cluster before the pass or after it."""
        if name not in self._users:
            users: dict[int, set[str]] = defaultdict(set)
            for ledger in (self._accounts.before[name], self._accounts.after[name]):
                for group_id in ledger.group_ids():
                    for machine in ledger.machines_of(group_id):
                        users[machine].add(group_id)
            self._users[name] = users
        return self._users[name]


def _may_go(ledger: Ledger, type_name: str, count: int) -> int:
    """Of machines of a type those that may be taken away, so that as many are left as there have to be."""
    return min(count, max(0, ledger.nodes.seen[type_name] - ledger.nodes.catalogue.minimum(type_name)))


def budget_uses(view: PlanView, accounts: Accounts) -> tuple[BudgetUse, ...]:
    """The policies that have a budget, by name."""
    governed = {decision.group: decision.policy for decision in view.plan.decisions}
    policies = [
        (p.name, p.spec.budget_per_hour)
        for p in view.snapshot.source.own.policies
        if p.spec.budget_per_hour is not None
    ]
    if not policies:
        return ()
    before, after = (
        Budgets(books, lambda group_id: governed.get(group_id, "")) for books in (accounts.before, accounts.after)
    )
    return tuple(
        BudgetUse(policy=name, budget=budget, before=before.spent(name), after=after.spent(name))
        for name, budget in sorted(policies)
    )  # fmt: skip

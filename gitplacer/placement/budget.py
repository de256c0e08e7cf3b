"""
What the machines of a payer's groups cost in an hour, held against its budget. The payer is a policy, or a tenant.

A machine counts if an autoscaler added it or has to add it, and if a group of the payer has a pod on it: one that
the snapshot shows there, or one that was promised room there. It counts whole, once for each payer that has a pod
on it, because it is there whole. As many machines of a node group as its `min` says would be there anyway, and count
for nobody. So what a group costs does not depend on whether its machines are there yet, and a group that was let in is within
the budget when it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct, field

from gitplacer.model.decision import Finding, Reason, Spending
from gitplacer.placement.autoscalers.cost import GRAIN, billionths, total
from gitplacer.placement.books import Books
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.pack import Packing, Shortfall

Sort = tuple[str, float | None]
"""A type of machines, and the price of one in an hour where that is known."""


class _Account(Struct):
    """
    What a payer pays for on each cluster where that is anything, in billionths, and on all together. `seen` says up to where it is known what was written to
    books; -1 before anybody has looked.
    """

    by_cluster: dict[str, int] = field(default_factory=dict)
    whole: int = 0
    seen: int = -1


class Budgets:
    """
    The budgets of all policies, or of all tenants, over books that change. `payer_of` names who pays for a group or record, ''
    where nobody does.
    """

    def __init__(self, books: Books, payer_of: Callable[[str], str], *, of_tenants: bool = False) -> None:
        self._books = books
        self._payer_of = payer_of
        self._of_tenants = of_tenants
        self._machines: dict[tuple[str, str], tuple[Ledger, int, Mapping[str, frozenset[int]]]] = {}
        self._accounts: dict[str, _Account] = {}

    def affordable(
        self,
        payer: str,
        budget: float,
        name: str,
        packing: Packing,
        instead: Mapping[str, Collection[str]],
        fit_without: Callable[[Collection[int]], Packing | Shortfall],
    ) -> Packing | Finding:
        """
        A packing on a cluster that a payer has the budget for, or why there is none. Where the first one is too dear, machines that
        are there and would have to be paid for are left out once: others may be free of charge. `instead` are groups
        that make room for it, with the clusters that they leave.
        """
        over = self._exceeded(payer, budget, name, packing, instead)
        if over is None:
            return packing
        dear = self._newly_charged(payer, name, packing)
        other = fit_without(dear) if dear else None
        if isinstance(other, Packing) and self._exceeded(payer, budget, name, other, instead) is None:
            return other
        return over

    def spent(self, payer: str) -> float:
        """What the machines of a payer's groups cost in an hour as the books stand, as far as their prices are known."""
        return self._account(payer).whole / GRAIN

    def paid_on(self, payer: str) -> tuple[str, ...]:
        """The clusters on which a payer pays for anything as the books stand, sorted."""
        return tuple(sorted(self._account(payer).by_cluster))

    def _account(self, payer: str) -> _Account:
        """What a payer pays for as the books stand. Only clusters are looked at to which something was written since the last look."""
        account = self._accounts.setdefault(payer, _Account())
        written = self._books.written
        for name in self._books.names if account.seen < 0 else dict.fromkeys(written[account.seen :]):
            account.whole -= account.by_cluster.pop(name, 0)
            now = _known(self._spent(payer, name, (), {}))
            if now:
                account.by_cluster[name] = now
                account.whole += now
        account.seen = len(written)
        return account

    def _exceeded(
        self, payer: str, budget: float, name: str, packing: Packing, instead: Mapping[str, Collection[str]]
    ) -> Finding | None:
        """Why a payer cannot pay for a packing on a cluster, or None."""
        account = self._account(payer)
        spent = account.whole
        for cluster in {c for left in instead.values() for c in left if c in self._books}:
            spent += _known(self._spent(payer, cluster, (), instead)) - account.by_cluster.get(cluster, 0)
        before = self._spent(payer, name, (), instead)
        here = self._spent(payer, name, {use.machine for use in packing.uses}, instead, packing)
        added = here - before
        more = total(((price, count) for (_, price), count in added.items()))
        if not added or (more is not None and spent - _known(before) + _known(here) <= billionths(budget)):
            return None
        tenant = payer if self._of_tenants else ""
        spending = Spending(budget=budget, spent=spent / GRAIN, more=more, tenant=tenant)
        return Finding(code=Reason.BUDGET_EXCEEDED, subject=name, spending=spending)

    def _newly_charged(self, payer: str, name: str, packing: Packing) -> set[int]:
        """The machines that are there, and that a payer would pay for because of a packing."""
        ledger = self._books[name]
        own = set().union(*self._own(payer, name).values())
        return {
            use.machine
            for use in packing.uses
            if use.machine < ledger.size and use.machine not in own and ledger.added(use.machine) is not None
        }

    def _spent(
        self,
        payer: str,
        name: str,
        more: Collection[int],
        instead: Mapping[str, Collection[str]],
        packing: Packing | None = None,
    ) -> Counter[Sort]:
        """How many machines of which type and price a payer pays for on a cluster."""
        ledger = self._books[name]
        machines = set(more)
        for group_id, own in self._own(payer, name).items():
            if name not in instead.get(group_id, ()):
                machines |= own
        opened = packing.opened if packing is not None else ()
        charged: Counter[Sort] = Counter()
        for machine in machines:
            sort = ledger.added(machine) if machine < ledger.size else ledger.sort(opened[machine - ledger.size])
            if sort is not None:
                charged[sort] += 1
        there = ledger.how_many(opened)
        for sort, count in charged.items():
            charged[sort] = min(count, max(0, there[sort[0]] - ledger.nodes.catalogue.minimum(sort[0])))
        return +charged

    def _own(self, payer: str, name: str) -> Mapping[str, frozenset[int]]:
        """The machines of a cluster that each group of a payer has pods on, or a promise."""
        ledger = self._books[name]
        known = self._machines.get((payer, name))
        if known is None or known[0] is not ledger or known[1] != ledger.version:
            own = {g: ledger.machines_of(g) for g in ledger.group_ids() if self._payer_of(g) == payer}
            known = self._machines[payer, name] = (ledger, ledger.version, own)
        return known[2]


def _known(charged: Counter[Sort]) -> int:
    """What machines cost whose price is known, in billionths. Those without one that are there already cannot be helped, and count as nothing."""
    return sum(billionths(price) * count for (_, price), count in charged.items() if price is not None)

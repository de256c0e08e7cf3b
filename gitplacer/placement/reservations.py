"""
Room that is kept for groups which wait.

There are two ways to it, and either claim stands in the group's record. A group of higher priority claims the room that
others had to *leave* for it; that is as good as a placement to everybody else, from the pass that made it until the group is
placed or can no longer use it. And an *aged* group claims room on the first cluster that would hold it once what is there by
then and ends by itself has ended; that binds those whose turn is after it. A group that comes later is not waited for, but has to
find room beside it. So the groups waited for only become fewer, and when the last has ended the room is free.

Either way the room is found in the cluster as it will be, without those who leave or end; the others may take what is free
both now and then. So only the room in question is kept, and whatever else is free stays in use. A displaced group that
no snapshot has shown to be gone is counted as if it were there still.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from gitplacer.model.decision import Claim
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.pack import Packing

AGED = 8
"""For so many groups at once room is kept because they have waited long: the first in line."""
AGED_SITES = 64
"""Clusters looked at for each of them, the policy's favourites first."""

NOBODY: frozenset[str] = frozenset()


class LedgerOf(Protocol):
    """The ledger of a cluster with everybody on it but `without`; `settled`: and nobody else, who has left and is still seen."""

    def __call__(self, cluster: str, *, without: frozenset[str] = ..., settled: bool = ...) -> Ledger: ...


Take = Callable[[Ledger, str, str], Packing | None]
"""Reserve a group's room in a ledger of a cluster; None if not all of it fits, and then nothing is taken."""


class Reservations:
    """For which groups room is kept, and on which cluster, as far as the round has come."""

    def __init__(
        self,
        claims: Mapping[str, Claim],
        ledger: LedgerOf,
        take: Take,
        ending: Callable[[str, datetime], frozenset[str]],
    ) -> None:
        """`claims` are those to room that others leave; `ending` tells who was on a cluster at a time and ends by itself."""
        self._claims = dict(claims)
        self._aged: dict[str, list[tuple[str, datetime]]] = defaultdict(list)
        self.changes = 0
        """How often anything about that has changed."""
        self._ledger = ledger
        self._take = take
        self._ending = ending

    def claim_of(self, group_id: str) -> Claim | None:
        return self._claims.get(group_id)

    def claims(self) -> tuple[tuple[str, Claim], ...]:
        """All claims, sorted by the group that has them."""
        return tuple(sorted(self._claims.items()))

    def claimed(self) -> tuple[str, ...]:
        """The clusters on which there are claims, sorted."""
        return tuple(sorted({claim.cluster for claim in self._claims.values()}))

    def on(self, cluster: str) -> tuple[str, ...]:
        """The groups for which room is kept on a cluster, sorted."""
        claimants = {group_id for group_id, claim in self._claims.items() if claim.cluster == cluster}
        return tuple(sorted(claimants | {group_id for group_id, _ in self._aged.get(cluster, ())}))

    def kept(self) -> dict[str, set[str]]:
        """The groups for which room is kept, by cluster."""
        found: dict[str, set[str]] = defaultdict(set)
        for group_id, claim in self._claims.items():
            found[claim.cluster].add(group_id)
        for cluster, groups in self._aged.items():
            found[cluster].update(group_id for group_id, _ in groups)
        return found

    def closed_to(self, group_id: str) -> dict[str, str]:
        """The clusters that a group may not come back to yet, each with the groups for which it left."""
        return {c.cluster: claimant for claimant, c in self._claims.items() if group_id in c.displaced}

    def claim(self, group_id: str, claim: Claim) -> None:
        self._claims[group_id] = claim
        self.changes += 1

    def drop(self, group_id: str) -> None:
        self._claims.pop(group_id, None)
        self.changes += 1

    def drop_those_that_fail(self, cluster: str) -> None:
        """Forget claims for which the cluster has no room any more, even once those who leave are gone."""
        ledger = self._ledger(cluster, settled=True)
        for group_id, claim in self.claims():
            if claim.cluster == cluster and self._take(ledger, group_id, cluster) is None:
                self.drop(group_id)

    def keep(self, group_id: str, cluster: str, since: datetime, payable: Callable[[Ledger, Packing], bool]) -> bool:
        """
        Keep room for an aged group, if the cluster has room for it once those have ended who came before `since`, and it is `payable`
        in the ledger of then.
        """
        then = self._after_the_end(cluster, len(self._aged[cluster]), since)
        packing = self._take(then.copy(), group_id, cluster)
        if packing is None or not payable(then, packing):
            return False
        self._aged[cluster].append((group_id, since))
        self.changes += 1
        return True

    def count_aged(self) -> int:
        return sum(len(groups) for groups in self._aged.values())

    def aged_on(self, group_id: str) -> str:
        """The cluster on which room is kept for an aged group; '' if there is none."""
        return next((name for name, groups in self._aged.items() if any(group_id == g for g, _ in groups)), "")

    def for_others(self, cluster: str, *, but: str = "") -> Ledger:
        """
        The ledger of a cluster for groups for which no room is kept there; `but` is one that claims room and sees its
        own.
        """
        ledger = self._ledger(cluster)
        if any(c.cluster == cluster and group_id != but for group_id, c in self._claims.items()):
            ledger.leave_to(self._to_come(cluster, but=but))
        return self._beside_the_aged(ledger, cluster)

    def without(self, leaving: frozenset[str], cluster: str, *, but: str) -> Ledger:
        """The ledger of a cluster for the group `but`, as it will be when these groups are gone as well."""
        return self._beside_the_aged(self._to_come(cluster, without=leaving, but=but), cluster)

    def _beside_the_aged(self, ledger: Ledger, cluster: str) -> Ledger:
        for number, (_, since) in enumerate(self._aged.get(cluster, ()), 1):
            ledger.leave_to(self._after_the_end(cluster, number, since))
        return ledger

    def _to_come(self, cluster: str, *, without: frozenset[str] = NOBODY, but: str = "") -> Ledger:
        """
        The ledger of a cluster as it will be when all groups that leave are gone, and those that claim their room are
        there.
        """
        ledger = self._ledger(cluster, without=without, settled=True)
        for group_id, claim in self.claims():
            if claim.cluster == cluster and group_id != but:
                self._take(ledger, group_id, cluster)
        return ledger

    def _after_the_end(self, cluster: str, number: int, since: datetime) -> Ledger:
        """
        The ledger of a cluster when the groups that came before a time have ended, and the first aged groups, so many,
        are there.
        """
        ledger = self._to_come(cluster, without=self._ending(cluster, since))
        for group_id, _ in self._aged[cluster][:number]:
            self._take(ledger, group_id, cluster)
        return ledger

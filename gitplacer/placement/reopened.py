"""
The planner's ledgers opened once more, for whoever tells what a plan leaves or tries what else would fit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, partial

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.queues import Share
from gitplacer.model.decision import Decision, Finding, Reason
from gitplacer.model.resources import Resources
from gitplacer.placement.books import Books
from gitplacer.placement.kueue import taken_of_shares
from gitplacer.placement.kueuequota import KueueQuotas
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.namespacequota import NamespaceQuotas
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.updating import Edits
from gitplacer.snapshot import Snapshot


def books_empty(snapshot: Snapshot, edits: Edits) -> Books:
    """The ledgers with nothing taken but what the snapshots show. Whoever plans on these again does not write to them."""
    return Pass(snapshot, {}, edits).books


class Around:
    """
    The ledgers around a pass that made some decisions. `ledgers` are those that it was made with, and save opening them again; `only`
    are the clusters that somebody asks about, None for all. Of others nothing is taken.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        decisions: Sequence[Decision],
        edits: Edits,
        ledgers: LedgerCache | None = None,
        only: Collection[str] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._decisions = decisions
        self._opened = partial(Pass, snapshot, {}, edits, ledgers=ledgers)
        self._only = only
        self._before_it: Pass | None = None

    @cached_property
    def before(self) -> Books:
        """With the room of everything taken that is placed before the pass."""
        if self._nothing_happens:
            return self.after.copy()
        shared = self._opened()
        books = Occupancy(shared, {d.group: self._among(d.before) for d in self._decisions}, {}).books
        self._before_it = shared  # which knows what groups are, and may be told where they go
        return books

    @property
    def after(self) -> Books:
        """With the room of everything taken that is placed after it, and of what is kept for groups that wait."""
        return self._afterwards[1].books

    @property
    def _nothing_happens(self) -> bool:
        """Whether every group holds after the pass what it held before it, as is usual where manifests are edited."""
        return all(d.before == d.after and not (d.claim or d.roles or d.counts or d.reasons) for d in self._decisions)

    def may_enter(self, group: Group, policy: PlacementPolicy) -> tuple[str, ...]:
        """
        The clusters that take a group under a policy, whatever their room. Of one that is left to Kueue, which takes no room on its manager, those
        on which Kueue might start it if they were larger, where there is none on which it could. For groups that ask the same it is the same tuple.
        """
        shared = self._afterwards[0]
        left = shared.nominations.settings(group)
        if left is None:
            return shared.entrance.may_enter(group, policy)
        manager = shared.clusters.get(left.manager)
        against = shared.entrance.may_not_enter(group, policy, manager) if manager is not None else None
        if against is None or against.code is not Reason.NO_NOMINEE:
            return ()
        said = ((name, shared.nominations.verdict(group, policy, name)) for name in shared.clusters)
        return tuple(name for name, finding in said if finding.code is Reason.EXCEEDS_CLUSTER)

    def quotas_refuse(self, ids: Collection[str], name: str, beside: Collection[str]) -> Finding | None:
        """
        What Kueue's queues and the quotas of namespaces on a cluster have too little of then for some groups that wait, and for others
        beside them. Of those that are left to Kueue nobody knows in which queue there they would wait.
        """
        left = self._afterwards[0].nominations.left
        over = self._kueue.refused([id_ for id_ in ids if id_ not in left], name, beside)
        return over or self._namespaces.refused(ids, name, beside)

    def queues_after(self, name: str) -> list[tuple[str, Share, Resources]]:
        """What is promised then of Kueue's queues on a cluster, as `kueue.taken_of_shares` tells it."""
        return [*taken_of_shares(self._snapshot.capacity[name], self._kueue.promised(name))]

    @cached_property
    def _kueue(self) -> KueueQuotas:
        return KueueQuotas(*self._afterwards)

    @cached_property
    def _namespaces(self) -> NamespaceQuotas:
        return NamespaceQuotas(*self._afterwards)

    @cached_property
    def _afterwards(self) -> tuple[Pass, Occupancy]:
        shared, self._before_it = self._before_it or self._opened(), None
        for decision in self._decisions:
            for name in decision.after:
                if decision.counts_on(name) or decision.roles:
                    shared.assume(decision.group, name, decision.role_on(name), decision.counts_on(name))
            shared.taken.update({(decision.group, name): found.code for name, found in decision.reasons.items()})
        claims = {d.group: d.claim for d in self._decisions if d.claim is not None and self._among([d.claim.cluster])}
        return shared, Occupancy(shared, {d.group: self._among(d.after) for d in self._decisions}, claims)

    def _among(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if self._only is None or name in self._only)

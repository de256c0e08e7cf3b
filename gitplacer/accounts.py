"""
What every cluster offers, who has it, and what is left, before a pass and after it.

The planner's own ledgers answer, opened once more: with everything that was placed before the pass, and with everything
that is placed after it. So what a table, a page or an expression says of free room is what the planner went by, and a gang may
be tried on either. Opening them takes about as long as planning; whoever does not ask does not pay.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from gitplacer.explain import PlanView
from gitplacer.grouping import Group
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.room import QueueRoom
from gitplacer.placement.books import Books
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.reopened import Around
from gitplacer.relocation.evidence import is_stale
from gitplacer.relocation.silence import silent_clusters


class Freshness(enum.StrEnum):
    """How good the snapshot of a cluster is."""

    CURRENT = "Current"
    STALE = "Stale"  # older than its maxAge
    MISSING = "Missing"
    UNUSABLE = "Unusable"  # there is one, and it cannot be read or believed
    ASLEEP = "Asleep"  # it sleeps or wakes, and counts as it will be


class Account(Struct, frozen=True, kw_only=True):
    """
    One cluster. `offered` is what its nodes have for pods, `foreign` what pods of others use of it; `free_before` and `free_after`
    what neither they nor groups have. What several nodes have is added up: free room may lie in pieces. `before` and `after` are
    the groups that hold room there, sorted. Without a usable snapshot all amounts are nothing. `silent_since` is None unless the cluster
    counts as lost because nobody hears of it.
    """

    cluster: Cluster
    snapshot: CapacitySnapshot | None
    freshness: Freshness
    silent_since: datetime | None
    offered: Resources
    foreign: Resources
    free_before: Resources
    free_after: Resources
    before: tuple[str, ...]
    after: tuple[str, ...]

    def nodes(self, *, ready: bool | None = None) -> int:
        """How many nodes the snapshot shows, or of those that are ready, or not."""
        shown = NodeColumns.of(self.snapshot.nodes).alike if self.snapshot is not None else ()
        return sum(alike.count for alike in shown if ready is None or alike.ready is ready)


class Accounts:
    """The accounts of a fleet's clusters, as a plan finds and leaves them."""

    def __init__(self, view: PlanView, ledgers: LedgerCache | None = None, only: Collection[str] | None = None) -> None:
        """
        `ledgers` are those that the plan was made with, which then need not be opened again; `only` are clusters for whoever asks about
        no others.
        """
        self._view = view
        self._around = Around(view.snapshot, view.plan.decisions, view.edits, ledgers, only)

    @property
    def before(self) -> Books:
        """The ledgers with the room of everything taken that is placed before the pass."""
        return self._around.before

    @property
    def after(self) -> Books:
        """The ledgers with the room of everything taken that is placed after the pass."""
        return self._around.after

    def state(self, name: str) -> str:
        """The state of a cluster, which is `Lost` also where it counts as that because nobody hears of it."""
        return "Lost" if name in self._silent else self._view.clusters[name].spec.state

    def may_enter(self, group: Group, policy: PlacementPolicy) -> tuple[str, ...]:
        """The clusters that would take a group under its policy if they had room for it. For groups that ask the same it is the same tuple."""
        return self._around.may_enter(group, policy)

    def quotas_refuse(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> Finding | None:
        """
        What Kueue's queues and the quotas of namespaces on a cluster lack for some groups that wait, beside what is promised after the pass and what groups of `beside`
        would take; None where nobody looked.
        """
        return self._around.quotas_refuse(ids, name, beside) if name in self._view.snapshot.capacity else None

    def queues(self, name: str) -> tuple[QueueRoom, ...]:
        """What Kueue's queues on a cluster have left, and what of it is promised after the pass; () where nobody looked."""
        if name not in self._view.snapshot.capacity:
            return ()
        return tuple(
            QueueRoom(kind, share.name, share.left, taken, getattr(share, "stopped", ""))
            for kind, share, taken in self._around.queues_after(name)
        )

    def __iter__(self) -> Iterator[Account]:
        """Of every cluster, by name."""
        return (self[name] for name in self.names)

    @property
    def names(self) -> list[str]:
        """The clusters, sorted."""
        return sorted(self._view.clusters)

    def __getitem__(self, name: str) -> Account:
        """Raises KeyError where there is no such cluster."""
        cluster, snapshot = self._view.clusters[name], self._view.snapshot.capacity.get(name)
        offered, foreign, free = NOTHING, NOTHING, (NOTHING, NOTHING)
        if snapshot is not None:
            nodes, columns = self.before[name].nodes, self.before[name].columns
            offered, foreign = (
                columns.resources(nodes.allocatable.sum(axis=0)),
                columns.resources(nodes.used.sum(axis=0)),
            )
            free = columns.resources(self.before[name].totals()), columns.resources(self.after[name].totals())
        return Account(
            cluster=cluster, snapshot=snapshot, freshness=freshness(self._view, cluster),
            silent_since=self._silent.get(name), offered=offered, foreign=foreign, free_before=free[0], free_after=free[1],
            before=self._groups[0].get(name, ()), after=self._groups[1].get(name, ()),
        )  # fmt: skip

    @cached_property
    def _silent(self) -> Mapping[str, datetime]:
        return silent_clusters(self._view.snapshot)

    @cached_property
    def _groups(self) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
        """The groups on each cluster before the pass, and after it."""
        before: dict[str, list[str]] = defaultdict(list)
        after: dict[str, list[str]] = defaultdict(list)
        for decision in self._view.plan.decisions:
            for found, names in ((before, decision.before), (after, decision.after)):
                for name in names:
                    found[name].append(decision.group)
        return tuple({name: tuple(sorted(ids)) for name, ids in found.items()} for found in (before, after))  # type: ignore[return-value]


def freshness(view: PlanView, cluster: Cluster) -> Freshness:
    """How good the snapshot of a cluster is at the time of the plan."""
    snapshot = view.snapshot.capacity.get(cluster.name)
    if not view.snapshot.is_awake(cluster.name):
        return Freshness.ASLEEP
    if cluster.name in view.snapshot.broken_capacity:
        return Freshness.UNUSABLE
    if snapshot is None:
        return Freshness.MISSING
    return Freshness.STALE if is_stale(cluster, snapshot, view.snapshot.now) else Freshness.CURRENT

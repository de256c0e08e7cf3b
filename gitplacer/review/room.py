"""
What a plan leaves: the headroom of a group's clusters, and how full every cluster is.

Of all that a group asks for, one resource runs out first, and that is the one a reviewer wants to see. Devices come before
cores and memory, because nothing else can be done with a node whose devices are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from gitplacer.accounts import Account, Accounts
from gitplacer.explain import PlanView
from gitplacer.model.decision import Decision
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import total_requests

_BASICS = ("cpu", "memory")


class Headroom(Struct, frozen=True, kw_only=True):
    """What is left of one resource on a cluster after the pass: in all, of how much, and the most on a single node."""

    cluster: str
    resource: str
    free: int
    offered: int
    largest: int


class Level(Struct, frozen=True, kw_only=True):
    """How much of a resource of a cluster is taken, before the pass and after it, and by pods of others at any time."""

    cluster: str
    resource: str
    offered: int
    foreign: int
    before: int
    after: int


def is_device(resource: str) -> bool:
    """Whether it is an extended resource, such as nvidia.com/gpu."""
    return "/" in resource


class Rooms:
    """What is left on each cluster after the pass, added up once."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._known: dict[str, tuple[Account, Resources]] = {}

    def headroom(self, decision: Decision, view: PlanView) -> Headroom | None:
        """The scarcest of what a group asks for, on the clusters that have it after the pass; None where nobody knows."""
        if not decision.after:
            return None
        asked = total_requests(view.gang(decision, view.main_cluster(decision)))
        found = [room for name in decision.after if name in self._accounts.before for room in self._of(name, asked)]
        return min(found, key=lambda room: (room.free / room.offered, room.resource, room.cluster), default=None)

    def _of(self, name: str, asked: Resources) -> Iterator[Headroom]:
        account, largest = self._left(name)
        devices = [resource for resource in asked if is_device(resource)]
        for resource in devices or [resource for resource in _BASICS if resource in asked]:
            offered = account.offered.get(resource, 0)
            if offered > 0:
                yield Headroom(
                    cluster=name, resource=resource, free=account.free_after.get(resource, 0), offered=offered,
                    largest=largest.get(resource, 0),
                )  # fmt: skip

    def _left(self, name: str) -> tuple[Account, Resources]:
        """The account of a cluster, and the most that is free on one of its nodes."""
        if name not in self._known:
            account, ledger = self._accounts[name], self._accounts.after[name]
            nodes = ledger.free_on_nodes()
            largest = ledger.columns.resources(nodes.clip(0).max(axis=0)) if len(nodes) else NOTHING
            self._known[name] = account, largest
        return self._known[name]


def levels(accounts: Accounts, names: Collection[str]) -> tuple[Level, ...]:
    """How full clusters are, by name: their devices, or cores and memory where they have none."""
    return tuple(level for name in accounts.names if name in names for level in _levels(accounts[name]))


def _levels(account: Account) -> Iterator[Level]:
    devices = sorted(name for name, amount in account.offered.items() if is_device(name) and amount > 0)
    for resource in devices or _BASICS:
        offered = account.offered.get(resource, 0)
        if offered > 0:
            yield Level(
                cluster=account.cluster.name, resource=resource, offered=offered,
                foreign=min(offered, account.foreign.get(resource, 0)),
                before=offered - account.free_before.get(resource, 0), after=offered - account.free_after.get(resource, 0),
            )  # fmt: skip

"""
What Kueue's queues have left, from the objects in which it says what they have and what is reserved.

A ClusterQueue has quota for each flavor of each resource. What it does not use others of its cohort may, but for what it does not
lend; and it may use theirs, as far as it may borrow. Cohorts stand in cohorts, by the same rules. So what is left is worked out flavor by
flavor, as Kueue does (its `resource_node.go`), and only then added up over flavors. Quota counts rounded down, and what is reserved
rounded up.

Where Cohorts may not be read nobody knows what there is to borrow, and no queue is said to have more left than of its own quota.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import Cursor
from gitplacer.kinds.queues import ClusterQueue, Cohort, LocalQueue
from gitplacer.model import quantity
from gitplacer.model.labels import NAME_KEY
from gitplacer.model.resources import Resources
from gitplacer.scheduler.reading import cursor_of
from gitplacer.workloads.constraints import selector_of

Sort = tuple[str, str]
"""A flavor and a resource."""

_NOT_SELECTED = "NamespaceNotSelected"
_NOT_STOPPED = ("", "None")


class _Quota(Struct, frozen=True):
    """What there is of one flavor and resource, and what of it may be lent, and beside it borrowed; None is no limit."""

    nominal: int = 0
    lends: int | None = None
    borrows: int | None = None


class _Node(Struct):
    """A ClusterQueue (`reserved`) or a Cohort (`members`, which are added to it)."""

    cohort: str | None = None
    quotas: dict[Sort, _Quota] = field(default_factory=dict)
    reserved: dict[Sort, int] = field(default_factory=dict)
    members: list[_Node] = field(default_factory=list)

    def has(self, sort: Sort) -> int:
        """All that is there: its own quota, and what its members lend."""
        return self._quota(sort).nominal + sum(member.has(sort) - member._kept(sort) for member in self.members)

    def used(self, sort: Sort) -> int:
        """What is taken of that: what is reserved, and what members take beyond what they keep for themselves."""
        return self.reserved.get(sort, 0) + sum(max(0, m.used(sort) - m._kept(sort)) for m in self.members)

    def own(self, sort: Sort) -> int:
        """What is left of what it does not lend."""
        return max(0, self._kept(sort) - self.used(sort))

    def sorts(self) -> set[Sort]:
        return {*self.quotas, *self.reserved, *(sort for member in self.members for sort in member.sorts())}

    def borrowable(self, sort: Sort) -> int | None:
        """The most that it may still take of its cohort; None is no limit."""
        quota, kept = self._quota(sort), self._kept(sort)
        if quota.borrows is None:
            return None
        return self.has(sort) - kept - max(0, self.used(sort) - kept) + quota.borrows

    def _kept(self, sort: Sort) -> int:
        """What it does not lend."""
        lends = self._quota(sort).lends
        return 0 if lends is None or self.cohort is None else max(0, self.has(sort) - lends)

    def _quota(self, sort: Sort) -> _Quota:
        return self.quotas.get(sort, _Quota())


def queues(
    cluster_queues: Iterable[Mapping[str, Any]],
    local_queues: Iterable[Mapping[str, Any]],
    cohorts: Iterable[Mapping[str, Any]] | None,
    namespaces: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """
    The fields `queues` and `cohorts` of a snapshot, from objects as an API server lists them. `cohorts` is None where they may not be
    read; `namespaces` are labels of namespaces by name.
    """
    found = {_name(value): value for value in map(cursor_of, cluster_queues)}
    around = {_name(value): _cohort(value) for value in map(cursor_of, cohorts or ())}
    nodes = {name: _queue(value) for name, value in found.items()}
    parents = _joined(nodes.values(), around)
    locals_of: dict[str, list[LocalQueue]] = defaultdict(list)
    for local in map(cursor_of, local_queues):
        leads_to = local.mapping("spec").text("clusterQueue")
        if leads_to in found:
            locals_of[leads_to].append(_local(local, found[leads_to], namespaces))

    @cache
    def left(node_of: str, name: str, sort: Sort) -> int:
        """What may still be reserved through a queue or a cohort."""
        node = nodes[name] if node_of == "queue" else parents[name]
        if node.cohort is None:
            return node.has(sort) - node.used(sort)
        above, most = left("cohort", node.cohort, sort), node.borrowable(sort)
        total = node.own(sort) + (above if most is None else min(above, most))
        alone = node.quotas.get(sort, _Quota()).nominal - node.used(sort)
        return total if cohorts is not None or node_of == "cohort" else min(total, alone)

    def share(node_of: str, name: str, node: _Node) -> dict[str, Any]:
        sorts = sorted(node.sorts())
        amounts = {sort: max(0, left(node_of, name, sort)) for sort in sorts}
        own = {sort: min(amounts[sort], node.own(sort)) for sort in sorts} if node.cohort is not None else amounts
        return {
            "name": name,
            "cohort": node.cohort,
            "left": _summed(amounts).rendered(),
            "own": _summed(own).rendered(),
        }

    return {
        "queues": tuple(
            ClusterQueue(
                **share("queue", name, nodes[name]),
                covers=tuple(sorted({resource for _, resource in nodes[name].quotas})),
                stopped=_stopped(found[name]),
                local_queues=tuple(sorted(locals_of[name], key=lambda local: local.name)),
            )
            for name in sorted(found)
        ),
        "cohorts": tuple(Cohort(**share("cohort", name, node)) for name, node in sorted(parents.items())),
    }


def _joined(members: Iterable[_Node], given: Mapping[str, _Node]) -> dict[str, _Node]:
    """
    The cohorts that there are, also those that are but named, with their members. Of those that stand in each other, which Kueue refuses,
    nothing is lent.
    """
    parents = dict(given)
    for name in sorted({node.cohort for node in (*members, *given.values()) if node.cohort} - parents.keys()):
        parents[name] = _Node()
    for node in [node for name, node in parents.items() if _goes_round(name, parents)]:
        node.quotas, node.cohort = {}, None
    for node in (*members, *parents.values()):
        if node.cohort is not None:
            parents[node.cohort].members.append(node)
    return parents


def _goes_round(name: str, parents: Mapping[str, _Node]) -> bool:
    above, seen = parents[name].cohort, {name}
    while above is not None and above not in seen:
        seen.add(above)
        above = parents[above].cohort
    return above is not None


def _name(value: Cursor) -> str:
    return value.mapping("metadata").text("name")


def _queue(value: Cursor) -> _Node:
    spec = value.mapping("spec")
    reserved = {
        (flavor.text("name"), item.text("name")): _amount(item, "total", up=True) or 0
        for flavor in value.mapping("status").items("flavorsReservation")
        for item in flavor.items("resources")
    }
    cohort = spec.text("cohortName") or spec.text("cohort")  # v1beta2, v1beta1
    return _Node(cohort or None, dict(_quotas(spec)), reserved)


def _cohort(value: Cursor) -> _Node:
    spec = value.mapping("spec")
    return _Node((spec.text("parentName") or spec.text("parent")) or None, dict(_quotas(spec)))


def _quotas(spec: Cursor) -> Iterator[tuple[Sort, _Quota]]:
    for group in spec.items("resourceGroups"):
        for flavor in group.items("flavors"):
            for item in flavor.items("resources"):
                yield (
                    (flavor.text("name"), item.text("name")),
                    _Quota(
                        _amount(item, "nominalQuota") or 0,
                        _amount(item, "lendingLimit"),
                        _amount(item, "borrowingLimit"),
                    ),
                )


def _amount(item: Cursor, key: str, *, up: bool = False) -> int | None:
    """A quantity of the resource that an entry names, rounded down or up; None where there is none. What cannot be read is none of it."""
    value = item.value.get(key)
    if value is None:
        return None
    try:
        exact = quantity.parse(str(value)) * (1000 if item.text("name") == "cpu" else 1)
    except quantity.InvalidQuantity:
        return quantity.MAX if up else 0
    return min(quantity.MAX, max(0, math.ceil(exact) if up else math.floor(exact)))


def _summed(amounts: Mapping[Sort, int]) -> Resources:
    total: dict[str, int] = defaultdict(int)
    for (_, resource), amount in amounts.items():
        total[resource] = min(quantity.MAX, total[resource] + amount)
    return Resources(total)


def _stopped(queue: Cursor) -> str:
    """Why a ClusterQueue lets nothing in, or ''."""
    policy = queue.mapping("spec").text("stopPolicy")
    if policy not in _NOT_STOPPED:
        return policy
    for condition in queue.mapping("status").items("conditions"):
        if condition.text("type") == "Active" and condition.text("status") == "False":
            return condition.text("reason") or "NotActive"
    return ""


def _local(local: Cursor, queue: Cursor, namespaces: Mapping[str, Mapping[str, str]]) -> LocalQueue:
    metadata, policy = local.mapping("metadata"), local.mapping("spec").text("stopPolicy")
    namespace = metadata.text("namespace")
    labels = {NAME_KEY: namespace, **namespaces.get(namespace, {})}
    stopped = "" if policy in _NOT_STOPPED else policy
    if not selector_of(queue.mapping("spec"), "namespaceSelector").matches(labels):
        stopped = stopped or _NOT_SELECTED
    return LocalQueue(name=f"{namespace}/{metadata.text('name')}", stopped=stopped)

"""
All machines that one cluster's autoscaler can add, and how many more of them.

A node is of a type if it has its instance type and contradicts none of its labels; where several types are left, it
counts towards the maximum of each, so that we rather count on one machine too few. Machines that were asked for and
are no nodes yet belong to whom they were counted for; what is on its way beyond that is for pods that are not ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.machines import Autoscaler, NodePool
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.machines import pools
from gitplacer.machines.merging import Merged, merged
from gitplacer.machines.types import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    NODE_POOL,
    NODES,
    REGION,
    ZONE,
    Limit,
    LimitKind,
    MachineType,
)
from gitplacer.model.labels import Labels
from gitplacer.model.resources import Resources


class Catalogue(Struct, frozen=True):
    """
    The machine types of a cluster, sorted by key, and the limits on them by key. `merged` are the types before node
    pools, also those of which nothing can be added.
    """

    types: tuple[MachineType, ...] = ()
    limits: Mapping[str, Limit] = field(default_factory=dict)
    merged: tuple[Merged, ...] = ()

    @staticmethod
    def of(cluster: Cluster, snapshot: CapacitySnapshot, now: datetime | None = None) -> Catalogue:
        """What can be added at a moment; without one, when the snapshot was taken. A static cluster adds nothing."""
        autoscaler = cluster.spec.autoscaler
        if autoscaler is None:
            return Catalogue()
        declared_only = cluster.spec.limits.node_groups == "Declared"
        at = now or snapshot.observed_at
        found = merged(autoscaler.node_types, snapshot.node_groups, at, declared_only=declared_only)
        nodes = _sorts(snapshot, found)
        seen = _seen(found, nodes)
        limits = {limit.key: limit for limit in _limits(autoscaler, found, seen, nodes)}
        place = {REGION: cluster.spec.region, ZONE: cluster.spec.zone}
        derived = {key: value for key, value in place.items() if value is not None}
        types = (made for one in found for made in _machine_types(autoscaler, one, derived, limits))
        return Catalogue(tuple(sorted(types, key=lambda type_: type_.key)), limits, found)

    def left(self, promised: Mapping[str, int], *, to_placed: bool, exhausted_too: bool = False) -> dict[str, int]:
        """
        How much is left of each limit when so many machines of each key are promised. What is placed already may have
        the machines that are on their way, and those of a group that is exhausted since: they are no news. `exhausted_too` counts on
        groups that are exhausted.
        """
        if not self.limits:
            return {}
        drawn: Counter[str] = Counter()
        for type_ in self.types:
            for key, amount in type_.draws:
                drawn[key] += amount * promised.get(type_.key, 0)
        left = {}
        for key, limit in self.limits.items():
            if limit.kind is LimitKind.EXHAUSTED:
                left[key] = _PLENTY if to_placed or exhausted_too else 0
            else:
                gone = limit.used + drawn[key]
                left[key] = max(0, limit.most - (gone if to_placed else max(gone, limit.used + limit.coming)))
        return left

    def type_of(self, labels: Labels) -> Merged | None:
        """The type that a node is of, or None for one that no autoscaler can add: best the one with most of its labels."""
        able = [one for one in self.merged if _is_of(one, labels)]
        return max(able, key=lambda one: (len(one.labels), one.spot is not None), default=None)

    def minimum(self, name: str) -> int:
        """How many machines of a type stand there whatever is placed."""
        return next((one.minimum for one in self.merged if one.name == name), 0)

    def not_counted(self, autoscaler: Autoscaler) -> Iterator[tuple[str, str]]:
        """Types of which nothing can be added for want of a word, with why."""
        counted = {type_.name for type_ in self.types}
        for one in self.merged:
            if one.name in counted:
                continue
            if one.allocatable is None:
                yield one.name, "has no allocatable, and no snapshot reports it"
            elif autoscaler.node_pools:
                why = "; ".join(
                    f"{pool.name} asks for {pools.unmet(one, pool, _labels(one, {}))}" for pool in autoscaler.node_pools
                )
                yield one.name, f"meets the requirements of no node pool: {why}"
            else:
                yield one.name, "has no max, and no snapshot reports it"


_PLENTY = 2**62


def _machine_types(
    autoscaler: Autoscaler, one: Merged, derived: Labels, limits: Mapping[str, Limit]
) -> Iterator[MachineType]:
    if one.allocatable is None:
        return
    labels = _labels(one, derived)
    draws = [(key, 1) for key in (_max_key(one.shared), _group_key(one.name), _exhausted_key(one.name), _MAX_NODES)]
    bounded = any(key in limits for key, _ in draws[:2])
    if not autoscaler.node_pools:
        if bounded or autoscaler.type == "Karpenter":
            yield MachineType(
                key=one.name, name=one.name, labels=tuple(sorted(labels.items())), taints=one.taints,
                allocatable=one.allocatable, overhead=one.overhead, price_per_hour=one.price_per_hour,
                spot=bool(one.spot), draws=tuple((key, n) for key, n in draws if key in limits),
            )  # fmt: skip
        return
    weights = sorted({pool.weight for pool in autoscaler.node_pools}, reverse=True)
    counted = one.capacity if one.capacity is not None else one.allocatable
    for pool in autoscaler.node_pools:
        if pools.unmet(one, pool, labels) is not None:
            continue
        drawn = [*draws, *((key, _drawn(limits[key], counted)) for key in (_pool_key(pool, r) for r in pool.limits))]
        for variant in pools.variants(one, pool, labels):
            chosen = "".join(f" {key}={value}" for key, value in variant.chosen)
            yield MachineType(
                key=f"{one.name} in {pool.name}{chosen}", name=one.name, labels=variant.labels, taints=variant.taints,
                allocatable=one.allocatable, overhead=one.overhead, price_per_hour=one.price_per_hour,
                spot=variant.spot, demotion=weights.index(pool.weight),
                draws=tuple((key, n) for key, n in drawn if key in limits and n),
            )  # fmt: skip


def _labels(one: Merged, derived: Labels) -> dict[str, str]:
    return {**derived, **dict(one.labels), INSTANCE_TYPE: one.instance_type}


def _limits(
    autoscaler: Autoscaler, found: tuple[Merged, ...], seen: Mapping[str, int], nodes: Sequence[_Sort]
) -> Iterator[Limit]:
    entries = {entry.name: entry for entry in autoscaler.node_types if entry.max is not None}
    sharing: dict[str, list[Merged]] = defaultdict(list)
    coming = {one.name: max(0, (one.count or 0) - seen[one.name]) for one in found}
    for one in found:
        if one.shared:
            sharing[one.shared].append(one)
        if one.group_max is not None:
            yield Limit(
                key=_group_key(one.name), kind=LimitKind.GROUP_MAX, subject=one.name, most=one.group_max,
                used=seen[one.name], coming=coming[one.name],
            )  # fmt: skip
        if one.exhausted is not None:
            until = one.exhausted.until
            yield Limit(
                key=_exhausted_key(one.name), kind=LimitKind.EXHAUSTED, subject=one.name, most=0,
                code=one.exhausted.code, until=f"{until:%Y-%m-%dT%H:%M:%SZ}" if until else "",
            )  # fmt: skip
    for name, ones in sharing.items():
        most = entries[name].max
        assert most is not None
        yield Limit(
            key=_max_key(name), kind=LimitKind.MAX, subject=name, most=most,
            used=sum(node.count for node in nodes if any(_is_of(one, node.labels) for one in ones)),
            coming=sum(coming[one.name] for one in ones),
        )  # fmt: skip
    if autoscaler.max_nodes is not None:
        yield Limit(
            key=_MAX_NODES, kind=LimitKind.MAX_NODES, subject="", most=autoscaler.max_nodes,
            used=sum(node.count for node in nodes), coming=sum(coming.values()),
        )  # fmt: skip
    for pool in autoscaler.node_pools:
        for resource, most in sorted(pool.limits.items()):
            yield Limit(
                key=_pool_key(pool, resource), kind=LimitKind.NODE_POOL, subject=pool.name, resource=resource,
                most=most, used=_used_in(pool, resource, found, nodes),
            )  # fmt: skip


def _drawn(limit: Limit, counted: Resources) -> int:
    """What one machine takes of a pool's limit. A pool that has more than one of its limits allows launches nothing."""
    amount = 1 if limit.resource == NODES else counted.get(limit.resource, 0)
    return max(amount, 1) if limit.used > limit.most else amount


def _used_in(pool: NodePool, resource: str, found: tuple[Merged, ...], nodes: Sequence[_Sort]) -> int:
    """What the nodes of a pool count against its limit: their type's capacity, or what they offer where it is not known."""
    used = 0
    for node in nodes:
        if node.labels.get(NODE_POOL) == pool.name:
            known = next((one.capacity for one in found if one.capacity is not None and _is_of(one, node.labels)), None)
            counted: Resources = node.allocatable if known is None else known
            used += node.count * (1 if resource == NODES else counted.get(resource, 0))
    return used


class _Sort(Struct, frozen=True):
    """So many nodes that are alike in what a catalogue looks at."""

    labels: Labels
    allocatable: Resources
    count: int


def _sorts(snapshot: CapacitySnapshot, found: tuple[Merged, ...]) -> list[_Sort]:
    """The nodes of a snapshot, told apart by the labels that say whether one is of a type or of a pool."""
    told = {INSTANCE_TYPE, CAPACITY_TYPE, NODE_POOL, *(key for one in found for key, _ in one.labels)}
    seen = NodeColumns.of(snapshot.nodes)
    places = [[(at, key) for at, key in enumerate(keys) if key in told] for keys in seen.keys.values]
    counts: Counter[tuple[int, tuple[tuple[str, str], ...]]] = Counter()
    for which, whose, values in zip(seen.alike.rows, seen.keys.rows, seen.labels, strict=True):
        counts[which, tuple((key, values[at]) for at, key in places[whose])] += 1
    sorts = ((seen.alike.values[which], labels, rows) for (which, labels), rows in counts.items())
    return [_Sort(dict(labels), alike.allocatable, alike.count * rows) for alike, labels, rows in sorts]


def _seen(found: tuple[Merged, ...], nodes: Sequence[_Sort]) -> dict[str, int]:
    """How many nodes there are of each type."""
    return {one.name: sum(node.count for node in nodes if _is_of(one, node.labels)) for one in found}


def _is_of(one: Merged, labels: Labels) -> bool:
    if labels.get(INSTANCE_TYPE) != one.instance_type:
        return False
    if one.spot is not None and labels.get(CAPACITY_TYPE) == ("on-demand" if one.spot else "spot"):
        return False
    return all(labels.get(key, value) == value for key, value in one.labels)


_MAX_NODES = "maxNodes"


def _max_key(name: str) -> str:
    return f"max {name}"


def _group_key(name: str) -> str:
    return f"group {name}"


def _exhausted_key(name: str) -> str:
    return f"exhausted {name}"


def _pool_key(pool: NodePool, resource: str) -> str:
    return f"pool {pool.name} {resource}"

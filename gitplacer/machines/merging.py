"""
Who is believed about a machine type: people, field by field, then the machine.

A node group of the snapshot and an entry of the Cluster's `nodeTypes` are about the same when they have one name. A group
that no entry is named after takes the entry of its instance type; several groups may share one, and then
its `max` holds for all of them together beside the `max` of each. A field that is written in the entry wins whole,
whatever it says; what the entry does not say is as reported, unless only what is declared counts: then a group without an entry is
left out, and no price is as reported. An entry without a group stands for itself; an entry with
groups is not counted beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.kinds.machines import Exhaustion, NodeGroup, NodeType
from gitplacer.model.labels import Taint
from gitplacer.model.resources import NOTHING, Resources


class Merged(Struct, frozen=True, kw_only=True):
    """
    One type after merging. `allocatable` None is what nobody said. `spot` None is what nobody said either. `shared` is
    the entry whose maximum it shares with others, `group_max` the maximum of its own group; `minimum` and
    `count` are its group's.
    """

    name: str
    instance_type: str
    allocatable: Resources | None = None
    overhead: Resources = NOTHING
    capacity: Resources | None = None
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    price_per_hour: float | None = None
    spot: bool | None = None
    shared: str = ""
    group_max: int | None = None
    minimum: int = 0
    count: int | None = None
    exhausted: Exhaustion | None = None


def merged(
    entries: tuple[NodeType, ...], groups: tuple[NodeGroup, ...], now: datetime, *, declared_only: bool = False
) -> tuple[Merged, ...]:
    """One list of both, sorted by name."""
    found, spoken_for = [], set()
    names = {group.name for group in groups}
    for group in groups:
        same = [entry for entry in entries if entry.name == group.name]
        alike = [entry for entry in entries if entry.name not in names and _may_describe(entry, group)]
        entry = next(iter([*same, *sorted(alike, key=lambda entry: entry.name)]), None)
        if entry is not None:
            spoken_for.add(entry.name)
        elif declared_only:
            continue
        one = _one(entry, group, now)
        found.append(replace(one, price_per_hour=entry.price_per_hour) if declared_only and entry is not None else one)
    found += [_one(entry, None, now) for entry in entries if entry.name not in spoken_for]
    return tuple(sorted(found, key=lambda one: one.name))


def _may_describe(entry: NodeType, group: NodeGroup) -> bool:
    """Whether an entry is about the instance type of a group, and both say spot or on-demand, if they say it."""
    if (entry.instance_type or entry.name) != (group.node_type or group.name):
        return False
    return entry.spot == group.spot or not {"spot"} <= entry.model_fields_set & group.model_fields_set


def _one(entry: NodeType | None, group: NodeGroup | None, now: datetime) -> Merged:
    said = {name: value for side in (group, entry) if side is not None for name, value in _written(side)}
    name = group.name if group is not None else entry.name if entry is not None else ""
    has_max = entry is not None and entry.max is not None
    same = entry is not None and group is not None and entry.name == group.name
    return Merged(
        name=name,
        instance_type=said.get("instance_type") or said.get("node_type") or name,
        allocatable=said.get("allocatable"),
        overhead=said.get("overhead", NOTHING),
        capacity=said.get("capacity"),
        labels=tuple(sorted(said.get("labels", {}).items())),
        taints=tuple(field.taint() for field in said.get("taints", ())),
        price_per_hour=said.get("price_per_hour"),
        spot=said.get("spot"),
        shared=entry.name if entry is not None and has_max else "",
        group_max=group.max if group is not None and not (same and has_max) else None,
        minimum=group.min if group is not None else 0,
        count=group.count if group is not None else None,
        exhausted=_holding(group, now),
    )


def _written(side: NodeType | NodeGroup) -> Iterator[tuple[str, Any]]:
    for name in side.model_fields_set:
        yield name, getattr(side, name)


def _holding(group: NodeGroup | None, now: datetime) -> Exhaustion | None:
    """Why nothing new is counted of a group at this moment, or None."""
    exhausted = group.exhausted if group is not None else None
    if exhausted is None or (exhausted.until is not None and exhausted.until <= now):
        return None
    return exhausted

"""
Packing a gang onto nodes.

A gang starts whole or not at all, so the question is not "how many pods fit?" but "do all of them?". Pods of one
shape are interchangeable and are placed together: how many of them a node takes is one division. The shape with the
fewest possible nodes goes first, then the largest; nodes with devices that a pod does not ask for are left to
those that do. A few orders are tried, because each heuristic misses packings that another finds; none ever says
yes wrongly. "No" means that no packing was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gitplacer.model.decision import NewNodes, Reason, Tally
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet
from gitplacer.placement.nodes import Amounts, Mask, Nodes, tallied

Counts = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Use:
    """`count` pods, each asking `row`, on one machine."""

    machine: int
    row: Amounts
    count: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the pods of a gang go; `opened` are the types of new machines, numbered after those of the room."""

    uses: tuple[Use, ...]
    opened: tuple[str, ...] = ()
    on_promised: bool = False

    def new_nodes(self, nodes: Nodes) -> tuple[NewNodes, ...]:
        return tuple(
            NewNodes(name, self.opened.count(name), nodes.types[name].price_per_hour, nodes.types[name].spot)
            for name in sorted(set(self.opened))
        )


@dataclass(frozen=True, slots=True)
class Shortfall:
    """
    How close a gang came: of the first role that did not fit, how many pods were placed of how many wanted,
    what they were short of, and why each node took no more of them.
    """

    role: str
    placed: int
    wanted: int
    short: Resources
    tally: tuple[Tally, ...]
    nodes: int


@dataclass(frozen=True, slots=True)
class Room:
    """
    What is free on each machine of one cluster. The first machines are `nodes.machines`; then come `promised`
    ones, of a type each, that an autoscaler has been counted on to add. `left` says how many more of a type may come.
    """

    nodes: Nodes
    free: Amounts
    promised: tuple[str, ...]
    left: dict[str, int]

    def admits(self, pods: PodSet) -> Mask:
        real = self.nodes.admits(pods.shape)
        if not self.promised:
            return real
        extra = [bool(name) and self.nodes.type_admits(pods.shape, name) for name in self.promised]
        return np.concatenate([real, np.array(extra, dtype=np.bool_)])


def merged(gang: Gang) -> tuple[PodSet, ...]:
    """The gang with pods of one role and shape counted together, and empty sets left out."""
    counts: dict[tuple[str, object], PodSet] = {}
    for pods in gang:
        key = (pods.role, pods.shape)
        before = counts[key].count if key in counts else 0
        counts[key] = PodSet(pods.role, before + pods.count, pods.shape)
    return tuple(pods for pods in counts.values() if pods.count)


def capacity(free: Amounts, row: Amounts, mask: Mask) -> Counts:
    """How many pods asking `row` each machine takes: 0 where the mask forbids it or it is overcommitted."""
    asked = np.flatnonzero(row)
    room = free[:, asked] // row[asked]
    fits: Counts = np.clip(room.min(axis=1), 0, None)
    fits[~mask] = 0
    return fits


@dataclass(frozen=True, slots=True)
class _Class:
    """The pods of one role and shape, with what one asks, where it may be, and how many each machine takes alone."""

    pods: PodSet
    row: Amounts
    mask: Mask
    alone: Counts


_Rank = Callable[[Room, _Class], tuple[float, ...]]


def _scarce_first(room: Room, one: _Class) -> tuple[float, ...]:
    return (int(np.count_nonzero(one.alone)), *_large_first(room, one))


def _large_first(room: Room, one: _Class) -> tuple[float, ...]:
    total = np.maximum(room.free.sum(axis=0), 1)
    return (-float((one.row / total).max()),)


_ATTEMPTS: tuple[tuple[_Rank, bool], ...] = (
    (_scarce_first, True),
    (_large_first, True),
    (_scarce_first, False),
    (_large_first, False),
)


def pack(room: Room, gang: Gang, *, scale_up: bool = False) -> Packing | Shortfall:
    """
    Place all pods of a gang in a room, or say how close it came. Changes nothing.

    With `scale_up`, promised machines count and new ones may be opened.
    """
    if not scale_up and room.promised:
        room = Room(room.nodes, room.free[: len(room.nodes.machines)], (), room.left)
    classes = _classes(room, gang)
    if not scale_up:
        for one in classes:
            if one.alone.sum() < one.pods.count:
                return _alone_too_many(room, one)
    first: Shortfall | None = None
    for rank, tight in _ATTEMPTS:
        found = _attempt(room, sorted(classes, key=partial(rank, room)), tight, scale_up)
        if isinstance(found, Packing):
            return found
        first = first or found
    assert first is not None
    return first


def pack_what_fits(room: Room, gang: Gang) -> Packing:
    """As much of a gang as finds room now, for pods that are placed already and will take what they get."""
    whole = pack(room, gang)
    if isinstance(whole, Packing):
        return whole
    free, uses = room.free.copy(), []
    for one in _classes(room, gang):
        uses += _fill(room, free, one.row, capacity(free, one.row, one.mask), one.pods.count, True)
    return Packing(tuple(uses))


def _classes(room: Room, gang: Gang) -> list[_Class]:
    found = []
    for pods in merged(gang):
        row, mask = room.nodes.columns.asked(pods.shape), room.admits(pods)
        found.append(_Class(pods, row, mask, capacity(room.free, row, mask)))
    return found


def _alone_too_many(room: Room, one: _Class) -> Shortfall:
    """The shortfall of a role that does not even fit alone; what is short is short beside the pods that do fit."""
    free = room.free.copy()
    _fill(room, free, one.row, one.alone, one.pods.count, True)
    return _shortfall(room, free, one, int(one.alone.sum()))


def _attempt(room: Room, classes: Sequence[_Class], tight: bool, scale_up: bool) -> Packing | Shortfall:
    free = room.free.copy()
    uses: list[Use] = []
    opened = _Opened(room)
    for one in classes:
        fits = capacity(free, one.row, one.mask) if uses else one.alone
        here = _fill(room, free, one.row, fits, one.pods.count, tight)
        uses += here
        missing = one.pods.count - sum(use.count for use in here)
        if missing and scale_up:
            more, missing = opened.place(one.pods, one.row, missing)
            uses += more
        if missing:
            return _shortfall(room, free, one, one.pods.count - missing)
    promised = any(use.machine >= len(room.nodes.machines) for use in uses)
    return Packing(tuple(uses), tuple(opened.types), promised)


def _fill(room: Room, free: Amounts, row: Amounts, fits: Counts, wanted: int, tight: bool) -> list[Use]:
    """Put up to `wanted` pods on machines and take their room. Tight: where fewest more would fit."""
    able = np.flatnonzero(fits)
    if not len(able):
        return []
    devices = room.nodes.columns.devices & (row == 0)
    spoils = (free[np.ix_(able, np.flatnonzero(devices))] > 0).any(axis=1)
    new = able >= len(room.nodes.machines)
    order = able[np.lexsort((able, fits[able] if tight else -fits[able], spoils, new))]
    taken = np.minimum(fits[order], np.maximum(wanted - (np.cumsum(fits[order]) - fits[order]), 0))
    uses = [Use(int(machine), row, int(count)) for machine, count in zip(order, taken, strict=True) if count]
    for use in uses:
        free[use.machine] -= row * use.count
    return uses


class _Opened:
    """Machines that one attempt would have an autoscaler add."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._left = dict(room.left)
        self._free: list[Amounts] = []
        self.types: list[str] = []

    def place(self, pods: PodSet, row: Amounts, wanted: int) -> tuple[list[Use], int]:
        """Put pods on machines opened before, then on new ones, cheapest first; what is left over."""
        uses: list[Use] = []
        nodes, asked = self._room.nodes, np.flatnonzero(row)
        for index, name in enumerate(self.types):
            if wanted and nodes.type_admits(pods.shape, name):
                wanted -= self._use(uses, index, row, min(wanted, _most(self._free[index], row, asked)))
        while wanted:
            cheapest = self._cheapest(pods, row, wanted)
            if cheapest is None:
                break
            fits = _most(nodes.type_row[cheapest], row, asked)
            for _ in range(min(self._left[cheapest], max(1, wanted // fits))):
                self._left[cheapest] -= 1
                self.types.append(cheapest)
                self._free.append(nodes.type_row[cheapest].copy())
                wanted -= self._use(uses, len(self.types) - 1, row, min(wanted, fits))
        return uses, wanted

    def _use(self, uses: list[Use], index: int, row: Amounts, count: int) -> int:
        if count:
            self._free[index] -= row * count
            uses.append(Use(len(self._room.free) + index, row, count))
        return count

    def _cheapest(self, pods: PodSet, row: Amounts, wanted: int) -> str | None:
        """
        The type that costs least for each pod it takes; a type without a price comes after those with one, and is
        weighed by the share of it that would lie idle.
        """
        nodes, asked = self._room.nodes, np.flatnonzero(row)
        best: tuple[tuple[float, ...], str] | None = None
        for name, left in sorted(self._left.items()):
            fits = min(wanted, _most(nodes.type_row[name], row, asked))
            if left <= 0 or fits <= 0 or not nodes.type_admits(pods.shape, name):
                continue
            price = nodes.types[name].price_per_hour
            offered = nodes.type_row[name]
            idle = float(1 - (row * fits / np.maximum(offered, 1))[offered > 0].mean())
            rank = (0.0, price / fits, idle) if price is not None else (1.0, idle, 0.0)
            if best is None or (rank, name) < best:
                best = (rank, name)
        return None if best is None else best[1]


def _most(free: Amounts, row: Amounts, asked: np.ndarray[tuple[int], np.dtype[np.intp]]) -> int:
    return max(0, int((free[asked] // row[asked]).min()))


def _shortfall(room: Room, free: Amounts, one: _Class, placed: int) -> Shortfall:
    nodes, pods, row, mask = room.nodes, one.pods, one.row, one.mask
    real = len(nodes.machines)
    asked = np.flatnonzero(row)
    missing = pods.count - placed
    able = free[mask][:, asked]
    slots = np.clip(able // row[asked], 0, None).sum(axis=0) if len(able) else np.zeros(len(asked), dtype=np.int64)
    lacking = {
        nodes.columns.names[column]: (missing - int(have)) * int(row[column])
        for column, have in zip(asked, slots, strict=True)
        if have < missing and nodes.columns.names[column] != "pods"
    }
    refusals = list(nodes.refusals(pods.shape))
    for machine in np.flatnonzero(mask[:real]):
        refusals.append((Reason.INSUFFICIENT_CAPACITY, _scarcest(nodes, free[machine], row)))
    return Shortfall(pods.role, placed, pods.count, Resources(lacking), tallied(refusals), real)


def _scarcest(nodes: Nodes, free: Amounts, row: Amounts) -> str:
    """The resource of which one machine lacks the largest share of a pod's request; devices are named first."""
    lacking = [
        (
            bool(nodes.columns.devices[column]),
            float((row[column] - free[column]) / row[column]),
            nodes.columns.names[column],
        )
        for column in np.flatnonzero(row)
        if free[column] < row[column]
    ]
    return max(lacking)[2] if lacking else ""

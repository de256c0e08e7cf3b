"""
Packing a gang onto nodes.

A gang starts whole or not at all, so the question is not "how many pods fit?" but "do all of them?". Pods of one
shape are interchangeable and are placed together: how many of them a node takes is one division. The shape with the
fewest possible nodes goes first, then the largest; nodes with devices that a pod does not ask for are left to
those that do. A few orders are tried, because each heuristic misses packings that another finds; none ever says
yes wrongly. "No" means that no packing was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.decision import NewNodes, Reason, ScaleUpLimit, Tally
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.autoscalers.choice import Kind, cheaper, cost_of
from gitplacer.placement.autoscalers.exact import Answer
from gitplacer.placement.autoscalers.greedy import Opened
from gitplacer.placement.autoscalers.limits import in_the_way
from gitplacer.placement.nodes import Amounts, Counts, Indexes, Mask, Nodes, tallied
from gitplacer.scheduler.crowding import capacity
from gitplacer.scheduler.patience import Patience

PACKS = Patience("gitplacer.placement.compiledpack", 3_000)
"""Of this process; a step is a shape of pods that is looked at in a room, or a set of them that is put on machines."""


class Use(NamedTuple):
    """So many pods of a set, by `number`, each asking `row`, on one machine."""

    machine: int
    row: Amounts
    number: int
    pods: PodSet

    @property
    def pod(self) -> PodShape:
        return self.pods.shape


class Packing(Struct, frozen=True):
    """
    Where the pods of a gang go; `opened` are the types of new machines, numbered after those of the room. `steps` are those of the
    search that found it, if it took one.
    """

    uses: tuple[Use, ...]
    opened: tuple[str, ...] = ()
    on_promised: bool = False
    steps: int = 0

    @property
    def is_there(self) -> bool:
        """Whether all machines that it takes are there now."""
        return not self.opened and not self.on_promised

    def new_nodes(self, nodes: Nodes) -> tuple[NewNodes, ...]:
        types = [nodes.types[key] for key in self.opened]
        counted = Counter((t.name, t.spot, t.price_per_hour) for t in types)
        return tuple(
            NewNodes(name, count, price, spot)
            for (name, spot, price), count in sorted(counted.items(), key=lambda item: item[0][:2])
        )


class Shortfall(Struct, frozen=True):
    """
    How close a gang came: of the first role that did not fit, how many pods were placed of how many wanted,
    what they were short of, and why each node took no more of them. `code` is what is in the way in a word. `uses` is the
    proof: where those sat that were placed, and others of the gang, when no node took one more; `opened` are the types of new
    machines among them. `limits` are those that kept machines from being added. `steps` as in `Packing`.
    """

    role: str
    placed: int
    wanted: int
    short: Resources
    tally: tuple[Tally, ...]
    nodes: int
    code: Reason = Reason.INSUFFICIENT_CAPACITY
    uses: tuple[Use, ...] = ()
    opened: tuple[str, ...] = ()
    limits: tuple[ScaleUpLimit, ...] = ()
    steps: int = 0


class Room:
    """
    What is free on each machine of one cluster. The first machines are `nodes.machines`; then come `promised`
    ones, of a type each, that an autoscaler has been counted on to add. `left` says how much is left of each limit on
    adding more.

    A room does not change, so what was worked out for one pod shape is kept for the next gang that has it.
    """

    def __init__(self, nodes: Nodes, free: Amounts, promised: tuple[str, ...], left: dict[str, int]) -> None:
        self.nodes = nodes
        self.free = free
        self.promised = promised
        self.left = left
        self._takes: dict[PodShape, Takes] = {}

    @cached_property
    def total(self) -> Amounts:
        """What is free on all machines together, at least 1 of each, to measure shares by."""
        total: Amounts = np.maximum(self.free.sum(axis=0), 1)
        return total

    @property
    def without_promises(self) -> Room:
        """The same room without machines that are not there yet."""
        return self._real if self.promised else self  # not kept: a room that keeps itself is never let go of

    @cached_property
    def _real(self) -> Room:
        return Room(self.nodes, self.free[: len(self.nodes.machines)], (), self.left)

    def may_be_on_new(self, pod: PodShape) -> bool:
        """Whether some machine that may still be added takes a pod."""
        row = self.nodes.columns.asked(pod)
        return any(
            all(self.left[limit] >= amount for limit, amount in type_.draws)
            and self.nodes.type_admits(pod, key)
            and (self.nodes.type_row[key] >= row).all()
            for key, type_ in self.nodes.types.items()
        )

    def takes(self, pod: PodShape) -> Takes:
        """How many pods of a shape each machine takes, if there are no others."""
        if pod not in self._takes:
            row, mask = self.nodes.columns.asked(pod), self.admits(pod)
            asked = np.flatnonzero(row)
            share = float((row / self.total).max())
            compiled = PACKS.compiled
            if compiled is not None:
                able, total, machines = compiled.capacity(self.free, row, mask)
            else:
                PACKS.spend(_steps(self.free))
                able = capacity(self.free, row, mask)
                total, machines = int(able.sum()), int(np.count_nonzero(able))
            self._takes[pod] = Takes(row, asked, mask, able, total, machines, share, pod)
        return self._takes[pod]

    def admits(self, pod: PodShape) -> Mask:
        """For each machine, whether a pod may be there, apart from room."""
        real = self.nodes.admits(pod)
        if not self.promised:
            return real
        extra = [bool(name) and self.nodes.type_admits(pod, name) for name in self.promised]
        return np.concatenate([real, np.array(extra, dtype=np.bool_)])


class Takes(Struct, frozen=True):
    """
    One pod shape in one room: what a pod asks (`asked` are the columns of it that are not zero), which machines admit
    it, how many of them each takes, in all and on how many machines, and a pod's largest share of what is free.
    """

    row: Amounts
    asked: Indexes
    mask: Mask
    able: Counts
    total: int
    machines: int
    share: float
    pod: PodShape


def merged(gang: Gang) -> tuple[PodSet, ...]:
    """The gang with pods that differ in nothing but their number counted together, and empty sets left out."""
    if len({pods.role for pods in gang}) == len(gang):
        return tuple(pods for pods in gang if pods.count)
    counts: dict[PodSet, PodSet] = {}
    for pods in gang:
        key = replace(pods, count=0)
        before = counts[key].count if key in counts else 0
        counts[key] = replace(pods, count=before + pods.count)
    return tuple(pods for pods in counts.values() if pods.count)


_Rank = Callable[[Takes], tuple[float, ...]]


def _scarce_first(takes: Takes) -> tuple[float, ...]:
    return takes.machines, -takes.share


def _large_first(takes: Takes) -> tuple[float, ...]:
    return (-takes.share,)


_ATTEMPTS: tuple[tuple[_Rank, bool], ...] = (
    (_scarce_first, True),
    (_large_first, True),
    (_scarce_first, False),
    (_large_first, False),
)


def pack(room: Room, gang: Gang, *, scale_up: bool = False, exact: bool = True) -> Packing | Shortfall:
    """
    Place all pods of a gang in a room, or say how close it came. Changes nothing.

    With `scale_up`, promised machines count and new ones may be opened: the cheapest, unless it need not be `exact`.
    """
    room = room if scale_up else room.without_promises
    sets = merged(gang)
    if not scale_up:
        known = _in_machine_code(room, sets)
        if known is not None:
            return known
        for pods in sets:
            if room.takes(pods.shape).total < pods.count:
                return _alone_too_many(room, pods)
    first: Shortfall | None = None
    best: Packing | None = None
    for rank, tight in _ATTEMPTS:
        order = sorted(sets, key=lambda pods, rank=rank: rank(room.takes(pods.shape)))  # type: ignore[misc]
        if scale_up:  # pods that no new machine takes need those that are there
            order.sort(key=lambda pods: room.may_be_on_new(pods.shape))
        found = _attempt(room, order, tight, scale_up)
        if isinstance(found, Shortfall):
            first = first or found
        elif not found.opened:
            return found
        elif best is None or cost_of(room.nodes, found.opened) < cost_of(room.nodes, best.opened):
            best = found
    if scale_up and exact:
        best = _cheapest(room, sets, best) or best
    if best is not None:
        return best
    assert first is not None
    return first


def _in_machine_code(room: Room, sets: Sequence[PodSet]) -> Packing | None:
    """The packing that is found on machines that are there, by who is quick; None where there is none, or nobody is."""
    compiled = PACKS.compiled
    if compiled is None or not sets:
        return None
    rows = [room.nodes.columns.asked(pods.shape) for pods in sets]
    masks, counts = np.array([room.admits(pods.shape) for pods in sets]), np.array([pods.count for pods in sets])
    found = compiled.packed(room.free, np.array(rows), masks, counts, room.nodes.columns.devices)
    if not len(found):
        return None
    return Packing(tuple(Use(machine, rows[k], count, sets[k]) for k, machine, count in found.tolist()))


def _cheapest(room: Room, sets: Sequence[PodSet], known: Packing | None) -> Packing | None:
    """A packing whose new machines cost less than those of the one that is known, if there is one."""
    counts: dict[PodShape, int] = {}
    for pods in sets:
        counts[pods.shape] = counts.get(pods.shape, 0) + pods.count
    kinds = [
        Kind(shape, takes.row, count, takes.able, takes.mask)
        for shape, count in counts.items()
        for takes in (room.takes(shape),)
    ]
    below = cost_of(room.nodes, known.opened) if known is not None else None
    answer = cheaper(room.nodes, room.free, kinds, room.left, below)
    return None if answer is None else _packed(room, sets, kinds, answer)


def _packed(room: Room, sets: Sequence[PodSet], kinds: Sequence[Kind], answer: Answer) -> Packing:
    opened = tuple(key for key, _ in answer.added)
    there = [*answer.there, *enumerate((pattern for _, pattern in answer.added), start=len(room.free))]
    waiting = {kind.shape: [pods for pods in sets if pods.shape == kind.shape] for kind in kinds}
    uses: list[Use] = []
    for machine, pattern in there:
        for kind, count in zip(kinds, pattern, strict=True):
            while count:  # pods of one shape may be of several sets
                pods = waiting[kind.shape].pop()
                taken = min(count, pods.count)
                uses.append(Use(machine, kind.row, taken, pods))
                count -= taken
                if pods.count > taken:
                    waiting[kind.shape].append(replace(pods, count=pods.count - taken))
    return Packing(tuple(uses), opened, any(use.machine >= len(room.nodes.machines) for use in uses))


def pack_what_fits(room: Room, gang: Gang) -> Packing:
    """As much of a gang as finds room now, for pods that are placed already and will take what they get."""
    whole = pack(room, gang)
    if isinstance(whole, Packing):
        return whole
    room = room.without_promises
    free = room.free.copy()
    uses: list[Use] = []
    for pods in merged(gang):
        takes = room.takes(pods.shape)
        uses += _fill(room, free, pods, partial(_now, takes, free, uses), True)
    return Packing(tuple(uses))


def _alone_too_many(room: Room, pods: PodSet) -> Shortfall:
    """The shortfall of a role that does not even fit alone; what is short is short beside the pods that do fit."""
    takes = room.takes(pods.shape)
    free = room.free.copy()
    uses = _fill(room, free, pods, lambda: takes.able, True)
    return replace(_shortfall(room, free, pods, takes.total), uses=tuple(uses))


def _attempt(room: Room, order: Sequence[PodSet], tight: bool, scale_up: bool) -> Packing | Shortfall:
    free = room.free.copy()
    uses: list[Use] = []
    opened = Opened(room.nodes, room.left)
    for pods in order:
        takes = room.takes(pods.shape)
        here = _fill(room, free, pods, partial(_now, takes, free, uses), tight)
        uses += here
        missing = pods.count - sum(use.number for use in here)
        if missing and scale_up:
            more, missing = opened.place(pods.shape, takes.row, missing)
            uses += [Use(len(room.free) + index, takes.row, count, pods) for index, count in more]
        if missing:
            limits = in_the_way(room.nodes, pods.shape, takes.row, opened.left) if scale_up else ()
            short = _shortfall(room, free, pods, pods.count - missing, opened)
            return replace(short, uses=tuple(uses), opened=tuple(opened.types), limits=limits)
    promised = any(use.machine >= len(room.nodes.machines) for use in uses)
    return Packing(tuple(uses), tuple(opened.types), promised)


def _steps(free: Amounts) -> int:
    """What a look at all machines counts."""
    return 1 + len(free) // 1_000


def _now(takes: Takes, free: Amounts, uses: Sequence[Use]) -> Counts:
    """How many each machine takes after some uses: as many as before, but for the machines that were used."""
    touched = list({use.machine for use in uses if use.machine < len(free)})
    if not touched:
        return takes.able
    able = takes.able.copy()
    room = (free[touched][:, takes.asked] // takes.row[takes.asked]).min(axis=1)
    able[touched] = np.where(takes.mask[touched], np.clip(room, 0, None), 0)
    return able


def _fill(room: Room, free: Amounts, pods: PodSet, now: Callable[[], Counts], tight: bool) -> list[Use]:
    """
    Put as many pods of a set on machines as these take `now`, and take their room. Tight: where fewest more would fit.
    """
    takes, wanted = room.takes(pods.shape), pods.count
    compiled = PACKS.compiled
    if compiled is not None:
        devices, real = room.nodes.columns.devices, len(room.nodes.machines)
        used, counts = compiled.fill(free, takes.row, takes.mask, devices, wanted, real, tight)
        return [Use(m, takes.row, n, pods) for m, n in zip(used.tolist(), counts.tolist(), strict=True)]
    PACKS.spend(_steps(free))
    able = now()
    machines = np.flatnonzero(able)
    if not len(machines):
        return []
    fits = able[machines]
    spared = np.flatnonzero(room.nodes.columns.devices & (takes.row == 0))
    spoils = (free[machines][:, spared] > 0).any(axis=1)
    new = machines >= len(room.nodes.machines)
    order = np.lexsort((machines, fits if tight else -fits, spoils, new))
    uses = []
    for index in order:
        if wanted <= 0:
            break
        machine, count = int(machines[index]), min(wanted, int(fits[index]))
        free[machine] -= takes.row * count
        uses.append(Use(machine, takes.row, count, pods))
        wanted -= count
    return uses


def _shortfall(room: Room, free: Amounts, pods: PodSet, placed: int, opened: Opened | None = None) -> Shortfall:
    """What some pods are short of where so many were placed: what neither the machines of a room have left nor those that were opened."""
    nodes, takes = room.nodes, room.takes(pods.shape)
    row, mask, real = takes.row, takes.mask, len(nodes.machines)
    asked = np.flatnonzero(row)
    missing = pods.count - placed
    able = free[mask][:, asked]
    if opened is not None and opened.types:
        able = np.concatenate([able, opened.free_for(pods.shape)[:, asked]])
    slots = np.clip(able // row[asked], 0, None).sum(axis=0) if len(able) else np.zeros(len(asked), dtype=np.int64)
    lacking = {
        nodes.columns.names[column]: (missing - int(have)) * int(row[column])
        for column, have in zip(asked, slots, strict=True)
        if have < missing and nodes.columns.names[column] != "pods"
    }
    refusals = nodes.refusals(pods.shape)
    for column, count in _scarcest(nodes, free[:real][mask[:real]], takes):
        refusals[Reason.INSUFFICIENT_CAPACITY, nodes.columns.names[column]] += count
    return Shortfall(pods.role, placed, pods.count, Resources(lacking), tallied(refusals), real)


def _scarcest(nodes: Nodes, free: Amounts, takes: Takes) -> list[tuple[int, int]]:
    """
    For machines that admit a pod and have no room for it: the resource of which they lack the largest share of its
    request, devices before others, with the number of machines that lack it most.
    """
    asked = takes.asked
    lacking = (takes.row[asked] - free[:, asked]) / takes.row[asked]
    weight = np.where(lacking > 0, lacking + 10.0 * nodes.columns.devices[asked], 0.0)
    columns, counts = np.unique(asked[weight.argmax(axis=1)], return_counts=True)
    return list(zip(columns.tolist(), counts.tolist(), strict=True))

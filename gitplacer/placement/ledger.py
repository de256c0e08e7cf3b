"""
The ledger of one cluster: what is free, and who holds what.

Free is allocatable, less what foreign pods use, less every group that the deployment repo says is here, less every
group that the snapshot still reports here. A group that is placed but does not show yet holds the room it was
promised, so nothing is sold twice between two snapshots.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime

import numpy as np

from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.nodes import Amounts, Columns, Nodes
from gitplacer.placement.pack import Packing, Room, Shortfall, pack, pack_what_fits

_FINISHED = ("Succeeded", "Failed")


class Ledger:
    """Asking changes nothing; `reserve` and `release` change it, and count a version up."""

    def __init__(
        self, cluster: Cluster, snapshot: CapacitySnapshot, columns: Columns, now: datetime | None = None
    ) -> None:
        self.nodes = Nodes(cluster, snapshot, columns, now)
        self.version = 0
        self._room: Room | None = None
        self._running: dict[str, RunningGroup] = {group.name: group for group in snapshot.groups}
        self._free = self.nodes.allocatable - self.nodes.used
        self._promised: list[str] = []
        self._holds: dict[str, Packing] = {}
        self._seen: dict[str, list[tuple[str, Resources, str]]] = {}
        self._unknown: list[tuple[str, str, int]] = []
        for group in snapshot.groups:
            self._subtract_bound_pods(group)

    def copy(self) -> Ledger:
        """A ledger that can be written to without touching this one; the nodes are shared."""
        twin = copy.copy(self)
        twin._free = self._free.copy()
        twin._promised = list(self._promised)
        twin._holds = dict(self._holds)
        twin._room = None
        return twin

    def totals(self) -> Amounts:
        """What is free on all real nodes together: an upper bound for any gang."""
        total: Amounts = np.clip(self._free[: len(self.nodes.machines)], 0, None).sum(axis=0)
        return total

    @property
    def columns(self) -> Columns:
        return self.nodes.columns

    def running(self, group_id: str) -> RunningGroup | None:
        """What the snapshot reports of a group."""
        return self._running.get(group_id)

    def room(self) -> Room:
        """What is free now. It is good until the ledger's version changes."""
        if self._room is not None:
            return self._room
        self._room = Room(self.nodes, self._free, tuple(self._promised), self._left(to_placed=False))
        return self._room

    def _room_for_placed(self) -> Room:
        """What is free for a group that was promised its room before: also machines that are on their way already."""
        return Room(self.nodes, self._free, tuple(self._promised), self._left(to_placed=True))

    def _left(self, *, to_placed: bool) -> dict[str, int]:
        return self.nodes.catalogue.left(Counter(self._promised), to_placed=to_placed)

    def empty_room(self) -> Room:
        """The room there would be without any pod, for telling "not now" from "never"."""
        return Room(self.nodes, self.nodes.allocatable, (), self.nodes.catalogue.left({}, to_placed=True))

    def fit(self, gang: Gang, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits, in what is free now or, with `scale_up`, with machines that can be added."""
        return pack(self.room(), gang, scale_up=scale_up)

    def fit_without(self, gang: Gang, machines: Collection[int], *, scale_up: bool) -> Packing | Shortfall:
        """The same, where some machines take nothing more."""
        free = self._free.copy()
        free[list(machines)] = 0
        return pack(Room(self.nodes, free, tuple(self._promised), self._left(to_placed=False)), gang, scale_up=scale_up)

    def fits_unless_exhausted(self, gang: Gang) -> bool:
        """Whether a gang would fit if every node group had machines to give."""
        left = self.nodes.catalogue.left(Counter(self._promised), to_placed=False, exhausted_too=True)
        room = Room(self.nodes, self._free, tuple(self._promised), left)
        return isinstance(pack(room, gang, scale_up=True), Packing)

    # machines that were added, for whoever counts what they cost

    @property
    def size(self) -> int:
        """How many machines there are, those that are promised included."""
        return len(self._free)

    def group_ids(self) -> set[str]:
        """The groups that the snapshot shows here, and those that were promised room."""
        return {*self._seen, *self._holds}

    def machines_of(self, group_id: str) -> frozenset[int]:
        """The machines that a group has pods on or was promised room on."""
        held = self._holds.get(group_id)
        seen = (self.nodes.index[node] for _, _, node in self._seen.get(group_id, ()))
        return frozenset((*seen, *(use.machine for use in held.uses))) if held else frozenset(seen)

    def added(self, machine: int) -> tuple[str, float | None] | None:
        """The type and price of a machine that an autoscaler added or has to add, None for any other."""
        real = len(self.nodes.machines)
        if machine >= real:
            return self.sort(self._promised[machine - real]) if self._promised[machine - real] else None
        return self.nodes.sort_of(machine)

    def sort(self, key: str) -> tuple[str, float | None]:
        """The name and price of a type."""
        return self.nodes.types[key].name, self.nodes.types[key].price_per_hour

    def how_many(self, opened: Iterable[str] = ()) -> Counter[str]:
        """How many machines of each type there are, with those that are promised, and with some more."""
        found = Counter(self.nodes.types[key].name for key in (*self._promised, *opened) if key)
        return found + self.nodes.seen

    def reserve(self, group_id: str, packing: Packing) -> None:
        """Take the room of a packing that was found in the ledger as it is now."""
        if packing.opened:
            rows = [self.nodes.type_row[name] for name in packing.opened]
            self._free = np.concatenate([self._free, np.array(rows)])
            self._promised.extend(packing.opened)
        for use in packing.uses:
            self._free[use.machine] -= use.row * use.count
        self._holds[group_id] = packing
        self._changed()

    def reserve_placed(self, group_id: str, gang: Gang, *, finished: bool, scale_up: bool) -> bool:
        """
        Take the room of a group that the deployment repo says is here: what the snapshot shows of it is taken
        already, the rest is assumed. False if not all of it finds room. A finished group needs nothing more.
        """
        missing = () if finished else self._not_seen(group_id, gang)
        packing = pack(self.room(), missing)
        if isinstance(packing, Shortfall) and scale_up:
            packing = pack(self._room_for_placed(), missing, scale_up=True)
        whole = isinstance(packing, Packing)
        self.reserve(group_id, packing if isinstance(packing, Packing) else pack_what_fits(self.room(), missing))
        return whole

    def close(self) -> None:
        """Let the machines take nothing more: there are pods without room, and they will take what gets free."""
        self._free = np.minimum(self._free, 0)
        self._changed()

    def release(self, group_id: str) -> None:
        """Give back what a group was promised here. Pods that the snapshot shows keep their room: they run."""
        packing = self._holds.pop(group_id, None)
        if packing is None:
            return
        for use in packing.uses:
            self._free[use.machine] += use.row * use.count
        real = len(self.nodes.machines)
        for index, name in enumerate(self._promised):
            if name and (self._free[real + index] == self.nodes.type_row[name]).all():
                self._free[real + index] = 0
                self._promised[index] = ""
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._room = None

    def _subtract_bound_pods(self, group: RunningGroup) -> None:
        seen = self._seen.setdefault(group.name, [])
        for pod in group.pods:
            if pod.node is None or pod.node not in self.nodes.index:
                continue
            seen.append((pod.role, pod.requests, pod.node))
            if pod.requests:
                row = self.columns.asked(PodShape(pod.requests))
                self._free[self.nodes.index[pod.node]] -= row
            else:
                self._unknown.append((group.name, pod.role, self.nodes.index[pod.node]))

    def settle_unknown(self, gang_of: Callable[[str], Gang]) -> None:
        """
        Take the room of bound pods whose requests the snapshot leaves to the manifest. Where there is no manifest any
        more, nobody knows what they use, and their node takes nothing new.
        """
        for group_id, role, machine in self._unknown:
            shapes = [pods.shape for pods in gang_of(group_id) if pods.role == role]
            shape = max(shapes, key=_by_size, default=None)
            if shape is None:
                self._free[machine] = np.minimum(self._free[machine], 0)
            else:
                self._free[machine] -= self.columns.asked(shape)
        self._unknown.clear()
        self._changed()

    def _not_seen(self, group_id: str, gang: Gang) -> Gang:
        """
        The pods of a gang that the snapshot does not show on a node. A pod that is shown is one of its role that asks
        the same, best one that is meant for that very node; if there is none, the smallest, so that what is missing is never
        taken for less than it may be.
        """
        left = [pods.count for pods in gang]
        for role, requests, node in sorted(self._seen.get(group_id, ()), key=lambda seen: not seen[1]):
            able = [index for index, pods in enumerate(gang) if pods.role == role and left[index]]
            here = [index for index in able if gang[index].shape.node_name == node]
            same = [index for index in here or able if gang[index].shape.requests == requests]
            if able:
                chosen = same[:1] or here[:1] or [min(able, key=lambda index: _by_size(gang[index].shape))]
                left[chosen[0]] -= 1
        return tuple(replace(pods, count=count) for pods, count in zip(gang, left, strict=True))

    def on_each_node(self, gang: Gang) -> Gang:
        """A gang whose pods that run on every node are counted: one for each node that admits them."""
        if not any(pods.per_node for pods in gang):
            return gang
        return tuple(one for pods in gang for one in (self._one_each(pods) if pods.per_node else (pods,)))

    def _one_each(self, pods: PodSet) -> Iterator[PodSet]:
        """As the DaemonSet controller does, which gives each pod its node."""
        for machine in self.nodes.machines:
            if self.nodes.obstacle(pods.shape, machine.shape, machine.name) is None:
                yield replace(pods, count=1, shape=replace(pods.shape, node_name=machine.name), per_node=False)


def _by_size(shape: PodShape) -> tuple[int, int, int]:
    """Devices, then cpu, then memory."""
    devices = sum(amount for name, amount in shape.requests.items() if "/" in name)
    return devices, shape.requests.get("cpu", 0), shape.requests.get("memory", 0)


def has_finished(running: RunningGroup | None) -> bool:
    """Whether the snapshot says that a group's job has ended."""
    return running is not None and running.phase in _FINISHED

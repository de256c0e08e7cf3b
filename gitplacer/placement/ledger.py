"""
The ledger of one cluster: what is free, and who holds what.

Free is allocatable, less what foreign pods use, less every group that the deployment repo says is here, less every
group that the snapshot still reports here. A group that is placed but does not show yet holds the room it was
promised, so nothing is sold twice between two snapshots.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape, total_requests
from gitplacer.placement.nodes import Amounts, Columns, Nodes
from gitplacer.placement.pack import Packing, Room, Shortfall, pack, pack_what_fits

_FINISHED = ("Succeeded", "Failed")


class Ledger:
    """Asking changes nothing; `reserve` and `release` change it, and count a version up."""

    def __init__(
        self, cluster: Cluster, snapshot: CapacitySnapshot, columns: Columns, nodes: Nodes | None = None
    ) -> None:
        """`nodes` are those of the snapshot, where somebody has read them already."""
        self.nodes = nodes or Nodes(cluster, snapshot, columns)
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
    def is_overcommitted(self) -> bool:
        """Whether more is taken on some machine than there is."""
        return bool((self._free < 0).any())

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
        promised = Counter(self._promised)
        left = {
            name: max(0, t.max - self.nodes.existing[name] - promised[name]) for name, t in self.nodes.types.items()
        }
        self._room = Room(self.nodes, self._free, tuple(self._promised), left)
        return self._room

    def empty_room(self) -> Room:
        """The room there would be without any pod, for telling "not now" from "never"."""
        left = {name: max(0, t.max - self.nodes.existing[name]) for name, t in self.nodes.types.items()}
        return Room(self.nodes, self.nodes.allocatable, (), left)

    def fit(self, gang: Gang, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits, in what is free now or, with `scale_up`, with machines that can be added."""
        return pack(self.room(), gang, scale_up=scale_up)

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
            packing = pack(self.room(), missing, scale_up=True)
        whole = isinstance(packing, Packing)
        self.reserve(group_id, packing if isinstance(packing, Packing) else pack_what_fits(self.room(), missing))
        return whole

    def close(self) -> None:
        """Let the machines take nothing more: there are pods without room, and they will take what gets free."""
        self._free = np.minimum(self._free, 0)
        self._changed()

    def leave_to(self, later: Ledger) -> None:
        """
        Take everything that is not free in another ledger of this cluster too, which tells of a time to come. Machines
        that are not there yet take nothing more either, because the two may have promised them for different pods.
        """
        real = len(self.nodes.machines)
        more = sorted((Counter(later._promised) - Counter(self._promised)).elements())
        self._promised.extend(more)
        self._free[:real] = np.minimum(self._free[:real], later._free[:real])
        closed = np.zeros((len(self._promised), len(self.columns)), dtype=np.int64)
        self._free = np.concatenate([self._free[:real], closed])
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

    def held_by(self, group_id: str, gang: Gang) -> Resources:
        """What a placed group takes here: its pods that the snapshot shows on nodes, as they run, and those that are missing."""
        total = total_requests(self._not_seen(group_id, gang))
        for role, requests, _ in self._seen.get(group_id, ()):
            shapes = [pods.shape for pods in gang if pods.role == role]
            total += requests or max(shapes, key=_by_size, default=PodShape()).requests
        return total

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

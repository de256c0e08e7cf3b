"""
The pods of groups that a snapshot shows on the nodes of a cluster, and what of a group is not among them yet.

A pod that is being deleted holds its room until it is gone, and its controller makes another in its place, many before that, which may take room
elsewhere. So what is to come of a group are the pods that nobody has seen, and those that follow on such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from msgspec.structs import replace

from gitplacer.kinds.capacity import RunningGroup
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodShape, total_requests
from gitplacer.placement.asseen import by_size, meant_for
from gitplacer.placement.nodes import Nodes

_Pod = tuple[str, Resources, str]
"""A pod that is shown: its role, its requests, nothing where they are left to the manifest, and its node."""


class Shown:
    """Of some groups as a snapshot tells of them; pods on machines that are not among its nodes are none."""

    def __init__(self, groups: Iterable[RunningGroup], nodes: Nodes) -> None:
        self._nodes = nodes
        self._pods: dict[str, list[_Pod]] = {}
        self._staying: dict[str, list[_Pod]] = {}
        self._going: dict[str, list[_Pod]] = {}
        """Those among them that are being deleted, and the others."""
        for group in groups:
            there = self._pods.setdefault(group.name, [])
            for pod in group.pods:
                if pod.node is not None and pod.node in nodes.index:
                    there.append((pod.role, pod.requests, pod.node))
                    kept = self._going if pod.terminating else self._staying
                    kept.setdefault(group.name, []).append(there[-1])

    @property
    def groups(self) -> Set[str]:
        """The groups that the snapshot tells of, also those of which it shows no pod."""
        return self._pods.keys()

    def of(self, group_id: str) -> Sequence[_Pod]:
        """Of each pod of a group its role, its requests, nothing where they are left to the manifest, and its node."""
        return self._pods.get(group_id, ())

    def shows(self, group_id: str) -> bool:
        """Whether a pod of a group is shown."""
        return bool(self._pods.get(group_id))

    def has_going(self, group_id: str) -> bool:
        """Whether pods of a group are shown that are being deleted."""
        return group_id in self._going

    def not_seen(self, group_id: str, gang: Gang, *, back: bool = False) -> Gang:
        """
        The pods of a gang that are not shown. A pod that is shown is one of its role that asks the same and may be on its node, best one that is
        meant for that very node, else one that may be on the fewest; if none asks the same, the smallest, so that what is missing is never taken for
        less than it may be. One that is being deleted is none, or `back`: if another may be on its node, which gets its place.
        """
        if not self.shows(group_id):
            return gang
        left = [pods.count for pods in gang]
        told = [(one, False) for one in self._staying.get(group_id, ())]
        if back:
            told += [(one, True) for one in self._going.get(group_id, ())]
        for one, goes in sorted(told, key=lambda seen: (seen[1], not seen[0][1])):
            if (index := self._meant(one, gang, left, goes=goes)) is not None:
                left[index] -= 1
        return tuple(replace(pods, count=count) for pods, count in zip(gang, left, strict=True))

    def _meant(self, one: _Pod, gang: Gang, left: Sequence[int], *, goes: bool) -> int | None:
        """Which set of a gang, of those of which some are `left`, a pod is one of, or the one that follows if it `goes`; None if there is none."""
        role, requests, node = one
        able = [index for index, pods in enumerate(gang) if pods.role == role and left[index]]
        if goes:
            able = [index for index in able if self._admits(gang[index].shape, node)]
        if len(able) < 2:
            return able[0] if able else None
        here = [index for index in able if gang[index].shape.node_name == node]
        same = [index for index in here or able if gang[index].shape.requests == requests]
        if same:
            return meant_for(self._nodes, node, gang, same)
        return here[0] if here else min(able, key=lambda index: by_size(gang[index].shape))

    def _admits(self, shape: PodShape, node: str) -> bool:
        return bool(self._nodes.admits(shape)[self._nodes.index[node]])

    def held_by(self, group_id: str, gang: Gang) -> Resources:
        """What a placed group takes there: its pods that are shown, as they run, and those that are missing."""
        total = total_requests(self.not_seen(group_id, gang))
        for role, requests, _ in self.of(group_id):
            shapes = [pods.shape for pods in gang if pods.role == role]
            total += requests or max(shapes, key=by_size, default=PodShape()).requests
        return total

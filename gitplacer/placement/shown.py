"""
The pods of groups that a snapshot shows on the nodes of a cluster, and what of a group is not among them yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from msgspec.structs import replace

from gitplacer.kinds.capacity import RunningGroup
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodShape, total_requests
from gitplacer.placement.asseen import by_size, meant_for
from gitplacer.placement.nodes import Nodes


class Shown:
    """Of some groups as a snapshot tells of them; pods on machines that are not among its nodes are none."""

    def __init__(self, groups: Iterable[RunningGroup], nodes: Nodes) -> None:
        self._nodes = nodes
        self._pods: dict[str, list[tuple[str, Resources, str]]] = {}
        for group in groups:
            there = self._pods.setdefault(group.name, [])
            bound = ((pod.role, pod.requests, pod.node) for pod in group.pods if pod.node is not None)
            there.extend(pod for pod in bound if pod[2] in nodes.index)

    @property
    def groups(self) -> Set[str]:
        """The groups that the snapshot tells of, also those of which it shows no pod."""
        return self._pods.keys()

    def of(self, group_id: str) -> Sequence[tuple[str, Resources, str]]:
        """Of each pod of a group its role, its requests, nothing where they are left to the manifest, and its node."""
        return self._pods.get(group_id, ())

    def shows(self, group_id: str) -> bool:
        """Whether a pod of a group is shown."""
        return bool(self._pods.get(group_id))

    def not_seen(self, group_id: str, gang: Gang) -> Gang:
        """
        The pods of a gang that are not shown. A pod that is shown is one of its role that asks the same and may be on its node, best one that is
        meant for that very node; if none asks the same, the smallest, so that what is missing is never taken for less than it may be.
        """
        shown = self._pods.get(group_id)
        if not shown:
            return gang
        left = [pods.count for pods in gang]
        for pod in sorted(shown, key=lambda seen: not seen[1]):
            able = [index for index, pods in enumerate(gang) if pods.role == pod[0] and left[index]]
            if able:
                left[self._meant(pod, gang, able)] -= 1
        return tuple(replace(pods, count=count) for pods, count in zip(gang, left, strict=True))

    def _meant(self, pod: tuple[str, Resources, str], gang: Gang, able: Sequence[int]) -> int:
        """Which of some sets of a gang, at least one, a pod is of."""
        if len(able) == 1:
            return able[0]
        _, requests, node = pod
        here = [index for index in able if gang[index].shape.node_name == node]
        same = [index for index in here or able if gang[index].shape.requests == requests]
        if same:
            return meant_for(self._nodes, node, gang, same)
        return here[0] if here else min(able, key=lambda index: by_size(gang[index].shape))

    def held_by(self, group_id: str, gang: Gang) -> Resources:
        """What a placed group takes there: its pods that are shown, as they run, and those that are missing."""
        total = total_requests(self.not_seen(group_id, gang))
        for role, requests, _ in self.of(group_id):
            shapes = [pods.shape for pods in gang if pods.role == role]
            total += requests or max(shapes, key=by_size, default=PodShape()).requests
        return total

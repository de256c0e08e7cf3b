"""
The pods of groups that a snapshot shows on the nodes of a cluster, and what of a group is not among them yet.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence, Set

from msgspec.structs import replace

from gitplacer.kinds.capacity import RunningGroup
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodShape, total_requests
from gitplacer.placement.asseen import by_size


class Shown:
    """Of some groups as a snapshot tells of them; pods on machines that are not among its nodes are none."""

    def __init__(self, groups: Iterable[RunningGroup], nodes: Container[str]) -> None:
        self._pods: dict[str, list[tuple[str, Resources, str]]] = {}
        for group in groups:
            there = self._pods.setdefault(group.name, [])
            bound = ((pod.role, pod.requests, pod.node) for pod in group.pods if pod.node is not None)
            there.extend(pod for pod in bound if pod[2] in nodes)

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
        The pods of a gang that are not shown. A pod that is shown is one of its role that asks the same, best one that is meant for that very
        node; if there is none, the smallest, so that what is missing is never taken for less than it may be.
        """
        shown = self._pods.get(group_id)
        if not shown:
            return gang
        left = [pods.count for pods in gang]
        for role, requests, node in sorted(shown, key=lambda seen: not seen[1]):
            able = [index for index, pods in enumerate(gang) if pods.role == role and left[index]]
            here = [index for index in able if gang[index].shape.node_name == node]
            same = [index for index in here or able if gang[index].shape.requests == requests]
            if able:
                chosen = same[:1] or here[:1] or [min(able, key=lambda index: by_size(gang[index].shape))]
                left[chosen[0]] -= 1
        return tuple(replace(pods, count=count) for pods, count in zip(gang, left, strict=True))

    def held_by(self, group_id: str, gang: Gang) -> Resources:
        """What a placed group takes there: its pods that are shown, as they run, and those that are missing."""
        total = total_requests(self.not_seen(group_id, gang))
        for role, requests, _ in self.of(group_id):
            shapes = [pods.shape for pods in gang if pods.role == role]
            total += requests or max(shapes, key=by_size, default=PodShape()).requests
        return total

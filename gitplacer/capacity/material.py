"""
Whether a snapshot says anything new: whether a placement could come out otherwise than with the one before.

A cluster is looked at every half minute, and most of the time nothing has changed but the time. A commit for each look would
bury what happened, and wake everybody who waits for pushes. What only people are told of is no news either; it goes out with the next
snapshot that is sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.kinds.capacity import CapacitySnapshot, Observation, RunningGroup
from gitplacer.kinds.machines import NodeGroup
from gitplacer.kinds.profile import Equipment

TOLD_ONLY: Mapping[str, str] = {
    "observedAt": "when it was taken",
    "groups[].observedGeneration": "nothing is decided by it",
    "groups[].pods[].reason": "why a pod is pending is told; that it is, and since when, counts",
    "nodeGroups[].exhausted.since": "since when is told; that it is, and until when, counts",
}
"""The fields of a snapshot by which nothing is decided, each with why. Whatever is not named here is material."""


def changed(before: CapacitySnapshot, after: CapacitySnapshot) -> tuple[str, ...]:
    """The fields that say something new, by their names in files, sorted; none where a snapshot is only later."""
    was, has = _decisive(before), _decisive(after)
    names = {
        field: info.alias or field for kind in (Equipment, Observation) for field, info in kind.model_fields.items()
    }
    return tuple(sorted(name for field, name in names.items() if getattr(was, field) != getattr(has, field)))


def _decisive(snapshot: CapacitySnapshot) -> CapacitySnapshot:
    """A snapshot without what is only told; all of one cluster have the same time then."""
    update = {
        "observed_at": None,
        "groups": tuple(_group(group) for group in snapshot.groups),
        "node_groups": tuple(_node_group(group) for group in snapshot.node_groups),
    }
    return snapshot.model_copy(update=update)


def _group(group: RunningGroup) -> RunningGroup:
    pods = tuple(pod.model_copy(update={"reason": None}) for pod in group.pods)
    return group.model_copy(update={"observed_generation": None, "pods": pods})


def _node_group(group: NodeGroup) -> NodeGroup:
    if group.exhausted is None:
        return group
    return group.model_copy(update={"exhausted": group.exhausted.model_copy(update={"since": None})})

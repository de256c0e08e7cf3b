"""Reservations of what nobody has bounded: the most that an autoscaling group may have, when it may have any number."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import WORKLOADS


def check(known: Known, group: Group) -> Iterator[Told]:
    """A policy that reserves the maximum of a worker group without `maxReplicas`."""
    if group.policy is None or group.unit != WORKLOADS or group.policy.spec.placement.reserve != "Maximum":
        return
    for member in group.members:
        for role in member.facts.roles:
            if role.unbounded:
                yield tell(
                    member,
                    "UnboundedMaximum",
                    f"policy {group.policy.name} reserves the maximum of {member.identity}, and {role.name} has no maxReplicas",
                    "write maxReplicas, or let the policy reserve Desired",
                )

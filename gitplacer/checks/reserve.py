"""Reservations of what nobody has bounded: the most that an autoscaling group may have, when it may have any number."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.plaintext import few
from gitplacer.source.manifests import WORKLOADS


def check(known: Known, group: Group) -> Iterator[Told]:
    """A policy that reserves the maximum of a worker group without `maxReplicas`."""
    if group.policy is None or group.unit != WORKLOADS or group.policy.spec.placement.reserve != "Maximum":
        return
    for member in group.members:
        variants = [member.facts, *(known.facts(member, name) for name in known.eligible(group))]
        unbounded = {role.name for facts in variants for role in facts.roles if role.unbounded}
        if unbounded:
            yield tell(
                member,
                "UnboundedMaximum",
                f"policy {group.policy.name} reserves the maximum of {member.identity}, and {few(sorted(unbounded))} "
                f"{'has' if len(unbounded) == 1 else 'have'} no maxReplicas",
                "write maxReplicas, or let the policy reserve Desired",
            )

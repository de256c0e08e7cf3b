"""Copies of what must not run twice: a job placed on two clusters is a job that runs two times."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import WORKLOADS

_BY_THE_CLOCK = ("CronJob", "RayCronJob")


def check(known: Known, group: Group) -> Iterator[Told]:
    """A policy that asks for copies of what runs to its end, or starts such runs by the clock."""
    if group.policy is None or group.unit != WORKLOADS or group.policy.spec.placement.copies == 1:
        return
    for member in group.members:
        if member.facts.finishes or member.identity.kind in _BY_THE_CLOCK:
            yield tell(
                member,
                "CopiesOfAJob",
                f"policy {group.policy.name} asks for copies of {member.identity}, which would run on each cluster",
                "let a policy with copies: 1 govern it",
            )

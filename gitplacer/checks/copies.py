"""
Copies of what must not run twice, or be in two places: a job placed on two clusters is a job that runs two times, and a volume
is on one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import WORKLOADS

_BY_THE_CLOCK = ("CronJob", "RayCronJob")


def check(known: Known, group: Group) -> Iterator[Told]:
    """
    A policy that asks for copies of what runs to its end, or starts such runs by the clock; or that divides it, or anything else
    that there can be but one of.
    """
    if group.policy is None or group.unit != WORKLOADS:
        return
    if group.policy.spec.placement.type == "Divide":
        yield from _divided(group, group.policy.name)
    elif group.policy.spec.placement.copies != 1:
        yield from _copied(group, group.policy.name)


def _divided(group: Group, policy: str) -> Iterator[Told]:
    for member in (*group.members, *group.shared):
        if why := member.facts.singleton:
            why = "" if why == member.identity.kind else f" ({why})"
            yield tell(
                member,
                "DividedSingleton",
                f"policy {policy} divides the group of {member.identity}, of which there can be but one{why}",
                "let a policy of another type govern it",
            )


def _copied(group: Group, policy: str) -> Iterator[Told]:
    for member in group.members:
        if member.facts.finishes or member.identity.kind in _BY_THE_CLOCK:
            yield tell(
                member,
                "CopiesOfAJob",
                f"policy {policy} asks for copies of {member.identity}, which would run on each cluster",
                "let a policy with copies: 1 govern it",
            )

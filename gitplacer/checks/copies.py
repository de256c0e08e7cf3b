"""Copies of what must not run twice: a RayJob placed on two clusters is a job that runs two times."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.problems import Problem
from gitplacer.source.manifests import WORKLOADS
from gitplacer.source.reading import Source


def check(source: Source, group: Group) -> Iterator[Problem]:
    """A policy that asks for copies of a RayJob."""
    if group.policy is None or group.unit != WORKLOADS or group.policy.spec.placement.copies == 1:
        return
    for member in group.members:
        if member.identity.kind == "RayJob":
            yield member.document.problem(
                "CopiesOfARayJob",
                f"policy {group.policy.name} asks for copies of {member.identity}, which would run on each cluster",
                "let a policy with copies: 1 govern it",
                path=("metadata", "name"),
            )

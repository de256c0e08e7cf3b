"""
The group that a policy makes of the objects it governs, and the one policy of a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.grouping.group import primary
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.plaintext import few
from gitplacer.policies.governing import Governing
from gitplacer.problems import Problem
from gitplacer.source.manifests import SourceObject


def key_of(item: SourceObject, governed: Governing) -> tuple[str, str, str] | None:
    """(policy, namespace, name) that the policy's groupBy gives an object; None where it gives none."""
    policy = governed(item).policy
    if policy is None or policy.spec.group_by is None:
        return None
    by, namespace = policy.spec.group_by, item.identity.namespace
    if by.label is not None:
        name = item.labels.get(by.label, "")
    elif by.directory:
        name = item.path.rpartition("/")[0].rpartition("/")[2]
    else:
        name = namespace
    return (policy.name, namespace, name) if name else None


def policy_of(
    members: Sequence[SourceObject], governed: Governing
) -> tuple[PlacementPolicy | None, list[Problem], bool]:
    """The one policy of a group's deciding members; what keeps it from having one; whether a broken one may govern."""
    problems = [problem for m in members if (problem := governed(m).problem) is not None]
    broken = any(governed(m).broken for m in members)
    ruled = [(m, policy) for m in members if (policy := governed(m).policy) is not None]
    names = {policy.name for _, policy in ruled}
    if len(names) > 1:
        (one, first), (other, second) = ruled[0], next(r for r in ruled if r[1].name != ruled[0][1].name)
        problems.append(
            other.document.problem(
                "MixedPolicies",
                f"{other.identity} is governed by policy {second.name}, but belongs with {one.identity} under {first.name}",
                "let one policy select both",
                path=("metadata", "name"),
            )
        )
    if not ruled and not problems and not broken:
        first_member = primary(members)
        message, hint = f"no policy governs {first_member.identity}", "write a PlacementPolicy whose select matches it"
        if barred := governed(first_member).barred:
            message = f"{message}: {few(barred)} would, but the policies of its tenant are others"
            hint = "add one of them to spec.policies of the Tenant, or let one that it has select the app"
        problems.append(first_member.document.problem("NoPolicy", message, hint, path=("metadata", "name")))
    policy = ruled[0][1] if len(names) == 1 else None
    return policy, problems, broken

"""Which policy governs a group, which others match and why they do not govern, and what was missing where none does."""

from __future__ import annotations

import enum

from msgspec import Struct

from gitplacer.explain.view import PlanView
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Decision
from gitplacer.policies.selection import POLICY_ANNOTATION, Condition, unmet
from gitplacer.source.manifests import SourceObject

NEARLY = 3
"""Policies that are named for a group which none governs."""


class Lost(enum.StrEnum):
    """Why a policy that matches does not govern."""

    PRECEDENCE = "Precedence"  # another has a higher one
    ANNOTATION = "Annotation"  # an annotation on a member names another
    PART = "Part"  # it matches only some of the members that decide


class Nearly(Struct, frozen=True):
    """A policy that does not match, and each condition that a member does not meet."""

    policy: PlacementPolicy
    member: str
    conditions: tuple[Condition, ...]


class Governance(Struct, frozen=True):
    """
    `policy` is None where none governs, or it cannot be read. `others` match too, the highest precedence first. `was` is the policy under which
    it was placed, where none governs any more.
    """

    policy: PlacementPolicy | None
    is_chosen: bool
    others: tuple[tuple[PlacementPolicy, Lost], ...] = ()
    nearly: tuple[Nearly, ...] = ()
    was: str = ""


def governance(decision: Decision, view: PlanView) -> Governance:
    """What there is to say of policies and a group."""
    policy, group, source = view.policy(decision), view.group(decision), view.snapshot.source
    deciding = (group.sized or group.members) if group is not None else ()
    ungoverned = group is not None and any(problem.code == "NoPolicy" for problem in group.problems)
    if policy is None or ungoverned:
        if group is None or (decision.policy and not ungoverned):
            return Governance(None, False)
        ranked = sorted((_nearest(other, deciding, view) for other in source.own.policies), key=_distance)
        return Governance(None, False, (), tuple(ranked[:NEARLY]), decision.policy)
    chosen = any(m.annotations.get(POLICY_ANNOTATION) == policy.name for m in (group.members if group else ()))
    others = []
    for other in sorted(source.own.policies, key=lambda p: (-p.spec.precedence, p.name)):
        matched = [m for m in deciding if not unmet(other.spec.select, m, source.namespace_labels)]
        if other.name != policy.name and matched:
            others.append((other, _lost(other, policy, len(matched) == len(deciding), chosen)))
    return Governance(policy, chosen, tuple(others))


def _lost(other: PlacementPolicy, policy: PlacementPolicy, whole: bool, chosen: bool) -> Lost:
    if other.spec.precedence < policy.spec.precedence:
        return Lost.PRECEDENCE
    return Lost.ANNOTATION if chosen else Lost.PART if not whole else Lost.PRECEDENCE


def _nearest(policy: PlacementPolicy, deciding: tuple[SourceObject, ...], view: PlanView) -> Nearly:
    labels = view.snapshot.source.namespace_labels
    found = [Nearly(policy, str(m.identity), unmet(policy.spec.select, m, labels)) for m in deciding]
    return max(found, key=lambda nearly: len(nearly.conditions), default=Nearly(policy, "", ()))


def _distance(nearly: Nearly) -> tuple[int, str]:
    return len(nearly.conditions), nearly.policy.name


def lost_text(other: PlacementPolicy, lost: Lost, policy: PlacementPolicy) -> str:
    """Why a policy that matches does not govern, as a clause."""
    match lost:
        case Lost.ANNOTATION:
            return f"{POLICY_ANNOTATION} names {policy.name}"
        case Lost.PART:
            return "does not match all members that have pods"
    return f"{policy.name} has precedence {policy.spec.precedence}, this one {other.spec.precedence}"


def condition_text(condition: Condition) -> str:
    """A condition that does not hold, as a clause, not yet safe to print."""
    has = condition.found or ("no such label" if condition.field.endswith("Selector") else "none")
    return f"{condition.field} asks for {condition.wanted}; it has {has}"

"""
Who has consented to what: the Approvals of a source, and what is wrong with them.

Consent is only ever what somebody wrote and what still holds. An Approval that cannot be read, is there twice, has
expired, is for another plan, or sends a group elsewhere than another one does, consents to nothing; the group stays where it is.

A fleet may have as many Approvals as groups, so a group is held against those alone that may name it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, overload

from msgspec import Struct

from gitplacer import pathglob
from gitplacer.documents import Document
from gitplacer.globparts import Likely, of_path
from gitplacer.kinds.approval import LONGEST, Approval, ApprovedAction
from gitplacer.problems import Location, Problem, Severity, nearest

NEEDS_PLAN = "ApprovalNeedsPlan"


class Consent(Struct, frozen=True, eq=False, dict=True):
    """An Approval and where it is written. `is_to_this_plan` is said of one that names the plan which there would be without it."""

    approval: Approval
    document: Document
    is_to_this_plan: bool = False

    @cached_property
    def identity(self) -> str:
        return self.approval.identity

    @property
    def place(self) -> Location:
        return self.document.locate()

    def holds(self, now: datetime) -> bool:
        """Whether it has not expired, nor is further away from that than anybody can see."""
        return now < self.approval.spec.expires <= now + LONGEST

    @property
    def is_to_another_plan(self) -> bool:
        """Whether it does not count, because it is for one plan and that is not the one there would be without it."""
        return self.is_bound and not self.is_to_this_plan

    @property
    def is_bound(self) -> bool:
        """Whether it counts for one plan only: because it has to, or because it says so."""
        return self.approval.needs_plan or self.approval.spec.plan is not None


@dataclass(frozen=True)
class Approvals(Sequence[Consent]):
    """All Approvals of a source, by name."""

    items: tuple[Consent, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Consent: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Consent, ...]: ...
    def __getitem__(self, index: int | slice) -> Consent | tuple[Consent, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def about(self, group_id: str) -> list[Consent]:
        """Those that name a group, in their order."""
        may = sorted(set(self._likely.of(group_id)))
        return [item for item in (self.items[number] for number in may) if item.approval.names(group_id)]

    @cached_property
    def identities(self) -> frozenset[str]:
        """By which records remember them."""
        return frozenset(item.identity for item in self.items)

    @cached_property
    def _likely(self) -> Likely[int]:
        items = enumerate(self.items)
        return Likely((of_path(pattern), number) for number, item in items for pattern in item.approval.spec.groups)


def bound_to_plans(approvals: Approvals, now: datetime) -> tuple[Consent, ...]:
    """Those that hold and count for one plan only, so that whatever becomes otherwise of a group that they are about concerns them."""
    return tuple(item for item in approvals if item.is_bound and item.holds(now))


def consent_to(
    approvals: Approvals,
    group_id: str,
    action: ApprovedAction,
    now: datetime,
    *,
    carried_out: Collection[str] = (),
) -> Consent | None:
    """
    The first Approval, by name, that lets something happen to a group; None without one. Those in `carried_out`, by
    identity, have counted already. Where two would move a group to different clusters, neither counts.
    """
    found = _in_force(approvals, group_id, action, now, carried_out)
    if len({item.approval.spec.to for item in found} - {None}) > 1:
        return None
    # One that says where to counts before one that agrees to whatever is proposed.
    return min(found, key=lambda item: (item.approval.spec.to is None, item.identity), default=None)


def _in_force(
    approvals: Approvals, group_id: str, action: ApprovedAction, now: datetime, carried_out: Collection[str]
) -> list[Consent]:
    return [
        item
        for item in approvals.about(group_id)
        if item.approval.spec.action == action and item.holds(now) and item.identity not in carried_out
        if not item.is_to_another_plan
    ]


def without_a_plan(item: Consent, hint: str) -> Problem:
    """That an Approval needs a plan and names none."""
    wide = "action Exceed" if item.approval.spec.action == "Exceed" else "a pattern"
    message = f"Approval {item.approval.name} has {wide} and names no plan, so it does not count"
    return item.document.problem(NEEDS_PLAN, message, hint, path=("spec", "groups"), key=True)


def consent_problems(
    approvals: Approvals,
    clusters: Mapping[str, Any],
    groups: Collection[str],
    carried_out: Mapping[str, Collection[str]],
    now: datetime,
) -> Iterator[Problem]:
    """
    What is wrong with the Approvals of a source. `groups` are the ids of all groups, in the source or deployed;
    `carried_out` are, by group, the identities of those that have counted.
    """
    meant = _matching((pattern for item in approvals for pattern in item.approval.spec.groups), groups)
    for item in approvals:
        spec = item.approval.spec
        if spec.expires > now + LONGEST:
            message = f"Approval {item.approval.name} would last until {spec.expires:%Y-%m-%dT%H:%M:%SZ}, and does not count yet"
            hint = f"give it a date within {LONGEST.days} days: what is to hold for longer belongs in a policy or in the Fleet"
            yield item.document.problem(
                "ApprovalTooLong", message, hint, path=("spec", "expires"), severity=Severity.WARNING
            )
        elif not item.holds(now):
            message = f"Approval {item.approval.name} expired at {spec.expires:%Y-%m-%dT%H:%M:%SZ}"
            hint = "remove it, or give it a later date if you still mean it"
            yield item.document.problem(
                "ApprovalExpired", message, hint, path=("spec", "expires"), severity=Severity.WARNING
            )
            continue
        if item.approval.needs_plan and spec.plan is None:
            yield without_a_plan(item, "`gitplacer plan` tells the digest to write as `plan`")
        if spec.to is not None and spec.to not in clusters:
            message = f"there is no cluster {spec.to} to move to"
            yield item.document.problem("NoSuchCluster", message, nearest(spec.to, clusters), path=("spec", "to"))
        for index, pattern in enumerate(spec.groups):
            if pattern not in meant:
                message = f"no group is called {pattern}"
                hint = nearest(pattern, groups)
                path = ("spec", "groups", index)
                yield item.document.problem("NoSuchGroup", message, hint, path=path, severity=Severity.WARNING)
    yield from _disagreeing(approvals, groups, carried_out, now)


def _matching(patterns: Iterable[str], groups: Collection[str]) -> set[str]:
    """Those of some patterns that name a group."""
    waiting = set(patterns)
    found = {pattern for pattern in waiting if pathglob.is_plain(pattern) and pattern in groups}
    waiting = {pattern for pattern in waiting if not pathglob.is_plain(pattern)}
    likely = Likely((of_path(pattern), pattern) for pattern in waiting)
    for group_id in groups if waiting else ():
        met = {pattern for pattern in likely.of(group_id) if pattern in waiting and pathglob.matches(pattern, group_id)}
        waiting -= met
        found |= met
    return found


def _disagreeing(
    approvals: Approvals, groups: Collection[str], carried_out: Mapping[str, Collection[str]], now: datetime
) -> Iterator[Problem]:
    moves = Approvals(tuple(item for item in approvals if item.approval.spec.to is not None))
    for group_id in sorted(groups) if len(moves) > 1 else ():
        found = _in_force(moves, group_id, "Move", now, carried_out.get(group_id, ()))
        if len({item.approval.spec.to for item in found}) > 1:
            last = max(found, key=lambda item: item.identity)
            said = " and ".join(f"{item.approval.name} to {item.approval.spec.to}" for item in found)
            yield last.document.problem(
                "ApprovalsDisagree", f"Approvals send {group_id} to different clusters: {said}", "keep one of them",
                path=("spec", "to"),
            )  # fmt: skip

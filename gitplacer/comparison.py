"""
Two plans held against each other: what happens because of a change, apart from what would happen anyway.

Both are made from the same capacity, the same deployment repo and the same time; only the source differs, or one supposition.
A group that the second plan treats otherwise than the first is there because of the change, also one that the change does not
mention: it may lose its room to another.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitplacer.explain import PlanView
from gitplacer.model.decision import Action, Decision
from gitplacer.source.manifests import WORKLOADS
from gitplacer.tree import differing_paths


class Because(enum.StrEnum):
    """Why a plan does something with a group."""

    CHANGE = "Change"
    ANYWAY = "Anyway"


@dataclass(frozen=True, slots=True)
class Difference:
    """One group in two plans: what becomes of it without the change and with it, None where there is no such group."""

    group: str
    without: Decision | None
    with_it: Decision | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups whose fate a change decides, by id, sorted."""

    differences: Mapping[str, Difference]

    def because(self, group: str) -> Because:
        """Why something happens to a group, if something does."""
        return Because.CHANGE if group in self.differences else Because.ANYWAY


def compare(without: PlanView, with_it: PlanView) -> Comparison:
    """The plan of the source as it was, and that of the source as somebody wants it."""
    touched = set(_touched(differing_paths(without.tree, with_it.tree)))
    old, new = ({d.group: d for d in view.plan.decisions} for view in (without, with_it))
    found = {}
    for group in sorted(old.keys() | new.keys()):
        one, other = old.get(group), new.get(group)
        if group in touched or _fate(one) != _fate(other):
            found[group] = Difference(group, one, other)
    return Comparison(found)


def _fate(decision: Decision | None) -> object:
    """What becomes of a group, apart from the words for it and from what else was considered."""
    if decision is None:
        return None
    keeps = decision.action is Action.KEEP
    return (
        decision.action, decision.after, decision.files_after, decision.phase, decision.finding.code,
        None if keeps else decision.policy, dict(decision.counts), dict(decision.roles), decision.proposed, decision.claim,
    )  # fmt: skip


def _touched(paths: Iterable[str]) -> Iterator[str]:
    """The groups of whose manifests some differ between two deployment trees."""
    for path in paths:
        _, found, rest = path.partition(f"/{WORKLOADS}/")
        parts = rest.split("/")
        if found and len(parts) > 2:
            yield "/".join(parts[:2])

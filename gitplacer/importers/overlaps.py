"""
Which policies may select the same object, and an order among them.

Other systems let policies overlap and do not say which wins; here two of equal precedence are an error. So whoever imports gives an
order, and gets the smallest numbers that keep it: 0 for a policy that shares no object with any before it, and ten more than the highest
of those with which it may.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gitplacer import pathglob
from gitplacer.kinds.selectors import LabelRequirement, LabelSelector, ObjectSelector
from gitplacer.policies.implication import never_selects

STEP = 10
"""Between two precedences, so that there is room for one that somebody writes later."""
_COMPARED = 200
"""So many selections are compared with each other; of more, each just gets a higher number than the one before."""


class Ranked(Struct, frozen=True):
    """The precedence of a selection, and the indexes of weaker ones with which it may share objects."""

    precedence: int
    over: tuple[int, ...] = ()


def ranked(selects: Sequence[ObjectSelector]) -> list[Ranked]:
    """A rank for each selection, the last the strongest among those that may share an object."""
    if len(selects) > _COMPARED:
        return [Ranked(number * STEP) for number in range(len(selects))]
    found: list[Ranked] = []
    for index, select in enumerate(selects):
        over = tuple(other for other in range(index) if may_share(select, selects[other]))
        found.append(Ranked(max(found[other].precedence for other in over) + STEP if over else 0, over))
    return found


def may_share(one: ObjectSelector, other: ObjectSelector) -> bool:
    """Whether there may be an object that both select: no only where it is proved that there is none."""
    for mine, theirs in ((one.names, other.names), (one.kinds, other.kinds), (one.namespaces, other.namespaces)):
        if mine and theirs and all(map(pathglob.is_plain, (*mine, *theirs))) and not {*mine} & {*theirs}:
            return False
    both = ObjectSelector(
        label_selector=_joined(one.label_selector, other.label_selector),
        namespace_selector=_joined(one.namespace_selector, other.namespace_selector),
    )
    return not never_selects(both)


def _joined(one: LabelSelector, other: LabelSelector) -> LabelSelector:
    """The conditions of both."""
    exact = [
        LabelRequirement(key=key, operator="In", values=(value,))
        for selector in (one, other)
        for key, value in selector.match_labels.items()
    ]
    return LabelSelector(match_expressions=(*exact, *one.match_expressions, *other.match_expressions))

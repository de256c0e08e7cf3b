"""
Rules that a group must keep before anything of it is placed: one module per family, and one table.

A check looks at one group and yields problems of its objects; an error holds the group where it is, unless the object
allows it. To add one, write a module
with a function like `Check` and put it in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from gitplacer.checks import (
    copies,
    dispatching,
    namesakes,
    references,
    reserve,
    sealed,
    served,
    spanning,
    volumes,
    wished,
)
from gitplacer.grouping import Group
from gitplacer.known import Known, Told
from gitplacer.problems import Problem, Severity
from gitplacer.source.allowances import not_allowed

Check = Callable[[Known, Group], Iterable[Told]]

CHECKS: tuple[Check, ...] = (
    copies.check,
    dispatching.check,
    namesakes.check,
    references.check,
    reserve.check,
    sealed.check,
    served.check,
    spanning.check,
    volumes.check,
    wished.check,
)


def checked(known: Known, groups: Mapping[str, Group], problems: list[Problem]) -> dict[str, Group]:
    """The groups with what the checks found and nobody allowed; the findings are added to `problems` too."""
    out = {}
    for group_id, group in groups.items():
        told = (item for check in CHECKS for item in check(known, group))
        found = [p for member, problem in told for p in not_allowed([problem], member.annotations)]
        problems.extend(found)
        errors = tuple(p for p in found if p.severity is Severity.ERROR)
        out[group_id] = replace(group, problems=(*group.problems, *errors)) if errors else group
    return out

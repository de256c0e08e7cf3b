"""
Rules that a group must keep before anything of it is placed: one module per family, and one table.

A check looks at one group and yields problems; an error holds the group where it is. To add one, write a module
with a function like `Check` and put it in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gitplacer.checks import copies
from gitplacer.grouping import Group
from gitplacer.problems import Problem, Severity
from gitplacer.source.reading import Source

Check = Callable[[Source, Group], Iterable[Problem]]

CHECKS: tuple[Check, ...] = (copies.check,)


def checked(source: Source, groups: Mapping[str, Group], problems: list[Problem]) -> dict[str, Group]:
    """The groups with what the checks found; the findings are added to `problems` too."""
    out = {}
    for group_id, group in groups.items():
        found = [problem for check in CHECKS for problem in check(source, group)]
        problems.extend(found)
        errors = tuple(p for p in found if p.severity is Severity.ERROR)
        out[group_id] = replace(group, problems=(*group.problems, *errors)) if errors else group
    return out

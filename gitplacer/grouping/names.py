"""
Names of groups: which can be one, and what becomes of groups that would have the same.

A record is a file and a group a folder, so two names must differ on every file system, and none may be longer than a name of a file can be.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from gitplacer.grouping.group import Group, primary
from gitplacer.model.workload import Identity
from gitplacer.problems import Problem
from gitplacer.source.manifests import PLATFORM, SourceObject

_GROUP_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,248}[A-Za-z0-9])?")
"""At most 250 characters: its record is the file `<name>.yaml`, and who cannot check out one file has none (NAME_MAX of Linux is 255)."""


def name_problems(name: str, item: SourceObject) -> list[Problem]:
    """What is wrong with the name of a group, told where the object stands that gave it."""
    if _GROUP_NAME.fullmatch(name):
        return []
    message = f'"{name}" cannot be the name of a group'
    hint = "use at most 250 letters, digits, dashes, dots and underscores, and begin and end with a letter or digit"
    return [item.document.problem("InvalidGroupName", message, hint, path=("metadata",))]


def sole(group_id: str, same: Sequence[Group], deployed: Collection[Identity]) -> tuple[Group, tuple[Problem, ...]]:
    """
    The one group of an id, and what is told where several would have it. They are held as one then, so that none of their objects is lost sight of;
    but one of the platform goes on where of the others nothing is deployed.
    """
    if len(same) == 1:
        return same[0], ()
    trusted = [group for group in same if group.unit == PLATFORM or _is_any(group, deployed)]
    problems = tuple(_clash(group_id, first, second) for first, second in itertools.pairwise(same))
    if len(trusted) == 1 and trusted[0].unit == PLATFORM:
        return trusted[0], problems
    members = tuple(m for group in same for m in group.members)
    shared = tuple(m for group in same for m in group.shared)
    return Group(group_id, same[0].unit, same[0].policy, members, shared, problems), problems


def _clash(group_id: str, first: Group, second: Group) -> Problem:
    one, other = primary(first.members), primary(second.members)
    return other.document.problem(
        "GroupIdTaken",
        f"{other.identity} and {one.identity} ({one.document.locate()}) would both be group {group_id}",
        "rename one, or join them with groupBy in their policy",
        path=("metadata", "name"),
    )


def case_twins(groups: Mapping[str, Group], deployed: Collection[Identity]) -> Mapping[str, Sequence[Problem]]:
    """
    The groups whose folders some file systems cannot tell from one another's, each with what is told of that. No folder is made for a name
    that no group can have; and those of the platform are stopped by none of which nothing is deployed, as by those of their own id.
    """
    alike: dict[str, list[Group]] = defaultdict(list)
    for group_id, group in groups.items():
        if _GROUP_NAME.fullmatch(group_id.partition("/")[2]):
            alike[group_id.casefold()].append(group)
    found: dict[str, list[Problem]] = defaultdict(list)
    for same in alike.values():
        counting = [group for group in same if group.unit == PLATFORM or _is_any(group, deployed)]
        for first, second in itertools.pairwise(same):
            problem = _twins(first, second)
            for group in (first, second):
                if group.unit != PLATFORM or len(counting) > 1:
                    found[group.id].append(problem)
    return found


def _twins(first: Group, second: Group) -> Problem:
    one, other = primary(first.members), primary(second.members)
    return other.document.problem(
        "GroupIdTaken",
        f"{other.identity} would be group {second.id}, and {one.identity} ({one.document.locate()}) {first.id}: "
        "they differ only in upper and lower case, and some file systems cannot hold the folders of both",
        "rename one, or join them with groupBy in their policy",
        path=("metadata", "name"),
    )


def _is_any(group: Group, deployed: Collection[Identity]) -> bool:
    return any(member.identity in deployed for member in group.members)

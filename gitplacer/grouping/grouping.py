"""
Objects to groups: what is placed together, moves together and is removed together.

Sized objects come first: each has a governing policy, whose `groupBy` joins those it governs; a Ray object that
names another by name or by its Service joins it too, because neither works from another cluster. Then come the
objects that point at them (Services, routes, autoscalers) and what all of these need (ConfigMaps, claims …).
What several groups need is shared. Whatever is left over belongs nowhere and is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.grouping.group import Group
from gitplacer.grouping.leftover import left_over, unmentioned, with_made_up_names
from gitplacer.grouping.names import case_twins, sole
from gitplacer.grouping.platform import platform_groups
from gitplacer.grouping.workloads import Workloads
from gitplacer.model.workload import Identity
from gitplacer.policies.governing import Governing
from gitplacer.problems import Problem
from gitplacer.source.reading import Source


class Grouping(Struct, frozen=True):
    """All groups by id, and what was wrong or left over."""

    groups: Mapping[str, Group]
    problems: tuple[Problem, ...]


def group_objects(source: Source, deployed: Collection[Identity] = ()) -> Grouping:
    """
    The groups of a source, sorted by id. An object is in at most one group, or shared. `deployed` are objects that are deployed
    somewhere as workloads: those of which nothing is cannot stop platform objects by taking their id, and are no group then.
    """
    governed = Governing(source)
    found = [
        *platform_groups(source, governed, source.doubled.intersection(deployed)),
        *Workloads(source, governed).groups(),
    ]
    problems = [p for group in found for p in group.problems]
    by_id: dict[str, list[Group]] = defaultdict(list)
    for group in found:
        by_id[group.id].append(group)
    groups: dict[str, Group] = {}
    for group_id, same in sorted(by_id.items()):
        groups[group_id], told = sole(group_id, same, deployed)
        problems.extend(told)
    twins = case_twins(groups, deployed)
    problems.extend(problem for each in twins.values() for problem in each)
    groups |= {each: replace(groups[each], problems=(*groups[each].problems, *more)) for each, more in twins.items()}
    placed = {id(m) for group in found for m in (*group.members, *group.shared)}
    left = [m for m in source.objects if id(m) not in placed and not m.held and not governed(m).broken]
    made_up = with_made_up_names(source.objects) if left else {}
    problems.extend(
        left_over(m, made_up, deployed=m.identity in deployed) for m in unmentioned(left, governed, source.unread_words)
    )
    return Grouping(groups, tuple(sorted(set(problems))))

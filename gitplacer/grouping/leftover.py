"""
What belongs to no group, as far as that can be said while some files cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from gitplacer.grouping.governed import Governing, key_of
from gitplacer.problems import Problem, Severity
from gitplacer.source.apigroups import BUILT_IN_GROUPS
from gitplacer.source.manifests import SourceObject


def unmentioned(
    left: Sequence[SourceObject], governed: Governing, unread: Callable[[str], Collection[str]]
) -> Sequence[SourceObject]:
    """
    Those of the objects left over that would be so if every file could be read: no word of an unread one that may be about their namespace
    may stand for them, nor for what needs them.
    """
    words: dict[str, set[str]] = {}
    for space in {item.identity.namespace for item in left}:
        words[space] = set(unread(space))
    while mentioned := [m for m in left if not words[m.identity.namespace].isdisjoint(_joined_by(m, governed))]:
        gone = {id(item) for item in mentioned}
        left = [item for item in left if id(item) not in gone]
        for item in mentioned:
            words[item.identity.namespace] |= {reference.name for reference in item.facts.needs}
    return left


def _joined_by(item: SourceObject, governed: Governing) -> Iterator[str]:
    """Words of which one stands in whatever joins an object to a group: names, labels that it selects, what it is grouped by."""
    yield item.identity.name
    yield from (reference.name for reference in (*item.facts.provides, *item.facts.points_at))
    yield from (value for selector in item.facts.selects for each in selector for value in each.values)
    key = key_of(item, governed)
    if key is not None:
        yield key[2]


def left_over(item: SourceObject) -> Problem:
    """What is told of an object that is in no group."""
    hint = "nothing that is placed refers to it, and no policy's groupBy joins it with something that is"
    if item.identity.api_group not in BUILT_IN_GROUPS:
        hint += "; if it becomes pods, a WorkloadKind says how"
    return item.document.problem(
        "NotInAGroup",
        f"{item.identity} belongs to no group and is not placed",
        hint,
        path=("metadata", "name"),
        severity=Severity.WARNING,
    )

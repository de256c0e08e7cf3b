"""
Edits of manifests that take nothing away: what is placed by them holds, refers to and is what it was, and asks for no less.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import zip_longest

from gitplacer.source.edited import Change, EditedFile, read_both
from gitplacer.source.files import Memo, is_read
from gitplacer.tree import Tree
from gitplacer.workloads.facts import ObjectFacts, Role


def edits_of(change: Change, source: Tree, unread: Collection[str], memo: Memo) -> frozenset[str]:
    """
    The manifests that a change edits, if each takes nothing away; else none. Other files may change that are not read, unless they are among the
    `unread` in which words count.
    """
    before = change.texts(source)
    if before is None or not before.entries.keys().isdisjoint(unread):
        return frozenset()
    edited = read_both(filter(is_read, before), before, source, memo)
    if edited is None or not all(map(takes_nothing_away, edited.values())):
        return frozenset()
    return frozenset(edited)


def takes_nothing_away(edited: EditedFile) -> bool:
    """
    Whether a manifest holds the same objects as before, which refer to the same others, are selected by the same, and become pods of the same
    shapes, no fewer of each.
    """
    was, now = edited.was, edited.now
    if was.parsed.faults or now.parsed.faults or len(was.facts) != len(now.facts):
        return False
    names = ("apiVersion", "kind", "metadata")
    for old, new in zip_longest(was.parsed.documents, now.parsed.documents):
        if old is None or new is None or old.prefix != new.prefix:
            return False
        if any(repr(old.value.get(name)) != repr(new.value.get(name)) for name in names):
            return False
    return all(map(_asks_no_less, was.facts, now.facts))


def _asks_no_less(was: ObjectFacts, now: ObjectFacts) -> bool:
    same = replace(was, roles=()) == replace(now, roles=()) and len(was.roles) == len(now.roles)
    return same and all(map(_is_no_smaller, was.roles, now.roles))


def _is_no_smaller(was: Role, now: Role) -> bool:
    numbers = {"count": was.count, "minimum": was.minimum, "maximum": was.maximum, "surge": was.surge}
    fewer = now.count < was.count or now.minimum < was.minimum or now.surge < was.surge
    lower = now.maximum is not None and (was.maximum is None or now.maximum < was.maximum)
    return not fewer and not lower and replace(now, **numbers) == was  # type: ignore[arg-type]

"""
Edits that concern few: of manifests that take nothing away, so that what is placed by them holds, refers to and is what it was, and asks for no less; and
of clusters that are to take others, or none, or that are lost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    edited = _read(change, source, unread, memo)
    return frozenset(edited) if all(map(takes_nothing_away, edited.values())) else frozenset()


def restated_by(change: Change, source: Tree, unread: Collection[str], memo: Memo) -> Mapping[str, frozenset[str]]:
    """
    The files of clusters that a change edits, each with the names of those of its clusters that have another state then, if that is all it says;
    else none. Other files as above.
    """
    edited = _read(change, source, unread, memo)
    found = {path: _restated(each) for path, each in edited.items()}
    restated = {path: names for path, names in found.items() if names is not None}
    return restated if restated.keys() == edited.keys() else {}


def _read(change: Change, source: Tree, unread: Collection[str], memo: Memo) -> Mapping[str, EditedFile]:
    """What was read of the files that a change edits; of none where it does more than that."""
    before = change.texts(source)
    if before is None or not before.entries.keys().isdisjoint(unread):
        return {}
    return read_both(filter(is_read, before), before, source, memo) or {}


def _restated(edited: EditedFile) -> frozenset[str] | None:
    """The clusters that have another state; None where a file has anything but clusters, or says more of one."""
    old, new = edited.was.parsed, edited.now.parsed
    if old.faults or new.faults or len(old.documents) != len(new.documents):
        return None
    found = set()
    for was, now in zip(old.documents, new.documents, strict=True):
        (rest, state), (other_rest, other) = _without_state(was.value), _without_state(now.value)
        if was.value.get("kind") != "Cluster" or repr(rest) != repr(other_rest):
            return None
        if repr(state) != repr(other):
            found.add(str(now.value["metadata"]["name"]))
    return frozenset(found)


def _without_state(cluster: Mapping[str, object]) -> tuple[dict[str, object], object]:
    """What a document says but for its state, and that."""
    spec = cluster.get("spec")
    if not isinstance(spec, Mapping):
        return {**cluster}, None
    rest = {key: value for key, value in spec.items() if key != "state"}
    return {**cluster, "spec": rest}, spec.get("state")


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

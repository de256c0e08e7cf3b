"""
Whether commits that were made before are those that a pass would make now, but for dates.

Step by step only what the step and its commit change is looked at: a lost cluster is a thousand commits, on a tree of tens of thousands of files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from gitplacer.kinds.clusterstate import CLUSTER_STATES
from gitplacer.kinds.record import RECORDS
from gitplacer.kinds.removals import GUARDS
from gitplacer.source.edited import Change
from gitplacer.tree import Blobs, Changes, Entry, Layered, MemoryBlobs, Tree
from gitplacer.units import METADATA

_DATE = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"')
_DATED = tuple(f"{folder}/" for folder in (RECORDS, CLUSTER_STATES, GUARDS))
"""The folders of our records, in which dates stand."""

_Differing = Mapping[str, tuple[Entry | None, Entry | None]]
"""Path to what two trees have there, None for nothing."""


class Commits(Protocol):
    """Where the commits are, as `git.reading.Repository` has them."""

    @property
    def objects(self) -> Blobs: ...

    def changes(self, old: str, new: str) -> _Differing: ...


class Redated:
    """Two histories that begin at a commit with this tree: the steps of a pass, and commits."""

    def __init__(self, commits: Commits, begin: str, tree: Tree) -> None:
        self._commits = commits
        self._at = begin
        self._entries = tree.entries
        self._made: dict[str, Entry | None] = {}
        """What the steps have written so far, None for what they removed."""
        self._found: dict[str, Entry | None] = {}
        """The same of the commits."""
        self._texts = MemoryBlobs()
        """Those of the steps."""

    def follows(self, changes: Changes, commit: str) -> bool:
        """Go on by a step and by a commit; whether they leave the same but for dates, if those before did."""
        made: dict[str, Entry | None] = dict.fromkeys(changes.removed)
        for path, data in changes.written.items():
            made[path] = entry = Entry.of(data)
            self._texts[entry.oid] = data
        found = {path: now for path, (_, now) in self._commits.changes(self._at, commit).items()}
        self._at = commit
        self._made |= made
        self._found |= found
        differing = {path: (self._now(self._made, path), self._now(self._found, path)) for path in {*made, *found}}
        return _agree(differing, Layered(self._texts, self._commits.objects), self._commits.objects)

    def _now(self, changed: Mapping[str, Entry | None], path: str) -> Entry | None:
        return changed[path] if path in changed else self._entries.get(path)


def same_but_dates(one: Tree, other: Tree) -> bool:
    """
    Whether two trees differ in nothing but dates in our records, and in which source commit was last, which never changes alone. A
    date that is there in one of them only is a difference.
    """
    return _agree(Change.between(one, other).entries, one.blobs, other.blobs)


def _agree(differing: _Differing, ones: Blobs, others: Blobs) -> bool:
    """The same of what they have at some paths, with the bytes of each."""
    dated = []
    for path, (one, other) in differing.items():
        if path == METADATA or one is other:
            continue
        if one is None or other is None or one.mode != other.mode:
            return False
        if one.oid != other.oid:
            if not path.startswith(_DATED):
                return False
            dated.append((one.oid, other.oid))
    mine, theirs = ones.read({one for one, _ in dated}), others.read({other for _, other in dated})
    return all(_undated(mine[one]) == _undated(theirs[other]) for one, other in dated)


def _undated(data: bytes) -> bytes:
    return _DATE.sub(b'""', data)

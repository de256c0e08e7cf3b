"""
What trees hold, remembered for the next one: after a commit a tree is mostly what it was.

Listing a tree costs what is in it. Of a process that reads one tree after another, the last few large ones are kept, by their ids; of the next one
git tells where it differs, which costs what has changed. A tree with an id never becomes another, so nothing here is ever out of date.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from gitplacer.tree import Entry

LARGE = 500
"""Paths. A smaller tree is listed as fast as it is compared."""
_KEPT = 3
"""Of the source, of snapshots in a repo of their own, and of the deployment repo."""
_Key = tuple[Path, str]
_NAME = re.compile(rb"[0-7]+ ([^\0]+)\0.{20}", re.DOTALL)


class Listings:
    """The paths of the trees that were listed last, by git directory and tree. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, Mapping[str, Entry]] = OrderedDict()

    def of(self, git_dir: Path) -> dict[str, Mapping[str, Entry]]:
        """The trees of a repository that are kept, the last one first, and what each holds."""
        with self._lock:
            return {tree: self._known[place, tree] for place, tree in reversed(self._known) if place == git_dir}

    def get(self, git_dir: Path, tree: str) -> Mapping[str, Entry] | None:
        """What a tree holds, if that is known."""
        with self._lock:
            return self._known.get((git_dir, tree))

    def keep(self, git_dir: Path, tree: str, entries: Mapping[str, Entry]) -> None:
        """Remember what a tree holds, if it is large, in place of what nobody has asked for since."""
        if len(entries) < LARGE:
            return
        with self._lock:
            self._known[git_dir, tree] = entries
            self._known.move_to_end((git_dir, tree))
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)


def alike(one: bytes, other: bytes) -> bool:
    """Whether two trees, as git stores them, may be of one branch: most of what is at their tops has the same names."""
    first, second = (set(_NAME.findall(tree)) for tree in (one, other))
    return 2 * len(first & second) > len(first | second)


def with_changes(
    entries: Mapping[str, Entry], changes: Mapping[str, tuple[Entry | None, Entry | None]]
) -> dict[str, Entry]:
    """The entries of a tree with what another has otherwise, sorted as a listing is."""
    found = dict(entries)
    for path, (_, now) in changes.items():
        if now is None:
            del found[path]
        else:
            found[path] = now
    return dict(sorted(found.items())) if found.keys() - entries.keys() else found

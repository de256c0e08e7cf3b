"""
The ids that git gives to trees.

A pass may be a thousand commits on a tree of tens of thousands of files. What each changes is in a few folders, so the ids of the others stand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from gitplacer.tree import Changes, Entry, Tree

_FOLDER = "40000"


def tree_id(tree: Tree) -> str:
    """The SHA-1 id git gives a tree object with these entries."""
    return _Folders(tree.entries).id()


class StepIds:
    """The ids of the trees that steps leave, one after another. Each is worked out once, from what the step changes."""

    def __init__(self, base: Tree, steps: Iterable[Changes]) -> None:
        self._folders = _Folders(base.entries)
        self._steps = iter(steps)
        self._known: list[str] = []

    def after(self, step: int) -> str:
        """That after so many steps, one at least. Raises IndexError where there are not so many."""
        while len(self._known) < step:
            changes = next(self._steps, None)
            if changes is None:
                raise IndexError(step)
            self._folders.apply(changes)
            self._known.append(self._folders.id())
        return self._known[step - 1]


class _Folders:
    """What is in each folder of a tree, by name: mode and id. Those of folders that have changed are worked out when somebody asks."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._rows: dict[str, dict[str, tuple[str, str]]] = {"": {}}
        self._changed = {""}
        for path, entry in entries.items():
            self._put(path, entry)

    def apply(self, changes: Changes) -> None:
        """Remove and write files. To remove one that is not there is no error."""
        for path in changes.removed:
            folder, _, name = path.rpartition("/")
            if self._has(folder, name, of_folder=False):
                del self._rows[folder][name]
                self._changed.add(folder)
        for path, data in changes.written.items():
            self._put(path, Entry.of(data))

    def _put(self, path: str, entry: Entry) -> None:
        folder, _, name = path.rpartition("/")
        self._rows.setdefault(folder, {})[name] = entry.mode, entry.oid
        self._changed.add(folder)

    def _has(self, folder: str, name: str, *, of_folder: bool) -> bool:
        """Whether there is a folder, or a file, of this name."""
        row = self._rows.get(folder, {}).get(name)
        return row is not None and (row[0] == _FOLDER) is of_folder

    def id(self) -> str:
        """That of the top."""
        by_depth: dict[int, set[str]] = {}
        for folder in self._changed:
            by_depth.setdefault(_depth(folder), set()).add(folder)
        self._changed = set()
        for depth in range(max(by_depth, default=0), 0, -1):
            for folder in by_depth.get(depth, ()):
                parent, _, name = folder.rpartition("/")
                rows = self._rows.pop(folder, {})
                if rows:
                    self._rows[folder] = rows
                    self._rows.setdefault(parent, {})[name] = _FOLDER, _id(rows)
                elif self._has(parent, name, of_folder=True):  # and not a file by now
                    del self._rows[parent][name]
                by_depth.setdefault(depth - 1, set()).add(parent)
        return _id(self._rows[""])


def _depth(folder: str) -> int:
    return folder.count("/") + bool(folder)


def _id(rows: Mapping[str, tuple[str, str]]) -> str:
    ordered = sorted((name.encode() + b"/" * (mode == _FOLDER), mode, name, oid) for name, (mode, oid) in rows.items())
    body = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid) for _, mode, name, oid in ordered)
    return hashlib.sha1(b"tree %d\0" % len(body) + body, usedforsecurity=False).hexdigest()

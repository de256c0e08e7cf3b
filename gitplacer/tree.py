"""
A tree of files as a value: paths, and the bytes behind them.

A Tree knows its files by blob id, as git does, and fetches bytes only when somebody asks, many at a
time. Two trees are compared by ids alone, so a plan that changes nothing reads nothing. A tree that
comes from git and a tree that is made in memory are the same thing to everyone who holds one.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import msgspec

FILE = "100644"
EXECUTABLE = "100755"
SYMLINK = "120000"
SUBMODULE = "160000"
SPECIAL = "000000"
"""No mode of git's: of what only a work tree can have in a place, such as a named pipe, a socket or a device."""


def blob_id(data: bytes) -> str:
    """The SHA-1 id git gives a blob of these bytes."""
    return hashlib.sha1(b"blob %d\x00" % len(data) + data, usedforsecurity=False).hexdigest()


def folded(path: str) -> str:
    """What a path is to file systems that know no case, and one way to write each letter: two files whose paths are one here may be one there."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


class Entry(NamedTuple):
    """What a tree says of one path: git's mode, the blob's id and its size in bytes (-1: not known). A large tree has a hundred thousand."""

    mode: str
    oid: str
    size: int = -1

    @staticmethod
    def of(data: bytes) -> Entry:
        """That of a regular file with these bytes."""
        return Entry(FILE, blob_id(data), len(data))

    @property
    def is_text(self) -> bool:
        """Whether there are bytes to read: a symlink or a submodule is no file to us."""
        return self.mode in (FILE, EXECUTABLE)

    @property
    def is_blob(self) -> bool:
        """Whether git keeps bytes of it, be they only where a symlink leads."""
        return self.mode not in (SUBMODULE, SPECIAL)


class Blobs(Protocol):
    """Where bytes come from. `read` returns every id it was asked for, or raises KeyError."""

    def read(self, oids: Iterable[str]) -> Mapping[str, bytes]: ...


class MemoryBlobs(dict[str, bytes]):
    """Blobs that are held in memory."""

    def read(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        return {oid: self[oid] for oid in oids}


@dataclass(frozen=True, eq=False)
class Tree:
    """Paths (POSIX, relative, sorted) to entries, and the bytes behind them. Equal when the entries are."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    blobs: Blobs = field(default_factory=MemoryBlobs)

    @staticmethod
    def of(files: Mapping[str, bytes]) -> Tree:
        """A tree of regular files, in memory."""
        blobs = MemoryBlobs()
        entries = {}
        for path in sorted(files):
            entries[path] = Entry.of(files[path])
            blobs[entries[path].oid] = files[path]
        return Tree(entries, blobs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        mine = {path: (entry.mode, entry.oid) for path, entry in self.entries.items()}
        theirs = {path: (entry.mode, entry.oid) for path, entry in other.entries.items()}
        return mine == theirs

    def __hash__(self) -> int:
        return hash(tuple(sorted((path, entry.mode, entry.oid) for path, entry in self.entries.items())))

    def __contains__(self, path: object) -> bool:
        return path in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def read(self, path: str) -> bytes:
        """The bytes of one file. Use `read_all` for many."""
        return self.read_all([path])[path]

    def read_all(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The bytes of many files, fetched together."""
        wanted = [(path, self.entries[path].oid) for path in paths]
        found = self.blobs.read(dict.fromkeys(oid for _, oid in wanted))
        return {path: found[oid] for path, oid in wanted}

    def under(self, folder: str) -> Tree:
        """The subtree below a folder, with paths relative to it. '' is the tree itself."""
        if not folder:
            return self
        prefix = folder.rstrip("/") + "/"
        return Tree(
            {path[len(prefix) :]: entry for path, entry in self.entries.items() if path.startswith(prefix)}, self.blobs
        )

    def in_memory(self) -> Tree:
        """This tree with all its bytes read."""
        oids = dict.fromkeys(entry.oid for entry in self.entries.values() if entry.is_text)
        return Tree(self.entries, MemoryBlobs(self.blobs.read(oids)))

    def apply(self, changes: Changes) -> Tree:
        """This tree after the changes. Removing a path that is not there is no error."""
        entries, blobs = dict(self.entries), MemoryBlobs()
        for path in changes.removed:
            entries.pop(path, None)
        in_order = changes.written.keys() <= entries.keys()
        for path, data in changes.written.items():
            entries[path] = Entry.of(data)
            blobs[entries[path].oid] = data
        return Tree(entries if in_order else dict(sorted(entries.items())), Layered(blobs, self.blobs))


class LateTree(Tree):
    """A tree whose entries are listed when somebody looks at one, by a function that is called once at most and may raise."""

    def __init__(self, listing: Callable[[], Mapping[str, Entry]], blobs: Blobs) -> None:
        object.__setattr__(self, "listing", listing)
        object.__setattr__(self, "blobs", blobs)

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        listing: Callable[[], Mapping[str, Entry]] = self.__dict__["listing"]
        return listing()


class Layered(msgspec.Struct, frozen=True):
    """New blobs over those of the tree they were added to."""

    new: MemoryBlobs
    old: Blobs

    def read(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(oids)
        here = {oid: self.new[oid] for oid in wanted if oid in self.new}
        rest = [oid for oid in wanted if oid not in here]
        return {**here, **self.old.read(rest)} if rest else here


class Content(msgspec.Struct, frozen=True):
    """The bytes of a file to be, by their id; they are fetched only if the file has to be written."""

    oid: str
    read: Callable[[], bytes]

    @staticmethod
    def of(data: bytes) -> Content:
        return Content(blob_id(data), lambda: data)


class Changes(msgspec.Struct, frozen=True):
    """Files to write and paths to remove; what `Tree.apply` and a commit are made of."""

    written: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    removed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def oid_of(tree: Tree, path: str) -> str:
    """The blob id of a file, '' where there is none."""
    entry = tree.entries.get(path)
    return entry.oid if entry else ""


def differing_paths(old: Tree, new: Tree) -> list[str]:
    """Paths that were added, removed or changed, sorted. Reads no bytes."""
    paths = old.entries.keys() | new.entries.keys()
    return sorted(path for path in paths if old.entries.get(path) != new.entries.get(path))


def changes_between(old: Tree, new: Tree) -> Changes:
    """What makes one tree of another. Reads the files that are written."""
    paths = differing_paths(old, new)
    there = [path for path in paths if path in new]
    return Changes(new.read_all(there), frozenset(paths) - set(there))

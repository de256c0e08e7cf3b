"""
Files of a source that are other texts than they were, and what was read of them before and after.

A commit that a person makes nearly always edits a few files. Who knows what became of the source before it need only look at those; a
manifest that is new, gone or of another mode is for a look at the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from gitplacer.source.files import Memo, ReadFile, is_read, read_documents
from gitplacer.source.oddpaths import odd_paths
from gitplacer.source.shares import MOST
from gitplacer.source.territory import is_kept_unread, keeps_unread, tool_of
from gitplacer.tree import Blobs, Entry, Tree, differing_paths

MOST_FILES = 100
"""Behind a change of more, the whole is looked at."""


class Change(Struct, frozen=True):
    """The paths at which two sources, or other trees, differ, each with what it was and what it is, None for nothing; `blobs` are those of the one before."""

    entries: Mapping[str, tuple[Entry | None, Entry | None]]
    blobs: Blobs

    @staticmethod
    def between(before: Tree, source: Tree) -> Change:
        """That of two trees."""
        paths = differing_paths(before, source)
        return Change({path: (before.entries.get(path), source.entries.get(path)) for path in paths}, before.blobs)

    def that_counts(self, source: Tree, unread: Collection[str]) -> Change:
        """
        The same without what is new or gone and was never looked at, such as a README or a picture. `unread` are files of which words count though they
        could not be read.
        """
        said = odd_paths(self.entries)

        def counts(path: str) -> bool:
            there = [entry for entry in self.entries[path] if entry is not None]
            if is_read(path) or path in unread or path in said or keeps_unread(path) or tool_of(path):
                return True
            return len(there) != 1 or not there[0].is_text or is_kept_unread(source, path)

        found = {path: entries for path, entries in self.entries.items() if counts(path)}
        return self if len(found) == len(self.entries) else Change(found, self.blobs)

    def texts(self, source: Tree) -> Tree | None:
        """
        What was changed as it was before, where all that is are texts that are still there, and few. Else None; also where the source is so large that some
        of its files may not count (`shares`).
        """
        before = self.texts_before(source)
        return before if before is not None and before.entries.keys() == self.entries.keys() else None

    def texts_before(self, source: Tree) -> Tree | None:
        """The same where some may be new, of which nothing was there before."""
        if len(self.entries) > MOST_FILES or sum(entry.size for entry in source.entries.values()) > MOST.size:
            return None
        before = {}
        for path, (was, now) in self.entries.items():
            if now is None or not now.is_text or (was is not None and was.mode != now.mode):
                return None
            if was is not None:
                before[path] = was
        return Tree(before, self.blobs)


class EditedFile(Struct, frozen=True):
    """What was read of a file before it was edited and after."""

    was: ReadFile
    now: ReadFile


def read_new(paths: Iterable[str], source: Tree, memo: Memo) -> Mapping[str, ReadFile] | None:
    """What was read of some files of a source, by path; None where one of them cannot be read."""
    wanted = list(paths)
    read_documents(source, wanted, memo)
    found = memo.recall(source.entries[path].oid for path in wanted)
    read = {path: found.get(source.entries[path].oid) for path in wanted}
    return {path: file for path, file in read.items() if file is not None} if None not in read.values() else None


def read_both(paths: Iterable[str], before: Tree, source: Tree, memo: Memo) -> Mapping[str, EditedFile] | None:
    """What was read of some files in two trees that have them, by path; None where one of them cannot be read."""
    wanted, found = list(paths), {}
    for tree in (before, source):
        read_documents(tree, wanted, memo)  # and remember them
    was = memo.recall(before.entries[path].oid for path in wanted)
    now = memo.recall(source.entries[path].oid for path in wanted)
    for path in wanted:
        old, new = was.get(before.entries[path].oid), now.get(source.entries[path].oid)
        if old is None or new is None:
            return None
        found[path] = EditedFile(old, new)
    return found

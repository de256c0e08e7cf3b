"""
Files in the platform units that are ours and no group's: charts, and what other tools are told.

No record speaks of them, so each begins with a line that says who made it. One that begins otherwise, or that somebody has changed, is
somebody else's: it is neither written over nor removed.
"""

from __future__ import annotations

from gitplacer.layout.draft import Draft
from gitplacer.layout.needs import Needs
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM


class MarkedFiles:
    """Whose a file is, by its first line, which is the mark of its sort."""

    def __init__(self, snapshot: Snapshot, draft: Draft, needs: Needs) -> None:
        self._foreign = snapshot.foreign_paths
        self._draft = draft
        self._needs = needs

    def is_ours(self, path: str, mark: bytes) -> bool:
        """Whether a file that is there begins with a mark, and is not of a platform group."""
        draft = self._draft
        return path not in self._needs and draft.is_file(path) and draft.read(path).startswith(mark)

    def is_taken(self, path: str, mark: bytes) -> bool:
        """Whether somebody else's file is where one of ours is to be."""
        return path in self._draft.oids and (path in self._foreign or not self.is_ours(path, mark))

    def within(self, folder: str) -> list[str]:
        """The files that are in a folder of some platform unit, whosever they are."""
        inside = f"/{PLATFORM}/{folder}/"
        return sorted(path for path in self._draft.oids if inside in path and self._draft.units.of(path) is not None)

"""
Files that would replace others where a group is, or come beside them: whose they are, what they change, and what that does.

They are held against the tree that the pass began with, which is what runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.layout.groupfiles import GroupFiles
from gitplacer.model.counts import AS_WRITTEN
from gitplacer.placement.updating import Edited
from gitplacer.problems import Problem
from gitplacer.render import Rendering
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import SourceObject
from gitplacer.units import Units
from gitplacer.updates import Updates


class Replacements:
    """Only files that change are read."""

    def __init__(self, snapshot: Snapshot, units: Units, files: GroupFiles) -> None:
        self._snapshot = snapshot
        self._units = units
        self._files = files
        self._updates = Updates(snapshot)
        self._known: dict[tuple[str, str], tuple[Group, tuple[Edited, ...]]] = {}
        """By group and cluster, what edits were found: who plans asks, and so do who writes records and who tells what is left."""

    def edits(self, group: Group, cluster: str) -> tuple[Edited, ...]:
        """
        The objects of a group that would change on a cluster where it is, as they are deployed and as they would be with the
        counts that they have there: how many there are to be is for whoever divides.
        """
        known = self._known.get((group.id, cluster))
        if known is None or known[0] is not group:
            known = self._known[group.id, cluster] = group, self._edits(group, cluster)
        return known[1]

    def _edits(self, group: Group, cluster: str) -> tuple[Edited, ...]:
        if cluster not in self._snapshot.source.own.clusters:
            return ()
        record = self._snapshot.predecessor(group)
        entry = next((e for e in record.clusters if e.name == cluster), None) if record is not None else None
        if entry is not None and entry.role == "Remote":
            return ()  # it has nothing of the source, and its workers come and go as they are needed
        counts = entry.known_counts() if entry is not None else AS_WRITTEN
        rendering = self._files.with_counts(group, cluster, counts)
        return tuple(
            edited
            for members, path, written in self._replaced(group, cluster, rendering)
            for edited in self._updates.edited(members, path, written)
        )

    def problems(self, group: Group, cluster: str, rendering: Rendering) -> Iterator[Problem]:
        """What writing the group's files on a cluster where it is would do."""
        is_edited = False
        for members, path, written, replaces in self._changed(group, cluster, rendering):
            is_edited = True
            if replaces:
                yield from self._updates.problems(group, cluster, members, path, written)
        if is_edited:
            yield from self._updates.unserved(group, cluster)

    def _replaced(
        self, group: Group, cluster: str, rendering: Rendering
    ) -> Iterator[tuple[list[SourceObject], str, bytes]]:
        """The files of a group that would replace others on a cluster: whose they are, where, and with what."""
        for members, path, written, replaces in self._changed(group, cluster, rendering):
            if replaces:
                yield members, path, written

    def _changed(
        self, group: Group, cluster: str, rendering: Rendering
    ) -> Iterator[tuple[list[SourceObject], str, bytes, bool]]:
        """The files of a group that are not on a cluster as they would be, and whether they would replace others."""
        for key, content in rendering.files.items():
            path = self._units.path(cluster, *key)
            deployed = self._snapshot.deployment.entries.get(path)
            if deployed is None or deployed.oid != content.oid:
                members = [item.member for item in self._files.placed(group) if (item.unit, item.file) == key]
                yield members, path, content.read(), deployed is not None and deployed.is_text

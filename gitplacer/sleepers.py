"""
The manifests of a cluster that may sleep, as files of the cluster that they are rendered into.

They are the user's own, byte for byte; in those of a clone its name stands where the template has the mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gitplacer.source.standby import STANDBY_FOLDER, SleepingClusters, filled
from gitplacer.tree import Content, Tree


class Sleepers:
    """`tree` is the source tree, which has the bytes."""

    def __init__(self, sleeping: SleepingClusters, tree: Tree) -> None:
        self._sleeping = sleeping
        self._tree = tree

    def files(self, cluster: str, *, asleep: bool) -> tuple[str, Mapping[str, Content]] | None:
        """The cluster they go to, and the files by path below its platform unit; None for a cluster that has none."""
        found = self._sleeping.manifests.get(cluster)
        if found is None:
            return None
        is_clone = found is self._sleeping.templates
        files = {}
        for item in found.standby if asleep else found.active:
            read = partial(self._tree.read, item.path)
            content = (
                Content.of(filled(read(), cluster)) if is_clone else Content(self._tree.entries[item.path].oid, read)
            )
            files[f"{STANDBY_FOLDER}/{cluster}/{item.name}"] = content
        return found.into, files

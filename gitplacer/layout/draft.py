"""
The deployment tree with what a pass has changed in it so far: paths and bytes, and the epochs of sync units.

Writing what is there already changes nothing, so a pass over a fleet at rest ends with no change at all. What has changed is taken as one
commit after another. Each counts the epoch of every unit that it touches up by one, so whoever must know in which epoch a change is
made (a record, from which evidence counts) asks for the epoch of the commit that is now being made.

Nothing here knows of groups, decisions or who may write what: whoever writes has found out before.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import islice

from gitplacer.problems import Location, Problem
from gitplacer.render import sentinel
from gitplacer.snapshot import Snapshot
from gitplacer.tree import Changes, Content, Tree
from gitplacer.units import METADATA, UNITS, Units


class Draft:
    """Write and remove, then `take_changes` for a commit of it; `tree` is the outcome of all that were taken."""

    def __init__(self, snapshot: Snapshot) -> None:
        deployment, spec = snapshot.deployment, snapshot.source.own.fleet.spec
        self.units = Units(deployment, spec.deployment.root)
        self.oids = {path: entry.oid for path, entry in deployment.entries.items()}
        """Every file as it is now, by the id of its blob. Only this module changes it."""
        self.problems: list[Problem] = []
        """What is to be told of files: those that could not be written, and those that stay though nobody wants them."""
        self._spec = spec
        self._before = deployment
        self._taken: dict[str, bytes | None] = {}
        """Bytes by path, None for a file that was removed: what is in the commits so far."""
        self._pending: dict[str, bytes | None] = {}
        """The same of the commit that is now being made, in the order of the changes."""
        self._epochs = dict(snapshot.epochs)
        self._touched: set[tuple[str, str]] = set()
        self._count_on(snapshot)

    def _count_on(self, snapshot: Snapshot) -> None:
        """A revert changes what units hold, and turns their epochs back: they go on from those that were reached."""
        for move in snapshot.reverted.values():
            for cluster, unit_name, epoch in move.epochs:
                unit = cluster, unit_name
                if cluster in snapshot.source.own.clusters and self._epochs.get(unit, 0) <= epoch:
                    self._epochs[unit] = epoch
                    self._touched.add(unit)

    def fork(self) -> Draft:
        """The tree as it is now, to try something on it. Nothing may be pending."""
        assert not self._pending
        twin = copy.copy(self)
        for name in ("oids", "problems", "_taken", "_pending", "_epochs", "_touched"):
            setattr(twin, name, copy.copy(getattr(self, name)))
        return twin

    # files

    def write(self, path: str, data: bytes) -> None:
        self.put(path, Content.of(data))

    def put(self, path: str, content: Content) -> None:
        """The same of bytes that are read only if they are others than those that are there."""
        if self.oids.get(path) != content.oid:
            self.oids[path] = content.oid
            self._pending[path] = content.read()
            self._touch(path)

    def copy(self, origin: str, path: str) -> None:
        """Write a file as another is now."""
        self.put(path, Content(self.oids[origin], partial(self.read, origin)))

    def remove(self, path: str) -> None:
        """Remove a file; one that is not there is no error."""
        if path in self.oids:
            del self.oids[path]
            self._pending[path] = None
            self._touch(path)

    def _touch(self, path: str) -> None:
        unit = self.units.of(path)
        if unit is not None:
            self._touched.add(unit)

    def read(self, path: str) -> bytes:
        """A file as it is after all changes so far."""
        data = self._taken.get(path) if path not in self._pending else self._pending[path]
        return data if data is not None else self._before.read(path)

    def is_file(self, path: str) -> bool:
        """Whether there are bytes to read at a path where something is: a link or a submodule of somebody's has none."""
        written = self._before.entries.get(path)
        return path in self._pending or written is None or written.is_text

    @property
    def pending(self) -> int:
        """How many paths have changed since changes were last taken."""
        return len(self._pending)

    def has_changed_units(self, since: int) -> bool:
        """Whether more paths of units are pending than when so many were."""
        new_paths = islice(reversed(self._pending), len(self._pending) - since)  # a path once pending keeps its place
        return any(self.units.of(path) for path in new_paths)

    # what is in the way

    def in_the_way(self, paths: Iterable[str]) -> set[str]:
        """What keeps paths that are not there from becoming files: a folder of that name, or a file or link where a folder is to be."""
        found = set()
        for path in paths:
            if path not in self._before:
                if path in self._folders_before:
                    found.add(f"{path}/")
                found.update(folder for folder in _folders_of(path) if folder in self._before)
        return found

    def tells_of_clash(self, paths: Iterable[str]) -> bool:
        """Whether something keeps paths that belong to no group from becoming files, which is told."""
        clashes = self.in_the_way(paths)
        self.problems.extend(_clash(path) for path in sorted(clashes))
        return bool(clashes)

    @cached_property
    def _folders_before(self) -> frozenset[str]:
        """The folders of the deployment tree as it was; nothing of ours makes one of a name that a file of ours has."""
        folders: set[str] = set()
        for path in self._before:
            for folder in _folders_of(path):
                if folder in folders:
                    break
                folders.add(folder)
        return frozenset(folders)

    # epochs

    def begin_units(self, cluster: str) -> None:
        """Let the commit that is now being made begin the units of a cluster that it has not yet."""
        self._touched.update((cluster, unit) for unit in UNITS if (cluster, unit) not in self._epochs)

    def last_epoch(self, cluster: str, unit: str) -> int:
        """The epoch that a unit has without the commit now being made."""
        return max(1, self._epochs.get((cluster, unit), 0))

    def epoch_of_commit(self, cluster: str, unit: str) -> int:
        """The epoch that the commit now being made will give a unit."""
        return max(1, self._epochs.get((cluster, unit), 0) + ((cluster, unit) in self._touched))

    # commits

    def take_changes(self, metadata: bytes | None) -> Changes:
        """
        What has changed since this was last asked, with the epochs of the units concerned counted up. `metadata`
        is written too, if anything changes at all.
        """
        for cluster, unit in sorted(self._touched):
            epoch = self._epochs.get((cluster, unit), 0) + 1
            self._epochs[cluster, unit] = epoch
            self.write(self.units.sentinel_path(cluster, unit), sentinel(self._spec, cluster, unit, epoch))
        if self._pending and metadata is not None and not self.tells_of_clash([METADATA]):
            self.write(METADATA, metadata)
        changes = _changes(self._pending)
        self._taken.update(self._pending)
        self._pending.clear()
        self._touched.clear()
        return changes

    def tree(self) -> Tree:
        """The deployment tree after all changes taken so far."""
        return self._before.apply(_changes(self._taken))


def _changes(files: dict[str, bytes | None]) -> Changes:
    written = {path: data for path, data in sorted(files.items()) if data is not None}
    return Changes(written, frozenset(files.keys() - written.keys()))


def _folders_of(path: str) -> Iterator[str]:
    """The folders that a path is in, the innermost first."""
    while (path := path.rpartition("/")[0]) != "":
        yield path


def _clash(path: str) -> Problem:
    what = (
        "a folder is in the deployment repo where a file is"
        if path.endswith("/")
        else "it is in the deployment repo where a folder is"
    )
    hint = "move it away there; what does not need the name goes on"
    return Problem(Location(path.rstrip("/")), "NameTaken", f"{what} to be written", hint)

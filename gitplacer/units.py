"""
The sync units of a deployment tree: for each cluster one for the platform and one for workloads, each with its sentinel.

A sentinel is a ConfigMap that keeps a unit from being empty, marks it as ours, and carries its epoch, which counts the changes of
the unit. A revert or a hand may turn a sentinel back; what the records say of the epoch still counts. What a cluster says of it never
makes it greater: a snapshot that has applied more than was ever written is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from gitplacer.documents import parse
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.byhand import RevertedMove
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.tree import Tree

UNITS = (PLATFORM, WORKLOADS)

METADATA = "hydrator.metadata"
"""Argo CD hydrator's file at the repo's root; promoters read `drySha` in it."""


class Units:
    """The sync units of a deployment tree, (cluster, unit), and the epochs in their sentinels."""

    def __init__(self, tree: Tree, root: str) -> None:
        self._prefix = root + "/"
        self._tree = tree
        self.sentinels = {unit: path for path in tree if (unit := self.of(path)) and path == self.sentinel_path(*unit)}
        """The units that are marked as ours, and the file that does."""

    @cached_property
    def epochs(self) -> dict[tuple[str, str], int]:
        """The epoch in each sentinel; the files are read when somebody asks. 0 where something else than a file is in its place."""
        contents = self._tree.read_all(path for path in self.sentinels.values() if self._tree.entries[path].is_text)
        return {unit: epoch_in(contents[path]) if path in contents else 0 for unit, path in self.sentinels.items()}

    def replaced_sentinel(self, cluster: str, unit: str) -> str | None:
        """The path of a unit's sentinel where a link or a submodule is in its place."""
        path = self.sentinels.get((cluster, unit))
        return path if path is not None and not self._tree.entries[path].is_text else None

    def of(self, path: str) -> tuple[str, str] | None:
        """The unit a path is in, or None."""
        if not path.startswith(self._prefix):
            return None
        cluster, _, rest = path[len(self._prefix) :].partition("/")
        unit, slash, _ = rest.partition("/")
        return (cluster, unit) if slash and unit in UNITS else None

    def path(self, cluster: str, unit: str, file: str) -> str:
        return f"{self._prefix}{cluster}/{unit}/{file}"

    def sentinel_path(self, cluster: str, unit: str) -> str:
        return self.path(cluster, unit, SENTINEL)

    def is_namespace_file(self, path: str) -> bool:
        unit = self.of(path)
        return unit is not None and path.startswith(self.path(*unit, "namespaces/")) and unit[1] == PLATFORM


def unit_of(record: PlacementRecord) -> str:
    """The name of the unit that has the files of a group."""
    return PLATFORM if record.is_platform else WORKLOADS


def epochs_written(
    units: Units, records: Iterable[PlacementRecord], reverted: Iterable[RevertedMove]
) -> dict[tuple[str, str], int]:
    """The greatest epoch that was ever written to each unit that is there, as far as sentinels, records and reverts tell."""
    found = dict(units.epochs)
    seen = [((entry.name, unit_of(record)), entry.epoch) for record in records for entry in record.clusters]
    seen += [((cluster, unit), epoch) for move in reverted for cluster, unit, epoch in move.epochs]
    for unit, epoch in seen:
        if unit in found:
            found[unit] = max(found[unit], epoch)
    return found


def epoch_in(sentinel_file: bytes) -> int:
    """
    The epoch in a sentinel; 0 for one that somebody made unreadable, which is then written anew. A fleet has two of them for each cluster, so what
    is as we write it is not parsed; `epoch_read` is the law.
    """
    found = _AS_WRITTEN.fullmatch(sentinel_file)
    return int(found[1]) if found is not None else epoch_read(sentinel_file)


_WORD = rb'(?:[A-Za-z][-A-Za-z0-9./]*|"[-A-Za-z0-9./]*")'
_AS_WRITTEN = re.compile(
    rb"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: W\n  namespace: W\n  annotations:\n    gitplacer\.dev/unit: W\n"
    rb'data:\n  cluster: W\n  unit: W\n  epoch: "([0-9]{1,15})"\n'.replace(b"W", _WORD)
)


def epoch_read(sentinel_file: bytes) -> int:
    """The same, whatever the file looks like."""
    documents = parse(sentinel_file).documents
    data = documents[0].value.get("data") if documents else None
    text = data.get("epoch") if isinstance(data, dict) else None
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 16 else 0

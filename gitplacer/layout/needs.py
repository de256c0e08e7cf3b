"""
Which groups need a file of the deployment tree: a file goes when none does any more.

What a group shares with others, two groups have at one path; and a group that moves has files in two places for a while. So no group
removes a file because it does not need it itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gitplacer.kinds.record import RecordMember
from gitplacer.layout.between import paths_between
from gitplacer.model.decision import ClusterRole
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS
from gitplacer.units import Units, unit_of


class Needs:
    """As the records say it at first, and then as each group is told of."""

    def __init__(self, snapshot: Snapshot, units: Units) -> None:
        self._units = units
        self._paths: dict[str, set[str]] = {}
        """By group."""
        self._groups: dict[str, set[str]] = defaultdict(set)
        """By path."""
        for record in snapshot.records.values():
            self.note(record.id, unit_of(record), record.members, record.having, paths_between(record))
        self.at_first = frozenset(self._groups)
        """The paths that a record spoke of when the pass began: what is there is ours."""

    def copy(self) -> Needs:
        """The same needs, to try something on them."""
        twin = object.__new__(Needs)
        twin._units, twin.at_first = self._units, self.at_first
        twin._paths = {group_id: set(paths) for group_id, paths in self._paths.items()}
        twin._groups = defaultdict(set, {path: set(groups) for path, groups in self._groups.items()})
        return twin

    def __contains__(self, path: str) -> bool:
        """Whether any group needs a file."""
        return bool(self._groups.get(path))

    def note(
        self,
        group_id: str,
        unit: str,
        members: Iterable[RecordMember],
        clusters: Iterable[tuple[str, ClusterRole]],
        between: Iterable[str] = (),
    ) -> None:
        """
        Note which files a group needs now, in place of those it did, on clusters and by what these have of it; and which between
        two clusters.
        """
        self.forget(group_id)
        paths = {
            self._units.path(cluster, unit, member.file)
            for cluster, role in clusters
            for member in members
            if member.only in (None, role)
        }
        self._add(group_id, paths.union(between))

    def note_more(self, group_id: str, members: Iterable[RecordMember], clusters: Iterable[str]) -> None:
        """Note that a group needs further files on some clusters: what it had there stays."""
        self._add(group_id, {self._units.path(name, WORKLOADS, member.file) for name in clusters for member in members})

    def forget(self, group_id: str) -> None:
        """Note that a group needs nothing."""
        for path in self._paths.pop(group_id, ()):
            self._groups[path].discard(group_id)

    def _add(self, group_id: str, paths: set[str]) -> None:
        self._paths.setdefault(group_id, set()).update(paths)
        for path in paths:
            self._groups[path].add(group_id)

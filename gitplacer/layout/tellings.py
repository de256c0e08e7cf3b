"""
What other tools are told of records: which clusters each group is on, and which Kueue may choose from.

Both say nothing that the records do not say, so they change when these do. What was told is taken back when nobody is to be told any
more, but not where that may be a slip, such as a misspelt name or a file that cannot be read: others act on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from gitplacer import announcements, multikueue
from gitplacer.dispatching import listed
from gitplacer.kinds.record import PlacementRecord
from gitplacer.layout.draft import Draft
from gitplacer.layout.marked import MarkedFiles
from gitplacer.problems import Location, Problem, Severity
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM


class _Sort(Struct, frozen=True):
    """Files of one folder of platform units, which begin with a mark."""

    folder: str
    mark: bytes
    not_ours: str
    """The problem where somebody else's file is in the way."""
    told: str


_DECISIONS = _Sort(announcements.FOLDER, announcements.MARK, "DecisionNotOurs", "which clusters the group is on")
_NOMINATIONS = _Sort(multikueue.FOLDER, multikueue.MARK, "DispatchNotOurs", "which clusters are nominated")


class Tellings:
    """Written to the platform units of the clusters that are told."""

    def __init__(self, snapshot: Snapshot, draft: Draft, marked: MarkedFiles) -> None:
        self._source = snapshot.source
        self._spec = snapshot.source.own.fleet.spec
        self._clusters = snapshot.source.own.clusters
        self._draft = draft
        self._marked = marked

    def announce(self, record: PlacementRecord) -> None:
        """Tell which clusters a group is on."""
        settings = self._spec.decisions
        if settings is not None and settings.into in self._clusters:
            self._tell(_DECISIONS, self._announced(settings.into, [record]))

    def announce_all(self, records: Collection[PlacementRecord]) -> None:
        """The same of every group; of those that are gone, and where nobody is to be told any more, nothing is said."""
        settings = self._spec.decisions
        if settings is not None and settings.into not in self._clusters:
            return  # a misspelt name is no reason to take back what others act on
        wanted = self._announced(settings.into, records) if settings is not None else {}
        self._take_back(_DECISIONS, but=wanted.__contains__)
        self._tell(_DECISIONS, wanted)

    def _announced(self, into: str, records: Collection[PlacementRecord]) -> dict[str, bytes]:
        """What is told of groups, by path."""
        return {
            self._draft.units.path(into, PLATFORM, file): data
            for record in records
            for file, data in announcements.announcements(self._spec, self._clusters, record).items()
        }

    def nominate(self, records: Collection[PlacementRecord]) -> None:
        """
        Tell Kueue on each manager which clusters are nominated. Of a policy that is not there any more nothing is said, unless it may only be
        unreadable, or names a manager that there is not.
        """
        policies = self._source.own.policies
        wanted = {}
        for (manager, policy), names in listed(policies, self._clusters, records).items():
            if manager in self._clusters:
                path = self._draft.units.path(manager, PLATFORM, multikueue.config_file(policy))
                wanted[path] = multikueue.config(policy, names)
        unknown = {
            policy.name
            for policy in policies
            if (left := policy.spec.placement.multi_kueue) is not None and left.manager not in self._clusters
        }
        if not (self._source.own.broken_policies or self._source.broken_files):
            self._take_back(_NOMINATIONS, but=lambda path: path in wanted or multikueue.policy_of(path) in unknown)
        self._tell(_NOMINATIONS, wanted)

    def _take_back(self, sort: _Sort, but: Callable[[str], bool]) -> None:
        """Remove what was told and is not to stay."""
        for path in self._marked.within(sort.folder):
            if not but(path) and self._marked.is_ours(path, sort.mark):
                self._draft.remove(path)

    def _tell(self, sort: _Sort, files: Mapping[str, bytes]) -> None:
        """Write what is told; of another's file there the problem is told."""
        for path, data in sorted(files.items()):
            if self._draft.tells_of_clash([path]):
                continue
            if self._marked.is_taken(path, sort.mark):
                self._draft.problems.append(_not_ours(sort, path))
                continue
            self._draft.write(path, data)


def _not_ours(sort: _Sort, path: str) -> Problem:
    message = f"somebody else wrote it, so nobody is told there {sort.told}"
    hint = "take the change back; or remove the file, and it is made anew"
    return Problem(Location(path), sort.not_ours, message, hint, severity=Severity.WARNING)

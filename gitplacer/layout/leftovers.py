"""
What the record of a group says was written and is not wanted any more: removed, if no other group needs it.

A platform object goes only with an Approval, because what it defines would go with it on every cluster. Until then it stays in the record,
and in its file; if that goes on without it, or goes, the object is kept apart, in a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gitplacer.documents import Document, parse
from gitplacer.kinds.record import RECORDS, PlacementRecord, RecordMember
from gitplacer.layout.between import paths_between
from gitplacer.layout.draft import Draft
from gitplacer.layout.needs import Needs
from gitplacer.placement.holds import consent_to_removal
from gitplacer.problems import Location, Problem, Severity
from gitplacer.render import FileNames
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM, identity_of
from gitplacer.tree import Tree
from gitplacer.units import unit_of


class Leftovers:
    """`names` gives files to objects that are kept apart."""

    def __init__(self, snapshot: Snapshot, draft: Draft, needs: Needs, names: FileNames) -> None:
        self._snapshot = snapshot
        self._draft = draft
        self._needs = needs
        self._names = names

    def clear(self, record: PlacementRecord, members: Sequence[RecordMember]) -> list[RecordMember]:
        """
        Remove what a group has by its record, and not by its members now. Returns the members that stay although nobody wants them.
        """
        unit = unit_of(record)
        if unit == PLATFORM and consent_to_removal(self._snapshot, record) is None:
            return self._keep_platform(record, members)
        written = {self._draft.units.path(name, unit, m.file) for name, _ in record.having for m in record.members}
        for path in sorted(written | paths_between(record)):
            if path not in self._needs:
                self._draft.remove(path)
        return []

    def _keep_platform(self, record: PlacementRecord, members: Sequence[RecordMember]) -> list[RecordMember]:
        now = {member.identity: member.file for member in members}
        files = {member.file for member in members}
        renamed = {m.file for m in record.members if now.get(m.identity, m.file) != m.file} - files
        kept = []
        for member in record.members:
            if member.identity in now or member.kind == "Namespace":
                continue
            rewritten = member.file in files or member.file in renamed
            stays = self._kept_apart(record, member) if rewritten else self._if_there(record, member)
            if stays is not None:
                kept.append(stays)
                self._draft.problems.append(_needs_approval(record, member))
        for file in renamed:
            for path in self._paths(record, file):
                self._draft.remove(path)
        return kept

    def _paths(self, record: PlacementRecord, file: str) -> Iterator[str]:
        """Where a file of a platform group is, on each of its clusters."""
        return (self._draft.units.path(entry.name, PLATFORM, file) for entry in record.clusters)

    def _if_there(self, record: PlacementRecord, member: RecordMember) -> RecordMember | None:
        """A member whose file nobody has removed by hand."""
        return member if any(path in self._draft.oids for path in self._paths(record, member.file)) else None

    def _kept_apart(self, record: PlacementRecord, member: RecordMember) -> RecordMember | None:
        """A member whose file goes on without it, or goes: as it was deployed, in a file of its own."""
        source = f"{member.source.partition('#')[0]}#{member.identity}"
        file = self._names.free(PLATFORM, member.file, source)
        found = False
        for origin, path in zip(self._paths(record, member.file), self._paths(record, file), strict=True):
            for text in _texts_of(self._snapshot.deployment, origin, member):
                self._draft.write(path, text)
                found = True
        return member.model_copy(update={"file": file, "source": source}) if found else None


def _texts_of(deployment: Tree, path: str, member: RecordMember) -> Iterator[bytes]:
    """The documents of a deployed file that are a member."""
    data = deployment.read(path) if path in deployment else b""
    for index, item in enumerate(parse(data).documents):
        if identity_of(item.value) == member.identity:
            yield Document(path, item, index, partial(bytes, data)).source()


def _needs_approval(record: PlacementRecord, member: RecordMember) -> Problem:
    return Problem(
        Location(f"{RECORDS}/{record.id}.yaml"),
        "RemovalNeedsApproval",
        f"{member.kind} {member.name} is no longer in {member.source.partition('#')[0]}, and stays on the clusters",
        "put it back, or consent with an Approval (`action: Remove`)",
        Severity.WARNING,
    )

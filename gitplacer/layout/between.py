"""
Files of groups that are between two clusters: below `moving/`, where nothing syncs them.

By RemoveFirst a group leaves its cluster before it has another. Its files wait as they were deployed, so that git shows both halves of the
move as renames. What several groups share is not among them: it stays where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.kinds.record import BETWEEN, PlacementRecord, RecordMember
from gitplacer.layout.draft import Draft
from gitplacer.model.decision import Decision
from gitplacer.source.manifests import WORKLOADS


def path_between(file: str) -> str:
    """Where a file of a group waits, by its path below the unit that it was in."""
    return f"{BETWEEN}/{file}"


def paths_between(record: PlacementRecord) -> set[str]:
    """The paths that a group has which is between two clusters."""
    if record.move is None or record.move.strategy != "RemoveFirst":
        return set()
    return {path_between(member.file) for member in record.members if not member.is_shared}


def put_between(draft: Draft, decision: Decision, members: Sequence[RecordMember]) -> set[str]:
    """
    Take a group that is between two clusters to where nothing syncs it, as it was deployed. Returns its paths there; none for
    one that is not between two.
    """
    move = decision.move
    if move is None or not move.without_files:
        return set()
    paths = {}
    for member in members:
        if not member.is_shared:
            there = (draft.units.path(name, WORKLOADS, member.file) for name in move.sources)
            paths[path_between(member.file)] = next((path for path in there if path in draft.oids), None)
    for path, origin in paths.items():
        if origin is not None and path not in draft.oids:
            draft.copy(origin, path)
    return set(paths)

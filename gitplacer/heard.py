"""
Records after people have had their say: a relocation that was reverted, a proposal that was merged.

A record that a revert brought back knows nothing of the revert, so it learns until when the group is to be left alone, and
which Approvals have counted: who reverts a move does not want it again for the same consent. One that a merge brought was
written when the relocation was proposed; what it says of that moment is true of the merge, which alone the clusters have seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.byhand import MergedMove, RevertedMove


def heard(
    records: Mapping[str, PlacementRecord],
    reverted: Mapping[str, RevertedMove],
    merged: Mapping[str, MergedMove],
    cooldowns: Mapping[str, timedelta],
) -> dict[str, PlacementRecord]:
    """The records as they are to be understood. `cooldowns` are by policy; without one, a revert holds nothing back."""
    found = dict(records)
    for group_id, move in merged.items():
        if group_id in found:
            found[group_id] = _as_of(found[group_id], move)
    for group_id, revert in reverted.items():
        if group_id in found:
            record = found[group_id]
            until = revert.at + cooldowns.get(record.policy, timedelta())
            later = max(until, record.hold_until or until)
            known = record.approvals or ()
            used = (*known, *(item for item in revert.approvals if item not in known))
            found[group_id] = record.model_copy(update={"hold_until": later, "approvals": used or None})
    return found


def _as_of(record: PlacementRecord, move: MergedMove) -> PlacementRecord:
    """A record with the moment of the proposal replaced by that of the merge, wherever it stands."""

    def shifted(value: Any) -> Any:
        if isinstance(value, datetime):
            return move.at if value == move.proposed_at else value
        if isinstance(value, dict):
            return {key: shifted(item) for key, item in value.items()}
        return type(value)(map(shifted, value)) if isinstance(value, list | tuple) else value

    return PlacementRecord.model_validate(shifted(record.model_dump(by_alias=True, exclude_none=True)), by_alias=True)

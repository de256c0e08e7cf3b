"""Relocations that are going on, between the record and the planner."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.kinds.record import PlacementRecord, RecordMove
from gitplacer.model.decision import Move, Reason, Strategy


def moves_of(records: Mapping[str, PlacementRecord | None]) -> dict[str, Move]:
    """The relocations that records say are going on, by group."""
    return {g: _move(record, record.move) for g, record in records.items() if record is not None and record.move}


def _move(record: PlacementRecord, recorded: RecordMove) -> Move:
    known = recorded.reason in Reason.__members__.values()
    return Move(
        strategy=Strategy(recorded.strategy),
        sources=tuple(sorted(recorded.source)),
        targets=tuple(sorted(recorded.to)),
        reason=Reason(recorded.reason) if known else Reason.NOT_ELIGIBLE,
        since=recorded.since,
        adds=not recorded.to or any(entry.state in ("Adding", "Waking") for entry in record.clusters),
        ready_at=recorded.ready_at,
        gone_at=recorded.gone_at,
    )


def recorded(move: Move | None) -> RecordMove | None:
    """A relocation as the record has it."""
    if move is None:
        return None
    return RecordMove(
        strategy="Surge" if move.strategy is Strategy.SURGE else "RemoveFirst",
        source=move.sources,
        to=move.targets,
        reason=move.reason.value,
        since=move.since,
        ready_at=move.ready_at,
        gone_at=move.gone_at,
    )

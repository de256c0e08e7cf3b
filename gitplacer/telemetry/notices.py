"""
What of a turn is worth telling somebody who does not watch: that it stalls, that something is held, that it goes well again, and moves.

A notice is of a change. A controller that stalls says so once, however often it tries again; a fault that passes by itself is
no news; and what was told before it stands when it is over.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct

from gitplacer.controller.turns import Fault, Outcome, Turn
from gitplacer.hydrate import Step
from gitplacer.model.decision import Action, Phase
from gitplacer.plaintext import counted, few, printable

MOST_MOVES = 20
"""Moves of one pass that are told one by one."""


class Sort(enum.StrEnum):
    """What is told."""

    STALLED = "Stalled"
    HELD = "Held"
    RECOVERED = "Recovered"
    MOVED = "Moved"


class Notice(Struct, frozen=True, kw_only=True):
    """
    One thing to tell. `reason` is a word (a fault, a reason code, `Fine`), `text` a line for people, `hint` what to do, and of a move
    `group`, where it was and where it is, and which step of it.
    """

    sort: Sort
    reason: str
    text: str
    hint: str = ""
    group: str = ""
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()
    phase: str = ""

    @property
    def is_warning(self) -> bool:
        """Whether somebody must act."""
        return self.sort in (Sort.STALLED, Sort.HELD)


class Told(Struct, frozen=True):
    """What was told last of how it goes: how it ended and why. Empty for fine."""

    outcome: Outcome | None = None
    reason: str = ""


def notices(turn: Turn, before: Told) -> tuple[tuple[Notice, ...], Told]:
    """What is to be told of a turn, and what has then been told."""
    moved = tuple(_moves(turn))
    # What is held is still held where nothing was planned; but what had gone wrong did not go wrong this time.
    stands = (turn.is_look and turn.fault is None) or (turn.rewrote and before.reason not in [*Fault])
    if turn.outcome is Outcome.RETRY or stands:
        return moved, before
    now = Told(turn.outcome, _reason(turn)) if turn.outcome in (Outcome.STALLED, Outcome.HELD) else Told()
    if turn.outcome is Outcome.PUBLISHED and _held(turn):
        now = Told(Outcome.HELD, _reason(turn))
    if now == before:
        return moved, before
    if now.outcome is None:
        text = f"it goes on; it was {before.outcome}: {before.reason}"
        return (Notice(sort=Sort.RECOVERED, reason="Fine", text=text), *moved), now
    sort = Sort.STALLED if now.outcome is Outcome.STALLED else Sort.HELD
    text = turn.message or f"held: {few(_held(turn))}" if _held(turn) or turn.message else "inputs are not believed"
    return (Notice(sort=sort, reason=now.reason, text=printable(text, 800), hint=turn.hint), *moved), now


def _held(turn: Turn) -> list[str]:
    """The groups that a pass holds."""
    if turn.hydration is None:
        return []
    return turn.hydration.view.plan.groups(Action.HOLD)


def _reason(turn: Turn) -> str:
    """One word for why: the fault, or the codes of what is held."""
    if turn.fault is not None:
        return str(turn.fault)
    decisions = turn.hydration.view.plan.decisions if turn.hydration is not None else ()
    codes = sorted({str(decision.finding.code) for decision in decisions if decision.action is Action.HOLD})
    return ",".join(codes) or "RefusedInput"


def _moves(turn: Turn) -> Iterator[Notice]:
    if turn.outcome is not Outcome.PUBLISHED or turn.hydration is None:
        return
    steps = [step for step in turn.hydration.steps if step.relocation is not None]
    for step in steps[:MOST_MOVES]:
        yield _move(step)
    if len(steps) > MOST_MOVES:
        more = len(steps) - MOST_MOVES
        text = f"{counted(more, 'more group')} move{'s' if more == 1 else ''}; the commits up to {(turn.tip or '')[:12]} tell of them"
        yield Notice(sort=Sort.MOVED, reason="ManyMoves", text=text)


def _move(step: Step) -> Notice:
    decision = step.relocation
    assert decision is not None
    move = decision.move or decision.moving
    gone = move.sources if move is not None else tuple(sorted(set(decision.before) - set(decision.after)))
    come = move.targets if move is not None else tuple(sorted(set(decision.after) - set(decision.before)))
    phase: Phase | None = decision.phase
    return Notice(
        sort=Sort.MOVED,
        reason=str(decision.finding.code),
        text=printable(step.subject, 800),
        group=decision.group,
        gone=gone,
        come=come,
        phase=str(phase or ""),
    )

"""
The controller's log: a line for each thing that is worth one, as text for people or as JSON for programs.

Each line of a turn has the turn's number and the revision of the source, so that lines of one pass are found by either. What does not change is not
said again: a fault that comes back stays one line, a pass that changes nothing is none, and neither is one that finds at rest what the one before has
published. But what has changed is said, also when it is better:
which groups are held and waiting, and that problems are others than before or gone. `debug` says everything.

A line is one line whatever a name says: control characters are written as escapes, and credentials are taken out.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Outcome, Turn
from gitplacer.explain import rfc3339, standing, told
from gitplacer.plaintext import printable
from gitplacer.problems import Problem, Severity
from gitplacer.redactor import redact

SHORT = 12
_LONGEST = 2000
_SUBJECTS = 3
"""Commits of a pass that its line names."""

Form = Literal["text", "json"]
FORMS: tuple[Form, ...] = ("text", "json")


class Level(enum.IntEnum):
    """How much a line matters."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


LEVELS = tuple(level.name.lower() for level in Level)
_LEVEL_OF: Mapping[Outcome, Level] = {
    Outcome.PUBLISHED: Level.INFO,
    Outcome.UNCHANGED: Level.INFO,
    Outcome.HELD: Level.WARNING,
    Outcome.RETRY: Level.WARNING,
    Outcome.STALLED: Level.ERROR,
}


class Line(Struct, frozen=True):
    """
    One line. `at` is None for what belongs to no turn; then `turn` is 0. `fields` are for programs, and what they say is in `message` too.
    """

    level: Level
    message: str
    at: datetime | None = None
    turn: int = 0
    revision: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


def written(line: Line, form: Form) -> str:
    """A line as it is printed, without its end."""
    message = printable(redact(line.message), _LONGEST)
    if form == "text":
        if line.at is None or not line.turn:
            return message
        return f"{rfc3339(line.at)} turn {line.turn} {line.revision[:SHORT] or '-'}  {message}"
    said = {
        "time": rfc3339(line.at) if line.at is not None else None,
        "level": line.level.name.lower(),
        "turn": line.turn or None,
        "revision": line.revision or None,
        "message": message,
        **line.fields,
    }
    return redact(json.dumps({name: value for name, value in said.items() if value is not None}, ensure_ascii=True))


class Logs(Silent):
    """
    Writes lines of `level` and above. `wall` is the time of day, for what belongs to no turn. `write` gets one line without its end.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        wall: Callable[[], datetime],
        *,
        form: Form = "text",
        level: Level = Level.INFO,
    ) -> None:
        self._write, self._wall, self._form, self._level = write, wall, form, level
        self._turn, self._revision = 0, ""
        self._last: tuple[str, ...] = ()
        self._problems: tuple[Problem, ...] = ()

    def say(self, message: str, level: Level = Level.INFO) -> None:
        """A line about the process itself."""
        at = self._wall() if self._form == "json" else None
        self._put(Line(level, message, at, self._turn if at else 0, self._revision if at else ""))

    def complain(self, message: str) -> None:
        """A line about something that went wrong beside the passes, and does not harm them."""
        self.say(message, Level.WARNING)

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        self._turn = number
        self._put(Line(Level.DEBUG, f"woken by {', '.join(woken)}", at, number, self._revision, {"woken": list(woken)}))

    def ended(self, turn: Turn) -> None:
        self._revision = turn.source or self._revision
        left = _left(turn)
        state = (turn.outcome, turn.fault or "", turn.message, left, *turn.notes)
        problems, before = _problems_of(turn, self._problems), self._problems
        is_other = state != self._last
        if turn.settles and turn.outcome is Outcome.UNCHANGED:  # nobody asked, and it was not to be otherwise
            is_other = state[1:] != self._last[1:]
        is_news = not turn.is_look and (turn.outcome is Outcome.PUBLISHED or is_other or problems != before)
        level = _LEVEL_OF[turn.outcome] if is_news else Level.DEBUG
        self._put_of(turn, level, f"{turn.outcome:<9}  {said_of(turn)}", _fields(turn))
        for text in (*turn.notes, *([f"hint: {turn.hint}"] if turn.hint else [])):
            self._put_of(turn, level, text, {"hint": turn.hint} if turn.hint and text.startswith("hint: ") else {})
        if turn.is_look:
            return
        self._last, self._problems = state, problems
        stands_above = (
            self._form == "text" and turn.fault is not None and len(turn.problems) == 1
        )  # it stops the run, and its line says it
        for problem, lines in told(problems) if problems != before and not stands_above else ():
            is_error = problem is None or problem.severity is Severity.ERROR
            place = problem.location if problem is not None else None
            about = {"code": problem.code, "file": place.file, "line": place.line} if problem and place else {}
            for text in lines:
                self._put_of(turn, Level.ERROR if is_error else Level.WARNING, text.strip(), about)

    def waiting(self, until: datetime) -> None:
        self._put(Line(Level.DEBUG, f"waits until {rfc3339(until)}", self._wall(), self._turn, self._revision))

    def elected(self, leads: bool) -> None:
        self.say("this replica works" if leads else "another replica works; this one waits for its turn")

    def stopped(self) -> None:
        self.say("stopped")

    def _put_of(self, turn: Turn, level: Level, message: str, fields: Mapping[str, Any]) -> None:
        self._put(Line(level, message, turn.started, turn.number, self._revision, fields))

    def _put(self, line: Line) -> None:
        if line.level >= self._level:
            self._write(written(line, self._form))


def _problems_of(turn: Turn, before: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """What stands after a turn. A pass that failed for another reason has found out nothing: those `before` still stand."""
    if turn.problems or turn.rewrote:
        return turn.problems
    return turn.hydration.problems if turn.hydration is not None else before


def _fields(turn: Turn) -> dict[str, Any]:
    steps = turn.hydration.steps if turn.hydration else ()
    fields = {
        "outcome": str(turn.outcome),
        "fault": str(turn.fault) if turn.fault else None,
        "deployment": turn.tip,
        "seconds": round(turn.seconds, 3),
        "again": turn.again or None,
        "next": rfc3339(turn.next_at),
        "commits": len(steps) or (1 if turn.rewrote else None),
        "moved": [step.relocation.group for step in steps if step.relocation is not None] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def said_of(turn: Turn) -> str:
    """What a turn came to, in a line."""
    if turn.fault is not None:
        return f"{turn.fault}: {turn.message}"
    said = [f"→ {(turn.tip or 'nothing yet')[:SHORT]}"]
    steps = turn.hydration.steps if turn.hydration is not None else ()
    subjects = [printable(subject) for subject in (*(step.subject for step in steps), turn.rewrote) if subject]
    more = [f"and {len(subjects) - _SUBJECTS} more"] if len(subjects) > _SUBJECTS else []
    said += ["; ".join([*subjects[:_SUBJECTS], *more])] if subjects else []
    said += [left] if (left := _left(turn)) else []
    return "  ".join(said)


def _left(turn: Turn) -> str:
    """Who is held and waits after a turn."""
    return standing(turn.hydration.view.plan) if turn.hydration is not None else turn.standing

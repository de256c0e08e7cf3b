"""
`gitplacer reconcile --watch`: the controller in the foreground, with a line on stderr for each turn that is worth one.

A signal ends it: the first one gently, the second at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from gitplacer.cli.progress import note, show_problems, standing_text
from gitplacer.cli.signals import ended_by_signals
from gitplacer.controller.electing import elected
from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Fault, Outcome, Turn
from gitplacer.explain import problem_lines
from gitplacer.kinds.fields import duration_seconds
from gitplacer.plaintext import printable
from gitplacer.settings import Settings, UsageError

_SHORT = 12
_SHOWN = 3


def watch(
    chosen: Settings,
    *,
    interval: str | None,
    full_every: str | None,
    batch: str | None,
    leader_elect: str | None = None,
) -> int:
    """Make passes until a signal comes. The exit code is 0, or 1 if it cannot work as it was started."""
    pace = Pace()
    pace = Pace(
        interval=_seconds("--interval", interval, pace.interval, least=1),
        full=_seconds("--full-every", full_every, pace.full, least=1),
        batch=_seconds("--batch", batch, pace.batch, least=0),
    )
    replica = elected(leader_elect, time.monotonic, note)
    lines = Lines()
    controller = Controller(chosen, draw=random.random, pace=pace, observers=[lines], elected=replica, complain=note)
    lines.give_up = controller.stop
    with ended_by_signals(controller.stop, controller.interrupt):
        note(f"watching {chosen.source.redacted}; it ends on SIGTERM or Ctrl-C")
        controller.run()
    return 1 if lines.gave_up else 0


def _seconds(option: str, text: str | None, default: float, *, least: float) -> float:
    if text is None:
        return default
    try:
        found = duration_seconds(text)
    except ValueError:
        found = -1
    if found < least:
        raise UsageError(f"{option} {text} is not a time to wait", 'write it like "30s", "15m" or "1h30m"')
    return found


class Lines(Silent):
    """
    A line for each turn that published something, and for each that ended otherwise than the one before; the problems of a source, when
    they are others than before. A turn that only looked says nothing. What cannot work from the beginning is given up: whoever has just
    started it is still there to mend it.
    """

    def __init__(self) -> None:
        self.give_up: Callable[[], None] = lambda: None
        self.gave_up = False
        self._last: tuple[str, ...] = ()
        self._problems: tuple[str, ...] = ()

    def ended(self, turn: Turn) -> None:
        if turn.is_look:
            return
        state = (turn.outcome, turn.fault or "", turn.message, *turn.notes)
        if turn.outcome is Outcome.PUBLISHED or state != self._last:
            note(f"{turn.started:%Y-%m-%dT%H:%M:%SZ} {turn.outcome:<9}  {said_of(turn)}")
            for text in (*turn.notes, *([f"hint: {turn.hint}"] if turn.hint else [])):
                note(f"  {text}")
        self._last = state
        self._show_problems(turn)
        if turn.number == 1 and turn.fault is Fault.MISCONFIGURED:
            self.gave_up = True
            self.give_up()

    def elected(self, leads: bool) -> None:
        note("this replica works" if leads else "another replica works; this one waits for its turn")

    def stopped(self) -> None:
        note("stopped")

    def _show_problems(self, turn: Turn) -> None:
        """Those of a pass that failed for another reason are not known, and those before it still stand."""
        if turn.hydration is None and not turn.problems:
            return
        problems = turn.problems or (turn.hydration.problems if turn.hydration else ())
        lines = tuple(line for problem in problems for line in problem_lines(problem))
        stands_above = len(turn.problems) == 1  # it stops the run, and its line says it
        if lines != self._problems and not stands_above:
            show_problems(problems)
        self._problems = lines


def said_of(turn: Turn) -> str:
    """What a turn came to, in a line."""
    if turn.fault is not None:
        return f"{turn.fault}: {turn.message}"
    said = [f"{(turn.source or '')[:_SHORT]} → {(turn.tip or 'nothing yet')[:_SHORT]}"]
    if turn.hydration is not None:
        subjects = [printable(step.subject) for step in turn.hydration.steps]
        more = [f"and {len(subjects) - _SHOWN} more"] if len(subjects) > _SHOWN else []
        said += ["; ".join([*subjects[:_SHOWN], *more])] if subjects else []
        said += [standing] if (standing := standing_text(turn.hydration)) else []
    return "  ".join(said)

"""
`gitplacer reconcile --watch`: the controller in the foreground, with a line on stderr for each turn that is worth one.

A signal ends it: the first one gently, the second at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import timedelta

from gitplacer.cli.listening import Listening, logs_of, opened
from gitplacer.cli.signals import ended_by_signals
from gitplacer.controller.electing import elected
from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Fault, Turn
from gitplacer.controller.wakes import SystemClock
from gitplacer.runners.isolated import IsolatedParser
from gitplacer.settings import Settings


def watch(
    chosen: Settings,
    listening: Listening,
    *,
    interval: timedelta | None,
    full_every: timedelta | None,
    batch: timedelta | None,
    leader_elect: str | None = None,
) -> int:
    """Make passes until a signal comes. The exit code is 0, or 1 if it cannot work as it was started."""
    pace = Pace()
    pace = Pace(
        interval=pace.interval if interval is None else interval.total_seconds(),
        full=pace.full if full_every is None else full_every.total_seconds(),
        batch=pace.batch if batch is None else batch.total_seconds(),
    )
    clock = SystemClock()
    logs = logs_of(listening, clock)
    begun: list[Controller] = []
    first = FirstTurn()

    def hint(why: str, ref: str | None) -> None:
        for each in begun:  # none yet: the first pass comes anyway
            each.wakes.hint(why, ref)

    with IsolatedParser() as parser, opened(listening, chosen, logs, clock, hint) as observers:
        parser.start()  # where all is remembered the first file comes with a push, for which somebody waits
        replica = elected(leader_elect, time.monotonic, logs.complain)
        controller = Controller(
            chosen,
            draw=random.random,
            clock=clock,
            pace=pace,
            observers=[logs, *observers, first],
            elected=replica,
            complain=logs.complain,
            parser=parser.parse,
        )
        begun.append(controller)
        first.give_up = controller.stop
        with ended_by_signals(controller.stop, controller.interrupt):
            logs.say(f"watching {chosen.source.redacted}; it ends on SIGTERM or Ctrl-C")
            controller.run()
    return 1 if first.gave_up else 0


class FirstTurn(Silent):
    """What cannot work from the beginning is given up: whoever has just started it is still there to mend it."""

    def __init__(self) -> None:
        self.give_up: Callable[[], None] = lambda: None
        self.gave_up = False

    def ended(self, turn: Turn) -> None:
        if turn.number == 1 and turn.fault is Fault.MISCONFIGURED:
            self.gave_up = True
            self.give_up()

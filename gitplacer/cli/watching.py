"""
`gitplacer reconcile --watch`: the controller in the foreground, with a line on stderr for each turn that is worth one.

A signal ends it: the first one gently, the second at once. What goes wrong before the first pass has ended is told as any
command tells it, if waiting would not help; from then on it is a turn like any other.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gitplacer.cli.listening import Listening, logs_of, opened
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.wakes import SystemClock
from gitplacer.kinds.fields import duration_seconds
from gitplacer.settings import Settings, UsageError

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def watch(
    chosen: Settings, listening: Listening, *, interval: str | None, full_every: str | None, batch: str | None
) -> int:
    """Make passes until a signal comes. The exit code is 0."""
    pace = Pace()
    pace = Pace(
        interval=_seconds("--interval", interval, pace.interval, least=1),
        full=_seconds("--full-every", full_every, pace.full, least=1),
        batch=_seconds("--batch", batch, pace.batch, least=0),
    )
    clock = SystemClock()
    logs = logs_of(listening, clock)
    begun: list[Controller] = []

    def hint(why: str, ref: str | None) -> None:
        for each in begun:  # none yet: the first pass comes anyway
            each.wakes.hint(why, ref)

    with opened(listening, chosen, logs, clock, hint) as observers:
        controller = Controller(
            chosen, draw=random.random, clock=clock, pace=pace, observers=[logs, *observers], complain=logs.complain
        )
        begun.append(controller)
        with _signals(controller):
            logs.say(f"watching {chosen.source.redacted}; it ends on SIGTERM or Ctrl-C")
            controller.run()
    return 0


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


@contextmanager
def _signals(controller: Controller) -> Iterator[None]:
    """A first signal ends the controller, a second one the process."""

    def second(number: int, frame: FrameType | None) -> None:
        os._exit(128 + number)

    def first(number: int, frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, second)
        controller.interrupt()

    before = {each: signal.signal(each, first) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

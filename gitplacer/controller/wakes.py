"""
What wakes the controller: a hint, the time, or a signal to stop.

A hint says "look now" and nothing else. It comes from any thread, such as that of a webhook; however many come, they are one pending turn, and
what they say is kept only to be told, up to a bound. `stop` may also be called by a signal handler, in whichever line the
main thread is: so it takes no lock, and rings a bell that can be rung from anywhere.

The clock is given, so a week can be told in a second.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct, field

from gitplacer.controller.schedule import Due, Pace

Bell = queue.SimpleQueue[None]
"""Rung by putting something in; `SimpleQueue.put` may interrupt itself, so a signal handler may call it."""

_MOST_REASONS = 8


class Clock(Protocol):
    """The time, and a way to let it pass."""

    def wall(self) -> datetime:
        """The time of day, in UTC. It may jump."""

    def monotonic(self) -> float:
        """Seconds since some moment. It never goes back."""

    def listen(self, bell: Bell, seconds: float) -> None:
        """Return when the bell was rung or the seconds have passed, and take one ring."""


class SystemClock:
    """The machine's own clock."""

    def wall(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def listen(self, bell: Bell, seconds: float) -> None:
        try:
            bell.get(timeout=max(0.0, min(seconds, threading.TIMEOUT_MAX)))
        except queue.Empty:
            return


class Wake(Struct, frozen=True):
    """
    Why a turn begins: reasons, and the refs that hints named. `makes_pass` is whether it does not look first, `settles` whether it is there only to
    settle what the one before has published.
    """

    why: tuple[str, ...]
    refs: frozenset[str] = frozenset()
    makes_pass: bool = True
    settles: bool = False


class _Pending(Struct):
    since: float
    why: dict[str, None] = field(default_factory=dict)
    refs: set[str] = field(default_factory=set)


class Wakes:
    """Waits for the next turn."""

    def __init__(self, clock: Clock, pace: Pace) -> None:
        self._clock = clock
        self._pace = pace
        self._bell: Bell = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending: _Pending | None = None
        self._stopping = False

    @property
    def stopping(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._stopping

    def hint(self, why: str, ref: str | None = None) -> None:
        """
        Something may have happened: `why` is a word such as `webhook`, `ref` the branch that is said to have moved. From any thread. A hint
        that names a branch is believed when a look finds one moved, because most branches are none of ours; one that does not makes a pass.
        """
        with self._lock:
            is_first = self._pending is None
            pending = self._pending = self._pending or _Pending(self._clock.monotonic())
            if len(pending.why) < _MOST_REASONS:
                pending.why[why] = None
            if ref is not None and len(pending.refs) < _MOST_REASONS:
                pending.refs.add(ref)
        if is_first:
            self._bell.put(None)

    def stop(self) -> None:
        """Let `wait` return None from now on. From any thread, and from a signal handler."""
        self._stopping = True
        self._bell.put(None)

    def ring(self) -> None:
        """Let whoever waits ask again what is due. From any thread."""
        self._bell.put(None)

    def wait(self, when: Callable[[], Due]) -> Wake | None:
        """Wait until a turn is due, and say why it is; None to stop. `when` is asked again whenever the bell rings."""
        while not self._stopping:
            due = when()
            with self._lock:
                pending = self._pending
                now = self._clock.monotonic()
                begins = due.next_turn(pending.since if pending else None, self._pace)
                if now >= begins:
                    self._pending = None
            if now < begins:
                self._clock.listen(self._bell, begins - now)
                continue
            makes_pass, settles = due.makes_pass(now, hinted=pending is not None), due.settles(now)
            if pending is None:
                why = "settle" if settles else "time" if makes_pass else "look"
                return Wake((why,), makes_pass=makes_pass, settles=settles)
            return Wake(tuple(pending.why), frozenset(pending.refs))
        return None

    def next_turn(self, due: Due) -> float:
        """When the next turn begins, as far as is known now."""
        with self._lock:
            return due.next_turn(self._pending.since if self._pending else None, self._pace)

"""
Whether the controller is alive, and whether it has begun to work.

Alive means that its loop turns: it waits until a time that has not passed for long, or it is in a turn that has not taken for ever. A Git host that is down
does not matter to that: turns end, and others begin. Ready means that the source has been read once; from then on it stays ready until it stops, because
being restarted would not bring a host back.
"""

from __future__ import annotations

import threading
from datetime import datetime

from msgspec import Struct

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Fault, Turn
from gitplacer.controller.wakes import Clock

LONGEST_TURN = 1800.0
"""Seconds that a turn may take. The slowest fetch that still moves takes a part of it."""
LATE = 60.0
"""Seconds that the next turn may be late: threads wait for a processor, and machines sleep."""
_HAS_READ = frozenset({Fault.REJECTED_SOURCE})


class State(Struct, frozen=True):
    """Whether something holds, and why, in a line."""

    good: bool
    why: str


class Health(Silent):
    """Asked from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._until = clock.monotonic() + LONGEST_TURN
        self._doing = "starts"
        self._ready = State(False, "the source has not been read yet")

    def alive(self) -> State:
        """Whether the loop turns."""
        with self._lock:
            late = self._clock.monotonic() - self._until
            return State(late <= 0, self._doing if late <= 0 else f"{self._doing}, {late:.0f} s longer than it may")

    def ready(self) -> State:
        """Whether the source has been read, and nobody has stopped it."""
        with self._lock:
            return self._ready

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        self._set(f"is in turn {number}", LONGEST_TURN)

    def ended(self, turn: Turn) -> None:
        self._set(f"has ended turn {turn.number}", LONGEST_TURN)
        if turn.source is not None or turn.fault in _HAS_READ:
            with self._lock:
                self._ready = State(True, "the source has been read")

    def waiting(self, until: datetime) -> None:
        self._set("waits", max(0.0, (until - self._clock.wall()).total_seconds()) + LATE)

    def elected(self, leads: bool) -> None:
        """A replica that waits for its turn is well, and ready to begin."""
        if leads:
            self._set("begins", LONGEST_TURN)
            return
        self._set("waits for its turn to work", float("inf"))
        with self._lock:
            self._ready = State(True, "another replica works")

    def stopped(self) -> None:
        with self._lock:
            self._ready = State(False, "it has stopped")

    def _set(self, doing: str, seconds: float) -> None:
        with self._lock:
            self._doing, self._until = doing, self._clock.monotonic() + seconds

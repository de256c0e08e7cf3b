"""
Things sent elsewhere in a thread of their own, so that nobody who makes a pass waits for whoever takes them.

There are bounds for all of it: so many things wait, each is tried so often, and a try takes so long. What is beyond a bound is dropped, and
that is told once for each sort of reason and counted each time. Told to stop, it tries once more what is left.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from gitplacer.controller.wakes import Bell, Clock

T = TypeVar("T")

MOST_WAITING = 100
TRIES = 6
FIRST_WAIT = 1.0
LONGEST_WAIT = 300.0
FAREWELL = 5.0
"""Seconds that stopping waits for what is left."""


class Undelivered(Exception):
    """Something was not taken. `again` is whether another try may help, `after` how many seconds the other side wants to be left alone."""

    def __init__(self, message: str, *, again: bool, after: float = 0.0) -> None:
        super().__init__(message)
        self.again, self.after = again, after


class Courier(Generic[T]):
    """Sends things by `send`, which raises Undelivered. `dropped` is called for each thing that is given up."""

    def __init__(
        self,
        name: str,
        send: Callable[[T], None],
        clock: Clock,
        *,
        complain: Callable[[str], None],
        dropped: Callable[[], None],
    ) -> None:
        self._name, self._send, self._clock = name, send, clock
        self._complain, self._dropped = complain, dropped
        self._waiting: list[tuple[float, int, int, T]] = []
        self._number = itertools.count()
        self._bell: Bell = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopping = False
        self._complained: set[str] = set()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send, in a thread of its own."""
        self._thread = threading.Thread(target=self.run, name=f"gitplacer-{self._name}", daemon=True)
        self._thread.start()

    def post(self, thing: T) -> None:
        """Send it soon. From any thread, and never waits."""
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                # The newest matter most, and the oldest has been tried.
                oldest = min(self._waiting, key=lambda entry: entry[1])
                self._waiting.remove(oldest)
                heapq.heapify(self._waiting)
                self._give_up(f"{self._name}: more than {MOST_WAITING} notices wait, and the oldest are dropped")
            heapq.heappush(self._waiting, (self._clock.monotonic(), next(self._number), 1, thing))
        self._bell.put(None)

    def stop(self) -> None:
        """Try once more what is left, and end."""
        self._stopping = True
        self._bell.put(None)
        if self._thread is not None:
            self._thread.join(FAREWELL)

    def run(self) -> None:
        """Send until told to stop."""
        while True:
            is_last = self._stopping
            wait = self._send_due(everything=is_last)
            if is_last:
                return
            self._clock.listen(self._bell, wait)

    def _send_due(self, *, everything: bool) -> float:
        """Send what is due, and say how long it is until something else is."""
        ends = self._clock.monotonic() + FAREWELL
        while True:
            with self._lock:
                now = self._clock.monotonic()
                if not self._waiting or (everything and now > ends):
                    return LONGEST_WAIT
                due, number, tried, thing = self._waiting[0]
                if due > now and not everything:
                    return due - now
                heapq.heappop(self._waiting)
            try:
                self._send(thing)
            except Undelivered as failure:
                self._failed(failure, number, tried, thing, again=not everything)
            except Exception as error:
                self._give_up(f"{self._name}: {type(error).__name__}: {error}")

    def _failed(self, failure: Undelivered, number: int, tried: int, thing: T, *, again: bool) -> None:
        if not (again and failure.again and tried < TRIES):
            self._give_up(f"{self._name}: {failure}")
            return
        wait = min(LONGEST_WAIT, max(failure.after, FIRST_WAIT * 4 ** (tried - 1)))
        with self._lock:
            heapq.heappush(self._waiting, (self._clock.monotonic() + wait, number, tried + 1, thing))

    def _give_up(self, why: str) -> None:
        self._dropped()
        if why not in self._complained and len(self._complained) < MOST_WAITING:
            self._complained.add(why)
            self._complain(why)

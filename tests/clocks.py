"""A clock for controllers that passes when somebody waits, and lets things happen at their time."""

from __future__ import annotations

import heapq
import itertools
import queue
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from gitplacer.controller.wakes import Bell


class StoryClock:
    """
    Time stands still but for whoever waits: then it goes on to the next thing that happens, or to the end of the wait. `at` says what
    happens when, in seconds from the start; `jump` moves the wall clock alone.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)) -> None:
        self.seconds = 0.0
        self._start = start
        self._jumped = timedelta()
        self._number = itertools.count()
        self._events: list[tuple[float, int, Callable[[], object]]] = []

    def wall(self) -> datetime:
        return self._start + self._jumped + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def jump(self, by: timedelta) -> None:
        self._jumped += by

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        heapq.heappush(self._events, (seconds, next(self._number), happens))

    def listen(self, bell: Bell, seconds: float) -> None:
        end = self.seconds + seconds
        while True:
            try:
                bell.get_nowait()
            except queue.Empty:
                pass
            else:
                return
            if not self._events or self._events[0][0] > end:
                self.seconds = end
                return
            when, _, happens = heapq.heappop(self._events)
            self.seconds = max(self.seconds, when)
            happens()

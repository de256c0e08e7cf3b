"""
Who is told what the controller does: metrics, logs, events, lines on a terminal.

An observer is told and cannot answer. It is called in the controller's own thread, so it should be quick; and whatever it raises is
caught here, because nobody's placement waits for a dashboard. What was raised is told once for each sort of failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol

from gitplacer.controller.turns import Turn


class Observer(Protocol):
    """Told of every turn, in order. Times are by the wall clock."""

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        """A turn begins. One that is dropped because the controller is told to stop has no end."""

    def ended(self, turn: Turn) -> None:
        """The turn that began last has ended."""

    def waiting(self, until: datetime) -> None:
        """The controller waits, for a hint or until then."""

    def elected(self, leads: bool) -> None:
        """Of several replicas this one works from now on, or does not."""

    def stopped(self) -> None:
        """It was told to stop, and has."""


class Silent:
    """An observer that does nothing; to inherit from for whoever wants to know a part."""

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        return None

    def ended(self, turn: Turn) -> None:
        return None

    def waiting(self, until: datetime) -> None:
        return None

    def elected(self, leads: bool) -> None:
        return None

    def stopped(self) -> None:
        return None


class Observers:
    """Several observers as one. None of them can harm the others or the pass."""

    def __init__(self, observers: Iterable[Observer], complain: Callable[[str], None]) -> None:
        self._observers = tuple(observers)
        self._complain = complain
        self._told: set[tuple[str, str]] = set()

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        self._each(lambda observer: observer.began(number, woken, at))

    def ended(self, turn: Turn) -> None:
        self._each(lambda observer: observer.ended(turn))

    def waiting(self, until: datetime) -> None:
        self._each(lambda observer: observer.waiting(until))

    def elected(self, leads: bool) -> None:
        self._each(lambda observer: observer.elected(leads))

    def stopped(self) -> None:
        self._each(lambda observer: observer.stopped())

    def _each(self, tell: Callable[[Observer], None]) -> None:
        for observer in self._observers:
            try:
                tell(observer)
            except Exception as error:
                failure = (type(observer).__name__, type(error).__name__)
                if failure not in self._told:
                    self._told.add(failure)
                    self._complain(f"{failure[0]} failed and is ignored: {failure[1]}: {error}")

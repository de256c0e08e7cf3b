"""A controller on real repos and a story's clock, and what its observers were told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Turn
from gitplacer.settings import settings
from gitplacer.source.files import Parser, read_file
from tests.clocks import StoryClock
from tests.fleetrepos import Fleet

PACE = Pace(interval=60, full=300, batch=2)


@dataclass
class Watched(Silent):
    """A controller with everything that its observer was told."""

    fleet: Fleet
    clock: StoryClock = field(default_factory=StoryClock)
    turns: list[Turn] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.controller = self.new()

    def new(self, *others: Silent, parser: Parser = read_file) -> Controller:
        chosen = settings(str(self.fleet.source), deployment=self.fleet.deployment)
        self.controller = Controller(
            chosen,
            draw=lambda: 0.5,
            clock=self.clock,
            pace=PACE,
            observers=[*others, self],
            complain=self.complaints.append,
            parser=parser,
        )
        return self.controller

    def until(self, seconds: float) -> list[Turn]:
        """Let the controller run until then; the turns since the last time."""
        before = len(self.turns)
        self.clock.at(seconds, self.controller.stop)
        self.controller.run()
        return self.turns[before:]

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        self.clock.at(seconds, happens)

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        self.told.append(f"began {number}: {' '.join(woken)}")

    def ended(self, turn: Turn) -> None:
        self.turns.append(turn)
        self.told.append(f"ended {turn.number}: {turn.outcome}{' (look)' if turn.is_look else ''}")

    def waiting(self, until: datetime) -> None:
        self.told.append(f"waits until {until:%H:%M:%S}")

    def stopped(self) -> None:
        self.told.append("stopped")


def outcomes(turns: list[Turn]) -> list[str]:
    """How each turn ended, with what went wrong, and whether it only looked."""
    return [
        f"{turn.outcome}{f' {turn.fault}' if turn.fault else ''}{' (look)' if turn.is_look else ''}" for turn in turns
    ]

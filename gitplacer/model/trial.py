"""What came of running scenarios, as values: which steps were as expected, and what was not."""

from __future__ import annotations

import enum

from msgspec import Struct

from gitplacer.problems import Location, Problem


class Verdict(enum.StrEnum):
    """What came of a scenario. ERROR: it could not be read, or not carried out to its end."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


class Failure(Struct, frozen=True):
    """One thing that was not as expected; `details` are lines that say more, indented by two for each level."""

    problem: Problem
    details: tuple[str, ...] = ()


class TriedStep(Struct, frozen=True):
    """One step: how many passes were made for it, and what was not as expected."""

    title: str
    passes: int
    failures: tuple[Failure, ...] = ()


class Trial(Struct, frozen=True):
    """One scenario. `broken` is why it could not be read, or carried on after its last step here."""

    name: str
    title: str
    location: Location
    steps: tuple[TriedStep, ...] = ()
    broken: tuple[Problem, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if self.broken:
            return Verdict.ERROR
        return Verdict.FAILED if any(step.failures for step in self.steps) else Verdict.PASSED

    @property
    def passes(self) -> int:
        return sum(step.passes for step in self.steps)


class Report(Struct, frozen=True):
    """All of them, files that hold scenarios and cannot be read, and what is idle among the policies."""

    trials: tuple[Trial, ...]
    unreadable: tuple[Problem, ...] = ()
    idle: tuple[Problem, ...] = ()

    def count(self, verdict: Verdict) -> int:
        more = len(self.unreadable) if verdict is Verdict.ERROR else 0
        return more + sum(trial.verdict is verdict for trial in self.trials)

    @property
    def is_good(self) -> bool:
        return not self.count(Verdict.FAILED) and not self.count(Verdict.ERROR)

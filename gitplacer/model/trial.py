"""What came of running scenarios, as values: which steps were as expected, and what was not."""

from __future__ import annotations

import enum

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.problems import Location, Problem


class TrialResult(enum.StrEnum):
    """What came of a scenario. ERROR: it could not be read, or not carried out to its end."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


class Failure(Struct, frozen=True):
    """One thing that was not as expected; `details` are lines that say more, indented by two for each level."""

    problem: Problem
    details: tuple[str, ...] = ()

    def below(self, folder: str) -> Failure:
        return replace(self, problem=self.problem.below(folder))


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
    def verdict(self) -> TrialResult:
        if self.broken:
            return TrialResult.ERROR
        return TrialResult.FAILED if any(step.failures for step in self.steps) else TrialResult.PASSED

    @property
    def passes(self) -> int:
        return sum(step.passes for step in self.steps)

    def below(self, folder: str) -> Trial:
        steps = tuple(replace(step, failures=tuple(f.below(folder) for f in step.failures)) for step in self.steps)
        broken = tuple(problem.below(folder) for problem in self.broken)
        return replace(self, location=self.location.below(folder), steps=steps, broken=broken)


class Report(Struct, frozen=True):
    """All of them, files that hold scenarios and cannot be read, and what is idle among the policies."""

    trials: tuple[Trial, ...]
    unreadable: tuple[Problem, ...] = ()
    idle: tuple[Problem, ...] = ()

    def count(self, verdict: TrialResult) -> int:
        more = len(self.unreadable) if verdict is TrialResult.ERROR else 0
        return more + sum(trial.verdict is verdict for trial in self.trials)

    def below(self, folder: str) -> Report:
        """The same, with places as they are called from where the source is the folder `folder`."""
        return Report(
            tuple(trial.below(folder) for trial in self.trials),
            tuple(problem.below(folder) for problem in self.unreadable),
            tuple(problem.below(folder) for problem in self.idle),
        )

    @property
    def is_good(self) -> bool:
        return not self.count(TrialResult.FAILED) and not self.count(TrialResult.ERROR)

"""What there is to say of a file that is adopted, at its place in the old repo."""

from __future__ import annotations

from msgspec import Struct

from gitplacer.problems import Location, Problem


class CannotAdopt(Exception):
    """The repo cannot be adopted as it was asked for; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Remark(Struct, frozen=True, order=True):
    """Where, what, and what to do about it."""

    location: Location
    message: str
    hint: str = ""

    @staticmethod
    def of(problem: Problem) -> Remark:
        """What a problem says."""
        return Remark(problem.location, problem.message, problem.hint)

"""What a target is, and what targets say together of problems and their places."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from gitplacer.documents import Fault
from gitplacer.problemcodes import CODES
from gitplacer.problems import Location, Problem

FILE = "f.yaml"
_ROOT = Location(FILE)


class Broken(AssertionError):
    """A reader does not keep a promise."""


class Slow(BaseException):
    """A reader takes too long. No reader's own `except Exception` may swallow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    `check` raises for bytes that break a promise: Broken, or whatever the reader lets out. `planted` puts a bug into the reader for as long as
    it is entered, and `bug` says which. `longest` is the most bytes of an input; a `structured` one is changed as a document too. `seconds` of
    the processor are many times what any input takes, also where the code is instrumented or the input is made long.
    """

    check: Callable[[bytes], None]
    bug: str
    planted: Callable[[], AbstractContextManager[Any]]
    longest: int = 4096
    structured: bool = False
    seconds: float = 1.0

    def hold(self, data: bytes) -> None:
        """
        `check`, and Slow for what takes more than `seconds` of the processor, twice: the first may be for what is then remembered. Only the main
        thread can be interrupted.
        """
        try:
            _within(self.seconds, self.check, data)
        except Slow:
            _within(self.seconds, self.check, data)


def _within(seconds: float, check: Callable[[bytes], None], data: bytes) -> None:
    """The time of the processor, not of the clock: others may use the machine too."""
    before = signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        check(data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise Slow("it takes too long")


def expect(promise: bool, words: str) -> None:
    """Raises Broken with these words where a promise is not kept."""
    if not promise:
        raise Broken(words)


def expect_well_said(data: bytes, problems: Iterable[Problem | Fault]) -> None:
    """Every problem has a code that is documented, words, and a place inside the file."""
    lines = data.decode("utf-8", "replace").split("\n")
    for problem in problems:
        where = Location(FILE, problem.line, problem.column) if isinstance(problem, Fault) else problem.location
        expect(problem.code in CODES, f"{problem.code} is no documented code")
        expect(bool(problem.message), f"{problem.code} says nothing")
        inside = 1 <= where.line <= len(lines) and 1 <= where.column <= len(lines[where.line - 1]) + 1
        expect(where == _ROOT or inside, f"{problem.code} at {where.line}:{where.column} is not in the file")


def depth(value: Any) -> int:
    """How many mappings and lists are inside each other; counted level by level, since it may be more than Python can nest."""
    level, deep = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        deep += 1
        ids = {id(item): item for item in level}  # what aliases share is looked at once on each level
        level = [one for item in ids.values() for one in (item.values() if isinstance(item, dict) else item)]
    return deep

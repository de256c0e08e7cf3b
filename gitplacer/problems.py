"""
What can be wrong with an input, and how to say it.

A Problem says where (`file:line:col`), what, and how to fix it. It is a value: whoever finds one adds it
to the others and goes on, so that all of them reach the user in one run. Its code is a stable
name with a page in the docs; the table of codes is `gitplacer.problemcodes`.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from gitplacer.redactor import without_credentials


class Severity(enum.StrEnum):
    """ERROR makes `validate` fail and holds what the file governs; WARNING is reported and holds nothing."""

    ERROR = "error"
    WARNING = "warning"


class Location(Struct, frozen=True, order=True):
    """A place in an input. `line` and `column` count from 1; a path that is no text is at 1:1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def below(self, folder: str) -> Location:
        """The same place, as it is called from where the input is the folder `folder`, such as the root of the repository; '' is the input itself."""
        return replace(self, file=f"{folder}/{self.file}") if folder else self


class Problem(Struct, frozen=True, order=True):
    """One thing that is wrong. `code` is a key of `problemcodes.CODES`."""

    location: Location
    code: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        # Messages quote what stands in files, and end up in logs, comments and pages: none quotes what is plainly a secret.
        force_setattr(self, "message", without_credentials(self.message))

    def below(self, folder: str) -> Problem:
        """The same, with its place as it is called from where the input is the folder `folder`."""
        return replace(self, location=self.location.below(folder))


class Rejected(Exception):
    """An input that cannot be used at all; carries every problem found in it, never fewer."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("; ".join(f"{p.location}: {p.message}" for p in self.problems))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What it cannot be used for, of which there is at least one: warnings are carried along, and stop nothing."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR) or self.problems

    def __reduce__(self) -> tuple[type[Rejected], tuple[tuple[Problem, ...]]]:
        return Rejected, (self.problems,)  # so that it is the same when it comes from another process


_NAMED = 10
"""How many choices a hint names."""
_COMPARED = 200
"""How many choices a misspelt word is compared with, and how long it may be: letters are compared with letters."""


def near(word: str, known: Iterable[str]) -> str:
    """
    The known name that was meant by a misspelt one, and '' where none is near. Among very many only one that differs in case is near.
    """
    choices = _in_order(tuple(known))
    by_fold = _by_fold(choices)
    folded = word.casefold()
    if folded not in by_fold:
        folded = _close(folded, choices) if max(len(by_fold), len(folded)) <= _COMPARED else ""
    return by_fold.get(folded, "")


@lru_cache(maxsize=16)
def _by_fold(choices: tuple[str, ...]) -> Mapping[str, str]:
    """Choices by what they are without upper case: once for all words that are held against them."""
    return {choice.casefold(): choice for choice in choices}


@lru_cache(maxsize=16)
def _in_order(choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(choices))


@lru_cache(maxsize=256)
def _close(folded: str, choices: tuple[str, ...]) -> str:
    """
    The one that is nearest, or '': that of `difflib.get_close_matches`. One mistake is often made in many places, and many are made at once; so
    what cannot be nearer than what was found is not compared letter by letter.
    """
    matcher = difflib.SequenceMatcher(b=folded)
    best = (0.6, "")
    for choice in _by_fold(choices):
        matcher.set_seq1(choice)
        if matcher.real_quick_ratio() >= best[0] and matcher.quick_ratio() >= best[0]:
            best = max(best, (matcher.ratio(), choice))
    return best[1]


def meant(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?` where one of the known names is near, and nothing where none is."""
    found = near(word, known)
    return f'did you mean "{found}"?' if found else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The hint for a misspelt name: `did you mean "x"?`, or the choices when none is near, ten of them at most."""
    choices = _in_order(tuple(known))
    if hint := meant(word, choices):
        return hint
    more = f" … and {len(choices) - _NAMED} more" if len(choices) > _NAMED else ""
    return f"known here: {', '.join(choices[:_NAMED])}{more}" if choices else ""

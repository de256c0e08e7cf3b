"""
What is wrong with one document: all of it counted, the first hundred told.

A generated or hostile manifest can be wrong in a hundred thousand places. A hundred are enough to start mending with, and
each costs a look into the text for its position; what is found beyond them is counted, and said in one problem. That
problem is an error if any of what it stands for is one, so that no object seems sound because its errors came late.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitplacer.documents.parse import Path
from gitplacer.problems import Problem, Severity

if TYPE_CHECKING:
    from gitplacer.documents.document import Document

LISTED = 100
"""How many problems of one document are told one by one."""


class Findings(list[Problem]):
    """
    The problems that are told one by one, in the order found. `more` counts the others, and `errors` every error that was
    reported, also one that was known already.
    """

    __slots__ = ("_document", "_known", "_next", "errors", "more")

    def __init__(self, document: Document) -> None:
        super().__init__()
        self.more = 0
        self.errors = 0
        self._document = document
        self._known: set[tuple[str, str, Path]] = set()
        self._next: tuple[Path, Severity] = ((), Severity.WARNING)

    @property
    def full(self) -> bool:
        """Whether whatever is found now is only counted."""
        return len(self) >= LISTED

    def report(
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        path: Path = (),
        key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """A problem at a place of the document. One that is known there is not added again."""
        self.errors += severity is Severity.ERROR
        known = (code, message, path)
        if known in self._known:
            return
        self._known.add(known)
        if not self.full:
            self.append(self._document.problem(code, message, hint, path=path, key=key, severity=severity))
            return
        first, worst = self._next if self.more else (path, severity)
        self._next = (first, severity if severity is Severity.ERROR else worst)
        self.more += 1

    def take(self, problems: Iterable[Problem]) -> None:
        """Problems of the document that were found apart, and are few."""
        for problem in problems:
            self.errors += problem.severity is Severity.ERROR
            self.append(problem)

    def told(self) -> list[Problem]:
        """Sorted and each once, with one problem for all that are not listed, where the first of them is."""
        found = set(self)
        if self.more:
            path, severity = self._next
            message = f"{self.more} more problem{'' if self.more == 1 else 's'} of this object, not listed"
            found.add(
                self._document.problem("TooManyFaults", message, "mend these first", path=path, severity=severity)
            )
        return sorted(found)

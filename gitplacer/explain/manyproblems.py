"""
Problems for people, however many there are.

A few are told one by one. Of very many, as when a template breaks or a branch is merged by mistake, nobody reads every one: they are told by
code and folder, those that concern most files first, each with its first examples and a count. So what is printed has a bound, and the
causes are all in it. Formats for programs have them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.explain.words import LONGEST_SENTENCE, problem_lines
from gitplacer.plaintext import printable
from gitplacer.problems import Location, Problem, Severity

FEW = 100
"""Problems that are told one by one."""
EXAMPLES = 3
"""Problems of a code in a folder that are told, where there are more than a few."""
FOLDERS = 5
"""Folders by which the problems of a code are told apart; where they are in more, by the folders above these."""
MOST = 25
"""Codes and folders that are told."""
_ANYWHERE = Location("")


class Heap(Struct, frozen=True):
    """Problems of one code below a folder, which is '' for the root: the first of them, in their order, and how many there are."""

    severity: Severity
    code: str
    folder: str
    first: tuple[Problem, ...]
    count: int

    @property
    def left(self) -> str:
        """What is not among the first, in words; '' for nothing."""
        more = self.count - len(self.first)
        what = f"{self.severity}{'s' * (more != 1)}"
        return f"… and {more:,} more {what} {self.code} in {printable(self.folder) or '.'}/" if more else ""


def told(problems: Sequence[Problem]) -> Iterator[tuple[Problem | None, list[str]]]:
    """
    Problems with their lines, in their order; of more than `FEW` some by heaps, in fewer than 400 lines. Lines without a problem count
    others.
    """
    if len(problems) <= FEW:
        yield from ((problem, problem_lines(problem)) for problem in problems)
        return
    found = heaps(problems)
    for heap in found[:MOST]:
        yield from ((problem, problem_lines(problem)) for problem in heap.first)
        if heap.left:
            yield None, [heap.left]
    rest = found[MOST:]
    if rest:
        codes = Counter[str]()
        for heap in rest:
            codes[heap.code] += heap.count
        named = ", ".join(f"{count:,} {code}" for code, count in codes.most_common())
        yield None, [printable(f"… and elsewhere {named}", LONGEST_SENTENCE)]
    yield None, [f"{len(problems):,} problems; `gitplacer validate --format json` has every one of the source"]


def lines_of_problems(problems: Sequence[Problem]) -> Iterator[str]:
    """The lines alone; a few warnings that say the same of several places are said once, at the first."""
    same: dict[Problem, list[Problem]] = {}
    for problem in problems:
        is_one = problem.severity is Severity.WARNING
        same.setdefault(replace(problem, location=_ANYWHERE) if is_one else problem, []).append(problem)
    if len(same) <= FEW:
        for each in same.values():
            yield from problem_lines(*each)
    else:
        for _, lines in told(problems):
            yield from lines


def heaps(problems: Sequence[Problem]) -> list[Heap]:
    """All problems by code and folder, errors before warnings, then the largest first."""
    by_code: dict[tuple[Severity, str], list[Problem]] = {}
    for problem in problems:
        by_code.setdefault((problem.severity, problem.code), []).append(problem)
    found = [heap for (severity, code), those in by_code.items() for heap in _by_folder(severity, code, those)]
    return sorted(found, key=lambda h: (h.severity is not Severity.ERROR, -h.count, h.code, h.folder))


def _by_folder(severity: Severity, code: str, problems: Sequence[Problem]) -> Iterator[Heap]:
    """Problems of a code told apart by the deepest folders of which there are few."""
    folders = [problem.location.file.split("/")[:-1] for problem in problems]
    depth = 0
    while depth < max(map(len, folders)) and len({tuple(folder[: depth + 1]) for folder in folders}) <= FOLDERS:
        depth += 1
    parted: dict[str, list[Problem]] = {}
    for folder, problem in zip(folders, problems, strict=True):
        parted.setdefault("/".join(folder[:depth]), []).append(problem)
    for name, those in parted.items():
        yield Heap(severity, code, name, tuple(those[:EXAMPLES]), len(those))

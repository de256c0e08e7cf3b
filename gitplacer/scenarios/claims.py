"""
What a step claims of its plan: expressions, held against the plan's JSON.

All of a scenario's expressions are compiled before its first pass, so that a misspelt one costs nothing and they are all told at
once. What is wrong with one, and what does not hold, stands at its own line and column in the scenario's file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitplacer.documents import Document, Path
from gitplacer.formats.planjson import plan_document
from gitplacer.hydrate import Hydration
from gitplacer.plaintext import printable
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.scenarios.script import Script
from gitplacer.scenarios.verdict import Difference

if TYPE_CHECKING:
    from gitplacer.scenarios.cel import Expression, Mistake

Expressions = Mapping[tuple[int, int], "Expression"]
"""By step and place in its list, from 0."""


class LibraryMissing(Exception):
    """There are expressions, and nothing to evaluate them with; the message says what to install."""

    hint = "pip install 'gitplacer[cel]'"

    def __init__(self) -> None:
        super().__init__("scenarios with expressions need cel-python, which is not installed")


def has_claims(script: Script) -> bool:
    return any(step.expect.that for step in script.spec.steps)


def compiled(script: Script) -> Expressions:
    """All expressions of a scenario. Raises Rejected with every mistake in them, or LibraryMissing."""
    if not has_claims(script):
        return {}
    try:
        from gitplacer.scenarios.cel import Mistake
        from gitplacer.scenarios.cel import compiled as compiled_one
    except ImportError as error:
        if (error.name or "").split(".")[0] in ("celpy", "lark", "re2", "pendulum", "jmespath"):
            raise LibraryMissing from None
        raise
    found: dict[tuple[int, int], Expression] = {}
    mistakes = []
    for index, step in enumerate(script.spec.steps):
        for number, claim in enumerate(step.expect.that):
            try:
                found[index, number] = compiled_one(claim.cel)
            except Mistake as mistake:
                mistakes.append(_problem(script.document, _path(index, number), claim.cel, mistake))
    if mistakes:
        raise Rejected(mistakes)
    return found


def broken_claims(
    script: Script,
    index: int,
    expressions: Expressions,
    done: Hydration | None,
    *,
    lost: Sequence[str] = (),
    drained: Sequence[str] = (),
    told_as: str,
) -> Iterator[Difference]:
    """The claims of a step that do not hold of a pass, None for one that was refused. `told_as` says which pass it was."""
    claims = script.spec.steps[index].expect.that
    if not claims:
        return
    from gitplacer.scenarios.cel import Facts, Mistake, holds, why_false

    facts = Facts(plan_document(done.view), lost, drained) if done is not None else None
    for number, claim in enumerate(claims):
        path = _path(index, number)
        if facts is None:
            location = _place(script.document, path, claim.cel, 1, 1)
            message = f"{told_as}: there is no plan of which this could be true, because the pass was refused"
            yield Difference(location, "ScenarioDiffers", message, claim.because)
            continue
        expression = expressions[index, number]
        try:
            if not holds(expression, facts):
                location = _place(script.document, path, claim.cel, 1, 1)
                message = f"{told_as}: it is not true that {_one_line(claim.cel)}"
                yield Difference(
                    location, "ScenarioDiffers", message, claim.because, details=why_false(expression, facts)
                )
        except Mistake as mistake:
            problem = _problem(script.document, path, claim.cel, mistake)
            yield Difference(problem.location, problem.code, f"{told_as}: {problem.message}", problem.hint)


def _path(index: int, number: int) -> Path:
    return ("spec", "steps", index, "expect", "that", number, "cel")


def _one_line(text: str) -> str:
    lines = [line.partition("//")[0] if '"' not in line and "'" not in line else line for line in text.splitlines()]
    return printable(" ".join(" ".join(lines).split()), 300)


def _problem(document: Document, path: Path, text: str, mistake: Mistake) -> Problem:
    place = _place(document, path, text, mistake.line, mistake.column)
    return Problem(place, "ScenarioExpression", mistake.message, mistake.hint)


def _place(document: Document, path: Path, text: str, line: int, column: int) -> Location:
    """
    Where a place in an expression stands in its file. A text that YAML folds or escapes stands there otherwise; then it is where
    the value begins.
    """
    start = document.locate(path)
    raw = document.read().decode("utf-8", "replace").splitlines()
    wanted = text.splitlines() or [""]
    line = min(line, len(wanted))
    first = start.line - 1
    if not 0 <= first < len(raw):
        return start
    is_block = raw[first][start.column - 1 : start.column] in ("|", ">")
    below = raw[first + 1 + (line - 1)] if is_block and first + line < len(raw) else ""
    if is_block:
        at = below.find(wanted[line - 1]) if wanted[line - 1] else -1
        return Location(start.file, first + 1 + line, at + column) if at >= 0 else start
    at = raw[first].find(wanted[0], start.column - 1) if len(wanted) == 1 else -1
    return Location(start.file, start.line, at + column) if at >= 0 else start

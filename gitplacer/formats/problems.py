"""Problems as `validate` prints them: for people, for programs, and as annotations in GitHub's checks."""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import FORMAT_VERSION, problem_value, to_json
from gitplacer.formats.text import problems_text
from gitplacer.kinds.fields import API_VERSION
from gitplacer.plaintext import LONGEST_PATH, printable
from gitplacer.problems import Problem, Severity

ANNOTATIONS = 10
"""Of each type that GitHub shows of one step."""


def as_text(problems: Sequence[Problem], options: Options) -> str:
    """`file:line:col: message` and the hint; '' for none."""
    return "".join(f"{line}\n" for line in problems_text(problems, options.style))


def as_json(problems: Sequence[Problem], options: Options) -> str:
    """A document with all problems, each as in the plan."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "Problems",
        "formatVersion": FORMAT_VERSION,
        "problems": [problem_value(problem) for problem in problems],
    }
    return to_json(document, indent=2)


def as_github(problems: Sequence[Problem], options: Options) -> str:
    """Workflow commands, errors first; escapes as in actions/toolkit packages/core/src/command.ts."""
    ordered = sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    return "".join(f"{line}\n" for line in (*map(_command, ordered), *_too_many(errors, len(problems) - errors)))


def _too_many(errors: int, warnings: int) -> list[str]:
    """That not all are shown, where GitHub leaves some out. A notice is of a third type, so it is not left out itself."""
    if max(errors, warnings) <= ANNOTATIONS:
        return []
    found = f"{errors} error{'s' if errors != 1 else ''} and {warnings} warning{'s' if warnings != 1 else ''}"
    shown = f"GitHub shows {ANNOTATIONS} errors and {ANNOTATIONS} warnings of a step at most"
    return [f"::notice title=gitplacer::{found}; {shown}, the log has them all"]


def _command(problem: Problem) -> str:
    level = "error" if problem.severity is Severity.ERROR else "warning"
    location = problem.location
    fields = {"file": location.file, "line": location.line, "col": location.column, "title": problem.code}
    said = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
    message = _data(problem.message) + (f"%0Ahint: {_data(problem.hint)}" if problem.hint else "")
    return f"::{level} {said}::{message}"


def _data(text: str) -> str:
    return printable(text, LONGEST_SENTENCE).replace("%", "%25")


def _property(text: str) -> str:
    return printable(text, LONGEST_PATH).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")

"""
Problems as GitLab's code quality report, which a merge request shows beside the lines.

GitLab compares the report of the source branch with that of the target branch by fingerprints, so a fingerprint does not
depend on the line; two entries with one fingerprint would be shown as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.formats.fingerprints import fingerprinted
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import to_json
from gitplacer.plaintext import LONGEST_PATH, printable
from gitplacer.problems import Problem, Severity

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def as_gitlab(problems: Sequence[Problem], options: Options) -> str:
    """A list with an entry for each problem."""
    report = [
        {
            "description": printable(problem.message, LONGEST_SENTENCE) + _hint(problem),
            "check_name": problem.code,
            "fingerprint": mark,
            "severity": _SEVERITIES[problem.severity],
            "location": {
                "path": printable(problem.location.file, LONGEST_PATH),
                "lines": {"begin": problem.location.line},
            },
        }
        for problem, mark in fingerprinted(problems)
    ]
    return to_json(report, indent=2)


def _hint(problem: Problem) -> str:
    return f" (hint: {printable(problem.hint, LONGEST_SENTENCE)})" if problem.hint else ""

"""
Plans, problems and sizes in the formats that people and programs read.

A format is a function from a value to a string. `FORMATS`, `PROBLEM_FORMATS`, `SIZE_FORMATS` and `TEST_FORMATS` are the tables; a new format is a
module and a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from gitplacer.explain import PlanView
from gitplacer.formats import problems, size, trials
from gitplacer.formats.codequality import as_gitlab
from gitplacer.formats.markdown import plan_markdown
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import plan_json
from gitplacer.formats.sarif import as_sarif
from gitplacer.formats.text import plan_text
from gitplacer.model.trial import Report
from gitplacer.problems import Problem
from gitplacer.review import Review
from gitplacer.sizing import Sized


class PlanFormat(Protocol):
    """A plan as a string. A review has what the plan is held against; without one there is nothing."""

    def __call__(self, view: PlanView, options: Options, review: Review | None = None) -> str: ...


FORMATS: Mapping[str, PlanFormat] = MappingProxyType({"text": plan_text, "markdown": plan_markdown, "json": plan_json})
"""Of a plan."""

PROBLEM_FORMATS: Mapping[str, Callable[[Sequence[Problem], Options], str]] = MappingProxyType(
    {
        "text": problems.as_text,
        "json": problems.as_json,
        "github": problems.as_github,
        "gitlab": as_gitlab,
        "sarif": as_sarif,
    }
)
"""Of the problems that `validate` finds."""

SIZE_FORMATS: Mapping[str, Callable[[Sequence[Sized], Options], str]] = MappingProxyType(
    {"text": size.as_text, "json": size.as_json}
)
"""Of the objects that `size` has sized."""

TEST_FORMATS: Mapping[str, Callable[[Report, Options], str]] = MappingProxyType(
    {"text": trials.as_text, "json": trials.as_json, "junit": trials.as_junit}
)
"""Of what came of running scenarios."""

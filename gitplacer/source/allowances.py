"""
What an object's author allows, with a reason: the annotation `allow.gitplacer.dev/<code>: <reason>`.

Some problems are hazards that somebody may have thought about. Those whose code says so may be allowed on the object that
they are about, where a reviewer sees it and the reason. What makes an object unreadable cannot be allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitplacer.documents import Document
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem, nearest

PREFIX = "allow.gitplacer.dev/"


def not_allowed(problems: Iterable[Problem], annotations: Mapping[str, str]) -> list[Problem]:
    """The problems of an object without those that its annotations allow."""
    allowed = {key.removeprefix(PREFIX) for key, reason in annotations.items() if key.startswith(PREFIX) and reason}
    if not allowed:
        return list(problems)
    return [p for p in problems if p.code not in allowed or not CODES[p.code].allowable]


def about_allowances(document: Document, annotations: Mapping[str, str]) -> Iterator[Problem]:
    """An allowance of something that is not known or cannot be allowed, or one without a reason."""
    for key, reason in annotations.items():
        if not key.startswith(PREFIX):
            continue
        code = key.removeprefix(PREFIX)
        path = ("metadata", "annotations", key)
        known = [name for name, row in CODES.items() if row.allowable]
        if code not in CODES:
            yield document.problem("InvalidAllowance", f'there is no problem "{code}"', nearest(code, known), path=path)
        elif not CODES[code].allowable:
            hint = "mend what it is about; an input that cannot be used cannot be allowed"
            yield document.problem("InvalidAllowance", f"{code} cannot be allowed", hint, path=path)
        elif not reason.strip():
            hint = "say why it is no problem here"
            yield document.problem("InvalidAllowance", f"{code} is allowed without a reason", hint, path=path)

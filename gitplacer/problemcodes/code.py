"""What is said of one code."""

from __future__ import annotations

from dataclasses import dataclass

from gitplacer.problems import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """
    One code: a title, why such an input is refused, and the remedy. Sentences of Markdown.

    `severity` is that of the rules of `gitplacer.rules` and of the checks on groups and edits, which report no other.
    `allowable`: an object may allow it, with a reason, by the annotation `allow.gitplacer.dev/<code>`.
    """

    title: str
    why: str
    remedy: str
    severity: Severity = Severity.ERROR
    allowable: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which a command ends: what that means, and what to do. Sentences of Markdown."""

    means: str
    remedy: str

"""What is said of one code."""

from __future__ import annotations

from msgspec import Struct

from gitplacer.problems import Severity


class Code(Struct, frozen=True):
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


class Failure(Struct, frozen=True):
    """One way in which a command ends: what that means, and what to do. Sentences of Markdown."""

    means: str
    remedy: str

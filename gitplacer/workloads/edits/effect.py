"""
What an edit does beyond what it says: an effect, and how the fields behind it are named.

An effect has one cause, and names at most three of the fields that make it up; whoever edits an image in four pod
templates is told once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.documents import Path, dotted
from gitplacer.problems import Severity

NAMED = 3
"""How many changed fields a message names; the others are counted."""


class Effect(Struct, frozen=True, order=True):
    """
    One thing that an edit does. `path` is a place in the new document; where something was removed, the nearest
    ancestor that is still there. `code` is a problem code, ERROR where the edit must not be made.
    """

    path: Path
    code: str
    message: str
    hint: str
    severity: Severity


class Change(Struct, frozen=True):
    """One field that differs. `path` is where it is, or was, in the new document; `said` is its name in a message."""

    path: Path
    said: str


def changed(path: Path, *, removed: bool = False) -> Change:
    """The change of a field, named by its path."""
    return Change(path, dotted(path) + (" (removed)" if removed else ""))


def effect(
    after: Any, code: str, changes: Sequence[Change], sentence: str, hint: str, severity: Severity = Severity.WARNING
) -> Effect:
    """The effect of some changes, at least one, placed in `after` at the first: "edit of <the changes>: <sentence>"."""
    return Effect(standing(after, changes[0].path), code, f"edit of {named(changes)}: {sentence}", hint, severity)


def refused(
    after: Any, changes: Iterable[Change], why: str = "the API server refuses to change it"
) -> Iterator[Effect]:
    """What comes of changing fields that cannot be changed; nothing when there are none."""
    found = list(changes)
    if found:
        hint = "take the edit back, or give the object a new name, so that a new one is made"
        yield effect(after, "ImmutableField", found, why, hint, Severity.ERROR)


def of_finished(after: Any, found: Sequence[Change], kind: str) -> Effect:
    """The effect of an edit of a job that is done."""
    return effect(
        after,
        "EditOfFinishedJob",
        found,
        f"the {kind} is finished and does not run again, whatever is changed in it",
        "it needs a new name to run again; else take the edit back",
        Severity.ERROR,
    )


def named(changes: Iterable[Change]) -> str:
    """The changes in a sentence: a, b, c and 4 more."""
    said = list(dict.fromkeys(change.said for change in changes))
    if len(said) > NAMED:
        return f"{', '.join(said[:NAMED])} and {len(said) - NAMED} more"
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def standing(value: Any, path: Path) -> Path:
    """The part of a path, from its start, that is there in a value."""
    for depth, step in enumerate(path):
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return path[:depth]
        elif not isinstance(value, list) or step >= len(value):
            return path[:depth]
        value = value[step]
    return path

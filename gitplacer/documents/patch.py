"""
Edits as values: what RFC 6902 says an edit makes of a document, nothing being changed in place.

This is the law that `splicing.splice` is held to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from gitplacer.documents.parse import LONE_SURROGATE, Path
from gitplacer.documents.scalars import NotJSON, normal
from gitplacer.documents.syntax import MAX_DEPTH

APPEND = "-"
"""The index behind a list's last item, as RFC 6901 writes it."""


class Edit(Struct, frozen=True):
    """
    One change, with the meaning of RFC 6902; besides, `add` makes the mappings that are missing on the way
    (an absent and a null one are the same to Kubernetes).
    """

    path: Path
    op: Literal["add", "replace", "remove"]
    value: Any = None


class EditError(Exception):
    """An edit that cannot be made; `path` says where."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def applied(value: Any, edit: Edit) -> Any:
    """The value after the edit; the one given is not changed. Raises EditError."""
    if len(edit.path) > MAX_DEPTH:
        raise EditError(
            f"its path has {len(edit.path):,} steps; no value is deeper than {MAX_DEPTH}", edit.path[:MAX_DEPTH]
        )
    return _applied(value, edit.path, edit, _plain(edit.value, edit.path))


def _applied(value: Any, rest: Path, edit: Edit, new: Any) -> Any:
    if not rest:
        if edit.op == "remove":
            raise EditError("a whole document cannot be removed by an edit", edit.path)
        return new
    step, below = rest[0], rest[1:]
    if value is None and edit.op == "add":
        value = {}
    if isinstance(value, dict):
        key = str(step)
        if key not in value and (below or edit.op != "add"):
            if edit.op != "add":
                raise _missing(edit, rest)
            return {**value, key: _applied({}, below, edit, new)}
        if not below and edit.op == "remove":
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: new if not below else _applied(value[key], below, edit, new)}
    if not isinstance(value, list):
        raise _missing(edit, rest)
    index = _index(value, edit, rest)
    if below:
        return [*value[:index], _applied(value[index], below, edit, new), *value[index + 1 :]]
    if edit.op == "remove":
        return [*value[:index], *value[index + 1 :]]
    return [*value[:index], new, *value[index + (edit.op == "replace") :]]


def _index(value: Sequence[Any], edit: Edit, rest: Path) -> int:
    """The index the path means in this list; one past the end only for an `add` here."""
    step, adds = rest[0], edit.op == "add" and len(rest) == 1
    if step == APPEND and adds:
        return len(value)
    index = step if isinstance(step, int) else int(step) if _is_number(step) else -1
    if not 0 <= index < len(value) + adds:
        raise _missing(edit, rest)
    return index


def _is_number(step: str) -> bool:
    """Python makes no number of thousands of digits, and no list is as long as one of ten."""
    return step.isascii() and step.isdigit() and len(step) <= 10


def _missing(edit: Edit, rest: Path) -> EditError:
    done = edit.path[: len(edit.path) - len(rest)]
    return EditError(f"there is no {pointer(edit.path)}: {pointer(done)} has no entry {rest[0]!r}", edit.path)


def value_at(value: Any, path: Path, otherwise: Any = None) -> Any:
    """What stands at a path, whose indexes may be texts; `otherwise` where nothing does."""
    for step in path:
        index = step if isinstance(step, int) else int(step) if _is_number(step) else -1
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and 0 <= index < len(value):
            value = value[index]
        else:
            return otherwise
    return value


def pointer(path: Path) -> str:
    """The path as RFC 6901 writes it; "/" for the document itself."""
    return "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _plain(value: Any, path: Path) -> Any:
    """The value as it will be read back. Raises EditError for what JSON cannot hold."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, path) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, path) for item in value]
    try:
        if isinstance(value, float):
            return normal(value, str(value))
    except NotJSON as error:
        raise EditError(str(error), path) from None
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, str) and not LONE_SURROGATE.search(value)):
        return value
    raise EditError(f"{type(value).__name__} is no JSON value", path)

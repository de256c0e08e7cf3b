"""
`${NAME}` and `$NAME` in a file, filled as `envsubst` does before anything else reads it.

Lines stay where they are, because a value has no line break, so a place in the filled text is a place in the file. A variable may have
several values: then a file that names it is there once for each of them, as when a script applies it to several namespaces. A variable
without a value is an error, unless the text has a default (`${NAME:-x}`) or stands in a comment; envsubst would quietly leave nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from gitplacer.documents import MAX_BYTES
from gitplacer.problems import Location, Problem

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST_COPIES = 1000
"""How often a file may be there for the values of its variables."""
_VARIABLE = re.compile(
    r"\$(?:\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:?-[^}\n]*)?\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))"
)
_COMMENT = re.compile(r"[ \t]*#")


class Variables(Struct, frozen=True):
    """The values of each variable, at least one, in the order given; and names that are none and stay as they are."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep: frozenset[str] = frozenset()


def filled(file: str, data: bytes, variables: Variables) -> tuple[list[bytes], list[Problem]]:
    """
    The file with its variables filled, once for each choice of their values, and a problem for each name that has none. What is
    not UTF-8 or too long is handed on as it is: whoever parses it says so.
    """
    if b"$" not in data or len(data) > MAX_BYTES:
        return [data], []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [data], []
    found = [each for each in _VARIABLE.finditer(text) if _name(each) not in variables.keep]
    problems = list(_unset(file, text, found, variables))
    if problems:
        return [], problems
    names = dict.fromkeys(_name(each) for each in found if _name(each) in variables.values)
    copies = 1
    for name in names:
        copies *= len(variables.values[name])
    if copies > MOST_COPIES:
        message = f"its variables have {copies:,} choices of values; at most {MOST_COPIES:,} are written"
        return [], [Problem(Location(file), "InvalidValue", message, f"give fewer values to {', '.join(names)}")]
    choices = itertools.product(*(variables.values[name] for name in names))
    return [_with(text, dict(zip(names, choice, strict=True)), variables.keep).encode() for choice in choices], []


def _name(found: re.Match[str]) -> str:
    return found["braced"] or found["bare"]


def _with(text: str, values: Mapping[str, str], keep: frozenset[str]) -> str:
    def value(found: re.Match[str]) -> str:
        name = _name(found)
        if name in keep or (name not in values and found["default"] is None):
            return found[0]
        given = values.get(name)
        default = found["default"] or ""
        if given is None or (not given and default.startswith(":")):
            return default.removeprefix(":").removeprefix("-")
        return given

    return _VARIABLE.sub(value, text)


def _unset(file: str, text: str, found: Sequence[re.Match[str]], variables: Variables) -> Iterator[Problem]:
    """A problem for each name without a value, at its first place."""
    places: dict[str, list[int]] = {}
    for each in found:
        if _name(each) in variables.values or each["default"] is not None:
            continue
        start = text.rfind("\n", 0, each.start()) + 1
        if not _COMMENT.match(text, start):
            places.setdefault(_name(each), []).append(each.start())
    for name, starts in places.items():
        line = text.count("\n", 0, starts[0]) + 1
        column = starts[0] - text.rfind("\n", 0, starts[0])
        more = f", here and in {len(starts) - 1} more place{'s' if len(starts) > 2 else ''}" if len(starts) > 1 else ""
        hint = f"give it one: --set {name}=VALUE; if it is no variable, say --keep {name}"
        yield Problem(Location(file, line, column), "InvalidValue", f"variable {name} has no value{more}", hint)

"""
Path patterns: `*` and `?` stay within a folder, `**` crosses folders, and a name in braces captures one folder.

Used wherever a file of the source is named by a pattern. Matching is on POSIX paths, case-sensitively. Neither a pattern nor a path that
somebody made up for it takes long: of several wildcards in a row each but the last takes the first place where what follows it matches,
and never another. What it leaves the next one can take.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Generic, TypeVar

from msgspec import Struct

_Value = TypeVar("_Value")
_NAME = re.compile(r"\{[a-z]+\}")
_PARTS = re.compile(r"(\*\*/?|\*|\?|\[[^\]]*\]|\{[a-z]+\})")
_KEPT = 1 << 15
"""So many patterns are kept compiled. Where paths are held against one after another, of one more than are kept none would be there again."""
_WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*"}


@lru_cache(maxsize=_KEPT)
def compiled(pattern: str, *, captures: bool = True) -> re.Pattern[str]:
    """
    The regular expression of a pattern. `{name}` becomes a named group of one folder, where it stands first. Unless it `captures`: then it is only a
    letter and more, so that the wildcards around it may take the first place as well.
    """
    tokens = [
        token
        for part in _PARTS.split(pattern)
        for token in ([part] if _PARTS.fullmatch(part) else re.split("(/)", part))
        if token
    ]
    if not captures:
        tokens = [one for token in tokens for one in (("?", "*") if _NAME.fullmatch(token) else (token,))]
    return re.compile(_regex(tokens, "", set(), aligned=True), re.DOTALL)


def _regex(tokens: list[str], then: str, names: set[str], *, aligned: bool) -> str:
    """
    `then` is the wildcard that takes what these tokens leave, if one does, and `names` are captured before them. `aligned`: the first of them begins
    a folder's name.
    """
    parts = []
    closed = [*tokens, then]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in _WILD:
            until = _absorbed(closed, at, aligned=aligned)
            if until is None:
                parts.append(_WILD[token])
            else:
                between = _regex(tokens[at:until], closed[until], names, aligned=token == "**/")
                parts.append(f"(?>{_WILD[token]}?{between})")
                at = until
        elif token == "?":
            parts.append("[^/]")
        elif wanted := _one_of(token):
            parts.append(wanted)
        elif _NAME.fullmatch(token):
            parts.append("[^/]+" if token in names else f"(?P<{token[1:-1]}>[^/]+)")
            names.add(token)
        else:
            parts.append(re.escape(token))
        aligned = tokens[at - 1] in ("/", "**/")
    return "".join(parts)


def _absorbed(tokens: list[str], at: int, *, aligned: bool) -> int | None:
    """
    Where the next wildcard is that takes whatever the one before `at` leaves, so that the earliest match of what is between is as good as
    any. None where there is no such wildcard, or where it matters to a captured folder which match it is.
    """
    token = tokens[at - 1]
    if token == "**/" and not aligned:
        return None
    for place in range(at, len(tokens)):
        here = tokens[place]
        if _NAME.fullmatch(here):
            return None
        if token == "*":
            if here in ("/", "**/"):
                return None
            if here in _WILD:
                return place
        elif here == "**" or (here == "**/" and tokens[place - 1] in ("/", "**/")):
            return place
        elif here == "**/":
            return None  # it begins inside a name, where an earlier match may leave less to it
    return None


def _one_of(part: str) -> str:
    """`[a-z]` and `[!a]` as a regular expression, and nothing for what is none of these: `[z-a]` and `[]` stand for themselves."""
    if not (part.startswith("[") and part.endswith("]")):
        return ""
    negated, letters = ("^", part[2:-1]) if part[1:2] in ("!", "^") else ("", part[1:-1])
    wanted = f"(?!/)[{negated}{re.sub(r'[^a-zA-Z0-9-]', lambda found: re.escape(found[0]), letters)}]"
    try:
        re.compile(wanted)
    except re.error:
        return ""
    return wanted


def matches(pattern: str, path: str) -> bool:
    """Whether the whole path matches the pattern."""
    return compiled(pattern, captures=False).fullmatch(path) is not None


def matches_any(patterns: Iterable[str], path: str) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def captured(pattern: str, path: str, name: str) -> str | None:
    """What `{name}` stands for in a path that matches, or None where it does not match."""
    found = compiled(pattern).fullmatch(path)
    return found[name] if found else None


def fixed_folder(pattern: str) -> str:
    """The folders before the first wildcard, with a slash at the end: `platform/**` → `platform/`."""
    literal = beginning(pattern)
    return literal[: literal.rfind("/") + 1]


def beginning(pattern: str) -> str:
    """What everything that a pattern matches begins with: all before its first wildcard."""
    return re.split(r"[*?\[{]", pattern, maxsplit=1)[0]


class Beginnings(Generic[_Value]):
    """
    Values by patterns, to find those whose pattern may match a text without trying every pattern: what a text matches begins as the text does.
    """

    def __init__(self, patterns: Iterable[tuple[str, _Value]]) -> None:
        self._by_beginning: dict[str, list[_Value]] = {}
        for pattern, value in patterns:
            self._by_beginning.setdefault(beginning(pattern), []).append(value)
        self._lengths = sorted({len(start) for start in self._by_beginning})

    def of(self, text: str) -> Iterator[_Value]:
        """The values of patterns that may match a text; others do not."""
        for length in self._lengths:
            if length > len(text):
                return
            yield from self._by_beginning.get(text[:length], ())


def is_plain(name: str) -> bool:
    """Whether a pattern has no wildcard, so that it matches itself alone. A name in braces is none."""
    return not any(sign in name for sign in "*?[")


def name_matches_any(patterns: Iterable[str], name: str) -> bool:
    """Shell patterns over a plain name, such as a namespace or a kind."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def overlap(one: str, other: str) -> bool:
    """
    Whether there is a path that both patterns match, upper and lower case taken for the same. Mostly a folder's name that both have tells
    that there is none.
    """
    one, other = one.casefold(), other.casefold()
    return not _are_apart(_folders(one), _folders(other)) and _share_a_path(one, other)


class _Name(Struct, frozen=True):
    """A folder's name in a pattern, or a file's: what it begins and ends with, and whether that is all of it."""

    start: str
    end: str
    is_plain: bool

    @staticmethod
    def of(text: str) -> _Name:
        first, *rest = re.split(r"[*?{}]", text)
        return _Name(first, rest[-1] if rest else first, not rest)

    def differs(self, other: _Name) -> bool:
        """Whether no name is like both."""
        if self.is_plain and other.is_plain:
            return self.start != other.start
        starts = self.start.startswith(other.start) or other.start.startswith(self.start)
        return not (starts and (self.end.endswith(other.end) or other.end.endswith(self.end)))


@lru_cache(maxsize=_KEPT)
def _folders(pattern: str) -> tuple[tuple[_Name, ...], tuple[_Name, ...]]:
    """
    The names that whatever a pattern matches has from its first folder on, and from its last name back: as far as no `**` crosses folders, and no
    brackets may hold a slash.
    """
    names = pattern.split("/")
    first, last = (list(takewhile(_is_within_a_folder, some)) for some in (names, names[::-1]))
    before = names[: len(names) - len(last)]
    while before and before[-1] == "**":
        before.pop()
    if before and not _is_within_a_folder(before[-1]):
        last = last[:-1]  # `a**/b` matches `ab` too
    return tuple(map(_Name.of, first)), tuple(map(_Name.of, last))


def _is_within_a_folder(name: str) -> bool:
    return "**" not in name and "[" not in name


def _are_apart(some: tuple[tuple[_Name, ...], ...], others: tuple[tuple[_Name, ...], ...]) -> bool:
    """Whether a name that both patterns have in the same place tells that no path matches both."""
    return any(
        one.differs(other)
        for mine, theirs in zip(some, others, strict=True)
        for one, other in zip(mine, theirs, strict=False)
    )


@lru_cache(maxsize=4096)
def _share_a_path(one: str, other: str) -> bool:
    """
    The same, decided and not guessed: both are followed at once, character by character, over all states that the two can be in together.
    """
    first, second = _machine(one), _machine(other)
    letters = {*one, *other, "/", _ELSE}
    waiting = [(0, 0)]
    seen = set(waiting)
    while waiting:
        here, there = waiting.pop()
        if here == len(first) and there == len(second):
            return True
        steps = [(left, there) for left in _skipped(first, here)] + [(here, right) for right in _skipped(second, there)]
        steps += [
            (left, right)
            for letter in letters
            for left in _taken(first, here, letter)
            for right in _taken(second, there, letter)
        ]
        for step in steps:
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return False


_ELSE = "\ufffe"
"""Stands for all letters that no pattern names."""
_FOLDER = "[^/]"

_Machine = tuple[tuple[str, str], ...]
"""Atoms, one after another: what a letter has to match, and whether the atom is taken once, any number of times, or (`folders`) as
whole folders with their slash."""


@lru_cache(maxsize=1024)
def _machine(pattern: str) -> _Machine:
    atoms: list[tuple[str, str]] = []
    for part in _PARTS.split(pattern):
        if part == "**/":
            atoms += [(_FOLDER, "folders"), (_FOLDER, "within")]
        elif part == "**":
            atoms.append((".", "many"))
        elif part == "*":
            atoms.append((_FOLDER, "many"))
        elif part == "?":
            atoms.append((_FOLDER, "once"))
        elif wanted := _one_of(part):
            atoms.append((wanted, "once"))
        elif _NAME.fullmatch(part):
            atoms += [(_FOLDER, "once"), (_FOLDER, "many")]
        else:
            atoms += [(re.escape(letter), "once") for letter in part]
    return tuple(atoms)


def _skipped(machine: _Machine, at: int) -> Iterable[int]:
    """The states that are reached without a letter."""
    how = machine[at][1] if at < len(machine) else ""
    return {"many": (at + 1,), "folders": (at + 2,)}.get(how, ())


def _taken(machine: _Machine, at: int, letter: str) -> Iterable[int]:
    """The states that are reached by a letter."""
    if at == len(machine):
        return ()
    wanted, how = machine[at]
    if how == "within" and letter == "/":
        return (at - 1,)
    if re.fullmatch(wanted, letter, re.DOTALL) is None:
        return ()
    return (at + 1,) if how in ("once", "folders") else (at,)

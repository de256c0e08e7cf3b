"""
Path patterns: `*` and `?` stay within a folder, `**` crosses folders, and a name in braces captures one folder.

Used wherever a file of the source is named by a pattern. Matching is on POSIX paths, case-sensitively. Neither a pattern nor a path that
somebody made up for it takes long: of several wildcards in a row each but the last takes the first place where what follows it matches,
and never another. What it leaves the next one can take.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache

_TOKEN = re.compile(r"\*\*/?|\*|/|\[[!^]?\]?[^\]]*\]|\{[a-z]+\}|.", re.DOTALL)
_WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*"}


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """
    The regular expression of a pattern. `{name}` becomes a named group of one folder; where it stands again it is the same folder. A range that
    is none, such as `[z-a]`, matches nothing.
    """
    return re.compile(_regex(_TOKEN.findall(pattern), "", aligned=True), re.DOTALL)


def _regex(tokens: list[str], then: str, *, aligned: bool) -> str:
    """`then` is the wildcard that takes what these tokens leave, if one does. `aligned`: the first of them begins a folder's name."""
    named: set[str] = set()
    parts = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in _WILD:
            until = _until([*tokens, then], at, aligned=aligned)
            if until is None:
                parts.append(_WILD[token])
            else:
                parts.append(
                    f"(?>{_WILD[token]}?{_regex(tokens[at:until], (*tokens, then)[until], aligned=token == '**/')})"
                )
                at = until
        elif token == "?":
            parts.append("[^/]")
        elif _is_range(token):
            parts.append(_range(token))
        elif _is_name(token):
            parts.append(f"(?P={token[1:-1]})" if token in named else f"(?P<{token[1:-1]}>[^/]+)")
            named.add(token)
        else:
            parts.append(re.escape(token))
        aligned = tokens[at - 1] in ("/", "**/")
    return "".join(parts)


def _is_range(token: str) -> bool:
    return token.startswith("[") and len(token) > 2 and token not in ("[!]", "[^]")


def _range(token: str) -> str:
    """`[a-z]` and `[!a]` as a regular expression of one letter, never a slash."""
    return "(?!/)" + fnmatch.translate(token.replace("[^", "[!", 1))[4:-3]


def _is_name(token: str) -> bool:
    return token.startswith("{") and token != "{"


def _until(tokens: list[str], at: int, *, aligned: bool) -> int | None:
    """
    Where the next wildcard is that takes whatever the one before `at` leaves, so that the earliest match of what is between is as good as
    any. None where there is no such wildcard, or where it matters to a captured folder which match it is.
    """
    token = tokens[at - 1]
    if token == "**/" and not aligned:
        return None
    for place in range(at, len(tokens)):
        here = tokens[place]
        if _is_name(here):
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


def matches(pattern: str, path: str) -> bool:
    """Whether the whole path matches the pattern."""
    return compiled(pattern).fullmatch(path) is not None


def matches_any(patterns: Iterable[str], path: str) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def captured(pattern: str, path: str, name: str) -> str | None:
    """What `{name}` stands for in a path that matches, or None where it does not match."""
    found = compiled(pattern).fullmatch(path)
    return found[name] if found else None


def fixed_folder(pattern: str) -> str:
    """The folders before the first wildcard, with a slash at the end: `platform/**` → `platform/`."""
    literal = re.split(r"[*?\[{]", pattern, maxsplit=1)[0]
    return literal[: literal.rfind("/") + 1]


def name_matches_any(patterns: Iterable[str], name: str) -> bool:
    """Shell patterns over a plain name, such as a namespace or a kind."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


@lru_cache(maxsize=4096)
def overlap(one: str, other: str) -> bool:
    """
    Whether there is a path that both patterns match, upper and lower case taken for the same. Decided, not guessed: both are
    followed at once, letter by letter, over all states that the two can be in together. Only that a name in braces which stands twice is
    the same folder is left out of account.
    """
    first, second = _machine(one.casefold()), _machine(other.casefold())
    letters = {*one.casefold(), *other.casefold(), "/", _ELSE}
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
    for token in _TOKEN.findall(pattern):
        if token == "**/":
            atoms += [(_FOLDER, "folders"), (_FOLDER, "within")]
        elif token in _WILD:
            atoms.append(("." if token == "**" else _FOLDER, "many"))
        elif token == "?":
            atoms.append((_FOLDER, "once"))
        elif _is_range(token):
            atoms.append((_range(token), "once"))
        elif _is_name(token):
            atoms += [(_FOLDER, "once"), (_FOLDER, "many")]
        else:
            atoms += [(re.escape(letter), "once") for letter in token]
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

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

NAME = re.compile(r"\{[a-z]+\}")
PARTS = re.compile(r"(\*\*/?|\*|\?|\[[^\]]*\]|\{[a-z]+\})")
KEPT = 1 << 15
"""So many patterns are kept compiled. Where paths are held against one after another, of one more than are kept none would be there again."""
_WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*"}


@lru_cache(maxsize=KEPT)
def compiled(pattern: str, *, captures: bool = True) -> re.Pattern[str]:
    """
    The regular expression of a pattern. `{name}` becomes a named group of one folder, where it stands first. Unless it `captures`: then it is only a
    letter and more, so that the wildcards around it may take the first place as well.
    """
    tokens = [
        token
        for part in PARTS.split(pattern)
        for token in ([part] if PARTS.fullmatch(part) else re.split("(/)", part))
        if token
    ]
    if not captures:
        tokens = [one for token in tokens for one in (("?", "*") if NAME.fullmatch(token) else (token,))]
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
        elif wanted := one_of(token):
            parts.append(wanted)
        elif NAME.fullmatch(token):
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
        if NAME.fullmatch(here):
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


def one_of(part: str) -> str:
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


def is_plain(name: str) -> bool:
    """Whether a pattern has no wildcard, so that it matches itself alone. A name in braces is none."""
    return not any(sign in name for sign in "*?[")


def name_matches_any(patterns: Iterable[str], name: str) -> bool:
    """Shell patterns over a plain name, such as a namespace or a kind."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

"""
Path patterns: `*` and `?` stay within a folder, `**` crosses folders, and a name in braces captures one folder.

Used wherever a file of the source is named by a pattern. Matching is on POSIX paths, case-sensitively.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern. `{name}` becomes a named group of one folder."""
    parts = []
    for part in re.split(r"(\*\*/?|\*|\?|\[[^\]]*\]|\{[a-z]+\})", pattern):
        if part == "**/":
            parts.append("(?:[^/]+/)*")
        elif part == "**":
            parts.append(".*")
        elif part == "*":
            parts.append("[^/]*")
        elif part == "?":
            parts.append("[^/]")
        elif part.startswith("[") and part.endswith("]"):
            parts.append("[" + part[1:-1].replace("\\", "\\\\").replace("!", "^", 1) + "]")
        elif part.startswith("{") and part.endswith("}"):
            parts.append(f"(?P<{part[1:-1]}>[^/]+)")
        else:
            parts.append(re.escape(part))
    return re.compile("".join(parts), re.DOTALL)


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

"""
Paths of a source that nobody gives a file in good faith, or that not every machine can hold.

Git takes nearly any bytes for a name. A name with a turned writing direction or a line break in it deceives whoever reviews it, one with
a backslash or a dot at its end is another file on Windows, and one of 300 bytes is none at all on Linux. One that ends in `.YAML` is a
manifest to whoever wrote it, and to no tool that syncs it. Such a file is refused by itself, and all others are read. What git itself refuses
to hold does not come as far as here: only a forged commit has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gitplacer.plaintext import UNSEEN
from gitplacer.source.files import is_read, is_read_but_for_case

MAX_SEGMENT = 255
"""Bytes of one part of a path: NAME_MAX of Linux."""
MAX_PATH = 4096
"""Bytes of a path: PATH_MAX of Linux."""
MAX_FOLDERS = 64
"""Folders that a file may be in."""

_LOST_AT_END = re.compile(r"[. ](?=/|$)")
# Like `.git` to file systems that drop what cannot be seen, or have short names: a plain git on Linux takes both.
_IGNORED = "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]*"
_DOT_GIT = re.compile(rf"(?:^|[/\\])(?:{_IGNORED}{_IGNORED.join('.git')}{_IGNORED}|git~[0-9])[. ]*(?=[/\\:]|$)", re.I)


def odd_paths(paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """What is odd about each odd one of the paths, and what to do. Of what is not read an ending in capitals is, and a disguised `.git`."""
    found = {}
    for path in paths:
        odd = _oddity(path) if is_read(path) else ending_in_capitals(path) or _disguise(path)
        if odd is not None:
            found[path] = odd
    return found


def _oddity(path: str) -> tuple[str, str] | None:
    unseen = UNSEEN.search(path)
    if unseen is not None:
        what = f"has a character in its path that cannot be seen: U+{ord(unseen[0]):04X}"
        return what, "rename it, with letters that a reviewer sees"
    if "\\" in path:
        return "has a backslash in its path, or bytes that are not UTF-8", "rename it; folders are parted by a slash"
    lost = _LOST_AT_END.search(path)
    if lost is not None:
        part = path[: lost.end()].rpartition("/")[2]
        return f'has "{part}" in its path, which ends with a dot or a space', "rename it: Windows drops them"
    size = len(path.encode())
    longest = max(len(part.encode()) for part in path.split("/")) if size > MAX_SEGMENT else 0
    if longest > MAX_SEGMENT:
        return f"has a part of {longest} bytes in its path, more than {MAX_SEGMENT}", "give it a shorter name"
    if size > MAX_PATH:
        return f"has a path of {size:,} bytes, more than {MAX_PATH:,}", "give its folders shorter names"
    if path.count("/") > MAX_FOLDERS:
        return f"is in {path.count('/')} folders, more than {MAX_FOLDERS}", "move it up"
    return _disguise(path)


def ending_in_capitals(path: str) -> tuple[str, str] | None:
    """What to say of a path that would be read if its ending were in lower case, and what to do; None of any other."""
    if not is_read_but_for_case(path):
        return None
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    what = f"ends in .{ending}, and only endings in lower case are read, also by Argo CD, Flux and kubectl"
    return what, f"rename it to {stem}.{ending.lower()}, or take it out"


def _disguise(path: str) -> tuple[str, str] | None:
    if ("~" not in path and path.isascii()) or _DOT_GIT.search(path) is None:
        return None
    return "has a folder in its path that is .git to some file systems", "find out who made it, and remove it"

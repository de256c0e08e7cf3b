"""
Changes to files as a patch that `git apply` takes.

The lines of a patch are those of the files, byte for byte: only line feeds end a line, and a last line without one is said to
have none. Paths with anything unusual in them are quoted as git does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitplacer.linediff import unified
from gitplacer.tree import Changes, Tree

_USUAL = re.compile(r"[A-Za-z0-9_./+@=,-]+")


def patch(before: Tree, changes: Changes, folder: str = "") -> bytes:
    """The patch from a tree to what changes make of it. `folder` is where the tree is in its repository."""
    return b"".join(part for path in sorted(changes.written) for part in _file(before, changes, path, folder))


def _file(before: Tree, changes: Changes, path: str, folder: str) -> Iterator[bytes]:
    old = before.read(path) if path in before else None
    new = changes.written[path]
    if old == new:
        return
    full = f"{folder.rstrip('/')}/{path}" if folder else path
    ours, theirs = _quoted(f"a/{full}"), _quoted(f"b/{full}")
    yield b"diff --git %s %s\n" % (ours, theirs)
    if old is None:
        yield b"new file mode 100644\n"
    if old is None and not new:
        return
    yield b"--- %s\n+++ %s\n" % (b"/dev/null" if old is None else ours, theirs)
    lines = [text.split(b"\n") for text in (old or b"", new)]
    kept = [[*(line + b"\n" for line in found[:-1]), *([found[-1]] if found[-1] else [])] for found in lines]
    before_it, after_it = ([line.decode("latin-1") for line in found] for found in kept)  # each byte a letter
    for told in unified(before_it, after_it):
        line = told.encode("latin-1")
        if told.startswith("@@"):
            yield line + b"\n"
        else:
            yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _quoted(path: str) -> bytes:
    if _USUAL.fullmatch(path):
        return path.encode()
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}" for byte in path.encode()
    )
    return f'"{escaped}"'.encode()

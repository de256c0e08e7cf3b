"""
The pages of a comment and the plan that goes with them, read from files.

They may come out of an archive that another job made, so only plain files of reasonable size are read: a link in such an archive
would publish whatever it points to.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from gitplacer.plaintext import printable
from gitplacer.settings import UsageError

_MOST = 50
_LARGEST = 4_000_000
_PLAIN = "links and pipes are not read; give the file itself"


def read_pages(folder: Path) -> list[str]:
    """The text of each `*.md` of a directory, by the numbers in their names. Raises UsageError."""
    if not folder.is_dir():
        raise UsageError(f"there is no directory {printable(str(folder))}", "write the pages there first")
    paths = sorted(folder.glob("*.md"), key=_order)
    if not paths:
        raise UsageError(f"{printable(str(folder))} has no pages", "they are files whose names end in .md")
    if len(paths) > _MOST:
        raise UsageError(f"{printable(str(folder))} has {len(paths)} pages", f"{_MOST} are read at most")
    return [read_text(path) for path in paths]


def read_text(path: Path) -> str:
    """The text of one plain file. Raises UsageError."""
    try:
        return read_plain(path, _LARGEST).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{printable(str(path))} is not UTF-8") from None


def read_plain(path: Path, largest: int) -> bytes:
    """The bytes of one plain file. No link to one is followed, and nobody waits for who writes into a pipe. Raises UsageError."""
    name = printable(str(path))
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise UsageError(f"{name} is no plain file", _PLAIN)
            if about.st_size > largest:
                raise UsageError(f"{name} has {about.st_size} bytes", f"{largest} are read at most")
            return file.read(largest)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{name} is no plain file", _PLAIN) from None
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None


def _order(path: Path) -> list[tuple[int, int | str]]:
    """`plan-2.md` before `plan-10.md`."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"([0-9]+)", path.name)]

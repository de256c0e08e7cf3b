"""
Folders of this machine that git writes to for us, and what to tell when they take nothing more.

Git says it in many ways, some without a reason ("could not set 'core.filemode' to 'true'"), and a fetch that cannot keep what it brings
ends as one does whose server is away. So where git fails, the folder is asked: a file is written there and taken away. A full disk is
also believed from what git says, because git has put its own files away by then, and there may be room again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gitplacer.git.program import CommandFailed, GitError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_CLOSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_SAYS_FULL = re.compile(
    r"^(?:fatal|error): .*(No space left on device|Disk quota exceeded|Out of diskspace)", re.MULTILINE
)
"""In what git says itself, which a server's lines do not begin with."""
_TRIED = bytes(1 << 16)
"""Where no more than this can be written, a disk is full."""


class NotStored(GitError):
    """A folder of this machine takes nothing more."""

    kind = "NotStored"


@contextlib.contextmanager
def stored_in(folder: Path, variable: str = "") -> Iterator[None]:
    """
    Tell of what could not be written below `folder` as that: raises NotStored instead of the CommandFailed or OSError that came of it, and
    lets others pass. `variable` of the environment is what names another folder. To be put around what writes nowhere else.
    """
    try:
        yield
    except CommandFailed as failure:
        found = _tried(folder) or _said(failure)
        if found is None:
            raise
        raise not_stored(folder, found, variable) from None
    except OSError as error:
        if error.errno not in _FULL | _CLOSED:
            raise
        raise not_stored(folder, error, variable) from None


def not_stored(folder: Path, error: OSError, variable: str) -> NotStored:
    """What to tell of a folder that takes nothing more."""
    # A full disk is full for every file; but one file alone may be somebody else's.
    where = error.filename if isinstance(error.filename, str) and error.errno in _CLOSED else folder
    elsewhere = f"set {variable} to a directory of your own"
    if error.errno in _FULL:
        hint = f"make room there, or {elsewhere} that has some" if variable else "make room there"
    else:
        hint = elsewhere if variable else "let this user write there"
    return NotStored(f"cannot write to {where}: {error.strerror}", hint=hint)


def _said(failure: CommandFailed) -> OSError | None:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if _SAYS_FULL.search(failure.stderr) else None


def _tried(folder: Path) -> OSError | None:
    """Why nothing can be written there; None where it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(_TRIED)
            file.flush()
    except OSError as error:
        return OSError(error.errno, error.strerror) if error.errno in _FULL | _CLOSED else None
    return None

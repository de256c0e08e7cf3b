"""
Folders for work in progress, which are gone afterwards, also where somebody was killed while it had one.

Whoever has one holds a lock on it, which the system gives back however it ends; so a folder whose lock can be had belongs to nobody, and the next
one that needs a folder takes it away. What is killed once an hour for a year leaves one folder behind, not thousands.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gitplacer.git.storing import NotStored, stored_in

_PREFIX = "gitplacer-scratch-"
_VARIABLE = "TMPDIR"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder below the system's one for temporary files, only for us. Raises NotStored, also for what its user could not write there."""
    below = _below()
    _sweep(below)
    with stored_in(below, _VARIABLE):
        folder, lock = _locked_folder()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _below() -> Path:
    """The system's folder for temporary files."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise NotStored(
            "no directory for temporary files can be written to", hint=f"set {_VARIABLE} to one that can"
        ) from None


def _locked_folder() -> tuple[Path, int]:
    """A new folder and its lock. Between the two somebody else may take it for one that was left; then there is another."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = _lock(folder)
        if lock is not None and folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """The lock on a folder, as an open file; None where somebody has it, or it is no folder of ours."""
    try:
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(found).st_uid == os.getuid():
            return found
    except OSError:
        pass
    os.close(found)
    return None


def _sweep(below: Path) -> None:
    with contextlib.suppress(OSError):
        for folder in below.glob(f"{_PREFIX}*"):
            lock = _lock(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)

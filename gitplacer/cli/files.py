"""
Files that a command was asked to read or to write. What is read has a bound, also where it has no end. What is written is whole or not at all,
so that whoever sees one sees all of it. A text that tells of a fleet goes through the redactor, as it would on stdout; bytes are what they are.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gitplacer.cli.streams import naming
from gitplacer.plaintext import pasted
from gitplacer.wholefile import replace_file


def read_file(name: str) -> bytes:
    """The bytes of a file, or of stdin for `-`. Raises OSError, which names it, also where there is more than any file of ours may have."""
    import sys

    from gitplacer.source.files import MAX_SNAPSHOT

    with naming("stdin" if name == "-" else name):
        if name == "-":
            data = sys.stdin.buffer.read(MAX_SNAPSHOT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_SNAPSHOT + 1)
        if len(data) > MAX_SNAPSHOT:
            raise OSError(errno.EFBIG, f"more than {MAX_SNAPSHOT:,} bytes")
    return data


def writable(target: Path, example: str) -> Path:
    """A file, if there is a place for it: what is to be written takes a while to make, so a mistake is told before."""
    from gitplacer.settings import UsageError

    if target.is_dir():
        raise UsageError(f"{target} is a directory", f"name a file in it: -o {pasted(target / example)}")
    if not target.parent.is_dir():
        raise UsageError(f"there is no directory {target.parent}", f"make it: mkdir -p {pasted(target.parent)}")
    return target


def new_folder(name: str) -> Path:
    """A directory that is not there yet, or has nothing in it but a .git. Raises UsageError."""
    from gitplacer.settings import UsageError

    top = Path(name)
    if top.exists() and not top.is_dir():
        raise UsageError(f"{name} is a file", "name a new directory")
    if top.is_dir() and any(entry.name != ".git" for entry in top.iterdir()):
        raise UsageError(f"{name} is not empty", "name a new directory")
    return top


def write_whole(target: Path, data: bytes) -> None:
    """Replace a file; a device or a pipe is written to. Raises OSError, which names it."""
    if target.exists() and not target.is_file():
        with naming(str(target)):
            target.write_bytes(data)
        return
    place = target.resolve()  # what a link points to is replaced, not the link
    with naming(str(target), instead=True):
        replace_file(place, data, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())


def write_text(target: Path, text: str) -> None:
    """Replace a file by a text without secrets. Raises OSError."""
    from gitplacer.redactor import redact

    write_whole(target, redact(text).encode())


def write_folder(top: Path, files: Mapping[str, bytes]) -> list[str]:
    """
    Fill a folder that is not there, or has nothing of these names; returns the paths of the files, sorted. They are written beside it and
    moved into it, so an interruption leaves the folder as it was. Raises OSError.
    """
    beside = top.resolve().parent
    if beside.exists() and not beside.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(beside))
    with naming(str(top), instead=True):
        beside.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{top.resolve().name[:100]}.", dir=beside))
    moved: list[Path] = []
    try:
        stage.chmod(0o777 & ~_umask())
        for path, data in files.items():
            place = stage / path
            place.parent.mkdir(parents=True, exist_ok=True)
            with naming(str(top / path)):
                place.write_bytes(data)
        if not top.exists():
            stage.rename(top)
            return sorted(files)
        for entry in sorted(stage.iterdir()):
            moved.append(entry)
            entry.rename(top / entry.name)
        stage.rmdir()
    except BaseException:
        for entry in moved:
            if not entry.exists() and (top / entry.name).exists():
                (top / entry.name).rename(entry)
        shutil.rmtree(stage, ignore_errors=True)
        raise
    return sorted(files)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

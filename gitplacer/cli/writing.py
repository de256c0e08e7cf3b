"""Files that a command writes for somebody: replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gitplacer.settings import UsageError


def writable(target: Path) -> Path:
    """The file, if there is a place for it: planning takes a while, so a mistake is told before."""
    if target.is_dir():
        raise UsageError(f"{target} is a directory", f"name a file in it: -o {target / 'fleet.html'}")
    if not target.parent.is_dir():
        raise UsageError(f"there is no directory {target.parent}", f"make it: mkdir -p {target.parent}")
    return target


def write(target: Path, data: bytes) -> Path:
    """Replace a file whole or not at all; a device or a pipe is written to."""
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return target
    place = target.resolve()  # what a link points to is replaced, not the link
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name[:100]}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
        Path(temporary).replace(place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""
Files replaced whole or not at all: whoever reads one while it is written, or after somebody was killed over it, sees the old one or the new one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(place: Path, data: bytes, mode: int = 0o600) -> None:
    """
    Write a file beside `place`, and move it there. Each writer has a file of its own for it, so that two at the same time are in nobody's way.
    `place` is replaced itself, where it is a link too. Raises OSError, and leaves nothing beside then.
    """
    handle, beside = tempfile.mkstemp(prefix=f".{place.name[:100]}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).chmod(mode)
        Path(beside).replace(place)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise

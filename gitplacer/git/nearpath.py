"""
What path somebody may have meant, for a file or a directory that is not there.
"""

from __future__ import annotations

from pathlib import Path

from gitplacer.problems import meant


def near_path(path: Path) -> str:
    """`did you mean "x"?`, of what is beside it or beside the first directory above it that is missing; empty where nothing is near."""
    while not path.parent.exists() and path.parent != path:
        path = path.parent
    try:
        return meant(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return ""

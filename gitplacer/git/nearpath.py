"""
What path somebody may have meant, for a file or a directory that is not there.
"""

from __future__ import annotations

from pathlib import Path

from gitplacer.problems import near


def near_path(path: Path) -> str:
    """
    `did you mean "x"?`, of what is beside it or beside the first directory above it that is missing; empty where nothing is near. That
    two names end in .yaml makes neither of them near.
    """
    while not path.parent.exists() and path.parent != path:
        path = path.parent
    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    alike = {name.removesuffix(path.suffix): name for name in beside if path.suffix and name.endswith(path.suffix)}
    found = alike.get(near(path.stem, alike), "") or near(path.name, set(beside) - set(alike.values()))
    return f'did you mean "{found}"?' if found else ""

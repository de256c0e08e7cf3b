"""
Files that travel with the code: the example fleet, what `init` starts from, what `adopt` tells, the parts of
`report`'s page, and the schemas.

The wheel holds all of them below `gitplacer/data/`; in a checkout the example and the schemas stand beside the package,
where people look for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

EXAMPLE = "fleet-repo-example"
SCHEMAS = "schemas"
STARTER = "starter"
ADOPTED = "adopted"
REPORT = "report"


def packaged(name: str) -> dict[str, bytes]:
    """The files of one packaged directory by relative POSIX path, sorted. Raises FileNotFoundError."""
    return dict(sorted(_walk(_folder(name), "")))


def packaged_names(name: str) -> list[str]:
    """What is in one packaged directory, sorted, without reading it. Raises FileNotFoundError."""
    return sorted(entry.name for entry in _folder(name).iterdir())


def _folder(name: str) -> Traversable:
    inside = files("gitplacer") / "data" / name
    beside = Path(__file__).resolve().parent.parent / name
    folder: Traversable = inside if inside.is_dir() else beside
    if not folder.is_dir():
        raise FileNotFoundError(f"this installation of gitplacer lacks its directory {name}")
    return folder


@cache
def code_digest() -> str:
    """The digest of all code and data of this installation: where it is the same, the same is computed."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent
    for path in sorted((*root.rglob("*.py"), *(root / "data").rglob("*"))):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif entry.is_file():
            yield path, entry.read_bytes()

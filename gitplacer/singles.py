"""
Files that hold exactly one object of ours: capacity snapshots, and what the deployment repo remembers.

Such a file is called after its object. One that cannot be read, holds something else or is called otherwise is named, so that nobody takes
what should be in it for what is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from gitplacer.documents import Document
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import is_own, misplaced, parse_own
from gitplacer.problems import Location, Problem
from gitplacer.source.files import Reading

Kind = TypeVar("Kind", bound=Model)


def single_objects(
    kind: type[Kind], reading: Reading, folder: str, problems: list[Problem], hint: str = ""
) -> Iterable[tuple[str, tuple[Document, Kind] | None]]:
    """
    The one object of each file, with its document; None for a file without one of the kind, or with several. `hint` says what
    to do about what is not of ours, where that is not to keep it elsewhere.
    """
    for path, items in sorted(reading.documents.items()):
        if path in reading.broken:
            continue
        if len(items) != 1:
            has = f"holds {len(items)} documents" if items else "holds no document"
            said = f"{has}, and must hold exactly one: a {kind.__name__}"
            is_ours = any(is_own(item.document) for item in items)
            otherwise = hint or ("move it elsewhere" if items else "")
            todo = "give each a file of its own" if is_ours else otherwise
            problems.append(Problem(Location(folder + path), "NotOneDocument", said, todo))
            yield path, None
            continue
        document = items[0].document
        parsed = _parse_as(kind, document, problems, hint or "move it elsewhere")
        yield path, None if parsed is None else (document, parsed)


def _parse_as(kind: type[Kind], document: Document, problems: list[Problem], hint: str) -> Kind | None:
    parsed = parse_own(document) if is_own(document) else None
    if isinstance(parsed, kind):
        return parsed
    if isinstance(parsed, list):
        problems.extend(parsed)
    else:
        problems.append(misplaced(document, kind.__name__, hint))
    return None


def stem(path: str) -> str:
    """What a file is called, without its folder and its ending."""
    return path.rpartition("/")[2].rpartition(".")[0]

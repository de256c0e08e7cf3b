"""
Our own kinds as files that people will read and go on writing by hand.

Each file begins with where its object came from, holds one object, and has been read back by the parser of its kind: what the parser
refuses is not written but handed back, so that an importer cannot make a file that `validate` would complain of.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Document, parse
from gitplacer.kinds.fields import API_VERSION, Model
from gitplacer.kinds.parse import parse_own
from gitplacer.plaintext import printable
from gitplacer.problems import Location, Problem
from gitplacer.yamltext import to_yaml

_LONGEST_LABEL = 63
_WIDTH = 110


class Names:
    """Names that are given once each, in one set of objects or one folder."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, wanted: str, ending: str = "") -> str:
        """The name, or the first of name-2, name-3 … that nobody has. `ending` stays at the end."""
        found = wanted + ending
        key = found.casefold()
        number = self._next.get(key, 1)
        while found.casefold() in self._taken:
            number += 1
            found = f"{wanted[: _LONGEST_LABEL - len(str(number)) - 1]}-{number}{ending}"
        self._next[key] = number
        self._taken.add(found.casefold())
        return found


def valid_name(text: str, otherwise: str) -> str:
    """The text as a DNS label: lower case, letters, digits and dashes, 63 of them at most; `otherwise` where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_LONGEST_LABEL].strip("-") or otherwise


def file_name(path: str) -> tuple[str, str]:
    """The name of a file without its folders, harmless everywhere, and its ending, which is one that is read."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem if dot else ending).strip(".-")[:100] or "file"
    return name, f".{ending}" if dot and ending in ("yaml", "yml", "json") else ".yaml"


def own_file(kind: str, name: str, spec: Mapping[str, Any], *, comments: tuple[str, ...], **more: Any) -> bytes:
    """The file of one object: comments, then its YAML. `more` goes into its metadata, but for what is empty."""
    metadata = {"name": name, **{key: value for key, value in more.items() if value}}
    value = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)}
    return header(comments) + to_yaml(value)


def header(comments: tuple[str, ...]) -> bytes:
    """Sentences as lines of a YAML comment."""
    lines = [line for text in comments for line in textwrap.wrap(printable(text, 2000), _WIDTH)]
    return "".join(f"# {line}\n" for line in lines).encode()


def read_back(data: bytes) -> Model | list[Problem]:
    """The object in a file of ours, or what its parser refuses."""
    parsed = parse(data)
    if parsed.faults:
        return [Problem(Location("", f.line, f.column), f.code, f.message, f.hint) for f in parsed.faults]
    return parse_own(Document("", parsed.documents[0], 0, lambda: data))

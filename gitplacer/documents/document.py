"""
A document at its place: a value, the file it stands in, and positions on demand.

The value comes from the parse cache; the file's bytes are fetched only when a problem wants a position or an edit
wants the text, which is rare, and then the document is composed again with marks, once for all problems in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from gitplacer.documents import write
from gitplacer.documents.compose import Node
from gitplacer.documents.cursor import Cursor
from gitplacer.documents.findings import Findings
from gitplacer.documents.parse import BOM, ParsedDocument, Path, follow, load, marked
from gitplacer.documents.patch import Edit
from gitplacer.documents.sections import splice_sections
from gitplacer.documents.syntax import line_starts
from gitplacer.problems import Location, Problem, Severity


@dataclass(frozen=True, eq=False)
class Document:
    """One object in one file. `index` counts a file's documents from 0; `read` returns the file's bytes."""

    file: str
    parsed: ParsedDocument
    index: int
    read: Callable[[], bytes] = field(repr=False)

    @property
    def value(self) -> dict[str, Any]:
        return self.parsed.value

    def locate(self, path: Path = (), *, key: bool = False) -> Location:
        """Where the value at the path stands, or its key; where there is no such path, its nearest ancestor's key."""
        sheet = self._sheet
        if not path and not self.parsed.prefix and self.parsed.sections:
            # It begins with its first key, and where that stands is known.
            return Location(self.file, *sheet.position(self.parsed.sections[0]))
        root = sheet.root
        node, key_node, found = follow(root, (*self.parsed.prefix, *path)) if root else (None, None, False)
        if key_node is not None and (key or not found):
            node = key_node
        return Location(self.file, *sheet.position(node.start if node is not None else 0))

    def places(self) -> list[tuple[int, int]]:
        """The line and column of each of its keys and values, in order: all that `locate` may ever tell."""
        sheet = self._sheet
        return [sheet.position(node.start) for node in _nodes(sheet.root)] if sheet.root is not None else []

    def scalars(self) -> Iterator[tuple[Path, bool, str, Any]]:
        """
        The path of each scalar, whether it is the key there, its text as it is written, anchor, tag and quotes included, and its value. What an alias or a merge
        key stands for is told where it is written.
        """
        root = self._sheet.root
        node, _, found = follow(root, self.parsed.prefix) if root is not None else (None, None, False)
        if node is None or not found:
            return
        text = self._sheet.text
        for path, is_key, scalar in _scalars(node, ()):
            yield path, is_key, text[scalar.start : scalar.end], scalar.value

    def problem(
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        path: Path = (),
        key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """A problem at this place."""
        return Problem(self.locate(path, key=key), code, message, hint, severity)

    def source(self) -> bytes:
        """
        The document's own bytes. An item of a List is cut out and moved to the left margin; where that would change its
        value (an alias to another item), it is written anew.
        """
        if not self.parsed.prefix:
            return self.read()[self.parsed.start : self.parsed.end]
        root = self._sheet.root
        node, _, found = follow(root, self.parsed.prefix) if root is not None else (None, None, False)
        if node is not None and found and not node.alias:
            cut = _cut(self._sheet.text, node)
            documents, flaws = load(cut)
            if not flaws and len(documents) == 1 and documents[0].value == self.value:
                return cut.encode()
        return write.dump(self.value)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """`source()` with the edits made. Raises EditError."""
        return splice_sections(self.source(), edits, self.parsed)

    def beside(self, words: bytes) -> bool:
        """Whether the words stand anywhere in its file."""
        return _holds(self.read(), words)

    def cursor(self) -> Cursor:
        """A typed getter at the document's root."""
        return Cursor(self, (), self.value, Findings(self))

    @cached_property
    def _sheet(self) -> _Sheet:
        return _sheet(self.read(), self.parsed.start, self.parsed.end)


class _Sheet:
    """The text of a document, the marks of its values, and where it stands in its file."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.text = data[start:end].decode().removeprefix(BOM)
        line_start = data.rfind(b"\n", 0, start) + 1
        self._first_line = data.count(b"\n", 0, start) + 1
        self._first_column = len(data[line_start:start].decode().removeprefix(BOM)) + 1

    @cached_property
    def root(self) -> Node | None:
        return marked(self.text)

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.text)

    def position(self, at: int) -> tuple[int, int]:
        """Line and column in the file, from 1, of a character index of the text."""
        line = bisect_right(self._line_starts, at)
        column = at - self._line_starts[line - 1] + 1
        return self._first_line + line - 1, column if line > 1 else self._first_column + column - 1


@lru_cache(maxsize=2)
def _holds(data: bytes, words: bytes) -> bool:
    """Remembered for documents of one file, which may be many."""
    return words in data


@lru_cache(maxsize=1)
def _sheet(data: bytes, start: int, end: int) -> _Sheet:
    """Remembered for the items of a List, which share a text: it is composed once, whatever is wrong in how many of them."""
    return _Sheet(data, start, end)


def _nodes(node: Node) -> Iterator[Node]:
    """A node and what is below it; what is below an alias stands elsewhere."""
    yield node
    if not node.alias:
        for pair in (node.pairs or {}).values():
            yield from (*_nodes(pair.key), *_nodes(pair.value))
        for item in node.items or ():
            yield from _nodes(item)


def _scalars(node: Node, path: Path) -> Iterator[tuple[Path, bool, Node]]:
    if node.alias:
        return
    if node.pairs is None and node.items is None:
        yield path, False, node
    for name, pair in (node.pairs or {}).items():
        if not pair.merged:
            yield (*path, name), True, pair.key
            yield from _scalars(pair.value, (*path, name))
    for index, item in enumerate(node.items or ()):
        yield from _scalars(item, (*path, index))


def _cut(text: str, node: Node) -> str:
    """The lines of a value, moved to the left margin."""
    line_start = text.rfind("\n", 0, node.start) + 1
    line_end = text.find("\n", node.end)
    end = node.end if node.flow or line_end < 0 else line_end
    indent = len(text[line_start:]) - len(text[line_start:].lstrip(" ")) if node.flow else node.start - line_start
    first, *rest = text[node.start : end].split("\n")
    lines = [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in rest]
    return "\n".join([first, *lines]).rstrip("\r") + "\n"

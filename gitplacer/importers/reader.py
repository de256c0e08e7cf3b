"""
A reader of foreign objects that remembers what it was asked for.

A converter asks for the fields it knows. Whatever was never asked for was not understood, and `unread` names it, at any depth: so no
field is dropped in silence, also none that a later version of the other system brings. What has another type than it should is a
problem of the cursor behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gitplacer.documents import Cursor, Document, Path
from gitplacer.model.resources import Resources
from gitplacer.problems import Problem

T = TypeVar("T")


class Reader:
    """A mapping inside a foreign document. Readers made from one share what they remember."""

    def __init__(self, cursor: Cursor, asked: set[Path], whole: set[Path]) -> None:
        self.cursor = cursor
        self._asked = asked
        self._whole = whole

    @staticmethod
    def of(document: Document) -> Reader:
        return Reader(document.cursor(), {()}, set())

    @property
    def document(self) -> Document:
        return self.cursor.document

    @property
    def path(self) -> Path:
        return self.cursor.path

    @property
    def problems(self) -> list[Problem]:
        """What is of the wrong type, sorted."""
        return self.cursor.problems.told()

    def has(self, key: str) -> bool:
        return self.cursor.has(key)

    @property
    def fields(self) -> list[str]:
        """The keys that are written, in their order."""
        return self.cursor.keys()

    def at(self, key: str) -> Path:
        return (*self.path, key)

    def mapping(self, key: str) -> Reader:
        """The mapping at the key, which is asked for its own fields."""
        self._asked.add(self.at(key))
        return Reader(self.cursor.mapping(key), self._asked, self._whole)

    def items(self, key: str) -> list[Reader]:
        """The mappings of the list at the key."""
        self._asked.add(self.at(key))
        found = self.cursor.items(key)
        self._asked.update(item.path for item in found)
        return [Reader(item, self._asked, self._whole) for item in found]

    def text(self, key: str, default: str = "") -> str:
        return self._read(key, lambda: self.cursor.text(key, default))

    def texts(self, key: str) -> tuple[str, ...]:
        return self._read(key, lambda: self.cursor.texts(key))

    def integer(self, key: str) -> int | None:
        return self._read(key, lambda: self.cursor.integer(key))

    def boolean(self, key: str) -> bool:
        return self._read(key, lambda: self.cursor.boolean(key))

    def labels(self, key: str) -> dict[str, str]:
        return self._read(key, lambda: self.cursor.labels(key))

    def quantities(self, key: str) -> Resources:
        return self._read(key, lambda: self.cursor.quantities(key))

    def value(self, key: str) -> Any:
        """Whatever stands at the key, as it is."""
        return self._read(key, lambda: self.cursor.value.get(key))

    def report(self, code: str, message: str, hint: str = "", *, key: str | None = None) -> None:
        """A problem here, or at the key."""
        self.cursor.report(code, message, hint, key=key)

    def unread(self) -> Iterator[Path]:
        """The paths of what nobody asked for, each as high up as possible, in the document's order."""
        yield from self._unread(self.document.value, ())

    def beside(self, path: Path) -> list[str]:
        """The fields that were asked for in the mapping that a path leads into, and that are not written there."""
        written: Any = self.document.value
        for step in path[:-1]:
            written = written[step]
        if not isinstance(written, dict):
            return []
        asked = {one[-1] for one in (*self._asked, *self._whole) if len(one) == len(path) and one[:-1] == path[:-1]}
        return sorted(str(one) for one in asked if one not in written)

    def _unread(self, value: Any, path: Path) -> Iterator[Path]:
        if path in self._whole or value is None:  # which is as good as absent
            return
        if path not in self._asked:
            yield path
            return
        below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, item in below:
            yield from self._unread(item, (*path, step))

    def _read(self, key: str, read: Callable[[], T]) -> T:
        self._whole.add(self.at(key))
        return read()

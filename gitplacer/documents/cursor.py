"""
A typed getter that never raises.

Whoever reads an object says what it expects at each key and goes on; what is wrong is collected, with its position,
in one list that all cursors of a document share (see `findings`). Absent and null are the same, as they are to Kubernetes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gitplacer.documents.findings import Findings
from gitplacer.documents.parse import Path
from gitplacer.model import quantity
from gitplacer.model.resources import Resources
from gitplacer.problems import Severity

if TYPE_CHECKING:
    from gitplacer.documents.document import Document

_QUOTE = "put it in quotes"
_UNQUOTE = "remove the quotes"
_QUOTED = {
    "a number": re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII),
    "a whole number": re.compile(r"-?[0-9]{1,18}", re.ASCII),
    "true or false": re.compile(r"true|false"),
}
"""Texts that would be what is wanted without their quotes."""


class Cursor:
    """A mapping inside a document, at `path`; `problems` is shared by all cursors made from one."""

    __slots__ = ("document", "path", "problems", "value")

    def __init__(self, document: Document, path: Path, value: dict[str, Any], problems: Findings) -> None:
        self.document = document
        self.path = path
        self.value = value
        self.problems = problems

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.value.get(key) is not None

    def keys(self) -> list[str]:
        """The keys that are written, in their order."""
        return list(self.value)

    def mapping(self, key: str) -> Cursor:
        """The mapping at the key; an empty one when there is none."""
        value = self.value.get(key)
        if not isinstance(
            value, dict
        ):  # asked for sixty times in a Ray manifest, so `_mapping` is not called to ask again
            value = {} if value is None else self._mapping(key)
        return Cursor(self.document, (*self.path, key), value, self.problems)

    def items(self, key: str) -> list[Cursor]:
        """The mappings in the list at the key; their paths keep the list's indexes."""
        found: list[Cursor] = []
        if self.value.get(key) is None:
            return found
        for index, item in enumerate(self._list(key)):
            path = (*self.path, key, index)
            if isinstance(item, dict):
                found.append(Cursor(self.document, path, item, self.problems))
            else:
                self._wrong_type(path, item, "a mapping")
        return found

    def text(self, key: str, default: str = "", *, hint: str = "") -> str:
        """The string at the key. The hint is for whoever wrote something else that quotes do not mend."""
        value = self.value.get(key)
        if isinstance(value, str):
            return value
        if value is not None:
            self._wrong_type((*self.path, key), value, "text", hint)
        return default

    def integer(self, key: str, default: int | None = None) -> int | None:
        """The integer at the key."""
        value = self.value.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is not None:
            self._wrong_type((*self.path, key), value, "a whole number")
        return default

    def number(self, key: str) -> int | float | None:
        """The number at the key, whole or not."""
        value = self.value.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        if value is not None:
            self._wrong_type((*self.path, key), value, "a number")
        return None

    def boolean(self, key: str, default: bool = False) -> bool:
        """The boolean at the key."""
        value = self.value.get(key)
        if isinstance(value, bool):
            return value
        if value is not None:
            self._wrong_type((*self.path, key), value, "true or false")
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        """The strings in the list at the key."""
        found = []
        for index, item in enumerate(self._list(key)):
            if isinstance(item, str):
                found.append(item)
            else:
                self._wrong_type((*self.path, key, index), item, "text")
        return tuple(found)

    def labels(self, key: str) -> dict[str, str]:
        """The mapping of strings to strings at the key: labels, annotations, node selectors."""
        found: dict[str, str] = {}
        if self.value.get(key) is None:
            return found
        for name, item in self._mapping(key).items():
            if isinstance(item, str):
                found[name] = item
            else:
                self._wrong_type((*self.path, key, name), item, "text")
        return found

    def check_text(self, key: str | int, value: Any, *at: str, hint: str = "") -> None:
        """
        Tells where a value that is at the key, below `at`, is no text; null is none. What it is instead is not shown: it may be a
        password of digits.
        """
        if value is not None and not isinstance(value, str):
            path = (*self.path, *at, key)
            sort = (
                "a number" if _is_number(value) else "true or false" if isinstance(value, bool) else _described(value)
            )
            hint = _QUOTE if isinstance(value, (bool, int, float)) else hint
            self._report("WrongType", f"{dotted(path)} is {sort}, not text", hint, path, value, Severity.ERROR)

    def check_texts(self, key: str, *, hint: str = "") -> None:
        """The same of what the mapping at the key holds."""
        for name, value in self._mapping(key).items():
            self.check_text(name, value, key, hint=hint)

    def check_words(self, key: str) -> None:
        """The same of the items of the list at the key."""
        for index, value in enumerate(self._list(key)):
            self.check_text(index, value, key)

    def check_int_or_text(self, key: str) -> None:
        """Tells where the value at the key is a number with a fraction, for which there are quotes. What else it is, is not looked at."""
        value = self.value.get(key)
        if isinstance(value, float):
            self._wrong_type((*self.path, key), value, "text or a whole number", _QUOTE)

    def quantity(self, resource: str, key: str) -> int | None:
        """The quantity at the key, in the grain of `model.quantity.amount`."""
        value = self.value.get(key)
        return None if value is None else self._amount(resource, value, (*self.path, key))

    def quantities(self, key: str) -> Resources:
        """The mapping of resource names to quantities at the key."""
        amounts = {}
        for name, value in self._mapping(key).items():
            amount = None if value is None else self._amount(name, value, (*self.path, key, name))
            if amount is not None:
                amounts[name] = amount
        return Resources(amounts)

    def report(
        self, code: str, message: str, hint: str = "", *, key: str | None = None, severity: Severity = Severity.ERROR
    ) -> None:
        """Adds a problem here, or at the key: at its value when that is a scalar."""
        path = self.path if key is None else (*self.path, key)
        self._report(code, message, hint, path, self.value if key is None else self.value.get(key), severity)

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self.value.get(key)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._wrong_type((*self.path, key), value, "a mapping")
        return {}

    def _list(self, key: str) -> list[Any]:
        value = self.value.get(key)
        if isinstance(value, list):
            return value
        if value is not None:
            self._wrong_type((*self.path, key), value, "a list")
        return []

    def _amount(self, resource: str, value: Any, path: Path) -> int | None:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            self._wrong_type(path, value, "a quantity")
            return None
        try:
            return quantity.amount(resource, str(value))
        except quantity.InvalidQuantity as error:
            self._report(
                "InvalidQuantity",
                f"{dotted(path)}: {error}",
                quantity.REMEDY,
                path,
                value,
                Severity.ERROR,
            )
            return None

    def _wrong_type(self, path: Path, value: Any, wanted: str, hint: str = "") -> None:
        if wanted == "text" and isinstance(value, (bool, int, float)):
            hint = _QUOTE
        elif isinstance(value, str) and (form := _QUOTED.get(wanted)) is not None and form.fullmatch(value):
            hint = _UNQUOTE
        message = f"{dotted(path)} is {_described(value)}, not {wanted}"
        self._report("WrongType", message, hint, path, value, Severity.ERROR)

    def _report(self, code: str, message: str, hint: str, path: Path, value: Any, severity: Severity) -> None:
        key = isinstance(value, (dict, list))
        self.problems.report(code, message, hint, path=path, key=key, severity=severity)


def dotted(path: Path) -> str:
    """The path as people write it: spec.containers[0].name."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _described(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if _is_number(value):
        return f"the number {value}"
    return "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a mapping"

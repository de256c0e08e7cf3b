"""
Pod specs that were read before.

Copies of an app differ in their names, and their pods in nothing; ten thousand manifests have some thousand different pod specs. What
is read of one follows from its value, where it stands, and what it is read with. So it is kept by these, unless anything was told of it:
a problem belongs to the document it is found in. Whoever reads a spec without this comes to the same.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Generic, TypeVar

from gitplacer.documents import Cursor

Beside = TypeVar("Beside")
Found = TypeVar("Found")

_MOST = 4096
"""How many are kept. All of them are let go of when there is one more."""
_EXACT = 2
"""The version of marshal's format that writes values and nothing of how they lie in memory."""


class SameSpecs(Generic[Beside, Found]):
    """What `read` finds in specs, each with what is beside it; equal ones are read once."""

    def __init__(self, read: Callable[[Cursor, Beside], Found]) -> None:
        self._read = read
        self._known: dict[bytes, tuple[Beside, Found]] = {}

    def __call__(self, spec: Cursor, beside: Beside) -> Found:
        # Not the value itself: true would be the same as 1, and a mapping with its keys in another order.
        key = marshal.dumps((spec.path, spec.value), _EXACT)
        known = self._known.get(key)
        if known is not None and known[0] == beside:
            return known[1]
        before = spec.problems.reported
        found = self._read(spec, beside)
        if spec.problems.reported == before:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = beside, found
        return found

"""
Deliveries that came before, up to a bound.

A sender that got no answer sends again, and whoever caught a delivery could send it again for ever. Both are the same delivery, by its id or its
signature, and it is not followed twice. Only what was verified is remembered, so that nobody else can push it out.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

MOST = 4096


class Seen:
    """Remembers the latest `most` marks. From any thread."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._marks: OrderedDict[bytes, None] = OrderedDict()

    def is_new(self, provider: str, marks: Sequence[str]) -> bool:
        """Whether none of these marks came before; they have from now on."""
        keys = [hashlib.sha256(f"{provider}\0{mark}".encode("utf-8", "surrogateescape")).digest() for mark in marks]
        with self._lock:
            known = any(key in self._marks for key in keys)
            for key in keys:
                self._marks[key] = None
                self._marks.move_to_end(key)
            while len(self._marks) > self._most:
                self._marks.popitem(last=False)
        return not known

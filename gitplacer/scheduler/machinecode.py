"""
Functions that numba compiles, kept on disk between runs as far as that goes.

Nothing depends on what is kept. What a crash or a full disk has cut off is compiled again, and where nothing can be written it is compiled each time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache


class _Kept(FunctionCache):
    """Numba's own, of which no failure ends a pass. Reading half a file may raise anything."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)


def compiled(function: Callable[..., Any]) -> Any:
    """
    A function as machine code, compiled when it is first called with arguments of some types. It must be plain: loops, numbers and arrays.

    Raises RuntimeError where there is no place to keep it: to compile everything each time takes longer than all that it saves.
    """
    made = numba.njit(function)
    made._cache = _Kept(function)  # as numba's `cache=True` does
    return made

"""
Functions that numba compiles, kept on disk between runs as far as that goes.

Nothing depends on what is kept. What a crash or a full disk has cut off is compiled again, and where nothing can be written it is compiled each time.
So is what was made from other code, were it but a number in another module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile


class _Kept(FunctionCache):
    """
    Numba's own, of which no failure ends a pass: reading half a file may raise anything. And which is as old as all code that a function may have been made
    from: what it calls and the numbers that it names become part of it, and numba looks at no file but its own.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        packages = {__name__.rpartition(".")[0], function.__module__.rpartition(".")[0]} - {""}
        made_from = (self._impl.locator.get_source_stamp(), *map(_digest, sorted(packages)))
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, made_from)

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


@cache
def _digest(package: str) -> str:
    """That of all code in a package."""
    code = {file.name: file.read_bytes() for file in files(package).iterdir() if file.name.endswith(".py")}
    return hashlib.sha256(b"".join(code[name] for name in sorted(code))).hexdigest()


def compiled(function: Callable[..., Any]) -> Any:
    """
    A function as machine code, compiled when it is first called with arguments of some types. It must be plain: loops, numbers and arrays; and what it names
    is to be in its own package or in this one.

    Raises RuntimeError where there is no place to keep it: to compile everything each time takes longer than all that it saves.
    """
    made = numba.njit(function)
    made._cache = _Kept(function)  # as numba's `cache=True` does
    return made

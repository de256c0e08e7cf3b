"""
How long something is done the plain way, before machine code is looked for that does the same.

To load what is compiled takes as long as a small fleet is planned, and the first time on a machine, when it has to be compiled, some
seconds. Few passes do so much of anything that it pays.
"""

from __future__ import annotations

import importlib
from types import ModuleType


class Patience:
    """With `steps` done the plain way, whatever a step is; then `module` is looked for, once. What is done is counted over all who share it."""

    def __init__(self, module: str, steps: int) -> None:
        self._module = module
        self._left = steps
        self._compiled: ModuleType | None = None
        self._looked = False

    def spend(self, steps: int) -> None:
        """So much was done the plain way."""
        self._left -= steps

    def expect(self, steps: int) -> None:
        """So much is still to be done. If that is more than the plain way would be gone, it is not begun."""
        if steps > self._left:
            self._left = 0

    @property
    def compiled(self) -> ModuleType | None:
        """What numba compiles, once patience has ended, and where numba is installed and finds a place to keep what it has compiled."""
        if self._left <= 0 and not self._looked:
            self._looked, self._compiled = True, _compiled(self._module)
        return self._compiled


def _compiled(module: str) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except (ImportError, RuntimeError):
        return None

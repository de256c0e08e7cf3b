"""
Machine code of the tests: what one process has compiled, the others find on disk.

After an edit numba compiles everything again, which takes longer than any test. The processes of a run come to it at the same time, and each would do it all.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from pathlib import Path
from typing import Any


def in_turn() -> None:
    """From now on one process at a time compiles, and whoever waited for it looks first whether it is done. Nothing where numba was not asked for."""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    if dispatcher is None:
        return
    compiled, turn = dispatcher.Dispatcher.compile, threading.local()

    def compile_in_turn(self: Any, signature: Any) -> Any:
        if getattr(turn, "is_ours", False):  # what is called is compiled with who calls it
            return compiled(self, signature)
        held = os.open(Path(__file__).parent, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            turn.is_ours = True
            return compiled(self, signature)
        finally:
            turn.is_ours = False
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)

    dispatcher.Dispatcher.compile = compile_in_turn

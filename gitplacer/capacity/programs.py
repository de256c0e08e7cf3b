"""
Programs that a kubeconfig names to get a token, which may never end: one waits for somebody to log in, or for a server.

The client library runs them and waits for as long as they take. So it does that in a thread of its own, and whoever asks waits for so long and no
longer. Where Linux tells which programs the thread has started they are ended then.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

LONGEST = 300.0
"""Seconds. Somebody may have to log in with a browser."""

_Found = TypeVar("_Found")


class TooSlow(Exception):
    """A program has not ended in time."""

    def __init__(self) -> None:
        super().__init__(f"the program that gets its token took more than {LONGEST:.0f} s")


def in_time(ask: Callable[[], _Found]) -> _Found:
    """What `ask` returns, or raises. Raises TooSlow where it takes too long."""
    answers: queue.SimpleQueue[tuple[_Found, None] | tuple[None, BaseException]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((ask(), None))
        except BaseException as error:
            answers.put((None, error))

    thread = threading.Thread(target=run, name="gitplacer-token", daemon=True)
    thread.start()
    try:
        found, error = answers.get(timeout=LONGEST)
    except queue.Empty:
        _end_programs_of(thread)
        raise TooSlow from None
    if error is not None:
        raise error
    return found  # type: ignore[return-value] # there is one or the other


def _end_programs_of(thread: threading.Thread) -> None:
    """End what a thread has started, as far as anybody tells."""
    with contextlib.suppress(OSError):
        listed = Path(f"/proc/self/task/{thread.native_id}/children").read_text("ascii")
        for pid in map(int, listed.split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

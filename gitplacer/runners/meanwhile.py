"""
One question that is answered by another process while this one goes on.

It is forked from this one, which has read what the question is about, and answers with bytes. Whatever becomes of it, there is an answer: where
nothing can be forked, where there is one core, where the process is killed or something is raised in it, the question is asked here, when somebody
wants to know.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import signal
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from gitplacer.runners.processes import usable_cores

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess


class Meanwhile:
    """
    `ask` is answered from now on; it is forked with all that it refers to, and must not use what a fork cannot share. Close it when nobody wants to
    know any more.
    """

    def __init__(self, ask: Callable[[], bytes], *, cores: int | None = None) -> None:
        self._ask = ask
        self._process: ForkProcess | None = None
        self._heard: Connection | None = None
        if (usable_cores() if cores is None else cores) > 1 and "fork" in multiprocessing.get_all_start_methods():
            self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        heard, told = context.Pipe(duplex=False)
        process = context.Process(target=_tell, args=(self._ask, told), daemon=True)
        gc.freeze()  # what is there already is shared: nobody has to look at it, which would copy it
        try:
            with warnings.catch_warnings():
                # Threads of the libraries for arithmetic are at rest while we fork; nothing here holds a lock of theirs.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        except OSError:
            heard.close()
        else:
            self._process, self._heard = process, heard
        finally:
            gc.unfreeze()
            told.close()  # so that a process which is killed ends what is heard of it

    @property
    def is_begun(self) -> bool:
        """Whether another process is at work."""
        return self._process is not None

    def answer(self) -> bytes:
        """What `ask` returns; raises what it raises. To be called once."""
        found = None
        if self._heard is not None:
            with contextlib.suppress(EOFError, OSError):
                found = self._heard.recv_bytes()
        self.close()
        return self._ask() if found is None else found

    def close(self) -> None:
        """End the process, whether or not it has answered."""
        if self._heard is not None and self._process is not None:
            self._heard.close()
            self._process.kill()
            self._process.join()
        self._process = self._heard = None


def _tell(ask: Callable[[], bytes], told: Connection) -> None:
    """In the process. Of what is raised nothing is told: it is raised again where somebody can tell of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the other, which ends this one
    try:
        found = ask()
    except Exception:
        return
    with contextlib.suppress(OSError):  # nobody wants to know any more
        told.send_bytes(found)

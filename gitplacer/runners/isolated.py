"""
Files parsed in a process of their own, so that whatever a file does to its parser costs this file and nothing else.

The worker is a Python of its own, not a fork of a process that has threads and secrets. It gets the bytes of one file after another
through a pipe and sends back what is remembered of each, so it is always known which file it was at. It has bounds on memory and on
processor time, and is what the system ends first where memory is short. It is started with the first file that nobody knows, or before,
and again when it has ended. A file on which it ends twice is unreadable; once is no proof, for somebody else may have ended it.

The bounds are far beyond what the limits of `documents` let a file take. So what a file is does not depend on them, unless
something is wrong in here.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import TracebackType
from typing import Self

from gitplacer.source.files import Parser, ReadFile, read_file, unreadable

MEMORY = 1 << 30
"""Bytes of address space that the worker may have; the largest snapshot that is read takes less than half."""
PROCESSOR = 120
"""Seconds of a processor for one file."""
TRIES = 2
"""Workers that are tried on a file."""
_NO_MEMORY = 3
"""The exit code of a worker that was refused memory."""
_SELDOM = 100_000
"""Values between two collections of garbage: parsing makes many that stay."""


class IsolatedParser:
    """
    A `Parser` whose worker runs `python -m module`; a module of one's own calls `serve`. For one thread. To be closed.
    """

    def __init__(self, module: str = "gitplacer.runners.isolated") -> None:
        self._module = module
        self._worker: _Worker | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the worker; None where there is none."""
        return self._worker.process.pid if self._worker is not None else None

    def start(self) -> None:
        """Start the worker and do not wait for it, so that it is there when a file comes. Where that fails the first file tells."""
        if self._worker is None:
            with contextlib.suppress(OSError):
                self._worker = _Worker(self._module)

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        """What is to be remembered of a file. Raises OSError where no worker can be started."""
        ended = ""
        for _ in range(TRIES):
            worker = self._begun()
            try:
                return worker.parse(data, max_bytes)
            except (EOFError, OSError):
                ended = worker.ended()
                self._worker = None
            except BaseException:  # a signal that ends us: an answer that nobody takes would be taken for the next
                self.close()
                raise
        return unreadable(f"parsing it {ended}")

    def _begun(self) -> _Worker:
        """A worker that takes files. Raises OSError."""
        worker = self._worker = self._worker or _Worker(self._module)
        try:
            worker.come_up()
        except OSError:
            self._worker = None
            raise
        except BaseException:
            self.close()
            raise
        return worker

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Worker:
    """A worker that is starting, or up. Raises OSError if it cannot be started."""

    def __init__(self, module: str) -> None:
        self._is_up = False
        self._pipe, theirs = Pipe()
        with theirs:
            # It finds the modules that we found, looks for none in the working directory, and gets none of our environment's secrets.
            path = os.pathsep.join(str(Path(folder).absolute()) for folder in sys.path)
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                env={"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                process_group=0,  # a Ctrl-C in our terminal is for us
            )

    def come_up(self) -> None:
        """Wait until it takes files. Raises OSError if it ends before that."""
        if self._is_up:
            return
        try:
            self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise ChildProcessError(f"the process that parses files {self.ended()} before its first file") from None
        self._is_up = True

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        """The answer of the worker. Raises EOFError or OSError where it ends instead."""
        self._pipe.send_bytes(max_bytes.to_bytes(8))
        self._pipe.send_bytes(data)
        found = pickle.loads(self._pipe.recv_bytes())
        return found if isinstance(found, ReadFile) else unreadable(f"parsing it raised {found}")

    def end(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        self._pipe.close()

    def ended(self) -> str:
        """How it has ended, which it has where its end of the pipe is closed."""
        self._pipe.close()
        code = self.process.wait()
        if code == _NO_MEMORY:
            return f"took more than {MEMORY >> 20:,} MiB of memory"
        if code == -signal.SIGXCPU:
            return f"took more than {PROCESSOR} s of a processor"
        return f"ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"


def serve(parse: Parser) -> None:
    """Be the worker: parse what comes through the pipe whose number is the first argument, until it is closed."""
    pipe = Connection(int(sys.argv[1]))
    _bound()
    pipe.send_bytes(b"ready")
    with contextlib.suppress(EOFError, OSError):
        while True:
            max_bytes = int.from_bytes(pipe.recv_bytes())
            data = pipe.recv_bytes()
            _, most = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + PROCESSOR, most))
            pipe.send_bytes(_answer(parse, data, max_bytes))


def _bound() -> None:
    """Take the bounds upon this process."""
    gc.freeze()
    gc.set_threshold(_SELDOM)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # not every system bounds addresses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _answer(parse: Parser, data: bytes, max_bytes: int) -> bytes:
    """What a file is, or the name of what was raised. Ends the process where memory is refused: nobody knows what is left undone."""
    try:
        return pickle.dumps(parse(data, max_bytes), protocol=5)
    except MemoryError:
        os._exit(_NO_MEMORY)
    except Exception as error:
        return pickle.dumps(type(error).__name__)


if __name__ == "__main__":
    serve(read_file)

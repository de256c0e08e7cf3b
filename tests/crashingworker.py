"""A worker of `IsolatedParser` that comes to harm where a file says so, for tests: `python -m tests.crashingworker`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from gitplacer.runners.isolated import serve
from gitplacer.source.files import ReadFile, read_file

ABORT, HOARD, SPIN, RAISE, WAIT, ONCE = b"# abort", b"# hoard", b"# spin", b"# raise", b"# wait ", b"# once "
"""What a file says: die, take all memory, hear that the processor's time is over, raise, tell a pipe and wait for a signal, die unless a file is there that is made."""


def harmed(data: bytes, max_bytes: int) -> ReadFile:
    """The same as `read_file`, unless the first line of the file says what else is to happen."""
    line = data.split(b"\n")[0]
    if line == ABORT:
        os.abort()
    if line == HOARD:
        bytearray(8 << 30)
    if line == SPIN:
        os.kill(os.getpid(), signal.SIGXCPU)  # as the system does when the time is over, which nobody wants to wait for
    if line == RAISE:
        raise KeyError("planted")
    if line.startswith(WAIT):
        Path(os.fsdecode(line.removeprefix(WAIT))).write_text(str(os.getpid()))
        signal.pause()
    if line.startswith(ONCE):
        there = Path(os.fsdecode(line.removeprefix(ONCE)))
        if not there.exists():
            there.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return read_file(data, max_bytes)


if __name__ == "__main__":
    serve(harmed)

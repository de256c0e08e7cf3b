"""
What a command prints, with secrets taken out.

Whatever a command or a library under it writes to stdout or stderr as text goes through here, so that nobody has to remember it. Bytes do not:
they are a file's, which has to be what it is: manifests to be applied, patches, snapshots.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator


class Redacted(io.TextIOWrapper):
    """A text stream over the buffer of another that takes secrets out of each thing that is written."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        stream.flush()
        super().__init__(
            stream.buffer,
            encoding=stream.encoding,
            errors="backslashreplace",  # a terminal that lacks an arrow is no reason to stop
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, text: str, /) -> int:
        from gitplacer.redactor import redact  # late: a stream is made before anybody knows that something is printed

        super().write(redact(text))
        return len(text)


@contextlib.contextmanager
def redacted() -> Iterator[None]:
    """Have stdout and stderr redacted, where they are streams over bytes."""
    before = sys.stdout, sys.stderr
    made = [Redacted(each) if isinstance(each, io.TextIOWrapper) else each for each in before]
    sys.stdout, sys.stderr = made
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for each in made:
            if isinstance(each, Redacted):
                _let_go(each)


def _let_go(stream: Redacted) -> None:
    """Leave the buffer to whose it was, or it would be closed with the stream; what nobody reads any more goes nowhere."""
    try:
        stream.detach()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.detach()

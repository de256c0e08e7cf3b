"""
What a command prints, with secrets taken out.

Whatever a command or a library under it writes to stdout or stderr as text goes through here, so that nobody has to remember it. A line is
held until it is whole: a secret that is written in two parts is one all the same. Bytes do not go through:
they are a file's, which has to be what it is: manifests to be applied, patches, snapshots. What cannot be written says its name.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Iterator

_LONGEST = 1 << 13
"""Characters of an unfinished line that are held back."""


@contextlib.contextmanager
def naming(what: str, *, instead: bool = False) -> Iterator[None]:
    """
    Let an OSError say the name of what was read or written, where it says none: that of a `write` does not; `instead`: also where it says another, of
    what is made beside it on the way.
    """
    try:
        yield
    except OSError as error:
        error.filename = what if instead else error.filename or what
        raise


class Redacted(io.TextIOWrapper):
    """A text stream over the buffer of another that takes secrets out of what is written, line by line."""

    def __init__(self, stream: io.TextIOWrapper, called: str) -> None:
        stream.flush()
        self._called = called
        self._held = ""
        self.is_unread = False
        """Whether it is a pipe that nobody reads any more, as after `| head -1`."""
        self._one = threading.RLock()  # threads write, and a signal may come while one does
        super().__init__(
            stream.buffer,
            encoding=stream.encoding,
            errors="backslashreplace",  # a terminal that lacks an arrow is no reason to stop
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, text: str, /) -> int:
        with self._one, self._written():
            held = self._held + text
            end = max(held.rfind("\n"), held.rfind("\r")) + 1
            if len(held) - end > _LONGEST:
                end = (held.rfind(" ") + 1) or len(held)
            self._held = held[end:]
            self._put(held[:end])
        return len(text)

    def flush(self) -> None:
        with self._one, self._written():
            held, self._held = self._held, ""
            self._put(held)
            super().flush()

    def put_bytes(self, data: bytes) -> None:
        """Bytes as they are, behind what was written."""
        self.flush()
        with self._one, self._written():
            self.buffer.write(data)
            self.buffer.flush()

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        try:
            with naming(self._called):
                yield
        except BrokenPipeError:
            self.is_unread = True
            raise

    def _put(self, text: str) -> None:
        from gitplacer.redactor import redact  # late: a stream is made before anybody knows that something is printed

        if text:
            super().write(redact(text))


@contextlib.contextmanager
def redacted() -> Iterator[None]:
    """Have stdout and stderr redacted, where they are streams over bytes. What the environment tells is secret, too."""
    from gitplacer.redactor import hide_environment

    hide_environment(os.environ)
    before = sys.stdout, sys.stderr
    named = zip(before, ("stdout", "stderr"), strict=True)
    made = [Redacted(each, name) if isinstance(each, io.TextIOWrapper) else each for each, name in named]
    sys.stdout, sys.stderr = made
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for each in made:
            if isinstance(each, Redacted):
                _let_go(each)


def print_bytes(data: bytes) -> None:
    """Bytes to stdout as they are, whatever the terminal's encoding."""
    if isinstance(sys.stdout, Redacted):
        sys.stdout.put_bytes(data)
        return
    sys.stdout.flush()
    if isinstance(sys.stdout, io.TextIOWrapper):
        with naming("stdout"):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    else:
        sys.stdout.write(data.decode("utf-8", "replace"))


def _let_go(stream: Redacted) -> None:
    """Leave the buffer to whose it was, or it would be closed with the stream; what nobody reads any more goes nowhere."""
    try:
        stream.detach()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.detach()

"""
A repository's objects, read through one `git cat-file --batch` that stays open.

Starting git costs milliseconds and reading a blob costs microseconds, so every blob and every name goes through the
same process. Names are written in portions smaller than any pipe's buffer and answered in full before the next
portion, so neither side ever waits for the other. Bytes come as they are stored: no filter, no line-ending change.
A process that is forked from this one starts a git process of its own.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gitplacer.git.program import Git, GitError
from gitplacer.tree import Entry

MAX_BLOB = 32 * 1024 * 1024
"""The most bytes that are read of one object."""

_PORTION = 4096


class Object(NamedTuple):
    """An object's id, its kind (`blob`, `tree`, `commit` or `tag`) and its bytes."""

    oid: str
    kind: str
    data: bytes


class MissingObject(GitError, KeyError):
    """An object that the repository should have and has not."""

    kind = "DamagedRepository"

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="git fsck says what is damaged; a partial clone lacks objects: clone it in full")


class BlobTooLarge(GitError, KeyError):
    """A file of more than MAX_BLOB bytes; nothing of it was read."""

    kind = "BlobTooLarge"


class Objects:
    """The objects of one repository; a source of bytes for a Tree. Start it by using it, end it with `close`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._too_large: dict[str, int] = {}
        self._stop: weakref.finalize[[subprocess.Popen[bytes]], Objects] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        """The process that started it."""

    def close(self) -> None:
        """End the git process. It starts again when the objects are used again."""
        if self._stop:
            self._stop()
        self._process = self._stop = None

    def note_sizes(self, entries: Iterable[Entry]) -> None:
        """Sizes that a listing told of, so that what is too large is never asked for."""
        self._too_large.update((entry.oid, entry.size) for entry in entries if entry.size > MAX_BLOB)

    def read(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        """The bytes of every blob that is asked for. Raises MissingObject or BlobTooLarge, which are KeyErrors."""
        wanted = list(oids)
        for oid in wanted:
            if oid in self._too_large:
                raise _too_large(oid, self._too_large[oid])
        found = {}
        for oid, answer in self._ask(wanted):
            if answer is None:
                raise MissingObject(f"{self._git.git_dir} lacks the object {oid}")
            found[oid] = answer.data
        return found

    def look_up(self, name: str) -> Object | None:
        """The object with this name, which may be any spelling git knows that has no line break in it."""
        if "\n" in name:
            return None
        ((_, answer),) = self._ask([name])
        return answer

    def look_up_all(self, names: Iterable[str]) -> Iterator[Object | None]:
        """The objects with these names, in order."""
        return (answer for _, answer in self._ask(list(names)))

    def _ask(self, names: list[str]) -> Iterator[tuple[str, Object | None]]:
        portion: list[str] = []
        room = _PORTION
        for name in names:
            length = len(name.encode("utf-8", "surrogateescape")) + 1
            if length > room and portion:
                yield from zip(portion, self._answers(portion), strict=True)
                portion, room = [], _PORTION
            portion.append(name)
            room -= length
        if portion:
            yield from zip(portion, self._answers(portion), strict=True)

    def _answers(self, portion: list[str]) -> list[Object | None]:
        process = self._running()
        assert process.stdin
        try:
            process.stdin.write("".join(f"{name}\n" for name in portion).encode("utf-8", "surrogateescape"))
            process.stdin.flush()
            return [self._answer(process) for _ in portion]
        except BrokenPipeError:
            self.close()
            self._git.run("rev-parse", "--git-dir")  # git did not even start: this says why
            raise MissingObject(f"git ended while it was reading {self._git.git_dir}") from None
        except BaseException:
            self.close()  # answers may be left in the pipe; whoever asks next must not get them
            raise

    def _answer(self, process: subprocess.Popen[bytes]) -> Object | None:
        assert process.stdout
        header = process.stdout.readline()
        if header.endswith((b" missing\n", b" ambiguous\n")):
            return None
        parts = header.split()
        if not parts:
            raise BrokenPipeError
        if len(parts) != 3:
            raise MissingObject(f"{self._git.git_dir} has a damaged object")
        oid, kind, size = parts[0].decode(), parts[1].decode(), int(parts[2])
        if size > MAX_BLOB:
            raise _too_large(oid, size)
        data = process.stdout.read(size)
        if len(data) != size or not process.stdout.read(1):
            raise MissingObject(f"{self._git.git_dir} has a damaged object: {oid}")
        return Object(oid, kind, data)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner != os.getpid():
            self._left_to_its_owner()
        if self._process is None:
            self._process = self._git.start("cat-file", "--batch")
            self._stop = weakref.finalize(self, _end, self._process)
            self._owner = os.getpid()
        return self._process

    def _left_to_its_owner(self) -> None:
        """Forget a git process that belongs to the process from which this one was forked, which waits for its answers."""
        if self._stop:
            self._stop.detach()
        self._process = self._stop = None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with contextlib.suppress(OSError):  # what was never written to a process that has ended
                pipe.close()
    process.wait()


def _too_large(oid: str, size: int) -> BlobTooLarge:
    return BlobTooLarge(f"the file with id {oid} has {size} bytes; at most {MAX_BLOB} are read")

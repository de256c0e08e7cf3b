"""
The parse cache on disk: what `source.files` remembers of a blob, across processes.

Values are pickled, so the cache is trusted like code: it lives in a directory that only its owner can write to
(`git.cache`), and it is keyed by the code that parses, so a change of that code forgets everything.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

from gitplacer.freememory import give_back
from gitplacer.git.cache import BlobCache
from gitplacer.source.files import NOT_READABLE, Makers, Memo, Parser, ReadFile, forget_shared, read_file

_PARSING = (
    "documents/*.py",
    "kinds/*.py",
    "model/*.py",
    "workloads/**/*.py",
    "data/workloadkinds/*.yaml",
    "rules/*.py",
    "crds/*.py",
    "problemcodes/*.py",
    "source/files.py",
    "source/alike.py",
    "source/customs.py",
    "render.py",
)


class ParseMany(Protocol):
    """
    Parses many files at a time, such as in several processes: given their bytes by blob id, and how many are read at most of one. Returns pickles of
    what it has read, of all files or some, and gives them to `take` as they come.
    """

    def __call__(
        self, blobs: Mapping[str, bytes], max_bytes: int, *, take: Callable[[Mapping[str, bytes]], None]
    ) -> Mapping[str, bytes]: ...


WriteMany = Callable[[int, Makers], Mapping[str, bytes]]
"""Makes so many texts at a time, by digest: all or some, or none where it is not worth it."""


def write_none(number: int, makers: Makers) -> Mapping[str, bytes]:
    """Makes none: each text is made when it is asked for."""
    return {}


def parse_none(
    blobs: Mapping[str, bytes], max_bytes: int, *, take: Callable[[Mapping[str, bytes]], None]
) -> Mapping[str, bytes]:
    """Parses none: each file is parsed when it is asked for."""
    return {}


_MOST_UNSAVED = 16 << 20
"""Bytes that wait in memory for `save`."""


class ParseCache(Memo):
    """
    A `Memo` that outlives the process, once `save` was called. `parser` reads a file that it does not know; of many such files `parse_many` is asked
    first, and of many texts `write_many`. A file that could not be read here at all is remembered only for this process: another, with more memory,
    may read it.
    """

    def __init__(
        self,
        cache_dir: Path,
        parser: Parser = read_file,
        parse_many: ParseMany = parse_none,
        write_many: WriteMany = write_none,
    ) -> None:
        self.cache_dir = cache_dir
        self._write_many = write_many
        self._parser = parser
        self._parse_many = parse_many
        self._pickled: Mapping[str, bytes] = {}
        self._blobs = BlobCache(cache_dir)
        self._files: dict[str, ReadFile] = {}
        self._texts: dict[str, bytes] = {}
        self._new: dict[str, bytes] = {}
        self._unsaved = 0
        self._asked: set[str] = set()

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        return self._parser(data, max_bytes)

    def parse_all(self, blobs: Mapping[str, bytes], max_bytes: int) -> Mapping[str, ReadFile]:
        found: dict[str, ReadFile] = {}

        def take(pickles: Mapping[str, bytes]) -> None:
            found.update({oid: pickle.loads(value) for oid, value in pickles.items()})

        self._pickled = self._parse_many(blobs, max_bytes, take=take)
        return {**found, **super().parse_all({oid: blobs[oid] for oid in blobs if oid not in found}, max_bytes)}

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        wanted = list(oids)
        self._asked.update(wanted)
        missing = [oid for oid in wanted if oid not in self._files]
        for oid, value in self._blobs.get_many(_namespace(), missing).items():
            self._files[oid] = pickle.loads(value)
        return {oid: self._files[oid] for oid in wanted if oid in self._files}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        self._files.update(files)
        for oid, file in files.items():
            if not any(fault.code == NOT_READABLE for fault in file.parsed.faults):
                self._keep(oid, self._pickled.get(oid) or pickle.dumps(file, protocol=5))
        if self._pickled:
            self._pickled = {}
            self.save()  # rather than hold the rest through a pass
            give_back()

    def recall_text(self, digest: str) -> bytes | None:
        return self.recall_texts([digest]).get(digest)

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(digests)
        self._asked.update(wanted)
        missing = [digest for digest in wanted if digest not in self._texts]
        self._texts.update(self._blobs.get_many(_namespace(), missing))
        return {digest: self._texts[digest] for digest in wanted if digest in self._texts}

    def remember_text(self, digest: str, text: bytes) -> None:
        self._texts[digest] = text
        self._keep(digest, text)

    def make_texts(self, number: int, makers: Makers) -> None:
        for digest, text in self._write_many(number, makers).items():
            self.remember_text(digest, text)

    def forked(self) -> ParseCache:
        """What is on disk is read by a connection of its own: no two processes may use one."""
        twin = ParseCache(self.cache_dir, self._parser)
        twin._files, twin._texts = self._files, self._texts
        return twin

    def _keep(self, oid: str, value: bytes) -> None:
        self._new[oid] = value
        self._unsaved += len(value)
        if self._unsaved > _MOST_UNSAVED:
            self.save()

    def forget_unused(self) -> None:
        """
        Forget, in memory, what nobody has asked for since this was called last. Who makes one pass after another calls it between
        them, and has in memory what one pass needs, however many there were.
        """
        forget_shared()
        if self._asked:
            self._files = {oid: file for oid, file in self._files.items() if oid in self._asked}
            self._texts = {digest: text for digest, text in self._texts.items() if digest in self._asked}
            self._asked = set()

    def save(self) -> None:
        """Write what is new to disk, in one transaction. It is called for you whenever much is new."""
        self._blobs.put_many(_namespace(), self._new)
        self._new.clear()
        self._unsaved = 0


@cache
def _namespace() -> str:
    """A name for the format of the values: the digest of the code that makes them."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for pattern in _PARSING:
        for path in sorted(root.glob(pattern)):
            digest.update(path.read_bytes())
    return f"parsed-{digest.hexdigest()[:16]}"

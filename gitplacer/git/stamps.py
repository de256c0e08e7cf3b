"""
What files held when they were last read, so that those which lie untouched need not be read again.

A file that the system describes as it did then (inode, size, times of its last change) holds what it held, as git's own index assumes.
The time that counts cannot be set by hand, and is believed only where the file had been left alone for a while before it was read: within one
tick of a clock it can change twice. Without this everything is just read.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from pathlib import Path

from gitplacer.git.cache import BlobCache

_NAMESPACE = "stamps-1"
_SETTLED = 2_000_000_000
"""Nanoseconds: no file system that is in use has coarser times."""

_Stamp = tuple[int, int, int, int, int, str]


class Stamps:
    """The ids of the files of one folder, by their paths in it and how the system describes them."""

    def __init__(self, cache_dir: Path, folder: Path) -> None:
        self._blobs = BlobCache(cache_dir)
        self._key = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()
        kept = self._blobs.get_many(_NAMESPACE, [self._key]).get(self._key)
        self._known: dict[bytes, _Stamp] = pickle.loads(kept) if kept is not None else {}
        self._seen: dict[bytes, _Stamp] = {}
        self._settled_before = time.time_ns() - _SETTLED

    def recall(self, path: bytes, found: os.stat_result) -> str | None:
        """The blob id of a file, if it is described as it was when it was read."""
        known = self._known.get(path)
        if known is None or known[:5] != _described(found):
            return None
        self._seen[path] = known
        return known[5]

    def note(self, path: bytes, found: os.stat_result, oid: str) -> None:
        """What a file held, which was described so before it was read."""
        if max(found.st_ctime_ns, found.st_mtime_ns) < self._settled_before:
            self._seen[path] = (*_described(found), oid)

    def save(self) -> None:
        """Keep what was seen, for the next process; what was not seen is forgotten."""
        if self._seen != self._known:
            self._blobs.put_many(_NAMESPACE, {self._key: pickle.dumps(self._seen, protocol=5)})
            self._known, self._seen = self._seen, {}


def _described(found: os.stat_result) -> tuple[int, int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

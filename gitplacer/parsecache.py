"""
The parse cache on disk: what `source.files` remembers of a blob, across processes.

Values are pickled, so the cache is trusted like code: it lives in a directory that only its owner can write to
(`git.cache`), and it is keyed by the code that parses, so a change of that code forgets everything.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from gitplacer.git.cache import BlobCache
from gitplacer.source.files import ReadFile

_PARSING = ("documents", "model", "workloads")


class ParseCache:
    """A `Memo` that outlives the process."""

    def __init__(self, cache_dir: Path) -> None:
        self._blobs = BlobCache(cache_dir)
        self._known: dict[str, ReadFile] = {}

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        wanted = list(oids)
        missing = [oid for oid in wanted if oid not in self._known]
        for oid, value in self._blobs.get_many(_namespace(), missing).items():
            self._known[oid] = pickle.loads(value)
        return {oid: self._known[oid] for oid in wanted if oid in self._known}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        self._known.update(files)
        self._blobs.put_many(_namespace(), {oid: pickle.dumps(file, protocol=5) for oid, file in files.items()})


@cache
def _namespace() -> str:
    """A name for the format of the values: the digest of the code that makes them."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for folder in _PARSING:
        for path in sorted((root / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return f"parsed-{digest.hexdigest()[:16]}"

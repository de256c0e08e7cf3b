"""
Values computed from blobs, kept across runs and shared by processes.

A file that has not changed has the same blob id, so what was parsed from it once need not be parsed again. A cache
is never needed: when its file is locked, read-only, damaged or not ours, everything just looks absent.

Callers keep pickles here, and unpickling runs code; so the directory must belong to the user and be writable by
nobody else, or it is not used at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

VARIABLE = "GITPLACER_CACHE"
"""Of the environment: where the cache is."""
MAX_BYTES = 512 * 1024 * 1024

_CHECK = 8
_MANY = 500
_TABLE = (
    "CREATE TABLE IF NOT EXISTS blobs (id INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, "
    "oid TEXT NOT NULL, value BLOB NOT NULL, UNIQUE (namespace, oid))"
)
_INSERT = "INSERT OR REPLACE INTO blobs (namespace, oid, value) VALUES (?, ?, ?)"


class UntrustedFolder(Exception):
    """A directory that somebody else could write to, or that cannot be made."""


def default_cache_dir() -> Path:
    """$GITPLACER_CACHE, else $XDG_CACHE_HOME/gitplacer, else ~/.cache/gitplacer."""
    own = os.environ.get(VARIABLE, "")
    if own:
        return Path(own).absolute()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():
        return shared / "gitplacer"
    try:
        return Path.home() / ".cache" / "gitplacer"
    except RuntimeError:  # a container's user that has no name and no home
        return Path(tempfile.gettempdir()) / f"gitplacer-{os.getuid()}"


def private_folder(cache_dir: Path, name: str) -> Path:
    """A folder of the cache directory, made if need be, that only this user can write to. Raises UntrustedFolder."""
    folder = cache_dir / name
    try:
        cache_dir.parent.mkdir(parents=True, exist_ok=True)
        for path in (cache_dir, folder):
            path.mkdir(mode=0o700, exist_ok=True)
            found = path.stat()
            if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise UntrustedFolder(f"the cache directory {path} can be written to by other users")
    except OSError as error:
        raise UntrustedFolder(f"cannot use the cache directory {folder}: {error.strerror}") from None
    return folder


class BlobCache:
    """
    Bytes by (namespace, blob id) in one SQLite file below `cache_dir`. The namespace names what the values are and
    the version of their format, so that values of another version are never seen. The oldest go when the file grows
    beyond `max_bytes`. No method raises.
    """

    def __init__(self, cache_dir: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._database: sqlite3.Connection | None = None
        try:
            self._path = private_folder(cache_dir, "values") / "blobs.sqlite"
        except UntrustedFolder:
            return
        self._open()

    def close(self) -> None:
        if self._database:
            self._database.close()
        self._database = None

    def get_many(self, namespace: str, oids: Iterable[str]) -> dict[str, bytes]:
        """The values that are there."""
        wanted = list(oids)
        found = {}
        try:
            for start in range(0, len(wanted) if self._database else 0, _MANY):
                part = wanted[start : start + _MANY]
                assert self._database
                rows = self._database.execute(
                    f"SELECT oid, value FROM blobs WHERE namespace = ? AND oid IN ({','.join('?' * len(part))})",
                    (namespace, *part),
                )
                found.update({oid: _checked(namespace, oid, value) for oid, value in rows})
        except sqlite3.Error as error:
            self._give_up(error)
        return {oid: value for oid, value in found.items() if value is not None}

    def put_many(self, namespace: str, values: Mapping[str, bytes]) -> None:
        """Keep these values, for the next run."""
        if not self._database or not values:
            return
        # Rows as they are wanted: all of them at once would be a second copy of what may be a hundred MiB.
        rows = ((namespace, oid, _check(namespace, oid, values[oid]) + values[oid]) for oid in sorted(values))
        try:
            with self._database:
                self._database.executemany(_INSERT, rows)
            self._shrink()
        except sqlite3.Error as error:
            self._give_up(error)

    def _open(self) -> None:
        try:
            self._connect()
        except sqlite3.Error as error:
            self._give_up(error)
            if _is_damage(error):
                with contextlib.suppress(sqlite3.Error):
                    self._connect()

    def _connect(self) -> None:
        self._database = _connected(self._path)
        weakref.finalize(self, self._database.close)

    def _shrink(self) -> None:
        assert self._database
        while self._size() > self._max_bytes:
            with self._database:
                (count,) = self._database.execute("SELECT count(*) FROM blobs").fetchone()
                if not count:
                    return
                self._database.execute(
                    "DELETE FROM blobs WHERE id IN (SELECT id FROM blobs ORDER BY id LIMIT ?)", (count // 4 + 1,)
                )

    def _size(self) -> int:
        assert self._database
        pages, free, size = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _give_up(self, error: sqlite3.Error) -> None:
        """Go on without a cache; a damaged file is deleted, so that the next run starts a new one."""
        self.close()
        if _is_damage(error):
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    # Used by one thread; but it is closed by whichever thread's garbage collection finds that nobody uses it any more.
    database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(_TABLE)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _is_damage(error: sqlite3.Error) -> bool:
    """Being locked, full or read-only passes; this does not."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _check(namespace: str, oid: str, value: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(f"{namespace}\0{oid}\0".encode(), digest_size=_CHECK)
    digest.update(value)  # not a copy of it
    return digest.digest()


def _checked(namespace: str, oid: str, stored: object) -> bytes | None:
    """The value, unless its bytes have changed since they were written."""
    if not isinstance(stored, bytes) or _check(namespace, oid, memoryview(stored)[_CHECK:]) != stored[:_CHECK]:
        return None
    return stored[_CHECK:]

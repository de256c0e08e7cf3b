"""
Connections to an API server that are cut where the answer does not begin in time.

A timeout counts from one piece to the next, so a server that sends a byte of its handshake or of its headers now and then is never too slow for it.
What comes after the headers is read by `access`, which looks at its clock.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from gitplacer.capacity import access
from gitplacer.capacity.access import ClusterError
from gitplacer.deadlines import Wire


def with_deadline(pool: PoolManager) -> PoolManager:
    """A pool manager whose connections wait for the beginning of an answer as long as for the whole of it, and no longer."""
    pool.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return pool


class _Watched:
    """A connection that is cut in its handshake of TLS or before its answer begins."""

    host: str
    port: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.wire = Wire()
        super().__init__(*args, **kwargs)

    def connect(self) -> None:
        with _ended(self):
            super().connect()  # type: ignore[misc]

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        self.wire.hold(sock)
        return sock

    def getresponse(self) -> Any:
        with _ended(self):
            return super().getresponse()  # type: ignore[misc]

    def close(self) -> None:
        self.wire.drop()
        super().close()  # type: ignore[misc]


class _Connection(_Watched, HTTPConnection):
    pass


class _SecureConnection(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


@contextlib.contextmanager
def _ended(connection: _Watched) -> Iterator[None]:
    """Cut a connection when the time is up, and say so. Raises ClusterError."""
    is_cut = threading.Event()

    def cut() -> None:
        is_cut.set()
        connection.wire.cut()

    timer = threading.Timer(access.WITHIN, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not is_cut.is_set():
            raise
    finally:
        timer.cancel()
    if is_cut.is_set():  # the end of what was sent is also taken for the end of the headers
        raise ClusterError(
            f"{connection.host}:{connection.port} took more than {access.WITHIN:.0f} s to begin an answer",
            "the API server or the way to it is overloaded: try again, or read it from nearer by",
        )

"""
Connections to an API server that are cut where the answer does not begin in time.

A timeout counts from one piece of an answer to the next, so a server that sends a byte of its headers now and then is never too slow for it.
What comes after the headers is read by `access`, which looks at its clock.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from gitplacer.capacity import access
from gitplacer.capacity.access import ClusterError


def with_deadline(pool: PoolManager) -> PoolManager:
    """A pool manager whose connections wait for the beginning of an answer as long as for the whole of it, and no longer."""
    pool.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return pool


class _Connection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override] # as urllib3's own
        with _ended(self):
            return super().getresponse()


class _SecureConnection(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override] # as urllib3's own
        with _ended(self):
            return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


@contextlib.contextmanager
def _ended(connection: Any) -> Iterator[None]:
    """Cut a connection when the time is up, and say so. Raises ClusterError."""
    sock, is_cut = connection.sock, threading.Event()

    def cut() -> None:
        is_cut.set()
        with contextlib.suppress(OSError):  # it is closed already
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

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

"""
Requests over HTTP that end in time, whatever the other side sends.

A timeout counts from one piece to the next, so a server, or a proxy before it, that sends a byte now and then is never too slow for it: in the
handshake of TLS, in its headers or in its answer. So a connection is cut when the time is up, which counts from the beginning of a request,
connecting included, to the end of its answer. What fails by that fails in many ways, and some look like an answer that is short; whoever asks looks
at `was_missed` too.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any


class Deadline:
    """How many seconds a request and its answer may take together, and whether one took more."""

    def __init__(self, within: float) -> None:
        self.within, self.was_missed = within, False

    def __str__(self) -> str:
        return f"it took more than {self.within:g} s to answer"


def timed(manager: Any, deadline: Deadline) -> Any:
    """A pool manager of urllib3 whose connections keep a deadline; one that goes through SOCKS, whose connections are its own, as it is."""
    import urllib3  # late: it comes with extras

    if isinstance(manager, urllib3.ProxyManager) or type(manager) is urllib3.PoolManager:
        manager.pool_classes_by_scheme = _pools(deadline)
    return manager


def adapter(deadline: Deadline, **how: Any) -> Any:
    """An adapter of requests whose connections keep a deadline."""
    from requests.adapters import HTTPAdapter

    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        HTTPAdapter.init_poolmanager(self, *args, **kwargs)
        timed(self.poolmanager, deadline)

    def by_proxy(self: Any, *args: Any, **kwargs: Any) -> Any:
        return timed(HTTPAdapter.proxy_manager_for(self, *args, **kwargs), deadline)

    kind = type("Timed", (HTTPAdapter,), {"init_poolmanager": begun, "proxy_manager_for": by_proxy})
    return kind(**how)


_INJECTING = threading.Lock()


@contextlib.contextmanager
def in_pygithub(deadline: Deadline) -> Iterator[None]:
    """What is made of PyGithub meanwhile sends its requests over connections that keep a deadline."""
    from github import Requester

    class Secure(Requester.HTTPSRequestsConnectionClass):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            _mounted(self, "https://")

    class Plain(Requester.HTTPRequestsConnectionClass):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            _mounted(self, "http://")

    def _mounted(connection: Any, scheme: str) -> None:
        size = connection.pool_size
        connection.adapter = adapter(deadline, max_retries=connection.retry, pool_connections=size, pool_maxsize=size)
        connection.session.mount(scheme, connection.adapter)

    with _INJECTING:
        Requester.Requester.injectConnectionClasses(Plain, Secure)
        try:
            yield
        finally:
            Requester.Requester.resetConnectionClasses()


def _pools(deadline: Deadline) -> dict[str, Any]:
    """Pools of such connections, by scheme."""
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection

    class Plain(_Timed, HTTPConnection):
        kept = deadline

    class Secure(_Timed, HTTPSConnection):
        kept = deadline

    class PlainPool(_Resting, HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(_Resting, HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class Wire:
    """What a connection goes over, held on to by itself so that it can be cut: what TLS makes of a socket is had only after the handshake."""

    def __init__(self) -> None:
        self._held: socket.socket | None = None

    def hold(self, sock: socket.socket) -> None:
        """Hold on to this one instead."""
        self.drop()
        self._held = sock.dup()

    def drop(self) -> None:
        """Hold on to none."""
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def cut(self) -> None:
        """Whoever reads from it, or writes to it, fails."""
        held = self._held
        if held is not None:
            with contextlib.suppress(OSError):  # it is closed already
                held.shutdown(socket.SHUT_RDWR)


class _Watch:
    """Cuts the wire of a connection when the time is up."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline, self.has_cut = deadline, False
        self.wire = Wire()
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Count from now on, if nothing is counted yet."""
        if self._timer is None:
            self._timer = threading.Timer(self.deadline.within, self._cut)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _cut(self) -> None:
        self.deadline.was_missed = self.has_cut = True
        self.wire.cut()


class _Timed:
    """A connection of urllib3 that is watched from when it connects or sends something until it is closed or rests."""

    kept: Deadline

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.watch, self._is_answering = _Watch(self.kept), False
        super().__init__(*args, **kwargs)

    def connect(self) -> None:
        self.watch.begin()
        super().connect()  # type: ignore[misc]

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        self.watch.wire.hold(sock)
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        self.watch.begin()
        super().request(*args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        self._is_answering = True
        try:
            answer = super().getresponse()  # type: ignore[misc]
        finally:
            self._is_answering = False
        if self.watch.has_cut:  # the end of what was sent is also taken for the end of the headers
            answer.close()
            raise TimeoutError(str(self.kept))
        return answer

    def close(self) -> None:
        if not self._is_answering:  # a connection that only this answer goes over is closed before the answer is read
            self.watch.end()
            self.watch.wire.drop()
        super().close()  # type: ignore[misc]


class _Resting:
    """A pool of urllib3 in which connections that were put back are not watched."""

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.watch.end()
            if conn.sock is None:
                conn.watch.wire.drop()
        super()._put_conn(conn)  # type: ignore[misc]

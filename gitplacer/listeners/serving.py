"""
A small HTTP server in a thread of its own, with a bound for everything that a stranger may use up.

A connection lives for so many seconds, whatever is done with it: one that says nothing, or a byte now and then, is gone then. There are so many of them
at a time; one more is closed at once, before it costs a buffer. Headers are so long. So whoever floods a listener floods that listener.

The socket is bound before anything else begins, so that an address that is taken is an error at the start.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from gitplacer.settings import UsageError
from gitplacer.telemetry.metrics import NEEDS

_BACKLOG = 128
_LONGEST_HEADERS = 16 * 1024
_FAREWELL = 3.0
_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]*):(?P<port>[0-9]{1,5})")


class Bounds(Struct, frozen=True, kw_only=True):
    """How many connections at a time, and how many seconds each."""

    connections: int = 64
    seconds: float = 15.0


class Place(Struct, frozen=True):
    """Where a listener listens. An empty host is every address of this machine."""

    option: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def place(option: str, text: str) -> Place:
    """HOST:PORT, `[::1]:8080` or `:8080`. Raises UsageError."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(
            f"{option} {text} is no address to listen on",
            'write HOST:PORT, such as "127.0.0.1:8080", or ":8080" for all addresses',
        )
    return Place(option, found["host"].strip("[]"), int(found["port"]))


def bound(where: Place) -> socket.socket:
    """A socket that listens there. Raises UsageError where that cannot be."""
    try:
        found = socket.getaddrinfo(
            where.host or None, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
        # All addresses: the socket of IPv6 takes those of IPv4 as well, where there is IPv6.
        family, _, _, _, address = max(found, key=lambda each: each[0] == socket.AF_INET6 and not where.host)
        return socket.create_server(
            address[:2], family=family, backlog=_BACKLOG,
            dualstack_ipv6=family == socket.AF_INET6 and not where.host and socket.has_dualstack_ipv6(),
        )  # fmt: skip
    except OSError as error:
        shown = f"{where.host or '*'}:{where.port}"
        hint = "choose an address of this machine and a free port"
        if error.errno == errno.EADDRINUSE:
            hint = "another program listens there; stop it, or choose another port"
        why = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror
        raise UsageError(f"{where.option}: cannot listen on {shown}: {why}", hint) from None


def _protocol(bounds: Bounds) -> Any:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(H11Protocol):
        """Ends with its time, and does not begin when there are too many."""

        _ends: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            if len(self.connections) >= bounds.connections:
                transport.abort()
                self.transport = transport
                return
            super().connection_made(transport)
            self._ends = self.loop.call_later(bounds.seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._ends is None:
                return
            self._ends.cancel()
            super().connection_lost(exc)

    return Bounded


class Listener:
    """
    A server for one ASGI application on one socket, until `stop`. `complain` is told once when it ends by itself. Raises UsageError where the
    libraries are missing.
    """

    def __init__(
        self, name: str, app: Any, listening: socket.socket, *, bounds: Bounds, complain: Callable[[str], None]
    ) -> None:
        self._name, self._complain = name, complain
        self.port: int = listening.getsockname()[1]
        self._socket = listening
        import uvicorn

        for logger in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
            quiet = logging.getLogger(logger)
            quiet.addHandler(logging.NullHandler())
            quiet.propagate = False  # what strangers send is not for our log
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=_protocol(bounds),
                ws="none",
                lifespan="off",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=int(_FAREWELL),
                h11_max_incomplete_event_size=_LONGEST_HEADERS,
            )
        )
        self._thread = threading.Thread(target=self._run, name=f"gitplacer-{name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, and let those that are there end soon."""
        self._server.should_exit = True
        self._thread.join(_FAREWELL + 1)

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except BaseException as error:  # it has no caller who could be told
            self._complain(f"the listener for {self._name} has ended: {type(error).__name__}: {error}")
        finally:
            self._socket.close()


def require() -> None:
    """Raise UsageError where the libraries for listeners are missing."""
    try:
        import starlette
        import uvicorn
    except ModuleNotFoundError as error:
        raise UsageError(f"listeners need the package {error.name}", f"install it: {NEEDS}") from None
    del starlette, uvicorn

"""
A Git host with bad days: smart HTTP on this machine that answers as it is told to.

`bad` says what happens to requests, by the service that they are about and whether they only ask for refs. What it does not name is served as
it should be.
"""

from __future__ import annotations

import contextlib
import enum
import gzip
import http.server
import queue
import socket
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.gitservers import GitBackend, serving


class Ask(enum.Enum):
    """What is asked of a host, as a path says it."""

    LIST = "info/refs?service=git-upload-pack"
    REFS = "git-upload-pack: ls-refs"
    FETCH = "git-upload-pack: fetch"
    OFFER = "info/refs?service=git-receive-pack"
    PUSH = "git-receive-pack"


class Bad(enum.Enum):
    """What a host does instead of answering. Numbers are HTTP's."""

    BUSY = 503
    BROKEN = 500
    TOO_OFTEN = 429
    DENIED = 403
    UNKNOWN = 401
    STALL = "says nothing"
    CUT = "ends the connection in the middle of its answer"
    DEAF = "ends the connection before it has read what is sent"
    MUTE = "does what is asked and ends the connection without an answer"


@dataclass
class Host:
    """Where it is, and what it does."""

    url: str = ""
    bad: dict[Ask, Bad] = field(default_factory=dict)
    stalled: queue.SimpleQueue[Ask] = field(default_factory=queue.SimpleQueue)
    over: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def faulty_host(root: Path) -> Iterator[Host]:
    """Serve the repositories below `root`."""
    host = Host()

    class Handler(_Handler):
        project_root = str(root)
        of = host

    with _Server(("127.0.0.1", 0), Handler) as server, serving(server):
        host.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield host
        finally:
            host.over.set()


@dataclass
class Relay:
    """Stands before a server, and ends a connection after so many bytes of what the server says (None: never)."""

    port: int = 0
    cut_after: int | None = None
    shortest: int = 1 << 62
    """The fewest bytes that the server has said in one connection."""


@contextlib.contextmanager
def relay_to(port: int) -> Iterator[Relay]:
    relay = Relay()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            client: socket.socket = self.request
            with socket.create_connection(("127.0.0.1", port)) as server:
                threading.Thread(target=_pump, args=(client, server), daemon=True).start()
                said = _pump(server, client, relay.cut_after)
                relay.shortest = min(relay.shortest, said)
                for each in (client, server):
                    with contextlib.suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server, serving(server):
        relay.port = server.server_address[1]
        yield relay


def _pump(source: socket.socket, sink: socket.socket, most: int | None = None) -> int:
    """Hand on what comes, until it ends or enough has come; how much that was."""
    passed = 0
    with contextlib.suppress(OSError):
        while (most is None or passed < most) and (
            data := source.recv(1024 if most is None else min(1024, most - passed))
        ):
            sink.sendall(data)
            passed += len(data)
    if most is None:
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
    return passed


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


class _Handler(GitBackend):
    of: Host

    def answer(self) -> None:
        ask, body = self._asked()
        match self.of.bad.get(ask):
            case None:
                self.send(*self.served(body or self.body()))
            case Bad.STALL:
                self.of.stalled.put(ask)
                self.of.over.wait()
                self._hang_up()
            case Bad.DEAF:
                self.rfile.read1(1)
                self._hang_up()
            case Bad.MUTE:
                self.served(body or self.body())
                self._hang_up()
            case Bad.CUT:
                status, headers, content = self.served(body or self.body())
                self.send(status, headers, content, most=len(content) // 2)
                self._hang_up()
            case refusal:
                _ = body or self.body()
                self.send_response(int(refusal.value))
                self.send_header("Retry-After", "120")
                self.send_header("Content-Length", "0")
                self.end_headers()

    def _asked(self) -> tuple[Ask, bytes]:
        """What is asked for; and what was sent, as far as it had to be read to know that."""
        if not self.path.endswith("/git-upload-pack"):
            return next(ask for ask in Ask if self.path.endswith(f"/{ask.value}")), b""
        body = self.body()
        plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        return (Ask.REFS if b"command=ls-refs" in plain else Ask.FETCH), body

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

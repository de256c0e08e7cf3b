"""Who asks a server over HTTP does not wait for ever, however often a byte comes."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3

from gitplacer.deadlines import Deadline, adapter, timed
from gitplacer.git import apptokens
from gitplacer.git.program import GitError
from gitplacer.hosts import github, gitlab
from gitplacer.hosts.access import access
from gitplacer.hosts.host import HostError
from gitplacer.hosts.patience import Patience
from gitplacer.telemetry import notifications
from gitplacer.telemetry.courier import Undelivered

pytestmark = pytest.mark.server

SHORTLY = 0.6
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SLOW = {
    "the handshake of TLS": (b"\x16\x03\x03\x3f\xff", b"\0"),
    "headers": (b"HTTP/1.1 200 OK\r\nX-A: ", b"a"),
    "an answer of a known length": (ANSWER + b"Content-Length: 100000\r\n\r\n", b" "),
    "an answer in chunks": (ANSWER + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "an answer without a length": (ANSWER + b"\r\n", b" "),
}


@contextlib.contextmanager
def trickling(first: bytes, drop: bytes) -> Iterator[int]:
    """The port of a server that begins an answer and goes on by a drop, and the next, without an end."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(peer: socket.socket) -> None:
            with contextlib.suppress(OSError), peer:
                peer.recv(65536)
                for piece in itertools.chain([first], itertools.repeat(drop)):
                    peer.sendall(piece)
                    time.sleep(0.05)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


@pytest.mark.parametrize("what", SLOW)
def test_a_connection_is_cut_when_the_time_is_up(what: str) -> None:
    deadline = Deadline(SHORTLY)
    pool = timed(urllib3.PoolManager(retries=False, timeout=5.0), deadline)
    began = time.monotonic()
    with trickling(*SLOW[what]) as port, contextlib.suppress(urllib3.exceptions.HTTPError):
        pool.request("GET", f"{'https' if 'TLS' in what else 'http'}://127.0.0.1:{port}/")
    assert deadline.was_missed
    assert SHORTLY <= time.monotonic() - began < 4


@pytest.mark.parametrize("proxied", [False, True])
def test_so_is_one_of_requests_also_on_the_way_to_a_proxy(proxied: bool) -> None:
    deadline = Deadline(SHORTLY)
    with trickling(*SLOW["headers"]) as port, requests.Session() as session:
        session.mount("http://", adapter(deadline, max_retries=Patience(lambda _: None, deadline)))
        if proxied:
            session.proxies = {"http": f"http://127.0.0.1:{port}"}
        with contextlib.suppress(requests.RequestException):
            session.get("http://git.example/" if proxied else f"http://127.0.0.1:{port}/", timeout=5.0)
    assert deadline.was_missed


def test_a_connection_that_rests_is_kept() -> None:
    """Only what is asked for counts, so the next question has the whole time."""
    deadline = Deadline(SHORTLY)
    asked: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                peer, _ = server.accept()
                with peer:
                    while peer.recv(65536):
                        asked.append(1)
                        time.sleep(SHORTLY / 2)
                        peer.sendall(ANSWER + b"Content-Length: 2\r\n\r\n{}")

        threading.Thread(target=serve, daemon=True).start()
        pool: Any = timed(urllib3.PoolManager(retries=False, timeout=5.0), deadline)
        for _ in range(3):
            assert pool.request("GET", f"http://127.0.0.1:{server.getsockname()[1]}/").data == b"{}"
            time.sleep(SHORTLY)
        pool.clear()
    assert (len(asked), deadline.was_missed) == (3, False)


@pytest.mark.parametrize("what", [name for name in SLOW if "TLS" not in name])
@pytest.mark.parametrize("host", [github, gitlab])
def test_a_host_that_takes_too_long_is_told_so_and_is_asked_once(
    host: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "LONGEST_ANSWER", SHORTLY)
    waited: list[float] = []
    with trickling(*SLOW[what]) as port:
        environment = {"GITPLACER_HOST_URL": f"http://127.0.0.1:{port}", "GITPLACER_HOST_TOKEN": "t0ken"}
        given = access(host.__name__.rpartition(".")[2], "acme/fleet", environment)
        opened = getattr(host, "GitHub" if host is github else "GitLab")(given, waited.append)
        with pytest.raises(HostError, match=r"it took more than 0\.6 s to answer") as failed:
            opened.pull(12)
        opened.close()
    assert "proxy on the way" in failed.value.hint and not waited


def test_a_token_that_takes_too_long_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apptokens, "_LONGEST_ANSWER", SHORTLY)
    monkeypatch.setattr(apptokens, "read_private", lambda *_: "key")
    monkeypatch.setattr("github.Auth.AppAuth.create_jwt", lambda *_, **__: "jwt")
    with trickling(*SLOW["an answer of a known length"]) as port:
        app = apptokens.App(app_id=1, installation_id=2, private_key=tmp_path, api_url=f"http://127.0.0.1:{port}")
        with pytest.raises(GitError, match=r"it took more than 0\.6 s to answer"):
            apptokens.AppTokens()(app, apptokens.Right.READ)


def test_a_notice_that_takes_too_long_is_given_up_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_LONGEST", SHORTLY)
    with trickling(*SLOW["headers"]) as port:
        sent = notifications.Notifications(
            f"http://127.0.0.1:{port}/", lambda: "secret", source="s", clock=_Clock(), complain=print, dropped=print
        )
        with pytest.raises(Undelivered, match=r"it took more than 0\.6 s to answer"):
            sent._send(b"{}")
        sent.stopped()


class _Clock:
    """Enough of a clock for a courier that has nothing to carry."""

    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    def listen(self, bell: Any, seconds: float) -> None:
        bell.get(timeout=seconds)

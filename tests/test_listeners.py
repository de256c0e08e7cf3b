"""
The listeners as real servers on this machine, asked over real connections: what is answered, that forged and oversized webhooks wake nobody, and
that nobody can use a listener up.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from gitplacer.cli.listening import Listening, opened
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Due, Pace
from gitplacer.controller.wakes import Wakes
from gitplacer.listeners import hooks, pages, probes
from gitplacer.listeners.serving import Bounds, Listener, bound, place
from gitplacer.settings import UsageError, settings
from gitplacer.telemetry.health import LATE, LONGEST_TURN, Health
from gitplacer.telemetry.logs import Logs
from gitplacer.telemetry.metrics import Metrics
from tests.clocks import StoryClock
from tests.fleetrepos import Fleet, made
from tests.stories import rayservice
from tests.test_hook_payloads import github
from tests.test_hook_signatures import NOW, SECRET, signed

LOCAL = "127.0.0.1:0"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@contextlib.contextmanager
def serving(app: object, bounds: Bounds | None = None) -> Iterator[int]:
    """An application on a port of this machine."""
    complaints: list[str] = []
    listener = Listener(
        "test", app, bound(place("--test", LOCAL)), bounds=bounds or Bounds(seconds=60), complain=complaints.append
    )
    try:
        yield listener.port
    finally:
        listener.stop()
    assert not complaints


def ask(
    port: int, path: str, method: str = "GET", body: bytes | Iterator[bytes] | None = None, **headers: str
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, given, encode_chunked=body is not None and not isinstance(body, bytes))
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


# webhooks


@dataclass
class Hooked:
    """A listener for webhooks, with the wakes that it hints at and what it counted."""

    port: int
    wakes: Wakes
    clock: StoryClock
    counted: list[tuple[str, str]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def post(self, body: bytes, way: str = "github", **headers: str) -> int:
        given = {
            "content-type": "application/json",
            **signed(way, body),
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        provider = way.split(" ")[0]
        return ask(self.port, f"/hooks/{provider}", "POST", body, **{k: v for k, v in given.items() if v}).status

    def woken(self) -> tuple[str, ...]:
        """Why a turn would begin at once; none where it would not."""
        due = Due(look_at=self.clock.seconds + 1000, pass_at=self.clock.seconds + 1000)
        wakes = self.wakes.next_turn(due) < due.look_at and self.wakes.wait(lambda: due)
        return wakes.why if wakes else ()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def hooked(tmp_path: Path, secret_file: Path) -> Iterator[Hooked]:
    clock = StoryClock()
    found = Hooked(0, Wakes(clock, Pace()), clock)
    known = hooks.secrets(
        tuple(f"{name}={secret_file}" for name in ("github", "gitlab", "gitea", "bitbucket", "flux")),
        found.complaints.append,
    )
    interests = hooks.Interests(settings(str(tmp_path)))
    told = hooks.Told(
        found.wakes.hint,
        lambda provider, result, seconds: found.counted.append((provider, result)),
        found.complaints.append,
    )
    with serving(hooks.application(known, interests, told, wall=lambda: NOW)) as port:
        found.port = port
        yield found
    assert not found.complaints


@pytest.mark.parametrize("way", ["github", "gitlab", "gitlab token", "gitea", "bitbucket", "flux"])
def test_a_signed_push_wakes_the_controller_once(hooked: Hooked, way: str) -> None:
    body = json.dumps(github()).encode()
    assert hooked.post(body, way) == 202
    provider = way.split(" ")[0]
    assert hooked.woken() == (f"webhook from {provider}",)
    assert hooked.post(body, way) == 202
    assert hooked.woken() == ()
    assert hooked.counted == [(provider, "followed"), (provider, "seen")]


BODY = json.dumps(github()).encode()


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/hooks/github", BODY, {"x-hub-signature-256": "sha256=" + "0" * 64}, 401),
        ("POST", "/hooks/github", BODY, {"x-hub-signature-256": ""}, 401),
        ("POST", "/hooks/github", b"x" * (hooks.MOST_BYTES + 1), {}, 413),
        ("POST", "/hooks/github", b"chunked", {}, 413),
        ("POST", "/hooks/github", BODY, {"content-type": "application/x-www-form-urlencoded"}, 415),
        ("POST", "/hooks/github", BODY, {"content-type": ""}, 415),
        ("POST", "/hooks/github", BODY, {"content-encoding": "gzip"}, 415),
        ("POST", "/hooks/github", b"[1]", {}, 400),
        ("GET", "/hooks/github", b"", {}, 405),
        ("PUT", "/hooks/github", BODY, {}, 405),
        ("POST", "/hooks/forgejo", BODY, {}, 404),  # it has no secret
        ("POST", "/hooks/github/", BODY, {}, 404),
        ("POST", "/hooks/..%2fgithub", BODY, {}, 404),
        ("POST", "/", BODY, {}, 404),
        ("GET", "/metrics", b"", {}, 404),
    ],
)  # fmt: skip
def test_what_is_forged_oversized_or_odd_wakes_nobody(
    hooked: Hooked, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    sent: bytes | Iterator[bytes] = body
    if body == b"chunked":  # without a length, and without an end
        body = b"y" * (hooks.MOST_BYTES + 1)
        sent = iter([body[: 1 << 18]] * 4 + [b"yy"])
    given = {"content-type": "application/json", **signed("github", body), **headers}
    try:
        answer = ask(hooked.port, path, method, sent, **{name: value for name, value in given.items() if value})
        assert answer.status == status
        assert b"main" not in answer.body and SECRET.encode() not in answer.body
    except (ConnectionResetError, BrokenPipeError):
        assert status == 413  # it was hung up on in the middle of its body
    assert hooked.woken() == ()
    assert all(result == "refused" for _, result in hooked.counted)
    assert hooked.post(BODY, "gitlab") == 202 and hooked.woken()  # and it goes on


def test_a_length_that_is_said_is_enough_to_be_refused(hooked: Hooked) -> None:
    """Nothing of the body is sent, and it is refused all the same."""
    with socket.create_connection(("127.0.0.1", hooked.port), timeout=60) as connection:
        lines = [
            "POST /hooks/github HTTP/1.1",
            "Host: x",
            "Content-Type: application/json",
            "Content-Length: 999999999999",
            "",
            "",
        ]
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    assert hooked.woken() == ()


def test_a_secret_can_be_replaced_while_both_are_in_use(hooked: Hooked, secret_file: Path) -> None:
    new = secret_file.with_name("new")
    new.write_text("the next secret, which is long\n")
    new.chmod(0o600)
    body = b'{"ref":"refs/heads/main","after":"2"}'
    headers = {"content-type": "application/json", **signed("github", body, "the next secret, which is long")}
    assert ask(hooked.port, "/hooks/github", "POST", body, **headers).status == 401
    new.replace(secret_file)
    assert ask(hooked.port, "/hooks/github", "POST", body, **headers).status == 202


@pytest.mark.parametrize("state", ["gone", "exposed", "short"])
def test_a_secret_that_is_taken_away_stays_in_use(tmp_path: Path, secret_file: Path, state: str) -> None:
    complaints: list[str] = []
    secret = hooks.SecretFile("--hooks-secret-file", secret_file, complaints.append)
    secret_file.unlink()
    if state != "gone":
        secret_file.write_text("short" * 2 if state == "short" else SECRET)
        secret_file.chmod(0o644 if state == "exposed" else 0o600)
    assert [secret(), secret()] == [SECRET, SECRET]
    assert len(complaints) == 1 and SECRET not in complaints[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("github", "names no file"),
        ("githab={}", 'no provider "githab"'),
        ("github={}/none", "cannot read"),
        ("github={}/open", "other users can read"),
        ("github={}/group", "its group can read"),
        ("github={}/short", "has 10 characters"),
        ("github={}/empty", "does not hold one line"),
    ],
)
def test_secrets_that_cannot_be_used_are_named_before_anything_begins(tmp_path: Path, given: str, said: str) -> None:
    for name, text, mode in [
        ("open", SECRET, 0o644),
        ("group", SECRET, 0o640),
        ("short", "0123456789", 0o600),
        ("empty", "\n", 0o600),
    ]:
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    with pytest.raises(Exception, match=re.escape(said)) as found:
        hooks.secrets((given.format(tmp_path),), lambda message: None)
    assert getattr(found.value, "hint", "")


# what a stranger may use up


def test_a_connection_that_says_nothing_ends(hooked: Hooked) -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        raise AssertionError("nothing was asked")

    with serving(app, Bounds(connections=8, seconds=0.2)) as port:
        for said in (b"", b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(said)
                assert ended(connection)


def test_a_body_that_does_not_end_ends(secret_file: Path, tmp_path: Path) -> None:
    known = hooks.secrets((f"github={secret_file}",), lambda message: None)
    counted: list[str] = []
    told = hooks.Told(
        lambda why, ref: counted.append(why), lambda provider, result, seconds: counted.append(result), counted.append
    )
    app = hooks.application(known, hooks.Interests(settings(str(tmp_path))), told)
    with (
        serving(app, Bounds(connections=8, seconds=0.2)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
    ):
        connection.sendall(
            b"POST /hooks/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
        )
        assert ended(connection)
    assert counted == ["refused"]


def ended(connection: socket.socket) -> bool:
    """Whether the other side hangs up without an answer."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


def test_there_are_so_many_connections_and_no_more(hooked: Hooked) -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        raise AssertionError("nothing was asked")

    with serving(app, Bounds(connections=2, seconds=60)) as port, contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(2)]
        assert ended(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)))
        held[0].close()
        # It is noticed in the server's own time that one has gone; then there is room again.
        held[1].setblocking(False)
        with pytest.raises(BlockingIOError):
            held[1].recv(1)


def test_headers_that_do_not_end_are_refused(hooked: Hooked) -> None:
    with socket.create_connection(("127.0.0.1", hooked.port), timeout=60) as connection:
        connection.sendall(b"POST /hooks/github HTTP/1.1\r\nX-Long: " + b"x" * 40_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 4")


# probes


def test_it_is_alive_while_its_loop_turns_and_ready_when_it_has_read(tmp_path: Path) -> None:
    clock = StoryClock()
    health, metrics = Health(clock), Metrics(clock.wall)
    fleet = made(tmp_path)
    controller = Controller(
        settings(str(fleet.source), deployment=fleet.deployment),
        draw=lambda: 0.5,
        clock=clock,
        observers=[health, metrics],
    )
    with serving(probes.application(health, metrics)) as port:
        assert (ask(port, "/healthz").status, ask(port, "/readyz").status) == (200, 503)
        clock.at(30, controller.stop)
        controller.run()
        assert ask(port, "/readyz").status == 503  # it has stopped
        health.waiting(clock.wall() + timedelta(seconds=60))
        assert ask(port, "/healthz").status == 200
        clock.seconds += 60 + LATE
        assert ask(port, "/healthz").status == 200
        clock.seconds += 1
        assert (ask(port, "/healthz").status, ask(port, "/healthz").body) == (503, b"waits, 1 s longer than it may\n")
        health.began(9, ("time",), clock.wall())
        clock.jump(timedelta(days=400))  # the time of day does not matter
        clock.seconds += LONGEST_TURN
        assert ask(port, "/healthz").status == 200
        clock.seconds += 1
        assert ask(port, "/healthz").status == 503
        answer = ask(port, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert b'gitplacer_reconcile_total{result="Published"} 1.0' in answer.body


def test_an_outage_later_leaves_it_ready(tmp_path: Path) -> None:
    clock, fleet = StoryClock(), made(tmp_path)
    health, states = Health(clock), list[bool]()
    controller = Controller(
        settings(str(fleet.source), deployment=fleet.deployment), draw=lambda: 0.5, clock=clock, observers=[health]
    )
    clock.at(10, lambda: fleet.bare.rename(fleet.bare.with_name("away.git")))
    clock.at(400, lambda: states.extend([health.ready().good, health.alive().good]))
    clock.at(400, controller.stop)
    controller.run()
    assert states == [True, True]


# the report


@pytest.fixture
def reported(tmp_path: Path) -> Iterator[tuple[int, Fleet, Controller, StoryClock]]:
    clock, fleet = StoryClock(), made(tmp_path)
    chosen = settings(str(fleet.source), deployment=fleet.deployment)
    complaints: list[str] = []
    found = pages.Pages(chosen, redact=False, complain=complaints.append)
    controller = Controller(chosen, draw=lambda: 0.5, clock=clock, observers=[found])
    with serving(pages.application(found, pages.hosts(place("--report-listen", LOCAL), ["fleet.example"]))) as port:
        yield port, fleet, controller, clock
    assert not complaints


def test_the_report_is_that_of_the_last_pass(reported: tuple[int, Fleet, Controller, StoryClock]) -> None:
    port, fleet, controller, clock = reported
    assert ask(port, "/").status == 503
    clock.at(10, lambda: fleet.commit(rayservice("prod", "new")))
    seen: list[Answer] = []
    clock.at(5, lambda: seen.append(ask(port, "/")))
    clock.at(5, lambda: seen.append(ask(port, "/", if_none_match=seen[0].headers["etag"])))
    clock.at(90, lambda: seen.append(ask(port, "/", if_none_match=seen[0].headers["etag"])))
    clock.at(90, controller.stop)
    controller.run()
    first, same, later = seen
    assert (first.status, same.status, same.body, later.status) == (200, 304, b"", 200)
    assert b"prod/new" not in first.body and b"prod/new" in later.body
    policy = later.headers["content-security-policy"]
    assert f'content="{policy.removesuffix("; frame-ancestors " + chr(39) + "none" + chr(39))}"'.encode() in later.body
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8083", 503), ("127.0.0.1", 503), ("[::1]:99", 503), ("fleet.example", 503), ("FLEET.example:443", 503),
     ("evil.example", 421), ("localhost.evil.example", 421), ("", 421), ("localhost@evil", 421), ("127.0.0.1:x", 421)],
)  # fmt: skip
def test_the_report_is_shown_under_its_own_names_only(
    reported: tuple[int, Fleet, Controller, StoryClock], host: str, status: int
) -> None:
    assert ask(reported[0], "/", Host=host).status == status


def test_the_report_is_only_looked_at(reported: tuple[int, Fleet, Controller, StoryClock]) -> None:
    assert [ask(reported[0], "/", method).status for method in ("POST", "PUT", "DELETE")] == [405, 405, 405]
    assert ask(reported[0], "/../etc/passwd").status == 404


# where they listen


@pytest.mark.parametrize(
    "text", ["8080", "localhost", "a:b", "[::1:80", "127.0.0.1:70000", "http://x:80", "::1:80", ""]
)
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no address to listen on"):
        place("--hooks-listen", text)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"hooks_listen": LOCAL}, "needs a secret"),
        ({"hooks_secret_files": ("github=x",)}, "is for --hooks-listen"),
        ({"report_listen": ":0"}, "can be reached by others"),
        ({"report_listen": "0.0.0.0:0"}, "can be reached by others"),
        ({"report_listen": ":0", "report_hosts": ("*",)}, "is no name of a host"),
        ({"report_hosts": ("x",)}, "is for --report-listen"),
        ({"report_redact": True}, "is for --report-listen"),
        ({"notify_url_file": "x"}, "belong together"),
        ({"with_events": True}, "Pod|cluster"),
        ({"metrics_listen": "203.0.113.7:1"}, "cannot listen on"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_said_before_the_first_pass(
    tmp_path: Path, given: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UsageError, match=said) as found, listening(tmp_path, **given):
        pass
    assert found.value.hint


def test_an_address_that_is_taken_is_said_and_nothing_else_listens(tmp_path: Path) -> None:
    with contextlib.closing(bound(place("--metrics-listen", LOCAL))) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                UsageError, match=f"--report-listen: cannot listen on 127.0.0.1:{port}: Address already in use"
            ) as found,
            listening(tmp_path, metrics_listen=LOCAL, report_listen=f"127.0.0.1:{port}"),
        ):
            pass
    assert "another program listens there" in found.value.hint


@contextlib.contextmanager
def listening(tmp_path: Path, **given: object) -> Iterator[list[str]]:
    clock, lines = StoryClock(), list[str]()
    logs = Logs(lines.append, clock.wall)
    with opened(Listening(**given), settings(str(tmp_path)), logs, clock, lambda why, ref: None):  # type: ignore[arg-type]
        yield lines


def test_everything_listens_where_it_says(tmp_path: Path, secret_file: Path) -> None:
    with listening(
        tmp_path,
        hooks_listen=LOCAL,
        hooks_secret_files=(f"github={secret_file}",),
        metrics_listen="[::1]:0",
        report_listen=LOCAL,
    ) as lines:
        said = dict(line.split(" on ") for line in lines)
        assert list(said) == ["hooks", "metrics", "report"]
        port = int(said["hooks"].rsplit(":")[-1])
        assert ask(port, "/hooks/github").status == 405
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("openssl")), reason="curl or openssl is missing")
def test_the_script_that_the_docs_show_wakes_it(tmp_path: Path, secret_file: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "webhooks.md").read_text("utf-8")
    script = next(block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "openssl dgst" in block)
    woken: list[str | None] = []
    told = hooks.Told(lambda why, ref: woken.append(ref), lambda provider, result, seconds: None, lambda message: None)
    known = hooks.secrets((f"generic={secret_file}",), lambda message: None)
    secret_file.with_name("hook-secret").write_text(SECRET)
    with serving(hooks.application(known, hooks.Interests(settings(str(tmp_path))), told)) as port:
        here = script.replace("localhost:8081", f"127.0.0.1:{port}").replace(
            "curl ", "curl --silent --fail-with-body --noproxy '*' "
        )
        done = subprocess.run(["sh", "-e", "-c", here], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, woken) == (0, "accepted\n", ["refs/heads/main"]), done.stderr

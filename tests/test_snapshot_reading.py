"""Reading an API server: pages, expired tokens, patience, refusals, slow bodies; and the way to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gitplacer.capacity import access as reading
from gitplacer.capacity import programs
from gitplacer.capacity.access import Access, Again, ClusterError
from gitplacer.capacity.kubeconfig import (
    UntrustedKubeconfig,
    access_in_cluster,
    access_to,
    cluster_name,
    kubeconfig,
    trusted,
)
from tests.apistandin import TOKEN, ApiServer, Json, Served, Trouble, serving, status
from tests.commands import git
from tests.livecluster import namespace

NAMESPACES = "/api/v1/namespaces"
FIVE = [namespace(f"n{number}") for number in range(5)]


@pytest.fixture
def server() -> ApiServer:
    made = ApiServer({("", "namespaces"): FIVE})
    made.page = 2
    return made


@pytest.fixture
def served(server: ApiServer) -> Iterator[Served]:
    with serving(server) as found:
        yield found


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def access(served: Served, tmp_path: Path, waits: list[float]) -> Access:
    """An access that does not sleep, and notes how long it would have."""
    place = tmp_path / "kubeconfig"
    place.write_text(served.kubeconfig())
    place.chmod(0o600)
    return structs.replace(access_to(kubeconfig(str(place), {}), "static-cluster"), sleep=waits.append)


def names(access: Access) -> list[str]:
    """The names in the list of namespaces, once it was read to the end."""
    found: list[str] = []
    for page in access.pages(NAMESPACES):
        if isinstance(page, Again):
            found.clear()
            continue
        found += [item["metadata"]["name"] for item in page]
    return found


ALL = ["n0", "n1", "n2", "n3", "n4"]


def test_a_list_is_read_page_by_page(access: Access, server: ApiServer) -> None:
    assert names(access) == ALL
    assert [("continue" in asked.query, asked.query["limit"]) for asked in server.asked] == [
        (False, "500"),
        (True, "500"),
        (True, "500"),
    ]


def test_an_expired_token_goes_on_with_what_is_there_now(access: Access, server: ApiServer) -> None:
    server.expires = 1
    assert names(access) == ALL


def test_a_list_whose_server_forgets_begins_again(access: Access, server: ApiServer) -> None:
    """What was read before does not count, and is not there twice."""
    server.troubles = [Trouble(NAMESPACES, 410, body=status(410, "Expired", "too old"), after=2)]
    assert names(access) == ALL
    assert ["continue" in asked.query for asked in server.asked] == [False, True, True, False, True, True]


def test_a_list_that_expires_for_ever_is_given_up(access: Access, server: ApiServer) -> None:
    server.expires, server.resumes = 1, False
    with pytest.raises(ClusterError, match="expired 5 times") as raised:
        names(access)
    assert raised.value.status == 410
    assert len(server.asked) == 10


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "99999"}, reading.LONGEST_WAIT),
        ({}, 1.0),
        ({"Retry-After": "soon"}, 1.0),
    ],
)
def test_a_server_that_says_so_is_given_time(
    header: dict[str, str], waited: float, access: Access, server: ApiServer, waits: list[float]
) -> None:
    server.troubles = [Trouble(NAMESPACES, 429, headers=header, after=1)]
    assert names(access) == ALL
    assert waits == [waited]


@pytest.mark.parametrize(
    "trouble", [Trouble(NAMESPACES, 503), Trouble(NAMESPACES, after=1), Trouble(NAMESPACES, cut=40, after=1)]
)
def test_a_server_that_stumbles_is_asked_again(trouble: Trouble, access: Access, server: ApiServer) -> None:
    server.troubles = [trouble]
    assert names(access) == ALL


def test_a_server_that_never_answered_is_told_at_once(plugin: Path, waits: list[float]) -> None:
    """Its address is likely wrong, and somebody waits for the answer."""
    plugin.write_text(EXEC.replace(PLUGIN, "{token: x}"))
    found = structs.replace(access_to(kubeconfig(str(plugin), {}), "a"), sleep=waits.append)
    with pytest.raises(ClusterError, match=r"https://127.0.0.1:1 cannot be read: .*refused"):
        found.get("/apis")
    assert not waits


def test_a_server_that_stays_down_is_named(access: Access, server: ApiServer, waits: list[float]) -> None:
    server.troubles = [Trouble(NAMESPACES, 503, times=99)]
    with pytest.raises(ClusterError, match="answers 503: arranged"):
        names(access)
    assert waits == [1.0, 2.0, 4.0, 8.0]


def test_a_body_that_trickles_is_cut_off(access: Access, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body comes in two pieces; by the second the time is up."""
    monkeypatch.setattr(reading, "SILENCE", 0.05)
    server.troubles = [Trouble(NAMESPACES, 200, stall=10, times=99)]
    with pytest.raises(ClusterError, match=r"cannot be read: .*timed out"):
        names(access)


@pytest.fixture(
    params=[("http", b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"), ("https", b"\x16\x03\x03\x3f\xff", b"\0")],
    ids=["headers", "TLS"],
)
def trickling(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that begins an answer, or its handshake, and sends one header, or byte, after another for as long as somebody listens."""
    scheme, first, drop = request.param
    listening, ended = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def answer() -> None:
        with contextlib.suppress(OSError):
            while not ended.is_set():
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.sendall(first)
                    while not ended.wait(0.02):
                        connection.sendall(drop)

    serves = threading.Thread(target=answer, daemon=True)
    serves.start()
    yield f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
    ended.set()
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    serves.join(10)


def test_what_trickles_before_an_answer_is_cut_off(
    trickling: str, plugin: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each comes soon enough, and there is no end of them."""
    monkeypatch.setattr(reading, "WITHIN", 0.3)
    plugin.write_text(EXEC.replace(PLUGIN, "{token: x}").replace("https://127.0.0.1:1", trickling))
    found = structs.replace(access_to(kubeconfig(str(plugin), {}), "a"), sleep=waits.append)
    with pytest.raises(ClusterError, match=r"127.0.0.1:\d+ took more than 0 s to begin an answer") as raised:
        found.get("/apis")
    assert "try again" in raised.value.hint
    assert not waits


def test_an_answer_that_takes_too_long_is_given_up(access: Access) -> None:
    ticks = iter(range(0, 10_000, 100))
    slow = structs.replace(access, clock=lambda: float(next(ticks)) * 2)
    with pytest.raises(ClusterError, match=r"took more than 120 s to answer"):
        slow.get(NAMESPACES)


def test_an_answer_that_is_too_long_is_given_up(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 100)
    with pytest.raises(ClusterError, match="answers with more than"):
        access.get(NAMESPACES)


def test_what_is_no_api_server_is_called_that(access: Access, server: ApiServer) -> None:
    server.troubles = [Trouble("/apis", 200, raw=b"<html>welcome</html>", times=9)]
    with pytest.raises(ClusterError, match="does not answer in JSON") as raised:
        access.get("/apis")
    assert "address of a Kubernetes API server" in raised.value.hint


@pytest.mark.parametrize(
    "path",
    ["/api/v1/namespaces/a/configmaps/../secrets/b", "/api/./v1", "/api//v1", "/api?a=b", "/api/..", "api", "/a%2e/b"],
)
def test_what_is_no_path_of_the_api_is_not_asked_for(path: str, access: Access, server: ApiServer) -> None:
    with pytest.raises(ClusterError, match="is no path of the API"):
        access.get(path)
    assert server.asked == []


@pytest.mark.parametrize(("text", "is_text"), [(r"\ud83d\ude42", True), (r"\ud83d", False), (r"\uDe42 x", False)])
def test_half_a_character_is_no_json(text: str, is_text: bool, access: Access, server: ApiServer) -> None:
    raw = b'{"kind": "' + text.encode() + b'"}'
    server.troubles = [Trouble("/apis", 200, raw=raw, times=9)]
    with contextlib.nullcontext() if is_text else pytest.raises(ClusterError, match="does not answer in JSON"):
        assert access.get("/apis") == {"kind": "🙂"}


@pytest.mark.parametrize("body", [{}, {"error": "log in"}, {"kind": "Status"}, {"items": "none"}, {"items": {}}])
def test_what_has_no_items_is_no_empty_list(body: Json, access: Access, server: ApiServer) -> None:
    """Or a page to log in that is JSON would be a cluster without nodes and pods."""
    server.troubles = [Trouble(NAMESPACES, 200, body=body or {"x": 1}, times=9)]
    with pytest.raises(ClusterError, match="is not a list"):
        names(access)


def test_an_empty_list_is_null_or_empty(access: Access, server: ApiServer) -> None:
    server.troubles = [
        Trouble(NAMESPACES, 200, body={"items": None}),
        Trouble(NAMESPACES, 200, body={"items": []}, after=1),
    ]
    assert (names(access), names(access)) == ([], [])


def test_a_list_that_does_not_go_on_is_given_up(access: Access, server: ApiServer) -> None:
    """A proxy that keeps answers and looks at paths alone sends the first page for ever."""
    _, page = server.answer(NAMESPACES, {"limit": "2"}, "")
    server.troubles = [Trouble(NAMESPACES, 200, body=page, times=99)]
    with pytest.raises(ClusterError, match="does not go on") as raised:
        names(access)
    assert "proxy" in raised.value.hint
    assert len(server.asked) == 2


def test_a_redirect_is_not_followed(access: Access, server: ApiServer) -> None:
    """It would take the token with it."""
    server.troubles = [Trouble("/apis", 302, headers={"Location": "https://evil.example/apis"})]
    with pytest.raises(ClusterError, match="answers 302"):
        access.get("/apis")


def test_a_token_is_in_no_message(served: Served, tmp_path: Path, server: ApiServer) -> None:
    place = tmp_path / "kubeconfig"
    place.write_text(served.kubeconfig(token="wr0ng-SeCrEt-token"))
    place.chmod(0o600)
    found = access_to(kubeconfig(str(place), {}), "static-cluster")
    with pytest.raises(ClusterError, match="answers 401") as raised:
        found.get("/apis")
    assert "SeCrEt" not in str(raised.value) + raised.value.hint
    assert TOKEN not in str(raised.value)


def test_a_server_that_nobody_vouches_for_is_not_believed(served: Served, tmp_path: Path) -> None:
    with serving(ApiServer({})) as other:
        place = tmp_path / "kubeconfig"
        place.write_text(replace(served, authority=other.authority).kubeconfig())
        place.chmod(0o600)
        found = structs.replace(access_to(kubeconfig(str(place), {}), "static-cluster"), sleep=lambda seconds: None)
        with pytest.raises(ClusterError, match=r"cannot be read: .*certificate"):
            found.get("/apis")


def test_the_line_break_at_the_end_of_a_file_is_no_part_of_its_token(served: Served, tmp_path: Path) -> None:
    """As kubectl has it; many a file was written by `echo`."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    place = tmp_path / "kubeconfig"
    place.write_text(served.kubeconfig(tokenFile=f"{tmp_path}/token"))
    place.chmod(0o600)
    assert access_to(kubeconfig(str(place), {}), "static-cluster").get("/apis")["kind"] == "APIGroupList"


def test_who_acts_as_another_reads_with_the_rights_of_that_one(
    served: Served, tmp_path: Path, server: ApiServer
) -> None:
    """As kubectl does; the Kubernetes client leaves it out, and would read with more rights than were meant."""
    place = tmp_path / "kubeconfig"
    as_viewer = {"as": "viewer", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"Team/x": ["ml", "ops"]}}
    place.write_text(served.kubeconfig(token=TOKEN, **as_viewer))
    place.chmod(0o600)
    access_to(kubeconfig(str(place), {}), "static-cluster").get("/apis")
    assert server.asked[0].acting_as == (
        ("Impersonate-User", "viewer"), ("Impersonate-Uid", "7"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"),
        ("Impersonate-Extra-team%2fx", "ml"), ("Impersonate-Extra-team%2fx", "ops"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "odd",
    [{"as": 5}, {"as": "a\nb"}, {"as-groups": ["a"]}, {"as": "x", "as-groups": 5}, {"as": "x", "as-user-extra": "y"}],
)
def test_who_acts_as_nobody_knows_whom_does_not_read(odd: Json, served: Served, tmp_path: Path) -> None:
    place = tmp_path / "kubeconfig"
    place.write_text(served.kubeconfig(token=TOKEN, **odd))
    place.chmod(0o600)
    with pytest.raises(ClusterError, match=r"context static-cluster of .* cannot be used"):
        access_to(kubeconfig(str(place), {}), "static-cluster")


@pytest.mark.parametrize("token", ["two\nlines", "☃☃☃☃☃☃☃☃", "bell\x07bell\x07"])
def test_a_token_that_cannot_be_sent_is_told_as_such(token: str, served: Served, tmp_path: Path) -> None:
    place = tmp_path / "kubeconfig"
    place.write_text(served.kubeconfig(token=token))
    place.chmod(0o600)
    with pytest.raises(ClusterError, match=r"context static-cluster .* characters that cannot be sent") as raised:
        access_to(kubeconfig(str(place), {}), "static-cluster").get("/apis")
    assert token not in str(raised.value)


def test_a_program_that_gives_no_second_token_is_told_and_not_logged(
    served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first is old at once, so each request asks for another."""
    program = tmp_path / "plugin"
    program.write_text(f"""#!/bin/sh
if [ -e {tmp_path}/ran ]; then echo 'log in again' >&2; exit 3; fi
touch {tmp_path}/ran
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
 "status": {{"token": "{TOKEN}", "expirationTimestamp": "2020-01-01T00:00:00Z"}}}}'
""")
    program.chmod(0o755)
    place = tmp_path / "kubeconfig"
    exec_ = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}
    place.write_text(served.kubeconfig(exec=exec_))
    place.chmod(0o600)
    with pytest.raises(ClusterError, match=r"cannot be used: exec: process returned 3\. log in again"):
        access_to(kubeconfig(str(place), {}), "static-cluster").get("/apis")
    assert capfd.readouterr().err == ""


def test_a_service_account_whose_token_is_gone_is_told(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes.config import incluster_config

    host, _, port = served.url.removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    for name, constant, data in (
        ("token", "SERVICE_TOKEN_FILENAME", TOKEN.encode()),
        ("ca", "SERVICE_CERT_FILENAME", served.authority),
    ):
        (tmp_path / name).write_bytes(data)
        monkeypatch.setattr(incluster_config, constant, str(tmp_path / name))
    monkeypatch.setattr(incluster_config.InClusterConfigLoader, "_read_token_file", _forgetting(tmp_path / "token"))
    found = access_in_cluster()
    with pytest.raises(ClusterError, match="the service account of this pod cannot be used"):
        found.get("/apis")


def _forgetting(file: Path) -> Callable[[Any], None]:
    """Reads a token as the client does, once, as one that is to be read again for the next request."""
    import datetime

    def read(loader: Any) -> None:
        loader.token = f"bearer {file.read_text()}"
        loader.token_expires_at = datetime.datetime.min
        file.unlink()

    return read


# -- kubeconfigs --------------------------------------------------------------------------------------------------

PLUGIN = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never}}"
EXEC = f"""
apiVersion: v1
kind: Config
clusters:
- {{name: c, cluster: {{server: "https://127.0.0.1:1"}}}}
users:
- name: u
  user: {PLUGIN}
contexts:
- {{name: a, context: {{cluster: c, user: u}}}}
- {{name: b, context: {{cluster: missing, user: u}}}}
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A kubeconfig whose program, beside it, leaves a trace when it is run."""
    program = tmp_path / "plugin"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho SeCrEt >&2\nexit 3\n")
    program.chmod(0o755)
    place = tmp_path / "kubeconfig"
    place.write_text(EXEC)
    place.chmod(0o600)
    return place


def test_a_program_in_a_kubeconfig_of_ones_own_is_run_and_its_failure_told(plugin: Path) -> None:
    with pytest.raises(ClusterError, match=r"context a of .* cannot be used: exec: process returned 3"):
        access_to(kubeconfig(str(plugin), {}), "a")
    assert (plugin.parent / "ran").exists()


def test_a_program_that_never_ends_is_ended_and_told(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LONGEST", 0.5)
    told = plugin.parent / "pid"
    (plugin.parent / "plugin").write_text(f"#!/bin/sh\necho $$ > {told}\nexec sleep 600\n")
    with pytest.raises(
        ClusterError, match=r"cannot be used: the program that gets its token took more than 0 s"
    ) as raised:
        access_to(kubeconfig(str(plugin), {}), "a")
    assert "kubectl --context a" in raised.value.hint
    pid = int(told.read_text())
    if Path(f"/proc/self/task/{threading.get_native_id()}/children").exists():  # where Linux tells whose it is
        for _ in range(500):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        pytest.skip("nobody tells which programs a thread has started")


@pytest.mark.parametrize("how", ["world-writable", "in a repository"])
def test_a_kubeconfig_that_others_may_have_written_runs_nothing(how: str, plugin: Path) -> None:
    if how == "world-writable":
        plugin.chmod(0o602)
    else:
        git(plugin.parent, "init", "-q")
    with pytest.raises(UntrustedKubeconfig) as raised:
        kubeconfig(str(plugin), {})
    assert raised.value.hint
    assert not (plugin.parent / "ran").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_kubeconfig_of_another_user_runs_nothing(plugin: Path) -> None:
    os.chown(plugin, 12345, -1)
    with pytest.raises(UntrustedKubeconfig, match="belongs to another user"):
        trusted(plugin)


def test_the_usual_kubeconfig_may_be_kept_in_git(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = plugin.parent / "home"
    (home / ".kube").mkdir(parents=True)
    plugin.rename(home / ".kube/config")
    git(home, "init", "-q")
    monkeypatch.setenv("HOME", str(home))
    assert kubeconfig(None, {}).contexts == ("a", "b")


@pytest.mark.parametrize(
    ("context", "message", "hint"),
    [
        ("aa", 'there is no context "aa"', 'did you mean "a"'),
        (None, "has no current context", "give --context: a and b"),
    ],
)
def test_a_context_that_is_not_there_is_named_with_those_that_are(
    context: str | None, message: str, hint: str, plugin: Path
) -> None:
    with pytest.raises(ClusterError, match=message) as raised:
        kubeconfig(str(plugin), {}).context(context)
    assert hint in raised.value.hint


def test_a_context_whose_cluster_is_missing_is_named(plugin: Path) -> None:
    with pytest.raises(ClusterError, match='names a cluster "missing" that is not there'):
        access_to(kubeconfig(str(plugin), {}), "b")


def test_files_of_the_environment_are_read_as_one(plugin: Path) -> None:
    other = plugin.with_name("other")
    other.write_text(EXEC.replace("name: a,", "name: c,").replace("name: b,", "name: d,") + "current-context: d\n")
    found = kubeconfig(None, {"KUBECONFIG": f"{plugin}:{plugin.parent}/nothing:{other}"})
    assert found.contexts == ("a", "b", "c", "d")
    assert found.context(None) == "d"


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ('"https://127.0.0.1:1", insecure-skip-tls-verify: true', "could be anybody"),
        ('"http://cluster.example:8001"', "everybody on the way can read the token"),
    ],
)
def test_a_way_that_others_can_read_takes_a_word(server: str, message: str, plugin: Path) -> None:
    plugin.write_text(EXEC.replace('"https://127.0.0.1:1"', server).replace(PLUGIN, "{token: x}"))
    with pytest.raises(ClusterError, match=message) as raised:
        access_to(kubeconfig(str(plugin), {}), "a")
    assert "--insecure" in raised.value.hint
    assert access_to(kubeconfig(str(plugin), {}), "a", insecure=True).host == server.split('"')[1]


def test_a_proxy_on_this_machine_needs_no_encryption(plugin: Path) -> None:
    """As `kubectl proxy` is one."""
    plugin.write_text(EXEC.replace("https://127", "http://127").replace(PLUGIN, "{}"))
    assert kubeconfig(str(plugin), {}).context("a") == "a"
    assert access_to(kubeconfig(str(plugin), {}), "a").host == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ('server: "https://[::1"', "{token: x}", r"goes to https://\[::1, which is no address"),
        ('server: "https://127.0.0.1:1", proxy-url: bogus', "{token: x}", "cannot be used: .*Proxy URL had no scheme"),
        ('server: "https://127.0.0.1:1", proxy-url: "socks5://127.0.0.1:1"', "{token: x}", "cannot be used: .*"),
        ('server: "https://127.0.0.1:1"', "{auth-provider: {name: gcp, config: {}}}", "cannot be used: .*"),
    ],
)
def test_whatever_the_client_stumbles_over_is_told_of_the_context(
    cluster: str, user: str, message: str, plugin: Path
) -> None:
    plugin.write_text(EXEC.replace('server: "https://127.0.0.1:1"', cluster).replace(PLUGIN, user))
    with pytest.raises(ClusterError, match=f"context a .*{message}"):
        access_to(kubeconfig(str(plugin), {}), "a")


def test_a_broken_kubeconfig_is_told_by_its_line(plugin: Path) -> None:
    plugin.write_text("apiVersion: v1\nclusters: [\n")
    with pytest.raises(ClusterError, match=r"kubeconfig:\d+:\d+: "):
        kubeconfig(str(plugin), {})


def test_a_name_that_no_cluster_can_have_is_told() -> None:
    with pytest.raises(ClusterError, match="cannot be the name of a cluster") as raised:
        cluster_name("arn:aws:eks:eu-west-1:1:cluster/x", given=False)
    assert "give --cluster NAME" in raised.value.hint


def test_files_are_left_as_they_are(plugin: Path) -> None:
    before = plugin.read_text(), stat.S_IMODE(plugin.stat().st_mode)
    with pytest.raises(ClusterError):
        access_to(kubeconfig(str(plugin), {}), "a")
    assert (plugin.read_text(), stat.S_IMODE(plugin.stat().st_mode)) == before

"""
Secrets planted wherever somebody may leave one, and looked for wherever something leaves: by every command, at the highest log level, also
where a server sends back what it was told, spelt otherwise. `tests/test_secrets.py` has what manifests hold.
"""

from __future__ import annotations

import base64
import http.server
import io
import json
import os
import re
import sys
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.cli import COMMANDS as ALL
from gitplacer.cli.streams import Redacted, redacted
from gitplacer.controller.faults import found as fault_of
from gitplacer.controller.turns import Fault, Outcome, Turn
from gitplacer.git.program import GitError
from gitplacer.git.secretfiles import read_secret
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.redactor import KEPT, hide, redact, shortened
from gitplacer.settings import UsageError
from gitplacer.telemetry import events, logs, notices, notifications
from gitplacer.telemetry.health import Health
from gitplacer.telemetry.metrics import Metrics
from tests import test_secrets
from tests.clocks import StoryClock
from tests.commands import Ran, git, run, write
from tests.fleetrepos import Fleet, made
from tests.gitservers import noting_git, serving
from tests.livecluster import node
from tests.stories import FLEET

WORD = re.compile(r"planted[a-z]+")
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{12,}")
AT = "--now=2026-01-02T03:05:00Z"


def secret(where: str) -> str:
    """A secret with characters that URLs and JSON spell otherwise; where it was planted can be read from it."""
    return f'planted{where}+/é"0123456789'


def token(where: str) -> str:
    return f"planted{where}.0123456789"


def leaks(text: str) -> set[str]:
    """The secrets in a text, also those in Base64 somewhere in a longer one."""
    found = set(WORD.findall(text))
    for word in _ENCODED.findall(text):
        for start in range(4):
            part = word[start : start + (len(word) - start) // 4 * 4].replace("-", "+").replace("_", "/")
            found |= set(WORD.findall(base64.b64decode(part, validate=True).decode("latin-1")))
    return found


def spellings(text: str) -> list[str]:
    """How others may send back what they were told."""
    quoted = urllib.parse.quote(text, safe="")
    return [
        text,
        quoted,
        re.sub("%..", lambda each: each[0].lower(), quoted),
        urllib.parse.quote_plus(text),
        json.dumps(text),
        repr(text),
        *(base64.b64encode(f"{user}:{text}".encode()).decode() for user in ("a", "ab", "abc")),
        base64.urlsafe_b64encode(text.encode()).decode(),
    ]


def test_what_is_looked_for_is_found_however_it_is_spelt() -> None:
    assert [leaks(f"said {each}.") for each in spellings(secret("somewhere"))] == [{"plantedsomewhere"}] * 10


# the redactor


@pytest.mark.parametrize("spelt", range(10))
def test_a_secret_is_hidden_however_it_is_spelt(spelt: int) -> None:
    hide(secret("told"), "a file")
    said = f"{{who}} said {spellings(secret('told'))[spelt]} today"
    assert leaks(said) and not leaks(redact(said))
    assert redact(said).startswith("{who} said ") and redact(said).endswith(" today")


PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nplantedkey/AAAA+BBBBCCCC\nplantedend==\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"cannot read {PEM}it", "cannot read -----BEGIN OPENSSH PRIVATE KEY-----***\nit"),
        (json.dumps({"key": PEM}), '{"key": "-----BEGIN OPENSSH PRIVATE KEY-----***"}'.replace('***"', '***\\n"')),
        ("  -----BEGIN RSA PRIVATE KEY-----\n  plantedkey", "  -----BEGIN RSA PRIVATE KEY-----***"),
        ("Authorization: Basic cGxhbnRlZDp4eXo0NTY= x", "Authorization: Basic *** x"),
        ("authorization: bearer planted.0-9_abc, x", "authorization: bearer ***, x"),
        ("a ghp_plantedplantedplanted0000 token", "a ghp_*** token"),
        ("github_pat_11PLANTED0_plantedplantedplanted", "github_pat_***"),
        ("--x=glpat-plantedplanted-planted_0", "--x=glpat-***"),
        ("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl!", "***!"),
        ('{"Authorization":"Basic cGxhbnRlZDp4eXo0NTY="}', '{"Authorization":"Basic ***"}'),
        ("--header=Authorization:Bearer planted.0-9_abc", "--header=Authorization:Bearer ***"),
        ("said Basic cGxhbnRlZDp4eXo0.", "said Basic ***"),
        ("basic authentication and bearer of news", "basic authentication and bearer of news"),
        ("RayCluster ns/ray-basic  workloads/ns1/a.yaml:1:1", "RayCluster ns/ray-basic  workloads/ns1/a.yaml:1:1"),
        ("! ns/ring-bearer  gpu-cluster-12  it waits", "! ns/ring-bearer  gpu-cluster-12  it waits"),
        ("RayCluster basic  workloads/ns1/a.yaml:1:1", "RayCluster basic  workloads/ns1/a.yaml:1:1"),
        ("the monkey eyJ and ghp_short", "the monkey eyJ and ghp_short"),
    ],
)
def test_what_betrays_itself_is_hidden_though_nobody_told(text: str, shown: str) -> None:
    assert redact(text) == redact(redact(text)) == shown
    assert Problem(Location("a"), "InvalidValue", text).message == shown


@pytest.mark.parametrize(
    "text",
    ["eyJ" * 700_000, "eyJaaaaaaaaaaaa." * 100_000, "ghp_" * 500_000, "Basic " * 300_000, f"{PEM[:35]}\n" * 50_000],
)
def test_what_only_looks_like_a_secret_is_looked_at_once(text: str) -> None:
    assert len(redact(text)) <= len(text) + 3 * 50_000


QUOTED = st.text("pq:/@?=&#\\\"' \n+%é", max_size=12)


@given(QUOTED, QUOTED, st.sampled_from(["https://h/?token=", "https://me:pw@h", "Bearer 0123456789ab", PEM, "ghp_"]))
def test_json_with_a_secret_in_it_stays_json(before: str, after: str, shape: str) -> None:
    hide(secret("value"), "a file")
    text = json.dumps({"said": f"{before}{shape}{after}", "more": [secret("value"), shape + before]})
    assert list(json.loads(redact(text))) == ["said", "more"]


@pytest.mark.parametrize("longest", [*range(1, 60), 200])
def test_half_of_a_secret_is_hidden_as_well(longest: int) -> None:
    hide("planted-told-0123456789", "a file")
    for text in (f"a https://me:{token('half')}@h b", f"ghp_{'planted' * 5}", "told planted-told-0123456789 again"):
        cut = shortened(f"{text} {'x' * 200}", longest)
        assert len(cut) <= longest
        assert not re.search("planted-[to]|plantedhalf|plantedplan", redact(f"{cut} and {cut}"))


def test_of_each_origin_the_last_few_are_hidden_and_none_is_lost_by_those_of_others() -> None:
    hide("planted-hook-secret", "hook")
    for hour in range(3000):
        hide(f"planted-token-{hour:04}", "app")
    assert redact("planted-hook-secret") == "***"
    assert redact("planted-token-2999") == redact(f"planted-token-{3000 - KEPT}") == "***"
    assert redact("planted-token-0000") == "planted-token-0000"


def test_a_key_is_hidden_line_by_line_and_its_frame_is_no_secret() -> None:
    hide(PEM, "app.pem")
    assert redact("lines plantedkey/AAAA+BBBBCCCC and plantedend==") == "lines *** and ***"
    assert redact("-----END OPENSSH PRIVATE KEY-----") == "-----END OPENSSH PRIVATE KEY-----"


# streams


def _in_parts() -> None:
    print("a", "planted", sep="", end="")
    print("stream0 b")


def _without_end() -> None:
    for part in ("a planted", "str", "eam0 b"):
        sys.stdout.write(part)


def _over_lines() -> None:
    sys.stdout.write("a planted")
    sys.stdout.write("stream0 b\nand plantedst")
    sys.stdout.write("ream0\r")


def _long() -> None:
    sys.stdout.write("x " * 5000 + "planted")
    sys.stdout.write("stream0 b")


@pytest.mark.parametrize("writes", [_in_parts, _without_end, _over_lines, _long])
def test_a_secret_in_two_writes_is_one_all_the_same(
    writes: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("plantedstream0", "a file")
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, "utf-8"))
    with redacted():
        writes()
    text = raw.getvalue().decode()
    assert "***" in text and not leaks(text)


def test_a_line_that_is_asked_for_is_shown_at_once() -> None:
    raw = io.BytesIO()
    under = io.TextIOWrapper(raw, "utf-8")
    stream = Redacted(under, "stdout")
    stream.write("done? ")
    assert raw.getvalue() == b""
    stream.flush()
    assert raw.getvalue() == b"done? "
    stream.detach()
    under.detach()


# commands


@dataclass(frozen=True)
class World:
    """A fleet, where secrets stand in the environment, in git's settings and in what was said when it was committed."""

    fleet: Fleet
    folder: Path
    seen: Path

    def file(self, name: str, text: str) -> str:
        place = self.folder / name
        place.write_text(text)
        place.chmod(0o600)
        return str(place)

    def tried(self, capfd: pytest.CaptureFixture[str], *args: str | Path) -> tuple[Ran, set[str]]:
        """
        What became of a command, and the secrets in what it printed, told other programs, committed to the deployment repo, and left in the
        cache.
        """
        self.seen.unlink(missing_ok=True)
        ran = run(capfd, *args)
        told = self.seen.read_text("latin-1") if self.seen.exists() else ""
        log = self.fleet.git("log", "--all", "-p", "--format=%an %ae %cn %ce %B %N")
        cache = Path(os.environ["GITPLACER_CACHE"])
        config = "".join(path.read_text() for path in cache.rglob("config"))
        return ran, leaks(f"{ran.out}\n{ran.err}") | set(WORD.findall(told + log + config))


MESSAGE = f"""\
Note https://me:{token("subject")}@h.example/x

See https://h.example/x?access_token={token("body")} and glpat-{token("gitlab").replace(".", "-")}000

Argocd-reference-commit-repourl: https://{token("user")}@h.example/code
Argocd-reference-commit-subject: https://me:{token("reference")}@h.example/code
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    fleet = made(tmp_path)
    git(fleet.source, "commit", "-q", "--allow-empty", "-m", MESSAGE)
    for name in ("remote.origin.url", f"url.https://{token('instead')}@h.example/.insteadOf", "http.extraHeader"):
        git(fleet.source, "config", name, f"https://{token('config')}@h.example/x")
    git(fleet.source, "config", "user.name", "A User")
    git(fleet.source, "config", "user.email", "user@example.com")
    seen = noting_git(tmp_path, monkeypatch)
    monkeypatch.setenv("GITPLACER_DEBUG", "1")
    for name in ("GITPLACER_HOST_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN"):
        monkeypatch.setenv(name, token(name.lower().replace("_", "")))
    return World(fleet, tmp_path, seen)


CI = token("githubtoken")
"""As it stands in the environment, given where it does not belong."""
POD = test_secrets.POD
POD_OF_OTHERS = {**yaml.safe_load(POD), "status": {"phase": "Pending"}}
REASON = f"--reason=as https://me:{token('reason')}@h.example/x says, with {CI}"

BY_HAND = f"""
apiVersion: v1
kind: Secret
metadata: {{name: s, namespace: prod}}
stringData: {{password: {token("byhand")}}}
"""

TRIED: Mapping[tuple[str, ...], int] = {
    ("reconcile", "SOURCE", "+", AT): 0,
    ("suspend", "prod/api", REASON, "SOURCE", "+", AT): 0,
    ("resume", "prod/api", REASON, "SOURCE", "+", AT): 0,
    ("move", "prod/api", "--to=OTHER", REASON, "SOURCE", "+", AT): 0,
    ("return", "prod/api", REASON, "SOURCE", "+", AT): 1,  # it is where it was placed
    ("drain", "a", REASON, "--diff", "--body=STORY", "SOURCE", "+", AT): 0,
    ("plan", "--pages=PAGES", "--format=markdown", "SOURCE", "+", AT): 0,
    ("report", "-o", "PAGE", "SOURCE", "+", AT): 0,
    ("history", "prod/api", "SOURCE", "+"): 0,
    ("size", "MANIFEST"): 0,
    ("size", "--format=json", "MANIFEST"): 0,
    ("size", CI): 1,
    ("fit", "MANIFEST", "--from", "DUMP"): 0,
    ("fit", "--format=json", "MANIFEST", "--from", "DUMP"): 0,
    ("fit", "--cases", "CASES", "--format=json"): 1,
    ("fit", "MANIFEST", "--from", "MANIFEST"): 1,
    ("snapshot", "--from", "MANIFEST"): 1,
    ("snapshot", "--kubeconfig", "KUBECONFIG", "--context", CI): 1,
    ("snapshot", "--kubeconfig", "TORN"): 1,
    ("snapshot", "--from", "MANIFEST", "--push", f"https://{token('push')}@h.example/x"): 1,
    ("bootstrap", "argocd", "SOURCE", "--deployment", f"https://{token('engine')}@h.example/x"): 1,
    ("adopt", "OLD", "-o", "ADOPTED", AT): 1,
    ("import", "nova", "OLD", "-o", "NOVA", "--set", f"X={CI}"): 1,
    ("import", "karmada", "OLD", "-o", "KARMADA", "--set", f"X={CI}"): 1,
    ("import", "ocm", "OLD", "-o", "OCM", "--set", f"X={CI}"): 1,
    ("import", CI): 1,
    ("help", CI): 1,
    ("completion", CI): 1,
    ("init", "NEW", "--context", CI, "--kubeconfig", "KUBECONFIG"): 1,
    ("schema", CI): 1,
    ("schema",): 0,
    ("demo", "--dir", "SOURCE"): 1,
    ("validate", f"https://{token('argument')}@h.example/x"): 1,
    ("validate", CI): 1,
    ("plan", "SOURCE", "--capacity", CI): 1,
    ("plan", "SOURCE", "--credentials", "KUBECONFIG"): 1,
    ("reconcile", "SOURCE", "+", "--sign-key", PEM): 1,
    ("comment", "--host=github", f"--repo={CI}"): 1,
    ("tell", "--host", CI, "SOURCE", "+"): 1,
    (CI, "--help"): 1,
    ("init", CI): 0,
}
"""Commands, and how each ends: OTHER is a cluster to move to, `+` the deployment repo, words in capitals are files."""
_PLACES = ("PAGE", "PAGES", "STORY", "NEW", "OLD", "ADOPTED", "NOVA", "KARMADA", "OCM")
ELSEWHERE = {"explain", "room", "test", "simulate", "blast", "status", "verify"}
"""Commands that only read the fleet: `tests/test_secrets.py` tries them on what there is to read."""


def test_every_command_is_tried() -> None:
    read = {command[0] for command in test_secrets.COMMANDS}
    tried = {command[0] for command in TRIED if command[0] in ALL}
    assert tried.isdisjoint(ELSEWHERE) and read >= ELSEWHERE
    assert tried | ELSEWHERE == set(ALL)


def test_no_command_passes_on_what_was_left_lying_about(
    world: World, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.folder)
    user = f"{{name: u, user: {{token: {token('bearer')}, client-key-data: {token('clientkey')}}}}}"
    case = {"id": "1", "nodes": [], "existingPods": [], "namespaces": [], "pods": []}
    files = {
        "MANIFEST": world.file("pod.yaml", POD),
        "DUMP": world.file("dump.json", json.dumps({"kind": "List", "items": [node("n1"), {**POD_OF_OTHERS}]})),
        "CASES": world.file("cases.jsonl", json.dumps(case) + f'\n{{"id": "{CI}", "pods": "{token("case")}"}}\n'),
        "KUBECONFIG": world.file("kubeconfig", f"users: [{user}]\n"),
        "TORN": world.file("torn", f'users: [{user.replace("client-key", chr(34))}\n"'),
        "SOURCE": str(world.fleet.source),
        **{name: str(world.folder / name.lower()) for name in _PLACES},
        "+": f"--deployment={world.fleet.deployment}",
    }
    write(world.folder / "old/clusters/a", {"secret.yaml": BY_HAND, "torn.yaml": f"- {{password: {token('torn')}\n"})
    leaked: dict[tuple[str, ...], object] = {}
    for command, code in TRIED.items():
        at_a = "clusters/a/workloads/prod/api/api.yaml" in (world.fleet.files() if leaked else ())
        args = []
        for part in command:
            option, is_option, value = part.partition("=")
            given = files.get(part) or (f"{option}={files[value]}" if is_option and value in files else part)
            args.append(given.replace("OTHER", "b" if at_a else "a"))
        ran, left = world.tried(capfd, *args)
        assert ran.out or ran.err
        leaked[command] = (left, ran.code, ran.err if ran.code != code else "")
    wrong = {command: found for command, found in leaked.items() if found != (set(), TRIED[command], "")}
    assert not wrong, "\n".join(f"{command} {found}" for command, found in wrong.items())

    written = [world.folder / "page", world.folder / "story", *(world.folder / "pages").iterdir()]
    assert [leaks(file.read_text()) for file in written] == [set()] * len(written)
    ours = git(world.fleet.source, "log", "-p", "--format=%B", "--grep=prod/api")
    assert "as https://***@h.example/x says, with ***" in ours and not leaks(ours)


# servers that send back what they were told


class _Echo(http.server.BaseHTTPRequestHandler):
    """Refuses everything, and says what it was told in every spelling."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = self.headers.get("Authorization") or self.headers.get("Private-Token") or ""
        words = [told.rpartition(" ")[2]]
        if told.startswith("Basic "):
            words.append(base64.b64decode(words[0]).decode().partition(":")[2])
        is_git = self.path.endswith("git-upload-pack")
        said = " ".join([told, *(each for word in words for each in spellings(word))])
        body = said if is_git else json.dumps({"message": said, "kind": "Status"})
        self.send_response(403 if told else 401)
        self.send_header("WWW-Authenticate", 'Basic realm="here"')
        self.send_header("Content-Type", "text/plain" if is_git else "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def echo() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    with server, serving(server):
        yield f"http://127.0.0.1:{server.server_port}"


def _kubeconfig(echo: str, user: Mapping[str, Any]) -> str:
    return json.dumps(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": echo}}],
            "users": [{"name": "u", "user": user}],
        }
    )


@pytest.mark.server
def test_what_servers_send_back_is_hidden(
    world: World, echo: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_API_URL", echo)
    monkeypatch.setenv("CI_API_V4_URL", f"{echo}/api/v4")
    monkeypatch.setenv("GIT_ASKPASS", world.file("ask", f"#!/bin/sh\necho {token('askpass')}\n"))
    (world.folder / "ask").chmod(0o700)
    world.file("token", secret("file"))
    entry = f"{{url: '{echo}', access: [read, write, api], tokenFile: token}}"
    ours = "apiVersion: gitplacer.dev/v1alpha1\nkind: Credentials\ncredentials: "
    credentials = world.file("credentials.yaml", f"{ours}[{entry}]\n")
    api = "client.authentication.k8s.io/v1"
    answer = json.dumps({"apiVersion": api, "kind": "ExecCredential", "status": {"token": token("made")}})
    for name, does in (("fails", 'echo "no $API_TOKEN" >&2; exit 1'), ("makes", f"echo '{answer}'")):
        world.file(name, f"#!/bin/sh\n{does}\n")
        (world.folder / name).chmod(0o700)
    env = [{"name": "API_TOKEN", "value": token("program")}]
    program = {"apiVersion": api, "interactiveMode": "Never", "env": env}
    users: Mapping[str, Mapping[str, Any]] = {
        "token": {"token": token("bearer")},
        "password": {"username": "me", "password": secret("basic")},
        "failing": {"exec": {**program, "command": f"{world.folder}/fails"}},
        "making": {"exec": {**program, "command": f"{world.folder}/makes"}},
    }
    configs = {name: world.file(name, _kubeconfig(echo, user)) for name, user in users.items()}
    source, deployment = world.fleet.source, f"--deployment={world.fleet.deployment}"
    pages = world.folder / "pages"
    pages.mkdir()
    (pages / "plan-1.md").write_text("<!-- gitplacer -->\n")
    assert run(capfd, "reconcile", source, deployment, AT).code == 0
    where = ["--repo=a/b", "--pull=1"]
    tries = [
        *(["comment", f"--host={host}", *where, f"--pages={pages}"] for host in ("github", "gitlab")),
        *(["tell", f"--host={host}", *where, source, deployment] for host in ("github", "gitlab")),
        *(["snapshot", "--kubeconfig", config, "--cluster=a"] for config in configs.values()),
        ["plan", f"{echo}/fleet", f"--credentials={credentials}"],
        ["plan", f"{echo}/fleet"],
        ["tell", "--host=github", *where, source, deployment, f"--credentials={credentials}"],
    ]
    for args in tries:
        ran, left = world.tried(capfd, *args)
        assert ran.code == 1 and "error" in ran.err, (args, ran)
        assert left == set(), (args, ran)


# what else leaves


def test_what_is_read_as_a_secret_is_hidden_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{token('file')}\n")
    (tmp_path / "secret").chmod(0o600)
    assert redact(token("file")) == token("file")
    assert read_secret(tmp_path / "secret", "--hooks-secret-file") == token("file")
    assert redact(f"a {token('file')} b") == "a *** b"


HIDDEN = "planted-hidden-secret"
SAID = f"cannot reach https://me:{token('url')}@h.example/x: it said {HIDDEN}"


def _logged(form: logs.Form) -> Callable[[Turn], str]:
    def lines(turn: Turn) -> str:
        found: list[str] = []
        log = logs.Logs(found.append, StoryClock().wall, form=form, level=logs.Level.DEBUG)
        log.began(1, (SAID,), turn.started)
        log.complain(SAID)
        log.ended(turn)
        return "".join(found)

    return lines


def _noticed(told: Callable[[notices.Notice, Turn], object]) -> Callable[[Turn], str]:
    def texts(turn: Turn) -> str:
        found, _ = notices.notices(turn, notices.Told())
        assert found
        return json.dumps([told(notice, turn) for notice in found])

    return texts


def _event(notice: notices.Notice, turn: Turn) -> object:
    about = events.Regarding(name="pod", namespace="here", uid="")
    return events.event(notice, about, "name", turn.started)


def _measured(turn: Turn) -> str:
    metrics = Metrics(StoryClock().wall)
    metrics.ended(turn)
    return metrics.exposed().decode()


def _probed(turn: Turn) -> str:
    health = Health(StoryClock())
    health.ended(turn)
    return health.alive().why + health.ready().why


SINKS: Mapping[str, Callable[[Turn], str]] = {
    "log as text": _logged("text"),
    "log as JSON": _logged("json"),
    "notice": _noticed(lambda notice, turn: notifications.cloud_event(notice, turn, 0, "source")),
    "event": _noticed(_event),
    "metrics": _measured,
    "probes": _probed,
    "turn": lambda turn: f"{turn.message} {turn.hint}",
}


@pytest.mark.parametrize(
    "error",
    [
        GitError(SAID, hint=f"give {SAID}"),
        UsageError(SAID, f"give {SAID}"),
        Rejected([Problem(Location("fleet.yaml"), "InvalidValue", SAID, f"give {SAID}")]),
        OSError(28, SAID),
        RuntimeError(SAID),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("sink", SINKS)
def test_what_is_told_of_a_turn_has_no_secret(sink: str, error: Exception) -> None:
    hide(HIDDEN, "a file")
    told = fault_of(error)
    turn = Turn(
        number=1, outcome=Outcome.STALLED, fault=Fault.MISCONFIGURED, message=told.message, hint=told.hint, problems=told.problems,
        woken=("time",), started=datetime(2026, 1, 2, 3, 5, tzinfo=UTC), seconds=0.25, next_at=datetime(2026, 1, 2, 3, 6, tzinfo=UTC),
        source="5" * 40, notes=(SAID,) if "log" in sink else (),
    )  # fmt: skip
    assert not leaks(SINKS[sink](turn))


def test_a_user_name_in_an_https_address_is_refused_where_it_is_written(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    address = f"https://{token('fleet')}@h.example/x"
    world.fleet.commit({"fleet.yaml": FLEET.replace("{}", f"{{deployment: {{url: '{address}'}}}}")})
    ran, left = world.tried(capfd, "validate", world.fleet.source)
    assert ran.code == 1 and "fleet.yaml:" in ran.out and "a user name for https" in ran.out
    assert left == set()
    ran, left = world.tried(capfd, "plan", world.fleet.source, "--deployment", address)
    assert ran.err.startswith("error[BadAddress]: https://***@h.example/x carries a user name, which could be a token")
    assert left == set()

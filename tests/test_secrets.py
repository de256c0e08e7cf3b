"""
No secret leaves where it was put: planted in addresses, the environment and manifests, and looked for in all that is printed, written,
committed, logged and handed to other programs.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitplacer.cli.streams import redacted
from gitplacer.problems import Location, Problem
from gitplacer.redactor import hide, redact, without_credentials
from gitplacer.telemetry import logs
from tests.commands import run
from tests.fleetrepos import Fleet, made
from tests.gitservers import noting_git
from tests.stories import rayservice
from tests.watchedcontrollers import Watched

PLANTED = re.compile(r"planted[a-z0-9]+|9070605040302010\d+")


def secret(where: str) -> str:
    return f"planted{where}"


POD = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: shows
  namespace: prod
  labels: {{gitplacer.dev/group: shows}}
  annotations: {{example.com/api-token: {secret("annotation")}}}
spec:
  containers:
  - name: main
    image: busybox
    resources: {{requests: {{cpu: 1, memory: 1Gi}}}}
    args: ["--token={secret("argument")}"]
    env:
    - {{name: DB_PASSWORD, value: {secret("variable")}}}
    - {{name: DB_URL, value: "https://me:{secret("url")}@db.example/x?access_token={secret("query")}"}}
"""
HEAD = "apiVersion: v1\nkind: Secret\nmetadata: {name: torn, namespace: prod}\nstringData:\n"
JOB = f"""\
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: given, namespace: prod}}
spec:
  entrypoint: python x.py
  runtimeEnvYAML: |
    env_vars:
      AWS_SECRET_ACCESS_KEY: {secret("runtime")}
  rayClusterSpec:
    headGroupSpec:
      template: {{spec: {{containers: [{{name: head, image: ray, resources: {{requests: {{cpu: 1, memory: 1Gi}}}}}}]}}}}
"""
MANIFESTS = {
    "shows.yaml": POD,
    "given.yaml": JOB,
    "quantity.yaml": POD.replace("shows", "quantity").replace("cpu: 1", f'cpu: "https://me:{secret("quantity")}@h"'),
    "number.yaml": POD.replace("shows", "number").replace(secret("variable"), "9070605040302010"),
    "secret.yaml": f"{HEAD}  password: {secret('string')}\ndata: {{key: {secret('data')}}}\n".replace("torn", "whole"),
    "types.yaml": f"{HEAD}  password: 90706050403020100\ndata: [{secret('list')}]\nimmutable: {secret('type')}\n",
    "open.yaml": f'{HEAD}  password: "{secret("open")}\n',
    "tag.yaml": f"{HEAD}  password: !{secret('tag')} x\n",
    "alias.yaml": f"{HEAD}  password: *{secret('alias')}\n",
    "typed.yaml": f"{HEAD}  password: !!int {secret('typed')}\n",
    "twice.yaml": f"{HEAD}  password: {secret('first')}\n  password: {secret('second')}\n",
    "tab.yaml": f"{HEAD}\tpassword: {secret('tab')}\n",
    "template.yaml": f"{HEAD}  password: {{{{ {secret('template')} }}}}\n",
    "long.yaml": f"{HEAD}  password: 907060504030201090706050403020109\n",
    "line.yaml": f"{HEAD}  {secret('line')}\n",
    "text.yaml": f"{secret('text')}\n",
}
"""Files by what is odd about them, with secrets in them."""


@dataclass(frozen=True)
class Planted:
    """A fleet full of secrets, and where the arguments and the environment of each git that was started are."""

    fleet: Fleet
    folder: Path
    seen: Path

    def clean(self) -> set[str]:
        """The secrets that other programs were told, or that stand in what commits say."""
        told = self.seen.read_text()
        assert "GIT_ALLOW_PROTOCOL" in told
        log = self.fleet.git("log", "--all", "--format=%an %ae %cn %ce %B %N")
        self.seen.unlink()  # what the tests' own git was told is no matter
        return set(PLANTED.findall(told + log))


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    fleet = made(tmp_path)
    fleet.commit({f"workloads/prod/{name}": text for name, text in MANIFESTS.items()})
    seen = noting_git(tmp_path, monkeypatch)
    monkeypatch.setenv("GITPLACER_DEBUG", "1")
    for name in ("GITPLACER_HOST_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, secret("environment"))
    return Planted(fleet, tmp_path, seen)


EACH_FORMAT = [
    *(("validate", "--format", form) for form in ("text", "json", "github", "sarif")),
    *(("plan", "--verbose", "--format", form, "+") for form in ("text", "json", "markdown")),
    *(("plan", "--format", form, "--rev", "HEAD", "--base", "HEAD~1", "+") for form in ("text", "json", "markdown")),
    *(("explain", "--format", form, "prod/shows", "+") for form in ("text", "json")),
    *(("status", "--format", form, "+") for form in ("text", "json")),
]
COMMANDS = [
    *EACH_FORMAT,
    ("plan", "--rev", "HEAD", "--out", "PLAN", "+"),
    ("report", "-o", "PAGE", "+"),
    ("report", "-o", "-", "+"),
    ("room", "+"),
    ("test",),
    ("reconcile", "+"),
    ("simulate", "--lose", "a", "+"),
    ("drain", "a", "+"),
    ("blast", "--base", "HEAD~1", "+"),
    ("verify", "+"),
    ("history", "prod/shows", "+"),
    ("move", "prod/shows", "--to", "b", "+"),
    ("bootstrap", "argocd", "+"),
]
"""Commands that read the fleet; `+` stands for the deployment repo, PLAN and PAGE for files."""


def test_no_command_tells_what_manifests_hold(planted: Planted, capfd: pytest.CaptureFixture[str]) -> None:
    files = {"PLAN": planted.folder / "plan.json", "PAGE": planted.folder / "page.html"}
    told = {}
    for command in COMMANDS:
        where = [f"--deployment={planted.fleet.deployment}"] if "+" in command else []
        args = [str(files.get(part, part)) for part in command if part != "+"]
        done = run(capfd, *args, *where, planted.fleet.source)
        assert done.out or done.err
        told[command] = set(PLANTED.findall(done.out + done.err))
    assert {command: found for command, found in told.items() if found} == {}
    assert {name: PLANTED.findall(file.read_text()) for name, file in files.items()} == {"PLAN": [], "PAGE": []}
    assert planted.clean() == set()


def test_the_files_with_secrets_are_what_the_commands_speak_of(
    planted: Planted, capfd: pytest.CaptureFixture[str]
) -> None:
    told = run(capfd, "validate", planted.fleet.source).out
    torn = {"quantity", "types", "open", "tag", "alias", "typed", "twice", "tab", "template", "long", "line", "text"}
    assert {name for name in torn if f"workloads/prod/{name}.yaml:" not in told} == set()


WITH_PASSWORD = f"https://me:{secret('password')}@h.example/x"


@pytest.mark.parametrize("command", ["plan", "status", "reconcile", "room", "verify", "drain"])
@pytest.mark.parametrize(
    "address", [WITH_PASSWORD, f"{WITH_PASSWORD}?t={secret('rest')}", f"https://h.example/x?token={secret('token')}"]
)
def test_an_address_with_a_password_is_refused_without_it(
    planted: Planted, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, address: str
) -> None:
    rest = ["a"] if command == "drain" else []
    source = str(planted.fleet.source)
    tries = [[*rest, f"--deployment={address}", source], [*rest, f"--deployment={planted.fleet.deployment}", address]]
    for args in tries:
        done = run(capfd, command, *args)
        assert done.code == 1
        assert PLANTED.findall(done.out + done.err) == []
    monkeypatch.setenv("GITPLACER_CAPACITY", address)
    done = run(capfd, command, *tries[0][:-2], f"--deployment={planted.fleet.deployment}", source)
    assert PLANTED.findall(done.out + done.err) == []


def test_an_address_in_the_fleet_is_refused_without_its_password(
    planted: Planted, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (planted.fleet.source / "fleet.yaml").read_text()
    planted.fleet.commit({"fleet.yaml": f"{text}  deployment: {{url: '{WITH_PASSWORD}'}}\n"})
    for form in ("text", "json", "github", "sarif"):
        done = run(capfd, "validate", "--format", form, planted.fleet.source)
        assert done.code == 1
        assert "fleet.yaml" in done.out + done.err
        assert PLANTED.findall(done.out + done.err) == []


def test_lines_and_turns_of_the_controller_hold_none(planted: Planted) -> None:
    watched = Watched(planted.fleet)
    lines: list[str] = []
    each = [
        logs.Logs(lines.append, watched.clock.wall, form=form, level=logs.Level[level.upper()])
        for form in logs.FORMS
        for level in logs.LEVELS
    ]
    watched.new(*each)
    turns = watched.until(100)
    assert planted.clean() == set()
    planted.fleet.commit({"fleet.yaml": f"spec: [https://me:{secret('torn')}@h/x]\n"})
    planted.seen.unlink()
    watched.new(*each)
    turns += watched.until(200)
    assert {turn.outcome for turn in turns} >= {"Published", "Stalled"}
    assert len(lines) > 20
    assert PLANTED.findall("".join(lines)) == []
    assert PLANTED.findall("".join(f"{turn.message}{turn.hint}{turn.problems}{turn.notes}" for turn in turns)) == []
    assert planted.clean() == set()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pass@host/x", "https://***@host/x"),
        ("https://token@host/x and https://host/x", "https://***@host/x and https://host/x"),
        ("ssh://git@host/x, git@host:x", "ssh://git@host/x, git@host:x"),
        ("ssh://git:pass@host/x", "ssh://***@host/x"),
        ('{"url": "postgres://a:b/c@d@host/x"}', '{"url": "postgres://***@host/x"}'),
        ("https://host/x?sv=1&sig=abc%2B&page=2#part", "https://host/x?sv=1&sig=***&page=2#part"),
        ("https://host/x?access_token=abc'", "https://host/x?access_token=***'"),
        ("nothing?token=abc", "nothing?token=abc"),
    ],
)
def test_credentials_in_urls_betray_themselves(text: str, shown: str) -> None:
    assert without_credentials(text) == redact(text) == redact(redact(text)) == shown
    assert Problem(Location("a"), "InvalidValue", text).message == shown


@pytest.mark.parametrize("text", ["https://" * 200_000, "a" * 2_000_000 + "://", "https://h/?" + "token" * 400_000])
def test_an_endless_word_is_looked_at_once(text: str) -> None:
    assert redact(text) == text


def test_what_is_printed_is_redacted_and_bytes_are_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    hide("plantedtoken", "a file")
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    with redacted():
        print("a plantedtoken → https://a:b@host/x")
        import sys

        sys.stdout.buffer.write(b"a plantedtoken\n")
    assert sys.stdout is stream
    assert raw.getvalue() == b"a *** \\u2192 https://***@host/x\na plantedtoken\n"
    print("still open", file=stream)


def test_a_group_that_is_called_like_a_token_is_not_shown(planted: Planted, capfd: pytest.CaptureFixture[str]) -> None:
    planted.fleet.commit(rayservice("prod", secret("name")))
    hide(secret("name"), "a file")
    for command in EACH_FORMAT:
        where = [f"--deployment={planted.fleet.deployment}"] if "+" in command else []
        done = run(capfd, *(part for part in command if part != "+"), *where, planted.fleet.source)
        assert PLANTED.findall(done.out + done.err) == []


def test_files_that_are_written_do_not_show_it_either(planted: Planted, capfd: pytest.CaptureFixture[str]) -> None:
    planted.fleet.commit(rayservice("prod", secret("name")))
    hide(secret("name"), "a file")
    files = [planted.folder / name for name in ("plan.json", "page.html", "story.md", "pages/plan-1.md")]
    plan, page, story, pages = files
    where = [planted.fleet.source, f"--deployment={planted.fleet.deployment}", "--now=2026-01-02T03:06:00Z"]
    for args in (
        ["plan", "--all", "--format=markdown", f"--pages={pages.parent}"],
        ["plan", "--rev=HEAD", f"--out={plan}"],
        ["report", "-o", page],
        ["drain", "a", "--diff", f"--body={story}"],
    ):
        assert run(capfd, *args, *where).code == 0
        planted.fleet.reconcile()
    assert [("***" in file.read_text(), PLANTED.findall(file.read_text())) for file in files] == [(True, [])] * 4

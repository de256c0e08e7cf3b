"""`gitplacer reconcile --watch` as a process: its lines, its end on a signal, and that no signal ends it in the middle of a push."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.commands import run
from tests.fleetrepos import Fleet, made
from tests.stories import rayservice


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return made(tmp_path)


@contextlib.contextmanager
def watching(fleet: Fleet, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process group of its own, as a terminal would start it."""
    command = [sys.executable, "-m", "gitplacer", "reconcile", "--watch", "--deployment", fleet.deployment, *options]
    with subprocess.Popen(
        [*command, str(fleet.source)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def gates(fleet: Fleet, tmp_path: Path) -> tuple[Path, Path]:
    """A server that says when a push has come, and waits to be told to go on: two pipes."""
    came, go = tmp_path / "came", tmp_path / "go"
    for pipe in (came, go):
        os.mkfifo(pipe)
    hook = fleet.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho came > {came}\nread word < {go}\n")
    hook.chmod(0o755)
    return came, go


def lines_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stderr is not None
    found: list[str] = []
    while not found or word not in found[-1]:
        line = process.stderr.readline()
        assert line, found
        found.append(line.rstrip("\n"))
    return found


def test_it_says_what_each_pass_came_to_and_ends_when_it_is_told(fleet: Fleet) -> None:
    with watching(fleet, "--interval", "1s") as process:
        first = lines_until(process, "Published")
        fleet.commit(rayservice("prod", "new"))
        second = lines_until(process, "Published")
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        rest = process.stderr.read()
    assert process.returncode == 0
    assert first[0] == f"watching {fleet.source}; it ends on SIGTERM or Ctrl-C"
    tips = fleet.git("log", "--format=%H", "main").split()
    assert [tip[:12] in line for tip, line in zip(tips[::-1], (first[-1], second[-1]), strict=True)] == [True, True]
    assert second[-1].endswith("Place prod/new")
    assert rest.splitlines()[-1] == "stopped"
    printed = "\n".join([*first, *second, *rest.splitlines()])
    page = (Path(__file__).parent.parent / "docs" / "controller.md").read_text()
    quoted = re.search(r"```text\n(watching .*?)\n```", page, re.DOTALL)
    assert quoted is not None
    assert shape(printed) == shape(quoted[1])


def shape(text: str) -> str:
    """Lines without what differs from run to run."""
    text = re.sub(r" turn \d+ ", " turn … ", re.sub(r"^watching [^;]+;", "watching …;", text))
    return re.sub(r"[0-9a-f]{12}", "…", re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "…", text))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_push_is_finished_before_it_ends(fleet: Fleet, gates: tuple[Path, Path], sent: signal.Signals) -> None:
    came, go = gates
    with watching(fleet) as process:
        came.read_text()
        os.killpg(process.pid, sent)  # as a terminal sends Ctrl-C: to all that it has started
        go.write_text("go\n")
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == "stopped"
    assert fleet.git("log", "--format=%s", "main") == "Place prod/api"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_single_pass_that_is_ended_takes_its_push_along(
    fleet: Fleet, gates: tuple[Path, Path], sent: signal.Signals
) -> None:
    came, go = gates
    (fleet.bare / "hooks" / "pre-receive").write_text(f"#!/bin/sh\nexec 3> {came}\necho came >&3\nread word < {go}\n")
    command = [sys.executable, "-m", "gitplacer", "reconcile", "--deployment", fleet.deployment, str(fleet.source)]
    as_usual = partial(signal.signal, sent, signal.SIG_DFL)  # whoever runs the tests may ignore it, as nohup does
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=as_usual
    ) as process:
        with came.open() as held:
            assert held.readline() == "came\n"
            process.send_signal(sent)
            try:
                assert process.wait(60) == 128 + sent
            finally:
                process.kill()
            assert held.read() == ""  # to its end: the server's hook holds it open for as long as there is one
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert fleet.git("for-each-ref", "refs/heads/main") == ""


def test_a_second_signal_ends_it_at_once(fleet: Fleet, gates: tuple[Path, Path]) -> None:
    came, go = gates
    with watching(fleet) as process:
        came.read_text()
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (128 + signal.SIGINT, 128 + signal.SIGTERM)
        go.write_text("go\n")


def test_what_cannot_work_as_it_was_started_ends_with_an_error(fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    ran = run(capfd, "reconcile", "--watch", fleet.source)
    assert ran.code == 1
    assert "Stalled    Misconfigured: nobody said where the deployment repo is" in ran.err
    assert "hint: give --deployment" in ran.err and ran.err.endswith("stopped\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--watch", "--interval", "soon"], "--interval soon is not a time to wait"),
        (["--watch", "--interval", "0s"], "--interval 0s is not a time to wait"),
        (["--watch", "--leader-elect", "file:"], "--leader-elect file: names no file"),
        (["--batch", "2s"], "--batch is for --watch"),
        (["--watch", "--now", "2026-01-02T03:04:05Z"], "--watch does not go with --now"),
        (["--watch", "--pull-request"], "--watch does not go with --pull-request"),
    ],
)
def test_what_cannot_be_watched_is_said_before_anything_is_done(
    fleet: Fleet, capfd: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    ran = run(capfd, "reconcile", *options, "--deployment", fleet.deployment, fleet.source)
    assert ran.code == 1 and said in ran.err

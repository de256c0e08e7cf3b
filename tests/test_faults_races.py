"""Several controllers on one fleet, as processes: one of them lands each pass, and nothing is lost, placed twice or forced."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO

import pytest

from gitplacer.git.ourbranches import INPUTS
from tests.commands import run
from tests.fleetrepos import Fleet, made
from tests.gitservers import git
from tests.stories import cluster, rayservice
from tests.test_watching import watching
from tests.watchedcontrollers import Watched, outcomes


@contextlib.contextmanager
def landings(fleet: Fleet, tmp_path: Path) -> Iterator[IO[str]]:
    """A line for each push that the deployment repo has taken."""
    pipe = tmp_path / "landings"
    os.mkfifo(pipe)
    hook = fleet.bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho landed > {pipe}\n")
    hook.chmod(0o755)
    with os.fdopen(os.open(pipe, os.O_RDWR), "r") as lines:
        yield lines


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 5])
def test_of_several_controllers_one_lands_each_pass(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], count: int
) -> None:
    fleet = made(tmp_path)
    apps = [f"app-{number}" for number in range(3)]
    with landings(fleet, tmp_path) as landed, contextlib.ExitStack() as stack:
        replicas = [stack.enter_context(watching(fleet, "--interval", "1s", "--batch", "0s")) for _ in range(count)]
        landed.readline()
        for number, app in enumerate(apps):
            fleet.commit(rayservice("prod", app) | cluster("b", region=f"r{number}"))
            while f"Place prod/{app}" not in fleet.git("log", "--format=%B", "main"):
                landed.readline()
        for replica in replicas:
            replica.send_signal(signal.SIGTERM)
        assert [replica.wait(60) for replica in replicas] == [0] * count
    parents = fleet.git("log", "--reverse", "--format=%P", "main").splitlines()
    commits = fleet.git("log", "--reverse", "--format=%H", "main").splitlines()
    assert parents == ["", *commits[:-1]]  # one line of commits, nothing merged
    placed = [path for path in fleet.files() if path.startswith("clusters/") and "/workloads/prod/" in path]
    assert sorted(path.rpartition("/")[2] for path in placed) == sorted(f"{name}.yaml" for name in ("api", *apps))
    assert git("rev-parse", INPUTS, cwd=fleet.bare)
    ran = run(capfd, "verify", "--all", "--deployment", fleet.deployment, fleet.source)
    assert ran.code == 0, ran.out + ran.err


def test_a_clock_that_jumps_between_passes_stops_and_goes_on_by_itself(tmp_path: Path) -> None:
    """Back for an hour, as after a bad time server; then right again; then a week on, as after a long sleep."""
    watched = Watched(made(tmp_path))
    jumps = ((100, -60, "first"), (200, 60, "second"), (700, 7 * 24 * 60, "third"))
    for seconds, minutes, app in jumps:
        watched.at(seconds, lambda minutes=minutes: watched.clock.jump(timedelta(minutes=minutes)))  # type: ignore[misc]
        watched.at(seconds + 1, lambda app=app: watched.fleet.commit(rayservice("prod", app)))  # type: ignore[misc]
    turns = watched.until(900)
    ended = [said for said in outcomes(turns) if "(look)" not in said]
    assert ended[:4] == ["Published", "Unchanged", "Retry ClockBehind", "Retry ClockBehind"]
    assert [said for said in ended if said != "Retry ClockBehind"].count("Published") >= 2
    assert turns[-1].fault is None
    log = watched.fleet.git("log", "--format=%(trailers:key=Gitplacer-Now,valueonly,separator=)", "main").split()
    assert log == sorted(log, reverse=True)

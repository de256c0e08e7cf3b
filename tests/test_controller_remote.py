"""The controller against a server: what it asks when nothing moves, what it heals, and controllers that race each other."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitplacer.controller.running import Controller, Stopped
from gitplacer.controller.wakes import Wake
from gitplacer.git.program import Git
from gitplacer.settings import settings
from tests.clocks import StoryClock
from tests.fleetrepos import Fleet, made
from tests.gitservers import git, https_server
from tests.stories import rayjob, rayservice
from tests.watchedcontrollers import Watched, outcomes


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """A fleet whose source and deployment repo are both behind https."""
    fleet = made(tmp_path)
    origin = tmp_path / "served" / "source.git"
    git("clone", "-q", "--bare", str(fleet.source), str(origin), cwd=tmp_path)
    git("remote", "add", "origin", str(origin), cwd=fleet.source)
    with https_server(tmp_path / "served", tmp_path) as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        fleet.deployment = f"{url}/deployment.git"
        fleet.url = f"{url}/source.git"  # type: ignore[attr-defined]
        yield fleet


def watched_at(fleet: Fleet) -> Watched:
    watched = Watched(fleet)
    chosen = settings(fleet.url, deployment=fleet.deployment)  # type: ignore[attr-defined]
    watched.controller = Controller(chosen, draw=lambda: 0.5, clock=watched.clock, observers=[watched])
    return watched


@pytest.mark.server
def test_a_look_is_one_question_for_each_repo_and_a_pass_fetches_what_is_new(
    served: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watched_at(served)
    asked: list[str] = []
    run = Git.run

    def told(self: Git, *args: str, **how: object) -> bytes:
        if args[0] in ("ls-remote", "fetch", "push"):
            asked.append(args[0])
        return run(self, *args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", told)
    assert outcomes(watched.until(70)) == ["Published", "Unchanged", "Unchanged (look)"]
    assert asked[-2:] == ["ls-remote", "ls-remote"]
    served.commit(rayservice("prod", "new"))
    git("push", "-q", "origin", "main", cwd=served.source)
    asked.clear()
    again = watched_at(served)
    assert outcomes(again.until(10)) == ["Published", "Unchanged"]
    assert asked.count("fetch") == 2 and asked.count("push") == 1


@pytest.mark.server
def test_a_damaged_cache_is_thrown_away_and_the_next_pass_goes_well(served: Fleet) -> None:
    watched = watched_at(served)
    watched.until(10)
    served.commit(rayservice("prod", "new"))
    git("push", "-q", "origin", "main", cwd=served.source)
    chosen = settings(served.url, deployment=served.deployment)  # type: ignore[attr-defined]
    blob = git("rev-parse", "main:fleet.yaml", cwd=served.source)
    for pack in chosen.cache_dir.glob("repos/*/objects/pack/*.pack"):
        with pack.open("rb") as packed:  # each object in a file of its own, so that one of them can be damaged
            mirror = pack.parents[2]
            for part in pack.parent.glob(f"{pack.stem}.*"):
                part.unlink()
            subprocess.run(["git", "-C", mirror, "unpack-objects", "-q"], stdin=packed, check=True)
    (loose,) = chosen.cache_dir.glob(f"repos/*/objects/{blob[:2]}/{blob[2:]}")
    loose.chmod(0o644)
    loose.write_bytes(loose.read_bytes()[:-9] + b"rubbish!!")
    for path in (chosen.cache_dir / "values").iterdir():
        path.unlink()
    again = watched_at(served)
    assert outcomes(again.until(10)) == ["Retry DamagedCache", "Published", "Unchanged"]


@pytest.mark.parametrize("controllers", [2, 5])
def test_controllers_that_race_on_one_branch_all_converge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, controllers: int
) -> None:
    """
    Each push is seen by all at the same time, each by a clock of its own, so that most of them differ. Every commit that lands
    verifies (conftest), and nobody is left behind.
    """
    fleet = made(tmp_path)
    them = []
    for number in range(controllers):
        monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / f"cache-{number}"))  # machines of their own
        chosen = settings(str(fleet.source), deployment=fleet.deployment)
        clock = StoryClock(datetime(2026, 1, 2, 3, 5, number, tzinfo=UTC))
        them.append(Controller(chosen, draw=lambda: 0.5, clock=clock))
    ended: set[tuple[str, str | None]] = set()
    for push in range(3):
        fleet.commit(rayjob("prod", f"train-{push}") if push % 2 else rayservice("prod", f"api-{push}"))
        together = threading.Barrier(controllers)

        def turn(controller: Controller, together: threading.Barrier = together) -> None:
            together.wait(60)
            while (told := controller.turn(Wake(("webhook",)))).fault is not None:
                assert told.fault == "LostRace", told.message
            ended.add((told.outcome, told.tip))

        threads = [threading.Thread(target=turn, args=(controller,)) for controller in them]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    commits = set(fleet.git("log", "--format=%H", "main").split())
    # Two who make the same commit at the same second have both published it.
    assert len(commits) == 3 and {tip for outcome, tip in ended if outcome == "Published"} == commits
    last = [controller.turn(Wake(("look",))) for controller in them]
    assert {turn.outcome for turn in last} == {"Unchanged"} and {turn.tip for turn in last} < commits


def test_a_stop_before_the_push_lets_nothing_land(tmp_path: Path) -> None:
    watched = Watched(made(tmp_path))
    chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)

    def progress(message: str) -> None:
        if message == "planning":
            watched.controller.stop()

    watched.controller = Controller(
        chosen, draw=lambda: 0.5, clock=watched.clock, observers=[watched], progress=progress
    )
    with pytest.raises(Stopped):
        watched.controller.turn(Wake(("webhook",)))
    watched.controller.run()
    assert watched.turns == [] and watched.told[-1] == "stopped"
    assert watched.fleet.git("for-each-ref") == ""

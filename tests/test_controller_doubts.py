"""What a controller does not publish on: rewound and lost branches, a clock that is behind; and what settles each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as given_times
from hypothesis import strategies as st

from gitplacer.controller.doubts import Memory, Seen
from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Turn
from gitplacer.git.publishing import Deployment
from gitplacer.settings import settings
from tests.commands import Ran, run
from tests.fleetrepos import made
from tests.gitservers import git
from tests.stories import FLEET, cluster, rayservice
from tests.watchedcontrollers import Watched, outcomes


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    """A controller that has placed one app, and then, two minutes later, another."""
    watched = Watched(made(tmp_path))
    watched.at(100, lambda: watched.fleet.commit(rayservice("prod", "new")))
    assert outcomes(watched.until(130)) == ["Published", "Unchanged", "Unchanged (look)", "Published", "Unchanged"]
    watched.new()
    return watched


@pytest.fixture
def once(watched: Watched, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`gitplacer reconcile`, once, on the same machine."""

    def reconcile(*more: str, minute: int = 8) -> Ran:
        where = ["--deployment", watched.fleet.deployment, "--now", f"2026-01-02T03:{minute:02}:00Z"]
        return run(capfd, "reconcile", *where, *more, watched.fleet.source)

    return reconcile


def test_a_source_that_was_rewound_is_held_until_what_is_missing_is_back(watched: Watched) -> None:
    tip = git("rev-parse", "main", cwd=watched.fleet.source)
    before = watched.fleet.git("rev-parse", "main")
    git("reset", "-q", "--hard", "HEAD~1", cwd=watched.fleet.source)
    watched.at(200, lambda: git("reset", "-q", "--hard", tip, cwd=watched.fleet.source))
    turns = watched.until(300)
    assert outcomes(turns) == ["Held SourceRewound", "Held SourceRewound", "Unchanged", "Unchanged (look)"]
    assert tip[:12] in turns[0].message and "git merge -s ours" in turns[0].hint
    assert (
        watched.fleet.git("rev-parse", "main") == before
    )  # the app that is not in the source any more was not removed


def test_a_rewind_that_is_recorded_in_the_source_was_meant(watched: Watched) -> None:
    tip = git("rev-parse", "main", cwd=watched.fleet.source)
    git("reset", "-q", "--hard", "HEAD~1", cwd=watched.fleet.source)
    git("merge", "-q", "-s", "ours", "-m", "Go back on purpose", tip, cwd=watched.fleet.source)
    assert outcomes(watched.until(140)) == ["Published", "Unchanged"]
    assert "clusters/a/workloads/prod/new/new.yaml" not in watched.fleet.files()


def test_a_rewound_source_that_changes_nothing_is_only_told(watched: Watched) -> None:
    watched.fleet.commit({"README.md": "hello\n"})
    watched.fleet.commit(rayservice("prod", "third"))
    watched.until(140)
    git("reset", "-q", "--hard", "HEAD~2", cwd=watched.fleet.source)
    watched.fleet.commit(rayservice("prod", "third"), "Without the readme")
    watched.new()
    (turn,) = watched.until(150)
    assert turn.outcome == "Unchanged" and turn.notes[0].startswith("SourceRewound: ")


def test_a_deployment_branch_that_was_rewound_stalls_also_after_a_restart(watched: Watched) -> None:
    watched.fleet.git("update-ref", "refs/heads/main", "main~1")
    rewound = watched.fleet.git("rev-parse", "main")
    assert outcomes(watched.until(140)) == ["Stalled DeploymentRewound"]
    watched.new()
    (turn,) = watched.until(150)
    assert turn.fault == "DeploymentRewound" and rewound[:12] in turn.message
    assert watched.fleet.git("rev-parse", "main") == rewound


def test_a_pass_that_gives_a_commit_up_says_that_a_rewind_was_meant(watched: Watched, once: Callable[..., Ran]) -> None:
    lost = watched.fleet.git("rev-parse", "main")
    watched.fleet.git("update-ref", "refs/heads/main", "main~1")
    assert once("--give-up", lost).code == 0
    watched.fleet.commit(cluster("a", state="Draining"))
    assert outcomes(watched.until(300))[0] == "Published"


def test_a_history_that_was_written_anew_with_the_same_files_is_no_rewind(watched: Watched) -> None:
    last = watched.fleet.git("log", "-1", "--format=%B", "main")
    squashed = git("commit-tree", "main^{tree}", "-m", last, cwd=watched.fleet.bare)
    watched.fleet.git("update-ref", "refs/heads/main", squashed)
    watched.fleet.commit(rayservice("prod", "third"))
    assert outcomes(watched.until(140)) == ["Published"]


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize(
    ("away", "fault"),
    [
        (("update-ref", "refs/heads/main", "main~1"), "DeploymentRewound"),
        (("update-ref", "-d", "refs/heads/main"), "DeploymentLost"),
    ],
)
def test_a_server_that_does_not_know_a_push_yet_stalls_nobody_who_settles_it(
    watched: Watched, stays: bool, away: tuple[str, ...], fault: str
) -> None:
    """Each of its machines has heard of it five seconds later, or it is gone indeed."""

    class Lagging(Silent):
        def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
            if woken == ("settle",):
                self.tip = watched.fleet.git("rev-parse", "main")
                watched.fleet.git(*away)

        def ended(self, turn: Turn) -> None:
            if turn.settles and not stays:
                watched.fleet.git("update-ref", "refs/heads/main", self.tip)

    watched.new(Lagging())
    watched.fleet.commit(rayservice("prod", "third"))
    turns = watched.until(137)
    then = f"Stalled {fault}" if stays else "Unchanged (look)"
    assert outcomes(turns) == ["Published", "Unchanged (look)", then]
    assert [f"{turn.started:%M:%S}" for turn in turns] == ["07:10", "07:10", "07:15"]
    assert turns[1].settles


@pytest.mark.parametrize("remembers", [True, False])
def test_a_deployment_branch_that_was_lost_is_never_made_from_nothing(watched: Watched, remembers: bool) -> None:
    tip = watched.fleet.git("rev-parse", "main")
    watched.fleet.git("update-ref", "-d", "refs/heads/main")
    if not remembers:  # another machine: only the capacity that is kept beside the branch tells
        chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)
        for path in (chosen.cache_dir / "seen").iterdir():
            path.unlink()
    watched.at(200, lambda: watched.fleet.git("update-ref", "refs/heads/main", tip))
    turns = watched.until(260)
    assert outcomes(turns)[0] == "Stalled DeploymentLost" and outcomes(turns)[-1].startswith("Unchanged")
    assert watched.fleet.git("rev-parse", "main") == tip


def test_a_pass_that_gives_it_up_places_everything_anew_where_the_branch_was_lost(
    watched: Watched, once: Callable[..., Ran]
) -> None:
    lost = watched.fleet.git("rev-parse", "main")
    watched.fleet.git("update-ref", "-d", "refs/heads/main")
    assert once("--give-up", lost[:12]).code == 0
    watched.fleet.commit(rayservice("prod", "third"))
    assert outcomes(watched.until(300))[0] == "Published"


@pytest.mark.parametrize(("hours", "ended"), [(-3, ["Retry ClockBehind"]), (3, ["Published", "Unchanged"])])
def test_no_pass_is_earlier_than_the_one_before(watched: Watched, hours: int, ended: list[str]) -> None:
    watched.clock.jump(timedelta(hours=hours))
    watched.fleet.commit(rayservice("prod", "third"))
    assert outcomes(watched.until(140)) == ended


def test_a_clock_that_is_a_little_behind_makes_its_pass_at_the_time_of_the_last(watched: Watched) -> None:
    watched.clock.jump(timedelta(seconds=-100))
    watched.fleet.commit(rayservice("prod", "third"))
    assert outcomes(watched.until(140)) == ["Published", "Unchanged"]
    assert (
        watched.fleet.git("log", "-2", "--format=%(trailers:key=Gitplacer-Now,valueonly,separator=)", "main").split()
        == ["2026-01-02T03:07:00Z"] * 2
    )


def test_what_was_seen_is_a_memory_that_may_be_damaged_or_lost(watched: Watched, tmp_path: Path) -> None:
    chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)
    assert chosen.deployment is not None
    with Deployment.open(chosen.deployment, "main", chosen.cache_dir) as deployment:
        memory = Memory(tmp_path / "cache", deployment)
    assert memory.read() is None
    memory.write(Seen("a" * 40, "2026-01-02T03:05:00Z"))
    assert memory.read() == Seen("a" * 40, "2026-01-02T03:05:00Z")
    (path,) = (tmp_path / "cache" / "seen").iterdir()
    for damage in ("", "[]", '{"tip": "-x", "made": ""}', "{", '"x"'):
        path.write_text(damage)
        assert memory.read() is None


def test_two_processes_that_remember_the_same_at_once_each_write_a_file_of_their_own(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)
    assert chosen.deployment is not None
    with Deployment.open(chosen.deployment, "main", chosen.cache_dir) as deployment:
        one, other = Memory(tmp_path / "cache", deployment), Memory(tmp_path / "cache", deployment)
    first, second = Seen("a" * 40, "2026-01-02T03:05:00Z"), Seen("b" * 40, "2026-01-02T03:06:00Z")
    places: list[Path] = []
    rename = Path.replace

    def with_another_between(place: Path, target: Path) -> Path:
        places.append(place)
        if len(places) == 1:
            other.write(second)
            assert one.read() == second
        return rename(place, target)

    monkeypatch.setattr(Path, "replace", with_another_between)
    one.write(first)
    assert one.read() == first  # it was the last to be put in place, and nobody had touched it
    assert len(set(places)) == 2
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    one.write(second)
    assert one.read() == first
    assert [path.suffix for path in (tmp_path / "cache" / "seen").iterdir()] == [".json"]


def _source_back(watched: Watched) -> str:
    tip = git("rev-parse", "main", cwd=watched.fleet.source)
    git("reset", "-q", "--hard", "HEAD~1", cwd=watched.fleet.source)
    return tip


def _source_from_elsewhere(watched: Watched) -> str:
    """Somebody pushes a history of their own."""
    tip = git("rev-parse", "main", cwd=watched.fleet.source)
    git("rm", "-q", "workloads/prod/new.yaml", cwd=watched.fleet.source)
    tree = git("write-tree", cwd=watched.fleet.source)
    git(
        "reset",
        "-q",
        "--hard",
        git("commit-tree", tree, "-m", "anew", cwd=watched.fleet.source),
        cwd=watched.fleet.source,
    )
    return tip


def _deployment_back(watched: Watched) -> str:
    tip = watched.fleet.git("rev-parse", "main")
    watched.fleet.git("update-ref", "refs/heads/main", "main~1")
    return tip


def _deployment_lost(watched: Watched) -> str:
    tip = watched.fleet.git("rev-parse", "main")
    watched.fleet.git("update-ref", "-d", "refs/heads/main")
    return tip


def _deployment_lost_and_forgotten(watched: Watched) -> str:
    """On a machine with an empty cache: only the capacity beside the branch tells."""
    _deployment_lost(watched)
    chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)
    for path in (chosen.cache_dir / "seen").iterdir():
        path.unlink()
    return watched.fleet.git("rev-parse", "gitplacer-inputs")


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (_source_back, "of which the last pass was made, is not behind it"),
        (_source_from_elsewhere, "of which the last pass was made, is not behind it"),
        (_deployment_back, "which was there, is not behind it"),
        (_deployment_lost, "is gone, and passes were there"),
        (_deployment_lost_and_forgotten, "is gone, and passes were there"),
    ],
)
def test_a_timer_that_runs_a_pass_again_and_again_is_no_consent(
    watched: Watched, once: Callable[..., Ran], happens: Callable[[Watched], str], said: str
) -> None:
    lost = happens(watched)
    refs = watched.fleet.git("for-each-ref", "--format=%(refname) %(objectname)")
    for minute in (8, 9):
        refused = once(minute=minute)
        assert refused.code == 1 and said in refused.err
        assert f"--give-up {lost[:12]}" in refused.err
    assert once("--give-up", "0" * 12, minute=10).code == 1
    assert watched.fleet.git("for-each-ref", "--format=%(refname) %(objectname)") == refs
    meant = once("--give-up", lost, minute=11)
    assert meant.code == 0 and meant.out.startswith("Published")
    assert once(minute=12).out.startswith("Unchanged")


def test_a_deployment_branch_that_is_misspelt_names_the_one_that_is_there(
    watched: Watched, once: Callable[..., Ran]
) -> None:
    watched.fleet.commit({"fleet.yaml": FLEET.replace("spec: {}", "spec: {deployment: {branch: mian}}")})
    refused = once(minute=8)
    assert refused.code == 1
    assert "there is no branch mian" in refused.err and "passes were published to this repo" in refused.err
    assert "if passes go to main, correct spec.deployment.branch of the Fleet" in refused.err


@given_times(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.sampled_from(["source", "deployment"]),
    onward=st.integers(0, 2),
    squashed=st.booleans(),
)
def test_no_way_of_rewriting_a_branch_is_published_on(
    watched: Watched, once: Callable[..., Ran], which: str, onward: int, squashed: bool
) -> None:
    """The last commit of a branch is dropped, others are put in its place, or what was before it is written anew as one."""
    where = watched.fleet.source if which == "source" else watched.fleet.bare
    lost, head = (git("rev-parse", "main", cwd=repo) for repo in (where, watched.fleet.source))
    tip = git("rev-parse", "main~1", cwd=where)
    if squashed:
        tip = git("commit-tree", f"{tip}^{{tree}}", "-m", "anew", cwd=where)
    for number in range(onward):
        tip = git("commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", f"by somebody {number}", cwd=where)
    git("update-ref", "refs/heads/main", tip, cwd=where)
    if which == "source":
        git("reset", "-q", "--hard", cwd=where)
    refused = once()
    assert refused.code == 1 and f"--give-up {lost[:12]}" in refused.err
    assert git("rev-parse", "main", cwd=where) == tip
    git("update-ref", "refs/heads/main", lost, cwd=where)
    git("reset", "-q", "--hard", head, cwd=watched.fleet.source)


def test_a_pass_that_is_run_once_remembers_what_it_published(watched: Watched, once: Callable[..., Ran]) -> None:
    watched.fleet.commit(rayservice("prod", "third"))
    assert once().code == 0
    _deployment_back(watched)
    assert "which was there, is not behind it" in once(minute=9).err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--give-up", "main"), "--give-up main is no commit"),
        (("--give-up", "-x"), "--give-up -x is no commit"),
        (("--give-up", "0" * 12, "--watch"), "--give-up does not go with --watch"),
    ],
)
def test_what_is_given_up_is_named_as_the_message_names_it(
    capfd: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    refused = run(capfd, "reconcile", *more, "--deployment", "none.git", ".")
    assert refused.code == 1 and said in refused.err

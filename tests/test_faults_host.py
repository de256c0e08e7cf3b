"""
The Git host's bad days, on real git over real connections: it refuses, says nothing, hangs up in the middle, loses races and branches.

Whatever it does, the deployment repo is as before the pass or as after it, the fault is named for whoever is on call, and the next pass
converges. Every commit that lands is verified (`tests/provenance.py`).
"""

from __future__ import annotations

import fcntl
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitplacer.controller.faults import found
from gitplacer.controller.running import Controller
from gitplacer.controller.turns import Turn
from gitplacer.git import program
from gitplacer.git.ourbranches import INPUTS
from gitplacer.git.scratch import scratch_folder
from gitplacer.settings import settings
from tests.faultyhost import Ask, Bad, Host, faulty_host, relay_to
from tests.fleetrepos import made
from tests.gitservers import SSHD, closed_port, ssh_server
from tests.stories import rayservice
from tests.watchedcontrollers import PACE, Watched

pytestmark = pytest.mark.server


@dataclass
class Served(Watched):
    """A controller on repos that a host serves."""

    root: str = ""

    def new(self, *others: object) -> Controller:
        is_ssh = self.root.startswith("ssh")
        source = str(self.fleet.source) if is_ssh else f"{self.root}/source/.git"
        bare = f"{self.root}{self.fleet.bare}" if is_ssh else f"{self.root}/served/deployment.git"
        self.controller = Controller(
            settings(source, deployment=bare),
            draw=lambda: 0.5,
            clock=self.clock,
            pace=PACE,
            observers=[self],
            complain=self.complaints.append,
        )
        return self.controller

    def turn(self) -> Turn:
        """One turn, which is hinted at and makes a pass."""
        self.controller.wakes.hint("test")
        wake = self.controller.wakes.wait(lambda: self.controller._due)
        assert wake is not None
        return self.controller.turn(wake)

    def tips(self) -> tuple[str, str]:
        """The two branches that a pass pushes."""
        return self.fleet.git("rev-parse", "main"), self.fleet.git("rev-parse", INPUTS)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with faulty_host(tmp_path) as host:
        yield host


@pytest.fixture
def served(tmp_path: Path, host: Host) -> Served:
    """Repos with one app, which is placed."""
    served = Served(made(tmp_path), root=host.url)
    assert served.turn().outcome == "Published"
    return served


_NAMES = (f"app-{number}" for number in itertools.count())

FAULTS = [
    (Ask.LIST, Bad.BUSY, "Retry Unreachable", "error: 503"),
    (Ask.LIST, Bad.TOO_OFTEN, "Retry RateLimited", "error: 429"),
    (Ask.LIST, Bad.DENIED, "Stalled AccessDenied", "error: 403"),
    (Ask.LIST, Bad.UNKNOWN, "Stalled AccessDenied", "could not read Username"),
    (Ask.LIST, Bad.MUTE, "Retry Unreachable", "Empty reply from server"),
    (Ask.LIST, Bad.CUT, "Retry Unreachable", ""),
    (Ask.REFS, Bad.BUSY, "Retry Unreachable", "503"),
    (Ask.REFS, Bad.CUT, "Retry Unreachable", "transfer closed"),
    (Ask.FETCH, Bad.BROKEN, "Retry Unreachable", "HTTP 500"),
    (Ask.FETCH, Bad.TOO_OFTEN, "Retry RateLimited", "HTTP 429"),
    (Ask.FETCH, Bad.CUT, "Retry Unreachable", "transfer closed with"),
    (Ask.FETCH, Bad.MUTE, "Retry Unreachable", "Empty reply"),
    (Ask.OFFER, Bad.BUSY, "Retry Unreachable", "error: 503"),
    (Ask.OFFER, Bad.DENIED, "Stalled PushRefused", "error: 403"),
    (Ask.PUSH, Bad.BROKEN, "Retry Unreachable", "500"),
    (Ask.PUSH, Bad.TOO_OFTEN, "Retry RateLimited", "429"),
    (Ask.PUSH, Bad.DEAF, "Retry Unreachable", ""),
    (Ask.PUSH, Bad.DENIED, "Stalled PushRefused", "403"),
]


@pytest.mark.slow
@pytest.mark.parametrize("asks", [(Ask.LIST, Ask.REFS), (Ask.FETCH,), (Ask.OFFER, Ask.PUSH)], ids=str)
def test_whatever_a_host_does_is_named_changes_nothing_and_is_over_when_it_is_over(
    served: Served, host: Host, asks: tuple[Ask, ...]
) -> None:
    for ask, bad, named, said in (row for row in FAULTS if row[0] in asks):
        served.fleet.commit(rayservice("prod", next(_NAMES)))
        before = served.tips()
        host.bad = {ask: bad}
        turn = served.turn()
        host.bad = {}
        told = f"{ask.name} {bad.name}: {turn.message}; {turn.hint}"
        assert f"{turn.outcome} {turn.fault}" == named, told
        assert said in turn.message and host.url in turn.message and turn.hint, told
        assert served.tips() == before, told
    after = served.turn()
    assert after.outcome == "Published" and after.again == 0
    assert served.turn().outcome == "Unchanged"


@pytest.mark.parametrize("bad", [Bad.MUTE, Bad.CUT])
def test_a_push_whose_answer_is_lost_has_landed_and_is_not_made_twice(served: Served, host: Host, bad: Bad) -> None:
    served.fleet.commit(rayservice("prod", "new"))
    host.bad = {Ask.PUSH: bad}
    turn = served.turn()
    host.bad = {}
    assert (turn.outcome, turn.tip) == ("Published", served.tips()[0])
    assert served.turn().outcome == "Unchanged"
    assert served.fleet.git("log", "--format=%s", "main").splitlines() == ["Place prod/new", "Place prod/api"]


@pytest.mark.parametrize(("ask", "talk"), [(Ask.REFS, program.Talk.QUESTION), (Ask.FETCH, program.Talk.TRANSFER)])
def test_a_host_that_says_nothing_is_not_waited_for_for_ever(
    served: Served, host: Host, monkeypatch: pytest.MonkeyPatch, ask: Ask, talk: program.Talk
) -> None:
    served.fleet.commit(rayservice("prod", "new"))
    with monkeypatch.context() as patched:
        patched.setattr(program, f"_{talk.name}", 1)
        host.bad = {ask: Bad.STALL}
        turn = served.turn()
        host.bad = {}
    assert f"{turn.outcome} {turn.fault}" == "Retry Unreachable"
    assert "has not ended within 1 seconds" in turn.message and "GITPLACER_GIT_TIMEOUT" in turn.hint
    assert served.turn().outcome == "Published"


def test_a_hook_that_never_ends_is_ended_with_the_push_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = made(tmp_path)
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    hook = fleet.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec 9<> {alive}\nread word <&9\n")
    hook.chmod(0o755)
    watched = Watched(fleet)
    held = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    with monkeypatch.context() as patched:
        patched.setattr(program, "_TRANSFER", 1)
        (turn,) = watched.until(1)
    os.set_blocking(held, True)
    assert os.read(held, 1) == b""  # the end of it, once nobody has it open any more
    os.close(held)
    assert f"{turn.outcome} {turn.fault}" == "Retry Unreachable" and "git push has not ended" in turn.message
    hook.unlink()
    watched.new()
    assert [turn.outcome for turn in watched.until(60) if not turn.is_look] == ["Published", "Unchanged"]


@pytest.mark.slow
def test_ten_races_are_lost_and_the_eleventh_is_won(tmp_path: Path) -> None:
    """Somebody else pushes whenever we are about to."""
    fleet = made(tmp_path)
    assert Watched(fleet).until(1)[0].outcome == "Published"
    fleet.commit(rayservice("prod", "new"))
    hook, left = fleet.bare / "hooks" / "pre-receive", tmp_path / "left"
    hook.parent.mkdir(exist_ok=True)
    left.write_text("x" * 10)
    hook.write_text(
        f'#!/bin/sh\nn=$(cat {left})\n[ -n "$n" ] || exit 0\nprintf %s "${{n#x}}" > {left}\n'
        "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
        "export GIT_AUTHOR_NAME=o GIT_AUTHOR_EMAIL=o@o GIT_COMMITTER_NAME=o GIT_COMMITTER_EMAIL=o@o\n"
        'git update-ref refs/heads/main $(git commit-tree "main^{tree}" -p main -m "By hand $n")\n'
    )
    hook.chmod(0o755)
    watched = Watched(fleet)
    turns = watched.until(300)
    faults = [f"{turn.outcome} {turn.fault}" for turn in turns if turn.fault]
    assert faults == ["Retry LostRace"] * 10 and [turn.again for turn in turns if turn.fault] == [*range(1, 11)]
    assert turns[10].outcome == "Published"
    assert fleet.git("log", "-3", "--format=%s", "main").splitlines() == ["Place prod/new", "By hand x", "By hand xx"]


@pytest.mark.slow
@pytest.mark.skipif(not SSHD, reason="sshd is not installed (Debian: openssh-server)")
def test_ssh_that_is_refused_or_cut_is_named_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    with ssh_server(keys) as (url, environment), relay_to(int(url.rpartition(":")[2])) as relay:
        monkeypatch.setenv("GIT_SSH_COMMAND", f"{environment['GIT_SSH_COMMAND']} -o StrictHostKeyChecking=no")
        at = url.rpartition(":")[0]
        served = Served(made(tmp_path), root=f"{at}:{relay.port}")
        assert served.turn().outcome == "Published"
        served.fleet.commit(rayservice("prod", "new"))
        before = served.tips()
        for size in (1000, relay.shortest * 3 // 4):  # in the middle of the greeting; before an answer is whole
            relay.cut_after = size
            turn = served.turn()
            assert f"{turn.outcome} {turn.fault}" == "Retry Unreachable" and turn.hint
            assert served.tips() == before
        relay.cut_after = None
        served.root = f"{at}:{closed_port()}"
        served.new()
        turn = served.turn()
        assert f"{turn.outcome} {turn.fault}" == "Retry Unreachable" and "Connection refused" in turn.message
        served.root = f"{at}:{relay.port}"
        served.new()
        assert served.turn().outcome == "Published"


@pytest.mark.parametrize("minutes", [0, 10])
def test_a_lock_that_a_git_left_in_a_local_repo_is_a_race_at_first_and_then_named(tmp_path: Path, minutes: int) -> None:
    fleet = made(tmp_path)
    lock = fleet.bare / "refs" / "heads" / "main.lock"
    lock.touch()
    then = lock.stat().st_mtime - 60 * minutes
    os.utime(lock, (then, then))
    (turn,) = Watched(fleet).until(0.5)
    if minutes:
        assert turn.fault == "PushRefused" and str(lock) in turn.hint
    else:
        assert turn.fault == "LostRace"
    lock.unlink()
    assert Watched(fleet).until(60)[-1].outcome.startswith(("Published", "Unchanged"))


def left_by_a_killed_git(mirror: Path) -> list[Path]:
    """What git leaves of a fetch and of its housekeeping when it is killed."""
    kept = next((mirror / "refs" / "mirror").iterdir(), mirror / "refs" / "mirror" / "x")
    left = [
        kept.with_name(f"{kept.name}.lock"),
        *(mirror / name for name in ("packed-refs.lock", "config.lock", "gc.pid")),
    ]
    left += [mirror / "objects" / "pack" / name for name in ("tmp_pack_a1b2c3", ".tmp-12-pack-aa.pack")]
    for path in left:
        path.write_text("left\n")
    (mirror / "objects" / "tmp_objdir-incoming-x").mkdir()
    return [*left, mirror / "objects" / "tmp_objdir-incoming-x"]


def mirrors() -> list[Path]:
    return sorted(Path(os.environ["GITPLACER_CACHE"]).glob("repos/*.git"))


def test_what_a_killed_git_leaves_in_a_mirror_stops_nobody_and_is_taken_away(served: Served) -> None:
    left = [path for mirror in mirrors() for path in left_by_a_killed_git(mirror)]
    assert len(left) == 14
    served.fleet.commit(rayservice("prod", "new"))
    assert served.turn().outcome == "Published"
    assert [path for path in left if path.exists()] == []


@pytest.mark.slow
def test_a_git_that_outlives_us_keeps_the_mirror_locked_until_it_ends(served: Served, host: Host) -> None:
    served.fleet.commit(rayservice("prod", "new"))
    host.bad = {Ask.FETCH: Bad.STALL}
    command = [sys.executable, "-m", "gitplacer", "reconcile", "--deployment", f"{host.url}/served/deployment.git"]
    with subprocess.Popen([*command, f"{host.url}/source/.git"], stderr=subprocess.DEVNULL) as process:
        host.stalled.get()
        process.kill()
    locks = [path.with_suffix(".lock").open() for path in mirrors()]
    with pytest.raises(BlockingIOError):
        for lock in locks:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    host.over.set()
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.close()
    host.bad = {}
    assert served.turn().outcome == "Published"


def test_a_scratch_folder_of_somebody_who_was_killed_is_taken_away_and_that_of_somebody_at_work_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, other = tmp_path / "gitplacer-scratch-left", tmp_path / "gitplacer-other"
    for folder in (left, other):
        (folder / "objects").mkdir(parents=True)
    with scratch_folder() as first:
        (first / "mine").touch()
        with scratch_folder() as second:
            assert sorted(tmp_path.iterdir()) == sorted([other, first, second])
            assert (first / "mine").exists()
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.parametrize("said", ["soon", "0s", "-1s"])
def test_a_time_limit_that_is_none_is_said(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("GITPLACER_GIT_TIMEOUT", said)
    with pytest.raises(program.GitError) as failed:
        program.patience(program.Talk.QUESTION)
    assert str(failed.value) == f"GITPLACER_GIT_TIMEOUT is no time: {said!r}"
    assert found(failed.value).fault == "Misconfigured"
    monkeypatch.setenv("GITPLACER_GIT_TIMEOUT", "1h30m")
    assert (program.patience(program.Talk.TRANSFER), program.patience(program.Talk.QUESTION)) == (5400, 120)

"""
Passes that had nothing to do are remembered, and a pass that is spared would have said the same.

The law is held over the random lives of `histories`: whenever what was remembered would be said again, a whole pass at that time says it
too. The rest goes through real git, where what is computed is counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from gitplacer import hydrate as core
from gitplacer.explain import standing
from gitplacer.git import worktree
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart import beside
from gitplacer.passes.quiet import Quiet, quiet
from gitplacer.passes.reconcile import Outcome, Spared, reconcile_unless_quiet
from tests.commands import run
from tests.fleetrepos import Fleet, made, silently
from tests.gitservers import git
from tests.histories import LookedAt
from tests.stories import FLEET, START, cluster, rayservice, snapshot

SECOND = timedelta(seconds=1)


# the law


class Watched(LookedAt):
    """A life in which some passes are remembered, and held against whole passes at later times."""

    def _witness(self, capacity: Mapping[str, str], now: datetime, plain: Hydration) -> None:
        if self.dice.random() >= 0.15:
            return
        inputs, horizon, noted = self._noted(capacity, now)
        assert [(s.message, s.changes) for s in noted.steps] == [(s.message, s.changes) for s in plain.steps]
        assert (noted.problems, noted.tree) == (plain.problems, plain.tree)
        found = quiet(noted, horizon)
        self.counts["published"] += bool(plain.steps)
        self.counts["proposed"] += not plain.steps and bool(plain.proposals)
        self.counts["lost"] += bool(horizon.lost) and not plain.steps and not plain.proposals
        if found is None:
            return
        end = found.until or now + timedelta(days=40)
        for at in {end - SECOND, now + (end - now) * self.dice.random()}:
            if found.holds(at):
                self.counts["spared"] += 1
                assert self._said(hydrate(replace(inputs, now=at), memo=self.memory, with_candidates=False), found) == (
                    found
                ), (self.seed, now, at)
        if found.until is not None:
            after = hydrate(replace(inputs, now=end + SECOND), memo=self.memory, with_candidates=False)
            self.counts["due"] += bool(after.steps) or self._said(after, found) != found

    @staticmethod
    def _said(done: Hydration, like: Quiet) -> Quiet:
        assert not done.steps and not done.proposals, [step.message for step in done.steps]
        return replace(like, problems=done.problems, standing=standing(done.view.plan))


def test_a_pass_that_is_spared_would_have_said_the_same() -> None:
    lives = [Watched(seed).live(events=20) for seed in range(5)]
    assert not [life.wrong for life in lives if life.wrong]
    total = sum((life.counts for life in lives), start=type(lives[0].counts)())
    assert total["spared"] >= 10, total
    assert total["due"] >= 2, ("the horizon should often be where something happens", total)
    assert total["published"] >= 2, total
    assert total["lost"] == 0, ("no pass without a step should show its time", total)


# through git


class Counted:
    """How many passes were computed whole: who plans a part has what plans it from before, since that is imported here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        whole = core.hydrate
        assert beside.hydrate is whole

        def counted(*args: object, **kwargs: object) -> Hydration:
            self.number += 1
            return whole(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(core, "hydrate", counted)

    def since(self, before: int) -> int:
        return self.number - before


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    fleet = made(tmp_path)
    fleet.reconcile(5)
    return fleet


def passed(fleet: Fleet, minute: int) -> Outcome | Spared:
    return reconcile_unless_quiet(fleet.settings(minute), progress=silently)


def test_a_second_pass_on_the_same_inputs_is_spared(fleet: Fleet, computed: Counted) -> None:
    assert isinstance(passed(fleet, 6), Outcome)
    spared = passed(fleet, 7)
    assert isinstance(spared, Spared)
    assert (spared.tip, spared.branch) == (fleet.git("rev-parse", "main").strip(), "main")
    assert computed.number == 1
    assert isinstance(passed(fleet, 6), Spared)
    assert isinstance(passed(fleet, 5), Outcome), "a time before that is another"


def test_a_pass_that_published_is_not_remembered(tmp_path: Path, computed: Counted) -> None:
    fleet = made(tmp_path)
    assert isinstance(passed(fleet, 5), Outcome)
    assert isinstance(passed(fleet, 6), Outcome)
    assert isinstance(passed(fleet, 7), Spared)


def touch_source(fleet: Fleet) -> None:
    fleet.commit(rayservice("prod", "second"))


def touch_text(fleet: Fleet) -> None:
    fleet.commit({"notes.yaml": "nothing: of it is deployed\n"})


def touch_capacity(fleet: Fleet) -> None:
    fleet.commit({f"capacity/{path}": text for path, text in snapshot("a", "n1 64 128Gi 4").items()})


def touch_deployment(fleet: Fleet) -> None:
    tree = fleet.git("rev-parse", "main^{tree}").strip()
    tip = git("commit-tree", tree, "-p", "main", "-m", "by hand", cwd=fleet.bare).strip()
    fleet.git("update-ref", "refs/heads/main", tip)


def touch_proposals(fleet: Fleet) -> None:
    fleet.git("update-ref", "refs/heads/gitplacer/proposed/prod/api", "main")


@pytest.mark.parametrize("touch", [touch_source, touch_text, touch_capacity, touch_deployment, touch_proposals])
def test_whatever_moves_is_looked_at(fleet: Fleet, computed: Counted, touch: Callable[[Fleet], None]) -> None:
    """A new app beside all who stay, anything else whole."""
    passed(fleet, 6)
    assert isinstance(passed(fleet, 7), Spared)
    touch(fleet)
    assert isinstance(passed(fleet, 8), Outcome)
    assert computed.number == (1 if touch is touch_source else 2)


def test_a_file_that_nobody_reads_is_not_looked_at(fleet: Fleet, computed: Counted) -> None:
    passed(fleet, 6)
    before = computed.number
    fleet.commit({"README.md": "nothing of it is deployed"})
    assert isinstance(passed(fleet, 7), Spared)
    (fleet.source / "README.md").unlink()
    fleet.commit({})
    assert isinstance(passed(fleet, 8), Spared)
    assert computed.since(before) == 0


def test_a_file_of_which_another_tool_makes_manifests_is_looked_at(fleet: Fleet) -> None:
    """It is told of while it is there."""
    passed(fleet, 6)
    fleet.commit({"workloads/prod/app.jsonnet": "{}"})
    assert isinstance(passed(fleet, 7), Outcome)
    assert isinstance(passed(fleet, 8), Spared)
    (fleet.source / "workloads/prod/app.jsonnet").unlink()
    fleet.commit({})
    assert isinstance(passed(fleet, 9), Outcome)


def test_it_is_computed_again_when_its_time_is_over(fleet: Fleet, computed: Counted) -> None:
    """The snapshot is of 03:05, and stale after ten minutes."""
    fleet.commit({**cluster("a", maxAge="10m"), **rayservice("prod", "huge", cpu="4000")})
    fleet.reconcile(6)
    before = computed.number
    assert isinstance(passed(fleet, 7), Outcome)
    assert isinstance(passed(fleet, 14), Spared)
    assert isinstance(passed(fleet, 16), Outcome)
    assert isinstance(passed(fleet, 30), Spared)
    assert computed.since(before) == 2


FROZEN = "spec: {guards: {freeze: [{schedule: '0 0 * * *', duration: 23h, timeZone: UTC}]}}"
TIMELY: dict[str, dict[str, str]] = {
    "a snapshot from the future, and the time is told": {
        f"capacity/{path}": text for path, text in snapshot("a", "n1 32 128Gi 4", at=START + timedelta(days=1)).items()
    },
    "a calendar is asked, and it knows about days": {
        "fleet.yaml": FLEET.replace("spec: {}", FROZEN),
        **cluster("a", state="Draining"),
    },
}


@pytest.mark.parametrize("files", TIMELY.values(), ids=TIMELY)
def test_a_pass_that_shows_its_time_is_not_remembered(fleet: Fleet, computed: Counted, files: dict[str, str]) -> None:
    fleet.commit(files)
    fleet.reconcile(6)
    before = computed.number
    ended = [passed(fleet, minute) for minute in (7, 8)]
    assert [isinstance(each, Outcome) and each.tip for each in ended] == [None, None]
    assert computed.since(before) == 2


def test_another_version_of_the_code_computes_anew(
    fleet: Fleet, computed: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed(fleet, 6)
    monkeypatch.setattr("gitplacer.passes.quiet.code_digest", lambda: "another")
    assert isinstance(passed(fleet, 7), Outcome)
    assert computed.number == 2


def test_what_is_wrong_and_who_waits_is_said_again(
    fleet: Fleet, capfd: pytest.CaptureFixture[str], computed: Counted
) -> None:
    fleet.commit({"workloads/prod/broken.yaml": "kind: [", **rayservice("prod", "huge", cpu="4000")})
    fleet.reconcile(6)
    before = computed.number
    told = [
        run(
            capfd,
            "reconcile",
            fleet.source,
            "--deployment",
            fleet.bare,
            "--now",
            f"2026-01-02T03:{minute:02}:00Z",
            *more,
        )
        for minute, more in ((7, ()), (8, ()), (9, ("--full",)))
    ]
    assert computed.since(before) == 2
    assert told[0] == told[1] == told[2]
    assert "workloads/prod/broken.yaml:1:" in told[1].err
    assert "1 waiting (prod/huge)" in told[1].err
    assert told[1].out.startswith("Unchanged  ")


def test_promoters_are_told_of_a_pass_that_is_spared(fleet: Fleet, computed: Counted) -> None:
    fleet.commit({"fleet.yaml": FLEET.replace("spec: {}", "spec: {deployment: {hydrator: {notes: true}}}")})
    passed(fleet, 6)
    passed(fleet, 7)
    fleet.git("update-ref", "-d", "refs/notes/hydrator.metadata")
    assert isinstance(passed(fleet, 8), Spared)
    assert git("rev-parse", "HEAD", cwd=fleet.source).strip() in fleet.git(
        "notes", "--ref=hydrator.metadata", "show", "main"
    )


def test_a_pass_that_is_spared_imports_no_planner(fleet: Fleet) -> None:
    passed(fleet, 6)
    passed(fleet, 7)
    code = (
        "import sys; from gitplacer.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as ended: assert not ended.code\n"
        "print(*sorted(sys.modules))"
    )
    command = ["reconcile", str(fleet.source), "--deployment", fleet.deployment, "--now", "2026-01-02T03:08:00Z"]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    first, modules = done.stdout.splitlines()[0], set(done.stdout.split())
    assert first.startswith("Unchanged")
    assert "gitplacer.passes.quiet" in modules
    assert not modules & {
        "numpy",
        "gitplacer.hydrate",
        "gitplacer.snapshot",
        "gitplacer.explain",
        "gitplacer.placement",
        "gitplacer.rewriting",
        "gitplacer.render",
    }


# what is not read


def test_a_file_that_lies_as_it_did_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, cache = tmp_path / "work", tmp_path / "cache"
    work.mkdir()
    for name in ("one", "two", "three"):
        (work / name).write_text(name)
    plain = worktree.read_work_tree(work)
    monkeypatch.setattr("gitplacer.git.stamps.time.time_ns", lambda: (work / "three").stat().st_ctime_ns + 10**10)
    read: list[bytes] = []
    bytes_of = worktree._bytes

    def noted(place: bytes, expected: int) -> bytes | None:
        read.append(os.path.basename(place))  # noqa: PTH119
        return bytes_of(place, expected)

    monkeypatch.setattr(worktree, "_bytes", noted)
    assert worktree.read_work_tree(work, cache) == plain
    assert sorted(read) == [b"one", b"three", b"two"]
    read.clear()
    assert worktree.read_work_tree(work, cache) == plain
    assert read == []
    (work / "two").write_text("owt")  # as long as before
    os.utime(work / "two", ns=((work / "one").stat().st_mtime_ns,) * 2)  # and as old, for those who believe that
    (work / "four").write_text("four")
    again = worktree.read_work_tree(work, cache)
    assert sorted(read) == [b"four", b"two"]
    monkeypatch.setattr(worktree, "_bytes", bytes_of)
    assert again == worktree.read_work_tree(work)
    assert again.read("one") == b"one"


def test_a_file_that_was_just_written_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writes within one tick of a clock look the same."""
    work, cache = tmp_path / "work", tmp_path / "cache"
    work.mkdir()
    (work / "one").write_text("one")
    monkeypatch.setattr("gitplacer.git.stamps.time.time_ns", lambda: (work / "one").stat().st_ctime_ns + 10**9)
    worktree.read_work_tree(work, cache)
    monkeypatch.setattr("gitplacer.git.stamps._described", lambda found: (0, 0, 0, 0, 0))
    (work / "one").write_text("two")
    assert worktree.read_work_tree(work, cache) == worktree.read_work_tree(work)


def test_the_deployment_tree_is_not_listed_by_a_pass_that_is_spared(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed(fleet, 6)
    listed: list[str] = []
    listing = worktree.Git.run

    def noted(self: worktree.Git, *args: str, **kwargs: object) -> bytes:
        listed.extend(str(self.git_dir) for _ in args[:1] if args[0] == "ls-tree")
        return listing(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(worktree.Git, "run", noted)
    assert isinstance(passed(fleet, 7), Spared)
    assert [Path(place).name for place in listed] == [".git"], "only the source"

"""Proposals, with real git: branches that somebody may merge to let a relocation happen, in all the ways there are to merge them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from gitplacer.cli import reconcile as telling
from gitplacer.git.objects import MissingObject
from gitplacer.git.ourbranches import proposal_branch
from gitplacer.git.program import Git
from gitplacer.git.reading import Repository
from gitplacer.model.decision import Action
from tests.commands import run
from tests.fleetrepos import Fleet, clone_of, made, merge_by_hand
from tests.gitservers import SSHD, git, https_server, ssh_server
from tests.stories import cluster, decisions, policy, rayservice

BRANCH = "gitplacer/proposed/prod/api"
OLD, NEW = "clusters/a/workloads/prod/api/api.yaml", "clusters/b/workloads/prod/api/api.yaml"
MANUAL = policy("anywhere", "select: {}\nrelocation: {when: {ClusterDraining: Manual}}")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """A fleet whose service should leave a, which is draining, and may do so only with consent."""
    fleet = made(tmp_path)
    fleet.commit(MANUAL)
    fleet.reconcile(5)
    fleet.commit(cluster("a", state="Draining"), "drain a")
    fleet.reconcile(10)
    return fleet


def branches(fleet: Fleet) -> list[str]:
    return fleet.git("for-each-ref", "--format=%(refname:short)", "refs/heads/gitplacer/").split()


def tip(fleet: Fleet, branch: str = "main") -> str:
    return fleet.git("rev-parse", branch).strip()


def test_a_move_that_needs_consent_is_a_branch_to_merge(fleet: Fleet) -> None:
    assert branches(fleet) == [BRANCH]
    assert OLD in fleet.files()
    assert tip(fleet, f"{BRANCH}~1") == tip(fleet)
    assert f"R100\t{OLD}\t{NEW}" in fleet.git("show", "-M", "--name-status", "--format=", BRANCH)
    message = fleet.git("log", "-1", "--format=%B", BRANCH)
    assert message.startswith("Relocate prod/api from a to b\n")
    assert "Merging this is consent" in message
    assert "\nGitplacer-Proposed: prod/api" in message


def test_what_is_proposed_already_is_left_alone(fleet: Fleet) -> None:
    before = tip(fleet, BRANCH)
    done = fleet.reconcile(20)
    assert done.tip is None
    assert done.proposed == (BRANCH,)
    assert tip(fleet, BRANCH) == before


def test_to_look_whether_many_proposals_stand_lists_no_more_trees_and_runs_git_no_more_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What they change is asked for: whole trees, one for each, would take the proposals times the fleet."""
    listed: list[str] = []
    tree, ran = Repository.tree, Git.run
    monkeypatch.setattr(Repository, "tree", lambda *asked: (listed.append(asked[1]), tree(*asked))[1])
    monkeypatch.setattr(Git, "run", lambda *asked, **more: (listed.append(asked[1]), ran(*asked, **more))[1])
    proposed, numbers = [], []
    for apps in (1, 5):
        folder = tmp_path / str(apps)
        folder.mkdir()
        fleet = made(folder)
        fleet.commit(MANUAL)
        for number in range(1, apps):
            fleet.commit(rayservice("prod", f"api-{number}"), f"add {number}")
        fleet.reconcile(5)
        fleet.commit(cluster("a", state="Draining"), "drain a")
        proposed.append(len(fleet.reconcile(10).proposed))
        listed.clear()
        assert fleet.reconcile(20).tip is None
        numbers.append(len(listed))
    assert proposed[0] < proposed[1]
    assert numbers[0] == numbers[1]
    monkeypatch.setattr(telling, "_MOST_PROPOSED", 2)
    told = run(capfd, "reconcile", fleet.source, "--deployment", fleet.deployment, "--now", "2026-01-02T03:25:00Z").out
    named = [line for line in told.splitlines() if line.startswith("Proposed ")]
    assert len(named) == 3 and named[0].startswith(f"Proposed   {BRANCH}: Relocate ")
    assert (
        named[-1]
        == f"Proposed   {proposed[1] - 2} more: the deployment repo has a branch below gitplacer/proposed/ for each"
    )


def test_a_proposal_of_which_an_object_is_damaged_is_read_in_full(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*asked: str) -> NoReturn:
        raise MissingObject("there is no such object")

    before = tip(fleet, BRANCH)
    monkeypatch.setattr(Repository, "changed_by", missing)
    assert fleet.reconcile(20).proposed == (BRANCH,)
    assert tip(fleet, BRANCH) == before


def test_a_proposal_follows_the_tip(fleet: Fleet) -> None:
    fleet.commit(rayservice("prod", "other"))
    fleet.reconcile(20)
    assert tip(fleet, f"{BRANCH}~1") == tip(fleet)
    assert "clusters/b/workloads/prod/other/other.yaml" in fleet.files()


def test_what_is_no_longer_proposed_is_no_branch(fleet: Fleet) -> None:
    fleet.commit(cluster("a"), "a is well again")
    done = fleet.reconcile(20)
    assert done.proposed == ()
    assert branches(fleet) == []


def merged(fleet: Fleet, clone: Path) -> None:
    merge_by_hand(clone, BRANCH, at="2026-01-02T03:15:00Z")


def fast_forwarded(fleet: Fleet, clone: Path) -> None:
    git("merge", "-q", "--ff-only", f"origin/{BRANCH}", cwd=clone)


def squashed(fleet: Fleet, clone: Path) -> None:
    git("merge", "-q", "--squash", f"origin/{BRANCH}", cwd=clone)
    git("commit", "-q", "-m", "Move the api (#1)", cwd=clone, at="2026-01-02T03:15:00Z")


def rebased(fleet: Fleet, clone: Path) -> None:
    (clone / "README.md").write_text("hello\n")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "hello", cwd=clone, at="2026-01-02T03:14:00Z")
    git("cherry-pick", f"origin/{BRANCH}", cwd=clone, at="2026-01-02T03:15:00Z")


def rebased_and_the_branch_is_gone(fleet: Fleet, clone: Path) -> None:
    rebased(fleet, clone)
    git("push", "-q", "origin", f":{BRANCH}", cwd=clone)


@pytest.mark.parametrize("way", [merged, fast_forwarded, squashed, rebased, rebased_and_the_branch_is_gone])
def test_merging_a_proposal_is_consent_however_it_is_merged(
    fleet: Fleet, tmp_path: Path, way: Callable[[Fleet, Path], None]
) -> None:
    clone = clone_of(fleet, tmp_path)
    way(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    done = fleet.reconcile(16)
    decision = decisions(done.hydration)["prod/api"]
    assert (decision.action, decision.after) == (Action.KEEP, ("b",))
    assert done.hydration.snapshot.foreign_paths == frozenset()
    assert list(done.hydration.snapshot.merged) == ([] if way is fast_forwarded else ["prod/api"])
    assert NEW in fleet.files()
    assert OLD not in fleet.files()
    assert branches(fleet) == []
    # The clusters have seen it since the merge, not since the proposal.
    since = "03:10:00Z" if way is fast_forwarded else "03:15:00Z"
    assert f'{{name: b, role: Copy, state: Placed, since: "2026-01-02T{since}"' in fleet.git(
        "show", "main:placements/prod/api.yaml"
    )
    assert fleet.reconcile(17).tip is None


def test_a_merge_with_other_changes_to_its_files_is_foreign(fleet: Fleet, tmp_path: Path) -> None:
    clone = clone_of(fleet, tmp_path)
    merged(fleet, clone)
    (clone / NEW).write_text((clone / NEW).read_text() + "# by hand\n")
    git("commit", "-q", "-a", "--amend", "--no-edit", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    decision = decisions(fleet.reconcile(16).hydration)["prod/api"]
    assert (decision.finding.code, decision.blocked_by) == ("ForeignChange", (NEW,))


@pytest.mark.parametrize(("branch_stays", "code"), [(True, "Kept"), (False, "ForeignChange")])
def test_a_commit_that_says_it_was_proposed_and_touches_more_proves_nothing(
    fleet: Fleet, tmp_path: Path, branch_stays: bool, code: str
) -> None:
    """Where our own branch is still there, what is as it proposes counts; the commit itself counts for nothing."""
    fleet.commit(rayservice("prod", "other"))
    fleet.reconcile(12)
    clone = clone_of(fleet, tmp_path)
    git("reset", "-q", "--hard", f"origin/{BRANCH}", cwd=clone)
    (clone / "clusters/b/workloads/prod/other/other.yaml").write_text("kind: Nothing\n")
    git("commit", "-q", "-a", "--amend", "--no-edit", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", *([] if branch_stays else [f":{BRANCH}"]), cwd=clone)
    done = decisions(fleet.reconcile(16).hydration)
    assert done["prod/other"].finding.code == "ForeignChange"
    assert done["prod/api"].finding.code == code


def test_a_merged_proposal_can_be_reverted(fleet: Fleet, tmp_path: Path) -> None:
    clone = clone_of(fleet, tmp_path)
    merged(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    fleet.reconcile(16)
    git("pull", "-q", cwd=clone)
    merge = git("log", "--merges", "-1", "--format=%H", cwd=clone).strip()
    git("revert", "--no-edit", "-m", "1", "-X", "ours", merge, cwd=clone, at="2026-01-02T03:20:00Z")
    # What the pass after the merge wrote into the record is in the way of git; the record from before is what is meant.
    git("checkout", f"{merge}~1", "--", "placements/prod/api.yaml", cwd=clone)
    git("commit", "-q", "-a", "--amend", "--no-edit", cwd=clone, at="2026-01-02T03:20:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    done = fleet.reconcile(21)
    assert done.hydration.snapshot.foreign_paths == frozenset()
    assert done.hydration.snapshot.reverted["prod/api"].left == ("b",)
    assert decisions(done.hydration)["prod/api"].finding.code == "BackingOff"


def test_a_server_that_takes_no_proposals_takes_the_pass(fleet: Fleet) -> None:
    hook = fleet.bare / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/gitplacer/*) echo "no such branches here" >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    before = tip(fleet, BRANCH)
    fleet.commit(rayservice("prod", "other"))
    done = fleet.reconcile(20)
    assert done.tip == tip(fleet)
    assert tip(fleet, BRANCH) == before
    assert "no such branches here" in done.refused


def test_a_tip_that_has_moved_takes_neither_the_pass_nor_its_proposals(fleet: Fleet) -> None:
    from gitplacer.passes.reconcile import ATTEMPTS

    fleet.commit(rayservice("prod", "other"))
    raced: list[str] = []

    def race(message: str) -> None:
        if message.startswith("publishing") and not raced:
            raced.append(tip(fleet))
            empty = fleet.git("commit-tree", "-p", raced[0], "-m", "first", f"{raced[0]}^{{tree}}").strip()
            fleet.git("update-ref", "refs/heads/main", empty)

    done = fleet.reconcile(20, progress=race)
    assert ATTEMPTS > done.attempts == 2
    assert tip(fleet, f"{BRANCH}~1") == tip(fleet) == done.tip


@pytest.mark.parametrize(
    ("group", "branch"),
    [
        ("prod/api", "gitplacer/proposed/prod/api"),
        ("prod/a.b-c_d", "gitplacer/proposed/prod/a.b-c_d"),
        ("prod/a..b", "gitplacer/proposed/prod/a--b-7f24d14c"),
        ("prod/a.lock", "gitplacer/proposed/prod/a-lock-"),
    ],
)
def test_every_group_has_a_branch_that_git_allows(group: str, branch: str, tmp_path: Path) -> None:
    found = proposal_branch(group)
    assert found.startswith(branch[: len("gitplacer/proposed/prod/a")])
    git("check-ref-format", f"refs/heads/{found}", cwd=tmp_path)
    assert (found == branch) is (".." not in group and ".lock" not in group)


@pytest.mark.server
@pytest.mark.parametrize(
    "kind", ["https", pytest.param("ssh", marks=pytest.mark.skipif(SSHD is None, reason="no sshd"))]
)
def test_proposals_come_and_go_over_the_network(
    fleet: Fleet, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server").mkdir()
    opened = (
        https_server(fleet.bare.parent, tmp_path / "server") if kind == "https" else ssh_server(tmp_path / "server")
    )
    with opened as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        fleet.deployment = f"{url}/{fleet.bare.name}" if kind == "https" else f"{url}{fleet.bare}"
        fleet.commit(rayservice("prod", "other"))
        fleet.reconcile(20)
        assert tip(fleet, f"{BRANCH}~1") == tip(fleet)
        clone = clone_of(fleet, tmp_path)
        squashed(fleet, clone)
        git("push", "-q", "origin", "HEAD:main", cwd=clone)
        assert list(fleet.reconcile(21).hydration.snapshot.merged) == ["prod/api"]
        assert branches(fleet) == []

"""Whole passes through real git: commits that land, races that are lost and run again, inputs that stay provable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitplacer.git.program import GitError
from gitplacer.parsecache import ParseCache
from gitplacer.passes.reconcile import Landing, Outcome, one_pass
from gitplacer.problems import Rejected
from gitplacer.settings import UsageError
from gitplacer.treeids import tree_id
from tests.commands import run
from tests.fleetrepos import START, Fleet, made, silently
from tests.gitservers import SSHD, git, https_server, ssh_server
from tests.stories import FLEET, cluster, policy, rayjob, rayservice


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return made(tmp_path)


def test_a_pass_lands_as_a_commit_whose_trailers_name_every_input(fleet: Fleet) -> None:
    done = fleet.reconcile()
    assert done.tip == fleet.git("rev-parse", "main").strip()
    trailers = dict(
        line.split(": ", 1) for line in fleet.git("log", "-1", "--format=%(trailers:only)", "main").splitlines() if line
    )
    assert trailers["Gitplacer-Source"] == git("rev-parse", "HEAD", cwd=fleet.source).strip()
    assert trailers["Gitplacer-Capacity"] == fleet.git("rev-parse", "gitplacer-inputs^{tree}").strip()
    assert trailers["Gitplacer-Capacity"] == git("rev-parse", "HEAD:capacity", cwd=fleet.source).strip()
    assert (trailers["Gitplacer-Step"], trailers["Gitplacer-Now"]) == ("1/1", "2026-01-02T03:05:00Z")
    assert fleet.git("rev-parse", "main^{tree}").strip() == tree_id(done.hydration.tree)
    assert "clusters/a/workloads/prod/api/api.yaml" in fleet.files()


def test_no_change_is_no_commit(fleet: Fleet) -> None:
    first = fleet.reconcile()
    again = fleet.reconcile(30)
    assert again.tip is None
    assert fleet.git("rev-parse", "main").strip() == first.tip


def test_what_is_told_is_where_it_went_whatever_the_revision_says(
    fleet: Fleet, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where to publish is what the default branch says; a revision under review may say otherwise and is not asked."""
    git("checkout", "-q", "-b", "review", cwd=fleet.source)
    fleet.commit({"fleet.yaml": FLEET.replace("{}", "{deployment: {branch: elsewhere}}")})
    git("checkout", "-q", "main", cwd=fleet.source)
    done = run(
        capfd, "reconcile", fleet.source, "--rev", "review", "--deployment", fleet.bare, "--now", "2026-01-02T03:05:00Z"
    )
    tip = fleet.git("rev-parse", "main").strip()
    assert done.out.splitlines()[0] == f"Published  {tip} to {fleet.bare}, branch main"
    assert fleet.git("for-each-ref", "refs/heads/elsewhere") == ""


def test_a_relocation_is_a_rename_that_git_follows(fleet: Fleet) -> None:
    fleet.reconcile()
    fleet.commit(cluster("a", state="Draining") | rayservice("prod", "new"))
    fleet.reconcile(6)
    subjects = fleet.git("log", "--reverse", "--format=%s", "main").splitlines()
    assert subjects == ["Place prod/api", "Relocate prod/api from a to b", "Place prod/new"]
    moved = "clusters/b/workloads/prod/api/api.yaml"
    assert f"R100\tclusters/a/workloads/prod/api/api.yaml\t{moved}" in fleet.git(
        "show", "-M", "--name-status", "--format=", "main~1"
    )
    assert len(fleet.git("log", "--follow", "--format=%h", "main", "--", moved).splitlines()) == 2


def test_foreign_files_survive_and_a_foreign_change_holds_until_it_is_undone(fleet: Fleet, tmp_path: Path) -> None:
    fleet.reconcile()
    clone = tmp_path / "clone"
    git("clone", "-q", str(fleet.bare), str(clone), cwd=tmp_path)
    path = "clusters/a/workloads/prod/api/api.yaml"
    (clone / "README.md").write_text("ours\n")
    (clone / "clusters/a/workloads/prod/api/notes.txt").write_text("kept\n")
    before = (clone / path).read_text()
    (clone / path).write_text(before + "# by hand\n")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "by hand", cwd=clone)
    git("push", "-q", cwd=clone)
    fleet.commit(rayservice("prod", "api", workers=2))
    for minute, name in ((6, "x1"), (7, "x2")):  # our own commits on top do not make us forget
        fleet.commit(rayservice("prod", name))
        done = fleet.reconcile(minute)
        held = {d.group: d.finding.code for d in done.hydration.view.plan.decisions}
        assert held["prod/api"] == "ForeignChange"
    assert fleet.git("show", f"main:{path}").endswith("# by hand")
    git("pull", "-q", "--ff-only", cwd=clone)
    (clone / path).write_text(before)
    git("commit", "-q", "-am", "undo", cwd=clone)
    git("push", "-q", cwd=clone)
    fleet.reconcile(8)
    assert "replicas: 2" in fleet.git("show", f"main:{path}")
    assert {"README.md", "clusters/a/workloads/prod/api/notes.txt"} <= set(fleet.files())


def _race(mine: Fleet, theirs: Fleet) -> Outcome:
    """A pass of `mine` between whose reading and pushing a pass of `theirs` lands."""
    races: list[str] = []

    def interfere(message: str) -> None:
        if message.startswith("publishing") and not races:
            races.append(message)
            theirs.reconcile(6)

    return mine.reconcile(7, interfere)


def test_of_two_writers_one_wins_and_the_other_computes_again(tmp_path: Path) -> None:
    mine, theirs = made(tmp_path, "mine"), made(tmp_path, "theirs")
    mine.reconcile()
    mine.commit(rayservice("prod", "api") | rayservice("prod", "mine"))
    theirs.commit(cluster("a", state="Cordoned"))
    theirs.commit(rayservice("prod", "theirs"))
    done = _race(mine, theirs)
    assert done.attempts == 2
    assert fleet_is_linear(mine)
    # The second writer's source lacks what only the first one's has: it says so by removing it, on the tip it lost to.
    assert mine.git("log", "--format=%s", "main").splitlines()[1:] == ["Place prod/theirs", "Place prod/api"]
    assert "clusters/a/workloads/prod/mine/mine.yaml" in mine.files()
    assert mine.reconcile(8).tip is None


def test_passes_of_one_process_each_say_how_they_ended(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As a loop runs them: one memory of files for all, and nothing else that goes from one to the next."""
    mine, theirs = made(tmp_path, "mine"), made(tmp_path, "theirs")
    memo = ParseCache(mine.settings(5).cache_dir)

    def ended(minute: int, progress: Callable[[str], None] = silently) -> tuple[Landing, bool]:
        done = one_pass(mine.settings(minute), memo, progress=progress)
        return done.landing, done.tip == mine.git("rev-parse", "main").strip()

    def interfere(message: str) -> None:
        if message.startswith("publishing"):
            theirs.reconcile(7)

    assert ended(5) == (Landing.PUBLISHED, True)
    assert ended(6) == (Landing.UNCHANGED, False)
    theirs.commit(rayservice("prod", "theirs"))
    mine.commit(rayservice("prod", "mine"))
    assert ended(7, interfere) == (Landing.OVERTAKEN, False)
    assert mine.git("log", "-1", "--format=%s", "main").strip() == "Place prod/theirs"
    assert ended(8) == (Landing.PUBLISHED, True)
    assert "clusters/a/workloads/prod/mine/mine.yaml" in mine.files()
    (mine.source / "fleet.yaml").unlink()
    git("commit", "-q", "-am", "no fleet", cwd=mine.source)
    with pytest.raises(Rejected):
        one_pass(mine.settings(9), memo, progress=silently)
    mine.commit({"fleet.yaml": FLEET} | policy("anywhere", "select: {}\nrelocation: {when: {ClusterDraining: Manual}}"))
    mine.commit(cluster("a", state="Draining"))
    assert ended(10) == (Landing.PROPOSED, False)
    assert ended(11) == (Landing.UNCHANGED, False)
    assert capfd.readouterr() == ("", "")


def fleet_is_linear(fleet: Fleet) -> bool:
    return all(len(line.split()) <= 2 for line in fleet.git("log", "--format=%h %p", "main").splitlines())


@pytest.mark.server
@pytest.mark.parametrize("protocol", ["https", "ssh"])
def test_two_writers_race_over_a_real_transport(protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if protocol == "ssh" and not SSHD:
        pytest.skip("sshd is not installed (Debian: openssh-server)")
    mine, theirs = made(tmp_path, "mine"), made(tmp_path, "theirs")
    server = https_server(tmp_path / "served", tmp_path) if protocol == "https" else ssh_server(tmp_path)
    with server as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        address = f"{url}/deployment.git" if protocol == "https" else f"{url}{mine.bare}"
        mine.deployment = theirs.deployment = address
        mine.reconcile()
        mine.commit(rayservice("prod", "mine"))
        theirs.commit(rayservice("prod", "theirs"))
        done = _race(mine, theirs)
        assert done.attempts == 2
        assert mine.reconcile(8).tip is None
    assert fleet_is_linear(mine)


@pytest.fixture
def everything(fleet: Fleet) -> Iterator[Fleet]:
    """A fleet with something of each kind, for determinism."""
    fleet.commit(
        rayjob("jobs", "train")
        | rayservice("prod", "other", labels="{app: x}")
        | policy(
            "jobs",
            "select: {kinds: [RayJob]}\nprecedence: 1\nplacement: {type: Ordered, order: [{names: [b]}, {names: [a]}]}",
        )
    )
    yield fleet


def test_the_same_bytes_under_any_hash_seed_and_locale(everything: Fleet, tmp_path: Path) -> None:
    code = (
        "import sys; from gitplacer.cli import main; "
        "sys.exit(main(['reconcile', '--deployment', sys.argv[2], '--now', '2026-01-02T03:05:00Z', sys.argv[1]]))"
    )
    tips = set()
    for number, (seed, locale) in enumerate((("0", "C"), ("1", "C.UTF-8"), ("31337", "tr_TR.UTF-8"))):
        bare = tmp_path / f"out-{number}.git"
        git("init", "-q", "--bare", "-b", "main", str(bare), cwd=tmp_path)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "GITPLACER_CACHE": str(tmp_path / seed)}
        subprocess.run(
            [sys.executable, "-c", code, str(everything.source), str(bare)],
            check=True,
            env=environment,
            capture_output=True,
        )
        tips.add(git("rev-parse", "main", "gitplacer-inputs", cwd=bare))
    assert len(tips) == 1


def test_a_revision_is_read_and_the_work_tree_is_not(fleet: Fleet) -> None:
    (fleet.source / "workloads/prod/api.yaml").write_text("{{ broken")
    done = fleet.reconcile()
    assert done.hydration.problems == ()


def test_a_directory_of_a_repo_is_a_source(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.commit({f"teams/one/{path}": text for path, text in START.items()}, remove=tuple(START))
    fleet.source = fleet.source / "teams/one"
    assert fleet.reconcile().tip is not None
    assert "clusters/a/workloads/prod/api/api.yaml" in fleet.files()


def test_a_deployment_repo_that_is_the_source_is_refused(fleet: Fleet) -> None:
    fleet.deployment = str(fleet.source)
    with pytest.raises(UsageError, match="are both"):
        fleet.reconcile()


@pytest.mark.parametrize("ahead", ["nobody", "the source", "the deployment repo"])
def test_a_clone_of_the_source_is_no_deployment_repo(fleet: Fleet, tmp_path: Path, ahead: str) -> None:
    """As where the source is read from a clone, and its own address is given for the deployment repo's."""
    git("clone", "-q", "--bare", str(fleet.source), "origin.git", cwd=tmp_path)
    origin = tmp_path / "origin.git"
    if ahead == "the source":
        fleet.commit({"workloads/prod/api.yaml": START["workloads/prod/api.yaml"] + "# edited\n"})
    elif ahead == "the deployment repo":
        git(
            "update-ref",
            "refs/heads/main",
            git("commit-tree", "main^{tree}", "-p", "main", "-m", "x", cwd=origin),
            cwd=origin,
        )
    tip = git("rev-parse", "main", cwd=origin)
    fleet.deployment = str(origin)
    with pytest.raises(UsageError, match=r"branch main of .*origin.git is the source, and clusters/"):
        fleet.reconcile()
    assert git("rev-parse", "main", cwd=origin) == tip


def test_a_deployment_repo_that_began_as_a_clone_of_the_source_is_none_once_it_holds_no_fleet(
    fleet: Fleet, tmp_path: Path
) -> None:
    git("clone", "-q", "--bare", str(fleet.source), "cleared.git", cwd=tmp_path)
    cleared = tmp_path / "cleared.git"
    empty = git("mktree", cwd=cleared)
    git("update-ref", "refs/heads/main", git("commit-tree", empty, "-p", "main", "-m", "x", cwd=cleared), cwd=cleared)
    fleet.deployment = str(cleared)
    assert fleet.reconcile().tip is not None


def test_without_a_deployment_repo_nothing_is_guessed(fleet: Fleet) -> None:
    fleet.deployment = ""
    with pytest.raises(UsageError, match="nobody said where the deployment repo is"):
        fleet.reconcile()


def test_a_missing_deployment_repo_is_an_error_that_names_it(fleet: Fleet, tmp_path: Path) -> None:
    fleet.deployment = str(tmp_path / "nowhere")
    with pytest.raises(GitError, match="nowhere"):
        fleet.reconcile()

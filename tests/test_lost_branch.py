"""What those say who only look, where the deployment branch is gone that passes were published to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import NOW, git, make_bare, make_repo, run, starter

YET = "has no branch main yet, so nothing is placed yet"
GONE = "has no branch main, so nothing counts as placed; but it has gitplacer-inputs, where passes were published: if they were this fleet's"


@pytest.fixture
def fleet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    """A small fleet that is placed, in a repo of which somebody renamed the branch."""
    repo, bare = make_repo(tmp_path / "fleet", starter()), make_bare(tmp_path / "deployment.git")
    assert run(capfd, "reconcile", repo, "--deployment", bare, "--now", NOW).code == 0
    git(bare, "branch", "-m", "main", "older")
    return repo


@pytest.mark.parametrize("asked", [["plan"], ["status"], ["explain", "hello/hello"], ["report", "-o", "-"]])
@pytest.mark.parametrize("rev", [[], ["--rev", "HEAD"]])
def test_that_nothing_is_placed_yet_is_not_said_where_passes_were(
    fleet: Path, capfd: pytest.CaptureFixture[str], asked: list[str], rev: list[str]
) -> None:
    ran = run(capfd, *asked, fleet, "--deployment", fleet.parent / "deployment.git", "--now", NOW, *rev)
    assert ran.code == 0
    assert GONE in ran.err and YET not in ran.err
    assert (
        "error[DeploymentLost]" in run(capfd, "reconcile", fleet, "--deployment", fleet.parent / "deployment.git").err
    )


def test_where_no_pass_was_or_that_of_another_fleet_nothing_is_placed_yet(
    fleet: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = make_repo(tmp_path / "other", {**starter(), "README.md": b"Another fleet.\n"})
    for repo, bare in ((fleet, make_bare(tmp_path / "new.git")), (other, fleet.parent / "deployment.git")):
        ran = run(capfd, "plan", repo, "--rev", "HEAD", "--deployment", bare, "--now", NOW)
        assert YET in ran.err and GONE not in ran.err

"""
The contract of Argo CD's hydrator, so that a promoter can sit on top: metadata, notes, and a branch that is proposed.

A promoter is played by git: it reads `hydrator.metadata` and notes, and merges `<branch>-next` into `<branch>`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitplacer.codecommits import referred
from gitplacer.git.notes import HYDRATOR_NOTES
from gitplacer.hydrate import SourceCommit
from gitplacer.madefrom import hydrator_metadata
from tests.commands import NOW, Ran, commit, git, make_bare, make_repo, run, starter

Capture = pytest.CaptureFixture[str]

SPEC = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec:\n  deployment: %s\n"
TRAILERS = """\
Argocd-reference-commit-author: Ann Other <ann@example.com>
Argocd-reference-commit-sha: 0123abcd
Argocd-reference-commit-subject: fix: the loss
Argocd-reference-commit-body: "It was wrong.\\n\\nSigned-off-by: Ann"
Argocd-reference-commit-repourl: https://example.com/app.git
Argocd-reference-commit-date: 2026-01-02T03:04:05+01:00"""
REFERENCE = {
    "author": "Ann Other <ann@example.com>",
    "body": "It was wrong.\n\nSigned-off-by: Ann",
    "date": "2026-01-02T03:04:05+01:00",
    "repoURL": "https://example.com/app.git",
    "sha": "0123abcd",
    "subject": "fix: the loss",
}


# metadata


def test_metadata_has_every_field_and_the_commit_that_it_refers_to() -> None:
    body = f"More about it.\n\nSigned-off-by: B <b@example.com>\n{TRAILERS}\n"
    source = SourceCommit(
        id="a" * 40, author="B <b@example.com>", date="2026-01-02T03:04:05+00:00", subject="Bump", body=body,
        repo_url="https://example.com/fleet.git",
    )  # fmt: skip
    assert json.loads(hydrator_metadata(source)) == {
        "author": "B <b@example.com>",
        "body": "More about it.\n\nSigned-off-by: B <b@example.com>",
        "date": "2026-01-02T03:04:05+00:00",
        "drySha": "a" * 40,
        "references": [{"commit": REFERENCE}],
        "repoURL": "https://example.com/fleet.git",
        "subject": "Bump",
    }


@pytest.mark.parametrize(
    ("trailer", "kept"),
    [
        ("sha: 0123", True),
        ("sha: nothex0", True),
        ("sha: " + "a" * 41, True),
        ("sha: 01234", False),
        ("author: nobody", True),
        ("author: ann@example.com", True),
        ("body: It was wrong.", True),
        ('body: ["a"]', True),
        ("date: yesterday", True),
        ("date: 2026-01-02T03:04:05Z", False),
        ("repourl: javascript:alert(1)", True),
        ("repourl: https://me:secret@example.com/x", True),
        ("repourl: https://example.com/x y", True),
        ("repourl: ssh://git@example.com/x", False),
        ("colour: red", True),
        ("subject:", True),
        ("subject: " + "x" * 5000, True),
    ],
)
def test_a_trailer_that_is_not_what_it_should_be_stays_a_line(trailer: str, kept: bool) -> None:
    line = f"Argocd-reference-commit-{trailer}"
    body, found = referred(f"Why.\n\n{line}\nSigned-off-by: B")
    assert (body, bool(found)) == (
        (f"Why.\n\n{line}\nSigned-off-by: B", False) if kept else ("Why.\n\nSigned-off-by: B", True)
    )


def test_only_the_last_paragraph_has_trailers_and_the_last_of_two_counts() -> None:
    assert referred(f"{TRAILERS}\n\nAnd this.") == (f"{TRAILERS}\n\nAnd this.", {})
    twice = "Argocd-reference-commit-sha: 11111\nargocd-reference-commit-SHA: 22222"
    assert referred(twice) == ("", {"sha": "22222"})
    assert referred("") == ("", {})


# a fleet that is promoted


class Fleet:
    """A fleet repo and a bare deployment repo."""

    def __init__(self, capfd: Capture, folder: Path, deployment: str) -> None:
        self.capfd = capfd
        self.repo = make_repo(folder / "fleet", {**starter(), "fleet.yaml": SPEC % deployment})
        self.bare = make_bare(folder / "deployment.git")
        self.clone = folder / "clone"

    def reconcile(self, *more: str) -> Ran:
        return run(self.capfd, "reconcile", self.repo, "--deployment", self.bare, "--now", NOW, *more)

    def tip(self, branch: str) -> str:
        return git(self.bare, "rev-parse", branch).strip()

    def note(self, branch: str) -> str:
        return git(self.bare, "notes", f"--ref={HYDRATOR_NOTES}", "show", branch).strip()

    def source(self) -> str:
        return git(self.repo, "rev-parse", "HEAD").strip()

    def say(self, what: str, where: str = "README.md") -> None:
        (self.repo / where).write_text(what)
        commit(self.repo, f"Say {what}")

    def drain(self) -> None:
        """A second cluster, and a drain of the first."""
        for kind in ("clusters", "capacity"):
            text = (self.repo / kind / "my-cluster.yaml").read_text()
            (self.repo / kind / "other.yaml").write_text(text.replace("my-cluster", "other"))
        place = self.repo / "clusters/my-cluster.yaml"
        place.write_text(place.read_text().replace("state: Active", "state: Draining"))
        commit(self.repo, "Drain")

    def promote(self) -> None:
        """What a promoter does: a pull request from the proposed branch is merged, with a merge commit."""
        if not self.clone.exists():
            git(self.bare.parent, "clone", "-q", str(self.bare), str(self.clone))
        git(self.clone, "fetch", "-q", "origin")
        if "origin/main" in git(self.clone, "branch", "-r").split():
            git(self.clone, "checkout", "-q", "-B", "main", "origin/main")
            git(self.clone, "merge", "-q", "--no-ff", "--no-edit", "origin/main-next")
        else:
            git(self.clone, "checkout", "-q", "-B", "main", "origin/main-next")
        git(self.clone, "push", "-q", "origin", "main")


def test_notes_name_the_source_of_the_tip_also_where_nothing_came_of_it(capfd: Capture, tmp_path: Path) -> None:
    fleet = Fleet(capfd, tmp_path, "{hydrator: {notes: true}}")
    assert fleet.reconcile().code == 0
    assert json.loads(fleet.note("main")) == {"drySha": fleet.source()}
    tip, first = fleet.tip("main"), fleet.tip(HYDRATOR_NOTES)
    assert fleet.reconcile().out.startswith("Unchanged")
    assert fleet.tip(HYDRATOR_NOTES) == first
    fleet.say("something else")
    assert fleet.reconcile().out.startswith("Unchanged")
    assert fleet.tip("main") == tip
    assert json.loads(fleet.note("main")) == {"drySha": fleet.source()}


def test_there_are_no_notes_unless_somebody_asks(capfd: Capture, tmp_path: Path) -> None:
    fleet = Fleet(capfd, tmp_path, "{}")
    fleet.reconcile()
    assert git(fleet.bare, "for-each-ref", "refs/notes") == ""


def test_notes_of_others_stay_and_a_note_that_is_refused_harms_nothing(capfd: Capture, tmp_path: Path) -> None:
    fleet = Fleet(capfd, tmp_path, "{hydrator: {notes: true}}")
    fleet.reconcile()
    first = fleet.tip("main")
    git(fleet.bare, "notes", f"--ref={HYDRATOR_NOTES}", "add", "-f", "-m", '{"drySha": "theirs"}', "main^{tree}")
    hook = fleet.bare / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/notes/*) echo no notes here >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    fleet.drain()
    ran = fleet.reconcile()
    assert (ran.code, ran.out.startswith("Published")) == (0, True)
    assert "promoters find no note on the tip" in ran.err
    hook.unlink()
    assert fleet.reconcile().out.startswith("Unchanged")
    assert json.loads(fleet.note("main")) == {"drySha": fleet.source()}
    assert json.loads(fleet.note(first))["drySha"] != fleet.source()
    assert json.loads(fleet.note(f"{first}^{{tree}}")) == {"drySha": "theirs"}


def test_a_proposed_branch_is_written_and_the_active_one_is_left_to_the_promoter(
    capfd: Capture, tmp_path: Path
) -> None:
    fleet = Fleet(capfd, tmp_path, "{proposed: true, hydrator: {notes: true}}")
    ran = fleet.reconcile()
    assert ran.out.startswith("Published") and "branch main-next" in ran.out
    assert git(fleet.bare, "branch", "--list", "main") == ""
    assert json.loads(git(fleet.bare, "show", "main-next:hydrator.metadata"))["drySha"] == fleet.source()
    assert fleet.reconcile().out.startswith("Unchanged")
    fleet.promote()
    assert fleet.reconcile().out.startswith("Unchanged")

    fleet.drain()
    fleet.reconcile()
    assert "other/workloads/hello" not in git(fleet.bare, "ls-tree", "-r", "--name-only", "main")
    assert "other/workloads/hello" in git(fleet.bare, "ls-tree", "-r", "--name-only", "main-next")
    assert fleet.reconcile().out.startswith("Unchanged")  # what was decided is the base, merged or not
    fleet.promote()
    assert fleet.tip("main") != fleet.tip("main-next")
    assert fleet.tip("main^{tree}") == fleet.tip("main-next^{tree}")
    assert fleet.reconcile().out.startswith("Unchanged")
    assert json.loads(fleet.note("main-next")) == {"drySha": fleet.source()}
    verified = run(capfd, "verify", fleet.repo, "--deployment", fleet.bare, "--all")
    assert verified.code == 0, verified.out


def test_a_promoter_and_a_pull_request_of_ours_are_not_both(capfd: Capture, tmp_path: Path) -> None:
    fleet = Fleet(capfd, tmp_path, "{proposed: true}")
    fleet.reconcile()
    ran = fleet.reconcile("--pull-request")
    assert (ran.code, ran.out) == (1, "")
    assert "a promoter merges main-next" in ran.err and "leave out --pull-request" in ran.err


def test_a_merge_of_the_active_branch_into_the_proposed_one_changes_nothing(capfd: Capture, tmp_path: Path) -> None:
    """A promoter that finds a conflict makes one, and keeps the proposed side."""
    fleet = Fleet(capfd, tmp_path, "{proposed: true}")
    fleet.reconcile()
    fleet.promote()
    fleet.drain()
    fleet.reconcile()
    (fleet.clone / "placements/hello/hello.yaml").write_text("by hand\n")
    commit(fleet.clone, "By hand")
    git(fleet.clone, "push", "-q", "origin", "main")
    git(fleet.clone, "fetch", "-q", "origin")
    git(fleet.clone, "checkout", "-q", "-B", "main-next", "origin/main-next")
    git(fleet.clone, "merge", "-q", "-s", "ours", "--no-ff", "--no-edit", "main")
    git(fleet.clone, "push", "-q", "origin", "main-next")
    ran = fleet.reconcile()
    assert ran.out.startswith("Unchanged") and "held" not in ran.err
    fleet.promote()
    assert fleet.tip("main^{tree}") == fleet.tip("main-next^{tree}")


def test_a_proposed_branch_begins_where_the_active_one_stands(capfd: Capture, tmp_path: Path) -> None:
    fleet = Fleet(capfd, tmp_path, "{}")
    fleet.reconcile()
    active = fleet.tip("main")
    fleet.say(SPEC % "{proposed: true}", "fleet.yaml")
    planned = run(capfd, "plan", fleet.repo, "--deployment", fleet.bare, "--now", NOW)
    assert "1 kept" in planned.out
    assert fleet.reconcile().out.startswith("Unchanged")
    assert git(fleet.bare, "branch", "--list", "main-next") == ""
    fleet.drain()
    assert "branch main-next" in fleet.reconcile().out
    assert fleet.tip("main") == active
    assert git(fleet.bare, "merge-base", "main", "main-next").strip() == active


def test_what_is_proposed_lands_only_on_what_it_was_computed_from(capfd: Capture, tmp_path: Path) -> None:
    """Somebody else has begun the branch between our reading it and our push."""
    fleet = Fleet(capfd, tmp_path, "{proposed: true}")
    hook = fleet.bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    empty = git(fleet.bare, "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    other = git(fleet.bare, "commit-tree", "-m", "Theirs", empty).strip()
    hook.write_text(f"#!/bin/sh\n[ -e begun ] || {{ touch begun; echo {other} > refs/heads/main-next; }}\n")
    hook.chmod(0o755)
    ran = fleet.reconcile()
    assert ran.code == 0 and "computed anew (2 attempts)" in ran.err
    assert git(fleet.bare, "merge-base", "main-next", other).strip() == other

"""Whether a work tree holds what its commit has, told by git's index: never yes where a file differs, and nothing is run to find out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitplacer.git import worktree
from gitplacer.git.worktree import lies_as_committed
from tests.gitservers import git


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work tree with one commit, whose index was written after its files."""
    folder = tmp_path / "work"
    git("init", "-q", "-b", "main", str(folder), cwd=tmp_path)
    for name in ("a.yaml", "fleet/b.yaml", "fleet/c d.yaml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"name: {name}\n")
    (folder / ".gitignore").write_text("*.tmp\n")
    (folder / "link").symlink_to("a.yaml")
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    return folder


def staged(work: Path) -> None:
    (work / "fleet/b.yaml").write_text("name: staged\n")
    git("add", ".", cwd=work)


def staged_and_put_back(work: Path) -> None:
    """In the file stands what is committed, in the index something else."""
    staged(work)
    (work / "fleet/b.yaml").write_text("name: fleet/b.yaml\n")


def same_size_and_time(work: Path) -> None:
    """As an editor leaves it that is quick, or hides what it did."""
    file = work / "fleet/b.yaml"
    before = file.stat()
    file.write_text("name: fleet/B.yaml\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda work: (work / "fleet/b.yaml").write_text("name: other\n"),
    "another of the same size and time": same_size_and_time,
    "removed": lambda work: (work / "fleet/b.yaml").unlink(),
    "added": lambda work: (work / "fleet/new.yaml").write_text("x"),
    "added to the index": staged,
    "in the index alone": staged_and_put_back,
    "made executable": lambda work: (work / "fleet/b.yaml").chmod(0o755),
    "a link instead": lambda work: ((work / "fleet/b.yaml").unlink(), (work / "fleet/b.yaml").symlink_to("c d.yaml")),
    "a folder instead": lambda work: ((work / "fleet/b.yaml").unlink(), (work / "fleet/b.yaml").mkdir()),
    "a commit taken back": lambda work: (
        staged(work), git("commit", "-q", "-m", "second", cwd=work), git("reset", "-q", "--soft", "HEAD~", cwd=work)
    ),
}  # fmt: skip


def test_what_was_left_alone_lies_as_committed(work: Path) -> None:
    assert lies_as_committed(work)
    assert lies_as_committed(work / "fleet")
    (work / "scratch.tmp").write_text("ignored")
    assert lies_as_committed(work)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_change_is_overlooked(work: Path, change: Callable[[Path], object]) -> None:
    change(work)
    assert not lies_as_committed(work)
    assert not lies_as_committed(work / "fleet")


def test_what_is_beside_the_folder_does_not_matter(work: Path) -> None:
    (work / "a.yaml").write_text("name: other\n")
    (work / "new.yaml").write_text("x")
    assert not lies_as_committed(work)
    assert lies_as_committed(work / "fleet")


def test_no_file_is_read_to_know_it(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*args: object) -> None:
        raise AssertionError("a file is read")

    monkeypatch.setattr(worktree, "_entry", read)
    assert lies_as_committed(work)


def test_line_ends_that_git_has_written_are_no_change(work: Path) -> None:
    (work / ".gitattributes").write_text("*.yaml text eol=crlf\n")
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "line ends", cwd=work)
    (work / "a.yaml").unlink()
    git("checkout", "-q", "--", "a.yaml", cwd=work)
    assert (work / "a.yaml").read_bytes() == b"name: a.yaml\r\n"
    assert lies_as_committed(work)


def test_where_a_filter_is_set_up_nobody_is_asked(work: Path, tmp_path: Path) -> None:
    """Git would run it on a file that was written in the moment when its index was."""
    witness = tmp_path / "witness"
    (work / ".gitattributes").write_text("* filter=evil\n")
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "filtered", cwd=work)
    git("config", "filter.evil.clean", f"touch '{witness}'; cat", cwd=work)
    index = (work / ".git/index").stat()
    for file in (work / "a.yaml", work / ".git/index"):
        os.utime(file, ns=(index.st_mtime_ns, index.st_mtime_ns))
    assert not lies_as_committed(work)
    assert not witness.exists()
    git("diff-files", "--name-only", cwd=work)
    assert witness.exists(), "it would not have been run in any case"


def test_where_there_is_no_commit_or_no_git_nobody_knows(work: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert not lies_as_committed(tmp_path / "plain")
    git("init", "-q", "new", cwd=tmp_path)
    assert not lies_as_committed(tmp_path / "new")
    (work / ".git/index").write_bytes(b"rubbish")
    assert not lies_as_committed(work)

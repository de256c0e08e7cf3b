"""A fleet in two repos of real git, for tests of what is read from one and published to the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitplacer.passes.reconcile import Outcome, reconcile
from gitplacer.settings import Settings, settings
from tests.gitservers import git
from tests.stories import ANYWHERE, FLEET, cluster, rayservice, snapshot

ROOM = {f"capacity/{path}": text for name in ("a", "b") for path, text in snapshot(name, "n1 32 128Gi 4").items()}
START = {"fleet.yaml": FLEET, **cluster("a"), **cluster("b"), **ANYWHERE, **ROOM, **rayservice("prod", "api")}


def silently(message: str) -> None:
    """Tells nobody how far a pass has come."""


@dataclass
class Fleet:
    """A source repo with a work tree, where its deployment repo is, and what else is said of how to write there."""

    source: Path
    deployment: str
    bare: Path
    how: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, str], message: str = "edit", *, remove: tuple[str, ...] = ()) -> None:
        for path, text in files.items():
            (self.source / path).parent.mkdir(parents=True, exist_ok=True)
            (self.source / path).write_text(text)
        for path in remove:
            (self.source / path).unlink()
        git("add", "--all", cwd=self.source)
        git("commit", "-q", "-m", message, cwd=self.source)

    def settings(self, minute: int) -> Settings:
        now = f"2026-01-02T03:{minute:02}:00Z"
        return settings(str(self.source), deployment=self.deployment, now=now, **self.how)

    def reconcile(self, minute: int = 5, progress: Callable[[str], None] = silently) -> Outcome:
        return reconcile(self.settings(minute), progress=progress)

    def git(self, *args: str) -> str:
        return git(*args, cwd=self.bare)

    def files(self) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", "main").splitlines()


def made(tmp_path: Path, name: str = "source") -> Fleet:
    """A fleet of two clusters and one app, committed; its deployment repo, which several may share, is empty."""
    source, bare = tmp_path / name, tmp_path / "served" / "deployment.git"
    source.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=source)
    if not bare.exists():
        bare.parent.mkdir(exist_ok=True)
        git("init", "-q", "--bare", "-b", "main", str(bare), cwd=tmp_path)
        git("config", "http.receivepack", "true", cwd=bare)
    fleet = Fleet(source, str(bare), bare)
    fleet.commit(START, "start")
    return fleet


def clone_of(fleet: Fleet, tmp_path: Path) -> Path:
    """A clone of the deployment repo, as somebody has it who works in it by hand."""
    git("clone", "-q", str(fleet.bare), str(tmp_path / "clone"), cwd=tmp_path)
    return tmp_path / "clone"


def copied(fleet: Fleet, folder: Path) -> Fleet:
    """The same fleet in another folder."""
    shutil.copytree(fleet.source, folder / "source")
    shutil.copytree(fleet.bare, folder / "served" / fleet.bare.name)
    bare = folder / "served" / fleet.bare.name
    return Fleet(folder / "source", str(bare), bare)


def edit_by_hand(clone: Path, path: str, line: str = "# by hand", at: str | None = None) -> None:
    """Commit one more line of a file in a clone of the deployment repo."""
    (clone / path).write_text((clone / path).read_text() + f"{line}\n")
    git("commit", "-q", "-a", "-m", "by hand", cwd=clone, at=at)


def merge_by_hand(clone: Path, branch: str, at: str) -> None:
    """Merge a branch of the deployment repo in a clone as a host does that makes a merge commit."""
    git("merge", "-q", "--no-ff", "-m", "Merge pull request #1", f"origin/{branch}", cwd=clone, at=at)


_BEGUN: dict[Callable[[Path], Fleet], Fleet] = {}


def begun(make: Callable[[Path], Fleet], factory: pytest.TempPathFactory, folder: Path) -> Fleet:
    """What `make` makes in a directory that is given to it: it is made once, and each test has a copy in a folder of its own."""
    if make not in _BEGUN:
        _BEGUN[make] = make(factory.mktemp("begun"))
    return copied(_BEGUN[make], folder)

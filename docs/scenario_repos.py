"""
A stage of real repositories: a fleet repo with a work tree, a bare deployment repo, and `gitplacer reconcile` between them.

Authors and times are given, so two runs make the same commits. Whoever has a hand in the deployment repo has a clone of it.
"""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

from msgspec.structs import replace

from gitplacer.cli import main
from gitplacer.git.address import Address
from gitplacer.git.publishing import Deployment
from gitplacer.hydrate import Hydration
from gitplacer.passes.reconcile import reconcile
from gitplacer.scenarios.telling import Unstageable
from gitplacer.settings import settings
from gitplacer.tree import Tree
from gitplacer.whatif import Supposition


class InRepos:
    """A stage in an empty directory."""

    def __init__(self, folder: Path) -> None:
        self.fleet, self.bare, self._clone = folder / "fleet", folder / "deployment.git", folder / "clone"
        self._cache = folder / "cache"
        self._seen: str | None = None
        self.planned = ""
        """What `gitplacer plan` printed before the last pass."""
        folder.mkdir(parents=True, exist_ok=True)
        git("init", "--quiet", "--initial-branch=main", str(self.fleet), cwd=folder)
        git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare), cwd=folder)

    @property
    def deployment(self) -> Tree:
        address = Address.parse(str(self.bare), base_dir=Path("/"))
        with Deployment.open(address, "main", self._cache) as opened:
            tree = opened.tree
            return Tree.of(tree.read_all(tree))

    def push(self, files: Mapping[str, bytes], subject: str, now: datetime) -> None:
        _lay(self.fleet, files)
        git("add", "--all", cwd=self.fleet)
        git("commit", "--quiet", f"--message={subject}", cwd=self.fleet, now=now)

    def write(self, files: Mapping[str, bytes], subject: str, now: datetime) -> None:
        self._update()
        _lay(self._clone, files)
        git("add", "--all", cwd=self._clone)
        git("commit", "--quiet", f"--message={subject}", cwd=self._clone, now=now)
        git("push", "--quiet", "origin", "main", cwd=self._clone)

    def revert(self, subject: str, now: datetime) -> None:
        self._update()
        for line in git("log", "--format=%H %s", cwd=self._clone).splitlines():
            commit, _, said = line.partition(" ")
            if said == subject:
                git("revert", "--no-edit", commit, cwd=self._clone, now=now)
                git("push", "--quiet", "origin", "main", cwd=self._clone)
                return
        raise Unstageable(f'there is no commit "{subject}" in the deployment repo')

    def _update(self) -> None:
        if not self._clone.exists():
            git("clone", "--quiet", str(self.bare), str(self._clone), cwd=self.bare.parent)
        git("pull", "--quiet", "--ff-only", "origin", "main", cwd=self._clone)

    def run(self, now: datetime) -> Hydration:
        self._seen = self.tip()
        self.planned = self._plan(now)
        chosen = settings(str(self.fleet), deployment=str(self.bare), now=now.isoformat())
        chosen = replace(chosen, capacity=None, cache_dir=self._cache)
        return reconcile(chosen, progress=lambda message: None).hydration

    def _plan(self, now: datetime) -> str:
        where = ["--deployment", str(self.bare), "--now", now.isoformat(), "--rev", "HEAD", str(self.fleet)]
        said, noted = io.StringIO(), io.StringIO()
        with (
            patch.dict(os.environ, {"GITPLACER_CACHE": str(self._cache)}),
            redirect_stdout(said),
            redirect_stderr(noted),
        ):
            assert not main(["plan", *where]), noted.getvalue()
        return said.getvalue()

    def begin(self, deployment: Tree) -> None:
        raise Unstageable("a real repository begins empty")

    def supposing(self, parts: tuple[Supposition, ...], now: datetime) -> Hydration:
        raise Unstageable("real repositories suppose nothing")

    def restless(self, now: datetime) -> list[str]:
        return []

    def tip(self) -> str | None:
        """The last commit of the deployment repo."""
        found = git("for-each-ref", "--format=%(objectname)", "refs/heads/main", cwd=self.bare).strip()
        return found or None

    def log(self, *options: str) -> str:
        """`git log` of what the last pass has published, the oldest commit first; empty if that is nothing."""
        tip = self.tip()
        if tip is None or tip == self._seen:
            return ""
        span = f"{self._seen}..{tip}" if self._seen else tip
        return git("log", "--reverse", *options, span, cwd=self.bare)


def git(*args: str, cwd: Path, now: datetime | None = None) -> str:
    """What a git command prints, by a fixed author at a given time."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "GITPLACER_"))}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in
           (("NAME", "You"), ("EMAIL", "you@example.com"), ("DATE", now.isoformat() if now else ""))}  # fmt: skip
    fixed = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",  # which has samples of hooks: a dozen files for each repo
        "GIT_PAGER": "cat",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    environment = {**kept, **{key: value for key, value in who.items() if value}, **fixed}
    done = subprocess.run(
        ["git", *args], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"git {' '.join(args)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _lay(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the files of a work tree these."""
    for path in sorted(folder.rglob("*"), reverse=True):
        inside = path.relative_to(folder)
        if inside.parts[0] != ".git" and path.is_file() and inside.as_posix() not in files:
            path.unlink()
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

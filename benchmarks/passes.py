"""A fleet in repos, and what is timed on it: commands of gitplacer as whole processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import generate
from benchmarks.fleets import HUB

PLACED = "2026-01-02T03:05:00Z"
LATER = "2026-01-02T03:06:00Z"
LATER_STILL = "2026-01-02T03:07:00Z"
"""When fleets are placed, and when the passes come that are timed on what is placed."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took: seconds by the clock, seconds of a processor on all cores together, MiB at most in one process."""

    seconds: float
    cpu: float
    mib: float


@dataclass
class Fleet:
    """The repos of one fleet, below a folder, and how passes on them are run."""

    folder: Path
    source: Path
    deployment: Path
    edits: int = 0

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "GITPLACER_CACHE": str(self.folder / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}

    def forget(self) -> None:
        """An empty deployment repo and no cache: the next pass starts from nothing."""
        shutil.rmtree(self.deployment)
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        generate.git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.deployment))

    def reconcile(self, now: str = LATER, *options: str) -> Spent:
        """One `gitplacer reconcile`."""
        return self.command("reconcile", "--now", now, *options)

    def command(self, name: str, *options: str) -> Spent:
        """One command about the fleet."""
        where = ["--deployment", str(self.deployment), str(self.source)]
        return self.timed([sys.executable, "-m", "gitplacer", name, *options, *where])

    def timed(self, command: Sequence[str]) -> Spent:
        """Any command."""
        told = run([sys.executable, "-m", "benchmarks.stopwatch", *command], self.environment)
        return Spent(**json.loads(told))

    def manifests(self) -> list[Path]:
        return sorted((self.source / "workloads").rglob("*.yaml"))

    def placed(self) -> list[Path]:
        """The manifests of gangs that are on a cluster, whose edits are published."""
        told = generate.git(self.deployment, "ls-tree", "-r", "--name-only", "main", "clusters/")
        names = {path.rpartition("/")[2] for path in told.splitlines()}
        return [path for path in self.manifests() if path.name in names]

    def jobs(self) -> list[Path]:
        """Those of them that are RayJobs: a RayService with another image needs room for a second one, which a full cluster has not."""
        return [path for path in self.placed() if "\nkind: RayJob\n" in path.read_text()]

    def edit_image(self, file: Path) -> None:
        """Give the containers of a manifest another image and commit. No two are equal."""
        tag = f"2.52.{self.edits + 1}"
        self.edit([file], lambda text: re.sub(r"(image: [^\s:]+):\S+", rf"\1:{tag}", text))

    def edit(self, files: Sequence[Path], replaced: Callable[[str], str] | None = None) -> None:
        """Change some files and commit: by a comment, if nothing else is said. No two edits are equal."""
        self.edits += 1
        for file in files:
            text = file.read_text()
            file.write_text(replaced(text) if replaced else text + f"# edit {self.edits}\n")
        generate.commit(self.source, f"Edit {self.edits}")

    def lose(self) -> None:
        """Give up the cluster that has the most and commit."""
        self.edit([self.source / "clusters" / f"{HUB}.yaml"], lambda text: f"{text}  state: Lost\n")

    def add(self, file: Path, text: str) -> None:
        """Write a file that is new and commit."""
        self.edits += 1
        file.write_text(text)
        generate.commit(self.source, f"Edit {self.edits}")

    @contextmanager
    def undone(self) -> Iterator[None]:
        """What is committed to the source meanwhile is taken back by one more commit: tips never go back, which passes would refuse."""
        tip = generate.git(self.source, "rev-parse", "main").strip()
        yield
        generate.git(self.source, "checkout", "--quiet", tip, "--", ".")
        generate.commit(self.source, f"Undo edit {self.edits}")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """
        For passes that shall not last: the deployment repo and the cache are put back as they were. They stay where they are meanwhile, since what
        a pass has found out of a fleet at rest is known by the address of its deployment repo.
        """
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            there = {path: Path(name) / path.name for path in (self.deployment, self.folder / "cache")}
            for path, copy in there.items():
                shutil.copytree(path, copy)
            yield
            for path, copy in there.items():
                shutil.rmtree(path)
                copy.rename(path)

    def commits(self) -> int:
        """How many commits the deployment repo has."""
        return int(generate.git(self.deployment, "rev-list", "--count", "main"))


def run(command: Sequence[str], environment: dict[str, str], stdin: bytes = b"") -> bytes:
    """What a command prints; the benchmark ends where one fails."""
    done = subprocess.run(command, input=stdin, env=environment, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    return done.stdout


def timed(work: Callable[[], object]) -> float:
    """Seconds by the clock."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

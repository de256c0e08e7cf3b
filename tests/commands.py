"""Running the command line in tests: in this process, in another, and with real repos."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitplacer.cli import main
from gitplacer.packaged import STARTER, packaged

NOW = "2026-01-02T03:05:00Z"


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str


def run(capfd: pytest.CaptureFixture[str], *args: str | Path) -> Ran:
    """A command in this process."""
    capfd.readouterr()
    code = main([str(arg) for arg in args])
    out, err = capfd.readouterr()
    return Ran(code, out, err)


def run_apart(*args: str | Path, cwd: Path | None = None, **environment: str) -> Ran:
    """A command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from gitplacer.cli import main; sys.exit(main())", *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **environment},
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def git(folder: Path, *args: str) -> str:
    """Git as a user would run it in a folder."""
    who = ["-c", "user.name=A User", "-c", "user.email=user@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True).stdout


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)


def starter() -> dict[str, bytes]:
    """A small fleet: one cluster, one policy, one RayCluster called hello/hello."""
    parts = ("clusters/", "policies/", "capacity/", "workloads/")
    files = {path: data for path, data in packaged(STARTER).items() if path.startswith(parts)}
    return {**files, "fleet.yaml": packaged(STARTER)["fleet.yaml"].replace(b"@ENGINE@", b"argocd")}


def make_repo(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository with the files in one commit."""
    write(folder, files)
    git(folder, "init", "-q")
    commit(folder, "Start")
    return folder


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", message)


def make_bare(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare")
    return folder

"""Branches of capacity snapshots, made by hand: what a writer of somebody else's might push."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from gitplacer.git.address import Address
from gitplacer.git.newcommits import NewCommit, Person
from gitplacer.git.publishing import Deployment
from gitplacer.git.signing import SigningKey, signed
from gitplacer.tree import Changes
from tests.gitservers import git
from tests.stories import START, snapshot

WRITER = Person("writer", "writer@example.com")


def ssh_key(folder: Path, name: str) -> tuple[SigningKey, str]:
    """A new key, and its public half as text."""
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True, capture_output=True
    )
    return SigningKey(file=path), path.with_suffix(".pub").read_text("utf-8").strip()


def sent(
    repo: Path,
    branch: str,
    files: Mapping[str, str],
    *,
    minutes: float,
    key: SigningKey | None = None,
    removed: tuple[str, ...] = (),
) -> str:
    """Commit some files to a branch, so many minutes after the start; the commit's id."""
    when = START + timedelta(minutes=minutes)
    changes = Changes({path: text.encode() for path, text in files.items()}, frozenset(removed))
    address = Address.parse(str(repo), base_dir=Path("/"))
    with Deployment.open(address, branch, repo.parent / "cache") as deployment:
        tip = deployment.publish([NewCommit(changes=changes, message="sent", author=WRITER, when=when)])
    if key is not None:
        made = git("cat-file", "commit", tip, cwd=repo).encode() + b"\n"
        tip = git("hash-object", "-t", "commit", "-w", "--stdin", cwd=repo, input=signed(made, key))
        git("update-ref", f"refs/heads/{branch}", tip, cwd=repo)
    return tip


def nodes(name: str, count: int, minutes: float, at: datetime = START) -> dict[str, str]:
    """The file of a cluster with so many equal nodes."""
    shape = (f"n1 4 8Gi|, count: {count}",) if count else ()
    return snapshot(name, *shape, at=at + timedelta(minutes=minutes))

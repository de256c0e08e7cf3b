"""
One cluster's snapshot onto a branch: a commit when it says something new, and a heartbeat when it has been silent for long.

Each writer writes the file of its own cluster and nothing else, onto the tip that it has read. Whoever comes second reads again and
decides again, so any number of writers can share a branch, and two of one cluster never overwrite a later snapshot by an older one.
A branch of one cluster alone is its writer's own: what is older than is to be kept is cut off from it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from gitplacer.belief import is_from_the_future
from gitplacer.capacity.material import changed
from gitplacer.capacity.reading import PLACEHOLDER, branch_of
from gitplacer.explain import rfc3339
from gitplacer.git.address import Address
from gitplacer.git.newcommits import NewCommit, Person
from gitplacer.git.objects import BlobTooLarge
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.pushing import LostRace, PushRefused
from gitplacer.git.reading import Commit
from gitplacer.git.signing import SigningKey
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.problems import Rejected
from gitplacer.reported import single_snapshot
from gitplacer.source.files import READ_ENDINGS, NoMemo
from gitplacer.tree import Changes, Tree

ATTEMPTS = 10
"""How often a lost race is run again: thirty writers of one branch may be in each other's way."""
MOST_KEPT = 2000
"""Commits that stay when history is cut off."""


class Result(enum.StrEnum):
    """What became of a snapshot."""

    CHANGED = "Changed"
    HEARTBEAT = "Heartbeat"
    UNCHANGED = "Unchanged"
    OLDER = "Older"  # the branch has a later one


class Target(Struct, frozen=True, kw_only=True):
    """
    Where snapshots go: a branch, whose name may have `{cluster}` in it, and a directory. A branch with a history of more than
    twice `keep` is cut off there, None keeps all. `heartbeat` is the longest time that passes without a commit, as long as snapshots
    are taken `every` so often.
    """

    address: Address
    branch: str
    folder: str
    author: Person
    signing_key: SigningKey | None
    heartbeat: timedelta
    every: timedelta = timedelta()
    keep: timedelta | None = None


class Pushed(Struct, frozen=True):
    """What was done: the branch and its tip, and the fields that said something new. `at` is when the snapshot there was taken."""

    result: Result
    branch: str
    tip: str
    fields: tuple[str, ...]
    at: datetime


def push(target: Target, snapshot: CapacitySnapshot, data: bytes, now: datetime, cache_dir: Path) -> Pushed:
    """
    Bring the bytes of a snapshot to where they belong, if that is due. Raises GitError (PushRefused, Unreachable, LostRace after ten
    attempts, SnapshotFromFuture); then nothing has landed.
    """
    if is_from_the_future(snapshot.observed_at, now):
        message = (
            f"the snapshot of {snapshot.name} was taken at {rfc3339(snapshot.observed_at)}, and it is {rfc3339(now)}"
        )
        raise GitError(message, "SnapshotFromFuture", "set the clock of whoever took it: nobody would believe it")
    branch = branch_of(target.branch, snapshot.name)
    for attempt in range(ATTEMPTS):
        with Deployment.open(target.address, branch, cache_dir, signing_key=target.signing_key) as there:
            ours = _ours(there.tree, target.folder, snapshot.name)
            before = _before(there.tree, ours, now)
            fields = changed(before, snapshot) if before is not None else ("everything",)
            result = _result(target, before, snapshot, fields)
            if result in (Result.UNCHANGED, Result.OLDER):
                assert before is not None
                return Pushed(result, branch, there.tip or "", fields, before.observed_at)
            step = _commit(target, ours, snapshot, data, fields, now)
            try:
                return Pushed(
                    result, branch, _land(target, there, step, now, cuts=attempt == 0), fields, snapshot.observed_at
                )
            except LostRace:
                continue
    raise LostRace(
        f"lost the race for branch {branch} of {target.address.redacted} {ATTEMPTS} times", hint="run it again"
    )


def _result(
    target: Target, before: CapacitySnapshot | None, snapshot: CapacitySnapshot, fields: Sequence[str]
) -> Result:
    if before is None:
        return Result.CHANGED
    if before.observed_at > snapshot.observed_at:
        return Result.OLDER
    if fields:
        return Result.CHANGED
    # The next chance must not be too late.
    age = snapshot.observed_at - before.observed_at
    is_due = age > timedelta() and age + target.every > target.heartbeat
    return Result.HEARTBEAT if is_due else Result.UNCHANGED


def _ours(tree: Tree, folder: str, cluster: str) -> list[str]:
    """Where a cluster's file is or would be, first, and any other that it has: one ending more would be a second snapshot."""
    beside = any(path.endswith(READ_ENDINGS) and "/" not in path for path in tree)
    there = folder if len(tree.under(folder)) or not beside else ""  # as whoever reads it looks for it
    stem = f"{there}/{cluster}" if there else cluster
    return [f"{stem}.yaml", *(path for path in (f"{stem}{ending}" for ending in READ_ENDINGS[1:]) if path in tree)]


def _before(tree: Tree, ours: Sequence[str], now: datetime) -> CapacitySnapshot | None:
    """What the branch has of the cluster; None for nothing that could be used, or that a wrong clock has sent."""
    for path in ours:
        if path in tree:
            try:
                found, _ = single_snapshot(tree, path, NoMemo())
            except (BlobTooLarge, Rejected):
                return None
            return None if len(ours) > 1 or is_from_the_future(found.observed_at, now) else found
    return None


def _commit(
    target: Target,
    ours: Sequence[str],
    snapshot: CapacitySnapshot,
    data: bytes,
    fields: Sequence[str],
    now: datetime,
) -> NewCommit:
    what = f"{', '.join(fields)} changed" if fields else "nothing changed"
    message = f"Capacity of {snapshot.name}: {what}\n\nGitplacer-Observed: {rfc3339(snapshot.observed_at)}\n"
    changes = Changes({ours[0]: data}, frozenset(ours[1:]))
    return NewCommit(changes=changes, message=message, author=target.author, when=now)


def _land(target: Target, there: Deployment, step: NewCommit, now: datetime, *, cuts: bool) -> str:
    """Publish a commit. History is cut off at the first attempt alone: some servers let nobody do that, and call it a race."""
    kept = _kept(target, there, now) if cuts else None
    if kept is not None:
        try:
            return there.restart(kept, step)
        except PushRefused:
            pass
    return there.publish([step])


def _kept(target: Target, there: Deployment, now: datetime) -> list[Commit] | None:
    """The commits that stay, oldest first, where it is time to cut off those before; None where it is not."""
    if target.keep is None or there.tip is None or PLACEHOLDER not in target.branch:
        return None
    roots = there.repository.git.run(
        "rev-list", "--first-parent", "--max-parents=0", "--timestamp", "--end-of-options", there.tip, "--"
    ).decode()
    oldest = min((int(line.split(" ")[0]) for line in roots.splitlines()), default=0)
    if oldest >= (now - 2 * target.keep).timestamp():
        return None
    log = there.repository.first_parent_log(there.tip, MOST_KEPT)
    kept = [commit for commit in log if datetime.fromisoformat(commit.date) >= now - target.keep]
    # One at least: what comes next is held against it.
    return kept[::-1] or [there.repository.commit(there.tip)]

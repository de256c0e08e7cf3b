"""
Our last pass on the deployment branch, and what came after it, however it got there.

A pass that was pushed is a row of commits on top of the tip that it was computed from. A pass that was proposed and merged by
somebody can have arrived in other shapes: behind a merge commit, rebased onto commits that came in between, or squashed into one. Its trailers
name the tip that it was computed from, and this is what counts: what we wrote is that tip with the changes of the pass, and
everything else that has come since that tip is somebody else's, whether it came before the merge or after.

A squash keeps the trailers where the host puts the messages of the commits, or the description of the pull request, into its
own message. Where it does not, it is known by its content, as long as our branch with the pass is there, which is kept for that
until another pass has landed. If the branch is gone, nothing tells it from an edit by hand, and it is taken for one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.commits import PREFIX
from gitplacer.git.ourbranches import is_of_a_pass
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.trailers import Trailers
from gitplacer.tree import Entry, Tree, differing_paths

_HISTORY = 1000
"""Commits to look back for our own last one; behind so many foreign ones it is taken for lost."""
_BROUGHT = 2000
"""Commits of one merge that are looked at."""
_OURS = re.compile(rf"^({PREFIX}[A-Za-z]+): (.*)$", re.MULTILINE)


class LastPass(Struct, frozen=True):
    """
    `landed` is the commit of the branch that brought it, `wrote` the tree as we left it, and `trailers` are what its commits say. `since`
    are the commits of others that came after the tip that it was computed from, oldest first. `proposed` are, if it landed later
    than it was made, the paths that it changed. `squashed` is set if it is known by nothing but its content: the tip of its branch.
    """

    landed: Commit
    wrote: Tree
    trailers: tuple[tuple[str, str], ...]
    since: tuple[Commit, ...]
    proposed: frozenset[str] = frozenset()
    squashed: str | None = None


class _Row(Struct, frozen=True):
    """The commits of one pass: the last of them, and what the first is on top of ('' for nothing)."""

    last: Commit
    below: str


def last_pass(deployment: Deployment) -> LastPass | None:
    """The last pass on the branch; None where there is none within reach."""
    if deployment.tip is None:
        return None
    return _Looking(deployment).found(deployment.tip)


def last_trailers(deployment: Deployment) -> Trailers:
    """What the last pass on the branch says of itself; nothing where there is none within reach."""
    if deployment.tip is None:
        return ()
    tip = deployment.repository.commit(deployment.tip)
    if is_of_a_pass(tip):
        return tip.trailers
    last = last_pass(deployment)
    return last.trailers if last is not None else ()


def brought_by(repository: Repository, merge: Commit, most: int) -> list[str]:
    """The commits that a merge brought with it, oldest first; if there are more than `most`, one more than that."""
    listing = repository.git.run(
        "rev-list",
        "--topo-order",
        "--reverse",
        f"--max-count={most + 1}",
        "--end-of-options",
        merge.id,
        f"^{merge.parents[0]}",
        "--",
    )
    return [oid for oid in listing.decode().split() if oid != merge.id]


def let_in(repository: Repository, merge: Commit) -> list[Commit]:
    """The commits of passes that a merge brought, oldest first; none for a commit that is no merge."""
    if len(merge.parents) < 2:
        return []
    brought = (repository.commit(oid) for oid in brought_by(repository, merge, _BROUGHT))
    return [commit for commit in brought if is_of_a_pass(commit)]


class _Looking:
    def __init__(self, deployment: Deployment) -> None:
        self._repository = deployment.repository
        self._deployment = deployment

    def found(self, tip: str) -> LastPass | None:
        log = list(self._repository.first_parent_log(tip, _HISTORY))
        for index, commit in enumerate(log):
            row = self._row(log[index:])
            if row is not None:
                return self._told(row, commit, log, index)
        return None

    def _row(self, log: list[Commit]) -> _Row | None:
        """The pass that the first commit of a log ends or brought, if it did."""
        commit = _as_ours(log[0])
        if commit is not None:
            below = commit
            for older in map(_as_ours, log[1:]):
                if older is None or not _of_one_pass(older, commit):
                    break
                below = older
            return _Row(commit, below.parents[0] if below.parents else "")
        if len(log[0].parents) > 1:
            brought = (self._repository.commit(oid) for oid in brought_by(self._repository, log[0], _BROUGHT))
            return _last_row([found for found in map(_as_ours, brought) if found is not None])
        return self._squashed(log[0])

    def _squashed(self, commit: Commit) -> _Row | None:
        """The pass that is proposed, or was, if a commit does what it would do."""
        tips = (self._deployment.proposed_pass, self._deployment.squashed_pass)
        rows = (self._proposed(tip) for tip in dict.fromkeys(filter(None, tips)) if commit.parents)
        return next((row for row in rows if row is not None and self._does_the_same(commit, row)), None)

    def _proposed(self, tip: str) -> _Row | None:
        ours = itertools.takewhile(is_of_a_pass, self._repository.first_parent_log(tip, _BROUGHT))
        return _last_row(list(ours)[::-1])

    def _does_the_same(self, commit: Commit, row: _Row) -> bool:
        return self._delta(commit.parents[0], commit.id) == self._delta(row.below, row.last.id)

    def _told(self, row: _Row, landed: Commit, log: list[Commit], index: int) -> LastPass:
        last = row.last
        since = list(log[:index]) if last.id == landed.id else list(log[: index + 1])
        wrote = self._repository.tree_when_asked(last.id)
        proposed = frozenset(self._delta(row.below, last.id)) if _is_later(landed, last) else frozenset()
        base = self._base(row)
        if (base != row.below or last.id != landed.id) and base in {commit.id for commit in log}:
            since += [commit for commit in _until(log[index + 1 :], base) if not _of_one_pass(commit, last)]
            if base != row.below:
                wrote = _over(self._repository.tree(base), self._delta(row.below, last.id), wrote)
        is_squash = last.id != landed.id and len(landed.parents) == 1
        squashed = last.id if is_squash else None
        return LastPass(landed, wrote, last.trailers, tuple(since[::-1]), proposed, squashed)

    def _base(self, row: _Row) -> str:
        """The tip that a pass was computed from, as it says, or else what it is on top of."""
        try:
            return self._repository.resolve(row.last.trailer(f"{PREFIX}Base") or row.below)
        except NoSuchRevision:
            return row.below

    def _delta(self, old: str, new: str) -> dict[str, Entry | None]:
        """What a commit has otherwise than another, by path; None for what it has not."""
        before = self._repository.tree(old) if old else Tree()
        after = self._repository.tree(new)
        return {path: after.entries.get(path) for path in differing_paths(before, after)}


def _as_ours(commit: Commit) -> Commit | None:
    """
    The commit with its trailers, if a pass made it, or if it is a squash that has kept what a pass said: then these lines stand
    anywhere in its message.
    """
    if commit.trailer(f"{PREFIX}Version") is not None:
        return commit if is_of_a_pass(commit) else None
    if len(commit.parents) != 1 or f"{PREFIX}Version" not in commit.body:
        return None
    kept = tuple((found[1], found[2].strip()) for found in _OURS.finditer(commit.body))
    squashed = replace(commit, trailers=kept)
    return squashed if is_of_a_pass(squashed) else None


def _is_later(landed: Commit, last: Commit) -> bool:
    """Whether a pass came to the branch later than it was made. One that was pushed has the time of the pass."""
    return _instant(landed.date) != _instant(last.trailer(f"{PREFIX}Now") or landed.date)


def _instant(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _of_one_pass(commit: Commit, other: Commit) -> bool:
    """Whether two commits were made by the same pass."""
    keys = (f"{PREFIX}Base", f"{PREFIX}Now", f"{PREFIX}Source")
    ours = _as_ours(commit)
    return ours is not None and all(ours.trailer(key) == other.trailer(key) for key in keys)


def _last_row(ours: list[Commit]) -> _Row | None:
    """The last pass among commits of passes, which are given oldest first."""
    if not ours:
        return None
    row = [commit for commit in ours if _of_one_pass(commit, ours[-1])]
    return _Row(ours[-1], row[0].parents[0] if row[0].parents else "")


def _until(log: list[Commit], base: str) -> Iterator[Commit]:
    for commit in log:
        if commit.id == base:
            return
        yield commit


def _over(below: Tree, delta: dict[str, Entry | None], above: Tree) -> Tree:
    """A tree with what another changed. The bytes of both are in one repository, which `above` reads."""
    entries = {path: entry for path, entry in below.entries.items() if path not in delta}
    entries |= {path: entry for path, entry in delta.items() if entry is not None}
    return Tree(dict(sorted(entries.items())), above.blobs)

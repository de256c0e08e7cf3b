"""
What the deployment branch tells of the past: each relocation, each other pass, and what people did by hand.

A pass says in trailers what it did, so a commit is read and no tree is. A relocation that somebody agreed to by merging its
proposal stands on the branch as that merge; what it moved is told by the commit that was merged. So is a whole pass that was
merged as a pull request: it happened when it was merged, and each of its commits tells of itself. Anybody who may write to the
branch may write trailers, so this is for people to look at: nothing is decided by it. What happened to one group is another
question, and `audit.moves` answers it from the records before and after each commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.branch.lastpass import let_in
from gitplacer.commits import PREFIX, PROPOSED
from gitplacer.git.objects import MissingObject
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.report import Event, EventKind, History
from gitplacer.trailers import instant

LONGEST_HISTORY = 2000
"""Commits to look back."""


def history(deployment: Deployment | None, limit: int = LONGEST_HISTORY) -> History:
    """The latest commits of the branch, newest first, as far as a clone has them."""
    if deployment is None or deployment.tip is None:
        return History()
    commits = list(deployment.repository.first_parent_log(deployment.tip, limit + 1))
    events = tuple(event for commit in commits[:limit] for event in _events(commit, deployment.repository))
    is_whole = len(commits) <= limit and not commits[-1].parents
    return History(events=events, is_whole=is_whole)


def _events(commit: Commit, repository: Repository) -> Iterator[Event]:
    """What a commit of the branch tells, newest first: one thing, or as many as the pass that it merges has commits."""
    if _trailer(commit, "Version") is None:
        try:
            merged = let_in(repository, commit)
        except GitError:  # a clone may lack it
            merged = []
        if merged:
            yield from (_event(each, each, commit.date) for each in reversed(merged))
            return
    told = next((each for each in (commit, *_merged(commit, repository)) if _trailer(each, "From") is not None), commit)
    yield _event(commit, told, commit.date)


def _event(commit: Commit, told: Commit, date: str) -> Event:
    at = instant(date)
    if _trailer(told, "Version") is None:
        return Event(commit=commit.id, at=at, kind=EventKind.BY_HAND, subject=commit.subject)
    moves = _trailer(told, "From") is not None
    return Event(
        commit=commit.id,
        at=at,
        kind=EventKind.RELOCATION if moves else EventKind.PASS,
        subject=told.subject,
        why=_why(told),
        group=_trailer(told, "Group") or "",
        gone=_names(_trailer(told, "From")),
        come=_names(_trailer(told, "To")),
        code=_trailer(told, "Reason") or "",
        phase=_trailer(told, "Phase") or "",
    )


def _merged(commit: Commit, repository: Repository) -> Iterator[Commit]:
    """The proposals that a merge brought."""
    for oid in commit.parents[1:]:
        try:
            proposal = repository.commit(oid)
        except (NoSuchRevision, MissingObject):  # a clone may lack it
            continue
        if proposal.trailer(PROPOSED) is not None:
            yield proposal


def _trailer(commit: Commit, key: str) -> str | None:
    return commit.trailer(f"{PREFIX}{key}")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for name in (text or "").split(", ") if name)


def _why(commit: Commit) -> str:
    """What stands between subject and trailers, on one line."""
    said = commit.body.rstrip("\n").rpartition("\n\n")[0]
    return " ".join(said.split())

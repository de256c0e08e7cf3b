"""
`verify`: one deployment commit, or the whole history of the branch.

The history is walked along first parents and cut into passes; each pass is computed once. Passes do not depend on each other,
so many of them are shared out to processes, each with its own git and its own parse cache. What a process remembers is
forgotten every few passes, so that a long history takes no more memory than a short one.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from gitplacer import __version__
from gitplacer.audit.checking import Checking, passes
from gitplacer.audit.recompute import Recomputation
from gitplacer.audit.repos import Past, chosen_commit, need_whole, read_past
from gitplacer.git.reading import Commit, Repository
from gitplacer.model.audit import Checked
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Progress
from gitplacer.runners.processes import usable_cores
from gitplacer.settings import Settings, UsageError

_AT_ONCE = 20
"""Passes that are computed with one memory."""
_WORTH_IT = 40
"""Passes from which on starting more processes costs less than it saves."""
_WHOLE = 10_000_000


def verify_one(settings: Settings, rev: str | None, progress: Progress) -> list[Checked]:
    """One commit of the deployment repo; the tip of its branch without a name."""
    memo = ParseCache(settings.cache_dir)
    past = read_past(settings, memo, progress)
    with opened(past, settings.now) as checking:
        commit = chosen_commit(past, checking.repository, rev)
        progress(f"computing {commit.id[:12]} again")
        found = checking.check([commit], memo)
    memo.save()
    return found


def verify_history(settings: Settings, since: str | None, jobs: int | None, progress: Progress) -> list[Checked]:
    """Every commit of the deployment branch, the oldest first, or those that came after one. Raises UsageError, GitError."""
    past = read_past(settings, ParseCache(settings.cache_dir), progress)
    with past.deployment.opened() as repository:
        commits = _walked(past, repository, since)
    groups = [[commit.id for commit in group] for group in passes(commits)]
    workers = _workers(len(groups), jobs)
    errand = _Errand(past, settings.now, settings.cache_dir)
    shares = [groups[start : start + _AT_ONCE] for start in range(0, len(groups), _AT_ONCE)]
    found: dict[int, list[Checked]] = {}
    done = 0
    for number, checked in _carried_out(errand, shares, workers):
        found[number] = checked
        done += len(shares[number])
        progress(f"computed {done} of {len(groups)} passes again")
    return [checked for number in sorted(found) for checked in found[number]]


@contextlib.contextmanager
def opened(past: Past, present: datetime) -> Iterator[Checking]:
    """Both repos, to check commits with."""
    with past.source.opened() as source, past.deployment.opened() as deployment:
        yield Checking(Recomputation(past, source, deployment, present), __version__)


def _walked(past: Past, repository: Repository, since: str | None) -> list[Commit]:
    """The commits of the branch, the oldest first."""
    tip = chosen_commit(past, repository, None)
    last = chosen_commit(past, repository, since).id if since is not None else None
    found: list[Commit] = []
    for commit in repository.first_parent_log(tip.id, _WHOLE):
        if commit.id == last:
            return found[::-1]
        found.append(commit)
    need_whole(repository, "--all" if last is None else f"--since {since}")
    if last is not None:
        raise UsageError(
            f"--since {since} is not in the history of branch {past.branch}",
            "give a commit that the branch leads back to",
        )
    return found[::-1]


def _workers(groups: int, jobs: int | None) -> int:
    if jobs is not None:
        return max(1, jobs)
    return min(usable_cores(), max(1, groups // _WORTH_IT))


class _Errand(Struct, frozen=True):
    """What a process needs to know to check passes."""

    past: Past
    present: datetime
    cache_dir: Path


def _carried_out(
    errand: _Errand, shares: Sequence[list[list[str]]], workers: int
) -> Iterator[tuple[int, list[Checked]]]:
    """Each share with its number, as they are done."""
    if workers < 2 or len(shares) < 2:
        for number, share in enumerate(shares):
            yield number, _check_share(errand, share)
        return
    # A fork would take the git processes of this one along.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(shares)), mp_context=context) as pool:
        waiting = {pool.submit(_check_share, errand, share): number for number, share in enumerate(shares)}
        try:
            for future in as_completed(waiting):
                yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()


def _check_share(errand: _Errand, share: Sequence[Sequence[str]]) -> list[Checked]:
    memo = ParseCache(errand.cache_dir)
    found: list[Checked] = []
    with opened(errand.past, errand.present) as checking:
        for ids in share:
            found += checking.check([checking.repository.commit(oid) for oid in ids], memo)
            gc.collect(
                0
            )  # what this left behind in circles; what was made before it stays, and need not be looked at again
    memo.save()
    return found

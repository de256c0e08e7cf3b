"""
What changes in the files of each cluster, as diffs of the deployment tree before the pass and after it.

A file that goes from one cluster to another, or to the place between clusters, is one rename and not a removal and an addition. Left out is what we keep
for ourselves: records, states of clusters, and the sentinels with their epochs. What looks like a secret is hidden first, so a
change of nothing else is told without showing it. Work is bounded: long diffs are cut, and huge files are only named.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from msgspec import Struct

from gitplacer.explain import PlanView
from gitplacer.kinds.record import BETWEEN
from gitplacer.linediff import unified
from gitplacer.review.concealed import concealed
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.tree import Tree, differing_paths

MOST_FILES = 300
"""Files whose diffs are made; the others are only named."""
MOST_LINES = 400
"""Lines of one diff; a longer one is cut."""
MOST_WHOLE = 40
"""Lines of the diff of a file that comes or goes whole: its text is in the change itself, or was in one before."""
_LARGEST = 256 * 1024
"""Bytes of a file that is compared."""


class Change(enum.StrEnum):
    """What becomes of a file."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    RENAMED = "renamed"


class FileDiff(Struct, frozen=True, kw_only=True):
    """
    One file of a cluster's directory ('' for what is between clusters). `old` is its path before, if it is a rename.
    `lines` is a unified diff; `left_out` counts what was cut of it. `hidden`: nothing is shown, because only secrets differ or
    because it is too large or cannot be read.
    """

    cluster: str
    path: str
    change: Change
    old: str = ""
    lines: tuple[str, ...] = ()
    left_out: int = 0
    hidden: bool = False


def file_diffs(view: PlanView, base: Tree | None = None) -> tuple[FileDiff, ...]:
    """
    The diffs of a plan by cluster and path; with the tree that a base comes to, only of those files that the change makes differ from what
    they would be anyway.
    """
    before, after = view.snapshot.deployment, view.tree
    root = view.snapshot.source.own.fleet.spec.deployment.root
    paths = [path for path in differing_paths(before, after) if _is_shown(path, root)]
    if base is not None:
        ours = set(differing_paths(base, after))
        paths = [path for path in paths if path in ours]
    found = sorted(_paired(paths, before, after, root), key=lambda each: (each.cluster, each.path, each.old))
    texts = _Texts(before, after, found[:MOST_FILES])
    return tuple(_with_lines(each, texts) if rank < MOST_FILES else each for rank, each in enumerate(found))


def _is_shown(path: str, root: str) -> bool:
    if path.startswith(f"{BETWEEN}/"):
        return True
    cluster, _, rest = path.removeprefix(f"{root}/").partition("/")
    return (
        path.startswith(f"{root}/")
        and bool(cluster)
        and rest not in (f"{PLATFORM}/{SENTINEL}", f"{WORKLOADS}/{SENTINEL}")
    )


def _place(path: str, root: str) -> tuple[str, str]:
    """The cluster of a path, '' for between clusters, and the file that it is there."""
    if path.startswith(f"{BETWEEN}/"):
        return "", f"{WORKLOADS}/{path[len(BETWEEN) + 1 :]}"
    cluster, _, rest = path[len(root) + 1 :].partition("/")
    return cluster, rest


def _paired(paths: Iterable[str], before: Tree, after: Tree, root: str) -> Iterator[FileDiff]:
    """What becomes of each path. A file that is removed here and added there is told once, where it goes to."""
    removed: dict[str, list[str]] = {}
    added: list[str] = []
    changed: list[str] = []
    for path in paths:
        if path not in after:
            removed.setdefault(_place(path, root)[1], []).append(path)
        else:
            (changed if path in before else added).append(path)
    for path in added:
        cluster, file = _place(path, root)
        left = removed.get(file)
        if left and _place(left[0], root)[0] != cluster:
            yield FileDiff(cluster=cluster, path=path, change=Change.RENAMED, old=left.pop(0))
        else:
            yield FileDiff(cluster=cluster, path=path, change=Change.ADDED)
    for path in changed:
        yield FileDiff(cluster=_place(path, root)[0], path=path, change=Change.CHANGED)
    for left in removed.values():
        for path in left:
            yield FileDiff(cluster=_place(path, root)[0], path=path, change=Change.REMOVED)


class _Texts:
    """The bytes on both sides, fetched together."""

    def __init__(self, before: Tree, after: Tree, diffs: Iterable[FileDiff]) -> None:
        wanted = list(diffs)
        olds = {each.old or each.path for each in wanted if each.change is not Change.ADDED}
        news = {each.path for each in wanted if each.change is not Change.REMOVED}
        self._old = before.read_all(sorted(olds))
        self._new = after.read_all(sorted(news))

    def of(self, diff: FileDiff) -> tuple[bytes, bytes]:
        """Before and after; nothing for a side that is not there."""
        return self._old.get(diff.old or diff.path, b""), self._new.get(diff.path, b"")


def _with_lines(diff: FileDiff, texts: _Texts) -> FileDiff:
    old, new = texts.of(diff)
    if old == new:
        return diff  # a rename that changes nothing
    sides = [_lines(data) for data in (old, new)]
    if sides[0] is None or sides[1] is None or sides[0] == sides[1]:
        return _replaced(diff, hidden=True)
    old_name = "/dev/null" if diff.change is Change.ADDED else f"a/{diff.old or diff.path}"
    new_name = "/dev/null" if diff.change is Change.REMOVED else f"b/{diff.path}"
    hunks = list(unified(sides[0], sides[1]))
    lines = [f"--- {old_name}", f"+++ {new_name}", *hunks] if hunks else []
    most = MOST_WHOLE if diff.change in (Change.ADDED, Change.REMOVED) else MOST_LINES
    return _replaced(diff, lines=tuple(lines[:most]), left_out=max(0, len(lines) - most))


def _lines(data: bytes) -> list[str] | None:
    if len(data) > _LARGEST:
        return None
    text = concealed(data) if data else ""
    return None if text is None else text.splitlines()


def _replaced(diff: FileDiff, *, lines: tuple[str, ...] = (), left_out: int = 0, hidden: bool = False) -> FileDiff:
    return FileDiff(
        cluster=diff.cluster,
        path=diff.path,
        change=diff.change,
        old=diff.old,
        lines=lines,
        left_out=left_out,
        hidden=hidden,
    )

"""
Places of a source into which nobody looks, and where Clusters and policies may have been: symbolic links that lead out of it, and submodules.

Directories are free, so any of them may be a folder of ours. What lay there yesterday counts as gone today, and a cluster that is gone is left by all
that is on it. So such a place is told, and it may have held what is missed: a cluster that has groups, the policy that one was placed by. A link to
what the source has hides nothing. Where a file is behind it whose ending nobody reads, nothing of ours was there either.
"""

from __future__ import annotations

import bisect
import posixpath
from collections.abc import Iterable, Iterator, Sequence

from gitplacer import pathglob
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.problems import Location, Problem, Severity
from gitplacer.source.files import READ_ENDINGS, instead_of_a_file, is_hidden
from gitplacer.source.manifests import unit_of
from gitplacer.tree import SPECIAL, SYMLINK, Tree

PATH_MAX = 4096
"""Bytes of a path, beyond which no system follows a link."""
HINT = "commit the files themselves; if nothing of the fleet is behind it, name it in spec.source.exclude of the Fleet"


def blind_spots(tree: Tree, spec: FleetSpec) -> list[str]:
    """The paths of these places, sorted: those where no manifests and no snapshots lie, of which others tell."""
    unread = [
        path for path, entry in tree.entries.items() if not entry.is_text and _may_be_ours(path, entry.mode, spec)
    ]
    links = [path for path in unread if tree.entries[path].mode == SYMLINK and 0 < tree.entries[path].size <= PATH_MAX]
    targets = {path: target.decode("utf-8", "replace") for path, target in tree.read_all(links).items()}
    there = sorted(tree) if targets else []
    return sorted(path for path in unread if path not in targets or _is_out_of_sight(path, targets[path], there))


def about_blind_spots(tree: Tree, paths: Iterable[str]) -> Iterator[Problem]:
    """What to say of each."""
    for path in sorted(paths):
        what, _ = instead_of_a_file(tree.entries[path])
        message = f"{what}: whatever of the fleet is behind it counts as not there"
        yield Problem(Location(path), "NotAFile", message, HINT, Severity.WARNING)


def _may_be_ours(path: str, mode: str, spec: FleetSpec) -> bool:
    capacity = spec.capacity.path
    if is_hidden(path) or unit_of(spec, path) or path == capacity or path.startswith(f"{capacity}/"):
        return False
    if mode == SPECIAL and not path.endswith(READ_ENDINGS):
        return False
    # The folder is meant too by a pattern for what is below it, such as `vendor/**`, which does not match it.
    return not any(pathglob.matches_any(spec.source.exclude, place) for place in (path, f"{path}/x"))


def _is_out_of_sight(path: str, target: str, there: Sequence[str]) -> bool:
    """Whether a link leads to what nobody reads, and that may be ours. `there` are the files of the source, sorted."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if place == "." or (not is_hidden(place) and (_is_there(place, there) or _is_there(f"{place}/", there))):
        return False
    ending = posixpath.splitext(target.rstrip("/"))[1]
    return path.endswith(READ_ENDINGS) or not ending or ending in READ_ENDINGS


def _is_there(place: str, there: Sequence[str]) -> bool:
    """Whether a file is there, or one in a folder, which ends in a slash."""
    found = there[(at := bisect.bisect_left(there, place)) : at + 1]
    return bool(found) and (found[0] == place or (place.endswith("/") and found[0].startswith(place)))

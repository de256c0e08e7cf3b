"""
Which folder of a repo is which cluster's.

A pattern says it: `{cluster}` stands for the folder, `{namespace}` for one that names a namespace. Where none is given it is guessed:
folders side by side that hold the same files of Kubernetes objects, or that lie in one called `clusters`. A guess that could as well
be another is none: it is refused, and the choices are named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from gitplacer import pathglob
from gitplacer.adoption.remarks import CannotAdopt, Remark
from gitplacer.model.labels import is_dns_label
from gitplacer.problems import Location

CLUSTER = "{cluster}"
_CALLED_SO = ("clusters", "cluster")
"""What a folder is called that holds a folder for each cluster."""
_EXAMPLE = f'say which: --clusters "clusters/{CLUSTER}/**"'
_NAMED = 5


class Place(Struct, frozen=True):
    """Where a file is: whose cluster's, the path there that it would have on any cluster, and the namespace that its path gives."""

    cluster: str
    below: str
    namespace: str = ""


class Folders(Struct, frozen=True):
    """`places` are files by path, sorted; `pattern` is what was given or found."""

    pattern: str
    places: Mapping[str, Place]
    remarks: tuple[Remark, ...]

    @property
    def clusters(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted({place.cluster for place in self.places.values()}))


def by_pattern(pattern: str, paths: Iterable[str]) -> Folders:
    """The files that a pattern gives to clusters. Raises CannotAdopt where it can give none."""
    if CLUSTER not in pattern:
        raise CannotAdopt(f"--clusters {pattern} does not say where the name of a cluster is", _EXAMPLE)
    pattern = pattern.removeprefix("./").rstrip("/")
    if pattern.endswith(CLUSTER):
        pattern += "/**"
    found = pathglob.compiled(pattern)
    start = len(pathglob.fixed_folder(pattern))
    places: dict[str, Place] = {}
    odd: dict[str, str] = {}
    for path in sorted(paths):
        match = found.fullmatch(path)
        if match is None:
            continue
        name, at = match["cluster"], match.span("cluster")
        if not is_dns_label(name):
            odd.setdefault(name, path[: at[1]])
            continue
        below = path[start : at[0]] + path[at[1] :].lstrip("/")
        places[path] = Place(name, below, match.groupdict().get("namespace") or "")
    if not places and not odd:
        raise CannotAdopt(f"--clusters {pattern} matches no file of this repo", "give the pattern of its folders")
    hint = "use up to 63 lower-case letters, digits and `-`: rename the folder; until then it is left where it is"
    remarks = [Remark(Location(path), f'"{name}" cannot be the name of a cluster', hint) for name, path in odd.items()]
    if not places:
        raise CannotAdopt(f"{remarks[0].location.file}: {remarks[0].message}", "rename the folder")
    return Folders(pattern, places, tuple(sorted(remarks)))


def guessed(manifests: Collection[str], paths: Iterable[str]) -> Folders:
    """
    The folders of a repo whose files with Kubernetes objects are `manifests`, `paths` being all that may be one. Raises CannotAdopt
    where there are none side by side, or where it could be others.
    """
    below: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in manifests:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            below["/".join(parts[: depth - 1])][parts[depth - 1]].add("/".join(parts[depth:]))
    ranked = sorted((-_likeness(parent, folders), parent) for parent, folders in below.items())
    likely = [(score, parent) for score, parent in ranked if score < 0]
    if not likely:
        raise CannotAdopt("no folders side by side look like clusters: none hold the same manifests", _EXAMPLE)
    if len(likely) > 1 and likely[0][0] == likely[1][0]:
        same = [f"{parent or '.'}/" for score, parent in likely if score == likely[0][0]][:_NAMED]
        raise CannotAdopt(f"the folders in {' or in '.join(same)} could be the clusters", _EXAMPLE)
    parent = likely[0][1]
    return by_pattern(f"{parent}/{CLUSTER}/**" if parent else f"{CLUSTER}/**", paths)


def _likeness(parent: str, folders: Mapping[str, set[str]]) -> int:
    """How much the folders in one look like clusters: the files that several have, and what it is called."""
    times: dict[str, int] = defaultdict(int)
    for files in folders.values():
        for file in files:
            times[file] += 1
    shared = sum(count for count in times.values() if count > 1)
    called = parent.rpartition("/")[2].casefold() in _CALLED_SO
    return shared + (1_000_000 if called else 0)

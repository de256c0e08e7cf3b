"""
Names in a fleet, read fast and roughly, for completion alone: somebody has pressed Tab and waits.

Nothing is parsed: a kind and a name are found in the text of a document by how people write them. So a file with an error in it still tells
its names, nothing heavy is loaded, and a name may be missed or be one too many; a command that gets it looks properly. How much is
looked at is bounded, so a large fleet completes as fast as a small one, from what is found first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

_MOST_FILES = 1000
_MOST_FOLDERS = 2000
_MOST_BYTES = 1 << 16
"""Of one file: names stand at its beginning."""
_MOST_IN_ALL = 1 << 22
"""Bytes of all files."""

_DOCUMENTS = re.compile(r"^---", re.MULTILINE)
_KIND = re.compile(r"^kind:[ \t]*[\"']?(\w+)", re.MULTILINE)
_METADATA = re.compile(
    r"^metadata:[ \t]*(?:\{([^\n]*)|#?[^\n]*\n((?:[ \t]+[^\n]*\n?|[ \t]*\n|#[^\n]*\n)*))", re.MULTILINE
)
_OWN = re.compile(r"^apiVersion:[ \t]*[\"']?gitplacer\.dev/", re.MULTILINE)
_VALUE = r"[\"']?{}[\"']?:[ \t]*[\"']?([^\s\"',{{}}#]+)"
_NAME = _VALUE.format("name")
_JOINED_BY = re.compile(r"groupBy:\s*(?:\{\s*)?label:\s*[\"']?([^\s\"',}#]+)")
_FROM_PATH = re.compile(r"fromPath:\s*[\"']?((?:[^\s\"',{}#]|\{namespace\})+)")
_SIZED = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "RayCluster", "RayCronJob", "RayJob", "RayService", "ReplicaSet", "StatefulSet"}
)  # fmt: skip
_WORKLOADS = "workloads"
"""Where workloads usually are, and our own kinds are not."""
_USUAL_NAMESPACE = "workloads/{namespace}/**"


def own_names(folder: Path, kind: str) -> list[str]:
    """The names of our own kind's objects in a fleet."""
    place = "clusters" if kind == "Cluster" else "policies"
    found = {
        name
        for _, text in _files(folder, place)
        for document in _DOCUMENTS.split(text)
        if _OWN.search(document) and _kind(document) == kind and (name := _in_metadata(document, _NAME))
    }
    return sorted(found)


def group_ids(folder: Path, deployment: str) -> list[str]:
    """The groups of a fleet: those that a local deployment repo has records of, and what workloads look like."""
    return sorted({*_recorded(deployment), *_written(folder)})


def revisions(folder: Path) -> list[str]:
    """Branches and tags of the repository that a folder is in."""
    refs = ("refs/heads", "refs/tags", "refs/remotes")
    return _git(folder, "for-each-ref", "--count=500", "--format=%(refname:short)", *refs)


def contexts(named: str) -> list[str]:
    """The contexts of kubeconfigs: of one that is named, or of those that kubectl takes."""
    usual = os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    found: list[str] = []
    for path in (named or usual).split(os.pathsep):
        text = _text(Path(path))
        listed = re.search(r"^contexts:[ \t]*(\[[^\n]*|\n(?:[- ][^\n]*\n?)*)", text, re.MULTILINE)
        if listed is not None and listed[1].startswith("["):
            found += re.findall(r"\bname:[ \t]*[\"']?([^\s\"',}]+)", listed[1])
        elif listed is not None:
            found += re.findall(r"^(?:- |  |  - |    )name:[ \t]*[\"']?([^\s\"']+)", listed[1], re.MULTILINE)
    return list(dict.fromkeys(found))


def _written(folder: Path) -> Iterator[str]:
    labels: set[str] = set()
    for _, text in _files(folder, "policies", only=True):
        labels.update(_JOINED_BY.findall(text))
    template = _FROM_PATH.search(_text(folder / "fleet.yaml"))
    from_path = (template[1] if template else _USUAL_NAMESPACE).split("/")
    at = from_path.index("{namespace}") if "{namespace}" in from_path else None
    for path, text in _files(folder, _WORKLOADS, only=(folder / _WORKLOADS).is_dir()):
        parts = path.split("/")
        by_path = parts[at] if at is not None and at < len(parts) - 1 and parts[:at] == from_path[:at] else ""
        for document in _DOCUMENTS.split(text):
            if _kind(document) in _SIZED:
                joined = (_in_metadata(document, _VALUE.format(re.escape(label))) for label in sorted(labels))
                name = next(filter(None, joined), "") or _in_metadata(document, _NAME)
                namespace = _in_metadata(document, _VALUE.format("namespace")) or by_path
                if name and namespace:
                    yield f"{namespace}/{name}"


def _recorded(deployment: str) -> Iterator[str]:
    if deployment and Path(deployment).is_dir():
        for path in _git(Path(deployment), "ls-tree", "-r", "--name-only", "--full-tree", "HEAD", "placements/"):
            yield path.removeprefix("placements/").removesuffix(".yaml")


def _kind(document: str) -> str:
    found = _KIND.search(document)
    return found[1] if found else ""


def _in_metadata(document: str, pattern: str) -> str:
    """What a key of an object's metadata says; of a name, that of the object and not one further in."""
    found = _METADATA.search(document)
    if found is None:
        return ""
    if found[1] is not None:
        said = re.search(rf"(?:^|[{{,\s]){pattern}", found[1])
        return said[1] if said else ""
    block = found[2] or ""
    indents = [
        len(line) - len(line.lstrip())
        for line in block.splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    least = rf"^[ \t]{{{min(indents)}}}" if indents and pattern == _NAME else r"^[ \t]+"
    said = re.search(rf"{least}{pattern}", block, re.MULTILINE)
    return said[1] if said else ""


def _files(folder: Path, first: str, *, only: bool = False) -> Iterator[tuple[str, str]]:
    """YAML files below a folder with their text, those in the directory where such things usually are before all others, or alone."""
    usual = folder / first
    paths = _walk(usual) if only else chain(_walk(usual), _walk(folder, usual, folder / _WORKLOADS))
    left = _MOST_IN_ALL
    for path in islice(paths, _MOST_FILES):
        text = _text(path)
        yield path.relative_to(folder).as_posix(), text
        left -= len(text)
        if left < 0:
            return


def _walk(folder: Path, *but: Path) -> Iterator[Path]:
    """YAML files in the order of their names. Links are not followed, and what is hidden is not looked into."""
    waiting = [folder]
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and entry.name.endswith((".yaml", ".yml")):
                yield Path(entry.path)
        below = [e.path for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
        waiting += [Path(path) for path in reversed(below) if Path(path) not in but]


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _git(folder: Path, *args: str) -> list[str]:
    """The lines that git prints; none where it cannot, or where the folder is in no repository."""
    from gitplacer.git.address import Address
    from gitplacer.git.program import Git, GitError

    try:
        git_dir = Address.parse(str(folder), base_dir=Path()).git_dir
        said = Git(git_dir).run(*args) if git_dir is not None else b""
    except GitError:
        return []
    return said.decode("utf-8", "surrogateescape").splitlines()

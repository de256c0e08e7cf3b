"""
Whose ground each path of a source is: of workloads, of the platform, of neither; and whether it is for Kustomize, Helm or another tool
that makes manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitplacer.kinds.fleet import FleetSpec
from gitplacer.source.files import MAX_SNAPSHOT, is_hidden
from gitplacer.source.manifests import WORKLOADS, unit_of
from gitplacer.tree import Tree

_UNRENDERED = ("kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml")
_TOOLS = {
    ".jsonnet": "Jsonnet",
    ".cue": "CUE",
    ".j2": "Jinja",
    ".tpl": "a template engine",
    ".tmpl": "a template engine",
}
"""What makes manifests of files of some endings."""


class Territory:
    """The paths of a tree, by what a Fleet says. Each is looked up once."""

    def __init__(self, tree: Tree, spec: FleetSpec) -> None:
        self.spec = spec
        self.capacity = spec.capacity.path + "/"
        """The folder of the snapshots, where they lie beside the source."""
        self._tree = tree
        self._units: dict[str, str | None] = {}
        self._folders = frozenset(f for p in tree if keeps_unread(p) for f in (p.rpartition("/")[0] + "/",)) - {"/"}

    def unit(self, path: str) -> str | None:
        """Which unit a file's objects are rendered into, or None for a file that holds neither."""
        if path not in self._units:
            self._units[path] = unit_of(self.spec, path)
        return self._units[path]

    def is_trusted(self, path: str) -> bool:
        """Whether only those write there who may write own kinds."""
        return self.unit(path) != WORKLOADS and not path.startswith(self.capacity)

    def trusted_bytes(self, paths: Iterable[str]) -> dict[str, bytes]:
        """What stands at those of some paths that are trusted, as far as it is text."""
        entries = self._tree.entries
        return {
            path: self._tree.read(path)
            for path in sorted(paths)
            if entries[path].is_text and entries[path].size <= MAX_SNAPSHOT and self.is_trusted(path)
        }

    def unrendered(self, path: str) -> str | None:
        """The outermost folder that a path is in, with a slash, that holds input of Kustomize or Helm; None if there is none."""
        return next((folder for folder in folders_of(path) if folder in self._folders), None) if self._folders else None


def keeps_unread(path: str) -> bool:
    """Whether a file of this path keeps all in its folder from being read, whatever is in it: it is for Kustomize or Helm."""
    return path.rpartition("/")[2] in _UNRENDERED


def tool_of(path: str) -> str:
    """Which tool makes manifests of a file that is never read here; '' for none that is known by its ending."""
    if not path.endswith(tuple(_TOOLS)) or is_hidden(path):
        return ""
    return next(tool for ending, tool in _TOOLS.items() if path.endswith(ending))


def is_kept_unread(tree: Tree, path: str) -> bool:
    """Whether a path is in a folder of a tree that such a file is in."""
    return any(folder + name in tree.entries for folder in folders_of(path) for name in _UNRENDERED)


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path is in, each with a slash, the outermost first."""
    end = path.find("/")
    while end != -1:
        yield path[: end + 1]
        end = path.find("/", end + 1)

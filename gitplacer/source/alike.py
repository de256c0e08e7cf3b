"""
What Argo CD and Flux would not read alike in a manifest.

What was reviewed must be what runs, whichever engine syncs it. Argo CD passes over a file that says so anywhere, and takes
whatever has a list `items` for a list of objects. Flux builds with Kustomize, which drops local configuration, takes every
kind that ends in List for a list, and fails the whole directory for an empty item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitplacer.documents import Document, Findings, Path
from gitplacer.kinds.parse import is_own
from gitplacer.problems import Problem

_SKIP_MARKER = b"+argocd:skip-file-rendering"
_COLLECTIONS = (dict, list)
_LOCAL_CONFIG = "config.kubernetes.io/local-config"


def unlike(document: Document) -> list[Problem]:
    """Every problem of this sort. A `kind: List` is no matter here: its items are documents of their own."""
    value = document.value
    if is_own(document):
        return []
    found = Findings(document)
    if document.beside(_SKIP_MARKER):
        marker = _SKIP_MARKER.decode()
        found.report("EnginesDisagree", f"Argo CD passes over a file that says {marker}", "remove the marker")
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and annotations.get(_LOCAL_CONFIG, "false") != "false":
        path: Path = ("metadata", "annotations", _LOCAL_CONFIG)
        message = f"Flux drops an object with the annotation {_LOCAL_CONFIG}, Argo CD applies it"
        found.report("EnginesDisagree", message, "remove the annotation", path=path, key=True)
    kind = value.get("kind")
    if isinstance(kind, str) and kind.endswith("List"):
        message, hint = f"Flux takes a {kind} for a list of objects, and drops it", "write its items one by one"
        found.report("EnginesDisagree", message, hint, path=("kind",))
    elif isinstance(value.get("items"), list):
        message, hint = f"Argo CD takes a {kind} with items for a list of objects", "write its items one by one"
        found.report("EnginesDisagree", message, hint, path=("items",), key=True)
    for path in _empty_items(value, ()) if document.parsed.nulls else ():
        message, hint = "Flux fails for an empty item in a list", "remove it, or give it a value"
        found.report("EnginesDisagree", message, hint, path=path)
    return found.told()


def _empty_items(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, _COLLECTIONS):
                yield from _empty_items(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if item is None:
                yield (*path, index)
            elif isinstance(item, _COLLECTIONS):
                yield from _empty_items(item, (*path, index))

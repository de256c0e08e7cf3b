"""
What Argo CD and Flux would not read alike in a manifest.

What was reviewed must be what runs, whichever engine syncs it. Argo CD passes over a file that says so anywhere, and takes
whatever has a list `items` for a list of objects. Flux builds with Kustomize, which drops local configuration, takes every
kind that ends in List for a list, and fails the whole directory for an empty item. Its library for YAML has times and no `yes`,
and cannot write every character again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gitplacer.documents import Document, Findings, Path, is_time, is_word
from gitplacer.kinds.parse import is_own
from gitplacer.problems import Problem

_SKIP_MARKER = b"+argocd:skip-file-rendering"
_COLLECTIONS = (dict, list)
_PROPERTIES = re.compile(r"(?:(?:&\S*|!!bool|!<tag:yaml.org,2002:bool>)\s+)*")
"""What may stand before a word or a time that is none by its tag."""
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u")
_NOT_WRITTEN = re.compile("[\x7f-\x9f\ufffe\uffff]")
"""What gopkg.in/yaml.v3 writes as it is, and then refuses to read or reads as a space (emitterc.go, readerc.go)."""
_SAME_TIME = re.compile(r"[0-9-]{10}T[0-9:]{8}(?:\.[0-9]{0,8}[1-9])?(?:Z|[-+](?!00:00)[0-9:]{5})")
"""A time that is written as it was read."""
_ANNOTATIONS = ("metadata", "annotations")
_LOCAL_CONFIG = "config.kubernetes.io/local-config"
_NOTES = "internal.config.kubernetes.io/"
"""What annotations begin with in which Kustomize keeps what it needs while it builds; it removes them, or fails for what it did not write."""


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
    for key in annotations if isinstance(annotations, dict) else ():
        if key.startswith(_NOTES):
            message = f"Flux fails for the annotation {key[:100]}, or drops it: Kustomize keeps its notes there"
            found.report("EnginesDisagree", message, "remove the annotation", path=(*_ANNOTATIONS, key), key=True)
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
    for path, is_key, written, scalar in document.scalars() if document.parsed.twofold else ():
        for message, hint in _misread(path, is_key, _PROPERTIES.sub("", written, count=1), scalar):
            found.report("EnginesDisagree", message, hint, path=path, key=is_key)
    return found.told()


def _misread(path: Path, is_key: bool, written: str, value: object) -> Iterator[tuple[str, str]]:
    """What the readers of an engine make of a scalar that is none to others, and what to do."""
    if isinstance(value, bool) and is_word(written):
        said = str(value).lower()
        yield (
            f"Flux reads {written} as text, and Argo CD as {said}",
            f"write {said}, or put it in quotes if it is meant as text",
        )
    if is_time(written) and is_key:
        yield "Flux fails for a key that is a time", "put it in quotes"
    elif is_time(written) and path[:2] != _ANNOTATIONS and not _SAME_TIME.fullmatch(written):
        yield "Flux takes this for a time, and writes it in another way", "put it in quotes"
    if isinstance(value, str) and (control := _NOT_WRITTEN.search(value)):
        yield f"Flux cannot write the control character U+{ord(control[0]):04X}", "leave it out, or encode the text"
    if written.startswith('"') and _HALF.search(written):
        yield "Argo CD and Flux fail for an escape of half a character", "write the character itself, without escapes"


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

"""Which ServiceAccounts an object uses, whatever its kind: by the names of Kubernetes' fields, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Path
from gitplacer.rules.anything import Anything
from gitplacer.workloads.facts import Reference, distinct

_BY_NAME = ("serviceAccountName", "serviceAccount")
"""The second is the old name of the first, and still counts."""
_BY_REFERENCE = "serviceAccountRef"
_OF_EVERY_NAMESPACE = ("", "default")


def accounts(found: Anything) -> tuple[Reference, ...]:
    """The ServiceAccounts that the pods of an object run as, but for the one that every namespace has."""
    if found.is_data:
        return ()
    asked = (Reference("", "ServiceAccount", name, path=path) for path, name in _named(found))
    return distinct(reference for reference in asked if reference.name not in _OF_EVERY_NAMESPACE)


def _named(found: Anything) -> Iterator[tuple[Path, str]]:
    for path, mapping in found.mappings:
        for field in _BY_NAME:
            if isinstance(name := mapping.get(field), str):
                yield (*path, field), name
        reference = mapping.get(_BY_REFERENCE)
        if isinstance(reference, dict) and isinstance(name := reference.get("name"), str):
            yield (*path, _BY_REFERENCE, "name"), name

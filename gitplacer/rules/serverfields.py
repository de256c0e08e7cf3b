"""
What only a cluster writes: fields of a live object that was copied out of one.

A uid or resourceVersion makes the apply fail; an owner or finalizer lets the object vanish, or never go, with nothing in Git to say
why; a status claims what is not so. They are refused and not taken out, for what was reviewed is what arrives. Empty ones do
nothing, and tools write them: `creationTimestamp: null`, `status: {}`, and the status of a Service, `loadBalancer: {}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.rules.anything import Anything, ObjectRule

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_IN_METADATA: Mapping[str, str] = {
    "creationTimestamp": "says when it was made",
    "deletionGracePeriodSeconds": "says how it is deleted",
    "deletionTimestamp": "says that it is being deleted",
    "finalizers": "keeps it from being deleted",
    "generation": "counts its changes",
    "managedFields": "says who wrote which field",
    "ownerReferences": "lets it be deleted with another object",
    "resourceVersion": "makes every later apply fail",
    "selfLink": "says where an old API server had it",
    "uid": "is that of another object",
}
_HINT = "remove it: only the cluster writes it"


def written_by_servers(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Where an object has what is not its author's to write, and what that does."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for field, does in _IN_METADATA.items():
        if metadata.get(field) not in (None, "", [], {}):
            yield ("metadata", field), f"metadata.{field} {does}"
    if not _says_nothing(value.get("status")):
        yield ("status",), "status is what a cluster observed"
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and annotations.get(LAST_APPLIED):
        yield ("metadata", "annotations", LAST_APPLIED), f"{LAST_APPLIED} is a copy of the object that kubectl made"


def _says_nothing(status: Any) -> bool:
    """Whether there is nothing in a status but what Go writes of fields that nobody has set."""
    waiting = [status]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting += found.values()
        elif found not in (None, "", [], 0, "0"):  # the last is how a quantity is written that nobody has set
            return False
    return True


def server_fields(found: Anything) -> None:
    """Fields of an object that are not its author's to write."""
    for path, does in written_by_servers(found.root.value):
        found.tell("ServerField", does, _HINT, path, key=True)


RULES: tuple[ObjectRule, ...] = (server_fields,)

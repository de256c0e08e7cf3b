"""Fields that several kinds require in the same way."""

from __future__ import annotations

from gitplacer.documents import Cursor

INT32_MAX = 2**31 - 1


def required(owner: Cursor, key: str) -> Cursor | None:
    """The mapping under a key; a missing one is a problem."""
    if owner.has(key):
        return owner.mapping(key)
    owner.report("MissingField", f"{key} is missing", f"add {key}")
    return None


def count(owner: Cursor, key: str, default: int, *, least: int = 0) -> int:
    """A number of replicas, 0 or more. One below `least`, or that is no int32, is a problem."""
    found = owner.integer(key)
    if found is None:
        return default
    if not least <= found <= INT32_MAX:
        owner.report("InvalidReplicas", f"{key} is {found}", f"use a number from 0 to {INT32_MAX}", key=key)
    return max(found, 0)


def replicas_said(spec: Cursor) -> str:
    """Where the number of an object's pods comes from."""
    return f"replicas {spec.value['replicas']}" if spec.has("replicas") else "one replica unless it says otherwise"

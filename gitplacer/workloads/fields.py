"""Fields that several kinds require in the same way."""

from __future__ import annotations

import re

from gitplacer.documents import Cursor

INT32_MAX = 2**31 - 1

_PERCENT = re.compile(r"([0-9]{1,6})%", re.ASCII)


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


def share(owner: Cursor, key: str, default: int | str, number: int) -> int:
    """A number of pods under a key, or a share of `number`, as `share_of` reads it. Anything else is a problem."""
    found = share_of(owner.value[key] if owner.has(key) else default, number)
    if found is None:
        owner.report("WrongType", f"{key} must be a number or a share such as 25%", key=key)
    return found or 0


def share_of(written: object, number: int, *, up: bool = True) -> int | None:
    """
    A number, or a share such as 25% of `number`: rounded `up`, as Kubernetes does for pods that come on top, or down, as for those that may be
    gone.
    """
    if isinstance(written, int) and not isinstance(written, bool):
        return max(written, 0)
    match = _PERCENT.fullmatch(written) if isinstance(written, str) else None
    if match is None:
        return None
    hundredths = number * int(match[1])
    return -(-hundredths // 100) if up else hundredths // 100

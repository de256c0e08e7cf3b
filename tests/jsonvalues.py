"""Values as JSON has them: walked, put into another order, and laid over one another."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths to all values inside a value."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def reordered(value: Any, rng: random.Random) -> Any:
    """The value with the keys of its mappings in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: reordered(value[key], rng) for key in keys}
    return [reordered(item, rng) for item in value] if isinstance(value, list) else value


def merged(base: Any, change: Any) -> Any:
    """The base with a change laid over it: mappings key by key, lists item by item; what becomes null goes."""
    if isinstance(base, dict) and isinstance(change, dict):
        both = {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}
        return {key: value for key, value in both.items() if value is not None}
    if isinstance(base, list) and isinstance(change, list):
        return [merged(base[i] if i < len(base) else None, item) for i, item in enumerate(change)] + base[len(change) :]
    return change

"""
Two values as edits: what has to be done to one so that it is the other.

Edits are small where people would look for them: a field of a mapping, an item of a list of mappings. A list of anything else is replaced
whole, because an index says nothing to who reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitplacer.documents import Edit, Path


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same to Kubernetes: 1, 1.0 and true are three."""
    return canonical(one) == canonical(other)


def canonical(value: Any) -> str:
    """A value as a text that only the same value has."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def edits(before: Any, after: Any, path: Path = ()) -> Iterator[Edit]:
    """What makes `after` of `before`, in an order in which it can be done."""
    if same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_mapping(before, after, path)
    elif _is_of_mappings(before) and _is_of_mappings(after) and len(before) and len(after):
        yield from _of_list(before, after, path)
    else:
        yield Edit(path, "replace", after)


def _of_mapping(before: Mapping[str, Any], after: Mapping[str, Any], path: Path) -> Iterator[Edit]:
    for key in sorted(before.keys() | after.keys()):
        if key not in after:
            yield Edit((*path, key), "remove")
        elif key not in before:
            yield Edit((*path, key), "add", after[key])
        else:
            yield from edits(before[key], after[key], (*path, key))


def _of_list(before: Sequence[Any], after: Sequence[Any], path: Path) -> Iterator[Edit]:
    both = min(len(before), len(after))
    for index in range(both):
        yield from edits(before[index], after[index], (*path, index))
    for index in reversed(range(both, len(before))):
        yield Edit((*path, index), "remove")
    for item in after[both:]:
        yield Edit((*path, "-"), "add", item)


def _is_of_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)

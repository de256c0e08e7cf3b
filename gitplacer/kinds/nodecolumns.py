"""
The nodes of a snapshot as columns, for a cache.

A large cluster has thousands of nodes that are alike but for their names, and an object for each of them, with objects of its own, takes longer
to unpickle than all else that is remembered of a file. So what several nodes have alike is kept once, and each node is a row of numbers
that say which. What comes back is equal in every field, also in which fields were set; `pickle` alone is the plain version of this.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitplacer.kinds.capacity import Node

_ALIKE = ("count", "taints", "unschedulable", "ready", "allocatable")
"""What many nodes have alike. Names, the values of labels and what is used tell them apart, and a node that lists pods is like no other."""

_NOTHING_ELSE: dict[str, Any] = {"__pydantic_extra__": None, "__pydantic_private__": None}
"""The rest of what pydantic keeps of an object; nodes have none of it."""

Columns = tuple[Any, ...]
"""What `columns_of` gives: plain values, to be pickled."""


class _Distinct:
    """Values, each once, in the order in which they came first, and for each row the number of its own."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.values: list[Any] = []
        self.rows: list[int] = []

    def add(self, key: Hashable, value: Any) -> None:
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        self.rows.append(number)


def columns_of(nodes: Iterable[Node]) -> Columns:
    """Nodes as columns."""
    alike, keys, used = _Distinct(), _Distinct(), _Distinct()
    names, labels, pods = [], [], {}
    for row, node in enumerate(nodes):
        fields = node.__dict__
        alike.add(
            (*(fields[name] for name in _ALIKE), frozenset(node.model_fields_set)),
            (tuple(fields[name] for name in _ALIKE), node.model_fields_set),
        )
        keys.add(tuple(node.labels), tuple(node.labels))
        used.add(node.used, node.used)
        names.append(node.name)
        labels.append(tuple(node.labels.values()))
        if node.pods:
            pods[row] = node.pods
    return names, labels, (alike.values, alike.rows), (keys.values, keys.rows), (used.values, used.rows), pods


def nodes_of(columns: Columns, kind: type[Node]) -> tuple[Node, ...]:
    """Nodes again, objects of `kind`."""
    names, labels, (alike, which), (keys, whose), (used, what), pods = columns
    found = []
    for row, name in enumerate(names):
        (count, taints, unschedulable, ready, allocatable), given = alike[which[row]]
        fields = {
            "name": name,
            "count": count,
            "labels": dict(zip(keys[whose[row]], labels[row], strict=True)),
            "taints": taints,
            "unschedulable": unschedulable,
            "ready": ready,
            "allocatable": allocatable,
            "used": used[what[row]],
            "pods": pods.get(row, ()),
        }
        node = kind.__new__(kind)
        node.__setstate__({"__dict__": fields, "__pydantic_fields_set__": given, **_NOTHING_ELSE})
        found.append(node)
    return tuple(found)

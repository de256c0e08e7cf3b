"""
A snapshot as the file that it is kept in.

What is as it is by default is not written, entries are sorted where they were made, and times and amounts have one spelling: the same
snapshot is the same bytes. A node, a group, a class stands on one line, so that a difference shows what changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fields import Model
from gitplacer.kinds.nodecolumns import NodeTable
from gitplacer.model import quantity
from gitplacer.model.resources import Resources
from gitplacer.yamltext import to_yaml

_FIRST = ("api_version", "kind", "metadata", "observed_at", "applied", "nodes", "node_groups", "groups")


def snapshot_file(snapshot: CapacitySnapshot) -> bytes:
    """The YAML of a snapshot. Reading it gives the same snapshot."""
    return to_yaml(_plain(snapshot))


def _plain(value: Any) -> Any:
    match value:
        case Model():
            return {name: _plain(item) for name, item in _said(value)}
        case Resources():
            return value.rendered()
        case datetime():
            return f"{value:%Y-%m-%dT%H:%M:%SZ}"
        case Mapping():
            # amounts that may be zero are integers by resource, and nothing else in a snapshot is
            return {
                key: quantity.render(key, item) if type(item) is int else _plain(item) for key, item in value.items()
            }
        case list() | tuple() | NodeTable():
            return [_plain(item) for item in value]
    return value


def _said(model: Model) -> Iterator[tuple[str, Any]]:
    """The fields that are not as they are by default, by their names in files; those of every kind of ours first."""
    fields = type(model).model_fields
    for name in sorted(fields, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST)):
        field, value = fields[name], getattr(model, name)
        if field.is_required() or value != field.get_default(call_default_factory=True):
            yield field.alias or name, value

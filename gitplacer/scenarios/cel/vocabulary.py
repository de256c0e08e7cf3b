"""
What expressions may speak of: the keys of the plan, and a few functions.

What type each has is read off the plan's JSON Schema, so a field that no plan has is a mistake in the expression, and not a false
or, in `has(…)`, a quiet one. Functions are few: what a plan holds under two keys should not need a third way to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from gitplacer.formats.planschema import plan_schema

Schema = Mapping[str, Any]

BOOLEAN: Schema = {"type": "boolean"}
STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
UNKNOWN: Schema = {}
NAMES: Schema = {"type": "array", "items": STRING}

VARIABLES = ("groups", "fleet", "clusters", "summary", "review", "problems", "inputs")
"""Keys of the plan that are variables; `plan` is all of it."""

MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})


class Function(Struct, frozen=True):
    """How many arguments a function takes, and what it gives."""

    least: int
    most: int
    gives: Schema


@cache
def variables() -> Mapping[str, Schema]:
    """Each variable with its schema."""
    plan = plan_schema()
    return {**{name: plan["properties"][name] for name in VARIABLES}, "plan": plan, "lost": NAMES, "drained": NAMES}


@cache
def functions() -> Mapping[str, Function]:
    """What may be called by its name."""
    groups, fleet = variables()["groups"]["items"], variables()["fleet"]["items"]
    return {
        "group": Function(1, 1, groups),
        "cluster": Function(1, 1, fleet),
        "label": Function(2, 2, STRING),
        "region": Function(1, 1, STRING),
        "quantity": Function(1, 2, NUMBER),
        "size": Function(1, 1, INTEGER),
        **{name: Function(1, 1, gives) for name, gives in _CONVERSIONS.items()},
    }


_CONVERSIONS: Mapping[str, Schema] = {
    "bool": BOOLEAN,
    "double": NUMBER,
    "duration": UNKNOWN,
    "dyn": UNKNOWN,
    "int": INTEGER,
    "string": STRING,
    "timestamp": UNKNOWN,
    "type": UNKNOWN,
}

_CLOCK = ("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes",
          "getMonth", "getSeconds")  # fmt: skip

METHODS: Mapping[str, Function] = {
    "size": Function(0, 0, INTEGER),
    "contains": Function(1, 1, BOOLEAN),
    "startsWith": Function(1, 1, BOOLEAN),
    "endsWith": Function(1, 1, BOOLEAN),
    "matches": Function(1, 1, BOOLEAN),
    **{name: Function(0, 1, INTEGER) for name in _CLOCK},
}
"""What may be called on a value."""


def resolved(schema: Schema) -> Schema:
    """A schema with what it refers to in its place."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Schema = plan_schema()["$defs"][str(reference).rsplit("/", 1)[1]]
    return found


def type_of(schema: Schema) -> str | None:
    """The one type of a value, leaving null aside; None where it is not known."""
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else [one for one in kind or () if one != "null"]
    if not kinds and "enum" in schema:
        kinds = sorted({"string" for one in schema["enum"] if isinstance(one, str)})
    return kinds[0] if len(kinds) == 1 else None

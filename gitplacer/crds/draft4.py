"""
A structural schema as JSON Schema, draft 4, for a validator in Rust.

OpenAPI 3.0 is draft 4 with other words: `nullable` is one more type, `x-kubernetes-int-or-string` two types. What does
not validate values (descriptions, defaults, formats) is left out, and so is every keyword that an API server does not
know, `$ref` above all: nothing is ever fetched. Fields that are not in the schema are pruned before, not refused here.

The validator sees an object as the API server's does: nulls, defaults and unknown fields already dealt with
(`gitplacer.crds.admission`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitplacer.crds import patterns
from gitplacer.crds.structural import INT_OR_STRING, Examination, is_int_or_string

if TYPE_CHECKING:
    import jsonschema_rs

_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_LOGIC = ("allOf", "anyOf", "oneOf")
NULL = {"type": "null"}
"""The form that is put beside those of a value that may be null: a null is asked nothing else."""
_TYPE_ONLY = frozenset(("type", "description"))
_NEEDED_IN_METADATA = ("name", "generateName")
"""All that a schema may say about metadata; the rest is the API server's own."""


def translated(schema: Mapping[str, Any], examination: Examination) -> dict[str, Any]:
    """The JSON Schema of a whole object, for a schema without faults. Its status is not looked at."""
    properties = dict(schema.get("properties") or {})
    properties.pop("status", None)
    metadata = properties.pop("metadata", None) or {}
    required = [name for name in schema.get("required") or () if name != "status"]
    found = _translated({**schema, "properties": properties, "required": required}, examination.patterns)
    named = {k: v for k, v in (metadata.get("properties") or {}).items() if k in _NEEDED_IN_METADATA}
    if named:
        below = {name: _translated(v, examination.patterns) for name, v in named.items()}
        found.setdefault("properties", {})["metadata"] = {"properties": below}
    return found


def compiled(schema: Mapping[str, Any]) -> jsonschema_rs.Draft4Validator:
    """The validator of a translated schema."""
    import jsonschema_rs  # only where there is a CRD

    return jsonschema_rs.Draft4Validator(dict(schema), pattern_options=patterns.options(), offline=True)


def _translated(schema: Mapping[str, Any], checked: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    either, kind = schema.get(INT_OR_STRING), schema.get("type")
    nullable = bool(schema.get("nullable"))
    if either:
        found["type"] = ["integer", "string", "null"] if nullable else ["integer", "string"]
    elif kind:
        found["type"] = [kind, "null"] if nullable else kind
    if schema.keys() <= _TYPE_ONLY:
        return found
    _limits(schema, found, checked)
    if schema.get("required"):
        found["required"] = sorted(set(schema["required"]))
    if schema.get("items") is not None:
        found["items"] = _translated(schema["items"], checked)
    if schema.get("properties"):
        found["properties"] = {name: _translated(below, checked) for name, below in schema["properties"].items()}
    more = schema.get("additionalProperties")
    if more is False:
        found["maxProperties"] = 0  # a schema that has it has no properties
    elif isinstance(more, dict):
        found["additionalProperties"] = _translated(more, checked)
    logic: dict[str, Any] = {
        key: [_translated(branch, checked) for branch in schema[key]] for key in _LOGIC if schema.get(key)
    }
    if either and is_int_or_string(schema.get("anyOf")):
        del logic["anyOf"]
    if schema.get("not") is not None:
        logic["not"] = _translated(schema["not"], checked)
    if nullable and logic:
        logic = {"anyOf": [NULL, logic]}
    if schema.get("enum"):
        # null is in no enum, not even in one that lists it: the API server does not compare it
        values = {json.dumps(value, sort_keys=True): value for value in schema["enum"] if value is not None}
        if values:
            found["enum"] = list(values.values())
        else:
            logic = {"allOf": [{"not": {}}, logic]}
    return {**found, **logic}


def _limits(schema: Mapping[str, Any], found: dict[str, Any], checked: frozenset[str]) -> None:
    for key, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(key) is not None:
            found[key] = schema[key]
            if schema.get(exclusive):
                found[exclusive] = True
    for key in _SIZES:
        if (size := schema.get(key)) is not None:
            if size >= 0:
                found[key] = size
            elif key.startswith("max"):
                found[key] = 0  # draft 4 knows no size below zero
    if (schema.get("multipleOf") or 0) > 0:
        found["multipleOf"] = schema["multipleOf"]
    if schema.get("pattern") in checked:
        found["pattern"] = schema["pattern"]

"""
JSON Schema (draft 2020-12) of our kinds, from their declarations.

Editors show titles and descriptions; pydantic's own titles ("Matchlabels") and its "or null" of optional fields are
tidied away, because the parser refuses null. The combined schema chooses by `kind` and lets foreign kinds pass.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from gitplacer.kinds import OWN_API_GROUP, TABLE
from gitplacer.kinds.fields import Model, duration_text

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}


@cache
def schema_of(model: type[Model]) -> dict[str, Any]:
    """The schema of one kind, without `$schema`; `$defs` are at its root."""
    schema: dict[str, Any] = _tidied(_described(model.model_json_schema(schema_generator=_Generator), model))
    return schema


def kind_schema(kind: str) -> dict[str, Any]:
    """The schema of one kind as a document of its own. Raises KeyError for an unknown kind."""
    return {"$schema": DRAFT, **schema_of(TABLE[kind]), "title": kind}


def combined_schema() -> dict[str, Any]:
    """One schema for every file of a fleet repo: our kinds by name, all others pass."""
    definitions: dict[str, Any] = {}
    branches = []
    for kind, model in TABLE.items():
        schema = dict(schema_of(model))
        definitions.update(schema.pop("$defs", {}))
        definitions[kind] = schema
        branches.append(
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"$ref": f"#/$defs/{kind}"},
            }
        )
    return {
        "$schema": DRAFT,
        "title": "gitplacer",
        "description": "A file of a gitplacer fleet repo. Kinds of other API groups pass.",
        "type": "object",
        "if": {
            "properties": {"apiVersion": {"type": "string", "pattern": f"^{re.escape(OWN_API_GROUP)}(/|$)"}},
            "required": ["apiVersion"],
        },
        "then": {
            "properties": {"apiVersion": {"const": f"{OWN_API_GROUP}/v1alpha1"}, "kind": {"enum": list(TABLE)}},
            "required": ["kind"],
            "allOf": branches,
        },
        "$defs": dict(sorted(definitions.items())),
    }


def _described(schema: dict[str, Any], model: type[Model]) -> dict[str, Any]:
    """
    The schema with each field's name as its title, and its description: the string below the field in its declaration,
    or else what is said of what it holds.
    """
    definitions = schema.get("$defs", {})
    models = {found.__name__: found for found in _with_subclasses(Model)}
    for name, part in ((model.__name__, schema), *definitions.items()):
        texts = {k: v for base in reversed(models[name].__mro__) if issubclass(base, Model) for k, v in _texts(base)}
        for field, info in models[name].model_fields.items():
            described = part["properties"][info.alias or field]
            described["title"] = info.alias or field
            described["description"] = texts.get(field) or definitions[_target(described)]["description"]
            if "default" in described:
                described["default"] = _as_written(info.get_default(call_default_factory=True), described)
    return schema


def _as_written(default: Any, described: dict[str, Any]) -> Any:
    """
    A default as a file would say it, because editors propose it: `{}` for an object whose fields have theirs, `1h` for a duration. None for
    what is said by leaving the field out: nothing at all, where the field may not be empty.
    """
    if isinstance(default, Model):
        return default.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if isinstance(default, int) and described.get("type") == "string":
        return duration_text(default)
    must_hold_some = any(described.get(least) for least in ("minItems", "minLength", "minProperties"))
    return None if must_hold_some and not default else described["default"]


def _target(schema: dict[str, Any]) -> str:
    """The name of the definition that a field refers to."""
    return str(schema["$ref"]).rsplit("/", 1)[1]


def _with_subclasses(model: type[Model]) -> Iterator[type[Model]]:
    yield model
    for found in model.__subclasses__():
        yield from _with_subclasses(found)


@cache
def _texts(model: type[Model]) -> tuple[tuple[str, str], ...]:
    """The fields that a class itself declares, each with the string that follows it."""
    return tuple(
        (field.target.id, inspect.cleandoc(text.value.value))
        for field, text in itertools.pairwise(_classes(model.__module__)[model.__name__].body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    )  # fmt: skip


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes at the top of a module, as they are written. `inspect.getsource` of each of them would parse the module for each."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


def _tidied(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_tidied(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key != "default" or value is not None:
            out[key] = _tidied(value)
    choices = out.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [choice for choice in choices if choice != {"type": "null"}]
        del out["anyOf"]
        out = {**(rest[0] if len(rest) == 1 else {"anyOf": rest}), **out}
    if "patternProperties" in out and "additionalProperties" not in out:
        ((pattern, value),) = out.pop("patternProperties").items()
        out["propertyNames"] = {**out.get("propertyNames", {}), "pattern": pattern}
        out["additionalProperties"] = value
    return out

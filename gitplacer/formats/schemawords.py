"""The words that the JSON Schemas of printed documents are made of."""

from __future__ import annotations

from typing import Any


def object_of(description: str = "", **properties: Any) -> dict[str, Any]:
    """An object that has all of these keys; a later version may add others."""
    return {"type": "object", **_said(description), "required": list(properties), "properties": properties}


def array_of(items: dict[str, Any], description: str) -> dict[str, Any]:
    """A list."""
    return {"type": "array", **_said(description), "items": items}


def text(description: str, pattern: str = "") -> dict[str, Any]:
    """A string, of a pattern if one is given."""
    return {"type": "string", **_said(description), **({"pattern": pattern} if pattern else {})}


def count(description: str = "") -> dict[str, Any]:
    """A number of things."""
    return {"type": "integer", "minimum": 0, **_said(description)}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema describes, or nothing."""
    return {**schema, "type": [schema["type"], "null"]}


def _said(description: str) -> dict[str, str]:
    return {"description": description} if description else {}

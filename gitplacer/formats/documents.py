"""The documents that commands print for programs, each with its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gitplacer.formats.explanationschema import explanation_schema
from gitplacer.formats.planschema import plan_schema
from gitplacer.formats.roomschema import room_schema

DOCUMENTS: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType(
    {"Plan": plan_schema, "Explanation": explanation_schema, "Room": room_schema}
)
"""Kinds of documents that are printed and never read."""

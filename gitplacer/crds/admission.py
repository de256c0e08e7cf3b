"""
What an API server makes of a custom resource before it validates it: nulls, defaults, unknown fields.

In this order, for each mapping: a null in a field that is not nullable is as if it were not written; then fields that
are missing get their defaults, in what was defaulted too; then fields that the schema does not know are dropped, unless
`x-kubernetes-preserve-unknown-fields` keeps them. Nulls in lists stay, unless the items have a default. What is dropped
is told, because nobody else will: kubectl may warn, a GitOps engine reports success.

On the same walk go the two checks that JSON Schema cannot express: lists whose items are told apart by keys, and
objects inside the object. The value is copied only where it changes, and only schemas that a value reaches are looked
at: of a CRD's ten thousand, a manifest reaches two hundred.

Sources: "Defaulting and Nullable" and "Field pruning" in the Kubernetes documentation of CustomResourceDefinitions;
k8s.io/apiextensions-apiserver, pkg/apiserver/schema: defaulting, pruning, listtype, objectmeta.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from gitplacer.crds.structural import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, PRESERVE
from gitplacer.documents import Path, dotted

MAX_FINDINGS = 100
"""Findings of one object that are told."""

_ABOUT_OBJECTS = frozenset(("apiVersion", "kind", "metadata"))
_KIND = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_ABSENT = object()


class Pruned(Struct, frozen=True):
    """A field that the API server drops, and the names that would be known there."""

    path: Path
    known: tuple[str, ...]


class Refused(Struct, frozen=True):
    """A value that the API server refuses, and why: a sentence that begins with its path."""

    path: Path
    message: str


Finding = Pruned | Refused


class Node:
    """A schema as this walk needs it; those below it are made when a value gets there."""

    __slots__ = (
        "_additional", "_below", "_default", "_items", "_schema", "additional", "defaults", "embedded", "keys",
        "list_type", "nullable", "preserve", "properties", "root", "type",
    )  # fmt: skip

    def __init__(self, schema: Mapping[str, Any], *, root: bool = False) -> None:
        self._schema = schema
        self._below: dict[str, Node] = {}
        self._additional: Node | None = None
        self._items: Node | None = None
        self._default: Any = _ABSENT
        self.root = root
        self.type: str = schema.get("type") or ("string" if schema.get(INT_OR_STRING) else "")
        self.nullable = bool(schema.get("nullable"))
        self.preserve = bool(schema.get(PRESERVE))
        self.embedded = bool(schema.get(EMBEDDED))
        self.properties: Mapping[str, Any] = schema.get("properties") or {}
        self.additional: Any = schema.get("additionalProperties")
        self.defaults = tuple(name for name, below in self.properties.items() if below.get("default") is not None)
        self.list_type: str = schema.get(LIST_TYPE) or ""
        self.keys: tuple[str, ...] = tuple(schema.get(LIST_KEYS) or ())

    def below(self, name: str) -> Node:
        """The schema of a field that is among the properties, or else of any field, where additionalProperties is one."""
        node = self._below.get(name)
        if node is None:
            if name in self.properties:
                node = self._below[name] = Node(self.properties[name])
            else:
                if self._additional is None:
                    self._additional = Node(self.additional)
                node = self._additional
        return node

    def items(self) -> Node | None:
        """The schema of a list's items."""
        if self._items is None and self._schema.get("items") is not None:
            self._items = Node(self._schema["items"])
        return self._items

    def default(self) -> Any:
        """The default with the defaults inside it, or None when there is none. Not to be changed."""
        if self._default is _ABSENT:
            written = self._schema.get("default")
            self._default = None if written is None else _Walk().admit(self, written, ())
        return self._default


def admitted(root: Node, value: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """
    The object as it is validated, and what was found on the way, at most MAX_FINDINGS. The status is left out, because
    it is not written from Git; metadata stays as it is, because it is the API server's own.
    """
    walk = _Walk()
    written = {key: below for key, below in value.items() if key != "status"} if "status" in value else dict(value)
    return walk.admit(root, written, ()), walk.findings


class _Walk:
    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def find(self, finding: Finding) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)

    def admit(self, node: Node, value: Any, path: Path, *, preserve: bool = False) -> Any:
        """The value as it is validated; the value itself where nothing changes."""
        if type(value) is dict:
            # what should not be a mapping at all is refused; its fields are nobody's
            return value if node.type not in ("object", "") else self.mapping(node, value, path, preserve)
        if type(value) is list:
            return value if node.type not in ("array", "") else self.sequence(node, value, path, preserve)
        return value

    def mapping(self, node: Node, value: dict[str, Any], path: Path, preserve: bool) -> dict[str, Any]:
        properties, additional = node.properties, node.additional
        keeps, is_object = preserve or node.preserve, node.root or node.embedded
        any_field = type(additional) is dict
        changes: dict[str, Any] = {}
        for name, below in value.items():
            known = name in properties
            if known and type(below) is str:
                continue
            if is_object and name in _ABOUT_OBJECTS:
                continue
            if known or any_field:
                if type(below) is dict or type(below) is list:
                    found = self.admit(node.below(name), below, (*path, name))
                    if found is not below:
                        changes[name] = found
                elif below is None and not node.below(name).nullable:
                    default = node.below(name).default()
                    changes[name] = _ABSENT if default is None else default
            elif keeps or additional is False:
                continue
            elif additional is True:
                self.empty(below, (*path, name))
            else:
                self.find(Pruned((*path, name), tuple(properties)))
                changes[name] = _ABSENT
        for name in node.defaults:
            if name not in value:
                changes[name] = node.below(name).default()
        admitted = value
        if changes:
            merged = {**value, **changes}
            admitted = {name: below for name, below in merged.items() if below is not _ABSENT}
        if node.embedded:
            self.embedded(admitted, path)
        return admitted

    def sequence(self, node: Node, value: list[Any], path: Path, preserve: bool) -> list[Any]:
        items = node.items()
        admitted = value
        if items is not None:
            keeps = preserve or node.preserve
            for index, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    found = self.admit(items, item, (*path, index), preserve=keeps)
                elif item is None and not items.nullable:
                    found = items.default()
                else:
                    continue
                if found is not item:
                    if admitted is value:
                        admitted = list(value)
                    admitted[index] = found
        if node.list_type == "set":
            self.unlike(admitted, [_identity(item) for item in admitted], path, ())
        elif node.list_type == "map" and all(type(item) is dict for item in admitted):
            keys = node.keys
            if len(admitted) > 1:
                told = [tuple(_identity(item.get(key, _ABSENT)) for key in keys) for item in admitted]
                self.unlike(admitted, told, path, keys)
        return admitted

    def empty(self, value: Any, path: Path) -> None:
        """`additionalProperties: true` lets any field be, and says nothing of what is inside: there all is dropped."""
        for below, at in _fields(value, path):
            self.find(Pruned((*at, below), ()))

    def unlike(self, items: list[Any], identities: list[Any], path: Path, keys: tuple[str, ...]) -> None:
        """Items of a list that must differ, and do not."""
        first: dict[Any, int] = {}
        for index, identity in enumerate(identities):
            earlier = first.setdefault(identity, index)
            if earlier == index:
                continue
            here, there = dotted((*path, index)), dotted((*path, earlier))
            what = f"repeats {there}"
            if keys:
                named = [f"{key} {_plain(items[index][key])}" for key in keys if key in items[index]]
                what = f"repeats the {' and '.join(named)} of {there}"
                if not named:
                    what = f"lacks {' and '.join(keys)}, as does {there}, and they must differ"
            self.find(Refused((*path, index), f"{here} {what}"))

    def embedded(self, value: Mapping[str, Any], path: Path) -> None:
        """An object inside the object is one: it has an apiVersion, a kind, and metadata that is a mapping."""
        for key in ("apiVersion", "kind"):
            text, where = value.get(key), (*path, key)
            if key not in value or text == "":
                self.find(Refused(where, f"{dotted(where)} is missing: an object is expected at {dotted(path)}"))
            elif type(text) is not str:
                self.find(Refused(where, f"{dotted(where)} must be text"))
            elif key == "apiVersion" and text.count("/") > 1:
                self.find(Refused(where, f'{dotted(where)} must be like apps/v1, not "{text[:60]}"'))
            elif key == "kind" and not _KIND.fullmatch(text.lower()):
                self.find(Refused(where, f'{dotted(where)} must be the name of a kind, not "{text[:60]}"'))
        if type(value.get("metadata", {})) is not dict and value["metadata"] is not None:
            where = (*path, "metadata")
            self.find(Refused(where, f"{dotted(where)} must be a mapping"))


def _fields(value: Any, path: Path) -> Iterator[tuple[str, Path]]:
    """The fields of a mapping, or of the mappings in a list, however deep lists are in each other."""
    below = [(value, path)]
    while below:
        one, at = below.pop()
        if type(one) is dict:
            for name in one:
                yield name, at
        elif type(one) is list:
            below.extend((item, (*at, index)) for index, item in enumerate(one))


def _identity(value: Any) -> Any:
    """What makes two values the same to the API server: 1, 1.5, true and "1" all differ, the order of keys does not."""
    if type(value) is dict or type(value) is list:
        return json.dumps(value, sort_keys=True), "json"
    return value, type(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]

"""
Whether a CRD's schema is structural, and what in it nobody but an API server checks.

An API server takes a schema only when it is structural: every field has its type outside of allOf, anyOf, oneOf and
not, and nothing refers to anything else. That is what makes pruning and defaults well defined, so it is looked at
before a schema is used for either; and since a schema is input like any other, nothing in it is trusted to be of the
right type or of a sane depth. We look at what structure means, not at every rule for extensions and defaults: a CRD
that passes here can still be refused by the cluster, one that fails is refused.

Sources: "Specifying a structural schema" in the Kubernetes documentation of CustomResourceDefinitions;
k8s.io/apiextensions-apiserver, pkg/apiserver/schema (validation.go, complete.go) and pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from gitplacer.crds import patterns
from gitplacer.documents import Path

MAX_BRANCHES = 20_000
"""Schemas below allOf, anyOf, oneOf and not: each is tried on the same value. The largest known CRDs have hundreds."""
MAX_PATTERNS = 256
"""Different patterns of one schema that are checked; each may cost a MiB once it is compiled."""
MAX_FAULTS = 20
"""Faults of one schema that are told."""

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
RULES = "x-kubernetes-validations"

_TEXT, _FLAG, _NUMBER, _COUNT, _LIST, _MAPPING = (str,), (bool,), (int, float), (int,), (list,), (dict,)
_READ_AS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "$schema", "$ref", "description", "type", "format", "title", "pattern"), _TEXT),
    **dict.fromkeys((LIST_TYPE, "x-kubernetes-map-type"), _TEXT),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"), _FLAG),
    **dict.fromkeys((PRESERVE, EMBEDDED, INT_OR_STRING), _FLAG),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), _COUNT),
    **dict.fromkeys(("required", "enum", "allOf", "anyOf", "oneOf", LIST_KEYS, RULES), _LIST),
    **dict.fromkeys(("not", "properties", "patternProperties", "definitions", "dependencies"), _MAPPING),
    "items": (dict, list),
    "additionalProperties": (dict, bool),
    "additionalItems": (dict, bool),
}
"""What Go reads each keyword as; anything else there makes the whole CRD unreadable. Unknown keywords are dropped."""
_WORDS: Mapping[tuple[type, ...], str] = {
    _TEXT: "text", _FLAG: "true or false", _NUMBER: "a number", _COUNT: "a whole number", _LIST: "a list",
    _MAPPING: "a mapping", (dict, list): "a mapping", (dict, bool): "a mapping",
}  # fmt: skip
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REFUSED = ("id", "$schema", "$ref", "patternProperties", "definitions", "dependencies", "additionalItems")
_LOGIC = ("allOf", "anyOf", "oneOf", "not")
_NOT_IN_LOGIC = (
    "type", "title", "description", "nullable", PRESERVE, EMBEDDED, INT_OR_STRING, LIST_TYPE, LIST_KEYS,
    "x-kubernetes-map-type", RULES,
)  # fmt: skip
_PLAIN = frozenset({
    "description", "type", "title", "default", "nullable", "externalDocs", "example", "multipleOf",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties",
})  # fmt: skip
"""Keywords that say nothing about structure: a schema of these alone needs no second look."""
_INT_OR_STRING_BRANCHES = [{"type": "integer"}, {"type": "string"}]
_CHECKED_FORMATS = frozenset({
    "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
    "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "date", "duration", "datetime",
    "quantity", "k8sshortname", "k8slongname",
})  # fmt: skip
"""Formats of text that an API server checks (pkg/apiserver/validation/formats.go), hyphens left out."""


@dataclass(frozen=True)
class Schema:
    """An openAPIV3Schema as it is written, known by its digest: the same text is examined and compiled once."""

    digest: str
    value: Mapping[str, Any] = field(compare=False, repr=False)


class Gap(Struct, frozen=True, order=True):
    """
    Something that an API server checks and we do not. `path` is where in an object, as people write it; `what` is
    "CEL rule", "pattern" or "format".
    """

    path: str
    what: str
    text: str


class Examination(Struct, frozen=True):
    """What keeps a schema from being used, each with its path in the schema; gaps; the patterns that are checked."""

    faults: tuple[tuple[Path, str], ...]
    gaps: tuple[Gap, ...]
    patterns: frozenset[str]


_EXAMINED: dict[str, Examination] = {}
_MAX_EXAMINED = 4096


def schema_of(value: Mapping[str, Any]) -> Schema:
    """The schema with its digest."""
    return Schema(hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest(), value)


def examine(schema: Schema) -> Examination:
    """What is to be said about a schema. Kept by digest, because a run looks at the same CRDs again and again."""
    known = _EXAMINED.get(schema.digest)
    if known is None:
        if len(_EXAMINED) >= _MAX_EXAMINED:
            _EXAMINED.clear()
        known = _EXAMINED[schema.digest] = _examined(schema.value)
    return known


def is_int_or_string(branches: Any) -> bool:
    """Whether an anyOf is the one that may name types: `[{type: integer}, {type: string}]`."""
    return bool(branches == _INT_OR_STRING_BRANCHES)


def _examined(schema: Mapping[str, Any]) -> Examination:
    examiner = _Examiner()
    with contextlib.suppress(_Enough):
        examiner.structural(schema, (), root=True)
    return Examination(tuple(examiner.faults), tuple(sorted(examiner.gaps)), frozenset(examiner.patterns))


class _Enough(Exception):
    """No more faults are told."""


class _Examiner:
    def __init__(self) -> None:
        self.faults: list[tuple[Path, str]] = []
        self.gaps: set[Gap] = set()
        self.patterns: set[str] = set()
        self.branches = 0

    def fault(self, path: Path, message: str) -> None:
        self.faults.append((path, message))
        if len(self.faults) >= MAX_FAULTS:
            raise _Enough

    def readable(self, schema: Any, path: Path) -> bool:
        """Whether it is a schema at all: a mapping whose keywords have the types that Go gives them."""
        if type(schema) is not dict:
            self.fault(path, "a schema is a mapping")
            return False
        read_as = _READ_AS
        sound = True
        for key, value in schema.items():
            types = read_as.get(key)
            if types is not None and type(value) not in types and value is not None:
                self.fault((*path, key), f"{key} must be {_WORDS[types]}")
                sound = False
        for key in ("required", LIST_KEYS):
            if sound and key in schema and not all(type(item) is str for item in schema[key] or ()):
                self.fault((*path, key), f"{key} must be a list of texts")
                sound = False
        return sound

    def structural(self, schema: Any, path: Path, *, root: bool = False) -> None:
        """A schema outside of allOf, anyOf, oneOf and not: it gives the value its type."""
        if not self.readable(schema, path):
            return
        kind = schema.get("type") or ""
        if kind and kind not in _TYPES:
            self.fault((*path, "type"), f'there is no type "{kind[:40]}": types are {", ".join(_TYPES)}')
        if not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
            self.fault(path, "type is missing")
        if root and kind != "object":
            self.fault((*path, "type"), "the type of the whole object must be object")
        if schema.keys() <= _PLAIN:
            if kind == "array":
                self.fault(path, "items is missing: a list needs the schema of its items")
            return
        self.extensions(schema, path, kind)
        self.values(schema, path)
        self.rules(schema, path)
        items, more = schema.get("items"), schema.get("additionalProperties")
        if kind == "array" and items is None:
            self.fault(path, "items is missing: a list needs the schema of its items")
        if items is not None:
            if type(items) is list:
                self.fault((*path, "items"), "items must be one schema, not a list of them")
            else:
                self.structural(items, (*path, "items"))
        if more is not None:
            if root:
                self.fault((*path, "additionalProperties"), "additionalProperties is not allowed at the top")
            if schema.get("properties") and more is not True:
                self.fault((*path, "additionalProperties"), "a schema has properties or additionalProperties, not both")
            if type(more) is dict:
                self.structural(more, (*path, "additionalProperties"))
        for name, below in (schema.get("properties") or {}).items():
            self.structural(below, (*path, "properties", name))
        for branch, where in _branches(schema, path):
            self.branch(branch, schema, where)

    def branch(self, schema: Any, structure: Any, path: Path) -> None:
        """A schema below allOf, anyOf, oneOf or not: it may restrict what the `structure` beside it allows."""
        self.branches += 1
        if self.branches > MAX_BRANCHES:
            self.fault((), f"more than {MAX_BRANCHES} schemas are in allOf, anyOf, oneOf and not")
            raise _Enough
        if not self.readable(schema, path):
            return
        if type(structure) is not dict:
            self.fault(path, "it restricts a field that the schema outside of allOf, anyOf, oneOf and not lacks")
            return
        wrong = [key for key in _NOT_IN_LOGIC if schema.get(key)]
        wrong += [key for key in ("default", "additionalProperties") if schema.get(key) is not None]
        for key in wrong:
            self.fault((*path, key), f"{key} is not allowed inside allOf, anyOf, oneOf and not")
        self.values(schema, path)
        items = schema.get("items")
        if items is not None:
            if type(items) is list:
                self.fault((*path, "items"), "items must be one schema, not a list of them")
            else:
                self.branch(items, structure.get("items"), (*path, "items"))
        outside = structure.get("properties")
        for name, below in (schema.get("properties") or {}).items():
            where = (*path, "properties", name)
            if name == "metadata":
                self.fault(where, "metadata cannot be restricted inside allOf, anyOf, oneOf and not")
            else:
                self.branch(below, outside.get(name) if type(outside) is dict else None, where)
        for below, where in _branches(schema, path):
            self.branch(below, structure, where)

    def extensions(self, schema: Mapping[str, Any], path: Path, kind: str) -> None:
        """What an extension asks of the schema that it is in."""
        if schema.get(PRESERVE) is False:
            self.fault((*path, PRESERVE), f"{PRESERVE} must be true, or left out")
        if schema.get(EMBEDDED):
            if kind != "object":
                self.fault(path, f"type must be object where {EMBEDDED} is true")
            if not schema.get(PRESERVE) and not schema.get("properties"):
                self.fault(path, f"properties must be given where {EMBEDDED} is true")
            if schema.get("additionalProperties") is not None:
                self.fault((*path, "additionalProperties"), f"additionalProperties is not allowed with {EMBEDDED}")
        if schema.get(INT_OR_STRING) and (schema.get(PRESERVE) or schema.get(EMBEDDED)):
            self.fault((*path, INT_OR_STRING), f"{INT_OR_STRING} goes with neither {PRESERVE} nor {EMBEDDED}")
        list_type = schema.get(LIST_TYPE)
        if list_type is not None and list_type not in ("atomic", "set", "map"):
            self.fault((*path, LIST_TYPE), f"{LIST_TYPE} must be atomic, set or map")
        if list_type is not None and kind != "array":
            self.fault((*path, LIST_TYPE), f"type must be array where {LIST_TYPE} is given")
        if (list_type == "map") != bool(schema.get(LIST_KEYS)):
            self.fault(path, f"{LIST_KEYS} and the {LIST_TYPE} map go together")

    def values(self, schema: Mapping[str, Any], path: Path) -> None:
        """Keywords that may stand anywhere: those that are refused, and those that leave a gap."""
        for key in _REFUSED:
            if schema.get(key) not in (None, "", {}):
                self.fault((*path, key), f"{key} is not supported in a CRD")
        if schema.get("uniqueItems"):
            self.fault((*path, "uniqueItems"), f"uniqueItems is not supported in a CRD; use {LIST_TYPE}: set")
        pattern = schema.get("pattern")
        if pattern and pattern not in self.patterns:
            if len(self.patterns) < MAX_PATTERNS and patterns.is_checked(pattern):
                self.patterns.add(pattern)
            else:
                self.gap(path, "pattern", pattern)
        style = schema.get("format")
        if style and schema.get("type") in (None, "", "string") and style.replace("-", "") in _CHECKED_FORMATS:
            self.gap(path, "format", style)

    def rules(self, schema: Mapping[str, Any], path: Path) -> None:
        for index, rule in enumerate(schema.get(RULES) or ()):
            if type(rule) is not dict or type(rule.get("rule")) is not str or not rule["rule"].strip():
                self.fault((*path, RULES, index), "a validation rule needs the text of its rule")
            else:
                self.gap(path, "CEL rule", " ".join(rule["rule"].split()))

    def gap(self, path: Path, what: str, text: str) -> None:
        """The status is not written from Git, so what is not checked in it is no gap."""
        if path[:2] != ("properties", "status"):
            self.gaps.add(Gap(_in_object(path), what, text))


def _branches(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Any, Path]]:
    """
    The schemas below allOf, anyOf, oneOf and not, but for the branches that only say "integer or string", which are
    the one place where such a schema may name a type.
    """
    for key in _LOGIC:
        below = schema.get(key)
        if below is None:
            continue
        if key == "not":
            yield below, (*path, key)
        elif not (key == "anyOf" and is_int_or_string(below)):
            for index, branch in enumerate(below):
                yield branch, (*path, key, index)


def _in_object(path: Path) -> str:
    """Where in an object a schema applies: `spec.groups[].name` for properties/spec/properties/groups/items/…"""
    shown, steps = "", iter(path)
    for step in steps:
        if step == "properties":
            shown += f".{next(steps, '')}"
        elif step == "items":
            shown += "[]"
        elif step == "additionalProperties":
            shown += ".*"
        elif step in ("allOf", "anyOf", "oneOf"):
            next(steps, None)
    return shown.removeprefix(".") or "the object"

"""
Documents to our own kinds, and pydantic's errors to Problems with positions.

A null is refused like a wrong type: `clusters:` whose items were commented out would otherwise quietly mean "every
cluster". Everything wrong with a document is reported, not only the first thing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from gitplacer.documents import Document, Path
from gitplacer.kinds import OWN_API_GROUP, TABLE
from gitplacer.kinds.fields import API_VERSION, Model, Twice
from gitplacer.kinds.schema import schema_of
from gitplacer.model import quantity
from gitplacer.plaintext import few, one
from gitplacer.problems import Problem, meant, nearest

_TYPE_NAMES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


_PRINTED = "gitplacer has printed it, and it is no part of a source: keep it elsewhere, or under another ending"
"""Of a document with the version of a format: those that are read have none."""


def is_own(document: Document) -> bool:
    """Whether the document says that it is one of our kinds, of whatever version."""
    version = document.parsed.says[0]
    return isinstance(version, str) and version.split("/")[0] == OWN_API_GROUP


def parse_own(document: Document) -> Model | list[Problem]:
    """The declared object behind a document for which `is_own` holds, or every problem in it."""
    version, kind = document.parsed.says
    model = TABLE.get(kind) if isinstance(kind, str) else None
    if model is None:
        named = isinstance(kind, str)
        said = f'unknown kind "{kind}" of {OWN_API_GROUP}' if named else f"an object of {OWN_API_GROUP} needs a kind"
        hint = _PRINTED if "formatVersion" in document.value else nearest(str(kind) if named else "", TABLE)
        return [document.problem("UnknownKind", said, hint, path=("kind",))]
    if version != API_VERSION:
        hint = f"this version of gitplacer reads {API_VERSION}"
        return [document.problem("UnsupportedVersion", f"unknown version {version}", hint, path=("apiVersion",))]
    return parsed_as(document, model)


def made_of(document: Document) -> None:
    """
    Make the declared object behind a document beforehand, if it is one of ours and all is right with it, so that it is remembered with the
    document. What is wrong with it is found when somebody asks: that takes its place.
    """
    version, kind = document.parsed.says
    model = TABLE.get(kind) if isinstance(kind, str) and is_own(document) else None
    if model is not None and version == API_VERSION and not document.parsed.nulls:
        with suppress(ValidationError):
            document.parsed.made[model] = model.model_validate(document.value, by_alias=True, by_name=False)


def misplaced(document: Document, wanted: str, hint: str) -> Problem:
    """What is wrong with a document that is of another kind than the one that is wanted in its place."""
    kind = document.value.get("kind")
    said = f"{one(kind)} is no {wanted}" if isinstance(kind, str) else f"this has no kind, so it is no {wanted}"
    return document.problem("MisplacedKind", said, hint, path=("kind",))


def parsed_as(document: Document, model: type[Model]) -> Model | list[Problem]:
    """
    The declared object that a document is to be, or every problem in it. The same document gives the same object; only what is wrong
    is found anew, because it has a place, and other files may hold the same text.
    """
    known: Model | None = document.parsed.made.get(model)
    if known is not None:
        return known
    parsed = _validated(document, model)
    if isinstance(parsed, Model):
        document.parsed.made[model] = parsed
    return parsed


def _validated(document: Document, model: type[Model]) -> Model | list[Problem]:
    empty = set(_nulls(document.value, ())) if document.parsed.nulls else set()
    nulls = [
        document.problem(
            "NullValue", f"{_shown(path)} has no value", "give it one, or remove the key", path=path, key=True
        )
        for path in empty
    ]
    try:
        parsed = model.model_validate(document.value, by_alias=True, by_name=False)
    except ValidationError as error:
        errors = [dict(item) for item in error.errors(include_url=False) if item["loc"] not in empty]
        deeper = {path for item in errors for path in _too_deep(model, document.value, item)}
        errors = [item for item in errors if item["type"] != "missing" or item["loc"] not in deeper]
        found = [item for item in errors if not _is_miscounted(document.value, item)]
        return sorted({*nulls, *(_problem(document, model, item) for item in found)})
    return sorted(nulls) or parsed


def _nulls(value: Any, path: Path) -> Iterator[Path]:
    """Where nulls stand, but for those that mean something: an override sets a field to null, and in a chart's values null takes a default away."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if (key == "value" and "overrides" in path) or (key == "values" and "charts" in path[-2:]):
                continue
            if item is None:
                yield (*path, key)
            else:
                yield from _nulls(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if item is None:
                yield (*path, index)
            else:
                yield from _nulls(item, (*path, index))


def _problem(document: Document, model: type[Model], error: dict[str, Any]) -> Problem:
    path = tuple(error["loc"])
    kind = error["type"]
    if len(path) > 1 and path[-1] == "[key]" and kind != "extra_forbidden":  # else it is what a field is called
        path = path[:-1]
        return document.problem("InvalidValue", f'key "{path[-1]}" {_reason(error)}', path=path, key=True)
    name = path[-1] if path else document.value.get("kind")
    if kind == "extra_forbidden":
        return document.problem(
            "UnknownField", f'unknown field "{name}"', _instead(model, document.value, path), path=path, key=True
        )
    if kind == "missing":
        return document.problem("MissingField", f'"{name}" is missing', path=path[:-1], key=True)
    if kind in _TYPE_NAMES:
        found = _value_at(document.value, path)
        instead = str(found) if kind == "int_type" and isinstance(found, float) else _kind_of(found)
        return document.problem(
            "WrongType",
            f"{_shown(path)} must be {_TYPE_NAMES[kind]}, not {instead}",
            _about_quotes(kind, found),
            path=path,
        )
    if kind == "literal_error":
        choices = _choices(error)
        found = _value_at(document.value, path)
        return document.problem(
            "InvalidValue",
            f"{_shown(path)} must be {error['ctx']['expected'].replace(chr(39), '')}, not {found if found != '' else 'empty'}",
            meant(str(found), choices),  # the message names them all
            path=path,
        )
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, Twice):
        second, first = (*path, *cause.second), document.locate((*path, *cause.first)).line
        said = f"{_shown(second)}: {cause}, first on line {first}"
        return document.problem("InvalidValue", said, "remove one of the two", path=second)
    reason = _reason(error)
    between = " " if reason.startswith(("must ", "is ", "has ")) else ": "
    hint = quantity.REMEDY if isinstance(cause, quantity.InvalidQuantity) else ""
    return document.problem("InvalidValue", f"{_shown(path)}{between}{reason}", hint, path=path)


def _instead(model: type[Model], value: Any, path: Path) -> str:
    """What to write instead of a field that there is not: another name, or the same at another level."""
    name, known = str(path[-1]), _fields_at(model, value, path[:-1])
    if len(path) == 1 and name in _fields_at(model, value, ("spec",)):
        return "it belongs below spec"
    inner = [str(found[-1]) for found in _below(value, path, known)]
    if inner and not meant(name, known):
        return f"there is nothing of that name here: write what is below it in its place: {few(inner)}"
    return nearest(name, known)


def _too_deep(model: type[Model], value: Any, error: dict[str, Any]) -> list[Path]:
    """Where fields belong that stand one level too deep, below one that there is not."""
    path = tuple(error["loc"])
    return _below(value, path, _fields_at(model, value, path[:-1])) if error["type"] == "extra_forbidden" else []


def _below(value: Any, path: Path, known: Collection[str]) -> list[Path]:
    """Of the fields below one those that are known beside it, as they would be there."""
    found = _value_at(value, path)
    return [(*path[:-1], name) for name in found if name in known] if isinstance(found, Mapping) else []


def _is_miscounted(value: Any, error: dict[str, Any]) -> bool:
    """Whether a list is said to be too short because pydantic left out the items that it refused."""
    if error["type"] != "too_short":
        return False
    found = _value_at(value, tuple(error["loc"]))
    return isinstance(found, list) and len(found) >= error["ctx"]["min_length"]


def _about_quotes(kind: str, found: Any) -> str:
    if kind == "string_type" and not isinstance(found, list | dict):
        return "put it in quotes"
    if isinstance(found, str) and (
        (kind == "int_type" and re.fullmatch(r"-?[0-9]+", found))
        or (kind == "bool_type" and found in ("true", "false"))
    ):
        return "remove the quotes"
    return ""


def _reason(error: dict[str, Any]) -> str:
    """The declaration's own words, or pydantic's as the end of a sentence that begins with the field."""
    cause = error.get("ctx", {}).get("error")
    if cause is not None:
        return str(cause)
    message = re.sub(r"^\w+ should ", "must ", error["msg"]).replace(" after validation", "")
    return message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")


def _choices(error: dict[str, Any]) -> list[str]:
    expected: str = error["ctx"]["expected"]
    return expected.replace("'", "").replace(" or ", ", ").split(", ")


def _shown(path: Path) -> str:
    """A path as people write it: spec.placement.order[1]."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "the document"


def _kind_of(value: Any) -> str:
    for type_, name in ((bool, "true or false"), (int | float, "a number"), (str, "a string"), (list, "a list")):
        if isinstance(value, type_):
            return name
    return "nothing" if value is None else "a mapping"


def _value_at(value: Any, path: Path) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _fields_at(model: type[Model], value: Any, path: Path) -> list[str]:
    """The names of the fields that the mapping at a path may have, read off the kind's schema."""
    root = schema_of(model)
    schema: Any = root
    for part in path:
        schema = _resolved(root, schema)
        if isinstance(part, int):
            schema = schema.get("items", {})
        else:
            schema = schema.get("properties", {}).get(part, schema.get("additionalProperties", {}))
    return sorted(_resolved(root, schema).get("properties", {}))


def _resolved(root: dict[str, Any], schema: Any) -> dict[str, Any]:
    if isinstance(schema, dict) and "$ref" in schema:
        found: dict[str, Any] = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return found
    return schema if isinstance(schema, dict) else {}

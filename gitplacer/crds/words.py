"""
A validator's errors in plain words: which value, what is wrong with it, and what would be right.

The validator names keywords of a schema; whoever wrote the manifest knows fields and values. So each error becomes a
sentence that begins with the field's path. Where a value fits none of several forms, the reasons of the first few are
given; where a schema asks for one of some fields, which is what most forms do, the fields are named instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gitplacer.crds.draft4 import NULL
from gitplacer.documents import Path, dotted
from gitplacer.problems import nearest
from gitplacer.redactor import shortened

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_CHOICES = 10
"""Values of an enum that are listed."""
_REASONS = 3
"""Forms of which it is told why they do not fit."""
_TYPES: Mapping[str, str] = {
    "array": "a list", "boolean": "true or false", "integer": "a whole number", "number": "a number",
    "object": "a mapping", "string": "text",
}  # fmt: skip
_LIMITS: Mapping[str, str] = {
    "minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than", "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}  # fmt: skip
_SIZES: Mapping[str, tuple[str, str]] = {
    "minLength": ("character", "at least"), "maxLength": ("character", "at most"),
    "minItems": ("item", "at least"), "maxItems": ("item", "at most"),
    "minProperties": ("field", "at least"), "maxProperties": ("field", "at most"),
}  # fmt: skip


class Said(NamedTuple):
    """What is wrong with the value at the path."""

    path: Path
    message: str
    hint: str = ""


def said(error: ValidationError, schema: Mapping[str, Any]) -> Said:
    """What an error of the validator of this (translated) schema means."""
    path: Path = tuple(error.instance_path)
    keyword, name = error.kind.name, dotted(path) or "the object"
    told: Any = error.kind.value
    value: Any = error.instance
    if keyword == "required":
        return Said((*path, told), f"{dotted((*path, told))} is missing")
    if keyword == "type":
        return _type(path, name, value, told)
    if keyword == "enum":
        return _enum(path, name, value, told)
    if keyword == "pattern":
        return Said(path, f"{name} is {shown(value)}, which does not match {told}")
    if keyword in _LIMITS:
        return Said(path, f"{name} must be {_LIMITS[keyword]} {told}, not {shown(value)}")
    if keyword in _SIZES:
        noun, bound = _SIZES[keyword]
        return Said(
            path, f"{name} has {_count(len(value), noun)}; {bound} {told} {'is' if told == 1 else 'are'} allowed"
        )
    if keyword in ("anyOf", "oneOf"):
        return _forms(path, name, keyword, error, schema)
    if keyword == "not":
        return _forbidden(path, name, value, told)
    return Said(path, f"{name} does not fit its schema ({keyword})")


def shown(value: Any) -> str:
    """A value in a sentence: a scalar as it is, anything else by what it is."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return shortened(text, 80)


def _type(path: Path, name: str, value: Any, types: Sequence[str]) -> Said:
    wanted = [_TYPES[one] for one in _TYPES if one in types]
    is_text, is_number = isinstance(value, str), isinstance(value, int | float) and not isinstance(value, bool)
    what = "text" if is_text else f"the number {value}" if is_number else shown(value)
    hint = ""
    if "string" in types and isinstance(value, bool | int | float):
        hint = "put it in quotes"
    elif is_text and (
        (value in ("true", "false") and "boolean" in types)
        or (value.isdecimal() and value.isascii() and ("integer" in types or "number" in types))
    ):
        hint = "write it without quotes"
    return Said(path, f"{name} is {what}, not {' or '.join(wanted)}", hint)


def _enum(path: Path, name: str, value: Any, options: Sequence[Any]) -> Said:
    listed = ", ".join(option if isinstance(option, str) and option else shown(option) for option in options[:_CHOICES])
    if len(options) > _CHOICES:
        listed += f" … ({len(options)} in all)"
    one_of = f"one of {listed}" if len(options) > 1 else listed
    hint = nearest(value, [option for option in options if isinstance(option, str)]) if isinstance(value, str) else ""
    return Said(path, f"{name} must be {one_of}, not {shown(value)}", hint if hint.startswith("did") else "")


def _forms(path: Path, name: str, keyword: str, error: ValidationError, schema: Mapping[str, Any]) -> Said:
    """None of the forms in anyOf or oneOf fits, or more than one in oneOf."""
    reasons: list[list[ValidationError]] = error.kind.context  # type: ignore[attr-defined]
    forms = _at(schema, error.schema_path)
    if isinstance(forms, list) and forms[0] == NULL:
        return said(reasons[1][0], schema)
    fitting = sum(not of_form for of_form in reasons)
    fields = _asked_for(forms)
    if fields:
        listed = ", ".join(fields)
        if fitting:
            return Said(path, f"{name} must have only one of {listed}")
        return Said(path, f"{name} must have {'exactly one' if keyword == 'oneOf' else 'one'} of {listed}")
    if fitting:
        return Said(path, f"{name} fits {fitting} of the {len(reasons)} forms that it may have, and must fit only one")
    why: list[str] = []
    for of_form in reasons:
        for reason in of_form[:1]:
            message = said(reason, schema).message
            if message not in why:
                why.append(message)
    more = " …" if len(why) > _REASONS else ""
    if len(why) == 1:
        return Said(path, why[0])
    return Said(path, f"{name} fits none of the forms that it may have: {'; or '.join(why[:_REASONS])}{more}")


def _forbidden(path: Path, name: str, value: Any, schema: Any) -> Said:
    fields = schema.get("required") if isinstance(schema, Mapping) and schema.keys() == {"required"} else None
    if fields:
        together = " and ".join(dotted((*path, field)) for field in fields)
        return Said(path, f"{together} {'is' if len(fields) == 1 else 'together are'} not allowed here")
    if isinstance(value, Mapping | list):
        return Said(path, f"{name} has a form that is not allowed")
    return Said(path, f"{name} must not be {shown(value)}")


def _asked_for(forms: Any) -> list[str]:
    """The fields of which one is asked for: each form says no more than that one is required."""
    fields = []
    for form in forms if isinstance(forms, list) else ():
        required = form.get("required") if isinstance(form, Mapping) and form.keys() == {"required"} else None
        if not isinstance(required, list) or len(required) != 1:
            return []
        fields.append(required[0])
    return fields


def _at(schema: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        if isinstance(schema, Mapping):
            schema = schema.get(str(step))
        elif isinstance(schema, list) and isinstance(step, int) and step < len(schema):
            schema = schema[step]
        else:
            return None
    return schema


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"

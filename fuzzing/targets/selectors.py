"""
Selectors of labels and clusters, and patterns of paths and names, beside readings of their own that are slow and simple.

An input is a document with a `pattern` and a `path`, a `selector` and the `labels` that it is held against.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from unittest import mock

from pydantic import TypeAdapter, ValidationError

from fuzzing.target import Target, expect
from gitplacer import pathglob
from gitplacer.documents import parse
from gitplacer.kinds.fields import Glob, LabelMap, PathGlob
from gitplacer.kinds.selectors import ClusterSelector
from gitplacer.model.labels import Requirement
from gitplacer.plaintext import LONGEST_PATH

_NAME_GLOB, _GLOB = TypeAdapter(Glob), TypeAdapter(PathGlob)
_LABELS = TypeAdapter(LabelMap)
_MOST_WALKED = 300
"""Characters; whoever tries everything needs a frame for each."""


def check(data: bytes) -> None:
    for item in parse(data).documents:
        pattern, path = item.value.get("pattern"), item.value.get("path")
        if isinstance(pattern, str) and isinstance(path, str) and len(path) <= LONGEST_PATH:
            _check_pattern(pattern, path)
        try:
            selector = ClusterSelector.model_validate(item.value.get("selector"), by_alias=True, by_name=False)
            labels = _LABELS.validate_python(item.value.get("labels"))
        except ValidationError:
            continue
        _check_selector(selector, labels)


def _check_pattern(pattern: str, path: str) -> None:
    if _is(_NAME_GLOB, pattern):
        pathglob.name_matches_any([pattern], path)
    if not _is(_GLOB, pattern):
        return
    found = pathglob.matches(pattern, path)
    if found:
        expect(path.startswith(pathglob.fixed_folder(pattern)), "it matches outside its folder")
    plain = not set("[{") & set(pattern) and "/" not in (path[:1], path[-1:]) and "//" not in path
    if plain and len(pattern) + len(path) <= _MOST_WALKED:
        expect(found == walks(pattern, path), f"{pattern} {'matches' if found else 'does not match'} {path}")


def _is(field: TypeAdapter[str], text: str) -> bool:
    try:
        field.validate_python(text)
    except ValidationError:
        return False
    return True


def walks(pattern: str, path: str) -> bool:
    """Whether the pattern matches, character by character."""

    @cache
    def from_(i: int, j: int) -> bool:
        if i == len(pattern):
            return j == len(path)
        if pattern.startswith("**/", i):
            return from_(i + 3, j) or (path.find("/", j) > j and from_(i, path.find("/", j) + 1))
        if pattern.startswith("**", i):
            return any(from_(i + 2, k) for k in range(j, len(path) + 1))
        if pattern[i] == "*":
            return from_(i + 1, j) or (j < len(path) and path[j] != "/" and from_(i, j + 1))
        return (
            j < len(path) and (path[j] == pattern[i] or (pattern[i] == "?" and path[j] != "/")) and from_(i + 1, j + 1)
        )

    return from_(0, 0)


def _check_selector(selector: ClusterSelector, labels: Mapping[str, str]) -> None:
    named = selector.names is None or labels.get("kubernetes.io/metadata.name") in selector.names
    wanted = named and all(labels.get(key) == value for key, value in selector.match_labels.items())
    wanted = wanted and all(_holds(one.key, one.operator, one.values, labels) for one in selector.match_expressions)
    unmet = selector.unmet(labels)
    expect((unmet is None) == wanted, f"it says {unmet}")
    expect(unmet is None or bool(str(unmet)), "it does not say what is not met")


def _holds(key: str, operator: str, values: tuple[str, ...], labels: Mapping[str, Any]) -> bool:
    if operator in ("NotIn", "DoesNotExist"):
        return not _holds(key, {"NotIn": "In", "DoesNotExist": "Exists"}[operator], values, labels)
    return key in labels and (operator == "Exists" or labels[key] in values)


def _forgets_absent_labels(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    return value is not None and (
        requirement.operator == "Exists" or (value in requirement.values) == (requirement.operator == "In")
    )


TARGET = Target(
    check=check,
    bug="NotIn does not hold where the label is absent",
    planted=lambda: mock.patch.object(Requirement, "matches", _forgets_absent_labels),
    longest=600,
    structured=True,
)

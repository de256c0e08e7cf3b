"""Nova's per-cluster overrides: its paths of fields as JSON Pointers, and its resources as OverridePolicies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gitplacer.documents import Path, pointer
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.model.workload import api_group
from gitplacer.source.apigroups import is_cluster_scoped

_STEP = re.compile(
    r"""\[(?P<index>[0-9]{1,9})\]|\[(?P<quote>['"])(?P<key>[^'"\]]+)(?P=quote)\]|(?P<name>[^.\[\]'"\s]+)"""
)


class Change(Struct, frozen=True):
    """What changes in one object on the clusters of one value of the topology key. `spec` has the overrides of an OverridePolicy."""

    reader: Reader
    value: str
    api_version: str
    kind: str
    name: str
    namespace: str
    overrides: tuple[dict[str, Any], ...]


def field_path(text: str) -> Path | None:
    """`spec.containers[0].env['a.b/c']` as keys and indexes; None for what is no such path."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "." and steps:
            at += 1
        elif steps and text[at] != "[":
            return None
        found = _STEP.match(text, at)
        if found is None:
            return None
        steps.append(int(found["index"]) if found["index"] else found["key"] or found["name"])
        at = found.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def changes(reader: Reader, notes: Notes) -> Iterator[Change]:
    """The changes of an item of `spreadConstraints.overrides`."""
    value = reader.text("topologyValue")
    if not value:
        reader.report("MissingField", '"topologyValue" is missing', "name the cluster that the changes are for")
    for resource in reader.items("resources"):
        kind, version = resource.text("kind"), resource.text("apiVersion")
        name, namespace = resource.text("name"), resource.text("namespace")
        for field, said in (("kind", kind), ("name", name)):
            if not said:
                resource.report("MissingField", f'"{field}" is missing', "say which object changes")
        made = [one for item in resource.items("override") if (one := _override(item, notes)) is not None]
        if not (value and kind and name and made):
            continue
        if not namespace and not is_cluster_scoped(api_group(version), kind):
            notes.about(
                Outcome.CHOSEN,
                resource,
                None,
                f"no namespace is said, so every {kind} {name} changes, in whatever namespace",
                "add 'namespaces' to the OverridePolicy if only one is meant",
            )
        yield Change(resource, value, version, kind, name, namespace, tuple(made))


def _override(reader: Reader, notes: Notes) -> dict[str, Any] | None:
    written, value = reader.text("fieldPath"), reader.mapping("value")
    new = value.value("staticValue")
    path = field_path(written)
    if path is None:
        hint = "write it like spec.containers[0].image or metadata.labels['a.b/c']"
        reader.report("InvalidValue", f'"{written}" is no path of a field', hint, key="fieldPath")
        return None
    if "staticValue" not in value.fields:
        notes.about(
            Outcome.NO_EQUAL,
            reader,
            "value",
            f"{written} gets no staticValue, and nothing else can be given here",
            "write the value into an OverridePolicy",
        )
        return None
    # Nova sets the field. `add` of RFC 6902 does so for a key, also one that is missing; in a list it would insert.
    op = "replace" if isinstance(path[-1], int) else "add"
    return {"path": pointer(path), "op": op, "value": new}

"""
Karmada's overriders as JSON patches of one object.

`plaintext` is such a patch already. All others ask what the object holds: the part of an image that changes, the arguments that are added.
They are worked out on an object as it lies beside them, one after the other in Karmada's order, so the second sees what the first did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from gitplacer.documents import Edit, EditError, Path, applied, dump, parse, pointer, value_at
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.problems import nearest

OPERATORS = ("add", "remove", "replace")
_COMPONENTS = ("Registry", "Repository", "Tag")
_POD_SPECS: Mapping[str, Path] = {
    "Pod": ("spec",),
    **dict.fromkeys(("ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"), ("spec", "template", "spec")),
}
"""The kinds whose containers Karmada finds by itself."""
_TOLD = 300
"""Characters of what is wrong with a patch that are told."""


class Overrider(Struct, frozen=True):
    """One change that depends on the object: what edits it makes of a value. `reader` is where it is written."""

    reader: Reader
    edits: Callable[[str, Any], Iterator[Edit]]


def plaintext(overriders: Reader) -> list[dict[str, Any]]:
    """The patch that is written, as `overrides` of ours."""
    found = []
    for item in overriders.items("plaintext"):
        path, op = item.text("path"), _operator(item)
        value = item.value("value") if "value" in item.fields else None
        if not path.startswith("/"):
            item.report("InvalidValue", f'"{path}" is no JSON pointer', "write it like /spec/replicas", key="path")
        elif op:
            found.append({"path": path, "op": op, **({} if op == "remove" else {"value": value})})
    return found


def computed(overriders: Reader) -> list[Overrider]:
    """Every other overrider, in the order in which Karmada applies them."""
    found = [_image(item) for item in overriders.items("imageOverrider")]
    found += [_arguments(item, "command") for item in overriders.items("commandOverrider")]
    found += [_arguments(item, "args") for item in overriders.items("argsOverrider")]
    found += [_entries(item, "labels") for item in overriders.items("labelsOverrider")]
    found += [_entries(item, "annotations") for item in overriders.items("annotationsOverrider")]
    found += [_embedded(item) for item in overriders.items("fieldOverrider")]
    return found


def patch(found: list[Overrider], kind: str, value: Any, notes: Notes) -> tuple[list[dict[str, Any]], Any]:
    """What overriders make of an object of a kind, as `overrides` of ours, and the object after them."""
    made: list[dict[str, Any]] = []
    for one in found:
        try:
            for edit in one.edits(kind, value):
                value = applied(value, edit)
                made.append(
                    {
                        "path": pointer(edit.path),
                        "op": edit.op,
                        **({} if edit.op == "remove" else {"value": edit.value}),
                    }
                )
        except (EditError, ValueError) as error:  # an index of thousands of digits is none
            what = f"it cannot be applied to this {kind}: {str(error)[:_TOLD]}"
            notes.about(Outcome.NO_EQUAL, one.reader, None, what, "write an OverridePolicy by hand")
    return made, value


def _operator(reader: Reader, known: tuple[str, ...] = OPERATORS) -> str:
    found = reader.text("operator")
    if found not in known:
        reader.report(
            "InvalidValue", f'unknown operator "{found}"', nearest(found, known), key="operator" if found else None
        )
        return ""
    return found


def _image(reader: Reader) -> Overrider:
    component, op, value = reader.text("component"), _operator(reader), reader.text("value")
    where = reader.mapping("predicate").text("path") if reader.has("predicate") else ""
    if component not in _COMPONENTS:
        hint = nearest(component, _COMPONENTS)
        reader.report("InvalidValue", f'unknown component "{component}"', hint, key="component" if component else None)
    if where and not where.startswith("/"):
        reader.report(
            "InvalidValue", f'"{where}" is no JSON pointer', "write it like /spec/template/spec/containers/0/image"
        )

    def edits(kind: str, found: Any) -> Iterator[Edit]:
        for path in [_steps(where)] if where else _containers(kind, found, "image"):
            image = value_at(found, path)
            if not isinstance(image, str):
                raise EditError(f"there is no image at {pointer(path)}", path)
            yield Edit(path, "replace", renamed(image, component, op, value))

    return Overrider(reader, edits)


def renamed(image: str, component: str, op: str, value: str) -> str:
    """An image with its registry, repository or tag (or digest) changed: `add` appends to it."""
    first, slash, rest = image.partition("/")
    hosted = slash and (first == "localhost" or not {".", ":"}.isdisjoint(first))
    host, path = (first, rest) if hosted else ("", image)
    end = min((at for at in (path.find(":"), path.find("@")) if at >= 0), default=len(path))
    repository, tag = path[:end], path[end:]
    before = {"Registry": host, "Repository": repository, "Tag": tag[1:]}[component]
    after = before + value if op == "add" else value if op == "replace" else ""
    match component:
        case "Registry":
            host = after
        case "Repository":
            repository = after
        case _:
            sign = tag[:1] or ("@" if after.startswith("sha256:") else ":")
            tag = sign + after if after else ""
    return "/".join(filter(None, (host, repository))) + tag


def _containers(kind: str, value: Any, field: str) -> Iterator[Path]:
    """The paths of a field in all containers of a kind that Karmada knows. Init containers it changes by a predicate alone."""
    top = _POD_SPECS.get(kind)
    there = value_at(value, (*top, "containers")) if top else None
    for index, container in enumerate(there if isinstance(there, list) else ()):
        if isinstance(container, dict) and isinstance(container.get(field), str):
            yield (*top, "containers", index, field)  # type: ignore[misc]


def _arguments(reader: Reader, field: str) -> Overrider:
    name, op, values = reader.text("containerName"), _operator(reader, ("add", "remove")), reader.texts("value")

    def edits(kind: str, found: Any) -> Iterator[Edit]:
        for path in _containers(kind, found, "name"):
            if value_at(found, path) != name:
                continue
            place = (*path[:-1], field)
            now = value_at(found, place)
            now = now if isinstance(now, list) else []
            new = [*now, *values] if op == "add" else [one for one in now if one not in values]
            yield Edit(place, "add", new)

    return Overrider(reader, edits)


def _entries(reader: Reader, field: str) -> Overrider:
    op, entries = _operator(reader), reader.labels("value")

    def edits(kind: str, found: Any) -> Iterator[Edit]:
        there = value_at(found, ("metadata", field))
        for key, value in entries.items():
            has = isinstance(there, dict) and key in there
            if op == "add" or (has and op == "replace"):
                yield Edit(("metadata", field, key), "add", value)
            elif has:
                yield Edit(("metadata", field, key), "remove")

    return Overrider(reader, edits)


def _embedded(reader: Reader) -> Overrider:
    """A document that stands as text in a field, such as a file in a ConfigMap."""
    where = reader.text("fieldPath")
    if not where.startswith("/"):
        reader.report("InvalidValue", f'"{where}" is no JSON pointer', "write it like /data/config.yaml")
    changes = []
    for form in ("json", "yaml"):
        for item in reader.items(form):
            path, op = item.text("subPath"), _operator(item)
            changes.append((form, path, op, item.value("value") if "value" in item.fields else None))

    def edits(kind: str, found: Any) -> Iterator[Edit]:
        path = _steps(where)
        text = value_at(found, path)
        if not isinstance(text, str):
            raise EditError(f"there is no text at {pointer(path)}", path)
        read = parse(text.encode())
        if read.faults or len(read.documents) != 1:
            raise EditError(f"the text at {pointer(path)} is not one document of JSON or YAML", path)
        inner: Any = read.documents[0].value
        for _, sub, op, value in changes:
            inner = applied(inner, Edit(_steps(sub), op, value))  # type: ignore[arg-type]
        as_json = any(form == "json" for form, *_ in changes)
        new = json.dumps(inner, separators=(",", ":")) if as_json else dump(inner).decode()
        yield Edit(path, "replace", new)

    return Overrider(reader, edits)


def _steps(text: str) -> Path:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])

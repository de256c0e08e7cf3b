"""
Edits of the source as somebody would commit them: values in documents of which only the kind and the name are known.

The file is read again as it is now, so that one edit may follow another. Outside an edited value every byte stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitplacer.documents import Document, Edit, EditError, ParsedDocument, dump, parse, splice
from gitplacer.plaintext import printable
from gitplacer.problems import nearest
from gitplacer.snapshot import Snapshot
from gitplacer.tree import Changes, Tree

Value = Mapping[str, Any]


class Unsupposable(Exception):
    """A supposition that says nothing about this fleet; `hint` says what could be supposed."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def edited(
    tree: Tree, path: str, is_meant: Callable[[Value], bool], edits: Callable[[Value], Sequence[Edit]]
) -> Tree | None:
    """The tree with edits in the first document of a file that is meant; None where the file has no such document."""
    if path not in tree:
        return None
    data = tree.read(path)
    document = next((item for item in parse(data).documents if is_meant(item.value)), None)
    if document is None:
        return None
    wanted = [Edit((*document.prefix, *edit.path), edit.op, edit.value) for edit in edits(document.value)]
    return tree.apply(Changes({path: _spliced(data, document, wanted, path)})) if wanted else tree


def _spliced(data: bytes, document: ParsedDocument, edits: Sequence[Edit], path: str) -> bytes:
    try:
        middle = splice(data[document.start : document.end], edits)
    except EditError as error:
        hint = "edit the file yourself on a branch, and plan that with --rev"
        raise Unsupposable(f"{printable(path)} cannot be edited: {printable(error.message)}", hint) from None
    return data[: document.start] + middle + data[document.end :]


def with_cluster_edited(tree: Tree, base: Snapshot, name: str, edits: Callable[[Value], Sequence[Edit]]) -> Tree:
    """
    The source with edits in the document of a Cluster.

    A clone stands in no file. What a commit can say of it begins with a file of its own, like its model's; that takes the clone's
    place, so the edits are made in it. Manifests by which a model sleeps are not copied, because two clusters cannot have the same.
    """
    if name not in base.source.own.clusters:
        hint = (
            nearest(name, base.source.own.clusters) or "the fleet has no clusters yet; each is a file of kind Cluster"
        )
        raise Unsupposable(f'there is no cluster "{printable(name)}"', hint)
    found = edited(tree, base.source.own.places[f"Cluster/{name}"].file, _is_cluster(name), edits)
    if found is not None:
        return found
    path = _beside(tree, base.source.own.places[f"Cluster/{name}"].file, name)
    if path in tree:
        return edited(tree, path, _is_cluster(name), edits) or tree
    value = _clone(tree, base, name)
    written = tree.apply(Changes({path: dump(value)}))
    return edited(written, path, _is_cluster(name), edits) or written


def _clone(tree: Tree, base: Snapshot, name: str) -> dict[str, Any]:
    """A Cluster like the model of a clone, under the clone's name."""
    place = base.source.own.places[f"Cluster/{name}"]
    items = parse(tree.read(place.file)).documents if place.file in tree else ()
    found = (Document(place.file, item, index, lambda: tree.read(place.file)) for index, item in enumerate(items))
    model = next((document.value for document in found if document.locate() == place), None)
    if model is None:
        raise Unsupposable(
            f"the Cluster that {printable(name)} was made after is not in {printable(place.file)} any more"
        )
    metadata = {key: item for key, item in model["metadata"].items() if key in ("labels", "annotations")}
    spec = {**(model.get("spec") or {})}
    if isinstance(spec.get("standby"), dict):
        spec["standby"] = {key: item for key, item in spec["standby"].items() if key != "manifests"}
    spec.pop("state", None)  # a clone takes groups whatever is happening to its model
    return {"apiVersion": model["apiVersion"], "kind": "Cluster", "metadata": {"name": name, **metadata}, "spec": spec}


def _beside(tree: Tree, file: str, name: str) -> str:
    """Where the file of a clone goes: beside that of its model, under a name that nothing else has."""
    folder = file.rpartition("/")[0]
    path = f"{folder}/{name}.yaml" if folder else f"{name}.yaml"
    if path in tree and not any(_is_cluster(name)(item.value) for item in parse(tree.read(path)).documents):
        return path.removesuffix(".yaml") + ".cluster.yaml"
    return path


def _is_cluster(name: str) -> Callable[[Value], bool]:
    def is_meant(value: Value) -> bool:
        metadata = value.get("metadata")
        return value.get("kind") == "Cluster" and isinstance(metadata, dict) and metadata.get("name") == name

    return is_meant

"""
Inputs with something changed in them, as somebody would change it.

What a file of the source says is spliced into its text, so what is tried is what would be reviewed. What nobody writes, because a
machine reports it, is changed in the capacity snapshot: there is a node more, or a node group that may be larger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from gitplacer.documents import Document, Edit, ParsedDocument, Path, parse, splice
from gitplacer.hydrate import Inputs
from gitplacer.kinds.fleet import Cluster
from gitplacer.machines import Limit, LimitKind
from gitplacer.model import quantity
from gitplacer.singles import stem
from gitplacer.source.files import MAX_SNAPSHOT, READ_ENDINGS
from gitplacer.tree import Changes


def own_document(inputs: Inputs, file: str, kind: str, name: str) -> Document | None:
    """The document of one of our objects in a file of the source; None where there is none any more."""
    data = inputs.source.read(file)

    def is_meant(parsed: ParsedDocument) -> bool:
        metadata = parsed.value.get("metadata")
        return parsed.value.get("kind") == kind and isinstance(metadata, dict) and metadata.get("name") == name

    found = next((d for d in enumerate(parse(data).documents) if is_meant(d[1])), None)
    return None if found is None else Document(file, found[1], found[0], lambda: data)


def with_edits(inputs: Inputs, document: Document, edits: Sequence[Edit]) -> Inputs:
    """The inputs with a document of the source edited in place. Raises EditError."""
    parsed, data = document.parsed, inputs.source.read(document.file)
    inside = [Edit((*parsed.prefix, *edit.path), edit.op, edit.value) for edit in edits]
    text = data[: parsed.start] + splice(data[parsed.start : parsed.end], inside) + data[parsed.end :]
    return replace(inputs, source=inputs.source.apply(Changes({document.file: text})))


def with_snapshot(inputs: Inputs, cluster: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Inputs | None:
    """The inputs with the snapshot of a cluster changed; None where it has no file of its own."""
    path = next((p for p in inputs.capacity if p.endswith(READ_ENDINGS) and stem(p) == cluster), None)
    if path is None:
        return None
    documents = parse(inputs.capacity.read(path), max_bytes=MAX_SNAPSHOT).documents
    if len(documents) != 1:
        return None
    text = json.dumps(change(dict(documents[0].value))).encode()
    return replace(inputs, capacity=inputs.capacity.apply(Changes({path: text})))


def with_nodes(inputs: Inputs, cluster: str, nodes: Sequence[Mapping[str, Any]]) -> Inputs | None:
    """The inputs with more nodes in the snapshot of a cluster."""

    def grown(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "nodes": [*(value.get("nodes") or []), *nodes]}

    return with_snapshot(inputs, cluster, grown)


def limit_field(cluster: Cluster, limit: Limit, most: int) -> tuple[Path, object] | None:
    """
    The field of a Cluster that says a limit, and the value by which it would be as much as this; None where it is the cluster's
    autoscaler that reports it.
    """
    autoscaler = cluster.spec.autoscaler
    assert autoscaler is not None
    above: Path = ("spec", "autoscaler")
    match limit.kind:
        case LimitKind.MAX:
            index = [t.name for t in autoscaler.node_types].index(limit.subject)
            return (*above, "nodeTypes", index, "max"), most
        case LimitKind.MAX_NODES:
            return (*above, "maxNodes"), most
        case LimitKind.NODE_POOL:
            index = [p.name for p in autoscaler.node_pools].index(limit.subject)
            value = quantity.render(limit.resource, most)
            return (*above, "nodePools", index, "limits", limit.resource), value
    return None


def with_group_max(inputs: Inputs, cluster: str, group: str, most: int) -> Inputs | None:
    """The inputs with a node group that may be larger, as the autoscaler of a cluster would report it."""

    def larger(value: dict[str, Any]) -> dict[str, Any]:
        groups = [{**g, "max": most} if g.get("name") == group else g for g in value.get("nodeGroups") or []]
        return {**value, "nodeGroups": groups}

    return with_snapshot(inputs, cluster, larger)


def with_limit(inputs: Inputs, file: str, cluster: Cluster, limit: Limit, most: int) -> Inputs | None:
    """The inputs with a limit raised, where it stands: in the Cluster, or in what its autoscaler reports."""
    found = limit_field(cluster, limit, most)
    if found is None:
        return with_group_max(inputs, cluster.name, limit.subject, most)
    document = own_document(inputs, file, "Cluster", cluster.name)
    return None if document is None else with_edits(inputs, document, [Edit(found[0], "add", found[1])])

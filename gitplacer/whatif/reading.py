"""
Suppositions out of files and words: manifests that somebody would add, and WhatIf documents.

A file that is to be added lies anywhere. Where it would be in the source follows from what is in it: its namespace for workloads,
its kind for ours. Where that does not follow, whoever adds it says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.documents import Document
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.parse import is_own, misplaced, parse_own
from gitplacer.kinds.whatif import Suppose, WhatIf
from gitplacer.plaintext import printable
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.source.files import NoMemo, read_documents
from gitplacer.source.manifests import unit_of
from gitplacer.tree import Tree
from gitplacer.whatif.editing import Unsupposable
from gitplacer.whatif.suppositions import (
    AddFiles,
    CordonCluster,
    DrainCluster,
    LoseCluster,
    RaiseReplicas,
    RemoveFiles,
    SetPrice,
    Supposition,
    Together,
)

_FOLDERS = {"Cluster": "clusters", "Fleet": ""}


def added(file: str, data: bytes, spec: FleetSpec, path: str | None = None) -> AddFiles:
    """
    The file of a name, with what is in it, as files of the source and of the snapshots; `path` says where it would be in the
    source. Raises Rejected for what cannot be read, and Unsupposable where its place does not follow.
    """
    documents = _documents(file, data)
    snapshots = [document for document in documents if _is_snapshot(document)]
    others = [document for document in documents if not _is_snapshot(document)]
    capacity = {f"{_name(document)}.yaml": document.source() for document in snapshots}
    if not others:
        return AddFiles({}, capacity)
    if path is not None or len({_place(file, document, spec) for document in others}) == 1:
        where = path or _place(file, others[0], spec)
        return AddFiles({where: data if not snapshots else _joined(others)}, capacity)
    places: dict[str, list[Document]] = {}
    for document in others:
        places.setdefault(_place(file, document, spec), []).append(document)
    return AddFiles({where: _joined(found) for where, found in places.items()}, capacity)


def _joined(documents: Sequence[Document]) -> bytes:
    parts = [document.source() for document in documents]
    return b"---\n".join(part if part.endswith(b"\n") else part + b"\n" for part in parts)


def _documents(file: str, data: bytes) -> list[Document]:
    reading = read_documents(Tree.of({file: data}), [file], NoMemo())
    if reading.problems:
        raise Rejected(reading.problems)
    found = [item.document for items in reading.documents.values() for item in items]
    if not found:
        raise Rejected([Problem(Location(file), "NotOneDocument", "holds no document", "give a file with manifests")])
    return found


def _is_snapshot(document: Document) -> bool:
    return is_own(document) and document.value.get("kind") == "CapacitySnapshot"


def _name(document: Document) -> str:
    metadata = document.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name or "/" in name:
        raise Rejected([document.problem("InvalidObject", "metadata.name must be a name", path=("metadata", "name"))])
    return name


def _place(file: str, document: Document, spec: FleetSpec) -> str:
    """Where a document would stand in the source."""
    base = file.rpartition("/")[2]
    if is_own(document):
        folder = _FOLDERS.get(str(document.value.get("kind")), "policies")
        return f"{folder}/{base}" if folder else base
    metadata = document.value.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    pattern = spec.source.namespaces.from_path
    hint = f"say where the file would be in the source: --add {pattern.split('{')[0]}<namespace>/{base}={file}"
    if not isinstance(namespace, str) or not namespace or "/" in namespace:
        what = f"{document.value.get('kind')} {_name(document)}"
        raise Unsupposable(f"{printable(file)}: {printable(what)} has no namespace", printable(hint, 400))
    path = pattern.replace("{namespace}", namespace)
    path = path.removesuffix("**") + base if path.endswith("/**") else f"{path.rpartition('/')[0]}/{base}"
    if unit_of(spec, path) is None or "*" in path:
        raise Unsupposable(f"{printable(file)} would be no workload at {printable(path)}", printable(hint, 400))
    return path


def scenarios(file: str, data: bytes, spec: FleetSpec) -> list[Together]:
    """What the WhatIf documents of a file suppose, one after another. Raises Rejected with everything that is wrong with them."""
    found, problems = [], list[Problem]()
    for document in _documents(file, data):
        parsed = parse_own(document) if is_own(document) else None
        if isinstance(parsed, WhatIf):
            parts = tuple(_supposition(item, spec) for item in parsed.spec.suppose)
            found.append(Together(parts, name=parsed.spec.title))
        elif isinstance(parsed, list):
            problems += parsed
        else:
            problems.append(misplaced(document, "WhatIf", "`gitplacer schema WhatIf` prints what it holds"))
    if problems:
        raise Rejected(problems)
    return found


def _supposition(item: Suppose, spec: FleetSpec) -> Supposition:
    if item.lose is not None:
        return LoseCluster(item.lose)
    if item.drain is not None:
        return DrainCluster(item.drain)
    if item.cordon is not None:
        return CordonCluster(item.cordon)
    if item.remove is not None:
        return RemoveFiles((item.remove,))
    if item.replicas is not None:
        r = item.replicas
        return RaiseReplicas(group=r.group, worker=r.worker or "", to=r.to, times=r.times or 1.0)
    if item.price is not None:
        return SetPrice(item.price.cluster, item.price.node_type, item.price.per_hour)
    assert item.add is not None
    folder = spec.capacity.path + "/"
    if item.add.path.startswith(folder):
        return AddFiles({}, {item.add.path.removeprefix(folder): item.add.content.encode()})
    return AddFiles({item.add.path: item.add.content.encode()})

"""
The manifests inside ManifestWorkReplicaSets and ManifestWorks, as documents of their own with places in the file around them.

A ManifestWorkReplicaSet names Placements that say where its manifests go; a ManifestWork lies in the namespace of a cluster and goes there.
Those that a replica set has made are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from msgspec import Struct, structs

from gitplacer.adoption.differences import edits, same
from gitplacer.documents import Document, Edit, EditError, Path, applied
from gitplacer.importers.fleetrepo import FleetRepo
from gitplacer.importers.foreign import ForeignFile
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import leave_out, read_metadata
from gitplacer.importers.writing import Names, valid_name
from gitplacer.problems import nearest

_MADE_BY_SET = "work.open-cluster-management.io/manifestworkreplicaset"
_PROGRESSIVE = ("Progressive", "ProgressivePerGroup")
_TEMPLATE = ("deleteOption", "manifestConfigs", "executor")


class Work(Struct, frozen=True):
    """Manifests that go together: by these Placements, or to these clusters. `file` is the name of the file that they become."""

    root: Reader
    name: str
    namespace: str
    file: str
    manifests: tuple[Document, ...]
    placements: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()

    def __str__(self) -> str:
        kind = "ManifestWork" if self.clusters else "ManifestWorkReplicaSet"
        return f"{kind} {self.namespace}/{self.name}"

    @property
    def foreign(self) -> ForeignFile:
        """Its manifests as a file of which only parts are taken, because the text around them is not theirs."""
        return ForeignFile(f"{self.file}.yaml", b"", self.manifests, whole=False)


def read_work(document: Document, names: Names, default: str, repo: FleetRepo) -> Work | None:
    """The replica set or work in a document; None where something is wrong with it, or nothing is to be made of it."""
    notes, root = repo.notes, Reader.of(document)
    metadata = read_metadata(root, notes, kept=True)
    namespace = root.mapping("metadata").text("namespace") or default
    spec = root.mapping("spec")
    of_set = root.text("kind") == "ManifestWorkReplicaSet"
    if not of_set and _MADE_BY_SET in metadata.labels:
        notes.add(Outcome.LEFT_OUT, document, ("spec",), f"made by the replica set {metadata.labels[_MADE_BY_SET]}")
        return None
    leave_out(metadata, root, notes)
    template = spec.mapping("manifestWorkTemplate") if of_set else spec
    placements = tuple(_reference(item, notes) for item in spec.items("placementRefs")) if of_set else ()
    if of_set and spec.has("cascadeDeletionPolicy"):
        spec.value("cascadeDeletionPolicy")
        what = "what is removed from the source is removed from its clusters"
        notes.about(Outcome.CHANGED, spec, "cascadeDeletionPolicy", what)
    _template(template, notes)
    workload = template.mapping("workload")
    paths = [item.path for item in workload.items("manifests")]
    workload.value("manifests")
    if root.has("status"):
        root.value("status")
        notes.about(Outcome.LEFT_OUT, root, "status", "what OCM found out")
    notes.unread(root)
    if root.problems:
        repo.problems += root.problems
        return None
    if of_set and not placements:
        spec.report("MissingField", '"placementRefs" has no entry', "name the Placement that says where it goes")
        repo.problems += root.problems
        return None
    file = names.unique(valid_name(metadata.name, "work"))
    made = tuple(_embedded(document, path) for path in paths)
    return Work(root, metadata.name, namespace, file, made, placements, () if of_set else (namespace,))


class Difference(Struct, frozen=True):
    """What one cluster has otherwise in a manifest of a work: the edits that make `document` of it."""

    work: Work
    cluster: str
    document: Document
    edits: tuple[Edit, ...]


def joined(works: Sequence[Work], notes: Notes) -> tuple[list[Work], list[Difference]]:
    """
    The works, in which ManifestWorks that have the same objects for several clusters are one for all of these; and what is different on some, where
    edits can say it.
    """
    alike: dict[object, list[Work]] = {}
    for work in works:
        alike.setdefault(_objects(work) or id(work), []).append(work)
    found: list[Work] = []
    differences: list[Difference] = []
    for first, *others in alike.values():
        clusters = dict.fromkeys(first.clusters)
        for other in others:
            different = _different(first, other)
            if different is None:
                found.append(other)
                continue
            what = (
                f"the same objects as in {first} at {first.root.document.locate()}: one policy for the clusters of both"
            )
            notes.add(Outcome.CONVERTED, other.root.document, (), what)
            clusters |= dict.fromkeys(other.clusters)
            differences += different
        found.append(structs.replace(first, clusters=tuple(clusters)))
    return found, differences


def _objects(work: Work) -> frozenset[tuple[str, ...]] | None:
    """Which objects a ManifestWork has; None where not all are said, or one is there twice."""
    found = [_identity(one) for one in work.manifests]
    whole = frozenset(one for one in found if one is not None)
    return whole if work.clusters and found and len(whole) == len(found) else None


def _identity(document: Document) -> tuple[str, ...] | None:
    metadata = document.value.get("metadata")
    said = [metadata.get("namespace", ""), metadata.get("name")] if isinstance(metadata, dict) else []
    found = (document.value.get("apiVersion"), document.value.get("kind"), *said)
    return found if len(found) == 4 and all(isinstance(one, str) for one in found) else None


def _different(first: Work, other: Work) -> list[Difference] | None:
    """What makes the manifests of one work of those of another; None where edits cannot."""
    models = {_identity(one): one for one in first.manifests}
    found = []
    for one in other.manifests:
        model = models[_identity(one)]
        done = tuple(edits(model.value, one.value))
        try:
            if not same(reduce(applied, done, model.value), one.value):
                return None
        except EditError:
            return None
        found += [Difference(first, name, one, done) for name in other.clusters if done]
    return found


def _embedded(document: Document, path: Path) -> Document:
    value: Any = document.value
    for step in path:
        value = value[step]
    parsed = replace(document.parsed, value=value, prefix=(*document.parsed.prefix, *path), sections=())
    return Document(document.file, parsed, document.index, document.read)


def _reference(reader: Reader, notes: Notes) -> str:
    if reader.has("rolloutStrategy"):
        strategy = reader.mapping("rolloutStrategy")
        kind = strategy.text("type") or "All"
        if kind in _PROGRESSIVE:
            reader.value("rolloutStrategy")
            what = f"{kind}: one commit changes all clusters, and the engine syncs them"
            todo = "let a promoter go from cluster to cluster: docs/engines.md"
            notes.about(Outcome.NO_EQUAL, reader, "rolloutStrategy", what, todo)
        elif kind == "All":
            if strategy.has("all"):
                strategy.value("all")
            notes.about(Outcome.CONVERTED, reader, "rolloutStrategy", "all clusters at once, as here")
        else:
            hint = nearest(kind, ("All", *_PROGRESSIVE))
            strategy.report("InvalidValue", f'unknown type of rollout "{kind}"', hint, key="type")
    name = reader.text("name")
    if not name:
        reader.report("MissingField", '"name" is missing', "name the Placement")
    return name


def _template(template: Reader, notes: Notes) -> None:
    whys = {
        "deleteOption": (
            "what is removed from the source is removed from its clusters",
            "tell the engine what it must not prune",
        ),
        "manifestConfigs": ("the engine says how it applies and what is healthy", "docs/engines.md"),
        "executor": ("the engine applies in its own name", "give its ServiceAccount these rights"),
    }
    for key in _TEMPLATE:
        if template.has(key):
            template.value(key)
            notes.about(Outcome.NO_EQUAL, template, key, *whys[key])

"""
What stands in the folders of clusters: each object, and its copies.

An object is known by who it is, wherever its file lies. Of its copies one is the model, which becomes the manifest of the fleet repo: one
of the majority, and of these one whose whole file most clusters have, and of these that of the first cluster by name. What cannot be
adopted is left where it is, with a remark: nothing is guessed that would change what runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from gitplacer.adoption.differences import canonical
from gitplacer.adoption.folders import Folders, Place
from gitplacer.adoption.owners import charts_sources, engine_of, is_charts_source, is_of_flux
from gitplacer.adoption.remarks import Remark
from gitplacer.documents import Document, value_at
from gitplacer.kinds.parse import is_own
from gitplacer.model.workload import Identity, api_group
from gitplacer.plaintext import one
from gitplacer.problems import Location
from gitplacer.source.apigroups import RBAC_GROUP, is_cluster_scoped, is_surely_namespaced
from gitplacer.source.files import Reading
from gitplacer.source.scopes import Scopes, defined_scopes
from gitplacer.tree import Tree


class Copy(Struct, frozen=True, eq=False, dict=True):
    """
    An object as one cluster has it. `is_filled` if its namespace does not stand in it; `value` has it all the same. `blob` is the id of its
    file, which has so many documents as `siblings`, with itself.
    """

    cluster: str
    place: Place
    document: Document
    value: Mapping[str, Any]
    is_filled: bool
    blob: str
    siblings: int

    @cached_property
    def text(self) -> str:
        """The value as a text that only the same value has."""
        return canonical(self.value)

    @property
    def location(self) -> Location:
        return self.document.locate()


class Thing(Struct, frozen=True, eq=False):
    """An object with its copies by cluster; `model` is the copy that the others are compared with."""

    identity: Identity
    copies: Mapping[str, Copy]
    model: Copy

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted(self.copies))

    def but(self, clusters: Sequence[str]) -> Thing | None:
        """The same without the copies of some clusters; None if nothing is left of it."""
        kept = {name: copy for name, copy in self.copies.items() if name not in clusters}
        return _thing(self.identity, kept) if kept else None


class Copies(Struct, frozen=True):
    """All objects by who they are, sorted; what is left where it is, and what is adopted but not quite as it stands."""

    things: Mapping[Identity, Thing]
    left: tuple[Remark, ...]
    noted: tuple[Remark, ...]


def read_copies(tree: Tree, folders: Folders, reading: Reading, namespace: str) -> Copies:
    """The objects in the folders of clusters. `namespace` is that of objects which have one and say none."""
    left = list(folders.remarks)
    left += [Remark.of(problem) for problem in reading.problems if problem.location.file in folders.places]
    found: dict[Identity, dict[str, list[Copy]]] = defaultdict(lambda: defaultdict(list))
    scopes = Scopes(
        defined_scopes(item.document for path in folders.places for item in reading.documents.get(path, ()))
    )
    charts = charts_sources(item.document for path in folders.places for item in reading.documents.get(path, ()))
    for path, place in folders.places.items():
        if path in reading.broken or is_of_flux(path):
            continue
        items = reading.documents.get(path, ())
        for item in items:
            document = item.document
            if engine_of(document) is not None and not is_charts_source(document, charts):
                continue
            wrong = _no_object(document)
            if wrong is None:
                identity, copy, wrong = _copy(document, place, tree.entries[path].oid, len(items), scopes, namespace)
            if wrong is not None:
                left.append(wrong)
            else:
                found[identity][copy.cluster].append(copy)
    noted: list[Remark] = []
    things = {}
    for identity, by_cluster in sorted(found.items()):
        kept = {name: one for name, same in by_cluster.items() if (one := _one(same, left, noted)) is not None}
        if kept:
            things[identity] = _thing(identity, kept)
    return Copies(things, tuple(sorted(left)), tuple(sorted(noted)))


def _no_object(document: Document) -> Remark | None:
    """Why a document is no object that could be adopted, if it is none."""
    value = document.value
    metadata = value.get("metadata")
    if is_own(document):
        hint = "copy it into the fleet repo by hand if it is still true there"
        return Remark(document.locate(), f"{one(str(value.get('kind')))} of gitplacer is not adopted", hint)
    if not isinstance(value.get("apiVersion"), str) or not isinstance(value.get("kind"), str):
        return Remark(
            document.locate(), "is no Kubernetes object: it needs apiVersion and kind", "take it out of the folder"
        )
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return Remark(
            document.locate(("metadata",)),
            "is no Kubernetes object: it needs metadata.name",
            "give it a name, in quotes if YAML reads it as something else",
        )
    return None


_NO_NAMESPACE = (
    'write metadata.namespace, let a folder say it (--clusters "…/{cluster}/{namespace}/**"), or give --namespace'
)


def _copy(
    document: Document, place: Place, blob: str, siblings: int, scopes: Scopes, default: str
) -> tuple[Identity, Copy, Remark | None]:
    value = document.value
    group, kind, metadata = api_group(value["apiVersion"]), value["kind"], value["metadata"]
    written = metadata.get("namespace")
    space, wrong, is_filled = "", None, False
    if scopes.is_cluster_scoped(group, kind):
        pass
    elif isinstance(written, str) and written:
        space = written
    elif is_surely_namespaced(group, kind) or scopes.is_namespaced(group, kind):
        space, is_filled = place.namespace or default, True
        if not space:
            wrong = Remark(
                document.locate(("metadata",), key=True), f"{kind} {metadata['name']} says no namespace", _NO_NAMESPACE
            )
    filled = {**value, "metadata": {**metadata, "namespace": space}} if is_filled else value
    identity = Identity(group, kind, space, metadata["name"])
    return identity, Copy(place.cluster, place, document, filled, is_filled, blob, siblings), wrong


def _one(same: Sequence[Copy], left: list[Remark], noted: list[Remark]) -> Copy | None:
    """The one copy that a cluster has, if that can be said."""
    first, *others = same
    for other in others:
        if other.text != first.text:
            hint = "Argo CD takes the last one and Flux none: keep the one that is meant. Until then both are left where they are"
            left += [Remark(other.location, f"{_name(other)} is also at {first.location}, with other content", hint)]
            return None
        noted.append(Remark(other.location, f"{_name(other)} is also at {first.location}; it is taken over once"))
    return first


def _name(copy: Copy) -> str:
    return f"{copy.value['kind']} {copy.value['metadata']['name']}"


def _thing(identity: Identity, copies: Mapping[str, Copy]) -> Thing:
    values = Counter(copy.text for copy in copies.values())
    blobs = Counter(copy.blob for copy in copies.values())

    def rank(copy: Copy) -> tuple[int, int, str]:
        return -values[copy.text], -blobs[copy.blob], copy.cluster

    return Thing(identity, copies, min(copies.values(), key=rank))


_NOT_FOR_WORKLOADS = ("kube-system", "argocd", "flux-system")
"""Namespaces in which the project that Argo CD gets for workloads allows nothing, and that of Flux."""


def surely_platform(things: Mapping[Identity, Thing]) -> Iterator[Identity]:
    """
    Objects that are known to be no workloads: those without a namespace, or in one of Kubernetes or of an engine; and, of those with pods, what
    looks after a cluster rather than being what runs there: DaemonSets, which are on every node, and what has rights over all of
    the cluster by its account.
    """
    mighty = set(_mighty_accounts(things))
    for identity, thing in things.items():
        if (
            is_cluster_scoped(identity.api_group, identity.kind)
            or identity.namespace in _NOT_FOR_WORKLOADS
            or (identity.api_group, identity.kind) == ("apps", "DaemonSet")
        ):
            yield identity
        elif (identity.api_group, identity.kind) in (("apps", "Deployment"), ("apps", "StatefulSet")):
            account = _account(thing.model.value)
            if (identity.namespace, account) in mighty:
                yield identity


def _mighty_accounts(things: Mapping[Identity, Thing]) -> Iterator[tuple[str, str]]:
    for identity, thing in things.items():
        subjects = thing.model.value.get("subjects")
        if (identity.api_group, identity.kind) == (RBAC_GROUP, "ClusterRoleBinding") and isinstance(subjects, list):
            for subject in subjects:
                if isinstance(subject, dict) and subject.get("kind") == "ServiceAccount":
                    yield str(subject.get("namespace")), str(subject.get("name"))


def _account(value: Mapping[str, Any]) -> str | None:
    found = value_at(value, ("spec", "template", "spec", "serviceAccountName"))
    return found if isinstance(found, str) else None

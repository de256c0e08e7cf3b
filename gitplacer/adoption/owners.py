"""
What syncs the folders now: the Applications of Argo CD and the Kustomizations of Flux that stand in the repo.

They are not adopted: one that came along would go on syncing the old folders from its new place. They tell which engine there is, and
the way over begins with them.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gitplacer.adoption.remarks import Remark
from gitplacer.documents import Document, value_at
from gitplacer.problems import Location
from gitplacer.source.apigroups import api_group

_SYNCS = {
    ("argoproj.io", "Application"): "argocd",
    ("argoproj.io", "ApplicationSet"): "argocd",
    ("argoproj.io", "AppProject"): "argocd",
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): "flux",
    ("source.toolkit.fluxcd.io", "GitRepository"): "flux",
}
"""Kinds that say what is synced from where, and whose they are. Others of Flux, such as HelmReleases, are what is synced."""
_ALTERING = {
    "Kustomization": (
        *(
            ("spec", field)
            for field in ("commonMetadata", "components", "images", "namePrefix", "nameSuffix", "patches")
        ),
        ("spec", "postBuild"),
        ("spec", "targetNamespace"),
    ),
    "Application": tuple(("spec", "source", field) for field in ("helm", "kustomize", "plugin")),
    "ApplicationSet": tuple(("spec", "template", "spec", "source", field) for field in ("helm", "kustomize", "plugin")),
}
"""Fields by which an owner makes something else of a folder than what stands in it."""
_NOT_OWNERS = ("AppProject", "GitRepository")
_RENDERED = "if that is a folder that was adopted, write the result into it first, and adopt again"
FLUX_SYSTEM = "flux-system"
"""The folder that `flux bootstrap` writes: Flux itself."""


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """An object that syncs something: which engine's it is, its kind and name, and where it stands."""

    engine: str
    kind: str
    name: str
    location: Location


def engine_of(document: Document) -> str | None:
    """The engine that an object steers, if it says what is synced."""
    version, kind = document.parsed.says
    return _SYNCS.get((api_group(str(version)), str(kind)))


def is_of_flux(path: str) -> bool:
    """Whether a file is one of Flux's own."""
    return FLUX_SYSTEM in path.split("/")[:-1]


def owners(documents: Iterable[Document]) -> tuple[Owner, ...]:
    """Those among some documents, sorted."""
    found = []
    for document in documents:
        engine = engine_of(document)
        metadata = document.value.get("metadata")
        if engine is not None and document.value["kind"] not in _NOT_OWNERS and isinstance(metadata, dict):
            found.append(Owner(engine, document.value["kind"], str(metadata.get("name")), document.locate()))
    return tuple(sorted(found))


def alterations(documents: Iterable[Document]) -> Iterator[Remark]:
    """Where an owner says that it applies something else than what stands in its folder."""
    for document in documents:
        kind = document.value.get("kind")
        for path in _ALTERING.get(str(kind), ()) if engine_of(document) is not None else ():
            if value_at(document.value, path):
                message = f"{'.'.join(path)} of this {kind} changes what it applies; what is adopted is what stands in the folder"
                yield Remark(document.locate(path, key=True), message, _RENDERED)


_PATHS = (("spec", "path"), ("spec", "source", "path"), ("spec", "template", "spec", "source", "path"))
"""Where Kustomizations, Applications and ApplicationSets say which folder they sync."""


def elsewhere(documents: Iterable[Document], adopted: Collection[str], others: Collection[str]) -> Iterator[Remark]:
    """
    Where an owner syncs a folder of which nothing was adopted, though there is something in it. `adopted` are paths of files, `others` those of
    files that are not, and that do not steer an engine.
    """
    here, there = (frozenset(_folders(paths)) for paths in (adopted, others))
    for document in documents:
        for path in _PATHS if engine_of(document) is not None else ():
            folder = value_at(document.value, path)
            if not isinstance(folder, str) or not (below := posixpath.normpath(folder).strip("./")):
                continue
            if below in there and below not in here:
                message = f"this {document.value['kind']} syncs {below}, and nothing in it was adopted"
                hint = "let it go on as it is, or render it into the folder of its cluster, and adopt again"
                yield Remark(document.locate(path, key=True), message, hint)


def _folders(paths: Iterable[str]) -> Iterator[str]:
    """Every folder that one of the files is in, at any depth."""
    for path in paths:
        while path := path.rpartition("/")[0]:
            yield path


def guessed_engine(found: Iterable[Owner]) -> str | None:
    """The engine of most owners; None where there are none, or as many of one as of the other."""
    counts = Counter(owner.engine for owner in found).most_common()
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]

"""
What syncs the folders now: the Applications of Argo CD and the Kustomizations of Flux that stand in the repo.

They are not adopted: one that came along would go on syncing the old folders from its new place. They tell which engine there is, and
the way over begins with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gitplacer.adoption.remarks import Remark
from gitplacer.documents import Document
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
            value: Any = document.value
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value:
                message = f"{'.'.join(path)} of this {kind} changes what it applies; what is adopted is what stands in the folder"
                yield Remark(document.locate(path, key=True), message, _RENDERED)


def guessed_engine(found: Iterable[Owner]) -> str | None:
    """The engine of most owners; None where there are none, or as many of one as of the other."""
    counts = Counter(owner.engine for owner in found).most_common()
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]

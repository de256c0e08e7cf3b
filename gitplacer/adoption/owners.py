"""
What syncs the folders now: the Applications of Argo CD and the Kustomizations of Flux that stand in the repo.

They are not adopted: one that came along would go on syncing the old folders from its new place. They tell which engine there is, and
the way over begins with them.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gitplacer import pathglob
from gitplacer.adoption.remarks import Remark
from gitplacer.documents import Document, Path, dotted, value_at
from gitplacer.model.workload import api_group
from gitplacer.plaintext import few
from gitplacer.problems import Location

_SYNCS = {
    ("argoproj.io", "Application"): "argocd",
    ("argoproj.io", "ApplicationSet"): "argocd",
    ("argoproj.io", "AppProject"): "argocd",
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): "flux",
    ("source.toolkit.fluxcd.io", "GitRepository"): "flux",
    ("fluxcd.controlplane.io", "FluxInstance"): "flux",
    ("fluxcd.controlplane.io", "ResourceSet"): "flux",
}
"""Kinds that say what is synced from where, and whose they are. Others of Flux, such as HelmReleases, are what is synced."""
_SOURCE = ("source.toolkit.fluxcd.io", "GitRepository")
_CHART_SOURCES = (("spec", "chart", "spec", "sourceRef"), ("spec", "chartRef"), ("spec", "sourceRef"))
"""Where objects of Flux that sync no folder say where they take something from."""
_ALTERING = {
    "Kustomization": (
        *(
            ("spec", field)
            for field in ("commonMetadata", "components", "images", "namePrefix", "nameSuffix", "patches")
        ),
        ("spec", "postBuild"),
        ("spec", "targetNamespace"),
    ),
}
"""Fields by which an owner makes something else of a folder than what stands in it."""
_ALTERING_SOURCE = (
    *((field,) for field in ("helm", "kustomize", "plugin")),
    *(("directory", field) for field in ("exclude", "include", "jsonnet")),
)
"""The same in a source of an Application."""
_NOT_OWNERS = ("AppProject", "GitRepository")
_VARIABLE = re.compile(r"\{\{.*?\}\}")
"""What an ApplicationSet fills."""
_RENDERED = "if that is a folder that was adopted, write the result into it first, and adopt again"
FLUX_SYSTEM = "flux-system"
"""The folder that `flux bootstrap` writes: Flux itself."""


class Owner(Struct, frozen=True, order=True):
    """An object that syncs something: which engine's it is, its kind and name, and where it stands."""

    engine: str
    kind: str
    name: str
    location: Location


def engine_of(document: Document) -> str | None:
    """The engine that an object steers, if it says what is synced."""
    version, kind = document.parsed.says
    return _SYNCS.get((api_group(str(version)), str(kind)))


def may_steer(data: bytes) -> bool:
    """Whether a file names a group of these kinds, which is as much as can be said of one that cannot be read."""
    return any(group.encode() in data for group, _ in _SYNCS)


def is_of_flux(path: str) -> bool:
    """Whether a file is one of Flux's own."""
    return FLUX_SYSTEM in path.split("/")[:-1]


def charts_sources(documents: Iterable[Document]) -> frozenset[tuple[str, str]]:
    """
    The GitRepositories, by namespace and name, that HelmReleases and the like among some documents take charts from. They belong to what is
    synced, whatever else is synced from them.
    """
    found = set()
    for document in documents:
        if engine_of(document) is None and api_group(str(document.parsed.says[0])).endswith(".toolkit.fluxcd.io"):
            own = value_at(document.value, ("metadata", "namespace"))
            for path in _CHART_SOURCES:
                where = value_at(document.value, path)
                if isinstance(where, dict) and where.get("kind") == _SOURCE[1]:
                    found.add((str(where.get("namespace") or own), str(where.get("name"))))
    return frozenset(found)


def is_charts_source(document: Document, sources: Collection[tuple[str, str]]) -> bool:
    """Whether a document is one of these GitRepositories."""
    version, kind = document.parsed.says
    space, name = (str(value_at(document.value, ("metadata", key))) for key in ("namespace", "name"))
    return (api_group(str(version)), str(kind)) == _SOURCE and (space, name) in sources


def owners(documents: Iterable[Document]) -> tuple[Owner, ...]:
    """Those among some documents, sorted."""
    found = []
    for document in documents:
        engine = engine_of(document)
        metadata = document.value.get("metadata")
        if engine is not None and document.value["kind"] not in _NOT_OWNERS and isinstance(metadata, dict):
            found.append(Owner(engine, document.value["kind"], str(metadata.get("name")), document.locate()))
    return tuple(sorted(found))


def alterations(documents: Iterable[Document], adopted: Collection[str]) -> Iterator[Remark]:
    """Where an owner says that it applies something else than what stands in its folder. `adopted` are paths of files."""
    below: dict[str, list[str]] = defaultdict(list)
    for file in sorted(adopted):
        for folder in _folders([file]):
            below[folder].append(file)
    for document in documents:
        if engine_of(document) is None:
            continue
        kind = str(document.value.get("kind"))
        altering: list[Path] = [*_ALTERING.get(kind, ())]
        for source in _sources(document):
            altering += [(*source, *field) for field in _ALTERING_SOURCE]
            yield from _not_recursive(document, source, below)
        for path in altering:
            if value_at(document.value, path):
                message = f"{dotted(path)} of this {kind} changes what it applies; what is adopted is what stands in the folder"
                yield Remark(document.locate(path, key=True), message, _RENDERED)
        yield from _encrypted(document, kind)


def _not_recursive(document: Document, source: Path, below: Mapping[str, Sequence[str]]) -> Iterator[Remark]:
    """A remark where Argo CD applies only the files right in a folder, and others were adopted, which are `below` it."""
    if value_at(document.value, (*source, "directory", "recurse")) is True:
        return
    synced = [folder for glob in _synced(document, (*source, "path")) for folder in _matching(glob, below)]
    deeper = {path for folder in synced for path in below[folder] if path.rpartition("/")[0] not in synced}
    if deeper:
        named = few(sorted(deeper))
        message = f"this {document.value['kind']} says no directory.recurse, so it applies only files right in its folder; what lies deeper is adopted: {named}"
        hint = "take what runs nowhere out of the folders, and adopt again; else it runs after the hand-over"
        yield Remark(document.locate((*source, "path"), key=True), message, hint)


def _matching(glob: str, folders: Collection[str]) -> list[str]:
    if pathglob.is_plain(glob):
        return [glob] if glob in folders else []
    return [folder for folder in folders if pathglob.compiled(glob).fullmatch(folder)]


def _encrypted(document: Document, kind: str) -> Iterator[Remark]:
    path = ("spec", "decryption")
    if kind == "Kustomization" and value_at(document.value, path):
        secret = value_at(document.value, (*path, "secretRef", "name"))
        message = "this Kustomization opens what SOPS encrypted, which is adopted as it stands: the new sync has to open it too"
        hint = f"gitplacer bootstrap flux, with --decryption-secret {secret if isinstance(secret, str) else 'NAME'}"
        yield Remark(document.locate(path, key=True), message, hint)


def _sources(document: Document) -> list[Path]:
    """Where an Application or an ApplicationSet says what it syncs: its source, or each of its sources."""
    kind = document.value.get("kind")
    if kind not in ("Application", "ApplicationSet"):
        return []
    spec: Path = ("spec",) if kind == "Application" else ("spec", "template", "spec")
    several = value_at(document.value, (*spec, "sources"))
    count = len(several) if isinstance(several, list) else 0
    return [(*spec, "source"), *((*spec, "sources", index) for index in range(count))]


def _paths(document: Document) -> list[Path]:
    """Where Kustomizations, Applications, ApplicationSets and Flux itself say which folder they sync."""
    return [("spec", "path"), ("spec", "sync", "path"), *((*source, "path") for source in _sources(document))]


def _synced(document: Document, path: Path) -> list[str]:
    """
    The folders that are said there, as globs: what an ApplicationSet fills may be any, and where it fills all of it, its generators
    say which folders.
    """
    said = value_at(document.value, path)
    if not isinstance(said, str):
        return []
    globs = [_VARIABLE.sub("*", said)]
    if globs == ["*"]:
        globs = [*_generated(value_at(document.value, ("spec", "generators")))]
    tidy = [posixpath.normpath(glob).lstrip("/") for glob in globs]
    return [glob for glob in tidy if glob not in ("", ".") and "{" not in glob]


def _generated(generators: object) -> Iterator[str]:
    """The directories that the git generators among some, or in those that combine others, ask for."""
    for generator in generators if isinstance(generators, list) else ():
        directories = value_at(generator, ("git", "directories"))
        for directory in directories if isinstance(directories, list) else ():
            if isinstance(directory, dict) and isinstance(directory.get("path"), str) and not directory.get("exclude"):
                yield _VARIABLE.sub("*", directory["path"])
        for combining in ("matrix", "merge"):
            yield from _generated(value_at(generator, (combining, "generators")))


def elsewhere(documents: Iterable[Document], adopted: Collection[str], others: Collection[str]) -> Iterator[Remark]:
    """
    Where an owner syncs a folder of which nothing was adopted, though there is something in it. `adopted` are paths of files, `others` those of
    files that are not, and that do not steer an engine.
    """
    here, there = (frozenset(_folders(paths)) for paths in (adopted, others))
    for document in documents:
        for path in _paths(document) if engine_of(document) is not None else ():
            for glob in _synced(document, path):
                if _matching(glob, there) and not _matching(glob, here):
                    message = f"this {document.value['kind']} syncs {glob}, and nothing in it was adopted"
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

"""
The objects of a source: what its documents are in the unit where they lie.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.workload import Identity
from gitplacer.problems import Problem
from gitplacer.rules import ONLY_FLUX
from gitplacer.source.files import Reading, SourceDocument
from gitplacer.source.manifests import PLATFORM, SourceObject, read_manifest
from gitplacer.source.scopes import Scopes
from gitplacer.source.tenancy import Tenancy
from gitplacer.source.territory import Territory


def read_objects(
    documents: Mapping[str, tuple[SourceDocument, ...]],
    land: Territory,
    own: set[int],
    elsewhere: tuple[str, ...],
    irrelevant: Collection[str],
    tenancy: Tenancy,
    scopes: Scopes,
    found: list[Problem],
) -> tuple[tuple[SourceObject, ...], set[str], frozenset[Identity]]:
    """
    The objects of both units in order of path and place, the files with documents that are none, and the objects of the platform that
    workloads would have as well: there they are none, so that nobody who may only write workloads stops what the platform brings.
    """
    objects: list[SourceObject] = []
    broken: set[str] = set()
    for path, items in sorted(documents.items()):
        unit = None if path.startswith(elsewhere) else land.unit(path)
        for item in items if unit else ():
            if unit is None or id(item.document) in own:
                continue
            read = read_manifest(land.spec, unit, item, tenancy, irrelevant, scopes)
            if isinstance(read, SourceObject):
                objects.append(read)
            else:
                found.extend(read)
                broken.add(path)
    platform = {item.identity: item.document for item in objects if item.unit == PLATFORM}
    doubles = [item for item in objects if item.unit != PLATFORM and item.identity in platform]
    for double in doubles:
        message = f"{double.identity} is at {platform[double.identity].locate()} too"
        hint = "it is for the platform to bring; remove it here"
        found.append(double.document.problem("DuplicateObject", message, hint))
        broken.add(double.path)
    ours = [item for item in objects if item.unit == PLATFORM or item.identity not in platform]
    return tuple(_with_duplicates_marked(ours)), broken, frozenset(double.identity for double in doubles)


def irrelevant_codes(spec: FleetSpec, reading: Reading) -> Collection[str]:
    """
    Codes of what goes wrong only with Flux, where it is not the engine; and what its substitution would do, where the
    Kustomizations that lie in the repo have none.
    """
    if spec.engine != "flux":
        return ONLY_FLUX
    documents = [item.document for items in reading.documents.values() for item in items]
    specs = [document.value.get("spec") for document in documents if _is_flux(*document.parsed.says)]
    return ("FluxVariable",) if specs and not any(isinstance(s, dict) and s.get("postBuild") for s in specs) else ()


def _is_flux(api_version: object, kind: object) -> bool:
    return (
        kind == "Kustomization"
        and isinstance(api_version, str)
        and api_version.startswith("kustomize.toolkit.fluxcd.io/")
    )


def _with_duplicates_marked(objects: list[SourceObject]) -> Iterator[SourceObject]:
    by_identity: dict[Identity, list[SourceObject]] = defaultdict(list)
    for item in objects:
        by_identity[item.identity].append(item)
    for item in objects:
        others = [other for other in by_identity[item.identity] if other is not item]
        if not others:
            yield item
            continue
        hint = "keep one of them; two groups that need one object can share it"
        place = others[0].document.locate()
        problem = item.document.problem("DuplicateObject", f"{item.identity} is at {place} too", hint)
        yield replace(item, problems=(*item.problems, problem))

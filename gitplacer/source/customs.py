"""
Custom resources held against the CRDs that lie in the same source.

A CRD among the platform objects says what its kind may hold, so an object beside it that the API server would refuse is told
before the merge. What was found depends on two blobs, the object's and the CRD's, and is remembered by both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.crds import CustomKind, cel_problem, read_crd, violations
from gitplacer.documents import Path
from gitplacer.problems import Location, Problem, Severity
from gitplacer.source.allowances import not_allowed
from gitplacer.source.files import Memo
from gitplacer.source.manifests import SourceObject
from gitplacer.source.scopes import CRDS
from gitplacer.tree import Tree

_BY_HEART = "UnknownRayField"
_KEEPS_OTHERS = "x-kubernetes-preserve-unknown-fields"


class _Definition(Struct, frozen=True):
    """A kind as a CRD of the source defines it, and what the CRD is made from."""

    versions: tuple[CustomKind, ...]
    digest: str


def held_against_definitions(objects: Sequence[SourceObject], tree: Tree, memo: Memo) -> tuple[SourceObject, ...]:
    """The objects, with what their CRDs have against them; and CRDs with what is wrong with them, or is not checked."""
    defining = [item for item in objects if (item.identity.api_group, item.identity.kind) == CRDS]
    if not defining:
        return tuple(objects)
    definitions: dict[tuple[str, str], _Definition] = {}
    found: dict[int, list[Problem]] = {}
    for item in defining:
        read = read_crd(item.document)
        if isinstance(read, list):
            found[id(item)] = read
        elif read:
            definitions[read[0].group, read[0].kind] = _Definition(read, _digest(item, tree))
            about = cel_problem(item.document, read)
            found[id(item)] = [about] if about else []
    judged = [item for item in objects if (item.identity.api_group, item.identity.kind) in definitions]
    found.update(_judged(judged, definitions, tree, memo))
    exact = {id(item) for item in judged if _is_exact(definitions[item.identity[:2]], item)}
    return tuple(_with(item, found.get(id(item), []), exact=id(item) in exact) for item in objects)


def _is_exact(definition: _Definition, item: SourceObject) -> bool:
    """Whether a CRD says which fields the spec of an object may have: it has a schema for it that keeps no others."""
    version = item.api_version.rpartition("/")[2]
    mine = next((one for one in definition.versions if one.version == version and one.served), None)
    schema = mine.schema.value if mine is not None else {}
    for step in ("properties", "spec"):
        if schema.get(_KEEPS_OTHERS):
            return False
        schema = found if isinstance(found := schema.get(step), dict) else {}
    return bool(schema.get("properties")) and not schema.get(_KEEPS_OTHERS)


def _judged(
    items: Sequence[SourceObject], definitions: Mapping[tuple[str, str], _Definition], tree: Tree, memo: Memo
) -> Iterator[tuple[int, list[Problem]]]:
    """What is wrong with each object, by its id; what is remembered is not looked at again."""
    digests = {}
    for item in items:
        definition = definitions[item.identity.api_group, item.identity.kind]
        told = json.dumps(["custom resource", _digest(item, tree), definition.digest])
        digests[id(item)] = hashlib.sha256(told.encode()).hexdigest()
    known = memo.recall_texts(digests.values())
    for item in items:
        digest, definition = digests[id(item)], definitions[item.identity.api_group, item.identity.kind]
        if (text := known.get(digest)) is not None:
            yield id(item), list(_recalled(item, text))
            continue
        problems = violations(definition.versions, item.document)
        memo.remember_text(digest, _remembered(problems))
        yield id(item), problems


def _digest(item: SourceObject, tree: Tree) -> str:
    """What an object is made from: its blob, and which of its documents."""
    return f"{tree.entries[item.path].oid}:{item.document.index}"


def _remembered(problems: Iterable[Problem]) -> bytes:
    told = [(p.location.line, p.location.column, p.code, p.message, p.hint, p.severity) for p in problems]
    return json.dumps(told).encode()


def _recalled(item: SourceObject, text: bytes) -> Iterator[Problem]:
    for line, column, code, message, hint, severity in json.loads(text):
        yield Problem(Location(item.path, line, column), code, message, hint, Severity(severity))


def _with(item: SourceObject, found: Sequence[Problem], *, exact: bool) -> SourceObject:
    """An object with what was found. Where its CRD is exact, nothing is said of its spec by what is known of Ray's kinds by heart."""
    told = item.problems
    if exact and any(problem.code == _BY_HEART for problem in told):
        beside = _beside_its_spec(item)
        told = tuple(problem for problem in told if problem.code != _BY_HEART or problem.location in beside)
    if not found and len(told) == len(item.problems):
        return item
    return replace(item, problems=tuple(sorted({*told, *not_allowed(found, item.annotations)})))


def _beside_its_spec(item: SourceObject) -> frozenset[Location]:
    """Where the fields of an object and those of its metadata are told of, which no CRD is asked about."""
    metadata = item.document.value.get("metadata")
    paths: list[Path] = [(key,) for key in item.document.value if key != "spec"]
    paths += [("metadata", key) for key in (metadata if isinstance(metadata, dict) else ())]
    return frozenset(
        item.document.problem(_BY_HEART, "", path=path, key=key).location for path in paths for key in (True, False)
    )

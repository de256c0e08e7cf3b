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
from gitplacer.problems import Location, Problem, Severity
from gitplacer.source.allowances import not_allowed
from gitplacer.source.files import Memo
from gitplacer.source.manifests import SourceObject
from gitplacer.source.scopes import CRDS
from gitplacer.tree import Tree


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
    return tuple(_with(item, found.get(id(item), [])) for item in objects)


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


def _with(item: SourceObject, found: Sequence[Problem]) -> SourceObject:
    if not found:
        return item
    return replace(item, problems=tuple(sorted({*item.problems, *not_allowed(found, item.annotations)})))

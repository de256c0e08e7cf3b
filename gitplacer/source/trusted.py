"""
The Fleet as somebody trusted has it, where the revision that is planned is not trusted.

A Fleet says where capacity and the deployment repo are, which files are workloads and which are trusted, and how much may move.
A pull request from a stranger may propose another one; its plan is made with the Fleet of the branch that it would be merged
into, as if it had not. What it would change is said, field by field, so that nobody consents to it unseen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from gitplacer.documents import Document
from gitplacer.kinds.fleet import Fleet, FleetSpec
from gitplacer.problems import Problem, Severity
from gitplacer.redactor import shortened
from gitplacer.source.ownkinds import OwnKinds

_LONGEST = 120
"""Characters of a value that a message has."""
_MISSING = object()


def with_trusted(own: OwnKinds, documents: Iterable[Document], trusted: FleetSpec, problems: list[Problem]) -> OwnKinds:
    """The own kinds with the trusted Fleet; what the source's own says otherwise is added to `problems`."""
    place = own.places[f"Fleet/{own.fleet.metadata.name}"]
    for document in documents:
        if document.value.get("kind") == "Fleet" and document.locate() == place:
            problems.extend(_changes(document, own.fleet.spec, trusted))
    return replace(own, fleet=_with_spec(own.fleet, trusted))


def _with_spec(fleet: Fleet, spec: FleetSpec) -> Fleet:
    return fleet.model_copy(update={"spec": spec})


def _changes(document: Document, said: FleetSpec, trusted: FleetSpec) -> Iterator[Problem]:
    values = [spec.model_dump(mode="json", by_alias=True) for spec in (trusted, said)]
    for path, before, after in _differing(values[0], values[1], ("spec",)):
        message = (
            f"changes {'.'.join(path)} from {_text(before)} to {_text(after)}, which counts only when it is merged"
        )
        hint = "it is planned with what the trusted revision says; look at this change by itself"
        yield document.problem("UntrustedFleet", message, hint, path=path, severity=Severity.WARNING)


def _differing(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """The fields that differ, as deep as both are mappings."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from _differing(before.get(key, _MISSING), after.get(key, _MISSING), (*path, key))
    elif before != after:
        yield path, before, after


def _text(value: Any) -> str:
    if value is _MISSING or value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value)
    return shortened(text, _LONGEST)

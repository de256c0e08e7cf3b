"""
A custom resource held against its definition: what the API server would refuse, and what it would silently drop.

A schema is translated and compiled once, when the first object of its kind is looked at; after that an object costs
a walk over its own fields and one call into the validator. The validator says only yes or no until something is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gitplacer.crds import draft4, words
from gitplacer.crds.admission import MAX_FINDINGS, Node, Pruned, Refused, admitted
from gitplacer.crds.definition import CustomKind
from gitplacer.crds.structural import Schema, examine
from gitplacer.documents import Document, Path, dotted
from gitplacer.problems import Problem, Severity, nearest

if TYPE_CHECKING:
    import jsonschema_rs

_MAX_COMPILED = 128
"""Schemas that are kept compiled. One with pod templates takes some 10 MiB, most take a tenth."""
_KNOWN_NAMES = 12
"""Names of fields that a hint lists when none is near."""


class _Compiled(Struct, frozen=True):
    root: Node
    schema: Mapping[str, Any]
    validator: jsonschema_rs.Draft4Validator


def violations(custom: Sequence[CustomKind], document: Document) -> list[Problem]:
    """
    What is wrong with an object by the definition of its kind, in the order of its text: SchemaViolation and
    VersionNotServed, for which the API server refuses it, and the warning PrunedField for each field that it drops.

    `custom` are the versions of one kind, as `read_crd` gives them; an object of another kind has no problems.
    Its metadata (but for what the schema says of its name) and its status are not looked at.
    """
    api_version = document.value.get("apiVersion")
    if not isinstance(api_version, str) or not custom:
        return []
    group, _, version = api_version.rpartition("/")
    if custom[0].group != group or custom[0].kind != document.value.get("kind"):
        return []
    mine = next((one for one in custom if one.version == version), None)
    if mine is None or not mine.served:
        return [_not_served(custom, document, version, mine)]
    if examine(mine.schema).faults:
        return []  # told at its CRD
    try:
        compiled = _compiled(mine.schema)
    except ValueError:
        message = f"the schema of {version} cannot be compiled, so this {mine.kind} is not held against it"
        return [document.problem("CELNotChecked", message, path=("apiVersion",), severity=Severity.WARNING)]
    value, findings = admitted(compiled.root, document.value)
    if not findings and compiled.validator.is_valid(value):
        return []
    errors = list(islice(compiled.validator.iter_errors(value), MAX_FINDINGS))
    problems: dict[tuple[str, Path], Problem] = {}
    for finding in findings:
        if isinstance(finding, Pruned):
            problems.setdefault(("pruned", finding.path), _pruned(document, finding))
        else:
            problems.setdefault(("refused", finding.path), _refused(document, finding))
    # a value of the wrong type is often wrong in other ways too, which follow from it
    for error in sorted(errors, key=lambda error: error.kind.name != "type"):
        path, message, hint = words.said(error, compiled.schema)
        problems.setdefault(("refused", path), _refused(document, Refused(path, message), hint))
    found = sorted(problems.values())
    if len(found) < MAX_FINDINGS:
        return found
    message = f"more than {MAX_FINDINGS} fields do not fit their schema; the rest is not listed"
    return [*found[:MAX_FINDINGS], document.problem("TooManyFaults", message, "mend these first")]


@lru_cache(maxsize=_MAX_COMPILED)
def _compiled(schema: Schema) -> _Compiled:
    written = schema.value
    translated = draft4.translated(written, examine(schema))
    return _Compiled(Node(written, root=True), translated, draft4.compiled(translated))


def _not_served(custom: Sequence[CustomKind], document: Document, version: str, mine: CustomKind | None) -> Problem:
    kind = custom[0].kind
    served = [one.version for one in custom if one.served]
    message = f"{version} of {kind} is not served" if mine is not None else f"{kind} has no version {version}"
    hint = f"its CRD serves {', '.join(served)}" if served else "its CRD serves no version"
    return document.problem("VersionNotServed", message, hint, path=("apiVersion",))


def _pruned(document: Document, finding: Pruned) -> Problem:
    name = str(finding.path[-1])
    hint = nearest(name, finding.known)
    if len(finding.known) > _KNOWN_NAMES and not hint.startswith("did"):
        hint = ""
    message = f"{dotted(finding.path)} is not in the schema; the API server drops it"
    return document.problem("PrunedField", message, hint, path=finding.path, key=True, severity=Severity.WARNING)


def _refused(document: Document, finding: Refused, hint: str = "") -> Problem:
    written: Any = document.value
    for step in finding.path:
        if isinstance(written, dict):
            written = written.get(str(step))
        elif isinstance(written, list) and isinstance(step, int) and step < len(written):
            written = written[step]
        else:
            written = None
    key = isinstance(written, dict | list)
    return document.problem("SchemaViolation", finding.message, hint, path=finding.path, key=key)

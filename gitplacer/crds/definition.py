"""
The kinds that a CustomResourceDefinition defines.

Given a CRD as it lies in the source, we say which kind it defines, in which versions, and by which schemas; or what is
so wrong with it that an API server would refuse it. Only `apiextensions.k8s.io/v1` is read: v1beta1 is gone since
Kubernetes 1.22, and its schemas need not be structural.

Sources: "Versions in CustomResourceDefinitions" and the API reference of apiextensions.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitplacer.crds.structural import Gap, Schema, examine, schema_of
from gitplacer.documents import Document, Findings, Path
from gitplacer.problems import Location, Problem, Severity

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "CustomResourceDefinition"

_SCOPES = ("Namespaced", "Cluster")
_TOLD = 3
"""Rules that a warning names."""


@dataclass(frozen=True, slots=True)
class CustomKind:
    """
    One version of a kind. `scope` is "Namespaced" or "Cluster"; an object of a version that is not `served` cannot be
    applied; `gaps` are what only an API server checks: rules in CEL, formats of text, patterns that we cannot match.
    """

    group: str
    kind: str
    version: str
    scope: str
    served: bool
    storage: bool
    schema: Schema
    gaps: tuple[Gap, ...] = field(default=(), repr=False)

    @property
    def rules(self) -> tuple[Gap, ...]:
        """The rules in CEL (`x-kubernetes-validations`), with the path of what each is about."""
        return tuple(gap for gap in self.gaps if gap.what == "CEL rule")


def read_crd(document: Document) -> tuple[CustomKind, ...] | list[Problem]:
    """
    Every version that the CRD defines, in its order, also those that are not served; or the problems (InvalidCRD) for
    which an API server would refuse it. Nothing for a document that is no CRD, or is one of v1beta1.
    """
    value = document.value
    if value.get("apiVersion") != API_VERSION or value.get("kind") != KIND:
        return ()
    reader = _Reader(document)
    kinds = reader.kinds()
    return reader.problems.told() if reader.problems else kinds


def not_checked(custom: CustomKind) -> tuple[str, ...]:
    """What of this version only an API server checks, as `spec.replicas: CEL rule self >= 1`."""
    return tuple(f"{gap.path}: {gap.what} {gap.text}" for gap in custom.gaps)


def cel_problem(document: Document, kinds: Sequence[CustomKind] | None = None) -> Problem | None:
    """
    A warning that says once for a CRD how much of it is not checked; None when nothing is left out. `kinds` are what
    `read_crd` said of the document, where that is known.
    """
    found = read_crd(document) if kinds is None else kinds
    served = [custom for custom in found if isinstance(custom, CustomKind) and custom.served]
    gaps = sorted({gap for custom in served for gap in custom.gaps})
    if not gaps:
        return None
    counts = {what: sum(gap.what == what for gap in gaps) for what in ("CEL rule", "pattern", "format")}
    named = [f"{n} {name}{'' if n == 1 else 's'}" for name, n in counts.items() if n]
    what = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    paths = list(dict.fromkeys(gap.path for gap in gaps))
    where = ", ".join(paths[:_TOLD]) + (" …" if len(paths) > _TOLD else "")
    message = f"{what} of {served[0].kind} {'is' if len(gaps) == 1 else 'are'} not checked here ({where})"
    hint = "the API server checks them when an object is applied"
    return Problem(_first_line(document), "CELNotChecked", message, hint, Severity.WARNING)


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems = Findings(document)

    def invalid(self, path: Path, message: str, hint: str = "") -> None:
        self.problems.report("InvalidCRD", message, hint, path=path, key=True)

    def kinds(self) -> tuple[CustomKind, ...]:
        spec = self.document.value.get("spec")
        if not isinstance(spec, dict):
            self.invalid(("spec",), "a CustomResourceDefinition needs a spec")
            return ()
        names = spec.get("names")
        group = self.text(spec, "group", ("spec",))
        kind = self.text(names, "kind", ("spec", "names"))
        plural = self.text(names, "plural", ("spec", "names"))
        metadata = self.document.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if group and plural and isinstance(name, str) and name != f"{plural}.{group}":
            self.invalid(("metadata", "name"), f"its name must be {plural}.{group}: its plural and its group")
        scope = spec.get("scope")
        if scope not in _SCOPES:
            self.invalid(("spec", "scope"), f"spec.scope must be {' or '.join(_SCOPES)}")
        if spec.get("preserveUnknownFields"):
            hint = "write x-kubernetes-preserve-unknown-fields: true in the schema"
            self.invalid(("spec", "preserveUnknownFields"), "spec.preserveUnknownFields cannot be true", hint)
        versions = spec.get("versions")
        if not isinstance(versions, list) or not versions:
            self.invalid(("spec", "versions"), "spec.versions must list at least one version")
            return ()
        found = [self.version(version, index, group, kind, str(scope)) for index, version in enumerate(versions)]
        custom = tuple(one for one in found if one is not None)
        if len(custom) == len(found):
            if len({one.version for one in custom}) < len(custom):
                self.invalid(("spec", "versions"), "spec.versions has the same name twice")
            if sum(one.storage for one in custom) != 1:
                self.invalid(("spec", "versions"), "exactly one version must have storage: true")
        return custom

    def version(self, version: Any, index: int, group: str, kind: str, scope: str) -> CustomKind | None:
        path: Path = ("spec", "versions", index)
        if not isinstance(version, dict):
            self.invalid(path, "a version is a mapping")
            return None
        name = self.text(version, "name", path)
        flags = {key: version.get(key) for key in ("served", "storage")}
        for key, flag in flags.items():
            if not isinstance(flag, bool):
                self.invalid((*path, key), f"{key} must be true or false")
        holder = version.get("schema")
        written = holder.get("openAPIV3Schema") if isinstance(holder, dict) else None
        where: Path = (*path, "schema", "openAPIV3Schema")
        if not isinstance(written, dict):
            self.invalid(where, f"version {name} needs schema.openAPIV3Schema")
            return None
        schema = schema_of(written)
        examination = examine(schema)
        for below, message in examination.faults:
            self.invalid((*where, *below), f"the schema of {name} is not structural: {message}")
        if examination.faults or not name:
            return None
        return CustomKind(
            group=group,
            kind=kind,
            version=name,
            scope=scope,
            served=flags["served"] is True,
            storage=flags["storage"] is True,
            schema=schema,
            gaps=examination.gaps,
        )

    def text(self, holder: Any, key: str, path: Path) -> str:
        value = holder.get(key) if isinstance(holder, Mapping) else None
        if isinstance(value, str) and value:
            return value
        self.invalid((*path, key), f"a CustomResourceDefinition needs {'.'.join(map(str, (*path, key)))}")
        return ""


def _first_line(document: Document) -> Location:
    """Where a CRD begins. To look closer, its whole text would be read again, and CRDs are the longest texts of all."""
    data = document.read()[: document.parsed.end]
    start = document.parsed.start
    for line in data[start:].splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
        start += len(line)
    return Location(document.file, data.count(b"\n", 0, start) + 1)

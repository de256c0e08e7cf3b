"""
Kubernetes objects of the source: who they are, where they belong, what placement knows of them.

Platform paths are trusted and may hold anything; workload paths hold what runs in a namespace, and nothing that
is cluster-scoped, grants rights or steers the GitOps engine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from gitplacer import pathglob, rules
from gitplacer.documents import LISTED, Document, Findings, Path
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.parse import is_own
from gitplacer.model.labels import KEY_HINT, VALUE_HINT, is_dns_label, is_label_key, is_label_value, is_subdomain
from gitplacer.model.workload import Identity, api_group
from gitplacer.plaintext import LONGEST_LABEL, LONGEST_NAME, one
from gitplacer.problems import Problem, Severity
from gitplacer.rules.manifest import RAY_KINDS
from gitplacer.source.allowances import about_allowances, not_allowed
from gitplacer.source.apigroups import (
    BUILT_IN_GROUPS,
    RBAC_GROUP,
    is_cluster_scoped,
    is_surely_namespaced,
    steers_gitops,
)
from gitplacer.source.files import SourceDocument
from gitplacer.source.kindnames import AS_A_LIST, RAY_GROUP, likely
from gitplacer.source.misspelt import about_misspelt
from gitplacer.source.scopes import Scopes
from gitplacer.source.tenancy import Tenancy
from gitplacer.workloads.facts import ObjectFacts

PLATFORM = "platform"
WORKLOADS = "workloads"
SENTINEL = "gitplacer.yaml"
"""The file of a unit's sentinel, in a deployment repo."""

_NO_MANIFEST = "if this is no manifest, move the file out of the workload paths, or exclude it in the Fleet"
_ADD = f"add it; {_NO_MANIFEST}"
_SENTINELS = ("gitplacer-platform", "gitplacer-workloads")
_NOTHING_SAID = Scopes()
"""Its kinds are all known, and another one is told as such."""
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?")
_LONGEST_OF_CRON_JOB = 52
"""Characters of a name (ValidateCronJobCreate in pkg/apis/batch/validation)."""
_TYPE = (
    (
        "apiVersion",
        re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        "write <group>/<version> in lower case, such as ray.io/v1, or v1",
    ),
    ("kind", re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?"), "write one word, such as RayCluster"),
)
"""What says of which type an object is: the key, how it is written, and what to do if it is not."""


class SourceObject(Struct, frozen=True):
    """One Kubernetes object. `unit` is PLATFORM or WORKLOADS; `problems` are about this object alone."""

    identity: Identity
    document: Document
    unit: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    facts: ObjectFacts
    problems: tuple[Problem, ...] = ()
    namespace_from_path: bool = False

    @property
    def path(self) -> str:
        return self.document.file

    @property
    def api_version(self) -> str:
        return str(self.document.parsed.says[0])

    @property
    def is_namespace(self) -> bool:
        return self.identity.kind == "Namespace" and not self.identity.api_group

    @property
    def held(self) -> bool:
        """Whether something is so wrong with it that its group must stay as it is."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def unit_of(spec: FleetSpec, path: str) -> str | None:
    """Which unit a file's objects are rendered into, or None for a file that holds neither."""
    if pathglob.matches_any(spec.platform.paths, path):
        return PLATFORM
    if pathglob.matches_any(spec.source.include, path) and not pathglob.matches_any(spec.source.exclude, path):
        return WORKLOADS
    return None


def read_manifest(
    spec: FleetSpec,
    unit: str,
    item: SourceDocument,
    tenancy: Tenancy,
    irrelevant: Collection[str] = (),
    scopes: Scopes = _NOTHING_SAID,
) -> SourceObject | list[Problem]:
    """
    The object in a document, or what keeps it from being one. Problems of the `irrelevant` codes are not told, nor those that whoever
    writes there may have. `scopes` are what the source says of kinds.
    """
    document = item.document
    version, kind = document.parsed.says
    if is_own(document):
        hint = "move it out of the workload paths"
        return [document.problem("OwnKindInWorkloads", f"{one(str(kind))} does not count here", hint, path=("kind",))]
    metadata, group = document.parsed.metadata, api_group(str(version))
    if not version and not kind:
        message = "this is no Kubernetes object: it has neither apiVersion nor kind"
        return [document.problem("InvalidObject", message, f"add them; {_NO_MANIFEST}", path=("kind",))]
    problems = list(_formless(document, unit, group))
    if problems or not isinstance(metadata, dict):
        return _of_a_list(document, str(kind)) or problems
    if unit == WORKLOADS:
        named = tenancy.names_kind(document.file, kind)
        problems.extend(_not_allowed(document, group, kind, scopes, named=named))
        if problems:
            return problems
    namespace, from_path = _namespace(spec, unit, document, group, kind, problems)
    if unit == WORKLOADS:
        problems.extend(_not_theirs(spec, document, kind, namespace, tenancy))
    if group == RAY_GROUP and kind not in RAY_KINDS:
        # It is none: as an object of a kind that makes no pods it would take the place of the app that it was meant to be.
        hint = likely(group, kind)
        problems.append(document.problem("UnknownKind", f'unknown kind "{kind}" of ray.io', hint, path=("kind",)))
    if problems:
        return sorted({*problems, *item.problems})
    if unit == WORKLOADS:
        problems += tenancy.forbidden(document, item.facts.needs)
    granted = (*irrelevant, *(rules.OF_STRANGERS if unit == PLATFORM else tenancy.granted(document.file)))
    annotations = _strings(document, "annotations", problems)
    problems += islice(about_allowances(document, annotations), LISTED)
    problems += islice(about_misspelt(document, annotations), LISTED)
    return SourceObject(
        identity=Identity(group, kind, namespace, metadata["name"]),
        document=document,
        unit=unit,
        labels=_strings(document, "labels", problems),
        annotations=annotations,
        facts=item.facts,
        problems=tuple(
            sorted({*problems, *not_allowed((p for p in item.problems if p.code not in granted), annotations)})
        ),
        namespace_from_path=from_path,
    )


def _formless(document: Document, unit: str, group: str) -> Iterator[Problem]:
    """What keeps a document from being a Kubernetes object at all: it says of which type it is, and its name."""
    metadata = document.parsed.metadata
    for (key, pattern, hint), written in zip(_TYPE, document.parsed.says, strict=True):
        if not isinstance(written, str) or not written:
            yield document.problem("InvalidObject", f"a Kubernetes object needs {key}", _ADD, path=(key,))
        elif not pattern.fullmatch(written):
            message = f"{key} {written[:100]} is none of Kubernetes"
            yield document.problem("InvalidObject", message, hint, path=(key,))
    if not isinstance(metadata, dict):
        yield document.problem("InvalidObject", "a Kubernetes object needs metadata.name", _ADD, path=("metadata",))
    elif not _is_named(unit, group, str(document.parsed.says[1]), metadata.get("name")):
        yield _nameless(document, metadata)


def _not_theirs(spec: FleetSpec, document: Document, kind: str, namespace: str, tenancy: Tenancy) -> Iterator[Problem]:
    """What an object may not be where it is written: what the Tenant of its path may not have, and what is ours."""
    refused = tenancy.refused(document, kind, namespace)
    if refused is not None:
        yield refused
    is_ours = kind == "ConfigMap" and document.parsed.metadata["name"] in _SENTINELS
    if is_ours and namespace == spec.system_namespace:
        message = "this is the name of one of gitplacer's sentinels"
        yield document.problem("NotAllowed", message, "choose another name", path=("metadata", "name"))


def identity_of(value: Mapping[str, Any]) -> Identity | None:
    """Who an object is that was read before, if it is one."""
    return _identity(value.get("apiVersion"), value.get("kind"), value.get("metadata"))


def identity_in(document: Document) -> Identity | None:
    """The same of the object in a document, whose value nobody may have asked for."""
    return _identity(*document.parsed.says, document.parsed.metadata)


def _identity(version: object, kind: object, metadata: object) -> Identity | None:
    if not isinstance(metadata, dict):
        return None
    return Identity(api_group(str(version)), str(kind), str(metadata.get("namespace") or ""), str(metadata.get("name")))


def _is_named(unit: str, group: str, kind: str, written: object) -> bool:
    """
    Whether Kubernetes takes that for the name of an object. Of what only the platform has, such as roles, more is taken; that KubeRay takes less is
    told by rules of its own.
    """
    if not isinstance(written, str) or len(written) > LONGEST_NAME:
        return False
    if (group, kind) == ("", "Service"):
        return is_dns_label(written)
    if (group, kind) == ("batch", "CronJob"):
        return len(written) <= _LONGEST_OF_CRON_JOB and is_subdomain(written)
    if unit == WORKLOADS and group != RBAC_GROUP:
        return is_subdomain(written)
    return _NAME.fullmatch(written) is not None


def _nameless(document: Document, metadata: Mapping[str, object]) -> Problem:
    if "generateName" in metadata:
        hint = "generateName cannot be applied from Git; give it a name"
    else:
        hint = _as_a_name(
            metadata.get("name"),
            "write lower-case letters, digits, `-` and `.`, with a letter or digit at both ends of each part; "
            f"{LONGEST_NAME} characters at most, of a Service {LONGEST_LABEL} and no `.`, of a CronJob {_LONGEST_OF_CRON_JOB}",
        )
    return document.problem("InvalidObject", "metadata.name must be a name", hint, path=("metadata", "name"))


def _of_a_list(document: Document, kind: str) -> list[Problem]:
    """What is wrong with a list of one kind, which has no name of its own: that alone."""
    if not kind.endswith("List") or not isinstance(document.value.get("items"), list):
        return []
    return [document.problem("InvalidObject", f"{one(kind)} is not read as a list", AS_A_LIST, path=("kind",))]


def _as_a_name(written: object, hint: str) -> str:
    """What to do where a name should be: `hint`, if it is not for want of quotes."""
    if isinstance(written, bool | int | float):
        return "put it in quotes: YAML reads it as a number, or as true or false"
    return hint


def _not_allowed(document: Document, group: str, kind: str, scopes: Scopes, *, named: bool) -> list[Problem]:
    """Why an object of a kind is not for workload paths. `named`: the owner of the file may write it by its full name."""
    if group == "" and kind == "Namespace":
        hint = (
            "gitplacer makes the namespaces that groups need; one with labels of its own goes under the platform paths"
        )
        return [
            document.problem("NotAllowed", "a Namespace does not belong in the workload paths", hint, path=("kind",))
        ]
    why = ""
    if scopes.is_cluster_scoped(group, kind):
        why = "is cluster-scoped"
    elif group == RBAC_GROUP:
        why = "grants rights"
    elif steers_gitops(group, kind):
        why = "steers the GitOps engine"
    hint = "move it under the platform paths of the Fleet"
    if not why and not named and group != RAY_GROUP and not scopes.is_namespaced(group, kind):
        why = f"of {group or 'the core group'} may be cluster-scoped"
        otherwise = f'put its CustomResourceDefinition under the platform paths, or let its Tenant name it: kinds: ["*", {kind}]'
        found = likely(group, kind)
        surely = group in BUILT_IN_GROUPS or found == AS_A_LIST  # of other groups the table has a few kinds only
        hint = (found if surely else f"{found} If not, {otherwise}") if found else otherwise
    if not why:
        return []
    return [
        document.problem(
            "NotAllowed", f"{one(kind)} {why} and does not belong in the workload paths", hint, path=("kind",)
        )
    ]


def _namespace(
    spec: FleetSpec, unit: str, document: Document, group: str, kind: str, problems: list[Problem]
) -> tuple[str, bool]:
    """The object's namespace, and whether its path gave it."""
    if is_cluster_scoped(group, kind):
        return "", False
    written = document.parsed.metadata.get("namespace")
    if written not in (None, ""):  # an empty one is none to the API server
        if isinstance(written, str) and is_dns_label(written):
            return written, False
        hint = _as_a_name(written, "write up to 63 lower-case letters, digits and `-`, with no `-` at its ends")
        where = ("metadata", "namespace")
        problems.append(document.problem("InvalidObject", "metadata.namespace must be a DNS label", hint, path=where))
        return "", False
    if unit == WORKLOADS:
        found = pathglob.captured(spec.source.namespaces.from_path, document.file, "namespace")
        if found is not None and is_dns_label(found):
            return found, True
    elif not is_surely_namespaced(group, kind):
        return "", False
    hint = f"write metadata.namespace, or put the file where {spec.source.namespaces.from_path} gives it one"
    problems.append(
        document.problem("MissingNamespace", f"{kind} has no namespace", hint, path=("metadata",), key=True)
    )
    return "", False


def _strings(document: Document, key: str, problems: list[Problem]) -> Mapping[str, str]:
    """
    metadata.labels or .annotations; what the API server refuses is a problem: values that are no strings, keys that are no qualified
    names (those of annotations in any case), and values of labels that are none.
    """
    found = document.parsed.metadata.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        hint = "write each as `key: value`"
        problems.append(
            document.problem("WrongType", f"metadata.{key} must be a mapping", hint, path=("metadata", key))
        )
        return {}
    wrong = Findings(document)
    for name, text in found.items():
        path: Path = ("metadata", key, name)
        if not isinstance(text, str):
            hint = 'write "" for an empty one, or remove it' if text is None else "put it in quotes"
            wrong.report("WrongType", f"metadata.{key}.{name} must be a string", hint, path=path)
        elif key == "labels" and not is_label_value(text):
            wrong.report("InvalidLabel", f'"{text[:100]}" is no value of a label', VALUE_HINT, path=path)
        if not is_label_key(name if key == "labels" else name.lower()):
            message = f'"{name[:100]}" is no key of {"a label" if key == "labels" else "an annotation"}'
            wrong.report("InvalidLabel", message, KEY_HINT, path=path, key=True)
    problems.extend(wrong.told())
    return {name: text for name, text in found.items() if isinstance(text, str)}

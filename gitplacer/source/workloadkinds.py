"""
WorkloadKinds in the source: kinds that users declare, and what is held where a declaration cannot be used.

What a file's blob comes to is remembered without knowing of any other file, so objects of these kinds are read again once
the declarations are known, and only they. A declaration that cannot be used holds the objects of its kind: without it they
would seem to have no pods, or those of the declaration that it replaced. One of which not even the kind can be told
holds the objects of every kind that it may be about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from gitplacer import workloads
from gitplacer.documents import Document
from gitplacer.kinds import OWN_API_GROUP, TABLE
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.workloadkind import WorkloadKind
from gitplacer.model.workload import api_group
from gitplacer.problems import Problem
from gitplacer.source.apigroups import BUILT_IN_GROUPS
from gitplacer.source.files import SourceDocument, read_document
from gitplacer.source.manifests import SourceObject
from gitplacer.source.ownkinds import torn_kinds
from gitplacer.workloads.declaration import declaration
from gitplacer.workloads.declared import kind, unreadable

KIND = "WorkloadKind"
_NAMED = re.compile(r"""\bkind["']?\s*:\s*["']?([A-Z]\w*)""")
_Key = tuple[str, str]
Documents = Mapping[str, tuple[SourceDocument, ...]]


class Declarations(Struct, frozen=True):
    """
    What users declare. `kinds` has a row for each declared kind; those whose declaration cannot be used report it. `unknown`
    is a file with one of which nobody can tell the kind, '' for none.
    """

    kinds: workloads.Declared = field(default_factory=dict)
    unknown: str = ""

    def applied(self, documents: Documents) -> Documents:
        """The documents with the objects of declared kinds sized."""
        if not self.kinds and not self.unknown:
            return documents
        return {path: tuple(map(self._sized, items)) for path, items in documents.items()}

    def declare(self, group: str, name: str) -> bool:
        """Whether a kind is declared, or may be by what cannot be read."""
        return (group, name) in self.kinds or self.may_be_about(group, name)

    def may_be_about(self, group: str, name: str) -> bool:
        """Whether the unknown declaration may be that of a kind."""
        return bool(self.unknown) and (group, name) not in self.kinds and _may_be_declared((group, name))

    def _sized(self, item: SourceDocument) -> SourceDocument:
        key = _key(item.document)
        if key in self.kinds:
            facts, problems = read_document(item.document, self.kinds)
            return SourceDocument(item.document, facts, problems)
        if self.may_be_about(*key):
            said = f"{self.unknown} declares a kind, perhaps {key[1]}, and cannot be read"
            problem = item.document.problem("BrokenWorkloadKind", said, "mend it", path=("kind",))
            return SourceDocument(item.document, item.facts, tuple(sorted({*item.problems, problem})))
        return item


def is_declared(item: SourceObject) -> bool:
    """Whether an object becomes pods because a WorkloadKind says so."""
    return item.facts.sized and not workloads.is_read_by_code(item.identity[:2])


def read_declarations(
    own: Iterable[Document], torn: Mapping[str, bytes], documents: Documents, problems: list[Problem]
) -> Declarations:
    """
    The WorkloadKinds among our own documents. `torn` are files that could not be parsed, with their bytes; `documents` all
    that could. What is wrong with a declaration by itself is told by whoever reads our own kinds; `problems` gets what is
    wrong between them.
    """
    found: dict[_Key, tuple[workloads.Kind, Document]] = {}
    names: set[str] = set()
    half_known: dict[str, str] = {}
    unknown = ""
    for path, data in sorted(torn.items()):
        if KIND in torn_kinds(data):
            named = set(_NAMED.findall(data.replace(b"\x00", b"").decode("utf-8", "replace"))) - TABLE.keys()
            half_known |= dict.fromkeys(named, path)
            unknown = unknown if named else unknown or path
    for document in own:
        if document.parsed.says[1] != KIND:
            continue
        parsed = parse_own(document) if is_own(document) else None
        group, name = _declared(document)
        key = (group, name)
        if not name:
            unknown = unknown or document.file
        elif not group:
            half_known[name] = str(document.locate())
        elif workloads.is_read_by_code(key):
            said, hint = f"spec.kind: {name} is a kind that gitplacer knows by itself", "remove this WorkloadKind"
            problems.append(document.problem("InvalidValue", said, hint, path=("spec", "kind")))
        elif key in found:
            first = found[key][1].locate()
            said, hint = f"{name} of {group} is declared at {first} too", "keep one of them"
            problems.append(document.problem("DuplicateName", said, hint, path=("spec", "kind")))
            found[key] = (_broken(key, f"is declared at {first} and at {document.locate()}"), found[key][1])
        elif not isinstance(parsed, WorkloadKind) or parsed.name in names:
            found[key] = (_broken(key, f"is declared at {document.locate()}, which cannot be used"), document)
        else:
            found[key] = (kind(declaration(document.value["spec"])), document)
            names.add(parsed.name)
    rows = {key: row for key, (row, _) in found.items()}
    for key in _of_kinds(documents, half_known) if half_known else ():
        rows.setdefault(key, _broken(key, f"is declared in {half_known[key[1]]}, which cannot be read"))
    return Declarations(rows, unknown)


def _of_kinds(documents: Documents, names: Iterable[str]) -> Iterator[_Key]:
    """The kinds of some names that are met in the source and may be declared, whatever their group."""
    keys = {_key(item.document) for items in documents.values() for item in items}
    return (key for key in sorted(keys) if key[1] in names and _may_be_declared(key))


def _key(document: Document) -> _Key:
    return api_group(str(document.value.get("apiVersion"))), str(document.value.get("kind"))


def _broken(key: _Key, why: str) -> workloads.Kind:
    return unreadable(*key, f"{key[1]} {why}", "mend the WorkloadKind")


def _declared(document: Document) -> _Key:
    """The API group and the kind that a document declares, whatever else is wrong with it; '' where it does not say."""
    spec = document.value.get("spec")
    group, name = (spec.get("apiGroup"), spec.get("kind")) if isinstance(spec, dict) else ("", "")
    return group if isinstance(group, str) else "", name if isinstance(name, str) else ""


def _may_be_declared(key: _Key) -> bool:
    group, _ = key
    return (
        group not in BUILT_IN_GROUPS and group not in ("ray.io", OWN_API_GROUP) and not workloads.is_read_by_code(key)
    )

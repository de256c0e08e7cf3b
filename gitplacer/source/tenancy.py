"""
Whose a workload file is, and what its owner may do.

The Fleet says which files are workloads; all others are trusted, whoever a Tenant says they belong to. Of the workload files each
belongs to one Tenant. What a Tenant may not write is not an object of the fleet at all: it takes part in no group, is nobody's
double and selects nobody's pods, so that it can stop nothing but itself.

A fleet without Tenants has one that may do what is left when nothing is said: use every namespace but the reserved ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from gitplacer import globoverlap, pathglob
from gitplacer.documents import Document
from gitplacer.globparts import Likely, of_path
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.tenant import Tenant
from gitplacer.plaintext import few
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem
from gitplacer.source.ownkinds import may_be
from gitplacer.workloads.facts import Reference
from gitplacer.workloads.requests import is_resource, like_resource

RESERVED = ("kube-*", "argocd", "flux-system")
"""Namespaces of Kubernetes itself, of Argo CD and of Flux, where they usually are. Whoever writes there is more than a tenant."""

_SYSTEM_CLASSES = "system-"
_TOLD = 10
"""So many others are told of each tenant that it overlaps with, if it does with more."""


class Tenancy(Struct, frozen=True, dict=True):
    """
    The Tenants of a source. `declared` says that there are some, even if none could be read: then a file that no readable one has is
    nobody's. `complete` says that all could be. `disputes` are the names of two that may both write some path, or both use some namespace: at least one
    pair of each tenant that there is such another of.
    """

    tenants: tuple[Tenant, ...] = ()
    declared: bool = False
    complete: bool = True
    reserved: tuple[str, ...] = RESERVED
    disputes: tuple[tuple[str, str], ...] = ()

    def owner(self, path: str) -> Tenant | None:
        """The Tenant of a workload file; None if it is nobody's, or nobody is declared."""
        if path not in self._owners:
            owning = (number for number, pattern in self._by_path.of(path) if pathglob.matches(pattern, path))
            first = min(owning, default=None)
            self._owners[path] = self.tenants[first] if first is not None else None
        return self._owners[path]

    def allows_policy(self, path: str, policy: str) -> bool:
        """Whether a policy may govern what is in a workload file."""
        owner = self.owner(path)
        return owner is None or owner.spec.policies is None or pathglob.name_matches_any(owner.spec.policies, policy)

    def may_speak_of(self, path: str, namespace: str) -> bool:
        """Whether what cannot be read in a workload file may be about an object of a namespace."""
        owner = self.owner(path)
        if owner is None:
            return not (self.declared and self.complete)
        return self._has(owner, namespace)

    def names_kind(self, path: str, kind: str) -> bool:
        """Whether the Tenant of a workload file may write a kind by its full name, and not only by a pattern."""
        owner = self.owner(path)
        return owner is not None and kind in (owner.spec.kinds or ())

    def granted(self, path: str) -> tuple[str, ...]:
        """Codes of what the Tenant of a workload file may have, and others may not."""
        owner = self.owner(path)
        if owner is None:
            return ()
        secrets, pods = owner.spec.secrets == "Plain", owner.spec.pods == "Privileged"
        return (*(("PlainSecret",) if secrets else ()), *(("PrivilegedPod",) if pods else ()))

    def allows_account(self, path: str, name: str) -> bool:
        """Whether pods of a workload file may use a ServiceAccount that is not in the source."""
        owner = self.owner(path)
        return owner is not None and pathglob.name_matches_any(owner.spec.service_accounts, name)

    def refused(self, document: Document, kind: str, namespace: str) -> Problem | None:
        """Why an object in a workload file is none of the fleet's objects, or None. `namespace` is '' while it is not known."""
        owner = self.owner(document.file)
        if owner is None:
            return self._of_nobody(document, namespace)
        if (other := self._rivals.get(owner.name)) is not None:
            message = f"tenants {owner.name} and {other} claim the same paths or namespaces"
            return document.problem("TenantsOverlap", message, "only one of them may; nothing of either is touched")
        spec = owner.spec
        if spec.kinds is not None and not pathglob.name_matches_any(spec.kinds, kind):
            hint = f"it may write {few(spec.kinds)}"
            return document.problem(
                "NotTheTenants", f"tenant {owner.name} may not write a {kind}", hint, path=("kind",)
            )
        if namespace and not self._has(owner, namespace):
            hint = f"its namespaces are {few(spec.namespaces)}"
            message = f"namespace {namespace} is not one of tenant {owner.name}"
            return document.problem("NotTheTenants", message, hint, path=("metadata", "namespace"))
        return None

    def forbidden(self, document: Document, needs: Iterable[Reference]) -> Iterator[Problem]:
        """What pods in a workload file may not have: PriorityClasses of Kubernetes itself, or that are not the tenant's."""
        owner = self.owner(document.file)
        allowed = owner.spec.priority.classes if owner is not None else None
        for need in needs:
            if need.kind != "PriorityClass":
                continue
            if need.name.startswith(_SYSTEM_CLASSES):
                message = f"PriorityClass {need.name} is for what clusters cannot do without"
                yield document.problem("NotTheTenants", message, "use a class of your own", path=need.path)
            elif owner is not None and allowed is not None and not pathglob.name_matches_any(allowed, need.name):
                message = f"PriorityClass {need.name} is not one of tenant {owner.name}"
                hint = f"its classes are {few(allowed)}" if allowed else "it may name none"
                yield document.problem("NotTheTenants", message, hint, path=need.path)

    def _of_nobody(self, document: Document, namespace: str) -> Problem | None:
        if self.declared:
            said = [t.name for t in self.tenants]
            hint = f"add it to the paths of one: {few(said)}" if said else "mend the Tenant; the message on it says how"
            return document.problem("NoTenant", "this workload file is in the paths of no Tenant", hint)
        if namespace and pathglob.name_matches_any(self.reserved, namespace):
            message = f"namespace {namespace} is not for workloads"
            hint = "use another, or move it under the platform paths of the Fleet"
            return document.problem("NotAllowed", message, hint, path=("metadata", "namespace"))
        return None

    def _has(self, owner: Tenant, namespace: str) -> bool:
        if pathglob.name_matches_any(self.reserved, namespace):
            return namespace in owner.spec.namespaces
        return pathglob.name_matches_any(owner.spec.namespaces, namespace)

    @cached_property
    def _rivals(self) -> dict[str, str]:
        return {name: other for one, two in self.disputes for name, other in ((one, two), (two, one))}

    @cached_property
    def _by_path(self) -> Likely[tuple[int, str]]:
        """The patterns of paths, with the numbers of the Tenants that have them."""
        patterns = ((number, p) for number, tenant in enumerate(self.tenants) for p in tenant.spec.paths)
        return Likely((of_path(pattern), (number, pattern)) for number, pattern in patterns)

    @cached_property
    def _owners(self) -> dict[str, Tenant | None]:
        return {}


def read_tenancy(documents: Iterable[Document], torn_kinds: Iterable[str], spec: FleetSpec) -> Tenancy:
    """
    The Tenants among documents outside the workload paths that look like ours; `torn_kinds` are the kinds that files there seem to hold which cannot be
    read. What is wrong with a Tenant itself is told where own kinds are read.
    """
    found: dict[str, Tenant] = {}
    broken: set[str] = set()
    for document in documents:
        if may_be(document, ("Tenant",)) is None:
            continue
        parsed = parse_own(document) if is_own(document) else None
        if not isinstance(parsed, Tenant) or parsed.name in found:
            broken.add(parsed.name if isinstance(parsed, Tenant) else "")
        else:
            found[parsed.name] = parsed
    tenants = tuple(found[name] for name in sorted(found.keys() - broken))
    complete = not (broken or {"Tenant", ""} & set(torn_kinds))
    reserved = (*RESERVED, spec.system_namespace)
    return Tenancy(tenants, bool(tenants) or not complete, complete, reserved, tuple(_overlapping(tenants)))


def tenancy_problems(tenancy: Tenancy, documents: Iterable[Document]) -> Iterator[Problem]:
    """What is wrong between Tenants, told at the later one of two. `documents` are those that the Tenants were read from."""
    earlier: dict[str, list[str]] = {}
    for one, other in tenancy.disputes:
        earlier.setdefault(other, []).append(one)
    for document in documents:
        parsed = parse_own(document) if document.parsed.says[1] == "Tenant" and is_own(document) else None
        if not isinstance(parsed, Tenant):
            continue
        yield from _unlimited(parsed, document)
        for one in earlier.get(parsed.name, ()):
            message = f"tenants {one} and {parsed.name} may both write some path, or both use some namespace"
            hint = "make their paths and namespaces differ; until then nothing of either is touched"
            yield document.problem("TenantsOverlap", message, hint, path=("spec", "paths"))


def _unlimited(tenant: Tenant, document: Document) -> Iterator[Problem]:
    """Quotas of what no container can ask for: they limit nothing."""
    for field, quota in (("quota", tenant.spec.quota), ("clusterQuota", tenant.spec.cluster_quota)):
        for name in sorted(quota):
            if not is_resource(name):
                message = f"tenant {tenant.name} has a quota of {name}, and no container can ask for that"
                path = ("spec", field, name)
                severity = CODES["QuotaOfNothing"].severity
                yield document.problem("QuotaOfNothing", message, like_resource(name), path=path, severity=severity)


def _overlapping(tenants: Sequence[Tenant]) -> list[tuple[str, str]]:
    """The names of two that overlap, for each tenant with _TOLD others at most: a pattern copied into all of a thousand makes half a million pairs."""
    by_paths, by_namespaces = _others([t.spec.paths for t in tenants]), _others([t.spec.namespaces for t in tenants])
    found = set[tuple[int, int]]()
    for number, rivals in enumerate(map(set.union, by_paths, by_namespaces)):
        found.update((min(number, other), max(number, other)) for other in sorted(rivals)[:_TOLD])
    return [(tenants[one].name, tenants[other].name) for one, other in sorted(found)]


def _others(patterns: Sequence[Sequence[str]]) -> list[set[int]]:
    """
    For the patterns of each tenant, by its number, the numbers of some others of which a pattern may match the same: of all, if there are _TOLD or
    fewer. Few patterns are held against each other, however many tenants there are, where each has a folder of its own.
    """
    having: dict[str, set[int]] = {}
    for number, some in enumerate(patterns):
        for pattern in some:
            having.setdefault(pattern, set()).add(number)
    few_of = {pattern: _first(numbers) for pattern, numbers in having.items()}
    found = {p: numbers if len(numbers) > 1 and globoverlap.overlap(p, p) else set() for p, numbers in few_of.items()}
    known = list(having)
    for one, other in globoverlap.likely_overlaps(known):
        mine, theirs = known[one], known[other]
        if min(len(found[mine]), len(found[theirs])) <= _TOLD and globoverlap.overlap(mine, theirs):
            found[mine] = _first(found[mine] | few_of[theirs])
            found[theirs] = _first(found[theirs] | few_of[mine])
    return [set().union(*(found[pattern] for pattern in some)) - {number} for number, some in enumerate(patterns)]


def _first(numbers: set[int]) -> set[int]:
    """As many as are told, and one more, which may be who asks."""
    return set(sorted(numbers)[: _TOLD + 1])

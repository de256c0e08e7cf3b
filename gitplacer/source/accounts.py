"""
ServiceAccounts that pods use and that nobody brings: whoever made them gave them rights that were reviewed elsewhere.

A pod may do what its ServiceAccount may. `default` has no rights by itself, one that is in the source was read with the rights that are
bound to it; any other is its tenant's to name, and nobody else's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from gitplacer.documents import Document, dotted
from gitplacer.problems import Problem, meant
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.source.tenancy import Tenancy
from gitplacer.workloads.facts import Reference

_KIND = "ServiceAccount"


Brought = Mapping[str, Collection[str]]
"""The names of ServiceAccounts, by namespace."""


def brought_accounts(objects: Iterable[SourceObject]) -> Brought:
    """The ServiceAccounts of the source."""
    found: dict[str, dict[str, None]] = {}
    for item in objects:
        if item.identity[:2] == ("", _KIND):
            found.setdefault(item.identity.namespace, {})[item.identity.name] = None
    return found


def with_foreign_accounts(objects: Iterable[SourceObject], tenancy: Tenancy) -> Iterator[SourceObject]:
    """The objects; those of workload paths with a problem for each ServiceAccount that is not theirs to use."""
    objects = tuple(objects)
    brought = brought_accounts(objects)
    for item in objects:
        asked = item.facts.accounts if item.unit == WORKLOADS else ()
        problems = list(foreign_accounts(item.document, item.identity.namespace, asked, brought, tenancy))
        yield replace(item, problems=tuple(sorted({*item.problems, *problems}))) if problems else item


def foreign_accounts(
    document: Document, namespace: str, asked: Iterable[Reference], brought: Brought, tenancy: Tenancy
) -> Iterator[Problem]:
    """A problem for each ServiceAccount that an object in a workload file asks for and may not use."""
    for account in asked:
        there = brought.get(namespace, ())
        if account.name not in there and not tenancy.allows_account(document.file, account.name):
            message = f"{dotted(account.path)}: ServiceAccount {account.name} is not in the source"
            near = meant(account.name, there)
            hint = f"{near} Otherwise " if near else ""
            hint += "add it in this namespace, or let its Tenant name it in serviceAccounts"
            yield document.problem("ForeignServiceAccount", message, hint, path=account.path)

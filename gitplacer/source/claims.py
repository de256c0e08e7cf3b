"""
Devices that pods claim through ResourceClaimTemplates, which are objects of their own in the source.

How many devices a claim comes to is written in the template, so an object with claims can be sized only after all files were
read. One whose template is not there has no size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from gitplacer import workloads
from gitplacer.source.allowances import not_allowed
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.surroundings import Surroundings

Templates = Mapping[str, tuple[SourceObject, ...]]
"""Namespace to its ResourceClaimTemplates, sorted by name."""


def claim_templates(objects: Iterable[SourceObject]) -> Templates:
    """The templates among the objects of a source."""
    found: dict[str, list[SourceObject]] = {}
    for item in objects:
        if item.identity.kind == "ResourceClaimTemplate" and item.identity.api_group == "resource.k8s.io":
            found.setdefault(item.identity.namespace, []).append(item)
    return {key: tuple(sorted(items, key=lambda item: item.identity.name)) for key, items in found.items()}


def with_devices(
    objects: Iterable[SourceObject], templates: Templates, declared: workloads.Declared
) -> Iterator[SourceObject]:
    """The objects, those with claims sized anew with the devices that they come to."""
    for item in objects:
        if not item.facts.claims:
            yield item
            continue
        beside = templates.get(item.identity.namespace, ())
        around = Surroundings(claims=tuple((template.identity.name, template.facts.devices) for template in beside))
        facts, found = workloads.read(item.document, around, declared)
        problems = tuple(sorted({*item.problems, *not_allowed(found, item.annotations)}))
        yield replace(item, facts=facts.remembered(), problems=problems)

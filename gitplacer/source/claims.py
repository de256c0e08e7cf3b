"""
Devices that pods claim through ResourceClaimTemplates, which are objects of their own in the source, or made of one.

How many devices a claim comes to is written in the template, so an object with claims can be sized only after all files were
read. One whose template is not there has no size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from gitplacer import workloads
from gitplacer.model.resources import Resources
from gitplacer.source.allowances import not_allowed
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads import devices
from gitplacer.workloads.surroundings import Surroundings

Templates = Mapping[str, tuple[SourceObject, ...]]
"""Namespace to its ResourceClaimTemplates, and what makes some, sorted by name."""


def claim_templates(objects: Iterable[SourceObject]) -> Templates:
    """The templates among the objects of a source."""
    found: dict[str, list[SourceObject]] = {}
    for item in objects:
        if (item.identity.api_group, item.identity.kind) in devices.MAKERS:
            found.setdefault(item.identity.namespace, []).append(item)
    return {key: tuple(sorted(items, key=lambda item: item.identity.name)) for key, items in found.items()}


def claimed(template: SourceObject, facts: workloads.ObjectFacts) -> Iterator[tuple[str, Resources]]:
    """The names by which pods claim through an object that is a template, or makes one, and the devices of one claim."""
    identity = template.identity
    for name in devices.templates((identity.api_group, identity.kind), identity.name, facts):
        yield name, facts.devices


def with_devices(
    objects: Iterable[SourceObject], templates: Templates, declared: workloads.Declared
) -> Iterator[SourceObject]:
    """The objects, those with claims sized anew with the devices that they come to."""
    for item in objects:
        if not item.facts.claims:
            yield item
            continue
        beside = templates.get(item.identity.namespace, ())
        around = Surroundings(claims=tuple(each for template in beside for each in claimed(template, template.facts)))
        facts, found = workloads.read(item.document, around, declared)
        problems = tuple(sorted({*item.problems, *not_allowed(found, item.annotations)}))
        yield replace(item, facts=facts.remembered(), problems=problems)

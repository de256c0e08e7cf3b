"""
What belongs to no group, as far as that can be said while some files cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from gitplacer.grouping.governed import key_of
from gitplacer.policies.governing import Governing
from gitplacer.problems import Problem, Severity
from gitplacer.source.apigroups import BUILT_IN_GROUPS
from gitplacer.source.manifests import SourceObject


def unmentioned(
    left: Sequence[SourceObject], governed: Governing, unread: Callable[[str], Collection[str]]
) -> Sequence[SourceObject]:
    """
    Those of the objects left over that would be so if every file could be read: no word of an unread one that may be about their namespace
    may stand for them, nor for what needs them.
    """
    words: dict[str, set[str]] = {}
    for space in {item.identity.namespace for item in left}:
        words[space] = set(unread(space))
    while mentioned := [m for m in left if not words[m.identity.namespace].isdisjoint(_joined_by(m, governed))]:
        gone = {id(item) for item in mentioned}
        left = [item for item in left if id(item) not in gone]
        for item in mentioned:
            words[item.identity.namespace] |= {reference.name for reference in item.facts.needs}
    return left


def _clusters_selected(item: SourceObject) -> Iterator[str]:
    for selector in item.facts.selects:
        yield from (name for each in selector if each.key == "ray.io/cluster" for name in each.values)


def _joined_by(item: SourceObject, governed: Governing) -> Iterator[str]:
    """Words of which one stands in whatever joins an object to a group: names, labels that it selects, what it is grouped by."""
    yield item.identity.name
    yield from (reference.name for reference in (*item.facts.provides, *item.facts.points_at))
    yield from (
        value for selector in (*item.facts.selects, *item.facts.picks) for each in selector for value in each.values
    )
    key = key_of(item, governed)
    if key is not None:
        yield key[2]


_MADE_OF = re.compile("(.+?)(?:-raycluster)?-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""The name of such a Ray cluster: that of its object, in older versions `-raycluster`, and five characters of those that Kubernetes' rand.String has."""
_SERVICES = {"RayJob": ("head",), "RayService": ("head", "serve")}
"""The kinds whose Ray cluster has a name that KubeRay makes up, and the Services that it makes with a name that does not change."""


def named_after(cluster: str) -> Iterator[str]:
    """
    The names of objects of whose Ray cluster somebody says this name: their own, or one that KubeRay made of it once and that was seen in a
    cluster.
    """
    yield cluster
    if of := _MADE_OF.fullmatch(cluster):
        yield of[1]


def with_made_up_names(objects: Iterable[SourceObject]) -> Mapping[tuple[str, str], SourceObject]:
    """The objects whose Ray cluster has such a name, by their namespace and name."""
    found = ((item.identity.namespace, item.identity.name, item) for item in objects)
    return {(space, name): item for space, name, item in found if has_made_up_name(item)}


def has_made_up_name(item: SourceObject) -> bool:
    """Whether KubeRay makes up the name of an object's Ray cluster."""
    return item.identity.api_group == "ray.io" and item.identity.kind in _SERVICES


def left_over(item: SourceObject, made_up: Mapping[tuple[str, str], SourceObject], *, deployed: bool) -> Problem:
    """What is told of an object that is in no group, but may be `deployed` with one. `made_up`: see `with_made_up_names`."""
    hint = "nothing that is placed refers to it, and no policy's groupBy joins it with something that is"
    selected = ((name, own) for name in _clusters_selected(item) for own in named_after(name))
    found = ((name, made_up.get((item.identity.namespace, own))) for name, own in selected)
    name, app = next(((name, app) for name, app in found if app is not None), ("", None))
    if app is not None:
        services = " or ".join(f"{app.identity.name}-{each}-svc" for each in _SERVICES[app.identity.kind])
        none = f"no pod has ray.io/cluster={name}"
        if name != app.identity.name:
            none = f"{none} for longer than that one is there"
        hint = (
            f"KubeRay makes up the name of the Ray cluster of {app.identity}, and {none}: give the pod "
            f"templates a label and select that, or use Service {services}"
        )
    elif item.identity.api_group not in BUILT_IN_GROUPS:
        hint += "; if it becomes pods, a WorkloadKind says how"
    said = (
        "belongs to no group any more, and is removed where it is deployed"
        if deployed
        else "belongs to no group and is not placed"
    )
    return item.document.problem(
        "NotInAGroup",
        f"{item.identity} {said}",
        hint,
        path=("metadata", "name"),
        severity=Severity.WARNING,
    )

"""
Which policy governs an object: of those that select it, the one of highest precedence.

A policy that could not be read governs what it selects, or, where even that is unknown, whatever it may select;
such an object is held rather than handed to the next policy in line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from gitplacer import pathglob
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.problems import Problem
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.source.ownkinds import BrokenPolicy
from gitplacer.source.tenancy import Tenancy

POLICY_ANNOTATION = "gitplacer.dev/policy"

NamespaceLabels = Callable[[str], Mapping[str, str]]


class Governed(Struct, frozen=True):
    """
    The policy of one object; `broken` names a policy that could not be read and would or might govern it, and `barred` those that would govern it if
    its tenant had one of them.
    """

    policy: PlacementPolicy | None = None
    problem: Problem | None = None
    broken: BrokenPolicy | None = None
    barred: tuple[str, ...] = ()


def selects(select: ObjectSelector, item: SourceObject, namespace_labels: NamespaceLabels) -> bool:
    """Whether every condition of a selection holds. An object without a namespace has no namespace's labels."""
    namespace = item.identity.namespace
    if select.kinds is not None and not pathglob.name_matches_any(select.kinds, item.identity.kind):
        return False
    if select.names is not None and not pathglob.name_matches_any(select.names, item.identity.name):
        return False
    if select.namespaces is not None and not (namespace and pathglob.name_matches_any(select.namespaces, namespace)):
        return False
    if select.paths is not None and not pathglob.matches_any(select.paths, item.path):
        return False
    if select.label_selector.unmet(item.labels) is not None:
        return False
    if not select.namespace_selector.requirements():
        return True
    return bool(namespace) and select.namespace_selector.unmet(namespace_labels(namespace)) is None


class Condition(Struct, frozen=True):
    """A condition of a selection that an object does not meet: its field, what it wants, and what the object has."""

    field: str
    wanted: str
    found: str


def unmet(select: ObjectSelector, item: SourceObject, namespace_labels: NamespaceLabels) -> tuple[Condition, ...]:
    """Every condition of a selection that does not hold; none where `selects` is true."""
    found, identity = list[Condition](), item.identity
    for field, patterns, value, matches in (
        ("kinds", select.kinds, identity.kind, pathglob.name_matches_any),
        ("names", select.names, identity.name, pathglob.name_matches_any),
        ("namespaces", select.namespaces, identity.namespace, pathglob.name_matches_any),
        ("paths", select.paths, item.path, pathglob.matches_any),
    ):
        if patterns is not None and not (value and matches(patterns, value)):
            found.append(Condition(field, ", ".join(patterns), value))
    labels = namespace_labels(identity.namespace) if identity.namespace else {}
    for field, selector, has in (
        ("labelSelector", select.label_selector, item.labels),
        ("namespaceSelector", select.namespace_selector, labels),
    ):
        for requirement in selector.requirements():
            if not requirement.matches(has) or (field == "namespaceSelector" and not identity.namespace):
                there = f"{requirement.key}={has[requirement.key]}" if requirement.key in has else ""
                found.append(Condition(field, str(requirement), there))
    return tuple(found)


def governing(
    item: SourceObject,
    policies: Iterable[PlacementPolicy],
    broken: Iterable[BrokenPolicy],
    namespace_labels: NamespaceLabels,
    tenancy: Tenancy,
) -> Governed:
    """The policy that governs an object, or why none does. What its tenant is not to be governed by does not select it."""
    for torn in broken:
        if torn.kind == "PlacementPolicy" and torn.select is not None and selects(torn.select, item, namespace_labels):
            return Governed(broken=torn)
    matching = [policy for policy in policies if selects(policy.spec.select, item, namespace_labels)]
    barred: tuple[str, ...] = ()
    if item.unit == WORKLOADS:
        selecting, matching = matching, [p for p in matching if tenancy.allows_policy(item.path, p.name)]
        barred = () if matching else tuple(policy.name for policy in selecting)
    wished = item.annotations.get(POLICY_ANNOTATION)
    if wished is not None:
        named = [policy for policy in matching if policy.name == wished]
        if named:
            return Governed(named[0])
        others = ", ".join(policy.name for policy in matching) or "none"
        path = ("metadata", "annotations", POLICY_ANNOTATION)
        message = f"policy {wished} does not match {item.identity}"
        return Governed(
            problem=item.document.problem("NoSuchPolicy", message, f"policies that match: {others}", path=path)
        )
    if not matching:
        return Governed(barred=barred)
    highest = max(policy.spec.precedence for policy in matching)
    first, *rest = [policy for policy in matching if policy.spec.precedence == highest]
    if rest:
        message = f"policies {first.name} and {rest[0].name} both govern {item.identity} with precedence {highest}"
        hint = f"give one a higher precedence, or choose with the annotation {POLICY_ANNOTATION}"
        return Governed(problem=item.document.problem("AmbiguousPolicy", message, hint, path=("metadata", "name")))
    return Governed(first)

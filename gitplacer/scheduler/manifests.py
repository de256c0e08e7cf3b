"""
The pods that a sized object becomes, as the scheduler will see them.

Sizing knows how many pods of which shape each role has and which labels they carry. What is added here are their names, by
object and role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Document
from gitplacer.model.podrules import NOTHING_SELECTED, Selector, in_namespace
from gitplacer.scheduler.gangs import expanded, slice_key
from gitplacer.scheduler.objects import Pod
from gitplacer.workloads.constraints import selector_of
from gitplacer.workloads.facts import ObjectFacts, Role

SETS = ("Deployment", "ReplicaSet", "StatefulSet")
"""Kinds whose pods kube-scheduler spreads by itself."""


class Members(Struct, frozen=True):
    """
    The pods of one object in the order in which they are created, with the role of each, and the selector of the set that
    makes it; what was left out and what is to be noted, in words.
    """

    pods: tuple[Pod, ...]
    roles: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()


def members(
    document: Document,
    facts: ObjectFacts,
    *,
    slice_topology: str = "",
    priority: Callable[[Role], int] = lambda role: role.named.priority or 0,
) -> Members:
    """
    All pods of an object at its desired size. Pods that are on every node (a DaemonSet's) are no gang and are left out.
    `slice_topology` is the label whose values are the domains of slices, '' where only those of TPUs are known; `priority` gives
    that of a role's pods.
    """
    value = document.value
    metadata = value.get("metadata")
    identity: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    owner = str(identity.get("name") or identity.get("generateName") or value.get("kind", "")).lower()
    namespace = str(identity.get("namespace") or "default")
    found: list[Pod] = []
    roles: list[str] = []
    left_out: list[str] = []
    by_name = {role.name: role for role in facts.roles}
    selector = _selector(document)
    notes = [f"{owner}: {role.name} has scheduling gates, and waits until they are gone" for role in gated(facts)]
    for pods in facts.gang:
        if pods.per_node:
            left_out.append(f"{owner}: one pod on each node that admits it")
            continue
        word = pods.role.replace("/", "-")
        alone = pods.role == "pod" and pods.count == 1
        key = slice_key(pods, slice_topology)
        for pod in expanded(
            replace(pods, namespace=namespace, labels=in_namespace(pods.labels, namespace)),
            lambda i, word=word, alone=alone: owner if alone else f"{owner}-{word}-{i}",  # type: ignore[misc]
            key,
        ):
            found.append(replace(pod, priority=priority(by_name[pods.role])))
            roles.append(f"{owner} {pods.role}")
        if pods.slice_size > 1 and not key:
            left_out.append(f"{owner}: that the {pods.slice_size} hosts of a slice share a topology domain")
    return Members(tuple(found), tuple(roles), tuple(left_out), tuple(notes), (selector,) * len(found))


def gated(facts: ObjectFacts) -> tuple[Role, ...]:
    """The roles whose pods have scheduling gates: kube-scheduler does not look at them before these are gone."""
    return tuple(role for role in facts.roles if role.count and role.named.gated)


def _selector(document: Document) -> Selector:
    """By which the set that makes the pods knows them; nothing where no set does that the scheduler looks at."""
    if document.value.get("kind") not in SETS:
        return NOTHING_SELECTED
    return selector_of(document.cursor().mapping("spec"), "selector")


def together(parts: Sequence[Members]) -> Members:
    """Several objects as one gang. Pods that would have one name are told apart by a number."""
    seen: Counter[tuple[str, str]] = Counter()
    pods = []
    for pod in (pod for part in parts for pod in part.pods):
        seen[pod.namespace, pod.name] += 1
        again = seen[pod.namespace, pod.name]
        pods.append(pod if again == 1 else replace(pod, name=f"{pod.name}.{again}"))
    roles = tuple(role for part in parts for role in part.roles)
    return Members(
        tuple(pods),
        roles,
        tuple(what for part in parts for what in part.left_out),
        tuple(what for part in parts for what in part.notes),
        tuple(selector for part in parts for selector in part.selectors),
    )

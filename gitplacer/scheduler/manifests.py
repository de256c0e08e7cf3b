"""
The pods that a sized object becomes, as the scheduler will see them.

Sizing knows how many pods of which shape each role has and which labels they carry. What is added here are their names, by
object and role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitplacer.documents import Document
from gitplacer.scheduler.gangs import expanded, slice_key
from gitplacer.scheduler.objects import Pod
from gitplacer.workloads.facts import ObjectFacts


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of one object in the order in which they are created, with the role of each; and what was left out, in words."""

    pods: tuple[Pod, ...]
    roles: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def members(document: Document, facts: ObjectFacts, *, slice_topology: str = "") -> Members:
    """
    All pods of an object at its desired size. Pods that are on every node (a DaemonSet's) are no gang and are left out.
    `slice_topology` is the label whose values are the domains of slices, '' where only those of TPUs are known.
    """
    value = document.value
    metadata = value.get("metadata")
    identity: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    owner = str(identity.get("name") or identity.get("generateName") or value.get("kind", "")).lower()
    namespace = str(identity.get("namespace") or "default")
    found: list[Pod] = []
    roles: list[str] = []
    left_out: list[str] = []
    for pods in facts.gang:
        if pods.per_node:
            left_out.append(f"{owner}: one pod on each node that admits it")
            continue
        word = pods.role.replace("/", "-")
        alone = pods.role == "pod" and pods.count == 1
        key = slice_key(pods, slice_topology)
        for pod in expanded(
            replace(pods, namespace=namespace),
            lambda i, word=word, alone=alone: owner if alone else f"{owner}-{word}-{i}",  # type: ignore[misc]
            key,
        ):
            found.append(pod)
            roles.append(f"{owner} {pods.role}")
        if pods.slice_size > 1 and not key:
            left_out.append(f"{owner}: that the {pods.slice_size} hosts of a slice share a topology domain")
    return Members(tuple(found), tuple(roles), tuple(left_out))


def together(parts: Sequence[Members]) -> Members:
    """Several objects as one gang. Pods that would have one name are told apart by a number."""
    seen: Counter[tuple[str, str]] = Counter()
    pods = []
    for pod in (pod for part in parts for pod in part.pods):
        seen[pod.namespace, pod.name] += 1
        again = seen[pod.namespace, pod.name]
        pods.append(pod if again == 1 else replace(pod, name=f"{pod.name}.{again}"))
    roles = tuple(role for part in parts for role in part.roles)
    return Members(tuple(pods), roles, tuple(what for part in parts for what in part.left_out))

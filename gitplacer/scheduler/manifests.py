"""
The pods that a sized object becomes, as the scheduler will see them.

Sizing knows how many pods of which size each role has; what else a scheduler asks for (pod affinity, spread constraints,
ports, preferences) stands in the role's pod template, with the labels that its controller gives the pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitplacer import workloads
from gitplacer.documents import Document
from gitplacer.scheduler.objects import Pod
from gitplacer.scheduler.reading import read_pod
from gitplacer.workloads.facts import ObjectFacts, Role, at


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of one object in the order in which they are created, with the role of each; and what was left out, in words."""

    pods: tuple[Pod, ...]
    roles: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def members(document: Document, facts: ObjectFacts) -> Members:
    """
    All pods of an object at its desired size. Pods that are on every node (a DaemonSet's) are no gang and are left out; that
    the hosts of a slice share a topology domain is not looked at.
    """
    value = document.value
    metadata = value.get("metadata")
    identity: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    owner = str(identity.get("name") or identity.get("generateName") or value.get("kind", "")).lower()
    namespace = identity.get("namespace")
    labels = {pods.role: dict(pods.labels) for pods in facts.pods}
    found: list[Pod] = []
    roles: list[str] = []
    left_out: list[str] = []
    for role in facts.roles:
        if role.per_node:
            left_out.append(f"{owner}: one pod on each node that admits it")
            continue
        template = _template(value, role)
        spec = template.get("spec")
        pod = {
            "metadata": {"namespace": namespace, "labels": labels.get(role.name, {})},
            "spec": spec if isinstance(spec, dict) else {},
        }
        read = replace(
            read_pod(pod, ask=role.ask),
            requests=role.shape.requests,
            node_selector=role.shape.node_selector,
            affinity=role.shape.affinity,
            tolerations=role.shape.tolerations,
            node_name=role.shape.node_name,
            flaw="",
        )
        word = role.name.replace("/", "-")
        alone = role.name == "pod" and role.count == 1
        for i in range(role.count):
            found.append(replace(read, name=owner if alone else f"{owner}-{word}-{i}"))
            roles.append(f"{owner} {role.name}")
        if role.slice_size > 1:
            left_out.append(f"{owner}: that the {role.slice_size} hosts of a slice share a topology domain")
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


def _template(value: Mapping[str, Any], role: Role) -> Mapping[str, Any]:
    """The pod template of a role; an empty one where its kind does not say where it stands."""
    api_group, _, _ = str(value.get("apiVersion")).rpartition("/")
    kind = workloads.kind_of((api_group, str(value.get("kind"))))
    paths = kind.pod_templates(value) if kind is not None else ()
    for path in paths:
        if _is_of(value, path, role.name, len(paths)):
            found = at(value, path)
            return found if isinstance(found, Mapping) else {}
    return {}


def _is_of(value: Mapping[str, Any], path: tuple[str | int, ...], role: str, paths: int) -> bool:
    """Whether a template is that of a role: by the place where it stands."""
    if "workerGroupSpecs" in path:
        group = at(value, path[:-1])
        return isinstance(group, Mapping) and role == f"worker/{group.get('groupName')}"
    if "headGroupSpec" in path:
        return role == "head"
    if "submitterPodTemplate" in path:
        return role == "submitter"
    return role == "pod" or paths == 1

"""
DaemonSet: one pod on each node that admits it, so how many they are depends on the cluster.

Its controller lets the pods tolerate what befalls nodes, cordons among them. The pods that `maxSurge` adds while an update
runs are not counted.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from gitplacer.documents import Cursor
from gitplacer.model.labels import Toleration
from gitplacer.model.podrules import untold
from gitplacer.workloads import podtemplate
from gitplacer.workloads.facts import Kind, ObjectFacts, Role
from gitplacer.workloads.fields import required
from gitplacer.workloads.surroundings import Surroundings

ADDED = tuple(
    Toleration(f"node.kubernetes.io/{key}", "Exists", "", effect)
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""Source: AddOrUpdateDaemonPodTolerations of Kubernetes' DaemonSet controller."""
NETWORK_UNAVAILABLE = Toleration("node.kubernetes.io/network-unavailable", "Exists", "", "NoSchedule")
"""What pods on the host's network tolerate too."""


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    template = podtemplate.read(spec, "template", around)
    hashed = {"controller-revision-hash": untold("DaemonSet", root.mapping("metadata").text("name"))}
    facts = podtemplate.facts(template, 1, "one on each node that admits it", hashed)
    on_host = spec.mapping("template").mapping("spec").boolean("hostNetwork")
    added = (*ADDED, NETWORK_UNAVAILABLE) if on_host else ADDED
    return facts.but(roles=tuple(_on_each_node(role, added) for role in facts.roles))


def _on_each_node(role: Role, added: tuple[Toleration, ...]) -> Role:
    tolerations = (*role.shape.tolerations, *(t for t in added if t not in role.shape.tolerations))
    return replace(role, shape=structs.replace(role.shape, tolerations=tolerations), per_node=True)


KIND = Kind("apps", "DaemonSet", ("v1",), read, podtemplate.in_spec)

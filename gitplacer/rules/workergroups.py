"""
The worker groups of a Ray cluster spec: how many pods they have, and what they are called.

Bounds that contradict each other, two groups of one name and templates without containers are told where pods are
sized: those groups cannot be counted. Here is what can be counted and is still not what was meant.
"""

from __future__ import annotations

import re

from gitplacer.model.labels import DNS_LABEL
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.workloads.fields import INT32_MAX

_IN_POD_NAMES = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]{0,61}[A-Za-z0-9])?")
_DNS_LABEL = re.compile(DNS_LABEL)


def hosts(manifest: RayManifest) -> None:
    """
    `numOfHosts` multiplies: with 0 the group has no pods, and KubeRay does not say so.
    Source: GetWorkerGroupDesiredReplicas in ray-operator/controllers/ray/utils/util.go; the CRD has no minimum.
    """
    for group in manifest.groups if manifest.v1 else ():
        number = group.integer("numOfHosts", 1)
        if number is not None and number <= 0:
            message = f"numOfHosts is {number}, so the group has no pods"
            tell(group, "NoHosts", message, "leave it out, or say replicas: 0 for no workers", key="numOfHosts")


def replicas(manifest: RayManifest) -> None:
    """
    `replicas` outside of its bounds is moved to the nearer one, and nothing says so.
    Source: GetWorkerGroupDesiredReplicas in ray-operator/controllers/ray/utils/util.go.
    """
    for group in manifest.groups:
        number = group.integer("replicas")
        if number is None:
            continue
        low, high = group.integer("minReplicas") or 0, group.integer("maxReplicas", INT32_MAX)
        if high is None or not 0 <= low <= high <= INT32_MAX or low <= number <= high:
            continue
        bound, started = ("less than minReplicas", low) if number < low else ("more than maxReplicas", high)
        message = f"replicas is {number}, {bound} {started}: KubeRay starts {started}"
        tell(group, "ReplicasOutOfRange", message, "write the number that is meant, or move the bound", key="replicas")


def group_names(manifest: RayManifest) -> None:
    """
    A group's name stands in the names of its pods, in lower case, and in a label of them. With a network policy it stands
    in the name of that, as it is written.
    Source: PodName in ray-operator/controllers/ray/utils/util.go, and validateNetworkPolicy in validation.go.
    """
    policy = manifest.v1 and manifest.cluster.has("networkPolicy")
    form = _DNS_LABEL if policy else _IN_POD_NAMES
    for group in manifest.groups:
        name = group.text("groupName")
        if name and not form.fullmatch(name):
            where = "a NetworkPolicy is named after it" if policy else "its pods are named after it"
            letters = "lower-case letters, digits and dashes" if policy else "letters, digits, dashes and dots"
            hint = f"use up to 63 {letters}; begin and end with a letter or digit"
            tell(group, "InvalidWorkerGroupName", f'a group cannot be named "{name}": {where}', hint, key="groupName")


RULES: tuple[Rule, ...] = (hosts, replicas, group_names)

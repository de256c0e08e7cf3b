"""
RayService: the pods of one Ray cluster, that of `spec.rayClusterConfig`, and of a second one while an update runs.

There is no submitter. How much of a second Ray cluster an update needs is what the upgrade strategy says; it is not part
of the gang, but a policy may reserve room for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import rayspec
from gitplacer.workloads.facts import Kind, ObjectFacts, Role
from gitplacer.workloads.fields import required
from gitplacer.workloads.rayspec import RayPods, is_ours, is_v1
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    config = None if spec is None else required(spec, "rayClusterConfig")
    if spec is None or config is None:
        return ObjectFacts(sized=True)
    facts = rayspec.cluster_facts(root, config, around, RayPods(serves=True))
    if not is_ours(root, spec):
        return facts.stopped(f"managedBy {spec.text('managedBy')}: KubeRay leaves it alone")
    if is_v1(root) and spec.boolean("suspend"):
        return facts.stopped("suspended")
    share = _surge_percent(spec, around) if is_v1(root) else _default_percent(around)
    return replace(facts, roles=tuple(replace(role, surge=_surge(role, share)) for role in facts.roles))


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayspec.cluster_templates(value, ("spec", "rayClusterConfig"))


def _default_percent(around: Surroundings) -> int | None:
    return 100 if around.zero_downtime else None


def _surge_percent(spec: Cursor, around: Surroundings) -> int | None:
    """
    How much of a second Ray cluster runs beside the first at the peak of an upgrade, in percent; None for none at all.

    An incremental upgrade moves Serve's capacity over in steps of `maxSurgePercent`, so that old and new together have
    that much more than one. Source: KubeRay's RayService upgrade strategies; the default is its CRD's.
    """
    strategy = spec.mapping("upgradeStrategy")
    match strategy.text("type"):
        case "None":
            return None
        case "NewClusterWithIncrementalUpgrade":
            percent = strategy.mapping("clusterUpgradeOptions").integer("maxSurgePercent", 100)
            return min(max(percent if percent is not None else 100, 0), 100)
        case "NewCluster":
            return 100
    return _default_percent(around)


def _surge(role: Role, percent: int | None) -> int:
    """The pods of a role that the second Ray cluster has: a head of its own, and its share of each worker group."""
    if percent is None or role.count == 0:
        return 0
    if role.name == "head":
        return 1
    slices, least = role.count // role.slice_size, role.minimum // role.slice_size
    return max(least, -(-slices * percent // 100)) * role.slice_size


KIND = Kind(rayspec.API_GROUP, "RayService", rayspec.VERSIONS, read, pod_templates)

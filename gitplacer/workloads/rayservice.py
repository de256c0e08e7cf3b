"""
RayService: the pods of one Ray cluster, that of `spec.rayClusterConfig`, and of a second one while an update runs.

There is no submitter. How much of a second Ray cluster an update needs is what the upgrade strategy says; it is not part
of the gang, but a policy may reserve room for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import madeservices, rayspec
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts, Scale
from gitplacer.workloads.fields import required
from gitplacer.workloads.rayspec import RayPods, is_ours, is_v1
from gitplacer.workloads.surroundings import Surroundings

SUSPEND_SINCE = (1, 7)
"""The KubeRay version since which a RayService has `suspend`; the CRD of an older one drops it, and the pods go on."""


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    config = None if spec is None else required(spec, "rayClusterConfig")
    if spec is None or config is None:
        return ObjectFacts(sized=True)
    percent = _surge_percent(spec, around) if is_v1(root) else _default_percent(around)
    facts = rayspec.cluster_facts(root, config, around, RayPods(serves=True, surge_percent=percent))
    name = root.mapping("metadata").text("name")
    services = [madeservices.of_service(name), madeservices.of_serve("RayService", name, spec)]
    facts = madeservices.told(facts, services)
    if not is_ours(root, spec, around):
        return facts.stopped(f"managedBy {spec.text('managedBy')}: KubeRay leaves it alone")
    return (
        facts.stopped("suspended") if is_v1(root) and around.knows(SUSPEND_SINCE) and spec.boolean("suspend") else facts
    )


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayspec.cluster_templates(value, ("spec", "rayClusterConfig"))


def scales(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    return rayspec.cluster_scales(value, ("spec", "rayClusterConfig"))


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


KIND = Kind(rayspec.API_GROUP, "RayService", rayspec.VERSIONS, read, pod_templates, scales, SUSPEND)

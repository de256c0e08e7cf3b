"""RayCluster: the head and the workers of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import rayspec
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts, Scale
from gitplacer.workloads.fields import required
from gitplacer.workloads.rayspec import RayPods
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    added = RayPods(cluster_name=root.mapping("metadata").text("name"))
    return rayspec.cluster_facts(root, spec, around, added)


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayspec.cluster_templates(value, ("spec",))


def scales(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    return rayspec.cluster_scales(value, ("spec",))


KIND = Kind(rayspec.API_GROUP, "RayCluster", rayspec.VERSIONS, read, pod_templates, scales, SUSPEND)

"""RayCluster: the head and the workers of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import madeservices, rayspec
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts, Scale
from gitplacer.workloads.fields import required
from gitplacer.workloads.rayspec import RayPods
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    metadata = root.mapping("metadata")
    facts = rayspec.cluster_facts(root, spec, around, RayPods(cluster_name=metadata.text("name")))
    if metadata.mapping("annotations").text(madeservices.SERVES) != "true":
        return facts
    return madeservices.told(facts, [madeservices.of_serve("RayCluster", metadata.text("name"), spec)])


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayspec.cluster_templates(value, ("spec",))


def scales(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    return rayspec.cluster_scales(value, ("spec",))


KIND = Kind(rayspec.API_GROUP, "RayCluster", rayspec.VERSIONS, read, pod_templates, scales, SUSPEND)

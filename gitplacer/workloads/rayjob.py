"""RayJob: one run of its job. Started somewhere else it would run again, so it is not moved freely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import rayjobspec, rayspec
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts, Scale
from gitplacer.workloads.fields import required
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    facts = ObjectFacts(sized=True)
    if spec is not None:
        facts = rayjobspec.job_facts(root, spec, around, root.mapping("metadata").text("name"))
    return facts.but(singleton="RayJob", finishes=True)


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayjobspec.job_templates(value, ("spec",))


def scales(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    return rayspec.cluster_scales(value, ("spec", "rayClusterSpec"))


_SUSPEND = replace(SUSPEND, unless=("spec", "clusterSelector"))
"""KubeRay refuses to suspend a job that runs on a Ray cluster which is not its own."""

KIND = Kind(rayspec.API_GROUP, "RayJob", rayspec.VERSIONS, read, pod_templates, scales, _SUSPEND)

"""
RayService: the pods of one Ray cluster, that of `spec.rayClusterConfig`.

There is no submitter. The second Ray cluster that an update needs for a while is not part of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import rayspec
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.fields import required
from gitplacer.workloads.rayspec import is_ours, is_v1


def read(root: Cursor) -> ObjectFacts:
    spec = required(root, "spec")
    config = None if spec is None else required(spec, "rayClusterConfig")
    if spec is None or config is None:
        return ObjectFacts(sized=True)
    facts = rayspec.cluster_facts(root, config, serves=True)
    suspended = is_v1(root) and spec.boolean("suspend")
    return dataclasses.replace(facts, gang=()) if suspended or not is_ours(root, spec) else facts


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayspec.cluster_templates(value, ("spec", "rayClusterConfig"))


KIND = Kind(rayspec.API_GROUP, "RayService", rayspec.VERSIONS, read, pod_templates)

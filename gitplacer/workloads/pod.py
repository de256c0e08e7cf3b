"""Pod: one, as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import podtemplate
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    return podtemplate.facts(podtemplate.read_pod(root, around), 1, "one pod")


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return ((),)


KIND = Kind("", "Pod", ("v1",), read, pod_templates)

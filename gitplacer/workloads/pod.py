"""Pod: one, as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import podtemplate
from gitplacer.workloads.facts import Kind, ObjectFacts


def read(root: Cursor) -> ObjectFacts:
    return podtemplate.facts(podtemplate.read_pod(root), 1)


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return ((),)


KIND = Kind("", "Pod", ("v1",), read, pod_templates)

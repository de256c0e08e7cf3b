"""
RayCronJob: every edit counts from the next tick.

Each run is a RayJob made from `jobTemplate` as it is at that moment, so runs that have begun go on as they were, and
that is what is expected of a schedule. Only what the CRD lets nobody change is worth a word.

Source: ray-operator's raycronjob_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.workloads.edits import clusterspec
from gitplacer.workloads.edits.clusterspec import Version
from gitplacer.workloads.edits.effect import Effect, refused

_JOB = ("spec", "jobTemplate")
_FIXED = (((*_JOB, "managedBy"), (1, 6)), *clusterspec.rules((*_JOB, "rayClusterSpec")))


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effects of an edit under one version of KubeRay."""
    yield from refused(after, clusterspec.fixed(before, after, _FIXED, kuberay))

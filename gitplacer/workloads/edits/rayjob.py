"""
RayJob: a job is submitted once, so most of it is read once.

The Ray cluster is made, and the job submitted, from what the RayJob said at that moment; only a retry, or suspending and
resuming it, reads it again. What decides about the end (deadlines, retries, what is deleted when) is read live. A job that is
done stays done: KubeRay has no way back from Complete or Failed.

Source: ray-operator's rayjob_controller.go (Reconcile, getOrCreateRayClusterInstance, createK8sJobIfNeed).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.workloads.edits import clusterspec
from gitplacer.workloads.edits.clusterspec import Version, only, without
from gitplacer.workloads.edits.effect import Change, Effect, effect, of_finished, refused
from gitplacer.workloads.edits.typed import RAY, differences, mapping, settled
from gitplacer.workloads.rayfields import JOB_OF_V1

_SPEC: Path = ("spec",)
_CLUSTER: Path = ("spec", "rayClusterSpec")

_READ_ONCE = frozenset({
    "clusterSelector", "entrypoint", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "jobId", "metadata",
    "runtimeEnvYAML", "submissionMode", "submitterConfig", "submitterPodTemplate",
})  # fmt: skip
_CLEANING_UP = frozenset({"deletionStrategy", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished"})
"""What KubeRay still reads of a job that is done: how its Ray cluster is given back."""

_DEFAULTS = {"backoffLimit": 0, "submissionMode": "K8sJobMode", "suspend": False, "ttlSecondsAfterFinished": 0}


_FIXED = (((*_SPEC, "managedBy"), (1, 3)), *clusterspec.rules(_CLUSTER))


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effects of an edit of a job that is not done, under one version of KubeRay."""
    yield from refused(after, clusterspec.fixed(before, after, _FIXED, kuberay))
    if not (clusterspec.is_acted_on(before) and clusterspec.is_acted_on(after)):
        return  # a job that is suspended reads everything anew when it is resumed
    old, new = _spec(before), _spec(after)
    once = _READ_ONCE - {"jobId"} if new["submissionMode"] == "InteractiveMode" else _READ_ONCE
    found = list(differences(only(old, once), only(new, once), _SPEC))
    found.extend(_changes_of_cluster(before, after, kuberay))
    if found:
        yield effect(
            after,
            "EditIgnored",
            found,
            "KubeRay reads it when it makes the Ray cluster and submits the job, so a job that has begun goes on without it",
            "give the RayJob a new name to run it as it is now; a retry would read it too",
        )


def finished(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Effect | None:
    """The effect of an edit of a job that is done, None if it changes nothing or only how its Ray cluster goes."""
    old, new = (without(_spec(root), _CLEANING_UP) for root in (before, after))
    found = [*differences(old, new, _SPEC), *_changes_of_cluster(before, after, kuberay)]
    return of_finished(after, found, "RayJob") if found else None


def _spec(root: Mapping[str, Any]) -> dict[str, Any]:
    """The spec less its Ray cluster."""
    spec = without(mapping(root, "spec"), {"rayClusterSpec"})
    found = settled(spec, RAY)
    return _DEFAULTS | (found if clusterspec.is_v1(root) else without(found, JOB_OF_V1))


def _changes_of_cluster(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> tuple[Change, ...]:
    old, new = (
        clusterspec.read(mapping(root, *map(str, _CLUSTER)), v1=clusterspec.is_v1(root), kuberay=kuberay)
        for root in (before, after)
    )
    return clusterspec.changes(old, new, _CLUSTER)

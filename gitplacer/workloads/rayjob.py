"""
RayJob: a Ray cluster made for one job, and the pod that submits it.

The submitter starts when the whole Ray cluster is ready, so at its peak head, workers and submitter run together: a
place that has no room for the submitter is a place where the job never starts. A job with `clusterSelector` makes
no Ray cluster; it needs the one it names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.workloads import podtemplate, rayspec
from gitplacer.workloads.facts import Kind, ObjectFacts, PodLabels, Reference, distinct, existing
from gitplacer.workloads.fields import required
from gitplacer.workloads.rayspec import is_ours, is_v1
from gitplacer.workloads.requests import amounts, effective

SUBMITTER = amounts(cpu="500m", memory="200Mi")
MODES = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
RELEASING = ("DeleteCluster", "DeleteSelf")


def read(root: Cursor) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True, singleton="RayJob", finishes=True)
    mode = _submission_mode(spec) if is_v1(root) else "K8sJobMode"
    chosen = spec.mapping("clusterSelector")
    facts = _existing_cluster(chosen) if chosen.keys() else _own_cluster(root, spec, mode)
    if mode == "K8sJobMode":
        # Without a Ray cluster to wait for (suspended, or managed by somebody else) it is never made.
        facts = _with_submitter(root, spec, facts, runs=bool(facts.gang or chosen.keys()))
    if spec.boolean("suspend") or not is_ours(root, spec):
        facts = dataclasses.replace(facts, gang=())
    return dataclasses.replace(
        facts,
        singleton="RayJob",
        finishes=True,
        releases_when_finished=bool(chosen.keys()) or _releases(root, spec),
    )


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return (
        *rayspec.cluster_templates(value, ("spec", "rayClusterSpec")),
        *existing(value, ("spec", "submitterPodTemplate")),
    )


def _submission_mode(spec: Cursor) -> str:
    mode = spec.text("submissionMode") or "K8sJobMode"
    if mode not in MODES:
        spec.report(
            "InvalidValue", f'unknown submissionMode "{mode}"', f"one of {', '.join(MODES)}", key="submissionMode"
        )
    return mode


def _existing_cluster(chosen: Cursor) -> ObjectFacts:
    key = "ray.io/cluster"
    if not chosen.text(key):
        chosen.report("MissingField", f"clusterSelector has no {key}", f"{key}: the name of a RayCluster")
    return ObjectFacts(sized=True, needs=tuple(podtemplate.named(chosen, "RayCluster", key, api_group="ray.io")))


def _own_cluster(root: Cursor, spec: Cursor, mode: str) -> ObjectFacts:
    if not spec.has("rayClusterSpec"):
        spec.report(
            "MissingField",
            "there is neither rayClusterSpec nor clusterSelector",
            "add rayClusterSpec, or name a RayCluster: clusterSelector: {ray.io/cluster: …}",
        )
        return ObjectFacts(sized=True)
    beside_head = (SUBMITTER,) if mode == "SidecarMode" else ()
    return rayspec.cluster_facts(root, spec.mapping("rayClusterSpec"), beside_head=beside_head)


def _with_submitter(root: Cursor, spec: Cursor, facts: ObjectFacts, *, runs: bool) -> ObjectFacts:
    """
    The submitter is exactly what `submitterPodTemplate` says, without resources if it says none; the default one has
    500m / 200Mi, and neither node selector nor tolerations, whatever the head has.
    """
    job = root.mapping("metadata").text("name")
    added = {"job-name": job, "batch.kubernetes.io/job-name": job} if job else {}
    needs: tuple[Reference, ...] = ()
    if spec.has("submitterPodTemplate"):
        template = podtemplate.read_pod(spec.mapping("submitterPodTemplate"))
        shape, labels, needs = template.shape, template.pod_labels("submitter", added), template.needs
    else:
        shape, labels = PodShape(requests=effective([SUBMITTER])), PodLabels("submitter", tuple(sorted(added.items())))
    return dataclasses.replace(
        facts,
        gang=(*facts.gang, PodSet("submitter", 1, shape)) if runs else (),
        pods=(*facts.pods, labels),
        needs=distinct([*facts.needs, *needs]),
    )


def _releases(root: Cursor, spec: Cursor) -> bool:
    """Whether the Ray cluster goes when the job is done, both when it succeeded and when it failed."""
    if spec.boolean("shutdownAfterJobFinishes"):
        return True
    if not is_v1(root) or not spec.has("deletionStrategy"):
        return False
    return {"succeeded", "failed"} <= set(_released_outcomes(spec.mapping("deletionStrategy")))


def _released_outcomes(strategy: Cursor) -> Iterator[str]:
    for rule in strategy.items("deletionRules"):
        if rule.text("policy") in RELEASING:
            condition = rule.mapping("condition")
            if condition.text("jobDeploymentStatus") == "Failed":
                yield "failed"
            elif condition.text("jobStatus") in ("SUCCEEDED", "FAILED"):
                yield condition.text("jobStatus").lower()
    for key, outcome in (("onSuccess", "succeeded"), ("onFailure", "failed")):
        if strategy.has(key) and strategy.mapping(key).text("policy") in RELEASING:
            yield outcome


KIND = Kind(rayspec.API_GROUP, "RayJob", rayspec.VERSIONS, read, pod_templates)

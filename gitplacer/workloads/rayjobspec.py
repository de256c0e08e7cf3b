"""
A Ray job spec: a Ray cluster made for one job, and the pod that submits it.

The submitter starts when the whole Ray cluster is ready, so at its peak head, workers and submitter run together: a
place that has no room for the submitter is a place where the job never starts. A job with `clusterSelector` makes
no Ray cluster; it needs the one it names. Attempts after a failure (`backoffLimit`) follow one another, each with
a new Ray cluster, so they need no more room. RayJob is such a spec; RayCronJob contains one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gitplacer.documents import Cursor, Findings, Path
from gitplacer.model.podrules import untold
from gitplacer.model.workload import NO_NAMES, PodShape
from gitplacer.workloads import madeservices, podtemplate, rayspec
from gitplacer.workloads.facts import ObjectFacts, PodLabels, Role, distinct, existing
from gitplacer.workloads.jobspec import job_labels
from gitplacer.workloads.raydeletion import seconds_kept
from gitplacer.workloads.rayspec import RayPods, is_ours, is_v1
from gitplacer.workloads.requests import Part, PodAsk, amounts, with_defaults
from gitplacer.workloads.surroundings import Surroundings

SUBMITTER = Part(
    "ray-job-submitter",
    amounts(cpu="500m", memory="200Mi"),
    origin="KubeRay makes it",
    limits=amounts(cpu="1", memory="1Gi"),
)
MODES = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
_REFUSED_UNUSED = ("InvalidQuantity", "InvalidReplicas", "MissingField", "TooManyFaults", "WrongType")
"""Problems of a Ray cluster spec for which a job is refused that makes no Ray cluster of it."""


def job_facts(root: Cursor, spec: Cursor, around: Surroundings, job_name: str) -> ObjectFacts:
    """The facts of one run. `job_name` is '' where KubeRay makes the name up."""
    mode = _submission_mode(spec) if is_v1(root) else "K8sJobMode"
    chosen = spec.mapping("clusterSelector")
    if chosen.keys():
        facts = _existing_cluster(chosen)
        _check_unused(root, spec, around)
    else:
        facts = _own_cluster(root, spec, around, mode, job_name)
    if mode == "K8sJobMode":
        counted = f"submissionMode {mode}{'' if is_v1(root) and spec.has('submissionMode') else ' by default'}"
        told = job_name or untold(root.text("kind"), root.mapping("metadata").text("name"))
        facts = _with_submitter(spec, facts, around, told, counted if facts.gang or chosen.keys() else "")
    if not is_ours(root, spec, around):
        facts = facts.stopped(f"managedBy {spec.text('managedBy')}: KubeRay leaves it alone")
    elif spec.boolean("suspend"):
        facts = facts.stopped("suspended")
    released = bool(chosen.keys()) or seconds_kept(spec, v1=is_v1(root)) is not None
    return facts.but(releases_when_finished=released)


def job_templates(value: Mapping[str, Any], spec: Path) -> tuple[Path, ...]:
    """The pod templates of the Ray job spec at a path."""
    return (
        *rayspec.cluster_templates(value, (*spec, "rayClusterSpec")),
        *existing(value, (*spec, "submitterPodTemplate")),
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


def _check_unused(root: Cursor, spec: Cursor, around: Surroundings) -> None:
    """
    A Ray cluster spec beside `clusterSelector` is not used, and KubeRay and the API server refuse the job for it all the
    same. Source: ValidateRayJobSpec in ray-operator/controllers/ray/utils/validation.go.
    """
    if not spec.has("rayClusterSpec"):
        return
    cluster = spec.mapping("rayClusterSpec")
    found = Findings(root.document)
    rayspec.cluster_facts(root, Cursor(root.document, cluster.path, cluster.value, found), around, RayPods())
    spec.problems.take(problem for problem in found.told() if problem.code in _REFUSED_UNUSED)


def _own_cluster(root: Cursor, spec: Cursor, around: Surroundings, mode: str, job_name: str) -> ObjectFacts:
    if not spec.has("rayClusterSpec"):
        spec.report(
            "MissingField",
            "there is neither rayClusterSpec nor clusterSelector",
            "add rayClusterSpec, or name a RayCluster: clusterSelector: {ray.io/cluster: …}",
        )
        return ObjectFacts(sized=True)
    beside_head = (replace(SUBMITTER, origin="KubeRay adds it for SidecarMode"),) if mode == "SidecarMode" else ()
    added = RayPods(beside_head=beside_head, starts_whole=True)
    facts = rayspec.cluster_facts(root, spec.mapping("rayClusterSpec"), around, added)
    return madeservices.told(facts, [madeservices.of_job(job_name)]) if job_name else facts


def _with_submitter(spec: Cursor, facts: ObjectFacts, around: Surroundings, job_name: str, counted: str) -> ObjectFacts:
    """
    The submitter is exactly what `submitterPodTemplate` says, without resources if it says none; the default one has
    500m / 200Mi, and neither node selector nor tolerations, whatever the head has. `counted` says why there is one, ''
    that there is none.
    """
    added = job_labels(job_name)
    needs, claims, named = facts.needs, facts.claims, NO_NAMES
    queued = None  # Kueue counts the default one as well
    if spec.has("submitterPodTemplate"):
        template = podtemplate.read_pod(spec.mapping("submitterPodTemplate"), around)
        shape, ask, labels = template.shape, template.ask, template.pod_labels("submitter", added)
        named, queued = template.named, template.queued_requests
        needs = distinct([*needs, *template.needs])
        claims = tuple(sorted({*claims, *template.claims}))
    else:
        ask = PodAsk((with_defaults(SUBMITTER, around.container_defaults),))
        shape, labels = PodShape(**ask.sizes()), PodLabels("submitter", tuple(sorted(added.items())))
    # Without a Ray cluster to wait for (suspended, or managed by somebody else) it is never made.
    number = 1 if counted else 0
    counted = counted or "there is no Ray cluster to submit to"
    role = Role(
        "submitter", shape, number, number, number, named=named, ask=ask, counted=counted, queued_requests=queued
    )  # fmt: skip
    return facts.but(roles=(*facts.roles, role), pods=(*facts.pods, labels), needs=needs, claims=claims)

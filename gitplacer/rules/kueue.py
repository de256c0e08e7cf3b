"""
Ray objects that ask Kueue for a queue, by the label `kueue.x-k8s.io/queue-name`.

Kueue's webhook refuses what it cannot queue as a whole, when the object is applied; and it owns `suspend`: it sets it when
the object comes, and takes it back when there is room. Source: ValidateCreate in kubernetes-sigs/kueue,
pkg/controller/jobs/raycluster/common.go, and rayjob/rayjob_webhook.go beside it. Whether a cluster has a Kueue that
looks at Ray objects, and which, is not known here.
"""

from __future__ import annotations

from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayjob import selects_cluster, submission_mode
from gitplacer.workloads import QUEUE

ELASTIC = "kueue.x-k8s.io/elastic-job"
POD_SETS = 18
"""Sorts of pods in one Workload of Kueue: the head, each worker group, and the submitter of a RayJob."""


def queued(manifest: RayManifest) -> None:
    """Everything Kueue has to say about an object with a queue."""
    metadata = manifest.root.value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict) or not labels.get(QUEUE) or not manifest.spec.value:
        return
    if manifest.kind == "RayCronJob":
        message = f"the label {QUEUE} does nothing: KubeRay does not give it to the RayJobs it makes"
        hint = "remove it; jobs that are to be queued are RayJobs"
        tell(manifest.root.mapping("metadata").mapping("labels"), "NotQueued", message, hint, key=QUEUE)
        return
    if manifest.job is not None and selects_cluster(manifest.job):
        _on_existing_cluster(manifest)
        return
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    elastic = isinstance(annotations, dict) and annotations.get(ELASTIC) == "true"
    _refused(manifest, elastic=elastic)
    _suspension(manifest)


def _on_existing_cluster(manifest: RayManifest) -> None:
    job = manifest.job
    if job is None:
        return
    if job.has("rayClusterSpec"):
        message = "Kueue does not take a RayJob with both clusterSelector and rayClusterSpec"
        tell(job, "KueueRefuses", message, "remove one of them", key="clusterSelector")
    else:
        message = "a RayJob with clusterSelector does not wait in a queue: its Ray cluster has its room already"
        hint = f"remove the label {QUEUE}; older versions of Kueue refuse such a job"
        tell(job, "NotQueued", message, hint, key="clusterSelector")


def _refused(manifest: RayManifest, *, elastic: bool) -> None:
    job, cluster = manifest.job, manifest.cluster
    if job is not None and not job.boolean("shutdownAfterJobFinishes"):
        message = "Kueue does not take a RayJob without shutdownAfterJobFinishes: true: it would keep its place"
        tell(job, "KueueRefuses", message, "add shutdownAfterJobFinishes: true", key="shutdownAfterJobFinishes")
    if manifest.autoscaling and not elastic:
        message = "Kueue does not take a Ray cluster that scales itself"
        hint = (
            f'set enableInTreeAutoscaling: false, or the annotation {ELASTIC}: "true" where Kueue has elastic jobs on'
        )
        tell(cluster, "KueueRefuses", message, hint, key="enableInTreeAutoscaling")
    submitter = 1 if job is not None and submission_mode(manifest) == "K8sJobMode" else 0
    most = POD_SETS - 1 - submitter
    if len(manifest.groups) > most:
        message = f"there are {len(manifest.groups)} worker groups; Kueue takes {most} here"
        tell(cluster, "KueueRefuses", message, "join groups that are alike", key="workerGroupSpecs")
    for group in manifest.groups:
        if group.value.get("groupName") == "head":
            message = 'Kueue does not take a worker group named "head"'
            tell(group, "KueueRefuses", message, "give the group another name", key="groupName")


def _suspension(manifest: RayManifest) -> None:
    """Kueue writes `spec.suspend`, in a RayService `rayClusterConfig.suspend`; what Git says there, the engine restores."""
    owner = manifest.cluster if manifest.kind == "RayService" else manifest.spec
    if owner.has("suspend"):
        message = "suspend is written here, and Kueue writes it too: the GitOps engine would undo what Kueue decides"
        tell(owner, "KueueOwnsSuspend", message, "remove it; Kueue sets it when the object is applied", key="suspend")


RULES: tuple[Rule, ...] = (queued,)

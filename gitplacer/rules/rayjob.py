"""
RayJob: how a job is submitted, where it runs, and how long it may take.

They hold for the job template of a RayCronJob too. A RayJob that KubeRay refuses is ValidationFailed for good: mending it
does not start it, it must be deleted and made again. Source: ValidateRayJobSpec in
ray-operator/controllers/ray/utils/validation.go. What is deleted when the job is done is in `deletion`; a job with
neither `rayClusterSpec` nor a name in `clusterSelector` cannot be sized, which `workloads` says.

`ray.io/v1alpha1` knows one way to submit a job, no retries and no deadlines; what it does not know does not count.
"""

from __future__ import annotations

from gitplacer.documents import Cursor
from gitplacer.plaintext import few
from gitplacer.rules.embedded import RUNTIME_ENV, mapping_in_text
from gitplacer.rules.manifest import RayManifest, Rule, tell

_LEAST = (("activeDeadlineSeconds", 1), ("preRunningDeadlineSeconds", 1), ("backoffLimit", 0))


def selects_cluster(job: Cursor) -> bool:
    """Whether the job runs on a Ray cluster that exists. With `rayClusterSpec` beside it, the selector wins."""
    return job.has("clusterSelector") and bool(job.mapping("clusterSelector").value)


def submission_mode(manifest: RayManifest) -> str:
    """How the job is submitted; the default where it does not say."""
    assert manifest.job is not None
    return (manifest.job.text("submissionMode") if manifest.v1 else "") or "K8sJobMode"


def cluster_selector(manifest: RayManifest) -> None:
    """What KubeRay does to a Ray cluster of the job's own, it does not do to one that exists."""
    job = manifest.job
    if job is None or not selects_cluster(job):
        return
    found = [("suspend", "suspend: true")] if job.boolean("suspend") else []
    if manifest.v1:
        if submission_mode(manifest) == "SidecarMode":
            found.append(("submissionMode", "submissionMode: SidecarMode"))
        if (job.integer("backoffLimit") or 0) > 0:
            found.append(("backoffLimit", f"backoffLimit: {job.value['backoffLimit']}"))
    for key, what in found:
        message = f"{what} does not go with clusterSelector: the job runs on a Ray cluster that is not its own"
        tell(job, "NotItsOwnCluster", message, f"remove {key}, or write rayClusterSpec instead", key=key)


def suspension(manifest: RayManifest) -> None:
    """A suspended job has no Ray cluster, so KubeRay must be allowed to delete it."""
    job = manifest.job
    if job is not None and job.boolean("suspend") and not job.boolean("shutdownAfterJobFinishes"):
        message = "suspend: true needs shutdownAfterJobFinishes: true"
        tell(job, "SuspendWithoutShutdown", message, "add shutdownAfterJobFinishes: true", key="suspend")


def modes(manifest: RayManifest) -> None:
    """The interactive mode has no retries; in the sidecar mode the submitter is a container of the head."""
    job = manifest.job
    if job is None or not manifest.v1 or not job.has("submissionMode"):
        return
    mode = submission_mode(manifest)
    if mode == "InteractiveMode" and (job.integer("backoffLimit") or 0) > 0:
        message = f"backoffLimit {job.value['backoffLimit']} does not go with InteractiveMode: nobody submits again"
        tell(job, "SubmissionModeConflict", message, "remove backoffLimit", key="backoffLimit")
    if mode != "SidecarMode":
        return
    for key in ("submitterPodTemplate", "submitterConfig"):
        if job.has(key):
            message = f"{key} does not go with SidecarMode: there is no submitter pod"
            tell(job, "SubmissionModeConflict", message, f"remove {key}, or use K8sJobMode", key=key)
    pod = manifest.head.mapping("template").mapping("spec")
    if (policy := pod.text("restartPolicy")) not in ("", "Never") and not selects_cluster(job):
        message = f"the head's restartPolicy is {policy}; with SidecarMode it must be Never"
        tell(pod, "SubmissionModeConflict", message, "remove it, or write Never", key="restartPolicy")


def deadlines_and_retries(manifest: RayManifest) -> None:
    """A deadline is a second or more, a number of retries 0 or more."""
    job = manifest.job
    if job is None or not manifest.v1:
        return
    for key, least in _LEAST:
        number = job.integer(key)
        if number is not None and number < least:
            tell(job, "NumberOutOfRange", f"{key} is {number}", f"use {least} or more, or leave it out", key=key)


def runtime_env(manifest: RayManifest) -> None:
    """
    `runtimeEnvYAML` is a text that KubeRay reads as a YAML mapping, and its variables are texts: Ray refuses a job with others when it is
    submitted. Source: UnmarshalRuntimeEnvYAML; parse_and_validate_env_vars in Ray's _private/runtime_env/validation.py.
    """
    if manifest.job is None:
        return
    variables = mapping_in_text(manifest.job, RUNTIME_ENV, "InvalidRuntimeEnv", "pip: [torch]").get("env_vars")
    if not variables:
        return
    if not isinstance(variables, dict):
        message, hint = (
            "env_vars is not a mapping, and Ray refuses the job",
            "write the name of each with its value: NAME: value",
        )
        tell(manifest.job, "InvalidRuntimeEnv", message, hint, key=RUNTIME_ENV)
        return
    # Not quoted: it may be a password of digits.
    others = [name for name, value in variables.items() if not isinstance(value, str)]
    if others:
        message = f"{few(others)} in env_vars {'is' if len(others) == 1 else 'are'} not text, and Ray refuses the job"
        tell(manifest.job, "InvalidRuntimeEnv", message, "put the value in quotes", key=RUNTIME_ENV)


def entrypoint(manifest: RayManifest) -> None:
    """
    Without a command the Ray cluster starts, and then there is nothing to submit. A submitter with a command of its own
    needs none. Source: BuildJobSubmitCommand (controllers/ray/common/job.go); `ray.io/v1alpha1` requires it.
    """
    job = manifest.job
    if job is None or not job.value:
        return
    if job.has("entrypoint"):
        if job.text("entrypoint", "of the wrong type").strip():
            return
    elif not manifest.v1:
        tell(job, "MissingField", "entrypoint is missing", "add entrypoint: the command of the job")
        return
    mode = submission_mode(manifest)
    if mode == "InteractiveMode" or (mode == "K8sJobMode" and _submitter_has_command(job)):
        return
    message = "there is no entrypoint, so nothing is run once the Ray cluster is ready"
    tell(job, "NoEntrypoint", message, "add entrypoint: the command of the job", key="entrypoint")


def _submitter_has_command(job: Cursor) -> bool:
    containers = job.mapping("submitterPodTemplate").mapping("spec").items("containers")
    return bool(containers) and containers[0].has("command")


def submitter_restarts(manifest: RayManifest) -> None:
    """
    The pod of a batch Job is restarted on failure or never, and KubeRay makes the submitter's Job of the template as it stands:
    only its own has `restartPolicy: Never`. The Job is made, and refused, when the whole Ray cluster is ready.
    Source: GetSubmitterTemplate (controllers/ray/common/job.go); ValidateJobSpec in pkg/apis/batch/validation of Kubernetes, whose
    default for pods is Always.
    """
    job = manifest.job
    if job is None or not job.has("submitterPodTemplate") or submission_mode(manifest) != "K8sJobMode":
        return
    template = job.mapping("submitterPodTemplate")
    if not template.has("spec"):
        return  # which is told
    pod = template.mapping("spec")
    policy = pod.text("restartPolicy", "of the wrong type") if pod.has("restartPolicy") else ""
    if policy in ("OnFailure", "Never", "of the wrong type"):
        return
    said = f"restartPolicy is {policy}" if policy else "there is no restartPolicy, which means Always"
    message = f"{said}; the API server refuses the submitter's Job, and the Ray cluster waits for it"
    hint = "write restartPolicy: Never in the spec of submitterPodTemplate, or OnFailure"
    tell(pod, "InvalidRestartPolicy", message, hint, key="restartPolicy")


RULES: tuple[Rule, ...] = (
    cluster_selector,
    suspension,
    modes,
    submitter_restarts,
    deadlines_and_retries,
    runtime_env,
    entrypoint,
)

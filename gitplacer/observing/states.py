"""
What an object says of itself: how far it is, whether it serves, which generation its controller has seen.

Each kind says it in its own words. What cannot be told apart is `Unknown`, and nothing is called ended that may go on: an end is
believed for good. Only jobs end; a service that failed is one that waits to be mended.
Source: KubeRay's apis/ray/v1 (rayjob_types.go, raycluster_types.go, rayservice_types.go); Kubernetes' API types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.kinds.capacity import Phase
from gitplacer.scheduler.reading import cursor_of


class State(Struct, frozen=True):
    """The state of one object. `observed` is the generation that its controller has seen, None where it does not say."""

    phase: Phase
    ready: bool = False
    observed: int | None = None


UNKNOWN = State("Unknown")

_RAY_JOB: Mapping[str, Phase] = {
    "": "Pending",
    "Initializing": "Pending",
    "Waiting": "Running",  # for somebody who submits by hand, and may have done so
    "Running": "Running",
    "Retrying": "Running",
    "Failed": "Failed",
    "ValidationFailed": "Failed",
    "Suspending": "Running",
    "Suspended": "Suspended",
}


def state_of(value: Mapping[str, Any]) -> State:
    """The state of an object of any kind."""
    root = cursor_of(value)
    group, _, _ = root.text("apiVersion").rpartition("/")
    reader = _READERS.get((group, root.text("kind")), _anything)
    state = reader(root)
    if root.mapping("metadata").has("deletionTimestamp"):  # it serves nobody any more, and is still there
        return replace(state, ready=False)
    return state


def together(states: Iterable[State]) -> State:
    """
    The state of a group of objects. It runs as soon as one does, and has ended when all have; whoever asks whether a job has not
    started, or has ended, must hear no for the group as long as it is no for one.
    """
    found = list(states)
    phases = {state.phase for state in found}
    order: tuple[Phase, ...] = ("Running", "Unknown", "Pending", "Suspended", "Failed", "Succeeded")
    phase: Phase = next((each for each in order if each in phases), "Unknown")
    ready = bool(found) and all(state.ready or state.phase == "Succeeded" for state in found)
    seen = {state.observed for state in found if state.observed is not None}
    return State(phase, ready and phase == "Running", next(iter(seen)) if len(seen) == 1 else None)


# -- Ray ----------------------------------------------------------------------------------------------------------


def _ray_cluster(root: Cursor) -> State:
    status, spec = root.mapping("status"), root.mapping("spec")
    said = _conditions(status)
    observed = status.integer("observedGeneration")
    if said.get("RayClusterSuspended") == "True" or status.text("state") == "suspended":
        return State("Suspended", False, observed)
    if spec.boolean("suspend") and not status.text("state"):
        return State("Pending", False, observed)
    provisioned = said.get("RayClusterProvisioned") == "True" or status.text("state") == "ready"
    wanted, there = status.integer("desiredWorkerReplicas") or 0, status.integer("readyWorkerReplicas") or 0
    ready = provisioned and said.get("HeadPodReady") != "False" and there >= wanted
    return State("Running" if provisioned else "Pending", ready, observed)


def _ray_job(root: Cursor) -> State:
    status = root.mapping("status")
    word, result = status.text("jobDeploymentStatus"), status.text("jobStatus")
    if word == "Complete":
        ended: Phase = "Succeeded" if result in ("SUCCEEDED", "") else "Failed"
        return State(ended)
    return State(_RAY_JOB.get(word, "Unknown"), word == "Running")


def _ray_service(root: Cursor) -> State:
    status = root.mapping("status")
    said, observed = _conditions(status), status.integer("observedGeneration")
    if said.get("Suspended") == "True":
        return State("Suspended", False, observed)
    if said.get("Ready") == "True" or (not said and status.text("serviceStatus") == "Running"):
        return State("Running", True, observed)
    began = status.mapping("activeServiceStatus").text("rayClusterName")
    return State("Running" if began else "Pending", False, observed)


# -- Kubernetes' own ----------------------------------------------------------------------------------------------


def _replicas(*ready: str) -> Callable[[Cursor], State]:
    """Of kinds with `spec.replicas`; `ready` are the fields of the status that count those that serve."""

    def read(root: Cursor) -> State:
        status = root.mapping("status")
        wanted = root.mapping("spec").integer("replicas", 1) or 0
        there = next((number for key in ready if (number := status.integer(key)) is not None), 0)
        observed = status.integer("observedGeneration")
        current = observed is None or observed >= (root.mapping("metadata").integer("generation") or 0)
        if not wanted:
            return State("Running", current, observed)
        return State("Running" if there else "Pending", current and there >= wanted, observed)

    return read


def _daemon_set(root: Cursor) -> State:
    status = root.mapping("status")
    wanted, there = status.integer("desiredNumberScheduled") or 0, status.integer("numberReady") or 0
    return State("Running" if there or not wanted else "Pending", there >= wanted, status.integer("observedGeneration"))


def _not_at_work(said: Mapping[str, str], complete: str) -> State | None:
    """The state of a job that has ended or sleeps, by its conditions, of which `complete` tells of a good end; None where it goes on."""
    if said.get(complete) == "True":
        return State("Succeeded")
    if said.get("Failed") == "True":
        return State("Failed")
    return State("Suspended") if said.get("Suspended") == "True" else None


def _job(root: Cursor) -> State:
    status = root.mapping("status")
    said = _conditions(status)
    if (stands := _not_at_work(said, "Complete")) is not None:
        return stands
    began = any(status.integer(key) for key in ("ready", "succeeded", "failed", "terminating"))
    active, ready = status.integer("active") or 0, status.integer("ready") or 0
    return State("Running" if began else "Pending", 0 < active <= ready)


def _cron_job(root: Cursor) -> State:
    """A schedule, of Kubernetes' own jobs or of Ray's: it serves as soon as it is there, and never ends."""
    return State("Suspended" if root.mapping("spec").boolean("suspend") else "Running", True)


def _pod(root: Cursor) -> State:
    status = root.mapping("status")
    word = status.text("phase")
    phase: Phase = word if word in ("Pending", "Running", "Succeeded", "Failed") else "Unknown"  # type: ignore[assignment]
    return State(phase, _conditions(status).get("Ready") == "True")


def _job_set(root: Cursor) -> State:
    status = root.mapping("status")
    said = _conditions(status)
    if (stands := _not_at_work(said, "Completed")) is not None:
        return stands
    jobs = status.items("replicatedJobsStatus")
    ready = [(item.integer("ready") or 0) + (item.integer("succeeded") or 0) for item in jobs]
    wanted = [item.integer("replicas", 1) or 0 for item in root.mapping("spec").items("replicatedJobs")]
    return State("Running" if any(ready) else "Pending", bool(wanted) and sum(ready) >= sum(wanted))


def _anything(root: Cursor) -> State:
    """A kind of which only its conditions are known, if it has any that people agree on."""
    status = root.mapping("status")
    said, observed = _conditions(status), status.integer("observedGeneration")
    word = next((said[name] for name in ("Ready", "Available") if name in said), None)
    if word is None:
        return State("Unknown", False, observed)
    return State("Running" if word == "True" else "Unknown", word == "True", observed)


def _conditions(status: Cursor) -> dict[str, str]:
    return {item.text("type"): item.text("status") for item in status.items("conditions")}


_READERS: Mapping[tuple[str, str], Callable[[Cursor], State]] = {
    ("ray.io", "RayCluster"): _ray_cluster,
    ("ray.io", "RayJob"): _ray_job,
    ("ray.io", "RayService"): _ray_service,
    ("ray.io", "RayCronJob"): _cron_job,
    ("apps", "Deployment"): _replicas("availableReplicas", "readyReplicas"),
    ("apps", "StatefulSet"): _replicas("readyReplicas"),
    ("apps", "ReplicaSet"): _replicas("readyReplicas"),
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Pod"): _pod,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
}

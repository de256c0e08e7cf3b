"""
When engines take a Ray object for healthy: real statuses, told to a real Lua and a real CEL.

The statuses are what KubeRay 1.3 to 1.7 writes. Argo CD gives its script `obj` and nothing else that could be reached for; Flux asks
`failed` before `current`, waits where neither is true, and where a field is not there yet.
"""

from __future__ import annotations

import json
from typing import Any

import celpy
import lupa
import pytest
from celpy import adapter

from gitplacer.engines.rayhealth import CEL, LUA


def condition(kind: str, status: str = "True", reason: str = "", message: str = "m") -> dict[str, str]:
    return {
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-02T03:04:05Z"
    }  # fmt: skip


PROVISIONED, HEAD = (
    condition("RayClusterProvisioned", reason="AllPodRunningAndReadyFirstTime"),
    condition("HeadPodReady"),
)
NOT_YET = condition("RayClusterProvisioned", "False", "RayClusterPodsProvisioning")
TIMEOUT = condition("Ready", "False", "InitializingTimeout")

CASES: list[tuple[str, dict[str, Any] | None, str, str]] = [
    # kind, status (None: KubeRay has not seen it), Argo CD, Flux
    ("RayCluster", None, "Progressing", "waits"),
    ("RayCluster", {}, "Progressing", "waits"),
    ("RayCluster", {"conditions": []}, "Progressing", "waits"),
    ("RayCluster", {"conditions": [HEAD, NOT_YET]}, "Progressing", "waits"),
    ("RayCluster", {"conditions": [HEAD, PROVISIONED], "state": "ready"}, "Healthy", "current"),
    ("RayCluster", {"conditions": [PROVISIONED, condition("ReplicaFailure", reason="FailedCreatePod")]}, "Degraded", "failed"),
    ("RayCluster", {"conditions": [PROVISIONED, condition("ReplicaFailure", "False")]}, "Healthy", "current"),
    ("RayCluster", {"conditions": [condition("RayClusterSuspended")], "state": "suspended"}, "Suspended", "current"),
    ("RayCluster", {"conditions": [condition("RayClusterSuspending")]}, "Progressing", "waits"),
    ("RayCluster", {"state": "ready"}, "Healthy", "current"),  # before conditions were there
    ("RayCluster", {"state": "suspended"}, "Suspended", "current"),
    ("RayCluster", {"state": "failed", "reason": "no head"}, "Degraded", "waits"),
    ("RayJob", None, "Progressing", "waits"),
    ("RayJob", {"jobDeploymentStatus": ""}, "Progressing", "waits"),
    ("RayJob", {"jobDeploymentStatus": "Initializing", "jobStatus": ""}, "Progressing", "waits"),
    ("RayJob", {"jobDeploymentStatus": "Waiting"}, "Progressing", "current"),
    ("RayJob", {"jobDeploymentStatus": "Running", "jobStatus": "PENDING"}, "Progressing", "current"),
    ("RayJob", {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}, "Progressing", "current"),
    ("RayJob", {"jobDeploymentStatus": "Retrying", "jobStatus": "FAILED"}, "Progressing", "current"),
    ("RayJob", {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, "Healthy", "current"),
    ("RayJob", {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, "Healthy", "current"),
    ("RayJob", {"jobDeploymentStatus": "Complete", "jobStatus": "FAILED"}, "Degraded", "failed"),
    ("RayJob", {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": "exit 1"}, "Degraded", "failed"),
    ("RayJob", {"jobDeploymentStatus": "ValidationFailed"}, "Degraded", "failed"),
    ("RayJob", {"jobDeploymentStatus": "Suspending"}, "Progressing", "waits"),
    ("RayJob", {"jobDeploymentStatus": "Suspended"}, "Suspended", "current"),
    ("RayService", None, "Progressing", "waits"),
    ("RayService", {"conditions": [condition("Ready", "False", "Initializing")]}, "Progressing", "waits"),
    ("RayService", {"conditions": [condition("Ready", reason="NonZeroServeEndpoints")]}, "Healthy", "current"),
    ("RayService", {"conditions": [condition("Ready"), condition("UpgradeInProgress")]}, "Healthy", "current"),
    ("RayService", {"conditions": [condition("Ready", "False", "ZeroServeEndpoints")]}, "Progressing", "waits"),
    ("RayService", {"conditions": [TIMEOUT]}, "Degraded", "failed"),
    ("RayService", {"conditions": [condition("Ready", "False", "ValidationFailed")]}, "Degraded", "failed"),
    ("RayService", {"conditions": [condition("Ready", "False"), condition("Suspended")]}, "Suspended", "current"),
    ("RayService", {"conditions": [condition("Ready", "False"), condition("Suspending")]}, "Progressing", "waits"),
    ("RayCronJob", None, "Healthy", ""),
    ("RayCronJob", {"lastScheduleTime": "2026-01-02T03:04:05Z"}, "Healthy", ""),
]  # fmt: skip


def shown(case: tuple[str, dict[str, Any] | None, str, str]) -> str:
    return f"{case[0]} {json.dumps(case[1])}"[:100]


def as_argocd_runs_it(script: str, obj: dict[str, Any]) -> tuple[str, str]:
    """The status and the message. Only what Argo CD lets scripts have is there."""
    lua = lupa.LuaRuntime(unpack_returned_tuples=True, register_eval=False)
    for name in ("os", "io", "debug", "package", "require", "dofile", "loadfile", "load", "python"):
        lua.globals()[name] = None
    lua.globals().obj = lua.table_from(obj, recursive=True)
    found = lua.execute(script)
    return found["status"], found["message"]


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_argocd_sees_how_a_ray_object_is(case: tuple[str, dict[str, Any] | None, str, str]) -> None:
    kind, status, wanted, _ = case
    obj = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "x"}, "spec": {}}
    told, message = as_argocd_runs_it(LUA[kind], obj if status is None else {**obj, "status": status})
    assert told == wanted
    assert isinstance(message, str) and message


def test_a_cron_job_that_is_suspended_says_so_and_messages_are_passed_on() -> None:
    told, _ = as_argocd_runs_it(LUA["RayCronJob"], {"spec": {"suspend": True}})
    assert told == "Suspended"
    obj = {"status": {"jobDeploymentStatus": "Failed", "message": "exit 1"}}
    assert as_argocd_runs_it(LUA["RayJob"], obj) == ("Degraded", "exit 1")
    obj = {"status": {"conditions": [condition("Ready", "False", "Initializing", "pulling")]}}
    assert as_argocd_runs_it(LUA["RayService"], obj) == ("Progressing", "pulling")


def as_flux_asks(check: Any, obj: dict[str, Any]) -> str:
    for answer in ("failed", "current"):
        environment = celpy.Environment()
        program = environment.program(environment.compile(check[answer]))
        try:
            found = program.evaluate({key: adapter.json_to_cel(value) for key, value in obj.items()})
        except celpy.CELEvalError:
            continue  # a field that is not there: it is waited for
        if found:
            return answer
    return "waits"


@pytest.mark.parametrize("case", [case for case in CASES if case[3]], ids=shown)
def test_flux_sees_how_a_ray_object_is(case: tuple[str, dict[str, Any] | None, str, str]) -> None:
    kind, status, _, wanted = case
    (check,) = (check for check in CEL if check["kind"] == kind)
    obj: dict[str, Any] = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "x"}, "spec": {}}
    assert as_flux_asks(check, obj if status is None else {**obj, "status": status}) == wanted


def test_every_kind_of_ray_has_a_check_and_a_case() -> None:
    assert sorted(LUA) == ["RayCluster", "RayCronJob", "RayJob", "RayService"]
    assert {case[0] for case in CASES} == set(LUA)
    assert {case[2] for case in CASES} == {"Progressing", "Healthy", "Degraded", "Suspended"}

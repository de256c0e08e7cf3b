"""
When a Ray object is healthy, told to each engine in its own language.

Argo CD runs Lua and knows no kind of Ray; Flux evaluates CEL and knows RayService by its Ready condition alone. Both texts tell the
same story, from the fields that KubeRay 1.3 to 1.7 writes: RayService by its conditions; RayCluster by `RayClusterProvisioned`, which
is true once all its pods were ready, and before 1.3 by `state`; RayJob by `jobDeploymentStatus` and `jobStatus`, since it has no
conditions. An object that somebody suspended is no failure. A job that runs is as good as one that is done for Flux, which would let
nothing go on until it ends; Argo CD shows it as Progressing, which holds back nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LUA: Mapping[str, str] = MappingProxyType(
    {
        "RayCluster": """
local status = obj.status or {}
local hs = {status = "Progressing", message = "waiting for its pods"}
for _, c in ipairs(status.conditions or {}) do
  if c.status == "True" then
    if c.type == "ReplicaFailure" then
      return {status = "Degraded", message = c.message or ""}
    elseif c.type == "RayClusterSuspended" then
      return {status = "Suspended", message = c.message or ""}
    elseif c.type == "RayClusterProvisioned" then
      hs = {status = "Healthy", message = c.message or ""}
    end
  end
end
if hs.status == "Progressing" and status.state == "suspended" then
  return {status = "Suspended", message = "suspended"}
elseif hs.status == "Progressing" and status.state == "ready" then
  return {status = "Healthy", message = "all its pods are ready"}
elseif hs.status == "Progressing" and status.state == "failed" then
  return {status = "Degraded", message = status.reason or "failed"}
end
return hs
""",
        "RayCronJob": """
local status = obj.status or {}
if (obj.spec or {}).suspend == true then
  return {status = "Suspended", message = "makes no more jobs"}
elseif status.lastScheduleTime ~= nil then
  return {status = "Healthy", message = "last made a job at " .. tostring(status.lastScheduleTime)}
end
return {status = "Healthy", message = "has made no job yet"}
""",
        "RayJob": """
local status = obj.status or {}
local deployment = status.jobDeploymentStatus or ""
local message = status.message
if message == nil or message == "" then
  message = deployment ~= "" and deployment or "waiting for KubeRay"
end
if deployment == "Failed" or deployment == "ValidationFailed" then
  return {status = "Degraded", message = message}
elseif deployment == "Complete" then
  if status.jobStatus == "FAILED" then
    return {status = "Degraded", message = message}
  end
  return {status = "Healthy", message = message}
elseif deployment == "Suspended" then
  return {status = "Suspended", message = message}
end
return {status = "Progressing", message = message}
""",
        "RayService": """
local hs = {status = "Progressing", message = "waiting to serve"}
for _, c in ipairs((obj.status or {}).conditions or {}) do
  if c.type == "Suspended" and c.status == "True" then
    return {status = "Suspended", message = c.message or ""}
  end
  if c.type == "Ready" then
    if c.status == "True" then
      hs = {status = "Healthy", message = c.message or ""}
    elseif c.reason == "InitializingTimeout" or c.reason == "ValidationFailed" then
      hs = {status = "Degraded", message = c.message or ""}
    else
      hs.message = c.message or ""
    end
  end
end
return hs
""",
    }
)
"""Argo CD's health checks: each is given `obj` and returns its status and a message."""

_CONDITION = "has(status.conditions) && status.conditions.exists(c, {})"

CEL: tuple[Mapping[str, str], ...] = (
    MappingProxyType(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "failed": _CONDITION.format("c.type == 'ReplicaFailure' && c.status == 'True'"),
            "current": _CONDITION.format(
                "c.type in ['RayClusterProvisioned', 'RayClusterSuspended'] && c.status == 'True'"
            )
            + " || has(status.state) && status.state in ['ready', 'suspended']",
        }
    ),
    MappingProxyType(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "failed": "has(status.jobDeploymentStatus) && (status.jobDeploymentStatus in ['Failed', 'ValidationFailed'] || "
            "status.jobDeploymentStatus == 'Complete' && has(status.jobStatus) && status.jobStatus == 'FAILED')",
            "current": "has(status.jobDeploymentStatus) && "
            "status.jobDeploymentStatus in ['Running', 'Complete', 'Suspended', 'Waiting', 'Retrying']",
        }
    ),
    MappingProxyType(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayService",
            "failed": _CONDITION.format(
                "c.type == 'Ready' && c.status == 'False' && c.reason in ['InitializingTimeout', 'ValidationFailed']"
            ),
            "current": _CONDITION.format("c.type in ['Ready', 'Suspended'] && c.status == 'True'"),
        }
    ),
)
"""Flux's health checks. `failed` is asked before `current`; an object without a status yet is waited for."""

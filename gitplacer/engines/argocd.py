"""
Argo CD: one ApplicationSet that makes two Applications for each cluster, and health checks for Ray.

The clusters are listed, not discovered, so that no directory that comes or goes in a repo makes or deletes an
Application. Argo CD knows no order between Applications: `workloads` is retried until `platform` has brought
the CRDs. Ray's kinds count as healthy the moment they are applied unless argocd-cm says how to tell.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from gitplacer.kinds.fleet import Cluster, FleetSpec, synced
from gitplacer.source.manifests import PLATFORM, WORKLOADS


def bootstrap(spec: FleetSpec, clusters: Sequence[Cluster], repo_url: str) -> dict[str, bytes]:
    """An ApplicationSet, and a part of argocd-cm."""
    names = synced(clusters)
    elements = "".join(
        f"\n      - {{cluster: {json.dumps(name)}, unit: {unit}}}" for name in names for unit in (PLATFORM, WORKLOADS)
    )
    text = _APPLICATION_SET
    for mark, value in (
        ("@ELEMENTS@", elements or " []"),
        ("@REPO@", json.dumps(repo_url)),
        ("@BRANCH@", json.dumps(spec.deployment.branch)),
        ("@ROOT@", spec.deployment.root),
    ):
        text = text.replace(mark, value)
    return {"applicationset.yaml": text.encode(), "argocd-cm.yaml": _HEALTH.encode()}


_APPLICATION_SET = """\
# Two Applications for each cluster, from the directories that gitplacer writes.
# `cluster` is the name under which the cluster is registered in Argo CD. Add a line for each new cluster.
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: gitplacer
  namespace: argocd
spec:
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators:
  - list:
      elements:@ELEMENTS@
  syncPolicy:
    preserveResourcesOnDeletion: true   # losing an Application never deletes what runs
  template:
    metadata:
      name: "{{.cluster}}-{{.unit}}"
      annotations:
        # A commit that touches other clusters only leaves this Application's cache alone.
        argocd.argoproj.io/manifest-generate-paths: .
    spec:
      project: default
      source:
        repoURL: @REPO@
        targetRevision: @BRANCH@
        path: "@ROOT@/{{.cluster}}/{{.unit}}"
        directory:
          recurse: true
      destination:
        name: "{{.cluster}}"
      # The Ray autoscaler writes these two fields of a RayCluster; without it they are Git's alone.
      ignoreDifferences:
      - group: ray.io
        kind: RayCluster
        jqPathExpressions:
        - .spec | select(.enableInTreeAutoscaling == true) | .workerGroupSpecs[]?.replicas
        - .spec | select(.enableInTreeAutoscaling == true) | .workerGroupSpecs[]?.scaleStrategy
      syncPolicy:
        automated:
          prune: true      # a group that moved away is removed here
          selfHeal: true
        syncOptions:
        - ServerSideApply=true                # KubeRay's CRDs are too large for the annotation of client-side apply
        - SkipDryRunOnMissingResource=true    # the CRDs come with the other Application
        - RespectIgnoreDifferences=true
        retry:                                # until `platform` has brought what `workloads` needs
          limit: -1
          backoff: {duration: 10s, factor: 2, maxDuration: 3m}
"""

_HEALTH = """\
# How Argo CD can tell whether Ray runs. Without this, a Ray object counts as healthy once it is applied.
# These are keys to add to argocd-cm, not the whole of it:
#   kubectl apply --server-side --field-manager gitplacer -f argocd-cm.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
  labels: {app.kubernetes.io/part-of: argocd}
data:
  resource.customizations.health.ray.io_RayService: |
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
  resource.customizations.health.ray.io_RayCluster: |
    local hs = {status = "Progressing", message = "waiting for its pods"}
    for _, c in ipairs((obj.status or {}).conditions or {}) do
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
    return hs
  resource.customizations.health.ray.io_RayJob: |
    local status = obj.status or {}
    local deployment = status.jobDeploymentStatus or ""
    local message = status.message or deployment
    if deployment == "Failed" or deployment == "ValidationFailed" or status.jobStatus == "FAILED" then
      return {status = "Degraded", message = message}
    elseif deployment == "Complete" then
      return {status = "Healthy", message = message}
    elseif deployment == "Suspended" then
      return {status = "Suspended", message = message}
    end
    return {status = "Progressing", message = message}
"""

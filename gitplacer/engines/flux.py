"""
Flux: for each cluster one file with a GitRepository and two Kustomizations, `workloads` after `platform`.

Each cluster's own Flux reads its own file. `dependsOn` holds workloads back until the platform objects of the same
revision are there and healthy. The Ray autoscaler writes into RayClusters, and Flux would take it back each time: its ignore
rules know no wildcard for lists, so they name the first worker groups of those that an annotation marks. RayService has a Ready condition that Flux understands; RayCluster and RayJob have none,
so expressions say how to tell; a job that runs is as good as one that is done, or nothing would go on until it ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from gitplacer.kinds.fleet import Cluster, FleetSpec, synced
from gitplacer.rules.autoscaling import AUTOSCALED


def bootstrap(spec: FleetSpec, clusters: Sequence[Cluster], repo_url: str) -> dict[str, bytes]:
    """One file for each cluster, named after it."""
    names = synced(clusters)
    return {f"{name}.yaml": _file(spec, name, repo_url).encode() for name in names}


def _file(spec: FleetSpec, cluster: str, repo_url: str) -> str:
    text = _CLUSTER
    for mark, value in (
        ("@REPO@", json.dumps(repo_url)),
        ("@BRANCH@", json.dumps(spec.deployment.branch)),
        ("@ROOT@", spec.deployment.root),
        ("@CLUSTER@", cluster),
        ("@AUTOSCALED@", AUTOSCALED),
        ("@PATHS@", _PATHS),
    ):
        text = text.replace(mark, value)
    return text


_GROUPS = 16
"""Worker groups of one RayCluster that the ignore rule reaches."""
_PATHS = "".join(
    f"\n    - /spec/workerGroupSpecs/{index}/{field}"
    for index in range(_GROUPS)
    for field in ("replicas", "scaleStrategy")
)

_CLUSTER = """\
# For the Flux of cluster @CLUSTER@: put this file where that Flux reads, or kubectl apply it there.
# A private repo needs a secretRef in the GitRepository.
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: gitplacer
  namespace: flux-system
spec:
  interval: 1m
  url: @REPO@
  ref:
    branch: @BRANCH@
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: gitplacer-platform
  namespace: flux-system
spec:
  interval: 10m
  retryInterval: 1m
  timeout: 5m
  sourceRef:
    kind: GitRepository
    name: gitplacer
  path: ./@ROOT@/@CLUSTER@/platform
  prune: true
  wait: true
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: gitplacer-workloads
  namespace: flux-system
spec:
  dependsOn:
  - name: gitplacer-platform
  interval: 10m
  retryInterval: 1m
  timeout: 5m      # how long something that is not ready can delay the next change
  sourceRef:
    kind: GitRepository
    name: gitplacer
  path: ./@ROOT@/@CLUSTER@/workloads
  prune: true      # a group that moved away is removed here
  wait: true
  # The Ray autoscaler writes these fields of a RayCluster. Annotate a RayCluster with enableInTreeAutoscaling
  # @AUTOSCALED@: "true", and Flux leaves them to it. Needs Flux 2.9; remove it for an older one.
  ignore:
  - target:
      group: ray.io
      kind: RayCluster
      annotationSelector: @AUTOSCALED@=true
    paths:@PATHS@
  healthCheckExprs:
  - apiVersion: ray.io/v1
    kind: RayCluster
    failed: has(status.conditions) && status.conditions.exists(c, c.type == 'ReplicaFailure' && c.status == 'True')
    current: >-
      has(status.conditions) && status.conditions.exists(c,
      c.type in ['RayClusterProvisioned', 'RayClusterSuspended'] && c.status == 'True')
  - apiVersion: ray.io/v1
    kind: RayJob
    failed: has(status.jobDeploymentStatus) && status.jobDeploymentStatus in ['Failed', 'ValidationFailed']
    current: >-
      has(status.jobDeploymentStatus) && status.jobDeploymentStatus in
      ['Running', 'Complete', 'Suspended', 'Waiting', 'Retrying']
"""

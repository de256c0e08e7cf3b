"""Pieces that examples are made of: manifests with gaps, and examples of one file."""

from __future__ import annotations

from docs.problem_examples.example import Example

SETTINGS = "workloads/hello/settings.yaml"
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"
POLICY = "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata:\n  name: {}\nspec:\n{}"
CLUSTER = "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: {}\nspec:\n{}"
TENANT = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Tenant
metadata:
  name: {}
spec:
  paths: ["workloads/{}/**"]
  namespaces: [{}]
"""
APPROVAL = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Approval
metadata:
  name: {}
spec:
  groups: ["{}"]
  action: Move
  to: {}
  expires: "{}"
"""
SCENARIO = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Scenario
metadata: {name: story}
spec:
  title: A cluster is emptied
  given:
    now: "2026-01-02T03:05:00Z"
    write:
      fleet.yaml: |
        apiVersion: gitplacer.dev/v1alpha1
        kind: Fleet
        metadata: {name: fleet}
        spec: {}
      clusters/on-prem.yaml: |
        apiVersion: gitplacer.dev/v1alpha1
        kind: Cluster
        metadata: {name: on-prem}
        spec: {}
  steps:
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n{}spec:\n  containers:\n  - name: main\n    image: busybox\n{}"
JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: train
spec:
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: "1", memory: 4Gi}}
"""
RAYCLUSTER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: two
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: rayproject/ray:2.52.0}]}}
  workerGroupSpecs:
"""
WORKER = """\
  - groupName: {}
    replicas: {}
    minReplicas: {}
    maxReplicas: {}
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: worker, image: rayproject/ray:2.52.0}}]}}}}
"""
RANKS = """\
apiVersion: example.com/v1
kind: MPIRun
metadata:
  name: ranks
spec:
  ranks: 4
  template: {spec: {containers: [{name: rank, image: busybox}]}}
"""
RANKS_KIND = """\
apiVersion: gitplacer.dev/v1alpha1
kind: WorkloadKind
metadata:
  name: mpirun
spec:
  apiGroup: example.com
  kind: MPIRun
  versions: [v1]
  finishes: true
  pods:
  - template: [/spec/template]
    count: [{paths: [/spec/ranks]}]
"""

FLUX = {
    "fleet.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {engine: flux}\n"
}
UNDER_FLUX = "In a fleet with `engine: flux`:"


def settings(data: str) -> Example:
    """A ConfigMap with such data."""
    return Example(((SETTINGS, f"{HEAD}{data}"),))


def policy(spec: str) -> Example:
    return Example((("policies/general.yaml", POLICY.format("general", spec)),))


def workload(text: str, name: str = "x") -> Example:
    return Example(((f"workloads/hello/{name}.yaml", text),))


SNAPSHOT = (
    "apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata:\n  name: {}\n"
    'observedAt: "2026-01-01T00:00:00Z"\nnodes: []\n'
)
NODES = (
    "apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata:\n  name: my-cluster\n"
    'observedAt: "2026-01-01T{}:00Z"\nnodes:\n- {{name: n1, {}, allocatable: {{cpu: "32", memory: 120Gi}}}}\n'
)
SELECT = '  select:\n    paths: ["workloads/**"]\n'
SERVICE = (
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: both\nspec:\n  selector: {team: a}\n  ports: [{port: 80}]\n"
)
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: operator\nrules: []\n"
PLATFORM = {
    "policies/platform.yaml": POLICY.format("platform", '  select:\n    paths: ["platform/**"]\n'),
    "platform/operator/operator.yaml": POD.format("operator", "  namespace: system\n", ""),
}


def approval(group: str, cluster: str, expires: str) -> Example:
    """An Approval to move one group."""
    return Example((("approvals/drill.yaml", APPROVAL.format("drill", group, cluster, expires)),))

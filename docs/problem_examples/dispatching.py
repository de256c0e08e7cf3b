"""Examples of what cannot be left to Kueue."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import POLICY, SELECT

_API = "apiVersion: gitplacer.dev/v1alpha1\n"
_HUB = f"{_API}kind: Cluster\nmetadata: {{name: hub}}\nspec: {{role: Management}}\n"
_FILE = "clusters/hub/platform/multikueue/general.yaml"
_JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: train
  labels: {kueue.x-k8s.io/queue-name: mine}
spec:
  entrypoint: python train.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: ray, resources: {requests: {cpu: "1", memory: 2Gi}}}]}}
"""
_BATCH = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: nightly
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, resources: {requests: {cpu: "1", memory: 1Gi}}}
"""
_TENANT = f'{_API}kind: Tenant\nmetadata: {{name: hello}}\nspec: {{paths: ["workloads/**"], namespaces: [hello], clusters: {{names: [other]}}}}\n'


def _left(manager: str = "hub") -> str:
    """A policy that leaves everything to the Kueue of a cluster."""
    dispatch = f"  placement:\n    dispatch:\n      multiKueue: {{manager: {manager}, queue: train}}\n"
    return POLICY.format("general", f"{SELECT}{dispatch}")


_LEFT = {"clusters/hub.yaml": _HUB, "policies/general.yaml": _left()}
_MANY = {
    f"clusters/worker-{n:02}.yaml": f"{_API}kind: Cluster\nmetadata: {{name: worker-{n:02}}}\nspec: {{}}\n"
    for n in range(1, 21)
}

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "DispatchManager": (
        Example((("policies/general.yaml", _left("hbu")),), beside={"clusters/hub.yaml": _HUB}),
        Example((("policies/general.yaml", _left("my-cluster")),)),
    ),
    "DispatchTooMany": (
        Example(
            (("policies/general.yaml", _left()),), "The fleet has 21 clusters besides `hub`:", beside={**_LEFT, **_MANY}
        ),
    ),
    "DispatchKind": (Example((("workloads/hello/nightly.yaml", _BATCH),), beside=_LEFT),),
    "DispatchContradicted": (Example((("workloads/hello/train.yaml", _JOB),), beside=_LEFT),),
    "DispatchTenant": (Example((("tenants/hello.yaml", _TENANT),), beside=_LEFT),),
    "DispatchNotOurs": (
        Example(
            (("policies/general.yaml", _left()),),
            f"Somebody wrote `{_FILE}` into the deployment repo:",
            beside=_LEFT,
            deployment={_FILE: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: default}\n"},
            first=_LEFT,
        ),
    ),
}

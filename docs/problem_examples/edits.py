"""Examples of edits that cost a Ray cluster, do nothing, or are refused where the app runs."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import JOB, SNAPSHOT
from docs.problem_examples.rayjobs import RAYSERVICE, SHUTDOWN

GROUP = """\
  - groupName: {}
    replicas: 1
    minReplicas: 1
    maxReplicas: {}
    rayStartParams: {{}}
    template:
      spec:
        containers:
        - name: ray-worker
          image: rayproject/ray:2.52.0
          resources: {{requests: {{cpu: "1", memory: 1Gi}}}}
"""
RAYCLUSTER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: two
spec:
{}  headGroupSpec:
    rayStartParams: {{}}
    template:
      spec:
        containers:
        - name: ray-head
          image: rayproject/ray:2.52.0
          resources: {{requests: {{cpu: "1", memory: 2Gi}}}}
  workerGroupSpecs:
{}"""
AUTOSCALED = "  enableInTreeAutoscaling: true\n"
SMALL, LARGE = GROUP.format("small", 4), GROUP.format("large", 4)
SERVED = RAYSERVICE + "    workerGroupSpecs:\n" + "".join(f"  {line}\n" for line in SMALL.splitlines())
AUTOSCALED_SERVICE = SERVED.replace("    headGroupSpec:\n", f"  {AUTOSCALED}    headGroupSpec:\n")
DONE = JOB.replace("  rayClusterSpec:\n", f"{SHUTDOWN}  rayClusterSpec:\n")
CODE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: code-1a2b3c
data:
  EPOCHS: "3"
---
""" + DONE.replace(
    "            resources:", "            envFrom: [{configMapRef: {name: code-1a2b3c}}]\n            resources:"
)
BATCH = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: import
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: {}
        resources: {{requests: {{cpu: "1", memory: 1Gi}}}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx
        resources: {requests: {cpu: "1", memory: 1Gi}}
"""
SCALED = """\
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: web
spec:
  scaleTargetRef: {name: web}
  maxReplicaCount: 4
"""


def edit(intro: str, before: str, after: str, name: str, beside: Mapping[str, str] | None = None) -> Example:
    """A manifest of the app hello that was deployed in one form, and is edited into another."""
    path = f"workloads/hello/{name}.yaml"
    return Example(((path, after),), intro, beside=beside or {}, first={path: before})


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "EditIgnored": (
        edit(
            "The RayService was deployed with `replicas: 1`:",
            SERVED,
            SERVED.replace("replicas: 1\n", "replicas: 2\n", 1),
            "serve",
        ),
        edit(
            "The RayCluster was deployed with Ray 2.52.0:",
            RAYCLUSTER.format("", SMALL),
            RAYCLUSTER.format("", SMALL).replace("2.52.0", "2.53.0"),
            "two",
        ),
        edit(
            "The RayJob was deployed, and may be running, with `entrypoint: python train.py`:",
            DONE,
            DONE.replace("python train.py", "python train.py --epochs 9"),
            "train",
        ),
    ),
    "StillNeeded": (
        edit(
            "The RayJob was deployed with the ConfigMap `code-1a2b3c`, and may be running:",
            CODE,
            CODE.replace("1a2b3c", "4d5e6f").replace('"3"', '"9"'),
            "train",
        ),
    ),
    "EditOfFinishedJob": (
        edit(
            "The snapshot of my-cluster says that the job has succeeded; it was deployed with "
            "`entrypoint: python train.py`:",
            DONE,
            DONE.replace("python train.py", "python train.py --epochs 9"),
            "train",
            {
                "capacity/my-cluster.yaml": SNAPSHOT.format("my-cluster")
                + "groups: [{name: hello/train, phase: Succeeded}]\n"
            },
        ),
    ),
    "ImmutableField": (
        edit(
            "The Job was deployed with the image `busybox:1.36`:",
            BATCH.format("busybox:1.36"),
            BATCH.format("busybox:1.37"),
            "import",
        ),
    ),
    "KindNotServed": (
        edit(
            "The Deployment was deployed alone, to a cluster whose snapshot shows no KEDA (`serves`):",
            WEB,
            WEB + SCALED,
            "web",
        ),
    ),
    "RecreatesPods": (
        edit(
            "The RayCluster was deployed with Ray 2.52.0:",
            RAYCLUSTER.format("  upgradeStrategy: {type: Recreate}\n", SMALL),
            RAYCLUSTER.format("  upgradeStrategy: {type: Recreate}\n", SMALL).replace("2.52.0", "2.53.0"),
            "two",
        ),
    ),
    "UpgradeMakesNewCluster": (
        edit("The RayService was deployed with Ray 2.52.0:", SERVED, SERVED.replace("2.52.0", "2.53.0"), "serve"),
    ),
    "WorkerGroupRemoved": (
        edit(
            "The RayCluster was deployed with a second group, `large`:",
            RAYCLUSTER.format("", SMALL + LARGE),
            RAYCLUSTER.format("", SMALL),
            "two",
        ),
    ),
    "WorkerGroupsAppended": (
        edit(
            "The RayService was deployed with the group `small` alone:",
            AUTOSCALED_SERVICE,
            AUTOSCALED_SERVICE + "".join(f"  {line}\n" for line in LARGE.splitlines()),
            "serve",
        ),
    ),
    "WorkerGroupsReordered": (
        edit(
            "The RayCluster was deployed with the group `small` before `large`:",
            RAYCLUSTER.format(AUTOSCALED, SMALL + LARGE),
            RAYCLUSTER.format(AUTOSCALED, LARGE + SMALL),
            "two",
        ),
    ),
}

"""Examples of RayJobs, RayCronJobs and RayServices that KubeRay or Kueue would refuse, or that do not what they seem to."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import JOB, RAYCLUSTER, WORKER, workload

RAYSERVICE = """\
apiVersion: ray.io/v1
kind: RayService
metadata:
  name: serve
spec:
  rayClusterConfig:
    headGroupSpec:
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: "1", memory: 4Gi}}
"""
CRONJOB = """\
apiVersion: ray.io/v1
kind: RayCronJob
metadata:
  name: nightly
spec:
  schedule: "{}"
{}  jobTemplate:
    entrypoint: python train.py
    activeDeadlineSeconds: 7200
    shutdownAfterJobFinishes: true
    rayClusterSpec:
      headGroupSpec:
        template:
          spec:
            containers:
            - name: ray-head
              image: rayproject/ray:2.52.0
              resources: {{requests: {{cpu: "1", memory: 4Gi}}}}
"""
SHUTDOWN = "  shutdownAfterJobFinishes: true\n"
QUEUE = "name: train\n  labels: {kueue.x-k8s.io/queue-name: gpu}\n"
INCREMENTAL = """\
  upgradeStrategy:
    type: NewClusterWithIncrementalUpgrade
    clusterUpgradeOptions: {stepSizePercent: 20, intervalSeconds: 60}
"""


def job(settings: str) -> Example:
    """A RayJob with settings before its Ray cluster spec."""
    return workload(JOB.replace("  rayClusterSpec:\n", f"{settings}  rayClusterSpec:\n"), "train")


def service(settings: str) -> Example:
    """A RayService with settings before its Ray cluster spec."""
    return workload(RAYSERVICE.replace("  rayClusterConfig:\n", f"{settings}  rayClusterConfig:\n"), "serve")


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "HeadServiceName": (
        workload(
            RAYSERVICE.replace("      template:", "      headService: {metadata: {name: serve}}\n      template:"),
            "serve",
        ),
    ),
    "IncompleteUpgrade": (service(INCREMENTAL),),
    "InvalidDeletion": (
        job(
            f"{SHUTDOWN}  deletionStrategy:\n    deletionRules:\n"
            "    - policy: DeleteCluster\n      condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}\n"
            "    - policy: DeleteWorkers\n      condition: {jobStatus: SUCCEEDED, ttlSeconds: 600}\n"
        ),
    ),
    "InvalidManagedBy": (job(f"{SHUTDOWN}  managedBy: kueue\n"),),
    "InvalidRuntimeEnv": (job(f"{SHUTDOWN}  runtimeEnvYAML: |\n    pip: [torch\n    env_vars: {{A: b}}\n"),),
    "InvalidSchedule": (
        workload(CRONJOB.format("0 3 * * 7", ""), "nightly"),
        workload(CRONJOB.format("TZ=Europe/Berlin 0 3 * * *", ""), "nightly"),
    ),
    "InvalidServeConfig": (
        service(
            "  serveConfigV2: |\n    applications:\n    - name: chat\n      import_path: chat:app\n     route_prefix: /\n"
        ),
    ),
    "InvalidTimeZone": (workload(CRONJOB.format("0 3 * * *", "  timeZone: Europe/Berln\n"), "nightly"),),
    "InvalidTimeout": (
        workload(
            RAYSERVICE.replace(
                "  name: serve\n", '  name: serve\n  annotations: {ray.io/initializing-timeout: "5 minutes"}\n'
            ),
            "serve",
        ),
    ),
    "InvalidUpgradeStrategy": (
        service("  upgradeStrategy: {type: Recreate}\n"),
        workload(RAYCLUSTER.replace("spec:\n", "spec:\n  upgradeStrategy: {type: RollingUpdate}\n", 1), "two"),
    ),
    "KeepsRayCluster": (
        workload(JOB, "train"),
        job(
            "  deletionStrategy:\n    deletionRules:\n    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}\n",
        ),
    ),
    "KueueRefuses": (
        workload(JOB.replace("name: train\n", QUEUE), "train"),
        workload(
            RAYCLUSTER.replace("name: two\n", QUEUE.replace("train", "two")) + WORKER.format("head", 1, 1, 1), "two"
        ),
    ),
    "NestedField": (
        workload(
            JOB.replace("  rayClusterSpec:\n", "  rayClusterSpec:\n    upgradeStrategy: {type: Recreate}\n"), "train"
        ),
        workload(
            RAYSERVICE.replace(
                "  rayClusterConfig:\n", "  rayClusterConfig:\n    managedBy: kueue.x-k8s.io/multikueue\n"
            ),
            "serve",
        ),
    ),
    "NeverUpgraded": (service("  upgradeStrategy: {type: None}\n"),),
    "NoEntrypoint": (workload(JOB.replace("  entrypoint: python train.py\n", SHUTDOWN), "train"),),
    "NotItsOwnCluster": (
        workload(
            "apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: train\nspec:\n  entrypoint: python train.py\n"
            "  clusterSelector: {ray.io/cluster: hello}\n  backoffLimit: 3\n",
            "train",
        ),
    ),
    "NotQueued": (
        workload(
            CRONJOB.format("0 3 * * *", "").replace("name: nightly\n", QUEUE.replace("train", "nightly")), "nightly"
        ),
    ),
    "NumberOutOfRange": (job(f"{SHUTDOWN}  ttlSecondsAfterFinished: -1\n  activeDeadlineSeconds: 0\n"),),
    "RunsOverlap": (
        workload(CRONJOB.format("0 * * * *", ""), "nightly"),
        workload(CRONJOB.format("0 3 * * *", "").replace("    activeDeadlineSeconds: 7200\n", ""), "nightly"),
    ),
    "SubmissionModeConflict": (
        job(f"{SHUTDOWN}  submissionMode: InteractiveMode\n  backoffLimit: 2\n"),
        job(f"{SHUTDOWN}  submissionMode: SidecarMode\n  submitterConfig: {{backoffLimit: 1}}\n"),
    ),
    "SuspendWithoutShutdown": (job("  suspend: true\n"),),
}

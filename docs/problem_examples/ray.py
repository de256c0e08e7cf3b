"""Examples of Ray cluster specs that KubeRay would refuse or misread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import FLUX, JOB, RAYCLUSTER, UNDER_FLUX, WORKER, workload
from docs.problem_examples.rayjobs import SHUTDOWN, job

GROUP = WORKER.format("gpu", 1, 1, 1)
SIZED = """\
  - groupName: gpu
    {}
    template:
      spec:
        {}
        containers:
        - name: worker
          image: rayproject/ray:2.52.0
          resources: {}
"""
REQUESTS = '{requests: {cpu: "4", memory: 16Gi}}'


def cluster(fields: str, groups: str = GROUP, name: str = "two") -> Example:
    """A RayCluster with such fields in its spec, in lines, and such worker groups."""
    indented = "".join(f"  {line}\n" for line in fields.splitlines())
    return workload(RAYCLUSTER.replace("  headGroupSpec:\n", f"{indented}  headGroupSpec:\n") + groups, name)


def head(container: str, fields: str = "") -> Example:
    """A RayCluster without workers, whose head's container has such a field."""
    told = cluster(fields, "").shown[0][1].replace("  workerGroupSpecs:\n", "")
    return workload(told.replace("image: rayproject/ray:2.52.0", f"image: rayproject/ray:2.52.0, {container}"), "two")


SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  minReplicas: 1
  maxReplicas: 8
  scaleTargetRef: {apiVersion: ray.io/v1, kind: RayService, name: web}
"""

BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: heads
spec:
  maxUnavailable: 1
  selector: {matchLabels: {ray.io/node-type: head}}
"""

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "NothingToScale": (workload(SCALER, "web"),),
    "BudgetNotCounted": (workload(BUDGET, "heads"),),
    "NameTooLong": (workload(JOB.replace("name: train", f"name: {'nightly-' * 6}train"), "train"),),
    "InvalidRayName": (workload(JOB.replace("name: train", "name: train.v2"), "train"),),
    "FieldsOfV1": (
        workload(
            cluster("", f"{GROUP}    numOfHosts: 4\n").shown[0][1].replace("ray.io/v1\n", "ray.io/v1alpha1\n"), "two"
        ),
    ),
    "UnknownRayField": (cluster("enableInTreeAutoscalling: true", GROUP.replace("replicas: 1", "replica: 4", 1)),),
    "NoHosts": (cluster("", f"{GROUP}    numOfHosts: 0\n"),),
    "ReplicasOutOfRange": (cluster("", WORKER.format("gpu", 8, 1, 4)),),
    "InvalidWorkerGroupName": (
        cluster("", WORKER.format("gpu_large", 1, 1, 1)),
        cluster("networkPolicy: {mode: DenyAllIngress}", WORKER.format("GPU", 1, 1, 1)),
    ),
    "InvalidLabel": (cluster("", f"{GROUP}    labels: {{team: data science}}\n"),),
    "LabelsInStartParams": (cluster("", GROUP.replace("rayStartParams: {}", "rayStartParams: {labels: zone=a}")),),
    "ConflictingResources": (
        cluster(
            "",
            GROUP.replace("rayStartParams: {}", 'rayStartParams: {num-gpus: "1"}\n    resources: {GPU: "1", CPU: "4"}'),
        ),
    ),
    "NoRequests": (cluster("", SIZED.format("replicas: 1", "restartPolicy: Always", "{requests: {cpu: 200m}}")),),
    "TPUTopologyMismatch": (
        cluster(
            "",
            SIZED.format(
                "numOfHosts: 2",
                "nodeSelector: {cloud.google.com/gke-tpu-topology: 4x4}",
                '{requests: {cpu: "8", memory: 40G}, limits: {google.com/tpu: "4"}}',
            ),
        ),
    ),
    "ContradictoryAutoscaler": (
        head(
            'env: [{name: RAY_enable_autoscaler_v2, value: "1"}]',
            "enableInTreeAutoscaling: true\nautoscalerOptions: {version: v2}",
        ),
    ),
    "NeedsAutoscalerV2": (cluster("enableInTreeAutoscaling: true", f"{GROUP}    idleTimeoutSeconds: 600\n"),),
    "NeedsRayVersion": (cluster("authOptions: {mode: token}"),),
    "RefusedPod": (head("imagePullPolicy: IfNotExist"),),
    "UnknownVolume": (head("volumeMounts: [{name: models, mountPath: /models}]"),),
    "InvalidRestartPolicy": (
        cluster(
            "enableInTreeAutoscaling: true\nautoscalerOptions: {version: v2}",
            SIZED.format("maxReplicas: 4", "restartPolicy: Always", REQUESTS),
        ),
        job(
            f"{SHUTDOWN}  submitterPodTemplate:\n    spec:\n      containers:\n"
            "      - {name: submitter, image: rayproject/ray:2.52.0}\n"
        ),
    ),
    "InvalidIdleTimeout": (cluster("enableInTreeAutoscaling: true\nautoscalerOptions: {idleTimeoutSeconds: -1}"),),
    "SuspendedGroup": (cluster("enableInTreeAutoscaling: true", f"{GROUP}    suspend: true\n"),),
    "UnboundedGroup": (
        cluster("enableInTreeAutoscaling: true", SIZED.format("minReplicas: 0", "restartPolicy: Never", REQUESTS)),
    ),
    "AutoscalerOwnsReplicas": (
        replace(cluster("enableInTreeAutoscaling: true", WORKER.format("gpu", 2, 0, 8)), intro=UNDER_FLUX, beside=FLUX),
    ),
    "ContradictoryFaultTolerance": (
        head('env: [{name: RAY_REDIS_ADDRESS, value: "redis:6379"}]'),
        head("env: [{name: REDIS_PASSWORD, value: secret}]", "gcsFaultToleranceOptions: {redisAddress: 'redis:6379'}"),
    ),
    "InvalidGCSStorage": (cluster("gcsFaultToleranceOptions: {storage: {size: 1Gi}}"),),
    "ManagedByKubeRay": (head('env: [{name: RAY_USE_TLS, value: "1"}]', "tlsOptions: {enabled: true}"),),
    "InvalidAuthOptions": (
        cluster('rayVersion: "2.55.0"\nauthOptions: {mode: token, enableK8sTokenAuth: true, secretName: ray-token}'),
    ),
    "InvalidNetworkPolicy": (
        cluster("networkPolicy:\n  mode: DenyAllIngress\n  workerGroups:\n  - {groupName: gpus, ingressRules: []}"),
    ),
    "DNSClosed": (
        cluster(
            "networkPolicy:\n  mode: DenyAllEgress\n  head:\n    egressRules:\n    - ports: [{protocol: UDP, port: 53}]"
        ),
    ),
    "InvalidHistoryServerOptions": (
        cluster(
            "historyServerOptions:\n  collectorOptions:\n    image: quay.io/kuberay/collector:v1.7.0\n"
            "    env:\n    - {name: STORAGE_BACKEND, value: S3}"
        ),
    ),
    "MissingCollectorImage": (
        cluster(
            "historyServerOptions:\n  collectorOptions:\n    env:\n    - {name: STORAGE_BACKEND, value: GCS}\n"
            "    - {name: GCS_BUCKET, value: ray-logs}"
        ),
    ),
}

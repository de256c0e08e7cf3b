"""
What is wrong with a Ray cluster spec, wherever it is nested: one row for each thing that KubeRay refuses or does in silence.

A row is a change to a Ray cluster spec with which nothing is wrong: mappings are merged, lists item by item, and null
removes. Its neighbour in the table of what is accepted is the nearest spec with which nothing is wrong either.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec

from gitplacer import rules, workloads
from gitplacer.documents import Document, parse
from gitplacer.problemcodes import CODES, ray
from gitplacer.problems import Problem, Severity
from gitplacer.rules.manifest import RAY_KINDS
from gitplacer.rules.rayversion import parsed
from tests.jsonvalues import merged

KINDS = sorted(RAY_KINDS)
OURS = {*ray.CODES, "DuplicateGroupName", "InvalidReplicas", "InvalidValue", "MissingField", "WrongType"}
"""What this file is about: rules of RayJobs and RayServices have tests of their own."""

SOUND = """
rayVersion: "2.52.0"
headGroupSpec:
  rayStartParams: {}
  template:
    spec:
      containers:
      - {name: ray-head, image: rayproject/ray:2.52.0, resources: {requests: {cpu: "1", memory: 4Gi}}}
workerGroupSpecs:
- groupName: gpu
  replicas: 2
  minReplicas: 1
  maxReplicas: 3
  rayStartParams: {}
  template:
    spec:
      containers:
      - {name: ray-worker, image: rayproject/ray:2.52.0, resources: {requests: {cpu: "1", memory: 4Gi}}}
"""
SECOND = "{groupName: cpu, minReplicas: 0, maxReplicas: 1, template: {spec: {containers: [{name: w, image: ray}]}}}"


def nested(kind: str, cluster: Any, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    """An object of a kind with that Ray cluster spec in it, and nothing else that could be wrong."""
    job = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster}
    spec = {
        "RayCluster": cluster,
        "RayJob": job,
        "RayService": {"rayClusterConfig": cluster},
        "RayCronJob": {"schedule": "0 3 * * *", "jobTemplate": job},
    }[kind]
    return {"apiVersion": f"ray.io/{version}", "kind": kind, "metadata": {"name": "llm", **metadata}, "spec": spec}


def cluster(change: str = "") -> Any:
    return merged(yaml.safe_load(SOUND), yaml.safe_load(change) or {})


def found(value: Any) -> list[Problem]:
    """What sizing and the rules say about an object, each thing once."""
    data = json.dumps(value, indent=1).encode()
    [item] = parse(data).documents
    document = Document("x.yaml", item, 0, lambda: data)
    problems = {*rules.check(document), *workloads.read(document)[1]}
    return sorted(problem for problem in problems if problem.code in OURS)


def codes(value: Any, severity: Severity | None = None) -> list[str]:
    return [problem.code for problem in found(value) if severity in (None, problem.severity)]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wrong_with_the_spec_that_all_rows_change(kind: str) -> None:
    assert found(nested(kind, cluster())) == []


# what KubeRay refuses

V2 = "enableInTreeAutoscaling: true, autoscalerOptions: {version: v2}"
HEAD_ENV = "headGroupSpec: {{template: {{spec: {{containers: [{{env: [{0}]}}]}}}}}}"
WORKER_ENV = "workerGroupSpecs: [{{template: {{spec: {{containers: [{{env: [{0}]}}]}}}}}}]"
HEAD_MOUNT = "headGroupSpec: {{template: {{spec: {{containers: [{{volumeMounts: [{0}]}}]}}}}}}"
TLS = "tlsOptions: {enabled: true}"
DNS = "{egressRules: [{ports: [{protocol: UDP, port: 53}]}]}"
ROCKSDB = "gcsFaultToleranceOptions: {backend: rocksdb}"
REDIS = "gcsFaultToleranceOptions: {redisAddress: 'redis:6379'}"


def head_env(*variables: str) -> str:
    return HEAD_ENV.format(", ".join(variables))


def v2_by_variable(value: str = "'1'") -> str:
    return head_env(f"{{name: RAY_enable_autoscaler_v2, value: {value}}}")


def history(*variables: str, image: str = "image: collector:v1.7.0, ") -> str:
    """Options for the history server, with variables of its collector such as S3_REGION=eu."""
    env = ", ".join(f"{{name: {name}, value: '{value}'}}" for name, value in (v.split("=") for v in variables))
    return f"historyServerOptions: {{collectorOptions: {{{image}env: [{env}]}}}}"


PODS = ("headGroupSpec: {{template: {{spec: {0}}}}}", "workerGroupSpecs: [{{template: {{spec: {0}}}}}]")
REFUSED_PODS = [
    ("{restartPolicy: never}", 'restartPolicy cannot be "never"'),
    ("{dnsPolicy: None of these}", 'dnsPolicy cannot be "None of these"'),
    ("{containers: [{imagePullPolicy: IfNotExist}]}", 'imagePullPolicy cannot be "IfNotExist"'),
    ("{containers: [{name: ray_head}]}", 'a container cannot have the name "ray_head"'),
    ("{initContainers: [{name: Init, image: ray}]}", 'a container cannot have the name "Init"'),
    ("{containers: [{}, {name: a, image: i}, {name: a, image: i}]}", "two containers of the pod have the name a"),
    ("{initContainers: [{name: a, image: i}], containers: [{name: a}]}", "two containers of the pod have the name a"),
    ("{volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]}", "two volumes of the pod have the name a"),
    ("{volumes: [{name: A, emptyDir: {}}]}", 'a volume cannot have the name "A"'),
    ("{volumes: [{name: a, secret: {name: s}}]}", "secret does not say which: secretName is missing"),
    ("{volumes: [{name: a, configMap: {}}]}", "configMap does not say which: name is missing"),
    ("{volumes: [{name: a, persistentVolumeClaim: {name: c}}]}", "persistentVolumeClaim does not say which: claimName is"),
    ("{volumes: [{name: a, secret: {secretName: s}, emptyDir: {}}]}", "a volume is of emptyDir and of secret"),
    ("{volumes: [{name: a, configMap: {name: c, items: [{key: k, path: /etc/k}]}}]}", "path leads out of the volume: /etc/k"),
    (
        "{volumes: [{name: a, projected: {sources: [{secret: {name: s, items: [{key: k, path: a/../b}]}}]}}]}",
        "path leads out of the volume: a/../b",
    ),
    (
        "{volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}], "
        "containers: [{volumeMounts: [{name: a, mountPath: /x}, {name: b, mountPath: /x}]}]}",
        "two volumes are mounted at /x",
    ),
    (
        "{volumes: [{name: a, emptyDir: {}}], containers: [{volumeMounts: [{name: a, mountPath: /x, subPath: /y}]}]}",
        "subPath leads out of the volume: /y",
    ),
    ("{containers: [{ports: [{containerPort: 80000}]}]}", "containerPort is 80000"),
    ("{containers: [{ports: [{containerPort: 0}]}]}", "containerPort is 0"),
    ("{containers: [{ports: [{containerPort: 1, name: ray-client-server}]}]}", 'a port cannot have the name "ray-client-server"'),
    ("{containers: [{ports: [{containerPort: 1, name: '8265'}]}]}", 'a port cannot have the name "8265"'),
    ("{containers: [{ports: [{containerPort: 1, protocol: tcp}]}]}", 'protocol cannot be "tcp"'),
    (
        "{containers: [{ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]}]}",
        "two ports of the container have the name a",
    ),
    ("{containers: [{livenessProbe: {httpGet: {path: /, port: '8265'}}}]}", 'port is "8265", which is no name of a port'),
    ("{containers: [{startupProbe: {tcpSocket: {port: Dash_Board}}}]}", 'port is "Dash_Board", which is no name of a port'),
    ("{containers: [{lifecycle: {preStop: {httpGet: {port: '80'}}}}]}", 'port is "80", which is no name of a port'),
    ("{containers: [{env: [{name: A=B, value: c}]}]}", "the name of a variable has a = in it"),
    (
        "{containers: [{env: [{name: A, value: c, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}]}",
        "a variable has value and valueFrom",
    ),
]  # fmt: skip
TAKEN_PODS = [
    "{restartPolicy: Never, dnsPolicy: ClusterFirstWithHostNet}",
    "{containers: [{ports: [{containerPort: 1, name: a}]}, {name: b, image: i, ports: [{containerPort: 2, name: a}]}]}",
    "{containers: [{ports: [{containerPort: 1}, {containerPort: 2}]}]}",
    "{containers: [{readinessProbe: {httpGet: {port: 8265}}, livenessProbe: {tcpSocket: {port: dashboard}}, startupProbe: {grpc: {port: 1}}}]}",
    "{volumes: [{name: a}]}",
    "{volumes: [{name: a, emptyDir: {}, mountPath: /x}]}",
    "{volumes: [{name: a, projected: {sources: [{secret: {name: s, items: [{key: k, path: a/..b}]}}]}}]}",
    "{volumes: [{name: a, emptyDir: {}}], containers: [{volumeMounts: [{name: a, mountPath: /x}, {name: a, mountPath: /x/y, subPath: y}]}]}",
    "{containers: [{env: [{name: A.b-C, value: ''}, {name: B, value: '', valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}]}",
    "{containers: [{env: [{name: A, value: a}, {name: A, value: b}]}]}",
]

REFUSED = [
    # Names and shape. What sizing cannot count is told there.
    ("headGroupSpec: null", "MissingField", "headGroupSpec is missing"),
    ("headGroupSpec: {template: null}", "MissingField", "template is missing"),
    ("headGroupSpec: {template: {spec: {containers: null}}}", "MissingField", "there are no containers"),
    ("workerGroupSpecs: [{template: null}]", "MissingField", "template is missing"),
    ("workerGroupSpecs: [{template: {spec: {containers: null}}}]", "MissingField", "there are no containers"),
    ("workerGroupSpecs: [{groupName: null}]", "MissingField", "groupName is missing"),
    ("workerGroupSpecs: [{minReplicas: -1}]", "InvalidReplicas", "minReplicas is -1"),
    ("workerGroupSpecs: [{maxReplicas: -1, minReplicas: 0}]", "InvalidReplicas", "maxReplicas is -1"),
    ("workerGroupSpecs: [{minReplicas: 4}]", "InvalidReplicas", "minReplicas 4 is more than maxReplicas 3"),
    (f"workerGroupSpecs: [{{groupName: cpu}}, {SECOND}]", "DuplicateGroupName", 'is named "cpu"'),
    ("headGroupSpec: {labels: {-team: a}}", "InvalidLabel", '"-team" is no label key'),
    ("headGroupSpec: {labels: {team: a b}}", "InvalidLabel", '"a b" is no value'),
    ("workerGroupSpecs: [{labels: {Example.com/team: a}}]", "InvalidLabel", '"Example.com/team" is no label key'),
    ("workerGroupSpecs: [{labels: {/team: a}}]", "InvalidLabel", '"/team" is no label key'),
    ("workerGroupSpecs: [{labels: {example.com/: a}}]", "InvalidLabel", '"example.com/" is no label key'),
    (f"workerGroupSpecs: [{{labels: {{{'a' * 254}/b: c}}}}]", "InvalidLabel", "is no label key"),
    (f"workerGroupSpecs: [{{labels: {{{'k' * 64}: a}}}}]", "InvalidLabel", "is no label key"),
    (f"workerGroupSpecs: [{{labels: {{a: {'v' * 64}}}}}]", "InvalidLabel", "is no value"),
    ("headGroupSpec: {rayStartParams: {labels: 'a=b'}}", "LabelsInStartParams", "refuses rayStartParams.labels"),
    ("workerGroupSpecs: [{rayStartParams: {labels: 'a=b'}}]", "LabelsInStartParams", "refuses rayStartParams.labels"),
    ("headGroupSpec: {rayStartParams: {num-cpus: 0}}", "WrongType", "rayStartParams.num-cpus is the number 0"),
    *(
        (f"{group}: {start}resources: {{GPU: '1'}}, rayStartParams: {{{name}: '1'}}}}{end}", "ConflictingResources", name)
        for group, start, end in (("headGroupSpec", "{", ""), ("workerGroupSpecs", "[{", "]"))
        for name in ("num-cpus", "num-gpus", "memory", "resources")
    ),
    ("workerGroupSpecs: [{groupName: gpu_group}]", "InvalidWorkerGroupName", "its pods are named after it"),
    # Volumes
    (HEAD_MOUNT.format("{name: models, mountPath: /m}"), "UnknownVolume", "no volume models"),
    (
        "headGroupSpec: {template: {spec: {volumes: [{name: logs, emptyDir: {}}], containers: [{volumeMounts: [{name: log, mountPath: /m}]}]}}}",
        "UnknownVolume",
        "no volume log",
    ),
    (
        "workerGroupSpecs: [{template: {spec: {initContainers: [{name: a, volumeMounts: [{name: models, mountPath: /m}]}]}}}]",
        "UnknownVolume",
        "no volume models",
    ),
    (HEAD_MOUNT.format("{name: ray-logs, mountPath: /tmp/ray}"), "UnknownVolume", "no volume ray-logs"),
    (
        "{enableInTreeAutoscaling: true, autoscalerOptions: {volumeMounts: [{name: models, mountPath: /m}]}}",
        "UnknownVolume",
        "no volume models",
    ),
    # Pods that the API server refuses
    *((where.format(spec), "RefusedPod", said) for spec, said in REFUSED_PODS for where in PODS),
    ("headGroupSpec: {serviceType: Loadbalancer}", "RefusedPod", 'serviceType cannot be "Loadbalancer"'),
    # Autoscaling
    (f"{{{V2}, {v2_by_variable()}}}", "ContradictoryAutoscaler", "is said twice"),
    (f"{{{V2}, {v2_by_variable(repr('0'))}}}", "ContradictoryAutoscaler", "is said twice"),
    (v2_by_variable(), "ContradictoryAutoscaler", "but enableInTreeAutoscaling is not"),
    (v2_by_variable("'true'"), "ContradictoryAutoscaler", "but enableInTreeAutoscaling is not"),
    (f"{{{V2}, headGroupSpec: {{template: {{spec: {{restartPolicy: Always}}}}}}}}", "InvalidRestartPolicy", "Always"),
    (f"{{{V2}, workerGroupSpecs: [{{template: {{spec: {{restartPolicy: OnFailure}}}}}}]}}", "InvalidRestartPolicy", "OnF"),
    ("autoscalerOptions: {idleTimeoutSeconds: -1}", "InvalidIdleTimeout", "idleTimeoutSeconds is -1"),
    (f"{{{V2}, workerGroupSpecs: [{{idleTimeoutSeconds: -60}}]}}", "InvalidIdleTimeout", "idleTimeoutSeconds is -60"),
    ("workerGroupSpecs: [{idleTimeoutSeconds: 60}]", "NeedsAutoscalerV2", "idleTimeoutSeconds of a worker group"),
    ("{enableInTreeAutoscaling: true, workerGroupSpecs: [{idleTimeoutSeconds: 0}]}", "NeedsAutoscalerV2", "asked for"),
    (
        f"{{enableInTreeAutoscaling: true, {v2_by_variable(repr('0'))}, workerGroupSpecs: [{{idleTimeoutSeconds: 5}}]}}",
        "NeedsAutoscalerV2",
        "asked for",
    ),
    ("{rayVersion: 2.56.0, workerGroupSpecs: [{priority: 1}]}", "NeedsAutoscalerV2", "the priority of a worker group"),
    (f"{{{V2}, workerGroupSpecs: [{{priority: -1}}]}}", "NeedsRayVersion", 'needs Ray 2.56 or newer, and rayVersion is "2.52.0"'),
    (f"{{{V2}, rayVersion: null, workerGroupSpecs: [{{priority: 1}}]}}", "NeedsRayVersion", "is not written"),
    ("autoscalerOptions: {env: [{name: KUBERAY_GEN_AUTOSCALER_START_CMD, value: x}]}", "ManagedByKubeRay", "_START_CMD is set"),
    ("{enableInTreeAutoscaling: true, workerGroupSpecs: [{suspend: true}]}", "SuspendedGroup", "cannot be suspended"),
    # GCS fault tolerance
    (head_env("{name: RAY_REDIS_ADDRESS, value: 'redis:6379'}"), "ContradictoryFaultTolerance", "is not enabled"),
    (f"{{{REDIS}, {head_env('{name: RAY_REDIS_ADDRESS, value: redis}')}}}", "ContradictoryFaultTolerance", "both set"),
    (f"{{{REDIS}, {head_env('{name: REDIS_PASSWORD, value: x}')}}}", "ContradictoryFaultTolerance", "REDIS_PASSWORD"),
    (f"{{{REDIS}, headGroupSpec: {{rayStartParams: {{redis-password: x}}}}}}", "ContradictoryFaultTolerance", "redis-password"),
    ("headGroupSpec: {rayStartParams: {redis-username: x}}", "ContradictoryFaultTolerance", "redis-username"),
    (head_env("{name: REDIS_USERNAME, value: x}"), "ContradictoryFaultTolerance", "REDIS_USERNAME"),
    (f"{{{REDIS}, headGroupSpec: {{rayStartParams: {{redis-username: x}}}}}}", "ContradictoryFaultTolerance", "redis-username"),
    ("gcsFaultToleranceOptions: {storage: {size: 1Gi}}", "InvalidGCSStorage", "storage is for the backend rocksdb"),
    ("gcsFaultToleranceOptions: {backend: redis, storage: {}}", "InvalidGCSStorage", "storage is for the backend rocksdb"),
    ("gcsFaultToleranceOptions: {backend: etcd}", "InvalidGCSStorage", 'unknown backend "etcd"'),
    ("gcsFaultToleranceOptions: {backend: rocksdb, redisAddress: redis}", "InvalidGCSStorage", "redisAddress"),
    ("gcsFaultToleranceOptions: {backend: rocksdb, redisUsername: {value: x}}", "InvalidGCSStorage", "redisUsername"),
    ("gcsFaultToleranceOptions: {backend: rocksdb, redisPassword: {value: x}}", "InvalidGCSStorage", "redisPassword"),
    ("gcsFaultToleranceOptions: {backend: rocksdb, externalStorageNamespace: x}", "InvalidGCSStorage", "externalStorageN"),
    *(
        (f"gcsFaultToleranceOptions: {{backend: rocksdb, storage: {{claimName: c, {key}: {value}}}}}", "InvalidGCSStorage", key)
        for key, value in (("size", "1Gi"), ("storageClassName", "ssd"), ("accessModes", "[ReadWriteMany]"))
    ),
    (f"{{{ROCKSDB}, {head_env('{name: RAY_gcs_storage, value: rocksdb}')}}}", "ManagedByKubeRay", "RAY_gcs_storage is set"),
    (f"{{{ROCKSDB}, {head_env('{name: RAY_gcs_storage_path, value: /x}')}}}", "ManagedByKubeRay", "RAY_gcs_storage_path is"),
    (f"{{{ROCKSDB}, {HEAD_MOUNT.format('{name: gcs-storage, mountPath: /x}')}}}", "ManagedByKubeRay", "at /data/gcs itself"),
    (f"{{{ROCKSDB}, {HEAD_MOUNT.format('{name: shared-mem, mountPath: /data/gcs}')}}}", "ManagedByKubeRay", "at /data/gcs itself"),
    (
        f"{{{ROCKSDB}, headGroupSpec: {{template: {{spec: {{volumes: [{{name: gcs-storage, emptyDir: {{}}}}]}}}}}}}}",
        "ManagedByKubeRay",
        "adds a volume gcs-storage",
    ),
    # Auth
    ("{rayVersion: null, authOptions: {mode: token}}", "NeedsRayVersion", "and rayVersion is not written"),
    ("{rayVersion: nightly, authOptions: {mode: token}}", "NeedsRayVersion", 'rayVersion is "nightly"'),
    ("{rayVersion: 2.9.0, authOptions: {mode: token}}", "NeedsRayVersion", "needs Ray 2.52 or newer"),
    ("authOptions: {mode: basic}", "InvalidAuthOptions", 'unknown mode "basic"'),
    # Autoscaler options
    ("autoscalerOptions: {version: v3}", "InvalidValue", 'unknown version "v3"'),
    ("autoscalerOptions: {version: ''}", "InvalidValue", 'unknown version ""'),
    ("autoscalerOptions: {upscalingMode: aggressive}", "InvalidValue", 'unknown upscalingMode "aggressive"'),
    # Network
    *(
        (f"networkPolicy: {{mode: {mode}, {where}: {{{direction}Rules: [{{}}]}}}}", "InvalidNetworkPolicy", f"leaves {direction} open")
        for where in ("head", "worker")
        for mode, direction in (("DenyAllEgress", "ingress"), ("DenyAllIngress", "egress"))
    ),
    *(
        (
            f"networkPolicy: {{mode: {mode}, workerGroups: [{{groupName: gpu, {direction}Rules: [{{}}]}}]}}",
            "InvalidNetworkPolicy",
            f"leaves {direction} open",
        )
        for mode, direction in (("DenyAllEgress", "ingress"), ("DenyAllIngress", "egress"))
    ),
    ("networkPolicy: {workerGroups: [{groupName: gpus}]}", "InvalidNetworkPolicy", 'no worker group "gpus"'),
    ("networkPolicy: {mode: AllowAll}", "InvalidNetworkPolicy", 'unknown mode "AllowAll"'),
    ("{networkPolicy: {}, workerGroupSpecs: [{groupName: GPU}]}", "InvalidWorkerGroupName", "NetworkPolicy is named after"),
    ("{networkPolicy: {}, workerGroupSpecs: [{groupName: a.b}]}", "InvalidWorkerGroupName", "NetworkPolicy is named after"),
    (f"{{networkPolicy: {{}}, workerGroupSpecs: [{{groupName: {'g' * 64}}}]}}", "InvalidWorkerGroupName", "NetworkPolicy"),
    # TLS
    *(
        (f"{{{TLS}, {place.format(f'{{name: {name}, value: x}}')}}}", "ManagedByKubeRay", f"{name} is set by KubeRay")
        for place in (HEAD_ENV, WORKER_ENV, "autoscalerOptions: {{env: [{0}]}}")
        for name in ("RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
    ),
    *(
        (f"{{{TLS}, {place.format(mount)}}}", "ManagedByKubeRay", "mounts a volume ray-tls at /etc/ray/tls itself")
        for place in (HEAD_MOUNT, WORKER_ENV.replace("env", "volumeMounts"), "autoscalerOptions: {{volumeMounts: [{0}]}}")
        for mount in ("{name: ray-tls, mountPath: /x}", "{name: shared-mem, mountPath: /etc/ray/tls}")
    ),
    # History server
    ("historyServerOptions: {}", "InvalidHistoryServerOptions", "collectorOptions is missing"),
    (history("STORAGE_BACKEND=LOCALTEST", image=""), "MissingCollectorImage", "has no image"),
    (history(), "InvalidHistoryServerOptions", "STORAGE_BACKEND has no literal value"),
    (
        "historyServerOptions: {collectorOptions: {image: x, env: [{name: STORAGE_BACKEND, valueFrom: {}}]}}",
        "InvalidHistoryServerOptions",
        "STORAGE_BACKEND has no literal value",
    ),
    (history("STORAGE_BACKEND=GCS"), "InvalidHistoryServerOptions", "env has no GCS_BUCKET"),
    (history("STORAGE_BACKEND=gcs", "GCS_BUCKET="), "InvalidHistoryServerOptions", "env has no GCS_BUCKET"),
    (history("STORAGE_BACKEND=S3"), "InvalidHistoryServerOptions", "env has no S3_REGION"),
    (history("STORAGE_BACKEND=ALIYUNOSS"), "InvalidHistoryServerOptions", "env has no ALIYUN_BUCKET"),
    (
        history("STORAGE_BACKEND=ALIYUNOSS", "ALIYUN_BUCKET=b"),
        "InvalidHistoryServerOptions",
        "env has no ALIYUN_ENDPOINT",
    ),
    (
        history("STORAGE_BACKEND=ALIYUNOSS", "ALIYUN_BUCKET=b", "ALIYUN_ENDPOINT=e"),
        "InvalidHistoryServerOptions",
        "env has no ALIYUN_REGION",
    ),
    (history("STORAGE_BACKEND=AZUREBLOB"), "InvalidHistoryServerOptions", "_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL"),
    (
        history("STORAGE_BACKEND=AZUREBLOB", "AZURE_STORAGE_AUTH_MODE=connection_string", "AZURE_STORAGE_ACCOUNT_URL=u"),
        "InvalidHistoryServerOptions",
        "env has no AZURE_STORAGE_CONNECTION_STRING",
    ),
    *(
        (
            history("STORAGE_BACKEND=AZUREBLOB", f"AZURE_STORAGE_AUTH_MODE={mode}", "AZURE_STORAGE_CONNECTION_STRING=c"),
            "InvalidHistoryServerOptions",
            "env has no AZURE_STORAGE_ACCOUNT_URL",
        )
        for mode in ("workload_identity", "default")
    ),
    *(
        (history("STORAGE_BACKEND=S3", "S3_REGION=eu", f"{name}=x"), "ManagedByKubeRay", f"{name} is set by KubeRay")
        for name in (
            "POD_IP", "FQ_RAY_IP", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_ROLE", "OWNER_KIND", "OWNER_NAME",
            "EVENTS_PORT",
        )
    ),
    *(
        (
            f"{{{history('STORAGE_BACKEND=S3', 'S3_REGION=eu')}, {group}}}",
            "ManagedByKubeRay",
            "adds a container ray-history-collector itself",
        )
        for group in (
            "headGroupSpec: {template: {spec: {containers: [{}, {name: ray-history-collector, image: x}]}}}",
            "workerGroupSpecs: [{template: {spec: {containers: [{}, {name: ray-history-collector, image: x}]}}}]",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("change", "code", "said"), REFUSED)
def test_what_kuberay_refuses_is_an_error_wherever_the_spec_is_nested(
    change: str, code: str, said: str, kind: str
) -> None:
    errors = [problem for problem in found(nested(kind, cluster(change))) if problem.severity is Severity.ERROR]
    assert [problem.code for problem in errors] == [code]
    assert said in errors[0].message


ACCEPTED = [
    "workerGroupSpecs: null",
    "workerGroupSpecs: [{minReplicas: null, maxReplicas: null}]",  # the CRD has defaults for both
    "headGroupSpec: {rayStartParams: null}",
    "headGroupSpec: {labels: {}}",
    "headGroupSpec: {labels: {team: '', example.com/a_b.c: A-1}}",
    f"workerGroupSpecs: [{{labels: {{{'k' * 63}: {'v' * 63}}}}}]",
    f"workerGroupSpecs: [{{labels: {{{'a' * 253}/b: c}}}}]",
    "headGroupSpec: {resources: {CPU: '1'}, rayStartParams: {num-cpus: '', dashboard-host: 0.0.0.0}}",
    "headGroupSpec: {resources: {}, rayStartParams: {num-cpus: '1'}}",
    "workerGroupSpecs: [{resources: {GPU: '1'}}]",
    "workerGroupSpecs: [{groupName: GPU.2}]",
    # Volumes that the pod has, or that KubeRay gives it
    "headGroupSpec: {template: {spec: {volumes: [{name: m, emptyDir: {}}], containers: [{volumeMounts: [{name: m, mountPath: /m}]}]}}}",
    HEAD_MOUNT.format("{name: shared-mem, mountPath: /dev/shm}"),
    f"{{enableInTreeAutoscaling: true, {HEAD_MOUNT.format('{name: ray-logs, mountPath: /logs}')}}}",
    "{enableInTreeAutoscaling: true, autoscalerOptions: {volumeMounts: [{name: ray-logs, mountPath: /logs}]}}",
    "autoscalerOptions: {volumeMounts: [{name: models, mountPath: /m}]}",  # no autoscaler, no container
    "autoscalerOptions: {version: v2}",
    *(f"autoscalerOptions: {{version: v1, upscalingMode: {mode}}}" for mode in ("Default", "Aggressive", "Conservative")),
    f"{{{V2}, headGroupSpec: {{template: {{spec: {{restartPolicy: Never}}}}}}}}",
    v2_by_variable("'0'"),
    f"{{autoscalerOptions: {{version: v2}}, {v2_by_variable(repr('0'))}}}",
    "{autoscalerOptions: {version: v2}, headGroupSpec: {template: {spec: {restartPolicy: Always}}}}",
    "workerGroupSpecs: [{suspend: true}]",  # needs a gate, which is a matter of the cluster
    "workerGroupSpecs: [{suspend: false, priority: 0}]",
    "autoscalerOptions: {idleTimeoutSeconds: 0, env: [{name: A, value: b}]}",
    "{autoscalerOptions: {version: v2}, workerGroupSpecs: [{idleTimeoutSeconds: 0}]}",
    "{autoscalerOptions: {version: v2}, rayVersion: 2.56.0, workerGroupSpecs: [{priority: -1}]}",
    REDIS,
    f"{{{REDIS}, {WORKER_ENV.format('{name: REDIS_PASSWORD, value: x}')}}}",
    head_env("{name: REDIS_PASSWORD, value: x}"),
    "headGroupSpec: {rayStartParams: {redis-password: x}}",
    ROCKSDB,
    "gcsFaultToleranceOptions: {backend: rocksdb, storage: {claimName: c, subPath: p}}",
    "gcsFaultToleranceOptions: {backend: rocksdb, storage: {size: 1Gi, accessModes: [ReadWriteOnce]}}",
    "gcsFaultToleranceOptions: {backend: rocksdb, redisAddress: '', storage: {claimName: c, accessModes: []}}",
    f"{{{ROCKSDB}, {WORKER_ENV.format('{name: RAY_gcs_storage, value: x}')}}}",
    head_env("{name: RAY_gcs_storage, value: rocksdb}"),
    "authOptions: {mode: token, secretName: s}",
    "{rayVersion: null, authOptions: {mode: disabled}}",
    "networkPolicy: {}",
    "networkPolicy: {head: {ingressRules: [{}], egressRules: [{}]}, workerGroups: [{groupName: gpu, egressRules: [{}]}]}",
    "networkPolicy: {mode: DenyAllIngress, worker: {ingressRules: [{}], egressRules: []}}",
    "networkPolicy: {mode: DenyAllEgress, head: {egressRules: [{}]}}",
    TLS,
    f"{{tlsOptions: {{enabled: false}}, {head_env('{name: RAY_USE_TLS, value: x}')}}}",
    head_env("{name: RAY_USE_TLS, value: '1'}"),
    f"{{{TLS}, {HEAD_MOUNT.format('{name: shared-mem, mountPath: /etc/ray/tls/more}')}}}",
    # Only the first container is Ray's.
    f"{{{TLS}, headGroupSpec: {{template: {{spec: {{containers: [{{}}, {{name: x, image: x, env: [{{name: RAY_USE_TLS}}]}}]}}}}}}}}",
    history("STORAGE_BACKEND=LOCALTEST"),
    history("STORAGE_BACKEND=gcs", "GCS_BUCKET=b"),
    history("STORAGE_BACKEND=S3", "S3_REGION=eu"),
    history("STORAGE_BACKEND=ALIYUNOSS", "ALIYUN_BUCKET=b", "ALIYUN_ENDPOINT=e", "ALIYUN_REGION=r"),
    history("STORAGE_BACKEND=AZUREBLOB", "AZURE_STORAGE_ACCOUNT_URL=u"),
    history("STORAGE_BACKEND=AZUREBLOB", "AZURE_STORAGE_CONNECTION_STRING=c"),
    history("STORAGE_BACKEND=AZUREBLOB", "AZURE_STORAGE_AUTH_MODE= Default ", "AZURE_STORAGE_ACCOUNT_URL=u"),
    "historyServerOptions: {collectorOptions: {image: x, env: [{name: STORAGE_BACKEND, value: S3}, "
    "{name: S3_REGION, valueFrom: {}}]}}",
    "headGroupSpec: {template: {spec: {containers: [{}, {name: ray-history-collector, image: x}]}}}",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ACCEPTED)
def test_what_kuberay_accepts_is_not_refused(change: str, kind: str) -> None:
    assert codes(nested(kind, cluster(change)), Severity.ERROR) == []


def test_a_group_that_needs_two_things_is_told_both() -> None:
    change = "{rayVersion: 2.55.0, workerGroupSpecs: [{priority: 1, idleTimeoutSeconds: 5}]}"
    expected = ["NeedsAutoscalerV2", "NeedsAutoscalerV2", "NeedsRayVersion"]
    assert sorted(codes(nested("RayJob", cluster(change)))) == expected


def test_version_2_may_be_asked_for_by_the_variable() -> None:
    """It counts for timeouts and priorities, and not for restart policies."""
    change = f"{{enableInTreeAutoscaling: true, rayVersion: 2.56.0, {v2_by_variable()}}}"
    groups = "workerGroupSpecs: [{priority: 1, idleTimeoutSeconds: 5, template: {spec: {restartPolicy: Always}}}]"
    value = nested("RayService", merged(cluster(change), yaml.safe_load(groups)))
    assert codes(value, Severity.ERROR) == []


def test_a_wrong_type_of_the_ray_version_is_not_told_as_a_missing_one() -> None:
    assert codes(nested("RayCluster", cluster("{rayVersion: 2.5, authOptions: {mode: token}}"))) == ["WrongType"]


@pytest.mark.parametrize("spec", TAKEN_PODS)
def test_pods_that_the_api_server_takes_are_not_told(spec: str) -> None:
    for where in PODS:
        assert codes(nested("RayCluster", cluster(where.format(spec))), Severity.ERROR) == []


# names

NAMES = [
    ("RayCluster", "a" * 53, []),
    ("RayCluster", "a" * 54, ["NameTooLong"]),
    ("RayJob", "a" * 47, []),
    ("RayJob", "a" * 48, ["NameTooLong"]),
    ("RayService", "a" * 47, []),
    ("RayService", "a" * 48, ["NameTooLong"]),
    ("RayCronJob", "a" * 36, []),
    ("RayCronJob", "a" * 37, ["NameTooLong"]),
    *((kind, name, ["InvalidRayName"]) for kind in KINDS for name in ("1st", "llm.v2", "Llm", "llm-", "a_b", "ä")),
    *((kind, name, []) for kind in KINDS for name in ("a", "l1m-v2")),
    ("RayJob", "1" * 48, ["InvalidRayName", "NameTooLong"]),
]


@pytest.mark.parametrize(("kind", "name", "expected"), NAMES)
def test_a_name_leaves_room_and_is_a_dns_1035_label(kind: str, name: str, expected: list[str]) -> None:
    assert codes(nested(kind, cluster(), name=name)) == expected


def test_an_object_without_a_name_is_not_told_that_it_has_a_bad_one() -> None:
    assert codes(nested("RayJob", cluster(), name=None, generateName="train-")) == []


# the object around the spec counts

FT = {"ray.io/ft-enabled": "true"}
NAMESPACE = {"ray.io/external-storage-namespace": "here"}
ADDRESS = head_env("{name: RAY_REDIS_ADDRESS, value: redis}")
ANNOTATED = [
    (FT, "", False),
    (FT, ADDRESS, False),  # as it was set up before there were options
    ({"ray.io/ft-enabled": "True"}, ADDRESS, False),
    ({"ray.io/ft-enabled": "false"}, ADDRESS, True),
    (FT, REDIS, True),
    ({"ray.io/ft-enabled": "false"}, REDIS, True),  # whatever it says
    ({"ray.io/ft-enabled": ""}, REDIS, False),
    (NAMESPACE, REDIS, True),
    (NAMESPACE, "", False),
]


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
@pytest.mark.parametrize(("annotations", "change", "refused"), ANNOTATED)
def test_fault_tolerance_is_set_up_in_one_way(
    annotations: dict[str, str], change: str, refused: bool, kind: str
) -> None:
    expected = ["ContradictoryFaultTolerance"] if refused else []
    assert codes(nested(kind, cluster(change), annotations=annotations)) == expected


def test_annotations_of_a_raycronjob_do_not_reach_its_rayjobs() -> None:
    assert codes(nested("RayCronJob", cluster(REDIS), annotations=FT)) == []
    assert codes(nested("RayCronJob", cluster(ADDRESS), annotations=FT)) == ["ContradictoryFaultTolerance"]


KUBERNETES_TOKENS = [
    ("RayCluster", "{mode: token, enableK8sTokenAuth: true}", "2.55.0", []),
    ("RayCluster", "{mode: token, enableK8sTokenAuth: true}", "2.54.9", ["NeedsRayVersion"]),
    ("RayCluster", "{mode: token, enableK8sTokenAuth: true, secretName: s}", "2.55.0", ["InvalidAuthOptions"]),
    ("RayCluster", "{enableK8sTokenAuth: true}", "2.55.0", ["InvalidAuthOptions"]),
    ("RayCluster", "{mode: disabled, enableK8sTokenAuth: true}", "2.55.0", ["InvalidAuthOptions"]),
    ("RayCluster", "{mode: disabled, enableK8sTokenAuth: false}", "2.9.0", []),
    ("RayJob", "{mode: token, enableK8sTokenAuth: true}", "2.55.0", ["InvalidAuthOptions"]),
    ("RayCronJob", "{mode: token, enableK8sTokenAuth: true}", "2.55.0", ["InvalidAuthOptions"]),
    ("RayService", "{mode: token, enableK8sTokenAuth: true}", "2.55.0", ["InvalidAuthOptions"]),
    ("RayService", "{mode: token, enableK8sTokenAuth: false}", "2.52.0", []),
]


@pytest.mark.parametrize(("kind", "options", "version", "expected"), KUBERNETES_TOKENS)
def test_tokens_of_kubernetes_are_for_a_raycluster_by_itself(
    kind: str, options: str, version: str, expected: list[str]
) -> None:
    assert codes(nested(kind, cluster(f"{{rayVersion: {version}, authOptions: {options}}}"))) == expected


# hazards: KubeRay takes them

HAZARDS = [
    ("networkPolicy: {}", "DNSClosed", 'mode DenyAll closes DNS, and no egress rule opens it for the head and group "gpu"'),
    ("networkPolicy: {mode: DenyAllEgress}", "DNSClosed", "the mode DenyAllEgress closes DNS"),
    ("workerGroupSpecs: [{replicas: 4}]", "ReplicasOutOfRange", "more than maxReplicas 3: KubeRay starts 3"),
    ("workerGroupSpecs: [{replicas: 0}]", "ReplicasOutOfRange", "less than minReplicas 1: KubeRay starts 1"),
    ("workerGroupSpecs: [{replicas: -2, minReplicas: null}]", "ReplicasOutOfRange", "replicas is -2, less than"),
    ("workerGroupSpecs: [{numOfHosts: 0}]", "NoHosts", "numOfHosts is 0"),
    ("workerGroupSpecs: [{numOfHosts: -1}]", "NoHosts", "numOfHosts is -1"),
    ("headGroupSpec: {template: {spec: {containers: [{resources: null}]}}}", "NoRequests", "no cpu and no memory"),
    ("workerGroupSpecs: [{template: {spec: {containers: [{resources: null}]}}}]", "NoRequests", "no cpu and no memory"),
    ("workerGroupSpecs: [{template: {spec: {containers: [{resources: {requests: {memory: null}}}]}}}]", "NoRequests", "no memory"),
    ("headGroupSpec: {template: {spec: {containers: [{resources: {requests: {cpu: null}}}]}}}", "NoRequests", "no cpu"),
    (
        "{enableInTreeAutoscaling: true, workerGroupSpecs: [{maxReplicas: null, replicas: null}]}",
        "UnboundedGroup",
        "maxReplicas is not set",
    ),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("change", "code", "said"), HAZARDS)
def test_what_kuberay_does_in_silence_is_a_warning(change: str, code: str, said: str, kind: str) -> None:
    [problem] = (p for p in found(nested(kind, cluster(change))) if p.code != "AutoscalerOwnsReplicas")
    assert (problem.code, problem.severity) == (code, Severity.WARNING)
    assert said in problem.message


HARMLESS = [
    "workerGroupSpecs: [{replicas: 1}]",
    "workerGroupSpecs: [{replicas: 3}]",
    "workerGroupSpecs: [{replicas: null}]",  # the default 0 is nobody's wish
    "workerGroupSpecs: [{replicas: 2000, maxReplicas: null}]",
    "workerGroupSpecs: [{numOfHosts: 4}]",
    "workerGroupSpecs: [{maxReplicas: null}]",
    "headGroupSpec: {template: {spec: {containers: [{resources: {requests: null, limits: {cpu: 1, memory: 1Gi}}}]}}}",
    "headGroupSpec: {template: {spec: {containers: [{resources: {requests: {cpu: null}, limits: {cpu: 1}}}]}}}",
    "headGroupSpec: {template: {spec: {resources: {limits: {cpu: 1, memory: 1Gi}}, containers: [{resources: null}]}}}",
    "headGroupSpec: {template: {spec: {containers: [{}, {name: sidecar, image: x}]}}}",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", HARMLESS)
def test_what_is_meant_is_not_warned_of(change: str, kind: str) -> None:
    assert codes(nested(kind, cluster(change))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_autoscaler_owns_the_replicas_of_a_raycluster_in_git(kind: str) -> None:
    expected = ["AutoscalerOwnsReplicas"] if kind == "RayCluster" else []
    assert codes(nested(kind, cluster("enableInTreeAutoscaling: true"))) == expected
    without = "{enableInTreeAutoscaling: true, workerGroupSpecs: [{replicas: null}]}"
    assert codes(nested(kind, cluster(without))) == expected, "an apply that leaves replicas out sets them to 0"
    assert codes(nested(kind, cluster("enableInTreeAutoscaling: false"))) == []
    marked = nested(kind, cluster("enableInTreeAutoscaling: true"))
    marked["metadata"]["annotations"] = {"gitplacer.dev/autoscaled": "true"}
    assert codes(marked) == []


SLICES = [
    # chips of a host × hosts of a replica = chips of the slice
    ("2x2x2", "4", 2, ""),
    ("4x4", "4", 4, ""),
    ("16x16", "4", 64, ""),
    ("2x4", "8", 1, ""),
    ("2x2x1", "4", None, ""),
    ("4x4", "4", 2, "4 google.com/tpu on each of 2 hosts are 8 chips; the topology 4x4 has 16"),
    ("2x2x2", "4", 4, "4 google.com/tpu on each of 4 hosts are 16 chips; the topology 2x2x2 has 8"),
    ("4x4", "4", None, "4 google.com/tpu on one host are 4 chips; the topology 4x4 has 16"),
    ("4x4", "3", 5, "3 google.com/tpu on each of 5 hosts are 15 chips; the topology 4x4 has 16"),
    ("4x4", None, 2, ""),  # asks for no TPU
    ("4", "4", 2, ""),  # no topology that could be counted
    ("four", "4", 2, ""),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("topology", "chips", "hosts", "said"), SLICES)
def test_the_hosts_of_a_replica_are_those_of_one_tpu_slice(
    topology: str, chips: str | None, hosts: int | None, said: str, kind: str
) -> None:
    tpu = "" if chips is None else f", google.com/tpu: '{chips}'"
    change = f"""
    workerGroupSpecs:
    - numOfHosts: {"null" if hosts is None else hosts}
      template:
        spec:
          nodeSelector: {{cloud.google.com/gke-tpu-topology: "{topology}"}}
          containers: [{{resources: {{requests: null, limits: {{cpu: 1, memory: 1Gi{tpu}}}}}}}]
    """
    problems = found(nested(kind, cluster(textwrap.dedent(change))))
    assert [(p.code, p.message, p.severity) for p in problems] == (
        [("TPUTopologyMismatch", said, Severity.WARNING)] if said else []
    )


@pytest.mark.parametrize(("hosts", "told"), [(2, []), (4, ["TPUTopologyMismatch"])])
def test_a_part_of_a_slice_has_the_hosts_of_the_part(hosts: int, told: list[str]) -> None:
    change = f"""
    workerGroupSpecs:
    - numOfHosts: {hosts}
      template:
        metadata: {{annotations: {{cloud.google.com/gke-tpu-slice-topology: 2x4}}}}
        spec:
          nodeSelector: {{cloud.google.com/gke-tpu-topology: 4x4}}
          containers: [{{resources: {{requests: null, limits: {{cpu: 1, memory: 1Gi, google.com/tpu: 4}}}}}}]
    """
    assert codes(nested("RayCluster", cluster(textwrap.dedent(change)))) == told


def test_tpus_may_be_asked_for_by_requests_and_by_several_containers() -> None:
    template = """
    workerGroupSpecs:
    - numOfHosts: {hosts}
      template:
        spec:
          nodeSelector: {{cloud.google.com/gke-tpu-topology: 4x4}}
          containers:
          - resources: {{requests: {{google.com/tpu: "2"}}}}
          - {{name: second, image: x, resources: {{limits: {{google.com/tpu: "2"}}}}}}
    """
    for hosts, expected in ((4, []), (2, ["TPUTopologyMismatch"]), (0, ["NoHosts"]), (-4, ["NoHosts"])):
        assert codes(nested("RayJob", cluster(textwrap.dedent(template.format(hosts=hosts))))) == expected
    dropped = nested("RayJob", cluster(textwrap.dedent(template.format(hosts=4))), "v1alpha1")
    assert codes(dropped) == ["FieldsOfV1", "TPUTopologyMismatch"]


def test_bounds_that_contradict_each_other_are_all_that_is_told_of_replicas() -> None:
    assert codes(nested("RayJob", cluster("workerGroupSpecs: [{replicas: 9, minReplicas: 4}]"))) == ["InvalidReplicas"]
    assert codes(nested("RayJob", cluster("workerGroupSpecs: [{replicas: 9, minReplicas: -1}]"))) == ["InvalidReplicas"]


HINTS = [
    ("workerGroupSpecs: [{groupName: gpu_2}]", "use up to 63 letters, digits, dashes and dots; begin"),
    (
        "{networkPolicy: {mode: DenyAllIngress}, workerGroupSpecs: [{groupName: GPU}]}",
        "use up to 63 lower-case letters, digits and dashes;",
    ),
    ("networkPolicy: {mode: DenyAllIngress, workerGroups: [{groupName: gpus}]}", 'did you mean "gpu"?'),
    ("networkPolicy: {mode: DenyAllIngres}", 'did you mean "DenyAllIngress"?'),
    (
        f"{{{REDIS}, {head_env('{name: REDIS_PASSWORD, value: x}')}}}",
        "write it as gcsFaultToleranceOptions.redisPassword",
    ),
    ("headGroupSpec: {rayStartParams: {num-cpus: 0}}", "put it in quotes"),
]


@pytest.mark.parametrize(("change", "hint"), HINTS)
def test_a_problem_says_what_to_write_instead(change: str, hint: str) -> None:
    [problem] = found(nested("RayService", cluster(change)))
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("chips", "hint"), [("4", "numOfHosts: 4"), ("5", "ask for the google.com/tpu of one host of the slice")]
)
def test_the_hosts_that_a_slice_has_are_told(chips: str, hint: str) -> None:
    change = f"""
    workerGroupSpecs:
    - numOfHosts: 2
      template:
        spec:
          nodeSelector: {{cloud.google.com/gke-tpu-topology: 4x4}}
          containers: [{{resources: {{limits: {{google.com/tpu: "{chips}"}}}}}}]
    """
    [problem] = found(nested("RayCluster", cluster(textwrap.dedent(change))))
    assert problem.hint == hint


# v1alpha1: the API server drops what that version lacks

ONLY_V1 = [
    "headGroupSpec: {labels: {-team: a}}",
    "workerGroupSpecs: [{labels: {team: a b}}]",
    "headGroupSpec: {resources: {CPU: '1'}, rayStartParams: {num-cpus: '1'}}",
    "workerGroupSpecs: [{numOfHosts: 0}]",
    f"{{enableInTreeAutoscaling: true, autoscalerOptions: {{version: v1}}, {v2_by_variable()}}}",
    f"{{{V2}, headGroupSpec: {{template: {{spec: {{restartPolicy: Always}}}}}}}}",
    "workerGroupSpecs: [{idleTimeoutSeconds: -1, priority: 1}]",
    "{enableInTreeAutoscaling: true, workerGroupSpecs: [{suspend: true}]}",
    "gcsFaultToleranceOptions: {backend: rocksdb, redisAddress: x}",
    f"{{{REDIS}, headGroupSpec: {{rayStartParams: {{redis-password: x}}}}}}",
    "authOptions: {mode: token, enableK8sTokenAuth: true}",
    "networkPolicy: {mode: AllowAll}",
    "{networkPolicy: {}, workerGroupSpecs: [{groupName: GPU}]}",
    f"{{{TLS}, {head_env('{name: RAY_USE_TLS, value: x}')}}}",
    "historyServerOptions: {}",
    f"{{{history('STORAGE_BACKEND=S3', 'S3_REGION=eu')}, "
    "headGroupSpec: {template: {spec: {containers: [{}, {name: ray-history-collector, image: x}]}}}}",
]


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
@pytest.mark.parametrize("change", ONLY_V1)
def test_a_field_that_v1alpha1_lacks_does_not_count(change: str, kind: str) -> None:
    owned = {"AutoscalerOwnsReplicas"}  # a field of both versions
    assert set(codes(nested(kind, cluster(change)))) - owned
    assert set(codes(nested(kind, cluster(change), "v1alpha1"))) - owned == {"FieldsOfV1"}


@pytest.mark.parametrize(
    ("kind", "value", "named"),
    [
        ("RayCluster", cluster("workerGroupSpecs: [{idleTimeoutSeconds: 5}]"), "spec.workerGroupSpecs[0].idleTimeoutSeconds"),
        ("RayCluster", cluster("autoscalerOptions: {version: v1}"), "spec.autoscalerOptions.version"),
        ("RayJob", cluster("headGroupSpec: {labels: {a: b}}"), "spec.rayClusterSpec.headGroupSpec.labels"),
        ("RayService", cluster("gcsFaultToleranceOptions: {redisAddress: r}"), "spec.rayClusterConfig.gcsFaultToleranceOptions"),
    ],
)  # fmt: skip
def test_what_the_api_server_drops_of_v1alpha1_is_named(kind: str, value: Any, named: str) -> None:
    [problem] = found(nested(kind, value, "v1alpha1"))
    assert problem.message == f"ray.io/v1alpha1 does not have {named}: the API server drops it"
    assert "FieldsOfV1" not in codes(nested(kind, value))


def test_dropped_fields_of_one_object_are_one_warning() -> None:
    spec = {
        "rayClusterSpec": cluster("workerGroupSpecs: [{numOfHosts: 2, suspend: false}]"),
        "entrypoint": "a",
        "backoffLimit": 1,
    }
    spec |= {"submissionMode": "HTTPMode", "activeDeadlineSeconds": None, "shutdownAfterJobFinishes": True}
    [problem] = found({"apiVersion": "ray.io/v1alpha1", "kind": "RayJob", "metadata": {"name": "a"}, "spec": spec})
    assert (problem.code, problem.severity, problem.location.line) == ("FieldsOfV1", Severity.WARNING, 2)
    workers = "spec.rayClusterSpec.workerGroupSpecs[0]"
    assert (
        f"have spec.backoffLimit, spec.submissionMode, {workers}.numOfHosts and {workers}.suspend: " in problem.message
    )


def test_a_whole_spec_of_v1alpha1_loses_nothing() -> None:
    change = "{enableInTreeAutoscaling: true, autoscalerOptions: {idleTimeoutSeconds: 5, upscalingMode: Default}, suspend: false}"
    assert codes(nested("RayService", cluster(change), "v1alpha1")) == []


UDP = "{protocol: UDP, port: %s}"


@pytest.mark.parametrize(
    ("rules", "open_"),
    [
        ("[]", False),
        ("[{}]", True),  # no ports: all of them
        (f"[{{ports: [{UDP % 53}]}}]", True),
        ("[{to: [{}]}, {ports: [{port: 443}]}]", True),
        ("[{ports: [{port: 53}]}]", False),  # that is TCP
        ("[{ports: [{protocol: UDP}]}]", True),
        (f"[{{ports: [{UDP % '1, endPort: 100'}]}}]", True),
        (f"[{{ports: [{UDP % '1, endPort: 52'}]}}]", False),
        (f"[{{ports: [{UDP % 54}]}}]", False),
        (f"[{{ports: [{UDP % 'dns'}]}}]", True),  # a name that the DNS pods give
    ],
)
def test_dns_is_udp_on_port_53(rules: str, open_: bool) -> None:
    change = f"networkPolicy: {{head: {{egressRules: [{{}}]}}, worker: {{egressRules: {rules}}}}}"
    assert codes(nested("RayCluster", cluster(change))) == ([] if open_ else ["DNSClosed"])


@pytest.mark.parametrize(
    ("policy", "whose"),
    [
        (f"worker: {DNS}", "the head"),
        (f"head: {DNS}", 'group "gpu"'),
        (
            f"head: {DNS}, worker: {DNS}, workerGroups: [{{groupName: gpu}}]",
            'group "gpu"',
        ),  # it replaces those of worker
        (f"head: {DNS}, workerGroups: [{{groupName: gpu, {DNS[1:-1]}}}]", ""),
        ("mode: DenyAllIngress", ""),
    ],
)
def test_dns_is_opened_for_the_head_and_every_group(policy: str, whose: str) -> None:
    told = [problem.message for problem in found(nested("RayCluster", cluster(f"networkPolicy: {{{policy}}}")))]
    assert [message.rpartition(" for ")[2] for message in told] == ([whose] if whose else [])


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
def test_what_v1alpha1_has_counts(kind: str) -> None:
    rows = [
        ("workerGroupSpecs: [{replicas: 4}]", "ReplicasOutOfRange"),
        ("autoscalerOptions: {idleTimeoutSeconds: -1}", "InvalidIdleTimeout"),
        ("headGroupSpec: {rayStartParams: {labels: a=b}}", "LabelsInStartParams"),
        (v2_by_variable(), "ContradictoryAutoscaler"),
        (f"{{{REDIS}, {ADDRESS}}}", "ContradictoryFaultTolerance"),  # without the options it is not enabled
        ("headGroupSpec: {rayStartParams: null}", "MissingField"),
        ("headGroupSpec: null", "MissingField"),  # one problem, not two
        ("workerGroupSpecs: [{rayStartParams: null}]", "MissingField"),
    ]
    for change, code in rows:
        dropped = ["FieldsOfV1"] if REDIS in change else []
        assert codes(nested(kind, cluster(change), "v1alpha1")) == [*dropped, code], change


# how it is told


def told(text: str) -> list[str]:
    data = textwrap.dedent(text).encode()
    [item] = parse(data).documents
    problems = rules.check(Document("x.yaml", item, 0, lambda: data))
    return [f"{p.location.line}:{p.location.column} {p.message} ({p.hint})" for p in problems]


def test_a_problem_stands_where_it_can_be_mended() -> None:
    assert told("""\
        apiVersion: ray.io/v1
        kind: RayService
        metadata: {name: llm}
        spec:
          rayClusterConfig:
            enableInTreeAutoscaling: true
            autoscalerOptions: {version: v2}
            headGroupSpec:
              template:
                spec:
                  containers:
                  - name: ray-head
                    env:
                    - name: A
                      value: b
                    - name: RAY_enable_autoscaler_v2
                      value: "1"
            workerGroupSpecs:
            - groupName: gpu
              labels:
                team: a b
              priority: 3
              template: {spec: {restartPolicy: Always, containers: [{name: w, resources: {limits: {cpu: 1}}}]}}
        """) == [
        "12:13 the Ray container asks for no cpu and no memory (set requests or limits for cpu and memory)",
        "16:15 the autoscaler's version is said twice: in autoscalerOptions.version and by RAY_enable_autoscaler_v2 "
        "(remove the variable)",
        "19:7 maxReplicas is not set, so the autoscaler may start any number of workers (set maxReplicas)",
        '21:15 "a b" is no value of a label (up to 63 letters, digits, \'-\', \'_\' and \'.\'; begin and end with a '
        "letter or digit)",
        "22:17 the priority of a worker group needs Ray 2.56 or newer, and rayVersion is not written "
        '(write the version of the image: rayVersion: "2.56.0" or newer)',
        "23:40 restartPolicy is Always; with version 2 of the autoscaler it must be Never "
        "(leave it out: KubeRay sets Never)",
        "23:71 the Ray container asks for no memory (set requests or limits for memory)",
    ]  # fmt: skip


def test_an_error_of_every_version_of_kuberay_cannot_be_allowed_and_a_hazard_can() -> None:
    hazards = {code for _, code, _ in HAZARDS} | {
        "AutoscalerOwnsReplicas", "BudgetNotCounted", "FieldsOfV1", "NothingToScale", "TPUTopologyMismatch", "UnknownRayField",
    }  # fmt: skip
    assert {code for code in ray.CODES if CODES[code].severity is Severity.WARNING} == hazards
    assert {code for code in ray.CODES if CODES[code].allowable} == hazards | {
        "InvalidWorkerGroupName",
        "MissingCollectorImage",
        "RefusedPod",
        "UnknownVolume",
    }


def test_every_code_of_a_ray_cluster_spec_has_a_row() -> None:
    rows = {code for _, code, _ in (*REFUSED, *HAZARDS)} | {code for *_, expected in NAMES for code in expected}
    elsewhere = {
        "AutoscalerOwnsReplicas", "BudgetNotCounted", "FieldsOfV1", "InvalidAuthOptions", "NothingToScale", "TPUTopologyMismatch",
        "UnknownRayField",
    }  # fmt: skip
    assert ray.CODES.keys() - rows == elsewhere - rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.52.0", (2, 52)),
        ("2.9.0", (2, 9)),
        ("2.52.0-py311", (2, 52)),
        ("2.52", (2, 52)),
        ("v2.52.0", (2, 52)),
        (" 2.52.0 ", (2, 52)),
        ("3.0.0.dev0", (3, 0)),
        ("2.52rc1", (2, 52)),
        ("nightly", None),
        ("2", None),
        ("02.52.0", None),
        ("", None),
        ("٢.٥٢", None),
    ],
)
def test_a_ray_version_is_read_as_kuberay_reads_it(text: str, expected: tuple[int, int] | None) -> None:
    assert parsed(text) == expected


# bad input

KEYS = [
    "accessModes", "annotations", "authOptions", "autoscalerOptions", "backend", "claimName", "collectorOptions", "containers",
    "enableInTreeAutoscaling", "enableK8sTokenAuth", "enabled", "env", "gcsFaultToleranceOptions", "groupName", "head",
    "headGroupSpec", "historyServerOptions", "idleTimeoutSeconds", "image", "ingressRules", "jobTemplate", "labels",
    "limits", "maxReplicas", "metadata", "minReplicas", "mode", "mountPath", "name", "networkPolicy", "nodeSelector",
    "numOfHosts", "priority", "rayClusterConfig", "rayClusterSpec", "rayStartParams", "rayVersion", "redisAddress", "replicas",
    "requests", "resources", "restartPolicy", "secretName", "spec", "storage", "suspend", "template", "tlsOptions",
    "value", "valueFrom", "version", "volumeMounts", "volumes", "workerGroupSpecs", "workerGroups",
    "cloud.google.com/gke-tpu-topology", "google.com/tpu", "ray.io/ft-enabled", "redis-password", "num-cpus",
]  # fmt: skip
TEXTS = [
    "",
    "token",
    "v2",
    "rocksdb",
    "1",
    "true",
    "4x4",
    "RAY_USE_TLS",
    "STORAGE_BACKEND",
    "S3",
    "AZUREBLOB",
    "DenyAllEgress",
]
SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-10, 10) | st.sampled_from(TEXTS)
ANYTHING = st.recursive(
    SCALARS | st.text("aZ09-./_ é", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


@given(kind=st.sampled_from(KINDS), version=st.sampled_from(["v1", "v1alpha1", "v2"]), spec=ANYTHING)
def test_no_spec_breaks_a_rule(kind: str, version: str, spec: Any) -> None:
    for problem in found(nested(kind, spec, version)):
        assert problem.code in CODES


def everywhere(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for key, item in inner for below in everywhere(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copied = value.copy()
    copied[path[0]] = replaced(value[path[0]], path[1:], by)
    return copied


FULL = cluster(
    f"{{{V2}, {TLS}, networkPolicy: {{head: {DNS}, workerGroups: [{{groupName: gpu, {DNS[1:-1]}}}]}}, {history('STORAGE_BACKEND=S3', 'S3_REGION=eu')}, "
    "gcsFaultToleranceOptions: {backend: rocksdb, storage: {claimName: c}}, authOptions: {mode: token}, "
    "headGroupSpec: {labels: {a: b}, rayStartParams: {a: b}, resources: {CPU: '1'}, "
    "template: {spec: {volumes: [{name: v}], containers: [{env: [{name: A, value: b}], volumeMounts: [{name: v}]}]}}}, "
    "workerGroupSpecs: [{idleTimeoutSeconds: 1, numOfHosts: 2, "
    "template: {spec: {nodeSelector: {cloud.google.com/gke-tpu-topology: 2x4}, "
    "containers: [{resources: {limits: {google.com/tpu: '4'}}}]}}}]}"
)


def test_a_spec_that_uses_everything_is_sound() -> None:
    assert codes(nested("RayService", FULL)) == []


@given(kind=st.sampled_from(KINDS), path=st.sampled_from(everywhere(FULL)), junk=ANYTHING)
def test_no_value_breaks_a_rule_wherever_it_stands(kind: str, path: tuple[Any, ...], junk: Any) -> None:
    for problem in found(nested(kind, replaced(FULL, path, junk))):
        assert problem.code in CODES


@given(junk=ANYTHING)
def test_no_metadata_breaks_a_rule(junk: Any) -> None:
    value = nested("RayCluster", FULL)
    for broken in ({**value, "metadata": junk}, {**value, "kind": junk}, {**value, "apiVersion": junk}):
        data = json.dumps(broken).encode()
        for item in parse(data).documents:
            rules.check(Document("x.yaml", item, 0, lambda data=data: data))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("enableInTreeAutoscalling: true", "enableInTreeAutoscaling"),
        ("headGroupSpec: {rayStartParam: {}}", "rayStartParams"),
        ("workerGroupSpecs: [{replica: 4}]", "replicas"),
        ("workerGroupSpecs: [{numOfHost: 4}]", "numOfHosts"),
        ("autoscalerOptions: {idleTimeout: 60}", "idleTimeoutSeconds"),
        ("gcsFaultToleranceOptions: {redisAdress: redis}", "redisAddress"),
        ("authOptions: {secret: a}", "secretName"),
        ("headGroupSpec: {template: {spec: {containers: [{resources: {request: {cpu: 1}}}]}}}", "requests"),
        ("headGroupSpec: {template: {spec: {toleration: []}}}", "tolerations"),
        ("workerGroupSpecs: [{template: {spec: {containers: [{resource: {}}]}}}]", "resources"),
        ("workerGroupSpecs: [{template: {spec: {initContainers: [{name: a, image: i, commands: []}]}}}]", "command"),
    ],
)
def test_a_field_that_no_ray_kind_has_is_named_with_the_one_that_is_meant(change: str, hint: str, kind: str) -> None:
    [problem] = (p for p in found(nested(kind, cluster(change))) if p.code == "UnknownRayField")
    assert (problem.severity, problem.hint) == (Severity.WARNING, f'did you mean "{hint}"?')


WORKER = "workerGroupSpecs: [{{template: {{spec: {0}}}}}]"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (
            WORKER.format("{containers: [{nodeSelector: {a: b}}]}"),
            "it is a field of the pod: write it beside containers",
        ),
        (WORKER.format("{volumeMounts: []}"), "it is a field of a container"),
        ("workerGroupSpecs: [{template: {tolerations: []}}]", "write it in the spec of the template"),
        ("workerGroupSpecs: [{tolerations: []}]", "it is a field of the pod: write it in template.spec"),
        ("headGroupSpec: {nodeSelector: {a: b}}", "it is a field of the pod: write it in template.spec"),
        ("tolerations: []", "it is a field of pods: write it in template.spec of the head and of each group"),
        ("spec: {rayVersion: 2.9.0}", "what is in it stands here, without a spec around it"),
    ],
)
def test_a_field_in_the_wrong_place_is_told_where_it_belongs(change: str, hint: str, kind: str) -> None:
    [problem] = (p for p in found(nested(kind, cluster(change))) if p.code == "UnknownRayField")
    assert (problem.severity, problem.hint) == (Severity.WARNING, hint)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("beside", "hint"),
    [
        ("{metadata: {label: {a: b}}}", 'did you mean "labels"?'),
        ("{metadata: {annotation: {a: b}}}", 'did you mean "annotations"?'),
        ("{labels: {a: b}}", "it is a field of metadata: indent it below that"),
        ("{rayClusterConfig: {}}", "it is a field of spec: indent it below that"),
        ("{workerGroupSpecs: []}", "it is a field of spec: indent it below that"),
        ("{specs: {}}", 'did you mean "spec"?'),
        ("{x-env: [{name: A, value: b}]}", "known here: apiVersion, kind, metadata, spec, status"),
    ],
)
def test_a_field_beside_the_spec_or_in_the_metadata_is_told_too(beside: str, hint: str, kind: str) -> None:
    value = merged(nested(kind, cluster()), yaml.safe_load(beside))
    [problem] = (p for p in found(value) if p.code == "UnknownRayField")
    assert (problem.severity, problem.hint) == (Severity.WARNING, hint)


def test_every_field_that_kubernetes_has_of_metadata_is_known() -> None:
    value = nested("RayCluster", cluster(), **dict.fromkeys(V1ObjectMeta.attribute_map.values()))
    assert "UnknownRayField" not in codes({**value, "status": {}})


def test_every_field_that_kubernetes_has_of_pods_and_containers_is_known() -> None:
    """Held against the models of the Kubernetes client, which are made of the API's own description."""
    value = nested("RayCluster", cluster())
    spec = value["spec"]["headGroupSpec"]["template"]["spec"]
    [container] = spec["containers"]
    spec |= dict.fromkeys(set(V1PodSpec.attribute_map.values()) - spec.keys())
    container |= dict.fromkeys(set(V1Container.attribute_map.values()) - container.keys())
    assert {"tolerations", "initContainers"} <= spec.keys() and "volumeMounts" in container
    assert "UnknownRayField" not in codes(value)


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("RayJob", "write ttlSecondsAfterFinished beside rayClusterSpec"),
        ("RayCronJob", "write ttlSecondsAfterFinished beside rayClusterSpec"),
        ("RayCluster", "remove it: only a RayJob has such a field (ttlSecondsAfterFinished)"),
        ("RayService", "remove it: only a RayJob has such a field (ttlSecondsAfterFinished)"),
    ],
)
@pytest.mark.parametrize("field", ["ttlSeconds", "ttlSecondsAfterFinished"])
def test_after_how_long_something_is_deleted_is_not_for_a_ray_cluster_to_say(kind: str, hint: str, field: str) -> None:
    [problem] = (p for p in found(nested(kind, cluster(f"{field}: 60"))) if p.code == "UnknownRayField")
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("kind", "field", "below", "meant"),
    [
        ("RayService", "upgradeStrategy", {"types": "NewCluster"}, "type"),
        ("RayService", "upgradeStrategy", {"type": "NewCluster", "clusterUpgradeOption": {}}, "clusterUpgradeOptions"),
        ("RayJob", "submitterConfig", {"backoffLimits": 1}, "backoffLimit"),
        ("RayJob", "deletionStrategy", {"deletionRule": []}, "deletionRules"),
    ],
)
def test_what_is_below_a_field_of_a_job_or_a_service_is_looked_at(
    kind: str, field: str, below: dict[str, Any], meant: str
) -> None:
    value = nested(kind, cluster())
    value["spec"][field] = below
    [problem] = (p for p in found(value) if p.code == "UnknownRayField")
    assert problem.hint == f'did you mean "{meant}"?'


def test_a_job_that_says_it_by_another_name_is_told_the_right_one() -> None:
    value = nested("RayJob", cluster())
    value["spec"]["ttlSeconds"] = 60
    [problem] = (p for p in found(value) if p.code == "UnknownRayField")
    assert problem.hint == 'did you mean "ttlSecondsAfterFinished"?'


@pytest.mark.parametrize(
    ("kind", "field"),
    [("RayJob", "shutdownAfterJobFinish"), ("RayService", "serveConfig"), ("RayCronJob", "concurrencyPolicy")],
)
def test_the_spec_around_a_ray_cluster_has_fields_of_its_own(kind: str, field: str) -> None:
    value = nested(kind, cluster())
    value["spec"][field] = "x"
    assert codes(value) == ["UnknownRayField"]


@pytest.mark.parametrize(
    ("kind", "change", "meant"),
    [
        ("RayJob", {"runtimeEnv": "e30="}, "runtimeEnvYAML"),  # of KubeRay before 1.0, base64
        ("RayService", {"serveConfig": {"importPath": "a.b"}}, "serveConfigV2"),
        ("RayCluster", {"rayVersions": "2.9.0"}, "rayVersion"),
    ],
)
def test_a_field_that_v1alpha1_has_no_more_is_named_too(kind: str, change: dict[str, Any], meant: str) -> None:
    value = nested(kind, cluster(), "v1alpha1")
    value["spec"] |= change
    [problem] = (p for p in found(value) if p.code == "UnknownRayField")
    assert problem.hint == f'did you mean "{meant}"?'


def test_the_replicas_that_a_head_of_v1alpha1_once_had_cost_nothing() -> None:
    assert "UnknownRayField" not in codes(nested("RayCluster", cluster("headGroupSpec: {replicas: 1}"), "v1alpha1"))
    assert "UnknownRayField" in codes(nested("RayCluster", cluster("workerGroupSpecs: [{replica: 1}]"), "v1alpha1"))

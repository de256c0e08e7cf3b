"""
Workers of a Ray cluster that run on another cluster than its head: a Deployment for each worker group, and the Service by
which they find the head.

KubeRay makes a head for every RayCluster, so there is no RayCluster of workers alone; what runs elsewhere has to be
something else. It is a Deployment and no StatefulSet: a worker has no identity that outlives it and no storage of its own,
and a worker that goes should be replaced at once. The pods are those that KubeRay makes of the group's template, with these
differences:

- They lack the label `ray.io/cluster`, by which KubeRay finds pods: no operator, at home or here, takes them for its own.
- They lack RAY_CLOUD_INSTANCE_ID, by which Ray's autoscaler finds the machines that it manages. A node without one it leaves
  alone; one with a name that its Kubernetes does not know it would try to remove.
- They always wait for the head in an init container, and always restart.
- They never run beside their replacement (`maxSurge: 0`), so that an edit needs no more room than there is.

Source: KubeRay's ray-operator/controllers/ray/common/pod.go (DefaultWorkerPodTemplate, BuildPod, setContainerEnvVars);
Ray's autoscaler/v2/instance_manager/reconciler.py for the instance id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from gitplacer.workloads.facts import at
from gitplacer.workloads.headaddress import GLOBAL, SHARED, SPEC, HeadAddress
from gitplacer.workloads.raystart import AGENT_PORT, METRICS_PORT, ray_start

MANAGED_BY = {"app.kubernetes.io/managed-by": "gitplacer"}
WORKERS = "gitplacer.dev/remote-workers"
"""The label by which a Deployment knows its pods: its own name."""
NO_POD = "gitplacer.dev/head-elsewhere"
"""The label that the mirrored Service selects, and that no pod has."""
OVERWRITE = "ray.io/overwrite-container-cmd"
AUTH_TOKEN_KEY = "auth_token"

_SHELL = ["/bin/bash", "-c", "--"]
_NOT_IN_A_DEPLOYMENT = ("restartPolicy",)
_LONGEST = 52
"""Of a Deployment's name, so that those of its pods are host names."""


def workers_name(owner: str, group: str) -> str:
    """The name of a group's Deployment: readable where it can be, and one of its own where it has to be cut."""
    plain = f"{owner}-{group}-remote"
    name = re.sub(r"[^a-z0-9-]", "-", plain.lower()).strip("-")
    if name == plain and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(plain.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST - 9].strip('-')}-{digest}"


def deployment(
    value: Mapping[str, Any], index: int, count: int, head: HeadAddress, pod_labels: Mapping[str, str]
) -> dict[str, Any]:
    """
    `count` workers of a group of a Ray object, as they run where the head is not. `pod_labels` are what the cluster puts on
    pods.
    """
    spec = at(value, SPEC[str(value["kind"])])
    group = at(spec, ("workerGroupSpecs", index))
    owner, name = str(at(value, ("metadata", "name"))), str(group.get("groupName"))
    called = workers_name(owner, name)
    template = group.get("template") or {}
    labels = {**_mapping(at(template, ("metadata", "labels"))), **_mapping(group.get("labels")), **pod_labels}
    for ours in ("ray.io/cluster", "ray.io/identifier"):
        labels.pop(ours, None)
    labels |= {"ray.io/group": name, "ray.io/is-ray-node": "yes", "ray.io/node-type": "worker", WORKERS: called}
    metadata: dict[str, Any] = {"labels": labels}
    if annotations := _mapping(at(template, ("metadata", "annotations"))):
        metadata["annotations"] = annotations
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": called, "namespace": head.namespace, "labels": MANAGED_BY},
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": {WORKERS: called}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {"metadata": metadata, "spec": _pod(value, spec, group, head)},
        },
    }


def mirrored_service(head: HeadAddress) -> dict[str, Any]:
    """
    The head's Service on a cluster where the head is not: of the same name and namespace, as Cilium asks, with no pods of
    its own, and sharing none.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": head.service,
            "namespace": head.namespace,
            "labels": MANAGED_BY,
            "annotations": {GLOBAL: "true", SHARED: "false"},
        },
        "spec": {
            "type": "ClusterIP",
            "selector": {NO_POD: head.service},
            "ports": [{"name": name, "port": number, "protocol": "TCP"} for name, number in head.ports],
        },
    }


def _pod(value: Mapping[str, Any], spec: Any, group: Mapping[str, Any], head: HeadAddress) -> dict[str, Any]:
    pod = {k: v for k, v in _mapping(at(group, ("template", "spec"))).items() if k not in _NOT_IN_A_DEPLOYMENT}
    first, *others = [dict(item) for item in pod.get("containers") or [{}] if isinstance(item, Mapping)]
    start = ray_start(group, head.address)
    waiting = _waiting(first, head)
    inits = [dict(item) for item in pod.get("initContainers") or [] if isinstance(item, Mapping)]
    for init in (*inits, waiting):
        init["env"] = [*_env(init), *_where(head)]
    auth = _auth(spec)
    waiting["env"] = _with(waiting["env"], auth)
    first |= _command(value, group, first, start)
    first["env"] = _with([*_env(first), *_where(head), *_always(value, group, start)], _unless_set(value, spec, head))
    first["env"] = _with(first["env"], auth)
    if not any(item.get("name") == "metrics" for item in first.get("ports") or []):
        metrics = {"name": "metrics", "containerPort": METRICS_PORT}
        first["ports"] = [*(first.get("ports") or []), metrics]
    if not any(item.get("mountPath") == "/dev/shm" for item in first.get("volumeMounts") or []):
        first["volumeMounts"] = [*(first.get("volumeMounts") or []), {"name": "shared-mem", "mountPath": "/dev/shm"}]
        if not any(item.get("name") == "shared-mem" for item in pod.get("volumes") or []):
            pod["volumes"] = [*(pod.get("volumes") or []), {"name": "shared-mem", "emptyDir": _in_memory(first)}]
    for probe, every in (("livenessProbe", {"initialDelaySeconds": 30, "failureThreshold": 120}),
                         ("readinessProbe", {"initialDelaySeconds": 10, "failureThreshold": 10})):  # fmt: skip
        first.setdefault(probe, _probe(group) | every)
    return {**pod, "initContainers": [*inits, waiting], "containers": [first, *others]}


def _waiting(container: Mapping[str, Any], head: HeadAddress) -> dict[str, Any]:
    """The init container that waits for the GCS; with the environment and mounts of its worker, by which TLS is set up."""
    copied = ("image", "imagePullPolicy", "securityContext", "volumeMounts")
    script = (
        f"until ray health-check --address {head.address} > /dev/null 2>&1; do "
        f'echo "waiting for the Ray head at {head.address}"; sleep 5; done'
    )
    size = {"cpu": "200m", "memory": "256Mi"}
    return {
        "name": "wait-gcs-ready",
        **{key: container[key] for key in copied if key in container},
        "command": _SHELL,
        "args": [script],
        "env": _env(container),
        "resources": {"limits": size, "requests": size},
    }


def _command(value: Mapping[str, Any], group: Mapping[str, Any], container: Mapping[str, Any], start: str) -> Any:
    """What the container runs: its own command before `ray start`, or in its place where it starts Ray itself."""
    marks = _mapping(at(value, ("metadata", "annotations"))) | _mapping(
        at(group, ("template", "metadata", "annotations"))
    )
    own = " ".join(str(word) for key in ("command", "args") for word in container.get(key) or [])
    if str(marks.get(OVERWRITE)).lower() == "true" or "ray start" in own:
        return {}
    line = f"ulimit -n 65536; {start}"
    return {"command": _SHELL, "args": [f"{own} && {line}" if own else line]}


def _where(head: HeadAddress) -> list[dict[str, Any]]:
    return [{"name": "FQ_RAY_IP", "value": head.host}, {"name": "RAY_IP", "value": head.service}]


def _always(value: Mapping[str, Any], group: Mapping[str, Any], start: str) -> list[dict[str, Any]]:
    """Variables that KubeRay sets whatever the template says."""
    return [
        {"name": "RAY_CLUSTER_NAME", "value": str(at(value, ("metadata", "name")))},
        {"name": "RAY_CLUSTER_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "RAY_NODE_TYPE_NAME", "value": str(group.get("groupName"))},
        {"name": "KUBERAY_GEN_RAY_START_CMD", "value": start},
    ]


def _unless_set(value: Mapping[str, Any], spec: Any, head: HeadAddress) -> list[dict[str, Any]]:
    """Variables that KubeRay sets where the template does not."""
    found = {"RAY_PORT": head.gcs, "RAY_ADDRESS": head.address}
    if value["kind"] == "RayService":
        found |= {
            "RAY_timeout_ms_task_wait_for_death_info": "0",
            "RAY_gcs_server_request_timeout_seconds": "5",
            "RAY_SERVE_KV_TIMEOUT_S": "5",
        }
    marks = _mapping(at(value, ("metadata", "annotations")))
    if "gcsFaultToleranceOptions" in spec or str(marks.get("ray.io/ft-enabled")).lower() == "true":
        found["RAY_gcs_rpc_server_reconnect_timeout_s"] = "600"
    found |= {"RAY_USAGE_STATS_KUBERAY_IN_USE": "1", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE": "1"}
    return [{"name": name, "value": text} for name, text in found.items()]


def _auth(spec: Any) -> list[dict[str, Any]]:
    """The token of a Ray cluster that asks for one, from the Secret that the manifest names."""
    secret = at(spec, ("authOptions", "secretName"))
    if at(spec, ("authOptions", "mode")) != "token" or not secret:
        return []
    key = {"secretKeyRef": {"name": secret, "key": AUTH_TOKEN_KEY}}
    return [{"name": "RAY_AUTH_MODE", "value": "token"}, {"name": "RAY_AUTH_TOKEN", "valueFrom": key}]


def _probe(group: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the raylet is well, which its agent knows."""
    written = at(group, ("rayStartParams", "dashboard-agent-listen-port"))
    port = int(written) if isinstance(written, str) and written.isdecimal() else AGENT_PORT
    return {"httpGet": {"path": "/api/local_raylet_healthz", "port": port}, "periodSeconds": 5, "timeoutSeconds": 2}


def _in_memory(container: Mapping[str, Any]) -> dict[str, Any]:
    resources = container.get("resources")
    size = at(resources, ("limits", "memory")) or at(resources, ("requests", "memory"))
    return {"medium": "Memory", **({"sizeLimit": size} if size else {})}


def _env(container: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(item) for item in container.get("env") or [] if isinstance(item, Mapping)]


def _with(env: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Variables with others of names that are not there."""
    known = {item.get("name") for item in env}
    return [*env, *(item for item in more if item["name"] not in known)]


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}

"""Objects of a live cluster in a few words, as an API server would give them. Those of Kubernetes' own kinds pass its schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.apistandin import Json

WHEN = "2026-01-02T03:00:00Z"
OLD_SECRET_WORDS = "customer-77 wrote: the quick brown fox"
"""Stands in messages and annotations, and must not be in a snapshot."""


def thing(api: str, kind: str, name: str, namespace: str = "", *, owner: Json | None = None, **fields: Any) -> Json:
    """An object. `owner` is one that controls it; `labels` and `generation` go to its metadata."""
    metadata: Json = {"name": name, "uid": f"uid-of-{kind}-{namespace}-{name}", "creationTimestamp": WHEN}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {
        key: fields.pop(key) for key in ("labels", "annotations", "generation", "deletionTimestamp") if key in fields
    }
    if owner is not None:
        metadata["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def node(
    name: str,
    *,
    ready: str = "True",
    taints: Sequence[Json] = (),
    offers: Mapping[str, str] | None = None,
    **labels: str,
) -> Json:
    offered = {"cpu": "7910m", "memory": "30Gi", "pods": "58", **(offers or {})}
    return thing(
        "v1", "Node", name,
        labels={"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": "m5.2xlarge", **labels},
        spec={"taints": list(taints)} if taints else {},
        status={
            "allocatable": offered, "capacity": offered,
            "conditions": [{"type": "Ready", "status": ready, "message": OLD_SECRET_WORDS}],
        },
    )  # fmt: skip


def pod(
    name: str, namespace: str = "default", *, on: str = "", owner: Json | None = None, cpu: str = "500m", phase: str = "",
    why: str = "", labels: Mapping[str, str] | None = None, requests: Mapping[str, str] | None = None, **spec: Any,
) -> Json:  # fmt: skip
    """A pod on a node; without one it is pending, and `why` is what the scheduler said of it."""
    conditions: list[Json] = [{"type": "PodScheduled", "status": "True"}]
    if not on:
        conditions = [
            {
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": WHEN,
                "message": why or OLD_SECRET_WORDS,
            }
        ]  # fmt: skip
    containers = spec.pop("containers", None) or [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "256Mi", **(requests or {})}}}
    ]
    return thing(
        "v1", "Pod", name, namespace, owner=owner, labels=dict(labels or {}), annotations={"note": OLD_SECRET_WORDS},
        spec={"containers": containers, **({"nodeName": on} if on else {}), **spec},
        status={"phase": phase or ("Running" if on else "Pending"), "conditions": conditions},
    )  # fmt: skip


def ray_pod(cluster: Json, name: str, kind: str, group: str = "headgroup", **fields: Any) -> Json:
    """A pod of a Ray cluster, with the labels that KubeRay gives it."""
    labels = {"ray.io/cluster": cluster["metadata"]["name"], "ray.io/node-type": kind, "ray.io/group": group}
    return pod(name, cluster["metadata"]["namespace"], owner=cluster, labels=labels, **fields)


def ray(kind: str, name: str, namespace: str = "ray", *, owner: Json | None = None, **fields: Any) -> Json:
    return thing("ray.io/v1", kind, name, namespace, owner=owner, **{"spec": {}, **fields})


def namespace(name: str, **labels: str) -> Json:
    return thing("v1", "Namespace", name, labels={"kubernetes.io/metadata.name": name, **labels})


def sentinel(unit: str, cluster: str, epoch: int, system: str = "gitplacer") -> Json:
    data = {"cluster": cluster, "unit": unit, "epoch": str(epoch)}
    return thing("v1", "ConfigMap", f"gitplacer-{unit}", system, data=data)


def operator(
    image: str = "quay.io/kuberay/operator:v1.4.2",
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """The Deployment of KubeRay, as its Helm chart makes it."""
    labels = {"app.kubernetes.io/name": "kuberay-operator", "app.kubernetes.io/component": "kuberay-operator"}
    container: Json = {"name": "kuberay-operator", "image": image, "command": ["/manager"], "args": list(args)}
    container["env"] = [{"name": key, "value": value} for key, value in (env or {}).items()]
    container |= {"volumeMounts": spec.pop("volumeMounts")} if "volumeMounts" in spec else {}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    return thing(
        "apps/v1", "Deployment", "kuberay-operator", "ray-system", labels=labels,
        spec={"selector": {"matchLabels": labels}, "template": template},
    )  # fmt: skip


def small() -> dict[tuple[str, str], list[Json]]:
    """
    A cluster that gitplacer knows: a RayJob with a head, a worker and a pending one, a RayService, a Deployment of its own; somebody else's pods,
    and what there is besides.
    """
    job, service = ray("RayJob", "train", status={"jobDeploymentStatus": "Initializing"}), ray(
        "RayService", "chat", generation=3,
        status={"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "True"}]},
    )  # fmt: skip
    job_cluster, service_cluster = (
        ray("RayCluster", "train-x7k2p", owner=job),
        ray("RayCluster", "chat-abc12", owner=service),
    )
    submitter = thing(
        "batch/v1", "Job", "train", "ray", owner=job, spec={"template": {"spec": {"containers": [{"name": "c"}]}}}
    )
    web = thing(
        "apps/v1", "Deployment", "web", "ray", generation=2,
        spec={"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}},
        status={"observedGeneration": 2, "availableReplicas": 1},
    )  # fmt: skip
    web_set = thing(
        "apps/v1", "ReplicaSet", "web-5d4f", "ray", owner=web, spec={"selector": {"matchLabels": {"app": "web"}}}
    )
    others = thing("apps/v1", "ReplicaSet", "cache-77", "tools", spec={"selector": {"matchLabels": {"app": "cache"}}})
    agent = thing(
        "apps/v1",
        "DaemonSet",
        "agent",
        "kube-system",
        spec={
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {}, "spec": {"containers": [{"name": "c"}]}},
        },
    )
    gpus = {"nvidia.com/gpu": "1"}
    names = ["gpu-1", "gpu-2", *(f"cpu-{n}" for n in range(1, 6))]
    short = "0/7 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: true}, 5 Insufficient nvidia.com/gpu. preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling."
    return {
        ("", "nodes"): [
            *(node(f"gpu-{n}", offers=gpus, taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]) for n in (1, 2)),
            *(node(f"cpu-{n}") for n in range(1, 6)),
        ],
        ("", "pods"): [
            ray_pod(job_cluster, "train-x7k2p-head", "head", on="cpu-1", cpu="2"),
            ray_pod(job_cluster, "train-x7k2p-w-1", "worker", "gpus", on="gpu-1", requests=gpus),
            ray_pod(job_cluster, "train-x7k2p-w-2", "worker", "gpus", why=short, requests=gpus),
            pod("train-9zz", "ray", owner=submitter, on="cpu-2"),
            ray_pod(service_cluster, "chat-abc12-head", "head", on="cpu-2"),
            pod("web-5d4f-1", "ray", owner=web_set, on="cpu-3", labels={"pod-template-hash": "5d4f"}),
            *(pod(f"agent-{name}", "kube-system", owner=agent, on=name, cpu="100m") for name in names),
            pod("cache-77-1", "tools", owner=others, on="cpu-4", labels={"app": "cache"}),
            pod("done", "tools", on="cpu-5", phase="Succeeded"),
            pod("waits", "tools"),
        ],
        ("", "namespaces"): [namespace(name) for name in ("default", "kube-system")] + [namespace("ray", team="ml"), namespace("tools")],
        ("", "configmaps"): [sentinel("platform", "static-cluster", 12), sentinel("workloads", "static-cluster", 40)],
        ("ray.io", "rayjobs"): [job],
        ("ray.io", "rayservices"): [service],
        ("ray.io", "rayclusters"): [job_cluster, service_cluster],
        ("ray.io", "raycronjobs"): [],
        ("apps", "deployments"): [web, operator(args=["--feature-gates=RayCronJob=true", "--batch-scheduler=volcano"])],
        ("apps", "replicasets"): [web_set, others],
        ("apps", "daemonsets"): [agent],
        ("batch", "jobs"): [submitter],
    }  # fmt: skip


MEMBERS = (
    ("ray.io", "RayJob", "ray", "train", "ray/training"),
    ("ray.io", "RayService", "ray", "chat", "ray/chat"),
    ("apps", "Deployment", "ray", "web", "ray/web"),
)
"""What records say of `small`: (API group, kind, namespace, name, group)."""

"""Small core/v1 objects for the tests of the scheduler's rules, and questions about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitplacer.scheduler import Answer, judge, read_cluster, read_pod
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.site import Site

Json = dict[str, Any]
GI = 1 << 30


def node(name: str, cpu: str = "8", memory: str = "32Gi", pods: str = "110", **more: Any) -> Json:
    """A ready node. `labels`, `taints` and `unschedulable` go where they belong, further resources into allocatable."""
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    spec = {key: more.pop(key) for key in ("taints", "unschedulable") if key in more}
    ready = more.pop("ready", "True")
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **more.pop("resources", {})}
    assert not more
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {k: v for k, v in allocatable.items() if v}, "conditions": conditions},
    }


def pod(name: str, cpu: str = "1", memory: str = "1Gi", *, on: str = "", **more: Any) -> Json:
    """A pod with one container. `labels`, `namespace`, `requests`, `ports`, `status` go where they belong, the rest into its spec."""
    metadata = {"name": name, "labels": more.pop("labels", {}), "namespace": more.pop("namespace", "ray")}
    if more.pop("terminating", False):
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    requests = {k: v for k, v in {"cpu": cpu, "memory": memory, **more.pop("requests", {})}.items() if v}
    container: Json = {"name": "main", "resources": {"requests": requests}}
    if "ports" in more:
        container["ports"] = more.pop("ports")
    status = more.pop("status", {})
    spec = {"containers": [container], **more}
    if on:
        spec["nodeName"] = on
    return {"metadata": metadata, "spec": spec, "status": status}


def pods(count: int, name: str = "w", **more: Any) -> list[Json]:
    return [pod(f"{name}-{i:02}", **more) for i in range(count)]


def board(
    nodes: Sequence[Json], gang: Sequence[Json], existing: Sequence[Json] = (), namespaces: Sequence[Json] = ()
) -> Board:
    return Board(Site(read_cluster(list(nodes), list(existing), list(namespaces))), [read_pod(p) for p in gang])


def open_to(
    nodes: Sequence[Json], candidate: Json, existing: Sequence[Json] = (), namespaces: Sequence[Json] = ()
) -> set[str]:
    """The names of the nodes that pass every filter for a pod."""
    found = board(nodes, [candidate], existing, namespaces)
    allowed = found.bound().allows(0)
    return {each.name for each, fine in zip(found.nodes, allowed, strict=True) if fine}


def fit(
    nodes: Sequence[Json], gang: Sequence[Json], existing: Sequence[Json] = (), namespaces: Sequence[Json] = ()
) -> Answer:
    return judge(read_cluster(list(nodes), list(existing), list(namespaces)), [read_pod(p) for p in gang])


def node_affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def pod_rule(kind: str, labels: Mapping[str, str] | None, key: str = "zone", **more: Any) -> Json:
    """Required pod affinity (`podAffinity`) or anti-affinity; `labels` None is a null selector."""
    term = {"topologyKey": key, **({} if labels is None else {"labelSelector": {"matchLabels": dict(labels)}}), **more}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(labels: Mapping[str, str] | None, key: str = "zone", skew: int = 1, **more: Any) -> Json:
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        **({} if labels is None else {"labelSelector": {"matchLabels": dict(labels)}}),
        **more,
    }

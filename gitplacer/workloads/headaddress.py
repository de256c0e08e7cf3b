"""
Where the head of a Ray cluster is found from another cluster of its mesh, or why it is not.

Cilium joins Services of one name and namespace that are marked `service.cilium.io/global: "true"` on both sides; a remote
worker then finds the head by the name it has at home. That takes a Service whose name is known before anything runs,
that is marked, and that has an address of its own: a headless one is only answered by DNS, which Cilium fills across
clusters by a feature that is off as a rule. Which Services there are:

- A RayCluster has `<name>-head-svc`, or what `headService` names. `headServiceAnnotations` mark it.
- The Ray cluster of a RayJob or RayService is named at random, and so is its Service. A RayJob may fix the name by
  `headService.metadata.name`; a RayService may not. It has a Service `<name>-head-svc` of its own, which only
  `headService` marks, and which KubeRay makes when all Serve applications run: too late for workers they wait for,
  early enough for workers that come to a service that runs.
- The manifest may bring a Service of its own that selects the head, whatever the kind.

KubeRay makes the head's Service headless unless its type or `headService` says otherwise, or its operator was started
with ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE. Source: ray-operator/controllers/ray/common/service.go, utils/util.go
(GenerateHeadServiceName, CheckName), rayservice_controller.go; Cilium's documentation of global services.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from gitplacer.documents import Path
from gitplacer.model.labels import Labels
from gitplacer.workloads.facts import at
from gitplacer.workloads.madeservices import shortened
from gitplacer.workloads.raystart import head_port

GLOBAL = "service.cilium.io/global"
SHARED = "service.cilium.io/shared"
_OLD_GLOBAL = "io.cilium/global-service"
SPEC: Mapping[str, Path] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
"""Where the Ray cluster spec stands in each kind that has one Ray cluster."""


class Missing(Struct, frozen=True):
    """Something that an app lacks to be spanned, by its problem code, in words, with the remedy and its place."""

    code: str
    message: str
    hint: str
    path: Path = ("metadata", "name")


class HeadAddress(Struct, frozen=True):
    """
    The Service that leads to a head, its ports (name to number) and the GCS's number among them. `late`: it is there only
    when the app runs. `own`: the group brings it, so that it needs no operator that makes one.
    """

    service: str
    namespace: str
    ports: tuple[tuple[str, int], ...]
    gcs: str
    late: bool = False
    own: bool = False

    @property
    def host(self) -> str:
        return f"{self.service}.{self.namespace}.svc.cluster.local"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.gcs}"


def head_address(
    value: Mapping[str, Any],
    namespace: str,
    pods: Mapping[str, Labels],
    services: Iterable[Mapping[str, Any]],
    *,
    cluster_ip: bool = False,
) -> HeadAddress | Missing:
    """
    The address of the head of a Ray object. `pods` are the labels that pods of each role of the group are known to have,
    `services` the Services beside it, and `cluster_ip` tells that the operator at home gives head Services an address.
    """
    kind, spec = str(value.get("kind")), at(value, SPEC[str(value.get("kind"))])
    head = at(spec, ("headGroupSpec",)) or {}
    port = head_port(head)
    for service in services:
        is_global = _is_global(at(service, ("metadata", "annotations")))
        if is_global and at(service, ("spec", "clusterIP")) != "None" and _leads_to(service, pods, port):
            ports = _service_ports(service)
            number = next(str(p["port"]) for p in at(service, ("spec", "ports")) if _target(p) == port)
            return HeadAddress(str(at(service, ("metadata", "name"))), namespace, ports, number, own=True)
    return _kuberays(value, kind, head, at(spec, ("headServiceAnnotations",)), namespace, port, cluster_ip)


def _kuberays(
    value: Mapping[str, Any], kind: str, head: Any, annotations: Any, namespace: str, port: str, cluster_ip: bool
) -> HeadAddress | Missing:
    """The Service that KubeRay makes."""
    path: Path = (*SPEC[kind], "headGroupSpec")
    own = at(head, ("headService",))
    chosen = at(own, ("metadata", "name"))
    if kind == "RayJob" and not chosen:
        return Missing(
            "HeadNameUnknown",
            "KubeRay makes up the name of a RayJob's Ray cluster, so nobody knows the name of the head's Service",
            f"set headService.metadata.name with the annotation {GLOBAL}, or bring a Service that selects the head pod",
            path,
        )
    marks = at(own, ("metadata", "annotations"))
    if not _is_global(marks) and (kind == "RayService" or not _is_global(annotations)):
        where = "headGroupSpec.headService.metadata.annotations" if kind == "RayService" else "headServiceAnnotations"
        return Missing(
            "HeadNotGlobal",
            f"the Service of its head is not global, so that other clusters of the mesh cannot find it by {GLOBAL}",
            f'set {GLOBAL}: "true" in {where}, from the start: in a running RayService it makes a second Ray cluster',
            path,
        )
    service_type = at(own, ("spec", "type")) or head.get("serviceType")
    headless = own is None and not cluster_ip and service_type in (None, "", "ClusterIP")
    if headless or at(own, ("spec", "clusterIP")) == "None":
        return Missing(
            "HeadHeadless",
            "KubeRay makes the Service of its head headless, and Cilium joins Services by their addresses",
            "give the head a headService or serviceType: NodePort, or start KubeRay with "
            "ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE=true and say so in spec.profile.kuberay.headClusterIPService of the Cluster",
            path,
        )
    name = chosen if kind != "RayService" and isinstance(chosen, str) else shortened(f"{_name(value)}-head-svc")
    return HeadAddress(name, namespace, _head_ports(head, own), port, late=kind == "RayService")


def _name(value: Mapping[str, Any]) -> str:
    return str(at(value, ("metadata", "name")))


def _is_global(annotations: Any) -> bool:
    marks = annotations if isinstance(annotations, Mapping) else {}
    return (marks.get(GLOBAL) or marks.get(_OLD_GLOBAL)) == "true" and marks.get(SHARED) != "false"


def _leads_to(service: Mapping[str, Any], pods: Mapping[str, Labels], port: str) -> bool:
    """Whether a Service selects the head and no other pod of the group, and has a port that leads to one of its own."""
    selector = at(service, ("spec", "selector"))
    if not isinstance(selector, Mapping) or not selector:
        return False
    ports = at(service, ("spec", "ports"))
    leads = any(_target(item) == port for item in ports if isinstance(item, Mapping)) if ports else False
    return leads and {role for role, labels in pods.items() if selector.items() <= labels.items()} == {"head"}


def _target(port: Mapping[str, Any]) -> str:
    """The number a port of a Service leads to; one that goes by name is taken for its own."""
    target = port.get("targetPort")
    return str(target if isinstance(target, int) or str(target).isdecimal() else port.get("port"))


def _service_ports(service: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    items = [item for item in at(service, ("spec", "ports")) if isinstance(item, Mapping)]
    found = ((str(item.get("name") or f"port-{item.get('port')}"), item.get("port")) for item in items)
    return tuple(sorted((name, number) for name, number in found if isinstance(number, int)))


_USUAL_PORTS = {"client": 10001, "dashboard": 8265, "gcs-server": 6379, "metrics": 8080, "serve": 8000}


def _head_ports(head: Any, own: Any) -> tuple[tuple[str, int], ...]:
    """The ports that KubeRay gives the head's Service: those of the container, or the usual ones, and those written."""
    written = at(head, ("template", "spec", "containers", 0, "ports"))
    items = [item for item in written if isinstance(item, Mapping)] if isinstance(written, list) else []
    ports = {str(i.get("name") or f"{i.get('containerPort')}-port"): i.get("containerPort") for i in items}
    found = {name: number for name, number in ports.items() if isinstance(number, int)} or dict(_USUAL_PORTS)
    found.setdefault("metrics", _USUAL_PORTS["metrics"])
    extra = at(own, ("spec", "ports"))
    for item in extra if isinstance(extra, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("port"), int):
            found.setdefault(str(item.get("name") or f"port-{item['port']}"), item["port"])
    return tuple(sorted(found.items()))

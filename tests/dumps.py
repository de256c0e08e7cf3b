"""A cluster as a dump and manifests beside it, in a few words, and what `gitplacer fit` makes of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gitplacer.problems import Severity
from gitplacer.scheduler.dump import Judged, Manifest, judge_manifests, read_dump
from gitplacer.sizing import sizes

Json = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"


def thing(kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    """An object; `labels` and `annotations` go to its metadata, `deleted` too."""
    metadata: Json = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {key: fields.pop(key) for key in ("labels", "annotations", "creationTimestamp") if key in fields}
    if fields.pop("deleted", False):
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def machine(name: str, zone: str = "a", cpu: str = "8", **labels: str) -> Json:
    labels = {"kubernetes.io/hostname": name, **({ZONE: zone} if zone else {}), **labels}
    return thing("Node", name, labels=labels, status={"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}})


def term(key: str, *values: str, operator: str = "In") -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def volume(
    name: str, *terms: Json, storage: str = "10Gi", cls: str = "std", status: str = "Available", **more: Any
) -> Json:
    """A PersistentVolume with terms of node affinity; `labels` and `annotations` go to its metadata, `csi` and `claimRef` to its spec."""
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}} if terms else {}
    outside = {key: more.pop(key) for key in ("labels", "annotations", "deleted") if key in more}
    spec = {
        "capacity": {"storage": storage},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": cls,
        **affinity,
        **more,
    }
    return thing("PersistentVolume", name, spec=spec, status={"phase": status}, **outside)


def claim(
    name: str,
    *,
    bound: str = "",
    cls: str | None = "std",
    mode: str = "ReadWriteOnce",
    storage: str = "10Gi",
    **more: Any,
) -> Json:
    """A PersistentVolumeClaim of namespace ray."""
    outside = {key: more.pop(key) for key in ("annotations", "deleted") if key in more}
    if bound:
        outside["annotations"] = {**outside.get("annotations", {}), "pv.kubernetes.io/bind-completed": "yes"}
        more["volumeName"] = bound
    spec: Json = {"accessModes": [mode], "resources": {"requests": {"storage": storage}}, **more}
    if cls is not None:
        spec["storageClassName"] = cls
    return thing("PersistentVolumeClaim", name, "ray", spec=spec, **outside)


def storage_class(
    name: str = "std",
    *,
    delayed: bool = True,
    provisioner: str = "disk.csi",
    zones: Sequence[str] = (),
    default: bool = False,
    **more: Any,
) -> Json:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
    if default:
        more["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    mode = "WaitForFirstConsumer" if delayed else "Immediate"
    return thing(
        "StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, allowedTopologies=topologies, **more
    )


def csi_node(node: str, count: int | None = None, keys: Sequence[str] = (ZONE,), driver: str = "disk.csi") -> Json:
    item: Json = {"name": driver, "nodeID": node, "topologyKeys": list(keys)}
    if count is not None:
        item["allocatable"] = {"count": count}
    return thing("CSINode", node, spec={"drivers": [item]})


def csi_driver(name: str = "disk.csi", capacity: bool = True) -> Json:
    return thing("CSIDriver", name, spec={"storageCapacity": capacity})


def capacity(name: str, left: str | None, zone: str | None = None, cls: str = "std", **more: str) -> Json:
    """A CSIStorageCapacity of a zone, or of all nodes."""
    nodes = {"matchLabels": {ZONE: zone}} if zone else {}
    amounts = more if left is None else {"capacity": left, **more}
    return thing("CSIStorageCapacity", name, "kube-system", storageClassName=cls, nodeTopology=nodes, **amounts)


def pod_spec(*claims: str, cpu: str = "1", **more: Any) -> Json:
    """A spec with a volume of each claim."""
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    container = {
        "name": "main",
        "image": "x",
        "resources": more.pop("resources", {"requests": {"cpu": cpu, "memory": "1Gi"}}),
    }
    return {"containers": [container], **({"volumes": volumes} if volumes else {}), **more}


def a_pod(name: str, *claims: str, **more: Any) -> Json:
    outside = {key: more.pop(key) for key in ("labels", "status") if key in more}
    return thing("Pod", name, "ray", spec=pod_spec(*claims, **more), **outside)


def a_set(name: str, replicas: int, spec: Json, kind: str = "Deployment", **more: Any) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    value = thing(
        kind,
        name,
        "ray",
        spec={"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **more},
    )
    return {**value, "apiVersion": "apps/v1"}


def judged(
    manifests: Sequence[Mapping[str, Any]], objects: Sequence[Mapping[str, Any]], slice_topology: str = ""
) -> Judged:
    """What `gitplacer fit` says of manifests and a dump of these objects."""
    dump = read_dump({"items": list(objects)})
    found = sizes({f"{i}.json": json.dumps(value).encode() for i, value in enumerate(manifests)}, dump.around)
    assert not [p for p in found.problems if p.severity is Severity.ERROR], found.problems
    sized, beside = ([Manifest(each.document, each.facts) for each in some] for some in (found.objects, found.beside))
    return judge_manifests(dump, sized, beside, slice_topology)


def said(manifests: Sequence[Mapping[str, Any]], *objects: Mapping[str, Any]) -> str:
    """`Fits`, or the answer with its code."""
    answer = judged(manifests, objects).answer
    return str(answer.fit) if answer.fit.value == answer.why.code else f"{answer.fit} {answer.why.code}"


def where(manifests: Sequence[Mapping[str, Any]], *objects: Mapping[str, Any]) -> set[str]:
    """The nodes that a gang of one pod may be on: those to which it still goes when all others are full."""
    nodes = [item for item in objects if item["kind"] == "Node"]
    others = [item for item in objects if item["kind"] != "Node"]
    found = set()
    for node in nodes:
        name = node["metadata"]["name"]
        full = [a_pod(f"full-{n}", cpu="8", nodeName=n) for other in nodes if (n := other["metadata"]["name"]) != name]
        if judged(manifests, [*nodes, *others, *full]).answer.fit.value != "No":
            found.add(name)
    return found

"""What KubeRay gives the pods of a Ray cluster besides containers, as a scheduler sees it: a port, labels."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from gitplacer import workloads
from gitplacer.documents import Document, parse
from tests.dumps import Json, a_pod, machine, said

NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ray"}}
A, B = machine("a"), machine("b")
SHARED = "hostNetwork: true, "
CHOSEN = {"ray.io/cluster": "other"}


def template(pod: str = "", container: str = "") -> Json:
    """A pod template with more fields of its pod spec and of its first container."""
    resources = "resources: {limits: {cpu: 1, memory: 1Gi}}"
    found: Json = yaml.safe_load(f"spec: {{{pod}containers: [{{name: ray, image: x, {container}{resources}}}]}}")
    return found


def app(
    kind: str, head: Json, worker: Json, workers: int, name: str = "x", namespace: str = "ray", **more: Any
) -> Json:
    """A Ray object with one worker group; `more` goes to the spec around its Ray cluster."""
    group = {"groupName": "g", "replicas": workers, "template": worker}
    cluster = {"headGroupSpec": {"template": head}, "workerGroupSpecs": [group]}
    around = {
        "RayCluster": cluster,
        "RayService": {"rayClusterConfig": cluster},
        "RayJob": {"rayClusterSpec": cluster, **more},
        "RayCronJob": {"jobTemplate": {"rayClusterSpec": cluster, **more}},
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": around[kind]}


def facts(value: Json) -> workloads.ObjectFacts:
    data = json.dumps(value).encode()
    [document] = parse(data).documents
    found, problems = workloads.read(Document("x.yaml", document, 0, lambda: data))
    assert problems == []
    return found


KINDS = pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService", "RayCronJob"])


# -- the port of metrics ----------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("pod", "container", "ports"),
    [
        ("", "", []),
        ("hostNetwork: false, ", "", []),
        ("", "ports: [{containerPort: 9000, hostPort: 9000}], ", [9000]),
        (SHARED, "", [8080]),
        (SHARED, "ports: [], ", [8080]),
        (SHARED, "ports: [{name: gcs, containerPort: 6379}], ", [6379, 8080]),
        (SHARED, "ports: [{name: m, containerPort: 9000, hostPort: 9000}], ", [8080, 9000]),
        (SHARED, "ports: [{name: metrics, containerPort: 9090}], ", [9090]),  # as it is written
        (SHARED, "ports: [{name: metrics, containerPort: 9090, hostPort: 9090}], ", [9090]),
        (SHARED + "initContainers: [{name: i, ports: [{name: metrics, containerPort: 1}]}], ", "", [8080]),
        (
            SHARED + "initContainers: [{name: i, restartPolicy: Always, ports: [{name: metrics, containerPort: 1}]}], ",
            "",
            [1, 8080],
        ),
    ],
)
def test_on_the_hosts_network_the_port_that_kuberay_adds_is_one_of_the_node(
    kind: str, pod: str, container: str, ports: list[int]
) -> None:
    """KubeRay looks for the name `metrics` at the first container, and nowhere else."""
    made = template(pod, container)
    found = {pods.role: sorted(port.port for port in pods.shape.ports) for pods in facts(app(kind, made, made, 1)).gang}
    found.pop("submitter", None)
    assert found == {"head": ports, "worker/g": ports}


def test_a_second_container_with_a_port_of_metrics_is_not_the_ray_container() -> None:
    made = template(SHARED)
    made["spec"]["containers"].append({"name": "beside", "ports": [{"name": "metrics", "containerPort": 9000}]})
    [head, _] = facts(app("RayCluster", made, template(), 1)).gang
    assert sorted(port.port for port in head.shape.ports) == [8080, 9000]


def test_a_submitter_is_no_ray_pod() -> None:
    made = app("RayJob", template(), template(), 1, submitterPodTemplate=template(SHARED))
    assert [pods.shape.ports for pods in facts(made).gang] == [(), (), ()]
    chosen = app("RayJob", template(), template(), 1, submitterPodTemplate=template(SHARED), clusterSelector=CHOSEN)
    assert [pods.shape.ports for pods in facts(chosen).gang] == [()]


METRICS = "ports: [{name: metrics, containerPort: PORT}], "


@KINDS
@pytest.mark.parametrize(
    ("head", "worker", "workers", "answer"),
    [
        (("",), ("",), 4, "Fits"),
        (("",), (SHARED,), 2, "Fits"),
        (("",), (SHARED,), 3, "No HostPortTaken"),
        ((SHARED,), (SHARED,), 1, "Fits"),
        ((SHARED,), (SHARED,), 2, "No HostPortTaken"),
        ((SHARED,), ("",), 4, "Fits"),
        ((SHARED, METRICS.replace("PORT", "8081")), (SHARED,), 2, "Fits"),
        ((SHARED, METRICS.replace("PORT", "8080")), (SHARED,), 2, "No HostPortTaken"),
    ],
)
def test_ray_pods_on_the_hosts_network_share_no_node(
    kind: str, head: tuple[str, ...], worker: tuple[str, ...], workers: int, answer: str
) -> None:
    assert said([app(kind, template(*head), template(*worker), workers)], A, B, NAMESPACE) == answer


def test_a_node_whose_port_somebody_has_takes_no_ray_pod_on_its_network() -> None:
    taken = a_pod("exporter", nodeName="a")
    taken["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": 8080}]
    assert said([app("RayCluster", template(), template(SHARED), 1)], A, NAMESPACE, taken) == "No HostPortTaken"
    assert said([app("RayCluster", template(), template(SHARED), 1)], A, B, NAMESPACE, taken) == "Fits"

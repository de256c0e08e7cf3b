"""
What `gitplacer size` says of a manifest is right: every rule of KubeRay and Kubernetes with its arithmetic, a line of why
for each number that adds up to it, and the laws that hold whatever is written.

The tables are small manifests as they are written in files. In them `A` is a container of 1 cpu and 1 GiB, and
`B` one of 2 cpu and 4 GiB.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.explain import amount_text
from gitplacer.formats import SIZE_FORMATS
from gitplacer.formats.options import Options
from gitplacer.model import quantity
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.problems import Problem, Severity
from gitplacer.sizing import Sized, Sizes, sizes
from gitplacer.workloads.facts import Role
from gitplacer.workloads.fields import INT32_MAX
from gitplacer.workloads.surroundings import USUAL, RuntimeClass, Surroundings
from gitplacer.workloads.why import why
from tests.commands import run, run_apart, write

Capture = pytest.CaptureFixture[str]
Json = dict[str, Any]
Amounts = dict[str, int]

MI = 2**20
GI = 2**30
GPU = "nvidia.com/gpu"
DEVICE = "deviceclass.resource.kubernetes.io/gpu.example.com"


def size(*objects: Any, around: Surroundings = USUAL) -> Sizes:
    """The objects as documents of one file."""
    return sizes(
        {"app.yaml": b"\n---\n".join(json.dumps(value).encode() for value in objects)}, lambda namespace: around
    )


def errors(found: Sizes) -> list[Problem]:
    return [problem for problem in found.problems if problem.severity is Severity.ERROR]


def sized(*objects: Any, around: Surroundings = USUAL) -> Sized:
    """The only sized object among those given, which has no problem."""
    found = size(*objects, around=around)
    assert not errors(found)
    [only] = found.objects
    return only


def codes(*objects: Any, around: Surroundings = USUAL) -> list[str]:
    """What keeps objects from having a size; the last of them has none."""
    found = size(*objects, around=around)
    names = [f"{item.kind}/{item.name}" for item in found.objects]
    assert f"{objects[-1]['kind']}/{objects[-1]['metadata']['name']}" not in names
    return [problem.code for problem in errors(found)]


def role(found: Sized, name: str = "pod") -> Role:
    return next(role for role in found.facts.roles if role.name == name)


def asked(found: Sized, name: str = "pod") -> Amounts:
    """What one pod of a role asks for."""
    return dict(role(found, name).shape.requests)


def counts(found: Sized) -> dict[str, int]:
    return {role.name: role.count for role in found.facts.roles}


def shown(found: Sized) -> Json:
    """The object as JSON tells it."""
    [value] = json.loads(SIZE_FORMATS["json"]([found], Options()))["objects"]
    assert isinstance(value, dict)
    return value


# -- manifests ----------------------------------------------------------------------------------------------------


def container(requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    resources = {"requests": requests, "limits": limits}
    return {"name": "c", "resources": {key: block for key, block in resources.items() if block is not None}, **more}


A = container({"cpu": "1", "memory": "1Gi"})
B = container({"cpu": "2", "memory": "4Gi"})
NONE = {"name": "c"}


def pod_spec(*containers: Json, **more: Any) -> Json:
    return {"spec": {"containers": list(containers), **more}}


def pod(*containers: Json, **more: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **pod_spec(*containers, **more)}


def group(name: str = "g", template: Json | None = None, **fields: Any) -> Json:
    return {"groupName": name, "template": template or pod_spec(A), **fields}


def cluster_spec(*groups: Json, **fields: Any) -> Json:
    return {"headGroupSpec": {"template": pod_spec(B)}, "workerGroupSpecs": list(groups), **fields}


def ray(kind: str, spec: Json, version: str = "v1") -> Json:
    return {"apiVersion": f"ray.io/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def raycluster(*groups: Json, version: str = "v1", **fields: Any) -> Json:
    return ray("RayCluster", cluster_spec(*groups, **fields), version)


def rayjob(version: str = "v1", **fields: Any) -> Json:
    return ray("RayJob", {"rayClusterSpec": cluster_spec(group(replicas=2)), **fields}, version)


def rayservice(*groups: Json, version: str = "v1", **fields: Any) -> Json:
    return ray("RayService", {"rayClusterConfig": cluster_spec(*groups), **fields}, version)


def sized_cluster(*groups: Json, around: Surroundings = USUAL, **fields: Any) -> Sized:
    return sized(raycluster(*groups, **fields), around=around)


# -- pods: what one asks for ----------------------------------------------------------------------------------------

ALWAYS = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("value", "requests"),
    [
        # 1: the request, else the limit; also of what is no cpu and no memory
        (pod(container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})), {"cpu": 1000, "memory": GI}),
        (pod(container(limits={"ephemeral-storage": "5Gi"})), {"ephemeral-storage": 5 * GI}),
        (pod(container({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "5Gi"})), {"ephemeral-storage": GI}),
        (pod(container(limits={"hugepages-2Mi": "100Mi", "cpu": 1})), {"cpu": 1000, "hugepages-2Mi": 100 * MI}),
        (pod(container(limits={GPU: 1}), container(limits={GPU: "2"})), {GPU: 1 + 2}),
        (pod(container(limits={"google.com/tpu": 4, "aws.amazon.com/neuroncore": 2})), {"google.com/tpu": 4, "aws.amazon.com/neuroncore": 2}),
        # 2: max(containers + sidecars, the largest init container with the sidecars before it) + overhead
        (pod(A, B), {"cpu": 1000 + 2000, "memory": (1 + 4) * GI}),
        (pod(A, initContainers=[B, A]), {"cpu": max(1000, 2000, 1000), "memory": max(1, 4, 1) * GI}),
        (pod(A, initContainers=[A | ALWAYS]), {"cpu": 1000 + 1000, "memory": (1 + 1) * GI}),
        (pod(A, initContainers=[A | ALWAYS, B]), {"cpu": max(1000 + 1000, 1000 + 2000), "memory": max(1 + 1, 1 + 4) * GI}),
        (pod(A, initContainers=[B, A | ALWAYS]), {"cpu": max(1000 + 1000, 2000), "memory": max(1 + 1, 4) * GI}),
        (pod(A, runtimeClassName="kata", overhead={"cpu": "250m", "memory": "160Mi"}), {"cpu": 1000 + 250, "memory": GI + 160 * MI}),
        # 3: requests of the pod as a whole stand in place of the sum, each resource by itself
        (pod(A, A, resources={"requests": {"cpu": "3"}}), {"cpu": 3000, "memory": (1 + 1) * GI}),
        (pod(NONE, resources={"limits": {"cpu": "3"}}), {"cpu": 3000}),
        (pod(A, resources={"limits": {"cpu": "3"}}), {"cpu": 1000, "memory": GI}),
        (pod(A, resources={"requests": {"cpu": "3"}}, runtimeClassName="kata", overhead={"cpu": "1"}), {"cpu": 3000 + 1000, "memory": GI}),
        # 8: a share of a GPU in an annotation is no GPU
        (pod(A) | {"metadata": {"name": "p", "annotations": {"gpu-fraction": "0.5"}}}, {"cpu": 1000, "memory": GI}),
        (pod(NONE), {}),
    ],
)  # fmt: skip
def test_a_pod_asks_for_what_it_will_hold(value: Json, requests: Amounts) -> None:
    found = sized(value)
    assert asked(found) == requests
    assert found.total == Resources(requests)


@pytest.mark.parametrize(
    ("template", "worker"),
    [
        (pod_spec(container({"cpu": "200m"})), {"cpu": 200, "memory": 256 * MI}),
        (pod_spec(container({"cpu": "100m", "memory": "1Gi"})), {"cpu": 200, "memory": GI}),
        (pod_spec(NONE), {"cpu": 200, "memory": 256 * MI}),
        (pod_spec(A), {"cpu": 1000, "memory": GI}),
        (pod_spec(NONE, initContainers=[A | ALWAYS]), {"cpu": 1000 + 200, "memory": GI + 256 * MI}),
        (pod_spec(NONE, initContainers=[A]), {"cpu": max(1000, 200), "memory": GI}),
        (pod_spec(NONE, resources={"requests": {"cpu": "300m"}}), {"cpu": 300, "memory": 256 * MI}),
    ],
)
def test_a_worker_waits_for_its_head_in_200m_and_256Mi(template: Json, worker: Amounts) -> None:
    found = sized_cluster(group(template=template, replicas=1))
    assert asked(found, "worker/g") == worker
    assert asked(found, "head") == {"cpu": 2000, "memory": 4 * GI}


def test_a_worker_does_not_wait_where_the_operator_was_told_so() -> None:
    found = sized_cluster(group(template=pod_spec(NONE), replicas=1), around=Surroundings(waits_for_gcs=False))
    assert asked(found, "worker/g") == {}


@pytest.mark.parametrize(
    "value",
    [
        raycluster(group(replicas=1, resources={"CPU": "64", "GPU": "8"})),
        raycluster(group(replicas=1, rayStartParams={"num-cpus": "64", "num-gpus": "8", "memory": "1000000000000"})),
        raycluster(group(replicas=1, labels={"ray.io/accelerator-type": "H100"})),
        raycluster(group(replicas=1), headGroupSpec={"template": pod_spec(B), "resources": {"CPU": "0"}}),
        raycluster(group(replicas=1, idleTimeoutSeconds=5, scaleStrategy={"workersToDelete": ["x"]})),
    ],
)
def test_what_ray_counts_for_itself_is_no_request(value: Json) -> None:
    assert sized(value).total == Resources({"cpu": 2000 + 1000, "memory": (4 + 1) * GI})


# -- Ray clusters: how many ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "count", "least", "most"),
    [
        ({}, 0, 0, None),  # the CRD's defaults: 0, 0, unbounded
        ({"replicas": None, "minReplicas": None, "maxReplicas": None}, 0, 0, None),
        ({"replicas": 2}, 2, 0, None),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5}, 2, 1, 5),
        ({"minReplicas": 2, "maxReplicas": 5}, max(0, 2), 2, 5),
        ({"replicas": 1, "minReplicas": 2, "maxReplicas": 5}, max(1, 2), 2, 5),
        ({"replicas": 9, "minReplicas": 2, "maxReplicas": 5}, min(9, 5), 2, 5),
        ({"replicas": -3, "maxReplicas": 5}, max(-3, 0), 0, 5),
        ({"replicas": 2, "maxReplicas": 0}, min(2, 0), 0, 0),
        ({"replicas": 2, "maxReplicas": INT32_MAX}, 2, 0, None),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5, "numOfHosts": 4}, 2 * 4, 1 * 4, 5 * 4),
        ({"replicas": 2, "numOfHosts": 4}, 2 * 4, 0, None),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5, "numOfHosts": 0}, 2 * 0, 0, 0),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5, "numOfHosts": -1}, 0, 0, 0),
        ({"replicas": 2, "numOfHosts": 0}, 2 * 0, 0, 0),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5, "suspend": True}, 0, 0, 0),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5, "suspend": False}, 2, 1, 5),
    ],
)
@pytest.mark.parametrize("autoscaling", [False, True])
def test_a_group_is_its_replicas_within_bounds_times_its_hosts(
    autoscaling: bool, fields: Json, count: int, least: int, most: int | None
) -> None:
    found = sized_cluster(group(**fields), enableInTreeAutoscaling=autoscaling)
    workers = role(found, "worker/g")
    assert (workers.count, workers.minimum, workers.maximum) == (count, least, most)
    assert workers.slice_size == max(fields.get("numOfHosts", 1), 1)
    assert counts(found)["head"] == 1
    head_cpu = 2000 + 500 * autoscaling
    assert found.total["cpu"] == head_cpu + count * 1000


def test_slices_are_told_with_the_pods_that_belong_together() -> None:
    found = size(raycluster(group(replicas=2, numOfHosts=4)))
    [_, workers] = shown(found.objects[0])["pods"]
    assert (workers["count"], workers["sliceSize"]) == (8, 4)
    assert re.search(r"worker/g +8 \(slices of 4\)", as_text(found.objects[0]))
    assert [(problem.code, problem.severity) for problem in found.problems] == [("NotCounted", Severity.WARNING)]


MULTIKUEUE = "kueue.x-k8s.io/multikueue"
KUBERAY = "ray.io/kuberay-operator"
CLUSTER = cluster_spec(group(replicas=2))


@pytest.mark.parametrize(
    ("value", "pods", "said"),
    [
        (raycluster(group(replicas=2), suspend=True), 0, "0: suspended"),
        (raycluster(group(replicas=2), suspend=False), 3, ""),
        (raycluster(group(replicas=2), managedBy=MULTIKUEUE), 0, f"0: managedBy {MULTIKUEUE}: KubeRay leaves it alone"),
        (raycluster(group(replicas=2), managedBy=KUBERAY), 3, ""),
        (rayjob(suspend=True), 0, "0: suspended"),
        (rayjob(managedBy=MULTIKUEUE), 0, f"0: managedBy {MULTIKUEUE}: KubeRay leaves it alone"),
        # inside a job they stop its Ray cluster, and the submitter waits for that
        (rayjob(rayClusterSpec={**CLUSTER, "suspend": True}), 0, "0: suspended"),
        (rayjob(rayClusterSpec={**CLUSTER, "managedBy": MULTIKUEUE}), 0, f"0: managedBy {MULTIKUEUE}: KubeRay leaves it alone"),
        (rayservice(group(replicas=2), suspend=True), 0, "0: suspended"),
        (rayservice(group(replicas=2), managedBy=MULTIKUEUE), 0, f"0: managedBy {MULTIKUEUE}: KubeRay leaves it alone"),
        (ray("RayService", {"rayClusterConfig": {**CLUSTER, "suspend": True}}), 0, "0: suspended"),
        (ray("RayCronJob", {"jobTemplate": {"rayClusterSpec": CLUSTER}, "suspend": True}), 0, "0: suspended"),
        (ray("RayCronJob", {"jobTemplate": {"rayClusterSpec": CLUSTER, "suspend": True}}), 0, "0: suspended"),
    ],
)  # fmt: skip
def test_what_is_suspended_or_managed_by_others_has_no_pods(value: Json, pods: int, said: str) -> None:
    found = sized(value)
    assert sum(counts(found).values()) == pods
    assert (not found.total) is (not found.upgrade_peak) is (pods == 0)
    if said:
        assert {why(role)[0] for role in found.facts.roles} <= {said, "0: there is no Ray cluster to submit to"}


# -- containers that KubeRay adds ----------------------------------------------------------------------------------

HISTORY = {"collectorOptions": {"image": "collector"}}


@pytest.mark.parametrize(
    ("fields", "head", "worker"),
    [
        ({"autoscalerOptions": {"resources": {"requests": {"cpu": "9"}}}}, {}, {}),
        ({"enableInTreeAutoscaling": True}, {"cpu": 500, "memory": 512 * MI}, {}),
        ({"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}, {"cpu": 500, "memory": 512 * MI}, {}),
        ({"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}}, {"cpu": 1000, "memory": 2 * GI}, {}),
        ({"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"requests": {"cpu": "1"}}}}, {"cpu": 1000}, {}),
        ({"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {}}}, {}, {}),
        ({"historyServerOptions": HISTORY}, {"cpu": 50, "memory": 64 * MI}, {"cpu": 50, "memory": 64 * MI}),
        ({"historyServerOptions": {"collectorOptions": {"resources": {"requests": {"cpu": "100m"}}}}}, {"cpu": 100}, {"cpu": 100}),
        ({"historyServerOptions": {}}, {}, {}),
        ({"historyServerOptions": HISTORY, "enableInTreeAutoscaling": True}, {"cpu": 50 + 500, "memory": (64 + 512) * MI}, {"cpu": 50, "memory": 64 * MI}),
        ({"tlsOptions": {"enabled": True}}, {}, {}),  # 50m / 64Mi, but while it starts
        ({"tlsOptions": {"enabled": False}, "authOptions": {"mode": "token"}, "networkPolicy": {}}, {}, {}),
        ({"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}, {}, {}),  # its clean-up never adds to the peak
    ],
)  # fmt: skip
def test_containers_that_kuberay_adds_count(fields: Json, head: Amounts, worker: Amounts) -> None:
    found = sized_cluster(group(replicas=1), **fields)
    assert role(found, "head").shape.requests == Resources({"cpu": 2000, "memory": 4 * GI}) + head
    assert role(found, "worker/g").shape.requests == Resources({"cpu": 1000, "memory": GI}) + worker


def test_the_wait_for_a_certificate_comes_first_so_that_no_sidecar_runs_beside_it() -> None:
    small = pod_spec(NONE, initContainers=[container({"cpu": "10m"}, **ALWAYS)])
    found = sized_cluster(headGroupSpec={"template": small}, tlsOptions={"enabled": True})
    assert asked(found, "head") == {"cpu": max(50, 10), "memory": 64 * MI}
    workers = sized_cluster(group(template=small), tlsOptions={"enabled": True})
    assert asked(workers, "worker/g") == {"cpu": max(50, 10 + 200), "memory": max(64, 256) * MI}
    calm = sized_cluster(group(template=small), tlsOptions={"enabled": True}, around=Surroundings(waits_for_gcs=False))
    assert asked(calm, "worker/g") == {"cpu": max(50, 10), "memory": 64 * MI}


# -- RayJob, RayCronJob ----------------------------------------------------------------------------------------------

SUBMITTER = {"cpu": 500, "memory": 200 * MI}
OWN_SUBMITTER = {"submitterPodTemplate": pod_spec(container({"cpu": "100m"}), NONE, restartPolicy="Never")}
HEAD = {"cpu": 2000, "memory": 4 * GI}


@pytest.mark.parametrize(
    ("value", "head", "submitter"),
    [
        (rayjob(), HEAD, SUBMITTER),
        (rayjob(submissionMode="K8sJobMode"), HEAD, SUBMITTER),
        (rayjob(submissionMode="K8sJobMode", **OWN_SUBMITTER), HEAD, {"cpu": 100}),
        (rayjob(submitterPodTemplate=pod_spec(NONE, restartPolicy="Never")), HEAD, {}),  # nothing is added to a template of one's own
        (rayjob(submissionMode="HTTPMode"), HEAD, None),
        (rayjob(submissionMode="InteractiveMode"), HEAD, None),
        (rayjob(submissionMode="SidecarMode"), {"cpu": 2000 + 500, "memory": 4 * GI + 200 * MI}, None),
        (rayjob(rayClusterSpec=cluster_spec(group(replicas=2), enableInTreeAutoscaling=True), submissionMode="SidecarMode"), {"cpu": 2000 + 500 + 500, "memory": 4 * GI + 512 * MI + 200 * MI}, None),
        (rayjob(backoffLimit=3, submitterConfig={"backoffLimit": 5}), HEAD, SUBMITTER),  # attempts follow one another
        (rayjob(entrypointNumCpus=64, entrypointNumGpus=8), HEAD, SUBMITTER),
        (rayjob("v1alpha1"), HEAD, SUBMITTER),
        (rayjob("v1alpha1", **OWN_SUBMITTER), HEAD, {"cpu": 100}),
        (ray("RayCronJob", {"schedule": "* * * * *", "jobTemplate": {"rayClusterSpec": CLUSTER}}), HEAD, SUBMITTER),
        (ray("RayCronJob", {"jobTemplate": {"rayClusterSpec": CLUSTER, "submissionMode": "HTTPMode"}}), HEAD, None),
    ],
)  # fmt: skip
def test_a_job_is_its_ray_cluster_and_what_submits_it(value: Json, head: Amounts, submitter: Amounts | None) -> None:
    found = sized(value)
    assert counts(found) == {"head": 1, "worker/g": 2} | ({} if submitter is None else {"submitter": 1})
    assert asked(found, "head") == head
    if submitter is not None:
        assert asked(found, "submitter") == submitter
    expected = Resources(head) + Resources({"cpu": 1000, "memory": GI}) * 2 + (submitter or {})
    assert found.total == found.upgrade_peak == expected


@pytest.mark.parametrize(
    ("fields", "pods"),
    [
        ({}, {"submitter": 1}),
        ({"rayClusterSpec": CLUSTER}, {"submitter": 1}),  # the selector wins
        ({"submissionMode": "HTTPMode"}, {}),
        ({"suspend": True}, {"submitter": 0}),
    ],
)
def test_a_job_on_an_existing_ray_cluster_brings_at_most_its_submitter(fields: Json, pods: dict[str, int]) -> None:
    found = sized(ray("RayJob", {"clusterSelector": {"ray.io/cluster": "shared"}, **fields}))
    assert counts(found) == pods


# -- v1alpha1 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "of_group"),
    [
        ({}, {"numOfHosts": 4, "suspend": True, "labels": {"a": "b"}, "resources": {"CPU": "8"}}),
        ({"managedBy": MULTIKUEUE, "historyServerOptions": HISTORY, "tlsOptions": {"enabled": True}}, {}),
        ({"upgradeStrategy": {"type": "Recreate"}, "gcsFaultToleranceOptions": {"redisAddress": "r:1"}}, {}),
    ],
)
def test_v1alpha1_keeps_only_the_fields_that_it_knows(fields: Json, of_group: Json) -> None:
    old = raycluster(group(replicas=2, **of_group), version="v1alpha1", **fields)
    assert roles(sized(old)) == roles(sized_cluster(group(replicas=2)))


def test_v1alpha1_of_a_job_and_a_service_too() -> None:
    job = rayjob("v1alpha1", submissionMode="HTTPMode", managedBy=MULTIKUEUE)
    assert roles(sized(job)) == roles(sized(rayjob()))
    strategy = {"upgradeStrategy": {"type": "None"}, "suspend": True, "managedBy": MULTIKUEUE}
    old, new = rayservice(group(replicas=2), version="v1alpha1", **strategy), rayservice(group(replicas=2))
    assert roles(sized(old)) == roles(sized(new))
    assert codes(ray("RayCronJob", {"jobTemplate": {"rayClusterSpec": CLUSTER}}, "v1alpha1")) == ["UnsupportedVersion"]


def roles(found: Sized) -> list[tuple[Role, str]]:
    """All that is told of pods, with the words."""
    return [(role, "\n".join(why(role))) for role in found.facts.roles]


# -- updates --------------------------------------------------------------------------------------------------------


def incremental(**options: Any) -> Json:
    return {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}


@pytest.mark.parametrize(
    ("strategy", "of_group", "workers"),
    [
        # a second Ray cluster: one head more, and all workers once more
        (None, {"replicas": 4}, 4),
        ({}, {"replicas": 4}, 4),
        ({"type": "NewCluster"}, {"replicas": 4}, 4),
        ({"type": "NewCluster"}, {"replicas": 4, "numOfHosts": 2}, 4 * 2),
        # Serve's capacity moves over in steps: together never more than 100 % + maxSurgePercent, in whole replicas,
        # and never less than the new cluster's minimum
        (incremental(), {"replicas": 4}, 4),
        (incremental(maxSurgePercent=100), {"replicas": 4}, 4),
        (incremental(maxSurgePercent=50), {"replicas": 4}, 2),
        (incremental(maxSurgePercent=30), {"replicas": 4}, math.ceil(4 * 0.3)),
        (incremental(maxSurgePercent=25), {"replicas": 4}, 1),
        (incremental(maxSurgePercent=26), {"replicas": 4}, 2),
        (incremental(maxSurgePercent=1), {"replicas": 4}, 1),
        (incremental(maxSurgePercent=0), {"replicas": 4}, 0),
        (incremental(maxSurgePercent=10), {"replicas": 4, "minReplicas": 3}, max(math.ceil(4 * 0.1), 3)),
        (incremental(maxSurgePercent=50), {"replicas": 3, "numOfHosts": 4}, math.ceil(3 * 0.5) * 4),
        (incremental(maxSurgePercent=50), {"minReplicas": 0, "maxReplicas": 4}, 0),
    ],
)  # fmt: skip
def test_an_upgrade_of_a_service_needs_its_second_ray_cluster(
    strategy: Json | None, of_group: Json, workers: int
) -> None:
    fields = {} if strategy is None else {"upgradeStrategy": strategy}
    found = sized(rayservice(group(**of_group), **fields))
    assert found.upgrade_peak == found.total + {"cpu": 2000 + workers * 1000, "memory": (4 + workers) * GI}
    assert [role.surge for role in found.facts.roles] == [1, workers]
    assert "1 more while an update runs" in why(role(found, "head"))


@pytest.mark.parametrize(
    ("strategy", "zero_downtime", "grows"),
    [
        (None, False, False),  # the operator's ENABLE_ZERO_DOWNTIME
        ({}, False, False),
        ({"type": "NewCluster"}, False, True),
        ({"type": "None"}, True, False),
        ({"type": "None"}, False, False),
    ],
)
def test_without_zero_downtime_there_is_no_second_ray_cluster(
    strategy: Json | None, zero_downtime: bool, grows: bool
) -> None:
    fields = {} if strategy is None else {"upgradeStrategy": strategy}
    found = sized(rayservice(group(replicas=1), **fields), around=Surroundings(zero_downtime=zero_downtime))
    assert (found.upgrade_peak == found.total * 2) is grows
    assert (found.upgrade_peak == found.total) is not grows


@pytest.mark.parametrize("strategy", ["NewCluster", "None"])
def test_a_suspended_service_has_nothing_to_upgrade(strategy: str) -> None:
    found = sized(rayservice(group(replicas=1), suspend=True, upgradeStrategy={"type": strategy}))
    assert found.total == found.upgrade_peak == Resources()


@pytest.mark.parametrize(
    ("strategy", "replicas", "more"),
    [
        (None, 4, 1),  # 25 %
        (None, 5, math.ceil(5 * 0.25)),
        (None, 1, 1),
        (None, 0, 0),
        ({"type": "Recreate"}, 4, 0),
        ({"type": "RollingUpdate"}, 4, 1),
        ({"rollingUpdate": {"maxSurge": 3}}, 4, 3),
        ({"rollingUpdate": {"maxSurge": 0}}, 4, 0),
        ({"rollingUpdate": {"maxSurge": "0%"}}, 4, 0),
        ({"rollingUpdate": {"maxSurge": "30%"}}, 4, math.ceil(4 * 0.3)),
        ({"rollingUpdate": {"maxSurge": "100%"}}, 4, 4),
        ({"rollingUpdate": {"maxSurge": None}}, 4, 1),
        ({"rollingUpdate": {"maxUnavailable": 1}}, 4, 1),
    ],
)
def test_a_rolling_update_of_a_deployment_adds_its_surge(strategy: Json | None, replicas: int, more: int) -> None:
    spec = {"replicas": replicas, "template": pod_spec(A), "strategy": strategy}
    found = sized({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    assert found.total == Resources({"cpu": 1000, "memory": GI}) * replicas
    assert found.upgrade_peak == Resources({"cpu": 1000, "memory": GI}) * (replicas + more)


# -- what a cluster adds ----------------------------------------------------------------------------------------------

LIMIT_RANGE = Surroundings(container_defaults=Resources({"cpu": 300, "memory": 1000 * MI}))


def test_a_limit_range_fills_in_what_containers_do_not_say() -> None:
    assert asked(sized(pod(NONE), around=LIMIT_RANGE)) == {"cpu": 300, "memory": 1000 * MI}
    assert asked(sized(pod(A, NONE), around=LIMIT_RANGE)) == {"cpu": 1000 + 300, "memory": GI + 1000 * MI}
    assert asked(sized(pod(container({"cpu": "1"})), around=LIMIT_RANGE)) == {"cpu": 1000, "memory": 1000 * MI}
    assert asked(sized(pod(container(limits={"cpu": "2"})), around=LIMIT_RANGE)) == {"cpu": 2000, "memory": 1000 * MI}
    assert asked(sized(pod(container({"cpu": "0", "memory": "1Gi"})), around=LIMIT_RANGE)) == {"memory": GI}
    whole = pod(NONE, resources={"limits": {"cpu": "2"}})  # the API server has made that the pod's request before
    assert asked(sized(whole, around=LIMIT_RANGE)) == {"cpu": 2000, "memory": 1000 * MI}
    sidecar = pod(NONE, initContainers=[NONE | ALWAYS])
    assert asked(sized(sidecar, around=LIMIT_RANGE)) == {"cpu": 300 + 300, "memory": (1000 + 1000) * MI}


def test_a_limit_range_also_fills_in_containers_that_kuberay_adds() -> None:
    around = replace(LIMIT_RANGE, container_defaults=Resources({"cpu": 300, "ephemeral-storage": GI}))
    found = sized_cluster(group(replicas=1), around=around, enableInTreeAutoscaling=True)
    assert asked(found, "head") == {"cpu": 2000 + 500, "memory": 4 * GI + 512 * MI, "ephemeral-storage": 2 * GI}
    assert asked(found, "worker/g") == {"cpu": 1000, "memory": GI, "ephemeral-storage": GI}
    options = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {}}}
    assert asked(sized_cluster(around=LIMIT_RANGE, **options), "head") == {
        "cpu": 2000 + 300,
        "memory": 4 * GI + 1000 * MI,
    }
    submitter = asked(sized(rayjob(), around=around), "submitter")
    assert submitter == {"cpu": 500, "memory": 200 * MI, "ephemeral-storage": GI}


def test_a_limit_range_among_the_files_fills_in() -> None:
    limits = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "300m"}}]}
    files = {
        f"{namespace}.json": json.dumps(
            {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", **where}, "spec": limits}
        ).encode()
        for namespace, where in (("a", {}), ("b", {"namespace": "b"}))
    }
    bare = {"containers": [{"name": "c", "image": "x"}]}
    for name, asked_for in (("default", {"cpu": 300}), ("b", {"cpu": 300}), ("c", {})):
        value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": name}, "spec": bare}
        [found] = sizes({**files, "p.json": json.dumps(value).encode()}).objects
        assert dict(found.total) == asked_for


def test_a_runtime_class_costs_overhead_and_chooses_nodes() -> None:
    runs = Toleration("sandbox", "Exists")
    gvisor = RuntimeClass("gvisor", Resources({"cpu": 250, "memory": 64 * MI}), (("runtime", "gvisor"),), (runs,))
    around = Surroundings(runtime_classes=(gvisor,))
    found = sized(pod(A, runtimeClassName="gvisor", nodeSelector={"zone": "a"}), around=around)
    assert asked(found) == {"cpu": 1000 + 250, "memory": GI + 64 * MI}
    assert role(found).shape.node_selector == (("runtime", "gvisor"), ("zone", "a"))
    assert role(found).shape.tolerations == (runs,)
    assert asked(sized(pod(A, runtimeClassName="other"), around=around)) == {"cpu": 1000, "memory": GI}
    admitted = pod(A, runtimeClassName="gvisor", overhead={"cpu": "250m", "memory": "64Mi"})
    assert asked(sized(admitted, around=around)) == asked(found)
    head = {"template": pod_spec(B, runtimeClassName="gvisor")}
    assert asked(sized_cluster(headGroupSpec=head, around=around), "head") == {
        "cpu": 2000 + 250,
        "memory": 4 * GI + 64 * MI,
    }


def test_sidecars_of_the_operators_configuration_count() -> None:
    around = Surroundings(
        head_sidecars=(("logs", Resources({"cpu": 100})),), worker_sidecars=(("mesh", Resources({"cpu": 200})),)
    )
    found = sized_cluster(group(replicas=1), around=around)
    assert [asked(found, name)["cpu"] for name in ("head", "worker/g")] == [2000 + 100, 1000 + 200]
    assert "cpu 2100m: c 2 + logs 100m (the operator's configuration adds it)" in why(role(found, "head"))


# -- devices ----------------------------------------------------------------------------------------------------------


def claim_template(*requests: Json, version: str = "v1", name: str = "gpus", namespace: str | None = None) -> Json:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", **request} for request in requests]}}},
    }


def exactly(**fields: Any) -> Json:
    return {"exactly": {"deviceClassName": "gpu.example.com", **fields}}


def flat(**fields: Any) -> Json:
    return {"deviceClassName": "gpu.example.com", **fields}


CLAIMS = [{"name": "g", "resourceClaimTemplateName": "gpus"}]


@pytest.mark.parametrize(
    ("template", "devices"),
    [
        (claim_template(exactly()), 1),
        (claim_template(exactly(count=2)), 2),
        (claim_template(exactly(allocationMode="ExactCount", count=2), exactly()), 2 + 1),
        (claim_template(exactly(count=2), version="v1beta2"), 2),
        (claim_template(flat(count=2), version="v1beta1"), 2),
        (claim_template(flat(), flat(allocationMode="ExactCount", count=3), version="v1beta1"), 1 + 3),
        (claim_template(exactly(adminAccess=True)), 0),  # watches devices that others use
        (claim_template(exactly(adminAccess=True, allocationMode="All"), exactly()), 0 + 1),
    ],
)
def test_a_claim_comes_to_the_devices_of_its_template(template: Json, devices: int) -> None:
    expected = {"cpu": 1000, "memory": GI} | ({DEVICE: devices} if devices else {})
    for documents in ((template, pod(A, resourceClaims=CLAIMS)), (pod(A, resourceClaims=CLAIMS), template)):
        assert asked(sized(*documents)) == expected
    workers = group(replicas=3, template=pod_spec(A, resourceClaims=CLAIMS))
    assert sized(template, raycluster(workers)).total.get(DEVICE, 0) == 3 * devices


DOMAIN = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomain",
    "metadata": {"name": "rack"},
    "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "gpus"}}},
}


def test_a_compute_domain_makes_the_template_by_which_each_node_has_one_pod_in_it() -> None:
    workers = group(replicas=3, template=pod_spec(A, resourceClaims=CLAIMS))
    for documents in ((DOMAIN, raycluster(workers)), (raycluster(workers), DOMAIN)):
        channels = "deviceclass.resource.kubernetes.io/compute-domain-default-channel.nvidia.com"
        assert sized(*documents).total[channels] == 3
    assert codes({**DOMAIN, "spec": {}}, raycluster(workers)) == ["UnknownDevices"]


@pytest.mark.parametrize(
    ("template", "code"),
    [
        (claim_template(exactly(allocationMode="All")), "UnknownDevices"),
        (claim_template(flat(allocationMode="All"), version="v1beta1"), "UnknownDevices"),
        (claim_template({"firstAvailable": [{"name": "a", "deviceClassName": "gpu.example.com"}]}), "UnknownDevices"),
        (claim_template(exactly(count=0)), "InvalidValue"),
        (claim_template({"exactly": {}}), "MissingField"),
        (claim_template(exactly(), name="others"), "UnknownDevices"),  # not the one that is named
        (claim_template(exactly(), namespace="elsewhere"), "UnknownDevices"),
        ({**claim_template(exactly()), "apiVersion": "example.com/v1"}, "UnknownDevices"),
    ],
)
def test_a_claim_of_unknown_size_is_refused_never_counted_as_none(template: Json, code: str) -> None:
    assert codes(template, pod(A, resourceClaims=CLAIMS)) == [code]
    assert codes(template, raycluster(headGroupSpec={"template": pod_spec(B, resourceClaims=CLAIMS)})) == [code]


@pytest.mark.parametrize(
    ("request_", "of_all", "told"),
    [
        (exactly(selectors=[{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]), {}, ["the selectors of a request"]),
        (flat(selectors=[{"cel": {"expression": "true"}}]), {}, ["the selectors of a request"]),
        (exactly(capacity={"requests": {"memory": "10Gi"}}), {}, ["how much of each device"]),
        (exactly(), {"constraints": [{"requests": ["r"], "matchAttribute": "example.com/numa"}]}, ["in common"]),
        (exactly(selectors=[]), {"constraints": []}, []),
        (exactly(selectors=[{"cel": {"expression": "true"}}], adminAccess=True), {}, ["on which nodes the devices are"]),
        (flat(adminAccess=True, allocationMode="All"), {}, ["on which nodes the devices are"]),
    ],
)  # fmt: skip
def test_what_narrows_the_devices_of_a_claim_is_told_and_all_of_its_class_are_counted(
    request_: Json, of_all: Json, told: list[str]
) -> None:
    template = claim_template(request_, version="v1beta1" if "deviceClassName" in request_ else "v1")
    template["spec"]["spec"]["devices"] |= of_all
    found = size(template, pod(A, resourceClaims=CLAIMS))
    assert [(p.code, p.severity) for p in found.problems] == [("NotCounted", Severity.WARNING)] * len(told)
    assert all(part in problem.message for part, problem in zip(told, found.problems, strict=True))
    watches = "adminAccess" in request_.get("exactly", request_)
    assert asked(found.objects[0]).get(DEVICE, 0) == (0 if watches else 1)


def test_a_claim_is_asked_for_among_the_templates_that_are_given() -> None:
    known = Surroundings(claims=(("gpus", Resources({DEVICE: 2})),))
    assert codes(pod(A, resourceClaims=CLAIMS), around=known) == ["UnknownDevices"]  # only those beside it count


# -- what the API server refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        {"requests": {"memory": "1025Mi"}, "limits": {"memory": "1Gi"}},
        {"limits": {GPU: "500m"}},
        {"requests": {GPU: 1}},
        {"requests": {GPU: 1}, "limits": {GPU: 2}},
        {"requests": {"hugepages-2Mi": "2Mi", "cpu": 1}},
        {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}},
        {"limits": {"hugepages-2Mi": "2Mi"}},
        {"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}},
        {"limits": {"gpu": 1}},
        {"limits": {"CPU": 1}},
        {"requests": {"storage": "1Gi"}},
        {"limits": {"requests.nvidia.com/gpu": 1}},
        {"limits": {"nvidia.com/": 1}},
        {"limits": {"NVIDIA.com/gpu": 1}},
    ],
)
def test_resources_that_no_api_server_accepts_have_no_size(resources: Json) -> None:
    bad = {"name": "c", "resources": resources}
    assert codes(pod(bad)) == ["InvalidResources"]
    assert codes(pod(A, initContainers=[bad])) == ["InvalidResources"]
    assert codes(raycluster(group(template=pod_spec(bad)))) == ["InvalidResources"]
    autoscaler = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": resources}}
    assert codes(raycluster(**autoscaler)) == ["InvalidResources"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CPU", 'did you mean "cpu"?'),
        ("Memory", 'did you mean "memory"?'),
        ("ephemeral_storage", 'did you mean "ephemeral-storage"?'),
        ("gpu", "one of cpu, memory, ephemeral-storage, or a device with its domain: nvidia.com/gpu"),
        ("nvidia.com/mig-1g.5gb", None),
        ("hugepages-1Gi", None),
        ("attachable.kubernetes.io/x", None),
        ("ephemeral-storage", None),
    ],
)
def test_a_resource_has_a_name_that_kubernetes_knows(name: str, hint: str | None) -> None:
    found = size(pod(container(limits={name: "1Gi", "cpu": "1"})))
    told = [(p.message, p.hint) for p in errors(found)]
    assert told == ([(f'no container can ask for "{name}"', hint)] if hint else [])


# -- the pod as a whole -------------------------------------------------------------------------------------------

TWO = container({"cpu": "1", "memory": "1Gi"}, {"cpu": "2"})
TOO_MUCH = [
    # the sum, by one resource or two, by containers, sidecars, and the largest start
    ([A, A], [], {"requests": {"cpu": "1"}}, ["cpu: the containers ask for 2 together, 1 more than the request 1 of the pod as a whole"]),
    ([A, A], [], {"requests": {"cpu": "2", "memory": "2Gi"}}, []),
    ([A, A], [], {"requests": {"cpu": "1500m", "memory": "1Gi"}}, [
        "cpu: the containers ask for 2 together, 500m more than the request 1500m of the pod as a whole",
        "memory: the containers ask for 2Gi together, 1Gi more than the request 1Gi of the pod as a whole",
    ]),
    ([A], [{**A, "restartPolicy": "Always"}], {"requests": {"cpu": "1"}}, ["cpu: the containers ask for 2 together, 1 more than the request 1 of the pod as a whole"]),
    ([A], [A], {"requests": {"cpu": "1"}}, []),
    ([A], [container({"cpu": "3"})], {"requests": {"cpu": "2"}}, ["cpu: the containers ask for 3 together, 1 more than the request 2 of the pod as a whole"]),
    ([container({}, {"cpu": "2"})], [], {"requests": {"cpu": "1"}}, ["cpu: the containers ask for 2 together, 1 more than the request 1 of the pod as a whole"]),
    # what the pod does not ask for is what its containers ask for
    ([A, A], [], {"requests": {"memory": "2Gi"}}, []),
    ([A, A], [], {"limits": {"cpu": "2"}}, []),
    ([A, A], [], {"limits": {"cpu": "1"}}, ["cpu: the containers ask for 2 together, 1 more than the limit 1 of the pod as a whole"]),
    ([NONE], [], {"limits": {"cpu": "1"}}, []),
    # each limit by itself, of containers only
    ([TWO, TWO], [], {"limits": {"cpu": "2"}}, []),
    ([TWO], [], {"limits": {"cpu": "1"}}, ["cpu: the limit 2 is more than the limit 1 of the pod as a whole"]),
    ([A], [container({"cpu": "1"}, {"cpu": "2"})], {"limits": {"cpu": "1"}}, []),
    ([TWO], [], {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}, []),
    # its own limit
    ([A], [], {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ["cpu: the request 2 is more than the limit 1"]),
    # only what a pod as a whole can ask for
    ([A], [], {"limits": {GPU: 1}}, [f"{GPU} is asked for by the pod as a whole, which can ask for cpu, memory and huge pages only"]),
    ([A], [], {"requests": {"ephemeral-storage": "1Gi"}}, ["ephemeral-storage is asked for by the pod as a whole, which can ask for cpu, memory and huge pages only"]),
    ([container({}, {GPU: 1})], [], {"requests": {"cpu": "1"}}, []),
    ([container({}, {"hugepages-2Mi": "4Mi", "memory": "1Gi"})], [], {"limits": {"hugepages-2Mi": "4Mi"}}, []),
    ([container({}, {"hugepages-2Mi": "4Mi", "memory": "1Gi"})], [], {"limits": {"hugepages-2Mi": "2Mi"}}, [
        "hugepages-2Mi: the containers ask for 4Mi together, 2Mi more than the limit 2Mi of the pod as a whole",
        "hugepages-2Mi: the limit 4Mi is more than the limit 2Mi of the pod as a whole",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("containers", "inits", "resources", "said"), TOO_MUCH)
def test_containers_have_together_no_more_than_their_pod(
    containers: list[Json], inits: list[Json], resources: Json, said: list[str]
) -> None:
    for value in (
        pod(*containers, initContainers=inits, resources=resources),
        ray("RayJob", {"rayClusterSpec": CLUSTER, "submitterPodTemplate": pod_spec(*containers, initContainers=inits, resources=resources)}),
    ):  # fmt: skip
        found = errors(size(value))
        assert sorted(problem.message for problem in found) == sorted(said)
        assert all(problem.code == "InvalidResources" and problem.hint for problem in found)


def test_devices_of_the_pod_as_a_whole_are_not_counted_twice() -> None:
    assert codes(pod(A, resources={"requests": {GPU: 1}})) == ["InvalidResources"]
    assert codes(pod(A, resources={"limits": {GPU: "0.5"}})) == ["InvalidResources"]


def head_of(fields: Json, cpu: str, memory: str, limit: str = "8") -> Json:
    """A Ray cluster whose head asks as a whole for that much, and its container for 1 and 2Gi."""
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": limit, "memory": "8Gi"}}
    return {
        **fields,
        "headGroupSpec": {"template": pod_spec(container({"cpu": "1", "memory": "2Gi"}), resources=resources)},
    }


AUTOSCALED = {"enableInTreeAutoscaling": True}
ADDED = [
    (AUTOSCALED, "1500m", "2560Mi", []),
    ({}, "1", "2Gi", []),
    (AUTOSCALED, "1", "2Gi", [
        "cpu: the containers ask for 1500m together, 500m more than the request 1 of the pod as a whole; "
        "autoscaler asks for 500m of it: KubeRay adds it for enableInTreeAutoscaling",
        "memory: the containers ask for 2560Mi together, 512Mi more than the request 2Gi of the pod as a whole; "
        "autoscaler asks for 512Mi of it: KubeRay adds it for enableInTreeAutoscaling",
    ]),
    ({**AUTOSCALED, "autoscalerOptions": {"resources": {}}}, "1", "2Gi", []),
    # too little without it
    (AUTOSCALED, "500m", "4Gi", ["cpu: the containers ask for 1500m together, 1 more than the request 500m of the pod as a whole"]),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "cpu", "memory", "said"), ADDED)
def test_what_kuberay_adds_to_a_head_has_to_fit_into_its_pod(
    fields: Json, cpu: str, memory: str, said: list[str]
) -> None:
    spec = head_of(fields, cpu, memory)
    for value in (ray("RayCluster", spec), ray("RayService", {"rayClusterConfig": spec})):
        assert sorted(problem.message for problem in errors(size(value))) == said


def test_the_submitter_beside_the_head_and_the_wait_of_a_worker_have_to_fit_too() -> None:
    job = rayjob(submissionMode="SidecarMode", rayClusterSpec=head_of({}, "1", "4Gi"))
    [problem] = errors(size(job))
    assert problem.message.endswith("; ray-job-submitter asks for 500m of it: KubeRay adds it for SidecarMode")
    assert problem.hint == "raise it to 1500m or more, or let the containers ask for less"
    small = pod_spec(container({"cpu": "100m"}), resources={"requests": {"cpu": "100m"}})
    [problem] = errors(size(raycluster(group(template=small))))
    assert problem.message == (
        "cpu: the containers ask for 200m together, 100m more than the request 100m of the pod as a whole; "
        "wait-gcs-ready asks for 200m of it: KubeRay adds it to every worker"
    )


AMOUNT = st.integers(0, 4000)


@given(request=AMOUNT, limit=AMOUNT, name=st.sampled_from(["cpu", "memory", "ephemeral-storage"]))
def test_a_limit_is_never_below_its_request(request: int, limit: int, name: str) -> None:
    value = pod(container({name: f"{request}m"}, {name: f"{limit}m"}))
    if limit < request:
        assert codes(value) == ["InvalidResources"]
    else:
        assert asked(sized(value)).get(name, 0) == (request if name == "cpu" else -(-request // 1000))


# -- JSON -------------------------------------------------------------------------------------------------------------


def test_the_json_of_a_file() -> None:
    service = rayservice(group(replicas=1, minReplicas=0, maxReplicas=4))
    service["metadata"]["namespace"] = "serving"
    job = ray("RayJob", {"rayClusterSpec": cluster_spec(group(replicas=1))})
    job["metadata"] = {"generateName": "train-"}
    found = size({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, service, job)
    text = SIZE_FORMATS["json"](found.objects, Options())
    assert text.endswith("\n")
    assert json.loads(text) == {
        "objects": [
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayService",
                "namespace": "serving",
                "name": "x",
                "file": "app.yaml",
                "pods": [
                    {
                        "role": "head",
                        "count": 1,
                        "minCount": 1,
                        "maxCount": 1,
                        "requests": {"cpu": "2", "memory": "4Gi"},
                        "why": [
                            "1: every Ray cluster has one head",
                            "1 more while an update runs",
                            "cpu 2: c 2",
                            "memory 4Gi: c 4Gi",
                        ],
                    },
                    {
                        "role": "worker/g",
                        "count": 1,
                        "minCount": 0,
                        "maxCount": 4,
                        "requests": {"cpu": "1", "memory": "1Gi"},
                        "why": [
                            "1: replicas 1",
                            "0 to 4: minReplicas 0, maxReplicas 4",
                            "1 more while an update runs",
                            "cpu 1: c 1",
                            "memory 1Gi: c 1Gi",
                        ],
                    },
                ],
                "total": {"cpu": "3", "memory": "5Gi"},
                "minTotal": {"cpu": "2", "memory": "4Gi"},
                "maxTotal": {"cpu": "6", "memory": "8Gi"},
                "upgradePeak": {"cpu": "6", "memory": "10Gi"},
            },
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayJob",
                "namespace": "",
                "name": "train-",
                "file": "app.yaml",
                "pods": [
                    {
                        "role": "head",
                        "count": 1,
                        "minCount": 1,
                        "maxCount": 1,
                        "requests": {"cpu": "2", "memory": "4Gi"},
                        "why": ["1: every Ray cluster has one head", "cpu 2: c 2", "memory 4Gi: c 4Gi"],
                    },
                    {
                        "role": "worker/g",
                        "count": 1,
                        "minCount": 0,
                        "maxCount": None,
                        "requests": {"cpu": "1", "memory": "1Gi"},
                        "why": [
                            "1: replicas 1",
                            "0 or more: no minReplicas, no maxReplicas",
                            "cpu 1: c 1",
                            "memory 1Gi: c 1Gi",
                        ],
                    },
                    {
                        "role": "submitter",
                        "count": 1,
                        "minCount": 1,
                        "maxCount": 1,
                        "requests": {"cpu": "500m", "memory": "200Mi"},
                        "why": [
                            "1: submissionMode K8sJobMode by default",
                            "cpu 500m: ray-job-submitter 500m (KubeRay makes it)",
                            "memory 200Mi: ray-job-submitter 200Mi (KubeRay makes it)",
                        ],
                    },
                ],
                "total": {"cpu": "3500m", "memory": "5320Mi"},
                "minTotal": {"cpu": "2500m", "memory": "4296Mi"},
                "maxTotal": None,
                "upgradePeak": {"cpu": "3500m", "memory": "5320Mi"},
            },
        ]
    }


def test_the_json_of_nothing() -> None:
    assert json.loads(SIZE_FORMATS["json"]([], Options())) == {"objects": []}
    assert SIZE_FORMATS["text"]([], Options()) == ""


def test_objects_are_told_in_the_order_of_files_and_documents_and_items_of_lists() -> None:
    def named(name: str) -> Json:
        return pod(A) | {"metadata": {"name": name}}

    items = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [named("b"), {"apiVersion": "v1", "kind": "Service"}, named("c")],
    }
    files = {"z.yaml": json.dumps(named("a")).encode(), "a.yaml": json.dumps(items).encode()}
    assert [(found.document.file, found.name) for found in sizes(files).objects] == [
        ("z.yaml", "a"),
        ("a.yaml", "b"),
        ("a.yaml", "c"),
    ]


def test_an_object_with_an_error_is_left_out_and_the_others_are_told() -> None:
    found = size(pod(A), pod({"name": "c", "resources": {"requests": {"cpu": "lots"}}}), pod(B))
    assert [item.total["cpu"] for item in found.objects] == [1000, 2000]
    assert [problem.code for problem in found.problems] == ["InvalidQuantity"]


# -- random manifests -----------------------------------------------------------------------------------------------

CPU = st.sampled_from(["0", "0.1m", "0.5m", "100m", "1", "1500m", "2"])
MEMORY = st.sampled_from(["0", "1", "0.5", "1Ki", "100M", "1Gi", "0.3Gi", "1e9"])
NAMES = st.sampled_from(["main", "sync", "log-shipper", "c2"])


LARGE_CPU = st.sampled_from(["16", "16000.5m", "20"])
LARGE_MEMORY = st.sampled_from(["12Gi", "12884901888.5", "20e9"])


@st.composite
def blocks(draw: st.DrawFn, cpu: st.SearchStrategy[str] = CPU, memory: st.SearchStrategy[str] = MEMORY) -> Json:
    """Requests and limits that an API server accepts."""
    resources: Json = {"requests": {}, "limits": {}}
    for name, amounts in (("cpu", cpu), ("memory", memory), ("ephemeral-storage", MEMORY)):
        written = draw(st.sampled_from(["neither", "request", "limit", "both"]))
        if written in ("request", "both"):
            resources["requests"][name] = draw(amounts)
        if written in ("limit", "both"):
            limit = draw(amounts)
            least = quantity.parse(resources["requests"].get(name, "0"))
            resources["limits"][name] = limit if quantity.parse(limit) >= least else resources["requests"][name]
    if draw(st.booleans()):
        resources["limits"][GPU] = draw(st.integers(1, 8))
    return resources


@st.composite
def templates(draw: st.DrawFn) -> Json:
    named = st.builds(lambda name, block: {"name": name, "resources": block}, NAMES, blocks())
    inits = st.builds(lambda one, more: one | more, named, st.sampled_from([{}, ALWAYS]))
    spec = {"containers": draw(st.lists(named, min_size=1, max_size=3))}
    spec["initContainers"] = draw(st.lists(inits, max_size=3))
    if draw(st.booleans()):
        whole = draw(blocks(LARGE_CPU, LARGE_MEMORY))  # room for all containers, and for those that are added
        whole["limits"].pop(GPU, None)
        spec["resources"] = {key: {n: v for n, v in whole[key].items() if n != "ephemeral-storage"} for key in whole}
    if draw(st.booleans()):
        spec["runtimeClassName"] = "kata"
        spec["overhead"] = {"cpu": draw(CPU), "memory": draw(MEMORY)}
    return {"spec": spec}


@st.composite
def groups(draw: st.DrawFn, name: str) -> Json:
    low, more = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    fields = {
        "replicas": draw(st.one_of(st.none(), st.integers(-1, 7))),
        "minReplicas": draw(st.sampled_from([None, low])),
        "maxReplicas": draw(st.sampled_from([None, low + more])),
    }
    return group(name, draw(templates()), **fields)


@st.composite
def cluster_specs(draw: st.DrawFn) -> Json:
    """What both versions of the API can say."""
    number = draw(st.integers(0, 2))
    spec = cluster_spec(*(draw(groups(f"g{index}")) for index in range(number)))
    spec["headGroupSpec"]["template"] = draw(templates())
    spec["enableInTreeAutoscaling"] = draw(st.booleans())
    if draw(st.booleans()):
        spec["autoscalerOptions"] = draw(
            st.sampled_from([{}, {"resources": {}}, {"resources": {"requests": {"cpu": "1"}}}])
        )
    spec["suspend"] = draw(st.sampled_from([None, False, False, True]))
    return spec


def in_kinds(spec: Json, version: str) -> list[Json]:
    """The Ray cluster spec in each kind that has one, in what both versions can say."""
    job = {"rayClusterSpec": spec, "shutdownAfterJobFinishes": True}
    own = {**job, "submitterPodTemplate": spec["headGroupSpec"]["template"]}
    service = {"rayClusterConfig": spec}
    specs = [("RayCluster", spec), ("RayJob", job), ("RayJob", own), ("RayService", service)]
    return [ray(kind, fields, version) for kind, fields in specs]


@st.composite
def newer(draw: st.DrawFn, value: Json) -> Json:
    """The same with fields that only v1 has."""
    value = json.loads(json.dumps(value))
    spec = value["spec"]
    inner = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    for each in inner["workerGroupSpecs"]:
        each["numOfHosts"] = draw(st.sampled_from([None, 0, 1, 2, 4]))
        each["suspend"] = draw(st.sampled_from([None, False, False, True]))
    if draw(st.booleans()):
        inner["historyServerOptions"] = HISTORY
    if draw(st.booleans()):
        inner["tlsOptions"] = {"enabled": True}
    if value["kind"] == "RayJob":
        spec["submissionMode"] = draw(
            st.sampled_from([None, "K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"])
        )
    if value["kind"] == "RayService":
        percent = draw(st.sampled_from([None, 0, 10, 50, 100]))
        spec["upgradeStrategy"] = draw(st.sampled_from([None, {"type": "None"}, incremental(maxSurgePercent=percent)]))
    return value


@st.composite
def manifests(draw: st.DrawFn) -> Json:
    """Manifests of every kind of Ray, and some others, that have a size."""
    if draw(st.integers(0, 4)) == 0:
        template = draw(templates())
        deployment = {"replicas": draw(st.integers(0, 5)), "template": template}
        others = [
            pod(A) | template,
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": deployment},
        ]
        return draw(st.sampled_from(others))
    value = draw(st.sampled_from(in_kinds(draw(cluster_specs()), "v1")))
    return draw(newer(value))


@st.composite
def surroundings(draw: st.DrawFn) -> Surroundings:
    if draw(st.booleans()):
        return USUAL
    return Surroundings(
        waits_for_gcs=draw(st.booleans()),
        head_sidecars=draw(st.sampled_from([(), (("mesh", Resources({"cpu": 100})),)])),
        worker_sidecars=draw(st.sampled_from([(), (("mesh", Resources({"memory": 7})),)])),
        zero_downtime=draw(st.booleans()),
        container_defaults=draw(st.sampled_from([Resources(), Resources({"cpu": 300, "memory": 5})])),
    )


# -- why ----------------------------------------------------------------------------------------------------------------


def total_of(name: str, text: str) -> int:
    """What the terms of a line of why add up to, in the grain in which pods are counted."""
    terms = [re.sub(r" \([^()]*\)$", "", term).split()[-1] for term in text.split("; ")[0].split(" + ")]
    return math.ceil(sum(quantity.parse(term) for term in terms) * (1000 if name == "cpu" else 1))


@given(value=manifests(), around=surroundings())
def test_every_number_has_a_line_of_why_whose_terms_add_up_to_it(value: Json, around: Surroundings) -> None:
    found = sized(value, around=around)
    for told, counted in zip(shown(found)["pods"], found.facts.roles, strict=True):
        lines = dict(line.split(": ", 1) for line in told["why"] if ": " in line)
        assert str(told["count"]) in lines
        if not told["minCount"] == told["count"] == told["maxCount"]:
            most = "or more" if told["maxCount"] is None else f"to {told['maxCount']}"
            assert f"{told['minCount']} {most}" in lines
        if counted.surge:
            assert f"{counted.surge} more while an update runs" in told["why"]
        for name, amount in told["requests"].items():
            assert (
                total_of(name, lines[f"{name} {amount}"])
                == quantity.amount(name, amount)
                == counted.shape.requests[name]
            )
        resources = [
            line for line in lines if " " in line and line.split()[0] in ("cpu", "memory", "ephemeral-storage", GPU)
        ]
        assert len(resources) == len(told["requests"])


@given(each=groups("g"), hosts=st.sampled_from([1, 2, 3]), autoscaling=st.booleans())
def test_the_count_and_its_bounds_follow_from_what_their_lines_say(each: Json, hosts: int, autoscaling: bool) -> None:
    found = role(sized_cluster({**each, "numOfHosts": hosts}, enableInTreeAutoscaling=autoscaling), "worker/g")
    number, _, said = why(found)[0].partition(": ")
    moved = re.search(r"(?:raised to minReplicas|lowered to maxReplicas) (\d+)", said)
    written = re.match(r"replicas (\d+)", said)
    replicas = int(moved[1] if moved else written[1] if written else 0)
    assert int(number) == replicas * (int(re.findall(r"each of (\d+) hosts", said)[0]) if hosts > 1 else 1)
    bounds = [line for line in why(found) if re.match(r"\d+ (to|or) ", line)]
    for line in bounds:
        low, high = re.search(r"minReplicas (\d+)", line), re.search(r"maxReplicas (\d+)", line)
        expected = f"{int(low[1]) * hosts if low else 0} " + (f"to {int(high[1]) * hosts}" if high else "or more")
        assert line.startswith(f"{expected}: ")
    assert bool(bounds) is not (found.minimum == found.count == found.maximum)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (pod(container(limits={"cpu": "2"})), "cpu 2: c 2 (its limit)"),
        (pod(A, initContainers=[B | {"name": "i"}]), "cpu 2: i 2 (init container); more than the 1 of the containers"),
        (pod(NONE, initContainers=[B | {"name": "i"}]), "cpu 2: i 2 (init container); the containers ask for none"),
        (pod(A, initContainers=[A | ALWAYS | {"name": "s"}]), "cpu 2: s 1 (sidecar) + c 1"),
        (pod(A, resources={"requests": {"cpu": "3"}}), "cpu 3: resources of the pod as a whole 3"),
        (pod(NONE, resources={"limits": {"cpu": "3"}}), "cpu 3: limit of the pod as a whole 3"),
        (pod(A, runtimeClassName="kata", overhead={"cpu": "1"}), "cpu 2: c 1 + overhead of the runtime class 1"),
        (
            pod(A, initContainers=[B | {"name": "i"}], runtimeClassName="kata", overhead={"cpu": "1"}),
            "cpu 3: i 2 (init container) + overhead of the runtime class 1; more than the 1 of the containers",
        ),
        (pod(container({"cpu": "0.1m"}), container({"cpu": "0.2m"})), "cpu 1m: c 0.0001 + c 0.0002; rounded up"),
        (pod(container({"memory": "123456789.5"})), "memory 123456790: c 123456789.5; rounded up"),
        (pod(container({"cpu": 0}), resources={"limits": {"cpu": 2}}, runtimeClassName="kata", overhead={"cpu": 1}), "cpu 1: overhead of the runtime class 1"),
        (pod(NONE), "nothing: no container has requests or limits"),
    ],
)  # fmt: skip
def test_a_line_of_why_names_the_container_and_the_rule(value: Json, line: str) -> None:
    assert line in why(role(sized(value)))


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({}, ["0: no replicas written", "0 or more: no minReplicas, no maxReplicas"]),
        ({"replicas": 2, "minReplicas": 2, "maxReplicas": 2}, ["2: replicas 2"]),
        ({"minReplicas": 1}, ["1: no replicas written, raised to minReplicas 1", "1 or more: minReplicas 1, no maxReplicas"]),
        ({"replicas": -3, "maxReplicas": 0}, ["0: replicas -3, raised to minReplicas 0"]),
        ({"replicas": 9, "maxReplicas": 5}, ["5: replicas 9, lowered to maxReplicas 5", "0 to 5: no minReplicas, maxReplicas 5"]),
        ({"replicas": 2, "maxReplicas": 3, "numOfHosts": 4}, ["8: replicas 2, each of 4 hosts", "0 to 12: no minReplicas, maxReplicas 3, each of 4 hosts"]),
        ({"replicas": 2, "suspend": True}, ["0: the group is suspended"]),
    ],
)  # fmt: skip
def test_the_count_of_a_group_is_told_with_its_bounds(fields: Json, lines: list[str]) -> None:
    assert list(why(role(sized_cluster(group(**fields)), "worker/g")))[:-2] == lines


def test_a_line_of_why_names_defaults_and_devices() -> None:
    assert "cpu 300m: c 300m (by LimitRange)" in why(role(sized(pod(NONE), around=LIMIT_RANGE)))
    found = sized(claim_template(exactly(count=2)), pod(A, resourceClaims=CLAIMS))
    assert f"{DEVICE} 2: resource claims 2" in why(role(found))


# -- laws ---------------------------------------------------------------------------------------------------------------


@given(value=manifests(), around=surroundings())
def test_there_are_never_fewer_than_the_minimum_nor_more_than_the_maximum(value: Json, around: Surroundings) -> None:
    for each in sized(value, around=around).facts.roles:
        assert 0 <= each.minimum <= each.count
        assert each.maximum is None or each.count <= each.maximum
        least, most = (each.reserved(reserve, with_peak=False) for reserve in ("Minimum", "Maximum"))
        assert least <= each.count <= most
        assert each.count % each.slice_size == each.surge % each.slice_size == 0


@given(value=manifests(), around=surroundings())
def test_an_update_never_needs_less(value: Json, around: Surroundings) -> None:
    found = sized(value, around=around)
    assert all(found.upgrade_peak[name] >= amount for name, amount in found.total.items())
    assert found.upgrade_peak.keys() >= found.total.keys()


@given(value=manifests())
def test_what_a_cluster_adds_never_makes_a_pod_smaller(value: Json) -> None:
    """But for a limit of the pod as a whole, which stands in for requests only until some container, such as a sidecar, has one."""
    more = replace(
        LIMIT_RANGE, head_sidecars=(("a", Resources({"cpu": 1})),), worker_sidecars=(("b", Resources({"cpu": 1})),)
    )
    for bare, full in zip(sized(value).facts.roles, sized(value, around=more).facts.roles, strict=True):
        whole = bare.ask.standing_in() if bare.ask is not None else {}
        own = {name: amount for name, amount in bare.shape.requests.items() if name not in whole}
        assert all(full.shape.requests[name] >= amount for name, amount in own.items())
        assert full.count == bare.count


@given(spec=cluster_specs())
def test_v1alpha1_and_v1_agree_where_both_can_say_it(spec: Json) -> None:
    for old, new in zip(in_kinds(spec, "v1alpha1"), in_kinds(spec, "v1"), strict=True):
        assert roles(sized(old)) == roles(sized(new))


@given(value=manifests(), extra=st.data())
def test_comments_and_the_order_of_keys_do_not_matter(value: Json, extra: st.DataObject) -> None:
    def shuffled(part: Any) -> Any:
        if isinstance(part, list):
            return [shuffled(item) for item in part]
        if isinstance(part, dict):
            return {key: shuffled(part[key]) for key in extra.draw(st.permutations(sorted(part)))}
        return part

    lines = yaml.safe_dump(shuffled(value), sort_keys=False, width=10**6).splitlines()
    marks = extra.draw(st.sets(st.integers(0, len(lines))))
    said = [
        f"{'# requests: {cpu: 99}' if index in marks else ''}\n{line}  # replicas: 9"
        for index, line in enumerate(lines)
    ]
    found = sizes({"app.yaml": "\n".join(said).encode()})
    assert not errors(found)
    [only] = found.objects
    assert roles(only) == roles(sized(value))


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8), CPU, MEMORY),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8) | NAMES, inner, max_size=3)),
    max_leaves=8,
)  # fmt: skip


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterable[tuple[str | int, ...]]:
    """Every path below the root of an object."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inside:
        yield (*path, step)
        yield from places(item, (*path, step))


def put(value: Any, path: tuple[str | int, ...], new: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


@given(value=manifests(), around=surroundings(), data=st.data())
def test_whatever_is_written_ends_in_sizes_or_problems(value: Json, around: Surroundings, data: st.DataObject) -> None:
    value = json.loads(json.dumps(value))
    for _ in range(data.draw(st.integers(1, 2))):
        put(value, data.draw(st.sampled_from(list(places(value)))), data.draw(ANYTHING))
    found = size(value, claim_template(exactly()), around=around)
    assert len(found.objects) <= 1
    document = json.loads(SIZE_FORMATS["json"](found.objects, Options()))
    assert len(document["objects"]) == len(found.objects)
    assert bool(SIZE_FORMATS["text"](found.objects, Options())) is bool(found.objects)
    if [value.get("apiVersion"), value.get("kind")] in SIZED and not errors(found):
        assert len(found.objects) == 1


SIZED = [
    *([f"ray.io/{version}", kind] for kind in ("RayCluster", "RayJob", "RayService") for version in ("v1", "v1alpha1")),
    ["apps/v1", "Deployment"],
    ["v1", "Pod"],
]


# -- the command ------------------------------------------------------------------------------------------------------


def as_text(*found: Sized) -> str:
    return SIZE_FORMATS["text"](found, Options())


JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train, namespace: jobs}
spec:
  rayClusterSpec:
    enableInTreeAutoscaling: true
    headGroupSpec:
      template:
        spec:
          containers:
          - name: head
            resources: {requests: {cpu: 2, memory: 4Gi}}
    workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      minReplicas: 2
      template:
        spec:
          containers:
          - name: worker
            resources: {limits: {cpu: 100m, nvidia.com/gpu: 1}}
"""
TABLE = """\
RayJob jobs/train  job.yaml:1:1
  pods        count  min  max  cpu  memory  nvidia.com/gpu
  head        1      1    1    2.5  4608Mi  -
  worker/gpu  2      2    any  0.2  256Mi   1
  submitter   1      1    1    0.5  200Mi   -
  in all      4                3.4  5320Mi  2
  head
    1: every Ray cluster has one head
    cpu 2500m: head 2 + autoscaler 500m (KubeRay adds it for enableInTreeAutoscaling)
    memory 4608Mi: head 4Gi + autoscaler 512Mi (KubeRay adds it for enableInTreeAutoscaling)
  worker/gpu
    2: replicas 1, raised to minReplicas 2
    2 or more: minReplicas 2, no maxReplicas
    cpu 200m: wait-gcs-ready 200m (init container, KubeRay adds it to every worker); more than the 100m of the containers
    memory 256Mi: wait-gcs-ready 256Mi (init container, KubeRay adds it to every worker); the containers ask for none
    nvidia.com/gpu 1: worker 1 (its limit)
  submitter
    1: submissionMode K8sJobMode by default
    cpu 500m: ray-job-submitter 500m (KubeRay makes it)
    memory 200Mi: ray-job-submitter 200Mi (KubeRay makes it)
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    monkeypatch.chdir(tmp_path)
    return lambda files: write(tmp_path, files)


Here = Callable[[Mapping[str, str]], None]


def names(text: str) -> list[tuple[str, str]]:
    return [(found["file"], found["name"]) for found in json.loads(text)["objects"]]


def test_the_table_of_a_job(here: Here, capfd: Capture) -> None:
    here({"job.yaml": JOB})
    ran = run(capfd, "size", "job.yaml")
    assert (ran.code, ran.out, ran.err) == (0, TABLE, "")
    assert max(map(len, ran.out.splitlines())) < 130


def test_what_is_long_in_kibibytes_is_told_in_gibibytes_as_everywhere(here: Here, capfd: Capture) -> None:
    here({"job.yaml": JOB.replace("memory: 4Gi", "memory: 12G")})
    printed = run(capfd, "size", "job.yaml").out
    assert [line.split()[-2] for line in printed.splitlines()[2:6]] == ["11.6Gi", "256Mi", "200Mi", "12.3Gi"]


GATED = POD.replace("containers", "schedulingGates: [{name: x.io/quota}], containers")
GATES = "gitplacer does not count schedulingGates yet; the fit may be too optimistic"
LEAVE_ROOM = "hint: leave room on the clusters it may go to, or pin it by node selector"


def test_a_warning_that_is_the_same_for_several_documents_is_said_once_and_names_them(
    here: Here, capfd: Capture
) -> None:
    here({"a.yaml": "---\n".join(GATED % name for name in "ab"), "c.yaml": GATED % "c"})
    ran = run(capfd, "size", "a.yaml", "c.yaml")
    assert ran.err == (f"a.yaml:4:8: warning: {GATES}\n  also at a.yaml:9:8 and c.yaml:4:8\n  {LEAVE_ROOM}\n")
    here({"many.yaml": "---\n".join(GATED % f"p{number}" for number in range(9))})
    assert "\n  also at many.yaml:9:8, many.yaml:14:8, many.yaml:19:8, many.yaml:24:8, many.yaml:29:8 and 3 more\n" in (
        run(capfd, "size", "many.yaml").err
    )


def test_an_error_is_said_for_each_document(here: Here, capfd: Capture) -> None:
    here({"a.yaml": "---\n".join(POD.replace("cpu: 1", "cpu: lots") % name for name in "ab")})
    ran = run(capfd, "size", "a.yaml")
    assert [line.partition(" ")[0] for line in ran.err.splitlines() if not line.startswith(" ")] == [
        "a.yaml:4:59:",
        "a.yaml:9:59:",
    ]


def test_what_an_update_needs_has_a_row_where_it_is_more(here: Here, capfd: Capture) -> None:
    service = JOB.replace("RayJob", "RayService").replace("rayClusterSpec", "rayClusterConfig")
    here({"service.yaml": service})
    rows = [line.split()[:4] for line in run(capfd, "size", "service.yaml").out.splitlines()]
    assert ["while", "updating", "6", "5.8"] in rows  # (1 + 2) × 2 pods, (2500 + 2 × 200) × 2
    assert "while" not in {row[0] for row in rows if row and "RayJob" in row}


def test_files_directories_and_stdin(here: Here, capfd: Capture, tmp_path: Path) -> None:
    here(
        {
            "b.yaml": POD % "b",
            "d/z.yml": POD % "z",
            "d/e/a.json": json.dumps(yaml.safe_load(POD % "a")),
            "d/f.YAML": POD % "f",
            "d/notes.md": "# no",
        }
    )
    ran = run(capfd, "size", "--format", "json", "b.yaml", "d", "b.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert names(ran.out) == [("b.yaml", "b"), ("d/e/a.json", "a"), ("d/f.YAML", "f"), ("d/z.yml", "z")]


def test_stdin_is_read_once(here: Here, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    here({"in.yaml": POD % "piped"})
    with Path("in.yaml").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        ran = run(capfd, "size", "--format", "json", "-", "-")
    assert (ran.code, names(ran.out)) == (0, [("<stdin>", "piped")])


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_printed(here: Here, capfd: Capture) -> None:
    here({"pod.yaml": POD % "here"})
    ran = run(capfd, "size", "--format", "json", "nowhere.yaml", "pod.yaml", "")
    assert (ran.code, names(ran.out)) == (1, [("pod.yaml", "here")])
    assert ran.err.splitlines() == ["error: nowhere.yaml: No such file or directory", "error: .: Is a directory"]
    assert "nothing there makes pods" not in run(capfd, "size", "nowhere.yaml").err


def test_a_mistake_in_yaml_is_told_with_its_place_and_the_others_are_printed(here: Here, capfd: Capture) -> None:
    here({"bad.yaml": POD % "first" + "---\nkind: [Pod\n", "pod.yaml": POD % "here"})
    ran = run(capfd, "size", "--format", "json", "bad.yaml", "pod.yaml")
    assert ran.code == 1
    assert ("pod.yaml", "here") in names(ran.out)
    assert re.match(r"bad\.yaml:6:7: .+\n  hint: .+\n", ran.err)


def test_an_object_that_cannot_be_sized_is_told_with_its_place(here: Here, capfd: Capture) -> None:
    here({"job.yaml": JOB.replace("cpu: 2,", "cpu: two,") + "---\n" + POD % "other"})
    ran = run(capfd, "size", "--format", "json", "job.yaml")
    assert (ran.code, names(ran.out)) == (1, [("job.yaml", "other")])
    assert ran.err.startswith(
        'job.yaml:12:41: spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].resources.requests.cpu: "two"'
    )


def test_a_warning_is_told_and_is_no_failure(here: Here, capfd: Capture) -> None:
    here({"pod.yaml": (POD % "p").replace("containers:", "schedulingGates: [{name: g}], containers:")})
    ran = run(capfd, "size", "--format", "json", "pod.yaml")
    assert (ran.code, names(ran.out)) == (0, [("pod.yaml", "p")])
    assert ": warning: " in ran.err


@pytest.mark.parametrize(("output", "printed"), [("text", ""), ("json", '{"objects": []}\n')])
def test_where_nothing_makes_pods_that_is_said(here: Here, capfd: Capture, output: str, printed: str) -> None:
    here({"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "empty/readme.md": ""})
    for name in ("config.yaml", "empty"):
        ran = run(capfd, "size", "--format", output, name)
        assert (ran.code, ran.out, ran.err) == (0, printed, "nothing there makes pods\n")


@pytest.mark.parametrize(
    ("api_version", "kind", "said", "hint"),
    [
        ("ray.io/v1", "Raycluster", "a Raycluster of ray.io", 'did you mean "RayCluster"?'),
        ("v1", "RayJob", "a RayJob", "a RayJob is of ray.io: its apiVersion begins with ray.io/"),
        ("apps/v1", "Deploymnet", "a Deploymnet of apps", 'did you mean "Deployment"?'),
        ("a.dev/v1", "RayClusterFleet", "a RayClusterFleet of a.dev", "a WorkloadKind beside it says what it makes"),
        ("v1", "ConfigMapList", "a ConfigMapList", "write its items one by one"),
        ("batch/v1", "Job", "", ""),
        ("v1", "ConfigMap", "", ""),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "", ""),
        ("kueue.x-k8s.io/v1beta1", "LocalQueue", "", ""),
        ("gitplacer.dev/v1alpha1", "Cluster", "", ""),
        ("kustomize.config.k8s.io/v1beta1", "Kustomization", "", ""),
        ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "", ""),
    ],
)
def test_of_a_kind_that_nobody_knows_it_is_told_that_nothing_is_counted(
    api_version: str, kind: str, said: str, hint: str
) -> None:
    spec = {"template": yaml.safe_load(POD % "p")}
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    found = sizes({"a.yaml": json.dumps(value).encode()})
    told = [(p.code, p.severity, p.message, (p.hint or "").partition(", or as")[0]) for p in found.problems]
    message = f"gitplacer does not know what pods {said} makes, and counts none"
    assert told == ([("NotCounted", Severity.WARNING, message, hint)] if said else [])


def test_a_file_must_be_named(capfd: Capture) -> None:
    ran = run(capfd, "size")
    assert (ran.code, ran.out) == (1, "")
    assert "FILE" in ran.err


def test_the_table_is_the_same_where_no_terminal_is(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    ran = run_apart("size", "job.yaml", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, TABLE, "")


@given(value=manifests())
def test_the_table_tells_the_numbers_of_the_json(value: Json) -> None:
    found = sized(value)
    assume(found.facts.roles)
    rows = [re.split(r"  +", line.strip()) for line in as_text(found).splitlines()]
    for told in shown(found)["pods"]:
        row = next(row for row in rows if row[0] == told["role"] and len(row) > 1)
        assert row[1].split()[0] == str(told["count"])
        assert row[2:4] == [str(told["minCount"]), "any" if told["maxCount"] is None else str(told["maxCount"])]
        assert [cell for cell in row[4:] if cell != "-"] == [
            amount_text(name, quantity.amount(name, told["requests"][name]))
            for name in sorted(told["requests"], key=lambda name: (name not in ("cpu", "memory"), name))
        ]


CLUSTER_FILE = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Cluster
metadata: {name: west}
spec: {profile: {kuberay: {headSidecars: [{name: fluentbit, requests: {cpu: 100m}}]}}}
"""
SNAPSHOT_FILE = """\
apiVersion: gitplacer.dev/v1alpha1
kind: CapacitySnapshot
metadata: {name: west}
observedAt: "2026-01-02T03:04:05Z"
limitRanges: [{namespace: serving, defaultRequest: {ephemeral-storage: 1Gi}}]
"""


def test_the_files_of_a_cluster_say_what_it_adds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    value = raycluster(group(replicas=1))
    value["metadata"]["namespace"] = "serving"
    write(tmp_path, {"app.json": json.dumps(value), "west.yaml": CLUSTER_FILE, "seen.yaml": SNAPSHOT_FILE})
    files = {name: str(tmp_path / name) for name in ("app.json", "west.yaml", "seen.yaml")}

    def head(*clusters: str) -> Json:
        chosen = [word for name in clusters for word in ("--cluster", files[name])]
        done = run(capfd, "size", "--format", "json", *chosen, files["app.json"])
        assert done.code == 0
        [told] = json.loads(done.out)["objects"]
        return dict(told["pods"][0]["requests"])

    assert head() == {"cpu": "2", "memory": "4Gi"}
    assert head("west.yaml") == {"cpu": "2100m", "memory": "4Gi"}
    assert head("seen.yaml") == {"cpu": "2", "ephemeral-storage": "1Gi", "memory": "4Gi"}
    # a sidecar gets its default as every container does
    assert head("west.yaml", "seen.yaml") == {"cpu": "2100m", "ephemeral-storage": "2Gi", "memory": "4Gi"}
    refused = run(capfd, "size", "--cluster", files["app.json"], files["app.json"])
    assert refused.code == 1
    assert "app.json:1:1: is neither" in refused.err
    assert "Traceback" not in refused.err

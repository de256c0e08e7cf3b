"""What objects of a live cluster say, kind by kind, and the law that nothing is counted twice or lost."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.kinds.profile import LimitRange, PriorityClass
from gitplacer.kinds.quotas import QuotaScope, ResourceQuota
from gitplacer.model.labels import Taint
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Identity
from gitplacer.observing import equipment, kuberay, machines
from gitplacer.observing.nodes import NodeSeen, read_seen
from gitplacer.observing.observation import Seen, observation
from gitplacer.observing.pending import reason_of
from gitplacer.observing.placed import Placed
from gitplacer.observing.pods import Recall, read_pod
from gitplacer.observing.states import State, state_of, together
from gitplacer.observing.writing import snapshot_file
from tests.apistandin import Json, checked
from tests.livecluster import OLD_SECRET_WORDS, node, operator, pod, ray, thing

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


# -- why a pod waits ----------------------------------------------------------------------------------------------

HELPLESS = "preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        ("0/4 nodes are available: 4 Insufficient cpu.", "Insufficient cpu"),
        (f"0/9 nodes are available: 1 Insufficient nvidia.com/gpu, 8 Insufficient memory. {HELPLESS}", "Insufficient memory, Insufficient nvidia.com/gpu"),
        ("0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable.", "Insufficient pods, NodeUnschedulable"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {team: red}, preemption: not helpful", "UntoleratedTaint"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint(s).", "UntoleratedTaint"),
        ("0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had volume node affinity conflict.", "NodeAffinity, VolumeNodeAffinity"),
        ("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.", "PodAntiAffinity"),
        ("0/2 nodes are available: 2 node(s) didn't match pod affinity rules.", "PodAffinity"),
        ("0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints (missing required label).", "TopologySpread"),
        ("0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.", "HostPorts"),
        ('persistentvolumeclaim "customer-77-data" not found', "Volume"),
        ("pod has unbound immediate PersistentVolumeClaims", "Volume"),
        ("0/9 nodes are available: 1 Insufficient a.b/c, 1 Insufficient b.b/c, 1 Insufficient cpu, 1 Insufficient memory, 5 node(s) were unschedulable.", "Insufficient a.b/c, Insufficient b.b/c, Insufficient cpu, Insufficient memory"),
        (OLD_SECRET_WORDS, "Unschedulable"),
        ("", "Unschedulable"),
    ],
)  # fmt: skip
def test_why_a_pod_waits_is_told_in_codes(message: str, codes: str) -> None:
    assert reason_of("Unschedulable", message) == codes


def test_a_pod_behind_a_gate_waits_for_that() -> None:
    assert reason_of("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates") == "SchedulingGated"


@settings(max_examples=30)
@given(st.text(max_size=80))
def test_no_word_of_a_message_gets_through(text: str) -> None:
    known = {"Unschedulable", "UntoleratedTaint", "NodeAffinity", "VolumeNodeAffinity", "PodAntiAffinity", "PodAffinity", "TopologySpread",
             "NodeUnschedulable", "HostPorts", "VolumeLimit", "VolumeZone", "Volume", "NodeName", "ResourceClaims"}  # fmt: skip
    codes = reason_of("Unschedulable", f"0/9 nodes are available: 3 {text}").split(", ")
    assert all(code in known or code.startswith("Insufficient ") for code in codes)


# -- how far an object is -----------------------------------------------------------------------------------------


def conditions(**said: str) -> Json:
    return {"conditions": [{"type": key, "status": value} for key, value in said.items()]}


def ray_job(word: str, result: str = "") -> Json:
    return ray("RayJob", "x", status={"jobDeploymentStatus": word, "jobStatus": result})


def replicas(wanted: int, there: int, seen: int = 1, generation: int = 1) -> Json:
    status = {"availableReplicas": there, "observedGeneration": seen}
    return thing("apps/v1", "Deployment", "x", "n", generation=generation, spec={"replicas": wanted}, status=status)


def batch_job(**status: Any) -> Json:
    return thing("batch/v1", "Job", "x", "n", status=status)


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (ray("RayJob", "x"), State("Pending")),
        (ray_job("Initializing"), State("Pending")),
        (ray_job("Waiting"), State("Running")),
        (ray_job("Running", "RUNNING"), State("Running", True)),
        (ray_job("Retrying"), State("Running")),
        (ray_job("Complete", "SUCCEEDED"), State("Succeeded")),
        (ray_job("Complete", "FAILED"), State("Failed")),
        (ray_job("Complete", "STOPPED"), State("Failed")),
        (ray_job("Failed", "FAILED"), State("Failed")),
        (ray_job("ValidationFailed"), State("Failed")),
        (ray_job("Suspending"), State("Running")),
        (ray_job("Suspended"), State("Suspended")),
        (ray_job("SomethingNew"), State("Unknown")),
        (ray("RayCluster", "x", status={"state": "ready", "desiredWorkerReplicas": 2, "readyWorkerReplicas": 2, "observedGeneration": 4}), State("Running", True, 4)),
        (ray("RayCluster", "x", status={**conditions(RayClusterProvisioned="True"), "desiredWorkerReplicas": 2, "readyWorkerReplicas": 1}), State("Running")),
        (ray("RayCluster", "x", status=conditions(RayClusterProvisioned="True", HeadPodReady="False")), State("Running")),
        (ray("RayCluster", "x", status=conditions(RayClusterProvisioned="False")), State("Pending")),
        (ray("RayCluster", "x", status=conditions(RayClusterSuspended="True")), State("Suspended")),
        (ray("RayCluster", "x", status={"state": "suspended"}), State("Suspended")),
        (ray("RayService", "x", status={**conditions(Ready="True", UpgradeInProgress="True"), "observedGeneration": 2}), State("Running", True, 2)),
        (ray("RayService", "x", status=conditions(Ready="False")), State("Pending")),
        (ray("RayService", "x", status={**conditions(Ready="False"), "activeServiceStatus": {"rayClusterName": "x-1"}}), State("Running")),
        (ray("RayService", "x", status={"serviceStatus": "Running"}), State("Running", True)),
        (ray("RayService", "x", status=conditions(Suspended="True")), State("Suspended")),
        (ray("RayCronJob", "x"), State("Running", True)),
        (ray("RayCronJob", "x", spec={"suspend": True}), State("Suspended", True)),
        (ray("RayJob", "x", deletionTimestamp="2026-01-02T03:00:00Z", status={"jobDeploymentStatus": "Running"}), State("Running")),
        (replicas(2, 2), State("Running", True, 1)),
        (replicas(2, 1), State("Running", False, 1)),
        (replicas(2, 0), State("Pending", False, 1)),
        (replicas(0, 0), State("Running", True, 1)),
        (replicas(2, 2, seen=1, generation=2), State("Running", False, 1)),
        (batch_job(), State("Pending")),
        (batch_job(active=1, ready=0), State("Pending")),
        (batch_job(active=1, ready=1), State("Running", True)),
        (batch_job(active=1, failed=1), State("Running")),
        (batch_job(**conditions(Complete="True")), State("Succeeded")),
        (batch_job(**conditions(Failed="True")), State("Failed")),
        (batch_job(**conditions(Suspended="True")), State("Suspended")),
        (thing("apps/v1", "DaemonSet", "x", status={"desiredNumberScheduled": 3, "numberReady": 3}), State("Running", True)),
        (thing("apps/v1", "StatefulSet", "x", spec={"replicas": 3}, status={"readyReplicas": 2}), State("Running")),
        (thing("batch/v1", "CronJob", "x", spec={}), State("Running", True)),
        (thing("jobset.x-k8s.io/v1alpha2", "JobSet", "x", status=conditions(Completed="True")), State("Succeeded")),
        (thing("jobset.x-k8s.io/v1alpha2", "JobSet", "x", spec={"replicatedJobs": [{"replicas": 2}]}, status={"replicatedJobsStatus": [{"ready": 1}]}), State("Running")),
        (thing("x.example/v1", "Odd", "x", status=conditions(Ready="True")), State("Running", True)),
        (thing("x.example/v1", "Odd", "x"), State("Unknown")),
    ],
)  # fmt: skip
def test_an_object_says_how_far_it_is(value: Json, state: State) -> None:
    assert state_of(value) == state


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        ([State("Pending"), State("Running", True)], State("Running")),
        ([State("Running", True, 3), State("Running", True)], State("Running", True, 3)),
        ([State("Running", True, 3), State("Running", True, 4)], State("Running", True)),
        ([State("Succeeded"), State("Running", True)], State("Running", True)),
        ([State("Succeeded"), State("Failed")], State("Failed")),
        ([State("Succeeded"), State("Succeeded")], State("Succeeded")),
        ([State("Pending"), State("Unknown")], State("Unknown")),
        ([State("Pending"), State("Succeeded")], State("Pending")),
    ],
)
def test_a_group_is_as_far_as_nothing_in_it_denies(states: list[State], whole: State) -> None:
    assert together(states) == whole


# -- KubeRay ------------------------------------------------------------------------------------------------------


def told(*deployments: Json) -> tuple[Any, Any]:
    return kuberay.agreed([found for each in deployments if (found := kuberay.operator_of(each)) is not None])


@pytest.mark.parametrize(
    ("deployment", "settings_", "scheduler"),
    [
        (operator(), {"version": "v1.4.2", "watch_namespaces": ()}, "none"),
        (operator("mirror.example:5000/kuberay/operator:1.7.0-rc.0@sha256:ab"), {"version": "1.7.0-rc.0"}, "none"),
        (operator("quay.io/kuberay/operator@sha256:ab"), {"version": None}, "none"),
        (operator("quay.io/kuberay/operator:nightly"), {"version": None}, "none"),
        (operator(args=["--feature-gates=RayCronJob=true,RayJobDeletionPolicy=False"]), {"feature_gates": {"RayCronJob": True, "RayJobDeletionPolicy": False}}, "none"),
        (operator(args=["--feature-gates", "A=true"]), {"feature_gates": {"A": True}}, "none"),
        (operator(args=["--watch-namespace=b,a"]), {"watch_namespaces": ("a", "b")}, "none"),
        (operator(args=["--batch-scheduler=kai-scheduler"]), {}, "kai"),
        (operator(args=["--enable-batch-scheduler=true"]), {}, "volcano"),
        (operator(args=["--batch-scheduler=mine"]), {}, None),
        (operator(env={"ENABLE_INIT_CONTAINER_INJECTION": "false", "ENABLE_ZERO_DOWNTIME": "0"}), {"init_container_injection": False, "zero_downtime": False}, "none"),
        (operator(env={"ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE": "true", "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "TRUE"}), {"head_cluster_ip_service": True, "deletes_finished_jobs": True}, "none"),
        (operator(env={"ENABLE_ZERO_DOWNTIME": "perhaps"}), {"zero_downtime": None}, "none"),
    ],
)  # fmt: skip
def test_the_operator_is_told_by_its_deployment(deployment: Json, settings_: dict[str, Any], scheduler: Any) -> None:
    found, batch = told(deployment)
    assert {name: getattr(found, name) for name in settings_} == settings_
    assert batch == scheduler


def test_another_operator_is_not_taken_for_kuberay() -> None:
    other = operator("quay.io/strimzi/operator:0.40.0")
    for labels in (other["metadata"]["labels"], other["spec"]["template"]["metadata"]["labels"]):
        labels.clear()
    assert told(other) == (None, None)


def test_two_operators_say_what_both_say() -> None:
    found, scheduler = told(
        operator(args=["--watch-namespace=a"]),
        operator("x/kuberay/operator:v1.5.0", args=["--watch-namespace=b", "--batch-scheduler=volcano"]),
    )
    assert (found.version, found.watch_namespaces, scheduler) == (None, ("a", "b"), None)
    assert told(operator(), operator(args=["--watch-namespace=b"]))[0].watch_namespaces == ()


CONFIG = """
apiVersion: config.ray.io/v1alpha1
kind: Configuration
batchScheduler: yunikorn
watchNamespace: ray
featureGates: {RayCronJob: true}
workerSidecarContainers:
- {name: log, image: i, resources: {requests: {cpu: 50m}, limits: {memory: 64Mi}}}
"""


def test_a_configuration_file_counts_instead_of_flags() -> None:
    deployment = operator(
        args=["--config=/etc/kuberay/config.yaml", "--batch-scheduler=volcano"],
        volumeMounts=[{"name": "config", "mountPath": "/etc/kuberay"}],
        volumes=[{"name": "config", "configMap": {"name": "kuberay-config"}}],
    )
    checked({("apps", "deployments"): [deployment]})
    found = kuberay.operator_of(deployment)
    assert found is not None
    assert (found.config, found.scheduler) == (("ray-system", "kuberay-config", "config.yaml"), None)
    full = kuberay.with_config(found, CONFIG)
    assert (full.scheduler, full.settings.watch_namespaces, full.settings.feature_gates) == (
        "yunikorn",
        ("ray",),
        {"RayCronJob": True},
    )
    [sidecar] = full.settings.worker_sidecars or ()
    assert (sidecar.name, sidecar.requests.rendered()) == ("log", {"cpu": "50m", "memory": "64Mi"})
    assert full.settings.head_sidecars is None
    assert kuberay.with_config(found, "a: [") == found


@pytest.mark.parametrize("name", ["../secrets/y", "..", "a/b", "a?b", "A", "%2e%2e", ""])
def test_a_configuration_that_no_config_map_can_hold_is_not_looked_for(name: str) -> None:
    """Whoever may make a Deployment would have us read anything of the API, with our rights."""
    deployment = operator(
        args=["--config=/etc/kuberay/config.yaml"],
        volumeMounts=[{"name": "config", "mountPath": "/etc/kuberay"}],
        volumes=[{"name": "config", "configMap": {"name": name}}],
    )
    found = kuberay.operator_of(deployment)
    assert found is not None and found.config is None


# -- what autoscalers say -----------------------------------------------------------------------------------------

TEXT = """Cluster-autoscaler status at 2026-01-02 03:04:05.1 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=3 unready=0 notStarted=0 longNotStarted=0 registered=3 longUnregistered=0)
  ScaleUp:     NoActivity (ready=3 registered=3)

NodeGroups:
  Name:        https://www.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/gke-c-gpu-1a2b-grp
  Health:      Healthy (ready=1 unready=0 notStarted=0 longNotStarted=0 registered=1 longUnregistered=0 cloudProviderTarget=2 (minSize=1, maxSize=9))
               LastProbeTime:      2026-01-02 03:04:05 +0000 UTC
               LastTransitionTime: 2026-01-01 00:00:00 +0000 UTC
  ScaleUp:     Backoff (ready=1 cloudProviderTarget=2)
               LastProbeTime:      2026-01-02 03:04:05 +0000 UTC
               LastTransitionTime: 2026-01-02 03:00:00.5 +0000 UTC

  Name:        eks-cpu-12ab
  Health:      Healthy (ready=0 unready=0 (resourceUnready=0) notStarted=0 longNotStarted=0 registered=0 longUnregistered=0 cloudProviderTarget=0 (minSize=0, maxSize=4))
  ScaleUp:     NoActivity (ready=0 cloudProviderTarget=0)
"""
YAML = """
time: 2026-01-02 03:04:05.1 +0000 UTC
autoscalerStatus: Running
nodeGroups:
- name: https://www.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/gke-c-gpu-1a2b-grp
  health: {status: Healthy, nodeCounts: {registered: {total: 1, ready: 1}}, cloudProviderTarget: 2, minSize: 1, maxSize: 9}
  scaleUp:
    status: Backoff
    backoffInfo: {errorCode: QUOTA_EXCEEDED, errorMessage: "project customer-77 has no more"}
    lastTransitionTime: "2026-01-02T03:00:00.5Z"
- name: eks-cpu-12ab
  health: {status: Healthy, cloudProviderTarget: 0, minSize: 0, maxSize: 4}
  scaleUp: {status: NoActivity}
"""


@pytest.mark.parametrize(("text", "code"), [(TEXT, "Backoff"), (YAML, "QUOTA_EXCEEDED")], ids=["text", "yaml"])
def test_cluster_autoscaler_tells_its_node_groups(text: str, code: str) -> None:
    gpu = node(
        "gke-c-gpu-1a2b-x9yz",
        offers={"nvidia.com/gpu": "1"},
        taints=[{"key": "gpu", "effect": "NoSchedule"}],
        pool="gpu",
        **{"topology.kubernetes.io/zone": "z"},
    )
    nodes = [read_seen(each) for each in (gpu, node("other"))]
    overheads = {"gke-c-gpu-1a2b-x9yz": Resources({"cpu": 300, "pods": 4})}
    first, second = sorted(
        machines.node_groups(machines.group_statuses(text), nodes, overheads), key=lambda group: group.name
    )
    assert (first.name, first.min, first.max, first.count, first.allocatable) == ("eks-cpu-12ab", 0, 4, 0, None)
    assert (second.name, second.min, second.max, second.count) == ("gke-c-gpu-1a2b-grp", 1, 9, 2)
    assert second.exhausted is not None
    assert (second.exhausted.code, second.exhausted.since) == (code, datetime(2026, 1, 2, 3, 0, tzinfo=UTC))
    assert (second.node_type, second.overhead.rendered()) == ("m5.2xlarge", {"cpu": "300m", "pods": "4"})
    assert second.labels == {"node.kubernetes.io/instance-type": "m5.2xlarge", "pool": "gpu"}
    assert [taint.taint() for taint in second.taints] == [Taint("gpu", "", "NoSchedule")]


ILL = "  Health:      Unhealthy (ready=0 unready=0 (resourceUnready=0)"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (TEXT, ["", "Backoff"]),
        (TEXT.replace("  Health:      Healthy (ready=0 unready=0 (resourceUnready=0)", ILL), ["Unhealthy", "Backoff"]),
        (TEXT.replace("Healthy (ready=3", "Unhealthy (ready=3"), ["Unhealthy", "Backoff"]),
        (YAML, ["", "QUOTA_EXCEEDED"]),
        (YAML.replace("{status: Healthy, cloudProviderTarget: 0", "{status: Unhealthy, cloudProviderTarget: 0"), ["Unhealthy", "QUOTA_EXCEEDED"]),
        (YAML.replace("status: NoActivity", "status: Unhealthy"), ["Unhealthy", "QUOTA_EXCEEDED"]),
        (YAML + "clusterWide: {health: {status: Unhealthy}}\n", ["Unhealthy", "QUOTA_EXCEEDED"]),
    ],
)  # fmt: skip
def test_of_what_is_not_well_the_autoscaler_adds_nothing(text: str, codes: list[str]) -> None:
    assert [group.backoff for group in sorted(machines.group_statuses(text), key=lambda group: group.most)] == codes


@pytest.mark.parametrize(
    ("group", "name", "labels", "is_of"),
    [
        ("eks-cpu-12ab", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, True),
        ("eks-cpu-large-12ab", "ip-1", {"eks.amazonaws.com/nodegroup": "gpu"}, False),
        ("eks-cpu-56b5a6ba-0c1c-4ab2-8b1c-4fa2b7a2a9a5", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, True),
        ("eks-cpu-large-56b5a6ba-0c1c-4ab2-8b1c-4fa2b7a2a9a5", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, False),
        ("eks-cpu-large-12ab", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, False),
        ("eksctl-c-nodegroup-cpu-large-NodeGroup-1X", "ip-1", {"alpha.eksctl.io/nodegroup-name": "cpu"}, False),
        ("cpu-20230102030405678900000001", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, True),
        ("cpu-large", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, False),
        ("cpu", "ip-1", {"eks.amazonaws.com/nodegroup": "cpu"}, True),
        ("eksctl-c-nodegroup-cpu-NodeGroup-1X", "ip-1", {"alpha.eksctl.io/nodegroup-name": "cpu"}, True),
        ("aks-cpu-123-vmss", "aks-cpu-123-vmss000001", {}, True),
        ("aks-cpu-123-vmss", "aks-cpu2-123-vmss000001", {}, False),
    ],
)
def test_a_node_is_known_by_its_group(group: str, name: str, labels: dict[str, str], is_of: bool) -> None:
    statuses = [machines.GroupStatus(group, 0, 5, 1)]
    [found] = machines.node_groups(statuses, [read_seen(node(name, **labels))], {})
    assert (found.allocatable is not None) == is_of


@pytest.mark.parametrize("text", ["", "NodeGroups:\n", "nodeGroups: 3", "nodeGroups: [", "status: fine"])
def test_a_status_that_says_nothing_is_nothing(text: str) -> None:
    assert machines.group_statuses(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "NodeGroups:" + "\n" * 1_000_000,
        "NodeGroups:\n  Name: a\n"
        + " " * 1_000_000
        + "cloudProviderTarget=1 (minSize=1, maxSize=2)"
        + "\t" * 1_000_000,
        "NodeGroups:\n  Name: a\n cloudProviderTarget=" + "9" * 5000 + " (minSize=1, maxSize=2)",
    ],
    ids=["lines", "blanks", "digits"],
)
def test_a_status_is_read_in_one_go_however_long_it_is(text: str) -> None:
    """Each blank of a run was tried as the first of it, which is an hour for as many as a ConfigMap holds."""
    assert len(machines.group_statuses(text)) <= 1


def test_karpenter_is_told_by_its_nodes_within_the_limits_of_its_pools() -> None:
    def made(name: str, pool: str, kind: str, capacity: str) -> NodeSeen:
        return read_seen(
            node(
                name,
                **{
                    "karpenter.sh/nodepool": pool,
                    "node.kubernetes.io/instance-type": kind,
                    "karpenter.sh/capacity-type": capacity,
                },
            )
        )

    pools = dict(
        filter(None, (machines.pool_limits(thing("karpenter.sh/v1", "NodePool", name, **more)) for name, more in (
            ("small", {"spec": {"limits": {"cpu": "80", "nodes": "30"}}}),
            ("free", {"spec": {}}),
            ("going", {"spec": {}, "deletionTimestamp": "2026-01-02T03:00:00Z"}),
        )))
    )  # fmt: skip
    nodes = [
        made("a", "small", "m5.2xlarge", "spot"),
        made("b", "small", "m5.2xlarge", "on-demand"),
        made("c", "free", "g5.xlarge", "on-demand"),
        made("d", "going", "x", "spot"),
    ]
    found = {group.name: group for group in machines.karpenter_types(pools, nodes, {})}
    assert set(found) == {"m5.2xlarge", "m5.2xlarge-spot", "g5.xlarge"}
    assert (found["m5.2xlarge"].max, found["g5.xlarge"].max) == (
        9,
        None,
    )  # 80 cpu of 7.91 each, of which each type has one
    assert (found["m5.2xlarge-spot"].spot, found["m5.2xlarge-spot"].node_type) == (True, "m5.2xlarge")


@pytest.mark.parametrize(
    ("limits", "others", "most"),
    [
        ({"cpu": "80"}, 0, 10),
        ({"cpu": "95"}, 0, 11),  # a node counts with its 8 cpu, and not with the 7.91 that it offers
        ({"cpu": "80"}, 4, 6),  # those of another type count as well
        ({"cpu": "80"}, 20, 1),  # beyond its limits a pool launches nothing
        ({"nodes": "5"}, 2, 3),
        ({"cpu": "80", "nodes": "3"}, 1, 2),
        ({"nvidia.com/gpu": "4"}, 1, None),
        ({}, 3, None),
    ],
)
def test_what_a_pool_has_already_counts_against_its_limits(
    limits: dict[str, str], others: int, most: int | None
) -> None:
    def made(name: str, kind: str) -> NodeSeen:
        value = node(name, **{"karpenter.sh/nodepool": "p", "node.kubernetes.io/instance-type": kind})
        value["status"]["capacity"] = {**value["status"]["capacity"], "cpu": "8"}
        return read_seen(value)

    pool = machines.pool_limits(thing("karpenter.sh/v1", "NodePool", "p", spec={"limits": limits}))
    assert pool is not None
    nodes = [
        read_seen(node("of-nobody")),
        made("a", "m5.2xlarge"),
        *(made(f"b{number}", "c5.2xlarge") for number in range(others)),
    ]
    pools = {**dict([pool]), "": pool[1]}
    found = {group.name: group for group in machines.karpenter_types(pools, nodes, {})}
    assert found["m5.2xlarge"].max == most


# -- what else there is -------------------------------------------------------------------------------------------


def test_what_is_added_to_pods_is_told() -> None:
    ranges = [
        thing("v1", "LimitRange", "l", "ray", spec={"limits": [
            {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}, "min": {"cpu": "10m"}, "max": {"cpu": "4"}, "maxLimitRequestRatio": {"memory": "1.5"}},
            {"type": "Pod", "max": {"cpu": "8"}},
            {"type": "PersistentVolumeClaim", "max": {"storage": "8Gi"}},
        ]}),
        thing("v1", "LimitRange", "pods-only", "tools", spec={"limits": [{"type": "Pod", "max": {"cpu": "8"}}]}),
    ]  # fmt: skip
    quotas = [
        thing("v1", "ResourceQuota", "pods", "ray", spec={"hard": {"pods": "9"}}, status={
            "hard": {"pods": "4", "requests.cpu": "2500m", "limits.memory": "1Gi", "count/services": "3", "requests.storage": "1Ti"},
            "used": {"pods": "1", "requests.cpu": "0", "count/services": "3"},
        }),
        thing("v1", "ResourceQuota", "high", "a", spec={"hard": {"requests.nvidia.com/gpu": "8"}, "scopes": ["NotBestEffort"], "scopeSelector": {
            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}),
        thing("v1", "ResourceQuota", "objects", "a", spec={"hard": {"configmaps": "8", "fast.storageclass.storage.k8s.io/requests.storage": "1Gi"}}),
    ]  # fmt: skip
    classes = [
        thing("node.k8s.io/v1", "RuntimeClass", "gvisor", handler="runsc", overhead={"podFixed": {"cpu": "250m"}}, scheduling={"nodeSelector": {"sandbox": "true"}, "tolerations": [{"key": "s", "operator": "Exists"}]}),
        thing("node.k8s.io/v1", "RuntimeClass", "a", handler="a"),
    ]  # fmt: skip
    priorities = [
        thing("scheduling.k8s.io/v1", "PriorityClass", "usual", value=3, globalDefault=True),
        thing("scheduling.k8s.io/v1", "PriorityClass", "high", value=7, preemptionPolicy="Never"),
        thing("scheduling.k8s.io/v1", "PriorityClass", "system-node-critical", value=2_000_001_000),
    ]
    storage = [
        thing("storage.k8s.io/v1", "StorageClass", "zonal", provisioner="p", annotations={"storageclass.kubernetes.io/is-default-class": "true"},
              allowedTopologies=[{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a", "b"]}]}]),
        thing("storage.k8s.io/v1", "StorageClass", "any", provisioner="p"),
    ]  # fmt: skip
    checked(
        {
            ("", "limitranges"): ranges,
            ("", "resourcequotas"): quotas,
            ("node.k8s.io", "runtimeclasses"): classes,
            ("scheduling.k8s.io", "priorityclasses"): priorities,
            ("storage.k8s.io", "storageclasses"): storage,
        }
    )
    limit, *of_pods = equipment.limit_ranges(ranges)
    assert [(each.namespace, each.name, each.type, each.max) for each in of_pods] == [
        ("ray", "l", "Pod", {"cpu": 8000}),
        ("tools", "pods-only", "Pod", {"cpu": 8000}),
    ]
    assert limit == LimitRange(
        namespace="ray",
        name="l",
        default={"cpu": "4", "memory": "1Gi"},
        default_request={"cpu": "100m", "memory": "1Gi"},
        min={"cpu": "10m"},
        max={"cpu": "4"},
        max_limit_request_ratio={"memory": "1.5"},
    )
    a, gvisor = equipment.runtime_classes(classes)
    assert (a.name, gvisor.overhead.rendered(), gvisor.node_selector, gvisor.tolerations[0].key) == (
        "a",
        {"cpu": "250m"},
        {"sandbox": "true"},
        "s",
    )
    assert equipment.priority_classes(priorities) == (
        PriorityClass(name="high", value=7, preemption_policy="Never"),
        PriorityClass(name="usual", value=3, global_default=True),
    )
    assert equipment.resource_quotas(quotas) == (
        ResourceQuota(
            namespace="a",
            name="high",
            hard={"requests.nvidia.com/gpu": "8"},
            scopes=(
                QuotaScope(scope_name="NotBestEffort"),
                QuotaScope(scope_name="PriorityClass", operator="In", values=("high",)),
            ),
        ),
        ResourceQuota(
            namespace="a",
            name="objects",
            hard={"configmaps": "8", "fast.storageclass.storage.k8s.io/requests.storage": "1Gi"},
        ),
        ResourceQuota(
            namespace="ray",
            name="pods",
            hard={
                "count/services": "3",
                "limits.memory": "1Gi",
                "pods": "4",
                "requests.cpu": "2500m",
                "requests.storage": "1Ti",
            },
            used={"count/services": "3", "pods": "1", "requests.cpu": "0"},
        ),
    )
    any_, zonal = equipment.storage_classes(storage)
    assert (any_.default, any_.reach(), zonal.default) == (False, (), True)
    assert zonal.reach()[0][0].labels[0].values == ("a", "b")


def test_groups_of_kubernetes_itself_are_not_told() -> None:
    groups = {"groups": [
        {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]},
        {"name": "ray.io", "versions": [{"groupVersion": "ray.io/v1alpha1", "version": "v1alpha1"}, {"groupVersion": "ray.io/v1", "version": "v1"}], "preferredVersion": {"version": "v1"}},
    ]}  # fmt: skip
    assert equipment.served(groups) == ("ray.io/v1", "ray.io/v1alpha1")
    assert equipment.versions(groups, "ray.io") == ("v1", "v1alpha1")
    assert equipment.versions(groups, "karpenter.sh") == ()


# -- the law ------------------------------------------------------------------------------------------------------

RAY_JOB = ray("RayJob", "train")
RAY_CLUSTER = ray("RayCluster", "train-abcde", owner=RAY_JOB)
PLACED = Placed({Identity("ray.io", "RayJob", "ray", "train"): "ray/train"})
AMOUNTS = st.integers(0, 4000)


@st.composite
def live_pods(draw: st.DrawFn) -> tuple[list[Json], list[Json]]:
    """Nodes, and pods on them: ours and others', waiting, ended, with init containers, sidecars, overhead."""
    nodes = [node(f"n{number}") for number in range(draw(st.integers(1, 5)))]
    pods = []
    for number in range(draw(st.integers(0, 12))):

        def container(name: str, **more: Any) -> Json:
            cpu, memory = draw(AMOUNTS), draw(AMOUNTS)
            return {
                "name": name,
                "image": "i",
                "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}"}},
                **more,
            }

        spec: Json = {"containers": [container(f"c{index}") for index in range(draw(st.integers(1, 2)))]}
        inits = [
            container(f"i{index}", **draw(st.sampled_from(({}, {"restartPolicy": "Always"}))))
            for index in range(draw(st.integers(0, 3)))
        ]
        spec |= {"initContainers": inits} if inits else {}
        spec |= {"overhead": {"cpu": f"{draw(AMOUNTS)}m"}} if draw(st.booleans()) else {}
        where = draw(st.sampled_from(["", *(each["metadata"]["name"] for each in nodes)]))
        ended = draw(st.sampled_from(["", "", "Succeeded", "Failed"])) if where else ""
        pods.append(
            pod(f"p{number}", "ray", on=where, phase=ended, owner=draw(st.sampled_from((None, RAY_CLUSTER))), **spec)
        )
    return nodes, pods


def counted(value: Json) -> tuple[int, int]:
    """CPU (milli) and memory that a pod holds, added up as Kubernetes' documentation has it: the larger of what runs and what starts."""
    spec, best = value["spec"], []
    for index, unit in ((0, "cpu"), (1, "memory")):

        def asks(item: Json, unit: str = unit) -> int:
            return int(item["resources"]["requests"][unit].removesuffix("m"))

        sidecars, peak = 0, 0
        for item in spec.get("initContainers", ()):
            if item.get("restartPolicy") == "Always":
                sidecars += asks(item)
                peak = max(peak, sidecars)
            else:
                peak = max(peak, sidecars + asks(item))
        running = sidecars + sum(asks(item) for item in spec["containers"])
        overhead = int(spec.get("overhead", {}).get("cpu", "0m").removesuffix("m")) if index == 0 else 0
        best.append(max(running, peak) + overhead)
    return best[0], best[1]


@settings(max_examples=60)
@given(found=live_pods(), seed=st.integers(0, 9))
def test_every_pod_that_holds_room_is_counted_once(found: tuple[list[Json], list[Json]], seed: int) -> None:
    nodes, pods = found
    recall = Recall()
    read = [seen for value in pods if (seen := read_pod(value, recall)) is not None]
    owners = {Identity("ray.io", "RayCluster", "ray", "train-abcde"): Identity("ray.io", "RayJob", "ray", "train")}
    snapshot = observation(
        Seen(nodes=[*map(read_seen, nodes)], pods=read, owners=dict(owners)), PLACED, cluster="a", now=AT
    )

    expected: Counter[str] = Counter()
    for value in pods:
        if value["spec"].get("nodeName") and value["status"]["phase"] not in ("Succeeded", "Failed"):
            cpu, memory = counted(value)
            expected.update(cpu=cpu, memory=memory, pods=1)
    total: Counter[str] = Counter()
    for entry in snapshot.nodes:
        for name in ("cpu", "memory", "pods"):
            total[name] += entry.count * entry.used.get(name, 0)
    for group in snapshot.groups:
        for running in group.pods:
            if running.node is not None:
                total.update(cpu=running.requests.get("cpu", 0), memory=running.requests.get("memory", 0), pods=1)
    assert +total == +expected

    assert sum(entry.count for entry in snapshot.nodes) == len(nodes)
    with_groups = {running.node for group in snapshot.groups for running in group.pods if running.node}
    assert all(entry.count == 1 for entry in snapshot.nodes if entry.name in with_groups)
    assert with_groups <= {entry.name for entry in snapshot.nodes}
    waiting = sum(not value["spec"].get("nodeName") and "ownerReferences" in value["metadata"] for value in pods)
    assert waiting == sum(running.node is None for group in snapshot.groups for running in group.pods)

    lot = random.Random(seed)
    lot.shuffle(nodes), lot.shuffle(read)
    again = observation(
        Seen(nodes=[*map(read_seen, nodes)], pods=read, owners=dict(owners)), PLACED, cluster="a", now=AT
    )
    assert snapshot_file(again) == snapshot_file(snapshot)


def test_folding_keeps_what_each_node_is() -> None:
    """Unfolded by hand, entries are the nodes that went in."""
    nodes = [read_seen(node(f"n{number}", kind=str(number % 2))) for number in range(6)]
    snapshot = observation(Seen(nodes=nodes), Placed(), cluster="a", now=AT)
    assert [(entry.name, entry.count) for entry in snapshot.nodes] == [("n0", 3), ("n1", 3)]
    unfolded = Counter(
        (tuple(sorted(entry.labels.items())), entry.allocatable) for entry in snapshot.nodes for _ in range(entry.count)
    )
    assert unfolded == Counter((each.labels, each.allocatable) for each in nodes)


def nominated(name: str, at: str, cpu: str, **fields: Any) -> Json:
    """A pod for which others are preempted on a node, and that waits for them to go."""
    value = pod(name, cpu=cpu, **fields)
    value["status"]["nominatedNodeName"] = at
    return value


@pytest.mark.parametrize(
    ("pods", "used"),
    [
        ([nominated("p", "n", "3")], 3000),
        ([pod("q", on="n", cpu="2"), nominated("p", "n", "3")], 5000),
        ([pod("leaves", on="n", cpu="6"), nominated("p", "n", "6")], 7910),  # not more than there is
        ([pod("beyond", on="n", cpu="9"), nominated("p", "n", "6")], 9000),
        ([nominated("p", "gone", "3")], 0),
        ([pod("p", cpu="3")], 0),
    ],
)
def test_room_that_is_made_for_a_pod_is_not_free(pods: list[Json], used: int) -> None:
    """kube-scheduler gives it to no pod that does not outrank it, and `fit` neither."""
    read = [seen for value in pods if (seen := read_pod(value, Recall())) is not None]
    [entry] = observation(Seen(nodes=[read_seen(node("n"))], pods=read), Placed(), cluster="a", now=AT).nodes
    assert entry.used.get("cpu", 0) == used


def of_daemon_set(
    name: str, at: str, cpu: str, why: str = "0/3 nodes are available: 3 Insufficient cpu.", **fields: Any
) -> Json:
    """A pod of a DaemonSet that has not come to its node yet."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [at]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    return pod(name, "kube-system", cpu=cpu, why=why, affinity=affinity, **fields)


@pytest.mark.parametrize(
    ("pods", "used"),
    [
        ([of_daemon_set("p", "n", "3")], 3000),
        ([of_daemon_set("p", "n", "3"), of_daemon_set("q", "n", "4")], 7000),
        ([of_daemon_set("p", "n", "3"), of_daemon_set("q", "n", "5")], 3000),  # one of them is stuck
        ([pod("r", on="n", cpu="6"), of_daemon_set("p", "n", "3")], 6000),  # and this one, until the other goes
        ([of_daemon_set("p", "n", "900")], 0),  # nor will this ever come
        ([of_daemon_set("p", "gone", "3")], 0),
        ([of_daemon_set("p", "n", "3", why="0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.")], 3000),
        ([of_daemon_set("p", "n", "3", why="0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 node(s) didn't match Pod's node affinity/selector.")], 0),
        ([of_daemon_set("p", "n", "3", why="0/1 nodes are available: persistentvolumeclaim \"x\" not found.")], 0),
        ([nominated("m", "n", "6"), of_daemon_set("p", "n", "3")], 6000),
    ],
)  # fmt: skip
def test_the_room_of_a_daemon_that_has_not_come_yet_is_not_free(pods: list[Json], used: int) -> None:
    """A node that has just joined looked empty, and the daemons that come first took the room of a gang that was promised it."""
    read = [seen for value in pods if (seen := read_pod(value, Recall())) is not None]
    for order in (read, read[::-1]):
        [entry] = observation(Seen(nodes=[read_seen(node("n"))], pods=order), Placed(), cluster="a", now=AT).nodes
        assert entry.used.get("cpu", 0) == used


def test_a_pod_that_may_go_to_several_nodes_holds_nothing_of_any() -> None:
    value = of_daemon_set("p", "n", "3")
    terms = value["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    terms.append({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]})
    read = read_pod(value, Recall())
    assert read is not None and read.pinned == ""


def test_a_pod_for_which_room_is_made_is_minded_there() -> None:
    waits = nominated("p", "n", "1", containers=[{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}])
    read = read_pod(waits, Recall())
    assert read is not None
    [entry] = observation(Seen(nodes=[read_seen(node("n"))], pods=[read]), Placed(), cluster="a", now=AT).nodes
    assert [port.port for each in entry.pods for port in each.host_ports] == [80]


def test_a_pod_that_is_being_deleted_is_told_as_such() -> None:
    """It holds its room and its ports until it is gone, and is none to be spread over any more."""
    ports = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    stays, goes = (pod(name, on=name, containers=ports) for name in ("n", "m"))
    goes["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    read = [seen for value in (stays, goes) if (seen := read_pod(value, Recall())) is not None]
    nodes = [read_seen(node(name)) for name in ("n", "m")]
    entries = observation(Seen(nodes=nodes, pods=read), Placed(), cluster="a", now=AT).nodes
    assert {entry.name: [each.terminating for each in entry.pods] for entry in entries} == {"n": [False], "m": [True]}
    placed = Placed(
        groups={
            Identity("", "Pod", each["metadata"]["namespace"], each["metadata"]["name"]): "ns/g"
            for each in (stays, goes)
        }
    )
    [group] = observation(Seen(nodes=nodes, pods=read), placed, cluster="a", now=AT).groups
    assert sorted((each.node, each.terminating) for each in group.pods) == [("m", True), ("n", False)]


@pytest.mark.parametrize(
    "wrong",
    [
        {("", "nodes"): node("n", offers={"nvidia.com/gpu": "many"})},
        {("", "pods"): pod("p", on="n", cpu="much")},
    ],
)
def test_a_node_of_which_nobody_knows_what_is_free_is_not_ready(wrong: dict[tuple[str, str], Json]) -> None:
    """To take what cannot be read for nothing would sell its room twice."""
    value = read_pod(wrong.get(("", "pods"), pod("p", on="n")), Recall())
    assert value is not None
    nodes = [read_seen(wrong.get(("", "nodes"), node("n"))), read_seen(node("other"))]
    found = observation(Seen(nodes=nodes, pods=[value]), Placed(), cluster="a", now=AT)
    assert [(entry.name, entry.ready) for entry in found.nodes] == [("n", False), ("other", True)]


def test_a_node_that_is_there_twice_is_one() -> None:
    """Folded with itself it would be two, with twice the room."""
    nodes = [read_seen(node("n")), read_seen(node("n", ready="False"))]
    for seen in (nodes, [nodes[0], nodes[0]]):
        snapshot = observation(Seen(nodes=seen), Placed(), cluster="a", now=AT)
        assert [(entry.count, entry.ready) for entry in snapshot.nodes] == [(1, seen[-1].ready)]


def test_a_pod_is_told_by_what_it_holds_while_it_is_resized() -> None:
    """The larger of what it asks for and what it has."""
    value = pod("p", on="n", cpu="1")
    value["status"]["containerStatuses"] = [
        {
            "name": "c",
            "image": "i",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "resources": {"requests": {"cpu": "3"}},
        }
    ]
    found = read_pod(value, Recall())
    assert found is not None
    assert Fraction(found.requests["cpu"], 1000) == 3


def test_values_that_no_label_can_have_select_nothing() -> None:
    """Old objects have them; an API server took them once."""

    def terms(*values: str, operator: str = "In") -> Json:
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}}
        ]}}  # fmt: skip

    def selected(affinity: Json) -> Any:
        found = read_pod(pod("p", on="n", affinity=affinity), Recall())
        assert found is not None
        snapshot = observation(Seen(nodes=[read_seen(node("n"))], pods=[found]), Placed(), cluster="a", now=AT)
        return snapshot.nodes[0].pods[0].terms()[0].selector.requirements

    assert selected(terms("no label", "db"))[0].values == ("db",)
    assert selected(terms("no label")) is None
    assert selected(terms("no label", operator="NotIn")) == ()

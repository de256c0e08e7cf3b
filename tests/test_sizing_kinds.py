"""Which pods each kind becomes. The arithmetic is in the tables: head + Σ clamp(replicas) × numOfHosts + submitter."""

from __future__ import annotations

import json
import pickle
import random
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.model.labels import is_label_value
from gitplacer.model.resources import Resources
from gitplacer.problems import Problem
from gitplacer.workloads.facts import at
from tests.jsonvalues import reordered

MI = 2**20
GI = 2**30
G = 10**9

TRAIN = """\
# three of these are made from one template
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: rayjob-train
  namespace: rayjob3
spec:
  entrypoint: python /home/ray/train.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    rayVersion: "2.52.0"
    headGroupSpec:
      rayStartParams: {dashboard-host: "0.0.0.0"}
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources:
              limits: {cpu: "4", memory: 12G}
              requests: {cpu: "4", memory: 12G}
    workerGroupSpecs:
    - groupName: small-group
      replicas: 2
      minReplicas: 1
      maxReplicas: 5
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists}]
          containers:
          - name: ray-worker
            image: rayproject/ray:2.52.0-gpu
            resources:
              limits: {cpu: "4", memory: 12G, nvidia.com/gpu: 1}
              requests: {cpu: "4", memory: 12G}
"""


def read_text(text: str) -> tuple[workloads.ObjectFacts, list[Problem]]:
    data = textwrap.dedent(text).encode()
    [document] = parse(data).documents
    return workloads.read(Document("x.yaml", document, 0, lambda: data))


def read(value: Any) -> tuple[workloads.ObjectFacts, list[Problem]]:
    return read_text(json.dumps(value))


def facts(value: Any) -> workloads.ObjectFacts:
    found, problems = read(value)
    assert [problem for problem in problems if problem.code != "NotCounted"] == []
    return found


def codes(value: Any) -> list[str]:
    return [problem.code for problem in read(value)[1]]


def counts(found: workloads.ObjectFacts) -> dict[str, int]:
    return {pods.role: pods.count for pods in found.gang}


def requests(found: workloads.ObjectFacts) -> dict[str, dict[str, int]]:
    return {pods.role: dict(pods.shape.requests) for pods in found.gang}


def template(cpu: str = "1", memory: str = "1Gi", **spec: Any) -> dict[str, Any]:
    container = {"name": "ray", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"spec": {"containers": [container], **spec}}


def group(name: str = "g", **fields: Any) -> dict[str, Any]:
    return {"groupName": name, "template": template(), **fields}


def cluster_spec(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"headGroupSpec": {"template": template("2", "4Gi")}, "workerGroupSpecs": list(groups), **fields}


def ray(kind: str, spec: dict[str, Any], version: str = "v1", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": f"ray.io/{version}", "kind": kind, "metadata": {"name": "x", **metadata}, "spec": spec}


def cluster(*groups: dict[str, Any], version: str = "v1", **fields: Any) -> dict[str, Any]:
    return ray("RayCluster", cluster_spec(*groups, **fields), version)


def job(version: str = "v1", **fields: Any) -> dict[str, Any]:
    return ray("RayJob", {"rayClusterSpec": cluster_spec(group(replicas=2)), **fields}, version)


# -- RayJob -------------------------------------------------------------------------------------------------------


def test_a_training_job_is_a_head_its_workers_and_a_submitter() -> None:
    found, problems = read_text(TRAIN)
    assert problems == []
    assert counts(found) == {"head": 1, "worker/small-group": 2, "submitter": 1}
    assert requests(found) == {
        "head": {"cpu": 4000, "memory": 12 * G},
        "worker/small-group": {"cpu": 4000, "memory": 12 * G, "nvidia.com/gpu": 1},
        "submitter": {"cpu": 500, "memory": 200 * MI},
    }
    assert (found.sized, found.singleton, found.finishes, found.releases_when_finished) == (True, "RayJob", True, True)


def test_the_default_submitter_has_none_of_the_heads_selectors() -> None:
    spec = cluster_spec()
    spec["headGroupSpec"]["template"] = template(nodeSelector={"pool": "gpu"}, tolerations=[{"operator": "Exists"}])
    head, submitter = facts(ray("RayJob", {"rayClusterSpec": spec})).gang
    assert head.shape.node_selector and head.shape.tolerations
    assert not submitter.shape.node_selector and not submitter.shape.tolerations


CONTAINER = {"name": "submit"}
SUBMITTER = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER], "nodeSelector": {"pool": "cpu"}}}


@pytest.mark.parametrize(
    ("fields", "head_cpu", "submitter"),
    [
        ({}, 2000, {"cpu": 500, "memory": 200 * MI}),
        ({"submissionMode": "K8sJobMode"}, 2000, {"cpu": 500, "memory": 200 * MI}),
        ({"submissionMode": "HTTPMode"}, 2000, None),
        ({"submissionMode": "InteractiveMode"}, 2000, None),
        ({"submissionMode": "SidecarMode"}, 2000 + 500, None),
        ({"submitterPodTemplate": SUBMITTER}, 2000, {}),  # nothing is added to a template without resources
        ({"submitterPodTemplate": template("3", "1Gi", restartPolicy="Never")}, 2000, {"cpu": 3000, "memory": GI}),
    ],
)
def test_the_submission_mode_says_where_the_submitter_runs(
    fields: dict[str, Any], head_cpu: int, submitter: dict[str, int] | None
) -> None:
    found = requests(facts(job(**fields)))
    assert found["head"]["cpu"] == head_cpu
    assert found.get("submitter") == submitter


def test_a_job_on_an_existing_cluster_is_only_its_submitter_and_needs_that_cluster() -> None:
    found = facts(ray("RayJob", {"clusterSelector": {"ray.io/cluster": "shared"}}))
    assert counts(found) == {"submitter": 1}
    assert [(r.api_group, r.kind, r.name) for r in found.needs] == [("ray.io", "RayCluster", "shared")]
    assert found.releases_when_finished


def test_the_selector_wins_where_both_it_and_a_cluster_are_written() -> None:
    assert counts(facts(job(clusterSelector={"ray.io/cluster": "shared"}))) == {"submitter": 1}
    assert counts(facts(job(clusterSelector={}))) == {"head": 1, "worker/g": 2, "submitter": 1}


CHOSEN = {"ray.io/cluster": "shared"}
GREEDY = {"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}]}}


@pytest.mark.parametrize(
    ("unused", "expected"),
    [
        (cluster_spec(group(minReplicas=3, maxReplicas=2)), ["InvalidReplicas"]),
        (cluster_spec(group(template={"spec": {"containers": []}})), ["MissingField"]),
        ({}, ["MissingField"]),
        (cluster_spec(group(replicas="3")), ["WrongType"]),
        # of no account where no pods are made
        (cluster_spec(group("a"), group("a")), []),
        (cluster_spec(group(template=GREEDY)), []),
        (cluster_spec(group(template={"spec": {"containers": [{"ports": [{"hostPort": 1}]}]}})), []),
    ],
)
def test_a_ray_cluster_spec_beside_a_selector_is_checked_and_not_counted(
    unused: dict[str, Any], expected: list[str]
) -> None:
    value = job(clusterSelector=CHOSEN, rayClusterSpec=unused)
    found, problems = read(value)
    assert [p.code for p in problems] == expected
    assert counts(found) == {"submitter": 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"suspend": True, "shutdownAfterJobFinishes": True},
        {"managedBy": "kueue.x-k8s.io/multikueue"},
        {"rayClusterSpec": cluster_spec(group(replicas=2), suspend=True)},
        {"rayClusterSpec": cluster_spec(group(replicas=2), managedBy="kueue.x-k8s.io/multikueue")},
    ],
)
def test_a_job_that_kuberay_does_not_start_has_no_pods(fields: dict[str, Any]) -> None:
    found = facts(job(**fields))
    assert found.sized and found.gang == ()
    assert [pods.role for pods in found.pods] == ["head", "worker/g", "submitter"]


RULE = {"policy": "DeleteCluster", "condition": {"jobStatus": "SUCCEEDED"}}
FAILED = {"policy": "DeleteSelf", "condition": {"jobDeploymentStatus": "Failed"}}


@pytest.mark.parametrize(
    ("fields", "releases"),
    [
        ({}, False),
        ({"shutdownAfterJobFinishes": True}, True),
        ({"deletionStrategy": {"deletionRules": [RULE, FAILED]}}, True),
        ({"deletionStrategy": {"deletionRules": [RULE]}}, False),  # one that failed keeps its cluster
        ({"deletionStrategy": {"deletionRules": [{**RULE, "policy": "DeleteWorkers"}, FAILED]}}, False),
        ({"deletionStrategy": {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteSelf"}}}, True),
        (
            {"deletionStrategy": {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}}},
            False,
        ),
    ],
)
def test_a_finished_job_holds_nothing_only_if_its_cluster_goes_in_every_case(
    fields: dict[str, Any], releases: bool
) -> None:
    assert facts(job(**fields)).releases_when_finished is releases


# -- RayCronJob ---------------------------------------------------------------------------------------------------


def ray_cron(version: str = "v1", **fields: Any) -> dict[str, Any]:
    template = {"rayClusterSpec": cluster_spec(group(replicas=2)), **fields.pop("job", {})}
    return ray("RayCronJob", {"schedule": "0 3 * * *", "jobTemplate": template, **fields}, version)


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (ray_cron(), {"head": 1, "worker/g": 2, "submitter": 1}),
        (ray_cron(job={"submissionMode": "HTTPMode"}), {"head": 1, "worker/g": 2}),
        (ray_cron(job={"clusterSelector": {"ray.io/cluster": "shared"}}), {"submitter": 1}),
        (ray_cron(job={"backoffLimit": 3}), {"head": 1, "worker/g": 2, "submitter": 1}),  # one attempt after the other
        (ray_cron(suspend=True), {}),
        (ray_cron(job={"suspend": True}), {}),
    ],
)
def test_a_raycronjob_has_the_room_of_one_run(value: dict[str, Any], pods: dict[str, int]) -> None:
    found = facts(value)
    assert counts(found) == pods
    assert (found.sized, found.singleton, found.finishes, found.releases_when_finished) == (
        True,
        "RayCronJob",
        False,
        False,
    )


def test_the_jobs_of_a_raycronjob_have_no_names_yet() -> None:
    found = facts(ray_cron())
    assert labels(found, "head")["ray.io/cluster"] == "RayCronJob ?/x-?????"
    assert labels(found, "submitter")["job-name"] == "RayCronJob ?/x-?????"
    assert labels(found, "submitter")["controller-uid"] == "Job ?/RayCronJob ?/x-?????-?????"


# -- RayCluster ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "workers"),
    [
        ({}, 0),
        ({"replicas": 3}, 3),
        ({"replicas": None, "minReplicas": 2}, 2),
        ({"minReplicas": 2}, 2),
        ({"replicas": 1, "minReplicas": 2, "maxReplicas": 5}, 2),
        ({"replicas": 9, "minReplicas": 2, "maxReplicas": 5}, 5),
        ({"replicas": -4}, 0),
        ({"replicas": 3, "maxReplicas": 0}, 0),
        ({"replicas": 3, "numOfHosts": 4}, 3 * 4),
        ({"replicas": 3, "numOfHosts": 0}, 0),
        ({"replicas": 3, "numOfHosts": -1}, 0),
        ({"replicas": 3, "suspend": True}, 0),
        ({"replicas": 3, "resources": {"CPU": "64", "GPU": "8"}}, 3),  # Ray's own numbers, not the pods'
    ],
)
def test_a_group_has_its_replicas_moved_into_bounds_times_its_hosts(fields: dict[str, Any], workers: int) -> None:
    assert counts(facts(cluster(group(**fields)))) == {"head": 1} | ({"worker/g": workers} if workers else {})


def test_groups_stand_in_the_order_of_the_manifest_after_the_head() -> None:
    found = facts(cluster(group("b", replicas=1), group("a", replicas=2)))
    assert [pods.role for pods in found.gang] == ["head", "worker/b", "worker/a"]


@pytest.mark.parametrize("fields", [{"suspend": True}, {"managedBy": "kueue.x-k8s.io/multikueue"}])
def test_a_cluster_that_is_suspended_or_managed_elsewhere_has_no_pods(fields: dict[str, Any]) -> None:
    assert facts(cluster(group(replicas=2), **fields)).gang == ()


@pytest.mark.parametrize(
    ("container", "worker"),
    [
        ({"requests": {"cpu": "200m"}}, {"cpu": 200, "memory": 256 * MI}),
        ({}, {"cpu": 200, "memory": 256 * MI}),
        ({"requests": {"cpu": "100m", "memory": "1Gi"}}, {"cpu": 200, "memory": GI}),
        ({"requests": {"cpu": "8", "memory": "1Gi"}}, {"cpu": 8000, "memory": GI}),
    ],
)
def test_a_worker_asks_for_at_least_its_wait_for_the_head(container: dict[str, Any], worker: dict[str, int]) -> None:
    small = {"spec": {"containers": [{"name": "ray", "resources": container}]}}
    assert requests(facts(cluster(group(replicas=1, template=small))))["worker/g"] == worker


def test_the_wait_for_the_head_comes_after_the_users_init_containers_and_beside_their_sidecars() -> None:
    spec = template(
        "100m",
        "1Mi",
        initContainers=[
            {"name": "sync", "restartPolicy": "Always", "resources": {"requests": {"cpu": "300m", "memory": "10Mi"}}},
        ],
    )
    found = facts(cluster(group(replicas=1, template=spec)))
    assert requests(found)["worker/g"] == {"cpu": max(100 + 300, 200 + 300), "memory": max(1 + 10, 256 + 10) * MI}


HEAD = {"cpu": 2000, "memory": 4 * GI}


@pytest.mark.parametrize(
    ("fields", "head", "worker"),
    [
        ({"enableInTreeAutoscaling": False, "autoscalerOptions": {}}, {}, {}),
        ({"enableInTreeAutoscaling": True}, {"cpu": 500, "memory": 512 * MI}, {}),
        (
            {"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 60}},
            {"cpu": 500, "memory": 512 * MI},
            {},
        ),
        ({"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {}}}, {}, {}),
        (
            {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"limits": {"cpu": "1"}}}},
            {"cpu": 1000},
            {},
        ),
        (
            {"historyServerOptions": {"collectorOptions": {"image": "c"}}},
            {"cpu": 50, "memory": 64 * MI},
            {"cpu": 50, "memory": 64 * MI},
        ),
        (
            {"historyServerOptions": {"collectorOptions": {"resources": {"requests": {"cpu": "1"}}}}},
            {"cpu": 1000},
            {"cpu": 1000},
        ),
        ({"tlsOptions": {"enabled": True}}, {}, {}),  # an init container smaller than what the containers ask for
    ],
)
def test_kuberays_own_containers_count(fields: dict[str, Any], head: dict[str, int], worker: dict[str, int]) -> None:
    found = facts(cluster(group(replicas=1), **fields)).gang
    assert found[0].shape.requests == Resources(HEAD) + head
    assert found[1].shape.requests == Resources({"cpu": 1000, "memory": GI}) + worker


def test_the_tls_wait_counts_where_nothing_else_is_larger() -> None:
    bare = {"spec": {"containers": [{"name": "ray"}]}}
    found = facts(cluster(headGroupSpec={"template": bare}, tlsOptions={"enabled": True}))
    assert requests(found) == {"head": {"cpu": 50, "memory": 64 * MI}}


def test_v1alpha1_lacks_fields_that_the_api_server_then_drops() -> None:
    groups = group(replicas=2, numOfHosts=3, suspend=True)
    options = {
        "managedBy": "kueue.x-k8s.io/multikueue",
        "historyServerOptions": {"collectorOptions": {}},
        "gcsFaultToleranceOptions": {"externalStorageNamespace": "x", "redisAddress": "redis:6379"},
    }
    found = facts(cluster(groups, version="v1alpha1", **options))
    assert counts(found) == {"head": 1, "worker/g": 2}
    assert found.gang[0].shape.requests == Resources(HEAD)
    assert (found.singleton, found.needs) == ("", ())
    assert counts(facts(job("v1alpha1", submissionMode="HTTPMode"))) == {"head": 1, "worker/g": 2, "submitter": 1}
    assert counts(facts(cluster(version="v1alpha1", suspend=True))) == {}


def test_a_ray_service_is_one_ray_cluster_without_submitter() -> None:
    spec = {"rayClusterConfig": cluster_spec(group(replicas=2), enableInTreeAutoscaling=True), "serveConfigV2": "x"}
    found = facts(ray("RayService", spec))
    assert counts(found) == {"head": 1, "worker/g": 2}
    assert found.gang[0].shape.requests["cpu"] == 2000 + 500
    assert (found.singleton, found.finishes) == ("", False)
    assert facts(ray("RayService", {**spec, "suspend": True})).gang == ()
    assert counts(facts(ray("RayService", {**spec, "suspend": True}, "v1alpha1"))) == {"head": 1, "worker/g": 2}


def without(value: dict[str, Any], *path: str | int) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(value))
    del at(copy, path[:-1])[path[-1]]
    return copy


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (without(cluster(), "spec"), ["MissingField"]),
        (without(cluster(), "spec", "headGroupSpec"), ["MissingField"]),
        (without(cluster(), "spec", "headGroupSpec", "template"), ["MissingField"]),
        (without(cluster(), "spec", "headGroupSpec", "template", "spec"), ["MissingField"]),
        (without(cluster(), "spec", "headGroupSpec", "template", "spec", "containers"), ["MissingField"]),
        (without(cluster(group()), "spec", "workerGroupSpecs", 0, "groupName"), ["MissingField"]),
        (without(cluster(group()), "spec", "workerGroupSpecs", 0, "template"), ["MissingField"]),
        (cluster(group("a"), group("b"), group("a")), ["DuplicateGroupName"]),
        (cluster(group(minReplicas=3, maxReplicas=2)), ["InvalidReplicas"]),
        (cluster(group(minReplicas=-1)), ["InvalidReplicas"]),
        (cluster(group(maxReplicas=-1)), ["InvalidReplicas"]),
        (cluster(group(replicas=2**31)), ["InvalidReplicas"]),
        (cluster(group(replicas=2**20, numOfHosts=2**20)), ["InvalidReplicas"]),
        (cluster(group(replicas="3")), ["WrongType"]),
        (without(job(), "spec", "rayClusterSpec"), ["MissingField"]),
        (job(clusterSelector={"app": "x"}), ["MissingField"]),
        (job(submissionMode="Batch"), ["InvalidValue"]),
        (job(submitterPodTemplate={"spec": {"containers": []}}), ["MissingField"]),
        (ray("RayService", {"rayClusterSpec": cluster_spec()}), ["MissingField"]),
        (without(ray_cron(), "spec", "jobTemplate"), ["MissingField"]),
        (without(ray_cron(), "spec", "jobTemplate", "rayClusterSpec"), ["MissingField"]),
        (ray_cron("v1alpha1"), ["UnsupportedVersion"]),
        (ray("RayJob", {}, "v2"), ["UnsupportedVersion"]),
        (ray("RayCluster", {}, "v1beta1"), ["UnsupportedVersion"]),
        ({"apiVersion": "apps/v1beta2", "kind": "Deployment", "spec": {}}, ["UnsupportedVersion"]),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": -1, "template": template()}},
            ["InvalidReplicas"],
        ),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}}, ["MissingField"]),
        (
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {"replicas": -1}},
            ["MissingField", "InvalidReplicas"],
        ),
        ({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {}}, ["MissingField"]),
        ({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"schedule": "* * * * *"}}, ["MissingField"]),
        ({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": {}}}, ["MissingField"]),
        ({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": {"spec": {}}}}, ["MissingField"]),
    ],
)
def test_what_cannot_be_sized_is_a_problem_never_a_guess(value: dict[str, Any], expected: list[str]) -> None:
    assert codes(value) == expected


def test_a_problem_stands_where_it_is() -> None:
    _, [problem] = read_text(TRAIN.replace("minReplicas: 1", "minReplicas: 9"))
    lines = TRAIN.splitlines()
    assert lines[problem.location.line - 1].strip() == "minReplicas: 1"
    assert problem.message == "minReplicas 9 is more than maxReplicas 5"


def test_all_problems_of_an_object_arrive_together() -> None:
    bad = cluster(group("a", minReplicas=3, maxReplicas=2), group("a", template={"spec": {}}), headGroupSpec={})
    assert codes(bad) == ["MissingField", "InvalidReplicas", "DuplicateGroupName", "MissingField"]


# -- the other kinds ----------------------------------------------------------------------------------------------


def workload(kind: str, api_version: str = "apps/v1", **spec: Any) -> dict[str, Any]:
    spec = {"template": template(), **spec}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def cron(job: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template(), **job}}, **more}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, "spec": spec}


def claim(*modes: str) -> dict[str, Any]:
    return {"metadata": {"name": "data"}, "spec": {"accessModes": list(modes)}}


@pytest.mark.parametrize(
    ("value", "pods", "singleton"),
    [
        (workload("Deployment"), 1, ""),
        (workload("Deployment", replicas=3), 3, ""),
        (workload("Deployment", replicas=0), 0, ""),
        (workload("ReplicaSet"), 1, ""),
        (workload("ReplicaSet", replicas=3), 3, ""),
        (workload("ReplicaSet", replicas=0), 0, ""),
        (workload("DaemonSet"), 1, ""),
        (cron({}), 1, "CronJob"),
        (cron({"parallelism": 3}), 3, "CronJob"),
        (cron({"parallelism": 3, "completions": 2}), 2, "CronJob"),
        (cron({"parallelism": 3}, suspend=True), 0, "CronJob"),
        (cron({"parallelism": 3, "suspend": True}), 0, "CronJob"),
        (workload("StatefulSet", replicas=2), 2, ""),
        (workload("StatefulSet", volumeClaimTemplates=[claim("ReadWriteMany")]), 1, ""),
        (workload("StatefulSet", volumeClaimTemplates=[claim("ReadWriteOnce")]), 1, "ReadWriteOnce volume claim"),
        (workload("StatefulSet", volumeClaimTemplates=[claim("ReadWriteOncePod")]), 1, "ReadWriteOncePod volume claim"),
        (workload("StatefulSet", volumeClaimTemplates=[claim()]), 1, "ReadWriteOnce volume claim"),
        (workload("Job", "batch/v1"), 1, "Job"),
        (workload("Job", "batch/v1", parallelism=3), 3, "Job"),
        (workload("Job", "batch/v1", parallelism=3, completions=2), 2, "Job"),
        (workload("Job", "batch/v1", completions=5), 1, "Job"),
        (workload("Job", "batch/v1", parallelism=3, suspend=True), 0, "Job"),
        (workload("Job", "batch/v1", parallelism=0), 0, "Job"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, **template()}, 1, ""),
    ],
)
def test_other_kinds_are_as_many_pods_as_run_at_once(value: dict[str, Any], pods: int, singleton: str) -> None:
    found = facts(value)
    assert counts(found) == ({"pod": pods} if pods else {})
    assert (found.sized, found.singleton) == (True, singleton)
    assert found.finishes is found.releases_when_finished is (value["kind"] == "Job")


def test_a_daemonset_is_a_pod_on_each_node_that_admits_it() -> None:
    tolerated = [{"operator": "Exists", "effect": "NoExecute"}]
    value = workload("DaemonSet", template=template(nodeSelector={"pool": "gpu"}, tolerations=tolerated))
    [pods] = facts(value).gang
    assert (pods.count, pods.per_node, pods.shape.node_selector) == (1, True, (("pool", "gpu"),))
    keys = {t.key.removeprefix("node.kubernetes.io/"): t.effect for t in pods.shape.tolerations}
    assert keys == {
        "": "NoExecute",
        "not-ready": "NoExecute",
        "unreachable": "NoExecute",
        "disk-pressure": "NoSchedule",
        "memory-pressure": "NoSchedule",
        "pid-pressure": "NoSchedule",
        "unschedulable": "NoSchedule",
    }
    value["spec"]["template"]["spec"]["hostNetwork"] = True
    [pods] = facts(value).gang
    assert "node.kubernetes.io/network-unavailable" in {t.key for t in pods.shape.tolerations}
    [role] = facts(value).roles
    assert role.counted == "one on each node that admits it"


def test_an_absent_or_empty_surge_is_the_default() -> None:
    def surge(**strategy: Any) -> int:
        [role] = facts(workload("Deployment", replicas=8, strategy=strategy)).roles
        return role.surge

    assert surge() == surge(rollingUpdate=None) == surge(rollingUpdate={"maxSurge": None}) == 2
    assert (surge(rollingUpdate={"maxSurge": 3}), surge(rollingUpdate={"maxSurge": "30%"})) == (3, 3)
    assert surge(type="Recreate") == 0


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (
            cluster(group("a"), group("b")),
            [
                ("spec", "headGroupSpec", "template"),
                ("spec", "workerGroupSpecs", 0, "template"),
                ("spec", "workerGroupSpecs", 1, "template"),
            ],
        ),
        (
            job(submitterPodTemplate=SUBMITTER),
            [
                ("spec", "rayClusterSpec", "headGroupSpec", "template"),
                ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "template"),
                ("spec", "submitterPodTemplate"),
            ],
        ),
        (
            ray("RayService", {"rayClusterConfig": cluster_spec()}),
            [("spec", "rayClusterConfig", "headGroupSpec", "template")],
        ),
        (ray("RayJob", {"clusterSelector": {"ray.io/cluster": "x"}}), []),
        (
            ray_cron(),
            [
                ("spec", "jobTemplate", "rayClusterSpec", "headGroupSpec", "template"),
                ("spec", "jobTemplate", "rayClusterSpec", "workerGroupSpecs", 0, "template"),
            ],
        ),
        (workload("Job", "batch/v1"), [("spec", "template")]),
        (workload("DaemonSet"), [("spec", "template")]),
        (cron({}), [("spec", "jobTemplate", "spec", "template")]),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {}}, [()]),
    ],
)
def test_pod_templates_are_where_pod_labels_go(value: dict[str, Any], paths: list[tuple[str | int, ...]]) -> None:
    key = (value["apiVersion"].rpartition("/")[0], value["kind"])
    assert list(workloads.KINDS[key].pod_templates(value)) == paths


# -- labels of pods -----------------------------------------------------------------------------------------------


def labels(found: workloads.ObjectFacts, role: str) -> dict[str, str]:
    [one] = [pods for pods in found.pods if pods.role == role]
    return dict(one.labels)


def test_ray_pods_carry_the_labels_that_kuberay_adds() -> None:
    worker = template()
    worker["metadata"] = {"labels": {"app": "mine", "ray.io/node-type": "no", "app.kubernetes.io/name": "mine"}}
    value = cluster(group("gpu", template=worker, labels={"tier": "spot"}))
    assert labels(facts(value), "worker/gpu") == {
        "app": "mine",
        "tier": "spot",
        "app.kubernetes.io/name": "mine",
        "app.kubernetes.io/created-by": "kuberay-operator",
        "ray.io/is-ray-node": "yes",
        "ray.io/cluster": "x",
        "ray.io/group": "gpu",
        "ray.io/node-type": "worker",
        "ray.io/identifier": "x-worker",
        "ray.io/worker-group-replica-index": " <from 0>",
    }
    assert labels(facts(value), "head")["ray.io/group"] == "headgroup"


def test_a_cluster_name_that_kuberay_makes_up_is_a_label_that_no_selector_can_name() -> None:
    found = facts(job())
    assert labels(found, "head")["ray.io/cluster"] == "RayJob ?/x-?????"
    assert labels(found, "head")["ray.io/identifier"] == "RayJob ?/x-?????-head"
    assert labels(found, "worker/g")["ray.io/identifier"] == "RayJob ?/x-?????-worker"
    assert not is_label_value(labels(found, "head")["ray.io/cluster"])
    assert labels(found, "submitter") == {
        "job-name": "x",
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": "Job ?/x-?????",
        "batch.kubernetes.io/controller-uid": "Job ?/x-?????",
    }


def test_a_job_on_an_existing_cluster_has_no_pods_of_a_cluster_of_its_own() -> None:
    assert [pods.role for pods in facts(job(clusterSelector=CHOSEN)).pods] == ["submitter"]


def test_pods_of_a_ray_service_can_be_selected_as_serving() -> None:
    assert labels(facts(ray("RayService", {"rayClusterConfig": cluster_spec()})), "head")["ray.io/serve"] == "true"


# -- laws ---------------------------------------------------------------------------------------------------------


FULL = job(
    submitterPodTemplate=SUBMITTER,
    rayClusterSpec=cluster_spec(
        group("a", replicas=2, numOfHosts=2),
        group(
            "b",
            minReplicas=1,
            template=template(
                serviceAccountName="trainer",
                nodeSelector={"b": "1", "a": "2"},
                tolerations=[{"operator": "Exists"}],
                initContainers=[
                    {"name": "i", "envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}]}
                ],
            ),
        ),
        enableInTreeAutoscaling=True,
    ),
)


@given(seed=st.integers(0, 2**16))
def test_key_order_does_not_matter(seed: int) -> None:
    assert read(reordered(FULL, random.Random(seed)))[0] == facts(FULL)


def paths(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, below in entries for path in paths(below, (*here, key)))]


JUNK: list[Any] = [None, True, -1, 2**62, 0.5, "", "x", [], [None], {}, {"x": 1}]


@given(path=st.sampled_from(paths(FULL)[1:]), junk=st.sampled_from(JUNK))
def test_whatever_stands_in_a_manifest_reading_it_ends_in_facts_or_problems(
    path: tuple[str | int, ...], junk: Any
) -> None:
    value: Any = json.loads(json.dumps(FULL))
    at(value, path[:-1])[path[-1]] = junk
    found, problems = read(value)
    assert all(pods.count > 0 for pods in found.gang)
    assert all(problem.message and problem.location.line >= 1 for problem in problems)
    for kind in workloads.KINDS.values():
        kind.pod_templates(value)


def test_comments_and_style_do_not_matter() -> None:
    found, _ = read_text(TRAIN)
    lines = [line + "   # a word" if line.endswith(("}", "]")) else line for line in TRAIN.splitlines()]
    assert read_text("# above\n" + "\n".join(lines) + "\n")[0] == found


def test_facts_can_be_kept_in_a_cache() -> None:
    found = facts(FULL)
    assert pickle.loads(pickle.dumps(found)) == found

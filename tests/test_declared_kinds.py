"""
Kinds that are declared, not coded: those that come with gitplacer, and those of users.

The arithmetic is in the tables. What each controller really does is in its own sources, which the declarations follow.
"""

from __future__ import annotations

import json
import pickle
import random
import textwrap
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.hydrate import Hydration
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import parse_own
from gitplacer.model.labels import Toleration
from gitplacer.problems import Problem, Severity
from gitplacer.sizing import sizes
from gitplacer.workloads import shipped
from gitplacer.workloads.declaration import declaration
from gitplacer.workloads.declared import kind
from gitplacer.workloads.facts import at
from gitplacer.workloads.why import why
from tests.jsonvalues import reordered
from tests.stories import ANYWHERE, Story, cluster, outcome, snapshot

MI, GI = 2**20, 2**30


def document(value: Any) -> Document:
    data = (value if isinstance(value, str) else json.dumps(value)).encode()
    [found] = parse(data).documents
    return Document("x.yaml", found, 0, lambda: data)


def read(
    value: Any, declared: workloads.Declared = workloads.NONE_DECLARED
) -> tuple[workloads.ObjectFacts, list[Problem]]:
    return workloads.read(document(value), declared=declared)


def facts(value: Any, declared: workloads.Declared = workloads.NONE_DECLARED) -> workloads.ObjectFacts:
    found, problems = read(value, declared)
    assert [p for p in problems if p.code != "NotCounted"] == []
    return found


def errors(value: Any) -> list[str]:
    return [f"{p.code}: {p.message}" for p in read(value)[1] if p.severity is Severity.ERROR]


def asked(found: workloads.ObjectFacts) -> list[tuple[int, str]]:
    """Every role, also one at zero: its count and what one pod asks for."""
    return [
        (role.count, " ".join(f"{n.rpartition('/')[2]}={a}" for n, a in role.shape.requests.rendered().items()))
        for role in found.roles
    ]


def template(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def obj(api_version: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": name, "metadata": {"name": "x", **metadata}, "spec": spec}


# -- JobSet -------------------------------------------------------------------------------------------------------


def jobset(*jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return obj("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(jobs), **spec})


def replicated(name: str, cpu: str = "1", *, replicas: int | None = None, **job: Any) -> dict[str, Any]:
    found = {"name": name, "template": {"spec": {"template": template(cpu), **job}}}
    return found if replicas is None else {**found, "replicas": replicas}


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (jobset(replicated("a")), [(1, "cpu=1")]),
        (jobset(replicated("a", replicas=3)), [(3, "cpu=1")]),
        (jobset(replicated("a", replicas=3, parallelism=4)), [(3 * 4, "cpu=1")]),
        (jobset(replicated("a", replicas=3, parallelism=4, completions=2)), [(3 * 2, "cpu=1")]),
        (jobset(replicated("a", parallelism=4, completions=9)), [(4, "cpu=1")]),
        (jobset(replicated("a", completions=9)), [(1, "cpu=1")]),
        (jobset(replicated("a", replicas=0)), [(0, "cpu=1")]),
        (jobset(replicated("driver", "2"), replicated("w", "1", replicas=2)), [(1, "cpu=2"), (2, "cpu=1")]),
        (jobset(replicated("a", parallelism=2), suspend=True), [(0, "cpu=1")]),
        (jobset(replicated("a", parallelism=2), suspend=False), [(2, "cpu=1")]),
        (jobset(replicated("a"), managedBy="kueue.x-k8s.io/multikueue"), [(0, "cpu=1")]),
        (jobset(replicated("a"), managedBy="jobset.sigs.k8s.io/jobset-controller"), [(1, "cpu=1")]),
    ],
)
def test_a_jobset_is_replicas_times_what_each_job_runs_at_once(value: Any, pods: list[tuple[int, str]]) -> None:
    found = facts(value)
    assert asked(found) == pods
    assert (found.sized, found.singleton, found.finishes, found.releases_when_finished) == (True, "JobSet", True, True)


def test_pods_of_a_jobset_carry_its_name_and_that_of_their_job() -> None:
    value = jobset(replicated("driver"))
    value["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"] = {"labels": {"app": "mine"}}
    [one] = facts(value).pods
    assert (one.role, dict(one.labels)) == (
        "pod",
        {
            "app": "mine",
            "jobset.sigs.k8s.io/jobset-name": "x",
            "jobset.sigs.k8s.io/replicatedjob-name": "driver",
        },
    )


# -- LeaderWorkerSet ----------------------------------------------------------------------------------------------


def lws(*, size: int | None = None, leader: str = "", surge: Any = None, **spec: Any) -> dict[str, Any]:
    group: dict[str, Any] = {"workerTemplate": template("4")}
    group |= {} if size is None else {"size": size}
    group |= {"leaderTemplate": template(leader)} if leader else {}
    rollout = {} if surge is None else {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": surge}}}
    return obj("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": group, **rollout, **spec})


@pytest.mark.parametrize(
    ("value", "pods", "surge"),
    [
        (lws(), [(1, "cpu=4"), (0, "cpu=4")], [0, 0]),  # a size of one is the leader alone
        (lws(size=4), [(1, "cpu=4"), (3, "cpu=4")], [0, 0]),
        (lws(size=4, leader="1"), [(1, "cpu=1"), (3, "cpu=4")], [0, 0]),
        (lws(size=4, leader="1", replicas=2), [(2, "cpu=1"), (2 * 3, "cpu=4")], [0, 0]),
        (lws(size=4, replicas=0), [(0, "cpu=4"), (0, "cpu=4")], [0, 0]),
        (lws(size=4, replicas=3, surge=1), [(3, "cpu=4"), (9, "cpu=4")], [1, 3]),
        (
            lws(size=4, replicas=3, surge="50%"),
            [(3, "cpu=4"), (9, "cpu=4")],
            [2, 6],
        ),  # half of three groups, rounded up
    ],
)
def test_a_leaderworkerset_is_groups_of_a_leader_and_its_workers(
    value: Any, pods: list[tuple[int, str]], surge: list[int]
) -> None:
    found = facts(value)
    assert asked(found) == pods
    assert [role.surge for role in found.roles] == surge
    assert (found.singleton, found.finishes) == ("", False)


@pytest.mark.parametrize(
    ("mode", "singleton"), [("ReadWriteOnce", "ReadWriteOnce volume claim"), ("ReadWriteMany", "")]
)
def test_groups_with_volumes_of_their_own_stay_where_the_data_is(mode: str, singleton: str) -> None:
    value = lws()
    claim = {"metadata": {"name": "d"}, "spec": {"accessModes": [mode], "storageClassName": "fast"}}
    value["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [claim]
    found = facts(value)
    assert found.singleton == singleton
    assert [(need.kind, need.name) for need in found.needs] == [("StorageClass", "fast")]


# -- PyTorchJob ---------------------------------------------------------------------------------------------------


def pytorch(replicas: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return obj("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": replicas, **spec})


MASTER = {"template": template("2")}
WORKERS = {"replicas": 3, "template": template("4")}
TINY = {"replicas": 3, "template": template("10m")}


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (pytorch({"Master": MASTER}), [(1, "cpu=2")]),
        (pytorch({"Master": MASTER, "Worker": WORKERS}), [(1, "cpu=2"), (3, "cpu=4 memory=10Mi")]),
        (pytorch({"Master": MASTER, "Worker": TINY}), [(1, "cpu=2"), (3, "cpu=50m memory=10Mi")]),  # its init container
        (pytorch({"Worker": TINY}), [(3, "cpu=10m")]),  # without a master there is none to wait for
        (pytorch({"master": MASTER, "worker": WORKERS}), [(1, "cpu=2"), (3, "cpu=4 memory=10Mi")]),
        (pytorch({"Worker": WORKERS}, runPolicy={"suspend": True}), [(0, "cpu=4")]),
        (pytorch({"Worker": WORKERS}, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}), [(0, "cpu=4")]),
        (pytorch({"Worker": WORKERS}, runPolicy={"managedBy": "kubeflow.org/training-operator"}), [(3, "cpu=4")]),
    ],
)
def test_a_pytorchjob_is_a_master_and_workers_that_wait_for_it(value: Any, pods: list[tuple[int, str]]) -> None:
    found = facts(value)
    assert asked(found) == pods
    assert (found.singleton, found.finishes) == ("PyTorchJob", True)


@pytest.mark.parametrize(
    ("policy", "bounds"),
    [
        ({"minReplicas": 1, "maxReplicas": 8, "metrics": [{"type": "Resource"}]}, (3, 1, 8, True, True)),
        ({"maxReplicas": 8, "metrics": []}, (3, 3, 8, False, True)),  # the minimum is then the maximum
        ({"minReplicas": 1, "maxReplicas": 8}, (3, 3, 3, False, False)),  # nothing scales without metrics
        (None, (3, 3, 3, False, False)),
    ],
)
def test_an_elastic_job_is_scaled_only_by_metrics(policy: Any, bounds: tuple[int, int, int, bool, bool]) -> None:
    [role] = facts(pytorch({"Worker": WORKERS}, elasticPolicy=policy)).roles
    assert (role.count, role.minimum, role.maximum, role.shrinks, role.grows) == bounds


@pytest.mark.parametrize(("policy", "releases"), [(None, False), ("None", False), ("Running", True), ("All", True)])
def test_a_finished_job_gives_its_room_back_only_if_its_pods_are_cleaned(policy: str | None, releases: bool) -> None:
    found = facts(pytorch({"Worker": WORKERS}, runPolicy={"cleanPodPolicy": policy}))
    assert found.releases_when_finished is releases


# -- Argo Rollout -------------------------------------------------------------------------------------------------


def rollout(**spec: Any) -> dict[str, Any]:
    return obj("argoproj.io/v1alpha1", "Rollout", {"template": template(), **spec})


@pytest.mark.parametrize(
    ("value", "pods", "surge"),
    [
        (rollout(), 1, 1),  # a quarter of one, rounded up
        (rollout(replicas=8), 8, 2),
        (rollout(replicas=0), 0, 0),
        (rollout(replicas=8, strategy={"canary": {"maxSurge": 3}}), 8, 3),
        (rollout(replicas=8, strategy={"canary": {"maxSurge": "30%"}}), 8, 3),
        (rollout(replicas=8, strategy={"canary": {"trafficRouting": {"istio": {}}}}), 8, 8),
        (rollout(replicas=8, strategy={"blueGreen": {"activeService": "a"}}), 8, 8),
    ],
)
def test_an_update_of_a_rollout_runs_beside_what_is_stable(value: Any, pods: int, surge: int) -> None:
    [role] = facts(value).roles
    assert (role.count, role.surge) == (pods, surge)


def test_a_rollout_of_another_workload_is_refused_not_taken_for_nothing() -> None:
    value = rollout(workloadRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    [problem] = [p for p in read(value)[1] if p.severity is Severity.ERROR]
    assert problem.code == "CannotBeSized"
    assert "workloadRef" in problem.message
    del value["spec"]["template"]
    assert [e.partition(":")[0] for e in errors(value)] == ["CannotBeSized"]


# -- KServe -------------------------------------------------------------------------------------------------------

KSERVE = "serving.kserve.io/deploymentMode"


def isvc(mode: str | None = "RawDeployment", **spec: Any) -> dict[str, Any]:
    annotations = {} if mode is None else {KSERVE: mode}
    return obj("serving.kserve.io/v1beta1", "InferenceService", spec, annotations=annotations)


def requests(cpu: str = "4", memory: str = "8Gi", **limits: Any) -> dict[str, Any]:
    return {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {name.replace("_", "/"): n for name, n in limits.items()},
    }


GPU = {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"nvidia.com/gpu": 1}}
MODEL = {"modelFormat": {"name": "huggingface"}, "resources": GPU}
SERVER = {"name": "kserve-container", "image": "mine", "resources": requests("2", "1Gi")}


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (isvc(predictor={"model": MODEL}), [(1, "cpu=4 memory=8Gi gpu=1")]),
        (isvc(predictor={"sklearn": {"resources": GPU}}), [(1, "cpu=4 memory=8Gi gpu=1")]),
        (isvc(predictor={"containers": [SERVER]}), [(1, "cpu=2 memory=1Gi")]),
        (isvc(predictor={"model": MODEL, "minReplicas": 3}), [(3, "cpu=4 memory=8Gi gpu=1")]),
        # an init container fetches the model
        (
            isvc(predictor={"model": {"storageUri": "s3://m", "resources": requests("50m", "10Mi")}}),
            [(1, "cpu=100m memory=100Mi")],
        ),
        # containers of the pod beside that of the model
        (
            isvc(predictor={"model": MODEL, "containers": [{"name": "side", "resources": requests("1", "1Gi")}]}),
            [(1, "cpu=5 memory=9Gi gpu=1")],
        ),
        # Knative's proxy
        (isvc("Knative", predictor={"containers": [SERVER]}), [(1, "cpu=2025m memory=1Gi")]),
        (isvc("Serverless", predictor={"containers": [SERVER], "minReplicas": 0}), [(1, "cpu=2025m memory=1Gi")]),
        (
            isvc(predictor={"model": MODEL}, transformer={"containers": [SERVER], "minReplicas": 2}),
            [(1, "cpu=4 memory=8Gi gpu=1"), (2, "cpu=2 memory=1Gi")],
        ),
        (
            isvc(
                predictor={"model": MODEL},
                explainer={"art": {"type": "SquareAttack", "resources": requests("1", "1Gi")}},
            ),
            [(1, "cpu=4 memory=8Gi gpu=1"), (1, "cpu=1 memory=1Gi")],
        ),
    ],
)
def test_an_inference_service_is_a_predictor_a_transformer_and_an_explainer(
    value: Any, pods: list[tuple[int, str]]
) -> None:
    assert asked(facts(value)) == pods


@pytest.mark.parametrize(
    ("mode", "fields", "bounds"),
    [
        ("RawDeployment", {}, (1, 1, 1, 1)),
        ("RawDeployment", {"minReplicas": 4, "maxReplicas": 9}, (4, 4, 9, 1)),
        ("Standard", {"minReplicas": 0, "maxReplicas": 0}, (1, 1, 1, 1)),  # an HPA leaves one
        ("Knative", {}, (1, 1, None, 1)),
        ("Knative", {"minReplicas": 0}, (1, 0, None, 1)),
        ("Knative", {"minReplicas": 0, "maxReplicas": 0}, (1, 0, None, 1)),
        ("Knative", {"minReplicas": 2, "maxReplicas": 5}, (2, 2, 5, 2)),  # the next revision, whole
    ],
)
def test_an_inference_service_grows_as_its_deployment_mode_lets_it(
    mode: str, fields: dict[str, int], bounds: tuple[int, int, int | None, int]
) -> None:
    [role] = facts(isvc(mode, predictor={"model": MODEL, **fields})).roles
    assert (role.count, role.minimum, role.maximum, role.surge) == bounds


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (isvc(predictor={"model": {"modelFormat": {"name": "onnx"}}}), ["requests.cpu", "requests.memory"]),
        (isvc(predictor={"model": {"resources": {"requests": {"cpu": "1"}}}}), ["requests.memory"]),
        (
            isvc(predictor={"model": {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}}),
            ["requests.cpu", "requests.memory"],
        ),
        (isvc(predictor={"containers": [{"name": "kserve-container"}]}), ["requests.cpu", "requests.memory"]),
    ],
)
def test_requests_that_the_cluster_would_fill_in_have_to_be_written(value: Any, said: list[str]) -> None:
    found = errors(value)
    assert all(e.startswith("MissingField: cannot be sized: resources.") for e in found)
    assert [name for name in ("requests.cpu", "requests.memory") if any(name in e for e in found)] == said


@pytest.mark.parametrize(
    "value",
    [
        isvc("ModelMesh", predictor={"model": MODEL}),
        isvc(predictor={"model": MODEL, "workerSpec": {"pipelineParallelSize": 2}}),
    ],
)
def test_pods_that_others_decide_on_are_refused(value: Any) -> None:
    assert [e.partition(":")[0] for e in errors(value)] == ["CannotBeSized"]


@pytest.mark.parametrize(
    ("uri", "claim"),
    [
        ("pvc://models/llama/8b", "models"),
        ("pvc://models", "models"),
        ("pvc://", ""),
        ("s3://models/llama", ""),
        ("hf://pvc://models", ""),
    ],
)
@pytest.mark.parametrize("framework", ["model", "sklearn"])
def test_a_model_on_a_claim_is_mounted_by_the_predictor(framework: str, uri: str, claim: str) -> None:
    found = facts(isvc(predictor={framework: {**MODEL, "storageUri": uri}}, transformer={"containers": [SERVER]}))
    needs = [("PersistentVolumeClaim", claim, False)] if claim else []
    assert [(each.kind, each.name, each.optional) for each in found.needs] == needs
    assert {each.path for each in found.needs} <= {("spec", "predictor", framework, "storageUri")}
    predictor, transformer = found.roles
    assert [each.name for each in predictor.named.claims] == [claim] * bool(claim)
    assert not transformer.named.claims


def test_a_claim_that_is_mounted_twice_is_one() -> None:
    volumes = [{"name": "m", "persistentVolumeClaim": {"claimName": "models"}}]
    value = isvc(predictor={"model": {**MODEL, "storageUri": "pvc://models/a"}, "volumes": volumes})
    assert [[each.name for each in role.named.claims] for role in facts(value).roles] == [["models"]]


@pytest.mark.parametrize(
    ("storage", "annotations", "secrets"),
    [
        (None, {}, []),
        ({"key": "minio", "path": "a"}, {}, ["storage-config"]),
        ({}, {"serving.kserve.io/storageSecretName": "mine"}, ["mine", "storage-config"]),
    ],
)
def test_the_keys_of_buckets_go_along_with_who_fetches_a_model(
    storage: Any, annotations: dict[str, str], secrets: list[str]
) -> None:
    value = isvc(predictor={"model": MODEL | ({} if storage is None else {"storage": storage})})
    value["metadata"]["annotations"] |= annotations
    found = sorted((each.kind, each.name, each.optional) for each in facts(value).needs)
    assert found == [("Secret", name, True) for name in secrets]


def test_what_the_mode_and_the_runtime_add_is_said_not_to_be_counted() -> None:
    def warned(value: Any) -> list[str]:
        return [p.message.partition(";")[0] for p in read(value)[1] if p.code == "NotCounted"]

    assert warned(isvc(predictor={"containers": [SERVER]})) == []
    assert len(warned(isvc(predictor={"model": MODEL}))) == 1
    assert len(warned(isvc(None, predictor={"model": MODEL}))) == 2


# -- Milvus -------------------------------------------------------------------------------------------------------


def milvus(mode: str | None = "cluster", version: str = "v2.6.2", **components: Any) -> dict[str, Any]:
    image = {"image": f"milvusdb/milvus:{version}"} if version else {}
    spec = {"components": {"resources": {"requests": {"cpu": "1"}}, **image, **components}}
    return obj("milvus.io/v1beta1", "Milvus", spec if mode is None else {"mode": mode, **spec})


def component(cpu: str, replicas: int | None = None, **fields: Any) -> dict[str, Any]:
    found = {"resources": {"requests": {"cpu": cpu}}, **fields}
    return found if replicas is None else {**found, "replicas": replicas}


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (milvus(None), [(1, "cpu=1")]),
        (milvus("standalone", standalone=component("3", 2)), [(2, "cpu=3")]),
        (milvus(None, standalone={"replicas": 0}), [(0, "cpu=1")]),
        (milvus(None, version="", cdc=component("2")), [(1, "cpu=1"), (1, "cpu=2")]),
        # 2.6: proxy, dataNode, queryNode, mixCoord, streamingNode
        (milvus(), [(1, "cpu=1")] * 5),
        (
            milvus(proxy=component("2", 2), queryNode=component("8", 3)),
            [(2, "cpu=2"), (1, "cpu=1"), (3, "cpu=8"), *[(1, "cpu=1")] * 2],
        ),
        (milvus(streamingNode=component("4", 2)), [*[(1, "cpu=1")] * 4, (2, "cpu=4")]),
        (milvus(version="", streamingNode=component("4")), [*[(1, "cpu=1")] * 4, (1, "cpu=4")]),
        # before: an indexNode instead of the streamingNode
        (milvus(version="v2.5.14"), [(1, "cpu=1")] * 5),
        (milvus(version="2.4.1", indexNode=component("4", 2)), [*[(1, "cpu=1")] * 4, (2, "cpu=4")]),
        (milvus(version="v2.6.2", indexNode=component("4", 2)), [(1, "cpu=1")] * 5),
        # coordinators of their own: four of them, where one is written
        (milvus(version="v2.5.0", rootCoord=component("2")), [*[(1, "cpu=1")] * 3, (1, "cpu=2"), *[(1, "cpu=1")] * 4]),
        (milvus(rootCoord={}, mixCoord=component("2")), [*[(1, "cpu=1")] * 3, (1, "cpu=2"), (1, "cpu=1")]),
        # containers beside that of Milvus
        (
            milvus(None, standalone={"sidecars": [{"name": "s", "resources": {"requests": {"cpu": "1"}}}]}),
            [(1, "cpu=2")],
        ),
        (
            milvus(None, standalone={"initContainers": [{"name": "s", "resources": {"requests": {"cpu": "3"}}}]}),
            [(1, "cpu=3")],
        ),
    ],
)
def test_a_milvus_is_one_component_or_a_deployment_for_each(value: Any, pods: list[tuple[int, str]]) -> None:
    assert asked(facts(value)) == pods


def test_a_component_of_milvus_may_be_left_to_an_autoscaler() -> None:
    node = component("1", -1, hpa={"minReplicas": 2, "maxReplicas": 6})
    role = facts(milvus(queryNode=node)).roles[2]
    assert (role.count, role.minimum, role.maximum, role.grows) == (2, 2, 6, True)
    assert why(role)[0] == "2: queryNode minReplicas 2"


def test_a_component_of_milvus_has_what_it_says_and_else_what_all_have() -> None:
    value = milvus(None, nodeSelector={"disk": "ssd"}, serviceAccountName="milvus", env=[secret("A", "all")])
    value["spec"]["components"]["standalone"] = {"tolerations": [{"operator": "Exists"}], "env": [secret("B", "one")]}
    found = facts(value)
    [shape] = [role.shape for role in found.roles]
    assert shape.node_selector == (("disk", "ssd"),)
    assert shape.tolerations == (Toleration("", "Exists", "", ""),)
    assert {need.name: at(value, need.path) for need in found.needs} == {"milvus": "milvus", "all": "all", "one": "one"}
    value["spec"]["components"]["standalone"]["nodeSelector"] = {"disk": "hdd"}
    assert facts(value).roles[0].shape.node_selector == (("disk", "hdd"),)


def secret(name: str, of: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": of, "key": "k"}}}


@pytest.mark.parametrize(
    "value",
    [milvus(version=""), milvus(version="nightly"), milvus(queryNode={"groups": [{"name": "g", "replicas": 1}]})],
)
def test_a_milvus_whose_components_cannot_be_told_is_refused(value: Any) -> None:
    assert [e.partition(":")[0] for e in errors(value)] == ["CannotBeSized"]


def test_what_milvus_installs_beside_itself_is_not_counted_and_keeps_it_where_it_is() -> None:
    value = milvus()
    found, problems = read(value)
    told = " ".join(problem.message for problem in problems if problem.code == "NotCounted")
    assert all(name in told for name in ("etcd", "object storage", "Pulsar"))
    assert found.singleton == "etcd of its own"
    outside = {"external": True}
    value["spec"]["dependencies"] = {"etcd": outside, "storage": outside, "pulsar": outside}
    found, problems = read(value)
    assert (problems, found.singleton) == ([], "")


# -- NIMService ---------------------------------------------------------------------------------------------------


def nim(**spec: Any) -> dict[str, Any]:
    return obj("apps.nvidia.com/v1alpha1", "NIMService", {"authSecret": "ngc", "resources": GPU, **spec})


@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (nim(), (1, 1, 1, 1)),
        (nim(replicas=3), (3, 3, 3, 1)),
        (nim(scale={"enabled": True, "hpa": {"maxReplicas": 4}}), (1, 1, 4, 1)),
        (nim(scale={"enabled": True, "hpa": {"minReplicas": 2, "maxReplicas": 4}}), (2, 2, 4, 1)),
        (nim(replicas=3, scale={"enabled": False, "hpa": {"maxReplicas": 4}}), (3, 3, 3, 1)),
        (nim(replicas=2, multiNode={"size": 3}), (2 * 3, 6, 6, 0)),
        (nim(replicas=2, multiNode={"parallelism": {"pipeline": 4, "tensor": 8}}), (2 * 4, 8, 8, 0)),
        (nim(multiNode={}), (1, 1, 1, 0)),
    ],
)
def test_a_nimservice_is_its_replicas_or_what_its_autoscaler_begins_with(
    value: Any, bounds: tuple[int, int, int, int]
) -> None:
    [role] = facts(value).roles
    assert (role.count, role.minimum, role.maximum, role.surge) == bounds
    assert dict(role.shape.requests) == {"cpu": 4000, "memory": 8 * GI, "nvidia.com/gpu": 1}


def test_a_nimservice_names_its_secrets_its_cache_and_where_it_may_run() -> None:
    value = nim(
        image={"pullSecrets": ["pull", "more"]},
        storage={"nimCache": {"name": "llama"}},
        nodeSelector={"gpu": "a100"},
        tolerations=[{"operator": "Exists"}],
        env=[secret("TOKEN", "hf")],
        draResources=[{"name": "gpus", "resourceClaimTemplateName": "two-gpus"}],
    )
    found = facts(value)
    assert [f"{need.kind}/{need.name}" for need in found.needs] == [
        "Secret/hf",
        "Secret/more",
        "Secret/ngc",
        "Secret/pull",
        "NIMCache/llama",
        "ResourceClaimTemplate/two-gpus",
    ]
    assert at(value, found.needs[0].path) == "hf"
    assert found.claims == ("two-gpus",)
    [shape] = [role.shape for role in found.roles]
    assert (shape.node_selector, len(shape.tolerations)) == ((("gpu", "a100"),), 1)


def test_a_model_profile_that_decides_on_gpus_has_to_be_overruled() -> None:
    storage = {"nimCache": {"name": "llama", "profile": "tp8"}}
    assert errors(nim(storage=storage)) == []
    assert errors(nim(storage={"nimCache": {"name": "llama", "profile": ""}}, resources=requests())) == []
    assert [e.partition(":")[0] for e in errors(nim(storage=storage, resources=requests()))] == ["CannotBeSized"]


# -- what all declared kinds have in common -----------------------------------------------------------------------

FULL = [
    jobset(replicated("a", replicas=2, parallelism=3), replicated("b")),
    lws(size=4, leader="1", surge="50%"),
    pytorch({"Master": MASTER, "Worker": WORKERS}, elasticPolicy={"minReplicas": 1, "maxReplicas": 5, "metrics": []}),
    rollout(replicas=4, strategy={"canary": {"maxSurge": 2}}),
    isvc(
        "Knative",
        predictor={"model": {"storageUri": "s3://m", **MODEL}, "maxReplicas": 3},
        transformer={"containers": [SERVER]},
    ),
    milvus(proxy=component("2", 2), queryNode=component("1", -1, hpa={"maxReplicas": 3}, sidecars=[{"name": "s"}])),
    nim(
        replicas=2,
        image={"pullSecrets": ["p"]},
        draResources=[{"resourceClaimTemplateName": "t"}],
        storage={"pvc": {"name": "c"}},
    ),
]


def name_of(value: dict[str, Any]) -> str:
    return str(value["kind"])


@pytest.mark.parametrize("key", shipped.FILES, ids=lambda key: key[1])
def test_what_comes_with_gitplacer_is_a_workloadkind_like_those_of_users(key: tuple[str, str]) -> None:
    data = shipped.text(shipped.FILES[key])
    parsed = parse(data)
    assert parsed.faults == ()
    [found] = parsed.documents
    own = parse_own(Document("x.yaml", found, 0, lambda: data))
    assert isinstance(own, Model), own
    assert (found.value["spec"]["apiGroup"], found.value["spec"]["kind"]) == key
    assert key in {(value["apiVersion"].rpartition("/")[0], value["kind"]) for value in FULL}


def test_every_file_of_declarations_is_in_the_table() -> None:
    from gitplacer.packaged import packaged

    assert sorted(packaged("workloadkinds")) == sorted(f"{name}.yaml" for name in shipped.FILES.values())


@pytest.mark.parametrize("value", FULL, ids=name_of)
def test_all_pods_are_in_one_role_and_every_count_says_where_it_comes_from(value: dict[str, Any]) -> None:
    found = facts(value)
    assert {role.name for role in found.roles} == {pods.role for pods in found.pods} == {"pod"}
    for role in found.roles:
        assert role.counted
        assert role.minimum <= role.count
        assert role.maximum is None or role.count <= role.maximum
        assert why(role)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (FULL[0], [("spec", "replicatedJobs", i, "template", "spec", "template") for i in (0, 1)]),
        (FULL[1], [("spec", "leaderWorkerTemplate", key) for key in ("leaderTemplate", "workerTemplate")]),
        (lws(size=2), [("spec", "leaderWorkerTemplate", "workerTemplate")]),
        (FULL[2], [("spec", "pytorchReplicaSpecs", key, "template") for key in ("Master", "Worker")]),
        (FULL[3], [("spec", "template")]),
        (FULL[4], []),
        (jobset(), []),
        (obj("argoproj.io/v1alpha1", "Rollout", {"template": []}), []),
    ],
)
def test_pod_templates_are_where_pod_labels_go(value: dict[str, Any], paths: list[tuple[str | int, ...]]) -> None:
    row = workloads.kind_of((value["apiVersion"].rpartition("/")[0], value["kind"]))
    assert row is not None
    assert list(row.pod_templates(value)) == paths
    assert all(isinstance(at(value, path), dict) for path in paths)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (jobset(), "MissingField: cannot be sized: spec.replicatedJobs is empty"),
        (
            obj("jobset.x-k8s.io/v1alpha2", "JobSet", {}),
            "MissingField: cannot be sized: spec.replicatedJobs is missing",
        ),
        (
            jobset({"name": "a", "template": {"spec": {}}}),
            "MissingField: cannot be sized: spec.replicatedJobs[0].template.spec.template is missing",
        ),
        (jobset(replicated("a", replicas=-1)), "InvalidReplicas: replicas is -1"),
        (
            jobset(replicated("a", replicas="3")),
            "WrongType: spec.replicatedJobs[0].replicas is text, not a whole number",
        ),  # type: ignore[arg-type]
        (jobset(replicated("a", replicas=2**20, parallelism=2**20)), f"InvalidReplicas: it comes to {2**40} pods"),
        (
            obj("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": {"a": 1}}),
            "WrongType: spec.replicatedJobs.a is the number 1, not a mapping",
        ),
        (jobset([]), "WrongType: spec.replicatedJobs[0] is a list, not a mapping"),  # type: ignore[arg-type]
        (obj("jobset.x-k8s.io/v1", "JobSet", {}), 'UnsupportedVersion: JobSet of version "v1" cannot be read'),
        (
            obj("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {}),
            "MissingField: cannot be sized: there is neither spec.leaderWorkerTemplate.leaderTemplate"
            " nor spec.leaderWorkerTemplate.workerTemplate",
        ),
        (pytorch({}), "MissingField: this PyTorchJob cannot be sized: it has no pods"),
        (pytorch({"Chief": MASTER}), "MissingField: this PyTorchJob cannot be sized: it has no pods"),
        (rollout(template=None), "MissingField: cannot be sized: spec.template is missing"),
        (rollout(template={"spec": {}}), "MissingField: there are no containers"),
        (
            rollout(strategy={"canary": {"maxSurge": "many"}}),
            "WrongType: maxSurge must be a number or a share such as 25%",
        ),
        (isvc(predictor={}), "MissingField: cannot be sized: there is neither spec.predictor"),
        (obj("milvus.io/v1beta1", "Milvus", []), "WrongType: spec is a list, not a mapping"),  # type: ignore[arg-type]
        (rollout(template=template("one")), "InvalidQuantity: spec.template.spec.containers[0].resources.requests.cpu"),
        (
            milvus(None, standalone=component("one")),
            "InvalidQuantity: spec.components.standalone.resources.requests.cpu",
        ),
    ],
)
def test_what_cannot_be_sized_is_a_problem_where_it_stands_never_a_guess(value: Any, expected: str) -> None:
    found = errors(value)
    assert [e for e in found if e.startswith(expected)], found


def test_a_problem_of_a_field_that_stands_elsewhere_is_told_there() -> None:
    text = textwrap.dedent("""\
        apiVersion: apps.nvidia.com/v1alpha1
        kind: NIMService
        metadata: {name: x}
        spec:
          tolerations:
          - {key: gpu, operator: Is}
          resources:
            requests: {cpu: lots}
        """)
    found = [(str(p.location), p.code) for p in workloads.read(document(text))[1]]
    assert found == [("x.yaml:6:26", "InvalidValue"), ("x.yaml:8:21", "InvalidQuantity")]


# laws


@given(value=st.sampled_from(FULL), seed=st.integers(0, 2**16))
def test_key_order_and_style_do_not_matter(value: dict[str, Any], seed: int) -> None:
    shuffled = yaml.safe_dump(reordered(value, random.Random(seed)), sort_keys=False)
    found, problems = read(f"# a comment\n{shuffled}")
    whole, said = read(value)
    assert (found.gang, found.needs, found.singleton) == (whole.gang, whole.needs, whole.singleton)
    assert sorted(p.message for p in problems) == sorted(p.message for p in said)


def everywhere(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, below in entries for path in everywhere(below, (*here, key)))]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2**40)
    | st.floats(0, 1)
    | st.sampled_from(["", "x", "0", "25%", "1Gi"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "template", "containers", "replicas", "name", "0"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(data=st.data(), value=st.sampled_from(FULL), junk=ANYTHING)
def test_whatever_stands_in_an_object_reading_it_ends_in_facts_or_problems(
    data: st.DataObject, value: dict[str, Any], junk: Any
) -> None:
    value = json.loads(json.dumps(value))
    path = data.draw(st.sampled_from(everywhere(value)[1:]))
    if path in (("apiVersion",), ("kind",)):
        return
    at(value, path[:-1])[path[-1]] = junk
    found, problems = read(value)
    whole = not any(problem.severity is Severity.ERROR for problem in problems)
    assert found.sized
    assert all(role.minimum <= role.count for role in found.roles)
    assert found.roles or not whole
    row = workloads.kind_of((value["apiVersion"].rpartition("/")[0], value["kind"]))
    assert row is not None
    assert all(isinstance(at(value, place), dict) for place in row.pod_templates(value))


# -- declarations of users ----------------------------------------------------------------------------------------

MPI = """\
apiVersion: gitplacer.dev/v1alpha1
kind: WorkloadKind
metadata: {name: mpirun}
spec:
  apiGroup: example.com
  kind: MPIRun
  versions: [v1]
  pods:
  - template: [/spec/template]
    count: [{paths: [/spec/ranks]}]
"""
RUN = """\
apiVersion: example.com/v1
kind: MPIRun
metadata: {name: run}
spec:
  ranks: 3
  template: {spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}}
"""
OTHER = """\
apiVersion: v1
kind: Pod
metadata: {name: other}
spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 100m}}}]}
"""


JOBS = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: jobs}
spec:
  replicatedJobs:
  - name: a
    template: {spec: {template: {spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 100m}}}]}}}}
"""


def pods_of(done: Hydration, group_id: str) -> list[tuple[str, int]]:
    return [(pods.role, pods.count) for pods in done.view.snapshot.groups[group_id].gang]


def declared(text: str) -> workloads.Declared:
    spec = yaml.safe_load(text)["spec"]
    return {(spec["apiGroup"], spec["kind"]): kind(declaration(spec))}


def story(*kinds: str, run: str = RUN, cpu: str = "8") -> Story:
    files = {f"kinds/{index}.yaml": text for index, text in enumerate(kinds)}
    objects = {"workloads/team/run.yaml": run, "workloads/team/other.yaml": OTHER}
    return Story.of(cluster("c"), ANYWHERE, files, objects, capacity=snapshot("c", f"n1 {cpu} 32Gi"))


def test_a_kind_that_nobody_declares_has_no_pods_and_one_that_is_declared_has_its_own() -> None:
    assert not facts(RUN).sized
    assert asked(facts(RUN, declared(MPI))) == [(3, "cpu=2 memory=1Gi")]


def test_a_declared_kind_is_placed_where_there_is_room_for_its_pods() -> None:
    done = story(MPI).run()
    assert outcome(done)["team/run"] == "Place c Fits"
    assert pods_of(done, "team/run") == [("pod", 3)]
    assert outcome(story(MPI, cpu="5").run())["team/run"].startswith("Wait")  # three times two cores


def test_what_is_placed_of_a_declared_kind_holds_its_room() -> None:
    told = story(MPI)
    told.run()
    told.source["workloads/team/second.yaml"] = RUN.replace("name: run", "name: second")
    assert outcome(told.run())["team/second"].startswith("Wait")  # 6 of 8 cores are promised


def test_an_override_of_a_declared_kind_is_sized_as_it_will_be() -> None:
    told = story(MPI)
    told.source["policies/more.yaml"] = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: more}\n"
        "spec: {select: {kinds: [MPIRun]}, overrides: [{path: /spec/ranks, value: 9}]}\n"
    )
    assert outcome(told.run())["team/run"].startswith("Wait")


def test_pod_labels_of_a_cluster_go_into_declared_templates() -> None:
    told = story(MPI)
    told.source |= cluster("c", autoscaler='{type: Luna, podLabels: {elotl-luna: "true"}, nodeTypes: []}')
    told.run()
    [path] = [path for path in told.files() if path.endswith("run.yaml")]
    assert "elotl-luna" in told.deployment.read(path).decode()


def codes(told: Story) -> list[tuple[str, str]]:
    return [(p.location.file, p.code) for p in told.plan().problems if p.severity is Severity.ERROR]


def test_a_broken_declaration_holds_the_objects_of_its_kind_and_nothing_else() -> None:
    told = story(MPI.replace("paths: [/spec/ranks]", "path: /spec/ranks"))
    done = told.plan()
    assert outcome(done)["team/run"] == "Hold  HasProblems"
    assert outcome(done)["team/other"] == "Place c Fits"
    assert ("workloads/team/run.yaml", "BrokenWorkloadKind") in codes(told)
    assert ("kinds/0.yaml", "UnknownField") in codes(told)


@pytest.mark.parametrize(
    "broken",
    [
        "apiVersion: gitplacer.dev/v1alpha1\nkind: WorkloadKind\nmetadata: {name: mpirun}\nspec: {kind: MPIRun}\n",
        MPI.replace("{name: mpirun}", "{name: mpirun"),  # no YAML at all
        MPI.replace("spec:\n", "spec: {").replace("kind: MPIRun\n", "kind: MPIRun,\n"),
    ],
)
def test_a_declaration_of_which_only_the_kinds_name_can_be_told_holds_its_objects(broken: str) -> None:
    told = story(broken)
    told.source["workloads/team/jobs.yaml"] = JOBS
    done = outcome(told.plan())
    assert done["team/run"] == "Hold  HasProblems"
    assert (done["team/jobs"], done["team/other"]) == ("Place c Fits", "Place c Fits")


@pytest.mark.parametrize(
    "broken",
    [
        "apiVersion: gitplacer.dev/v1alpha1\nkind: WorkloadKind\nmetadata: {name: mpirun}\nspec: {}\n",
        "apiVersion: gitplacer.dev/v1alpha1\nkind: WorkloadKind\nmetadata: {name: mpirun\n",
    ],
)
def test_a_declaration_of_which_nobody_can_tell_the_kind_holds_what_it_may_be_about(broken: str) -> None:
    told = story(MPI)
    told.run()
    told.source["kinds/0.yaml"] = broken
    told.source["workloads/team/jobs.yaml"] = JOBS
    done = outcome(told.plan())
    assert done["team/run"] == "Hold c UnreadableSource"  # it would seem to make no pods, and be removed
    assert done["team/jobs"] == "Hold  HasProblems"
    assert done["team/other"] == "Keep c Kept"


def test_a_declaration_that_breaks_keeps_what_runs_where_it_is() -> None:
    told = story(MPI)
    told.run()
    told.source["kinds/0.yaml"] = MPI.replace("versions: [v1]", "versions: []")
    assert outcome(told.plan())["team/run"] == "Hold c HasProblems"


def test_two_declarations_of_one_kind_are_an_error_and_neither_is_used() -> None:
    told = story(
        MPI, MPI.replace("name: mpirun", "name: again").replace("[/spec/ranks]}", "[/spec/ranks], default: 1}")
    )
    assert ("kinds/1.yaml", "DuplicateName") in codes(told)
    assert ("workloads/team/run.yaml", "BrokenWorkloadKind") in codes(told)


def test_two_declarations_of_one_name_are_an_error() -> None:
    told = story(MPI, MPI.replace("kind: MPIRun", "kind: Other"))
    assert codes(told) == [("kinds/1.yaml", "DuplicateName")]


@pytest.mark.parametrize(("group", "name"), [("ray.io", "RayJob"), ("keda.sh", "ScaledObject")])
def test_a_kind_that_gitplacer_knows_by_itself_cannot_be_declared(group: str, name: str) -> None:
    told = story(MPI, MPI.replace("name: mpirun", "name: own").replace("example.com", group).replace("MPIRun", name))
    assert codes(told) == [("kinds/1.yaml", "InvalidValue")]
    assert outcome(told.plan())["team/run"] == "Place c Fits"


def test_a_declaration_of_a_user_wins_over_one_that_comes_with_gitplacer() -> None:
    own = MPI.replace("example.com", "jobset.x-k8s.io").replace("MPIRun", "JobSet").replace("[v1]", "[v1alpha2]")
    own = own.replace("[/spec/template]", "[/spec/replicatedJobs/0/template/spec/template]")
    run = yaml.safe_dump(jobset(replicated("a", "2", replicas=9), ranks=2))
    assert pods_of(story(own, run=run).plan(), "team/x") == [("pod", 2)]
    assert outcome(story(run=run).plan())["team/x"].startswith("Wait")  # nine by the one that comes with it


def test_the_size_of_a_declared_kind_is_that_of_the_declaration_beside_it() -> None:
    files = {"run.yaml": RUN.encode()}
    assert sizes(files).objects == ()
    [found] = sizes({**files, "kind.yaml": MPI.encode()}).objects
    assert (found.kind, found.total["cpu"]) == ("MPIRun", 6000)  # three times two cores


def test_by_a_broken_declaration_nothing_has_a_size() -> None:
    broken = sizes({"run.yaml": RUN.encode(), "kind.yaml": MPI.replace("count:", "conut:").encode()})
    assert broken.objects == ()
    assert sorted(problem.code for problem in broken.problems) == ["BrokenWorkloadKind", "UnknownField"]


def test_a_declaration_among_the_workloads_does_not_count() -> None:
    told = story()
    told.source["workloads/team/kind.yaml"] = MPI
    assert ("workloads/team/kind.yaml", "OwnKindInWorkloads") in codes(told)
    assert "team/run" not in outcome(told.plan())


# what a declaration can say, by a kind made up for each

COMPUTE = {"requests": {"cpu": "1"}}


def made_up(pods: str, **more: str) -> workloads.Declared:
    lines = "".join(f"  {key}: {text}\n" for key, text in more.items())
    return declared(f"spec:\n  apiGroup: example.com\n  kind: Thing\n  versions: [v1]\n{lines}  pods: [{pods}]\n")


@pytest.mark.parametrize(
    ("pods", "spec", "expected"),
    [
        ("{resources: [/spec/ask]}", {"ask": COMPUTE}, [(1, "cpu=1")]),
        ("{resources: [/spec/none, /spec/ask]}", {"ask": COMPUTE}, [(1, "cpu=1")]),
        ("{resources: [/spec/none], orEmpty: true}", {}, [(1, "")]),
        ("{container: [/spec]}", {"resources": COMPUTE}, [(1, "cpu=1")]),
        ("{containers: [/spec/a, /spec/b]}", {"a": [{"resources": COMPUTE}], "b": [{"resources": COMPUTE}] * 2}, [(1, "cpu=3")]),
        ("{podSpec: [/spec/own, /spec/all]}", {"all": template()["spec"], "own": {"nodeName": "n"}}, [(1, "cpu=1")]),
        ("{podSpec: [/spec], container: [/spec/main]}", {**template()["spec"], "main": {"resources": COMPUTE}}, [(1, "cpu=2")]),
        (
            "{resources: [/spec/ask], adds: [{name: proxy, requests: {cpu: 25m}}, {name: fetch, role: Init, requests: {memory: 1Gi}}]}",
            {"ask": COMPUTE},
            [(1, "cpu=1025m memory=1Gi")],
        ),
        ("{resources: [/spec/groups/*/ask], count: [{paths: [/spec/groups/*/n]}]}",
         {"groups": [{"ask": COMPUTE, "n": 2}, {"ask": {}, "n": 3}]}, [(2, "cpu=1"), (3, "")]),
        ("{resources: [/spec/groups/*/ask], count: [{paths: [/spec/groups/*/n]}, {paths: [/spec/each]}]}",
         {"groups": {"b": {"ask": COMPUTE, "n": 2}, "a": {"ask": COMPUTE, "n": 3}}, "each": 10}, [(20, "cpu=1"), (30, "cpu=1")]),
        ("{resources: [/spec/groups/*], names: [a, c], orEmpty: true}", {"groups": {"a": COMPUTE, "b": COMPUTE}}, [(1, "cpu=1"), (1, "")]),
        ("{resources: [/spec/a~1b.c/ask]}", {"a/b.c": {"ask": COMPUTE}}, [(1, "cpu=1")]),
        ("{resources: [/spec/list/1/ask]}", {"list": [{}, {"ask": COMPUTE}]}, [(1, "cpu=1")]),
        ("{resources: [/spec/ask], count: [{paths: [/spec/n], default: 2, plus: 1}]}", {"ask": COMPUTE}, [(3, "cpu=1")]),
        ("{resources: [/spec/ask], count: [{paths: [/spec/n], plus: -3}]}", {"ask": COMPUTE, "n": 2}, [(0, "cpu=1")]),
        ("{resources: [/spec/ask], count: [{paths: [/spec/n, /spec/m], ignore: [-1]}]}", {"ask": COMPUTE, "n": -1, "m": 4}, [(4, "cpu=1")]),
        ("{resources: [/spec/ask], count: [{paths: [/spec/n], atLeast: 2, atMost: [/spec/m]}]}", {"ask": COMPUTE, "n": 9, "m": 1}, [(2, "cpu=1")]),
    ],
)  # fmt: skip
def test_a_declaration_says_where_pods_and_numbers_are(
    pods: str, spec: dict[str, Any], expected: list[tuple[int, str]]
) -> None:
    assert asked(facts(obj("example.com/v1", "Thing", spec), made_up(pods))) == expected


@pytest.mark.parametrize(
    ("condition", "spec", "holds"),
    [
        ("operator: In, values: [a, 1, true]", {"mode": "a"}, True),
        ("operator: In, values: [a, 1, true]", {"mode": 1}, True),
        ("operator: In, values: [a, 1, true]", {"mode": True}, True),
        ("operator: In, values: [1]", {"mode": True}, False),  # true is not 1
        ("operator: In, values: [a]", {}, False),
        ("operator: NotIn, values: [a]", {}, True),
        ("operator: NotIn, values: [a]", {"mode": "a"}, False),
        ("operator: Exists", {"mode": {}}, True),
        ("operator: Exists", {"mode": None}, False),
        ("operator: DoesNotExist", {"mode": None}, True),
        ('operator: Matches, values: ["*:v2.[6-9].*"]', {"mode": "milvus:v2.6.1"}, True),
        ('operator: Matches, values: ["*:v2.[6-9].*"]', {"mode": "milvus:v2.5.1"}, False),
        ('operator: Matches, values: ["*"]', {"mode": 1}, False),
        ('operator: NotMatches, values: ["*"]', {}, True),
    ],
)
def test_a_condition_is_about_the_first_value_that_is_there(condition: str, spec: dict[str, Any], holds: bool) -> None:
    when = f"[{{paths: [/spec/none, /spec/mode], {condition}}}]"
    found = facts(
        obj("example.com/v1", "Thing", {"ask": COMPUTE, **spec}),
        made_up(f"{{resources: [/spec/ask]}}, {{resources: [/spec/ask], when: {when}}}"),
    )
    assert len(found.roles) == (2 if holds else 1)


PLACES = [
    "/spec",
    "/spec/0",
    "/spec/replicas",
    "/spec/*",
    "/spec/*/template",
    "/spec/*/replicas",
    "/spec/*/containers",
    "/*",
]
LISTS = st.lists(st.sampled_from(PLACES), min_size=1, max_size=2)
CONDITIONS = st.lists(
    st.fixed_dictionaries({"paths": LISTS, "operator": st.just("In"), "values": st.just([True, "x", 0])})
    | st.fixed_dictionaries({"paths": LISTS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    max_size=1,
)
NUMBERS = st.fixed_dictionaries(
    {"paths": LISTS},
    optional={"default": st.integers(0, 3), "ignore": st.just([-1]), "plus": st.integers(-2, 2), "atMost": LISTS},
)
ENTRIES = st.fixed_dictionaries(
    {"count": st.lists(NUMBERS, max_size=2)},
    optional={
        "template": LISTS,
        "podSpec": LISTS,
        "podFields": LISTS,
        "container": LISTS,
        "containers": LISTS,
        "resources": LISTS,
        "orEmpty": st.booleans(),
        "mustRequest": st.just(["cpu"]),
        "names": st.just(["a", "0"]),
        "when": CONDITIONS,
        "minimum": st.lists(NUMBERS, max_size=1),
        "maximum": st.lists(NUMBERS, max_size=1),
        "surge": st.lists(st.fixed_dictionaries({"paths": LISTS, "default": st.just("25%")}), max_size=1),
        "labels": st.dictionaries(st.just("app"), st.sampled_from(PLACES), max_size=1),
        "labelsFrom": LISTS,
    },
)


@given(entries=st.lists(ENTRIES, min_size=1, max_size=2), value=ANYTHING, around=st.booleans())
def test_whatever_a_declaration_says_reading_by_it_ends_in_facts_or_problems(
    entries: list[dict[str, Any]], value: Any, around: bool
) -> None:
    spec = {"apiGroup": "example.com", "kind": "Thing", "versions": ["v1"], "volumeClaims": PLACES[:2], "pods": entries}
    spec |= {"needs": [{"kind": "Secret", "path": place} for place in PLACES]}
    own = {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "WorkloadKind", "metadata": {"name": "x"}, "spec": spec}
    if not isinstance(parse_own(document(own)), Model):
        return
    row = kind(declaration(spec))
    thing = obj("example.com/v1", "Thing", {"spec": value, "replicas": value} if around else value)
    found, problems = read(thing, {("example.com", "Thing"): row})
    assert found.sized
    assert all(role.minimum <= role.count and (role.maximum or role.count) >= role.count for role in found.roles)
    assert found.roles or any(problem.severity is Severity.ERROR for problem in problems)
    assert all(isinstance(at(thing, place), dict) for place in row.pod_templates(thing))


def test_a_declared_kind_may_need_what_it_names_in_a_list_of_items() -> None:
    rows = made_up(
        "{resources: [/spec/ask]}",
        needs="[{kind: Secret, path: /spec/stores/*/secret}, {apiGroup: a.b, kind: K, path: /spec/k}]",
    )
    found = facts(obj("example.com/v1", "Thing", {"ask": {}, "stores": [{"secret": "a"}, {}, {"secret": "b"}]}), rows)
    assert [(need.kind, need.name, need.path) for need in found.needs] == [
        ("Secret", "a", ("spec", "stores", 0, "secret")),
        ("Secret", "b", ("spec", "stores", 2, "secret")),
    ]

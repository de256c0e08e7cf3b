"""
What the API server does to pods before kube-scheduler sees them, in `gitplacer fit`: a row for each rule of LimitRanges, quotas,
RuntimeClasses and priorities; and in what order kube-scheduler takes pods, and whom it leaves room.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitplacer.model.resources import Resources
from gitplacer.scheduler import judge, read_cluster, read_pod
from gitplacer.scheduler.admission import read_rules
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.scheduler.orders import named_orders
from gitplacer.scheduler.simulation import Profile, simulate
from gitplacer.scheduler.site import Site
from gitplacer.sizing import sizes
from gitplacer.workloads.facts import Role
from gitplacer.workloads.surroundings import Surroundings
from tests.commands import run
from tests.dumps import Json, a_pod, a_set, claim, judged, machine, pod_spec, said, storage_class, term, thing
from tests.schedulerobjects import board, expression, node, node_affinity, pod, pod_rule, pods

A, B = machine("a"), machine("b")


def fields(text: str) -> Json:
    found: Json = yaml.safe_load(text)
    return found


def limit_range(item: str, namespace: str = "ray", kind: str = "Container") -> Json:
    return thing("LimitRange", "lr", namespace, spec={"limits": [{"type": kind, **fields(item)}]})


def quota(hard: str, used: str = "{}", **spec: Any) -> Json:
    amounts = fields(hard)
    return thing(
        "ResourceQuota", "rq", "ray", spec={"hard": amounts, **spec}, status={"hard": amounts, "used": fields(used)}
    )


def priority_class(name: str, value: int, default: bool = False) -> Json:
    return thing("PriorityClass", name, value=value, globalDefault=default)


def asking(resources: str, **more: Any) -> Json:
    return a_pod("p", resources=fields(resources), **more)


# -- LimitRanges and runtime classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "item", "resources"),
    [
        ("Fits", "{default: {cpu: 8}}", "{}"),
        ("No ExceedsCluster", "{default: {cpu: 9}}", "{}"),  # a limit is a request too
        ("Fits", "{default: {cpu: 9}, defaultRequest: {cpu: 1}}", "{}"),
        ("No ExceedsCluster", "{max: {cpu: 9}}", "{}"),  # the most is the default limit
        ("No ExceedsCluster", "{min: {cpu: 9}}", "{}"),  # the least is the default request
        ("Fits", "{default: {cpu: 9}}", "{limits: {cpu: 1}}"),
        (
            "No LimitRangeViolated",
            "{default: {cpu: 1}}",
            "{requests: {cpu: 2}}",
        ),  # its limit would be below its request
        ("No LimitRangeViolated", "{max: {cpu: 1}}", "{limits: {cpu: 2}}"),
        ("Fits", "{max: {cpu: 2}}", "{limits: {cpu: 2}}"),
        ("No LimitRangeViolated", "{min: {cpu: 2}}", "{requests: {cpu: 1}}"),
        ("Fits", "{min: {cpu: 1500m}}", "{requests: {cpu: 1500m}}"),
        ("No LimitRangeViolated", "{maxLimitRequestRatio: {cpu: 2}}", "{requests: {cpu: 1}, limits: {cpu: 3}}"),
        ("Fits", "{maxLimitRequestRatio: {cpu: 3}}", "{requests: {cpu: 1}, limits: {cpu: 3}}"),
        ("No LimitRangeViolated", "{maxLimitRequestRatio: {memory: 2}}", "{requests: {cpu: 1}}"),
    ],
)
def test_a_limit_range_fills_in_and_refuses(answer: str, item: str, resources: str) -> None:
    assert said([asking(resources)], A, limit_range(item)) == answer
    assert said([asking(resources)], A, limit_range(item, "other")) == "Fits"


def test_a_limit_range_of_pods_adds_containers_up() -> None:
    two = a_pod("p")
    two["spec"]["containers"] = [
        {"name": name, "image": "x", "resources": {"limits": {"cpu": "2"}}} for name in ("one", "two")
    ]
    assert said([two], A, limit_range("{max: {cpu: 3}}", kind="Pod")) == "No LimitRangeViolated"
    assert said([two], A, limit_range("{max: {cpu: 4}}", kind="Pod")) == "Fits"


def test_a_limit_range_says_which_container_and_why() -> None:
    found = judged([asking("{limits: {cpu: 2}}")], [A, limit_range("{max: {cpu: 1}}")])
    assert (
        found.answer.why.message
        == "LimitRange lr of namespace ray refuses pod: container main has 2 cpu, and the most is 1"
    )


def test_a_runtime_class_costs_and_chooses_nodes_and_has_to_be_there() -> None:
    kata = thing(
        "RuntimeClass", "kata", overhead={"podFixed": {"cpu": "1"}}, scheduling={"nodeSelector": {"kata": "y"}}
    )
    able = machine("k", cpu="2", kata="y")
    assert judged([a_pod("p", runtimeClassName="kata")], [A, able, kata]).answer.placement == {"p": "k"}
    assert said([a_pod("p", cpu="2", runtimeClassName="kata")], A, able, kata) == "No ExceedsCluster"
    assert said([a_pod("p", runtimeClassName="gvisor")], A, kata) == "No MissingRuntimeClass"
    assert said([a_pod("p", runtimeClassName="gvisor")], A) == "Fits"  # nobody asked which there are
    assert (
        said([a_pod("p", runtimeClassName="kata", nodeSelector={"kata": "y"}, overhead={"cpu": "1"})], able, kata)
        == "Fits"
    )
    other = machine("o", cpu="2", kata="n")
    assert (
        said([a_pod("p", runtimeClassName="kata", nodeSelector={"kata": "n"})], other, kata)
        == "No RuntimeClassConflict"
    )
    assert said([a_pod("p", runtimeClassName="kata", overhead={"cpu": "2"})], able, kata) == "No RuntimeClassConflict"


GKE, EKS = ("gce://p/z/n", "v1.31.4-gke.1183000"), ("aws:///z/i-1", "v1.31.4-eks-aeac579")
"""The provider ids of nodes, and the versions of their kubelets."""
ONE_GPU, NO_GPU = "{limits: {nvidia.com/gpu: 1}}", "{limits: {nvidia.com/gpu: 0}}"


@pytest.mark.parametrize(
    ("answer", "node", "resources", "taint"),
    [
        ("Fits", GKE, ONE_GPU, "nvidia.com/gpu"),
        ("Fits", EKS, ONE_GPU, "nvidia.com/gpu"),
        ("Fits", GKE, NO_GPU, "nvidia.com/gpu"),  # none of it is asked for too
        ("No UntoleratedTaint", ("gce://p/z/n", "v1.31.4"), ONE_GPU, "nvidia.com/gpu"),
        ("No UntoleratedTaint", ("vsphere://42", "v1.31.4-gke.1183000"), ONE_GPU, "nvidia.com/gpu"),
        ("No UntoleratedTaint", ("tinkerbell://rack/n", "v1.31.4-eks-aeac579"), ONE_GPU, "nvidia.com/gpu"),
        ("No UntoleratedTaint", ("", "v1.31.4-eks-aeac579"), ONE_GPU, "nvidia.com/gpu"),
        ("No UntoleratedTaint", GKE, ONE_GPU, "pool"),
        ("No UntoleratedTaint", GKE, "{requests: {cpu: 1}}", "nvidia.com/gpu"),
        ("No UntoleratedTaint", GKE, "{requests: {cpu: 1}}", "cpu"),  # cpu is no extended resource
    ],
)
def test_where_an_admission_plugin_is_on_pods_tolerate_the_taint_of_their_devices(
    answer: str, node: tuple[str, str], resources: str, taint: str
) -> None:
    gpu = machine("g")
    gpu["spec"] = {"taints": [{"key": taint, "value": "present", "effect": "NoSchedule"}], "providerID": node[0]}
    gpu["status"]["nodeInfo"] = {"kubeletVersion": node[1]}
    gpu["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    assert said([asking(resources)], gpu) == answer


def test_a_toleration_of_devices_is_not_one_of_pods_that_are_to_go() -> None:
    """The plug-in writes the effect NoSchedule, so a taint that evicts is as good as ever."""
    gpu = machine("g")
    gpu["spec"] = {"taints": [{"key": "nvidia.com/gpu", "effect": "NoExecute"}], "providerID": GKE[0]}
    gpu["status"]["nodeInfo"] = {"kubeletVersion": GKE[1]}
    gpu["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    assert said([asking("{limits: {nvidia.com/gpu: 1}}")], gpu) == "No UntoleratedTaint"


@pytest.mark.parametrize(
    ("answer", "there", "given", "spec"),
    [
        ("No LimitRangeViolated", [], [limit_range("{max: {cpu: 500m}}")], {}),
        ("Fits", [limit_range("{max: {cpu: 500m}}")], [limit_range("{max: {cpu: 1}, default: {cpu: 1}}")], {}),  # it is edited
        ("No ExceedsCluster", [], [limit_range("{defaultRequest: {example.com/x: 1}}")], {}),
        ("Fits", [priority_class("low", 1)], [priority_class("high", 5)], {"priorityClassName": "high", "priority": 5}),
        ("No PriorityClassConflict", [priority_class("low", 1)], [priority_class("high", 7)], {"priorityClassName": "high", "priority": 5}),
        ("No PriorityClassConflict", [priority_class("high", 7)], [priority_class("high", 5)], {"priorityClassName": "high", "priority": 5}),
        ("No QuotaExceeded", [], [quota("{pods: 0}")], {}),
        ("No QuotaExceeded", [quota("{pods: 9}", "{pods: 3}")], [quota("{pods: 3}")], {}),
        ("Fits", [quota("{pods: 3}", "{pods: 3}")], [quota("{pods: 4}")], {}),
    ],
)  # fmt: skip
def test_what_is_given_beside_pods_counts_as_if_it_were_there(
    answer: str, there: list[Json], given: list[Json], spec: Json
) -> None:
    assert said([a_pod("p", **spec), *given], A, *there) == answer


def test_a_namespace_that_the_dump_lacks_will_have_its_name() -> None:
    """The API server labels it so when it is made, and a pod that runs can keep others away by that."""
    alone = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ray"}},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}}
    there = thing("Pod", "alone", "db", spec={"nodeName": "a", "affinity": apart, "containers": [{"name": "c"}]})
    assert said([a_pod("p")], A, there) == "No PodAffinity"


# -- quotas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "hard", "used"),
    [
        ("Fits", "{requests.cpu: 4, pods: 4}", "{requests.cpu: 2, pods: 2}"),
        ("No QuotaExceeded", "{requests.cpu: 4}", "{requests.cpu: 2500m}"),
        ("No QuotaExceeded", "{cpu: 4}", "{cpu: 3}"),
        ("No QuotaExceeded", "{pods: 4}", "{pods: 3}"),
        ("No QuotaExceeded", "{count/pods: 1}", "{}"),
        ("No QuotaExceeded", "{memory: 1Gi}", "{}"),
        ("No QuotaExceeded", "{limits.cpu: 8}", "{}"),  # no container says a limit
        ("Fits", "{requests.nvidia.com/gpu: 0, services: 0}", "{}"),
        (
            "Fits",
            "{requests.nvidia.com/gpu: 0}",
            "{requests.nvidia.com/gpu: 1}",
        ),  # over it already, and none is asked for
    ],
)
def test_a_quota_counts_all_pods_of_its_namespace_together(answer: str, hard: str, used: str) -> None:
    gang = a_set("web", 2, pod_spec())
    assert said([gang], A, B, quota(hard, used)) == answer


def with_claims(cls: str | None) -> Json:
    """Two pods of a set with a claim of 10Gi each."""
    named = {} if cls is None else {"storageClassName": cls}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}, **named}
    return a_set("web", 2, pod_spec(), "StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "d"}, "spec": spec}])


GOLD = "gold.storageclass.storage.k8s.io/requests.storage"


@pytest.mark.parametrize(
    ("answer", "hard", "more"),
    [
        ("Fits", "{persistentvolumeclaims: 3, requests.storage: 25Gi}", {}),
        ("No QuotaExceeded", "{persistentvolumeclaims: 2}", {}),
        ("No QuotaExceeded", "{requests.storage: 24Gi}", {}),
        ("Fits", f"{{{GOLD}: 20Gi}}", {}),
        ("No QuotaExceeded", f"{{{GOLD}: 19Gi}}", {}),
        ("No QuotaExceeded", "{count/statefulsets.apps: 0}", {}),
        ("Fits", "{configmaps: 0}", {}),
        ("Fits", "{persistentvolumeclaims: 0}", {"scopes": ["NotTerminating"]}),
    ],
)
def test_a_quota_counts_what_comes_besides_pods(answer: str, hard: str, more: Json) -> None:
    spare = claim("spare", cls="tin", storage="5Gi")
    there = (A, B, storage_class("gold"), storage_class("tin"))
    assert said([with_claims("gold"), spare], *there, quota(hard, "{}", **more)) == answer


@pytest.mark.parametrize(
    ("answer", "limits"),
    [
        ("Fits", {"min": {"storage": "10Gi"}, "max": {"storage": "10Gi"}}),
        ("No LimitRangeViolated", {"max": {"storage": "9Gi"}}),
        ("No LimitRangeViolated", {"min": {"storage": "11Gi"}}),
    ],
)
def test_a_limit_range_bounds_the_claims_of_pods_too(answer: str, limits: Json) -> None:
    item = {"type": "PersistentVolumeClaim", **limits}
    bounds = thing("LimitRange", "small", "ray", spec={"limits": [item]})
    there = (A, B, storage_class("gold"), bounds)
    assert said([with_claims("gold")], *there) == answer
    given, pod = claim("x", cls="gold"), a_pod("p", "x")
    assert said([given, pod], *there) == answer
    assert said([given, pod], *there, given) == "Fits"  # it is there already
    assert said([given, a_pod("p")], *there) == "Fits"  # nobody waits for it


@pytest.mark.parametrize(("hard", "answer"), [(2, "Fits"), (1, "No QuotaExceeded")])
def test_a_pod_that_is_given_itself_counts_once(hard: int, answer: str) -> None:
    assert said([a_pod("p"), a_pod("q")], A, quota(f"{{count/pods: {hard}, pods: {hard}}}", "{}")) == answer


def test_what_is_given_and_there_already_is_used_already() -> None:
    spare = claim("spare", cls="tin", storage="5Gi")
    bounds = quota("{persistentvolumeclaims: 1}", "{persistentvolumeclaims: 1}")
    assert said([a_pod("p"), spare], A, storage_class("tin"), bounds) == "No QuotaExceeded"
    assert said([a_pod("p"), spare], A, storage_class("tin"), bounds, spare) == "Fits"


def test_what_nobody_can_count_of_what_a_quota_bounds_is_told() -> None:
    bounds = quota(f"{{{GOLD}: 1Gi, pods: 9}}")
    told = (f"how much StatefulSet web brings of {GOLD}, which ResourceQuota rq bounds",)
    assert told[0] in judged([with_claims(None)], [A, B, bounds]).left_out
    for there in (storage_class("gold", default=True), storage_class("tin", default=True), storage_class("tin")):
        assert told[0] not in judged([with_claims(None)], [A, B, bounds, there]).left_out


@pytest.mark.parametrize(
    ("counts", "spec", "manifest"),
    [
        (True, "{scopes: [NotTerminating]}", {}),
        (False, "{scopes: [Terminating]}", {}),
        (True, "{scopes: [Terminating]}", {"activeDeadlineSeconds": 5}),
        (True, "{scopes: [NotBestEffort]}", {}),
        (False, "{scopes: [BestEffort]}", {}),
        (True, "{scopes: [BestEffort]}", {"resources": {}}),
        (True, "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}", {"priorityClassName": "high"}),
        (False, "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}", {}),
        (False, "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [high]}]}}", {"priorityClassName": "high"}),
        (False, "{scopes: [CrossNamespacePodAffinity]}", {}),
    ],
)  # fmt: skip
def test_a_quota_counts_the_pods_in_its_scope(counts: bool, spec: str, manifest: Json) -> None:
    found = said([a_pod("p", **manifest)], A, quota("{pods: 0}", **fields(spec)), priority_class("high", 5))
    assert found == ("No QuotaExceeded" if counts else "Fits")


# -- containers that controllers add ----------------------------------------------------------------------------------

SMALL = "{limits: {cpu: 1, memory: 1Gi}}"


def ray_spec(worker: str = SMALL, head: str = SMALL, more: str = "{}") -> Json:
    """A Ray cluster spec of a head and a worker."""

    def template(resources: str) -> Json:
        return {"rayStartParams": {}, "template": {"spec": pod_spec(resources=fields(resources))}}

    group = {"groupName": "g", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, **template(worker)}
    return {"headGroupSpec": template(head), "workerGroupSpecs": [group], **fields(more)}


def ray_cluster(worker: str = SMALL, head: str = SMALL, more: str = "{}") -> Json:
    return {**thing("RayCluster", "r", "ray", spec=ray_spec(worker, head, more)), "apiVersion": "ray.io/v1"}


def ray_job(more: str = "{}", pods: str = SMALL) -> Json:
    spec = {"entrypoint": "x", "rayClusterSpec": ray_spec(pods, pods), **fields(more)}
    return {**thing("RayJob", "r", "ray", spec=spec), "apiVersion": "ray.io/v1"}


def scaling(resources: str) -> str:
    return f"{{enableInTreeAutoscaling: true, autoscalerOptions: {{resources: {resources}}}}}"


def collecting(resources: str) -> str:
    return f"{{historyServerOptions: {{collectorOptions: {{resources: {resources}}}}}}}"


WIDE = "{requests: {cpu: 1}, limits: {cpu: 8, memory: 1Gi}}"
BARE = "{requests: {cpu: 100m, memory: 64Mi}}"
ALONE = "submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: x, image: x%s}]}}"


@pytest.mark.parametrize(
    ("answer", "kind", "item", "manifest"),
    [
        ("No", "Pod", "{max: {cpu: 4}}", ray_cluster(WIDE)),  # the worker's 8, beside what wait-gcs-ready has
        ("Fits", "Pod", "{max: {cpu: 8}}", ray_cluster(WIDE)),
        ("No", "Pod", "{max: {cpu: 1200m}}", ray_cluster(more=scaling("null"))),  # 1 and the autoscaler's 500m
        ("Fits", "Pod", "{max: {cpu: 1500m}}", ray_cluster(more=scaling("null"))),
        ("Fits", "Pod", "{max: {cpu: 1200m}}", ray_cluster(more=scaling("{limits: {cpu: 200m}}"))),
        ("Fits", "Pod", "{max: {cpu: 1}}", ray_cluster(more=scaling("{}"))),  # replaced by nothing
        ("Fits", "Pod", "{max: {cpu: 1200m}}", ray_cluster(more="{enableInTreeAutoscaling: false}")),
        ("No", "Container", "{max: {memory: 512Mi}}", ray_cluster(more=scaling("{limits: {memory: 1Gi}}"), worker=BARE, head=BARE)),
        ("Fits", "Container", "{max: {memory: 512Mi}}", ray_cluster(more=scaling("null"), worker=BARE, head=BARE)),
        # a default is the limit of a container that has none, and not of one that has
        ("No", "Container", "{default: {cpu: 300m}}", ray_cluster(more=scaling("{requests: {cpu: 400m}}"), worker=BARE, head=BARE)),
        ("Fits", "Container", "{default: {cpu: 300m}}", ray_cluster(more=scaling("null"), worker=BARE, head=BARE)),
        ("No", "Container", "{maxLimitRequestRatio: {cpu: 3}}", ray_cluster(more="{historyServerOptions: {collectorOptions: {}}}")),
        ("Fits", "Container", "{maxLimitRequestRatio: {cpu: 4}}", ray_cluster(more="{historyServerOptions: {collectorOptions: {}}}")),
        ("Fits", "Container", "{maxLimitRequestRatio: {cpu: 3}}", ray_cluster(more=collecting("{limits: {cpu: 50m}}"))),
        ("Fits", "Pod", "{maxLimitRequestRatio: {cpu: 1}}", ray_cluster(more="{tlsOptions: {enabled: true}}")),
        ("No", "Container", "{max: {memory: 512Mi}, default: {memory: 512Mi}}", ray_job(pods=BARE)),
        ("No", "Container", "{maxLimitRequestRatio: {memory: 4}}", ray_job()),  # 1Gi for 200Mi
        ("Fits", "Container", "{maxLimitRequestRatio: {memory: 6}}", ray_job()),
        ("No", "Container", "{maxLimitRequestRatio: {memory: 4}}", ray_job("{submitterPodTemplate: null}")),
        ("No", "Container", "{maxLimitRequestRatio: {memory: 4}}", ray_job("{submissionMode: SidecarMode}")),
        ("Fits", "Container", "{maxLimitRequestRatio: {memory: 4}}", ray_job("{submissionMode: HTTPMode}")),
        ("Fits", "Container", "{maxLimitRequestRatio: {memory: 4}}", ray_job("{%s}" % (ALONE % f", resources: {SMALL}"))),
        ("No", "Container", "{maxLimitRequestRatio: {memory: 4}}", ray_job("{%s}" % (ALONE % ""))),  # it has none at all
    ],
)  # fmt: skip
def test_a_limit_range_looks_at_the_limits_that_kuberay_writes(
    answer: str, kind: str, item: str, manifest: Json
) -> None:
    found = said([manifest], A, B, limit_range(item, kind=kind))
    assert found == (answer if answer == "Fits" else "No LimitRangeViolated")


@pytest.mark.parametrize(
    ("most", "resource", "manifest"),
    [
        ("3", "cpu", ray_job()),  # head, worker and submitter, 1 each
        ("3Gi", "memory", ray_job()),
        ("3", "cpu", ray_job("{submissionMode: SidecarMode}")),
        ("2", "cpu", ray_job("{submissionMode: HTTPMode}")),
        ("2250m", "cpu", ray_job("{%s}" % (ALONE % ", resources: {limits: {cpu: 250m}}"))),
        ("2500m", "cpu", ray_cluster(more=scaling("null"))),
        ("2200m", "cpu", ray_cluster(more=scaling("{limits: {cpu: 200m}}"))),
        ("2400m", "cpu", ray_cluster(more="{historyServerOptions: {collectorOptions: {}}}")),
        ("1200m", "cpu", ray_cluster("{limits: {cpu: 100m, memory: 1Gi}}")),  # wait-gcs-ready has 200m
    ],
)
def test_a_quota_of_limits_counts_those_that_kuberay_writes(most: str, resource: str, manifest: Json) -> None:
    assert said([manifest], A, B, quota(f"{{limits.{resource}: {most}}}")) == "Fits"
    less = f"{{limits.{resource}: {most}}}", f"{{limits.{resource}: 1m}}"
    assert said([manifest], A, B, quota(*less)) == "No QuotaExceeded"


@pytest.mark.parametrize("more", ["{}", "{requests: {cpu: 100m, memory: 64Mi}}"])
def test_a_quota_of_limits_wants_one_of_an_autoscaler_that_was_given_none(more: str) -> None:
    assert said([ray_cluster(more=scaling(more))], A, quota("{limits.cpu: 9}")) == "No QuotaExceeded"
    assert said([ray_cluster(more=scaling("null"))], A, quota("{limits.cpu: 9}")) == "Fits"


@pytest.mark.parametrize(
    ("refused", "kind", "item", "around"),
    [
        (True, "Pod", "{max: {cpu: 4}}", Surroundings()),
        (True, "Pod", "{max: {cpu: 4}}", Surroundings(waits_for_gcs=False)),
        # who added a container by the operator's configuration may have given it any limit
        (False, "Pod", "{max: {cpu: 4}}", Surroundings(worker_sidecars=(("log", Resources({"cpu": 100})),))),
        (False, "Container", "{max: {memory: 1Gi}}", Surroundings(worker_sidecars=(("log", Resources({"cpu": 100})),))),
        (True, "Container", "{max: {cpu: 200m}}", Surroundings()),
    ],
)
def test_limits_that_nobody_knows_are_not_held_against_a_pod(
    refused: bool, kind: str, item: str, around: Surroundings
) -> None:
    (found,) = sizes({"r.json": json.dumps(ray_cluster(WIDE)).encode()}, lambda namespace: around).objects
    workers = [role for role in found.facts.roles if role.name == "worker/g"]
    assert bool([*read_rules([limit_range(item, kind=kind)]).refusals("ray", workers)]) is refused


# -- priorities -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priority", "spec", "classes"),
    [
        (0, {}, []),
        (7, {"priorityClassName": "high"}, [("high", 7, False)]),
        (3, {}, [("low", 3, True), ("high", 7, False)]),
        (3, {}, [("low", 3, True), ("mid", 5, True)]),
        (2_000_001_000, {"priorityClassName": "system-node-critical"}, [("high", 7, False)]),
        (9, {"priority": 9}, []),
    ],
)
def test_a_pod_gets_its_priority_from_its_class_or_the_default(
    priority: int, spec: Json, classes: list[tuple[str, int, bool]]
) -> None:
    found = judged([a_pod("p", **spec)], [A, *(priority_class(*each) for each in classes)])
    assert [each.priority for each in found.members.pods] == [priority]


def test_a_priority_class_has_to_be_there() -> None:
    assert said([a_pod("p", priorityClassName="x")], A, priority_class("high", 5)) == "No MissingPriorityClass"
    assert said([a_pod("p", priorityClassName="x")], A) == "Fits"


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ({"priorityClassName": "high", "priority": 5}, "Fits"),
        ({"priorityClassName": "high", "priority": 6}, "No PriorityClassConflict"),
        ({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}, "Fits"),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, "No PriorityClassConflict"),
        ({"priorityClassName": "calm", "preemptionPolicy": "Never"}, "Fits"),
        ({"priorityClassName": "system-node-critical", "priority": 1}, "No PriorityClassConflict"),
        ({"priority": 3}, "Fits"),  # that of the default one
        ({"priority": 0}, "No PriorityClassConflict"),
    ],
)
def test_a_pod_says_no_other_priority_than_its_class(spec: Json, answer: str) -> None:
    calm = {**priority_class("calm", 5), "preemptionPolicy": "Never"}
    classes = [priority_class("high", 5), calm, priority_class("usual", 3, True)]
    assert said([a_pod("p", **spec)], A, *classes) == answer
    assert said([a_pod("p", **spec)], A) == "Fits"


def test_the_order_by_priority_is_tried_and_others_too() -> None:
    gang = [pod("low", priority=1), *pods(2, "high", priority=5), pod("none")]
    orders = dict(named_orders(board([node("n")], gang)))
    assert orders["by priority"] == (1, 1, 0, 2)
    assert orders["as created"] == (0, 1, 1, 2)


def test_pods_of_one_priority_have_no_order_of_it() -> None:
    assert "by priority" not in dict(named_orders(board([node("n")], [pod("a"), pod("b", cpu="2")])))


@pytest.mark.parametrize(
    ("answer", "nominated", "gang"),
    [
        ("No", 0, [0]),
        ("No", 5, [0]),
        ("Fits", -1, [0]),  # it would be left out itself
        ("No", 5, [5]),
        ("Fits", 4, [5]),
        ("TightFit", 3, [5, 0]),  # the one that outranks it may have its room, the other not
    ],
)
def test_a_pod_that_preempts_others_holds_its_room_against_those_it_does_not_rank_below(
    answer: str, nominated: int, gang: list[int]
) -> None:
    waiting = pod("w", cpu="6", priority=nominated, status={"phase": "Pending", "nominatedNodeName": "n"})
    asked = [pod(f"p{i}", cpu="4", priority=priority) for i, priority in enumerate(gang)]
    found = judge(read_cluster([node("n")], [waiting], []), [read_pod(each) for each in asked])
    assert found.fit == answer


@pytest.mark.parametrize(
    ("answer", "rules", "gang"),
    [
        ("Fits", {}, {}),
        ("Fits", {"labels": {"app": "w"}}, {"affinity": pod_rule("podAntiAffinity", {"app": "w"}, HOSTNAME)}),
        ("TightFit", {"labels": {"app": "w"}}, {"affinity": pod_rule("podAntiAffinity", {"app": "w"})}),
        ("TightFit", {"labels": {"app": "w"}}, {"affinity": pod_rule("podAffinity", {"app": "w"})}),  # if it comes
        ("TightFit", {"affinity": pod_rule("podAntiAffinity", {})}, {}),  # if it does not
        ("No", {"affinity": pod_rule("podAntiAffinity", {}, HOSTNAME)}, {"nodeSelector": {HOSTNAME: "n"}}),
    ],
)
def test_no_rule_counts_on_a_pod_before_it_is_on_its_node(answer: str, rules: Json, gang: Json) -> None:
    """kube-scheduler sees a nominated pod on its own node only, and there with and without it."""
    nodes = [node(name, labels={HOSTNAME: name, "zone": "z"}) for name in ("n", "m")]
    waiting = pod("w", cpu="6", status={"phase": "Pending", "nominatedNodeName": "n"}, **rules)
    found = judge(read_cluster(nodes, [waiting], []), [read_pod(pod("p", cpu="2", **gang))])
    assert found.fit == answer, found.why


def test_a_placement_minds_the_rules_of_a_pod_that_is_about_to_come() -> None:
    alone = pod_rule("podAntiAffinity", {}, HOSTNAME)
    waiting = pod("w", cpu="1", status={"phase": "Pending", "nominatedNodeName": "a"}, affinity=alone)
    gang = [
        read_pod(each) for each in (pod("p", cpu="2"), pod("q", affinity=pod_rule("podAntiAffinity", {}, HOSTNAME)))
    ]
    found = judge(read_cluster([node(name) for name in "abcd"], [waiting], []), gang)
    assert found.fit == "Fits" and "a" not in found.placement.values()


def test_no_score_counts_a_pod_before_it_is_on_its_node() -> None:
    waiting = pod(
        "w", cpu="6", status={"phase": "Pending", "nominatedNodeName": "n"}, ports=[{"containerPort": 1, "hostPort": 1}]
    )
    site = Site(read_cluster([node("n"), node("m")], [], [])).holding(read_cluster([], [waiting], []).pods)

    def chosen(**more: Any) -> tuple[tuple[int, int], ...]:
        return simulate(Board(site, [read_pod(pod("p", **more))]), (0,), Profile(ties="first")).bound

    assert chosen(cpu="2") == ((0, 0),)  # both nodes seem empty
    assert chosen(cpu="3") == ((0, 1),)  # there is no room
    assert chosen(cpu="2", ports=[{"containerPort": 1, "hostPort": 1}]) == ((0, 1),)


def test_a_pod_that_waits_without_a_node_holds_nothing() -> None:
    waiting = pod("w", cpu="6", status={"phase": "Pending"})
    assert judge(read_cluster([node("n")], [waiting], []), [read_pod(pod("p", cpu="8"))]).fit == "Fits"


def to_come(cpu: str, on: str = "n", name: str = "d", **more: Any) -> Json:
    """A pod of a DaemonSet, which names its node."""
    field = {"matchFields": [expression("metadata.name", "In", on)]}
    return a_pod(name, cpu=cpu, affinity=node_affinity(field), **more)


@pytest.mark.parametrize(
    ("answer", "there"),
    [
        ("No InsufficientCapacity", [to_come("3")]),
        ("Fits", [to_come("2")]),
        ("No InsufficientCapacity", [to_come("1"), to_come("2", name="e")]),
        ("No InsufficientCapacity", [to_come("3"), to_come("6", name="e")]),  # the second is stuck behind the first
        ("Fits", [to_come("9")]),  # it is stuck
        ("Fits", [to_come("3", priority=-1)]),  # the gang outranks it
        ("Fits", [to_come("3", "elsewhere")]),
        ("Fits", [to_come("3", nodeSelector={"gpu": "yes"})]),  # its node refuses it
        ("Fits", [to_come("3", status={"phase": "Failed"})]),
        ("Fits", [a_pod("w", cpu="3")]),  # which may go anywhere
    ],
)
def test_a_pod_that_waits_for_its_own_node_holds_its_room_there(answer: str, there: list[Json]) -> None:
    """On a node that has just joined, those of all DaemonSets do. Their room was promised."""
    assert said([a_pod("p", cpu="6")], machine("n"), *there) == answer


# -- gates, spreading, slices -----------------------------------------------------------------------------------------


def test_a_pod_with_gates_is_judged_as_if_they_were_gone_and_it_is_said() -> None:
    found = judged([a_pod("p", schedulingGates=[{"name": "wait"}])], [A])
    assert found.answer.fit == "Fits"
    assert found.notes == ("p: pod has scheduling gates, and waits until they are gone",)
    assert judged([a_pod("p", schedulingGates=[])], [A]).notes == ()


def service(**selector: str) -> Json:
    return thing("Service", "s", "ray", spec={"selector": selector})


@pytest.mark.parametrize(
    ("answer", "objects"),
    [
        ("Fits", []),
        ("TightFit", [service(app="few")]),
        ("Fits", [service(app="other")]),
        ("Fits", [thing("Service", "s", "elsewhere", spec={"selector": {"app": "few"}})]),
    ],
)
def test_pods_of_a_service_are_spread_by_default(answer: str, objects: list[Json]) -> None:
    """They would all go where they like it best, and leave the other node to the large one; spread, some do not."""
    nodes = [machine("big", "", cpu="40", size="big"), machine("small", "", cpu="10", size="small")]
    running = a_pod("running", cpu="20", nodeName="big")
    running["spec"]["containers"][0]["resources"]["requests"]["memory"] = "32Gi"
    liked = {"weight": 100, "preference": term("size", "big")}
    like = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [liked]}}
    few = [a_pod(f"few-{i}", affinity=like, labels={"app": "few"}) for i in range(12)]
    large = a_pod("large", cpu="9500m", nodeSelector={"size": "small"})
    assert said([*few, large], *nodes, running, *objects) == answer


def test_the_default_spread_makes_a_set_of_its_own_constraints() -> None:
    from gitplacer.scheduler.defaultspread import spread_by_default

    found = judged([a_set("web", 2, pod_spec())], [A, B])
    dump = read_cluster([A, B], [], [])
    spread = spread_by_default(found.members.pods, found.members.selectors, {}, dump.nodes)
    assert [(c.topology_key, c.max_skew, c.hard) for c in spread[0].spread] == [
        ("kubernetes.io/hostname", 3, False),
        ("topology.kubernetes.io/zone", 5, False),
    ]
    one = judged([a_set("web", 1, pod_spec())], [A, B]).members
    assert spread_by_default(one.pods, one.selectors, {}, dump.nodes) == ()


def test_hosts_of_a_slice_share_the_domain_that_the_option_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    template = {"template": {"spec": pod_spec(cpu="5")}}
    group = {
        "groupName": "g",
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 1,
        "numOfHosts": 2,
        "rayStartParams": {},
        **template,
    }
    head = {"rayStartParams": {}, "template": {"spec": pod_spec()}}
    ray = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "r", "namespace": "ray"},
        "spec": {"headGroupSpec": head, "workerGroupSpecs": [group]},
    }
    (tmp_path / "ray.json").write_text(json.dumps(ray), "utf-8")
    (tmp_path / "dump.json").write_text(
        json.dumps({"items": [machine("x", rack="1"), machine("y", rack="2")]}), "utf-8"
    )
    args = ("fit", tmp_path / "ray.json", "--from", tmp_path / "dump.json")
    free = run(capfd, *args)
    assert free.out.startswith("Fits")
    assert "hosts of a slice share" in free.out
    assert run(capfd, *args, "--slice-topology", "rack").out.startswith("No")


def test_what_is_to_be_noted_is_printed_and_in_the_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.json").write_text(json.dumps(a_pod("p", "x", schedulingGates=[{"name": "wait"}])), "utf-8")
    (tmp_path / "dump.json").write_text(json.dumps({"items": [A, a_pod("there", nodeName="a")]}), "utf-8")
    args = ("fit", tmp_path / "p.json", "--from", tmp_path / "dump.json")
    out = run(capfd, *args).out
    assert "note: p: pod has scheduling gates" in out
    assert "not looked at: where the volume of claim ray/x can be reached" in out
    found = json.loads(run(capfd, *args, "--format", "json").out)
    assert found["notes"] == ["p: pod has scheduling gates, and waits until they are gone"]
    assert found["notLookedAt"] == ["where the volume of claim ray/x can be reached"]


GPUS = [{"name": "own", "resourceClaimTemplateName": "gpus"}]


def test_what_narrows_where_pods_may_run_and_is_not_looked_at_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpus", "namespace": "ray"},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {
            "deviceClassName": "gpu.example.com", "selectors": [{"cel": {"expression": "device.driver == 'x'"}}]
        }}]}}},
    }  # fmt: skip
    claims = [
        {"name": "own", "resourceClaimTemplateName": "gpus"},
        {"name": "shared", "resourceClaimName": "all"},
    ]
    pods = a_pod("p", resourceClaims=claims, schedulerName="volcano", schedulingGates=[{"name": "wait"}])
    (tmp_path / "claims.json").write_text(json.dumps(template), "utf-8")
    (tmp_path / "p.json").write_text(json.dumps(pods), "utf-8")
    node = machine("x")
    node["status"]["allocatable"]["deviceclass.resource.kubernetes.io/gpu.example.com"] = "1"
    (tmp_path / "dump.json").write_text(json.dumps({"items": [node, a_pod("there", nodeName="x")]}), "utf-8")
    args = ("fit", tmp_path / "claims.json", tmp_path / "p.json", "--from", tmp_path / "dump.json", "--format", "json")
    ran = run(capfd, *args)
    found = json.loads(ran.out)
    assert (found["answer"], ran.err) == ("Fits", "")
    (selectors, shared, scheduler) = sorted(found["notLookedAt"])
    assert ":1:" in selectors and "the selectors of a request" in selectors
    assert "what scheduler volcano does" in scheduler
    assert "a ResourceClaim that several pods share" in shared
    assert len(found["notes"]) == 1  # the gates, which are looked at


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ([], []),
        ([a_pod("r", nodeName="x")], []),
        ([a_pod("r", resourceClaims=GPUS)], []),  # it is on no node
        ([a_pod("r", resourceClaims=GPUS, nodeName="x", status={"phase": "Succeeded"})], []),
        (
            [a_pod("r", resourceClaims=GPUS, nodeName="x")],
            ["which devices 1 pod that runs has by resource claims"],
        ),
        (
            [a_pod("r", resourceClaims=GPUS, nodeName="x"), a_pod("s", resourceClaims=GPUS, nodeName="x")],
            ["which devices 2 pods that run have by resource claims"],
        ),
    ],
)
def test_devices_that_running_pods_have_claimed_are_told_where_a_gang_claims_some(
    there: list[Json], told: list[str]
) -> None:
    request_ = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}
    template = thing("ResourceClaimTemplate", "gpus", "ray", spec={"spec": {"devices": {"requests": [request_]}}})
    template["apiVersion"] = "resource.k8s.io/v1"
    node = machine("x")
    node["status"]["allocatable"]["deviceclass.resource.kubernetes.io/gpu.example.com"] = "1"
    assert list(judged([template, a_pod("p", resourceClaims=GPUS)], [node, *there]).left_out) == told
    assert judged([a_pod("p")], [node, *there]).left_out == ()


def test_that_devices_of_drivers_are_not_counted_is_told_where_no_node_has_any() -> None:
    """Else `No` reads as if the cluster had none, whatever its ResourceSlices offer."""
    request_ = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}
    template = thing("ResourceClaimTemplate", "gpus", "ray", spec={"spec": {"devices": {"requests": [request_]}}})
    template["apiVersion"] = "resource.k8s.io/v1"
    found = judged([template, a_pod("p", resourceClaims=GPUS)], [machine("x"), a_pod("r", nodeName="x")])
    assert found.answer.fit == "No"
    [told] = found.left_out
    assert told.startswith("which devices of class gpu.example.com DRA drivers offer")
    assert judged([a_pod("p")], [machine("x")]).left_out == ()


TEAM_A = {"team": "a"}
OTHERS = pod_rule("podAntiAffinity", {}, HOSTNAME, namespaceSelector={"matchLabels": TEAM_A})
"""Keeps pods off its node that are of a namespace of team a."""


@pytest.mark.parametrize(
    ("answer", "given", "there"),
    [
        ("No PodAffinity", TEAM_A, None),  # it comes with its pods
        ("Fits", {}, None),
        ("No PodAffinity", TEAM_A, {}),
        ("No PodAffinity", {}, TEAM_A),  # an apply leaves labels that others gave
        ("Fits", {"team": "b"}, TEAM_A),
        ("No PodAffinity", None, TEAM_A),
    ],
)
def test_a_namespace_that_comes_with_its_pods_has_the_labels_that_it_is_given(
    answer: str, given: Json | None, there: Json | None
) -> None:
    apart = a_pod("p")
    apart["metadata"]["namespace"] = "new"
    comes = [] if given is None else [thing("Namespace", "new", labels=given)]
    is_there = [] if there is None else [thing("Namespace", "new", labels=there)]
    cluster = (A, a_pod("there", nodeName="a", affinity=OTHERS), thing("Namespace", "ray"), *is_there)
    assert said([apart, *comes], *cluster) == answer
    assert judged([apart, *comes], cluster).left_out == ()


@pytest.mark.parametrize(
    ("selector", "told"),
    [({"matchLabels": TEAM_A}, True), ({"matchLabels": {"kubernetes.io/metadata.name": "x"}}, False), ({}, False)],
)
def test_labels_of_namespaces_that_nobody_listed_are_not_looked_at(selector: Json, told: bool) -> None:
    rule = pod_rule("podAntiAffinity", {"app": "x"}, HOSTNAME, namespaceSelector=selector)
    listed = thing("Namespace", "ray")
    for gang, there in ((a_pod("p", affinity=rule), a_pod("there", nodeName="a")),
                        (a_pod("p"), a_pod("there", nodeName="a", affinity=rule))):  # fmt: skip
        left_out = judged([gang], [A, there]).left_out
        assert [what.startswith("which namespaces have the labels") for what in left_out] == ([True] if told else [])
        assert judged([gang], [A, there, listed]).left_out == ()


def test_a_role_names_nothing_unless_its_manifest_does() -> None:
    (found,) = judged([a_pod("p")], [A]).members.pods
    assert (found.claims, found.priority) == ((), 0)
    assert Role.__dataclass_fields__["named"].default.claims == ()

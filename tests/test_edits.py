"""What an edit of a deployed object does: which edits cost a second Ray cluster, do nothing, or are refused."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.problems import Severity
from gitplacer.workloads import edits
from gitplacer.workloads.edits import Effect, Operator, effects, finished_edit, upgrade_kind
from gitplacer.workloads.edits.effect import standing

RECREATE = {"upgradeStrategy": {"type": "Recreate"}}
AUTOSCALED = {"enableInTreeAutoscaling": True}
INCREMENTAL = {"upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": {}}}
TOLERATION = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def pod(image: str = "rayproject/ray:2.52.0", cpu: Any = "1", memory: Any = "2Gi", **spec: Any) -> dict[str, Any]:
    container = {"name": "ray", "image": image, "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"spec": {"containers": [container], **spec}}


def group(name: str, template: Any = None, **fields: Any) -> dict[str, Any]:
    written = {"groupName": name, "replicas": 2, "minReplicas": 1, "maxReplicas": 5}
    return {**written, "template": template or pod(), **fields}


def cluster(*groups: dict[str, Any], head: Any = None, **fields: Any) -> dict[str, Any]:
    return {"headGroupSpec": head or {"template": pod()}, "workerGroupSpecs": list(groups), **fields}


def service(config: Any, version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"ray.io/{version}", "kind": "RayService", "spec": {"rayClusterConfig": config, **spec}}


def raycluster(spec: Any, version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": f"ray.io/{version}", "kind": "RayCluster", "spec": spec}


def rayjob(version: str = "v1", **spec: Any) -> dict[str, Any]:
    written = {"entrypoint": "python train.py", "rayClusterSpec": cluster(group("a"))}
    return {"apiVersion": f"ray.io/{version}", "kind": "RayJob", "spec": {**written, **spec}}


def builtin(kind: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def codes(found: tuple[Effect, ...]) -> list[str]:
    return [effect.code for effect in found]


def dotted(found: Effect) -> str:
    return ".".join(map(str, found.path))


A, B, C = group("a"), group("b"), group("c")
NEW_IMAGE = group("a", pod("rayproject/ray:2.53.0"))
TOLERANT = group("a", pod(tolerations=TOLERATION))
IMAGE = "template.spec.containers.0.image"
CONFIG = "spec.rayClusterConfig"


# RayService


@pytest.mark.parametrize(
    ("before", "after", "kuberay", "kind"),
    [
        (cluster(A), cluster(A), None, "None"),
        # what is in the hash
        (cluster(A), cluster(NEW_IMAGE), None, "NewCluster"),
        (cluster(A), cluster(A, rayVersion="2.53.0"), None, "NewCluster"),
        (cluster(A), cluster(group("a", numOfHosts=2)), None, "NewCluster"),
        (cluster(A), cluster(group("a", pod(nodeSelector={"pool": "gpu"}))), None, "NewCluster"),
        (cluster(A), cluster(A, headServiceAnnotations={"a": "b"}), None, "NewCluster"),
        (cluster(A), cluster(A, head={"template": pod(), "serviceType": "NodePort"}), None, "NewCluster"),
        (cluster(A), cluster(A, enableInTreeAutoscaling=False), None, "NewCluster"),  # a pointer to false is not nil
        # what is left out of it
        (cluster(A), cluster(group("a", replicas=3)), None, "Ignored"),
        (cluster(A), cluster(group("a", minReplicas=2)), None, "Ignored"),
        (cluster(A), cluster(group("a", maxReplicas=9)), None, "Ignored"),
        (cluster(A), cluster(group("a", scaleStrategy={"workersToDelete": ["p"]})), None, "Ignored"),
        (cluster(A), cluster(A, suspend=True), None, "Ignored"),
        (cluster(A), cluster(A, suspend=True), (1, 6, 2), "None"),  # was carried over to the running cluster
        (cluster(A), cluster(A, upgradeStrategy={"type": "None"}), None, "Ignored"),
        # tolerations and scheduling gates only since 1.5.2
        (cluster(A), cluster(TOLERANT), None, "Ignored"),
        (cluster(A), cluster(TOLERANT), (1, 5, 2), "Ignored"),
        (cluster(A), cluster(TOLERANT), (1, 5, 1), "NewCluster"),
        (cluster(A), cluster(TOLERANT), (1, 4), "NewCluster"),
        (cluster(A), cluster(A, head={"template": pod(tolerations=TOLERATION)}), (1, 6, 0), "Ignored"),
        (cluster(A), cluster(group("a", pod(schedulingGates=[{"name": "x"}]))), (1, 6, 0), "Ignored"),
        (cluster(A), cluster(group("a", pod(schedulingGates=[{"name": "x"}]))), (1, 4, 2), "NewCluster"),
        # worker groups
        (cluster(A), cluster(A, B), None, "InPlace"),
        (cluster(), cluster(A), None, "InPlace"),
        (cluster(A), cluster(A, B, C), None, "InPlace"),
        (cluster(A), cluster(group("a", replicas=4), B), None, "InPlace"),  # muted edits ride along
        (cluster(A), cluster(NEW_IMAGE, B), None, "NewCluster"),
        (cluster(A), cluster(B, A), None, "NewCluster"),
        (cluster(A, B), cluster(B, A), None, "NewCluster"),
        (cluster(A, B), cluster(A), None, "NewCluster"),
        (cluster(A, B), cluster(B), None, "NewCluster"),
        (cluster(A), cluster(B), None, "NewCluster"),
        (cluster(A), cluster(TOLERANT, B), None, "InPlace"),
        (cluster(A), cluster(TOLERANT, B), (1, 5, 1), "NewCluster"),
        # fields that the operator's CRD does not have are pruned
        (cluster(A), cluster(A, networkPolicy={}), (1, 7, 0), "NewCluster"),
        (cluster(A), cluster(A, networkPolicy={}), (1, 6, 2), "None"),
        (cluster(A, networkPolicy={}), cluster(A, networkPolicy={"mode": "DenyAll"}), (1, 7, 0), "None"),
        (cluster(A), cluster(group("a", labels={"x": "y"})), (1, 4, 0), "None"),
        (cluster(A), cluster(group("a", labels={"x": "y"})), (1, 5, 0), "NewCluster"),
        (cluster(A), cluster(A, rayVerison="2"), (1, 7, 0), "None"),
        (cluster(A), cluster(A, somethingNew={"x": 1}), (1, 8, 0), "NewCluster"),
    ],
)
def test_what_kuberay_does_about_an_edit_of_a_rayservice(before: Any, after: Any, kuberay: Any, kind: str) -> None:
    assert upgrade_kind(service(before), service(after), kuberay) == kind


@pytest.mark.parametrize(
    ("strategy", "kuberay", "kind"),
    [
        ({}, None, "NewCluster"),
        ({"type": None}, None, "NewCluster"),
        ({"type": "NewCluster"}, None, "NewCluster"),
        ({"type": "None"}, None, "Ignored"),
        (INCREMENTAL["upgradeStrategy"], None, "NewCluster"),
        (INCREMENTAL["upgradeStrategy"], (1, 7, 0), "NewCluster"),
        (INCREMENTAL["upgradeStrategy"], (1, 6, 2), "Ignored"),  # its gate was off by default
        (INCREMENTAL["upgradeStrategy"], (1, 5, 0), "Ignored"),
    ],
)
def test_the_upgrade_strategy_of_the_new_document_decides(strategy: Any, kuberay: Any, kind: str) -> None:
    before = service(cluster(A), upgradeStrategy={"type": "None"})
    after = service(cluster(NEW_IMAGE), upgradeStrategy=strategy)
    assert upgrade_kind(before, after, kuberay) == kind
    appended = service(cluster(A, B), upgradeStrategy=strategy)
    assert upgrade_kind(before, appended, kuberay) == "InPlace", "KubeRay appends groups with any strategy"


@pytest.mark.parametrize(
    ("strategy", "kuberay", "operator", "kind"),
    [
        ({}, None, Operator(zero_downtime=False), "Ignored"),
        ({"type": "NewCluster"}, None, Operator(zero_downtime=False), "NewCluster"),  # what is named wins
        ({"type": "None"}, None, Operator(zero_downtime=True), "Ignored"),
        (INCREMENTAL["upgradeStrategy"], (1, 4, 2), Operator(incremental=True), "Ignored"),  # it had no such gate
        (INCREMENTAL["upgradeStrategy"], (1, 5, 0), Operator(incremental=True), "NewCluster"),
        (INCREMENTAL["upgradeStrategy"], (1, 6, 2), Operator(incremental=True), "NewCluster"),
        (INCREMENTAL["upgradeStrategy"], (1, 7, 0), Operator(incremental=False), "Ignored"),
    ],
)
def test_how_the_operator_was_started_decides_too(strategy: Any, kuberay: Any, operator: Operator, kind: str) -> None:
    before, after = service(cluster(A)), service(cluster(NEW_IMAGE), upgradeStrategy=strategy)
    assert upgrade_kind(before, after, kuberay, operator) == kind
    told = [effect.code for effect in effects(before, after, kuberay, operator)]
    assert told == ["UpgradeMakesNewCluster" if kind == "NewCluster" else "EditIgnored"]


def test_a_second_ray_cluster_is_told_with_its_size_and_the_field_behind_it() -> None:
    after = cluster(group("a", pod("rayproject/ray:2.53.0"), replicas=9, numOfHosts=2), B)
    [found] = effects(service(cluster(group("a", numOfHosts=2), B)), service(after))
    assert (found.code, found.severity) == ("UpgradeMakesNewCluster", Severity.WARNING)
    assert dotted(found) == f"{CONFIG}.workerGroupSpecs.0.{IMAGE}"
    assert found.message.startswith(f"edit of {CONFIG}.workerGroupSpecs[0].template.spec.containers[0].image: ")
    assert "(13 pods)" in found.message  # a head + min(9, 5) × 2 + 2 × 1
    assert "60 seconds" in found.message


def test_only_three_fields_are_named() -> None:
    new = pod("rayproject/ray:2.53.0")
    after = cluster(*(group(name, new) for name in "abcd"), head={"template": new})
    [found] = effects(service(cluster(A, B, C, group("d"))), service(after))
    assert found.message.count(".image") == 3
    assert "and 2 more: " in found.message


def test_an_incremental_upgrade_says_how_much_it_surges() -> None:
    options = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": {"maxSurgePercent": 20}}
    [found] = effects(service(cluster(A)), service(cluster(NEW_IMAGE), upgradeStrategy=options), (1, 7, 0))
    assert found.code == "UpgradeMakesNewCluster"
    assert "100 + 20 percent" in found.message
    [found] = effects(service(cluster(A)), service(cluster(NEW_IMAGE), **INCREMENTAL), (1, 7, 0))
    assert "100 + 100 percent" in found.message


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (cluster(A, B), cluster(B), 'worker group "a" (removed): '),
        (cluster(A, B), cluster(B, A), "the order of the worker groups: "),
        (cluster(A), cluster(B, A), 'worker group "b" (added before others): '),
        (cluster(A), cluster(B), 'worker group "a" (removed) and worker group "b" (added): '),
        (cluster(A, rayVersion="2.52.0"), cluster(A), f"{CONFIG}.rayVersion (removed): "),
        (cluster(A), cluster(group("a", pod(cpu=2))), "containers[0].resources.requests.cpu: "),
    ],
)
def test_a_change_is_named_by_what_it_is(before: Any, after: Any, said: str) -> None:
    [found] = effects(service(before), service(after))
    assert said in found.message


@pytest.mark.parametrize(
    ("after", "kuberay", "part"),
    [
        (service(cluster(group("a", replicas=3))), None, "leaves this out when it compares"),
        (service(cluster(NEW_IMAGE), upgradeStrategy={"type": "None"}), None, "with upgradeStrategy.type None"),
        (service(cluster(NEW_IMAGE), **INCREMENTAL), (1, 6, 2), "feature gate RayServiceIncrementalUpgrade"),
    ],
)
def test_an_edit_that_comes_to_nothing_is_told_with_the_reason(after: Any, kuberay: Any, part: str) -> None:
    [found] = effects(service(cluster(A)), after, kuberay)
    assert (found.code, found.severity) == ("EditIgnored", Severity.WARNING)
    assert part in found.message


@pytest.mark.parametrize(
    ("after", "code", "said"),
    [
        (service(cluster(TOLERANT)), "EditIgnored", True),  # 1.5.1 makes a new cluster for it
        (service(cluster(NEW_IMAGE), **INCREMENTAL), "UpgradeMakesNewCluster", True),  # 1.6 does nothing
        (service(cluster(group("a", replicas=3))), "EditIgnored", False),
        (service(cluster(NEW_IMAGE)), "UpgradeMakesNewCluster", False),
    ],
)
def test_of_an_unknown_kuberay_it_is_said_whose_rule_it_is_where_versions_differ(
    after: Any, code: str, said: bool
) -> None:
    [found] = effects(service(cluster(A)), after)
    assert found.code == code
    assert found.message.endswith(" (by KubeRay 1.7's rule)") is said
    assert "rule)" not in effects(service(cluster(A)), after, (1, 7, 0))[0].message


def test_an_appended_group_sets_autoscaled_numbers_back() -> None:
    before = service(cluster(A, **AUTOSCALED))
    [found] = effects(before, service(cluster(group("a", replicas=3), B, **AUTOSCALED)))
    assert (found.code, dotted(found)) == ("WorkerGroupsAppended", f"{CONFIG}.workerGroupSpecs.1")
    assert 'worker group "b" (added)' in found.message
    assert "back to replicas (a 3)" in found.message
    [found] = effects(before, service(cluster(A, B, **AUTOSCALED), **INCREMENTAL), (1, 7, 0))
    assert "back to minReplicas (a 1)" in found.message
    assert effects(service(cluster(A)), service(cluster(A, B))) == ()  # nobody has scaled anything
    assert effects(service(cluster(**AUTOSCALED)), service(cluster(A, **AUTOSCALED))) == ()


@pytest.mark.parametrize(
    ("before", "after", "kuberay", "expected"),
    [
        # what KubeRay reads live
        ({"serveConfigV2": "a"}, {"serveConfigV2": "b"}, None, []),
        ({}, {"rayClusterDeletionDelaySeconds": 5}, None, []),
        ({}, {"upgradeStrategy": {"type": "None"}}, None, []),
        ({}, {"suspend": True}, None, []),
        ({"suspend": True}, {}, None, []),
        # without a Ray cluster there is nothing to replace
        ({"suspend": True}, {"suspend": True, "image": "x"}, None, []),
        ({"suspend": True}, {"image": "x"}, None, []),
        ({}, {"suspend": True, "image": "x"}, None, []),
        ({"suspend": True}, {"image": "x"}, (1, 6, 2), ["UpgradeMakesNewCluster"]),  # 1.6 has no such field
        # Kueue's to manage
        (
            {"managedBy": "kueue.x-k8s.io/multikueue"},
            {"managedBy": "kueue.x-k8s.io/multikueue", "image": "x"},
            None,
            [],
        ),
        ({"managedBy": "ray.io/kuberay-operator"}, {"image": "x"}, None, ["UpgradeMakesNewCluster"]),
        # its Service
        ({}, {"serveService": {"metadata": {"name": "x"}}}, None, ["EditIgnored"]),
        ({"serveService": {"metadata": {"name": "x"}}}, {}, None, ["EditIgnored"]),
        ({}, {"serveService": {"metadata": {"name": "x"}}, "image": "x"}, None, ["UpgradeMakesNewCluster"]),
    ],
)
def test_the_other_fields_of_a_rayservice(before: Any, after: Any, kuberay: Any, expected: list[str]) -> None:
    def made(spec: dict[str, Any]) -> dict[str, Any]:
        config = cluster(group("a", pod(spec.get("image", "rayproject/ray:2.52.0"))))
        return service(config, **{key: value for key, value in spec.items() if key != "image"})

    assert codes(effects(made(before), made(after), kuberay)) == expected


def test_labels_of_a_rayservice_may_be_edited() -> None:
    before = service(cluster(A))
    assert effects(before, before | {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}) == ()


# values that are the same to a typed object


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"numOfHosts": 1}),
        ({}, {"numOfHosts": None}),
        ({}, {"scaleStrategy": {}}),
        ({}, {"priority": 0}),
        ({}, {"labels": {}}),
        ({"replicas": 0}, {"replicas": None}),
        ({"minReplicas": 0}, {"minReplicas": None}),
        ({"maxReplicas": 2147483647}, {"maxReplicas": None}),
        ({"template": pod(cpu="1")}, {"template": pod(cpu="1000m")}),
        ({"template": pod(cpu="1")}, {"template": pod(cpu=1)}),
        ({"template": pod(cpu="0.5")}, {"template": pod(cpu="500m")}),
        ({"template": pod(memory="2Gi")}, {"template": pod(memory="2048Mi")}),
        ({"template": pod(memory="1M")}, {"template": pod(memory="1000000")}),
        ({"template": pod(memory="0.5Ki")}, {"template": pod(memory="512")}),  # below 1024 Go drops the suffix
        ({"template": pod()}, {"template": pod(tolerations=[], volumes=None, hostNetwork=False, nodeName="")}),
        ({"template": pod()}, {"template": {"metadata": None, **pod()}}),
        ({"template": pod()}, {"template": {"metadata": {"labels": {}, "annotations": None}, **pod()}}),
    ],
)
@pytest.mark.parametrize("made", [service, raycluster])
def test_what_a_typed_object_does_not_tell_apart_has_no_effect(made: Any, before: Any, after: Any) -> None:
    assert effects(made(cluster(group("a", **before))), made(cluster(group("a", **after)))) == ()
    assert effects(made(cluster(group("a", **after))), made(cluster(group("a", **before)))) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pod(memory="1Gi"), pod(memory="1073741824")),  # Go writes each back in its own family
        (pod(memory="1000"), pod(memory="1e3")),
        (pod(), pod(securityContext={})),
        (pod(), pod(volumes=[{"name": "x", "emptyDir": {}}])),
        (pod(volumes=[{"name": "x"}]), pod(volumes=[{"name": "x", "emptyDir": {}}])),
        (pod(), {"metadata": {"annotations": {"a": ""}}, **pod()}),
        (pod(), {"metadata": {"annotations": {"limits": "1"}}, **pod()}),
    ],
)
def test_what_a_hash_tells_apart_costs_a_ray_cluster(before: Any, after: Any) -> None:
    assert upgrade_kind(service(cluster(group("a", before))), service(cluster(group("a", after)))) == "NewCluster"


def test_where_no_hash_decides_a_quantity_is_a_number() -> None:
    before, after = (cluster(group("a", pod(memory=memory))) for memory in ("1Gi", "1073741824"))
    assert effects(raycluster(before), raycluster(after)) == ()
    assert codes(effects(raycluster({**before, **RECREATE}), raycluster({**after, **RECREATE}))) == ["RecreatesPods"]
    assert effects(rayjob(rayClusterSpec=before), rayjob(rayClusterSpec=after)) == ()
    assert finished_edit(rayjob(rayClusterSpec=before), rayjob(rayClusterSpec=after)) is None


def test_an_empty_raystartparams_is_not_a_missing_one() -> None:
    """It is written into the hash without omitempty: as null, or as {}."""
    assert upgrade_kind(service(cluster(A)), service(cluster(group("a", rayStartParams={})))) == "NewCluster"


def test_no_requests_for_the_autoscaler_is_not_the_default_ones() -> None:
    before, after = ({**AUTOSCALED, "autoscalerOptions": options} for options in ({}, {"resources": {}}))
    assert upgrade_kind(service(cluster(A, **before)), service(cluster(A, **after))) == "NewCluster"


def test_v1alpha1_and_v1_are_one_object() -> None:
    assert effects(service(cluster(A), "v1alpha1"), service(cluster(A))) == ()
    assert effects(service(cluster(A)), service(cluster(A), "v1alpha1")) == ()


def test_fields_that_v1alpha1_lacks_were_never_there() -> None:
    hosts = cluster(group("a", numOfHosts=4))
    assert upgrade_kind(service(hosts, "v1alpha1"), service(cluster(A), "v1alpha1")) == "None"
    assert upgrade_kind(service(hosts, "v1alpha1"), service(hosts)) == "NewCluster"
    idle = cluster(group("a", idleTimeoutSeconds=4), autoscalerOptions={"version": "v2"})
    kept = cluster(A, autoscalerOptions={})
    assert upgrade_kind(service(idle, "v1alpha1"), service(kept, "v1alpha1")) == "None"
    assert upgrade_kind(service(idle), service(kept)) == "NewCluster"
    none = {"upgradeStrategy": {"type": "None"}}
    assert (
        upgrade_kind(service(cluster(A), "v1alpha1"), service(cluster(NEW_IMAGE), "v1alpha1", **none)) == "NewCluster"
    )


# RayCluster


@pytest.mark.parametrize(
    ("before", "after", "kuberay", "expected"),
    [
        # numbers are applied at once
        (cluster(A), cluster(group("a", replicas=4)), None, []),
        (cluster(A), cluster(group("a", replicas=1)), None, []),
        (cluster(A), cluster(A, B), None, []),
        (cluster(A), cluster(A, suspend=True), None, []),
        (cluster(A), cluster(A, networkPolicy={}), None, []),
        (cluster(A), cluster(A, head={"template": pod(), "enableIngress": True}), None, []),
        (cluster(A, B), cluster(B, A), None, []),  # by name, and nobody else counts
        # pods that run keep their template
        (cluster(A), cluster(NEW_IMAGE), None, ["EditIgnored"]),
        (cluster(A), cluster(TOLERANT), None, ["EditIgnored"]),
        (cluster(A), cluster(A, head={"template": pod("x")}), None, ["EditIgnored"]),
        (cluster(A), cluster(A, rayVersion="2.53.0"), None, ["EditIgnored"]),
        (cluster(A), cluster(A, **AUTOSCALED), None, ["EditIgnored"]),
        (cluster(A), cluster(A, enableInTreeAutoscaling=False), None, []),
        (cluster(A), cluster(A, autoscalerOptions={"image": "x"}), None, []),  # there is no autoscaler
        (cluster(A, **AUTOSCALED), cluster(A, **AUTOSCALED, autoscalerOptions={"image": "x"}), None, ["EditIgnored"]),
        (cluster(A, **AUTOSCALED), cluster(A, **AUTOSCALED, autoscalerOptions={"idleTimeoutSeconds": 9}), None, []),
        (cluster(A), cluster(NEW_IMAGE, upgradeStrategy={"type": "None"}), None, ["EditIgnored"]),
        (cluster(group("a", replicas=0, minReplicas=0)), cluster(NEW_IMAGE), None, []),  # there are no such pods
        # Recreate
        (cluster(A), cluster(NEW_IMAGE, **RECREATE), None, ["RecreatesPods"]),
        (cluster(A), cluster(NEW_IMAGE, **RECREATE), (1, 6, 0), ["RecreatesPods"]),
        (cluster(A), cluster(NEW_IMAGE, **RECREATE), (1, 5, 1), ["EditIgnored"]),
        (cluster(A, **RECREATE), cluster(NEW_IMAGE), None, ["EditIgnored"]),
        (cluster(A), cluster(A, **RECREATE), None, []),
        (cluster(A, **RECREATE), cluster(group("a", replicas=4), **RECREATE), None, []),
        (cluster(A, **RECREATE), cluster(TOLERANT, **RECREATE), None, ["EditIgnored"]),  # not in the hash
        (cluster(A, **RECREATE), cluster(A, B, **RECREATE), None, ["RecreatesPods"]),
        (cluster(A, B, **RECREATE), cluster(B, A, **RECREATE), None, ["RecreatesPods"]),
        (cluster(A, B, **RECREATE), cluster(A, **RECREATE), None, ["RecreatesPods"]),  # deletes those of b too
        (cluster(A, B, **RECREATE), cluster(A, **RECREATE), (1, 5, 1), ["WorkerGroupRemoved"]),
        # the head's Service
        (cluster(A), cluster(A, headServiceAnnotations={"a": "b"}), None, ["EditIgnored"]),
        (cluster(A), cluster(A, head={"template": pod(), "serviceType": "NodePort"}), None, ["EditIgnored"]),
        (
            cluster(A, **RECREATE),
            cluster(A, head={"template": pod(), "headService": {"metadata": {"name": "x"}}}, **RECREATE),
            None,
            ["EditIgnored", "RecreatesPods"],
        ),
        # suspended: no pods, and new ones from the new spec
        (cluster(A, suspend=True), cluster(NEW_IMAGE), None, []),
        (cluster(A), cluster(NEW_IMAGE, suspend=True), None, []),
        (cluster(A, B, suspend=True), cluster(A), None, []),
        (cluster(A, managedBy="kueue.x-k8s.io/multikueue"), cluster(managedBy="kueue.x-k8s.io/multikueue"), None, []),
    ],
)
def test_which_edits_reach_the_pods_of_a_raycluster(before: Any, after: Any, kuberay: Any, expected: list[str]) -> None:
    found = effects(raycluster(before), raycluster(after), kuberay)
    assert sorted(codes(found)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (cluster(A, B), cluster(A), ["WorkerGroupRemoved"]),
        (cluster(A), cluster(B), ["WorkerGroupRemoved"]),  # a renamed group is a new one
        (cluster(A), {}, ["EditIgnored", "WorkerGroupRemoved"]),
        # one that can have no pods leaves none behind: clamp(0, 0, 5) × 1, clamp(2, 1, 5) × 0, suspended
        (cluster(A, group("b", replicas=0, minReplicas=0)), cluster(A), []),
        (cluster(A, group("b", replicas=0)), cluster(A), ["WorkerGroupRemoved"]),
        (cluster(A, group("b", numOfHosts=0)), cluster(A), []),
        (cluster(A, group("b", suspend=True)), cluster(A), []),
        # an autoscaler may have scaled it up from 0
        (
            cluster(A, group("b", replicas=0, minReplicas=0), **AUTOSCALED),
            cluster(A, **AUTOSCALED),
            ["WorkerGroupRemoved"],
        ),
        (
            cluster(A, group("b", replicas=0, minReplicas=0, maxReplicas=0), **AUTOSCALED),
            cluster(A, **AUTOSCALED),
            [],
        ),
    ],
)
def test_a_removed_group_leaves_its_pods_behind(before: Any, after: Any, expected: list[str]) -> None:
    found = effects(raycluster(before), raycluster(after))
    assert sorted(codes(found)) == expected
    assert all(e.severity is Severity.ERROR for e in found if e.code == "WorkerGroupRemoved")


def test_all_removed_groups_are_one_effect_where_they_stood() -> None:
    [found] = effects(raycluster(cluster(A, B, C)), raycluster(cluster(B)))
    assert dotted(found) == "spec.workerGroupSpecs"
    assert 'worker group "a" (removed) and worker group "c" (removed)' in found.message


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((B, A), 'worker group "b" (from place 2 to 1) and worker group "a" (from place 1 to 2)'),
        ((C, A, B), 'worker group "a" (from place 1 to 2) and worker group "b" (from place 2 to 3)'),
    ],
)
def test_groups_that_change_places_confuse_whoever_counts_places(after: Any, said: str) -> None:
    [found] = effects(raycluster(cluster(A, B, **AUTOSCALED)), raycluster(cluster(*after, **AUTOSCALED)))
    assert (found.code, found.severity) == ("WorkerGroupsReordered", Severity.WARNING)
    assert said in found.message
    assert effects(raycluster(cluster(A, B)), raycluster(cluster(*after))) == ()


@pytest.mark.parametrize(
    ("before", "after", "ignored"),
    [
        ({"replicas": 4}, {"replicas": 3}, True),
        ({"replicas": 4}, {"replicas": 5}, False),
        ({"replicas": 9}, {"replicas": 6}, False),  # 5 either way
        ({"replicas": 0}, {"replicas": 1}, False),  # 1 either way
        ({"replicas": 4}, {"replicas": 3, "maxReplicas": 3}, False),  # the autoscaler keeps to the maximum
        ({"replicas": 4}, {"replicas": 3, "maxReplicas": 4}, True),
        ({"replicas": 1, "minReplicas": 3}, {"replicas": 1, "minReplicas": 1}, True),
    ],
)
def test_lower_replicas_delete_nothing_where_the_autoscaler_decides(before: Any, after: Any, ignored: bool) -> None:
    old, new = (raycluster(cluster(group("a", **fields), **AUTOSCALED)) for fields in (before, after))
    found = effects(old, new)
    assert codes(found) == (["EditIgnored"] if ignored else [])
    assert [dotted(e) for e in found] == (["spec.workerGroupSpecs.0.replicas"] if ignored else [])
    plain_old, plain_new = (raycluster(cluster(group("a", **fields))) for fields in (before, after))
    assert effects(plain_old, plain_new) == ()


def test_a_raycluster_has_no_upgrade_kind() -> None:
    assert upgrade_kind(raycluster(cluster(A)), raycluster(cluster(NEW_IMAGE))) == "None"


# RayJob and RayCronJob


@pytest.mark.parametrize(
    ("before", "after", "ignored"),
    [
        ({}, {"entrypoint": "python other.py"}, "spec.entrypoint"),
        ({}, {"runtimeEnvYAML": "pip: [x]"}, "spec.runtimeEnvYAML"),
        ({}, {"metadata": {"a": "b"}}, "spec.metadata"),
        ({}, {"submissionMode": "HTTPMode"}, "spec.submissionMode"),
        ({}, {"submissionMode": "K8sJobMode"}, ""),
        ({}, {"submitterPodTemplate": pod()}, "spec.submitterPodTemplate"),
        ({}, {"rayClusterSpec": cluster(NEW_IMAGE)}, f"spec.rayClusterSpec.workerGroupSpecs.0.{IMAGE}"),
        ({}, {"rayClusterSpec": cluster(group("a", replicas=3))}, "spec.rayClusterSpec.workerGroupSpecs.0.replicas"),
        ({}, {"rayClusterSpec": cluster()}, "spec.rayClusterSpec.workerGroupSpecs"),
        ({}, {"clusterSelector": {"ray.io/cluster": "x"}}, "spec.clusterSelector"),
        # read live
        ({}, {"ttlSecondsAfterFinished": 60, "shutdownAfterJobFinishes": True}, ""),
        ({}, {"deletionStrategy": {"deletionRules": []}}, ""),
        ({}, {"backoffLimit": 3}, ""),
        ({}, {"activeDeadlineSeconds": 60}, ""),
        ({}, {"suspend": True}, ""),
        ({"submissionMode": "InteractiveMode"}, {"submissionMode": "InteractiveMode", "jobId": "x"}, ""),
        ({}, {"jobId": "x"}, "spec.jobId"),
        # a job that is suspended reads everything again when it is resumed
        ({"suspend": True}, {"entrypoint": "python other.py"}, ""),
        ({"suspend": True}, {"suspend": True, "entrypoint": "python other.py"}, ""),
        ({}, {"suspend": True, "rayClusterSpec": cluster(NEW_IMAGE)}, ""),
    ],
)
def test_a_rayjob_is_read_once(before: Any, after: Any, ignored: str) -> None:
    found = effects(rayjob(**before), rayjob(**after))
    assert [(e.code, dotted(e)) for e in found] == ([("EditIgnored", ignored)] if ignored else [])


def test_all_that_a_rayjob_does_not_read_again_is_one_effect() -> None:
    after = rayjob(entrypoint="x", runtimeEnvYAML="y", rayClusterSpec=cluster(NEW_IMAGE, B))
    [found] = effects(rayjob(), after)
    assert "spec.entrypoint, spec.runtimeEnvYAML, spec.rayClusterSpec" in found.message
    assert "and 1 more" in found.message


def test_a_raycronjob_may_be_edited() -> None:
    def cron(**spec: Any) -> dict[str, Any]:
        return builtin("RayCronJob", "ray.io/v1", spec={"schedule": "0 * * * *", **spec})

    assert effects(cron(jobTemplate=rayjob()["spec"]), cron(jobTemplate=rayjob(entrypoint="x")["spec"])) == ()
    ours, kueues = ({"managedBy": f"{name}"} for name in ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"))
    assert codes(effects(cron(jobTemplate=ours), cron(jobTemplate=kueues))) == ["ImmutableField"]


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (rayjob(), rayjob(), None),
        (rayjob(), rayjob(entrypoint="x"), "spec.entrypoint"),
        (rayjob(), rayjob(backoffLimit=3), "spec.backoffLimit"),
        (
            rayjob(),
            rayjob(rayClusterSpec=cluster(group("a", replicas=3))),
            "spec.rayClusterSpec.workerGroupSpecs[0].replicas",
        ),
        (rayjob(), rayjob(suspend=False, backoffLimit=0, submissionMode="K8sJobMode"), None),
        (rayjob(), rayjob("v1alpha1"), None),
        # how the Ray cluster of a finished job is given back is read live
        (rayjob(), rayjob(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=5), None),
        (rayjob(), rayjob(deletionStrategy={"deletionRules": [{"policy": "DeleteCluster"}]}), None),
        (
            builtin("Job", "batch/v1", spec={"template": pod()}),
            builtin("Job", "batch/v1", spec={"template": pod()}),
            None,
        ),
        (
            builtin("Job", "batch/v1", spec={"template": pod()}),
            builtin("Job", "batch/v1", spec={"template": pod(), "parallelism": 2}),
            "spec.parallelism",
        ),
        (
            builtin("Job", "batch/v1", spec={"template": pod()}),
            builtin("Job", "batch/v1", spec={"template": pod(), "backoffLimit": 6, "ttlSecondsAfterFinished": 5}),
            None,
        ),
        (raycluster(cluster(A)), raycluster(cluster(B)), None),
    ],
)
def test_an_edit_of_a_finished_job_runs_nothing(before: Any, after: Any, path: str | None) -> None:
    found = finished_edit(before, after)
    if path is None:
        assert found is None
    else:
        assert found is not None
        assert (found.code, found.severity) == ("EditOfFinishedJob", Severity.ERROR)
        assert path in found.message
        assert "needs a new name" in found.hint


def test_labels_of_a_finished_job_may_be_edited() -> None:
    assert finished_edit(rayjob(), rayjob() | {"metadata": {"labels": {"a": "b"}}}) is None


# fields that cannot be changed

KUBERAY, KUEUE = "ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    ("before", "after", "kuberay", "path"),
    [
        (raycluster(cluster(managedBy=KUBERAY)), raycluster(cluster(managedBy=KUEUE)), None, "spec.managedBy"),
        (raycluster(cluster(managedBy=KUBERAY)), raycluster(cluster(managedBy=KUEUE)), (1, 2, 0), ""),
        (raycluster(cluster()), raycluster(cluster(managedBy=KUEUE)), None, ""),  # self == oldSelf needs both
        (raycluster(cluster(managedBy=KUEUE)), raycluster(cluster()), None, ""),
        (rayjob(managedBy=KUBERAY), rayjob(managedBy=KUEUE), None, "spec.managedBy"),
        (rayjob("v1alpha1", managedBy=KUBERAY), rayjob("v1alpha1", managedBy=KUEUE), None, ""),
        (service(cluster(), managedBy=KUBERAY), service(cluster(), managedBy=KUEUE), None, "spec.managedBy"),
        (service(cluster(), managedBy=KUBERAY), service(cluster(), managedBy=KUEUE), (1, 5, 2), ""),
        (
            raycluster(cluster(gcsFaultToleranceOptions={"backend": "redis"})),
            raycluster(cluster(gcsFaultToleranceOptions={"backend": "rocksdb"})),
            (1, 7, 0),
            "spec.gcsFaultToleranceOptions.backend",
        ),
    ],
)
def test_kuberays_fixed_fields(before: Any, after: Any, kuberay: Any, path: str) -> None:
    found = [e for e in effects(before, after, kuberay) if e.code == "ImmutableField"]
    assert [dotted(e) for e in found] == ([path] if path else [])


def selecting(kind: str, label: str, **spec: Any) -> dict[str, Any]:
    return builtin(kind, "apps/v1", spec={"selector": {"matchLabels": {"app": label}}, **spec})


def claim(size: str = "10Gi", **spec: Any) -> dict[str, Any]:
    return builtin("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": size}}, **spec})


def batch(**spec: Any) -> dict[str, Any]:
    return builtin("Job", "batch/v1", spec={"template": pod(), **spec})


def bound(kind: str, role: str) -> dict[str, Any]:
    return builtin(kind, "rbac.authorization.k8s.io/v1", roleRef={"kind": "Role", "name": role}, subjects=[])


def refers(kind: str, group: str) -> dict[str, Any]:
    found = bound(kind, "a")
    return found | {"roleRef": {**found["roleRef"], "apiGroup": group}}


def running(**container: Any) -> dict[str, Any]:
    """A Pod with such fields in its container."""
    return builtin("Pod", spec={"containers": [{"name": "c", **container}]})


def devices(kind: str, version: str = "v1", **request: Any) -> dict[str, Any]:
    spec = {"devices": {"requests": [{"name": "a", **request}]}}
    return builtin(kind, f"resource.k8s.io/{version}", spec={"spec": spec} if kind.endswith("Template") else spec)


CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
GPU = {"deviceClassName": "gpu"}
COUNTED = ({"count": 1}, {"allocationMode": "ExactCount"}, {"count": 1, "allocationMode": "ExactCount"})
LIMITED = {"limits": {"cpu": "1"}}
PULLED = [
    ("x", "Always"),
    ("x:latest", "Always"),
    ("host:5000/x", "Always"),
    ("host:5000/x:1.0", "IfNotPresent"),
    ("x@sha256:0", "IfNotPresent"),
    ("x:latest@sha256:0", "Always"),
]
INDEXED = {"completionMode": "Indexed"}
VOLUME = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (selecting("Deployment", "a"), selecting("Deployment", "b"), "spec.selector.matchLabels.app"),
        (selecting("Deployment", "a"), selecting("Deployment", "a", replicas=3, template=pod("x")), None),
        (selecting("ReplicaSet", "a"), selecting("ReplicaSet", "b"), "spec.selector.matchLabels.app"),
        (selecting("DaemonSet", "a"), selecting("DaemonSet", "b"), "spec.selector.matchLabels.app"),
        (selecting("StatefulSet", "a"), selecting("StatefulSet", "b"), "spec.selector.matchLabels.app"),
        (selecting("StatefulSet", "a"), selecting("StatefulSet", "a", replicas=3, template=pod("x")), None),
        (selecting("StatefulSet", "a"), selecting("StatefulSet", "a", serviceName="x"), "spec.serviceName"),
        (selecting("StatefulSet", "a"), selecting("StatefulSet", "a", podManagementPolicy="OrderedReady"), None),
        (
            selecting("StatefulSet", "a", volumeClaimTemplates=[VOLUME]),
            selecting("StatefulSet", "a", volumeClaimTemplates=[{"kind": "PersistentVolumeClaim", **VOLUME}]),
            None,
        ),
        (
            selecting("StatefulSet", "a", volumeClaimTemplates=[VOLUME]),
            selecting("StatefulSet", "a", volumeClaimTemplates=[VOLUME, VOLUME]),
            "spec.volumeClaimTemplates",
        ),
        (selecting("StatefulSet", "a", volumeClaimTemplates=[VOLUME]), selecting("StatefulSet", "a"), "spec"),
        # Job
        (batch(), batch(template=pod("x")), "spec.template.spec.containers.0.image"),
        (batch(), batch(template=pod(dnsPolicy="ClusterFirst", securityContext={})), None),
        (batch(), batch(parallelism=1, completions=1), None),
        (batch(), batch(template=pod(enableServiceLinks=True)), None),
        (batch(), batch(template=pod(enableServiceLinks=False)), "spec.template.spec.enableServiceLinks"),
        (
            batch(template=running()),
            batch(template=running(restartPolicy="Always")),
            "spec.template.spec.containers.0.restartPolicy",
        ),
        *((running(image=image), running(image=image, imagePullPolicy=policy), None) for image, policy in PULLED),
        *(
            (running(image=image), running(image=image, imagePullPolicy="Never"), "spec.containers.0.imagePullPolicy")
            for image, _ in PULLED
        ),
        (running(image="x"), running(image="x", imagePullPolicy="IfNotPresent"), "spec.containers.0.imagePullPolicy"),
        (running(resources=LIMITED), running(resources={**LIMITED, "requests": {"cpu": "1000m"}}), None),
        (
            running(resources=LIMITED),
            running(resources={**LIMITED, "requests": {"cpu": "500m"}}),
            "spec.containers.0.resources.requests",
        ),
        (
            running(resources=LIMITED),
            running(resources={**LIMITED, "requests": {"memory": "1Gi"}}),
            "spec.containers.0.resources.requests",
        ),
        (builtin("Pod", **pod()), builtin("Pod", **pod(restartPolicy="Always")), None),
        (builtin("Pod", **pod()), builtin("Pod", **pod(restartPolicy="Never")), "spec.restartPolicy"),
        (batch(parallelism=2, completions=4), batch(parallelism=3, completions=4), None),
        (batch(parallelism=2, completions=4), batch(parallelism=2, completions=5), "spec.completions"),
        (batch(parallelism=2, completions=2, **INDEXED), batch(parallelism=3, completions=3, **INDEXED), None),
        (
            batch(parallelism=2, completions=2, **INDEXED),
            batch(parallelism=2, completions=3, **INDEXED),
            "spec.completions",
        ),
        (batch(), batch(**INDEXED), "spec.completionMode"),
        (batch(), batch(backoffLimit=1, ttlSecondsAfterFinished=1, activeDeadlineSeconds=9), None),
        (batch(suspend=True), batch(template=pod(nodeSelector={"a": "b"})), None),
        (batch(suspend=True), batch(template=pod("x")), "spec.template.spec.containers.0.image"),
        (batch(), batch(template=pod(nodeSelector={"a": "b"})), "spec.template.spec.nodeSelector"),
        # claims
        (claim("10Gi"), claim("20Gi"), None),
        (claim("10Gi"), claim("10240Mi"), None),
        (claim("10Gi"), claim("5Gi"), "spec.resources.requests.storage"),
        (claim(), claim(storageClassName="fast"), None),  # the cluster may have filled it in
        (claim(storageClassName="fast"), claim(storageClassName="slow"), "spec.storageClassName"),
        (claim(storageClassName=""), claim(storageClassName="slow"), "spec.storageClassName"),
        (claim(), claim(volumeMode="Filesystem"), None),
        (claim(), claim(volumeMode="Block"), "spec.volumeMode"),
        (claim(accessModes=["ReadWriteOnce"]), claim(accessModes=["ReadWriteMany"]), "spec.accessModes.0"),
        # Service
        (
            builtin("Service", spec={"clusterIP": "10.0.0.1"}),
            builtin("Service", spec={"clusterIP": "10.0.0.2"}),
            "spec.clusterIP",
        ),
        (
            builtin("Service", spec={"clusterIP": "10.0.0.1"}),
            builtin("Service", spec={"clusterIP": "None"}),
            "spec.clusterIP",
        ),
        (builtin("Service", spec={}), builtin("Service", spec={"clusterIP": "None"}), "spec.clusterIP"),
        (builtin("Service", spec={}), builtin("Service", spec={"clusterIP": "10.0.0.2"}), None),  # may be what it has
        (builtin("Service", spec={"clusterIP": "10.0.0.1"}), builtin("Service", spec={}), None),
        (builtin("Service", spec={"type": "ExternalName"}), builtin("Service", spec={"clusterIP": "None"}), None),
        # rights
        (bound("RoleBinding", "a"), bound("RoleBinding", "b"), "roleRef.name"),
        (bound("ClusterRoleBinding", "a"), bound("ClusterRoleBinding", "b"), "roleRef.name"),
        *(
            (bound(kind, "a"), refers(kind, "rbac.authorization.k8s.io"), None)
            for kind in ("RoleBinding", "ClusterRoleBinding")
        ),
        (bound("RoleBinding", "a"), refers("RoleBinding", "example.com"), "roleRef.apiGroup"),
        (bound("RoleBinding", "a"), bound("RoleBinding", "a") | {"roleRef": None}, "roleRef"),
        (bound("RoleBinding", "a"), bound("RoleBinding", "a") | {"subjects": [{"name": "x"}]}, None),
        # data
        (builtin("ConfigMap", data={"a": "b"}), builtin("ConfigMap", data={"a": "c"}), None),
        (builtin("ConfigMap", data={"a": "b"}), builtin("ConfigMap", data={"a": "b"}, immutable=True), None),
        (
            builtin("ConfigMap", data={"a": "b"}, immutable=True),
            builtin("ConfigMap", data={"a": "c"}, immutable=True),
            "data.a",
        ),
        (builtin("ConfigMap", data={"a": "b"}, immutable=True), builtin("ConfigMap", data={}, immutable=True), "data"),
        (builtin("ConfigMap", data={"a": "b"}, immutable=True), builtin("ConfigMap", data={"a": "b"}), ""),
        (builtin("Secret", type="Opaque"), builtin("Secret"), None),
        (builtin("Secret"), builtin("Secret", type="kubernetes.io/tls"), "type"),
        (
            builtin("Secret", data={"a": "Yg=="}, immutable=True),
            builtin("Secret", stringData={"a": "b"}, immutable=True),
            None,
        ),
        (
            builtin("Secret", data={"a": "ENC[1]"}, sops={}, immutable=True),
            builtin("Secret", data={"a": "ENC[2]"}, sops={}, immutable=True),
            None,
        ),
        # Pod
        (builtin("Pod", **pod("a")), builtin("Pod", **pod("b")), None),
        (builtin("Pod", **pod()), builtin("Pod", **pod(cpu=2)), "spec.containers.0.resources.requests.cpu"),
        (builtin("Pod", **pod()), builtin("Pod", **pod(nodeSelector={"a": "b"})), "spec.nodeSelector"),
        (builtin("Pod", **pod()), builtin("Pod", **pod(tolerations=TOLERATION)), None),
        (builtin("Pod", **pod(tolerations=TOLERATION)), builtin("Pod", **pod()), "spec"),
        (
            builtin("Pod", **pod(schedulingGates=[{"name": "x"}])),
            builtin("Pod", **pod(nodeSelector={"a": "b"})),
            None,
        ),
        # others
        (
            builtin("PriorityClass", "scheduling.k8s.io/v1", value=1),
            builtin("PriorityClass", "scheduling.k8s.io/v1", value=2),
            "value",
        ),
        (
            builtin("StorageClass", "storage.k8s.io/v1", provisioner="x"),
            builtin("StorageClass", "storage.k8s.io/v1", provisioner="x", reclaimPolicy="Delete"),
            None,
        ),
        (
            builtin("StorageClass", "storage.k8s.io/v1", provisioner="x", parameters={"type": "ssd"}),
            builtin("StorageClass", "storage.k8s.io/v1", provisioner="x"),
            "",
        ),
        *(
            (devices(kind, exactly=GPU), devices(kind, exactly=GPU | written), None)
            for kind in CLAIMS
            for written in COUNTED
        ),
        *((devices(kind, "v1beta1", **GPU), devices(kind, exactly=GPU), None) for kind in CLAIMS),
        *((devices(kind, "v1beta1", **GPU, count=1), devices(kind, "v1beta2", exactly=GPU), None) for kind in CLAIMS),
        (
            devices(CLAIMS[0], firstAvailable=[{"name": "a", **GPU}]),
            devices(CLAIMS[0], firstAvailable=[{"name": "a", **GPU, "count": 1}]),
            None,
        ),
        (
            devices(CLAIMS[0], exactly=GPU),
            devices(CLAIMS[0], exactly=GPU | {"count": 2}),
            "spec.devices.requests.0.exactly.count",
        ),
        (
            devices(CLAIMS[1], exactly=GPU),
            devices(CLAIMS[1], exactly=GPU | {"allocationMode": "All"}),
            "spec.spec.devices.requests.0.exactly.allocationMode",
        ),
        (
            devices(CLAIMS[0], "v1beta1", **GPU),
            devices(CLAIMS[0], exactly={"deviceClassName": "tpu"}),
            "spec.devices.requests.0.exactly.deviceClassName",
        ),
        (
            builtin("ResourceClaimTemplate", "resource.k8s.io/v1", spec={"spec": {"devices": {}}}),
            builtin("ResourceClaimTemplate", "resource.k8s.io/v1", spec={"spec": {"devices": {"requests": [1]}}}),
            "spec.spec.devices.requests",
        ),
        (
            builtin("HorizontalPodAutoscaler", "autoscaling/v2", spec={"a": 1}),
            builtin("HorizontalPodAutoscaler", "autoscaling/v2"),
            None,
        ),
    ],
)
def test_what_the_api_server_refuses_to_change(before: Any, after: Any, path: str | None) -> None:
    """`path` is where the effect stands, '' for the whole document; None: the edit is accepted."""
    found = effects(before, after)
    assert all(e.severity is Severity.ERROR for e in found)
    assert [(e.code, dotted(e)) for e in found] == ([] if path is None else [("ImmutableField", path)])


def test_every_field_that_is_fixed_and_was_changed_is_named_in_one_effect() -> None:
    [found] = effects(batch(), batch(**INDEXED, backoffLimitPerIndex=1, template=pod("x")))
    assert "spec.backoffLimitPerIndex, spec.completionMode and spec.template.spec.containers[0].image" in found.message


# laws

SAMPLES: dict[str, dict[str, Any]] = {
    "RayService": service(cluster(A, B, **AUTOSCALED), serveConfigV2="x", **INCREMENTAL),
    "RayCluster": raycluster(cluster(A, B, **AUTOSCALED, autoscalerOptions={"version": "v2"})),
    "RayJob": rayjob(submitterPodTemplate=pod(), backoffLimit=1),
    "RayCronJob": builtin("RayCronJob", "ray.io/v1", spec={"schedule": "", "jobTemplate": rayjob()["spec"]}),
    "Deployment": selecting("Deployment", "a", template=pod()),
    "StatefulSet": selecting("StatefulSet", "a", template=pod(), volumeClaimTemplates=[VOLUME]),
    "Job": batch(parallelism=2, completions=2, **INDEXED),
    "Pod": builtin("Pod", **pod(tolerations=TOLERATION)),
    "PersistentVolumeClaim": claim(storageClassName="fast"),
    "Service": builtin("Service", spec={"clusterIP": "None"}),
    "RoleBinding": bound("RoleBinding", "a"),
    "StorageClass": builtin("StorageClass", "storage.k8s.io/v1", parameters={"a": "b"}),
    "ConfigMap": builtin("ConfigMap", immutable=True, data={"a": "b"}, binaryData={"c": "Yg=="}),
    "Secret": builtin("Secret", immutable=True, type="Opaque", stringData={"a": "b"}),
}
SPELLINGS: dict[str, list[Any]] = {"1": ["1", 1, "1000m", "1.0"], "2Gi": ["2Gi", "2048Mi"], "10Gi": ["10Gi", "10240Mi"]}

VERSIONS = st.sampled_from([None, (1, 4, 2), (1, 5, 1), (1, 5, 2), (1, 6), (1, 7, 0), (1, 8, 0), ()])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "None", "Recreate", "1Gi"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["spec", "type", "replicas", "x"]), inner)
    ),
    max_leaves=5,
)


def respelled(value: Any, rng: random.Random, key: str = "") -> Any:
    """The same object as somebody else would write it: keys in another order, other spellings, nulls."""
    if isinstance(value, dict):
        items = [(name, respelled(item, rng, name)) for name, item in value.items()]
        if "containers" in value or key == "":
            items.append((f"unset{rng.randrange(9)}", None))
        rng.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return [respelled(item, rng, key) for item in value]
    return rng.choice(SPELLINGS[value]) if key in ("cpu", "memory", "storage") and value in SPELLINGS else value


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in steps:
        found.extend(places(item, (*path, step)))
    return found


@st.composite
def mangled(draw: st.DrawFn, sample: dict[str, Any]) -> dict[str, Any]:
    """A sample in which some values were replaced by anything, or taken out. What kind it is stays."""
    value = copy.deepcopy(sample)
    for _ in range(draw(st.integers(0, 3))):
        choices = [path for path in places(value) if path not in {("kind",), ("apiVersion",)}]
        path = draw(st.sampled_from(choices)) if choices else ()
        if not path:
            break
        holder = value
        for step in path[:-1]:
            holder = holder[step]
        if draw(st.booleans()):
            holder[path[-1]] = draw(JSON)
        else:
            del holder[path[-1]]
    return value


def test_every_module_of_edits_has_a_sample() -> None:
    modules = {judge.__module__ for judge in edits.KINDS.values()}
    assert modules == {judge.__module__ for (_, kind), judge in edits.KINDS.items() if kind in SAMPLES}


@given(kind=st.sampled_from(sorted(SAMPLES)), seed=st.integers(), kuberay=VERSIONS)
def test_spelling_and_order_have_no_effect(kind: str, seed: int, kuberay: Any) -> None:
    sample = SAMPLES[kind]
    after = respelled(sample, random.Random(seed))
    after["metadata"] = {"name": "x", "annotations": {"note": "the edit is elsewhere"}}
    assert effects(sample, copy.deepcopy(sample), kuberay) == ()
    assert effects(sample, after, kuberay) == effects(after, sample, kuberay) == ()
    assert finished_edit(sample, after) is None
    assert upgrade_kind(sample, after, kuberay) == "None"


@given(kind=st.sampled_from(sorted(SAMPLES)), data=st.data(), kuberay=VERSIONS)
def test_anything_may_be_written_anywhere(kind: str, data: st.DataObject, kuberay: Any) -> None:
    before, after = (data.draw(mangled(SAMPLES[kind])) for _ in range(2))
    kept = copy.deepcopy((before, after))
    found = effects(before, after, kuberay)
    assert (before, after) == kept, "the values are not touched"
    assert found == effects(before, after, kuberay)
    assert list(found) == sorted(found)
    last = finished_edit(before, after)
    for effect in (*found, *([last] if last else [])):
        assert standing(after, effect.path) == effect.path, "it stands in the new document"
        assert effect.message[0].islower()
        assert effect.hint
    assert upgrade_kind(before, after, kuberay) in ("None", "InPlace", "NewCluster", "Ignored")


@given(before=JSON, after=JSON, kuberay=VERSIONS)
def test_any_spec_of_any_kind_is_judged(before: Any, after: Any, kuberay: Any) -> None:
    for group_name, kind in edits.KINDS:
        version = f"{group_name}/v1" if group_name else "v1"
        documents = [{"apiVersion": version, "kind": kind, "spec": value, "data": value} for value in (before, after)]
        effects(documents[0], documents[1], kuberay)
        finished_edit(documents[0], documents[1])
    assert effects({"kind": before}, {"kind": after, "apiVersion": before}) == ()


NUMBERS = st.none() | st.integers(0, 9)
MUTED = st.fixed_dictionaries(
    {},
    optional={"replicas": NUMBERS, "minReplicas": NUMBERS, "maxReplicas": NUMBERS, "scaleStrategy": st.just({"workersToDelete": ["x"]})},
)  # fmt: skip
MUTED_PODS = st.sampled_from(
    [{}, {"tolerations": TOLERATION}, {"schedulingGates": [{"name": "x"}]}, {"tolerations": []}]
)


@given(
    numbers=st.tuples(MUTED, MUTED),
    pods=st.tuples(MUTED_PODS, MUTED_PODS, MUTED_PODS),
    suspend=st.booleans(),
    kuberay=VERSIONS,
)
def test_an_edit_of_what_kuberay_leaves_out_never_costs_a_ray_cluster(
    numbers: Any, pods: Any, suspend: bool, kuberay: Any
) -> None:
    head, *workers = pods
    groups = [group(name, pod(**p), **n) for name, p, n in zip("ab", workers, numbers, strict=True)]
    after = cluster(*groups, head={"template": pod(**head)}, suspend=suspend)
    before = cluster(A, B)
    if kuberay and kuberay < (1, 5, 2) and any(p.get(k) for p in pods for k in p):
        assert upgrade_kind(service(before), service(after), kuberay) == "NewCluster"
        return
    assert upgrade_kind(service(before), service(after), kuberay) in ("None", "Ignored")
    assert "UpgradeMakesNewCluster" not in codes(effects(service(before), service(after), kuberay))
    recreated = effects(raycluster({**before, **RECREATE}), raycluster({**after, **RECREATE}), kuberay)
    assert "RecreatesPods" not in codes(recreated)


@given(names=st.permutations("abcd"), kept=st.integers(0, 4), kuberay=VERSIONS)
def test_only_groups_added_at_the_end_are_added_in_place(names: list[str], kept: int, kuberay: Any) -> None:
    before = cluster(*map(group, "abcd"[:kept]))
    after = cluster(*map(group, names))
    kind = upgrade_kind(service(before), service(after), kuberay)
    first = "".join(names)[:kept] == "abcd"[:kept]
    assert kind == (("None" if kept == 4 else "InPlace") if first else "NewCluster")


@given(data=st.data(), kuberay=VERSIONS)
def test_the_effects_of_a_rayservice_agree_with_its_upgrade_kind(data: st.DataObject, kuberay: Any) -> None:
    before, after = (data.draw(mangled(SAMPLES["RayService"])) for _ in range(2))
    found = codes(effects(before, after, kuberay))
    kind = upgrade_kind(before, after, kuberay)
    assert ("UpgradeMakesNewCluster" in found) == (kind == "NewCluster")
    assert "WorkerGroupsAppended" not in found or kind == "InPlace"
    assert kind != "Ignored" or "EditIgnored" in found

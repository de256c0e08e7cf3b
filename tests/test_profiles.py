"""
What a cluster can do, what a Ray object asks of it, and that one is not placed where the other is missing.

Each demand has a row: the edit that makes it, the least that serves it, what does not, and what is said of that. All rows
are of one small manifest per kind, which alone asks for nothing that a KubeRay of today lacks.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.explain import finding_text
from gitplacer.hydrate import Hydration
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.profile import Equipment, KubeRay, LimitRange, Profile
from gitplacer.model.decision import Action, Reason
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Identity
from gitplacer.observing.equipment import limit_ranges
from gitplacer.observing.writing import snapshot_file
from gitplacer.profiles import ClusterProfile
from gitplacer.workloads import demands
from gitplacer.workloads.facts import Demand, at
from gitplacer.workloads.limitranges import LimitItem, breaches, container_defaults, filled_in
from gitplacer.workloads.requests import Part, PodAsk, with_defaults
from gitplacer.workloads.surroundings import USUAL, RuntimeClass
from tests.dumps import judged, machine, thing
from tests.jsonvalues import places
from tests.stories import ANYWHERE, Story, cluster, decisions, deployment, outcome, policy, rayjob, rayservice, snapshot

GI = 2**30


def a_cluster(profile: str = "{}") -> Cluster:
    spec = {"profile": yaml.safe_load(profile)}
    value = {"apiVersion": API_VERSION, "kind": "Cluster", "metadata": {"name": "c"}, "spec": spec}
    return Cluster.model_validate(value, by_alias=True, by_name=False)


def a_snapshot(fields: str = "{}") -> CapacitySnapshot:
    value = {
        "apiVersion": API_VERSION,
        "kind": "CapacitySnapshot",
        "metadata": {"name": "c"},
        "observedAt": "2026-01-02T03:04:05Z",
        **yaml.safe_load(fields),
    }
    return CapacitySnapshot.model_validate(value, by_alias=True, by_name=False)


def known(profile: str, found: str | None = None) -> ClusterProfile:
    return ClusterProfile.of(a_cluster(profile), None if found is None else a_snapshot(found))


# what is asked for

POD = {"spec": {"containers": [{"name": "ray", "image": "ray"}]}}
GROUP = {"groupName": "g", "replicas": 1, "minReplicas": 0, "maxReplicas": 2, "rayStartParams": {}, "template": POD}
RAY = {
    "headGroupSpec": {"rayStartParams": {}, "template": POD},
    "workerGroupSpecs": [GROUP, {**GROUP, "groupName": "h"}],
}
BASES: dict[str, dict[str, Any]] = {
    "RayCluster": RAY,
    "RayJob": {"entrypoint": "x", "rayClusterSpec": RAY},
    "RayService": {"rayClusterConfig": RAY},
    "RayCronJob": {"schedule": "0 0 * * *", "jobTemplate": {"entrypoint": "x", "rayClusterSpec": RAY}},
}
GONE = "(gone)"


def manifest(row: str, version: str = "ray.io/v1") -> dict[str, Any]:
    """`<Kind> <where>: <what> && …`, or the kind alone: the kind's small manifest, edited below its spec."""
    kind, _, changes = row.partition(" ")
    spec = copy.deepcopy(BASES[kind])
    for change in changes.split(" && ") if changes else ():
        where, _, what = change.partition(": ")
        *above, last = (int(step) if step.isdigit() else step for step in where.split("."))
        inside: Any = spec
        for step in above:
            inside = inside[step] if isinstance(step, int) else inside.setdefault(step, {})
        if what == GONE:
            del inside[last]
        else:
            inside[last] = yaml.safe_load(what)
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def document(value: dict[str, Any]) -> Document:
    data = json.dumps(value).encode()
    (parsed,) = parse(data).documents
    return Document("a.yaml", parsed, 0, lambda: data)


def asked(value: dict[str, Any]) -> tuple[Demand, ...]:
    return demands.of(document(value).cursor())


JOB, CRON = "rayClusterSpec", "jobTemplate.rayClusterSpec"
OFF = "is off, and"

DEMANDED = [
    # (the edit, the feature, what serves it, what does not, why not)
    ("RayCluster", "ray.io/v1", "kuberay: {version: 1.0.0}", "kuberay: {version: 0.6.0}",
     "needs KubeRay 1.0, which has ray.io/v1; 0.6.0 runs there"),
    ("RayCronJob", "RayCronJob", "kuberay: {version: 1.6.0, featureGates: {RayCronJob: true}}", "kuberay: {version: 1.5.2}",
     "needs KubeRay 1.6, which has RayCronJob; 1.5.2 runs there"),
    ("RayCronJob", "RayCronJob", "kuberay: {featureGates: {RayCronJob: true}}", "kuberay: {version: 1.7.0}",
     f"feature gate RayCronJob {OFF} RayCronJob needs it"),
    ("RayCronJob timeZone: Europe/Berlin", "timeZone of RayCronJob", "kuberay: {version: 1.7.0, featureGates: {RayCronJob: true}}", "kuberay: {version: 1.6.2}",
     "needs KubeRay 1.7, which has timeZone of RayCronJob; 1.6.2 runs there"),
    # jobs
    ("RayJob submissionMode: SidecarMode", "SidecarMode", "kuberay: {version: 1.5.0}", "kuberay: {version: 1.4.2}",
     "needs KubeRay 1.5, which has SidecarMode; 1.4.2 runs there"),
    ("RayCronJob jobTemplate.submissionMode: SidecarMode", "SidecarMode", "kuberay: {version: 1.6.0, featureGates: {RayCronJob: true}}", "kuberay: {version: 1.4.2}",
     "needs KubeRay 1.5, which has SidecarMode; 1.4.2 runs there"),
    ("RayJob submissionMode: SidecarMode && submitterConfig: {backoffLimit: 2}", "submitterConfig in SidecarMode",
     "kuberay: {version: 1.7.0, featureGates: {SidecarSubmitterRestart: true}}", "kuberay: {version: 1.7.0}",
     f"feature gate SidecarSubmitterRestart {OFF} submitterConfig in SidecarMode needs it"),
    ("RayJob submissionMode: HTTPMode", "HTTPMode", "kuberay: {version: 1.1.0}", "kuberay: {version: 1.0.0}",
     "needs KubeRay 1.1, which has HTTPMode; 1.0.0 runs there"),
    ("RayJob submissionMode: InteractiveMode", "InteractiveMode", "kuberay: {version: 1.3.0}", "kuberay: {version: 1.2.2}",
     "needs KubeRay 1.3, which has InteractiveMode; 1.2.2 runs there"),
    ("RayJob deletionStrategy: {onSuccess: {policy: DeleteCluster}, onFailure: {policy: DeleteNone}}", "deletionStrategy",
     "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     f"feature gate RayJobDeletionPolicy {OFF} deletionStrategy needs it"),
    ("RayJob deletionStrategy: {deletionRules: [{policy: DeleteCluster}]}", "deletionRules",
     "kuberay: {version: 1.5.0, featureGates: {RayJobDeletionPolicy: true}}", "kuberay: {version: 1.4.2, featureGates: {RayJobDeletionPolicy: true}}",
     "needs KubeRay 1.5, which has deletionRules; 1.4.2 runs there"),
    ("RayJob deletionStrategy: {deletionRules: [{policy: DeleteCluster}]}", "deletionRules",
     "kuberay: {version: 1.7.0}", "kuberay: {version: 1.7.0, featureGates: {RayJobDeletionPolicy: false}}",
     f"feature gate RayJobDeletionPolicy {OFF} deletionRules needs it"),
    ("RayJob preRunningDeadlineSeconds: 60", "preRunningDeadlineSeconds", "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     "needs KubeRay 1.6, which has preRunningDeadlineSeconds; 1.5.2 runs there"),
    ("RayJob managedBy: kueue.x-k8s.io/multikueue", "managedBy", "kuberay: {version: 1.3.0}", "kuberay: {version: 1.2.2}",
     "needs KubeRay 1.3, which has managedBy; 1.2.2 runs there"),
    ("RayJob", "RayJob", "gangScheduler: volcano", "gangScheduler: scheduler-plugins",
     "KubeRay with gang scheduler scheduler-plugins refuses RayJob"),
    ("RayCronJob", "RayJob in K8sJobMode", "gangScheduler: yunikorn", "gangScheduler: kai",
     "KubeRay with gang scheduler kai refuses RayJob in K8sJobMode"),
    # services
    ("RayService suspend: true", "suspend of RayService", "kuberay: {version: 1.7.0}", "kuberay: {version: 1.6.2}",
     "needs KubeRay 1.7, which has suspend of RayService; 1.6.2 runs there"),
    ("RayService managedBy: kueue.x-k8s.io/multikueue", "managedBy of RayService", "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     "needs KubeRay 1.6, which has managedBy of RayService; 1.5.2 runs there"),
    ("RayService upgradeStrategy.type: None", "upgradeStrategy of RayService", "kuberay: {version: 1.3.0}", "kuberay: {version: 1.2.2}",
     "needs KubeRay 1.3, which has upgradeStrategy of RayService; 1.2.2 runs there"),
    ("RayService upgradeStrategy.type: NewClusterWithIncrementalUpgrade", "NewClusterWithIncrementalUpgrade",
     "{kuberay: {version: 1.7.0}, gatewayAPI: true}", "kuberay: {version: 1.6.2}",
     f"feature gate RayServiceIncrementalUpgrade {OFF} NewClusterWithIncrementalUpgrade needs it"),
    ("RayService upgradeStrategy.type: NewClusterWithIncrementalUpgrade", "NewClusterWithIncrementalUpgrade",
     "kuberay: {version: 1.7.0}", "{kuberay: {version: 1.7.0}, gatewayAPI: false}",
     "gateway.networking.k8s.io is not served, and NewClusterWithIncrementalUpgrade needs it"),
    # Ray clusters
    ("RayCluster upgradeStrategy.type: Recreate", "upgradeStrategy of RayCluster", "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     "needs KubeRay 1.6, which has upgradeStrategy of RayCluster; 1.5.2 runs there"),
    (f"RayJob {JOB}.authOptions.mode: token", "authOptions", "kuberay: {version: 1.5.1}", "kuberay: {version: 1.5.0}",
     "needs KubeRay 1.5.1, which has authOptions; 1.5.0 runs there"),
    ("RayCluster authOptions.secretName: s", "authOptions.secretName", "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     "needs KubeRay 1.6, which has authOptions.secretName; 1.5.2 runs there"),
    ("RayCluster authOptions.enableK8sTokenAuth: true", "authOptions.enableK8sTokenAuth", "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     "needs KubeRay 1.6, which has authOptions.enableK8sTokenAuth; 1.5.2 runs there"),
    ("RayService rayClusterConfig.networkPolicy: {}", "networkPolicy",
     "kuberay: {version: 1.7.0, featureGates: {RayClusterNetworkPolicy: true}}", "kuberay: {version: 1.7.0}",
     f"feature gate RayClusterNetworkPolicy {OFF} networkPolicy needs it"),
    ("RayCluster tlsOptions: {enabled: false}", "tlsOptions",
     "{kuberay: {version: 1.7.0, featureGates: {RayClusterMTLS: true}}, certManager: false}", "kuberay: {version: 1.7.0, featureGates: {}}",
     f"feature gate RayClusterMTLS {OFF} tlsOptions needs it"),
    ("RayCluster tlsOptions: {enabled: true}", "tlsOptions",
     "{kuberay: {version: 1.7.0, featureGates: {RayClusterMTLS: true}}, certManager: true}",
     "{kuberay: {version: 1.7.0, featureGates: {RayClusterMTLS: true}}, certManager: false}",
     "cert-manager.io is not served, and tlsOptions needs it"),
    ("RayCluster historyServerOptions: {collectorOptions: {}}", "historyServerOptions",
     "kuberay: {version: 1.7.1, featureGates: {AllAlpha: true}}", "kuberay: {version: 1.7.1, featureGates: {AllBeta: true}}",
     f"feature gate RayClusterHistoryServer {OFF} historyServerOptions needs it"),
    ("RayCluster gcsFaultToleranceOptions: {redisAddress: 'redis:6379'}", "gcsFaultToleranceOptions", "kuberay: {version: 1.3.0}", "kuberay: {version: 1.2.2}",
     "needs KubeRay 1.3, which has gcsFaultToleranceOptions; 1.2.2 runs there"),
    (f"RayCronJob {CRON}.gcsFaultToleranceOptions: {{backend: rocksdb}}", "GCS backend rocksdb",
     "kuberay: {version: 1.7.0, featureGates: {GCSFaultToleranceEmbeddedStorage: true, RayCronJob: true}}", "kuberay: {version: 1.7.0}",
     f"feature gate GCSFaultToleranceEmbeddedStorage {OFF} GCS backend rocksdb needs it"),
    ("RayCluster autoscalerOptions.version: v2", "autoscalerOptions.version", "kuberay: {version: 1.4.0}", "kuberay: {version: 1.3.2}",
     "needs KubeRay 1.4, which has autoscalerOptions.version; 1.3.2 runs there"),
    ("RayCluster autoscalerOptions.command: [sh]", "autoscalerOptions.command", "kuberay: {version: 1.7.0}", "kuberay: {version: 1.6.2}",
     "needs KubeRay 1.7, which has autoscalerOptions.command; 1.6.2 runs there"),
    ("RayCluster autoscalerOptions.args: [-c]", "autoscalerOptions.args", "kuberay: {version: 1.7.0}", "kuberay: {version: 1.6.2}",
     "needs KubeRay 1.7, which has autoscalerOptions.args; 1.6.2 runs there"),
    # groups
    ("RayCluster headGroupSpec.ingressOptions: {host: a}", "ingressOptions", "kuberay: {version: 1.7.0}", "kuberay: {version: 1.6.2}",
     "needs KubeRay 1.7, which has ingressOptions; 1.6.2 runs there"),
    ("RayCluster headGroupSpec.rayStartParams: (gone)", "optional rayStartParams", "kuberay: {version: 1.4.0}", "kuberay: {version: 1.3.2}",
     "needs KubeRay 1.4, which has optional rayStartParams; 1.3.2 runs there"),
    ("RayCluster headGroupSpec.resources: {CPU: '0'}", "resources of a group", "kuberay: {version: 1.5.0}", "kuberay: {version: 1.4.2}",
     "needs KubeRay 1.5, which has resources of a group; 1.4.2 runs there"),
    ("RayCluster workerGroupSpecs.1.labels: {a: b}", "labels of a group", "kuberay: {version: 1.5.0}", "kuberay: {version: 1.4.2}",
     "needs KubeRay 1.5, which has labels of a group; 1.4.2 runs there"),
    ("RayCluster workerGroupSpecs.1.priority: 5", "priority of a worker group", "kuberay: {version: 1.7.0}", "kuberay: {version: 1.6.2}",
     "needs KubeRay 1.7, which has priority of a worker group; 1.6.2 runs there"),
    ("RayCluster workerGroupSpecs.0.idleTimeoutSeconds: 0", "idleTimeoutSeconds of a worker group", "kuberay: {version: 1.3.0}", "kuberay: {version: 1.2.2}",
     "needs KubeRay 1.3, which has idleTimeoutSeconds of a worker group; 1.2.2 runs there"),
    ("RayCluster workerGroupSpecs.0.suspend: true", "suspend of a worker group", "kuberay: {version: 1.6.0}", "kuberay: {version: 1.5.2}",
     f"feature gate RayJobDeletionPolicy {OFF} suspend of a worker group needs it"),
    ("RayJob shutdownAfterJobFinishes: true", "a RayJob that stays when it is done",
     "kuberay: {deletesFinishedJobs: false}", "kuberay: {deletesFinishedJobs: true}",
     "its KubeRay deletes RayJobs that are done, and Git would run them again"),
    # RuntimeClasses
    ("RayCluster workerGroupSpecs.0.template.spec.runtimeClassName: gvisor", "runtimeClassName gvisor",
     "runtimeClasses: [{name: gvisor}]", "runtimeClasses: [{name: kata}]", "there is no RuntimeClass gvisor"),
    ("RayJob submitterPodTemplate.spec.runtimeClassName: gvisor", "runtimeClassName gvisor",
     "{runtimeClasses: [], present: [{apiGroup: node.k8s.io, kind: RuntimeClass, name: gvisor}]}", "runtimeClasses: []",
     "there is no RuntimeClass gvisor"),
    ("RayCluster headGroupSpec.template.spec.runtimeClassName: gvisor && headGroupSpec.template.spec.nodeSelector: {a: '1'}",
     "runtimeClassName gvisor", "runtimeClasses: [{name: gvisor, nodeSelector: {a: '1', b: '2'}}]",
     "runtimeClasses: [{name: gvisor, nodeSelector: {a: '2'}}]", "RuntimeClass gvisor selects nodes of a=2, and the pod selects a=1"),
    ("RayCluster headGroupSpec.template.spec.runtimeClassName: gvisor && headGroupSpec.template.spec.overhead: {cpu: 500m}",
     "runtimeClassName gvisor", "runtimeClasses: [{name: gvisor, overhead: {cpu: '0.5'}}]",
     "runtimeClasses: [{name: gvisor}]", "the pod's overhead is not that of RuntimeClass gvisor"),
    # PriorityClasses
    ("RayCluster headGroupSpec.template.spec.priorityClassName: high", "priorityClassName high",
     "priorityClasses: [{name: high, value: 5}]", "priorityClasses: []", "there is no PriorityClass high"),
    ("RayJob submitterPodTemplate.spec.priorityClassName: high", "priorityClassName high",
     "{priorityClasses: [], present: [{apiGroup: scheduling.k8s.io, kind: PriorityClass, name: high}]}", "priorityClasses: []",
     "there is no PriorityClass high"),
    ("RayCluster workerGroupSpecs.0.template.spec.priorityClassName: high && workerGroupSpecs.0.template.spec.priority: 5",
     "priorityClassName high", "priorityClasses: [{name: high, value: 5}]", "priorityClasses: [{name: high, value: 7}]",
     "PriorityClass high gives priority 7, and the pod says 5"),
    ("RayCluster headGroupSpec.template.spec.priorityClassName: high && headGroupSpec.template.spec.preemptionPolicy: Never",
     "priorityClassName high", "priorityClasses: [{name: high, value: 5, preemptionPolicy: Never}]",
     "priorityClasses: [{name: high, value: 5}]", "PriorityClass high gives preemptionPolicy PreemptLowerPriority, and the pod says Never"),
    ("RayCluster headGroupSpec.template.spec.priority: 5", "priority 5",
     "priorityClasses: [{name: usual, value: 5, globalDefault: true}, {name: more, value: 6, globalDefault: true}]",
     "priorityClasses: [{name: usual, value: 5}]", "a pod without a PriorityClass gets priority 0, and the pod says 5"),
    ("RayCluster headGroupSpec.template.spec.preemptionPolicy: Never", "preemptionPolicy Never",
     "priorityClasses: [{name: usual, value: 0, globalDefault: true, preemptionPolicy: Never}]", "priorityClasses: []",
     "a pod without a PriorityClass gets preemptionPolicy PreemptLowerPriority, and the pod says Never"),
]  # fmt: skip
"""One row for each thing that can be asked for, and one more where there are two ways of not having it."""


@pytest.mark.parametrize(
    ("row", "feature", "serves", "lacks", "words"), DEMANDED, ids=[f"{row[1]}-{i}" for i, row in enumerate(DEMANDED)]
)
def test_what_a_manifest_asks_for_is_served_or_it_is_said_why_not(
    row: str, feature: str, serves: str, lacks: str, words: str
) -> None:
    value = manifest(row)
    found = asked(value)
    assert [known(serves).unmet(demand) for demand in found] == [None] * len(found)
    assert [known(lacks).unmet(demand) for demand in found if demand.feature == feature] == [words]
    (demand,) = (demand for demand in found if demand.feature == feature)
    assert at(value, demand.path) is not None, "it says where it is asked for"


@pytest.mark.parametrize("profile", ["{}", "priorityClasses: []"])
def test_the_priority_classes_of_kubernetes_itself_are_known_everywhere(profile: str) -> None:
    says = Demand("priority", priority_class="system-node-critical", priority="2000001000")
    assert known(profile).unmet(says) is None
    words = "PriorityClass system-node-critical gives priority 2000001000, and the pod says 0"
    assert known(profile).unmet(replace(says, priority="0")) == words


def test_every_demand_has_a_row() -> None:
    told = [value for value in vars(demands).values() if isinstance(value, Demand)]
    features = {demand.feature for demand in (*told, *demands.MODES.values())}
    assert len(features) > 30
    assert features - {feature for _, feature, *_ in DEMANDED} == set()


NOT_ASKED = [
    "RayJob submissionMode: K8sJobMode",
    "RayJob submitterConfig: {backoffLimit: 2}",
    "RayJob managedBy: ray.io/kuberay-operator",
    "RayJob deletionStrategy: {}",
    "RayJob submitterPodTemplate.spec.runtimeClassName: ''",
    "RayService suspend: false",
    "RayService upgradeStrategy.type: NewCluster",
    "RayService upgradeStrategy: {}",
    "RayCluster suspend: true",
    "RayCluster upgradeStrategy.type: None",
    "RayCluster authOptions.mode: disabled",
    "RayCluster authOptions: null",
    "RayCluster tlsOptions: null",
    "RayCluster autoscalerOptions: {idleTimeoutSeconds: 60, resources: {}}",
    "RayCluster workerGroupSpecs.0.labels: {}",
    "RayCluster workerGroupSpecs.0.priority: 0",
    "RayCluster workerGroupSpecs.0.suspend: false",
    "RayCluster workerGroupSpecs.0.numOfHosts: 4",
]
"""Edits that ask for nothing that the manifest did not ask for before: an older KubeRay does just that."""


@pytest.mark.parametrize("row", NOT_ASKED)
def test_nothing_is_asked_for_a_value_that_changes_nothing(row: str) -> None:
    assert asked(manifest(row)) == asked(manifest(row.partition(" ")[0]))


@pytest.mark.parametrize("row", [row for row, *_ in DEMANDED])
def test_an_object_of_v1alpha1_asks_for_no_version_gate_or_api(row: str) -> None:
    found = asked(manifest(row, "ray.io/v1alpha1"))
    assert not any(demand.since or demand.gate or demand.api for demand in found)


def test_an_object_of_v1alpha1_asks_for_its_runtime_class_and_a_scheduler_that_takes_jobs() -> None:
    value = manifest(
        f"RayJob submissionMode: HTTPMode && {JOB}.headGroupSpec.template.spec.runtimeClassName: kata",
        "ray.io/v1alpha1",
    )
    assert {d.feature for d in asked(value)} == {"RayJob", "RayJob in K8sJobMode", "runtimeClassName kata"}


def test_what_is_asked_for_twice_is_told_once_at_its_first_place() -> None:
    row = "RayCluster workerGroupSpecs.0.labels: {a: b} && workerGroupSpecs.1.labels: {a: c} && headGroupSpec.labels: {a: d}"
    (labels,) = (demand for demand in asked(manifest(row)) if demand == demands.GROUP_LABELS)
    assert labels.path == ("spec", "headGroupSpec", "labels")


def test_an_object_that_another_controller_manages_asks_for_its_fields_alone() -> None:
    """Kueue copies it to a cluster where somebody acts on it; here it has only to survive."""
    row = "RayCluster managedBy: kueue.x-k8s.io/multikueue && tlsOptions: {enabled: true}"
    (tls,) = (demand for demand in asked(manifest(row)) if demand.feature == "tlsOptions")
    assert tls == Demand("tlsOptions", (1, 7))


def test_other_kinds_ask_for_the_runtime_class_of_their_pods() -> None:
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {**POD["spec"], "runtimeClassName": "kata"},
    }
    facts, problems = workloads.read(document(value))
    assert problems == []
    assert facts.demands == (Demand("runtimeClassName kata", runtime_class="kata"),)
    assert facts.demands[0].path == ("spec", "runtimeClassName")


@pytest.mark.parametrize("row", ["RayCluster", "RayJob", "RayService"])
def test_reading_a_ray_object_tells_what_it_asks_for(row: str) -> None:
    value = manifest(row)
    assert workloads.read(document(value))[0].demands == asked(value) != ()


ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(0, 1), st.sampled_from(["", "a", "SidecarMode", "ray.io/v1"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["spec", "type", "enabled", "x"]), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@given(st.sampled_from([row for row, *_ in DEMANDED]), st.data())
def test_nothing_that_a_manifest_holds_makes_reading_fail(row: str, data: st.DataObject) -> None:
    value = manifest(row, data.draw(st.sampled_from(["ray.io/v1", "ray.io/v1alpha1"])))
    for _ in range(data.draw(st.integers(1, 3))):
        *above, last = data.draw(st.sampled_from(sorted(places(value), key=str)))
        at(value, tuple(above))[last] = data.draw(ODD)
    profile = known(
        "{kuberay: {version: 1.4.0, featureGates: {}}, runtimeClasses: [], gangScheduler: kai}", "{serves: []}"
    )
    root = document(value).cursor()
    for demand in demands.of(root):
        assert profile.unmet(demand) is None or profile.unmet(demand)
    assert root.problems == [], "whoever sizes the object reports"


# what is known


@pytest.mark.parametrize(("written", "found", "version"), [
    ("1.7.0", None, (1, 7, 0)),
    ("v1.7.1", None, (1, 7, 1)),
    ("1.7", None, (1, 7)),
    ("1.8.0-rc.1", None, (1, 8, 0)),
    ("1.6.2+vendor.3", None, (1, 6, 2)),
    (None, "1.4.2", (1, 4, 2)),
    ("1.7.0", "1.4.2", (1, 7, 0)),
    (None, None, ()),
])  # fmt: skip
def test_a_version_is_the_written_one_before_the_one_that_was_found(
    written: str | None, found: str | None, version: tuple[int, ...]
) -> None:
    profile = ClusterProfile.of(
        a_cluster(f'kuberay: {{version: "{written}"}}' if written else "{}"),
        a_snapshot(f'kuberay: {{version: "{found}"}}') if found else None,
    )
    assert profile.version == version


@pytest.mark.parametrize(("version", "since", "served"), [
    ("1.5.1", (1, 5, 1), True),
    ("1.5.0", (1, 5, 1), False),
    ("1.5", (1, 5, 1), True),     # nobody said which patch
    ("1.10.0", (1, 5), True),     # numbers, not letters
    ("2.0.0", (1, 7), True),
    ("1.7.0-rc.0", (1, 7), True),
    ("0.6.0", (1, 0), False),
])  # fmt: skip
def test_versions_are_compared_as_numbers(version: str, since: tuple[int, ...], served: bool) -> None:
    assert (known(f'kuberay: {{version: "{version}"}}').unmet(Demand("x", since)) is None) == served


@pytest.mark.parametrize(("kuberay", "served"), [
    ("{}", True),                                                               # nobody looked
    ("{featureGates: {Other: true}}", True),                                    # of an unknown version: what is its default?
    ("{featureGates: {Gate: false}}", False),
    ("{version: 1.6.0}", False),                                                # alpha: off
    ("{version: 1.7.0}", True),                                                 # beta: on
    ("{version: 1.6.0, featureGates: {AllAlpha: true}}", True),
    ("{version: 1.6.0, featureGates: {AllAlpha: true, Gate: false}}", False),   # its own word counts more
    ("{version: 1.7.0, featureGates: {AllBeta: false}}", False),
    ("{version: 1.7.0, featureGates: {AllBeta: false, Gate: true}}", True),
])  # fmt: skip
def test_a_gate_is_as_it_was_set_or_as_the_version_has_it(kuberay: str, served: bool) -> None:
    demand = Demand("x", gate="Gate", on_since=(1, 7))
    assert (known(f"kuberay: {kuberay}").unmet(demand) is None) == served


def test_the_gates_of_a_version_we_do_not_know_yet_are_not_held_against_it() -> None:
    demand = Demand("x", (1, 6), "Gate")
    assert known("kuberay: {version: 1.7.9}").unmet(demand) is not None
    assert known("kuberay: {version: 1.8.0}").unmet(demand) is None
    assert known("kuberay: {version: 1.8.0, featureGates: {Gate: false}}").unmet(demand) is not None


@pytest.mark.parametrize(("written", "found", "gateway", "certificates"), [
    ("{}", None, None, None),
    ("{}", "{}", None, None),
    ("{}", "serves: []", False, False),
    ("{}", "serves: [gateway.networking.k8s.io/v1, cert-manager.io]", True, True),
    ("{gatewayAPI: true, certManager: false}", "serves: [cert-manager.io/v1]", True, False),
])  # fmt: skip
def test_what_a_cluster_serves_is_what_was_written_or_what_its_snapshot_lists(
    written: str, found: str | None, gateway: bool | None, certificates: bool | None
) -> None:
    profile = known(written, found)
    assert (profile.gateway_api, profile.cert_manager) == (gateway, certificates)


@pytest.mark.parametrize(("found", "served"), [("{}", True), ("serves: []", False), ("serves: [example.com/v1]", True)])
def test_any_api_group_may_be_asked_for(found: str, served: bool) -> None:
    assert (known("{}", found).unmet(Demand("x", api="example.com")) is None) == served


def test_objects_that_are_present_add_up() -> None:
    profile = known(
        "present: [{kind: Secret, namespace: a, name: made-by-hand}]",
        "present: [{apiGroup: node.k8s.io, kind: RuntimeClass, name: gvisor}]",
    )
    assert profile.has(Identity("", "Secret", "a", "made-by-hand"))
    assert profile.has(Identity("node.k8s.io", "RuntimeClass", "", "gvisor"))
    assert not profile.has(Identity("", "Secret", "b", "made-by-hand"))


def test_a_cluster_of_which_nothing_is_known_refuses_nobody() -> None:
    profile = known("{}", "{}")
    assert profile.is_blank
    for row, *_ in DEMANDED:
        assert [profile.unmet(demand) for demand in asked(manifest(row))] == [None] * len(asked(manifest(row)))
    assert profile.watches("anything")


@pytest.mark.parametrize("lacks", sorted({lacks for _, _, _, lacks, _ in DEMANDED}))
def test_a_cluster_that_refuses_somebody_is_not_blank(lacks: str) -> None:
    """Otherwise nobody would ask it."""
    assert not known(lacks).is_blank


GATES = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.booleans())
KUBERAYS = st.builds(
    KubeRay,
    version=st.none() | st.sampled_from(["1.4.2", "1.7.0"]),
    feature_gates=st.none() | GATES,
    init_container_injection=st.none() | st.booleans(),
    zero_downtime=st.none() | st.booleans(),
    watch_namespaces=st.none() | st.lists(st.sampled_from("ab"), max_size=2).map(tuple),
    deletes_finished_jobs=st.none() | st.booleans(),
)
EQUIPMENT: dict[str, st.SearchStrategy[Any]] = {
    "kuberay": st.none() | KUBERAYS,
    "limit_ranges": st.none() | st.just(()) | st.just((LimitRange(namespace="a"),)),
    "gang_scheduler": st.none() | st.sampled_from(["none", "kai"]),
    "extended_resource_toleration": st.none() | st.booleans(),
}


@given(st.builds(Profile, **EQUIPMENT), st.builds(Equipment, **EQUIPMENT))
def test_merging_goes_field_by_field(written: Profile, found: Equipment) -> None:
    blank = a_cluster()
    where = blank.model_copy(update={"spec": blank.spec.model_copy(update={"profile": written})})
    there = a_snapshot().model_copy(update={name: getattr(found, name) for name in EQUIPMENT})
    merged = ClusterProfile.of(where, there)
    for name in ("limit_ranges", "gang_scheduler"):
        told = [value for value in (getattr(written, name), getattr(found, name)) if value is not None]
        nothing: Any = () if name == "limit_ranges" else None
        assert getattr(merged, name) == (told[0] if told else nothing)
    operators = [operator for operator in (written.kuberay, found.kuberay) if operator is not None]
    for name in KubeRay.model_fields:
        values = [value for o in operators if (value := getattr(o, name)) is not None]
        if name == "feature_gates" and values:
            assert merged.kuberay.feature_gates == {k: v for gates in reversed(values) for k, v in gates.items()}
        else:
            assert getattr(merged.kuberay, name) == (values[0] if values else None)


# what pods meet there


def test_where_nothing_is_known_pods_meet_what_is_usual() -> None:
    assert known("{}", "{}").surroundings("a") == USUAL


def test_what_the_operator_and_runtime_classes_add_is_met_in_every_namespace() -> None:
    around = known("""
    kuberay:
      initContainerInjection: false
      zeroDowntime: false
      headSidecars: [{name: logs, requests: {cpu: 50m}}]
      workerSidecars: [{name: logs, requests: {cpu: 20m}}, {name: proxy}]
    runtimeClasses:
    - {name: gvisor, overhead: {memory: 64Mi}, nodeSelector: {b: "1", a: "2"}, tolerations: [{key: sandbox, operator: Exists}]}
    """).surroundings("anything")
    assert not around.waits_for_gcs and not around.zero_downtime
    assert around.head_sidecars == (("logs", Resources({"cpu": 50})),)
    assert around.worker_sidecars == (("logs", Resources({"cpu": 20})), ("proxy", Resources()))
    gvisor = RuntimeClass(
        "gvisor", Resources({"memory": 2**26}), (("a", "2"), ("b", "1")), (Toleration("sandbox", "Exists"),)
    )
    assert around.runtime_classes == (gvisor,)
    assert around.claims is None, "claims stand in the source"


@pytest.mark.parametrize(("ranges", "requests"), [
    ("[]", {}),
    ("[{namespace: a, defaultRequest: {cpu: 100m}}]", {"cpu": 100}),
    ("[{namespace: a, default: {cpu: 500m}}]", {"cpu": 500}),                                             # a limit stands in
    ("[{namespace: a, defaultRequest: {cpu: 100m}, default: {cpu: 500m, memory: 1Gi}}]", {"cpu": 100, "memory": GI}),
    ("[{namespace: a, defaultRequest: {cpu: 100m}}, {namespace: a, defaultRequest: {memory: 1Gi}}]", {"cpu": 100, "memory": GI}),
    ("[{namespace: a, defaultRequest: {cpu: 100m}}, {namespace: a, defaultRequest: {cpu: 300m}}]", {"cpu": 300}),  # either may win
    ("[{namespace: a, defaultRequest: {cpu: 100m}}, {namespace: a, default: {cpu: 300m}}]", {"cpu": 300}),
    ("[{namespace: b, defaultRequest: {cpu: 100m}}]", {}),                                                # of another namespace
    ("[{namespace: a, max: {cpu: 2}, min: {cpu: 1, memory: 1Gi}}]", {"cpu": 2000, "memory": GI}),         # the most is a default limit
    ("[{namespace: a, default: {cpu: 500m}, max: {cpu: 2}, min: {cpu: 100m}}]", {"cpu": 500}),
    ("[{namespace: a, defaultRequest: {cpu: 200m}, default: {cpu: 500m}, max: {cpu: 2}, min: {cpu: 100m}}]", {"cpu": 200}),
    ("[{namespace: a, default: {nvidia.com/gpu: 0}, max: {nvidia.com/gpu: 8}}]", {}),                     # none is an amount
])  # fmt: skip
def test_containers_that_ask_for_nothing_get_what_the_limit_ranges_of_their_namespace_say(
    ranges: str, requests: dict[str, int]
) -> None:
    assert known(f"limitRanges: {ranges}").surroundings("a").container_defaults == Resources(requests)


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(1, 9)).map(Resources)
GIVEN = st.builds(LimitItem, default=AMOUNTS, default_request=AMOUNTS, least=AMOUNTS, most=AMOUNTS).map(filled_in)


@given(st.lists(GIVEN, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_limit_ranges_does_not_matter_and_none_gives_more(ranges: list[LimitItem], random: Any) -> None:
    shuffled = [structs.replace(item) for item in ranges]
    random.shuffle(shuffled)
    total = container_defaults(ranges)
    assert container_defaults(shuffled) == total
    for item in ranges:
        alone = container_defaults([item])
        assert all(total[name] >= amount for name, amount in alone.items())
        assert dict(alone) == item.default_request, "a request is what is asked for"


def rising(*names: str) -> st.SearchStrategy[dict[str, dict[str, int]]]:
    """Some of these, each with an amount of cpu that is not less than those before it, as the API server wants them."""
    amounts = st.lists(st.integers(0, 4), min_size=len(names), max_size=len(names)).map(sorted)
    shown = st.sets(st.sampled_from(names))
    return st.tuples(amounts, shown).map(
        lambda drawn: {name: {"cpu": amount} for name, amount in zip(names, drawn[0], strict=True) if name in drawn[1]}
    )


RATIO = st.none() | st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(3)])
OF_CONTAINERS = st.builds(
    lambda fields, ratio: filled_in(LimitItem(**fields, ratio={"cpu": ratio} if ratio else {})),
    rising("least", "default_request", "default", "most"), RATIO,
)  # fmt: skip
OF_PODS = st.builds(
    lambda fields, ratio: LimitItem(of="Pod", **fields, ratio={"cpu": ratio} if ratio else {}),
    rising("least", "most"),
    RATIO,
)
_Has = dict[str, int]


def giving(**fields: int) -> LimitItem:
    return filled_in(LimitItem(**{name: {"cpu": amount} for name, amount in fields.items()}))


def is_admitted(containers: Sequence[tuple[_Has, _Has]], ranges: Sequence[LimitItem]) -> bool:
    """Whether the API server lets a pod in where it applies LimitRanges in this order."""
    filled = []
    for asked, limited in containers:
        requests, limits = {**limited, **asked}, dict(limited)
        for item in ranges:
            requests = {**item.default_request, **requests}
            limits = {**item.default, **limits}
        filled.append((requests, limits))
    together = tuple(
        {"cpu": sum(each[i]["cpu"] for each in filled if each[i])} if any(each[i] for each in filled) else {}
        for i in (0, 1)
    )
    return all(requests[name] <= limit for requests, limits in filled for name, limit in limits.items()) and all(
        keeps(item, requests, limits)
        for item in ranges
        for requests, limits in (filled if item.of == "Container" else [together])
    )


def keeps(item: LimitItem, requests: _Has, limits: _Has) -> bool:
    """minConstraint, maxConstraint and limitRequestRatioConstraint of the admission plug-in."""
    request, limit = requests.get("cpu"), limits.get("cpu")
    least, most, ratio = (each.get("cpu") for each in (item.least, item.most, item.ratio))
    if least is not None and (request is None or request < least or (limit is not None and limit < least)):
        return False
    if most is not None and (limit is None or limit > most or (request is not None and request > most)):
        return False
    return ratio is None or bool(request and limit and limit / request <= ratio)


@example([{}], [giving(default=4), giving(default=1)])
@example([{}], [giving(default_request=2), giving(default=1), giving(default=4)])
@example([{}], [giving(least=2), giving(default=1)])
@example([{"asked": {"cpu": 2}}], [giving(default=4), giving(most=1)])
@example([{}, {}], [giving(default=2), LimitItem(of="Pod", most={"cpu": 3})])
@example([{}, {"limited": {"cpu": 1}}], [giving(default_request=0), LimitItem(of="Pod", ratio={"cpu": Fraction(1)})])
@given(st.lists(rising("asked", "limited"), min_size=1, max_size=2), st.lists(OF_CONTAINERS | OF_PODS, max_size=3))
def test_a_pod_is_refused_if_any_order_of_limit_ranges_refuses_it(
    containers: list[dict[str, _Has]], ranges: list[LimitItem]
) -> None:
    told = [(container.get("asked", {}), container.get("limited", {})) for container in containers]
    parts = [structs.replace(Part("c", {**limited, **asked}), limits=limited) for asked, limited in told]
    ask = PodAsk(tuple(with_defaults(part, container_defaults(ranges)) for part in parts))
    admitted = all(is_admitted(told, order) for order in permutations(ranges))
    assert (not any(any(breaches(item, ask, ranges)) for item in ranges)) == admitted


# stories

ROOMY = "n1 64 256Gi 8"


def edited(files: dict[str, str], old: str, new: str) -> dict[str, str]:
    ((path, text),) = files.items()
    assert old in text
    return {path: text.replace(old, new, 1)}


SIDECAR = edited(rayjob("jobs", "train"), "  entrypoint:", "  submissionMode: SidecarMode\n  entrypoint:")


def verdicts(done: Hydration, group: str) -> dict[str, str]:
    """What is said of every cluster that does not take a group."""
    return {
        c.cluster: finding_text(c.finding)
        for c in decisions(done)[group].candidates
        if c.finding.code is Reason.FEATURE_NOT_SERVED
    }


def test_a_job_goes_where_kuberay_is_new_enough_and_the_plan_says_why() -> None:
    story = Story.of(
        cluster("a"),
        cluster("b"),
        ANYWHERE,
        SIDECAR,
        capacity={
            **snapshot("a", ROOMY, more="kuberay: {version: 1.4.2}\n"),
            **snapshot("b", ROOMY, more="kuberay: {version: 1.7.0}\n"),
        },
    )
    done = story.run()
    assert outcome(done) == {"jobs/train": "Place b Fits"}
    assert verdicts(done, "jobs/train") == {"a": "needs KubeRay 1.5, which has SidecarMode; 1.4.2 runs there"}


def test_a_job_waits_where_no_kuberay_is_new_enough() -> None:
    old = "{kuberay: {version: v1.4.2}}"
    story = Story.of(cluster("a", profile=old), ANYWHERE, SIDECAR, capacity=snapshot("a", ROOMY))
    assert outcome(story.run()) == {"jobs/train": "Wait  NoEligibleCluster"}
    story.source |= cluster("a", profile="{kuberay: {version: 1.5.0}}")
    assert outcome(story.run()) == {"jobs/train": "Place a Fits"}


def test_what_runs_somewhere_is_not_moved_because_of_what_it_asks_for() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("web", "api"), capacity=snapshot("a", ROOMY))
    story.run()
    story.source |= cluster("b")
    story.capacity |= snapshot("b", ROOMY)
    story.source |= cluster("a", profile="{kuberay: {version: 0.6.0}}")
    assert outcome(story.run()) == {"web/api": "Keep a Kept"}
    story.source |= cluster("a", profile="{kuberay: {version: 0.6.0}}", state="Draining")
    assert outcome(story.run()) == {"web/api": "Relocate b ClusterDraining"}


def test_a_pod_with_a_runtime_class_goes_where_there_is_one() -> None:
    pod = {
        "workloads/web/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: safe}\n"
        "spec: {runtimeClassName: gvisor, containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}\n"
    }
    story = Story.of(
        cluster("a"),
        cluster("b"),
        ANYWHERE,
        pod,
        capacity={
            **snapshot("a", ROOMY, more="runtimeClasses: []\n"),
            **snapshot("b", ROOMY, more="runtimeClasses: [{name: gvisor}]\n"),
        },
    )
    done = story.run()
    assert decisions(done)["web/safe"].after == ("b",)
    assert verdicts(done, "web/safe") == {"a": "there is no RuntimeClass gvisor"}


GPU_NODE = "n1 8 32Gi 1 | , taints: [{key: nvidia.com/gpu, value: present}]"


@pytest.mark.parametrize(
    ("profile", "more", "after"),
    [
        ("{}", "", ()),
        ("{extendedResourceToleration: true}", "", ("a",)),
        ("{}", "extendedResourceToleration: true\n", ("a",)),
        ("{extendedResourceToleration: false}", "extendedResourceToleration: true\n", ()),
    ],
)
def test_pods_tolerate_the_taint_of_their_devices_where_the_api_server_adds_it(
    profile: str, more: str, after: tuple[str, ...]
) -> None:
    """The manifest is deployed as it is: the toleration is written by the API server of the cluster."""
    pod = {
        "workloads/web/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: gpu, namespace: web}\n"
        "spec: {containers: [{name: a, image: a, resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}}]}\n"
    }
    story = Story.of(cluster("a", profile=profile), ANYWHERE, pod, capacity=snapshot("a", GPU_NODE, more=more))
    done = story.run()
    assert decisions(done)["web/gpu"].after == after
    if after:
        assert done.tree.read("clusters/a/workloads/web/gpu/pod.yaml") == pod["workloads/web/pod.yaml"].encode()


@pytest.mark.parametrize("waited", [False, True])
def test_who_is_held_and_deployed_nowhere_is_told_of_clusters_as_it_would_be_there(waited: bool) -> None:
    """It was told of as it is written, and, had it waited before, as if it had no pods at all."""
    pod = {
        "workloads/web/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: gpu}\n"
        "spec: {containers: [{name: a, image: a, resources: {limits: {cpu: 1, nvidia.com/gpu: 4}}}]}\n"
    }
    story = Story.of(
        cluster("a", profile="{extendedResourceToleration: true}"),
        cluster("b"),
        ANYWHERE,
        pod,
        capacity={**snapshot("a", GPU_NODE), **snapshot("b", GPU_NODE)},
    )
    if waited:
        done = story.run()
        assert outcome(done) == {"web/gpu": "Wait  NoClusterFits"}
    fits = edited(pod, "gpu: 4", "gpu: 1")
    story.source.update(edited(fits, "spec: {", "spec: {serviceAccountName: of-somebody-else, "))
    held = decisions(story.run())["web/gpu"]
    assert held.action is Action.HOLD
    assert {c.cluster: c.finding.code for c in held.candidates} == {"a": Reason.FITS, "b": Reason.UNTOLERATED_TAINT}


PRIORITY = "  priorityClassName: high\n  priority: 5\n"


@pytest.mark.parametrize(
    ("told", "more", "words"),
    [
        ("", "priorityClasses: [{name: high, value: 7}]\n", "PriorityClass high gives priority 7, and the pod says 5"),
        ("", "priorityClasses: []\n", "there is no PriorityClass high"),
        ("", "", ""),  # nobody looked
        ("7", "", "PriorityClass high gives priority 7, and the pod says 5"),
        ("7", "priorityClasses: []\n", "PriorityClass high gives priority 7, and the pod says 5"),
        ("5", "priorityClasses: []\n", ""),  # it is on its way
        ("7", "priorityClasses: [{name: high, value: 5}]\n", ""),  # no API server changes the value
    ],
)
def test_a_pod_that_says_its_priority_goes_where_its_class_gives_it(told: str, more: str, words: str) -> None:
    """`told` is the value of the class in the source."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: first}\nspec:\n  containers: [{name: a, image: a}]\n" + PRIORITY
    files = {"workloads/web/pod.yaml": pod}
    if told:
        files["platform/classes/high.yaml"] = (
            f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: high}}\nvalue: {told}\n"
        )
    capacity = {
        **snapshot("a", ROOMY, more=more),
        **snapshot("b", "n1 1 1Gi", more="priorityClasses: [{name: high, value: 5}]\n"),
    }
    story = Story.of(
        cluster("a"), cluster("b"), policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}"),
        files, capacity=capacity,
    )  # fmt: skip
    done = story.run()
    assert decisions(done)["web/first"].after == ("b" if words else "a",)
    assert verdicts(done, "web/first").get("a", "") == words


@pytest.mark.parametrize(
    ("placed", "taints", "words"),
    [
        ("select: {}", "[]", ""),
        ("select: {}\nclusters: {names: [b]}", "[]", "there is no PriorityClass high"),
        ("select: {}\nplacement: {type: Ordered, order: [{names: [b]}]}", "[]", "there is no PriorityClass high"),
        ("select: {}", "[{key: reserved}]", "there is no PriorityClass high"),
        ("select: {}\ntolerations: [{operator: Exists}]", "[{key: reserved}]", ""),
        ("select: {kinds: [ConfigMap]}", "[]", "there is no PriorityClass high"),  # nobody places it
    ],
)
def test_a_priority_class_is_on_its_way_where_the_policy_of_its_group_takes_it(
    placed: str, taints: str, words: str
) -> None:
    """`taints` are those of cluster a."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: first}\nspec:\n  containers: [{name: a, image: a}]\n"
    files = {
        "workloads/web/pod.yaml": pod + "  priorityClassName: high\n",
        "platform/classes/high.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n",
    }
    story = Story.of(
        cluster("a", taints=taints), cluster("b"), policy("classes", f"{placed}\nprecedence: 1".replace("select: {}", "select: {paths: ['platform/**']}")),
        policy("web", "select: {namespaces: [web]}\ntolerations: [{operator: Exists}]\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}"),
        files,
        capacity={name: text for each in "ab" for name, text in snapshot(each, ROOMY, more="priorityClasses: []\n").items()},
    )  # fmt: skip
    assert verdicts(story.run(), "web/first").get("a", "") == words


OF_CLASSES = """\
apiVersion: gitplacer.dev/v1alpha1
kind: OverridePolicy
metadata: {name: classes}
spec:
  select: {kinds: [PriorityClass]}
  clusters: {names: [%s]}
  overrides: [{op: %s, path: %s, value: %s}]
"""


@pytest.mark.parametrize(
    ("told", "policy_of", "own", "words"),
    [
        ("7", ("a", "replace", "/value", "5"), "", ""),
        ("5", ("a", "replace", "/value", "7"), "", "PriorityClass high gives priority 7, and the pod says 5"),
        ("5", ("b", "replace", "/value", "7"), "", ""),  # which is another cluster
        ("5", None, "[{op: replace, path: /value, value: 7}]", "PriorityClass high gives priority 7, and the pod says 5"),
        ("7", None, "[{op: replace, path: /spec/replicas, value: 5}]", "PriorityClass high gives priority 7, and the pod says 5"),
    ],
)  # fmt: skip
def test_a_class_of_the_source_gives_the_priority_that_overrides_make_of_it(
    told: str, policy_of: tuple[str, ...] | None, own: str, words: str
) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: first}\nspec:\n  containers: [{name: a, image: a}]\n" + PRIORITY
    high = f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: high}}\nvalue: {told}\n"
    files = {"workloads/web/pod.yaml": pod, "platform/classes/high.yaml": high}
    if policy_of:
        files["overrides/classes.yaml"] = OF_CLASSES % policy_of
    story = Story.of(
        cluster("a", **({"overrides": own} if own else {})), ANYWHERE, files, capacity=snapshot("a", ROOMY),
    )  # fmt: skip
    assert verdicts(story.run(), "web/first").get("a", "") == words


def test_classes_of_the_source_decide_which_pods_a_quota_counts_as_overrides_make_them() -> None:
    """A class that is the default on one cluster alone."""
    high = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\n"
    files = {
        "workloads/web/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: first}\nspec:\n  containers: [{name: a, image: a}]\n",
        "platform/classes/high.yaml": high,
        "overrides/classes.yaml": OF_CLASSES % ("a", "add", "/globalDefault", "true"),
    }
    scope = "scopes: [{scopeName: PriorityClass, operator: In, values: [high]}]"
    quota = f"resourceQuotas: [{{namespace: web, name: rq, hard: {{pods: 0}}, {scope}}}]\npriorityClasses: []\n"
    capacity = snapshot("a", ROOMY, more=quota) | snapshot("b", "n1 1 1Gi", more=quota)
    first_a = policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}")
    done = Story.of(cluster("a"), cluster("b"), first_a, files, capacity=capacity).run()
    assert decisions(done)["web/first"].after == ("b",)


def test_a_feature_gate_that_is_off_keeps_an_app_away() -> None:
    secret = edited(
        rayservice("web", "api"), "  rayClusterConfig:\n", "  rayClusterConfig:\n    tlsOptions: {enabled: true}\n"
    )
    story = Story.of(
        cluster("a", profile="{kuberay: {version: 1.7.0}, certManager: true}"),
        cluster("b", profile="{kuberay: {version: 1.7.0, featureGates: {RayClusterMTLS: true}}}"),
        cluster("c", profile="{kuberay: {version: 1.7.0, featureGates: {RayClusterMTLS: true}}, certManager: true}"),
        ANYWHERE,
        secret,
        capacity={
            **snapshot("a", ROOMY),
            **snapshot("b", ROOMY, more="serves: [ray.io]\n"),
            **snapshot("c", ROOMY, more="serves: [ray.io]\n"),
        },
    )
    done = story.run()
    assert decisions(done)["web/api"].after == ("c",)
    assert verdicts(done, "web/api") == {
        "a": "feature gate RayClusterMTLS is off, and tlsOptions needs it",
        "b": "cert-manager.io is not served, and tlsOptions needs it",
    }


def test_an_operator_that_watches_other_namespaces_gets_no_ray_objects_of_this_one() -> None:
    plain = {
        "workloads/web/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: plain}\n"
        "spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}\n"
    }
    story = Story.of(
        cluster("a", profile="{kuberay: {watchNamespaces: [jobs]}}"),
        ANYWHERE,
        rayservice("web", "api"),
        rayservice("jobs", "api"),
        plain,
        capacity=snapshot("a", ROOMY),
    )
    done = story.run()
    assert {group: made.after for group, made in decisions(done).items()} == {
        "jobs/api": ("a",), "web/api": (), "web/plain": ("a",)
    }  # fmt: skip
    assert verdicts(done, "web/api") == {"a": "KubeRay does not watch namespace web there"}


def test_an_override_may_ask_for_less_on_one_cluster() -> None:
    to_http = "[{path: /spec/submissionMode, value: HTTPMode}]"
    old = "{kuberay: {version: 1.4.2}}"
    story = Story.of(
        cluster("a", profile=old),
        cluster("b", profile=old, overrides=to_http),
        ANYWHERE,
        SIDECAR,
        capacity={**snapshot("a", ROOMY), **snapshot("b", ROOMY)},
    )
    assert outcome(story.run()) == {"jobs/train": "Place b Fits"}


# what a LimitRange gives and wants

BARE = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: main, image: x, resources: RESOURCES}]}\n"
TWO = "{default: {cpu: 4}}", "{default: {cpu: 1}}"


@pytest.mark.parametrize(
    ("ranges", "resources", "answer"),
    [
        (["{default: {cpu: 1}}"], "{requests: {cpu: 2}}", "LimitRangeViolated"),
        (["{default: {cpu: 1}}"], "{requests: {cpu: 1}}", "Fits"),
        (["{default: {cpu: 1}}"], "{requests: {cpu: 2}, limits: {cpu: 3}}", "Fits"),  # it has a limit of its own
        (["{default: {memory: 1Gi}}"], "{requests: {cpu: 2}}", "Fits"),
        (["{default: {cpu: 1}}"], "{}", "Fits"),
        (["{max: {cpu: 1}}"], "{requests: {cpu: 2}}", "LimitRangeViolated"),  # which is the default limit
        (["{defaultRequest: {cpu: 1}}"], "{requests: {cpu: 2}}", "Fits"),
        (["{default: {cpu: 4}, defaultRequest: {cpu: 2}}", "{default: {cpu: 1}}"], "{}", "Fits"),  # they go together
        (["{defaultRequest: {cpu: 2}}", "{default: {cpu: 1}}"], "{}", "LimitRangeViolated"),
        (TWO, "{requests: {cpu: 2}}", "LimitRangeViolated"),  # either may be applied first
        (TWO[::-1], "{requests: {cpu: 2}}", "LimitRangeViolated"),
        (TWO, "{}", "Fits"),
        (["{max: {cpu: 2}, default: {cpu: 2}}"], "{limits: {cpu: 4}}", "LimitRangeViolated"),
        (
            ["{max: {cpu: 4}}", "{max: {cpu: 2}}"],
            "{requests: {cpu: 1}, limits: {cpu: 4}}",
            "LimitRangeViolated",
        ),  # all have to be kept
        (["{max: {cpu: 2}}"], "{limits: {cpu: 2}}", "Fits"),
        (["{max: {cpu: 2}}"], "{}", "Fits"),
        (["{max: {cpu: 2}}", "{default: {cpu: 4}}"], "{}", "LimitRangeViolated"),  # the other may be applied first
        (["{max: {nvidia.com/gpu: 0}}"], "{limits: {nvidia.com/gpu: 1}}", "LimitRangeViolated"),
        (["{max: {nvidia.com/gpu: 0}}"], "{}", "Fits"),
        (["{default: {nvidia.com/gpu: 0}, max: {nvidia.com/gpu: 64}}"], "{}", "Fits"),  # and asks for none
        (["{min: {cpu: 2}, defaultRequest: {cpu: 2}}"], "{requests: {cpu: 1}}", "LimitRangeViolated"),
        (["{min: {cpu: 1}}", "{min: {cpu: 2}}"], "{requests: {cpu: 1}}", "LimitRangeViolated"),
        (
            ["{min: {cpu: 2}}", "{defaultRequest: {cpu: 1}}"],
            "{}",
            "LimitRangeViolated",
        ),  # the other may be applied first
        (["{min: {cpu: 2}}"], "{limits: {cpu: 1}}", "LimitRangeViolated"),  # which is the request
        (["{min: {cpu: 2}}"], "{}", "Fits"),
        (["{min: {cpu: 2}}"], "{requests: {cpu: 2}}", "Fits"),
        (["{min: {nvidia.com/gpu: 0}}"], "{}", "Fits"),
        (["{maxLimitRequestRatio: {cpu: 2}}"], "{requests: {cpu: 1}, limits: {cpu: 3}}", "LimitRangeViolated"),
        (["{maxLimitRequestRatio: {cpu: 3}}"], "{requests: {cpu: 1}, limits: {cpu: 3}}", "Fits"),
        (
            ["{maxLimitRequestRatio: {memory: 1.5}}"],
            "{requests: {memory: 1Gi}, limits: {memory: 1740Mi}}",
            "LimitRangeViolated",
        ),
        (["{maxLimitRequestRatio: {cpu: 2}}"], "{}", "LimitRangeViolated"),  # it wants both to be there
        (["{maxLimitRequestRatio: {cpu: 2}, default: {cpu: 4}, defaultRequest: {cpu: 1}}"], "{}", "LimitRangeViolated"),
        (
            [
                "{maxLimitRequestRatio: {cpu: 3}, default: {cpu: 4}, defaultRequest: {cpu: 4}}",
                "{default: {cpu: 2}, defaultRequest: {cpu: 1}}",
            ],
            "{}",
            "Fits",
        ),  # each gives both at once
        (["{type: Pod, max: {cpu: 2}}"], "{limits: {cpu: 3}}", "LimitRangeViolated"),
        (["{type: Pod, max: {cpu: 2}}"], "{limits: {cpu: 2}}", "Fits"),
        (["{type: Pod, max: {cpu: 2}}"], "{}", "LimitRangeViolated"),  # it has no limit, and is given none
        (["{type: Pod, max: {cpu: 2}}", "{default: {cpu: 2}}"], "{}", "Fits"),
        (["{type: Pod, min: {cpu: 2}}"], "{requests: {cpu: 1}}", "LimitRangeViolated"),
        (
            ["{type: Pod, maxLimitRequestRatio: {cpu: 2}}"],
            "{requests: {cpu: 1}, limits: {cpu: 3}}",
            "LimitRangeViolated",
        ),
        (["{type: PersistentVolumeClaim, max: {storage: 1Gi}}"], "{}", "Fits"),
    ],
)
def test_a_plan_and_fit_say_the_same_of_limit_ranges(ranges: list[str], resources: str, answer: str) -> None:
    """The plan by what a snapshot tells of them, and by what people wrote down of the same."""
    text = BARE.replace("RESOURCES", resources)
    items = [thing("LimitRange", f"lr{i}", "x", spec={"limits": [{"type": "Container", **yaml.safe_load(item)}]})
             for i, item in enumerate(ranges)]  # fmt: skip
    value = yaml.safe_load(text)
    value["metadata"]["namespace"] = "x"
    found = judged([value], [machine("n"), *items]).answer
    assert found.why.code == answer
    seen = CapacitySnapshot.model_validate(
        {**yaml.safe_load(snapshot("a", ROOMY)["a.yaml"]), "limitRanges": limit_ranges(items)}
    )
    by_hand = [{"namespace": "x", **yaml.safe_load(item)} for item in ranges if "PersistentVolumeClaim" not in item]
    for story in (
        Story.of(cluster("a"), ANYWHERE, capacity={"a.yaml": snapshot_file(seen).decode()}),
        Story.of(cluster("a", profile=json.dumps({"limitRanges": by_hand})), ANYWHERE, capacity=snapshot("a", ROOMY)),
    ):
        story.source |= {"workloads/x/p.yaml": text}
        [candidate] = decisions(story.run())["x/p"].candidates
        assert candidate.finding.code == answer
        assert candidate.finding.subject.partition(" refuses ")[2] == found.why.message.partition(" refuses ")[2]


def test_a_group_goes_where_no_limit_range_refuses_its_pods_and_the_plan_says_why() -> None:
    limits = "{limitRanges: [{namespace: web, default: {cpu: 1}}]}"
    app = rayservice("web", "api")
    story = Story.of(cluster("a", profile=limits), cluster("b"), ANYWHERE, app,
                     capacity=snapshot("a", ROOMY) | snapshot("b", ROOMY))  # fmt: skip
    done = story.run()
    assert outcome(done) == {"web/api": "Place b Fits"}
    [refused] = [c.finding for c in decisions(done)["web/api"].candidates if c.cluster == "a"]
    assert finding_text(refused) == (
        "a LimitRange of namespace web refuses head: container head gets a limit of 1 cpu, and asks for more"
    )
    story = Story.of(cluster("a", profile=limits), ANYWHERE, app, capacity=snapshot("a", ROOMY))
    assert outcome(story.run()) == {"web/api": "Wait  NoEligibleCluster"}
    story.source |= edited(edited(app, 'requests: {cpu: "2"', 'limits: {cpu: "2"}, requests: {cpu: "2"'),
                           'limits: {nvidia.com/gpu: "1"}', 'limits: {nvidia.com/gpu: "1", cpu: "2"}')  # fmt: skip
    assert outcome(story.run()) == {"web/api": "Place a Fits"}
    story.source |= app
    story.source |= cluster("a", profile=limits.replace("web", "other"))
    assert outcome(story.run())["web/api"].startswith(("Keep a", "Update a"))


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ("{min: {cpu: 300m}}", "worker/gpu: container wait-gcs-ready has 200m cpu, and the least is 300m"),
        ("{min: {memory: 250Mi}}", "submitter: container ray-job-submitter has 200Mi memory, and the least is 250Mi"),
        ("{max: {cpu: 700m}}", "submitter: container ray-job-submitter has 1 cpu, and the most is 700m"),
        ("{max: {cpu: 400m}}", "head: container autoscaler has 500m cpu, and the most is 400m"),
        ("{min: {memory: 1Gi}, max: {nvidia.com/gpu: 8}}", "head: container autoscaler has 512Mi memory, and the least is 1Gi"),
        ("{min: {cpu: 200m, memory: 200Mi}, max: {cpu: 8, memory: 8Gi, nvidia.com/gpu: 8}}", ""),
    ],
)  # fmt: skip
def test_what_kuberay_adds_has_to_keep_limit_ranges_too(limits: str, why: str) -> None:
    """Nobody wrote these containers, and the API server refuses the pods that have them: the job goes elsewhere."""
    app = edited(rayjob("web", "train", cpu="300m"), "Spec:\n", "Spec:\n    enableInTreeAutoscaling: true\n")
    ranges = json.dumps([{"namespace": "web", **yaml.safe_load(limits)}])
    capacity = snapshot("a", ROOMY, more=f"limitRanges: {ranges}\n") | snapshot("b", ROOMY)
    done = Story.of(cluster("a"), cluster("b"), ANYWHERE, app, capacity=capacity).run()
    assert outcome(done) == {"web/train": "Place b Fits"}
    refused = [
        finding_text(c.finding) for c in decisions(done)["web/train"].candidates if c.finding.code is Reason.LIMIT_RANGE
    ]
    assert refused == ([f"a LimitRange of namespace web refuses {why}"] if why else [])
    assert "InvalidResources" not in {problem.code for problem in done.problems}


MAIN = "[{name: main, image: x, resources: {requests: {cpu: 2}}}]"
TEAM = "select: {paths: ['workloads/**']}\ngroupBy: {label: team}\n"


def limiting(item: str, path: str, team: str = "{}", name: str = "lr") -> dict[str, str]:
    text = f"apiVersion: v1\nkind: LimitRange\nmetadata: {{name: {name}, namespace: web, labels: {team}}}\n"
    return {path: f"{text}spec: {{limits: [{{type: Container, {item}}}]}}\n"}


def a_pod(name: str, team: str, containers: str = MAIN) -> dict[str, str]:
    text = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {team}}}\nspec: {{containers: {containers}}}\n"
    )
    return {f"workloads/web/{name}.yaml": text}


ONE = "max: {cpu: 1}"
REFUSED = re.compile("a LimitRange of namespace web refuses pod: container main has [24] cpu, and the most is 1")
BESIDE = limiting(ONE, "workloads/web/lr.yaml", "{team: one}")
IN_PLATFORM = limiting(ONE, "platform/web/lr.yaml")


@pytest.mark.parametrize(
    ("files", "of_it", "more", "outcomes"),
    [
        # in the group of the pod, or another one of its namespace
        ({}, "{}", "", "Place a Fits"),
        (BESIDE, "{}", "", "Wait  NoEligibleCluster"),
        (limiting("max: {cpu: 2}, default: {cpu: 2}", "workloads/web/lr.yaml", "{team: one}"), "{}", "", "Place a Fits"),
        (limiting("defaultRequest: {memory: 300Gi}", "workloads/web/lr.yaml", "{team: one}"), "{}", "", "Wait  NoClusterFits"),
        (limiting(ONE, "workloads/web/lr.yaml", "{team: two}") | a_pod("other", "{team: two}", "[{name: x, image: x}]"), "{}", "",
         "Wait  NoEligibleCluster"),
        (limiting(ONE, "workloads/web/lr.yaml"), "{}", "", "Place a Fits"),  # it is in no group, so nobody deploys it
        # in the platform, where its policy says
        (IN_PLATFORM, "{}", "", "Wait  NoEligibleCluster"),
        (IN_PLATFORM, "{names: [b]}", "", "Place a Fits"),
        (IN_PLATFORM, "{names: [a]}", "", "Place b Fits"),
        # of one that a snapshot tells of too the source knows what it will be
        ({}, "{}", "limitRanges: [{namespace: web, name: lr, max: {cpu: 1}}]\n", "Place b Fits"),
        (limiting("max: {cpu: 4}", "platform/web/lr.yaml"), "{}", "limitRanges: [{namespace: web, name: lr, max: {cpu: 1}}]\n", "Place a Fits"),
        (limiting("max: {cpu: 4}", "platform/web/lr.yaml"), "{}", "limitRanges: [{namespace: web, name: other, max: {cpu: 1}}]\n", "Place b Fits"),
        (limiting("max: {cpu: 4}", "platform/web/lr.yaml"), "{}", "limitRanges: [{namespace: web, max: {cpu: 1}}]\n", "Place b Fits"),
    ],
)  # fmt: skip
def test_a_limit_range_of_the_source_counts_where_it_may_come(
    files: dict[str, str], of_it: str, more: str, outcomes: str
) -> None:
    platform = policy(
        "platform", f"select: {{paths: ['platform/**']}}\nprecedence: 1\nclusters: {of_it}\nplacement: {{copies: All}}"
    )
    story = Story.of(
        cluster("a"), cluster("b"), policy("p", TEAM), platform, a_pod("p", "{team: one}"), files,
        capacity=snapshot("a", "n1 64 256Gi", more=more) | snapshot("b", "n1 64 256Gi"),
    )  # fmt: skip
    done = story.run()
    assert outcome(done)["web/one"] == outcomes
    said = {
        finding_text(c.finding) for c in decisions(done)["web/one"].candidates if c.finding.code is Reason.LIMIT_RANGE
    }
    assert all(map(REFUSED.fullmatch, said))


OF_LIMITS = """\
apiVersion: gitplacer.dev/v1alpha1
kind: OverridePolicy
metadata: {name: limits}
spec:
  select: {kinds: [LimitRange]}
  clusters: {names: [b]}
  overrides: [{op: replace, path: /spec/limits/0/max/cpu, value: "4"}]
"""


def test_a_limit_range_of_the_source_counts_as_overrides_make_it() -> None:
    platform = policy("platform", "select: {paths: ['platform/**']}\nprecedence: 1\nplacement: {copies: All}")
    story = Story.of(
        cluster("a"), cluster("b"), policy("p", TEAM), platform, a_pod("p", "{team: one}"), IN_PLATFORM,
        capacity=snapshot("a", "n1 64 256Gi") | snapshot("b", "n1 64 256Gi"),
    )  # fmt: skip
    assert outcome(story.run())["web/one"] == "Wait  NoEligibleCluster"
    story.source |= {"overrides/limits.yaml": OF_LIMITS}
    assert outcome(story.run())["web/one"] == "Place b Fits"


def test_what_runs_is_not_moved_because_a_limit_range_would_refuse_it() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("web", "api"), capacity=snapshot("a", ROOMY))
    story.run()
    story.source |= cluster("b") | cluster("a", profile="{limitRanges: [{namespace: web, default: {cpu: 1}}]}")
    story.capacity |= snapshot("b", ROOMY)
    assert outcome(story.run()) == {"web/api": "Keep a Kept"}


@pytest.mark.parametrize(
    ("update", "decided"),
    [("{ifNotFit: Hold}", "Hold a UpdateHeld"), ("{ifNotFit: Proceed}", "Update a UpgradeDoesNotFit")],
)
@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("default: {cpu: 3}", "gets a limit of 3 cpu, and asks for more"),
        ("max: {cpu: 3}", "has 4 cpu, and the most is 3"),
    ],
)
def test_an_edit_whose_pods_a_limit_range_refuses_does_not_fit(item: str, why: str, update: str, decided: str) -> None:
    limits = cluster("a", profile=f"{{limitRanges: [{{namespace: web, {item}}}]}}")
    rule = policy("p", f"select: {{}}\nupdate: {update}")
    app = rayservice("web", "api")
    story = Story.of(limits, rule, app, capacity=snapshot("a", ROOMY))
    assert outcome(story.run()) == {"web/api": "Place a Fits"}
    story.source |= edited(app, 'cpu: "2", memory: 4Gi', 'cpu: "4", memory: 4Gi')
    done = story.run()
    assert outcome(done) == {"web/api": decided}
    assert f"a LimitRange of namespace web refuses worker/gpu: container worker {why}" in finding_text(
        decisions(done)["web/api"].finding
    )
    story.source |= edited(app, "image: ray,", "image: ray:2,")
    assert outcome(story.run()) == {"web/api": "Update a UpgradeFits"}


def test_a_deployment_whose_new_pods_a_limit_range_refuses_is_outgrown() -> None:
    limits = cluster("a", profile="{limitRanges: [{namespace: web, default: {cpu: 3}}]}")
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 4\n  selector: {matchLabels: {a: d}}\n"
        "  template: {metadata: {labels: {a: d}}, spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}}\n"
    )
    story = Story.of(limits, ANYWHERE, {"workloads/web/d.yaml": text}, capacity=snapshot("a", ROOMY))
    assert outcome(story.run()) == {"web/d": "Place a Fits"}
    story.source |= edited({"workloads/web/d.yaml": text}, "cpu: 2", "cpu: 4")
    done = story.run()
    assert outcome(done)["web/d"].endswith(" a Outgrown")
    assert "a LimitRange of namespace web refuses pod:" in finding_text(decisions(done)["web/d"].finding)


CAREFUL = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}"
ANEW = "strategy: {type: Recreate}"


@pytest.mark.parametrize(("kind", "more", "resources", "outcome_of"), [
    ("StatefulSet", "serviceName: s", "requests: {cpu: 1}, limits: {cpu: 3}", ("Hold", "has 3 cpu, and the most is 2")),
    ("StatefulSet", "serviceName: s", "requests: {cpu: 100m}, limits: {cpu: 1}", ("Hold", "has 100m cpu, and the least is 500m")),
    ("StatefulSet", "serviceName: s", "requests: {cpu: 600m}, limits: {cpu: 1}", None),
    ("Deployment", ANEW, "requests: {cpu: 1}, limits: {cpu: 3}", ("Hold", "has 3 cpu, and the most is 2")),
    ("Deployment", ANEW, "requests: {cpu: 100m}, limits: {cpu: 1}", ("Hold", "has 100m cpu, and the least is 500m")),
    ("Deployment", CAREFUL, "requests: {cpu: 1}, limits: {cpu: 3}", ("Hold", "has 3 cpu, and the most is 2")),
    ("Deployment", CAREFUL, "requests: {cpu: 600m}, limits: {cpu: 1}", None),
    ("RayCluster", "upgradeStrategy: {type: Recreate}", "requests: {cpu: 1}, limits: {cpu: 3}", ("Hold", "has 3 cpu, and the most is 2")),
    ("RayCluster", "upgradeStrategy: {type: None}", "requests: {cpu: 1}, limits: {cpu: 3}", None),  # KubeRay leaves its pods alone
])  # fmt: skip
def test_an_edit_that_puts_refused_pods_in_the_place_of_those_that_run_does_not_fit(
    kind: str, more: str, resources: str, outcome_of: tuple[str, str] | None
) -> None:
    """Also where it asks for no more room than the pods that run."""
    limits = cluster("a", profile="{limitRanges: [{namespace: web, min: {cpu: 500m}, max: {cpu: 2}}]}")
    app = running(kind, more, "requests: {cpu: 1}, limits: {cpu: 1}")
    story = Story.of(limits, policy("p", "select: {}\nupdate: {ifNotFit: Hold}"), app, capacity=snapshot("a", ROOMY))
    assert outcome(story.run()) == {"web/d": "Place a Fits"}
    story.source |= running(kind, more, resources)
    done = story.run()
    if outcome_of is None:
        assert outcome(done) == {"web/d": "Update a Updated"}
        return
    action, why = outcome_of
    assert outcome(done) == {"web/d": f"{action} a UpdateHeld"}
    said = finding_text(decisions(done)["web/d"].finding)
    assert "this edit asks for other pods on a" in said and why in said


def running(kind: str, more: str, resources: str) -> dict[str, str]:
    """Equal pods of some controller; `more` is of its spec."""
    if kind != "RayCluster":
        return deployment("web", "d", resources, replicas=4, kind=kind, more=more)
    pod = f"spec: {{containers: [{{name: main, image: x, resources: {{{resources}}}}}]}}"
    head = f"headGroupSpec: {{rayStartParams: {{}}, template: {{{pod}}}}}"
    text = f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: d}}\nspec:\n  {more}\n  {head}\n"
    return {"workloads/web/d.yaml": text}

"""Fields of Ray specs with a value of a type that the API server refuses: each is told once, with what to write instead."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from gitplacer import rules, workloads
from gitplacer.documents import Document, parse
from gitplacer.problems import Problem, Severity
from gitplacer.rules.fieldtypes import OF_CLUSTER, OF_CRON_JOB, OF_GROUP, OF_HEAD, OF_JOB, OF_SERVICE, Types
from gitplacer.workloads import rayfields
from tests.test_rules_cluster import nested

POD = {
    "spec": {"containers": [{"name": "ray", "image": "ray", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}
}


def sound(kind: str, version: str = "v1") -> dict[str, Any]:
    """An object with which nothing is wrong."""
    cluster = {
        "headGroupSpec": {"rayStartParams": {}, "template": POD},
        "workerGroupSpecs": [
            {"groupName": "gpu", "replicas": 1, "maxReplicas": 1, "rayStartParams": {}, "template": POD}
        ],
    }
    return json.loads(json.dumps(nested(kind, cluster, version)))


def put(value: dict[str, Any], path: str, written: Any) -> dict[str, Any]:
    """The object with something written at a path of its spec, such as workerGroupSpecs.0.replicas."""
    at: Any = value["spec"]
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    at[last] = written
    return value


def found(value: dict[str, Any]) -> list[Problem]:
    """What sizing and the rules say of types, each thing once, as the source has it."""
    data = json.dumps(value, indent=1).encode()
    [item] = parse(data).documents
    document = Document("x.yaml", item, 0, lambda: data)
    problems = {*rules.check(document), *workloads.read(document)[1]}
    return sorted(problem for problem in problems if problem.code == "WrongType")


BLOCK = "write it as a block of text: {}: | and below it, indented, what is there now"
QUOTES, NO_QUOTES = "put it in quotes", "remove the quotes"
WORKER = "workerGroupSpecs.0.template.spec"
SLIPS = [
    ("RayService", "serveConfigV2: {applications: []}", "is a mapping, not text", BLOCK.format("serveConfigV2")),
    ("RayService", "serveConfigV2: []", "is a list, not text", BLOCK.format("serveConfigV2")),
    ("RayService", "serveConfigV2: 1", "is the number 1, not text", QUOTES),
    ("RayService", 'serviceUnhealthySecondThreshold: "900"', "is text, not a whole number", NO_QUOTES),
    ("RayService", 'deploymentUnhealthySecondThreshold: "300"', "is text, not a whole number", NO_QUOTES),
    ("RayService", "deploymentUnhealthySecondThreshold: true", "is true, not a whole number", ""),
    ("RayService", 'excludeHeadPodFromServeSvc: "false"', "is text, not true or false", NO_QUOTES),
    ("RayService", 'rayClusterDeletionDelaySeconds: "60"', "is text, not a whole number", NO_QUOTES),
    ("RayService", "rayClusterConfig.rayVersion: 2.10", "is the number 2.1, not text", QUOTES),
    ("RayCluster", "rayVersion: 2.10", "is the number 2.1, not text", QUOTES),
    ("RayCluster", 'headGroupSpec.enableIngress: "true"', "is text, not true or false", NO_QUOTES),
    ("RayCluster", "headGroupSpec.enableIngress: 1", "is the number 1, not true or false", ""),
    ("RayCluster", "headGroupSpec.serviceType: [NodePort]", "is a list, not text", ""),
    ("RayCluster", "headGroupSpec.ingressOptions.host: 7", "is the number 7, not text", QUOTES),
    ("RayCluster", 'enableInTreeAutoscaling: "true"', "is text, not true or false", NO_QUOTES),
    ("RayCluster", 'workerGroupSpecs.0.replicas: "3"', "is text, not a whole number", NO_QUOTES),
    ("RayCluster", "workerGroupSpecs.0.replicas: 2.5", "is the number 2.5, not a whole number", ""),
    ("RayCluster", "autoscalerOptions.image: {tag: a}", "is a mapping, not text", ""),
    ("RayCluster", "autoscalerOptions.args: [1]", "args[0] is the number 1, not text", QUOTES),
    ("RayCluster", "autoscalerOptions: all", "is text, not a mapping", ""),
    ("RayCluster", "gcsFaultToleranceOptions.redisPassword.value: 123", "is the number 123, not text", QUOTES),
    ("RayCluster", "headServiceAnnotations: {public: true}", "headServiceAnnotations.public is true, not text", QUOTES),
    ("RayCluster", f"{WORKER}.containers.0.resources.limits: {{cpu: 1.5}}", "limits.cpu is the number 1.5, not text or a whole number", QUOTES),
    ("RayService", f"rayClusterConfig.{WORKER}.initContainers: [{{name: a, image: a, resources: {{requests: {{cpu: 0.1}}}}}}]",
     "requests.cpu is the number 0.1, not text or a whole number", QUOTES),
    ("RayCluster", f"{WORKER}.resources.requests: {{cpu: 2.5}}", "template.spec.resources.requests.cpu is the number 2.5, not text or a whole number", QUOTES),
    ("RayCluster", f"{WORKER}.volumes: [{{name: a, emptyDir: {{sizeLimit: 0.5}}}}]", "emptyDir.sizeLimit is the number 0.5, not text or a whole number", QUOTES),
    ("RayCluster", f"{WORKER}.volumes: [{{name: a, ephemeral: {{volumeClaimTemplate: {{spec: {{resources: {{requests: {{storage: 1.5}}}}}}}}}}}}]",
     "requests.storage is the number 1.5, not text or a whole number", QUOTES),
    ("RayCluster", "autoscalerOptions.resources.limits: {cpu: 0.5}", "limits.cpu is the number 0.5, not text or a whole number", QUOTES),
    ("RayCluster", "gcsFaultToleranceOptions.storage.size: 0.5", "storage.size is the number 0.5, not text or a whole number", QUOTES),
    ("RayJob", "submitterPodTemplate.spec: {restartPolicy: Never, containers: [{name: a, image: a, resources: {requests: {cpu: 0.5}}}]}",
     "requests.cpu is the number 0.5, not text or a whole number", QUOTES),
    ("RayJob", "runtimeEnvYAML: {pip: [torch]}", "is a mapping, not text", BLOCK.format("runtimeEnvYAML")),
    ("RayJob", "entrypoint: [python, a.py]", "is a list, not text", ""),
    ("RayJob", "entrypointResources: {gpu: 1}", "is a mapping, not text", "write it as text in quotes: entrypointResources: '{\"name\": 1}'"),
    ("RayJob", 'entrypointNumCpus: "0.5"', "is text, not a number", NO_QUOTES),
    ("RayJob", "metadata: {run: 7}", "metadata.run is the number 7, not text", QUOTES),
    ("RayJob", 'shutdownAfterJobFinishes: "true"', "is text, not true or false", NO_QUOTES),
    ("RayJob", 'submitterConfig.backoffLimit: "2"', "is text, not a whole number", NO_QUOTES),
    ("RayCronJob", "jobTemplate.jobId: 7", "is the number 7, not text", QUOTES),
    ("RayCronJob", "jobTemplate.rayClusterSpec.rayVersion: 2.10", "is the number 2.1, not text", QUOTES),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "slip", "said", "hint"), SLIPS)
def test_a_field_of_the_wrong_type_is_an_error_that_says_how_to_mend_it(
    kind: str, slip: str, said: str, hint: str
) -> None:
    [(path, written)] = yaml.safe_load(slip).items()
    [problem] = found(put(sound(kind), path, written))
    assert problem.message.startswith("spec.") and problem.message.endswith(said)
    assert (problem.hint, problem.severity) == (hint, Severity.ERROR)
    assert problem.location.line > 1


PLACES: Mapping[str, tuple[tuple[str, Types], ...]] = {
    "RayCluster": (("", OF_CLUSTER), ("headGroupSpec.", OF_HEAD), ("workerGroupSpecs.0.", OF_GROUP)),
    "RayJob": (("", OF_JOB), ("rayClusterSpec.", OF_CLUSTER)),
    "RayService": (("", OF_SERVICE), ("rayClusterConfig.headGroupSpec.", OF_HEAD)),
    "RayCronJob": (
        ("", OF_CRON_JOB),
        ("jobTemplate.", OF_JOB),
        ("jobTemplate.rayClusterSpec.", OF_CLUSTER),
    ),
}


def leaves(types: Types, before: str = "") -> Iterator[str]:
    for key, wanted in types.items():
        if isinstance(wanted, Mapping):
            yield from leaves(wanted, f"{before}{key}.")
        else:
            yield before + key


EVERY = [(kind, path) for kind, tables in PLACES.items() for at, types in tables for path in leaves(types, at)]


@pytest.mark.parametrize("kind", sorted(PLACES))
def test_every_field_of_the_tables_is_told_once_and_null_is_none(kind: str) -> None:
    assert found(sound(kind)) == []
    for path in (path for of, path in EVERY if of == kind):
        assert len(found(put(sound(kind), path, {"a": [{}]}))) == 1, path
        assert found(put(sound(kind), path, None)) == [], path


READ_ELSEWHERE = {
    "deletionStrategy", "env", "envFrom", "headGroupSpec", "headService", "jobTemplate", "rayClusterConfig", "rayClusterSpec",
    "securityContext", "serveService", "submitterPodTemplate", "template", "volumeMounts", "workerGroupSpecs",
}  # fmt: skip
"""Fields that are mappings or lists with types of their own."""


@pytest.mark.parametrize(
    ("fields", "types"),
    [
        (rayfields.CLUSTER, OF_CLUSTER),
        (rayfields.HEAD, OF_HEAD),
        (rayfields.GROUP, OF_GROUP),
        ({*rayfields.AUTOSCALER} - {"resources"}, OF_CLUSTER["autoscalerOptions"]),
        (rayfields.JOB, OF_JOB),
        (rayfields.SERVICE, OF_SERVICE),
        (rayfields.CRON_JOB, OF_CRON_JOB),
    ],
)
def test_no_field_that_is_known_is_without_a_type(fields: Any, types: Any) -> None:
    assert {*fields} - READ_ELSEWHERE == {*types}


OLD = [
    ("RayCluster", "rayVersion", True),
    ("RayCluster", "headGroupSpec.enableIngress", True),
    ("RayCluster", "autoscalerOptions.image", True),
    ("RayCluster", "autoscalerOptions.version", False),
    ("RayCluster", "authOptions.mode", False),
    ("RayCluster", "headGroupSpec.ingressOptions.host", False),
    ("RayCluster", "workerGroupSpecs.0.priority", False),
    ("RayJob", "runtimeEnvYAML", True),
    ("RayJob", "backoffLimit", False),
    ("RayService", "serveConfigV2", True),
    ("RayService", "serviceUnhealthySecondThreshold", True),
    ("RayService", "excludeHeadPodFromServeSvc", False),
]


@pytest.mark.parametrize(("kind", "path", "kept"), OLD)
def test_what_v1alpha1_drops_may_be_of_any_type(kind: str, path: str, kept: bool) -> None:
    assert len(found(put(sound(kind, "v1alpha1"), path, [{}]))) == kept


RIGHT = [
    ("RayService", "serveConfigV2", "applications: []\n"),
    ("RayService", "serviceUnhealthySecondThreshold", 900),
    ("RayCluster", "rayVersion", "2.10"),
    ("RayCluster", "headGroupSpec.enableIngress", False),
    ("RayJob", "entrypointNumCpus", 0.5),
    ("RayJob", "entrypointNumGpus", 1),
    ("RayJob", "entrypointResources", '{"a": 1}'),
    ("RayJob", "metadata", {}),
    (
        "RayCluster",
        f"{WORKER}.containers.0.resources",
        {"requests": {"cpu": "0.5", "memory": 1.5e9}, "limits": {"cpu": 1, "memory": "2.5Gi"}},
    ),
]


@pytest.mark.parametrize(("kind", "path", "written"), RIGHT)
def test_what_the_api_server_takes_is_not_told(kind: str, path: str, written: Any) -> None:
    assert found(put(sound(kind), path, written)) == []


# What ConfigMaps and Secrets hold


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("ConfigMap", "data: {port: 8000, name: a}", ["data.port is a number, not text"]),
        ("ConfigMap", "data: {debug: true, level: 1.5}", ["data.debug is true or false, not text", "data.level is a number, not text"]),
        ("ConfigMap", "data: {app.yaml: {replicas: 1}}", ["data.app.yaml is a mapping, not text"]),
        ("ConfigMap", "data: [a]", ["data is a list, not a mapping"]),
        ("ConfigMap", "binaryData: {a: 1}", ["binaryData.a is a number, not text"]),
        ("Secret", "stringData: {pin: 1234}", ["stringData.pin is a number, not text"]),
        ("ConfigMap", 'data: {port: "8000", none: null, empty: ""}', []),
        ("ConfigMap", "stringData: {pin: 1234}", []),  # a field of Secrets
        ("ConfigMap", "{}", []),
    ],
)  # fmt: skip
def test_what_a_config_map_or_a_secret_holds_is_text(kind: str, fields: str, said: list[str]) -> None:
    value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, **yaml.safe_load(fields)}
    assert [problem.message for problem in found(value)] == said


def test_a_kind_of_the_same_name_in_another_group_holds_what_it_likes() -> None:
    value = {"apiVersion": "example.com/v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": 1}}
    assert found(value) == []

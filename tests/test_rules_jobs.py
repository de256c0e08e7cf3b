"""
What KubeRay and Kueue refuse of RayJobs, RayCronJobs and RayServices, and what goes wrong with them under GitOps.

Each table has a row for each rule of KubeRay's ray-operator/controllers/ray/utils/validation.go: what is written over a
sound manifest, and which problems that makes, at which lines. A row of a rule that is gone fails.
"""

from __future__ import annotations

import inspect
import json
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import rules, workloads
from gitplacer.documents import Document, dotted, dump, parse
from gitplacer.problemcodes import CODES, gitops, rayjobs
from gitplacer.problems import Severity
from gitplacer.rules import cron, deletion, kueue, managedby, raycronjob, rayjob, rayservice, upgrades
from gitplacer.rules.duration import nanoseconds
from gitplacer.rules.fluxvariables import variables
from gitplacer.rules.sops import is_sops
from gitplacer.rules.timezones import TIME_ZONES

MODULES = (rayjob, deletion, rayservice, raycronjob, upgrades, managedby, kueue)
OURS = {
    *rayjobs.CODES,
    *gitops.CODES,
    "MissingField",
    "InvalidValue",
    "InvalidRestartPolicy",
    "RefusedPod",
    "UnknownVolume",
}

POD = {
    "spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.52.0", "resources": {"requests": {"cpu": "1"}}}]}
}
CLUSTER = {
    "rayVersion": "2.52.0",
    "headGroupSpec": {"rayStartParams": {}, "template": POD},
    "workerGroupSpecs": [
        {"groupName": "gpu", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "rayStartParams": {}, "template": POD}
    ],
}
JOB = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": CLUSTER}
SPECS: dict[str, dict[str, Any]] = {
    "RayCluster": CLUSTER,
    "RayJob": JOB,
    "RayService": {"rayClusterConfig": CLUSTER},
    "RayCronJob": {"schedule": "0 3 * * *", "jobTemplate": {**JOB, "activeDeadlineSeconds": 50}},
}


def over(base: Any, patch: Any) -> Any:
    """The base with the patch written over it; mappings are joined, null takes a key away."""
    if not isinstance(base, dict) or not isinstance(patch, dict):
        return patch
    joined = {key: over(base[key], patch[key]) if key in patch else base[key] for key in base}
    joined |= {key: value for key, value in patch.items() if key not in base}
    return {key: value for key, value in joined.items() if value is not None}


def manifest(kind: str, spec: str | dict[str, Any] = "{}", metadata: str = "{}", version: str = "v1") -> dict[str, Any]:
    patch = yaml.safe_load(spec) if isinstance(spec, str) else spec
    return {
        "apiVersion": f"ray.io/{version}",
        "kind": kind,
        "metadata": over({"name": "train"}, yaml.safe_load(metadata)),
        "spec": over(SPECS[kind], patch),
    }


def document(value: dict[str, Any]) -> tuple[Document, list[str]]:
    data = dump(value)
    (parsed,) = parse(data).documents
    return Document("train.yaml", parsed, 0, lambda: data), data.decode().splitlines()


def told(value: dict[str, Any]) -> list[tuple[str, str]]:
    """Codes, each with the line that it points at."""
    found, lines = document(value)
    problems = {*rules.check(found), *workloads.read(found)[1]}
    for problem in problems & set(rules.check(found)):
        assert problem.severity is CODES[problem.code].severity
    return sorted((p.code, lines[p.location.line - 1].strip(" -")) for p in problems if p.code in OURS)


def rows(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """A table: blocks of a patch, then lines `=> Code: the line it points at`; without one, the patch is sound."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        patch = "\n".join(line for line in lines if not line.startswith("=>"))
        expected = [line.removeprefix("=> ").split(": ", 1) for line in lines if line.startswith("=>")]
        found.append((patch, sorted((code, line) for code, line in expected)))
    return found


# RayJob

JOB_ROWS = rows("""
entrypoint: python train.py

# neither rayClusterSpec nor clusterSelector
rayClusterSpec: null
=> MissingField: spec:

# clusterSelector names no cluster
rayClusterSpec: null
clusterSelector: {ray.io/cluster: ""}
=> MissingField: clusterSelector:

rayClusterSpec: null
clusterSelector: {team: a}
=> MissingField: clusterSelector:

# both are accepted; the selector wins
clusterSelector: {ray.io/cluster: shared}

# clusterSelector with SidecarMode, backoffLimit, suspend, DeleteCluster, DeleteWorkers
clusterSelector: {ray.io/cluster: shared}
submissionMode: SidecarMode
=> NotItsOwnCluster: submissionMode: SidecarMode

clusterSelector: {ray.io/cluster: shared}
backoffLimit: 1
=> NotItsOwnCluster: backoffLimit: 1

clusterSelector: {ray.io/cluster: shared}
backoffLimit: 0

clusterSelector: {ray.io/cluster: shared}
suspend: true
=> NotItsOwnCluster: suspend: true

rayClusterSpec: null
shutdownAfterJobFinishes: false
clusterSelector: {ray.io/cluster: shared}
deletionStrategy: {deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]}
=> NotItsOwnCluster: policy: DeleteCluster

clusterSelector: {ray.io/cluster: shared}
shutdownAfterJobFinishes: false
deletionStrategy: {onSuccess: {policy: DeleteWorkers}, onFailure: {policy: DeleteNone}}
=> NotItsOwnCluster: policy: DeleteWorkers

# suspend without shutdownAfterJobFinishes
suspend: true

suspend: true
shutdownAfterJobFinishes: false
=> SuspendWithoutShutdown: suspend: true
=> KeepsRayCluster: shutdownAfterJobFinishes: false

# ttlSecondsAfterFinished
ttlSecondsAfterFinished: 60

ttlSecondsAfterFinished: -1
=> NumberOutOfRange: ttlSecondsAfterFinished: -1

ttlSecondsAfterFinished: 60
shutdownAfterJobFinishes: false
=> InvalidDeletion: ttlSecondsAfterFinished: 60
=> KeepsRayCluster: shutdownAfterJobFinishes: false

# InteractiveMode
submissionMode: InteractiveMode

submissionMode: InteractiveMode
backoffLimit: 2
=> SubmissionModeConflict: backoffLimit: 2

# SidecarMode
submissionMode: SidecarMode

submissionMode: SidecarMode
submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: submitter, image: ray}]}}
=> SubmissionModeConflict: submitterPodTemplate:

submissionMode: SidecarMode
submitterConfig: {backoffLimit: 1}
=> SubmissionModeConflict: submitterConfig:

submissionMode: SidecarMode
rayClusterSpec: {headGroupSpec: {template: {spec: {restartPolicy: Always}}}}
=> SubmissionModeConflict: restartPolicy: Always

submissionMode: SidecarMode
rayClusterSpec: {headGroupSpec: {template: {spec: {restartPolicy: Never}}}}

submissionMode: K8sJobMode
rayClusterSpec: {headGroupSpec: {template: {spec: {restartPolicy: Always}}}}

# the pod of the submitter's Job is not restarted always, and that is the default
submitterPodTemplate: {spec: {containers: [{name: submitter, image: ray}]}}
=> InvalidRestartPolicy: spec:

submissionMode: K8sJobMode
submitterPodTemplate: {spec: {restartPolicy: Always, containers: [{name: submitter, image: ray}]}}
=> InvalidRestartPolicy: restartPolicy: Always

submitterPodTemplate: {spec: {restartPolicy: "", containers: [{name: submitter, image: ray}]}}
=> InvalidRestartPolicy: restartPolicy: ""

clusterSelector: {ray.io/cluster: shared}
submitterPodTemplate: {spec: {containers: [{name: submitter, image: ray}]}}
=> InvalidRestartPolicy: spec:

submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: submitter, image: ray}]}}

submitterPodTemplate: {spec: {restartPolicy: OnFailure, containers: [{name: submitter, image: ray}]}}

# a volume that the submitter does not have
submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: submitter, image: ray, volumeMounts: [{name: shared-mem, mountPath: /a}]}]}}
=> UnknownVolume: name: shared-mem

# a name that no container may have
submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: ray_submitter, image: ray}]}}
=> RefusedPod: name: ray_submitter

submissionMode: HTTPMode
submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: submitter, image: ray, volumeMounts: [{name: code, mountPath: /a}]}]}}

submissionMode: HTTPMode
submitterPodTemplate: {spec: {containers: [{name: submitter, image: ray}]}}

submissionMode: InteractiveMode
submitterPodTemplate: {spec: {restartPolicy: Always, containers: [{name: submitter, image: ray}]}}

submissionMode: ByPigeon
=> InvalidValue: submissionMode: ByPigeon

# runtimeEnvYAML
runtimeEnvYAML: "pip: [torch]"

runtimeEnvYAML: ""

runtimeEnvYAML: "{}"

runtimeEnvYAML: "a: 1"

runtimeEnvYAML: "pip: [torch"
=> InvalidRuntimeEnv: runtimeEnvYAML: 'pip: [torch'

runtimeEnvYAML: torch
=> InvalidRuntimeEnv: runtimeEnvYAML: torch

runtimeEnvYAML: "env_vars: {DEBUG: '1', HOME: /root}"

runtimeEnvYAML: "env_vars: {}"

runtimeEnvYAML: "env_vars:"

# Ray refuses variables that are no texts
runtimeEnvYAML: "env_vars: {DEBUG: 1}"
=> InvalidRuntimeEnv: runtimeEnvYAML: 'env_vars: {DEBUG: 1}'

runtimeEnvYAML: "env_vars: {DEBUG: yes}"
=> InvalidRuntimeEnv: runtimeEnvYAML: 'env_vars: {DEBUG: yes}'

runtimeEnvYAML: "env_vars: {DEBUG: }"
=> InvalidRuntimeEnv: runtimeEnvYAML: 'env_vars: {DEBUG: }'

runtimeEnvYAML: "env_vars: [{name: DEBUG, value: a}]"
=> InvalidRuntimeEnv: runtimeEnvYAML: 'env_vars: [{name: DEBUG, value: a}]'

runtimeEnvYAML: "[torch]"
=> InvalidRuntimeEnv: runtimeEnvYAML: '[torch]'

runtimeEnvYAML: "pip: *packages"
=> InvalidRuntimeEnv: runtimeEnvYAML: 'pip: *packages'

# deadlines, retries
activeDeadlineSeconds: 1
preRunningDeadlineSeconds: 1
backoffLimit: 0

activeDeadlineSeconds: 0
=> NumberOutOfRange: activeDeadlineSeconds: 0

preRunningDeadlineSeconds: 0
=> NumberOutOfRange: preRunningDeadlineSeconds: 0

backoffLimit: -1
=> NumberOutOfRange: backoffLimit: -1

# entrypoint
entrypoint: null
=> NoEntrypoint: spec:

entrypoint: "  "
submissionMode: HTTPMode
=> NoEntrypoint: entrypoint: '  '

entrypoint: null
submissionMode: SidecarMode
=> NoEntrypoint: spec:

entrypoint: null
submissionMode: InteractiveMode

entrypoint: null
submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: submitter, image: ray, command: [sh, submit.sh]}]}}

entrypoint: null
submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: submitter, image: ray}]}}
=> NoEntrypoint: spec:

# deletionStrategy: empty
deletionStrategy: {}
=> InvalidDeletion: deletionStrategy: {}

deletionStrategy: {deletionRules: []}
=> InvalidDeletion: deletionStrategy:

# rules together with shutdownAfterJobFinishes, or with the old fields
deletionStrategy: {deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]}
=> InvalidDeletion: deletionRules:

shutdownAfterJobFinishes: false
deletionStrategy:
  onSuccess: {policy: DeleteCluster}
  onFailure: {policy: DeleteCluster}
  deletionRules: [{policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED}}]
=> InvalidDeletion: deletionRules:

# the old fields: one of them alone, without a policy, DeleteNone and shutdownAfterJobFinishes
deletionStrategy: {onSuccess: {policy: DeleteCluster}, onFailure: {policy: DeleteCluster}}

deletionStrategy: {onSuccess: {policy: DeleteCluster}}
=> InvalidDeletion: deletionStrategy:

deletionStrategy: {onFailure: {policy: DeleteCluster}}
=> InvalidDeletion: deletionStrategy:

deletionStrategy: {onSuccess: {}, onFailure: {policy: DeleteCluster}}
=> MissingField: onSuccess: {}

deletionStrategy: {onSuccess: {policy: DeleteCluster}, onFailure: {policy: DeleteNone}}
=> InvalidDeletion: policy: DeleteNone

shutdownAfterJobFinishes: false
deletionStrategy: {onSuccess: {policy: DeleteCluster}, onFailure: {policy: DeleteNone}}

# DeleteWorkers with the autoscaler
shutdownAfterJobFinishes: false
rayClusterSpec: {enableInTreeAutoscaling: true}
deletionStrategy:
  deletionRules:
  - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED}}
  - {policy: DeleteCluster, condition: {jobStatus: FAILED}}
=> InvalidDeletion: policy: DeleteWorkers

rayClusterSpec: {enableInTreeAutoscaling: true}
deletionStrategy: {onSuccess: {policy: DeleteCluster}, onFailure: {policy: DeleteWorkers}}
=> InvalidDeletion: policy: DeleteWorkers

# a rule without a policy or a condition, or with one that there is not
shutdownAfterJobFinishes: false
deletionStrategy: {deletionRules: [{condition: {jobStatus: SUCCEEDED}}, {policy: DeleteHead, condition: {jobStatus: FAILED}}]}
=> MissingField: condition:
=> InvalidValue: policy: DeleteHead

shutdownAfterJobFinishes: false
deletionStrategy: {deletionRules: [{policy: DeleteCluster}]}
=> MissingField: policy: DeleteCluster

# a condition without exactly one of jobStatus and jobDeploymentStatus
shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobStatus: FAILED, jobDeploymentStatus: Failed}}
  - {policy: DeleteCluster, condition: {ttlSeconds: 7}}
  - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}
=> InvalidDeletion: condition:
=> InvalidDeletion: condition:

shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobStatus: STOPPED}}
  - {policy: DeleteCluster, condition: {jobDeploymentStatus: Complete}}
=> InvalidValue: jobStatus: STOPPED
=> InvalidValue: jobDeploymentStatus: Complete

# the same condition and policy twice; for another status it is another rule
shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}
  - {policy: DeleteCluster, condition: {jobStatus: FAILED}}
  - {policy: DeleteCluster, condition: {jobDeploymentStatus: Failed}}

shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}
  - {policy: DeleteCluster, condition: {jobStatus: FAILED}}
  - {policy: DeleteCluster, condition: {jobStatus: FAILED, ttlSeconds: 60}}
=> InvalidDeletion: policy: DeleteCluster

# Workers <= Cluster
shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}
  - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}
  - {policy: DeleteCluster, condition: {jobStatus: FAILED, ttlSeconds: 5}}

shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 59}}
  - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}
  - {policy: DeleteCluster, condition: {jobStatus: FAILED, ttlSeconds: 5}}
=> InvalidDeletion: ttlSeconds: 59

# no ttlSeconds is 0
shutdownAfterJobFinishes: false
deletionStrategy:
  deletionRules:
  - {policy: DeleteCluster, condition: {jobDeploymentStatus: Failed}}
  - {policy: DeleteWorkers, condition: {jobDeploymentStatus: Failed, ttlSeconds: 1}}
  - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}
=> InvalidDeletion: condition:

shutdownAfterJobFinishes: false
deletionStrategy: {deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: -5}}, {policy: DeleteNone, condition: {jobStatus: FAILED}}]}
=> NumberOutOfRange: ttlSeconds: -5

# the Ray cluster stays when the job is done
shutdownAfterJobFinishes: null
=> KeepsRayCluster: spec:

shutdownAfterJobFinishes: false
deletionStrategy: {deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]}
=> KeepsRayCluster: deletionStrategy:

shutdownAfterJobFinishes: false
deletionStrategy: {deletionRules: [{policy: DeleteCluster, condition: {jobDeploymentStatus: Failed}}]}
=> KeepsRayCluster: deletionStrategy:

shutdownAfterJobFinishes: false
deletionStrategy: {deletionRules: [{policy: DeleteNone, condition: {jobStatus: SUCCEEDED}}, {policy: DeleteNone, condition: {jobStatus: FAILED}}]}

shutdownAfterJobFinishes: false
rayClusterSpec: null
clusterSelector: {ray.io/cluster: shared}

# somebody else's Ray cluster
rayClusterSpec: {upgradeStrategy: {type: None}}
=> NestedField: type: None

rayClusterSpec: {upgradeStrategy: {}}

rayClusterSpec: {managedBy: kueue.x-k8s.io/multikueue}
=> NestedField: managedBy: kueue.x-k8s.io/multikueue

rayClusterSpec: {managedBy: ray.io/kuberay-operator}
""")


@pytest.mark.parametrize(("patch", "expected"), JOB_ROWS)
def test_what_kuberay_refuses_of_a_rayjob_is_told_where_it_is_written(
    patch: str, expected: list[tuple[str, str]]
) -> None:
    assert told(manifest("RayJob", patch)) == expected


@pytest.mark.parametrize(("patch", "expected"), JOB_ROWS)
def test_what_holds_for_a_rayjob_holds_for_the_template_of_a_raycronjob(
    patch: str, expected: list[tuple[str, str]]
) -> None:
    of_pods = ("InvalidRestartPolicy",)
    inside = [(code, "jobTemplate:" if line == "spec:" and code not in of_pods else line) for code, line in expected]
    assert told(manifest("RayCronJob", {"jobTemplate": yaml.safe_load(patch)})) == sorted(inside)


V1_ONLY = [
    "{submissionMode: SidecarMode, submitterConfig: {backoffLimit: 1}}",
    "{submissionMode: ByPigeon}",
    "{activeDeadlineSeconds: 0, preRunningDeadlineSeconds: -1, backoffLimit: -1}",
    "{deletionStrategy: {}}",
    "{deletionStrategy: {deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED}}]}}",
    "{clusterSelector: {ray.io/cluster: a}, backoffLimit: 1}",
    "{managedBy: me, rayClusterSpec: {managedBy: me, upgradeStrategy: {type: None}}}",
]


@pytest.mark.parametrize("patch", V1_ONLY)
def test_fields_that_v1alpha1_drops_do_not_count(patch: str) -> None:
    assert told(manifest("RayJob", patch, version="v1alpha1")) == []
    assert told(manifest("RayJob", patch)) != []


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("{suspend: true, shutdownAfterJobFinishes: false}", ["KeepsRayCluster", "SuspendWithoutShutdown"]),
        ("{ttlSecondsAfterFinished: -1}", ["NumberOutOfRange"]),
        ("{runtimeEnvYAML: '['}", ["InvalidRuntimeEnv"]),
        ("{entrypoint: null}", ["MissingField"]),  # which is optional in v1
        ("{entrypoint: ''}", ["NoEntrypoint"]),
        # it knows one way to submit, whatever submissionMode says
        (
            "{submissionMode: HTTPMode, submitterPodTemplate: {spec: {containers: [{name: a, image: b}]}}}",
            ["InvalidRestartPolicy"],
        ),
        ("{clusterSelector: {ray.io/cluster: a}, suspend: true}", ["NotItsOwnCluster"]),
        # a deletionStrategy is dropped, so the Ray cluster stays
        (
            "{shutdownAfterJobFinishes: false, deletionStrategy: {onSuccess: {policy: DeleteCluster}, "
            "onFailure: {policy: DeleteCluster}}}",
            ["KeepsRayCluster"],
        ),
    ],
)
def test_fields_that_v1alpha1_has_count(patch: str, expected: list[str]) -> None:
    assert [code for code, _ in told(manifest("RayJob", patch, version="v1alpha1"))] == expected


SELF = "{shutdownAfterJobFinishes: false, deletionStrategy: %s}"


@pytest.mark.parametrize(
    ("strategy", "where"),
    [
        (
            "{deletionRules: [{policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED}}, "
            "{policy: DeleteSelf, condition: {jobStatus: SUCCEEDED, ttlSeconds: 9}}, "
            "{policy: DeleteNone, condition: {jobStatus: FAILED}}]}",
            "deletionRules[1]",
        ),
        ("{onSuccess: {policy: DeleteSelf}, onFailure: {policy: DeleteNone}}", "onSuccess"),
    ],
)
def test_a_rayjob_that_deletes_itself_would_be_run_again_from_git(strategy: str, where: str) -> None:
    value = manifest("RayJob", SELF % strategy)
    assert told(value) == [("DeletesItself", "policy: DeleteSelf")]
    assert [p.message.split()[0] for p in rules.check(document(value)[0]) if p.code == "DeletesItself"] == [where]


def test_what_deletes_more_is_not_due_before_what_deletes_less() -> None:
    """Workers ≤ Cluster ≤ Self; each is compared with the one before it that there is."""
    for workers, cluster, itself, expected in [
        (0, 0, 0, 0),
        (1, 2, 3, 0),
        (3, 2, 1, 2),  # cluster before workers, and self before cluster
        (1, 9, 5, 1),
        (9, None, 5, 1),
        (None, 9, 5, 1),
        (9, 9, None, 0),
    ]:
        due = {"DeleteWorkers": workers, "DeleteCluster": cluster, "DeleteSelf": itself}
        strategy = [
            {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}
            for policy, seconds in due.items()
            if seconds is not None
        ]
        value = manifest("RayJob", {"shutdownAfterJobFinishes": False, "deletionStrategy": {"deletionRules": strategy}})
        assert [code for code, _ in told(value)].count("InvalidDeletion") == expected, due


def test_the_jobs_of_a_raycronjob_may_delete_themselves() -> None:
    strategy = SELF % "{onSuccess: {policy: DeleteSelf}, onFailure: {policy: DeleteSelf}}"
    assert told(manifest("RayCronJob", {"jobTemplate": yaml.safe_load(strategy)})) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\nb: [\n", "line 2"),
        ("pip:\n- torch\nenv_vars\n", "line 3"),
        ("a: {{ x }}", "line 1"),
        ("a: b: c", "line 1"),
        ("- torch", "not a mapping"),
        ("null", ""),
        ("# nothing", ""),
        ("a: 1\na: 2", ""),  # Go takes the last
        ("1: x", ""),
        ("a: !secret b", ""),
        ("a: 1\n---\n- b", ""),  # Go reads the first document
        ("a: 1\n---\nb: [", ""),
        ("a: [\n---\nb: 1", "line 2"),
        ('{"pip": ["torch"]}', ""),
        ("a: &x 1\nb: *x", ""),
    ],
)
def test_yaml_in_a_text_is_read_as_go_reads_it(text: str, why: str) -> None:
    for kind, key, code in (
        ("RayJob", "runtimeEnvYAML", "InvalidRuntimeEnv"),
        ("RayService", "serveConfigV2", "InvalidServeConfig"),
    ):
        found = [p for p in rules.check(document(manifest(kind, {key: text}))[0]) if p.code in OURS]
        found = [p for p in found if "Ray refuses all" not in p.message]  # YAML, and nothing that can be served
        assert [p.code for p in found] == ([code] if why else [])
        assert all(why in p.message and key in p.message for p in found)


SERVED = [
    ("[]", ""),
    ("[{import_path: a.b:app}]", ""),
    ("[{import_path: a.b.app, runtime_env: {working_dir: 'https://x/y.zip', py_modules: ['s3://b/c.zip'], env_vars: {A: '1'}}}]", ""),
    ("[{name: a, import_path: a:a}, {name: b, import_path: b:b, route_prefix: /b}, {name: c, import_path: c:c, route_prefix: null}]", ""),
    ("[{import_path: a:b, runtime_env: null, deployments: [{name: D, num_replicas: auto, ray_actor_options: {num_gpus: 0.5}}]}]", ""),
    ("[{import_path: '${APP}', runtime_env: {working_dir: '${CODE}'}}]", ""),
    ("null", "there are no applications"),
    ("{a: b}", "applications is no list"),
    ("[a:app]", "an application is no mapping"),
    ("[{name: a}]", "application a has no import_path"),
    ("[{import_path: app}]", 'the import_path "app" of application default is none'),
    ("[{import_path: 'a:b:c'}]", 'the import_path "a:b:c" of application default is none'),
    ("[{import_path: a:a, route_prefix: /a}, {import_path: b:b}]", "two applications have the name default"),
    ("[{name: a, import_path: a:a}, {name: b, import_path: b:b}]", "two applications have the route_prefix /"),
    ("[{import_path: a:a, runtime_env: {working_dir: .}}]", 'working_dir of application default is "."'),
    ("[{import_path: a:a, runtime_env: {py_modules: [/home/ray/x]}}]", 'py_modules of application default is "/home/ray/x"'),
    ("[{import_path: a:a, runtime_env: {env_vars: {LEN: 8192, DEBUG: true, T: a}}}]", "LEN and DEBUG in env_vars of application default are not text"),
    (
        "[{import_path: a:a, deployments: [{name: D, ray_actor_options: {runtime_env: {env_vars: {A: 1}}}}]}]",
        "A in env_vars of application default is not text",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("applications", "said"), SERVED)
def test_what_is_to_be_served_is_something_that_ray_takes(applications: str, said: str) -> None:
    text = f"applications: {applications}\n"
    found = rules.check(document(manifest("RayService", {"serveConfigV2": text}))[0])
    wrong = [p.message for p in found if p.code == "InvalidServeConfig"]
    assert len(wrong) == bool(said)
    ending = "Ray does not start it" if "env_vars" in said else "Ray refuses all of it"
    assert all(said in message and message.endswith(ending) for message in wrong)


@pytest.mark.parametrize("junk", [None, 1, "x", [], [None], {}, {"a": [1]}])
@pytest.mark.parametrize("at", ["name", "import_path", "route_prefix", "runtime_env", "deployments"])
def test_whatever_an_application_holds_the_rules_answer(at: str, junk: object) -> None:
    text = json.dumps({"applications": [{"import_path": "a:b", at: junk}, junk]})
    rules.check(document(manifest("RayService", {"serveConfigV2": text}))[0])


# RayCronJob

SCHEDULES = [
    ("0 3 * * *", ""),
    ("*/15 0-6,18-23 1,15 JAN-mar MON-FRI", ""),
    ("0 0 ? * SUN", ""),
    ("5/20 * * * *", ""),
    ("10-50/20 * * * *", ""),
    ("0  3\t* * *", ""),
    ("*/90 * * * *", ""),  # robfig/cron takes any step but 0
    ("+5 * * * *", ""),
    (", * * * *", ""),
    ("@hourly", ""),
    ("@midnight", ""),
    ("@every 1h30m", ""),
    ("@every 1.5h", ""),
    ("", "there are 0 fields"),
    ("* * * *", "there are 4 fields"),
    ("0 0 3 * * *", "there are 6 fields"),
    ("60 * * * *", "minute: it goes from 0 to 59"),
    ("* 24 * * *", "hour: it goes from 0 to 23"),
    ("* * 0 * *", "day of the month: it goes from 1 to 31"),
    ("* * * 13 *", "month: it goes from 1 to 12"),
    ("* * * * 7", "day of the week: it goes from 0 to 6"),
    ("* * * * sunday", '"sunday" is no number or name'),
    ("30-10 * * * *", "it ends before it begins"),
    ("* * * * FRI-MON", "it ends before it begins"),
    ("*/0 * * * *", '"0" is no step'),
    ("*/x * * * *", '"x" is no step'),
    ("1-2-3 * * * *", "more than one hyphen"),
    ("1/2/3 * * * *", "more than one slash"),
    ("-5 * * * *", '"" is no number'),
    ("5- * * * *", '"" is no number'),
    ("* * L * *", '"L" is no number'),
    ("* * * jan-x *", '"x" is no number or name'),
    ("* * * * MON#1", '"MON#1" is no'),
    ("@reboot", 'there is no "@reboot"'),
    ("@every", 'there is no "@every"'),
    ("@every day", '"day" is no duration'),
    (" @hourly", "there are 1 fields"),
]


@pytest.mark.parametrize(("text", "why"), SCHEDULES)
def test_a_schedule_is_read_as_robfig_cron_reads_it(text: str, why: str) -> None:
    assert why in cron.flaw(text)
    assert bool(cron.flaw(text)) == bool(why)
    found = told(manifest("RayCronJob", {"schedule": text}))
    assert [code for code, _ in found] == (["InvalidSchedule"] if why else [])


numbers = st.integers(0, 70)


@given(low=numbers, high=numbers, step=st.integers(1, 70))
def test_a_range_is_taken_when_it_lies_in_its_field(low: int, high: int, step: int) -> None:
    for field, (least, most) in enumerate([(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]):
        fields = ["*"] * 5
        fields[field] = f"{low}-{high}/{step}"
        assert (cron.flaw(" ".join(fields)) == "") == (least <= low <= high <= most)


@given(st.text("0123456789*/-,?JANMONjan @", max_size=20) | st.text(max_size=20))
def test_no_schedule_and_no_duration_stops_us(text: str) -> None:
    assert isinstance(cron.flaw(text), str)
    assert nanoseconds(text) is None or isinstance(nanoseconds(text), int)


def test_a_raycronjob_has_a_schedule() -> None:
    assert told(manifest("RayCronJob", "{schedule: null}")) == [("MissingField", "spec:")]


def test_a_raycronjob_has_a_template() -> None:
    assert told(manifest("RayCronJob", "{jobTemplate: null}")) == [("MissingField", "spec:")]


@pytest.mark.parametrize("schedule", ["TZ=UTC 0 3 * * *", "CRON_TZ=Europe/Berlin 0 3 * * *", "@every 1h TZ"])
def test_a_time_zone_does_not_go_into_the_schedule(schedule: str) -> None:
    value = manifest("RayCronJob", {"schedule": schedule})
    ((code, line),) = told(value)
    assert (code, line.replace("'", "")) == ("InvalidSchedule", f"schedule: {schedule}")
    assert "move it to timeZone" in {p.hint for p in rules.check(document(value)[0])}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berlin", ""),
        ("America/Argentina/Buenos_Aires", ""),
        ("Etc/GMT+5", ""),
        ("UTC", ""),
        ("Local", ""),
        ("", "remove it"),
        ("europe/berlin", 'did you mean "Europe/Berlin"?'),
        ("Europe/Berln", 'did you mean "Europe/Berlin"?'),
        ("../etc/passwd", "use a name of the IANA"),
        ("UTC+2 and a bit more", "use a name of the IANA"),
    ],
)
def test_a_time_zone_is_one_that_has_a_name(name: str, hint: str) -> None:
    value = manifest("RayCronJob", {"timeZone": name})
    found = [p for p in rules.check(document(value)[0]) if p.code in OURS]
    assert [p.code for p in found] == (["InvalidTimeZone"] if hint else [])
    assert all(p.hint.startswith(hint) for p in found)


def test_the_time_zones_are_those_of_the_database() -> None:
    """598 names of tzdata 2025b, and Go's "Local"."""
    assert len(TIME_ZONES) == 599
    assert all(" " not in name and name == name.strip("/") and name for name in TIME_ZONES)


def test_each_tick_of_a_raycronjob_would_leave_a_ray_cluster() -> None:
    value = manifest("RayCronJob", "{jobTemplate: {shutdownAfterJobFinishes: false}}")
    (problem,) = (p for p in rules.check(document(value)[0]) if p.code in OURS)
    assert (problem.code, problem.severity) == ("KeepsRayCluster", Severity.WARNING)
    assert "the next tick makes another one" in problem.message


OVERLAPS = [
    ("0 3 * * *", "{activeDeadlineSeconds: 3600}", ""),
    ("0 3 * * *", "{activeDeadlineSeconds: null}", "less than the 86400 s between two ticks"),
    ("0 3 * * *", "{activeDeadlineSeconds: 86399}", ""),
    ("0 3 * * *", "{activeDeadlineSeconds: 86400}", "a run may take 86400 s (activeDeadlineSeconds)"),
    ("0 3 * * *", "{activeDeadlineSeconds: 80000, ttlSecondsAfterFinished: 6399}", ""),
    ("0 3 * * *", "{activeDeadlineSeconds: 80000, ttlSecondsAfterFinished: 6400}", "then its Ray cluster stays 6400 s"),
    ("0 3 * * *", "{activeDeadlineSeconds: 30000, backoffLimit: 1}", ""),
    ("0 3 * * *", "{activeDeadlineSeconds: 30000, backoffLimit: 2}", "90000 s (3 attempts of 30000 s)"),
    ("*/10 9-17 * * 1-5", "{activeDeadlineSeconds: 600}", "the next begins 600 s after it"),
    ("50 8 * * 1-5", "{activeDeadlineSeconds: 86000}", ""),
    ("0,10 3 * * 1", "{activeDeadlineSeconds: 600}", "the next begins 600 s after it"),
    ("@hourly", "{activeDeadlineSeconds: 3600}", "the next begins 3600 s after it"),
    ("@every 90m", "{activeDeadlineSeconds: 3600}", ""),
    ("@every 90m", "{activeDeadlineSeconds: 5400}", "the next begins 5400 s after it"),
    ("@every 1ms", "{activeDeadlineSeconds: 1}", "the next begins 1 s after it"),
    ("+5 * * * *", "{activeDeadlineSeconds: 9000}", ""),  # who else can read that
    ("+5 * * * *", "{activeDeadlineSeconds: null}", "add activeDeadlineSeconds"),
    ("0 3 1 1 *", "{activeDeadlineSeconds: 9000000}", ""),
    ("0 3 * * *", "{activeDeadlineSeconds: null, clusterSelector: {ray.io/cluster: hello}}", ""),
    (
        "0 * * * *",
        "{shutdownAfterJobFinishes: null, activeDeadlineSeconds: 3000, deletionStrategy: {deletionRules: ["
        "{policy: DeleteWorkers, condition: {jobStatus: FAILED}}, {policy: DeleteSelf, condition: {jobStatus: FAILED, ttlSeconds: 600}}, "
        "{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]}}",
        "then its Ray cluster stays 600 s",
    ),
    (
        "0 * * * *",
        "{shutdownAfterJobFinishes: null, activeDeadlineSeconds: 3000, deletionStrategy: "
        "{onSuccess: {policy: DeleteCluster}, onFailure: {policy: DeleteCluster}}}",
        "",
    ),
]


@pytest.mark.parametrize(("schedule", "job", "why"), OVERLAPS)
def test_a_run_ends_before_the_next_one_begins(schedule: str, job: str, why: str) -> None:
    value = manifest("RayCronJob", {"schedule": schedule, "jobTemplate": yaml.safe_load(job)})
    found = [problem for problem in rules.check(document(value)[0]) if problem.code == "RunsOverlap"]
    assert [problem.severity for problem in found] == ([Severity.WARNING] if why else [])
    assert all(why in f"{problem.message} {problem.hint}" for problem in found)


def test_no_run_of_a_suspended_raycronjob_overlaps() -> None:
    assert told(manifest("RayCronJob", "{suspend: true, jobTemplate: {activeDeadlineSeconds: null}}")) == []


# RayService

INCREMENTAL = """
rayClusterConfig: {enableInTreeAutoscaling: true}
upgradeStrategy:
  type: NewClusterWithIncrementalUpgrade
  clusterUpgradeOptions: {maxSurgePercent: 50, stepSizePercent: 50, intervalSeconds: 1, gatewayClassName: istio}
"""
OPTIONS = "upgradeStrategy: {clusterUpgradeOptions: %s}"

SERVICE_ROWS = rows("""
upgradeStrategy: {type: NewCluster}

upgradeStrategy: {type: Recreate}
=> InvalidUpgradeStrategy: type: Recreate

upgradeStrategy: {type: ""}
=> InvalidUpgradeStrategy: type: ""

# an edit would never be applied
upgradeStrategy: {type: None}
=> NeverUpgraded: type: None

rayClusterConfig: {headGroupSpec: {headService: {metadata: {name: mine}}}}
=> HeadServiceName: name: mine

rayClusterConfig: {headGroupSpec: {headService: {metadata: {labels: {a: b}}}}}

rayClusterDeletionDelaySeconds: 0

rayClusterDeletionDelaySeconds: -1
=> NumberOutOfRange: rayClusterDeletionDelaySeconds: -1

rayClusterConfig: {upgradeStrategy: {type: Recreate}}
=> NestedField: type: Recreate

rayClusterConfig: {managedBy: kueue.x-k8s.io/multikueue}
=> NestedField: managedBy: kueue.x-k8s.io/multikueue

upgradeStrategy: {type: NewClusterWithIncrementalUpgrade}
=> IncompleteUpgrade: type: NewClusterWithIncrementalUpgrade
=> IncompleteUpgrade: type: NewClusterWithIncrementalUpgrade

rayClusterConfig: {enableInTreeAutoscaling: true}
upgradeStrategy: {type: NewClusterWithIncrementalUpgrade, clusterUpgradeOptions: {}}
=> IncompleteUpgrade: clusterUpgradeOptions: {}
=> IncompleteUpgrade: clusterUpgradeOptions: {}
=> IncompleteUpgrade: clusterUpgradeOptions: {}

# the CRD requires them, whatever the type
upgradeStrategy: {clusterUpgradeOptions: {stepSizePercent: 1, intervalSeconds: 1}}
=> IncompleteUpgrade: clusterUpgradeOptions:

serveConfigV2: "applications: [{name: a, import_path: a:app}]"

serveConfigV2: "applications: ["
=> InvalidServeConfig: serveConfigV2: 'applications: ['
""")


@pytest.mark.parametrize(("patch", "expected"), SERVICE_ROWS)
def test_what_kuberay_refuses_of_a_rayservice_is_told_where_it_is_written(
    patch: str, expected: list[tuple[str, str]]
) -> None:
    # YAML reads a plain None as text
    assert told(manifest("RayService", patch)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("{}", []),
        ("{maxSurgePercent: 0, stepSizePercent: 0}", []),
        ("{maxSurgePercent: 100, stepSizePercent: 100}", []),
        ("{maxSurgePercent: null, stepSizePercent: 100}", []),  # 100 is the default
        ("{maxSurgePercent: 101}", [("NumberOutOfRange", "maxSurgePercent: 101")]),
        ("{maxSurgePercent: -1}", [("NumberOutOfRange", "maxSurgePercent: -1")]),
        (
            "{maxSurgePercent: null, stepSizePercent: 101}",
            [("NumberOutOfRange", "stepSizePercent: 101"), ("NumberOutOfRange", "stepSizePercent: 101")],
        ),
        ("{stepSizePercent: -1}", [("NumberOutOfRange", "stepSizePercent: -1")]),
        ("{stepSizePercent: 51}", [("NumberOutOfRange", "stepSizePercent: 51")]),
        ("{stepSizePercent: null}", [("IncompleteUpgrade", "clusterUpgradeOptions:")]),
        ("{intervalSeconds: null}", [("IncompleteUpgrade", "clusterUpgradeOptions:")]),
        ("{intervalSeconds: 0}", [("NumberOutOfRange", "intervalSeconds: 0")]),
        ("{gatewayClassName: ''}", [("IncompleteUpgrade", 'gatewayClassName: ""')]),
        ("{gatewayClassName: null}", [("IncompleteUpgrade", "clusterUpgradeOptions:")]),
    ],
)
def test_an_incremental_upgrade_has_all_it_needs(options: str, expected: list[tuple[str, str]]) -> None:
    patch = over(yaml.safe_load(INCREMENTAL), yaml.safe_load(OPTIONS % options))
    assert told(manifest("RayService", patch)) == expected


def test_an_incremental_upgrade_needs_the_autoscaler() -> None:
    patch = over(yaml.safe_load(INCREMENTAL), {"rayClusterConfig": {"enableInTreeAutoscaling": False}})
    assert told(manifest("RayService", patch)) == [("IncompleteUpgrade", "type: NewClusterWithIncrementalUpgrade")]


@pytest.mark.parametrize(
    ("timeout", "sound"),
    [
        ("30m", True),
        ("1h30m", True),
        ("300", True),
        ("+5", True),
        ("", True),
        ("0", False),
        ("0s", False),
        ("-5m", False),
        ("-5", False),
        ("5 minutes", False),
        ("1d", False),
        ("99999999999999999999", False),
    ],
)
@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_a_rayservice_waits_for_a_duration_or_for_seconds(timeout: str, sound: bool, version: str) -> None:
    metadata = json.dumps({"annotations": {"ray.io/initializing-timeout": timeout}})
    found = [code for code, _ in told(manifest("RayService", metadata=metadata, version=version))]
    assert found == ([] if sound else ["InvalidTimeout"])
    assert told(manifest("RayCluster", metadata=metadata)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1ns", 1),
        ("1.5us", 1500),
        ("2µs", 2000),
        ("1h2m3s", 3_723_000_000_000),
        (".5s", 500_000_000),
        ("5.s", 5_000_000_000),
        ("-1ms", -1_000_000),
        ("+1s1s", 2_000_000_000),
        ("2562048h", None),  # beyond 63 bits
        ("1", None),
        ("s", None),
        (".s", None),
        ("1 s", None),
        ("1S", None),
        ("--1s", None),
        ("", None),
        ("-", None),
        ("1s" * 101, None),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, expected: int | None) -> None:
    assert nanoseconds(text) == expected


def test_v1alpha1_drops_the_upgrade_strategy_of_a_rayservice() -> None:
    patch = "{upgradeStrategy: {type: Recreate}, managedBy: me, rayClusterDeletionDelaySeconds: -1}"
    assert told(manifest("RayService", patch, version="v1alpha1")) == []
    assert len(told(manifest("RayService", patch))) == 3


# several kinds


@pytest.mark.parametrize(
    ("kind", "sound"), [("RayCluster", ["Recreate", "None"]), ("RayService", ["NewCluster", "None"])]
)
def test_upgrade_strategies_are_those_of_the_kind(kind: str, sound: list[str]) -> None:
    for chosen in ("Recreate", "NewCluster", "None", "RollingUpdate"):
        codes = [code for code, _ in told(manifest(kind, {"upgradeStrategy": {"type": chosen}}))]
        assert ("InvalidUpgradeStrategy" in codes) == (chosen not in sound)


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
def test_a_ray_object_is_managed_by_kuberay_or_multikueue(kind: str) -> None:
    for name in ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"):
        assert told(manifest(kind, {"managedBy": name})) == []
    for name in ("", "me"):
        assert [code for code, _ in told(manifest(kind, {"managedBy": name}))] == ["InvalidManagedBy"]


def test_the_jobs_of_a_raycronjob_are_managed_by_kuberay() -> None:
    assert told(manifest("RayCronJob", "{jobTemplate: {managedBy: ray.io/kuberay-operator}}")) == []
    (found,) = told(manifest("RayCronJob", "{jobTemplate: {managedBy: kueue.x-k8s.io/multikueue}}"))
    assert found == ("NestedField", "managedBy: kueue.x-k8s.io/multikueue")


def test_an_upgrade_strategy_in_a_cron_job_is_found_with_its_path() -> None:
    value = manifest("RayCronJob", "{jobTemplate: {rayClusterSpec: {upgradeStrategy: {type: None}}}}")
    (problem,) = (p for p in rules.check(document(value)[0]) if p.code in OURS)
    assert problem.message.startswith("spec.jobTemplate.rayClusterSpec.upgradeStrategy.type ")


@pytest.mark.parametrize(
    ("kind", "inner", "remedy"),
    [("RayJob", "rayClusterSpec", "remove it"), ("RayService", "rayClusterConfig", "move it to spec.upgradeStrategy")],
)
def test_a_nested_upgrade_strategy_is_removed_or_moved(kind: str, inner: str, remedy: str) -> None:
    value = manifest(kind, {inner: {"upgradeStrategy": {"type": "None"}}})
    (problem,) = (p for p in rules.check(document(value)[0]) if p.code in OURS)
    assert problem.hint.startswith(remedy)


# Kueue

QUEUE = "{labels: {kueue.x-k8s.io/queue-name: gpu}}"
ELASTIC = '{labels: {kueue.x-k8s.io/queue-name: gpu}, annotations: {kueue.x-k8s.io/elastic-job: "true"}}'


def groups(number: int) -> list[dict[str, Any]]:
    return [{"groupName": f"g{n}", "minReplicas": 0, "maxReplicas": 1, "template": POD} for n in range(number)]


@pytest.mark.parametrize(
    ("kind", "metadata", "patch", "expected"),
    [
        ("RayJob", QUEUE, {}, []),
        ("RayJob", "{}", {"shutdownAfterJobFinishes": False}, ["KeepsRayCluster"]),
        ("RayJob", QUEUE, {"shutdownAfterJobFinishes": False}, ["KeepsRayCluster", "KueueRefuses"]),
        ("RayJob", QUEUE, {"rayClusterSpec": {"enableInTreeAutoscaling": True}}, ["KueueRefuses"]),
        ("RayJob", ELASTIC, {"rayClusterSpec": {"enableInTreeAutoscaling": True}}, []),
        ("RayJob", QUEUE, {"clusterSelector": {"ray.io/cluster": "shared"}}, ["KueueRefuses"]),
        ("RayJob", QUEUE, {"clusterSelector": {"ray.io/cluster": "a"}, "rayClusterSpec": None}, ["NotQueued"]),
        ("RayJob", QUEUE, {"rayClusterSpec": {"workerGroupSpecs": groups(16)}}, []),
        ("RayJob", QUEUE, {"rayClusterSpec": {"workerGroupSpecs": groups(17)}}, ["KueueRefuses"]),
        (
            "RayJob",
            QUEUE,
            {"submissionMode": "HTTPMode", "rayClusterSpec": {"workerGroupSpecs": groups(17)}},
            [],
        ),
        (
            "RayJob",
            QUEUE,
            {"submissionMode": "HTTPMode", "rayClusterSpec": {"workerGroupSpecs": groups(18)}},
            ["KueueRefuses"],
        ),
        ("RayJob", "{}", {"rayClusterSpec": {"workerGroupSpecs": groups(17)}}, []),
        ("RayCluster", QUEUE, {"workerGroupSpecs": groups(17)}, []),
        ("RayCluster", QUEUE, {"workerGroupSpecs": groups(18)}, ["KueueRefuses"]),
        ("RayCluster", QUEUE, {"enableInTreeAutoscaling": True}, ["KueueRefuses"]),
        ("RayCluster", QUEUE, {"workerGroupSpecs": [{**groups(1)[0], "groupName": "head"}]}, ["KueueRefuses"]),
        ("RayService", QUEUE, {"rayClusterConfig": {"enableInTreeAutoscaling": True}}, ["KueueRefuses"]),
        ("RayService", QUEUE, {}, []),
        ("RayCronJob", QUEUE, {}, ["NotQueued"]),
        # Kueue owns suspend
        ("RayJob", QUEUE, {"suspend": True}, ["KueueOwnsSuspend"]),
        ("RayJob", QUEUE, {"suspend": False}, ["KueueOwnsSuspend"]),
        ("RayJob", "{}", {"suspend": True}, []),
        ("RayCluster", QUEUE, {"suspend": True}, ["KueueOwnsSuspend"]),
        ("RayService", QUEUE, {"rayClusterConfig": {"suspend": True}}, ["KueueOwnsSuspend"]),
        ("RayService", QUEUE, {"suspend": True}, []),
        ("RayJob", "{labels: {kueue.x-k8s.io/queue-name: ''}}", {"suspend": True}, []),
    ],
)
def test_an_object_with_a_queue_is_one_that_kueue_takes(
    kind: str, metadata: str, patch: dict[str, Any], expected: list[str]
) -> None:
    assert [code for code, _ in told(manifest(kind, patch, metadata))] == expected


# GitOps


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("${VAR}", True),
        ("a ${VAR:-default} b", True),
        ("${VAR:=x}", True),
        ("${#VAR}", True),
        ("${", True),  # the whole Kustomization fails
        ("$${VAR}", False),
        ("$$${VAR}", True),
        ("$$$${VAR}", False),
        ("$${A} ${B}", True),
        ("$VAR", False),
        ("$(VAR)", False),
        ("$ {VAR}", False),
        ("{VAR}", False),
        ("", False),
    ],
)
def test_flux_replaces_what_is_in_braces_after_a_single_dollar(text: str, replaced: bool) -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b", "script": text}}
    assert variables(document(value)[0]) == ((("data", "script"),) if replaced else ())


@given(st.text("${} V:-", max_size=12))
def test_what_flux_replaces_is_a_dollar_that_no_other_one_escapes(text: str) -> None:
    """As drone/envsubst reads it, from the left: two dollars are one that is text."""
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"script": text}}
    assert bool(variables(document(value)[0])) == ("${" in text.replace("$$", "\0"))


def test_variables_are_found_wherever_they_are_but_in_comments() -> None:
    data = b"""\
apiVersion: v1  # ${COMMENT}
kind: Pod
metadata: {name: x}
spec:
  containers:
  - args: [a, "${B}", {c: "${D}"}]
    number: 7
  "${KEY}": {a: "${INSIDE}"}
"""
    (parsed,) = parse(data).documents
    found = variables(Document("x.yaml", parsed, 0, lambda: data))
    assert [dotted(path) for path in found] == [
        "spec.containers[0].args[1]",
        "spec.containers[0].args[2].c",
        "spec.${KEY}",
    ]


def test_a_variable_is_told_of_any_object_at_its_place() -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"script": "echo ${HOME}"}}
    assert told(value) == [("FluxVariable", "script: echo ${HOME}")]
    value["metadata"] = {"name": "x", "labels": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}
    assert told(value) == []


@pytest.mark.parametrize("where", ["annotations", "labels"])
@pytest.mark.parametrize(("said", "replaced"), [("disabled", False), ("enabled", True), (None, True)])
def test_an_object_may_opt_out_of_replacement(where: str, said: str | None, replaced: bool) -> None:
    key = "kustomize.toolkit.fluxcd.io/substitute"
    value = {"kind": "X", "metadata": {"name": "x", where: {key: said}}, "data": "${A}"}
    assert bool(variables(document(value)[0])) == replaced


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "Secret", "sops": {"mac": "ENC[…]", "lastmodified": "2026-01-01T00:00:00Z", "age": []}}, True),
        ({"kind": "Secret", "sops": {"mac": "ENC[…]"}}, False),
        ({"kind": "Secret", "sops": "yes"}, False),
        ({"kind": "Secret", "data": {"sops": {"mac": "", "lastmodified": ""}}}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_file_of_sops_is_known_by_its_signature(value: Any, expected: bool) -> None:
    assert is_sops(value) is expected


# all of them


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_rule_is_in_the_table_and_says_what_it_wants(module: ModuleType) -> None:
    families = [rule for family in rules.FAMILIES.values() for rule in family]
    written = [
        found
        for name, found in inspect.getmembers(module, inspect.isfunction)
        if found.__module__ == module.__name__ and list(inspect.signature(found).parameters) == ["manifest"]
    ]
    for rule in module.RULES:
        assert families.count(rule) == 1
        assert rule.__doc__
    public = {found for found in written if not found.__name__.startswith("_")}
    assert public - {rayjob.submission_mode} == set(module.RULES)


def test_every_code_of_these_rules_is_tried_here() -> None:
    tried = inspect.getsource(inspect.getmodule(test_every_code_of_these_rules_is_tried_here) or rules)
    assert [code for code in (*rayjobs.CODES, *gitops.CODES) if code not in tried] == []


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text("aé$ {}[]:-\n", max_size=6)
    | st.sampled_from(["None", "TZ"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["policy", "condition", "a"]), inner),
    max_leaves=4,
)
FULL: dict[str, Any] = over(
    manifest(
        "RayCronJob",
        """
        timeZone: UTC
        suspend: false
        jobTemplate:
          submissionMode: SidecarMode
          backoffLimit: 1
          ttlSecondsAfterFinished: 5
          runtimeEnvYAML: "a: 1"
          clusterSelector: {ray.io/cluster: a}
          submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: a, command: [b]}]}}
          deletionStrategy: {onSuccess: {policy: DeleteSelf}, deletionRules: [{policy: DeleteWorkers, condition: {jobStatus: FAILED, ttlSeconds: 1}}]}
        rayClusterConfig: {headGroupSpec: {headService: {metadata: {name: a}}}}
        upgradeStrategy: {type: None, clusterUpgradeOptions: {maxSurgePercent: 1, stepSizePercent: 2, intervalSeconds: 0, gatewayClassName: a}}
        rayClusterDeletionDelaySeconds: 3
        """,
        QUEUE,
    ),
    {"metadata": {"annotations": {"ray.io/initializing-timeout": "5m"}}},
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inner for place in places(below, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@given(
    kind=st.sampled_from(sorted(SPECS)),
    version=st.sampled_from(["v1", "v1alpha1"]),
    place=st.sampled_from([place for place in places(FULL) if place]),
    new=anything,
)
def test_whatever_a_manifest_holds_the_rules_answer(kind: str, version: str, place: tuple[Any, ...], new: Any) -> None:
    value = FULL | {"kind": kind, "apiVersion": f"ray.io/{version}"}
    if kind == "RayJob":
        value["spec"] = FULL["spec"] | FULL["spec"]["jobTemplate"]
    elif kind == "RayCluster":
        value["spec"] = FULL["spec"] | FULL["spec"]["jobTemplate"]["rayClusterSpec"]
    if place[0] in ("kind", "apiVersion"):
        value[place[0]] = new
    else:
        value = changed(value, place, new)
    found = document(value)[0]
    assert rules.check(found) == rules.check(found)
    variables(found)

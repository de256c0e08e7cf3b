"""What workloads of strangers may be and hold: refused in every spelling, also when an override brings it, and nobody else is held."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import rules
from gitplacer.hydrate import Hydration
from gitplacer.problemcodes import strangers
from gitplacer.problems import Problem, Severity
from gitplacer.source.files import documents_in
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot
from tests.test_tenants import tenant

HELD = "team/it"
APP = {"app": "it"}
BY_APP = policy("anywhere", "select: {}\ngroupBy: {label: app}")
ROOM = snapshot("a", "n1 64 256Gi 8")
ONE = cluster("a")
GOOD = rayservice("good", "api")
SECRETS = "not-to-be-printed"
"""Stands where a secret would."""

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "it", "namespace": "team"},
    "spec": {"containers": [{"name": "main", "image": "x"}]},
}
ENCRYPTED = "ENC[AES256_GCM,data:q7,iv:x,tag:y,type:str]"
SOPS = {"mac": ENCRYPTED, "lastmodified": "2026-01-02T03:04:05Z"}


def custom(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it", "namespace": "team"}, **fields}


SECRET = custom("v1", "Secret", type="Opaque")
CONFIG = custom("v1", "ConfigMap", data={"a": "b"})
WORKFLOW = custom("argoproj.io/v1alpha1", "Workflow", spec={"templates": [{"name": "t", "container": {"image": "x"}}]})
SEALED = custom("bitnami.com/v1alpha1", "SealedSecret", spec={"encryptedData": {"a": "AgB"}, "template": {}})
ANNOTATIONS = ("metadata", "annotations")


def put(base: Mapping[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """A copy of an object with a value at a path; mappings on the way are made."""
    out = deepcopy(dict(base))
    at: Any = out
    for step in path[:-1]:
        at = at[step] if isinstance(step, int) else at.setdefault(step, {})
    at[path[-1]] = value
    return out


def found(value: Mapping[str, Any]) -> list[Problem]:
    """What is told of an object by itself, whoever wrote it."""
    (document,), problems = documents_in("x.yaml", json.dumps(value).encode())
    assert problems == []
    return rules.check_of_strangers(document)[1]


def codes(value: Mapping[str, Any]) -> list[str]:
    return [problem.code for problem in found(value)]


CONTAINER = ("spec", "containers", 0)
Case = tuple[str, dict[str, Any], tuple[str | int, ...], Any]
REFUSED: dict[str, Case] = {
    # code, object, path, value
    "hostPath": ("PrivilegedPod", POD, ("spec", "volumes"), [{"name": "etc", "hostPath": {"path": "/etc"}}]),
    "hostNetwork": ("PrivilegedPod", POD, ("spec", "hostNetwork"), True),
    "hostPID": ("PrivilegedPod", POD, ("spec", "hostPID"), True),
    "hostIPC": ("PrivilegedPod", POD, ("spec", "hostIPC"), True),
    "privileged": ("PrivilegedPod", POD, (*CONTAINER, "securityContext"), {"privileged": True}),
    "privileged at the start": (
        "PrivilegedPod", POD, ("spec", "initContainers"),
        [{"name": "i", "image": "x", "securityContext": {"privileged": True}}],
    ),
    "capability": (
        "PrivilegedPod", POD, (*CONTAINER, "securityContext"),
        {"allowPrivilegeEscalation": True, "capabilities": {"add": ["CHOWN", "SYS_ADMIN"]}},
    ),
    "hostPort": ("PrivilegedPod", POD, (*CONTAINER, "ports"), [{"containerPort": 1, "hostPort": 80}]),
    "host of a probe": (
        "PrivilegedPod", POD, (*CONTAINER, "livenessProbe"), {"httpGet": {"host": "169.254.169.254", "port": 80}},
    ),
    "procMount": ("PrivilegedPod", POD, (*CONTAINER, "securityContext"), {"procMount": "Unmasked"}),
    "seccomp": ("PrivilegedPod", POD, ("spec", "securityContext"), {"seccompProfile": {"type": "Unconfined"}}),
    "AppArmor": ("PrivilegedPod", POD, ("spec", "securityContext"), {"appArmorProfile": {"type": "Unconfined"}}),
    "AppArmor of old": (
        "PrivilegedPod", POD, (*ANNOTATIONS, "container.apparmor.security.beta.kubernetes.io/main"), "unconfined",
    ),
    "SELinux": ("PrivilegedPod", POD, ("spec", "securityContext"), {"seLinuxOptions": {"type": "spc_t"}}),
    "SELinux user": ("PrivilegedPod", POD, ("spec", "securityContext"), {"seLinuxOptions": {"user": "root"}}),
    "sysctl": ("PrivilegedPod", POD, ("spec", "securityContext"), {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
    "Windows": ("PrivilegedPod", POD, ("spec", "securityContext"), {"windowsOptions": {"hostProcess": True}}),
    "nodeName": ("PrivilegedPod", POD, ("spec", "nodeName"), "n1"),
    "toleration of all": ("PrivilegedPod", POD, ("spec", "tolerations"), [{"operator": "Exists"}]),
    "a kind that is not sized": ("PrivilegedPod", WORKFLOW, ("spec", "hostNetwork"), True),
    "devices of others": (
        "PrivilegedPod", custom("resource.k8s.io/v1", "ResourceClaimTemplate"), ("spec", "spec", "devices", "requests"),
        [{"name": "r", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}],
    ),
    "data": ("PlainSecret", SECRET, ("data",), {"password": SECRETS}),
    "stringData": ("PlainSecret", SECRET, ("stringData",), {"a": SECRETS}),
    "a forged signature of SOPS": ("PlainSecret", {**SECRET, "sops": SOPS}, ("data",), {"a": ENCRYPTED, "b": SECRETS}),
    "label of a cluster": ("NotAllowed", CONFIG, ("metadata", "labels"), {"argocd.argoproj.io/secret-type": "cluster"}),
    "label to come": (
        "NotAllowed", SEALED, ("spec", "template", "metadata"), {"labels": {"argocd.argoproj.io/secret-type": "repository"}},
    ),
    "token": ("NotAllowed", SECRET, ("type",), "kubernetes.io/service-account-token"),
    "token to come": ("NotAllowed", SEALED, ("spec", "template", "type"), "kubernetes.io/service-account-token"),
    "status": ("ServerField", CONFIG, ("status",), {"phase": "Running"}),
    "a field of a status": ("ServerField", CONFIG, ("status",), {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}, "replicas": 0}),
    "uid": ("ServerField", CONFIG, ("metadata", "uid"), "1-2"),
    "resourceVersion": ("ServerField", CONFIG, ("metadata", "resourceVersion"), "7"),
    "managedFields": ("ServerField", CONFIG, ("metadata", "managedFields"), [{"manager": "kubectl"}]),
    "ownerReferences": ("ServerField", CONFIG, ("metadata", "ownerReferences"), [{"kind": "Pod", "name": "x"}]),
    "finalizers": ("ServerField", CONFIG, ("metadata", "finalizers"), ["example.com/never"]),
    "deletionTimestamp": ("ServerField", CONFIG, ("metadata", "deletionTimestamp"), "2026-01-02T03:04:05Z"),
    "creationTimestamp": ("ServerField", CONFIG, ("metadata", "creationTimestamp"), "2026-01-02T03:04:05Z"),
    "generation": ("ServerField", CONFIG, ("metadata", "generation"), 3),
    "selfLink": ("ServerField", CONFIG, ("metadata", "selfLink"), "/api/v1"),
    "last applied": (
        "ServerField", CONFIG, (*ANNOTATIONS, "kubectl.kubernetes.io/last-applied-configuration"), SECRETS,
    ),
    "sync wave": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/sync-wave"), "-1"),
    "replace": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/sync-options"), "Replace=true"),
    "compare": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/compare-options"), "ServerSideDiff=true"),
    "force": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/force"), "enabled"),
    "ssa": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/ssa"), "IfNotPresent"),
    "substitute": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/substitute"), "enabled"),
    "weight of a hook": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "helm.sh/hook-weight"), "5"),
    "kargo": ("ControlAnnotation", CONFIG, (*ANNOTATIONS, "kargo.akuity.io/authorized-stage"), "a:b"),
    "not pruned": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/sync-options"), "Force=true, prune=false"),
    "not deleted": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/sync-options"), "Delete=false"),
    "extraneous": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/compare-options"), "IgnoreExtraneous"),
    "tracking": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/tracking-id"), "x:/ConfigMap:team/it"),
    "managed by": ("OrphaningAnnotation", CONFIG, ("metadata", "labels"), {"argocd.argoproj.io/managed-by": "argocd"}),
    "hook": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "argocd.argoproj.io/hook"), "PreSync"),
    "hook of Helm": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "helm.sh/hook"), "pre-install"),
    "kept by Helm": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "helm.sh/resource-policy"), "keep"),
    "not pruned by Flux": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/prune"), "disabled"),
    "not pruned, a label": ("OrphaningAnnotation", CONFIG, ("metadata", "labels"), {"kustomize.toolkit.fluxcd.io/prune": "disabled"}),
    "not reconciled": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/reconcile"), "disabled"),
    "ignored by Flux": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/ssa"), "Ignore"),
    "Config Sync": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "configmanagement.gke.io/managed"), "disabled"),
    "detached": ("OrphaningAnnotation", CONFIG, (*ANNOTATIONS, "client.lifecycle.config.k8s.io/deletion"), "detach"),
    "script": ("UnsafeLink", CONFIG, (*ANNOTATIONS, "link.argocd.argoproj.io/external-link"), "javascript:alert(1)"),
    "script with a title": ("UnsafeLink", CONFIG, (*ANNOTATIONS, "link.argocd.argoproj.io/x"), "docs|JavaScript:alert(1)"),
    "script in pieces": ("UnsafeLink", CONFIG, (*ANNOTATIONS, "example.com/url"), "java\tscript:alert(1)"),
    "data address": ("UnsafeLink", CONFIG, (*ANNOTATIONS, "grafana.example.com/dashboard"), " data:text/html,x"),
    "file address": ("UnsafeLink", CONFIG, (*ANNOTATIONS, "link.argocd.argoproj.io/x"), "file:///etc/passwd"),
    "foreign account": ("ForeignServiceAccount", POD, ("spec", "serviceAccountName"), "admin"),
    "foreign account by its old name": ("ForeignServiceAccount", POD, ("spec", "serviceAccount"), "admin"),
    "foreign account of what is not sized": ("ForeignServiceAccount", WORKFLOW, ("spec", "serviceAccountName"), "admin"),
    "foreign account by reference": (
        "ForeignServiceAccount", custom("external-secrets.io/v1", "SecretStore", spec={"provider": {"aws": {}}}),
        ("spec", "provider", "aws", "auth"), {"jwt": {"serviceAccountRef": {"name": "admin"}}},
    ),
}  # fmt: skip


def told(done: Hydration) -> dict[str, set[str]]:
    """Codes of errors by file. Every one says where and what to do."""
    out: dict[str, set[str]] = {}
    for problem in done.problems:
        assert problem.location.line > 0
        assert SECRETS not in problem.message + problem.hint
        if problem.severity is Severity.ERROR:
            assert problem.hint, problem
            out.setdefault(problem.location.file, set()).add(problem.code)
    return out


def in_a_group(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The object with a pod in its group, so that it goes somewhere."""
    labelled = put(value, ("metadata", "labels"), {**value["metadata"].get("labels", {}), **APP})
    pod = put(put(POD, ("metadata", "name"), "beside"), ("metadata", "labels"), APP)
    return [labelled, pod]


def as_yaml(value: Mapping[str, Any]) -> dict[str, str]:
    return {"workloads/team/it.yaml": yaml.safe_dump_all(in_a_group(value))}


def as_list(value: Mapping[str, Any]) -> dict[str, str]:
    items = {"apiVersion": "v1", "kind": "List", "items": in_a_group(value)}
    return {"workloads/team/it.json": json.dumps(items)}


def override(case: Case) -> dict[str, str]:
    """The object without the value, and an OverridePolicy that adds it: as a whole field of spec, metadata or the object."""
    _, base, path, _ = case
    after = put(*case[1:])
    top = path[:1] if path[0] != "metadata" else path[:2]
    value: Any = after
    for step in top:
        value = value[step]
    if path[:2] == ("metadata", "labels"):
        value = {**value, **APP}
    return {**as_yaml(base), **overriding("/" + "/".join(map(str, top)), value)}


def overriding(pointer: str, value: Any) -> dict[str, str]:
    """An OverridePolicy that adds a value to the object."""
    spec = {
        "select": {"namespaces": ["team"], "names": ["it"]},
        "overrides": [{"path": pointer, "op": "add", "value": value}],
    }
    own = {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "OverridePolicy", "metadata": {"name": "evil"}, "spec": spec}
    return {"policies/evil.yaml": yaml.safe_dump(own)}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_workload_may_hold_is_refused_where_it_stands_and_nobody_else_is_held(name: str) -> None:
    code, *case = REFUSED[name]
    for spelled in (as_yaml, as_list):
        files = spelled(put(*case))
        done = Story.of(ONE, BY_APP, GOOD, files, capacity=ROOM).run()
        assert told(done) == {next(iter(files)): {code}}
        assert outcome(done) == {"good/api": "Place a Fits", HELD: "Hold  HasProblems"}


@pytest.mark.parametrize("name", REFUSED)
def test_an_override_that_brings_it_is_refused_where_the_override_stands(name: str) -> None:
    case = REFUSED[name]
    done = Story.of(ONE, BY_APP, GOOD, override(case), capacity=ROOM).run()
    assert told(done)["policies/evil.yaml"] == {case[0]}
    assert outcome(done) == {"good/api": "Place a Fits", HELD: "Hold  HasProblems"}
    (problem,) = {p for p in done.problems if p.code == case[0]}
    assert problem.message.startswith(f"{case[1]['kind']} team/it: ")


def test_every_code_about_strangers_is_tried_here() -> None:
    tried = {code for code, *_ in REFUSED.values()} | {"SecretInPlain"}
    assert tried - {"NotAllowed"} == strangers.CODES.keys()


HARMLESS: dict[str, dict[str, Any]] = {
    "an empty status": put(CONFIG, ("status",), {}),
    "the status of a Service that kubectl has printed": put(CONFIG, ("status",), {"loadBalancer": {}}),
    "a status of which nobody has set a field": put(
        CONFIG, ("status",), {"desiredCPU": "0", "head": {}, "replicas": 0, "conditions": [], "ready": False, "state": "", "at": None}
    ),
    "no time of making": put(CONFIG, ("metadata", "creationTimestamp"), None),
    "no finalizers": put(CONFIG, ("metadata", "finalizers"), []),
    "a sealed secret": SEALED,
    "an external secret": custom("external-secrets.io/v1", "ExternalSecret", spec={"target": {"name": "x"}}),
    "encrypted by SOPS": {**SECRET, "data": {"a": ENCRYPTED, "b": ""}, "sops": SOPS},
    "a Secret without values": {**SECRET, "data": {}},
    "data that only look like fields": put(CONFIG, ("data",), {"hostPath": "/x", "privileged": "true", "serviceAccount": "x"}),
    "no substitution": put(CONFIG, (*ANNOTATIONS, "kustomize.toolkit.fluxcd.io/substitute"), "disabled"),
    "a link": put(CONFIG, (*ANNOTATIONS, "link.argocd.argoproj.io/external-link"), "docs|https://example.com/x"),
    "a note of Helm's": put(CONFIG, ("metadata", "labels"), {"helm.sh/chart": "x-1.0", "app.kubernetes.io/managed-by": "Helm"}),
    "names of Secrets": put(
        CONFIG, ANNOTATIONS,
        {
            "nginx.ingress.kubernetes.io/auth-secret": "basic-auth", "nginx.ingress.kubernetes.io/auth-tls-secret": "team/client-ca",
            "vault.hashicorp.com/agent-inject-secret-config": "secret/data/ray/config",
        },
    ),
    "a baseline pod": put(
        POD, ("spec",),
        {
            "serviceAccountName": "default", "hostNetwork": False, "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "securityContext": {
                "seccompProfile": {"type": "RuntimeDefault"}, "seLinuxOptions": {"type": "container_t", "level": "s0"},
                "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
            },
            "containers": [
                {
                    "name": "main", "image": "x", "ports": [{"containerPort": 80}],
                    "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                    "securityContext": {
                        "privileged": False, "allowPrivilegeEscalation": True, "procMount": "Default",
                        "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
                    },
                }
            ],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_no_harm_passes(name: str) -> None:
    done = Story.of(ONE, BY_APP, as_yaml(HARMLESS[name]), capacity=ROOM).run()
    assert told(done) == {}
    assert outcome(done) == {HELD: "Place a Fits"}


SECRET_TEXTS = [
    # name, value, whether it is told
    ("AWS_SECRET_ACCESS_KEY", SECRETS, True),
    ("HF_TOKEN", SECRETS, True),
    ("DATABASE_URL", f"postgres://app:{SECRETS}@db/app", True),
    ("FLAGS", f"--api-key={SECRETS}", True),
    ("MAX_TOKENS", "4096", False),
    ("TOKENIZER", "meta-llama/Llama-3", False),
    ("FLAGS", "--max-num-batched-tokens=8192 --tokenizer=x", False),
    ("FLAGS", "--api-key=$(API_KEY)", False),
    ("PASSWORD_FILE", "/etc/secret/password", False),
    ("SECRET_NAME", "database", False),
    ("USE_TOKEN_AUTH", "true", False),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/var/secrets/google/key.json", False),
    ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", True),  # begins as a path does
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials", False),
    ("TOKEN_URL", f"https://app:{SECRETS}@login.example.com/token", True),
    ("TOKEN_URL", f"https://login.example.com/?token={SECRETS}", True),
    ("DB_SECRET_ARN", "arn:aws:secretsmanager:us-west-2:111122223333:secret:rds-a1", False),
    ("OPENAI_API_KEY", "EMPTY", False),
    ("HF_TOKEN", "$HUGGING_FACE_TOKEN", False),
    ("REDIS_PASSWORD", f"{SECRETS}$x", True),
    ("FLAGS", "--hf-token=$HF_TOKEN --url redis://:$REDIS_PASSWORD@redis:6379", False),
    ("FLAGS", 'export HF_TOKEN="$TOKEN" && serve', False),
    ("FLAGS", f"--hf-token=$HF_TOKEN --password={SECRETS}", True),
    ("FLAGS", "--eos-token=</s>", False),
]


@pytest.mark.parametrize(("name", "value", "is_told"), SECRET_TEXTS)
def test_a_value_that_looks_like_a_secret_is_told_and_not_printed(name: str, value: str, is_told: bool) -> None:
    env = put(POD, (*CONTAINER, "env"), [{"name": name, "value": value}])
    annotated = put(CONFIG, (*ANNOTATIONS, f"example.com/{name}"), value)
    worker = custom("ray.io/v1", "RayJob", spec={"rayClusterSpec": {"workerGroupSpecs": [{"template": env}]}})
    for written in (env, annotated, worker):
        problems = found(written)
        assert [p.code for p in problems] == ["SecretInPlain"] * is_told
        assert all(p.severity is Severity.WARNING and value not in p.message + p.hint for p in problems)
    assert codes(put(POD, (*CONTAINER, "args"), ["serve", f"--token={SECRETS}", "--token=$(TOKEN)"])) == [
        "SecretInPlain"
    ]


@pytest.mark.parametrize(("name", "value", "is_told"), SECRET_TEXTS)
def test_a_secret_in_a_text_that_gives_ray_its_variables_is_told_and_not_printed(
    name: str, value: str, is_told: bool
) -> None:
    env = {"env_vars": {name: value}}
    of_job = {"entrypoint": "python x.py", "runtimeEnvYAML": yaml.safe_dump(env)}
    of_app = {"applications": [{"name": "a", "import_path": "a:b", "runtime_env": env}]}
    of_actors = {"applications": [{"deployments": [{"name": "d", "ray_actor_options": {"runtime_env": env}}]}]}
    for written, path in (
        (custom("ray.io/v1", "RayJob", spec=of_job), "spec.runtimeEnvYAML"),
        (custom("ray.io/v1", "RayCronJob", spec={"jobTemplate": of_job}), "spec.jobTemplate.runtimeEnvYAML"),
        (custom("ray.io/v1", "RayService", spec={"serveConfigV2": yaml.safe_dump(of_app)}), "spec.serveConfigV2"),
        (custom("ray.io/v1", "RayService", spec={"serveConfigV2": yaml.safe_dump(of_actors)}), "spec.serveConfigV2"),
    ):
        problems = found(written)
        assert [p.code for p in problems] == ["SecretInPlain"] * is_told
        assert all(p.message.startswith(f"{path}: {name} ") and value not in p.message + p.hint for p in problems)


@pytest.mark.parametrize(
    "text", ["", "a: [", "[]", "env_vars: [TOKEN]", "applications: {a: 1}", "applications: [1, {}]", 7]
)
def test_a_text_with_variables_that_cannot_be_read_is_told_elsewhere(text: Any) -> None:
    assert codes(custom("ray.io/v1", "RayJob", spec={"runtimeEnvYAML": text, "serveConfigV2": text})) == []


# what a Tenant, an allowance and the platform paths change


GRANTS = {
    "PlainSecret": ("secrets: Plain", "data"),
    "PrivilegedPod": ("pods: Privileged", "hostPath"),
    "ForeignServiceAccount": ('serviceAccounts: ["adm*"]', "foreign account"),
}


@pytest.mark.parametrize("code", GRANTS)
@pytest.mark.parametrize("spelled", ["written", "by an override"])
def test_a_tenant_may_have_what_it_was_given(code: str, spelled: str) -> None:
    grant, name = GRANTS[code]
    case = REFUSED[name]
    files = as_yaml(put(*case[1:])) if spelled == "written" else override(case)
    story = Story.of(ONE, BY_APP, files, capacity=ROOM)
    claims = 'paths: ["workloads/**"]\nnamespaces: [team]\n'
    story.source |= tenant("team", claims)
    assert set().union(*told(story.plan()).values()) == {code}
    story.source |= tenant("team", claims + grant)
    done = story.plan()
    assert told(done) == {}
    assert outcome(done) == {HELD: "Place a Fits"}


@pytest.mark.parametrize("name", {case[0]: name for name, case in REFUSED.items()}.values())
def test_an_object_can_allow_what_does_no_harm_and_nothing_else(name: str) -> None:
    code, *case = REFUSED[name]
    key = f"allow.gitplacer.dev/{code}"
    value = put(*case)
    value["metadata"].setdefault("annotations", {})[key] = "we know"
    done = Story.of(ONE, BY_APP, as_yaml(value), capacity=ROOM).run()
    expected = {} if code == "ControlAnnotation" else {"workloads/team/it.yaml": {code, "InvalidAllowance"}}
    assert told(done) == expected


def test_whoever_writes_the_platform_paths_is_trusted() -> None:
    story = Story.of(ONE, policy("all", "select: {paths: ['platform/**']}"), capacity=ROOM)
    for number, (_, *case) in enumerate(REFUSED.values()):
        value = put(put(*case), ("metadata", "name"), f"it-{number}")
        story.source[f"platform/{number}.yaml"] = yaml.safe_dump(value)
    assert {p.code for p in story.plan().problems} & {*strangers.CODES, "NotAllowed"} == set()


def test_an_override_that_is_refused_leaves_what_runs_as_it_is_and_holds_nobody_else() -> None:
    story = Story.of(ONE, cluster("b"), ANYWHERE, GOOD, rayservice("team", "it"), capacity=ROOM)
    story.run()
    path = "/spec/rayClusterConfig/workerGroupSpecs/0/template/spec/hostPID"
    story.source |= overriding(path, True)
    story.source["workloads/good/api.yaml"] += "# more\n"
    done = story.run()
    assert told(done) == {"policies/evil.yaml": {"PrivilegedPod"}}
    assert outcome(done) == {"good/api": "Update a Updated", "team/it": "Hold a HasProblems"}
    assert b"hostPID" not in b"".join(story.deployment.read(path) for path in story.deployment)


# which kinds


def crd(group: str, kind: str, scope: str) -> dict[str, str]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "names": {"kind": kind, "plural": f"{kind.lower()}s"},
        "scope": scope,
        "versions": [version],
    }
    value = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"}, "spec": spec,
    }  # fmt: skip
    return {"platform/crd.yaml": yaml.safe_dump(value)}


def codes_of_kind(value: Mapping[str, Any], *more: Mapping[str, str]) -> set[str]:
    story = Story.of(ONE, BY_APP, as_yaml(value), *more, capacity=ROOM)
    return told(story.plan()).get("workloads/team/it.yaml", set())


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("karpenter.k8s.aws/v1", "EC2NodeClass"), ("kyverno.io/v1", "ClusterPolicy"),
        ("constraints.gatekeeper.sh/v1beta1", "K8sRequiredLabels"), ("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass"),
        ("external-secrets.io/v1", "ClusterSecretStore"), ("external-secrets.io/v1", "ClusterExternalSecret"),
        ("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy"), ("cilium.io/v2alpha1", "CiliumLoadBalancerIPPool"),
        ("policy/v1beta1", "PodSecurityPolicy"), ("security.openshift.io/v1", "SecurityContextConstraints"),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule"), ("crd.projectcalico.org/v1", "GlobalNetworkPolicy"),
        ("kueue.x-k8s.io/v1beta1", "Cohort"), ("apps/v1", "Deploymnt"), ("v1", "Thing"),
        ("kargo.akuity.io/v1alpha1", "Stage"), ("infra.contrib.fluxcd.io/v1alpha2", "Terraform"),
        ("helm.cattle.io/v1", "HelmChart"), ("helm.k0sproject.io/v1beta1", "Chart"),
        ("helm.crossplane.io/v1beta1", "Release"), ("gitops.kluctl.io/v1beta1", "KluctlDeployment"),
        ("work.open-cluster-management.io/v1", "ManifestWork"), ("policy.karmada.io/v1alpha1", "PropagationPolicy"),
        ("configmanagement.gke.io/v1", "ConfigManagement"), ("argoproj.io/v1alpha1", "Application"),
        ("rbac.authorization.k8s.io/v1", "Role"),
    ],
)  # fmt: skip
def test_a_kind_that_is_not_known_to_have_a_namespace_is_refused(api_version: str, kind: str) -> None:
    assert codes_of_kind(custom(api_version, kind)) == {"NotAllowed"}


def test_a_misspelt_kind_is_told_which_was_meant() -> None:
    done = Story.of(ONE, as_yaml(custom("apps/v1", "Deploymnt")), capacity=ROOM).plan()
    (problem,) = (p for p in done.problems if p.code == "NotAllowed")
    assert problem.hint == 'did you mean "Deployment"?'


def test_a_kind_is_known_by_its_definition_its_declaration_or_by_its_full_name_in_a_tenant() -> None:
    thing = custom(
        "example.com/v1", "Thing", spec={"template": {"spec": {"containers": [{"name": "m", "image": "x"}]}}}
    )
    declared = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: WorkloadKind\nmetadata: {name: thing}\nspec:\n  apiGroup: example.com\n"
        "  kind: Thing\n  versions: [v1]\n  pods:\n  - {template: [/spec/template], count: [{paths: [/spec/count], default: 1}]}\n"
    )
    claims = 'paths: ["workloads/**"]\nnamespaces: [team]\nkinds: '
    assert codes_of_kind(thing) == {"NotAllowed"}
    assert codes_of_kind(thing, {"kinds/thing.yaml": declared}) == set()
    assert codes_of_kind(thing, crd("example.com", "Thing", "Namespaced")) == set()
    assert codes_of_kind(thing, crd("example.org", "Thing", "Namespaced")) == {"NotAllowed"}
    assert codes_of_kind(thing, crd("example.com", "Thing", "Cluster")) == {"NotAllowed"}
    assert codes_of_kind(thing, tenant("t", claims + "[Pod, Thing]")) == set()
    assert codes_of_kind(thing, tenant("t", claims + "[Pod, 'Th*']")) == {"NotAllowed"}
    cluster_wide = crd("example.com", "Thing", "Cluster")
    assert codes_of_kind(thing, tenant("t", claims + "[Pod, Thing]"), cluster_wide) == {"NotAllowed"}
    assert codes_of_kind(
        thing, {"workloads/team/crd.yaml": crd("example.com", "Thing", "Namespaced")["platform/crd.yaml"]}
    ) == {"NotAllowed"}


def test_an_account_is_a_pods_own_if_the_source_has_it_in_its_namespace() -> None:
    asks = put(POD, ("spec", "serviceAccountName"), "runner")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner", "namespace": "team"}}
    elsewhere = put(account, ("metadata", "namespace"), "good")
    assert codes_of_kind(asks, {"workloads/team/account.yaml": yaml.safe_dump(account)}) == set()
    assert codes_of_kind(asks, {"platform/account.yaml": yaml.safe_dump(account)}) == set()
    assert codes_of_kind(asks, {"workloads/good/account.yaml": yaml.safe_dump(elsewhere)}) == {"ForeignServiceAccount"}


# laws


words = st.text("abcXY", min_size=1, max_size=4)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        words | st.sampled_from(["hostPath", "capabilities", "sysctls", "tolerations", "metadata", "annotations", "name", "data"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(anything, st.sampled_from(["Pod", "Secret", "ConfigMap", "Thing"]))
def test_no_object_is_too_odd_for_the_rules(value: Any, kind: str) -> None:
    (document,), _ = documents_in(
        "x.yaml", json.dumps({"apiVersion": "v1", "kind": kind, "x": value, "metadata": value}).encode()
    )
    asked, problems = rules.check_of_strangers(document)
    assert all(p.location.line == 1 for p in problems)
    assert all(reference.kind == "ServiceAccount" for reference in asked)


@given(
    st.lists(words | st.integers(0, 2), max_size=6),
    st.sampled_from(
        [name for name, case in REFUSED.items() if case[0] == "PrivilegedPod" and case[1] in (POD, WORKFLOW)]
    ),
)
def test_a_pod_is_looked_into_wherever_it_stands(place: list[str | int], name: str) -> None:
    _, *case = REFUSED[name]
    spec: Any = put(*case)
    for step in reversed(place):
        spec = {step: spec} if isinstance(step, str) else [{}] * step + [spec]
    assert set(codes(custom("example.com/v1", "Thing", spec=spec))) == {"PrivilegedPod"}


@given(st.text(min_size=1, max_size=20))
def test_no_link_but_to_the_web(address: str) -> None:
    told_codes = codes(put(CONFIG, (*ANNOTATIONS, "link.argocd.argoproj.io/x"), address))
    assert told_codes in ([], ["UnsafeLink"])
    assert (told_codes == []) <= ("http" in address.lower())


def ray(kind: str, version: str = "v1") -> dict[str, str]:
    return {"apiVersion": f"ray.io/{version}", "kind": kind, "name": "x"}


@pytest.mark.parametrize(
    ("api", "kind", "target", "told"),
    [
        ("autoscaling/v2", "HorizontalPodAutoscaler", ray("RayService"), True),
        ("autoscaling/v1", "HorizontalPodAutoscaler", ray("RayCluster", "v1alpha1"), True),
        ("keda.sh/v1alpha1", "ScaledObject", ray("RayCluster"), True),
        ("autoscaling/v2", "HorizontalPodAutoscaler", {**ray("Deployment"), "apiVersion": "apps/v1"}, False),
        ("keda.sh/v1alpha1", "ScaledObject", {"name": "x"}, False),
        ("example.com/v1", "HorizontalPodAutoscaler", ray("RayCluster"), False),
    ],
)
def test_a_ray_object_has_nothing_to_scale(api: str, kind: str, target: dict[str, str], told: bool) -> None:
    assert codes(custom(api, kind, spec={"scaleTargetRef": target})) == (["NothingToScale"] if told else [])


HEADS = {"matchLabels": {"ray.io/node-type": "head"}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"selector": HEADS, "maxUnavailable": 1}, True),
        ({"selector": HEADS, "maxUnavailable": "50%"}, True),
        ({"selector": HEADS, "minAvailable": "50%"}, True),
        (
            {"selector": {"matchExpressions": [{"key": "ray.io/cluster", "operator": "Exists"}]}, "maxUnavailable": 1},
            True,
        ),
        ({"selector": HEADS, "minAvailable": 1}, False),
        ({"selector": HEADS, "maxUnavailable": 0}, False),  # it is to let none go
        ({"selector": HEADS, "minAvailable": "100%"}, False),
        (
            {
                "selector": {"matchExpressions": [{"key": "ray.io/cluster", "operator": "DoesNotExist"}]},
                "maxUnavailable": 1,
            },
            False,
        ),
        ({"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}, False),
        ({"selector": {}, "maxUnavailable": 1}, False),
        ({"maxUnavailable": 1}, False),
        ({"selector": HEADS, "maxUnavailable": None}, False),
        ({"selector": HEADS, "minAvailable": [1]}, False),
    ],
)
def test_a_disruption_budget_has_nothing_to_count_ray_pods_against(spec: dict[str, Any], told: bool) -> None:
    assert codes(custom("policy/v1", "PodDisruptionBudget", spec=spec)) == (["BudgetNotCounted"] if told else [])

"""
Made-up spellings of objects that nobody may bring, each in whatever way objects can be written. A strategy for each class; those that are
about files are in `hostile_files`.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from hypothesis import strategies as st

from docs.hostile_inputs import HERE, File, Spelling, app, config, thing
from tests.hostile_files import JSON_TEXTS, NAMES

OBJECTS = st.sampled_from([yaml.safe_load(text) for text in (app(), config())])
HIDDEN = "hunter2"
"""Stands in every value that a spelling takes for a secret."""


@st.composite
def written(draw: st.DrawFn, value: dict[str, Any], *codes: str) -> Spelling:
    """An object, in one of the ways to write it: YAML in either style, JSON, in a List, or after others in a file."""
    way = draw(st.sampled_from(["block", "flow", "json", "list", "documents"]))
    if way == "json":
        return Spelling({"workloads/red/x.json": json.dumps(value)}, codes)
    if way == "list":
        value = {"apiVersion": "v1", "kind": "List", "items": [value]}
    text = yaml.safe_dump(value, default_flow_style=True if way == "flow" else None, sort_keys=draw(st.booleans()))
    return Spelling({HERE: config(name="before") + "---\n" + text if way == "documents" else text}, codes)


def with_metadata(value: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], **fields}}


@st.composite
def foreign_namespace(draw: st.DrawFn) -> Spelling:
    name = draw(
        st.sampled_from(["blue", "kube-system", "argocd", "flux-system", "gitplacer", "default"])
        | NAMES.filter(lambda n: n != "red")
    )
    text = draw(
        st.sampled_from(
            [
                app(namespace=name),
                config(f", namespace: {name}"),
                thing("v1", "Service", "spec: {selector: {a: b}}").replace(
                    "{name: x}", f"{{name: x, namespace: {name}}}"
                ),
            ]
        )
    )
    return Spelling({HERE: text}, ("NotTheTenants",))


NO_NAME = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.lists(NAMES, max_size=2), st.just(""), NAMES.map("-{}".format), NAMES.map("{} x".format),
    NAMES.map("../{}".format), NAMES.map("{}/".format),
)  # fmt: skip


@st.composite
def not_an_identity(draw: st.DrawFn) -> Spelling:
    """An object in a namespace of somebody else, or without some part of its name, or with a part that is none."""
    if draw(st.booleans()):
        return draw(foreign_namespace())
    value = draw(OBJECTS)
    part = draw(st.sampled_from(["apiVersion", "kind", "name", "namespace", "metadata"]))
    if part in ("name", "namespace"):
        # An empty namespace is none to an API server, and none at all is given by the path.
        wrong = draw(NO_NAME.filter(lambda said: said not in (None, "") or part == "name"))
        return draw(written(with_metadata(value, **{part: wrong}), "InvalidObject"))
    return draw(written({**value, part: draw(NO_NAME)}, "InvalidObject"))


@st.composite
def cluster_scoped(draw: st.DrawFn) -> Spelling:
    group = draw(NAMES) + "." + draw(NAMES)
    kind = f"Kind{draw(NAMES)}"
    return Spelling({HERE: thing(f"{group}/v1", kind)}, ("NotAllowed",))


@st.composite
def no_amount(draw: st.DrawFn) -> Spelling:
    said = draw(st.sampled_from(["'-{}'", "'{}q'", "'{}.{}.{}'", "'1e{}Gi'"])).replace(
        "{}", str(draw(st.integers(1, 99)))
    )
    return Spelling(
        {HERE: app(container=f"resources: {{requests: {{cpu: {said}, memory: 1Gi}}}}")}, ("InvalidQuantity",)
    )


STEERING = {
    "argoproj.io": ["Application", "ApplicationSet", "AppProject"],
    "kustomize.toolkit.fluxcd.io": ["Kustomization"],
    "helm.toolkit.fluxcd.io": ["HelmRelease"],
    "source.toolkit.fluxcd.io": ["GitRepository", "OCIRepository", "HelmRepository", "Bucket", "HelmChart", "ArtifactGenerator"],
    "notification.toolkit.fluxcd.io": ["Receiver", "Provider", "Alert"],
    "image.toolkit.fluxcd.io": ["ImageUpdateAutomation"],
    "configsync.gke.io": ["RootSync", "RepoSync"],
    "kargo.akuity.io": ["Stage", "Warehouse", "Promotion"],
    "promoter.argoproj.io": ["PromotionStrategy", "ChangeTransferPolicy"],
    "fleet.cattle.io": ["GitRepo", "Bundle"],
    "helm.cattle.io": ["HelmChart", "HelmChartConfig"],
}  # fmt: skip


@st.composite
def steering(draw: st.DrawFn) -> Spelling:
    group = draw(st.sampled_from(sorted(STEERING)))
    version = draw(st.sampled_from(["v1", "v1alpha1", "v1beta2", "v2"]))
    kind = draw(st.sampled_from(STEERING[group]))
    return draw(written(yaml.safe_load(thing(f"{group}/{version}", kind)), "NotAllowed"))


@st.composite
def rights(draw: st.DrawFn) -> Spelling:
    """A role or a binding of any version, a Secret that becomes a token, a pod that acts as somebody else."""
    kind = draw(st.sampled_from(["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "token", "account"]))
    name = draw(NAMES)
    if kind == "account":
        field = draw(st.sampled_from(["serviceAccountName", "serviceAccount"]))
        return draw(written(yaml.safe_load(app(pod=f"{field}: '{name}', ")), "ForeignServiceAccount"))
    if kind == "token":
        text = thing("v1", "Secret", "type: kubernetes.io/service-account-token", name=f"t{name}")
        value = with_metadata(yaml.safe_load(text), annotations={"kubernetes.io/service-account.name": name})
        return draw(written(value, "NotAllowed"))
    version = draw(st.sampled_from(["v1", "v1beta1", "v1alpha1", "v2"]))
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": [draw(st.sampled_from(["*", "impersonate", "escalate"]))]}
    value = yaml.safe_load(thing(f"rbac.authorization.k8s.io/{version}", kind, "a: b", name=f"r{name}"))
    return draw(written({**value, "rules": [rule]}, "NotAllowed"))


@st.composite
def secret(draw: st.DrawFn) -> Spelling:
    """A Secret with a value, whatever its type and the name of its key, or a variable that has the name of one."""
    value = HIDDEN + draw(st.text(string.ascii_letters + string.digits + "+/=", max_size=20))
    if draw(st.booleans()):
        words = draw(
            st.sampled_from(["PASSWORD", "secret", "apiKey", "ACCESS_KEY", "token", "private-key", "Credential"])
        )
        name = draw(st.sampled_from(["{}", "DB_{}", "my.{}"])).format(words)
        text = app(container="resources: {requests: {cpu: '1', memory: 2Gi}}, env: []")
        found = yaml.safe_load(text)
        pod = found["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]
        pod["containers"][0]["env"] = [{"name": name, "value": value}]
        return draw(written(found, "SecretInPlain"))
    field = draw(st.sampled_from(["data", "stringData"]))
    kind = draw(
        st.sampled_from(
            ["Opaque", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson", "bootstrap.kubernetes.io/token"]
        )
    )
    plain = {**yaml.safe_load(thing("v1", "Secret", "", name="s")), "type": kind, field: {draw(NAMES): value}}
    if draw(st.booleans()):
        plain["immutable"] = True
    return draw(written(plain, "PlainSecret"))


@st.composite
def double(draw: st.DrawFn) -> Spelling:
    """One object in two files or twice in one, in whatever ways they are written; or one of another tenant's by its name."""
    value = draw(OBJECTS)
    if draw(st.booleans()):
        theirs = with_metadata(value, name=draw(st.sampled_from(["shop", "x"])), namespace="blue")
        return draw(written(theirs, "NotTheTenants"))
    named = with_metadata(value, namespace="red")
    one, other = (draw(written(draw(st.sampled_from([value, named])))) for _ in range(2))
    files: dict[str, File] = {
        f"workloads/red/one/{n}-{path[14:]}": text
        for n, some in enumerate((one, other))
        for path, text in some.files.items()
    }
    return Spelling(files, ("DuplicateObject",))


SERVER_FIELDS = {
    "uid": st.uuids().map(str),
    "resourceVersion": st.integers(1, 10**9).map(str),
    "generation": st.integers(1, 99),
    "selfLink": NAMES.map("/api/v1/{}".format),
    "creationTimestamp": st.datetimes().map(lambda at: f"{at:%Y-%m-%dT%H:%M:%SZ}"),
    "deletionTimestamp": st.datetimes().map(lambda at: f"{at:%Y-%m-%dT%H:%M:%SZ}"),
    "deletionGracePeriodSeconds": st.integers(1, 99),
    "finalizers": st.lists(NAMES.map("example.com/{}".format), min_size=1, max_size=3),
    "ownerReferences": st.lists(st.fixed_dictionaries({"apiVersion": st.just("v1"), "kind": st.just("Pod"), "name": NAMES, "uid": NAMES}), min_size=1, max_size=2),
    "managedFields": st.lists(st.fixed_dictionaries({"manager": NAMES, "operation": st.just("Apply")}), min_size=1, max_size=2),
    "annotations": st.just({"kubectl.kubernetes.io/last-applied-configuration": HIDDEN}),
}  # fmt: skip


@st.composite
def server_field(draw: st.DrawFn) -> Spelling:
    value = draw(OBJECTS)
    if draw(st.integers(0, 5)) == 0:
        return draw(written({**value, "status": {draw(NAMES): "x" + draw(JSON_TEXTS)}}, "ServerField"))
    field = draw(st.sampled_from(sorted(SERVER_FIELDS)))
    return draw(written(with_metadata(value, **{field: draw(SERVER_FIELDS[field])}), "ServerField"))


ENGINES = (
    "argocd.argoproj.io", "notifications.argoproj.io", "kustomize.toolkit.fluxcd.io", "reconcile.fluxcd.io", "helm.sh", "configsync.gke.io",
    "configmanagement.gke.io", "client.lifecycle.config.k8s.io", "fleet.cattle.io", "kargo.akuity.io", "kluctl.io",
)  # fmt: skip


@st.composite
def control_annotation(draw: st.DrawFn) -> Spelling:
    """A key of some engine, one that is known or one to come, as an annotation or as a label."""
    known = [
        "sync-options",
        "sync-wave",
        "hook",
        "compare-options",
        "tracking-id",
        "prune",
        "ssa",
        "force",
        "managed",
        "deletion",
    ]
    key = f"{draw(st.sampled_from(ENGINES))}/{draw(st.sampled_from(known) | NAMES)}"
    value = draw(st.sampled_from(["Prune_false", "disabled", "Ignore", "-5", "detach"]) | NAMES)
    marked = with_metadata(draw(OBJECTS), **{draw(st.sampled_from(["annotations", "labels"])): {key: value}})
    return draw(written(marked, "ControlAnnotation", "OrphaningAnnotation"))


@st.composite
def unsafe_link(draw: st.DrawFn) -> Spelling:
    """A link to a scheme that is not the web's, in letters of any case, with blanks around and a title before it."""
    scheme = draw(st.sampled_from(["javascript", "vbscript", "data", "file", "blob"]))
    said = "".join(draw(st.sampled_from([c, c.upper()])) for c in scheme)
    blank = draw(st.sampled_from(["", " ", "\t", "\n", "\u200b"]))
    cut = draw(st.integers(0, len(said)))
    target = f"{draw(st.sampled_from(['', 'docs|', ' ']))}{said[:cut]}{blank}{said[cut:]}:{draw(JSON_TEXTS).replace('|', '')}"
    key = draw(st.sampled_from(["link.argocd.argoproj.io/{}", "example.com/{}", "{}"])).format(draw(NAMES))
    return draw(written(with_metadata(draw(OBJECTS), annotations={key: target}), "UnsafeLink"))


ON_THE_NODE = st.one_of(
    st.sampled_from(["hostNetwork", "hostPID", "hostIPC"]).map(lambda field: ((field,), True)),
    NAMES.map(lambda name: (("volumes",), [{"name": "v", "hostPath": {"path": f"/{name}"}}])),
    NAMES.map(lambda name: (("nodeName",), f"n{name}")),
    st.sampled_from([{"operator": "Exists"}, {"operator": "Exists", "effect": "NoSchedule"}]).map(
        lambda all_: (("tolerations",), [all_])
    ),
    st.integers(1, 65535).map(lambda port: (("containers", 0, "ports"), [{"containerPort": 1, "hostPort": port}])),
    st.sampled_from(
        [
            {"privileged": True},
            {"procMount": "Unmasked"},
            {"seccompProfile": {"type": "Unconfined"}},
            {"seLinuxOptions": {"type": "spc_t"}},
        ]
    ).map(lambda context: (("containers", 0, "securityContext"), context)),
    st.sampled_from(["SYS_ADMIN", "NET_RAW", "BPF", "ALL", "SYS_MODULE"]).map(
        lambda capability: (("containers", 0, "securityContext"), {"capabilities": {"add": ["CHOWN", capability]}})
    ),
)
"""Where in a pod something of its node is asked for, and what."""


@st.composite
def fence(draw: st.DrawFn) -> Spelling:
    """A pod that asks for something of its node."""
    (*way, last), said = draw(ON_THE_NODE)
    value = yaml.safe_load(app())
    at = value["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]
    for step in way:
        at = at[step]
    at[last] = said
    return draw(written(value, "PrivilegedPod"))


@st.composite
def runs_again(draw: st.DrawFn) -> Spelling:
    """A RayJob that deletes itself, by a rule among others or in the words of old."""
    statuses = [{"jobStatus": "SUCCEEDED"}, {"jobStatus": "FAILED"}, {"jobDeploymentStatus": "Failed"}]
    tame = st.sampled_from(["DeleteNone", "DeleteCluster"])
    if draw(st.booleans()):
        before, after = draw(tame), "DeleteSelf"
        ends = draw(st.permutations([before, after]))
        strategy: dict[str, Any] = {
            key: {"policy": policy} for key, policy in zip(("onSuccess", "onFailure"), ends, strict=True)
        }
    else:
        chosen = draw(st.lists(st.sampled_from(statuses), min_size=1, max_size=3, unique_by=str))
        itself = draw(st.integers(0, len(chosen) - 1))
        rules = [
            {"policy": "DeleteSelf" if n == itself else draw(tame), "condition": condition}
            for n, condition in enumerate(chosen)
        ]
        strategy = {"deletionRules": rules}
        if draw(st.booleans()):
            rules[itself]["condition"] = {**chosen[itself], "ttlSeconds": draw(st.integers(0, 999))}
    head = yaml.safe_load(app())["spec"]["rayClusterConfig"]
    value = yaml.safe_load(thing("ray.io/v1", "RayJob", "", name="job"))
    return draw(
        written(
            {**value, "spec": {"entrypoint": draw(NAMES), "deletionStrategy": strategy, "rayClusterSpec": head}},
            "DeletesItself",
        )
    )


OF_OBJECTS: Mapping[int, Callable[[], st.SearchStrategy[Spelling]]] = {
    21: not_an_identity, 22: cluster_scoped, 23: cluster_scoped, 24: steering, 25: rights, 26: secret, 27: double, 28: server_field,
    29: control_annotation, 30: unsafe_link, 33: fence, 34: no_amount, 35: runs_again,
}  # fmt: skip
"""By the number of the class."""

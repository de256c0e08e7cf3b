"""
Spellings of hostile input that nobody has written down: a strategy for each class that is a matter of files in a tenant's paths.

Classes that are a matter of something else are generated where their other tests are; `docs/hostile_inputs.py` names those.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from hypothesis import strategies as st

from docs.hostile_inputs import HERE, File, Spelling, app, config, thing
from gitplacer.tree import SUBMODULE, SYMLINK, Entry

WORDS_OF_YAML = {"y", "n", "no", "on", "off", "yes", "true", "false", "null", "nan"}
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=8).filter(lambda name: name not in WORDS_OF_YAML)
CONTROLS = st.sampled_from([chr(n) for n in (*range(1, 32), 127, 0x85, 0x200B, 0x202E, 0x2066, 0x2028, 0xFEFF)])
JSON_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


PATHS = st.builds(
    "workloads/red/{}{}{}".format,
    st.sampled_from(["", "deep/", "a/b/"]),
    NAMES,
    st.sampled_from([".yaml", ".yml", ".json"]),
)
"""Files that are read, in red's paths."""
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
def odd_path(draw: st.DrawFn) -> Spelling:
    before, after = draw(NAMES), draw(NAMES)
    kind = draw(st.sampled_from(["control", "end", "backslash", "long"]))
    segment = {
        "control": lambda: before + draw(CONTROLS) + after,
        "end": lambda: before + draw(st.sampled_from([" ", ".", "..", ". "])),
        "backslash": lambda: before + "\\" + after,
        "long": lambda: "\u00e9" * draw(st.integers(128, 200)),
    }[kind]()
    return Spelling({f"workloads/red/{segment}/x.yaml": app()})


@st.composite
def bomb(draw: st.DrawFn) -> Spelling:
    """Nesting that is spread over anchors, or aliases that multiply."""
    levels, width = draw(st.integers(3, 30)), draw(st.integers(2, 60))
    if draw(st.booleans()):
        per = max(2, 70 // levels + 1)
        text = "".join(f"k{n}: &k{n} {'[' * per}{f'*k{n - 1}' if n else 'x'}{']' * per}\n" for n in range(levels))
        return Spelling({HERE: text}, ("TooDeep",))
    levels = max(levels, 20)
    text = "k0: &k0 [x]\n" + "".join(f"k{n}: &k{n} [{','.join([f'*k{n - 1}'] * width)}]\n" for n in range(1, levels))
    return Spelling({HERE: text}, ("TooManyAliases", "TooDeep", "TooLarge"))


@st.composite
def not_utf8(draw: st.DrawFn) -> Spelling:
    text = config(body=f"data: {{a: '{draw(NAMES)}'}}").encode()
    at = draw(st.integers(0, len(text)))
    return Spelling(
        {HERE: text[:at] + draw(st.sampled_from([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\x80"])) + text[at:]}
    )


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
    st.none(), st.booleans(), st.integers(), st.lists(NAMES, max_size=2), st.just(""), NAMES.map("-{}".format), NAMES.map("{} x".format),
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
        wrong = draw(NO_NAME.filter(lambda said: said is not None or part == "name"))
        return draw(written(with_metadata(value, **{part: wrong}), "InvalidObject"))
    return draw(written({**value, part: draw(NO_NAME)}, "InvalidObject"))


@st.composite
def cluster_scoped(draw: st.DrawFn) -> Spelling:
    group = draw(NAMES) + "." + draw(NAMES)
    kind = f"Kind{draw(NAMES)}"
    return Spelling({HERE: thing(f"{group}/v1", kind)}, ("NotAllowed",))


@st.composite
def unlike_json(draw: st.DrawFn) -> Spelling:
    value, code = draw(
        st.sampled_from(
            [
                (".nan", "NotJSON"),
                (".inf", "NotJSON"),
                ("-.INF", "NotJSON"),
                ("!!python/name:os.system x", "CustomTag"),
                ("!x y", "CustomTag"),
            ]
        )
        | st.integers(2**64, 2**80).map(lambda n: (str(n), "NotJSON"))
    )
    return Spelling({HERE: config(body=f"data: {{{draw(NAMES)}: {value}}}")}, (code,))


@st.composite
def more_than_json(draw: st.DrawFn) -> Spelling:
    """A key twice, a key that is no text, or a value that JSON has not."""
    key, other = draw(NAMES), draw(st.sampled_from(["1", "1.5", "true", "null", "~", "[a, b]", "{a: b}"]))
    twice = Spelling(
        {HERE: config(body=f"data: {{{key}: a, 'b': c, {draw(st.sampled_from([key, repr(key)]))}: d}}")},
        ("DuplicateKey",),
    )
    no_text = Spelling({HERE: config(body=f"data: {{{other}: {key}}}")}, ("NonStringKey", "UnrenderedTemplate"))
    return draw(st.sampled_from([twice, no_text, draw(unlike_json())]))


@st.composite
def no_amount(draw: st.DrawFn) -> Spelling:
    said = draw(st.sampled_from(["'-{}'", "'{}q'", "'{}.{}.{}'", "'1e{}Gi'"])).replace(
        "{}", str(draw(st.integers(1, 99)))
    )
    return Spelling(
        {HERE: app(container=f"resources: {{requests: {{cpu: {said}, memory: 1Gi}}}}")}, ("InvalidQuantity",)
    )


@st.composite
def no_object(draw: st.DrawFn) -> Spelling:
    text = draw(st.sampled_from(["- {}\n", "{}\n", "[{}]\n", "'{}'\n"])).replace("{}", draw(NAMES))
    return Spelling({HERE: text}, ("NotAMapping",))


@st.composite
def twins(draw: st.DrawFn) -> Spelling:
    name = draw(NAMES)
    other = "".join(draw(st.sampled_from([c, c.upper()])) for c in name)
    other = other if other != name else name.upper()
    return Spelling(
        {f"workloads/red/t/{name}.yaml": app(name="one"), f"workloads/red/t/{other}.yaml": app(name="two")},
        ("CaseTwin",),
    )


@st.composite
def link(draw: st.DrawFn) -> Spelling:
    return Spelling({draw(PATHS | NAMES.map("workloads/red/{}".format)): Entry(SYMLINK, "0" * 40)})


@st.composite
def submodule(draw: st.DrawFn) -> Spelling:
    """A submodule, and sometimes what would tell git where it comes from."""
    path = draw(PATHS | NAMES.map("workloads/red/{}".format))
    told = {
        "workloads/red/.gitmodules": f'[submodule "x"]\n\tpath = {path}\n\turl = {draw(NAMES)}::{draw(JSON_TEXTS)}\n'
    }
    return Spelling({path: Entry(SUBMODULE, "1" * 40), **draw(st.sampled_from([{}, told]))}, ("NotAFile",))


@st.composite
def pointer(draw: st.DrawFn) -> Spelling:
    """A pointer of Git LFS, with extensions or without, or attributes that would have git change what it reads."""
    if draw(st.booleans()):
        what = draw(
            st.sampled_from(["filter={}", "working-tree-encoding={}", "eol={}", "text", "ident", "diff={} merge={}"])
        )
        text = f"{draw(st.sampled_from(['*', '*.yaml', 'well.yaml']))} {what.replace('{}', draw(NAMES))}\n"
        return Spelling({"workloads/red/.gitattributes": text}, ())
    more = draw(st.lists(NAMES, max_size=2))
    lines = ["version https://git-lfs.github.com/spec/v1"]
    lines += [f"ext-{n}-{name} sha256:{draw(st.integers(0, 2**64)):064x}" for n, name in enumerate(more)]
    lines += [f"oid sha256:{draw(st.integers(0, 2**64)):064x}", f"size {draw(st.integers(0, 2**40))}", ""]
    return Spelling({draw(PATHS): "\n".join(lines)}, ("LFSPointer",))


@st.composite
def too_much(draw: st.DrawFn) -> Spelling:
    """A file, a value or a path beyond its bound by little or by much."""
    more = draw(st.integers(1, 1000))
    match draw(st.sampled_from(["file", "value", "folders", "path"])):
        case "file":
            return Spelling({draw(PATHS): b"#" * ((4 << 20) + more)}, ("FileTooLarge",))
        case "value":
            return Spelling({HERE: config(body=f"data: {{{draw(NAMES)}: {'x' * ((1 << 20) + more)}}}")}, ("TooLarge",))
        case "folders":
            return Spelling({f"workloads/red/{'d/' * (63 + more)}x.yaml": app()}, ("OddPath",))
    return Spelling(
        {f"workloads/red/{'d' * 200}/" + ("e" * 200 + "/") * (20 + more // 100) + "x.yaml": app()}, ("OddPath",)
    )


@st.composite
def taken_for_else(draw: st.DrawFn) -> Spelling:
    """Where a text has to stand, a word that YAML reads as a number, as true or false, or as nothing, by one of its versions."""
    word = draw(
        st.sampled_from(["no", "Yes", "ON", "off", "true", "False", "0x1F", "1.10", "-.5", "1e3", "0o17"])
        | st.integers(0, 10**9).map(str)
        | st.integers(0, 777).map("0{}".format)
    )
    return draw(
        st.sampled_from(
            [
                Spelling({HERE: app(name=word)}, ("InvalidObject",)),
                Spelling({HERE: app(labels=f"{{{draw(NAMES)}: {word}}}")}, ("WrongType",)),
                Spelling({HERE: app(annotations=f"{{{draw(NAMES)}: {word}}}")}, ("WrongType",)),
                Spelling({HERE: config(f", namespace: {word}")}, ("InvalidObject", "WrongType", "NotTheTenants")),
            ]
        )
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
        return draw(written({**value, "status": {draw(NAMES): draw(JSON_TEXTS)}}, "ServerField"))
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


@st.composite
def to_be_rendered(draw: st.DrawFn) -> Spelling:
    """What Kustomize or Helm would read, whatever stands in it, beside an app; or a hidden file that an engine would."""
    text = draw(
        JSON_TEXTS
        | st.sampled_from(["resources: [../../blue]\n", "helmCharts: [{name: x}]\n", "generators: [exec.yaml]\n"])
    )
    folder = draw(st.sampled_from(["workloads/red/k", "workloads/red/a/b"]))
    if draw(st.booleans()):
        name = draw(st.sampled_from(["kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml"]))
        return Spelling({f"{folder}/{name}": text, f"{folder}/x.yaml": app()}, ("NotRendered",))
    name = draw(
        st.sampled_from(
            [".argocd-source.yaml", ".argocd-source-{}.yaml", ".sourceignore", ".krmignore", ".{}.yaml", ".{}/x.yaml"]
        )
    )
    return Spelling({f"{folder}/{name.format(draw(NAMES))}": text}, ())


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


GENERATED: Mapping[int, Callable[[], st.SearchStrategy[Spelling]]] = {
    1: odd_path, 3: link, 4: submodule, 5: pointer, 6: twins, 7: too_much, 15: not_utf8, 16: bomb, 17: more_than_json, 18: taken_for_else,
    19: unlike_json, 20: no_object, 21: not_an_identity, 22: cluster_scoped, 23: cluster_scoped, 24: steering, 25: rights, 26: secret,
    27: double, 28: server_field, 29: control_annotation, 30: unsafe_link, 32: to_be_rendered, 33: fence, 34: no_amount, 35: runs_again,
}  # fmt: skip
"""A strategy by the number of its class."""

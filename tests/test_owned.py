"""
Random fleets with random tenants, overrides and hostile files: nothing leaves our own paths, and nothing comes out that its tenant may
not have.

The judge knows what each tenant was given, and reads the deployment tree as Argo CD would; it knows nothing of how gitplacer decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.source.files import InMemory
from gitplacer.tree import Tree
from tests.fleets import API, CLUSTERS, Edit, World, histories, new_world
from tests.judges import Object, objects_on

OWNED = re.compile(
    rf"hydrator\.metadata|clusters/({'|'.join(CLUSTERS)})/(platform|workloads)/([^/\\\x00-\x1f]+/)*[^/\\\x00-\x1f]+\.(yaml|json)"
    r"|(placements|moving|guards)/([^/\\\x00-\x1f]+/)*[^/\\\x00-\x1f]+\.yaml"
)
OTHERS = {"alpha": "beta", "beta": "alpha"}
NAMESPACES = ("", "", "", "alpha", "beta", "alpha-more", "gamma", "kube-system", "argocd", "gitplacer")
KINDS = (("*",), ("*", "Thing"), ("Ray*", "Deployment"), ("ConfigMap", "Job", "RayJob"), None)
POD = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}}]}
TEMPLATE = {"metadata": {"labels": {"app": "red"}}, "spec": POD}


@dataclass(frozen=True)
class Owner:
    """What one tenant was given. Its paths are those of its name."""

    name: str
    namespaces: tuple[str, ...]
    kinds: tuple[str, ...] | None
    pods: str
    secrets: str

    def value(self) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "paths": [f"workloads/{self.name}/**"], "namespaces": list(self.namespaces), "pods": self.pods,
            "secrets": self.secrets,
        }  # fmt: skip
        if self.kinds is not None:
            spec["kinds"] = list(self.kinds)
        return {"apiVersion": API, "kind": "Tenant", "metadata": {"name": self.name}, "spec": spec}

    def has(self, namespace: str) -> bool:
        return any(
            namespace == said or (said.endswith("*") and namespace.startswith(said[:-1])) for said in self.namespaces
        )

    def may_write(self, kind: str) -> bool:
        return self.kinds is None or any(
            kind == said or (said.endswith("*") and kind.startswith(said[:-1])) for said in self.kinds
        )


def owners() -> st.SearchStrategy[tuple[Owner, ...]]:
    """No tenants; or one for each namespace of the fleet, who may have less than its files say, and never what the other has."""
    given_ = {
        name: st.builds(
            Owner,
            name=st.just(name),
            namespaces=st.sampled_from(((name,), (name,), (name, f"{name}-*"), (f"{name}-more",))),
            kinds=st.sampled_from(KINDS),
            pods=st.sampled_from(("Baseline", "Privileged")),
            secrets=st.sampled_from(("Sealed", "Plain")),
        )
        for name in OTHERS
    }
    return st.one_of(st.just(()), st.tuples(*given_.values()), st.tuples(*given_.values()))


BODIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("v1", "Secret", {"stringData": {"a": "b"}}),
    ("v1", "Secret", {"type": "kubernetes.io/service-account-token"}),
    ("v1", "ConfigMap", {"data": {"a": "b"}}),
    ("v1", "ConfigMap", {"status": {"a": "b"}}),
    ("v1", "Pod", {"spec": {**POD, "hostNetwork": True}}),
    ("v1", "Pod", {"spec": {**POD, "serviceAccountName": "kuberay"}}),
    ("v1", "Namespace", {}),
    ("v1", "Service", {"spec": {"selector": {"app": "red"}, "ports": [{"port": 80}]}}),
    ("batch/v1", "Job", {"spec": {"template": {**TEMPLATE, "spec": {**POD, "restartPolicy": "Never"}}}}),
    ("apps/v1", "DaemonSet", {"spec": {"selector": {"matchLabels": {"app": "red"}}, "template": TEMPLATE}}),
    ("rbac.authorization.k8s.io/v1", "Role", {"rules": []}),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {"roleRef": {}, "subjects": []}),
    ("argoproj.io/v1alpha1", "Application", {"spec": {}}),
    ("example.com/v1", "Thing", {"spec": {"template": TEMPLATE}}),
    ("kyverno.io/v1", "ClusterPolicy", {"spec": {}}),
    (API, "Tenant", {"spec": {"paths": ["**"], "namespaces": ["*"], "pods": "Privileged"}}),
    (
        API,
        "OverridePolicy",
        {"spec": {"select": {}, "overrides": [{"path": "/spec/hostPID", "op": "add", "value": True}]}},
    ),
)
METADATA: tuple[dict[str, Any], ...] = (
    {}, {}, {},
    {"annotations": {"argocd.argoproj.io/sync-options": "Prune=false"}},
    {"finalizers": ["example.com/never"]},
    {"annotations": {"link.argocd.argoproj.io/x": "javascript:alert(1)"}},
)  # fmt: skip
NAMES = ("code", "data", "app", "rayjob-one", "gitplacer-workloads", "../../evil")
FILES = ("job.yaml", "app.yaml", "evil.yaml", "kustomization-like.json", "..evil..yaml", "a b.yaml", "-x.yaml")


def hostile_files() -> st.SearchStrategy[dict[str, bytes]]:
    """Files in the paths of somebody: any object in any namespace under any name."""

    def written(numbers: tuple[int, ...], owner: str, file: str) -> tuple[str, bytes]:
        api_version, kind, body = BODIES[numbers[0] % len(BODIES)]
        metadata = {
            "name": NAMES[numbers[1] % len(NAMES)],
            "labels": {"app": "red"},
            **METADATA[numbers[2] % len(METADATA)],
        }
        if namespace := NAMESPACES[numbers[3] % len(NAMESPACES)]:
            metadata["namespace"] = namespace
        value = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
        return f"workloads/{owner}/{file}", json.dumps(value).encode()

    numbers = st.tuples(*(st.integers(0, len(some) - 1) for some in (BODIES, NAMES, METADATA, NAMESPACES)))
    one = st.builds(written, numbers, st.sampled_from(("alpha", "beta", "gamma")), st.sampled_from(FILES))
    return st.lists(one, min_size=1, max_size=8).map(dict)


OVERRIDES: tuple[dict[str, Any], ...] = (
    {"path": "/spec/template/spec/hostNetwork", "op": "add", "value": True},
    {"path": "/spec/replicas", "op": "replace", "value": 2},
    {"path": "/metadata/annotations", "op": "add", "value": {"argocd.argoproj.io/tracking-id": "x"}},
    {"path": "/metadata/finalizers", "op": "add", "value": ["example.com/never"]},
    {"path": "/data/more", "op": "add", "value": "x"},
    {"path": "/stringData", "op": "add", "value": {"a": "b"}},
    {"path": "/spec/rayClusterConfig/headGroupSpec/template/spec/hostPID", "op": "add", "value": True},
)


def overrides() -> st.SearchStrategy[dict[str, bytes]]:
    """Some OverridePolicies, each for the objects of a kind, on a cluster or on all."""

    def written(number: int, kind: str, where: str) -> tuple[str, bytes]:
        spec: dict[str, Any] = {"select": {"kinds": [kind]}, "overrides": [OVERRIDES[number]]}
        if where:
            spec["clusters"] = {"names": [where]}
        name = f"o-{number}-{kind.lower()}"
        value = {"apiVersion": API, "kind": "OverridePolicy", "metadata": {"name": name}, "spec": spec}
        return f"policies/{name}.yaml", json.dumps(value).encode()

    kinds = st.sampled_from(("Deployment", "ConfigMap", "RayService", "Service", "Secret"))
    one = st.builds(written, st.integers(0, len(OVERRIDES) - 1), kinds, st.sampled_from(("", *CLUSTERS)))
    return st.lists(one, max_size=3).map(dict)


def one_pass(world: World, more: Mapping[str, bytes], memory: InMemory) -> Hydration:
    inputs = Inputs(
        source=Tree.of({**world.source(), **more}),
        commit=SourceCommit(id="0" * 40, author="A <a@b>", date="2026-01-02T03:04:05+00:00", subject="s"),
        capacity=Tree.of(world.capacity()),
        deployment=Tree.of(world.deployment),
        deployment_commit="1" * 40,
        now=world.now,
        version="0.1.0",
    )
    return hydrate(inputs, memo=memory, with_candidates=False)


def wrong(tenants: tuple[Owner, ...], found: Object) -> Iterator[str]:
    """What an object in a directory of workloads is or holds that nobody, or not its tenant, may."""
    kind, metadata = found.value["kind"], found.value["metadata"]
    namespace = metadata.get("namespace", "")
    if (kind, namespace, metadata["name"]) == ("ConfigMap", "gitplacer", "gitplacer-workloads"):
        return
    text = json.dumps(found.value)
    if kind in ("Namespace", "Role", "ClusterRoleBinding", "Application", "ClusterPolicy", "Tenant", "OverridePolicy"):
        yield f"a {kind}"
    if namespace in ("kube-system", "argocd", "gitplacer", ""):
        yield f"in namespace {namespace}"
    if any(
        word in text for word in ("Prune=false", "tracking-id", "finalizers", "javascript", "account-token", "kuberay")
    ):
        yield "holds what no workload may"
    if kind == "ConfigMap" and "status" in found.value:
        yield "has a status"
    owner = next((tenant for tenant in tenants if tenant.has(namespace)), None)
    if tenants and owner is None:
        yield f"in namespace {namespace} of nobody"
    if owner is not None and not owner.may_write(kind):
        yield f"a {kind} of {owner.name}"
    if kind == "Thing" and (owner is None or "Thing" not in (owner.kinds or ())):
        yield "of a kind that nobody named"
    is_data = kind in ("ConfigMap", "Secret")  # the API server drops from them what would be a pod
    if not is_data and ("hostNetwork" in text or "hostPID" in text) and (owner is None or owner.pods != "Privileged"):
        yield "a pod with the node's network"
    if kind == "Secret" and "stringData" in text and (owner is None or owner.secrets != "Plain"):
        yield "a plain Secret"


@settings(
    max_examples=1000 if settings().max_examples > 100 else 25, phases=[p for p in Phase if p is not Phase.shrink]
)
@given(histories(), owners(), hostile_files(), overrides())
def test_nothing_leaves_our_paths_and_nothing_comes_out_that_its_tenant_may_not_have(
    history: list[list[Edit]], tenants: tuple[Owner, ...], hostile: Mapping[str, bytes], changes: Mapping[str, bytes]
) -> None:
    world, memory = new_world(), InMemory()
    world.policies = {name: replace(policy, group_by="label") for name, policy in world.policies.items()}
    more = {**hostile, **changes}
    more |= {f"tenants/{owner.name}.yaml": yaml.safe_dump(owner.value()).encode() for owner in tenants}
    for edits in history:
        for edit in edits:
            world.apply(edit)
        done = one_pass(world, more, memory)
        touched = {path for step in done.steps for path in (*step.changes.written, *step.changes.removed)}
        assert [path for path in touched if not OWNED.fullmatch(path)] == []
        world.publish({path: done.tree.read(path) for path in done.tree})
        for cluster, found in objects_on(world.deployment).items():
            workloads = [item for item in found.values() if item.path.startswith(f"clusters/{cluster}/workloads/")]
            planted = [item for item in workloads if item.path in world.foreign]
            said = {item.path: list(wrong(tenants, item)) for item in workloads if item not in planted}
            assert {path: words for path, words in said.items() if words} == {}


def test_the_judge_sees_what_it_is_asked_about() -> None:
    mine = Owner("alpha", ("alpha",), ("ConfigMap",), "Baseline", "Sealed")

    def of(kind: str, namespace: str, **fields: Any) -> list[str]:
        value = {"kind": kind, "metadata": {"name": "x", "namespace": namespace}, **fields}
        return list(wrong((mine,), Object("clusters/a/workloads/x.yaml", value)))

    assert of("ConfigMap", "alpha") == []
    assert of("ConfigMap", "beta") == ["in namespace beta of nobody"]
    assert of("ConfigMap", "alpha", spec={"hostNetwork": True}) == []
    assert of("Pod", "alpha", spec={"hostNetwork": True}) == ["a Pod of alpha", "a pod with the node's network"]
    assert of("ConfigMap", "alpha", status={}) == ["has a status"]
    assert OWNED.fullmatch("clusters/a/workloads/x/y.yaml") and not OWNED.fullmatch("clusters/z/workloads/x.yaml")
    assert not OWNED.fullmatch("README.md")

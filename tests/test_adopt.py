"""
Adopting folders that are kept by hand: what comes out is what was there, on each cluster, and the next pass keeps all of it.

What an engine reads, of the old folders and of the new ones, is judged by `tests/judges.py`, which reads YAML by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer import __version__
from gitplacer.adoption.adopt import Adoption, Asked, adopt
from gitplacer.adoption.differences import edits, same
from gitplacer.adoption.folders import by_pattern
from gitplacer.adoption.remarks import CannotAdopt
from gitplacer.documents import applied
from gitplacer.hydrate import Inputs, hydrate
from gitplacer.model.decision import Action
from gitplacer.source.files import InMemory
from gitplacer.tree import Tree
from tests.byhandfolders import configmap, deployment, documents, in_folders, raycluster, rayjob, service
from tests.commands import commit, git, run, write
from tests.judges import Identity, judge, objects_on
from tests.planviews import GOLDEN, assert_golden

Capture = pytest.CaptureFixture[str]
NOW = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
MEMO = InMemory()


def adopted(files: Mapping[str, str], **asked: Any) -> Adoption:
    chosen: dict[str, Any] = {"clusters": None, "namespace": "", "engine": None, "now": NOW, "version": __version__}
    return adopt(Tree.of({path: text.encode() for path, text in files.items()}), Asked(**{**chosen, **asked}), MEMO)


def deployed(found: Adoption) -> dict[str, dict[Identity, str]]:
    """What an engine would apply to each cluster of what was there before: without what gitplacer makes itself."""
    objects = objects_on(found.deployment.read_all(found.deployment))
    known = {(i.api_group, i.kind, i.namespace, i.name): thing for i, thing in found.fleet.things.items()}
    return {
        cluster: {who: item.canonical for who, item in there.items() if who in known and cluster in known[who].copies}
        for cluster, there in objects.items()
    }


def by_value(files: Mapping[str, str], parent: str = "clusters") -> dict[str, dict[Identity, str]]:
    return {
        cluster: {who: item.canonical for who, item in there.items()}
        for cluster, there in in_folders(files, parent).items()
    }


def made_by_gitplacer(found: Adoption) -> set[Identity]:
    """What is in the deployment tree and was in no folder."""
    known = {(i.api_group, i.kind, i.namespace, i.name) for i in found.fleet.things}
    objects = objects_on(found.deployment.read_all(found.deployment))
    return {who for there in objects.values() for who in there if who not in known}


def actions(found: Adoption, later: timedelta = timedelta(minutes=5)) -> set[Action]:
    """What the next pass decides, which must have nothing to commit."""
    source, deployment_tree = found.fleet.tree, found.deployment
    done = hydrate(
        Inputs(
            source=source,
            commit=None,
            capacity=Tree(),
            deployment=deployment_tree,
            now=NOW + later,
            version=__version__,
        ),
        memo=MEMO,
    )
    assert done.steps == ()
    return {decision.action for decision in done.view.plan.decisions}


# the story

STORY = {
    "README.md": "# Our clusters\n",
    "apps/east.yaml": (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: east, namespace: argocd}\n"
        "spec: {project: default, source: {path: clusters/east, directory: {recurse: true}}, destination: {name: east}}\n"
    ),
    "clusters/east/web/shop.yaml": documents(deployment("shop"), service("shop")),
    "clusters/west/web/shop.yaml": documents(deployment("shop", replicas=3), service("shop")),
    "clusters/lab/web/shop.yaml": documents(deployment("shop"), service("shop")),
    "clusters/east/web/banner.yaml": configmap("banner"),
    "clusters/west/web/banner.yaml": "# for the west\n" + configmap("banner"),
    "clusters/east/ray/train.yaml": rayjob("train"),
    "clusters/east/ray/pool.yaml": raycluster("pool"),
    "clusters/west/ray/pool.yaml": raycluster("pool", workers=4),
    "clusters/lab/operator.yaml": documents(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: ray, labels: {team: ml}}\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: op}\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op}\n"
        "subjects: [{kind: ServiceAccount, name: op, namespace: ops}]\n",
        deployment("op", "ops", more="      serviceAccountName: op\n"),
    ),
    "clusters/west/broken.yaml": "apiVersion: v1\nkind: {{ .Values.kind }}\n",
}


def test_a_story_from_folders_to_a_fleet_repo() -> None:
    found = adopted(STORY)
    files = found.fleet.tree.read_all(found.fleet.tree)
    told = "".join(f"--- {path}\n{data.decode()}" for path, data in sorted(files.items()))
    records = {p: found.deployment.read(p).decode() for p in found.deployment if p.startswith("placements/")}
    paths = "".join(f"{path}\n" for path in found.deployment)
    said = "".join(
        f"{what}: {r.location}: {r.message}\n" for what in ("left", "noted", "fell_back") for r in getattr(found, what)
    )
    told = f"{told}--- deployment\n{paths}--- records\n{''.join(records.values())}--- said\n{said}"
    assert_golden("adopt/story.txt", told, GOLDEN.parent)
    assert actions(found) == {Action.KEEP}
    assert judge(found.deployment.read_all(found.deployment)) == []
    before = by_value({path: text for path, text in STORY.items() if "broken" not in path})
    assert deployed(found) == before
    assert {kind for _, kind, _, _ in made_by_gitplacer(found)} == {
        "ConfigMap",
        "Namespace",
    }  # sentinels, and where they are
    assert [str(remark.location) for remark in found.left] == ["clusters/west/broken.yaml:2:7"]


def test_identical_copies_are_one_file_byte_for_byte() -> None:
    text = "# kept\n" + documents(deployment("shop"), "# also\n" + service("shop")) + "# to the end\n"
    found = adopted({f"clusters/{name}/shop.yaml": text for name in "abc"})
    assert found.fleet.tree.read("workloads/web/shop.yaml") == text.encode()
    assert {found.deployment.read(f"clusters/{name}/workloads/web/shop/shop.yaml") for name in "abc"} == {text.encode()}
    assert found.fleet.overrides == ()


def test_the_majority_is_the_source_and_the_rest_are_overrides() -> None:
    found = adopted(
        {f"clusters/{c}/a.yaml": deployment("a", replicas=n) for c, n in zip("abcd", (1, 2, 2, 5), strict=True)}
    )
    assert b"replicas: 2" in found.fleet.tree.read("workloads/web/a.yaml")
    assert [(o.clusters, [(e.path, e.value) for e in o.edits]) for o in found.fleet.overrides] == [
        (("a",), [(("spec", "replicas"), 1)]),
        (("d",), [(("spec", "replicas"), 5)]),
    ]


@pytest.mark.parametrize(
    ("files", "platform", "why"),
    [
        ({"a": documents(deployment("x"), configmap("alone"))}, {"alone"}, "nothing needs it"),
        ({"a": documents(deployment("x"), service("x")), "b": service("x")}, {"x"}, "it is where its app is not"),
        ({"a": deployment("x", "kube-system")}, {"x"}, "the project for workloads allows nothing there"),
        ({"a": deployment("x").replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 1  # how many\n", "")}, {"x"}, "it is on every node"),
        ({"a": configmap("x").replace("ConfigMap", "Role").replace("data: {key: a}", "rules: []").replace("v1", "rbac.authorization.k8s.io/v1")}, {"x"}, "it grants rights"),
    ],
)  # fmt: skip
def test_what_no_workload_brings_along_is_the_platforms(files: dict[str, str], platform: set[str], why: str) -> None:
    folders = {f"clusters/{cluster}/x.yaml": text for cluster, text in files.items()}
    found = adopted(folders)
    assert {identity.name for identity in found.fleet.platform} >= platform, why
    assert deployed(found) == by_value(folders)
    assert actions(found) == {Action.KEEP}
    assert found.left == ()


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: web}\nstringData: {password: hunter22}\n"


def test_a_secret_in_plain_text_is_kept_and_told() -> None:
    found = adopted({"clusters/a/s.yaml": SECRET})
    assert [(str(r.location), r.message) for r in found.fell_back] == [
        ("clusters/a/s.yaml:4:1", "stringData of this Secret is in plain text")
    ]
    assert actions(found) == {Action.KEEP}


GOOD = {"clusters/a/good.yaml": deployment("good"), "clusters/b/good.yaml": deployment("good")}


@pytest.mark.parametrize(
    ("bad", "place", "said"),
    [
        ({"clusters/a/x.yaml": "a: [\n"}, "clusters/a/x.yaml:2:1", ""),
        ({"clusters/a/x.yaml": "kind: {{ x }}\n"}, "clusters/a/x.yaml:1:7", "this is a template, not YAML"),
        ({"clusters/a/x.yaml": "some: values\n"}, "clusters/a/x.yaml:1:1", "is no Kubernetes object"),
        ({"clusters/a/x.yaml": "apiVersion: v1\nkind: ConfigMap\n"}, "clusters/a/x.yaml:1:1", "it needs metadata.name"),
        ({"clusters/a/x.yaml": configmap("x").replace(", namespace: web", "")}, "clusters/a/x.yaml:3:1", "ConfigMap x says no namespace"),
        ({"clusters/a/x.yaml": configmap("x"), "clusters/a/y.yaml": configmap("x", value="b")}, "clusters/a/y.yaml:1:1", "is also at clusters/a/x.yaml:1:1, with other content"),
        ({"clusters/Big_One/x.yaml": configmap("x")}, "clusters/Big_One:1:1", "cannot be the name of a cluster"),
        ({"clusters/a/k/kustomization.yaml": "resources: [x.yaml]\n", "clusters/a/k/x.yaml": configmap("x")}, "clusters/a/k:1:1", "this directory is for Kustomize or Helm"),
        ({"clusters/a/c/Chart.yaml": "name: c\n", "clusters/a/c/templates/x.yaml": "a: {{ b }}\n"}, "clusters/a/c:1:1", "this directory is for Kustomize or Helm"),
        ({"clusters/a/x.yaml": deployment("x"), "clusters/b/x.yaml": deployment("x").replace("apps/v1", "apps/v1beta2")}, "clusters/b/x.yaml:2:1", "in a way that no override can make"),
        ({"clusters/a/p.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {}\n"}, "clusters/a/p.yaml:1:1", "a Cluster of gitplacer is not adopted"),
    ],
)  # fmt: skip
def test_what_cannot_be_adopted_is_left_and_told_where(bad: dict[str, str], place: str, said: str) -> None:
    found = adopted({**GOOD, **bad}, clusters="clusters/{cluster}/**")
    assert [str(remark.location) for remark in found.left] == [place]
    assert said in found.left[0].message
    assert found.left[0].hint
    assert actions(found) == {Action.KEEP}
    assert b"good" in found.fleet.tree.read("workloads/web/good.yaml")


def test_an_object_that_is_there_twice_alike_is_taken_once() -> None:
    found = adopted({"clusters/a/x.yaml": configmap("x"), "clusters/a/y.yaml": configmap("x")})
    assert (found.left, len(found.fleet.things)) == ((), 1)
    assert [str(remark.location) for remark in found.noted] == ["clusters/a/y.yaml:1:1"]


def test_flux_itself_and_what_syncs_are_not_adopted() -> None:
    sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec: {path: ./clusters/a}\n"
    files = {**GOOD, "clusters/a/flux-system/gotk.yaml": configmap("gotk"), "clusters/a/apps.yaml": sync}
    found = adopted(files)
    assert {identity.name for identity in found.fleet.things} == {"good"}
    assert (found.engine, [(o.kind, o.name) for o in found.owners], found.left) == (
        "flux",
        [("Kustomization", "apps")],
        (),
    )


@pytest.mark.parametrize(
    ("sync", "place"),
    [
        ("kind: Kustomization\napiVersion: kustomize.toolkit.fluxcd.io/v1\nmetadata: {name: k}\nspec:\n  path: x\n  postBuild: {substitute: {a: b}}\n", "sync.yaml:6:3"),
        ("kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: k}\nspec:\n  source:\n    helm: {values: a}\n", "sync.yaml:6:5"),
        ("kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: k}\nspec:\n  source:\n    directory: {recurse: true}\n", None),
        ("kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: k}\nspec:\n  source:\n    directory: {recurse: true, exclude: '*.yml'}\n", "sync.yaml:6:32"),
        ("kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: k}\nspec:\n  sources:\n  - path: a\n  - kustomize: {images: [a]}\n", "sync.yaml:7:5"),
        ("kind: ApplicationSet\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: k}\nspec:\n  template:\n    spec:\n      sources:\n      - helm: {values: a}\n", "sync.yaml:8:9"),
        ("kind: Kustomization\napiVersion: kustomize.toolkit.fluxcd.io/v1\nmetadata: {name: k}\nspec:\n  path: x\n  decryption: {provider: sops, secretRef: {name: age}}\n", "sync.yaml:6:3"),
    ],
)  # fmt: skip
def test_a_sync_that_applies_something_else_than_the_folder_is_told(sync: str, place: str | None) -> None:
    assert [str(remark.location) for remark in adopted({**GOOD, "sync.yaml": sync}).altered] == (
        [place] if place else []
    )


_SET = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s}\nspec:\n  generators: [%s]\n  template: {spec: {source: %s}}\n"
_MATRIX = "{matrix: {generators: [{clusters: {}}, {git: {directories: [{path: %s}, {path: other/*, exclude: true}]}}]}}"


@pytest.mark.parametrize(
    ("sync", "deeper"),
    [
        ("kind: Application\nspec: {source: {path: clusters/a}}\n", "clusters/a/old/x.yaml and clusters/a/old/y/z.yaml"),
        ("kind: Application\nspec: {sources: [{path: ./clusters/a/old}]}\n", "clusters/a/old/y/z.yaml"),
        ("kind: Application\nspec: {source: {path: clusters/a, directory: {recurse: true}}}\n", None),
        ("kind: Application\nspec: {source: {path: clusters/b}}\n", None),  # nothing is deeper
        ("kind: Application\nspec: {source: {path: .hidden/a}}\n", None),
        (_SET % (_MATRIX % "clusters/*", "{path: '{{path}}'}"), "clusters/a/old/x.yaml and clusters/a/old/y/z.yaml"),
        (_SET % ("{list: {elements: [{cluster: a}]}}", "{path: 'clusters/{{.cluster}}/old'}"), "clusters/a/old/y/z.yaml"),
        (_SET % (_MATRIX % "clusters/*/*", "{path: '{{ .path.path }}'}"), "clusters/a/old/y/z.yaml"),
        (_SET % ("{list: {}}, 7, {git: {directories: {a: b}}}, {matrix: []}", "{path: '{{path}}'}"), None),
    ],
)  # fmt: skip
def test_what_argo_cd_does_not_look_into_is_told_where_it_is_adopted(sync: str, deeper: str | None) -> None:
    """Without `directory.recurse` it applies the files right in a folder. Others would run from the hand-over on."""
    if not sync.startswith("apiVersion"):
        sync = f"apiVersion: argoproj.io/v1alpha1\nmetadata: {{name: s}}\n{sync}"
    files = {f"clusters/{c}/w.yaml": deployment("w") for c in "ab"}
    files |= {"clusters/a/old/x.yaml": deployment("x"), "clusters/a/old/y/z.yaml": deployment("z")}
    told = [remark.message.partition(" is adopted: ")[2] for remark in adopted({**files, "sync.yaml": sync}).altered]
    assert told == ([deeper] if deeper else [])


@pytest.mark.parametrize(("directory", "told"), [("apps/*", "apps/*"), ("clusters/*", None), ("gone/*", None)])
def test_what_an_applicationset_makes_of_a_folder_that_is_not_adopted_is_told(directory: str, told: str | None) -> None:
    sync = _SET % (_MATRIX % directory, "{path: '{{path}}', directory: {recurse: true}}")
    files = {f"clusters/{c}/x.yaml": deployment("x") for c in "ab"} | {"apps/web/y.yaml": deployment("y")}
    found = adopted({**files, "sync.yaml": sync}, clusters="clusters/{cluster}/**")
    message = f"this ApplicationSet syncs {told}, and nothing in it was adopted"
    assert [remark.message for remark in found.left] == ([message] if told else [])


def test_a_file_that_may_say_what_syncs_and_cannot_be_read_is_told() -> None:
    sync = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: {{ .name }}}\n"
    files = {"apps/a.yaml": sync, "ci/template.yaml": "stages: {{ stages }}\n", "apps/bin.yaml": "\x00"}
    assert [str(remark.location) for remark in adopted({**GOOD, **files}).left] == ["apps/a.yaml:3:18"]


def test_the_repo_of_a_chart_comes_along_and_what_starts_flux_does_not() -> None:
    """A HelmRelease is nothing without the GitRepository that its chart is in; a FluxInstance would sync the old folders from its new place."""
    chart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: %s, namespace: web}\nspec: {url: https://example.com/%s}\n"
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: web}\n"
        "spec: {chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: charts}}}}\n"
    )
    flux = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\nspec: {sync: {path: clusters/a}}\n"
    texts = documents(release, chart % ("charts", "charts"), chart % ("folders", "folders"), flux)
    found = adopted({f"clusters/{c}/x.yaml": texts for c in "ab"})
    assert {(identity.kind, identity.name) for identity in found.fleet.things} == {
        ("HelmRelease", "r"),
        ("GitRepository", "charts"),
    }
    assert [(owner.kind, owner.name) for owner in found.owners] == [("FluxInstance", "flux")] * 2
    assert (found.engine, actions(found)) == ("flux", {Action.KEEP})


@pytest.mark.parametrize(
    "name",
    [
        "with space.yaml",
        "[x].yaml",
        "-.yaml",
        "ünï.yml",
        "{a}.yaml",
        "*.yaml",
        "Chart.old.yaml",
        "gitplacer.yaml",
        "a" * 200 + ".yaml",
    ],
)
def test_files_of_odd_names_are_adopted(name: str) -> None:
    files = {f"clusters/{c}/{name}": deployment("x", replicas=n) for c, n in (("a", 1), ("b", 2))}
    found = adopted({**files, f"clusters/a/sub/{name}": deployment("other")})
    assert (found.left, actions(found)) == ((), {Action.KEEP})
    assert len(found.fleet.things) == 2


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("./overlays/a", "this Kustomization syncs overlays/a, and nothing in it was adopted"),
        ("clusters/a", None),
        ("clusters", None),
        ("syncs", None),  # which holds nothing but what steers
        ("./", None),
        ("of-another-repo", None),
    ],
)
def test_a_folder_that_is_synced_and_not_adopted_is_told(folder: str, told: str | None) -> None:
    sync = f"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: s}}\nspec: {{path: {folder}}}\n"
    files = {f"clusters/{c}/x.yaml": deployment("x") for c in "ab"} | {"overlays/a/y.yaml": deployment("y")}
    found = adopted({**files, "syncs/s.yaml": sync}, clusters="clusters/{cluster}/**")
    assert [(remark.location.file, remark.message) for remark in found.left] == (
        [("syncs/s.yaml", told)] if told else []
    )


def test_long_names_that_begin_alike_are_told_apart() -> None:
    files = {f"clusters/{c}/{'a' * 230}{n}.yaml": deployment(f"x{n}") for c in "ab" for n in range(4)}
    found = adopted(files)
    assert (found.left, actions(found), len(found.fleet.things)) == ((), {Action.KEEP}, 4)
    assert max(len(path.rpartition("/")[2]) for path in found.fleet.manifests) < 250


def test_what_flux_keeps_in_its_own_namespace_is_adopted() -> None:
    chart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r, namespace: flux-system}\nspec: {url: https://charts.example}\n"
    found = adopted({f"clusters/{c}/{p}.yaml": t for c in "ab" for p, t in (("r", chart), ("x", deployment("x")))})
    assert (found.left, actions(found)) == ((), {Action.KEEP})
    assert "platform/all/namespace-flux-system/r.yaml" in found.fleet.manifests


@pytest.mark.parametrize(
    "bad",
    [configmap("x", "a b"), configmap("x").replace("ConfigMap", "Config/Map"), configmap("x", "-")],
)
def test_what_the_api_server_would_refuse_is_left(bad: str) -> None:
    other = bad.replace("key: a", "key: b")
    found = adopted({**GOOD, "clusters/a/x.yaml": bad, "clusters/b/x.yaml": other})
    assert {remark.location.file for remark in found.left} <= {"clusters/a/x.yaml", "clusters/b/x.yaml"}
    assert {identity.name for identity in found.fleet.things} == {"good"}
    assert actions(found) == {Action.KEEP}


# which folder is whose


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (["clusters/a/x.yaml", "clusters/b/y.yaml"], "clusters/{cluster}/**"),
        (["clusters/a/x.yaml"], "clusters/{cluster}/**"),
        (["live/a/ns/x.yaml", "live/b/ns/x.yaml", "lib/one/y.yaml", "lib/two/z.yaml"], "live/{cluster}/**"),
        (["a/x.yaml", "b/x.yaml"], "{cluster}/**"),
        (["gitops/clusters/a/web/x.yaml", "gitops/clusters/b/web/x.yaml"], "gitops/clusters/{cluster}/**"),
    ],
)
def test_folders_of_clusters_are_guessed(paths: list[str], pattern: str) -> None:
    assert adopted({path: configmap("x") for path in paths}).folders.pattern == pattern


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["a/x.yaml", "b/y.yaml"], "no folders side by side look like clusters"),
        (["one/a/x.yaml", "one/b/x.yaml", "two/c/y.yaml", "two/d/y.yaml"], "the folders in one/ or in two/ could be"),
        (["x.yaml"], "no folders side by side look like clusters"),
    ],
)
def test_a_guess_that_could_be_another_is_none(paths: list[str], said: str) -> None:
    with pytest.raises(CannotAdopt, match=said) as refused:
        adopted({path: configmap("x") for path in paths})
    assert "--clusters" in refused.value.hint


def test_where_all_is_rendered_it_says_so() -> None:
    """The layout that Flux shows: folders of clusters with nothing but Kustomizations, and overlays beside them."""
    sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: s}\nspec: {path: ./apps/%s}\n"
    files = {f"clusters/{c}/apps.yaml": sync % c for c in "ab"} | {
        f"apps/{c}/kustomization.yaml": "resources: []\n" for c in "ab"
    }
    with pytest.raises(CannotAdopt) as caught:
        adopted(files)
    assert caught.value.hint.startswith(
        "apps/a and apps/b are for Kustomize or Helm: render that in CI into a folder for each cluster"
    )


def test_a_pattern_says_clusters_and_namespaces() -> None:
    folders = by_pattern("envs/{cluster}/{namespace}/**", ["envs/a/web/x.yaml", "envs/b/web/sub/y.yaml", "z.yaml"])
    assert {p: (w.cluster, w.below, w.namespace) for p, w in folders.places.items()} == {
        "envs/a/web/x.yaml": ("a", "web/x.yaml", "web"),
        "envs/b/web/sub/y.yaml": ("b", "web/sub/y.yaml", "web"),
    }
    found = adopted(
        {"envs/a/web/x.yaml": deployment("x").replace(", namespace: web", "")}, clusters="envs/{cluster}/{namespace}/**"
    )
    assert [thing.namespace for thing in found.fleet.things] == ["web"]
    assert b"namespace: web" in found.deployment.read("clusters/a/workloads/web/x/x.yaml")


def test_a_namespace_can_be_given_for_objects_that_say_none() -> None:
    bare = documents(deployment("x"), configmap("words")).replace(", namespace: web", "")
    found = adopted({"clusters/a/x.yaml": bare}, namespace="shop")
    assert {(i.namespace, i.name) for i in found.fleet.things} == {("shop", "x"), ("shop", "words")}
    assert actions(found) == {Action.KEEP}


# the law

NAMES = st.sampled_from(["one", "two", "three"])
OBJECTS = st.one_of(
    st.builds(
        lambda n, ns, r: deployment(n, ns, replicas=r), NAMES, st.sampled_from(["web", "ray"]), st.integers(1, 3)
    ),
    st.builds(service, NAMES, st.sampled_from(["web", "ray"])),
    st.builds(configmap, NAMES, st.sampled_from(["web", "ray"]), st.sampled_from(["a", "b"])),
    st.builds(lambda n, w: raycluster(n, workers=w), NAMES, st.integers(0, 2)),
    st.builds(rayjob, NAMES),
    st.builds(lambda n: f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {n}}}\n", st.sampled_from(["web", "ray"])),
    st.builds(
        lambda n: deployment(n).replace("resources:", f"envFrom: [{{configMapRef: {{name: {n}}}}}], resources:"), NAMES
    ),
)
FOLDER = st.dictionaries(
    st.sampled_from(["x.yaml", "sub/x.yaml", "y.yaml", "z.yaml"]), st.lists(OBJECTS, min_size=1, max_size=3), max_size=3
)


@st.composite
def repos(draw: st.DrawFn) -> dict[str, str]:
    """Folders of one to four clusters, many files of which are alike; no object is twice in one."""
    files: dict[str, str] = {}
    common = draw(FOLDER)
    for cluster in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)):
        seen: set[Identity] = set()
        for below, texts in {**(common if draw(st.booleans()) else {}), **draw(FOLDER)}.items():
            kept = []
            for text in texts:
                (who,) = in_folders({"clusters/a/x.yaml": text})["a"]
                if who not in seen:
                    seen.add(who)
                    kept.append(text)
            if kept:
                files[f"clusters/{cluster}/{below}"] = documents(*kept)
    return files


@settings(max_examples=25)
@given(files=repos().filter(bool))
def test_every_cluster_has_what_its_folder_had_and_all_is_kept(files: dict[str, str]) -> None:
    found = adopted(files)
    assert found.left == ()
    assert deployed(found) == by_value(files)
    assert actions(found) <= {Action.KEEP}
    assert {kind for _, kind, _, _ in made_by_gitplacer(found)} <= {"ConfigMap", "Namespace"}
    assert judge(found.deployment.read_all(found.deployment)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "~/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/", "~c"]), inner, max_size=3),
    max_leaves=8,
)


@given(before=st.dictionaries(st.sampled_from("ab"), JSON), after=st.dictionaries(st.sampled_from("ab"), JSON))
def test_edits_make_one_value_of_another(before: dict[str, Any], after: dict[str, Any]) -> None:
    value: Any = before
    for edit in edits(before, after):
        value = applied(value, edit)
    assert same(value, after)


# the command


def old_repo(folder: Path, files: Mapping[str, str] = STORY) -> Path:
    write(folder, files)
    git(folder, "init", "-q")
    commit(folder, "By hand")
    return folder


def test_the_first_plan_keeps_all_and_a_second_reconcile_changes_nothing(capfd: Capture, tmp_path: Path) -> None:
    old, fleet, repo = old_repo(tmp_path / "old"), tmp_path / "fleet", tmp_path / "fleet-deployment.git"
    before = git(old, "status", "--porcelain") + git(old, "rev-parse", "HEAD")
    ran = run(capfd, "adopt", old, "-o", fleet)
    assert ran.code == 1, ran.err  # broken.yaml is left
    assert "clusters/west/broken.yaml:2:7: this is a template, not YAML" in ran.out
    assert git(old, "status", "--porcelain") + git(old, "rev-parse", "HEAD") == before
    plan = json.loads(run(capfd, "plan", fleet, "--deployment", repo, "--format", "json").out)
    assert {key: count for key, count in plan["summary"].items() if count} == {"Keep": len(plan["groups"])}
    assert len(plan["groups"]) > 4
    assert run(capfd, "validate", fleet).code == 0
    git(fleet, "init", "-q")
    commit(fleet, "Adopt")
    tip = git(repo, "rev-parse", "main")
    for _ in range(2):
        assert run(capfd, "reconcile", fleet, "--deployment", repo).code == 0
        assert git(repo, "rev-parse", "main") == tip
    explained = run(capfd, "explain", "web/shop", fleet, "--deployment", repo)
    assert (explained.code, "lab" in explained.out) == (0, True)


def test_after_an_adoption_an_edit_is_an_update_where_things_are(capfd: Capture, tmp_path: Path) -> None:
    files = {path: text for path, text in STORY.items() if "broken" not in path}
    fleet, repo = tmp_path / "our fleet", tmp_path / "our d.git"
    ran = run(capfd, "adopt", old_repo(tmp_path / "old", files), "-o", fleet, "--deployment-out", repo)
    assert (ran.code, f"Next: gitplacer plan '{fleet}' --deployment '{repo}', and read" in ran.err) == (0, True)
    git(fleet, "init", "-q")
    shop = fleet / "workloads/web/shop.yaml"
    shop.write_text(shop.read_text().replace("shop:1", "shop:2"))
    commit(fleet, "A new shop")
    assert run(capfd, "reconcile", fleet, "--deployment", repo).code == 0
    changed = git(repo, "show", "--format=", "--name-only", "main").split()
    assert [path for path in changed if "/workloads/web/" in path] == [
        f"clusters/{name}/workloads/web/shop/shop.yaml" for name in ("east", "lab", "west")
    ]


def test_a_directory_that_is_in_no_repo_is_read_as_it_lies(capfd: Capture, tmp_path: Path) -> None:
    write(tmp_path / "old", GOOD)
    assert run(capfd, "adopt", tmp_path / "old", "-o", tmp_path / "fleet").code == 0
    assert (tmp_path / "fleet/workloads/web/good.yaml").is_file()


def test_a_symlink_is_left_and_not_followed(capfd: Capture, tmp_path: Path) -> None:
    write(tmp_path / "old", GOOD)
    (tmp_path / "old/clusters/a/link.yaml").symlink_to("good.yaml")
    (tmp_path / "old/clusters/a/folder").symlink_to("../b")
    git(tmp_path / "old", "init", "-q")
    commit(tmp_path / "old", "By hand")
    ran = run(capfd, "adopt", tmp_path / "old", "-o", tmp_path / "fleet")
    assert (ran.code, "clusters/a/link.yaml:1:1: is a symbolic link, which is not followed" in ran.out) == (1, True)
    assert "clusters/a/folder:1:1: is a symbolic link, which is not followed" in ran.out


@pytest.mark.parametrize(
    ("pattern", "link", "is_told"),
    [
        ([], "clusters/c", True),
        (["--clusters", "clusters/{cluster}/{namespace}/**"], "clusters/c", True),
        (["--clusters", "clusters/{cluster}/{namespace}/**"], "clusters/a/more", True),
        (["--clusters", "clusters/{cluster}/{namespace}/**"], "docs", False),
    ],
)
def test_a_link_in_the_place_of_a_cluster_or_a_folder_of_one_is_told(
    capfd: Capture, tmp_path: Path, pattern: list[str], link: str, is_told: bool
) -> None:
    """An engine looks behind it, and the cluster would not be in the fleet."""
    write(
        tmp_path / "old",
        {f"clusters/{name}/web/{path.rpartition('/')[2]}": text for name in "ab" for path, text in GOOD.items()},
    )
    (tmp_path / "old" / link).symlink_to("elsewhere")
    git(tmp_path / "old", "init", "-q")
    commit(tmp_path / "old", "By hand")
    ran = run(capfd, "adopt", tmp_path / "old", "-o", tmp_path / "fleet", *pattern)
    assert (f"{link}:1:1: is a symbolic link, which is not followed" in ran.out) is is_told, ran
    assert ran.code == (1 if is_told else 0)


def test_a_file_whose_ending_is_in_capitals_is_left_as_engines_leave_it(capfd: Capture, tmp_path: Path) -> None:
    write(tmp_path / "old", {**GOOD, "clusters/a/OLD.YAML": "{}"})
    ran = run(capfd, "adopt", tmp_path / "old", "-o", tmp_path / "fleet")
    assert (ran.code, "clusters/a/OLD.YAML:1:1: ends in .YAML" in ran.out) == (1, True)


def test_a_submodule_with_the_name_of_a_manifest_is_passed_by(capfd: Capture, tmp_path: Path) -> None:
    write(tmp_path / "old", GOOD)
    git(tmp_path / "old", "init", "-q")
    git(tmp_path / "old", "add", "-A")
    git(tmp_path / "old", "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},apps.yaml")
    git(tmp_path / "old", "commit", "-q", "-m", "By hand")
    assert run(capfd, "adopt", tmp_path / "old", "-o", tmp_path / "fleet").code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--clusters", "clusters/**"], "does not say where the name of a cluster is"),
        (["--clusters", "nowhere/{cluster}/**"], "matches no file"),
        (["--namespace", "No"], "is no name of a namespace"),
        (["--deployment-out", "{tmp}/fleet"], "are the same directory"),
        (["--deployment-out", "{tmp}/old"], "is not empty"),
        (["--deployment-out", "{tmp}/old/clusters/new"], "is inside of what is adopted"),
        (["--rev", "nope"], "nope"),
        (["--engine", "helm"], "helm"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    capfd: Capture, tmp_path: Path, args: list[str], said: str
) -> None:
    old = old_repo(tmp_path / "old", GOOD)
    ran = run(
        capfd, "adopt", old, "-o", tmp_path / "fleet", *(arg.format(tmp=tmp_path, cluster="{cluster}") for arg in args)
    )
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert not (tmp_path / "fleet").exists()


def test_a_deployment_repo_of_ours_is_not_adopted(capfd: Capture, tmp_path: Path) -> None:
    assert run(capfd, "adopt", old_repo(tmp_path / "old", GOOD), "-o", tmp_path / "fleet").code == 0
    ran = run(capfd, "adopt", tmp_path / "fleet-deployment.git", "-o", tmp_path / "again")
    assert (ran.code, "gitplacer wrote this repo" in ran.err) == (1, True)

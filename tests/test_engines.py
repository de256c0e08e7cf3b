"""
What engines are told: it keeps the rules of their kinds, and covers every object of a deployment repo once.

The rules of the kinds are `tests/enginerules.py`; what Argo CD makes of it is judged by the small Argo CD of `tests/argocdengine.py`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import scenario_pages
from gitplacer import __version__
from gitplacer.cli import bootstrap as bootstrap_command
from gitplacer.engines import TABLE, CannotBootstrap, Wanted
from gitplacer.kinds.fleet import Cluster, FleetSpec
from gitplacer.scenarios import OnTrees, tell
from tests.argocdengine import ArgoCD, applications, read_by, render
from tests.enginerules import broken
from tests.judges import Finding, judge, judge_change, objects_on, units
from tests.stories import ANYWHERE, FLEET, Story, cluster, rayjob, rayservice, snapshot

URL = "ssh://git@example.com/deployment"
KUBERAY = {
    "name": "kuberay-operator",
    "repo": "https://ray-project.github.io/kuberay-helm/",
    "chart": "kuberay-operator",
    "version": "1.5.0",
    "namespace": "kuberay-system",
    "values": {"image": {"tag": "v1.5.0"}, "env": [{"name": "A", "value": "{{ not a template }}"}]},
}


def fleet(root: str = "clusters", branch: str = "main", **platform: Any) -> FleetSpec:
    return FleetSpec.model_validate({"deployment": {"root": root, "branch": branch}, "platform": platform})


def member(name: str, argocd: str | None = None, role: str = "Workload", **labels: str) -> Cluster:
    notes = {"gitplacer.dev/argocd-cluster": argocd} if argocd is not None else {}
    return Cluster.model_validate(
        {
            "apiVersion": "gitplacer.dev/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name, "labels": labels, "annotations": notes},
            "spec": {"role": role},
        }
    )


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MEMBERS = [member("b"), member("a"), member("hub", role="Management")]


def told(engine: str, spec: FleetSpec | None = None, members: list[Cluster] = MEMBERS, **wanted: Any) -> dict[str, Any]:
    """Every object that an engine is told with, by file."""
    files = TABLE[engine](spec or fleet(), members, URL, Wanted(**wanted))
    return {name: list(yaml.load_all(data, _LOADER)) for name, data in files.items()}


def documents(engine: str, *args: Any, **wanted: Any) -> list[dict[str, Any]]:
    return [document for found in told(engine, *args, **wanted).values() for document in found]


def test_the_engines_that_can_be_chosen_are_those_that_there_are() -> None:
    assert sorted(bootstrap_command.ENGINES) == sorted(TABLE)


# the rules of their kinds

VARIANTS = [
    ("argocd", {}),
    ("argocd", {"per": "workload", "namespace": "gitops"}),
    ("argocd", {"cluster_label": "example.com/cluster"}),
    ("flux", {}),
    ("flux", {"git_secret": "key", "decryption_secret": "sops-age", "timeout": "1h30m"}),
    ("flux", {"kubeconfig_secret": "{cluster}-kubeconfig", "namespace": "gitops"}),
]


@pytest.mark.parametrize(("engine", "wanted"), VARIANTS)
def test_what_engines_are_told_keeps_the_rules_of_their_kinds(engine: str, wanted: Mapping[str, Any]) -> None:
    charts = [] if "kubeconfig_secret" in wanted else [KUBERAY]
    members = [*MEMBERS, member("c", argocd="https://c.example.com:6443")]
    found = documents(engine, fleet("ray/x", "live", charts=charts), members, **wanted)
    assert [fault for document in found for fault in broken(document)] == []
    assert len(found) >= 5
    namespace = wanted.get("namespace") or {"argocd": "argocd", "flux": "flux-system"}[engine]
    assert {d["metadata"]["namespace"] for d in found} == {namespace}


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("spec", "template", "spec", "destinaton"), {}, ".spec.template.spec.destinaton is no field"),
        (("spec", "goTemplate"), "true", ".spec.goTemplate is no bool: 'true'"),
        (("spec", "template", "spec", "syncPolicy", "syncOptions"), ["ServerSideApply"], "[0] does not match"),
        (("spec", "template", "metadata"), {}, ".spec.template.metadata.name is missing"),
        (("spec", "syncPolicy", "applicationsSync"), "never", ".spec.syncPolicy.applicationsSync is none of"),
        (("spec", "generators"), {}, ".spec.generators is no list"),
        (("spec", "template", "spec", "syncPolicy", "retry", "limit"), True, ".retry.limit is no int"),
    ],
)
def test_the_rules_find_what_breaks_them(path: tuple[str, ...], value: Any, fault: str) -> None:
    (made,) = told("argocd")["applicationsets.yaml"]
    at = made
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    (found,) = broken(made)
    assert fault in found


# Argo CD


def argocd(spec: FleetSpec | None = None, members: list[Cluster] = MEMBERS, **wanted: Any) -> ArgoCD:
    engine = ArgoCD()
    engine.apply(documents("argocd", spec, members, **wanted))
    return engine


def made_for(tree: Mapping[str, bytes], sets: list[dict[str, Any]], **more: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for made in sets:
        if made["kind"] == "ApplicationSet" and made["metadata"]["name"] != "gitplacer-charts":
            for name, application in applications(made, tree, **more).items():
                assert found.setdefault(name, application) is application, f"two Applications called {name}"
    return found


def test_each_unit_of_each_workload_cluster_has_an_application() -> None:
    found = made_for({}, documents("argocd", fleet("ray/x", "live")))
    assert {name: app["spec"]["source"]["path"] for name, app in found.items()} == {
        "a-platform": "ray/x/a/platform",
        "a-workloads": "ray/x/a/workloads",
        "b-platform": "ray/x/b/platform",
        "b-workloads": "ray/x/b/workloads",
    }
    app = found["a-workloads"]
    assert app["spec"]["source"] == {
        "repoURL": URL, "targetRevision": "live", "path": "ray/x/a/workloads", "directory": {"recurse": True}
    }  # fmt: skip
    assert app["spec"]["destination"] == {"name": "a"}
    assert app["spec"]["project"] == "gitplacer-workloads"
    assert app["spec"]["syncPolicy"]["automated"] == {"prune": True, "selfHeal": True}
    assert {"ServerSideApply=true", "RespectIgnoreDifferences=true"} <= set(app["spec"]["syncPolicy"]["syncOptions"])
    assert app["metadata"]["annotations"] == {"argocd.argoproj.io/manifest-generate-paths": "."}
    assert "finalizers" not in app["metadata"]


@pytest.mark.parametrize("wanted", [{}, {"per": "workload"}, {"cluster_label": "example.com/cluster"}])
def test_what_can_never_be_applied_keeps_no_later_commit_out(wanted: Mapping[str, Any]) -> None:
    sets = [made for made in documents("argocd", fleet(charts=[KUBERAY]), **wanted) if made["kind"] == "ApplicationSet"]
    assert {made["metadata"]["name"] for made in sets} >= {"gitplacer", "gitplacer-charts"}
    for made in sets:
        retry = made["spec"]["template"]["spec"]["syncPolicy"]["retry"]
        assert (retry["limit"], retry["refresh"]) == (-1, True), made["metadata"]["name"]


def test_a_cluster_may_have_another_name_in_argocd_or_an_address() -> None:
    members = [member("a", argocd="prod-eu"), member("b", argocd="https://b.example.com"), member("c")]
    found = made_for({}, documents("argocd", None, members))
    assert {name: app["spec"]["destination"] for name, app in found.items() if name.endswith("platform")} == {
        "a-platform": {"name": "prod-eu", "server": ""},
        "b-platform": {"name": "", "server": "https://b.example.com"},
        "c-platform": {"name": "c", "server": ""},
    }
    platform, workloads = (d for d in documents("argocd", None, members) if d["kind"] == "AppProject")
    assert platform["spec"]["destinations"] == [
        {"name": "prod-eu", "namespace": "*"},
        {"server": "https://b.example.com", "namespace": "*"},
        {"name": "c", "namespace": "*"},
    ]
    assert {"name": "c", "namespace": "!argocd"} in workloads["spec"]["destinations"]
    assert workloads["spec"]["clusterResourceWhitelist"] == []


def test_clusters_can_be_those_whose_secret_has_a_label() -> None:
    secrets = [
        {"name": "eu", "server": "https://eu", "metadata": {"labels": {"example.com/cluster": "a"}}},
        {"name": "other", "server": "https://other", "metadata": {"labels": {}}},
    ]
    found = made_for({}, documents("argocd", cluster_label="example.com/cluster"), secrets=secrets)
    assert {name: (a["spec"]["source"]["path"], a["spec"]["destination"]["name"]) for name, a in found.items()} == {
        "a-platform": ("clusters/a/platform", "eu"),
        "a-workloads": ("clusters/a/workloads", "eu"),
    }


def test_a_chart_is_an_application_of_each_cluster_that_gets_it() -> None:
    charts = [
        {**KUBERAY, "clusters": {"matchLabels": {"ray": "new"}}},
        {**KUBERAY, "version": "1.4.2", "clusters": {"names": ["b"]}},
    ]
    members = [member("a", ray="new"), member("b"), member("hub", role="Management", ray="new")]
    (made,) = (
        d for d in documents("argocd", fleet(charts=charts), members) if d["metadata"]["name"] == "gitplacer-charts"
    )
    found = applications(made, {})
    assert {name: app["spec"]["source"]["targetRevision"] for name, app in found.items()} == {
        "a-chart-kuberay-operator": "1.5.0",
        "b-chart-kuberay-operator": "1.4.2",
    }
    app = found["a-chart-kuberay-operator"]
    assert app["spec"]["destination"] == {"name": "a", "namespace": "kuberay-system"}
    assert yaml.safe_load(app["spec"]["source"]["helm"]["values"]) == KUBERAY["values"]
    assert "ServerSideApply=true" in app["spec"]["syncPolicy"]["syncOptions"]
    projects = [d for d in documents("argocd", fleet(charts=charts), members) if d["kind"] == "AppProject"]
    assert [p["spec"]["sourceRepos"] for p in projects] == [[URL, KUBERAY["repo"]], [URL]]


# every object once


def owners(tree: Mapping[str, bytes], sets: list[dict[str, Any]]) -> dict[tuple[str, Any], list[str]]:
    """The Applications that apply each object of each cluster."""
    found: dict[tuple[str, Any], list[str]] = {
        (name, identity): [] for name, objects in objects_on(tree).items() for identity in objects
    }
    for name, app in made_for(tree, sets).items():
        for item in read_by(app, tree) or ():
            found[app["spec"]["destination"]["name"], item.identity].append(name)
    return found


@lru_cache
def trees(name: str) -> tuple[dict[str, bytes], ...]:
    """The deployment repo after each step of a scenario."""
    script = scenario_pages.script(name)
    stage = OnTrees(__version__)
    return tuple(dict(t.deployment.read_all(t.deployment)) for t in tell(script, stage) if not t.cases)


IN_TREES = [
    name
    for name in scenario_pages.NAMES
    if not any(step.deployment and step.deployment.revert for step in scenario_pages.script(name).spec.steps)
]


@pytest.mark.parametrize("name", IN_TREES)
def test_every_scenario_reads_well_and_every_object_has_one_application(name: str) -> None:
    before: dict[str, bytes] = {}
    for tree in trees(name):
        assert [finding for finding in judge(tree) if not _is_meant(finding, tree)] == []
        assert judge_change(before, tree) == []
        before = tree
        members = [member(cluster) for cluster in sorted({cluster for cluster, _ in units(tree, "clusters")})]
        for per in ("cluster", "workload"):
            told_by = owners(tree, documents("argocd", None, members, per=per))
            assert told_by
            assert {key: found for key, found in told_by.items() if len(found) != 1} == {}


def _is_meant(finding: Finding, tree: Mapping[str, bytes]) -> bool:
    """The hub's own namespace holds what stands for clusters; and an app that spans clusters has its head on one of them."""
    if finding.rule == "namespace":
        return "/platform/standby/" in finding.path
    group = "/".join(finding.path.split("/")[3:5])
    return finding.rule == "path" and any(path.endswith(f"{group}/remote-workers.yaml") for path in tree)


def test_the_two_ways_together_would_own_objects_twice() -> None:
    """So that the test above can fail."""
    tree = trees("right-cluster")[-1]
    members = [member(cluster) for cluster in sorted({cluster for cluster, _ in units(tree, "clusters")})]
    by_cluster, by_workload = (argocd(None, members, per=per).sets for per in ("cluster", "workload"))
    told_by = owners(tree, [by_cluster["gitplacer"], by_workload["gitplacer-workloads"]])
    assert any(len(found) == 2 for found in told_by.values())


# a story, as Argo CD lives it


def moving() -> Iterator[dict[str, bytes]]:
    """The deployment repo before and after a service moves from a to b; a job that may run stays."""
    story = Story.of(
        {"fleet.yaml": FLEET},
        cluster("a"),
        cluster("b"),
        ANYWHERE,
        rayservice("team-x", "llm"),
        rayjob("team-x", "train"),
        capacity={**snapshot("a", "n1 16 64Gi 8"), **snapshot("b", "n1 12 48Gi 8")},
    )
    story.run()
    first = dict(story.deployment.read_all(story.deployment))
    yield first
    (home,) = {path.split("/")[1] for path in first if "/llm/" in path and path.startswith("clusters/")}
    story.source |= cluster(home, state="Draining")
    story.run()
    yield dict(story.deployment.read_all(story.deployment))


def named(engine: ArgoCD, name: str) -> dict[str, int]:
    """Where an object is, and which one it is."""
    return {c: live.uid for c, objects in engine.clusters.items() for i, live in objects.items() if i[-1] == name}


PAIR = [member("a"), member("b")]


@pytest.mark.parametrize("per", ["cluster", "workload"])
def test_a_group_that_moves_is_on_one_cluster_afterwards(per: str) -> None:
    before, after = moving()
    engine = argocd(None, PAIR, per=per)
    engine.refresh(before)
    assert engine.objects() == {c: set(objects) for c, objects in objects_on(before).items()}
    (was,), job = named(engine, "llm"), named(engine, "train")
    engine.refresh(after)
    assert engine.objects() == {c: set(objects) for c, objects in objects_on(after).items()}
    (now,) = named(engine, "llm")
    assert (was, now) in (("a", "b"), ("b", "a"))
    assert named(engine, "train") == job


def test_a_copy_that_is_preserved_makes_a_move_a_duplicate() -> None:
    """Why per workload nothing is preserved."""
    before, after = moving()
    engine = argocd(None, PAIR, per="workload")
    preserving = engine.sets["gitplacer-workloads"]
    preserving["spec"]["syncPolicy"]["preserveResourcesOnDeletion"] = True
    del preserving["spec"]["template"]["metadata"]["finalizers"]
    engine.refresh(before)
    engine.refresh(after)
    assert sorted(named(engine, "llm")) == ["a", "b"]


def test_per_cluster_what_runs_outlives_its_application_and_per_workload_it_does_not() -> None:
    (tree, _) = moving()
    for per, survives in (("cluster", True), ("workload", False)):
        engine = argocd(None, PAIR, per=per)
        engine.refresh(tree)
        for app in list(engine.apps):
            engine.delete(app)
        assert bool(named(engine, "llm")) is survives
        assert "gitplacer-workloads" in {i[-1] for objects in engine.clusters.values() for i in objects}


@pytest.mark.parametrize("first", ["gitplacer", "gitplacer-workloads"])
def test_one_can_change_from_per_cluster_to_per_workload_and_back_and_nothing_starts_anew(first: str) -> None:
    """As docs/engines.md tells how, in whatever order the controllers see it."""
    (tree, _) = moving()
    engine = argocd(None, PAIR)
    engine.refresh(tree)
    started = {name: named(engine, name) for name in ("llm", "train")}
    engine.apply(documents("argocd", None, PAIR, per="workload"))
    for name in sorted(engine.sets, key=lambda each: each != first):
        engine.generate(tree, name)
        for app in sorted(engine.apps, reverse=True):
            engine.sync(tree, app)
    engine.refresh(tree)
    assert "a-workloads" not in engine.apps
    assert {name: named(engine, name) for name in started} == started

    for name in ("gitplacer-workloads", "gitplacer-epochs"):  # kubectl delete applicationset --cascade=orphan
        del engine.sets[name]
        engine.owners = {app: owner for app, owner in engine.owners.items() if owner != name}
    engine.apply(documents("argocd", None, PAIR))
    engine.refresh(tree)
    for name, app in list(engine.apps.items()):
        if name not in engine.owners:  # kubectl patch: no finalizers; kubectl delete
            app["metadata"].pop("finalizers", None)
            engine.delete(name)
    engine.refresh(tree)
    assert {name: named(engine, name) for name in started} == started
    assert sorted(engine.apps) == ["a-platform", "a-workloads", "b-platform", "b-workloads"]


def test_applications_of_workloads_have_names_that_argocd_takes_and_that_differ() -> None:
    groups = {
        "clusters/a/workloads/b-c/d/x.yaml": b"",
        "clusters/a/workloads/b/c-d/x.yaml": b"",
        "clusters/a/workloads/b/C_d/x.yaml": b"",
        "clusters/a/workloads/b/_shared/x.yaml": b"",
        f"clusters/a/workloads/{'n' * 63}/{'g' * 63}/x.yaml": b"",
        "clusters/a/workloads/gitplacer.yaml": b"",
        "clusters/other/workloads/b/c/x.yaml": b"",
    }
    made = argocd(per="workload").sets["gitplacer-workloads"]
    found = applications(made, groups)
    assert len(found) == 5
    for name, app in found.items():
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name) and len(name) <= 63, name
        assert app["metadata"]["finalizers"] == ["resources-finalizer.argocd.argoproj.io"]
    assert found["a-b-shared-" + render("{{.p | sha256sum | trunc 8}}", {"p": "clusters/a/workloads/b/_shared"})]


# Flux


def test_flux_applies_workloads_after_platform_in_each_workload_cluster() -> None:
    files = told("flux", fleet("ray/x", "live"))
    assert list(files) == ["a.yaml", "b.yaml"]
    repository, platform, workloads = files["b.yaml"]
    assert (repository["spec"]["url"], repository["spec"]["ref"]) == (URL, {"branch": "live"})
    assert [unit["spec"]["path"] for unit in (platform, workloads)] == ["./ray/x/b/platform", "./ray/x/b/workloads"]
    assert workloads["spec"]["dependsOn"] == [{"name": platform["metadata"]["name"]}]
    for unit in (platform, workloads):
        assert unit["spec"]["sourceRef"]["name"] == repository["metadata"]["name"]
        assert (unit["spec"]["prune"], unit["spec"]["wait"], unit["spec"]["deletionPolicy"]) == (True, True, "Orphan")
    assert [check["kind"] for check in workloads["spec"]["healthCheckExprs"]] == ["RayCluster", "RayJob", "RayService"]


def test_a_hub_reaches_every_cluster_with_its_own_kubeconfig() -> None:
    files = told("flux", kubeconfig_secret="{cluster}-kc", decryption_secret="sops", git_secret="git")
    assert list(files) == ["source.yaml", "a.yaml", "b.yaml"]
    assert files["source.yaml"][0]["spec"]["secretRef"] == {"name": "git"}
    made = [document for name in ("a.yaml", "b.yaml") for document in files[name]]
    assert [d["metadata"]["name"] for d in made] == [
        "gitplacer-a-platform", "gitplacer-a-workloads", "gitplacer-b-platform", "gitplacer-b-workloads"
    ]  # fmt: skip
    assert [d["spec"]["kubeConfig"]["secretRef"]["name"] for d in made] == ["a-kc", "a-kc", "b-kc", "b-kc"]
    assert all(d["spec"]["decryption"] == {"provider": "sops", "secretRef": {"name": "sops"}} for d in made)


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("git@github.com:my-org/fleet.git", "ssh://git@github.com/my-org/fleet.git"),
        ("git@host:/srv/fleet.git", "ssh://git@host/srv/fleet.git"),
        ("ssh://git@host:2222/fleet", "ssh://git@host:2222/fleet"),
        ("https://host/fleet.git", "https://host/fleet.git"),
    ],
)
def test_flux_is_given_an_address_with_a_scheme(url: str, taken: str) -> None:
    (repository, *_) = yaml.safe_load_all(TABLE["flux"](fleet(), [member("a")], url, Wanted())["a.yaml"])
    assert repository["spec"]["url"] == taken
    assert broken(repository) == []


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_engines_sync_what_was_merged_and_not_what_is_proposed(engine: str) -> None:
    spec = FleetSpec.model_validate({"deployment": {"branch": "live", "proposed": True}})
    assert spec.deployment.written == "live-next"
    text = "".join(data.decode() for data in TABLE[engine](spec, MEMBERS, URL, Wanted()).values())
    assert "live" in text and "live-next" not in text


# what is refused


@pytest.mark.parametrize(
    ("engine", "members", "platform", "wanted", "why"),
    [
        ("argocd", MEMBERS, {}, {"per": "workload", "cluster_label": "x"}, "would take the cluster's Applications"),
        ("argocd", [member("a", argocd="http://a")], {}, {}, "Cluster a: gitplacer.dev/argocd-cluster http://a is no https"),
        ("argocd", [member("a", argocd=" ")], {}, {}, "Cluster a: gitplacer.dev/argocd-cluster is empty"),
        ("flux", MEMBERS, {}, {"per": "workload"}, "Flux makes no Kustomizations from directories"),
        ("flux", MEMBERS, {}, {"timeout": "ever"}, "--timeout ever is no time to wait"),
        ("flux", MEMBERS, {}, {"git_secret": "A B"}, "--git-secret A B is no name of a Secret"),
        ("flux", MEMBERS, {}, {"kubeconfig_secret": "kc"}, "--kubeconfig-secret kc is the same for every cluster"),
        ("flux", MEMBERS, {"charts": [KUBERAY]}, {"kubeconfig_secret": "{cluster}"}, "has no helm-controller: a, b"),
    ],
)  # fmt: skip
def test_what_an_engine_cannot_do_is_refused_with_the_reason(
    engine: str, members: list[Cluster], platform: dict[str, Any], wanted: dict[str, Any], why: str
) -> None:
    with pytest.raises(CannotBootstrap) as caught:
        told(engine, fleet(**platform), members, **wanted)
    assert why in str(caught.value)
    assert caught.value.hint


# what kustomize makes of every directory

KUBECTL = shutil.which("kubectl")


@pytest.mark.slow
@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl, which has kustomize in it")
def test_kustomize_builds_every_directory_of_every_scenario(tmp_path: Path) -> None:
    """As Flux does it: with a kustomization that names every manifest below. Directories that are the same are built once."""
    seen: dict[frozenset[tuple[str, bytes]], Path] = {}
    for name in IN_TREES:
        for tree in trees(name):
            for files in units(tree, "clusters").values():
                key = frozenset(files.items())
                if key not in seen:
                    seen[key] = tmp_path / str(len(seen))
                    _lay_out(seen[key], files)
    assert len(seen) > 100
    script = 'for d in */; do "$0" kustomize "$d" > "$d/built" || echo "$d"; done'
    done = subprocess.run(
        ["sh", "-c", script, str(KUBECTL)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("", "")
    for key, folder in seen.items():
        tree = {f"clusters/x/workloads/{name}": data for name, data in key}
        built = [value for value in yaml.load_all((folder / "built").read_text(), _LOADER) if value]
        wanted = [identity[1::2] for identity in objects_on(tree)["x"]]
        assert sorted((value["kind"], value["metadata"]["name"]) for value in built) == sorted(wanted)


def _lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    listed = "".join(f"- {name}\n" for name in sorted(files) if name.endswith((".yaml", ".yml")))
    (folder / "kustomization.yaml").write_text(f"resources:\n{listed}")

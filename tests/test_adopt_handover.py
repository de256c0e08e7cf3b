"""
The way from the old folders to the new ones, as README.md of an adopted fleet tells it: nothing is deleted at any step, and in the end everything
belongs to the new sync. `tests/argocdengine.py` and `tests/fluxengine.py` are the engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitplacer import __version__
from gitplacer.adoption.adopt import Adoption, Asked, adopt
from gitplacer.adoption.telling import readme
from gitplacer.engines import TABLE, Wanted
from gitplacer.kinds.fleet import Cluster, FleetSpec
from gitplacer.packaged import ADOPTED, packaged
from gitplacer.tree import Tree
from tests.argocdengine import FINALIZER, ArgoCD, Live
from tests.byhandfolders import configmap, deployment, documents, raycluster, service
from tests.fluxengine import Flux
from tests.judges import Identity

NOW = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
URL = "ssh://git@example.com/deployment"
Files = dict[str, bytes]

APPS = {
    "shop.yaml": documents(deployment("shop"), service("shop"), configmap("alone")),
    "pool.yaml": raycluster("pool"),
    "ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n",
}


def kustomization(name: str, path: str, *, prune: bool = True) -> str:
    return (
        f"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n"
        f"spec:\n  path: {path}\n  prune: {str(prune).lower()}\n  interval: 1m\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n"
    )


def as_bytes(files: Mapping[str, str]) -> Files:
    return {path: text.encode() for path, text in files.items()}


def adopted(files: Files, clusters: str) -> tuple[Adoption, Files]:
    asked = Asked(clusters=clusters, namespace="", engine=None, now=NOW, version=__version__)
    found = adopt(Tree.of(files), asked)
    assert found.left == ()
    return found, found.deployment.read_all(found.deployment)


def bootstrap(engine: str, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    value = {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "Cluster", "spec": {}}
    members = [Cluster.model_validate({**value, "metadata": {"name": name}}) for name in names]
    files = TABLE[engine](FleetSpec(), members, URL, Wanted())
    return {name: list(yaml.safe_load_all(data)) for name, data in files.items()}


def uids(objects: Mapping[Identity, Live]) -> dict[Identity, int]:
    return {who: live.uid for who, live in objects.items() if who[1] != "Kustomization"}


def way_over(found: Adoption) -> str:
    return readme(found, packaged(ADOPTED), "fleet", "fleet-deployment.git").decode()


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_the_page_has_every_command_of_the_readme(engine: str) -> None:
    page = (Path(__file__).parent.parent / "docs/adopt.md").read_text()
    told = packaged(ADOPTED)[f"README.{engine}.md"].decode()
    commands = [
        line.strip() for block in re.findall(r"```\n(.*?)```", told, re.DOTALL) for line in block.strip().splitlines()
    ]
    assert len(commands) >= 3
    for command in commands:
        assert command.replace("@FLEET@", "fleet").replace("@CLUSTER@", "east") in page


# Argo CD


def application(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd", "finalizers": [FINALIZER]},
        "spec": {
            "project": "default",
            "source": {"repoURL": URL, "path": f"clusters/{name}", "directory": {"recurse": True}},
            "destination": {"name": name},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
        },
    }


@pytest.fixture
def argo() -> tuple[ArgoCD, Adoption, Files]:
    """Two clusters that Applications keep, and what adoption makes of their folders."""
    old = as_bytes({f"clusters/{name}/{path}": text for name in ("east", "west") for path, text in APPS.items()})
    engine = ArgoCD(apps={name: application(name) for name in ("east", "west")})
    for name in engine.apps:
        engine.sync(old, name)
    apps = {f"apps/{name}.yaml": yaml.safe_dump(application(name)).encode() for name in engine.apps}
    found, new = adopted({**old, **apps}, "clusters/{cluster}/**")
    assert (found.engine, [owner.name for owner in found.owners]) == ("argocd", ["east", "west"])
    return engine, found, new


def test_argo_cd_goes_over_and_prunes_nothing(argo: tuple[ArgoCD, Adoption, Files]) -> None:
    engine, found, new = argo
    before = {name: uids(there) for name, there in engine.clusters.items()}
    assert all(len(there) == 5 for there in before.values())
    steps = way_over(found)
    assert (
        steps.index('"finalizers": null') < steps.index("delete application <name>") < steps.index("bootstrap argocd")
    )
    for name in list(engine.apps):
        del engine.apps[name]["metadata"]["finalizers"]
        engine.delete(name)
    assert {name: uids(there) for name, there in engine.clusters.items()} == before
    engine.apply([d for documents_ in bootstrap("argocd", ["east", "west"]).values() for d in documents_])
    for _ in range(2):
        engine.refresh(new)
        for name, there in engine.clusters.items():
            assert uids(there).items() >= before[name].items()
            assert {live.owner for live in there.values()} == {f"{name}-platform", f"{name}-workloads"}


def test_an_application_that_goes_with_its_finalizer_takes_all_with_it(argo: tuple[ArgoCD, Adoption, Files]) -> None:
    engine, _, _ = argo
    engine.delete("east")
    assert (len(engine.clusters["east"]), len(engine.clusters["west"])) == (0, 5)


# Flux


def own_sync(cluster: str, prune: bool) -> Files:
    """Flux's own Kustomization over the folder in which the manifests are."""
    return as_bytes(
        {
            f"clusters/{cluster}/flux-system/gotk-sync.yaml": kustomization(
                "flux-system", f"./clusters/{cluster}", prune=prune
            )
        }
    )


def apps_sync(cluster: str, prune: bool) -> Files:
    """A Kustomization for the apps, which Flux's own one applies."""
    return {
        **own_sync(cluster, prune=True),
        **as_bytes({f"clusters/{cluster}/apps.yaml": kustomization("apps", f"./apps/{cluster}", prune=prune)}),
    }


Sync = Callable[[str, bool], Files]
SHAPES = [
    pytest.param(own_sync, "clusters", id="beside flux-system"),
    pytest.param(apps_sync, "apps", id="of their own"),
]


def flux_before(sync: Sync, parent: str) -> tuple[Flux, Files]:
    """A cluster that Flux keeps, and the old repo."""
    apps = as_bytes({f"{parent}/east/{path}": text for path, text in APPS.items()})
    old = {**apps, **sync("east", True)}
    engine = Flux()
    engine.apply([yaml.safe_load(own_sync("east", True)["clusters/east/flux-system/gotk-sync.yaml"])])
    engine.reconcile({"flux-system": old})
    assert len(uids(engine.objects)) == 5
    return engine, old


def without_apps(old: Files, parent: str, sync: Sync, prune: bool) -> Files:
    """The old repo without what was adopted, and without the Kustomization that synced nothing else."""
    gone = {"clusters/east/apps.yaml", *(f"{parent}/east/{path}" for path in APPS)}
    return {path: data for path, data in {**old, **sync("east", prune)}.items() if path not in gone}


@pytest.mark.parametrize(("sync", "parent"), SHAPES)
def test_flux_goes_over_and_prunes_nothing(sync: Sync, parent: str) -> None:
    engine, old = flux_before(sync, parent)
    before = uids(engine.objects)
    found, new = adopted(old, f"{parent}/{{cluster}}/**")
    assert found.engine == "flux"
    steps = way_over(found)
    assert steps.index("prune: false") < steps.index("Remove what was adopted") < steps.index("bootstrap flux")
    engine.reconcile({"flux-system": {**old, **sync("east", False)}})
    assert uids(engine.objects) == before
    rest = without_apps(old, parent, sync, False)
    engine.reconcile({"flux-system": rest})
    assert uids(engine.objects) == before
    engine.apply(bootstrap("flux", ["east"])["east.yaml"])
    engine.reconcile({"flux-system": rest, "gitplacer": new})
    again = without_apps(old, parent, sync, True)
    for _ in range(2):
        engine.reconcile({"flux-system": again, "gitplacer": new})
        assert uids(engine.objects).items() >= before.items()
    assert {engine.objects[who].owner for who in before} == {"gitplacer-platform", "gitplacer-workloads"}
    assert "apps" not in engine.kustomizations


@pytest.mark.parametrize(("sync", "parent"), SHAPES)
def test_without_turning_pruning_off_flux_would_delete_all(sync: Sync, parent: str) -> None:
    engine, old = flux_before(sync, parent)
    engine.reconcile({"flux-system": without_apps(old, parent, sync, True)})
    assert uids(engine.objects) == {}

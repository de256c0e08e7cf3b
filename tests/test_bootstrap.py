"""`gitplacer bootstrap`: what is printed can be pasted, and what cannot be is said with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.commands import make_repo, run, starter
from tests.enginerules import broken

Capture = pytest.CaptureFixture[str]
URL = "https://example.com/deployment.git"
KUBERAY = """\
  platform:
    charts:
    - {name: kuberay-operator, repo: "https://ray-project.github.io/kuberay-helm/", chart: kuberay-operator,
       version: 1.5.0, namespace: kuberay-system}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    files = {**starter(), "fleet.yaml": _with(f"  deployment: {{url: {URL}}}\n")}
    second = files["clusters/my-cluster.yaml"].replace(b"my-cluster", b"other")
    return make_repo(tmp_path / "fleet", {**files, "clusters/other.yaml": second})


def _with(spec: str) -> str:
    return f"apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\nspec:\n{spec}"


def test_what_is_printed_for_argocd_can_be_pasted(capfd: Capture, fleet: Path) -> None:
    ran = run(capfd, "bootstrap", "argocd", fleet)
    assert ran.code == 0
    found = list(yaml.safe_load_all(ran.out))
    assert [(d["kind"], d["metadata"]["name"]) for d in found] == [
        ("AppProject", "gitplacer-platform"),
        ("AppProject", "gitplacer-workloads"),
        ("ApplicationSet", "gitplacer"),
        ("ConfigMap", "argocd-cm"),
    ]
    assert [fault for document in found for fault in broken(document)] == []
    assert ran.out == run(capfd, "bootstrap", "argocd", fleet).out
    assert URL in ran.out


def test_files_can_be_written_instead_and_older_ones_are_named(capfd: Capture, fleet: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "bootstrap"
    ran = run(capfd, "bootstrap", "flux", fleet, "-o", folder)
    assert (ran.code, ran.out.splitlines()) == (0, [f"{folder}/my-cluster.yaml", f"{folder}/other.yaml"])
    assert sorted(path.name for path in folder.iterdir()) == ["my-cluster.yaml", "other.yaml"]
    one = run(capfd, "bootstrap", "flux", fleet, "--cluster", "other")
    assert one.out == (folder / "other.yaml").read_text()
    again = run(capfd, "bootstrap", "flux", fleet, "--cluster", "other", "-o", folder)
    assert f"{folder} also has my-cluster.yaml, which are not of this run" in again.err
    assert "the Fleet says engine: argocd" in again.err


def test_a_hub_is_told_of_all_clusters_at_once(capfd: Capture, fleet: Path) -> None:
    ran = run(capfd, "bootstrap", "flux", fleet, "--kubeconfig-secret", "{cluster}-kubeconfig")
    assert ran.code == 0
    kinds = [document["kind"] for document in yaml.safe_load_all(ran.out)]
    assert kinds == ["GitRepository", *["Kustomization"] * 4]


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["argo"], "'argo' is not one of 'argocd', 'flux'", "--help"),
        (["argocd", "--timeout", "5m"], "--timeout is for Flux", "leave it out"),
        (["flux", "--cluster-label", "x"], "--cluster-label is for Argo CD", "leave it out"),
        (["flux"], "there are 2: my-cluster, other", "name one with --cluster, or write all with -o DIR"),
        (["flux", "--per", "workload"], "Flux makes no Kustomizations from directories", "leave out --per"),
        (["argocd", "--cluster", "other"], "takes away the Applications of the others", "leave it out"),
        (["flux", "--cluster", "my-clutser"], 'there is no cluster "my-clutser"', 'did you mean "my-cluster"'),
        (["argocd", "--deployment", "."], "is a path on this machine, and Argo CD runs elsewhere", "https://host/path"),
        (["argocd", "--namespace", "Argo CD"], "--namespace Argo CD is no name of a namespace", "lower case"),
        (["argocd", "-o", "fleet.yaml"], "fleet.yaml is a file", "name a directory"),
        (["argocd", "--deployment", "https://me:pw@example.com/x"], "carries a password", "leave it out"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_can(
    capfd: Capture, fleet: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str, hint: str
) -> None:
    monkeypatch.chdir(fleet)
    ran = run(capfd, "bootstrap", *arguments)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err and hint in ran.err
    assert "pw" not in ran.err


def test_without_an_address_one_is_asked_for(capfd: Capture, fleet: Path) -> None:
    (fleet / "fleet.yaml").write_text(_with("  {}\n"))
    ran = run(capfd, "bootstrap", "argocd", fleet)
    assert (ran.code, ran.out) == (1, "")
    assert "nobody said where the deployment repo is" in ran.err
    assert "set spec.deployment.url in the Fleet, or give --deployment" in ran.err


def test_a_broken_cluster_stops_it_as_it_stops_a_pass(capfd: Capture, fleet: Path) -> None:
    (fleet / "clusters/other.yaml").write_text(
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: other}\n"
    )
    ran = run(capfd, "bootstrap", "argocd", fleet)
    assert (ran.code, ran.out) == (1, "")
    assert "clusters/other.yaml:1" in ran.err


def test_charts_go_along_and_what_is_wrong_with_them_is_told(capfd: Capture, fleet: Path) -> None:
    (fleet / "fleet.yaml").write_text(_with(f"  deployment: {{url: {URL}}}\n{KUBERAY}"))
    ran = run(capfd, "bootstrap", "argocd", fleet)
    assert "gitplacer-charts" in ran.out
    twice = KUBERAY + KUBERAY.partition("charts:\n")[2].replace("1.5.0", "1.4.2")
    (fleet / "fleet.yaml").write_text(_with(f"  deployment: {{url: {URL}}}\n{twice}"))
    ran = run(capfd, "bootstrap", "argocd", fleet)
    assert ran.code == 0
    assert "give kuberay-operator to my-cluster, other; the first one counts" in ran.err
    assert "1.4.2" not in ran.out

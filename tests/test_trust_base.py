"""A pull request from a stranger: what decides where to connect and what may move comes from the base, whatever the head says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gitplacer.hydrate import hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.passes.looking import looked_at
from gitplacer.settings import settings
from tests.commands import git, make_bare, make_repo, run
from tests.gitservers import https_server
from tests.stories import ANYWHERE, FLEET, cluster, rayservice, snapshot

NOW = "2026-01-02T03:05:00Z"
Capture = pytest.CaptureFixture[str]
ROOM = {f"capacity/{path}": data for path, data in snapshot("a", "n1 16 64Gi 2").items()}
START = {"fleet.yaml": FLEET, **cluster("a"), **cluster("b"), **ANYWHERE, **ROOM, **rayservice("prod", "api")}
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: mine}\nrules: []\n"


def fleet(spec: str) -> str:
    return FLEET.replace("spec: {}\n", f"spec:\n{spec}")


HOSTILE = {
    "another deployment repo": "  deployment: {url: 'https://evil.example/steal.git', branch: other, root: elsewhere}\n",
    "another capacity repo": "  capacity: {url: 'https://evil.example/capacity.git'}\n",
    "another capacity path": "  capacity: {path: workloads/capacity}\n",
    "guards without limit": "  guards: {relocations: {max: 100000}, evacuations: {exceed: Allow, max: 100000}}\n",
    "its own files trusted": "  platform: {paths: ['workloads/**']}\n  source: {include: ['nothing/**']}\n",
}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bare clone with the base on `main` and nothing checked out; the heads come as branches."""
    made = make_repo(tmp_path / "work", START)
    bare = make_bare(tmp_path / "clone.git")
    git(made, "push", "-q", str(bare), "main")
    return bare


def head(repo: Path, files: dict[str, str], *, gone: tuple[str, ...] = ()) -> str:
    """A head beside the base, as it arrives from a fork: its commit."""
    work = repo.parent / "work"
    git(work, "switch", "-q", "-C", "head", "main")
    for path, data in files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(data)
    for path in gone:
        (work / path).unlink()
    git(work, "add", "--all")
    git(work, "commit", "-q", "--allow-empty", "-m", "$(touch x)")
    git(work, "push", "-q", "--force", str(repo), "head:refs/gitplacer/head")
    return git(work, "rev-parse", "head").strip()


def plan(capfd: Capture, repo: Path, rev: str, *more: str) -> dict[str, Any]:
    ran = run(capfd, "plan", repo, "--rev", rev, "--trust-base", "main", "--now", NOW, "--format", "json", *more)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def without_problems(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "problems": [], "inputs": {**document["inputs"], "source": {}}}


@pytest.mark.parametrize("spec", HOSTILE.values(), ids=HOSTILE)
def test_a_head_that_changes_the_fleet_is_planned_with_that_of_the_base(capfd: Capture, repo: Path, spec: str) -> None:
    files = {"fleet.yaml": fleet(spec), "workloads/capacity/a.yaml": snapshot("a", "n1 999 999Gi 999")["a.yaml"]}
    hostile = plan(capfd, repo, head(repo, files))
    harmless = plan(capfd, repo, head(repo, {**files, "fleet.yaml": FLEET}))
    assert without_problems(hostile) == without_problems(harmless)
    told = [p for p in hostile["problems"] if p["code"] == "UntrustedFleet"]
    assert told and all((p["file"], p["severity"]) == ("fleet.yaml", "warning") for p in told)


def test_what_the_head_would_change_is_said_field_by_field_at_its_line(capfd: Capture, repo: Path) -> None:
    spec = "  guards: {relocations: {max: 77}}\n  lostAfter: 5m\n"
    told = {(p["line"], p["message"]) for p in plan(capfd, repo, head(repo, {"fleet.yaml": fleet(spec)}))["problems"]}
    late = "which counts only when it is merged"
    assert told == {
        (5, f"changes spec.guards.relocations.max from 10 to 77, {late}"),
        (6, f"changes spec.lostAfter from nothing to 300, {late}"),
    }


def test_platform_objects_do_not_come_in_by_a_fleet_that_allows_them(capfd: Capture, repo: Path) -> None:
    files = {"fleet.yaml": fleet(HOSTILE["its own files trusted"]), "workloads/prod/role.yaml": ROLE}
    document = plan(capfd, repo, head(repo, files))
    assert "NotAllowed" in {p["code"] for p in document["problems"]}


def test_capacity_is_that_of_the_base(capfd: Capture, repo: Path) -> None:
    commit = head(repo, {"capacity/a.yaml": snapshot("a", "n1 1 1Gi")["a.yaml"]})
    (group,) = plan(capfd, repo, commit)["groups"]
    assert (group["action"], group["to"]) == ("Place", ["a"])


def test_the_base_says_where_the_deployment_repo_is(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what `reconcile` would be told after the merge; a head that says otherwise is not asked."""
    opened: list[str] = []

    def record(address: Any, branch: str, cache_dir: Path, **more: Any) -> Any:
        opened.append(f"{address.url} {branch}")
        raise KeyboardInterrupt

    monkeypatch.setattr("gitplacer.passes.opening.Deployment.open", record)
    work = repo.parent / "work"
    (work / "fleet.yaml").write_text(fleet("  deployment: {url: 'https://good.example/deploy.git'}\n"))
    git(work, "commit", "-q", "-a", "-m", "where it is")
    git(work, "push", "-q", str(repo), "main")
    commit = head(repo, {"fleet.yaml": fleet(HOSTILE["another deployment repo"])})
    chosen = settings(str(repo), rev=commit, trust_base="main", now=NOW)
    with pytest.raises(KeyboardInterrupt), looked_at(chosen, work_tree=True, progress=lambda message: None):
        pass
    with looked_at(replace(chosen, trust_base=None), work_tree=True, progress=lambda message: None):
        pass
    assert opened == ["https://good.example/deploy.git main"]


def test_everything_else_of_the_head_is_planned(capfd: Capture, repo: Path) -> None:
    commit = head(repo, rayservice("prod", "more") | cluster("c", state="Cordoned"))
    document = plan(capfd, repo, commit)
    assert [g["group"] for g in document["groups"]] == ["prod/api", "prod/more"]
    assert [c["cluster"] for c in document["fleet"]] == ["a", "b", "c"]
    assert document["problems"] == []


def test_a_work_tree_can_be_held_against_a_base_too(capfd: Capture, repo: Path) -> None:
    work = repo.parent / "work"
    (work / "fleet.yaml").write_text(fleet(HOSTILE["guards without limit"]))
    ran = run(capfd, "plan", work, "--trust-base", "main", "--now", NOW, "--format", "json")
    assert ran.code == 0 and "UntrustedFleet" in ran.out


@pytest.mark.parametrize(
    ("files", "gone"),
    [({"fleet.yaml": fleet("  guard: {}\n")}, ()), ({}, ("fleet.yaml",)), ({"more/fleet.yaml": FLEET.replace("name: fleet", "name: two")}, ())],
    ids=["broken", "removed", "twice"],
)  # fmt: skip
def test_a_head_whose_fleet_would_stop_a_run_stops_the_plan(
    capfd: Capture, repo: Path, files: dict[str, str], gone: tuple[str, ...]
) -> None:
    ran = run(capfd, "plan", repo, "--rev", head(repo, files, gone=gone), "--trust-base", "main", "--now", NOW)
    assert ran.code == 1 and ran.out == ""


def test_a_base_without_a_fleet_or_that_is_not_there_is_an_error(capfd: Capture, repo: Path) -> None:
    commit = head(repo, {}, gone=("fleet.yaml",))
    ran = run(capfd, "plan", repo, "--rev", "main", "--trust-base", commit, "--now", NOW)
    assert ran.code == 1 and ran.err.startswith(f"error: --trust-base {commit} has no Fleet that can be read\n  hint: ")
    assert "has no revision nowhere" in run(capfd, "plan", repo, "--trust-base", "nowhere").err
    assert "cannot be the name of a branch" in run(capfd, "plan", repo, "--trust-base=--upload-pack=x").err


def test_the_trusted_fleet_is_an_input_of_the_core(repo: Path) -> None:
    """Same source, other trust: the function sees it and nothing else does."""
    commit = head(repo, {"fleet.yaml": fleet("  deployment: {root: elsewhere}\n")})
    with looked_at(settings(str(repo), rev=commit, now=NOW), work_tree=True, progress=lambda message: None) as looked:
        own = hydrate(looked.inputs, with_candidates=False)
        trusted = hydrate(replace(looked.inputs, trusted=FleetSpec()), with_candidates=False)
    assert all(path.startswith(("elsewhere/", "placements/", "hydrator")) for path in own.tree)
    assert all(path.startswith(("clusters/", "placements/", "hydrator")) for path in trusted.tree)


@pytest.mark.server
def test_a_remote_source_is_planned_with_both_revisions_fetched(
    capfd: Capture, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = head(repo, {"fleet.yaml": fleet(HOSTILE["guards without limit"])})
    git(repo, "branch", "-q", "pull", commit)
    git(repo, "branch", "-q", "base", "main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/pull")
    with https_server(tmp_path, tmp_path) as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        where = ("--trust-base", "base", "--now", NOW, "--format", "json")
        ran = run(capfd, "plan", f"{url}/clone.git", "--rev", "pull", *where)
    assert ran.code == 0, ran.err
    assert [p["code"] for p in json.loads(ran.out)["problems"]] == ["UntrustedFleet"] * 2

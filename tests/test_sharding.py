"""Two fleets of one repo, as docs/sharding.md tells it: each has its clusters and its deployment repo, and neither touches the other's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.commands import commit, git, make_bare, make_repo, run, write
from tests.stories import ANYWHERE, FLEET, START, cluster, rayservice, snapshot

LATER = f"{START:%Y-%m-%dT%H:%M:%SZ}"


def shard(folder: str, clusters: str, *apps: dict[str, str]) -> dict[str, str]:
    """The files of a fleet below a folder."""
    files = {"fleet.yaml": FLEET.replace("name: fleet", f"name: {folder}"), **ANYWHERE}
    for name in clusters:
        files |= {**cluster(name), **{f"capacity/{k}": v for k, v in snapshot(name, "n1 32 128Gi 4").items()}}
    for app in apps:
        files |= app
    return {f"shards/{folder}/{path}": text for path, text in files.items()}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / "cache"))
    research = shard("research", "ab", rayservice("lab", "probe"), rayservice("lab", "sweep", workers=2))
    serving = shard("serving", "cd", rayservice("web", "shop", workers=2))
    return make_repo(tmp_path / "fleets", {**research, **serving})


def files(bare: Path, branch: str = "main") -> set[str]:
    return set(git(bare, "ls-tree", "-r", "--name-only", branch).split())


def there(bare: Path, branch: str = "main") -> set[str]:
    """The clusters with a directory."""
    return {path.split("/")[1] for path in files(bare, branch) if path.startswith("clusters/")}


def test_each_shard_writes_its_own_clusters_to_its_own_repo(
    repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bares = {name: make_bare(tmp_path / f"{name}.git") for name in ("research", "serving")}

    def reconcile(name: str) -> str:
        ran = run(capfd, "reconcile", "--path", f"shards/{name}", "--deployment", bares[name], "--now", LATER, repo)
        assert ran.code == 0, ran.err
        return git(bares[name], "rev-parse", "main").strip()

    before = {name: reconcile(name) for name in bares}
    assert (there(bares["research"]) <= {"a", "b"}, there(bares["serving"]) <= {"c", "d"}) == (True, True)
    assert {p for p in files(bares["research"]) if p.startswith("placements/")} == {
        "placements/lab/probe.yaml",
        "placements/lab/sweep.yaml",
    }
    assert {p for p in files(bares["serving"]) if p.startswith("placements/")} == {"placements/web/shop.yaml"}

    # A cluster of one is lost, and everything there moves; to the other nothing has happened, though the commit is new.
    [home] = {
        path.split("/")[1] for path in files(bares["serving"]) if path.endswith("shop.yaml") and "clusters" in path
    }
    write(repo, shard("serving", "cd") | {
        f"shards/serving/{path}": text for path, text in cluster(home, state="Lost").items()
    })  # fmt: skip
    commit(repo, "A cluster is lost")
    after = {name: reconcile(name) for name in bares}
    assert after["research"] == before["research"]
    assert after["serving"] != before["serving"]
    [other] = {
        path.split("/")[1] for path in files(bares["serving"]) if path.endswith("shop.yaml") and "clusters" in path
    }
    assert {home, other} == {"c", "d"}

    # A shard that is broken stops itself alone.
    write(repo, {"shards/serving/fleet.yaml": "kind: [Fleet\n"})
    write(repo, {f"shards/research/{path}": text for path, text in rayservice("lab", "third").items()})
    commit(repo, "One is broken, the other goes on")
    ran = run(capfd, "reconcile", "--path", "shards/serving", "--deployment", bares["serving"], "--now", LATER, repo)
    assert ran.code == 1
    assert reconcile("research") != after["research"]
    assert "placements/lab/third.yaml" in files(bares["research"])


def test_two_shards_do_not_write_to_one_repo(repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bare = make_bare(tmp_path / "both.git")
    told = ("--deployment", bare, "--now", LATER, repo)
    for name in ("research", "serving"):
        path = repo / "shards" / name / "fleet.yaml"
        path.write_text(path.read_text().replace("spec: {}", f"spec: {{deployment: {{root: {name}}}}}"))
    commit(repo, "Roots of their own")
    assert run(capfd, "reconcile", "--path", "shards/research", *told).code == 0
    before = git(bare, "rev-parse", "main")
    ran = run(capfd, "reconcile", "--path", "shards/serving", *told)
    assert ran.code == 1
    assert "what passes wrote below research/, and nothing of ours below serving/" in ran.err
    assert "write research/ again; if another fleet writes there, give gitplacer a branch of its own" in ran.err
    assert git(bare, "rev-parse", "main") == before

    path = repo / "shards" / "serving" / "fleet.yaml"
    path.write_text(path.read_text().replace("root: serving", "root: research"))
    commit(repo, "The same root")
    ran = run(capfd, "reconcile", "--path", "shards/serving", *told)
    assert ran.code == 1
    assert (
        "research/ of the deployment repo has a and b, and neither these nor what is placed there are of this fleet"
        in ran.err
    )
    assert "if it is this one's, replace first its clusters, or its apps, and the rest in a later commit" in ran.err
    assert git(bare, "rev-parse", "main") == before

    path.write_text(path.read_text().replace("root: research", "branch: serving"))
    commit(repo, "A branch of its own")
    ran = run(capfd, "reconcile", "--path", "shards/serving", *told)
    assert ran.code == 1
    assert (
        "error[DeploymentLost]: there is no branch serving" in ran.err
    )  # the repo remembers the passes of one fleet, and this is none of them
    assert git(bare, "for-each-ref", "--format=%(refname:short)").split() == ["gitplacer-inputs", "main"]


def test_a_cluster_of_two_shards_is_found_by_the_line_in_the_docs(repo: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "sharding.md").read_text()
    [line] = [line for line in page.splitlines() if line.endswith("| uniq -d")]

    def doubles() -> str:
        done = subprocess.run(["bash", "-c", line], cwd=repo, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert doubles() == ""
    write(repo, {f"shards/serving/infra/{path}": text for path, text in cluster("a").items()})
    assert doubles() == "name: a"
    written = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: {}\n  labels:\n    name: x\nspec: {{}}\n"
    )
    for shard_, names in (("research", "ef"), ("serving", "fg")):
        write(repo, {f"shards/{shard_}/clusters/{name}.yaml": written.format(name) for name in names})
    assert doubles() == "name: a\nname: f"

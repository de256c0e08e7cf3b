"""What `init` makes is a fleet that works from its first minute, and files that an engine can apply."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from gitplacer import __version__
from gitplacer.cli import init
from tests.commands import commit, git, make_bare, run

Capture = pytest.CaptureFixture[str]
ENGINES = sorted(init.ENGINES)


def made(capfd: Capture, folder: Path, engine: str) -> Path:
    ran = run(capfd, "init", folder, "--engine", engine)
    assert ran.code == 0
    written = sorted(str(path) for path in folder.rglob("*") if path.is_file() and ".git/" not in str(path))
    assert ran.out.splitlines() == written
    return folder


@pytest.mark.parametrize("engine", ENGINES)
def test_a_new_fleet_has_no_problems_and_places_its_workload(capfd: Capture, tmp_path: Path, engine: str) -> None:
    fleet = made(capfd, tmp_path / "fleet", engine)
    checked = run(capfd, "validate", fleet)
    assert (checked.code, checked.out) == (0, "")
    plan = json.loads(run(capfd, "plan", fleet, "--format", "json").out)
    assert [(g["group"], g["action"], g["to"]) for g in plan["groups"]] == [("hello/hello", "Place", ["my-cluster"])]
    assert plan["problems"] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_what_its_readme_says_to_do_works(capfd: Capture, tmp_path: Path, engine: str) -> None:
    fleet = made(capfd, tmp_path / "fleet", engine)
    deployment = make_bare(tmp_path / "deployment.git")
    git(fleet, "init", "-q")
    commit(fleet, "A fleet")
    assert run(capfd, "reconcile", fleet, "--deployment", deployment).code == 0
    assert run(capfd, "explain", "hello/hello", fleet, "--deployment", deployment).code == 0
    assert f"gitplacer bootstrap {engine}" in (fleet / "README.md").read_text()
    ran = run(capfd, "bootstrap", engine, fleet, "--deployment", "https://example.com/deployment.git")
    assert (ran.code, "https://example.com/deployment.git" in ran.out) == (0, True)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_mark_of_a_template_is_left(capfd: Capture, tmp_path: Path, engine: str) -> None:
    fleet = made(capfd, tmp_path / "fleet", engine)
    for path in fleet.rglob("*"):
        assert not path.is_file() or not re.search(r"@[A-Z_]+@", path.read_text()), path
    assert f"gitplacer=={__version__}\n" in (fleet / ".github/workflows/gitplacer.yaml").read_text()
    assert f"engine: {engine}\n" in (fleet / "fleet.yaml").read_text()


def test_the_editor_finds_the_schema_and_it_accepts_what_was_made(capfd: Capture, tmp_path: Path) -> None:
    fleet = made(capfd, tmp_path / "fleet", "argocd")
    wiring = json.loads((fleet / ".vscode/settings.json").read_text())["yaml.schemas"]
    assert list(wiring) == [".gitplacer/gitplacer.schema.json"]
    validator = jsonschema.Draft202012Validator(json.loads((fleet / ".gitplacer/gitplacer.schema.json").read_text()))
    for path in fleet.rglob("*.yaml"):
        if ".github" not in path.parts:
            for document in yaml.safe_load_all(path.read_text()):
                assert not list(validator.iter_errors(document)), path


def test_the_workflow_validates_and_plans_with_no_more_rights_than_to_read(capfd: Capture, tmp_path: Path) -> None:
    fleet = made(capfd, tmp_path / "fleet", "argocd")
    workflow = yaml.safe_load((fleet / ".github/workflows/gitplacer.yaml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step["run"] for step in workflow["jobs"]["plan"]["steps"] if "run" in step]
    assert steps[1:] == [
        "gitplacer validate --format github",
        'gitplacer plan --format markdown --fail-on problems >> "$GITHUB_STEP_SUMMARY"',
    ]


def test_what_decides_for_everybody_has_owners(capfd: Capture, tmp_path: Path) -> None:
    fleet = made(capfd, tmp_path / "fleet", "argocd")
    lines = [line.split() for line in (fleet / ".github/CODEOWNERS").read_text().splitlines() if line.startswith("/")]
    assert all(owner.startswith("@") for _, owner in lines)
    owned = {path.strip("/") for path, _ in lines}
    tops = {path.name for path in fleet.iterdir()} - {"workloads", "README.md", ".gitplacer", ".vscode"}
    assert owned == tops | {"platform", "tenants"}


def test_a_fresh_clone_of_an_empty_repository_counts_as_empty(capfd: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    git(folder, "init", "-q")
    made(capfd, folder, "argocd")


def test_nothing_is_written_over(capfd: Capture, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ran = run(capfd, "init", tmp_path)
    assert ran.code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]

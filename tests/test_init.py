"""What `init` makes is a fleet that works from its first minute, and files that an engine can apply."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pexpect
import pytest
import yaml

from gitplacer import __version__
from gitplacer.cli import init
from tests.commands import commit, git, make_bare, run, run_apart

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
    steps = [step for step in workflow["jobs"]["plan"]["steps"] if "run" in step]
    assert [step["run"] for step in steps if "env" not in step][1:] == [
        "gitplacer validate --format github",
        'gitplacer plan --format markdown --fail-on problems >> "$GITHUB_STEP_SUMMARY"',
    ]


def _netrc(script: str, home: Path, token: str) -> Path:
    """The file with logins, as a step of a CI job leaves it in a home."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DEPLOYMENT_READ_TOKEN": token,
        "CI_SERVER_HOST": "gitlab.example.com",
    }
    subprocess.run(["bash", "-e", "-c", script], env=environment, check=True)
    return home / ".netrc"


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_ci_reads_a_private_deployment_repo_with_a_token(ci: str, capfd: Capture, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    assert run(capfd, "init", fleet, "--engine", "argocd", "--ci", ci).code == 0
    if ci == "github":
        jobs = yaml.safe_load((fleet / ".github/workflows/gitplacer.yaml").read_text())["jobs"]
        (step,) = (step for step in jobs["plan"]["steps"] if "env" in step)
        assert step["env"] == {"DEPLOYMENT_READ_TOKEN": "${{ secrets.DEPLOYMENT_READ_TOKEN }}"}
        script, login = step["run"], "machine github.com login x-access-token password s3cr$t\\n\n"
    else:
        (script,) = (
            line
            for line in yaml.safe_load((fleet / ".gitlab-ci.yml").read_text())["gitplacer"]["script"]
            if "TOKEN" in line
        )
        login = "machine gitlab.example.com login gitlab-ci-token password s3cr$t\\n\n"
    assert not _netrc(script, tmp_path, "").exists()
    found = _netrc(script, tmp_path, "s3cr$t\\n")
    assert found.read_text() == login and found.stat().st_mode & 0o777 == 0o600


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


def test_what_it_prints_is_harmless(capfd: Capture, tmp_path: Path) -> None:
    ran = run(capfd, "init", tmp_path / "a\x1b[31mb", "--yes")
    assert (ran.code, (tmp_path / "a\x1b[31mb/fleet.yaml").is_file()) == (0, True)
    assert "a\\x1b[31mb/fleet.yaml\n" in ran.out and "gitplacer plan" in ran.err and "a\\x1b[31mb/README.md" in ran.err


def test_what_it_says_to_paste_is_one_word_where_the_folder_has_a_space(capfd: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "our fleet"
    ran = run(capfd, "init", folder, "--yes")
    command = ran.err.partition("Next: ")[2].partition(", and read")[0]
    assert shlex.split(command) == ["gitplacer", "plan", str(folder)]


def test_nothing_is_written_over(capfd: Capture, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ran = run(capfd, "init", tmp_path)
    assert ran.code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# what is asked


def typed(folder: Path, *args: str, **environment: str) -> pexpect.spawn[str]:
    """`gitplacer init` on a terminal."""
    told = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "TERM": "dumb", **environment}
    code = "import sys; from gitplacer.cli import main; sys.exit(main())"
    return pexpect.spawn(
        sys.executable, ["-c", code, "init", *args], cwd=folder, env=told, encoding="utf-8", timeout=60, dimensions=(50, 200),
    )  # fmt: skip


def left_by(session: pexpect.spawn[str]) -> int:
    session.expect(pexpect.EOF)
    session.close()
    assert session.exitstatus is not None
    return session.exitstatus


NO_KUBECONFIG = {"KUBECONFIG": os.devnull}
KUBECONFIG = (
    "contexts:\n- context: {cluster: a, user: a}\n  name: kind-a\n- context: {cluster: b, user: b}\n  name: kind-b\n"
)


def test_on_a_terminal_it_asks_with_defaults(tmp_path: Path, capfd: Capture) -> None:
    session = typed(tmp_path, "fleet", **NO_KUBECONFIG)
    for question in ("What are your clusters called", "What syncs", "Whose CI", "How do editors"):
        session.expect(question)
        session.sendline("")
    assert left_by(session) == 0
    assert run(capfd, "init", tmp_path / "piped").code == 0
    assert files_of(tmp_path / "fleet") == files_of(tmp_path / "piped")


def test_what_is_answered_counts_and_a_slip_is_asked_again(tmp_path: Path, capfd: Capture) -> None:
    session = typed(tmp_path, "fleet", **NO_KUBECONFIG)
    session.expect("What are your clusters called")
    session.sendline("London")
    session.expect("lower-case")
    session.expect("What are your clusters called")
    session.sendline("london, paris")
    session.expect("What syncs")
    session.sendline("flx")
    session.expect('did you mean "flux"')
    session.expect("What syncs")
    session.sendline("flux")
    session.expect("Whose CI")
    session.sendline("gitlab")
    session.expect("How do editors")
    session.sendline("modeline")
    assert left_by(session) == 0
    fleet = tmp_path / "fleet"
    options = [
        "--engine",
        "flux",
        "--cluster",
        "london",
        "--cluster",
        "paris",
        "--ci",
        "gitlab",
        "--editor",
        "modeline",
    ]
    assert run(capfd, "init", tmp_path / "piped", *options).code == 0
    assert files_of(fleet) == files_of(tmp_path / "piped")
    assert sorted(path.name for path in (fleet / "clusters").iterdir()) == ["london.yaml", "paris.yaml"]
    plan = json.loads(run(capfd, "plan", fleet, "--format", "json").out)
    assert [(g["action"], g["to"]) for g in plan["groups"]] == [("Place", ["london"])]


def test_contexts_of_the_kubeconfig_are_offered(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    session = typed(tmp_path, "fleet", "--engine", "flux", "--ci", "none", "--editor", "none", KUBECONFIG="kubeconfig")
    session.expect("Contexts of your kubeconfig: kind-a, kind-b")
    session.expect("Read the clusters of which")
    session.sendline("kind-x")
    session.expect('there is no context "kind-x"; did you mean "kind-')
    session.sendline("none")
    session.expect("What are your clusters called")
    session.sendline("")
    assert left_by(session) == 0


def test_the_names_of_contexts_are_shown_harmless(tmp_path: Path) -> None:
    """A kubeconfig may come from somebody else."""
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.replace("kind-a", "kind\x1b]0;a"))
    session = typed(tmp_path, "fleet", "--engine", "flux", "--ci", "none", "--editor", "none", KUBECONFIG="kubeconfig")
    session.expect_exact("kind\\x1b]0;a")
    session.sendline("none")
    session.expect("What are your clusters called")
    session.sendline("")
    assert left_by(session) == 0


def test_nothing_is_asked_that_was_said_or_with_yes(tmp_path: Path) -> None:
    every = ["--engine", "flux", "--cluster", "a", "--ci", "none", "--editor", "none"]
    for folder, args in (("said", every), ("defaults", ["--yes"])):
        session = typed(tmp_path, folder, *args)
        assert left_by(session) == 0
        assert (tmp_path / folder / "fleet.yaml").is_file()
        assert "?" not in (session.before or "")


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_an_answer_that_is_refused_leaves_nothing(tmp_path: Path, key: str) -> None:
    session = typed(tmp_path, "fleet", **NO_KUBECONFIG)
    session.expect("What syncs|What are your clusters called")
    session.sendline("")
    session.expect("What syncs")
    session.send(key)
    assert left_by(session) == 1
    assert "Traceback" not in (session.before or "")
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    """Not even where somebody could type: what is printed goes to a file."""
    ran = run_apart("init", "fleet", cwd=tmp_path)
    assert (ran.code, "?" in ran.err) == (0, False)


@pytest.mark.parametrize("there", [False, True])
def test_an_interruption_while_it_writes_leaves_nothing(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """At each rename and at each file."""
    top = tmp_path / "fleet"
    if there:
        top.mkdir()
        git(top, "init", "-q")
    before = sorted(path.name for path in (top if there else tmp_path).iterdir())
    for what in ("rename", "write_bytes"):
        true = getattr(Path, what)
        for stop in range(3):
            calls = itertools.count()

            def broken(self: Path, *args: Any, calls: Any = calls, stop: int = stop, true: Any = true) -> Any:
                if next(calls) == stop and (there or stop == 0 or true.__name__ == "write_bytes"):
                    raise KeyboardInterrupt
                return true(self, *args)

            with monkeypatch.context() as patch:
                patch.setattr(Path, what, broken)
                ran = run(capfd, "init", top)
            if ran.code == 0:
                assert not there and what == "rename" and stop
                shutil.rmtree(top)
            assert sorted(path.name for path in (top if there else tmp_path).iterdir()) == before


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# what is chosen


@pytest.mark.parametrize("host", init.HOSTS)
def test_whose_ci_it_is_decides_what_is_there(capfd: Capture, tmp_path: Path, host: str) -> None:
    fleet = tmp_path / "fleet"
    assert run(capfd, "init", fleet, "--ci", host).code == 0
    there = set(files_of(fleet))
    wanted = {
        "github": {".github/CODEOWNERS", ".github/workflows/gitplacer.yaml"},
        "gitlab": {".gitlab/CODEOWNERS", ".gitlab-ci.yml"},
        "none": {"CODEOWNERS"},
    }
    others = {path for name, paths in wanted.items() if name != host for path in paths}
    assert wanted[host] <= there
    assert not others & there
    told = (fleet / "README.md").read_text()
    assert all(path in told for path in wanted[host])
    assert not any(f"`{path}`" in told for path in others)
    assert "@my-org/platform" in (fleet / next(path for path in there if path.endswith("CODEOWNERS"))).read_text()
    if host == "gitlab":
        jobs = yaml.safe_load((fleet / ".gitlab-ci.yml").read_text())
        assert f"pip install gitplacer=={__version__}" in jobs["gitplacer"]["script"]


def test_a_line_in_each_file_leads_to_the_schema(capfd: Capture, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    assert run(capfd, "init", fleet, "--editor", "modeline").code == 0
    assert not (fleet / ".vscode").exists()
    for path in fleet.rglob("*.yaml"):
        first = path.read_text().splitlines()[0]
        if "gitplacer.dev/" in path.read_text():
            assert first.startswith("# yaml-language-server: $schema=")
            assert (path.parent / first.partition("=")[2]).samefile(fleet / ".gitplacer/gitplacer.schema.json")
        else:
            assert "yaml-language-server" not in first
    assert run(capfd, "validate", fleet).out == ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--cluster", "My_Cluster"], "cannot be the name of a cluster"),
        (["--ci", "gitlub"], 'did you mean "gitlab"'),
        (["--editor", "vs-code"], 'did you mean "vscode"'),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    capfd: Capture, tmp_path: Path, args: list[str], said: str
) -> None:
    ran = run(capfd, "init", tmp_path / "fleet", *args)
    assert ran.code == 1
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []

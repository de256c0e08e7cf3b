"""
What people copy into their CI: actions, workflows, the GitLab template and the pre-commit hook.

Everything executable in them is executed here, by bash as a runner would, with names and files that somebody hostile made up.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import check_jsonschema
import jsonschema
import pytest
import yaml

from gitplacer import __version__
from tests import cirunner
from tests.cirunner import ACTIONS, ROOT, Runner, StandIn, gitlab_job, load, stand_in
from tests.commands import git, make_bare, make_repo, starter, write
from tests.stories import FLEET

EXAMPLES = sorted((ROOT / "docs/examples/github").glob("*.yaml"))
FILES = sorted(ACTIONS.glob("*/action.yml"))
TEMPLATE = ROOT / "ci/gitlab/gitplacer.yml"
SCHEMAS = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor"
SHA, HEAD = "1" * 40, "2" * 40
HOSTILE = {
    "run": "$(touch pwned)`touch pwned`'; touch pwned; '\"; touch pwned; \"",
    "lines": "a\ntouch pwned\nEOF\nchanged=forged\nsummary<<x\nforged\nx",
    "expression": "${{ github.token }}",
    "option": "--upload-pack=touch pwned",
    "path": "../../pwned é ☃ \t",
    "long": "x" * 20_000,
}


def name_of(path: Path) -> str:
    return path.parent.name if path.name == "action.yml" else path.name


# what the files are


def schema(name: str) -> Any:
    found = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return jsonschema.validators.validator_for(found)(found)


@pytest.mark.parametrize(
    ("name", "path"),
    [("github-actions", p) for p in FILES] + [("github-workflows", p) for p in EXAMPLES] + [("gitlab-ci", TEMPLATE)],
    ids=lambda item: item if isinstance(item, str) else name_of(item),
)
def test_each_file_is_what_its_schema_says(name: str, path: Path) -> None:
    assert [error.message for error in schema(name).iter_errors(load(path))] == []


def steps(path: Path) -> Iterator[dict[str, Any]]:
    file = load(path)
    yield from file["runs"]["steps"] if "runs" in file else (s for job in file["jobs"].values() for s in job["steps"])


@pytest.mark.parametrize("path", [*FILES, *EXAMPLES], ids=name_of)
def test_nothing_that_an_event_says_stands_in_a_script(path: Path) -> None:
    scripts = [step["run"] for step in steps(path) if "run" in step]
    assert all("${{" not in script for script in scripts)
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


@pytest.mark.parametrize("path", [*FILES, *EXAMPLES], ids=name_of)
def test_what_others_made_is_pinned_by_the_id_of_a_commit(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in used)
    assert path in EXAMPLES or not used


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_input_is_used_and_every_output_is_given(path: Path) -> None:
    file, text = load(path), path.read_text()
    assert [name for name in file["inputs"] if f"inputs.{name} " not in text] == []
    assert all(about["description"].endswith(".") for about in (*file["inputs"].values(), *file["outputs"].values()))
    given = set(re.findall(r"\bgive ([a-z-]+) ", text))
    assert [name for name, about in file["outputs"].items() if about["value"].split(".")[-1][:-3] not in given] == []


# composite actions


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    for name in ("checkout", "temp"):
        (tmp_path / name).mkdir()
    github = {
        "token": "t0ken",
        "repository": "org/fleet",
        "server_url": "https://github.example",
        "sha": SHA,
        "event": {"pull_request": {"number": 7, "head": {"sha": HEAD, "repo": {"full_name": "org/fleet"}}}},
    }
    return Runner(tmp_path / "checkout", tmp_path / "temp", tmp_path / "bin", {"github": github})


def canned(runner: Runner, **about: Any) -> StandIn:
    return stand_in(runner.bin, **about)


def nothing_was_touched(runner: Runner) -> bool:
    return not [path for path in runner.cwd.parent.rglob("*pwned*") if path.name == "pwned"]


def test_a_plan_is_given_as_outputs_a_summary_and_a_comment(runner: Runner) -> None:
    program = canned(runner, said="### A plan\n\nof two lines\n", code=2)
    ran = runner.action("plan", {"comment": "true", "base": SHA, "fail-on": "problems", "redact": "true"})
    assert ran.code == 0
    assert ran.outputs["changed"] == "true" and ran.outputs["check"] == "Pass"
    assert ran.outputs["summary"] == "### A plan\n\nof two lines"
    assert ran.summary == "### A plan\n\nof two lines\n"
    plan, comment = program.calls()
    work = Path(ran.outputs["pages"]).parent
    assert plan == [
        "plan", "--format", "markdown", "--exit-code", f"--out={work}/plan.json", f"--pages={work}/pages",
        f"--base={SHA}", "--fail-on=problems", "--redact", "--", ".",
    ]  # fmt: skip
    assert comment == [
        "comment", "--host", "github", "--repo=org/fleet", f"--pages={work}/pages", "--pull=7", f"--head-sha={HEAD}", "--head-repo=org/fleet",
    ]  # fmt: skip
    assert program.tokens() == {"", "t0ken"}
    assert Path(ran.outputs["plan-json"]).is_file()


def test_a_comment_remembers_the_plan_unless_strangers_read_it(runner: Runner) -> None:
    program = canned(runner)
    for redact in ("false", "true"):
        ran = runner.action("plan", {"comment": "true", "redact": redact})
        assert (f"--plan={ran.outputs['plan-json']}" in program.calls()[-1]) == (redact == "false")


def test_strangers_are_not_told_why_no_plan_could_be_made(runner: Runner) -> None:
    program = canned(runner, code=1)
    for redact in ("false", "true"):
        before = len(program.calls())
        runner.action("plan", {"redact": redact})
        assert ("validate" in [call[0] for call in program.calls()[before:]]) == (redact == "false")


def test_pages_are_one_summary_in_their_order(runner: Runner) -> None:
    canned(runner, said="page 1\n", more=tuple(f"page {n}\n" for n in range(2, 12)))
    assert runner.action("plan").summary == "".join(f"page {n}\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("code", "ends", "check", "changed"), [(0, 0, "Pass", "false"), (2, 0, "Pass", "true"), (3, 3, "Fail", "true"), (1, 1, "Fail", "false")]
)  # fmt: skip
def test_the_step_ends_as_the_plan_does_after_everybody_was_told(
    runner: Runner, code: int, ends: int, check: str, changed: str
) -> None:
    program = canned(runner, code=code)
    ran = runner.action("plan", {"comment": "true"})
    assert (ran.code, ran.outputs["check"], ran.outputs["changed"]) == (ends, check, changed)
    assert program.calls()[-1][0] == "comment" and ran.summary
    if code == 1:
        assert (Path(ran.outputs["pages"]) / "plan-1.md").read_text().startswith("### gitplacer: no plan could be made")


def test_a_review_says_the_state_of_the_check(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    told = [sys.executable, "-I", str(ACTIONS / "plan/verdict.py"), str(plan)]
    for review, code, said in (
        ({"review": {"check": "NeedsALook"}}, "2", "true NeedsALook"),
        ({"review": {"check": "Fail"}}, "0", "false Fail"),
        ({"review": {"check": "$(touch pwned)"}}, "2", "true Pass"),
        ({"review": {"check": "NeedsALook"}}, "3", "true Fail"),
    ):
        plan.write_text(json.dumps({**review, "saved": {"changes": True}}))
        assert subprocess.run([*told, code], capture_output=True, text=True, check=True).stdout == f"{said}\n"


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_no_input_is_anything_but_an_argument(runner: Runner, value: str) -> None:
    program = canned(runner, code=2)
    names = {
        "source",
        "path",
        "rev",
        "base",
        "trust-base",
        "deployment",
        "capacity",
        "fail-on",
        "comment-id",
        "head-sha",
        "head-repo",
    }
    ran = runner.action("plan", {"comment": "true", **dict.fromkeys(names, value)})
    assert ran.code == 0 and nothing_was_touched(runner)
    plan, comment = program.calls()
    assert [arg for arg in plan if arg.endswith(value)][:-1] == [
        f"--{name}={value}"
        for name in ("base", "trust-base", "deployment", "fail-on", "comment-id", "path", "rev", "capacity")
    ]
    assert plan[-2:] == ["--", value]
    assert [arg for arg in comment if arg.endswith(value)] == [
        f"--{name}={value}" for name in ("head-sha", "head-repo", "comment-id")
    ]
    assert ran.outputs["changed"] == "true"


@pytest.mark.parametrize("action", ["plan", "validate", "verify", "reconcile"])
def test_what_is_printed_is_neither_an_output_nor_a_command(runner: Runner, action: str) -> None:
    """But for annotations: that no text makes a command of its own among them is for test_problem_formats.py."""
    said = "\n".join(
        [*HOSTILE.values(), *([] if action == "validate" else ["::set-output name=changed::forged", "::error::x"])]
    )
    canned(runner, said=f"{said}\n", code=0)
    ran = runner.action(action, {"deployment": "d"} if action == "verify" else {})
    assert ran.code == 0 and nothing_was_touched(runner)
    assert ran.annotations == []
    assert ran.outputs["check"] == "Pass" and ran.outputs["summary"] == said
    if action != "plan":
        shown = ran.summary.split("\n\n", 1)[1]
        assert all(line.startswith("    ") for line in shown.splitlines())


def test_a_long_plan_is_cut_between_lines_and_says_so(runner: Runner) -> None:
    runner.environment["LIMIT"] = "1000"
    canned(runner, said="".join(f"line {i} ☃\n" for i in range(200)))
    ran = runner.action("plan")
    assert len(ran.summary.encode()) < 1100
    *lines, _, told = ran.summary.splitlines()
    assert all(re.fullmatch(r"line \d+ ☃", line) for line in lines)
    assert told == "**The rest is left out here**, because there is a largest size."
    assert ran.outputs["summary"] == ran.summary.rstrip("\n")


def test_a_summary_stays_below_what_github_takes(runner: Runner) -> None:
    canned(runner, said="☃" * 400_000 + "\n")
    assert len(runner.action("plan").summary.encode()) <= cirunner.SUMMARY_MOST


def test_marks_of_outputs_differ_from_run_to_run(runner: Runner) -> None:
    """Whoever could guess one could write outputs of their own."""
    script = '. "$GITHUB_ACTION_PATH/../shell/said.sh"; unguessable; echo; unguessable'
    marks = runner._bash(script, {}, ACTIONS / "plan").log.split()
    assert len(set(marks)) == 2 and all(re.fullmatch(r"end-[0-9a-f]{32}", mark) for mark in marks)


def test_a_token_for_git_is_answered_and_seen_by_nobody(runner: Runner) -> None:
    program = canned(runner)
    asked = runner.temp / "asked"
    ask = (
        f'"$GIT_ASKPASS" Username > {asked}; "$GIT_ASKPASS" Password >> {asked}; ls -l "${{GIT_ASKPASS%/*}}" >> {asked}'
    )
    text = (runner.bin / "gitplacer").read_text()
    asking = f"import subprocess\nsubprocess.run({ask!r}, shell=True)\n"
    (runner.bin / "gitplacer").write_text(text.replace("argv = ", f"{asking}argv = ", 1))
    ran = runner.action("plan", {"git-token": "s3cret"})
    user, password, *listing = asked.read_text().splitlines()
    assert (user, password) == ("x-access-token", "s3cret")
    assert [line.split()[0] for line in listing[1:]] == ["-rwx------", "-rw-------"]
    assert "s3cret" not in json.dumps(program.calls()) + ran.log + ran.summary + json.dumps(ran.outputs)
    assert not list(runner.temp.glob("gitplacer-git.*"))


def test_verify_passes_on_what_was_asked(runner: Runner) -> None:
    program = canned(runner, code=1)
    ran = runner.action(
        "verify", {"deployment": "https://x.example/d", "all": "true", "strict": "true", "since": "main~3"}
    )
    assert (ran.code, ran.outputs["check"]) == (1, "Fail")
    assert program.calls() == [
        [
            "verify",
            "--format",
            "text",
            "--deployment=https://x.example/d",
            "--since=main~3",
            "--all",
            "--strict",
            "--",
            ".",
        ]
    ]


@pytest.mark.parametrize("code", [0, 1])
def test_a_pass_is_told_of_only_where_it_landed(runner: Runner, code: int) -> None:
    program = canned(runner, code=code, said="Published\n")
    ran = runner.action("reconcile", {"rev": SHA, "plan": "p.json", "tell": "true", "git-token": "s3cret"})
    reconcile, *tell = program.calls()
    assert reconcile == ["reconcile", "--plan=p.json", f"--rev={SHA}", "--", "."]
    told = ["tell", "--host", "github", "--repo=org/fleet", f"--rev={SHA}", "--", "."]
    assert tell == ([] if code else [told]) and program.tokens() == ({""} if code else {"", "t0ken"})
    assert (ran.code, ran.outputs["check"]) == (code, "Fail" if code else "Pass")
    assert ran.outputs["summary"].startswith("Published") and "    Published\n" in ran.summary


# with the real program


def hostile_fleet() -> dict[str, str | bytes]:
    broken = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: '::error::x'}\nspec: {a: '$(touch pwned)'}\n"
    return {
        **starter(),
        "workloads/hello/$(touch pwned).yaml": broken,
        "workloads/hello/a\n::set-output name=changed::forged.yaml": broken,
        "workloads/hello/`touch pwned`,line=1.yaml": broken,
    }


@pytest.mark.slow
def test_hostile_files_are_annotated_and_do_nothing_else(runner: Runner) -> None:
    stand_in(runner.bin, real=True)
    write(runner.cwd, hostile_fleet())
    ran = runner.action("validate")
    assert (ran.code, ran.outputs["check"]) == (1, "Fail") and nothing_was_touched(runner)
    assert {kind for kind, _ in ran.annotations} <= {"error", "warning"} and len(ran.annotations) >= 3
    files = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in json.loads(Path(ran.outputs["sarif"]).read_text())["runs"][0]["results"]}  # fmt: skip
    assert "workloads/hello/%24%28touch%20pwned%29.yaml" in files
    assert len(json.loads(Path(ran.outputs["problems-json"]).read_text())["problems"]) == len(ran.annotations)


@pytest.mark.slow
def test_a_pass_is_made_and_proved_and_a_commit_of_others_fails_where_that_was_asked(
    runner: Runner, tmp_path: Path
) -> None:
    program = stand_in(runner.bin, real=True)
    make_repo(runner.cwd, starter())
    deployment = make_bare(tmp_path / "deployment.git")
    ran = runner.action("reconcile", {"deployment": str(deployment)})
    assert (ran.code, ran.outputs["check"]) == (0, "Pass") and ran.outputs["summary"].startswith("Published  "), ran.log
    assert runner.action("verify", {"deployment": str(deployment), "strict": "true"}).outputs["check"] == "Pass"
    git(tmp_path, "clone", "-q", str(deployment), "by-hand")
    write(tmp_path / "by-hand", {"clusters/x.yaml": "a: 1\n"})
    git(tmp_path / "by-hand", "add", "--all")
    git(tmp_path / "by-hand", "commit", "-q", "-m", "$(touch pwned)")
    git(tmp_path / "by-hand", "push", "-q")
    ran = runner.action("verify", {"deployment": str(deployment), "all": "true", "strict": "true"})
    assert (ran.code, ran.outputs["check"]) == (1, "Fail") and "Foreign" in ran.outputs["summary"]
    assert nothing_was_touched(runner) and len(program.calls()) == 3


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository on a host, with a pull request from a fork whose branch, title and files are hostile."""
    made = make_repo(tmp_path / "work", starter())
    bare = make_bare(tmp_path / "host" / "org" / "fleet")
    git(made, "push", "-q", str(bare), "main")
    git(made, "switch", "-q", "-c", "$(touch${IFS}pwned)")
    evil = FLEET.replace("spec: {}", "spec: {deployment: {url: 'https://evil.example/x.git'}}")
    write(made, {**hostile_fleet(), "fleet.yaml": evil, ".gitattributes": "* filter=x\n"})
    (made / "link").symlink_to("/etc/passwd")
    git(made, "add", "--all")
    git(made, "commit", "-q", "-m", "$(touch pwned)\n\n::error::x")
    git(made, "push", "-q", str(bare), "HEAD:refs/pull/7/head")
    return bare


def fork_event(origin: Path) -> dict[str, Any]:
    return {
        "token": "t0ken", "server_url": "https://host.example", "repository": "org/fleet",
        "event": {
            "repository": {"default_branch": "main"},
            "workflow_run": {
                "event": "pull_request", "head_sha": git(origin, "rev-parse", "refs/pull/7/head").strip(),
                "head_branch": "$(touch${IFS}pwned)", "display_title": "`touch pwned`",
                "head_repository": {"full_name": "stranger/fleet"},
            },
        },
    }  # fmt: skip


def test_a_pull_request_from_a_fork_is_planned_from_objects_and_told_where_it_belongs(
    runner: Runner, origin: Path
) -> None:
    program = stand_in(runner.bin, real=True)
    runner.context = {"github": fork_event(origin), "secrets": {"DEPLOYMENT_READ_TOKEN": "s3cret"}}
    (runner.temp / ".gitconfig").write_text(f'[url "{origin.parent.parent}/"]\n  insteadOf = https://host.example/\n')
    (job,) = load(ROOT / "docs/examples/github/gitplacer-fork-plan.yaml")["jobs"].values()
    ran = runner.job(job)
    assert ran.code == 0, ran.log
    assert nothing_was_touched(runner) and not list(runner.cwd.iterdir())
    head, base = (git(origin, "rev-parse", name).strip() for name in ("refs/pull/7/head", "main"))
    plan, comment = program.calls()
    clone = str(runner.temp / "fleet.git")
    assert {f"--base={base}", f"--rev={head}", "--trust-base=main", "--redact"} <= set(plan) and plan[-2:] == [
        "--",
        clone,
    ]
    assert {"--repo=org/fleet", f"--head-sha={head}", "--head-repo=stranger/fleet"} <= set(comment)
    assert git(Path(clone), "rev-parse", "--is-bare-repository").strip() == "true"
    assert "fleet.yaml:4:26" in ran.summary and "evil.example" not in ran.log  # told, not asked
    assert "t0ken" not in ran.log + ran.summary and "s3cret" not in ran.log + ran.summary
    assert {kind for kind, _ in ran.annotations} <= {"error", "warning"}


def test_a_head_that_is_no_commit_id_ends_it(runner: Runner, origin: Path) -> None:
    program = stand_in(runner.bin, real=True)
    event = fork_event(origin)
    event["event"]["workflow_run"]["head_sha"] = "main --upload-pack=touch${IFS}pwned"
    runner.context = {"github": event}
    (job,) = load(ROOT / "docs/examples/github/gitplacer-fork-plan.yaml")["jobs"].values()
    assert runner.job(job).code == 1
    assert program.calls() == [] and nothing_was_touched(runner)


def test_the_first_workflow_for_forks_may_do_nothing_and_gives_nothing_on() -> None:
    file = load(ROOT / "docs/examples/github/gitplacer-fork-validate.yaml")
    assert file["permissions"] == {"contents": "read"} and file["on"] == {"pull_request": None}
    text = (ROOT / "docs/examples/github/gitplacer-fork-validate.yaml").read_text()
    assert "secrets." not in text and "upload-artifact" not in text
    second = load(ROOT / "docs/examples/github/gitplacer-fork-plan.yaml")
    assert second["on"]["workflow_run"]["workflows"] == [file["name"]]
    assert second["permissions"] == {} and "download-artifact" not in json.dumps(second)


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_no_job_has_more_rights_than_it_needs_or_keeps_credentials(path: Path) -> None:
    file = load(path)
    assert "pull_request_target" not in file["on"]
    for job in file["jobs"].values():
        rights = job.get("permissions", file["permissions"])
        told = {"pull-requests": "write"} | ({"statuses": "write"} if "push" in file["on"] else {})
        assert rights in ({"contents": "read"}, {"contents": "read", **told})
        assert job["timeout-minutes"] <= 10
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


# what is installed


def fake_python(runner: Runner) -> Path:
    """A python that makes environments of itself and writes down what pip is asked for."""
    program = runner.bin / "fakepython"
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        '#!/bin/bash\nprintf "%s\\n" "$*" >> "$CALLS"\n'
        'if [ "$2" = venv ]; then mkdir -p "${@: -1}/bin"; cp "$0" "${@: -1}/bin/python"; fi\n[ "$1" != -c ] || exit "${OLD:-0}"\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("inputs", "spec"),
    [
        ({}, f"{ROOT}[hosts]"),
        ({"version": "0.1.0"}, "gitplacer[hosts]==0.1.0"),
        ({"pip-spec": "gitplacer @ https://x.example/$(touch pwned)"}, "gitplacer @ https://x.example/$(touch pwned)"),
    ],
)
def test_what_is_installed_is_what_was_pinned(runner: Runner, inputs: dict[str, str], spec: str) -> None:
    canned(runner)
    calls = runner.temp / "calls"
    runner.skipped = ("Plan", "Comment", "Judge")
    runner.environment["CALLS"] = str(calls)
    for _ in range(2):
        assert runner.action("plan", {"python": str(fake_python(runner)), **inputs}).code == 0
    venv = runner.temp / "gitplacer-program"
    assert runner.path[0] == f"{venv}/bin" and nothing_was_touched(runner)
    installs = [line for line in calls.read_text().splitlines() if "pip install" in line]
    assert installs == [f"-m pip install --quiet --disable-pip-version-check -- {spec}"]


@pytest.mark.parametrize(
    ("inputs", "environment", "said"),
    [
        ({"version": "1;touch pwned"}, {}, "the input version is no version"),
        ({"version": "--index-url=x"}, {}, "the input version is no version"),
        ({}, {"OLD": "1"}, "needs Python 3.11 or newer"),
    ],
)
def test_what_cannot_be_installed_is_an_annotation(
    runner: Runner, inputs: dict[str, str], environment: dict[str, str], said: str
) -> None:
    runner.skipped = ()
    runner.environment |= {"CALLS": "/dev/null", **environment}
    ran = runner.action("plan", {"python": str(fake_python(runner)), **inputs})
    assert ran.code == 1 and ran.annotations[0][0] == "error" and said in ran.annotations[0][1]


# GitLab


def pipeline(repo: Path, builds: Path, **more: str) -> dict[str, str]:
    commit = git(repo, "rev-parse", "HEAD").strip()
    return {
        "CI_BUILDS_DIR": str(builds), "CI_PROJECT_URL": "https://gitlab.example/org/fleet", "CI_COMMIT_SHA": commit, "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(repo, "rev-parse", "HEAD~1").strip(),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_PATH": "org/fleet",
        "CI_MERGE_REQUEST_TITLE": "$(touch pwned)", "CI_COMMIT_REF_NAME": "`touch pwned`", **more,
    }  # fmt: skip


@pytest.fixture
def checkout(origin: Path, tmp_path: Path) -> Path:
    """The merge request's commit as GitLab's runner checks it out."""
    place = tmp_path / "builds" / "fleet"
    place.mkdir(parents=True)
    git(place, "init", "-q")
    git(place, "remote", "add", "origin", str(origin))
    git(place, "fetch", "-q", "origin", "refs/pull/7/head")
    git(place, "-c", "core.protectHFS=false", "checkout", "-q", "FETCH_HEAD")
    return place


def test_gitlab_gets_a_report_of_what_is_wrong(checkout: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "bin", real=True)
    done = gitlab_job(TEMPLATE, "gitplacer validate", checkout, pipeline(checkout, tmp_path / "builds"), program.folder)
    assert done.returncode == 1 and "pwned" in done.stdout
    report = json.loads((checkout / "gl-code-quality-report.json").read_text())
    assert len(report) >= 3 and not list(tmp_path.rglob("pwned"))


def test_gitlab_gets_a_plan_and_a_comment_where_there_is_a_token(checkout: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "bin", real=True)
    variables = pipeline(checkout, tmp_path / "builds", GITPLACER_HOST_TOKEN="t0ken", GITPLACER_COMMENT_ID="a")
    done = gitlab_job(TEMPLATE, "gitplacer plan", checkout, variables, program.folder)
    assert done.returncode == 0, done.stderr
    plan, comment = program.calls()
    assert {"--trust-base=origin/main", f"--rev={variables['CI_COMMIT_SHA']}", "--comment-id=a"} <= set(plan)
    assert comment == [
        "comment", "--host", "gitlab", "--repo=org/fleet", "--pull=7", "--pages=gitplacer-plan/pages",
        f"--head-sha={variables['CI_COMMIT_SHA']}", "--plan=gitplacer-plan/plan.saved", "--comment-id=a",
    ]  # fmt: skip
    assert "evil.example" in (checkout / "gitplacer-plan/pages/plan-1.md").read_text()
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(("code", "token", "commented"), [(0, "", False), (3, "t0ken", True), (1, "t0ken", False)])
def test_gitlab_ends_as_the_plan_does(checkout: Path, tmp_path: Path, code: int, token: str, commented: bool) -> None:
    program = stand_in(tmp_path / "bin", code=code)
    variables = pipeline(checkout, tmp_path / "builds", GITPLACER_HOST_TOKEN=token)
    assert gitlab_job(TEMPLATE, "gitplacer plan", checkout, variables, program.folder).returncode == code
    assert [call[0] for call in program.calls()] == ["plan", *["comment"] * commented]


def test_gitlab_installs_the_release_that_the_template_came_with() -> None:
    assert load(TEMPLATE)["variables"]["GITPLACER_PIP_SPEC"]["value"] == f"gitplacer[hosts]=={__version__}"


# pre-commit


def pre_commit(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *args], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "PRE_COMMIT_HOME": str(cwd.parent / "pre-commit"), **environment},
    )  # fmt: skip


@pytest.mark.slow
def test_the_hook_runs_once_without_names_of_files_and_fails_on_errors(tmp_path: Path) -> None:
    """With its environment taken as made: making one would fetch packages."""
    assert pre_commit("validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"), cwd=tmp_path).returncode == 0
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["language"], hook["require_serial"]) == ("python", True)
    repo = make_repo(tmp_path / "fleet", starter())
    local = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    write(repo, {".pre-commit-config.yaml": yaml.safe_dump(local), "policies/b.yaml": "kind: x\n"})
    git(repo, "add", "--all")
    program = stand_in(tmp_path / "bin", real=True)
    path = f"{program.folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    done = pre_commit("run", "--all-files", cwd=repo, PATH=path)
    assert done.returncode == 0, done.stdout
    write(
        repo,
        {
            "policies/b.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: b}\nspec: {selec: {}}\n"
        },
    )
    git(repo, "add", "--all")
    done = pre_commit("run", cwd=repo, PATH=path)
    assert done.returncode == 1 and "policies/b.yaml:4:8: " in done.stdout
    assert program.calls() == [["validate"], ["validate"]]

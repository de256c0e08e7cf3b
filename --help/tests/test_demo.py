"""The demo tells the same story every time, and the commands that it ends with work when they are pasted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Ran, git, run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def demo(capfd: Capture, *args: str) -> Ran:
    ran = run(capfd, "demo", *args)
    assert (ran.code, ran.err) == (0, "")
    return ran


def section(told: str, number: int) -> str:
    return re.split(r"^\d\. |^Try next", told, flags=re.MULTILINE)[number]


def test_the_talks_scenarios_are_placed_as_told(capfd: Capture, here: Path) -> None:
    placed = section(demo(capfd).out, 2)
    for group, cluster in (
        ("rayjob1/rayjob-train", "static-cluster"),
        ("rayjob2/rayjob-train", "static-cluster"),
        ("rayjob3/rayjob-train", "dynamic-cluster"),
        ("experiment3/rayjob-train", "static-cluster"),
        ("production/text-summarizer", "static-cluster"),
        ("development/text-summarizer", "dynamic-cluster"),
        ("serving/rag-llm", "workload-cluster-1"),
        ("vllm1/llm-model-serve", "gke-workload-cluster"),
        ("vllm2/llm-model-serve", "eks-workload-cluster"),
    ):
        assert re.search(rf"\+ {group} +→ {cluster} ", placed), group
    assert "\n   13 placed, 0 relocated, " in placed


def test_a_drain_renames_the_service_and_holds_the_jobs_by_name(capfd: Capture, here: Path) -> None:
    told = demo(capfd).out
    assert "\n   -  state: Active\n   +  state: Draining\n" in section(told, 4)
    assert "→ production/text-summarizer  static-cluster → standby-cluster" in section(told, 5)
    for job in ("rayjob1/rayjob-train", "rayjob2/rayjob-train", "experiment1/rayjob-train"):
        assert re.search(rf"! {job} .* RayJob {job} may have started", section(told, 5))
    assert re.search(
        r"rename clusters/\{static-cluster => standby-cluster\}/\S+/text-summarizer.yaml \(100%\)", section(told, 6)
    )
    followed = section(told, 6).split("(git log --follow):")[1]
    assert [line.split("  ")[-1] for line in followed.strip().splitlines()] == [
        "Relocate production/text-summarizer from static-cluster to standby-cluster",
        "Place 13 groups",
    ]


def test_two_runs_tell_the_same_story(capfd: Capture, here: Path) -> None:
    first, second = demo(capfd, "--dir", "one").out, demo(capfd, "--dir", "two").out
    assert first.replace("one/", "two/") == second
    assert git(here / "one/deployment.git", "rev-parse", "main") == git(
        here / "two/deployment.git", "rev-parse", "main"
    )


def test_the_commands_at_the_end_work_when_pasted(capfd: Capture, here: Path) -> None:
    told = demo(capfd, "--dir", "my demo").out
    commands = [line.strip() for line in told.split("Try next\n")[1].strip().splitlines()]
    assert commands[0].startswith("gitplacer explain rayjob1/rayjob-train ")
    code = f"{sys.executable} -c 'import sys; from gitplacer.cli import main; sys.exit(main())'"
    script = "\n".join(["set -e", f'gitplacer() {{ {code} "$@"; }}', *commands])
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        "vllm1/llm-model-serve     gke-workload-cluster  its cluster is draining, and no other takes it" in done.stdout
    )
    assert "\n  Remove experiment3/rayjob-train\n" in done.stdout


def test_planning_again_changes_nothing(capfd: Capture, here: Path) -> None:
    demo(capfd)
    again = ("gitplacer-demo/fleet", "--deployment", "gitplacer-demo/deployment.git", "--exit-code")
    assert run(capfd, "plan", *again).code == 0


def test_the_callers_git_configuration_and_environment_do_not_matter(
    capfd: Capture, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = demo(capfd, "--dir", "one").out
    (here / "config").write_text("[core]\n\tautocrlf = true\n[commit]\n\tgpgSign = true\n[log]\n\tdecorate = full\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(here / "config"))
    monkeypatch.setenv("GITPLACER_CAPACITY", str(here))
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", str(here))
    assert demo(capfd, "--dir", "two").out.replace("two/", "one/") == plain


def test_a_second_demo_does_not_overwrite_the_first(capfd: Capture, here: Path) -> None:
    demo(capfd)
    before = git(here / "gitplacer-demo/fleet", "rev-parse", "HEAD")
    ran = run(capfd, "demo")
    assert ran.code == 1
    assert ran.err == "error: gitplacer-demo is there already\n  hint: remove it, or name another with --dir\n"
    assert git(here / "gitplacer-demo/fleet", "rev-parse", "HEAD") == before

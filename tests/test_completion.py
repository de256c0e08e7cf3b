"""Completion: what real shells offer when somebody presses Tab, how fast, and that nothing goes wrong there, whatever is in the repo."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pexpect
import pytest
from click.shell_completion import ShellComplete
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.cli import COMMANDS, completing, names, root
from gitplacer.packaged import EXAMPLE, packaged
from tests.commands import git, make_bare, make_repo, run, starter, write

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parent.parent
GROUPS = ["production/text-summarizer", "rayjob1/rayjob-train", "vllm1/llm-model-serve"]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example fleet, as the current directory."""
    made = make_repo(tmp_path / "fleet", packaged(EXAMPLE))
    monkeypatch.chdir(made)
    monkeypatch.delenv("GITPLACER_DEPLOYMENT", raising=False)
    return made


@pytest.fixture
def shims(tmp_path: Path) -> dict[str, str]:
    """An environment in which `gitplacer` is this one."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    shim = bin_dir / "gitplacer"
    shim.write_text(f"#!{sys.executable}\nfrom gitplacer.cli import program\nprogram()\n")
    shim.chmod(0o755)
    found = {
        **os.environ,
        "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
    }
    return {name: value for name, value in found.items() if not name.startswith("GITPLACER_")}


def offered(*typed: str) -> list[str]:
    """What may become of the last word."""
    *before, last = typed
    complete = ShellComplete(root, {}, "gitplacer", completing.VARIABLE)
    return [item.value for item in complete.get_completions(before, last)]


def sorts(*typed: str) -> set[str]:
    *before, last = typed
    return {
        item.type for item in ShellComplete(root, {}, "gitplacer", completing.VARIABLE).get_completions(before, last)
    }


# shells


def in_bash(line: str, cwd: Path, environment: dict[str, str]) -> list[str]:
    """What bash itself makes of Tab at the end of a line: its own function, with what it sets for one."""
    script = (
        'eval "$(gitplacer completion bash)"; complete -p gitplacer >&2; COMP_LINE=$1; COMP_POINT=${#1}; '
        'read -ra COMP_WORDS <<< "$1"; [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
        'compopt() { echo "$@" >&2; }; _gitplacer_completion gitplacer; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "--norc", "-c", script, "bash", line]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("complete -o nosort -F _gitplacer_completion gitplacer\n")
    return [*filter(None, done.stdout.splitlines()), *done.stderr.splitlines()[1:]]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(fleet: Path, shims: dict[str, str]) -> None:
    assert in_bash("gitplacer expl", fleet, shims) == ["explain"]
    assert in_bash("gitplacer explain prod", fleet, shims) == ["production/text-summarizer"]
    assert in_bash("gitplacer move x --to st", fleet, shims) == ["standby-cluster", "static-cluster"]
    assert in_bash("gitplacer move x --to = st", fleet, shims) == ["standby-cluster", "static-cluster"], (
        "how bash splits --to=st"
    )
    assert in_bash("gitplacer plan --out ", fleet, shims) == ["-o default"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes(fleet: Path, shims: dict[str, str]) -> None:
    def asked(line: str) -> list[str]:
        command = ["fish", "--no-config", "-c", "gitplacer completion fish | source; complete -C $argv[1]", line]
        done = subprocess.run(command, cwd=fleet, env=shims, capture_output=True, text=True, check=True)
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert asked("gitplacer expl") == ["explain"]
    assert asked("gitplacer explain prod") == ["production/text-summarizer"]
    assert asked("gitplacer bootstrap ") == ["argocd", "flux"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_completes_what_is_typed(fleet: Path, shims: dict[str, str]) -> None:
    session = pexpect.spawn(
        "zsh", ["-f", "-i"], cwd=fleet, env={**shims, "TERM": "dumb", "PS1": "READY> "}, encoding="utf-8", timeout=20
    )
    session.expect("READY> ")
    session.sendline(
        "unsetopt zle_bracketed_paste; autoload -U compinit && compinit -u -D; eval \"$(gitplacer completion zsh)\"; echo SET''UP"
    )
    session.expect("SETUP")
    session.expect("READY> ")
    session.send("gitplacer explain prod\t")
    session.expect("production/text-summarizer")
    session.sendcontrol("c")
    session.close(force=True)


@pytest.mark.parametrize("shell", completing.SHELLS)
def test_a_script_is_what_the_shell_reads_without_a_word(capfd: Capture, shell: str) -> None:
    ran = run(capfd, "completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert completing.VARIABLE in ran.out
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=ran.out, text=True, check=True)


def test_an_unknown_shell_is_told_which_are_known(capfd: Capture) -> None:
    assert 'did you mean "fish"?' in run(capfd, "completion", "fisch").err


# what is offered


def test_commands_options_and_words(fleet: Path) -> None:
    assert set(offered("")) == set(COMMANDS)
    assert offered("plan", "--dep") == ["--deployment"]
    assert offered("plan", "--format", "") == ["text", "markdown", "json"]
    assert offered("plan", "--fail-on", "waiting,re") == ["waiting,relocated", "waiting,removed"]
    assert offered("help", "env") == ["environment"]
    assert offered("completion", "") == ["bash", "zsh", "fish"]
    assert "PlacementPolicy" in offered("schema", "")
    assert offered("schema", "Pla") == ["Placement", "PlacementPolicy", "Plan"]


def test_names_of_the_fleet(fleet: Path, tmp_path: Path) -> None:
    groups = offered("explain", "")
    assert set(GROUPS) <= set(groups)
    assert offered("suspend", "production/text-summarizer,rayjob1") == [
        "production/text-summarizer,rayjob1/rayjob-train"
    ]
    assert offered("drain", "st") == ["standby-cluster", "static-cluster"]
    assert offered("simulate", "--lose", "dyn") == ["dynamic-cluster"]
    assert offered("suspend", "x", "--policy", "t") == ["training"]
    assert offered("suspend", "x", "--namespace", "vllm") == ["vllm1", "vllm2"]
    git(fleet, "branch", "release/1")
    assert offered("plan", "--base", "") == ["main", "release/1"]
    elsewhere = make_repo(tmp_path / "other", starter())
    assert offered("explain", "--path", str(elsewhere), "") == ["hello/hello"]


def test_the_groups_are_those_that_commands_know(fleet: Path, capfd: Capture) -> None:
    import json

    plan = json.loads(run(capfd, "plan", fleet, "--format", "json").out)
    known = {group["group"] for group in plan["groups"]}
    assert set(offered("explain", "")) == {group for group in known if not group.startswith("_cluster/")}


def test_recorded_groups_are_offered_too(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = make_bare(tmp_path / "deployment.git")
    work = make_repo(tmp_path / "work", {"placements/gone/app.yaml": "x: 1\n"})
    git(work, "push", "-q", str(bare), "HEAD:main")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/main")
    assert offered("history", "gone") == []
    assert offered("history", "--deployment", str(bare), "gone") == ["gone/app"]
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", str(bare))
    assert offered("history", "gone") == ["gone/app"]


def test_contexts_of_kubeconfigs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = "apiVersion: v1\nclusters:\n- cluster: {server: https://a}\n  name: not-this\ncontexts:\n- context:\n    cluster: a\n    user: u\n  name: kind-a\n"
    (tmp_path / "a").write_text(
        written + "- context: {cluster: b}\n  name: 'kind-b'\ncurrent-context: kind-a\nusers:\n- name: nor-this\n"
    )
    (tmp_path / "b").write_text("contexts: [{name: other, context: {}}]\nusers: [{name: nobody}]\n")
    monkeypatch.setenv("KUBECONFIG", f"a{os.pathsep}nowhere{os.pathsep}b")
    assert offered("snapshot", "--context", "") == ["kind-a", "kind-b", "other"]
    assert offered("init", "--kubeconfig", "b", "--context", "") == ["other"]


FREE = {
    "[NAMESPACE/]NAME", "ADDRESS", "BRANCH", "CLUSTER/TYPE=PRICE", "DURATION", "GLOB", "HOST:PORT", "KEY", "LABEL", "LABELS", "N", "N|P%", "NAME",
    "NAME <MAIL>", "NAME=VALUE", "OWNER/NAME", "PATH", "PATTERN", "PROVIDER=FILE", "SELECTOR", "SHA", "TEXT", "TIME", "URL", "WORDS",
}  # fmt: skip
"""What only the user knows."""


def every_command(command: click.Command = root, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Each command that takes options of its own, with the words that call it."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    ctx = click.Context(command)
    for word in command.list_commands(ctx):
        below = command.get_command(ctx, word)
        assert below is not None
        yield from every_command(below, f"{name} {word}".strip())


@pytest.mark.parametrize(("name", "command"), list(every_command()))
def test_everything_that_can_be_known_is_offered(name: str, command: click.Command) -> None:
    for param in command.params:
        if isinstance(param, click.Option) and (param.is_flag or param.metavar in FREE):
            continue
        typed = isinstance(param.type, click.Choice | click.Path | click.types.IntParamType)
        assert typed or param._custom_shell_complete is not None, f"{name}: {param.name} has no completion"


def test_the_commands_below_commands_are_looked_at_too() -> None:
    assert {"adopt", "import nova"} <= {name for name, _ in every_command()}


# whatever the repo looks like

BROKEN: dict[str, dict[str, str | bytes]] = {
    "nothing": {},
    "no text": {"clusters/a.yaml": b"\xff\xfe\x00kind: Cluster\n", "fleet.yaml": bytes(range(256))},
    "no YAML": {"clusters/a.yaml": "kind: [\nmetadata: {name\n", "fleet.yaml": "}{", "workloads/a/b.yaml": "kind: RayJob\nmetadata:"},
    "a cluster among errors": {"x.yaml": "a: [\n---\napiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata:\n  labels: {name: no}\n  name: good\n"},
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_no_repo_makes_it_fail(tmp_path: Path, case: str, shims: dict[str, str]) -> None:
    write(tmp_path / "fleet", BROKEN[case])
    (tmp_path / "fleet").mkdir(exist_ok=True)
    (tmp_path / "fleet/clusters").mkdir(exist_ok=True)
    (tmp_path / "fleet/clusters/loop.yaml").symlink_to("loop.yaml")
    asked = {
        **shims,
        "COMP_WORDS": "gitplacer drain ",
        "COMP_CWORD": "2",
        completing.VARIABLE: "bash_complete",
        "GITPLACER_DEPLOYMENT": "nowhere",
    }
    done = subprocess.run(["gitplacer"], cwd=tmp_path / "fleet", env=asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == ("plain,good" if "among" in case else "")


@pytest.mark.parametrize(
    "words", ["gitplacer nosuch ", "gitplacer plan --nosuch ", "gitplacer plan --path", "gitplacer explain 'x"]
)
@pytest.mark.parametrize("at", ["1", "2", "7", "x", ""])
def test_no_line_makes_it_speak(
    words: str, at: str, capfd: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"COMP_WORDS": words, "COMP_CWORD": at, completing.VARIABLE: "bash_complete"}.items():
        monkeypatch.setenv(name, value)
    assert run(capfd).err == ""


@given(text=st.text(alphabet="kind: Cluster\nmetdavr{}-'\"#[]&*!|>%@`,gitplacer.dev/v1alpha1\t", max_size=300))
def test_any_text_is_looked_through(text: str) -> None:
    for document in names._DOCUMENTS.split(f"apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata:{text}"):
        names._in_metadata(document, names._NAME)


def test_a_secret_in_a_name_is_not_run(fleet: Path) -> None:
    """What is offered is put on a command line: nothing with a blank or a control character in it."""
    write(
        fleet, {"clusters/x.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: a\x1b[31m\n"}
    )
    assert "a" not in {word[:1] for word in offered("drain", "")}


def test_a_large_fleet_is_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: job}\nspec: {}\n"
    monkeypatch.setattr(names, "_MOST_FILES", 50)
    write(
        tmp_path,
        {
            **{f"workloads/ns{n}/job.yaml": job for n in range(100)},
            **{k: v for k, v in starter().items() if k.startswith("clusters/")},
        },
    )
    read: list[Path] = []
    true = names._text
    monkeypatch.setattr(names, "_text", lambda path: read.append(path) or true(path))
    monkeypatch.chdir(tmp_path)
    assert len(offered("explain", "")) == names._MOST_FILES
    assert len(read) < names._MOST_FILES + 10
    assert offered("drain", "") == ["my-cluster"], "what is in clusters/ is found first"


def test_completing_loads_nothing_heavy(fleet: Path, shims: dict[str, str]) -> None:
    """A parser or a planner would make somebody wait; `heavy` are modules that take longer than a blink."""
    heavy = {"numpy", "pydantic", "yaml", "rich", "ruamel", "sqlite3", "gitplacer.settings"}
    code = f"import sys; from gitplacer.cli import main; main(); print('LOADED', sorted({heavy} & set(sys.modules)))"
    asked = {**shims, "COMP_WORDS": "gitplacer explain ", "COMP_CWORD": "2", completing.VARIABLE: "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=fleet, env=asked, capture_output=True, text=True, check=True
    )
    assert "plain,production/text-summarizer" in done.stdout
    assert done.stdout.endswith("LOADED []\n")

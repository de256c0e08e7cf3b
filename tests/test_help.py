"""Help that teaches: every command has examples that work, says how it exits and what the environment says, and is a man page too."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from docs import sessions
from gitplacer.cli import COMMANDS, lessons, root
from gitplacer.cli.manpage import man_page
from gitplacer.cli.teaching import Taught, option_groups
from tests.commands import git, run
from tests.dumps import machine

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parent.parent
EXAMPLES = [line for examples in lessons.EXAMPLES.values() for _, line in examples]
NEEDS_MORE = {
    "import karmada ../karmada -o ../moved": "files of Karmada; docs/from-karmada.md",
    "import ocm ../ocm -o ../moved": "files of OCM; docs/from-ocm.md",
    "import nova ../nova -o ../moved": "files of Nova; docs/from-nova.md",
    "import nova ../nova -o ../moved --set REGION=us-east-1 --format json": "files of Nova",
    "demo": "nothing, and is what the others are run in",
    "demo --dir try-it": "nothing; tests/test_demo.py",
    "test --rev main~1": "seconds; tests/test_example.py",
    "init my-fleet --context kind-a --context kind-b": "clusters",
    "snapshot -o capacity/static-cluster.yaml": "a cluster",
    "snapshot --context kind-a --cluster static-cluster": "a cluster",
    "snapshot --in-cluster --cluster static-cluster --push https://github.com/acme/fleet.git --every 30s": "to be in one",
    "reconcile --watch --metrics-listen 127.0.0.1:9090": "to be stopped; tests/test_watching.py",
    "adopt old -o fleet": "folders by hand; tests/test_adopt.py",
    'adopt old -o fleet --clusters "envs/{cluster}/apps/{namespace}/**"': "folders by hand",
    "comment --pages pages": "a host; tests/test_hosts.py",
    "comment --host github --repo acme/fleet --pull 12 --pages pages": "a host",
    "tell": "a host",
    "tell --host gitlab --repo acme/fleet --plan plan.json": "a host",
    "simulate --every-cluster --fail-on services": "other processes; tests/test_simulate.py",
}
"""Examples that are read here and not run, and what they would need."""
READ_ONLY = {
    "validate",
    "plan",
    "explain",
    "room",
    "test",
    "size",
    "simulate",
    "blast",
    "history",
    "status",
    "verify",
    "schema",
    "help",
    "completion",
}
EXITS = {
    "plan --fail-on waiting,problems": 0,
    "fit workloads/rayjob3/rayjob-train.yaml --from cluster.json --exit-code": 3,
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sessions.make_demo(tmp_path_factory.mktemp("help"))


def found(name: str) -> tuple[click.Command, click.Context]:
    command = root.get_command(click.Context(root), name)
    assert command is not None
    return command, click.Context(
        command, info_name=name, parent=click.Context(root, info_name="gitplacer", **root.context_settings)
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_two_to_four_examples(capfd: Capture, name: str) -> None:
    told = run(capfd, name, "--help").out
    examples = lessons.EXAMPLES[name]
    assert 2 <= len(examples) <= 4
    _, _, end = told.partition("\nExamples:\n")
    for said, line in examples:
        assert " ".join(f"{said}{'' if said.endswith('?') else ':'}".split()) in " ".join(end.split())
        assert f"\n    gitplacer {line}\n" in end, "an example is on one line, to be copied"
        assert shlex.split(line)[0] == name
    assert "\nExit codes:\n  0  " in told


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_fleet_is_named_where_the_examples_work_in_it(capfd: Capture, name: str) -> None:
    told = run(capfd, name, "--help").out
    assert ("\n  To try them:\n    gitplacer demo && cd " in told) == (name not in lessons.WITHOUT_STAGE)
    if all(line in NEEDS_MORE for _, line in lessons.EXAMPLES[name]):
        assert name in lessons.WITHOUT_STAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_no_value_of_an_option_is_called_after_its_type_in_the_code(capfd: Capture, name: str) -> None:
    assert not re.search(r"^ +--.* (INTEGER|FLOAT|TEXT RANGE|INTEGER RANGE)\b", run(capfd, name, "--help").out, re.M)


def test_nothing_is_taught_about_what_is_not_there() -> None:
    assert set(lessons.EXAMPLES) == set(COMMANDS)
    assert set(lessons.EXITS) <= set(COMMANDS)
    assert sorted(name for names in lessons.PURPOSES.values() for name in names) == sorted(COMMANDS)
    params = {param.name for name in COMMANDS for param in found(name)[0].params}
    assert {name for names in lessons.ABOUT.values() for name in names} <= params
    assert set(lessons.ENVIRONMENT) <= params
    assert set(NEEDS_MORE) | set(EXITS) <= set(EXAMPLES)


def test_every_variable_that_is_read_is_told_of() -> None:
    read = {
        name
        for path in (ROOT / "gitplacer").rglob("*.py")
        for name in re.findall(r"\bGITPLACER_[A-Z_]+\b", path.read_text())
    }
    told = {name for names in lessons.VARIABLES for name in names}
    assert read - {"GITPLACER_COMPLETE"} == {name for name in told if name.startswith("GITPLACER_")}
    assert {name for names in lessons.ENVIRONMENT.values() for name in names} <= told


@pytest.mark.parametrize("line", [line for line in EXAMPLES if line not in NEEDS_MORE])
def test_an_example_works(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, demo: Path, line: str
) -> None:
    command, *args = shlex.split(line)
    if command not in READ_ONLY:
        shutil.copytree(demo, tmp_path / demo.name, symlinks=True)
    fleet = (demo.parent if command in READ_ONLY else tmp_path) / lessons.STAGE
    monkeypatch.chdir(fleet)
    for name, value in {"DEPLOYMENT": lessons.STAGE_DEPLOYMENT, "CACHE": str(demo.parent / "cache")}.items():
        monkeypatch.setenv(f"GITPLACER_{name}", value)
    if command == "test":
        monkeypatch.delenv("GITPLACER_DEPLOYMENT")
    if command == "fit":
        (fleet / "cluster.json").write_text(json.dumps({"items": [machine("a")]}))
    if command == "resume":
        assert run(capfd, "suspend", "vllm*/*").code == 0
    if command in ("move", "return"):
        git(fleet, "revert", "--no-edit", "HEAD")
    if "--plan" in args:
        assert run(capfd, "plan", "--out", "../plan.json", "--now", "2026-01-02T04:05:00Z").code == 0
    if any(param.name == "now" for param in found(command)[0].params):
        args += ["--now", "2026-01-02T04:05:00Z"]
    ran = run(capfd, command, *args)
    assert (ran.code, "error" in ran.err) == (EXITS.get(line, 0), False), ran.err
    assert ran.out or ran.err


@pytest.mark.parametrize("line", NEEDS_MORE)
def test_an_example_that_is_not_run_is_understood(line: str) -> None:
    name, *args = shlex.split(line)
    command, _ = found(name)
    command.make_context(name, args)


def test_options_are_grouped_where_there_are_many_and_none_is_lost() -> None:
    for name in COMMANDS:
        command, ctx = found(name)
        groups = list(option_groups(command, ctx))
        options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
        assert sorted(id(o) for _, members in groups for o in members) == sorted(map(id, options))
        assert (len(groups) > 1) == (len(options) >= lessons.GROUPED_FROM), name
        assert max(len(members) for _, members in groups) <= 11, name


def test_the_list_of_commands_is_by_what_somebody_wants(capfd: Capture) -> None:
    told = run(capfd, "--help").out
    places = [told.index(f"\n{title}:\n") for title in lessons.PURPOSES]
    assert places == sorted(places)
    assert "\nOthers:" not in told


# gitplacer help


def test_help_is_what_the_option_prints(capfd: Capture) -> None:
    assert run(capfd, "help", "plan").out == run(capfd, "plan", "--help").out
    assert run(capfd, "help").out == run(capfd, "--help").out


def test_the_environment_is_a_topic(capfd: Capture) -> None:
    told = run(capfd, "help", "environment").out
    assert all(name in told for names in lessons.VARIABLES for name in names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["paln"], 'there is no command "paln"\n  hint: did you mean "plan"?'),
        (["enviroment"], 'there is no command "enviroment"\n  hint: did you mean "environment"?'),
        (["plan", "more"], "gitplacer plan has no commands of its own"),
    ],
)
def test_help_about_nothing_is_told(capfd: Capture, words: list[str], said: str) -> None:
    ran = run(capfd, "help", *words)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


# man pages


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_a_man_page_says_what_help_says(capfd: Capture, name: str) -> None:
    page = run(capfd, "help", "--man", *([name] if name else [])).out
    assert page.splitlines()[0].startswith(f'.TH GITPLACER{"-" if name else ""}{name.upper()} 1 "" "gitplacer ')
    command = found(name)[0] if name else root
    plain = page.replace("\\-", "-")
    for param in command.params:
        assert not isinstance(param, click.Option) or param.opts[0] in plain
    for told, line in lessons.EXAMPLES.get(name, ()):
        assert f"gitplacer {line}" in plain
        assert told.split(":")[0].replace("`", "") in plain


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_a_formatter_has_nothing_against_any_page() -> None:
    pages = sorted((ROOT / "man").glob("*.1"))
    assert len(pages) > len(COMMANDS)
    command = ["groff", "-man", "-ww", "-z", "-Tutf8", *map(str, pages)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""


def test_what_roff_would_take_for_a_request_is_text() -> None:
    @click.command("odd", help="Odd.\n\n.SH is no request, and \\fB no font; it's a — dash.")
    def odd() -> None: ...

    page = man_page(click.Context(odd, info_name="odd"))
    assert "\n\\&.SH is no request, and \\efB no font; it's a \\[u2014] dash.\n" in page


def test_help_is_asked_for_in_one_way_whoever_looked_at_a_command_first() -> None:
    @click.command("plain", cls=Taught)
    def plain() -> None: ...

    assert [option.opts for option in plain.get_params(click.Context(plain))] == [["-h", "--help"]]


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_man_shows_it(capfd: Capture) -> None:
    page = run(capfd, "help", "--man", "explain").out
    told = subprocess.run(
        ["man", "-l", "-"], input=page, capture_output=True, text=True, check=True, env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
    ).stdout  # fmt: skip
    assert "gitplacer explain rayjob1/rayjob-train --nodes" in told.replace("\b", "") or "gitplacer explain" in told

"""
GitHub's runner and GitLab's, as far as our files need them: expressions, environment, bash, and the files that steps write.

What is not understood is an error, never nothing: an expression that this cannot evaluate fails the test that meets it. Commands in
the log are obeyed as the runner obeys them, so a test sees what a log would have done.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import yaml

from gitplacer.cli import root

ROOT = Path(__file__).parent.parent
ACTIONS = ROOT / ".github" / "actions"
SUMMARY_MOST = 1024 * 1024
"""Bytes of a step's summary; GitHub shows nothing of one that is longer."""
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_PATH = re.compile(r"[a-z]\w*(\.[\w-]+)+")
_COMMAND = re.compile(r"::([\w-]+)(?: ([^:]*(?::[^:]+)*?))?::(.*)")


def load(path: Path) -> dict[str, Any]:
    """A YAML file as GitHub and GitLab read it, in which `on` is a key and no truth."""
    found = yaml.safe_load(path.read_text("utf-8"))
    if True in found:
        found["on"] = found.pop(True)
    assert isinstance(found, dict)
    return found


def evaluated(text: Any, context: Mapping[str, Any]) -> str:
    """A string of a workflow with its expressions replaced."""
    return _EXPRESSION.sub(lambda found: _said(_value(found[1], context)), _said(text))


def holds(condition: str, context: Mapping[str, Any]) -> bool:
    """Whether an `if:` holds."""
    inner = _EXPRESSION.fullmatch(condition.strip())
    return all(_value(part, context) not in ("", "false", False, None) for part in (inner[1] if inner else condition).split("&&"))  # fmt: skip


def _said(value: Any) -> str:
    return {True: "true", False: "false", None: ""}.get(value) if isinstance(value, bool | None) else str(value)  # type: ignore[return-value]


def _value(expression: str, context: Mapping[str, Any]) -> Any:
    said = expression.strip()
    for operator in ("==", "!="):
        if operator in said:
            left, right = (_value(part, context) for part in said.split(operator))
            return (left == right) == (operator == "==")
    if re.fullmatch(r"'[^']*'", said):
        return said[1:-1]
    assert _PATH.fullmatch(said), f"an expression that is not understood: {said}"
    found: Any = context
    for part in said.split("."):
        found = found.get(part, "") if isinstance(found, Mapping) else ""
    return found


@dataclass
class Ran:
    """What a job came to so far."""

    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    log: str = ""
    annotations: list[tuple[str, str]] = field(default_factory=list)
    code: int = 0


@dataclass
class Runner:
    """
    A machine. `cwd` is the checkout, `temp` the runner's own folder, `bin` comes first on the PATH; `context` has what
    expressions ask for. `environment` is what every step gets besides.
    """

    cwd: Path
    temp: Path
    bin: Path
    context: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    skipped: Sequence[str] = ("Install gitplacer",)
    path: list[str] = field(default_factory=list)

    def action(self, name: str, inputs: Mapping[str, str] | None = None) -> Ran:
        """One of our composite actions."""
        folder = ACTIONS / name
        file = load(folder / "action.yml")
        given = dict(inputs or {})
        assert given.keys() <= file["inputs"].keys(), given.keys() - file["inputs"].keys()
        context = {**self.context, "runner": {"temp": str(self.temp)}}
        for key, about in file["inputs"].items():
            if about.get("required"):
                assert key in given, f"{key} is required"
            given.setdefault(key, evaluated(about.get("default", ""), context))
        ran, outputs = self.steps(file["runs"]["steps"], {**context, "inputs": given}, folder)
        ran.outputs = {
            key: evaluated(about["value"], {"steps": outputs}) for key, about in file.get("outputs", {}).items()
        }
        return ran

    def job(self, job: Mapping[str, Any]) -> Ran:
        """A job of a workflow, if its condition holds. Our actions are run, others are taken as done."""
        context = {**self.context, "runner": {"temp": str(self.temp)}}
        assert holds(job.get("if", "'true'"), context)
        return self.steps(job["steps"], context, None)[0]

    def steps(
        self, steps: Sequence[Mapping[str, Any]], context: Mapping[str, Any], folder: Path | None
    ) -> tuple[Ran, dict[str, Any]]:
        """Steps in order, until one fails; their outputs by their ids."""
        ran, outputs = Ran(), {}
        for step in steps:
            seen = {**context, "steps": outputs}
            if step.get("name") in self.skipped or not holds(step.get("if", "'true'"), seen):
                continue
            if "uses" in step:
                one = self._used(step, seen)
            else:
                assert step["shell"] == "bash"
                environment = {key: evaluated(value, seen) for key, value in step.get("env", {}).items()}
                one = self._bash(step["run"], environment, folder)
            ran.log += one.log
            ran.summary += one.summary
            ran.annotations += one.annotations
            if "id" in step:
                outputs[step["id"]] = {"outputs": one.outputs}
            if one.code:
                ran.code = one.code
                break
        return ran, outputs

    def _used(self, step: Mapping[str, Any], context: Mapping[str, Any]) -> Ran:
        name, _, version = step["uses"].partition("@")
        assert re.fullmatch(r"[0-9a-f]{40}", version), "an action is pinned by the id of a commit"
        if not name.startswith("gitplacer/gitplacer/.github/actions/"):
            return Ran()
        return self.action(
            name.rpartition("/")[2], {key: evaluated(value, context) for key, value in step.get("with", {}).items()}
        )

    def _bash(self, script: str, environment: Mapping[str, str], folder: Path | None) -> Ran:
        assert "${{" not in script
        files = {name: self._file() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
        program = self._file()
        program.write_text(script)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(program)],
            cwd=self.cwd,
            env={
                "PATH": os.pathsep.join([*self.path, str(self.bin), os.environ["PATH"]]),
                "HOME": str(self.temp),
                "RUNNER_TEMP": str(self.temp),
                **({"GITHUB_ACTION_PATH": str(folder)} if folder else {}),
                **{name: str(file) for name, file in files.items()},
                **{name: os.environ[name] for name in ("GITPLACER_CACHE",) if name in os.environ},
                **self.environment,
                **environment,
            },
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        summary = files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
        assert len(summary.encode()) <= SUMMARY_MOST, "GitHub would show nothing of this summary"
        self.path[:0] = files["GITHUB_PATH"].read_text().split("\n")[:-1]
        outputs = read_outputs(files["GITHUB_OUTPUT"].read_text("utf-8"))
        log = done.stdout + done.stderr
        return Ran(outputs, summary, log, obeyed(log), done.returncode)

    def _file(self) -> Path:
        handle, name = tempfile.mkstemp(dir=self.temp)
        os.close(handle)
        return Path(name)


def read_outputs(text: str) -> dict[str, str]:
    """A GITHUB_OUTPUT file, read line by line as the runner does."""
    found: dict[str, str] = {}
    lines = iter(text.split("\n")[:-1])
    for line in lines:
        name, equals, value = line.partition("=")
        before, heredoc, mark = line.partition("<<")
        if heredoc and (not equals or len(before) < len(name)):
            kept = []
            for inner in lines:
                if inner == mark:
                    break
                kept.append(inner)
            else:
                raise AssertionError(f"the value of {before} does not end")
            name, value = before, "\n".join(kept)
        assert re.fullmatch(r"[a-z-]+", name), f"no output has this name: {name!r}"
        assert name not in found, f"{name} is given twice"
        found[name] = value
    return found


def obeyed(log: str) -> list[tuple[str, str]]:
    """The commands of a log that the runner would obey: name and message."""
    found, stopped = [], ""
    for line in log.splitlines():
        command = _COMMAND.match(line.lstrip())
        if stopped:
            stopped = "" if line.strip() == f"::{stopped}::" else stopped
        elif command and command[1] == "stop-commands":
            stopped = command[3]
        elif command:
            found.append((command[1], command[3]))
    return found


def gitlab_job(
    file: Path, name: str, cwd: Path, variables: Mapping[str, str], first: Path
) -> subprocess.CompletedProcess[str]:
    """The `script` of a job of a GitLab template in bash, with the variables of the template and those of a pipeline."""
    template = load(file)
    job, parent = template[name], template[template[name]["extends"]]
    known = {"CI_PROJECT_DIR": str(cwd), **variables}
    for declared in (template["variables"], parent.get("variables", {}), job.get("variables", {})):
        for key, about in declared.items():
            value = str(about["value"] if isinstance(about, dict) else about)
            known.setdefault(key, re.sub(r"\$(\w+)", lambda found: known.get(found[1], ""), value))
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])],
        cwd=cwd,
        env={"PATH": f"{first}{os.pathsep}{os.environ['PATH']}", "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", **known},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


# programs that stand in for gitplacer

_RECORDING = """\
#!{python}
import json, os, sys
argv = sys.argv[1:]
with open({record!r}, "a") as file:
    file.write(json.dumps({{"argv": argv, "token": os.environ.get("GITPLACER_HOST_TOKEN", "")}}) + "\\n")
option = lambda name: next((a.partition("=")[2] for a in argv if a.startswith(name + "=")), "")
"""
_CANNED = """\
if argv[0] == "plan":
    os.makedirs(option("--pages"))
    print({said!r}, end="", file=sys.stderr)
    for number, part in enumerate(({said!r}, *{more!r}), 1):
        with open(option("--pages") + f"/plan-{{number}}.md", "w") as file:
            file.write(part)
    with open(option("--out"), "w") as file:
        json.dump({{"saved": {{"changes": True}}}}, file)
elif argv[0] != "comment":
    print({said!r}, end="")
    print({said!r}, end="", file=sys.stderr)
sys.exit({code} if argv[0] != "comment" else 0)
"""
_REAL = """\
sys.path.insert(0, {root!r})
from gitplacer.cli import COMMANDS, main, root
import click
if argv[0] == "comment" or argv[0] not in COMMANDS:  # asks a host, or is not there yet
    sys.exit(0)
known = {{o for p in root.get_command(click.Context(root), argv[0]).params for o in p.opts}}
pages = option("--pages") if "--pages" not in known else ""
if pages:
    os.makedirs(pages, exist_ok=True)
    said = open(pages + "/plan-1.md", "w")
    os.dup2(said.fileno(), 1)
code = main([a for a in argv if not a.startswith("--") or a == "--" or a.partition("=")[0] in known])
sys.exit(code)
"""


@dataclass(frozen=True)
class StandIn:
    """A program called gitplacer in a folder of its own, and what it was called with."""

    folder: Path
    record: Path

    def calls(self) -> list[list[str]]:
        """The arguments of each call, all of which have options that the command has."""
        found = [call["argv"] for call in self._all()]
        for argv in found:
            assert_understood(argv)
        return found

    def tokens(self) -> set[str]:
        return {call["token"] for call in self._all()}

    def _all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []


def assert_understood(argv: Sequence[str]) -> None:
    """A command knows its options, whatever it thinks of their values."""
    command = root.get_command(click.Context(root), argv[0])
    assert command is not None
    known = {option for param in command.params for option in param.opts}
    ours = itertools.takewhile(lambda arg: arg != "--", argv[1:])
    assert {arg.partition("=")[0] for arg in ours if arg.startswith("--")} <= known, argv


def stand_in(
    folder: Path, *, said: str = "fine\n", more: tuple[str, ...] = (), code: int = 0, real: bool = False
) -> StandIn:
    """One that says something and exits with a code, or the real one, with a record of its calls."""
    folder.mkdir(exist_ok=True)
    record = folder / "calls.jsonl"
    text = _RECORDING.format(python=sys.executable, record=str(record))
    text += _REAL.format(root=str(ROOT)) if real else _CANNED.format(said=said, more=more, code=code)
    program = folder / "gitplacer"
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return StandIn(folder, record)

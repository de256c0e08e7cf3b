"""
What the docs quote, run for real.

The `console` blocks of a page are one session, run from top to bottom in a new directory. A line that begins with `$ `
is a command, and what follows it is what it prints; a line `…` stands for lines that are left out. A block of YAML below a line
`<!-- file: path -->` is written to that path of the directory when the session comes to it. A page that says
`<!-- session: demo -->` begins where `gitplacer demo` has been run; one that names a directory of docs/examples, in a directory
that has a copy of it called `fleet`; any other in an empty directory. A page that says `<!-- session: clusters east west -->` has a
kubeconfig with these contexts: real kubectl (`needs_kubectl`), and stand-ins for clusters that have KubeRay. There `~/gitplacer` is a clone of this
repository.

Nothing here depends on where or when it runs: our commands are given a time (`--now`) that goes on by five minutes with
each command, git gets the same time and a fixed author, and the directory is shown as /home/you.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitplacer.cli import main

START = datetime(2026, 1, 2, 4, 0, tzinfo=UTC)
"""After the demo's story has ended."""
SHOWN_AS = "/home/you"
LEFT_OUT = "…"

EXAMPLES = Path(__file__).parent / "examples"

_CLUSTERS = re.compile(r"<!-- session: clusters ([a-z ]+) -->")
_EXAMPLE = re.compile(r"<!-- session: docs/examples/([a-z-]+) -->")
_BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n+```yaml|```console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DATED = (
    "adopt",
    "validate",
    "plan",
    "explain",
    "room",
    "reconcile",
    "status",
    "report",
    "simulate",
    "drain",
    "blast",
    "move",
    "return",
    "suspend",
    "resume",
    "verify",
    "snapshot",
)
_SHELL = re.compile(r"[|<>;&]")


class Wrong(Exception):
    """A quoted session that cannot be brought up to date by itself."""


def needs_kubectl(page: str) -> bool:
    """Whether the session of a page has clusters."""
    return _CLUSTERS.search(page) is not None


def refreshed(page: str, scratch: Path, demo: Path) -> str:
    """
    The page with what its commands print now. `scratch` is an empty directory, `demo` a `gitplacer-demo` to start from.

    Raises Wrong where a command fails that should not, or lines around a `…` are not printed any more.
    """
    session = _Session(scratch)
    if (example := _EXAMPLE.search(page)) is not None:
        shutil.copytree(EXAMPLES / example[1], scratch / "fleet")
    if "<!-- session: demo -->" in page:
        shutil.copytree(demo, scratch / demo.name, symlinks=True)

    def brought_up_to_date(found: re.Match[str]) -> str:
        if found[1]:
            session.write(found[1], found[2])
            return found[0]
        return f"```console\n{_block(found[2], session)}```"

    with _clusters(page, scratch) as session.more:
        return _BLOCK.sub(brought_up_to_date, page)


@contextlib.contextmanager
def _clusters(page: str, scratch: Path) -> Iterator[dict[str, str]]:
    """The clusters that a page asks for, as variables of the environment."""
    if (found := _CLUSTERS.search(page)) is None:
        yield {}
        return
    from tests.kubestandin import KubeApi, kubeconfig, serving

    home = scratch.parent / f"{scratch.name}.home"
    home.mkdir()
    (home / "gitplacer").symlink_to(EXAMPLES.parent.parent)
    contexts: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for name in found[1].split():
            api = KubeApi()
            api.define("ray.io", "rayclusters", "RayCluster")
            contexts[name] = stack.enter_context(serving(api))
        (home / "config").write_text(kubeconfig(contexts))
        yield {"HOME": str(home), "KUBECONFIG": str(home / "config")}


def make_demo(folder: Path) -> Path:
    """Run `gitplacer demo` in a directory, and return the directory it makes."""
    _Session(folder).run("gitplacer demo")
    return folder / "gitplacer-demo"


def _block(text: str, session: _Session) -> str:
    lines: list[str] = []
    for command, quoted in _commands(text):
        printed = session.run(command).split("\n")[:-1]
        lines += [f"$ {command}", *_quote(command, quoted, printed)]
    return "".join(f"{line}\n" for line in lines)


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that are quoted below it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if parts[0]:
        raise Wrong(f"a console block begins with a command, not with {parts[0]!r}")
    for part in parts[1:]:
        command, *quoted = part.split("\n")[:-1]
        yield command, quoted


def _quote(command: str, quoted: list[str], printed: list[str]) -> list[str]:
    """
    What to quote of what was printed: all of it, or where lines were left out, the same lines as before.
    """
    if LEFT_OUT not in (line.strip() for line in quoted):
        return printed
    shown: list[str] = []
    at = 0
    for index, run in enumerate(_runs(quoted)):
        if index:
            shown.append(LEFT_OUT)
        at = _find(command, run, printed, at, anywhere=index > 0)
        shown += printed[at : at + len(run)]
        at += len(run)
    if quoted[-1].strip() != LEFT_OUT and at != len(printed):
        raise Wrong(f"{command}: more is printed after {quoted[-1]!r}")
    return shown


def _runs(quoted: list[str]) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for line in quoted:
        if line.strip() == LEFT_OUT:
            runs.append([])
        else:
            runs[-1].append(line)
    return runs


def _find(command: str, run: list[str], printed: list[str], start: int, *, anywhere: bool) -> int:
    """Where a run of quoted lines is printed; numbers, ids and the width of columns may have changed."""
    wanted = [_like(line) for line in run]
    for at in range(start, len(printed) - len(run) + 1) if anywhere else (start,):
        if [_like(line) for line in printed[at : at + len(run)]] == wanted:
            return at
    raise Wrong(f"{command}: does not print any more:\n" + "\n".join(run))


def _like(line: str) -> str:
    return re.sub(r"\b[0-9a-f]{7,40}\b|[0-9]+", "0", " ".join(line.split()))


class _Session:
    """Commands one after another, as somebody would type them."""

    def __init__(self, folder: Path) -> None:
        self._home = self._at = folder.resolve()
        self.more: dict[str, str] = {}
        self._now = START
        self._cache = folder.parent / f"{folder.name}.cache"
        self._shim = folder.parent / f"{folder.name}.bin"

    def write(self, path: str, text: str) -> None:
        """A file that a page shows. The path is from where the session began."""
        file = self._home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, command: str) -> str:
        """What a command prints, stderr included, as on a terminal."""
        if command.startswith("cd "):
            self._at = (self._at / command[3:].strip()).resolve()
            return ""
        self._now += timedelta(minutes=5)
        ours = command.startswith("gitplacer ") and not _SHELL.search(command)
        printed = self._ours(shlex.split(command)[1:]) if ours else self._shell(command)
        return printed.replace(str(self._home), SHOWN_AS)

    @property
    def _time(self) -> str:
        return f"{self._now:%Y-%m-%dT%H:%M:%SZ}"

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "GITPLACER_"))}
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in
               (("NAME", "You"), ("EMAIL", "you@example.com"), ("DATE", self._time))}  # fmt: skip
        settings = {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "LC_ALL": "C.UTF-8",
        }
        return {**kept, **who, **settings, "TZ": "UTC", "GITPLACER_CACHE": str(self._cache), **self.more}

    def _dated(self, args: list[str]) -> list[str]:
        return [*args, "--now", self._time] if args[0] in _DATED and {"--now", "--help"}.isdisjoint(args) else args

    def _ours(self, args: list[str]) -> str:
        """In this process, because most of the time would go into starting others."""
        out = io.StringIO()
        before, environment = Path.cwd(), dict(os.environ)
        os.chdir(self._at)
        os.environ.clear()
        os.environ.update(self._environment())
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                main(self._dated(args))
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
        return out.getvalue()

    def _shell(self, command: str) -> str:
        self._shim.mkdir(exist_ok=True)
        shim = self._shim / "gitplacer"
        dated = "|".join(_DATED)
        shim.write_text(
            f'#!/bin/sh\ncase "$1" in {dated}) set -- "$@" --now {self._time};; esac\n'
            f"exec {shlex.quote(sys.executable)} -c 'import sys; from gitplacer.cli import main; sys.exit(main())' \"$@\"\n"
        )
        shim.chmod(0o755)
        environment = self._environment()
        environment["PATH"] = f"{self._shim}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=self._at, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise Wrong(f"{command} failed:\n{done.stdout}")
        return done.stdout

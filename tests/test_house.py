"""
The house rules, held by machines: imports, types and style, tables without gaps, codes without strays.

Whoever adds a kind, a placement type, a check, an engine or a problem code is told here what is still missing.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from importlinter.cli import lint_imports

from gitplacer import checks, engines, workloads
from gitplacer.cli import COMMANDS
from gitplacer.formats import FORMATS, PROBLEM_FORMATS, SIZE_FORMATS
from gitplacer.kinds import TABLE, fleet, policy
from gitplacer.policies import TYPES
from gitplacer.problemcodes import CODES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gitplacer"
CONFIG: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "data" not in path.relative_to(PACKAGE).parts)
_REPORTING = {
    "effect": 1, "tell": 1, "problem": 0, "report": 0, "_report": 0, "_refused": 0, "Problem": 1, "Flaw": 1, "flaw": 1, "stop": 1, "Fault": 2,
}  # fmt: skip
"""Functions that are told a problem code, and at which position."""
_CODE = re.compile(r"(?:[A-Z]+[a-z0-9]*){2,}")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module but those that document, with its line."""
    documenting = {id(node.value) for node in ast.walk(parsed(path)) if isinstance(node, ast.Expr)}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting:
            yield node.lineno, node.value


def told_codes(path: Path) -> Iterator[tuple[int, str]]:
    """
    The problem codes that are written out where a problem is made, with their lines: given to a function, chosen for
    it just before, or in front of a message that a function returns.
    """
    for node in ast.walk(parsed(path)):
        told: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            told = node.args[_REPORTING.get(name, 99) :][:1]
            told += [k.value for k in node.keywords if k.arg == "code"]
        elif isinstance(node, ast.Assign) and "code" in {getattr(target, "id", "") for target in node.targets}:
            told = [node.value]
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
            told = node.value.elts[:1]
        for code in told:
            for part in (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and _CODE.fullmatch(part.value):
                    yield part.lineno, part.value


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def everything(pattern: str) -> str:
    """All files of a sort as one text."""
    return "\n".join(path.read_text("utf-8") for path in sorted(ROOT.glob(pattern)) if path != Path(__file__))


# imports, types, style


def contracts() -> dict[str, dict[str, Any]]:
    return {contract["name"]: contract for contract in CONFIG["importlinter"]["contracts"]}


def test_imports_keep_their_contracts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == 0, capsys.readouterr().out


def test_every_module_has_its_floor_in_the_house() -> None:
    (layers,) = (c["layers"] for c in contracts().values() if c["type"] == "layers" and "containers" not in c)
    floors = {name.strip() for layer in layers for name in layer.split("|")}
    modules = {f"gitplacer.{path.stem}" for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    packages = {f"gitplacer.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}
    assert floors == modules | packages


@pytest.mark.parametrize("folder", ["workloads", "policies", "checks", "engines"])
def test_modules_behind_one_table_do_not_know_each_other(folder: str) -> None:
    rows = {
        "workloads": {kind.read.__module__ for kind in workloads.KINDS.values()},
        "policies": {preference.__module__ for preference in TYPES.values()},
        "checks": {check.__module__ for check in checks.CHECKS},
        "engines": {bootstrap.__module__ for bootstrap in engines.TABLE.values()},
    }[folder]
    told = {name for c in contracts().values() if c["type"] == "independence" for name in c["modules"]}
    assert len(rows) < 2 or rows <= told, "add them to an independence contract in pyproject.toml"


def test_the_core_is_not_let_near_the_outside() -> None:
    """The contract speaks of packages; here each module of the core is looked at, lazy imports included."""
    outside = {"subprocess", "socket", "time", "random", "os", "click", "git", "tempfile", "pathlib", "shutil"}
    shell = {
        "audit",
        "capacity",
        "cli",
        "controller",
        "deadlines",
        "git",
        "hosts",
        "listeners",
        "passes/opening",
        "passes/telling",
        "settings",
        "telemetry",
        "parsecache",
        "packaged",
        "wholefile",
        "runners",
        "__main__",
    }
    found = []
    for path in MODULES:
        place = path.relative_to(PACKAGE).with_suffix("")
        if not shell.isdisjoint(each.as_posix() for each in (place, *place.parents)):
            continue
        for node in ast.walk(parsed(path)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{shown(path)}:{node.lineno}: {n}" for n in names if n.partition(".")[0] in outside]
            if (
                isinstance(node, ast.Attribute)
                and node.attr in ("now", "today", "utcnow")
                and "datetime" in ast.dump(node)
            ):
                found.append(f"{shown(path)}:{node.lineno}: asks the clock")
    assert not found


def test_ruff_has_nothing_to_say() -> None:
    run = [sys.executable, "-m", "ruff", "check", "--no-cache", "--quiet", "."]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_is_formatted() -> None:
    run = [sys.executable, "-m", "ruff", "format", "--no-cache", "--check", "--output-format", "concise", "."]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_type_is_right() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_every_module_opens_with_its_story(path: Path) -> None:
    assert ast.get_docstring(parsed(path)) or not parsed(path).body


@pytest.mark.parametrize(
    "package",
    [
        "capacity",
        "controller",
        "explain",
        "git",
        "grouping",
        "inpart",
        "layout",
        "model",
        "observing",
        "passes",
        "placement",
        "scheduler",
        "source",
        "workloads",
    ],
)
def test_a_large_package_opens_with_a_map_of_its_modules(package: str) -> None:
    folder = PACKAGE / package
    named = set(re.findall(r"`([a-z0-9]+)`", ast.get_docstring(parsed(folder / "__init__.py")) or ""))
    inside = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert inside - {"__init__"} - named == set()


def test_no_two_classes_of_a_package_have_one_name() -> None:
    places: dict[tuple[Path, str], list[str]] = {}
    for path in MODULES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault((path.parent, node.name), []).append(f"{shown(path)}: {node.name}")
    assert [found for found in places.values() if len(found) > 1] == []


def test_no_name_says_nothing() -> None:
    empty = re.compile(
        r"(?:^|_)(?:helpers?|utils?|manager|handler|misc|common)(?:_|$)|(?:Helper|Util|Manager|Handler)$"
    )
    found = [shown(path) for path in MODULES if empty.search(path.stem)]
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and empty.search(node.name):
                found.append(f"{shown(path)}:{node.lineno}: {node.name}")
    assert not found


def test_no_file_names_the_machine_it_was_written_on() -> None:
    """Paths that mean something on one machine only are written in parts here, so that this file has none."""
    private = ["/".join(("", *parts)).encode() for parts in (("work", ""), ("tmp", "venv"), ("root", ""))]
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, check=False)
    tracked = [ROOT / name.decode() for name in done.stdout.split(b"\0") if name] or MODULES
    found = {shown(path) for path in tracked if path.is_file() for word in private if word in path.read_bytes()}
    assert not found


# problem codes


def test_nothing_that_was_made_is_kept_here() -> None:
    """The site of the documentation, or what a command wrote where an option was meant."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    made = [path for path in tracked if path.startswith("-") or path.endswith("/404.html") or "__pycache__" in path]
    assert not made


def test_every_problem_code_that_is_told_is_in_the_table() -> None:
    told = [(f"{shown(path)}:{line}", code) for path in MODULES for line, code in told_codes(path)]
    assert len(told) > 100
    assert [where for where in told if where[1] not in CODES] == []


def test_every_problem_code_in_the_table_is_told_somewhere() -> None:
    said = {text for path in MODULES if path.parent.name != "problemcodes" for _, text in strings(path)}
    assert sorted(CODES.keys() - said) == []


# tables: whoever adds a row is told what else it needs

ROWS = {
    **{f"kind of workload {row.kind}": row.read.__module__ for row in workloads.KINDS.values()},
    **{f"placement type {name}": preference.__module__ for name, preference in TYPES.items()},
    **{f"check {check.__module__.rpartition('.')[2]}": check.__module__ for check in checks.CHECKS},
    **{f"engine {name}": bootstrap.__module__ for name, bootstrap in engines.TABLE.items()},
    **{f"kind {name}": model.__module__ for name, model in TABLE.items()},
    **{f"format {name}": told.__module__ for name, told in FORMATS.items()},
    **{f"format of problems {name}": told.__module__ for name, told in PROBLEM_FORMATS.items()},
    **{f"format of sizes {name}": told.__module__ for name, told in SIZE_FORMATS.items()},
    **{f"command {name}": f"gitplacer.cli.{name}" for name in COMMANDS},
}
"""Every row of every table, and the module behind it."""


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_module_with_a_story_and_is_named_in_a_test(row: str) -> None:
    module = importlib.import_module(ROWS[row])
    assert module.__name__ != module.__package__, "each row has a module of its own"
    assert module.__doc__
    assert re.search(rf"\b{row.split()[-1]}\b", everything("tests/test_*.py")), f"no test names the {row}"


@pytest.mark.parametrize(("group", "kind"), sorted(workloads.KINDS))
def test_every_sized_kind_is_tested_and_told(group: str, kind: str) -> None:
    assert re.search(rf"\b{kind}\b", everything("tests/test_sizing_*.py")), "add cases to tests/test_sizing_kinds.py"
    assert re.search(rf"\b{kind}s?\b", everything("docs/*.md") + everything("README.md")), f"docs do not mention {kind}"


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_placement_type_is_declared_tested_and_told(name: str) -> None:
    assert set(TYPES) == set(get_args(policy.PlacementSettings.model_fields["type"].annotation))
    tests = everything("tests/*.py")
    assert re.search(rf"\b{name}\b", tests), "tell a story with it in tests/test_hydrate.py"
    assert re.search(rf"\b{name}\b", everything("docs/kinds/PlacementPolicy.md")), "run: python docs/generate.py"


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__module__.rpartition(".")[2])
def test_every_check_tells_codes_that_are_tested_and_told(check: checks.Check) -> None:
    codes = {code for _, code in told_codes(PACKAGE / "checks" / f"{check.__module__.rpartition('.')[2]}.py")}
    assert codes
    tests = everything("tests/test_*.py")
    for code in codes:
        assert code in tests, f"no test has {code}"
        assert (ROOT / "docs" / "problems" / f"{code}.md").is_file(), "run: python docs/generate.py"


@pytest.mark.parametrize("name", sorted(engines.TABLE))
def test_every_engine_is_declared_tested_and_told(name: str) -> None:
    assert set(engines.TABLE) == set(get_args(fleet.FleetSpec.model_fields["engine"].annotation))
    assert re.search(rf"\b{name}\b", everything("tests/test_engines.py") + everything("tests/test_init.py"))
    assert (ROOT / "docs" / f"quickstart-{name}.md").is_file()


@pytest.mark.parametrize("kind", sorted(TABLE))
def test_every_own_kind_has_a_schema_and_a_page(kind: str) -> None:
    assert (ROOT / "schemas" / f"{kind}.json").is_file(), "run: python docs/generate.py"
    assert (ROOT / "docs" / "kinds" / f"{kind}.md").is_file(), "run: python docs/generate.py"

"""What a stranger reads is true: quoted output, links, examples, names of files, and the commands to begin with."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import shlex
import shutil
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema
import pytest
import yaml

from docs import generate, problem_examples, sessions
from gitplacer.cli import COMMANDS, root
from gitplacer.git.credentials import CredentialsFile
from gitplacer.kinds import TABLE
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import is_own, parse_own, parsed_as
from gitplacer.kinds.schema import combined_schema
from gitplacer.model.decision import Reason
from gitplacer.problemcodes import CODES, FAILURES
from gitplacer.source.files import NoMemo, read_documents
from gitplacer.tree import Tree

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "fleet-repo-example/README.md")
)
WITH_SESSIONS = [
    page for page in PAGES if "```console" in (ROOT / page).read_text("utf-8") and not page.startswith("fleet-repo")
]
SESSIONS = [
    pytest.param(page, marks=pytest.mark.server) if sessions.needs_kubectl((ROOT / page).read_text("utf-8")) else page
    for page in WITH_SESSIONS
]
OUR_YAML = [page for page in PAGES if not page.startswith("docs/problems/")]


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def fenced(page: str, language: str) -> list[str]:
    """The code blocks of one language, without the indentation of the list they may be in."""
    blocks = re.finditer(r"^( *)```(\w+)\n(.*?)^ *```$", read(page), re.M | re.S)
    return [textwrap.dedent(found[3]) for found in blocks if found[2] == language]


# generated pages


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sessions.make_demo(tmp_path_factory.mktemp("docs"))


def test_generated_pages_are_up_to_date() -> None:
    wanted = {path: read(path) if path in WITH_SESSIONS else text for path, text in generate.drafts().items()}
    assert list(generate.outdated(wanted)) == [], "run: python docs/generate.py"


@pytest.mark.parametrize("page", SESSIONS)
def test_what_a_page_quotes_is_what_is_printed(page: str, demo: Path, tmp_path: Path) -> None:
    draft = generate.drafters()[page]()
    if sessions.needs_kubectl(draft) and shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl")
    (tmp_path / "session").mkdir()
    told = sessions.refreshed(draft, tmp_path / "session", demo)
    assert generate.same(told, read(page)) or told == read(page), "run: python docs/generate.py"


def test_every_kind_command_and_code_has_its_page() -> None:
    for folder, names in (("kinds", [*TABLE]), ("commands", [*COMMANDS]), ("problems", [*CODES, *FAILURES, "git"])):
        found = {path.stem for path in (ROOT / "docs" / folder).glob("*.md")}
        assert found == {*names, "README"}


def test_every_code_has_an_input_that_shows_it() -> None:
    assert set(problem_examples.EXAMPLES) == set(CODES)
    assert all(problem_examples.EXAMPLES.values())


def test_every_reason_is_told_once() -> None:
    told = [reason for _, findings in generate.REASONS for reason in findings]
    assert sorted(told) == sorted(Reason)
    assert all(finding.code is reason for _, findings in generate.REASONS for reason, finding in findings.items())


def test_every_way_in_which_git_fails_is_told() -> None:
    assert set(FAILURES) == set(_kinds_of_git_errors())


def _kinds_of_git_errors() -> Iterator[str]:
    places = (
        *ROOT.glob("gitplacer/git/*.py"),
        *ROOT.glob("gitplacer/passes/*.py"),
        ROOT / "gitplacer/controller/doubts.py",
    )
    for path in places:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "kind":
                yield from _names([node.value])
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("GitError", "Unreachable"):
                yield from _names([*node.args[1:2], *(k.value for k in node.keywords if k.arg == "kind")])


def _names(nodes: list[ast.expr]) -> Iterator[str]:
    yield from (str(node.value) for node in nodes if isinstance(node, ast.Constant))


# sessions


def quoted(text: str, tmp_path: Path) -> str:
    folder = tmp_path / "session"
    folder.mkdir()
    return sessions.refreshed(f"```console\n{text}```\n", folder, tmp_path)


def test_a_session_is_brought_up_to_date(tmp_path: Path) -> None:
    page = quoted("$ echo one > file\n$ cat file\nold\n$ pwd\n", tmp_path)
    assert page == "```console\n$ echo one > file\n$ cat file\none\n$ pwd\n/home/you\n```\n"


def test_lines_that_were_left_out_stay_out_and_the_others_follow_the_numbers(tmp_path: Path) -> None:
    page = quoted("$ printf '%s\\n' a 'b 2' c d 'e   abcdef7' f\n…\nb 1\nc\n…\ne 1234567\n…\n", tmp_path)
    assert page.endswith(" f\n…\nb 2\nc\n…\ne   abcdef7\n…\n```\n")


def test_files_that_a_page_shows_are_there_when_the_session_comes_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    page = "<!-- file: a/b.yaml -->\n```yaml\nkey: 1\n```\n```console\n$ cat a/b.yaml\n```\n"
    assert sessions.refreshed(page, folder, tmp_path) == page.replace("b.yaml\n```\n", "b.yaml\nkey: 1\n```\n")


@pytest.mark.parametrize(
    "text",
    ["$ echo one\ntwo\n…\n", "$ printf 'a\\nb\\n'\n…\na\n", "$ false\n", "no command\n"],
)
def test_what_cannot_be_mended_is_said(text: str, tmp_path: Path) -> None:
    with pytest.raises(sessions.Wrong):
        quoted(text, tmp_path)


# what pages say


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_says_what_it_is(page: str) -> None:
    """One that does not is what was left of another, and swallows what follows."""
    fences = [line.strip() for line in read(page).splitlines() if line.strip().startswith("```")]
    assert all(len(fence) > 3 for fence in fences[::2])
    assert all(fence == "```" for fence in fences[1::2]) and len(fences) % 2 == 0


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", read(page), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        place = (ROOT / page).parent / path if path else ROOT / page
        assert place.exists(), target
        assert not anchor or anchor in _anchors(place), target


def _anchors(place: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", place.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", OUR_YAML)
def test_yaml_examples_are_valid(page: str) -> None:
    schema = jsonschema.Draft202012Validator(combined_schema())
    for text in fenced(page, "yaml"):
        if "\njobs:" in text:  # a workflow, whose key `on` is no text in YAML 1.1
            assert yaml.safe_load(text)["jobs"]
            continue
        found = read_documents(Tree.of({"example.yaml": text.encode()}), ["example.yaml"], NoMemo())
        assert not found.problems
        for item in found.documents["example.yaml"]:
            if item.document.value.get("kind") == "Credentials":  # which is no part of a fleet repo
                assert isinstance(parsed_as(item.document, CredentialsFile), CredentialsFile), text
            elif is_own(item.document):
                assert isinstance(parse_own(item.document), Model), text
                assert not list(schema.iter_errors(item.document.value)), text


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_exist_with_their_options(page: str) -> None:
    for block in (*fenced(page, "sh"), *fenced(page, "bash")):
        # After some words it is the name of a namespace or a release.
        for found in re.finditer(
            r"(?:^|[ /;&|])(?<!-n )(?<!namespace )(?<!install )(?<!upgrade )gitplacer ((?:[a-z]+)(?: [^\n;&|>]*)?)",
            block,
            re.M,
        ):
            name, *args = shlex.split(found[1], comments=True)
            command = root.get_command(click.Context(root), name)
            assert command is not None, found[0]
            if isinstance(command, click.Group):
                command, args = command.commands[args[0]], args[1:]
            known = {option for param in command.params for option in param.opts}
            assert {arg for arg in args if arg.startswith("--")} <= known


def test_two_commands_to_begin_with() -> None:
    demo, test = fenced("README.md", "sh")
    assert demo.endswith(" && .venv/bin/gitplacer demo\n")
    assert test.endswith(" && .venv/bin/pytest\n")
    assert f"\n{test.strip()} || exit 1\n" in read(".ci/run")


def test_ci_tries_every_python_that_we_claim() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    jobs = yaml.safe_load(read(".github/workflows/ci.yaml"))["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == claimed
    assert {"ruff check .", "ruff format --check .", "mypy", "lint-imports"} <= {
        step.get("run") for step in jobs["lint"]["steps"]
    }


# CONTRIBUTING


def test_files_that_contributing_names_exist() -> None:
    named = re.findall(r"`((?:gitplacer|tests|docs|fleet-repo-example|\.ci)/[^`<> ]*)`", read("CONTRIBUTING.md"))
    assert len(named) > 40
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("gitplacer.workloads", ["KINDS", "ObjectFacts"]),
        ("gitplacer.workloads.job", ["KIND", "read"]),
        ("gitplacer.documents", ["Cursor"]),
        ("gitplacer.policies", ["TYPES", "Preference"]),
        ("gitplacer.kinds.policy", ["PlacementSettings"]),
        ("gitplacer.kinds.fleet", ["FleetSpec"]),
        ("gitplacer.checks", ["CHECKS", "Check"]),
        ("gitplacer.engines", ["TABLE", "Bootstrap"]),
        ("gitplacer.cli.init", ["ENGINES"]),
        ("gitplacer.hydrate", ["hydrate"]),
    ],
)
def test_tables_that_contributing_names_exist(module: str, names: list[str]) -> None:
    text = read("CONTRIBUTING.md")
    for name in names:
        assert hasattr(importlib.import_module(module), name)
        assert re.search(rf"`{name}\b", text), name


def test_contracts_that_contributing_names_exist() -> None:
    contracts = {c["name"] for c in tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]}
    named = re.findall(r'contract\s+"([^"]+)"', read("CONTRIBUTING.md"))
    assert named
    assert {" ".join(name.split()) for name in named} <= contracts


def test_every_package_is_in_the_map() -> None:
    rows = [row for row in read("CONTRIBUTING.md").splitlines() if row.startswith("| `gitplacer/")]
    told = {path for row in rows for path in re.findall(r"`(gitplacer/[a-z]+(?:/|\.py))`", row.split(" | ")[0])}
    modules = {f"gitplacer/{path.name}" for path in (ROOT / "gitplacer").glob("*.py") if not path.stem.startswith("__")}
    packages = {f"gitplacer/{path.parent.name}/" for path in (ROOT / "gitplacer").glob("*/__init__.py")}
    assert modules | packages == told


def test_modules_are_told_in_the_order_of_imports() -> None:
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(c for c in contracts if c["type"] == "layers")["layers"]
    level = {module: index for index, layer in enumerate(reversed(layers)) for module in layer.split(" | ")}
    rows = [row for row in read("CONTRIBUTING.md").splitlines() if row.startswith("| `gitplacer/")]
    told = [re.findall(r"`(gitplacer/[a-z_]+)(?:/|\.py)`", row.split(" | ")[0]) for row in rows]
    levels = [[level[path.replace("/", ".")] for path in paths] for paths in told]
    assert all(max(above) <= min(below) for above, below in itertools.pairwise(levels))

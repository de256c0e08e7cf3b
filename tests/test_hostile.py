"""
Every class of hostile input, in several spellings, among the files of one tenant.

Each is refused with its code, its place and a remedy, or comes to nothing; never with a traceback, all in one run, and whatever the
other tenant has is decided as if it were not there.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs.hostile_inputs import CLASSES, HERE, File, Spelling, app
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.problemcodes import CODES, FAILURES
from gitplacer.problems import Problem
from gitplacer.source.files import InMemory
from gitplacer.tree import Entry, Tree
from tests.hostile_spellings import GENERATED, HIDDEN
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot

MEMORY = InMemory()
"""The healthy files are parsed once."""


def fleet(files: Mapping[str, File] | None = None, capacity: Mapping[str, File] | None = None) -> Hydration:
    """A pass on two tenants: blue has an app, red the files."""
    tenants = {
        f"tenants/{name}.yaml": policy(name, f'paths: ["workloads/{name}/**"]\nnamespaces: [{name}]')[
            f"policies/{name}.yaml"
        ].replace("PlacementPolicy", "Tenant")
        for name in ("red", "blue")
    }
    story = Story.of(
        cluster("a"), ANYWHERE, tenants, rayservice("blue", "shop"), rayservice("red", "well"),
        capacity=snapshot("a", "n1 64 256Gi 8"),
    )  # fmt: skip
    inputs = story.inputs()
    return hydrate(
        replace(
            inputs, source=with_files(inputs.source, files or {}), capacity=with_files(inputs.capacity, capacity or {})
        ),
        memo=MEMORY,
    )


def with_files(tree: Tree, files: Mapping[str, File]) -> Tree:
    """A tree with more files, or other ones; entries as they are, whatever they point at."""
    contents: dict[str, bytes] = {path: tree.read(path) for path in tree}
    contents |= {p: f if isinstance(f, bytes) else f.encode() for p, f in files.items() if not isinstance(f, Entry)}
    made = Tree.of(contents)
    links = {path: file for path, file in files.items() if isinstance(file, Entry)}
    return Tree({**made.entries, **links}, made.blobs)


HEALTHY = {"blue/shop": "Place a Fits", "red/well": "Place a Fits"}
TRIED = [(number, name) for number, each in CLASSES.items() for name in each.spellings]


def refused(done: Hydration, files: Mapping[str, File], codes: tuple[str, ...]) -> None:
    """Nobody but who wrote these files is concerned, and he is told what, where, and what to do."""
    decided = outcome(done)
    assert {group: decided[group] for group in HEALTHY} == HEALTHY
    at_fault = [
        p for p in done.problems if p.location.file in files or any(f.startswith(p.location.file + "/") for f in files)
    ]
    assert not set(done.problems) - set(at_fault)
    told = {problem.code for problem in at_fault}
    assert told & set(codes) if codes else not {p for p in at_fault if p.severity == "error"}
    for problem in at_fault:
        said(problem)


def said(problem: Problem) -> None:
    """A problem has a place, a code that is described, and a remedy; and no value that may be a secret."""
    assert problem.location.line >= 1 and problem.code in CODES
    assert problem.message and problem.hint, problem
    assert HIDDEN not in problem.message + problem.hint


@pytest.mark.parametrize(("number", "name"), TRIED, ids=[f"{number}: {name}" for number, name in TRIED])
def test_a_spelling_is_refused_alone(number: int, name: str) -> None:
    spelling = CLASSES[number].spellings[name]
    codes = CLASSES[number].codes if spelling.codes is None else spelling.codes
    refused(fleet(spelling.files, spelling.capacity), spelling.files, codes)


def test_what_is_wrong_is_told_all_in_one_run() -> None:
    files: dict[str, File] = {}
    wanted: dict[str, set[str]] = {}
    for number, each in CLASSES.items():
        spelling = next((s for s in each.spellings.values() if list(s.files) == [HERE]), None)
        if spelling is not None:
            path = f"workloads/red/{number}.yaml"
            files[path] = spelling.files[HERE]
            wanted[path] = set(each.codes if spelling.codes is None else spelling.codes)
    done = fleet(files)
    assert len(files) > 15
    for path, codes in wanted.items():
        assert codes & {p.code for p in done.problems if p.location.file == path}, path
    decided = outcome(done)
    assert {group: decided[group] for group in HEALTHY} == HEALTHY


# generated spellings


@pytest.mark.parametrize("number", GENERATED)
def test_generated_spellings_are_refused_alone(number: int) -> None:
    @settings(max_examples=15)
    @given(GENERATED[number]())
    def tried(spelling: Spelling) -> None:
        codes = CLASSES[number].codes if spelling.codes is None else spelling.codes
        refused(fleet(spelling.files), spelling.files, codes)

    tried()


@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=40)
def test_whatever_a_file_holds_nobody_else_is_concerned(data: bytes) -> None:
    done = fleet({HERE: data})
    decided = outcome(done)
    assert {group: decided[group] for group in HEALTHY} == HEALTHY
    for problem in done.problems:
        said(problem)


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_manifest_with_some_bytes_changed_concerns_nobody_else(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(app(labels="{a: b}", annotations="{c: d}").encode())
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(len(data))] = rng.choice(b"{}[]:,-&*!|>'\"%@`\n\t #\x00\xff0")
    done = fleet({HERE: bytes(data)})
    decided = outcome(done)
    assert {group: decided[group] for group in HEALTHY} == HEALTHY
    for problem in done.problems:
        said(problem)


# the table

ROOT = Path(__file__).parent


def functions(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / f"{module}.py").read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name


def test_every_class_is_there_and_tried() -> None:
    assert sorted(CLASSES) == list(range(1, 45))
    for number, each in CLASSES.items():
        assert each.spellings or each.tests, number
        assert set(each.codes) <= CODES.keys() | FAILURES.keys(), number
        for test in each.tests:
            module, _, name = test.partition("::")
            assert name in set(functions(module)), test

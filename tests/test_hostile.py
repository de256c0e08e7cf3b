"""
Every class of hostile input, in several spellings, among the files of one tenant.

Each is refused with its code, its place and a remedy, or comes to nothing; never with a traceback, all in one run, and whatever the
other tenant has is decided as if it were not there.
"""

from __future__ import annotations

import importlib
import math
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, is_hypothesis_test, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from docs.hostile_inputs import CLASSES, HERE, File, Spelling, app
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.problemcodes import CODES, FAILURES
from gitplacer.problems import Problem
from gitplacer.source.files import InMemory
from gitplacer.tree import Entry, Tree
from tests.hostile_files import NAMES, OF_FILES
from tests.hostile_objects import HIDDEN, OF_OBJECTS
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

GENERATED = {**OF_FILES, **OF_OBJECTS}


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


@st.composite
def unreadable_policy(draw: st.DrawFn) -> tuple[str, str]:
    """A policy for red with a field that there is not, a version to come, or a type, a cluster or a number that is none; and its kind."""
    name = draw(NAMES)
    kind, spec = draw(
        st.sampled_from(
            [
                ("PlacementPolicy", f"select: {{namespaces: [red]}}\nx{name}: 1"),
                ("PlacementPolicy", f"select: {{namespaces: [red]}}\nplacement: {{type: X{name}}}"),
                (
                    "PlacementPolicy",
                    f"select: {{namespaces: [red]}}\nplacement: {{copies: -{draw(st.integers(1, 99))}}}",
                ),
                ("PlacementPolicy", f"select: {{namespaces: [red]}}\nprecedence: {name}"),
                ("PlacementPolicy", "select: {namespaces: [red]}"),
                ("OverridePolicy", f"select: {{namespaces: [red]}}\noverrides: [{{path: {name}, op: add, value: 1}}]"),
                ("OverridePolicy", f"select: {{namespaces: [red]}}\noverrides: [{{path: /spec/{name}, op: x{name}}}]"),
            ]
        )
    )
    version = f"v{draw(st.integers(2, 99))}" if spec == "select: {namespaces: [red]}" else "v1alpha1"
    ((_, text),) = policy("bad", spec).items()
    return kind, text.replace("PlacementPolicy", kind).replace("/v1alpha1", f"/{version}")


@settings(max_examples=20)
@given(unreadable_policy())
def test_a_policy_that_cannot_be_read_holds_what_it_governs_alone(case: tuple[str, str]) -> None:
    kind, text = case
    done = fleet({"policies/bad.yaml": text})
    assert outcome(done) == {"blue/shop": "Place a Fits", "red/well": "Hold  BrokenPolicy"}, kind
    assert {problem.location.file for problem in done.problems} == {"policies/bad.yaml"}
    assert {problem.code for problem in done.problems} <= set(CLASSES[37].codes)
    for problem in done.problems:
        assert problem.location.line >= 1 and (problem.hint or " must be " in problem.message), problem


# the table

PAGE = Path(__file__).parent.parent / "docs" / "security.md"


def function(test: str) -> Callable[..., None]:
    module, _, name = test.partition("::")
    found: Callable[..., None] = getattr(importlib.import_module(f"tests.{module}"), name)
    return found


def cases(test: Callable[..., None]) -> int:
    """How often pytest calls it for what stands in its tables."""
    marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
    return math.prod(len(list(mark.args[1])) for mark in marks if mark.name == "parametrize")


def test_every_class_is_there() -> None:
    assert sorted(CLASSES) == list(range(1, 45))
    for number, each in CLASSES.items():
        assert set(each.codes) <= CODES.keys() | FAILURES.keys(), number


def spelled(number: int) -> int:
    """In how many spellings that somebody has written down a class is tried."""
    return len(CLASSES[number].spellings) + sum(cases(function(test)) for test in CLASSES[number].tests)


def test_the_page_tells_in_how_many_spellings() -> None:
    (said,) = re.findall(
        r"\| spellings of them that somebody wrote down \| more than ([\d,]+) \|", PAGE.read_text("utf-8")
    )
    assert sum(map(spelled, CLASSES)) > int(said.replace(",", ""))


@pytest.mark.parametrize("number", CLASSES)
def test_every_class_is_tried_in_three_spellings_and_in_generated_ones(number: int) -> None:
    each = CLASSES[number]
    assert spelled(number) >= 3
    generated = [function(test) for test in each.generated]
    assert all(is_hypothesis_test(test) for test in generated)
    assert generated or number in GENERATED

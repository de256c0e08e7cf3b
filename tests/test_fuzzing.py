"""
What fuzzing keeps, tried again without atheris: inputs that broke something once, and the corpus that a run begins with. And that a target
is worth running: it finds a bug that was put there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import random
import re
import signal
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from fuzzing import running, targets
from fuzzing.__main__ import main
from fuzzing.distilling import distilled
from fuzzing.mutating import mutator
from fuzzing.swelling import LONG, breaking_long
from fuzzing.target import Broken, Slow, Target, depth
from gitplacer.documents import parse

TARGETS = pytest.mark.parametrize("name", targets.NAMES)
FINDING = {
    "documents": "a: ☃☃\n---\nb: 1\n".encode(),
    "quantities": b"1048576",
    "schemas": b"apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {autoscaler: null}\n",
    "selectors": b"selector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}\nlabels: {}\n",
    "sizing": b"apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, resources: {requests: {cpu: -1}}}]}\n",
    "snapshots": b'apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {name: a}\nobservedAt: "2026-01-02T03:04:05Z"\n'
    b"nodes: [{name: a, allocatable: {cpu: -1}}]\n",
    "trailers": b"tree a\n\nsubject\n\n" + b"\n".join(
        b"Gitplacer-" + line for line in (b"Source: " + b"a" * 40, b"Now: 2026-01-02T03:04:05Z", b"Step: 1/1", b"Version: 1")
    ),
    "webhooks": b"gitlab\nwebhook-id: a\nwebhook-timestamp: 1767322945\nwebhook-signature: none\n\n{}",
}  # fmt: skip
"""For each target an input that shows its planted bug, and nothing else."""


@TARGETS
def test_what_was_found_once_is_not_found_again(name: str) -> None:
    corpus, found = running.corpus(name).values(), running.found(name).values()
    target = targets.target(name)
    assert corpus and all(len(data) <= target.longest for data in corpus)
    for data in (*corpus, *found):
        assert len(data) <= max(target.longest, LONG)
        target.hold(data)


@TARGETS
def test_a_target_holds_more_than_that_nothing_is_raised(name: str) -> None:
    target = targets.target(name)
    target.check(FINDING[name])
    with target.planted(), pytest.raises(Broken):
        target.check(FINDING[name])
    target.check(FINDING[name])


@TARGETS
def test_nothing_that_a_run_begins_with_shows_the_planted_bug(name: str) -> None:
    target = targets.target(name)
    with target.planted():
        for data in running.corpus(name).values():
            target.check(data)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="there is no atheris: pip install -e '.[fuzz]'")
@pytest.mark.parametrize("name", ["quantities", "webhooks"])
def test_a_run_finds_the_planted_bug(name: str) -> None:
    ran = CliRunner().invoke(main, [name, "--planted", "--seconds", "60", "--seed", "1"])
    assert ran.exit_code == 0, ran.output
    assert targets.target(name).bug in ran.output and "not found" not in ran.output


def test_what_shows_the_planted_bug_is_left_for_a_run_to_find(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = (FINDING["quantities"], b"17Ei" + b"0" * 40)
    outcome = running.Outcome(executions=2, looked=1, started=0.0, edges=1, fresh=fresh, breaking=None, said="")
    kept: list[bytes] = []
    monkeypatch.setattr(running, "run", lambda name, seconds, **rest: outcome)
    monkeypatch.setattr(running, "corpus", lambda name: {"a": b"1"})
    monkeypatch.setattr(running, "keep", lambda where, name, data: kept.append(data))
    ran = CliRunner().invoke(main, ["quantities", "--grow", "--seconds", "1", "--seed", "1"])
    assert ran.exit_code == 0, ran.output
    assert kept == [fresh[1]]


def test_an_input_that_takes_long_is_a_find() -> None:
    def squared(data: bytes) -> None:
        re.fullmatch(rb"(?:a|a)*b", data)

    target = Target(check=squared, bug="", planted=contextlib.nullcontext)
    target.hold(b"a" * 20)
    with pytest.raises(Slow):
        target.hold(b"a" * 60)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_what_only_the_first_input_takes_is_none() -> None:
    remembered: list[None] = []

    def slow_at_first(data: bytes) -> None:
        if not remembered:
            remembered.append(None)
            signal.raise_signal(signal.SIGPROF)

    Target(check=slow_at_first, bug="", planted=contextlib.nullcontext).hold(b"")
    assert remembered


@pytest.mark.parametrize(
    ("structured", "seed", "is_slow"),
    [
        (False, b"author A B <a@b>\n", lambda data: b" " * 9000 in data),
        (False, b"a: 1\nkey: x\n", lambda data: data.count(b"key: x\n") > 9000),
        (True, b'a: {b: [1, "x"]}\n', lambda data: data.count(b'1, "x", 1, "x"') > 2000),
        (True, b"a: {b: 1}\n", lambda data: b'"b2000": 1' in data),
        (True, b"a: {b: x}\n", lambda data: b"x" * 9000 in data),
    ],
)  # fmt: skip
def test_what_is_slow_when_it_is_long_is_found(structured: bool, seed: bytes, is_slow: Callable[[bytes], bool]) -> None:
    def hold(data: bytes) -> None:
        assert len(data) <= LONG
        if is_slow(data):
            raise Slow("too long")

    tried, found, said = breaking_long(hold, [seed, b""], 20, random.Random(1), structured=structured)
    assert found is not None and is_slow(found) and tried < 200 and said == "Slow: too long"
    assert breaking_long(hold, [b""], 20, random.Random(1), structured=structured) == (0, None, "")


def test_distilling_keeps_the_smallest_that_show_something_new() -> None:
    check = targets.target("quantities").check
    assert distilled(check, [b"1"], [b"16000000", b"16k", b"17k"]) == [b"16k"]


def test_what_is_changed_as_a_document_stays_one() -> None:
    mutated = mutator(["replicas"], [b"kind: Seed\n"], lambda data, most: b"bytewise")
    found = {mutated(b"kind: A\nspec: {replicas: 1}\n---\nkind: B\n", 4096, seed) for seed in range(99)}
    assert b"bytewise" in found and len(found) > 30
    assert all(parse(data).documents for data in found - {b"bytewise"})
    for data in (b"{", b"a: &x 1\nb: *x\n", b"[1]"):
        assert {mutated(data, 4096, seed) for seed in range(99)} == {mutated(b"", 4096, seed) for seed in range(99)}
    assert max(len(mutated(b"kind: A\n", 20, seed)) for seed in range(99)) <= 20


def test_a_change_leaves_what_it_puts_in_as_it_is() -> None:
    mutated = mutator(["replicas"], [b"kind: Seed\n"], lambda data, most: b"bytewise")
    before = [mutated(b"kind: A\nspec: {a: {b: 1}}\n", 4096, seed) for seed in range(999)]
    assert before == [mutated(b"kind: A\nspec: {a: {b: 1}}\n", 4096, seed) for seed in range(999)]


@pytest.mark.parametrize(("value", "levels"), [(1, 0), ([], 1), ({"a": [{}]}, 3), ([[], [[]]], 3)])
def test_depth_counts_levels(value: object, levels: int) -> None:
    assert depth(value) == levels

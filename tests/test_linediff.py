"""Diffs of long texts: what they tell is true, short ones are those of difflib, and each line takes the same work."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import counting
from benchmarks.counting import counted
from gitplacer import linediff
from gitplacer.linediff import unified

LINES = 3000
TEXTS = st.lists(st.sampled_from([*"abc", *map(str, range(40))]), max_size=40)


def applied(old: Sequence[str], diff: Iterable[str]) -> list[str]:
    """What a diff makes of a text."""
    made, at = list[str](), 0
    for line in diff:
        if head := re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@$", line):
            start = int(head[1]) - (head[2] != "0")
            made += old[at:start]
            at = start
            continue
        if line[0] != "+":
            assert old[at] == line[1:]
            at += 1
        if line[0] != "-":
            made.append(line[1:])
    return made + list(old[at:])


@pytest.mark.parametrize("closely", [0, 4, 50])
@given(old=TEXTS, new=TEXTS, keep=st.integers(0, 40))
def test_a_diff_makes_the_new_text_of_the_old_one(closely: int, old: list[str], new: list[str], keep: int) -> None:
    new = [*old[:keep], *new, *old[keep + 2 :]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linediff, "CLOSELY", closely)
        assert applied(old, unified(old, new)) == new
        assert list(unified(old, old)) == []


@given(old=TEXTS, new=TEXTS, context=st.sampled_from([1, 3]))
def test_short_texts_are_compared_as_difflib_does(old: list[str], new: list[str], context: int) -> None:
    assert list(unified(old, new, context)) == list(difflib.unified_diff(old, new, lineterm="", n=context))[2:]


def test_a_long_text_is_told_as_what_changes_in_it() -> None:
    old = [f"  key-{at}: value" for at in range(3000)]
    new = [*old[:7], "one", *old[7:2000], *old[2001:]]
    assert list(unified(old, new, 1)) == [
        "@@ -7,2 +7,3 @@", f" {old[6]}", "+one", f" {old[7]}",
        "@@ -2000,3 +2001,2 @@", f" {old[1999]}", f"-{old[2000]}", f" {old[2001]}",
    ]  # fmt: skip


def test_a_long_text_in_which_no_run_of_lines_is_there_once_is_told_as_replaced() -> None:
    old, new = (["a", "b", "c"] * 400)[:-1], ["c", "b", "a"] * 400
    diff = list(unified(old, new))
    assert applied(old, diff) == new
    assert sum(line.startswith("-") for line in diff) == len(old) == len(new) - 1


def _distinct(size: int) -> list[str]:
    return [f"  key-{at}: value" for at in range(size)]


def _worded(size: int) -> list[str]:
    """Of 120 words, none of which is more than a hundredth of all, which difflib would leave out."""
    chance = random.Random(1)
    return [f"  word-{chance.randrange(120)}" for _ in range(size)]


@pytest.mark.parametrize("package", [counting.PACKAGE, Path(difflib.__file__).parent], ids=["ours", "difflib's"])
@pytest.mark.parametrize("text", [_distinct, _worded])
@pytest.mark.parametrize("edited", ["every tenth", "all", "order"])
def test_each_line_takes_the_same_work_in_every_text(
    text: Callable[[int], list[str]], edited: str, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """difflib alone takes more than a thousand for each of those that are distinct, and more again for words."""
    monkeypatch.setattr(counting, "PACKAGE", package)
    old = text(LINES)
    new = [f"{line}!" if edited == "all" or at % 10 == 0 else line for at, line in enumerate(old)]
    new = random.Random(2).sample(old, LINES) if edited == "order" else new
    assert counted(lambda: list(unified(old, new))).total() < 200 * LINES

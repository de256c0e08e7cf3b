"""Patterns of paths: what they mean, beside a reading that is slow and simple, and that nobody can make one that takes long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing.targets.selectors import walks
from gitplacer.pathglob import captured, compiled, matches

_PARTS = st.sampled_from(["**/", "**", "*", "?", "a", "b", "/", "a/", "b/"])
_NAMES = st.text("ab", min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("workloads/**/*.yaml", "workloads/a.yaml workloads/a/b/c.yaml", "workloads/a.yml a/workloads/b.yaml"),
        ("*", "a abc", "a/b"),
        ("a**b", "ab a/b axx/yb", "ba"),
        ("[a-c]?.y", "ax.y bb.y", "a/.y d1.y"),
        ("[!a]b", "cb", "ab /b"),
        ("[^a]b", "cb", "ab /b"),
        ("[]a]", "[]a]", "a ]"),
        ("[z-a]", "[z-a]", "a z -"),
        ("a[+-9]b", "a.b a5b", "a/b"),
        ("[a", "[a", "a"),
        ("{n}/x/{n}", "a/x/a a/x/b", "a/b/x"),
    ],
)
def test_a_pattern_matches_what_it_says(pattern: str, matching: str, others: str) -> None:
    assert [path for path in (*matching.split(), *others.split()) if matches(pattern, path)] == matching.split()


@given(pattern=st.lists(_PARTS, min_size=1, max_size=9).map("".join), path=st.lists(_NAMES, max_size=6).map("/".join))
def test_it_matches_as_one_who_tries_everything_says(pattern: str, path: str) -> None:
    assert matches(pattern, path) == walks(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/" * 40 + "x", "a/" * 500 + "y"),
        ("**/a/" * 20 + "b", "a/" * 500 + "c"),
        ("*a" * 40 + "b", "a" * 4000),
        ("**a" * 40, "a" * 39 + "b" * 4000),
        ("*/**/" * 20 + "x", "a/" * 500 + "y"),
    ],
)
def test_nobody_can_make_one_that_never_ends(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("workloads/{namespace}/**", "workloads/a/b/c.yaml", "a"),
        ("**/{namespace}/*.yaml", "x/y/c.yaml", "y"),
        ("**/{namespace}/**", "x/y/c.yaml", "y"),  # the last folder that can be meant, as it always was
        ("{namespace}/x", "a/y", None),
    ],
)
def test_a_name_in_braces_captures_a_folder(pattern: str, path: str, found: str | None) -> None:
    assert captured(pattern, path, "namespace") == found


@given(
    pattern=st.lists(st.one_of(_PARTS, st.just("{a}")), max_size=8).map("".join),
    path=st.text("ab/", max_size=10),
)
def test_a_captured_folder_matches_whether_it_is_asked_for_or_not(pattern: str, path: str) -> None:
    assert matches(pattern, path) == (compiled(pattern).fullmatch(path) is not None)


def test_more_patterns_than_a_fleet_has_are_compiled_once_each() -> None:
    before = compiled.cache_info().misses
    for path in ("a/b", "a/c"):
        assert not any(matches(f"of-many-{number}/**", path) for number in range(2000))
    assert compiled.cache_info().misses - before == 2000

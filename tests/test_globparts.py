"""Parts of patterns: whatever a pattern matches has them, and who looks patterns up by them misses none and tries few."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import pathglob
from gitplacer.globparts import KnownParts, Likely, Part, of_name, of_path

_TOKENS = ("a", "b", "ab", "/", "*", "?", "**", "**/", "[ab]", "[!a]", "[]a]", "[", "]", "{n}", "{", "}", "!", "-")
PATTERNS = st.lists(st.sampled_from(_TOKENS), min_size=1, max_size=6).map("".join)
TEXTS = st.text("ab/[]{}n!-", max_size=8)
SPOKEN: dict[str, tuple[Callable[[str], list[Part]], Callable[[str, str], bool]]] = {
    "names": (of_name, lambda pattern, text: fnmatch.fnmatchcase(text, pattern)),
    "paths": (of_path, pathglob.matches),
}
spoken = pytest.mark.parametrize(("parts", "match"), SPOKEN.values(), ids=SPOKEN)


@spoken
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("app-1", ["is app-1"]),
        ("app-1-*", ["begins app-1-"]),
        ("*-train", ["ends -train"]),
        ("a-*-very-*-b", ["holds -very-", "begins a-", "ends -b"]),
        ("x[a*b]y*long", ["ends long", "begins x", "holds y"]),
        ("[ab]*", []),
        ("?", []),
    ],
)
def test_what_stands_between_wildcards_is_a_part(
    parts: Callable[[str], list[Part]], match: Callable[[str, str], bool], pattern: str, found: list[str]
) -> None:
    assert [" ".join(part) for part in parts(pattern)] == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/team-1/**", ["holds team-1/"]),
        ("**/app.yaml", ["ends app.yaml"]),
        ("workloads/{namespace}/team-1/*", ["begins workloads/", "holds /team-1/"]),
        ("workloads/**/app.yaml", ["begins workloads/", "ends app.yaml"]),
    ],
)
def test_folders_may_be_crossed_between_parts(pattern: str, found: list[str]) -> None:
    assert [" ".join(part) for part in of_path(pattern)] == found


@spoken
@given(pattern=PATTERNS, text=TEXTS)
def test_whatever_a_pattern_matches_has_its_parts(
    parts: Callable[[str], list[Part]], match: Callable[[str, str], bool], pattern: str, text: str
) -> None:
    known = set(KnownParts(parts(pattern)).of(text))
    assert not match(pattern, text) or known == set(parts(pattern))
    for where, letters in parts(pattern):
        has = {
            "is": text == letters,
            "begins": text.startswith(letters),
            "holds": letters in text,
            "ends": text.endswith(letters),
        }
        assert (Part(where, letters) in known) is has[where]


@spoken
@given(patterns=st.lists(PATTERNS, max_size=12), text=TEXTS)
def test_no_pattern_that_matches_is_missed(
    parts: Callable[[str], list[Part]], match: Callable[[str, str], bool], patterns: list[str], text: str
) -> None:
    found = list(Likely((parts(pattern), place) for place, pattern in enumerate(patterns)).of(text))
    assert len(found) == len(set(found))
    assert {place for place, pattern in enumerate(patterns) if match(pattern, text)} <= set(found)


@spoken
@pytest.mark.parametrize("form", ["app-{}", "app-{}-*", "*-{}", "*-{}-*", "x*-{}-?", "[ax]*-{}-?", "*-{}-[ab]*y"])
def test_of_a_thousand_patterns_few_are_tried(
    parts: Callable[[str], list[Part]], match: Callable[[str, str], bool], form: str
) -> None:
    likely = Likely((parts(form.format(number)), number) for number in range(1000))
    texts = [f"{before}app-{number}{after}" for number in (7, 77, 777) for before in ("", "x") for after in ("", "-y")]
    assert 1 <= max(len(list(likely.of(text))) for text in texts) <= 3

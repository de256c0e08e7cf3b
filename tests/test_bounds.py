"""
Nothing that somebody writes may cost more than its share: how deep, how many, how large, and who pays for it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitplacer.documents import parse
from gitplacer.documents.compose import MAX_DEPTH


def depth(value: Any) -> int:
    """Collections inside each other, counted without recursion."""
    deepest, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        deepest += 1
        level = [below for item in level for below in (item.values() if isinstance(item, dict) else item)]
    return deepest


WRAPPINGS = {"[": ("]", 1), "{k: ": ("}", 1), "{<<: {z: ": ("}}", 2)}
"""What opens a collection, with what closes it and how deep it goes as it is written."""


@st.composite
def anchored(draw: st.DrawFn) -> tuple[str, int]:
    """A file in which values nest what others before them anchored, and how deep it is with all its aliases written out."""
    lines: list[str] = []
    known: list[tuple[bool, int]] = []
    for number in range(draw(st.integers(1, 6))):
        inner, below = "x", 0
        if number and draw(st.booleans()):
            to = draw(st.integers(0, number - 1))
            mapping, deep = known[to]
            ways = [(f"*a{to} ", deep)]
            if mapping:
                ways += [(f"{{<<: *a{to} , b: 1}}", 1 + deep), (f"{{<<: [*a{to} , {{z: [1]}}]}}", 2 + max(deep, 2))]
            inner, below = draw(st.sampled_from(ways))
        start = draw(st.sampled_from(sorted(WRAPPINGS)))
        end, each = WRAPPINGS[start]
        levels = draw(st.integers(1, 40))
        lines.append(f"k{number}: &a{number} {start * levels}{inner}{end * levels}\n")
        known.append((start.startswith("{"), below + levels * each))
    return "".join(lines), 1 + max(deep for _, deep in known)


@given(anchored())
def test_nothing_that_is_read_is_deeper_than_the_bound(case: tuple[str, int]) -> None:
    text, deep = case
    parsed = parse(text.encode())
    assert [fault.code for fault in parsed.faults] == (["TooDeep"] if deep > MAX_DEPTH else [])
    assert all(depth(document.value) <= min(deep, MAX_DEPTH) for document in parsed.documents)

"""Marks are a set of kinds and clusters, however they were added, taken away and copied."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.placement.marks import Marks

CLUSTERS = 20
WRITES = st.lists(
    st.tuples(st.sampled_from(("add", "clear", "copy")), st.integers(0, 40), st.integers(0, CLUSTERS - 1))
)


@given(writes=WRITES)
def test_marks_are_a_set(writes: list[tuple[str, int, int]]) -> None:
    marks, expected = Marks[int](CLUSTERS), set[tuple[int, int]]()
    for what, kind, number in writes:
        if what == "add":
            marks.add(kind, number)
            expected.add((kind, number))
        elif what == "clear":
            marks.clear([number])
            expected = {(k, n) for k, n in expected if n != number}
        else:
            original, marks = marks, marks.copy()
            original.add(kind, number)
            original.clear([CLUSTERS - 1])
    everywhere = np.arange(CLUSTERS)[::-1]
    for kind in range(41):
        clusters = {n for k, n in expected if k == kind}
        assert {n for n in range(CLUSTERS) if marks.has(kind, n)} == clusters
        assert set(everywhere[marks.among(kind, everywhere)].tolist()) == clusters
        in_bits = np.unpackbits(marks.of(kind), bitorder="little")
        assert set(np.flatnonzero(in_bits).tolist()) == clusters


def test_very_many_kinds_are_kept() -> None:
    marks = Marks[int](3)
    for kind in range(1_000):
        marks.add(kind, kind % 3)
    assert all(marks.has(kind, n) is (n == kind % 3) for kind in range(1_000) for n in range(3))
    assert not marks.has(1_000, 0) and not len(marks.of(1_000))

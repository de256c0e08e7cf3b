"""
The proof that nobody is left out, before an adversary who may do anything that the filters allow.

The adversary takes the pods in any order and puts each on any node with room, as no scheduler would. Where the proof says that a
class is sure, even he cannot leave one of its pods without a node; he goes through every state there is.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitplacer.scheduler.crowding import certain

Rows = list[list[int]]


def places(free: list[int], ask: list[int], admitted: bool) -> int:
    return min((have // each for have, each in zip(free, ask, strict=True) if each), default=0) if admitted else 0


def stranded(asks: Rows, counts: list[int], free: Rows, admits: list[list[bool]]) -> set[int]:
    """The classes of which the adversary can leave a pod without a node."""
    found: set[int] = set()
    seen: set[tuple[tuple[int, ...], ...]] = set()

    def go(left: tuple[int, ...], rows: tuple[tuple[int, ...], ...]) -> None:
        if (left, *rows) in seen:
            return
        seen.add((left, *rows))
        for k, count in enumerate(left):
            if not count:
                continue
            able = [n for n, row in enumerate(rows) if places(list(row), asks[k], admits[k][n])]
            if not able:
                found.add(k)
            for n in able:
                row = tuple(have - each for have, each in zip(rows[n], asks[k], strict=True))
                go((*left[:k], count - 1, *left[k + 1 :]), (*rows[:n], row, *rows[n + 1 :]))

    go(tuple(counts), tuple(tuple(row) for row in free))
    return found


def sure(
    asks: Rows, counts: list[int], free: Rows, admits: list[list[bool]], needed: list[bool] | None = None
) -> set[int]:
    table = np.array(
        [[places(row, ask, may[n]) for n, row in enumerate(free)] for ask, may in zip(asks, admits, strict=True)]
    )
    found = certain(
        table.reshape(len(asks), len(free)), np.array(asks), np.array(counts), np.array(free).reshape(len(free), -1),
        needed=None if needed is None else np.array(needed),
    )  # fmt: skip
    return set(np.flatnonzero(found).tolist())


@st.composite
def questions(draw: st.DrawFn) -> tuple[Rows, list[int], Rows, list[list[bool]]]:
    resources, nodes, classes = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    asks = [[draw(st.integers(0, 4)) for _ in range(resources)] for _ in range(classes)]
    asks = [[1, *ask] for ask in asks]  # every pod takes a slot
    counts = [draw(st.integers(1, 3)) for _ in range(classes)]
    free = [[draw(st.integers(0, 6)), *(draw(st.integers(0, 9)) for _ in range(resources))] for _ in range(nodes)]
    admits = [[draw(st.booleans()) or draw(st.booleans()) for _ in range(nodes)] for _ in range(classes)]
    return asks, counts, free, admits


@settings(max_examples=600)
@given(questions())
@example(([[1, 4], [1, 1]], [2, 3], [[9, 9], [9, 9], [9, 9]], [[True] * 3] * 2))
def test_an_adversary_cannot_leave_out_whom_the_proof_calls_sure(
    question: tuple[Rows, list[int], Rows, list[list[bool]]],
) -> None:
    assert not sure(*question) & stranded(*question)


@settings(max_examples=300)
@given(questions())
def test_for_one_class_the_proof_is_exact(question: tuple[Rows, list[int], Rows, list[list[bool]]]) -> None:
    asks, counts, free, admits = question
    alone = (asks[:1], counts[:1], free, admits[:1])
    assert sure(*alone) == {0} - stranded(*alone)


@settings(max_examples=600)
@given(questions(), st.lists(st.booleans(), min_size=3, max_size=3))
def test_who_asks_for_some_only_hears_of_them_what_who_asks_for_all_does(
    question: tuple[Rows, list[int], Rows, list[list[bool]]], some: list[bool]
) -> None:
    needed = some[: len(question[1])]
    wanted = {k for k, is_needed in enumerate(needed) if is_needed}
    assert (wanted <= sure(*question, needed)) == (wanted <= sure(*question))
    assert sure(*question, needed) <= sure(*question)


EIGHT = [99, 96, 8]  # slots, cores, GPUs of a node


@pytest.mark.parametrize(
    ("asks", "counts", "free", "proved"),
    [
        # eight cores a GPU leave 32 cores idle: heads of two cores each take none of a worker's places
        ([[1, 8, 1], [1, 2, 0]], [8, 10], [EIGHT], {0, 1}),
        # ... until there are so many that they do
        ([[1, 8, 1], [1, 2, 0]], [8, 20], [EIGHT], set()),
        # one GPU for another pod, and a pod that wants all eight may find none; nor the other way round
        ([[1, 8, 8], [1, 8, 1]], [1, 1], [EIGHT], set()),
        ([[1, 8, 8], [1, 8, 1]], [1, 1], [EIGHT, EIGHT], {0, 1}),
        # four pods of one GPU can spoil four nodes for one of eight, and no fifth
        ([[1, 8, 8], [1, 8, 1]], [1, 4], [EIGHT] * 4, {1}),
        ([[1, 8, 8], [1, 8, 1]], [1, 4], [EIGHT] * 5, {0, 1}),
        # a large other pod is on one node, where it takes at most the places that are there
        ([[1, 10, 0], [1, 90, 0]], [9, 1], [EIGHT, EIGHT], {0}),
    ],
)
def test_what_lies_idle_has_to_be_used_up_first(asks: Rows, counts: list[int], free: Rows, proved: set[int]) -> None:
    assert sure(asks, counts, free, [[True] * len(free)] * len(asks)) == proved


@pytest.mark.parametrize("amount", [2**40, 2**58, 2**61])
def test_amounts_beyond_counting_prove_nothing_wrong(amount: int) -> None:
    question = ([[1, amount], [1, amount // 2]], [1, 2], [[9, amount], [9, amount]], [[True] * 2] * 2)
    assert not sure(*question) & stranded(*question)

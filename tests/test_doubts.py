"""What is remembered against gangs on clusters is never wrong: whoever asks anew finds the same, for as long as pods are only added."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gitplacer.scheduler.crowding import Crowd, certain
from tests.test_crowding import places, questions

Rows = list[list[int]]


def tables(question: tuple[Rows, list[int], Rows, list[list[bool]]]) -> tuple[np.ndarray, ...]:
    asks, counts, free, admits = question
    table = [[places(row, ask, may[n]) for n, row in enumerate(free)] for ask, may in zip(asks, admits, strict=True)]
    return (
        np.array(table).reshape(len(asks), len(free)),
        np.array(asks),
        np.array(counts),
        np.array(free).reshape(len(free), -1),
    )


@settings(max_examples=300, deadline=None)
@given(question=questions(), more=st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_who_is_not_proved_is_not_proved_beside_more(
    question: tuple[Rows, list[int], Rows, list[list[bool]]], more: list[int]
) -> None:
    table, asks, counts, free = tables(question)
    before = certain(table, asks, counts, free)
    after = certain(table, asks, counts + np.array(more[: len(counts)]), free)
    event(f"lost by more: {bool((before & ~after).any())}")
    assert not (after & ~before).any()


@settings(max_examples=200, deadline=None)
@given(question=questions(), data=st.data())
def test_a_crowd_that_grew_is_one_that_was_made_at_once(
    question: tuple[Rows, list[int], Rows, list[list[bool]]], data: st.DataObject
) -> None:
    """In whatever order classes were added, and whatever was asked in between."""
    table, asks, counts, free = tables(question)
    order = data.draw(st.permutations(range(len(asks))))
    crowd, number = Crowd(free), {}
    for k in order:
        number[k] = crowd.add(table[k], asks[k])
        asked = np.array(list(number.values()), dtype=np.intp)
        crowd.certain(asked, counts[list(number)])
    some = data.draw(st.lists(st.sampled_from(range(len(asks))), min_size=1, unique=True))
    found = crowd.certain(np.array([number[k] for k in some], dtype=np.intp), counts[some])
    assert found.tolist() == certain(table[some], asks[some], counts[some], free).tolist()


@settings(max_examples=200, deadline=None)
@given(question=questions(), data=st.data())
def test_classes_that_share_no_node_do_not_matter(
    question: tuple[Rows, list[int], Rows, list[list[bool]]], data: st.DataObject
) -> None:
    table, asks, counts, free = tables(question)
    crowd = Crowd(free)
    every = np.array([crowd.add(row, ask) for row, ask in zip(table, asks, strict=True)], dtype=np.intp)
    start = data.draw(st.sampled_from(every.tolist()))
    near = crowd.near(np.array([start]), every)
    assert start in near
    others = np.setdiff1d(every, near)
    assert not ((table[near][:, None, :] > 0) & (table[others][None, :, :] > 0)).any()
    assert crowd.certain(near, counts[near]).tolist() == crowd.certain(every, counts)[near].tolist()

"""What is remembered against gangs on clusters is never wrong: whoever asks anew finds the same, for as long as pods are only added."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape, Roster
from gitplacer.placement.doubts import Doubts
from gitplacer.placement.stage import Tight
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
    near = every[crowd.near(np.array([start]), every)]
    assert start in near
    others = np.setdiff1d(every, near)
    assert not ((table[near][:, None, :] > 0) & (table[others][None, :, :] > 0)).any()
    assert crowd.certain(near, counts[near]).tolist() == crowd.certain(every, counts)[near].tolist()


def _asking(*, cpu: int, gpu: int) -> PodShape:
    return PodShape(Resources({"cpu": cpu, "nvidia.com/gpu": gpu}))


HEAD = PodSet("head", 1, PodShape(Resources({"cpu": 1000})))
WORKERS = PodSet("worker/a", 3, PodShape(Resources({"cpu": 4000})))
TIGHT = Tight("as created", "LeastAllocated", "head", ())


@pytest.mark.parametrize(
    ("what", "gang", "alike"),
    [
        ("roles and order do not count", (replace(WORKERS, role="worker/b"), replace(HEAD, role="pod")), True),
        ("nor in how many sets they are", (HEAD, replace(WORKERS, count=1), replace(WORKERS, count=2)), True),
        ("one pod more", (HEAD, replace(WORKERS, count=4)), False),
        ("labels that a rule looks at", (HEAD, replace(WORKERS, labels=(("app", "x"),))), False),
        ("a namespace that a rule looks at", (HEAD, replace(WORKERS, namespace="web")), False),
        ("slices", (HEAD, replace(WORKERS, slice_size=3)), False),
    ],
)
def test_what_is_known_of_a_gang_is_known_of_those_like_it(what: str, gang: Gang, alike: bool) -> None:
    doubts = Doubts({"a": 0, "b": 1})
    doubts.add_unproved((HEAD, WORKERS), "a")
    doubts.add_roomless((HEAD, WORKERS), "a")
    doubts.refuse((HEAD, WORKERS), "a", TIGHT)
    assert doubts.is_unproved(gang, "a") is doubts.is_roomless(gang, "a") is alike, what
    assert (doubts.refused(gang, "a") is TIGHT) is alike
    assert not doubts.is_unproved((HEAD, WORKERS), "b")


def test_what_is_taken_away_on_a_cluster_ends_all_doubts_about_it() -> None:
    doubts, gang = Doubts({"a": 0, "b": 1}), (HEAD, WORKERS)
    for name in ("a", "b"):
        doubts.add_unproved(gang, name)
        doubts.add_roomless(gang, name)
        doubts.refuse(gang, name, TIGHT)
    later, lasting = doubts.copy(but={"b"}), doubts.lasting(but={"b"})
    doubts.forget("a")

    def known(which: Doubts, name: str) -> set[bool]:
        return {which.is_unproved(gang, name), which.is_roomless(gang, name), which.refused(gang, name) is not None}

    assert known(doubts, "a") == {False} and known(doubts, "b") == {True}
    assert known(later, "a") == {True} and known(later, "b") == {False}
    assert lasting.is_unproved(gang, "a") and lasting.is_roomless(gang, "a")
    assert lasting.refused(gang, "a") is None  # where more come fewer orders are tried: it has to be found again
    assert known(lasting, "b") == {False}


GPU = PodSet("worker/g", 2, _asking(cpu=4000, gpu=4))


@pytest.mark.parametrize(
    ("what", "gang", "times"),
    [
        ("other pods that ask for as much", (replace(GPU, count=1, shape=_asking(cpu=1000, gpu=8)),), 1.0),
        ("as many devices by more pods", (replace(GPU, count=12, shape=_asking(cpu=100, gpu=1)),), 1.5),
        ("fewer devices", (replace(GPU, count=1),), 0.0),
        ("none, with as much of all else", (WORKERS,), 0.0),
        ("some of a gang", (WORKERS, replace(GPU, count=4)), 2.0),
        ("none of some pods", (replace(GPU, count=0),), 0.0),
    ],
)
def test_who_asks_for_no_less_than_others_in_vain_is_told_by_how_much_more(what: str, gang: Gang, times: float) -> None:
    doubts, asked = Doubts({"a": 0, "b": 1}), np.array([1, 0])
    doubts.add_alone(GPU.shape, 3, "a")
    doubts.add_alone(GPU.shape, 2, "a")
    doubts.add_alone(_asking(cpu=0, gpu=0), 5, "a")  # of which there is no more
    counts = Roster.of(gang).counts
    assert doubts.how_much_more(counts, asked).tolist() == [0, times], what
    assert doubts.copy().how_much_more(counts, asked).tolist() == [0, times]
    assert doubts.copy(but={"a"}).how_much_more(counts, asked).tolist() == [0, 0]
    doubts.forget("a")
    assert doubts.how_much_more(counts, asked).tolist() == [0, 0]

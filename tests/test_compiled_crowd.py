"""Machine code and the plain proof say the same of every question about a crowd, whatever was asked of it before."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gitplacer.scheduler.crowding import Coming, Crowd
from gitplacer.scheduler.patience import Patience

importlib.import_module("numba")
PLAIN, COMPILED = "no.such.module", "gitplacer.scheduler.compiledcrowd"
GI = 2**30


@st.composite
def crowds(draw: st.DrawFn) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """What is free, and classes of pods: which nodes admit one, and what it asks; small ones and such as clusters have."""
    nodes, classes = draw(st.integers(1, 12)), draw(st.integers(2, 10))
    large = draw(st.booleans())
    cpu, memory = (
        (st.integers(0, 64_000), st.integers(0, 256 * GI)) if large else (st.integers(0, 9), st.integers(0, 9))
    )
    free = [
        [draw(st.integers(0, 30)), draw(cpu), draw(memory), draw(st.sampled_from([0, 0, 1, 8]))] for _ in range(nodes)
    ]
    sizes = (st.integers(0, 16_000), st.integers(0, 32 * GI)) if large else (st.integers(0, 4), st.integers(0, 4))
    found = []
    for _ in range(classes):
        admitted = np.array([draw(st.integers(0, 4)) > 0 for _ in range(nodes)])
        found.append((admitted, np.array([1, *(draw(size) for size in sizes), draw(st.sampled_from([0, 0, 0, 1, 4]))])))
    return np.array(free), found


@settings(max_examples=400, deadline=None)
@given(crowd=crowds(), data=st.data())
def test_a_proof_is_found_by_both_or_by_neither(
    crowd: tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]], data: st.DataObject
) -> None:
    free, classes = crowd
    plain, compiled = Crowd(free, Patience(PLAIN, 0)), Crowd(free, Patience(COMPILED, 0))
    for admitted, ask in classes:
        most = {"most": data.draw(st.integers(1, 2))} if data.draw(st.booleans()) else {}
        assert plain.admit(admitted, ask, **most) == compiled.admit(admitted, ask, **most)
    numbers = st.sampled_from(range(len(classes)))
    for _ in range(3):
        come = data.draw(st.lists(numbers, unique=True))
        coming = Coming(
            np.array(come, dtype=np.int64),
            np.array([data.draw(st.integers(1, 6)) for _ in come], dtype=np.int64),
            np.array([data.draw(st.booleans()) for _ in come], dtype=np.bool_),
        )
        own = np.array(data.draw(st.lists(numbers, min_size=1, max_size=3, unique=True)), dtype=np.int64)
        more = np.array([data.draw(st.integers(1, 6)) for _ in own], dtype=np.int64)
        lucky = data.draw(st.booleans())
        said = plain.sure(coming, own, more, lucky)
        event(f"sure: {said}")
        assert compiled.sure(coming, own, more, lucky) is said
        for begin in (0, 1):
            first = plain.unsure(coming, own, more, begin)
            assert compiled.unsure(coming, own, more, begin) == first
            alone = [plain.sure(coming, own[at : at + 1], more[at : at + 1], False) for at in range(begin, len(own))]
            expected = begin + alone.index(False) if False in alone else len(own)
            assert first == (None if plain.sure(coming, own, more, False) else expected)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_of_a_large_cluster_never_changes_an_answer(seed: int) -> None:
    """Few pods and many, so that now this resource is felt and now others; and while classes are added, so that what is kept has to grow."""
    chance = np.random.default_rng(seed)
    free = np.column_stack([chance.integers(0, most, 600) for most in (30, 64_000, 256 * GI, 9)])
    plain, kept = Crowd(free, Patience(PLAIN, 0)), Crowd(free, Patience(COMPILED, 0))
    said = []
    for known in range(1, 25):
        ask = np.array([1, chance.integers(0, 16_000), chance.integers(0, 64 * GI), chance.choice([0, 0, 1, 4])])
        admitted = chance.random(600) < chance.choice([0.3, 0.9, 1])
        assert plain.admit(admitted, ask) == kept.admit(admitted, ask)
        for _ in range(20):
            come = chance.permutation(known)[: chance.integers(1, known + 1)]
            numbers = (chance.integers(1, 2_000, len(come)) * chance.random() ** 2 / known).astype(np.int64) + 1
            coming = Coming(come.astype(np.int64), numbers, chance.random(len(come)) < 0.8)
            own, more = np.array([chance.integers(known)]), np.array([chance.integers(1, 60)])
            said.append(plain.sure(coming, own, more, False))
            assert [kept.sure(coming, own, more, False) for _ in range(2)] == [said[-1]] * 2
    assert 100 < sum(said) < 400


@pytest.mark.parametrize("module", [PLAIN, COMPILED])
def test_more_places_than_are_counted_are_as_many_as_there_are_pods(module: str) -> None:
    crowd = Crowd(np.array([[2**31 - 1, 9], [2**31 - 1, 9]]), Patience(module, 0))
    mine, others = (crowd.admit(np.array([True, True]), np.array([1, 0])) for _ in range(2))
    for number, sure in ((2**31, True), (2**32 - 3, True), (2**33, False)):
        coming = Coming(np.array([others]), np.array([number]), np.array([False]))
        assert crowd.sure(coming, np.array([mine]), np.array([1]), False) is sure


def test_who_asks_little_never_looks_for_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("importlib.import_module", looked.append)
    crowd = Crowd(np.array([[9, 9]]), Patience(COMPILED, 2))
    nobody = Coming(np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([], dtype=np.bool_))
    number = crowd.admit(np.array([True]), np.array([1, 2]))
    assert not looked
    assert crowd.sure(nobody, np.array([number]), np.array([4]), False)
    assert not looked, "the second step was the last that is done the plain way"
    assert not crowd.sure(nobody, np.array([number]), np.array([5]), False)
    assert looked == [COMPILED]

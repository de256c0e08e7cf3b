"""
No more pods are said to find places than do, and where it is plain that too few do no search is needed to say so.

What runs place is the judge: whatever a run goes on to place was not ruled out at any moment before.
"""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gitplacer.scheduler.board import Board
from gitplacer.scheduler.ceilings import crowded
from gitplacer.scheduler.packing import find
from gitplacer.scheduler.simulation import Profile, simulate
from tests.schedulerobjects import Json, board, expression, node, node_affinity, pod, pod_rule, spread
from tests.test_compiled import boards, profiles


@given(asked=boards(), profile=profiles, data=st.data())
@settings(max_examples=400, deadline=None)
def test_what_a_run_goes_on_to_place_is_ruled_out_at_no_moment(
    asked: Board, profile: Profile, data: st.DataObject
) -> None:
    run = simulate(asked, data.draw(st.permutations(asked.class_of)), profile, whole=False)
    left = [0] * len(asked.classes)
    for k, _ in run.bound:
        left[k] += 1
    state = asked.bound()
    for k, machine in run.bound:
        assert not crowded(asked, state, left)
        state.bind(k, machine)
        left[k] -= 1
    missed = [asked.counts[k] - sum(j == k for j, _ in run.bound) for k in range(len(left))]
    ruled = any(missed) and crowded(asked, state, missed)
    event(f"some are left: {any(missed)}, which is plain: {ruled}, rules: {not all(asked.static)}")


def zones(*cpu: str) -> list[Json]:
    """A node in each zone with so many cores."""
    return [node(f"n-{at}", cpu=cores, labels={"zone": f"z-{at}"}) for at, cores in enumerate(cpu)]


W = {"w": "w"}


def workers(count: int, **more: object) -> list[Json]:
    return [pod(f"w-{at}", cpu="1", labels=W, **more) for at in range(count)]


def two_sorts(small: int, large: int) -> list[Json]:
    """Workers of one core and of two, which want to be together with all others."""
    beside = pod_rule("podAffinity", W)
    return [
        *workers(small, affinity=beside),
        *(pod(f"l-{at}", cpu="2", labels=W, affinity=beside) for at in range(large)),
    ]


def in_zone_1(count: int) -> list[Json]:
    """Workers that may be there alone, and want to be together with all others."""
    where = node_affinity({"matchExpressions": [expression("zone", "In", "z-1")]})
    return [pod(f"v-{at}", cpu="1", labels=W, affinity={**where, **pod_rule("podAffinity", W)}) for at in range(count)]


@pytest.mark.parametrize(
    ("nodes", "gang", "fits"),
    [
        pytest.param(zones("2", "2", "2"), workers(6, topologySpreadConstraints=[spread(W)]), True, id="spread"),
        pytest.param(zones("4", "4", "1"), workers(5, topologySpreadConstraints=[spread(W)]), True, id="one more than the least"),
        pytest.param(zones("4", "4", "1"), workers(6, topologySpreadConstraints=[spread(W)]), False, id="two more than the least"),
        pytest.param(zones("4", "4", "1"), workers(7, topologySpreadConstraints=[spread(W, skew=2)]), True, id="skew"),
        pytest.param(zones("4", "4", "1"), workers(8, topologySpreadConstraints=[spread(W, skew=2)]), False, id="beyond the skew"),
        pytest.param(zones("9", "9", "0"), workers(2, topologySpreadConstraints=[spread(W)]), True, id="one each beside a full zone"),
        pytest.param(zones("9", "9", "0"), workers(3, topologySpreadConstraints=[spread(W)]), False, id="a full zone keeps all others down"),
        pytest.param(zones("9", "9"), workers(2, topologySpreadConstraints=[spread(W, minDomains=3)]), True, id="too few zones"),
        pytest.param(zones("9", "9"), workers(3, topologySpreadConstraints=[spread(W, minDomains=3)]), False, id="one each in too few zones"),
        pytest.param(
            zones("9", "9", "0"),
            workers(4, topologySpreadConstraints=[spread(W)], affinity=node_affinity({"matchExpressions": [expression("zone", "NotIn", "z-2")]})),
            True, id="a zone that no pod may be in counts for nothing",
        ),
        pytest.param(
            zones("9", "9", "0"),
            workers(3, topologySpreadConstraints=[spread({"other": "app"})]),
            True, id="pods that count others of whom there are none",
        ),
        pytest.param(zones("9", "9"), workers(2, affinity=pod_rule("podAntiAffinity", W)), True, id="apart"),
        pytest.param(zones("9", "9"), workers(3, affinity=pod_rule("podAntiAffinity", W)), False, id="apart, in too few zones"),
        pytest.param(zones("4", "4"), workers(4, affinity=pod_rule("podAffinity", W)), True, id="together"),
        pytest.param(zones("4", "4"), workers(5, affinity=pod_rule("podAffinity", W)), False, id="together, in too small zones"),
        pytest.param(
            zones("3", "2"),
            [*workers(4, affinity=pod_rule("podAffinity", W)), pod("head", cpu="1", labels=W)],
            True, id="together with one who minds it not",
        ),
        pytest.param(zones("4", "2"), [*workers(1, affinity=pod_rule("podAffinity", W)), *in_zone_1(1)], True, id="together with those of one zone"),
        pytest.param(zones("4", "2"), [*workers(3, affinity=pod_rule("podAffinity", W)), *in_zone_1(1)], False, id="together, but not in that zone"),
        pytest.param(zones("4", "4"), two_sorts(2, 1), True, id="two sorts together"),
        pytest.param(zones("4", "4"), two_sorts(3, 2), False, id="two sorts together, each of which a zone has room for"),
    ],
)  # fmt: skip
def test_what_is_plain_takes_no_search(nodes: list[Json], gang: list[Json], fits: bool) -> None:
    asked = board(nodes, gang)
    assert crowded(asked, asked.bound(), asked.counts) is not fits
    found = find(asked)
    assert found.outcome == ("found" if fits else "impossible")
    assert fits or found.steps == 0


def test_what_is_there_counts() -> None:
    spreading, there = workers(2, topologySpreadConstraints=[spread(W)]), pod("x", on="n-0", labels=W)
    assert find(board(zones("9", "1"), spreading, [there])).outcome == "found"
    full = board(zones("9", "0"), spreading, [there])
    assert crowded(full, full.bound(), full.counts)
    beside = board(zones("3", "9"), workers(3, affinity=pod_rule("podAffinity", W)), [there])
    assert crowded(beside, beside.bound(), beside.counts)
    apart = board(zones("9", "9"), workers(2, affinity=pod_rule("podAntiAffinity", W)), [there])
    assert crowded(apart, apart.bound(), apart.counts)

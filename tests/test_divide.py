"""Dividing replicas over clusters: the arithmetic, and the life of a divided group from files in to commits out."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.policies.divide import divided


@pytest.mark.parametrize(
    ("total", "weights", "shares"),
    [
        (10, "a 1, b 1", "a 5, b 5"),
        (5, "a 70, b 30", "a 4, b 1"),  # rounded down it would be 3 and 1, and one would be lost
        (5, "a 30, b 70", "a 1, b 4"),  # the heavier one is first where both lose alike, whatever its name
        (5, "a 1, b 1", "a 3, b 2"),
        (1, "a 1, b 1, c 1", "a 1, b 0, c 0"),
        (2, "a 1, b 1, c 1", "a 1, b 1, c 0"),
        (7, "a 1, b 0, c 1", "a 4, b 0, c 3"),
        (7, "a 0", "a 0"),
        (0, "a 1, b 2", "a 0, b 0"),
        (100, "a 33, b 33, c 34", "a 33, b 33, c 34"),
        (3, "a 90, b 5, c 5", "a 3, b 0, c 0"),
        (10, "a 1, b 1, c 1", "a 4, b 3, c 3"),
    ],
)
def test_replicas_are_divided_by_largest_remainder(total: int, weights: str, shares: str) -> None:
    assert divided(total, numbers(weights)) == numbers(shares)


@pytest.mark.parametrize(
    ("held", "shares"),
    [
        ("b 1", "a 1, b 1, c 2"),
        ("c 2", "a 1, b 1, c 2"),
        ("a 2", "a 2, b 1, c 1"),
        ("", "a 2, b 1, c 1"),
        ("b 4", "a 1, b 2, c 1"),
    ],
)
def test_between_equals_whoever_has_a_replica_keeps_it(held: str, shares: str) -> None:
    found = divided(4, numbers("a 1, b 1, c 1"), held=numbers(held))
    if held == "b 1":  # one is due to each, so nobody has more than that
        assert found == numbers("a 2, b 1, c 1")
    else:
        assert found == numbers(shares)


@pytest.mark.parametrize(
    ("total", "bounds", "shares"),
    [
        (10, {"most": {"a": 2}}, "a 2, b 4, c 4"),
        (10, {"most": {"a": 2, "b": 3, "c": 4}}, "a 2, b 3, c 4"),  # there is no way to have ten
        (10, {"least": {"c": 6}}, "a 2, b 2, c 6"),
        (2, {"least": {"a": 1, "b": 1, "c": 1}}, "a 1, b 1, c 1"),  # nor to have two
    ],
)
def test_bounds_are_kept_and_the_others_share_what_they_leave(
    total: int, bounds: dict[str, dict[str, int]], shares: str
) -> None:
    assert divided(total, numbers("a 1, b 1, c 1"), **bounds) == numbers(shares)


def numbers(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (part.split() for part in text.split(", ") if part)}


weighted = st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 1000), min_size=1).filter(
    lambda w: any(w.values())
)
totals = st.integers(0, 500)


@given(total=totals, weights=weighted)
def test_no_replica_is_lost_and_nobody_is_a_whole_one_away_from_his_due(total: int, weights: dict[str, int]) -> None:
    shares = divided(total, weights)
    assert sum(shares.values()) == total
    for name, share in shares.items():
        assert abs(share - Fraction(total * weights[name], sum(weights.values()))) < 1


@given(total=totals, weights=weighted)
def test_a_heavier_cluster_never_gets_less(total: int, weights: dict[str, int]) -> None:
    shares = divided(total, weights)
    for one in weights:
        for other in weights:
            assert weights[one] <= weights[other] or shares[one] >= shares[other]


@given(total=totals, weights=weighted)
def test_what_was_divided_stays_as_it_is(total: int, weights: dict[str, int]) -> None:
    shares = divided(total, weights)
    assert divided(total, weights, held=shares) == shares


@given(total=totals, weights=weighted, held=st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 100)))
def test_any_division_comes_to_rest_at_once(total: int, weights: dict[str, int], held: dict[str, int]) -> None:
    shares = divided(total, weights, held=held)
    assert sum(shares.values()) == total
    assert divided(total, weights, held=shares) == shares


@given(total=totals, weights=weighted, factor=st.integers(1, 9))
def test_only_the_proportion_of_weights_counts(total: int, weights: dict[str, int], factor: int) -> None:
    assert divided(total, {name: w * factor for name, w in weights.items()}) == divided(total, weights)


@given(total=totals, weights=weighted, more=st.data())
def test_with_bounds_the_sum_is_the_total_or_the_bounds_have_the_last_word(
    total: int, weights: dict[str, int], more: st.DataObject
) -> None:
    bounds = more.draw(st.fixed_dictionaries({name: st.integers(0, 100) for name in weights}))
    capped = divided(total, weights, most=bounds)
    assert all(capped[name] <= bounds[name] for name in weights)
    able = sum(bounds[name] for name in weights if weights[name])
    assert sum(capped.values()) == min(total, able)
    raised = divided(total, weights, least=bounds)
    assert all(raised[name] >= bounds[name] for name in weights)
    assert sum(raised.values()) == max(total, sum(bounds.values()))

"""The choice of clusters for copies that are spread, held against all subsets."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.kinds.spread import TopologySpread
from gitplacer.placement.topology import Rule, chosen


def _keeps(rule: Rule, kept: frozenset[str], added: tuple[str, ...], wanted: int) -> bool:
    """The rule in other words than the code's: domain by domain, as the reference page says it."""
    spread, domains = rule.spread, rule.domains
    if not all(name in domains for name in added):
        return False
    before = Counter(domains[name] for name in kept if name in domains)
    coming = Counter(domains[name] for name in added)
    everywhere = {*rule.counted, *before, *coming}
    fewest = min((before[d] + coming[d] for d in everywhere), default=0)
    if spread.max_skew is not None:
        for domain in coming:
            if before[domain] + coming[domain] > fewest + spread.max_skew:
                return False
    used = len({*before, *coming})
    if spread.max_domains is not None and used > spread.max_domains and coming.keys() - before.keys():
        return False
    missing_after = wanted - len(added)
    return used >= (spread.min_domains or 0) or (bool(kept) and used + missing_after >= (spread.min_domains or 0))


def _by_brute_force(rules: Sequence[Rule], ranked: Sequence[str], kept: frozenset[str], wanted: int) -> tuple[str, ...]:
    free = [name for name in ranked if name not in kept]
    for size in range(min(wanted, len(free)), 0, -1):
        for some in itertools.combinations(free, size):  # in the order of ranks
            if all(_keeps(rule, kept, some, wanted) for rule in rules):
                return some
    return ()


NAMES = [f"c{number}" for number in range(8)]
_NUMBER = st.none() | st.integers(1, 3)


@st.composite
def _rules(draw: st.DrawFn) -> Rule:
    domains = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from("xyz"), max_size=8))
    counted = frozenset(draw(st.sets(st.sampled_from("wxyz"), max_size=1)) | set(domains.values()))
    skew, least, most = draw(_NUMBER), draw(_NUMBER), draw(_NUMBER)
    if skew is least is most is None:
        skew = 1
    if least and most and least > most:
        least, most = most, least
    spread = TopologySpread(topology_key="k", max_skew=skew, min_domains=least, max_domains=most)
    return Rule(spread, domains, counted)


@settings(max_examples=250, deadline=None)
@given(
    rules=st.lists(_rules(), min_size=1, max_size=2),
    ranked=st.permutations(NAMES),
    kept=st.frozensets(st.sampled_from(NAMES), max_size=4),
    wanted=st.integers(1, 5),
)
def test_no_other_set_of_clusters_is_better(
    rules: list[Rule], ranked: list[str], kept: frozenset[str], wanted: int
) -> None:
    found = chosen(rules, ranked, kept=kept, wanted=wanted)
    assert found == _by_brute_force(rules, ranked, kept, wanted)
    assert all(rule.holds(kept, found, wanted) for rule in rules) or not found


@settings(max_examples=80, deadline=None)
@given(
    rules=st.lists(_rules(), min_size=1, max_size=2),
    ranked=st.permutations(NAMES),
    kept=st.frozensets(st.sampled_from(NAMES), max_size=3),
    wanted=st.integers(1, 5),
)
def test_what_was_chosen_is_at_rest(rules: list[Rule], ranked: list[str], kept: frozenset[str], wanted: int) -> None:
    first = chosen(rules, ranked, kept=kept, wanted=wanted)
    if first and len(first) < wanted:
        assert chosen(rules, ranked, kept=kept | set(first), wanted=wanted - len(first)) == ()


REGIONS = {"us-1": "us", "us-2": "us", "us-3": "us", "eu-1": "eu", "eu-2": "eu", "ap-1": "ap"}
ALL = ("us-1", "us-2", "us-3", "eu-1", "eu-2", "ap-1")


@pytest.mark.parametrize(
    ("asked", "ranked", "kept", "wanted", "outcome"),
    [
        ({"min_domains": 2}, ALL, (), 2, ("us-1", "eu-1")),  # the best two are in one region
        ({"min_domains": 3}, ALL, (), 4, ("us-1", "us-2", "eu-1", "ap-1")),
        ({"min_domains": 2}, ("us-1", "us-2"), (), 2, ()),  # it waits whole
        ({"min_domains": 2}, ("us-1", "us-2"), ("us-3",), 1, ()),  # and does not use up what is meant for another region
        ({"min_domains": 2}, ("us-1", "us-2"), ("us-3",), 2, ("us-1",)),
        ({"min_domains": 2}, ("us-1", "eu-1"), ("us-3",), 1, ("eu-1",)),
        ({"max_domains": 1}, ("us-1", "eu-1", "eu-2"), (), 2, ("eu-1", "eu-2")),  # us-1 alone would leave one copy out
        ({"max_domains": 1}, ("us-1", "eu-1", "eu-2"), ("us-2",), 2, ("us-1",)),
        ({"max_domains": 1}, ("ap-1",), ("us-1", "eu-1"), 1, ()),  # what runs stays, and opens nothing more
        ({"max_skew": 1}, ALL, (), 5, ("us-1", "us-2", "eu-1", "eu-2", "ap-1")),
        ({"max_skew": 1}, ("us-1", "us-2", "us-3", "eu-1"), (), 4, ("us-1", "eu-1")),  # ap counts, and has no room
        ({"max_skew": 1}, ("us-1", "eu-1", "ap-1"), ("us-2", "us-3"), 2, ("eu-1", "ap-1")),  # mended by adding
        ({"max_skew": 2}, ("us-1", "us-2", "us-3"), (), 3, ("us-1", "us-2")),
    ],
)  # fmt: skip
def test_copies_are_spread(
    asked: Mapping[str, int], ranked: tuple[str, ...], kept: tuple[str, ...], wanted: int, outcome: tuple[str, ...]
) -> None:
    rule = Rule(TopologySpread(topology_key="region", **asked), REGIONS, frozenset(REGIONS.values()))
    assert chosen([rule], ranked, kept=kept, wanted=wanted) == outcome


def test_two_labels_are_kept_together() -> None:
    provider = {"us-1": "aws", "us-2": "gcp", "us-3": "gcp", "eu-1": "aws", "eu-2": "gcp", "ap-1": "aws"}
    both = [
        Rule(TopologySpread(topology_key="region", min_domains=2), REGIONS, frozenset(REGIONS.values())),
        Rule(TopologySpread(topology_key="provider", min_domains=2), provider, frozenset(provider.values())),
    ]
    assert chosen(both, ALL, kept=(), wanted=2) == ("us-1", "eu-2")


def test_a_thousand_clusters_are_no_trouble() -> None:
    """Counted and not timed: one count for each cluster and size at most."""
    names = [f"c{number:04}" for number in range(1000)]
    region = {name: f"r{number % 20}" for number, name in enumerate(names)}
    provider = {name: f"p{number % 7}" for number, name in enumerate(names)}
    rules = [
        Rule(TopologySpread(topology_key="region", max_skew=1, min_domains=10), region, frozenset(region.values())),
        Rule(TopologySpread(topology_key="provider", max_skew=1), provider, frozenset(provider.values())),
    ]
    found = chosen(rules, names, kept=(), wanted=40)
    assert len(found) == 40
    assert set(Counter(region[name] for name in found).values()) == {2}

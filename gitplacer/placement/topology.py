"""
Which clusters get copies that have to be spread over domains: regions, providers, or the values of any cluster label.

Taken one by one, best first, copies could paint themselves into a corner: the best two clusters are in one region, and two regions
are wanted. So clusters are chosen together: of all sets that keep every rule one of the largest, and of these the one that comes
first when clusters are compared best first. What runs already stays and counts. Rules bind what is added: a spread that became
uneven is mended by adding, never by taking away.

For one label that is exact, and fast: before a cluster is taken, a count tells whether the rest can still be completed. For
several labels the count is asked for each, and what it cannot see is searched, within a bound of steps; beyond the bound fewer copies
may be placed than could be, never uneven ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from gitplacer.kinds.spread import TopologySpread

_STEPS = 20_000
"""Counts that one search of sets of one size may take."""

Domains = Mapping[str, str]
"""By cluster, its value of one label; a cluster that has none is not there."""


class Rule(Struct, frozen=True):
    """
    One label and what is asked of it: `domains` tells the domain of every cluster that has the label, and `counted` names those that
    count for the skew even if they get nothing.
    """

    spread: TopologySpread
    domains: Domains
    counted: frozenset[str]

    def counts(self, clusters: Collection[str]) -> dict[str, int]:
        """How many of some clusters are in each domain: of all that count, and of those that they are in."""
        found = Counter(self.domains[name] for name in clusters if name in self.domains)
        return {domain: found[domain] for domain in sorted(self.counted | found.keys())}

    def holds(self, kept: Collection[str], added: Collection[str], wanted: int) -> bool:
        """
        Whether copies may be added to some clusters beside those that are kept, where `wanted` are missing. Only domains to which
        a copy comes are held to the skew. Where something runs already, few domains are enough as long as copies are left for more.
        """
        if any(name not in self.domains for name in added):
            return False
        before, after = self.counts(kept), self.counts({*kept, *added})
        if self.spread.max_skew is not None and after:
            least = min(after.values())
            if any(n > before.get(d, 0) and n - least > self.spread.max_skew for d, n in after.items()):
                return False
        has, had = sum(n > 0 for n in after.values()), sum(n > 0 for n in before.values())
        if self.spread.max_domains is not None and has > max(self.spread.max_domains, had):
            return False
        left = wanted - len(added) if kept else 0
        return has + left >= (self.spread.min_domains or 0)


def chosen(rules: Sequence[Rule], ranked: Sequence[str], *, kept: Collection[str], wanted: int) -> tuple[str, ...]:
    """
    Up to `wanted` of some clusters, given best first, for copies beside those that are kept: a largest set that keeps the rules, and of these
    the first. Empty if no cluster may be added.
    """
    ranked = [name for name in ranked if name not in kept and all(name in rule.domains for rule in rules)]
    search = _Search(rules, ranked, kept, wanted)
    for size in range(min(wanted, len(ranked)), 0, -1):
        found = search.first(size)
        if found is not None:
            return found
    return ()


class _Search:
    """The sets of one size after another. Clusters that are in the same domain by every rule are alike but for their rank."""

    def __init__(self, rules: Sequence[Rule], ranked: Sequence[str], kept: Collection[str], wanted: int) -> None:
        self._rules, self._ranked, self._kept, self._wanted = rules, ranked, kept, wanted
        self._kinds = [tuple(rule.domains[name] for rule in rules) for name in ranked]
        self._has = [rule.counts(kept) for rule in rules]
        self._steps = 0

    def first(self, size: int) -> tuple[str, ...] | None:
        """The first set of so many that keeps the rules; None if there is none, or the search ran out of steps."""
        self._steps = 0
        left = Counter(self._kinds)
        if not self._may_be_completed(Counter(), left, size):
            return None
        return self._from(0, (), Counter(), left, size)

    def _from(
        self, index: int, taken: tuple[str, ...], kinds: Counter[tuple[str, ...]], left: Counter[tuple[str, ...]], size: int
    ) -> tuple[str, ...] | None:  # fmt: skip
        """The same, where some are taken and none of the clusters before an index is to be had any more."""
        while len(taken) < size:
            if index >= len(self._ranked) or self._steps > _STEPS:
                return None
            kind, name = self._kinds[index], self._ranked[index]
            index += 1
            if not left[kind]:
                continue  # one of its like was left out that is better
            with_it, fewer = kinds + Counter([kind]), left - Counter([kind])
            if self._may_be_completed(with_it, fewer, size):
                found = self._from(index, (*taken, name), with_it, fewer, size)
                if found is not None or len(self._rules) == 1:
                    return found
            left = Counter({other: n for other, n in left.items() if other != kind})
            if not self._may_be_completed(kinds, left, size):
                return None
        return taken

    def _may_be_completed(self, kinds: Counter[tuple[str, ...]], left: Counter[tuple[str, ...]], size: int) -> bool:
        """Whether no rule by itself forbids to take what is missing of a size from what is left. With one rule: whether it can be done."""
        self._steps += 1
        return all(
            self._one_may_be(rule, has, _by_domain(kinds, number), _by_domain(left, number), size)
            for number, (rule, has) in enumerate(zip(self._rules, self._has, strict=True))
        )

    def _one_may_be(
        self, rule: Rule, has: Mapping[str, int], taken: Mapping[str, int], left: Mapping[str, int], size: int
    ) -> bool:
        """
        Whether `size` copies can be added under one rule: in each domain at least those that are taken, and at most as many more as
        are left. Every level is tried that the domain with the fewest may come to.
        """
        domains = sorted(has.keys() | taken.keys() | left.keys())
        most = rule.spread.max_skew
        full = {d: has.get(d, 0) + taken.get(d, 0) + left.get(d, 0) for d in domains}
        levels = range(min(full.values(), default=0), -1, -1) if most is not None else (0,)
        for level in levels:
            low = {d: max(taken.get(d, 0), level - has.get(d, 0)) for d in domains}
            high = {
                d: full[d] - has.get(d, 0)
                if most is None
                else min(full[d] - has.get(d, 0), level + most - has.get(d, 0))
                for d in domains
            }
            high = {d: max(0, number) for d, number in high.items()}
            if all(low[d] <= high[d] for d in domains) and self._in_domains(rule, has, low, high, size):
                return True
        return False

    def _in_domains(
        self, rule: Rule, has: Mapping[str, int], low: Mapping[str, int], high: Mapping[str, int], size: int
    ) -> bool:
        """Whether `size` copies can be added between bounds so that enough domains have some, and not too many."""
        spread = rule.spread
        opened = [d for d in low if has.get(d, 0) or low[d]]
        others = sorted((high[d] for d in low if d not in opened and high[d]), reverse=True)
        had = sum(1 for number in has.values() if number)
        at_most = len(low) if spread.max_domains is None else max(spread.max_domains, had)
        spare = self._wanted - size if self._kept else 0
        at_least = (spread.min_domains or 0) - spare
        fewest, most = sum(low.values()), sum(high[d] for d in opened)
        for more in range(len(others) + 1):
            if at_least <= len(opened) + more <= at_most and fewest + more <= size <= most + sum(others[:more]):
                return True
        return False


def _by_domain(kinds: Counter[tuple[str, ...]], number: int) -> dict[str, int]:
    """How many clusters are in each domain of one rule."""
    found: dict[str, int] = {}
    for kind, count in kinds.items():
        found[kind[number]] = found.get(kind[number], 0) + count
    return found

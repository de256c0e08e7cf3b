"""
What became of copies that are to be spread, group by group: which clusters were passed over for the sake of the spread, and why some
wait though there is room. `topology` says which clusters get a copy; this remembers what there is to tell of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.placement.onepass import Pass
from gitplacer.placement.topology import Rule, chosen


class _Picked(Struct, frozen=True):
    """One choice: from which clusters, best first, beside which, and what was chosen."""

    rules: Sequence[Rule]
    ranked: Sequence[str]
    kept: frozenset[str]
    wanted: int
    chosen: tuple[str, ...]

    @property
    def counts(self) -> str:
        """What each domain has of the copies then: `topology.kubernetes.io/region: eu 1, us 2`."""
        return _told(self.rules, {*self.kept, *self.chosen})


class Spreading:
    """The choices for groups whose copies are spread, in one round."""

    def __init__(self, shared: Pass) -> None:
        self._pass = shared
        self._picked: dict[str, _Picked] = {}

    def pick(
        self, group: Group, rules: Sequence[Rule], ranked: Sequence[str], *, kept: Collection[str], wanted: int
    ) -> tuple[str, ...]:
        """Of some clusters, best first, those that get a copy. The last choice for a group is the one that is told."""
        best = chosen(rules, ranked, kept=kept, wanted=wanted)
        self._picked[group.id] = _Picked(rules, tuple(ranked), frozenset(kept), wanted, best)
        return best

    def first(
        self, group: Group, policy: PlacementPolicy, ranked: Sequence[str], *, kept: Collection[str], wanted: int
    ) -> list[str]:
        """So many of some clusters, best first; of a group whose copies are spread those that keep its rules."""
        rules = self._pass.spread_rules(group, policy)
        return list(self.pick(group, rules, ranked, kept=kept, wanted=wanted) if rules else ranked[: max(0, wanted)])

    def passed_over(self, group: Group, name: str) -> Finding | None:
        """Why a cluster that has room got no copy: one that is not liked as much got it, or some wait."""
        picked = self._picked.get(group.id)
        if picked is None or name not in picked.ranked or name in picked.chosen:
            return None
        behind = picked.ranked[picked.ranked.index(name) :]
        if len(picked.chosen) == picked.wanted and not any(other in picked.chosen for other in behind):
            return None
        placed = bool(picked.kept or picked.chosen)
        return Finding(code=Reason.COPIES_SPREAD, subject=picked.counts if placed else "")

    def waits(self, group: Group) -> Finding | None:
        """Why copies of a group wait though clusters have room; None if they do not, or for want of room."""
        picked = self._picked.get(group.id)
        if picked is None or len(picked.chosen) == picked.wanted or set(picked.ranked) == set(picked.chosen):
            return None
        if picked.kept or picked.chosen:
            return Finding(code=Reason.SPREAD_WAITS, subject=picked.counts)
        has, rule = _fewest(picked.rules, picked.ranked)
        return Finding(
            code=Reason.TOO_FEW_DOMAINS,
            subject=_told([rule], picked.ranked),
            placed=has,
            wanted=rule.spread.min_domains or 0,
        )

    def would_do(self, group: Group, name: str) -> bool:
        """Whether copies of a group could be placed if a cluster had room, too; always so for one whose copies are not spread."""
        picked = self._picked.get(group.id)
        if picked is None:
            return True
        others = [other for other in picked.ranked if other != name]
        return name in chosen(picked.rules, [name, *others], kept=picked.kept, wanted=picked.wanted)


def _fewest(rules: Sequence[Rule], ranked: Sequence[str]) -> tuple[int, Rule]:
    """Of the rules the one that lacks most domains, and in how many some clusters are."""
    found = [(len({rule.domains[n] for n in ranked if n in rule.domains}), rule) for rule in rules]
    return min(found, key=lambda one: one[0] - (one[1].spread.min_domains or 0))


def _told(rules: Sequence[Rule], clusters: Collection[str]) -> str:
    """How many of some clusters are in each domain, label by label."""
    return "; ".join(
        f"{rule.spread.topology_key}: {', '.join(f'{d} {n}' for d, n in rule.counts(clusters).items())}"
        for rule in rules
    )

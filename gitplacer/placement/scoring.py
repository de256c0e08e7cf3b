"""
What clusters score under policies that weigh scores.

A named score is read from its ClusterScores as long as that is valid; a cluster without a number counts as 0. The other terms are facts
of the snapshots that do not change as pods come and go: what all nodes of a cluster offer, and what its autoscaler may still add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec.structs import replace

from gitplacer.kinds.policy import PlacementPolicy, PlacementSettings
from gitplacer.kinds.scores import HIGHEST, ClusterScores, ScoreTerm
from gitplacer.model.decision import Finding, Score, Weighed
from gitplacer.policies import BY_SCORE
from gitplacer.policies.scored import total


class Scoring:
    """
    The scores of all clusters. `offered` tells what each cluster that runs workloads offers of every resource; it is asked when a
    policy weighs that, and once.
    """

    def __init__(
        self,
        scores: Mapping[str, ClusterScores],
        now: datetime,
        offered: Callable[[], Mapping[str, Mapping[str, float]]],
    ) -> None:
        self._named = {name: item.spec.scores for name, item in scores.items() if holds(item, now)}
        self._offered = offered
        self._in_proportion: dict[str, Mapping[str, int]] = {}

    def of(self, policy: PlacementPolicy, cluster: str) -> Score | None:
        """What a cluster scores, term by term; None under a policy that weighs nothing."""
        settings = policy.spec.placement
        if settings.type not in BY_SCORE:
            return None
        terms = tuple(Weighed(term.title, term.weight, self._value(term, cluster)) for term in settings.scores)
        return Score(self.total(settings, cluster), terms)

    def told(self, policy: PlacementPolicy, cluster: str, finding: Finding) -> Finding:
        """A finding about a cluster with what it scored, where that makes the order."""
        score = self.of(policy, cluster)
        return finding if score is None else replace(finding, score=score)

    def total(self, settings: PlacementSettings, cluster: str) -> int:
        """The weighted sum; 0 where nothing is weighed."""
        return total(settings, lambda term: self._value(term, cluster))

    def _value(self, term: ScoreTerm, cluster: str) -> int:
        if term.name is not None:
            return self._named.get(term.name, {}).get(cluster, 0)
        resource = term.allocatable or ""
        if resource not in self._in_proportion:
            amounts = {name: offered.get(resource, 0.0) for name, offered in self._offered().items()}
            self._in_proportion[resource] = in_proportion(amounts)
        return self._in_proportion[resource].get(cluster, 0)


def holds(scores: ClusterScores, now: datetime) -> bool:
    """Whether scores are valid."""
    return scores.spec.valid_until is None or now < scores.spec.valid_until


def in_proportion(amounts: Mapping[str, float]) -> dict[str, int]:
    """Amounts as scores: the largest 100, the smallest -100, the others between; all 0 where they are equal."""
    low, high = min(amounts.values(), default=0.0), max(amounts.values(), default=0.0)
    if low == high:
        return dict.fromkeys(amounts, 0)
    return {name: round(2 * HIGHEST * (amount - low) / (high - low)) - HIGHEST for name, amount in amounts.items()}

"""Examples of scores, and of copies that are spread."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import POLICY, SELECT, policy

_SCORES = "apiVersion: gitplacer.dev/v1alpha1\nkind: ClusterScores\nmetadata:\n  name: carbon\nspec:\n  scores: {}\n"


def _scored(name: str, scores: str) -> Example:
    """A policy that weighs scores, and a ClusterScores."""
    weighing = f"{SELECT}  placement:\n    type: Scored\n    scores: [{{name: {name}}}]\n"
    return Example(
        (("policies/general.yaml", POLICY.format("general", weighing)), ("scores/carbon.yaml", _SCORES.format(scores)))
    )


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "ScoresMissing": (_scored("carbn", "{my-cluster: 20}"),),
    "ScoresExpired": (_scored("carbon", '{my-cluster: 20}\n  validUntil: "2026-01-01T00:00:00Z"'),),
    "ScoredClusterMissing": (_scored("carbon", "{my-cluster: 20, my-clutser: 30}"),),
    "ClusterNotScored": (_scored("carbon", "{}"),),
    "TopologyKeyMissing": (
        policy(
            f"{SELECT}  placement:\n    copies: 2\n    topologySpread:\n"
            "    - {topologyKey: topology.kubernetes.io/regoin, minDomains: 2}\n"
        ),
    ),
    "DomainsMissing": (
        policy(
            f"{SELECT}  placement:\n    copies: 2\n    topologySpread:\n"
            "    - {topologyKey: kubernetes.io/metadata.name, minDomains: 2}\n"
        ),
    ),
}

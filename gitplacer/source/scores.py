"""
What is wrong with the scores that policies weigh: names that there are not, clusters without a number, and numbers that hold no more.

All of it is a warning. A score only orders clusters, and one that is missing counts as 0; whoever measures may be late, and nothing
waits for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from gitplacer.documents import Document, Path
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.scores import ClusterScores
from gitplacer.plaintext import few
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem, nearest


class ScoresFile(Struct, frozen=True, eq=False):
    """A ClusterScores and where it is written."""

    scores: ClusterScores
    document: Document


def unknown_scores(
    policy: PlacementPolicy, document: Document, names: Collection[str], *, but: Collection[str]
) -> Iterator[Problem]:
    """Warnings about names of scores that there are not, `but` those of which something else is wrong."""
    for index, term in enumerate(policy.spec.placement.scores):
        if term.name is not None and term.name not in names and term.name not in but:
            message = f"policy {policy.name} weighs scores {term.name}, and there is no ClusterScores of that name"
            yield document.problem(
                "ScoresMissing", message, nearest(term.name, names), path=("spec", "placement", "scores", index, "name"),
                severity=CODES["ScoresMissing"].severity,
            )  # fmt: skip


def score_problems(
    scores: Mapping[str, ScoresFile],
    policies: Iterable[PlacementPolicy],
    clusters: Mapping[str, Cluster],
    now: datetime,
) -> Iterator[Problem]:
    """Warnings about the ClusterScores of a source; of the policies those are looked at that weigh them."""
    weighing: dict[str, list[PlacementPolicy]] = {}
    for policy in policies:
        for term in policy.spec.placement.scores:
            weighing.setdefault(term.name or "", []).append(policy)
    for name, item in scores.items():
        yield from _of_file(item, weighing.get(name, []), clusters, now)


def _of_file(
    item: ScoresFile, policies: list[PlacementPolicy], clusters: Mapping[str, Cluster], now: datetime
) -> Iterator[Problem]:
    scores, path = item.scores, ("spec", "scores")
    until = scores.spec.valid_until
    if until is not None and not now < until and policies:
        message = (
            f"scores {scores.name} were valid until {until:%Y-%m-%dT%H:%M:%SZ}; every cluster counts as 0 in them"
            f" for {few(sorted(policy.name for policy in policies))}"
        )
        yield _warning(
            item, "ScoresExpired", message, "write new ones, with a later validUntil", ("spec", "validUntil")
        )
    for name in sorted(scores.spec.scores.keys() - clusters.keys()):
        message = f"scores {scores.name} have a number for cluster {name}, and there is none of that name"
        yield _warning(item, "ScoredClusterMissing", message, nearest(name, clusters), (*path, name))
    missing = sorted(_missing(scores, policies, clusters))
    if missing:
        message = f"scores {scores.name} have no number for {few(missing)}, which a policy that weighs them allows: counted as 0"
        yield _warning(item, "ClusterNotScored", message, "give each cluster a number from -100 to 100", path)


def _missing(scores: ClusterScores, policies: list[PlacementPolicy], clusters: Mapping[str, Cluster]) -> Iterator[str]:
    for name in clusters.keys() - scores.spec.scores.keys():
        cluster = clusters[name]
        if cluster.spec.role == "Workload" and any(p.spec.clusters.unmet(cluster.labels()) is None for p in policies):
            yield name


def _warning(item: ScoresFile, code: str, message: str, hint: str, path: Path) -> Problem:
    return item.document.problem(code, message, hint, path=path, key=True, severity=CODES[code].severity)

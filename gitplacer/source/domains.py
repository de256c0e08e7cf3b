"""
What is wrong with a policy's spread that the clusters of the source tell: a label that none has, or too few values of it.

It is a warning, because the cluster that brings another region may be on its way; what the policy governs waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitplacer.documents import Document
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.plaintext import counted, few
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem, nearest


def spread_problems(policy: PlacementPolicy, document: Document, clusters: Sequence[Cluster]) -> Iterator[Problem]:
    """Warnings about the `topologySpread` of a policy, in its order."""
    if not policy.spec.placement.topology_spread:
        return
    working = [cluster for cluster in clusters if cluster.spec.role == "Workload"]
    allowed = [cluster for cluster in working if policy.spec.clusters.unmet(cluster.labels()) is None]
    for index, spread in enumerate(policy.spec.placement.topology_spread):
        key, least = spread.topology_key, spread.min_domains or 0
        at = ("spec", "placement", "topologySpread", index)
        known = {label for cluster in working for label in cluster.labels()}
        if working and key not in known:
            message = f"policy {policy.name} spreads copies over {key}, and no Workload cluster has that label"
            yield document.problem(
                "TopologyKeyMissing", message, nearest(key, known), path=(*at, "topologyKey"),
                severity=CODES["TopologyKeyMissing"].severity,
            )  # fmt: skip
            continue
        values = sorted({cluster.labels()[key] for cluster in allowed if key in cluster.labels()})
        if working and len(values) < least:
            there = f"there {'is' if len(values) == 1 else 'are'} {len(values)}" + (
                f": {few(values)}" if values else ""
            )
            message = f"policy {policy.name} wants copies in {counted(least, 'domain')} of {key}, and among the clusters that it allows {there}"
            yield document.problem(
                "DomainsMissing", message, "lower minDomains, allow more clusters, or correct their labels", path=(*at, "minDomains"),
                severity=CODES["DomainsMissing"].severity,
            )  # fmt: skip

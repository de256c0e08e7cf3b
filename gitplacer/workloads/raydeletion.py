"""
What is deleted of a Ray job that is done, as KubeRay reads it: nothing, unless the job says so.

It may say so by `shutdownAfterJobFinishes`, by `deletionRules`, or in the old way by `onSuccess` and `onFailure`. Only where the Ray cluster
goes whatever comes of the job is its room free for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gitplacer.documents import Cursor

RELEASING = ("DeleteCluster", "DeleteSelf")
"""The policies by which the Ray cluster goes."""
LEGACY = {"onSuccess": "succeeded", "onFailure": "failed"}
"""The old fields, each with the outcome that it is about."""


class Deletion(NamedTuple):
    """What is done after one outcome of a job, `succeeded` or `failed`, and how many seconds later."""

    outcome: str
    policy: str
    seconds: int


def strategy_of(job: Cursor, *, v1: bool) -> Cursor | None:
    """The deletion strategy of a Ray job spec; None where it has none, or is of a version that knows none."""
    return job.mapping("deletionStrategy") if v1 and job.has("deletionStrategy") else None


def deletions(strategy: Cursor) -> Iterator[Deletion]:
    """All that a strategy says. A rule that waits for both statuses, which KubeRay refuses, is taken at its first."""
    for rule in strategy.items("deletionRules"):
        condition = rule.mapping("condition")
        told = rule.text("policy"), max(condition.integer("ttlSeconds", 0) or 0, 0)
        if condition.text("jobStatus") == "SUCCEEDED":
            yield Deletion("succeeded", *told)
        elif condition.text("jobStatus") == "FAILED" or condition.text("jobDeploymentStatus") == "Failed":
            yield Deletion("failed", *told)
    for key, outcome in LEGACY.items():
        if strategy.has(key):
            yield Deletion(outcome, strategy.mapping(key).text("policy"), 0)


def seconds_kept(job: Cursor, *, v1: bool) -> int | None:
    """How long the Ray cluster of a job's own stays when the job is done, whatever came of it; None where it may stay for ever."""
    if job.boolean("shutdownAfterJobFinishes"):
        return max(job.integer("ttlSecondsAfterFinished") or 0, 0)
    strategy = strategy_of(job, v1=v1)
    waits: dict[str, int] = {}
    for outcome, policy, seconds in deletions(strategy) if strategy is not None else ():
        if policy in RELEASING:
            waits[outcome] = min(seconds, waits.get(outcome, seconds))
    return max(waits.values()) if len(waits) == len(LEGACY) else None

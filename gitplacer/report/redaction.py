"""
A page that may be shown to strangers: who is where and why stays; nodes, amounts, prices and sentences go.

What a sentence says was counted on nodes, so a reason remains as its code alone, which has a page in the docs.
"""

from __future__ import annotations

from msgspec.structs import replace

from gitplacer.model.resources import NOTHING
from gitplacer.report.facts import ClusterFacts, Event, FleetFacts, GroupFacts, Pods, Sighting, Verdict


def redacted(facts: FleetFacts) -> FleetFacts:
    """The same fleet without its nodes and numbers."""
    return replace(
        facts,
        redacted=True,
        clusters=tuple(_cluster(cluster) for cluster in facts.clusters),
        groups=tuple(_group(group) for group in facts.groups),
        history=replace(facts.history, events=tuple(_event(event) for event in facts.history.events)),
        problems=tuple(replace(problem, message=problem.code, hint="") for problem in facts.problems),
    )


def _cluster(cluster: ClusterFacts) -> ClusterFacts:
    return replace(cluster, labels={}, offered=NOTHING, foreign=NOTHING, free=NOTHING, nodes=())


def _group(group: GroupFacts) -> GroupFacts:
    return replace(
        group,
        sentence="",
        cost="",
        blocked_by=(),
        pods=tuple(Pods(pods.role, pods.count, NOTHING) for pods in group.pods),
        verdicts=tuple(Verdict(v.cluster, v.verdict, v.code, "") for v in group.verdicts),
        seen=tuple(Sighting(seen.cluster, seen.phase, seen.ready) for seen in group.seen),
    )


def _event(event: Event) -> Event:
    """What a person wrote in a commit message is nobody else's business either."""
    return replace(event, subject=event.subject if event.group else "", why="")

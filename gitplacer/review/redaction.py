"""
A plan for people who may read a pull request, and not the fleet.

What is left is about the groups that the change decides, in codes and in words that carry no number: no node, no amount, no
price, no group of others, no message that was made from a snapshot. It is safe by construction: a finding is made anew from its
code, and keeps of its subject only what is a name of a cluster, a code or a time. Whoever adds a reason need not think of this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from msgspec import structs

from gitplacer.explain import PlanView
from gitplacer.model.decision import Candidate, Decision, Finding, NewNodes, Reason
from gitplacer.placement.plan import Plan
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem

_SUBJECT_IS_SAFE = frozenset({
    Reason.KEPT, Reason.CLUSTER_DRAINING, Reason.CLUSTER_LOST, Reason.COPY_NOT_WANTED, Reason.CLUSTER_WAKING,
    Reason.CLUSTER_AWAKE, Reason.MOVING, Reason.NOWHERE_TO_GO, Reason.MAY_HAVE_STARTED, Reason.NEVER_RELOCATED,
    Reason.AWAITS_APPROVAL, Reason.COOLING_DOWN, Reason.BACKING_OFF, Reason.GUARD_REACHED, Reason.FROZEN,
    Reason.NOT_READY_ELSEWHERE, Reason.TOO_MANY_REMOVALS, Reason.KUEUE_ADMITS, Reason.LEFT_TO_KUEUE,
})  # fmt: skip
"""Reasons whose subject is made of names of clusters, codes, times, and the group's own tenant."""

MACHINES = NewNodes("machines", 0)
"""Stands for machines that have to be added, without saying which and how many."""


def redacted_view(view: PlanView, decisions: Iterable[Decision], problems: Iterable[Problem]) -> PlanView:
    """The plan of these groups alone, and these problems."""
    kept = tuple(decisions)
    shown = {decision.group for decision in kept}
    prefix = "/workloads/"
    files = {
        cluster: tuple(p for p in paths if "/".join(p.partition(prefix)[2].split("/")[:2]) in shown)
        for cluster, paths in view.changed_files.items()
    }
    sleepers = (
        structs.replace(outcome, groups=tuple(g for g in outcome.groups if g in shown)) for outcome in view.sleepers
    )
    return structs.replace(
        view,
        plan=Plan(kept),
        snapshot=replace(view.snapshot, problems=tuple(map(redacted_problem, problems))),
        changed_files={cluster: paths for cluster, paths in files.items() if paths},
        sleepers=tuple(outcome for outcome in sleepers if outcome.groups),
    )


def redacted_decision(decision: Decision, shown: Collection[str]) -> Decision:
    """A decision without what is known of clusters and of groups that are not shown."""
    claim = decision.claim
    if claim is not None:
        claim = structs.replace(claim, displaced=tuple(group for group in claim.displaced if group in shown))
    return structs.replace(
        decision,
        finding=redacted_finding(decision.finding),
        reasons=_redacted(decision.reasons),
        refused=_redacted(decision.refused),
        besides=_redacted(decision.besides),
        candidates=tuple(map(_redacted_candidate, decision.candidates)),
        blocked_by=tuple(group for group in decision.blocked_by if group in shown),
        claim=claim,
    )


def _redacted(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    return {name: redacted_finding(finding) for name, finding in findings.items()}


def _redacted_candidate(candidate: Candidate) -> Candidate:
    more = redacted_finding(candidate.more) if candidate.more is not None else None
    return structs.replace(candidate, finding=redacted_finding(candidate.finding), more=more)


def redacted_finding(finding: Finding) -> Finding:
    """A finding that says no more than its code, and of which clusters it speaks."""
    subject = finding.subject if finding.code in _SUBJECT_IS_SAFE else ""
    if finding.code is Reason.NOT_ELIGIBLE:
        subject = finding.subject.partition(":")[0]
    return Finding(code=finding.code, subject=subject, new_nodes=(MACHINES,) if finding.new_nodes else ())


def redacted_problem(problem: Problem) -> Problem:
    """A problem by its place and the title of its code: a message may have numbers of a snapshot in it."""
    return structs.replace(
        problem, message=CODES[problem.code].title if problem.code in CODES else problem.code, hint=""
    )

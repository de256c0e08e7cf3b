"""
The plan as JSON: the document other programs rely on.

`formatVersion` counts: a minor step adds keys, a major one changes what is there. Groups and candidates are sorted by
name. Where a fleet has so many clusters that a document with all verdicts would be huge, each group lists the nearest
ones and counts all; `json_lines` has them all, a group on a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gitplacer.accounts import Account
from gitplacer.explain import (
    PlanView,
    amendment_text,
    finding_text,
    rfc3339,
    shortlist,
    verdict_counts,
    verdict_text,
    why,
)
from gitplacer.formats.options import Options
from gitplacer.formats.reviewwords import link, place_text, verdict_line
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.decision import Candidate, Decision
from gitplacer.model.quantity import render
from gitplacer.model.remedy import Amendment, Remedy, Way
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, total_requests
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.plaintext import UNSEEN
from gitplacer.problems import Problem
from gitplacer.review import Headroom, Review, Row

FORMAT_VERSION = "1.2"


def plan_json(view: PlanView, options: Options, review: Review | None = None) -> str:
    """The document of `plan_document`, indented by two."""
    return to_json(plan_document(view, review, link_base=options.link_base), indent=2)


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON that any terminal and any UTF-8 file can take: what cannot be seen is escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return UNSEEN.sub(lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text) + "\n"


def plan_document(view: PlanView, review: Review | None = None, *, link_base: str = "") -> dict[str, Any]:
    """The plan as values that JSON can hold. Without a review there is nothing to compare with."""
    told = review or Review(view)
    view = told.view
    groups = [_group(d, shortlist(d.candidates), told, link_base) for d in view.plan.decisions]
    head = _head(told)
    last = {key: head.pop(key) for key in ("fleet", "clusters", "problems")}
    return {**head, "groups": groups, **last}


def json_lines(view: PlanView, review: Review | None = None, *, link_base: str = "") -> Iterator[str]:
    """Every candidate of every group: a line with the document's other keys, then one line for each group."""
    told = review or Review(view)
    yield to_json(_head(told))
    for decision in told.view.plan.decisions:
        yield to_json(_group(decision, decision.candidates, told, link_base))


def group_value(decision: Decision, view: PlanView) -> dict[str, Any]:
    """One group of the plan, with every candidate."""
    return _group(decision, decision.candidates, Review(view), "")


def inputs_value(view: PlanView) -> dict[str, Any]:
    """What was read, and when."""
    return {
        "source": {"commit": view.source_commit},
        "capacity": {"tree": view.capacity_tree},
        "deployment": {"commit": view.deployment_commit},
        "now": rfc3339(view.snapshot.now),
        "version": view.version,
    }


def problem_value(problem: Problem) -> dict[str, Any]:
    """One problem."""
    return {
        "severity": str(problem.severity),
        "code": problem.code,
        "file": problem.location.file,
        "line": problem.location.line,
        "column": problem.location.column,
        "message": problem.message,
        "hint": problem.hint,
    }


def _head(review: Review) -> dict[str, Any]:
    view = review.view
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "formatVersion": FORMAT_VERSION,
        "inputs": inputs_value(view),
        "summary": {str(action): count for action, count in view.plan.counts().items()},
        "review": _review(review),
        "fleet": [_account(account) for account in review.accounts or ()],
        "clusters": [_sleeper(outcome) for outcome in view.sleepers],
        "problems": [problem_value(problem) for problem in view.snapshot.problems],
    }


def _review(review: Review) -> dict[str, Any]:
    """Whether the change may be merged, and why not at once."""
    base = review.base
    return {
        "verdict": verdict_line(review),
        "check": str(review.check),
        "redacted": review.is_redacted,
        "base": {"name": base.name, "commit": base.commit} if base is not None else None,
        "concerns": [
            {"concern": str(each.worry), "count": each.count, "names": list(each.names)} for each in review.concerns
        ],
        "remedies": [{"group": name, **remedy_value(found)} for name, found in sorted(review.remedies.items())],
    }


def remedy_value(remedy: Remedy) -> dict[str, Any]:
    """What would place a group."""
    return {"ways": [_way(way) for way in remedy.ways], "trials": remedy.trials, "complete": remedy.complete}


def _way(way: Way) -> dict[str, Any]:
    return {
        "changes": [_change(amendment) for amendment in way.amendments],
        "to": list(way.clusters),
        "reason": {"code": str(way.finding.code), "message": finding_text(way.finding)},
    }


def _change(amendment: Amendment) -> dict[str, Any]:
    where = amendment.place
    return {
        "kind": str(amendment.kind),
        "subject": amendment.subject,
        "item": amendment.item,
        "amount": amendment.amount,
        "before": amendment.before,
        "after": amendment.after,
        "file": where.file if where is not None else None,
        "line": where.line if where is not None else None,
        "field": amendment.field or None,
        "resources": amendment.resources.rendered(),
        "pricePerHour": None if amendment.price is None else f"{amendment.price:.2f}",
        "message": amendment_text(amendment),
    }


def _account(account: Account) -> dict[str, Any]:
    """A cluster: what it is, what it offers, and what is free before and after the pass."""
    cluster, snapshot = account.cluster, account.snapshot
    return {
        "cluster": cluster.name,
        "role": cluster.spec.role,
        "state": cluster.spec.state,
        "silentSince": rfc3339(account.silent_since) if account.silent_since is not None else None,
        "labels": dict(sorted(cluster.labels().items())),
        "snapshot": str(account.freshness),
        "observedAt": rfc3339(snapshot.observed_at) if snapshot is not None else None,
        "nodes": account.nodes(),
        "allocatable": account.offered.rendered(),
        "free": {"before": account.free_before.rendered(), "after": account.free_after.rendered()},
        "groups": {"before": list(account.before), "after": list(account.after)},
    }


def _sleeper(outcome: ClusterOutcome) -> dict[str, Any]:
    """A cluster that may sleep: its state so far, and after this pass."""
    before, after = outcome.before, outcome.after
    return {
        "cluster": outcome.cluster,
        "from": before.state if before is not None else None,
        "to": after.state,
        "since": rfc3339(after.since),
        "idleSince": rfc3339(after.idle_since) if after.idle_since is not None else None,
        "cloneOf": after.clone_of,
        "groups": list(outcome.groups),
    }


def _group(decision: Decision, candidates: Sequence[Candidate], review: Review, link_base: str) -> dict[str, Any]:
    view, row = review.view, review.row(decision)
    gang = view.gang(decision, view.main_cluster(decision))
    cost = decision.cost_per_hour
    group = view.group(decision)
    waking = {name for name in decision.after if group is not None and view.snapshot.defers(group, name)}
    return {
        "group": decision.group,
        "policy": decision.policy,
        "action": str(decision.action),
        "from": list(decision.files_before),
        "to": list(decision.files_after),
        "assignments": [
            {
                "cluster": name,
                "role": decision.role_on(name),
                "state": "Waking" if name in waking else decision.state(name),
                "pods": _role_counts(view.gang(decision, view.clusters.get(name))),
            }
            for name in decision.after
        ],
        "nominated": list(decision.dispatch.nominated) if decision.dispatch is not None else [],
        "members": [
            dict(zip(("apiVersion", "kind", "namespace", "name", "path"), member, strict=True))
            for member in view.members(decision)
        ],
        "pods": _pods(gang),
        "requests": total_requests(gang).rendered(),
        "reason": {"code": str(decision.finding.code), "message": why(decision, view)},
        "because": None if row.because is None else str(row.because),
        "downtime": str(row.downtime),
        "headroom": _headroom(row.headroom),
        "costPerHour": None if cost is None else f"{cost:.2f}",
        "costDifferencePerHour": _difference(row),
        "links": {
            key: (link(place, link_base) or place_text(place)) if place is not None else None
            for key, place in (("manifest", row.manifest), ("policy", row.policy))
        },
        "waitingSince": rfc3339(decision.waiting_since) if decision.waiting_since else None,
        "blockedBy": list(decision.blocked_by),
        "candidates": [_candidate(candidate, decision, view) for candidate in candidates],
        "verdicts": verdict_counts(decision.candidates),
    }


def _headroom(room: Headroom | None) -> dict[str, Any] | None:
    if room is None:
        return None
    name = room.resource
    amounts = {"free": room.free, "of": room.offered, "onOneNode": room.largest}
    return {"cluster": room.cluster, "resource": name, **{key: render(name, value) for key, value in amounts.items()}}


def _difference(row: Row) -> str | None:
    """Without a sign for nothing: there is no -0.00."""
    return None if row.cost is None else f"{round(row.cost, 2) or 0.0:.2f}"


def _candidate(candidate: Candidate, decision: Decision, view: PlanView) -> dict[str, Any]:
    message = verdict_text(candidate, decision, view)
    return {
        "cluster": candidate.cluster,
        "verdict": str(candidate.verdict),
        "reason": {"code": str(candidate.finding.code), "message": message},
    }


def _role_counts(gang: Gang) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for pods in gang:
        counts[pods.role] = counts.get(pods.role, 0) + pods.count
    return [{"role": role, "count": count} for role, count in counts.items()]


def _pods(gang: Gang) -> list[dict[str, Any]]:
    """Pods of one role that ask for the same, together."""
    counts: dict[tuple[str, Resources], int] = {}
    for pods in gang:
        key = (pods.role, pods.shape.requests)
        counts[key] = counts.get(key, 0) + pods.count
    return [{"role": role, "count": n, "requests": each.rendered()} for (role, each), n in counts.items()]

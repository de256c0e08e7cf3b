"""Decisions as sentences: what happens to a group, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gitplacer.explain.findings import (
    FROM_CLUSTER,
    FROM_POLICY,
    FROM_TENANT,
    ROOM,
    finding_text,
    is_of_staying,
    limits_text,
    stays_text,
)
from gitplacer.explain.view import PlanView
from gitplacer.explain.words import LONGEST_SENTENCE, with_place
from gitplacer.model.counts import Part
from gitplacer.model.decision import (
    Action,
    Candidate,
    Decision,
    Finding,
    Phase,
    Reason,
    Verdict,
)
from gitplacer.plaintext import few, printable
from gitplacer.problems import Problem
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import consent_to

ALL_CANDIDATES = 50
"""Up to so many clusters, every one is listed for a group."""

NEAREST_CANDIDATES = 10
"""Beyond that, the chosen ones and so many of the others."""


def why(decision: Decision, view: PlanView) -> str:
    """The reason of a decision as a clause, not yet safe to print."""
    finding = decision.finding
    parts = []
    if finding not in decision.reasons.values():
        about = view.clusters.get(finding.subject.partition(":")[0]) if finding.code is Reason.NOT_ELIGIBLE else None
        named = finding.code is Reason.MAY_HAVE_STARTED and decision.blocked_by
        parts.append(stays_text(finding, few(decision.blocked_by)) if named else finding_text(finding, about))
    if finding.code is Reason.NO_ELIGIBLE_CLUSTER and not any(
        c.spec.role == "Workload" for c in view.clusters.values()
    ):
        parts.append("the source has no Workload cluster")
    parts += ["its files change where it is"] if decision.writes else []
    parts += _besides(decision, view)
    parts += _taken(decision)
    if decision.waits_in_part:
        told = (Reason.COPIES_WAIT, Reason.SPREAD_WAITS, Reason.SHARES_WAIT)
        parts += ["further copies wait for room"] if finding.code not in told else []
    parts += shares(decision, view) if finding.code is not Reason.KEPT else []
    return "; ".join(parts)


def shares(decision: Decision, view: PlanView) -> list[str]:
    """
    How many replicas of what each cluster has of a group that is divided, for each count that is: `Deployment shop/web: 4 on a,
    1 on b`; and where an override has the last word.
    """
    replicas: dict[Part, dict[str, int]] = {}
    for name, counts in sorted(decision.counts.items()):
        for part, count in counts:
            if count.replicas is not None:
                replicas.setdefault(part, {})[name] = count.replicas
    said = []
    for part, numbers in sorted(replicas.items()):
        overridden = view.overridden(decision, part)
        each = [
            f"{number} on {name}"
            if name not in overridden
            else f"{overridden[name]} on {name} by an override, not {number}"
            for name, number in numbers.items()
        ]
        role = "" if part.role == "pod" else f" {part.role.partition('/')[2]}"
        said.append(f"{part.object}{role}: {few(each, most=10)}")
    return said


def _besides(decision: Decision, view: PlanView) -> list[str]:
    """Why it leaves further clusters, then why it stays on others that it should leave, those with the same reason together."""
    leaves, stays = list[str](), dict[str, list[str]]()
    for name, finding in sorted(decision.besides.items()):
        if is_of_staying(finding):
            stays.setdefault(finding_text(finding), []).append(name)
        else:
            leaves.append(finding_text(finding, view.clusters.get(name)))
    return [*leaves, *(f"it stays on {few(names)}: {text}" for text, names in stays.items())]


def _taken(decision: Decision) -> list[str]:
    """
    Why each new cluster was taken, clusters with the same reason together. That more of what is divided fits where some is says nothing, and beside
    what waits there the contrary.
    """
    by_text: dict[str, list[str]] = {}
    grown = decision.before if decision.finding.code in (Reason.DIVIDED, Reason.SHARES_WAIT) else ()
    for name, finding in sorted(decision.reasons.items()):
        if finding.code is Reason.FITS and name in grown:
            continue
        by_text.setdefault(finding_text(finding), []).append(name)
    if len(by_text) == 1 and decision.action is Action.PLACE:
        return list(by_text)
    return [f"{few(names)}: {text}" for text, names in by_text.items()]


def movement(decision: Decision) -> str:
    """What happens, to be read after the group's name: `moves from a to b`."""
    gone, come = sorted(set(decision.before) - set(decision.after)), sorted(set(decision.after) - set(decision.before))
    kept = sorted(set(decision.before) & set(decision.after))
    if decision.phase is not None:
        return _step(decision)
    match decision.action:
        case Action.PLACE:
            return f"goes to {few(come)}{f' and leaves {few(gone)}' if gone else ''}"
        case Action.RELOCATE:
            return f"moves from {few(gone)} to {few(come)}"
        case Action.EXTEND if not come:
            return f"grows on {few(kept)}"
        case Action.EXTEND:
            return f"extends from {few(kept)} to {few(come)}"
        case Action.REMOVE if gone:
            return f"leaves {few(gone)}"
        case Action.REMOVE:
            return "is forgotten"
        case Action.PREEMPT:
            return f"leaves {few(gone)} and waits"
        case Action.UPDATE:
            return f"changes on {few(kept)}"
        case Action.HOLD:
            return f"is held on {few(kept)}" if kept else "is held and not placed"
        case Action.KEEP if kept:
            return f"stays on {few(kept)}"
    return "is not placed"


def _step(decision: Decision) -> str:
    """What a pass does of a relocation that takes several."""
    move = decision.move or decision.moving
    sources = move.sources if move is not None else tuple(sorted(set(decision.before) - set(decision.after)))
    targets = tuple(sorted(set(decision.after) - set(sources))) if move is None else move.targets
    gone, come = few(sources), few(targets)
    match decision.phase:
        case Phase.ADD:
            return f"comes to {come} before it leaves {gone}"
        case Phase.REMOVE:
            return f"leaves {gone}, now that it runs on {come}"
        case Phase.ABORT:
            return f"leaves {come}, where it did not become ready, and stays on {gone}"
        case Phase.LEAVE:
            return f"leaves {gone} before it comes to {come}"
    arrives = f"comes to {few(sorted(set(decision.files_after) - set(decision.files_before)))}"
    if move is not None and move.gone_at is None:  # nobody was asked, because what it leaves is lost
        return f"{arrives}, and may run on {gone} still"
    return f"{arrives}, now that it is gone from {gone}"


def sentence(decision: Decision, view: PlanView) -> str:
    """
    What happens to a group and why, on one safe line to be read after the group's name; it starts in lower case and
    has no full stop. The same with and without candidates.
    """
    said = movement(decision)
    because = "" if decision.action is Action.KEEP and decision.finding.code is Reason.KEPT else why(decision, view)
    return printable(f"{said}: {because}" if because else said, LONGEST_SENTENCE)


def refused_approvals(decisions: Iterable[Decision], snapshot: Snapshot) -> Iterator[Problem]:
    """The Approvals that send a group to a cluster which does not take it, with why not."""
    for decision in decisions:
        for name, finding in decision.refused.items():
            text = finding_text(finding, snapshot.source.own.clusters.get(name))
            record = snapshot.records.get(decision.group)
            used = record.approvals or () if record is not None else ()
            asked = (
                consent_to(snapshot.source.own.approvals, decision.group, action, snapshot.now, carried_out=used)
                for action in ("Move", "Return")
            )
            sends = [item for item in asked if item is not None and item.approval.spec.to in (None, name)]
            for item in [i for i in sends if i.approval.spec.to or i.approval.spec.action == "Return"][:1]:
                message = f"{decision.group} cannot go to {name}: {text}"
                hint = "it stays where it is; name another cluster, or take the Approval back"
                path = ("spec", "to") if item.approval.spec.to else ("spec", "groups")
                yield item.document.problem("ApprovalImpossible", printable(message, LONGEST_SENTENCE), hint, path=path)


def verdict_text(candidate: Candidate, decision: Decision, view: PlanView) -> str:
    """
    Why a cluster is what it is in a decision, with the place of the policy or cluster that says so; and why it has not more of a group that waits in part.
    """
    text = _said_of(candidate.cluster, candidate.finding, decision, view)
    if candidate.more is None:
        return text
    return f"{text}; one replica more: {_said_of(candidate.cluster, candidate.more, decision, view)}"


def _said_of(name: str, finding: Finding, decision: Decision, view: PlanView) -> str:
    cluster = view.clusters.get(name)
    text = finding_text(finding, cluster)
    group = view.snapshot.groups.get(decision.group)
    is_tenants = finding.code in FROM_TENANT or (finding.spending is not None and finding.spending.tenant)
    if is_tenants and group is not None and group.tenant is not None:
        return with_place(text, place(view, "Tenant", group.tenant.name))
    if finding.code in FROM_POLICY:
        return with_place(text, place(view, "PlacementPolicy", decision.policy))
    if finding.code is Reason.CLUSTER_LOST and finding.subject:  # it is the Fleet that says how long a silence means it
        return with_place(text, place(view, "Fleet", view.snapshot.source.own.fleet.metadata.name))
    if finding.code in FROM_CLUSTER:
        return with_place(text, place(view, "Cluster", name))
    policy = view.policy(decision)
    if finding.code in ROOM and finding.wanted and policy and cluster and cluster.spec.autoscaler:
        if policy.spec.placement.scale_up == "Never":
            return f"{text}; its policy counts on no added nodes"
        text = finding_text(replace(finding, limits=()), cluster)
        return "; ".join([f"{text}, counting all nodes that can be added", *limits_text(finding)])
    return text


def place(view: PlanView, kind: str, name: str) -> str:
    """Where an object of ours stands in the source, `file:line`; '' if it does not."""
    location = view.snapshot.source.own.places.get(f"{kind}/{name}")
    return f"{location.file}:{location.line}" if location else ""


def not_chosen(decision: Decision) -> list[Candidate]:
    """The clusters of which it is known why a group is not there."""
    return [candidate for candidate in decision.candidates if candidate.verdict is not Verdict.CHOSEN]


def unasked_text(decisions: Iterable[Decision], view: PlanView) -> str:
    """Who tells of groups that wait for clusters which nobody asked about them, since so many wait in so large a fleet; '' if there are none."""
    count = sum(d.action is Action.WAIT and not d.after and not d.candidates for d in decisions) if view.clusters else 0
    return f"of {count} more that wait, `gitplacer explain GROUP` tells what each cluster lacks" if count else ""


def cluster_count(decision: Decision) -> str:
    """
    `0 of 3 clusters fit`, for a group that found no cluster; '' without candidates, and where clusters would fit but copies cannot be spread.
    """
    if decision.finding.code is Reason.TOO_FEW_DOMAINS:
        return ""
    others = not_chosen(decision)
    if not others:
        return ""
    feasible = sum(c.verdict is Verdict.FEASIBLE for c in others)
    other = "other " if len(others) < len(decision.candidates) else ""
    return f"{feasible} of {len(others)} {other}cluster{'s' if len(others) != 1 else ''} fit"


def shortlist(candidates: Sequence[Candidate], most: int = ALL_CANDIDATES) -> tuple[Candidate, ...]:
    """All candidates up to `most`; beyond, the chosen and the nearest others. Sorted by cluster."""
    if len(candidates) <= most:
        return tuple(candidates)
    chosen = [c for c in candidates if c.verdict is Verdict.CHOSEN]
    others = sorted((c for c in candidates if c.verdict is not Verdict.CHOSEN), key=_distance)
    return tuple(sorted([*chosen, *others[:NEAREST_CANDIDATES]], key=lambda c: c.cluster))


_SEVERITY = {reason: rank for rank, reason in enumerate(Reason)}


def _distance(candidate: Candidate) -> tuple[int, float, int, str]:
    """How far a cluster was from taking the group: feasible, then those whose nodes were asked, by pods missing."""
    finding = candidate.finding
    if candidate.verdict is Verdict.FEASIBLE:
        return 0, 0.0, _SEVERITY[finding.code], candidate.cluster
    if finding.wanted:
        missing = (finding.wanted - finding.placed) / finding.wanted
        return 1, missing, _SEVERITY[finding.code], candidate.cluster
    return 2, 0.0, _SEVERITY[finding.code], candidate.cluster


def verdict_counts(candidates: Iterable[Candidate]) -> dict[str, int]:
    """How many clusters got which verdict, sorted: `Chosen`, `Feasible`, `Rejected/<code>`."""
    counted = Counter(
        f"{c.verdict}/{c.finding.code}" if c.verdict is Verdict.REJECTED else str(c.verdict) for c in candidates
    )
    return dict(sorted(counted.items()))

"""
Consent to one plan: which Approvals name the plan that there would be without them.

An Approval is a file of the source, so no digest of a whole plan could stand in it: that one names the commit, and the commit would hold
the Approval. What it names is smaller and lasts longer, the part of the plan that it would change: each group that it is about, what
becomes of it without that consent, and since when it is where it is. Other groups, other snapshots and other times do not
touch it. Whatever somebody did not see makes it another digest, and the consent lapses: a group more, another reason, a
group that has moved since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from gitplacer.kinds.approval import ApprovedAction
from gitplacer.model.decision import Action, Decision, Reason
from gitplacer.placement.holds import unreadable_sources
from gitplacer.plaintext import few
from gitplacer.problems import Problem, Severity
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import NEEDS_PLAN, Approvals, Consent, bound_to_plans, without_a_plan

_LETS: Mapping[ApprovedAction, frozenset[Reason]] = {
    "Move": frozenset({Reason.AWAITS_APPROVAL, Reason.GUARD_REACHED}),
    "Return": frozenset(),
    "Remove": frozenset({Reason.TOO_MANY_REMOVALS, Reason.REMOVAL_NEEDS_APPROVAL}),
    "Exceed": frozenset({Reason.GUARD_REACHED, Reason.FROZEN, Reason.TOO_MANY_REMOVALS}),
}
"""What an action does away with, of what holds groups."""


def agreed(snapshot: Snapshot, decisions: Sequence[Decision]) -> Snapshot | None:
    """
    The snapshot in which the Approvals for one plan count that name the plan of these decisions, with the problems of those that do
    not. `decisions` are made without any of them. None where there are none.
    """
    own = snapshot.source.own
    bound = bound_to_plans(own.approvals, snapshot.now)
    if not bound:
        return None
    concerned: dict[str, list[Decision]] = {item.identity: [] for item in bound}
    for decision in decisions:
        for item in own.approvals.about(decision.group):
            if item.identity in concerned and _changes(snapshot, item, decision):
                concerned[item.identity].append(decision)
    digests = {identity: _digest(snapshot, found) for identity, found in concerned.items()}
    judged = Approvals(
        tuple(
            structs.replace(item, is_to_this_plan=item.approval.spec.plan == digests.get(item.identity, ""))
            for item in own.approvals
        )
    )
    told = {p for item in bound for p in _problems(snapshot, item, concerned[item.identity], digests[item.identity])}
    known = {p for p in snapshot.problems if p.code != NEEDS_PLAN}  # here it is told with the digest
    source = structs.replace(snapshot.source, own=structs.replace(own, approvals=judged))
    return replace(snapshot, source=source, problems=tuple(sorted(known | told)))


def _changes(snapshot: Snapshot, item: Consent, decision: Decision) -> bool:
    """Whether an Approval would let something happen to a group that it names which does not happen without it."""
    action = item.approval.spec.action
    if item.approval.spec.to is not None or action == "Return":
        return bool(decision.before)
    if decision.finding.code in _LETS[action]:
        return True
    if action == "Move":
        return bool(decision.proposed)
    return action == "Remove" and (decision.moving is not None or bool(_gone(snapshot, decision.group)))


def _gone(snapshot: Snapshot, group: str) -> list[str]:
    """The objects of a group that are deployed and nowhere in the source. What only cannot be read is not gone."""
    record, there = snapshot.records.get(group), snapshot.source.identities
    members = record.members if record is not None and not unreadable_sources(snapshot, record) else ()
    return sorted(str(m.identity) for m in members if m.only != "Remote" and m.identity not in there)


def _digest(snapshot: Snapshot, concerned: Iterable[Decision]) -> str:
    """What becomes of some groups, in short: the same for two plans that do the same with them, where they have been all the while."""
    rows = []
    for d in concerned:
        record = snapshot.records.get(d.group)
        entries = [(entry.name, entry.state, entry.epoch) for entry in record.clusters] if record is not None else []
        why = (
            d.finding.code if d.action is Action.HOLD else ""
        )  # else it may be one that is only told where candidates are
        rows.append((d.group, d.action, why, d.after, d.proposed, entries, _gone(snapshot, d.group)))
    text = json.dumps(sorted(rows), separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _problems(snapshot: Snapshot, item: Consent, concerned: Sequence[Decision], digest: str) -> Iterator[Problem]:
    name, spec = item.approval.name, item.approval.spec
    if spec.plan == digest:
        return
    left = [d.group for d in concerned if not _is_done(snapshot, item, d.group)]
    if spec.plan is None:
        agree = f"it is about {few(left)} now; to agree to that, write `plan: {digest}`"
        yield without_a_plan(item, agree if left else "nothing waits for it; remove it")
    elif left:
        message = f"Approval {name} is for another plan than there is now, and does not count"
        hint = f"it is about {few(left)} now; look at the plan and, if you agree to it, write `plan: {digest}`"
        yield item.document.problem(
            "ApprovalForOtherPlan", message, hint, path=("spec", "plan"), severity=Severity.WARNING
        )


def _is_done(snapshot: Snapshot, item: Consent, group: str) -> bool:
    record = snapshot.records.get(group)
    return record is not None and item.identity in (record.approvals or ())

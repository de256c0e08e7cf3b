"""
`gitplacer explain --format json`: what there is to say about one group, as a document for programs.

It holds the group as the plan has it, with every cluster, and beside it what only an explanation tells: which policies match and
which govern, the record's story, the nodes that refuse, and what would place the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gitplacer.explain import PlanView, governance, place, problems_of, rfc3339
from gitplacer.formats.planjson import group_value, inputs_value, problem_value, remedy_value, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Decision
from gitplacer.model.remedy import Remedy
from gitplacer.placement.closeup import Closeup

FORMAT_VERSION = "1.0"


def explanation_json(
    view: PlanView,
    group_id: str,
    *,
    closeups: Mapping[str, Closeup] = MappingProxyType({}),
    remedy: Remedy | None = None,
) -> str:
    """The document of one group, indented by two. Raises NoSuchGroup."""
    return to_json(explanation_document(view, group_id, closeups=closeups, remedy=remedy), indent=2)


def explanation_document(
    view: PlanView, group_id: str, *, closeups: Mapping[str, Closeup], remedy: Remedy | None
) -> dict[str, Any]:
    """The document as values that JSON can hold. Raises NoSuchGroup."""
    decision = view.decision(group_id)
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        "formatVersion": FORMAT_VERSION,
        "inputs": inputs_value(view),
        "group": group_value(decision, view),
        "governance": _governance(decision, view),
        "record": _record(view.record(decision)),
        "nodes": [_closeup(name, closeup) for name, closeup in sorted(closeups.items())],
        "remedy": None if remedy is None else remedy_value(remedy),
        "problems": [problem_value(problem) for problem in problems_of(decision, view)],
    }


def _governance(decision: Decision, view: PlanView) -> dict[str, Any]:
    found = governance(decision, view)
    return {
        "policy": None if found.policy is None else _policy(found.policy, view),
        "chosenBy": None if found.policy is None else "Annotation" if found.is_chosen else "Precedence",
        "alsoMatches": [{**_policy(other, view), "lost": str(lost)} for other, lost in found.others],
        "nearlyMatches": [
            {
                **_policy(nearly.policy, view),
                "member": nearly.member,
                "unmet": [{"field": c.field, "wanted": c.wanted, "found": c.found} for c in nearly.conditions],
            }
            for nearly in found.nearly
        ],
    }


def _policy(policy: PlacementPolicy, view: PlanView) -> dict[str, Any]:
    where = place(view, "PlacementPolicy", policy.name)
    return {"policy": policy.name, "precedence": policy.spec.precedence, "place": where or None}


def _record(record: PlacementRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "policy": record.policy,
        "reason": record.reason,
        "clusters": [
            {"cluster": entry.name, "role": entry.role, "state": entry.state, "since": rfc3339(entry.since),
             "reason": entry.reason or "Fits", "epoch": entry.epoch}
            for entry in record.clusters
        ],
        "waitingSince": rfc3339(record.waiting_since) if record.waiting_since else None,
        "movedAt": rfc3339(record.moved_at) if record.moved_at else None,
        "holdUntil": rfc3339(record.hold_until) if record.hold_until else None,
        "moves": [
            {"at": rfc3339(moved.at), "from": list(moved.source), "to": list(moved.to), "reason": moved.reason,
             "aborted": bool(moved.aborted)}
            for moved in record.moves or ()
        ],
        "finished": None if record.finished is None else {
            "phase": record.finished.phase, "at": rfc3339(record.finished.at),
        },
    }  # fmt: skip


def _closeup(name: str, closeup: Closeup) -> dict[str, Any]:
    return {
        "cluster": name,
        "role": closeup.role,
        "placed": closeup.placed,
        "wanted": closeup.wanted,
        "requests": closeup.requests.rendered(),
        "refusals": [
            {"reason": str(one.reason), "subject": one.subject, "count": one.count, "nodes": list(one.nodes),
             "lacks": one.lacks.rendered()}
            for one in closeup.refusals
        ],
    }  # fmt: skip

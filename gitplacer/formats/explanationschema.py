"""JSON Schema (draft 2020-12) of an explanation, for `gitplacer schema Explanation`. Later minor versions may add keys."""

from __future__ import annotations

from typing import Any

from gitplacer.explain.governance import Lost
from gitplacer.formats.planschema import plan_schema, remedy_schema
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.schema import DRAFT
from gitplacer.model.decision import Reason

_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"


def explanation_schema() -> dict[str, Any]:
    """The schema of what `explain --format json` prints. A group is what it is in a plan."""
    plan = plan_schema()
    properties = plan["properties"]
    return {
        "$schema": DRAFT,
        "title": "Explanation",
        "description": "Why one group is where it is, or why it waits and what would place it.",
        **_object(
            apiVersion={"const": API_VERSION},
            kind={"const": "Explanation"},
            formatVersion=_text("A minor step adds keys; a major one changes what is there.", r"^1\.[0-9]+$"),
            inputs=properties["inputs"],
            group={**properties["groups"]["items"], "description": "The group as the plan has it, with every cluster."},
            governance=_governance(),
            record=_record(),
            nodes=_array(_closeup(), "Clusters that have too little room, node by node. Sorted by cluster."),
            remedy=_or_null(
                {
                    **remedy_schema(),
                    "description": "What would place a group that waits; null for one that does not, or where nobody looked.",
                }
            ),
            problems=_array(properties["problems"]["items"], "What is wrong with its manifests."),
        ),
        "$defs": plan["$defs"],
    }


def _governance() -> dict[str, Any]:
    policy: dict[str, Any] = {
        "policy": _text("The policy."),
        "precedence": {"type": "integer"},
        "place": _or_null(_text("Where it stands, `file:line`.")),
    }
    lost = {"enum": [str(one) for one in Lost], "description": "Why it does not govern: lower precedence, an annotation that names another, or it matches only a part of the group."}  # fmt: skip
    condition = _object(
        field=_text("The field of `select`."),
        wanted=_text("What it asks for."),
        found=_text("What the object has; may be empty."),
    )
    return _object(
        "Which policy governs, and why not another.",
        policy=_or_null(_object(**policy)),
        chosenBy={"enum": ["Precedence", "Annotation", None]},
        alsoMatches=_array(_object(**policy, lost=lost), "Policies that match too, the highest precedence first."),
        nearlyMatches=_array(
            _object(
                **policy,
                member=_text("The object that was held against it."),
                unmet=_array(condition, "Every condition that does not hold."),
            ),
            "Where no policy governs: those that miss the fewest conditions.",
        ),
    )


def _record() -> dict[str, Any]:
    entry = _object(
        cluster=_text("The cluster."),
        role={"enum": ["Copy", "Home", "Remote"]},
        state={"enum": ["Placed", "Waking", "Adding", "Removing"]},
        since=_text("Since when.", _TIME),
        reason=_text("The code of the finding by which it was taken."),
        epoch={"type": "integer", "minimum": 1, "description": "The epoch of the unit that first had it."},
    )
    names = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {
        "at": _text("The pass that began it.", _TIME),
        "from": names,
        "to": names,
        "reason": _text("The code of the reason."),
        "aborted": {"type": "boolean", "description": "Whether it was taken back."},
    }
    return _or_null(
        _object(
            "What the deployment repo remembers; null for a group that was never placed.",
            policy=_text("The policy that governed it."),
            reason=_text("The code of the decision that put it where it is, or lets it wait."),
            clusters=_array(entry, "Where it is."),
            waitingSince=_or_null(_text("Since when it waits.", _TIME)),
            movedAt=_or_null(_text("Its last relocation.", _TIME)),
            holdUntil=_or_null(_text("Until then it does not move by itself.", _TIME)),
            moves=_array(_object(**properties), "Its last relocations, the oldest first."),
            finished=_or_null(_object(phase={"enum": ["Succeeded", "Failed"]}, at=_text("When that was seen.", _TIME))),
        )
    )


def _closeup() -> dict[str, Any]:
    requests = {"$ref": "#/$defs/requests"}
    refusal = _object(
        reason={"enum": [str(reason) for reason in Reason]},
        subject=_text("The taint, selector or resource; may be empty."),
        count={"type": "integer", "minimum": 1, "description": "So many nodes."},
        nodes={"type": "array", "items": {"type": "string"}, "description": "Their names; empty where nobody knows which."},
        lacks={**requests, "description": "What one more pod asks for and is free on none of them."},
    )  # fmt: skip
    return _object(
        cluster=_text("The cluster."),
        role=_text("The pods that do not all fit."),
        placed={"type": "integer", "minimum": 0},
        wanted={"type": "integer", "minimum": 1},
        requests={**requests, "description": "What each of them asks for."},
        refusals=_array(refusal, "Why nodes take no further one; the counts add up to the cluster's nodes."),
    )


def _object(description: str = "", **properties: Any) -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {"type": "object", **said, "required": list(properties), "properties": properties}


def _array(items: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items}


def _text(description: str, pattern: str = "") -> dict[str, Any]:
    return {"type": "string", "description": description, **({"pattern": pattern} if pattern else {})}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}

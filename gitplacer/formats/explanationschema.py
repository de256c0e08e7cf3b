"""JSON Schema (draft 2020-12) of an explanation, for `gitplacer schema Explanation`. Later minor versions may add keys."""

from __future__ import annotations

from typing import Any

from gitplacer.explain.governance import Lost
from gitplacer.formats.planschema import plan_schema, remedy_schema
from gitplacer.formats.schemawords import array_of, object_of, or_null, text
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
        **object_of(
            apiVersion={"const": API_VERSION},
            kind={"const": "Explanation"},
            formatVersion=text("A minor step adds keys; a major one changes what is there.", r"^1\.[0-9]+$"),
            inputs=properties["inputs"],
            group={**properties["groups"]["items"], "description": "The group as the plan has it, with every cluster."},
            governance=_governance(),
            record=_record(),
            nodes=array_of(_closeup(), "Clusters that have too little room, node by node. Sorted by cluster."),
            remedy=or_null(
                {
                    **remedy_schema(),
                    "description": "What would place a group that waits; null for one that does not, or where nobody looked.",
                }
            ),
            problems=array_of(
                properties["problems"]["items"],
                "What is wrong with its manifests, and of which workers none could ever run where it is.",
            ),
        ),
        "$defs": plan["$defs"],
    }


def _governance() -> dict[str, Any]:
    policy: dict[str, Any] = {
        "policy": text("The policy."),
        "precedence": {"type": "integer"},
        "place": or_null(text("Where it stands, `file:line`.")),
    }
    lost = {"enum": [str(one) for one in Lost], "description": "Why it does not govern: lower precedence, an annotation that names another, or it matches only a part of the group."}  # fmt: skip
    condition = object_of(
        field=text("The field of `select`."),
        wanted=text("What it asks for."),
        found=text("What the object has; may be empty."),
    )
    return object_of(
        "Which policy governs, and why not another.",
        policy=or_null(object_of(**policy)),
        chosenBy={"enum": ["Precedence", "Annotation", None]},
        alsoMatches=array_of(object_of(**policy, lost=lost), "Policies that match too, the highest precedence first."),
        nearlyMatches=array_of(
            object_of(
                **policy,
                member=text("The object that was held against it."),
                unmet=array_of(condition, "Every condition that does not hold."),
            ),
            "Where no policy governs: those that miss the fewest conditions.",
        ),
    )


def _record() -> dict[str, Any]:
    entry = object_of(
        cluster=text("The cluster."),
        role={"enum": ["Copy", "Home", "Remote"]},
        state={"enum": ["Placed", "Waking", "Adding", "Removing"]},
        since=text("Since when.", _TIME),
        reason=text("The code of the finding by which it was taken."),
        epoch={"type": "integer", "minimum": 1, "description": "The epoch of the unit that first had it."},
    )
    names = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {
        "at": text("The pass that began it.", _TIME),
        "from": names,
        "to": names,
        "reason": text("The code of the reason."),
        "aborted": {"type": "boolean", "description": "Whether it was taken back."},
    }
    return or_null(
        object_of(
            "What the deployment repo remembers; null for a group that was never placed.",
            policy=text("The policy that governed it."),
            reason=text("The code of the decision that put it where it is, or lets it wait."),
            clusters=array_of(entry, "Where it is."),
            waitingSince=or_null(text("Since when it waits.", _TIME)),
            movedAt=or_null(text("Its last relocation.", _TIME)),
            holdUntil=or_null(text("Until then it does not move by itself.", _TIME)),
            moves=array_of(object_of(**properties), "Its last relocations, the oldest first."),
            finished=or_null(object_of(phase={"enum": ["Succeeded", "Failed"]}, at=text("When that was seen.", _TIME))),
        )
    )


def _closeup() -> dict[str, Any]:
    requests = {"$ref": "#/$defs/requests"}
    refusal = object_of(
        reason={"enum": [str(reason) for reason in Reason]},
        subject=text("The taint, selector or resource; may be empty."),
        count={"type": "integer", "minimum": 1, "description": "So many nodes."},
        nodes={"type": "array", "items": {"type": "string"}, "description": "Their names; empty where nobody knows which."},
        lacks={**requests, "description": "What one more pod asks for and is free on none of them."},
    )  # fmt: skip
    return object_of(
        cluster=text("The cluster."),
        role=text("The pods that do not all fit."),
        placed={"type": "integer", "minimum": 0},
        wanted={"type": "integer", "minimum": 1},
        requests={**requests, "description": "What each of them asks for."},
        refusals=array_of(refusal, "Why nodes take no further one; the counts add up to the cluster's nodes."),
    )

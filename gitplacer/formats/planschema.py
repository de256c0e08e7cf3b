"""JSON Schema (draft 2020-12) of the plan, for `gitplacer schema Plan`. Later minor versions may add keys."""

from __future__ import annotations

from typing import Any

from gitplacer.accounts import Freshness
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.schema import DRAFT
from gitplacer.model import quantity
from gitplacer.model.decision import Action, Reason, Verdict
from gitplacer.model.remedy import RemedyKind
from gitplacer.problems import Severity
from gitplacer.review import Check, Downtime, Worry

_PRICE = r"^[0-9]+\.[0-9]{2}$"
_DIFFERENCE = r"^-?[0-9]+\.[0-9]{2}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"


def plan_schema() -> dict[str, Any]:
    """The schema of what `plan --format json` prints."""
    return {
        "$schema": DRAFT,
        "title": "Plan",
        "description": "What gitplacer would do with every group of a fleet, and why.",
        **_object(
            apiVersion={"const": API_VERSION},
            kind={"const": "Plan"},
            formatVersion=_text("A minor step adds keys; a major one changes what is there.", pattern=r"^1\.[0-9]+$"),
            inputs=_object(
                "What was read.",
                source=_object(commit=_or_null(_text("The commit; null for a work tree as it lies."))),
                capacity=_object(tree=_or_null(_text("The tree of the capacity snapshots."))),
                deployment=_object(commit=_or_null(_text("The branch's tip; null where nothing is placed yet."))),
                now=_text("The time the plan was made for.", pattern=_TIME),
                version=_text("The version of gitplacer."),
            ),
            summary=_object(
                "Groups by action; adds up to the number of groups.", **{str(action): _count() for action in Action}
            ),
            review=_object(
                "What a reviewer should know first.",
                verdict=_text("One line for people; may change."),
                check={
                    "enum": [str(state) for state in Check],
                    "description": "Fail: the change brings an error. NeedsALook: something of it waits, moves, stops or is held.",
                },
                redacted={
                    "type": "boolean",
                    "description": "Whether amounts, prices, nodes and groups that the change does not decide were taken out.",
                },
                base={
                    **_object(
                        "What the plan is held against; null if nothing. Then everything counts.",
                        name=_text("As it was asked for."),
                        commit=_text("Its commit."),
                    ),
                    "type": ["object", "null"],
                },
                concerns=_array(
                    _object(
                        concern={"enum": [str(worry) for worry in Worry]},
                        count=_count(),
                        names=_array({"type": "string"}, "Groups or clusters, sorted; none for errors."),
                    ),
                    "Why it does not simply pass, severe to mild. A group is in one of them at most.",
                ),
                remedies=_array(
                    remedy_schema(group=_text("The group.", pattern="/")),
                    "What would place the first few groups that wait, sorted by group; none where nobody looked.",
                ),
            ),
            groups=_array(_group(), "Sorted by group."),
            fleet=_array(_account(), "All clusters, sorted."),
            clusters=_array(_sleeper(), "The clusters that may sleep, sorted."),
            problems=_array(_problem(), "Everything that is wrong with the inputs."),
        ),
        "$defs": {
            "reason": _object(
                "A code, and the same in words.",
                code={"enum": [str(reason) for reason in Reason]},
                message=_text("For people; may change."),
            ),
            "requests": {
                "type": "object",
                "description": "Resource names to Kubernetes quantities.",
                "additionalProperties": {"type": "string", "pattern": quantity.PATTERN},
            },
        },
    }


def remedy_schema(**more: Any) -> dict[str, Any]:
    """The schema of what would place a group, and `more` beside it."""
    change = _object(
        kind={"enum": [str(kind) for kind in RemedyKind]},
        subject=_text("What is changed: a cluster, a policy or an object."),
        item=_text("What of it: a taint, a limit, a node that more are wanted of, a role; may be empty."),
        amount={"type": "integer", "minimum": 1, "description": "By how much, in steps of the kind."},
        before=_text("The value as it is written; may be empty."),
        after=_text("The value that would do; may be empty."),
        file=_or_null(_text("The file of the source that says it.")),
        line={"type": ["integer", "null"], "minimum": 1},
        field=_or_null(_text("The field, as a JSON Pointer.")),
        resources={"$ref": "#/$defs/requests"},
        pricePerHour=_or_null(_text("What it costs in an hour, where that is known.", r"^[0-9]+\.[0-9]{2}$")),
        message=_text("The same for people; may change."),
    )
    way = _object(
        changes=_array(change, "All of them are needed."),
        to={"type": "array", "items": {"type": "string"}, "description": "Where a plan with them puts the group."},
        reason={"$ref": "#/$defs/reason"},
    )
    return _object(
        "What would place a group that waits.",
        **more,
        ways=_array(way, "Each is enough: the smallest first, then the smallest of each other kind."),
        trials={"type": "integer", "minimum": 0, "description": "Plans that were made to find out."},
        complete={"type": "boolean", "description": "Whether nothing smaller was left untried."},
    )


def _group() -> dict[str, Any]:
    reason, requests = {"$ref": "#/$defs/reason"}, {"$ref": "#/$defs/requests"}
    role, count = _text("head, worker/<groupName>, submitter, or pod."), _count()
    amount: dict[str, Any] = {"type": "string", "pattern": quantity.PATTERN}
    clusters = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    properties: dict[str, Any] = dict(
        group=_text("<namespace>/<name>.", pattern="/"),
        policy=_text("The policy that governs it; empty if none does."),
        action={"enum": [str(action) for action in Action]},
        **{"from": {**clusters, "description": "Clusters that have its files now, sorted."}},
        to={**clusters, "description": "Clusters that will have its files after this pass, sorted."},
        assignments=_array(
            _object(
                cluster=_text("The cluster."),
                role={"enum": ["Copy", "Home", "Remote"]},
                state={"enum": ["Placed", "Waking", "Adding", "Removing"]},
                pods=_array(_object(role=role, count=count), "Pods by role."),
            ),
            "What each cluster of `to` has of it.",
        ),
        members=_array(
            _object(
                apiVersion=_text("As its manifest says."),
                kind=_text("As its manifest says."),
                namespace=_text("Empty for a cluster-scoped object."),
                name=_text("Its name."),
                path=_text("Its file in the source."),
            ),
            "Its objects, those that it shares with other groups last.",
        ),
        pods=_array(_object(role=role, count=count, requests=requests), "The pods of one copy; requests of each."),
        requests={**requests, "description": "What all pods of one copy ask for together."},
        reason={**reason, "description": "Why this action."},
        because={
            "enum": ["Change", "Anyway", None],
            "description": "Whether the change decides what becomes of it; null where there is no base.",
        },
        downtime={
            "enum": [str(one) for one in Downtime],
            "description": "What its users notice. Ends: it stops, and nothing brings it back.",
        },
        headroom={
            **_object(
                "What is left after the pass of the scarcest resource that it asks for, on the clusters that have it.",
                cluster=_text("The cluster."),
                resource=_text("The resource; devices come before cores and memory."),
                free=amount,
                of={**amount, "description": "What the cluster's nodes offer."},
                onOneNode={**amount, "description": "The most of it on one node."},
            ),
            "type": ["object", "null"],
        },
        costPerHour=_or_null(_text("What the machines to be added cost, if all prices are known.", _PRICE)),
        costDifferencePerHour=_or_null(
            _text(
                "That, less what machines cost that are not needed any more; null if a price is not known.", _DIFFERENCE
            )
        ),
        links=_object(
            "Where it comes from, as `file#Lline` or as an address below the one that was given.",
            manifest=_or_null(_text("Its first sized object.")),
            policy=_or_null(_text("The policy that governs it.")),
        ),
        waitingSince=_or_null(_text("Since when it waits for room.", _TIME)),
        blockedBy=_array(
            {"type": "string"}, "Objects, files or problems that hold it; groups that leave for it while it waits."
        ),
        candidates=_array(
            _object(cluster=_text("The cluster."), verdict={"enum": [str(v) for v in Verdict]}, reason=reason),
            "Sorted by cluster: all up to 50; beyond, the chosen and the ten nearest.",
        ),
        verdicts={
            "type": "object",
            "description": "All clusters by verdict: Chosen, Feasible, Rejected/<code>.",
            "propertyNames": {"pattern": r"^(Chosen|Feasible|Rejected/[A-Za-z]+)$"},
            "additionalProperties": {"type": "integer", "minimum": 1},
        },
    )
    return _object(**properties)


def _account() -> dict[str, Any]:
    requests = {"$ref": "#/$defs/requests"}
    groups = _array({"type": "string"}, "Sorted.")
    return _object(
        cluster=_text("The cluster."),
        role={"enum": ["Workload", "Management"]},
        state={"enum": ["Active", "Cordoned", "Draining", "Lost"]},
        labels={
            "type": "object",
            "description": "Its labels, those that are derived among them.",
            "additionalProperties": {"type": "string"},
        },
        snapshot={
            "enum": [str(one) for one in Freshness],
            "description": "How good its snapshot is; Asleep for a cluster that sleeps or wakes.",
        },
        observedAt=_or_null(_text("When its snapshot was taken.", _TIME)),
        nodes=_count(),
        allocatable={**requests, "description": "What its nodes offer to pods, added up."},
        free=_object(
            "What nobody has of that, added up over the nodes, on which it may lie in pieces.",
            before={**requests, "description": "Before the pass."},
            after={**requests, "description": "After it."},
        ),
        groups=_object("Groups that hold room there.", before=groups, after=groups),
    )


def _sleeper() -> dict[str, Any]:
    states = ["Active", "Waking", "Standby"]
    so_far: dict[str, Any] = {"enum": [*states, None], "description": "Its state so far; null for one that is new."}
    properties: dict[str, Any] = dict(
        cluster=_text("The cluster."),
        **{"from": so_far},
        to={"enum": states, "description": "Its state after this pass."},
        since=_text("Since when it is in that state.", _TIME),
        idleSince=_or_null(_text("Since when it holds nothing that consumes.", _TIME)),
        cloneOf=_or_null(_text("The Cluster that it was made after, if it is a clone.")),
        groups=_array({"type": "string"}, "The groups that keep it awake."),
    )
    return _object(**properties)


def _problem() -> dict[str, Any]:
    return _object(
        severity={"enum": [str(severity) for severity in Severity]},
        code=_text("Has a page in the docs."),
        file=_text("The file."),
        line={"type": "integer", "minimum": 1},
        column={"type": "integer", "minimum": 1},
        message=_text("What is wrong."),
        hint=_text("How to fix it; may be empty."),
    )


def _object(description: str = "", **properties: Any) -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {"type": "object", **said, "required": list(properties), "properties": properties}


def _array(items: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items}


def _text(description: str, pattern: str = "") -> dict[str, Any]:
    return {"type": "string", "description": description, **({"pattern": pattern} if pattern else {})}


def _count() -> dict[str, Any]:
    return {"type": "integer", "minimum": 0}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}

"""JSON Schema (draft 2020-12) of the plan, for `gitplacer schema Plan`. Later minor versions may add keys."""

from __future__ import annotations

from typing import Any

from gitplacer.accounts import Freshness
from gitplacer.formats.schemawords import array_of, count, object_of, or_null, text
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
        **object_of(
            apiVersion={"const": API_VERSION},
            kind={"const": "Plan"},
            formatVersion=text("A minor step adds keys; a major one changes what is there.", pattern=r"^1\.[0-9]+$"),
            inputs=object_of(
                "What was read.",
                source=object_of(commit=or_null(text("The commit; null for a work tree as it lies."))),
                capacity=object_of(tree=or_null(text("The tree of the capacity snapshots."))),
                deployment=object_of(commit=or_null(text("The branch's tip; null where nothing is placed yet."))),
                now=text("The time the plan was made for.", pattern=_TIME),
                version=text("The version of gitplacer."),
            ),
            summary=object_of(
                "Groups by action; adds up to the number of groups.", **{str(action): count() for action in Action}
            ),
            review=object_of(
                "What a reviewer should know first.",
                verdict=text("One line for people; may change."),
                check={
                    "enum": [str(state) for state in Check],
                    "description": "Fail: the change brings an error. NeedsALook: something of it waits, moves, stops or is held.",
                },
                redacted={
                    "type": "boolean",
                    "description": "Whether amounts, prices, nodes and groups that the change does not decide were taken out.",
                },
                base={
                    **object_of(
                        "What the plan is held against; null if nothing. Then everything counts.",
                        name=text("As it was asked for."),
                        commit=text("Its commit."),
                    ),
                    "type": ["object", "null"],
                },
                concerns=array_of(
                    object_of(
                        concern={"enum": [str(worry) for worry in Worry]},
                        count=count(),
                        names=array_of({"type": "string"}, "Groups or clusters, sorted; none for errors."),
                    ),
                    "Why it does not simply pass, severe to mild. A group is in one of them at most.",
                ),
                remedies=array_of(
                    remedy_schema(group=text("The group.", pattern="/")),
                    "What would place the first few groups that wait, sorted by group; none where nobody looked.",
                ),
            ),
            groups=array_of(_group(), "Sorted by group."),
            fleet=array_of(_account(), "All clusters, sorted."),
            clusters=array_of(_sleeper(), "The clusters that may sleep, sorted."),
            problems=array_of(_problem(), "Everything that is wrong with the inputs."),
        ),
        "$defs": {
            "reason": object_of(
                "A code, and the same in words.",
                code={"enum": [str(reason) for reason in Reason]},
                message=text("For people; may change."),
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
    change = object_of(
        kind={"enum": [str(kind) for kind in RemedyKind]},
        subject=text("What is changed: a cluster, a policy or an object."),
        item=text("What of it: a taint, a limit, a node that more are wanted of, a role; may be empty."),
        amount={"type": "integer", "minimum": 1, "description": "By how much, in steps of the kind."},
        before=text("The value as it is written; may be empty."),
        after=text("The value that would do; may be empty."),
        file=or_null(text("The file of the source that says it.")),
        line={"type": ["integer", "null"], "minimum": 1},
        field=or_null(text("The field, as a JSON Pointer.")),
        resources={"$ref": "#/$defs/requests"},
        pricePerHour=or_null(text("What it costs in an hour, where that is known.", r"^[0-9]+\.[0-9]{2}$")),
        message=text("The same for people; may change."),
    )
    way = object_of(
        changes=array_of(change, "All of them are needed."),
        to={"type": "array", "items": {"type": "string"}, "description": "Where a plan with them puts the group."},
        reason={"$ref": "#/$defs/reason"},
    )
    return object_of(
        "What would place a group that waits.",
        **more,
        ways=array_of(way, "Each is enough: the smallest first, then the smallest of each other kind."),
        trials={"type": "integer", "minimum": 0, "description": "Plans that were made to find out."},
        complete={"type": "boolean", "description": "Whether nothing smaller was left untried."},
    )


def _group() -> dict[str, Any]:
    reason, requests = {"$ref": "#/$defs/reason"}, {"$ref": "#/$defs/requests"}
    role, number = text("head, worker/<groupName>, submitter, or pod."), count()
    amount: dict[str, Any] = {"type": "string", "pattern": quantity.PATTERN}
    clusters = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    properties: dict[str, Any] = dict(
        group=text("<namespace>/<name>.", pattern="/"),
        policy=text("The policy that governs it; empty if none does."),
        action={"enum": [str(action) for action in Action]},
        **{"from": {**clusters, "description": "Clusters that have its files now, or wake for it, sorted."}},
        to={**clusters, "description": "Clusters that will have its files after this pass, or wake for it, sorted."},
        assignments=array_of(
            object_of(
                cluster=text("The cluster."),
                role={"enum": ["Copy", "Home", "Remote"]},
                state={"enum": ["Placed", "Waking", "Adding", "Removing"]},
                pods=array_of(object_of(role=role, count=number), "Pods by role."),
            ),
            "What each cluster of `to` has of it.",
        ),
        nominated={
            **clusters,
            "description": "Clusters on which Kueue may start it, best first; none if it is not left to Kueue.",
        },
        members=array_of(
            object_of(
                apiVersion=text("As its manifest says."),
                kind=text("As its manifest says."),
                namespace=text("Empty for a cluster-scoped object."),
                name=text("Its name."),
                path=text("Its file in the source."),
            ),
            "Its objects, those that it shares with other groups last.",
        ),
        pods=array_of(object_of(role=role, count=number, requests=requests), "The pods of one copy; requests of each."),
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
            **object_of(
                "What is left after the pass of the scarcest resource that it asks for, on the clusters that have it.",
                cluster=text("The cluster."),
                resource=text("The resource; devices come before cores and memory."),
                free=amount,
                of={**amount, "description": "What the cluster's nodes offer."},
                onOneNode={**amount, "description": "The most of it on one node."},
            ),
            "type": ["object", "null"],
        },
        costPerHour=or_null(text("What the machines to be added cost, if all prices are known.", _PRICE)),
        costDifferencePerHour=or_null(
            text(
                "That, less what machines cost that are not needed any more; null if a price is not known.", _DIFFERENCE
            )
        ),
        links=object_of(
            "Where it comes from, as `file#Lline` or as an address below the one that was given.",
            manifest=or_null(text("Its first sized object.")),
            policy=or_null(text("The policy that governs it.")),
        ),
        waitingSince=or_null(text("Since when it waits for room.", _TIME)),
        blockedBy=array_of(
            {"type": "string"}, "Objects, files or problems that hold it; groups that leave for it while it waits."
        ),
        candidates=array_of(
            object_of(cluster=text("The cluster."), verdict={"enum": [str(v) for v in Verdict]}, reason=reason),
            "Sorted by cluster: all up to 50; beyond, the chosen and the ten nearest. Without `--all` of as many groups as come to 100,000 pairs of a "
            "group and a cluster, those that wait before those that stay; of others the chosen.",
        ),
        verdicts={
            "type": "object",
            "description": "All clusters that were asked by verdict: Chosen, Feasible, Rejected/<code>.",
            "propertyNames": {"pattern": r"^(Chosen|Feasible|Rejected/[A-Za-z]+)$"},
            "additionalProperties": {"type": "integer", "minimum": 1},
        },
    )
    return object_of(**properties)


def _account() -> dict[str, Any]:
    requests = {"$ref": "#/$defs/requests"}
    groups = array_of({"type": "string"}, "Sorted.")
    return object_of(
        cluster=text("The cluster."),
        role={"enum": ["Workload", "Management"]},
        state={"enum": ["Active", "Cordoned", "Draining", "Lost"], "description": "What its Cluster says."},
        silentSince=or_null(
            text(
                "Since when nothing is heard of it, where it counts as lost for that, whatever its state; else null.",
                _TIME,
            )
        ),
        labels={
            "type": "object",
            "description": "Its labels, those that are derived among them.",
            "additionalProperties": {"type": "string"},
        },
        snapshot={
            "enum": [str(one) for one in Freshness],
            "description": "How good its snapshot is; Asleep for a cluster that sleeps or wakes.",
        },
        observedAt=or_null(text("When its snapshot was taken.", _TIME)),
        nodes=count(),
        allocatable={**requests, "description": "What its nodes offer to pods, added up."},
        free=object_of(
            "What nobody has of that, added up over the nodes, on which it may lie in pieces.",
            before={**requests, "description": "Before the pass."},
            after={**requests, "description": "After it."},
        ),
        groups=object_of("Groups that hold room there.", before=groups, after=groups),
    )


def _sleeper() -> dict[str, Any]:
    states = ["Active", "Waking", "Standby"]
    so_far: dict[str, Any] = {"enum": [*states, None], "description": "Its state so far; null for one that is new."}
    properties: dict[str, Any] = dict(
        cluster=text("The cluster."),
        **{"from": so_far},
        to={"enum": states, "description": "Its state after this pass."},
        since=text("Since when it is in that state.", _TIME),
        idleSince=or_null(text("Since when it holds nothing that consumes.", _TIME)),
        cloneOf=or_null(text("The Cluster that it was made after, if it is a clone.")),
        groups=array_of({"type": "string"}, "The groups that keep it awake."),
    )
    return object_of(**properties)


def _problem() -> dict[str, Any]:
    return object_of(
        severity={"enum": [str(severity) for severity in Severity]},
        code=text("Has a page in the docs."),
        file=text("The file."),
        line={"type": "integer", "minimum": 1},
        column={"type": "integer", "minimum": 1},
        message=text("What is wrong."),
        hint=text("How to fix it; may be empty."),
    )

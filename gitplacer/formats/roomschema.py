"""JSON Schema (draft 2020-12) of what is left in a fleet, for `gitplacer schema Room`. Later minor versions may add keys."""

from __future__ import annotations

from typing import Any

from gitplacer.accounts import Freshness
from gitplacer.formats.planschema import plan_schema
from gitplacer.formats.schemawords import array_of, count, object_of, or_null, text
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.schema import DRAFT


def room_schema() -> dict[str, Any]:
    """The schema of what `room --format json` prints."""
    plan = plan_schema()
    return {
        "$schema": DRAFT,
        "title": "Room",
        "description": "What a fleet has left after a plan, and the machines that it lacks.",
        **object_of(
            apiVersion={"const": API_VERSION},
            kind={"const": "Room"},
            formatVersion=text("A minor step adds keys; a major one changes what is there.", r"^1\.[0-9]+$"),
            inputs=plan["properties"]["inputs"],
            asked=array_of(_asked(), "The gangs that were tried."),
            clusters=array_of(_cluster(), "Sorted by cluster."),
            shopping=or_null(_shopping()),
        ),
        "$defs": {name: plan["$defs"][name] for name in ("reason", "requests")},
    }


def _asked() -> dict[str, Any]:
    return object_of(
        like=text("The group, or the text, that it was taken from."),
        role=text("The pods whose number is looked for."),
        requests={"$ref": "#/$defs/requests", "description": "What each of them asks for."},
        otherPods=count("Pods that come along, as many as they are."),
    )


def _cluster() -> dict[str, Any]:
    cause = object_of(
        why=text("The resource that is used up first, or what refuses pods."),
        devices=text("So many of the stranded ones."),
        nodes={"type": "array", "items": {"type": "string"}},
    )
    device = object_of(
        resource=text("The resource."),
        offered=text("What all nodes have of it."),
        free=text("What nobody has of that."),
        stranded=text("What no pod can reach of what is free."),
        causes=array_of(cause, "Why not; adds up to what is stranded."),
    )
    largest = object_of(
        now=count("Pods that fit on nodes that are there, in every order."),
        withMachines={
            **count("Pods that fit with machines that can be added; null where none can be."),
            "type": ["integer", "null"],
        },
        bounded={"type": "boolean", "description": "Whether it may be more, and was not tried."},
    )
    requests = {"$ref": "#/$defs/requests"}
    queue = object_of(
        kind={"enum": ["ClusterQueue", "Cohort"]},
        name=text("Its name."),
        stopped=or_null(text("Why it lets nothing in now.")),
        left={**requests, "description": "What its cluster says that it has left."},
        promised={**requests, "description": "What of it is promised to groups that are not seen there yet."},
    )
    return object_of(
        cluster=text("The cluster."),
        state=text(
            "Active, or why it takes nothing new: Cordoned, Draining or Lost, also where it only counts as that."
        ),
        snapshot={
            "description": "How good what is known of it is; nothing new comes to it where that is not Current or Asleep. Since 1.3.",
            "enum": [str(one) for one in Freshness],
        },
        devices=array_of(device, "Sorted by resource."),
        queues=array_of(queue, "Kueue's ClusterQueues, then its Cohorts, each by name."),
        largest=array_of(largest, "One for each gang of `asked`, in that order."),
    )


def _shopping() -> dict[str, Any]:
    names = {"type": "array", "items": {"type": "string"}}
    bought = object_of(
        cluster=text("For which cluster."),
        type=text("The type of machine."),
        count={"type": "integer", "minimum": 1},
        pricePerHour=or_null(text("What one costs in an hour, where that is known.")),
    )
    return object_of(
        "The cheapest machines that would place everything that waits.",
        waiting={**names, "description": "The groups that wait."},
        bought=array_of(bought, "Sorted by cluster and type."),
        pricePerHour=or_null(text("What all of them cost in an hour, if all prices are known.", r"^[0-9]+\.[0-9]{2}$")),
        places=array_of(object_of(group=text("The group."), cluster=text("Where it would go.")), "Sorted by group."),
        placed={**names, "description": "Those of them that a plan with these machines places."},
        impossible={**names, "description": "Groups that no machine on offer helps."},
        forbidden=array_of(
            object_of(group=text("The group."), reason={"$ref": "#/$defs/reason"}),
            "Groups for which nothing is bought, since a budget or a quota would not let them have it. Sorted by group.",
        ),
        complete={"type": "boolean", "description": "Whether nothing cheaper was left untried."},
    )

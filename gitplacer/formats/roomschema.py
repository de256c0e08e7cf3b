"""JSON Schema (draft 2020-12) of what is left in a fleet, for `gitplacer schema Room`. Later minor versions may add keys."""

from __future__ import annotations

from typing import Any

from gitplacer.formats.planschema import plan_schema
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.schema import DRAFT


def room_schema() -> dict[str, Any]:
    """The schema of what `room --format json` prints."""
    plan = plan_schema()
    return {
        "$schema": DRAFT,
        "title": "Room",
        "description": "What a fleet has left after a plan, and the machines that it lacks.",
        **_object(
            apiVersion={"const": API_VERSION},
            kind={"const": "Room"},
            formatVersion=_text("A minor step adds keys; a major one changes what is there.", r"^1\.[0-9]+$"),
            inputs=plan["properties"]["inputs"],
            asked=_array(_asked(), "The gangs that were tried."),
            clusters=_array(_cluster(), "Sorted by cluster."),
            shopping=_or_null(_shopping()),
        ),
        "$defs": {"requests": plan["$defs"]["requests"]},
    }


def _asked() -> dict[str, Any]:
    return _object(
        like=_text("The group, or the text, that it was taken from."),
        role=_text("The pods whose number is looked for."),
        requests={"$ref": "#/$defs/requests", "description": "What each of them asks for."},
        otherPods=_count("Pods that come along, as many as they are."),
    )


def _cluster() -> dict[str, Any]:
    cause = _object(
        why=_text("The resource that is used up first, or what refuses pods."),
        devices=_text("So many of the stranded ones."),
        nodes={"type": "array", "items": {"type": "string"}},
    )
    device = _object(
        resource=_text("The resource."),
        offered=_text("What all nodes have of it."),
        free=_text("What nobody has of that."),
        stranded=_text("What no pod can reach of what is free."),
        causes=_array(cause, "Why not; adds up to what is stranded."),
    )
    largest = _object(
        now=_count("Pods that fit on nodes that are there, in every order."),
        withMachines={
            **_count("Pods that fit with machines that can be added; null where none can be."),
            "type": ["integer", "null"],
        },
        bounded={"type": "boolean", "description": "Whether it may be more, and was not tried."},
    )
    return _object(
        cluster=_text("The cluster."),
        state=_text("Active, or why it takes nothing new: Cordoned, Draining or Lost."),
        devices=_array(device, "Sorted by resource."),
        largest=_array(largest, "One for each gang of `asked`, in that order."),
    )


def _shopping() -> dict[str, Any]:
    names = {"type": "array", "items": {"type": "string"}}
    bought = _object(
        cluster=_text("For which cluster."),
        type=_text("The type of machine."),
        count={"type": "integer", "minimum": 1},
        pricePerHour=_or_null(_text("What one costs in an hour, where that is known.")),
    )
    return _object(
        "The cheapest machines that would place everything that waits.",
        waiting={**names, "description": "The groups that wait."},
        bought=_array(bought, "Sorted by cluster and type."),
        pricePerHour=_or_null(
            _text("What all of them cost in an hour, if all prices are known.", r"^[0-9]+\.[0-9]{2}$")
        ),
        places=_array(_object(group=_text("The group."), cluster=_text("Where it would go.")), "Sorted by group."),
        placed={**names, "description": "Those of them that a plan with these machines places."},
        impossible={**names, "description": "Groups that no machine on offer helps."},
        complete={"type": "boolean", "description": "Whether nothing cheaper was left untried."},
    )


def _object(description: str = "", **properties: Any) -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {"type": "object", **said, "required": list(properties), "properties": properties}


def _array(items: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items}


def _text(description: str, pattern: str = "") -> dict[str, Any]:
    return {"type": "string", "description": description, **({"pattern": pattern} if pattern else {})}


def _count(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "description": description}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}

"""What a fleet has left, for a terminal and as JSON: stranded devices, the largest gang that fits, and what to buy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitplacer.explain import PlanView, amount_text, amounts_text, computed_from, finding_text
from gitplacer.formats.planjson import inputs_value, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model import quantity
from gitplacer.model.decision import Finding
from gitplacer.model.room import Asked, ClusterRoom, Largest, QueueRoom, Room, Shopping, Stranded
from gitplacer.plaintext import aligned, few, printable

FORMAT_VERSION = "1.3"
"""1.1: `queues`; 1.2: `forbidden`; 1.3: `snapshot` of clusters"""
_SNAPSHOTS = {
    "Stale": "its snapshot is stale",
    "Missing": "it has no snapshot",
    "Unusable": "its snapshot cannot be used",
}


def room_text(room: Room, view: PlanView) -> str:
    """The answer as lines, each ending in a newline."""
    rows = list(_device_rows(room))
    lines = ["Free devices, after the plan", *(aligned(rows) or ["  there are none"])]
    queues = list(_queue_rows(room))
    lines += ["", "Quota of Kueue, after the plan", *aligned(queues)] if queues else []
    for index, asked in enumerate(room.asked):
        lines += ["", f"Largest gang, {_asked_text(asked)}"]
        some = [one for one in room.clusters if one.largest[index].now or one.largest[index].added]
        lines += aligned([(one.cluster, _largest_text(one.largest[index])) for one in some])
        closed = [one for one in room.clusters if not one.takes_new]
        others = len(room.clusters) - len(some) - len(closed)
        on = f"{'the other ' if some else ''}{others} cluster{'s' if others != 1 else ''}"
        lines += [f"  not one on {on}"] if others else []
        lines += aligned([(one.cluster, f"left out: {_closed(one)}") for one in closed])
    if room.shopping is not None:
        lines += ["", *_shopping_lines(room.shopping)]
    lines += ["", *computed_from(view)]
    return "\n".join(printable(line, 5000) for line in lines) + "\n"


def _device_rows(room: Room) -> Iterator[tuple[str, ...]]:
    for one in room.clusters:
        for device in (each for each in one.stranded if each.free):
            free = f"{amount_text(device.resource, device.free)} of {amount_text(device.resource, device.offered)} free"
            closed = "" if one.takes_new else f"; {_closed(one)}"
            yield one.cluster, device.resource, free, _stranded_text(device) + closed


def _closed(one: ClusterRoom) -> str:
    """Why nothing new comes to a cluster."""
    if one.state != "Active":
        return f"the cluster is {one.state}, and takes nothing new"
    return f"{_SNAPSHOTS[one.snapshot]}, so the cluster takes nothing new"


def _queue_rows(room: Room) -> Iterator[tuple[str, ...]]:
    """What each queue and cohort has left that nobody was promised, of what its cluster says."""
    for one in room.clusters:
        for queue in one.queues:
            said = [
                f"{amount_text(r, left - queue.promised.get(r, 0))} of {amount_text(r, left)} {r}"
                for r, left in queue.left.items()
            ]
            stopped = [f"lets nothing in ({queue.stopped})"] if queue.stopped else []
            yield one.cluster, f"{queue.kind} {queue.name}", "; ".join([", ".join(said) or "nothing left", *stopped])


def _stranded_text(device: Stranded) -> str:
    if not device.stranded:
        return "none stranded"
    causes = [f"{cause.devices} on {few(cause.nodes)}: {cause.why}" for cause in device.causes]
    return f"{device.stranded} stranded; {'; '.join(causes)}"


def _asked_text(asked: Asked) -> str:
    beside = f" and {asked.others} other pod{'s' if asked.others != 1 else ''}" if asked.others else ""
    return f"{asked.role} with {amounts_text(asked.requests) or 'no requests'} each{beside} (like {asked.like})"


def _largest_text(largest: Largest) -> str:
    more = " or more" if largest.bounded else ""
    if largest.added is None or largest.added == largest.now:
        return f"{largest.now}{more}"
    return f"{largest.now} now, {largest.added}{more} with machines that can be added"


def _shopping_lines(shopping: Shopping) -> list[str]:
    """What to buy, for whom, and whether it is proved."""
    if not shopping.waiting:
        return ["No group waits, so no machine has to be bought"]
    waiting = f"{len(shopping.waiting)} group{'s' if len(shopping.waiting) != 1 else ''} that wait{'' if len(shopping.waiting) != 1 else 's'}"
    lines = [f"The cheapest machines for {waiting}"]
    rows = []
    for bought in shopping.bought:
        each = bought.price_per_hour
        price = f"{bought.count * each:.2f} an hour" if each is not None else "price not known"
        rows.append((f"{bought.count} × {bought.type}", f"for {bought.cluster}", price))
    lines += aligned(rows)
    if len(shopping.bought) > 1 and shopping.price is not None:
        lines.append(f"  {shopping.price:.2f} an hour in all")
    if shopping.places:
        lines += aligned([(printable(group), f"→ {cluster}") for group, cluster in shopping.places])
    if shopping.impossible:
        lines.append(f"  no machine on offer helps {few([printable(g) for g in shopping.impossible], most=10)}")
    for group, finding in shopping.forbidden:
        lines.append(f"  nothing is bought for {printable(group)}: {_forbidden_text(finding)}")
    if shopping.places:
        lines.append(f"  {_proof_text(shopping)}")
    return lines


def _forbidden_text(finding: Finding) -> str:
    on = f"on {finding.subject} it " if finding.queue is not None else ""
    return f"{on}{finding_text(finding)}"


def _proof_text(shopping: Shopping) -> str:
    wanted, placed = len(shopping.places), len(shopping.placed)
    left = [group for group, _ in shopping.places if group not in shopping.placed]
    if left:
        return f"a plan with them places {placed} of {wanted}; {few([printable(g) for g in left], most=10)} would still wait"
    cheapest = "no cheaper machines would do" if shopping.complete else "cheaper ones may have been missed"
    return f"a plan with them places {'it' if wanted == 1 else 'all of these'}; {cheapest}"


def room_json(room: Room, view: PlanView) -> str:
    """The document of `room_document`, indented by two."""
    return to_json(room_document(room, view), indent=2)


def room_document(room: Room, view: PlanView) -> dict[str, Any]:
    """The answer as values that JSON can hold."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Room",
        "formatVersion": FORMAT_VERSION,
        "inputs": inputs_value(view),
        "asked": [
            {"like": a.like, "role": a.role, "requests": a.requests.rendered(), "otherPods": a.others}
            for a in room.asked
        ],
        "clusters": [
            {
                "cluster": one.cluster,
                "state": one.state,
                "snapshot": one.snapshot,
                "devices": [_device(device) for device in one.stranded],
                "queues": [_queue(queue) for queue in one.queues],
                "largest": [{"now": n.now, "withMachines": n.added, "bounded": n.bounded} for n in one.largest],
            }
            for one in room.clusters
        ],
        "shopping": None if room.shopping is None else _shopping(room.shopping),
    }


def _queue(queue: QueueRoom) -> dict[str, Any]:
    return {
        "kind": queue.kind,
        "name": queue.name,
        "stopped": queue.stopped or None,
        "left": queue.left.rendered(),
        "promised": queue.promised.rendered(),
    }


def _device(device: Stranded) -> dict[str, Any]:
    def amount(value: int) -> str:
        return quantity.render(device.resource, value)

    return {
        "resource": device.resource,
        "offered": amount(device.offered),
        "free": amount(device.free),
        "stranded": amount(device.stranded),
        "causes": [{"why": c.why, "devices": amount(c.devices), "nodes": list(c.nodes)} for c in device.causes],
    }


def _shopping(shopping: Shopping) -> dict[str, Any]:
    price = shopping.price
    return {
        "waiting": list(shopping.waiting),
        "bought": [
            {"cluster": b.cluster, "type": b.type, "count": b.count,
             "pricePerHour": None if b.price_per_hour is None else f"{b.price_per_hour:g}"}
            for b in shopping.bought
        ],
        "pricePerHour": None if price is None else f"{price:.2f}",
        "places": [{"group": group, "cluster": cluster} for group, cluster in shopping.places],
        "placed": list(shopping.placed),
        "impossible": list(shopping.impossible),
        "forbidden": [
            {"group": group, "reason": {"code": str(finding.code), "message": _forbidden_text(finding)}}
            for group, finding in shopping.forbidden
        ],
        "complete": shopping.complete,
    }  # fmt: skip

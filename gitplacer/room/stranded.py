"""
Devices that are free and that nobody can have.

On each node pods of the shapes in question are tried together, and the most devices that they can take is what is within reach;
the rest is stranded, because cores, memory or slots for pods are used up, or because the node lets none of them in. Nodes have few
devices, so all ways to fill one are tried; of a node where that would be too many the largest pods go first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from gitplacer.model.room import Cause, Stranded
from gitplacer.model.workload import PodShape
from gitplacer.placement.ledger import Ledger

_MOST_WAYS = 5000
_MOST_SHAPES = 12

Vector = tuple[int, ...]


def stranded(ledger: Ledger, shapes: Iterable[PodShape]) -> tuple[Stranded, ...]:
    """Each device of a cluster, by name, with how much of it pods of these shapes cannot reach."""
    columns, nodes = ledger.columns, ledger.nodes
    known = [
        shape for shape in dict.fromkeys(shapes) if any(value and "/" in name for name, value in shape.requests.items())
    ]
    found = []
    for column in np.flatnonzero(columns.devices).tolist():
        offered = int(nodes.allocatable[:, column].sum())
        if not offered:
            continue
        name = columns.names[column]
        wanting = sorted(
            (s for s in known if s.requests.get(name)), key=lambda s: (-s.requests[name], str(s.requests))
        )[:_MOST_SHAPES]
        free_on, total, lost = ledger.free_on_nodes(), 0, defaultdict[str, list[tuple[str, int]]](list)
        for index, machine in enumerate(nodes.machines):
            free = max(0, int(free_on[index, column]))
            total += free
            if not free:
                continue
            able = [s for s in wanting if nodes.obstacle(s, machine.shape, machine.name) is None]
            reach = _reach(
                tuple(np.clip(free_on[index], 0, None).tolist()),
                tuple(tuple(columns.asked(s).tolist()) for s in able),
                column,
            )
            if reach < free:
                lost[_why(ledger, index, wanting, able, column)].append((machine.name, free - reach))
        causes = [Cause(why, sum(n for _, n in on), tuple(name for name, _ in on)) for why, on in lost.items()]
        causes.sort(key=lambda cause: (-cause.devices, cause.why))
        found.append(
            Stranded(
                resource=name,
                offered=offered,
                free=total,
                stranded=sum(c.devices for c in causes),
                causes=tuple(causes),
            )
        )
    return tuple(sorted(found, key=lambda one: one.resource))


@lru_cache(maxsize=4096)
def _reach(free: Vector, rows: tuple[Vector, ...], column: int) -> int:
    """The most of one resource that pods asking `rows` can take together of what is free."""
    best, ways = 0, 0
    open_ = [(free, 0, 0)]  # no recursion: a node may have thousands of a device that is cut into shares
    while open_ and best < free[column] and ways <= _MOST_WAYS:
        left, first, taken = open_.pop()
        best, ways = max(best, taken), ways + 1
        for index in reversed(range(first, len(rows))):  # so that the largest pods come off the stack first
            row = rows[index]
            if all(have >= asks for have, asks in zip(left, row, strict=True)):
                open_.append(
                    (tuple(have - asks for have, asks in zip(left, row, strict=True)), index, taken + row[column])
                )
    return best


def _why(ledger: Ledger, index: int, wanting: Sequence[PodShape], able: Sequence[PodShape], column: int) -> str:
    """What keeps the next pod off a node, of the pod that asks for least devices."""
    columns, machine = ledger.columns, ledger.nodes.machines[index]
    if not wanting:
        return "no pod asks for it"
    if not able:
        obstacle = ledger.nodes.obstacle(wanting[-1], machine.shape, machine.name)
        assert obstacle is not None
        return f"{obstacle[1] or obstacle[0]}"
    free = ledger.free_on_nodes()[index]
    short = []
    for shape in reversed(able):
        row = columns.asked(shape)
        held = free // np.maximum(row, 1)
        asked = [c for c in np.flatnonzero(row).tolist() if c != column]
        scarce = min(asked, key=lambda c: (int(held[c]), columns.names[c]), default=column)
        short.append((int(held[scarce]) < int(held[column]), columns.names[scarce]))
    name = next((name for is_short, name in short if is_short), "")
    return f"not enough {name}" if name else "pods ask for more of it at once"

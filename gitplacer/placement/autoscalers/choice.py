"""
A gang and a room as a question for the exact search.

Pods of one shape are one kind, whatever their role. Types that a gang cannot tell apart (the same room for what it asks
for, open to the same pods, of one cost, under the same limits) are one offer, so that a pool with many zones is no longer a search
than one with a single one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from gitplacer.model.workload import PodShape
from gitplacer.placement.autoscalers.cost import costs
from gitplacer.placement.autoscalers.exact import Answer, Offer, Place, Question, cheapest
from gitplacer.placement.nodes import Amounts, Nodes


class Kind(Struct, frozen=True):
    """Pods of one shape: what each asks for, how many there are, and how many each machine that is there takes of them."""

    shape: PodShape
    row: Amounts
    count: int
    able: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def cost_of(nodes: Nodes, opened: Sequence[str]) -> int:
    """What machines that one attempt opened cost."""
    each = costs(nodes.types, nodes.type_row)
    return sum(each[key] for key in opened)


def cheaper(
    nodes: Nodes, free: Amounts, kinds: Sequence[Kind], left: Mapping[str, int], below: int | None
) -> Answer | None:
    """A way to place all kinds that costs less than `below`, best of all the cheapest; None if none was found."""
    if not kinds or not nodes.types:
        return None
    columns = np.flatnonzero(np.any(np.array([kind.row for kind in kinds]), axis=0))
    return cheapest(
        Question(
            asks=tuple(tuple(kind.row[columns].tolist()) for kind in kinds),
            wanted=tuple(kind.count for kind in kinds),
            places=tuple(_places(free, kinds, columns)),
            offers=tuple(_offers(nodes, kinds, columns)),
            left=left,
        ),
        below,
    )


def _places(
    free: Amounts, kinds: Sequence[Kind], columns: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
) -> list[Place]:
    useful = np.flatnonzero(np.any(np.array([kind.able for kind in kinds]), axis=0))
    return [
        Place(int(machine), tuple(free[machine, columns].tolist()), tuple(bool(kind.mask[machine]) for kind in kinds))
        for machine in useful
    ]


def _offers(
    nodes: Nodes, kinds: Sequence[Kind], columns: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
) -> list[Offer]:
    each = costs(nodes.types, nodes.type_row)
    found: dict[tuple[object, ...], Offer] = {}
    for key, type_ in sorted(nodes.types.items()):
        admits = tuple(nodes.type_admits(kind.shape, key) for kind in kinds)
        if any(admits):
            room = tuple(nodes.type_row[key][columns].tolist())
            offer = Offer(key, each[key], room, admits, type_.draws)
            found.setdefault((offer.cost, room, admits, type_.draws), offer)
    return list(found.values())

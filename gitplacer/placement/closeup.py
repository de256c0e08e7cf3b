"""
One gang on one cluster, node by node: which nodes take no more of it, for which reason, and what each of them lacks.

The planner's ledger is asked once more and says where the pods sat that found room, and why every node took no further one. Here that
count is taken apart again: nodes that refuse for the same reason and lack the same are told together, and the numbers of
nodes add up to the planner's own. Of pods with rules about other pods it is the scheduler's search that refuses, so of nodes
that only such a rule closes nobody knows more than how many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gitplacer.model.decision import Reason, Tally
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Gang, PodShape
from gitplacer.placement.books import Books
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Amounts
from gitplacer.placement.pack import Packing, Shortfall


class Refusal(Struct, frozen=True):
    """
    `count` nodes that refuse for one reason; `nodes` are their names, none where nobody knows which. `lacks` is what one more pod
    asks for and is not free on any of them.
    """

    reason: Reason
    subject: str
    count: int
    nodes: tuple[str, ...] = ()
    lacks: Resources = NOTHING


class Closeup(Struct, frozen=True, kw_only=True):
    """
    Of a role that does not fit `placed` of `wanted` pods, each asking `requests`, and why each of the cluster's nodes takes no more,
    most nodes first. `tally` is the planner's count of the same.
    """

    role: str
    placed: int
    wanted: int
    requests: Resources
    refusals: tuple[Refusal, ...]
    tally: tuple[Tally, ...]


def closeup(books: Books, gang: Gang, name: str, *, scale_up: bool) -> Closeup | None:
    """Why a gang does not fit a cluster as its ledger stands; None if it fits, or there is no ledger."""
    if name not in books:
        return None
    found = books.fit(gang, name, scale_up=False)
    if isinstance(found, Shortfall) and scale_up and books[name].nodes.types:
        found = books.fit(gang, name, scale_up=True)
    if isinstance(found, Packing):
        return None
    shape = next((pods.shape for pods in gang if pods.role == found.role), None)
    if shape is None:
        return None
    return Closeup(
        role=found.role, placed=found.placed, wanted=found.wanted, requests=shape.requests,
        refusals=_refusals(books[name], shape, found), tally=found.tally,
    )  # fmt: skip


def _refusals(ledger: Ledger, shape: PodShape, found: Shortfall) -> tuple[Refusal, ...]:
    nodes, left = ledger.nodes, Counter({(t.reason, t.subject): t.nodes for t in found.tally})
    free = ledger.free_on_nodes().copy()
    for use in found.uses:
        if use.machine < len(free):
            free[use.machine] -= use.row * use.number
    alike: dict[tuple[Reason, str, Resources], list[str]] = {}
    row = nodes.columns.asked(shape)
    for index, machine in enumerate(nodes.machines):
        obstacle = nodes.obstacle(shape, machine.shape, machine.name)
        lacks = NOTHING if obstacle is not None else _lacking(ledger, row, free[index])
        reason = obstacle or (Reason.INSUFFICIENT_CAPACITY, _scarcest(ledger, row, free[index]))
        if left[reason] > 0:
            left[reason] -= 1
            alike.setdefault((*reason, lacks), []).append(machine.name)
    told = [Refusal(reason, subject, len(names), tuple(names), lacks) for (reason, subject, lacks), names in alike.items()]  # fmt: skip
    told += [Refusal(reason, subject, count) for (reason, subject), count in sorted(left.items()) if count]
    return tuple(sorted(told, key=_rank))


def _rank(refusal: Refusal) -> tuple[int, str, str, Sequence[str]]:
    return -refusal.count, refusal.reason.value, refusal.subject, refusal.nodes


def _lacking(ledger: Ledger, row: Amounts, free: Amounts) -> Resources:
    """What one more pod lacks on a machine."""
    missing = np.clip(row - np.maximum(free, 0), 0, None)
    missing[row == 0] = 0
    return Resources({name: value for name, value in ledger.columns.resources(missing).items() if value})


def _scarcest(ledger: Ledger, row: Amounts, free: Amounts) -> str:
    """The resource of which a machine lacks the largest share of a request, devices before others."""
    asked = np.flatnonzero(row)
    lacking = (row[asked] - free[asked]) / row[asked]
    weight = np.where(lacking > 0, lacking + 10.0 * ledger.columns.devices[asked], 0.0)
    return ledger.columns.names[int(asked[weight.argmax()])]

"""
What a cluster says of itself: numbers that are taken make a ledger in which no node has more free than it offers, and a reservation never
takes more than was free.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from fuzzing.own import own_documents
from fuzzing.target import Target, expect, expect_well_said
from gitplacer.kinds import fields
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.fleet import Cluster
from gitplacer.model import quantity
from gitplacer.model.resources import Resources
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing
from gitplacer.plausible import implausible
from gitplacer.problems import Severity

_MOST_NODES = 200
_GANG = (PodSet("worker/w", 3, PodShape(Resources({"cpu": 1500, "nvidia.com/gpu": 1}))),)


def check(data: bytes) -> None:
    for document, found in own_documents(data):
        if not isinstance(found, CapacitySnapshot):
            continue
        problems = list(implausible(found, document))
        expect_well_said(data, problems)
        whole = all(problem.severity is not Severity.ERROR for problem in problems)
        if whole and sum(node.count for node in found.nodes) <= _MOST_NODES:
            _check_books(found)


def _check_books(snapshot: CapacitySnapshot) -> None:
    cluster = Cluster.model_validate(
        {"apiVersion": API_VERSION, "kind": "Cluster", "metadata": {"name": snapshot.name}, "spec": {}}
    )
    ledger = Ledger(cluster, snapshot, Columns.of([snapshot], [cluster], [_GANG]))
    free = ledger.free_on_nodes()
    offered = ledger.nodes.allocatable
    expect(bool(np.all(free <= offered)), "a node has more free than it offers")
    expect(bool(np.all(offered >= 0)), "a node offers less than nothing")
    packing = ledger.fit(_GANG, scale_up=False)
    if isinstance(packing, Packing):
        twin = ledger.copy()
        twin.reserve("a/b", packing, _GANG)
        expect(bool(np.all(twin.free_on_nodes() <= free)), "a reservation makes room")
        expect(bool(np.all((twin.free_on_nodes() >= 0) | (free < 0))), "a reservation takes more than is free")
        expect(bool(np.all(ledger.free_on_nodes() == free)), "a copy writes into what it was made of")


@contextmanager
def _any_sign() -> Iterator[None]:
    with mock.patch.object(fields, "_amount", lambda name, text: int(quantity.parse(text))):
        yield
    fields._amounts_of.cache_clear()  # it would remember what it took


TARGET = Target(
    check=check,
    bug="a negative quantity is an amount",
    planted=_any_sign,
    structured=True,
)

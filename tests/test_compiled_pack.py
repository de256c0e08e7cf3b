"""Machine code packs as array operations do: the same pods on the same machines, and the same said where they do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.model.workload import Gang
from gitplacer.placement import pack as packing
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Room, Shortfall
from gitplacer.scheduler.patience import Patience
from tests.test_survey import GANGS, NODES, cluster, snapshot


def told(found: Packing | Shortfall) -> Any:
    """All that there is to say of it, in values that can be compared."""
    uses = [(use.machine, use.row.tolist(), use.number, use.pods) for use in found.uses]
    if isinstance(found, Packing):
        return uses, found.opened, found.on_promised
    return uses, found.role, found.placed, found.wanted, found.short, found.tally, found.code


@pytest.fixture(scope="module", autouse=True)
def restored() -> Any:
    before = packing.PACKS
    yield
    packing.PACKS = before


MANY = st.builds(
    lambda gang, times: tuple(replace(pods, count=pods.count * times) for pods in gang),
    GANGS,
    st.sampled_from((1, 1, 9, 30)),
)


@given(
    nodes=st.lists(NODES, min_size=1, max_size=8),
    gang=MANY,
    taken=st.lists(st.integers(-2, 4), min_size=8, max_size=8),
)
def test_a_gang_is_packed_the_same_way(nodes: list[dict[str, Any]], gang: Gang, taken: list[int]) -> None:
    seen = snapshot("c", nodes)
    ledger = Ledger(cluster("c"), seen, Columns.of([seen], [], [gang]))
    free = ledger.free_on_nodes() - np.resize(taken, len(ledger.nodes.machines))[:, None]
    found = []
    for module in ("no.such.module", "gitplacer.placement.compiledpack"):
        packing.PACKS = Patience(module, 0)
        found.append(told(packing.pack(Room(ledger.nodes, free, (), {}), gang)))
        found.append(told(packing.pack_what_fits(Room(ledger.nodes, free, (), {}), gang)))
    event(f"packed: {len(found[0]) == 3}")
    assert found[:2] == found[2:]

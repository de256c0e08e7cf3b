"""Pods on machines that were opened for others: as if these were asked one by one, and thousands of them in few steps."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.counting import counted
from gitplacer.model.resources import Resources
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.placement.autoscalers.greedy import Opened
from tests.cheapestset import Case
from tests.test_cheapest_machines import opened
from tests.test_fit import ledger

AUTOSCALER = {
    "type": "Karpenter",
    "nodeTypes": [{"name": "t", "max": 5000, "allocatable": {"cpu": "9", "memory": "8Gi", "pods": "99"}}],
}


@pytest.mark.parametrize("seed", range(60))
def test_machines_are_filled_as_if_they_were_asked_one_by_one(seed: int) -> None:
    books, gang = opened(Case.drawn(seed))
    nodes, room = books.nodes, books.room()
    at_once, free = Opened(nodes, room.left), list[np.ndarray]()
    for pods in (*gang, *gang):
        row, asked, wanted = nodes.columns.asked(pods.shape), room.takes(pods.shape).asked, pods.count
        there = len(at_once.types)
        expected = []
        for index, key in enumerate(at_once.types):
            most = int((free[index][asked] // row[asked]).min()) if nodes.type_admits(pods.shape, key) else 0
            if count := min(wanted, max(0, most)):
                free[index] -= row * count
                expected.append((index, count))
                wanted -= count
        placed, over = at_once.place(pods.shape, row, pods.count)
        assert [entry for entry in placed if entry[0] < there] == expected
        for index, key in enumerate(at_once.types[there:], start=there):
            (count,) = [count for machine, count in placed if machine == index]
            free.append(nodes.type_row[key] - row * count)
            wanted -= count
        assert over == wanted
        admitting = [left for left, key in zip(free, at_once.types, strict=True) if nodes.type_admits(pods.shape, key)]
        assert at_once.free_for(pods.shape).tolist() == [left.tolist() for left in admitting]


def test_many_pods_do_not_ask_each_of_many_machines() -> None:
    large, *shapes = (
        PodShape(Resources({"cpu": 1000 - 2 * each, "memory": 2**30 if not each else 0}))
        for each in (0, *range(400, 440))
    )
    gang = tuple(PodSet(f"r{each}", 40, shape) for each, shape in enumerate((large, *shapes)))
    books = ledger([], gang, AUTOSCALER)

    def asked(machines: int) -> int:
        """The lines that are begun to put pods of all shapes on so many machines that are there."""
        there = Opened(books.nodes, books.room().left)
        there.place(large, books.nodes.columns.asked(large), 8 * machines)
        rows = {shape: books.nodes.columns.asked(shape) for shape in shapes}
        found = counted(lambda: [(there.place(shape, row, 1), there.free_for(shape)) for shape, row in rows.items()])
        assert len(there.types) == machines
        return sum(found.values())

    asked(10)
    assert asked(1000) <= asked(100)

"""
Whether a gang would find room at all: an exact answer, within a bound that is counted in steps.

A packing that was found is proof enough. That none was found is no proof of the contrary: each heuristic misses some. "Waiting
will not help" is a hard word, so it is said only where every way was tried, or where sums alone forbid it. A search that runs
out of steps proves nothing, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gitplacer.model.workload import Gang, PodShape
from gitplacer.placement.autoscalers.greedy import MOST_OPENED
from gitplacer.placement.pack import Room

_STEPS = 20_000
"""A step is a count tried on a machine, or a look at how many pods of a kind it takes."""
_LARGEST = 400
"""Kinds of pods times machines. What is larger is not searched: the proofs by sums are all there is."""


class _Kind(Struct, frozen=True):
    """Pods of one shape: how many, what each asks for, and which machines admit it."""

    count: int
    row: tuple[int, ...]
    admitted: tuple[bool, ...]

    def places(self, machine: int, free: Sequence[int]) -> int:
        if not self.admitted[machine]:
            return 0
        return max(0, min(have // each for have, each in zip(free, self.row, strict=True) if each))


def has_room(room: Room, gang: Gang, *, scale_up: bool) -> bool | None:
    """Whether all pods of a gang can be placed in a room, machines that may be added included; None if that is open."""
    counts: Counter[PodShape] = Counter()
    for pods in gang:
        counts[pods.shape] += pods.count
    wanted = +counts
    if scale_up and wanted.total() > MOST_OPENED:
        return None
    nodes, real = room.nodes, len(room.nodes.machines)
    new = [key for key in sorted(nodes.types) for _ in range(_most(room, key, wanted.total()))] if scale_up else []
    rows = np.concatenate([room.free[:real], *(nodes.type_row[name][None, :] for name in new)])
    asked = [nodes.columns.asked(shape) for shape in wanted]
    columns = np.flatnonzero(np.any(asked, axis=0)) if asked else np.zeros(0, dtype=np.intp)
    free = [list(map(int, row)) for row in np.clip(rows[:, columns], 0, None)]
    kinds = []
    for (shape, count), row in zip(wanted.items(), asked, strict=True):
        admitted = (*nodes.admits(shape).tolist(), *(nodes.type_admits(shape, name) for name in new))
        kinds.append(_Kind(count, tuple(map(int, row[columns])), admitted))
    if _forbidden_by_sums(kinds, free):
        return False
    return _Search(kinds, free).answer() if len(kinds) * len(free) <= _LARGEST else None


def _most(room: Room, key: str, pods: int) -> int:
    """How many machines of a type may come, if none of another do: with several more than will, so that a no stays a no."""
    return room.nodes.types[key].how_many(room.left, pods)


def _forbidden_by_sums(kinds: Sequence[_Kind], free: Sequence[Sequence[int]]) -> bool:
    for kind in kinds:
        if sum(kind.places(machine, row) for machine, row in enumerate(free)) < kind.count:
            return True
    needs = zip(*([each * kind.count for each in kind.row] for kind in kinds), strict=True)
    return any(sum(need) > sum(have) for need, have in zip(needs, zip(*free, strict=True), strict=False))


class _OutOfSteps(Exception):
    """The search took as many steps as it may."""


class _Search:
    """Kind after kind, machine after machine, every count from the most to none; of equal machines one order only."""

    def __init__(self, kinds: Sequence[_Kind], free: list[list[int]]) -> None:
        self._free = free
        self._kinds = sorted(
            kinds, key=lambda kind: sum(kind.places(m, row) for m, row in enumerate(free)) / kind.count
        )
        self._steps = _STEPS

    def answer(self) -> bool | None:
        try:
            return self._kinds_from(0)
        except _OutOfSteps:
            return None

    def _kinds_from(self, index: int) -> bool:
        if index == len(self._kinds):
            return True
        self._spend(len(self._free) * (len(self._kinds) - index))
        for kind in self._kinds[index:]:
            if sum(kind.places(m, row) for m, row in enumerate(self._free)) < kind.count:
                return False
        # Machines that are equal to every kind still to come may be exchanged.
        looks = [
            (tuple(row), tuple(kind.admitted[m] for kind in self._kinds[index:])) for m, row in enumerate(self._free)
        ]
        order = sorted(range(len(looks)), key=lambda m: (looks[m], m))
        alike = [n > 0 and looks[m] == looks[order[n - 1]] for n, m in enumerate(order)]
        return self._place(index, order, alike, 0, self._kinds[index].count, 0)

    def _spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _OutOfSteps

    def _place(self, index: int, order: list[int], alike: list[bool], at: int, left: int, before: int) -> bool:
        """Place the pods that are left of a kind on the machines from one on; `before` went to the machine before it."""
        if not left:
            return self._kinds_from(index + 1)
        if at == len(order):
            return False
        kind, machine = self._kinds[index], order[at]
        row = self._free[machine]
        most = min(left, kind.places(machine, row))
        if alike[at]:
            most = min(most, before)
        for count in range(most, -1, -1):
            self._spend(1)
            for column, each in enumerate(kind.row):
                row[column] -= each * count
            found = self._place(index, order, alike, at + 1, left - count, count)
            for column, each in enumerate(kind.row):
                row[column] += each * count
            if found:
                return True
        return False

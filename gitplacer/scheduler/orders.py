"""
The orders and choices that a gang is tried against: everything that we can think of to make kube-scheduler paint itself
into a corner.

Pods of one class are alike, so an order is a sequence of classes. Bounds are numbers of runs and of pods bound, never seconds, so
that the same question always gets the same answer.

| orders | choices |
|---|---|
| as created, reversed, largest first, smallest first, in turn, by priority, each class first, each class last | LeastAllocated, MostAllocated, MostAllocated with devices; ties first, last, where they harm most, and drawn ten times |
| up to 160 shuffled | LeastAllocated; ties drawn, and every other one where they harm most |
| every fourth of these with the gang's first pod first | MostAllocated, with and without devices; ties drawn |

Pods of different priority are taken in that order only while they wait together. KubeRay makes them one after the other, and a
pod that comes early is bound before one that outranks it is there; so orders against the priority are tried too.

What is left open: on a cluster that packs (MostAllocated), a random order in which the gang's first pod comes somewhere in the
middle. KubeRay makes the head first. Of the gangs that kube-scheduler 1.34 placed in every one of 28 recorded runs, one in
twenty would be lost to `Fits` by trying these too (tests/data), and less than one in a hundred that `Fits` is refuted by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitplacer.scheduler.board import Board
from gitplacer.scheduler.simulation import Profile, Score

Order = tuple[int, ...]

_REAL: tuple[Score, ...] = ("spread", "pack", "pack devices")
"""What kube-scheduler can be configured to score resources by; RequestedToCapacityRatio lies between."""

DRAWS = 10
SHUFFLES = 160
SMALLEST_SHUFFLES = 12
BUDGET = 60_000
"""Pods bound in shuffled orders, and about as many with ties drawn, before fewer of these are tried; the rest is always tried."""
SINGLED_OUT = 8
"""Of so many classes each is tried first and last; of more, the largest."""


def shares(board: Board) -> tuple[float, ...]:
    """For each class, the largest share of what is free in all that one pod asks for: the scheduler's and our own measure of size."""
    totals = [max(1, total) for total in board.free_in_all]
    return tuple(max(ask / total for ask, total in zip(asks, totals, strict=True)) for asks in board.asks)


def named_orders(board: Board) -> tuple[tuple[str, Order], ...]:
    """Orders that have a name, each once."""
    given, numbers = board.class_of, range(len(board.classes))
    size = shares(board)
    largest = sorted(numbers, key=lambda k: (-size[k], k))
    found: dict[Order, str] = {}

    def add(name: str, order: Order) -> None:
        found.setdefault(order, name)

    add("as created", given)
    add("reversed", _grouped(board, reversed(numbers)))
    add("largest first", _grouped(board, largest))
    add("smallest first", _grouped(board, reversed(largest)))
    add("in turn", _in_turn(board))
    priority = [pod.priority for pod in board.classes]
    if len(set(priority)) > 1:
        add("by priority", tuple(sorted(given, key=lambda k: -priority[k])))
    for k in sorted(largest[:SINGLED_OUT]):
        name = board.names[k]
        others = tuple(j for j in given if j != k)
        add(f"{name} last", others + (k,) * board.counts[k])
        add(f"{name} first", (k,) * board.counts[k] + others)
    return tuple((name, order) for order, name in found.items())


def packing_orders(board: Board) -> tuple[Order, ...]:
    """Orders in which packings are looked for: those with the fewest possible nodes first, and the named ones."""
    size, state = shares(board), board.bound()
    nodes = [int((state.room(k) > 0).sum()) for k in range(len(board.classes))]
    scarce = sorted(range(len(board.classes)), key=lambda k: (nodes[k], -size[k], k))
    return tuple(dict.fromkeys([_grouped(board, scarce), *(order for _, order in named_orders(board))]))


def trials(board: Board, heads: Sequence[int] = ()) -> Iterator[tuple[str, Order, Profile]]:
    """
    Every order and profile that a gang must survive, the likeliest to refute it first. `heads` are the classes of which one pod is
    kept first in some, in turn; none means that of the first pod.
    """
    orders = named_orders(board)
    first = tuple(heads) or board.class_of[:1]
    for name, order in orders:
        for score in _REAL:
            yield name, order, Profile(score, "first")
    for number, order in enumerate(shuffled(board)):
        yield "shuffled", order, Profile("spread", "harm" if number % 2 else "drawn", number + 1)
        if number % 4 == 0:  # see the module: the first pod stays first
            begun = _first_kept(first[number // 4 % len(first)], order)
            yield (
                "shuffled after the first",
                begun,
                Profile("pack" if number % 8 else "pack devices", "drawn", number + 1),
            )
    draws = min(DRAWS, max(1, BUDGET // (2 * len(orders) * len(board.class_of))))
    for name, order in orders:
        for score in _REAL:
            yield name, order, Profile(score, "harm")
            yield name, order, Profile(score, "last")
            for draw in range(draws):
                yield name, order, Profile(score, "drawn", draw + 1)


def _first_kept(head: int, order: Order) -> Order:
    """An order in which a pod of one class, the head that KubeRay makes first, comes first."""
    at = order.index(head)
    return (head, *order[:at], *order[at + 1 :])


def _grouped(board: Board, classes: Iterator[int] | list[int]) -> Order:
    return tuple(k for k in classes for _ in range(board.counts[k]))


def _in_turn(board: Board) -> Order:
    left, order = list(board.counts), []
    while any(left):
        for k, count in enumerate(left):
            if count:
                order.append(k)
                left[k] -= 1
    return tuple(order)


def shuffled(board: Board) -> Iterator[Order]:
    """Random orders (Fisher and Yates, numbers by a linear congruential generator). One class has one order only."""
    size = len(board.class_of)
    if len(board.classes) < 2:
        return
    drawn = 88_172_645_463_325_252
    for _ in range(min(SHUFFLES, max(SMALLEST_SHUFFLES, BUDGET // size))):
        order = list(board.class_of)
        for last in range(size - 1, 0, -1):
            drawn = (drawn * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
            other = (drawn >> 33) % (last + 1)
            order[last], order[other] = order[other], order[last]
        yield tuple(order)

"""
Is there any assignment, in any order, that the filters accept?

Heuristics first: a dozen orders and greedy choices find nearly every packing that exists. Where they find none, a search goes
through all states that pods can be bound to, one by one, with the filters as they are at that moment; two states that differ
only in which of two like nodes holds what are one. It is bounded in steps. A search that ends says "impossible"; one that
runs out says so, and that is no proof.

Whatever is found is replayed through the filters by the caller before anybody hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import comb
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.scheduler.board import Board
from gitplacer.scheduler.ceilings import crowded
from gitplacer.scheduler.neighbours import Indexes
from gitplacer.scheduler.orders import Order, packing_orders, shares, shuffled
from gitplacer.scheduler.simulation import Profile, Run, Score, harms, simulate

STEPS = 20_000
"""Pods bound and taken away again by one search."""
SHUFFLES = 60
"""Random orders in which a packing is looked for when the first steps of the search do not end it."""
WIDEST = 400
"""A gang of more pods is not searched: no search of this kind ends for it."""

Outcome = Literal["found", "impossible", "unknown"]
_SCORES: tuple[Score, ...] = (
    "fullest", "gentle", "pack", "first", "spread", "emptiest",
)  # fmt: skip


class Packing(Struct, frozen=True):
    """What came of looking: pods as (class, node) in an order that the filters accept, and how many were bound on the way."""

    outcome: Outcome
    bound: tuple[tuple[int, int], ...] = ()
    steps: int = 0


def find(board: Board) -> Packing:
    """Look for a packing of the whole gang."""
    if crowded(board, board.bound(), list(board.counts)):
        return Packing("impossible")
    steps = 0
    ways: tuple[Callable[[], Packing], ...] = (
        lambda: greedily(board),
        lambda: search(board, STEPS // 10),
        lambda: _first_whole(board, islice(shuffled(board), SHUFFLES), _SCORES[:2]),
        lambda: search(board),
    )
    found = Packing("unknown")
    for way in ways:
        found = way()
        steps += found.steps
        if found.outcome != "unknown":
            break
    return replace(found, steps=steps)


def greedily(board: Board) -> Packing:
    """A packing that one of the greedy rules finds: a dozen orders, and some ways to choose a node."""
    return _first_whole(board, packing_orders(board), _SCORES)


def _first_whole(board: Board, orders: Iterable[Order], scores: Sequence[Score]) -> Packing:
    """The first run that leaves nobody out."""
    steps = 0
    for order in orders:
        for score in scores:
            run = simulate(board, order, Profile(score, "first"))
            steps += len(run.bound)
            if not run.left:
                return Packing("found", run.bound, steps)
    return Packing("unknown", steps=steps)


def closest(board: Board) -> Run:
    """The run of a greedy rule that places the most pods, to say what is missing."""
    best: Run | None = None
    for order in packing_orders(board)[:4]:
        for score in _SCORES[:2]:
            run = simulate(board, order, Profile(score, "first"), whole=False)
            if best is None or len(run.bound) > len(best.bound):
                best = run
    assert best is not None
    return best


def replay(board: Board, bound: tuple[tuple[int, int], ...]) -> bool:
    """Whether the filters accept every pod in this order, and whether it is the whole gang."""
    state, left = board.bound(), list(board.counts)
    for k, node in bound:
        if not state.allows(k)[node]:
            return False
        state.bind(k, node)
        left[k] -= 1
    return not any(left)


# -- the search ---------------------------------------------------------------------------------------------------


def search(board: Board, limit: int = STEPS) -> Packing:
    """
    Go through the states that the filters allow, depth first, the fullest node first. Classes that can be spread over nodes
    in the fewest ways come first, so that for the last one it is enough to count places; if that runs out of steps, the
    scarcest class comes first.
    """
    if len(board.class_of) > WIDEST:
        return Packing("unknown")
    size, state = shares(board), board.bound()
    nodes = [int((state.room(k) > 0).sum()) for k in range(len(board.classes))]
    numbers = range(len(board.classes))
    few = sorted(numbers, key=lambda k: (comb(board.counts[k] + nodes[k], nodes[k]), k))
    scarce = sorted(numbers, key=lambda k: (nodes[k], -size[k], k))
    found = Packing("unknown")
    for rank in (few, scarce) if few != scarce else (few,):
        found = _Search(board, rank, limit).run()
        if found.outcome != "unknown":
            break
    return found


class _Search:
    """One search: the state that it is in, where it has been, and the steps that it has taken."""

    def __init__(self, board: Board, rank: list[int], limit: int) -> None:
        self._board = board
        self._rank = rank
        self._limit = limit
        self._state = board.bound()
        self._left = list(board.counts)
        self._path: list[tuple[int, int, int]] = []
        self._seen: set[bytes] = set()
        self._alike = _alike(board)

    def run(self) -> Packing:
        steps = 0
        stack: list[Iterator[tuple[int, int]]] = [self._moves()]
        while stack:
            if not any(self._left):
                return Packing("found", tuple((k, node) for k, node, _ in self._path), steps)
            move = next(stack[-1], None)
            if move is None:
                stack.pop()
                self._back()
                continue
            if steps >= self._limit:
                return Packing("unknown", steps=steps)
            steps += 1
            k, node = move
            self._path.append((k, node, int(self._state.load[node])))
            self._state.bind(k, node)
            self._left[k] -= 1
            if self._hopeless():
                self._back()
            else:
                stack.append(self._moves())
        return Packing("impossible", steps=steps)

    def _back(self) -> None:
        if self._path:
            k, node, before = self._path.pop()
            self._state.unbind(k, node, before)
            self._left[k] += 1

    def _hopeless(self) -> bool:
        """Whether this state has been looked at, or some class has too few places left even by itself."""
        if crowded(self._board, self._state, self._left):
            return True
        key = self._alike[np.lexsort((self._state.load, self._alike))].tobytes()
        state = key + self._state.load[np.lexsort((self._state.load, self._alike))].tobytes()
        if state in self._seen:
            return True
        self._seen.add(state)
        return False

    def _moves(self) -> Iterator[tuple[int, int]]:
        """
        What can be bound next. Where the order makes no difference the next class is given; else any may be next. Of nodes
        that are alike one is tried.
        """
        board, loads = self._board, self._board.loads
        for k in self._rank:
            if not self._left[k]:
                continue
            nodes: Indexes = np.flatnonzero(self._state.allows(k))
            like: dict[tuple[int, int], int] = {}
            for node, load in zip(nodes.tolist(), self._state.load[nodes].tolist(), strict=True):
                like.setdefault((int(self._alike[node]), load), node)
            harm = harms(board, self._state, k, self._left, {load for _, load in like})
            for _, node in sorted(
                like.items(), key=lambda item: (harm[item[0][1]], loads.room[k, item[0][1]], item[1])
            ):
                yield k, node
            if self._board.orderless:
                return


def _alike(board: Board) -> Indexes:
    """
    A number for each node; nodes of one number and one load may be exchanged. They are in the same domains of every counter, or each
    is a domain by itself that starts from the same number.
    """
    numbers: dict[tuple[object, ...], int] = {}
    found = []
    sizes = [np.bincount(c.of[c.of >= 0], minlength=len(c.base)) for c in board.counters]
    for node in range(len(board.nodes)):
        parts: list[object] = []
        for counter, size in zip(board.counters, sizes, strict=True):
            domain = int(counter.of[node])
            alone = domain >= 0 and size[domain] == 1
            here = ("alone", int(counter.base[domain])) if alone else domain
            parts.append((here, bool(counter.counted[node])))
        found.append(numbers.setdefault(tuple(parts), len(numbers)))
    return np.array(found, dtype=np.intp)

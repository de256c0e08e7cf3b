"""
The cheapest set of new machines for a gang, beside the room that is there.

First, what the machines that are there can take: every rest of the gang that may be left over, none of which is part of
another. Then machines are added to a rest until nothing is left, always one that holds some of the first kind of pod that is left,
filled to the brim; a best-first search whose estimate never exceeds what is really needed, so the first set that it completes is
one of least cost. Limits on what may be added are looked at only if the best set without them breaks one.

The number of steps is bounded. A search that runs out has no answer, and the caller keeps the set that it had.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.placement.autoscalers.patterns import OutOfSteps, Steps, Vector, cut, least, maximal

MOST_STEPS = 20_000
"""Of one search. A gang of ordinary size needs some hundreds; all of them take about a quarter of a second."""
_MOST_RESTS = 64
"""How many rests are followed from machine to machine; beyond, those that leave least."""


class Offer(Struct, frozen=True):
    """A type of machine as one gang sees it: its room in the resources asked for, and which kinds of pods it admits."""

    key: str
    cost: int
    room: Vector
    admits: tuple[bool, ...]
    draws: tuple[tuple[str, int], ...] = ()


class Place(Struct, frozen=True):
    """A machine that is there, in the same terms."""

    machine: int
    room: Vector
    admits: tuple[bool, ...]


class Question(Struct, frozen=True):
    """A gang as kinds of pods: what each asks for and how many are wanted."""

    asks: tuple[Vector, ...]
    wanted: Vector
    places: tuple[Place, ...]
    offers: tuple[Offer, ...]
    left: Mapping[str, int]


class Answer(Struct, frozen=True):
    """How the pods go on machines that are there, and on each machine that is added."""

    cost: int
    there: tuple[tuple[int, Vector], ...]
    added: tuple[tuple[str, Vector], ...]


def cheapest(question: Question, below: int | None = None, steps: int = MOST_STEPS) -> Answer | None:
    """
    The cheapest way to place a gang, if there is one, it costs less than `below`, and it is found in time.

    Ties are broken by the order of the offers.
    """
    bound = Steps(steps)
    try:
        rests = _rests(question, bound)
        found = _Search(replace(question, offers=_worth_a_look(question.offers)), rests, below, bound).run()
        if found is not None and not _within(found, question):
            found = _Search(question, rests, below, bound, limited=True).run()
        return found
    except OutOfSteps:
        return None


def _within(answer: Answer, question: Question) -> bool:
    draws = {offer.key: offer.draws for offer in question.offers}
    drawn: Counter[str] = Counter()
    for key, _ in answer.added:
        drawn.update(dict(draws[key]))
    return all(amount <= question.left[limit] for limit, amount in drawn.items())


def _worth_a_look(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The offers that no other matches in everything for less, as far as limits do not count."""
    kept: list[Offer] = []
    for offer in sorted(offers, key=lambda offer: offer.cost):
        if not any(_matches(other, offer) for other in kept):
            kept.append(offer)
    return tuple(offer for offer in offers if offer in kept)


def _matches(better: Offer, other: Offer) -> bool:
    return all(a >= b for a, b in zip(better.room, other.room, strict=True)) and all(
        a >= b for a, b in zip(better.admits, other.admits, strict=True)
    )


# what is there


_There = tuple[tuple[int, Vector], ...]


def _rests(question: Question, steps: Steps) -> dict[Vector, _There]:
    """What may be left of a gang when the machines that are there are full of it, each with who is where."""
    rests: dict[Vector, _There] = {question.wanted: ()}
    known: dict[tuple[Vector, tuple[bool, ...]], list[Vector]] = {}
    for place in question.places:
        if not any(place.admits[kind] and rest[kind] for rest in rests for kind in range(len(question.wanted))):
            continue
        shape = (_as_needed(place.room, question), place.admits)
        if shape not in known:
            known[shape] = maximal(shape[0], question.asks, place.admits, question.wanted, steps)
        nearer: dict[Vector, _There] = {}
        for rest, there in rests.items():
            for pattern in known[shape]:
                steps.take()
                put = cut(pattern, rest)
                left = tuple(a - b for a, b in zip(rest, put, strict=True))
                if left not in nearer:
                    nearer[left] = (*there, (place.machine, put)) if any(put) else there
        rests = {rest: nearer[rest] for rest in least(nearer, steps)[:_MOST_RESTS]}
    return rests


def _as_needed(room: Vector, question: Question) -> Vector:
    """Room, but for what is more than the whole gang asks for: then machines that differ only in that are one shape."""
    most = [sum(ask[r] * n for ask, n in zip(question.asks, question.wanted, strict=True)) for r in range(len(room))]
    return tuple(max(0, min(have, need)) for have, need in zip(room, most, strict=True))


# what is added


_Left = tuple[int, ...]
_Link = tuple["_Link | None", int, Vector]
"""A machine that was added, and those before it."""


class _Search:
    """Best first, from every rest to none."""

    def __init__(
        self,
        question: Question,
        rests: Mapping[Vector, _There],
        below: int | None,
        steps: Steps,
        limited: bool = False,
    ) -> None:
        self._question = question
        self._offers = question.offers
        self._rests = rests
        self._below = below
        self._steps = steps
        pods = sum(question.wanted)
        draws = [dict(offer.draws) for offer in self._offers]
        binding = sorted(
            limit
            for limit, left in question.left.items()
            if limited and any(limit in drawn and drawn[limit] * pods > left for drawn in draws)
        )
        self._left: _Left = tuple(question.left[limit] for limit in binding)
        self._draws: list[_Left] = [tuple(drawn.get(limit, 0) for limit in binding) for drawn in draws]
        self._patterns = [
            maximal(_as_needed(offer.room, question), question.asks, offer.admits, question.wanted, steps)
            for offer in self._offers
        ]
        self._each = [self._least_for_one(kind) for kind in range(len(question.wanted))]
        self._unit = [self._least_for_amount(r) for r in range(len(question.asks[0]) if question.asks else 0)]

    def run(self) -> Answer | None:
        heap: list[tuple[int, int, int, Vector, _Left, Vector, _Link | None]] = []
        number = 0
        for start in self._rests:
            least_cost = self._at_least(start)
            if least_cost is not None and self._may_do(start):
                heapq.heappush(heap, (least_cost, number, 0, start, self._left, start, None))
                number += 1
        done: set[tuple[Vector, _Left]] = set()
        while heap:
            expected, _, cost, rest, left, start, link = heapq.heappop(heap)
            if self._below is not None and expected >= self._below:
                return None
            if not any(rest):
                return Answer(cost, self._rests[start], tuple(reversed(list(self._unlinked(link)))))
            if (rest, left) in done:
                continue
            done.add((rest, left))
            for index, put, nearer, still in self._moves(rest, left):
                more = cost + self._offers[index].cost
                least_cost = self._at_least(nearer)
                if least_cost is not None and (nearer, still) not in done:
                    number += 1
                    heapq.heappush(heap, (more + least_cost, number, more, nearer, still, start, (link, index, put)))
        return None

    def _may_do(self, rest: Vector) -> bool:
        """Whether all machines that the limits allow, each type taken alone, hold as many pods of each kind as are left."""
        pods = sum(rest)
        most = [
            min([pods, *(have // draw for have, draw in zip(self._left, draws, strict=True) if draw)])
            for draws in self._draws
        ]
        return all(
            wanted <= sum(n * max((p[kind] for p in patterns), default=0)
                          for n, patterns in zip(most, self._patterns, strict=True))
            for kind, wanted in enumerate(rest)
        )  # fmt: skip

    def _moves(self, rest: Vector, left: _Left) -> Iterator[tuple[int, Vector, Vector, _Left]]:
        """Each machine that may come next, what it holds, what is left of the gang then, and of the limits."""
        first = max(range(len(rest)), key=lambda kind: (rest[kind] > 0, self._each[kind] or (0, 1), -kind))
        for index, patterns in enumerate(self._patterns):
            still = tuple(a - b for a, b in zip(left, self._draws[index], strict=True))
            if any(amount < 0 for amount in still):
                continue
            seen: set[Vector] = set()
            for pattern in patterns:
                self._steps.take()
                put = cut(pattern, rest)
                if put[first] and put not in seen:
                    seen.add(put)
                    yield index, put, tuple(a - b for a, b in zip(rest, put, strict=True)), still

    def _unlinked(self, link: _Link | None) -> Iterator[tuple[str, Vector]]:
        while link is not None:
            before, index, put = link
            yield self._offers[index].key, put
            link = before

    # what a rest costs at least: no machine does better by a kind of pod, or by a resource, than the best one does

    def _at_least(self, rest: Vector) -> int | None:
        """A bound from below, or None where a kind of pod is left that no machine takes."""
        bound = 0
        for kind, wanted in enumerate(rest):
            if wanted:
                best = self._each[kind]
                if best is None:
                    return None
                bound = max(bound, -(-wanted * best[0] // best[1]))
        for resource, unit in enumerate(self._unit):
            if unit is not None:
                amount = sum(ask[resource] * n for ask, n in zip(self._question.asks, rest, strict=True))
                bound = max(bound, -(-amount * unit[0] // unit[1]))
        return bound

    def _least_for_one(self, kind: int) -> tuple[int, int] | None:
        """The cost of the machine that is cheapest for each pod of a kind, and how many it takes."""
        best: tuple[int, int] | None = None
        for offer, patterns in zip(self._offers, self._patterns, strict=True):
            most = max((pattern[kind] for pattern in patterns), default=0)
            if most and (best is None or offer.cost * best[1] < best[0] * most):
                best = (offer.cost, most)
        return best

    def _least_for_amount(self, resource: int) -> tuple[int, int] | None:
        """The same for a resource: None where some machine has none of it, or nobody asks for it."""
        best: tuple[int, int] | None = None
        for offer, patterns in zip(self._offers, self._patterns, strict=True):
            if not any(any(pattern) for pattern in patterns):
                continue
            amount = offer.room[resource]
            if amount > 0 and (best is None or offer.cost * best[1] < best[0] * amount):
                best = (offer.cost, amount)
        return best

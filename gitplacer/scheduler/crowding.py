"""
A proof that nobody is left out, whatever the scheduler does.

A pod of class k finds a node as long as some node still has a place for one. Pods of its own class take one place each. Pods of
other classes take places too, and there is a bound on how many:

* by pods: one of class j takes, on the one node where it goes, at most the largest share of its request in that of k, rounded up;
* by amounts: to lose m places on a node for want of a resource, others must take of it what k cannot use there anyway, and
  then m - 1 times what one of k asks. Where much lies idle, a place is dear; and all pods of other classes together have only
  so much to spend, of each resource.

Only pods that can be on a node of k's at all count, and no more of them than such nodes have places for. If there are more
places than can be taken, there is one for every pod of k in every order and with every choice. For identical pods this is
exact: they need as many places as there are pods. Rules about other pods are not looked at; who asks sees to it that the
classes in question have none.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from gitplacer.scheduler.patience import Patience

Ints = np.ndarray[Any, np.dtype[np.int64]]
Indexes = np.ndarray[Any, np.dtype[np.intp]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Small = np.ndarray[Any, np.dtype[np.int32]]
"""A large fleet has tens of thousands of classes, so the largest of their tables are of few bytes."""

_MOST = 2**62
_PLACES = 2**31 - 1
"""As many places of a class as are counted on one node, so that 32 bits hold them, and floats all sums of them. As many on some nodes are any number."""
_LARGE = 500
"""Nodes."""
_MOST_SORTED = 20_000
"""Nodes, of which the order of costs is kept. Kubernetes is meant for a quarter of them."""
_MOST_BITS = 62
"""Resources that are told as bits."""
_TANGENTS = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Where tangents are laid, as shares of what all others ask."""
_SLACK = 1 + 1e-9
"""Sums of floats that should be whole may come out a little below."""


def certain(
    places: Ints, asks: Ints, counts: Ints, free: Ints, clash: Mask | None = None, needed: Mask | None = None
) -> Mask:
    """
    For each class, whether each of its pods is sure to find a node. `places[k, n]` is how many pods of class k node n takes if
    no others come, `asks[k, r]` what one asks of resource r, `counts[k]` how many there are, `free[n, r]` what there is;
    `clash` and `needed` as in `Crowd.certain`.
    """
    crowd = Crowd(free)
    classes = [crowd.add(row, ask) for row, ask in zip(places, asks, strict=True)]
    return crowd.certain(np.array(classes, dtype=np.intp), counts, needed, clash)


class Coming(NamedTuple):
    """Some classes, how many pods of each come, and which of them must not be left out."""

    classes: Ints
    counts: Ints
    needed: Mask

    def beside(self, own: Ints, more: Ints, lucky: bool) -> Coming:
        """The same with some more pods, which must not be left out unless they are `lucky`."""
        counts, needed = self.counts.copy(), self.needed.copy()
        same = own[:, None] == self.classes
        known, at = same.any(axis=1), same.argmax(axis=1) if len(self.classes) else own
        counts[at[known]] += more[known]
        needed[at[known]] |= not lucky
        return Coming(
            np.append(self.classes, own[~known]),
            np.append(counts, more[~known]),
            np.append(needed, np.full(len(own) - int(known.sum()), not lucky)),
        )

    def only(self, which: Mask) -> Coming:
        """Some of them."""
        return Coming(self.classes[which], self.counts[which], self.needed[which])


class Kept(NamedTuple):
    """
    What machine code has found out about the places of each class (row), which `_Places` and `_Scarce` have of it: on how many nodes it has any, -1 as
    long as nobody has asked, and how many in all; and for the resources that were felt last, as bits, how many are given up and the most on one other
    node. By resource the least that spoils a place, how many costs were put in order, which are usual, and the averages; and that order. Without a
    row where nothing is kept.
    """

    counts: Ints
    by_resource: Ints
    usual: Mask
    average: Floats
    orders: Small

    @staticmethod
    def of(rows: int, nodes: int, columns: int) -> Kept:
        """So many rows, of classes that nobody has asked about."""
        orders = np.zeros((rows, columns, 2 * nodes if nodes <= _MOST_SORTED else 0), dtype=np.int32)
        return Kept(
            np.full((rows, 5), -1, dtype=np.int64), np.zeros((rows, columns, 2), dtype=np.int64),
            np.zeros((rows, columns), dtype=np.bool_), np.zeros((rows, columns)), orders,
        )  # fmt: skip


_NOTHING_KEPT = Kept.of(0, 0, 0)
CROWDS = Patience("gitplacer.scheduler.compiledcrowd", 5_000)
"""
Of this process; a step is a class that is added, several on a large cluster, or a question whether some are sure. One takes a tenth of a
millisecond; to load what answers them takes half a second, and to compile it ten, once on a machine.
"""


class Crowd:
    """Classes of pods that may come to some nodes, numbered as they are added. `free[n, r]` is what there is of resource r on node n."""

    def __init__(self, free: Ints, patience: Patience = CROWDS) -> None:
        self._free = free
        self._patience = patience
        self._places: list[_Places | None] = []
        """Of each class, once somebody asks."""
        size = 16
        self._rows: Small = np.zeros((size, len(free)), dtype=np.int32)
        self._asks: Ints = np.zeros((size, free.shape[1]), dtype=np.int64)
        self._totals: Ints = np.zeros(size, dtype=np.int64)
        self._most: Ints = np.zeros(size, dtype=np.int64)
        self._shared: Small = np.zeros((size, size), dtype=np.int32)
        """
        On the nodes that take one class (row), the places of another (column); as many as are counted are any number. It is asked who does harm to one,
        of all others together, so that these stand side by side.
        """
        self._loss: Small = np.zeros((size, size), dtype=np.int32)
        """The most places of one class (row) that a pod of another (column) takes on one node."""
        self._kept = Kept.of(size, *free.shape) if self._keeps else _NOTHING_KEPT

    @property
    def _keeps(self) -> bool:
        """Whether a look at all places takes so long that what it finds out is kept; it is a few bytes for each class and resource."""
        return len(self._free) >= _LARGE and self._free.shape[1] <= _MOST_BITS

    def add(self, places: Ints, ask: Ints) -> int:
        """A class of which a pod asks so much, and each node takes so many if no others come; its number."""
        new = self._new()
        places = np.minimum(places, _PLACES)
        known = slice(new + 1)
        self._rows[new], self._asks[new] = places, ask
        rows = self._rows[known].astype(np.float64)
        self._totals[new], self._most[new] = places.sum(), places.max(initial=0)
        self._shared[new, known] = np.minimum(rows @ (rows[new] > 0), _PLACES)
        self._shared[known, new] = np.minimum((rows > 0) @ rows[new], _PLACES)
        asks = self._asks[known]
        self._loss[new, known] = np.minimum(_loss(asks, ask[None, :])[:, 0], self._most[new])
        self._loss[known, new] = np.minimum(_loss(ask[None, :], asks)[0], self._most[known])
        return new

    def admit(self, admitted: Mask, ask: Ints, most: int = _PLACES) -> int:
        """
        The same for a class of which pods may be on the nodes that are admitted, as many as find room on each; `most` of them, where they keep more of
        each other off.
        """
        compiled = self._patience.compiled
        if compiled is None:
            self._patience.spend(1 + len(self._places) * len(self._free) // 20_000)
            return self.add(np.minimum(capacity(self._free, ask, admitted), most), ask)
        new = self._new()
        compiled.admit(new, admitted, ask, most, self._free, *self._tables)
        return new

    def _new(self) -> int:
        """The number of a class that is to be written down in the tables."""
        new = len(self._places)
        if new == len(self._totals):
            self._rows, self._asks = _longer(self._rows), _longer(self._asks)
            self._totals, self._most = _longer(self._totals), _longer(self._most)
            self._shared, self._loss = _wider(self._shared), _wider(self._loss)
            if self._keeps:  # what is lost is found out again
                self._kept = Kept.of(len(self._totals), *self._free.shape)
        self._places.append(None)
        return new

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self._rows, self._asks, self._totals, self._most, self._shared, self._loss

    def _places_of(self, k: int) -> _Places:
        known = self._places[k]
        if known is None:
            known = self._places[k] = _Places(self._rows[k].astype(np.int64), self._asks[k], self._free)
        return known

    def sure(self, coming: Coming, own: Ints, more: Ints, lucky: bool) -> bool:
        """
        Whether all pods that must not be left out are sure to find a node, of those that are coming and as far as they can get in the
        way of some more, so many of each class in `own`; which must not be left out either, unless they are `lucky`.
        """
        compiled = self._patience.compiled
        if compiled is not None:
            found: bool = compiled.sure(self._free, *self._tables, *self._kept, *coming, own, more, lucky)
            return found
        self._patience.spend(1)
        asked = coming.beside(own, more, lucky)
        asked = asked.only(self.near(own, asked.classes))
        return bool(self.certain(*asked)[asked.needed].all())

    def unsure(self, coming: Coming, own: Ints, more: Ints, begin: int = 0) -> int | None:
        """
        None where so many more pods of each class in `own` are `sure` to find a node. Else the first class, as an index, of which so many without
        those of the others are not; those before `begin` are known to be. The number of classes if not all are that come together.
        """
        compiled = self._patience.compiled
        if compiled is not None:
            found: int = compiled.unsure(self._free, *self._tables, *self._kept, *coming, own, more, begin)
            return found if found >= 0 else None
        if self.sure(coming, own, more, False):
            return None
        for at in range(begin, len(own)):
            if not self.sure(coming, own[at : at + 1], more[at : at + 1], False):
                return at
        return len(own)

    def near(self, start: Indexes, among: Indexes) -> Mask:
        """Which classes share a node with one of `start`, or with one that does; `start` included."""
        begun = np.zeros(len(self._places), dtype=np.bool_)
        begun[start] = True
        reached: Mask = begun[among] | np.logical_or.reduce(self._shared[start[:, None], among] > 0, axis=0)
        if reached.all():
            return reached
        meets, count = self._shared[among[:, None], among] > 0, 0
        while np.count_nonzero(reached) > count:
            count = int(np.count_nonzero(reached))
            reached = reached | np.logical_or.reduce(meets[reached], axis=0)
        return reached

    def certain(self, classes: Indexes, counts: Ints, needed: Mask | None = None, clash: Mask | None = None) -> Mask:
        """
        For each of some classes, of which so many pods come, whether each of them is sure to find a node. `clash[k, j]`: a pod of class
        j keeps all of k off its node (host ports). Where it only matters whether all of some classes are sure, these are `needed`: others may then
        be called unsure, and all that follow the first of them that is.
        """
        pairs = classes[:, None], classes
        come, shared = counts[:, None], self._shared[pairs].T
        met = np.where(shared < _PLACES, np.minimum(come, shared), come)  # of class j, on nodes of k
        met.flat[:: len(classes) + 1] = 0
        loss = self._loss[pairs].T
        if clash is not None:
            loss = np.where(clash.T, self._most[classes][None, :], loss)
        room = self._totals[classes] - counts
        sure: Mask = room >= (met * loss).sum(axis=0)
        doubtful = ~sure if needed is None else ~sure & needed
        if needed is not None and (doubtful & (room < 0)).any():
            return sure
        asks = self._asks[classes]
        for k in np.flatnonzero(doubtful & (room >= 0)).tolist():
            if clash is None or not clash[k].any():
                sure[k] = self._places_of(classes[k]).stand(asks, met[:, k], int(room[k]))
            if needed is not None and not sure[k]:
                break
        return sure


def capacity(free: Ints, row: Ints, mask: Mask) -> Ints:
    """How many pods asking `row` each node takes: 0 where the mask forbids it or it is overcommitted."""
    asked = np.flatnonzero(row)
    room = free[:, asked] // row[asked]
    fits: Ints = np.clip(room.min(axis=1), 0, None)
    fits[~mask] = 0
    return fits


def _longer(table: Any) -> Any:
    """Half as many rows more: there are tens of thousands of tables, so none has many that nobody uses."""
    return np.concatenate([table, np.zeros((len(table) // 2, *table.shape[1:]), dtype=table.dtype)])


def _wider(table: Any) -> Any:
    """As many more rows and columns."""
    size = len(table) + len(table) // 2
    wide = np.zeros((size, size), dtype=table.dtype)
    wide[: len(table), : len(table)] = table
    return wide


def _loss(asks: Ints, of: Ints) -> Ints:
    """For a pod of one class (row), the most places of another (column) that it takes on one node."""
    asked = of > 0
    by_resource = -(-asks[:, None, :] // np.where(asked, of, 1)[None, :, :])
    found: Ints = np.where(asked[None, :, :], by_resource, 0).max(axis=2, initial=0)
    return found


class _Places:
    """The places for one class, counted with what lies idle beside them."""

    def __init__(self, places: Ints, ask: Ints, free: Ints) -> None:
        self._here = np.flatnonzero(places)
        self._own: Ints = places[self._here]
        self._asked = np.flatnonzero(ask)
        self._ask: Ints = ask[self._asked]
        self._free = free
        self._total = int(self._own.sum())
        self._scarce: dict[bytes, _Scarce] = {}

    @cached_property
    def _countable(self) -> bool:
        """Whether sums of what the places ask can be counted."""
        return int(self._ask.max(initial=0)) <= _MOST // (self._total + 1)

    @property
    def _first(self) -> Ints:
        """What others must take of each resource on each node for the first place there to go."""
        first: Ints = self._free[self._here][:, self._asked] - self._own[:, None] * self._ask + 1
        return first

    @cached_property
    def _cheapest(self) -> Floats:
        """The least of it on any node."""
        least: Floats = self._first.min(axis=0) * (1 - 1e-9)
        return least

    def stand(self, asks: Ints, met: Ints, most: int) -> bool:
        """Whether pods, so many of each class, of which one asks so much, take no more places than may be lost."""
        if not self._countable:
            return self._total <= most
        coming = np.flatnonzero(met)
        some: Floats = met[coming].astype(np.float64)
        others = asks[coming][:, self._asked]
        spent = some @ others
        felt: Mask = spent >= self._cheapest
        if not felt.any():  # there is not enough of it to spoil one place anywhere
            return True
        key = felt.tobytes()
        if key not in self._scarce:
            self._scarce[key] = _Scarce.of(self._own, self._ask[felt], self._first[:, felt])
        scarce, others = self._scarce[key], others[:, felt]
        return scarce.by_pod(others, some) <= most or scarce.by_amount(others, some, spent[felt].tolist()) <= most


class _Curve(Struct, frozen=True):
    """What places cost of one resource, rising; and up to and with those of a cost, how many places there are and how much they cost in all."""

    costs: array[float]
    places: array[float]
    spent: array[float]

    @staticmethod
    def of(own: Ints, ask: int, first: Ints) -> _Curve:
        """Where little lies idle the first place is cheap and others cost `ask`; else all cost the same on average."""
        cheap = first <= ask
        each = np.concatenate(
            [first[cheap], np.full(int(cheap.sum()), ask), (first + (own - 1) * ask)[~cheap] / own[~cheap]]
        )
        counts = np.concatenate([np.ones(int(cheap.sum())), own[cheap] - 1, own[~cheap]])
        costs, which = np.unique(each.astype(np.float64), return_inverse=True)
        alike = np.bincount(which, counts, len(costs))
        return _Curve(array("d", costs), array("d", np.cumsum(alike)), array("d", np.cumsum(costs * alike)))

    def tangent(self, amount: float) -> tuple[float, float]:
        """Where the tangent at an amount begins, in places, and how many places it gives for one more."""
        at = min(bisect_right(self.spent, amount), len(self.costs) - 1)
        slope = 1 / self.costs[at]
        return (self.places[at - 1] - self.spent[at - 1] * slope if at else 0.0), slope


class _Scarce(Struct, frozen=True):
    """
    The places for one class by the resources that others can make scarce: `ask` of them. `usual` are those that most nodes have idle no more
    than a pod asks; nodes that run short of others are `given_up`, with so many places, and the rest have `most` each at most. `average`
    is what a place costs there, where it costs least.
    """

    total: int
    ask: Ints
    usual: Mask
    given_up: int
    most: int
    average: Floats | None
    curves: tuple[_Curve, ...]

    @staticmethod
    def of(own: Ints, ask: Ints, first: Ints) -> _Scarce:
        scarce = first <= ask
        usual: Mask = scarce.mean(axis=0) >= 0.5
        given_up = scarce[:, ~usual].any(axis=1)
        good, average = ~given_up, None
        if good.any() and not usual.all():
            average = ((first + (own[:, None] - 1) * ask)[good] / own[good][:, None]).min(axis=0)
        curves = tuple(_Curve.of(own, int(ask[r]), first[:, r]) for r in range(len(ask)))
        return _Scarce(
            total=int(own.sum()), ask=ask, usual=usual, given_up=int(own[given_up].sum()),
            most=int(own[good].max(initial=0)), average=average, curves=curves,
        )  # fmt: skip

    def by_pod(self, others: Ints, met: Floats) -> int:
        """
        A pod is on one node, where its harm counts by one resource: the one of which the node runs short first. Where a resource
        lies idle on a node, it counts by what all places there cost on average; elsewhere by its share. Nodes that run short of what
        most have idle are given up.
        """
        shares = np.minimum(-(-others // self.ask), self.total)
        power = np.maximum.reduce(np.where(self.usual, shares, 0), axis=1, initial=0).astype(np.float64)
        if self.average is not None:
            power = np.maximum(power, np.maximum.reduce((others / self.average)[:, ~self.usual], axis=1))
        return self.given_up + math.floor(float(met @ np.minimum(power, self.most)) * _SLACK)

    def by_amount(self, others: Ints, met: Floats, spent: Sequence[float]) -> int:
        """
        How many places go for amounts of one resource grows less and less, since the cheapest go first; so it stays below each of
        its tangents. With one tangent for each resource, a pod does the harm that its dearest resource does by the slope, and what
        the tangents begin with is added. Any tangents will do; some are tried.
        """
        tangents = np.array(
            [[c.tangent(share * s) for c, s in zip(self.curves, spent, strict=True)] for share in _TANGENTS]
        )
        power: Floats = np.maximum.reduce(others[None, :, :] * tangents[:, None, :, 1], axis=2)
        found: Floats = tangents[:, :, 0].sum(axis=1) + power @ met
        best = min(float(self.total), float(found.min()))
        return math.floor(best * _SLACK)

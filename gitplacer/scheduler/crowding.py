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
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

Floats = np.ndarray[Any, np.dtype[np.float64]]

_MOST = 2**62
_TANGENTS = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Where tangents are laid, as shares of what all others ask."""


def certain(
    places: Ints, asks: Ints, counts: Ints, free: Ints, clash: Mask | None = None, needed: Mask | None = None
) -> Mask:
    """
    For each class, whether each of its pods is sure to find a node. `places[k, n]` is how many pods of class k node n takes if
    no others come, `asks[k, r]` what one asks of resource r, `counts[k]` how many there are, `free[n, r]` what there is;
    `clash[k, j]`: a pod of class j keeps all of k off its node (host ports). Who only asks whether all of some classes are sure
    says which are `needed`: others may then be called unsure, and all that follow the first of them that is.
    """
    open_to = places > 0
    met = np.minimum(counts[:, None], places @ open_to.T.astype(np.int64))  # of class j, on nodes of k
    np.fill_diagonal(met, 0)
    most = places.max(axis=1, initial=0)
    loss = np.minimum(_loss(asks), most[None, :])
    if clash is not None:
        loss = np.where(clash.T, most[None, :], loss)
    room = places.sum(axis=1) - counts
    sure: Mask = room >= (met * loss).sum(axis=0)
    doubtful = ~sure if needed is None else ~sure & needed
    if needed is not None and (doubtful & (room < 0)).any():
        return sure
    for k in np.flatnonzero(doubtful & (room >= 0)).tolist():
        if clash is None or not clash[k].any():
            sure[k] = room[k] >= _harm(k, places[k], asks, met[:, k], free)
        if needed is not None and not sure[k]:
            break
    return sure


def _loss(asks: Ints) -> Ints:
    """For a pod of class j (row), the most places of class k (column) that it takes on one node."""
    asked = asks > 0
    by_resource = -(-asks[:, None, :] // np.where(asked, asks, 1)[None, :, :])
    found: Ints = np.where(asked[None, :, :], by_resource, 0).max(axis=2, initial=0)
    return found


def _harm(k: int, places: Ints, asks: Ints, met: Ints, free: Ints) -> int:
    """The most places of class k that the pods that meet it can take, counted with what lies idle."""
    here = np.flatnonzero(places)
    asked = np.flatnonzero(asks[k])
    own, ask, others = places[here], asks[k][asked], asks[:, asked]
    if int(ask.max()) > _MOST // (int(own.sum()) + 1):
        return int(own.sum())  # sums of such amounts cannot be counted
    first = free[here][:, asked] - own[:, None] * ask + 1
    felt = met.astype(np.float64) @ others >= first.min(axis=0) * (
        1 - 1e-9
    )  # else there is not enough of it to spoil one place anywhere
    if not felt.any():
        return 0
    ask, others, first = ask[felt], others[:, felt], first[:, felt]
    by_pod = _by_pod(own, ask, first, others, met)
    return min(by_pod, _by_amount(own, ask, first, others, met))


def _by_pod(own: Ints, ask: Ints, first: Ints, others: Ints, met: Ints) -> int:
    """
    A pod is on one node, where its harm counts by one resource: the one of which the node runs short first. Where a resource
    lies idle on a node, it counts by what all places there cost on average; elsewhere by its share. Nodes that run short of what
    most have idle are given up.
    """
    shares = np.minimum(-(-others // ask), int(own.sum()))
    scarce = first <= ask
    usual = scarce.mean(axis=0) >= 0.5
    given_up = scarce[:, ~usual].any(axis=1)
    good = ~given_up
    power = np.where(usual, shares, 0).max(axis=1, initial=0).astype(np.float64)
    if good.any() and not usual.all():
        average = (first + (own[:, None] - 1) * ask)[good] / own[good][:, None]
        power = np.maximum(power, (others / average.min(axis=0))[:, ~usual].max(axis=1))
    most = int(own[good].max(initial=0))
    return int(own[given_up].sum()) + math.floor(float(met @ np.minimum(power, most)) * (1 + 1e-9))


def _by_amount(own: Ints, ask: Ints, first: Ints, others: Ints, met: Ints) -> int:
    """
    How many places go for amounts of one resource grows less and less, since the cheapest go first; so it stays below each of
    its tangents. With one tangent for each resource, a pod does the harm that its dearest resource does by the slope, and what
    the tangents begin with is added. Any tangents will do; some are tried.
    """
    spent = met.astype(np.float64) @ others
    curves = [_costs(own, int(ask[r]), first[:, r]) for r in range(len(ask))]
    best = float(own.sum())
    for share in _TANGENTS:
        tangents = [_tangent(curve, share * amount) for curve, amount in zip(curves, spent.tolist(), strict=True)]
        begin = sum(t[0] for t in tangents)
        power = (others * np.array([t[1] for t in tangents])).max(axis=1)
        best = min(best, begin + float(met @ power))
    return math.floor(best * (1 + 1e-9))


_Curve = tuple[Floats, Floats, Floats]
"""The cost of a place, rising; and up to and with those of a cost, how many places and how much they cost in all."""


def _costs(own: Ints, ask: int, first: Ints) -> _Curve:
    """What places cost: where little lies idle the first is cheap and others cost `ask`; else all cost the same on average."""
    cheap = first <= ask
    costs = np.concatenate(
        [first[cheap], np.full(int(cheap.sum()), ask), (first + (own - 1) * ask)[~cheap] / own[~cheap]]
    )
    counts = np.concatenate([np.ones(int(cheap.sum())), own[cheap] - 1, own[~cheap]])
    order = np.argsort(costs, kind="stable")
    costs, counts = costs[order].astype(np.float64), counts[order].astype(np.float64)
    return costs, np.cumsum(counts), np.cumsum(costs * counts)


def _tangent(curve: _Curve, amount: float) -> tuple[float, float]:
    """Where the tangent at an amount begins, in places, and how many places it gives for one more."""
    costs, places, spent = curve
    at = min(int(np.searchsorted(spent, amount, side="right")), len(costs) - 1)
    before = (float(places[at - 1]), float(spent[at - 1])) if at else (0.0, 0.0)
    slope = 1 / float(costs[at])
    return before[0] - before[1] * slope, slope

"""
A crowd's questions in machine code: what `crowding.Crowd` says of the classes that it knows, on the same tables.

Where thousands of gangs look for room in a large fleet, hundreds of thousands of proofs are sought, each a few operations on arrays so
short that calling numpy takes longer than they do. `crowding` has what is meant, with its reasons; here is the same in loops. The two are held equal
by a law (tests/test_compiled_crowd.py).
"""

from __future__ import annotations

import math

import numpy as np

from gitplacer.scheduler.crowding import Kept
from gitplacer.scheduler.machinecode import compiled

_TANGENTS = np.array([0.1, 0.25, 0.5, 0.75, 1.0])
_SLACK = 1 + 1e-9
_MOST = 2**62
_PLACES = 2**31 - 1
_NODES, _ALL, _FELT, _GIVEN_UP, _LARGEST = range(5)
_LEAST, _SORTED = range(2)


@compiled
def admit(new, admitted, ask, at_most, free, rows, asks, totals, most, shared, loss):
    """Write down a class, number `new`, of which a pod asks so much, and that is admitted on some nodes, `at_most` so many on each."""
    nodes, columns = free.shape
    asks[new] = ask
    total = largest = 0.0
    for n in range(nodes):
        fits = 0
        if admitted[n]:
            fits = at_most
            for r in range(columns):
                if ask[r] > 0:
                    fits = min(fits, free[n, r] // ask[r])
        rows[new, n] = fits
        total += fits
        largest = max(largest, fits)
    totals[new], most[new] = total, largest
    for k in range(new + 1):
        mine = theirs = 0.0
        for n in range(nodes):
            if rows[k, n] > 0 and rows[new, n] > 0:
                mine += rows[new, n]
                theirs += rows[k, n]
        shared[k, new], shared[new, k] = min(mine, _PLACES), min(theirs, _PLACES)
        loss[new, k] = min(_loss(asks[k], ask), most[new])
        loss[k, new] = min(_loss(ask, asks[k]), most[k])


@compiled
def _loss(ask, of):
    found = 0
    for r in range(len(ask)):
        if of[r] > 0:
            found = max(found, -(-ask[r] // of[r]))
    return found


@compiled
def _met(number, shared):
    """How many of so many pods are met at so many places."""
    return number if shared == _PLACES else min(number, shared)


@compiled
def sure(
    free, rows, asks, totals, most, shared, loss, known, by_resource, usual, average, orders, coming, counts, needed, own, more, lucky
):  # fmt: skip
    """As `Crowd.sure`."""
    kept = Kept(known, by_resource, usual, average, orders)
    size, asked = len(coming) + len(own), len(coming)
    classes = np.empty(size, dtype=np.int64)
    number = np.empty(size, dtype=np.int64)
    must = np.empty(size, dtype=np.bool_)
    near = np.zeros(size, dtype=np.bool_)
    classes[:asked], number[:asked], must[:asked] = coming, counts, needed
    queue = np.empty(size, dtype=np.int64)
    begun = ended = 0
    for i in range(len(own)):
        at = -1
        for j in range(asked):
            if classes[j] == own[i]:
                at = j
        if at < 0:
            at = asked
            classes[at], number[at], must[at] = own[i], 0, False
            asked += 1
        number[at] += more[i]
        must[at] |= not lucky
        if not near[at]:
            near[at] = True
            queue[ended] = at
            ended += 1
    met = np.zeros(asked, dtype=np.int64)
    for i in range(ended):  # these first, since mostly it is they who are not
        j = queue[i]
        k, room = classes[j], totals[classes[j]] - number[j]
        in_danger = must[j] and room < _harm(j, met, classes, number, shared, loss)
        if in_danger and (room < 0 or not _stand(free, rows[k], k, asks, kept, classes, met, room)):
            return False
    ours = ended
    while begun < ended:
        k = classes[queue[begun]]
        begun += 1
        for j in range(asked):
            if not near[j] and shared[k, classes[j]] > 0:
                near[j] = True
                queue[ended] = j
                ended += 1
    unsure = np.zeros(asked, dtype=np.bool_)
    for i in range(ours, ended):
        j = queue[i]
        room = totals[classes[j]] - number[j]
        unsure[j] = must[j] and room < _harm(j, met, classes, number, shared, loss)
        if unsure[j] and room < 0:
            return False
    for j in range(asked):
        if not unsure[j]:
            continue
        k = classes[j]
        _harm(j, met, classes, number, shared, loss)
        if not _stand(free, rows[k], k, asks, kept, classes, met, totals[k] - number[j]):
            return False
    return True


@compiled
def _harm(j, met, classes, number, shared, loss):
    """Of how many pods of each class those of one may lose places, which is written to `met`, and how many of these at most."""
    k, harm = classes[j], 0
    for i in range(len(met)):
        met[i] = _met(number[i], shared[k, classes[i]]) if i != j else 0
        harm += met[i] * loss[k, classes[i]]
    return harm


@compiled
def unsure(
    free, rows, asks, totals, most, shared, loss, known, by_resource, usual, average, orders, coming, counts, needed, own, more, begin
):  # fmt: skip
    """As `Crowd.unsure`, with -1 where they are sure."""
    tables = free, rows, asks, totals, most, shared, loss, known, by_resource, usual, average, orders
    if sure(*tables, coming, counts, needed, own, more, False):
        return -1
    for i in range(begin, len(own)):
        if not sure(*tables, coming, counts, needed, own[i : i + 1], more[i : i + 1], False):
            return i
    return len(own)


@compiled
def _stand(free, row, k, asks, kept, classes, met, most):
    """As `_Places.stand` of class k."""
    columns, ask = free.shape[1], asks[k]
    places, total, least = _places(row, free, ask, k, kept)
    largest = 0
    for r in range(columns):
        largest = max(largest, ask[r])
    if largest > _MOST // (total + 1):
        return total <= most
    come = 0
    for i in range(len(met)):
        come += met[i] > 0
    some = np.empty(come)
    who = np.empty(come, dtype=np.int64)
    come = 0
    for i in range(len(met)):
        if met[i] > 0:
            some[come], who[come] = met[i], classes[i]
            come += 1
    felt = np.empty(columns, dtype=np.int64)
    spent = np.empty(columns)
    wide = 0
    for r in range(columns):
        if ask[r] <= 0:
            continue
        amount = 0.0
        for i in range(come):
            amount += some[i] * asks[who[i], r]
        if amount >= least[r] * (1 - 1e-9):
            felt[wide], spent[wide] = r, amount
            wide += 1
    if wide == 0:
        return True
    felt, spent = felt[:wide], spent[:wide]
    others = np.empty((come, wide), dtype=np.int64)
    for c in range(wide):
        for i in range(come):
            others[i, c] = asks[who[i], felt[c]]
    if _by_pod(places, total, row, free, ask, felt, k, kept, others, some) <= most:
        return True
    own = np.empty(places, dtype=np.int64)
    first = np.empty((places, wide), dtype=np.int64)
    places = 0
    for n in range(len(row)):
        if row[n] > 0:
            own[places] = int(row[n])
            for c in range(wide):
                first[places, c] = _first(free, n, row, ask, felt[c])
            places += 1
    return _by_amount(total, own, ask, felt, first, k, kept, others, some, spent) <= most


@compiled
def _first(free, n, row, ask, r):
    """What others must take of a resource on a node for the first place there to go."""
    return free[n, r] - int(row[n]) * ask[r] + 1


@compiled
def _places(row, free, ask, k, kept):
    """On how many nodes class k has places, how many in all, and of each resource the least that spoils one."""
    keeps = len(kept.counts) > 0
    if keeps and kept.counts[k, _NODES] >= 0:
        return kept.counts[k, _NODES], kept.counts[k, _ALL], kept.by_resource[k, :, _LEAST]
    nodes, total = 0, 0
    least = np.full(len(ask), _MOST)
    for n in range(len(row)):
        if row[n] > 0:
            nodes += 1
            total += int(row[n])
            for r in range(len(ask)):
                if ask[r] > 0:
                    least[r] = min(least[r], _first(free, n, row, ask, r))
    if keeps:
        kept.counts[k, _NODES], kept.counts[k, _ALL] = nodes, total
        kept.by_resource[k, :, _LEAST] = least
    return nodes, total, least


@compiled
def _by_pod(places, total, row, free, ask, felt, k, kept, others, met):
    """As `_Scarce.by_pod`."""
    given_up, most, usual, average = _worth(places, row, free, ask, felt, k, kept)
    lost = 0.0
    for i in range(len(met)):
        power = 0.0
        for c in range(len(felt)):
            r = felt[c]
            if usual[r]:
                power = max(power, np.float64(min(-(-others[i, c] // ask[r]), total)))
            elif most:
                power = max(power, others[i, c] / average[r])
        lost += met[i] * min(power, np.float64(most))
    return given_up + math.floor(lost * _SLACK)


@compiled
def _worth(places, row, free, ask, felt, k, kept):
    """As in `_Scarce.of`: how many places are given up, the most on one of the other nodes, and by resource which are usual, and the averages."""
    mask = 0
    for c in range(len(felt)):
        mask |= 1 << felt[c]
    keeps = len(kept.counts) > 0
    if keeps and kept.counts[k, _FELT] == mask:
        return kept.counts[k, _GIVEN_UP], kept.counts[k, _LARGEST], kept.usual[k], kept.average[k]
    usual = np.zeros(len(ask), dtype=np.bool_)
    average = np.full(len(ask), np.inf)
    for c in range(len(felt)):
        r, scarce = felt[c], 0
        for n in range(len(row)):
            if row[n] > 0:
                scarce += _first(free, n, row, ask, r) <= ask[r]
        usual[r] = scarce / places >= 0.5
    given_up, most = 0, 0
    for n in range(len(row)):
        if row[n] == 0:
            continue
        own, short = int(row[n]), False
        for c in range(len(felt)):
            r = felt[c]
            short |= not usual[r] and _first(free, n, row, ask, r) <= ask[r]
        if short:
            given_up += own
            continue
        most = max(most, own)
        for c in range(len(felt)):
            r = felt[c]
            average[r] = min(average[r], (_first(free, n, row, ask, r) + (own - 1) * ask[r]) / own)
    if keeps:
        kept.counts[k, _FELT], kept.counts[k, _GIVEN_UP], kept.counts[k, _LARGEST] = mask, given_up, most
        kept.usual[k], kept.average[k] = usual, average
    return given_up, most, usual, average


@compiled
def _by_amount(total, own, ask, felt, first, k, kept, others, met, spent):
    """As `_Scarce.by_amount`."""
    wide, tangents = len(felt), len(_TANGENTS)
    begin = np.zeros(tangents)
    slope = np.empty((tangents, wide))
    for c in range(wide):
        costs, places, dear, size = _curve(own, ask[felt[c]], first[:, c], k, felt[c], kept)
        for t in range(tangents):
            amount = _TANGENTS[t] * spent[c]
            at = 0
            while at < size and dear[at] <= amount:
                at += 1
            at = min(at, size - 1)
            slope[t, c] = 1 / costs[at]
            if at:
                begin[t] += places[at - 1] - dear[at - 1] * slope[t, c]
    best = np.float64(total)
    for t in range(tangents):
        found = begin[t]
        lost = 0.0
        for i in range(len(met)):
            power = 0.0
            for c in range(wide):
                power = max(power, others[i, c] * slope[t, c])
            lost += power * met[i]
        best = min(best, found + lost)
    return math.floor(best * _SLACK)


@compiled
def _curve(own, ask, first, k, r, kept):
    """As `_Curve.of`: costs, places up to and with each, what they cost in all, and how many costs there are."""
    places = len(own)
    each = np.empty(2 * places)
    counts = np.empty(2 * places)
    size = 0
    for p in range(places):
        if first[p] <= ask:
            each[size], counts[size] = first[p], 1
            each[size + 1], counts[size + 1] = ask, own[p] - 1
            size += 2
        else:
            each[size], counts[size] = (first[p] + (own[p] - 1) * ask) / own[p], own[p]
            size += 1
    order = _order(each[:size], k, r, kept)
    costs = np.empty(size)
    alike = np.zeros(size)
    found = 0
    for i in range(size):
        cost = each[order[i]]
        if found == 0 or cost != costs[found - 1]:
            costs[found] = cost
            found += 1
        alike[found - 1] += counts[order[i]]
    up_to, spent = np.empty(found), np.empty(found)
    so_many, so_much = 0.0, 0.0
    for i in range(found):
        so_many += alike[i]
        so_much += costs[i] * alike[i]
        up_to[i], spent[i] = so_many, so_much
    return costs, up_to, spent, found


@compiled
def _order(costs, k, r, kept):
    """In which order costs rise, which is always the same for the places of a class by a resource."""
    if len(kept.orders) == 0 or kept.orders.shape[2] == 0:
        return np.argsort(costs).astype(np.int32)
    if kept.by_resource[k, r, _SORTED] != len(costs):
        kept.orders[k, r, : len(costs)] = np.argsort(costs)
        kept.by_resource[k, r, _SORTED] = len(costs)
    return kept.orders[k, r, : len(costs)]

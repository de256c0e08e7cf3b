"""
A crowd's questions in machine code: what `crowding.Crowd` says of the classes that it knows, on the same tables.

Where thousands of gangs look for room in a large fleet, hundreds of thousands of proofs are sought, each a few operations on arrays so
short that calling numpy takes longer than they do. `crowding` has what is meant, with its reasons; here is the same in loops. The two are held equal
by a law (tests/test_compiled_crowd.py).
"""

from __future__ import annotations

import math

import numba
import numpy as np

_TANGENTS = np.array([0.1, 0.25, 0.5, 0.75, 1.0])
_SLACK = 1 + 1e-9
_MOST = 2**62
_PLACES = 2**31 - 1


@numba.njit(cache=True)
def admit(new, admitted, ask, free, rows, asks, totals, most, shared, loss):
    """Write down a class, number `new`, of which a pod asks so much, and that is admitted on some nodes."""
    nodes, columns = free.shape
    asks[new] = ask
    total = largest = 0.0
    for n in range(nodes):
        fits = 0
        if admitted[n]:
            fits = _PLACES
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
        shared[new, k], shared[k, new] = min(mine, _PLACES), min(theirs, _PLACES)
        loss[k, new] = min(_loss(asks[k], ask), most[new])
        loss[new, k] = min(_loss(ask, asks[k]), most[k])


@numba.njit(cache=True)
def _loss(ask, of):
    found = 0
    for r in range(len(ask)):
        if of[r] > 0:
            found = max(found, -(-ask[r] // of[r]))
    return found


@numba.njit(cache=True)
def _met(number, shared):
    """How many of so many pods are met at so many places."""
    return number if shared == _PLACES else min(number, shared)


@numba.njit(cache=True)
def sure(free, rows, asks, totals, most, shared, loss, coming, counts, needed, own, more, lucky):
    """As `Crowd.sure`."""
    size, known = len(coming) + len(own), len(coming)
    classes = np.empty(size, dtype=np.int64)
    number = np.empty(size, dtype=np.int64)
    must = np.empty(size, dtype=np.bool_)
    near = np.zeros(size, dtype=np.bool_)
    classes[:known], number[:known], must[:known] = coming, counts, needed
    queue = np.empty(size, dtype=np.int64)
    begun = ended = 0
    for i in range(len(own)):
        at = -1
        for j in range(known):
            if classes[j] == own[i]:
                at = j
        if at < 0:
            at = known
            classes[at], number[at], must[at] = own[i], 0, False
            known += 1
        number[at] += more[i]
        must[at] |= not lucky
        if not near[at]:
            near[at] = True
            queue[ended] = at
            ended += 1
    while begun < ended:
        k = classes[queue[begun]]
        begun += 1
        for j in range(known):
            if not near[j] and shared[k, classes[j]] > 0:
                near[j] = True
                queue[ended] = j
                ended += 1
    doubtful = False
    room = np.zeros(known, dtype=np.int64)
    unsure = np.zeros(known, dtype=np.bool_)
    for j in range(known):
        if not (near[j] and must[j]):
            continue
        k, harm = classes[j], 0
        for i in range(known):
            if near[i] and i != j:
                harm += _met(number[i], shared[classes[i], k]) * loss[classes[i], k]
        room[j] = totals[k] - number[j]
        if room[j] < harm:
            if room[j] < 0:
                return False
            unsure[j] = doubtful = True
    if not doubtful:
        return True
    met = np.zeros(known, dtype=np.int64)
    for j in range(known):
        if not unsure[j]:
            continue
        k = classes[j]
        for i in range(known):
            met[i] = _met(number[i], shared[classes[i], k]) if near[i] and i != j else 0
        if not _stand(free, rows[k], asks[k], asks, classes, met, room[j]):
            return False
    return True


@numba.njit(cache=True)
def unsure(free, rows, asks, totals, most, shared, loss, coming, counts, needed, own, more):
    """As `Crowd.unsure`, with the number of classes in `own` where all of them are unsure only together, and -1 where they are sure."""
    for i in range(len(own)):
        if not sure(
            free, rows, asks, totals, most, shared, loss, coming, counts, needed, own[i : i + 1], more[i : i + 1], False
        ):
            return i
    if len(own) > 1 and not sure(
        free, rows, asks, totals, most, shared, loss, coming, counts, needed, own, more, False
    ):
        return len(own)
    return -1


@numba.njit(cache=True)
def _stand(free, row, ask, asks, classes, met, most):
    """As `_Places.stand`."""
    nodes, columns = free.shape
    total, places = 0, 0
    for n in range(nodes):
        if row[n] > 0:
            places += 1
            total += int(row[n])
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
    own = np.empty(places, dtype=np.int64)
    here = np.empty(places, dtype=np.int64)
    places = 0
    for n in range(nodes):
        if row[n] > 0:
            own[places], here[places] = int(row[n]), n
            places += 1
    felt = np.empty(columns, dtype=np.int64)
    spent = np.empty(columns)
    wide = 0
    for r in range(columns):
        if ask[r] <= 0:
            continue
        amount = 0.0
        for i in range(come):
            amount += some[i] * asks[who[i], r]
        least = _MOST
        for p in range(places):
            least = min(least, free[here[p], r] - own[p] * ask[r] + 1)
        if amount >= least * (1 - 1e-9):
            felt[wide], spent[wide] = r, amount
            wide += 1
    if wide == 0:
        return True
    asked = np.empty(wide, dtype=np.int64)
    first = np.empty((places, wide), dtype=np.int64)
    others = np.empty((come, wide), dtype=np.int64)
    for c in range(wide):
        asked[c] = ask[felt[c]]
        for p in range(places):
            first[p, c] = free[here[p], felt[c]] - own[p] * asked[c] + 1
        for i in range(come):
            others[i, c] = asks[who[i], felt[c]]
    return (
        _by_pod(total, own, asked, first, others, some) <= most
        or _by_amount(total, own, asked, first, others, some, spent) <= most
    )


@numba.njit(cache=True)
def _by_pod(total, own, ask, first, others, met):
    """As `_Scarce.by_pod`."""
    places, wide = first.shape
    usual = np.zeros(wide, dtype=np.bool_)
    for c in range(wide):
        scarce = 0
        for p in range(places):
            scarce += first[p, c] <= ask[c]
        usual[c] = scarce / places >= 0.5
    given_up, most, good = 0, 0, False
    average = np.full(wide, np.inf)
    for p in range(places):
        short = False
        for c in range(wide):
            short |= not usual[c] and first[p, c] <= ask[c]
        if short:
            given_up += own[p]
            continue
        good = True
        most = max(most, own[p])
        for c in range(wide):
            average[c] = min(average[c], (first[p, c] + (own[p] - 1) * ask[c]) / own[p])
    lost = 0.0
    for i in range(len(met)):
        power = 0.0
        for c in range(wide):
            if usual[c]:
                power = max(power, np.float64(min(-(-others[i, c] // ask[c]), total)))
            elif good:
                power = max(power, others[i, c] / average[c])
        lost += met[i] * min(power, np.float64(most))
    return given_up + math.floor(lost * _SLACK)


@numba.njit(cache=True)
def _by_amount(total, own, ask, first, others, met, spent):
    """As `_Scarce.by_amount`."""
    wide, tangents = len(ask), len(_TANGENTS)
    begin = np.zeros(tangents)
    slope = np.empty((tangents, wide))
    for c in range(wide):
        costs, places, dear, size = _curve(own, ask[c], first[:, c])
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


@numba.njit(cache=True)
def _curve(own, ask, first):
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
    order = np.argsort(each[:size])
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

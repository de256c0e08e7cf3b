"""
The survey in machine code: the places for pods of one shape on each of some clusters, node by node, and what puts clusters in order, as
`survey.Survey` does it in array operations over all nodes and clusters. The two are held equal by laws (tests/test_survey.py).
"""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(cache=True)
def counted(clusters, starts, free, class_of, admits, request, block_of, most, exact, found):
    """
    Add to `found` for each of some clusters the places for a shape, by the block of free devices that is on their node. Unless amounts are so
    large that whole numbers have to be divided to be `exact`, they are divided as floats, which takes a third of the time.
    """
    asked = np.flatnonzero(request)
    amounts = request[asked].astype(np.float64)
    for i in range(len(clusters)):
        for n in range(starts[clusters[i]], starts[clusters[i] + 1]):
            if not admits[class_of[n]]:
                continue
            if exact:
                found[i, block_of[n]] += _fits(free[:, n], request, most)
                continue
            fits = float(most)
            for k in range(len(asked)):
                fits = min(fits, free[asked[k], n] / amounts[k])
            if fits >= 1:
                found[i, block_of[n]] += int(fits)


@numba.njit(cache=True)
def renew(
    rows, clusters, before, after, class_of, admits, request, devices, most, far, known, counts, totals, asked, open_
):  # fmt: skip
    """
    Count what was changed, on clusters that are known, as `Survey._recount`. Returns those of some clusters that are open and of which nothing is
    known.
    """
    blocks = counts.shape[1]
    for i in range(len(rows)):
        c = clusters[i]
        if not known[c] or not admits[class_of[rows[i]]]:
            continue
        less, more = _fits(before[i], request, most), _fits(after[i], request, most)
        if less > 0:
            counts[c, _block(before[i], devices, blocks)] -= less
        if more > 0:
            block = _block(after[i], devices, blocks)
            if counts[c, block] + more >= far:
                known[c] = False
                continue
            counts[c, block] += more
        totals[c] += more - less
    some = 0
    for i in range(len(asked)):
        some += open_[i] and not known[asked[i]]
    found = np.empty(some, dtype=asked.dtype)
    for i in range(len(asked) if some else 0):
        if open_[i] and not known[asked[i]]:
            some -= 1
            found[some] = asked[i]
    return found


@numba.njit(cache=True)
def enough(totals, asked, need, open_):
    """Of some clusters close those that have not so much of everything, in all; who is closed stays so."""
    for i in range(len(asked)):
        for r in range(len(need)):
            open_[i] &= totals[asked[i], r] >= need[r]


@numba.njit(cache=True)
def rule_out(asked, places, count, open_):
    """The same of those that have fewer places."""
    for i in range(len(asked)):
        open_[i] &= places[asked[i]] >= count


@numba.njit(cache=True)
def weigh(
    asked, places, blocked, most, needs_room, anyway, breaking, blocks, least, in_vain, amount, count, open_, spare, broken, hopeless, more
):  # fmt: skip
    """
    Add to what is known of some open clusters what so many pods of a shape say of it; `places` are those that it has on each, `blocked` these by block.
    Who has too few of them is closed, unless `anyway`.
    """
    for i in range(len(asked)):
        if not open_[i]:
            continue
        c = asked[i]
        if needs_room:
            spare[i] = min(spare[i], places[c] - most)
            if places[c] < most and not anyway:
                open_[i] = False
                continue
        if breaking:
            left = most
            for b in range(len(blocks)):  # smallest first
                if left == 0:
                    break
                taken = min(left, blocked[c, b])
                broken[i] += taken * blocks[b]
                left -= taken
        if len(least):
            hopeless[i] |= least[c] <= count
        if len(in_vain):
            more[i] = max(more[i], amount / in_vain[c])


@numba.njit(cache=True)
def rank(
    asked, open_, liked, asleep, lucky, coming, few, many, spare, broken, hopeless, unproved, more, crowding, resources, totals, devices
):  # fmt: skip
    """
    What puts those open clusters in order that are not hopeless, as `Books.prospects` does, a row for each with its number at the end; and the numbers
    of the others.
    """
    keys = np.empty((len(asked), 7), dtype=np.int64)
    lost = np.empty(len(asked), dtype=asked.dtype)
    amounts = np.empty(2)
    bits = amounts.view(np.int64)
    known = given_up = 0
    for i in range(len(asked)):
        if not open_[i]:
            continue
        c = asked[i]
        busy = coming[c] > few
        lacking = hopeless[i] or (len(unproved) > 0 and (unproved[c >> 3] >> (c & 7)) & 1)
        if lacking and busy and not lucky[c]:
            lost[given_up] = c
            given_up += 1
            continue
        amounts[0] = amounts[1] = 0.0
        if not lucky[c]:
            if coming[c] > many and spare[i] < coming[c]:
                amounts[0] = 1.0
            if busy and more[i] >= 1:
                amounts[0] = max(amounts[0], more[i])
        for r in range(len(devices)):
            amounts[1] += totals[c, devices[r]]
        crowded = False
        for r in range(len(resources)):
            crowded |= crowding[resources[r], c]
        row = keys[known]
        row[0], row[1], row[2], row[3], row[4], row[5], row[6] = (
            liked[i], asleep[i], bits[0], crowded, broken[i], bits[1], c,
        )  # fmt: skip
        known += 1
    return keys[:known], lost[:given_up]


@numba.njit(cache=True)
def first(keys, most):
    """So many rows, by number, that come first when they are put in order by their columns, and then by number."""
    found = np.empty(min(most, len(keys)), dtype=np.int64)
    known = 0
    for row in range(len(keys)):
        if known == len(found):
            if not _before(keys, row, found[known - 1]):
                continue
            known -= 1
        at = known
        while at > 0 and _before(keys, row, found[at - 1]):
            found[at] = found[at - 1]
            at -= 1
        found[at] = row
        known += 1
    return found


@numba.njit(cache=True)
def _before(keys, one, other):
    """Whether a row comes before another that has a smaller number."""
    for k in range(keys.shape[1]):
        if keys[one, k] != keys[other, k]:
            return keys[one, k] < keys[other, k]
    return False


@numba.njit(cache=True)
def _fits(free, request, most):
    fits = most
    for r in range(len(request)):
        if request[r] > free[r] and request[r] > 0:  # on most nodes, and a comparison is much quicker than a division
            return 0
    for r in range(len(request)):
        if request[r] > 0:
            fits = min(fits, free[r] // request[r])
    return fits


@numba.njit(cache=True)
def _block(free, devices, blocks):
    size = 0.0
    for r in range(len(devices)):
        if devices[r] and free[r] > 0:
            size += free[r]
    return min(math.frexp(size)[1], blocks - 1)

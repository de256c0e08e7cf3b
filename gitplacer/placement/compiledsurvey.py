"""
The survey in machine code: the places for pods of one shape on each of some clusters, node by node, and what puts clusters in order, as
`survey.Survey` does it in array operations over all nodes and clusters. The two are held equal by laws (tests/test_survey.py).
"""

from __future__ import annotations

import math

import numpy as np

from gitplacer.scheduler.machinecode import compiled


@compiled
def counted(clusters, starts, free, class_of, admits, request, block_of, most, exact, found):
    """
    Add to `found` for each of some clusters the places for a shape, by the block of free devices that is on their node. Unless amounts are so
    large that whole numbers have to be divided to be `exact`, they are divided as floats, which takes a third of the time.
    """
    asked = np.flatnonzero(request)
    for i in range(len(clusters)):
        for n in range(starts[clusters[i]], starts[clusters[i] + 1]):
            if admits[class_of[n]]:
                found[i, block_of[n]] += _fits(free[:, n], asked, request, exact, most)


@compiled
def renew(
    rows, clusters, before, after, class_of, admits, request, blocking, exact, most, far, known, counts, totals, asked, open_
):  # fmt: skip
    """
    Count what was changed, on clusters that are known, as `Survey._recount`; `exact` as in `counted`. Returns those of some clusters that are open and of
    which nothing is known.
    """
    blocks, columns, devices = counts.shape[1], np.flatnonzero(request), np.flatnonzero(blocking)
    for i in range(len(rows)):
        c = clusters[i]
        if not known[c] or not admits[class_of[rows[i]]]:
            continue
        less, more = _fits(before[i], columns, request, exact, most), _fits(after[i], columns, request, exact, most)
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


@compiled
def take_over(free, machines, start, table, total):
    """
    Write what is free on some machines of a cluster, whose first is at `start`, to the table of all nodes, and what that changes to the `total` of
    the cluster. Returns what was free on each before, and what is now.
    """
    columns = len(total)
    before = np.empty((len(machines), columns), dtype=np.int64)
    after = np.empty((len(machines), columns), dtype=np.int64)
    less, more = np.zeros(columns), np.zeros(columns)
    for i in range(len(machines)):
        for r in range(columns):
            before[i, r], after[i, r] = table[r, start + machines[i]], free[machines[i], r]
            table[r, start + machines[i]] = after[i, r]
            less[r] += max(before[i, r], 0)
            more[r] += max(after[i, r], 0)
    for r in range(columns):
        total[r] += more[r] - less[r]
    return before, after


@compiled
def enough(totals, asked, need, open_):
    """Of some clusters close those that have not so much, in all, of everything that is needed; who is closed stays so."""
    columns = np.flatnonzero(need)
    for i in range(len(asked)):
        for r in columns:
            open_[i] &= totals[asked[i], r] >= need[r]


@compiled
def rule_out(asked, places, count, open_):
    """The same of those that have fewer places."""
    for i in range(len(asked)):
        open_[i] &= places[asked[i]] >= count


@compiled
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


@compiled
def rank(
    asked, open_, liked, against, lucky, coming, few, many, spare, broken, hopeless, unproved, more, crowding, resources, totals, devices, some
):  # fmt: skip
    """
    What puts those open clusters in order that are not hopeless, as `Books.prospects` does, a row for each with its number at the end; so many
    rows that come first; and the numbers of the other clusters.
    """
    keys = np.empty((len(asked), 7), dtype=np.int64)
    best = np.empty(min(some, len(asked)), dtype=np.int64)
    ranked = 0
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
            liked[i], against[i], bits[0], crowded, broken[i], bits[1], c,
        )  # fmt: skip
        ranked = _put(keys, known, best, ranked)
        known += 1
    return keys[:known], best[:ranked], lost[:given_up]


@compiled
def first(keys, most):
    """So many rows, by number, that come first when they are put in order by their columns, and then by number."""
    found = np.empty(min(most, len(keys)), dtype=np.int64)
    known = 0
    for row in range(len(keys)):
        known = _put(keys, row, found, known)
    return found


@compiled
def _put(keys, row, found, known):
    """Put a row among those that were found to come first, if it does; returns how many are known then."""
    if known == len(found):
        if known == 0 or not _before(keys, row, found[known - 1]):
            return known
        known -= 1
    at = known
    while at > 0 and _before(keys, row, found[at - 1]):
        found[at] = found[at - 1]
        at -= 1
    found[at] = row
    return known + 1


@compiled
def _before(keys, one, other):
    """Whether a row comes before another that has a smaller number."""
    for k in range(keys.shape[1]):
        if keys[one, k] != keys[other, k]:
            return keys[one, k] < keys[other, k]
    return False


@compiled
def _fits(free, columns, request, exact, most):
    """How many pods that ask for some columns a node takes."""
    if exact:
        fits = most
        for r in columns:
            fits = min(fits, free[r] // request[r])
        return max(fits, 0)
    ratio = float(most)
    for r in columns:
        ratio = min(ratio, free[r] / request[r])
    return int(max(ratio, 0.0))


@compiled
def _block(free, devices, blocks):
    size = 0.0
    for r in devices:
        size += max(free[r], 0)
    return min(math.frexp(size)[1], blocks - 1)

"""
The survey in machine code: the places for pods of one shape on each of some clusters, node by node, and what puts clusters in order, as
`survey.Survey` does it in array operations over all nodes and clusters. The two are held equal by laws (tests/test_survey.py).
"""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(cache=True)
def counted(clusters, starts, free, class_of, admits, request, devices, most, found):
    """
    Add to `found` for each of some clusters the places for a shape, by the block of free devices that is on their node. Columns of
    `devices` make up a block.
    """
    blocks = found.shape[1]
    for i in range(len(clusters)):
        for n in range(starts[clusters[i]], starts[clusters[i] + 1]):
            if not admits[class_of[n]]:
                continue
            fits = _fits(free[:, n], request, most)
            if fits > 0:
                found[i, _block(free[:, n], devices, blocks)] += fits


@numba.njit(cache=True)
def recount(rows, clusters, before, after, class_of, admits, request, devices, most, far, known, counts, totals):
    """As `Survey._recount`."""
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


@numba.njit(cache=True)
def enough(totals, asked, need):
    """Which of some clusters have so much of everything, in all."""
    found = np.ones(len(asked), dtype=np.bool_)
    for i in range(len(asked)):
        for r in range(len(need)):
            found[i] &= totals[asked[i], r] >= need[r]
    return found


@numba.njit(cache=True)
def breaks(asked, counts, number, blocks, broken):
    """Add to `broken`, for each of some clusters, the blocks from which so many pods are taken, smallest first; `counts` are the places by block."""
    for i in range(len(asked)):
        left = number
        for b in range(len(blocks)):
            taken = min(left, counts[asked[i], b])
            broken[i] += taken * blocks[b]
            left -= taken


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

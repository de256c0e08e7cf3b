"""
The survey's counting in machine code: the places for pods of one shape on each of some clusters, node by node, as `survey.Survey.counted`
does it in array operations over all their nodes. The two are held equal by a law (tests/test_survey.py).
"""

from __future__ import annotations

import math

import numba


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
def _fits(free, request, most):
    fits = most
    for r in range(len(request)):
        if request[r] > 0:
            fits = min(fits, free[r] // request[r])
            if fits <= 0:
                return 0
    return fits


@numba.njit(cache=True)
def _block(free, devices, blocks):
    size = 0.0
    for r in range(len(devices)):
        if devices[r] and free[r] > 0:
            size += free[r]
    return min(math.frexp(size)[1], blocks - 1)

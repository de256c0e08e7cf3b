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
    columns, blocks = len(request), found.shape[1]
    for i in range(len(clusters)):
        for n in range(starts[clusters[i]], starts[clusters[i] + 1]):
            if not admits[class_of[n]]:
                continue
            fits = most
            for r in range(columns):
                if request[r] > 0:
                    fits = min(fits, free[r, n] // request[r])
            if fits <= 0:
                continue
            size = 0.0
            for r in range(columns):
                if devices[r] and free[r, n] > 0:
                    size += free[r, n]
            found[i, min(math.frexp(size)[1], blocks - 1)] += fits

"""
The innermost of packing in machine code: how many pods of a shape each machine takes, and on which of them those of a set go, as
`pack` does it in array operations. The two are held equal by a law (tests/test_compiled_pack.py).
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def capacity(free, row, mask):
    """As `crowding.capacity`, with how many that are in all, and on how many machines."""
    machines, columns = free.shape
    able = np.zeros(machines, dtype=np.int64)
    total = taking = 0
    for m in range(machines):
        if mask[m]:
            able[m] = _fits(free, row, m, columns)
            total += able[m]
            taking += able[m] > 0
    return able, total, taking


@numba.njit(cache=True)
def _fits(free, row, m, columns):
    fits = -1
    for r in range(columns):
        if row[r] > 0:
            here = free[m, r] // row[r]
            if fits < 0 or here < fits:
                fits = max(0, here)
    return max(0, fits)


@numba.njit(cache=True)
def fill(free, row, mask, devices, wanted, real, tight):
    """
    As `pack._fill`, with as many on each machine as `free` has room for, which is written to. Returns the machines that are used and how
    many each takes.
    """
    machines, columns = free.shape
    fits = np.zeros(machines, dtype=np.int64)
    group = np.full(machines, -1, dtype=np.int64)
    for m in range(machines):
        if mask[m]:
            fits[m] = _fits(free, row, m, columns)
        if fits[m] > 0:
            spoils = False
            for r in range(columns):
                spoils |= devices[r] and row[r] == 0 and free[m, r] > 0
            group[m] = 2 * (m >= real) + spoils
    used = np.empty(machines, dtype=np.int64)
    counts = np.empty(machines, dtype=np.int64)
    found = 0
    for which in range(4):
        here = np.flatnonzero(group == which)
        if not len(here) or wanted <= 0:
            continue
        keys = fits[here] if tight else -fits[here]
        for i in np.argsort(keys, kind="mergesort"):
            if wanted <= 0:
                break
            m = here[i]
            count = min(wanted, fits[m])
            for r in range(columns):
                free[m, r] -= row[r] * count
            used[found], counts[found] = m, count
            found += 1
            wanted -= count
    return used[:found], counts[:found]

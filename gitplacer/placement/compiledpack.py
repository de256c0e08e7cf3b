"""
The innermost of packing in machine code: how many pods of a shape each machine takes, and on which of them those of a set go, as
`pack` does it in array operations. The two are held equal by a law (tests/test_compiled_pack.py).
"""

from __future__ import annotations

import numba
import numpy as np

_FEW = 16
_NEVER = 2**63 - 1


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
    most = max(0, min(machines, wanted))
    used = np.empty(most, dtype=np.int64)
    counts = np.empty(most, dtype=np.int64)
    found = 0
    for which in range(4):
        here = np.flatnonzero(group == which)
        keys = fits[here] if tight else -fits[here]
        # Few pods need few machines of many: these are sought one by one, and not all put in order.
        few = wanted <= _FEW
        order = np.empty(0, dtype=np.int64) if few else np.argsort(keys, kind="mergesort")
        for turn in range(len(here)):
            if wanted <= 0:
                break
            i = np.argmin(keys) if few else order[turn]
            m = here[i]
            keys[i] = _NEVER
            count = min(wanted, fits[m])
            for r in range(columns):
                free[m, r] -= row[r] * count
            used[found], counts[found] = m, count
            found += 1
            wanted -= count
    return used[:found], counts[:found]


@numba.njit(cache=True)
def packed(free, total, rows, masks, counts, devices):
    """
    As `pack.pack` on machines that are there: of each use the set, the machine and how many pods, in order; none where no attempt places all
    of them. `total` is what is free on all machines, and `rows`, `masks` and `counts` are by set.
    """
    sets, columns = rows.shape
    machines = len(free)
    scarce = np.empty(sets, dtype=np.int64)
    share = np.zeros(sets)
    for k in range(sets):
        _, fits, scarce[k] = capacity(free, rows[k], masks[k])
        if fits < counts[k]:
            return np.empty((0, 3), dtype=np.int64)
        for r in range(columns):
            share[k] = max(share[k], rows[k, r] / total[r])
    uses = np.empty((sets * machines, 3), dtype=np.int64)
    for attempt in range(4):
        left, found, whole = free.copy(), 0, True
        for k in _in_order(scarce, share, attempt % 2 == 0):
            used, placed = fill(left, rows[k], masks[k], devices, counts[k], machines, attempt < 2)
            if placed.sum() < counts[k]:
                whole = False
                break
            for i in range(len(used)):
                uses[found] = k, used[i], placed[i]
                found += 1
        if whole:
            return uses[:found].copy()
    return np.empty((0, 3), dtype=np.int64)


@numba.njit(cache=True)
def _in_order(scarce, share, scarce_first):
    """Sets by how few machines take them, if that counts, and by how large their pods are; else as they came."""
    order = np.arange(len(scarce))
    for i in range(1, len(order)):
        k, at = order[i], i
        while at > 0:
            before = order[at - 1]
            fewer = scarce_first and scarce[k] < scarce[before]
            as_few = not scarce_first or scarce[k] == scarce[before]
            if not (fewer or (as_few and share[k] > share[before])):
                break
            order[at] = before
            at -= 1
        order[at] = k
    return order

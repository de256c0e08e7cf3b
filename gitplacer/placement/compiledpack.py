"""
The innermost of packing in machine code: how many pods of a shape each machine takes, and on which of them those of a set go, as
`pack` does it in array operations. The two are held equal by a law (tests/test_compiled_pack.py).
"""

from __future__ import annotations

import numba
import numpy as np

_FEW = 16


@numba.njit(cache=True)
def capacity(free, row, mask):
    """As `crowding.capacity`, with how many that are in all, and on how many machines."""
    machines = len(free)
    able = np.zeros(machines, dtype=np.int64)
    total = taking = 0
    for m in range(machines):
        if mask[m]:
            able[m] = _fits(free, row, m)
            total += able[m]
            taking += able[m] > 0
    return able, total, taking


@numba.njit(cache=True)
def _places(free, row, mask):
    """The last two of these."""
    total = taking = 0
    for m in range(len(free)):
        if mask[m]:
            fits = _fits(free, row, m)
            total += fits
            taking += fits > 0
    return total, taking


@numba.njit(cache=True)
def _fits(free, row, m):
    fits = -1
    for r in range(len(row)):
        if row[r] > 0:
            if free[m, r] < row[r]:  # on most machines, and a comparison is much quicker than a division
                return 0
            here = free[m, r] // row[r]
            if fits < 0 or here < fits:
                fits = here
    return max(0, fits)


@numba.njit(cache=True)
def _sort(free, row, devices, m, real):
    """Which machines are used first: those that are there, and of these such as have no devices that a pod leaves idle."""
    spoils = False
    for r in range(len(row)):
        spoils |= devices[r] and row[r] == 0 and free[m, r] > 0
    return 2 * (m >= real) + spoils


@numba.njit(cache=True)
def fill(free, row, mask, devices, wanted, real, tight):
    """
    As `pack._fill`, with as many on each machine as `free` has room for, which is written to. Returns the machines that are used and how
    many each takes.
    """
    # Few pods need few machines of many: these are sought, and not all put in order.
    if wanted <= _FEW:
        order, fits = _best(free, row, mask, devices, wanted, real, tight)
    else:
        order, fits = _ordered(free, row, mask, devices, real, tight)
    used = np.empty(len(order), dtype=np.int64)
    counts = np.empty(len(order), dtype=np.int64)
    found = 0
    for i in range(len(order)):
        if wanted <= 0:
            break
        m, count = order[i], min(wanted, fits[i])
        for r in range(len(row)):
            free[m, r] -= row[r] * count
        used[found], counts[found] = m, count
        found += 1
        wanted -= count
    return used[:found], counts[:found]


@numba.njit(cache=True)
def _ordered(free, row, mask, devices, real, tight):
    """All machines that take a pod, best first, and how many each takes."""
    machines = len(free)
    able = np.zeros(machines, dtype=np.int64)
    sort = np.full(machines, -1, dtype=np.int64)
    for m in range(machines):
        if mask[m]:
            able[m] = _fits(free, row, m)
        if able[m] > 0:
            sort[m] = _sort(free, row, devices, m, real)
    order = np.empty(np.count_nonzero(able), dtype=np.int64)
    begun = 0
    for which in range(4):
        here = np.flatnonzero(sort == which)
        keys = able[here] if tight else -able[here]
        order[begun : begun + len(here)] = here[np.argsort(keys, kind="mergesort")]
        begun += len(here)
    return order, able[order]


@numba.njit(cache=True)
def _best(free, row, mask, devices, wanted, real, tight):
    """The same of as many machines as so many pods may need."""
    most = max(0, min(len(free), wanted))
    order = np.empty(most, dtype=np.int64)
    keys = np.empty(most, dtype=np.int64)
    sorts = np.empty(most, dtype=np.int64)
    known = 0
    for m in range(len(free)):
        fits = _fits(free, row, m) if mask[m] else 0
        if fits <= 0 or most == 0:
            continue
        key, sort, last = fits if tight else -fits, 2 * (m >= real), known - 1
        if known == most and (sort > sorts[last] or (sort == sorts[last] and key >= keys[last])):
            continue
        sort = _sort(free, row, devices, m, real)
        if known == most:
            if sort > sorts[last] or (sort == sorts[last] and key >= keys[last]):
                continue
            known -= 1
        at = known
        while at > 0 and (sort < sorts[at - 1] or (sort == sorts[at - 1] and key < keys[at - 1])):
            order[at], keys[at], sorts[at] = order[at - 1], keys[at - 1], sorts[at - 1]
            at -= 1
        order[at], keys[at], sorts[at] = m, key, sort
        known += 1
    return order[:known], np.abs(keys[:known])


@numba.njit(cache=True)
def packed(free, rows, masks, counts, devices):
    """
    As `pack.pack` on machines that are there: of each use the set, the machine and how many pods, in order; none where no attempt places all
    of them. `rows`, `masks` and `counts` are by set. What is `free` is the same afterwards.
    """
    sets, machines = len(rows), len(free)
    scarce = np.empty(sets, dtype=np.int64)
    most = 0
    for k in range(sets):
        fits, scarce[k] = _places(free, rows[k], masks[k])
        if fits < counts[k]:
            return np.empty((0, 3), dtype=np.int64)
        most += min(machines, counts[k])
    share = _shares(free, rows) if sets > 1 else np.zeros(sets)
    uses = np.empty((most, 3), dtype=np.int64)
    for attempt in range(4):
        found, whole = 0, True
        for k in _in_order(scarce, share, attempt % 2 == 0):
            used, placed = fill(free, rows[k], masks[k], devices, counts[k], machines, attempt < 2)
            for i in range(len(used)):
                uses[found] = k, used[i], placed[i]
                found += 1
            if placed.sum() < counts[k]:
                whole = False
                break
        for i in range(found):  # to give back what was taken is quicker than to work on a copy
            k, m, count = uses[i]
            for r in range(rows.shape[1]):
                free[m, r] += rows[k, r] * count
        if whole:
            return uses[:found].copy()
    return np.empty((0, 3), dtype=np.int64)


@numba.njit(cache=True)
def _shares(free, rows):
    """The largest share that a pod of each set asks for of what is free on all machines together."""
    share = np.zeros(len(rows))
    for r in range(rows.shape[1]):
        total = 0
        for m in range(len(free)):
            total += free[m, r]
        for k in range(len(rows)):
            share[k] = max(share[k], rows[k, r] / max(1, total))
    return share


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

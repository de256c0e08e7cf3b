"""
The innermost of packing in machine code: how many pods of a shape each machine takes, and on which of them those of a set go, as
`pack` does it in array operations. The two are held equal by a law (tests/test_compiled_pack.py).
"""

from __future__ import annotations

import numpy as np

from gitplacer.scheduler.machinecode import compiled

_FEW = 16


@compiled
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


@compiled
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


@compiled
def _sort(free, row, devices, m, real):
    """Which machines are used first: those that are there, and of these such as have no devices that a pod leaves idle."""
    spoils = False
    for r in range(len(row)):
        spoils |= devices[r] and row[r] == 0 and free[m, r] > 0
    return 2 * (m >= real) + spoils


@compiled
def fill(free, row, mask, devices, wanted, real, tight):
    """
    As `pack._fill`, with as many on each machine as `free` has room for, which is written to. Returns the machines that are used and how
    many each takes.
    """
    able, _, _ = capacity(free, row, mask)
    return _filled(free, able, row, devices, wanted, real, tight)


@compiled
def _filled(free, able, row, devices, wanted, real, tight):
    """The same where it is known how many each machine takes."""
    # Few pods need few machines of many: these are sought, and not all put in order.
    if wanted <= _FEW:
        order = _best(free, able, row, devices, wanted, real, tight)
    else:
        order = _ordered(free, able, row, devices, real, tight)
    used = np.empty(len(order), dtype=np.int64)
    counts = np.empty(len(order), dtype=np.int64)
    found = 0
    for i in range(len(order)):
        if wanted <= 0:
            break
        m, count = order[i], min(wanted, able[order[i]])
        for r in range(len(row)):
            free[m, r] -= row[r] * count
        used[found], counts[found] = m, count
        found += 1
        wanted -= count
    return used[:found], counts[:found]


@compiled
def _ordered(free, able, row, devices, real, tight):
    """All machines that take a pod, best first."""
    machines = len(free)
    sort = np.full(machines, -1, dtype=np.int64)
    for m in range(machines):
        if able[m] > 0:
            sort[m] = _sort(free, row, devices, m, real)
    order = np.empty(np.count_nonzero(able), dtype=np.int64)
    begun = 0
    for which in range(4):
        here = np.flatnonzero(sort == which)
        keys = able[here] if tight else -able[here]
        order[begun : begun + len(here)] = here[np.argsort(keys, kind="mergesort")]
        begun += len(here)
    return order


@compiled
def _best(free, able, row, devices, wanted, real, tight):
    """The same of as many machines as so many pods may need."""
    most = max(0, min(len(free), wanted))
    order = np.empty(most, dtype=np.int64)
    keys = np.empty(most, dtype=np.int64)
    sorts = np.empty(most, dtype=np.int64)
    known = 0
    for m in range(len(free)):
        fits = able[m]
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
    return order[:known]


@compiled
def packed(free, rows, masks, counts, devices):
    """
    As `pack.pack` on machines that are there: of each use the set, the machine and how many pods, in order; none where no attempt places all
    of them. `rows`, `masks` and `counts` are by set. What is `free` is the same afterwards.
    """
    sets, machines = len(rows), len(free)
    able, totals, scarce = _able(free, rows, masks)
    most = 0
    for k in range(sets):
        if totals[k] < counts[k]:
            return np.empty((0, 3), dtype=np.int64)
        most += min(machines, counts[k])
    share, weighed = np.zeros(sets), sets == 1
    uses = np.empty((most, 3), dtype=np.int64)
    for attempt in range(4):
        if not weighed and (attempt % 2 == 1 or _some_equal(scarce)):  # it takes a look at all machines
            share, weighed = _shares(free, rows), True
        found, whole = 0, True
        for k in _in_order(scarce, share, attempt % 2 == 0):
            used, placed = _filled(free, able[k], rows[k], devices, counts[k], machines, attempt < 2)
            for i in range(len(used)):
                uses[found] = k, used[i], placed[i]
                found += 1
            _look_again(able, free, rows, masks, used)
            if placed.sum() < counts[k]:
                whole = False
                break
        for i in range(found):  # to give back what was taken is quicker than to work on a copy
            k, m, count = uses[i]
            for r in range(rows.shape[1]):
                free[m, r] += rows[k, r] * count
        if whole:
            return uses[:found].copy()
        _look_again(able, free, rows, masks, uses[:found, 1])
    return np.empty((0, 3), dtype=np.int64)


@compiled
def _able(free, rows, masks):
    """How many pods of each set (row) each machine takes; and in all, and on how many machines."""
    sets, machines = len(rows), len(free)
    able = np.zeros((sets, machines), dtype=np.int64)
    totals = np.zeros(sets, dtype=np.int64)
    taking = np.zeros(sets, dtype=np.int64)
    for k in range(sets):
        able[k], totals[k], taking[k] = capacity(free, rows[k], masks[k])
    return able, totals, taking


@compiled
def _look_again(able, free, rows, masks, some):
    """Write down how many pods of each set some machines take now."""
    for m in some:
        for k in range(len(rows)):
            if masks[k, m]:
                able[k, m] = _fits(free, rows[k], m)


@compiled
def _some_equal(scarce):
    """Whether as few machines take one set as take another."""
    for k in range(len(scarce)):
        for j in range(k):
            if scarce[j] == scarce[k]:
                return True
    return False


@compiled
def _shares(free, rows):
    """The largest share that a pod of each set asks for of what is free on all machines together."""
    machines, columns = free.shape
    totals = np.zeros(columns, dtype=np.int64)
    for m in range(machines):
        for r in range(columns):
            totals[r] += free[m, r]
    share = np.zeros(len(rows))
    for k in range(len(rows)):
        for r in range(columns):
            share[k] = max(share[k], rows[k, r] / max(1, totals[r]))
    return share


@compiled
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

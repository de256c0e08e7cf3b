"""
A writer of snapshots that goes on: look at the cluster, send what is due, wait, until it is told to stop.

Whatever fails is told and tried again, later each time, by the rules of the controller (`turns`): a host that is away for a night must not end
it, nor be asked every half minute by every cluster. Only what cannot work from the beginning ends it: whoever has just
started it is still there to mend it. Somebody who stops it waits for the push that is under way.

Of a hub there are many snapshots at a time. What one branch refuses others may take, so one cluster never keeps the others from being told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from gitplacer.capacity.pushing import Pushed, Target, push
from gitplacer.controller.faults import found
from gitplacer.controller.turns import Backoff, Fault, backed_off
from gitplacer.git.program import GitError
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.problems import Rejected

Look = Callable[[datetime], Sequence[tuple[CapacitySnapshot, bytes]]]
"""Takes snapshots at a time, of one cluster or of all that a hub knows: each itself, and the file that it is."""


def send_for_ever(
    look: Look,
    target: Target,
    cache_dir: Path,
    *,
    clock: Callable[[], datetime],
    wait: Callable[[timedelta], bool],
    draw: Callable[[], float],
    told: Callable[[Pushed], None],
    failed: Callable[[Exception, timedelta], None],
) -> None:
    """
    Look and push, `target.every` so often, until `wait` says that it was told to stop. `told` hears of each push, `failed` of
    each failure and how long is waited after it. `draw` gives numbers from 0 to 1. Raises GitError where the first push cannot work.
    """
    backoff, is_first = Backoff(), True
    while True:
        pause = target.every
        try:
            failures = send(target, look(clock()), cache_dir, clock=clock, told=told)
        except Exception as error:
            failures = [error]
        if not failures:
            backoff = Backoff()
        else:
            fault = found(failures[0]).fault
            if is_first and fault is Fault.MISCONFIGURED:
                raise failures[0]
            backoff, seconds = backed_off(backoff, fault, draw())
            pause = timedelta(seconds=seconds)
            for each in failures:
                failed(each, pause)
        is_first = False
        if wait(pause):
            return


def send(
    target: Target,
    looked: Iterable[tuple[CapacitySnapshot, bytes]],
    cache_dir: Path,
    *,
    clock: Callable[[], datetime],
    told: Callable[[Pushed], None],
) -> list[Exception]:
    """Push snapshots, and what failed of it. After what is no fault of one branch alone, such as a host that is away, no other is tried."""
    failures: list[Exception] = []
    for snapshot, data in looked:
        try:
            told(push(target, snapshot, data, clock(), cache_dir))
        except (GitError, Rejected, OSError) as error:
            failures.append(error)
            if found(error).fault not in _OF_ONE_BRANCH:
                break
    return failures


_OF_ONE_BRANCH = frozenset({Fault.LOST_RACE, Fault.PUSH_REFUSED, Fault.UNEXPECTED})

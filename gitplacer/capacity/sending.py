"""
A writer that goes on: look at the cluster, send what is due, wait, until it is told to stop.

Whatever fails is told and tried again, later each time: a host that is away for a night must not end it, nor be asked every
half minute by every cluster. Somebody who stops it waits for the push that is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from gitplacer.capacity.access import ClusterError
from gitplacer.capacity.pushing import Pushed, Target, push
from gitplacer.git.program import GitError
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.problems import Rejected

LONGEST_WAIT = timedelta(minutes=5)
"""How long is waited at most after failures, where looks are not further apart anyway."""

Look = Callable[[datetime], Sequence[tuple[CapacitySnapshot, bytes]]]
"""Takes snapshots at a time, of one cluster or of all that a hub knows: each itself, and the file that it is."""


def send_for_ever(
    look: Look,
    target: Target,
    cache_dir: Path,
    *,
    clock: Callable[[], datetime],
    wait: Callable[[timedelta], bool],
    told: Callable[[Pushed], None],
    failed: Callable[[Exception, timedelta], None],
) -> None:
    """
    Look and push, `target.every` so often, until `wait` says that it was told to stop. `told` hears of each push, `failed` of
    each failure and how long is waited after it.
    """
    failures = 0
    while True:
        pause = target.every
        try:
            for snapshot, data in look(clock()):
                told(push(target, snapshot, data, clock(), cache_dir))
            failures = 0
        except (ClusterError, GitError, Rejected, OSError) as error:
            pause = backoff(target.every, failures)
            failures += 1
            failed(error, pause)
        if wait(pause):
            return


def backoff(every: timedelta, failures: int) -> timedelta:
    """How long is waited after a failure, given how many were just before it: twice as long each time, up to five minutes."""
    doubled: timedelta = every * 2 ** min(failures, 20)
    return max(every, min(doubled, LONGEST_WAIT))

"""
Planning alone, from inputs that are read and parsed: `python -m benchmarks.planning SOURCE DEPLOYMENT` prints seconds as JSON.

A process of its own, because it holds a whole fleet. Ledgers are opened within the time; candidates nobody asks for are not told, as in a pass
that is published. The processor's time counts, so that other work on the machine does not.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from benchmarks.hostile import peak
from gitplacer.layout.layout import Layout
from gitplacer.model.decision import Action
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import at_work
from gitplacer.placement.plan import plan
from gitplacer.settings import settings
from gitplacer.snapshot import snapshot_of


def main(source: str, deployment: str, now: str) -> None:
    gc.disable()  # as gitplacer itself does for a pass
    chosen = settings(source, deployment=deployment, now=now)
    memo = ParseCache(chosen.cache_dir)
    with at_work(chosen, memo, lambda message: None) as work:
        given = work.inputs
        snapshot = snapshot_of(given, memo)
        layout = Layout(snapshot, given.source, memo)
        start, by_clock = time.process_time(), time.perf_counter()
        planned = plan(snapshot, with_candidates=False, edits=layout.edits)
        spent, by_clock = time.process_time() - start, time.perf_counter() - by_clock
    shapes = {pods.shape for group in snapshot.groups.values() for pods in group.gang}
    placed = len(planned.groups(Action.PLACE))
    told = {
        "seconds": by_clock,
        "cpu": spent,
        "mib": peak() / 1024,
        "gangs": len(planned.decisions),
        "placed": placed,
        "shapes": len(shapes),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""
How long it takes to tell who would not survive the loss of each cluster, one at a time.

    python -m benchmarks.sweep                     # 200 clusters, 2,000 nodes, 1,000 gangs; on all cores
    python -m benchmarks.sweep --clusters 4 --nodes 40 --gangs 20 --runs 1    # the short form that CI runs

The fleet is placed first, then each run is a process: `gitplacer simulate --every-cluster`, which reads, plans the pass that is due,
and loses every cluster. Beside it stands what it would take to plan each loss as a pass of its own: one pass, as timed here, times
clusters, divided by cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import generate
from benchmarks.passes import Fleet, run

NOW = "2026-01-02T03:30:00Z"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the loss of every cluster of a generated fleet.")
    parser.add_argument("--gangs", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = {"gangs": chosen.gangs, "clusters": chosen.clusters, "nodes": chosen.nodes}
        fleet = Fleet(Path(folder), *generate.make(Path(folder), **size))
        fleet.reconcile()
        told = ["--now", NOW, "--deployment", str(fleet.deployment), str(fleet.source)]
        simulate = [
            sys.executable,
            "-m",
            "gitplacer",
            "simulate",
            "--every-cluster",
            "--processes",
            str(chosen.processes),
        ]
        sweeps, passes, processor, said = [], [], [], ""
        for _ in range(chosen.runs):
            passes.append(fleet.reconcile().seconds)
            before = used()
            start = time.perf_counter()
            said = run([*simulate, *told], fleet.environment).decode().splitlines()[-1]
            sweeps.append(time.perf_counter() - start)
            processor.append(used() - before)
    one, all_of_them = statistics.median(passes), statistics.median(sweeps)
    floor = one * chosen.clusters / chosen.processes
    print(
        f"{chosen.gangs:,} gangs, {chosen.clusters:,} clusters, {chosen.nodes:,} nodes, {chosen.processes} processes; "
        f"medians of {chosen.runs} runs\n{said}\n"
    )
    print("| work | seconds |\n|---|---|")
    print(f"| one pass that changes nothing | {one:.2f} |")
    print(f"| as many passes as clusters, on these processes | {floor:.2f} |")
    print(f"| the loss of every cluster | {all_of_them:.2f} |")
    print(f"| the same, in seconds of a processor | {statistics.median(processor):.2f} |")


def used() -> float:
    """Seconds of a processor that commands have taken so far, on all cores together."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()

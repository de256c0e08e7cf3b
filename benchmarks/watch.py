"""
How long it takes from a hint, as a webhook gives it, until a pushed RayJob is committed in the deployment repo.

    python benchmarks/watch.py                    # 1,000 gangs on 100 clusters with 10,000 nodes, twenty pushes
    python benchmarks/watch.py --gangs 50 --clusters 5 --nodes 50 --pushes 3      # the short form that CI runs

The controller runs as it does for a user, in this process, on real repos: each push adds a RayJob, gives the hint, and waits for the
commit to be visible. The floor is what git's own tools take to read the source's tree and to commit one file. The memory is that of
the process after the first pass and at the end.
"""

from __future__ import annotations

import argparse
import gc
import os
import queue
import random
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import generate

from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Turn
from gitplacer.settings import settings


class Ends(Silent):
    """Hands out turns as they end."""

    def __init__(self) -> None:
        self.turns: queue.SimpleQueue[Turn] = queue.SimpleQueue()

    def ended(self, turn: Turn) -> None:
        self.turns.put(turn)


def resident() -> float:
    """MiB of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def floor(source: Path, deployment: Path) -> float:
    """Seconds of git to list the source and to make and push one commit."""
    start = time.perf_counter()
    generate.git(source, "ls-tree", "-r", "-l", "HEAD")
    tree = generate.git(deployment, "rev-parse", "main^{tree}").strip()
    made = generate.git(deployment, "commit-tree", tree, "-p", "main", "-m", "floor").strip()
    generate.git(deployment, "push", "--quiet", str(deployment), f"+{made}:refs/heads/floor")
    return time.perf_counter() - start


def measured(
    folder: Path, gangs: int, clusters: int, nodes: int, pushes: int
) -> tuple[list[float], list[float], float, float, float]:
    """Seconds of each push and of each floor, those of the first pass, and the memory before and after."""
    source, deployment = generate.make(folder, gangs=gangs, clusters=clusters, nodes=nodes)
    os.environ["GITPLACER_CACHE"] = str(folder / "cache")
    ends = Ends()
    pace = Pace(interval=3600, full=3600, batch=0)
    controller = Controller(
        settings(str(source), deployment=str(deployment)), draw=lambda: 0.5, pace=pace, observers=[ends]
    )
    gc.disable()  # as the command line does
    runs = threading.Thread(target=controller.run, daemon=True)
    runs.start()
    first = ends.turns.get()
    before = resident()
    spent, floors = [], []
    for number in range(pushes):
        name = f"pushed-{number:04}"
        path = source / "workloads" / "team-0000" / f"{name}.yaml"
        path.write_text(generate.workload("RayJob", name, random.Random(number)))
        generate.commit(source, f"Add {name}")
        floors.append(floor(source, deployment))
        start = time.perf_counter()
        controller.wakes.hint("webhook")
        turn = ends.turns.get()
        assert (
            turn.tip == subprocess.check_output(["git", "-C", str(deployment), "rev-parse", "main"], text=True).strip()
        )
        spent.append(time.perf_counter() - start)
        assert turn.hydration is not None and turn.outcome == "Published", turn.message
    after = resident()
    controller.stop()
    runs.join()
    return spent, floors, first.seconds, before, after


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a push from its hint to its commit.")
    parser.add_argument("--gangs", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pushes", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spent, floors, first, before, after = measured(
            Path(folder), chosen.gangs, chosen.clusters, chosen.nodes, chosen.pushes
        )
    print(
        f"{chosen.gangs:,} gangs, {chosen.clusters:,} clusters, {chosen.nodes:,} nodes; {chosen.pushes} pushes\n"
        f"first pass {first:.1f} s; memory after it {before:.0f} MiB, at the end {after:.0f} MiB\n"
    )
    median, worst, least = statistics.median(spent), max(spent), statistics.median(floors)
    print("| work | median, seconds | slowest | floor | ratio |\n|---|---|---|---|---|")
    print(f"| hint to commit | {median:.2f} | {worst:.2f} | {least:.2f} | {median / least:.1f} |")


if __name__ == "__main__":
    main()

"""
How long it takes from a hint, as a webhook gives it, until a pushed RayJob is committed in the deployment repo.

    python -m benchmarks.watch                    # 1,000 gangs on 100 clusters with 10,000 nodes, twenty pushes
    python -m benchmarks.watch --gangs 50 --clusters 5 --nodes 50 --pushes 3      # the short form that CI runs

The controller runs as it does for a user, in this process, on real repos: each push adds a RayJob, gives the hint, and waits for the
commit to be visible, and for the controller to have done what comes after: behind a whole pass that is a pass which settles. With `--on FOLDER` it runs on a fleet that is placed there already (`source`, `deployment.git`), and each push
gives a RayJob another image instead, or, by turns, a comment; with `--lose` there is one push, which gives up the largest cluster. The floor is what git's own tools take to read the source's tree and to
commit one file. The memory is that of the process after the first pass and at the end.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import queue
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from benchmarks import generate
from benchmarks.passes import Fleet
from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Turn
from gitplacer.runners.isolated import IsolatedParser
from gitplacer.settings import settings

FULL = timedelta(hours=1)
"""Between passes that nobody asks for."""


class Ends(Silent):
    """Hands out turns as they end."""

    def __init__(self) -> None:
        self.turns: queue.SimpleQueue[Turn] = queue.SimpleQueue()

    def ended(self, turn: Turn) -> None:
        self.turns.put(turn)

    def settled(self, turn: Turn) -> None:
        """Wait for the pass that follows a turn at once, if one does."""
        if turn.next_at - turn.started < timedelta(seconds=turn.seconds) + FULL / 2:
            self.turns.get()


def resident() -> float:
    """MiB of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor() -> float:
    """Seconds of a processor that this process and the gits that it has started have taken."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def floor(source: Path, deployment: Path) -> float:
    """Seconds of git to list the source and to make and push one commit."""
    start = time.perf_counter()
    generate.git(source, "ls-tree", "-r", "-l", "HEAD")
    tree = generate.git(deployment, "rev-parse", "main^{tree}").strip()
    made = generate.git(deployment, "commit-tree", tree, "-p", "main", "-m", "floor").strip()
    generate.git(deployment, "push", "--quiet", str(deployment), f"+{made}:refs/heads/floor")
    return time.perf_counter() - start


@dataclass
class Measured:
    """
    Seconds of each push until its commit is there, until the controller has also taken down what it needs for the next, of a processor for all that, and of
    each floor; those of the first pass; MiB of memory after that and at the end.
    """

    spent: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    first: float = 0.0
    memory: tuple[float, float] = (0.0, 0.0)

    def told(self) -> dict[str, float]:
        """Medians of the pushes, of images and, if there are any, of comments, the slowest of them, and the most memory, for a program."""
        comments = self.spent[1::2]
        return {
            "seconds": statistics.median(self.spent[::2]),
            **({"comment": statistics.median(comments)} if comments else {}),
            "slowest": max(self.spent),
            "ended": statistics.median(self.ended[::2]),
            "cpu": statistics.median(self.worked[::2]),
            "floor": statistics.median(self.floors),
            "mib": max(self.memory),
        }


def added(source: Path, number: int) -> None:
    """One RayJob more."""
    path = source / "workloads" / "team-0000" / f"pushed-{number:04}.yaml"
    path.write_text(generate.workload("RayJob", path.stem, random.Random(number)))
    generate.commit(source, f"Add {path.stem}")


def changes(fleet: Fleet) -> Callable[[Path, int], None]:
    """One RayJob that is placed has another image or, each second time, its manifest a line more; each time another one."""
    jobs = fleet.jobs()

    def change(source: Path, number: int) -> None:
        path = jobs[-number * len(jobs) // 7 % len(jobs)]
        if number % 2:
            fleet.edit([path])
        else:
            fleet.edit_image(path)

    return change


def loses(fleet: Fleet) -> Callable[[Path, int], None]:
    """The largest cluster is lost."""
    return lambda source, number: fleet.lose()


def measured(
    folder: Path, source: Path, deployment: Path, pushes: int, push: Callable[[Path, int], None] = added
) -> Measured:
    """Push and hint, again and again; the cache is in the folder."""
    os.environ["GITPLACER_CACHE"] = str(folder / "cache")
    ends, found = Ends(), Measured()
    pace = Pace(interval=FULL.total_seconds(), full=FULL.total_seconds(), batch=0)
    chosen = settings(str(source), deployment=str(deployment))
    parser = IsolatedParser()
    parser.start()
    controller = Controller(chosen, draw=lambda: 0.5, pace=pace, observers=[ends], parser=parser.parse)
    gc.disable()  # as the command line does
    runs = threading.Thread(target=controller.run, daemon=True)
    runs.start()
    first = ends.turns.get()
    found.first = first.seconds
    ends.settled(first)
    before = resident()
    for number in range(pushes):
        push(source, number)
        found.floors.append(floor(source, deployment))
        worked, start, hinted = processor(), time.perf_counter(), time.time()
        controller.wakes.hint("webhook", "refs/heads/main")
        turn = ends.turns.get()
        ends.settled(turn)
        found.ended.append(time.perf_counter() - start)
        found.spent.append((deployment / "refs" / "heads" / "main").stat().st_mtime - hinted)  # when it was pushed
        found.worked.append(processor() - worked)
        assert turn.outcome == "Published", turn.message
        assert turn.tip == generate.git(deployment, "rev-parse", "main").strip()
    found.memory = before, resident()
    controller.stop()
    runs.join()
    parser.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a push from its hint to its commit.")
    parser.add_argument("--gangs", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pushes", type=int, default=20)
    parser.add_argument("--on", type=Path, metavar="FOLDER", help="a fleet that is placed there")
    parser.add_argument("--lose", action="store_true", help="its largest cluster is lost")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.lose and not chosen.on:
        parser.error("--lose takes a fleet that is placed: say where, --on FOLDER")
    if chosen.on:
        fleet = Fleet(chosen.on, chosen.on / "source", chosen.on / "deployment.git")
        push, pushes = (loses(fleet), 1) if chosen.lose else (changes(fleet), chosen.pushes)
        found = measured(chosen.on, fleet.source, fleet.deployment, pushes, push)
    else:
        with tempfile.TemporaryDirectory() as folder:
            size = {"gangs": chosen.gangs, "clusters": chosen.clusters, "nodes": chosen.nodes}
            found = measured(Path(folder), *generate.make(Path(folder), **size), chosen.pushes)
    if chosen.json:
        print(json.dumps(found.told()))
        return
    print(
        f"{chosen.gangs:,} gangs, {chosen.clusters:,} clusters, {chosen.nodes:,} nodes; {chosen.pushes} pushes\n"
        f"first pass {found.first:.1f} s; memory after it {found.memory[0]:.0f} MiB, at the end {found.memory[1]:.0f} MiB\n"
    )
    median, least = statistics.median(found.spent), statistics.median(found.floors)
    print(
        "| work | median, seconds | slowest | ended | of a processor | floor | ratio |\n|---|---|---|---|---|---|---|"
    )
    print(
        f"| hint to commit | {median:.2f} | {max(found.spent):.2f} | {statistics.median(found.ended):.2f} "
        f"| {statistics.median(found.worked):.2f} | {least:.2f} | {median / least:.1f} |"
    )


if __name__ == "__main__":
    main()

"""
How long a pass takes, as whole processes, beside floors measured in the same run.

    python benchmarks/run.py                      # 1,000 gangs on 100 clusters with 10,000 nodes, five runs each
    python benchmarks/run.py --gangs 50 --clusters 5 --nodes 50 --runs 1      # the short form that CI runs

Each row is the median over the runs. A floor is the least that somebody has to do: git's own tools moving the same
bytes, the C YAML loader reading the same files, one numpy pass over the node table. Machines differ; ratios hold.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import generate
import numpy as np
import yaml

MINUTE = "2026-01-02T03:{:02}:00Z"


class Fleet:
    """One generated fleet and the commands that are timed on it."""

    def __init__(self, folder: Path, gangs: int, clusters: int, nodes: int) -> None:
        self.folder = folder
        self.nodes = nodes
        self.source, self.deployment = generate.make(folder, gangs=gangs, clusters=clusters, nodes=nodes)
        self.environment = {**os.environ, "GITPLACER_CACHE": str(folder / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}
        self._minute = 5

    def forget(self) -> None:
        """An empty deployment repo and no cache: the next pass starts from nothing."""
        shutil.rmtree(self.deployment)
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        generate.git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.deployment))

    def reconcile(self) -> float:
        """Seconds that one `gitplacer reconcile` takes, as a process."""
        now = MINUTE.format(self._minute % 60)
        command = [sys.executable, "-m", "gitplacer", "reconcile", "--now", now, "--deployment", str(self.deployment)]
        return timed(lambda: run([*command, str(self.source)], self.environment))

    def plan(self) -> float:
        """Seconds that one `gitplacer plan --format json` takes, with the verdict of every cluster on every group."""
        command = [sys.executable, "-m", "gitplacer", "plan", "--format", "json", "--now", MINUTE.format(59)]
        return timed(lambda: run([*command, "--deployment", str(self.deployment), str(self.source)], self.environment))

    def edit_one_file(self, number: int) -> None:
        """Change one workload and commit."""
        path = sorted((self.source / "workloads").rglob("*.yaml"))[0]
        path.write_text(path.read_text() + f"# edit {number}\n")
        generate.commit(self.source, f"Edit {number}")

    def read_floor(self) -> float:
        """Seconds for `git cat-file --batch` to print every file of the source."""
        oids = generate.git(self.source, "ls-tree", "-r", "--format=%(objectname)", "HEAD").encode()
        return timed(lambda: run(["git", "-C", str(self.source), "cat-file", "--batch"], self.environment, oids))

    def parse_floor(self) -> float:
        """Seconds for the C YAML loader and json to load every file of the source."""
        manifests = [path.read_bytes() for path in self.source.rglob("*.yaml")]
        snapshots = [path.read_bytes() for path in self.source.rglob("*.json")]

        def load() -> None:
            for text in manifests:
                yaml.load(text, Loader=yaml.CSafeLoader)
            for text in snapshots:
                json.loads(text)

        return timed(load)

    def write_floor(self) -> float:
        """Seconds for `git fast-export | git fast-import` to write what the deployment repo holds."""
        stream = run(["git", "-C", str(self.deployment), "fast-export", "main"], self.environment)
        with tempfile.TemporaryDirectory() as folder:
            generate.git(Path(folder), "init", "--quiet", "--bare", ".")
            return timed(lambda: run(["git", "-C", folder, "fast-import", "--quiet"], self.environment, stream))

    def arithmetic_floor(self) -> float:
        """Seconds for one numpy comparison of every gang's worker with every node."""
        free = np.random.default_rng(1).integers(0, 1 << 40, (self.nodes, 5))
        asked = np.full(5, 1 << 39)
        gangs = len(list((self.source / "workloads").rglob("*.yaml")))
        return timed(lambda: [(free >= asked).all(axis=1) for _ in range(gangs)])


def run(command: list[str], environment: dict[str, str], stdin: bytes = b"") -> bytes:
    done = subprocess.run(command, input=stdin, env=environment, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    return done.stdout


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measured(fleet: Fleet, runs: int) -> list[tuple[str, float, float]]:
    """Rows: what was done, the median of its seconds, the median of the sum of its floors."""
    fleet.reconcile()
    cold, same, one, plans, cold_floor, warm_floor = ([] for _ in range(6))
    for number in range(runs):
        reading, parsing, numbers = fleet.read_floor(), fleet.parse_floor(), fleet.arithmetic_floor()
        fleet.forget()
        cold.append(fleet.reconcile())
        cold_floor.append(reading + parsing + numbers + fleet.write_floor())
        same.append(fleet.reconcile())
        fleet.edit_one_file(number)
        one.append(fleet.reconcile())
        warm_floor.append(reading)
        plans.append(fleet.plan())
    median = statistics.median
    return [
        ("cold: read, parse, plan, render, commit, push", median(cold), median(cold_floor)),
        ("nothing changed, new process", median(same), median(warm_floor)),
        ("one manifest changed, new process", median(one), median(warm_floor)),
        ("plan as JSON, every cluster's verdict on every group", median(plans), median(warm_floor)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time whole passes on a generated fleet.")
    parser.add_argument("--gangs", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder), chosen.gangs, chosen.clusters, chosen.nodes)
        rows = measured(fleet, chosen.runs)
    print(
        f"{chosen.gangs:,} gangs, {chosen.clusters:,} clusters, {chosen.nodes:,} nodes; medians of {chosen.runs} runs\n"
    )
    print("| work | seconds | floor | ratio |\n|---|---|---|---|")
    for what, seconds, floor in rows:
        print(f"| {what} | {seconds:.2f} | {floor:.2f} | {seconds / floor:.1f} |")


if __name__ == "__main__":
    main()

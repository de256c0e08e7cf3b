"""
How long it takes to find the clusters of a large fleet that may have room for a gang, on one core.

    python -m benchmarks.feasibility              # 1,000 clusters with 100,000 nodes, twenty runs
    python -m benchmarks.feasibility --clusters 10 --nodes 200 --runs 2      # the short form that CI runs

The floor is one numpy comparison of a pod's request with what is free on every node, for each shape of pods in the gang:
whoever answers for all nodes has to look at them. Machines differ; ratios hold.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from benchmarks import generate
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.books import Books
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing

GIB = 2**30
TOLERATES = (Toleration("nvidia.com/gpu", "Exists"),)
ZONED = (("kubernetes.io/arch", "amd64"),)


class Fleet:
    """Parsed snapshots of a generated fleet, and its books."""

    def __init__(self, clusters: int, nodes: int, seed: int = 1) -> None:
        chance = random.Random(seed)
        self.names = [f"cluster-{number:04}" for number in range(clusters)]
        self._snapshots = {
            name: CapacitySnapshot.model_validate(json.loads(generate.snapshot(name, nodes // clusters, chance)))
            for name in self.names
        }
        self._clusters = {
            name: Cluster.model_validate(
                {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": {}}
            )
            for name in self.names
        }
        self._numbers = count()
        self.books = self.opened()
        self.everywhere = self.books.numbers(self.names)

    def opened(self) -> Books:
        """The ledgers and their survey, from parsed snapshots."""
        columns = Columns.of(self._snapshots.values(), self._clusters.values(), ())
        return Books({n: Ledger(self._clusters[n], s, columns) for n, s in self._snapshots.items()}, columns)

    def gang(self, *, workers: int = 8, selects: bool = False) -> Gang:
        """A head, GPU workers and a submitter, of three shapes that no other gang has."""
        odd = next(self._numbers)
        node_selector = ZONED if selects else ()
        head, worker, submitter = (
            {"cpu": 2000 + odd, "memory": 4 * GIB},
            {"cpu": 3000 + odd, "memory": 16 * GIB, "nvidia.com/gpu": 2},
            {"cpu": 500 + odd, "memory": 200 << 20},
        )
        return (
            PodSet("head", 1, PodShape(Resources(head), node_selector)),
            PodSet("worker/gpu", workers, PodShape(Resources(worker), node_selector, None, TOLERATES)),
            PodSet("submitter", 1, PodShape(Resources(submitter), node_selector)),
        )

    def floor(self) -> float:
        """Seconds of one comparison of every node with each of three requests."""
        free = np.concatenate([self.books[name].free_on_nodes() for name in self.names])
        rows = [self.books[self.names[0]].columns.asked(pods.shape) for pods in self.gang()]
        columns = np.ascontiguousarray(free.T)

        def compare() -> None:
            for row in rows:
                fits = columns[0] >= row[0]
                for column in range(1, len(row)):
                    fits &= columns[column] >= row[column]

        return timed(compare)

    def placed(self, gang: Gang) -> None:
        """Take the room of a gang on the tightest cluster that it fits."""
        open_ = self.everywhere[self.books.may_have_room(gang, self.everywhere)]
        alike = np.zeros(len(open_), dtype=np.int64)
        for number in self.books.best_first(gang, open_, alike, alike):
            name = self.books.names[number]
            packing = self.books.fit(gang, name, scale_up=False)
            if isinstance(packing, Packing):
                self.books.reserve(f"team/{next(self._numbers)}", name, packing)
                return


def timed(work: Callable[[], object]) -> float:
    """Seconds of processor time."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measured(fleet: Fleet, runs: int) -> Iterator[tuple[str, float]]:
    """What was done, and the median of its seconds."""

    def median(work: Callable[[], object]) -> float:
        return statistics.median(timed(work) for _ in range(runs))

    def asked(gang: Gang) -> object:
        return fleet.books.may_have_room(gang, fleet.everywhere)

    yield "ledgers and survey, from parsed snapshots", statistics.median(timed(fleet.opened) for _ in range(3))
    asked(fleet.gang(selects=True))
    yield "feasibility of a gang, shapes never seen", median(lambda: asked(fleet.gang()))
    yield "the same, with a node selector", median(lambda: asked(fleet.gang(selects=True)))
    huge = 8 * len(fleet.names) * 100
    yield "the same, a gang too large for every cluster", median(lambda: asked(fleet.gang(workers=huge)))
    known = fleet.gang()
    asked(known)
    yield "feasibility of a gang, shapes known", median(lambda: asked(known))
    packings = [(name, fleet.books.fit(known, name, scale_up=False)) for name in fleet.names[:runs]]
    fits = [(name, packing) for name, packing in packings if isinstance(packing, Packing)]
    numbers = count()
    spent = [timed(lambda: fleet.books.reserve(f"team/{next(numbers)}", name, packing)) for name, packing in fits]  # noqa: B023
    yield "one reservation", statistics.median(spent)
    yield "feasibility, ranking, packing and reservation of a gang", median(lambda: fleet.placed(fleet.gang()))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the search for clusters that may have room for a gang.")
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    chosen = parser.parse_args()
    fleet = Fleet(chosen.clusters, chosen.nodes)
    gc.collect()
    gc.disable()  # as gitplacer itself does for a pass
    floor = statistics.median(fleet.floor() for _ in range(chosen.runs))
    rows = list(measured(fleet, chosen.runs))
    tracemalloc.start()
    books = fleet.opened()
    memory = tracemalloc.get_traced_memory()[0] / 2**20
    del books
    print(
        f"{chosen.clusters:,} clusters, {chosen.nodes:,} nodes, one core; medians of {chosen.runs} runs\n"
        f"ledgers and survey take {memory:.0f} MiB\n"
    )
    print("| work | milliseconds | floor | ratio |\n|---|---|---|---|")
    for what, seconds in rows:
        print(f"| {what} | {1e3 * seconds:.2f} | {1e3 * floor:.2f} | {seconds / floor:.1f} |")


if __name__ == "__main__":
    main()

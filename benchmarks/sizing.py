"""
How long it takes to size and check Ray manifests that are parsed already, on one core.

    python -m benchmarks.sizing                   # 10,000 manifests, five runs
    python -m benchmarks.sizing --manifests 200 --runs 1      # the short form that CI runs

The floor is one visit of every value in the same manifests, by the plainest recursion: whoever sizes a manifest has to look
at it.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import generate
from gitplacer import rules, workloads
from gitplacer.documents import Document, parse
from gitplacer.sizing import Sized
from gitplacer.workloads.why import why

KINDS = ("RayJob", "RayService")


def manifests(number: int, seed: int = 1) -> list[Document]:
    """So many Ray objects, parsed."""
    chance = random.Random(seed)
    found: list[Document] = []
    while len(found) < number:
        data = generate.workload(KINDS[len(found) % 2], f"app-{len(found)}", chance).encode()
        for index, item in enumerate(parse(data).documents):
            if item.value["kind"] in KINDS:
                found.append(Document("app.yaml", item, index, lambda data=data: data))
    return found[:number]


def visit(value: Any) -> int:
    """The number of values in a value."""
    if isinstance(value, dict):
        return 1 + sum(visit(item) for item in value.values())
    if isinstance(value, list):
        return 1 + sum(visit(item) for item in value)
    return 1


def timed(documents: list[Document], work: Callable[[Document], object]) -> float:
    """Seconds of processor time for work on every document."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    for document in documents:
        work(document)
    spent = time.process_time() - start
    gc.enable()
    return spent


def explained(document: Document) -> list[tuple[str, ...]]:
    return [why(role) for role in Sized(document, workloads.read(document)[0]).facts.roles]


WORK: dict[str, Callable[[Document], object]] = {
    "size and check": lambda document: (workloads.read(document), rules.check(document)),
    "size": workloads.read,
    "check": rules.check,
    "size, with a line of why for every number": explained,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the sizing and checking of Ray manifests.")
    parser.add_argument("--manifests", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    documents = manifests(chosen.manifests)
    spent: dict[str, list[float]] = {name: [] for name in WORK}
    floors = []
    for _ in range(chosen.runs):
        floors.append(timed(documents, lambda document: visit(document.value)))
        for name, work in WORK.items():
            spent[name].append(timed(documents, work))
    floor = statistics.median(floors)
    print(f"{chosen.manifests:,} Ray manifests from parsed documents, one core; medians of {chosen.runs} runs\n")
    print("| work | seconds | floor | ratio |\n|---|---|---|---|")
    for name, seconds in spent.items():
        print(f"| {name} | {statistics.median(seconds):.2f} | {floor:.2f} | {statistics.median(seconds) / floor:.1f} |")


if __name__ == "__main__":
    main()

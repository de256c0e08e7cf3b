"""
How often greedy rules miss a placement that exists.

    python -m tests.heuristics                  # the table of docs/fit.md
    python -m tests.heuristics --seeds 0:400    # generated gangs instead of the recorded ones

Of the gangs for which a placement exists: how many does first-fit-decreasing find, how many any of the greedy rules that are
tried before the search, and how many the search.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gitplacer.scheduler import read_cluster, read_pod
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.orders import named_orders
from gitplacer.scheduler.packing import find, greedily
from gitplacer.scheduler.simulation import Profile, simulate
from gitplacer.scheduler.site import Site
from tests import exactfit, generatedcases

CASES = Path(__file__).parent / "data" / "scheduler_cases.jsonl.gz"


def recorded() -> Iterator[dict[str, Any]]:
    """The recorded cases for which a placement exists."""
    with gzip.open(CASES, "rt") as lines:
        for case in map(json.loads, lines):
            if case["recorded"]["feasible"]:
                yield case


def generated(seeds: range) -> Iterator[dict[str, Any]]:
    """Generated ones, by an exact solver's answer."""
    for item in generatedcases.generate(seeds, lambda case: exactfit.solve(case).feasible):
        if item.feasible:
            yield item.case


def board(case: dict[str, Any]) -> Board:
    cluster = read_cluster(case["nodes"], case["existingPods"], case["namespaces"])
    return Board(Site(cluster), [read_pod(pod) for pod in case["pods"]])


def first_fit_decreasing(of: Board) -> bool:
    """The largest pods first, each to the first node with room."""
    orders = dict(named_orders(of))
    largest = orders.get("largest first", orders["as created"])
    return not simulate(of, largest, Profile("first", "first")).left


def counted(cases: Iterable[dict[str, Any]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for case in cases:
        of = board(case)
        found["all"] += 1
        found["first-fit-decreasing"] += first_fit_decreasing(of)
        found["any of the greedy rules"] += greedily(of).outcome == "found"
        found["greedy rules, then the search"] += find(of).outcome == "found"
    return found


def table(found: Counter[str]) -> list[str]:
    total = found["all"]
    rows = [f"| | finds, of {total} | misses |", "|---|---|---|"]
    for name, count in found.items():
        if name != "all":
            rows.append(f"| {name} | {count} ({count / total:.1%}) | {total - count} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the placements that greedy rules miss.")
    parser.add_argument("--seeds", help="first and last seed of generated gangs, as 0:400")
    chosen = parser.parse_args()
    cases = recorded() if chosen.seeds is None else generated(range(*map(int, chosen.seeds.split(":"))))
    print("\n".join(table(counted(cases))))


if __name__ == "__main__":
    main()

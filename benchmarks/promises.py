"""
Who would have promised what cannot run: the same gangs, planned by gitplacer and by the rules that others publish.

    python -m benchmarks compare-rules                   # 60 fleets: minutes
    python -m benchmarks compare-rules --seeds 0:20      # as in docs/performance.md

Fleets are small and have too few GPUs for their queues (`tests/packing_quality.py`); nothing but cores, memory and GPUs decides, so no rule is at a loss
for not knowing taints or selectors. A promise cannot run where an exact solver finds no way to place the gang's pods together with those of all gangs
before it that can (`tests/exactfit.py`), wherever these lie. It may not run where kube-scheduler's own rules (`tests/schedulerjudge.py`) leave out a pod in one of
the orders that are tried: gang after gang as created, and mixed, by either way of scoring. Both judges share nothing with what they judge.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.peers import (
    OnCluster,
    Promises,
    Queue,
    Rule,
    by_cluster,
    counts_decisions,
    each_by_itself,
    pod_by_pod,
    totals,
)
from gitplacer.hydrate import hydrate
from gitplacer.model.decision import Action
from tests import exactfit, schedulerjudge
from tests.packing_quality import Amounts, Fleet, Gang, drawn, waiting

MIXED = 3
"""Orders in which the pods of different gangs come mixed, beside the one in which they come gang after gang."""


def by_gitplacer(accept: str) -> Rule:
    """The real planner, on manifests and snapshots."""

    def promised(fleet: Fleet, queue: Queue) -> Promises:
        done = hydrate(waiting(fleet, queue, accept).inputs(), with_candidates=False)
        placed = [decision for decision in done.view.plan.decisions if decision.action is Action.PLACE]
        return {int(decision.group.removeprefix("ns/g")): decision.after[0] for decision in placed}

    return promised


RULES: dict[str, Rule] = {
    "gitplacer": by_gitplacer("Fits"),
    "gitplacer, tight fits accepted": by_gitplacer("TightFit"),
    "first-fit, node by node": pod_by_pod,
    "per-node estimate, each component by itself": each_by_itself,
    "totals per cluster": totals,
    "scores alone, nothing is sized": counts_decisions,
}


@dataclass
class Tally:
    """Gangs, and the GPUs that they ask for."""

    promised: int = 0
    gpus: int = 0
    impossible: int = 0
    unlucky: int = 0

    def add(self, found: OnCluster) -> None:
        impossible = set(cannot_run(found))
        self.promised += len(found.gangs)
        self.gpus += sum(gang.gpus for number, gang in found.gangs.items() if number not in impossible)
        self.impossible += len(impossible)
        self.unlucky += len(may_not_run(found) | impossible)


def cannot_run(found: OnCluster) -> Iterator[int]:
    """The gangs for which there is no room, whatever the scheduler does, beside those before them for which there is."""
    if _possible(found.nodes, found.gangs):
        return
    running: dict[int, Gang] = {}
    for number, gang in found.gangs.items():
        if _possible(found.nodes, {**running, number: gang}):
            running[number] = gang
        else:
            yield number


def _possible(nodes: list[Amounts], gangs: Mapping[int, Gang]) -> bool:
    """Where the solver gives up, it is counted as possible: for the rule that promised."""
    return exactfit.solve(case(nodes, gangs)).feasible is not False


def may_not_run(found: OnCluster) -> set[int]:
    """The gangs of which a pod found no node in one of the orders."""
    judged = case(found.nodes, found.gangs)
    names = [pod["metadata"]["name"] for pod in judged["pods"]]
    left: set[int] = set()
    for turn in range(1 + MIXED):
        order = names if turn == 0 else random.Random(turn).sample(names, len(names))
        for scoring in ("LeastAllocated", "MostAllocated"):
            outcome = schedulerjudge.run(judged, order, scoring, turn)
            left |= {int(name.partition("-")[0][1:]) for name in outcome.unplaced}
    return left


def case(nodes: list[Amounts], gangs: Mapping[int, Gang]) -> dict[str, Any]:
    """What the judges are given: nodes and pods of Kubernetes."""
    return {
        "nodes": [
            {
                "metadata": {"name": f"n{number}", "labels": {"kubernetes.io/hostname": f"n{number}"}},
                "status": {"allocatable": {**_quantities(node), "pods": "110"}},
            }
            for number, node in enumerate(nodes)
        ],
        "existingPods": [],
        "namespaces": [],
        "pods": [
            {
                "metadata": {"name": f"g{number}-{index}", "namespace": "ns"},
                "spec": {"containers": [{"name": "ray", "resources": {"requests": _quantities(pod)}}]},
            }
            for number, gang in gangs.items()
            for index, pod in enumerate(gang.pods)
        ],
    }


def _quantities(amounts: Amounts) -> dict[str, str]:
    gpus = {"nvidia.com/gpu": str(amounts.gpus)} if amounts.gpus else {}
    return {"cpu": str(amounts.cpu), "memory": f"{amounts.memory}Gi", **gpus}


def studied(seeds: Iterable[int]) -> dict[str, Tally]:
    """Of each rule, what became of its promises."""
    found = {name: Tally() for name in RULES}
    for seed in seeds:
        fleet, queue = drawn(seed)
        for name, rule in RULES.items():
            for cluster in by_cluster(fleet, queue, rule(fleet, queue)):
                found[name].add(cluster)
    return found


def table(found: Mapping[str, Tally]) -> list[str]:
    """Rows of Markdown."""
    rows = [
        "| rule | gangs promised room | cannot run | may not run | GPUs of those that can |",
        "|---|---|---|---|---|",
    ]
    for name, tally in found.items():
        share = f"{tally.impossible} ({tally.impossible / max(1, tally.promised):.0%})"
        unlucky = f"{tally.unlucky} ({tally.unlucky / max(1, tally.promised):.0%})"
        rows.append(f"| {name} | {tally.promised} | {share} | {unlucky} | {tally.gpus} |")
    return rows


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks compare-rules", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--seeds", default="0:60", help="first and last seed, as 0:200")
    first, last = map(int, parser.parse_args(arguments).seeds.split(":"))
    print("\n".join(table(studied(range(first, last)))))

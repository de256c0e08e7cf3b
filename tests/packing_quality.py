"""
How many GPUs find work: the planner's choice of cluster and nodes, beside simple rules and the best that can be done.

    python -m tests.packing_quality                     # the table of docs/performance.md
    python -m tests.packing_quality --seeds 0:20        # a shorter one

Each seed is a few clusters and a queue of gangs that asks for more GPUs than there are. Gangs are taken one after another
and are placed whole or wait. The planner is asked by a real pass over a real source; first-fit takes the first cluster
and node with room; most-free those with most of it. None of the three says that the pods will really come to lie like that,
so the planner is asked with `accept: TightFit`; and once more with its default, where each gang must find room whatever order
the pods of all of them come in. The best is what an exact solver places of the same queue when it
knows all of it beforehand, which nobody does who has to answer each gang as it comes.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ortools.sat.python import cp_model

from gitplacer.hydrate import hydrate
from gitplacer.model.decision import Action
from tests.stories import Story, cluster, policy, snapshot

STEPS = 4.0
"""The solver's own measure of work, the same on every machine. Where it does not suffice, the bound it has counts."""


class Amounts(NamedTuple):
    """GPUs, cores and GiB: of a pod, or free on a node."""

    gpus: int
    cpu: int
    memory: int

    def minus(self, other: Amounts) -> Amounts:
        return Amounts(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    def holds(self, other: Amounts) -> bool:
        return all(mine >= theirs for mine, theirs in zip(self, other, strict=True))


@dataclass(frozen=True)
class Gang:
    """A Ray cluster: its head, and so many equal workers."""

    head: Amounts
    worker: Amounts
    workers: int

    @property
    def gpus(self) -> int:
        return self.worker.gpus * self.workers

    @property
    def pods(self) -> list[Amounts]:
        return [self.head] + [self.worker] * self.workers


Fleet = dict[str, list[Amounts]]
"""Cluster to what each of its nodes offers."""
Rule = Callable[[Fleet, Gang], tuple[str, Fleet] | None]
"""Where a gang goes, and what the fleet has left then; None if it waits."""

EIGHT, ONE, PLAIN = Amounts(8, 96, 768), Amounts(1, 12, 96), Amounts(0, 32, 128)


def drawn(seed: int) -> tuple[Fleet, list[Gang]]:
    """A fleet and a queue that asks for about a third more GPUs than it has."""
    chance = random.Random(seed)
    fleet: Fleet = {}
    for name in "abcd"[: chance.randint(2, 4)]:
        nodes = [EIGHT] * chance.randint(0, 3) + [ONE] * chance.choice((0, 0, 4, 8)) + [PLAIN] * chance.randint(0, 2)
        fleet[name] = nodes or [EIGHT]
    if not any(node.gpus for nodes in fleet.values() for node in nodes):
        fleet["a"].append(EIGHT)
    wanted = sum(node.gpus for nodes in fleet.values() for node in nodes) * 4 // 3
    queue: list[Gang] = []
    while sum(gang.gpus for gang in queue) < wanted:
        head = Amounts(0, chance.choice((2, 4)), chance.choice((8, 16)))
        if chance.random() < 0.25:
            worker, workers = Amounts(0, chance.choice((4, 8)), 32), chance.randint(1, 4)
        else:
            gpus = chance.choice((1, 1, 1, 2, 2, 4, 8))
            worker, workers = Amounts(gpus, 10 * gpus, 80 * gpus), chance.choice((1, 1, 2, 2, 3, 4))
        queue.append(Gang(head, worker, workers))
    return fleet, queue


def by_turns(rule: Rule, fleet: Fleet, queue: Iterable[Gang]) -> int:
    """GPUs of the gangs that a rule places, one after another."""
    placed = 0
    for gang in queue:
        found = rule(fleet, gang)
        if found is not None:
            fleet, placed = found[1], placed + gang.gpus
    return placed


def first_fit(fleet: Fleet, gang: Gang) -> tuple[str, Fleet] | None:
    """The first cluster, the first node."""
    return _first(fleet, sorted(fleet), gang, key=lambda node: ())


def most_free(fleet: Fleet, gang: Gang) -> tuple[str, Fleet] | None:
    """The cluster and the node with most free: GPUs if the gang wants any, then cores."""

    def total(name: str) -> tuple[int, int]:
        gpus, cpu = sum(node.gpus for node in fleet[name]), sum(node.cpu for node in fleet[name])
        return (-gpus if gang.gpus else 0), -cpu

    return _first(
        fleet, sorted(fleet, key=lambda n: (total(n), n)), gang, key=lambda node: (-node.gpus if gang.gpus else 0, -node.cpu)
    )  # fmt: skip


def _first(
    fleet: Fleet, names: Sequence[str], gang: Gang, key: Callable[[Amounts], tuple[int, ...]]
) -> tuple[str, Fleet] | None:
    """The first of some clusters on which each pod, one after another, finds a node; nodes in the order of a key."""
    for name in names:
        nodes = list(fleet[name])
        for pod in gang.pods:
            able = [index for index, node in enumerate(nodes) if node.holds(pod)]
            if not able:
                break
            chosen = min(able, key=lambda index: (key(nodes[index]), index))
            nodes[chosen] = nodes[chosen].minus(pod)
        else:
            return name, {**fleet, name: nodes}
    return None


def waiting(fleet: Fleet, queue: Sequence[Gang], accept: str) -> Story:
    """A fleet whose groups wait in the order of the queue."""
    capacity: dict[str, str] = {}
    for name, nodes in fleet.items():
        listed = [f"n{i} {node.cpu} {node.memory}Gi {node.gpus}" for i, node in enumerate(nodes)]
        capacity |= snapshot(name, *listed)
    files = {f"workloads/ns/g{i:03}.yaml": _manifest(f"g{i:03}", gang) for i, gang in enumerate(queue)}
    return Story.of(
        *(cluster(name) for name in fleet),
        policy("anywhere", f"select: {{}}\nplacement: {{accept: {accept}}}"),
        files,
        capacity=capacity,
    )


def planned(fleet: Fleet, queue: Sequence[Gang], accept: str = "TightFit") -> int:
    """GPUs of the gangs that one pass places of those that wait."""
    done = hydrate(waiting(fleet, queue, accept).inputs(), with_candidates=False)
    actions = {d.group: d.action for d in done.view.plan.decisions}
    assert set(actions.values()) <= {Action.PLACE, Action.WAIT}
    return sum(gang.gpus for i, gang in enumerate(queue) if actions[f"ns/g{i:03}"] is Action.PLACE)


def _manifest(name: str, gang: Gang) -> str:
    def template(pod: Amounts) -> str:
        limits = f'limits: {{nvidia.com/gpu: "{pod.gpus}"}}, ' if pod.gpus else ""
        requests = f'requests: {{cpu: "{pod.cpu}", memory: {pod.memory}Gi}}'
        return f"{{spec: {{containers: [{{name: ray, image: ray, resources: {{{limits}{requests}}}}}]}}}}"

    return (
        f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: {name}}}\nspec:\n"
        f"  headGroupSpec: {{rayStartParams: {{}}, template: {template(gang.head)}}}\n"
        f"  workerGroupSpecs:\n  - {{groupName: w, replicas: {gang.workers}, minReplicas: {gang.workers}, "
        f"maxReplicas: {gang.workers}, rayStartParams: {{}}, template: {template(gang.worker)}}}\n"
    )


def best(fleet: Fleet, queue: Sequence[Gang]) -> int:
    """
    The most GPUs that whole gangs of the queue can have. Equal pods are interchangeable, so it is enough to say how many
    pods of a sort each node takes, and on which cluster each gang is.
    """
    model = cp_model.CpModel()
    sorts = sorted({pod for gang in queue for pod in gang.pods})
    on = {(g, name): model.new_bool_var(f"{g} on {name}") for g in range(len(queue)) for name in fleet}
    for g in range(len(queue)):
        model.add_at_most_one(on[g, name] for name in fleet)
    for name, nodes in fleet.items():
        most = [[min(n // p for n, p in zip(node, sort, strict=True) if p) for sort in sorts] for node in nodes]
        taken = [
            [model.new_int_var(0, most[n][s], f"{sort} on {name}/{n}") for s, sort in enumerate(sorts)]
            for n in range(len(nodes))
        ]
        for n, node in enumerate(nodes):
            for resource in range(3):
                used = sum(taken[n][s] * sort[resource] for s, sort in enumerate(sorts))
                model.add(used <= node[resource])
        for s, sort in enumerate(sorts):
            asked = sum(on[g, name] * Counter(gang.pods)[sort] for g, gang in enumerate(queue))
            model.add(sum(row[s] for row in taken) == asked)
    model.maximize(sum(on[g, name] * gang.gpus for g, gang in enumerate(queue) for name in fleet))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = STEPS
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return round(solver.best_objective_bound)


RULES: dict[str, Callable[[Fleet, Sequence[Gang]], int]] = {
    "gitplacer": planned,
    "gitplacer, all at once and Fits only": lambda fleet, queue: planned(fleet, queue, "Fits"),
    "first-fit": lambda fleet, queue: by_turns(first_fit, fleet, queue),
    "most-free": lambda fleet, queue: by_turns(most_free, fleet, queue),
}


def studied(seeds: Iterable[int]) -> tuple[dict[str, list[int]], list[int]]:
    """For each rule the GPUs that it places of each queue, and the best for each."""
    found: dict[str, list[int]] = {name: [] for name in RULES}
    bests = []
    for seed in seeds:
        fleet, queue = drawn(seed)
        bests.append(best(fleet, queue))
        for name, rule in RULES.items():
            found[name].append(rule(fleet, queue))
    return found, bests


def table(found: dict[str, list[int]], bests: list[int]) -> list[str]:
    """Rows of Markdown: mean and worst share of the best, and how many queues were placed as well as can be."""
    rows = ["| rule | GPUs placed, share of the best | worst queue | queues placed best |", "|---|---|---|---|"]
    for name, placed in found.items():
        shares = [mine / top if top else 1.0 for mine, top in zip(placed, bests, strict=True)]
        mean, worst, level = sum(shares) / len(shares), min(shares), sum(share == 1 for share in shares)
        rows.append(f"| {name} | {mean:.1%} | {worst:.1%} | {level} of {len(shares)} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the planner's packing with simple rules and with the best.")
    parser.add_argument("--seeds", default="0:60", help="first and last seed, as 0:200")
    first, last = map(int, parser.parse_args().seeds.split(":"))
    print("\n".join(table(*studied(range(first, last)))))


if __name__ == "__main__":
    main()

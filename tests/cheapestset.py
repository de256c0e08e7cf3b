"""
The cheapest machines for a gang, by a solver: the judge of the planner's choice.

Gangs and clusters are drawn from a seed, in whole cores, GiB and GPUs, as plain numbers. CP-SAT decides for each kind of pod how many are
on each machine that is there and on each that may be added, and makes the price least, then the number of machines. It
knows nothing of gitplacer; `as_fleet` writes the same case as a Cluster, a snapshot and a gang.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
EFFORT = 20.0  # of the solver, in its deterministic unit


@dataclass(frozen=True)
class Pods:
    """Identical pods: how many, what each asks for, whether it tolerates the GPU taint, the zone it asks for."""

    count: int
    asks: tuple[int, int, int]
    tolerates: bool
    zone: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine that is there, or a type: free amounts, slots for pods, its taint and zone, and for a type its price and max."""

    name: str
    free: tuple[int, int, int]
    slots: int
    tainted: bool
    zone: str = ""
    cents: int = 0
    max: int = 0


@dataclass(frozen=True)
class Case:
    """A gang, what is there, what may be added, and how many machines the cluster may have in all."""

    pods: tuple[Pods, ...]
    there: tuple[Machine, ...]
    types: tuple[Machine, ...]
    max_nodes: int | None = None

    @staticmethod
    def drawn(seed: int) -> Case:
        """A gang of ordinary size: a head, a submitter perhaps, one to three groups of workers."""
        chance = random.Random(seed)
        zones = ("a", "b")
        pods = [Pods(1, (chance.choice((1, 2, 4, 8)), chance.choice((4, 8, 16)), 0), chance.random() < 0.3)]
        if chance.random() < 0.5:
            pods.append(Pods(1, (1, 1, 0), False))
        for _ in range(chance.randint(1, 3)):
            gpus = chance.choice((0, 1, 1, 2, 4))
            asks = (chance.choice((1, 2, 3, 4, 6, 8)), chance.choice((2, 4, 8, 12, 16)), gpus)
            zone = chance.choice(zones) if chance.random() < 0.1 else ""
            pods.append(Pods(chance.randint(1, 8), asks, gpus > 0 or chance.random() < 0.3, zone))
        there = tuple(
            Machine(f"n{i}", (chance.randint(0, 8), chance.randint(0, 32), gpus), chance.randint(1, 6), gpus > 0,
                    chance.choice(zones))
            for i in range(chance.randint(0, 4))
            for gpus in (chance.choice((0, 0, 1, 2)),)
        )  # fmt: skip
        types = []
        for i in range(chance.randint(2, 6)):
            size, gpus = (
                chance.choice((4, 8, 16, 32)),
                (chance.choice((4, 8)), 0, *[chance.choice((0, 1, 2, 4))] * 4)[i],
            )
            price = size * chance.randint(4, 6) + gpus * chance.randint(40, 60)
            zone = chance.choice(zones)
            types.append(Machine(f"t{i}", (size, size * chance.choice((2, 4, 8)), gpus), chance.choice((8, 16, 110)),
                                 gpus > 0, zone, price, chance.choice((1, 4, 10, 20))))  # fmt: skip
        return Case(tuple(pods), there, tuple(types), chance.choice((None, None, None, len(there) + 5)))


def cheapest(case: Case) -> tuple[int, int] | bool | None:
    """(cents, machines) of the cheapest set; None if there is none at all, False if the solver ran out."""
    model = cp_model.CpModel()
    total = sum(pods.count for pods in case.pods)
    opened: list[tuple[Any, int]] = []
    there = [(machine, None) for machine in case.there]
    added: list[tuple[Machine, Any]] = []
    for type_ in case.types:
        before = None
        for i in range(min(type_.max, total)):
            used = model.new_bool_var(f"{type_.name}#{i}")
            if before is not None:
                model.add(before >= used)  # machines of one type are alike: the first are used first
            before = used
            added.append((type_, used))
            opened.append((used, type_.cents))
    machines: list[tuple[Machine, Any]] = [*there, *added]
    here: list[list[Any]] = [[] for _ in machines]
    for p, pods in enumerate(case.pods):
        counts = []
        for m, (machine, _) in enumerate(machines):
            if may_be_on(pods, machine):
                count = model.new_int_var(0, pods.count, f"x{p}@{m}")
                counts.append(count)
                here[m].append((count, pods))
        model.add(sum(counts) == pods.count)
    for m, (machine, used) in enumerate(machines):
        open_ = 1 if used is None else used
        model.add(sum(count for count, _ in here[m]) <= machine.slots * open_)
        for r in range(len(RESOURCES)):
            model.add(sum(count * pods.asks[r] for count, pods in here[m]) <= machine.free[r] * open_)
    if case.max_nodes is not None:
        model.add(sum(used for used, _ in opened) <= max(0, case.max_nodes - len(case.there)))
    model.minimize(sum(used * (cents * 1000 + 1) for used, cents in opened))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = EFFORT
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        return False
    best = round(solver.objective_value)
    return best // 1000, best % 1000


def may_be_on(pods: Pods, machine: Machine) -> bool:
    """Taint and zone; a machine of no zone is in none."""
    return (pods.tolerates or not machine.tainted) and (not pods.zone or pods.zone == machine.zone)


def as_fleet(case: Case) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The autoscaler of the Cluster, and the nodes of the snapshot."""
    taint = [{"key": "gpu"}]
    autoscaler: dict[str, Any] = {
        "type": "ClusterAutoscaler",
        "nodeTypes": [
            {
                "name": type_.name, "allocatable": _amounts(type_.free, type_.slots), "max": type_.max,
                "pricePerHour": type_.cents / 100, "taints": taint if type_.tainted else [],
                "labels": {"zone": type_.zone} if type_.zone else {},
            }
            for type_ in case.types
        ],
    }  # fmt: skip
    if case.max_nodes is not None:
        autoscaler["maxNodes"] = case.max_nodes
    nodes = [
        {
            "name": machine.name, "allocatable": _amounts(machine.free, machine.slots),
            "taints": taint if machine.tainted else [], "labels": {"zone": machine.zone},
        }
        for machine in case.there
    ]  # fmt: skip
    return autoscaler, nodes


def _amounts(free: tuple[int, int, int], slots: int) -> dict[str, str]:
    cpu, memory, gpus = free
    return {"cpu": str(cpu), "memory": f"{memory}Gi", "nvidia.com/gpu": str(gpus), "pods": str(slots)}

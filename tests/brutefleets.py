"""
Small random fleets as plain data, and every single change of the kinds that remedies are made of, tried one after another.

The judge of the search for the smallest change. A change is made in the data and all files are written anew, so that nothing of how
the search makes its changes is believed; what is asked of gitplacer is one plan for each. Amounts are tried one by one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.stories import Story, cluster, policy, rayjob, snapshot

MOST = 6
"""Amounts beyond that are not tried; whoever draws fleets sees to it that more is seldom needed."""

KINDS = (
    "Uncordon", "TolerateTaint", "AllowCluster", "AcceptTightFit", "CountOnScaleUp", "FewerDomains", "RaiseBudget", "RaiseLimit",
    "AddNodes", "FewerPods",
)  # fmt: skip
"""In the order of what is smaller, written down once more."""


@dataclass(frozen=True)
class Node:
    """A shape of node: cores, GPUs, and how many there are."""

    name: str
    cpu: int
    gpus: int
    count: int = 1


@dataclass(frozen=True)
class Type:
    """What an autoscaler can add."""

    name: str
    cpu: int
    gpus: int
    max: int
    cents: int


@dataclass(frozen=True)
class Place:
    """A cluster. `taint` is a key, '' for none."""

    name: str
    nodes: tuple[Node, ...]
    types: tuple[Type, ...] = ()
    max_nodes: int | None = None
    state: str = "Active"
    taint: str = ""


@dataclass(frozen=True)
class Fleet:
    """The groups are RayJobs of so many workers with a GPU each; one policy governs them, and the last one is asked about."""

    places: tuple[Place, ...]
    jobs: tuple[tuple[str, int], ...]
    names: tuple[str, ...] | None = None
    tolerates: tuple[str, ...] = ()
    accept: str = "Fits"
    scale_up: str = "IfNeeded"
    cents: int | None = None

    @property
    def group(self) -> str:
        return f"jobs/{self.jobs[-1][0]}"

    def story(self) -> Story:
        rules = ["select: {}", f"placement: {{accept: {self.accept}, scaleUp: {self.scale_up}}}"]
        rules += [f"clusters: {{names: [{', '.join(self.names)}]}}"] if self.names is not None else []
        if self.tolerates:
            rules.append(f"tolerations: [{', '.join(f'{{key: {key}, operator: Exists}}' for key in self.tolerates)}]")
        rules += [f"budgetPerHour: {self.cents / 100}"] if self.cents is not None else []
        files, capacity = {}, {}
        for place in self.places:
            spec = {"state": place.state}
            if place.taint:
                spec["taints"] = f"[{{key: {place.taint}}}]"
            if place.types:
                types = ", ".join(
                    f'{{name: {t.name}, max: {t.max}, pricePerHour: {t.cents / 100}, allocatable: {{cpu: "{t.cpu}", memory: 512Gi, nvidia.com/gpu: "{t.gpus}"}}}}'
                    for t in place.types
                )
                most = f", maxNodes: {place.max_nodes}" if place.max_nodes is not None else ""
                spec["autoscaler"] = f"{{type: ClusterAutoscaler, nodeTypes: [{types}]{most}}}"
            files |= cluster(place.name, **spec)
            capacity |= snapshot(
                place.name, *(f"{n.name} {n.cpu} 512Gi {n.gpus} | , count: {n.count}" for n in place.nodes)
            )
        for name, workers in self.jobs:
            files |= rayjob("jobs", name, workers=workers)
        return Story.of(policy("p", "\n".join(rules)), files, capacity=capacity)


def drawn(seed: int) -> Fleet:
    """A fleet with more to place than it has room for."""
    chance = random.Random(seed)
    places = []
    for name in ("a", "b", "c")[: chance.choice((1, 2, 2, 3))]:
        nodes = tuple(
            Node(f"{name}{i}", chance.choice((3, 6, 12)), chance.choice((0, 1, 2)), chance.choice((1, 1, 2)))
            for i in range(chance.choice((1, 2)))
        )
        scales = chance.random() < 0.5
        types = (
            (Type("gpu", chance.choice((4, 8)), chance.choice((1, 2)), chance.choice((0, 1, 2)), 75),) if scales else ()
        )
        types += (Type("cpu", 8, 0, chance.choice((0, 2)), 15),) if scales and chance.random() < 0.5 else ()
        there = sum(node.count for node in nodes)
        places.append(
            Place(
                name,
                nodes,
                types,
                there + chance.choice((1, 2)) if scales and chance.random() < 0.3 else None,
                chance.choice(("Active", "Active", "Active", "Cordoned")),
                chance.choice(("", "", "", "lab")),
            )
        )
    names = tuple(place.name for place in places)
    jobs = (("first", chance.choice((1, 2))), ("other", chance.choice((1, 2, 3))), ("waits", chance.choice((2, 3, 4))))
    return Fleet(
        tuple(places), jobs[chance.choice((0, 1, 2)) :], names[:1] if chance.random() < 0.3 else None,
        ("lab",) if chance.random() < 0.2 else (), scale_up=chance.choice(("IfNeeded", "IfNeeded", "Never")),
        cents=chance.choice((0, 80, 160)) if chance.random() < 0.3 else None,
    )  # fmt: skip


def changes(fleet: Fleet) -> Iterator[tuple[str, str, int, Fleet]]:
    """(kind, what, amount, the fleet with it) for every single change. Amounts of one thing come from small to large."""
    for place in fleet.places:
        if place.state == "Cordoned":
            yield "Uncordon", place.name, 1, _with(fleet, replace(place, state="Active"))
    taints = {place.taint for place in fleet.places if place.taint} - set(fleet.tolerates)
    for taint in sorted(taints):
        yield "TolerateTaint", taint, 1, replace(fleet, tolerates=(*fleet.tolerates, taint))
    for place in fleet.places:
        if fleet.names is not None and place.name not in fleet.names:
            yield "AllowCluster", place.name, 1, replace(fleet, names=(*fleet.names, place.name))
    if fleet.accept == "Fits":
        yield "AcceptTightFit", "", 1, replace(fleet, accept="TightFit")
    if fleet.scale_up == "Never":
        yield "CountOnScaleUp", "", 1, replace(fleet, scale_up="IfNeeded")
    if fleet.cents is not None:
        for more in range(15, 1200, 15):  # all prices are multiples of that
            cents = (fleet.cents // 15) * 15 + more
            yield "RaiseBudget", "", cents - fleet.cents, replace(fleet, cents=cents)
    for place in fleet.places:
        for kind in place.types:
            for more in range(1, MOST + 1):
                grown = tuple(replace(t, max=t.max + more) if t.name == kind.name else t for t in place.types)
                yield "RaiseLimit", f"{place.name}/{kind.name}", more, _with(fleet, replace(place, types=grown))
        if place.max_nodes is not None:
            for more in range(1, MOST + 1):
                yield (
                    "RaiseLimit",
                    f"{place.name}/",
                    more,
                    _with(fleet, replace(place, max_nodes=place.max_nodes + more)),
                )
        shapes = {(node.cpu, node.gpus): node for node in reversed(place.nodes)}
        for node in shapes.values():
            for more in range(1, MOST + 1):
                grown_nodes = tuple(replace(n, count=n.count + more) if n is node else n for n in place.nodes)
                yield "AddNodes", f"{place.name}/{node.name}", more, _with(fleet, replace(place, nodes=grown_nodes))
    name, workers = fleet.jobs[-1]
    for less in range(1, workers):
        yield "FewerPods", name, less, replace(fleet, jobs=(*fleet.jobs[:-1], (name, workers - less)))


def _with(fleet: Fleet, place: Place) -> Fleet:
    return replace(fleet, places=tuple(place if p.name == place.name else p for p in fleet.places))


def smallest(fleet: Fleet) -> dict[str, int]:
    """Of each kind of which a change is enough the least amount that is. None takes another group's place."""
    found: dict[str, int] = {}
    enough: set[tuple[str, str]] = set()
    keep = placed(fleet)
    for kind, what, amount, changed in changes(fleet):
        if (kind, what) in enough or amount >= found.get(kind, 10**9):
            continue
        if placed(changed) >= keep | {fleet.group}:
            enough.add((kind, what))
            found[kind] = amount
    return found


def placed(fleet: Fleet) -> set[str]:
    """The groups that the plan places."""
    return {d.group for d in fleet.story().plan().view.plan.decisions if d.after}

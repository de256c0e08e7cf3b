"""Fleets as a page shows them, made by hand: one of any size, and one in which every name means harm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from gitplacer.model.resources import Resources
from gitplacer.problems import Location, Problem
from gitplacer.report.facts import (
    ClusterFacts,
    Event,
    EventKind,
    FleetFacts,
    GroupFacts,
    History,
    NodeFacts,
    Pods,
    Presence,
    Seat,
    Sighting,
    Verdict,
)

NOW = datetime(2026, 1, 8, tzinfo=UTC)
_GI = 2**30


def fleet(*, clusters: int, groups: int, nodes: int = 100) -> FleetFacts:
    """Clusters with as many nodes each, and groups that differ as they do in life; every seventh one waits."""
    names = [f"cluster-{number:04}" for number in range(clusters)]
    seats: dict[tuple[int, int], list[Seat]] = {}
    made = []
    for number in range(groups):
        group, at, count = f"team-{number % 500:04}/app-{number:05}", number % clusters, 1 + number % 4
        head = Pods("head", 1, Resources({"cpu": 1000 + 500 * (number % 8), "memory": (2 + number % 8) * _GI}))
        each = Resources({"cpu": 2000 + 500 * (number % 6), "memory": (4 + number % 8) * _GI, "nvidia.com/gpu": 1})
        waits = number % 7 == 0
        if not waits:
            for pods in (head, Pods("worker/gpu-group", count, each)):
                where = seats.setdefault((at, (number // clusters * 13 + pods.count) % nodes), [])
                where.append(Seat(group, pods.role, pods.count, pods.requests, Presence.RUNNING))
        made.append(
            GroupFacts(
                name=group,
                action="Wait" if waits else "Keep",
                code="NoClusterFits" if waits else "Kept",
                sentence="is not placed: no cluster that may take it has room for it" if waits else f"stays on {names[at]}",
                policy=("services", "training")[number % 2],
                policy_at="policies/all.yaml:3",
                before=() if waits else (names[at],),
                after=() if waits else (names[at],),
                since=None if waits else NOW - timedelta(minutes=number),
                waiting_since=NOW - timedelta(minutes=7 * number) if waits else None,
                pods=(head, Pods("worker/gpu-group", count, each)),
                members=(("RayService", group, f"workloads/team-{number % 500:04}/app-{number:05}.yaml"),),
                verdicts=tuple(
                    Verdict(names[(at + n) % clusters], "Rejected", "InsufficientCapacity",
                            f"{n % count} of {count} worker/gpu-group fit; short {1 + number * (n + 1) % 61} nvidia.com/gpu",
                            f"{nodes - number * (n + 3) % 23} of {nodes} nodes: not enough nvidia.com/gpu")
                    for n in range(min(11, clusters))
                ),
                counts=(("Rejected/InsufficientCapacity", clusters),),
                seen=() if waits else (Sighting(names[at], "Running", True),),
            )
        )  # fmt: skip
    row = Resources({"cpu": 31850, "memory": 120 * _GI, "nvidia.com/gpu": 8, "pods": 110})
    return FleetFacts(
        fleet="generated",
        now=NOW,
        version="test",
        source="1" * 40,
        capacity="2" * 40,
        deployment="3" * 40,
        clusters=tuple(
            ClusterFacts(
                name=name, state="Active", freshness="Current", observed_at=NOW - timedelta(minutes=at),
                where=f"clusters/{name}.yaml:1", labels={"tier": f"t{at % 4}", "region": f"r{at % 7}"},
                offered=row * nodes, foreign=Resources({"cpu": 5750 * nodes}), free=row * (nodes // 3),
                nodes=tuple(
                    NodeFacts(
                        name=f"{name}-node-{node:04}", allocatable=row,
                        used=Resources({"cpu": (node * 7 + at) % 24 * 500, "memory": (node * 5 + at) % 40 * _GI, "pods": 9}),
                        seats=tuple(seats.get((at, node), ())),
                    )
                    for node in range(nodes)
                ),
            )
            for at, name in enumerate(names)
        ),
        groups=tuple(sorted(made, key=lambda group: group.name)),
        history=History(
            events=tuple(
                Event(
                    commit=f"{number:040x}", at=NOW - timedelta(hours=number), kind=EventKind.RELOCATION, subject="Relocate",
                    why="Its cluster is draining", group=made[number % groups].name, gone=(names[number % clusters],),
                    come=(names[(number * 3 + 1) % clusters],), code="ClusterDraining",
                )
                for number in range(min(500, groups))
            )
        ),
    )  # fmt: skip


HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    "\u202egnp.exe\u2066 \u2028\u2029 \x1b[31m",
    "x" * 10_000,
    "'\"`${7*7}{{7*7}}",
    "javascript:alert(1)",
    "__proto__",
    "שלום/مرحبا",
)


def hostile() -> FleetFacts:
    """A small fleet of which every text is one of HOSTILE."""
    plain = fleet(clusters=len(HOSTILE), groups=len(HOSTILE), nodes=2)
    renamed = dict(zip((c.name for c in plain.clusters), HOSTILE, strict=True))
    groups = []
    for group, name in zip(plain.groups, HOSTILE, strict=True):
        there = tuple(renamed[each] for each in group.after)
        groups.append(
            replace(
                group, name=name, action=name, code=name, sentence=name, policy=name, policy_at=name, before=there, after=there,
                blocked_by=(name,), members=((name, name, name),), counts=((name, 1),), cost=name,
                pods=tuple(replace(pods, role=name) for pods in group.pods),
                verdicts=tuple(Verdict(renamed[v.cluster], name, name, name, name) for v in group.verdicts),
                seen=(Sighting(renamed[plain.clusters[0].name], name, False, name),),
            )
        )  # fmt: skip
    clusters = []
    for cluster, name in zip(plain.clusters, HOSTILE, strict=True):
        nodes = tuple(
            replace(node, name=f"{name}{number}", type=name if number else "",
                    seats=(Seat(name, name, 1, Resources({name: 1}), Presence.COMING), Seat(f"gone {name}", name, 1, Resources({name: 1}), Presence.LEAVING)))
            for number, node in enumerate(cluster.nodes)
        )  # fmt: skip
        clusters.append(
            replace(cluster, name=name, state=name, freshness=name, where=name, labels={name: name}, nodes=nodes,
                    offered=Resources({name: 4}), foreign=Resources(), free=Resources({name: 1}))
        )  # fmt: skip
    events = tuple(
        replace(
            event,
            group=name,
            gone=(name,),
            come=(HOSTILE[0],),
            subject=name,
            why=name,
            code=name,
            phase=name,
            commit=name,
        )
        for event, name in zip(plain.history.events, HOSTILE, strict=False)
    )
    return replace(
        plain,
        fleet=HOSTILE[0],
        clusters=tuple(clusters),
        groups=tuple(groups),
        history=History(events=events, is_whole=False),
        problems=tuple(Problem(Location(name), name, name, name) for name in HOSTILE),
    )

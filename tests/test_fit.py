"""Does a gang fit? Tables for the rules of kube-scheduler's filters, laws for the packing, an independent replay as judge."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.kinds.capacity import CapacitySnapshot, Node
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import Requirement, Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, NodeTerm, PodSet, PodShape
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.scheduler.filters import obstacle
from gitplacer.scheduler.objects import Node as SchedulerNode

GPU = "nvidia.com/gpu"
TOLERATES_ALL = (Toleration(operator="Exists"),)


def ledger(nodes: list[Node], gang: Gang, autoscaler: dict[str, object] | None = None) -> Ledger:
    spec = {"autoscaler": autoscaler} if autoscaler else {}
    made = Cluster.model_validate(
        {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"}, "spec": spec}
    )
    snapshot = CapacitySnapshot.model_validate(
        {
            "apiVersion": "gitplacer.dev/v1alpha1",
            "kind": "CapacitySnapshot",
            "metadata": {"name": "c"},
            "observedAt": datetime.fromisoformat("2026-01-02T03:04:05+00:00"),
            "nodes": nodes,
        }
    )
    return Ledger(made, snapshot, Columns.of([snapshot], [made], [gang]))


def node(name: str, **fields: object) -> Node:
    return Node.model_validate({"name": name, **fields})


def told(found: Packing | Shortfall) -> str:
    if isinstance(found, Packing):
        return "fits"
    short = ", ".join(f"{amount} {name}" for name, amount in found.short.rendered().items())
    assert sum(t.nodes for t in found.tally) == found.nodes
    return f"{found.placed} of {found.wanted}" + (f", short {short}" if short else "")


@pytest.mark.parametrize(
    ("free_gpus", "count", "each", "outcome"),
    [
        ("8 8", 2, 8, "fits"),
        ("8 7", 2, 8, f"1 of 2, short 8 {GPU}"),
        ("4 4 4 4", 2, 8, f"0 of 2, short 16 {GPU}"),  # sixteen free, none together
        ("8", 8, 1, "fits"),
        ("8", 9, 1, f"8 of 9, short 1 {GPU}"),
        ("", 1, 1, f"0 of 1, short 1 cpu, 1 {GPU}"),
    ],
)
def test_a_gang_needs_room_for_every_worker(free_gpus: str, count: int, each: int, outcome: str) -> None:
    nodes = [
        node(f"n{i}", allocatable={"cpu": "64", "memory": "256Gi", GPU: gpus})
        for i, gpus in enumerate(free_gpus.split())
    ]
    gang = (PodSet("worker/w", count, PodShape(Resources({"cpu": 1000, GPU: each}))),)
    assert told(ledger(nodes, gang).fit(gang, scale_up=False)) == outcome


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"allocatable": {"cpu": "4", "pods": "3"}}, "fits"),
        ({"allocatable": {"cpu": "4", "pods": "2"}}, "2 of 3"),
        ({"allocatable": {"cpu": "4", "pods": "10"}, "used": {"pods": "8"}}, "2 of 3"),
        ({"allocatable": {"cpu": "4"}, "used": {"cpu": "1001m"}}, "2 of 3, short 1 cpu"),
        ({"allocatable": {"cpu": "4"}, "used": {"cpu": "9"}}, "0 of 3, short 3 cpu"),
        ({"allocatable": {"cpu": "1", "memory": "1Gi"}, "count": 3}, "fits"),
        ({"allocatable": {"cpu": "4", "memory": "1"}, "used": {"memory": "2"}}, "fits"),  # asks for no memory
        ({"allocatable": {"cpu": "4"}, "ready": False}, "0 of 3"),
        ({"allocatable": {"cpu": "4"}, "unschedulable": True}, "0 of 3"),
        ({"allocatable": {"cpu": "4"}, "taints": [{"key": "k"}]}, "0 of 3"),
        ({"allocatable": {"cpu": "4"}, "taints": [{"key": "k", "effect": "PreferNoSchedule"}]}, "fits"),
    ],
)
def test_what_a_node_takes(fields: dict[str, object], outcome: str) -> None:
    gang = (PodSet("pod", 3, PodShape(Resources({"cpu": 1000}))),)
    found = told(ledger([node("n", **fields)], gang).fit(gang, scale_up=False))
    assert found.split(", short")[0] == outcome.split(", short")[0]


LABELS = (("disk", "ssd"), ("gen", "7"), ("zone", "a"))


def term(*requirements: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeTerm:
    return NodeTerm(requirements, fields)


@pytest.mark.parametrize(
    ("pod", "stands_in_the_way"),
    [
        (PodShape(), None),
        (PodShape(node_selector=(("disk", "ssd"),)), None),
        (PodShape(node_selector=(("disk", "hdd"),)), "disk=hdd"),
        (PodShape(node_selector=(("rack", "1"),)), "rack=1"),
        (PodShape(affinity=(term(Requirement("zone", "In", ("a", "b"))),)), None),
        (PodShape(affinity=(term(Requirement("zone", "NotIn", ("a",))),)), "zone not in [a]"),
        (PodShape(affinity=(term(Requirement("rack", "NotIn", ("a",))),)), None),
        (PodShape(affinity=(term(Requirement("zone", "Exists")),)), None),
        (PodShape(affinity=(term(Requirement("zone", "DoesNotExist")),)), "!zone"),
        (PodShape(affinity=(term(Requirement("gen", "Gt", ("6",))),)), None),
        (PodShape(affinity=(term(Requirement("gen", "Gt", ("7",))),)), "gen > 7"),
        (PodShape(affinity=(term(Requirement("gen", "Lt", ("8",))),)), None),
        (PodShape(affinity=(term(Requirement("disk", "Gt", ("1",))),)), "disk > 1"),
        (PodShape(affinity=(term(Requirement("zone", "In", ("x",))), term(Requirement("disk", "Exists")))), None),
        (PodShape(affinity=(term(),)), "nothing"),
        (PodShape(affinity=()), ""),
        (PodShape(affinity=(term(fields=(Requirement("metadata.name", "In", ("n1",)),)),)), None),
        (PodShape(affinity=(term(fields=(Requirement("metadata.name", "In", ("n2",)),)),)), "metadata.name=n2"),
        (PodShape(node_name="n1"), None),
        (PodShape(node_name="n2"), "nodeName=n2"),
    ],
)
def test_selectors_and_affinity_read_as_kubernetes_reads_them(pod: PodShape, stands_in_the_way: str | None) -> None:
    found = obstacle(pod, SchedulerNode(name="n1", labels=LABELS))
    assert (None if found is None else found[1]) == stands_in_the_way


def test_a_cordoned_node_takes_who_tolerates_it_and_an_unready_one_takes_nobody() -> None:
    pod = PodShape(tolerations=TOLERATES_ALL)
    assert obstacle(pod, SchedulerNode(name="", unschedulable=True)) is None
    assert obstacle(PodShape(), SchedulerNode(name="", unschedulable=True)) is not None
    assert obstacle(pod, SchedulerNode(name="", ready=False)) is not None


TYPES = {
    "type": "Karpenter",
    "nodeTypes": [
        {"name": "small", "allocatable": {"cpu": "4", "memory": "16Gi"}, "max": 2, "pricePerHour": 0.2},
        {"name": "gpu", "allocatable": {"cpu": "8", "memory": "32Gi", GPU: "1"}, "max": 3, "pricePerHour": 1.0,
         "taints": [{"key": GPU}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("gang", "added"),
    [
        ((PodSet("head", 1, PodShape(Resources({"cpu": 4000}))),), {"small": 1}),
        ((PodSet("head", 3, PodShape(Resources({"cpu": 4000}))),), None),  # two small ones at most, and gpu is tainted
        ((PodSet("w", 3, PodShape(Resources({"cpu": 1000, GPU: 1}), tolerations=TOLERATES_ALL)),), {"gpu": 3}),
        ((PodSet("w", 4, PodShape(Resources({"cpu": 1000, GPU: 1}), tolerations=TOLERATES_ALL)),), None),
        ((PodSet("w", 1, PodShape(Resources({GPU: 1}))),), None),  # does not tolerate the taint
        (
            (
                PodSet(
                    "w",
                    1,
                    PodShape(Resources({"cpu": 1}), node_selector=(("node.kubernetes.io/instance-type", "small"),)),
                ),
            ),
            {"small": 1},
        ),
    ],
)
def test_an_autoscaler_adds_the_cheapest_nodes_that_take_the_rest(gang: Gang, added: dict[str, int] | None) -> None:
    books = ledger([], gang, TYPES)
    found = books.fit(gang, scale_up=True)
    if added is None:
        assert isinstance(found, Shortfall)
    else:
        assert isinstance(found, Packing)
        assert {n.type: n.count for n in found.new_nodes(books.nodes)} == added


def test_nodes_that_exist_and_nodes_that_were_promised_count_towards_the_maximum() -> None:
    gang = (PodSet("w", 1, PodShape(Resources({GPU: 1}), tolerations=TOLERATES_ALL)),)
    used = [
        node(f"g{i}", labels={"node.kubernetes.io/instance-type": "gpu"}, allocatable={GPU: "1"}, used={GPU: "1"})
        for i in range(2)
    ]
    books = ledger(used, gang, TYPES)
    first = books.fit(gang, scale_up=True)
    assert isinstance(first, Packing)
    books.reserve("x/one", first)
    assert isinstance(books.fit(gang, scale_up=True), Shortfall)
    books.release("x/one")
    assert isinstance(books.fit(gang, scale_up=True), Packing)


def test_a_pod_without_devices_leaves_the_gpu_nodes_to_those_that_need_them() -> None:
    nodes = [node("gpu", allocatable={"cpu": "4", GPU: "1"}), node("plain", allocatable={"cpu": "8"})]
    small = (PodSet("pod", 1, PodShape(Resources({"cpu": 3000}))),)
    large = (PodSet("pod", 1, PodShape(Resources({"cpu": 3000, GPU: 1}))),)
    books = ledger(nodes, (*small, *large))
    for group, gang in (("x/one", small), ("x/two", large)):
        found = books.fit(gang, scale_up=False)
        assert isinstance(found, Packing)
        books.reserve(group, found)


AMOUNTS = st.fixed_dictionaries({"cpu": st.integers(1, 16), GPU: st.integers(0, 4), "pods": st.integers(1, 6)})
GANGS = st.lists(
    st.tuples(st.integers(1, 5), st.fixed_dictionaries({"cpu": st.integers(1, 8), GPU: st.integers(0, 2)})),
    min_size=1,
    max_size=3,
)


@given(nodes=st.lists(AMOUNTS, max_size=5), gangs=st.lists(GANGS, min_size=1, max_size=4))
def test_no_node_is_overcommitted_and_each_gang_is_whole(
    nodes: list[dict[str, int]], gangs: list[list[tuple[int, dict[str, int]]]]
) -> None:
    shapes = [
        tuple(
            PodSet(f"r{i}", count, PodShape(Resources({"cpu": asked["cpu"] * 1000, GPU: asked[GPU]})))
            for i, (count, asked) in enumerate(gang)
        )
        for gang in gangs
    ]
    books = ledger(
        [node(f"n{i}", allocatable={k: str(v) for k, v in n.items()}) for i, n in enumerate(nodes)],
        tuple(p for g in shapes for p in g),
    )
    left = [[n["cpu"] * 1000, n[GPU], n["pods"]] for n in nodes]  # the judge's own arithmetic
    columns = books.columns
    for number, gang in enumerate(shapes):
        found = books.fit(gang, scale_up=False)
        if isinstance(found, Shortfall):
            assert found.placed < found.wanted
            continue
        books.reserve(f"x/{number}", found)
        assert sum(use.number for use in found.uses) == sum(pods.count for pods in gang)
        for use in found.uses:
            asked = columns.resources(use.row)
            for index, name in enumerate(("cpu", GPU, "pods")):
                left[use.machine][index] -= asked.get(name, 0) * use.number
        assert all(amount >= 0 for row in left for amount in row)


@given(nodes=st.lists(AMOUNTS, min_size=1, max_size=4), gang=GANGS)
def test_trying_leaves_nothing_behind_and_releasing_gives_everything_back(
    nodes: list[dict[str, int]], gang: list[tuple[int, dict[str, int]]]
) -> None:
    sets = tuple(
        PodSet(f"r{i}", n, PodShape(Resources({"cpu": a["cpu"] * 1000, GPU: a[GPU]}))) for i, (n, a) in enumerate(gang)
    )
    books = ledger([node(f"n{i}", allocatable={k: str(v) for k, v in n.items()}) for i, n in enumerate(nodes)], sets)
    before = books.totals().tolist()
    first = books.fit(sets, scale_up=False)
    assert books.totals().tolist() == before
    if isinstance(first, Packing):
        books.reserve("x/g", first)
        books.release("x/g")
    assert books.totals().tolist() == before
    assert isinstance(books.fit(sets, scale_up=False), type(first))

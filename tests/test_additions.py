"""
Which clusters may come to have room with machines that are added: never one too few, and not those on which it is plain that none help.

The judge is the search itself, cluster by cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.books import Books
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing
from gitplacer.scheduler.gangs import NODE_POOL

API = "gitplacer.dev/v1alpha1"
GPU, TPU = "nvidia.com/gpu", "google.com/tpu"


def opened(autoscalers: Iterable[tuple[list[dict[str, str]], dict[str, Any] | None]], gangs: Iterable[Gang]) -> Books:
    """Ledgers of clusters, each with what its nodes offer and its autoscaler."""
    clusters, snapshots = list[Cluster](), list[CapacitySnapshot]()
    for number, (nodes, autoscaler) in enumerate(autoscalers):
        named = {"apiVersion": API, "metadata": {"name": f"c{number}"}}
        spec = {"autoscaler": autoscaler} if autoscaler else {}
        seen = [{"name": f"n{i}", "allocatable": node} for i, node in enumerate(nodes)]
        clusters.append(Cluster.model_validate({**named, "kind": "Cluster", "spec": spec}))
        snapshots.append(
            CapacitySnapshot.model_validate(
                {**named, "kind": "CapacitySnapshot", "observedAt": "2026-01-02T03:04:05Z", "nodes": seen}
            )
        )
    columns = Columns.of(snapshots, clusters, gangs)
    return Books(
        {one.name: Ledger(one, shown, columns) for one, shown in zip(clusters, snapshots, strict=True)}, columns
    )


def may_grow(books: Books, gang: Gang) -> set[str]:
    asked = books.numbers(books.names)
    return {books.names[number] for number in asked[books.may_grow(gang, asked)]}


def pods(count: int, *, cpu: int = 1, gpu: int = 0, zone: str = "", hosts: int = 1, tpu: int = 0) -> Gang:
    asked = Resources({"cpu": cpu * 1000, **({GPU: gpu} if gpu else {}), **({TPU: tpu} if tpu else {})})
    selector = (("zone", zone),) if zone else ()
    tolerated = (Toleration("gpu", "Exists"),) if gpu else ()
    return (
        PodSet("worker/w", count, PodShape(asked, node_selector=selector, tolerations=tolerated), slice_size=hosts),
    )


def type_(name: str, cpu: int, gpu: int = 0, tpu: int = 0, **more: Any) -> dict[str, Any]:
    offers = {"cpu": str(cpu), "pods": "10", **({GPU: str(gpu)} if gpu else {}), **({TPU: str(tpu)} if tpu else {})}
    taints = [{"key": "gpu", "effect": "NoSchedule"}] if gpu else []
    return {"name": name, "allocatable": offers, "taints": taints, **more}


def pool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


PLAIN = {"type": "ClusterAutoscaler", "nodeTypes": [type_("cpu", 4, max=3), type_("gpu", 8, 4, max=2)]}
POOLS = {
    "type": "Karpenter",
    "nodePools": [
        pool("gpus", limits={GPU: "8"}, requirements=[{"key": "zone", "operator": "In", "values": ["a", "b"]}]),
    ],
    "nodeTypes": [type_("gpu", 8, 4), type_("half", 4, 2)],
}
WHOLE = {"type": "Karpenter", "nodePools": [pool("gpus", limits={GPU: "10"})], "nodeTypes": [type_("gpu", 8, 4)]}


@pytest.mark.parametrize(
    ("autoscaler", "gang", "may"),
    [
        pytest.param(None, pods(1), False, id="adds nothing"),
        pytest.param(PLAIN, pods(1), True, id="one pod"),
        pytest.param(PLAIN, pods(1, cpu=9), False, id="larger than each type"),
        pytest.param(PLAIN, pods(4, gpu=2), True, id="as many as two machines take"),
        pytest.param(PLAIN, pods(5, gpu=2), False, id="more than two machines take"),
        pytest.param(PLAIN, pods(1, zone="a"), False, id="a label that no type has"),
        pytest.param(PLAIN, (*pods(7, cpu=4), *pods(1, gpu=4, cpu=8)), False, id="more cores than all of it has"),
        pytest.param(PLAIN, (*pods(3, cpu=4), *pods(1, gpu=4, cpu=8)), True, id="no more than that"),
        pytest.param(PLAIN | {"maxNodes": 1}, pods(2, cpu=4, gpu=1), True, id="one machine for both"),
        pytest.param(PLAIN | {"maxNodes": 1}, pods(3, cpu=4, gpu=1), False, id="more than one of any type takes"),
        pytest.param(POOLS, pods(8, gpu=1), True, id="as many as a pool has left, in any zone"),
        pytest.param(POOLS, pods(9, gpu=1), False, id="a pool's types draw on one limit"),
        pytest.param(WHOLE, pods(4, gpu=2), True, id="as many as whole machines of a pool take"),
        pytest.param(WHOLE, pods(5, gpu=2), False, id="half a machine does not come"),
        pytest.param(POOLS, pods(8, gpu=1, zone="b"), True, id="in one of the pool's zones"),
        pytest.param(POOLS, pods(1, gpu=1, zone="c"), False, id="in a zone that the pool has not"),
        pytest.param(
            {"type": "Karpenter", "nodeTypes": [type_("cpu", 4)]}, pods(1000), True, id="nothing bounds the type"
        ),
        pytest.param(
            {"type": "ClusterAutoscaler", "nodeTypes": [type_("tpu", 4, tpu=4, max=4)]},
            pods(2, tpu=4, hosts=2), False, id="a slice where no machine says of which it is",
        ),
        pytest.param(
            {
                "type": "ClusterAutoscaler",
                "nodeTypes": [type_("tpu", 4, tpu=4, max=4, labels={NODE_POOL: "p"})],
            },
            pods(2, tpu=4, hosts=2), True, id="a slice of machines that are added",
        ),
    ],
)  # fmt: skip
def test_clusters_are_ruled_out_where_no_machines_help(
    autoscaler: dict[str, Any] | None, gang: Gang, may: bool
) -> None:
    books = opened([([], autoscaler)], [gang])
    assert may_grow(books, gang) == ({"c0"} if may else set())
    assert isinstance(books.fit(gang, "c0", scale_up=True), Packing) == may


def test_what_is_promised_of_machines_counts_and_what_is_given_back() -> None:
    first, more, rest = pods(5, cpu=2), pods(6, cpu=4), pods(1, cpu=4)
    books = opened([([], {"type": "ClusterAutoscaler", "nodeTypes": [type_("cpu", 4, max=3)]})], [first, more])
    untouched, packing = books.copy(), books.fit(first, "c0", scale_up=True)
    assert isinstance(packing, Packing)
    books.reserve("g", "c0", packing, first)
    assert may_grow(books, pods(1, cpu=2)) == {"c0"}  # half a machine is left of those that are promised
    assert may_grow(books, more) == set()
    assert may_grow(untouched, pods(3, cpu=4)) == {"c0"}
    books.release("g", "c0")
    assert may_grow(books, pods(3, cpu=4)) == {"c0"}
    closed = books["c0"].copy()
    closed.close()
    books.replace("c0", closed)
    assert may_grow(books, rest) == set()


NODES = st.lists(
    st.builds(lambda cpu, gpu: {"cpu": str(cpu), GPU: str(gpu), "pods": "4"}, st.integers(0, 4), st.integers(0, 2)),
    max_size=2,
)
TYPES = st.lists(
    st.builds(
        lambda cpu, gpu, most, zone: type_("", cpu, gpu, max=most, **({"labels": {"zone": zone}} if zone else {})),
        st.integers(1, 6), st.integers(0, 4), st.integers(0, 3), st.sampled_from(("", "a", "b")),
    ),
    min_size=1, max_size=3,
).map(lambda types: [{**one, "name": f"t{at}"} for at, one in enumerate(types)])  # fmt: skip
NODE_POOLS = st.lists(
    st.builds(
        lambda limits, zones, weight: pool(
            "",
            limits=limits,
            weight=weight,
            requirements=[{"key": "zone", "operator": "In", "values": zones}] if zones else [],
        ),
        st.sampled_from(({}, {"cpu": "9"}, {GPU: "5"}, {"cpu": "12", "nodes": "2"})),
        st.sampled_from(((), ("a",), ("a", "b"))),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=2,
).map(lambda pools: [{**one, "name": f"p{at}"} for at, one in enumerate(pools)])
AUTOSCALERS = st.one_of(
    st.none(),
    st.builds(
        lambda types, most: {"type": "ClusterAutoscaler", "nodeTypes": types, **most},
        TYPES, st.sampled_from(({}, {"maxNodes": 3})),
    ),
    st.builds(
        lambda types, pools: {
            "type": "Karpenter", "nodePools": pools,
            "nodeTypes": [{key: said for key, said in one.items() if key != "max"} for one in types],
        },
        TYPES, NODE_POOLS,
    ),
)  # fmt: skip
GANGS = st.lists(
    st.builds(
        lambda count, cpu, gpu, zone: pods(count, cpu=cpu, gpu=gpu, zone=zone)[0],
        st.integers(0, 5), st.integers(0, 3), st.integers(0, 2), st.sampled_from(("", "", "a", "b")),
    ),
    min_size=1, max_size=2,
).map(lambda sets: tuple({one.shape: one for one in sets}.values()))  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(
    fleet=st.lists(st.tuples(NODES, AUTOSCALERS), min_size=1, max_size=3),
    gangs=st.lists(GANGS, min_size=1, max_size=4),
    writes=st.lists(st.integers(0, 99), max_size=8),
)
def test_no_cluster_is_ruled_out_that_the_search_finds_machines_on(
    fleet: list[tuple[list[dict[str, str]], dict[str, Any] | None]], gangs: list[Gang], writes: list[int]
) -> None:
    books = opened(fleet, gangs)
    untouched, there = books.copy(), list[tuple[str, str]]()
    begun = [may_grow(books, gang) for gang in gangs]
    for number in [*writes, 0]:
        gang, name = gangs[number % len(gangs)], books.names[number % len(fleet)]
        for asked in gangs:
            found = {one for one in books.names if isinstance(books.fit(asked, one, scale_up=True), Packing)}
            grows = {one for one in books.names if books[one].nodes.types}
            left = may_grow(books, asked)
            assert found & grows <= left <= grows
            event(f"ruled out: {left < grows}, in vain: {bool(left - found)}")
        packing = books.fit(gang, name, scale_up=True)
        if number % 3 == 0 and there:
            books.release(*there.pop(number % len(there)))
        elif isinstance(packing, Packing):
            books.reserve(f"g{number}", name, packing, gang)
            there = [one for one in there if one != (f"g{number}", name)] + [(f"g{number}", name)]
    assert [may_grow(untouched, gang) for gang in gangs] == begun

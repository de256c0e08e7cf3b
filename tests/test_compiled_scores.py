"""What nodes are worth besides their resources: machine code adds up the same as the plain simulation, node by node."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gitplacer.model.labels import Requirement, Taint, Toleration
from gitplacer.model.podrules import PodTerm, Selector, SpreadConstraint
from gitplacer.model.resources import Resources
from gitplacer.model.workload import NodeTerm
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.objects import Node, Pod
from gitplacer.scheduler.reading import ClusterObjects
from gitplacer.scheduler.simulation import Chooser, Profile
from gitplacer.scheduler.site import Site

HOST, ZONE, RACK = "kubernetes.io/hostname", "zone", "rack"
MANY = Resources({"cpu": 64_000, "memory": 2**40, "pods": 110})
SELECTORS = [Selector((Requirement("app", "In", (app,)),)) for app in "ab"]

spreads = st.builds(
    SpreadConstraint,
    topology_key=st.sampled_from([HOST, ZONE, ZONE, RACK]),
    selector=st.sampled_from(SELECTORS),
    max_skew=st.sampled_from([1, 1, 1, 4]),
    hard=st.just(False),
)
liked = st.tuples(
    st.integers(1, 100), st.sampled_from([NodeTerm((Requirement(ZONE, "In", (zone,)),), ()) for zone in "xy"])
)
near = st.tuples(
    st.integers(-100, 100),
    st.builds(
        PodTerm, topology_key=st.sampled_from([HOST, ZONE]), selector=st.sampled_from(SELECTORS),
        namespaces=st.just(("default",)),
    ),
)  # fmt: skip
taints = st.sampled_from([Taint(f"rather-not-{i}", "", "PreferNoSchedule") for i in range(3)])


@st.composite
def boards(draw: st.DrawFn) -> Board:
    """A few nodes, some of them without a rack, with pods on them that are counted, and pods to come that would rather be somewhere."""
    nodes = tuple(
        Node(
            name=f"n{i}",
            labels=(
                (HOST, f"n{i}"),
                (ZONE, draw(st.sampled_from("xyz"))),
                *(((RACK, draw(st.sampled_from("pq"))),) if draw(st.integers(0, 3)) else ()),
            ),
            taints=tuple(draw(st.lists(taints, max_size=2, unique=True))),
            allocatable=MANY,
        )
        for i in range(draw(st.integers(2, 9)))
    )
    running = tuple(
        Pod(name=f"r{i}", labels=(("app", draw(st.sampled_from("ab"))),), node_name=draw(st.sampled_from(nodes)).name)
        for i in range(draw(st.sampled_from([0, 0, 3, 14])))
    )
    gang = [
        Pod(
            name=f"p{i}",
            labels=(("app", draw(st.sampled_from("abc"))),),
            requests=Resources({"cpu": 100 * i}),
            spread=tuple(draw(st.lists(spreads, max_size=3))),
            preferred_nodes=tuple(draw(st.lists(liked, max_size=2))),
            preferred_pods=tuple(draw(st.lists(near, max_size=2))),
            tolerations=(Toleration("rather-not-1", "Exists"),) if draw(st.booleans()) else (),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    return Board(Site(ClusterObjects(nodes, running, {})), gang)


@given(board=boards(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_nodes_are_worth_the_same_in_machine_code(board: Board, data: st.DataObject) -> None:
    """On any of them that may have passed the filters, with pods of the gang bound or not."""
    scores: Any = importlib.import_module("gitplacer.scheduler.compiledscores")
    neighbours: Any = importlib.import_module("gitplacer.scheduler.compiledneighbours")
    counts, state = neighbours.near_of(board), board.bound()
    everywhere = st.sampled_from(range(len(board.nodes)))
    for k, node in data.draw(st.lists(st.tuples(st.sampled_from(range(len(board.classes))), everywhere), max_size=5)):
        state.bind(k, node)
        neighbours.count_pod(k, node, counts)
    some = np.array(sorted(data.draw(st.sets(everywhere, min_size=1))))
    tastes, chooser = scores.tastes_of(board), Chooser(board, state, Profile(), board.class_of)
    for k, rules in enumerate(board.rules):
        event(f"spread: {len(rules.soft)}, of few nodes: {len(some) < len(board.nodes)}")
        found = np.full(len(some) + 1, -7)
        scores.besides(k, counts, tastes, some, len(some), found)
        plain = np.zeros(len(some), dtype=np.int64) + chooser._other_scores(k, some)
        assert found.tolist() == [*plain.tolist(), -7]

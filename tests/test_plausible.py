"""Numbers in a snapshot that cannot be: told, and never counted as room."""

from __future__ import annotations

import pytest

from gitplacer.problems import Severity
from tests.stories import ANYWHERE, Story, cluster, outcome, snapshot

POD = {
    "workloads/x/p.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    "spec: {containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}\n"
}


@pytest.mark.parametrize(
    ("node", "code", "severity", "result"),
    [
        ("n1 4 8Gi|, used: {cpu: 3, memory: 7Gi}", None, None, "Place a Fits"),
        ("n1 4 8Gi|, used: {cpu: 5}", "UsedBeyondAllocatable", Severity.WARNING, "Wait  NoClusterFits"),
        # what the node does not offer may be used: ephemeral storage is often not reported
        ("n1 4 8Gi|, used: {ephemeral-storage: 1Gi}", None, None, "Place a Fits"),
        ("n1 4 7E", None, None, "Place a Fits"),
        # exactly 2^63 - 1, and one more
        ("n1 4 9223372036854775807", None, None, "Place a Fits"),
        ("n1 4 4611686018427387904|, count: 2", "CapacityTooLarge", Severity.ERROR, "Wait  NoEligibleCluster"),
    ],
)
def test_what_cannot_be_is_told_and_is_no_room(
    node: str, code: str | None, severity: Severity | None, result: str
) -> None:
    done = Story.of(cluster("a"), ANYWHERE, POD, capacity=snapshot("a", node)).run()
    assert [(p.code, p.severity) for p in done.problems] == ([(code, severity)] if code else [])
    assert outcome(done) == {"x/p": result}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (["n1 4 8Gi|, count: 100000"], None),
        (["n1 4 8Gi|, count: 100000", "n2 4 8Gi"], "there are 100,001 nodes, more than 100,000"),
        ([f"n{i} 4 8Gi|, count: 100000" for i in range(9)], "there are 900,000 nodes, more than 100,000"),
        ([f"n{i} 4 8Gi" for i in range(99)], None),
    ],
)
def test_a_cluster_with_more_nodes_than_any_has_takes_nothing(nodes: list[str], message: str | None) -> None:
    done = Story.of(cluster("a"), ANYWHERE, POD, capacity=snapshot("a", *nodes)).run()
    assert [p.message for p in done.problems if p.code == "CapacityTooLarge"] == ([message] if message else [])
    assert outcome(done) == {"x/p": "Wait  NoEligibleCluster" if message else "Place a Fits"}


@pytest.mark.parametrize(("count", "result"), [(198, "Place a Fits"), (199, "Wait  NoEligibleCluster")])
def test_a_cluster_with_more_resources_than_any_has_takes_nothing(count: int, result: str) -> None:
    capacity = snapshot("a", "n1 4 8Gi", *(f"m{i} 4 8Gi" for i in range(count)))
    text = capacity["a.yaml"]
    for i in range(count):
        text = text.replace(f"name: m{i}, allocatable: {{", f"name: m{i}, allocatable: {{example.com/r{i}: 1, ")
    done = Story.of(cluster("a"), ANYWHERE, POD, capacity={"a.yaml": text}).run()
    assert outcome(done) == {"x/p": result}


@pytest.mark.parametrize(("count", "told"), [(1000, []), (1001, ["CapacityTooLarge"])])
def test_a_cluster_with_more_groups_of_machines_than_any_has_takes_nothing(count: int, told: list[str]) -> None:
    groups = "nodeGroups:\n" + "".join(f"- {{name: g{i}}}\n" for i in range(count))
    done = Story.of(cluster("a"), ANYWHERE, POD, capacity=snapshot("a", "n1 4 8Gi", more=groups)).run()
    assert [p.code for p in done.problems] == told


def test_all_overused_nodes_are_one_warning_at_the_first() -> None:
    nodes = ["n1 4 8Gi", *(f"n{i} 4 8Gi|, used: {{cpu: 9}}" for i in (2, 3, 4))]
    (problem,) = Story.of(cluster("a"), ANYWHERE, POD, capacity=snapshot("a", *nodes)).run().problems
    assert problem.message == "n2 uses 9 of 4 cpu (and 2 more nodes); nothing of it counts as free"
    assert str(problem.location) == "capacity/a.yaml:7:64"

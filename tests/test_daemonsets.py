"""A DaemonSet has a pod on each node that admits it: what it needs is known once the cluster is."""

from __future__ import annotations

import pytest

from gitplacer.formats.group import explain_group
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, policy, snapshot

AGENT = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: x}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}
"""
FILES = {"workloads/x/agent.yaml": AGENT}
TAINTED = "|, taints: [{key: gpu, effect: NoSchedule}]"


@pytest.mark.parametrize(
    ("nodes", "placed"),
    [
        (("n1 2 1Gi", "n2 2 1Gi", "n3 2 1Gi"), 3),
        # one node too small for its pod is one pod that never starts, whatever room the others have
        (("n1 2 1Gi", "n2 1 1Gi", "n3 9 1Gi"), 0),
        # nodes that refuse it have none
        (("n1 2 1Gi", f"n2 1 1Gi{TAINTED}", "n3 1 1Gi|, ready: false"), 1),
        # nodes that are alike and written once
        (("n1 2 1Gi|, count: 4",), 4),
    ],
)
def test_it_needs_room_on_every_node_that_admits_it(nodes: tuple[str, ...], placed: int) -> None:
    story = Story.of(cluster("a"), ANYWHERE, FILES, capacity=snapshot("a", *nodes))
    done = story.run()
    assert outcome(done) == {"x/agent": "Place a Fits" if placed else "Wait  NoClusterFits"}
    if placed:
        # what it was promised is gone for others: the nodes that admitted it are full
        other = AGENT.replace("agent", "other").replace("cpu: 2", "cpu: 1")
        story.source["workloads/x/other.yaml"] = other
        assert outcome(story.run())["x/other"] == "Wait  NoClusterFits"


def test_pods_that_run_are_those_of_their_nodes() -> None:
    """The pod that the snapshot shows on n1 is the one for n1; the one for n2 is still to come."""
    running = "groups: [{name: x/agent, pods: [{role: pod, node: n1}]}]\n"
    story = Story.of(cluster("a"), ANYWHERE, FILES, capacity=snapshot("a", "n1 2 1Gi", "n2 2 1Gi"))
    story.run()
    story.capacity = snapshot("a", "n1 2 1Gi", "n2 2 1Gi", at=story.now, more=running)
    story.source["workloads/x/other.yaml"] = AGENT.replace("agent", "other").replace("cpu: 2", "cpu: 1")
    done = story.run()
    assert outcome(done) == {"x/agent": "Keep a Kept", "x/other": "Wait  NoClusterFits"}
    (rejected,) = decisions(done)["x/other"].candidates
    assert (rejected.finding.role, rejected.finding.placed, rejected.finding.wanted) == ("pod", 0, 1)


ONLY_ON_GPUS = AGENT.replace("spec: {containers", "spec: {nodeSelector: {gpu: l4}, containers")
GPU = "|, labels: {gpu: l4}"
EVERYWHERE = policy("anywhere", "select: {}\nplacement: {copies: All}")


def test_it_goes_where_some_node_admits_it() -> None:
    nodes = {**snapshot("a", "n1 9 1Gi"), **snapshot("b", f"n1 9 1Gi{GPU}"), **snapshot("c", "n1 9 1Gi")}
    files = {"workloads/x/agent.yaml": ONLY_ON_GPUS}
    story = Story.of(*map(cluster, "abc"), ANYWHERE, files, capacity=nodes)
    done = story.run()
    assert (outcome(done), done.problems) == ({"x/agent": "Place b Fits"}, ())
    assert "  1 × pod on each node  2 cpu each\n" in explain_group(done.view, "x/agent")


@pytest.mark.parametrize(
    ("policies", "on_b", "told"),
    [
        (ANYWHERE, "", "a: 1 of 1 node: gpu=l4"),
        (EVERYWHERE, "", "a and b: 1 of 1 node: gpu=l4"),
        (EVERYWHERE, GPU, ""),  # a copy where there are none of its nodes is as usual
    ],
)
def test_where_no_node_admits_it_that_is_told(policies: dict[str, str], on_b: str, told: str) -> None:
    nodes = {**snapshot("a", "n1 9 1Gi"), **snapshot("b", f"n1 9 1Gi{on_b}")}
    story = Story.of(*map(cluster, "ab"), policies, {"workloads/x/agent.yaml": ONLY_ON_GPUS}, capacity=nodes)
    said = [(each.code, each.message) for each in story.run().problems]
    message = f"DaemonSet x/agent has a pod on each node that admits it, and none could ever run on {told}"
    assert said == ([("NoNodeToGrow", message)] if told else [])


def test_a_cluster_without_nodes_for_it_has_none_of_it() -> None:
    story = Story.of(cluster("a"), ANYWHERE, FILES, capacity=snapshot("a", f"n1 9 1Gi{TAINTED}"))
    assert outcome(story.run()) == {"x/agent": "Place a Fits"}

"""
Who was promised room in every order keeps that certainty, whoever comes after: luck is accepted for oneself only.

The stories were found by `test_world`; here they stand alone, small enough to be read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gitplacer.explain.findings import finding_text
from gitplacer.hydrate import hydrate
from gitplacer.placement import stage
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.ledgercache import LedgerCache, Opening
from gitplacer.remedies import few_remedies, remedy
from gitplacer.scheduler.answer import Refuted, refuted
from gitplacer.source.files import InMemory
from tests.packing_quality import drawn, waiting
from tests.stories import (
    ANYWHERE,
    PRIVILEGED,
    Story,
    cluster,
    decisions,
    deployment,
    outcome,
    policy,
    rayservice,
    snapshot,
)

NODES = snapshot("a", "n1 4 32Gi 1", "n2 4 32Gi")
FIRST = rayservice("x", "first", cpu="2")  # a head, and a worker for the one GPU
LUCKY = policy("lucky", "select: {namespaces: [lucky]}\nprecedence: 1\nplacement: {accept: TightFit}")


def pods(namespace: str, name: str, count: int, cpu: int, rule: str = "") -> dict[str, str]:
    """A Deployment; `rule`: each pod takes a host port, or minds others of its own."""
    port = ", ports: [{containerPort: 9000, hostPort: 9000}]" if rule == "port" else ""
    apart = (
        "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution:\n"
        f"        [{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: {name}}}}}}}]}}}}\n"
    )
    text = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {count}\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n"
        f"{apart if rule == 'apart' else ''}"
        f"      containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}, memory: 1Gi}}}}{port}}}]\n"
    )
    return {f"workloads/{namespace}/{name}.yaml": text}


@pytest.mark.parametrize(
    ("namespace", "result"),
    [
        ("lucky", "Wait  TightFit"),  # its policy accepts luck, that of the first does not
        ("z", "Wait  TightFit"),
    ],
)
def test_luck_is_not_accepted_at_the_cost_of_others(namespace: str, result: str) -> None:
    story = Story.of(cluster("a"), ANYWHERE, LUCKY, FIRST, capacity=NODES)
    assert outcome(story.run()) == {"x/first": "Place a Fits"}
    story.source |= pods(namespace, "second", 2, 2)
    assert outcome(story.run()) == {"x/first": "Keep a Kept", f"{namespace}/second": result}
    assert not story.plan().steps


def test_among_those_that_accept_luck_nobody_is_safe_from_it() -> None:
    story = Story.of(cluster("a"), ANYWHERE, LUCKY, rayservice("lucky", "first", cpu="2"), capacity=NODES)
    story.run()
    story.source |= pods("lucky", "second", 2, 2)
    assert outcome(story.run()) == {"lucky/first": "Keep a Kept", "lucky/second": "Place a TightFit"}


@pytest.mark.parametrize(
    ("count", "cpu", "result"),
    [
        (3, 2, "Wait  TightFit"),  # two find room now, and may find it where the GPU is
        (1, 8, "Place a FitsByScaleUp"),  # can only be on the new machine
    ],
)
def test_pods_that_wait_for_machines_do_not_take_the_room_of_others(count: int, cpu: int, result: str) -> None:
    type_ = "{name: big, max: 1, allocatable: {cpu: 8, memory: 32Gi, pods: 9}}"
    scaling = cluster("a", autoscaler=f"{{type: ClusterAutoscaler, nodeTypes: [{type_}]}}")
    story = Story.of(scaling, ANYWHERE, FIRST, capacity=NODES)
    assert outcome(story.run()) == {"x/first": "Place a Fits"}
    story.source |= pods("z", "second", count, cpu)
    assert outcome(story.run())["z/second"] == result


ZONE = "topology.kubernetes.io/zone"
SPREAD = f"topologySpreadConstraints: [{{topologyKey: {ZONE}, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: web}}}}}}]"
ABOUT_WEB = (
    "requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: %s, labelSelector: {matchLabels: {app: web}}}]"
)
TOGETHER = f"affinity: {{podAffinity: {{{ABOUT_WEB % ZONE}}}}}"
APART = f"affinity: {{podAntiAffinity: {{{ABOUT_WEB % 'kubernetes.io/hostname'}}}}}"


def beside_a_machine(zone: str, rule: str, count: int, nodes: int = 1) -> Story:
    """A batch that only a machine takes which comes to a zone for it, and has room for one pod more; and an app beside it."""
    type_ = (
        f"{{name: new, max: 1, allocatable: {{cpu: 4, memory: 32Gi, pods: 9}}, labels: {{{ZONE}: {zone}, pool: new}}}}"
    )
    return Story.of(
        cluster("a", autoscaler=f"{{type: ClusterAutoscaler, nodeTypes: [{type_}]}}"),
        ANYWHERE,
        deployment("batch", "one", "requests: {cpu: 3, memory: 1Gi}", spec="nodeSelector: {pool: new}"),
        deployment("x", "web", "requests: {cpu: 1, memory: 1Gi}", replicas=count, spec=rule),
        capacity=snapshot("a", *(f"n{i} 8 32Gi| , labels: {{{ZONE}: a}}" for i in range(nodes))),
    )


@pytest.mark.parametrize(
    ("zone", "rule", "count", "nodes", "result"),
    [
        pytest.param("a", SPREAD, 4, 1, "Place a Fits", id="a machine in the zone over which they are spread"),
        pytest.param("b", SPREAD, 3, 1, "Place a Fits", id="a zone that takes as many as have to go there"),
        pytest.param("b", SPREAD, 4, 1, "Wait  TightFit", id="a zone that is soon full"),
        pytest.param("a", TOGETHER, 4, 1, "Place a Fits", id="a machine in the zone where they are together"),
        pytest.param("b", TOGETHER, 2, 1, "Wait  TightFit", id="a zone where the first may go, and no other"),
        pytest.param("b", "", 8, 1, "Place a Fits", id="pods that mind nothing but room"),
        pytest.param("b", APART, 700, 700, "Place a Fits", id="too many to be tried, each on a node of its own"),
    ],
)  # fmt: skip
def test_a_zone_may_come_with_a_machine_that_another_waits_for(
    zone: str, rule: str, count: int, nodes: int, result: str
) -> None:
    """It counts for pods that are spread, and those that stay together may go there, though they are promised room without it."""
    story = beside_a_machine(zone, rule, count, nodes)
    assert outcome(story.run()) == {"batch/one": "Place a FitsByScaleUp", "x/web": result}


def test_no_machine_comes_to_a_zone_that_leaves_out_whom_room_was_promised_before() -> None:
    story = beside_a_machine("b", SPREAD, 4)
    batch = story.source.pop("workloads/batch/one.yaml")
    assert outcome(story.run()) == {"x/web": "Place a Fits"}
    story.source["workloads/batch/one.yaml"] = batch
    assert outcome(story.run()) == {"batch/one": "Wait  TightFit", "x/web": "Keep a Kept"}


def test_it_is_told_that_an_order_leaves_a_pod_out_once_the_machines_are_there() -> None:
    decided = decisions(beside_a_machine("b", SPREAD, 4).run())
    said = finding_text(decided["x/web"].finding)
    assert "with the machines that are to be added, with LeastAllocated scoring, a pod finds no node" in said


@pytest.mark.parametrize("second", ["", "port", "apart"])
@pytest.mark.parametrize("grown", ["port", "apart"])
def test_a_group_that_outgrows_its_cluster_for_a_rule_closes_it_to_all(grown: str, second: str) -> None:
    story = Story.of(
        cluster("a"),
        PRIVILEGED,
        ANYWHERE,
        pods("x", "first", 2, 1, grown),
        capacity=snapshot("a", "n1 8 32Gi", "n2 8 32Gi"),
    )
    assert outcome(story.run()) == {"x/first": "Place a Fits"}
    story.source |= pods("x", "first", 3, 1, grown)
    assert outcome(story.run()) == {"x/first": "Update a Outgrown"}
    story.source |= pods("z", "second", 1, 1, second)
    assert outcome(story.run()) == {"x/first": "Keep a Outgrown", "z/second": "Wait  NoClusterFits"}


def test_room_that_is_kept_is_kept_from_pods_with_rules_too() -> None:
    """A job holds one of two nodes; of the other most is kept for one that has waited long for its share of both."""
    batch = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n  parallelism: %d\n  completions: %d\n" + (
        "  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: %d}}}]}}\n"
    )
    jobs = {"workloads/x/one.yaml": batch % ("one", 1, 1, 8)}
    story = Story.of(
        cluster("a"),
        PRIVILEGED,
        ANYWHERE,
        jobs,
        capacity=snapshot("a", "n1 8 32Gi", "n2 8 32Gi", "n3 1 9Gi", "n4 1 9Gi"),
    )
    story.run()
    story.source |= {"workloads/x/two.yaml": batch % ("two", 2, 2, 6)}
    story.run()
    story.now += timedelta(hours=2)
    assert outcome(story.run())["x/two"] == "Wait  RoomReserved"
    app = rayservice("z", "app", cpu="2", gpus=0)["workloads/z/app.yaml"]
    for more in ("", "ports: [{containerPort: 9000, hostPort: 9000}], "):
        story.source["workloads/z/app.yaml"] = app.replace("name: worker, ", f"name: worker, {more}")
        assert outcome(story.plan())["z/app"] == "Wait  NoClusterFits", more


def test_nobody_is_sent_away_for_a_gang_that_would_fit_with_luck_alone() -> None:
    prod = policy("prod", "select: {namespaces: [prod]}\nprecedence: 1\npriority: 9\npreempts: LowerPriority")
    lab = policy("lab", "select: {namespaces: [lab]}\nprecedence: 1\npreemptible: true")
    story = Story.of(cluster("a"), ANYWHERE, prod, lab, pods("lab", "app", 1, 2), capacity=NODES)
    assert outcome(story.run()) == {"lab/app": "Place a Fits"}
    text = rayservice("prod", "llm", cpu="2")
    story.source |= {
        path: body.replace('cpu: "2"', 'cpu: "4"', 1) for path, body in text.items()
    }  # a head of a whole node
    assert outcome(story.run()) == {"lab/app": "Keep a Kept", "prod/llm": "Wait  NoClusterFits"}
    assert not story.plan().steps


class Unshared(LedgerCache):
    """Every ledger is opened anew."""

    def opened(self, asked: Opening) -> Ledger:
        return asked.open()


@pytest.mark.parametrize("seed", [2, 3])
def test_remedies_are_the_same_whatever_their_trials_know_of_each_other(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []

    def counted(*args: Any, **options: Any) -> Refuted | int:
        runs.append(1)
        return refuted(*args, **options)

    fleet, queue = drawn(seed)
    inputs, memo = waiting(fleet, queue[:8], "Fits").inputs(), InMemory()
    done = hydrate(inputs, memo=memo)
    groups = [decision.group for decision in done.view.plan.decisions]
    monkeypatch.setattr(stage, "refuted", counted)
    together, made = few_remedies(inputs, done, groups, memo, 4), len(runs)
    alone = {group: remedy(inputs, done, group, memo, 4, ledgers=Unshared()) for group in together}
    assert together == alone
    assert any(found.ways for found in together.values())
    assert 0 < made < len(runs) - made


def test_a_proof_is_looked_for_wherever_a_group_may_go() -> None:
    """On 24 small clusters the worker may take the node that the head needs; only on the largest it cannot, and that is the last in any order."""
    small = {f"c{number:02}": ("n1 4 32Gi", "n2 6 32Gi") for number in range(24)}
    names = (*small, "z")
    app = {
        "workloads/x/app.yaml": (
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: app}\nspec:\n"
            f"  headGroupSpec: {{rayStartParams: {{}}, template: {_template(5)}}}\n"
            f"  workerGroupSpecs: [{{groupName: w, replicas: 1, rayStartParams: {{}}, template: {_template(3)}}}]\n"
        )
    }
    capacity: dict[str, str] = {}
    for name in names:
        capacity |= snapshot(name, *small.get(name, ("n1 6 32Gi", "n2 6 32Gi", "n3 6 32Gi")))
    files: dict[str, str] = {}
    for name in names:
        files |= cluster(name)
    story = Story.of(files, ANYWHERE, app, capacity=capacity)
    assert outcome(story.run()) == {"x/app": "Place z Fits"}
    other = Story.of(
        {name: text for name, text in files.items() if "/z." not in name}, ANYWHERE, app, capacity=capacity
    )
    assert outcome(other.run()) == {"x/app": "Wait  TightFit"}


def _template(cpu: int) -> str:
    return f"{{spec: {{containers: [{{name: r, image: i, resources: {{limits: {{cpu: {cpu}, memory: 1Gi}}}}}}]}}}}"

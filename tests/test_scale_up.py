"""Counting on machines that are not there yet: what a fresh one offers, what its autoscaler allows, what is said if not."""

from __future__ import annotations

import pytest

from gitplacer.explain import verdict_text
from gitplacer.hydrate import Hydration
from tests.stories import ANYWHERE, PRIVILEGED, Story, cluster, decisions, deployment, outcome, rayservice, snapshot

APP = rayservice("x", "app")  # a head of 2 cores and 2Gi, a worker of 2 cores, 4Gi and a GPU


def said(done: Hydration, name: str = "c") -> str:
    """What is said of a cluster that did not take the app, with its code."""
    decision = decisions(done)["x/app"]
    candidate = next(c for c in decision.candidates if c.cluster == name)
    return f"{candidate.finding.code}: {verdict_text(candidate, decision, done.view)}"


def scaling(more: str, type_: str = "ClusterAutoscaler") -> dict[str, str]:
    return cluster("c", autoscaler=f"{{type: {type_}, {more}}}")


@pytest.mark.parametrize(
    ("overhead", "result"),
    [
        ("{}", "Place c FitsByScaleUp"),
        ("{cpu: 500m, memory: 2Gi, pods: 8}", "Place c FitsByScaleUp"),
        ("{cpu: 501m}", "Wait  NoClusterFits"),
        ("{pods: 9}", "Wait  NoClusterFits"),  # ten slots, and the gang needs two
        ("{cpu: 99}", "Wait  NoClusterFits"),
    ],
)
def test_a_fresh_node_offers_what_daemonsets_leave(overhead: str, result: str) -> None:
    type_ = f"{{name: g, max: 1, allocatable: {{cpu: 4500m, memory: 8Gi, nvidia.com/gpu: 1, pods: 10}}, overhead: {overhead}}}"
    story = Story.of(scaling(f"nodeTypes: [{type_}]"), ANYWHERE, APP, capacity=snapshot("c"))
    assert outcome(story.run()) == {"x/app": result}


ZONE = "topology.kubernetes.io/zone"
SPREAD = f"""nodeSelector: {{pool: gpu}}
      topologySpreadConstraints:
      - {{topologyKey: {ZONE}, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Ignore, labelSelector: {{matchLabels: {{app: app}}}}}}"""


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("allocatable: {cpu: 4, memory: 32Gi, pods: 9}, labels: {%s: b, pool: cpu}", id="of another pool"),
        pytest.param("allocatable: {cpu: 2, memory: 32Gi, pods: 9}, labels: {%s: b, pool: gpu}", id="too small"),
        pytest.param(
            "allocatable: {cpu: 4, memory: 32Gi, pods: 9}, labels: {%s: b, pool: gpu}, taints: [{key: spared, effect: NoSchedule}]",
            id="tainted",
        ),
    ],
)  # fmt: skip
def test_a_zone_does_not_count_whose_machines_would_take_none_of_the_pods(other: str) -> None:
    """Nobody adds one of them, so that pods need not be spread over it, though its autoscaler could."""
    one = f"{{name: one, max: 2, allocatable: {{cpu: 8, memory: 32Gi, pods: 9}}, labels: {{{ZONE}: a, pool: gpu}}}}"
    web = deployment("x", "app", "requests: {cpu: 3, memory: 1Gi}", replicas=3, spec=SPREAD)
    there = snapshot("c", f"n1 6 32Gi| , labels: {{{ZONE}: a, pool: gpu}}")
    story = Story.of(
        scaling(f"nodeTypes: [{one}, {{name: other, max: 1, {other % ZONE}}}]"), ANYWHERE, web, capacity=there
    )
    assert outcome(story.run()) == {"x/app": "Place c FitsByScaleUp"}


@pytest.mark.parametrize(
    ("tolerated", "expected"),
    [
        ("first second", {"x/first": "Place c Fits", "x/second": "Place c FitsByScaleUp"}),
        ("second", {"x/first": "Place c Fits", "x/second": "Wait  TightFit"}),
    ],
)
def test_pods_that_need_a_machine_are_there_before_it_and_take_what_others_were_promised(
    tolerated: str, expected: dict[str, str]
) -> None:
    """
    Both want one port, and `n1` has it once. A machine would be liked better by the second, were it there; but it comes because somebody waits for
    it. Is it the first that waits, it has to tolerate the machine.
    """
    apps: dict[str, str] = {}
    for name in ("first", "second"):
        spec = "tolerations: [{key: own, operator: Exists}]" if name in tolerated.split() else ""
        [(path, text)] = deployment("x", name, "requests: {cpu: 1, memory: 1Gi}", spec=spec).items()
        apps[path] = text.replace("image: i,", "image: i, ports: [{containerPort: 1, hostPort: 80}],")
    machine = (
        "{name: g, max: 1, allocatable: {cpu: 8, memory: 32Gi, pods: 9}, taints: [{key: own, effect: NoSchedule}]}"
    )
    there = snapshot("c", "n1 8 32Gi|, taints: [{key: spared, effect: PreferNoSchedule}]")
    fleet = scaling(f"nodeTypes: [{machine}]")
    assert outcome(Story.of(fleet, PRIVILEGED, ANYWHERE, apps, capacity=there).run()) == expected


GROUP = 'name: asg, nodeType: g5, max: %d, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}'


@pytest.mark.parametrize(
    ("group", "autoscaler", "text"),
    [
        (GROUP % 0, "", "ExceedsCluster: 0 of 1 worker/gpu fit; it has no nodes; "
         "more than the cluster holds when empty, counting all nodes that can be added; node group asg may have no more than 0 nodes"),
        (GROUP % 3 + ", exhausted: {code: InsufficientInstanceCapacity}", "",
         "NodeGroupExhausted: 0 of 1 worker/gpu fit; it has no nodes, "
         "counting all nodes that can be added; no more asg now: InsufficientInstanceCapacity"),
        (GROUP % 3 + ', exhausted: {code: QuotaExceeded, until: "2026-01-02T04:00:00Z"}', "",
         "NodeGroupExhausted: 0 of 1 worker/gpu fit; it has no nodes, "
         "counting all nodes that can be added; no more asg now: QuotaExceeded until 2026-01-02T04:00:00Z"),
        (GROUP % 3, "maxNodes: 0", "ExceedsCluster: 0 of 1 worker/gpu fit; it has no nodes; "
         "more than the cluster holds when empty, counting all nodes that can be added; the cluster may have no more than 0 nodes"),
    ],
)  # fmt: skip
def test_what_keeps_machines_from_being_added_is_told(group: str, autoscaler: str, text: str) -> None:
    groups = f"nodeGroups: [{{{group}}}]\n"
    story = Story.of(scaling(autoscaler), ANYWHERE, APP, capacity=snapshot("c", more=groups))
    done = story.run()
    assert outcome(done) == {"x/app": "Wait  NoClusterFits"}
    assert said(done) == text


@pytest.mark.parametrize(
    ("machine", "nodes", "short"),
    [
        ('cpu: "8", memory: 64Gi, nvidia.com/gpu: "1"', ["n1 2 2Gi"], "3 of 4 worker/gpu fit; short 1 nvidia.com/gpu"),
        ('cpu: "2", memory: 4Gi, nvidia.com/gpu: "1"', ["n1 2 2Gi"], "3 of 4 worker/gpu fit; short 1 nvidia.com/gpu and 4Gi memory"),
        ('cpu: "8", memory: 64Gi, nvidia.com/gpu: "1"', [], "3 of 4 worker/gpu fit; short 1 nvidia.com/gpu"),
    ],
)  # fmt: skip
def test_what_is_short_is_what_is_missing_beside_all_machines_that_can_be_added(
    machine: str, nodes: list[str], short: str
) -> None:
    types = f"nodeTypes: [{{name: g, max: 3, allocatable: {{{machine}}}}}]"
    done = Story.of(scaling(types), ANYWHERE, rayservice("x", "app", workers=4), capacity=snapshot("c", *nodes)).plan()
    assert said(done) == (
        f"ExceedsCluster: {short}; more than the cluster holds when empty, counting all nodes that can be added"
    )


def test_a_group_that_was_counted_on_keeps_its_place_when_it_is_exhausted_and_another_waits() -> None:
    groups = f"nodeGroups: [{{{GROUP % 3}}}]\n"
    story = Story.of(scaling(""), ANYWHERE, APP, capacity=snapshot("c", more=groups))
    assert outcome(story.run()) == {"x/app": "Place c FitsByScaleUp"}
    story.capacity = snapshot("c", more=groups.replace("}]", ", exhausted: {code: QuotaExceeded}}]"), at=story.now)
    story.source |= rayservice("x", "next")
    assert outcome(story.run()) == {"x/app": "Keep c Kept", "x/next": "Wait  NoClusterFits"}


def test_an_exhaustion_that_has_an_end_ends_with_it() -> None:
    until = ', exhausted: {code: QuotaExceeded, until: "2026-01-02T03:06:00Z"}'
    story = Story.of(scaling(""), ANYWHERE, APP, capacity=snapshot("c", more=f"nodeGroups: [{{{GROUP % 3}{until}}}]\n"))
    assert outcome(story.run()) == {"x/app": "Wait  NoClusterFits"}
    assert outcome(story.run()) == {"x/app": "Place c FitsByScaleUp"}


ZONES = "{key: topology.kubernetes.io/zone, operator: In, values: [a, b]}"
TYPE = '{name: g5, pricePerHour: 1, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}}'


@pytest.mark.parametrize(
    ("pool", "selector", "result"),
    [
        ("", "{}", "Place c FitsByScaleUp"),
        (f"requirements: [{ZONES}]", "{topology.kubernetes.io/zone: b}", "Place c FitsByScaleUp"),
        (f"requirements: [{ZONES}]", "{topology.kubernetes.io/zone: z}", "Wait  NoClusterFits"),
        (f"requirements: [{ZONES}]", "{}", "Place c FitsByScaleUp"),
        ("labels: {team: ml}", "{team: ml}", "Place c FitsByScaleUp"),
        ("", "{karpenter.sh/nodepool: p}", "Place c FitsByScaleUp"),
        ("taints: [{key: reserved}]", "{}", "Wait  NoClusterFits"),
        ("limits: {nvidia.com/gpu: 0}", "{}", "Wait  NoClusterFits"),
    ],
)
def test_a_pod_gets_a_machine_that_karpenter_would_launch_for_it(pool: str, selector: str, result: str) -> None:
    text = APP["workloads/x/app.yaml"].replace("{containers", f"{{nodeSelector: {selector}, containers")
    pools = f"nodePools: [{{name: p, {pool}}}], nodeTypes: [{TYPE}]"
    story = Story.of(scaling(pools, "Karpenter"), ANYWHERE, {"workloads/x/app.yaml": text}, capacity=snapshot("c"))
    assert outcome(story.run()) == {"x/app": result}


def test_the_limit_of_a_node_pool_is_told() -> None:
    pools = f"nodePools: [{{name: p, limits: {{nvidia.com/gpu: 0}}}}], nodeTypes: [{TYPE}]"
    done = Story.of(scaling(pools, "Karpenter"), ANYWHERE, APP, capacity=snapshot("c")).run()
    assert said(done).endswith("; node pool p may have no more than 0 nvidia.com/gpu")


def test_the_heaviest_pool_is_taken_whatever_it_costs() -> None:
    dear = TYPE.replace("g5", "dear").replace("Hour: 1", "Hour: 9")
    only = "requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [%s]}]"
    pools = (
        f"nodePools: [{{name: a, {only % 'g5'}}}, {{name: b, weight: 5, {only % 'dear'}}}], nodeTypes: [{TYPE}, {dear}]"
    )
    done = Story.of(scaling(pools, "Karpenter"), ANYWHERE, APP, capacity=snapshot("c")).run()
    assert decisions(done)["x/app"].cost_per_hour == 9


def test_a_type_that_cannot_be_counted_on_is_told_once() -> None:
    types = "nodeTypes: [{name: g5, max: 3}, {name: g6, max: 1, allocatable: {cpu: 1}}]"
    done = Story.of(scaling(types), ANYWHERE, APP, capacity=snapshot("c")).run()
    (problem,) = done.problems
    assert (problem.code, str(problem.location)) == ("NodeTypeNotCounted", "clusters/c.yaml:1:1")
    assert problem.message == (
        "node type g5 of cluster c has no allocatable, and no snapshot reports it; none of them is counted on"
    )


def test_on_demand_comes_before_spot_of_the_same_price() -> None:
    types = f"nodeTypes: [{TYPE[:-1]}, max: 9, spot: true}}, {TYPE[:-1].replace('g5', 'h5')}, max: 9}}]"
    done = Story.of(scaling(types), ANYWHERE, APP, capacity=snapshot("c")).run()
    (nodes,) = decisions(done)["x/app"].finding.new_nodes
    assert (nodes.type, nodes.spot) == ("h5", False)

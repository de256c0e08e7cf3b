"""The judges of `gitplacer fit`, judged: by arithmetic on small cases, by each other, and by brute force."""

from __future__ import annotations

from typing import Any

import pytest

from tests import exactfit, generatedcases
from tests import schedulerjudge as judge

Json = dict[str, Any]
GROUP = {"labelSelector": {"matchLabels": {"app": "w"}}}


def node(name: str, room: Json | None = None, **labels: str) -> Json:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", **(room or {})}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": allocatable}}


def pod(name: str, spec: Json | None = None, **asked: str) -> Json:
    container = {"name": "c", "resources": {"requests": asked}}
    return {
        "metadata": {"name": name, "namespace": "ray", "labels": {"app": name.split("-")[0]}},
        "spec": {"containers": [container], **(spec or {})},
    }


def a_case(nodes: list[Json], pods: list[Json], existing: list[Json] | None = None) -> Json:
    return {"id": "x", "nodes": nodes, "existingPods": existing or [], "namespaces": [], "pods": pods}


def near(kind: str, key: str) -> Json:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **GROUP}]}}}


def asking(cpu: str, **more: str) -> Json:
    return {"name": "i", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "milli"),
    [
        ({"initContainers": [asking("3")]}, 3000),  # max(1, 3)
        ({"initContainers": [asking("2", restartPolicy="Always")]}, 3000),  # 1 + 2
        ({"initContainers": [asking("2", restartPolicy="Always"), asking("2")]}, 4000),  # max(1 + 2, 2 + 2)
        ({"initContainers": [asking("2"), asking("2", restartPolicy="Always")]}, 3000),  # max(1 + 2, 2)
        ({"overhead": {"cpu": "250m"}}, 1250),
        ({"resources": {"requests": {"cpu": "1500m"}}, "overhead": {"cpu": "250m"}}, 1750),
        ({"resources": {"limits": {"cpu": "3"}}}, 1000),  # the containers ask for some, so the limit says nothing
        ({"initContainers": [asking("0.0001")]}, 1000),
    ],
)
def test_effective_requests(spec: Json, milli: int) -> None:
    assert judge.request(pod("w", spec, cpu="1"))["cpu"] == milli


@pytest.mark.parametrize(
    ("text", "value"), [("1500m", 1.5), ("2Gi", 2 * 1024**3), ("1e3", 1000), ("3k", 3000), (7, 7), ("1E", 10**18)]
)
def test_quantities(text: object, value: float) -> None:
    assert judge.quantity(text) == value


def test_a_node_takes_pods_to_the_last_byte() -> None:
    gang = [pod("w-0", memory="4Gi"), pod("w-1", memory="4294967296")]
    assert judge.run(a_case([node("a")], gang)).placed == {"w-0": "a", "w-1": "a"}
    gang[1] = pod("w-1", memory="4294967297")
    refusal = judge.replay(a_case([node("a")], gang), {"w-0": "a", "w-1": "a"})
    assert refusal == judge.Refusal("w-1", "a", "NodeResourcesFit: Insufficient memory")


def test_a_pod_left_out_of_a_placement_is_refused() -> None:
    case = a_case([node("a")], [pod("w-0"), pod("w-1")])
    assert judge.replay(case, {"w-0": "a"}) == judge.Refusal("w-1", None, "placed 0 times")
    assert judge.replay(case, {"w-0": "a", "w-1": "b"}) == judge.Refusal("w-1", "b", "no such node")


def test_the_first_of_a_series_founds_it_and_the_others_follow() -> None:
    nodes = [node("a", rack="1"), node("b", rack="2"), node("c", rack="2")]
    gang = [pod(f"w-{i}", near("podAffinity", "rack")) for i in range(2)]
    case = a_case(nodes, gang)
    assert judge.replay(case, {"w-0": "b", "w-1": "c"}) is None
    refusal = judge.replay(case, {"w-0": "a", "w-1": "c"})
    assert refusal is not None and refusal.pod == "w-1"


def test_anti_affinity_holds_whoever_comes_first() -> None:
    alone = pod("x-0", near("podAntiAffinity", "rack"))
    case = a_case([node("a", rack="1"), node("b", rack="1")], [alone, pod("w-0")])
    for order in (["x-0", "w-0"], ["w-0", "x-0"]):
        refusal = judge.replay(case, {"x-0": "a", "w-0": "b"}, order)
        assert refusal is not None and refusal.pod == order[1]


@pytest.mark.parametrize(
    ("max_skew", "min_domains", "most"),
    [
        (1, 1, 3),  # zone b holds one pod, so the minimum is 1: a takes 1 + 1
        (2, 1, 4),  # 1 + 2
        (1, 3, 2),  # two zones where three are wanted: the minimum counts as 0, so a takes 0 + 1
        (2, 3, 3),  # 0 + 2
    ],
)
def test_spread_counts_from_the_emptiest_domain(max_skew: int, min_domains: int, most: int) -> None:
    constraint = {"topologyKey": "zone", "maxSkew": max_skew, "minDomains": min_domains, **GROUP}
    spec = {"topologySpreadConstraints": [{**constraint, "whenUnsatisfiable": "DoNotSchedule"}]}
    nodes = [node("a", zone="a"), node("b", {"pods": "1"}, zone="b")]
    for count, fits in ((most, True), (most + 1, False)):
        case = a_case(nodes, [pod(f"w-{i}", spec) for i in range(count)])
        assert exactfit.solve(case).feasible is fits
        assert exactfit.search(case) is fits


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.2"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80}, {"hostPort": 81}, False),
    ],
)
def test_host_ports(one: Json, other: Json, clash: bool) -> None:
    pods = [pod("w-0"), pod("w-1")]
    for made, port in zip(pods, (one, other), strict=True):
        made["spec"]["containers"][0]["ports"] = [{"containerPort": 1, **port}]
    assert (judge.replay(a_case([node("a")], pods), {"w-0": "a", "w-1": "a"}) is not None) is clash
    assert exactfit.solve(a_case([node("a")], pods)).feasible is not clash


def test_least_allocated_spreads_and_most_allocated_packs() -> None:
    case = a_case([node("a"), node("b")], [pod(f"w-{i}", cpu="1", memory="2Gi") for i in range(2)])
    assert len(set(judge.run(case).placed.values())) == 2
    assert len(set(judge.run(case, scoring="MostAllocated").placed.values())) == 1


def test_a_small_pod_first_can_cost_the_large_one_its_place() -> None:
    # the head goes to the emptier node b (4 cores), where the worker then does not fit any more
    nodes = [node("a", {"cpu": "3"}), node("b")]
    case = a_case(nodes, [pod("h", cpu="1"), pod("w", cpu="4")])
    assert judge.run(case).unplaced == ("w",)
    assert judge.run(case, ("w", "h")).unplaced == ()
    assert exactfit.solve(case).feasible is True


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_the_solver_agrees_with_trying_everything(start: int) -> None:
    for item in generatedcases.generate(range(start, start + 40), lambda case: exactfit.solve(case).feasible):
        if len(item.case["pods"]) <= 6:
            everything = exactfit.search(item.case, 5000)
            assert everything is None or everything == item.feasible, item.case["id"]


def test_no_run_of_the_scheduler_fits_what_the_solver_calls_infeasible() -> None:
    for item in generatedcases.generate(range(200, 280), lambda case: exactfit.solve(case).feasible):
        if item.feasible is False:
            for order in judge.orders(item.case, shuffles=1).values():
                assert judge.run(item.case, order).unplaced, item.case["id"]


def test_seeds_cover_every_trait_on_both_sides_of_the_boundary() -> None:
    found = list(generatedcases.generate(range(140), lambda case: exactfit.solve(case).feasible))
    for trait in generatedcases.TRAITS:
        assert {item.feasible for item in found if trait in item.traits} >= {True, False}, trait
    again = list(generatedcases.generate(range(20), lambda case: exactfit.solve(case).feasible))
    assert again == found[: len(again)]

"""
Answers about gangs: against what kube-scheduler 1.34 did (tests/data), against laws, and through the command.

Each line of tests/data/scheduler_cases.jsonl.gz is a cluster and a gang with what the scheduler's own code made of them: whether
an exact solver could place the gang (`feasible`), how many runs of each sort placed all of it (`runs`: [placed all, runs]), what
each class of pods asks for and on which nodes it fits alone, what is free, and where one run in the given order put the pods.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.formats.fit import FIT_FORMATS, FitView
from gitplacer.formats.options import Options
from gitplacer.scheduler import Answer, judge, read_cluster, read_pod
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.dump import WANTED
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.scheduler.orders import named_orders, trials
from gitplacer.scheduler.packing import find, replay, search
from gitplacer.scheduler.simulation import Chooser, Profile, simulate
from gitplacer.scheduler.site import Site
from tests import heuristics
from tests.commands import run
from tests.schedulerobjects import (
    Json,
    board,
    expression,
    fit,
    node,
    node_affinity,
    pod,
    pod_rule,
    pods,
    spread,
)

DATA = Path(__file__).parent / "data" / "scheduler_cases.jsonl.gz"
CHUNKS = 6
chunked = pytest.mark.parametrize("chunk", range(CHUNKS))


@cache
def cases() -> tuple[Json, ...]:
    return tuple(json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines())


def part(chunk: int) -> list[Json]:
    return list(cases()[chunk::CHUNKS])


def board_of(case: Json) -> Board:
    cluster = read_cluster(case["nodes"], case["existingPods"], case["namespaces"])
    return Board(Site(cluster), [read_pod(p) for p in case["pods"]])


@cache
def answer_to(identity: str) -> Answer:
    case = next(c for c in cases() if c["id"] == identity)
    cluster = read_cluster(case["nodes"], case["existingPods"], case["namespaces"])
    return judge(cluster, [read_pod(p) for p in case["pods"]])


def always_placed(case: Json) -> bool:
    return all(placed == runs for placed, runs in case["recorded"]["runs"].values())


def accepted(found: Board, placement: dict[str, str]) -> bool:
    """Whether the filters accept the pods where they are put, one after the other."""
    state, numbers = found.bound(), {each.name: i for i, each in enumerate(found.nodes)}
    classes = {each.name: k for each, k in zip(found.gang, found.class_of, strict=True)}
    for name, where in placement.items():
        if not state.allows(classes[name])[numbers[where]]:
            return False
        state.bind(classes[name], numbers[where])
    return placement.keys() == classes.keys()


# -- what kube-scheduler did ------------------------------------------------------------------------------------------


@chunked
def test_requests_room_and_filters_are_those_of_the_scheduler(chunk: int) -> None:
    for case in part(chunk):
        found = board_of(case)
        start = found.bound()
        by_name = {each.name: k for each, k in zip(found.gang, found.class_of, strict=True)}
        for expected in case["recorded"]["classes"]:
            (k,) = {by_name[name] for name in expected["pods"]}
            asked = {name: int(amount) for name, amount in expected["request"].items() if int(amount)}
            assert dict(found.classes[k].requests) == asked, case["id"]
            alone = sorted(found.nodes[i].name for i in np.flatnonzero(start.allows(k)).tolist())
            assert alone == expected["alone"], case["id"]
        for each, load in zip(found.nodes, found.start.tolist(), strict=True):
            free = case["recorded"]["free"][each.name]
            assert found.loads.free(load) == tuple(free.get(name, 0) for name in found.columns), (case["id"], each.name)


@chunked
def test_scores_choose_the_nodes_that_the_scheduler_chose(chunk: int) -> None:
    """Every node that the recorded run chose has the highest score of all that were feasible then."""
    for case in part(chunk):
        found, given = board_of(case), dict(case["recorded"]["given"])
        numbers = {each.name: i for i, each in enumerate(found.nodes)}
        state = found.bound()
        chooser = Chooser(found, state, Profile(), found.class_of)
        for each, k in zip(found.gang, found.class_of, strict=True):
            feasible = np.flatnonzero(state.allows(k))
            assert (each.name in given) == bool(len(feasible)), (case["id"], each.name)
            if each.name in given:
                chosen = numbers[given[each.name]]
                assert chosen in chooser.best(k, feasible), (case["id"], each.name)
                state.bind(k, chosen)


@chunked
def test_yes_is_said_where_and_only_where_the_gang_can_be_placed(chunk: int) -> None:
    for case in part(chunk):
        assert (answer_to(case["id"]).fit != "No") is case["recorded"]["feasible"], case["id"]


@chunked
def test_every_placement_passes_the_filters_in_its_order(chunk: int) -> None:
    for case in part(chunk):
        answer = answer_to(case["id"])
        assert answer.fit == "No" or accepted(board_of(case), dict(answer.placement)), case["id"]


@chunked
def test_no_recorded_run_left_a_pod_of_a_fit_out(chunk: int) -> None:
    for case in part(chunk):
        assert answer_to(case["id"]).fit != "Fits" or always_placed(case), case["id"]


def test_most_of_what_every_run_placed_is_said_to_fit() -> None:
    """Three of 89 are tight: an order that was not recorded leaves a pod out, and the answer names it."""
    placed = [case["id"] for case in cases() if case["recorded"]["feasible"] and always_placed(case)]
    answers = Counter(str(answer_to(identity).fit) for identity in placed)
    assert (len(placed), answers) == (89, {"Fits": 86, "TightFit": 3})


def test_the_page_says_how_good_it_is() -> None:
    """The table of docs/fit.md, counted."""
    counted: dict[str, Counter[str]] = {"none": Counter(), "all": Counter(), "some": Counter()}
    for case in cases():
        row = "none" if not case["recorded"]["feasible"] else "all" if always_placed(case) else "some"
        counted[row][answer_to(case["id"]).fit.value] += 1
    said = {
        "none": "no placement exists",
        "all": "each of 28 recorded runs placed all pods",
        "some": "some recorded run left a pod out",
    }
    page = (Path(__file__).parent.parent / "docs" / "fit.md").read_text("utf-8")
    for row, words in said.items():
        numbers = " | ".join(str(counted[row][answer]) for answer in ("Fits", "TightFit", "No"))
        assert f"| {words} ({counted[row].total()}) | {numbers} |" in page


@chunked
def test_a_tight_fit_is_refuted_or_needs_a_node_that_is_not_ready(chunk: int) -> None:
    for case in part(chunk):
        answer = answer_to(case["id"])
        if answer.fit == "TightFit" and answer.why.code != "NodeNotReady":
            found = board_of(case)
            *_, (_, order, profile) = islice(trials(found), answer.why.tried)
            assert simulate(found, order, profile).left, case["id"]


@chunked
def test_where_luck_has_no_say_every_breaking_of_ties_leaves_the_same_pods_out(chunk: int) -> None:
    others = (Profile("spread", "last"), Profile("spread", "harm"), *(Profile("spread", "drawn", n) for n in (1, 2, 3)))
    compared = 0
    for case in part(chunk):
        found = board_of(case)
        for _, order in named_orders(found)[:3]:
            first = simulate(found, order, Profile())
            if not first.by_luck:
                compared += 1
                assert {simulate(found, order, other).left for other in others} == {first.left}, case["id"]
    assert compared


@chunked
def test_a_shortage_counts_every_node_once(chunk: int) -> None:
    for case in part(chunk):
        answer = answer_to(case["id"])
        if answer.fit == "No" and answer.why.shortage is not None and answer.why.shortage.tally:
            counted = sum(count for _, _, count in answer.why.shortage.tally)
            assert counted <= answer.why.shortage.nodes == len(case["nodes"]), case["id"]
            assert answer.why.message


# -- answers ----------------------------------------------------------------------------------------------------------


def nodes(*cpus: str) -> list[Json]:
    return [node(f"n{i}", cpu=cpu) for i, cpu in enumerate(cpus)]


@pytest.mark.parametrize(
    ("free", "gang", "answer"),
    [
        ("8", [], "Fits"),
        ("8 8", pods(16), "Fits"),  # identical pods: any order takes every place there is
        ("8 8", pods(17), "No"),
        ("8 8 8 8", [pod("head"), *pods(24)], "Fits"),  # seven places to spare
        ("5 4", [*pods(5, "s"), *pods(1, "l", cpu="4")], "TightFit"),  # small ones first take a little of both
        ("4 4", [*pods(2, "a", cpu="3"), *pods(1, "b", cpu="2")], "No"),  # eight are free and eight are asked for
        ("4 4 8", [*pods(2, "a", cpu="4"), *pods(1, "b", cpu="8")], "TightFit"),  # a small one first on the large node
    ],
)
def test_fits_is_more_than_a_packing(free: str, gang: list[Json], answer: str) -> None:
    assert fit(nodes(*free.split()), gang).fit == answer


@pytest.mark.parametrize("number", range(3))
def test_each_draw_breaks_ties_in_a_way_of_its_own(number: int) -> None:
    """Ten draws are ten, for the first pod that has a choice as for those after it."""
    found = board(nodes(*"88888"), pods(3))
    runs = [simulate(found, found.class_of, Profile("spread", "drawn", draw)).bound for draw in range(1, 11)]
    assert len({bound[number] for bound in runs}) >= 4


def test_a_tight_fit_says_how_and_what_goes_wrong() -> None:
    answer = fit(nodes("4", "4", "8"), [*pods(2, "a", cpu="4"), *pods(1, "b", cpu="8")])
    assert answer.placement["b-00"] == "n2"
    assert answer.why.code == "TightFit"
    assert "as created, with LeastAllocated scoring, b-00 finds no node" in answer.why.message


@pytest.mark.parametrize(
    ("cluster", "gang", "code", "words"),
    [
        (nodes("8", "2"), pods(11), "ExceedsCluster", "10 of 11"),
        ([], pods(1), "InsufficientCapacity", "no nodes"),
        (nodes("8"), [*pods(1, cpu="6"), *pods(1, "b", cpu="5")], "ExceedsCluster",
         "the pods ask for 11 cpu together; the one node that admits any has 8 free"),
        (nodes("4", "4"), [*pods(1, cpu="4"), *pods(2, "b", cpu="3")], "ExceedsCluster",
         "the pods ask for 10 cpu together; the 2 nodes that admit any have 8 free"),
        (nodes("8"), pods(1, cpu="9"), "ExceedsCluster", "; 1 of 1 node: not enough cpu"),
        (nodes("8"), [pod("p", nodeSelector={"gpu": "h100"})], "NodeSelectorMismatch", "gpu=h100"),
        ([node("a", taints=[{"key": "k", "effect": "NoSchedule"}])], pods(1), "UntoleratedTaint", "taint k:NoSchedule"),
        ([node("a", unschedulable=True)], pods(1), "NodeUnschedulable", "cordoned"),
        (nodes("8", "8"), pods(3, ports=[{"hostPort": 80}]), "HostPortTaken", "host port"),
        (nodes("8"), pods(2, labels={"a": "b"}, affinity=pod_rule("podAntiAffinity", {"a": "b"}, "kubernetes.io/hostname")), "PodAffinity", "1 of 2"),
        ([node(f"n{i}", labels={"zone": "z"}) for i in "ab"], pods(3, labels={"a": "b"}, topologySpreadConstraints=[spread({"a": "b"}, minDomains=2)]), "TopologySpread", "zone"),
        # of several rules that which refuses the node
        ([node("a", labels={"zone": "z", "rack": "r"})], pods(3, labels={"a": "b"}, topologySpreadConstraints=[spread({"a": "b"}, skew=9), spread({"a": "b"}, "rack", minDomains=2)]), "TopologySpread", "topology spread over rack"),
        ([node("a", labels={"zone": "z"})], pods(1, affinity=pod_rule("podAffinity", {"app": "cache"}), topologySpreadConstraints=[spread({"a": "b"}, skew=9)]), "PodAffinity", "1 of 1 node: pod affinity"),
        ([node("a", labels={"zone": "z"})], pods(2, labels={"a": "b"}, affinity=pod_rule("podAntiAffinity", {"a": "b"}), topologySpreadConstraints=[spread({"a": "b"}, skew=9)]), "PodAffinity", "1 of 1 node: pod affinity"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_short_and_on_how_many_nodes(
    cluster: list[Json], gang: list[Json], code: str, words: str
) -> None:
    answer = fit(cluster, gang)
    assert (answer.fit, answer.why.code) == ("No", code), answer.why.message
    assert words in answer.why.message


def test_what_others_hold_is_short_now_and_what_nobody_has_is_short_for_good() -> None:
    busy = [pod("q", cpu="6", on="n0")]
    assert fit(nodes("8"), pods(1, cpu="4"), busy).why.code == "InsufficientCapacity"
    assert fit(nodes("8"), pods(1, cpu="9"), busy).why.code == "ExceedsCluster"


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        ({"affinity": pod_rule("podAntiAffinity", {"a": "b"}, "kubernetes.io/hostname")}, {"labels": {"a": "b"}}),
        ({"labels": {"c": "d"}}, {"affinity": pod_rule("podAntiAffinity", {"c": "d"}, "kubernetes.io/hostname")}),
        ({"ports": [{"hostPort": 80}]}, {"ports": [{"hostPort": 80}]}),
    ],
)
def test_a_node_that_others_keep_pods_off_may_take_them_when_those_are_gone(there: Json, asked: Json) -> None:
    keeper = [pod("q", on="n0", **there)]
    assert fit(nodes("8", "4"), pods(1, cpu="6", **asked), keeper).why.code == "InsufficientCapacity"
    assert fit(nodes("8", "4"), pods(1, cpu="9", **asked), keeper).why.code == "ExceedsCluster"
    assert (
        fit(nodes("8", "4"), [*pods(1, cpu="3"), *pods(1, "b", cpu="6", **asked)], keeper).why.code
        == "InsufficientCapacity"
    )


@pytest.mark.parametrize(
    ("ready", "answer"), [("True", "Fits"), ("Unknown", "TightFit"), ("False", "TightFit"), (None, "Fits")]
)
def test_a_node_that_does_not_say_it_is_ready_makes_a_fit_tight(ready: str | None, answer: str) -> None:
    """kube-scheduler looks at taints alone, so it would use the node; a promise is not built on it."""
    found = fit([node("a", ready=ready)], pods(1))
    assert found.fit == answer
    assert found.why.code == ("NodeNotReady" if answer == "TightFit" else "Fits")


def test_a_node_that_is_not_ready_does_not_matter_where_others_suffice() -> None:
    assert fit([node("a", ready="Unknown"), node("b")], pods(4)).fit == "Fits"


def test_a_node_that_is_not_ready_is_there_for_rules_about_other_pods() -> None:
    """Whether or not it is used: its domain counts for spreading, and pods on it keep others off."""
    zones = [node("a", ready="Unknown", labels={"zone": "z"}), node("b", labels={"zone": "y"})]
    web = {"labels": {"a": "b"}}
    found = fit(zones, pods(2, **web, topologySpreadConstraints=[spread({"a": "b"})]))
    assert (found.fit, found.why.code, sorted(found.placement.values())) == ("TightFit", "NodeNotReady", ["a", "b"])
    keeper = [pod("q", on="a", affinity=pod_rule("podAntiAffinity", {"a": "b"}, "zone"))]
    beside = [zones[0], node("b", labels={"zone": "z"})]
    assert fit(beside, pods(1, **web), keeper).fit == "No"
    assert fit(zones, pods(1, **web), keeper).fit == "Fits"


def test_a_search_finds_what_greedy_rules_miss() -> None:
    """Three of the cases that kube-scheduler itself never places; each has a packing."""
    for case in cases():
        if case["recorded"]["feasible"] and not any(placed for placed, _ in case["recorded"]["runs"].values()):
            found = board_of(case)
            searched = search(found)
            assert searched.outcome != "found" or replay(found, searched.bound)
            assert find(found).outcome == "found", case["id"]


def test_a_search_is_bounded_in_steps() -> None:
    gang = [pod(f"p{i}", cpu=f"{1000 + 37 * i % 400}m") for i in range(24)]
    found = search(board(nodes(*["4"] * 8), gang), limit=50)
    assert (found.outcome, found.steps) in {("unknown", 50), ("found", 24), ("impossible", 0)}


# -- laws -------------------------------------------------------------------------------------------------------------

CPU = st.integers(1, 8)


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    zones = st.sampled_from("xyz")
    return [
        node(f"n{i}", cpu=str(draw(CPU)), memory=f"{draw(CPU)}Gi", pods=str(draw(st.integers(1, 6))), labels={"zone": draw(zones)})
        for i in range(draw(st.integers(1, 5)))
    ]  # fmt: skip


@st.composite
def gangs(draw: st.DrawFn, ruled: bool = False) -> list[Json]:
    """One to three groups of identical pods; `ruled`: with constraints on each other."""
    rules: list[Json] = [{}]
    if ruled:
        mine = {"gang": "g"}
        rules += [
            {"topologySpreadConstraints": [spread(mine)]},
            {"affinity": pod_rule("podAffinity", mine)},
            {"affinity": pod_rule("podAntiAffinity", {"group": "1"})},
            {"affinity": node_affinity({"matchExpressions": [expression("zone", "NotIn", "x")]})},
            {"ports": [{"hostPort": 80}]},
        ]
    found: list[Json] = []
    for group in range(draw(st.integers(1, 3))):
        more: dict[str, Any] = dict(draw(st.sampled_from(rules)))
        labels = {"gang": "g", "group": str(group)}
        size = {"cpu": str(draw(CPU)), "memory": f"{draw(CPU)}Gi"}
        found += pods(draw(st.integers(1, 4)), f"g{group}", labels=labels, **size, **more)
    return found


@given(clusters(), gangs(ruled=True))
def test_every_yes_can_be_replayed(cluster: list[Json], gang: list[Json]) -> None:
    answer = fit(cluster, gang)
    assert answer.fit == "No" or accepted(board(cluster, gang), dict(answer.placement))


@given(clusters(), gangs(), CPU)
def test_another_node_never_turns_a_packing_into_no(cluster: list[Json], gang: list[Json], cpu: int) -> None:
    if fit(cluster, gang).fit != "No":
        assert fit([*cluster, node("more", cpu=str(cpu))], gang).fit != "No"


@given(clusters(), gangs(ruled=True))
def test_one_pod_less_never_turns_a_packing_of_resources_into_no(cluster: list[Json], gang: list[Json]) -> None:
    if len(gang) > 1 and board(cluster, gang).orderless and fit(cluster, gang).fit != "No":
        assert fit(cluster, gang[:-1]).fit != "No"


@given(clusters(), gangs(ruled=True))
def test_names_are_only_names(cluster: list[Json], gang: list[Json]) -> None:
    """Other names of nodes and pods, in the same order: the same answer under the other names."""
    before = fit(cluster, gang)
    new = {c["metadata"]["name"]: f"other{9 - i}" for i, c in enumerate(cluster)}
    renamed = [
        {**c, "metadata": {"name": new[c["metadata"]["name"]], "labels": {**c["metadata"]["labels"], "kubernetes.io/hostname": new[c["metadata"]["name"]]}}}
        for c in cluster
    ]  # fmt: skip
    called = {p["metadata"]["name"]: f"pod{99 - i}" for i, p in enumerate(gang)}
    after = fit(renamed, [{**p, "metadata": {**p["metadata"], "name": called[p["metadata"]["name"]]}} for p in gang])
    assert after.fit == before.fit
    assert after.placement == {called[name]: new[where] for name, where in before.placement.items()}


@given(clusters(), gangs(ruled=True))
def test_the_same_question_has_the_same_answer(cluster: list[Json], gang: list[Json]) -> None:
    assert fit(cluster, gang) == fit(cluster, gang)


@given(clusters(), gangs(), st.permutations(range(12)), st.integers(0, 10**6))
def test_what_is_proved_never_to_be_crowded_fits_in_any_order(
    cluster: list[Json], gang: list[Json], order: list[int], draw: int
) -> None:
    """The proof is about every order and every choice; here are some."""
    found = board(cluster, gang)
    if found.never_crowded():
        some = [found.class_of[i] for i in order if i < len(gang)]
        for score in ("spread", "pack", "first", "fullest", "emptiest"):
            assert not simulate(found, some, Profile(score, "drawn", draw)).left


@settings(max_examples=30)
@given(clusters(), gangs(ruled=True))
def test_a_search_that_ends_agrees_with_what_greedy_rules_find(cluster: list[Json], gang: list[Json]) -> None:
    found = board(cluster, gang)
    any_run = any(not simulate(found, order, Profile(s)).left for _, order in named_orders(found) for s in ("spread", "pack", "fullest"))  # fmt: skip
    searched = search(found)
    assert not (any_run and searched.outcome == "impossible")
    assert searched.outcome != "found" or replay(found, searched.bound)


def test_the_page_says_how_often_greedy_rules_miss_a_placement() -> None:
    page = (Path(__file__).parent.parent / "docs" / "fit.md").read_text("utf-8")
    rows = heuristics.table(heuristics.counted(heuristics.recorded()))
    assert "\n".join(rows) in page


# -- the command --------------------------------------------------------------------------------------------------------


def dump(tmp_path: Path, *items: Json) -> Path:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return path


RAYJOB = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train, namespace: ml}
spec:
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: ray, resources: {requests: {cpu: "2", memory: 4Gi}}}]}}
    workerGroupSpecs:
    - groupName: w
      replicas: REPLICAS
      minReplicas: 0
      maxReplicas: 99
      template:
        metadata: {labels: {app: train}}
        spec:
          affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: train}}}]}}
          containers: [{name: worker, image: ray, resources: {requests: {cpu: "3", memory: 4Gi}}}]
"""


@pytest.mark.parametrize(
    ("replicas", "args", "code", "first", "shown"),
    [
        (2, (), 0, "Fits  all 4 pods find a node", "1 train worker/w"),
        (2, ("--exit-code",), 0, "Fits", "train head"),
        (3, ("--exit-code",), 3, "No (PodAffinity)", ""),
        (3, (), 0, "No (PodAffinity)", "2 of 2 nodes"),
    ],
)
def test_fit_tells_whether_a_rayjob_fits_a_dump(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, replicas: int, args: tuple[str, ...], code: int, first: str, shown: str
) -> None:  # fmt: skip
    """Two nodes for workers that keep apart: two fit, of three one is left over."""
    cluster = dump(tmp_path, *({**each, "kind": "Node"} for each in nodes("8", "8")))
    manifest = tmp_path / "job.yaml"
    manifest.write_text(RAYJOB.replace("REPLICAS", str(replicas)))
    ran = run(capfd, "fit", manifest, "--from", cluster, *args)
    assert ran.code == code, ran.err
    assert ran.out.startswith(first.split("  ")[0]), ran.out
    assert shown in ran.out


@pytest.mark.parametrize(
    ("said", "count", "rules"),
    [
        ("3 of 5 pods find room (w-00 and 4 like it)", 5, {"cpu": "6"}),
        ("the best attempt places 2 of 4 pods; 2 of 4 like w-00 left over", 4, {"cpu": "6", "affinity": "apart"}),
        ("the best attempt places 2 of 3 pods; 1 of 3 like w-00 left over", 3, {"affinity": "apart"}),
        ("0 of 5 pods find room (w-00 and 4 like it)", 5, {"cpu": "9", "affinity": "apart"}),
    ],
)
def test_no_more_pods_are_said_to_find_room_than_their_rules_let(said: str, count: int, rules: Json) -> None:
    """Three nodes in two zones; in each zone one of the pods may be."""
    apart = {"affinity": pod_rule("podAntiAffinity", {})} if "affinity" in rules else {}
    there = [node(name, labels={"zone": zone}) for name, zone in (("a", "y"), ("b", "z"), ("c", "z"))]
    found = fit(there, pods(count, **{**rules, **apart}))
    assert found.fit == "No" and found.why.message.startswith(said), found.why.message


@pytest.mark.parametrize(
    ("code", "gang"),
    [
        ("InsufficientCapacity", [*pods(2, cpu="4"), pod("h", cpu="8")]),
        ("ExceedsCluster", [*pods(3, cpu="5")]),
        ("ExceedsCluster", [*pods(2, cpu="5"), pod("h", cpu="4")]),  # each by itself fits an empty node
        ("InsufficientCapacity", [*pods(2, cpu="5"), pod("h", cpu="4", affinity=pod_rule("podAffinity", {"app": "x"}, HOSTNAME))]),
    ],
)  # fmt: skip
def test_waiting_is_said_to_help_only_where_it_may(code: str, gang: list[Json]) -> None:
    there = [node("a", cpu="8"), node("b", cpu="8")]
    found = fit(there, gang, [pod("x", cpu="1", labels={"app": "x"}, on="a"), pod("y", cpu="1", on="b")])
    assert (found.fit, found.why.code) == ("No", code), found.why.message


@pytest.mark.parametrize(("ready", "answer"), [("True", "Fits"), ("Unknown", "TightFit"), (None, "Fits")])
def test_no_run_relies_on_a_node_that_is_not_ready(ready: str | None, answer: str) -> None:
    """The large one is kept off the third node. With that in use the others go there; once it has its taint, one of them may take the room of the large one."""
    nodes = [node("a", cpu="8"), node("b", cpu="4"), node("c", cpu="16", labels={"pool": "x"}, ready=ready)]
    alone = pod_rule("podAntiAffinity", {"app": "small"}, HOSTNAME)
    small = pods(2, "s", cpu="4", labels={"app": "small"}, affinity=alone)
    large = pod("l", cpu="8", affinity=node_affinity({"matchExpressions": [expression("pool", "DoesNotExist")]}))
    found = fit([*nodes, node("d", cpu="16", labels={"pool": "x"})], [large, *small])
    assert found.fit == answer
    assert ("without nodes that are not ready" in found.why.message) == (answer == "TightFit")


def test_the_nodes_of_a_refusal_add_up_however_many_reasons_there_are() -> None:
    tainted = [node(f"n{i}", taints=[{"key": f"k{i}", "effect": "NoSchedule"}]) for i in range(6)]
    message = fit(tainted, pods(1)).why.message
    counts = [int(part.partition(" of 6 nodes: ")[0]) for part in message.split("; ") if " of 6 nodes: " in part]
    assert counts == [1, 1, 1, 1, 2] and message.endswith("2 of 6 nodes: other reasons")


def test_one_pod_is_one_pod_in_words() -> None:
    assert [fit(nodes("8"), pods(n)).why.message.partition(",")[0] for n in (1, 2)] == [
        "the one pod finds a node", "all 2 pods find a node",
    ]  # fmt: skip
    unready = fit([node("a", ready="False")], pods(1))
    assert unready.fit == "TightFit" and "1 pods" not in unready.why.message


ONE, RUNS = node("a", cpu="2"), pod("r", cpu="2", on="a")
NODES = {"kind": "NodeList", "apiVersion": "v1", "items": [ONE]}
PODS = {"kind": "PodList", "apiVersion": "v1", "items": [RUNS]}
EMPTY = "what runs there already: %s has no pods that run, so all nodes count as empty"


@pytest.mark.parametrize(
    ("values", "answer", "said"),
    [
        ([NODES], "Fits", EMPTY),
        ([{**ONE, "kind": "Node"}], "Fits", EMPTY),
        ([NODES, PODS], "No", ""),  # one behind the other
        ([[NODES, PODS]], "No", ""),
        ([{"kind": "List", "items": [{**ONE, "kind": "Node"}, {**RUNS, "kind": "Pod"}]}], "No", ""),
    ],
)
def test_fit_takes_lists_as_the_api_server_has_them(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, values: list[Any], answer: str, said: str
) -> None:
    path, manifest = tmp_path / "dump.json", tmp_path / "pod.yaml"
    path.write_text("\n".join(map(json.dumps, values)))
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod("p", cpu="1")}))
    value = json.loads(run(capfd, "fit", manifest, "--from", path, "--format", "json").out)
    assert (value["answer"], value.get("notLookedAt", [])) == (answer, [said % path] if said else [])


def test_fit_prints_json(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster = dump(tmp_path, {**node("a"), "kind": "Node"})
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod("p")}))
    ran = run(capfd, "fit", manifest, "--from", cluster, "--format", "json")
    value = json.loads(ran.out)
    assert (value["answer"], value["placement"], value["reason"]["code"]) == ("Fits", {"p": "a"}, "Fits")


def test_cases_are_answered_line_by_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = [
        {"id": 1, "nodes": nodes("8"), "existingPods": [], "namespaces": [], "pods": pods(8)},
        {"id": "two", "nodes": nodes("8"), "pods": pods(9)},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n\n" for line in lines))
    ran = run(capfd, "fit", "--cases", path, "--format", "json")
    first, second = map(json.loads, ran.out.splitlines())
    assert ran.code == 0
    assert first == {
        "id": 1,
        "answer": "Fits",
        "placement": {f"w-{i:02}": "n0" for i in range(8)},
        "reason": {"code": "Fits", "message": "all 8 pods find a node, whatever the order and the scoring"},
    }
    assert (second["id"], second["answer"], second["placement"]) == ("two", "No", {})
    assert run(capfd, "fit", "--cases", path, "--exit-code").code == 3


def test_a_line_that_is_no_case_is_told_and_the_others_are_judged(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": 1, "nodes": [], "pods": 3}\nnonsense\n{"id": 3, "pods": []}\n')
    ran = run(capfd, "fit", "--cases", path, "--format", "json")
    assert ran.code == 1
    assert [json.loads(line)["id"] for line in ran.out.splitlines()] == [3]
    assert f"{path}:1: not a case" in ran.err
    assert f"{path}:2: not JSON" in ran.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "has no nodes"),
        ('{"items": []}', "has no nodes"),
        ("[" * 9999, "is not JSON"),
        ("", "is not JSON"),
        ('{"items": []} x', "is not JSON"),
        ("apiVersion: v1", "is not JSON"),
        ('{"kind": "PodList", "items": [{}]}', "has no nodes"),
    ],
)
def test_a_dump_that_is_none_is_told(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, content: str, words: str
) -> None:
    path, manifest = tmp_path / "dump.json", tmp_path / "pod.yaml"
    path.write_text(content)
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod("p")}))
    ran = run(capfd, "fit", manifest, "--from", path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {path} {words}")
    assert ran.err.endswith("\n  hint: give what `kubectl get nodes,pods,namespaces -A -o json` prints\n")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--from"], f"ask for nothing that is not looked at: kubectl get {WANTED} -A -o json"),
        (["--cases"], "split it"),
    ],
)
def test_what_is_too_large_is_not_read_to_its_end(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool,
    options: list[str], hint: str,
) -> None:  # fmt: skip
    """Three megabytes that are packed well may be three gigabytes."""
    monkeypatch.setattr("gitplacer.cli.fit.MOST_BYTES", 1000)
    path, manifest = tmp_path / "large.json", tmp_path / "pod.yaml"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod("p")}))
    path.write_bytes(gzip.compress(b" " * 1001) if packed else b" " * 1001)
    ran = run(capfd, "fit", *([manifest] if options == ["--from"] else []), *options, path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"error: {path} holds more than 1,000 bytes\n  hint: {hint}\n"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (
            {"kind": "ConfigMap"},
            "nothing there makes pods\n  hint: `gitplacer size` shows what manifests become, and why",
        ),
        (
            {"kind": "RayJob"},
            "gitplacer does not know what pods a RayJob makes, and counts none\n"
            "  hint: a RayJob is of ray.io: its apiVersion begins with ray.io/\nerror: nothing there makes pods",
        ),
        (
            {"kind": "Job", "spec": {"parallelism": 5001, "completions": 5001, "template": {"spec": pod("p")["spec"]}}},
            "the manifests become 5001 pods; at most 5000 are judged together\n  hint: give some of them at a time",
        ),
    ],
)
def test_manifests_that_are_not_judged_are_told_with_what_to_do(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, manifest: dict[str, Any], said: str
) -> None:
    dump, path = tmp_path / "dump.json", tmp_path / "manifest.yaml"
    dump.write_text(json.dumps({"items": [{"kind": "Node", "metadata": {"name": "n"}}]}))
    version = "batch/v1" if manifest["kind"] == "Job" else "v1"
    path.write_text(json.dumps({"apiVersion": version, "metadata": {"name": "x"}, **manifest}))
    ran = run(capfd, "fit", path, "--from", dump)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "give the manifests"),
        (("pod.yaml",), "--from DUMP"),
        (("pod.yaml", "--cases", "x"), "--cases stands alone"),
        (("-", "--from", "-"), "only one of"),
    ],
)
def test_what_is_missing_on_the_command_line_is_told(
    capfd: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    ran = run(capfd, "fit", *args)
    assert ran.code == 1
    assert words in ran.err


def test_a_kind_that_nobody_knows_is_not_looked_at_and_that_is_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, manifest = dump(tmp_path, {**node("a"), "kind": "Node"}), tmp_path / "pods.json"
    fleet = {"apiVersion": "a.dev/v1", "kind": "RayClusterFleet", "metadata": {"name": "f"}}
    manifest.write_text(
        "\n---\n".join(json.dumps(each) for each in ({"apiVersion": "v1", "kind": "Pod", **pod("p")}, fleet))
    )
    ran = run(capfd, "fit", manifest, "--from", cluster)
    assert (ran.code, ran.err) == (0, "")
    said = "gitplacer does not know what pods a RayClusterFleet of a.dev makes, and counts none"
    assert f"not looked at: {manifest}:3:36: {said}" in ran.out


def test_a_gang_with_a_part_that_cannot_be_sized_is_not_judged(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = dump(tmp_path, {**node("a"), "kind": "Node"})
    manifest = tmp_path / "pods.yaml"
    manifest.write_text("\n---\n".join(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod(n, cpu=c)}) for n, c in (("p", "1"), ("q", "much"))))  # fmt: skip
    ran = run(capfd, "fit", manifest, "--from", cluster)
    assert (ran.code, ran.out) == (1, "")
    assert "much" in ran.err


def test_the_text_of_a_refusal_has_every_reason_with_its_nodes() -> None:
    cluster = [*nodes("1", "1"), node("a", taints=[{"key": "gpu", "effect": "NoSchedule"}])]
    view = FitView(answer=fit(cluster, pods(1, cpu="4")), roles={})
    assert FIT_FORMATS["text"](view, Options()) == (
        "No (ExceedsCluster)  0 of 1 pods find room (w-00); short 4 cpu\n"
        "  2 of 3 nodes  not enough cpu\n"
        "  1 of 3 nodes  taint gpu:NoSchedule\n"
    )

"""What is left: devices that nobody can reach, the largest gang that fits, and the cheapest machines, held against a solver."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from gitplacer.accounts import Accounts
from gitplacer.explain import NoSuchGroup, finding_text
from gitplacer.formats.room import room_json, room_text
from gitplacer.formats.roomschema import room_schema
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.model.room import ClusterRoom, Room, Shopping
from gitplacer.model.verdicts import EVERY, OF_UNSPREAD, Verdicts
from gitplacer.placement.ledger import Ledger
from gitplacer.problems import Rejected
from gitplacer.room import (
    NotAGang,
    as_asked,
    in_use,
    largest,
    like_group,
    read_catalogue,
    shop,
    stranded,
    written,
)
from tests.commands import NOW, make_repo, run
from tests.stories import ANYWHERE, START, Story, cluster, deployment, outcome, policy, rayjob, rayservice, snapshot
from tests.test_multikueue import SETTINGS, job
from tests.test_multikueue import fleet as multikueue
from tests.test_multikueue import left as left_to_kueue
from tests.test_relocation import seen
from tests.test_remedies import planned
from tests.test_tenants import tenant

Capture = pytest.CaptureFixture[str]
GPU = "nvidia.com/gpu"
KNOWN = ("cpu", "memory", GPU, "pods")


def ledger_of(done: Hydration, name: str = "a") -> Ledger:
    return Accounts(done.view).after[name]


def left(
    done: Hydration, *shapes: str, tolerate: tuple[str, ...] = ()
) -> tuple[int, int, list[tuple[str, int, tuple[str, ...]]]]:
    """Free and stranded GPUs of cluster a, and why, for pods of these shapes."""
    tried = [written(text, KNOWN, tolerate) for text in shapes]
    (found,) = stranded(ledger_of(done), [one.pods.shape for one in tried])
    return found.free, found.stranded, [(c.why, c.devices, c.nodes) for c in found.causes]


# stranded


def test_a_device_beside_no_free_core_is_stranded() -> None:
    nodes = snapshot(
        "a", "n1 8 64Gi 4", "n2 1 64Gi 2", "n3 16 1Gi 1", "n4 16 64Gi 1 | , taints: [{key: lab}]", "n5 16 64Gi"
    )
    done = Story.of(cluster("a"), ANYWHERE, capacity=nodes).plan()
    assert left(done, "nvidia.com/gpu=1,cpu=4,memory=4Gi") == (
        8, 6, [("not enough cpu", 4, ("n1", "n2")), ("lab:NoSchedule", 1, ("n4",)), ("not enough memory", 1, ("n3",))],
    )  # fmt: skip
    assert left(done, "nvidia.com/gpu=1,cpu=4,memory=4Gi", tolerate=("lab",))[1] == 5


def test_a_node_may_have_thousands_of_a_device() -> None:
    [(name, text)] = snapshot("a", "n1 4000 64Gi 3000").items()
    done = Story.of(cluster("a"), ANYWHERE, capacity={name: text.replace("{cpu:", '{pods: "4000", cpu:')}).plan()
    assert left(done, "nvidia.com/gpu=1,cpu=1")[:2] == (3000, 0)


def test_small_pods_reach_what_large_ones_leave() -> None:
    done = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", "n1 16 64Gi 3")).plan()
    assert left(done, "nvidia.com/gpu=2,cpu=4") == (3, 1, [("pods ask for more of it at once", 1, ("n1",))])
    assert left(done, "nvidia.com/gpu=2,cpu=4", "nvidia.com/gpu=1,cpu=1") == (3, 0, [])
    assert left(done, "cpu=1") == (3, 3, [("no pod asks for it", 3, ("n1",))])


NODE = st.tuples(st.integers(0, 8), st.integers(0, 4))
OTHER = snapshot("z", "z1 1 1Gi 1")  # so that the fleet knows these resources, whatever cluster a has
SHAPE = st.tuples(st.integers(1, 4), st.integers(1, 3))


@settings(max_examples=40, deadline=None)
@given(nodes=st.lists(NODE, min_size=1, max_size=3), shapes=st.lists(SHAPE, min_size=1, max_size=3, unique=True))
def test_what_is_stranded_is_what_no_set_of_pods_takes(
    nodes: list[tuple[int, int]], shapes: list[tuple[int, int]]
) -> None:
    shown = [f"n{i} {cpu} 64Gi {gpus}" for i, (cpu, gpus) in enumerate(nodes)]
    done = Story.of(cluster("a"), cluster("z"), ANYWHERE, capacity={**snapshot("a", *shown), **OTHER}).plan()
    tried = [written(f"{GPU}={gpus},cpu={cpu}", KNOWN).pods.shape for cpu, gpus in shapes]
    expected = 0
    for cpu, gpus in nodes:
        numbers = itertools.product(range(5), repeat=len(shapes))
        taken = (
            sum(n * g for n, (_, g) in zip(count, shapes, strict=True))
            for count in numbers
            if sum(n * c for n, (c, _) in zip(count, shapes, strict=True)) <= cpu
        )
        expected += gpus - max(t for t in taken if t <= gpus)
    found = stranded(ledger_of(done), tried)
    assert sum(one.stranded for one in found) == expected
    assert sum(cause.devices for one in found for cause in one.causes) == expected


# the largest gang


@settings(max_examples=30, deadline=None)
@given(nodes=st.lists(NODE, min_size=1, max_size=4), shape=SHAPE)
def test_the_largest_gang_is_what_all_nodes_take_together(nodes: list[tuple[int, int]], shape: tuple[int, int]) -> None:
    shown = [f"n{i} {cpu} 64Gi {gpus}" for i, (cpu, gpus) in enumerate(nodes)]
    done = Story.of(cluster("a"), cluster("z"), ANYWHERE, capacity={**snapshot("a", *shown), **OTHER}).plan()
    tried = written(f"{GPU}={shape[1]},cpu={shape[0]}", KNOWN)
    found = largest(ledger_of(done), tried)
    assert found.now == sum(min(cpu // shape[0], gpus // shape[1]) for cpu, gpus in nodes)
    assert found.added is None and not found.bounded


def test_a_gang_like_a_group_brings_its_other_pods() -> None:
    """Three cores for the head and the submitter leave five: two workers of two cores."""
    done = Story.of(
        cluster("a"), ANYWHERE, rayjob("jobs", "train", workers=9), capacity=snapshot("a", "n1 8 64Gi 4")
    ).plan()
    tried = like_group(done.view, "jobs/train")
    asked = as_asked(tried)
    assert (asked.role, asked.others, asked.requests[GPU]) == ("worker/gpu", 2, 1)
    assert largest(ledger_of(done), tried).now == 2


def test_a_gang_counts_only_where_it_fits_in_every_order() -> None:
    """The head may be put beside the devices, and then the last worker finds no room: that is no promise."""
    done = Story.of(
        cluster("a"), ANYWHERE, rayservice("ml", "app", workers=9), capacity=snapshot("a", "n1 4 64Gi 2", "n2 3 64Gi")
    ).plan()
    tried = like_group(done.view, "ml/app")
    assert largest(ledger_of(done), tried).now == 1


AUTO = """
    type: ClusterAutoscaler
    nodeTypes:
    - {name: gpu, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "2"}, max: 3, pricePerHour: 2}
    - {name: small, allocatable: {cpu: "4", memory: 16Gi}, max: 9, pricePerHour: 0.25}"""


def test_machines_that_can_be_added_count_apart() -> None:
    done = Story.of(cluster("a", autoscaler=AUTO), ANYWHERE, capacity=snapshot("a", "n1 8 64Gi 1")).plan()
    found = largest(ledger_of(done), written("nvidia.com/gpu=1,cpu=2", KNOWN))
    assert (found.now, found.added, found.bounded) == (1, 7, False)


def test_pods_that_are_written_down_are_scored_by_what_they_ask() -> None:
    """Six of half a core would leave no place for three cores that are still to come, if a scheduler spreads them, so a plan places fewer."""
    nodes = snapshot("a", "n1 2 4Gi", "n2 4 4Gi")
    story = Story.of(cluster("a"), ANYWHERE, deployment("web", "large", "requests: {cpu: 3}"), capacity=nodes)
    story.run()
    found = largest(ledger_of(story.plan()), written("cpu=500m,memory=1Gi", KNOWN)).now
    placed = []
    for replicas in range(1, 8):
        more = deployment("web", "small", "requests: {cpu: 500m, memory: 1Gi}", replicas=replicas)
        done = replace(story, source=story.source | more).plan()
        placed += [replicas] if outcome(done)["web/small"] == "Place a Fits" else []
    assert placed == [*range(1, found + 1)]


def test_what_has_no_bound_is_not_counted_for_ever() -> None:
    done = Story.of(
        cluster("a", autoscaler=AUTO.replace("max: 3", "max: 90000")), ANYWHERE, capacity=snapshot("a", "n1 8 64Gi 1")
    ).plan()
    assert largest(ledger_of(done), written("nvidia.com/gpu=1,cpu=2", KNOWN)).bounded


def test_pods_in_use_are_tried_where_nobody_asks() -> None:
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        rayjob("jobs", "train"),
        rayservice("web", "shop", gpus=0),
        capacity=snapshot("a", "n1 8 64Gi 1"),
    )
    assert [(one.like, one.pods.count) for one in in_use(story.plan().view)] == [("worker/gpu of jobs/train", 1)]
    story.source.pop("workloads/jobs/train.yaml")
    assert [one.like for one in in_use(story.plan().view)] == ["head of web/shop", "worker/gpu of web/shop"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "it says nothing", "write it like"),
        ("8 x", '"8 x" is no resource and amount', "write it like"),
        ("8 x gpu", '"gpu" is no resource and amount', "write it like"),
        ("nvidia.com/gpus=1", 'nothing in this fleet has "nvidia.com/gpus"', 'did you mean "nvidia.com/gpu"?'),
        ("cpu=1,cpu=2", '"cpu=2" is no resource and amount', "write it like"),
        ("cpu=much", "much", "write it like"),
        ("0 x cpu=1", "a gang has one pod at least", "write it like"),
    ],
)
def test_a_gang_that_cannot_be_read_says_how_to_write_it(text: str, message: str, hint: str) -> None:
    with pytest.raises(NotAGang) as error:
        written(text, KNOWN)
    assert message in str(error.value) and hint in error.value.hint


def test_a_gang_is_read_as_it_is_written() -> None:
    tried = written(" 8 × nvidia.com/gpu=1, cpu=500m ,memory=1Gi", KNOWN, ("lab",))
    assert tried.pods.count == 8
    assert dict(tried.pods.shape.requests) == {GPU: 1, "cpu": 500, "memory": 2**30}
    assert [t.key for t in tried.pods.shape.tolerations] == ["lab"]


def test_a_group_that_is_not_there_is_named_with_the_nearest() -> None:
    done = Story.of(cluster("a"), ANYWHERE, rayjob("jobs", "train"), capacity=snapshot("a", "n1 8 64Gi 1")).plan()
    with pytest.raises(NoSuchGroup) as error:
        like_group(done.view, "jobs/trian")
    assert "jobs/train" in error.value.hint


# shopping


def shopped(story: Story, catalogue: str | None = None) -> Shopping:
    inputs, done = planned(story)
    offered = None if catalogue is None else read_catalogue("offers.yaml", catalogue.encode())
    return shop(inputs, done, catalogue=offered)


def told(found: Shopping) -> list[str]:
    return [f"{b.count} {b.type} for {b.cluster}" for b in found.bought]


SPENT = AUTO.replace("max: 3", "max: 0").replace("max: 9", "max: 0")


def test_what_waits_is_placed_by_the_cheapest_machines() -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), ANYWHERE, rayservice("ml", "app", workers=3), capacity=snapshot("a", "n1 1 4Gi")
    )
    found = shopped(story)
    assert told(found) == ["2 gpu for a"]
    assert found.placed == ("ml/app",) and found.complete and found.price == 4.0
    story.source["clusters/a.yaml"] = story.source["clusters/a.yaml"].replace('gpu: "2"}, max: 0', 'gpu: "2"}, max: 2')
    assert next(iter(story.plan().view.plan.decisions)).after == ("a",)


def test_groups_share_machines_and_go_where_that_is_cheapest() -> None:
    dear = SPENT.replace("pricePerHour: 2}", "pricePerHour: 9}")
    story = Story.of(
        cluster("a", autoscaler=dear), cluster("b", autoscaler=SPENT), ANYWHERE,
        policy("pinned", "select: {namespaces: [pinned]}\nprecedence: 5\nclusters: {names: [a]}"),
        rayservice("ml", "one"), rayservice("ml", "two"), rayservice("pinned", "app", gpus=0),
        capacity={**snapshot("a", "n1 1 4Gi"), **snapshot("b", "n1 1 4Gi")},
    )  # fmt: skip
    found = shopped(story)
    assert told(found) == ["1 small for a", "1 gpu for b"]
    assert found.places == (("ml/one", "b"), ("ml/two", "b"), ("pinned/app", "a"))
    assert found.placed == ("ml/one", "ml/two", "pinned/app") and found.complete


def test_a_catalogue_serves_static_clusters_too() -> None:
    catalogue = (
        'nodeTypes:\n- {name: big, allocatable: {cpu: "32", memory: 128Gi, nvidia.com/gpu: "8"}, pricePerHour: 10}\n'
    )
    catalogue += '- {name: mid, allocatable: {cpu: "16", memory: 64Gi, nvidia.com/gpu: "4"}, pricePerHour: 6}\n'
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app", workers=6), capacity=snapshot("a", "n1 1 4Gi"))
    found = shopped(story, catalogue)
    assert told(found) == ["1 big for a"]
    assert found.placed == ("ml/app",)
    assert shopped(story).impossible == ("ml/app",), "nobody adds machines to a static cluster by himself"


def test_where_luck_would_be_needed_a_machine_more_is_bought() -> None:
    catalogue = (
        'nodeTypes:\n- {name: four, allocatable: {cpu: "4", memory: 64Gi, nvidia.com/gpu: "2"}, pricePerHour: 1}\n'
    )
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app", workers=2), capacity=snapshot("a", "n1 2 64Gi"))
    found = shopped(story, catalogue)
    assert told(found) == ["2 four for a"] and found.placed == ("ml/app",)
    assert not found.complete


def test_a_group_that_no_machine_helps_is_named() -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), ANYWHERE, rayservice("ml", "app", cpu="64"), capacity=snapshot("a", "n1 1 4Gi")
    )
    found = shopped(story)
    assert found.impossible == ("ml/app",) and not found.bought and not found.places


@pytest.mark.parametrize(
    ("limit", "policys", "code", "said"),
    [
        ("budgetPerHour: 3", "", "BudgetExceeded",
         "needs machines for 4.00 an hour more; 0.00 of tenant ml's budget of 3.00 an hour are in use"),
        ("budgetPerHour: 99", "budgetPerHour: 3", "BudgetExceeded",
         "needs machines for 4.00 an hour more; 0.00 of its policy's budget of 3.00 an hour are in use"),
        ('quota: {nvidia.com/gpu: "2"}', "", "TenantQuota",
         "asks for 3 nvidia.com/gpu, and 0 of 2 of tenant ml are taken"),
    ],
)  # fmt: skip
def test_nothing_is_bought_that_a_budget_or_a_quota_forbids(limit: str, policys: str, code: str, said: str) -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), policy("all", f"select: {{}}\n{policys}".strip()),
        tenant("ml", f'paths: ["workloads/ml/**"]\nnamespaces: [ml]\n{limit}'),
        tenant("web", 'paths: ["workloads/web/**"]\nnamespaces: [web]'),
        rayservice("ml", "app", workers=3), capacity=snapshot("a", "n1 1 4Gi"),
    )  # fmt: skip
    found = shopped(story)
    assert not found.bought and not found.places
    ((group, finding),) = found.forbidden
    assert (group, finding.code, finding_text(finding)) == ("ml/app", code, said)
    room, view = Room(asked=(), clusters=(), shopping=found), story.plan().view
    assert f"  nothing is bought for ml/app: {said}" in room_text(room, view).splitlines()
    value = json.loads(room_json(room, view))
    jsonschema.Draft202012Validator(room_schema()).validate(value)
    assert value["shopping"]["forbidden"] == [{"group": "ml/app", "reason": {"code": code, "message": said}}]
    story.source |= policy("web", "select: {namespaces: [web]}\nprecedence: 5") | rayservice("web", "app")
    found = shopped(story)
    assert told(found) == ["1 gpu for a"] and found.placed == ("web/app",) and found.complete
    assert [group for group, _ in found.forbidden] == ["ml/app"]


QUEUED = "{kueue.x-k8s.io/queue-name: train}"


def queue(gpus: int) -> str:
    """What a snapshot says of a cluster's one queue, by which so many GPUs may still come in."""
    left = f'{{cpu: "60", memory: 200Gi, nvidia.com/gpu: "{gpus}"}}'
    return (
        f"queues: [{{name: research, covers: [cpu, memory, {GPU}], left: {left}, localQueues: [{{name: ml/train}}]}}]\n"
    )


@pytest.mark.parametrize(
    ("gpus", "node", "dearer", "bought", "forbidden"),
    [
        (3, "n1 1 4Gi", {}, ["2 gpu for a"], ""),
        (1, "n1 1 4Gi", {}, [], f"on a it asks for 3 {GPU}, and ClusterQueue research has 1 left"),
        (1, "n1 64 256Gi 4", {}, [], f"on a it asks for 3 {GPU}, and ClusterQueue research has 1 left"),
        (1, "n1 1 4Gi", cluster("b", autoscaler=SPENT.replace("Hour: 2}", "Hour: 9}")), ["2 gpu for b"], ""),
        (3, "n1 1 4Gi", cluster("b", autoscaler=SPENT.replace("Hour: 2}", "Hour: 9}")), ["2 gpu for a"], ""),
    ],
    ids=["enough", "not for it", "room is there", "elsewhere", "cheaper"],
)  # fmt: skip
def test_nothing_is_bought_where_kueue_would_not_let_it_in(
    gpus: int, node: str, dearer: dict[str, str], bought: list[str], forbidden: str
) -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), dearer, ANYWHERE, rayservice("ml", "app", workers=3, labels=QUEUED),
        capacity=snapshot("a", node, more=queue(gpus)) | (snapshot("b", "n1 1 4Gi") if dearer else {}),
    )  # fmt: skip
    found = shopped(story)
    assert told(found) == bought and found.placed == (("ml/app",) if bought else ()) and found.complete
    assert [str(finding.code) for _, finding in found.forbidden] == (["QueueQuota"] if forbidden else [])
    room, view = Room(asked=(), clusters=(), shopping=found), story.plan().view
    said = [line for line in room_text(room, view).splitlines() if "nothing is bought" in line]
    assert said == ([f"  nothing is bought for ml/app: {forbidden}"] if forbidden else [])
    value = json.loads(room_json(room, view))
    jsonschema.Draft202012Validator(room_schema()).validate(value)
    assert [one["reason"]["message"] for one in value["shopping"]["forbidden"]] == ([forbidden] if forbidden else [])


def test_nothing_is_bought_where_a_quota_of_the_namespace_would_not_let_it_in() -> None:
    quota = f'resourceQuotas: [{{namespace: ml, name: rq, hard: {{requests.{GPU}: "1"}}}}]\n'
    story = Story.of(
        cluster("a", autoscaler=SPENT), ANYWHERE, rayservice("ml", "app", workers=3),
        capacity=snapshot("a", "n1 1 4Gi", more=quota),
    )  # fmt: skip
    found = shopped(story)
    assert told(found) == []
    words = f"ResourceQuota rq of namespace ml: the pods take 3 of requests.{GPU}, and 1 is left"
    said = room_text(Room(asked=(), clusters=(), shopping=found), story.plan().view).splitlines()
    assert f"  nothing is bought for ml/app: on a, {words}" in said


def test_quota_that_does_for_one_is_not_sold_twice_and_is_for_whom_it_would_be_first() -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), ANYWHERE, policy("high", "select: {names: [two]}\nprecedence: 9\npriority: 9"),
        rayservice("ml", "one", workers=3, labels=QUEUED), rayservice("ml", "two", workers=3, labels=QUEUED),
        capacity=snapshot("a", "n1 1 4Gi", more=queue(4)),
    )  # fmt: skip
    found = shopped(story)
    assert (told(found), found.placed) == (["2 gpu for a"], ("ml/two",))
    said = f"on a it asks for 3 {GPU}, and ClusterQueue research has 4 left, 3 of it promised to others"
    room, view = Room(asked=(), clusters=(), shopping=found), story.plan().view
    assert f"  nothing is bought for ml/one: {said}" in room_text(room, view).splitlines()


def test_a_group_that_only_others_leave_without_help_is_named_and_the_others_are_shopped_for() -> None:
    """Either would find room with luck, and what is on offer has no GPU for the second."""
    catalogue = 'nodeTypes:\n- {name: plain, allocatable: {cpu: "8", memory: 64Gi}, pricePerHour: 1}\n'
    story = Story.of(
        cluster("a"), ANYWHERE, rayservice("ml", "one"), rayservice("ml", "two"),
        rayservice("ml", "web", workers=0, gpus=0, cpu="7"), capacity=snapshot("a", "n1 3 64Gi 1", "n2 3 64Gi"),
    )  # fmt: skip
    found = shopped(story, catalogue)
    assert found.impossible == ("ml/two",)
    assert [group for group, _ in found.places] == ["ml/one", "ml/web"] and "ml/web" in found.placed


def test_nothing_is_bought_for_a_cluster_that_is_silent() -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), cluster("b"), ANYWHERE, rayservice("ml", "app"),
        capacity={**snapshot("a", "n1 1 4Gi", at=START - timedelta(hours=2)), **snapshot("b", "n1 1 4Gi")},
    )  # fmt: skip
    assert told(shopped(story)) == ["1 gpu for a"]
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace("spec: {}", "spec: {lostAfter: 1h}")
    found = shopped(story)
    assert found.impossible == ("ml/app",) and not found.bought


@pytest.mark.parametrize("asked", [EVERY, OF_UNSPREAD], ids=["of every cluster", "as the command asks"])
def test_copies_that_are_to_be_spread_get_machines_where_they_lack_a_domain(asked: Verdicts) -> None:
    """In a there is room for the copy, and none is placed while no other region has any; the machine for it there would be cheaper."""
    catalogue = (
        'nodeTypes:\n- {name: big, allocatable: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "4"}, pricePerHour: 10}\n'
    )
    spread = "placement: {copies: 2, topologySpread: [{topologyKey: topology.kubernetes.io/region, minDomains: 2}]}"
    story = Story.of(
        cluster("a", region="us"), cluster("b", region="eu"), policy("spread", f"select: {{}}\n{spread}"),
        rayservice("ml", "app"), capacity={**snapshot("a", "n1 16 64Gi 4"), **snapshot("b", "n1 1 4Gi")},
    )  # fmt: skip
    inputs = story.inputs()
    found = shop(inputs, hydrate(inputs, with_candidates=asked), catalogue=read_catalogue("x.yaml", catalogue.encode()))
    assert (told(found), found.placed) == (["1 big for b"], ("ml/app",))


def test_no_machine_helps_where_the_api_server_refuses_the_pods() -> None:
    cheap = SPENT.replace("pricePerHour: 2}", "pricePerHour: 1}")
    refuses = cluster("a", autoscaler=cheap, profile="{limitRanges: [{namespace: ml, max: {cpu: 1}}]}")
    story = Story.of(
        refuses, cluster("b", autoscaler=SPENT), ANYWHERE, rayservice("ml", "app"),
        capacity={**snapshot("a", "n1 1 4Gi"), **snapshot("b", "n1 1 4Gi")},
    )  # fmt: skip
    found = shopped(story)
    assert (told(found), found.placed) == (["1 gpu for b"], ("ml/app",))


def test_what_is_left_to_kueue_gets_machines_where_they_would_let_kueue_start_it() -> None:
    offers = (
        'nodeTypes: [{name: big, allocatable: {cpu: "512", memory: 9000Gi, nvidia.com/gpu: "64"}, pricePerHour: 9}]'
    )
    story = multikueue(job(workers=64), SETTINGS, rule=left_to_kueue(manager="c"))
    seen(story, "c", node="n1 512 9000Gi 64")  # which is no room for anybody: it manages
    found = shopped(story, offers)
    assert (told(found), found.placed) == (["1 big for a"], ("ml/train",))


def test_nothing_is_bought_where_nothing_waits() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app"), capacity=snapshot("a", "n1 16 64Gi 4"))
    assert shopped(story) == Shopping(waiting=())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodeTypes:\n- {name: a, alocatable: {}}\n", 'unknown field "alocatable"'),
        ("nodeTypes:\n- {name: a}\n", '"allocatable" is missing'),
        ("types: []\n", '"nodeTypes" is missing'),
        ("nodeTypes: [\n", "offers.yaml"),
    ],
)
def test_a_catalogue_that_cannot_be_read_says_where(text: str, message: str) -> None:
    with pytest.raises(Rejected) as error:
        read_catalogue("offers.yaml", text.encode())
    said = [f"{p.location}: {p.message}" for p in error.value.problems]
    assert any(message in one for one in said) and all(one.startswith("offers.yaml:") for one in said)


# shopping, judged


@dataclass(frozen=True)
class Offer:
    name: str
    cpu: int
    gpus: int
    cents: int


@dataclass(frozen=True)
class Market:
    """Clusters with the cores and GPUs of their one node and what they can buy; groups as (cores of a pod, workers with a GPU)."""

    clusters: tuple[tuple[tuple[int, int], tuple[Offer, ...]], ...]
    groups: tuple[tuple[int, int], ...]

    @staticmethod
    def drawn(seed: int) -> Market:
        chance = random.Random(seed)
        clusters = tuple(
            (
                (chance.choice((1, 2, 4)), chance.choice((0, 1))),
                tuple(
                    Offer(f"t{i}", cpu, gpus, cpu * chance.randint(4, 6) + gpus * chance.randint(40, 60))
                    for i, (cpu, gpus) in enumerate(chance.sample([(4, 0), (8, 0), (4, 1), (8, 2), (16, 4)], 3))
                ),
            )
            for _ in range(chance.choice((1, 2)))
        )
        return Market(
            clusters,
            tuple((chance.choice((1, 2, 3)), chance.choice((1, 2, 3))) for _ in range(chance.choice((1, 2, 3)))),
        )

    def story(self) -> Story:
        files, capacity = {}, {}
        for index, ((cpu, gpus), offers) in enumerate(self.clusters):
            types = ", ".join(
                f'{{name: {o.name}, max: 0, pricePerHour: {o.cents / 100}, allocatable: {{cpu: "{o.cpu}", memory: 512Gi, nvidia.com/gpu: "{o.gpus}"}}}}'
                for o in offers
            )
            files |= cluster(f"c{index}", autoscaler=f"{{type: ClusterAutoscaler, nodeTypes: [{types}]}}")
            capacity |= snapshot(f"c{index}", f"n1 {cpu} 512Gi {gpus}")
        for index, (cpu, workers) in enumerate(self.groups):
            files |= rayservice("ml", f"g{index}", cpu=str(cpu), workers=workers)
        return Story.of(ANYWHERE, files, capacity=capacity)

    def cheapest(self, waiting: list[int], taken: dict[int, tuple[int, int]]) -> int | None:
        """Cents of the cheapest machines for some groups, beside what others took of the nodes that are there."""
        model, cost = cp_model.CpModel(), []
        pods = [
            (g, cpu, gpus, count) for g in waiting for cpu, w in [self.groups[g]] for gpus, count in ((0, 1), (1, w))
        ]
        goes = {(g, c): model.new_bool_var("") for g in waiting for c in range(len(self.clusters))}
        for g in waiting:
            model.add(sum(goes[g, c] for c in range(len(self.clusters))) == 1)
        for c, ((cpu, gpus), offers) in enumerate(self.clusters):
            used = taken.get(c, (0, 0))
            machines: list[tuple[int, int, Any]] = [(cpu - used[0], gpus - used[1], 1)]
            for offer in offers:
                for _ in range(sum(count for *_, count in pods)):
                    bought = model.new_bool_var("")
                    machines.append((offer.cpu, offer.gpus, bought))
                    cost.append(bought * offer.cents)
            on = {(p, m): model.new_int_var(0, pods[p][3], "") for p in range(len(pods)) for m in range(len(machines))}
            for p, (g, _, _, count) in enumerate(pods):
                model.add(sum(on[p, m] for m in range(len(machines))) == count * goes[g, c])
            for m, (cores, devices, there) in enumerate(machines):
                model.add(sum(on[p, m] * pods[p][1] for p in range(len(pods))) <= cores * there)
                model.add(sum(on[p, m] * pods[p][2] for p in range(len(pods))) <= devices * there)
        model.minimize(sum(cost))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = 2.0
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return None
        assert status == cp_model.OPTIMAL
        return round(solver.objective_value)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_cheaper_would_place_all_that_waits(seed: int) -> None:
    market = Market.drawn(seed)
    story = market.story()
    inputs, done = planned(story)
    waiting, taken = [], {}
    for decision in done.view.plan.decisions:
        index = int(decision.group[-1])
        cpu, workers = market.groups[index]
        if decision.after:
            at = int(decision.after[0][1:])
            before = taken.get(at, (0, 0))
            taken[at] = before[0] + cpu * (workers + 1), before[1] + workers
        else:
            waiting.append(index)
    found = shop(inputs, done)
    assert found.waiting == tuple(f"ml/g{index}" for index in waiting)
    possible = [g for g in waiting if market.cheapest([g], taken) is not None]
    assert set(found.impossible) == {f"ml/g{g}" for g in waiting} - {f"ml/g{g}" for g in possible}
    if possible and found.complete:
        assert found.price is not None
        assert round(found.price * 100) == market.cheapest(possible, taken)
    assert set(found.placed) <= {group for group, _ in found.places}


# told


def room_of(story: Story) -> tuple[Room, Hydration]:
    inputs, done = planned(story)
    tried = in_use(done.view)
    books = Accounts(done.view).after
    shapes = [one.pods.shape for one in tried]
    clusters = tuple(
        ClusterRoom(
            cluster=name,
            stranded=stranded(books[name], shapes),
            largest=tuple(largest(books[name], one) for one in tried),
        )
        for name in books.names
    )
    return Room(asked=tuple(map(as_asked, tried)), clusters=clusters, shopping=shop(inputs, done)), done


def test_what_is_left_is_told_to_people_and_programs() -> None:
    story = Story.of(
        cluster("a", autoscaler=SPENT), cluster("b"), ANYWHERE, rayservice("ml", "app", workers=3), rayservice("ml", "runs"),
        capacity={**snapshot("a", "n1 1 4Gi"), **snapshot("b", "n1 5 64Gi 4")},
    )  # fmt: skip
    room, done = room_of(story)
    assert room_text(room, done.view).splitlines()[:13] == [
        "Free devices, after the plan",
        "  b  nvidia.com/gpu  3 of 4 free  3 stranded; 3 on n1: not enough cpu",
        "",
        "Largest gang, worker/gpu with 1 nvidia.com/gpu, 2 cpu and 4Gi memory each (like worker/gpu of ml/app)",
        "  not one on 2 clusters",
        "",
        "The cheapest machines for 1 group that waits",
        "  2 × gpu  for a  4.00 an hour",
        "  ml/app  → a",
        "  a plan with them places it; no cheaper machines would do",
        "",
        "Computed from the work tree as it lies; deployment 0000000000; at 2026-01-02T03:05:00Z by gitplacer test"
        if done.view.deployment_commit
        else "Computed from the work tree as it lies; nothing placed yet; at 2026-01-02T03:05:00Z by gitplacer test",
        "Capacity snapshots: 2 current, taken 2026-01-02T03:05:00Z",
    ]
    value = json.loads(room_json(room, done.view))
    jsonschema.Draft202012Validator.check_schema(room_schema())
    jsonschema.Draft202012Validator(room_schema()).validate(value)
    assert not jsonschema.Draft202012Validator(room_schema()).is_valid({**value, "asked": None})
    assert value["kind"] == "Room" and value["clusters"][1]["devices"][0]["stranded"] == "3"
    assert value["shopping"]["bought"] == [{"cluster": "a", "type": "gpu", "count": 2, "pricePerHour": "2"}]


def test_the_room_command_asks_and_answers(capfd: Capture, tmp_path: Path) -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app", workers=3), capacity={})
    files = {**story.source, **{f"capacity/{p}": t for p, t in snapshot("a", "n1 8 64Gi 1").items()}}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    offers = tmp_path / "offers.yml"
    offers.write_text(
        'nodeTypes: [{name: x, allocatable: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "8"}, pricePerHour: 3}]\n'
    )
    ran = run(capfd, "room", tmp_path, "--gang", "nvidia.com/gpu=1,cpu=4", "--catalogue", offers)
    assert ran.code == 0
    assert "  a  1\n" in ran.out and "1 × x  for a  3.00 an hour" in ran.out
    assert (
        json.loads(run(capfd, "room", tmp_path, "--like", "ml/app", "--format", "json").out)["asked"][0]["like"]
        == "ml/app"
    )
    wrong = run(capfd, "room", tmp_path, "--gang", "gpu=1")
    assert wrong.code == 1 and "--gang: nothing in this fleet has" in wrong.err
    assert 'there is no group "ml/ap"' in run(capfd, "room", tmp_path, "--like", "ml/ap").err


@pytest.mark.parametrize("state", ["Cordoned", "Draining", "Lost"])
def test_no_gang_fits_a_cluster_that_takes_nothing_new(tmp_path: Path, capfd: Capture, state: str) -> None:
    silent = state == "Lost"
    story = Story.of(
        cluster("a", **({} if silent else {"state": state})), cluster("b"), ANYWHERE,
        capacity={
            **snapshot("a", "n1 16 64Gi 2", at=START - timedelta(hours=2) if silent else START),
            **snapshot("b", "n1 16 64Gi 2"),
        },
    )  # fmt: skip
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace("spec: {}", "spec: {lostAfter: 1h}")
    repo = make_repo(tmp_path, {**story.source, **{f"capacity/{k}": v for k, v in story.capacity.items()}})
    asked = ("room", "--gang", "nvidia.com/gpu=1,cpu=1", "--now", NOW)
    text = run(capfd, *asked, repo).out
    assert f"2 of 2 free  none stranded; the cluster is {state}, and takes nothing new" in text
    told = json.loads(run(capfd, *asked, "--format", "json", repo).out)["clusters"]
    assert [(one["state"], one["largest"][0]["now"]) for one in told] == [(state, 0), ("Active", 2)]


@pytest.mark.parametrize(
    ("capacity", "word", "said"),
    [
        (snapshot("a", "n1 16 64Gi 2", at=START - timedelta(hours=2)), "Stale", "its snapshot is stale"),
        ({}, "Missing", "it has no snapshot"),
        ({"a.yaml": "kind: Nonsense\n"}, "Unusable", "its snapshot cannot be used"),
    ],
)
def test_no_gang_fits_a_cluster_of_which_too_little_is_known_and_a_plan_agrees(
    tmp_path: Path, capfd: Capture, capacity: dict[str, str], word: str, said: str
) -> None:
    story = Story.of(
        cluster("a", maxAge="15m"), cluster("b"), ANYWHERE, rayservice("ml", "app"), capacity={**capacity, **snapshot("b", "n1 1 4Gi")}
    )  # fmt: skip
    repo = make_repo(tmp_path, {**story.source, **{f"capacity/{k}": v for k, v in story.capacity.items()}})
    asked = ("room", "--like", "ml/app", "--now", NOW)
    text = run(capfd, *asked, repo).out
    assert f"\n  not one on 1 cluster\n  a  left out: {said}, so the cluster takes nothing new\n" in text
    assert ("2 of 2 free" in text) == (word == "Stale") == (f"stranded; {said}" in text)
    told = json.loads(run(capfd, *asked, "--format", "json", repo).out)
    jsonschema.Draft202012Validator(room_schema()).validate(told)
    assert [(one["snapshot"], one["largest"][0]["now"]) for one in told["clusters"]] == [(word, 0), ("Current", 0)]
    assert "Wait" in run(capfd, "plan", "--now", NOW, repo).out


def test_devices_are_in_reach_of_pods_that_the_api_server_lets_onto_their_nodes(tmp_path: Path, capfd: Capture) -> None:
    """On a cluster that adds tolerations for devices, and on one that does not."""
    tainted = "n1 16 64Gi 2 | , taints: [{key: nvidia.com/gpu, value: present}]"
    story = Story.of(
        cluster("a", profile="{extendedResourceToleration: true}"), cluster("b"), ANYWHERE,
        capacity={k: v for name in "ab" for k, v in snapshot(name, tainted).items()},
    )  # fmt: skip
    repo = make_repo(tmp_path, {**story.source, **{f"capacity/{k}": v for k, v in story.capacity.items()}})
    asked = ("room", "--gang", "nvidia.com/gpu=1,cpu=1", "--now", NOW)
    told = json.loads(run(capfd, *asked, "--format", "json", repo).out)["clusters"]
    assert [(one["devices"][0]["stranded"], one["largest"][0]["now"]) for one in told] == [("0", 2), ("2", 0)]

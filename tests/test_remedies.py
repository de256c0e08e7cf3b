"""The smallest change that places a group which waits: each kind of it, and that nothing smaller would have done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from gitplacer.explain import found_how, nothing_found, remedy_line, verdict_text
from gitplacer.hydrate import Hydration, Inputs, decisions_on, hydrate
from gitplacer.layout.layout import Layout
from gitplacer.model.decision import Reason
from gitplacer.model.remedy import Remedy, RemedyKind
from gitplacer.remedies import remedy, usual_trials
from gitplacer.remedies.amended import own_document, with_edits
from gitplacer.remedies.case import Case
from gitplacer.remedies.families import grown, widened
from gitplacer.tree import Tree
from tests import brutefleets
from tests.stories import ANYWHERE, START, Story, cluster, deployment, policy, rayjob, rayservice, snapshot

TRAIN = "jobs/train"


def inputs_of(story: Story) -> Inputs:
    return Inputs(
        source=Tree.of({path: text.encode() for path, text in story.source.items()}),
        commit=None,
        capacity=Tree.of({path: text.encode() for path, text in story.capacity.items()}),
        deployment=story.deployment,
        now=story.now,
        version="test",
    )


def planned(story: Story) -> tuple[Inputs, Hydration]:
    inputs = inputs_of(story)
    return inputs, hydrate(inputs)


def remedied(story: Story, group: str = TRAIN, **how: object) -> Remedy | None:
    inputs, done = planned(story)
    return remedy(inputs, done, group, **{"every_kind": True, **how})  # type: ignore[arg-type]


def kinds(found: Remedy | None) -> list[str]:
    assert found is not None
    return ["+".join(a.kind for a in way.amendments) for way in found.ways]


GPU_TYPES = """
    type: ClusterAutoscaler
    nodeTypes:
    # bought in spring
    - {name: g4dn.2xlarge, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, max: 1, pricePerHour: 0.75}
    - {name: cpu, allocatable: {cpu: "8", memory: 32Gi}, max: 4, pricePerHour: 0.15}
"""

LARGE = snapshot("a", "n1 64 256Gi 8")

CASES: dict[str, tuple[list[Mapping[str, str]], Mapping[str, str], str]] = {
    "a cordoned cluster": (
        [cluster("a", state="Cordoned"), ANYWHERE], LARGE, "cluster a takes new groups again (clusters/a.yaml:5)",
    ),
    "a taint of the cluster": (
        [cluster("a", taints="[{key: lab, value: red}]"), ANYWHERE], LARGE,
        "policy anywhere tolerates the cluster taint lab=red:NoSchedule (policies/anywhere.yaml:4)",
    ),
    "a cluster that the policy does not name": (
        [cluster("a"), cluster("b"), policy("p", "select: {}\nclusters:\n  names: [b]")], LARGE,
        "policy p allows cluster a (policies/p.yaml:7)",
    ),
    "a region that the policy does not ask for": (
        [cluster("a", region="eu"), policy("p", "select: {}\nclusters:\n  matchLabels: {topology.kubernetes.io/region: us}")],
        LARGE, "policy p allows cluster a (policies/p.yaml:6)",
    ),
    "an order that does not name the cluster": (
        [cluster("a"), cluster("b"), policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [b]}]}")], LARGE,
        "policy p allows cluster a (policies/p.yaml:6)",
    ),
    "a fit that takes luck": (
        [cluster("a"), ANYWHERE], snapshot("a", "n1 6 64Gi 2", "n2 3 64Gi"),
        "policy anywhere accepts a tight fit (policies/anywhere.yaml:4)",
    ),
    "machines that the policy does not count on": (
        [cluster("a", autoscaler=GPU_TYPES.replace("max: 1", "max: 2")), policy("p", "select: {}\nplacement:\n  scaleUp: Never")],
        snapshot("a", "n1 1 4Gi"), "policy p counts on machines that can be added (policies/p.yaml:7)",
    ),
    "a budget": (
        [cluster("a", autoscaler=GPU_TYPES.replace("max: 1", "max: 2")), policy("p", "select: {}\nbudgetPerHour: 1")],
        snapshot("a", "n1 4 16Gi"), "budgetPerHour of policy p from 1 to 1.5 (policies/p.yaml:6)",
    ),
    "the largest number of a node type": (
        [cluster("a", autoscaler=GPU_TYPES), ANYWHERE], snapshot("a", "n1 4 16Gi"),
        "max of g4dn.2xlarge on a from 1 to 2 (0.75 an hour) (clusters/a.yaml:9)",
    ),
    "all nodes of the cluster": (
        [cluster("a", autoscaler=GPU_TYPES.replace("max: 1", "max: 5") + "    maxNodes: 2"), ANYWHERE],
        snapshot("a", "n1 4 16Gi"), "maxNodes of a from 2 to 3 (clusters/a.yaml:11)",
    ),
    "nodes": (
        [cluster("a"), ANYWHERE], snapshot("a", "n1 8 64Gi 1"),
        "1 more nvidia.com/gpu on a (1 more node like n1: 1 nvidia.com/gpu, 8 cpu and 64Gi memory)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_group_is_placed_by_the_smallest_change(name: str) -> None:
    files, capacity, line = CASES[name]
    story = Story.of(*files, rayjob("jobs", "train"), capacity=capacity)
    found = remedied(story, every_kind=False)
    assert found is not None
    assert remedy_line(found) == line


@pytest.mark.parametrize("name", [n for n in CASES if "nodes" not in n.split()])
def test_what_is_said_to_be_enough_is_enough_when_somebody_writes_it(name: str) -> None:
    files, capacity, _ = CASES[name]
    story = Story.of(*files, rayjob("jobs", "train"), capacity=capacity)
    inputs, done = planned(story)
    found = remedy(inputs, done, TRAIN)
    assert found is not None
    (amendment,) = found.ways[0].amendments
    assert amendment.place is not None
    text = story.source[amendment.place.file].splitlines()
    if amendment.kind in (RemedyKind.RAISE_LIMIT, RemedyKind.RAISE_BUDGET, RemedyKind.UNCORDON):
        line = text[amendment.place.line - 1]
        assert amendment.before in line[amendment.place.column - 1 :]
        changed = line[: amendment.place.column - 1] + line[amendment.place.column - 1 :].replace(
            amendment.before, amendment.after, 1
        )
        story.source[amendment.place.file] = "\n".join(
            [*text[: amendment.place.line - 1], changed, *text[amendment.place.line :]]
        )
        assert next(d for d in story.plan().view.plan.decisions).after == found.ways[0].clusters


def test_a_remedy_names_the_smallest_change_of_every_kind() -> None:
    story = Story.of(
        cluster("static"), cluster("cloud", autoscaler=GPU_TYPES), cluster("closed", state="Cordoned"), ANYWHERE,
        rayjob("jobs", "train", workers=4),
        capacity={**snapshot("static", "n1 16 64Gi 2"), **snapshot("cloud", "c1 4 16Gi"), **snapshot("closed", "x1 32 64Gi 8")},
    )  # fmt: skip
    found = remedied(story)
    assert found is not None and found.complete
    assert remedy_line(found) == (
        "cluster closed takes new groups again (clusters/closed.yaml:5), "
        "or max of g4dn.2xlarge on cloud from 1 to 4 (2.25 an hour) (clusters/cloud.yaml:9), "
        "or 2 more nvidia.com/gpu on static (1 more node like n1: 2 nvidia.com/gpu, 16 cpu and 64Gi memory), "
        "or gpu of RayJob jobs/train from 4 to 2 replicas (workloads/jobs/train.yaml:13)"
    )


@pytest.mark.parametrize(("node", "more"), [("n1 2 8Gi", ", where its pods may have to wait"), ("n1 64 256Gi 8", "")])
def test_a_group_that_is_placed_whatever_the_room_is_let_in_by_the_first_try(node: str, more: str) -> None:
    """Its cluster drains and no other is named, which was a question of room only for the ledgers."""
    names = ("b", "c", "d", "e", "f")
    story = Story.of(
        cluster("a", state="Draining"), *(cluster(name) for name in names), rayjob("jobs", "train"),
        policy("p", "select: {}\nclusters: {names: [a]}\nplacement: {admission: Immediate}"),
        capacity={k: v for name in ("a", *names) for k, v in snapshot(name, node).items()},
    )  # fmt: skip
    found = remedied(story, every_kind=False, most_trials=3)
    assert found is not None
    assert (remedy_line(found), found.trials) == (f"policy p allows cluster b (policies/p.yaml:6){more}", 1)


def test_two_limits_are_raised_where_one_is_not_enough() -> None:
    autoscaler = GPU_TYPES + "    maxNodes: 2"
    story = Story.of(
        cluster("a", autoscaler=autoscaler),
        ANYWHERE,
        rayjob("jobs", "train", workers=3),
        capacity=snapshot("a", "n1 16 64Gi"),
    )
    found = remedied(story)
    assert found is not None
    assert kinds(found) == ["FewerPods", "RaiseLimit+RaiseLimit"]
    assert [(a.item, a.before, a.after) for a in found.ways[1].amendments] == [
        ("Max/g4dn.2xlarge", "1", "3"), ("MaxNodes/nodes", "2", "4"),
    ]  # fmt: skip


def test_a_cluster_is_opened_and_made_larger_where_neither_alone_is_enough() -> None:
    story = Story.of(
        cluster("a", state="Cordoned"),
        ANYWHERE,
        rayservice("jobs", "train", workers=1),
        capacity=snapshot("a", "n1 8 16Gi"),
    )
    story.capacity |= snapshot("a", "n1 3 16Gi 1")
    found = remedied(story)
    assert kinds(found) == ["Uncordon+AddNodes"]


OVER_QUOTA = {
    "tenants/all.yaml": (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: all}\n"
        "spec: {paths: ['workloads/**'], namespaces: ['*'], quota: {nvidia.com/gpu: '0'}}\n"
    )
}


def test_nothing_is_offered_where_nothing_of_these_kinds_is_enough() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, OVER_QUOTA, rayservice("jobs", "train"), capacity=snapshot("a", "n1 8 16Gi 1")
    )
    found = remedied(story)
    assert found is not None and not found.ways and found.complete
    assert nothing_found(found) == (
        f"no change of the kinds that are tried is enough, alone or with another ({found.trials} plans tried)"
    )


def test_where_there_are_not_trials_enough_it_says_so() -> None:
    """A GPU for two heads: no second node of that kind is likely to be enough, and sixty-four are not tried by two plans."""
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        rayservice("jobs", "train", cpu="6"),
        capacity=snapshot("a", "n1 8 16Gi 1", "n2 2 16Gi 1"),
    )
    found = remedied(story, most_trials=2)
    assert found is not None and not found.complete and found.trials == 1
    assert nothing_found(found) == (
        "none of the changes that were tried is enough; `--trials N` allows more plans, to try the others (1 plan tried)"
    )


IN_VAIN: dict[str, tuple[str, list[Mapping[str, str]]]] = {
    "no node has a GPU": ("n1 64 256Gi", [ANYWHERE]),
    "no node is large enough": ("n1 1 4Gi 1", [ANYWHERE]),
    "every node has a taint": ("n1 64 256Gi 8 | , taints: [{key: lab, effect: NoSchedule}]", [ANYWHERE]),
    "so it is where the policy sends it": ("n1 64 256Gi", [cluster("b"), policy("p", "select: {}\nclusters: {names: [a]}")]),
    "no other cluster is let in by an order": (
        "n1 64 256Gi", [cluster("b"), policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [a]}]}")]),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_VAIN)
def test_where_no_room_will_do_none_is_tried(name: str) -> None:
    node, files = IN_VAIN[name]
    story = Story.of(
        cluster("a"), *files, rayjob("jobs", "train"), capacity={**snapshot("a", node), **snapshot("b", node)}
    )
    inputs, done = planned(story)
    found = remedy(inputs, done, TRAIN, most_trials=1, every_kind=True)
    assert found is not None and (found.ways, found.trials, found.complete) == ((), 0, True)
    assert (
        nothing_found(found)
        == "no change of the kinds that are tried is enough, alone or with another, and it takes no plan to tell"
    )


def test_a_slice_needs_a_label_that_no_node_more_brings() -> None:
    ((path, text),) = rayjob("jobs", "train").items()
    hosts = text.replace("replicas: 2", "numOfHosts: 2\n      replicas: 2", 1).replace(
        "nvidia.com/gpu", "google.com/tpu"
    )
    nodes = snapshot("a", "n1 64 256Gi | , count: 4", "n2 64 256Gi | , count: 2, labels: {pool: b}")
    capacity = {
        name: told.replace("memory: 256Gi", 'memory: 256Gi, google.com/tpu: "4"') for name, told in nodes.items()
    }
    inputs, done = planned(Story.of(cluster("a"), ANYWHERE, {path: hosts}, capacity=capacity))
    found = remedy(inputs, done, TRAIN, most_trials=1, every_kind=True)
    assert found is not None and (found.ways, found.trials, found.complete) == ((), 0, True)
    told = verdict_text(done.view.decision(TRAIN).candidates[0], done.view.decision(TRAIN), done.view)
    assert told == "6 of 6 nodes: no label cloud.google.com/gke-nodepool"


@pytest.mark.parametrize("seed", [1, 6, 21, 41, 84])
def test_what_is_not_tried_would_not_have_been_enough(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fleets in which no open cluster ever takes the group: the same is found where all is tried, by more plans."""
    fleet = brutefleets.drawn(seed)
    found = remedied(fleet.story(), fleet.group, most_trials=1000)
    monkeypatch.setattr(Case, "needs_other_clusters", False)
    plain = remedied(fleet.story(), fleet.group, most_trials=1000)
    assert found is not None and plain is not None
    assert (found.ways, found.complete) == (plain.ways, plain.complete)
    assert found.trials < plain.trials


@pytest.mark.parametrize("seed", range(6))
def test_a_trial_decides_what_a_pass_decides(seed: int) -> None:
    inputs = inputs_of(brutefleets.drawn(seed).story())
    passed = hydrate(inputs, with_candidates=False)
    assert tuple(decisions_on(inputs)) == passed.view.plan.decisions
    again = replace(inputs, deployment=passed.tree)
    kept = hydrate(again, with_candidates=False).view.plan.decisions
    assert tuple(decisions_on(again)) == kept


def test_a_trial_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    files, capacity, line = CASES["nodes"]
    inputs, done = planned(Story.of(*files, rayjob("jobs", "train"), capacity=capacity))
    monkeypatch.setattr(Layout, "apply", None)
    found = remedy(inputs, done, TRAIN)
    assert found is not None and found.trials == 1 and remedy_line(found) == line


def test_a_node_that_takes_no_pod_which_lacks_a_proof_is_not_what_seems_enough() -> None:
    """What was promised before may go where both workers have to go. A node for workers mends that, and none that only takes other pods."""
    story = Story.of(
        cluster("a"), ANYWHERE, deployment("web", "early", "requests: {cpu: 3, memory: 1Gi}"),
        capacity=snapshot("a", "n1 6 64Gi 2", "n2 4 64Gi", "n3 1 64Gi", "n4 100m 100Mi"),
    )  # fmt: skip
    story.run()
    story.source |= rayjob("jobs", "train")
    inputs, done = planned(story)
    case = Case.of(inputs, done, TRAIN)
    assert case is not None and case.candidates["a"].finding.code is Reason.TIGHT_FIT
    assert {family.item: family.likely for family in grown(case)} == {"n1": 1, "n2": None, "n3": None, "n4": None}


def test_nodes_do_not_seem_enough_where_a_quota_is_in_the_way() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, OVER_QUOTA, rayjob("jobs", "train"), capacity=snapshot("a", "n1 64 256Gi 8")
    )
    inputs, done = planned(story)
    case = Case.of(inputs, done, TRAIN)
    assert case is not None and case.candidates["a"].finding.code is Reason.TENANT_QUOTA
    assert [family.likely for family in grown(case)] == [None]


def test_a_reviewer_gets_an_answer_by_two_plans() -> None:
    """What seems enough is tried first, so that few trials do where there is something."""
    files, capacity, line = CASES["the largest number of a node type"]
    found = remedied(Story.of(*files, rayjob("jobs", "train"), capacity=capacity), every_kind=False, most_trials=3)
    assert found is not None and remedy_line(found) == line
    assert found.trials <= 2


def test_what_was_found_is_told_where_plans_run_out_before_less_was_tried() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayjob("jobs", "train", workers=7), capacity=snapshot("a", "n1 8 64Gi 1"))
    found = remedied(story, every_kind=False, most_trials=2)
    assert found is not None and found.trials == 2 and not found.complete
    assert [(a.kind, a.amount) for way in found.ways for a in way.amendments] == [(RemedyKind.ADD_NODES, 6)]
    assert found_how(found) == (
        "a plan with it places the group and takes nobody else's place; "
        "smaller changes, which are less likely to be enough, were not tried (2 plans tried)"
    )


def test_a_group_that_does_not_wait_needs_no_remedy() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayjob("jobs", "train"), capacity=snapshot("a", "n1 64 256Gi 8"))
    assert remedied(story) is None
    story.run()
    assert remedied(story) is None


def test_nobody_loses_his_place_for_another() -> None:
    """With one node more the job would be first to have all of it, and the service that fits now would wait."""
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        rayjob("jobs", "train", workers=4),
        rayservice("web", "shop"),
        capacity=snapshot("a", "n1 16 64Gi 2"),
    )
    inputs, done = planned(story)
    assert {d.group for d in done.view.plan.decisions if d.after} == {"web/shop"}
    found = remedy(inputs, done, TRAIN, every_kind=True)
    assert found is not None
    nodes = [way.amendments[0].amount for way in found.ways if way.amendments[0].kind is RemedyKind.ADD_NODES]
    assert nodes == [2]


def test_a_group_that_has_nowhere_to_go_gets_a_place_to_go() -> None:
    story = Story.of(
        cluster("a"),
        cluster("b", state="Cordoned"),
        ANYWHERE,
        rayservice("ml", "app"),
        capacity=snapshot("a", "n1 16 64Gi 2"),
    )
    story.run()
    story.source |= cluster("a", state="Draining")
    story.capacity |= snapshot("b", "n1 16 64Gi 2")
    found = remedied(story, "ml/app")
    assert found is not None
    assert found.ways[0].amendments[0].kind is RemedyKind.UNCORDON and found.ways[0].clusters == ("b",)


def test_other_groups_that_wait_are_reckoned_with() -> None:
    """The room that is added goes to whoever is first, so there has to be enough for both."""
    story = Story.of(
        cluster("a"), ANYWHERE, rayjob("jobs", "early"), rayjob("jobs", "train"), capacity=snapshot("a", "n1 8 64Gi 1")
    )
    found = remedied(story)
    assert found is not None
    nodes = [way.amendments[0].amount for way in found.ways if way.amendments[0].kind is RemedyKind.ADD_NODES]
    assert nodes == [3]


def test_a_new_node_bears_what_every_node_of_its_kind_bears() -> None:
    """A DaemonSet takes a core of each node, so the node that is added has one less for pods."""
    used = " | , used: {cpu: '4'}"
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        rayjob("jobs", "train", workers=1),
        capacity=snapshot("a", f"n1 6 64Gi 1{used}", f"n2 6 64Gi 1{used}"),
    )
    found = remedied(story)
    nodes = (
        [way.amendments[0].amount for way in found.ways if way.amendments[0].kind is RemedyKind.ADD_NODES]
        if found
        else []
    )
    assert nodes == [1]


def test_comments_and_other_files_stay_as_they_are() -> None:
    files, capacity, _ = CASES["the largest number of a node type"]
    story = Story.of(*files, capacity=capacity)
    inputs = inputs_of(story)
    document = own_document(inputs, "clusters/a.yaml", "Cluster", "a")
    assert document is not None
    from gitplacer.documents import Edit

    after = with_edits(inputs, document, [Edit(("spec", "autoscaler", "nodeTypes", 0, "max"), "add", 2)])
    before = story.source["clusters/a.yaml"]
    assert after.source.read("clusters/a.yaml").decode() == before.replace("max: 1", "max: 2")
    assert own_document(inputs, "clusters/a.yaml", "Cluster", "b") is None


WIDER = [
    ("names: [b]", "{}", {"names": ["b", "a"]}),
    ("matchLabels: {tier: gold}", "{tier: silver}", {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "silver"]}]}),
    ("matchExpressions: [{key: tier, operator: In, values: [gold]}]", "{tier: silver}",
     {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "silver"]}]}),
    ("matchExpressions: [{key: tier, operator: NotIn, values: [silver, x]}]", "{tier: silver}",
     {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}),
    ("matchLabels: {tier: gold}", "{}", None),  # no value that is added would do
    ("matchExpressions: [{key: tier, operator: Exists}]", "{}", None),
    ("matchExpressions: [{key: tier, operator: DoesNotExist}]", "{tier: x}", None),
]  # fmt: skip


@pytest.mark.parametrize(("selector", "labels", "wanted"), WIDER, ids=[str(i) for i in range(len(WIDER))])
def test_a_policy_is_widened_by_a_value_and_not_emptied(selector: str, labels: str, wanted: object) -> None:
    story = Story.of(
        cluster("a", labels=labels), policy("p", f"select: {{}}\nclusters: {{{selector}}}"), capacity=LARGE
    )
    inputs, done = planned(story)
    edits = widened(done.snapshot.source.own.policies[0].spec, done.view.clusters["a"])
    if wanted is None:
        assert edits == []
        return
    document = own_document(inputs, "policies/p.yaml", "PlacementPolicy", "p")
    assert document is not None
    after = own_document(with_edits(inputs, document, edits), "policies/p.yaml", "PlacementPolicy", "p")
    assert after is not None
    assert after.value["spec"]["clusters"] == wanted


def test_a_broken_story_of_limits_is_told_apart_by_who_says_them() -> None:
    """A node group that the autoscaler reports is raised with its provider: no file of the source says its size."""
    group = "nodeGroups:\n- {name: gpu, max: 1, allocatable: {cpu: '8', memory: 32Gi, nvidia.com/gpu: '1'}}\n"
    story = Story.of(
        cluster("a", autoscaler="{type: ClusterAutoscaler}"),
        ANYWHERE,
        rayjob("jobs", "train"),
        capacity=snapshot("a", "n1 4 16Gi", more=group),
    )
    found = remedied(story, every_kind=False)
    assert found is not None
    assert remedy_line(found) == "the size of node group gpu on a from 1 to 2"


def test_a_node_pools_limit_is_raised_by_what_its_machines_draw() -> None:
    autoscaler = """
    type: Karpenter
    nodeTypes: [{name: gpu, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, pricePerHour: 1}]
    nodePools: [{name: main, limits: {cpu: 12}}]"""
    story = Story.of(
        cluster("a", autoscaler=autoscaler), ANYWHERE, rayjob("jobs", "train"), capacity=snapshot("a", "n1 4 16Gi")
    )
    found = remedied(story, every_kind=False)
    assert found is not None
    assert remedy_line(found) == "the limit of node pool main cpu on a from 12 to 16 (clusters/a.yaml:8)"


def of_size(pairs: int) -> Hydration:
    """A plan of which only that is known: so many groups times clusters."""
    return cast(Hydration, SimpleNamespace(view=SimpleNamespace(size=pairs)))


def test_the_larger_the_fleet_the_fewer_plans() -> None:
    _, done = planned(Story.of(cluster("a"), ANYWHERE))
    assert usual_trials(done) == 400
    assert [usual_trials(of_size(pairs)) for pairs in (100, 1_000, 1_000_000, 1_000_001)] == [200, 20, 20, 4]


SEEDS = (15, 17, 19, 21, 28, 29, 34, 253)
"""Fleets of many kinds of changes; in the last one more of a change is not always enough."""


@pytest.mark.parametrize("seed", SEEDS)
def test_no_smaller_change_of_any_kind_would_have_done(seed: int) -> None:
    fleet = brutefleets.drawn(seed)
    wanted = brutefleets.smallest(fleet)
    found = remedied(fleet.story(), fleet.group, most_trials=1000)
    assert found is not None and found.complete
    single = {way.amendments[0].kind.value: way.amendments[0].amount for way in found.ways if len(way.amendments) == 1}
    assert {k: n for k, n in single.items() if n <= brutefleets.MOST or k == "RaiseBudget"} == wanted
    if wanted:
        assert found.ways[0].amendments[0].kind == min(wanted, key=brutefleets.KINDS.index)


def test_the_kinds_are_in_the_order_that_the_judge_knows() -> None:
    assert [kind.value for kind in RemedyKind] == list(brutefleets.KINDS)


def test_a_snapshot_that_is_changed_is_read_again() -> None:
    from gitplacer.remedies.amended import with_nodes

    inputs = inputs_of(Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", "n1 8 64Gi 1", at=START)))
    after = with_nodes(inputs, "a", [{"name": "n2", "count": 3, "allocatable": {"cpu": "1"}}])
    assert after is not None
    assert [node["name"] for node in json.loads(after.capacity.read("a.yaml"))["nodes"]] == ["n1", "n2"]
    assert with_nodes(inputs, "nobody", []) is None

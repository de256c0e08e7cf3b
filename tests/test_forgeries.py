"""
Forged snapshots: each lie that a cluster can tell of itself, and the worst that comes of it. docs/forgeries.md tells of them.

A lie is told by cluster a, once and then a second time. What is said of every group is what it would be without the lie, but for what
the row says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.model.decision import Reason
from gitplacer.relocation.triggers import DECLARED
from gitplacer.tree import Tree
from tests.fleets import Edit, World, histories, new_world
from tests.stories import START, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

THOROUGH = settings().max_examples > 100
ROOM = ("n1 32 128Gi 8",)
SERVICE, JOB = "prod/api", "jobs/train"
LONG_AGO = "2026-01-02T03:05:00Z"
EVERYTHING = "applied: EVERYTHING\n"
HERE = f"groups:\n- {{name: {SERVICE}, phase: Running, ready: true}}\n- {{name: {JOB}, phase: Running}}\n"
ELSEWHERE = "groups:\n- {name: safe/api, phase: Running, ready: true}\n- {name: safe/train, phase: Running}\n"
ON_A = policy("near", "select: {namespaces: [prod, jobs]}\nplacement: {type: Ordered, order: [{names: [a]}, {}]}")
ON_B = policy("far", "select: {namespaces: [safe]}\nplacement: {type: Ordered, order: [{names: [b]}, {}]}")


def at_rest(*more: Mapping[str, str]) -> Story:
    """An hour after a service and a job came to each of two clusters, both of which have told the truth."""
    apps = (rayservice("prod", "api"), rayjob("jobs", "train"), rayservice("safe", "api"), rayjob("safe", "train"))
    story = Story.of(cluster("a"), cluster("b"), ON_A, ON_B, *apps, *more)
    story.capacity |= snapshot("a", *ROOM) | snapshot("b", *ROOM)
    story.run()
    story.now += timedelta(hours=1)
    tell_the_truth(story)
    assert story.run().steps == ()
    return story


def tell_the_truth(story: Story) -> None:
    story.capacity |= snapshot("a", *ROOM, at=story.now, more=EVERYTHING + HERE)
    story.capacity |= snapshot("b", *ROOM, at=story.now, more=EVERYTHING + ELSEWHERE)


def says(*nodes: str, more: str = EVERYTHING + HERE, late: timedelta = timedelta(0)) -> Callable[[Story], str]:
    return lambda story: snapshot("a", *(nodes or ROOM), at=story.now + late, more=more)["a.yaml"]


def shows(*groups: str) -> Callable[[Story], str]:
    return says(more=EVERYTHING + f"groups: [{', '.join(f'{{{group}}}' for group in groups)}]\n")


def as_another(story: Story) -> str:
    return says()(story).replace("metadata: {name: a}", "metadata: {name: b}")


def nested(story: Story) -> str:
    """Values in values, each by an alias of the one before."""
    layers = [f"x{n}: &x{n} {'[' * 60}{f'*x{n - 1}' if n else ''}{']' * 60}\n" for n in range(20)]
    return says()(story) + "".join(layers)


ALL_AT_ONCE = "applied: {platform: 999999999999999, workloads: 999999999999999}\n"
WAITS = 'phase: Pending, pods: [{role: head, pendingSince: "' + LONG_AGO + '"}]'
LIES = {
    "more room": (says("n1 4000 16Ti 512", "n2 4000 16Ti 512"), {}, {}, set()),
    "thousands of nodes": (says("n1 32 128Gi 8|, count: 90000"), {}, {}, set()),
    "cheap machines without end": (
        says(more=EVERYTHING + HERE + 'nodeGroups: [{name: m, max: 90000, pricePerHour: 0, allocatable: {cpu: "64"}}]\n'),
        {},
        {},
        set(),
    ),
    "no room": (
        says('n1 32 128Gi 8|, used: {cpu: "32"}'),
        {SERVICE: "Keep a Outgrown", JOB: "Keep a Outgrown"},
        {SERVICE: "Keep a Outgrown", JOB: "Keep a Outgrown"},
        set(),
    ),
    "its service waits": (shows(f"name: {SERVICE}, {WAITS}"), {}, {SERVICE: "Relocate b PendingPods"}, set()),
    "its job has ended": (shows(f"name: {JOB}, phase: Succeeded"), {}, {JOB: "Keep a Finished"}, set()),
    "its job waits": (shows(f"name: {JOB}, {WAITS}"), {}, {JOB: "Hold a MayHaveStarted"}, set()),
    "everything is gone": (shows(), {}, {}, set()),
    "what is elsewhere has ended, or waits": (
        shows("name: safe/train, phase: Succeeded", f"name: safe/api, {WAITS}"),
        {},
        {},
        set(),
    ),
    "thousands of groups": (shows(*(f"name: safe/g{n}, phase: Failed" for n in range(2000))), {}, {}, set()),
    "it serves nothing": (says(more=EVERYTHING + HERE + "serves: []\n"), {}, {}, set()),
    "it can do everything": (
        says(more=EVERYTHING + HERE + "present: [{kind: PriorityClass, name: high}]\nkuberay: {version: 9.9.9}\n"),
        {},
        {},
        set(),
    ),
    "an epoch that never was, and all is gone": (says(more=ALL_AT_ONCE), {}, {}, {"EpochNeverWritten"}),
    "from the future": (
        says(more=EVERYTHING + f"groups: [{{name: {JOB}, phase: Succeeded}}]\n", late=timedelta(hours=1)),
        {},
        {},
        {"SnapshotFromFuture"},
    ),
    "as another cluster": (as_another, {}, {}, {"SnapshotName"}),
    "values in values": (nested, {}, {}, {"TooDeep"}),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_does_no_more_than_this(lie: str) -> None:
    forged, once, twice, problems = LIES[lie]
    story = at_rest()
    restful = story.plan()
    at_peace, known = outcome(restful), codes(restful)
    for expected in (once, twice):
        tell_the_truth(story)
        story.capacity["a.yaml"] = forged(story)
        done = story.run()
        assert outcome(done) == at_peace | expected
        assert codes(done) - known == problems
        story.now += timedelta(minutes=1)


def codes(done: Hydration) -> set[str]:
    return {problem.code for problem in done.snapshot.problems}


NEW = rayservice("prod", "new")
BUSY = 'n1 32 128Gi 8|, used: {cpu: "32"}'
CHEAPEST = policy("cheapest", "select: {namespaces: [prod]}\nplacement: {type: Cheapest}")
AUTOSCALED = "{type: Karpenter, nodeTypes: [{name: big, allocatable: {cpu: 32, memory: 128Gi, nvidia.com/gpu: 4}, pricePerHour: 9}]}"
CHEAP = 'nodeGroups: [{name: fake, max: 9, pricePerHour: 0.01, allocatable: {cpu: "32", memory: 128Gi, nvidia.com/gpu: "4"}}]\n'


@pytest.mark.parametrize(
    ("spec", "nodes", "more", "expected", "problems"),
    [
        ({}, BUSY, "", "Wait  NoClusterFits", set()),
        ({}, "n1 32 128Gi 8", "", "Place a Fits", set()),  # the lie attracts what looks for room
        ({"limits": "{total: {nodes: 1, cpu: 8}}"}, "n1 32 128Gi 8", "", "Wait  NoEligibleCluster", {"SnapshotBeyondLimits"}),
        ({"limits": "{total: {nodes: 1}}"}, "n1 32 128Gi 8|, count: 2", "", "Wait  NoEligibleCluster", {"SnapshotBeyondLimits"}),
        ({"limits": "{perNode: {nvidia.com/gpu: 4}}"}, "n1 32 128Gi 8", "", "Wait  NoEligibleCluster", {"SnapshotBeyondLimits"}),
        ({"limits": "{total: {nodes: 1, cpu: 32}, perNode: {cpu: 32}}"}, "n1 32 128Gi 8", "", "Place a Fits", set()),
        ({"limits": "{perNode: {cpu: 16}}"}, "n1 8 16Gi 0", CHEAP, "Wait  NoEligibleCluster", {"SnapshotBeyondLimits"}),
        # machines that nobody has declared
        ({"autoscaler": AUTOSCALED}, BUSY, CHEAP, "Place a FitsByScaleUp 0.01", set()),
        ({"autoscaler": AUTOSCALED, "limits": "{nodeGroups: Declared}"}, BUSY, CHEAP, "Place a FitsByScaleUp 9.0", set()),
        ({"autoscaler": AUTOSCALED, "limits": "{nodeGroups: Declared}"}, BUSY, CHEAP.replace("fake", "big"), "Place a FitsByScaleUp 9.0", set()),
    ],
)  # fmt: skip
def test_what_a_cluster_may_have_is_what_its_people_say(
    spec: dict[str, str], nodes: str, more: str, expected: str, problems: set[str]
) -> None:
    story = Story.of(cluster("a", **spec), CHEAPEST, NEW, capacity=snapshot("a", nodes, more=more))
    done = story.run()
    finding = decisions(done)["prod/new"].reasons.get("a")
    prices = [new.price_per_hour for new in finding.new_nodes] if finding is not None else []
    assert " ".join([outcome(done)["prod/new"], *map(str, prices)]) == expected
    assert codes(done) == problems


@pytest.mark.parametrize(
    ("earlier", "counts"),
    [
        (says(), True),
        (says(more=ALL_AT_ONCE), False),
        (says("n1 64 128Gi 8"), False),
    ],
)
def test_what_was_believed_before_counts_on_unless_it_lies_too(earlier: Callable[[Story], str], counts: bool) -> None:
    story = at_rest(cluster("a", limits="{perNode: {cpu: 32}}"))
    story.capacity["a.yaml"] = says(more=ALL_AT_ONCE)(story)
    story.capacity["earlier/a.yaml"] = earlier(story).replace(EVERYTHING, "")
    found = story.plan().snapshot
    assert ("a" in found.capacity, "a" in found.broken_capacity) == (counts, not counts)
    assert {"EpochNeverWritten"} <= codes(story.plan())


def test_a_cluster_that_is_lied_about_by_another_goes_on_by_its_own_word() -> None:
    story = Story.of(cluster("a"), cluster("b"), ON_B, rayservice("safe", "api"))
    story.capacity |= snapshot("b", *ROOM) | {"a.yaml": snapshot("b", BUSY)["b.yaml"]}
    assert outcome(story.run()) == {"safe/api": "Place b Fits"}


def test_many_groups_that_are_said_to_wait_leave_no_faster_than_the_guard_lets_them() -> None:
    guarded = {
        "fleet.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\n"
        "spec: {guards: {relocations: {max: 2, per: 1h}}}\n"
    }
    names = [f"s{n}" for n in range(5)]
    story = Story.of(cluster("a"), cluster("b"), ON_A, *(rayservice("prod", name) for name in names), guarded)
    story.capacity |= snapshot("a", *ROOM) | snapshot("b", *ROOM)
    story.run()
    story.now += timedelta(hours=1)
    for _ in range(3):
        story.capacity["a.yaml"] = shows(*(f"name: prod/{name}, {WAITS}" for name in names))(story)
        done = story.run()
    left = [d.group for d in decisions(done).values() if d.after == ("b",)]
    assert len(left) == 2


def test_a_copy_that_is_said_to_be_ready_lets_the_old_one_go_at_the_second_time() -> None:
    surge = policy("near", "select: {namespaces: [prod]}\nrelocation: {strategy: Surge}")
    story = Story.of(cluster("b"), cluster("a"), surge, rayservice("prod", "api"))
    story.capacity |= snapshot("b", *ROOM)
    assert outcome(story.run()) == {SERVICE: "Place b Fits"}
    story.capacity |= snapshot("a", *ROOM)
    story.source |= cluster("b", state="Draining")
    assert outcome(story.run()) == {SERVICE: "Relocate a,b ClusterDraining"}
    for expected in ("Keep a,b Moving", "Relocate a ClusterDraining"):
        story.capacity["a.yaml"] = shows(f"name: {SERVICE}, phase: Running, ready: true")(story)
        assert outcome(story.run()) == {SERVICE: expected}


def inputs(world: World, capacity: Mapping[str, bytes]) -> Inputs:
    return Inputs(
        source=Tree.of(world.source()), capacity=Tree.of(capacity), deployment=Tree.of(world.deployment),
        commit=SourceCommit(id="1" * 40, author="A <a@b>", date=f"{START:%Y-%m-%dT%H:%M:%SZ}", subject="s"),
        deployment_commit="2" * 40, now=world.now, version="test",
    )  # fmt: skip


def living(history: list[list[Edit]]) -> World:
    world = new_world()
    for edits in history:
        for edit in edits:
            world.apply(edit)
        made = hydrate(inputs(world, world.capacity()))
        world.publish({path: made.tree.read(path) for path in made.tree})
    return world


@st.composite
def forgeries(draw: st.DrawFn) -> dict[str, Any]:
    """What a liar says, but for its name and the groups there are: those are filled in."""
    nodes = draw(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 16), st.integers(1, 50)), max_size=3))
    phases = st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", None])
    return {
        "nodes": [
            {"name": f"f{n}", "count": count, "allocatable": {"cpu": str(cpu), "memory": "1Ti", "nvidia.com/gpu": str(gpu)}}
            for n, (cpu, gpu, count) in enumerate(nodes)
        ],
        "phases": draw(st.lists(st.tuples(phases, st.booleans(), st.booleans()), min_size=1, max_size=6)),
        "applied": draw(st.sampled_from([None, 0, 1, 2, 5, 10**9])),
        "minutes": draw(st.integers(-90, 30)),
    }  # fmt: skip


def forged(world: World, liar: str, said: Mapping[str, Any]) -> dict[str, bytes]:
    groups = []
    for number, name in enumerate(sorted(world.records())):
        phase, ready, waits = said["phases"][number % len(said["phases"])]
        pods = [{"role": "head", "pendingSince": LONG_AGO}] if waits else []
        if phase is not None:
            groups.append({"name": name, "phase": phase, "ready": ready, "pods": pods})
    at = world.now + timedelta(minutes=said["minutes"])
    value = {
        "apiVersion": "gitplacer.dev/v1alpha1", "kind": "CapacitySnapshot", "metadata": {"name": liar},
        "observedAt": f"{at:%Y-%m-%dT%H:%M:%SZ}", "nodes": said["nodes"], "groups": groups,
    }  # fmt: skip
    if said["applied"] is not None:
        value["applied"] = {"platform": said["applied"], "workloads": said["applied"]}
    return world.capacity() | {f"{liar}.yaml": json.dumps(value).encode()}


# A history that fails is only shrunk when asked to be thorough: that takes minutes.
@settings(
    max_examples=1000 if THOROUGH else 16, phases=[phase for phase in Phase if THOROUGH or phase is not Phase.shrink]
)
@given(history=histories(), which=st.integers(0, 5), said=forgeries())
def test_any_lie_leaves_alone_what_is_elsewhere_and_starts_no_job_twice(
    history: list[list[Edit]], which: int, said: dict[str, Any]
) -> None:
    world = living(history)
    liar = sorted(world.clusters)[which % len(world.clusters)]
    truly = hydrate(inputs(world, world.capacity()))
    falsely = hydrate(inputs(world, forged(world, liar, said)))
    without = decisions(truly)
    assert without.keys() == decisions(falsely).keys()
    for group, lied in decisions(falsely).items():
        if liar in lied.before:
            assert starts_at_most(truly, falsely, group) or seen_before(falsely, group), lied
        elif set(lied.before) <= set(without[group].files_after):
            # One of lower priority makes room, as it would if the liar's cluster were really full; and who has to leave anyway may find
            # the room that the liar promises.
            stays = set(lied.before) <= set(lied.files_after) or lied.finding.code is Reason.PREEMPTED_BY
            assert stays or (lied.finding.code in DECLARED and set(lied.after) - set(lied.before) <= {liar}), lied


def starts_at_most(truly: Hydration, falsely: Hydration, group: str) -> bool:
    """Whether what must not run twice comes to no cluster for the lie."""
    found = falsely.snapshot.groups.get(group)
    came = [set(d.files_after) - set(d.before) for d in (decisions(falsely)[group], decisions(truly)[group])]
    return found is None or not found.singletons or came[0] <= came[1]


def seen_before(done: Hydration, group: str) -> bool:
    """Whether an earlier, true snapshot has shown that a job is gone or has not started, so that the lie is the second to say so."""
    record = done.snapshot.predecessor(done.snapshot.groups[group])
    assert record is not None
    gone = record.move is not None and record.move.gone_at is not None
    return gone or any(entry.unstarted_at is not None for entry in record.clusters)

"""
The law of upgrades: where the plan says that old and new fit together, every pod of both finds a node.

The plan is held against judges that share nothing with it: an exact solver for whether there is a packing at all, and a
plain reading of kube-scheduler, which takes the pods in many orders. What runs is where the scheduler had put it. The same is
asked again after the merge, when something new was placed beside old pods that are seen and new ones that are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from gitplacer.model.decision import Action
from tests import exactfit, schedulerjudge
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, rayservice, snapshot

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
PATH = "workloads/x/{}.yaml"


@dataclass(frozen=True)
class App:
    """A service: its head and workers ask for as many cpu each, and workers for a GPU."""

    name: str
    cpu: int
    workers: int

    def file(self) -> dict[str, str]:
        return rayservice("x", self.name, cpu=str(self.cpu), workers=self.workers)

    def pods(self, tag: str) -> Iterator[Json]:
        yield pod(f"{self.name}-{tag}-head", {"cpu": str(self.cpu), "memory": "2Gi"})
        for number in range(self.workers):
            yield pod(f"{self.name}-{tag}-{number}", {"cpu": str(self.cpu), "memory": "4Gi", GPU: "1"})


def pod(name: str, requests: Mapping[str, str]) -> Json:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": dict(requests), "limits": {k: v for k, v in requests.items() if k == GPU}},
    }
    return {"metadata": {"name": name, "namespace": "x"}, "spec": {"containers": [container]}}


def node(name: str, cpu: int, gpus: int) -> Json:
    offered = {"cpu": str(cpu), "memory": "64Gi", "pods": "110", GPU: str(gpus)}
    labels = {"kubernetes.io/hostname": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": offered, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def a_case(nodes: list[Json], running: Mapping[str, str], pods: list[Json]) -> Json:
    """`running` gives the node of each pod that is bound already."""
    bound = [
        {**p, "spec": {**p["spec"], "nodeName": running[p["metadata"]["name"]]}}
        for p in pods
        if p["metadata"]["name"] in running
    ]
    return {
        "id": "upgrade", "nodes": nodes, "existingPods": bound, "namespaces": [{"metadata": {"name": "x"}}],
        "pods": [p for p in pods if p["metadata"]["name"] not in running],
    }  # fmt: skip


def shown(apps: list[App], running: Mapping[str, str]) -> str:
    """What a snapshot says of apps of which these pods run."""
    lines = []
    for app in apps:
        seen = []
        for one in app.pods("old"):
            name = one["metadata"]["name"]
            if name in running:
                role = "head" if name.endswith("head") else "worker/gpu"
                requests = one["spec"]["containers"][0]["resources"]["requests"]
                asked = ", ".join(f"{key}: '{value}'" for key, value in requests.items())
                seen.append(f"{{role: {role}, node: {running[name]}, requests: {{{asked}}}}}")
        lines.append(f"- {{name: x/{app.name}, phase: Running, pods: [{', '.join(seen)}]}}\n")
    return "groups:\n" + "".join(lines)


def assert_all_find_a_node(case: Json) -> None:
    """There is a packing, and the scheduler finds one in whichever order the pods come."""
    assert exactfit.solve(case).feasible is not False
    for order in schedulerjudge.orders(case).values():
        assert not schedulerjudge.run(case, order).unplaced, order


nodes = st.lists(st.tuples(st.integers(4, 14), st.integers(0, 4)), min_size=1, max_size=3)
apps = st.tuples(st.integers(1, 4), st.integers(0, 3))


@settings(max_examples=80)
@given(
    sizes=nodes,
    first=apps,
    other=apps,
    cpu=st.integers(1, 4),
    workers=st.integers(0, 4),
    third=apps,
    seen=st.booleans(),
)
def test_an_upgrade_that_is_said_to_fit_does_with_old_and_new_together(
    sizes: list[tuple[int, int]],
    first: tuple[int, int],
    other: tuple[int, int],
    cpu: int,
    workers: int,
    third: tuple[int, int],
    seen: bool,
) -> None:
    before, beside = App("app", *first), App("beside", *other)
    after, late = App("app", cpu, workers), App("late", *third)
    written = [f"n{i} {cores} 64Gi {gpus}" for i, (cores, gpus) in enumerate(sizes)]
    machines = [node(f"n{i}", *size) for i, size in enumerate(sizes)]
    story = Story.of(cluster("a"), ANYWHERE, before.file(), beside.file(), capacity=snapshot("a", *written))
    placed = [app for app in (before, beside) if decisions(story.run())[f"x/{app.name}"].after]
    if before not in placed:
        return
    old = [p for app in placed for p in app.pods("old")]
    running = schedulerjudge.run(a_case(machines, {}, old)).placed if seen else {}
    if seen:
        story.capacity |= snapshot("a", *written, more=shown(placed, running), at=story.now + timedelta(minutes=10))
        story.now += timedelta(minutes=10)
    text = after.file()[PATH.format("app")].replace("image: ray,", "image: ray:2,")
    story.source[PATH.format("app")] = text
    done = story.run()
    decision = decisions(done)["x/app"]
    assert decision.action is Action.UPDATE and decision.after == ("a",)
    both = [*old, *after.pods("new")]
    if decision.finding.code == "UpgradeFits":
        assert_all_find_a_node(a_case(machines, running, both))
    event(decision.finding.code.value)
    # Somebody comes after the merge, before any snapshot tells of it.
    story.source |= late.file()
    done = story.run()
    event(outcome(done)["x/late"])
    if decision.finding.code == "UpgradeFits" and outcome(done)["x/late"] == "Place a Fits":
        assert_all_find_a_node(a_case(machines, running, [*both, *late.pods("new")]))
    if decision.finding.code == "UpgradeDoesNotFit":
        assert outcome(done)["x/late"].startswith("Wait"), "pods that wait would take its room"


@given(first=apps, spare=st.tuples(st.integers(0, 3), st.integers(0, 1)), number=st.integers(0, 8))
def test_while_both_run_nothing_is_sold_twice(first: tuple[int, int], spare: tuple[int, int], number: int) -> None:
    """However many of the new pods a snapshot shows beside the old ones, whoever is placed then finds room with all of them."""
    app, late = App("app", *first), App("late", 1, 1)
    sizes = [(2 * app.cpu * (app.workers + 1) + spare[0], 2 * app.workers + spare[1])]
    written = [f"n{i} {cores} 64Gi {gpus}" for i, (cores, gpus) in enumerate(sizes)]
    machines = [node(f"n{i}", *size) for i, size in enumerate(sizes)]
    story = Story.of(cluster("a"), ANYWHERE, app.file(), capacity=snapshot("a", *written))
    story.run()
    story.source[PATH.format("app")] = story.source[PATH.format("app")].replace("image: ray,", "image: ray:2,")
    assert outcome(story.run()) == {"x/app": "Update a UpgradeFits"}
    pods = [*app.pods("old"), *app.pods("new")]
    where = schedulerjudge.run(a_case(machines, {}, pods)).placed
    there = {
        p["metadata"]["name"]: where[p["metadata"]["name"]]
        for p in pods[: app.workers + 1 + min(number, app.workers + 1)]
    }
    twice = {name.replace("-new-", "-old-") + ("#" if "-new-" in name else ""): at for name, at in there.items()}
    seen = "".join(
        f"{{role: {'head' if 'head' in name else 'worker/gpu'}, node: {at}, requests: "
        + (f"{{cpu: '{app.cpu}', memory: 2Gi}}" if "head" in name else f"{{cpu: '{app.cpu}', memory: 4Gi, {GPU}: '1'}}")
        + "}, "
        for name, at in twice.items()
    )
    story.now += timedelta(minutes=10)
    groups = f"groups: [{{name: x/app, phase: Running, pods: [{seen}]}}]\n"
    story.capacity |= snapshot("a", *written, more=groups, at=story.now)
    story.source |= late.file()
    done = story.run()
    event(outcome(done)["x/late"])
    if outcome(done)["x/late"] == "Place a Fits":
        assert_all_find_a_node(a_case(machines, there, [*pods, *late.pods("new")]))

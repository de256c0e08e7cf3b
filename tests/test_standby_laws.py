"""
What holds of clusters that sleep whatever happens: over random days with work that comes and goes and snapshots that are late,
lost or noisy.

The judge reads the deployment repo as plain YAML and knows who consumes because it wrote the workloads itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.stories import Story, cluster, policy, rayservice, snapshot
from tests.test_standby import FLEET, hub, pool, sleeper

NODES = '[{name: n1, count: 2, allocatable: {cpu: "8", memory: 32Gi}}]'
IDLE = timedelta(hours=1)
LEGAL = {
    (None, "Active"), (None, "Waking"), ("Active", "Standby"), ("Standby", "Waking"), ("Waking", "Active"), ("Waking", "Standby"),
}  # fmt: skip
SLEEPERS = {"one": "Suspend", "two": "Delete"}
APPS = ("a", "b", "c")
FIRST = policy(
    "p",
    "select: {namespaces: [apps]}\nplacement: {type: Ordered, order: [{names: [two]}, {names: [one]}, {names: [always]}]}",
)
OPERATORS = policy("o", "select: {namespaces: [kuberayns]}\nclusters: {names: [one, two]}\nplacement: {copies: All}")


@dataclass
class Day:
    """A fleet of two clusters that may sleep and one that does not, and what has been seen of it."""

    story: Story
    states: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(SLEEPERS))
    used_at: dict[str, datetime] = field(default_factory=dict)
    wakes: int = 0
    demands: int = 0

    def read(self, path: str) -> dict[str, object]:
        found: dict[str, object] = yaml.safe_load(self.story.deployment.read(path))
        return found

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """(group, cluster, state) of each copy of an app that consumes."""
        for path in self.story.deployment:
            if path.startswith("placements/apps/"):
                for entry in self.read(path)["clusters"]:  # type: ignore[attr-defined]
                    yield path.removesuffix(".yaml").rpartition("/")[2], entry["name"], entry["state"]

    def run(self) -> bool:
        """A pass, and everything that must hold after it; whether it changed anything."""
        now = self.story.now
        done = self.story.run()
        assert self.story.plan_at(now).steps == (), "planning again from what was just published changes nothing"
        used = {name for _, name, _ in self.entries()}
        for name, mode in SLEEPERS.items():
            body = self.read(f"fleet/{name}.yaml")
            before, after = self.states[name], str(body["state"])
            assert before == after or (before, after) in LEGAL
            self.states[name] = after
            self.wakes += (before, after) == ("Standby", "Waking")
            rendered = self.story.deployment.read(f"clusters/hub/platform/standby/{name}/pool.yaml").decode()
            assert rendered == pool(name, 0 if after == "Standby" else 4)
            assert not (after == "Standby" and name in used)
            if name in used:
                self.used_at[name] = now
                assert "idleSince" not in body
            if (before, after) in {("Active", "Standby"), ("Waking", "Standby")} and "retryAt" not in body:
                assert now - self.used_at.get(name, self.story.began) >= IDLE
            for group, there, state in self.entries():
                written = any(f"clusters/{name}/workloads/apps/{group}/" in path for path in self.story.deployment)
                if there == name:
                    assert written == (state == "Placed")
                    assert state == "Placed" or (mode == "Delete" and after != "Active")
        return bool(done.steps)

    def observe(self, name: str, nodes: int, late: int, shown: bool) -> None:
        """A snapshot that is taken now or was taken a while ago, with as many nodes; it may show what is recorded there."""
        at = self.story.now - timedelta(minutes=late)
        groups = [
            f"{{name: apps/{g}, phase: Running}}" for g, there, s in self.entries() if there == name and s == "Placed"
        ]
        more = f"groups: [{', '.join(groups)}]\n" if shown and nodes else ""
        self.story.capacity |= snapshot(name, *(f"n{i} 8 32Gi" for i in range(nodes)), at=at, more=more)

    def demand(self, app: str, wanted: bool) -> None:
        path = f"workloads/apps/{app}.yaml"
        if wanted and path not in self.story.source:
            self.story.source |= rayservice("apps", app, cpu="3", workers=2, gpus=0)
            self.demands += 1
        elif not wanted:
            self.story.source.pop(path, None)


class Timed(Story):
    """A story that knows when it began, and that can be asked what a pass at a time would do."""

    began: datetime

    def plan_at(self, now: datetime):  # type: ignore[no-untyped-def]
        later, self.now = self.now, now
        try:
            return self.plan()
        finally:
            self.now = later


def morning() -> Day:
    base = Story.of(
        {"fleet.yaml": FLEET}, hub(), sleeper("one", NODES), sleeper("two", NODES, "Delete"), cluster("always"), FIRST, OPERATORS,
        rayservice("kuberayns", "operator", cpu="100m", gpus=0), capacity=snapshot("always", "n1 4 16Gi"),
    )  # fmt: skip
    story = Timed(base.source, base.capacity)
    story.began = story.now
    return Day(story)


THOROUGH = settings().max_examples > 100
PHASES = [phase for phase in Phase if THOROUGH or phase is not Phase.shrink]
EVENTS = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 90)),
    st.tuples(st.just("demand"), st.sampled_from(APPS), st.booleans()),
    st.tuples(st.just("observe"), st.sampled_from([*SLEEPERS]), st.integers(0, 2), st.integers(0, 20), st.booleans()),
    st.tuples(st.just("lose"), st.sampled_from([*SLEEPERS])),
)


WAITED_FOR: list[tuple[object, ...]] = [
    ("demand", "c", False), ("lose", "two"), ("observe", "one", 1, 15, False), ("demand", "c", True), ("wait", 3),
    ("observe", "one", 1, 2, True), ("wait", 85),
]  # fmt: skip
"""A cluster comes with one of its two nodes, and somebody waits for the other: it is not put to sleep to be called for both."""


def happen(day: Day, event: tuple[object, ...]) -> None:
    match event:
        case ("wait", int(minutes)):
            day.story.now += timedelta(minutes=minutes)
        case ("demand", str(app), bool(wanted)):
            day.demand(app, wanted)
        case ("observe", str(name), int(nodes), int(late), bool(shown)):
            day.observe(name, nodes, late, shown)
        case ("lose", str(name)):
            day.story.capacity.pop(f"{name}.yaml", None)


@settings(max_examples=300 if THOROUGH else 12, phases=PHASES)
@given(st.lists(EVENTS, max_size=10))
@example(WAITED_FOR)
def test_states_go_on_legally_and_nothing_sleeps_under_work_and_all_comes_to_rest(
    events: list[tuple[object, ...]],
) -> None:
    day = morning()
    day.run()
    for event in events:
        happen(day, event)
        day.run()
    for _ in range(3):  # every cluster that is called comes, and tells what is there
        day.story.now += timedelta(minutes=70)
        for name, state in day.states.items():
            day.observe(name, 0 if state == "Standby" else 2, 0, shown=True)
        day.run()
    day.story.now += timedelta(minutes=70)
    assert not day.run(), "back to rest"
    idle = {name for name in SLEEPERS if name not in {there for _, there, _ in day.entries()}}
    assert all(day.states[name] == "Standby" for name in idle)
    assert "Waking" not in day.states.values()


@settings(max_examples=300 if THOROUGH else 6, phases=PHASES)
@given(
    st.lists(
        st.tuples(st.sampled_from([*SLEEPERS]), st.integers(0, 2), st.integers(0, 20), st.booleans()), max_size=12
    ),
    st.sets(st.sampled_from(APPS)),
)
def test_while_the_work_stays_the_same_no_snapshot_makes_a_cluster_go_to_and_fro(
    noise: list[tuple[str, int, int, bool]], apps: set[str]
) -> None:
    day = morning()
    for app in sorted(apps):
        day.demand(app, True)
    day.run()
    called = []
    for name, nodes, late, shown in noise:
        day.story.now += timedelta(minutes=4)
        day.observe(name, nodes, late, shown)
        day.run()
        called.append(day.wakes)
    assert day.wakes <= 1 + day.demands
    assert sorted(called) == called

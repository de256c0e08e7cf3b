"""The controller on real repos and a story's clock: what it publishes, what it only looks at, and how it names what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Fault, Outcome, Turn
from gitplacer.telemetry.logs import Logs
from tests.fleetrepos import made
from tests.gitservers import git
from tests.stories import cluster, rayjob, rayservice
from tests.watchedcontrollers import Watched, outcomes


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(made(tmp_path))


def test_it_publishes_then_looks_and_makes_a_pass_when_something_has_moved(watched: Watched) -> None:
    watched.at(100, lambda: watched.fleet.commit(rayservice("prod", "new")))
    turns = watched.until(310)
    assert outcomes(turns) == [
        "Published",
        "Unchanged",
        "Unchanged (look)",
        "Published",
        "Unchanged",
        "Unchanged (look)",
        "Unchanged (look)",
        "Unchanged (look)",
    ]
    assert watched.told[:8] == [
        "began 1: time",
        "ended 1: Published",
        "waits until 03:05:00",
        "began 2: settle",
        "ended 2: Unchanged",
        "waits until 03:06:00",
        "began 3: look",
        "ended 3: Unchanged (look)",
    ]
    assert watched.told[-1] == "stopped"
    assert turns[3].tip == watched.fleet.git("rev-parse", "main")
    assert turns[3].source == git("rev-parse", "HEAD", cwd=watched.fleet.source)
    assert turns[3].hydration is not None and turns[2].hydration is None
    assert "Gitplacer-Now: 2026-01-02T03:07:00Z" in watched.fleet.git("log", "-1", "--format=%B", "main")


def test_it_follows_a_hint_at_once_and_makes_a_pass_in_time_though_nothing_moves(watched: Watched) -> None:
    def push() -> None:
        watched.fleet.commit(rayservice("prod", "new"))
        watched.controller.wakes.hint("webhook", "refs/heads/main")

    watched.at(10, push)
    turns = watched.until(320)
    assert [turn.woken for turn in turns] == [
        ("time",), ("settle",), ("webhook",), ("settle",), *[("look",)] * 4, ("time",),
    ]  # fmt: skip
    assert (turns[2].outcome, f"{turns[2].started:%M:%S}") == (Outcome.PUBLISHED, "05:10")
    assert not turns[-1].is_look and f"{turns[-1].started:%M:%S}" == "10:10"


def test_a_hint_about_a_branch_that_is_none_of_ours_makes_no_pass_and_is_looked_after_once_more(
    watched: Watched,
) -> None:
    watched.at(20, lambda: watched.controller.wakes.hint("webhook", "refs/heads/feature"))
    watched.at(22, lambda: watched.fleet.commit(rayservice("prod", "late")))  # the server told of it before it knew it
    turns = watched.until(40)
    assert outcomes(turns) == ["Published", "Unchanged", "Unchanged (look)", "Published", "Unchanged"]
    assert [f"{turn.started:%S}" for turn in turns] == ["00", "00", "20", "25", "25"]


def test_a_hint_without_a_branch_makes_a_pass(watched: Watched) -> None:
    watched.at(20, lambda: watched.controller.wakes.hint("somebody asked"))
    turns = watched.until(40)
    assert outcomes(turns) == ["Published", "Unchanged", "Unchanged"]
    assert [turn.woken for turn in turns] == [("time",), ("settle",), ("somebody asked",)]


class Meanwhile(Silent):
    """Somebody who does something whenever a turn begins or has ended."""

    def __init__(self, *, began: Callable[[int], object] = id, ended: Callable[[Turn], object] = id) -> None:
        self._began, self._ended = began, ended

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        self._began(number)

    def ended(self, turn: Turn) -> None:
        self._ended(turn)


def test_what_is_never_at_rest_is_not_planned_without_end(watched: Watched) -> None:
    """Each pass finds something to publish; none that settles is settled itself."""

    def moved(number: int) -> None:
        watched.fleet.commit(rayservice("prod", f"new-{number}"))
        if number == 10:
            watched.controller.stop()

    watched.new(Meanwhile(began=moved))
    turns = watched.until(130)
    assert [(turn.woken, turn.outcome) for turn in turns] == [
        (why, Outcome.PUBLISHED) for why in (("time",), ("settle",), ("look",), ("settle",), ("look",), ("settle",))
    ]
    assert [f"{turn.started:%M:%S}" for turn in turns] == ["05:00", "05:00", "06:00", "06:00", "07:00", "07:00"]


def test_a_hint_of_its_own_push_takes_nothing_from_what_is_to_be_settled(watched: Watched) -> None:
    def told(turn: Turn) -> None:
        if turn.outcome is Outcome.PUBLISHED:
            watched.controller.wakes.hint("webhook", "refs/heads/main")

    watched.new(Meanwhile(ended=told))
    turns = watched.until(4)
    assert outcomes(turns) == ["Published", "Unchanged (look)", "Unchanged"]
    assert [turn.woken for turn in turns] == [("time",), ("webhook",), ("settle",)]
    assert [f"{turn.started:%S}" for turn in turns] == ["00", "02", "02"]


def test_a_push_that_waits_comes_before_what_is_to_be_settled_and_is_settled_with_it(watched: Watched) -> None:
    def pushed(turn: Turn) -> None:
        if turn.number == 1:
            watched.fleet.commit(rayservice("prod", "new"))
            watched.controller.wakes.hint("webhook", "refs/heads/main")

    watched.new(Meanwhile(ended=pushed))
    turns = watched.until(50)
    assert outcomes(turns) == ["Published", "Published", "Unchanged"]
    assert [turn.woken for turn in turns] == [("time",), ("webhook",), ("settle",)]


def test_a_push_behind_one_that_settles_waits_for_no_batch(watched: Watched) -> None:
    """Two seconds are counted from the beginning of the pass before it."""

    def took(turn: Turn) -> None:
        if turn.number == 1:
            watched.clock.seconds = 1
        if turn.number == 2:
            watched.clock.seconds = 2.5
            watched.fleet.commit(rayservice("prod", "new"))
            watched.controller.wakes.hint("webhook", "refs/heads/main")

    watched.new(Meanwhile(ended=took))
    turns = watched.until(4)
    assert [turn.woken for turn in turns] == [("time",), ("settle",), ("webhook",), ("settle",)]
    assert [(turn.started - turns[0].started).total_seconds() for turn in turns] == [0, 1, 2.5, 2.5]


def test_whoever_is_told_to_stop_settles_nothing(watched: Watched) -> None:
    watched.new(Meanwhile(ended=lambda turn: watched.controller.stop()))
    assert outcomes(watched.until(50)) == ["Published"]


def test_what_is_waiting_for_a_person_is_held_and_named(watched: Watched) -> None:
    watched.fleet.commit(rayjob("prod", "train"))
    watched.until(30)
    watched.new()
    watched.fleet.commit(cluster("a", state="Draining") | cluster("b", state="Draining"))
    turns = watched.until(130)
    assert outcomes(turns) == ["Held", "Held (look)"]


def test_the_log_names_the_first_few_that_are_held_and_waiting(watched: Watched) -> None:
    said: list[str] = []
    for name in "abcdefghi":
        watched.fleet.commit(rayjob("prod", name))
    watched.until(30)
    watched.new(Logs(said.append, watched.clock.wall))
    watched.fleet.commit(cluster("a", state="Draining") | cluster("b", state="Draining"))
    watched.until(130)
    assert [line.partition("→ ")[2][14:] for line in said if " held " in line] == [
        "4 held (prod/a, prod/api, prod/b and prod/c) and 6 waiting (prod/d, prod/e, prod/f and 3 more)"
    ]


def test_of_what_is_at_rest_behind_a_pass_the_log_says_nothing(watched: Watched) -> None:
    said: list[str] = []
    watched.new(Logs(said.append, watched.clock.wall))
    watched.at(100, lambda: watched.fleet.commit(rayservice("prod", "new")))
    watched.at(200, lambda: watched.fleet.commit(cluster("a", state="Draining") | cluster("b", state="Draining")))
    turns = watched.until(250)
    assert sum(turn.settles for turn in turns) == 2
    assert [line.split()[4] for line in said if " turn " in line] == ["Published", "Published", "Held"]


def test_a_source_that_cannot_be_read_stalls_and_is_read_again_when_it_is_mended(watched: Watched) -> None:
    watched.until(30)
    watched.new()
    good = (watched.fleet.source / "fleet.yaml").read_text()
    watched.fleet.commit({"fleet.yaml": "kind: Fleet\n"})
    watched.at(190, lambda: watched.fleet.commit({"fleet.yaml": good}))
    turns = watched.until(280)
    assert outcomes(turns) == [
        "Stalled RejectedSource", "Stalled RejectedSource", "Stalled RejectedSource (look)", "Unchanged", "Unchanged (look)",
    ]  # fmt: skip
    assert turns[0].problems and "fleet.yaml:1" in turns[0].message


def test_a_person_reads_what_to_mend_as_the_docs_have_it(watched: Watched) -> None:
    misspelt = cluster("a", state="Draining")["clusters/a.yaml"].replace("state", "sttae")
    watched.fleet.commit({"clusters/a.yaml": misspelt})
    said: list[str] = []
    watched.new(Logs(said.append, watched.clock.wall))
    watched.until(400)
    page = (Path(__file__).parent.parent / "docs" / "controller.md").read_text()
    quoted = re.search(r"```text\n(\S+ turn \S+ \S+  Stalled .*?)\n```", page, re.DOTALL)
    assert quoted is not None
    assert said == [*quoted[1].splitlines(), "stopped"]  # said once, however often it is tried


def test_what_gets_better_is_said_as_well(watched: Watched) -> None:
    one, two = "workloads/prod/one.yaml", "workloads/prod/two.yaml"
    said: list[str] = []
    watched.new(Logs(said.append, watched.clock.wall))
    watched.at(50, lambda: watched.fleet.commit({one: "kind: [\n", two: "kind: [\n"}))
    watched.at(100, lambda: watched.fleet.commit({}, remove=(one,)))
    watched.until(400)
    came = [re.sub(r"^\S+ turn \d+ \S+  ", "", line).split()[0] for line in said]
    lines = [word.split(":")[0] for word in came if word != "hint:"]
    assert lines == ["Published", "Held", one, two, "Held", two, "stopped"]


def test_a_host_that_is_away_is_asked_less_and_less_often_and_a_hint_asks_it_at_once(watched: Watched) -> None:
    watched.fleet.deployment = "http://127.0.0.1:9/deployment.git"  # nobody listens there
    watched.new()
    watched.at(20, lambda: watched.controller.wakes.hint("webhook"))
    turns = watched.until(100)
    assert outcomes(turns) == ["Retry Unreachable"] * 5
    began = [turn.started.minute * 60 + turn.started.second - 300 for turn in turns]
    assert began == [0, 3, 11, 20, 50]  # three quarters of 5, 10, 20, 40
    assert "127.0.0.1" in turns[0].message and turns[0].hint


def test_a_repo_on_a_disk_that_is_away_is_waited_for(watched: Watched) -> None:
    there = Path(watched.fleet.deployment)
    watched.new()
    watched.at(50, lambda: there.rename(there.with_name("away")))
    watched.at(70, lambda: there.with_name("away").rename(there))
    turns = watched.until(100)
    assert outcomes(turns)[:4] == ["Published", "Unchanged", "Retry Unreachable", "Retry Unreachable"]
    assert f"there is no directory {there} any more" in turns[2].message and turns[2].hint == "mount it or put it back"
    assert turns[-1].outcome is Outcome.UNCHANGED


def test_a_failing_observer_harms_nobody(watched: Watched) -> None:
    class Broken(Silent):
        def ended(self, turn: Turn) -> None:
            raise RuntimeError("the dashboard is gone")

    watched.new(Broken())
    turns = watched.until(130)
    assert outcomes(turns) == ["Published", "Unchanged", "Unchanged (look)", "Unchanged (look)"]
    assert watched.complaints == ["Broken failed and is ignored: RuntimeError: the dashboard is gone"]


def test_a_fault_that_nobody_foresaw_is_a_turn_like_any_other(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitplacer.hydrate.hydrate", lambda *args, **how: 1 / 0)
    turns = watched.until(100)
    assert outcomes(turns) == ["Retry Unexpected"] * len(turns)
    assert [turn.again for turn in turns] == [1, 2, 3, 4]
    assert turns[0].fault is Fault.UNEXPECTED and "ZeroDivisionError" in turns[0].message

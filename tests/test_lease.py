"""Who of several replicas works: laws of the lease against a stand-in that refuses stale writes, and the places it can be in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client.exceptions import ApiException
from msgspec.structs import replace

from gitplacer.controller.electing import ClusterLease, Conflict, FileLock, Keeper, elected
from gitplacer.controller.lease import Record, Terms
from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Turn
from gitplacer.settings import UsageError, settings
from tests.clocks import StoryClock
from tests.fleetrepos import made
from tests.watchedcontrollers import Watched, outcomes

TERMS = Terms(duration=15, deadline=10, retry=2)


@dataclass
class Server:
    """One lease, replaced only by whoever has read it as it is. `down` refuses everybody."""

    record: Record | None = None
    writes: int = 0
    down: bool = False

    def read(self) -> Record | None:
        self._answer()
        return self.record

    def write(self, record: Record) -> Record:
        self._answer()
        if record.version != (self.record.version if self.record else ""):
            raise Conflict
        self.writes += 1
        self.record = replace(record, version=str(self.writes))
        return self.record

    def _answer(self) -> None:
        if self.down:
            raise ConnectionError("no route to host")


@dataclass
class Replicas:
    """Several replicas on one server, each with a clock that runs at the same speed and shows another time."""

    count: int
    server: Server = field(default_factory=Server)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.complaints: list[str] = []
        self.keepers = [self.keeper(number) for number in range(self.count)]

    def keeper(self, number: int) -> Keeper:
        def clock() -> float:
            return self.now + number * 1000.0

        return Keeper(self.server, f"replica-{number}", clock, self.complaints.append, TERMS)

    def leading(self) -> list[int]:
        return [number for number, keeper in enumerate(self.keepers) if keeper.leads()]


def test_the_first_leads_and_the_others_wait_until_it_is_silent_for_long_enough() -> None:
    them = Replicas(2)
    for keeper in them.keepers:
        keeper.tick()
    assert them.leading() == [0]
    them.now = 8
    for keeper in them.keepers:
        keeper.tick()
    told = []
    for them.now in range(9, 30):
        them.keepers[1].tick()  # the first one is gone
        told.append(them.leading())
    assert told == [*[[0]] * 9, *[[]] * 5, *[[1]] * 7]
    assert them.server.record is not None and them.server.record.transitions == 1


def test_a_holder_that_ends_lets_the_next_begin_at_once() -> None:
    them = Replicas(2)
    for keeper in them.keepers:
        keeper.tick()
    them.keepers[0].stop()
    them.keepers[1].tick()
    assert them.keepers[1].leads()


def test_whoever_cannot_ask_stops_to_lead_and_says_so_once() -> None:
    them = Replicas(1)
    them.keepers[0].tick()
    them.server.down = True
    for them.now in (2, 4, 6, 8, 9.9):
        them.keepers[0].tick()
        assert them.leading() == [0]
    them.now = 10
    assert them.leading() == []
    assert them.complaints == ["cannot renew the lease: ConnectionError: no route to host"]
    them.server.down = False
    them.keepers[0].tick()
    assert them.leading() == [0]


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0, 9), st.sampled_from(["tick", "tick", "tick", "cut", "restart", "stop"])),
    max_size=60,
)


@given(STEPS)
def test_two_never_lead_whatever_their_clocks_show_and_whoever_falls_silent(
    steps: list[tuple[int, float, str]],
) -> None:
    them = Replicas(3)
    for number, passed, what in steps:
        them.now += passed
        assert len(them.leading()) < 2
        if what == "restart":
            them.keepers[number] = them.keeper(number)
        elif what == "stop":
            them.keepers[number].stop()
            them.keepers[number] = them.keeper(number)
        else:
            them.server.down = what == "cut"
            them.keepers[number].tick()
            them.server.down = False
        assert len(them.leading()) < 2


@given(STEPS)
def test_somebody_leads_soon_after_the_silence_ends(steps: list[tuple[int, float, str]]) -> None:
    them = Replicas(3)
    for number, passed, what in steps:
        them.now += passed
        them.server.down = what == "cut"
        them.keepers[number].tick()
    them.server.down = False
    for _ in range(10):
        them.now += TERMS.retry
        for keeper in them.keepers:
            keeper.tick()
    assert len(them.leading()) == 1


def test_a_write_between_reading_and_writing_is_a_conflict_and_no_harm() -> None:
    them = Replicas(2)
    first, second = them.keepers
    read = them.server.read

    def late() -> Record | None:
        found = read()
        them.server.read = read  # type: ignore[method-assign]
        second.tick()
        return found

    them.server.read = late  # type: ignore[method-assign]
    first.tick()
    assert them.leading() == [1] and not them.complaints


# places


class LeaseApi:
    """What the official client's `CoordinationV1Api` does with one Lease: 404, 409, and a resourceVersion that moves."""

    def __init__(self) -> None:
        self.found: dict[str, Any] | None = None
        self.version = 0

    def read_namespaced_lease(self, name: str, namespace: str, _request_timeout: float) -> Any:
        if self.found is None:
            raise ApiException(status=404)
        return self._shown()

    def create_namespaced_lease(self, namespace: str, body: dict[str, Any], _request_timeout: float) -> Any:
        if self.found is not None:
            raise ApiException(status=409)
        return self._kept(body)

    def replace_namespaced_lease(self, name: str, namespace: str, body: dict[str, Any], _request_timeout: float) -> Any:
        if self.found is None or body["metadata"]["resourceVersion"] != str(self.version):
            raise ApiException(status=409)
        return self._kept(body)

    def _kept(self, body: dict[str, Any]) -> Any:
        self.version += 1
        self.found = body
        return self._shown()

    def _shown(self) -> Any:
        assert self.found is not None
        spec = self.found["spec"]
        return SimpleNamespace(
            metadata=SimpleNamespace(resource_version=str(self.version)),
            spec=SimpleNamespace(
                holder_identity=spec["holderIdentity"],
                lease_duration_seconds=spec["leaseDurationSeconds"],
                lease_transitions=spec["leaseTransitions"],
            ),
        )


def test_a_lease_of_the_cluster_is_made_renewed_and_fought_for() -> None:
    api = LeaseApi()
    place = ClusterLease(api, "gitplacer", "controller")
    assert place.read() is None
    made_it = place.write(Record(holder="a", duration=15))
    assert made_it == place.read() == Record(holder="a", duration=15, version="1")
    with pytest.raises(Conflict):
        place.write(Record(holder="b", duration=15))
    place.write(made_it)
    with pytest.raises(Conflict):
        place.write(replace(made_it, holder="b"))
    assert api.found is not None and api.found["metadata"] == {
        "name": "controller", "namespace": "gitplacer", "resourceVersion": "1",
    }  # fmt: skip
    assert api.found["spec"]["renewTime"].endswith("Z")


def test_a_lock_on_a_file_is_had_by_one_and_taken_over_when_it_ends(tmp_path: Path) -> None:
    changed = threading.Event()
    first, second = FileLock(tmp_path / "lock", retry=0.01), FileLock(tmp_path / "lock", retry=0.01)
    first.start(changed.set)
    second.start(changed.set)
    assert (first.leads(), second.leads(), changed.is_set()) == (True, False, False)
    first.stop()
    assert changed.wait(60) and second.leads()
    second.stop()


@pytest.mark.parametrize(
    ("text", "said"),
    [("controller", "is for a pod in a cluster"), ("file:/nowhere/at/all", "No such file or directory")],
)
def test_an_election_that_cannot_be_held_is_said_at_once(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        elected(text, lambda: 0.0, print)
    assert raised.value.hint


# the controller


@dataclass
class Ballot:
    """An election that the test decides."""

    has: bool = False
    changed: Callable[[], None] = print

    def leads(self) -> bool:
        return self.has

    def start(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    def stop(self) -> None:
        self.has = False

    def decide(self, has: bool) -> None:
        self.has = has
        self.changed()


def test_whoever_leads_no_more_settles_nothing_and_whoever_leads_again_makes_a_pass(tmp_path: Path) -> None:
    watched, ballot = Watched(made(tmp_path)), Ballot(has=True)

    class Deposing(Silent):
        def ended(self, turn: Turn) -> None:
            if turn.outcome == "Published":
                ballot.decide(False)

    chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)
    watched.controller = Controller(
        chosen, draw=lambda: 0.5, clock=watched.clock, observers=[Deposing(), watched], elected=ballot
    )
    watched.at(1000, lambda: ballot.decide(True))
    turns = watched.until(1010)
    assert [(turn.woken, turn.outcome) for turn in turns] == [(("time",), "Published"), (("time",), "Unchanged")]


def test_a_replica_that_does_not_lead_does_nothing_until_it_does(tmp_path: Path) -> None:
    watched, ballot = Watched(made(tmp_path)), Ballot()
    chosen = settings(str(watched.fleet.source), deployment=watched.fleet.deployment)
    watched.controller = Controller(
        chosen, draw=lambda: 0.5, clock=StoryClock(), pace=Pace(), observers=[watched], elected=ballot
    )
    clock = watched.controller._clock
    assert isinstance(clock, StoryClock)
    clock.at(50, lambda: watched.controller.wakes.hint("webhook"))
    clock.at(100, lambda: ballot.decide(True))
    clock.at(170, lambda: ballot.decide(False))
    clock.at(1000, watched.controller.stop)
    watched.controller.run()
    assert outcomes(watched.turns) == ["Published", "Unchanged", "Unchanged (look)"]
    assert f"{watched.turns[0].started:%M:%S}" == "06:40"
    assert ballot.has is False

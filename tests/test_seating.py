"""
The room of those who are placed on a cluster, taken one after another: whether it was looked up where they sit, or worked out, comes to the same.

The laws let random groups take room twice, the second time with what the first has remembered, or with where they sat then: such as find no room, take luck, wait for machines, have
come to their end or mind other pods are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.hydrate import Hydration, hydrate
from gitplacer.model.bystander import Holding
from gitplacer.model.podrules import HostPort
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.passes import quiet
from gitplacer.passes.looking import looked_at
from gitplacer.passes.reconcile import Outcome, reconcile_unless_quiet
from gitplacer.passes.seats import PLACES, KeptSeats, ledgers_beside
from gitplacer.placement import seating
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.ledgercache import LedgerCache, Opening
from gitplacer.placement.nodes import Columns
from gitplacer.placement.seating import HeldRoom, NoSeats, Seats, reserved, seats_in
from gitplacer.source.files import InMemory
from tests.fleetrepos import made, silently
from tests.stories import ANYWHERE, Story, rayjob
from tests.stories import cluster as cluster_file
from tests.stories import snapshot as shown
from tests.test_ledgercache import GROUP, GROWING, cluster, opening, snapshot

CLUSTER = cluster_file("a")
GPU = "nvidia.com/gpu"


def pods(count: int, *ports: int, role: str = "worker", selector: str = "", **asked: int) -> PodSet:
    requests = Resources({GPU if name == "gpu" else name: amount for name, amount in asked.items()})
    node_selector = (("zone", selector),) if selector else ()
    return PodSet(role, count, PodShape(requests, node_selector=node_selector, ports=tuple(map(HostPort, ports))))


GANGS: tuple[Gang, ...] = (
    (pods(1, cpu=1000),),
    (pods(3, cpu=2000),),
    (pods(1, cpu=500, role="head"), pods(2, cpu=1500)),
    (pods(2, gpu=1, cpu=500), pods(1, role="loader", cpu=500)),
    (pods(1, role="a", cpu=700), pods(1, role="b", cpu=700)),
    (pods(2, selector="a", cpu=1000),),
    (pods(0, cpu=1000),),
    (pods(40, cpu=1000),),
)
MINDING: Gang = (pods(2, 80, cpu=500),)
HALF_SHOWN: Gang = (pods(1, 80, cpu=500), pods(3, role="other", cpu=1500))
"""Of `ns/shown` the snapshot shows the pod that minds others, and none of those beside it."""
NODES = [
    {"name": f"n{i}", "allocatable": {"cpu": str(cpu), GPU: str(i % 3)}, "labels": {"zone": "ab"[i % 2]}}
    for i, cpu in enumerate((4, 4, 8, 2, 6))
]
ZONED = snapshot(groups=(GROUP,), nodes=NODES)
OPENINGS: tuple[Opening, ...] = tuple(
    opening(made, ZONED, known) for made, known in ((cluster(), GANGS[0]), (GROWING, GANGS[0]), (GROWING, GANGS[2]))
)


class Texts(Seats):
    """Remembers, and tells how often that was of use."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.found = 0

    def recall(self, cluster: str, digest: str) -> bytes | None:
        self.found += digest in self.kept
        return self.kept.get(digest)

    def remember(self, cluster: str, digest: str, text: bytes) -> None:
        self.kept[digest] = text


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is worth it on clusters of any size."""
    monkeypatch.setattr(seating, "WORTH", 1)


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Gang]]:
    """The gangs that are packed, in order."""
    found: list[Gang] = []
    plain: Callable[..., Any] = Ledger._fit

    def noted(self: Ledger, gang: Gang, scale_up: bool) -> object:
        found.append(gang)
        return plain(self, gang, scale_up)

    monkeypatch.setattr(Ledger, "_fit", noted)
    return found


def asked(*gangs: Gang, **told: bool) -> tuple[HeldRoom, ...]:
    each = {"finished": False, "scale_up": False, "sure": True, "lucky": False, "by_machines": False, **told}
    return tuple(HeldRoom(f"ns/{at}", Holding(gang, **each)) for at, gang in enumerate(gangs))


def everything(ledger: Ledger, left_over: Sequence[str]) -> tuple[object, ...]:
    """All that can be told of a ledger."""
    holds = {group: (hold.packing.uses, hold.packing.opened, hold.sure) for group, hold in ledger._holds.items()}
    return list(left_over), holds, ledger._free.tolist(), ledger._promised, dict(ledger.coming.counts)


def some() -> st.SearchStrategy[HeldRoom]:
    flags = {name: st.booleans() for name in ("finished", "scale_up", "sure", "lucky")}
    flags["by_machines"] = st.sampled_from((False, False, False, True))
    holding = st.builds(Holding, st.sampled_from((*GANGS, MINDING, HALF_SHOWN)), **flags)
    return st.builds(HeldRoom, st.sampled_from(("ns/shown", *"abcdefgh")), holding)


@settings(max_examples=2000 if settings().max_examples > 100 else 60)
@given(st.sampled_from(OPENINGS), st.lists(some(), max_size=7, unique_by=lambda each: each.group))
def test_what_is_looked_up_is_what_would_be_worked_out(made: Opening, groups: list[HeldRoom]) -> None:
    seats = Texts()
    told = []
    for keeping, worth in ((NoSeats(), 10**9), (seats, 1), (seats, 1)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(seating, "WORTH", worth)
            ledger = made.open()
            told.append(everything(ledger, reserved(groups, keeping, "c", ledger)))
    assert told[0] == told[1] == told[2]


@pytest.mark.usefixtures("anywhere")
def test_the_same_room_is_not_packed_again(packed: list[Gang]) -> None:
    seats, groups = Texts(), asked(*GANGS[:6])
    reserved(groups, seats, "c", OPENINGS[0].open())
    assert len(packed) == 6
    packed.clear()
    reserved(groups, seats, "c", OPENINGS[0].open())
    assert not packed


@pytest.mark.usefixtures("anywhere")
def test_whoever_comes_after_one_without_room_is_packed(packed: list[Gang]) -> None:
    seats, groups = Texts(), asked(GANGS[0], GANGS[1], GANGS[7], GANGS[6])
    assert reserved(groups, seats, "c", OPENINGS[0].open()) == ["ns/2"]
    packed.clear()
    assert reserved(groups, seats, "c", OPENINGS[0].open()) == ["ns/2"]
    assert packed == [GANGS[7], GANGS[6]]


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize(("group", "gang"), [("ns/a", MINDING), ("ns/shown", HALF_SHOWN)], ids=["not seen", "seen"])
def test_nobody_is_looked_up_who_minds_other_pods(group: str, gang: Gang) -> None:
    seats, (plain, minding) = Texts(), asked(GANGS[0], gang)
    for _ in range(2):
        reserved((plain, minding._replace(group=group)), seats, "c", OPENINGS[0].open())
    assert not seats.kept


def test_a_small_cluster_is_not_looked_up() -> None:
    seats = Texts()
    reserved(asked(*GANGS), seats, "c", OPENINGS[0].open())
    assert not seats.kept


def _less_free(ledger: Ledger) -> None:
    ledger.reserve_placed("ns/before", GANGS[0], finished=False, scale_up=False)


def _as_it_is(ledger: Ledger) -> None:
    return None


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize(
    ("groups", "first", "made", "known"),
    [
        pytest.param(asked(*GANGS[:3]), _as_it_is, OPENINGS[0], True, id="the same"),
        pytest.param(asked(*GANGS[:3], sure=False, lucky=True), _as_it_is, OPENINGS[0], True, id="promised otherwise"),
        pytest.param(
            asked(*GANGS[:3]), _as_it_is, replace(OPENINGS[0], now=OPENINGS[0].now + timedelta(days=1)), True, id="later"
        ),
        pytest.param(asked(*GANGS[:4]), _as_it_is, OPENINGS[0], False, id="one more"),
        pytest.param(asked(*GANGS[2::-1]), _as_it_is, OPENINGS[0], False, id="in another order"),
        pytest.param(asked(GANGS[0], (pods(2, cpu=2000),), GANGS[2]), _as_it_is, OPENINGS[0], False, id="a pod less"),
        pytest.param(asked(GANGS[0], (pods(3, cpu=2001),), GANGS[2]), _as_it_is, OPENINGS[0], False, id="larger pods"),
        pytest.param(
            asked(GANGS[0], (pods(3, selector="a", cpu=2000),), GANGS[2]), _as_it_is, OPENINGS[0], False, id="fewer nodes"
        ),
        pytest.param(asked(*GANGS[:3]), _less_free, OPENINGS[0], False, id="less is free"),
    ],
)  # fmt: skip
def test_what_is_remembered_stands_for_what_is_free_and_what_pods_ask_for(
    groups: tuple[HeldRoom, ...], first: Callable[[Ledger], None], made: Opening, known: bool
) -> None:
    seats = Texts()
    reserved(asked(*GANGS[:3]), seats, "c", OPENINGS[0].open())
    ledger = made.open()
    first(ledger)
    reserved(groups, seats, "c", ledger)
    assert bool(seats.found) is known


# where who stands by sits


def seated(groups: Sequence[HeldRoom], made: Opening) -> tuple[HeldRoom, ...] | None:
    """They, with where they sit in a cluster; None where somebody finds no room."""
    ledger = made.open()
    opened = ledger.digest()
    if reserved(groups, NoSeats(), "c", ledger):
        return None
    seats = seats_in(ledger, groups, opened)
    return tuple(each._replace(seat=seats.get(each.group)) for each in groups)


@settings(max_examples=3000 if settings().max_examples > 100 else 100)
@given(
    st.sampled_from(OPENINGS), st.sampled_from(OPENINGS), st.lists(some(), max_size=6, unique_by=lambda each: each.group),
    st.sets(st.integers(0, 5)), st.integers(0, 6), st.one_of(st.none(), some()), st.booleans(),
)  # fmt: skip
def test_who_sits_where_he_did_sits_where_he_would_be_put(
    before: Opening, now: Opening, groups: list[HeldRoom], gone: set[int], at: int, new: HeldRoom | None, less: bool
) -> None:
    """Also where some have gone, somebody has come between, or the cluster is another."""
    known = seated(groups, before)
    if known is None:
        return
    left = [each for number, each in enumerate(known) if number not in gone]
    if new is not None:
        left.insert(at, new._replace(group="ns/new"))
    told = []
    for asked_for in (left, [each._replace(seat=None) for each in left]):
        ledger = now.open()
        if less:
            _less_free(ledger)
        told.append(everything(ledger, reserved(asked_for, NoSeats(), "c", ledger)))
    assert told[0] == told[1]


@pytest.mark.parametrize("worth", [1, 10**9], ids=["large", "small"])
@pytest.mark.parametrize(
    ("changed", "packed_again"),
    [
        pytest.param(lambda groups: groups, 0, id="the same"),
        pytest.param(lambda groups: groups[:2], 0, id="the last has gone"),
        pytest.param(lambda groups: (*groups, *asked(*GANGS[:4])[3:]), 1, id="one has come"),
        pytest.param(lambda groups: (groups[0], groups[1]._replace(seat=None), groups[2]), 2, id="one is read"),
        pytest.param(lambda groups: groups[1:], 2, id="the first has gone"),
        pytest.param(lambda groups: groups[::-1], 3, id="in another order"),
    ],
)
def test_those_are_packed_before_whom_something_is_otherwise(
    changed: Callable[[tuple[HeldRoom, ...]], tuple[HeldRoom, ...]], packed_again: int, worth: int, packed: list[Gang], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """On a large cluster all are, if one is: there they are looked up together."""
    monkeypatch.setattr(seating, "WORTH", worth)
    known = seated(asked(*GANGS[:3]), OPENINGS[0])
    assert known is not None
    packed.clear()
    groups = changed(known)
    reserved(groups, NoSeats(), "c", OPENINGS[0].open())
    assert len(packed) == (len(groups) if packed_again and worth == 1 else packed_again)


def test_where_less_is_free_all_are_packed_again(packed: list[Gang]) -> None:
    known = seated(asked(*GANGS[:3]), OPENINGS[0])
    assert known is not None
    ledger = OPENINGS[0].open()
    _less_free(ledger)
    packed.clear()
    reserved(known, NoSeats(), "c", ledger)
    assert len(packed) == 3


def test_of_what_no_machine_has_a_cluster_is_opened_alike_with_and_without() -> None:
    """Which resources there are depends on which clusters and groups are planned."""
    more = replace(OPENINGS[0], columns=Columns([*OPENINGS[0].columns.names, "example.com/other"]))
    assert more.open().digest() == OPENINGS[0].open().digest()


@pytest.mark.parametrize("group", ["ns/a", "ns/shown"])
def test_nobody_has_a_seat_beside_one_who_minds_other_pods(group: str) -> None:
    gang = MINDING if group == "ns/a" else HALF_SHOWN
    known = seated([asked(GANGS[0])[0], asked(gang)[0]._replace(group=group)], OPENINGS[0])
    assert known is not None and [each.seat for each in known] == [None, None]


def test_who_waits_for_machines_has_no_seat() -> None:
    """There are none yet that it could be on."""
    known = seated(asked(GANGS[0], (pods(30, cpu=1000),), scale_up=True), OPENINGS[1])
    assert known is not None and [each.seat is not None for each in known] == [True, False]


# in the cache


def keep(memo: InMemory, *digests: str, fleet: str = "fleet", cluster: str = "c") -> None:
    """What a process keeps that asks for these."""
    seats = KeptSeats(memo, fleet)
    for digest in digests:
        assert seats.recall(cluster, digest) is None
        seats.remember(cluster, digest, f"of {digest}".encode())


def test_a_cluster_has_few_places_however_many_passes_there_are() -> None:
    memo = InMemory()
    for number in range(20):
        keep(memo, f"first {number}", f"second {number}")
    keep(memo, *"abcdef")
    assert sum(map(len, memo._texts.values())) == PLACES * len("aof a")
    found = [KeptSeats(memo, "fleet").recall("c", digest) for digest in "abcdef"]
    assert found == [b"of a", b"of b", b"of c", b"of d", None, None]


def test_each_cluster_of_each_fleet_has_its_own_places() -> None:
    memo = InMemory()
    keep(memo, "1")
    keep(memo, "1", cluster="other")
    keep(memo, "1", fleet="other")
    keep(memo, "2", fleet="other")
    assert KeptSeats(memo, "fleet").recall("c", "1") == b"of 1"


def test_another_version_remembers_nothing_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    memo = InMemory()
    keep(memo, "1")
    assert KeptSeats(memo, "fleet").recall("c", "1") == b"of 1"
    monkeypatch.setattr(quiet, "code_digest", lambda: "another")
    assert KeptSeats(memo, "fleet").recall("c", "1") is None


@pytest.mark.usefixtures("anywhere")
def test_a_pass_finds_where_groups_sit_that_an_earlier_process_placed(packed: list[Gang]) -> None:
    story = Story.of(
        CLUSTER, ANYWHERE, *(rayjob("jobs", f"job-{n}") for n in range(3)), capacity=shown("a", "n1 64 256Gi 16")
    )
    story.run()
    story.source |= rayjob("jobs", "job-9")
    memo, told = InMemory(), list[tuple[int, Hydration]]()
    for ledgers in (LedgerCache(), ledgers_beside(memo, "fleet"), ledgers_beside(memo, "fleet")):
        packed.clear()
        done = hydrate(story.inputs(), memo=memo, ledgers=ledgers)
        told.append((len(packed), done))
    first, second, third = (number for number, _ in told)
    assert first == second > 3
    assert third == 1  # that of the new one
    assert told[0][1].steps == told[1][1].steps == told[2][1].steps


@pytest.mark.usefixtures("anywhere")
def test_what_a_pass_found_out_is_there_for_who_looks_at_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, found = made(tmp_path), list[bool]()
    plain = KeptSeats.recall

    def recall(self: KeptSeats, cluster: str, digest: str) -> bytes | None:
        text = plain(self, cluster, digest)
        found.append(text is not None)
        return text

    monkeypatch.setattr(KeptSeats, "recall", recall)
    chosen = replace(fleet.settings(5), cache_dir=tmp_path / "cache")
    assert isinstance(reconcile_unless_quiet(chosen, progress=silently), Outcome)
    fleet.commit(rayjob("prod", "waits", workers=999))
    later = replace(chosen, now=fleet.settings(6).now)
    assert isinstance(reconcile_unless_quiet(later, progress=silently), Outcome)
    assert found == [False]
    found.clear()
    with looked_at(later, work_tree=False, progress=silently) as looked:
        hydrate(looked.inputs, memo=looked.memo, ledgers=looked.ledgers)
    assert found
    assert all(found)

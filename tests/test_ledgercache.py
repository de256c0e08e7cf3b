"""
Ledgers that stay open from one pass to the next: whatever is remembered, the answers are those of a ledger that was opened anew.

The law lets random passes ask a cache and a plain ledger the same, gangs with rules about other pods among them: of these the ledger
tells what was tried before in the same pass, and must not tell what was tried in an earlier one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.podrules import HostPort
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.ledgercache import PASSES, REPLAYS, LedgerCache, Opening
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HEAD = {"apiVersion": "gitplacer.dev/v1alpha1", "metadata": {"name": "c"}}
GROUP = {"name": "ns/shown", "phase": "Running", "pods": [{"role": "worker", "node": "n0"}]}
TYPE = {"name": "big", "allocatable": {"cpu": "8"}, "max": 2}
EXHAUSTED = {"name": "big", "count": 0, "exhausted": {"code": "Quota", "until": NOW + timedelta(hours=1)}}


def gang(count: int, cpu: int, *ports: int) -> Gang:
    shape = PodShape(Resources({"cpu": cpu * 1000}), ports=tuple(HostPort(port) for port in ports))
    return (PodSet("worker", count, shape),)


GANGS = (gang(1, 1), gang(2, 3), gang(1, 1, 80), gang(2, 1, 81))


def cluster(name: str = "c", **spec: Any) -> Cluster:
    return Cluster.model_validate({**HEAD, "kind": "Cluster", "metadata": {"name": name}, "spec": spec})


def snapshot(*cpus: int, groups: tuple[dict[str, Any], ...] = (), **fields: Any) -> CapacitySnapshot:
    nodes = [{"name": f"n{i}", "allocatable": {"cpu": str(cpu)}} for i, cpu in enumerate(cpus)]
    found = {**HEAD, "kind": "CapacitySnapshot", "observedAt": NOW, "nodes": nodes, "groups": list(groups), **fields}
    return CapacitySnapshot.model_validate(found)


def opening(made: Cluster, shown: CapacitySnapshot, known: Gang = GANGS[0]) -> Opening:
    columns = Columns.of([shown], [made], GANGS)
    gangs = {group.name: known for group in shown.groups}
    return Opening(cluster=made, snapshot=shown, columns=columns, gangs=gangs, slice_topology="", now=NOW)


GROWING = cluster(autoscaler={"type": "ClusterAutoscaler", "nodeTypes": [TYPE]})
OPENINGS = (
    opening(cluster(), snapshot(4, 4)),
    opening(GROWING, snapshot(4, 3)),
    opening(GROWING, snapshot(4, 4, 2, groups=(GROUP,)), GANGS[2]),
)


class Taken(NamedTuple):
    """A group whose room is taken, as the deployment repo says."""

    group: str
    gang: Gang
    sure: bool = True
    by_machines: bool = False

    def reserved(self, ledger: Ledger) -> tuple[bool, bool]:
        """Whether it was certain of its room, and found all of it."""
        grows, sure, by = bool(ledger.nodes.types), self.sure, self.by_machines
        return ledger.is_certain(self.gang), ledger.reserve_placed(
            self.group, self.gang, finished=False, scale_up=grows, sure=sure, by_machines=by
        )


ARRIVALS = (
    (Taken("ns/a", GANGS[2]), Taken("ns/b", GANGS[3]), Taken("ns/shown", GANGS[1])),
    (Taken("ns/a", GANGS[3], by_machines=True), Taken("ns/b", GANGS[2], by_machines=True), Taken("ns/c", GANGS[1])),
)


class Asked(NamedTuple):
    """What is asked once: of which cluster, who is on it, which questions about which gangs, and who comes then."""

    opening: Opening
    taken: tuple[Taken, ...]
    questions: tuple[tuple[str, Gang], ...]
    comes: Taken

    def answers(self, ledger: Ledger) -> list[object]:
        found, whole = ledger.replay(
            self.taken, lambda made, begun: [each.reserved(made) for each in self.taken[begun:]]
        )
        told: list[object] = [whole, found.seats(), found.free_on_nodes().tolist()]
        for question, about in self.questions:
            told.append(getattr(found, question)(about))
        return [*told, self.comes.reserved(found), found.seats(), found.free_on_nodes().tolist()]


def asked() -> st.SearchStrategy[Asked]:
    """Of few clusters and groups, so that the same is asked again: in the same pass, and in another."""
    arrivals = st.sampled_from(ARRIVALS)
    taken = st.tuples(arrivals, st.integers(0, 3)).map(lambda drawn: drawn[0][: drawn[1]])
    questions = st.tuples(st.sampled_from(("proves", "tight", "is_certain", "what_fits")), st.sampled_from(GANGS))
    comes = st.builds(Taken, st.just("ns/last"), st.sampled_from(GANGS))
    return st.builds(Asked, st.sampled_from(OPENINGS), taken, st.lists(questions, max_size=4).map(tuple), comes)


@settings(max_examples=1000 if settings().max_examples > 100 else 30)
@given(st.lists(st.lists(asked(), min_size=1, max_size=4), min_size=2, max_size=4))
def test_what_is_remembered_changes_no_answer(passes: list[list[Asked]]) -> None:
    ledgers = LedgerCache()
    for asks in passes:
        plain = {id(each.opening): each.opening.open() for each in asks}
        kept: dict[int, Ledger] = {}
        for each in asks:  # within a pass everybody asks the same ledger
            ledger = kept.setdefault(id(each.opening), ledgers.opened(each.opening))
            assert each.answers(ledger) == each.answers(plain[id(each.opening)])
        ledgers.forget_unused()


OPENED = opening(GROWING, snapshot(4, 4, groups=(GROUP,), nodeGroups=[EXHAUSTED]))


@pytest.mark.parametrize(
    ("again", "same"),
    [
        pytest.param(OPENED, True, id="nothing"),
        pytest.param(replace(OPENED, columns=Columns(OPENED.columns.names)), True, id="equal columns"),
        pytest.param(replace(OPENED, gangs=dict(OPENED.gangs)), True, id="equal gangs"),
        pytest.param(replace(OPENED, now=NOW + timedelta(minutes=59)), True, id="time in which nothing ends"),
        pytest.param(replace(OPENED, now=NOW + timedelta(minutes=60)), False, id="the end of an exhaustion"),
        pytest.param(replace(OPENED, cluster=OPENED.cluster.model_copy()), False, id="another Cluster"),
        pytest.param(replace(OPENED, snapshot=OPENED.snapshot.model_copy()), False, id="another snapshot"),
        pytest.param(replace(OPENED, columns=Columns(["cpu", "new"])), False, id="a resource more"),
        pytest.param(replace(OPENED, gangs={"ns/shown": GANGS[1]}), False, id="other manifests of what it shows"),
        pytest.param(replace(OPENED, slice_topology="rack"), False, id="another topology of slices"),
        pytest.param(replace(OPENED, namespaces={"ns": {"team": "a"}}), False, id="other labels of a namespace"),
        pytest.param(replace(OPENED, namespaces={}), True, id="no labels of namespaces still"),
    ],
)
def test_a_ledger_stays_open_while_all_it_depends_on_is_the_same(again: Opening, same: bool) -> None:
    ledgers = LedgerCache()
    before = ledgers.opened(OPENED)
    assert (ledgers.opened(again).nodes is before.nodes) is same


MINDS = (*gang(1, 1, 80), *gang(1, 2, 80))
"""Pods of two sorts that keep each other off their nodes: that takes a trial."""


def test_what_an_earlier_pass_has_tried_is_not_known_without_a_trial() -> None:
    ledgers = LedgerCache()
    for _ in range(2):
        ledger = ledgers.opened(OPENED)
        assert not ledger.proves(MINDS)
        assert ledger.is_certain(MINDS)
        assert ledger.proves(MINDS)


def test_what_was_tried_to_take_room_is_known_to_every_pass_that_takes_it() -> None:
    ledgers = LedgerCache()
    for _ in range(2):
        ledger = ledgers.opened(OPENED)
        found, certain = ledger.replay(("tried",), lambda made, _: [made.is_certain(MINDS)])
        assert certain == (True,)
        assert ledger.proves(MINDS)
        assert found.proves(MINDS)


FLEET = {name: replace(OPENED, cluster=cluster(name)) for name in "abcdefgh"}


def test_every_ledger_is_opened_anew_before_long_and_never_all_at_once() -> None:
    ledgers = LedgerCache()
    first = before = {name: ledgers.opened(each).nodes for name, each in FLEET.items()}
    for _ in range(PASSES):
        ledgers.forget_unused()
        now = {name: ledgers.opened(each).nodes for name, each in FLEET.items()}
        assert sum(now[name] is not before[name] for name in FLEET) <= 1
        before = now
    assert not any(before[name] is first[name] for name in FLEET)


def test_clusters_that_nobody_asks_for_are_forgotten() -> None:
    ledgers = LedgerCache()
    first = {name: ledgers.opened(each).nodes for name, each in FLEET.items()}
    ledgers.forget_unused()
    ledgers.opened(FLEET["a"])
    ledgers.forget_unused()
    assert ledgers.opened(FLEET["a"]).nodes is first["a"]
    assert ledgers.opened(FLEET["b"]).nodes is not first["b"]


def test_a_ledger_remembers_the_outcomes_that_were_asked_for_last() -> None:
    ledgers, made = LedgerCache(), []
    for number in (*range(REPLAYS + 1), 1, REPLAYS + 2):
        ledgers.opened(OPENED).replay((number,), lambda _, begun: [made.append(number)])  # noqa: B023
    assert made == [*range(REPLAYS + 1), REPLAYS + 2]
    ledgers.opened(OPENED).replay((0,), lambda _, begun: [made.append(0)])
    assert made[-1] == 0


@pytest.mark.parametrize(("in_parts", "taken"), [(True, [0, 1, 2]), (False, [0, 1, 0, 1, 2])])
def test_who_comes_behind_those_who_are_there_costs_what_he_takes(in_parts: bool, taken: list[int]) -> None:
    ledger, made = LedgerCache().opened(OPENED), list[int]()

    def take(moves: tuple[int, ...], begun: int) -> tuple[int, ...]:
        made.extend(moves[begun:])
        return moves[begun:]

    for moves in ((0, 1), (0, 1, 2)):
        _, answers = ledger.replay(moves, lambda _, begun: take(moves, begun), in_parts=in_parts)  # noqa: B023
        assert answers == moves
    assert made == taken
    ledger.replay((1, 2), lambda _, begun: take((1, 2), begun), in_parts=in_parts)
    assert made == [*taken, 1, 2], "others are not those who are there"


def test_what_fits_is_found_out_once_for_all_copies_until_they_are_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Gang] = []
    find = Ledger._fit
    monkeypatch.setattr(Ledger, "_fit", lambda self, gang, up: (asked.append(gang), find(self, gang, up))[1])
    ledger = OPENINGS[0].open()
    first = ledger.fit(GANGS[0], scale_up=False)
    assert isinstance(first, Packing)
    copies = [ledger.copy() for _ in range(3)]
    assert [copy.fit(GANGS[0], scale_up=False) for copy in copies] == [first] * 3
    assert asked == [GANGS[0]]
    copies[0].reserve("a/b", first, GANGS[0])
    copies[0].fit(GANGS[0], scale_up=False)
    assert asked == [GANGS[0]] * 2
    ledger.fit(GANGS[0], scale_up=False)
    assert asked == [GANGS[0]] * 2

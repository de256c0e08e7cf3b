"""
The survey of a fleet says the same as a look at each cluster, however the ledgers were written to before.

The oracle is the plain path: one cluster's room, and how many pods of a shape each of its nodes takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import Requirement, Taint, Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, NodeTerm, PodSet, PodShape
from gitplacer.placement import books as books_module
from gitplacer.placement import journal, survey
from gitplacer.placement.books import FEW, Books
from gitplacer.placement.journal import Journal
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodeclasses import NodeClasses
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Room, pack_what_fits
from gitplacer.placement.survey import BLOCKS, Survey
from gitplacer.scheduler.filters import obstacle
from gitplacer.scheduler.objects import Node as NodeShape
from gitplacer.scheduler.patience import Patience

COMPILED = "gitplacer.placement.compiledsurvey"
API = "gitplacer.dev/v1alpha1"
GPU = "nvidia.com/gpu"
KEYS = ("disk", "zone")


def snapshot(name: str, nodes: Iterable[dict[str, Any]]) -> CapacitySnapshot:
    return CapacitySnapshot.model_validate(
        {
            "apiVersion": API, "kind": "CapacitySnapshot", "metadata": {"name": name},
            "observedAt": "2026-01-02T03:04:05Z", "nodes": [{"name": f"n{i}", **node} for i, node in enumerate(nodes)],
        }
    )  # fmt: skip


def cluster(name: str) -> Cluster:
    return Cluster.model_validate({"apiVersion": API, "kind": "Cluster", "metadata": {"name": name}, "spec": {}})


def books_of(snapshots: list[CapacitySnapshot], gangs: Iterable[Gang]) -> Books:
    columns = Columns.of(snapshots, [], gangs)
    return Books({s.name: Ledger(cluster(s.name), s, columns) for s in snapshots}, columns)


REQUIREMENTS = st.builds(
    Requirement,
    key=st.sampled_from(KEYS),
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    values=st.sampled_from((("a",), ("b", "c"))),
)
TERMS = st.builds(NodeTerm, labels=st.lists(REQUIREMENTS, max_size=2).map(tuple))
POD_SHAPES = st.builds(
    PodShape,
    requests=st.builds(
        lambda cpu, gpu: Resources({"cpu": cpu, GPU: gpu}), st.integers(0, 3), st.sampled_from((0, 0, 1, 2))
    ),
    node_selector=st.sampled_from(((), (), (("zone", "a"),))),
    affinity=st.none() | st.lists(TERMS, max_size=2).map(tuple),
    tolerations=st.sampled_from(((), (Toleration("gpu", "Exists"),), (Toleration("", "Exists"),))),
)
GANGS = st.lists(
    st.builds(PodSet, role=st.sampled_from(("head", "worker/w")), count=st.integers(0, 4), shape=POD_SHAPES),
    min_size=1,
    max_size=3,
).map(tuple)
LABELS = st.dictionaries(st.sampled_from((*KEYS, "other")), st.sampled_from("abc"), max_size=3)
NODES = st.fixed_dictionaries(
    {
        "count": st.sampled_from((1, 1, 1, 3)),
        "labels": LABELS,
        "taints": st.sampled_from(([], [{"key": "gpu", "effect": "NoSchedule"}])),
        "unschedulable": st.sampled_from((False, False, False, True)),
        "ready": st.sampled_from((True, True, True, False)),
        "allocatable": st.builds(
            lambda cpu, gpu, pods: {"cpu": f"{cpu}m", GPU: gpu, **({} if pods is None else {"pods": pods})},
            st.integers(0, 6),
            st.sampled_from(("0", "0", "2", "4")),
            st.sampled_from((None, "0", "2")),
        ),
        "used": st.builds(lambda cpu: {"cpu": f"{cpu}m"}, st.integers(0, 3)),
    }
)
FLEETS = st.lists(st.lists(NODES, max_size=3), min_size=1, max_size=12).map(
    lambda fleet: [snapshot(f"c{i:02}", nodes) for i, nodes in enumerate(fleet)]
)


def counting(kept: Survey, module: str) -> Survey:
    """A survey that counts as a module does, or in arrays if there is none."""
    twin = kept.copy()
    twin._patience = Patience(module, 0)
    return twin


def places_by_cluster(books: Books, shape: PodShape, names: list[str]) -> list[int]:
    return [books[name].room().without_promises.takes(shape).total for name in names]


def beside(room: Room, shape: PodShape) -> list[int]:
    """Places by the size of their block, node by node."""
    counts = [0] * len(BLOCKS)
    gpus = room.nodes.columns.names.index(GPU) if GPU in room.nodes.columns.names else None
    for fits, free in zip(room.takes(shape).able.tolist(), room.free.tolist(), strict=True):
        devices = max(0, free[gpus]) if gpus is not None else 0
        counts[max(i for i, size in enumerate(BLOCKS.tolist()) if size <= devices)] += fits
    return counts


@given(fleet=FLEETS, gangs=st.lists(GANGS, min_size=1, max_size=4), writes=st.lists(st.integers(0, 99), max_size=8))
def test_the_survey_counts_as_each_ledger_does_after_any_writing(
    fleet: list[CapacitySnapshot], gangs: list[Gang], writes: list[int]
) -> None:
    books, names = books_of(fleet, gangs), [s.name for s in fleet]
    twins = [counting(books._survey, module) for module in ("no.such.module", COMPILED)]
    there: list[tuple[str, str]] = []
    for number in [*writes, 0]:
        gang, name = gangs[number % len(gangs)], names[number % len(names)]
        kept, asked = books._survey, np.arange(len(names))[:: 1 + number % 3]
        for pods in gang:
            plain = places_by_cluster(books, pods.shape, [names[index] for index in asked])
            for each in (kept, *twins):
                assert each.places(pods.shape, asked).tolist() == plain
            by_node = [(books[names[i]].room().without_promises, pods.shape) for i in asked]
            for each in (kept, *twins):
                assert each.beside_blocks(pods.shape, asked).tolist() == [beside(*one) for one in by_node]
            in_arrays, compiled = (counting(kept, module) for module in ("no.such.module", COMPILED))
            assert compiled.counted(pods.shape, asked).tolist() == in_arrays.counted(pods.shape, asked).tolist()
        told = [
            (each.may_have_room(gang, asked).tolist(), [some.tolist() for some in each.tightness(gang, asked)])
            for each in (kept, *twins)
        ]
        assert told[1:] == told[:1] * 2
        left = set(not_ruled_out(books, gang, names))
        fitting = {name for name in names if isinstance(books.fit(gang, name, scale_up=False), Packing)}
        assert fitting <= left
        enough = {
            name
            for name in names
            if all(
                books[name].room().takes(shape).total >= sum(p.count for p in gang if p.shape == shape)
                for shape in {pods.shape for pods in gang}
            )
        }
        assert left <= enough
        if number % 3 == 0 and there:
            group, name = there.pop(number % len(there))
            books.release(group, name)
        else:
            books.reserve(f"g{number}", name, pack_what_fits(books[name].room(), gang))
            there = [one for one in there if one != (f"g{number}", name)] + [(f"g{number}", name)]
        for each in twins:
            each.update(names.index(name), books[name])


@given(fleet=FLEETS, gangs=st.lists(GANGS, min_size=2, max_size=2), which=st.integers(0, 11))
def test_what_is_written_to_a_copy_is_not_seen_in_the_original_nor_the_other_way(
    fleet: list[CapacitySnapshot], gangs: list[Gang], which: int
) -> None:
    books, names = books_of(fleet, gangs), [s.name for s in fleet]
    name = names[which % len(names)]
    twin, untouched = books.copy(), books.copy()
    before = [free(untouched, n) for n in names]
    for written, gang in zip((books, twin), gangs, strict=True):
        written.reserve("g", name, pack_what_fits(written[name].room(), gang))
    assert [free(untouched, n) for n in names] == before
    alone = books_of(fleet, gangs)
    alone.reserve("g", name, pack_what_fits(alone[name].room(), gangs[1]))
    assert [free(twin, n) for n in names] == [free(alone, n) for n in names]
    assert not_ruled_out(twin, gangs[0], names) == not_ruled_out(alone, gangs[0], names)


def test_copies_know_the_blocks_of_their_own_nodes() -> None:
    fleet = [snapshot("a", [{"allocatable": {"cpu": "8", GPU: "8", "pods": "99"}}])]
    shapes = [PodShape(Resources({"cpu": cpu, GPU: 1})) for cpu in (1, 2, 3)]
    books = books_of(fleet, [tuple(PodSet("head", 1, shape) for shape in shapes)])
    books._survey = counting(books._survey, COMPILED)
    everywhere = books.numbers(["a"])
    assert books._survey.beside_blocks(shapes[0], everywhere).tolist() == [[0, 0, 0, 0, 8, 0, 0, 0]]
    twin = books.copy()
    for written, count in ((twin, 7), (books, 5)):
        gang = (PodSet("worker/w", count, shapes[0]),)
        written.reserve("g", "a", pack_what_fits(written["a"].room(), gang))
    for shape in shapes[1:]:
        assert twin._survey.beside_blocks(shape, everywhere).tolist() == [[0, 1, 0, 0, 0, 0, 0, 0]]
        assert books._survey.beside_blocks(shape, everywhere).tolist() == [[0, 0, 3, 0, 0, 0, 0, 0]]


@settings(max_examples=200, deadline=None)
@given(fleet=FLEETS, gangs=st.lists(GANGS, min_size=1, max_size=4), data=st.data())
def test_who_has_prospects_is_found_at_once_as_step_by_step(
    fleet: list[CapacitySnapshot], gangs: list[Gang], data: st.DataObject
) -> None:
    books, names = books_of(fleet, gangs), [s.name for s in fleet]
    which, where, few = st.sampled_from(gangs), st.sampled_from(names), data.draw(st.integers(0, 3))
    asked = np.array(data.draw(st.lists(st.sampled_from(range(len(names))), min_size=1, unique=True)), dtype=np.intp)
    some = st.lists(st.sampled_from((0, 0, 0, 1)), min_size=len(names), max_size=len(names))
    liked, asleep, lucky = (np.array(data.draw(some), dtype=np.int64) for _ in range(3))
    gang, open_ = data.draw(which), None
    if not data.draw(st.booleans(), label="alike"):
        open_ = np.array([data.draw(st.booleans()) for _ in asked])
    told = []
    with patch.multiple(books_module, FEW=few, MANY=2 * few):
        for i, (added, name) in enumerate(data.draw(st.lists(st.tuples(which, where), max_size=12))):
            books.reserve(f"g{i}", name, pack_what_fits(books[name].room(), added), added)
        for doubted, name in data.draw(st.lists(st.tuples(which, where), max_size=8)):
            books.doubts.add_unproved(doubted, name)
        for doubted, name, count in data.draw(st.lists(st.tuples(which, where, st.integers(1, 3)), max_size=12)):
            books.doubts.add_alone(doubted[0].shape, count, name)
        for module in ("no.such.module", COMPILED):
            books._survey = counting(books._survey, module)
            keys = liked[: len(asked)], asleep[: len(asked)]
            found = books.prospects(gang, asked, *keys, lucky > 0, open_=open_)
            best, left = list(found.best), asked[found.open].tolist()
            in_order = list(books.best_first(gang, asked, *keys))
            several = best if len(best) > 1 else [number for number, _ in best]
            told.append((several, left, found.hopeless.tolist(), in_order))
            assert left == asked[books.may_have_room(gang, asked) if open_ is None else open_].tolist()
            assert sorted([number for number, _ in best] + found.hopeless.tolist()) == sorted(left)
            assert sorted(in_order) == sorted(asked.tolist())
    event(f"hopeless: {bool(told[0][2])}, several: {len(told[0][0]) > 1}, ruled out: {len(told[0][1]) < len(asked)}")
    assert told[0] == told[1]


@given(
    keys=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from((0.0, 0.5, 2.0**53))), max_size=60),
    asked=st.integers(0, 60),
)
def test_clusters_come_in_order_however_few_are_asked_for(keys: list[tuple[int, bool, float]], asked: int) -> None:
    numbers = np.arange(len(keys)) * 2 + 1
    columns = [np.array(column) for column in zip(*keys, strict=True)] or [np.zeros(0)] * 3
    given_keys = columns[0].astype(np.int64), columns[1].astype(np.bool_), columns[2].astype(np.float64).view(np.int64)
    expected = [number for _, number in sorted(zip(keys, numbers.tolist(), strict=True))]
    survey = books_of([snapshot("a", [])], [])._survey
    for module in ("no.such.module", COMPILED):
        found = counting(survey, module).in_order(numbers, given_keys)
        assert [int(numbers[at]) for at in islice(found, asked)] == expected[:asked]


def not_ruled_out(books: Books, gang: Gang, names: list[str]) -> list[str]:
    asked = books.numbers(names)
    return [books.names[number] for number in asked[books.may_have_room(gang, asked)]]


def tightness(books: Books, gang: Gang) -> dict[str, tuple[int, float]]:
    broken, free = books._survey.tightness(gang, books.numbers(books.names))
    return dict(zip(books.names, zip(broken.tolist(), free.tolist(), strict=True), strict=True))


def free(books: Books, name: str) -> list[list[int]]:
    rows: list[list[int]] = books[name].free_on_nodes().tolist()
    return rows


@given(pod=POD_SHAPES, labels=st.lists(LABELS, min_size=1, max_size=8), data=st.data())
def test_a_class_of_nodes_is_judged_as_each_of_its_nodes(
    pod: PodShape, labels: list[dict[str, str]], data: st.DataObject
) -> None:
    taints = st.sampled_from(((), (Taint("gpu"),), (Taint("gpu", "x", "NoExecute"),)))
    shapes = [
        NodeShape(
            name="",
            labels=tuple(sorted(one.items())),
            taints=data.draw(taints),
            unschedulable=data.draw(st.booleans()),
            ready=data.draw(st.booleans()),
        )
        for one in labels
    ]
    assert NodeClasses(shapes).admits(pod).tolist() == [obstacle(pod, shape) is None for shape in shapes]


def test_a_filter_is_asked_once_for_each_class_and_not_for_each_label_of_a_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def counting(pod: PodShape, node: NodeShape) -> None:
        asked.append(node)

    monkeypatch.setattr("gitplacer.placement.nodeclasses.obstacle", counting)
    shapes = [NodeShape(name="", labels=(("disk", "ab"[i % 2]), ("zone", f"z{i}"))) for i in range(100)]
    classes = NodeClasses(shapes)
    assert classes.admits(PodShape(node_selector=(("disk", "a"),))).all()
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("a", "b", "gang", "first"),
    [
        ("8", "1 1 1", "2 × 1", "b"),  # two of eight would leave no eight
        ("8 8", "4 8", "1 × 4", "b"),
        ("8 8", "8", "1 × 8", "b"),  # a whole node breaks as much on either; b has fewer left
        ("8", "7", "1 × 1", "b"),  # a node that is broken already
        ("1 8", "4", "2 × 1", "b"),  # 1 and 8 are broken here, 4 and 4 there
        ("2 2", "3", "2 × 1", "b"),
        ("8", "0 1", "1 × 0", "b"),  # a pod that wants none stays beside none
        ("8", "1", "1 × 0", "b"),
        ("4", "4", "1 × 1", "a"),  # then the name
    ],
)
def test_the_cluster_is_taken_where_the_smallest_blocks_of_devices_are_broken(
    a: str, b: str, gang: str, first: str
) -> None:
    count, gpus = map(int, gang.split(" × "))
    asked = (PodSet("worker/w", count, PodShape(Resources({"cpu": 1, GPU: gpus}))),)
    fleet = [
        snapshot(name, [{"allocatable": {"cpu": "4", GPU: gpus}} for gpus in nodes.split()])
        for name, nodes in (("a", a), ("b", b))
    ]
    tight = tightness(books_of(fleet, [asked]), asked)
    assert min(tight, key=lambda name: (tight[name], name)) == first


def test_heads_do_not_outweigh_the_workers_that_want_devices() -> None:
    head = PodSet("head", 1, PodShape(Resources({"cpu": 1})))
    worker = PodSet("worker/w", 1, PodShape(Resources({"cpu": 1, GPU: 1})))
    fleet = [
        snapshot("a", [{"allocatable": {"cpu": "4", GPU: "4"}}, {"allocatable": {"cpu": "4"}}]),
        snapshot("b", [{"allocatable": {"cpu": "4", GPU: "2"}}]),
    ]
    tight = tightness(books_of(fleet, [(head, worker)]), (head, worker))
    assert tight == {"a": (4, 4), "b": (2, 2)}


def test_absurd_quantities_rule_out_no_cluster_that_has_room() -> None:
    most = str(2**63 - 1)
    node = {"allocatable": {"cpu": "4", "ephemeral-storage": most, "pods": most}}
    fleet = [snapshot("a", [node] * 40)]
    gang = (PodSet("head", 40, PodShape(Resources({"ephemeral-storage": 1}))),)
    assert not_ruled_out(books_of(fleet, [gang]), gang, ["a"]) == ["a"]


def test_pods_that_ask_for_a_node_by_name_are_left_to_the_closer_look() -> None:
    """There are as many of their shapes as nodes, and the table would be passed over once for each."""
    gang = tuple(PodSet("pod", 1, PodShape(node_name=f"n{i}")) for i in range(3))
    books = books_of([snapshot("a", [{"allocatable": {"cpu": "1"}}] * 2)], [gang])
    assert not_ruled_out(books, gang, ["a"]) == ["a"]
    assert not books._survey._beside
    assert not isinstance(books.fit(gang, "a", scale_up=False), Packing)


def test_a_reservation_is_counted_in_the_rows_it_touches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patience, "compiled", None)  # whatever other tests did in this process
    gang = (PodSet("head", 1, PodShape(Resources({"cpu": 1}))),)
    fleet = [snapshot(f"c{i:02}", [{"allocatable": {"cpu": "4"}}] * 5) for i in range(50)]
    names = [s.name for s in fleet]
    books = books_of(fleet, [gang])
    not_ruled_out(books, gang, names)
    counted: list[int] = []
    fits = survey._fits

    def counting(free: Any, request: Any) -> Any:
        counted.append(free.shape[1])
        return fits(free, request)

    monkeypatch.setattr(survey, "_fits", counting)
    not_ruled_out(books, gang, names)
    assert counted == []
    found = books.fit(gang, "c07", scale_up=False)
    assert isinstance(found, Packing)
    books.reserve("g", "c07", found)
    not_ruled_out(books, gang, names)
    assert counted == [2]  # one node: what it had, and what it has now


@given(
    fleet=FLEETS,
    gangs=st.lists(GANGS, min_size=1, max_size=3),
    writes=st.lists(st.integers(0, 99), max_size=8),
    most=st.integers(0, 6),
)
def test_of_what_was_forgotten_all_is_counted_anew(
    fleet: list[CapacitySnapshot], gangs: list[Gang], writes: list[int], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "LEAST", most)
        test_the_survey_counts_as_each_ledger_does_after_any_writing.hypothesis.inner_test(fleet, gangs, writes)  # type: ignore[attr-defined]


def test_a_journal_tells_what_was_changed_since_and_what_it_has_forgotten() -> None:
    kept = Journal(2, 100)
    for number in range(70):
        kept.note(number, np.array([number]), np.array([[number, 0]]), np.array([[0, number]]))
    twin = kept.copy()
    twin.note(9, np.array([1, 2]), np.zeros((2, 2), dtype=np.int64), np.ones((2, 2), dtype=np.int64))
    found, more = kept.since(68), twin.since(69)
    assert found is not None and more is not None
    assert (found.rows.tolist(), found.clusters.tolist()) == ([68, 69], [68, 69])
    assert (found.before.tolist(), found.after.tolist()) == ([[68, 0], [69, 0]], [[0, 68], [0, 69]])
    assert (more.rows.tolist(), more.clusters.tolist()) == ([69, 1, 2], [69, 9, 9])
    kept.note(5, np.arange(40), np.zeros((40, 2), dtype=np.int64), np.ones((40, 2), dtype=np.int64))
    assert kept.since(69) is None
    then = kept.since(70)
    assert then is not None and len(then.rows) == 40
    kept.note(5, np.arange(101), np.zeros((101, 2), dtype=np.int64), np.ones((101, 2), dtype=np.int64))
    assert kept.since(110) is None  # more than it keeps


def test_places_that_32_bits_do_not_hold_are_counted_anew_each_time() -> None:
    pod = PodShape(Resources({"ephemeral-storage": 1}))
    most = str(2**63 - 1)
    node = {"allocatable": {"cpu": "4", "ephemeral-storage": most, "pods": most}}
    books, gang = books_of([snapshot("a", [node] * 3)], [(PodSet("head", 5, pod),)]), (PodSet("head", 5, pod),)
    asked = np.arange(1)
    for module in ("no.such.module", COMPILED):
        counted = counting(books._survey, module)
        before = counted.places(pod, asked).tolist()
        written = books.copy()
        written._survey = counted
        written.reserve("g", "a", pack_what_fits(written["a"].room(), gang))
        assert counted.places(pod, asked).tolist() == before == [2**31 - 1]


@pytest.mark.parametrize("free", [2**52 - 1, 2**53 + 1, 3 * 2**58 - 1])
@pytest.mark.parametrize("asked", [1, 3, 2**26 + 1, 2**52 - 1, 2**58])
def test_large_amounts_are_divided_as_whole_numbers(free: int, asked: int) -> None:
    pod = PodShape(Resources({"cpu": asked, "memory": 0}))
    fleet = [
        snapshot(
            "a", [{"allocatable": {"cpu": f"{free}m", "pods": "9"}}, {"allocatable": {"cpu": f"{asked}m", "pods": "3"}}]
        )
    ]
    survey = books_of(fleet, [(PodSet("head", 1, pod),)])._survey
    for module in ("no.such.module", COMPILED):
        assert counting(survey, module).places(pod, np.array([0])).tolist() == [min(free // asked, 9) + 1]


@pytest.mark.parametrize(("labelled", "ruled_out"), [("gke-nodepool", ["b"]), ("rack", ["a", "b"]), ("", ["a", "b"])])
def test_where_no_node_is_part_of_a_slice_there_is_no_room_for_its_hosts(labelled: str, ruled_out: list[str]) -> None:
    host = {"allocatable": {"cpu": "4", "google.com/tpu": "4"}}
    labels = {f"cloud.google.com/{labelled}": "one"} if labelled else {}
    fleet = [snapshot("a", [{**host, "labels": labels}] * 2), snapshot("b", [host] * 2)]
    gang = (PodSet("worker/t", 2, PodShape(Resources({"google.com/tpu": 4})), slice_size=2),)
    books = books_of(fleet, [gang])
    assert {"a", "b"} - set(not_ruled_out(books, gang, ["a", "b"])) == set(ruled_out)
    alone = (replace(gang[0], slice_size=1),)
    assert not_ruled_out(books, alone, ["a", "b"]) == ["a", "b"]
    nobody = (replace(gang[0], count=0),)
    assert not_ruled_out(books, nobody, ["a", "b"]) == ["a", "b"]


@pytest.mark.parametrize(("coming", "times"), [(0, 0.0), (FEW, 0.0), (FEW + 1, 3.0)])
def test_what_was_asked_for_in_vain_counts_where_it_is_not_soon_told(coming: int, times: float) -> None:
    """There a gang is tried at once, and which clusters it is tried on must not depend on who came before."""
    small, large = (PodShape(Resources({"cpu": cpu})) for cpu in (1, 3))
    books = books_of([snapshot("a", [{"allocatable": {"cpu": "4"}}] * 9)], [(PodSet("head", 1, large),)])
    books.doubts.add_alone(small, 1, "a")
    there = (PodSet("worker/w", coming, small),)
    books.reserve("g", "a", pack_what_fits(books["a"].room(), there), there)
    assert books.how_unlikely((PodSet("head", 1, large),), books.numbers(["a"])).tolist() == [times]


@pytest.mark.parametrize(("workers", "full"), [(20, False), (21, True)])
def test_where_no_place_is_left_for_each_pod_to_come_a_proof_is_unlikely(workers: int, full: bool) -> None:
    pods = PodShape(Resources({"cpu": 1}))
    books = books_of(
        [snapshot("a", [{"allocatable": {"cpu": f"{2 * workers}m", "pods": "99"}}])], [(PodSet("head", 1, pods),)]
    )
    there = (PodSet("worker/w", workers, pods),)
    books.reserve("g", "a", pack_what_fits(books["a"].room(), there), there)
    assert books.how_unlikely((PodSet("head", 1, pods),), books.numbers(["a"])).tolist() == [float(full)]

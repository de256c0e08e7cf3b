"""
Machine code and the plain simulation say the same of every run. The law is tried on boards of all sorts, small ones with many ties and large
ones, of which the scheduler looks at a part.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.model.labels import Requirement, Taint, Toleration
from gitplacer.model.podrules import HostPort, PodTerm, Selector, SpreadConstraint
from gitplacer.model.resources import Resources
from gitplacer.model.workload import NodeTerm
from gitplacer.placement import foresight
from gitplacer.scheduler import answer
from gitplacer.scheduler.board import RESOURCE_SCORES, Board
from gitplacer.scheduler.objects import Node, Pod
from gitplacer.scheduler.patience import Patience
from gitplacer.scheduler.player import Players
from gitplacer.scheduler.reading import ClusterObjects
from gitplacer.scheduler.simulation import Profile, simulate
from gitplacer.scheduler.site import Site

GPU = "nvidia.com/gpu"
GI = 2**30
HOST = "kubernetes.io/hostname"
TAINTS = [
    Taint("only", "", "NoSchedule"),
    Taint("rather-not", "", "PreferNoSchedule"),
    Taint("nor-here", "", "PreferNoSchedule"),
]

amounts = st.fixed_dictionaries(
    {"cpu": st.sampled_from([500, 1000, 1500, 2000, 3000]), "memory": st.integers(0, 4).map(lambda n: n * GI)},
    optional={GPU: st.integers(1, 3)},
)


terms = st.builds(
    PodTerm,
    topology_key=st.sampled_from(["host", "zone", "nowhere"]),
    selector=st.sampled_from([Selector((Requirement("app", "In", (app,)),)) for app in "ab"] + [Selector(())]),
    namespaces=st.just(("default",)),
)


spreads = st.builds(
    SpreadConstraint,
    topology_key=st.sampled_from([HOST, "zone", "zone", "half", "nowhere"]),
    selector=st.sampled_from([Selector((Requirement("app", "In", (app,)),)) for app in "ab"]),
    max_skew=st.integers(1, 3),
    hard=st.booleans(),
    min_domains=st.sampled_from([1, 1, 3]),
)


tastes = st.tuples(
    st.integers(1, 100),
    st.sampled_from([NodeTerm((Requirement("zone", "In", (zone,)),), ()) for zone in "ab"]),
)


@st.composite
def pods(draw: st.DrawFn, number: int, *, looks: bool) -> Pod:
    asked = draw(amounts) if draw(st.integers(0, 9)) else {}
    ports = (HostPort("0.0.0.0", "TCP", draw(st.integers(8080, 8081))),) if draw(st.integers(0, 4)) == 0 else ()
    return Pod(
        name=f"pod-{number}",
        requests=Resources(asked),
        scored_cpu=asked.get("cpu", 100),
        scored_memory=asked.get("memory", 200 * 2**20),
        node_selector=(("zone", "a"),) if draw(st.integers(0, 4)) == 0 else (),
        ports=ports,
        labels=(("app", draw(st.sampled_from("abc"))),) if looks else (),
        pod_anti_affinity=tuple(draw(st.lists(terms, max_size=2))) if looks else (),
        pod_affinity=tuple(draw(st.lists(terms, max_size=1))) if looks else (),
        preferred_pods=tuple(draw(st.lists(st.tuples(st.integers(-100, 100), terms), max_size=2))) if looks else (),
        spread=tuple(draw(st.lists(spreads, max_size=3))) if looks else (),
        preferred_nodes=tuple(draw(st.lists(tastes, max_size=2))),
        tolerations=(Toleration("rather-not", "Exists"),) if draw(st.booleans()) else (),
    )


@st.composite
def nodes(draw: st.DrawFn, number: int) -> Node:
    cpu = draw(st.sampled_from([0, 2000, 4000, 8000]))
    offered = {"cpu": cpu, "memory": draw(st.sampled_from([4, 8])) * GI, "pods": draw(st.sampled_from([3, 110]))}
    if draw(st.booleans()):
        offered[GPU] = draw(st.integers(1, 4))
    used = draw(st.sampled_from([{}, {"cpu": 1000}, {"cpu": 500, "memory": GI}, {"cpu": 9000, GPU: 1}]))
    return Node(
        name=f"node-{number:03}",
        labels=(
            ("zone", draw(st.sampled_from("abc"))),
            ("host", f"node-{number:03}"),
            (HOST, f"node-{number:03}"),
            *((("half", draw(st.sampled_from("xy"))),) if draw(st.booleans()) else ()),
        ),
        taints=tuple(draw(st.lists(st.sampled_from(TAINTS), max_size=2, unique=True)))
        if draw(st.integers(0, 4)) == 0
        else (),
        allocatable=Resources(offered),
        used=Resources(used),
    )


@st.composite
def boards(draw: st.DrawFn) -> Board:
    """Few nodes, some of them alike, or so many copies that there are more than a hundred; classes of pods, each with some copies, which look at others or do not."""
    different = [draw(nodes(number)) for number in range(draw(st.integers(1, 6)))]
    large = draw(st.integers(0, 3)) == 0
    if large or draw(st.booleans()):
        many = draw(st.integers(98, 230) if large else st.integers(2, 8))
        different = [_named(different[i % len(different)], f"node-{i:03}") for i in range(many)]
    looks = draw(st.booleans())
    running = [
        replace(draw(pods(90 + number, looks=True)), node_name=draw(st.sampled_from(different)).name)
        for number in range(draw(st.integers(0, 3)) if looks else 0)
    ]
    gang = [
        _named(pod, f"{pod.name}-{copy}")
        for pod in [draw(pods(number, looks=looks)) for number in range(draw(st.integers(1, 5)))]
        for copy in range(draw(st.integers(1, 6)))
    ]
    return Board(Site(ClusterObjects(tuple(different), tuple(running), {})), gang)


def _named(thing: Any, name: str) -> Any:
    return type(thing)(**{**{f: getattr(thing, f) for f in thing.__struct_fields__}, "name": name})


profiles = st.builds(
    Profile,
    score=st.sampled_from(RESOURCE_SCORES),
    ties=st.sampled_from(["first", "last", "drawn", "harm"]),
    seed=st.integers(0, 170),
    late=st.sampled_from([0, 0, 1, 2, 300]),
)


@given(board=boards(), profile=profiles, whole=st.booleans(), data=st.data())
@settings(max_examples=120, deadline=None)
def test_a_compiled_run_is_the_plain_one(board: Board, profile: Profile, whole: bool, data: st.DataObject) -> None:
    compiled = importlib.import_module("gitplacer.scheduler.compiled")
    assert compiled.Machine.made_for(board)
    order = data.draw(st.permutations(board.class_of))
    may_wait = frozenset(data.draw(st.sets(st.sampled_from(range(len(board.classes))))))
    plain = simulate(board, order, profile, whole=whole, may_wait=may_wait)
    event(f"left: {bool(plain.left)}, by luck: {plain.by_luck}, large: {len(board.nodes) >= 100}")
    event(f"some look at others: {not board.loads_are_all}")
    machine = compiled.Machine(board)
    for other in data.draw(st.lists(profiles, max_size=2)):  # what was found out in one run is used in the next
        machine.run(data.draw(st.permutations(board.class_of)), other)
    assert machine.run(order, profile, whole=whole, may_wait=may_wait) == plain


def near(weight: int, app: str) -> tuple[int, PodTerm]:
    return weight, PodTerm("host", Selector((Requirement("app", "In", (app,)),)), ("default",))


def node(name: str, used: float, *, taints: int = 0) -> Node:
    """A node of which a tenth, or so many of them, is used, and which some rather are not on."""
    return Node(
        name=name,
        labels=(("host", name), (HOST, name)),
        taints=tuple(Taint(f"rather-not-{i}", "", "PreferNoSchedule") for i in range(taints)),
        allocatable=Resources({"cpu": 10_000, "memory": 10 * GI, "pods": 9}),
        used=Resources({"cpu": int(used * 1000), "memory": int(used * GI)}),
    )


def test_what_preferred_terms_are_worth_has_its_weight() -> None:
    """Of resources `empty` is worth 190 and `liked` 110, of what is near 40 and 100: only if that counts twice is `liked` the best."""
    there = (node("empty", 0), node("liked", 8), node("full", 9))
    running = [Pod(name=app, labels=(("app", app),), node_name=on) for app, on in (("x", "empty"), ("y", "liked"))]
    asks = Resources({"cpu": 1000, "memory": GI})
    pod = Pod(
        name="p", requests=asks, scored_cpu=1000, scored_memory=GI, preferred_pods=(near(40, "x"), near(100, "y"))
    )
    board = Board(Site(ClusterObjects(there, tuple(running), {})), [pod])
    compiled = importlib.import_module("gitplacer.scheduler.compiled")
    assert compiled.Machine(board).run([0], Profile()) == simulate(board, [0], Profile())
    assert compiled.Machine(board).run([0], Profile()).bound == ((0, 1),)


def liked(**weights: int) -> tuple[tuple[int, NodeTerm], ...]:
    return tuple((weight, NodeTerm((Requirement("host", "In", (name,)),), ())) for name, weight in weights.items())


@pytest.mark.parametrize(
    ("there", "running", "pod"),
    [
        pytest.param(
            (node("more", 9), node("right", 5.5, taints=1), node("less", 0, taints=3), node("none", 9, taints=10)),
            "", {}, id="taints",
        ),
        pytest.param(
            (node("more", 9), node("right", 4), node("less", 0)),
            "", {"preferred_nodes": liked(more=100, right=80, less=50)}, id="node affinity",
        ),
        pytest.param(
            (node("more", 9), node("right", 4), node("less", 1.5), node("none", 9)),
            "right less less none none none none none none",
            {"spread": (SpreadConstraint(HOST, 1, Selector((Requirement("app", "In", ("x",)),)), hard=False),)},
            id="spreading",
        ),
    ],
)  # fmt: skip
def test_what_a_node_is_worth_besides_its_resources_has_its_weight(
    there: tuple[Node, ...], running: str, pod: dict[str, Any]
) -> None:
    """With more of it `more` were the best, with less `less`."""
    others = tuple(Pod(name=f"x-{i}", labels=(("app", "x"),), node_name=on) for i, on in enumerate(running.split()))
    asked = Pod(
        name="p", requests=Resources({"cpu": 1000, "memory": GI}), scored_cpu=1000, scored_memory=GI,
        labels=(("app", "x"),), **pod,
    )  # fmt: skip
    board = Board(Site(ClusterObjects(there, others, {})), [asked])
    compiled = importlib.import_module("gitplacer.scheduler.compiled")
    assert compiled.Machine(board).run([0], Profile()) == simulate(board, [0], Profile())
    assert compiled.Machine(board).run([0], Profile()).bound == ((0, 1),)


def test_nodes_of_one_load_are_not_alike_to_pods_that_look_at_others() -> None:
    alone = Pod(name="p", labels=(("app", "x"),), pod_anti_affinity=(near(1, "x")[1],))
    board = Board(Site(ClusterObjects((node("a", 0), node("b", 0)), (), {})), [alone])
    compiled = importlib.import_module("gitplacer.scheduler.compiled")
    assert compiled.Machine(board).run([0], Profile()) == simulate(board, [0], Profile())
    assert compiled.Machine(board).run([0], Profile()).by_luck


@pytest.mark.parametrize(
    ("what", "node", "pod"),
    [
        ("amounts that a float would round", {"allocatable": Resources({"cpu": 4000, "memory": 2**53, "pods": 9})}, {}),
        ("pods that ask for more than a float holds", {}, {"requests": Resources({"memory": 2**60})}),
    ],
)
def test_what_it_was_not_made_for_is_played_the_plain_way(what: str, node: Any, pod: Any) -> None:
    compiled = importlib.import_module("gitplacer.scheduler.compiled")
    offered = Resources({"cpu": 4000, "memory": 8 * GI, "pods": 9})
    there = Node(**{"name": "n", "allocatable": offered, **node})
    asked = Resources({"cpu": 1000})
    board = Board(Site(ClusterObjects((there,), (), {})), [Pod(**{"name": "p", "requests": asked, **pod})])
    assert not compiled.Machine.made_for(board)
    assert simulate(board, [0], Profile()) == Players(patience=0).on(board)([0], Profile())


@pytest.fixture
def crowded() -> Board:
    """Two nodes, on which two kinds of pods fit in some orders."""
    there = [Node(name=f"n{i}", allocatable=Resources({"cpu": 3000 + 500 * i, "pods": 9})) for i in range(2)]
    gang = [Pod(name=f"p{i}", requests=Resources({"cpu": 1000 + 500 * (i % 2)})) for i in range(5)]
    return Board(Site(ClusterObjects(tuple(there), (), {})), gang)


def test_an_answer_is_the_same_whoever_plays(crowded: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> Iterator[object]:
        for patience in (10**9, 0):
            monkeypatch.setattr(answer, "PLAYERS", Players(patience))
            yield answer.refuted(crowded)

    plain, compiled = answers()
    assert plain == compiled
    assert isinstance(plain, answer.Refuted), "a gang that no order refutes tells little"


def test_who_plays_little_never_looks_for_numba(crowded: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr("importlib.import_module", lambda name: looked.append(name))
    players = Players(patience=8)
    run = players.on(crowded)(crowded.class_of, Profile())
    players.on(crowded)
    assert len(run.bound) < 8 and not looked
    players.on(crowded)(crowded.class_of, Profile())
    players.on(crowded)
    assert looked == ["gitplacer.scheduler.compiled"]


@pytest.mark.parametrize("expected, looked", [(8, []), (9, ["gitplacer.scheduler.compiled"])])
def test_who_is_to_play_more_than_that_looks_for_numba_at_once(
    crowded: Board, monkeypatch: pytest.MonkeyPatch, expected: int, looked: list[str]
) -> None:
    found: list[str] = []
    monkeypatch.setattr("importlib.import_module", lambda name: found.append(name))
    players = Players(patience=8)
    players.expect(expected)
    players.on(crowded)
    assert found == looked


@pytest.mark.parametrize("groups, looked", [(2, []), (3, ["some.module"])])
def test_a_plan_says_beforehand_how_many_groups_look_for_a_place(
    monkeypatch: pytest.MonkeyPatch, groups: int, looked: list[str]
) -> None:
    found: list[str] = []
    monkeypatch.setattr("importlib.import_module", lambda name: found.append(name))
    some = Patience("some.module", 10)
    monkeypatch.setattr(foresight, "_EACH", ((some, 4),))
    foresight.expect(groups)
    assert (some.compiled, found) == (None, looked)


@pytest.mark.parametrize(
    "fault", [ImportError("No module named 'numba'"), RuntimeError("cannot cache function: no locator available")]
)
def test_without_numba_the_plain_simulation_goes_on(
    crowded: Board, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def absent(name: str) -> None:
        raise fault

    monkeypatch.setattr("importlib.import_module", absent)
    assert Players(patience=0).on(crowded)(crowded.class_of, Profile()) == simulate(
        crowded, crowded.class_of, Profile()
    )

"""Which snapshots are believed: clocks, jumps, and what counts on when one is not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.belief import Gist, Jump, doubt, is_from_the_future, jump, last_believed
from gitplacer.kinds.fleet import Cluster, Jumps
from gitplacer.model.decision import Action
from tests.stories import ANYWHERE, START, Story, cluster, decisions, outcome, rayservice, snapshot

LIMITS = Jumps()
POD = {
    "workloads/x/p.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    "spec: {containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}\n"
}


def gist(text: str, minutes: float = 0) -> Gist:
    """Entries such as `n 20 x cpu=8 gpu=1` separated by semicolons: name, count, and what each offers."""
    nodes = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, count, _, *offers = entry.split()
        nodes[name] = int(count), {k: int(v) for k, _, v in (offer.partition("=") for offer in offers)}
    return Gist(START + timedelta(minutes=minutes), nodes)


def spec(**fields: object) -> Cluster:
    return Cluster.model_validate(
        {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": fields},
        by_alias=True,
    )


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("a 20 x cpu=8", "a 20 x cpu=8", None),
        ("a 20 x cpu=8", "a 60 x cpu=8", None),  # three times as much is no more than three times
        ("a 20 x cpu=8", "a 61 x cpu=8", Jump("nodes", 20, 61)),
        ("a 61 x cpu=8", "a 20 x cpu=8", Jump("nodes", 61, 20)),
        ("a 60 x cpu=8", "a 20 x cpu=8", None),
        ("a 61 x cpu=8", "", Jump("nodes", 61, 0)),
        ("", "a 11 x cpu=8", Jump("nodes", 0, 11)),
        # a few nodes come and go
        ("a 1 x cpu=8", "a 11 x cpu=8", None),
        ("a 10 x cpu=8", "", None),
        # a resource of many nodes, the number of nodes being the same
        ("a 30 x cpu=8; b 20 x cpu=8 gpu=8", "a 30 x cpu=8; b 20 x cpu=8", Jump("gpu", 160, 0)),
        ("a 30 x cpu=8; b 8 x cpu=8 gpu=8", "a 30 x cpu=8; b 8 x cpu=8", None),
        # a machine does not grow, be it alone
        ("a 1 x cpu=8 memory=32", "a 1 x cpu=8 memory=32000", Jump("memory", 32, 32000, "a")),
        ("a 1 x cpu=8 memory=32000", "a 1 x cpu=8 memory=32", Jump("memory", 32000, 32, "a")),
        ("a 1 x cpu=8 memory=32", "b 1 x cpu=8 memory=32000", None),
        # a device plugin comes up
        ("a 1 x cpu=8", "a 1 x cpu=8 gpu=8", None),
    ],
)  # fmt: skip
def test_a_jump_is_what_clusters_do_not_do(before: str, after: str, found: Jump | None) -> None:
    assert jump(gist(before), gist(after), LIMITS) == found


@pytest.mark.parametrize(
    "comes_and_goes", [{"autoscaler": {"type": "Luna"}}, {"standby": {"mode": "Suspend", "idleAfter": "1h"}}]
)
def test_where_nodes_come_and_go_only_a_node_itself_can_jump(comes_and_goes: dict[str, object]) -> None:
    few, many, grown = gist("a 1 x memory=32"), gist("a 90 x memory=32"), gist("a 1 x memory=32000")
    assert jump(few, many, LIMITS, spec()) == Jump("nodes", 1, 90)
    assert jump(few, many, LIMITS, spec(**comes_and_goes)) is None
    assert jump(few, grown, LIMITS, spec(**comes_and_goes)) == Jump("memory", 32, 32000, "a")


@pytest.mark.parametrize(
    ("history", "believed"),
    [
        # sizes at minutes; an absent size cannot be read
        ("20@0", 0),
        ("20@0 22@5", 1),
        ("20@0 99@5", 0),
        ("20@0 99@5 99@14", 0),
        ("20@0 99@5 99@15", 2),
        ("20@0 99@5 99@10 99@15 99@20", 4),
        ("20@0 99@5 20@10", 2),
        ("20@0 99@5 20@10 99@16", 2),  # it begins anew
        ("20@0 99@5 1@15", 0),  # the second disagrees with the first
        ("20@0 99@5 1@15 1@25", 3),
        ("20@0 -@5", 0),
        ("-@0 20@5", 1),
        ("-@0", None),
        ("", None),
        ("20@0 20@65", 1),  # five minutes ahead of the clock, which stands at 60
        ("20@0 20@66", 0),
        ("99@70", None),
        ("20@70 99@10", 1),  # what is of the future is held against nothing
    ],
)
def test_a_jump_is_believed_when_later_snapshots_agree(history: str, believed: int | None) -> None:
    sent = []
    for item in history.split():
        size, _, minutes = item.partition("@")
        sent.append(None if size == "-" else gist(f"a {size} x cpu=8", int(minutes)))
    assert last_believed(sent, LIMITS, START + timedelta(minutes=60)) == believed


def test_without_a_time_to_wait_a_jump_is_believed_at_once() -> None:
    sent = [gist("a 20 x cpu=8", 0), gist("a 99 x cpu=8", 1)]
    assert (
        last_believed(sent, Jumps.model_validate({"believedAfter": "0s"}, by_alias=True), START + timedelta(hours=1))
        == 1
    )


SIZES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 4)), min_size=1, max_size=12)


@given(sizes=SIZES)
def test_what_is_believed_is_near_what_was_believed_or_was_said_for_long_enough(sizes: list[tuple[int, int]]) -> None:
    """Read one after the other, as a reader does that never forgets: a change of belief is small, or has lasted."""
    sent, minutes = [], 0
    for size, later in sizes:
        minutes += later
        sent.append(gist(f"a {size} x cpu=8" if size else "", minutes))
    now = START + timedelta(minutes=minutes)
    before = 0
    for end in range(1, len(sent) + 1):
        found = last_believed(sent[:end], LIMITS, now)
        assert found is not None
        if jump(sent[before], sent[found], LIMITS) is not None:
            agreeing = [s for s in sent[before + 1 : end] if jump(s, sent[found], LIMITS) is None]
            assert agreeing[-1].observed_at - agreeing[0].observed_at >= timedelta(seconds=LIMITS.believed_after)
        before = found


@given(sizes=SIZES)
def test_a_gist_is_the_same_when_it_was_written_down(sizes: list[tuple[int, int]]) -> None:
    told = gist("; ".join(f"n{i} {count + 1} x cpu={cores}" for i, (count, cores) in enumerate(sizes)))
    assert Gist.from_text(told.as_text()) == told


def test_a_gist_tells_what_a_snapshot_offers() -> None:
    done = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", "n1 4 8Gi 2|, count: 3", "n2 1 2Gi")).run()
    offered, having = Gist.of(done.snapshot.capacity["a"]).totals()
    assert offered == {"nodes": 4, "cpu": 13_000, "memory": 26 << 30, "nvidia.com/gpu": 6}
    assert having == {"nodes": 4, "cpu": 4, "memory": 4, "nvidia.com/gpu": 3}


def test_five_minutes_is_what_clocks_differ_by() -> None:
    assert not is_from_the_future(START + timedelta(minutes=5), START)
    assert is_from_the_future(START + timedelta(minutes=5, seconds=1), START)


FEW = ("n1 4 8Gi|, count: 20",)
MANY = ("n1 4 8Gi|, count: 99",)
DOUBT = doubt("SnapshotNotSigned", "commit 1 is signed by nobody", "sign it").decode()


def earlier(*nodes: str, minutes: int = -1) -> dict[str, str]:
    return {
        f"earlier/{path}": text for path, text in snapshot("a", *nodes, at=START + timedelta(minutes=minutes)).items()
    }


@pytest.mark.parametrize(
    ("capacity", "codes", "result"),
    [
        (snapshot("a", *FEW), [], "Place a Fits"),
        (snapshot("a", *FEW) | earlier(*FEW), [], "Place a Fits"),
        (snapshot("a", *MANY) | earlier(*FEW), ["SnapshotJump"], "Wait  NoEligibleCluster"),
        (snapshot("a", *FEW, at=START + timedelta(minutes=6)), ["SnapshotFromFuture"], "Wait  NoEligibleCluster"),
        (snapshot("a", *FEW, at=START + timedelta(minutes=5)), [], "Place a Fits"),
        (
            snapshot("a", *FEW, at=START + timedelta(days=1)) | earlier(*FEW),
            ["SnapshotFromFuture"],
            "Wait  NoEligibleCluster",
        ),
        (snapshot("a", *FEW) | {"doubted/a.txt": DOUBT}, ["SnapshotNotSigned"], "Wait  NoEligibleCluster"),
        ({"doubted/a.txt": DOUBT}, ["SnapshotNotSigned"], "Wait  NoEligibleCluster"),
        ({"doubted/b.txt": DOUBT} | snapshot("a", *FEW), [], "Place a Fits"),
    ],
)
def test_what_is_not_believed_takes_nothing_new(capacity: dict[str, str], codes: list[str], result: str) -> None:
    done = Story.of(cluster("a"), ANYWHERE, POD, capacity=capacity).run()
    assert [p.code for p in done.problems] == codes
    assert outcome(done) == {"x/p": result}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (snapshot("a", *MANY), "DoubtedSnapshot"),
        (snapshot("a", *FEW, at=START + timedelta(days=1)), "DoubtedSnapshot"),
        ({"a.yaml": "nonsense"}, "DoubtedSnapshot"),
        (snapshot("a", *FEW) | {"doubted/a.txt": DOUBT}, "DoubtedSnapshot"),
    ],
)
def test_where_there_is_an_earlier_one_it_counts_on_and_says_so(broken: dict[str, str], reason: str) -> None:
    done = Story.of(cluster("a"), ANYWHERE, POD, capacity=broken | earlier(*FEW)).run()
    (candidate,) = decisions(done)["x/p"].candidates
    assert candidate.finding.code == reason
    assert done.snapshot.broken_capacity == frozenset()


def test_a_jump_names_both_numbers_where_the_nodes_begin() -> None:
    (problem,) = Story.of(cluster("a"), ANYWHERE, POD, capacity=snapshot("a", *MANY) | earlier(*FEW)).run().problems
    assert problem.message == "a has 99 nodes, and had 20 nodes at 2026-01-02T03:04:00Z"
    assert str(problem.location) == "capacity/a.yaml:5:1"


@pytest.mark.parametrize("disbelieved", ["jump", "future", "unsigned"])
def test_nothing_leaves_a_cluster_because_it_is_not_believed(disbelieved: str) -> None:
    """Not even when it has lasted for longer than silence may."""
    fleet = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {lostAfter: 1h}\n"
    capacity = {**snapshot("a", "n1 64 128Gi 8|, count: 20"), **snapshot("b", "n1 64 128Gi 8|, count: 20")}
    capacity |= snapshot("c", "n1 64 128Gi 8")
    story = Story.of(cluster("a"), cluster("b"), cluster("c"), ANYWHERE, rayservice("x", "j"), capacity=capacity)
    story.source["fleet.yaml"] = fleet
    (home,) = decisions(story.run())["x/j"].after
    later = START + timedelta(hours=9)
    for name in "abc":
        story.capacity |= snapshot(name, "n1 64 128Gi 8|, count: 20", at=later)
    story.now = later
    old = snapshot(home, "n1 64 128Gi 8|, count: 20")
    match disbelieved:
        case "jump":
            story.capacity |= {f"earlier/{path}": text for path, text in old.items()} | snapshot(home, at=later)
        case "future":
            story.capacity |= {f"earlier/{path}": text for path, text in old.items()}
            story.capacity |= snapshot(home, at=later + timedelta(days=1))
        case "unsigned":
            story.capacity |= old | {f"doubted/{home}.txt": DOUBT}
    done = story.run()
    assert decisions(done)["x/j"].action is Action.KEEP
    story.capacity = {path: text for path, text in story.capacity.items() if "/" not in path} | old
    assert decisions(story.run())["x/j"].action is Action.RELOCATE, "it would be silence otherwise"

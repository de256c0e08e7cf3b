"""Dividing by room: the arithmetic, and groups whose replicas go where there is room and then stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from gitplacer.explain import finding_text, why
from gitplacer.kinds.policy import PlacementSettings
from gitplacer.policies.divide import BY_ROOM, by_room, fewest
from tests.stories import Story, cluster, decisions, outcome, policy, snapshot
from tests.test_divide import numbers
from tests.test_divide_stories import WEB, clusters, is_at_rest, raycluster, replicas, rooms, told, web
from tests.test_divide_stories import by_room as divided_by

ROOM, FEWEST = divided_by("Room"), divided_by("FewestClusters")


@pytest.mark.parametrize(
    ("total", "room", "held", "shares"),
    [
        (8, "a 8, b 4", "", "a 5, b 3"),
        (8, "a 8, b 4, c 0", "", "a 5, b 3, c 0"),
        (12, "a 8, b 4", "", "a 8, b 4"),
        (15, "a 8, b 4", "", "a 10, b 5"),  # three wait, in the same proportion
        (4, "a 0, b 0", "", "a 2, b 2"),
        (10, "a 1, b 3", "a 6", "a 7, b 3"),  # only what comes is divided
        (10, "a 0, b 0", "a 1, b 9", "a 1, b 9"),
        (5, "a 9, b 9", "a 8, b 2", "a 4, b 1"),
        (0, "a 9", "a 3", "a 0"),
    ],
)
def test_what_comes_is_divided_in_proportion_to_room(total: int, room: str, held: str, shares: str) -> None:
    assert by_room(total, numbers(room), numbers(held)) == numbers(shares)


@pytest.mark.parametrize(
    ("total", "room", "held", "shares"),
    [
        (8, "a 4, b 8", "", "a 0, b 8"),
        (10, "a 4, b 8", "", "a 2, b 8"),
        (15, "a 4, b 8", "", "a 4, b 11"),  # three wait
        (8, "a 2, b 8", "a 1", "a 3, b 5"),  # first to those that have some
        (5, "a 9, b 9", "a 8, b 2", "a 5, b 0"),  # and away from those that have least
        (4, "b 0, a 0", "", "a 4, b 0"),
    ],
)
def test_what_comes_goes_to_as_few_as_can_be(total: int, room: str, held: str, shares: str) -> None:
    assert fewest(total, numbers(room), numbers(held)) == numbers(shares)


amounts = st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 60), min_size=1)


@pytest.mark.parametrize("way", sorted(BY_ROOM))
@given(total=st.integers(0, 200), room=amounts, held=st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 30)))
def test_nothing_is_lost_nobody_gives_up_what_is_wanted_and_room_is_kept_where_it_lasts(
    way: str, total: int, room: Mapping[str, int], held: Mapping[str, int]
) -> None:
    has = {name: held.get(name, 0) for name in room}
    shares = BY_ROOM[way](total, room, held)
    assert sum(shares.values()) == total
    if total >= sum(has.values()):
        assert all(shares[name] >= has[name] for name in room)
        if total - sum(has.values()) <= sum(room.values()):
            assert all(shares[name] - has[name] <= room[name] for name in room)
    else:
        assert all(shares[name] <= has[name] for name in room)
    assert BY_ROOM[way](total, dict.fromkeys(room, 0), shares) == shares  # and it is at rest


@given(total=st.integers(0, 60), room=amounts)
def test_fewest_is_no_more_clusters_than_any_other_choice_needs(total: int, room: Mapping[str, int]) -> None:
    """The judge takes the roomiest until the total is reached: no smaller number of clusters could hold it."""
    needed, left = 0, min(total, sum(room.values()))
    for most in sorted(room.values(), reverse=True):
        if left > 0:
            needed, left = needed + 1, left - most
    found = fewest(min(total, sum(room.values())), room, {})
    assert sum(1 for share in found.values() if share) == needed


def test_replicas_go_where_there_is_room_and_then_stay() -> None:
    story = Story.of(clusters("abc"), ROOM, web(8), capacity=rooms(a=8, b=4, c=0))
    done = story.run()
    assert replicas(story) == {"a": 5, "b": 3}
    assert outcome(done) == {"shop/web": "Place a,b Fits"}
    verdicts = {c.cluster: finding_text(c.finding) for c in decisions(done)["shop/web"].candidates}
    assert verdicts["c"] == "all replicas are on a and b"
    assert is_at_rest(story)
    story.capacity |= rooms(a=6, b=16, c=16)  # nothing moves for a better balance
    assert is_at_rest(story)
    story.source |= web(12)
    story.run()
    assert replicas(story) == {"a": 5, "b": 5, "c": 2}


def test_all_is_on_one_cluster_as_long_as_one_has_room() -> None:
    story = Story.of(clusters("abc"), FEWEST, web(8), capacity=rooms(a=2, b=9, c=16))
    story.run()
    assert replicas(story) == {"b": 8}  # both have room for all: the first by name
    story.source |= web(12)
    story.run()
    assert replicas(story) == {"b": 9, "c": 3}  # a has no room for three
    story.source |= web(9)
    story.run()
    assert replicas(story) == {"b": 9}
    assert is_at_rest(story)


@pytest.mark.parametrize("way", [ROOM, FEWEST])
def test_what_nobody_has_room_for_waits_and_the_rest_runs(way: dict[str, str]) -> None:
    story = Story.of(clusters("ab"), way, web(10), capacity=rooms(a=4, b=3))
    done = story.run()
    assert replicas(story) == {"a": 4, "b": 3}
    assert outcome(done) == {"shop/web": "Place a,b SharesWait"}
    assert "3 of 10 replicas wait for room" in told(done)
    assert "wait for room:" not in told(done)  # wherever there is some
    assert is_at_rest(story)
    story.capacity |= rooms(b=16)
    story.run()
    assert replicas(story) == {"a": 4, "b": 6}
    assert is_at_rest(story)


@pytest.mark.parametrize("way", [ROOM, FEWEST])
def test_where_nobody_has_room_for_one_the_group_waits_and_each_verdict_is_about_one(way: dict[str, str]) -> None:
    story = Story.of(clusters("ab"), way, web(10, cpu="3"), capacity=rooms(a=2, b=1))
    done = story.run()
    assert outcome(done) == {"shop/web": "Wait  NoClusterFits"}
    assert {(c.finding.placed, c.finding.wanted) for c in decisions(done)["shop/web"].candidates} == {(0, 1)}
    assert is_at_rest(story)


def test_what_a_draining_cluster_has_goes_where_there_is_room() -> None:
    story = Story.of(clusters("abc"), ROOM, web(9), capacity=rooms(a=9, b=9, c=9))
    story.run()
    assert replicas(story) == {"a": 3, "b": 3, "c": 3}
    story.source |= cluster("a", state="Draining")
    story.capacity |= rooms(b=4, c=4)
    story.run()
    assert replicas(story) == {"a": 1, "b": 4, "c": 4}
    assert is_at_rest(story)
    story.capacity |= rooms(c=16)
    story.run()
    assert replicas(story) == {"b": 4, "c": 5}
    assert is_at_rest(story)


def test_a_cordoned_cluster_keeps_what_it_has_and_gets_no_more() -> None:
    story = Story.of(clusters("ab"), ROOM, web(4), capacity=rooms(a=16, b=16))
    story.run()
    story.source |= cluster("a", state="Cordoned") | web(10)
    story.run()
    assert replicas(story) == {"a": 2, "b": 8}
    assert is_at_rest(story)


@pytest.mark.parametrize("way", [ROOM, FEWEST])
def test_a_cluster_without_a_snapshot_keeps_what_it_has_and_gets_no_more(way: dict[str, str]) -> None:
    story = Story.of(clusters("abc"), way, web(6), capacity=rooms(a=3, b=3))
    done = story.run()
    assert replicas(story) == {"a": 3, "b": 3}
    assert {c.cluster: c.finding.code for c in decisions(done)["shop/web"].candidates}["c"] == "NoSnapshot"
    story.source |= web(9)
    story.capacity = rooms(a=3, c=16)
    story.run()
    assert replicas(story) == {"a": 3, "b": 3, "c": 3}
    assert is_at_rest(story)


def test_copies_say_how_many_clusters_share() -> None:
    two = policy("div", "select: {}\nplacement: {type: Divide, divideBy: Room, copies: 2}")
    story = Story.of(clusters("abc"), two, web(10), capacity=rooms(a=3, b=16, c=8))
    story.run()
    assert replicas(story) == {"b": 6, "c": 4}
    story.capacity |= rooms(a=99)
    assert is_at_rest(story)


def test_a_group_that_was_whole_or_divided_by_weight_stays_as_it_is() -> None:
    story = Story.of(
        clusters("ab"), policy("div", "select: {}\nclusters: {names: [a]}"), web(6), capacity=rooms(a=9, b=9)
    )
    story.run()
    story.source |= ROOM
    story.run()
    assert replicas(story) == {"a": 6}
    assert is_at_rest(story)
    story.source |= policy("div", "select: {}\nplacement: {type: Divide, weights: {a: 1, b: 2}}")
    story.run()
    assert replicas(story) == {"a": 2, "b": 4}
    story.source |= FEWEST
    assert is_at_rest(story)


def test_each_ray_cluster_has_a_head_which_takes_room_too() -> None:
    story = Story.of(clusters("ab"), ROOM, raycluster(6, 0, 12, autoscaling=True), capacity=rooms(a=7, b=4))
    story.run()
    file = "ml/ray/ray.yaml"
    assert replicas(story, file) == {"a": 4, "b": 2}  # there is room for six workers and for three
    assert replicas(story, file, "maxReplicas") == {"a": 8, "b": 4}
    assert is_at_rest(story)


def test_worker_groups_are_divided_by_the_room_for_all_of_them() -> None:
    second = """\
  - groupName: gpu
    replicas: 2
    minReplicas: 0
    maxReplicas: 4
    rayStartParams: {}
    template: {spec: {containers: [{name: worker, image: ray, resources: {requests: {cpu: "4"}}}]}}
"""
    story = Story.of(clusters("ab"), ROOM, raycluster(4, 0, 8, second=second), capacity=rooms(a=7, b=7))
    done = story.run()
    assert replicas(story, "ml/ray/ray.yaml") == {"a": 2, "b": 2}
    assert "wait for room" not in told(done)
    assert is_at_rest(story)


@pytest.mark.parametrize(
    "way", [ROOM, policy("div", "select: {}\nplacement: {type: Divide, weights: {b: 1, cloud: 2}}")]
)
def test_what_grows_where_it_is_is_told_the_machines_that_are_added_for_it(way: dict[str, str]) -> None:
    story = Story.of(CLOUD, cluster("b"), way, web(4), capacity=snapshot("cloud", "n1 3 64Gi") | rooms(b=4))
    story.run()
    story.source |= web(12)
    done = story.run()
    assert replicas(story) == {"b": 4, "cloud": 8}
    decision = decisions(done)["shop/web"]
    said = "its replicas are divided anew; cloud: fits with 2 × c added (0.40 an hour); Deployment shop/web: 4 on b and 8 on cloud"
    assert why(decision, done.view) == said
    assert decision.cost_per_hour == pytest.approx(0.4)
    assert {c.cluster: str(c.finding.code) for c in decision.candidates} == {"b": "Fits", "cloud": "FitsByScaleUp"}
    assert "reason: FitsByScaleUp" in str(story.deployment.read("placements/shop/web.yaml"))
    story.source |= web(60)
    done = story.run()
    assert "wait for room" in told(done) and "b: fits" not in told(done)
    assert is_at_rest(story)


def test_what_has_no_replicas_is_copied_as_with_weights() -> None:
    empty = web(0)
    story = Story.of(clusters("ab"), ROOM, empty, capacity=rooms(a=16, b=16))
    story.run()
    assert replicas(story) == {"a": 0}
    assert is_at_rest(story)


def test_who_wants_far_more_than_there_is_room_for_gets_what_there_is() -> None:
    """Trying seven where there are three must not make the cluster look overfull."""
    for way, shares in (
        (ROOM, {"a": 3}),
        (FEWEST, {"a": 3}),
        (policy("div", "select: {}\nplacement: {type: Divide}"), {"a": 3}),
    ):
        story = Story.of(clusters("a"), way, web(1), capacity=rooms(a=7))
        story.run()
        story.source |= web(7)
        story.capacity |= rooms(a=3)
        done = story.run()
        assert replicas(story) == shares
        assert "wait for room" in told(done)
        assert is_at_rest(story)


def _two_alike(used: str = "|, used: {cpu: 500m}") -> dict[str, str]:
    """Clusters of which each has two nodes of 8 cpu and two of 16, a little of which is used."""
    nodes = [f"n{number} {cpu} 64Gi{used}" for number, cpu in enumerate((8, 8, 16, 16))]
    return {**snapshot("east", *nodes), **snapshot("west", *nodes)}


def _of(name: str, count: int, cpu: str) -> dict[str, str]:
    """A Deployment in a namespace of its name."""
    return {f"workloads/{name}/web.yaml": web(count, cpu=cpu)[WEB].replace("namespace: shop", f"namespace: {name}")}


def _placed(story: Story, count: int, cpu: str) -> dict[str, int]:
    """What each cluster would have of so many replicas."""
    after = replace(story, source={**story.source, **web(count, cpu=cpu)})
    after.deployment = after.plan().tree
    return replicas(after)


EAST_AND_WEST = {**cluster("east"), **cluster("west")}
ON_EAST = policy("other", "select: {namespaces: [other]}\nclusters: {names: [east]}")


def test_where_a_share_grows_nobody_gets_less_because_more_is_asked_for() -> None:
    """Of two pods of 4 cpu and more than thirteen of 2 there is an order that leaves one out, though they have room."""
    by_weight = policy("div", "select: {namespaces: [shop]}\nplacement: {type: Divide, weights: {east: 70, west: 30}}")
    story = Story.of(EAST_AND_WEST, by_weight, ON_EAST, web(11, cpu="2"), capacity=_two_alike())
    story.run()
    story.source |= _of("other", 2, "4")
    story.run()
    assert replicas(story) == {"east": 8, "west": 3}
    found = {count: _placed(story, count, "2") for count in (19, 20, 21, 24, 40)}
    assert {count: has["east"] for count, has in found.items()} == {19: 13, 20: 13, 21: 13, 24: 13, 40: 13}
    assert {count: has["west"] for count, has in found.items()} == {19: 6, 20: 6, 21: 6, 24: 7, 40: 12}


@pytest.mark.parametrize("way", ["Room", "FewestClusters"])
def test_where_room_decides_nobody_gets_less_because_more_is_asked_for(way: str) -> None:
    by_room_ = policy("div", f"select: {{namespaces: [shop]}}\nplacement: {{type: Divide, divideBy: {way}}}")
    story = Story.of(EAST_AND_WEST, by_room_, ON_EAST, _of("other", 4, "4"), capacity=_two_alike())
    story.run()
    placed = [sum(_placed(story, count, "3").values()) for count in (18, 19, 20, 21, 22, 24, 40)]
    assert placed == sorted(placed)
    assert placed[-4:] == [20] * 4


CLOUD = cluster(
    "cloud",
    autoscaler="{type: ClusterAutoscaler, nodeTypes: ["
    "{name: g, allocatable: {cpu: '8', memory: 32Gi, nvidia.com/gpu: '1'}, max: 4, pricePerHour: 1.25}, "
    "{name: c, allocatable: {cpu: '4', memory: 16Gi}, max: 3, pricePerHour: 0.20}]}",
)


@pytest.mark.parametrize(
    ("count", "waiting", "cost", "on_cloud"),
    [(29, 0, 5.4, 11), (30, 0, 5.6, 12), (31, 1, 5.6, 12), (34, 4, 5.6, 12)],
)
def test_what_is_told_is_what_is_written_also_if_the_last_replica_is_placed_after_the_others(
    count: int, waiting: int, cost: float, on_cloud: int
) -> None:
    """East has room for eight beside the pods of another, but not in every order, and one of thirty is left for a second look."""
    others = policy("other", "select: {namespaces: [other]}\nplacement: {type: Divide, weights: {east: 70, west: 30}}")
    mine = policy("div", "select: {namespaces: [shop]}\nplacement: {type: Divide, divideBy: Room}")
    capacity = _two_alike() | snapshot("cloud", "n1 3 64Gi")
    story = Story.of(CLOUD, EAST_AND_WEST, others, mine, _of("other", 11, "2"), web(count, cpu="3"), capacity=capacity)
    done = story.run()
    assert replicas(story) == {"cloud": on_cloud, "east": 7, "west": 11}
    decision = decisions(done)["shop/web"]
    assert (decision.finding.wanted - decision.finding.placed, decision.waiting_since is not None) == (
        waiting,
        waiting > 0,
    )
    assert decision.cost_per_hour == pytest.approx(cost)
    assert decision.candidates[0].finding == decision.reasons["cloud"]
    assert ("wait for room" in told(done), f"({cost:.2f} an hour)" in told(done)) == (waiting > 0, True)


@settings(max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@example(way=FEWEST, steps=[(7, (5, 1, 2)), (1, (7, 4, 7)), (7, (2, 0, 0))])
@given(
    way=st.sampled_from([ROOM, FEWEST]),
    steps=st.lists(
        st.tuples(st.integers(1, 12), st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))),
        min_size=1,
        max_size=3,
    ),
)
def test_whatever_comes_no_replica_moves_and_all_that_has_room_runs(
    way: dict[str, str], steps: list[tuple[int, tuple[int, int, int]]]
) -> None:
    story = Story.of(clusters("abc"), way, web(1), capacity=rooms(a=0, b=0, c=0))
    room = dict.fromkeys("abc", 0)
    for wanted, more in steps:
        before = replicas(story)
        room = {name: max(size, before.get(name, 0)) for name, size in zip("abc", more, strict=True)}
        story.source |= web(wanted)
        story.capacity |= rooms(**room)
        story.run()
        now = replicas(story)
        kept = sum(before.values())
        assert sum(now.values()) == (min(wanted, sum(room.values())) if now else 0)
        if wanted >= kept:
            assert all(now.get(name, 0) >= has for name, has in before.items())
        assert all(number <= room[name] for name, number in now.items())
        assert is_at_rest(story)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"type": "Capacity", "divideBy": "Room"}, "divideBy: Room is for type Divide"),
        (
            {"type": "Divide", "divideBy": "FewestClusters", "weights": {"a": 1}},
            "weights are for divideBy: Weights; FewestClusters looks at what room there is",
        ),
    ],
)
def test_what_cannot_be_is_said(settings_: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PlacementSettings.model_validate(settings_)

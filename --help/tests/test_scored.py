"""Scores that somebody outside has measured: what they order, and what they never do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.formats.group import explain_group
from gitplacer.formats.options import Options
from gitplacer.formats.text import plan_text
from gitplacer.hydrate import Hydration
from gitplacer.placement.scoring import in_proportion
from tests.stories import START, Story, cluster, policy, rayservice, snapshot

ROOM = "n1 8 32Gi 1"
FULL = "n1 1 1Gi"
APP = rayservice("shop", "app")


def scores(name: str, numbers: Mapping[str, int], until: str = "") -> dict[str, str]:
    inside = ", ".join(f"{cluster}: {number}" for cluster, number in numbers.items())
    valid = f', validUntil: "{until}"' if until else ""
    return {
        f"scores/{name}.yaml": (
            "apiVersion: gitplacer.dev/v1alpha1\nkind: ClusterScores\n"
            f"metadata: {{name: {name}}}\nspec: {{scores: {{{inside}}}{valid}}}\n"
        )
    }


def weighing(*terms: str, more: str = "") -> dict[str, str]:
    inside = ", ".join(f"{{{term}}}" for term in terms)
    return policy("scored", f"select: {{}}\nplacement: {{type: Scored, scores: [{inside}]{more}}}")


def fleet(names: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found |= cluster(name)
    return found


def rooms(**nodes: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, node in nodes.items():
        found |= snapshot(name, node)
    return found


def where(done: Hydration) -> tuple[str, ...]:
    return next(d.after for d in done.view.plan.decisions if d.group == "shop/app")


def told(done: Hydration) -> list[str]:
    return [f"{p.code} {p.location}: {p.message} ({p.hint})" for p in done.problems]


THREE = rooms(a=ROOM, b=ROOM, c=ROOM)


@pytest.mark.parametrize(
    ("terms", "outcome"),
    [
        (["name: carbon"], "b"),
        (["name: carbon, weight: -1"], "c"),
        (["name: carbon", "name: latency"], "a"),
        (["name: carbon, weight: 3", "name: latency"], "b"),
        (["name: carbon, weight: 10", "name: latency, weight: 10"], "a"),
        (["name: carbon, weight: -10", "name: latency, weight: -10"], "c"),
    ],
)
def test_the_highest_weighted_sum_is_taken(terms: list[str], outcome: str) -> None:
    files = scores("carbon", {"a": 40, "b": 60, "c": -5}), scores("latency", {"a": 50, "b": 20, "c": -7})
    story = Story.of(*files, weighing(*terms), fleet("abc"), APP, capacity=THREE)
    assert where(story.run()) == (outcome,)


def test_the_numbers_that_made_the_order_are_told_once_for_each_cluster() -> None:
    files = scores("carbon", {"a": 40, "b": 60}), scores("latency", {"a": 50, "b": 20})
    story = Story.of(*files, weighing("name: carbon, weight: 2", "name: latency, weight: -1"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    done = story.run()
    text = explain_group(done.view, "shop/app")
    assert plan_text(done.view, Options()).count("fits; scores 100: 2 × carbon 60, -1 × latency 20") == 1
    text = text[text.index("Clusters") :]
    assert text.count("scores 100: 2 × carbon 60, -1 × latency 20") == 1
    assert text.count("scores 30: 2 × carbon 40, -1 × latency 50") == 1


def test_what_runs_is_not_moved_for_a_score() -> None:
    story = Story.of(scores("carbon", {"a": 40, "b": 60}), weighing("name: carbon"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    assert where(story.run()) == ("b",)
    story.source |= scores("carbon", {"a": 100, "b": -100})
    before = story.deployment
    done = story.run()
    assert where(done) == ("b",)
    assert story.deployment == before


def test_scores_that_are_no_longer_valid_count_nothing_and_say_so() -> None:
    until = f"{START + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    story = Story.of(scores("carbon", {"a": 1, "b": 2}, until), weighing("name: carbon"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    done = story.plan()
    assert where(done) == ("b",)
    assert told(done) == []
    story.now = START + timedelta(hours=1)
    done = story.plan()
    assert where(done) == ("a",)
    assert told(done) == [
        f"ScoresExpired scores/carbon.yaml:4:30: scores carbon were valid until {until}; every cluster counts as 0 in them for scored "
        "(write new ones, with a later validUntil)"
    ]


def test_a_cluster_without_a_score_counts_as_0_and_is_named() -> None:
    story = Story.of(scores("carbon", {"a": -1, "c": -2, "bb": 7}), weighing("name: carbon"), fleet("abc"), APP)
    story.capacity = dict(THREE)
    done = story.run()
    assert where(done) == ("b",)
    assert told(done) == [
        "ClusterNotScored scores/carbon.yaml:4:8: scores carbon have no number for b, which a policy that weighs them allows: "
        "counted as 0 (give each cluster a number from -100 to 100)",
        "ScoredClusterMissing scores/carbon.yaml:4:31: scores carbon have a number for cluster bb, and there is none of that name "
        '(did you mean "b"?)',
    ]


def test_scores_that_there_are_not_are_told_with_the_nearest_name() -> None:
    story = Story.of(scores("carbon", {"a": 1, "b": 2}), weighing("name: carbn"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    done = story.run()
    assert where(done) == ("a",)
    assert told(done) == [
        "ScoresMissing policies/scored.yaml:6:45: policy scored weighs scores carbn, and there is no ClusterScores of that "
        'name (did you mean "carbon"?)'
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"a": 101}, "spec.scores.a must be at most 100"),
        ({"a": -101}, "spec.scores.a must be at least -100"),
        ({"A": 1}, 'key "A" must be up to 63 lower-case letters'),
    ],
)
def test_scores_that_cannot_be_read_count_nothing_and_stop_nothing(wrong: Mapping[str, int], message: str) -> None:
    story = Story.of(scores("carbon", wrong), weighing("name: carbon"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    done = story.run()
    assert where(done) == ("a",)
    assert [line for line in told(done) if message in line] == told(done) != []


def test_scores_that_are_there_twice_count_nothing() -> None:
    twice = {"scores/again.yaml": scores("carbon", {"a": -9})["scores/carbon.yaml"]}
    story = Story.of(scores("carbon", {"a": 1, "b": 2}), twice, weighing("name: carbon"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    done = story.run()
    assert where(done) == ("a",)
    assert [line.split()[0] for line in told(done)] == ["DuplicateName"]


def test_what_clusters_offer_can_be_weighed_and_what_is_used_does_not_count() -> None:
    story = Story.of(weighing("allocatable: nvidia.com/gpu", "allocatable: cpu, weight: -1"), fleet("abc"), APP)
    story.capacity = rooms(
        a="n1 8 64Gi 2", b='n1 16 64Gi 4|, used: {nvidia.com/gpu: "3", cpu: "10", pods: "1"}', c="n1 8 64Gi 4"
    )
    done = story.run()
    assert where(done) == ("c",)
    text = explain_group(done.view, "shop/app")
    assert "scores 200: 1 × allocatable nvidia.com/gpu 100, -1 × allocatable cpu -100" in text
    assert "scores 0: 1 × allocatable nvidia.com/gpu 100, -1 × allocatable cpu 100" in text


@pytest.mark.parametrize(
    ("amounts", "outcome"),
    [
        ({}, {}),
        ({"a": 5}, {"a": 0}),
        ({"a": 5, "b": 5}, {"a": 0, "b": 0}),
        ({"a": 0, "b": 10}, {"a": -100, "b": 100}),
        ({"a": 0, "b": 10, "c": 5, "d": 9}, {"a": -100, "b": 100, "c": 0, "d": 80}),
    ],
)
def test_amounts_are_scored_in_proportion(amounts: Mapping[str, float], outcome: Mapping[str, int]) -> None:
    assert in_proportion(amounts) == outcome


@settings(max_examples=15, deadline=None)
@given(
    numbers=st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=4, max_size=4),
    weights=st.tuples(*[st.integers(-10, 10).filter(bool)] * 2),
    roomy=st.lists(st.booleans(), min_size=4, max_size=4),
    more=st.tuples(st.integers(-60, 60), st.integers(-60, 60)),
)
def test_the_order_is_the_weighted_sum_and_room_comes_first(
    numbers: list[tuple[int, int]], weights: tuple[int, int], roomy: list[bool], more: tuple[int, int]
) -> None:
    names = "abcd"

    def placed(constants: tuple[int, int]) -> tuple[str, ...]:
        files = [
            scores(title, {n: pair[i] + constants[i] for n, pair in zip(names, numbers, strict=True)})
            for i, title in enumerate(("one", "two"))
        ]
        terms = [f"name: {title}, weight: {weight}" for title, weight in zip(("one", "two"), weights, strict=True)]
        story = Story.of(*files, weighing(*terms), fleet(names), APP)
        story.capacity = rooms(**{n: ROOM if room else FULL for n, room in zip(names, roomy, strict=True)})
        return where(story.plan())

    sums = {n: sum(w * x for w, x in zip(weights, pair, strict=True)) for n, pair in zip(names, numbers, strict=True)}
    fitting = [name for name, room in zip(names, roomy, strict=True) if room]
    best = sorted(fitting, key=lambda name: (-sums[name], name))[:1]
    assert placed((0, 0)) == tuple(best)
    assert placed(more) == tuple(best)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ("type: Scored", "type Scored needs scores"),
        ("scores: [{name: a}]", "scores is for type Scored"),
        ("type: Scored, scores: [{weight: 2}]", "give exactly one of name, allocatable"),
        ("type: Scored, scores: [{name: a, allocatable: cpu}]", "give exactly one of name, allocatable"),
        ("type: Scored, scores: [{name: a, weight: 0}]", "a weight of 0 counts nothing"),
        ("type: Scored, scores: [{name: a, weight: 11}]", "weight must be at most 10"),
        ("type: Scored, scores: [{name: a}, {name: a, weight: 2}]", "score a is weighed twice"),
    ],
)
def test_weighing_that_means_nothing_is_refused(placement: str, message: str) -> None:
    story = Story.of(policy("p", f"select: {{}}\nplacement: {{{placement}}}"), fleet("a"), capacity=rooms(a=ROOM))
    assert any(message in problem.message for problem in story.run().problems)


def test_a_tenant_writes_no_scores() -> None:
    mine = {"workloads/shop/scores.yaml": scores("carbon", {"a": 100, "b": -100})["scores/carbon.yaml"]}
    story = Story.of(scores("carbon", {"a": 1, "b": 2}), mine, weighing("name: carbon"), fleet("ab"), APP)
    story.capacity = rooms(a=ROOM, b=ROOM)
    done = story.run()
    assert where(done) == ("b",)
    assert [line.split()[0] for line in told(done)] == ["OwnKindInWorkloads"]

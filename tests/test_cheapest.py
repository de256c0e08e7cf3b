"""Cheapest: what is there costs nothing more; of machines that must be added, those that cost least."""

from __future__ import annotations

import pytest

from tests.stories import Story, cluster, decisions, outcome, policy, rayservice, snapshot

CHEAPEST = policy("p", "select: {}\nplacement: {type: Cheapest}")
APP = rayservice("x", "app", cpu="2", workers=2)


def scaling(name: str, *types: str) -> dict[str, str]:
    """A cluster that can add machines: `type gpus price`, a price of - is not known."""
    listed = []
    for text in types:
        kind, gpus, price = text.split()
        cost = "" if price == "-" else f", pricePerHour: {price}"
        listed.append(
            f"{{name: {kind}, max: 9{cost}, allocatable: {{cpu: '8', memory: 64Gi, nvidia.com/gpu: '{gpus}'}}}}"
        )
    return cluster(name, autoscaler=f"{{type: Karpenter, nodeTypes: [{', '.join(listed)}]}}")


EMPTY = {name: text for one in ("a", "b", "c") for name, text in snapshot(one).items()}


@pytest.mark.parametrize(
    ("types", "chosen", "cost"),
    [
        # head 2 cpu, two workers of 2 cpu and a GPU: one machine of two GPUs holds all
        ({"a": ["big 2 3.0"], "b": ["big 2 2.5"], "c": ["big 2 4"]}, "b", 2.5),
        # two small ones for the workers, the head beside one of them
        ({"a": ["big 2 3.0"], "b": ["small 1 1.0"]}, "b", 2.0),
        ({"a": ["big 2 1.5"], "b": ["small 1 1.0"]}, "a", 1.5),
        # a price that nobody knows is not taken for zero
        ({"a": ["big 2 -"], "b": ["big 2 9"]}, "b", 9),
        ({"a": ["big 2 -"], "b": ["small 1 -"]}, "a", None),
        # the same price: as Capacity, by name
        ({"b": ["big 2 2"], "a": ["big 2 2"]}, "a", 2),
    ],
)
def test_the_machines_that_must_be_added_cost_least(
    types: dict[str, list[str]], chosen: str, cost: float | None
) -> None:
    story = Story.of(*(scaling(name, *sorts) for name, sorts in types.items()), CHEAPEST, APP, capacity=EMPTY)
    done = story.run()
    assert outcome(done) == {"x/app": f"Place {chosen} FitsByScaleUp"}
    assert decisions(done)["x/app"].cost_per_hour == cost


def test_room_that_is_there_is_cheaper_than_any_machine() -> None:
    files = (scaling("a", "big 2 0.01"), cluster("b"))
    capacity = {**snapshot("a"), **snapshot("b", "n1 64 256Gi 8")}
    assert outcome(Story.of(*files, CHEAPEST, APP, capacity=capacity).run()) == {"x/app": "Place b Fits"}


def test_copies_go_to_the_cheapest_clusters() -> None:
    rule = policy("p", "select: {}\nplacement: {type: Cheapest, copies: 2}")
    types = {"a": "big 2 3", "b": "big 2 1", "c": "big 2 2"}
    story = Story.of(*(scaling(name, sort) for name, sort in types.items()), rule, APP, capacity=EMPTY)
    assert outcome(story.run()) == {"x/app": "Place b,c FitsByScaleUp"}

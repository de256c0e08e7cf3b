"""The planner's choice of cluster and nodes places more GPUs than simple rules do; `tests.packing_quality` says how many."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packing_quality import EIGHT, ONE, RULES, Amounts, Fleet, Gang, best, drawn, studied, table

HEAD = Amounts(0, 2, 8)


def gang(workers: int, gpus: int) -> Gang:
    return Gang(HEAD, Amounts(gpus, 10 * gpus, 80 * gpus), workers)


SHORT, LONG = 10, 60  # seeds that are always studied, and all of those that the docs tell of


def hold(found: dict[str, list[int]], bests: list[int]) -> None:
    """Hold what is said of the rules, over all queues of a study."""
    total = {name: sum(placed) for name, placed in found.items()}
    assert total["gitplacer"] >= total["first-fit"]
    assert total["gitplacer"] >= total["most-free"]
    for placed in found.values():
        assert all(mine <= top for mine, top in zip(placed, bests, strict=True)), "no rule is better than the best"


def test_the_planner_places_more_gpus_than_first_fit_and_most_free() -> None:
    hold(*studied(range(SHORT)))


@pytest.mark.parametrize(
    ("fleet", "queue", "gpus"),
    [
        ({"a": [EIGHT]}, [gang(1, 1), gang(1, 8)], 8),
        ({"a": [EIGHT], "b": [ONE]}, [gang(1, 1), gang(1, 8)], 9),  # the single one for the small gang
        ({"a": [EIGHT, ONE], "b": [EIGHT]}, [gang(1, 1), gang(1, 8), gang(1, 8)], 17),
        ({"a": [EIGHT, EIGHT]}, [gang(3, 4), gang(1, 4), gang(2, 2)], 16),
        ({"a": [EIGHT], "b": [EIGHT]}, [gang(2, 8)], 0),  # a gang is on one cluster
        ({"a": [EIGHT]}, [gang(2, 8)], 0),  # whole or not at all
    ],
)
def test_the_best_is_what_it_should_be(fleet: Fleet, queue: list[Gang], gpus: int) -> None:
    assert best(fleet, queue) == gpus


@pytest.mark.parametrize("rule", [name for name in RULES if "Fits only" not in name])
def test_a_rule_places_whole_gangs_one_after_another(rule: str) -> None:
    place = RULES[rule]
    assert place({"a": [EIGHT]}, [gang(1, 4), gang(1, 8), gang(1, 4)]) == 8
    assert place({"a": [EIGHT]}, [gang(3, 4), gang(2, 4)]) == 8
    assert place({"a": [EIGHT], "b": [EIGHT]}, [gang(3, 4)]) == 0


def test_whole_nodes_are_kept_whole() -> None:
    fleet = {"a": [EIGHT], "b": [Amounts(1, 16, 96)] * 4}
    queue = [gang(2, 1), gang(2, 1), gang(1, 8)]
    assert {name: place(fleet, queue) for name, place in RULES.items()} == {
        "gitplacer": 12,
        "gitplacer, all at once and Fits only": 12,
        "first-fit": 4,
        "most-free": 4,
    }


def test_every_queue_asks_for_more_than_there_is() -> None:
    for seed in range(LONG):
        fleet, queue = drawn(seed)
        assert sum(g.gpus for g in queue) > sum(node.gpus for nodes in fleet.values() for node in nodes) > 0


@pytest.mark.slow
def test_over_all_queues_the_planner_places_more_and_the_table_in_the_docs_says_how_many() -> None:
    study = studied(range(LONG))
    hold(*study)
    page = (Path(__file__).parent.parent / "docs" / "performance.md").read_text("utf-8")
    quoted = re.search(r"^\| rule \| GPUs placed.*?\n\n", page, re.M | re.S)
    assert quoted is not None
    assert quoted[0].strip().splitlines() == table(*study)

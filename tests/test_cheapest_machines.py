"""
The machines that are added for a gang cost least: held against a solver that knows nothing of the planner.

    python -m tests.test_cheapest_machines --seeds 0:2000     how often greedy alone would have been as cheap
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.kinds.capacity import Node
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement import pack
from gitplacer.placement.autoscalers.cost import total
from gitplacer.placement.autoscalers.exact import Offer, Place, Question, cheapest
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.pack import Packing
from tests import cheapestset
from tests.cheapestset import Case
from tests.test_fit import ledger


def opened(case: Case) -> tuple[Ledger, Gang]:
    """A case as a ledger and a gang."""
    autoscaler, nodes = cheapestset.as_fleet(case)
    gang = tuple(
        PodSet(
            f"r{i}",
            pods.count,
            PodShape(
                Resources({"cpu": pods.asks[0] * 1000, "memory": pods.asks[1] * 2**30, "nvidia.com/gpu": pods.asks[2]}),
                node_selector=(("zone", pods.zone),) if pods.zone else (),
                tolerations=(Toleration("gpu", "Exists"),) if pods.tolerates else (),
            ),
        )
        for i, pods in enumerate(case.pods)
    )
    return ledger([Node.model_validate(node) for node in nodes], gang, autoscaler), gang


def judged(case: Case, found: Packing, books: Ledger, gang: Gang) -> tuple[int, int]:
    """(cents, machines) of a packing, after its own arithmetic: every pod is somewhere, and nothing holds too much."""
    there = [*case.there, *({t.name: t for t in case.types}[name] for name in found.opened)]
    left = [[*(amount for amount in machine.free), machine.slots] for machine in there]
    placed: Counter[tuple[int, int, int]] = Counter()
    for use in found.uses:
        asked = books.columns.resources(use.row)
        asks = (asked.get("cpu", 0) // 1000, asked.get("memory", 0) // 2**30, asked.get("nvidia.com/gpu", 0))
        placed[asks] += use.number
        assert any(pods.asks == asks and cheapestset.may_be_on(pods, there[use.machine]) for pods in case.pods)
        for i, amount in enumerate((*asks, 1)):
            left[use.machine][i] -= amount * use.number
    assert all(amount >= 0 for row in left for amount in row)
    wanted: Counter[tuple[int, int, int]] = Counter()
    for pods in case.pods:
        wanted[pods.asks] += pods.count
    assert placed == wanted
    for type_ in case.types:
        assert found.opened.count(type_.name) <= type_.max
    assert case.max_nodes is None or not found.opened or len(there) <= case.max_nodes
    price = total((node.price_per_hour, node.count) for node in found.new_nodes(books.nodes))
    return round((price or 0) * 100), len(found.opened)


def verdict(seed: int) -> str:
    """What became of a case: `no set`, `best`, `dearer` or `not judged`."""
    case = Case.drawn(seed)
    books, gang = opened(case)
    found, best = books.fit(gang, scale_up=True), cheapestset.cheapest(case)
    if isinstance(best, bool):
        return "not judged"
    if best is None:
        assert not isinstance(found, Packing), f"seed {seed}: no set of machines takes this gang"
        return "no set"
    if not isinstance(found, Packing):
        return "missed"
    ours = judged(case, found, books, gang)
    assert ours >= best, f"seed {seed}: the solver missed something"
    return "best" if ours == best else "dearer"


@pytest.mark.parametrize("first", range(0, 120, 10))
def test_no_set_of_machines_is_cheaper_than_the_one_that_is_chosen(first: int) -> None:
    found = Counter(verdict(seed) for seed in range(first, first + 10))
    assert set(found) <= {"best", "no set"}


def test_greedy_alone_would_be_dearer_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the search would be for nothing, and the test above could not fail."""
    monkeypatch.setattr(pack, "_cheapest", lambda room, sets, known: None)
    assert Counter(verdict(seed) for seed in range(60))["dearer"] > 0


def question(wanted: int, *offers: Offer, places: tuple[Place, ...] = (), **left: int) -> Question:
    return Question(asks=((1, 1),), wanted=(wanted,), places=places, offers=offers, left=left)


def test_a_limit_that_the_best_set_breaks_leads_to_the_best_within_it() -> None:
    large = Offer("large", 30, (8, 9), (True,), (("gpus", 8),))
    small = Offer("small", 5, (1, 9), (True,), (("gpus", 1),))
    free = cheapest(question(8, large, small, gpus=99))
    assert free is not None
    assert [key for key, _ in free.added] == ["large"]
    bound = cheapest(question(9, large, small, gpus=9))
    assert bound is not None
    assert sorted(key for key, _ in bound.added) == ["large", "small"]
    assert cheapest(question(8, large, small, gpus=7)) is None


def test_a_search_that_runs_out_of_steps_has_no_answer() -> None:
    small = Offer("small", 5, (1, 9), (True,))
    assert cheapest(question(30, small)) is not None
    assert cheapest(question(30, small), steps=10) is None


def test_nothing_is_searched_for_beyond_the_price_that_is_known() -> None:
    small = Offer("small", 5, (1, 9), (True,))
    assert cheapest(question(2, small), below=10) is None
    assert cheapest(question(2, small), below=11) is not None


@given(seed=st.integers(10**6, 2 * 10**6))
def test_every_set_that_is_chosen_holds_the_gang_and_keeps_the_limits(seed: int) -> None:
    case = Case.drawn(seed)
    books, gang = opened(case)
    found = books.fit(gang, scale_up=True)
    if isinstance(found, Packing):
        judged(case, found, books, gang)


def main(first: int, last: int) -> None:
    """Print how often the choice is the cheapest, with the search and with greedy alone."""
    search = pack._cheapest
    for name, chosen in (("greedy alone", lambda room, sets, known: None), ("with the search", search)):
        pack._cheapest = chosen
        print(name, dict(sorted(Counter(verdict(seed) for seed in range(first, last)).items())))


if __name__ == "__main__":
    low, _, high = sys.argv[sys.argv.index("--seeds") + 1].partition(":")
    main(int(low), int(high))

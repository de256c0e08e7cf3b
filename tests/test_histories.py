"""
Whatever happens to a small fleet, the laws of `histories` hold.

Each seed is a life, with a rest at its end. A short form runs with the suite. For more:

    python -m tests.test_histories --seeds 0:2000

And because a judge that never condemns is none, for each law a life is bent until it is broken, and the judge has to say so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.histories import Begun, Guard, History, Order, misplaced
from tests.seeds import live_all
from tests.world import Cluster, Luck

SHORT, ALL, CHUNK = 10, 18, 2  # seeds in the suite, with those of the run of all marks, seeds in a test


@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=[pytest.mark.slow] * (start >= SHORT)) for start in range(0, ALL, CHUNK)]
)
def test_no_life_breaks_a_law(start: int) -> None:
    for seed in range(start, start + CHUNK):
        life = History(seed).live()
        assert not life.wrong, "\n".join([*life.told, *life.wrong])


def test_a_life_can_be_lived_again() -> None:
    assert History(3).live().told == History(3).live().told


# the judge can fail


def placed(kind: str = "RayService", strategy: str = "Surge") -> tuple[History, Order, str]:
    """A life in which one group runs somewhere, ready, and nothing else."""
    life = History(5)
    life.source |= {name: text for name, text in life.source.items() if not name.startswith("workloads/")}
    rules = life.rules["n0"]
    life.rules["n0"] = type(rules)("n0", strategy, "1", {}, {})
    life.source |= life.rules["n0"].file()
    for site in life.sites.values():
        site.tells = True
    order = Order(namespace="n0", name="one", kind=kind, head=1, cpu=1, gpus=0, count=1)
    life._write(order)
    if kind == "RayJob":
        life.jobs.add(order.group)
    life._pass()
    for _ in range(3):
        life._look(timedelta(minutes=1 if kind == "RayJob" else 5))  # no job is over so soon
    (name,) = [name for name, site in life.sites.items() if order.group in site.objects]
    assert not life.wrong
    return life, order, name


def broken(life: History) -> set[int]:
    """The laws that were broken."""
    return {int(line.split("law ")[1][0]) for line in life.wrong}


def copied(life: History, order: Order, name: str) -> str:
    """The files of a group on another cluster too, behind the back of its record."""
    other = next(one for one in life.sites if one != name)
    path = f"workloads/{order.namespace}/{order.name}/{order.name}.yaml"
    site, data = life.sites[other], life.tree[f"clusters/{name}/{path}"]
    site.publish({**life.tree, f"clusters/{other}/{path}": data})
    site.catch_up(life.lot)
    site.settle(life.lot, lambda: Luck.drawn(life.lot))
    return other


def test_a_job_on_two_clusters_is_found_out() -> None:
    life, order, name = placed("RayJob")
    copied(life, order, name)
    life._watch()
    assert broken(life) == {1}


def test_a_service_without_a_ready_copy_is_found_out() -> None:
    life, _, name = placed()
    Cluster.publish(life.sites[name], {})
    life.sites[name].catch_up(life.lot)
    life._watch()
    assert broken(life) == {2}


@pytest.mark.parametrize(("consented", "expected"), [(False, {3}), (True, set())])
def test_more_moves_than_the_guard_allows_are_found_out(consented: bool, expected: set[int]) -> None:
    life, order, _ = placed()
    life.guards[False] = Guard(1, 60, "Throttle")
    for minutes in (30, 0):
        life.begun.append(Begun(life.now - timedelta(minutes=minutes), order.group, False, consented, ("b",)))
    life._guards_are_kept(life.now)
    assert broken(life) == expected


def test_room_that_is_sold_twice_is_found_out() -> None:
    life, _, name = placed()
    greedy = Order(namespace="n0", name="one", kind="RayService", head=1, cpu=8, gpus=0, count=9)
    path = f"clusters/{name}/workloads/n0/one/one.yaml"
    life.tree = {**life.tree, path: greedy.text().encode()}
    life.sites[name].publish(life.tree)
    life._all_have_room(name, life.snapshots[name])
    assert broken(life) == {4}


def test_a_move_that_never_ends_is_found_out() -> None:
    life, order, _ = placed()
    path = f"placements/{order.group}.yaml"
    text = life.tree[path].decode() + "move: {strategy: Surge, from: [a], to: [b], reason: x}\n"
    life.tree = {**life.tree, path: text.encode()}
    life.rest()
    assert broken(life) == {5}


def test_a_file_of_nobody_and_a_file_that_is_not_there_are_found_out() -> None:
    life, _, name = placed()
    assert misplaced(life.tree) == []
    path = f"clusters/{name}/workloads/n0/one/one.yaml"
    without = {key: data for key, data in life.tree.items() if key != path}
    assert misplaced(without) == [path]
    assert misplaced({**life.tree, "moving/n0/one/one.yaml": b""}) == ["moving/n0/one/one.yaml"]


def test_a_job_that_runs_again_after_its_end_was_seen_is_found_out() -> None:
    life, order, name = placed("RayJob")
    life.sites[name].end(order.group)
    life._look(timedelta(minutes=40))
    assert order.group in life.known_ended
    assert not life.wrong
    copied(life, order, name)
    life._watch()
    assert 7 in broken(life)


def test_a_group_that_goes_to_and_fro_in_a_day_of_noise_is_found_out() -> None:
    life, order, name = placed()
    life.begun += [Begun(life.now, order.group, False, False, (name,))] * 2
    life._one_visit_each(0)
    assert broken(life) == {8}


def main(args: Sequence[str] | None = None) -> int:
    """Live any range of seeds from the command line; exit 1 where a law was broken."""
    return live_all("The lives of small fleets.", "lives", lambda seed: History(seed).live(), args)


if __name__ == "__main__":
    sys.exit(main())

"""That a gang never fits is said where it is proved: the search is held against an exact solver, and gives up in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement import proof
from gitplacer.placement.pack import Packing, pack
from gitplacer.placement.proof import has_room
from tests.test_survey import GPU, books_of, cluster, snapshot
from tests.verifier import Site


def gang(text: str) -> Gang:
    """Such as `1 × 3/0 + 3 × 1/1`: pods with so many cores and GPUs."""
    sets = []
    for number, part in enumerate(text.split(" + ")):
        count, size = part.split(" × ")
        cpu, gpu = map(int, size.split("/"))
        sets.append(PodSet(f"worker/w{number}", int(count), PodShape(Resources({"cpu": cpu, GPU: gpu}))))
    return tuple(sets)


def nodes(text: str) -> list[dict[str, dict[str, str]]]:
    """Such as `3/4 5/2`: cores and GPUs of each node."""
    return [{"allocatable": {"cpu": f"{cpu}m", GPU: gpu}} for cpu, gpu in (one.split("/") for one in text.split())]


@pytest.mark.parametrize(
    ("there", "wanted", "fits"),
    [
        ("8/0", "2 × 4/0", True),
        ("8/0", "2 × 4/0 + 1 × 1/0", False),
        ("7/0 7/0", "2 × 4/0 + 1 × 6/0", False),  # there is enough in all
        ("3/4 5/2 2/2", "1 × 3/0 + 1 × 1/2 + 3 × 1/1", True),
        ("10/0 10/0 10/0", "3 × 6/0 + 3 × 4/0", True),
        ("10/0 10/0 10/0", "2 × 6/0 + 5 × 3/0", True),  # 6 + 3, 6 + 3, 3 + 3 + 3
        ("10/0 10/0 10/0", "2 × 6/0 + 6 × 3/0", False),
        ("9/0 9/0 9/0", "4 × 4/0 + 2 × 5/0", True),
        ("9/0 9/0 9/0", "3 × 4/0 + 3 × 5/0 + 1 × 1/0", False),
        ("", "1 × 1/0", False),
        ("4/0", "0 × 9/0", True),
    ],
)
def test_every_way_is_tried(there: str, wanted: str, fits: bool) -> None:
    books = books_of([snapshot("a", nodes(there))], [gang(wanted)])
    assert has_room(books["a"].empty_room(), gang(wanted), scale_up=False) is fits


SIZES = st.tuples(st.integers(0, 9), st.sampled_from((0, 0, 1, 2, 4))).map(lambda size: f"{size[0]}/{size[1]}")
PARTS = st.tuples(st.integers(1, 4), SIZES).map(lambda part: f"{part[0]} × {part[1]}")


@given(there=st.lists(SIZES, max_size=5).map(" ".join), wanted=st.lists(PARTS, min_size=1, max_size=3).map(" + ".join))
def test_the_search_and_the_solver_agree(there: str, wanted: str) -> None:
    asked, seen = gang(wanted), snapshot("a", nodes(there))
    room = books_of([seen], [asked])["a"].empty_room()
    found = has_room(room, asked, scale_up=False)
    assert found is Site(cluster("a"), seen).holds_when_empty(asked, scale_up=False)
    assert found or not isinstance(pack(room, asked), Packing)


def test_a_search_that_runs_out_of_steps_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = gang("2 × 4/0 + 1 × 6/0")
    room = books_of([snapshot("a", nodes("7/0 7/0"))], [wanted])["a"].empty_room()
    monkeypatch.setattr(proof, "_STEPS", 3)
    assert has_room(room, wanted, scale_up=False) is None


def test_many_machines_are_judged_by_sums_alone() -> None:
    there = nodes("7/0 " * 201)
    for wanted, answer in (("201 × 4/0 + 1 × 6/0", None), ("202 × 4/0", False), ("201 × 7/0 + 1 × 1/0", False)):
        room = books_of([snapshot("a", there)], [gang(wanted)])["a"].empty_room()
        assert has_room(room, gang(wanted), scale_up=False) is answer

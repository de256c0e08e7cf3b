"""What is to come to a cluster: the table that proofs are asked with says what is so, whoever came and went before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitplacer.model.resources import Resources
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.placement.arrivals import Arrivals, Coming, Table

SHAPES = [PodShape(Resources({"cpu": cores})) for cores in (1, 2, 3, 4)]
GANGS = st.lists(st.builds(PodSet, st.just("worker"), st.integers(0, 3), st.sampled_from(SHAPES)), max_size=3)
COMING = st.builds(Coming, st.sampled_from("abc"), GANGS.map(tuple), st.booleans(), st.booleans())


def told(table: Table) -> dict[PodShape, tuple[int, bool, bool]]:
    musts = (table.musts[lucky].tolist() for lucky in (False, True))
    return dict(zip(table.shapes, zip(table.counts.tolist(), *musts, strict=True), strict=True))


@given(st.lists(COMING | st.sampled_from("abc") | st.just(None), max_size=12))
def test_the_table_is_as_if_it_were_made_anew(events: list[Coming | str | None]) -> None:
    arrivals = Arrivals(lambda pods: False)
    for event in events:
        if event is None:
            tables = [arrivals.table]
            arrivals = arrivals.copy()
            tables.append(arrivals.table)
            assert told(tables[0]) == told(tables[1])
        elif isinstance(event, str):
            arrivals.remove(event)
        else:
            arrivals.add(event)
    anew = Arrivals(lambda pods: False)
    for coming in arrivals:
        anew.add(coming)
    assert told(arrivals.table) == told(anew.table)


def test_a_table_stays_as_it_was_when_others_come() -> None:
    arrivals = Arrivals(lambda pods: False)
    arrivals.add(Coming("a", (PodSet("worker", 2, SHAPES[0]),), sure=False))
    before = arrivals.table
    arrivals.add(Coming("b", (PodSet("worker", 3, SHAPES[0]),), sure=True))
    assert told(before) == {SHAPES[0]: (2, False, False)}
    assert told(arrivals.table) == {SHAPES[0]: (5, True, True)}
    assert arrivals.table.shapes is before.shapes, "so that nobody looks for their numbers again"

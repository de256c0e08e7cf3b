"""Trials on a stage: what was asked before has no say in what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import PodTerm, Selector
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Shortfall, pack_what_fits
from gitplacer.placement.stage import Missing
from gitplacer.scheduler.objects import HOSTNAME
from tests.test_survey import GANGS, NODES, cluster, snapshot


@given(
    nodes=st.lists(NODES, min_size=1, max_size=4),
    gangs=st.lists(GANGS, min_size=4, max_size=4),
    order=st.permutations(range(3)),
)
def test_what_was_asked_while_others_came_in_another_order_has_no_say(
    nodes: list[dict[str, Any]], gangs: list[Gang], order: list[int]
) -> None:
    seen = snapshot("c", nodes)

    def opened() -> Ledger:
        return Ledger(cluster("c"), seen, Columns.of([seen], [], gangs))

    def promise(ledger: Ledger, order: Sequence[int]) -> None:
        for i in order:
            ledger.reserve(f"g{i}", pack_what_fits(ledger.room(), gangs[i]), gangs[i], sure=True)

    ledger, fresh = opened(), opened()
    promise(ledger, range(3))
    ledger.tight(gangs[3])
    for i in range(3):
        ledger.release(f"g{i}")
    promise(ledger, order)
    promise(fresh, order)
    found, meant = ledger.tight(gangs[3]), fresh.tight(gangs[3])
    event(f"left out: {meant is not None}")
    assert found == meant


def test_which_order_was_tried_is_told_of_those_who_come_as_they_do_now() -> None:
    """Small pods first take the node that the large one needs: that is as they were created at first, and in reverse later."""
    seen = snapshot("c", [{"allocatable": {"cpu": cpu, "memory": "1Gi"}} for cpu in ("4", "3")])
    small, large, tiny = ((PodSet("pod", 1, PodShape(Resources({"cpu": cpu}))),) for cpu in (3000, 4000, 0))
    ledger = Ledger(cluster("c"), seen, Columns.of([seen], [], [small, large, tiny]))
    told = []
    for come in ({"s": small, "l": large}, {"l": large, "s": small}):
        for name, gang in come.items():
            ledger.reserve(name, pack_what_fits(ledger.room(), gang), gang, sure=True)
        found = ledger.tight(tiny)
        assert found is not None
        told.append(found.order)
        for name in come:
            ledger.release(name)
    assert told == ["as created", "reversed"]


def test_pods_that_are_tried_first_are_called_by_their_role() -> None:
    """Pods of one shape are one object for all trials, and have no names there."""
    nodes = [{"allocatable": {"cpu": cpu, "memory": memory}} for cpu, memory in (("5", "2"), ("6", "9"), ("6", "9"))]
    sets = (("head", 2, 2, 2), ("worker/a", 1, 3, 5), ("worker/b", 1, 4, 3))
    gang = tuple(
        PodSet(role, count, PodShape(Resources({"cpu": cpu * 1000, "memory": memory})))
        for role, count, cpu, memory in sets
    )
    seen = snapshot("c", nodes)
    ledger = Ledger(cluster("c"), seen, Columns.of([seen], [], [gang]))
    tight = ledger.tight(gang)
    assert tight is not None
    assert (tight.order, tight.pod, tight.left) == ("worker/b first", "worker/a", gang[1:2])
    ledger.reserve("web/first", Packing(()), gang, sure=True)
    beside = ledger.tight(gang[:1])
    assert beside is not None
    assert beside.pod == "worker/a of web/first"


def test_pods_for_which_a_search_finds_no_node_are_called_by_their_role() -> None:
    """Each of three workers keeps the others off its node, and there are two; the head minds nobody."""
    alone = PodTerm(HOSTNAME, Selector((Requirement("a", "In", ("b",)),)), own_namespace=True)
    head = PodSet("head", 1, PodShape(Resources({"cpu": 1000})), namespace="web")
    apart = PodShape(Resources({"cpu": 1000}), pod_anti_affinity=(alone,))
    workers = PodSet("worker/a", 3, apart, namespace="web", labels=(("a", "b"),))
    seen = snapshot("c", [{"name": name, "labels": {HOSTNAME: name}, "allocatable": {"cpu": "9"}} for name in "nm"])
    ledger = Ledger(cluster("c"), seen, Columns.of([seen], [], [(head, workers)]))
    found = ledger.fit((workers, head), scale_up=False)
    assert isinstance(found, Shortfall)
    assert (found.role, found.wanted) == ("worker/a", 3)
    assert ledger.fits_now((workers, head)) is found  # as somebody knows by now
    ledger.reserve("another", Packing(()))
    missing = ledger.fits_now((workers, head))
    assert isinstance(missing, Missing)
    assert missing.told() == found

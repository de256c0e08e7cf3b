"""What an edit of one object asks for beside what runs: the arithmetic, as tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from gitplacer.kinds.capacity import RunningGroup
from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import PodTerm, Selector, SpreadConstraint, in_namespace, untold
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.updating import How, as_it_runs, named_roles, pods_beside, pods_last
from gitplacer.workloads.facts import ObjectFacts, PodLabels, Role

SMALL, LARGE = PodShape(Resources({"cpu": 1000})), PodShape(Resources({"cpu": 2000}))


def service(workers: int, surge: int, shape: PodShape = SMALL) -> ObjectFacts:
    """A head, and workers of one group of which so many more come at the peak of an upgrade."""
    return ObjectFacts(
        roles=(Role("head", SMALL, 1, 1, 1, 1), Role("worker/a", shape, workers, 0, 10, surge)), sized=True
    )


def running(workers: int) -> Gang:
    return PodSet("head", 1, SMALL), PodSet("worker/a", workers, SMALL)


@pytest.mark.parametrize(
    ("how", "ran", "new", "beside"),
    [
        # a full second Ray cluster, whatever runs
        (How.NEW_CLUSTER, 4, service(4, 4), {"head": 1, "worker/a": 4}),
        (How.NEW_CLUSTER, 9, service(2, 2), {"head": 1, "worker/a": 2}),
        (How.NEW_CLUSTER, 0, service(0, 0), {"head": 1}),
        # in steps: the surge, and what the new one has more
        (How.IN_STEPS, 4, service(4, 1), {"head": 1, "worker/a": 1}),
        (How.IN_STEPS, 4, service(4, 4), {"head": 1, "worker/a": 4}),
        (How.IN_STEPS, 4, service(6, 2), {"head": 1, "worker/a": 4}),
        (How.IN_STEPS, 6, service(4, 1), {"head": 1, "worker/a": 1}),
        (How.IN_STEPS, 0, service(4, 1), {"head": 1, "worker/a": 4}),
        # in steps with workers of another size: the room that one leaves may be of no use to the other
        (How.IN_STEPS, 4, service(4, 1, LARGE), {"head": 1, "worker/a": 4}),
        # one after another: the surge alone
        (How.ROLLING, 4, service(4, 1, LARGE), {"head": 1, "worker/a": 1}),
    ],
)
def test_what_runs_beside_the_old_pods_at_the_worst_moment(
    how: How, ran: int, new: ObjectFacts, beside: dict[str, int]
) -> None:
    found = pods_beside(how, running(ran), new, "Desired")
    assert dict(named_roles(found)) == beside


@pytest.mark.parametrize(
    ("shown", "workers"),
    [([], 2), (["head", "worker/a"], 2), (["worker/a"] * 5, 5), (["worker/b"] * 5, 2)],
)
def test_what_runs_is_what_a_snapshot_shows_where_that_is_more(shown: list[str], workers: int) -> None:
    pods: list[dict[str, Any]] = [{"role": role, "node": "n"} for role in shown]
    there = RunningGroup.model_validate({"name": "x/app", "pods": pods})
    assert dict(named_roles(as_it_runs(running(2), there))) == {"head": 1, "worker/a": workers}
    assert as_it_runs(running(2), None) == running(2)


def test_a_pod_that_is_being_deleted_is_none_that_runs_on() -> None:
    pods: list[dict[str, Any]] = [{"role": "worker/a", "node": "n", "terminating": number < 2} for number in range(5)]
    there = RunningGroup.model_validate({"name": "x/app", "pods": pods})
    assert dict(named_roles(as_it_runs(running(2), there))) == {"head": 1, "worker/a": 3}


def test_a_policy_that_wants_room_for_fewer_asks_for_fewer_beside() -> None:
    new = service(4, 4)
    autoscaling = new.but(roles=tuple(replace(role, shrinks=role.name != "head") for role in new.roles))
    assert dict(named_roles(pods_beside(How.NEW_CLUSTER, running(4), autoscaling, "Minimum"))) == {"head": 1}


def deployment(shape: PodShape, *, waits: bool = True, count: int = 3) -> ObjectFacts:
    return ObjectFacts(roles=(Role("pod", shape, count, count, count, 1, waits=waits),), sized=True)


ELSEWHERE = structs.replace(SMALL, node_selector=(("zone", "b"),))
MORE_MEMORY = PodShape(Resources({"cpu": 500, "memory": 1}))


@pytest.mark.parametrize(
    ("how", "ran", "new", "last"),
    [
        (How.ROLLING, SMALL, deployment(LARGE), [("pod", 1, SMALL)]),
        (How.ROLLING, SMALL, deployment(MORE_MEMORY), [("pod", 1, SMALL)]),
        (How.ROLLING, SMALL, deployment(ELSEWHERE), [("pod", 1, SMALL)]),
        # some may be missing, so that no old one is left when the last new one comes
        (How.ROLLING, SMALL, deployment(LARGE, waits=False), []),
        # as large as they were, or smaller: there is least room at the first step
        (How.ROLLING, SMALL, deployment(SMALL), None),
        (How.ROLLING, LARGE, deployment(SMALL), None),
        (How.ROLLING, SMALL, deployment(LARGE, count=0), None),
        (How.IN_PLACE, SMALL, deployment(LARGE), None),
        (How.NEW_CLUSTER, SMALL, deployment(LARGE), None),
    ],
)
def test_which_old_pods_run_yet_when_the_last_of_larger_ones_comes(
    how: How, ran: PodShape, new: ObjectFacts, last: list[tuple[str, int, PodShape]] | None
) -> None:
    found = pods_last(how, (PodSet("pod", 3, ran),), new, "Desired")
    assert found is None if last is None else found == tuple(PodSet(*one) for one in last)


def labelled(facts: ObjectFacts) -> ObjectFacts:
    labels = (("ray.io/cluster", untold("RayService", "app")),)
    return facts.but(pods=tuple(PodLabels(role.name, labels) for role in facts.roles))


@pytest.mark.parametrize("how", [How.NEW_CLUSTER, How.IN_STEPS])
def test_a_second_ray_cluster_has_a_name_of_its_own(how: How) -> None:
    new = labelled(service(4, 1))
    old, beside = new.gang, pods_beside(how, new.gang, new, "Desired")
    assert {pods.labels for pods in old}.isdisjoint(pods.labels for pods in beside)
    assert all(in_namespace(pods.labels, "x") != pods.labels for pods in beside)


def test_pods_that_come_one_after_another_for_others_are_of_the_same_object() -> None:
    new = labelled(service(4, 1))
    assert {pods.labels for pods in pods_beside(How.ROLLING, new.gang, new, "Desired")} == {new.gang[0].labels}


@pytest.mark.parametrize(
    ("rule", "workers"),
    [
        ({"pod_anti_affinity": (PodTerm("host", Selector((Requirement("app", "Exists"),))),)}, 1),
        ({"pod_anti_affinity": (PodTerm("host", Selector((Requirement("ray.io/cluster", "Exists"),))),)}, 4),
        ({"pod_anti_affinity": (PodTerm("host", Selector(()), match_keys=("ray.io/cluster",)),)}, 4),
        ({"pod_affinity": (PodTerm("host", Selector(()), mismatch_keys=("ray.io/cluster",)),)}, 4),
        ({"spread": (SpreadConstraint("host", 1, Selector(()), match_keys=("ray.io/cluster",)),)}, 4),
        ({"spread": (SpreadConstraint("host", 1, Selector(()), hard=False, match_keys=("ray.io/cluster",)),)}, 1),
    ],
)
def test_in_steps_an_old_pod_makes_no_room_for_one_that_goes_by_its_ray_cluster(
    rule: dict[str, Any], workers: int
) -> None:
    """Where the one may be that leaves, the other may not: it may have neighbours of its own cluster there."""
    new = labelled(service(4, 1, structs.replace(SMALL, **rule)))
    assert dict(named_roles(pods_beside(How.IN_STEPS, new.gang, new, "Desired"))) == {"head": 1, "worker/a": workers}


def test_the_pods_of_the_peak_of_an_update_are_those_of_a_second_ray_cluster() -> None:
    facts = labelled(service(4, 2))
    sets = facts.gang_for("Desired", with_peak=True)
    assert [(pods.role, pods.count) for pods in sets] == [("head", 1), ("head", 1), ("worker/a", 4), ("worker/a", 2)]
    assert sets[0].labels == sets[2].labels != sets[1].labels == sets[3].labels
    assert [count for count, _ in facts.queued_for("Desired", with_peak=True)] == [1, 0, 4, 0]
    deployment = facts.but(pods=())
    assert dict(named_roles(deployment.gang_for("Desired", with_peak=True))) == {"head": 2, "worker/a": 6}
    assert len(deployment.gang_for("Desired", with_peak=True)) == 2

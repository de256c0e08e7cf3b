"""Of the groups that were told they fit: which were ready in time, and why the others were not, or why nobody knows."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from gitplacer.audit.promises import Given, judged, promises_of
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.model.promises import Promise
from gitplacer.settings import settings
from tests.commands import run
from tests.fleetrepos import Fleet, begun, made, silently
from tests.stories import START, cluster, policy, rayservice, snapshot

WITHIN = timedelta(minutes=15)
READY = "ready: true, phase: Running"
PENDING = "ready: false, phase: Pending, pods: [{role: head, node: n1}, {role: worker/gpu, reason: Unschedulable}]"


def seen(minute: int, group: str | None = READY, applied: int | None = 2) -> CapacitySnapshot:
    """A snapshot some minutes after the promise, with what it shows of the group."""
    more = f"applied: {{platform: 1, workloads: {applied}}}\n" if applied is not None else ""
    more += f"groups: [{{name: prod/api, {group}}}]\n" if group is not None else ""
    text = snapshot("a", "n1 8 32Gi 1", at=START + timedelta(minutes=minute), more=more)["a.yaml"]
    return CapacitySnapshot.model_validate(yaml.safe_load(text), by_alias=True)


def told(ended: int | None = None, code: str = "Removed") -> Given:
    return Given(
        group="prod/api", cluster="a", policy="anywhere", code="Fits", at=START, epoch=2, unit="workloads", commit="c" * 40,
        ended=START + timedelta(minutes=ended) if ended is not None else None, ended_code=code if ended is not None else "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("snapshots", "ended", "now", "kept"),
    [
        ([seen(3)], None, 60, "Ready None"),
        ([seen(3, PENDING), seen(15)], None, 60, "Ready None"),
        ([seen(3, "phase: Succeeded")], None, 60, "Ready None"),
        ([seen(3), seen(20, PENDING)], None, 60, "Ready None"),  # what came later is another matter
        ([seen(16, PENDING), seen(20)], None, 60, "Late PendingPods"),
        ([seen(15, PENDING)], None, 60, "NotReady PendingPods"),
        ([seen(16, "phase: Failed")], None, 60, "NotReady Failed"),
        ([seen(16, "phase: Running")], None, 60, "NotReady Unready"),
        ([seen(16, None)], None, 60, "NotReady NotShown"),
        ([seen(16, applied=1)], None, 60, "NotReady NotApplied"),  # shown ready, and that is the one before
        ([seen(3, applied=1), seen(4)], None, 60, "Ready None"),
        ([seen(16, "phase: Suspended")], None, 60, "NotKnown Suspended"),
        ([seen(3, PENDING), seen(20)], None, 60, "NotKnown NotObserved"),  # nobody looked at the quarter
        ([seen(3, PENDING)], None, 60, "NotKnown NotObserved"),
        ([seen(3, PENDING)], None, 10, "NotKnown NotYet"),
        ([], None, 60, "NotKnown NotObserved"),
        ([seen(-1)], None, 60, "NotKnown NotObserved"),  # what it was before says nothing
        ([seen(3, applied=None)], None, 60, "NotKnown NotObserved"),  # it may not have been applied yet
        ([seen(6, applied=None)], None, 60, "Ready None"),
        ([seen(3, PENDING)], 5, 60, "NotKnown Left"),
        ([seen(3, PENDING), seen(20)], 5, 60, "NotKnown Left"),  # that is another copy
    ],
)
def test_a_promise_is_judged_by_what_was_seen(
    snapshots: list[CapacitySnapshot], ended: int | None, now: int, kept: str
) -> None:
    found = judged(told(ended), snapshots, WITHIN, START + timedelta(minutes=now))
    assert f"{found.kept} {found.why}" == kept


def test_a_group_that_left_because_its_pods_found_no_nodes_was_promised_too_much() -> None:
    found = judged(told(5, "PendingPods"), [], WITHIN, START + timedelta(hours=1))
    assert (found.kept, found.why) == ("NotReady", "PendingPods")


def test_what_waits_is_told_by_role_and_cause() -> None:
    found = judged(told(), [seen(16, PENDING)], WITHIN, START + timedelta(hours=1))
    assert found.detail == "1 × worker/gpu: Unschedulable"


@pytest.fixture
def fleet(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return begun(lived, tmp_path_factory, tmp_path)


def lived(folder: Path) -> Fleet:
    """Three services are placed; later passes see one ready, one pending, and another that has moved."""
    fleet = made(folder)
    fleet.commit(rayservice("prod", "slow") | rayservice("test", "gone"))
    fleet.reconcile(5)
    groups = (
        "applied: {platform: 1, workloads: 3}\n"
        "groups: [{name: prod/api, ready: true, phase: Running}, {name: prod/slow, phase: Pending,"
        " pods: [{role: worker/gpu, reason: Unschedulable}]}]\n"
    )
    room = snapshot("a", "n1 32 128Gi 4", at=START + timedelta(minutes=10), more=groups)
    fleet.commit({f"capacity/{k}": v for k, v in room.items()}, remove=("workloads/test/gone.yaml",))
    fleet.reconcile(11)
    room = snapshot("a", "n1 32 128Gi 4", at=START + timedelta(minutes=25), more=groups)
    fleet.commit({f"capacity/{k}": v for k, v in room.items()} | rayservice("prod", "new"))
    fleet.reconcile(31)
    return fleet


def promises(fleet: Fleet, now: str = "2026-01-02T03:35:00Z") -> dict[str, Promise]:
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now=now)
    return {p.group: p for p in promises_of(chosen, WITHIN, None, silently)}


def test_promises_are_read_from_the_two_repos(fleet: Fleet) -> None:
    found = {group: f"{p.code} {p.kept} {p.why}" for group, p in promises(fleet).items()}
    assert found == {
        "prod/api": "Fits Ready None",
        "prod/slow": "Fits NotReady PendingPods",
        "test/gone": "Fits NotKnown Left",
        "prod/new": "Fits NotKnown NotYet",
    }


def test_a_group_that_is_renamed_was_promised_once(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.commit(rayservice("prod", "api", labels="{app: web}"))
    fleet.reconcile(5)
    fleet.commit(policy("anywhere", "select: {}\ngroupBy: {label: app}"))
    fleet.reconcile(6)
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2026-01-02T03:35:00Z")
    assert [(p.group, p.at) for p in promises_of(chosen, WITHIN, None, silently)] == [("prod/web", START)]


def test_a_move_is_a_new_promise(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.reconcile(5)
    fleet.commit(cluster("a", state="Draining"))
    fleet.reconcile(6)
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2026-01-02T03:35:00Z")
    found = promises_of(chosen, WITHIN, None, silently)
    assert [(p.cluster, str(p.why), p.detail) for p in found] == [
        ("a", "Left", "ClusterDraining"),
        ("b", "NotObserved", ""),
    ]
    later = promises_of(chosen, WITHIN, START + timedelta(minutes=1), silently)
    assert [p.cluster for p in later] == ["b"]


def test_a_group_between_two_clusters_was_promised_nothing_there_yet(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.reconcile(5)
    rule = policy("anywhere", "select: {}\nrelocation: {strategy: RemoveFirst}")
    fleet.commit(rule | cluster("a", state="Draining"))
    fleet.reconcile(6)
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2026-01-02T03:35:00Z")
    assert [p.cluster for p in promises_of(chosen, WITHIN, None, silently)] == ["a"]
    for minute in (7, 8):
        shown = snapshot("a", "n1 8 32Gi", at=START + timedelta(minutes=minute - 5), more="applied: {workloads: 2}\n")
        fleet.commit({f"capacity/{name}": text for name, text in shown.items()})
        fleet.reconcile(minute)
    found = promises_of(chosen, WITHIN, None, silently)
    assert [(p.cluster, p.at.minute, str(p.why)) for p in found] == [("a", 5, "Left"), ("b", 8, "NotObserved")]


def status(capfd: pytest.CaptureFixture[str], fleet: Fleet, *args: str) -> tuple[int, str, str]:
    now = ("--now", "2026-01-02T03:35:00Z")
    done = run(capfd, "status", *args, "--deployment", fleet.deployment, *now, fleet.source)
    return done.code, done.out, done.err


def test_the_command_shows_what_was_kept_and_why_not(fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = status(capfd, fleet, "--promises")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "Ready within 15m after their placement"
    assert "Fits      4         1        0     1          2" in lines
    assert any("pods waited for a node: 1 × worker/gpu: Unschedulable" in line for line in lines)
    assert lines[-1] == "1 of 2 promises were kept within 15m; of 2 more it is not known"
    document = json.loads(status(capfd, fleet, "--promises", "--format", "json")[1])
    assert document["byCode"]["Fits"]["why"] == {
        "NotKnown/Left": 1,
        "NotKnown/NotYet": 1,
        "NotReady/PendingPods": 1,
    }
    assert document["byPolicy"]["anywhere"]["Promised"] == 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--promises", "--within", "soon"], "--within soon is not a time to wait"),
        (["--promises", "--within", "0s"], "--within 0s is not a time to wait"),
        (["--promises", "--since", "monday"], "--since monday is not a time"),
        (["--within", "5m"], "--within and --since are about promises"),
    ],
)
def test_what_cannot_be_asked_says_why(
    fleet: Fleet, capfd: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    code, _, err = status(capfd, fleet, *args)
    assert code == 1
    assert message in err

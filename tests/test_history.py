"""Where a group has been, from git alone: passes, people, other names, and groups that are gone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitplacer.audit.moves import history_of
from gitplacer.model.happening import Event
from gitplacer.settings import UsageError, settings
from tests import make_history
from tests.commands import run
from tests.fleetrepos import Fleet, made, silently
from tests.gitservers import git
from tests.stories import cluster, policy, rayjob, rayservice, snapshot


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """The fleet of the kept history."""
    return make_history.imported(make_history.KEPT / "0.1.0", tmp_path_factory.mktemp("told"))


def history(fleet: Fleet, group: str) -> list[Event]:
    return history_of(settings(str(fleet.source), deployment=fleet.deployment), group, silently)


def short(events: list[Event]) -> list[str]:
    def of(names: tuple[str, ...]) -> str:
        return ",".join(names) or "-"

    return [f"{e.at[11:16]} {e.what} {of(e.before)} {of(e.after)}" for e in events]


def test_every_move_is_told_with_who_did_it_and_why(told: Fleet) -> None:
    events = history(told, "prod/api")
    assert short(events) == [
        "03:05 Placed - a",
        "03:10 Updated a a",
        "03:15 Relocated a b",
        "03:16 Reverted b a",
        "03:56 Merged a b",
        "03:58 ByHand b b",
    ]
    first, _, moved, reverted, merged, edited = events
    assert (first.said, first.code, first.by) == ("goes to a: fits", "Fits", (("policy", "anywhere"),))
    assert (moved.said, moved.source_subject) == ("Moves from a to b: a is draining; b: fits", "drain a")
    assert reverted.also == moved.commit
    assert merged.said.startswith("Move it: ")
    assert {e.by for e in (reverted, merged, edited)} == {(("person", "Ada <ada@example.com>"),)}


def test_a_group_that_is_gone_still_has_its_history(told: Fleet) -> None:
    assert short(history(told, "jobs/sweep"))[-1].startswith("03:59 Removed ")
    with pytest.raises(UsageError) as error:
        history(told, "jobs/sweeps")
    assert "jobs/sweep" in error.value.hint


def test_a_group_is_followed_through_its_names(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.commit(rayservice("prod", "api", labels="{app: web}"))
    fleet.reconcile(5)
    fleet.commit(policy("anywhere", "select: {}\ngroupBy: {label: app}"))
    fleet.reconcile(6)
    fleet.commit(rayservice("prod", "api", labels="{app: web}", workers=2))
    fleet.reconcile(7)
    events = history(fleet, "prod/web")
    assert short(events) == ["03:05 Placed - a", "03:06 Renamed a a", "03:07 Updated a a"]
    assert [e.group for e in events] == ["prod/api", "prod/web", "prod/web"]
    assert events[1].also == "prod/api"
    last = history(fleet, "prod/api")[-1]
    assert (last.what, last.after, last.also) == ("Renamed", (), "prod/web")


def test_a_group_that_waits_says_so(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.commit(rayjob("jobs", "huge", workers=50))
    fleet.reconcile(5)
    (event,) = history(fleet, "jobs/huge")
    assert (event.what, event.after) == ("Waits", ())
    assert event.said


def test_a_group_between_two_clusters_is_on_neither(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fleet = made(tmp_path)
    fleet.reconcile(5)
    rule = policy("anywhere", "select: {}\nrelocation: {strategy: RemoveFirst}")
    fleet.commit(rule | cluster("a", state="Draining"), "drain a")
    fleet.reconcile(6)
    assert run(capfd, "history", "prod/api", "--deployment", fleet.deployment, fleet.source).out.splitlines()[-1] == (
        "prod/api is nowhere; `gitplacer explain prod/api` says why"
    )
    for minute in (7, 8):
        at = datetime(2026, 1, 2, 3, minute, tzinfo=UTC)
        shown = snapshot("a", "n1 8 32Gi", at=at, more="applied: {workloads: 2}\n")
        fleet.commit({f"capacity/{name}": text for name, text in shown.items()})
        fleet.reconcile(minute)
    assert short(history(fleet, "prod/api")) == ["03:05 Placed - a", "03:06 Relocated a -", "03:08 Relocated - b"]


def test_the_table_can_be_read_whatever_people_write(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fleet = made(tmp_path)
    fleet.reconcile(5)
    clone = tmp_path / "clone"
    git("clone", "-q", str(fleet.bare), str(clone), cwd=tmp_path)
    (clone / "clusters/a/workloads/prod/api/note").write_text("x")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "::error::\x1b[31mred \u202eback", cwd=clone)
    git("push", "-q", cwd=clone)
    done = run(capfd, "history", "prod/api", "--deployment", fleet.deployment, fleet.source)
    assert done.code == 0
    head, first, second, _, last = done.out.splitlines()
    assert head.split() == ["Time", "Commit", "What", "From", "To", "By", "Source", "Why"]
    assert " Placed " in first
    assert " ByHand " in second
    assert not {"\x1b", "\u202e"} & set(done.out)
    assert last == "prod/api is on a; `gitplacer explain prod/api` says why"


def test_json_has_all_of_it(told: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    args = ("history", "prod/api", "--format", "json", "--deployment", told.deployment, str(told.source))
    document = json.loads(run(capfd, *args).out)
    assert (document["kind"], document["group"], len(document["events"])) == ("History", "prod/api", 6)
    assert document["events"][3]["reverts"] == document["events"][2]["commit"]
    assert document["events"][2]["reason"]["code"] == "ClusterDraining"


def test_nothing_deployed_is_no_history(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no group has a history"):
        history(made(tmp_path), "prod/api")

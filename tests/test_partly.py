"""
Passes that plan the part of a fleet which an edit concerns publish what whole passes do, and leave behind what the next one needs.

The law of what a part tells is in `test_inpart`. Here it goes through git: edit after edit, each held against a whole pass on a copy of both repos.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitplacer.hydrate import Hydration
from gitplacer.passes import partly
from gitplacer.passes.reconcile import Outcome, Rewritten, Spared
from gitplacer.passes.touching import Touch
from tests.commands import Ran, run
from tests.fleetrepos import copied, made
from tests.stories import cluster, policy, rayservice, snapshot
from tests.test_quiet_passes import Counted
from tests.test_quiet_passes import computed as computed
from tests.test_rewriting import (
    API,
    Edit,
    Repo,
    Rested,
    by_hand,
    comment,
    edited,
    overtaken,
    put,
    several,
    turns_with_two_edits,
)
from tests.watchedcontrollers import Watched

SHOP = "workloads/jobs/shop.yaml"
BESIDE = {
    **policy("jobs", "select: {namespaces: [jobs]}\nprecedence: 5\nclusters: {names: [b]}"),
    **rayservice("jobs", "shop"),
    **policy("prod", "select: {namespaces: [prod]}\nprecedence: 6\nclusters: {names: [a]}"),
    **{f"capacity/{path}": text for name in "ab" for path, text in snapshot(name, "n1 64 256Gi 16").items()},
    "README.md": "ours\n",
}
ANYWHERE = policy(
    "jobs", "select: {namespaces: [jobs]}\nprecedence: 5\nplacement: {type: Ordered, order: [{names: [b]}, {}]}"
)
HUGE = rayservice("prod", "huge", workers=9, cpu="60")


def image(tag: object, path: str = SHOP) -> Edit:
    def edit(repo: Repo) -> None:
        file = repo.folder / path
        file.write_text(re.sub(r"image: ray[:\w]*", f"image: ray:{tag}", file.read_text()))

    return edit


def workers(number: int, path: str = SHOP) -> Edit:
    def edit(repo: Repo) -> None:
        file = repo.folder / path
        file.write_text(re.sub(r"  replicas: \d+", f"  replicas: {number}", file.read_text()))

    return edit


@pytest.fixture
def own(tmp_path: Path) -> Rested:
    """Two clusters at rest, with an app on each that stays."""
    found = Rested(made(tmp_path), tmp_path / "cache")
    found.fleet.commit(BESIDE)
    at_rest(found, 5)
    return found


def at_rest(own: Rested, minute: int) -> None:
    for later in range(minute, minute + 5):
        if isinstance(own.passed(later), Spared):
            return
    raise AssertionError("it does not come to rest")


class Asked:
    """Of which passes it was asked whether they can be planned in part, whether they were, and who was read for those that are carried out as a whole one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[bool] = []
        self.read: list[set[str]] = []
        plain = partly.planned_partly

        def noted(*args: Any, **kwargs: Any) -> Touch | Hydration | None:
            found = plain(*args, **kwargs)
            self.told.append(found is not None)
            if isinstance(found, Hydration):
                self.read.append(set(found.snapshot.groups))
            return found

        monkeypatch.setattr(partly, "planned_partly", noted)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


IN_TURN: dict[str, Edit] = {
    "another image": image("2"),
    "one worker more": workers(2),
    "two apps on two clusters": several(image("3"), image("3", API)),
    "a comment and an image": several(comment(API), image("4")),
    "beside a file that nobody reads": several(put("README.md", "ours", "theirs"), image("5")),
    "beside files that nobody reads, which come and go": several(
        lambda repo: repo.new("docs/about.md", "ours\n"), lambda repo: (repo.folder / "README.md").unlink(), image("6")
    ),
    "more workers at most": put(SHOP, "maxReplicas: 10", "maxReplicas: 40"),
    "more workers than there is room for": workers(30),
}


@pytest.mark.parametrize("waits", [False, True], ids=["nobody waits", "somebody waits"])
def test_edit_after_edit_comes_to_what_a_whole_pass_makes_of_it(
    own: Rested, asked: Asked, tmp_path: Path, capfd: pytest.CaptureFixture[str], waits: bool
) -> None:
    if waits:
        own.fleet.commit(
            {**HUGE, **rayservice("jobs", "vast", workers=9, cpu="60"), "workloads/prod/broken.yaml": "kind: ["}
        )
        at_rest(own, 12)
    asked.told.clear()
    for minute, (name, edit) in enumerate(IN_TURN.items(), 20):
        edited(own, edit)
        done = as_the_whole(own, tmp_path, capfd, minute)
        assert "  Update " in done.out
        assert ("prod/huge" in done.err and "broken.yaml:1:" in done.err) == waits
        assert (", let wait 2 groups\n" in done.out) == waits, name
        assert isinstance(own.passed(minute), Spared), name
    assert asked.told == [True] * len(IN_TURN)


def as_the_whole(own: Rested, tmp_path: Path, capfd: pytest.CaptureFixture[str], minute: int) -> Ran:
    """What a pass says that may plan a part; it publishes and says what a whole one does on a copy of both repos."""
    other = copied(own.fleet, tmp_path / str(minute))
    told = []
    for fleet, more in ((own.fleet, ()), (other, ("--full",))):
        at = ("--deployment", fleet.bare, "--now", f"2026-01-02T03:{minute}:00Z")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GITPLACER_CACHE", str(own.cache))
            done = run(capfd, "reconcile", fleet.source, *at, *more)
        refs = fleet.git("for-each-ref", "--format=%(refname) %(objectname)")
        said = replace(done, **{name: getattr(done, name).replace(str(fleet.bare), "BARE") for name in ("out", "err")})
        told.append((said, refs))
    assert told[0] == told[1]
    return told[0][0]


def test_where_a_cluster_is_lost_all_who_stay_elsewhere_are_not_planned(
    own: Rested, asked: Asked, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """But for who waits. The pass behind it is whole."""
    own.fleet.commit({**ANYWHERE, **HUGE})
    at_rest(own, 12)
    asked.told.clear()
    own.fleet.commit(cluster("b", state="Lost"))
    assert "  Relocate jobs/shop from b to a\n" in as_the_whole(own, tmp_path, capfd, 20).out
    assert (asked.told, asked.read) == ([True], [{"jobs/shop", "prod/huge"}])
    assert isinstance(own.passed(21), Outcome)
    assert isinstance(own.passed(22), Spared)


def test_text_between_two_of_them_is_written_without_planning(own: Rested, asked: Asked, computed: Counted) -> None:
    """Also that of the app which was planned in part before."""
    edited(own, image("2"))
    assert isinstance(own.passed(20), Rewritten)
    before, number = len(asked.told), computed.number
    edited(own, comment(API))
    assert isinstance(own.passed(21), Rewritten)
    assert (len(asked.told), computed.since(number)) == (before, 0)
    edited(own, comment(SHOP))
    assert isinstance(own.passed(22), Rewritten)
    edited(own, image("3"))
    assert isinstance(own.passed(23), Rewritten)
    assert asked.told[before:] == [True, True]
    assert own.fleet.reconcile(24).tip is None, "a whole pass has nothing to add"


BESIDE_ALL: dict[str, Edit] = {
    "fewer workers": several(workers(0)),
    "pods of another shape": put(SHOP, "memory: 4Gi", "memory: 3Gi"),
    "another label": put(SHOP, "labels: {}", "labels: {tier: gold}"),
    "an app more": lambda repo: (
        (repo.folder / SHOP).with_name("more.yaml").write_text(rayservice("jobs", "more")["workloads/jobs/more.yaml"])
    ),
}


@pytest.mark.parametrize("edit", BESIDE_ALL.values(), ids=BESIDE_ALL)
def test_what_concerns_a_namespace_is_planned_beside_all_who_stay_elsewhere(
    own: Rested, asked: Asked, tmp_path: Path, capfd: pytest.CaptureFixture[str], edit: Edit
) -> None:
    edited(own, edit)
    assert "Published" in as_the_whole(own, tmp_path, capfd, 20).out
    assert asked.told == [True] and len(asked.read) == 1
    assert "prod/api" not in asked.read[0] and "jobs/shop" in asked.read[0]


WHOLE: dict[str, Edit] = {
    "a policy": several(image("2"), comment("policies/jobs.yaml")),
    "a snapshot": several(image("2"), comment("capacity/b.yaml")),
    "an app less": several(image("2"), lambda repo: (repo.folder / API).unlink()),
}  # fmt: skip


@pytest.mark.parametrize("edit", WHOLE.values(), ids=WHOLE)
def test_what_may_concern_others_is_planned_whole(own: Rested, asked: Asked, edit: Edit) -> None:
    edited(own, edit)
    assert isinstance(own.passed(20), Outcome)
    assert asked.told == [False] or not asked.told


def test_a_snapshot_that_becomes_stale_is_planned_whole(own: Rested, asked: Asked) -> None:
    """The fleet is at rest until then, however many edits there were: that of 03:05 is stale after fifty minutes."""
    own.fleet.commit({**cluster("a", maxAge="50m"), **HUGE})
    at_rest(own, 12)
    for minute, kind in ((20, Rewritten), (54, Rewritten), (56, Outcome)):
        edited(own, image(minute))
        assert isinstance(own.passed(minute), kind), minute


def test_where_a_hand_was_laid_on_what_was_published_it_is_planned_whole(own: Rested, tmp_path: Path) -> None:
    edited(own, image("2"))
    assert isinstance(own.passed(20), Rewritten)
    by_hand(own, "clusters/b/workloads/jobs/shop/shop.yaml", "by hand\n", tmp_path / "clone")
    edited(own, image("3"))
    assert isinstance(own.passed(21), Outcome)


def test_whoever_pushes_first_is_planned_with(own: Rested, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(own, image("2"))
    raced = overtaken(own, monkeypatch)
    done = own.passed(20)
    assert isinstance(done, Outcome) and done.attempts == 2
    assert own.fleet.git("rev-parse", "main~1").strip() == raced[0]


def test_the_controller_plans_it_in_part_between_whole_passes(tmp_path: Path, asked: Asked) -> None:
    turns_with_two_edits(
        Watched(made(tmp_path)),
        lambda text: text.replace("image: ray", "image: ray:2"),
        lambda text: text.replace("image: ray", "image: ray:3"),
    )
    assert asked.told == [True, True]


def test_the_controller_settles_what_it_has_published_so_that_the_next_push_is_planned_in_part(
    tmp_path: Path, asked: Asked
) -> None:
    watched = Watched(made(tmp_path))
    watched.fleet.commit(BESIDE)

    def push(number: int, more: dict[str, str]) -> None:
        text = (watched.fleet.source / API).read_text()
        watched.fleet.commit({API: re.sub(r"image: ray[:\w]*", f"image: ray:{number}", text), **more})
        watched.controller.wakes.hint("webhook", "refs/heads/main")

    for at, more in ((20, {}), (40, rayservice("prod", "new")), (60, {}), (80, {})):
        watched.at(at, lambda at=at, more=more: push(at, more))  # type: ignore[misc]
    turns = [turn for turn in watched.until(100) if not turn.is_look]
    assert [(turn.woken[0], turn.outcome, turn.rewrote) for turn in turns] == [
        ("time", "Published", ""),
        ("settle", "Unchanged", ""),
        ("webhook", "Published", "Update prod/api"),  # behind which its part was planned, so nothing is to be settled
        ("webhook", "Published", ""),  # an app more, beside all who stay
        ("settle", "Unchanged", ""),
        ("webhook", "Published", "Update prod/api"),
        ("webhook", "Published", "Update prod/api"),
    ]
    assert asked.told == [True] * 4 and len(asked.read) == 1


def test_the_controller_plans_a_loss_beside_all_who_stay(tmp_path: Path, asked: Asked) -> None:
    watched = Watched(made(tmp_path))
    watched.fleet.commit({**BESIDE, **ANYWHERE})

    def lose() -> None:
        watched.fleet.commit(cluster("b", state="Lost"))
        watched.controller.wakes.hint("webhook", "refs/heads/main")

    watched.at(20, lose)
    turns = [turn for turn in watched.until(40) if not turn.is_look]
    assert [(turn.woken[0], turn.outcome, turn.hydration is not None) for turn in turns] == [
        ("time", "Published", True),
        ("settle", "Unchanged", True),
        ("webhook", "Published", True),
        ("settle", "Unchanged", True),
    ]
    assert (asked.told, asked.read) == ([True], [{"jobs/shop"}])


def test_what_can_not_be_known_to_be_at_rest_is_not_settled(own: Rested, tmp_path: Path) -> None:
    """A pass behind it would be remembered by nobody."""
    edited(own, workers(0))
    done = own.passed(20)
    assert isinstance(done, Outcome) and done.tip is not None and done.unsettled
    at_rest(own, 21)
    by_hand(own, "clusters/b/workloads/jobs/shop/shop.yaml", "by hand\n", tmp_path / "clone")
    edited(own, image("3", API))
    done = own.passed(30)
    assert isinstance(done, Outcome) and done.tip is not None and not done.unsettled

"""What a reviewer is told: what users notice, what is left, what it costs, whether it may be merged, and what may change it."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from gitplacer.comparison import Baseline, Because
from gitplacer.explain.findings import finding_text
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Action, Phase, Strategy
from gitplacer.review import Base, Check, Downtime, Prospect, Review, Row, Worry
from gitplacer.review.check import concerns, state
from gitplacer.review.clusters import ClusterChange
from gitplacer.review.downtime import RULES, Situation, downtime, judged
from gitplacer.review.room import levels
from tests.planviews import crowded, decision, unchanged, view
from tests.stories import ANYWHERE, START, Story, cluster, outcome, policy, rayjob, rayservice, snapshot

PLACE, MOVE, REMOVE, UPDATE = Action.PLACE, Action.RELOCATE, Action.REMOVE, Action.UPDATE


def against(story: Story, base: Hydration) -> Review:
    """The plan of a story as it stands, held against an earlier one."""
    return Review(story.plan().view, Base(name="main", commit="b" * 40, plan=Baseline.of(base.view)))


# what users notice


@pytest.mark.parametrize(("situation", "noticed"), [
    (Situation(action=PLACE, runs=False), Downtime.NONE),
    (Situation(action=REMOVE, inherited=True), Downtime.GAP),
    (Situation(action=REMOVE, inherited=True, stays_somewhere=True), Downtime.NONE),
    (Situation(action=Action.WAIT, runs=False), Downtime.NONE),
    (Situation(action=Action.KEEP), Downtime.NONE),
    (Situation(action=Action.HOLD, lost=True), Downtime.NONE),
    (Situation(action=Action.EXTEND), Downtime.NONE),
    (Situation(action=UPDATE), Downtime.NONE),
    (Situation(action=UPDATE, replaced=True), Downtime.GAP),
    (Situation(action=Action.EXTEND, replaced=True), Downtime.GAP),
    (Situation(action=UPDATE, stopped=True), Downtime.ENDS),
    (Situation(action=UPDATE, stopped=True, runs=False), Downtime.NONE),
    # relocations, by strategy and phase
    (Situation(action=MOVE), Downtime.GAP),
    (Situation(action=MOVE, unstarted=True), Downtime.NONE),
    (Situation(action=MOVE, stays_somewhere=True), Downtime.NONE),
    (Situation(action=MOVE, lost=True), Downtime.DOUBLE_RUN),
    (Situation(action=MOVE, lost=True, stays_somewhere=True), Downtime.DOUBLE_RUN),
    (Situation(action=MOVE, phase=Phase.ADD, strategy=Strategy.SURGE), Downtime.NONE),
    (Situation(action=MOVE, phase=Phase.REMOVE), Downtime.NONE),
    (Situation(action=MOVE, phase=Phase.ABORT), Downtime.NONE),
    (Situation(action=MOVE, phase=Phase.LEAVE, strategy=Strategy.REMOVE_FIRST), Downtime.GAP),
    (Situation(action=MOVE, phase=Phase.ARRIVE), Downtime.GAP),
    (Situation(action=Action.KEEP, strategy=Strategy.REMOVE_FIRST), Downtime.GAP),
    (Situation(action=Action.KEEP, strategy=Strategy.SURGE), Downtime.NONE),
    (Situation(action=PLACE), Downtime.GAP),  # all its copies are elsewhere afterwards
    (Situation(action=PLACE, stays_somewhere=True), Downtime.NONE),
    # what goes
    (Situation(action=REMOVE), Downtime.ENDS),
    (Situation(action=REMOVE, stays_somewhere=True), Downtime.NONE),
    (Situation(action=REMOVE, finished=True), Downtime.NONE),
    (Situation(action=REMOVE, runs=False), Downtime.NONE),
    (Situation(action=Action.PREEMPT), Downtime.GAP),
    (Situation(action=Action.PREEMPT, stays_somewhere=True), Downtime.NONE),
])  # fmt: skip
def test_what_users_notice_follows_from_what_is_done_and_how(situation: Situation, noticed: Downtime) -> None:
    assert judged(situation) is noticed


def test_every_situation_is_decided_and_every_rule_decides_some() -> None:
    flags = ("runs", "stays_somewhere", "unstarted", "finished", "lost", "replaced", "stopped", "inherited")
    decided = set()
    for action, phase, strategy in product(Action, (None, *Phase), (None, *Strategy)):
        for values in product((False, True), repeat=len(flags)):
            found = Situation(action=action, phase=phase, strategy=strategy, **dict(zip(flags, values, strict=True)))
            decided.add(next(rank for rank, (_, holds, _) in enumerate(RULES) if holds(found)))
    assert decided == set(range(len(RULES)))


def two_clusters(**more: str) -> Story:
    return Story.of(
        cluster("a", **more), cluster("b"), ANYWHERE,
        capacity=snapshot("a", "n1 32 64Gi 4") | snapshot("b", "n1 32 64Gi 4"),
    )  # fmt: skip


def rows(review: Review) -> dict[str, Row]:
    return {row.group: row for row in review.rows}


@pytest.mark.parametrize(
    ("strategy", "noticed"), [("Recreate", Downtime.GAP), ("Surge", Downtime.NONE), ("RemoveFirst", Downtime.GAP)]
)
def test_a_service_that_is_drained_has_a_gap_unless_it_surges(strategy: str, noticed: Downtime) -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop") | policy(
        "anywhere", f"select: {{}}\nrelocation: {{strategy: {strategy}}}"
    )
    story.run()
    story.source |= cluster("a", state="Draining")
    row = rows(Review(story.plan().view))["web/shop"]
    assert (row.decision.action, row.downtime) == (MOVE, noticed)


@pytest.mark.parametrize(("before", "after", "noticed"), [
    ("", "suspend: true", Downtime.ENDS),
    ("suspend: true", "", Downtime.NONE),  # it comes back
    ("suspend: true", "suspend: true\n  rayVersion: 2.46.0", Downtime.NONE),  # it did not run before either
    ("", "suspend: false", Downtime.NONE),
])  # fmt: skip
def test_what_is_suspended_stops(before: str, after: str, noticed: Downtime) -> None:
    def job(more: str) -> dict[str, str]:
        ((path, text),) = rayjob("jobs", "train").items()
        return {path: text.replace("spec:\n", f"spec:\n  shutdownAfterJobFinishes: true\n  {more}\n", 1)}

    story = two_clusters()
    story.source |= job(before)
    base = story.run()
    story.source |= job(after)
    review = against(story, base)
    row = rows(review)["jobs/train"]
    assert (row.decision.action, row.downtime) == (UPDATE, noticed)
    assert review.check is (Check.LOOK if noticed is Downtime.ENDS else Check.PASS)


@pytest.mark.parametrize(("stays_on_b", "noticed"), [(False, Downtime.ENDS), (True, Downtime.NONE)])
def test_what_is_scaled_to_nothing_stops_unless_it_goes_on_elsewhere(stays_on_b: bool, noticed: Downtime) -> None:
    """An override for the other cluster keeps one pod there."""
    app = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: %s
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: x, image: x, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
"""
    story = two_clusters()
    story.source |= policy("anywhere", "select: {}\nplacement: {copies: All}")
    story.source["workloads/web/shop.yaml"] = app % 2
    if stays_on_b:
        story.source["overrides/one.yaml"] = (
            "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: one}\nspec:\n"
            "  select: {kinds: [Deployment]}\n  clusters: {names: [b]}\n"
            "  overrides: [{path: /spec/replicas, op: replace, value: 1}]\n"
        )
    story.run()
    story.source["workloads/web/shop.yaml"] = app % 0
    row = rows(Review(story.plan().view))["web/shop"]
    assert (row.decision.action, row.downtime) == (UPDATE, noticed)


def test_what_leaves_a_lost_cluster_may_run_twice() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    story.run()
    story.source |= cluster("a", state="Lost")
    assert rows(Review(story.plan().view))["web/shop"].downtime is Downtime.DOUBLE_RUN


def test_a_rayservice_that_gets_a_second_ray_cluster_is_not_interrupted() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    story.run()
    story.source |= rayservice("web", "shop", cpu="3")
    row = rows(Review(story.plan().view))["web/shop"]
    assert (row.decision.action, row.downtime) == (UPDATE, Downtime.NONE)


@pytest.mark.parametrize(("upgrade", "noticed"), [("Recreate", Downtime.GAP), ("None", Downtime.NONE)])
def test_a_raycluster_that_is_made_anew_has_a_gap(upgrade: str, noticed: Downtime) -> None:
    text = (
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: lab}\nspec:\n  upgradeStrategy: {type: %s}\n"
        "  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray:%s, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}}\n"
    )  # fmt: skip
    story = two_clusters()
    story.source["workloads/lab/lab.yaml"] = text % (upgrade, "1")
    story.run()
    story.source["workloads/lab/lab.yaml"] = text % (upgrade, "2")
    row = rows(Review(story.plan().view))["lab/lab"]
    assert (row.decision.action, row.downtime) == (UPDATE, noticed)


def test_a_service_that_nobody_wants_any_more_ends() -> None:
    assert rows(Review(view()))["jobs/done"].downtime is Downtime.ENDS


# because of the change, and anyway


def test_what_a_change_does_comes_apart_from_what_would_happen_anyway() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    base = story.plan()
    story.source |= rayservice("web", "new")
    review = against(story, base)
    assert [row.group for row in review.ours] == ["web/new"] and [row.group for row in review.anyway] == ["web/shop"]
    assert review.because("web/new") is Because.CHANGE and review.because("web/shop") is Because.ANYWAY
    assert not review.brings_nothing


def test_a_change_of_something_else_brings_nothing() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    base = story.plan()
    story.source["README.md"] = "more\n"
    review = against(story, base)
    assert review.brings_nothing and not review.changes_nothing and review.check is Check.PASS
    story.run()
    assert against(story, story.plan()).changes_nothing


def test_a_group_that_loses_its_turn_is_told_with_what_it_would_have_had() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("web", "shop"), capacity=snapshot("a", "n1 16 64Gi 2"))
    base = story.plan()
    story.source |= rayjob("jobs", "train") | policy(
        "first", "select: {namespaces: [jobs]}\nprecedence: 5\npriority: 9"
    )
    row = rows(against(story, base))["web/shop"]
    assert row.decision.action is Action.WAIT and row.is_ours
    assert row.without is not None and row.without.after == ("a",)


def test_a_group_that_a_change_takes_away_before_it_was_placed_is_told() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    base = story.plan()
    story.source.pop("workloads/web/shop.yaml")
    review = against(story, base)
    assert [d.group for d in review.withdrawn] == ["web/shop"] and not review.brings_nothing


def test_without_a_plan_of_the_base_everything_is_the_work_of_the_change() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    review = Review(story.plan().view, Base(name="main", commit="b" * 40, plan=None))
    assert [row.group for row in review.ours] == ["web/shop"] and not review.anyway


def test_a_cluster_that_is_cordoned_is_told_though_nothing_moves() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    story.run()
    base = story.plan()
    story.source |= cluster("a", state="Cordoned") | cluster("c")
    review = against(story, base)
    assert review.cluster_changes == (
        ClusterChange(cluster="a", before="Active", after="Cordoned", groups=1),
        ClusterChange(cluster="c", before=None, after="Active", groups=0),
    )
    assert [c.worry for c in review.concerns] == [Worry.CLUSTER] and review.check is Check.LOOK


# whether it may be merged


def row_of(
    action: Action, *, because: Because | None = None, downtime: Downtime = Downtime.NONE, **fields: object
) -> Row:
    return Row(decision=decision(action, **fields), because=because, downtime=downtime)  # type: ignore[arg-type]


@pytest.mark.parametrize(("row", "worry"), [
    (row_of(PLACE), None),
    (row_of(UPDATE), None),
    (row_of(Action.KEEP), None),
    (row_of(Action.EXTEND), None),
    (row_of(Action.WAIT), Worry.WAITS),
    (row_of(Action.KEEP, waiting_since=START), Worry.WAITS),
    (row_of(Action.HOLD), Worry.HELD),
    (row_of(MOVE), Worry.RELOCATED),
    (row_of(MOVE, downtime=Downtime.GAP), Worry.GAP),
    (row_of(MOVE, downtime=Downtime.DOUBLE_RUN), Worry.DOUBLE_RUN),
    (row_of(UPDATE, downtime=Downtime.GAP), Worry.GAP),
    (row_of(REMOVE, downtime=Downtime.ENDS), Worry.ENDS),
    (row_of(REMOVE, before=("a",)), Worry.REMOVED),
    (row_of(REMOVE), None),  # it waited, and leaves nothing
    (row_of(Action.PREEMPT, downtime=Downtime.GAP), Worry.PREEMPTED),
])  # fmt: skip
def test_what_waits_moves_stops_or_is_held_needs_a_look(row: Row, worry: Worry | None) -> None:
    found = concerns([row], (), ())
    assert [c.worry for c in found] == ([worry] if worry else [])
    assert state(found) is (Check.LOOK if worry else Check.PASS)
    assert not concerns([replace(row, because=Because.ANYWAY)], (), ())


def test_an_error_that_a_change_brings_fails_it_and_one_that_was_there_does_not() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    story.source["workloads/web/old.yaml"] = "kind: RayJob\nmetadata: {name: x}\n"
    base = story.plan()
    story.source["workloads/web/old.yaml"] = "# one line down\n" + story.source["workloads/web/old.yaml"]
    review = against(story, base)
    assert not review.problems and review.check is Check.PASS
    story.source["workloads/web/new.yaml"] = "kind: RayJob\nmetadata: {name: y}\n"
    review = against(story, base)
    assert {p.location.file for p in review.problems} == {"workloads/web/new.yaml"} and review.check is Check.FAIL
    assert Review(base.view).check is Check.FAIL  # with nothing to compare with, all of it counts


# what is left, and what it costs


def test_headroom_is_what_is_left_of_the_device_it_asks_for() -> None:
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        rayservice("web", "shop"),
        capacity=snapshot("a", "n1 32 64Gi 2", "n2 32 64Gi 1", "n3 4 8Gi"),
    )
    room = rows(Review(story.plan().view))["web/shop"].headroom
    assert room is not None
    assert (room.cluster, room.resource, room.free, room.offered) == ("a", "nvidia.com/gpu", 2, 3)
    assert room.largest in (1, 2)


def test_headroom_of_what_asks_for_no_device_is_that_of_its_scarcer_resource() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("web", "shop", gpus=0), capacity=snapshot("a", "n1 16 8Gi 2"))
    room = rows(Review(story.plan().view))["web/shop"].headroom
    assert room is not None and (room.resource, room.free) == ("memory", 2 * 2**30)


_ADDS = """
    type: Luna
    nodeTypes:
    - {name: gpu.large, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, max: 4, pricePerHour: 0.75}"""


def cloud(*nodes: str) -> Story:
    return Story.of(
        cluster("cloud", autoscaler=_ADDS), policy("paid", "select: {}\nbudgetPerHour: 2"), rayservice("web", "shop"),
        capacity=snapshot("cloud", *nodes),
    )  # fmt: skip


def test_machines_that_have_to_be_added_cost_and_use_the_budget() -> None:
    review = Review(cloud().plan().view)
    assert rows(review)["web/shop"].cost == 0.75
    [use] = review.budgets
    assert (use.policy, use.budget, use.before, use.after, use.left) == ("paid", 2, 0, 0.75, 1.25)


def test_a_machine_that_nobody_needs_any_more_is_saved() -> None:
    made = "m1 8 32Gi 1 | , labels: {node.kubernetes.io/instance-type: gpu.large}"
    story = cloud(made)
    story.run()
    kept = story.source.pop("workloads/web/shop.yaml")
    review = Review(story.plan().view)
    assert rows(review)["web/shop"].cost == -0.75
    assert [(use.before, use.after) for use in review.budgets] == [(0.75, 0.0)]
    # with another group on it the machine stays
    story.source["workloads/web/shop.yaml"] = kept
    story.source |= rayservice("web", "small", gpus=0, cpu="1", workers=0)
    story.run()
    story.source.pop("workloads/web/shop.yaml")
    assert rows(Review(story.plan().view))["web/shop"].cost == 0.0


def test_levels_tell_what_is_taken_of_devices_or_else_of_cores_and_memory() -> None:
    story = Story.of(cluster("a"), cluster("b"), ANYWHERE, rayservice("web", "shop"),
                     capacity=snapshot("a", "n1 16 64Gi 4") | snapshot("b", "n1 8 8Gi"))  # fmt: skip
    review = Review(story.plan().view)
    assert [(level.cluster, level.resource, level.before, level.after) for level in review.levels] == [
        ("a", "nvidia.com/gpu", 0, 1)
    ]  # only where something comes or goes
    assert review.accounts is not None
    assert [level.resource for level in levels(review.accounts, ("b",))] == ["cpu", "memory"]


def test_who_makes_room_is_told_with_for_whom() -> None:
    assert [(d.group, d.by) for d in Review(crowded()).displacements] == [
        ("lab-b/vision", ("prod/answers",)), ("lab/chat", ("prod/answers",)),
    ]  # fmt: skip


def test_a_plan_that_changes_nothing_opens_no_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitplacer.accounts.Around", lambda *_: pytest.fail("opened"))
    review = Review(unchanged())
    assert (review.changes_nothing, review.levels, review.budgets, review.outlooks) == (True, (), (), ())


# what could still change it


def prospects(review: Review) -> dict[Prospect, tuple[object, ...]]:
    return {each.prospect: (each.names, each.at) for each in review.outlooks}


def test_a_snapshot_that_grows_old_is_named_with_the_time() -> None:
    story = Story.of(
        cluster("a", maxAge="10m"), ANYWHERE, rayservice("web", "shop"), capacity=snapshot("a", "n1 16 64Gi 2")
    )
    assert prospects(Review(story.plan().view))[Prospect.SNAPSHOT_EXPIRES] == (("a",), START + timedelta(minutes=10))
    story.source |= cluster("a")
    story.now += timedelta(hours=2)
    assert prospects(Review(story.plan().view))[Prospect.SNAPSHOT_OLD] == (("a",), START)


def test_a_freeze_that_begins_before_long_is_named_for_what_moves() -> None:
    story = two_clusters()
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace(
        "spec: {}", 'spec: {guards: {freeze: [{schedule: "0 6 * * *", duration: 2h}]}}'
    )
    story.source |= rayservice("web", "shop") | policy("anywhere", "select: {}\nclusters: {names: [a]}")
    story.run()
    story.source |= policy("anywhere", "select: {}\nclusters: {names: [b]}")
    begins = START.replace(hour=6, minute=0)
    assert prospects(Review(story.plan().view))[Prospect.FREEZE_BEGINS] == (("web/shop",), begins)
    story.now = begins + timedelta(minutes=10)
    assert prospects(Review(story.plan().view))[Prospect.FREEZE_ENDS] == (("web/shop",), begins + timedelta(hours=2))


def test_an_approval_that_expires_is_named_until_it_was_carried_out() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    story.run()
    ends = START + timedelta(hours=5)
    story.source["approvals/go.yaml"] = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: go}\n"
        f'spec: {{groups: [web/shop], action: Move, to: b, expires: "{ends:%Y-%m-%dT%H:%M:%SZ}"}}\n'
    )
    assert prospects(Review(story.plan().view))[Prospect.APPROVAL_EXPIRES] == (("go",), ends)
    story.run()
    assert Prospect.APPROVAL_EXPIRES not in prospects(Review(story.plan().view))


def test_who_waits_already_is_first_and_what_is_left_may_be_taken_by_another_branch() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, rayservice("web", "huge", workers=9), capacity=snapshot("a", "n1 16 64Gi 2")
    )
    story.run()
    base = story.plan()
    story.source |= rayservice("web", "new")
    found = prospects(against(story, base))
    assert found[Prospect.FIRST_IN_LINE] == (("web/huge",), None)
    assert found[Prospect.LITTLE_ROOM] == (("a",), None)


def test_a_base_with_commits_that_the_branch_lacks_is_named_first() -> None:
    story = two_clusters()
    base = story.plan().view
    review = Review(base, Base(name="main", commit="b" * 40, plan=Baseline.of(base), lacks=2))
    assert review.outlooks[0].prospect is Prospect.BEHIND
    assert not Review(base, Base(name="main", commit="b" * 40, plan=Baseline.of(base), lacks=0)).outlooks


def test_foreign_changes_are_named() -> None:
    story = two_clusters()
    story.source |= rayservice("web", "shop")
    story.run()
    path = "clusters/a/workloads/web/shop/shop.yaml"
    story.foreign = {path: "0" * 40}
    assert prospects(Review(story.plan().view))[Prospect.FOREIGN_CHANGES] == ((path,), None)


def test_the_words_of_a_review_are_known_for_every_case() -> None:
    from gitplacer.formats import reviewwords

    assert set(reviewwords._OUTLOOKS) == set(Prospect) and set(reviewwords._WORRIES) == set(Worry)
    assert set(reviewwords.DOWNTIME) == set(Downtime)
    for worry, (one, many) in reviewwords._WORRIES.items():
        assert re.findall(r"\{\}", many) == ["{}"], worry
        assert one.count("{}") == (worry is not Worry.ERRORS)


def test_a_redacted_review_needs_a_base() -> None:
    with pytest.raises(ValueError, match="base"):
        Review(view(), redact=True)


# groups that are joined


JOINED = policy("any", "select: {}\ngroupBy: {namespace: true}")
TOGETHER = "n1 64 256Gi 4"


@pytest.mark.parametrize(
    ("second", "edit", "told"),
    [
        ("b", {}, ("its objects belong to prod/prod now", Downtime.GAP)),
        ("a", {}, ("its objects belong to prod/prod now", Downtime.NONE)),
        ("b", {"workloads/prod/two.yaml": ""}, ("it is no longer in the source", Downtime.ENDS)),
    ],
    ids=["elsewhere", "where it is", "gone"],
)
def test_of_a_group_that_is_joined_with_another_is_told_where_its_objects_go(
    second: str, edit: dict[str, str], told: tuple[str, Downtime]
) -> None:
    there = policy("second", f"select: {{names: [two]}}\nprecedence: 9\nclusters: {{names: [{second}]}}")
    first = policy("any", "select: {}\nclusters: {names: [a]}")
    apps = rayservice("prod", "one", workers=1) | rayservice("prod", "two", workers=1)
    story = Story.of(cluster("a"), cluster("b"), first, there, apps)
    story.capacity |= snapshot("a", TOGETHER) | snapshot("b", TOGETHER)
    assert outcome(story.run()) == {"prod/one": "Place a Fits", "prod/two": f"Place {second} Fits"}
    del story.source["policies/second.yaml"]
    story.source |= JOINED | edit
    view = story.plan().view
    decided = view.decision("prod/two")
    assert (finding_text(decided.finding), downtime(decided, view)) == told

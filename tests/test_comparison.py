"""What a plan does because of a change is told apart from what it would do anyway; and what every cluster has left."""

from __future__ import annotations

from gitplacer.accounts import Accounts, Freshness
from gitplacer.comparison import Baseline, Because, compare
from gitplacer.model.decision import Action
from tests.stories import ANYWHERE, Story, cluster, policy, rayjob, rayservice, snapshot

ONE_GPU = snapshot("a", "n1 16 64Gi 2")


def fleet() -> Story:
    return Story.of(cluster("a"), ANYWHERE, rayservice("web", "shop"), capacity=ONE_GPU)


def test_a_group_that_a_change_adds_is_there_because_of_it_and_another_that_waits_is_not():
    story = fleet()
    without = story.plan()
    story.source |= rayservice("web", "new")
    comparison = compare(Baseline.of(without.view), story.plan().view)
    assert [*comparison.differences] == ["web/new"]
    assert comparison.because("web/shop") is Because.ANYWAY
    assert comparison.differences["web/new"].without is None


def test_a_group_that_loses_its_turn_to_another_is_there_because_of_the_change():
    story = fleet()
    without = story.plan()
    story.source |= rayjob("jobs", "train", workers=2) | policy(
        "first", "select: {namespaces: [jobs]}\nprecedence: 5\npriority: 9"
    )
    found = compare(Baseline.of(without.view), story.plan().view).differences
    assert [*found] == ["jobs/train", "web/shop"]
    before, after = found["web/shop"].without, found["web/shop"].with_it
    assert before is not None and after is not None
    assert (before.action, after.action) == (Action.PLACE, Action.WAIT)


def test_an_edit_of_what_runs_is_because_of_the_change_and_an_edit_that_stood_there_already_is_not():
    story = fleet()
    story.source |= rayservice("web", "other")
    story.run()
    story.source["workloads/web/shop.yaml"] += "# edited before\n"
    without = story.plan()
    story.source["workloads/web/other.yaml"] += "# edited now\n"
    with_it = story.plan()
    assert {d.group for d in with_it.view.plan.decisions if d.action is Action.UPDATE} == {"web/shop", "web/other"}
    assert [*compare(Baseline.of(without.view), with_it.view).differences] == ["web/other"]


def test_nothing_differs_between_a_plan_and_itself():
    view = fleet().plan().view
    assert not compare(Baseline.of(view), view).differences


def test_an_account_tells_what_is_free_before_a_pass_and_after_it():
    story = fleet()
    [account] = Accounts(story.plan().view)
    gpu = "nvidia.com/gpu"
    assert (account.offered[gpu], account.free_before[gpu], account.free_after[gpu]) == (2, 2, 1)
    assert (account.before, account.after) == ((), ("web/shop",))
    story.run()
    [account] = Accounts(story.plan().view)
    assert (account.free_before[gpu], account.free_after[gpu]) == (1, 1)
    assert account.before == account.after == ("web/shop",)


def test_what_others_use_is_told_apart_from_what_groups_use():
    story = fleet()
    story.capacity = snapshot("a", 'n1 16 64Gi 2 | , used: {cpu: "3"}')
    [account] = Accounts(story.plan().view)
    assert account.foreign["cpu"] == 3000
    assert account.free_before["cpu"] == 13000
    assert account.free_after["cpu"] == 13000 - 2 * 2000  # a head and a worker


def test_an_account_says_how_good_its_snapshot_is():
    story = Story.of(
        cluster("a"), cluster("b", maxAge="10m"), cluster("c"), ANYWHERE, capacity=ONE_GPU | snapshot("b", "n1 8 8Gi")
    )
    story.now = story.now.replace(hour=9)
    assert [account.freshness for account in Accounts(story.plan().view)] == [
        Freshness.CURRENT, Freshness.STALE, Freshness.MISSING,
    ]  # fmt: skip

"""
What a plan asks follows what is shown of it, and what is not asked changes nothing that is.

The laws are held over the random lives of `histories`: a plan that keeps verdicts of few groups decides and says what one with all of
them does, and a base that is remembered is the one that would be planned. What is spared is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
import pytest
from msgspec.structs import replace

from benchmarks import counting
from gitplacer import deployed
from gitplacer.accounts import Accounts
from gitplacer.comparison import Baseline
from gitplacer.explain import NoSuchGroup, PlanView, refuse_unknown
from gitplacer.formats.markdown import plan_markdown
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import plan_document
from gitplacer.formats.text import plan_text
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.model.decision import Decision, Finding, Reason
from gitplacer.model.horizon import Horizon
from gitplacer.model.verdicts import EVERY, OF_MANY, OF_WAITING, OUTGROWN, Verdicts
from gitplacer.passes import baselines
from gitplacer.passes.basekeys import base_key
from gitplacer.passes.baselines import BasePlan, Kept, remember_base
from gitplacer.passes.looking import Against, Looked, hydrated_against
from gitplacer.placement.evaluation import Evaluation
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.problems import Rejected
from gitplacer.remedies import waits
from gitplacer.review import Base, Review
from gitplacer.runners.processes import usable_cores
from gitplacer.source.files import InMemory, Memo
from gitplacer.tree import Changes, Tree
from gitplacer.treeids import tree_id
from gitplacer.whatif.asking import Asking
from gitplacer.whatif.ground import Ground, suppose
from gitplacer.whatif.suppositions import CordonCluster, DrainCluster, LoseCluster, RaiseReplicas, Supposition, Together
from tests import planviews
from tests.commands import NOW, make_repo, run, starter
from tests.histories import LookedAt
from tests.stories import ANYWHERE, Story, cluster, policy, rayjob, rayservice, snapshot

REASONS = list(Reason)
NOT_FOR_ROOM = {
    Reason.CLUSTER_LOST,
    Reason.CLUSTER_DRAINING,
    *REASONS[REASONS.index(Reason.MANAGEMENT_CLUSTER) : REASONS.index(Reason.LEFT_BEFORE)],
}
"""Why a cluster does not take a group, whatever its room."""
SECOND = timedelta(seconds=1)
COMMIT = "b" * 40
TREE = "7" * 40


def looked(inputs: Inputs, memo: object) -> Looked:
    """What is open for somebody who plans these inputs."""
    return Looked(cast(Any, None), inputs, cast(Any, memo))


def bare(view: PlanView, *, unread: bool = False) -> list[Decision]:
    """The decisions without verdicts, in words that are the same for whoever does not read them."""
    found = [replace(decision, candidates=()) for decision in view.plan.decisions]
    kept = Finding(code=Reason.KEPT)
    return [replace(d, finding=kept) if unread and d.finding == replace(kept, code=Reason.OUTGROWN) else d for d in found]  # fmt: skip


def against(view: PlanView, base: Baseline) -> str:
    return planviews.as_people_read_it(view, Base(name="main", commit=COMMIT, plan=base))


class Reviewed(LookedAt):
    """A life in which some passes are looked at, and held against the source as it was a while before."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.past: Tree | None = None

    def _witness(self, capacity: Mapping[str, str], now: datetime, plain: Hydration) -> None:
        if self.dice.random() < 0.3:
            inputs, made = self._with_more(self._inputs(capacity, now))
            self._hold(inputs, made)
            self._keep_base(replace(inputs, deployment=made.tree))
            self.past = inputs.source

    def _with_more(self, inputs: Inputs) -> tuple[Inputs, Hydration]:
        """The same with some groups for which there is hardly room, and a policy for them that others have not."""
        files = {}
        for number in self.dice.sample(range(4), 3):
            files |= rayjob("crowd", f"job-{number}", cpu=str(1 + number), workers=20 * number)
        only = "\nclusters: {names: [elsewhere]}" if self.dice.random() < 0.3 else ""
        files |= policy("crowd", f"select: {{namespaces: [crowd]}}\nprecedence: 99{only}")
        more = replace(
            inputs, source=inputs.source.apply(Changes({path: text.encode() for path, text in files.items()}))
        )
        return more, hydrate(more, memo=self.memory, with_candidates=False)

    def _hold(self, inputs: Inputs, plain: Hydration) -> None:
        every = hydrate(inputs, memo=self.memory, with_candidates=EVERY).view
        few = hydrate(inputs, memo=self.memory, with_candidates=OF_WAITING).view
        assert bare(few) == bare(every)
        assert bare(few, unread=True) == bare(plain.view)
        asked = {d.group: d.candidates for d in every.plan.decisions if waits(d)}
        assert {d.group: d.candidates for d in few.plan.decisions if d.group in asked} == asked
        for shown in (plan_text, plan_markdown):
            assert shown(few, Options(verbose=True)) == shown(every, Options(verbose=True))
        self.counts["waiting"] += len(asked)
        self._hold_open(every)
        if self.past is None or self.past == inputs.source:
            return
        try:
            base = hydrate(replace(inputs, source=self.past), memo=self.memory, with_candidates=OUTGROWN).view
        except Rejected:
            return
        held = Base(name="main", commit=COMMIT, plan=Baseline.of(base))
        ours = hydrated_against(looked(inputs, self.memory), Against(held, None))[0].view
        assert held.plan is not None
        assert against(ours, held.plan) == against(every, held.plan)
        self.counts["spared"] += sum(waits(d) and not d.candidates for d in ours.plan.decisions)
        self._plan_aside(inputs, self.past, held.plan, ours)

    def _hold_open(self, every: PlanView) -> None:
        """The clusters that a group might go to if they had room are known without a verdict on their room."""
        accounts = Accounts(every)
        for decision in every.plan.decisions:
            group = every.group(decision)
            if waits(decision) and not decision.after and group is not None and group.policy is not None:
                expected = {c.cluster for c in decision.candidates if c.finding.code not in NOT_FOR_ROOM}
                assert set(accounts.may_enter(group, group.policy)) == expected
                self.counts["open"] += len(expected)
                self.counts["closed"] += len(decision.candidates) - len(expected)

    def _plan_aside(self, inputs: Inputs, past: Tree, base: Baseline, ours: PlanView) -> None:
        """The same with a base that is planned by another process meanwhile."""
        with mock.patch.object(baselines, "FEWEST", 0):
            plan = BasePlan(inputs, tree_id(past), lambda: past, InMemory(self.memory), LedgerCache())
        coming = Against(Base(name="main", commit=COMMIT, plan=None), plan)
        assert coming.is_known == (usable_cores() < 2)
        view = hydrated_against(looked(inputs, self.memory), coming)[0].view
        assert view.plan == ours.plan and coming.base.plan == base
        self.counts["aside"] += 1

    def _keep_base(self, inputs: Inputs) -> None:
        memo, ledgers, tree = InMemory(self.memory), LedgerCache(), tree_id(inputs.source)
        found = baseline(inputs, tree, lambda: inputs.source, memo, ledgers)
        assert found == Baseline.of(hydrate(inputs, memo=memo, with_candidates=OUTGROWN).view)
        key = base_key(inputs, tree)
        kept = baselines.recalled(memo, key, inputs.now) if key is not None else None
        if kept is None:
            return
        end = kept.until or inputs.now + timedelta(days=40)
        for at in (end - SECOND, inputs.now + (end - inputs.now) * self.dice.random()):
            later = replace(inputs, now=at)
            assert baseline(later, tree, nobody_reads, memo, ledgers) == (
                Baseline.of(hydrate(later, memo=memo, with_candidates=OUTGROWN).view)
            ), (self.seed, inputs.now, at)
            self.counts["recalled"] += 1
        after = replace(inputs, now=end + SECOND)
        assert baselines.recalled(memo, key or "", after.now) is None
        self._keep_by_a_pass(inputs, tree, kept)

    def _keep_by_a_pass(self, inputs: Inputs, tree: str, kept: Kept) -> None:
        """The same of a pass, which asks nothing that it does not need; of one that places nobody less is known."""
        memo, horizon = InMemory(self.memory), Horizon(inputs.now)
        made = hydrate(replace(inputs, now=horizon.now), memo=memo, with_candidates=False)
        remember_base(memo, inputs, tree, made, horizon, "place")
        assert baselines.recalled(memo, "0" * 64, inputs.now, "place") is None
        found = baselines.recalled(memo, base_key(inputs, tree) or "", inputs.now, "place")
        assert (found is None) == bool(horizon.lost)
        if found is not None:
            asked = made.view.plan.outgrown is not None
            assert found == (kept if asked else replace(kept, plan=found.plan, until=found.until, knows_outgrown=False))
            self.counts["by a pass"] += 1


def baseline(inputs: Inputs, tree: str, source: Callable[[], Tree], memo: Memo, ledgers: LedgerCache) -> Baseline:
    return BasePlan(inputs, tree, source, memo, ledgers).plan()


def nobody_reads() -> Tree:
    raise AssertionError("the plan is remembered")


def test_what_is_not_asked_changes_nothing_that_is_shown() -> None:
    lives = [Reviewed(seed).live(events=15) for seed in range(3)]
    assert not [life.wrong for life in lives if life.wrong]
    total = sum((life.counts for life in lives), start=Counter[str]())
    assert total["waiting"] >= 10, total
    assert total["open"] >= 10 and total["closed"] >= 5, total
    assert total["spared"] >= 5, total
    assert total["recalled"] >= 5, total
    assert total["aside"] >= 3, total
    assert total["by a pass"] >= 5, total


# what is spared


def full() -> Story:
    """A fleet at rest, with two groups that wait."""
    story = Story.of(
        ANYWHERE, cluster("a"), cluster("b"), rayservice("web", "shop"), rayjob("jobs", "large", workers=9), rayjob("jobs", "huge", workers=12),
        capacity=snapshot("a", "n1 16 64Gi 2") | snapshot("b", "n1 16 64Gi 2"),
    )  # fmt: skip
    story.run()
    return story


class Asked:
    """The questions that were asked: (group, cluster) of verdicts, and how many packings were sought."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.verdicts: list[tuple[str, str]] = []
        self.packings = 0
        verdict, fit = Evaluation.verdict, Ledger._fit

        def counted_verdict(evaluation: Evaluation, group: Any, policy: Any, name: str) -> Finding:
            self.verdicts.append((group.id, name))
            return verdict(evaluation, group, policy, name)

        def counted_fit(ledger: Ledger, gang: Any, scale_up: bool) -> Any:
            self.packings += 1
            return fit(ledger, gang, scale_up)

        monkeypatch.setattr(Evaluation, "verdict", counted_verdict)
        monkeypatch.setattr(Ledger, "_fit", counted_fit)


def test_a_change_asks_about_its_own_groups_that_wait_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    story = full()
    base = Baseline.of(hydrate(story.inputs(), with_candidates=OUTGROWN).view)
    story.source |= rayjob("jobs", "new", workers=10)
    asked = Asked(monkeypatch)
    view = hydrated_against(
        looked(story.inputs(), story.memory), Against(Base(name="main", commit=COMMIT, plan=base), None)
    )[0].view
    assert {group for group, _ in asked.verdicts} == {"jobs/new"}
    shown = against(view, base)
    assert "jobs/new: 0 of 2 clusters fit" in shown
    assert "jobs/huge" in shown


def test_a_group_that_the_change_makes_wait_for_another_reason_is_asked_about_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = full()
    base = Baseline.of(hydrate(story.inputs(), with_candidates=OUTGROWN).view)
    story.source |= policy("jobs", "select: {namespaces: [jobs]}\nprecedence: 9\nclusters: {names: [elsewhere]}")
    view = hydrated_against(
        looked(story.inputs(), story.memory), Against(Base(name="main", commit=COMMIT, plan=base), None)
    )[0].view
    found = against(view, base)
    assert found == against(hydrate(story.inputs(), with_candidates=EVERY).view, base)
    assert "jobs/huge: 0 of 2 clusters fit" in found


def told(view: PlanView) -> dict[str, tuple[str, ...]]:
    """Of which clusters a verdict is kept, by group."""
    return {d.group: tuple(candidate.cluster for candidate in d.candidates) for d in view.plan.decisions}


HINT = "of {} more that wait, `gitplacer explain GROUP` tells what each cluster lacks"


@pytest.mark.parametrize(
    ("asked", "expected", "unasked"),
    [
        (OF_WAITING, {"jobs/huge": ("a", "b"), "jobs/large": ("a", "b"), "web/shop": ()}, 0),
        (replace(OF_WAITING, most=4), {"jobs/huge": ("a", "b"), "jobs/large": ("a", "b"), "web/shop": ()}, 0),
        (replace(OF_WAITING, most=3), {"jobs/huge": ("a", "b"), "jobs/large": (), "web/shop": ()}, 1),
        (replace(OF_WAITING, most=0), {"jobs/huge": ("a", "b"), "jobs/large": (), "web/shop": ()}, 1),
        (OF_MANY, {"jobs/huge": ("a", "b"), "jobs/large": ("a", "b"), "web/shop": ("a", "b")}, 0),
        (replace(OF_MANY, most=4), {"jobs/huge": ("a", "b"), "jobs/large": ("a", "b"), "web/shop": ("a",)}, 0),
        (replace(OF_MANY, most=0), {"jobs/huge": ("a", "b"), "jobs/large": (), "web/shop": ("a",)}, 1),
        (
            replace(OF_MANY, most=0, groups=frozenset({"jobs/large"})),
            {"jobs/huge": ("a", "b"), "jobs/large": ("a", "b"), "web/shop": ("a",)},
            0,
        ),
    ],
)  # fmt: skip
def test_no_more_is_asked_than_somebody_waits_for(
    asked: Verdicts, expected: dict[str, tuple[str, ...]], unasked: int
) -> None:
    """Who waits is asked about as his turn comes; of who is not a reader learns where he may ask."""
    story = full()
    view = hydrate(story.inputs(), with_candidates=asked).view
    assert told(view) == expected
    assert bare(view) == bare(hydrate(story.inputs(), with_candidates=EVERY).view)
    for shown in (plan_text(view, Options()), plan_markdown(view, Options())):
        assert (HINT.format(unasked) in shown.replace("\nOf", "\nof")) == bool(unasked)
        assert "more that wait" not in shown or unasked
    verdicts = {group["group"]: group["verdicts"] for group in plan_document(view)["groups"]}
    assert verdicts["web/shop"].get("Chosen", 0) == ("a" in expected["web/shop"])
    assert bool(verdicts["jobs/large"]) == bool(expected["jobs/large"])


def test_a_supposition_asks_nothing_about_who_waits_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a story's services loses its cluster, and finds no other; two jobs wait with and without that."""
    story = full()
    ground = Ground.of(story.inputs(), story.memory)
    asked = Asked(monkeypatch)
    [fate] = suppose(ground, Together((LoseCluster("a"), CordonCluster("b"))), with_candidates=OF_MANY)[0].fates
    assert (fate.group, fate.refused[0][0]) == ("web/shop", "b")
    assert {group for group, _ in asked.verdicts} == {"web/shop"}


@pytest.mark.parametrize(
    ("supposed", "hit"),
    [
        (LoseCluster("a"), {"web/one"}),
        (DrainCluster("a"), {"web/one"}),
        (CordonCluster("a"), set()),
        (RaiseReplicas(group="web/other", times=9), {"web/other"}),
    ],
)
def test_a_supposition_asks_nothing_about_who_stays_untouched(
    supposed: Supposition, hit: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story.of(
        cluster("a"), cluster("b"), cluster("c"), *(policy(name, f"select: {{names: [{name}]}}\nclusters: {{names: {names}}}")
        for name, names in (("one", "[a]"), ("other", "[b, c]"), ("third", "[c]"))),
        rayservice("web", "one"), rayservice("web", "other"), rayservice("web", "third"),
        capacity=snapshot("a", "n1 16 64Gi 2") | snapshot("b", "n1 16 64Gi 2") | snapshot("c", "n1 16 64Gi 2"),
    )  # fmt: skip
    story.run()
    ground = Ground.of(story.inputs(), story.memory)
    every = suppose(ground, supposed, with_candidates=OF_MANY)[0]
    assert {fate.group for fate in every.fates if fate.refused} == hit
    asked = Asked(monkeypatch)
    assert Asking(ground)(supposed) == every
    assert {group for group, _ in asked.verdicts} == hit


def test_what_there_is_to_buy_is_told_without_a_verdict_on_any_cluster(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    story = full()
    repo = make_repo(tmp_path, {**story.source, **{f"capacity/{path}": text for path, text in story.capacity.items()}})
    asked = Asked(monkeypatch)
    assert "for 2 groups that wait" in run(capfd, "room", "--now", NOW, repo).out
    assert not asked.verdicts


def test_gangs_that_are_alike_are_packed_once_though_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """More sorts than a ledger remembers, each of them several times, in an order in which none comes twice in a row."""
    nodes = [f"n{n} 400 6400Gi" for n in range(4)]
    story = Story.of(ANYWHERE, cluster("a"), cluster("b"), capacity=snapshot("a", *nodes) | snapshot("b", "n1 1 1Gi"))
    for copy in range(2):
        for size in range(66):
            story.source |= rayservice("web", f"app-{copy}-{size:02}", cpu=f"{1000 + size}m", workers=0, gpus=0)
    story.deployment = hydrate(story.inputs()).tree
    asked = Asked(monkeypatch)
    made = hydrate(story.inputs(), memo=story.memory, with_candidates=EVERY)
    assert len(made.view.plan.decisions) == 132
    assert len(asked.verdicts) == 132
    assert asked.packings == 132 + 66, "once for each that is placed, and once for each sort elsewhere"


def test_a_deployed_file_that_is_one_of_the_source_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = {
        "tenants/web.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: web}\n"
        'spec: {paths: ["workloads/**"], namespaces: ["*"], quota: {cpu: "100"}}\n'
    }
    story = Story.of(ANYWHERE, cluster("a"), tenant, rayservice("web", "shop"), capacity=snapshot("a", "n1 16 64Gi 2"))
    story.run()
    story.plan()  # which reads the records
    read: list[str] = []
    files = deployed.DeployedFiles.read
    monkeypatch.setattr(deployed.DeployedFiles, "read", lambda self, paths: read.extend(paths) or files(self, paths))
    parsed: list[bytes] = []
    monkeypatch.setattr(InMemory, "parse_all", lambda self, blobs, most: parsed.extend(blobs.values()) or {})
    story.plan()
    assert len(read) == 1 and re.search(r"web/shop/.*\.yaml$", read[0])
    assert not parsed


# what a base says


def test_what_has_outgrown_its_cluster_is_not_the_work_of_a_change() -> None:
    story = Story.of(ANYWHERE, cluster("a"), rayjob("jobs", "train"), capacity=snapshot("a", "n1 32 64Gi 4"))
    story.run()
    story.capacity = snapshot("a", "n1 1 64Gi 4")
    inputs = story.inputs()
    base = baseline(inputs, TREE, lambda: inputs.source, story.memory, LedgerCache())
    view = story.plan().view
    assert view.decision("jobs/train").finding.code is Reason.OUTGROWN
    review = Review(view, Base(name="main", commit=COMMIT, plan=base))
    assert not review.rows and review.brings_nothing


@pytest.mark.parametrize("other", [
    {"capacity_id": "c" * 40}, {"deployment_commit": "d" * 40}, {"foreign": {"x": ""}}, {"version": "other"},
])  # fmt: skip
def test_a_base_is_planned_again_for_other_inputs(other: dict[str, Any]) -> None:
    story = full()
    inputs, memo = story.inputs(), InMemory()
    baseline(inputs, TREE, lambda: inputs.source, memo, LedgerCache())
    assert baseline(inputs, TREE, nobody_reads, memo, LedgerCache()).decisions
    for asked, tree in ((replace(inputs, **other), TREE), (inputs, "8" * 40)):
        with pytest.raises(AssertionError, match="remembered"):
            baseline(asked, tree, nobody_reads, memo, LedgerCache())


def test_a_pass_that_asked_nobody_is_no_base_of_a_plan() -> None:
    """Nobody waits, so that nothing was asked of anybody's room; the plan of a base tells who has outgrown his cluster."""
    story = Story.of(ANYWHERE, cluster("a"), rayservice("web", "shop"), capacity=snapshot("a", "n1 16 64Gi 2"))
    for _ in range(3):
        done = story.run()
    inputs, memo, horizon = story.inputs(), InMemory(), Horizon(story.now)
    made = hydrate(replace(inputs, now=horizon.now), with_candidates=False)
    assert not done.steps and made.view.plan.outgrown is None
    remember_base(memo, inputs, TREE, made, horizon, "place")
    kept = baselines.recalled(memo, base_key(inputs, TREE) or "", inputs.now, "place")
    assert kept is not None and not kept.knows_outgrown
    asking = partial(BasePlan, inputs, TREE, memo=memo, ledgers=LedgerCache(), place="place")
    with pytest.raises(AssertionError, match="remembered"):
        asking(nobody_reads).plan()
    assert asking(lambda: inputs.source).plan().decisions
    assert asking(nobody_reads).plan().decisions


def test_a_base_with_something_to_do_is_not_remembered() -> None:
    story = Story.of(ANYWHERE, cluster("a"), rayservice("web", "shop"), capacity=snapshot("a", "n1 16 64Gi 2"))
    inputs, memo = story.inputs(), InMemory()
    assert baseline(inputs, TREE, lambda: inputs.source, memo, LedgerCache()).decisions
    key = base_key(inputs, TREE)
    assert key is not None and baselines.recalled(memo, key, inputs.now) is None


def test_true_and_false_are_short_for_every_group_and_none() -> None:
    story = full()
    every, none = (hydrate(story.inputs(), with_candidates=said).view.plan.decisions for said in (True, False))
    assert all(decision.candidates for decision in every)
    assert not any(decision.candidates for decision in none)
    one = hydrate(story.inputs(), with_candidates=Verdicts(groups=frozenset({"web/shop"}))).view.plan.decisions
    assert [d.group for d in one if d.candidates] == ["web/shop"]


@pytest.mark.parametrize(
    "view", [planviews.view, planviews.crowded, planviews.unchanged], ids=lambda made: made.__name__
)
def test_the_accounts_of_one_cluster_are_those_that_it_has_among_all(view: Callable[[], PlanView]) -> None:
    whole = Accounts(view())
    for name in whole.names:
        alone = Accounts(view(), LedgerCache(), {name})
        if name in whole.before:  # asked in the other order
            assert np.array_equal(alone.after[name].free_on_nodes(), whole.after[name].free_on_nodes())
        assert alone[name] == whole[name]


def edited(source: Tree, most: int) -> Tree:
    """The same with one worker more in each group of some workload files."""
    paths = [path for path in source if path.startswith("workloads/")][:most]
    return source.apply(Changes({
        path: re.sub(rb"([rR]eplicas): (\d+)", lambda found: b"%s: %d" % (found[1], int(found[2]) + 1), data)
        for path, data in source.read_all(paths).items()
    }))  # fmt: skip


def comment_of_a_change(copies: int) -> Callable[[], str]:
    """The work of telling what a change to two files does, on so many copies of a fleet with groups that wait."""
    source = Tree.of({p: t.encode() for p, t in counting.copied(counting.START, copies).items()})
    memo, now = InMemory(), datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
    empty = Inputs(
        source=source, commit=None, capacity=source.under("capacity"), deployment=Tree(), now=now, version="count"
    )
    inputs = replace(empty, deployment=hydrate(empty, memo=memo, with_candidates=False).tree)
    base = Baseline.of(hydrate(inputs, memo=memo, with_candidates=OUTGROWN).view)
    head = looked(replace(inputs, source=edited(source, 2)), memo)
    hydrate(head.inputs, memo=memo, with_candidates=False)  # which reads what was edited
    return lambda: against(
        hydrated_against(head, Against(Base(name="main", commit=COMMIT, plan=base), None))[0].view, base
    )


@pytest.mark.slow
def test_no_step_of_a_comment_grows_faster_than_the_fleet() -> None:
    assert "because of this change" in comment_of_a_change(1)().lower()
    counts = [counting.counted(comment_of_a_change(copies)) for copies in counting.COPIES]
    assert sum(counts[0].values()) > 50_000
    assert list(map(str, counting.too_fast(counts))) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("explain", "hello/helo"), 'there is no group "hello/helo"\n  hint: did you mean hello/hello?'),
        (("move", "hello/helo", "--to", "local"), 'there is no group "hello/helo"\n  hint: did you mean hello/hello?'),
        (("move", "hello/hello", "--to", "nowhere"), "there is no cluster nowhere\n"),
        (("return", "hello/helo"), 'there is no group "hello/helo"\n  hint: did you mean hello/hello?'),
        (("room", "--like", "hello/helo"), '--like: there is no group "hello/helo"\n  hint: did you mean hello/hello?'),
        (("test",), "there is no Scenario in this source\n"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_before_anything_is_planned(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    repo = make_repo(tmp_path, starter())
    with mock.patch("gitplacer.hydrate.plan", side_effect=AssertionError("planned")):
        ran = run(capfd, *args, "--now", NOW, repo)
    assert (ran.code, ran.out) == (1, "") and f"error: {said}" in ran.err


def test_a_group_that_only_a_record_knows_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("prod", "api"), capacity=snapshot("a", "n1 64 256Gi 8"))
    story.run()
    del story.source["workloads/prod/api.yaml"]
    inputs = story.inputs()
    found = hydrate(inputs, once_read=partial(refuse_unknown, "prod/api"))
    assert [decision.group for decision in found.view.plan.decisions] == ["prod/api"]
    with pytest.raises(NoSuchGroup) as refusal:
        hydrate(inputs, once_read=partial(refuse_unknown, "prod/app"))
    assert refusal.value.hint == "did you mean prod/api?"

"""Consent to one plan: when it counts, when it lapses, and what is told so that somebody can give it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration, hydrate
from gitplacer.problems import Severity
from gitplacer.tree import Changes
from tests import test_spanning as spanning
from tests.stories import ANYWHERE, FLEET, Story, cluster, outcome, policy, rayservice, snapshot

ROOM = {**snapshot("a", "n1 900 9000Gi 900"), **snapshot("b", "n1 900 9000Gi 900")}
RED = policy("red", "select: {}\nclusters: {matchLabels: {tier: red}}")


def app(index: int) -> dict[str, str]:
    return rayservice("web", f"s{index}", cpu="1", gpus=0)


def approval(action: str, groups: str = "web/*", plan: str = "", to: str = "", days: int = 1) -> dict[str, str]:
    fields = "".join(f", {key}: {value}" for key, value in (("to", to), ("plan", plan)) if value)
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
        f'spec: {{groups: ["{groups}"], action: {action}{fields}, expires: "2026-01-{2 + days:02}T00:00:00Z"}}\n'
    )
    return {"approvals/ok.yaml": text}


def fleet(guards: str) -> dict[str, str]:
    return {"fleet.yaml": FLEET.replace("spec: {}", f"spec: {{guards: {guards}}}")}


def shrunk() -> Story:
    """A fleet that has lost six of its eight apps."""
    story = Story.of(cluster("a"), ANYWHERE, *map(app, range(8)), capacity=ROOM)
    story.run()
    for index in range(6):
        del story.source[f"workloads/web/s{index}.yaml"]
    story.run()
    return story


def mislabelled() -> Story:
    """A fleet in which four apps should leave and only one may."""
    story = Story.of(
        cluster("a", labels="{tier: red}"), RED, *map(app, range(4)), fleet("{relocations: {max: 1, exceed: Hold}}"),
        capacity=ROOM,
    )  # fmt: skip
    story.run()
    story.source |= cluster("a") | cluster("b", labels="{tier: red}")
    story.run()
    return story


def still() -> Story:
    """Two apps on a, and b beside it since then."""
    story = Story.of(cluster("a"), ANYWHERE, app(0), app(1), capacity=ROOM)
    story.run()
    story.source |= cluster("b")
    return story


def drained(relocation: str = "{}") -> Story:
    """The same, when a is to be empty."""
    story = still()
    story.source |= policy("anywhere", f"select: {{}}\nrelocation: {relocation}")
    story.run()
    story.source |= cluster("a", state="Draining")
    story.run()
    return story


def gone_over() -> Story:
    """Two apps that left a for b, and could go back."""
    story = drained()
    story.source |= cluster("a")
    return story


def proposed() -> Story:
    return drained("{when: {ClusterDraining: Manual}}")


def grown() -> Story:
    """An app that was edited, goes on where there is too little room for that, and would move if somebody agreed."""
    story = Story.of(cluster("a"), policy("anywhere", "select: {}\nrelocation: {when: {PendingPods: Manual}}"), app(0))
    story.capacity = {**snapshot("a", "n1 4 64Gi"), **snapshot("b", "n1 64 640Gi")}
    story.run()
    story.source |= cluster("b") | rayservice("web", "s0", cpu="3", gpus=0)
    return story


def between() -> Story:
    """An app in a surge, whose old copy goes when somebody agrees."""
    story = drained("{strategy: Surge, surge: {approval: Required}}")
    shown = "".join(f"- {{name: web/s{index}, phase: Running, ready: true}}\n" for index in range(2))
    more = f"applied: EVERYTHING\ngroups:\n{shown}"
    for _ in range(2):
        story.capacity |= snapshot("b", "n1 900 9000Gi 900", at=story.now, more=more)
        story.run()
    return story


def platform(*names: str) -> dict[str, str]:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {0}, namespace: web}}\ndata: {{}}\n"
    return {f"platform/web/{name}.yaml": text.format(name) for name in names}


def stripped() -> Story:
    """Platform objects of which one is gone."""
    everywhere = policy("anywhere", "select: {}\nplacement: {copies: All}")
    story = Story.of(cluster("a"), cluster("b"), everywhere, platform("one", "two"))
    story.run()
    del story.source["platform/web/two.yaml"]
    story.run()
    return story


def acted(done: Hydration) -> int:
    return sum(text.startswith(("Remove", "Relocate")) for text in outcome(done).values())


def digest(done: Hydration) -> str:
    """What the hint says to write."""
    (problem,) = (p for p in done.problems if p.code in ("ApprovalNeedsPlan", "ApprovalForOtherPlan"))
    found = re.search(r"`plan: (sha256:[0-9a-f]{64})`", problem.hint)
    assert found is not None, problem.hint
    return found[1]


def codes(done: Hydration) -> list[str]:
    return sorted(p.code for p in done.problems if p.code.startswith("Approval"))


def written(story: Story, action: str, groups: str = "web/*", to: str = "") -> str:
    """The digest that is told for an Approval without one. Nothing comes of that."""
    story.source |= approval(action, groups, to=to)
    done = story.plan()
    assert (acted(done), codes(done)) == (0, ["ApprovalNeedsPlan"])
    published = hydrate(story.inputs(), with_candidates=False)
    assert digest(done) == digest(published)  # who looks and who publishes are told the same
    return digest(done)


@pytest.mark.parametrize(
    ("begun", "action", "held"), [(shrunk, "Remove", 6), (shrunk, "Exceed", 6), (mislabelled, "Exceed", 3)]
)
def test_what_is_told_is_what_is_written_and_counts_once(begun: Callable[[], Story], action: str, held: int) -> None:
    story = begun()
    story.source |= approval(action, plan=written(story, action))
    story.now += timedelta(minutes=10)  # neither time nor a new snapshot of the same makes it another plan
    done = story.run()
    assert (acted(done), codes(done)) == (held, [])
    again = story.run()
    assert (acted(again), again.steps) == (0, ())


@pytest.mark.parametrize(
    ("begun", "action", "to", "becomes"),
    [
        (gone_over, "Return", "", "Relocate a MoveApproved"),
        (still, "Move", "b", "Relocate b MoveApproved"),
        (proposed, "Move", "", "Relocate b ClusterDraining"),
        (grown, "Move", "", "Relocate b UpgradeDoesNotFit"),
        (between, "Remove", "", "Relocate b ClusterDraining"),
        (stripped, "Remove", "", "Update a,b Updated"),
    ],
)
def test_a_pattern_consents_to_what_waits_for_that_action_and_is_done_with_it(
    begun: Callable[[], Story], action: str, to: str, becomes: str
) -> None:
    story = begun()
    for other in {"Move", "Remove", "Exceed"} - {action}:
        story.source |= approval(other)
        (problem,) = (p for p in story.plan().problems if p.code == "ApprovalNeedsPlan")
        assert problem.hint == "nothing waits for it; remove it", other
    story.source |= approval(action, plan=written(story, action, to=to), to=to)
    done = story.run()
    assert (set(outcome(done).values()), codes(done)) == ({becomes}, [])
    again = story.run()
    assert (again.steps, codes(again)) == ((), [])


@pytest.mark.parametrize(
    ("begun", "action", "told"),
    [
        (shrunk, "Remove", "ce6e5ef4497247bc"),
        (mislabelled, "Exceed", "228ad2fd80825628"),
        (gone_over, "Return", "abed4134c60ad564"),
        (stripped, "Remove", "e29891554bd5997d"),
    ],
)
def test_what_somebody_has_written_counts_for_the_next_version_too(
    begun: Callable[[], Story], action: str, told: str
) -> None:
    """Another digest for the same plan would make all consent lapse when gitplacer is replaced."""
    assert written(begun(), action).removeprefix("sha256:")[:16] == told


def test_consent_lapses_when_something_else_holds_them() -> None:
    story = mislabelled()
    story.source |= approval("Exceed", plan=written(story, "Exceed"))
    always = '[{schedule: "* * * * *", duration: 1h, timeZone: UTC}]'
    story.source |= fleet(f"{{relocations: {{max: 1, exceed: Hold}}, freeze: {always}}}")
    done = story.run()
    assert (acted(done), codes(done)) == (0, ["ApprovalForOtherPlan"])


def test_consent_to_the_removal_of_one_object_is_not_to_that_of_another() -> None:
    story = stripped()
    story.source |= approval("Remove", plan=written(story, "Remove"))
    del story.source["platform/web/one.yaml"]
    story.source |= platform("two")
    before = story.files()
    assert codes(story.run()) == ["ApprovalForOtherPlan"]
    assert story.files() == before


def test_a_group_that_is_new_by_its_name_only_has_a_digest() -> None:
    story = still()
    story.source |= policy("anywhere", "select: {}\ngroupBy: {namespace: true}") | approval("Move", to="b")
    (problem,) = (p for p in story.plan().problems if p.code == "ApprovalNeedsPlan")
    assert problem.hint.startswith("it is about web/s1 and web/web now")


def test_what_clusters_have_of_an_app_that_spans_them_is_not_gone_from_the_source() -> None:
    story = Story.of(*spanning.MESHED, policy("wide", spanning.ON_PREM_FIRST), spanning.app(), capacity=spanning.TWO)
    assert outcome(story.run()) == {"ml/llm": "Place cloud,on-prem Spans"}
    story.source |= approval("Remove", "ml/*")
    (problem,) = (p for p in story.plan().problems if p.code == "ApprovalNeedsPlan")
    assert problem.hint == "nothing waits for it; remove it"


def another_goes(story: Story) -> None:
    del story.source["workloads/web/s6.yaml"]


def one_is_back(story: Story) -> None:
    story.source |= app(0)


def one_was_replaced(story: Story) -> None:
    """It was away and has come again: the record tells of another time."""
    record = "placements/web/s0.yaml"
    text = story.deployment.read(record).replace(b"epoch: 1", b"epoch: 2")
    story.deployment = story.deployment.apply(Changes({record: text}))


def somebody_is_new(story: Story) -> None:
    story.source |= rayservice("other", "new", cpu="1", gpus=0)


def one_that_stays_is_broken(story: Story) -> None:
    story.source["workloads/web/s7.yaml"] = "kind: ["


@pytest.mark.parametrize("action", ["Remove", "Exceed"])
@pytest.mark.parametrize(
    ("happens", "counts"),
    [
        (another_goes, False),
        (one_is_back, False),
        (one_was_replaced, False),
        (somebody_is_new, True),
        (one_that_stays_is_broken, True),
    ],
)
def test_consent_lapses_with_what_it_was_given_to_and_with_nothing_else(
    happens: Callable[[Story], None], counts: bool, action: str
) -> None:
    story = shrunk()
    plan = written(story, action)
    story.source |= approval(action, plan=plan)
    happens(story)
    done = story.run()
    assert acted(done) == (6 if counts else 0)
    assert codes(done) == ([] if counts else ["ApprovalForOtherPlan"])
    if not counts:
        assert digest(done) != plan
        story.source |= approval(action, plan=digest(done))
        assert acted(story.run()) > 0


def test_consent_that_was_carried_out_does_not_come_to_life_when_the_same_happens_again() -> None:
    story = shrunk()
    story.source |= approval("Remove", plan=written(story, "Remove"))
    assert acted(story.run()) == 6
    for index in range(6):
        story.source |= app(index)
    story.run()
    for index in range(6):
        del story.source[f"workloads/web/s{index}.yaml"]
    done = story.run()
    assert (acted(done), codes(done)) == (0, ["ApprovalForOtherPlan"])


def test_a_pattern_sends_those_that_somebody_has_seen() -> None:
    story = Story.of(cluster("a"), ANYWHERE, app(0), app(1), capacity=ROOM)
    story.run()
    story.source |= cluster("b")
    plan = written(story, "Move", to="b")
    story.source |= approval("Move", plan=plan, to="b") | app(2)
    assert acted(story.run()) == 2  # the new one has no place that it could leave yet
    (problem,) = (p for p in story.run().problems if p.code == "ApprovalForOtherPlan")
    assert problem.hint.startswith("it is about web/s2 now; look at the plan")  # the two that were sent are done
    assert (str(problem.location), problem.severity) == ("approvals/ok.yaml:4:54", Severity.WARNING)


def test_one_group_needs_no_plan_and_may_have_one() -> None:
    story = shrunk()
    story.source |= approval("Remove", "web/s0")
    done = story.plan()
    assert (acted(done), codes(done)) == (1, [])
    story.source |= approval("Remove", "web/s0", plan=f"sha256:{'0' * 64}")
    done = story.plan()
    assert (acted(done), codes(done)) == (0, ["ApprovalForOtherPlan"])
    story.source |= approval("Remove", "web/s0", plan=digest(done))
    assert acted(story.plan()) == 1


def test_what_is_about_nothing_is_told_without_a_digest() -> None:
    story = Story.of(cluster("a"), ANYWHERE, app(0), approval("Exceed"), capacity=ROOM)
    (problem,) = (p for p in story.run().problems if p.code == "ApprovalNeedsPlan")
    assert problem.hint == "nothing waits for it; remove it"


def test_of_consent_that_has_ended_only_that_is_told() -> None:
    story = shrunk()
    plan = written(story, "Remove")
    for days, told in ((1, []), (0, ["ApprovalExpired"])):
        story.source |= approval("Remove", plan=plan, days=days)
        assert codes(story.plan()) == told
    story.source |= approval("Remove", plan=f"sha256:{'0' * 64}", days=0)
    assert codes(story.plan()) == ["ApprovalExpired"]


def test_consent_for_longer_than_anybody_can_see_does_not_count_yet() -> None:
    story = shrunk()
    text = approval("Remove", "web/s0")["approvals/ok.yaml"].replace("2026-01-03", "2026-03-01")
    story.source |= {"approvals/ok.yaml": text}
    done = story.plan()
    assert (acted(done), codes(done)) == (0, ["ApprovalTooLong"])


@settings(max_examples=12)
@given(
    there=st.sets(st.integers(0, 7), min_size=1),
    seen=st.sets(st.integers(0, 7)),
    then=st.sets(st.integers(0, 7)),
    most=st.integers(0, 3),
)
def test_nothing_goes_beyond_the_guard_but_what_somebody_has_seen(
    there: set[int], seen: set[int], then: set[int], most: int
) -> None:
    """Whatever the source loses between the look at a plan and the consent to it."""
    story = Story.of(
        cluster("a"), ANYWHERE, *map(app, sorted(there)), fleet(f"{{removals: {{max: {most}}}}}"), capacity=ROOM
    )
    story.run()

    def keep(left: set[int]) -> None:
        story.source = {path: text for path, text in story.source.items() if not path.startswith("workloads/")}
        for index in left & there:
            story.source |= app(index)

    keep(seen)
    story.source |= approval("Remove")
    told = [p for p in story.plan().problems if "`plan: " in p.hint]
    if told:
        story.source |= approval("Remove", plan=digest(story.plan()))
    keep(then)
    gone = acted(story.run())
    assert gone <= most or (bool(told) and there - then == there - seen)
    assert story.run().steps == ()

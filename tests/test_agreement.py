"""Consent to one plan: when it counts, when it lapses, and what is told so that somebody can give it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration, hydrate
from gitplacer.tree import Changes
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
    assert codes(story.run()) == ["ApprovalForOtherPlan"]


def test_one_group_needs_no_plan_and_may_have_one() -> None:
    story = shrunk()
    story.source |= approval("Remove", "web/s0")
    assert acted(story.plan()) == 1
    story.source |= approval("Remove", "web/s0", plan=f"sha256:{'0' * 64}")
    done = story.plan()
    assert (acted(done), codes(done)) == (0, ["ApprovalForOtherPlan"])
    story.source |= approval("Remove", "web/s0", plan=digest(done))
    assert acted(story.plan()) == 1


def test_what_is_about_nothing_is_told_without_a_digest() -> None:
    story = Story.of(cluster("a"), ANYWHERE, app(0), approval("Exceed"), capacity=ROOM)
    (problem,) = (p for p in story.run().problems if p.code == "ApprovalNeedsPlan")
    assert problem.hint == "nothing waits for it; remove it"


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

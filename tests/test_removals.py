"""How many groups a source may lose in a time: what is held then, what counts, and what lets it go."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration
from gitplacer.kept import REMOVALS_FILE
from gitplacer.tree import Changes
from tests import test_spanning as spanning
from tests.stories import ANYWHERE, FLEET, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot
from tests.test_agreement import between
from tests.test_tenant_attacks import deployment

ROOM = snapshot("a", "n1 900 9000Gi 900")
PLATFORM = {"platform/crds/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n"}
HELD, GONE = "Hold a TooManyRemovals", "Remove  SourceRemoved"


def fleet(guard: str) -> dict[str, str]:
    return {"fleet.yaml": FLEET.replace("spec: {}", f"spec: {{guards: {{removals: {guard}}}}}")}


def approval(groups: str, action: str, name: str = "ok") -> dict[str, str]:
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {{name: {name}}}\n"
        f'spec: {{groups: [{groups}], action: {action}, expires: "2026-01-03T00:00:00Z"}}\n'
    )
    return {f"approvals/{name}.yaml": text}


def apps(number: int, first: int = 0) -> dict[str, str]:
    files: dict[str, str] = {}
    for index in range(first, first + number):
        files |= rayservice("web", f"s{index:02}", cpu="1", gpus=0)
    return files


def placed(number: int, guard: str = "") -> Story:
    """A fleet with so many apps."""
    story = Story.of(cluster("a"), ANYWHERE, apps(number), fleet(guard) if guard else {}, capacity=ROOM)
    story.run()
    return story


def without(story: Story, number: int, first: int = 0) -> None:
    for path in apps(number, first):
        del story.source[path]


def removed(done: Hydration) -> int:
    return sum(text == GONE for text in outcome(done).values())


def held(done: Hydration) -> int:
    return sum(text == HELD for text in outcome(done).values())


@pytest.mark.parametrize(
    ("guard", "there", "gone", "removed_now", "held_now"),
    [
        ("", 20, 5, 5, 0),  # a quarter
        ("", 20, 6, 0, 6),  # more than that: all of it stays, not what is beyond
        ("", 20, 20, 0, 20),
        ("", 4, 4, 4, 0),  # four are an ordinary day's work, however small the fleet
        ("", 5, 5, 0, 5),
        ("{max: 50%}", 20, 10, 10, 0),
        ("{max: 50%}", 20, 11, 0, 11),
        ("{max: 0%}", 20, 4, 4, 0),
        ("{max: 3}", 20, 3, 3, 0),
        ("{max: 3}", 20, 4, 0, 4),
        ("{max: 0}", 3, 1, 0, 1),
        ("{max: 3, exceed: Throttle}", 20, 7, 3, 4),
        ("{max: 0, exceed: Allow}", 20, 20, 20, 0),
    ],
)
def test_a_source_may_lose_so_many_groups(guard: str, there: int, gone: int, removed_now: int, held_now: int) -> None:
    story = placed(there, guard)
    without(story, gone)
    done = story.run()
    assert (removed(done), held(done)) == (removed_now, held_now)
    again = story.run()
    assert (removed(again), held(again), again.steps) == (0, held_now, ())


def test_what_is_held_says_how_many_would_go_and_what_lets_them() -> None:
    story = placed(20)
    without(story, 6)
    found = decisions(story.run())["web/s00"].finding
    assert (found.wanted, found.placed, found.subject) == (6, 5, "1h")


def test_what_is_back_in_the_source_was_never_gone() -> None:
    story = placed(12)
    before = story.deployment
    without(story, 12)
    story.run()
    story.source |= apps(12)
    done = story.run()
    assert set(outcome(done).values()) == {"Keep a Kept"} and story.deployment == before


def test_removals_count_over_passes_and_are_forgotten_in_time() -> None:
    story = placed(20)
    without(story, 3)
    assert removed(story.run()) == 3
    without(story, 3, first=3)
    assert held(story.run()) == 3  # six within the hour, and five may go
    story.now += timedelta(minutes=58)
    assert removed(story.run()) == 3
    assert (
        story.deployment.read(REMOVALS_FILE).decode().endswith('removed:\n- {at: "2026-01-02T04:06:00Z", groups: 3}\n')
    )


def test_a_share_is_of_all_that_there_were_before_the_first_that_counts() -> None:
    story = placed(20)
    without(story, 2)
    assert removed(story.run()) == 2
    without(story, 3, first=2)
    assert removed(story.run()) == 3


def test_groups_that_come_with_those_that_go_do_not_make_more_of_them_go() -> None:
    """What a share is of must not grow by the pass itself, or planning again would do what this pass did not."""
    story = placed(20, "{max: 25%, exceed: Throttle}")
    without(story, 10)
    story.source |= apps(12, first=30)
    done = story.run()
    assert removed(done) == 8 and held(done) == 2
    assert story.run().steps == ()


def test_consent_lets_groups_go_and_does_not_count_against_others() -> None:
    story = placed(8, "{max: 1}")
    without(story, 2)
    assert held(story.run()) == 2
    story.source |= approval("web/s00, web/s01", "Remove")
    assert removed(story.run()) == 2
    assert REMOVALS_FILE not in story.deployment
    del story.source["approvals/ok.yaml"]
    without(story, 1, first=2)
    assert removed(story.run()) == 1


def test_consent_that_was_carried_out_lets_nobody_go_again() -> None:
    """Somebody agreed that the old copy of a surge goes, and not that the app does."""
    story = between()
    story.source |= approval("web/s0, web/s1", "Remove")
    assert set(outcome(story.run()).values()) == {"Relocate b ClusterDraining"}
    story.source |= fleet("{max: 0}")
    story.source = {path: text for path, text in story.source.items() if not path.startswith("workloads/")}
    assert set(outcome(story.run()).values()) == {HELD.replace(" a ", " b ")}


def test_what_clusters_have_of_an_app_that_spans_them_goes_over_with_it() -> None:
    wide = policy("wide", spanning.ON_PREM_FIRST)
    first = {"workloads/ml/first.yaml": deployment("first", namespace="ml")}  # whose record goes on as that of both
    story = Story.of(*spanning.MESHED, wide, spanning.app(), first, capacity=spanning.TWO)
    story.source |= fleet("{max: 0}")
    assert set(outcome(story.run())) == {"ml/first", "ml/llm"}
    story.source |= policy("wide", f"{spanning.ON_PREM_FIRST}groupBy: {{namespace: true}}")
    assert outcome(story.run())["ml/llm"] == GONE


def test_what_goes_over_to_another_group_is_not_removed() -> None:
    """Six groups become one with all that they had."""
    story = placed(6, "{max: 0}")
    story.source |= policy("anywhere", "select: {}\ngroupBy: {namespace: true}")
    found = outcome(story.run())
    assert HELD not in found.values() and found["web/web"].startswith(("Update a", "Keep a"))


def test_what_only_waits_may_go_whatever_the_guard() -> None:
    story = Story.of(cluster("a"), ANYWHERE, apps(6), fleet("{max: 0}"), capacity=snapshot("a", "n1 1 1Gi"))
    assert set(outcome(story.run()).values()) == {"Wait  NoClusterFits"}
    without(story, 6)
    assert removed(story.run()) == 6 and REMOVALS_FILE not in story.deployment


def test_a_job_that_has_run_counts_because_without_its_record_it_would_run_again() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayjob("web", "train"), fleet("{max: 0}"), capacity=ROOM)
    story.run()
    shown = "groups:\n- {name: web/train, phase: Succeeded}\n"
    for _ in range(3):
        story.now += timedelta(minutes=10)
        story.capacity = snapshot("a", "n1 900 9000Gi 900", at=story.now, more=shown)
        story.run()
    del story.source["workloads/web/train.yaml"]
    assert outcome(story.run()) == {"web/train": HELD}


@pytest.mark.parametrize(
    ("content", "foreign"),
    [(b"kind: [", True), (b"kind: [", False), (b"apiVersion: v1\nkind: ConfigMap\n", False), (None, True)],
)
def test_a_memory_that_somebody_else_changed_holds_removals_alone(content: bytes | None, foreign: bool) -> None:
    story = placed(8)
    without(story, 1)
    story.run()
    kept = story.deployment.read(REMOVALS_FILE)
    changes = Changes({REMOVALS_FILE: content}) if content is not None else Changes({}, frozenset({REMOVALS_FILE}))
    story.deployment = story.deployment.apply(changes)
    story.foreign = {REMOVALS_FILE: "0" * 40} if foreign else {}
    without(story, 1, first=1)
    story.source |= apps(1, first=20)
    found = outcome(story.run())
    assert found["web/s01"] == "Hold a ForeignChange" and found["web/s20"] == "Place a Fits"
    assert decisions(story.plan())["web/s01"].finding.subject == REMOVALS_FILE
    story.source |= approval("web/s01", "Remove")
    assert outcome(story.run())["web/s01"] == GONE
    story.deployment = story.deployment.apply(Changes({REMOVALS_FILE: kept}))
    story.foreign = {}
    without(story, 1, first=2)
    assert removed(story.run()) == 1


def test_platform_objects_are_asked_for_one_by_one_and_do_not_count() -> None:
    story = Story.of(cluster("a"), ANYWHERE, apps(8), PLATFORM, fleet("{max: 0}"), capacity=ROOM)
    story.source |= policy("tools", 'select: {paths: ["platform/**"]}\nplacement: {copies: All}\nprecedence: 9')
    story.run()
    del story.source["platform/crds/ns.yaml"]
    assert "TooManyRemovals" not in {d.finding.code for d in decisions(story.run()).values()}


@settings(max_examples=20)
@given(
    there=st.integers(0, 12),
    most=st.one_of(st.integers(0, 8).map(str), st.integers(0, 100).map(lambda share: f"{share}%")),
    exceed=st.sampled_from(["Hold", "Throttle"]),
    turns=st.lists(
        st.tuples(st.sets(st.integers(0, 15)), st.sampled_from([0, 7, 30, 59, 60, 61])), min_size=1, max_size=3
    ),
)
def test_never_more_go_in_a_time_than_may_and_planning_again_changes_nothing(
    there: int, most: str, exceed: str, turns: list[tuple[set[int], int]]
) -> None:
    """Whatever a source loses, gets back and gets new, in whatever time."""
    story = placed(there, f"{{max: {most}, exceed: {exceed}}}")
    went: list[tuple[int, int]] = []
    minutes = 1
    for wanted, pause in turns:
        before = story.files("clusters/a/workloads")
        story.source = {path: text for path, text in story.source.items() if not path.startswith("workloads/")}
        for index in wanted:
            story.source |= apps(1, first=index)
        story.now += timedelta(minutes=pause)
        minutes += pause
        groups = len({path.split("/")[4] for path in before} | {f"s{index:02}" for index in wanted})
        done = story.run()
        went.append((minutes, removed(done)))
        minutes += 1
        lately = sum(number for at, number in went if minutes - 1 - at < 60)
        share = max(4, (groups + lately - removed(done)) * int(most[:-1]) // 100) if most.endswith("%") else int(most)
        assert removed(done) == 0 or lately <= share
        assert story.run().steps == ()
        minutes += 1

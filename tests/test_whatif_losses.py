"""Who survives the loss of a cluster, and that the quick way says what the whole plan says."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from gitplacer.model.fates import Fate, Supposed, worst_first
from gitplacer.source.files import NoMemo
from gitplacer.tree import Changes
from gitplacer.whatif import LoseCluster, RaiseReplicas, RemoveFiles, Supposition, Together
from gitplacer.whatif.ground import Ground, suppose
from gitplacer.whatif.losses import Losses, supposition
from tests.stories import ANYWHERE, FLEET, Story, cluster, deployment, outcome, policy, rayjob, rayservice, snapshot


def ground(story: Story) -> Ground:
    return Ground.of(story.inputs(), NoMemo())


def told(supposed: Supposed) -> dict[str, str]:
    """Group to its fate, where it is then, and why."""
    return {
        f.group: f"{f.fate} {','.join(f.before)}→{','.join(f.after)} {f.code}{' later' * f.later}"
        for f in supposed.fates
    }


def by_both(story: Story, *loss: str) -> Supposed:
    """What a loss comes to, which the quick way and the whole plan must agree on."""
    under = ground(story)
    losses = Losses(under)
    assert losses.is_quick
    quick, (whole, _) = losses(loss), suppose(under, supposition(loss))
    assert quick.fates == whole.fates
    assert quick.clusters == whole.clusters
    assert quick.problems == whole.problems
    return quick


def three(*files: dict[str, str], gpus: int = 2) -> Story:
    return Story.of(
        cluster("a"), cluster("b"), cluster("c"), ANYWHERE, *files,
        capacity={k: v for name in "abc" for k, v in snapshot(name, f"n1 32 128Gi {gpus}").items()},
    )  # fmt: skip


def test_a_service_moves_where_there_is_room_and_others_are_not_told_of() -> None:
    story = three(rayservice("web", "shop"), rayservice("web", "blog", gpus=0, workers=0))
    story.run()
    assert told(by_both(story, "a")) == {
        "web/blog": "Moves a→b ClusterLost",
        "web/shop": "Moves a→b ClusterLost",
    }
    assert told(by_both(story, "b")) == {}


def test_who_finds_no_room_is_stranded() -> None:
    story = three(
        rayservice("web", "shop", workers=2), rayservice("web", "blog", workers=2), rayservice("x", "app", workers=2)
    )
    story.run()
    found = by_both(story, "b")
    assert [f.fate for f in found.fates] == [Fate.STRANDED]
    assert found.count(Fate.STRANDED, serves=True) == 1


def test_a_job_that_may_have_started_is_held_and_is_no_service() -> None:
    story = three(rayjob("jobs", "train", workers=1), rayservice("web", "shop"))
    story.run()
    found = by_both(story, "a")
    [fate] = [f for f in found.fates if f.group == "jobs/train"]
    assert (fate.fate, fate.serves, fate.code) == (Fate.HELD, False, "MayHaveStarted")


def test_a_group_that_is_held_anyway_is_told_when_it_is_to_have_other_pods() -> None:
    """A drained job gets its new manifests where it is; what a foreign change holds gets nothing."""
    story = three(rayjob("jobs", "train", workers=1), rayservice("web", "shop"))
    story.run()
    story.source |= cluster("a", state="Draining")
    assert told(suppose(ground(story), RaiseReplicas(group="jobs/train", to=2))[0]) == {
        "jobs/train": "Changed a→a MayHaveStarted"
    }
    assert told(suppose(ground(story), RaiseReplicas(group="jobs/train", to=1))[0]) == {}
    story.source |= cluster("a")
    path = next(path for path in story.deployment if path.endswith("web/shop/shop.yaml"))
    story.deployment = story.deployment.apply(Changes({path: b"kind: Surprise\n"}))
    story.foreign = {path: ""}
    assert told(suppose(ground(story), RaiseReplicas(group="web/shop", to=2))[0]) == {
        "web/shop": "Held a→a ForeignChange"
    }


def test_two_clusters_may_go_where_one_would_be_borne() -> None:
    story = three(rayservice("web", "shop", workers=2))
    story.capacity |= snapshot("c", "n1 32 128Gi 1")
    story.run()
    assert told(by_both(story, "a")) == {"web/shop": "Moves a→b ClusterLost"}
    assert [f.fate for f in by_both(story, "a", "b").fates] == [Fate.STRANDED]


def test_the_fleet_is_taken_as_it_is_after_the_pass_that_is_due() -> None:
    story = three(rayservice("web", "shop"))
    assert told(by_both(story, "a")) == {"web/shop": "Moves a→b ClusterLost"}


def test_what_is_wrong_behind_the_pass_that_is_due_is_brought_by_no_supposition() -> None:
    """The deployment repo is a new one, and a cluster still tells of what it synced of the old one."""
    story = three(rayservice("web", "shop"))
    story.capacity |= snapshot("a", "n1 32 128Gi 2", more="applied: {workloads: 5}")
    assert {p.code for p in ground(story).snapshot.problems} == {"EpochNeverWritten"}
    assert by_both(story, "b").problems == ()


def test_an_error_that_only_a_loss_brings_is_told() -> None:
    """Wherever else it may go, an override speaks of a field that the service does not have."""
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: odd}\n"
        "spec: {select: {}, clusters: {names: [b, c]}, overrides: [{path: /spec/none, value: 1}]}\n"
    )
    story = three(rayservice("web", "shop"), {"policies/odd.yaml": text})
    story.run()
    found = by_both(story, "a")
    assert [p.code for p in found.problems] == ["CannotEdit"]
    assert told(found) == {"web/shop": "Held a→ HasProblems"}


def test_who_waits_anyway_is_counted_and_not_told() -> None:
    story = three(rayservice("web", "shop"), rayservice("web", "huge", workers=9))
    story.run()
    found = by_both(story, "a")
    assert [*told(found)] == ["web/shop"]
    assert found.waiting == 1


def test_what_was_due_to_a_lost_cluster_goes_to_another() -> None:
    """The one replica of a divided group waits for a, which has no room for it."""
    story = three(
        policy("anywhere", "select: {}\nplacement: {type: Divide}"), deployment("web", "shop", "requests: {cpu: 2}")
    )
    story.capacity |= snapshot("a", "n1 1 1Gi")
    assert outcome(story.run()) == {"web/shop": "Wait  NoClusterFits"}
    assert told(by_both(story, "a")) == {"web/shop": "Placed →b Fits"}
    assert told(by_both(story, "b")) == {}


def test_who_is_placed_or_removed_by_a_supposition_does_not_wait_anyway() -> None:
    story = three(rayservice("web", "big", workers=9), rayservice("web", "huge", workers=9))
    story.run()
    place = RaiseReplicas(group="web/big", to=1)
    remove = RemoveFiles(("workloads/web/huge.yaml",))
    for supposed, lines, waiting in (
        (place, {"web/big": "Placed →a Fits"}, 1),
        (remove, {}, 1),
        (Together((place, remove)), {"web/big": "Placed →a Fits"}, 0),
    ):
        found, _ = suppose(ground(story), supposed)
        assert (told(found), found.waiting) == (lines, waiting)


def test_guards_delay_and_do_not_strand() -> None:
    story = three(*(rayservice("web", f"s{i}", gpus=0, workers=0) for i in range(4)))
    guards = "spec: {guards: {evacuations: {max: 1, exceed: Throttle}}}"
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", guards)
    story.run()
    lines = told(by_both(story, "a"))
    assert {line.partition(" later")[0] for line in lines.values()} == {"Moves a→b ClusterLost"}
    assert sum(line.endswith(" later") for line in lines.values()) == 3


def test_who_is_held_back_anyway_is_nobodys_fate() -> None:
    story = three(*(rayservice("web", f"s{i}", gpus=0, workers=0) for i in range(3)), rayservice("x", "app"))
    guards = "spec: {guards: {evacuations: {max: 1, exceed: Throttle}}}"
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", guards)
    story.source |= policy("x", "select: {namespaces: [x]}\nprecedence: 2\nclusters: {names: [b, c]}")
    story.run()
    story.source |= cluster("a", state="Draining")
    assert told(by_both(story, "c")) == {}
    on_b = {group: line for group, line in told(by_both(story, "b")).items() if group.startswith("web")}
    assert all(line.startswith("Moves b") for line in on_b.values())


def test_fewer_copies_are_less_and_no_more() -> None:
    story = three(rayservice("web", "shop", workers=2))
    story.source |= policy("anywhere", "select: {}\nplacement: {copies: 3}")
    story.run()
    found = by_both(story, "a")
    assert [(f.fate, f.after) for f in found.fates] == [(Fate.LESS, ("b", "c"))]


def test_a_finished_job_has_nothing_to_lose() -> None:
    story = three(rayjob("jobs", "train", workers=1))
    story.run()
    story.now += timedelta(minutes=20)
    story.capacity |= snapshot(
        "a", "n1 32 128Gi 2", at=story.now,
        more="applied: EVERYTHING\ngroups: [{name: jobs/train, phase: Succeeded}]\n",
    )  # fmt: skip
    story.run()
    assert told(by_both(story, "a")) == {}


def test_the_worst_comes_first() -> None:
    story = three(
        rayservice("web", "shop", workers=2),
        rayservice("web", "blog", workers=2),
        rayservice("x", "app", gpus=0, workers=0),
    )
    story.run()
    losses = Losses(ground(story))
    found = worst_first(tuple(losses((name,)) for name in "abc"))
    assert [item.title for item in found] == ["losing cluster a", "losing cluster b", "losing cluster c"]
    assert [len(item.fates) for item in found] == [2, 1, 0]


def random_fleet(seed: int) -> Story:
    """A fleet that is fuller or emptier, with copies, priorities and guards now and then."""
    chance = random.Random(seed)
    names = [f"c{i}" for i in range(chance.randrange(3, 7))]
    story = Story.of(
        *(cluster(n, labels=f"{{tier: t{chance.randrange(2)}}}") for n in names),
        policy("jobs", f"select: {{kinds: [RayJob]}}\npriority: {chance.randrange(2)}"),
        policy(
            "services",
            f"""
            select: {{kinds: [RayService]}}
            placement: {{copies: {chance.choice(("1", "1", "2", "All"))}, accept: {chance.choice(("Fits", "TightFit"))}}}
            relocation: {{strategy: {chance.choice(("Recreate", "Surge", "RemoveFirst"))}}}
            """,
        ),
    )  # fmt: skip
    if chance.random() < 0.3:
        guard = "spec: {guards: {evacuations: {max: 1, exceed: Throttle}}}"
        story.source["fleet.yaml"] = FLEET.replace("spec: {}", guard)
    for name in names:
        nodes = [f"n{i} {chance.choice((8, 16))} 64Gi {chance.randrange(5)}" for i in range(chance.randrange(1, 4))]
        story.capacity |= snapshot(name, *nodes)
    for number in range(chance.randrange(4, 16)):
        make = chance.choice((rayservice, rayjob))
        story.source |= make(f"team{number % 3}", f"app{number}", workers=chance.randrange(4), cpu=chance.choice("124"))
    story.run()
    return story


@pytest.mark.parametrize("seed", range(5))
def test_the_quick_way_says_of_random_fleets_what_the_whole_plan_says(seed: int) -> None:
    under = ground(random_fleet(seed))
    losses, names = Losses(under), sorted(under.snapshot.source.own.clusters)
    assert losses.is_quick
    for loss in [*((name,) for name in names), tuple(names[:2])]:
        whole, made = suppose(under, supposition(loss))
        assert losses(loss).fates == whole.fates
        quick = {d.group: (d.action, d.after, d.finding) for d in losses.view(loss).plan.decisions}
        full = {d.group: (d.action, d.after, d.finding) for d in made.view.plan.decisions}
        waiting = {g for g, d in under.decisions.items() if not d.after and not d.before}
        assert {g: d for g, d in quick.items() if g not in waiting} == {
            g: d for g, d in full.items() if g not in waiting
        }


@pytest.mark.parametrize(
    "spec",
    [
        "preempts: LowerPriority\npriority: 3",
        "placement: {type: Ordered, order: [{names: [a]}]}\nrelocation: {when: {PreferredAvailable: Automatic}}",
    ],
)
def test_a_fleet_where_who_waits_may_matter_is_planned_in_full(spec: str) -> None:
    story = three(rayservice("web", "shop", workers=2), rayservice("web", "blog", workers=2))
    story.source |= policy("other", f"select: {{namespaces: [other]}}\nprecedence: 3\n{spec}")
    story.run()
    losses = Losses(ground(story))
    assert not losses.is_quick
    assert [f.fate for f in losses(("b",)).fates] == [Fate.MOVES]


def test_consent_to_another_plan_lets_nobody_move() -> None:
    """It is found out by planning without it, which the quick way does not."""
    story = three(
        rayservice("web", "shop"), policy("anywhere", "select: {}\nrelocation: {when: {ClusterLost: Manual}}")
    )
    story.run()
    story.source["approvals/ok.yaml"] = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
        f"spec: {{groups: [web/*], action: Move, expires: 2026-01-03T00:00:00Z, plan: 'sha256:{'0' * 64}'}}\n"
    )
    losses = Losses(ground(story))
    assert not losses.is_quick
    assert told(losses(("a",))) == {"web/shop": "Held a→ AwaitsApproval"}


def test_a_loss_is_a_supposition_like_any_other() -> None:
    one: Supposition = supposition(("a",))
    assert one == LoseCluster("a")
    assert supposition(("a", "b")).title == "losing clusters a and b"

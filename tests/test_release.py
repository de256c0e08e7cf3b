"""What `gitplacer explain` says would let a held group go on, done as it says: it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from gitplacer.formats.group import explain_group
from tests.stories import FLEET, Story, cluster, outcome, policy, rayjob, rayservice, snapshot

DRAINED = cluster("a", state="Draining")
MOVE = {
    "approvals/ok.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
    'spec: {groups: ["x/app"], action: Move, to: b, expires: "2026-01-03T00:00:00Z"}\n'
}
FROZEN = {"fleet.yaml": FLEET.replace("spec: {}", 'spec: {guards: {freeze: [{schedule: "0 0 * * *", duration: 24h}]}}')}
ANNOTATED = rayservice("x", "app")["workloads/x/app.yaml"].replace(
    "metadata: {name: app,", "metadata: {name: app, annotations: {gitplacer.dev/relocation: Never},"
)
MOVES = "`gitplacer move x/app --to CLUSTER`"


def rule(relocation: str = "{}", update: str = "{}") -> dict[str, str]:
    return policy("p", f"select: {{}}\nrelocation: {relocation}\nupdate: {update}")


def told(story: Story) -> str:
    """What would let the group go on, by the plan as it is; '' where nothing is said."""
    text = explain_group(story.plan().view, "x/app")
    return text.partition("What would let it go on\n  ")[2].partition("\n")[0]


@pytest.mark.parametrize(
    ("app", "first", "held", "says", "done"),
    [
        (rayjob("x", "app"), rule(), DRAINED,
         "relocation.runningJobs: Restart of policy p (policies/p.yaml:1) lets it leave; then it starts from the beginning elsewhere",
         rule("{runningJobs: Restart}")),
        (rayservice("x", "app"), rule("{when: {ClusterDraining: Never}}"), DRAINED,
         f"relocation.when.ClusterDraining of policy p (policies/p.yaml:1) lets it leave, or {MOVES}", rule()),
        (rayservice("x", "app"), rule("{when: {ClusterDraining: Never}}"), DRAINED,
         f"relocation.when.ClusterDraining of policy p (policies/p.yaml:1) lets it leave, or {MOVES}", MOVE),
        ({"workloads/x/app.yaml": ANNOTATED}, rule(), DRAINED,
         "take the annotation gitplacer.dev/relocation: Never away", rayservice("x", "app")),
        (rayservice("x", "app"), rule("{when: {ClusterDraining: Manual}}"), DRAINED,
         f"{MOVES}, or merge the branch on which the move is proposed", MOVE),
        (rayservice("x", "app"), rule(), DRAINED | FROZEN, f"{MOVES} moves it before that", MOVE),
    ],
)  # fmt: skip
def test_what_is_said_to_let_a_group_go_lets_it_go(
    app: Mapping[str, str], first: dict[str, str], held: dict[str, str], says: str, done: dict[str, str]
) -> None:
    story = Story.of(cluster("a"), cluster("b"), first, app, capacity=snapshot("a", "n1 32 128Gi 4"))
    story.run()
    story.capacity |= snapshot("b", "n1 32 128Gi 4")
    story.source |= held
    assert outcome(story.run())["x/app"].startswith("Hold a ")
    assert told(story) == says
    story.source |= done
    assert outcome(story.run())["x/app"].startswith("Relocate ")


@pytest.mark.parametrize(
    ("relocation", "says", "done"),
    [
        ("{runningJobs: Restart}",
         "state: Lost of Cluster a, if nothing runs there any more, lets it leave; then it starts from the beginning elsewhere",
         {}),
        ("{}",
         "relocation.runningJobs: Restart of policy p (policies/p.yaml:1), and state: Lost of Cluster a, if nothing runs there any more, "
         "let it leave; then it starts from the beginning elsewhere",
         rule("{runningJobs: Restart}")),
    ],
)  # fmt: skip
def test_what_is_said_to_let_a_job_leave_a_silent_cluster_lets_it(
    relocation: str, says: str, done: dict[str, str]
) -> None:
    silence = {"fleet.yaml": FLEET.replace("spec: {}", "spec: {lostAfter: 1h}")}
    story = Story.of(
        cluster("a"),
        cluster("b"),
        rule(relocation),
        rayjob("x", "app"),
        silence,
        capacity=snapshot("a", "n1 32 128Gi 4"),
    )
    story.run()
    story.now += timedelta(hours=2)
    story.capacity |= snapshot("b", "n1 32 128Gi 4", at=story.now)
    assert outcome(story.run()) == {"x/app": "Hold a MayHaveStarted"}
    assert told(story) == says
    story.source |= done
    assert outcome(story.run()) == {"x/app": "Hold a MayHaveStarted"}
    story.source |= cluster("a", state="Lost")
    assert outcome(story.run()) == {"x/app": "Relocate b ClusterLost"}


@pytest.mark.parametrize("if_not_fit", ["Relocate", "Proceed"])
def test_what_is_said_to_let_an_edit_go_on_lets_it_go_on(if_not_fit: str) -> None:
    app = rayservice("x", "app", workers=4)
    story = Story.of(
        cluster("a"), cluster("b"), rule(update="{ifNotFit: Hold}"), app, capacity=snapshot("a", "n1 32 128Gi 4")
    )
    story.run()
    story.capacity |= snapshot("b", "n1 32 128Gi 4")
    story.source = {
        path: text.replace("name: worker, image: ray,", "name: worker, image: ray:2,")
        for path, text in story.source.items()
    }
    assert outcome(story.run()) == {"x/app": "Hold a UpdateHeld"}
    assert told(story) == (
        "update.ifNotFit of policy p (policies/p.yaml:1): Relocate moves it with the edit, Proceed writes the edit and lets pods wait"
    )
    story.source |= rule(update=f"{{ifNotFit: {if_not_fit}}}")
    assert outcome(story.run())["x/app"].split()[0] == ("Relocate" if if_not_fit == "Relocate" else "Update")


def test_what_goes_on_by_itself_is_said_nothing_of() -> None:
    story = Story.of(cluster("a"), rule(), rayservice("x", "app"), capacity=snapshot("a", "n1 32 128Gi 4"))
    story.run()
    assert told(story) == ""

"""
How a placed group moves: why, by which steps, and what stops it.

Each test is a story of passes with snapshots between them, from files in to commits out.
"""

from __future__ import annotations

import re
from copy import deepcopy
from datetime import datetime, timedelta

import pytest
import yaml

from gitplacer.explain import sentence, verdict_text
from gitplacer.formats.planjson import plan_document
from gitplacer.formats.status import status_json, status_text
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Action, Reason
from gitplacer.placement import plan as plan_module
from gitplacer.problems import Rejected
from gitplacer.relocation.guards import Tally
from gitplacer.review.downtime import Downtime, downtime
from gitplacer.tree import Changes
from tests.stories import (
    FLEET,
    Story,
    cluster,
    decisions,
    outcome,
    policy,
    rayjob,
    rayservice,
    snapshot,
    subjects,
)
from tests.test_agreement import digest

NODE = "n1 16 64Gi 4"
SERVICE = "prod/api"
JOB = "jobs/train"


def seen(story: Story, name: str, *groups: str, node: str = NODE, epoch: int | None = None) -> None:
    """A snapshot of now, from a cluster that has applied everything; groups as YAML flow mappings without braces."""
    shown = "".join(f"- {{{group}}}\n" for group in groups)
    applied = applied_by(story, name) if epoch is None else epoch
    more = f"applied: {{workloads: {applied}}}\n" + (f"groups:\n{shown}" if groups else "")
    story.capacity |= snapshot(name, node, at=story.now, more=more)


def succeed(story: Story, group: str) -> None:
    """Two passes, each on a snapshot that shows that a group's job has succeeded: what ends for good needs two."""
    for _ in range(2):
        later(story, minutes=1)
        seen(story, "a", f"name: {group}, phase: Succeeded")
        story.run()


def applied_by(story: Story, name: str) -> int:
    """The epoch of what a cluster should run now."""
    path = f"clusters/{name}/workloads/gitplacer.yaml"
    return int(yaml.safe_load(story.deployment.read(path))["data"]["epoch"]) if path in story.deployment else 0


def ready(group: str) -> str:
    return f"name: {group}, phase: Running, ready: true"


def waiting(group: str, since: str, role: str = "worker/gpu") -> str:
    return f'name: {group}, phase: Pending, pods: [{{role: {role}, pendingSince: "{since}"}}]'


def later(story: Story, **time: float) -> Story:
    story.now += timedelta(**time)
    return story


def record(story: Story, group: str = SERVICE) -> dict[str, object]:
    value: dict[str, object] = yaml.safe_load(story.deployment.read(f"placements/{group}.yaml"))
    return value


def states(story: Story, group: str = SERVICE) -> dict[str, str]:
    clusters = record(story, group)["clusters"]
    assert isinstance(clusters, list)
    return {entry["name"]: entry["state"] for entry in clusters}


def two(relocation: str = "{}", *more: dict[str, str], placement: str = "{}") -> Story:
    """A service on a, with b free beside it."""
    rule = policy("p", f"select: {{}}\nplacement: {placement}\nrelocation: {relocation}")
    story = Story.of(cluster("a"), cluster("b"), rule, *(more or (rayservice("prod", "api"),)))
    for name in "ab":
        seen(story, name)
    story.run()
    return story


def fleet(spec: str) -> dict[str, str]:
    return {"fleet.yaml": FLEET.replace("spec: {}", f"spec: {spec}")}


def test_an_edit_of_a_group_whose_leaving_is_held_is_told_as_one() -> None:
    story = two("{when: {ClusterDraining: Never}}")
    story.source |= cluster("a", state="Draining")
    held = story.run()
    assert not held.steps
    story.source |= rayservice("prod", "api", workers=2)
    edited = story.run()
    assert outcome(edited) == {SERVICE: "Hold a NeverRelocated"}
    [step] = edited.steps
    assert step.message.startswith(
        "Update prod/api\n\n- prod/api: is held on a: its cluster is draining, but its policy or an annotation says that it never moves; "
        "its files change where it is\n"
    )
    assert downtime(edited.view.plan.decisions[0], edited.view) is Downtime.NONE
    [(path, text)] = rayservice("prod", "api", workers=2).items()
    story.source[path] = text.replace("spec:\n", "spec:\n  suspend: true\n", 1)
    stopped = story.run()
    assert downtime(stopped.view.plan.decisions[0], stopped.view) is Downtime.ENDS


def test_what_has_no_pods_is_not_waited_for_in_the_status() -> None:
    classes = {
        "platform/base/high.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n"
    }
    lines = status_text(two("{}", classes, rayservice("prod", "api")).run().view).splitlines()
    assert "  _cluster/base  a  has no pods" in [line.rstrip() for line in lines]
    assert any(line.startswith("  prod/api") and line.endswith("not reported yet") for line in lines)


# surge


def drained_by_surge(surge: str = "{timeout: 30m}") -> Story:
    story = two(f"{{strategy: Surge, surge: {surge}}}")
    story.source |= cluster("a", state="Draining")
    return story


def test_a_surge_adds_then_sees_then_removes_each_in_a_commit_of_its_own() -> None:
    story = drained_by_surge()
    added = story.run()
    assert outcome(added) == {SERVICE: "Relocate a,b ClusterDraining"}
    assert subjects(added) == ["Relocate prod/api from a to b: add to b"]
    assert "Gitplacer-Phase: Add" in added.steps[0].message
    assert states(story) == {"a": "Placed", "b": "Adding"}
    assert story.run().steps == ()  # nothing is known yet
    seen(story, "b", f"name: {SERVICE}, phase: Running")
    assert story.run().steps == ()  # it is not ready
    seen(story, "b", ready(SERVICE))
    assert subjects(story.run()) == ["Update records"]
    assert story.run().steps == ()  # one snapshot, looked at twice, is one
    story.look_again()
    removed = story.run()
    assert outcome(removed) == {SERVICE: "Relocate b ClusterDraining"}
    assert subjects(removed) == ["Relocate prod/api from a to b: remove from a"]
    assert states(story) == {"b": "Placed"}
    assert story.run().steps == ()


def test_what_a_cluster_reports_from_before_it_applied_the_copy_is_no_evidence() -> None:
    story = drained_by_surge()
    story.run()
    seen(story, "b", ready(SERVICE), epoch=0)
    assert story.run().steps == ()


def test_a_new_copy_that_is_not_ready_in_time_is_taken_back_and_tried_again_later() -> None:
    story = drained_by_surge()
    story.source["policies/p.yaml"] = story.source["policies/p.yaml"].replace(
        "Surge,", "Surge, when: {NotEligible: Never},"
    )
    story.run()
    later(story, minutes=31)
    aborted = story.run()
    assert subjects(aborted) == ["Relocate prod/api from a to b: take back from b"]
    assert states(story) == {"a": "Placed"}
    assert outcome(story.run()) == {SERVICE: "Hold a BackingOff"}
    later(story, minutes=31)
    assert outcome(story.run()) == {SERVICE: "Relocate a,b ClusterDraining"}  # there is no other cluster
    later(story, minutes=31)
    story.run()
    later(story, minutes=31)
    assert outcome(story.run()) == {SERVICE: "Hold a BackingOff"}  # the pause is twice as long now


def test_a_soak_begins_anew_when_the_copy_stops_being_ready() -> None:
    story = drained_by_surge("{soak: 10m}")
    story.run()
    for minutes, shown, moves in (
        (1, ready(SERVICE), False),
        (8, ready(SERVICE), False),
        (1, f"name: {SERVICE}, phase: Running", False),
        (1, ready(SERVICE), False),
        (8, ready(SERVICE), False),
        (2, ready(SERVICE), True),
    ):
        later(story, minutes=minutes)
        seen(story, "b", shown)
        assert (story.run().view.plan.decisions[0].action == "Relocate") is moves, minutes


APPROVAL = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Approval
metadata: {{name: yes}}
spec: {{groups: ["{}"], action: {}, {}expires: "2026-02-01T00:00:00Z"}}
"""


def approval(group: str, action: str, to: str = "") -> dict[str, str]:
    text = APPROVAL.format(group, action, f"to: {to}, " if to else "")
    return {"approvals/yes.yaml": text.replace("{name: yes}", '{name: "yes"}')}


def exceed(story: Story, group: str) -> None:
    """Consent to the plan that there is."""
    story.source |= approval(group, "Exceed")
    text = story.source["approvals/yes.yaml"]
    story.source["approvals/yes.yaml"] = text.replace("expires:", f"plan: {digest(story.plan())}, expires:")


def test_the_old_copy_goes_only_with_consent_where_the_policy_asks_for_it() -> None:
    story = drained_by_surge("{approval: Required}")
    story.run()
    seen(story, "b", ready(SERVICE))
    story.run()
    story.look_again()
    assert outcome(story.run()) == {SERVICE: "Keep a,b Moving"}
    story.source |= approval(SERVICE, "Remove")
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterDraining"}
    story.source |= cluster("a") | cluster("b", state="Draining")  # and the consent to that end is not to the next
    story.run()
    for _ in range(2):
        seen(story, "a", ready(SERVICE))
        story.run()
    assert outcome(story.run()) == {SERVICE: "Keep a,b Moving"}


def test_a_surge_is_called_off_when_its_reason_is_taken_back_before_the_copy_is_ready() -> None:
    story = drained_by_surge()
    story.run()
    story.source |= cluster("a")
    assert subjects(story.run()) == ["Relocate prod/api from a to b: take back from b"]
    assert story.run().steps == ()


def test_a_surge_whose_old_cluster_is_lost_waits_for_nothing() -> None:
    story = drained_by_surge()
    story.run()
    story.source |= cluster("a", state="Lost")
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterDraining"}


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ("", "Update records"),  # nobody has told of it since
        (f"name: {SERVICE}, phase: Running", "Update records"),
        (ready(SERVICE), "Relocate prod/api from a to b: take back from b"),
    ],
)
def test_a_copy_that_may_be_the_only_one_that_serves_is_not_taken_back(old: str, expected: str) -> None:
    story = two("{strategy: Surge, surge: {timeout: 30m, soak: 5m}}")
    seen(story, "a", ready(SERVICE))
    story.source |= cluster("a", state="Draining")
    story.run()
    later(story, minutes=10)
    seen(story, "b", ready(SERVICE))
    if old:
        seen(story, "a", old)
    story.source |= cluster("b", state="Draining")
    assert subjects(story.run()) == [expected]


def test_a_copy_that_was_not_taken_back_moves_on_from_where_it_may_not_stay() -> None:
    story = drained_by_surge("{timeout: 30m, soak: 5m}")
    story.run()
    story.source |= cluster("b", state="Draining") | cluster("c")
    for minutes in (10, 6):
        later(story, minutes=minutes)
        seen(story, "b", ready(SERVICE))
        removed = story.run()
    assert subjects(removed) == ["Relocate prod/api from a to b: remove from a"]
    seen(story, "c")
    assert subjects(story.run()) == ["Relocate prod/api from b to c: add to c"]


def test_while_a_surge_goes_on_the_old_copy_stays_as_it_is() -> None:
    story = drained_by_surge()
    story.run()
    old = story.deployment.read("clusters/a/workloads/prod/api/api.yaml")
    story.source |= rayservice("prod", "api", cpu="3")
    story.run()
    assert story.deployment.read("clusters/a/workloads/prod/api/api.yaml") == old
    assert story.deployment.read("clusters/b/workloads/prod/api/api.yaml") != old
    del story.source["workloads/prod/api.yaml"]
    story.run()
    assert story.files() == []


# remove first


def test_a_job_moves_only_through_nowhere_and_only_when_two_snapshots_show_it_gone() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    deployed = story.deployment.read("clusters/a/workloads/jobs/train/train.yaml")
    story.source |= cluster("a", state="Draining")
    left = story.run()
    assert outcome(left) == {JOB: "Relocate  ClusterDraining"}
    assert subjects(left) == ["Relocate jobs/train from a to b: remove from a"]
    assert story.files() == []
    assert story.deployment.read("moving/jobs/train/train.yaml") == deployed
    assert states(story, JOB) == {"a": "Removing", "b": "Adding"}
    for shown in ([f"name: {JOB}, phase: Running"], [], [f"name: {JOB}, phase: Running"], []):
        later(story, minutes=1)
        seen(story, "a", *shown)
        story.run()
        assert story.files() == []
    later(story, minutes=1)
    seen(story, "a")
    arrived = story.run()
    assert subjects(arrived) == ["Relocate jobs/train from a to b: add to b"]
    assert story.files() == ["clusters/b/workloads/jobs/train/train.yaml"]
    assert story.deployment.read("clusters/b/workloads/jobs/train/train.yaml") == deployed
    assert story.files("moving") == []
    assert states(story, JOB) == {"b": "Placed"}


@pytest.mark.parametrize("looks_again", [False, True])
@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("Lost", "and may run on a still: a is lost, or gone from the fleet"),
        ("Draining", "now that it is gone from a: a is draining"),
    ],
)
def test_a_job_is_said_to_be_gone_only_where_that_was_seen(state: str, said: str, looks_again: bool) -> None:
    """It leaves a cluster that drains, which is then lost or tells that it is gone; the cluster that it was to go to may not do by then."""
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    story.source |= cluster("a", state="Draining")
    story.run()
    story.source |= cluster("a", state=state)
    for _ in range(2):
        later(story, minutes=1)
        if looks_again:
            story.source |= cluster("b", state="Draining") | cluster("c")
            seen(story, "c")
        if state != "Lost":
            seen(story, "a")
        arrived = story.run()
        if story.files():
            break
    name = "c" if looks_again else "b"
    assert story.files() == [f"clusters/{name}/workloads/jobs/train/train.yaml"]
    text = arrived.steps[0].message
    assert text.partition("\n\n")[2].startswith(f"Comes to {name}, {said}")
    code = "ClusterLost" if state == "Lost" else "ClusterDraining"
    assert f"Gitplacer-Reason: {code}\n" in text


def test_the_room_of_a_job_between_two_clusters_is_sold_to_nobody() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train", workers=4))
    story.source |= cluster("a", state="Draining")
    story.run()
    story.source |= rayjob("jobs", "other", workers=4)
    assert outcome(story.run())["jobs/other"] == "Wait  NoClusterFits"


def test_what_is_between_two_clusters_keeps_its_room_also_while_it_cannot_be_read() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train", workers=4))
    story.source |= cluster("a", state="Draining")
    story.run()
    story.source |= rayjob("jobs", "other", workers=4) | {"workloads/jobs/train.yaml": "kind: ["}
    assert outcome(story.run())["jobs/other"] == "Wait  NoClusterFits"


def test_a_job_between_two_clusters_whose_new_one_drains_looks_for_another() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    story.source |= cluster("a", state="Draining")
    story.run()
    story.source |= cluster("b", state="Draining") | cluster("c")
    seen(story, "c")
    story.run()
    assert states(story, JOB) == {"a": "Removing", "c": "Adding"}
    for _ in range(2):
        later(story, minutes=1)
        seen(story, "a")
        story.run()
    assert story.files() == ["clusters/c/workloads/jobs/train/train.yaml"]


def test_a_job_that_becomes_another_between_two_clusters_is_still_awaited_to_be_gone() -> None:
    """What was there is what is to be gone; what comes instead begins where it arrives."""
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    story.source |= cluster("a", state="Draining")
    story.run()
    pod = "{restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}"
    job = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: train}}\nspec: {{template: {{spec: {pod}}}}}\n"
    story.source["workloads/jobs/train.yaml"] = job
    story.run()
    assert story.run().steps == ()
    for _ in range(2):
        later(story, minutes=1)
        seen(story, "a")
        story.run()
    assert story.files() == ["clusters/b/workloads/jobs/train/train.yaml"]
    assert b"kind: Job" in story.deployment.read(story.files()[0])
    assert states(story, JOB) == {"b": "Placed"}
    assert story.run().steps == ()


def test_a_job_that_is_removed_between_two_clusters_leaves_nothing_behind() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    story.source |= cluster("a", state="Draining")
    story.run()
    del story.source["workloads/jobs/train.yaml"]
    story.run()
    assert story.files() == story.files("moving") == story.files("placements") == []


def test_a_job_on_a_cluster_that_is_said_to_be_lost_starts_elsewhere_at_once_if_its_policy_says_so() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    story.source |= cluster("a", state="Lost")
    assert outcome(story.run()) == {JOB: "Relocate b ClusterLost"}


def test_what_somebody_else_keeps_between_the_clusters_is_not_written_over() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    story.deployment = story.deployment.apply(Changes({"moving/jobs/train/train.yaml": b"mine: true\n"}))
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {JOB: "Hold a ForeignChange"}
    assert story.deployment.read("moving/jobs/train/train.yaml") == b"mine: true\n"


def test_a_copy_on_each_cluster_goes_when_another_has_been_ready_for_long_enough() -> None:
    relocation = "{strategy: Surge, surge: {soak: 10m, approval: Required}}"
    rule = policy(
        "p",
        f"select: {{}}\nclusters: {{matchLabels: {{use: serving}}}}\nplacement: {{copies: All}}\nrelocation: {relocation}",
    )
    story = Story.of(cluster("old", labels="{use: serving}"), rule, rayservice("prod", "api"))
    seen(story, "old")
    story.run()
    story.source |= cluster("new", labels="{use: serving}", kubernetesVersion='"1.31"')
    seen(story, "new")
    assert outcome(story.run()) == {SERVICE: "Place new,old Fits"}
    story.source |= cluster("old")
    for minutes, shown in ((1, f"name: {SERVICE}, phase: Running"), (1, ready(SERVICE)), (20, ready(SERVICE))):
        later(story, minutes=minutes)
        seen(story, "new", shown)
        assert outcome(story.run())[SERVICE].split(" ")[1] == "new,old"
    story.source |= approval(SERVICE, "Remove")
    assert outcome(story.run()) == {SERVICE: "Relocate new NotEligible"}
    assert story.files() == ["clusters/new/workloads/prod/api/api.yaml"]


# finished jobs


def finished_job(relocation: str = "{}") -> Story:
    story = two(relocation, rayjob("jobs", "train"))
    succeed(story, JOB)
    return story


def test_a_job_is_finished_for_good_when_two_snapshots_say_so() -> None:
    story = finished_job()
    assert record(story, JOB)["finished"]
    seen(story, "a")  # it has deleted itself
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {JOB: "Remove  Finished"}
    assert story.files() == []
    assert story.run().steps == ()
    assert outcome(story.run()) == {JOB: "Keep  Finished"}  # and never starts again


def test_a_finished_job_that_shuts_down_holds_no_room() -> None:
    story = finished_job()
    shuts = story.source["workloads/jobs/train.yaml"].replace("spec:\n", "spec:\n  shutdownAfterJobFinishes: true\n", 1)
    story = two("{}", {"workloads/jobs/train.yaml": shuts})
    succeed(story, JOB)
    seen(story, "a")
    story.source |= rayjob("jobs", "other", workers=4) | cluster("b", state="Cordoned")
    assert outcome(story.run())["jobs/other"] == "Place a Fits"


def test_the_files_of_finished_jobs_go_where_the_policy_says_so() -> None:
    assert finished_job("{finishedJobs: Keep}").files() == ["clusters/a/workloads/jobs/train/train.yaml"]
    assert finished_job("{finishedJobs: Remove}").files() == []


def test_a_job_that_one_snapshot_shows_ended_and_the_next_one_running_goes_on() -> None:
    story = two("{}", rayjob("jobs", "train"))
    for phase in ("Failed", "Running", "Failed"):
        later(story, minutes=1)
        seen(story, "a", f"name: {JOB}, phase: {phase}")
        story.run()
        assert "finished" not in record(story, JOB)


def test_a_job_that_joins_one_that_has_ended_is_held_and_named() -> None:
    together = policy("p", "select: {}\ngroupBy: {directory: true}\nrelocation: {finishedJobs: Remove}")
    story = Story.of(cluster("a"), together, rayjob("jobs", "train"))
    seen(story, "a")
    story.run()
    succeed(story, "jobs/jobs")
    story.source |= rayjob("jobs", "next")
    done = story.run()
    assert outcome(done) == {"jobs/jobs": "Hold  JoinsFinished"}
    assert decisions(done)["jobs/jobs"].blocked_by == ("RayJob jobs/next",)
    del story.source["workloads/jobs/next.yaml"]
    assert outcome(story.run()) == {"jobs/jobs": "Keep  Finished"}


# pending pods


PENDING_SINCE = "2026-01-02T03:10:00Z"
FULL = 'n1 16 64Gi 4|, used: {cpu: "16", memory: 64Gi, nvidia.com/gpu: "4"}'


def pending(relocation: str = "{}", minutes: float = 20, node: str = FULL, **more: str) -> Story:
    story = two(relocation, **more)  # type: ignore[arg-type]
    later(story, minutes=minutes)
    seen(story, "a", waiting(SERVICE, PENDING_SINCE), node=node)
    seen(story, "b")
    return story


@pytest.mark.parametrize(
    ("relocation", "minutes", "node", "expected"),
    [
        ("{}", 20, FULL, "Relocate b PendingPods"),
        ("{}", 15, FULL, "Keep a Outgrown"),
        ("{pendingFor: 5m}", 15, FULL, "Relocate b PendingPods"),
        ("{when: {PendingPods: Never}}", 60, FULL, "Keep a Outgrown"),
        ("{when: {PendingPods: Manual}}", 20, FULL, "Hold a AwaitsApproval"),
        ("{}", 20, NODE, "Keep a Kept"),  # there is room, so the scheduler will find it
        ("{}", 40, NODE, "Relocate b PendingPods"),  # it has not, whatever the reason
    ],
)
def test_pods_that_wait_for_too_long_move_their_group(
    relocation: str, minutes: float, node: str, expected: str
) -> None:
    story = pending(relocation, minutes, node)
    for done in (story.run(), story.run()):  # one snapshot may be wrong, however often it is looked at
        assert decisions(done)[SERVICE].action is Action.KEEP
    story.look_again()
    assert outcome(story.run()) == {SERVICE: expected}


def test_a_snapshot_without_waiting_pods_ends_what_one_before_it_began() -> None:
    story = pending()
    story.run()
    assert "pendingAt" in str(record(story))
    told = story.capacity["a.yaml"]
    seen(story, "a", ready(SERVICE))
    story.run()
    assert "pendingAt" not in str(record(story))
    story.capacity["a.yaml"] = told
    story.look_again()
    assert decisions(story.run())[SERVICE].action is Action.KEEP
    story.look_again()
    assert outcome(story.run()) == {SERVICE: "Relocate b PendingPods"}


def test_pods_of_what_is_admitted_whatever_the_room_may_wait() -> None:
    assert outcome(pending(placement="{admission: Immediate}").run()) == {SERVICE: "Keep a Kept"}


def test_the_clock_stops_while_machines_come() -> None:
    story = pending()
    coming = (
        'nodeGroups: [{name: gpu, max: 5, count: 2, allocatable: {cpu: "16", memory: 64Gi, nvidia.com/gpu: "4"}}]\n'
    )
    story.source |= cluster("a", autoscaler="{type: ClusterAutoscaler}")
    story.capacity["a.yaml"] += coming
    story.run()
    story.look_again()
    assert outcome(story.plan()) == {SERVICE: "Keep a Kept"}
    story.capacity["a.yaml"] = story.capacity["a.yaml"].replace("count: 2", "count: 0")
    assert outcome(story.plan()) == {SERVICE: "Relocate b PendingPods"}


def test_a_group_that_left_for_want_of_room_does_not_come_back_by_itself_within_a_day() -> None:
    story = pending()
    story.run()
    story.look_again()
    assert outcome(story.run()) == {SERVICE: "Relocate b PendingPods"}
    later(story, hours=2)
    seen(story, "a")
    since = f"{story.now - timedelta(minutes=30):%Y-%m-%dT%H:%M:%SZ}"
    seen(story, "b", waiting(SERVICE, since), node=FULL)
    story.run()
    story.look_again()
    assert outcome(story.run()) == {SERVICE: "Hold b NowhereToGo"}
    later(story, hours=23)
    seen(story, "a")
    seen(story, "b", waiting(SERVICE, since), node=FULL)
    assert outcome(story.run()) == {SERVICE: "Relocate a PendingPods"}


def test_the_cooldown_holds_back_what_is_no_evacuation() -> None:
    story = pending("{cooldown: 1h}")
    story.run()
    story.look_again()
    story.run()
    later(story, minutes=40)
    story.source |= cluster("c")
    seen(story, "c")
    since = f"{story.now - timedelta(minutes=30):%Y-%m-%dT%H:%M:%SZ}"
    seen(story, "b", waiting(SERVICE, since), node=FULL)
    story.run()
    story.look_again()
    assert outcome(story.plan()) == {SERVICE: "Hold b CoolingDown"}
    story.source |= cluster("b", state="Draining")
    assert outcome(story.plan()) == {SERVICE: "Relocate c ClusterDraining"}


# preference

ORDERED = "{type: Ordered, order: [{names: [b]}, {names: [a]}]}"


def spilled(mode: str, *, node: str = NODE) -> Story:
    """A service on its second choice, because the first was cordoned."""
    rule = policy("p", f"select: {{}}\nplacement: {ORDERED}\nrelocation: {{when: {{PreferredAvailable: {mode}}}}}")
    story = Story.of(cluster("a"), cluster("b", state="Cordoned"), rule, rayservice("prod", "api"))
    seen(story, "a")
    seen(story, "b", node=node)
    story.run()
    story.source |= cluster("b")
    return story


@pytest.mark.parametrize(
    ("mode", "node", "expected"),
    [
        ("Automatic", NODE, "Relocate b PreferredAvailable"),
        ("Manual", NODE, "Hold a AwaitsApproval"),
        ("Never", NODE, "Keep a Kept"),
        ("Automatic", FULL, "Keep a Kept"),
    ],
)
def test_a_cluster_that_is_liked_better_takes_a_group_back(mode: str, node: str, expected: str) -> None:
    done = spilled(mode, node=node).run()
    assert outcome(done) == {SERVICE: expected}
    assert decisions(done)[SERVICE].proposed == (("b",) if "Await" in expected else ())


def test_a_group_that_would_be_sent_back_at_once_is_not_taken_by_a_cluster_that_is_liked_better() -> None:
    story = spilled("Automatic")
    story.source |= approval(SERVICE, "Return")
    assert outcome(story.run()) == {SERVICE: "Keep a Kept"}
    del story.source["approvals/yes.yaml"]
    assert outcome(story.run()) == {SERVICE: "Relocate b PreferredAvailable"}


def test_over_a_day_of_noise_a_group_moves_at_most_once_to_each_cluster() -> None:
    story = spilled("Automatic")
    moved = 0
    for number in range(24 * 12):
        later(story, minutes=4)
        where = next(iter(states(story)))
        since = f"{story.now - timedelta(minutes=40):%Y-%m-%dT%H:%M:%SZ}"
        full = number % 7 in (3, 4, 5)
        for name in "ab":
            shown = [waiting(SERVICE, since) if full else ready(SERVICE)] if name == where else []
            seen(story, name, *shown, node=FULL if full else NODE)
        moved += outcome(story.run())[SERVICE].startswith("Relocate")
    assert moved <= 2


# lost clusters


def silent(lost_after: str = "1h") -> Story:
    story = two("{}", rayservice("prod", "api"), fleet(f"{{lostAfter: {lost_after}}}"))
    later(story, hours=2)
    seen(story, "b")
    return story


def test_a_cluster_that_is_silent_for_too_long_is_lost() -> None:
    done = silent().run()
    assert outcome(done) == {SERVICE: "Relocate b ClusterLost"}
    assert "may run there still" in done.steps[0].message
    said = status_text(done.view)
    assert re.search(r"(?m)^a +Active, silent: lost ", said) and re.search(r"(?m)^b +Active ", said)
    for told in (status_json(done.view)["clusters"], plan_document(done.view)["fleet"]):
        assert {(c["cluster"], c["state"], c["silentSince"]) for c in told} == {
            ("a", "Active", "2026-01-02T03:05:00Z"), ("b", "Active", None),
        }  # fmt: skip


@pytest.mark.parametrize("max_age", [{}, {"maxAge": "15m"}])
def test_a_cluster_that_is_silent_refuses_others_as_lost_and_not_as_stale(max_age: dict[str, str]) -> None:
    story = silent()
    story.source |= rayservice("prod", "web") | cluster("a", **max_age)
    view = story.plan().view
    candidates = {c.cluster: c for c in view.decision("prod/web").candidates}
    assert verdict_text(candidates["a"], view.decision("prod/web"), view) == (
        "is silent since 2026-01-02T03:05:00Z, and counts as lost (fleet.yaml:1)"
    )


def test_silence_of_most_clusters_is_not_believed() -> None:
    story = silent()
    story.source |= cluster("c")
    del story.capacity["b.yaml"]
    assert outcome(story.run()) == {SERVICE: "Keep a Kept"}


def test_nobody_is_lost_by_silence_where_nobody_asked_for_that() -> None:
    story = two()
    later(story, days=9)
    seen(story, "b")
    assert outcome(story.run()) == {SERVICE: "Keep a Kept"}


def test_a_job_on_a_silent_cluster_stays_there_until_somebody_calls_the_cluster_lost() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"), fleet("{lostAfter: 1h}"))
    files = story.files()
    for _ in range(3):
        later(story, hours=2)
        seen(story, "b")
        assert outcome(story.run()) == {JOB: "Hold a MayHaveStarted"}
        assert story.files() == files
    heard, lost = deepcopy(story), deepcopy(story)
    seen(heard, "a", f"name: {JOB}, phase: Running")
    assert outcome(heard.run()) == {JOB: "Keep a Kept"}
    lost.source |= cluster("a", state="Lost")
    assert outcome(lost.run()) == {JOB: "Relocate b ClusterLost"}


def test_an_approval_does_not_take_a_job_from_a_silent_cluster() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"), fleet("{lostAfter: 1h}"))
    later(story, hours=2)
    story.source |= approval(JOB, "Move", to="b")
    seen(story, "b")
    assert outcome(story.run()) == {JOB: "Hold a MayHaveStarted"}


def test_nothing_new_goes_to_a_cluster_that_comes_back_until_its_leftover_is_gone() -> None:
    story = two()
    story.source |= cluster("a", state="Lost")
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterLost"}
    story.source |= cluster("a") | cluster("b", state="Cordoned") | rayservice("prod", "web")
    for epoch, groups in ((0, [ready(SERVICE)]), (0, []), (None, [ready(SERVICE)])):
        later(story, minutes=1)
        seen(story, "a", *groups, epoch=epoch)
        done = story.run()
        assert outcome(done)["prod/web"] == "Wait  NoEligibleCluster"
    later(story, minutes=1)
    seen(story, "a")
    assert outcome(story.run())["prod/web"] == "Place a Fits"


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize(
    ("strategy", "lost", "now_on"),
    [
        ("strategy: Surge", "a", "b"),  # there is nothing to protect any more: the old copy's files go
        ("strategy: Surge", "b", "a"),  # the new copy is taken back
        ("strategy: Surge", "a b", "c"),
        ("runningJobs: Restart", "a", "b"),  # its files went before, and it was not seen to be gone
        ("runningJobs: Restart", "a b", "c"),
    ],
)
def test_what_runs_on_a_cluster_that_is_lost_in_the_middle_of_a_relocation_is_remembered(
    strategy: str, lost: str, now_on: str, applied: bool
) -> None:
    app, group = (rayservice("prod", "api"), SERVICE) if "Surge" in strategy else (rayjob("jobs", "train"), JOB)
    story = two(f"{{{strategy}}}", app)
    story.source |= cluster("a", state="Draining")
    story.run()
    later(story, minutes=10)
    for name in lost.split():
        story.source |= cluster(name, state="Lost")
    story.source |= cluster("c", state="Active" if now_on == "c" else "Cordoned")
    seen(story, "c")
    story.run()
    assert states(story, group) == {now_on: "Placed"}
    assert story.run().steps == ()
    back = lost.split()[0]
    story.source |= {path: text for name in "abc" for path, text in cluster(name, state="Cordoned").items()}
    story.source |= cluster(back) | rayservice("prod", "web")

    def tells(*groups: str, minutes: int, epoch: int | None = None) -> str:
        later(story, minutes=minutes)
        seen(story, back, *groups, epoch=epoch)
        if not applied:
            story.capacity[f"{back}.yaml"] = re.sub("applied: .*\n", "", story.capacity[f"{back}.yaml"])
        return outcome(story.run())["prod/web"]

    assert tells(epoch=0, minutes=1) == "Wait  NoEligibleCluster"  # it is back, and has not looked at Git yet
    assert tells(ready(group), minutes=9) == "Wait  NoEligibleCluster"
    assert tells(minutes=1) == f"Place {back} Fits"


def test_what_a_cluster_may_run_still_is_forgotten_with_its_group_in_the_same_pass() -> None:
    story = two()
    story.source |= cluster("a", state="Lost")
    story.run()
    story.source |= cluster("a") | cluster("b", state="Cordoned") | rayservice("prod", "web")
    seen(story, "a", ready(SERVICE), epoch=0)
    for path in rayservice("prod", "api"):
        del story.source[path]
    assert outcome(story.run()) == {SERVICE: "Remove  SourceRemoved", "prod/web": "Place a Fits"}
    assert story.run().steps == ()


def test_whose_cluster_is_lost_is_expected_to_look_for_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(plan_module, "expect", told.append)
    quiet, gone = silent(), two("{}", rayservice("prod", "api"), rayservice("prod", "web"))
    quiet.run()
    gone.source |= cluster("a", state="Lost")
    gone.run()
    gone.source |= rayservice("prod", "new")
    gone.run()
    # In the first run of each story all were new; then one who fell silent, two who were lost, and one who is new beside them.
    assert told == [1, 2, 1, 2, 1]


# guards


def crowd(guards: str, count: int = 4) -> Story:
    services = [rayservice("prod", f"s{number}", workers=0, cpu="1") for number in range(count)]
    story = two("{cooldown: 0s}", *services, fleet(f"{{guards: {guards}}}"))
    story.source |= {
        "policies/p.yaml": story.source["policies/p.yaml"].replace("select: {}", "select: {}\n  clusters: {names: [b]}")
    }
    return story


def moved(done: Hydration) -> int:
    return sum(value.startswith("Relocate") for value in outcome(done).values())


def test_a_guard_throttles_moves_over_time() -> None:
    story = crowd("{relocations: {max: 2, per: 1h}}")
    done = story.run()
    assert moved(done) == 2
    assert outcome(done)["prod/s3"] == "Hold a GuardReached"
    assert moved(story.run()) == 0
    later(story, minutes=61)
    assert moved(story.run()) == 2


def test_a_move_counts_until_so_long_after_it_and_once() -> None:
    story = crowd("{relocations: {max: 1, per: 1h}}")
    assert moved(story.run()) == 1
    later(story, minutes=58)
    assert moved(story.run()) == 0
    assert moved(story.run()) == 1  # an hour later to the second
    story.source |= fleet("{guards: {relocations: {max: 2, per: 1h}}}")
    assert moved(story.run()) == 1


def test_a_guard_that_allows_counts_and_stops_nobody() -> None:
    assert moved(crowd("{relocations: {max: 0, exceed: Allow}}").run()) == 4


def test_a_group_that_begins_to_move_again_in_the_same_pass_counts_once() -> None:
    tally = Tally(crowd("{relocations: {max: 2}}").plan().view.snapshot)
    for group, stopped in (("s0", None), ("s0", None), ("s1", 2)):
        tally.begin(f"prod/{group}", Reason.NOT_ELIGIBLE)
        guard = tally.reached("prod/s2", Reason.NOT_ELIGIBLE)
        assert (guard.max if guard is not None else None) == stopped
    assert tally.reached("prod/s0", Reason.NOT_ELIGIBLE) is None


def test_a_guard_that_holds_gives_way_to_consent() -> None:
    story = crowd("{relocations: {max: 1, exceed: Hold}}")
    assert moved(story.run()) == 1
    exceed(story, "prod/s2")
    assert moved(story.run()) == 1
    assert states(story, "prod/s2") == {"b": "Placed"}


def test_evacuations_are_not_counted_among_other_moves_and_are_not_stopped_unless_asked_for() -> None:
    story = crowd("{relocations: {max: 0}}")
    story.source["policies/p.yaml"] = policy("p", "select: {}")["policies/p.yaml"]
    story.source |= cluster("a", state="Draining")
    assert moved(story.plan()) == 4
    story.source |= fleet("{guards: {evacuations: {max: 1, exceed: Throttle}}}")
    assert moved(story.plan()) == 1


def test_the_moves_of_a_group_that_is_removed_do_not_count_from_the_pass_that_removes_it() -> None:
    story = crowd("{relocations: {max: 1}}", count=2)
    assert moved(story.run()) == 1
    del story.source["workloads/prod/s0.yaml"]
    done = story.run()
    assert outcome(done) == {"prod/s0": "Remove  SourceRemoved", "prod/s1": "Relocate b NotEligible"}


def test_evacuation_goes_by_priority_as_far_as_there_is_room() -> None:
    high = policy("high", "select: {namespaces: [high]}\npriority: 10")
    low = policy("low", "select: {namespaces: [low]}")
    story = Story.of(cluster("a"), high, low, rayservice("low", "one"), rayservice("high", "two"))
    seen(story, "a")
    story.run()
    story.source |= cluster("b")
    seen(story, "b", node="n1 16 64Gi 1")
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {"high/two": "Relocate b ClusterDraining", "low/one": "Hold a NowhereToGo"}


WEEKEND = '{guards: {freeze: [{schedule: "0 18 * * 5", duration: 62h, timeZone: Europe/Berlin, allow: [ClusterLost]}]}}'


@pytest.mark.parametrize(
    ("at", "state", "expected"),
    [
        ("2026-01-02T16:59:00Z", "Draining", "Relocate b ClusterDraining"),  # Friday 17:59 in Berlin
        ("2026-01-02T17:00:00Z", "Draining", "Hold a Frozen"),
        ("2026-01-05T06:59:00Z", "Draining", "Hold a Frozen"),
        ("2026-01-05T07:00:00Z", "Draining", "Relocate b ClusterDraining"),
        ("2026-07-03T16:00:00Z", "Draining", "Hold a Frozen"),  # 18:00 in summer
        ("2026-01-03T12:00:00Z", "Lost", "Relocate b ClusterLost"),
    ],
)
def test_nothing_begins_to_move_while_the_fleet_is_frozen(at: str, state: str, expected: str) -> None:
    story = two()
    story.source |= fleet(WEEKEND) | cluster("a", state=state)
    story.now = datetime.fromisoformat(at)
    assert outcome(story.run()) == {SERVICE: expected}


@pytest.mark.parametrize("state", ["Active", "Draining", "Lost"])
@pytest.mark.parametrize("when", ["{}", "{when: {ClusterDraining: Never, ClusterLost: Never}}"])
def test_an_approval_with_a_destination_moves_a_group_whatever_the_reason_and_whenever(state: str, when: str) -> None:
    story = two(when)
    story.source |= fleet(WEEKEND.replace("ClusterLost", "")) | cluster("a", state=state) | cluster("c")
    seen(story, "c")
    story.now = datetime.fromisoformat("2026-01-03T12:00:00Z")
    assert not outcome(story.plan())[SERVICE].startswith("Relocate")
    story.source |= approval(SERVICE, "Move", to="c")
    assert outcome(story.run())[SERVICE].startswith("Relocate c ")


def test_what_has_begun_before_a_freeze_goes_on_and_consent_thaws() -> None:
    story = drained_by_surge()
    story.run()
    story.source |= fleet(WEEKEND)
    story.now = datetime.fromisoformat("2026-01-02T17:20:00Z")
    seen(story, "b", ready(SERVICE))
    story.run()
    story.look_again()
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterDraining"}
    story.source |= cluster("a") | cluster("b", state="Draining")
    assert outcome(story.run()) == {SERVICE: "Hold b Frozen"}
    exceed(story, SERVICE)
    assert outcome(story.run()) == {SERVICE: "Relocate a,b ClusterDraining"}


@pytest.mark.parametrize(
    ("freeze", "said"),
    [
        ('{schedule: "0 25 * * *", duration: 1h}', "the schedule cannot be read: bad hour"),
        ('{schedule: "0 1 * * *", duration: 1h, timeZone: Europe/Berlim}', "there is no time zone Europe/Berlim"),
    ],
)
def test_a_time_that_never_comes_is_named_with_its_line(freeze: str, said: str) -> None:
    story = two()
    story.source |= fleet(f"{{guards: {{freeze: [{freeze}]}}}}")
    with pytest.raises(Rejected) as caught:
        story.run()
    (problem,) = caught.value.problems
    assert (problem.location.file, problem.location.line) == ("fleet.yaml", 4)
    assert said in problem.message


# consent


def test_an_approval_sends_a_group_once() -> None:
    story = two()
    story.source |= approval(SERVICE, "Move", "b")
    assert outcome(story.run()) == {SERVICE: "Relocate b MoveApproved"}
    later(story, hours=1)
    story.source |= cluster("b", state="Draining")
    assert outcome(story.run()) == {SERVICE: "Relocate a ClusterDraining"}
    story.source |= cluster("b")
    assert story.run().steps == ()


@pytest.mark.parametrize("strategy", ["Recreate", "Surge", "RemoveFirst"])
def test_a_new_group_goes_first_where_an_approval_sends_it(strategy: str) -> None:
    story = two(f"{{strategy: {strategy}}}")
    story.source |= rayservice("prod", "web") | approval("prod/web", "Move", "b")
    assert outcome(story.run())["prod/web"] == "Place b Fits"
    assert story.files("clusters/b") == ["clusters/b/workloads/prod/web/web.yaml"]
    assert story.run().steps == ()


def test_an_approval_to_return_sends_a_group_back() -> None:
    story = two()
    story.source |= cluster("a", state="Draining")
    story.run()
    story.source |= cluster("a") | approval(SERVICE, "Return")
    assert outcome(story.run()) == {SERVICE: "Relocate a MoveApproved"}
    assert story.run().steps == ()


def test_an_approval_that_cannot_be_carried_out_is_named_and_nothing_moves() -> None:
    story = two()
    story.source |= approval(SERVICE, "Move", "b") | cluster("b", state="Cordoned")
    done = story.run()
    assert done.steps == ()
    (problem,) = [p for p in done.problems if p.code == "ApprovalImpossible"]
    assert str(problem.location) == "approvals/yes.yaml:4:48"
    assert problem.message == "prod/api cannot go to b: is cordoned and takes nothing new"


def test_it_is_the_approval_that_cannot_be_carried_out_that_is_named_and_not_another_about_the_group() -> None:
    story = two("{when: {ClusterDraining: Manual}}")
    agreed = APPROVAL.format(SERVICE, "Move", "").replace("name: yes", "name: agreed")
    story.source |= cluster("a", state="Draining") | {"approvals/agreed.yaml": agreed}
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterDraining"}
    story.source |= cluster("a", state="Cordoned") | approval(SERVICE, "Move", "a")
    done = story.run()
    assert [str(p.location) for p in done.problems if p.code == "ApprovalImpossible"] == ["approvals/yes.yaml:4:48"]


def test_what_is_proposed_moves_when_somebody_agrees() -> None:
    story = two("{when: {ClusterDraining: Manual}}")
    story.source |= cluster("a", state="Draining")
    done = story.run()
    assert outcome(done) == {SERVICE: "Hold a AwaitsApproval"}
    assert decisions(done)[SERVICE].proposed == ("b",)
    (proposal,) = done.proposals
    assert proposal.message.splitlines()[0] == "Relocate prod/api from a to b"
    assert "clusters/a/workloads/prod/api/api.yaml" in proposal.changes.removed
    assert "clusters/b/workloads/prod/api/api.yaml" in proposal.changes.written
    assert story.files() == ["clusters/a/workloads/prod/api/api.yaml"]
    story.source |= approval(SERVICE, "Move")
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterDraining"}


# platform objects

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: op}\ndata: {}\n"


def platform() -> Story:
    files = {f"platform/op/{name}.yaml": CONFIG.replace("NAME", name) for name in ("one", "two")}
    everywhere = policy("p", "select: {}\nclusters: {matchLabels: {at: base}}\nplacement: {copies: All}")
    story = Story.of(cluster("a", labels="{at: base}"), cluster("b", labels="{at: base}"), everywhere, files)
    story.run()
    return story


@pytest.mark.parametrize(
    ("drop", "left"),
    [
        ({"clusters/b.yaml": cluster("b")["clusters/b.yaml"]}, ["a/platform/op/one", "a/platform/op/two"]),
        ({"platform/op/two.yaml": ""}, ["a/platform/op/one", "b/platform/op/one"]),
        ({"platform/op/one.yaml": "", "platform/op/two.yaml": ""}, []),
    ],
)
def test_platform_objects_are_removed_only_with_consent_and_then_once(drop: dict[str, str], left: list[str]) -> None:
    story = platform()
    story.source |= {path: text for path, text in drop.items() if text}
    for path in (path for path, text in drop.items() if not text):
        del story.source[path]
    story.run()
    assert len(story.files()) == 4
    story.source |= approval("op/op", "Remove")
    story.run()
    assert story.files() == [f"clusters/{path}.yaml" for path in left]
    story.source |= cluster("b", labels="{at: base}") | {
        f"platform/op/{n}.yaml": CONFIG.replace("NAME", n) for n in ("one", "two")
    }
    story.run()
    assert len(story.files()) == 4
    if left:
        story.source |= cluster("b")
        story.run()
        assert len(story.files()) == 4  # it has counted


# one pass goes as far as what is known takes it


def drained_of_two_copies(surge: str = "{}") -> Story:
    """A service on both clusters, seen ready there, when one begins to drain."""
    story = two(f"{{strategy: Surge, surge: {surge}}}", placement="{copies: All}")
    for name in "ab":
        seen(story, name, ready(SERVICE))
    story.source |= cluster("a", state="Draining")
    return story


def test_a_copy_goes_where_two_snapshots_have_shown_the_others_ready() -> None:
    story = drained_of_two_copies()
    assert subjects(story.run()) == ["Update records"]
    story.look_again()
    done = story.run()
    assert subjects(done) == ["Relocate prod/api from a to b: remove from a"]
    story.now -= timedelta(minutes=1)
    assert story.run().steps == ()


def test_what_is_known_already_of_other_copies_is_remembered_in_the_pass_that_begins() -> None:
    story = drained_of_two_copies("{soak: 10m}")
    story.run()
    move = record(story)["move"]
    assert isinstance(move, dict)
    assert move["readyAt"] == "2026-01-02T03:06:00Z"
    story.now -= timedelta(minutes=1)
    assert story.run().steps == ()


def test_a_job_that_arrives_and_is_sent_on_in_one_pass_has_moved_twice() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"), cluster("c"))
    story.source |= cluster("a", state="Draining") | cluster("c", state="Cordoned")
    story.run()
    for _ in range(2):
        later(story, minutes=1)
        seen(story, "a")
        if _ == 0:
            story.run()
    seen(story, "b")
    seen(story, "c")
    story.source |= cluster("c") | approval(JOB, "Move", "c")
    story.run()
    assert states(story, JOB) == {"b": "Removing", "c": "Adding"}
    moves = record(story, JOB)["moves"]
    assert isinstance(moves, list)
    assert [(moved["from"], moved["to"]) for moved in moves] == [(["a"], ["b"]), (["b"], ["c"])]
    story.now -= timedelta(minutes=1)
    assert story.run().steps == ()  # what was so at the time of the pass does not tell of the time after


def test_a_copy_that_is_taken_back_in_the_pass_that_places_another_is_remembered() -> None:
    story = two("{strategy: Surge}", placement="{copies: All}")
    story.source |= cluster("a", state="Draining") | cluster("c")
    seen(story, "c")
    assert subjects(story.run())[0] == "Relocate prod/api from a to c: add to c"
    story.source |= cluster("c", state="Draining") | cluster("d")
    seen(story, "d")
    story.run()
    assert states(story) == {"a": "Placed", "b": "Placed", "d": "Placed"}
    assert record(story)["holdUntil"] == "2026-01-02T03:37:00Z"
    moves = record(story)["moves"]
    assert isinstance(moves, list)
    assert [moved.get("aborted") for moved in moves] == [True]
    story.now -= timedelta(minutes=1)
    assert story.run().steps == ()


# jobs that have ended, by one snapshot


def test_a_job_that_one_snapshot_shows_ended_is_not_started_elsewhere() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    seen(story, "a", f"name: {JOB}, phase: Succeeded")
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {JOB: "Hold a MayHaveStarted"}
    later(story, minutes=1)
    seen(story, "a", f"name: {JOB}, phase: Succeeded")
    assert outcome(story.run()) == {JOB: "Remove  Finished"}


def test_a_job_that_one_snapshot_shows_ended_on_a_cluster_that_is_gone_has_ended() -> None:
    story = two("{runningJobs: Restart}", rayjob("jobs", "train"))
    seen(story, "a", f"name: {JOB}, phase: Failed")
    story.source |= cluster("a", state="Lost")
    assert outcome(story.run()) == {JOB: "Remove  Finished"}
    assert record(story, JOB)["finished"] == {"phase": "Failed", "at": "2026-01-02T03:06:00Z"}


def test_what_is_known_of_a_job_that_has_nowhere_to_go_is_not_forgotten_and_learnt_again() -> None:
    story = two("{}", rayjob("jobs", "train"))
    story.source |= cluster("a", state="Draining") | cluster("b", state="Cordoned")
    said = []
    for _ in range(5):
        later(story, minutes=1)
        seen(story, "a", f"name: {JOB}, phase: Pending")
        done = story.run()
        said.append((outcome(done)[JOB], len(done.steps)))
    assert said == [
        ("Hold a MayHaveStarted", 1),
        *[("Hold a NowhereToGo", 0)] * 4,
    ]


@pytest.mark.parametrize(
    ("copies", "third", "states_now", "said"),
    [
        (2, "Active", "Draining Draining",
         "moves from a to c: a is draining; it stays on b: its cluster is draining, and no other takes it; c: fits"),
        (1, "Cordoned", "Draining Draining",
         "leaves a: a is draining; it stays on b: its cluster is draining, and no other takes it"),
        (1, "Active", "Draining Draining", "moves from a and b to c: a is draining; b is draining; c: fits"),
        (1, "Active", "Draining Lost",
         "moves from a and b to c: a is draining; b is lost, or gone from the fleet; c: fits"),
        (2, "Cordoned", "Draining Draining", "is held on a and b: its cluster is draining, and no other takes it"),
        (2, "Active", "Draining Active", "moves from a to c: a is draining; c: fits"),
    ],
)  # fmt: skip
def test_of_each_copy_that_should_leave_it_is_told_why_it_does_or_stays(
    copies: int, third: str, states_now: str, said: str
) -> None:
    story = two("{strategy: Recreate}", placement="{copies: 2}")
    for name, state in zip("abc", [*states_now.split(), third], strict=True):
        story.source |= cluster(name, state=state)
    seen(story, "c")
    story.source["policies/p.yaml"] = story.source["policies/p.yaml"].replace("copies: 2", f"copies: {copies}")
    view = story.plan().view
    assert sentence(view.decision(SERVICE), view) == said


def test_of_too_many_copies_the_one_stays_that_somebody_wants_there() -> None:
    """Otherwise it would go and be brought back: by RemoveFirst, nothing would be left in between."""
    story = two("{strategy: RemoveFirst}", placement="{copies: 2}")
    assert states(story) == {"a": "Placed", "b": "Placed"}
    story.source["policies/p.yaml"] = story.source["policies/p.yaml"].replace("copies: 2", "copies: 1")
    story.source |= approval(SERVICE, "Move", "b")
    assert outcome(story.run()) == {SERVICE: "Remove b CopyNotWanted"}
    assert states(story) == {"b": "Placed"}
    assert story.run().steps == ()


def test_a_copy_that_is_wanted_everywhere_is_not_moved_for_its_pending_pods() -> None:
    story = two(placement="{copies: All}")
    since = f"{story.now:%Y-%m-%dT%H:%M:%SZ}"
    later(story, hours=2)
    seen(story, "a", waiting(SERVICE, since))
    seen(story, "b", ready(SERVICE))
    for _ in range(3):
        done = story.run()
        assert (outcome(done), done.steps) == ({SERVICE: "Keep a,b Kept"}, ())


def test_a_group_that_gets_another_id_while_it_moves_keeps_one_name_where_it_goes() -> None:
    story = two("{strategy: Surge}")
    story.source["policies/p.yaml"] += "  groupBy: {directory: true}\n"
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {"prod/prod": "Relocate a,b ClusterDraining"}
    files = ["clusters/a/workloads/prod/api/api.yaml", "clusters/b/workloads/prod/prod/api.yaml"]
    assert story.files() == files
    assert (story.run().steps, story.files()) == ((), files)
    seen(story, "b", ready("prod/prod"))
    story.run()
    story.look_again()
    story.run()
    assert story.files() == files[1:]


def test_who_is_sent_to_where_it_is_already_still_leaves_when_that_drains() -> None:
    story = two()
    story.source |= approval(SERVICE, "Move", "a")
    assert story.run().steps == ()
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {SERVICE: "Relocate b ClusterDraining"}


def ended(*files: dict[str, str], relocation: str = "{finishedJobs: Remove}") -> Story:
    """A job on a that has run to its end, so that its files are gone."""
    story = two(relocation, rayjob("jobs", "train"), *files)
    for _ in range(2):
        later(story, minutes=1)
        others = [] if len(story.files()) < 2 else ["name: jobs/tune, phase: Running"]
        seen(story, "a", f"name: {JOB}, phase: Succeeded", *others)
        story.run()
    assert "finished" in record(story, JOB)
    return story


def test_a_finished_job_is_not_started_again_under_another_id() -> None:
    story = ended()
    story.source["policies/p.yaml"] += "  groupBy: {directory: true}\n"
    for _ in range(2):
        assert outcome(story.run()) == {"jobs/jobs": "Keep  Finished"}
    assert story.files() == []


def test_a_finished_job_is_not_started_again_by_joining_a_group_that_runs() -> None:
    story = ended(rayjob("jobs", "tune", workers=1))
    assert story.files() == ["clusters/a/workloads/jobs/tune/tune.yaml"]
    story.source["policies/p.yaml"] += "  groupBy: {directory: true}\n"
    for _ in range(2):
        assert outcome(story.run())["jobs/jobs"] == "Hold a MayHaveStarted"
    assert story.files() == ["clusters/a/workloads/jobs/tune/tune.yaml"]


def test_of_finished_jobs_that_were_one_group_none_is_started_again() -> None:
    story = two("{finishedJobs: Remove}", rayjob("jobs", "train"), rayjob("jobs", "tune", workers=1))
    rule = story.source["policies/p.yaml"]
    story = Story.of(cluster("a"), cluster("b"), rayjob("jobs", "train"), rayjob("jobs", "tune", workers=1))
    story.source["policies/p.yaml"] = rule + "  groupBy: {directory: true}\n"
    seen(story, "a")
    story.run()
    succeed(story, "jobs/jobs")
    story.source["policies/p.yaml"] = rule
    for _ in range(2):
        assert outcome(story.run()) == {"jobs/train": "Keep  Finished", "jobs/tune": "Keep  Finished"}
    assert story.files() == []


def web(name: str, count: int, cpu: int) -> dict[str, str]:
    pod = f"{{containers: [{{name: c, image: x, resources: {{requests: {{cpu: {cpu}, memory: 1Gi}}}}}}]}}"
    text = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {count}\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n"
        f"  template: {{metadata: {{labels: {{app: {name}}}}}, spec: {pod}}}\n"
    )
    return {f"workloads/prod/{name}.yaml": text}


def test_an_edit_that_takes_luck_and_goes_on_leaves_others_the_room_that_the_next_pass_sees() -> None:
    story = Story.of(cluster("a"), policy("p", "select: {}"), web("large", 1, 4), web("small", 1, 2))
    story.capacity |= snapshot("a", "n1 4 64Gi 0", "n2 4 64Gi 0", "n3 1 64Gi 0", at=story.now)
    story.run()
    story.source |= web("small", 2, 2) | web(
        "new", 1, 1
    )  # each of the two may take a node that the large one could have
    for said in ("Update a Outgrown", "Keep a Kept"):
        done = story.run()
        assert outcome(done) == {"prod/large": "Keep a Kept", "prod/small": said, "prod/new": "Wait  TightFit"}
    assert story.run().steps == ()


def test_a_group_whose_waiting_pods_find_room_because_another_leaves_is_still_told_of() -> None:
    story = Story.of(cluster("a"), policy("p", "select: {}"), rayservice("prod", "one"), rayservice("prod", "two"))
    seen(story, "a")
    story.run()
    story.source |= cluster("b")
    later(story, minutes=60)
    one, two_ = (f"{story.now - timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}" for minutes in (40, 20))
    shown = [
        f'name: prod/{name}, phase: Pending, pods: [{{role: head, node: n1}}, {{role: worker/gpu, pendingSince: "{since}"}}]'
        for name, since in (("one", one), ("two", two_))
    ]
    seen(story, "a", *shown, node='n1 16 64Gi 4|, used: {nvidia.com/gpu: "3"}')
    seen(story, "b")
    story.run()
    story.look_again()
    assert outcome(story.run()) == {"prod/one": "Relocate b PendingPods", "prod/two": "Relocate b PendingPods"}

"""An edit of what runs: judged where it runs, before it is merged, and remembered until it is seen to be done."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.explain import sentence
from gitplacer.hydrate import Hydration
from tests.stories import FLEET, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

SERVICE = "workloads/x/app.yaml"
ONCE = "n1 5 16Gi 1"
"""Room for one copy of the service: a head with 2 cpu, a worker with 2 cpu and a GPU."""
TWICE = "n1 9 32Gi 2"
RUNS = "{role: head, node: n1, requests: {cpu: '2', memory: 2Gi}}, {role: worker/gpu, node: n1, requests: {cpu: '2', memory: 4Gi, nvidia.com/gpu: '1'}}"
PENDS = "{role: head, pendingSince: '2026-01-02T03:20:00Z'}, {role: worker/gpu, pendingSince: '2026-01-02T03:20:00Z'}"


def governed(update: str = "{}", **more: str) -> dict[str, str]:
    text = "".join(f"{key}: {value}\n" for key, value in more.items())
    return policy("p", f"select: {{}}\nupdate: {update}\n{text}")


def served(on_prem: str = ONCE, cloud: str | None = ONCE, update: str = "{}", profile: str = "", **more: str) -> Story:
    """A service that runs on on-prem, and a cluster beside it to which it may go."""
    fields = {"profile": profile} if profile else {}
    story = Story.of(
        cluster("on-prem", **fields), cluster("cloud", state="Cordoned", **fields), governed(update, **more),
        rayservice("x", "app"), capacity=snapshot("on-prem", on_prem),
    )  # fmt: skip
    assert outcome(story.run()) == {"x/app": "Place on-prem Fits"}
    story.source |= cluster("cloud", **fields)
    if cloud is not None:
        story.capacity |= snapshot("cloud", cloud)
    return story


def shows(story: Story, node: str, *pods: str, name: str = "on-prem", applied: int | None = None, **group: Any) -> None:
    """The next snapshot of a cluster, with these pods of the service."""
    fields = "".join(f", {key}: {value}" for key, value in group.items())
    text = f"groups: [{{name: x/app, phase: Running{fields}, pods: [{', '.join(pods)}]}}]\n"
    text += f"applied: {{workloads: {applied}}}\n" if applied is not None else ""
    story.capacity |= snapshot(name, node, at=story.now, more=text)


def edit(story: Story, old: str = "name: worker, image: ray,", new: str = "name: worker, image: ray:2,") -> None:
    assert old in story.source[SERVICE]
    story.source[SERVICE] = story.source[SERVICE].replace(old, new)


def said(done: Hydration, group: str = "x/app") -> str:
    return sentence(decisions(done)[group], done.view)


def record(story: Story) -> str:
    return story.deployment.read("placements/x/app.yaml").decode()


# where it does not fit (the scenario of SuperSkyRay's third post, with its variants)


def test_an_update_that_does_not_fit_twice_moves_with_its_new_manifest_in_the_same_pass() -> None:
    story = served()
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Relocate cloud UpgradeDoesNotFit"}
    assert story.files() == ["clusters/cloud/workloads/x/app/app.yaml"]
    assert b"ray:2" in story.deployment.read("clusters/cloud/workloads/x/app/app.yaml")
    assert said(done) == (
        "moves from on-prem to cloud: this edit makes KubeRay start a second Ray cluster (head + 1 worker) beside the "
        "running one on on-prem (workloads/x/app.yaml:16); there is no room for both: 0 of 1 head fit; short 2 cpu; "
        "cloud: fits"
    )
    assert story.run().steps == ()


@pytest.mark.parametrize("where", ["annotation", "policy"])
def test_an_app_that_does_not_relocate_is_updated_where_it_is_and_said_to_wait(where: str) -> None:
    story = served(update="{ifNotFit: Proceed}" if where == "policy" else "{}")
    if where == "annotation":
        edit(story, "metadata: {name: app,", "metadata: {name: app, annotations: {gitplacer.dev/relocation: Never},")
        story.run()
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeDoesNotFit"}
    assert "will not be complete until there is" in said(done)
    assert b"ray:2" in story.deployment.read("clusters/on-prem/workloads/x/app/app.yaml")
    assert story.run().steps == ()


def test_with_no_room_for_one_copy_elsewhere_the_update_goes_on_and_waits() -> None:
    story = served(cloud="n1 3 16Gi 1")
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeDoesNotFit"}
    assert "no other cluster has room for the new one alone" in said(done)
    assert story.run().steps == ()


def test_an_update_that_is_held_leaves_every_file_alone_until_it_fits() -> None:
    story = served(update="{ifNotFit: Hold}")
    before = story.deployment
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Hold on-prem UpdateHeld"}
    assert story.deployment == before and done.steps == ()
    assert said(done).endswith("its policy holds the edit back until there is")
    story.capacity |= snapshot("on-prem", TWICE)
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeFits"}
    assert b"ray:2" in story.deployment.read("clusters/on-prem/workloads/x/app/app.yaml")


def test_what_is_held_back_keeps_no_room() -> None:
    story = served(on_prem="n1 7 32Gi 2", update="{ifNotFit: Hold}")
    edit(story)
    story.source |= {"workloads/x/small.yaml": DEPLOYMENT.format(name="small", more="", image="i", cpu=1)}
    story.source |= cluster("cloud", state="Cordoned")
    assert outcome(story.run()) == {"x/app": "Hold on-prem UpdateHeld", "x/small": "Place on-prem Fits"}


@pytest.mark.parametrize(
    ("spec", "profile", "code"),
    [
        ("", "", "Relocate cloud UpgradeDoesNotFit"),
        ("upgradeStrategy: {type: NewCluster}", "", "Relocate cloud UpgradeDoesNotFit"),
        ("upgradeStrategy: {type: None}", "", "Update on-prem Updated"),
        ("", "{kuberay: {version: 1.4.2, zeroDowntime: false}}", "Update on-prem Updated"),
        ("upgradeStrategy: {type: NewCluster}", "{kuberay: {zeroDowntime: false}}", "Relocate cloud UpgradeDoesNotFit"),
        ("", "{kuberay: {version: 1.3.2}}", "Relocate cloud UpgradeDoesNotFit"),
        ("", "{kuberay: {version: 1.4.2}}", "Relocate cloud UpgradeDoesNotFit"),
        ("", "{kuberay: {version: 1.5.1}}", "Relocate cloud UpgradeDoesNotFit"),
        ("", "{kuberay: {version: 1.6.2}}", "Relocate cloud UpgradeDoesNotFit"),
        ("", "{kuberay: {version: 1.7.0}}", "Relocate cloud UpgradeDoesNotFit"),
    ],
)
def test_whether_there_is_a_second_ray_cluster_is_for_the_strategy_and_the_operator(
    spec: str, profile: str, code: str
) -> None:
    story = served(profile=profile)
    edit(story, "spec:\n  rayCl", f"spec:\n  {spec}\n  rayCl" if spec else "spec:\n  rayCl")
    assert outcome(story.run()) == {"x/app": "Update on-prem Updated" if spec else "Keep on-prem Kept"}
    edit(story)
    assert outcome(story.run()) == {"x/app": code}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replicas: 1", "replicas: 2"),
        ("spec:\n  rayCl", "spec:\n  serveConfigV2: 'applications: []'\n  rayCl"),
        (
            "{spec: {containers: [{name: worker",
            "{spec: {tolerations: [{key: gpu, operator: Exists}], containers: [{name: worker",
        ),
        ("metadata: {name: app, labels: {}}", "metadata: {name: app, labels: {a: b}}"),
    ],
)
def test_an_edit_for_which_kuberay_makes_no_second_ray_cluster_moves_nothing(old: str, new: str) -> None:
    story = served()
    edit(story, old, new)
    assert outcome(story.run())["x/app"].startswith("Update on-prem")
    assert story.files() == ["clusters/on-prem/workloads/x/app/app.yaml"]


def test_tolerations_cost_a_second_ray_cluster_up_to_kuberay_1_5_1() -> None:
    for version, code in (("1.5.1", "Relocate cloud UpgradeDoesNotFit"), ("1.5.2", "Update on-prem Updated")):
        story = served(profile=f"{{kuberay: {{version: {version}}}}}")
        edit(
            story,
            "{containers: [{name: worker",
            "{tolerations: [{key: gpu, operator: Exists}], containers: [{name: worker",
        )
        assert outcome(story.run()) == {"x/app": code}


GROUP = """\
    - groupName: more
      replicas: {replicas}
      minReplicas: 0
      maxReplicas: 10
      rayStartParams: {{}}
      template: {{spec: {{containers: [{{name: worker, image: ray, resources: {{requests: {{cpu: "1", memory: 1Gi}}}}}}]}}}}
"""


@pytest.mark.parametrize(
    ("replicas", "code"),
    [(1, "Update on-prem Updated"), (2, "Relocate cloud Outgrown"), (7, "Update on-prem Outgrown")],
)
def test_an_appended_worker_group_asks_for_its_own_pods_alone(replicas: int, code: str) -> None:
    story = served(cloud="n1 9 32Gi 1")
    story.source[SERVICE] += GROUP.format(replicas=replicas)
    done = story.run()
    assert outcome(done) == {"x/app": code}
    if "Outgrown" in code:
        assert f"this edit asks for {replicas} workers more on on-prem (workloads/x/app.yaml:17)" in said(done)


APPROVAL = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Approval
metadata: {name: back}
spec: {groups: [x/app], action: Return, expires: "2026-02-01T00:00:00Z"}
"""


@pytest.mark.parametrize("how", ["approval", "annotation"])
def test_a_moved_app_goes_back_only_when_somebody_asks_for_it(how: str) -> None:
    story = served()
    edit(story)
    story.run()
    story.now += timedelta(hours=5)
    assert story.run().steps == ()
    if how == "approval":
        story.source["approvals/back.yaml"] = APPROVAL
    else:
        edit(story, "metadata: {name: app,", "metadata: {name: app, annotations: {gitplacer.dev/cluster: on-prem},")
    code = "MoveApproved" if how == "approval" else "NotEligible"
    assert outcome(story.run()) == {"x/app": f"Relocate on-prem {code}"}
    assert story.files() == ["clusters/on-prem/workloads/x/app/app.yaml"]
    assert b"ray:2" in story.deployment.read("clusters/on-prem/workloads/x/app/app.yaml")
    assert story.run().steps == ()


# a move for an update is a move


def test_with_a_surge_the_old_manifest_serves_until_the_new_one_is_ready_elsewhere() -> None:
    story = served(relocation="{strategy: Surge}")
    old = story.deployment.read("clusters/on-prem/workloads/x/app/app.yaml")
    edit(story)
    assert outcome(story.run()) == {"x/app": "Relocate cloud,on-prem UpgradeDoesNotFit"}
    assert story.deployment.read("clusters/on-prem/workloads/x/app/app.yaml") == old
    assert b"ray:2" in story.deployment.read("clusters/cloud/workloads/x/app/app.yaml")
    story.now += timedelta(minutes=10)
    shows(story, ONCE, RUNS)
    assert story.run().steps == (), "nobody has seen it ready"
    shows(story, ONCE, RUNS, name="cloud", ready="true")
    assert outcome(story.run()) == {"x/app": "Keep cloud,on-prem Moving"}
    story.look_again()
    assert outcome(story.run()) == {"x/app": "Relocate cloud UpgradeDoesNotFit"}
    assert story.files() == ["clusters/cloud/workloads/x/app/app.yaml"]
    assert story.run().steps == ()


def test_a_copy_that_is_not_ready_in_time_is_taken_back_and_the_edit_waits_where_it_was() -> None:
    story = served(relocation="{strategy: Surge, surge: {timeout: 20m}}")
    edit(story)
    story.run()
    story.now += timedelta(minutes=30)
    shows(story, ONCE, RUNS)
    shows(story, ONCE, PENDS, name="cloud")
    assert outcome(story.run()) == {"x/app": "Relocate on-prem UpgradeDoesNotFit"}
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeDoesNotFit"}
    assert "its last relocation was taken back" in said(done)


def test_a_move_by_removing_first_carries_the_new_manifest() -> None:
    story = served(relocation="{strategy: RemoveFirst}")
    edit(story)
    story.run()
    assert story.files() == []
    assert b"ray:2" not in story.deployment.read("moving/x/app/app.yaml")
    for _ in range(2):
        story.now += timedelta(minutes=10)
        story.capacity |= snapshot("on-prem", ONCE, at=story.now) | snapshot("cloud", ONCE, at=story.now)
        story.run()
    assert story.files() == ["clusters/cloud/workloads/x/app/app.yaml"]
    assert b"ray:2" in story.deployment.read("clusters/cloud/workloads/x/app/app.yaml")


def test_whether_it_moves_for_an_update_is_asked_of_the_policy() -> None:
    for mode, code in (
        ("Automatic", "Relocate cloud UpgradeDoesNotFit"),
        ("Manual", "Update on-prem UpgradeDoesNotFit"),
        ("Never", "Update on-prem UpgradeDoesNotFit"),
    ):
        story = served(relocation=f"{{when: {{PendingPods: {mode}}}}}")
        edit(story)
        done = story.run()
        assert outcome(done) == {"x/app": code}
        assert [step.changes.removed for step in done.proposals] == (
            [frozenset({"clusters/on-prem/workloads/x/app/app.yaml"})] if mode == "Manual" else []
        )
        if mode == "Manual":
            assert "only with an Approval" in said(done)


def test_an_app_that_has_moved_lately_stays_for_its_next_edit() -> None:
    story = served()
    edit(story)
    story.run()
    edit(story, "ray:2", "ray:3")
    done = story.run()
    assert outcome(done) == {"x/app": "Update cloud UpgradeDoesNotFit"}
    assert "it has moved lately" in said(done)


@pytest.mark.parametrize(
    ("guards", "words"),
    [
        ("{relocations: {max: 0}}", "guards allow"),
        ('{freeze: [{schedule: "0 0 * * *", duration: 24h}]}', "the Fleet is frozen"),
    ],
)
def test_the_guards_of_the_fleet_are_asked_as_for_any_move(guards: str, words: str) -> None:
    story = served()
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", f"spec: {{guards: {guards}}}")
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeDoesNotFit"}
    assert words in said(done)


def test_pods_of_a_second_ray_cluster_that_wait_after_the_merge_move_one_copy() -> None:
    story = served(cloud="n1 3 16Gi 1")
    edit(story)
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeDoesNotFit"}
    story.now += timedelta(minutes=40)
    shows(story, ONCE, RUNS, PENDS)
    story.capacity |= snapshot("cloud", ONCE, at=story.now)
    story.run()
    story.look_again()
    assert outcome(story.run()) == {"x/app": "Relocate cloud PendingPods"}
    assert "updates" not in record(story)
    assert story.run().steps == ()


def test_a_cluster_that_drains_wins_over_an_edit() -> None:
    story = served(cloud="n1 3 16Gi 1", update="{ifNotFit: Hold}")
    before = story.deployment
    story.source |= cluster("on-prem", state="Draining")
    edit(story)
    assert outcome(story.run()) == {"x/app": "Hold on-prem NowhereToGo"}
    assert story.deployment == before, "its files are held back with its edit"
    story.capacity |= snapshot("cloud", ONCE)
    assert outcome(story.run()) == {"x/app": "Relocate cloud ClusterDraining"}


# where it fits


def test_an_update_that_fits_twice_stays_and_says_so() -> None:
    story = served(on_prem=TWICE)
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeFits"}
    assert said(done) == (
        "changes on on-prem: this edit makes KubeRay start a second Ray cluster (head + 1 worker) beside the running "
        "one on on-prem (workloads/x/app.yaml:16); both fit"
    )


def test_machines_that_can_be_added_count_for_a_second_ray_cluster_too() -> None:
    scaler = "{type: Luna, nodeTypes: [{name: g4, max: 2, allocatable: {cpu: '8', memory: 32Gi, nvidia.com/gpu: '1'}, pricePerHour: 0.5}]}"
    story = served()
    story.source |= cluster("on-prem", autoscaler=scaler)
    edit(story)
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeByScaleUp"}
    assert said(done).endswith("; the second one fits with 1 × g4 added (0.50 an hour)")
    story.source |= governed(placement="{scaleUp: Never}")
    edit(story, "ray:2", "ray:3")
    assert outcome(story.run())["x/app"] == "Relocate cloud UpgradeDoesNotFit"


STEPS = """\
  upgradeStrategy:
    type: NewClusterWithIncrementalUpgrade
    clusterUpgradeOptions: {{maxSurgePercent: {percent}, stepSizePercent: 5, intervalSeconds: 10, gatewayClassName: g}}
"""


@pytest.mark.parametrize(
    ("percent", "gpus", "kuberay", "code"),
    [
        (25, 4, "{version: 1.7.0}", "Update on-prem UpgradeDoesNotFit"),
        (25, 5, "{version: 1.7.0}", "Update on-prem UpgradeFits"),
        (50, 5, "{version: 1.7.0}", "Update on-prem UpgradeDoesNotFit"),
        (50, 6, "{version: 1.7.0}", "Update on-prem UpgradeFits"),
        (100, 7, "{version: 1.7.0}", "Update on-prem UpgradeDoesNotFit"),
        (100, 8, "{version: 1.7.0}", "Update on-prem UpgradeFits"),
        (25, 5, "{version: 1.6.2, featureGates: {RayServiceIncrementalUpgrade: true}}", "Update on-prem UpgradeFits"),
        (25, 4, "{version: 1.6.2}", "Update on-prem Updated"),  # its gate is off, and the edit is not applied
        (25, 4, "{version: 1.7.0, featureGates: {RayServiceIncrementalUpgrade: false}}", "Update on-prem Updated"),
    ],
)
def test_an_upgrade_in_steps_asks_for_a_second_head_and_its_surge(
    percent: int, gpus: int, kuberay: str, code: str
) -> None:
    story = Story.of(
        cluster("on-prem", profile=f"{{kuberay: {kuberay}, gatewayAPI: true}}"), governed(),
        rayservice("x", "app", workers=4), capacity=snapshot("on-prem", f"n1 64 256Gi {gpus}"),
    )  # fmt: skip
    edit(
        story,
        "  rayClusterConfig:\n",
        f"{STEPS.format(percent=percent)}  rayClusterConfig:\n    enableInTreeAutoscaling: true\n",
    )
    # It is a KubeRay without the gate that would not take it, so it is put there before.
    story.source |= cluster("on-prem", profile="{kuberay: {version: 1.7.0}, gatewayAPI: true}")
    assert outcome(story.run()) == {"x/app": "Place on-prem Fits"}
    story.source |= cluster("on-prem", profile=f"{{kuberay: {kuberay}, gatewayAPI: true}}")
    edit(story)
    assert outcome(story.run()) == {"x/app": code}


# what is held, and for how long


def test_the_room_of_both_is_held_until_a_snapshot_shows_one_again() -> None:
    other = {"workloads/x/other.yaml": DEPLOYMENT.format(name="other", more="", image="i", cpu=3)}
    story = served(on_prem="n1 10 32Gi 2", cloud=None)
    edit(story)
    story.source |= other
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeFits", "x/other": "Wait  NoClusterFits"}
    assert "how: NewCluster" in record(story)
    node = "n1 10 32Gi 2"

    def waits() -> bool:
        story.now += timedelta(minutes=5)
        return outcome(story.run())["x/other"] == "Wait  NoClusterFits"

    shows(story, node, RUNS, applied=1)
    assert waits(), "it is from before the sync"
    shows(story, node, RUNS, applied=2)
    assert waits(), "the second Ray cluster may be about to come"
    assert "appliedAt" in record(story)
    shows(story, node, RUNS, RUNS, applied=2)
    assert waits(), "both run"
    assert "appliedAt" not in record(story)
    shows(story, node, RUNS, PENDS, applied=2)
    assert waits(), "the second one has no room yet"
    shows(story, node, RUNS, applied=2)
    assert waits(), "one snapshot is no proof"
    shows(story, node, RUNS, applied=2)
    assert outcome(story.run())["x/other"] == "Place on-prem Fits"
    assert "updates" not in record(story)


def test_an_operator_that_has_not_looked_yet_keeps_the_room_held() -> None:
    story = served(on_prem=TWICE, cloud=None)
    shows(story, TWICE, RUNS, observedGeneration=4)
    edit(story)
    story.run()
    assert "generation: 4" in record(story)
    for generation, over in ((4, False), (4, False), (5, False), (5, True)):
        story.now += timedelta(minutes=10)
        shows(story, TWICE, RUNS, observedGeneration=generation)
        story.run()
        assert ("updates" not in record(story)) is over


def test_pods_that_only_the_new_manifest_asks_for_are_proof_enough() -> None:
    story = served(on_prem="n1 12 32Gi 2", cloud=None)
    edit(
        story,
        'name: worker, image: ray, resources: {limits: {nvidia.com/gpu: "1"}, requests: {cpu: "2"',
        'name: worker, image: ray, resources: {limits: {nvidia.com/gpu: "1"}, requests: {cpu: "3"',
    )
    edit(story, 'requests: {cpu: "2", memory: 2Gi}', 'requests: {cpu: "3", memory: 2Gi}')
    story.run()
    assert "updates" in record(story)
    story.now += timedelta(minutes=10)
    shows(story, "n1 12 32Gi 2", RUNS.replace("cpu: '2'", "cpu: '3'"))
    story.run()
    assert "updates" not in record(story)


def test_workers_that_an_autoscaler_added_to_the_old_ray_cluster_stand_in_for_no_new_ones() -> None:
    more = "{role: worker/gpu, node: n1, requests: {cpu: '2', memory: 4Gi, nvidia.com/gpu: '1'}}"
    story = served(on_prem="n1 10 32Gi 2", cloud=None)
    shows(story, "n1 10 32Gi 2", RUNS, more)
    edit(story)
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeDoesNotFit"}


def test_a_second_edit_while_an_upgrade_runs_makes_a_third_ray_cluster() -> None:
    story = served(on_prem="n1 13 64Gi 3", cloud=None)
    edit(story)
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeFits"}
    edit(story, "ray:2", "ray:3")
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeFits"}
    assert "count: 2" in record(story)
    edit(story, "ray:3", "ray:4")
    assert outcome(story.run()) == {"x/app": "Update on-prem UpgradeDoesNotFit"}


def test_of_two_upgrades_for_which_there_is_room_for_one_the_second_is_told_so() -> None:
    story = served(on_prem="n1 13 64Gi 3", cloud=None)
    story.source |= rayservice("x", "zap")
    assert outcome(story.run())["x/zap"] == "Place on-prem Fits"
    edit(story)
    story.source["workloads/x/zap.yaml"] = story.source["workloads/x/zap.yaml"].replace("image: ray,", "image: ray:2,")
    done = story.run()
    assert outcome(done) == {"x/app": "Update on-prem UpgradeFits", "x/zap": "Update on-prem UpgradeDoesNotFit"}


def test_where_pods_of_an_update_wait_nothing_new_is_promised() -> None:
    story = served(update="{ifNotFit: Proceed}", on_prem="n1 7 32Gi 1", cloud=None)
    edit(story)
    story.source |= {"workloads/x/small.yaml": DEPLOYMENT.format(name="small", more="", image="i", cpu=1)}
    assert outcome(story.run())["x/small"] == "Wait  NoClusterFits"
    assert outcome(story.run())["x/small"] == "Wait  NoClusterFits"


def test_whether_both_fit_is_not_known_without_a_current_snapshot() -> None:
    for update, code in (("{}", "Update on-prem UpgradeNotJudged"), ("{ifNotFit: Hold}", "Hold on-prem UpdateHeld")):
        story = served(update=update)
        story.source |= cluster("on-prem", maxAge="10m")
        story.now += timedelta(hours=1)
        edit(story)
        assert outcome(story.run()) == {"x/app": code}


# other kinds

DEPLOYMENT = textwrap.dedent("""\
    apiVersion: apps/v1
    kind: Deployment
    metadata: {{name: {name}}}
    spec:
      replicas: 2
      {more}
      selector: {{matchLabels: {{app: {name}}}}}
      template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: c, image: {image}, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}
    """)


def deployed(room: str, more: str = "", elsewhere: str = "n1 1 1Gi") -> Story:
    story = Story.of(
        cluster("a"), cluster("b", state="Cordoned"), governed(),
        {SERVICE: DEPLOYMENT.format(name="web", more=more, image="i", cpu=2)},
        capacity={**snapshot("a", room), **snapshot("b", elsewhere)},
    )  # fmt: skip
    assert outcome(story.run()) == {"x/web": "Place a Fits"}
    story.source |= cluster("b")
    return story


def test_a_rolling_update_that_may_take_no_pod_away_needs_its_surge() -> None:
    for room, elsewhere, code in (
        ("n1 6 8Gi", "n1 1 1Gi", "Update a Updated"),
        ("n1 5 8Gi", "n1 1 1Gi", "Update a UpgradeDoesNotFit"),
        ("n1 5 8Gi", "n1 9 8Gi", "Relocate b UpgradeDoesNotFit"),
    ):
        story = deployed(room, elsewhere=elsewhere)
        story.source[SERVICE] = DEPLOYMENT.format(name="web", more="", image="i2", cpu=2)
        assert outcome(story.run()) == {"x/web": code}


ONE_MORE = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
TWO_MORE = "strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}"
TAINTED = ", taints: [{key: k, value: v, effect: NoSchedule}]"


@pytest.mark.parametrize(("more", "replicas", "cpu", "node", "code"), [
    # of four pods that fill a node two go before the third of the new ones comes
    (ONE_MORE, 2, 2, "", "Update a Updated"),
    (ONE_MORE, 3, 2, "", "Update a Updated"),
    (ONE_MORE, 4, 2, "", "Update a UpgradeDoesNotFit"),
    (ONE_MORE, 3, 1, "", "Update a Updated"),
    (TWO_MORE, 3, 2, "", "Update a UpgradeDoesNotFit"),  # one of the two has a place
    (TWO_MORE, 2, 2, "", "Update a Updated"),
    (ONE_MORE, 5, 2, "", "Update a UpgradeDoesNotFit"),
    # nobody knows which go, and whether a larger one finds room where they were
    (ONE_MORE, 2, 3, "", "Update a UpgradeDoesNotFit"),
    # a place on a node that takes nothing new is none
    (ONE_MORE, 2, 2, ", unschedulable: true", "Update a UpgradeDoesNotFit"),
    (ONE_MORE, 2, 2, TAINTED, "Update a UpgradeDoesNotFit"),
])  # fmt: skip
def test_a_rolling_update_to_fewer_pods_takes_some_away_before_it_adds_one(
    more: str, replicas: int, cpu: int, node: str, code: str
) -> None:
    four = {SERVICE: DEPLOYMENT.format(name="web", more=more, image="i", cpu=2).replace("replicas: 2", "replicas: 4")}
    room = "n1 8 8Gi | %s"
    story = Story.of(cluster("a"), governed(), four, capacity=snapshot("a", "n1 8 8Gi"))
    assert outcome(story.run()) == {"x/web": "Place a Fits"}
    pods = "{role: pod, node: n1, requests: {cpu: '2'}}, " * 4
    seen = f"groups: [{{name: x/web, phase: Running, ready: true, pods: [{pods}]}}]\n"
    story.capacity = snapshot("a", room % node, at=story.now, more=seen)
    edited = DEPLOYMENT.format(name="web", more=more, image="i2", cpu=cpu)
    story.source[SERVICE] = edited.replace("replicas: 2", f"replicas: {replicas}")
    assert outcome(story.run()) == {"x/web": code}


def test_what_a_rolling_update_to_fewer_pods_gives_back_is_kept_until_it_is_done() -> None:
    four = {SERVICE: DEPLOYMENT.format(name="web", more=ONE_MORE, image="i", cpu=2).replace("replicas: 2", "replicas: 4")}  # fmt: skip
    story = Story.of(cluster("a"), governed(), four, capacity=snapshot("a", "n1 8 8Gi"))
    story.run()

    def shows(number: int, epoch: int, ready: str = "true") -> None:
        pods = "{role: pod, node: n1, requests: {cpu: '2'}}, " * number
        there = f"groups: [{{name: x/web, phase: Running, ready: {ready}, pods: [{pods}]}}]\n"
        story.capacity = snapshot("a", "n1 8 8Gi", at=story.now, more=f"{there}applied: {{workloads: {epoch}}}\n")

    shows(4, 1)
    story.source[SERVICE] = DEPLOYMENT.format(name="web", more=ONE_MORE, image="i2", cpu=2)
    assert outcome(story.run()) == {"x/web": "Update a Updated"}
    story.source |= {"workloads/x/small.yaml": DEPLOYMENT.format(name="small", more="", image="i", cpu=1)}
    assert outcome(story.run()) == {"x/small": "Wait  NoClusterFits", "x/web": "Keep a Kept"}
    shows(3, 2, "false")
    assert outcome(story.run()) == {"x/small": "Wait  NoClusterFits", "x/web": "Keep a Kept"}
    for _ in range(2):
        shows(2, 2)
        done = story.run()
    assert outcome(done)["x/small"] == "Place a Fits"


MAY_MISS_ONE = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}"
ALMOST_A_FOURTH = "strategy: {rollingUpdate: {maxUnavailable: 24%}}"


@pytest.mark.parametrize(("more", "replicas", "cpu", "nodes", "on", "code"), [
    # a single old one beside all new ones: 2 + 3 + 3, and not 2 + 2 + 3
    ("", (2, 2), 3, "n1 7", "n1 n1", "Update a UpgradeDoesNotFit"),
    ("", (2, 2), 3, "n1 8", "n1 n1", "Update a Updated"),
    (ONE_MORE, (3, 3), 4, "n1 13", "n1 n1 n1", "Update a UpgradeDoesNotFit"),
    (ONE_MORE, (3, 3), 4, "n1 14", "n1 n1 n1", "Update a Updated"),
    ("", (1, 1), 3, "n1 5", "n1", "Update a Updated"),  # the first step is the last one
    (TWO_MORE, (3, 3), 3, "n1 11", "n1 n1 n1", "Update a UpgradeDoesNotFit"),  # 2 + 2 + 2 + 3 + 3
    (TWO_MORE, (3, 3), 3, "n1 12", "n1 n1 n1", "Update a Updated"),
    (TWO_MORE, (4, 4), 4, "n1 17", "n1 n1 n1 n1", "Update a UpgradeDoesNotFit"),  # one new one more is enough to go on
    (TWO_MORE, (4, 4), 4, "n1 18", "n1 n1 n1 n1", "Update a Updated"),
    # with more pods, or fewer, it is those that are to be
    (ONE_MORE, (2, 3), 3, "n1 10", "n1 n1", "Update a UpgradeDoesNotFit"),
    (ONE_MORE, (2, 3), 3, "n1 11", "n1 n1", "Update a Updated"),
    (ONE_MORE, (3, 2), 4, "n1 10", "n1 n1 n1", "Update a Updated"),
    # smaller ones, or as large ones, need no more than the first step
    ("", (2, 2), 2, "n1 6", "n1 n1", "Update a Updated"),
    ("", (2, 2), 1, "n1 5", "n1 n1", "Update a Updated"),
    # where one may be missing all old ones are gone before the last new one comes; Kubernetes rounds it down
    (MAY_MISS_ONE, (2, 2), 3, "n1 6", "n1 n1", "Update a Updated"),
    ("", (4, 4), 3, "n1 12", "n1 n1 n1 n1", "Update a Updated"),
    (ALMOST_A_FOURTH, (4, 4), 3, "n1 13", "n1 n1 n1 n1", "Update a UpgradeDoesNotFit"),
    (ALMOST_A_FOURTH, (4, 4), 3, "n1 14", "n1 n1 n1 n1", "Update a Updated"),
    # nobody knows which old one goes last: from the small node it leaves nothing that a new one can use
    ("", (2, 2), 3, "n1 2 | n2 3 | n3 3", "n1 n2", "Update a UpgradeTight"),
    ("", (2, 2), 3, "n1 4 | n2 3 | n3 3", "n1 n1", "Update a Updated"),
    ("", (2, 2), 3, "n1 2 | n2 3 | n3 3", "", "Update a UpgradeTight"),
    ("", (3, 3), 3, "n1 4 | n2 4 | n3 4 | n4 3", "n1 n2 n3", "Update a Updated"),
    ("", (3, 3), 3, "n1 4 | n2 4 | n3 4", "n1 n2 n3", "Update a UpgradeDoesNotFit"),
    # one on a node that takes no such pods any more is in nobody's way
    ("", (2, 2), 3, "n1 4, unschedulable: true | n2 3 | n3 3", "n1 n1", "Update a Updated"),
])  # fmt: skip
def test_the_last_step_of_a_rolling_update_to_larger_pods_needs_room_too(
    more: str, replicas: tuple[int, int], cpu: int, nodes: str, on: str, code: str
) -> None:
    def rows(text: str) -> list[str]:
        split = (node.partition(", ") for node in text.split(" | "))
        return [f"{row} 8Gi|{comma}{fields}" for row, comma, fields in split]

    def manifest(number: int, cpu: int) -> str:
        text = DEPLOYMENT.format(name="web", more=more, image="i", cpu=cpu)
        return text.replace("replicas: 2", f"replicas: {number}")

    was, is_ = replicas
    story = Story.of(cluster("a"), governed(), {SERVICE: manifest(was, 2)}, capacity=snapshot("a", "n1 64 64Gi"))
    assert outcome(story.run()) == {"x/web": "Place a Fits"}
    pods = "".join(f"{{role: pod, node: {node}, requests: {{cpu: '2'}}}}, " for node in on.split())
    seen = f"groups: [{{name: x/web, phase: Running, ready: true, pods: [{pods}]}}]\n" if on else ""
    story.capacity = snapshot("a", *rows(nodes), at=story.now, more=seen)
    story.source[SERVICE] = manifest(is_, cpu).replace("image: i,", "image: i2,")
    done = story.run()
    assert outcome(done) == {"x/web": code}
    if "DoesNotFit" in code:
        assert "this edit replaces its pods on a one after another" in said(done, "x/web")


Counts = tuple[int, ...]


def stands_still(room: Counts, old: Counts, new: Counts, most: tuple[int, int, int], sizes: tuple[int, int]) -> bool:
    """
    Whether a Deployment's controller may come to a state from which it does not go on, whichever old pods it takes away and wherever new ones land. `old` and
    `new` count the pods on each node; `most` are how many there are to be, come on top, and may be missing.
    """
    wanted, surge, missing = most
    there, come = sum(old), sum(new)
    if not there and come == wanted:
        return False
    left = [cpu - sizes[0] * o - sizes[1] * n for cpu, o, n in zip(room, old, new, strict=True)]
    adds = come < wanted and there + come < wanted + surge
    added = [_with(new, at, 1) for at, cpu in enumerate(left) if cpu >= sizes[1]] if adds else []
    taken = [_with(old, at, -1) for at, o in enumerate(old) if o] if there + come > wanted - missing else []
    after = [*((old, each) for each in added), *((each, new) for each in taken)]
    return not after or any(stands_still(room, *each, most, sizes) for each in after)


def _with(counts: Counts, at: int, more: int) -> Counts:
    return tuple(count + more * (number == at) for number, count in enumerate(counts))


@settings(max_examples=100)
@given(
    nodes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=3).filter(
        lambda nodes: 0 < sum(old for old, _ in nodes) < 4
    ),
    most=st.sampled_from([(1, 0), (2, 0), (1, 1)]),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 4)),
)
def test_a_rolling_update_that_is_promised_room_never_stands_still(
    nodes: list[tuple[int, int]], most: tuple[int, int], sizes: tuple[int, int]
) -> None:
    """And one that finds none, with one pod on top, may. Of each node it is told how many old pods it has, and how much cpu beside."""
    old, (surge, missing) = tuple(pods for pods, _ in nodes), most
    count, cpu = sum(old), tuple(sizes[0] * pods + free for pods, free in nodes)
    more = f"strategy: {{rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {missing}}}}}"

    def manifest(cpu: int, image: str) -> dict[str, str]:
        text = DEPLOYMENT.format(name="web", more=more, image=image, cpu=cpu)
        return {SERVICE: text.replace("replicas: 2", f"replicas: {count}")}

    story = Story.of(cluster("a"), governed(), manifest(sizes[0], "i"), capacity=snapshot("a", "n1 64 64Gi"))
    story.run()
    shown = "".join(
        f"{{role: pod, node: n{at}, requests: {{cpu: '{sizes[0]}'}}}}, " * number for at, number in enumerate(old)
    )
    story.capacity = snapshot(
        "a", *(f"n{at} {each} 8Gi" for at, each in enumerate(cpu)), at=story.now,
        more=f"groups: [{{name: x/web, phase: Running, ready: true, pods: [{shown}]}}]\n",
    )  # fmt: skip
    story.source |= manifest(sizes[1], "i2")
    code = outcome(story.run())["x/web"].split()[-1]
    still = stands_still(cpu, old, (0,) * len(cpu), (count, surge, missing), sizes)
    assert code in ("Updated", "UpgradeTight", "UpgradeDoesNotFit", "Outgrown")
    assert not (still and code == "Updated")
    if surge == 1 and not still:
        assert code in ("Updated", "UpgradeTight")


def test_a_rolling_update_without_room_for_its_last_step_moves_or_has_machines_added() -> None:
    for elsewhere, code in (("n1 6 8Gi", "Relocate b UpgradeDoesNotFit"), ("n1 5 8Gi", "Update a UpgradeDoesNotFit")):
        story = deployed("n1 7 8Gi", elsewhere=elsewhere)
        story.source[SERVICE] = DEPLOYMENT.format(name="web", more="", image="i", cpu=3)
        assert outcome(story.run()) == {"x/web": code}
    scaler = "{type: Luna, nodeTypes: [{name: more, max: 2, allocatable: {cpu: '4', memory: 8Gi}}]}"
    story = deployed("n1 7 8Gi")
    story.source |= cluster("a", autoscaler=scaler)
    story.source[SERVICE] = DEPLOYMENT.format(name="web", more="", image="i", cpu=3)
    done = story.run()
    assert outcome(done) == {"x/web": "Update a UpgradeByScaleUp"}
    assert "with 1 × more added" in said(done, "x/web")


def rolls(story: Story, node: str, old: int, new: int, epoch: int, *, ready: bool) -> None:
    """The next snapshot of a, with so many pods of either size, and what its unit has."""
    pods = "{role: pod, node: n1, requests: {cpu: '2'}}, " * old + "{role: pod, node: n1, requests: {cpu: '3'}}, " * new
    there = f"groups: [{{name: x/web, phase: Running, ready: {str(ready).lower()}, pods: [{pods}]}}]\n"
    story.capacity |= snapshot("a", node, at=story.now, more=f"{there}applied: {{workloads: {epoch}}}\n")


@pytest.mark.parametrize(("more", "room"), [("", (2, 2, 2, 2)), (MAY_MISS_ONE, (3, 3, 2, 2))])
def test_what_a_rolling_update_to_larger_pods_ends_with_is_kept_until_it_is_done(
    more: str, room: tuple[int, ...]
) -> None:
    """Of ten cpu it has four, then seven, then eight, and at last six."""
    node = "n1 10 8Gi"
    story = Story.of(
        cluster("a"), governed(), {SERVICE: DEPLOYMENT.format(name="web", more=more, image="i", cpu=2)},
        capacity=snapshot("a", node),
    )  # fmt: skip
    story.run()
    rolls(story, node, 2, 0, 1, ready=True)

    def beside(cpu: int) -> str:
        twin = replace(story, source={**story.source, "workloads/x/more.yaml": one(cpu)})
        return outcome(twin.plan())["x/more"]

    def one(cpu: int) -> str:
        return DEPLOYMENT.format(name="more", more="", image="i", cpu=cpu).replace("replicas: 2", "replicas: 1")

    story.source[SERVICE] = DEPLOYMENT.format(name="web", more=more, image="i", cpu=3)
    assert (beside(room[0]), beside(room[0] + 1)) == ("Place a Fits", "Wait  NoClusterFits")
    assert outcome(story.run()) == {"x/web": "Update a Updated"}
    for (old, new), left in zip(((2, 0), (2, 1), (1, 1), (1, 2)), room, strict=True):
        rolls(story, node, old, new, 2, ready=False)
        assert (beside(left), beside(left + 1)) == ("Place a Fits", "Wait  NoClusterFits"), (old, new)
        story.run()
    for _ in range(2):
        rolls(story, node, 0, 2, 2, ready=True)
        story.run()
    assert (beside(4), beside(5)) == ("Place a Fits", "Wait  NoClusterFits")


RECREATES = "strategy: {type: Recreate}"
NEVER_MORE = "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"


@pytest.mark.parametrize(
    ("kind", "more", "steps"),
    [
        ("Deployment", RECREATES, [(2, 0), (0, 1), (0, 2)]),
        ("Deployment", NEVER_MORE, [(2, 0), (1, 0), (1, 1), (1, 1), (0, 1), (0, 2)]),
        ("StatefulSet", "serviceName: web", [(2, 0), (1, 0), (1, 1), (1, 1), (0, 1), (0, 2)]),
    ],
)
def test_what_larger_pods_take_is_kept_though_the_old_ones_end_first(
    kind: str, more: str, steps: list[tuple[int, int]]
) -> None:
    """Of ten cpu it has four, and six in the end. Between the merge and the end of the update two of these were given to others."""
    node = "n1 10 8Gi"

    def manifest(cpu: int) -> str:
        return DEPLOYMENT.format(name="web", more=more, image="i", cpu=cpu).replace("kind: Deployment", f"kind: {kind}")

    story = Story.of(cluster("a"), governed(), {SERVICE: manifest(2)}, capacity=snapshot("a", node))
    story.run()
    rolls(story, node, 2, 0, 1, ready=True)

    def left() -> int:
        def fits(cpu: int) -> bool:
            one = DEPLOYMENT.format(name="more", more="", image="i", cpu=cpu).replace("replicas: 2", "replicas: 1")
            twin = replace(story, source={**story.source, "workloads/x/more.yaml": one})
            return outcome(twin.plan())["x/more"] == "Place a Fits"

        return sum(map(fits, range(1, 11)))

    assert left() == 6
    story.source[SERVICE] = manifest(3)
    assert left() == 4
    assert outcome(story.run()) == {"x/web": "Update a Updated"}
    assert left() == 4
    assert 'how: InPlace, pods: [{role: pod, count: 2, requests: {cpu: "2"}}]' in web_record(story)
    for old, new in steps:
        rolls(story, node, old, new, 2, ready=False)
        assert left() == 4, (old, new)
        story.run()
        assert ("updates:" in web_record(story)) is bool(old), "it is done when new ones alone are shown"
    assert left() == 4


def test_what_nobody_ends_for_the_sake_of_larger_ones_goes_on_as_it_is() -> None:
    for kind, more in (("ReplicaSet", ""), ("StatefulSet", "updateStrategy: {type: OnDelete}")):
        text = DEPLOYMENT.replace("kind: Deployment", f"kind: {kind}")
        story = Story.of(
            cluster("a"), governed(), {SERVICE: text.format(name="web", more=more, image="i", cpu=2)},
            capacity=snapshot("a", "n1 10 8Gi"),
        )  # fmt: skip
        story.run()
        rolls(story, "n1 10 8Gi", 2, 0, 1, ready=True)
        story.source[SERVICE] = text.format(name="web", more=more, image="i", cpu=3)
        story.run()
        assert "updates:" not in web_record(story)


def web_record(story: Story) -> str:
    return story.deployment.read("placements/x/web.yaml").decode()


def test_beside_a_rolling_update_to_larger_pods_those_find_room_who_mind_others() -> None:
    nodes = ("n1 16 8Gi", "n2 16 8Gi")
    web = {SERVICE: DEPLOYMENT.format(name="web", more="", image="i", cpu=2)}
    story = Story.of(cluster("a"), governed(), web, capacity=snapshot("a", *nodes))
    story.run()
    story.source[SERVICE] = DEPLOYMENT.format(name="web", more="", image="i", cpu=3)
    spread = "{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: even}}}"
    even = DEPLOYMENT.format(name="even", more="", image="i", cpu=1)
    story.source["workloads/x/even.yaml"] = even.replace(
        "{containers", f"{{topologySpreadConstraints: [{spread}], containers"
    )
    assert outcome(story.run()) == {"x/even": "Place a Fits", "x/web": "Update a Updated"}


@pytest.mark.parametrize(("room", "code"), [(15, "Update a UpgradeDoesNotFit"), (16, "Update a Updated")])
def test_of_two_rolling_updates_to_larger_pods_both_need_room_at_the_end(room: int, code: str) -> None:
    story = deployed(f"n1 {room} 8Gi")
    story.source["workloads/x/zap.yaml"] = DEPLOYMENT.format(name="zap", more="", image="i", cpu=2)
    assert outcome(story.run())["x/zap"] == "Place a Fits"
    story.source[SERVICE] = DEPLOYMENT.format(name="web", more="", image="i", cpu=3)
    story.source["workloads/x/zap.yaml"] = DEPLOYMENT.format(name="zap", more="", image="i", cpu=3)
    assert outcome(story.run()) == {"x/web": "Update a Updated", "x/zap": code}


@pytest.mark.parametrize(
    "more", ["strategy: {type: Recreate}", "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}"]
)
def test_an_update_that_takes_pods_away_first_goes_on_without_more_room(more: str) -> None:
    story = deployed("n1 5 8Gi", more, "n1 9 8Gi")
    story.source[SERVICE] = DEPLOYMENT.format(name="web", more=more, image="i2", cpu=2)
    assert outcome(story.run()) == {"x/web": "Update a Updated"}


def test_larger_pods_need_room_when_the_old_ones_are_gone() -> None:
    more = "strategy: {type: Recreate}"
    for cpu, elsewhere, code in (
        (3, "n1 9 8Gi", "Update a Updated"),
        (4, "n1 9 8Gi", "Relocate b Outgrown"),
        (4, "n1 7 8Gi", "Update a Outgrown"),
    ):
        story = deployed("n1 7 8Gi", more, elsewhere)
        pods = "{role: pod, node: n1, requests: {cpu: '2'}}, " * 2
        story.capacity |= snapshot("a", "n1 7 8Gi", more=f"groups: [{{name: x/web, pods: [{pods}]}}]\n")
        story.source[SERVICE] = DEPLOYMENT.format(name="web", more=more, image="i", cpu=cpu)
        done = story.run()
        assert outcome(done) == {"x/web": code}
        if "Outgrown" in code:
            assert "this edit asks for larger pods on a" in said(done, "x/web")


def test_more_replicas_than_have_room_move_the_app_or_are_said_to_wait() -> None:
    for elsewhere, code in (("n1 9 8Gi", "Relocate b Outgrown"), ("n1 7 8Gi", "Update a Outgrown")):
        story = deployed("n1 5 8Gi", elsewhere=elsewhere)
        story.source[SERVICE] = story.source[SERVICE].replace("replicas: 2", "replicas: 4")
        done = story.run()
        assert outcome(done) == {"x/web": code}
        assert "this edit asks for 2 pods more on a" in said(done, "x/web")


def test_a_job_that_may_have_started_moves_for_no_edit() -> None:
    story = Story.of(
        cluster("a"), cluster("b", state="Cordoned"), governed(), rayjob("x", "train", workers=1),
        capacity={**snapshot("a", "n1 5 16Gi 1"), **snapshot("b", "n1 16 64Gi 4")},
    )  # fmt: skip
    story.run()
    story.source |= cluster("b") | rayjob("x", "train", workers=3)
    done = story.run()
    assert outcome(done) == {"x/train": "Update a Outgrown"}
    assert "may have started" in said(done, "x/train")


def test_an_app_that_is_admitted_whatever_the_room_is_updated_whatever_the_room() -> None:
    story = Story.of(
        cluster("on-prem"), cluster("cloud", state="Cordoned"), governed(placement="{admission: Immediate}"),
        rayservice("x", "app"), capacity={**snapshot("on-prem", ONCE), **snapshot("cloud", ONCE)},
    )  # fmt: skip
    story.run()
    story.source |= cluster("cloud")
    edit(story)
    assert outcome(story.run())["x/app"].startswith("Update on-prem")

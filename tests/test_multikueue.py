"""Policies that leave it to Kueue where their groups start: what is written where, what stays, and what never runs twice."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.dispatching import managers
from gitplacer.engines import TABLE, Wanted
from gitplacer.explain import finding_text
from gitplacer.formats.drain import verdict
from gitplacer.hydrate import Hydration
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Decision
from gitplacer.multikueue import MOST, check_name, config
from gitplacer.observing.placed import Placed
from gitplacer.tree import Changes
from gitplacer.whatif.draining import drain
from gitplacer.whatif.ground import Ground
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot, subjects
from tests.test_kinds import judged
from tests.test_relocation import later, record, seen

JOB = "ml/train"
HUB = cluster("hub", role="Management")
GPU = '{gpu: "yes"}'
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
QUEUE = "kueue.x-k8s.io/queue-name"
CONFIG = "clusters/hub/platform/multikueue/left.yaml"
LARGE = "n1 64 256Gi 8"


def left(
    placement: str = "", *, queue: str = "gpus", manager: str = "hub", relocation: str = "{}", select: str = "{}"
) -> dict[str, str]:
    """A policy that leaves what it selects to the Kueue of the hub, on clusters with GPUs."""
    dispatch = f"dispatch: {{multiKueue: {{manager: {manager}, queue: {queue}}}}}"
    more = f"{placement}, " if placement else ""
    return policy(
        "left",
        f"select: {select}\nclusters: {{matchLabels: {{gpu: 'yes'}}}}\nplacement: {{{more}{dispatch}}}\nrelocation: {relocation}",
    )


def job(name: str = "train", *, workers: int = 2, spec: str = "", metadata: str = "") -> dict[str, str]:
    """A RayJob that Kueue takes, which reads a ConfigMap; with more fields of its spec and metadata."""
    ((path, text),) = rayjob("ml", name, workers=workers).items()
    text = text.replace("image: ray,", "image: ray, envFrom: [{configMapRef: {name: settings}}],")
    text = text.replace("  entrypoint:", f"  shutdownAfterJobFinishes: true\n{spec}  entrypoint:", 1)
    return {path: text.replace(f"  name: {name}\n", f"  name: {name}\n{metadata}", 1)}


SETTINGS = {
    "workloads/ml/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {rate: '1'}\n"
}


def fleet(*files: Mapping[str, str], rule: Mapping[str, str] | None = None) -> Story:
    """A hub, two clusters with GPUs and one without, and a job whose policy leaves it to Kueue."""
    clusters = [cluster("a", labels=GPU), cluster("b", labels=GPU), cluster("c")]
    given = files or (job(), SETTINGS)
    story = Story.of(HUB, *clusters, rule if rule is not None else left(), *given)
    for name in "abc":
        seen(story, name, node=LARGE)
    return story


def read(story: Story, path: str) -> dict[str, object]:
    value: dict[str, object] = yaml.safe_load(story.deployment.read(path))
    return value


def listed(story: Story, path: str = CONFIG) -> list[str]:
    """The clusters that Kueue is told of, in order."""
    config, check = yaml.safe_load_all(story.deployment.read(path))
    assert check["spec"]["parameters"]["name"] == config["metadata"]["name"]
    names: list[str] = config["spec"]["clusters"]
    return names


def where(story: Story, name: str) -> list[str]:
    """The clusters whose directories have a file of the job's group."""
    return [path.split("/")[1] for path in story.files() if path.endswith(f"/workloads/{JOB}/{name}.yaml")]


def nominated(story: Story, group: str = JOB) -> list[str]:
    dispatch = record(story, group)["dispatch"]
    assert isinstance(dispatch, dict)
    names: list[str] = dispatch["nominated"]
    return names


def only(done: Hydration) -> Decision:
    return decisions(done)[JOB]


# what is written


def test_the_job_goes_to_the_manager_and_what_it_needs_to_whoever_may_run_it() -> None:
    story = fleet()
    done = story.run()
    assert outcome(done) == {JOB: "Place hub KueueAdmits"}
    assert (
        finding_text(only(done).finding) == "Kueue starts it on one of a and b, where it has quota; no room is promised"
    )
    assert where(story, "train") == ["hub"]
    assert where(story, "settings") == ["a", "b", "hub"]
    namespaces = [path.split("/")[1] for path in story.deployment if path.endswith("/namespaces/ml.yaml")]
    assert namespaces == ["a", "b", "hub"]
    assert listed(story) == nominated(story) == ["a", "b"]
    assert not story.plan().steps


def test_the_queue_and_who_manages_it_are_the_only_edits() -> None:
    story = fleet()
    story.run()
    written = story.deployment.read(f"clusters/hub/workloads/{JOB}/train.yaml").decode()
    source = story.source["workloads/ml/train.yaml"]
    added = [line for line in written.splitlines() if line not in source.splitlines()]
    assert added == ["  namespace: ml", "  labels:", f"    {QUEUE}: gpus", f"  managedBy: {MULTIKUEUE}"]
    assert [line for line in source.splitlines() if line not in written.splitlines()] == []


def test_a_manifest_that_says_it_itself_is_deployed_byte_for_byte() -> None:
    said = job(spec=f"  managedBy: {MULTIKUEUE}\n", metadata=f"  namespace: ml\n  labels: {{{QUEUE}: gpus}}\n")
    story = fleet(said, SETTINGS)
    for name in "abc":
        seen(story, name, node=LARGE)
        story.capacity[f"{name}.yaml"] += "queues:\n- {name: q, covers: [cpu], localQueues: [{name: ml/gpus}]}\n"
    assert outcome(story.run()) == {JOB: "Place hub KueueAdmits"}
    written = story.deployment.read(f"clusters/hub/workloads/{JOB}/train.yaml").decode()
    assert written == story.source["workloads/ml/train.yaml"]


def test_clusters_are_listed_as_the_policy_likes_them() -> None:
    story = fleet(rule=left("type: Ordered, order: [{names: [b]}, {names: [a]}]"))
    story.run()
    assert listed(story) == nominated(story) == ["b", "a"]


def test_kueue_is_told_of_a_policy_before_there_is_a_job() -> None:
    story = fleet(rayservice("web", "api"), rule=left(select="{kinds: [RayJob]}") | ANYWHERE)
    story.source |= policy("anywhere", "select: {}\nprecedence: -1")
    story.run()
    assert listed(story) == ["a", "b"]


def test_no_room_is_promised_or_taken() -> None:
    story = fleet(job(workers=8), SETTINGS, job("other", workers=8), rayservice("web", "api", workers=8))
    story.source |= left(select="{kinds: [RayJob]}") | policy("anywhere", "select: {}\nprecedence: -1")
    done = story.run()
    assert outcome(done) == {
        JOB: "Place hub KueueAdmits", "ml/other": "Place hub KueueAdmits", "web/api": "Place a Fits"
    }  # fmt: skip
    assert only(done).cost_per_hour is None


def test_what_kueue_started_is_seen_where_it_runs_and_takes_its_room() -> None:
    story = fleet(job(workers=8), SETTINGS, rule=left(select="{kinds: [RayJob]}"))
    story.source |= policy("anywhere", "select: {}\nprecedence: -1\nclusters: {names: [a]}")
    story.run()
    pods = ", ".join(["{role: head, node: n1}", *["{role: worker/gpu, node: n1}"] * 8])
    seen(story, "a", f"name: {JOB}, phase: Running, pods: [{pods}]", node=LARGE)
    story.source |= rayservice("web", "api", workers=1)
    assert outcome(story.run())["web/api"] == "Wait  NoClusterFits"
    seen(story, "a", node=LARGE)
    assert outcome(story.run())["web/api"] == "Place a Fits"


def test_what_kueue_may_have_started_is_looked_for_on_every_cluster_where_it_may_be() -> None:
    """A snapshot that did not would show nothing of it, which would be taken for its being gone."""
    story = fleet()
    story.run()
    known = PlacementRecord.model_validate(record(story, JOB))
    ray = ("ray.io", "RayJob")
    assert {name: ray in Placed.on(name, [known]).kinds_here for name in ("hub", "a", "b", "c")} == {
        "hub": True, "a": True, "b": True, "c": False,
    }  # fmt: skip


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?){0,3}", fullmatch=True))
def test_what_kueue_is_told_has_a_name_that_it_can_refer_to(name: str) -> None:
    listed_, check = yaml.safe_load_all(config(name, ["a"]))
    refers_to = check["spec"]["parameters"]["name"]
    assert refers_to == listed_["metadata"]["name"] == check["metadata"]["name"] == check_name(name)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", refers_to) and len(refers_to) <= 63
    assert check_name(name) != check_name(f"{name}x")


# who is nominated

NOMINATED = [
    # (what is done to cluster b, why it is not nominated)
    (cluster("b"), "ClusterNotSelected"),
    (cluster("b", labels=GPU, state="Cordoned"), "ClusterCordoned"),
    (cluster("b", labels=GPU, state="Draining"), "ClusterDraining"),
    (cluster("b", labels=GPU, state="Lost"), "ClusterLost"),
    (cluster("b", labels=GPU, role="Management"), "ManagementCluster"),
    (cluster("b", labels=GPU, taints='[{key: reserved, effect: NoSchedule}]'), "UntoleratedClusterTaint"),
    (cluster("b", labels=GPU, standby="{mode: Suspend, idleAfter: 1h}"), "NotNominated"),
    (cluster("b", labels=GPU, profile="{kuberay: {watchNamespaces: [others]}}"), "FeatureNotServed"),
]  # fmt: skip


@pytest.mark.parametrize(("there", "code"), NOMINATED, ids=[code for _, code in NOMINATED])
def test_a_cluster_that_could_not_run_it_is_not_nominated(there: dict[str, str], code: str) -> None:
    story = fleet()
    story.source |= there
    done = story.run()
    verdicts = {c.cluster: (str(c.verdict), str(c.finding.code)) for c in only(done).candidates}
    assert verdicts["a"] == ("Feasible", "Nominated")
    assert verdicts["b"] == ("Rejected", code)
    assert verdicts["hub"] == ("Chosen", "KueueAdmits")
    assert nominated(story) == ["a"]
    assert where(story, "settings") == ["a", "hub"]


CANNOT = [
    (snapshot("b", LARGE, more="queues: []\n"), "QueueMissing"),
    (snapshot("b", LARGE, more="serves: [apps/v1]\n"), "APINotServed"),
    (snapshot("b", "n1 64 256Gi 1"), "ExceedsCluster"),
]


@pytest.mark.parametrize(("there", "code"), CANNOT, ids=[code for _, code in CANNOT])
def test_a_cluster_that_is_known_not_to_do_is_listed_and_not_nominated_to_the_group(
    there: dict[str, str], code: str
) -> None:
    """Others of the policy may run there, and Kueue has one list for all of them."""
    story = fleet()
    story.capacity |= there
    done = story.run()
    assert next(str(c.finding.code) for c in only(done).candidates if c.cluster == "b") == code
    assert nominated(story) == ["a"]
    assert listed(story) == ["a", "b"]
    seen(story, "b", node=LARGE)
    assert outcome(story.run()) == {JOB: "Update hub Updated"}
    assert nominated(story) == ["a", "b"]


def test_no_snapshot_is_needed_to_nominate() -> None:
    story = fleet()
    story.capacity = {}
    assert outcome(story.run()) == {JOB: "Place hub KueueAdmits"}
    assert nominated(story) == ["a", "b"]


def test_a_group_waits_as_long_as_no_cluster_could_run_it() -> None:
    story = fleet(job(workers=64), SETTINGS)
    done = story.run()
    assert outcome(done) == {JOB: "Wait  NoEligibleCluster"}
    assert {c.cluster: str(c.finding.code) for c in only(done).candidates} == {
        "a": "ExceedsCluster", "b": "ExceedsCluster", "c": "ClusterNotSelected", "hub": "NoNominee",
    }  # fmt: skip
    assert where(story, "settings") == []


MANAGERS = [
    (cluster("hub", role="Management", state="Cordoned"), "", "ClusterCordoned"),
    (HUB, "serves: [apps/v1]\n", "APINotServed"),
    (HUB, "queues: []\n", "QueueMissing"),
    (cluster("hub", role="Management", profile='{kuberay: {version: 1.2.2}}'), "", "FeatureNotServed"),
]  # fmt: skip


@pytest.mark.parametrize(("hub", "more", "code"), MANAGERS, ids=[code for *_, code in MANAGERS])
def test_a_manager_that_cannot_have_it_keeps_it_waiting(hub: dict[str, str], more: str, code: str) -> None:
    story = fleet()
    story.source |= hub
    if more:
        story.capacity |= snapshot("hub", LARGE, more=more)
    done = story.run()
    assert outcome(done) == {JOB: "Wait  NoEligibleCluster"}
    assert next(str(c.finding.code) for c in only(done).candidates if c.cluster == "hub") == code


def test_kueue_takes_so_many_clusters_and_no_more() -> None:
    story = fleet()
    names = [f"w{number:02}" for number in range(MOST)]
    for name in names:
        story.source |= cluster(name, labels=GPU)
    done = story.run()
    assert listed(story) == nominated(story) == ["a", "b", *names[:-2]]
    assert [p.code for p in done.problems] == ["DispatchTooMany"]
    assert {c.cluster: finding_text(c.finding) for c in only(done).candidates}[names[-1]] == (
        "it is not nominated: Kueue takes no more clusters"
    )


# what was nominated stays


def test_a_cluster_where_it_may_run_is_not_taken_off_the_list_before_it_has_ended() -> None:
    """Kueue looks no more at a cluster that is not listed, and would start what runs there again elsewhere."""
    story = fleet()
    story.run()
    for there in (cluster("b", labels=GPU, state="Draining"), cluster("b"), cluster("b", labels=GPU, state="Cordoned")):
        story.source |= there
        assert outcome(story.run()) == {JOB: "Keep hub Kept"}
        assert sorted(listed(story)) == sorted(nominated(story)) == ["a", "b"]
        assert where(story, "settings") == ["a", "b", "hub"]


def test_a_group_that_comes_while_a_cluster_is_still_listed_may_be_started_there() -> None:
    story = fleet()
    story.run()
    story.source |= cluster("b", labels=GPU, state="Draining") | job("late")
    story.run()
    assert listed(story) == nominated(story, "ml/late") == ["a", "b"]


@pytest.mark.parametrize("gone", ["Lost", "removed"])
def test_a_cluster_that_is_declared_lost_or_gone_is_forgotten(gone: str) -> None:
    story = fleet()
    story.run()
    if gone == "Lost":
        story.source |= cluster("b", labels=GPU, state="Lost")
    else:
        del story.source["clusters/b.yaml"]
        del story.capacity["b.yaml"]
    story.run()
    assert listed(story) == nominated(story) == ["a"]
    assert where(story, "settings") == ["a", "hub"]
    assert not story.plan().steps


def ended(story: Story, phase: str = "Succeeded") -> Hydration:
    """The manager has shown twice that the job has run to its end."""
    for _ in range(2):
        later(story, minutes=10)
        seen(story, "hub", f"name: {JOB}, phase: {phase}")
        done = story.run()
    return done


def test_a_job_that_has_ended_needs_nothing_on_clusters_where_it_could_have_run() -> None:
    story = fleet()
    story.run()
    story.source |= cluster("b", labels=GPU, state="Draining")
    ended(story)
    assert nominated(story) == []
    assert where(story, "settings") == ["hub"]
    assert listed(story) == ["a"]
    assert not story.plan().steps


def test_a_new_cluster_is_nominated_to_what_waits_already() -> None:
    story = fleet()
    story.run()
    story.source |= cluster("d", labels=GPU)
    assert outcome(story.run()) == {JOB: "Update hub Updated"}
    assert listed(story) == nominated(story) == ["a", "b", "d"]


def test_the_queue_is_chosen_once() -> None:
    """Kueue refuses another queue for what it has admitted, so a policy's new queue is for what comes after."""
    story = fleet()
    story.run()
    story.source |= left(queue="others") | job("late")
    story.run()
    labels = {
        name: read(story, f"clusters/hub/workloads/ml/{name}/{name}.yaml")["metadata"]["labels"][QUEUE]  # type: ignore[index]
        for name in ("train", "late")
    }
    assert labels == {"train": "gpus", "late": "others"}


# into and out of it


def placed() -> Story:
    """A job that gitplacer has put on a, and that its policy then leaves to Kueue."""
    story = fleet(rule=policy("left", "select: {}\nclusters: {names: [a]}"))
    assert outcome(story.run()) == {JOB: "Place a Fits"}
    story.source |= left()
    return story


def test_a_job_that_may_have_started_is_not_handed_over() -> None:
    story = placed()
    seen(story, "a", f"name: {JOB}, phase: Running", node=LARGE)
    later(story, minutes=10)
    done = story.run()
    assert outcome(done) == {JOB: "Hold a MayHaveStarted"}
    assert where(story, "train") == ["a"]
    assert "managedBy" not in story.deployment.read(f"clusters/a/workloads/{JOB}/train.yaml").decode()


def test_a_job_that_has_not_started_is_handed_over_when_it_is_gone() -> None:
    story = placed()
    for _ in range(2):
        later(story, minutes=10)
        seen(story, "a", f"name: {JOB}, phase: Pending", node=LARGE)
        done = story.run()
    assert subjects(done)[0] == f"Relocate {JOB} from a to hub: remove from a"
    assert where(story, "train") == []
    assert f"moving/{JOB}/train.yaml" in story.deployment
    for _ in range(3):
        later(story, minutes=10)
        seen(story, "a", node=LARGE)
        assert len(where(story, "train")) <= 1
        done = story.run()
        if where(story, "train"):
            break
    assert subjects(done)[0] == f"Relocate {JOB} from a to hub: add to hub"
    assert where(story, "train") == ["hub"]
    assert where(story, "settings") == ["a", "b", "hub"]
    assert not story.plan().steps


def test_a_service_is_handed_over_in_one_commit() -> None:
    story = fleet(rayservice("ml", "api"), rule=policy("left", "select: {}\nclusters: {names: [a]}"))
    story.run()
    story.source |= left(relocation="{strategy: Surge}")
    done = story.run()
    assert outcome(done) == {"ml/api": "Relocate hub NotEligible"}
    assert subjects(done)[0] == "Relocate ml/api from a to hub"
    assert "managedBy" in story.deployment.read("clusters/hub/workloads/ml/api/api.yaml").decode()


def taken_back(relocation: str = "{}") -> Story:
    """A job that was left to Kueue, whose policy then wants it on a."""
    story = fleet()
    story.run()
    story.source |= policy("left", f"select: {{}}\nclusters: {{names: [a]}}\nrelocation: {relocation}")
    return story


def test_a_job_that_kueue_may_have_started_stays_with_kueue() -> None:
    story = taken_back()
    for _ in range(3):
        later(story, minutes=10)
        seen(story, "hub", f"name: {JOB}, phase: Pending")
        done = story.run()
        assert outcome(done) == {JOB: "Hold hub MayHaveStarted"}
    manifest = read(story, f"clusters/hub/workloads/{JOB}/train.yaml")
    assert manifest["spec"]["managedBy"] == MULTIKUEUE  # type: ignore[index]
    assert listed(story) == nominated(story) == ["a", "b"]
    assert not story.plan().steps


def test_an_edit_of_a_job_that_stays_with_kueue_leaves_it_to_kueue() -> None:
    story = taken_back()
    story.source |= job(spec="  ttlSecondsAfterFinished: 60\n")
    assert outcome(story.run()) == {JOB: "Hold hub MayHaveStarted"}
    manifest = read(story, f"clusters/hub/workloads/{JOB}/train.yaml")
    assert manifest["spec"] == manifest["spec"] | {"managedBy": MULTIKUEUE, "ttlSecondsAfterFinished": 60}  # type: ignore[index, operator]


def test_a_policy_that_cannot_be_read_takes_nothing_back() -> None:
    story = fleet()
    story.run()
    story.source["policies/left.yaml"] = story.source["policies/left.yaml"].replace("multiKueue", "multiQueue")
    story.run()
    assert listed(story) == ["a", "b"]
    assert where(story, "train") == ["hub"]


def test_a_policy_that_is_gone_takes_back_what_kueue_was_told_when_nothing_is_left_to_it() -> None:
    story = fleet()
    story.run()
    del story.source["policies/left.yaml"]
    story.source |= ANYWHERE
    story.run()
    assert listed(story) == ["a", "b"]
    for name in ("train", "settings"):
        del story.source[f"workloads/ml/{name}.yaml"]
    story.run()
    assert CONFIG not in story.deployment
    assert story.files() == []
    assert not story.plan().steps


def test_a_job_that_may_be_restarted_leaves_when_it_is_gone_everywhere() -> None:
    """Whatever the manager says: it may run where Kueue has started it."""
    story = taken_back("{runningJobs: Restart}")
    done = story.run()
    assert subjects(done)[0] == f"Relocate {JOB} from hub to a: remove from hub"
    assert where(story, "train") == where(story, "settings") == []
    running = f"name: {JOB}, phase: Running"
    for on_b in (running, running, ""):
        later(story, minutes=10)
        seen(story, "hub")
        seen(story, "a", node=LARGE)
        seen(story, "b", *([on_b] if on_b else []), node=LARGE)
        story.run()
        assert where(story, "train") == []
    later(story, minutes=10)
    for name in ("hub", "a", "b"):
        seen(story, name, node=LARGE)
    done = story.run()
    assert subjects(done)[0] == f"Relocate {JOB} from hub to a: add to a"
    assert where(story, "train") == where(story, "settings") == ["a"]
    assert "dispatch" not in record(story, JOB)
    assert CONFIG not in story.deployment
    assert "managedBy" not in story.deployment.read(f"clusters/a/workloads/{JOB}/train.yaml").decode()


def test_another_manager_takes_over_no_sooner_than_anything_else_would() -> None:
    story = fleet()
    story.run()
    story.source |= cluster("other", role="Management") | left(manager="other")
    assert outcome(story.run()) == {JOB: "Hold hub MayHaveStarted"}
    assert listed(story) == ["a", "b"]
    assert listed(story, "clusters/other/platform/multikueue/left.yaml") == ["a", "b"]


# what is not ours


def test_what_somebody_else_wrote_stays() -> None:
    story = fleet()
    story.run()
    theirs = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: x}\n"
    story.deployment = story.deployment.apply(Changes({CONFIG: theirs}, frozenset()))
    story.source |= cluster("d", labels=GPU)
    assert [(p.code, str(p.location)) for p in story.run().problems] == [("DispatchNotOurs", f"{CONFIG}:1:1")]
    assert story.deployment.read(CONFIG) == theirs


def test_a_file_of_a_nominee_that_somebody_changed_holds_the_group() -> None:
    story = fleet()
    story.run()
    path = f"clusters/b/workloads/{JOB}/settings.yaml"
    before = story.deployment.entries[path].oid
    story.deployment = story.deployment.apply(Changes({path: b"apiVersion: v1\nkind: ConfigMap\n"}, frozenset()))
    story.foreign = {path: before}
    done = story.run()
    assert outcome(done) == {JOB: "Hold hub ForeignChange"}
    assert path in only(done).finding.subject


# what cannot be left to Kueue: the check dispatching

CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
BATCH = (
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"
    "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}}}\n"
)


def with_claim() -> dict[str, str]:
    ((path, text),) = job().items()
    volume = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], containers"
    return {path: text.replace("containers", volume), "workloads/ml/data.yaml": CLAIM}


REFUSED = [
    ("batch", {"workloads/ml/train.yaml": BATCH}, {}, "DispatchKind workloads/ml/train.yaml:3:18"),
    ("claim", {**with_claim(), **SETTINGS}, {}, "DispatchKind workloads/ml/data.yaml:3:18"),
    ("existing cluster", {**job(spec="  clusterSelector: {ray.io/cluster: shared}\n"), **SETTINGS}, {}, "DispatchKind workloads/ml/train.yaml:7:3"),
    ("other queue", {**job(metadata=f"  labels: {{{QUEUE}: mine}}\n"), **SETTINGS}, {}, "DispatchContradicted workloads/ml/train.yaml:5:12"),
    ("KubeRay", {**job(spec="  managedBy: ray.io/kuberay-operator\n"), **SETTINGS}, {}, "DispatchContradicted workloads/ml/train.yaml:7:3"),
    ("suspended", {**job(spec="  suspend: true\n"), **SETTINGS}, {}, "DispatchContradicted workloads/ml/train.yaml:7:3"),
    ("cluster", {**job(metadata="  annotations: {gitplacer.dev/cluster: a}\n"), **SETTINGS}, {}, "DispatchContradicted workloads/ml/train.yaml:5:17"),
    ("unknown manager", {}, left(manager="hbu"), "DispatchManager policies/left.yaml:7:48"),
    ("manager among them", {}, cluster("hub", labels=GPU), "DispatchManager policies/left.yaml:7:48"),
    ("manager sleeps", {}, cluster("hub", standby="{mode: Suspend, idleAfter: 1h}"), "DispatchManager policies/left.yaml:7:48"),
    ("tenant", {}, {"tenants/ml.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: ml}\nspec: {paths: ['workloads/**'], namespaces: ['*'], clusters: {names: [a]}}\n"}, "DispatchTenant workloads/ml/train.yaml:4:9"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "more", "told"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_be_left_to_kueue_is_held_and_told_where(
    files: dict[str, str], more: dict[str, str], told: str
) -> None:
    story = fleet(*([files] if files else []))
    story.source |= more
    done = story.run()
    assert told in {f"{p.code} {p.location}" for p in done.problems}
    assert all(p.hint for p in done.problems if p.code.startswith("Dispatch"))
    assert {text.split()[0] for text in outcome(done).values()} == {"Hold"}
    assert where(story, "train") == []


def test_two_ray_objects_of_one_group_could_be_started_apart() -> None:
    story = fleet(job(), SETTINGS, job("second"))
    story.source |= policy(
        "left",
        "select: {}\ngroupBy: {namespace: true}\nclusters: {matchLabels: {gpu: 'yes'}}\n"
        "placement: {dispatch: {multiKueue: {manager: hub, queue: gpus}}}",
    )
    assert "DispatchKind" in {p.code for p in story.run().problems}


@pytest.mark.parametrize("spec", ["  suspend: false\n", ""])
def test_what_kueue_would_refuse_is_said_before(spec: str) -> None:
    ((path, text),) = job(spec=spec).items()
    story = fleet({path: text.replace("  shutdownAfterJobFinishes: true\n", "")}, SETTINGS)
    done = story.run()
    assert outcome(done)[JOB].startswith("Hold")
    assert "KueueRefuses" in {p.code for p in done.problems}


POLICIES = [
    ("placement: {copies: 2, %s}", "copies: 1"),
    ("placement: {copies: All, %s}", "copies: 1"),
    ("placement: {type: Divide, %s}", "type: Capacity or Ordered"),
    ("placement: {type: Cheapest, %s}", "type: Capacity or Ordered"),
    ("placement: {admission: Immediate, %s}", "admission: Gang"),
    ("placement: {span: IfNeeded, %s}", "span: Never"),
    ("budgetPerHour: '1'\nplacement: {%s}", "budgetPerHour"),
    ("preempts: LowerPriority\nplacement: {%s}", "preempts: LowerPriority"),
    ("preemptible: true\nplacement: {%s}", "preemptible: true"),
    (
        "relocation: {when: {PreferredAvailable: Automatic}}\nplacement: {type: Ordered, order: [{names: [a]}], %s}",
        "when.PreferredAvailable",
    ),
]


@pytest.mark.parametrize(("spec", "told"), POLICIES, ids=[told for _, told in POLICIES])
def test_what_kueue_knows_nothing_of_is_refused_beside_it(spec: str, told: str) -> None:
    story = fleet(rule=policy("left", "select: {}\n" + spec % "dispatch: {multiKueue: {manager: hub, queue: gpus}}"))
    (problem,) = [p for p in story.run().problems if p.code == "InvalidValue"]
    assert told in problem.message
    assert problem.location.file == "policies/left.yaml"
    assert judged(yaml.safe_load(story.source["policies/left.yaml"]))[1] is False


@pytest.mark.parametrize("dispatch", ["{}", "{multiKueue: {manager: hub}}", "{multiKueue: {queue: q}}", "{multiKueue: {manager: Hub, queue: q}}", "{multiQueue: {manager: hub, queue: q}}"])  # fmt: skip
def test_a_dispatch_that_is_not_whole_is_refused_with_its_line(dispatch: str) -> None:
    story = fleet(rule=policy("left", f"select: {{}}\nplacement: {{dispatch: {dispatch}}}"))
    done = story.run()
    assert [p.location.file for p in done.problems][:1] == ["policies/left.yaml"]
    assert outcome(done)[JOB].startswith("Hold")


@pytest.mark.parametrize("spec", ["{}", "[]", "text", "{clusterSelector: 3}", "{managedBy: [a], suspend: 1}"])
@pytest.mark.parametrize("kind", ["RayJob", "RayCluster", "RayService"])
def test_a_manifest_that_is_none_is_told_as_such(kind: str, spec: str) -> None:
    text = f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: train}}\nspec: {spec}\n"
    story = fleet({"workloads/ml/train.yaml": text})
    assert {p.location.file for p in story.run().problems} == {"workloads/ml/train.yaml"}
    assert where(story, "train") == []


# what others are told


def test_a_drain_names_what_it_does_not_take_away() -> None:
    story = fleet()
    story.run()
    ground = Ground.of(story.inputs(), story.memory)
    found = drain(ground, "b")
    assert (found.nominated, found.is_empty) == ((JOB,), False)
    assert verdict(found) == (
        "b has no groups; Kueue may have started ml/train there, which no pass takes away: stop its ClusterQueue there"
    )
    assert drain(ground, "c").is_empty


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_an_engine_syncs_a_cluster_as_soon_as_a_policy_names_it_for_its_kueue(engine: str) -> None:
    story = fleet()
    own = story.plan().snapshot.source.own
    for named in (frozenset[str](), managers(own.policies)):
        files = TABLE[engine](
            own.fleet.spec, list(own.clusters.values()), "ssh://git@example.com/deployment", Wanted(managers=named)
        )
        assert ("hub" in "".join([*files, *(data.decode() for data in files.values())])) == bool(named)


def test_a_dispatcher_is_told_the_nominees_and_not_the_manager() -> None:
    story = fleet()
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace("spec: {}", "spec: {decisions: {into: hub}}")
    story.run()
    told = read(story, f"clusters/hub/platform/decisions/{JOB}.yaml")
    assert [d["clusterProfileRef"]["name"] for d in told["decisions"]] == ["a", "b"]  # type: ignore[attr-defined]
    assert {d["reason"] for d in told["decisions"]} == {"KueueAdmits"}  # type: ignore[attr-defined]


def test_what_several_groups_need_is_on_nominees_as_long_as_one_of_them_does() -> None:
    story = fleet(job(), job("second"), SETTINGS)
    story.run()
    shared = [f"clusters/{name}/workloads/ml/_shared/settings.yaml" for name in ("a", "b", "hub")]
    assert [path for path in story.files() if "settings" in path] == shared
    del story.source["workloads/ml/second.yaml"]
    story.run()
    assert where(story, "settings") == ["a", "b", "hub"] or [p for p in story.files() if "settings" in p] == shared
    ended(story)
    assert {path.split("/")[1] for path in story.files() if "settings" in path} == {"hub"}


def test_a_cluster_that_runs_it_does_not_become_its_own_manager() -> None:
    """KubeRay would go on with what it has started, and `managedBy` cannot be changed: it ends where it is."""
    story = fleet(rule=policy("left", "select: {}\nclusters: {names: [c]}"))
    story.run()
    story.source |= left(manager="c")
    done = story.run()
    assert outcome(done)[JOB].startswith("Hold c")
    assert "managedBy" not in story.deployment.read(f"clusters/c/workloads/{JOB}/train.yaml").decode()


EVENTS = st.one_of(
    st.tuples(st.just("state"), st.sampled_from("ab"), st.sampled_from(["Active", "Cordoned", "Draining", "Lost"])),
    st.tuples(st.just("label"), st.sampled_from("abc"), st.sampled_from([GPU, "{}"])),
    st.tuples(st.just("rule"), st.sampled_from(["left", "restarts", "on a", "none"])),
    st.tuples(st.just("seen"), st.sampled_from(["", "Pending", "Running", "Succeeded"]), st.sampled_from(["hub", "a", "b"])),
    st.just(("quiet",)),
)  # fmt: skip


def _rule(name: str) -> dict[str, str]:
    match name:
        case "left":
            return left()
        case "restarts":
            return policy("left", "select: {}\nclusters: {names: [a]}\nrelocation: {runningJobs: Restart}")
        case "on a":
            return policy("left", "select: {}\nclusters: {names: [a]}")
    return policy("left", "select: {kinds: [RayService]}")


@settings(max_examples=15, deadline=None)
@given(st.lists(EVENTS, min_size=2, max_size=6))
def test_whatever_happens_the_job_is_in_one_place_and_where_it_may_run_is_listed(events: list[tuple[str, ...]]) -> None:
    story, labels, states = fleet(), dict.fromkeys("abc", GPU) | {"c": "{}"}, dict.fromkeys("abc", "Active")
    story.run()
    might: set[str] = set()
    for event in events:
        later(story, minutes=10)
        match event:
            case ("state", name, state):
                states[name] = state
            case ("label", name, text):
                labels[name] = text
            case ("rule", name):
                story.source |= _rule(name)
            case ("quiet",):
                for name in ("hub", "a", "b", "c"):
                    seen(story, name, node=LARGE)
            case ("seen", phase, name):
                seen(story, name, *([f"name: {JOB}, phase: {phase}"] if phase else []), node=LARGE)
        for name in "abc":
            story.source |= cluster(name, labels=labels[name], state=states[name])
        before = might
        story.run()
        has = record(story, JOB)
        dispatch, ended_ = has.get("dispatch"), "finished" in has
        might = set(nominated(story)) if dispatch else set()
        assert len(where(story, "train")) <= 1
        assert len(where(story, "train")) + (f"moving/{JOB}/train.yaml" in story.deployment) <= 1
        if where(story, "train") == ["hub"]:
            manifest = read(story, f"clusters/hub/workloads/{JOB}/train.yaml")
            assert dispatch and manifest["spec"]["managedBy"] == MULTIKUEUE  # type: ignore[index]
        there = {name for name in might if states[name] != "Lost"}
        if there and any(entry["name"] == "hub" for entry in has["clusters"]):  # type: ignore[attr-defined]
            assert there <= set(listed(story))
        if dispatch and before and not ended_ and where(story, "train") == ["hub"]:
            assert {name for name in before - might if states[name] != "Lost"} == set()
        assert not story.plan().steps

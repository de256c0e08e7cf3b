"""Clusters that sleep: who wakes them, when they go to sleep, what is written where and when."""

from __future__ import annotations

from datetime import timedelta

import pytest
import yaml

from gitplacer.formats.status import status_json, status_text
from gitplacer.hydrate import Hydration
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.problems import Rejected, Severity
from gitplacer.tree import Tree
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayjob, rayservice, snapshot

FLEET = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec:
  platform: {paths: ["platform/**", "standby/**"]}
"""
TAINT = "labels: {pool: gpu}, taints: [{key: nvidia.com/gpu}]"
GKE = """[
    {name: e2-medium, count: 2, allocatable: {cpu: "2", memory: 4G}},
    {name: e2-standard-4, allocatable: {cpu: "4", memory: 16G}},
    {name: g2-standard-16, allocatable: {cpu: "16", memory: 64G, nvidia.com/gpu: "1"}, taints: [{key: nvidia.com/gpu}]}]"""
EKS = """[
    {name: m5-large, count: 2, allocatable: {cpu: "2", memory: 8G}},
    {name: t3a-xlarge, allocatable: {cpu: "4", memory: 16G}},
    {name: g6-4xlarge, allocatable: {cpu: "16", memory: 64G, nvidia.com/gpu: "1"}, taints: [{key: nvidia.com/gpu}]}]"""


def hub() -> dict[str, str]:
    return cluster("hub", role="Management")


def pool(name: str, size: int) -> str:
    return (
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\n"
        f"metadata: {{name: {name}, namespace: fleet}}\nspec: {{clusterName: {name}, replicas: {size}}}  # {name}\n"
    )


def manifests(name: str) -> dict[str, str]:
    """The manifests of a cluster that is awake, and of one that sleeps."""
    return {
        f"standby/{name}/active/pool.yaml": pool(name, 4),
        f"standby/{name}/standby/pool.yaml": pool(name, 0),
    }


def sleeper(name: str, nodes: str, mode: str = "Suspend", more: str = "", **spec: str) -> dict[str, str]:
    """A cluster that may sleep, with its manifests."""
    standby = (
        f"\n    mode: {mode}\n    idleAfter: 1h\n    ignoreNamespaces: [kuberayns]\n    nodes: {nodes}\n"
        f"    manifests: {{active: standby/{name}/active, standby: standby/{name}/standby, renderInto: hub}}{more}"
    )
    return {**cluster(name, standby=standby, **spec), **manifests(name)}


def llm(namespace: str) -> dict[str, str]:
    """The RayService of the two-cloud demo: a head that tolerates nothing, and a worker with a GPU."""
    text = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: llm, labels: {app.kubernetes.io/instance: rayservice}}
spec:
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: head, image: ray, resources: {requests: {cpu: "2", memory: 8Gi}}}]}}
    workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      minReplicas: 1
      maxReplicas: 1
      rayStartParams: {}
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists}]
          containers: [{name: worker, image: ray, resources: {limits: {nvidia.com/gpu: "1"}, requests: {cpu: "8", memory: 20Gi}}}]
"""
    return {f"workloads/{namespace}/llm.yaml": text}


PRIORITY = policy(
    "clouds",
    """
    select: {namespaces: ["vllm*"]}
    groupBy: {label: app.kubernetes.io/instance}
    placement:
      type: Ordered
      order:
      - {matchLabels: {gitplacer.dev/provider: openstack}}
      - {matchLabels: {gitplacer.dev/provider: gce}}
      - {matchLabels: {gitplacer.dev/provider: aws}}
    """,
)


def two_clouds(**more: str) -> Story:
    return Story.of(
        {"fleet.yaml": FLEET},
        hub(),
        sleeper("gke", GKE, provider="gce"),
        sleeper("eks", EKS, provider="aws"),
        PRIORITY,
        more,
    )


def state(story: Story, name: str) -> str:
    """`State` of a cluster, with ` idle` where its idleness counts."""
    body = yaml.safe_load(story.deployment.read(f"fleet/{name}.yaml"))
    found = ClusterState.model_validate(body, by_alias=True, by_name=False)
    return found.state + (" idle" if found.idle_since else "")


def rendered(story: Story, name: str) -> str:
    return story.deployment.read(f"clusters/hub/platform/standby/{name}/pool.yaml").decode()


def after(story: Story, hours: float) -> Hydration:
    story.now += timedelta(hours=hours)
    return story.run()


def errors(done: Hydration) -> list[str]:
    return [f"{p.location} {p.code}: {p.message}" for p in done.problems if p.severity is Severity.ERROR]


def subjects(done: Hydration) -> list[str]:
    return [step.message.partition("\n")[0] for step in done.steps]


def asleep() -> Story:
    """Both clouds, after an hour in which nobody needed them."""
    story = two_clouds()
    assert errors(story.run()) == []
    assert (state(story, "gke"), state(story, "eks")) == ("Waking idle", "Waking idle")
    after(story, 1)
    assert (state(story, "gke"), state(story, "eks")) == ("Standby", "Standby")
    assert rendered(story, "gke") == pool("gke", 0)
    return story


def test_the_first_cloud_of_the_order_wakes_and_gets_its_workload_in_the_same_commit() -> None:
    story = asleep()
    story.source |= llm("vllm1")
    done = story.run()
    assert outcome(done) == {"vllm1/rayservice": "Place gke Fits"}
    assert subjects(done) == ["Place vllm1/rayservice, wake gke"]
    (step,) = done.steps
    assert {
        "clusters/gke/workloads/vllm1/rayservice/llm.yaml",
        "clusters/hub/platform/standby/gke/pool.yaml",
        "fleet/gke.yaml",
    } <= step.changes.written.keys()
    assert rendered(story, "gke") == pool("gke", 4)
    assert (state(story, "gke"), state(story, "eks")) == ("Waking", "Standby")
    assert story.run().steps == ()


def test_a_head_that_tolerates_nothing_does_not_fit_where_only_the_tainted_node_has_room() -> None:
    crowded = GKE.replace('e2-standard-4, allocatable: {cpu: "4"', 'e2-standard-4, allocatable: {cpu: "1"')
    story = Story.of(
        {"fleet.yaml": FLEET},
        hub(),
        sleeper("gke", crowded, provider="gce"),
        sleeper("eks", EKS, provider="aws"),
        PRIORITY,
    )
    story.run()
    after(story, 1)
    story.source |= llm("vllm1")
    assert outcome(story.run()) == {"vllm1/rayservice": "Place eks Fits"}
    assert (state(story, "gke"), state(story, "eks")) == ("Standby", "Waking")


def awake_gke() -> dict[str, str]:
    return snapshot(
        "gke",
        "a 2 4G",
        "b 2 4G",
        "c 4 16G",
        "d 16 64G 1|, taints: [{key: nvidia.com/gpu}]",
    )


def seen(story: Story, files: dict[str, str], more: str = "") -> None:
    """A snapshot of now."""
    (path,) = files
    at = f'observedAt: "{story.now:%Y-%m-%dT%H:%M:%SZ}"'
    story.capacity[path] = files[path].replace('observedAt: "2026-01-02T03:05:00Z"', at) + more


def test_the_demo_of_two_clouds() -> None:
    story = asleep()
    story.source |= llm("vllm1")
    story.run()
    story.source |= llm("vllm2")
    done = story.run()
    assert outcome(done)["vllm2/rayservice"] == "Place eks Fits", "the only GPU of gke is taken"
    assert subjects(done) == ["Place vllm2/rayservice, wake eks"]
    story.now += timedelta(minutes=6)
    seen(story, awake_gke())
    done = story.run()
    assert subjects(done) == ["Count gke as awake"]
    assert (state(story, "gke"), state(story, "eks")) == ("Active", "Waking")
    del story.source["workloads/vllm1/llm.yaml"]
    done = story.run()
    assert outcome(done)["vllm1/rayservice"] == "Remove  SourceRemoved"
    assert state(story, "gke") == "Active idle"
    assert subjects(after(story, 0.9)) == ["Count eks as awake"], (
        "it did not come in time, but its API server was never gone"
    )
    done = after(story, 0.1)
    assert subjects(done) == ["Put gke to sleep"]
    assert state(story, "gke") == "Standby" and rendered(story, "gke") == pool("gke", 0)
    assert state(story, "eks") == "Active"
    assert after(story, 100).steps == ()


def test_a_cluster_is_not_put_to_sleep_under_what_still_runs() -> None:
    story = asleep()
    story.source |= llm("vllm1")
    story.run()
    story.now += timedelta(minutes=6)
    running = "groups: [{name: vllm1/rayservice, phase: Running}]\n"
    seen(story, awake_gke(), running)
    story.run()
    del story.source["workloads/vllm1/llm.yaml"]
    story.run()
    assert state(story, "gke") == "Active", "gone from Git, and not from the cluster"
    after(story, 3)
    assert state(story, "gke") == "Active"
    seen(story, awake_gke())
    story.run()
    assert state(story, "gke") == "Active idle"


def test_a_cluster_that_a_group_leaves_is_not_idle_while_a_snapshot_shows_the_group() -> None:
    story = two_clouds(**llm("vllm1"))
    nodes = [
        "e2-medium-1 2 4G",
        "e2-medium-2 2 4G",
        "e2-standard-4 4 16G",
        "g2-standard-16 16 64G 1|, taints: [{key: nvidia.com/gpu}]",
    ]
    story.run()
    story.now += timedelta(hours=2)
    shown = "groups: [{name: vllm1/rayservice, phase: Running, ready: true}]\n"
    story.capacity |= snapshot("gke", *nodes, at=story.now, more=shown)
    story.source |= sleeper("gke", GKE, provider="gce", state="Draining")
    done = story.run()
    assert outcome(done)["vllm1/rayservice"] == "Relocate eks ClusterDraining"
    assert "idleSince" not in yaml.safe_load(story.deployment.read("fleet/gke.yaml"))
    assert story.run().steps == ()


def test_an_operator_keeps_no_cluster_awake_and_wakes_none() -> None:
    story = asleep()
    operators = policy("operators", "select: {namespaces: [kuberayns]}\nplacement: {copies: All}\nprecedence: 5")
    operator = {k.replace("vllm1", "kuberayns"): v for k, v in llm("vllm1").items()}
    story.source |= operators | operator
    done = story.run()
    assert outcome(done) == {"kuberayns/llm": "Place eks,gke Fits"}
    assert (state(story, "gke"), state(story, "eks")) == ("Standby", "Standby")
    assert "clusters/gke/workloads/kuberayns/llm/llm.yaml" in story.deployment


def test_the_manifests_of_clusters_are_no_platform_group_and_go_where_they_are_rendered_into_byte_for_byte() -> None:
    story = two_clouds()
    story.source |= policy("platform", 'select: {paths: ["platform/**", "standby/**"]}\nplacement: {copies: All}')
    done = story.run()
    assert outcome(done) == {}
    assert rendered(story, "gke") == story.source["standby/gke/active/pool.yaml"]
    assert [p for p in story.files() if "MachinePool" in story.deployment.read(p).decode()] == [
        "clusters/hub/platform/standby/eks/pool.yaml",
        "clusters/hub/platform/standby/gke/pool.yaml",
    ]
    assert "clusters/hub/platform/gitplacer.yaml" in story.deployment
    story.source["standby/gke/active/more.yml"] = pool("more", 1)
    story.run()
    assert "clusters/hub/platform/standby/gke/more.yaml" in story.deployment
    del story.source["standby/gke/active/more.yml"]
    story.run()
    assert "clusters/hub/platform/standby/gke/more.yaml" not in story.deployment


def test_a_capacity_policy_takes_a_cluster_that_is_awake_before_one_that_sleeps() -> None:
    nodes = '[{name: n1, allocatable: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "8"}}]'
    story = Story.of(
        {"fleet.yaml": FLEET},
        hub(),
        sleeper("a", nodes),
        cluster("z"),
        ANYWHERE,
        capacity=snapshot("z", "n1 64 256Gi 1"),
    )
    story.run()
    after(story, 1)
    story.source |= llm("one")
    assert outcome(story.run()) == {"one/llm": "Place z Fits"}
    story.source |= llm("two")
    assert outcome(story.run())["two/llm"] == "Place a Fits", "no other has room"
    assert state(story, "a") == "Waking"


# clusters that are deleted

INGESTION = '[{name: m5-large, count: 2, allocatable: {cpu: "2", memory: 8G}}]'
PINNED = policy(
    "ingest", "select: {labelSelector: {matchLabels: {app: modeldataingest}}}\nclusters: {names: [ingestion]}"
)
JOB = {
    "workloads/serving/createvdb.yaml": """\
apiVersion: batch/v1
kind: Job
metadata: {name: createvdb, labels: {app: modeldataingest}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: ingest, image: ingest, resources: {requests: {cpu: 1500m, memory: 1G}}}]
"""
}
BOTH_NODES = ("a 2 8G", "b 2 8G")


def ingestion(*more: dict[str, str]) -> Story:
    """A cluster that is deleted when nobody needs it, asleep."""
    story = Story.of({"fleet.yaml": FLEET}, hub(), sleeper("ingestion", INGESTION, "Delete"), PINNED, *more)
    story.run()
    after(story, 1)
    assert state(story, "ingestion") == "Standby"
    return story


def record(story: Story, group: str) -> list[str]:
    body = yaml.safe_load(story.deployment.read(f"placements/{group}.yaml"))
    return [f"{entry['name']} {entry['state']}" for entry in body["clusters"]]


def test_a_job_waits_for_its_cluster_and_the_cluster_is_deleted_after_it() -> None:
    story = ingestion()
    story.source |= JOB
    done = story.run()
    assert outcome(done) == {"serving/createvdb": "Wait ingestion ClusterWaking"}
    assert subjects(done) == ["Let wait serving/createvdb, wake ingestion"]
    assert record(story, "serving/createvdb") == ["ingestion Waking"]
    assert [p for p in story.files() if "createvdb" in p] == []
    assert rendered(story, "ingestion") == pool("ingestion", 4)
    done = story.run()
    assert done.steps == (), "planning again changes nothing"
    assert "Placed" not in status_text(done.view)
    assert "serving/createvdb  waits  since 2026-01-02T04:07:00Z  ingestion is being woken" in status_text(done.view)
    assert [c["state"] for g in status_json(done.view)["groups"] for c in g["clusters"]] == ["Waking"]

    story.now += timedelta(minutes=10)
    seen(story, snapshot("ingestion", "a 2 8G"))
    assert story.run().steps == (), "one of two nodes"
    seen(story, snapshot("ingestion", *BOTH_NODES))
    done = story.run()
    assert outcome(done) == {"serving/createvdb": "Place ingestion ClusterAwake"}
    assert subjects(done) == ["Place serving/createvdb, count ingestion as awake"]
    assert record(story, "serving/createvdb") == ["ingestion Placed"]
    assert "clusters/ingestion/workloads/serving/createvdb/createvdb.yaml" in story.deployment
    assert state(story, "ingestion") == "Active"
    after(story, 5)
    assert state(story, "ingestion") == "Active", "a job that runs keeps it awake"

    seen(story, snapshot("ingestion", *BOTH_NODES), "groups: [{name: serving/createvdb, phase: Succeeded}]\n")
    story.run()
    assert state(story, "ingestion") == "Active", "one snapshot is not two"
    seen(story, snapshot("ingestion", *BOTH_NODES))
    done = story.run()
    assert outcome(done) == {"serving/createvdb": "Keep ingestion Finished"}
    assert state(story, "ingestion") == "Active idle"
    done = after(story, 1)
    assert outcome(done) == {"serving/createvdb": "Remove  Finished"}
    assert subjects(done) == ["Remove serving/createvdb, put ingestion to sleep"]
    assert [p for p in story.files() if "createvdb" in p] == [], "or it would run again when the cluster comes back"
    assert rendered(story, "ingestion") == pool("ingestion", 0)
    assert after(story, 100).steps == (), "it is done for good, and wakes nothing"


def test_a_snapshot_of_a_cluster_that_was_going_down_does_not_say_that_it_is_there() -> None:
    story = ingestion()
    story.source |= JOB
    story.run()
    story.now += timedelta(minutes=2)
    seen(story, snapshot("ingestion", *BOTH_NODES))
    story.run()
    assert state(story, "ingestion") == "Waking", "too soon after the call"
    epoch = yaml.safe_load(story.deployment.read("fleet/ingestion.yaml"))["manifests"]["epoch"]
    story.capacity |= snapshot("hub", more=f"applied: {{platform: {epoch}}}\n")
    story.run()
    assert state(story, "ingestion") == "Active", "the hub has applied what calls it"


def test_what_waits_for_a_cluster_that_does_not_come_looks_elsewhere() -> None:
    story = ingestion(cluster("spare"))
    story.source |= policy("ingest", "select: {}")
    story.source |= JOB
    assert outcome(story.run()) == {"serving/createvdb": "Wait ingestion ClusterWaking"}
    story.capacity |= snapshot("spare", "n1 8 32Gi")
    assert story.run().steps == (), "its room is kept, and it stays with it"
    done = after(story, 0.5)
    assert outcome(done) == {"serving/createvdb": "Place spare Fits"}
    assert subjects(done) == ["Place serving/createvdb, put ingestion to sleep"]
    assert "did not come, and is left alone until 2026-01-02T05:" in done.steps[0].message
    assert record(story, "serving/createvdb") == ["spare Placed"]
    assert (state(story, "ingestion"), rendered(story, "ingestion")) == ("Standby", pool("ingestion", 0))


def test_a_cluster_that_did_not_come_is_called_again_after_a_while_and_not_before() -> None:
    story = ingestion()
    story.source |= JOB
    story.run()
    done = after(story, 0.5)
    assert outcome(done) == {"serving/createvdb": "Wait  NoEligibleCluster"}
    (verdict,) = [c for c in done.view.plan.decisions[0].candidates if c.cluster == "ingestion"]
    assert verdict.finding.code == "CannotWake"
    calls = []
    for _ in range(60):
        calls += [story.now for s in subjects(story.run()) if "wake ingestion" in s]
    assert len(calls) == 1, "half an hour later, and then it has half an hour"


def test_a_job_that_waits_for_its_cluster_was_never_started_and_may_go_elsewhere() -> None:
    story = ingestion(cluster("spare"))

    job = {
        k: v.replace("name: j\n", "name: j\n  labels: {app: modeldataingest}\n")
        for k, v in rayjob("ns", "j", cpu="1", workers=0).items()
    }
    story.source |= job
    assert outcome(story.run()) == {"ns/j": "Wait ingestion ClusterWaking"}
    story.source |= policy("ingest", "select: {}\nclusters: {names: [spare]}")
    story.capacity |= snapshot("spare", "n1 8 32Gi")
    done = story.run()
    assert outcome(done) == {"ns/j": "Place spare Fits"}, "no relocation: it was nowhere"
    assert record(story, "ns/j") == ["spare Placed"]


def test_an_app_stays_where_it_runs_until_the_cluster_that_it_moves_to_is_there() -> None:
    story = Story.of(
        {"fleet.yaml": FLEET}, hub(), sleeper("new", INGESTION.replace('"2"', '"16"'), "Delete"), cluster("old"), ANYWHERE,
        capacity=snapshot("old", "n1 16 64Gi"),
    )  # fmt: skip
    story.run()
    after(story, 1)

    story.source |= rayservice("ns", "svc", gpus=0)
    assert outcome(story.run()) == {"ns/svc": "Place old Fits"}
    story.source |= cluster("old", state="Draining")
    done = story.run()
    assert outcome(done) == {"ns/svc": "Keep new,old ClusterWaking"}
    assert record(story, "ns/svc") == ["new Waking", "old Placed"]
    file = "workloads/ns/svc/svc.yaml"
    assert f"clusters/old/{file}" in story.deployment and f"clusters/new/{file}" not in story.deployment
    placed = ["ns/svc  new  comes when it is awake", "ns/svc  old  not reported yet"]
    assert [
        line.strip() for line in status_text(story.plan().view).splitlines() if line.startswith("  ns/svc")
    ] == placed
    assert story.run().steps == ()
    story.now += timedelta(minutes=10)
    seen(story, snapshot("new", "a 16 8G", "b 16 8G"))
    done = story.run()
    assert outcome(done) == {"ns/svc": "Relocate new ClusterDraining"}
    assert subjects(done)[0] == "Relocate ns/svc from old to new"
    assert {f"clusters/old/{file}"} == done.steps[0].changes.removed & {f"clusters/old/{file}"}
    assert f"clusters/new/{file}" in story.deployment and f"clusters/old/{file}" not in story.deployment
    assert record(story, "ns/svc") == ["new Placed"]


def test_an_upgrade_by_clone_wakes_the_new_cluster_and_lets_the_emptied_one_sleep() -> None:
    """The old cluster keeps its copy while it has the label, and goes to sleep an hour after it has lost it."""
    nodes = '[{name: n1, count: 2, allocatable: {cpu: "16", memory: 64G}}]'
    spread = policy(
        "spread",
        "select: {namespaces: [vllm1]}\nclusters: {matchLabels: {cluster.type: rayservice}}\nplacement: {copies: All}",
    )
    label = "{cluster.type: rayservice}"

    app = rayservice("vllm1", "llm", gpus=0)
    room = snapshot("blue", "a 16 64G", "b 16 64G")
    story = Story.of(
        {"fleet.yaml": FLEET}, hub(), sleeper("blue", nodes, "Delete", labels=label), spread, app, capacity=room
    )
    assert outcome(story.run()) == {"vllm1/llm": "Place blue Fits"}
    story.source |= sleeper("green", nodes, "Delete", labels=label)
    done = story.run()
    assert outcome(done) == {"vllm1/llm": "Keep blue,green ClusterWaking"}
    assert rendered(story, "green") == pool("green", 4), "nobody has seen it: it is called"
    story.now += timedelta(minutes=12)
    seen(story, snapshot("green", "a 16 64G", "b 16 64G"))
    assert outcome(story.run()) == {"vllm1/llm": "Place blue,green ClusterAwake"}
    path = "workloads/vllm1/llm/llm.yaml"
    assert story.deployment.read(f"clusters/blue/{path}") == story.deployment.read(f"clusters/green/{path}")
    story.source |= sleeper("blue", nodes, "Delete")
    story.run()
    assert record(story, "vllm1/llm") == ["blue Placed", "green Placed"], "nobody has seen the new copy ready"
    story.now += timedelta(minutes=12)
    seen(story, snapshot("green", "a 16 64G", "b 16 64G"), "groups: [{name: vllm1/llm, phase: Running, ready: true}]\n")
    story.run()
    assert record(story, "vllm1/llm") == ["blue Placed", "green Placed"], "one snapshot may be wrong"
    story.look_again()
    story.run()
    assert record(story, "vllm1/llm") == ["green Placed"]
    assert state(story, "blue") == "Active idle"
    after(story, 1)
    assert (state(story, "blue"), state(story, "green")) == ("Standby", "Active")


# clusters that are made

CLONING = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec:
  platform: {paths: ["platform/**", "standby/**"]}
  clone: {from: gpu, manifests: {active: standby/clone/active, standby: standby/clone/standby}, max: 2}
"""
GPUS = '[{name: n1, allocatable: {cpu: "32", memory: 128Gi, nvidia.com/gpu: "1"}}]'
TEMPLATES = {
    "standby/clone/active/pool.yaml": pool('"${name}"', 4),
    "standby/clone/standby/pool.yaml": pool('"${name}"', 0),
}


def cloning(*more: dict[str, str], mode: str = "Suspend") -> Story:
    """A fleet of one cluster with one GPU, which may be cloned twice."""
    gpu = sleeper("gpu", GPUS, mode, labels="{class: gpu}")
    fleet = {"fleet.yaml": CLONING}
    story = Story.of(fleet, hub(), gpu, TEMPLATES, ANYWHERE, *more, capacity=snapshot("gpu", "n1 32 128Gi 1"))
    done = story.run()
    assert errors(done) == []
    return story


def test_a_cluster_is_made_when_nothing_fits_and_nothing_can_grow() -> None:
    story = cloning(llm("one"))
    story.source |= llm("two")
    done = story.run()
    assert outcome(done)["two/llm"] == "Place gpu-2 Fits"
    assert subjects(done) == ["Place two/llm, wake gpu-2"]
    assert "cluster gpu-2 is made after gpu for two/llm" in done.steps[0].message
    assert rendered(story, "gpu-2") == pool('"gpu-2"', 4)
    assert yaml.safe_load(story.deployment.read("fleet/gpu-2.yaml"))["cloneOf"] == "gpu"
    assert "clusters/gpu-2/workloads/two/llm/llm.yaml" in story.deployment
    assert story.run().steps == ()
    story.source |= llm("three")
    assert outcome(story.run())["three/llm"] == "Place gpu-3 Fits"
    story.source |= llm("four")
    assert outcome(story.run())["four/llm"] == "Wait  NoClusterFits", "two clones are as many as there may be"


def test_no_cluster_is_made_where_one_can_grow_or_where_it_would_not_help() -> None:
    growing = (
        '{type: Luna, nodeTypes: [{name: g, max: 0, allocatable: {cpu: "32", memory: 128Gi, nvidia.com/gpu: "1"}}]}'
    )
    story = cloning(cluster("cloud", autoscaler=growing), llm("one"))
    story.source |= llm("two")
    assert outcome(story.run())["two/llm"] == "Wait  NoClusterFits"
    story = cloning(llm("one"))
    story.source |= {k: v.replace('cpu: "8"', 'cpu: "80"') for k, v in llm("two").items()}
    assert outcome(story.run())["two/llm"] == "Wait  NoClusterFits"
    assert "fleet/gpu-2.yaml" not in story.deployment


def test_a_cluster_that_is_asked_for_by_name_is_made_under_that_name() -> None:
    story = cloning(llm("one"))
    wished = {
        k: v.replace("metadata: {name: llm,", "metadata: {name: llm, annotations: {gitplacer.dev/cluster: mine},")
        for k, v in llm("two").items()
    }
    story.source |= wished
    assert outcome(story.run())["two/llm"] == "Place mine Fits"
    story.source |= policy(
        "named",
        "select: {namespaces: [three]}\nprecedence: 5\nclusters: {names: [gpu, theirs], matchLabels: {class: gpu}}",
    )
    story.source |= llm("three")
    assert outcome(story.run())["three/llm"] == "Place theirs Fits", "gpu is full"
    story.source |= policy(
        "other", "select: {namespaces: [four]}\nprecedence: 6\nclusters: {names: [cpus], matchLabels: {class: cpu}}"
    )
    story.source |= llm("four")
    assert outcome(story.run())["four/llm"] == "Wait  NoEligibleCluster", "a clone of gpu would not be of that class"


def test_a_clone_is_a_cluster_of_the_fleet_that_sleeps_and_wakes() -> None:
    story = cloning(llm("one"), mode="Delete")
    story.source |= llm("two")
    assert outcome(story.run())["two/llm"] == "Wait gpu-2 ClusterWaking"
    story.now += timedelta(minutes=10)
    seen(story, snapshot("gpu-2", "n1 32 128Gi 1"))
    assert outcome(story.run())["two/llm"] == "Place gpu-2 ClusterAwake"
    del story.source["workloads/two/llm.yaml"]
    story.run()
    after(story, 1)
    assert (state(story, "gpu-2"), rendered(story, "gpu-2")) == ("Standby", pool('"gpu-2"', 0))
    story.source |= llm("two")
    assert outcome(story.run())["two/llm"] == "Wait gpu-2 ClusterWaking", "the clone that is there already"
    assert [p for p in story.deployment if p.startswith("fleet/")] == ["fleet/gpu-2.yaml", "fleet/gpu.yaml"]


def test_a_clone_outlives_the_wish_for_clones_and_stays_as_it_is() -> None:
    story = cloning(llm("one"))
    story.source |= llm("two")
    story.run()
    story.source["fleet.yaml"] = FLEET
    for path in (*TEMPLATES, "workloads/two/llm.yaml"):
        del story.source[path]
    done = after(story, 5)
    after(story, 5)
    assert rendered(story, "gpu-2") == pool('"gpu-2"', 4), "nobody can say what its manifests are when it sleeps"
    assert errors(done) == []


def test_a_clone_with_groups_whose_model_is_gone_stops_the_run() -> None:
    story = cloning(llm("one"))
    story.source |= llm("two")
    story.run()
    del story.source["clusters/gpu.yaml"]
    story.source["fleet.yaml"] = FLEET
    with pytest.raises(Rejected) as refused:
        story.run()
    assert "CloneModel" in {problem.code for problem in refused.value.problems}


# what is wrong, and what stays because of it


def wrong(story: Story) -> dict[str, str]:
    """Place and code of every error, to its message."""
    return {f"{p.location} {p.code}": p.message for p in story.plan().problems if p.severity is Severity.ERROR}


FAULTS = {
    "a directory that is not there": (
        {"clusters/gke.yaml": ("standby: standby/gke/standby", "standby: standby/gke/asleep")},
        "clusters/gke.yaml:13:54 StandbyManifests",
        "there are no manifests in standby/gke/asleep",
    ),
    "a directory without objects": (
        {"standby/gke/standby/pool.yaml": None},
        "clusters/gke.yaml:13:54 StandbyManifests",
        "standby/gke/standby holds no manifests",
    ),
    "a directory outside of the platform paths": (
        {"fleet.yaml": ('"standby/**"', '"standby/eks/**"')},
        "clusters/gke.yaml:13:25 StandbyManifests",
        "standby/gke/active is outside of the platform paths",
    ),
    "a file that cannot be read": (
        {"standby/gke/standby/pool.yaml": ("kind", "\tkind")},
        "clusters/gke.yaml:13:54 StandbyManifests",
        "standby/gke/standby/pool.yaml cannot be read",
    ),
    "an object without a name": (
        {"standby/gke/standby/pool.yaml": ("metadata: {name: gke,", "metadata: {")},
        "standby/gke/standby/pool.yaml:3:1 InvalidObject",
        "metadata.name must be a name",
    ),
    "the directory of another cluster": (
        {"clusters/gke.yaml": ("active: standby/gke/active", "active: standby/eks/active")},
        "clusters/gke.yaml:13:25 StandbyManifests",
        "standby/eks/active holds the manifests of eks already",
    ),
    "a cluster that is not there to render into": (
        {"clusters/gke.yaml": ("renderInto: hub", "renderInto: hubb")},
        "clusters/gke.yaml:13:87 StandbyTarget",
        "renderInto: there is no Cluster hubb",
    ),
    "the cluster itself to render into": (
        {"clusters/gke.yaml": ("renderInto: hub", "renderInto: gke")},
        "clusters/gke.yaml:13:87 StandbyTarget",
        "renderInto: is this cluster itself, which could not wake itself",
    ),
    "a cluster that sleeps to render into": (
        {"clusters/gke.yaml": ("renderInto: hub", "renderInto: eks")},
        "clusters/gke.yaml:13:87 StandbyTarget",
        "renderInto: eks goes to sleep itself, and nobody could wake both",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_in_the_manifests_is_named_and_its_cluster_stays_as_it_is(fault: str) -> None:
    changes, where, message = FAULTS[fault]
    story = asleep()
    for path, change in changes.items():
        story.source[path] = "# nothing\n" if change is None else story.source[path].replace(*change)
    story.source |= llm("vllm1")
    assert wrong(story)[where] == message
    done = story.run()
    assert outcome(done)["vllm1/rayservice"] == "Place eks Fits", "the next in the order"
    assert (state(story, "gke"), rendered(story, "gke")) == ("Standby", pool("gke", 0))


def test_nothing_goes_to_sleep_by_manifests_with_mistakes() -> None:
    story = two_clouds()
    story.run()
    story.source["standby/gke/standby/pool.yaml"] = "# nothing\n"
    after(story, 5)
    assert (state(story, "gke"), state(story, "eks")) == ("Waking idle", "Standby")
    assert rendered(story, "gke") == pool("gke", 4)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("state: Standby\n", "MissingField"),
        ("a: [", "InvalidYAML"),
        ("name of another", "StateName"),
        ("", "NotOneDocument"),
    ],
)
def test_a_state_that_cannot_be_read_is_named_and_nothing_is_decided_about_its_cluster(text: str, code: str) -> None:
    story = asleep()
    files = {path: story.deployment.read(path) for path in story.deployment}
    head = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: ClusterState\nmetadata: {name: gke}\n"
        if code == "MissingField"
        else ""
    )
    files["fleet/gke.yaml"] = files["fleet/eks.yaml"] if code == "StateName" else f"{head}{text}".encode()
    story.deployment = Tree.of(files)
    story.source |= llm("vllm1")
    found = wrong(story)
    assert next(key for key in found if key.endswith(code)).startswith("fleet/gke.yaml:")
    assert outcome(story.run()) == {"vllm1/rayservice": "Place eks Fits"}
    assert story.deployment.read("fleet/gke.yaml") == files["fleet/gke.yaml"]
    assert rendered(story, "gke") == pool("gke", 0)


@pytest.mark.parametrize("path", ["fleet/gke.yaml", "clusters/hub/platform/standby/gke/pool.yaml"])
def test_what_somebody_else_wrote_is_not_written_over(path: str) -> None:
    story = asleep()
    story.foreign = {path: "0" * 40}
    story.source |= llm("vllm1")
    assert f"{path}:1:1 StandbyChanged" in wrong(story)
    assert outcome(story.run()) == {"vllm1/rayservice": "Place eks Fits"}
    assert (state(story, "gke"), rendered(story, "gke")) == ("Standby", pool("gke", 0))
    story.foreign = {}
    story.source |= llm("vllm2")
    assert outcome(story.run())["vllm2/rayservice"] == "Place gke Fits"


def test_manifests_of_a_cluster_that_is_gone_from_the_source_stay_until_somebody_removes_them() -> None:
    story = asleep()
    for path in ("clusters/gke.yaml", *manifests("gke")):
        del story.source[path]
    done = story.run()
    left = [p for p in done.problems if p.code == "StandbyLeftOver"]
    assert [str(p.location) for p in left] == ["clusters/hub/platform/standby/gke/pool.yaml:1:1"]
    assert rendered(story, "gke") == pool("gke", 0)
    kept = {path: story.deployment.read(path) for path in story.deployment if "standby/gke" not in path}
    story.deployment = Tree.of(kept)
    done = story.run()
    assert [p for p in done.problems if p.code == "StandbyLeftOver"] == []
    assert "fleet/gke.yaml" not in story.deployment


def test_a_snapshot_of_a_cluster_that_sleeps_is_never_stale_and_one_that_is_broken_does_not_matter() -> None:
    story = Story.of(
        {"fleet.yaml": FLEET},
        hub(),
        sleeper("gke", GKE, provider="gce", maxAge="10m"),
        PRIORITY,
        capacity=snapshot("gke"),
    )
    story.run()
    after(story, 1)
    after(story, 100)
    story.capacity["gke.yaml"] = "a: ["
    story.source |= llm("vllm1")
    assert outcome(story.run()) == {"vllm1/rayservice": "Place gke Fits"}


def test_a_cluster_that_says_what_it_has_nowhere_counts_what_it_last_reported() -> None:
    story = Story.of(
        {"fleet.yaml": FLEET}, cluster("gke", standby="{idleAfter: 1h}", provider="gce"), PRIORITY, capacity=awake_gke()
    )
    story.run()
    assert state(story, "gke") == "Active idle"
    after(story, 1)
    assert state(story, "gke") == "Standby"
    story.source |= llm("vllm1")
    assert outcome(story.run()) == {"vllm1/rayservice": "Place gke Fits"}
    assert state(story, "gke") == "Waking"
    assert not any("/standby/" in path for path in story.deployment), "its owner reads fleet/gke.yaml"


def test_a_job_that_moves_to_a_cluster_which_is_not_there_is_never_in_two_directories() -> None:
    """It leaves, is seen to be gone, and comes when its cluster is awake; what it waits for is told all the while."""
    nodes = '[{name: n1, allocatable: {cpu: "32", memory: 128Gi, nvidia.com/gpu: "8"}}]'
    story = Story.of(
        {"fleet.yaml": FLEET}, hub(), sleeper("new", nodes, "Delete"), cluster("old"), ANYWHERE,
        capacity=snapshot("old", "n1 32 128Gi 8"),
    )  # fmt: skip
    story.run()
    after(story, 1)
    story.source |= rayjob("ns", "job")
    assert outcome(story.run()) == {"ns/job": "Place old Fits"}
    story.source |= cluster("old", state="Draining")

    def directories() -> list[str]:
        return [path.partition("/workloads/")[0] for path in story.deployment if path.endswith("ns/job/job.yaml")]

    pending = "groups: [{name: ns/job, phase: Pending}]\n"
    for shown in (pending, pending, "", "", ""):
        story.now += timedelta(minutes=7)
        seen(story, snapshot("old", "n1 32 128Gi 8"), shown)
        story.run()
        assert len(directories()) <= 1 and "clusters/new" not in directories()
    assert state(story, "new") in ("Waking", "Standby")
    for _ in range(20):
        story.now += timedelta(minutes=7)
        seen(story, snapshot("old", "n1 32 128Gi 8"))
        if state(story, "new") != "Standby":
            seen(story, snapshot("new", "n1 32 128Gi 8"))
        story.run()
        assert len(directories()) <= 1
    assert directories() == ["clusters/new"]
    assert record(story, "ns/job") == ["new Placed"]


def test_a_cluster_is_not_idle_while_it_shows_what_left_it_by_this_very_pass() -> None:
    """Otherwise the next pass, which reads the same snapshot, would take back what this one wrote."""
    story = Story.of(
        {"fleet.yaml": FLEET}, hub(), sleeper("one", EKS), cluster("two"), ANYWHERE, rayservice("x", "app")
    )
    running = "groups: [{name: x/app, phase: Running}]\n"
    story.capacity |= snapshot("one", "n1 8 32Gi 1", "n2 8 32Gi 1") | snapshot("two", "n1 4 8Gi")
    assert outcome(story.run()) == {"x/app": "Place one Fits"}
    story.now += timedelta(minutes=10)
    story.capacity |= snapshot("one", "n1 8 32Gi 1", "n2 8 32Gi 1", at=story.now, more=running)
    story.capacity |= snapshot("two", "n1 8 32Gi 1", at=story.now)
    story.source |= sleeper("one", EKS, state="Draining")
    now = story.now
    assert outcome(story.run()) == {"x/app": "Relocate two ClusterDraining"}
    story.now = now
    assert story.run().steps == ()

"""Clusters that sleep: who wakes them, when they go to sleep, what is written where and when."""

from __future__ import annotations

from datetime import timedelta

import yaml

from gitplacer.hydrate import Hydration
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.problems import Severity
from tests.stories import Story, cluster, outcome, policy

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

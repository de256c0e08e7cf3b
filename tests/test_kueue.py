"""Kueue's quota as capacity: what is read of a cluster's queues, and that no plan promises more of them than they have left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.accounts import Accounts
from gitplacer.capacity.kubeconfig import access_to, kubeconfig
from gitplacer.capacity.live import observe
from gitplacer.explain import finding_text
from gitplacer.formats.room import room_text
from gitplacer.hydrate import Hydration
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.model.decision import Candidate, QueueAsks
from gitplacer.model.resources import Resources
from gitplacer.model.room import ClusterRoom, Room
from gitplacer.observing.queues import queues
from gitplacer.observing.writing import snapshot_file
from gitplacer.placement.kueue import KUEUE
from tests import livecluster
from tests.apistandin import ApiServer, serving
from tests.livecluster import thing
from tests.stories import ANYWHERE, START, Story, cluster, decisions, deployment, outcome, policy, rayservice, snapshot

GPU = "nvidia.com/gpu"
LABEL = "{kueue.x-k8s.io/queue-name: train}"
LARGE = "n1 640 2560Gi 80"


def queued(name: str, gpus: int, namespace: str = "ml", queue: str = "train") -> dict[str, str]:
    """A RayService in a queue that asks for so many GPUs, one for each worker."""
    return rayservice(namespace, name, workers=gpus, labels=LABEL.replace("train", queue))


def told(left: int, *, own: int | None = None, covers: str = "cpu, memory, nvidia.com/gpu", name: str = "gpu", **more: str) -> str:  # fmt: skip
    """A ClusterQueue in a snapshot, with room for CPUs and memory, and so many GPUs."""
    amounts = f'cpu: "640", memory: 2560Gi, nvidia.com/gpu: "{left}"'
    kept = f'cpu: "640", memory: 2560Gi, nvidia.com/gpu: "{left if own is None else own}"'
    fields = "".join(f", {key}: {value}" for key, value in more.items())
    local = more.get("localQueues") or ", localQueues: [{name: ml/train}]"
    fields = fields if "localQueues" in more else fields + local
    return f"- {{name: {name}, covers: [{covers}], left: {{{amounts}}}, own: {{{kept}}}{fields}}}\n"


def fleet(*files: Mapping[str, str], queues_of_a: str, node: str = LARGE, more: str = "") -> Story:
    """One cluster with queues, and some objects."""
    there = snapshot("a", node, more=f"queues:\n{queues_of_a}" if queues_of_a else "queues: []\n")
    return Story.of(cluster("a"), ANYWHERE, *files, capacity={k: v + more for k, v in there.items()})


def rejected(story: Story, group: str, name: str = "a") -> Candidate:
    return next(c for c in decisions(story.run())[group].candidates if c.cluster == name)


# what is decided


def test_a_group_goes_where_its_queue_is_and_has_quota_left() -> None:
    story = Story.of(
        cluster("a"), cluster("b"), cluster("c"), ANYWHERE, queued("llm", 4),
        capacity={
            **snapshot("a", LARGE, more="queues: []\n"),
            **snapshot("b", LARGE, more="queues:\n" + told(3)),
            **snapshot("c", LARGE, more="queues:\n" + told(4)),
        },
    )  # fmt: skip
    done = decisions(story.run())["ml/llm"]
    assert done.files_after == ("c",)
    assert {c.cluster: (str(c.finding.code), finding_text(c.finding)) for c in done.candidates} == {
        "a": ("QueueMissing", "Kueue there has no LocalQueue ml/train"),
        "b": ("QueueQuota", "asks for 4 nvidia.com/gpu, and ClusterQueue gpu has 3 left"),
        "c": ("Fits", "fits"),
    }


def test_a_snapshot_that_tells_of_no_queues_says_nothing_about_them() -> None:
    story = Story.of(cluster("a"), ANYWHERE, queued("llm", 4), capacity=snapshot("a", LARGE))
    assert outcome(story.run()) == {"ml/llm": "Place a Fits"}


def test_a_queue_that_a_snapshot_tells_of_is_not_missing() -> None:
    story = fleet(queued("llm", 4), queues_of_a=told(4))
    assert not [p for p in story.run().problems if p.code == "MissingReference"]
    story.capacity |= snapshot("a", LARGE, more="queues: []\n")
    assert [p.code for p in story.run().problems] == ["MissingReference"]


def test_what_waits_in_no_queue_takes_no_quota() -> None:
    story = fleet(rayservice("ml", "web", workers=8), queued("llm", 2), queues_of_a=told(2))
    assert outcome(story.run()) == {"ml/llm": "Place a Fits", "ml/web": "Place a Fits"}


def test_quota_is_promised_once() -> None:
    """Two groups of one pass, and those of a pass before that the snapshot does not show yet."""
    story = fleet(queued("one", 3), queued("two", 3), queues_of_a=told(6))
    assert outcome(story.run()) == {"ml/one": "Place a Fits", "ml/two": "Place a Fits"}
    story.source |= queued("three", 1)
    found = rejected(story, "ml/three").finding
    assert found.queue == QueueAsks("ClusterQueue", "gpu", GPU, 1, 6, 6)
    assert (
        finding_text(found) == "asks for 1 nvidia.com/gpu, and ClusterQueue gpu has 6 left, 6 of it promised to others"
    )


def test_what_is_seen_is_reserved_already() -> None:
    story = fleet(queued("one", 3), queued("two", 3), queues_of_a=told(3))
    assert outcome(story.run()) == {"ml/one": "Place a Fits", "ml/two": "Wait  NoClusterFits"}
    pods = ", ".join(["{role: head, node: n1}", *["{role: worker/gpu, node: n1}"] * 3])
    seen = f"groups:\n- {{name: ml/one, phase: Running, ready: true, pods: [{pods}]}}\nqueues:\n"
    story.capacity |= snapshot("a", LARGE, more=seen + told(2))
    assert outcome(story.run())["ml/two"] == "Wait  NoClusterFits"
    story.capacity |= snapshot("a", LARGE, more=seen + told(3))
    assert outcome(story.run()) == {"ml/one": "Keep a Kept", "ml/two": "Place a Fits"}


def test_who_waits_is_placed_when_quota_is_raised_and_nobody_leaves_when_it_shrinks() -> None:
    story = fleet(queued("llm", 4), queues_of_a=told(3))
    assert outcome(story.run()) == {"ml/llm": "Wait  NoClusterFits"}
    story.capacity |= snapshot("a", LARGE, more="queues:\n" + told(4))
    assert outcome(story.run()) == {"ml/llm": "Place a Fits"}
    for gone in (told(0), told(4, stopped="HoldAndDrain"), ""):
        story.capacity |= snapshot("a", LARGE, more=f"queues:\n{gone}" if gone else "queues: []\n")
        assert outcome(story.run()) == {"ml/llm": "Keep a Kept"}


@pytest.mark.parametrize(
    ("queue", "code", "said"),
    [
        (told(9, stopped="Hold"), "QueueStopped", "ClusterQueue gpu (Hold) lets nothing in now"),
        (told(9, stopped="FlavorNotFound"), "QueueStopped", "ClusterQueue gpu (FlavorNotFound) lets nothing in now"),
        (
            told(9, localQueues="[{name: ml/train, stopped: NamespaceNotSelected}]"), "QueueStopped",
            "LocalQueue ml/train (NamespaceNotSelected) lets nothing in now",
        ),
        (told(9, localQueues="[{name: web/train}]"), "QueueMissing", "Kueue there has no LocalQueue ml/train"),
        (
            told(9, covers="cpu, nvidia.com/gpu"), "QueueQuota",
            "asks for 18Gi memory, for which ClusterQueue gpu has no quota",
        ),
        (told(9, covers="cpu, memory, nvidia.com/gpu, pods"), "QueueQuota", "asks for 5 pods, and ClusterQueue gpu has 0 left"),
    ],
)  # fmt: skip
def test_why_a_queue_lets_nothing_in(queue: str, code: str, said: str) -> None:
    found = rejected(fleet(queued("llm", 4), queues_of_a=queue), "ml/llm").finding
    assert (str(found.code), finding_text(found)) == (code, said)


def test_a_group_may_bring_its_queue_along() -> None:
    local = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: train, namespace: ml}\nspec: {clusterQueue: %s}\n"
    queue = told(4, localQueues="[]")
    story = fleet(queued("llm", 4), {"workloads/ml/queue.yaml": local % "gpu"}, queues_of_a=queue)
    assert outcome(story.run()) == {"ml/llm": "Place a Fits"}
    story = fleet(queued("llm", 4), {"workloads/ml/queue.yaml": local % "other"}, queues_of_a=queue)
    assert finding_text(rejected(story, "ml/llm").finding) == "Kueue there has no ClusterQueue other"


def test_two_queues_do_not_borrow_the_same() -> None:
    both = told(4, own=1, cohort="all") + told(4, own=1, name="web", cohort="all", localQueues="[{name: ml/web}]")
    pool = 'cohorts: [{name: all, left: {cpu: "640", memory: 2560Gi, nvidia.com/gpu: "3"}}]\n'
    story = fleet(queued("one", 4), queued("two", 2, queue="web"), queues_of_a=both, more=pool)
    assert outcome(story.run()) == {"ml/one": "Place a Fits", "ml/two": "Wait  NoClusterFits"}
    found = rejected(story, "ml/two").finding
    assert found.queue == QueueAsks("Cohort", "all", GPU, 1, 3, 3)
    story.source |= queued("two", 1, queue="web")
    assert outcome(story.run())["ml/two"] == "Place a Fits"


# what Kueue counts of a Ray app


def ray(
    kind: str,
    *,
    more: str = "{}",
    head: str = "{cpu: 1, memory: 1Gi}",
    limits: str = "{cpu: 100m, memory: 300Mi}",
    **counts: int,
) -> dict[str, str]:
    """A Ray app in a queue, with 20 small workers unless its counts say otherwise."""

    def template(amounts: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "x", "image": "x", "resources": {"limits": yaml.safe_load(amounts)}}]}}

    group = {
        "groupName": "g",
        "rayStartParams": {},
        **(counts or {"replicas": 20, "maxReplicas": 20}),
        "template": template(limits),
    }
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": template(head)}, "workerGroupSpecs": [group]}
    options = yaml.safe_load(more)
    if kind == "RayJob":
        spec = {"entrypoint": "x", "shutdownAfterJobFinishes": True, "rayClusterSpec": spec}
    value = {
        "apiVersion": "ray.io/v1", "kind": kind,
        "metadata": {"name": "app", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": "train"}, "annotations": {"kueue.x-k8s.io/elastic-job": "true"}},
        "spec": {**spec, **options},
    }  # fmt: skip
    return {"workloads/ml/app.yaml": yaml.safe_dump(value)}


def with_left(left: str, covers: str = "cpu, memory") -> str:
    return (
        f"- {{name: gpu, covers: [{covers}], left: {{{left}}}, own: {{{left}}}, localQueues: [{{name: ml/train}}]}}\n"
    )


ENOUGH = "memory: 99Gi, pods: 999"


@pytest.mark.parametrize(
    ("cpu", "app"),
    [
        ("3", ray("RayCluster")),  # not the 200m of wait-gcs-ready of each worker
        ("3500m", ray("RayJob")),  # the submitter is a set of pods of its own
        ("3", ray("RayJob", more="{submissionMode: SidecarMode}")),  # which versions of Kueue count in the head, and older do not
        ("3100m", ray("RayJob", more="{submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: x, image: x, resources: {limits: {cpu: 100m}}}]}}}")),
        ("3", ray("RayCluster", more="{enableInTreeAutoscaling: true}")),
        ("3", ray("RayCluster", more="{tlsOptions: {enabled: true}}")),
        ("7", ray("RayCluster", limits="{cpu: 300m, memory: 1Gi}")),
        ("1200m", ray("RayCluster", replicas=2, minReplicas=20)),  # written, not raised
        ("1", ray("RayCluster", minReplicas=20)),
        ("2", ray("RayCluster", replicas=2, minReplicas=2, numOfHosts=5)),
        ("1500m", ray("RayCluster", replicas=20, maxReplicas=5)),  # no more than are made
        ("1", ray("RayCluster", replicas=20, suspend=True)),
    ],
)  # fmt: skip
def test_no_more_is_asked_of_a_queue_than_kueue_counts(cpu: str, app: dict[str, str]) -> None:
    queue = with_left(f"cpu: {cpu}, {ENOUGH}", "cpu, memory, pods")
    assert outcome(fleet(app, queues_of_a=queue).run()) == {"ml/app": "Place a Fits"}
    milli = (int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000) - 1
    short = with_left(f"cpu: {milli}m, {ENOUGH}", "cpu, memory, pods")
    found = rejected(fleet(app, queues_of_a=short), "ml/app").finding
    assert found.queue is not None
    assert (str(found.code), found.queue.resource, found.queue.asks) == ("QueueQuota", "cpu", milli + 1)


def test_a_queue_needs_no_quota_for_what_only_controllers_ask_for() -> None:
    app = ray("RayCluster", head="{cpu: 1}", limits="{cpu: 1, nvidia.com/gpu: 1}", replicas=2, maxReplicas=2)
    queue = with_left('cpu: "3", nvidia.com/gpu: "2"', "cpu, nvidia.com/gpu")
    assert outcome(fleet(app, queues_of_a=queue).run()) == {"ml/app": "Place a Fits"}


def test_devices_of_claims_are_not_asked_of_a_queue_under_the_name_that_nodes_have_them_by() -> None:
    template = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one, namespace: ml}\n"
        "spec: {spec: {devices: {requests: [{name: x, exactly: {deviceClassName: gpu.nvidia.com}}]}}}\n"
    )
    app = ray("RayCluster", replicas=1, maxReplicas=1)
    ((path, text),) = app.items()
    value = yaml.safe_load(text)
    value["spec"]["workerGroupSpecs"][0]["template"]["spec"]["resourceClaims"] = [
        {"name": "x", "resourceClaimTemplateName": "one"}
    ]
    files = {path: yaml.safe_dump(value), "workloads/ml/claim.yaml": template}
    story = fleet(files, queues_of_a=with_left(f"cpu: 99, {ENOUGH}"))
    codes = {str(c.finding.code) for c in decisions(story.run())["ml/app"].candidates}
    assert "QueueQuota" not in codes


def test_what_is_promised_is_counted_as_kueue_counts_it_and_until_it_is_seen() -> None:
    """All workers are seen but two, which ask for 100m each and not for what nodes keep for them."""
    story = fleet(ray("RayCluster"), queues_of_a=with_left(f"cpu: 3, {ENOUGH}"))

    def promised() -> Resources:
        return Accounts(story.run().view).queues("a")[0].promised

    assert (promised()["cpu"], promised()["pods"]) == (3000, 21)
    worker = "{role: worker/g, node: n1, requests: {cpu: 200m, memory: 300Mi}}"
    pods = ", ".join(["{role: head, node: n1}", *[worker] * 18])
    seen = f"groups:\n- {{name: ml/app, phase: Running, ready: false, pods: [{pods}]}}\nqueues:\n"
    story.capacity |= snapshot("a", LARGE, more=seen + with_left(f"cpu: 1, {ENOUGH}"))
    assert (promised()["cpu"], promised()["pods"]) == (200, 2)


# the law: no plan promises more than a queue has


@settings(max_examples=25, deadline=None)
@given(
    left=st.lists(st.integers(0, 6), min_size=2, max_size=2),
    own=st.lists(st.integers(0, 3), min_size=2, max_size=2),
    pool=st.integers(0, 6),
    asks=st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=6),
    split=st.integers(0, 6),
)
def test_no_plan_promises_more_than_a_queue_or_its_cohort_has(
    left: list[int], own: list[int], pool: int, asks: list[tuple[int, bool]], split: int
) -> None:
    own = [min(pair) for pair in zip(left, own, strict=True)]
    both = told(left[0], own=own[0], cohort="all") + told(
        left[1], own=own[1], name="web", cohort="all", localQueues="[{name: ml/web}]"
    )
    cohort = f'cohorts: [{{name: all, left: {{cpu: "640", memory: 2560Gi, nvidia.com/gpu: "{pool}"}}}}]\n'
    objects = [queued(f"g{n}", gpus, queue="web" if web else "train") for n, (gpus, web) in enumerate(asks)]
    story = fleet(*objects[:split], queues_of_a=both, more=cohort)
    story.run()
    for more in objects[split:]:
        story.source |= more
    done = decisions(story.run())
    placed = [n for n, _ in enumerate(asks) if done[f"ml/g{n}"].files_after]

    def allowed(chosen: list[int]) -> bool:
        """Kueue's own rule, written down once more: what each has, and what they borrow of one pool."""
        takes = [sum(asks[n][0] for n in chosen if asks[n][1] is web) for web in (False, True)]
        borrowed = sum(max(0, taken - kept) for taken, kept in zip(takes, own, strict=True))
        return all(taken <= most for taken, most in zip(takes, left, strict=True)) and borrowed <= pool

    assert allowed(placed)
    for n in set(range(len(asks))) - set(placed):  # nobody waits for whom there is enough
        assert not allowed([*placed, n])


# edits of what runs

HOLD = policy("hold", "select: {}\nupdate: {ifNotFit: Hold}")
TEAM = policy("team", "select: {}\ngroupBy: {label: team}")
WAITS = "kueue.x-k8s.io/queue-name: train"


def ray_app(
    workers: int = 2,
    worker: str = "{cpu: 2}",
    *,
    kind: str = "RayCluster",
    name: str = "x",
    labels: str = WAITS,
    more: str = "",
) -> dict[str, str]:
    """A head and so many workers, each with a GPU."""
    resources = f"{{requests: {worker}, limits: {{nvidia.com/gpu: 1}}}}"
    spec = f"""{{headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {{containers: [{{name: h, image: ray, resources: {{requests: {{cpu: 2}}}}}}]}}}}}},
  workerGroupSpecs: [{{groupName: gpu, replicas: {workers}, rayStartParams: {{}}, template: {{spec: {{containers: [{{name: w, image: ray, resources: {resources}}}]}}}}}}]}}"""
    within = {"RayCluster": "", "RayJob": "rayClusterSpec: ", "RayService": "rayClusterConfig: "}[kind]
    outer = "entrypoint: run, submissionMode: HTTPMode, shutdownAfterJobFinishes: true, " if kind == "RayJob" else ""
    spec = f"{{{outer}{within}{spec}}}" if within else spec
    metadata = f"{{name: {name}, labels: {{{labels}}}{more}}}"
    return {f"workloads/ml/{name}.yaml": f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"}


def web(replicas: int, cpu: str = "1") -> dict[str, str]:
    text = next(iter(deployment("ml", "x", f"requests: {{cpu: {cpu}}}", replicas=replicas).values()))
    return {"workloads/ml/x.yaml": text.replace("name: x", f"name: x, labels: {{{WAITS}}}", 1)}


def seen(*names: str, workers: int = 2, pods: str = "") -> str:
    """Of groups a head and so many workers, which run."""
    pods = pods or ", ".join(["{role: head, node: n1}", *["{role: worker/gpu, node: n1}"] * workers])
    groups = ", ".join(f"{{name: ml/{name}, phase: Running, ready: true, pods: [{pods}]}}" for name in names)
    return f"groups: [{groups}]\n"


def runs(before: Mapping[str, str], queue: str, shown: str, *, rule: Mapping[str, str] = HOLD) -> Story:
    """A story in which something runs on its only cluster, as its snapshot shows."""
    story = Story.of(cluster("a"), rule, before, capacity=snapshot("a", LARGE))
    assert all(said == "Place a Fits" for said in outcome(story.run()).values())
    story.capacity = snapshot("a", LARGE, at=story.now, more=f"{shown}queues: [{queue}]\n")
    return story


def queue_with(amounts: str, name: str = "gpu", local: str = "train", more: str = "") -> str:
    """A ClusterQueue with so much left, of its own unless `more` says otherwise."""
    own = "" if "own:" in more else f", own: {{{amounts}}}"
    covers = "covers: [cpu, memory, nvidia.com/gpu, pods]"
    return f"{{name: {name}, {covers}, left: {{{amounts}}}{own}, localQueues: [{{name: ml/{local}}}]{more}}}"


def against(done: Hydration, group: str) -> str:
    """What a queue has against an edit; '' if nothing."""
    text = finding_text(decisions(done)[group].finding)
    return text.partition("there is no room for that: ")[2].partition(";")[0]


PLENTY = "cpu: 100, memory: 100Gi, pods: 100"
OF_NONE = "asks for 1 more nvidia.com/gpu, and ClusterQueue gpu has 0 left"


@pytest.mark.parametrize(("before", "after", "has", "said"), [
    # what it has is its own: an edit asks for what it is to have more
    (ray_app(2), ray_app(4), "nvidia.com/gpu: 2", ""),
    (ray_app(2), ray_app(4), "nvidia.com/gpu: 1", "asks for 2 more nvidia.com/gpu, and ClusterQueue gpu has 1 left"),
    (ray_app(2), ray_app(1), "nvidia.com/gpu: 0", ""),
    (ray_app(2), ray_app(2, more=", annotations: {a: b}"), "nvidia.com/gpu: 0", ""),
    # of which one was never made: it is asked for beside what is added
    (ray_app(3), ray_app(4), "nvidia.com/gpu: 1", "asks for 2 more nvidia.com/gpu, and ClusterQueue gpu has 1 left"),
    (ray_app(3), ray_app(3, more=", annotations: {a: b}"), "nvidia.com/gpu: 0", ""),
    # KubeRay leaves its pods alone, and Kueue does not
    (ray_app(), ray_app(worker="{cpu: 3}"), "nvidia.com/gpu: 0", ""),
    (ray_app(), ray_app(worker="{cpu: 60}"), "nvidia.com/gpu: 0", "asks for 116 more cpu, and ClusterQueue gpu has 100 left"),
    (ray_app(labels="a: b"), ray_app(labels="a: b", worker="{cpu: 60}"), "nvidia.com/gpu: 0", ""),
    (ray_app(), ray_app(worker="{cpu: 700}"), "cpu: 9000, nvidia.com/gpu: 0", "0 of 2 worker/gpu fit"),
    (ray_app(labels="a: b"), ray_app(labels="a: b", worker="{cpu: 700}"), "nvidia.com/gpu: 0", ""),
    # the rest of what waits in queues
    (ray_app(kind="RayJob"), ray_app(3, kind="RayJob"), "nvidia.com/gpu: 1", ""),
    (ray_app(kind="RayJob"), ray_app(3, kind="RayJob"), "nvidia.com/gpu: 0", OF_NONE),
    (ray_app(kind="RayService"), ray_app(3, worker="{cpu: 1}", kind="RayService"), "nvidia.com/gpu: 1", ""),  # a second Ray cluster is not counted
    # another queue, or one for the first time
    (ray_app(labels="a: b"), ray_app(), "nvidia.com/gpu: 2", ""),
    (ray_app(labels="a: b"), ray_app(), "nvidia.com/gpu: 1", "asks for 2 more nvidia.com/gpu, and ClusterQueue gpu has 1 left"),
    (ray_app(), ray_app(labels="a: b"), "nvidia.com/gpu: 0", ""),
    (ray_app(), ray_app(labels=WAITS.replace("train", "none")), "nvidia.com/gpu: 0", ""),  # which is told as missing
])  # fmt: skip
def test_an_edit_asks_for_no_more_than_its_queue_has_left(
    before: dict[str, str], after: dict[str, str], has: str, said: str
) -> None:
    amounts = has if "cpu" in has else f"{PLENTY}, {has}"
    story = runs(before, queue_with(amounts), seen("x"))
    story.source |= after
    done = story.run()
    assert against(done, "ml/x") == said
    assert outcome(done)["ml/x"].startswith("Hold a UpdateHeld" if said else ("Update a", "Keep a"))


def test_a_second_ray_cluster_that_is_larger_than_its_queue_has_left_is_told() -> None:
    story = runs(ray_app(kind="RayService"), queue_with(f"{PLENTY}, nvidia.com/gpu: 0"), seen("x"))
    story.source |= ray_app(3, worker="{cpu: 1}", kind="RayService")
    text = finding_text(decisions(story.run())["ml/x"].finding)
    assert f"beside the running one on a (workloads/ml/x.yaml:5); there is no room for both: {OF_NONE};" in text


def test_each_pod_of_a_deployment_waits_in_its_queue() -> None:
    for pods, said in ((2, ""), (1, "asks for 2 more pods, and ClusterQueue gpu has 1 left")):
        story = runs(
            web(2),
            queue_with(f"cpu: 100, pods: {pods}"),
            seen("x", pods="{role: pod, node: n1}, {role: pod, node: n1}"),
        )
        story.source |= web(4)
        assert against(story.run(), "ml/x") == said


def test_what_is_borrowed_for_an_edit_is_borrowed_once() -> None:
    """Two queues have what their cohort has to lend, which does for one of two edits."""
    amounts, own = f"{PLENTY}, nvidia.com/gpu: 3", f"{PLENTY}, nvidia.com/gpu: 0"
    two = [queue_with(amounts, name, name, f", own: {{{own}}}, cohort: lab") for name in ("train", "other")]
    second = "kueue.x-k8s.io/queue-name: other"
    story = runs(ray_app() | ray_app(name="xx", labels=second), ", ".join(two), seen("x", "xx"))
    lends = f"cohorts: [{{name: lab, left: {{{amounts}}}, own: {{{amounts}}}}}]\n"
    story.capacity = {path: f"{text}{lends}" for path, text in story.capacity.items()}
    story.source |= ray_app(4) | ray_app(4, name="xx", labels=second)
    done = story.run()
    assert outcome(done) == {"ml/x": "Update a Updated", "ml/xx": "Hold a UpdateHeld"}
    refused = "asks for 2 more nvidia.com/gpu, and Cohort lab has 3 left, 2 of it promised to others"
    assert against(done, "ml/xx") == refused


def test_of_two_edits_the_first_gets_what_its_queue_has_left_and_what_waits_comes_after() -> None:
    story = runs(ray_app() | ray_app(name="xx"), queue_with(f"{PLENTY}, nvidia.com/gpu: 3"), seen("x", "xx"))
    story.source |= ray_app(4) | ray_app(4, name="xx") | ray_app(2, name="new")
    done = story.run()
    assert outcome(done) == {
        "ml/new": "Wait  NoClusterFits",
        "ml/x": "Update a Updated",
        "ml/xx": "Hold a UpdateHeld",
    }
    assert against(done, "ml/xx").endswith("ClusterQueue gpu has 3 left, 2 of it promised to others")
    # as long as nothing more is seen, what the first was promised is not promised again
    assert outcome(story.run()) == {"ml/new": "Wait  NoClusterFits", "ml/x": "Keep a Kept", "ml/xx": "Hold a UpdateHeld"}  # fmt: skip


@pytest.mark.parametrize(("rule", "outcomes"), [
    (HOLD, {"ml/new": "Place a Fits", "ml/x": "Hold a UpdateHeld"}),  # what is held back keeps nothing from others
    (policy("go", "select: {}\nupdate: {ifNotFit: Proceed}"), {"ml/new": "Wait  NoClusterFits", "ml/x": "Update a Outgrown"}),
])  # fmt: skip
def test_what_goes_on_beyond_its_queue_takes_what_gets_free(rule: dict[str, str], outcomes: dict[str, str]) -> None:
    story = runs(ray_app(), queue_with(f"{PLENTY}, nvidia.com/gpu: 1"), seen("x"), rule=rule)
    story.source |= ray_app(4) | ray_app(1, name="new") | rayservice("ml", "beside", workers=1)
    done = story.run()
    assert outcome(done) == {"ml/beside": "Place a Fits", **outcomes}
    told_so = finding_text(decisions(done)["ml/x"].finding).endswith("; Kueue may stop all of it until then")
    assert told_so is ("Outgrown" in outcomes["ml/x"])


def test_an_edit_beyond_its_queue_moves_to_where_a_queue_lets_it_in() -> None:
    story = runs(ray_app(), queue_with(f"{PLENTY}, nvidia.com/gpu: 1"), seen("x"), rule=ANYWHERE)
    story.source |= cluster("b") | cluster("c") | ray_app(4)
    for name, gpus in (("b", 3), ("c", 4)):
        story.capacity |= snapshot(name, LARGE, more=f"queues: [{queue_with(f'{PLENTY}, nvidia.com/gpu: {gpus}')}]\n")
    assert outcome(story.run()) == {"ml/x": "Relocate c Outgrown"}


@pytest.mark.parametrize(("gpus", "decided"), [
    (2, "Update a Updated"),
    (1, "Update a Outgrown"),  # as where it finds no room: what is added takes what gets free
])  # fmt: skip
def test_what_is_added_to_a_group_asks_its_queue_beside_what_runs(gpus: int, decided: str) -> None:
    team = f"{WAITS}, team: t"
    story = runs(ray_app(labels=team), queue_with(f"{PLENTY}, nvidia.com/gpu: {gpus}"), seen("t"), rule=TEAM)
    story.source |= ray_app(2, name="xx", labels=team)
    done = story.run()
    assert outcome(done) == {"ml/t": decided}
    lacks = "not all its pods find room there: asks for 2 nvidia.com/gpu, and ClusterQueue gpu has 1 left"
    assert (lacks in finding_text(decisions(done)["ml/t"].finding)) is ("Outgrown" in decided)


def test_what_is_left_after_the_plan_is_told() -> None:
    both = told(4, own=1, cohort="all") + told(4, own=1, name="web", cohort="all", localQueues="[]", stopped="Hold")
    pool = 'cohorts: [{name: all, left: {nvidia.com/gpu: "3"}}]\n'
    done = fleet(queued("one", 3), queues_of_a=both, more=pool).run()
    found = Accounts(done.view).queues("a")
    asked = Resources({"cpu": 8000, "memory": 14 * 2**30, GPU: 3, "pods": 4})
    assert [(q.kind, q.name, q.promised, q.stopped) for q in found] == [
        ("ClusterQueue", "gpu", asked, ""),
        ("ClusterQueue", "web", Resources(), "Hold"),
        ("Cohort", "all", Resources({GPU: 2, "pods": 4}), ""),
    ]
    text = room_text(
        Room(asked=(), clusters=(ClusterRoom(cluster="a", stranded=(), largest=(), queues=found),)), done.view
    )
    assert text.splitlines()[3:7] == [
        "Quota of Kueue, after the plan",
        "  a  ClusterQueue gpu  632 of 640 cpu, 2546Gi of 2560Gi memory, 1 of 4 nvidia.com/gpu",
        "  a  ClusterQueue web  640 of 640 cpu, 2560Gi of 2560Gi memory, 4 of 4 nvidia.com/gpu; lets nothing in (Hold)",
        "  a  Cohort all        1 of 3 nvidia.com/gpu",
    ]


# what is read of a cluster


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_live_cluster_tells_of_its_queues(version: str, tmp_path: Path) -> None:
    objects = {
        ("", "nodes"): [livecluster.node("n1")],
        ("", "namespaces"): [livecluster.namespace("ml")],
        (KUEUE, "clusterqueues"): [cq("gpu", "spot 8", "spot 3")],
        (KUEUE, "localqueues"): [local("train", "gpu")],
    }
    server = ApiServer(objects)
    with serving(server) as served:
        place = tmp_path / "kubeconfig"
        place.write_text(served.kubeconfig())
        place.chmod(0o600)
        access = access_to(kubeconfig(str(place), {}), "static-cluster")

        def look() -> tuple[CapacitySnapshot, list[str]]:
            said: list[str] = []
            return observe(access, cluster="a", system_namespace="x", now=START, say=said.append), said

        assert look()[0].queues is None  # the cluster has no Kueue, so nothing is known of queues
        server.groups[KUEUE] = (version,)
        found, said = look()
        assert found.queues is not None
        assert (found.queues[0].left, found.queues[0].local_queues[0].name, said) == (
            Resources({GPU: 5}),
            "ml/train",
            [],
        )
        assert b'queues:\n- {name: gpu, left: {nvidia.com/gpu: "5"}, own: {nvidia.com/gpu: "5"}, ' in snapshot_file(
            found
        )
        server.forbidden = {(KUEUE, "cohorts")}
        found, said = look()
        assert said == [
            "may not list cohorts, so what Kueue's queues may borrow is not counted; the rule is "
            '{apiGroups: ["kueue.x-k8s.io"], resources: [cohorts], verbs: [list]}'
        ]
        server.forbidden = {(KUEUE, "localqueues")}
        assert look()[0].queues is None


def cq(name: str, flavors: str, reserved: str = "", **spec: Any) -> dict[str, Any]:
    """A ClusterQueue with GPUs by flavor: `on-demand 8 lend=2 borrow=4`, and what is reserved of each."""
    status = [
        {"name": flavor, "resources": [{"name": GPU, "total": total, "borrowed": "0"}]}
        for flavor, total in (each.split() for each in reserved.split(";") if each)
    ]
    spec.setdefault("namespaceSelector", {})
    return thing(
        "kueue.x-k8s.io/v1beta1", "ClusterQueue", name,
        spec={**spec, "resourceGroups": groups_of(flavors)}, status={"flavorsReservation": status},
    )  # fmt: skip


def groups_of(flavors: str) -> list[dict[str, Any]]:
    keys = {"lend": "lendingLimit", "borrow": "borrowingLimit"}
    found = []
    for each in filter(None, flavors.split(";")):
        flavor, nominal, *limits = each.split()
        more = {keys[key]: value for key, value in (limit.split("=") for limit in limits)}
        found.append({"name": flavor, "resources": [{"name": GPU, "nominalQuota": nominal, **more}]})
    return [{"coveredResources": [GPU], "flavors": found}] if found else []


def local(name: str, queue: str, namespace: str = "ml", **spec: str) -> dict[str, Any]:
    return thing("kueue.x-k8s.io/v1beta1", "LocalQueue", name, namespace, spec={"clusterQueue": queue, **spec})


def cohort(name: str, flavors: str = "", **spec: str) -> dict[str, Any]:
    return thing("kueue.x-k8s.io/v1beta1", "Cohort", name, spec={**spec, "resourceGroups": groups_of(flavors)})


def left(*objects: dict[str, Any], cohorts: list[dict[str, Any]] | None = None) -> dict[str, str]:
    """`left of which own` of each queue and cohort."""
    found = queues(objects, [], [] if cohorts is None else cohorts, {})
    shares = (*found["queues"], *found["cohorts"])
    return {share.name: f"{share.left.get(GPU, 0)} {share.own.get(GPU, 0)}" for share in shares}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([cq("q", "a 8")], {"q": "8 8"}),
        ([cq("q", "a 8;b 4", "a 5;b 4")], {"q": "3 3"}),
        ([cq("q", "a 8;b 4", "a 10;b 1")], {"q": "3 3"}),  # over-admission of one flavor is not paid by another
        ([cq("q", "a 8", cohort="c"), cq("r", "a 4", cohort="c")], {"q": "12 0", "r": "12 0", "c": "12 12"}),
        ([cq("q", "a 8", cohortName="c"), cq("r", "a 4", cohortName="c")], {"q": "12 0", "r": "12 0", "c": "12 12"}),
        ([cq("q", "a 8 borrow=1", cohort="c"), cq("r", "a 4", cohort="c")], {"q": "9 0", "r": "12 0", "c": "12 12"}),
        ([cq("q", "a 8", cohort="c"), cq("r", "a 4 lend=1", cohort="c")], {"q": "9 0", "r": "12 3", "c": "9 9"}),
        ([cq("q", "a 8", "a 10", cohort="c"), cq("r", "a 4", cohort="c")], {"q": "2 0", "r": "2 0", "c": "2 2"}),
        ([cq("q", "a 8 borrow=0", "a 3", cohort="c"), cq("r", "a 4 lend=0", "a 1", cohort="c")], {"q": "5 0", "r": "8 3", "c": "5 5"}),
    ],
)  # fmt: skip
def test_what_may_still_be_reserved(objects: list[dict[str, Any]], expected: dict[str, str]) -> None:
    assert left(*objects) == expected


def test_cohorts_stand_in_cohorts() -> None:
    objects = [cq("q", "a 2", cohort="team"), cq("r", "a 10", "a 1", cohort="other")]
    cohorts = [cohort("team", "a 3 borrow=4", parentName="all"), cohort("other", parent="all"), cohort("all", "a 1")]
    assert left(*objects, cohorts=cohorts) == {"q": "9 0", "r": "15 0", "all": "15 15", "other": "15 0", "team": "9 0"}


def test_cohorts_in_a_circle_lend_nothing() -> None:
    cohorts = [cohort("x", "a 5", parentName="y"), cohort("y", "a 5", parentName="x")]
    assert left(cq("q", "a 2", cohort="x"), cohorts=cohorts)["q"] == "2 0"


def test_nothing_is_borrowed_where_cohorts_may_not_be_read() -> None:
    objects = [cq("q", "a 8", "a 3", cohort="c"), cq("r", "a 4", cohort="c")]
    found = queues(objects, [], None, {})
    assert [queue.left[GPU] for queue in found["queues"]] == [5, 4]


def test_amounts_are_never_rounded_in_favour_of_a_promise() -> None:
    item = {"name": "cpu", "nominalQuota": "1500.5m"}
    queue = cq("q", "")
    queue["spec"]["resourceGroups"] = [{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": [item]}]}]
    queue["status"]["flavorsReservation"] = [{"name": "a", "resources": [{"name": "cpu", "total": "100.2m"}]}]
    assert queues([queue], [], [], {})["queues"][0].left == Resources({"cpu": 1399})
    item["nominalQuota"] = "much"
    assert queues([queue], [], [], {})["queues"][0].left == Resources()


def test_what_leads_to_a_queue_and_what_stops_it() -> None:
    objects = [
        cq("held", "a 1", stopPolicy="HoldAndDrain"),
        cq("picky", "a 1", namespaceSelector={"matchLabels": {"team": "ml"}}),
        {**cq("broken", "a 1"), "status": {"conditions": [{"type": "Active", "status": "False", "reason": "FlavorNotFound"}]}},
    ]  # fmt: skip
    locals_ = [
        local("a", "held", stopPolicy="None"), local("b", "picky"), local("c", "picky", "web"), local("d", "gone"),
        local("e", "broken", stopPolicy="Hold"),
    ]  # fmt: skip
    found = queues(objects, locals_, [], {"ml": {"team": "ml"}, "web": {}})
    assert [(q.name, q.stopped, [(x.name, x.stopped) for x in q.local_queues]) for q in found["queues"]] == [
        ("broken", "FlavorNotFound", [("ml/e", "Hold")]),
        ("held", "HoldAndDrain", [("ml/a", "")]),
        ("picky", "", [("ml/b", ""), ("web/c", "NamespaceNotSelected")]),
    ]

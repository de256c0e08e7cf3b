"""Workers that an app may have later: clusters that could run one come first, and where none could run there it is told, and nothing waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitplacer.comparison import Baseline
from gitplacer.formats.explanation import explanation_json
from gitplacer.formats.group import explain_group
from gitplacer.formats.markdown import plan_markdown
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import plan_json
from gitplacer.formats.text import plan_text
from gitplacer.hydrate import Hydration
from gitplacer.placement.idle import NodeSorts
from gitplacer.placement.onepass import Pass
from gitplacer.review import Base, Check, Review
from gitplacer.review.redaction import redacted_problem
from tests.commands import run
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot

CODE = "NoNodeToGrow"
PLAIN = "n1 32 64Gi"
GPU = "n1 32 64Gi 4"
TAINTED = f"{GPU} | , taints: [{{key: gpu, value: reserved, effect: NoSchedule}}]"


def app(more: str = "replicas: 0, minReplicas: 0, maxReplicas: 8", name: str = "app", **spec: str) -> dict[str, str]:
    """A RayCluster with a head that fits anywhere, and workers with a GPU each, or what `resources` says; `pod` are fields of their pods."""
    resources = spec.get("resources", '{requests: {cpu: "1", memory: 1Gi}, limits: {nvidia.com/gpu: "1"}}')
    text = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: {name}, annotations: {{{spec.get("annotations", "")}}}}}
spec: {{{spec.get("top", "enableInTreeAutoscaling: true")},
  headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {{containers: [{{name: h, image: ray, resources: {{requests: {{cpu: "1", memory: 1Gi}}}}}}]}}}}}},
  workerGroupSpecs: [
    {{groupName: gpu, {more}, rayStartParams: {{}},
     template: {{spec: {{{spec.get("pod", "")} containers: [{{name: w, image: ray, resources: {resources}}}]}}}}}}]}}
"""
    return {f"workloads/x/{name}.yaml": text}


def story(nodes: list[str], *files: dict[str, str], **spec: str) -> Story:
    return Story.of(cluster("c", **spec), ANYWHERE, *files, capacity=snapshot("c", *nodes))


def told(done: Hydration) -> list[str]:
    """What is said of workers that could never run, without what all have in common."""
    found = [problem for problem in done.problems if problem.code == CODE]
    assert all(problem.severity == "warning" and problem.location.file.startswith("workloads/") for problem in found)
    return [problem.message.partition(" may have ")[2] for problem in found]


NONE_LEFT = "none could ever run on c: "
UP_TO_8 = f"up to 8 pods of worker/gpu later, and {NONE_LEFT}"


CASES = [
    ([PLAIN], app(), UP_TO_8 + "1 of 1 node: not enough nvidia.com/gpu"),
    ([GPU], app(), ""),
    ([f"{GPU} | , used: {{nvidia.com/gpu: 4, cpu: 20}}"], app(), ""),  # full, which passes
    ([f"{GPU} | , unschedulable: true", "n2 32 64Gi"], app(), ""),  # and so does a cordon
    ([f"{GPU} | , ready: false", "n2 32 64Gi"], app(), ""),
    ([f"{GPU} | , ready: false, taints: [{{key: node.kubernetes.io/unreachable, effect: NoExecute}}]", "n2 32 64Gi"], app(), ""),
    ([TAINTED, "n2 8 32Gi"], app(), UP_TO_8 + "1 of 2 nodes: not enough nvidia.com/gpu; 1 of 2 nodes: gpu=reserved:NoSchedule"),
    ([TAINTED, "n2 8 32Gi"], app(pod="tolerations: [{key: gpu, operator: Exists}],"), ""),
    ([GPU], app(pod="nodeSelector: {pool: a100},"), UP_TO_8 + "1 of 1 node: pool=a100"),
    ([f"{GPU} | , labels: {{pool: a100}}", "n2 8 32Gi"], app(pod="nodeSelector: {pool: a100},"), ""),
    ([GPU], app(resources='{limits: {nvidia.com/gpu: "8"}}'), UP_TO_8 + "1 of 1 node: not enough nvidia.com/gpu"),
    # groups that are not meant to have workers, and those that have some already
    ([PLAIN], app("replicas: 0, minReplicas: 0, maxReplicas: 0"), ""),
    ([PLAIN], app("replicas: 0, maxReplicas: 8, suspend: true", top="enableInTreeAutoscaling: false"), ""),
    ([PLAIN], app(top="suspend: true"), ""),
    ([PLAIN], app("replicas: 0, maxReplicas: 8, numOfHosts: 0"), ""),
    ([GPU], app("replicas: 2, minReplicas: 0, maxReplicas: 8"), ""),
    # somebody may scale it up as well as something
    ([PLAIN], app(top='rayVersion: "2.52.0"'), UP_TO_8 + "1 of 1 node: not enough nvidia.com/gpu"),
    ([PLAIN], app("replicas: 0"), f"any number of pods of worker/gpu later, and {NONE_LEFT}1 of 1 node: not enough nvidia.com/gpu"),
    # its author has thought of it
    ([PLAIN], app(annotations=f"allow.gitplacer.dev/{CODE}: they come in May"), ""),
    # all hosts of one replica
    ([GPU, "n2 8 32Gi 4"], app("replicas: 0, maxReplicas: 8, numOfHosts: 8"), ""),
    ([GPU, "n2 8 32Gi 2"], app("replicas: 0, maxReplicas: 3, numOfHosts: 8"),
     f"up to 3 replicas of worker/gpu, of 8 hosts each, later, and {NONE_LEFT}6 of 8 hosts of a replica find a node; "
     "2 of 2 nodes: taken by those that fit"),
    ([GPU, "n2 8 32Gi 2"], app("replicas: 0, maxReplicas: 1, numOfHosts: 8"),
     f"up to 1 replica of worker/gpu, of 8 hosts, later, and {NONE_LEFT}6 of 8 hosts of a replica find a node; "
     "2 of 2 nodes: taken by those that fit"),
    ([PLAIN], app("replicas: 0, maxReplicas: 1"),
     f"up to 1 pod of worker/gpu later, and {NONE_LEFT}1 of 1 node: not enough nvidia.com/gpu"),
    # a cluster that knows no more of a pod than its name asks for
    ([GPU], app(pod="nodeSelector: {kubernetes.io/hostname: n1},"), ""),
    ([GPU, "n2 8 32Gi"], app(pod="nodeSelector: {kubernetes.io/hostname: n2},"),
     UP_TO_8 + "1 of 2 nodes: not enough nvidia.com/gpu; 1 of 2 nodes: kubernetes.io/hostname=n2"),
]  # fmt: skip


@pytest.mark.parametrize(("there", "manifest", "said"), CASES)
def test_workers_that_could_never_run_are_told(there: list[str], manifest: dict[str, str], said: str) -> None:
    done = story(there, manifest).run()
    assert outcome(done) == {"x/app": "Place c Fits"}
    assert told(done) == ([said] if said else [])


@pytest.mark.parametrize(("there", "manifest", "said"), CASES)
def test_a_cluster_that_comes_last_for_them_is_one_of_which_it_would_be_told(
    there: list[str], manifest: dict[str, str], said: str
) -> None:
    shared = Pass(story(there, manifest).plan().snapshot, {})
    later = shared.outlook.later(shared.groups["x/app"])
    last = (
        []
        if later is None
        else shared.outlook.strands(shared.groups["x/app"], later, shared.books, shared.books.numbers(["c"])).tolist()
    )
    assert any(last) is bool(said) or "allow.gitplacer.dev" in manifest["workloads/x/app.yaml"]


def seen(*nodes: str) -> list[dict[str, Any]]:
    """The nodes of a snapshot as `kubectl get nodes` has them."""
    found = []
    for node in yaml.safe_load(next(iter(snapshot("c", *nodes).values())))["nodes"]:
        ready = {"type": "Ready", "status": "True" if node.get("ready", True) else "False"}
        labels = {"kubernetes.io/hostname": node["name"], **node.get("labels", {})}
        spec = {key: node[key] for key in ("taints", "unschedulable") if key in node}
        status = {"allocatable": {"pods": "110", **node["allocatable"]}, "conditions": [ready]}
        found.append(
            {"kind": "Node", "metadata": {"name": node["name"], "labels": labels}, "spec": spec, "status": status}
        )
    return found


@pytest.mark.parametrize(("there", "manifest", "said"), CASES)
def test_fit_says_the_same_of_the_nodes_of_a_dump(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], there: list[str], manifest: dict[str, str], said: str
) -> None:
    (text,) = manifest.values()
    (tmp_path / "app.yaml").write_text(text)
    (tmp_path / "dump.json").write_text(json.dumps({"items": seen(*there)}))
    args = ("fit", tmp_path / "app.yaml", "--from", tmp_path / "dump.json")
    shown, ran = run(capfd, *args), run(capfd, *args, "--format", "json")
    problems = json.loads(ran.out or "{}").get("problems", [])  # what is suspended has no pods, and no answer
    assert [problem["code"] for problem in problems] == ([CODE] if said else [])
    for problem in problems:
        on_nodes = problem["message"].replace("on the nodes that are there", "on c")
        assert (problem["severity"], on_nodes.partition(" may have ")[2]) == ("warning", said)
        assert f"{problem['file']}:{problem['line']}:{problem['column']}: warning: {problem['message']}\n" in shown.err


@pytest.mark.parametrize(("zone", "told"), [("a", False), ("b", True)])
def test_fit_looks_for_workers_where_their_volumes_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], zone: str, told: bool
) -> None:
    volume = {
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
        ]}}},
    }  # fmt: skip
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": "v"},
    }
    nodes = seen(f"{GPU} | , labels: {{zone: a}}", "n2 8 32Gi | , labels: {zone: b}")
    (text,) = app(pod="volumes: [{name: d, persistentVolumeClaim: {claimName: data}}],").values()
    (tmp_path / "app.yaml").write_text(text)
    (tmp_path / "dump.json").write_text(json.dumps({"items": [*nodes, volume, claim]}))
    ran = run(capfd, "fit", tmp_path / "app.yaml", "--from", tmp_path / "dump.json")
    assert ("none could ever run" in ran.err) is told


def test_fit_says_nothing_where_a_node_cannot_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nodes = seen(PLAIN, "n2 8 32Gi")
    nodes[1]["status"]["allocatable"]["nvidia.com/gpu"] = "some"
    (tmp_path / "app.yaml").write_text(next(iter(app().values())))
    (tmp_path / "dump.json").write_text(json.dumps({"items": nodes}))
    assert run(capfd, "fit", tmp_path / "app.yaml", "--from", tmp_path / "dump.json").err == ""


@pytest.mark.parametrize(("pools", "fits"), [
    ("a a a a", True),
    ("a a b b", False),  # four, and no four of one pool
    ("a a a -", False),
])  # fmt: skip
def test_hosts_of_a_slice_have_to_be_of_one_pool(pools: str, fits: bool) -> None:
    nodes = [
        f"n{i} 8 32Gi | , labels: {{{f'pool: {pool}' if pool != '-' else ''}}}" for i, pool in enumerate(pools.split())
    ]
    manifest = app("replicas: 0, maxReplicas: 2, numOfHosts: 4", resources='{requests: {cpu: "6"}}')
    done = story(nodes, manifest, profile="{sliceTopology: pool}").run()
    assert (told(done) == []) is fits


@pytest.mark.parametrize(("there", "most", "exhausted", "said"), [
    ([PLAIN], 3, "", ""),  # a pool that has no node now
    ([PLAIN], 3, "exhausted: {code: InsufficientInstanceCapacity}", ""),  # which passes
    ([PLAIN], 0, "", UP_TO_8 + "1 of 1 node: not enough nvidia.com/gpu; node group gpus may have no more than 0 nodes"),
    ([], 0, "", UP_TO_8 + "it has no nodes; node group gpus may have no more than 0 nodes"),
])  # fmt: skip
def test_machines_that_can_be_added_count(there: list[str], most: int, exhausted: str, said: str) -> None:
    groups = (
        'nodeGroups:\n- {name: cpus, nodeType: m5, max: 3, allocatable: {cpu: "8", memory: 32Gi}}\n'
        f'- {{name: gpus, nodeType: g5, max: {most}, allocatable: {{cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}}, {exhausted}}}\n'
    )
    grows = cluster("c", autoscaler="{type: ClusterAutoscaler}")
    assert told(Story.of(grows, ANYWHERE, app(), capacity=snapshot("c", *there, more=groups)).run()) == (
        [said] if said else []
    )


@pytest.mark.parametrize(
    ("limits", "topology", "hosts"),
    [
        ("{cpu: 16}", "", 4),
        ("{cpu: 12}", "", 3),  # one of each sort, though three of the one or one of the other may come
        ("{cpu: 8}", "", 2),
        ("{cpu: 16, nodes: 2}", "", 4),
        ("{cpu: 16, nodes: 1}", "", 2),
        ("{cpu: 12}", "profile: {sliceTopology: slice}", 3),
        ("{cpu: 12}", "profile: {sliceTopology: pool}", 3),  # each sort is in a pool of its own
    ],
)
def test_machines_of_several_types_are_counted_together_against_a_limit(limits: str, topology: str, hosts: int) -> None:
    """Each was counted as if the others did not come: with 12 cpu for both, it was said that five hosts find machines."""
    grows = cluster(
        "c", autoscaler="{type: Karpenter, nodeTypes: ["
        "{name: small, labels: {slice: s, pool: s}, allocatable: {cpu: 4, memory: 32Gi}},"
        "{name: large, labels: {slice: s, pool: l}, allocatable: {cpu: 8, memory: 32Gi}}],"
        f" nodePools: [{{name: any, limits: {limits}}}]}}", **({"profile": topology.partition(": ")[2]} if topology else {}),
    )  # fmt: skip
    manifest = app("replicas: 0, maxReplicas: 1, numOfHosts: 4", resources='{requests: {cpu: "4"}}')
    said = told(Story.of(grows, ANYWHERE, manifest, capacity=snapshot("c", "n1 3 64Gi")).run())
    expected = f"{hosts} of 4 hosts of a replica find a node" if 1 < hosts < 4 else ""
    assert (said == []) is (hosts == 4)
    assert expected in "".join(said)


def test_a_policy_that_reserves_the_minimum_has_no_room_for_workers_that_are_written() -> None:
    minimum = policy("anywhere", "select: {}\nplacement: {reserve: Minimum}")
    done = story([PLAIN], app("replicas: 2, minReplicas: 0, maxReplicas: 8"), minimum).run()
    assert told(done) == [UP_TO_8 + "1 of 1 node: not enough nvidia.com/gpu"]


# which cluster


@pytest.mark.parametrize(("a", "b", "placement", "where"), [
    (PLAIN, GPU, "type: Capacity", "b"),
    (GPU, PLAIN, "type: Capacity", "a"),
    (PLAIN, PLAIN, "type: Capacity", "a"),  # none could, and it does not wait for that
    (TAINTED, GPU, "type: Capacity", "b"),
    (PLAIN, GPU, "type: Ordered\n  order: [{names: [a]}, {names: [b]}]", "a"),  # what a policy likes counts first
    (PLAIN, "n1 1 1Gi 4", "type: Capacity", "a"),  # and room now
])  # fmt: skip
def test_of_clusters_that_are_liked_equally_one_is_taken_that_could_run_what_may_come(
    a: str, b: str, placement: str, where: str
) -> None:
    one = Story.of(
        cluster("a"), cluster("b"), policy("anywhere", f"select: {{}}\nplacement:\n  {placement}"), rayservice("x", "app", workers=0),
        capacity=snapshot("a", a) | snapshot("b", b),
    )  # fmt: skip
    assert outcome(one.run()) == {"x/app": f"Place {where} Fits"}
    assert outcome(one.run()) == {"x/app": f"Keep {where} Kept"}


def test_one_that_is_awake_is_taken_before_one_that_would_have_to_be_called() -> None:
    sleeping = cluster(
        "b", standby='{idleAfter: 1h, nodes: [{name: g, allocatable: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}]}'
    )
    one = Story.of(cluster("a"), sleeping, ANYWHERE, app(), capacity=snapshot("a", PLAIN))
    assert outcome(one.run()) == {"x/app": "Place a Fits"}


def test_an_override_decides_where_its_workers_could_run() -> None:
    tolerated = {
        "overrides/a.yaml": (
            "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: a}\nspec:\n  select: {}\n  clusters: {names: [b]}\n"
            "  overrides:\n  - {path: /spec/workerGroupSpecs/0/template/spec/tolerations, op: add, value: [{key: gpu, operator: Exists}]}\n"
        )
    }
    one = Story.of(
        cluster("a"),
        cluster("b"),
        ANYWHERE,
        tolerated,
        app(),
        capacity=snapshot("a", TAINTED, "n2 8 32Gi") | snapshot("b", TAINTED, "n2 8 32Gi"),
    )
    done = one.run()
    assert (outcome(done), told(done)) == ({"x/app": "Place b Fits"}, [])


def test_a_sort_of_workers_is_looked_for_once_on_all_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    look = NodeSorts._find
    monkeypatch.setattr(NodeSorts, "_find", lambda self, sort: asked.append(sort) or look(self, sort))
    clusters = [cluster(name) for name in "abc"]
    apps = [app(name=f"app{i}") for i in range(5)]
    full = {key: text for name in "abc" for key, text in snapshot(name, GPU).items()}
    Story.of(
        *clusters, ANYWHERE, *apps, rayservice("x", "other", workers=0), rayservice("x", "none"), capacity=full
    ).plan()
    assert len(asked) == 2


# how it is told


def test_it_is_told_before_the_merge_that_brings_it_and_stays_no_news_behind_it() -> None:
    one = story([PLAIN], app("replicas: 0, minReplicas: 0, maxReplicas: 0"))
    base = one.run()
    one.source |= app()  # an edit of what runs
    done = one.plan()
    assert outcome(done) == {"x/app": "Update c Updated"}
    review = Review(done.view, Base(name="main", commit="b" * 40, plan=Baseline.of(base.view)))
    assert [problem.code for problem in review.problems] == [CODE]
    assert review.check is Check.PASS
    said = "none could ever run on c: 1 of 1 node: not enough nvidia.com/gpu"
    assert said in plan_text(done.view, Options(), review)
    assert said in plan_markdown(done.view, Options(), review)
    assert [each["code"] for each in json.loads(plan_json(done.view, Options(), review))["problems"]] == [CODE]
    assert said in explain_group(done.view, "x/app")
    assert [each["code"] for each in json.loads(explanation_json(done.view, "x/app"))["problems"]] == [CODE]
    assert "1" not in redacted_problem(review.problems[0]).message
    base = one.run()
    later = Review(one.plan().view, Base(name="main", commit="b" * 40, plan=Baseline.of(base.view)))
    assert (later.problems, later.older_problems) == ((), 1)


def test_clusters_where_it_is_are_told_together() -> None:
    everywhere = policy("anywhere", "select: {}\nplacement: {copies: All}")
    full = snapshot("a", PLAIN) | snapshot("b", PLAIN) | snapshot("c", GPU) | snapshot("d", TAINTED, "n2 8 32Gi")
    done = Story.of(*map(cluster, "abcd"), everywhere, app(), capacity=full).run()
    assert told(done) == [
        "up to 8 pods of worker/gpu later, and none could ever run on a and b: 1 of 1 node: not enough nvidia.com/gpu; "
        "none could ever run on d: 1 of 2 nodes: not enough nvidia.com/gpu; 1 of 2 nodes: gpu=reserved:NoSchedule"
    ]


def test_a_story() -> None:
    """An app goes where its head fits, is told that its workers could not, and is at rest once there are nodes for them."""
    one = story([PLAIN], app())
    assert told(one.run()) != []
    one.capacity = snapshot("c", PLAIN, "n2 8 32Gi 1", at=one.now)
    done = one.run()
    assert (outcome(done), told(done), done.steps) == ({"x/app": "Keep c Kept"}, [], ())
    one.source |= app("replicas: 0, minReplicas: 0, maxReplicas: 8", resources='{limits: {nvidia.com/gpu: "2"}}')
    assert told(one.run()) == [UP_TO_8 + "2 of 2 nodes: not enough nvidia.com/gpu"]
    one.source |= cluster("c", state="Draining") | cluster("d")
    one.capacity |= snapshot("d", GPU, at=one.now)
    done = one.run()
    assert (outcome(done), told(done)) == ({"x/app": "Relocate d ClusterDraining"}, [])

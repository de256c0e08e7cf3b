"""What KubeRay gives the pods of a Ray cluster besides containers, as a scheduler sees it: a port, labels."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import yaml

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.formats import FORMATS, Options
from gitplacer.placement.onlookers import Onlookers
from tests.dumps import Json, a_pod, machine, said
from tests.stories import ANYWHERE, PRIVILEGED, START, Story, cluster, decisions, outcome, policy, snapshot

NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ray"}}
A, B = machine("a"), machine("b")
SHARED = "hostNetwork: true, "
CHOSEN = {"ray.io/cluster": "other"}


def template(pod: str = "", container: str = "") -> Json:
    """A pod template with more fields of its pod spec and of its first container."""
    resources = "resources: {limits: {cpu: 1, memory: 1Gi}}"
    found: Json = yaml.safe_load(f"spec: {{{pod}containers: [{{name: ray, image: x, {container}{resources}}}]}}")
    return found


def app(
    kind: str,
    head: Json,
    worker: Json,
    workers: int,
    name: str = "x",
    namespace: str = "ray",
    hosts: int = 1,
    **more: Any,
) -> Json:
    """A Ray object with one worker group, of so many replicas; `more` goes to the spec around its Ray cluster."""
    group = {"groupName": "g", "replicas": workers, "numOfHosts": hosts, "template": worker}
    cluster = {"headGroupSpec": {"template": head}, "workerGroupSpecs": [group]}
    around = {
        "RayCluster": cluster,
        "RayService": {"rayClusterConfig": cluster},
        "RayJob": {"rayClusterSpec": cluster, **more},
        "RayCronJob": {"schedule": "0 3 * * *", "jobTemplate": {"rayClusterSpec": cluster, **more}},
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": around[kind]}


def facts(value: Json) -> workloads.ObjectFacts:
    data = json.dumps(value).encode()
    [document] = parse(data).documents
    found, problems = workloads.read(Document("x.yaml", document, 0, lambda: data))
    assert [problem.code for problem in problems if problem.code != "NotCounted"] == []
    return found


KINDS = pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService", "RayCronJob"])


# -- the port of metrics ----------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("pod", "container", "ports"),
    [
        ("", "", []),
        ("hostNetwork: false, ", "", []),
        ("", "ports: [{containerPort: 9000, hostPort: 9000}], ", [9000]),
        (SHARED, "", [8080]),
        (SHARED, "ports: [], ", [8080]),
        (SHARED, "ports: [{name: gcs, containerPort: 6379}], ", [6379, 8080]),
        (SHARED, "ports: [{name: m, containerPort: 9000, hostPort: 9000}], ", [8080, 9000]),
        (SHARED, "ports: [{name: metrics, containerPort: 9090}], ", [9090]),  # as it is written
        (SHARED, "ports: [{name: metrics, containerPort: 9090, hostPort: 9090}], ", [9090]),
        (SHARED + "initContainers: [{name: i, ports: [{name: metrics, containerPort: 1}]}], ", "", [8080]),
        (
            SHARED + "initContainers: [{name: i, restartPolicy: Always, ports: [{name: metrics, containerPort: 1}]}], ",
            "",
            [1, 8080],
        ),
    ],
)
def test_on_the_hosts_network_the_port_that_kuberay_adds_is_one_of_the_node(
    kind: str, pod: str, container: str, ports: list[int]
) -> None:
    """KubeRay looks for the name `metrics` at the first container, and nowhere else."""
    made = template(pod, container)
    found = {pods.role: sorted(port.port for port in pods.shape.ports) for pods in facts(app(kind, made, made, 1)).gang}
    found.pop("submitter", None)
    assert found == {"head": ports, "worker/g": ports}


def test_a_second_container_with_a_port_of_metrics_is_not_the_ray_container() -> None:
    made = template(SHARED)
    made["spec"]["containers"].append({"name": "beside", "ports": [{"name": "metrics", "containerPort": 9000}]})
    [head, _] = facts(app("RayCluster", made, template(), 1)).gang
    assert sorted(port.port for port in head.shape.ports) == [8080, 9000]


def test_a_submitter_is_no_ray_pod() -> None:
    made = app("RayJob", template(), template(), 1, submitterPodTemplate=template(SHARED))
    assert [pods.shape.ports for pods in facts(made).gang] == [(), (), ()]
    chosen = app("RayJob", template(), template(), 1, submitterPodTemplate=template(SHARED), clusterSelector=CHOSEN)
    assert [pods.shape.ports for pods in facts(chosen).gang] == [()]


METRICS = "ports: [{name: metrics, containerPort: PORT}], "


@KINDS
@pytest.mark.parametrize(
    ("head", "worker", "workers", "answer"),
    [
        (("",), ("",), 4, "Fits"),
        (("",), (SHARED,), 2, "Fits"),
        (("",), (SHARED,), 3, "No HostPortTaken"),
        ((SHARED,), (SHARED,), 1, "Fits"),
        ((SHARED,), (SHARED,), 2, "No HostPortTaken"),
        ((SHARED,), ("",), 4, "Fits"),
        ((SHARED, METRICS.replace("PORT", "8081")), (SHARED,), 2, "Fits"),
        ((SHARED, METRICS.replace("PORT", "8080")), (SHARED,), 2, "No HostPortTaken"),
    ],
)
def test_ray_pods_on_the_hosts_network_share_no_node(
    kind: str, head: tuple[str, ...], worker: tuple[str, ...], workers: int, answer: str
) -> None:
    assert said([app(kind, template(*head), template(*worker), workers)], A, B, NAMESPACE) == answer


def test_a_node_whose_port_somebody_has_takes_no_ray_pod_on_its_network() -> None:
    taken = a_pod("exporter", nodeName="a")
    taken["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": 8080}]
    assert said([app("RayCluster", template(), template(SHARED), 1)], A, NAMESPACE, taken) == "No HostPortTaken"
    assert said([app("RayCluster", template(), template(SHARED), 1)], A, B, NAMESPACE, taken) == "Fits"


# -- the labels of a cluster whose name is made up --------------------------------------------------------------------

CLUSTER, IDENTIFIER, IS_RAY = "ray.io/cluster", "ray.io/identifier", "ray.io/is-ray-node"
HOST = "topologyKey: kubernetes.io/hostname"


def apart(expression: str, more: str = "") -> Json:
    """A template whose pods keep apart, node by node, from those that an expression is about."""
    selector = f"labelSelector: {{matchExpressions: [{{{expression}}}]}}"
    required = f"requiredDuringSchedulingIgnoredDuringExecution: [{{{HOST}, {selector}{more}}}]"
    return template(f"affinity: {{podAntiAffinity: {{{required}}}}}, ")


def spread(expression: str, more: str = "") -> Json:
    selector = f"labelSelector: {{matchExpressions: [{{{expression}}}]}}"
    constraint = f"{{{HOST}, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, {selector}{more}}}"
    return template(f"topologySpreadConstraints: [{constraint}], ")


def there(key: str, operator: str = "Exists", values: str = "") -> str:
    return f"key: {key}, operator: {operator}" + (f", values: [{values}]" if values else "")


ANY_RAY = there(IS_RAY, "In", '"yes"')


@KINDS
@pytest.mark.parametrize(
    ("pods", "answer"),
    [
        (apart(there(CLUSTER)), "No PodAffinity"),
        (apart(there(IDENTIFIER)), "No PodAffinity"),
        (apart(there(CLUSTER, "NotIn", "other")), "No PodAffinity"),
        (apart(there(CLUSTER, "DoesNotExist")), "Fits"),
        (apart(there(CLUSTER, "In", "other")), "Fits"),
        (apart(ANY_RAY, f", matchLabelKeys: [{CLUSTER}]"), "No PodAffinity"),
        (apart(ANY_RAY, f", mismatchLabelKeys: [{CLUSTER}]"), "Fits"),  # from other clusters' pods alone
    ],
)
def test_pods_of_a_cluster_whose_name_is_made_up_have_the_labels_of_any(kind: str, pods: Json, answer: str) -> None:
    assert said([app(kind, pods, pods, 2, submissionMode="HTTPMode")], A, NAMESPACE) == answer


@KINDS
@pytest.mark.parametrize(
    ("expression", "more", "answer"),
    [
        (there(CLUSTER), "", "No"),
        (there(IDENTIFIER), "", "No"),
        (ANY_RAY, f", matchLabelKeys: [{CLUSTER}]", "No"),
        (there(CLUSTER, "In", "other"), "", "Fits"),
    ],
)
def test_pods_of_a_cluster_whose_name_is_made_up_are_spread_like_any(
    kind: str, expression: str, more: str, answer: str
) -> None:
    """A node without room is a domain all the same: with none there, the other may have one."""
    nodes = machine("a"), machine("b", cpu="0")
    pods = spread(expression, more)
    found = said([app(kind, pods, pods, 2, submissionMode="HTTPMode")], *nodes, NAMESPACE)
    assert found.partition(" ")[0] == answer


@KINDS
@pytest.mark.parametrize(
    ("expression", "more", "other", "answer"),
    [
        (ANY_RAY, f", mismatchLabelKeys: [{CLUSTER}]", {"name": "y"}, "No PodAffinity"),
        (ANY_RAY, f", matchLabelKeys: [{CLUSTER}]", {"name": "y"}, "Fits"),
        # A namesake elsewhere is another, also to a rule about all namespaces.
        (ANY_RAY, f", namespaceSelector: {{}}, mismatchLabelKeys: [{CLUSTER}]", {"namespace": "b"}, "MADE UP"),
        (there(CLUSTER), "", {"namespace": "b"}, "Fits"),
        (there(CLUSTER), ", namespaceSelector: {}", {"namespace": "b"}, "No PodAffinity"),
    ],
)
def test_a_cluster_whose_name_is_made_up_is_another_than_each_other(
    kind: str, expression: str, more: str, other: dict[str, str], answer: str
) -> None:
    """Two apps of a single pod each, on one node; Ray clusters of one name in two namespaces have the same label."""
    if answer == "MADE UP":
        answer = "Fits" if kind == "RayCluster" else "No PodAffinity"
    pods = apart(expression, more)
    apps = [app(kind, pods, pods, 0, submissionMode="HTTPMode", **each) for each in ({}, other)]
    assert said(apps, A, NAMESPACE, {**NAMESPACE, "metadata": {"name": "b"}}) == answer


def test_a_rayjob_and_a_rayservice_of_one_name_have_different_clusters() -> None:
    pods = apart(ANY_RAY, f", mismatchLabelKeys: [{CLUSTER}]")
    apps = [app(kind, pods, pods, 0, submissionMode="HTTPMode") for kind in ("RayJob", "RayService")]
    assert said(apps, A, NAMESPACE) == "No PodAffinity"
    assert said(apps, A, B, NAMESPACE) == "Fits"


# -- in a plan, where a namespace may come from a path ----------------------------------------------------------------


def written(value: Json, namespace: str) -> dict[str, str]:
    """An app in a file that gives it its namespace."""
    del value["metadata"]["namespace"]
    return {f"workloads/{namespace}/{value['metadata']['name']}.yaml": yaml.safe_dump(value)}


@KINDS
def test_a_plan_keeps_pods_apart_that_have_the_label_of_a_cluster(kind: str) -> None:
    pods = apart(there(CLUSTER))
    value = app(kind, pods, pods, 1, submissionMode="HTTPMode")
    story = Story.of(cluster("c"), ANYWHERE, written(value, "a"), capacity=snapshot("c", "n1 8 32Gi"))
    done = story.run()
    assert outcome(done)["a/x"] == "Wait  NoClusterFits"
    assert [c.finding.code for c in decisions(done)["a/x"].candidates] == ["PodAffinity"]
    story.capacity |= snapshot("c", "n1 8 32Gi", "n2 8 32Gi")
    assert outcome(story.run())["a/x"] == "Place c Fits"


@pytest.mark.parametrize(
    ("more", "outcomes"),
    [
        (f", namespaceSelector: {{}}, mismatchLabelKeys: [{CLUSTER}]", "Wait  NoClusterFits"),
        (f", namespaceSelector: {{}}, matchLabelKeys: [{CLUSTER}]", "Place c Fits"),
        (f", mismatchLabelKeys: [{CLUSTER}]", "Place c Fits"),
    ],
)
def test_a_plan_takes_the_clusters_of_namesakes_for_different_ones(more: str, outcomes: str) -> None:
    """That the second has no rule of its own does not matter: the first keeps it away."""
    first = app("RayService", apart(ANY_RAY, more), template(), 0)
    second = app("RayService", template(), template(), 0)
    story = Story.of(cluster("c"), PRIVILEGED, ANYWHERE, written(first, "a"), capacity=snapshot("c", "n1 8 32Gi"))
    assert outcome(story.run())["a/x"] == "Place c Fits"
    story.source |= written(second, "b")
    assert outcome(story.run())["b/x"] == outcomes


def test_nobody_is_shown_the_value_that_stands_for_a_name() -> None:
    pods = apart(there(CLUSTER), f", matchLabelKeys: [{IDENTIFIER}, {INDEX}]")
    value = app("RayService", pods, pods, 2)
    story = Story.of(cluster("c"), ANYWHERE, written(value, "a"), capacity=snapshot("c", "n1 8 32Gi", "n2 8 32Gi"))
    done = story.run()
    assert outcome(done)["a/x"] == "Place c Fits"
    shown = [
        *(make(done.view, Options(verbose=True, diffs=True)) for make in FORMATS.values()),
        *(str(step.message) for step in done.steps),
    ]
    files = [done.tree.read(path).decode() for path in done.tree]
    assert not [text for text in (*shown, *files) if "????" in text or "<replica>" in text or "<from" in text]


# -- the labels that count replicas and their hosts -------------------------------------------------------------------

INDEX, REPLICA, HOST_INDEX = (
    "ray.io/worker-group-replica-index",
    "ray.io/worker-group-replica-name",
    "ray.io/replica-host-index",
)
RACK = "topologyKey: rack"
GROUPED = there("ray.io/group", "In", "g")


def near(more: str) -> str:
    """Affinity, rack by rack, to workers of the group."""
    selector = f"labelSelector: {{matchExpressions: [{{{GROUPED}}}]}}"
    return f"requiredDuringSchedulingIgnoredDuringExecution: [{{{RACK}, {selector}, {more}}}]"


RACK_OF_ITS_OWN = template(
    "nodeSelector: {pool: w}, "
    f"affinity: {{podAffinity: {{{near(f'matchLabelKeys: [{REPLICA}]')}}}, "
    f"podAntiAffinity: {{{near(f'mismatchLabelKeys: [{REPLICA}]')}}}}}, "
)
"""The hosts of a replica are together, and those of others elsewhere."""

REPLICAS = pytest.mark.parametrize(
    ("pods", "replicas", "hosts", "nodes", "answer"),
    [
        (apart(there(INDEX)), 2, 1, 1, "PodAffinity"),
        (apart(there(INDEX)), 2, 1, 2, "Fits"),
        (apart(there(INDEX, "In", '"0"')), 2, 1, 1, "PodAffinity"),  # the first keeps the second away
        (apart(there(INDEX, "In", '"7"')), 2, 1, 1, "Fits"),
        (apart(GROUPED, f", matchLabelKeys: [{INDEX}]"), 2, 1, 1, "Fits"),
        (apart(GROUPED, f", mismatchLabelKeys: [{INDEX}]"), 2, 1, 1, "PodAffinity"),
        (apart(there(REPLICA)), 2, 1, 1, "Fits"),  # of one host: there is no such label
        (apart(there(REPLICA)), 1, 2, 1, "PodAffinity"),
        (apart(GROUPED, f", matchLabelKeys: [{REPLICA}]"), 1, 2, 1, "PodAffinity"),
        (apart(GROUPED, f", matchLabelKeys: [{REPLICA}]"), 2, 2, 2, "Fits"),
        (apart(GROUPED, f", mismatchLabelKeys: [{REPLICA}]"), 1, 2, 1, "Fits"),
        (apart(there(HOST_INDEX, "In", '"0"'), f", matchLabelKeys: [{HOST_INDEX}]"), 2, 2, 1, "PodAffinity"),
        (apart(GROUPED, f", matchLabelKeys: [{HOST_INDEX}]"), 2, 2, 2, "Fits"),
    ],
)


@KINDS
@REPLICAS
def test_workers_have_the_labels_of_their_replicas(
    kind: str, pods: Json, replicas: int, hosts: int, nodes: int, answer: str
) -> None:
    value = app(kind, template(), pods, replicas, hosts=hosts, submissionMode="HTTPMode")
    assert said([value], *(A, B)[:nodes], NAMESPACE).removeprefix("No ") == answer


@pytest.mark.parametrize("kind", ["RayCluster", "RayService"])
@REPLICAS
def test_a_plan_knows_the_labels_of_replicas(
    kind: str, pods: Json, replicas: int, hosts: int, nodes: int, answer: str
) -> None:
    value = written(app(kind, template(), pods, replicas, hosts=hosts), "a")
    story = Story.of(cluster("c"), ANYWHERE, value, capacity=snapshot("c", *("n1 8 32Gi", "n2 8 32Gi")[:nodes]))
    assert [c.finding.code for c in decisions(story.run())["a/x"].candidates] == [answer]


@pytest.mark.parametrize(
    ("racks", "answer"),
    [("aabb", "Fits"), ("aab", "No"), ("aabc", "No"), ("aaab", "No"), ("aaaabb", "Fits")],
)
def test_each_replica_can_be_given_a_rack_of_its_own(racks: str, answer: str) -> None:
    """Two replicas of two hosts, each on a node of its own, and a head that is on none of these."""
    value = app(
        "RayJob", template("nodeSelector: {rack: head}, "), RACK_OF_ITS_OWN, 2, hosts=2, submissionMode="HTTPMode"
    )
    nodes = [machine(f"n{i}", cpu="1500m", pool="w", rack=rack) for i, rack in enumerate(racks)]
    assert said([value], *nodes, machine("h", rack="head"), NAMESPACE).partition(" ")[0] == answer
    labels = [f"n{i} 1500m 32Gi|, labels: {{pool: w, rack: {rack}}}" for i, rack in enumerate(racks)]
    capacity = snapshot("c", *labels, "h 8 32Gi|, labels: {rack: head}")
    story = Story.of(cluster("c"), ANYWHERE, written(value, "a"), capacity=capacity)
    assert outcome(story.run())["a/x"].startswith("Place c" if answer == "Fits" else "Wait")


@pytest.mark.parametrize(
    ("kuberay", "answer"),
    [
        ("{}", "PodAffinity"),
        ("{version: 1.6.0}", "PodAffinity"),
        ("{version: 1.6.0, featureGates: {RayMultiHostIndexing: false}}", "Fits"),
        ("{version: 1.5.0}", "Fits"),
        ("{version: 1.5.0, featureGates: {RayMultiHostIndexing: true}}", "PodAffinity"),
        ("{version: 1.4.0, featureGates: {AllAlpha: true}}", "Fits"),
    ],
)
def test_pods_have_the_labels_of_replicas_where_their_kuberay_gives_them(kuberay: str, answer: str) -> None:
    value = written(app("RayCluster", template(), apart(there(REPLICA)), 1, hosts=2), "a")
    there_is = cluster("c", profile=f"{{kuberay: {kuberay}}}")
    story = Story.of(there_is, ANYWHERE, value, capacity=snapshot("c", "n1 8 32Gi"))
    assert [c.finding.code for c in decisions(story.run())["a/x"].candidates] == [answer]


def test_labels_of_replicas_that_no_rule_names_make_no_difference() -> None:
    """Two gangs that are equal otherwise are one to a pass, and a pod of theirs is tried once, not each by itself."""
    looked_at = Onlookers([facts(app("RayCluster", template(), apart(there(CLUSTER)), 3, hosts=2)).gang], [])
    [_, workers] = looked_at.seen(facts(app("RayCluster", template(), template(), 3, hosts=2)).gang, "a")
    assert CLUSTER in dict(workers.labels) and not {INDEX, REPLICA, HOST_INDEX} & dict(workers.labels).keys()


@pytest.mark.parametrize(
    ("selector", "joined"),
    [
        ('{ray.io/replica-host-index: "0"}', True),
        ('{ray.io/cluster: x, ray.io/worker-group-replica-index: "1"}', True),
        ('{ray.io/cluster: y, ray.io/worker-group-replica-index: "1"}', False),
        ("{ray.io/replica-host-index: first}", False),
        ("{ray.io/worker-group-replica-name: g-abcde}", False),  # KubeRay makes it up
    ],
)
def test_a_service_of_some_hosts_goes_with_them(selector: str, joined: bool) -> None:
    value = written(app("RayCluster", template(), template(), 2, hosts=2), "a")
    service = (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{selector: {selector}, ports: [{{port: 80}}]}}\n"
    )
    story = Story.of(
        cluster("c"), ANYWHERE, value, {"workloads/a/s.yaml": service}, capacity=snapshot("c", "n1 8 32Gi")
    )
    done = story.run()
    assert any(path.endswith("/s.yaml") for path in done.tree) == joined


@pytest.mark.parametrize(
    ("runs", "comes", "nodes", "answer"),
    [
        (template(), apart(there(HOST_INDEX, "In", '"0"')), 1, "PodAffinity"),
        (template(), apart(there(HOST_INDEX, "In", '"0"')), 2, "Fits"),
        (template(), apart(there(HOST_INDEX, "In", "first")), 1, "Fits"),
        (template(), apart(GROUPED, f", matchLabelKeys: [{INDEX}]"), 1, "PodAffinity"),
        (apart(GROUPED, f", matchLabelKeys: [{INDEX}]"), template(), 1, "PodAffinity"),
        (apart(GROUPED, f", matchLabelKeys: [{INDEX}]"), template(), 2, "Fits"),
        (apart(there(INDEX, "In", '"7"')), template(), 1, "Fits"),
        (apart(GROUPED, f", matchLabelKeys: [{REPLICA}]"), template(), 1, "Fits"),  # a name is of one replica alone
    ],
)
def test_a_pod_that_runs_may_be_of_any_replica_to_anti_affinity(
    runs: Json, comes: Json, nodes: int, answer: str
) -> None:
    """A snapshot does not tell which host of which replica it is, so nobody is promised that he may be beside it."""
    first = written(app("RayCluster", template(), runs, 1, hosts=2), "a")
    second = written(app("RayCluster", template(), comes, 1, name="z"), "a")
    free = ("n1 8 32Gi", "n2 8 32Gi", "n3 8 32Gi")
    story = Story.of(cluster("c"), ANYWHERE, first, capacity=snapshot("c", *free))
    assert outcome(story.run())["a/x"] == "Place c Fits"
    pods = ", ".join(
        f'{{role: {role}, node: n1, requests: {{cpu: "1", memory: 1Gi}}}}' for role in ("head", *["worker/g"] * 2)
    )
    more = f"groups: [{{name: a/x, phase: Running, ready: true, pods: [{pods}]}}]\n"
    story.capacity = snapshot("c", *free[:nodes], at=START + timedelta(minutes=10), more=more)
    story.now = START + timedelta(minutes=11)
    story.source |= second
    done = story.run()
    assert [c.finding.code for c in decisions(done)["a/z"].candidates] == [answer]


# -- two Ray clusters of one RayService -------------------------------------------------------------------------------

TWO_CLUSTERS = pytest.mark.parametrize(
    ("rule", "nodes", "fits"),
    [
        # From those of its own cluster, which are one on each node: two clusters need no more nodes than one.
        (f", matchLabelKeys: [{CLUSTER}]", 1, False),
        (f", matchLabelKeys: [{CLUSTER}]", 2, True),
        (f", matchLabelKeys: [{IDENTIFIER}]", 1, True),
        # From those of other clusters: the second needs a node that the first is not on, wherever its two pods are.
        (f", mismatchLabelKeys: [{CLUSTER}]", 1, False),
        (f", mismatchLabelKeys: [{CLUSTER}]", 3, True),
        # From any.
        ("", 3, False),
        ("", 4, True),
    ],
)


@TWO_CLUSTERS
@pytest.mark.parametrize("how", ["before the merge", "from the start"])
def test_the_old_and_the_new_cluster_of_a_rayservice_have_names_of_their_own(
    rule: str, nodes: int, fits: bool, how: str
) -> None:
    """A head and a worker, and while it is updated two of each."""
    pods = apart(there(CLUSTER), rule)
    value = written(app("RayService", pods, pods, 1), "a")
    [path] = value
    capacity = snapshot("c", *(f"n{i} 8 32Gi" for i in range(nodes)))
    if how == "from the start":
        policies = policy("p", "select: {}\nupdate: {reservePeak: true}")
        [place] = [decisions(Story.of(cluster("c"), policies, value, capacity=capacity).run())["a/x"]]
        assert bool(place.after) == fits
        return
    there_is_room = snapshot("c", *(f"n{i} 8 32Gi" for i in range(4)))
    story = Story.of(cluster("c"), ANYWHERE, value, capacity=there_is_room)
    assert outcome(story.run())["a/x"] == "Place c Fits"
    shown = [f"{{role: {role}, node: n{min(i, nodes - 1)}, requests: {{cpu: {cpu}}}}}"
             for i, (role, cpu) in enumerate((("head", "1"), ("worker/g", "1")))]  # fmt: skip
    story.capacity = snapshot(
        "c", *(f"n{i} 8 32Gi" for i in range(nodes)), at=START + timedelta(minutes=10),
        more=f"groups: [{{name: a/x, phase: Running, ready: true, pods: [{', '.join(shown)}]}}]\n",
    )  # fmt: skip
    story.now = START + timedelta(minutes=11)
    story.source[path] = story.source[path].replace("image: x", "image: x:2")
    assert outcome(story.run())["a/x"] == ("Update c UpgradeFits" if fits else "Update c UpgradeDoesNotFit")


def test_what_is_shown_beyond_the_old_cluster_is_of_the_new_one() -> None:
    """Its last worker may be where its head is, so that it does not wait, and others may come to what is free."""
    pods = apart(there(CLUSTER), f", mismatchLabelKeys: [{CLUSTER}]")
    value = written(app("RayService", pods, pods, 1), "a")
    [path] = value
    nodes = "n0 8 32Gi", "n1 8 32Gi"

    def shows(minutes: int, *pods: str) -> dict[str, str]:
        listed = ", ".join(f'{{role: {each}, requests: {{cpu: "1", memory: 1Gi}}}}' for each in pods)
        more = f"groups: [{{name: a/x, phase: Running, ready: true, pods: [{listed}]}}]\n"
        return snapshot("c", *nodes, at=START + timedelta(minutes=minutes), more=more)

    story = Story.of(cluster("c"), ANYWHERE, value, capacity=snapshot("c", *nodes))
    story.run()
    old = "head, node: n0", "worker/g, node: n0"
    story.capacity, story.now = shows(10, *old), START + timedelta(minutes=11)
    story.source[path] = story.source[path].replace("image: x", "image: x:2")
    assert outcome(story.run())["a/x"] == "Update c UpgradeFits"
    pending = 'worker/g, pendingSince: "2026-01-02T03:20:00Z"'
    story.capacity, story.now = shows(20, *old, "head, node: n1", pending), START + timedelta(minutes=21)
    story.source |= written(app("RayCluster", template(), template(), 0, name="z"), "b")
    assert outcome(story.run()) == {"a/x": "Keep c Kept", "b/z": "Place c Fits"}


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        # one node may have one worker more than the other
        (("n1 1 40Gi", "n2 20 40Gi"), "3 of 4 worker/a fit"),
        (("n1 3 40Gi", "n2 20 40Gi"), "3 of 4 worker/b fit"),
    ],
)
def test_of_groups_whose_pods_are_alike_the_first_that_falls_short_is_told(nodes: tuple[str, ...], told: str) -> None:
    """They are of one class to a scheduler, since no rule tells them apart; who reads it knows them by group."""
    value = app("RayCluster", template(), spread(there("ray.io/node-type", "In", "worker")), 4)
    groups = value["spec"]["workerGroupSpecs"]
    value["spec"]["workerGroupSpecs"] = [{**groups[0], "groupName": "a"}, {**groups[0], "groupName": "b"}]
    story = Story.of(cluster("c"), ANYWHERE, written(value, "ray"), capacity=snapshot("c", *nodes))
    [candidate] = decisions(story.run())["ray/x"].candidates
    found = candidate.finding
    assert f"{found.placed} of {found.wanted} {found.role} fit" == told

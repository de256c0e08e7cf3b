"""
A promise of room holds in every order, beside every other promise: Fits, TightFit, and rules about other pods, in whole passes.

Each story is a small fleet in which luck, or a rule about other pods, decides. What the scheduler would do in each is worked out by
hand in a word beside it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.stories import ANYWHERE, PRIVILEGED, Story, cluster, decisions, deployment, outcome, policy, snapshot

LUCKY = policy("lucky", "select: {}\nplacement: {accept: TightFit}")


def app(namespace: str, name: str, cpu: str = "1", *, replicas: int = 1, spec: str = "") -> dict[str, str]:
    """A Deployment of equal pods; `spec` is more of the pod's spec, on a line of its own."""
    return deployment(namespace, name, f'requests: {{cpu: "{cpu}", memory: 1Gi}}', replicas=replicas, spec=spec)


def away_from(selector: str, key: str = "kubernetes.io/hostname") -> str:
    term = f"{{topologyKey: {key}, labelSelector: {{matchLabels: {selector}}}}}"
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"


def together(large: str, small: str) -> dict[str, str]:
    """A group of two apps that is placed whole or not at all."""
    files = {**app("ns", "large", large), **app("ns", "small", small)}
    return {
        path: text.replace("metadata: {name:", "metadata: {labels: {team: one}, name:", 1)
        for path, text in files.items()
    }


GROUPED = "select: {}\ngroupBy: {label: team}\n"


# -- luck -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "outcome_of_default", "outcome_of_lucky"),
    [
        (("n1 4 32Gi", "n2 3 32Gi"), "Wait  TightFit", "Place a TightFit"),  # the small one may take the large node
        (("n1 4 32Gi", "n2 4 32Gi"), "Place a Fits", "Place a Fits"),
        (("n1 7 32Gi",), "Place a Fits", "Place a Fits"),
        (("n1 4 32Gi", "n2 2 32Gi"), "Wait  NoClusterFits", "Wait  NoClusterFits"),
    ],
)
def test_a_gang_that_needs_luck_is_placed_where_its_policy_accepts_luck(
    nodes: tuple[str, ...], outcome_of_default: str, outcome_of_lucky: str
) -> None:
    gang, capacity = together("4", "3"), snapshot("a", *nodes)
    assert (
        outcome(Story.of(cluster("a"), policy("p", GROUPED), gang, capacity=capacity).run())["ns/one"]
        == outcome_of_default
    )
    accepting = policy("p", GROUPED + "placement: {accept: TightFit}")
    assert outcome(Story.of(cluster("a"), accepting, gang, capacity=capacity).run())["ns/one"] == outcome_of_lucky


def test_a_cluster_where_every_order_works_is_taken_before_one_that_needs_luck() -> None:
    story = Story.of(
        cluster("a"), cluster("b"), policy("p", GROUPED), together("4", "3"),
        capacity={**snapshot("a", "n1 4 32Gi", "n2 3 32Gi"), **snapshot("b", "n1 9 32Gi")},
    )  # fmt: skip
    done = story.run()
    assert outcome(done)["ns/one"] == "Place b Fits"
    (tight,) = [c for c in decisions(done)["ns/one"].candidates if c.cluster == "a"]
    assert (tight.verdict, tight.finding.code, tight.finding.role) == ("Rejected", "TightFit", "pod")


def test_a_cluster_with_a_proof_is_taken_before_one_where_all_orders_have_to_be_tried() -> None:
    # Wherever the four small pods of the five and two cores go, the large one has two left: so it is, and no bound on what is blocked shows it.
    gang = {**app("ns", "large", "2"), **app("ns", "small", "1", replicas=4)}
    gang = {
        path: text.replace("metadata: {name:", "metadata: {labels: {team: one}, name:", 1)
        for path, text in gang.items()
    }
    clusters, capacity = cluster("a"), snapshot("a", "n1 5 32Gi", "n2 2 32Gi")
    assert outcome(Story.of(clusters, policy("p", GROUPED), gang, capacity=capacity).run())["ns/one"] == "Place a Fits"
    clusters, capacity = {**clusters, **cluster("b")}, {**capacity, **snapshot("b", "n1 9 32Gi")}
    assert outcome(Story.of(clusters, policy("p", GROUPED), gang, capacity=capacity).run())["ns/one"] == "Place b Fits"


def test_a_gang_scheduler_makes_luck_unnecessary() -> None:
    story = Story.of(
        cluster("a", profile="{gangScheduler: volcano}"), policy("p", GROUPED), together("4", "3"),
        capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi"),
    )  # fmt: skip
    assert outcome(story.run())["ns/one"] == "Place a TightFit"


def test_bad_luck_is_made_good_by_machines_that_may_be_added() -> None:
    types = (
        '{type: Karpenter, nodeTypes: [{name: big, allocatable: {cpu: "4", memory: 32Gi}, max: 1, pricePerHour: 2}]}'
    )
    story = Story.of(
        cluster("a", autoscaler=types), policy("p", GROUPED), together("4", "3"),
        capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi"),
    )  # fmt: skip
    done = decisions(story.run())["ns/one"]
    assert (done.action, done.finding.code, done.cost_per_hour) == ("Place", "FitsByScaleUp", 2.0)
    story.source |= policy("p", GROUPED + "placement: {scaleUp: Never}") | app("ns", "later", "5")
    assert outcome(story.run())["ns/later"] == "Wait  NoClusterFits"


def test_a_gang_that_would_need_the_luck_of_an_earlier_one_waits_until_that_one_runs() -> None:
    story = Story.of(cluster("a"), ANYWHERE, app("ns", "first", "4"), capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi"))
    assert outcome(story.run())["ns/first"] == "Place a Fits"
    story.source |= app("ns", "second", "3")
    assert outcome(story.run())["ns/second"] == "Wait  TightFit"
    runs = "groups: [{name: ns/first, phase: Running, pods: [{role: pod, node: n1}]}]\n"
    story.capacity |= snapshot("a", "n1 4 32Gi", "n2 3 32Gi", at=story.now, more=runs)
    assert outcome(story.run())["ns/second"] == "Place a Fits"


def test_what_was_placed_by_luck_keeps_no_later_one_out() -> None:
    story = Story.of(
        cluster("a"), LUCKY, app("ns", "first", "4"), capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi", "n3 1 8Gi")
    )
    story.run()
    story.source |= app("ns", "second", "3")
    assert outcome(story.run())["ns/second"] == "Place a TightFit"
    story.source |= app("ns", "third", "1")  # whatever the two do, one of the three nodes has a core for it
    assert outcome(story.run())["ns/third"] in ("Place a Fits", "Place a TightFit")


# -- rules about other pods ------------------------------------------------------------------------------------------


PORT = "hostNetwork: false\n      initContainers: []"


def listening(namespace: str, name: str, port: int = 80) -> dict[str, str]:
    files = app(namespace, name)
    return {
        path: text.replace("image: i,", f"image: i, ports: [{{containerPort: 1, hostPort: {port}}}],")
        for path, text in files.items()
    }


def test_two_apps_cannot_have_one_port_of_one_node() -> None:
    story = Story.of(cluster("a"), PRIVILEGED, ANYWHERE, listening("ns", "one"), capacity=snapshot("a", "n1 8 32Gi"))
    assert outcome(story.run())["ns/one"] == "Place a Fits"
    story.source |= {**listening("ns", "two"), **listening("ns", "three", 81)}
    done = story.run()
    assert outcome(done)["ns/three"] == "Place a Fits"
    assert outcome(done)["ns/two"] == "Wait  NoClusterFits"
    assert [c.finding.code for c in decisions(done)["ns/two"].candidates] == ["HostPortTaken"]


def test_a_port_that_something_else_has_is_taken() -> None:
    taken = "used: {cpu: 1, pods: 1}, pods: [{hostPorts: [{port: 80}]}]"
    story = Story.of(
        cluster("a"), PRIVILEGED, ANYWHERE, listening("ns", "one"), capacity=snapshot("a", f"n1 8 32Gi|, {taken}")
    )
    assert outcome(story.run())["ns/one"] == "Wait  NoClusterFits"
    story.capacity |= snapshot("a", f"n1 8 32Gi|, {taken}", "n2 8 32Gi")
    assert outcome(story.run())["ns/one"] == "Place a Fits"


def test_what_runs_keeps_away_whom_it_does_not_want_beside_it() -> None:
    def beside(namespaces: str) -> dict[str, str]:
        alone = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: web}}}}{namespaces}}}"
        return snapshot("a", f"n1 8 32Gi|, pods: [{{namespace: other, antiAffinity: [{alone}]}}]")

    story = Story.of(cluster("a"), ANYWHERE, app("ns", "web"), app("ns", "db"), capacity=beside(", namespaces: [ns]"))
    done = story.run()
    assert outcome(done) == {"ns/web": "Wait  NoClusterFits", "ns/db": "Place a Fits"}
    assert [c.finding.code for c in decisions(done)["ns/web"].candidates] == ["PodAffinity"]
    story.capacity |= beside("")  # of its own namespace only
    assert outcome(story.run())["ns/web"] == "Place a Fits"


@pytest.mark.parametrize(("selector", "expected"), [
    ("matchLabels: {kubernetes.io/metadata.name: ns}", "Wait  NoClusterFits"),
    ("matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [other, ns]}]", "Wait  NoClusterFits"),
    ("matchExpressions: [{key: team, operator: DoesNotExist}]", "Wait  NoClusterFits"),
    ("matchLabels: {kubernetes.io/metadata.name: other}", "Place a Fits"),
    ("matchExpressions: [{key: kubernetes.io/metadata.name, operator: DoesNotExist}]", "Place a Fits"),
])  # fmt: skip
def test_a_namespace_that_is_not_there_yet_will_have_its_name(selector: str, expected: str) -> None:
    """It comes with the app, so no snapshot has seen it, and what runs there asks for it by the label that each namespace has."""
    alone = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: web}}}}, namespaceSelector: {{{selector}}}}}"
    nodes = snapshot("a", f"n1 8 32Gi|, pods: [{{namespace: other, antiAffinity: [{alone}]}}]")
    assert outcome(Story.of(cluster("a"), ANYWHERE, app("ns", "web"), capacity=nodes).run())["ns/web"] == expected


@pytest.mark.parametrize(("going", "expected"), [("", "Place a Fits"), (", terminating: true", "Wait  NoClusterFits")])
def test_a_pod_that_is_going_is_none_to_be_spread_over(going: str, expected: str) -> None:
    """
    One pod in each zone, and the zone of n1 is full: n2 may take one more. As soon as the one on n1 is being deleted kube-scheduler counts none there,
    and n2 has one already.
    """
    rule = "labelSelector: {matchLabels: {app: web}}"
    spread = f"topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, {rule}}}]"
    pods = "pods: [{namespace: ns, labels: {app: web}"
    nodes = snapshot(
        "a",
        f"n1 1 32Gi|, labels: {{zone: za}}, used: {{cpu: 1, pods: 1}}, {pods}{going}}}]",
        f"n2 8 32Gi|, labels: {{zone: zb}}, used: {{cpu: 1, pods: 1}}, {pods}}}]",
    )
    story = Story.of(cluster("a"), ANYWHERE, app("ns", "web", spec=spread), capacity=nodes)
    assert outcome(story.run())["ns/web"] == expected


@pytest.mark.parametrize(("going", "expected"), [("", "Place a Fits"), (", terminating: true", "Wait  NoClusterFits")])
def test_nor_is_one_of_a_group(going: str, expected: str) -> None:
    rule = "labelSelector: {matchExpressions: [{key: app, operator: Exists}]}"
    spread = f"topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, {rule}}}]"
    nodes = ("n1 2 32Gi|, labels: {zone: za}", "n2 8 32Gi|, labels: {zone: zb}")
    story = Story.of(
        cluster("a"), ANYWHERE, app("ns", "one", "2"), app("ns", "two", "3"), capacity=snapshot("a", *nodes)
    )
    assert set(outcome(story.run()).values()) == {"Place a Fits"}
    groups = (
        f"groups:\n- {{name: ns/one, phase: Running, ready: true, pods: [{{role: pod, node: n1{going}}}]}}\n"
        "- {name: ns/two, phase: Running, ready: true, pods: [{role: pod, node: n2}]}\n"
    )
    story.source |= app("ns", "web", "1", spec=spread)
    story.capacity |= snapshot("a", *nodes, at=story.now, more=groups)
    assert outcome(story.run())["ns/web"] == expected


GOING = ", terminating: true"


def one_pod(*pods: str) -> str:
    """A group of an app of two cores, with some pods that are shown."""
    listed = ", ".join(f"{{role: pod, requests: {{cpu: 2, memory: 1Gi}}{pod}}}" for pod in pods)
    return f"groups:\n- {{name: ns/one, phase: Running, pods: [{listed}]}}\n"


def while_one_is_going(*nodes: str, shown: str, cpu: str) -> dict[str, str]:
    """What becomes of a new app beside one that has two cores on n1, the snapshot as it is `shown` next."""
    story = Story.of(cluster("a"), ANYWHERE, app("ns", "one", "2"), capacity=snapshot("a", "n1 2 32Gi"))
    assert outcome(story.run()) == {"ns/one": "Place a Fits"}
    story.source |= app("ns", "new", cpu)
    story.capacity |= snapshot("a", *nodes, at=story.now, more=shown)
    return outcome(story.run())


@pytest.mark.parametrize(("pods", "expected"), [
    ([", node: n1"], "Place a Fits"),
    ([f", node: n1{GOING}"], "Wait  NoClusterFits"),
    ([f", node: n1{GOING}", ""], "Wait  NoClusterFits"),  # who follows on it waits for a node already
    ([f", node: n1{GOING}", ", node: n2"], "Wait  NoClusterFits"),
    ([f", node: n1{GOING}", ", node: n3"], "Place a Fits"),
])  # fmt: skip
def test_whoever_follows_on_a_pod_that_is_going_has_room_too(pods: list[str], expected: str) -> None:
    """n1 is drained, and n2 takes one pod of two cores. n3 is not for anybody new."""
    nodes = ("n1 2 32Gi|, unschedulable: true", "n2 2 32Gi", "n3 2 32Gi|, unschedulable: true")
    shown = while_one_is_going(*nodes, shown=one_pod(*pods), cpu="2")
    assert shown == {"ns/one": "Keep a Kept", "ns/new": expected}


@pytest.mark.parametrize(("n1", "new"), [("", "Place a Fits"), ("|, unschedulable: true", "Wait  NoClusterFits")])
def test_where_there_is_no_other_place_it_gets_that_of_the_one_that_is_going(n1: str, new: str) -> None:
    """n2 is too small for it, and for a small app there is room; unless n1 is drained, so that it waits and takes what gets free."""
    found = while_one_is_going(f"n1 2 32Gi{n1}", "n2 1 32Gi", shown=one_pod(f", node: n1{GOING}"), cpu="1")
    assert found["ns/new"] == new


POOLS = ("n1 2 32Gi|, labels: {pool: a}", "n2 4 32Gi|, labels: {pool: b}")


def apps_of_pools() -> Story:
    """One group of two apps that ask the same, each in a pool of its own."""
    apps = (app("ns", name, "2", spec=f"nodeSelector: {{pool: {name}}}") for name in "ab")
    text = "---\n".join(text for each in apps for text in each.values())
    together = policy("together", "select: {}\ngroupBy: {directory: true}")
    story = Story.of(cluster("a"), together, {"workloads/ns/both/apps.yaml": text}, capacity=snapshot("a", *POOLS))
    assert outcome(story.run()) == {"ns/both": "Place a Fits"}
    return story


@pytest.mark.parametrize(
    ("shown", "pool", "expected"),
    [("n1", "b", "Place a Fits"), ("n1", "a", "Wait  NoClusterFits"), ("n2", "a", "Wait  NoClusterFits")],
)
def test_apps_of_a_group_are_told_apart_by_where_they_may_be(shown: str, pool: str, expected: str) -> None:
    """The one that is not seen yet comes to its own pool, and has the room there."""
    story = apps_of_pools()
    pod = f"{{role: pod, node: {shown}, requests: {{cpu: 2, memory: 1Gi}}}}"
    running = f"groups:\n- {{name: ns/both, phase: Pending, pods: [{pod}]}}\n"
    story.source |= app("other", "new", "2", spec=f"nodeSelector: {{pool: {pool}}}")
    story.capacity |= snapshot("a", *POOLS, at=story.now, more=running)
    assert outcome(story.run())["other/other"] == expected


@pytest.mark.parametrize(("pool", "expected"), [("a", "Place a Fits"), ("b", "Wait  NoClusterFits")])
def test_so_are_their_labels(pool: str, expected: str) -> None:
    """Who may not be beside the one of pool b may not be in that pool."""
    story = apps_of_pools()
    nodes = tuple(node.replace("2 32Gi", "8 32Gi").replace("4 32Gi", "8 32Gi") for node in POOLS)
    pods = ", ".join(f"{{role: pod, node: {node}, requests: {{cpu: 2, memory: 1Gi}}}}" for node in ("n1", "n2"))
    apart = f"nodeSelector: {{pool: {pool}}}\n      {away_from('{app: b}')}"
    story.source["workloads/ns/new/new.yaml"] = app("ns", "new", spec=apart)["workloads/ns/new.yaml"]
    running = f"groups:\n- {{name: ns/both, phase: Running, pods: [{pods}]}}\n"
    story.capacity |= snapshot("a", *nodes, at=story.now, more=running)
    assert outcome(story.run())["ns/new"] == expected


HASH = "pod-template-hash"
SAME_ROLE = "labelSelector: {matchExpressions: [{key: app, operator: Exists}]}"


@pytest.mark.parametrize(("rule", "two", "expected"), [
    # a Deployment's own pods
    (f"labelSelector: {{matchExpressions: [{{key: {HASH}, operator: Exists}}]}}", False, "Wait  NoClusterFits"),
    (f"labelSelector: {{matchExpressions: [{{key: {HASH}, operator: DoesNotExist}}]}}", False, "Place a Fits"),
    (f"{SAME_ROLE}, matchLabelKeys: [{HASH}]", False, "Wait  NoClusterFits"),
    (f"{SAME_ROLE}, mismatchLabelKeys: [{HASH}]", False, "Place a Fits"),
    # those of another
    (f"{SAME_ROLE}, matchLabelKeys: [{HASH}]", True, "Place a Fits"),
    (f"{SAME_ROLE}, mismatchLabelKeys: [{HASH}]", True, "Wait  NoClusterFits"),
])  # fmt: skip
def test_the_labels_that_controllers_make_up_tell_pods_of_one_object_from_others(
    rule: str, two: bool, expected: str
) -> None:
    """Nobody knows the hash of a pod template before its ReplicaSet is there, and rules go by it all the same."""
    term = f"{{topologyKey: kubernetes.io/hostname, {rule}}}"
    spec = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    apps = {**app("ns", "first"), **app("ns", "web", spec=spec)} if two else app("ns", "web", replicas=2, spec=spec)
    story = Story.of(cluster("a"), ANYWHERE, apps, capacity=snapshot("a", "n1 8 32Gi"))
    assert outcome(story.run())["ns/web"] == expected


POD_NAME, POD_INDEX, JOB_INDEX = (
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
)


def numbered(kind: str, more: str, spec: str = "") -> dict[str, str]:
    """Two pods of a StatefulSet, or of a Job."""
    group, counts = ("batch", "parallelism: 2, completions: 3") if kind == "Job" else ("apps", "replicas: 2")
    pod = f"{{{spec + ', ' if spec else ''}restartPolicy: Never, containers: [{{name: c, image: i}}]}}"
    template = f"template: {{metadata: {{labels: {{app: web}}}}, spec: {pod}}}"
    text = f"apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{{counts}, {more}{template}}}\n"
    return {"workloads/ns/web.yaml": text}


@pytest.mark.parametrize(("kind", "more", "rule", "expected"), [
    ("StatefulSet", "", f"labelSelector: {{matchExpressions: [{{key: {POD_NAME}, operator: Exists}}]}}", "Wait  NoClusterFits"),
    ("StatefulSet", "", f"labelSelector: {{matchLabels: {{{POD_NAME}: web-1}}}}", "Wait  NoClusterFits"),
    ("StatefulSet", "", f"labelSelector: {{matchLabels: {{{POD_NAME}: web-2}}}}", "Place a Fits"),
    ("StatefulSet", "ordinals: {start: 1}, ", f"labelSelector: {{matchLabels: {{{POD_NAME}: web-2}}}}", "Wait  NoClusterFits"),
    ("StatefulSet", "ordinals: {start: 3}, ", f'labelSelector: {{matchLabels: {{{POD_INDEX}: "1"}}}}', "Place a Fits"),
    ("StatefulSet", "", f'labelSelector: {{matchLabels: {{{POD_INDEX}: "1"}}}}', "Wait  NoClusterFits"),
    ("StatefulSet", "", f"{SAME_ROLE}, matchLabelKeys: [{POD_INDEX}]", "Place a Fits"),
    ("StatefulSet", "", f"{SAME_ROLE}, mismatchLabelKeys: [{POD_INDEX}]", "Wait  NoClusterFits"),
    ("Job", "completionMode: Indexed, ", f"labelSelector: {{matchExpressions: [{{key: {JOB_INDEX}, operator: Exists}}]}}", "Wait  NoClusterFits"),
    ("Job", "completionMode: Indexed, ", f"{SAME_ROLE}, mismatchLabelKeys: [{JOB_INDEX}]", "Wait  NoClusterFits"),
    ("Job", "", f"labelSelector: {{matchExpressions: [{{key: {JOB_INDEX}, operator: Exists}}]}}", "Place a Fits"),
])  # fmt: skip
def test_pods_have_the_numbers_that_their_controllers_give_them(kind: str, more: str, rule: str, expected: str) -> None:
    """Each pod of a StatefulSet or of an indexed Job has labels with its own number, and rules go by them."""
    term = f"{{topologyKey: kubernetes.io/hostname, {rule}}}"
    spec = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    story = Story.of(cluster("a"), ANYWHERE, numbered(kind, more, spec), capacity=snapshot("a", "n1 8 32Gi"))
    assert outcome(story.run())["ns/web"] == expected


@pytest.mark.parametrize(("selector", "joined"), [
    (f"{{{POD_NAME}: web-0}}", True),
    (f"{{{POD_NAME}: web-12}}", True),  # it may have more replicas some day
    (f"{{app: web, {POD_INDEX}: \"1\"}}", True),
    (f"{{app: other, {POD_INDEX}: \"1\"}}", False),
    (f"{{{POD_NAME}: web-}}", False),
    (f"{{{POD_NAME}: web-one}}", False),
    (f"{{{POD_NAME}: db-0}}", False),
])  # fmt: skip
def test_a_service_of_one_pod_of_a_set_goes_with_it(selector: str, joined: bool) -> None:
    service = f"apiVersion: v1\nkind: Service\nmetadata: {{name: one}}\nspec: {{selector: {selector}}}\n"
    story = Story.of(
        cluster("a"), ANYWHERE, numbered("StatefulSet", ""), {"workloads/ns/one.yaml": service},
        capacity=snapshot("a", "n1 8 32Gi"),
    )  # fmt: skip
    assert any(path.endswith("/one.yaml") for path in story.run().tree) == joined


@pytest.mark.parametrize(("labels", "shown", "expected"), [
    ("{team: red}", "", "Wait  NoClusterFits"),
    ("{team: blue}", "", "Place a Fits"),
    ("{other: x}", "{team: red}", "Wait  NoClusterFits"),  # what others gave it stays
    ("{team: blue}", "{team: red}", "Place a Fits"),
    ("{team: red}", "{team: blue}", "Wait  NoClusterFits"),
    (None, "{team: red}", "Wait  NoClusterFits"),
    (None, "", "Place a Fits"),
])  # fmt: skip
def test_a_namespace_has_the_labels_with_which_the_source_describes_it(labels: str | None, shown: str, expected: str) -> None:  # fmt: skip
    """Its manifest comes before its first group, so what runs there keeps the group's pods off as it says, though no snapshot shows the labels yet."""
    alone = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {team: red}}}"
    more = f"namespaces: [{{name: ns, labels: {shown}}}]\n" if shown else ""
    nodes = snapshot("a", f"n1 8 32Gi|, pods: [{{namespace: other, antiAffinity: [{alone}]}}]", more=more)
    story = Story.of(cluster("a"), ANYWHERE, app("ns", "web"), capacity=nodes)
    if labels is not None:
        text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: ns, labels: {labels}}}\n"
        story.source |= {"platform/spaces/ns.yaml": text}
    assert outcome(story.run())["ns/web"] == expected


def test_pods_that_keep_away_from_each_other_need_a_node_each() -> None:
    apart = app("ns", "web", replicas=3, spec=away_from("{app: web}"))
    story = Story.of(cluster("a"), ANYWHERE, apart, capacity=snapshot("a", "n1 8 32Gi", "n2 8 32Gi"))
    done = story.run()
    assert outcome(done)["ns/web"] == "Wait  NoClusterFits"
    assert [(c.finding.code, c.finding.placed, c.finding.wanted) for c in decisions(done)["ns/web"].candidates] == [
        ("PodAffinity", 2, 3)
    ]
    story.capacity |= snapshot("a", "n1 8 32Gi", "n2 8 32Gi", "n3 8 32Gi")
    assert outcome(story.run())["ns/web"] == "Place a Fits"


def test_pods_that_keep_away_from_each_other_get_new_machines_of_their_own() -> None:
    types = (
        '{type: Karpenter, nodeTypes: [{name: big, allocatable: {cpu: "8", memory: 32Gi}, max: 2, pricePerHour: 1}]}'
    )
    apart = app("ns", "web", replicas=3, spec=away_from("{app: web}"))
    story = Story.of(cluster("a", autoscaler=types), ANYWHERE, apart, capacity=snapshot("a", "n1 8 32Gi"))
    done = decisions(story.run())["ns/web"]
    assert (done.finding.code, [(n.type, n.count) for n in done.finding.new_nodes]) == ("FitsByScaleUp", [("big", 2)])


def test_an_app_that_keeps_away_from_another_minds_where_that_one_was_promised_room() -> None:
    story = Story.of(cluster("a"), ANYWHERE, app("ns", "web"), capacity=snapshot("a", "n1 8 32Gi"))
    story.run()
    story.source |= app("ns", "shy", spec=away_from("{app: web}"))
    assert outcome(story.run())["ns/shy"] == "Wait  NoClusterFits"


ZONES = ("n1 8 32Gi|, labels: {zone: a}", "n2 8 32Gi|, labels: {zone: b}", "n3 8 32Gi|, labels: {zone: b}")


@pytest.mark.parametrize(
    ("replicas", "skew", "expected"),
    [(4, 1, "Wait  NoClusterFits"), (6, 1, "Wait  NoClusterFits"), (3, 1, "Place a Fits"), (4, 2, "Place a Fits")],
)
def test_pods_are_spread_as_their_constraint_says(replicas: int, skew: int, expected: str) -> None:
    """Of six cores a pod, one zone holds one pod and the other two."""
    spread = (
        f"topologySpreadConstraints: [{{maxSkew: {skew}, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
        "labelSelector: {matchLabels: {app: web}}}]"
    )
    cpu = "6" if replicas in (3, 4, 6) and skew == 1 else "4"
    story = Story.of(
        cluster("a"), ANYWHERE, app("ns", "web", cpu, replicas=replicas, spec=spread), capacity=snapshot("a", *ZONES)
    )
    assert outcome(story.run())["ns/web"] == expected


def tpus(replicas: int, hosts: int) -> dict[str, str]:
    text = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: tpu}}
spec:
  headGroupSpec:
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: head, image: ray, resources: {{requests: {{cpu: "1", memory: 2Gi}}}}}}]}}}}
  workerGroupSpecs:
  - groupName: slice
    replicas: {replicas}
    minReplicas: {replicas}
    maxReplicas: {replicas}
    numOfHosts: {hosts}
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: worker, image: ray, resources: {{limits: {{google.com/tpu: "4"}}, requests: {{cpu: "1", memory: 2Gi}}}}}}]}}}}
"""
    return {"workloads/ns/tpu.yaml": text}


def pools(*sizes: int, key: str = "cloud.google.com/gke-nodepool") -> dict[str, str]:
    """A cluster of node pools of so many TPU hosts with four chips each, and a node for heads."""
    plain = "- {name: cpu, allocatable: {cpu: 8, memory: 32Gi}}\n"
    hosts = "".join(
        f'- {{name: p{p}-{i}, labels: {{{key}: p{p}}}, allocatable: {{cpu: "8", memory: 32Gi, google.com/tpu: "4"}}}}\n'
        for p, size in enumerate(sizes)
        for i in range(size)
    )
    text = snapshot("a")["a.yaml"].replace("nodes: []\n", f"nodes:\n{plain}{hosts}")
    return {"a.yaml": text.replace("nodes: []", f"nodes:\n{plain}{hosts}")}


@pytest.mark.parametrize(
    ("sizes", "replicas", "hosts", "expected"),
    [
        ((4,), 1, 4, "Place a Fits"),
        ((2, 2), 1, 4, "Wait  NoClusterFits"),  # four hosts, and no four that are one slice
        ((2, 2), 2, 2, "Wait  TightFit"),  # where the two come in turns, each may have a host of both pools
        ((3, 1), 2, 2, "Wait  NoClusterFits"),
        ((4, 4), 2, 2, "Place a Fits"),
    ],
)
def test_the_hosts_of_a_slice_are_of_one_node_pool(
    sizes: tuple[int, ...], replicas: int, hosts: int, expected: str
) -> None:
    assert (
        outcome(Story.of(cluster("a"), ANYWHERE, tpus(replicas, hosts), capacity=pools(*sizes)).run())["ns/tpu"]
        == expected
    )


def test_a_cluster_may_say_what_joins_the_nodes_of_a_slice() -> None:
    story = Story.of(cluster("a", profile="{sliceTopology: rack}"), ANYWHERE, tpus(1, 4), capacity=pools(2, 2))
    assert outcome(story.run())["ns/tpu"] == "Wait  NoClusterFits"  # no node has the label
    story.capacity |= pools(4, key="rack")
    assert outcome(story.run())["ns/tpu"] == "Place a Fits"


def test_planning_again_changes_nothing_where_rules_and_luck_decide() -> None:
    story = Story.of(
        cluster("a"), cluster("b"), ANYWHERE, listening("ns", "one"), listening("ns", "two"), listening("ns", "three"),
        app("ns", "web", replicas=2, spec=away_from("{app: web}")), app("ns", "large", "5"), app("ns", "small", "3"),
        capacity={**snapshot("a", "n1 8 32Gi"), **snapshot("b", "n1 4 32Gi", "n2 4 32Gi")},
    )  # fmt: skip
    story.run()
    placed = story.deployment
    story.now += timedelta(minutes=1)
    again = story.run()
    assert again.steps == ()
    assert story.deployment == placed


# -- machines, and luck that others must not pay for -----------------------------------------------------------------


BIG = '{type: Karpenter, nodeTypes: [{name: big, allocatable: {cpu: "4", memory: 32Gi}, max: 1, pricePerHour: 2}]}'


def test_a_machine_that_makes_good_bad_luck_is_not_sold_twice() -> None:
    story = Story.of(
        cluster("a", autoscaler=BIG), policy("p", GROUPED), together("4", "3"),
        capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi"),
    )  # fmt: skip
    assert outcome(story.run())["ns/one"] == "Place a FitsByScaleUp"
    story.source |= app("ns", "second", "4")
    assert outcome(story.run())["ns/second"] == "Wait  NoClusterFits"


def test_what_needs_machines_does_not_take_the_room_of_what_was_promised_without() -> None:
    small = (
        '{type: Karpenter, nodeTypes: [{name: small, allocatable: {cpu: "3", memory: 32Gi}, max: 1, pricePerHour: 2}]}'
    )
    story = Story.of(
        cluster("a", autoscaler=small), ANYWHERE, app("ns", "first", "4"), capacity=snapshot("a", "n1 4 32Gi")
    )
    assert outcome(story.run())["ns/first"] == "Place a Fits"
    story.source |= app("ns", "second", "3")  # if it comes first it takes n1, and no small machine holds the other
    assert outcome(story.run())["ns/second"] == "Wait  TightFit"
    story.source |= cluster("a", autoscaler=small.replace('"3"', '"4"'))
    assert outcome(story.run())["ns/second"] == "Place a FitsByScaleUp"


def test_machines_for_bad_luck_have_to_suffice_whatever_the_order() -> None:
    """With one machine more two orders are possible, and the worse leaves out two pods of four cores."""
    story = Story.of(
        cluster("a", autoscaler=BIG), policy("p", GROUPED),
        {path: text.replace("replicas: 1", "replicas: 2") for path, text in together("4", "3").items()},
        capacity=snapshot("a", "n1 4 32Gi", "n2 4 32Gi", "n3 3 32Gi", "n4 3 32Gi"),
    )  # fmt: skip
    assert outcome(story.run())["ns/one"] == "Wait  TightFit"


def test_a_rule_about_a_pod_on_another_node_counts_too() -> None:
    nodes = (
        "o 1 32Gi|, labels: {zone: z1, role: o}",
        "n1 4 32Gi|, labels: {zone: z1, role: w}",
        "n2 4 32Gi|, labels: {zone: z2, role: w}",
    )
    away = away_from("{app: other}", "zone").replace("labelSelector", "namespaces: [im], labelSelector")
    whatever = policy("im", "select: {namespaces: [im]}\nprecedence: 1\nplacement: {admission: Immediate}")
    other = app("im", "other", "1", spec="nodeSelector: {role: o}")
    story = Story.of(cluster("a"), ANYWHERE, whatever, other, PRIVILEGED, capacity=snapshot("a", *nodes))
    story.run()
    story.source |= app("ns", "w", "4", spec=f"nodeSelector: {{role: w}}\n      {away}")
    assert outcome(story.run())["ns/w"] == "Place a Fits"
    story.source |= app("ns", "x", "4", spec="nodeSelector: {role: w}")  # on n2, w would have no node
    assert outcome(story.run())["ns/x"] == "Wait  TightFit"


def test_slices_of_two_ray_clusters_of_one_group_are_two() -> None:
    both = {
        **tpus(1, 2),
        "workloads/ns/tpu2.yaml": tpus(1, 2)["workloads/ns/tpu.yaml"].replace("name: tpu}", "name: tpu2}"),
    }
    grouped = policy("p", "select: {}\ngroupBy: {namespace: true}\nplacement: {accept: TightFit}")
    assert outcome(Story.of(cluster("a"), grouped, both, capacity=pools(2, 2)).run())["ns/ns"] == "Place a TightFit"


def test_gangs_with_rules_get_the_cheapest_machines() -> None:
    types = (
        '{type: Karpenter, nodeTypes: [{name: a-dear, allocatable: {cpu: "4", memory: 32Gi}, max: 9, pricePerHour: 20}, '
        '{name: b-cheap, allocatable: {cpu: "4", memory: 32Gi}, max: 9, pricePerHour: 1}]}'
    )
    apart = app("ns", "web", "3", replicas=2, spec=away_from("{app: web}"))
    done = Story.of(cluster("a", autoscaler=types), ANYWHERE, apart, capacity=snapshot("a", "n1 1 1Gi")).run()
    assert decisions(done)["ns/web"].cost_per_hour == 2.0


def test_nobody_leaves_for_a_group_that_would_then_need_luck() -> None:
    low = policy("low", "select: {namespaces: [lo]}\npreemptible: true")
    high = policy("high", GROUPED.replace("{}", "{namespaces: [ns]}", 1) + "priority: 10\npreempts: LowerPriority")
    story = Story.of(cluster("a"), low, high, app("lo", "l1", "4"), capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi"))
    story.run()
    story.source |= together("4", "3")
    for _ in range(4):
        runs = "groups: [{name: lo/l1, phase: Running, pods: [{role: pod, node: n1}]}]\n"
        story.capacity |= snapshot("a", "n1 4 32Gi", "n2 3 32Gi", at=story.now, more=runs)
        assert outcome(story.run())["lo/l1"] == "Keep a Kept"

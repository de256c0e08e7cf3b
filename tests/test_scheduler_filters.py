"""kube-scheduler's filters, one table for each. The rules are those of kubernetes 1.34, pkg/scheduler/framework/plugins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.scheduler import judge, read_cluster, read_pod
from gitplacer.scheduler.reading import read_list
from tests.schedulerobjects import (
    GI,
    Json,
    board,
    expression,
    fit,
    node,
    node_affinity,
    open_to,
    pod,
    pod_rule,
    pods,
    spread,
)

A = node("a", labels={"zone": "z1", "gen": "4", "built": "1767312000000000001"})
B = node("b", labels={"zone": "z2", "odd": "1_0", "built": "9223372036854775808"})


# -- nodes by themselves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tolerations", "taken"),
    [
        ([], False),
        ([{"operator": "Exists"}], True),
        ([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}], True),
        ([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}], False),
    ],
)
def test_a_cordoned_node_takes_pods_that_tolerate_the_cordon(tolerations: list[Json], taken: bool) -> None:
    """nodeunschedulable: spec.unschedulable is the taint node.kubernetes.io/unschedulable:NoSchedule, whether written or not."""
    assert bool(open_to([node("a", unschedulable=True)], pod("p", tolerations=tolerations))) is taken


@pytest.mark.parametrize(
    ("taint", "toleration", "taken"),
    [
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, None, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, None, False),
        ({"key": "k", "value": "v", "effect": "PreferNoSchedule"}, None, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "value": "w"}, False),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k"}, False),  # Equal to ""
        ({"key": "k", "effect": "NoSchedule"}, {"key": "k"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, {"operator": "Exists", "tolerationSeconds": 0}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "operator": "In", "value": "v"}, False),
    ],
)
def test_every_taint_that_repels_must_be_tolerated(taint: Json, toleration: Json | None, taken: bool) -> None:
    """tainttoleration; for how long a pod tolerates NoExecute does not matter to where it starts."""
    candidate = pod("p", tolerations=[toleration] if toleration else [])
    assert bool(open_to([node("a", taints=[taint])], candidate)) is taken


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"nodeSelector": {"zone": "z1"}}, {"a"}),
        ({"nodeSelector": {"zone": "z1", "gen": "5"}}, set()),
        ({"affinity": node_affinity({"matchExpressions": [expression("zone", "In", "z2", "z3")]})}, {"b"}),
        ({"affinity": node_affinity({"matchExpressions": [expression("gen", "NotIn", "4")]})}, {"b"}),  # absent is not in
        ({"affinity": node_affinity({"matchExpressions": [expression("gen", "Exists")]})}, {"a"}),
        ({"affinity": node_affinity({"matchExpressions": [expression("gen", "DoesNotExist")]})}, {"b"}),
        ({"affinity": node_affinity({"matchExpressions": [expression("gen", "Gt", "3")]})}, {"a"}),
        ({"affinity": node_affinity({"matchExpressions": [expression("gen", "Lt", "4")]})}, set()),
        ({"affinity": node_affinity({"matchExpressions": [expression("zone", "Gt", "1")]})}, set()),  # no number
        ({"affinity": node_affinity({"matchExpressions": [expression("odd", "Gt", "5")]})}, set()),  # "1_0" is none either
        ({"affinity": node_affinity({"matchExpressions": [expression("built", "Gt", "1767312000000000000")]})}, {"a"}),  # 2^63 is none
        ({"affinity": node_affinity({"matchFields": [expression("metadata.name", "In", "b")]})}, {"b"}),
        ({"affinity": node_affinity({"matchFields": [expression("metadata.name", "NotIn", "b")]})}, {"a"}),
        ({"affinity": node_affinity({})}, set()),  # an empty term matches nothing
        ({"affinity": node_affinity()}, set()),
        ({"affinity": node_affinity({}, {"matchExpressions": [expression("zone", "In", "z1")]})}, {"a"}),
        ({"affinity": {"nodeAffinity": {}}}, {"a", "b"}),
        ({"nodeName": "b"}, {"b"}),
    ],
)  # fmt: skip
def test_selectors_and_required_affinity_choose_nodes(spec: Json, names: set[str]) -> None:
    """nodeaffinity and nodename; terms are alternatives, what is in a term must all hold."""
    assert open_to([A, B], pod("p", **spec)) == names


@pytest.mark.parametrize(
    ("mine", "theirs", "taken"),
    [
        ({"hostPort": 80}, {"hostPort": 81}, True),
        ({"hostPort": 80}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"containerPort": 80}, {"hostPort": 80}, True),
    ],
)
def test_a_host_port_is_taken_once(mine: Json, theirs: Json, taken: bool) -> None:
    """nodeports: address and protocol must differ, and 0.0.0.0 is every address."""
    assert bool(open_to([node("a")], pod("p", ports=[mine]), [pod("q", ports=[theirs], on="a")])) is taken


def test_on_the_hosts_network_every_port_is_a_host_port() -> None:
    """The API server fills hostPort in (SetDefaults_PodSpec)."""
    existing = [pod("q", ports=[{"hostPort": 8265}], on="a")]
    candidate = pod("p", ports=[{"containerPort": 8265}], hostNetwork=True)
    assert open_to([node("a"), node("b")], candidate, existing) == {"b"}


def test_two_pods_of_a_gang_do_not_share_a_port() -> None:
    two, three = pods(2, ports=[{"hostPort": 80}]), pods(3, ports=[{"hostPort": 80}])
    assert fit([node("a"), node("b")], two).fit == "Fits"
    assert fit([node("a"), node("b")], three).fit == "No"


# -- room -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offered", "used", "asked", "taken"),
    [
        ({}, [], {"cpu": "8"}, True),
        ({}, [], {"cpu": "8001m"}, False),
        ({}, [{"cpu": "7500m"}], {"cpu": "500m"}, True),
        ({}, [{"cpu": "7500m"}], {"cpu": "501m"}, False),
        ({}, [{"memory": "40Gi"}], {"memory": ""}, True),  # overcommitted on memory, and none is asked for
        ({}, [{"memory": "40Gi"}], {"memory": "1"}, False),
        ({"nvidia.com/gpu": "1"}, [], {"nvidia.com/gpu": "1"}, True),
        ({}, [], {"nvidia.com/gpu": "1"}, False),  # not offered is none
        ({}, [], {"nvidia.com/gpu": "0"}, True),
        ({"ephemeral-storage": "10Gi"}, [{"ephemeral-storage": "4Gi"}], {"ephemeral-storage": "6Gi"}, True),
        ({"ephemeral-storage": "10Gi"}, [{"ephemeral-storage": "4Gi"}], {"ephemeral-storage": "7Gi"}, False),
        ({"hugepages-2Mi": "1Gi"}, [], {"hugepages-2Mi": "2Gi"}, False),
    ],
)
def test_a_node_needs_room_for_each_resource_that_is_asked_for(
    offered: dict[str, str], used: list[dict[str, str]], asked: dict[str, str], taken: bool
) -> None:
    """noderesources fitsRequest: request ≤ allocatable − requested, for what the pod asks more than none of."""
    existing = [pod(f"q{i}", cpu="", memory="", requests=r, on="a") for i, r in enumerate(used)]  # type: ignore[arg-type]
    assert bool(open_to([node("a", resources=offered)], pod("p", requests=asked), existing)) is taken


@pytest.mark.parametrize(
    ("slots", "running", "taken"), [("2", 1, True), ("2", 2, False), ("", 0, False), ("0", 0, False)]
)
def test_a_pod_needs_a_slot(slots: str, running: int, taken: bool) -> None:
    """A node that offers no `pods` takes none."""
    existing = [pod(f"q{i}", on="a") for i in range(running)]
    assert bool(open_to([node("a", pods=slots)], pod("p", cpu="", memory=""), existing)) is taken


def test_without_allocatable_the_capacity_counts() -> None:
    bare = node("a")
    bare["status"] = {"capacity": bare["status"]["allocatable"]}
    assert open_to([bare], pod("p", cpu="8")) == {"a"}


@pytest.mark.parametrize(
    ("change", "free_cpu"),
    [
        ({}, 6),
        ({"status": {"phase": "Succeeded"}}, 8),
        ({"status": {"phase": "Failed"}}, 8),
        ({"status": {"phase": "Unknown"}}, 6),
        ({"terminating": True}, 6),
        ({"on": ""}, 8),  # nobody has placed it
        ({"on": "gone"}, 8),
    ],
)
def test_what_runs_or_ends_holds_its_room(change: Json, free_cpu: int) -> None:
    existing = pod("q", **{"cpu": "2", "on": "a", **change})
    assert open_to([node("a")], pod("p", cpu=str(free_cpu)), [existing]) == {"a"}
    assert open_to([node("a")], pod("p", cpu=f"{free_cpu}001m"), [existing]) == set()


@pytest.mark.parametrize(
    ("given_cpu", "allocated", "condition", "held"),
    [
        ("1", "1", None, 2),  # growing: 2 are asked for, 1 is there yet
        ("4", "4", None, 4),  # shrinking
        ("1", "3", None, 3),
        ("1", "1", {"type": "PodResizePending", "reason": "Infeasible"}, 1),
        ("1", "1", {"type": "PodResizePending", "reason": "Deferred"}, 2),
    ],
)
def test_a_pod_that_is_resized_holds_the_larger_size(
    given_cpu: str, allocated: str, condition: Json | None, held: int
) -> None:
    """component-helpers/resource determineContainerReqs: the largest of asked, given and allocated; not asked where it cannot be."""
    status = {
        "phase": "Running",
        "conditions": [condition] if condition else [],
        "containerStatuses": [
            {"name": "main", "resources": {"requests": {"cpu": given_cpu}}, "allocatedResources": {"cpu": allocated}}
        ],
    }
    existing = pod("q", cpu="2", on="a", status=status)
    assert open_to([node("a")], pod("p", cpu=str(8 - held)), [existing]) == {"a"}
    assert open_to([node("a")], pod("p", cpu=f"{8 - held}001m"), [existing]) == set()


@pytest.mark.parametrize(
    ("status", "held"),
    [
        ({}, 2),
        ({"allocatedResources": {"cpu": "3"}}, 3),  # shrinking
        ({"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}}, 2),  # growing
        ({"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}, "allocatedResources": {"cpu": "3"}}, 4),
        ({"allocatedResources": {"cpu": "1"}, "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}, 1),
        ({"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}, 2),  # nobody says what it has
    ],
)
@pytest.mark.parametrize("overhead", [0, 1])
def test_a_pod_that_is_resized_as_a_whole_holds_the_larger_size(status: Json, held: int, overhead: int) -> None:
    """PodRequests from 1.36 on; the kubelet counts the overhead in."""

    def whole(value: Any) -> Any:
        return (
            {k: str(int(v) + overhead) if k == "cpu" else whole(v) for k, v in value.items()}
            if isinstance(value, dict)
            else value
        )

    more = {"resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": str(overhead)}}
    existing = pod("q", cpu="1", on="a", status={"phase": "Running", **whole(status)}, **more)
    free = 8 - held - overhead
    assert open_to([node("a")], pod("p", cpu=str(free)), [existing]) == {"a"}
    assert open_to([node("a")], pod("p", cpu=f"{free}001m"), [existing]) == set()


def test_what_was_allocated_counts_before_the_kubelet_says_what_is_there() -> None:
    status = {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]}
    existing = pod("q", cpu="2", on="a", status=status)
    assert open_to([node("a")], pod("p", cpu="5"), [existing]) == {"a"}
    assert open_to([node("a")], pod("p", cpu="5001m"), [existing]) == set()


def test_a_node_with_a_pod_that_cannot_be_read_takes_nothing_new() -> None:
    broken = pod("q", cpu="two", on="a")
    assert open_to([node("a"), node("b")], pod("p"), [broken]) == {"b"}


# -- topology spread ------------------------------------------------------------------------------------------------

WEB = {"app": "web"}
ZONES = [node(f"{zone}{i}", labels={"zone": zone}) for zone in ("x", "y", "z") for i in (0, 1)]


def web(name: str, on: str, **more: Any) -> Json:
    return pod(name, on=on, labels=WEB, **more)


@pytest.mark.parametrize(
    ("constraint", "running", "zones"),
    [
        (spread(WEB), [], "xyz"),
        (spread(WEB), ["x0"], "yz"),  # 1 + 1 − 0 > 1
        (spread(WEB), ["x0", "y0"], "z"),
        (spread(WEB, skew=2), ["x0", "y0"], "xyz"),
        (spread(WEB, minDomains=3), ["x0", "y0", "z0"], "xyz"),
        (spread(WEB, minDomains=4), ["x0", "y0", "z0"], ""),  # three domains of four: the minimum is 0
        (spread(WEB, minDomains=4, skew=2), ["x0", "y0", "z0"], "xyz"),
        (spread({"app": "other"}), ["x0", "x0"], "xyz"),  # counts nothing
        (spread(None), ["x0", "x0"], "xyz"),  # a null selector matches nothing
        (spread({}), ["x0", "x0"], "xyz"),  # an empty one counts nothing (countPodsMatchSelector)
        (spread(WEB, key="rack"), [], ""),  # no node has the label
        (spread(WEB, key="kubernetes.io/hostname"), ["x0", "x1", "y0", "y1", "z0"], "z"),
        ({**spread(WEB), "whenUnsatisfiable": "ScheduleAnyway"}, ["x0"], "xyz"),
    ],
)
def test_hard_spread_keeps_domains_level(constraint: Json, running: list[str], zones: str) -> None:
    """podtopologyspread filtering.go: matching pods + itself − fewest in any domain ≤ maxSkew."""
    existing = [web(f"q{i}", on) for i, on in enumerate(running)]
    candidate = pod("p", labels=WEB, topologySpreadConstraints=[constraint])
    assert {name[0] for name in open_to(ZONES, candidate, existing)} == set(zones)


def test_spread_counts_living_pods_of_its_own_namespace() -> None:
    existing = [web("q", "x0", terminating=True), web("r", "y0", namespace="other")]
    candidate = pod("p", labels=WEB, topologySpreadConstraints=[spread(WEB)])
    assert len(open_to(ZONES, candidate, existing)) == 6


@pytest.mark.parametrize(
    ("policies", "zones"),
    [
        ({}, ""),  # y and z count as empty domains although a taint keeps the pod off, so x may not take a second
        ({"nodeTaintsPolicy": "Honor"}, "x"),
    ],
)
def test_spread_counts_tainted_nodes_unless_told_otherwise(policies: Json, zones: str) -> None:
    taint = [{"key": "k", "effect": "NoSchedule"}]
    nodes = [node("x0", labels={"zone": "x"}), *(node(f"{z}0", labels={"zone": z}, taints=taint) for z in "yz")]
    candidate = pod("p", labels=WEB, topologySpreadConstraints=[spread(WEB, **policies)])
    assert {name[0] for name in open_to(nodes, candidate, [web("q", "x0")])} == set(zones)


@pytest.mark.parametrize(("policies", "zones"), [({}, "x"), ({"nodeAffinityPolicy": "Ignore"}, "")])
def test_spread_counts_only_nodes_that_affinity_chooses(policies: Json, zones: str) -> None:
    nodes = [node(f"{z}0", labels={"zone": z, "pool": "web" if z == "x" else "db"}) for z in "xyz"]
    candidate = pod("p", labels=WEB, nodeSelector={"pool": "web"}, topologySpreadConstraints=[spread(WEB, **policies)])
    assert {name[0] for name in open_to(nodes, candidate, [web("q", "x0")])} == set(zones)


def test_match_label_keys_narrow_what_spread_counts() -> None:
    existing = [pod("q", on="x0", labels={"app": "web", "rev": "1"})]
    constraint = spread(WEB, matchLabelKeys=["rev", "absent"])
    old, new = ({"app": "web", "rev": rev} for rev in ("1", "2"))
    assert len(open_to(ZONES, pod("p", labels=old, topologySpreadConstraints=[constraint]), existing)) == 4
    assert len(open_to(ZONES, pod("p", labels=new, topologySpreadConstraints=[constraint]), existing)) == 6


# -- pod affinity and anti-affinity -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "zones"),
    [
        (pod_rule("podAffinity", {"app": "db"}), "x"),
        (pod_rule("podAffinity", {"app": "cache"}), ""),  # there is none, and the pod is none itself
        (pod_rule("podAffinity", {"app": "web"}), "xyz"),  # the first of a series may start anywhere
        (pod_rule("podAffinity", {"app": "web"}, "rack"), ""),  # where no node has the key, not even the first
        (pod_rule("podAffinity", None), ""),
        (pod_rule("podAffinity", {}), "x"),  # everything in its namespace: db
        (pod_rule("podAffinity", {"app": "db"}, namespaces=["other"]), ""),
        (pod_rule("podAffinity", {"app": "far"}, namespaces=["other"]), "y"),
        (pod_rule("podAffinity", {"app": "far"}, namespaceSelector={}), "y"),
        (pod_rule("podAffinity", {"app": "far"}, namespaceSelector={"matchLabels": {"team": "b"}}), "y"),
        (pod_rule("podAffinity", {"app": "far"}, namespaceSelector={"matchLabels": {"team": "c"}}), ""),
        (pod_rule("podAntiAffinity", {"app": "db"}), "yz"),
        (pod_rule("podAntiAffinity", {"app": "db"}, "kubernetes.io/hostname"), "xyz"),
        (pod_rule("podAntiAffinity", {"app": "db"}, "rack"), "xyz"),
        (pod_rule("podAntiAffinity", {"app": "web"}), "xyz"),
        (pod_rule("podAntiAffinity", None), "xyz"),
        (pod_rule("podAntiAffinity", {"app": "db"}, matchLabelKeys=["rev"]), "xyz"),  # db has no rev of 2
        (pod_rule("podAntiAffinity", {"app": "db"}, mismatchLabelKeys=["rev"]), "yz"),
    ],
)
def test_pod_affinity_chooses_domains_by_the_pods_there(rule: Json, zones: str) -> None:
    """interpodaffinity filtering.go."""
    existing = [pod("q", on="x0", labels={"app": "db"}), pod("r", on="y0", labels={"app": "far"}, namespace="other")]
    namespaces = [{"metadata": {"name": "ray"}}, {"metadata": {"name": "other", "labels": {"team": "b"}}}]
    candidate = pod("p", labels={"app": "web", "rev": "2"}, affinity=rule)
    assert {name[0] for name in open_to(ZONES, candidate, existing, namespaces)} == set(zones)


@pytest.mark.parametrize(
    ("rule", "zones"),
    [
        (pod_rule("podAntiAffinity", WEB), "yz"),
        (pod_rule("podAntiAffinity", {"app": "db"}), "xyz"),
        (pod_rule("podAntiAffinity", WEB, namespaces=["other"]), "xyz"),
        (pod_rule("podAntiAffinity", WEB, namespaceSelector={"matchLabels": {"team": "a"}}), "yz"),
        (pod_rule("podAntiAffinity", WEB, namespaceSelector={"matchLabels": {"team": "b"}}), "xyz"),
        (pod_rule("podAffinity", WEB), "xyz"),  # their affinity asks nothing of others
    ],
)
def test_anti_affinity_of_what_runs_keeps_pods_off(rule: Json, zones: str) -> None:
    """interpodaffinity satisfyExistingPodsAntiAffinity."""
    existing = [pod("q", on="x0", labels={"app": "db"}, affinity=rule)]
    namespaces = [{"metadata": {"name": "ray", "labels": {"team": "a"}}}]
    assert {n[0] for n in open_to(ZONES, pod("p", labels=WEB), existing, namespaces)} == set(zones)


def test_pods_of_a_gang_keep_each_other_off_in_any_order() -> None:
    shy = pod("shy", labels={"app": "shy"}, affinity=pod_rule("podAntiAffinity", {"app": "web"}))
    for gang in ([shy, pod("w", labels=WEB)], [pod("w", labels=WEB), shy]):
        answer = fit([ZONES[0], ZONES[2]], gang)
        assert sorted(answer.placement.values()) == ["x0", "y0"]
        assert fit([ZONES[0], ZONES[1]], gang).fit == "No"  # one zone for two that keep apart


def test_a_pod_waits_for_the_one_it_wants_to_be_with() -> None:
    """The scheduler takes it up again when the other has come; so it fits, whatever the order."""
    follower = pod("f", labels={"app": "f"}, affinity=pod_rule("podAffinity", {"app": "web"}))
    answer = fit(ZONES, [follower, pod("w", labels=WEB)])
    assert answer.fit == "Fits"
    assert list(answer.placement) == ["w", "f"]  # an order that the filters accept
    assert answer.placement["w"][0] == answer.placement["f"][0]


# -- values that make no sense ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gang",
    [
        [pod("p", cpu="-1")],
        [pod("p", cpu="a lot")],
        [pod("p", cpu="9223372036854775808")],
        [pod("p"), pod("p")],
        [pod("p", nodeSelector=["a"])],
    ],
)
def test_a_pod_that_cannot_be_is_no(gang: list[Json]) -> None:
    answer = fit([node("a")], gang)
    assert (answer.fit, answer.why.code) == ("No", "InvalidPod")


@pytest.mark.parametrize(
    "bad",
    [
        node("a", cpu="-8"),
        node("a", cpu="8 cores"),
        {**node("a"), "status": {"allocatable": []}},
        {"metadata": {"name": "a"}},
    ],
)
def test_a_node_that_cannot_be_read_takes_nothing(bad: Json) -> None:
    assert open_to([bad, node("b")], pod("p")) == {"b"}


def test_two_nodes_of_one_name_take_nothing() -> None:
    assert open_to([node("a"), node("a"), node("b")], pod("p")) == {"b"}


def test_amounts_beyond_what_can_be_counted_do_not_wrap_around() -> None:
    huge = str(2**63 - 1)
    existing = [pod(f"q{i}", cpu="", memory=huge, on="a") for i in range(3)]
    assert open_to([node("a", memory=huge), node("b", memory=huge)], pod("p", memory=str(64 * GI)), existing) == {"b"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A sound case in which one value, anywhere, is something else."""
    rules = {**pod_rule("podAffinity", WEB), **pod_rule("podAntiAffinity", {"app": "db"}), **node_affinity({"matchExpressions": [expression("zone", "In", "z1")]})}  # fmt: skip
    full = pod("p", labels=WEB, affinity=rules, tolerations=[{"key": "k"}], topologySpreadConstraints=[spread(WEB)])
    value: Any = {
        "items": [
            {**node("a", labels={"zone": "z1"}, taints=[{"key": "k", "effect": "NoSchedule"}]), "kind": "Node"},
            {**web("q", "a"), "kind": "Pod"},
            {"metadata": {"name": "ray"}, "kind": "Namespace"},
            full,
        ]
    }
    target = value = json.loads(json.dumps(value))  # nothing of it is shared
    while True:
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        key = draw(st.sampled_from(keys))
        if not isinstance(target[key], (dict, list)) or not target[key] or draw(st.booleans()):
            target[key] = draw(JSON)
            return value
        target = target[key]


@given(damaged())
def test_no_value_of_a_wrong_type_stops_the_judge(value: Any) -> None:
    cluster = read_list(value)
    items = value["items"]
    gang = items[-1] if isinstance(items, list) and items and isinstance(items[-1], dict) else {}
    answer = judge(cluster, [read_pod(gang)])
    assert answer.fit in ("Fits", "TightFit", "No")


@given(JSON, JSON, JSON)
def test_lists_of_nonsense_are_a_cluster_without_nodes_or_nearly(nodes: Any, existing: Any, namespaces: Any) -> None:
    assert judge(read_cluster(nodes, existing, namespaces), [read_pod(pod("p"))]).fit == "No"


def test_identical_pods_are_one_class_whatever_labels_nobody_asks_for() -> None:
    gang = [pod(f"p{i}", labels={"index": str(i)}) for i in range(3)]
    assert len(board([A], gang).classes) == 1
    gang[0]["spec"]["topologySpreadConstraints"] = [spread({"index": "1"})]
    assert len(board([A], gang).classes) == 3  # the one that asks, the one asked for, and the other

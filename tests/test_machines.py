"""What an autoscaler can add: who is believed, through which pool, how many more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.machines import Catalogue
from gitplacer.machines.pools import MOST_VARIANTS

NOW = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
API = "gitplacer.dev/v1alpha1"


def catalogue(autoscaler: str, snapshot: str = "{}", spec: str = "{}") -> Catalogue:
    """The catalogue of a cluster from YAML in one line."""
    rest = {**yaml.safe_load(spec), "autoscaler": yaml.safe_load(autoscaler)}
    made = Cluster.model_validate({"apiVersion": API, "kind": "Cluster", "metadata": {"name": "c"}, "spec": rest})
    value: dict[str, Any] = {"observedAt": "2026-01-02T03:04:05Z", **yaml.safe_load(snapshot)}
    seen = CapacitySnapshot.model_validate(
        {"apiVersion": API, "kind": "CapacitySnapshot", "metadata": {"name": "c"}, **value}
    )
    return Catalogue.of(made, seen, NOW)


def how_many(found: Catalogue, key: str, *, to_placed: bool = False, **promised: int) -> int | None:
    """How many machines of a type may still come; None where nothing bounds it."""
    left = found.left(promised, to_placed=to_placed)
    draws = next(type_.draws for type_ in found.types if type_.key == key)
    return min((left[limit] // amount for limit, amount in draws), default=None)


GPU = "nodeGroups: [{name: asg, nodeType: g5, max: 8, allocatable: {cpu: 4}, pricePerHour: 2, labels: {from: asg}}]"


@pytest.mark.parametrize(
    ("entries", "groups", "types"),
    [
        # each side alone
        ("{name: g5, max: 3, allocatable: {cpu: 8}}", "{}", "g5 8000 - 3"),
        ("", f"{{{GPU}}}", "asg 4000 2.0 8"),
        # the same name: what is written wins, the rest is as reported
        ("{name: asg, max: 3, pricePerHour: 1}", f"{{{GPU}}}", "asg 4000 1.0 3"),
        ("{name: asg, allocatable: {cpu: 2}}", f"{{{GPU}}}", "asg 2000 2.0 8"),
        # the instance type: it describes the group, and its max bounds all groups of the type
        ("{name: g5, max: 3, pricePerHour: 1}", f"{{{GPU}}}", "asg 4000 1.0 3"),
        ("{name: g5, max: 99, pricePerHour: 1}", f"{{{GPU}}}", "asg 4000 1.0 8"),
        ("{name: mine, instanceType: g5, pricePerHour: 1}", f"{{{GPU}}}", "asg 4000 1.0 8"),
        # one that says spot is not about a group that says on-demand
        (
            "{name: s, instanceType: g5, spot: true, max: 1, allocatable: {cpu: 1}}",
            "{nodeGroups: [{name: asg, nodeType: g5, spot: false, max: 8, allocatable: {cpu: 4}}]}",
            "asg 4000 - 8, s 1000 - 1",
        ),
        # nobody says what one offers, or how many there may be
        ("{name: g5, max: 3}", "{}", ""),
        ("{name: g5, allocatable: {cpu: 8}}", "{}", ""),
    ],
)
def test_people_win_field_by_field_and_the_machine_fills_the_rest(entries: str, groups: str, types: str) -> None:
    found = catalogue(f"{{type: ClusterAutoscaler, nodeTypes: [{entries}]}}", groups)
    told = [
        f"{t.name} {t.allocatable['cpu']} {'-' if t.price_per_hour is None else t.price_per_hour} {how_many(found, t.key)}"
        for t in found.types
    ]
    assert ", ".join(told) == types


def test_a_cluster_without_an_autoscaler_adds_nothing_whatever_is_reported() -> None:
    made = Cluster.model_validate({"apiVersion": API, "kind": "Cluster", "metadata": {"name": "c"}, "spec": {}})
    value = {"observedAt": "2026-01-02T03:04:05Z", **yaml.safe_load(f"{{{GPU}}}")}
    seen = CapacitySnapshot.model_validate(
        {"apiVersion": API, "kind": "CapacitySnapshot", "metadata": {"name": "c"}, **value}
    )
    assert Catalogue.of(made, seen, NOW).types == ()


G5 = "{name: n, count: %d, allocatable: {cpu: 4}, labels: {node.kubernetes.io/instance-type: g5%s}}"


@pytest.mark.parametrize(
    ("nodes", "count", "promised", "left", "left_to_placed"),
    [
        ("", "", 0, 8, 8),
        (G5 % (3, ""), "", 0, 5, 5),
        (G5 % (3, ", from: asg"), "", 2, 3, 3),
        (G5 % (3, ", from: other"), "", 0, 8, 8),  # of another group: it contradicts a label
        # two are on their way: for whom they were counted on, and for nobody else
        (G5 % (3, ""), ", count: 5", 0, 3, 5),
        (G5 % (3, ""), ", count: 5", 2, 3, 3),
        (G5 % (3, ""), ", count: 5", 3, 2, 2),
        (G5 % (3, ""), ", count: 1", 0, 5, 5),  # one is being removed
    ],
)
def test_how_many_more_of_a_group_may_come(
    nodes: str, count: str, promised: int, left: int, left_to_placed: int
) -> None:
    group = f"{{name: asg, nodeType: g5, max: 8{count}, labels: {{from: asg}}, allocatable: {{cpu: 4}}}}"
    found = catalogue("{type: ClusterAutoscaler}", f"{{nodes: [{nodes}], nodeGroups: [{group}]}}")
    assert how_many(found, "asg", asg=promised) == left
    assert how_many(found, "asg", to_placed=True, asg=promised) == left_to_placed


@pytest.mark.parametrize(
    ("exhausted", "left"),
    [
        ("{code: QuotaExceeded}", 0),
        ('{code: QuotaExceeded, until: "2026-01-02T03:05:01Z"}', 0),
        ('{code: QuotaExceeded, until: "2026-01-02T03:05:00Z"}', 8),
        ('{code: QuotaExceeded, since: "2026-01-02T03:00:00Z"}', 0),
    ],
)
def test_an_exhausted_group_gives_nothing_new_while_that_holds(exhausted: str, left: int) -> None:
    group = f"{{name: asg, max: 8, allocatable: {{cpu: 4}}, exhausted: {exhausted}}}"
    found = catalogue("{type: ClusterAutoscaler}", f"{{nodeGroups: [{group}]}}")
    assert how_many(found, "asg") == left
    assert (how_many(found, "asg", to_placed=True) or 0) >= 8  # what was promised before is no news


def test_all_nodes_count_towards_the_most_that_a_cluster_may_have() -> None:
    nodes = "{name: other, count: 6, allocatable: {}}, " + G5 % (1, "")
    types = "[{name: g5, max: 8, allocatable: {cpu: 4}}]"
    found = catalogue(f"{{type: ClusterAutoscaler, maxNodes: 10, nodeTypes: {types}}}", f"{{nodes: [{nodes}]}}")
    assert how_many(found, "g5") == 3
    assert how_many(found, "g5", g5=2) == 1


# Karpenter

A, B = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
FAMILY = "karpenter.k8s.aws/instance-family"


@pytest.mark.parametrize(
    ("requirement", "labels"),
    [
        ("{key: pool, operator: In, values: [x]}", ["pool=x"]),
        ("{key: pool, operator: In, values: [y, x]}", ["pool=x", "pool=y"]),
        (f"{{key: {A}, operator: In, values: [a, b]}}", [f"{A}=a", f"{A}=b"]),
        (f"{{key: {B}, operator: In, values: [spot, on-demand]}}", [f"{B}=on-demand", f"{B}=spot"]),
        # settled by the type
        ("{key: disk, operator: In, values: [ssd, hdd]}", ["disk=ssd"]),
        ("{key: disk, operator: In, values: [hdd]}", None),
        ("{key: disk, operator: NotIn, values: [ssd]}", None),
        ("{key: disk, operator: Exists}", ["disk=ssd"]),
        ("{key: disk, operator: DoesNotExist}", None),
        ("{key: generation, operator: Gt, values: ['4']}", ["generation=5"]),
        ("{key: generation, operator: Gt, values: ['5']}", None),
        ("{key: generation, operator: Lt, values: ['6']}", ["generation=5"]),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [g5, g6]}", ["node.kubernetes.io/instance-type=g5"]),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [g6]}", None),
        # a label of the instance type that nobody wrote: believed by nobody
        (f"{{key: {FAMILY}, operator: In, values: [g5]}}", None),
        (f"{{key: {FAMILY}, operator: Exists}}", None),
        (f"{{key: {FAMILY}, operator: NotIn, values: [p5]}}", []),
        ("{key: unknown, operator: Gt, values: ['1']}", None),
        # a label that anybody may have
        ("{key: unknown, operator: Exists}", []),
        ("{key: unknown, operator: DoesNotExist}", []),
        # two about one key
        ("{key: k, operator: In, values: [x, y]}, {key: k, operator: NotIn, values: [x]}", ["k=y"]),
        ("{key: k, operator: In, values: [x]}, {key: k, operator: NotIn, values: [x]}", None),
        # the image: one value is set, several are left to who looks at the type
        ("{key: kubernetes.io/arch, operator: In, values: [amd64]}", ["kubernetes.io/arch=amd64"]),
        ("{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}", []),
    ],
)  # fmt: skip
def test_what_comes_of_a_type_through_a_pool(requirement: str, labels: list[str] | None) -> None:
    """None: nothing. Otherwise the values of the label that the requirement is about, of each machine that may come."""
    key = yaml.safe_load(f"[{requirement}]")[0]["key"]
    types = "[{name: g5, max: 8, allocatable: {cpu: 4}, labels: {disk: ssd, generation: '5'}}]"
    found = catalogue(
        f"{{type: Karpenter, nodeTypes: {types}, nodePools: [{{name: p, requirements: [{requirement}], labels: {{mine: indeed}}}}]}}"
    )
    if labels is None:
        assert found.types == ()
    else:
        assert [f"{k}={v}" for t in found.types for k, v in t.labels if k == key] == labels
        assert all({("mine", "indeed"), ("karpenter.sh/nodepool", "p")} <= set(t.labels) for t in found.types)


def test_a_type_that_says_what_it_is_comes_as_that_only() -> None:
    spot = f"{{key: {B}, operator: In, values: [spot]}}"
    types = "{name: s, spot: true, allocatable: {cpu: 4}}, {name: d, spot: false, allocatable: {cpu: 4}}, {name: u, allocatable: {cpu: 4}}"
    found = catalogue(f"{{type: Karpenter, nodeTypes: [{types}], nodePools: [{{name: p, requirements: [{spot}]}}]}}")
    assert [(t.name, t.spot) for t in found.types] == [("s", True), ("u", True)]


@pytest.mark.parametrize(
    ("limits", "capacity", "nodes", "left"),
    [
        ("{}", "", "", None),
        ("{cpu: 16}", "", "", 4),
        ("{cpu: 15}", "", "", 3),
        ("{cpu: 16}", ", capacity: {cpu: 5}", "", 3),
        ("{cpu: 16, nvidia.com/gpu: 2}", "", "", 2),
        ("{nvidia.com/gpu: 0}", "", "", 0),
        ("{nodes: 3}", "", "", 3),
        ("{cpu: 16}", "", "{name: n, count: 2, allocatable: {cpu: 3}, labels: {karpenter.sh/nodepool: p}}", 2),
        ("{cpu: 16}", "", "{name: n, count: 2, allocatable: {cpu: 3}, labels: {karpenter.sh/nodepool: q}}", 4),
        ("{cpu: 16}", ", capacity: {cpu: 5}", "{name: n, count: 2, allocatable: {cpu: 4}, labels: {karpenter.sh/nodepool: p, node.kubernetes.io/instance-type: g5}}", 1),
        # a pool beyond one of its limits launches nothing, not even what has none of it
        ("{memory: 1Gi}", "", "", None),
        ("{memory: 1Gi}", "", "{name: n, allocatable: {memory: 2Gi}, labels: {karpenter.sh/nodepool: p}}", 0),
    ],
)  # fmt: skip
def test_the_limits_of_a_pool_are_summed_over_all_its_nodes(
    limits: str, capacity: str, nodes: str, left: int | None
) -> None:
    types = f"[{{name: g5, allocatable: {{cpu: 4, nvidia.com/gpu: 1}}{capacity}}}]"
    autoscaler = f"{{type: Karpenter, nodeTypes: {types}, nodePools: [{{name: p, limits: {limits}}}]}}"
    assert how_many(catalogue(autoscaler, f"{{nodes: [{nodes}]}}"), "g5 in p") == left


def test_heavier_pools_come_first_and_labels_that_would_make_too_many_machines_are_left_off() -> None:
    many = ", ".join(f"v{i}" for i in range(MOST_VARIANTS))
    pool = f"{{name: many, weight: 5, requirements: [{{key: {A}, operator: In, values: [a, b]}}, {{key: k, operator: In, values: [{many}]}}]}}"
    found = catalogue(
        f"{{type: Karpenter, nodeTypes: [{{name: g5, allocatable: {{cpu: 4}}}}], nodePools: [{{name: light}}, {pool}]}}"
    )
    assert [(t.key, t.demotion) for t in found.types] == [
        ("g5 in light", 1),
        (f"g5 in many {A}=a", 0),
        (f"g5 in many {A}=b", 0),
    ]

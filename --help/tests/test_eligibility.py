"""Which clusters a group may be on before any node is looked at: each reason by its code and words, and which is told first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from tests.stories import START, Story, cluster, decisions, outcome, policy, rayservice, snapshot

ROOM = "n1 64 256Gi 8"
RED = "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: red}\nspec:\n  paths: [workloads/**]\n  namespaces: [x]\n"
ORDERED = "placement: {type: Ordered, order: [{names: [%s]}]}"
DIVIDED = "placement: {type: Divide, weights: {a: %d, b: 1}}"
TAINT = "[{key: team, value: blue, effect: NoSchedule}]"
TOLERATED = "tolerations: [{key: team, value: blue}]"


def told(story: Story, group: str = "x/app") -> tuple[str, str]:
    """Code and subject of what a plan says of cluster a for a group."""
    (found,) = [c.finding for c in decisions(story.plan())[group].candidates if c.cluster == "a"]
    return (str(found.code), found.subject)


def one(
    spec: Mapping[str, str], rule: str = "", tenant: str = "", wish: str = "", capacity: Mapping[str, str] | None = None
) -> Story:
    """Cluster a as it is said, cluster b as it comes, and one app; there is room on both."""
    (text,) = rayservice("x", "app").values()
    if wish:
        text = text.replace("labels: {}", f"annotations: {{gitplacer.dev/cluster: {wish}}}")
    return Story.of(
        cluster("a", **spec), cluster("b", labels="{tier: red}"), policy("p", f"select: {{}}\n{rule}"),
        {"tenants/red.yaml": f"{RED}{tenant}"} if tenant else {}, {"workloads/x/app.yaml": text},
        capacity={**snapshot("a", ROOM), **snapshot("b", ROOM)} if capacity is None else capacity,
    )  # fmt: skip


FITS = ("Fits", "")


@pytest.mark.parametrize(
    ("spec", "rule", "tenant", "wish", "expected"),
    [
        ({}, "", "", "", FITS),
        ({"role": "Management"}, "", "", "", ("ManagementCluster", "")),
        ({}, "clusters: {matchLabels: {tier: red}}", "", "", ("ClusterNotSelected", "tier=red")),
        ({}, "clusters: {names: [a]}", "", "", FITS),
        ({}, "", "  clusters: {names: [b]}\n", "", ("NotTheTenants", "red: kubernetes.io/metadata.name=b")),
        ({}, "", "  clusters: {names: [a]}\n", "", FITS),
        ({}, ORDERED % "b", "", "", ("NotInOrder", "")),
        ({}, ORDERED % "a", "", "", FITS),
        ({}, DIVIDED % 0, "", "", ("NoShare", "")),
        ({"taints": TAINT}, "", "", "", ("UntoleratedClusterTaint", "team=blue:NoSchedule")),
        ({"taints": TAINT}, TOLERATED, "", "", FITS),
        ({}, "", "", "b", ("OtherClusterWished", "b")),
        ({}, "", "", "a", FITS),
        # which is told where several are true: what no edit of the group's own would change comes first
        ({"role": "Management"}, "clusters: {names: [b]}", "", "b", ("ManagementCluster", "")),
        ({"taints": TAINT}, ORDERED % "b", "", "b", ("NotInOrder", "")),
        ({"taints": TAINT}, "", "", "b", ("UntoleratedClusterTaint", "team=blue:NoSchedule")),
    ],
)
def test_where_a_group_may_not_be(
    spec: Mapping[str, str], rule: str, tenant: str, wish: str, expected: tuple[str, str]
) -> None:
    assert told(one(spec, rule, tenant, wish)) == expected


OLD = START - timedelta(hours=2)


@pytest.mark.parametrize(
    ("spec", "capacity", "expected"),
    [
        ({"state": "Cordoned"}, snapshot("a", ROOM), ("ClusterCordoned", "")),
        ({"state": "Draining"}, snapshot("a", ROOM), ("ClusterDraining", "")),
        ({"state": "Lost"}, snapshot("a", ROOM), ("ClusterLost", "")),
        ({"state": "Draining"}, {}, ("ClusterDraining", "")),
        ({}, {}, ("NoSnapshot", "")),
        ({}, {"a.yaml": "kind: ["}, ("BrokenSnapshot", "")),
        ({"maxAge": "1h"}, snapshot("a", ROOM, at=OLD), ("StaleSnapshot", "2026-01-02T01:05:00Z")),
        ({"maxAge": "2h"}, snapshot("a", ROOM, at=OLD), FITS),
        ({}, snapshot("a", more="coarse: true\n"), ("NodesNotKnown", "")),
        ({}, snapshot("a", ROOM, more="coarse: true\n"), ("TightFit", "coarse")),
        ({}, snapshot("a", ROOM, more="serves: []\n"), ("APINotServed", "ray.io/v1")),
        ({}, snapshot("a", ROOM, more="serves: [ray.io/v1alpha1]\n"), ("APINotServed", "ray.io/v1")),
        ({}, snapshot("a", ROOM, more="serves: [ray.io/v1]\n"), FITS),
        ({}, snapshot("a", ROOM, more="serves: [ray.io]\n"), FITS),
        (
            {"profile": "{kuberay: {watchNamespaces: [z]}}"}, snapshot("a", ROOM),
            ("FeatureNotServed", "KubeRay does not watch namespace x there"),
        ),
        ({"profile": "{kuberay: {watchNamespaces: [z, x]}}"}, snapshot("a", ROOM), FITS),
    ],
)  # fmt: skip
def test_what_takes_nothing_new(
    spec: Mapping[str, str], capacity: Mapping[str, str], expected: tuple[str, str]
) -> None:
    assert told(one(spec, capacity=capacity)) == expected


def test_pods_that_start_one_by_one_go_where_nodes_are_not_known() -> None:
    story = one({}, "placement: {admission: Immediate}", capacity=snapshot("a", more="coarse: true\n"))
    assert told(story)[0] != "NodesNotKnown"


def test_what_kubernetes_brings_need_not_be_served_and_the_first_that_is_missing_is_told() -> None:
    served = snapshot("a", ROOM, more="serves: [ray.io]\n")
    story = one({}, "groupBy: {namespace: true}", "  kinds: [Ray*, ConfigMap, Zebra, Ape]\n", capacity=served)
    story.source["workloads/x/app.yaml"] += (
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: x}\n"
        "---\napiVersion: zoo.io/v1\nkind: Zebra\nmetadata: {name: app, namespace: x}\n"
        "---\napiVersion: wild.io/v1\nkind: Ape\nmetadata: {name: app, namespace: x}\n"
    )
    assert told(story, group="x/x") == ("APINotServed", "wild.io/v1")


@pytest.mark.parametrize("change", [{"role": "Management"}, {"taints": TAINT}])
def test_what_may_not_stay_leaves(change: Mapping[str, str]) -> None:
    story = one({})
    story.run()
    story.source |= cluster("a", **change)
    assert outcome(story.run())["x/app"] == "Relocate b NotEligible"


@pytest.mark.parametrize("state", ["Cordoned", "Active"])
def test_what_runs_stays_on_a_cluster_that_takes_nothing_new(state: str) -> None:
    story = one({})
    story.run()
    story.source |= cluster("a", state=state)
    story.capacity |= snapshot("a", ROOM, more="serves: []\n")
    assert outcome(story.run())["x/app"] == "Keep a Kept"

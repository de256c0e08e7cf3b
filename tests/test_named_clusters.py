"""Names of clusters that there are not: told wherever the source is read, and not only to whoever tests policies."""

from __future__ import annotations

import pytest

from gitplacer.problems import Severity
from tests.stories import FLEET, Story, cluster, policy, rayservice, snapshot

ROOM = {**snapshot("east", "n1 16 64Gi 2"), **snapshot("west", "n1 16 64Gi 2")}
HUB = cluster("hub", role="Management")
TENANT = "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: t}\nspec:\n"
THEIRS = '  {paths: ["workloads/**"], namespaces: [prod], clusters: {names: [east, wset]}}\n'
OVERRIDE = "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n  select: {kinds: [RayService]}\n"
CHANGE = "  clusters: {names: [%s]}\n  overrides: [{path: /metadata/labels/a, value: b}]\n"
ALLOWED = policy("p", "select: {}\nclusters: {names: [east, wset]}")["policies/p.yaml"].replace(
    "{name: p}", "{name: p, annotations: {allow.gitplacer.dev/SelectsNoCluster: it comes in May}}"
)
NO_SUCH = "and there is no such Workload cluster"
MEND = "correct the name, add the cluster, or take the name out"


def told(*files: dict[str, str], clone: bool = False) -> list[tuple[str, str, str]]:
    story = Story.of(cluster("east"), cluster("west"), HUB, policy("p", "select: {}"), *files, capacity=ROOM)
    story.source |= rayservice("prod", "api")
    if clone:
        story.source |= cluster(
            "east", standby='{mode: Delete, nodes: [{name: n1, allocatable: {cpu: "8", memory: 32Gi}}]}'
        )
        made = "spec: {clone: {from: east, manifests: {active: made/on, standby: made/off}}}"
        story.source["fleet.yaml"] = FLEET.replace("spec: {}", made)
    found = [p for p in story.plan().problems if p.code == "SelectsNoCluster"]
    assert all(p.severity is Severity.WARNING for p in found)
    return [(str(p.location), p.message, p.hint) for p in found]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        (policy("p", "select: {}\nclusters: {names: [east]}"), []),
        (
            policy("p", "select: {}\nclusters: {names: [wset]}"),
            [("policies/p.yaml:6:22", f"policy p names wset, {NO_SUCH}", 'did you mean "west"?')],
        ),
        (
            policy("p", "select: {}\nclusters: {names: [east, mars]}"),
            [("policies/p.yaml:6:28", f"policy p names mars, {NO_SUCH}", MEND)],
        ),
        (
            policy("p", "select: {}\nclusters: {names: [east, hub]}"),
            [("policies/p.yaml:6:28", "policy p names hub, which is for management and takes nothing", "take the name out")],
        ),
        (
            policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [wset]}, {}]}"),
            [("policies/p.yaml:6:47", f"term 1 of the order of policy p names wset, {NO_SUCH}", 'did you mean "west"?')],
        ),
        (
            {"policies/o.yaml": OVERRIDE + CHANGE % "wset"},
            [("policies/o.yaml:6:22", f"override o names wset, {NO_SUCH}", 'did you mean "west"?')],
        ),
        (
            {"tenants/t.yaml": TENANT + THEIRS},
            [("tenants/t.yaml:5:74", f"tenant t names wset, {NO_SUCH}", 'did you mean "west"?')],
        ),
        ({"policies/p.yaml": ALLOWED}, []),
    ],
)  # fmt: skip
def test_a_name_of_no_cluster_is_told_where_the_source_is_read(
    files: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    assert told(files) == expected


def test_where_there_is_no_cluster_at_all_that_is_said() -> None:
    story = Story.of(policy("p", "select: {}\nclusters: {names: [east]}"), rayservice("prod", "api"))
    [found] = story.plan().problems
    assert (found.code, found.message, found.hint) == (
        "SelectsNoCluster",
        "policy p names east, and there is no Workload cluster in the source",
        "add the Cluster: `gitplacer schema Cluster` prints its fields",
    )


def test_where_clusters_are_made_when_they_are_named_any_name_is_one() -> None:
    named = policy("p", "select: {}\nclusters: {names: [east, mars]}")
    assert [message for _, message, _ in told(named)] == [f"policy p names mars, {NO_SUCH}"]
    assert told(named, clone=True) == []

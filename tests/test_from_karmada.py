"""What Karmada's users have becomes a fleet that places each group where Karmada's rules would, and every field is used or reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.importers import reader
from gitplacer.importers.karmada import imported
from gitplacer.importers.karmada.patches import renamed
from gitplacer.importers.karmada.selecting import Selection
from gitplacer.importers.report import Imported, Outcome
from gitplacer.importers.variables import Variables
from tests.commands import run, write
from tests.foreignlaws import (
    NAMES,
    VALUES,
    asked_at_most,
    broken,
    makes_no_difference,
    mappings,
    survived,
    told,
    told_when_added,
    value,
)
from tests.novafleets import clusters, story

DATA = Path(__file__).parent / "data" / "karmada"
NOW = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
CLUSTERS = (DATA / "clusters.yaml").read_text()


def of(*texts: str) -> Imported:
    return imported({f"f{number}.yaml": text.encode() for number, text in enumerate(texts)}, Variables(), NOW)


def corpus() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(DATA.glob("*.yaml"))}


# what is told


def test_of_a_policy_that_is_not_read_nothing_else_is_told() -> None:
    """`- us` with `uk` below it is one text of both. The policy is named, and no line says what became of its parts."""
    broken = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: both, namespace: shop}\nspec:\n"
        "  propagateDeps: true\n  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n  placement:\n"
        "    clusterAffinity:\n      clusterNames:\n      - us\n        uk\n    typo: 1\n"
    )
    found = of(broken, f"{broken.replace('        uk', '      - uk')}---\nkind: [\n")
    assert [(str(one.location), one.message) for one in found.problems] == [
        (
            "f0.yaml:9:7",
            '"us uk" cannot be the value of a label; so nothing is made of this PropagationPolicy shop/both',
        ),
        *((str(one.location), one.message) for one in found.problems if one.location.file == "f1.yaml"),
    ]
    assert not any("both" in one.message for one in found.problems if one.location.file == "f1.yaml")
    lines = [(line.outcome, line.location.line) for line in found.lines if line.location.file == "f0.yaml"]
    assert lines == [(Outcome.NOT_UNDERSTOOD, 12)]
    assert any(line.outcome is Outcome.CONVERTED for line in found.lines if line.location.file == "f1.yaml")


def test_that_there_are_no_clusters_is_told_once() -> None:
    app = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n"
    (line,) = (one for one in of(app, app).lines if "no cluster" in one.what)
    assert (line.place, line.todo) == ("f0.yaml:1:1", "export them: kubectl get clusters.cluster.karmada.io -o yaml")
    assert not any("no cluster of" in one.what for one in of(CLUSTERS, app).lines)


def test_a_field_that_is_not_known_is_told_with_what_may_be_meant() -> None:
    policy = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterPropagationPolicy\nmetadata: {name: p}\nspec:\n"
        "  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n  placement:\n    replicaScheduling:\n"
        "      replicaSchedulingType: Divided\n      replicaDivisionPreference: Weighted\n"
        "      weightPreference: {staticClusterWeight: [{weight: 1, targetCluster: {clusterNames: [alpha]}}]}\n      zebra: 1\n"
    )
    todo = [line.todo for line in of(CLUSTERS, policy).of(Outcome.NOT_UNDERSTOOD)]
    assert [one.partition(" If not, ")[0] for one in todo] == [
        'did you mean "staticWeightList"?',
        "look up what it does, and write what you want by hand",
    ]


@pytest.mark.parametrize(("others", "folder"), [((), "web-platform"), (("web-platform",), "web-platform-2")])
def test_an_app_and_what_lies_beside_it_may_have_one_name(others: tuple[str, ...], folder: str) -> None:
    """A policy called as its Deployment is what samples of Karmada have. The folder of its Service was a group of that name too, and took it from the app."""
    app = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: shop}\nspec: {replicas: 4, selector: {matchLabels: {app: x}}, "
        "template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i}]}}}\n---\n"
    )
    policy = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: web, namespace: shop}\nspec:\n"
        "  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: Service}]\n"
        "  placement: {clusterAffinity: {clusterNames: [alpha, charlie]}, replicaScheduling: {replicaSchedulingType: Divided}}\n---\n"
    )
    front = "apiVersion: v1\nkind: Service\nmetadata: {name: front, namespace: shop}\nspec: {ports: [{port: 80}], selector: {app: x}}\n"
    found = of(CLUSTERS, policy + "".join(app % name for name in ("web", *others)) + front)
    assert [path.split("/")[1] for path in found.files if path.startswith("platform/")] == [folder]
    done = story(found).run()
    assert done.problems == ()
    assert set(done.snapshot.groups) == {f"shop/{name}" for name in ("web", folder, *others)}


def test_what_a_policy_of_a_namespace_takes_has_a_namespace() -> None:
    """
    Of a kind without a definition nobody knows it, and nothing of it may lie among the workloads; but Karmada lets such a policy take nothing else. An
    app beside it stays a workload.
    """
    policy = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: p}\nspec:\n"
        "  resourceSelectors: [{apiVersion: example.com/v1, kind: Widget}, {apiVersion: apps/v1, kind: Deployment}]\n"
        "  placement: {clusterAffinity: {clusterNames: [alpha, charlie]}}\n"
    )
    override = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n"
        "  resourceSelectors: [{apiVersion: example.com/v1, kind: Widget}]\n"
        "  overrideRules: [{overriders: {plaintext: [{path: /spec/size, operator: replace, value: 4}]}}]\n"
    )
    app = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: "
        "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
    )
    widget = "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w%s}\nspec: {size: 2}\n"
    found = of(CLUSTERS, policy, override, app + widget % "" + widget % "2, namespace: default")
    assert "workloads/default/f3.yaml" in found.files
    (path,) = [path for path in found.files if path.startswith("platform/")]
    made = list(yaml.safe_load_all(found.files[path]))
    assert [one["metadata"].get("namespace") for one in made] == ["default", "default"]
    assert [line.what for line in found.of(Outcome.NO_EQUAL) if "Widget" in line.what] == [
        "of Widget of example.com it is not known what pods it makes"
    ] * 2
    done = story(found).run()
    assert done.problems == ()
    placed = clusters(done)
    assert {placed[group] for group in placed if group.startswith("default/")} == {"alpha,charlie"}


@pytest.mark.parametrize(
    "metadata",
    [
        "{name: d, namespace: shop, uid: u, labels: {propagationpolicy.karmada.io/permanent-id: x}, annotations: {propagationpolicy.karmada.io/name: p, a/b: c}}",
        "\n  uid: u\n  name: d\n  namespace: shop\n  annotations:\n    propagationpolicy.karmada.io/name: p\n    a/b: c  # kept\n  labels:\n    work.karmada.io/x: z",
    ],
)
def test_what_was_exported_loses_what_its_author_did_not_write(metadata: str) -> None:
    """A server's fields make an apply fail, and Karmada's marks say that Karmada has it: `validate` refuses both."""
    policy = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: p, namespace: shop}\nspec:\n"
        "  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n"
    )
    app = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {metadata}\n"
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
        "status: {replicas: 1}\n"
    )
    found = of(CLUSTERS, policy, app)
    made = value(found, "workloads/shop/f2.yaml")
    assert {key for key in made["metadata"] if made["metadata"][key]} == {"name", "namespace", "annotations"}
    assert (made["metadata"]["annotations"], "status" in made) == ({"a/b": "c"}, False)
    (told,) = (line.what for line in found.of(Outcome.CHANGED) if "was exported" in line.what)
    assert "metadata.uid, status, " in told
    assert story(found).run().problems == ()


def test_what_may_have_no_namespace_and_goes_nowhere_is_told() -> None:
    policy = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterPropagationPolicy\nmetadata: {name: p}\nspec:\n"
        "  resourceSelectors: [{apiVersion: example.com/v1, kind: Widget, namespace: shop}]\n"
    )
    found = of(CLUSTERS, policy, "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n")
    assert "unplaced/f2.yaml" in found.files
    assert any("if it has no namespace, some policy may select it" in line.what for line in found.of(Outcome.CHOSEN))


# where everything goes

SENT: Mapping[str, set[str]] = {
    "shop/web": {"alpha,charlie"},  # taken by name before it is taken by label; Duplicated
    "shop/cart": {"alpha,charlie"},  # Divided 2 to 1
    "ops/tools": {"charlie"},  # a ClusterPropagationPolicy, aws without alpha
    "chat/chat": {"alpha,charlie"},  # two regions; bravo's taint is not tolerated
    "ml/small": {"bravo"},  # the first group has room
    "ml/train": {"alpha", "charlie"},  # it has not for six cores; either of the second
    "batch/whole": {"alpha"},  # Aggregated: bravo's nodes are too small
    "names/one": {"alpha"},  # a namespaced policy before one of the cluster, whatever the priority; able before zulu
    "names/two": {"charlie"},  # the higher priority
}
"""Where Karmada's documented rules send each group, by hand. Several are one or the other."""


def test_each_group_goes_where_karmada_sends_it() -> None:
    found = imported(corpus(), Variables(), NOW)
    assert found.problems == () and found.of(Outcome.NOT_UNDERSTOOD) == []
    told = story(found)
    placed = clusters(told.run())
    assert {group for group in placed if not group.startswith("_cluster/")} == {*SENT}
    assert {group: where for group, where in placed.items() if group in SENT and where not in SENT[group]} == {}


def test_divided_replicas_and_overrides_are_in_the_files_of_each_cluster() -> None:
    told = story(imported(corpus(), Variables(), NOW))
    told.run()
    where = "clusters/{}/workloads/shop/{}/manifests.yaml"
    cart = {name: told.deployment.read(where.format(name, "cart")).decode() for name in ("alpha", "charlie")}
    assert "replicas: 2" in cart["alpha"] and "replicas: 1" in cart["charlie"]
    assert "image: cart:1" in cart["alpha"] and "image: mirror.example/cart:1" in cart["charlie"]
    web = told.deployment.read(where.format("charlie", "web")).decode()
    assert "replicas: 4" in web and "--gold" in web and "mirror.example/shop/web:1.2" in web and "tier: gold" in web


def test_the_same_files_make_the_same_bytes_in_any_order() -> None:
    files = corpus()
    turned = dict(reversed(files.items()))
    once, again = (imported(each, Variables(), NOW) for each in (files, turned))
    assert (once.files, once.lines) == (again.files, again.lines)


# fields of a policy, one row each

POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: p, namespace: a}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: d}]
"""
ALL = {"copies": "All", "admission": "Immediate"}
NEVER = {"when": {"PendingPods": "Never"}}
ONE = "spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]"
DIVIDED = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: "
CONDITION = "fieldSelector: {matchExpressions: [{key: %s, operator: %s, values: [%s]}]}"
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing said": ("", {"placement": ALL, "clusters": None, "relocation": None}),
    "by name": ("  placement: {clusterAffinity: {clusterNames: [alpha, bravo]}}", {"clusters": {"names": ["alpha", "bravo"]}}),
    "one by name": ("  placement: {clusterAffinity: {clusterNames: [alpha]}}", {"placement": {"admission": "Immediate"}}),
    "all but one": (
        "  placement: {clusterAffinity: {exclude: [alpha]}}",
        {"clusters": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["alpha"]}]}},
    ),
    "by label": (
        "  placement: {clusterAffinity: {labelSelector: {matchLabels: {tier: gold}}}}",
        {"clusters": {"matchLabels": {"tier": "gold"}}},
    ),
    "by provider": (
        f"  placement: {{clusterAffinity: {{{CONDITION % ('provider', 'In', 'aws')}}}}}",
        {"clusters": {"matchLabels": {"gitplacer.dev/provider": "aws"}}},
    ),
    "not by region": (
        f"  placement: {{clusterAffinity: {{{CONDITION % ('region', 'NotIn', 'us-east-1')}}}}}",
        {"clusters": {"matchExpressions": [{"key": "topology.kubernetes.io/region", "operator": "NotIn", "values": ["us-east-1"]}]}},
    ),
    "by zone, where some have several": (
        f"  placement: {{clusterAffinity: {{{CONDITION % ('zone', 'In', 'eu-west-1a, europe-west4-a')}}}}}",
        {"clusters": {"names": ["alpha"]}},
    ),
    "in order, one each": (
        "  placement: {clusterAffinities: [{affinityName: first, clusterNames: [bravo]}, {affinityName: second, clusterNames: [alpha]}]}",
        {"placement": {"type": "Ordered", "order": [{"names": ["bravo"]}, {"names": ["alpha"]}], "admission": "Immediate"}},
    ),
    "in order, with room": (
        "  placement:\n    clusterAffinities: [{affinityName: first, clusterNames: [bravo]}, {affinityName: second, labelSelector: {matchLabels: {tier: gold}}}]\n"
        f"    {ONE}",
        {
            "placement": {"type": "Ordered", "order": [{"names": ["bravo"]}, {"matchLabels": {"tier": "gold"}}], "accept": "TightFit"},
            "relocation": NEVER,
        },
    ),
    "overflow": (
        "  placement: {clusterAffinities: [{affinityName: first, clusterNames: [bravo], overflowAffinities: [{clusterNames: [charlie]}]}, {affinityName: second, clusterNames: [alpha]}]}",
        {"placement": {"type": "Ordered", "order": [{"names": ["bravo"]}, {"names": ["charlie"]}, {"names": ["alpha"]}], "admission": "Immediate"}},
    ),
    "tolerations": (
        "  placement: {clusterTolerations: [{key: team, operator: Equal, value: research, effect: NoSchedule}]}",
        {"tolerations": [{"key": "team", "operator": "Equal", "value": "research", "effect": "NoSchedule"}]},
    ),
    "tolerations of its own taints": (
        "  placement: {clusterTolerations: [{key: cluster.karmada.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}",
        {"tolerations": None},
    ),
    "on one cluster": (f"  placement: {{{ONE}}}", {"placement": {"accept": "TightFit"}, "relocation": NEVER}),
    "on two": (
        "  placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}]}",
        {"placement": {"copies": 2, "admission": "Immediate"}},
    ),
    "on two providers": (
        "  placement: {spreadConstraints: [{spreadByField: cluster, maxGroups: 3}, {spreadByField: provider, minGroups: 2}]}",
        {"placement": {"copies": 3, "admission": "Immediate", "topologySpread": [{"topologyKey": "gitplacer.dev/provider", "minDomains": 2}]}},
    ),
    "by any label": (
        "  placement: {spreadConstraints: [{spreadByField: cluster, maxGroups: 2}, {spreadByLabel: tier, maxGroups: 1}]}",
        {"placement": {"copies": 2, "admission": "Immediate", "topologySpread": [{"topologyKey": "tier", "maxDomains": 1}]}},
    ),
    "in one region, wherever it is taken": (
        "  placement: {spreadConstraints: [{spreadByField: region, maxGroups: 1}]}",
        {"placement": {"copies": 3, "admission": "Immediate", "topologySpread": [{"topologyKey": "topology.kubernetes.io/region", "maxDomains": 1}]}},
    ),
    "duplicated": ("  placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}", {"placement": ALL}),
    "divided alike": (f"  placement: {{{DIVIDED}Weighted}}}}", {"placement": {"type": "Divide", "admission": "Immediate"}}),
    "divided by weight, the higher counts": (
        f"  placement: {{{DIVIDED}Weighted, weightPreference: {{staticWeightList: [{{targetCluster: {{labelSelector: {{matchLabels: {{tier: gold}}}}}}, weight: 1}}, "
        "{targetCluster: {clusterNames: [alpha]}, weight: 3}]}}}",
        {"placement": {"type": "Divide", "weights": {"alpha": 3, "charlie": 1}, "admission": "Immediate"}},
    ),
    "divided by room": (
        f"  placement: {{{DIVIDED}Weighted, weightPreference: {{dynamicWeight: AvailableReplicas}}}}}}",
        {"placement": {"type": "Divide", "divideBy": "Room", "accept": "TightFit"}},
    ),
    "as few as can be": (f"  placement: {{{DIVIDED}Aggregated}}}}", {"placement": {"type": "Divide", "divideBy": "FewestClusters", "accept": "TightFit"}}),
    "divided by room over two regions": (
        f"  placement: {{{DIVIDED}Aggregated}}, spreadConstraints: [{{spreadByField: cluster, maxGroups: 2}}, {{spreadByField: region, minGroups: 2}}]}}",
        {"placement": {"type": "Divide", "divideBy": "FewestClusters", "copies": 2, "accept": "TightFit", "topologySpread": [{"topologyKey": "topology.kubernetes.io/region", "minDomains": 2}]}},
    ),
    "application failover": (
        f"  failover: {{application: {{decisionConditions: {{tolerationSeconds: 120}}, purgeMode: Gracefully, gracePeriodSeconds: 600}}}}\n  placement: {{{ONE}}}",
        {"relocation": {"pendingFor": "2m", "strategy": "Surge", "surge": {"timeout": "10m"}}},
    ),
    "application failover, the old first": (
        f"  failover: {{application: {{decisionConditions: {{}}, purgeMode: Directly}}}}\n  placement: {{{ONE}}}",
        {"relocation": {"pendingFor": "5m", "strategy": "RemoveFirst"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_each_field_becomes_what_means_the_same(row: str) -> None:
    text, wanted = ROWS[row]
    found = of(CLUSTERS, f"{POLICY}{text}\n")
    assert found.problems == () and found.of(Outcome.NOT_UNDERSTOOD) == []
    spec = value(found, "policies/p.yaml")["spec"]
    assert {key: spec.get(key) for key in wanted} == wanted


TOLD: dict[str, tuple[str, Outcome, str]] = {
    "preemption: Never": ("  preemption: Never", Outcome.CHANGED, "keeps it"),
    "preemption: Always": ("  preemption: Always", Outcome.CONVERTED, "always governs"),
    "conflictResolution": ("  conflictResolution: Abort", Outcome.CHANGED, "applies over it"),
    "activationPreference": ("  activationPreference: Lazy", Outcome.CHANGED, "in the next pass"),
    "suspension": ("  suspension: {dispatchingOnClusters: {clusterNames: [alpha]}}", Outcome.NO_EQUAL, "suspended on alpha"),
    "schedulerName": ("  schedulerName: mine", Outcome.NO_EQUAL, "scheduler mine"),
    "preserve": ("  preserveResourcesOnDeletion: true", Outcome.NO_EQUAL, "is removed from its clusters"),
    "dependentOverrides": ("  dependentOverrides: [o]", Outcome.CONVERTED, "overrides o"),
    "propagateDeps": ("  propagateDeps: true", Outcome.CONVERTED, "goes with it"),
    "no propagateDeps": ("  priority: 1", Outcome.CHANGED, "all the same"),
    "a class that is not here": ("  schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}", Outcome.NO_EQUAL, "PriorityClass high"),
    "workloadAffinity": ("  placement: {workloadAffinity: {affinity: {groupByLabelKey: app}}}", Outcome.NO_EQUAL, "not beside"),
    "tolerationSeconds": ("  placement: {clusterTolerations: [{key: k, operator: Exists, tolerationSeconds: 5}]}", Outcome.NO_EQUAL, "has no end"),
    "cluster failover": ("  failover: {cluster: {purgeMode: Directly, tolerationSeconds: 60}}", Outcome.CHANGED, "lost cluster always moves"),
    "failover of what has copies": ("  failover: {application: {decisionConditions: {tolerationSeconds: 120}, purgeMode: Gracefully}}", Outcome.NO_EQUAL, "placed whatever the room does not move"),
    "state": ("  failover: {application: {decisionConditions: {}, statePreservation: {rules: [{aliasLabelName: a, jsonPath: b}]}}}", Outcome.NO_EQUAL, "nothing of what ran"),
    "a cluster that is not there": ("  placement: {clusterAffinity: {clusterNames: [delta]}}", Outcome.NO_EQUAL, "no Cluster delta"),
    "weights and constraints": (f"  placement: {{{DIVIDED}Weighted}}, {ONE}}}", Outcome.LEFT_OUT, "weights are fixed"),
}  # fmt: skip


def test_a_failover_is_told_as_what_becomes_of_it() -> None:
    failover = "  failover: {application: {decisionConditions: {tolerationSeconds: 120}, gracePeriodSeconds: 60}}\n"
    of_copies = of(CLUSTERS, POLICY + failover)
    assert "relocation" not in value(of_copies, "policies/p.yaml")["spec"]
    assert not [line for line in of_copies.lines if "pendingFor`. " in line.what or "after 60 seconds" in line.what]
    of_one = of(CLUSTERS, f"{POLICY}{failover}  placement: {{{ONE}}}\n")
    assert not [line for line in of_one.lines if "whatever the room" in line.what]


@pytest.mark.parametrize("row", TOLD)
def test_what_cannot_be_said_is_told(row: str) -> None:
    text, outcome, words = TOLD[row]
    found = of(CLUSTERS, f"{POLICY}{text}\n")
    assert found.problems == ()
    assert any(words in what for place, what in told(found, outcome) if place.startswith("f1.yaml")), told(
        found, outcome
    )


@pytest.mark.parametrize("kind", ["batch/v1 Job", "ray.io/v1 RayJob"])
def test_what_runs_once_is_not_copied(kind: str) -> None:
    version, name = kind.split()
    found = of(CLUSTERS, POLICY.replace("apps/v1", version).replace("Deployment", name))
    assert value(found, "policies/p.yaml")["spec"]["placement"] == {"accept": "TightFit"}
    assert any("here it runs once" in what for _, what in told(found, Outcome.CHANGED))


def test_a_priority_class_among_the_files_is_a_priority() -> None:
    class_ = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 700\n"
    found = of(
        CLUSTERS,
        POLICY + "  schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}\n",
        class_,
    )
    assert value(found, "policies/p.yaml")["spec"]["priority"] == 700


SELECTORS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "two kinds of one name": (
        "[{apiVersion: apps/v1, kind: Deployment, name: w}, {apiVersion: v1, kind: Service, name: w}]",
        [{"namespaces": ["a"], "kinds": ["Deployment", "Service"], "names": ["w"]}],
    ),
    "two names of one kind": (
        "[{apiVersion: apps/v1, kind: Deployment, name: w}, {apiVersion: apps/v1, kind: Deployment, name: v}]",
        [{"namespaces": ["a"], "kinds": ["Deployment"], "names": ["w", "v"]}],
    ),
    "by name and all": (
        "[{apiVersion: apps/v1, kind: Deployment, name: w}, {apiVersion: apps/v1, kind: Deployment}]",
        [{"namespaces": ["a"], "kinds": ["Deployment"]}, {"namespaces": ["a"], "kinds": ["Deployment"], "names": ["w"]}],
    ),
    "a name makes labels mean nothing": (
        "[{apiVersion: apps/v1, kind: Deployment, name: w, labelSelector: {matchLabels: {x: z}}}]",
        [{"namespaces": ["a"], "kinds": ["Deployment"], "names": ["w"]}],
    ),
    "labels": (
        "[{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchExpressions: [{key: x, operator: Exists}]}}]",
        [{"namespaces": ["a"], "labelSelector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}, "kinds": ["Deployment"]}],
    ),
    "another namespace than its own": ("[{apiVersion: apps/v1, kind: Deployment, namespace: b}]", []),
}  # fmt: skip


@pytest.mark.parametrize("row", SELECTORS)
def test_selectors_of_resources(row: str) -> None:
    text, wanted = SELECTORS[row]
    head, _, _ = POLICY.partition("  resourceSelectors")
    found = of(f"{head}  resourceSelectors: {text}\n")
    selects = [
        yaml.safe_load(data)["spec"]["select"] for path, data in found.files.items() if path.startswith("policies/")
    ]
    assert selects == wanted and found.problems == ()


# overrides

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: a, labels: {x: "1"}}
spec:
  template:
    spec:
      initContainers: [{name: i, image: "init@sha256:aa"}]
      containers: [{name: c, image: "registry.example:5000/team/app:1", command: [run, --slow], args: [a]}, {name: s, image: side}]
"""
CONTAINER = "/spec/template/spec/containers/0"
OVERRIDERS: dict[str, tuple[str, list[tuple[str, str, Any]]]] = {
    "plaintext": ("plaintext: [{path: /spec/replicas, operator: add, value: 2}, {path: /spec/x, operator: remove}]", [("/spec/replicas", "add", 2), ("/spec/x", "remove", None)]),
    "registry of one image": (
        f"imageOverrider: [{{predicate: {{path: {CONTAINER}/image}}, component: Registry, operator: replace, value: m}}]",
        [(f"{CONTAINER}/image", "replace", "m/team/app:1")],
    ),
    "tag of every image but those of init containers": (
        "imageOverrider: [{component: Tag, operator: replace, value: '2'}]",
        [
            (f"{CONTAINER}/image", "replace", "registry.example:5000/team/app:2"),
            ("/spec/template/spec/containers/1/image", "replace", "side:2"),
        ],
    ),
    "digest of an init container, which a predicate names": (
        "imageOverrider: [{predicate: {path: /spec/template/spec/initContainers/0/image}, component: Tag, operator: replace, value: '2'}]",
        [("/spec/template/spec/initContainers/0/image", "replace", "init@2")],
    ),
    "the second sees what the first did": (
        f"imageOverrider: [{{predicate: {{path: {CONTAINER}/image}}, component: Registry, operator: remove}}, {{predicate: {{path: {CONTAINER}/image}}, component: Repository, operator: add, value: -x}}]",
        [(f"{CONTAINER}/image", "replace", "team/app:1"), (f"{CONTAINER}/image", "replace", "team/app-x:1")],
    ),
    "command": ("commandOverrider: [{containerName: c, operator: remove, value: [--slow]}]", [(f"{CONTAINER}/command", "add", ["run"])]),
    "args": ("argsOverrider: [{containerName: c, operator: add, value: [b]}]", [(f"{CONTAINER}/args", "add", ["a", "b"])]),
    "labels": ("labelsOverrider: [{operator: replace, value: {x: '2', w: '3'}}, {operator: add, value: {z: '4'}}]", [("/metadata/labels/x", "add", "2"), ("/metadata/labels/z", "add", "4")]),
    "annotations": ("annotationsOverrider: [{operator: add, value: {a.b/c: d}}, {operator: remove, value: {a.b/c: d}}]", [("/metadata/annotations/a.b~1c", "add", "d"), ("/metadata/annotations/a.b~1c", "remove", None)]),
}  # fmt: skip


def overriding(rule: str) -> str:
    head, _, _ = POLICY.replace("PropagationPolicy", "OverridePolicy").partition("spec:")
    return f"{head}spec:\n  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: d}}]\n  overrideRules:\n  - targetCluster: {{clusterNames: [alpha]}}\n    overriders:\n      {rule}\n"


@pytest.mark.parametrize("row", OVERRIDERS)
def test_each_overrider_is_a_patch_of_the_object(row: str) -> None:
    rule, wanted = OVERRIDERS[row]
    found = of(CLUSTERS, overriding(rule), DEPLOYMENT)
    made = [yaml.safe_load(data)["spec"] for path, data in found.files.items() if path.startswith("overrides/")]
    assert found.problems == () and len(made) == 1
    assert made[0]["select"] == {"namespaces": ["a"], "kinds": ["Deployment"], "names": ["d"]}
    assert made[0]["clusters"] == {"names": ["alpha"]}
    assert [(one["path"], one["op"], one.get("value")) for one in made[0]["overrides"]] == wanted


def test_a_document_in_a_field_is_changed_as_text() -> None:
    config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, namespace: a}\ndata: {x.json: \'{"a":{"b":1}}\'}\n'
    rule = "fieldOverrider: [{fieldPath: /data/x.json, json: [{subPath: /a/b, operator: replace, value: 2}]}]"
    found = of(CLUSTERS, overriding(rule).replace("apps/v1, kind: Deployment", "v1, kind: ConfigMap"), config)
    (made,) = (yaml.safe_load(data)["spec"] for path, data in found.files.items() if path.startswith("overrides/"))
    assert made["overrides"] == [{"path": "/data/x.json", "op": "replace", "value": '{"a":{"b":2}}'}]


@pytest.mark.parametrize(
    ("image", "change", "wanted"),
    [
        ("app", ("Registry", "replace", "r.example"), "r.example/app"),
        ("localhost/app", ("Registry", "remove", ""), "app"),
        ("r:5000/a/b:1@sha256:cc", ("Repository", "replace", "z"), "r:5000/z:1@sha256:cc"),
        ("app:1", ("Tag", "remove", ""), "app"),
        ("app", ("Tag", "replace", "sha256:dd"), "app@sha256:dd"),
        ("app:1", ("Tag", "add", "-rc"), "app:1-rc"),
        ("team/app", ("Repository", "add", "s"), "team/apps"),
        ("." * 500_000, ("Tag", "remove", ""), "." * 500_000),
    ],
)
def test_parts_of_images(image: str, change: tuple[str, str, str], wanted: str) -> None:
    assert renamed(image, *change) == wanted


def test_overrides_are_applied_in_karmadas_order() -> None:
    by_kind = overriding("plaintext: [{path: /spec/replicas, operator: replace, value: 1}]").replace(
        ", name: d}]\n  over", "}]\n  over"
    )
    by_name = overriding("plaintext: [{path: /spec/replicas, operator: replace, value: 2}]").replace(
        "name: p", "name: a-first"
    )
    of_all = overriding("plaintext: [{path: /spec/replicas, operator: replace, value: 3}]").replace(
        "kind: OverridePolicy", "kind: ClusterOverridePolicy"
    )
    found = of(CLUSTERS, by_name, by_kind, of_all, DEPLOYMENT)
    values = [
        yaml.safe_load(found.files[path])["spec"]["overrides"][0]["value"]
        for path in sorted(found.files)
        if path.startswith("overrides/")
    ]
    assert values == [3, 1, 2]


# clusters and the rest


def test_a_cluster_and_what_its_hub_knows_of_it() -> None:
    found = of(CLUSTERS)
    assert value(found, "clusters/alpha.yaml") == {
        "apiVersion": "gitplacer.dev/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "alpha", "labels": {"tier": "gold"}},
        "spec": {"provider": "aws", "region": "eu-west-1", "zone": "eu-west-1a", "kubernetesVersion": "1.31"},
    }
    assert value(found, "clusters/bravo.yaml")["spec"]["taints"] == [
        {"key": "team", "value": "research", "effect": "NoSchedule"}
    ]
    snapshot = value(found, "capacity/alpha.yaml")
    assert snapshot["coarse"] and [(node["name"], node.get("count", 1)) for node in snapshot["nodes"]] == [
        ("grade-1", 1),
        ("grade-2", 2),
    ]


def test_a_cluster_that_is_not_ready_takes_nothing_new_and_has_no_snapshot() -> None:
    found = of(CLUSTERS.replace('status: "True"', 'status: "False"', 1))
    assert value(found, "clusters/alpha.yaml")["spec"]["state"] == "Cordoned"
    assert "capacity/alpha.yaml" not in found.files and "capacity/bravo.yaml" in found.files


def test_a_snapshot_that_lies_beside_wins_and_full_snapshots_need_no_luck() -> None:
    snapshots = [
        f'apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {{name: {name}}}\nobservedAt: "2026-01-02T03:00:00Z"\nnodes: []\n'
        for name in ("alpha", "bravo", "charlie")
    ]
    found = of(CLUSTERS, f"{POLICY}  placement: {{{ONE}}}\n", *snapshots)
    assert found.files["capacity/alpha.yaml"].decode() == snapshots[0]
    assert "placement" not in value(found, "policies/p.yaml")["spec"]


def test_a_quota_is_a_tenant_and_the_other_namespaces_get_one_too() -> None:
    quota = "apiVersion: policy.karmada.io/v1alpha1\nkind: FederatedResourceQuota\nmetadata: {name: q, namespace: a}\nspec:\n  overall: {requests.cpu: 8, limits.cpu: 16, nvidia.com/gpu: 4}\n  staticAssignments: [{clusterName: alpha, hard: {cpu: 1}}]\n"
    other = DEPLOYMENT.replace("namespace: a", "namespace: b")
    found = of(CLUSTERS, quota, DEPLOYMENT, other, POLICY, POLICY.replace("namespace: a", "namespace: b"))
    assert value(found, "tenants/a.yaml")["spec"] == {
        "paths": ["workloads/a/**"],
        "namespaces": ["a"],
        "quota": {"cpu": "8", "nvidia.com/gpu": "4"},
    }
    assert value(found, "tenants/b.yaml")["spec"] == {"paths": ["workloads/b/**"], "namespaces": ["b"]}
    lines = told(found, Outcome.NO_EQUAL)
    assert any("limits.cpu" in what for _, what in lines) and any("quota of one cluster" in what for _, what in lines)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("apps.karmada.io/v1alpha1 WorkloadRebalancer", Outcome.NO_EQUAL),
        ("policy.karmada.io/v1alpha1 ClusterTaintPolicy", Outcome.NO_EQUAL),
        ("work.karmada.io/v1alpha2 Work", Outcome.LEFT_OUT),
        ("autoscaling.karmada.io/v1alpha1 FederatedHPA", Outcome.NO_EQUAL),
        ("new.karmada.io/v1 Whatever", Outcome.NO_EQUAL),
    ],
)
def test_other_kinds_of_karmada_are_told(kind: str, outcome: Outcome) -> None:
    version, name = kind.split()
    found = of(f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: n}}\nspec: {{}}\n")
    assert [line.location.line for line in found.of(outcome)] == [2 if outcome is Outcome.NO_EQUAL else 1]


def test_a_binding_says_where_karmada_had_it() -> None:
    found = of(
        "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nmetadata: {name: n}\nspec:\n  resource: {kind: Deployment, namespace: a, name: d}\n  clusters: [{name: x, replicas: 2}, {name: z}]\n"
    )
    assert "Deployment a/d is on x (2), z" in told(found, Outcome.LEFT_OUT)[0][1]


def test_an_object_that_another_policy_had_taken_is_told() -> None:
    claimed = DEPLOYMENT.replace(
        'labels: {x: "1"}',
        "annotations: {propagationpolicy.karmada.io/name: old, propagationpolicy.karmada.io/namespace: a}",
    )
    found = of(CLUSTERS, POLICY, claimed)
    assert any("Karmada let a/old govern Deployment a/d" in what for _, what in told(found, Outcome.CHANGED))


# the law: every field is used or reported

FULL = yaml.safe_load(f"""{POLICY}
  priority: 3
  failover: {{application: {{decisionConditions: {{tolerationSeconds: 5}}, gracePeriodSeconds: 5}}, cluster: {{purgeMode: Directly}}}}
  schedulePriority: {{priorityClassSource: KubePriorityClass, priorityClassName: high}}
  suspension: {{dispatchingOnClusters: {{clusterNames: [alpha]}}}}
  placement:
    clusterAffinities:
    - {{affinityName: a, clusterNames: [alpha], overflowAffinities: [{{clusterNames: [bravo]}}]}}
    - {{affinityName: b, labelSelector: {{matchExpressions: [{{key: k, operator: Exists}}]}}, {CONDITION % ("region", "In", "r")}}}
    clusterTolerations: [{{key: k, operator: Exists}}]
    spreadConstraints: [{{spreadByField: cluster, maxGroups: 2}}]
    {DIVIDED}Weighted, weightPreference: {{staticWeightList: [{{targetCluster: {{clusterNames: [alpha]}}, weight: 1}}]}}}}
""")
OVERRIDES = yaml.safe_load(
    overriding("plaintext: [{path: /a, operator: add, value: 1}]")
    + """\
      imageOverrider: [{predicate: {path: /spec/template/spec/containers/0/image}, component: Tag, operator: replace, value: v}]
      commandOverrider: [{containerName: c, operator: add, value: [x]}]
      labelsOverrider: [{operator: add, value: {x: z}}]
      fieldOverrider: [{fieldPath: /data/x, yaml: [{subPath: /y, operator: remove}]}]
"""
)
CLUSTER = next(yaml.safe_load_all(CLUSTERS))
QUOTA = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "FederatedResourceQuota",
    "metadata": {"name": "q", "namespace": "a"},
    "spec": {"overall": {"requests.cpu": "4"}, "staticAssignments": [{"clusterName": "alpha", "hard": {"cpu": "1"}}]},
}
WHOLE = ("status", "secretRef", "impersonatorSecretRef", "resourceModels")
"""Fields of a Cluster that are told as a whole."""
GIVEN_THROUGH = ("matchLabels", "labels", "annotations", "value", "hard", "overall", *WHOLE)
PLACES = [(full, place) for full in (FULL, OVERRIDES, CLUSTER, QUOTA) for place in mappings(full, GIVEN_THROUGH)]
for full in (FULL, OVERRIDES, CLUSTER, QUOTA):
    full["metadata"] |= {"labels": {"team": "x"}, "annotations": {"why": "so"}}


@settings(max_examples=50)
@given(where=st.sampled_from(PLACES), name=NAMES, added=VALUES)
def test_whatever_field_is_added_is_reported_at_its_place(
    where: tuple[Any, tuple[Any, ...]], name: str, added: Any
) -> None:
    told_when_added(of, *where, name, added)


AS_IT_IS_ANYWAY = {
    "spec.priority",  # says who comes first of several
    "spec.placement.clusterAffinities.0.affinityName",  # Karmada's name for it, in its own status
    "spec.placement.clusterAffinities.1.affinityName",
    "spec.placement.spreadConstraints.0.spreadByField",  # told as a whole
    "spec.placement.spreadConstraints.0.maxGroups",
    "spec.placement.replicaScheduling.replicaSchedulingType",  # the default
    "spec.placement.replicaScheduling.weightPreference.staticWeightList.0.targetCluster.clusterNames.0",  # told: it goes whole
    "spec.schedulePriority.priorityClassSource",  # what other values mean is told
}


def test_each_field_that_is_written_makes_a_difference() -> None:
    assert makes_no_difference(of, FULL, CLUSTERS) == AS_IT_IS_ANYWAY
    assert makes_no_difference(of, OVERRIDES, CLUSTERS, DEPLOYMENT) == {
        "spec.overrideRules.0.overriders.fieldOverrider.0.yaml.0.subPath"  # told: the object has no such field
    }
    assert makes_no_difference(of, QUOTA) == {  # told as a whole
        "spec.staticAssignments.0.clusterName",
        "spec.staticAssignments.0.hard.cpu",
    }


@given(document=broken((FULL, OVERRIDES, CLUSTER, QUOTA)))
def test_no_document_is_too_broken_to_be_told(document: Any) -> None:
    survived(of, document, DEPLOYMENT)


def test_a_policy_of_a_namespace_takes_nothing_of_the_cluster() -> None:
    text = POLICY.replace("apiVersion: apps/v1, kind: Deployment", "apiVersion: v1, kind: Namespace")
    assert text != POLICY
    found = of(f"{text}  priority: 1\n")
    assert not [path for path in found.files if path.startswith("policies/")]
    assert any("takes no Namespace" in what for _, what in told(found, Outcome.NO_EQUAL))


def test_a_priority_of_another_source_is_told() -> None:
    found = of(f"{POLICY}  schedulePriority: {{priorityClassSource: PodPriorityClass, priorityClassName: high}}\n")
    assert any("not read from a PodPriorityClass" in what for _, what in told(found, Outcome.NO_EQUAL))


def test_labels_and_annotations_of_policies_stay_theirs() -> None:
    found = of(json.dumps(FULL), json.dumps(OVERRIDES), DEPLOYMENT, CLUSTERS)
    made = [yaml.safe_load(data) for path, data in found.files.items() if path.startswith(("policies/", "overrides/"))]
    assert {json.dumps([one["metadata"]["labels"], one["metadata"]["annotations"]]) for one in made} == {
        '[{"team": "x"}, {"why": "so"}]'
    }
    assert len(made) > 2


def test_a_reader_that_forgets_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader.Reader, "unread", lambda self: iter(()))
    with pytest.raises(AssertionError):
        test_whatever_field_is_added_is_reported_at_its_place.hypothesis.inner_test((FULL, ("spec",)), "zab", 1)


# what is wrong

WRONG: dict[str, tuple[str, str, str]] = {
    "a field of clusters": (f"  placement: {{clusterAffinity: {{{CONDITION % ('regio', 'In', 'r')}}}}}", "f1.yaml:6:74", '"regio" is no field of a cluster'),
    "an operator": (f"  placement: {{clusterAffinity: {{{CONDITION % ('region', 'Inn', 'r')}}}}}", "f1.yaml:6:92", 'unknown operator "Inn"'),
    "both affinities": ("  placement: {clusterAffinity: {}, clusterAffinities: []}", "f1.yaml:6:36", "exclude each other"),
    "a type": ("  placement: {replicaScheduling: {replicaSchedulingType: Divide}}", "f1.yaml:6:58", 'unknown replicaSchedulingType "Divide"'),
    "groups": ("  placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}", "f1.yaml:6:35", "minGroups 3 and maxGroups 2"),
    "a wildcard": ("  propagateDeps: 1", "f1.yaml:6:18", "not true or false"),
    "a text for a mapping": ("  placement: everywhere", "f1.yaml:6:14", "not a mapping"),
}  # fmt: skip


@pytest.mark.parametrize("row", WRONG)
def test_what_is_wrong_is_told_at_its_place_and_the_others_are_written(row: str) -> None:
    text, place, words = WRONG[row]
    found = of(CLUSTERS, f"{POLICY}{text}\n", POLICY.replace("name: p,", "name: q,"))
    assert [str(problem.location) for problem in found.problems] == [place]
    assert words in found.problems[0].message
    assert "policies/q.yaml" in found.files and "policies/p.yaml" not in found.files


@pytest.mark.parametrize("name", ["*", "../../x", "a\nb"])
def test_no_name_takes_more_than_it_says_or_leads_out_of_the_repo(name: str) -> None:
    policy = yaml.safe_load(POLICY)
    policy["metadata"]["name"] = policy["spec"]["resourceSelectors"][0]["name"] = name
    cluster = CLUSTER | {"metadata": {"name": name}}
    found = of(yaml.safe_dump(policy), yaml.safe_dump(cluster), DEPLOYMENT)
    assert all(".." not in path and "*" not in path and "\n" not in path for path in found.files)
    assert all("workloads/a" not in path for path in found.files if path.endswith("f2.yaml"))


def test_an_index_of_thousands_of_digits_is_told() -> None:
    rule = f"imageOverrider: [{{predicate: {{path: /spec/template/spec/containers/{'9' * 5000}/image}}, component: Tag, operator: remove}}]"
    found = of(CLUSTERS, overriding(rule), DEPLOYMENT)
    assert any("cannot be applied" in line.what for line in found.of(Outcome.NO_EQUAL))
    inside = f"fieldOverrider: [{{fieldPath: /data/x, yaml: [{{subPath: /a/{'9' * 5000}, operator: remove}}]}}]"
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, namespace: a}\ndata: {x: 'a: [1]'}\n"
    found = of(CLUSTERS, overriding(inside).replace("apps/v1, kind: Deployment", "v1, kind: ConfigMap"), config)
    assert any("cannot be applied" in line.what for line in found.of(Outcome.NO_EQUAL))


def test_the_command_writes_a_fleet_that_validates(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, {f"in/{name}": data.decode() for name, data in corpus().items()})
    assert run(capfd, "import", "karmada", str(tmp_path / "in"), "-o", str(tmp_path / "out")).code == 0
    assert run(capfd, "validate", str(tmp_path / "out")).code == 0


def test_hundreds_of_policies_each_become_one() -> None:
    many = "---\n".join(POLICY.replace("name: p", f"name: p{n}").replace("name: d", f"name: d{n}") for n in range(300))
    assert sum(path.startswith("policies/") for path in of(many).files) == 300


def test_a_manifest_asks_few_policies_and_an_override_few_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    over = overriding("plaintext: [{path: /a, operator: add, value: 1}]")
    pairs = [
        (
            one.replace("name: p", f"name: p{n}").replace("name: d", f"name: d{n}"),
            DEPLOYMENT.replace("name: d", f"name: d{n}"),
        )
        for n in range(60)
        for one in (POLICY, over)
    ]
    asked_at_most(monkeypatch, of, Selection, "takes", pairs)
